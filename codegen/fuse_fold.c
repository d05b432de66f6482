// What a kernel reads of weights and what can be known when it is compiled: an element at a known
// place is a constant, 0, 1, 2 ... is an index. A square becomes a product.

#include "codegen/fuse_parts.h"

enum { MOST_RANK = 8, LONGEST_RAMP = 65536 };

// The weight that a load reads, and its dims; NULL where they are not known.
static const void *weight_of(Fuse *f, const Expr *e, int64_t *dims)
{
    Str error;
    if (e->kind != EX_LOAD || e->dtype == DT_STRING || e->rank > MOST_RANK)
        return NULL;
    const Buffer *b = buffer_at(f->mod, e->buffer);
    if (b->kind != BUF_WEIGHT || !b->data || dtype_info(b->dtype)->bits < 8)
        return NULL;
    for (uint32_t i = 0; i < b->rank; i++)
        if (!poly_is_const(b->dims[i], &dims[i]) || dims[i] <= 0)
            return NULL;
    return tensor_elements(f->mod->model, (TensorData *)(uintptr_t)b->data, &error);
}

static Scalar element(const Expr *e, const void *bytes, int64_t i)
{
    return scalar_load(e->dtype, (const char *)bytes + i * dtype_info(e->dtype)->bytes);
}

// An element at a place that is known.
static const Expr *known_element(Fuse *f, const Expr *e)
{
    int64_t dims[MOST_RANK], at, place = 0;
    if (e->kind != EX_LOAD || buffer_at(f->mod, e->buffer)->kind != BUF_WEIGHT)
        return NULL;
    const void *bytes = weight_of(f, e, dims);
    for (uint32_t i = 0; bytes && i < e->rank; i++) {
        if (dims[i] == 1)
            at = 0;
        else if (!poly_is_const(e->at[i], &at) || at < 0 || at >= dims[i])
            return NULL;
        place = place * dims[i] + at;
    }
    return bytes ? expr_const(f->mod, e->dtype, element(e, bytes, place)) : NULL;
}

// What a load reads along each dim of a weight: `size` elements `stride` apart, each `step` more
// than the one before it; one, at a place that is known, or all of the dim.
typedef struct Ramp {
    int64_t size[MOST_RANK], stride[MOST_RANK], step[MOST_RANK];
    int64_t begin, first, count; // where the first one lies, what it is, and how many there are
} Ramp;

static bool ramp_sizes(const Expr *e, const int64_t *dims, Ramp *r)
{
    int64_t stride = 1, at;
    r->begin = 0;
    r->count = 1;
    for (uint32_t i = e->rank; i-- > 0; stride *= dims[i]) {
        const bool known = poly_is_const(e->at[i], &at);
        if (known && (at < 0 || at >= dims[i]))
            return false;
        r->begin += known ? at * stride : 0;
        r->size[i] = known ? 1 : dims[i];
        r->stride[i] = stride;
        if (__builtin_mul_overflow(r->count, r->size[i], &r->count) || r->count > LONGEST_RAMP)
            return false;
    }
    return true;
}

static bool ramp_steps(const Expr *e, const void *bytes, Ramp *r)
{
    r->first = element(e, bytes, r->begin).i;
    for (uint32_t i = 0; i < e->rank; i++) {
        r->step[i] = r->size[i] > 1 ? element(e, bytes, r->begin + r->stride[i]).i : r->first;
        if (__builtin_sub_overflow(r->step[i], r->first, &r->step[i]) ||
            r->step[i] > LONGEST_RAMP || r->step[i] < -LONGEST_RAMP)
            return false;
    }
    for (int64_t n = 0; n < r->count; n++) {
        int64_t rest = n, want = r->first, at = r->begin;
        for (uint32_t i = e->rank; i-- > 0; rest /= r->size[i]) {
            want += rest % r->size[i] * r->step[i];
            at += rest % r->size[i] * r->stride[i];
        }
        if (element(e, bytes, at).i != want)
            return false;
    }
    return true;
}

// An integer weight whose elements are a linear function of their place is an index (0, 1, 2 ...).
static const Expr *ramp(Fuse *f, const Expr *e, const ExprMap *map)
{
    int64_t dims[MOST_RANK];
    Ramp r;
    if ((e->dtype != DT_I32 && e->dtype != DT_I64) || e->kind != EX_LOAD || e->rank == 0)
        return NULL;
    const void *bytes = weight_of(f, e, dims);
    if (!bytes || !ramp_sizes(e, dims, &r) || !ramp_steps(e, bytes, &r))
        return NULL;
    Polys *polys = f->mod->polys;
    Index sum = poly_const(polys, r.first);
    for (uint32_t i = 0; i < e->rank; i++)
        sum = poly_add(polys, sum, poly_scale(polys, index_map(f->mod, e->at[i], map), r.step[i]));
    return poly_is_overflow(sum) ? NULL
                                 : expr_cast(f->mod, e->dtype, expr_index(f->mod, sum), true);
}

// x^2 is x*x, rounded once as the power is.
static const Expr *square(Fuse *f, const Expr *e, const ExprMap *map)
{
    bool real = e->dtype == DT_F32 || e->dtype == DT_F64;
    if (e->kind != EX_BINARY || e->op != B_POW || !real)
        return NULL;
    const Expr *power = known_element(f, e->b);
    power = power ? power : e->b;
    if (power->kind != EX_CONST || power->value.f != 2)
        return NULL;
    const Expr *x = expr_map(f->mod, e->a, map);
    return expr_binary(f->mod, B_MUL, x, x);
}

const Expr *fuse_folded(Fuse *f, const Expr *e, const ExprMap *map)
{
    const Expr *known = known_element(f, e);
    known = known ? known : ramp(f, e, map);
    return known ? known : square(f, e, map);
}
