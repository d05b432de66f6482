// Operations on single numbers, each in its dtype: float32 in float, narrower floats in float with
// a rounding behind every operation, integers in 64 bits and wrapped.

#include "ir/interp_state.h"

#include <math.h>

static Scalar of_int(DType t, uint64_t v)
{
    if (t == DT_I64 || t == DT_U64)
        return (Scalar){.i = (int64_t)v};
    if (t == DT_BOOL)
        return (Scalar){.i = v != 0};
    return scalar_cast(DT_I64, t, (Scalar){.i = (int64_t)v}, false);
}

static Scalar of_float(DType t, float v)
{
    Scalar f = {.f = (double)v};
    return t == DT_F32 ? f : scalar_cast(DT_F32, t, f, false);
}

// ---- complex numbers -------------------------------------------------------------------------

static Scalar complex_binary(BinaryOp op, DType t, Scalar a, Scalar b)
{
    DType part = t == DT_C64 ? DT_F32 : DT_F64;
    Scalar are = {.f = a.c.re}, aim = {.f = a.c.im}, bre = {.f = b.c.re}, bim = {.f = b.c.im};
    Scalar re, im;
    if (op == B_MUL) {
        re = scalar_binary(B_SUB, part, scalar_binary(B_MUL, part, are, bre),
                           scalar_binary(B_MUL, part, aim, bim));
        im = scalar_binary(B_ADD, part, scalar_binary(B_MUL, part, are, bim),
                           scalar_binary(B_MUL, part, aim, bre));
    } else {
        re = scalar_binary(op, part, are, bre);
        im = scalar_binary(op, part, aim, bim);
    }
    return (Scalar){.c = {re.f, im.f}};
}

// ---- one operand -----------------------------------------------------------------------------

static double unary_f64(UnaryOp op, double a)
{
    static double (*const functions[U_COUNT])(double) = {
        [U_ABS] = fabs,  [U_SQRT] = sqrt,   [U_EXP] = exp,     [U_LOG] = log,
        [U_SIN] = sin,   [U_COS] = cos,     [U_TAN] = tan,     [U_ASIN] = asin,
        [U_ACOS] = acos, [U_ATAN] = atan,   [U_SINH] = sinh,   [U_COSH] = cosh,
        [U_TANH] = tanh, [U_ASINH] = asinh, [U_ACOSH] = acosh, [U_ATANH] = atanh,
        [U_ERF] = erf,   [U_EXPM1] = expm1, [U_LOG1P] = log1p, [U_FLOOR] = floor,
        [U_CEIL] = ceil, [U_ROUND] = rint,  [U_TRUNC] = trunc};
    return op == U_NEG ? -a : functions[op] ? functions[op](a) : a;
}

static float unary_f32(UnaryOp op, float a)
{
    static float (*const functions[U_COUNT])(float) = {
        [U_ABS] = fabsf,  [U_SQRT] = sqrtf,   [U_EXP] = expf,     [U_LOG] = logf,
        [U_SIN] = sinf,   [U_COS] = cosf,     [U_TAN] = tanf,     [U_ASIN] = asinf,
        [U_ACOS] = acosf, [U_ATAN] = atanf,   [U_SINH] = sinhf,   [U_COSH] = coshf,
        [U_TANH] = tanhf, [U_ASINH] = asinhf, [U_ACOSH] = acoshf, [U_ATANH] = atanhf,
        [U_ERF] = erff,   [U_EXPM1] = expm1f, [U_LOG1P] = log1pf, [U_FLOOR] = floorf,
        [U_CEIL] = ceilf, [U_ROUND] = rintf,  [U_TRUNC] = truncf};
    return op == U_NEG ? -a : functions[op] ? functions[op](a) : a;
}

Scalar scalar_unary(UnaryOp op, DType t, Scalar a)
{
    bool real = dtype_is_float(t);
    if (dtype_is_complex(t)) // negation is all there is
        return (Scalar){.c = {-a.c.re, -a.c.im}};
    if (op == U_NOT)
        return (Scalar){.i = !a.i};
    if (op == U_ISNAN || op == U_ISINF)
        return (Scalar){.i = real && (op == U_ISNAN ? isnan(a.f) : isinf(a.f))};
    if (t == DT_F64)
        return (Scalar){.f = unary_f64(op, a.f)};
    if (real)
        return of_float(t, unary_f32(op, (float)a.f));
    if (op == U_NEG || (op == U_ABS && dtype_is_signed(t) && a.i < 0))
        return of_int(t, 0 - (uint64_t)a.i);
    if (op == U_BITNOT)
        return of_int(t, ~(uint64_t)a.i);
    return a; // roundings of integers
}

// ---- two operands ----------------------------------------------------------------------------

static double binary_f64(BinaryOp op, double a, double b)
{
    double r;
    switch (op) {
    case B_ADD:
        return a + b;
    case B_SUB:
        return a - b;
    case B_MUL:
        return a * b;
    case B_DIV:
        return a / b;
    case B_MOD:
        r = fmod(a, b);
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    case B_FMOD:
        return fmod(a, b);
    case B_MIN:
        return a < b || isnan(a) ? a : b;
    case B_MAX:
        return a > b || isnan(a) ? a : b;
    case B_POW:
        return pow(a, b);
    case B_ATAN2:
        return atan2(a, b);
    default:
        return (double)NAN; // bits of a float are none of these operations' business
    }
}

static float binary_f32(BinaryOp op, float a, float b)
{
    float r;
    switch (op) {
    case B_ADD:
        return a + b;
    case B_SUB:
        return a - b;
    case B_MUL:
        return a * b;
    case B_DIV:
        return a / b;
    case B_MOD:
        r = fmodf(a, b);
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    case B_POW:
        return powf(a, b);
    case B_ATAN2:
        return atan2f(a, b);
    default: // exact in float64
        return (float)binary_f64(op, (double)a, (double)b);
    }
}

static uint64_t power(uint64_t a, uint64_t n)
{
    uint64_t r = 1;
    for (; n; n >>= 1, a *= a)
        if (n & 1)
            r *= a;
    return r;
}

static uint64_t binary_unsigned(BinaryOp op, unsigned bits, uint64_t a, uint64_t b)
{
    switch (op) {
    case B_DIV:
        return b ? a / b : 0;
    case B_MOD:
    case B_FMOD:
        return b ? a % b : 0;
    case B_MIN:
        return a < b ? a : b;
    case B_MAX:
        return a > b ? a : b;
    case B_POW:
        return power(a, b);
    default: // B_SHR
        return b < bits ? a >> b : 0;
    }
}

static int64_t binary_signed(BinaryOp op, unsigned bits, int64_t a, int64_t b)
{
    int64_t r;
    switch (op) {
    case B_DIV:
        return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
    case B_MOD:
        r = b == 0 || b == -1 ? 0 : a % b;
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    case B_FMOD:
        return b == 0 || b == -1 ? 0 : a % b;
    case B_MIN:
        return a < b ? a : b;
    case B_MAX:
        return a > b ? a : b;
    case B_POW:
        if (b < 0) // what division of 1 gives
            return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
        return (int64_t)power((uint64_t)a, (uint64_t)b);
    default: // B_SHR: nothing is left but copies of the sign
        return (uint64_t)b < bits ? a >> b : a < 0 ? -1 : 0;
    }
}

static Scalar binary_int(BinaryOp op, DType t, Scalar a, Scalar b)
{
    uint64_t x = (uint64_t)a.i, y = (uint64_t)b.i;
    unsigned bits = dtype_info(t)->bits;
    switch (op) {
    case B_ADD:
        return of_int(t, x + y);
    case B_SUB:
        return of_int(t, x - y);
    case B_MUL:
        return of_int(t, x * y);
    case B_AND:
        return of_int(t, x & y);
    case B_OR:
        return of_int(t, x | y);
    case B_XOR:
        return of_int(t, x ^ y);
    case B_SHL:
        return of_int(t, y < bits ? x << y : 0);
    default:
        return dtype_is_signed(t) ? of_int(t, (uint64_t)binary_signed(op, bits, a.i, b.i))
                                  : of_int(t, binary_unsigned(op, bits, x, y));
    }
}

Scalar scalar_binary(BinaryOp op, DType t, Scalar a, Scalar b)
{
    if (t == DT_F64)
        return (Scalar){.f = binary_f64(op, a.f, b.f)};
    if (dtype_is_float(t))
        return of_float(t, binary_f32(op, (float)a.f, (float)b.f));
    if (dtype_is_complex(t))
        return complex_binary(op, t, a, b);
    return binary_int(op, t, a, b);
}

bool scalar_compare(CompareOp op, DType t, Scalar a, Scalar b)
{
    if (dtype_is_complex(t))
        return (a.c.re == b.c.re && a.c.im == b.c.im) == (op == C_EQ);
    if (dtype_is_float(t))
        return op == C_EQ   ? a.f == b.f
               : op == C_NE ? a.f != b.f
               : op == C_LT ? a.f < b.f
                            : a.f <= b.f;
    if (op == C_EQ || op == C_NE)
        return (a.i == b.i) == (op == C_EQ);
    bool below = t == DT_U64 ? (uint64_t)a.i < (uint64_t)b.i : a.i < b.i;
    return below || (op == C_LE && a.i == b.i);
}

// The lowest (or highest) number of a dtype; infinite where it has infinities.
static Scalar extreme(DType t, bool highest)
{
    double inf = highest ? (double)INFINITY : -(double)INFINITY;
    const DTypeInfo *info = dtype_info(t);
    if (dtype_is_float(t)) {
        Scalar v = {.f = inf};
        return scalar_cast(DT_F64, t, v, dtype_is_small_float(t) && info->bits <= 8);
    }
    uint64_t all = info->bits >= 64 ? UINT64_MAX : ((uint64_t)1 << info->bits) - 1;
    if (t == DT_BOOL)
        all = 1;
    uint64_t most = dtype_is_signed(t) ? all >> 1 : all;
    uint64_t least = dtype_is_signed(t) ? ~most : 0;
    return (Scalar){.i = (int64_t)(highest ? most : least)};
}

Scalar scalar_neutral(ReduceOp op, DType t)
{
    bool real = dtype_is_float(t);
    if (dtype_is_complex(t))
        return (Scalar){.c = {op == R_MUL, 0}};
    switch (op) {
    case R_ADD:
        return real ? (Scalar){.f = 0} : (Scalar){.i = 0};
    case R_MUL:
        return real ? (Scalar){.f = 1} : (Scalar){.i = 1};
    case R_MAX:
        return extreme(t, false);
    case R_MIN:
        return extreme(t, true);
    case R_AND:
        return of_int(t, UINT64_MAX);
    case R_OR:
        return (Scalar){.i = 0};
    default:
        return (Scalar){.i = -1};
    }
}

bool expr_number(const Expr *e, Scalar *v)
{
    Scalar a, b;
    switch (e->kind) {
    case EX_CONST:
        *v = e->value;
        return true;
    case EX_CAST:
        return expr_number(e->a, &a) &&
               (*v = scalar_cast(e->a->dtype, e->dtype, a, e->saturate), true);
    case EX_UNARY:
        return expr_number(e->a, &a) && (*v = scalar_unary((UnaryOp)e->op, e->dtype, a), true);
    case EX_BINARY:
        return expr_number(e->a, &a) && expr_number(e->b, &b) &&
               (*v = scalar_binary((BinaryOp)e->op, e->dtype, a, b), true);
    default:
        return false;
    }
}
