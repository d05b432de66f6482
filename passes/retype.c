#include "passes/retype.h"

#include "base/file.h"
#include "ir/payload.h"
#include "passes/known.h"
#include "passes/recast.h"

// Binary digits of a float's significand; of an integer's magnitude.
static int digits_of(DType t)
{
    static const int floats[DT_COUNT] = {
        [DT_F64] = 53,     [DT_F32] = 24,       [DT_F16] = 11,   [DT_BF16] = 8,
        [DT_F8E4M3FN] = 4, [DT_F8E4M3FNUZ] = 4, [DT_F8E5M2] = 3, [DT_F8E5M2FNUZ] = 3,
        [DT_F4E2M1] = 2,   [DT_F6E2M3] = 4,     [DT_F6E3M2] = 3, [DT_F8E8M0] = 1,
    };
    if (dtype_is_float(t))
        return floats[t];
    return t == DT_BOOL ? 1 : dtype_info(t)->bits - dtype_is_signed(t);
}

bool dtype_holds(DType to, DType from)
{
    bool integer = dtype_is_integer(from) || from == DT_BOOL;
    if (to == from)
        return true;
    if (dtype_is_float(to) && integer)
        return digits_of(to) >= digits_of(from) && dtype_info(to)->bits >= 16;
    if (dtype_is_integer(to) && integer)
        return digits_of(to) >= digits_of(from) && (dtype_is_signed(to) || !dtype_is_signed(from));
    // float32 has bfloat16's exponents and float8e8m0's, float16 those of the other float8.
    bool wide = to == DT_F64 || to == DT_F32;
    return dtype_is_float(to) && dtype_is_float(from) &&
           (wide || (to == DT_F16 && from != DT_BF16 && from != DT_F8E8M0)) &&
           dtype_info(to)->bits > dtype_info(from)->bits;
}

TensorData *constant_data(Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    if (value->init)
        return value->init;
    const Node *n = value->def == DEF_NODE ? node_at(m, value->node) : NULL;
    if (n && node_is(n, "Constant"))
        return (TensorData *)(uintptr_t)value->constant;
    if (!n || !node_is(n, "ConstantOfShape"))
        return NULL;
    static const int64_t one = 1;
    static const float zero = 0;
    const Attr *a = attr_find(n, "value");
    return a && a->t ? a->t : tensor_new(m->arena, DT_F32, 1, &one, &zero);
}

// ---- what is lost

enum { MANY = 1 << 18 }; // bytes

static Losses measure(Model *m, DType from, DType to, Str bytes, uint64_t count, bool packed)
{
    const void **known = known_of(m, bytes.at, count, from, to);
    if (known && *known)
        return *(const Losses *)*known;
    if (bytes.len >= MANY)
        file_expect(bytes.at, bytes.len);
    const Losses found = losses_of(from, to, bytes.at, count, packed);
    if (known) {
        Losses *kept = NEW(m->arena, Losses);
        *kept = found;
        *known = kept;
    }
    return found;
}

static DType known_dtype(const TensorData *d)
{
    return d->dtype > 0 && d->dtype < DT_COUNT ? (DType)d->dtype : DT_NONE;
}

Losses constant_losses(Model *m, TensorData *d, DType t)
{
    Str error, bytes;
    const DType from = known_dtype(d);
    const bool numbers = (dtype_is_float(from) || dtype_is_integer(from)) &&
                         (dtype_is_float(t) || dtype_is_integer(t));
    if (numbers && dtype_info(from)->bits != 6 && tensor_packed(m, d, &bytes))
        return measure(m, from, t, bytes, tensor_count(d), true);
    const void *at = numbers ? tensor_elements(m, d, &error) : NULL;
    if (!at)
        return (Losses){.inexact = d->nelements ? d->nelements : 1};
    return measure(m, from, t, (Str){at, 0}, d->nelements, false);
}

bool constant_is_exact(Model *m, TensorData *d, DType t)
{
    return constant_losses(m, d, t).inexact == 0;
}

// ---- stored otherwise

TensorData *tensor_cast(Model *m, TensorData *d, DType t)
{
    Str error, bytes;
    const DType from = known_dtype(d);
    const void *at = NULL;
    if (from == DT_NONE || from == DT_STRING || t == DT_STRING)
        return NULL;
    if (dtype_info(from)->bits >= 8 && from != DT_BOOL && tensor_packed(m, d, &bytes))
        at = bytes.len ? bytes.at : "";
    else
        at = tensor_elements(m, d, &error);
    if (!at)
        return NULL;
    const uint64_t n = tensor_count(d);
    const void **known = known_as(m, at, n, from, t);
    if (known && *known) {
        model_forget(m, at, n * dtype_info(from)->bytes);
        return tensor_around(m->arena, t, d->rank, d->dims, *known);
    }
    const uint64_t size = n * dtype_info(t)->bytes;
    unsigned char *to = arena_lend(m->arena, size + 1);
    recast(from, t, at, n, to);
    model_forget(m, at, n * dtype_info(from)->bytes);
    const void *kept = arena_keep(m->arena, to, size + 1);
    if (known)
        *known = kept;
    return tensor_around(m->arena, t, d->rank, d->dims, kept);
}

// The tensor keeps its name, documentation and metadata; only its type and payload change.
static bool convert(Model *m, TensorData *d, DType t)
{
    TensorData kept = *d, *fresh = tensor_cast(m, d, t);
    if (!fresh)
        return false;
    *d = *fresh;
    d->name = kept.name;
    d->doc = kept.doc;
    d->metadata = kept.metadata;
    d->unknown = kept.unknown;
    d->has |= kept.has & (TENSOR_HAS_NAME | TENSOR_HAS_DOC);
    return true;
}

bool constant_retype(Model *m, ValueId v, DType t)
{
    TensorData *d = constant_data(m, v);
    if (!d || !convert(m, d, t))
        return false;
    if (value_at(m, v)->init)
        return true;
    Attr value = {
        .name = STR("value"), .type = ATTR_TENSOR, .has = ATTR_HAS_NAME | ATTR_HAS_TYPE, .t = d};
    Node *n = node_at(m, value_at(m, v)->node);
    if (n->nattrs == 0)
        n->attrs = NEW(m->arena, Attr);
    if (n->nattrs == 0 || !str_is(n->attrs[0].name, "value"))
        n->attrs[0] = value; // a Constant's value_float, say
    n->nattrs = 1;
    return true;
}
