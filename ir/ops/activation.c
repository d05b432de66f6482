// Operators that map each element on its own.
//
// A row is all there is to an operator: since which opset, how its shape follows, and what one
// element of its output equals. Types, attributes and defaults are the schema's (ir/schema.inc).

#include "ir/ops/common.h"

static const Expr *relu(Lower *l, const Expr *x)
{
    return max_(l, x, zero(l, x->dtype));
}

const Expr *leaky_relu(Lower *l, const Expr *x)
{
    return select_(l, lt(l, x, zero(l, x->dtype)), mul(l, attr_num(l, x->dtype, "alpha", 0.01), x),
                   x);
}

static const Expr *thresholded_relu(Lower *l, const Expr *x)
{
    return select_(l, lt(l, attr_num(l, x->dtype, "alpha", 1), x), x, zero(l, x->dtype));
}

// alpha * (exp(x) - 1) below zero. Spec: Elu-6.
static const Expr *elu(Lower *l, const Expr *x)
{
    const Expr *low = mul(l, attr_num(l, x->dtype, "alpha", 1), unary(l, U_EXPM1, x));
    return select_(l, lt(l, x, zero(l, x->dtype)), low, x);
}

// gamma * alpha * (exp(x) - 1) up to 0, gamma * x above. Spec: Selu-6.
static const Expr *selu(Lower *l, const Expr *x)
{
    const Expr *alpha = attr_num(l, x->dtype, "alpha", 1.67326319217681884765625);
    const Expr *gamma = attr_num(l, x->dtype, "gamma", 1.05070102214813232421875);
    const Expr *low = mul(l, alpha, unary(l, U_EXPM1, x));
    return mul(l, gamma, select_(l, le(l, x, zero(l, x->dtype)), low, x));
}

// max(0, x) + min(0, alpha * (exp(x / alpha) - 1)). Spec: Celu-12.
static const Expr *celu(Lower *l, const Expr *x)
{
    const Expr *a = attr_num(l, x->dtype, "alpha", 1), *z = zero(l, x->dtype);
    return add(l, max_(l, x, z), min_(l, mul(l, a, unary(l, U_EXPM1, div_(l, x, a))), z));
}

static const Expr *hard_sigmoid(Lower *l, const Expr *x)
{
    DType t = x->dtype;
    const Expr *line = add(l, mul(l, attr_num(l, t, "alpha", 0.2), x), attr_num(l, t, "beta", 0.5));
    return max_(l, zero(l, t), min_(l, one(l, t), line));
}

static const Expr *hard_swish(Lower *l, const Expr *x)
{
    DType t = x->dtype;
    const Expr *line = add(l, mul(l, num(l, t, 1.0 / 6), x), num(l, t, 0.5));
    return mul(l, x, max_(l, zero(l, t), min_(l, one(l, t), line)));
}

// log(1 + exp(x)) without overflow: max(x, 0) + log1p(exp(-|x|)).
static const Expr *softplus(Lower *l, const Expr *x)
{
    return add(l, max_(l, x, zero(l, x->dtype)), unary(l, U_LOG1P, exp_(l, neg(l, abs_(l, x)))));
}

static const Expr *softsign(Lower *l, const Expr *x)
{
    return div_(l, x, add(l, one(l, x->dtype), abs_(l, x)));
}

static const Expr *mish(Lower *l, const Expr *x)
{
    return mul(l, x, tanh_(l, softplus(l, x)));
}

static const Expr *swish(Lower *l, const Expr *x)
{
    return mul(l, x, sigmoid(l, mul(l, attr_num(l, x->dtype, "alpha", 1), x)));
}

// alpha * x + beta. Spec: Affine-1, experimental.
static const Expr *affine(Lower *l, const Expr *x)
{
    return add(l, mul(l, attr_num(l, x->dtype, "alpha", 1), x), attr_num(l, x->dtype, "beta", 0));
}

// x * Phi(x), or its tanh approximation. Spec: Gelu-20.
const Expr *gelu_of(Lower *l, const Expr *x, bool approximate)
{
    DType t = x->dtype;
    const Expr *half = num(l, t, 0.5);
    if (approximate) {
        const Expr *cube = mul(l, num(l, t, 0.044715), mul(l, x, mul(l, x, x)));
        const Expr *inner = mul(l, num(l, t, 0.79788456080286535588), add(l, x, cube));
        return mul(l, mul(l, half, x), add(l, one(l, t), tanh_(l, inner)));
    }
    return mul(l, mul(l, half, x),
               add(l, one(l, t), erf_(l, mul(l, x, num(l, t, 0.70710678118654752440)))));
}

static const Expr *gelu(Lower *l, const Expr *x)
{
    return gelu_of(l, x, str_is(node_str(l->n, "approximate", "none"), "tanh"));
}

// Integers are compared and shifted as float64: lambd and bias need not be whole.
static const Expr *shrink(Lower *l, const Expr *x)
{
    DType t = dtype_is_float(x->dtype) ? x->dtype : DT_F64;
    const Expr *lambda = attr_num(l, t, "lambd", 0.5), *bias = attr_num(l, t, "bias", 0);
    const Expr *v = cast(l, t, x);
    const Expr *low = select_(l, lt(l, v, neg(l, lambda)), add(l, v, bias), zero(l, t));
    return cast(l, x->dtype, select_(l, lt(l, lambda, v), sub(l, v, bias), low));
}

static const Expr *prelu(Lower *l, const Expr *x, const Expr *slope)
{
    return select_(l, lt(l, x, zero(l, x->dtype)), mul(l, slope, x), x);
}

// X's dim that dim k of the slope goes along. Before version 7 a slope of one dim has an element
// for each channel.
static uint32_t prelu_axis(const Value *x, const Value *slope, uint32_t k, bool channels)
{
    const bool along = channels && slope->rank == 1 && x->rank > 2;
    return along ? 1 : (uint32_t)(x->rank - slope->rank) + k;
}

static void infer_prelu_of(Infer *s, bool channels)
{
    const Value *x = infer_in(s, 0), *slope = infer_in(s, 1);
    same_as_0(s);
    if (!x || !slope || x->rank < 0 || slope->rank < 0)
        return;
    if (slope->rank > x->rank) {
        infer_error(s, "slope has rank %d and X rank %d", slope->rank, x->rank);
        return;
    }
    for (uint32_t k = 0; k < (uint32_t)slope->rank; k++) {
        const uint32_t axis = prelu_axis(x, slope, k, channels);
        if (infer_require_into(s, slope->dims[k], x->dims[axis]))
            continue;
        infer_error(s, "dimension %u of slope does not broadcast to dimension %u of X", k, axis);
        return;
    }
}

static void infer_prelu(Infer *s)
{
    infer_prelu_of(s, false);
}

static void infer_prelu_channels(Infer *s)
{
    infer_prelu_of(s, true);
}

static void lower_prelu_channels(Lower *l)
{
    const Tensor x = input(l, 0), slope = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    if (slope.rank != 1 || x.rank < 3) {
        lower_binary(l);
        return;
    }
    kernel(l, "prelu");
    par_all(l, y, o);
    store(l, y, o, prelu(l, load(l, x, o), load_broadcast(l, slope, 1, &o[1])));
    kernel_end(l);
}

// The gate a through Swish, times b; nothing broadcasts. Spec: SwiGLU-28.
static const Expr *swiglu(Lower *l, const Expr *a, const Expr *b)
{
    DType t = accumulator(a->dtype);
    return cast(l, a->dtype, mul(l, swish(l, cast(l, t, a)), cast(l, t, b)));
}

static void infer_swiglu(Infer *s)
{
    const Value *a = infer_in(s, 0), *b = infer_in(s, 1);
    same_as_0(s);
    if (!a || !b || a->rank < 0 || b->rank < 0 || a->rank > MAX_RANK)
        return;
    if (a->rank != b->rank)
        infer_error(s, "A has rank %d and B rank %d", a->rank, b->rank);
    else
        infer_fits(s, 1, (uint32_t)a->rank, a->dims);
}

const OpDef ops_activation[] = {
    {"Relu", 1, same_as_0, UNARY(relu), NULL},
    {"LeakyRelu", 1, same_as_0, FORMULA(leaky_relu), NULL},
    {"ThresholdedRelu", 1, same_as_0, FORMULA(thresholded_relu), NULL},
    {"Elu", 1, same_as_0, FORMULA(elu), NULL},
    {"Selu", 1, same_as_0, FORMULA(selu), NULL},
    {"Celu", 12, same_as_0, FORMULA(celu), NULL},
    {"Sigmoid", 1, same_as_0, UNARY(sigmoid), NULL},
    {"HardSigmoid", 1, same_as_0, FORMULA(hard_sigmoid), NULL},
    {"HardSwish", 14, same_as_0, FORMULA(hard_swish), NULL},
    {"Softplus", 1, same_as_0, FORMULA(softplus), NULL},
    {"Softsign", 1, same_as_0, FORMULA(softsign), NULL},
    {"Mish", 18, same_as_0, FORMULA(mish), NULL},
    {"Swish", 24, same_as_0, FORMULA(swish), NULL},
    {"Affine", 1, same_as_0, FORMULA(affine), NULL},
    {"Gelu", 20, same_as_0, FORMULA(gelu), NULL},
    {"Shrink", 9, same_as_0, FORMULA(shrink), NULL},
    {"SwiGLU", 28, infer_swiglu, BINARY(swiglu), NULL},
    {"PRelu", 1, infer_prelu_channels, lower_prelu_channels, {.binary = prelu}, NULL},
    {"PRelu", 7, infer_prelu, BINARY(prelu), NULL},
    {"Gelu", 1, same_as_0, FORMULA(gelu), "com.microsoft"},
    {"QuickGelu", 1, same_as_0, FORMULA(swish), "com.microsoft"},
    {0},
};
