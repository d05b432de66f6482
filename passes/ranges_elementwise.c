// Interval rules of operators that map each element on its own.

#include "passes/ranges_state.h"

#include <math.h>

// ---- how rows are applied

void range_unary(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    if (x.known && x.lo <= x.hi)
        walk_give(w, 0, range_each(w, x, w->row->fn.unary), (RangeRounding)w->row->how);
}

void range_binary(RangeWalk *w)
{
    Range a = walk_in(w, 0), b = walk_in(w, 1);
    if (a.known && b.known && a.lo <= a.hi && b.lo <= b.hi)
        walk_give(w, 0, range_fold(w, 0, 2, w->row->fn.binary), (RangeRounding)w->row->how);
}

void range_variadic(RangeWalk *w)
{
    Range x = range_fold(w, 0, w->n->nin, w->row->fn.binary);
    if (x.known && w->n->nin > 2 && w->row->how == ROUND_NEAREST)
        walk_give(w, 0, x, ROUND_LOOSE);
    else if (x.known)
        walk_give(w, 0, x, (RangeRounding)w->row->how);
}

void range_bounds(RangeWalk *w)
{
    Range x = range_between(w->row->fn.bounds[0], w->row->fn.bounds[1]);
    Range of = walk_in(w, 0);
    x.nan = of.known ? of.nan : (uint8_t)NAN_BY_OVERFLOW;
    if (of.known && (isinf(of.lo) || isinf(of.hi)) && x.nan == NAN_NEVER)
        x.nan = NAN_BY_OVERFLOW;
    for (uint32_t o = 0; o < w->n->nout; o++)
        walk_give(w, o, x, ROUND_NOT);
}

// ---- functions of one element

static Range increasing(Range x, double lo, double hi)
{
    Range y = {.known = true, .nan = x.nan, .lo_by = x.lo_by, .hi_by = x.hi_by};
    y.lo = lo;
    y.hi = hi;
    return y;
}

static Range decreasing(Range x, double lo, double hi)
{
    Range y = increasing(x, lo, hi);
    y.lo_by = x.hi_by;
    y.hi_by = x.lo_by;
    return y;
}

// A bound that the function has whatever its operand is.
static Range within(Range y, double lo, double hi)
{
    if (y.lo <= lo) {
        y.lo = lo;
        y.lo_by = RANGE_PROVED;
    }
    if (y.hi >= hi) {
        y.hi = hi;
        y.hi_by = RANGE_PROVED;
    }
    y.lo = y.lo > hi ? hi : y.lo;
    y.hi = y.hi < lo ? lo : y.hi;
    return y;
}

static uint8_t made(Range x, bool outside, DType t)
{
    // Outside of where the function is defined: said only where something bounds the operand.
    bool certain = range_has_lo(&x, t) || range_has_hi(&x, t);
    uint8_t nan = certain ? NAN_MADE : NAN_BY_OVERFLOW;
    return outside && nan > x.nan ? nan : x.nan;
}

static Range neg(RangeWalk *w, Range x)
{
    (void)w;
    Range y = decreasing(x, -x.hi, -x.lo);
    y.integer = x.integer;
    y.bits = x.bits;
    return y;
}

static Range abs_(RangeWalk *w, Range x)
{
    Range y = x.hi <= 0 ? neg(w, x) : x;
    if (x.lo < 0 && x.hi > 0) {
        y.hi = fmax(-x.lo, x.hi);
        y.lo = 0;
        y.lo_by = RANGE_PROVED;
    }
    y.hi_by = x.lo_by > x.hi_by ? x.lo_by : x.hi_by;
    return y;
}

static Range relu(RangeWalk *w, Range x)
{
    (void)w;
    Range y = within(x, 0, INFINITY);
    y.hi_by = x.hi_by;
    y.integer = x.integer;
    return y;
}

static Range leaky_relu(RangeWalk *w, Range x)
{
    double alpha = node_float(w->n, "alpha", 0.01);
    Range low = x;
    if (x.lo >= 0)
        return x;
    low.hi = fmin(x.hi, 0);
    Range a = range_mul(w, low, range_between(alpha, alpha)), y = a;
    if (x.hi > 0) {
        Range high = increasing(x, fmax(x.lo, 0), x.hi);
        y = range_join(a, high);
    }
    y.integer = false;
    return y;
}

static Range exp_(RangeWalk *w, Range x)
{
    return within(range_loosen(w, increasing(x, exp(x.lo), exp(x.hi))), 0, INFINITY);
}

static Range log_(RangeWalk *w, Range x)
{
    Range y = increasing(x, x.lo > 0 ? log(x.lo) : -INFINITY, x.hi > 0 ? log(x.hi) : -INFINITY);
    y.nan = made(x, x.lo < 0, walk_dtype(w, 0));
    return y;
}

static Range sqrt_(RangeWalk *w, Range x)
{
    Range y = increasing(x, x.lo > 0 ? sqrt(x.lo) : 0, x.hi > 0 ? sqrt(x.hi) : 0);
    y.lo_by = x.lo > 0 ? x.lo_by : (uint8_t)RANGE_PROVED;
    y.nan = made(x, x.lo < 0, walk_dtype(w, 0));
    return y;
}

// How far results of libraries' approximations may be off.
static double approximate(RangeWalk *w)
{
    return 8.0 / (double)(UINT64_C(1) << range_digits(walk_result(w, 0)));
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static Range sigmoid(RangeWalk *w, Range x)
{
    // Libraries' errors are absolute where the result is small, and it may be 0.
    Range y = range_loosen(w, increasing(x, logistic(x.lo), logistic(x.hi)));
    return within(range_widen(y, approximate(w)), 0, 1);
}

static Range tanh_(RangeWalk *w, Range x)
{
    double error = approximate(w); // some give numbers just above 1
    Range y = increasing(x, tanh(x.lo) - error, tanh(x.hi) + error);
    return within(y, -1 - error, 1 + error);
}

static Range erf_(RangeWalk *w, Range x)
{
    return within(range_loosen(w, increasing(x, erf(x.lo), erf(x.hi))), -1, 1);
}

static Range atan_(RangeWalk *w, Range x)
{
    (void)w;
    return within(increasing(x, atan(x.lo), atan(x.hi)), -1.5707963267948968, 1.5707963267948968);
}

static Range sinh_(RangeWalk *w, Range x)
{
    (void)w;
    return increasing(x, sinh(x.lo), sinh(x.hi));
}

static Range asinh_(RangeWalk *w, Range x)
{
    (void)w;
    return increasing(x, asinh(x.lo), asinh(x.hi));
}

static Range cosh_(RangeWalk *w, Range x)
{
    Range y = abs_(w, x);
    y = increasing(y, cosh(y.lo), cosh(y.hi));
    y.lo_by = y.lo == 1 ? (uint8_t)RANGE_PROVED : y.lo_by;
    return y;
}

// Sine and cosine: all of [-1, 1]; of infinities NaN.
static Range wave(RangeWalk *w, Range x)
{
    (void)w;
    Range y = range_between(-1, 1);
    bool infinite = isinf(x.lo) || isinf(x.hi);
    y.nan = infinite && x.nan == NAN_NEVER ? (uint8_t)NAN_BY_OVERFLOW : x.nan;
    return y;
}

static double softplus_of(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static Range softplus(RangeWalk *w, Range x)
{
    return within(range_loosen(w, increasing(x, softplus_of(x.lo), softplus_of(x.hi))), 0,
                  INFINITY);
}

static Range softsign(RangeWalk *w, Range x)
{
    double lo = isinf(x.lo) ? -1 : x.lo / (1 + fabs(x.lo));
    double hi = isinf(x.hi) ? 1 : x.hi / (1 + fabs(x.hi));
    double error = approximate(w);
    Range y = within(range_widen(increasing(x, lo, hi), error), -1 - error, 1 + error);
    y.nan = (isinf(x.lo) || isinf(x.hi)) && !y.nan ? (uint8_t)NAN_BY_OVERFLOW : y.nan;
    return y;
}

// exp(x) - 1 at most or at least, x below 0: runtimes subtract after they rounded the exponential,
// of which little is left where x is small.
static double exp_less_1(RangeWalk *w, double x, double outward)
{
    double unit = walk_result(w, 0) == DT_F64 ? 0x1p-51 : 0x1p-22;
    return fmin(fmax(expm1(x) + outward * unit, -1), 0);
}

static Range elu_with(RangeWalk *w, Range x, double alpha, double scale)
{
    if (!(alpha >= 0) || !(scale >= 0) || isinf(alpha) || isinf(scale))
        return range_none();
    double lo = x.lo < 0 ? alpha * exp_less_1(w, x.lo, -1) : x.lo;
    double hi = x.hi < 0 ? alpha * exp_less_1(w, x.hi, 1) : x.hi;
    Range y = increasing(x, range_product(scale, fmin(lo, hi)), range_product(scale, fmax(lo, hi)));
    y.lo_by = x.lo < -64 ? (uint8_t)RANGE_PROVED : y.lo_by; // it is alpha in any dtype
    return y;
}

static Range elu(RangeWalk *w, Range x)
{
    return elu_with(w, x, node_float(w->n, "alpha", 1), 1);
}

static Range selu(RangeWalk *w, Range x)
{
    return elu_with(w, x, node_float(w->n, "alpha", 1.67326319217681884765625),
                    node_float(w->n, "gamma", 1.05070102214813232421875));
}

static Range celu(RangeWalk *w, Range x)
{
    double alpha = node_float(w->n, "alpha", 1);
    if (!(alpha > 0) || isinf(alpha))
        return range_none();
    double lo = x.lo < 0 ? alpha * exp_less_1(w, x.lo / alpha, -1) : x.lo;
    Range y = increasing(x, lo, x.hi < 0 ? alpha * exp_less_1(w, x.hi / alpha, 1) : x.hi);
    y.lo_by = x.lo < -64 * alpha ? (uint8_t)RANGE_PROVED : y.lo_by;
    return y;
}

static Range affine(RangeWalk *w, Range x)
{
    double alpha = node_float(w->n, "alpha", 1), beta = node_float(w->n, "beta", 0);
    return range_add(w, range_mul(w, x, range_between(alpha, alpha)), range_between(beta, beta));
}

// 0 within [-lambd, lambd], moved by the bias outside.
static Range shrink(RangeWalk *w, Range x)
{
    double lambda = node_float(w->n, "lambd", 0.5), bias = node_float(w->n, "bias", 0);
    Range y = range_between(0, 0);
    y.lo_by = y.hi_by = x.lo_by | x.hi_by;
    y.nan = x.nan;
    if (!(lambda >= 0) || isinf(bias) || isnan(bias) || !dtype_is_float(walk_dtype(w, 0)))
        return range_none();
    double low[2] = {x.lo + bias, fmin(x.hi, -lambda) + bias};
    double high[2] = {fmax(x.lo, lambda) - bias, x.hi - bias};
    if (x.lo < -lambda) {
        y.lo = fmin(y.lo, low[0]);
        y.hi = fmax(y.hi, low[1]);
    }
    if (x.hi > lambda) {
        y.lo = fmin(y.lo, high[0]);
        y.hi = fmax(y.hi, high[1]);
    }
    return y;
}

static Range hard_sigmoid(RangeWalk *w, Range x)
{
    double alpha = node_float(w->n, "alpha", 0.2), beta = node_float(w->n, "beta", 0.5);
    Range y = range_add(w, range_mul(w, x, range_between(alpha, alpha)), range_between(beta, beta));
    if (!(alpha > 0) || isnan(y.lo) || isnan(y.hi))
        return within(range_full(walk_result(w, 0)), 0, 1);
    y.integer = false;
    return within(range_loosen(w, increasing(x, y.lo, y.hi)), 0, 1);
}

// x times a factor that grows from 0 to 1: between `least` and max(x, 0).
static Range gated(Range x, double least)
{
    Range y = increasing(x, fmin(x.lo, least), fmax(x.hi, 0));
    y.lo = x.lo >= 0 ? 0 : least;
    y.lo_by = x.lo >= 0 ? x.lo_by : (uint8_t)RANGE_PROVED;
    y.nan = isinf(x.lo) && !x.nan ? (uint8_t)NAN_BY_OVERFLOW : x.nan; // 0 times infinity
    return y;
}

static Range hard_swish(RangeWalk *w, Range x)
{
    (void)w;
    return gated(x, -0.375);
}

// x * sigmoid(alpha * x): with alpha * x for x it is the same function, alpha times as large.
static Range swish(RangeWalk *w, Range x)
{
    double alpha = node_float(w->n, "alpha", str_is(w->n->op, "QuickGelu") ? 1.702 : 1);
    return alpha > 0 ? gated(x, -0.2785 / alpha) : range_none();
}

static Range swiglu(RangeWalk *w, Range a, Range b)
{
    Range gate = swish(w, a);
    return gate.known ? range_mul(w, gate, b) : gate;
}

static Range gelu(RangeWalk *w, Range x)
{
    (void)w;
    return gated(x, -0.1702);
}

static Range mish(RangeWalk *w, Range x)
{
    (void)w;
    return gated(x, -0.30885);
}

static Range arc(RangeWalk *w, Range x, double lo, double hi)
{
    Range y = within(increasing(x, lo, hi), lo, hi);
    y.nan = made(x, x.lo < -1 || x.hi > 1, walk_dtype(w, 0));
    return y;
}

static Range acosh_(RangeWalk *w, Range x)
{
    Range y = increasing(x, x.lo > 1 ? acosh(x.lo) : 0, x.hi > 1 ? acosh(x.hi) : 0);
    y.lo_by = x.lo > 1 ? x.lo_by : (uint8_t)RANGE_PROVED;
    y.nan = made(x, x.lo < 1, walk_dtype(w, 0));
    return y;
}

static Range atanh_(RangeWalk *w, Range x)
{
    Range y = increasing(x, x.lo > -1 ? atanh(fmin(x.lo, 1)) : -INFINITY,
                         x.hi < 1 ? atanh(fmax(x.hi, -1)) : INFINITY);
    y.nan = made(x, x.lo < -1 || x.hi > 1, walk_dtype(w, 0));
    return y;
}

static Range acos_(RangeWalk *w, Range x)
{
    return arc(w, x, 0, 3.1415926535897936);
}

static Range asin_(RangeWalk *w, Range x)
{
    return arc(w, x, -1.5707963267948968, 1.5707963267948968);
}

static Range reciprocal(RangeWalk *w, Range x)
{
    return range_div(w, range_between(1, 1), x);
}

static Range sign(RangeWalk *w, Range x)
{
    (void)w;
    Range y = increasing(x, (x.lo > 0) - (x.lo < 0), (x.hi > 0) - (x.hi < 0));
    if (x.nan) { // of which runtimes make 0
        y.lo = fmin(y.lo, 0);
        y.hi = fmax(y.hi, 0);
    }
    y.integer = true;
    return within(y, -1, 1);
}

static Range whole(Range x, double lo, double hi)
{
    Range y = increasing(x, lo, hi);
    y.integer = true;
    return y;
}

static Range floor_(RangeWalk *w, Range x)
{
    (void)w;
    return whole(x, floor(x.lo), floor(x.hi));
}

static Range ceil_(RangeWalk *w, Range x)
{
    (void)w;
    return whole(x, ceil(x.lo), ceil(x.hi));
}

static Range round_(RangeWalk *w, Range x)
{
    (void)w;
    return whole(x, nearbyint(x.lo), nearbyint(x.hi));
}

static Range thresholded(RangeWalk *w, Range x)
{
    (void)w;
    Range zero = range_between(0, 0);
    Range y = range_join(x, zero);
    y.integer = x.integer;
    return y;
}

// ---- functions of two

static Range min_(RangeWalk *w, Range a, Range b)
{
    (void)w;
    if (!a.known || !b.known)
        return range_none();
    Range x = {.known = true, .integer = a.integer && b.integer};
    x.nan = a.nan > b.nan ? a.nan : b.nan;
    x.lo = fmin(a.lo, b.lo);
    x.hi = fmin(a.hi, b.hi);
    x.lo_by = a.lo_by > b.lo_by ? a.lo_by : b.lo_by; // neither is below
    x.hi_by = a.hi < b.hi ? a.hi_by : b.hi < a.hi ? b.hi_by : a.hi_by < b.hi_by ? a.hi_by : b.hi_by;
    return x;
}

static Range max_(RangeWalk *w, Range a, Range b)
{
    return a.known && b.known ? neg(w, min_(w, neg(w, a), neg(w, b))) : range_none();
}

static Range of_truth(RangeWalk *w, Range a, Range b)
{
    (void)w, (void)a, (void)b;
    Range x = range_between(0, 1);
    x.integer = true;
    return x;
}

// An integer's quotient is the exact one without its fraction; dividing by 0 is not defined.
static Range div_(RangeWalk *w, Range a, Range b)
{
    DType t = walk_dtype(w, 0);
    if (dtype_is_float(t))
        return range_div(w, a, b);
    if (b.lo <= 0 && b.hi >= 0) {
        Range x = abs_(w, a);
        return range_between(-x.hi, x.hi); // by 1 and -1 it is largest
    }
    Range x = range_div(w, a, b);
    return increasing(x, trunc(x.lo), trunc(x.hi));
}

static Range mod(RangeWalk *w, Range a, Range b)
{
    (void)w;
    bool zero = b.lo <= 0 && b.hi >= 0, infinite = isinf(a.lo) || isinf(a.hi);
    Range m = abs_(w, b);
    // The sign is the divisor's, or with fmod the dividend's.
    bool by_dividend = node_int(w->n, "fmod", 0) != 0;
    const Range *s = by_dividend ? &a : &b;
    Range x = {.known = !zero, .nan = a.nan > b.nan ? a.nan : b.nan};
    x.lo = s->lo >= 0 ? 0 : -m.hi;
    x.hi = s->hi <= 0 ? 0 : m.hi;
    x.lo_by = x.lo == 0 ? s->lo_by : m.hi_by;
    x.hi_by = x.hi == 0 ? s->hi_by : m.hi_by;
    x.integer = a.integer && b.integer;
    x.nan = infinite && !x.nan ? (uint8_t)NAN_BY_OVERFLOW : x.nan;
    return x;
}

static Range even_power(RangeWalk *w, Range a, double e)
{
    Range m = abs_(w, a);
    Range y = increasing(m, pow(m.lo, e), pow(m.hi, e));
    y.integer = a.integer;
    return y;
}

static Range pow_(RangeWalk *w, Range a, Range b)
{
    double e = b.lo;
    Range y = range_none();
    bool whole_e = e == nearbyint(e) && fabs(e) < 0x1p53;
    if (b.lo == b.hi && e > 0 && whole_e && fmod(e, 2) == 0)
        return even_power(w, a, e);
    if (b.lo == b.hi && e > 0 && whole_e) {
        y = increasing(a, pow(a.lo, e), pow(a.hi, e));
        y.integer = a.integer;
    } else if (a.lo > 0 && dtype_is_float(walk_dtype(w, 0))) {
        double c[4] = {pow(a.lo, b.lo), pow(a.lo, b.hi), pow(a.hi, b.lo), pow(a.hi, b.hi)};
        y = increasing(a, fmin(fmin(c[0], c[1]), fmin(c[2], c[3])),
                       fmax(fmax(c[0], c[1]), fmax(c[2], c[3])));
        uint8_t by = a.lo_by | a.hi_by | b.lo_by | b.hi_by;
        y.lo_by = y.hi_by = by;
        y.nan = a.nan > b.nan ? a.nan : b.nan;
        bool mixed = a.lo < 1 && a.hi > 1; // the least and the greatest are at the corners or 1
        y.lo = mixed ? fmin(y.lo, 1) : y.lo;
        y.hi = mixed ? fmax(y.hi, 1) : y.hi;
    } else if (a.lo >= 0 && b.lo > 0 && dtype_is_float(walk_dtype(w, 0))) {
        y = increasing(a, 0, fmax(fmax(pow(a.hi, b.lo), pow(a.hi, b.hi)), 1));
        y.hi = b.lo == b.hi ? pow(a.hi, e) : y.hi;
        y.hi_by = a.lo_by | a.hi_by | b.lo_by | b.hi_by;
        y.lo_by = a.lo_by | b.lo_by;
        y.nan = a.nan > b.nan ? a.nan : b.nan;
    }
    return y;
}

static Range prelu(RangeWalk *w, Range x, Range slope)
{
    Range low = x;
    if (x.lo >= 0) {
        x.hi_by |= x.lo_by; // below 0 the slope may make it larger
        return x;
    }
    low.hi = fmin(x.hi, 0);
    Range y = range_mul(w, low, slope);
    y = x.hi > 0 ? range_join(y, increasing(x, fmax(x.lo, 0), x.hi)) : y;
    y.nan = y.nan > x.nan ? y.nan : x.nan;
    y.integer = false;
    return y;
}

// ---- rules of their own

static Range square(RangeWalk *w, Range x)
{
    return even_power(w, x, 2);
}

// x * x, written as Mul: the square of one value.
static void mul(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    bool same = w->n->nin == 2 && w->n->in[0] && w->n->in[0] == w->n->in[1];
    if (same && x.known && x.lo <= x.hi)
        walk_give(w, 0, range_each(w, x, square), ROUND_NEAREST);
    else if (!range_related_product(w))
        range_binary(w);
}

// com.microsoft: gelu(x + bias), the bias optional.
static void biased_gelu(RangeWalk *w)
{
    Range x = walk_value(w, 1) ? range_fold(w, 0, 2, range_add) : walk_in(w, 0);
    if (x.known && x.lo <= x.hi)
        walk_give(w, 0, range_each(w, x, gelu), ROUND_LOOSE);
}

static void div_by(RangeWalk *w)
{
    if (!range_related_quotient(w))
        range_binary(w);
}

// Clip: bounds are attributes before opset 11, operands since.
static Range clip_bound(RangeWalk *w, uint32_t i, const char *name, double none)
{
    double given = node_has_attr(w->n, name) ? node_float(w->n, name, none) : none;
    return walk_value(w, i) ? range_plain(walk_in(w, i)) : range_between(given, given);
}

static Range clip_to(RangeWalk *w, Range x)
{
    Range least = clip_bound(w, 1, "min", -INFINITY), most = clip_bound(w, 2, "max", INFINITY);
    bool integer = x.integer && least.integer && most.integer;
    x = least.known && most.known ? min_(w, max_(w, x, least), most) : range_none();
    x.integer = integer || !dtype_is_float(walk_dtype(w, 0));
    return x;
}

static void clip(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    if (x.known)
        walk_give(w, 0, range_each(w, x, clip_to), ROUND_NOT);
}

static void cast(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    DType from = walk_dtype(w, 0), to = walk_result(w, 0);
    if (!x.known || to == DT_NONE)
        return;
    if (to == DT_BOOL) {
        walk_give(w, 0, of_truth(w, x, x), ROUND_NOT);
    } else if (dtype_is_float(to)) {
        bool exact = range_digits(to) >= range_digits(from) && dtype_is_float(from);
        x.nan = to == DT_F8E8M0 ? NAN_BY_OVERFLOW : x.nan;
        // Narrow formats saturate; the dtype's own bounds are all that is said of them.
        if (dtype_info(to)->bits < 16)
            x = range_finite(to);
        walk_give(w, 0, x, exact ? ROUND_NOT : ROUND_NEAREST);
    } else if (dtype_is_float(from)) {
        double lo, hi;
        range_of_dtype(to, &lo, &hi);
        if (!range_within(&x, lo, hi)) // undefined: whatever the dtype holds
            return;
        x.lo = trunc(x.lo);
        x.hi = trunc(x.hi);
        x.integer = true;
        walk_give(w, 0, range_plain(x), ROUND_NOT);
    } else {
        walk_give(w, 0, range_plain(x), ROUND_NOT);
    }
}

static void not_(RangeWalk *w)
{
    Range x = of_truth(w, range_none(), range_none());
    walk_give(w, 0, x, ROUND_NOT);
}

const RangeRow ranges_elementwise[] = {
    // name    rule         what it does to an interval   rounding
    {"Neg", range_unary, {.unary = neg}, ROUND_NOT},
    {"Abs", range_unary, {.unary = abs_}, ROUND_NOT},
    {"Relu", range_unary, {.unary = relu}, ROUND_NOT},
    {"LeakyRelu", range_unary, {.unary = leaky_relu}, ROUND_LOOSE},
    {"Exp", range_unary, {.unary = exp_}, ROUND_NOT},
    {"Log", range_unary, {.unary = log_}, ROUND_LOOSE},
    {"Sqrt", range_unary, {.unary = sqrt_}, ROUND_LOOSE},
    {"Sigmoid", range_unary, {.unary = sigmoid}, ROUND_NOT},
    {"Tanh", range_unary, {.unary = tanh_}, ROUND_NOT},
    {"Erf", range_unary, {.unary = erf_}, ROUND_NOT},
    {"Atan", range_unary, {.unary = atan_}, ROUND_LOOSE},
    {"Sinh", range_unary, {.unary = sinh_}, ROUND_LOOSE},
    {"Asinh", range_unary, {.unary = asinh_}, ROUND_LOOSE},
    {"Cosh", range_unary, {.unary = cosh_}, ROUND_LOOSE},
    {"Sin", range_unary, {.unary = wave}, ROUND_NOT},
    {"Cos", range_unary, {.unary = wave}, ROUND_NOT},
    {"Softplus", range_unary, {.unary = softplus}, ROUND_NOT},
    {"Softsign", range_unary, {.unary = softsign}, ROUND_NOT},
    {"Elu", range_unary, {.unary = elu}, ROUND_LOOSE},
    {"Selu", range_unary, {.unary = selu}, ROUND_LOOSE},
    {"HardSigmoid", range_unary, {.unary = hard_sigmoid}, ROUND_NOT},
    {"HardSwish", range_unary, {.unary = hard_swish}, ROUND_LOOSE},
    {"Swish", range_unary, {.unary = swish}, ROUND_LOOSE},
    {"Gelu", range_unary, {.unary = gelu}, ROUND_LOOSE},
    {"Mish", range_unary, {.unary = mish}, ROUND_LOOSE},
    {"Celu", range_unary, {.unary = celu}, ROUND_LOOSE},
    {"Affine", range_unary, {.unary = affine}, ROUND_LOOSE},
    {"Shrink", range_unary, {.unary = shrink}, ROUND_LOOSE},
    {"Acosh", range_unary, {.unary = acosh_}, ROUND_LOOSE},
    {"Atanh", range_unary, {.unary = atanh_}, ROUND_LOOSE},
    {"SwiGLU", range_binary, {.binary = swiglu}, ROUND_LOOSE},
    {"com.microsoft::Gelu", range_unary, {.unary = gelu}, ROUND_LOOSE},
    {"com.microsoft::QuickGelu", range_unary, {.unary = swish}, ROUND_LOOSE},
    {"com.microsoft::BiasGelu", biased_gelu, {NULL}, 0},
    {"com.microsoft::FastGelu", biased_gelu, {NULL}, 0},
    {"Acos", range_unary, {.unary = acos_}, ROUND_LOOSE},
    {"Asin", range_unary, {.unary = asin_}, ROUND_LOOSE},
    {"Reciprocal", range_unary, {.unary = reciprocal}, ROUND_LOOSE},
    {"Sign", range_unary, {.unary = sign}, ROUND_NOT},
    {"Floor", range_unary, {.unary = floor_}, ROUND_NOT},
    {"Ceil", range_unary, {.unary = ceil_}, ROUND_NOT},
    {"Round", range_unary, {.unary = round_}, ROUND_NOT},
    {"ThresholdedRelu", range_unary, {.unary = thresholded}, ROUND_NOT},
    {"Add", range_binary, {.binary = range_add}, ROUND_NEAREST},
    {"Sub", range_binary, {.binary = range_sub}, ROUND_NEAREST},
    {"Mul", mul, {.binary = range_mul}, ROUND_NEAREST},
    {"Div", div_by, {.binary = div_}, ROUND_NEAREST},
    {"Mod", range_binary, {.binary = mod}, ROUND_NOT},
    {"Pow", range_binary, {.binary = pow_}, ROUND_LOOSE},
    {"PRelu", range_binary, {.binary = prelu}, ROUND_NEAREST},
    {"Equal", range_binary, {.binary = of_truth}, ROUND_NOT},
    {"Less", range_binary, {.binary = of_truth}, ROUND_NOT},
    {"Greater", range_binary, {.binary = of_truth}, ROUND_NOT},
    {"LessOrEqual", range_binary, {.binary = of_truth}, ROUND_NOT},
    {"GreaterOrEqual", range_binary, {.binary = of_truth}, ROUND_NOT},
    {"And", range_binary, {.binary = of_truth}, ROUND_NOT},
    {"Or", range_binary, {.binary = of_truth}, ROUND_NOT},
    {"Xor", range_binary, {.binary = of_truth}, ROUND_NOT},
    {"Not", not_, {NULL}, ROUND_NOT},
    {"IsNaN", not_, {NULL}, ROUND_NOT},
    {"IsInf", not_, {NULL}, ROUND_NOT},
    {"Min", range_variadic, {.binary = min_}, ROUND_NOT},
    {"Max", range_variadic, {.binary = max_}, ROUND_NOT},
    {"Sum", range_variadic, {.binary = range_add}, ROUND_NEAREST},
    {"Clip", clip, {NULL}, ROUND_NOT},
    {"Cast", cast, {NULL}, ROUND_NOT},
    {"CastLike", cast, {NULL}, ROUND_NOT},
    {NULL, NULL, {NULL}, 0},
};
