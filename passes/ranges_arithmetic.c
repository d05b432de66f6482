// Intervals: joining, moving, adding, multiplying and dividing them.
//
// Bounds may be infinite: then elements may be. A NaN that arithmetic on infinities could give is
// noted, and the bounds are those of all other results.

#include "passes/ranges_state.h"

#include <math.h>

Range range_none(void)
{
    return (Range){.known = false};
}

Range range_between(double lo, double hi)
{
    return (Range){.known = true, .lo = lo, .hi = hi};
}

Range range_plain(Range x)
{
    x.channels = NULL;
    return x;
}

static bool is_empty(const Range *x)
{
    return x->known && x->lo > x->hi;
}

static uint8_t worst(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

Range range_join(Range a, Range b)
{
    uint8_t nan = worst(a.nan, b.nan);
    if (!a.known || !b.known)
        return range_none();
    if (is_empty(&a) || is_empty(&b)) {
        Range x = is_empty(&a) ? b : a;
        x.nan = nan;
        return x;
    }
    Range x = {.known = true, .nan = nan, .integer = a.integer && b.integer};
    x.lo = fmin(a.lo, b.lo);
    x.hi = fmax(a.hi, b.hi);
    // The bound holds of both: also of the one that is said to stay further within.
    x.lo_by = worst(a.lo_by, b.lo_by);
    x.hi_by = worst(a.hi_by, b.hi_by);
    x.bits = a.bits && b.bits ? worst(a.bits, b.bits) : 0;
    x.channels = a.channels == b.channels ? a.channels : NULL;
    return x;
}

Range range_join_two(RangeWalk *w, Range a, Range b)
{
    (void)w;
    return range_join(a, b);
}

Range range_widen(Range x, double by)
{
    if (is_empty(&x) || by == 0)
        return x;
    x.lo -= by;
    x.hi += by;
    x.lo = isnan(x.lo) ? -INFINITY : x.lo;
    x.hi = isnan(x.hi) ? INFINITY : x.hi;
    return x;
}

Range range_rounded(Range x, double error)
{
    Range y = range_widen(x, error);
    if (is_empty(&x) || error == 0)
        return x;
    y.lo_by = y.hi_by = worst(x.lo_by, x.hi_by);
    if (x.lo >= 0 && y.lo <= 0) {
        y.lo = 0;
        y.lo_by = x.lo_by;
    }
    return y;
}

double range_product(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

double range_sum_error(DType t, double n)
{
    double unit = t == DT_F64 ? 0x1p-53 : 0x1p-24;
    double error = (n + 2) * unit;
    return error < 0.5 ? error / (1 - error) : INFINITY;
}

static bool has_zero(const Range *x)
{
    return x->lo <= 0 && x->hi >= 0;
}

static bool has_infinity(const Range *x)
{
    return isinf(x->lo) || isinf(x->hi);
}

// What the result takes from both operands but its bounds.
static Range of_both(const Range *a, const Range *b, bool nan)
{
    Range x = {.known = a->known && b->known, .nan = worst(a->nan, b->nan)};
    x.nan = nan ? worst(x.nan, NAN_BY_OVERFLOW) : x.nan;
    x.lo_by = worst(a->lo_by, b->lo_by);
    x.hi_by = worst(a->hi_by, b->hi_by);
    if (is_empty(a) || is_empty(b)) {
        x.lo = INFINITY;
        x.hi = -INFINITY;
    }
    return x;
}

Range range_add(RangeWalk *w, Range a, Range b)
{
    (void)w;
    bool opposite = (isinf(a.hi) && isinf(b.lo)) || (isinf(a.lo) && isinf(b.hi));
    Range x = of_both(&a, &b, opposite);
    if (!x.known || is_empty(&x))
        return x;
    x.lo = a.lo + b.lo;
    x.hi = a.hi + b.hi;
    x.lo = isnan(x.lo) ? -INFINITY : x.lo;
    x.hi = isnan(x.hi) ? INFINITY : x.hi;
    x.integer = a.integer && b.integer;
    return x;
}

Range range_sub(RangeWalk *w, Range a, Range b)
{
    Range c = b;
    c.lo = -b.hi;
    c.hi = -b.lo;
    c.lo_by = b.hi_by;
    c.hi_by = b.lo_by;
    return range_add(w, a, c);
}

static void take_corners(Range *x, const double c[4], uint8_t by)
{
    x->lo = x->hi = c[0];
    for (int i = 1; i < 4; i++) {
        x->lo = fmin(x->lo, c[i]);
        x->hi = fmax(x->hi, c[i]);
    }
    x->lo_by = x->hi_by = by;
}

Range range_mul(RangeWalk *w, Range a, Range b)
{
    (void)w;
    bool nan = (has_zero(&a) && has_infinity(&b)) || (has_zero(&b) && has_infinity(&a));
    Range x = of_both(&a, &b, nan);
    if (!x.known || is_empty(&x))
        return x;
    double c[4] = {range_product(a.lo, b.lo), range_product(a.lo, b.hi), range_product(a.hi, b.lo),
                   range_product(a.hi, b.hi)};
    take_corners(&x, c, worst(x.lo_by, x.hi_by));
    if (a.lo >= 0 && b.lo >= 0) // the lower bound rests on the lower ones alone
        x.lo_by = worst(a.lo_by, b.lo_by);
    x.integer = a.integer && b.integer;
    return x;
}

static double quotient(double a, double b)
{
    return isinf(b) ? 0 : a / b; // of infinities: noted as NaN, the finite ones are between
}

Range range_div(RangeWalk *w, Range a, Range b)
{
    (void)w;
    bool both_zero = has_zero(&a) && has_zero(&b);
    Range x = of_both(&a, &b, both_zero || (has_infinity(&a) && has_infinity(&b)));
    if (!x.known || is_empty(&x))
        return x;
    if (has_zero(&b)) {
        bool certain = both_zero && range_has_lo(&b, DT_F64) && range_has_hi(&b, DT_F64);
        x.nan = certain ? (uint8_t)NAN_MADE : x.nan;
        x.lo = -INFINITY; // zeros have signs
        x.hi = INFINITY;
        return x;
    }
    double c[4] = {quotient(a.lo, b.lo), quotient(a.lo, b.hi), quotient(a.hi, b.lo),
                   quotient(a.hi, b.hi)};
    take_corners(&x, c, worst(x.lo_by, x.hi_by));
    if (has_infinity(&a) && has_infinity(&b)) {
        x.lo = a.lo >= 0 && b.lo >= 0 ? 0 : -INFINITY;
        x.hi = INFINITY;
    }
    return x;
}
