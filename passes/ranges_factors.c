// Constant factors of products as they are computed: stored numbers, or quantized ones with
// constant scales and zero points (DequantizeLinear, the operands of integer products), a Transpose
// of a matrix and widening Casts between them and the product.

#include "base/host.h"
#include "passes/ranges_state.h"

#include <string.h>

enum { MAX_STEPS = 8 };

const Node *range_made_by(RangeWalk *w, ValueId v, const char *op)
{
    const Value *value = v ? value_at(w->m, v) : NULL;
    const Node *n =
        value && value->def == DEF_NODE && !value->index ? node_at(w->m, value->node) : NULL;
    return n && node_is(n, op) && is_standard_domain(n->domain) ? n : NULL;
}

// ---- scales and zero points

// Are the parameters one for all, one an index of `axis`, or one a block of indices there?
static bool fits(const Elements *p, const Factor *f, int64_t axis, int64_t block)
{
    if (p->n == 1)
        return true;
    if (axis < 0 || axis >= f->data.rank || block < 0)
        return false;
    if (!block)
        return p->rank == 1 && p->n == (uint64_t)f->data.dims[axis];
    bool same = p->rank == f->data.rank;
    for (uint32_t k = 0; same && k < p->rank; k++) {
        int64_t d = f->data.dims[k];
        same = p->dims[k] == (k == axis ? d / block + (d % block != 0) : d);
    }
    return same;
}

bool range_quantized(RangeWalk *w, Factor *f, Elements scale, Elements zero, int64_t axis,
                     int64_t block)
{
    axis += axis < 0 ? f->data.rank : 0;
    if ((scale.at && !scale.n) || (zero.at && !zero.n) ||
        (scale.n && !fits(&scale, f, axis, block)) || (zero.n && !fits(&zero, f, axis, block)))
        return false;
    uint64_t n = scale.n > zero.n ? scale.n : zero.n;
    if (!n)
        return true;
    if (!walk_afford(w, n))
        return false;
    f->scales = NEWS(w->r->a, double, n);
    f->zeros = NEWS(w->r->a, double, n);
    for (uint64_t i = 0; i < n; i++) {
        f->scales[i] = scale.n ? element_at(&scale, scale.n == 1 ? 0 : i) : 1;
        f->zeros[i] = zero.n ? element_at(&zero, zero.n == 1 ? 0 : i) : 0;
    }
    f->scaled = scale.n > 0;
    f->nscales = n;
    f->inner = f->along = 1;
    f->block = block > 0 ? (uint64_t)block : 0;
    if (n < 2)
        return true;
    f->along = (uint64_t)f->data.dims[axis];
    for (uint32_t k = (uint32_t)axis + 1; k < f->data.rank; k++)
        f->inner *= (uint64_t)f->data.dims[k];
    return f->inner > 0 && f->along > 0;
}

bool range_dequantizes(const Node *n)
{
    return str_is(n->op, "DequantizeLinear") && n->nin > 1 &&
           (is_standard_domain(n->domain) || str_is(n->domain, "com.microsoft"));
}

// The constants that a DequantizeLinear computes from; false: not all are.
static bool dequantized(RangeWalk *w, const Node *n, Factor *f)
{
    const Value *x = n->nin && n->in[0] ? value_at(w->m, n->in[0]) : NULL;
    bool zero = n->nin > 2 && n->in[2];
    f->data = elements_of(w->m, x && x->constant ? n->in[0] : 0);
    f->dtype = n->out[0] ? value_at(w->m, n->out[0])->dtype : DT_NONE;
    Elements scales = elements_of(w->m, n->nin > 1 ? n->in[1] : 0);
    Elements points = elements_of(w->m, zero ? n->in[2] : 0);
    int64_t axis = node_int(n, "axis", 1);
    if (!f->data.n || !scales.n || (zero && !points.n) || !dtype_is_float(f->dtype))
        return false;
    axis = f->data.rank == 1 && axis == 1 ? 0 : axis;
    return range_quantized(w, f, scales, points, axis, node_int(n, "block_size", 0));
}

bool walk_factor(RangeWalk *w, uint32_t i, Factor *f)
{
    ValueId v = i < w->n->nin ? w->n->in[i] : 0;
    *f = (Factor){.inner = 1, .along = 1};
    for (int step = 0; v && step < MAX_STEPS; step++) {
        const Value *value = value_at(w->m, v);
        if (value->constant) {
            f->data = elements_of(w->m, v);
            f->dtype = value->dtype;
            return f->data.n && f->data.dtype == value->dtype;
        }
        const Node *n = value->def == DEF_NODE ? node_at(w->m, value->node) : NULL;
        if (n && range_dequantizes(n))
            return dequantized(w, n, f);
        const int64_t *perm;
        uint32_t rank;
        const Node *cast = range_made_by(w, v, "Cast");
        const Node *transpose = range_made_by(w, v, "Transpose");
        ValueId from = cast ? cast->in[0] : transpose ? transpose->in[0] : 0;
        const Value *x = from ? value_at(w->m, from) : NULL;
        if (transpose && x && x->rank == 2 &&
            !(node_ints(transpose, "perm", &perm, &rank) && rank == 2 && perm[0] == 0))
            f->transposed = !f->transposed;
        else if (!cast || !x || !dtype_is_float(x->dtype) || dtype_info(x->dtype)->bits < 16 ||
                 range_digits(value->dtype) <= range_digits(x->dtype) || value->dtype == DT_F16)
            return false;
        v = from;
    }
    return false;
}

// ---- elements

HOST_VECTORS
static void read_floats(const unsigned char *at, uint64_t n, double *to)
{
    for (uint64_t i = 0; i < n; i++) {
        float f;
        memcpy(&f, at + sizeof f * i, sizeof f);
        to[i] = (double)f;
    }
}

HOST_VECTORS
static void read_bytes(const unsigned char *at, uint64_t n, bool is_signed, double *to)
{
    if (is_signed)
        for (uint64_t i = 0; i < n; i++)
            to[i] = (double)(int8_t)at[i];
    else
        for (uint64_t i = 0; i < n; i++)
            to[i] = (double)at[i];
}

static void read_numbers(const Elements *x, uint32_t packed, uint64_t first, uint64_t n, double *to)
{
    if (packed)
        for (uint64_t i = first; i < first + n; i++)
            to[i - first] =
                (double)(x->at[i * packed / 8] >> i * packed % 8 & ((1u << packed) - 1));
    else if (x->dtype == DT_F32)
        read_floats(x->at + sizeof(float) * first, n, to);
    else if (x->dtype == DT_I8 || x->dtype == DT_U8)
        read_bytes(x->at + first, n, x->dtype == DT_I8, to);
    else
        for (uint64_t i = 0; i < n; i++)
            to[i] = element_at(x, first + i);
}

// (v - zero) * scale for n of them, with parameters for each or, where `step` is 0, the same ones.
HOST_VECTORS
static void scale_floats(double *v, uint64_t n, const double *zero, const double *scale,
                         uint64_t step)
{
    if (step)
        for (uint64_t i = 0; i < n; i++)
            v[i] = (double)(float)((v[i] - zero[i]) * scale[i]);
    else
        for (uint64_t i = 0; i < n; i++)
            v[i] = (double)(float)((v[i] - *zero) * *scale);
}

static void scale_run(const Factor *f, double *v, uint64_t n, uint64_t k, uint64_t step)
{
    const double *zero = f->zeros + k, *scale = f->scales + k;
    if (f->dtype == DT_F32) {
        scale_floats(v, n, zero, scale, step);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        v[i] = (v[i] - zero[i * step]) * scale[i * step];
        if (dtype_is_float(f->dtype))
            v[i] = scalar_cast(DT_F64, f->dtype, (Scalar){.f = v[i]}, false).f;
    }
}

// Elements next to each other have the same parameters, or, along the last axis, those next to each
// other.
void factor_read(const Factor *f, uint64_t first, uint64_t n, double *to)
{
    read_numbers(&f->data, f->packed, first, n, to);
    if (!f->scales)
        return;
    uint64_t blocks = f->block ? (f->along + f->block - 1) / f->block : 0;
    bool row = f->inner == 1 && !f->block && f->along > 1;
    for (uint64_t i = first, run; i < first + n; i += run) {
        uint64_t in = i % f->inner, along = i / f->inner % f->along,
                 outer = i / f->inner / f->along;
        uint64_t k = f->block ? (outer * blocks + along / f->block) * f->inner + in : along;
        run = row             ? f->along - along
              : f->along == 1 ? n
              : f->inner > 1  ? (f->block ? 1 : f->inner - in)
                              : f->block - along % f->block;
        run = f->inner == 1 && run > f->along - along && f->along > 1 ? f->along - along : run;
        run = run > first + n - i ? first + n - i : run;
        scale_run(f, to + (i - first), run, k, row);
    }
}
