// Quantisation: QuantizeLinear, DequantizeLinear (per tensor, per axis, blocked),
// DynamicQuantizeLinear.

#include "ir/ops/quantize.h"

#include <string.h>

enum {
    MANY_ROWS = 16, // so many are worth a kernel that threads divide,
    LEAST_ROW = 128, // each of no fewer elements,
    LONG_ROW = 512, // and of no more dims than make so many,
    OPEN = 32       // a dim that is open counting as such
};

static bool is_single(uint32_t rank, const Index *dims)
{
    for (uint32_t i = 0; i < rank; i++)
        if (!poly_equals(dims[i], 1))
            return false;
    return true;
}

// A parameter's element for o: one for all, one along the axis, or one a block.
static const Expr *parameter(Lower *l, Tensor p, Tensor x, const Index *o)
{
    Index at[MAX_RANK] = {0};
    int64_t axis = node_int(l->n, "axis", 1), block = node_int(l->n, "block_size", 0);
    axis += axis < 0 ? x.rank : 0;
    bool single = is_single(p.rank, p.dims);
    if (!single && (axis < 0 || axis >= x.rank || p.rank != (block ? x.rank : 1))) {
        lower_unfit(l, "a scale or zero point does not fit its input");
        return zero(l, p.dtype);
    }
    for (uint32_t i = 0; i < p.rank; i++)
        at[i] = single ? ix(l, 0) : p.rank == 1 && !block ? o[axis] : o[i];
    if (!single && block)
        at[axis] = ix_div(l, o[axis], ix(l, block));
    return load(l, p, at);
}

// A scale or zero point stands for the whole tensor, for one place along the axis each, or for a
// block of places along it.
static void fit_parameter(Infer *s, uint32_t i)
{
    const Value *x = infer_in(s, 0), *v = infer_in(s, i);
    int64_t axis = node_int(s->n, "axis", 1), block = node_int(s->n, "block_size", 0);
    Index dims[MAX_RANK] = {0};
    if (!x || x->rank < 0 || !v || v->rank < 0 || is_single((uint32_t)v->rank, v->dims))
        return;
    if (block < 0 || v->rank != (block ? x->rank : 1)) {
        infer_error(s, "input %u of rank %d does not fit rank %d and block_size %lld", i, v->rank,
                    x->rank, (long long)block);
        return;
    }
    if ((axis = infer_axis(s, axis, x->rank)) < 0)
        return;
    for (int32_t k = 0; block && k < x->rank; k++)
        dims[k] = k == axis ? poly_ceildiv(s->polys, x->dims[k], poly_const(s->polys, block))
                            : x->dims[k];
    infer_fits(s, i, (uint32_t)v->rank, block ? dims : &x->dims[axis]);
}

static double low_of(DType t)
{
    int bits = dtype_info(t)->bits;
    return dtype_is_signed(t) ? -(double)((int64_t)1 << (bits - 1)) : 0;
}

static double high_of(DType t)
{
    int bits = dtype_info(t)->bits;
    return (double)(((int64_t)1 << (dtype_is_signed(t) ? bits - 1 : bits)) - 1);
}

// The single element of a parameter, or the one along a dim where it has more.
static const Expr *element(Lower *l, Tensor p, Index along)
{
    Index at[MAX_RANK] = {0};
    for (uint32_t i = 0; i < p.rank; i++)
        at[i] = poly_equals(p.dims[i], 1) || !along ? ix(l, 0) : along;
    return load(l, p, at);
}

const Expr *dequantize_element(Lower *l, const Expr *e, Tensor scale, Tensor point, Index along)
{
    const Expr *i = cast(l, DT_I32, e);
    if (point.buffer)
        i = sub(l, i, cast(l, DT_I32, element(l, point, along)));
    return mul(l, cast(l, DT_F32, i), cast(l, DT_F32, element(l, scale, along)));
}

const Expr *quantize_element(Lower *l, const Expr *e, Tensor scale, Tensor point, DType to)
{
    if (scale.buffer)
        e = div_(l, e, element(l, scale, NULL));
    e = unary(l, U_ROUND, e);
    if (point.buffer)
        e = add(l, e, cast(l, DT_F32, element(l, point, NULL)));
    return cast(l, to,
                min_(l, max_(l, e, num(l, DT_F32, low_of(to))), num(l, DT_F32, high_of(to))));
}

static void infer_quantize(Infer *s)
{
    const Value *zero_point = infer_in(s, 2);
    DType t = node_dtype(s->n, "output_dtype", DT_NONE);
    fit_parameter(s, 1);
    fit_parameter(s, 2);
    if (zero_point && zero_point->dtype != DT_NONE)
        infer_dtype_of(s, 0, 2);
    else
        infer_dtype(s, 0, t ? t : DT_U8);
    same_as_0(s);
}

// saturate(round(x / scale) + zero_point), ties to even; float8 and float4 saturate without
// rounding to integers.
static void lower_quantize(Lower *l)
{
    Tensor x = input(l, 0), scale = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    int64_t precision = node_int(l->n, "precision", 0);
    if (!dtype_is_float(y.dtype) &&
        (!dtype_is_integer(y.dtype) || dtype_info(y.dtype)->bits > 16)) {
        not_supported(l, "QuantizeLinear to %s", dtype_name(y.dtype));
        return;
    }
    DType t = precision == DT_F64 ? DT_F64 : scale.dtype == DT_F64 ? DT_F64 : DT_F32;
    kernel(l, "quantize");
    par_all(l, y, o);
    const Expr *xe = cast(l, t, load(l, x, o)),
               *e = div_(l, xe, cast(l, t, parameter(l, scale, x, o)));
    if (precision == 0 && dtype_is_small_float(scale.dtype) && x.dtype == scale.dtype)
        e = cast(l, t, div_(l, load(l, x, o), parameter(l, scale, x, o)));
    bool to_float = dtype_is_float(y.dtype);
    if (!to_float)
        e = unary(l, U_ROUND, e);
    if (has_input(l, 2))
        e = add(l, e, cast(l, t, parameter(l, input(l, 2), x, o)));
    if (!to_float)
        e = min_(l, max_(l, e, num(l, t, low_of(y.dtype))), num(l, t, high_of(y.dtype)));
    store(l, y, o, expr_cast(l->module, y.dtype, e, node_int(l->n, "saturate", 1) != 0));
    kernel_end(l);
}

static void infer_dequantize(Infer *s)
{
    const Value *scale = infer_in(s, 1);
    DType t = node_dtype(s->n, "output_dtype", DT_NONE);
    fit_parameter(s, 1);
    fit_parameter(s, 2);
    if (t)
        infer_dtype(s, 0, t);
    else if (scale && scale->dtype != DT_NONE && s->n->nout && s->n->out[0] &&
             value_at(s->model, s->n->out[0])->dtype == DT_NONE) {
        infer_dtype_of(s, 0, 1);
    }
    same_as_0(s);
}

static void lower_dequantize(Lower *l)
{
    Tensor x = input(l, 0), scale = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    kernel(l, "dequantize");
    par_all(l, y, o);
    DType t = scale.dtype == DT_F64 ? DT_F64 : DT_F32;
    const Expr *e;
    if (dtype_is_float(x.dtype)) {
        e = cast(l, t, load(l, x, o));
        if (has_input(l, 2))
            e = sub(l, e, cast(l, t, parameter(l, input(l, 2), x, o)));
    } else {
        DType wide = dtype_info(x.dtype)->bits <= 16 ? DT_I32 : DT_I64; // holds any difference
        const Expr *i = cast(l, wide, load(l, x, o));
        if (has_input(l, 2))
            i = sub(l, i, cast(l, wide, parameter(l, input(l, 2), x, o)));
        e = cast(l, t, i);
    }
    store(l, y, o, cast(l, y.dtype, mul(l, e, cast(l, t, parameter(l, scale, x, o)))));
    kernel_end(l);
}

static void infer_dynamic(Infer *s)
{
    infer_same(s, 0, 0);
    infer_shape(s, 1, 0, NULL);
    infer_shape(s, 2, 0, NULL);
}

// The least and the greatest of all elements: of x, or of those of its rows.
static void find_extremes(Lower *l, const Tensor *of[2], const Expr *extreme[2])
{
    for (int k = 0; k < 2; k++) {
        Index vars[MAX_RANK] = {0};
        for (uint32_t i = 0; i < of[k]->rank; i++)
            vars[i] = red(l, of[k]->dims[i]);
        extreme[k] = reduce(l, k ? R_MAX : R_MIN, of[k]->rank, vars, NULL, load(l, *of[k], vars));
    }
}

// Of dims from .. to the product, no more than LONG_ROW; one that is open is `open`.
static int64_t elements_of(Tensor x, uint32_t from, uint32_t to, int64_t open)
{
    int64_t all = 1, n;
    for (uint32_t i = from; i < to && all < LONG_ROW; i++) {
        n = poly_is_const(x.dims[i], &n) ? n : open;
        all = n < LONG_ROW ? all * n : LONG_ROW;
    }
    return all;
}

// How many last dims of x are a row, so that rows are many and long enough; 0: x is one.
static uint32_t rank_of_rows(Tensor x)
{
    uint32_t n = 0;
    while (n + 1 < x.rank && elements_of(x, 0, x.rank - n - 1, MANY_ROWS) >= MANY_ROWS &&
           elements_of(x, x.rank - n, x.rank, OPEN) < LONG_ROW)
        n++;
    return elements_of(x, x.rank - n, x.rank, LEAST_ROW) < LEAST_ROW ? 0 : n;
}

// The least and the greatest element of each row of x, its last n dims: a cache holds a row while
// both are found, and threads divide them.
static void store_extremes(Lower *l, Tensor x, uint32_t n, Tensor rows[2])
{
    Index o[MAX_RANK] = {0};
    for (int k = 0; k < 2; k++)
        rows[k] = temp(l, k ? "greatest" : "least", DT_F32, x.rank - n, x.dims);
    kernel(l, "dynamic_range");
    par_all(l, rows[0], o);
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = x.rank - n; i < x.rank; i++)
            o[i] = red(l, x.dims[i]);
        store(l, rows[k], o,
              reduce(l, k ? R_MAX : R_MIN, n, o + x.rank - n, NULL, load(l, x, o)));
    }
    kernel_end(l);
}

// Scale and zero point from the range of x, which always holds 0. Spec: DynamicQuantizeLinear-11.
static void lower_dynamic(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0), scale = output(l, 1), point = output(l, 2);
    Index o[MAX_RANK] = {0};
    const Expr *extreme[2], *z = zero(l, DT_F32), *top = num(l, DT_F32, 255);
    Tensor rows[2];
    const uint32_t many = rank_of_rows(x);
    if (!scale.buffer)
        scale = temp(l, "scale", DT_F32, 0, NULL);
    if (!point.buffer)
        point = temp(l, "zero_point", DT_U8, 0, NULL);
    if (many)
        store_extremes(l, x, many, rows);
    kernel(l, "dynamic_scale");
    find_extremes(l, (const Tensor *[]){many ? &rows[0] : &x, many ? &rows[1] : &x}, extreme);
    const Expr *low = min_(l, z, extreme[0]), *high = max_(l, z, extreme[1]),
               *s = div_(l, sub(l, high, low), top);
    store(l, scale, NULL, s);
    const Expr *p = unary(l, U_ROUND, min_(l, max_(l, div_(l, sub(l, z, low), s), z), top));
    store(l, point, NULL, cast(l, DT_U8, p));
    kernel_end(l);
    kernel(l, "dynamic_quantize");
    par_all(l, y, o);
    const Expr *e = add(l, unary(l, U_ROUND, div_(l, load(l, x, o), load(l, scale, NULL))),
                        cast(l, DT_F32, load(l, point, NULL)));
    store(l, y, o, cast(l, DT_U8, min_(l, max_(l, e, z), top)));
    kernel_end(l);
}

const OpDef ops_quantize[] = {
    {"QuantizeLinear", 10, infer_quantize, lower_quantize, {NULL}, NULL},
    {"DequantizeLinear", 10, infer_dequantize, lower_dequantize, {NULL}, NULL},
    {"DynamicQuantizeLinear", 11, infer_dynamic, lower_dynamic, {NULL}, NULL},
    {"QuantizeLinear", 1, infer_quantize, lower_quantize, {NULL}, "com.microsoft"},
    {"DequantizeLinear", 1, infer_dequantize, lower_dequantize, {NULL}, "com.microsoft"},
    {0},
};
