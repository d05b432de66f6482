// Tensors of two models beside one another: bit by bit where they are the same, else element by
// element.

#include "tools/diff.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 4096 };

static bool same_dims(const TensorData *a, const TensorData *b)
{
    return a->rank == b->rank &&
           memcmp(a->rank ? a->dims : (const int64_t *)"", a->rank ? b->dims : (const int64_t *)"",
                  a->rank * sizeof *a->dims) == 0;
}

static bool same_strings(const Str *a, const Str *b, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (!str_eq(a[i], b[i]))
            return false;
    return true;
}

bool diff_same_tensor(DiffPair *p, TensorData *a, TensorData *b)
{
    Str error;
    if (!a || !b || a->dtype != b->dtype || !same_dims(a, b))
        return a == b;
    const void *x = tensor_elements(p->a.m, a, &error), *y = tensor_elements(p->b.m, b, &error);
    if (!x || !y)
        return !x && !y;
    if (a->dtype == DT_STRING)
        return same_strings(x, y, a->nelements);
    return memcmp(x, y, a->nelements * dtype_info((DType)a->dtype)->bytes) == 0;
}

uint64_t diff_hash_tensor(Model *m, TensorData *t)
{
    Str error;
    uint64_t h = hash_bytes(t->rank ? t->dims : (const int64_t *)"", t->rank * sizeof *t->dims,
                            (uint64_t)t->dtype);
    const void *x = tensor_elements(m, t, &error);
    if (!x || t->dtype == DT_STRING) {
        for (uint64_t i = 0; x && i < t->nelements; i++)
            h = hash_bytes(((const Str *)x)[i].at, ((const Str *)x)[i].len, h);
        return h;
    }
    return hash_bytes(x, t->nelements * dtype_info((DType)t->dtype)->bytes, h);
}

// ---- element by element -------------------------------------------------------------------------

typedef struct Sides {
    const unsigned char *a, *b;
    DType ta, tb;
} Sides;

static double real_of(DType t, Scalar v)
{
    return dtype_info(t)->kind == KIND_FLOAT ? v.f
           : t == DT_U64                     ? (double)(uint64_t)v.i
                                             : (double)v.i;
}

// How far two elements are apart: 0 for equal ones, infinite where one alone is NaN or infinite.
static double distance(const Sides *s, uint64_t i, double *size)
{
    const Scalar x = scalar_load(s->ta, s->a + i * dtype_info(s->ta)->bytes);
    const Scalar y = scalar_load(s->tb, s->b + i * dtype_info(s->tb)->bytes);
    if (dtype_is_complex(s->ta)) {
        *size = hypot(y.c.re, y.c.im);
        double d = hypot(x.c.re - y.c.re, x.c.im - y.c.im);
        return isnan(d) ? INFINITY : d;
    }
    if (!dtype_is_float(s->ta) && !dtype_is_float(s->tb)) {
        const bool less = s->ta == DT_U64 ? (uint64_t)x.i < (uint64_t)y.i : x.i < y.i;
        const uint64_t d = less ? (uint64_t)y.i - (uint64_t)x.i : (uint64_t)x.i - (uint64_t)y.i;
        *size = fabs(real_of(s->tb, y));
        return (double)d;
    }
    const double u = real_of(s->ta, x), v = real_of(s->tb, y);
    *size = fabs(v);
    if (u == v || (isnan(u) && isnan(v)))
        return 0;
    const double d = fabs(u - v);
    return isnan(d) ? INFINITY : d;
}

static void compare_numbers(const Sides *s, const DiffOptions *o, DiffElements *e)
{
    const uint32_t width = dtype_info(s->ta)->bytes;
    e->greatest = 0;
    for (uint64_t from = 0; from < e->n; from += BLOCK) {
        const uint64_t to = from + BLOCK < e->n ? from + BLOCK : e->n;
        if (s->ta == s->tb &&
            memcmp(s->a + from * width, s->b + from * width, (to - from) * width) == 0)
            continue;
        for (uint64_t i = from; i < to; i++) {
            double size, d = distance(s, i, &size);
            if (!(d > o->atol + o->rtol * size))
                continue;
            e->at = e->differ++ == 0 || d > e->greatest ? i : e->at;
            e->greatest = d > e->greatest ? d : e->greatest;
        }
    }
}

static Str element_text(Arena *a, DType t, const void *elements, uint64_t i)
{
    Buf b = {0};
    if (t == DT_STRING) {
        Str s = ((const Str *)elements)[i];
        buf_quoted(&b, s.len > 40 ? (Str){s.at, 40} : s);
    } else {
        const Scalar v = scalar_load(t, (const char *)elements + i * dtype_info(t)->bytes);
        if (dtype_is_complex(t))
            buf_printf(&b, "%.9g%+.9gi", v.c.re, v.c.im);
        else if (t == DT_F64)
            buf_printf(&b, "%.17g", v.f);
        else if (dtype_is_float(t))
            buf_str(&b, diff_float_text(a, (float)v.f));
        else if (t == DT_U64)
            buf_printf(&b, "%llu", (unsigned long long)v.i);
        else
            buf_printf(&b, "%lld", (long long)v.i);
    }
    Str s = str_copy(a, (Str){b.at, b.len});
    buf_free(&b);
    return s;
}

// "[3,0,1]"
static Str index_text(Arena *a, const TensorData *t, uint64_t at)
{
    int64_t index[64];
    Buf b = {0};
    for (uint32_t k = t->rank; k-- && k < 64;) {
        index[k] = (int64_t)(at % (uint64_t)t->dims[k]);
        at /= (uint64_t)t->dims[k];
    }
    buf_char(&b, '[');
    for (uint32_t k = 0; k < t->rank && k < 64; k++)
        buf_printf(&b, "%s%lld", k ? "," : "", (long long)index[k]);
    buf_char(&b, ']');
    Str s = str_copy(a, (Str){b.at, b.len});
    buf_free(&b);
    return s;
}

// Can elements of the one be compared with those of the other?
static bool comparable(DType a, DType b)
{
    const DTypeKind x = dtype_info(a)->kind, y = dtype_info(b)->kind;
    bool apart = x == KIND_STRING || x == KIND_COMPLEX || y == KIND_STRING || y == KIND_COMPLEX;
    return a == b || (!apart && x != KIND_NONE && y != KIND_NONE);
}

bool diff_tensors(DiffPair *p, const DiffOptions *o, TensorData *a, TensorData *b, DiffElements **e)
{
    Str error;
    const bool exact = diff_same_tensor(p, a, b);
    if (exact || !same_dims(a, b) || !comparable((DType)a->dtype, (DType)b->dtype))
        return exact;
    const void *x = tensor_elements(p->a.m, a, &error), *y = tensor_elements(p->b.m, b, &error);
    if (!x || !y)
        return false;
    DiffElements found = {.n = a->nelements, .greatest = NAN};
    const Sides sides = {x, y, (DType)a->dtype, (DType)b->dtype};
    if (a->dtype == DT_STRING) {
        for (uint64_t i = 0; i < found.n; i++)
            if (!str_eq(((const Str *)x)[i], ((const Str *)y)[i]) && found.differ++ == 0)
                found.at = i;
    } else {
        compare_numbers(&sides, o, &found);
    }
    if (found.differ) {
        found.a = element_text(p->arena, sides.ta, x, found.at);
        found.b = element_text(p->arena, sides.tb, y, found.at);
        found.index = index_text(p->arena, a, found.at);
    }
    *e = NEW(p->arena, DiffElements);
    **e = found;
    return !found.differ && a->dtype == b->dtype;
}
