// Constant factors of products as they are computed: stored numbers, or quantized ones with
// constant scales and zero points (DequantizeLinear, the operands of integer products), a Transpose
// of a matrix and widening Casts between them and the product.

#include "base/host.h"
#include "ir/payload.h"
#include "passes/ranges_state.h"

#include <math.h>
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
    f->scale = scale;
    f->zero = zero;
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

// Are elements of the dtype stored several to a byte, so that they are taken as they are?
static bool is_packed(DType t)
{
    return t == DT_I4 || t == DT_U4 || t == DT_I2 || t == DT_U2 || t == DT_F4E2M1;
}

// What the codes of a float of at most 8 bits stand for; NULL: the dtype is none.
static const double *numbers_of(RangeWalk *w, DType t)
{
    enum { CODES = 256 };
    const double **known = &w->r->numbers[t];
    if (!*known && dtype_is_float(t) && dtype_info(t)->bits <= 8) {
        double *of = NEWS(w->r->a, double, CODES);
        for (unsigned code = 0; code < CODES; code++)
            of[code] = scalar_load(t, &(unsigned char){(unsigned char)code}).f;
        *known = of;
    }
    return *known;
}

// The data of a constant, those of few bits as they are stored.
static void take_data(RangeWalk *w, ValueId v, Factor *f)
{
    const TensorData *t = v ? value_at(w->m, v)->constant : NULL;
    Str bytes;
    f->value = v;
    if (t && is_packed((DType)t->dtype) && tensor_packed(w->m, t, &bytes)) {
        f->packed = dtype_info((DType)t->dtype)->bits;
        f->data = (Elements){(const unsigned char *)bytes.at, (DType)t->dtype, tensor_count(t),
                             t->rank, t->dims};
    } else {
        f->data = elements_of(w->m, v);
    }
    f->numbers = numbers_of(w, f->data.dtype);
}

// The constants that a DequantizeLinear computes from; false: not all are.
static bool dequantized(RangeWalk *w, const Node *n, Factor *f)
{
    const Value *x = n->nin && n->in[0] ? value_at(w->m, n->in[0]) : NULL;
    bool zero = n->nin > 2 && n->in[2];
    take_data(w, x && x->constant ? n->in[0] : 0, f);
    f->dtype = n->out[0] ? value_at(w->m, n->out[0])->dtype : DT_NONE;
    Elements scales = elements_of(w->m, n->nin > 1 ? n->in[1] : 0);
    Elements points = elements_of(w->m, zero ? n->in[2] : 0);
    int64_t axis = node_int(n, "axis", 1);
    f->scale_value = n->in[1];
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
            f->value = v;
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

enum { PART = 512 }; // are read at a time

HOST_VECTORS
static void read_bytes(const unsigned char *restrict at, uint64_t n, int offset,
                       double *restrict to)
{
    for (uint64_t i = 0; i < n; i++)
        to[i] = (double)((int)at[i] - offset);
}

// Signs are moved to offsets: first all bits but the sign's keep their place.
static void read_integers(const Factor *f, uint64_t first, uint64_t n, double *to)
{
    const bool is_signed = dtype_is_signed(f->data.dtype);
    const unsigned bits = f->packed ? f->packed : 8;
    unsigned char part[PART];
    for (uint64_t done = 0, m; done < n; done += m) {
        m = n - done < PART ? n - done : PART;
        if (f->packed)
            weigh_unpack(f->data.at, first + done, m, bits, is_signed, part);
        for (uint64_t i = 0; !f->packed && i < m; i++)
            part[i] = (unsigned char)(f->data.at[first + done + i] ^ (is_signed ? 0x80 : 0));
        read_bytes(part, m, is_signed ? 1 << (bits - 1) : 0, to + done);
    }
}

// Floats of at most 8 bits, by what each code stands for.
static void read_codes(const Factor *f, uint64_t first, uint64_t n, double *to)
{
    unsigned char part[PART];
    for (uint64_t done = 0, m; done < n; done += m) {
        const unsigned char *at = part;
        m = n - done < PART ? n - done : PART;
        if (f->packed)
            weigh_unpack(f->data.at, first + done, m, f->packed, false, part);
        else
            at = f->data.at + first + done;
        for (uint64_t i = 0; i < m; i++)
            to[done + i] = f->numbers[at[i]];
    }
}

static void read_numbers(const Factor *f, uint64_t first, uint64_t n, double *to)
{
    const Elements *x = &f->data;
    WeightForm form;
    if (f->numbers)
        read_codes(f, first, n, to);
    else if (f->packed || x->dtype == DT_I8 || x->dtype == DT_U8)
        read_integers(f, first, n, to);
    else if (factor_form(f, &form))
        weigh_read(form, x->at + dtype_info(x->dtype)->bytes * first, n, to);
    else
        for (uint64_t i = 0; i < n; i++)
            to[i] = element_at(x, first + i);
}

bool factor_form(const Factor *f, WeightForm *form)
{
    switch (f->data.dtype) {
    case DT_F64:
        *form = WEIGHT_F64;
        return true;
    case DT_F32:
        *form = WEIGHT_F32;
        return true;
    case DT_F16:
        *form = WEIGHT_F16;
        return true;
    case DT_BF16:
        *form = WEIGHT_BF16;
        return true;
    default:
        return false;
    }
}

double factor_scale(const Factor *f, uint64_t k)
{
    return f->scale.n ? element_at(&f->scale, f->scale.n == 1 ? 0 : k) : 1;
}

double factor_zero(const Factor *f, uint64_t k)
{
    return f->zero.n ? element_at(&f->zero, f->zero.n == 1 ? 0 : k) : f->middle;
}

void factor_scales(const Factor *f, uint64_t k, uint64_t n, float *to)
{
    if (f->scale.n > 1 && f->scale.dtype == DT_F32)
        memcpy(to, f->scale.at + k * sizeof *to, n * sizeof *to);
    else
        for (uint64_t i = 0; i < n; i++)
            to[i] = (float)factor_scale(f, k + i);
}

void factor_zeros(const Factor *f, uint64_t k, uint64_t n, float *to)
{
    const bool many = f->zero.n > 1;
    if (many && f->zero.dtype == DT_I8)
        for (uint64_t i = 0; i < n; i++)
            to[i] = (float)(signed char)f->zero.at[k + i];
    else if (many && f->zero.dtype == DT_U8)
        for (uint64_t i = 0; i < n; i++)
            to[i] = (float)f->zero.at[k + i];
    else if (!f->zero.n)
        for (uint64_t i = 0; i < n; i++)
            to[i] = (float)f->middle;
    else
        for (uint64_t i = 0; i < n; i++)
            to[i] = (float)factor_zero(f, k + i);
}

// (v - zero) * scale for n of them.
HOST_VECTORS
static void scale_floats(double *v, uint64_t n, double zero, double scale)
{
    for (uint64_t i = 0; i < n; i++)
        v[i] = (double)(float)((v[i] - zero) * scale);
}

// The same with a scale and a zero point each.
HOST_VECTORS
static void scale_each(double *restrict v, uint64_t n, const float *restrict zero,
                       const float *restrict scale)
{
    for (uint64_t i = 0; i < n; i++)
        v[i] = (double)(float)((v[i] - (double)zero[i]) * (double)scale[i]);
}

static void scale_apart(const Factor *f, double *v, const FactorRun *run)
{
    float scale[PART], zero[PART];
    for (uint64_t done = 0, m; done < run->n; done += m) {
        m = run->n - done < PART ? run->n - done : PART;
        factor_scales(f, run->k + done, m, scale);
        factor_zeros(f, run->k + done, m, zero);
        scale_each(v + done, m, zero, scale);
    }
}

static void scale_run(const Factor *f, double *v, const FactorRun *run)
{
    // A zero point of one byte is exact in float32.
    if (f->dtype == DT_F32 && run->step == 1 && f->scale.dtype == DT_F32 &&
        (!f->zero.n || dtype_info(f->zero.dtype)->bits <= 8)) {
        scale_apart(f, v, run);
        return;
    }
    if (f->dtype == DT_F32 && !run->step) {
        scale_floats(v, run->n, factor_zero(f, run->k), factor_scale(f, run->k));
        return;
    }
    for (uint64_t i = 0; i < run->n; i++) {
        const uint64_t k = run->k + i * run->step;
        v[i] = (v[i] - factor_zero(f, k)) * factor_scale(f, k);
        if (f->dtype == DT_F32)
            v[i] = (double)(float)v[i];
        else if (dtype_is_float(f->dtype))
            v[i] = scalar_cast(DT_F64, f->dtype, (Scalar){.f = v[i]}, false).f;
    }
}

FactorRun factor_run(const Factor *f, uint64_t first, uint64_t n)
{
    if (f->nscales < 2)
        return (FactorRun){n, 0, 0};
    const uint64_t in = first % f->inner, along = first / f->inner % f->along,
                   outer = first / f->inner / f->along;
    const uint64_t blocks = f->block ? (f->along + f->block - 1) / f->block : 0;
    const uint64_t k = f->block ? (outer * blocks + along / f->block) * f->inner + in : along;
    const bool each = f->inner == 1 ? !f->block : f->block > 0; // as many parameters as elements
    const uint64_t to_end = f->along - along;
    uint64_t run = f->inner > 1 ? f->inner - in : to_end;
    if (f->inner == 1 && f->block && f->block - along % f->block < run)
        run = f->block - along % f->block;
    return (FactorRun){run < n ? run : n, each, k};
}

void factor_read(const Factor *f, uint64_t first, uint64_t n, double *to)
{
    read_numbers(f, first, n, to);
    for (uint64_t done = 0; f->nscales && done < n;) {
        const FactorRun run = factor_run(f, first + done, n - done);
        scale_run(f, to + done, &run);
        done += run.n;
    }
}
