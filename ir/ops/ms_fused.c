// com.microsoft: products, convolutions and pools with what stands around them.

#include "ir/ops/microsoft.h"

#include <string.h>

// ---- shared

Tensor ms_like(Lower *l, const char *name, DType t, Tensor x)
{
    return temp(l, name, t, x.rank, x.dims);
}

void ms_cast_to(Lower *l, Tensor y, Tensor x)
{
    Attr to = attr_int("to", y.dtype);
    lower_part(l, &(Part){.op = "Cast", .in = {x}, .out = {y}, .attrs = &to, .nattrs = 1});
}

Tensor ms_cast(Lower *l, Tensor x, DType t)
{
    if (!x.buffer || x.dtype == t)
        return x;
    Tensor y = ms_like(l, "cast", t, x);
    ms_cast_to(l, y, x);
    return y;
}

Tensor ms_permuted(Lower *l, Tensor x, const uint32_t *perm)
{
    Index dims[MAX_RANK] = {NULL}, o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    for (uint32_t i = 0; i < x.rank; i++)
        dims[i] = x.dims[perm[i]];
    Tensor y = temp(l, "permuted", x.dtype, x.rank, dims);
    kernel(l, "permute");
    par_all(l, y, o);
    for (uint32_t i = 0; i < x.rank; i++)
        at[perm[i]] = o[i];
    store(l, y, o, load(l, x, at));
    kernel_end(l);
    return y;
}

Tensor ms_channels_first(Lower *l, Tensor x)
{
    uint32_t perm[MAX_RANK] = {0, x.rank - 1};
    for (uint32_t i = 2; i < x.rank; i++)
        perm[i] = i - 1;
    return ms_permuted(l, x, perm);
}

void ms_store_channels_last(Lower *l, Tensor y, Tensor x)
{
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    kernel(l, "channels_last");
    par_all(l, y, o);
    at[0] = o[0];
    at[1] = o[y.rank - 1];
    for (uint32_t i = 2; i < y.rank; i++)
        at[i] = o[i - 1];
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

void ms_scale(Lower *l, Tensor y, Tensor x, double alpha)
{
    Index o[MAX_RANK] = {0};
    DType t = accumulator(x.dtype);
    kernel(l, "scale");
    par_all(l, y, o);
    store(l, y, o, cast(l, y.dtype, mul(l, num(l, t, alpha), cast(l, t, load(l, x, o)))));
    kernel_end(l);
}

// y = activation(x) as the node's attribute "activation" names it: an operator of the standard
// domain that has no operands but x.
static void activate(Lower *l, Tensor y, Tensor x, uint32_t nattrs, const Attr *attrs)
{
    static const char *const known[] = {
        "Relu",     "LeakyRelu", "Tanh", "Sigmoid", "HardSigmoid",     "Elu",      "Selu",
        "Softplus", "Softsign",  "Clip", "Gelu",    "ThresholdedRelu", "HardSwish"};
    Str name = node_str(l->n, "activation", "");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_is(name, known[i])) {
            lower_part(
                l,
                &(Part){.op = known[i], .in = {x}, .out = {y}, .attrs = attrs, .nattrs = nattrs});
            return;
        }
    not_supported(l, "%.*s with activation \"%.*s\"", STR_ARG(l->n->op),
                  STR_ARG(str_escaped(l->arena, name)));
}

static bool has_activation(Lower *l)
{
    return node_str(l->n, "activation", "").len > 0;
}

// ---- FusedMatMul: alpha * A' * B'

// transBatch moves dim 0 behind the other batch dims; trans swaps the last two. Vectors stay.
static void operand_order(const Node *n, bool second, uint32_t rank, uint32_t *perm)
{
    bool batch = node_int(n, second ? "transBatchB" : "transBatchA", 0) != 0,
         swap = node_int(n, second ? "transB" : "transA", 0) != 0;
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = i;
    if (batch && rank > 2)
        for (uint32_t i = 0; i + 1 < rank; i++)
            perm[i] = (i + 1) % (rank - 1);
    if (swap && rank > 1) {
        uint32_t last = perm[rank - 1];
        perm[rank - 1] = perm[rank - 2];
        perm[rank - 2] = last;
    }
}

static void infer_fused_matmul(Infer *s)
{
    const Value *v[2] = {infer_in(s, 0), infer_in(s, 1)};
    Index dims[2][MAX_RANK] = {0};
    uint32_t perm[MAX_RANK];
    for (uint32_t k = 0; k < 2; k++) {
        if (!v[k] || v[k]->rank < 1)
            return;
        operand_order(s->n, k, (uint32_t)v[k]->rank, perm);
        for (int32_t i = 0; i < v[k]->rank; i++)
            dims[k][i] = v[k]->dims[perm[i]];
    }
    infer_product_of(s, v[0]->rank, dims[0], v[1]->rank, dims[1]);
}

static Tensor ordered(Lower *l, uint32_t i)
{
    Tensor x = input(l, i);
    uint32_t perm[MAX_RANK];
    operand_order(l->n, i, x.rank, perm);
    for (uint32_t k = 0; k < x.rank; k++)
        if (perm[k] != k)
            return ms_permuted(l, x, perm);
    return x;
}

static void lower_fused_matmul(Lower *l)
{
    Tensor a = ordered(l, 0), b = ordered(l, 1), y = output(l, 0);
    double alpha = node_float(l->n, "alpha", 1);
    Tensor product = alpha == 1 ? y : ms_like(l, "product", accumulator(y.dtype), y);
    lower_part(l, &(Part){.op = "MatMul", .in = {a, b}, .out = {product}});
    if (alpha != 1)
        ms_scale(l, y, product, alpha);
}

// ---- FusedGemm, FusedConv

static void lower_fused_gemm(Lower *l)
{
    Tensor y = output(l, 0), sum = has_activation(l) ? ms_like(l, "sum", y.dtype, y) : y;
    lower_part(l, &(Part){.op = "Gemm",
                          .in = {input(l, 0), input(l, 1), input(l, 2)},
                          .out = {sum},
                          .attrs = l->n->attrs,
                          .nattrs = l->n->nattrs});
    if (!has_activation(l))
        return;
    static const char *const names[][2] = {
        {"activation_alpha", "alpha"}, {"activation_beta", "beta"}, {"activation_gamma", "gamma"}};
    Attr attrs[3];
    uint32_t n = 0;
    for (uint32_t i = 0; i < 3; i++)
        if (node_has_attr(l->n, names[i][0]))
            attrs[n++] = attr_float(names[i][1], node_float(l->n, names[i][0], 0));
    activate(l, y, sum, n, attrs);
}

static void infer_fused_conv(Infer *s)
{
    infer_conv_float(s);
    const Value *y = s->n->nout && s->n->out[0] ? value_at(s->model, s->n->out[0]) : NULL;
    if (y && y->rank >= 0)
        infer_fits(s, 3, (uint32_t)y->rank, y->dims);
}

// activation(Conv(X, W, B) + Z).
static void lower_fused_conv(Lower *l)
{
    Tensor y = output(l, 0), z = input(l, 3), sum = y;
    const float *params = NULL;
    uint32_t nparams = 0;
    bool activated = has_activation(l);
    if (activated || z.buffer)
        sum = ms_like(l, "sum", y.dtype, y);
    lower_part(l, &(Part){.op = "Conv",
                          .in = {input(l, 0), input(l, 1), input(l, 2)},
                          .out = {sum},
                          .attrs = l->n->attrs,
                          .nattrs = l->n->nattrs});
    if (z.buffer) {
        Tensor to = activated ? ms_like(l, "sum_with_z", y.dtype, y) : y;
        lower_part(l, &(Part){.op = "Add", .in = {sum, z}, .out = {to}});
        sum = to;
    }
    if (!activated)
        return;
    bool clip = str_is(node_str(l->n, "activation", ""), "Clip");
    static const char *const names[][2] = {{"alpha", "beta"}, {"min", "max"}};
    Attr attrs[2];
    node_floats(l->n, "activation_params", &params, &nparams);
    nparams = nparams < 2 ? nparams : 2;
    for (uint32_t i = 0; i < nparams; i++)
        attrs[i] = attr_float(names[clip][i], (double)params[i]);
    activate(l, y, sum, nparams, attrs);
}

// ---- NhwcMaxPool

static void infer_nhwc_pool(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0}, out[MAX_RANK] = {0};
    if (!x || x->rank < 3)
        return;
    uint32_t r = (uint32_t)x->rank;
    memcpy(dims + 2, x->dims + 1, (r - 2) * sizeof *dims);
    dims[0] = x->dims[0];
    dims[1] = x->dims[r - 1];
    if (!infer_pool_of(s, r, dims, out))
        return;
    memcpy(dims + 1, out + 2, (r - 2) * sizeof *dims);
    dims[r - 1] = out[1];
    infer_shape(s, 0, r, dims);
}

static void lower_nhwc_max_pool(Lower *l)
{
    Tensor y = output(l, 0), x = ms_channels_first(l, input(l, 0));
    Index dims[MAX_RANK] = {y.dims[0], y.dims[y.rank - 1]};
    memcpy(dims + 2, y.dims + 1, (y.rank - 2) * sizeof *dims);
    Tensor pooled = temp(l, "pooled", y.dtype, y.rank, dims);
    lower_part(l, &(Part){.op = "MaxPool",
                          .in = {x},
                          .out = {pooled},
                          .attrs = l->n->attrs,
                          .nattrs = l->n->nattrs});
    ms_store_channels_last(l, y, pooled);
}

// ---- BiasGelu, FastGelu

static void infer_bias_last(Infer *s)
{
    const Value *x = infer_in(s, 0);
    infer_same(s, 0, 0);
    if (x && x->rank > 0)
        infer_fits(s, 1, 1, &x->dims[x->rank - 1]);
}

// gelu(x + bias along the last dim); FastGelu takes the form with tanh, its bias is optional.
static void lower_bias_gelu(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    kernel(l, "bias_gelu");
    par_all(l, y, o);
    const Expr *e = load(l, x, o);
    if (has_input(l, 1))
        e = add(l, e, load_broadcast(l, input(l, 1), x.rank, o));
    DType t = accumulator(x.dtype);
    store(l, y, o, cast(l, y.dtype, gelu_of(l, cast(l, t, e), l->n->def->fn.mode != 0)));
    kernel_end(l);
}

const OpDef ops_ms_fused[] = {
    {"FusedMatMul", 1, infer_fused_matmul, lower_fused_matmul, {NULL}, MS},
    {"TransposeMatMul", 1, infer_fused_matmul, lower_fused_matmul, {NULL}, MS},
    {"FusedGemm", 1, infer_gemm, lower_fused_gemm, {NULL}, MS},
    {"FusedConv", 1, infer_fused_conv, lower_fused_conv, {NULL}, MS},
    {"NhwcMaxPool", 1, infer_nhwc_pool, lower_nhwc_max_pool, {NULL}, MS},
    {"BiasGelu", 1, infer_bias_last, lower_bias_gelu, {.mode = 0}, MS},
    {"FastGelu", 1, infer_bias_last, lower_bias_gelu, {.mode = 1}, MS},
    {0},
};
