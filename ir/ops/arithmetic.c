// Arithmetic and mathematics, element by element.

#include "ir/ops/common.h"

// y = op(x) where one unary operation of the kernel IR is the whole meaning (OpDef.fn.mode).
static void lower_math(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    kernel(l, str_escaped(l->arena, l->n->op).at);
    par_all(l, y, o);
    store(l, y, o, unary(l, (UnaryOp)l->n->def->fn.mode, load(l, x, o)));
    kernel_end(l);
}

#define MATH(op)                                                                                   \
    lower_math,                                                                                    \
    {                                                                                              \
        .mode = (op)                                                                               \
    }

static const Expr *reciprocal(Lower *l, const Expr *x)
{
    return div_(l, one(l, x->dtype), x);
}

// -1, 0 or 1; NaN stays NaN.
static const Expr *sign(Lower *l, const Expr *x)
{
    DType t = x->dtype;
    const Expr *z = zero(l, t), *rest = dtype_is_float(t) ? x : z;
    if (dtype_info(t)->kind != KIND_UNSIGNED)
        rest = select_(l, lt(l, x, z), int_(l, t, -1),
                       dtype_is_float(t) ? select_(l, eq(l, x, z), z, x) : z);
    return select_(l, lt(l, z, x), one(l, t), rest);
}

// Of an integer: truncated, so 0.
static const Expr *erf_any(Lower *l, const Expr *x)
{
    return cast(l, x->dtype, erf_(l, dtype_is_float(x->dtype) ? x : cast(l, DT_F64, x)));
}

// Mod-10: sign of the divisor, or with fmod = 1 that of the dividend.
static const Expr *modulo(Lower *l, const Expr *a, const Expr *b)
{
    return node_int(l->n, "fmod", 0) ? fmod_(l, a, b) : mod_(l, a, b);
}

// Pow-12 and later: base and exponent may differ in dtype. What is computed in holds both: an
// exponent is not narrowed, a fraction is not cut.
static DType dtype_of_power(DType base, DType exponent)
{
    if (base == exponent || (dtype_is_integer(base) && !dtype_is_float(exponent)))
        return base;
    if (!dtype_is_float(base) || base == DT_F64 || exponent == DT_F64)
        return DT_F64;
    return DT_F32;
}

static void lower_pow(Lower *l)
{
    Tensor a = input(l, 0), b = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    kernel(l, "pow");
    par_all(l, y, o);
    DType t = dtype_of_power(a.dtype, b.dtype);
    const Expr *x = cast(l, t, load_broadcast(l, a, y.rank, o)),
               *e = cast(l, t, load_broadcast(l, b, y.rank, o));
    // x^2 is a product in every exporter's variance.
    bool square = e->kind == EX_CONST && (dtype_is_float(t) ? e->value.f == 2 : e->value.i == 2);
    const TensorData *data;
    const unsigned char *known = constant_input(l, 1, &data);
    if (known && tensor_count(data) == 1) {
        Scalar s = scalar_load((DType)data->dtype, known);
        square |= dtype_is_float((DType)data->dtype) ? s.f == 2 : s.i == 2;
    }
    store(l, y, o, cast(l, y.dtype, square ? mul(l, x, x) : pow_(l, x, e)));
    kernel_end(l);
}

// Sum of all inputs over their number.
static void lower_mean(Lower *l)
{
    const Index *o;
    Tensor y = output(l, 0);
    const Expr *sum = begin_variadic(l, add, &o);
    store(l, y, o, div_(l, sum, num(l, y.dtype, l->n->nin)));
    kernel_end(l);
}

static const Expr *attr_bound(Lower *l, uint32_t i, const char *name, DType t, uint32_t rank,
                              const Index *o)
{
    if (has_input(l, i))
        return load_broadcast(l, input(l, i), rank, o);
    return node_has_attr(l->n, name) ? attr_num(l, t, name, 0) : NULL;
}

// min(max, max(x, min)): bounds from attributes (before 11) or scalars; either may be absent.
static void lower_clip(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    kernel(l, "clip");
    par_all(l, y, o);
    const Expr *e = load(l, x, o);
    const Expr *low = attr_bound(l, 1, "min", x.dtype, y.rank, o),
               *high = attr_bound(l, 2, "max", x.dtype, y.rank, o);
    if (low)
        e = max_(l, e, low);
    if (high)
        e = min_(l, e, high);
    store(l, y, o, e);
    kernel_end(l);
}

static Index content_mod(Polys *p, Index a, Index b)
{
    int64_t x, y;
    return poly_is_const(a, &x) && poly_is_const(b, &y) && x >= 0 && y > 0 ? poly_const(p, x % y)
                                                                           : NULL;
}

// ONNX divides toward zero, symbolic integers toward minus infinity: the same where both are not
// negative.
static Index content_div(Polys *p, Index a, Index b)
{
    int64_t x, y;
    if (poly_is_const(a, &x) && poly_is_const(b, &y))
        return y == 0 || y == -1 ? NULL : poly_const(p, x / y);
    return poly_nonnegative(p, a) && poly_nonnegative(p, poly_add_const(p, b, -1))
               ? poly_floordiv(p, a, b)
               : NULL;
}

static void infer_add(Infer *s)
{
    broadcast(s);
    infer_content_binary(s, poly_add);
}

static void infer_sub(Infer *s)
{
    broadcast(s);
    infer_content_binary(s, poly_sub);
}

static void infer_mul(Infer *s)
{
    broadcast(s);
    infer_content_binary(s, poly_mul);
}

static void infer_div(Infer *s)
{
    broadcast(s);
    infer_content_binary(s, content_div);
}

static void infer_mod(Infer *s)
{
    broadcast(s);
    infer_content_binary(s, content_mod);
}

static void infer_max(Infer *s)
{
    broadcast(s);
    if (s->n->nin == 2)
        infer_content_binary(s, poly_max);
}

static void infer_min(Infer *s)
{
    broadcast(s);
    if (s->n->nin == 2)
        infer_content_binary(s, poly_min);
}

#define VARIADIC(f)                                                                                \
    lower_variadic,                                                                                \
    {                                                                                              \
        .binary = (f)                                                                              \
    }

const OpDef ops_arithmetic[] = {
    {"Add", 1, infer_add, BINARY(add), NULL},
    {"Sub", 1, infer_sub, BINARY(sub), NULL},
    {"Mul", 1, infer_mul, BINARY(mul), NULL},
    {"Div", 1, infer_div, BINARY(div_), NULL},
    {"Mod", 10, infer_mod, BINARY(modulo), NULL},
    {"Pow", 1, broadcast, lower_pow, {NULL}, NULL},
    {"Max", 1, infer_max, VARIADIC(max_), NULL},
    {"Min", 1, infer_min, VARIADIC(min_), NULL},
    {"Sum", 1, broadcast, VARIADIC(add), NULL},
    {"Mean", 1, broadcast, lower_mean, {NULL}, NULL},
    {"Clip", 1, same_as_0, lower_clip, {NULL}, NULL},
    {"Neg", 1, same_as_0, UNARY(neg), NULL},
    {"Reciprocal", 1, same_as_0, UNARY(reciprocal), NULL},
    {"Sign", 9, same_as_0, UNARY(sign), NULL},
    {"Abs", 1, same_as_0, MATH(U_ABS), NULL},
    {"Sqrt", 1, same_as_0, MATH(U_SQRT), NULL},
    {"Exp", 1, same_as_0, MATH(U_EXP), NULL},
    {"Log", 1, same_as_0, MATH(U_LOG), NULL},
    {"Floor", 1, same_as_0, MATH(U_FLOOR), NULL},
    {"Ceil", 1, same_as_0, MATH(U_CEIL), NULL},
    {"Round", 11, same_as_0, MATH(U_ROUND), NULL},
    {"Erf", 9, same_as_0, UNARY(erf_any), NULL},
    {"Tanh", 1, same_as_0, MATH(U_TANH), NULL},
    {"Sin", 7, same_as_0, MATH(U_SIN), NULL},
    {"Cos", 7, same_as_0, MATH(U_COS), NULL},
    {"Tan", 7, same_as_0, MATH(U_TAN), NULL},
    {"Asin", 7, same_as_0, MATH(U_ASIN), NULL},
    {"Acos", 7, same_as_0, MATH(U_ACOS), NULL},
    {"Atan", 7, same_as_0, MATH(U_ATAN), NULL},
    {"Sinh", 9, same_as_0, MATH(U_SINH), NULL},
    {"Cosh", 9, same_as_0, MATH(U_COSH), NULL},
    {"Asinh", 9, same_as_0, MATH(U_ASINH), NULL},
    {"Acosh", 9, same_as_0, MATH(U_ACOSH), NULL},
    {"Atanh", 9, same_as_0, MATH(U_ATANH), NULL},
    {"IsNaN", 9, same_as_0, MATH(U_ISNAN), NULL},
    {"Not", 1, same_as_0, MATH(U_NOT), NULL},
    {"BitwiseNot", 18, same_as_0, MATH(U_BITNOT), NULL},
    {0},
};
