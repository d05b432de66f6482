// com.microsoft: operators on quantised tensors.
//
// Elementwise ones dequantise, compute in float32 and quantise again; products sum integers.

#include "ir/ops/microsoft.h"
#include "ir/ops/quantize.h"

#include <string.h>

// ---- QLinearAdd, QLinearMul, QLinearSigmoid, QLinearLeakyRelu, QLinearWhere

// A quantised operand: three inputs from i on.
static const Expr *operand(Lower *l, uint32_t i, uint32_t rank, const Index *o)
{
    Tensor x = input(l, i);
    return dequantize_element(l, load_broadcast(l, x, rank, o), input(l, i + 1), input(l, i + 2),
                              NULL);
}

// Scale and zero point of a whole tensor, inputs i and i + 1, have one element.
static void fit_single(Infer *s, uint32_t i)
{
    Index one_ = poly_const(s->polys, 1);
    infer_fits(s, i, 1, &one_);
    infer_fits(s, i + 1, 1, &one_);
}

static void infer_qlinear_unary(Infer *s)
{
    infer_same(s, 0, 0);
    fit_single(s, 1);
    fit_single(s, 3);
}

static void infer_qlinear_binary(Infer *s)
{
    const Value *a = infer_in(s, 0), *b = infer_in(s, 3);
    Index dims[MAX_RANK] = {0};
    if (!a || !b || a->rank < 0 || b->rank < 0)
        return;
    int32_t rank = a->rank > b->rank ? a->rank : b->rank;
    for (int32_t i = 0; i < rank; i++) {
        Index x = i >= rank - a->rank ? a->dims[i - (rank - a->rank)] : NULL,
              y = i >= rank - b->rank ? b->dims[i - (rank - b->rank)] : NULL;
        dims[i] = x && y ? infer_broadcast_dim(s, x, y) : x ? x : y;
    }
    infer_shape(s, 0, (uint32_t)rank, dims);
    for (uint32_t i = 0; i < 3; i++)
        fit_single(s, i < 2 ? 3 * i + 1 : 6);
}

static void lower_qlinear_binary(Lower *l)
{
    Tensor y = output(l, 0);
    Index o[MAX_RANK] = {0};
    kernel(l, str_escaped(l->arena, l->n->op).at);
    par_all(l, y, o);
    const Expr *e = l->n->def->fn.binary(l, operand(l, 0, y.rank, o), operand(l, 3, y.rank, o));
    store(l, y, o, quantize_element(l, e, input(l, 6), input(l, 7), y.dtype));
    kernel_end(l);
}

static void lower_qlinear_unary(Lower *l)
{
    Tensor y = output(l, 0);
    Index o[MAX_RANK] = {0};
    kernel(l, str_escaped(l->arena, l->n->op).at);
    par_all(l, y, o);
    const Expr *e = l->n->def->fn.unary(l, operand(l, 0, y.rank, o));
    store(l, y, o, quantize_element(l, e, input(l, 3), input(l, 4), y.dtype));
    kernel_end(l);
}

static void infer_qlinear_where(Infer *s)
{
    Index dims[MAX_RANK] = {0};
    uint32_t rank = 0;
    const Value *v[3] = {infer_in(s, 0), infer_in(s, 1), infer_in(s, 4)};
    for (int k = 0; k < 3; k++) {
        if (!v[k] || v[k]->rank < 0)
            return;
        rank = (uint32_t)v[k]->rank > rank ? (uint32_t)v[k]->rank : rank;
    }
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = NULL;
        for (int k = 0; k < 3; k++) {
            uint32_t skip = rank - (uint32_t)v[k]->rank;
            if (i >= skip)
                dims[i] = dims[i] ? infer_broadcast_dim(s, dims[i], v[k]->dims[i - skip])
                                  : v[k]->dims[i - skip];
        }
    }
    infer_shape(s, 0, rank, dims);
    fit_single(s, 2);
    fit_single(s, 5);
    fit_single(s, 7);
}

static void lower_qlinear_where(Lower *l)
{
    Tensor y = output(l, 0);
    Index o[MAX_RANK] = {0};
    kernel(l, "qlinear_where");
    par_all(l, y, o);
    const Expr *c = load_broadcast(l, input(l, 0), y.rank, o);
    const Expr *e = select_(l, c, operand(l, 1, y.rank, o), operand(l, 4, y.rank, o));
    store(l, y, o, quantize_element(l, e, input(l, 7), input(l, 8), y.dtype));
    kernel_end(l);
}

// ---- QLinearConcat: scale and point of the result, then three inputs for each tensor

static void infer_qlinear_concat(Infer *s)
{
    const Value *first = infer_in(s, 2);
    Index dims[MAX_RANK] = {0};
    if (s->n->nin < 5 || s->n->nin % 3 != 2) {
        infer_error(s, "each tensor needs a scale and a zero point");
        return;
    }
    infer_dtype_of(s, 0, 1);
    if (!first || first->rank < 1)
        return;
    int64_t axis = infer_axis(s, node_int(s->n, "axis", 0), first->rank);
    if (axis < 0)
        return;
    memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
    for (uint32_t i = 5; i < s->n->nin; i += 3) {
        const Value *x = infer_in(s, i);
        if (!x || x->rank < 0)
            return;
        if (x->rank != first->rank) {
            infer_error(s, "tensors of ranks %d and %d", first->rank, x->rank);
            return;
        }
        for (int32_t k = 0; k < x->rank; k++)
            if (k == axis)
                dims[k] = poly_add(s->polys, dims[k], x->dims[k]);
            else if (!infer_require(s, dims[k], x->dims[k]))
                infer_error(s, "input %u does not fit", i);
    }
    infer_shape(s, 0, (uint32_t)first->rank, dims);
    fit_single(s, 0);
    for (uint32_t i = 3; i < s->n->nin; i += 3)
        fit_single(s, i);
}

// Are two small inputs constants of the same bytes?
static bool same_constants(Lower *l, uint32_t i, uint32_t k)
{
    const TensorData *a, *b;
    const void *x = constant_input(l, i, &a), *y = constant_input(l, k, &b);
    return x && y && a->dtype == b->dtype && a->nelements == 1 && b->nelements == 1 &&
           memcmp(x, y, dtype_info((DType)a->dtype)->bytes) == 0;
}

// An operand whose scale and zero point are the result's is copied.
static void lower_qlinear_concat(Lower *l)
{
    Tensor y = output(l, 0);
    Index o[MAX_RANK] = {0}, from[MAX_RANK] = {0}, offset = ix(l, 0);
    int64_t axis = node_int(l->n, "axis", 0);
    axis += axis < 0 ? y.rank : 0;
    for (uint32_t i = 2; i + 2 < l->n->nin; i += 3) {
        Tensor x = input(l, i);
        kernel(l, "qlinear_concat");
        par_all(l, x, o);
        memcpy(from, o, sizeof from);
        o[axis] = ix_add(l, o[axis], offset);
        if (x.dtype == y.dtype && same_constants(l, 0, i + 1) && same_constants(l, 1, i + 2))
            store(l, y, o, load(l, x, from));
        else
            store(l, y, o,
                  quantize_element(l, operand(l, i, x.rank, from), input(l, 0), input(l, 1),
                                   y.dtype));
        kernel_end(l);
        offset = ix_add(l, offset, x.dims[axis]);
    }
}

// ---- QLinearAveragePool, QLinearGlobalAveragePool

// Where dim i of a tensor with channels in dim 1 stands, where channels may come last.
static uint32_t place(bool last, uint32_t rank, uint32_t i)
{
    return !last || i == 0 ? i : i == 1 ? rank - 1 : i - 1;
}

// The input in float32, channels in dim 1.
static Tensor pooled_input(Lower *l, Index *dims)
{
    Tensor x = input(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    bool last = node_int(l->n, "channels_last", 0) != 0;
    for (uint32_t i = 0; i < x.rank; i++)
        dims[i] = x.dims[place(last, x.rank, i)];
    Tensor y = temp(l, "dequantized", DT_F32, x.rank, dims);
    kernel(l, "dequantize");
    par_all(l, y, o);
    for (uint32_t i = 0; i < x.rank; i++)
        at[place(last, x.rank, i)] = o[i];
    store(l, y, o, operand(l, 0, x.rank, at));
    kernel_end(l);
    return y;
}

static void store_pooled(Lower *l, Tensor pooled)
{
    Tensor y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    bool last = node_int(l->n, "channels_last", 0) != 0;
    kernel(l, "quantize");
    par_all(l, y, o);
    for (uint32_t i = 0; i < y.rank; i++)
        at[i] = o[place(last, y.rank, i)];
    store(l, y, o, quantize_element(l, load(l, pooled, at), input(l, 3), input(l, 4), y.dtype));
    kernel_end(l);
}

static void infer_qlinear_pool(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0}, out[MAX_RANK] = {0};
    bool last = node_int(s->n, "channels_last", 0) != 0,
         whole = str_is(s->n->op, "QLinearGlobalAveragePool");
    if (!x || x->rank < 3)
        return;
    uint32_t r = (uint32_t)x->rank;
    for (uint32_t i = 0; i < r; i++)
        dims[i] = x->dims[place(last, r, i)];
    for (uint32_t i = 0; whole && i < r; i++)
        out[i] = i < 2 ? dims[i] : poly_const(s->polys, 1);
    if (!whole && !infer_pool_of(s, r, dims, out))
        return;
    for (uint32_t i = 0; i < r; i++)
        dims[place(last, r, i)] = out[i];
    infer_shape(s, 0, r, dims);
    fit_single(s, 1);
    fit_single(s, 3);
}

static void lower_qlinear_pool(Lower *l)
{
    Index in[MAX_RANK] = {0}, dims[MAX_RANK] = {0};
    Tensor x = pooled_input(l, in), y = output(l, 0);
    bool last = node_int(l->n, "channels_last", 0) != 0;
    for (uint32_t i = 0; i < y.rank; i++)
        dims[i] = y.dims[place(last, y.rank, i)];
    Tensor pooled = temp(l, "pooled", DT_F32, y.rank, dims);
    lower_part(l, &(Part){.op = l->n->def->fn.mode ? "GlobalAveragePool" : "AveragePool",
                          .in = {x},
                          .out = {pooled},
                          .attrs = l->n->attrs,
                          .nattrs = l->n->nattrs});
    store_pooled(l, pooled);
}

// ---- QLinearSoftmax

static void lower_qlinear_softmax(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0), wide = ms_like(l, "dequantized", DT_F32, x),
           soft = ms_like(l, "probabilities", DT_F32, x);
    Index o[MAX_RANK] = {0};
    Attr axis = attr_int("axis", node_int(l->n, "axis", -1));
    kernel(l, "dequantize");
    par_all(l, wide, o);
    store(l, wide, o, operand(l, 0, x.rank, o));
    kernel_end(l);
    lower_part(l, &(Part){.op = "Softmax",
                          .in = {wide},
                          .out = {soft},
                          .attrs = &axis,
                          .nattrs = 1,
                          .opset = node_int(l->n, "opset", 13)});
    kernel(l, "quantize");
    par_all(l, y, o);
    store(l, y, o, quantize_element(l, load(l, soft, o), input(l, 3), input(l, 4), y.dtype));
    kernel_end(l);
}

// ---- products

// A parameter for the column j of a product (its last dim), or of one element.
static const Expr *column(Lower *l, Tensor p, const Index *o, uint32_t rank)
{
    Index at[MAX_RANK] = {0};
    for (uint32_t i = 0; i < p.rank; i++)
        at[i] = poly_equals(p.dims[i], 1) ? ix(l, 0)
                : i + 1 == p.rank         ? o[rank - 1]
                                          : o[rank - p.rank + i];
    return cast(l, DT_F32, load(l, p, at));
}

// y = integer product of a and b, times both scales, plus bias.
static void scaled_product(Lower *l, Tensor y, const Tensor *a, const Tensor *b, Tensor bias)
{
    Index o[MAX_RANK] = {0};
    Tensor sum = ms_like(l, "sum", DT_I32, y);
    lower_part(l, &(Part){.op = "MatMulInteger", .in = {a[0], b[0], a[2], b[2]}, .out = {sum}});
    kernel(l, "scale");
    par_all(l, y, o);
    const Expr *scale = mul(l, column(l, a[1], o, y.rank), column(l, b[1], o, y.rank));
    const Expr *e = mul(l, cast(l, DT_F32, load(l, sum, o)), scale);
    if (bias.buffer)
        e = add(l, e, cast(l, DT_F32, load_broadcast(l, bias, y.rank, o)));
    store(l, y, o, cast(l, y.dtype, e));
    kernel_end(l);
}

// Parameters of B have one element or one for each of its columns (last dim).
static void fit_columns(Infer *s, uint32_t b, uint32_t first, uint32_t last)
{
    const Value *m = infer_in(s, b);
    for (uint32_t i = first; m && m->rank > 0 && i <= last; i++) {
        const Value *p = infer_in(s, i);
        if (p && p->rank == 1 && !poly_equals(p->dims[0], 1))
            infer_fits(s, i, 1, &m->dims[m->rank - 1]);
    }
}

static void infer_integer_to_float(Infer *s)
{
    infer_matmul(s);
    fit_columns(s, 1, 3, 3);
    fit_columns(s, 1, 5, 6);
}

static void lower_integer_to_float(Lower *l)
{
    Tensor a[3] = {input(l, 0), input(l, 2), input(l, 4)},
           b[3] = {input(l, 1), input(l, 3), input(l, 5)};
    scaled_product(l, output(l, 0), a, b, input(l, 6));
}

static void infer_dynamic_matmul(Infer *s)
{
    infer_matmul(s);
    fit_columns(s, 1, 2, 4);
}

// A is quantised by its own range. Spec: DynamicQuantizeLinear-11.
static void lower_dynamic_matmul(Lower *l)
{
    Tensor x = input(l, 0);
    Tensor a[3] = {ms_like(l, "quantized", DT_U8, x), temp(l, "scale", DT_F32, 0, NULL),
                   temp(l, "zero_point", DT_U8, 0, NULL)},
           b[3] = {input(l, 1), input(l, 2), input(l, 3)};
    lower_part(l, &(Part){.op = "DynamicQuantizeLinear", .in = {x}, .out = {a[0], a[1], a[2]}});
    scaled_product(l, output(l, 0), a, b, input(l, 4));
}

static void infer_qgemm(Infer *s)
{
    const Value *a = infer_in(s, 0), *b = infer_in(s, 3), *point = infer_in(s, 8);
    if (point && point->dtype != DT_NONE)
        infer_dtype_of(s, 0, 8);
    else
        infer_dtype(s, 0, DT_F32);
    if (!a || !b || a->rank != 2 || b->rank != 2)
        return;
    int ta = node_int(s->n, "transA", 0) != 0, tb = node_int(s->n, "transB", 0) != 0;
    if (!infer_require(s, a->dims[!ta], b->dims[tb])) {
        infer_error(s, "the inner dimensions differ");
        return;
    }
    Index dims[2] = {a->dims[ta], b->dims[!tb]};
    const Value *c = infer_in(s, 6);
    for (int32_t i = 0; c && i < c->rank && i < 2; i++)
        if (!poly_equals(c->dims[c->rank - 1 - i], 1) &&
            !infer_require(s, dims[1 - i], c->dims[c->rank - 1 - i]))
            infer_error(s, "C does not fit the product");
    for (uint32_t i = 4; i < 6; i++)
        if (infer_rank(s, i) == 1 && !poly_equals(infer_dim(s, i, 0), 1))
            infer_fits(s, i, 1, &dims[1]);
    infer_shape(s, 0, 2, dims);
}

// alpha * a_scale * b_scale * (A' * B' + C), quantised where y_scale is given. C has the scale of
// the sum.
static void lower_qgemm(Lower *l)
{
    Tensor y = output(l, 0), c = input(l, 6), a = input(l, 0), b = input(l, 3);
    Index o[MAX_RANK] = {0};
    static const uint32_t swap[2] = {1, 0};
    a = node_int(l->n, "transA", 0) ? ms_permuted(l, a, swap) : a;
    b = node_int(l->n, "transB", 0) ? ms_permuted(l, b, swap) : b;
    Tensor sum = ms_like(l, "sum", DT_I32, y);
    lower_part(
        l, &(Part){.op = "MatMulInteger", .in = {a, b, input(l, 2), input(l, 5)}, .out = {sum}});
    kernel(l, "qgemm");
    par_all(l, y, o);
    const Expr *e = load(l, sum, o);
    if (c.buffer)
        e = add(l, e, load_broadcast(l, c, 2, o));
    const Expr *scale = mul(l, column(l, input(l, 1), o, 2), column(l, input(l, 4), o, 2));
    scale = mul(l, attr_num(l, DT_F32, "alpha", 1), scale);
    if (has_input(l, 7))
        scale = div_(l, scale, column(l, input(l, 7), o, 2));
    e = mul(l, cast(l, DT_F32, e), scale);
    store(l, y, o,
          y.dtype == DT_F32 ? e : quantize_element(l, e, (Tensor){0}, input(l, 8), y.dtype));
    kernel_end(l);
}

const OpDef ops_ms_quantized[] = {
    {"QLinearAdd", 1, infer_qlinear_binary, lower_qlinear_binary, {.binary = add}, MS},
    {"QLinearMul", 1, infer_qlinear_binary, lower_qlinear_binary, {.binary = mul}, MS},
    {"QLinearSigmoid", 1, infer_qlinear_unary, lower_qlinear_unary, {.unary = sigmoid}, MS},
    {"QLinearLeakyRelu", 1, infer_qlinear_unary, lower_qlinear_unary, {.unary = leaky_relu}, MS},
    {"QLinearWhere", 1, infer_qlinear_where, lower_qlinear_where, {NULL}, MS},
    {"QLinearConcat", 1, infer_qlinear_concat, lower_qlinear_concat, {NULL}, MS},
    {"QLinearAveragePool", 1, infer_qlinear_pool, lower_qlinear_pool, {.mode = 0}, MS},
    {"QLinearGlobalAveragePool", 1, infer_qlinear_pool, lower_qlinear_pool, {.mode = 1}, MS},
    {"QLinearSoftmax", 1, infer_qlinear_unary, lower_qlinear_softmax, {NULL}, MS},
    {"MatMulIntegerToFloat", 1, infer_integer_to_float, lower_integer_to_float, {NULL}, MS},
    {"DynamicQuantizeMatMul", 1, infer_dynamic_matmul, lower_dynamic_matmul, {NULL}, MS},
    {"QGemm", 1, infer_qgemm, lower_qgemm, {NULL}, MS},
    {0},
};
