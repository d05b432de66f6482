// Interval rules of operators that sum, average or choose among elements.

#include "passes/ranges_state.h"

#include <math.h>
#include <string.h>

// ---- sums of many terms

// What a sum whose terms have such a magnitude is on the way may be infinite, and NaN then.
uint8_t range_overflows(RangeWalk *w, double magnitude, uint8_t nan)
{
    double lo, hi;
    range_of_dtype(walk_result(w, 0), &lo, &hi);
    bool large = dtype_is_float(walk_result(w, 0)) && !(magnitude < hi / 2);
    return large && nan == NAN_NEVER ? (uint8_t)NAN_BY_OVERFLOW : nan;
}

double range_dims_product(RangeWalk *w, const Value *v, uint32_t from, RangeBasis *by)
{
    double n = 1;
    *by = RANGE_PROVED;
    for (int32_t k = (int32_t)from; k < v->rank; k++) {
        RangeBasis of_dim;
        n *= range_of_dim(w->r, v->dims[k], &of_dim);
        *by = of_dim > *by ? of_dim : *by;
    }
    return v->rank < 0 || isnan(n) ? INFINITY : n;
}

Range range_sum_of(RangeWalk *w, Range product, double n, RangeBasis by, bool all)
{
    Range y = product;
    RangeBasis of_product;
    if (!product.known || isinf(n))
        return range_none();
    double error =
        range_magnitude(&product, &of_product) * n * range_sum_error(walk_result(w, 0), n);
    all = all && by == RANGE_PROVED; // dims that are known
    y.lo = range_product(product.lo, all || product.lo < 0 ? n : 0);
    y.hi = range_product(product.hi, all || product.hi > 0 ? n : 0);
    y.lo_by |= by;
    y.hi_by |= by;
    y.channels = NULL;
    y.bits = 0;
    y.nan = range_overflows(w, range_magnitude(&product, &of_product) * n, y.nan);
    y = range_rounded(y, dtype_is_float(walk_result(w, 0)) ? error : 0);
    return y;
}

// ---- reductions

// What is reduced: how many elements (INFINITY: not known), and which axes.
typedef struct Reduced {
    double n;
    RangeBasis by;
    uint64_t axes; // a bit each; all of them where they are not known
} Reduced;

static Reduced all_axes(RangeWalk *w)
{
    Reduced all = {.axes = UINT64_MAX};
    all.n = walk_count(w, 0, INT32_MIN, &all.by);
    return all;
}

static Reduced reduced(RangeWalk *w)
{
    const Value *v = walk_value(w, 0);
    const int64_t *axes = NULL;
    int64_t read[64];
    uint32_t naxes = 0;
    Reduced some = {1, RANGE_PROVED, 0}, none = {INFINITY, RANGE_PROVED, UINT64_MAX};
    if (v->rank < 0 || v->rank > 64)
        return none;
    bool given = node_ints(w->n, "axes", &axes, &naxes);
    if (!given && walk_value(w, 1)) {
        const Elements d = walk_constant(w, 1);
        if (d.dtype != DT_I64)
            return all_axes(w);
        for (naxes = 0; naxes < d.n && naxes < 64; naxes++)
            read[naxes] = element_scalar(&d, naxes).i;
        axes = read;
    }
    if (naxes == 0)
        return node_int(w->n, "noop_with_empty_axes", 0) ? some : all_axes(w);
    for (uint32_t i = 0; i < naxes; i++) {
        RangeBasis of_dim = RANGE_PROVED;
        int64_t k = axes[i] < 0 ? axes[i] + v->rank : axes[i];
        if (k < 0 || k >= v->rank || (some.axes >> k & 1))
            return none;
        some.n *= range_of_dim(w->r, v->dims[k], &of_dim);
        some.by = of_dim > some.by ? of_dim : some.by;
        some.axes |= UINT64_C(1) << k;
    }
    return some;
}

// Channels whose axis is left; else those of the whole, and `mean` the mean of their bounds, which
// is what a mean over that axis, known to the last, lies between.
static Range left_over(RangeWalk *w, Range x, const Reduced *of, Range *mean)
{
    const Channels *c = x.channels;
    *mean = range_plain(x);
    if (!c)
        return x;
    if (c->axis < 64 && !(of->axes >> c->axis & 1)) {
        uint64_t before = of->axes & ((UINT64_C(1) << c->axis) - 1);
        bool kept = node_int(w->n, "keepdims", 1) != 0;
        return range_on_axis(w, x, c->axis - (kept ? 0 : (uint32_t)__builtin_popcountll(before)));
    }
    double lo = 0, hi = 0;
    for (uint32_t k = 0; k < c->n; k++) {
        Range one = range_channel(&x, k);
        lo += one.lo / c->n;
        hi += one.hi / c->n;
    }
    double slack = 1e-12 * fmax(fabs(x.lo), fabs(x.hi)); // of these sums themselves
    if (lo - slack > mean->lo)
        mean->lo_by |= c->lo_by;
    if (hi + slack < mean->hi)
        mean->hi_by |= c->hi_by;
    mean->lo = fmax(mean->lo, lo - slack);
    mean->hi = fmin(mean->hi, hi + slack);
    return range_plain(x);
}

static Range squared(RangeWalk *w, Range x)
{
    RangeBasis by;
    (void)w;
    double m = range_magnitude(&x, &by);
    Range y = range_between(0, m * m);
    y.hi_by = (uint8_t)by;
    y.nan = x.nan;
    y.integer = x.integer;
    return y;
}

static Range magnitude(Range x)
{
    RangeBasis by;
    Range y = x;
    y.hi = range_magnitude(&x, &by);
    y.hi_by = (uint8_t)by;
    y.lo = 0;
    y.lo_by = RANGE_PROVED;
    return y;
}

// Of n numbers, multiplied in any order.
static Range product_of(RangeWalk *w, Range x, double n, RangeBasis by)
{
    RangeBasis of_x;
    double m = range_magnitude(&x, &of_x), most = pow(m, n);
    if (isinf(n) || n < 1 || x.nan)
        return range_none();
    bool fixed = x.lo >= 0 && by == RANGE_PROVED;
    Range y = range_between(fixed       ? pow(x.lo, n)
                            : x.lo >= 0 ? 0
                                        : -fmax(most, 1),
                            fixed ? most : fmax(most, 1)); // fewer numbers than are known of
    y.lo_by = y.hi_by = x.lo_by | x.hi_by | (uint8_t)by;
    y.integer = x.integer && most < 0x1p24;
    y.nan = range_overflows(w, most, x.nan);
    double error = n * ldexp(1, 1 - range_digits(walk_result(w, 0)));
    return dtype_is_float(walk_result(w, 0))
               ? range_rounded(y, error < 0.5 ? 2 * most * error : INFINITY)
               : y;
}

enum { SUM, SUM_SQUARE, L1, L2, LOG_SUM, LOG_SUM_EXP, EXTREME, MEAN, PRODUCT };

static Range log_sum_exp(Range x, double n, RangeBasis by)
{
    Range y = x;
    y.lo = isinf(x.lo) ? x.lo : x.lo - 1e-3;
    y.hi = x.hi + log(fmax(n, 1)) + 1e-3;
    y.hi_by |= by;
    y.integer = false;
    y.bits = 0;
    return n < 1 ? range_none() : y;
}

static Range mean_of(RangeWalk *w, Range x, double n, RangeBasis by)
{
    RangeBasis of_x;
    bool real = dtype_is_float(walk_result(w, 0));
    double error = range_magnitude(&x, &of_x) * range_sum_error(walk_result(w, 0), n);
    x.bits = 0;
    x.integer = !real;
    // A sum may overflow where the mean would not.
    if (real && range_is_large(&x))
        error = INFINITY;
    x.nan = range_overflows(w, range_magnitude(&x, &of_x) * n, x.nan);
    x = range_rounded(x, isinf(n) ? INFINITY : real ? error : 0);
    x.hi_by |= isinf(n) ? by : 0;
    return x;
}

static Range reduced_one(RangeWalk *w, int kind, const Reduced *of, Range x)
{
    if (x.lo > x.hi)
        return range_none();
    if (kind == LOG_SUM_EXP)
        return log_sum_exp(x, of->n, of->by);
    if (kind == EXTREME)
        return of->n >= 1 ? x : range_none();
    if (kind == MEAN)
        return mean_of(w, x, of->n, of->by);
    if (kind == PRODUCT)
        return product_of(w, x, of->n, of->by);
    Range term = kind == SUM || kind == LOG_SUM ? x : kind == L1 ? magnitude(x) : squared(w, x);
    Range y = range_sum_of(w, term, of->n, of->by, true);
    bool whole = term.integer && y.known && range_within(&y, -0x1p24, 0x1p24);
    y.integer = kind != L2 && whole;
    if (kind == LOG_SUM && y.known) {
        double least, most;
        range_of_dtype(walk_result(w, 0), &least, &most);
        y.nan = y.lo < 0 && !y.nan ? (uint8_t)NAN_BY_OVERFLOW : y.nan;
        y.hi = fmax(fabs(y.lo), y.hi) < most / 2 ? y.hi : INFINITY; // the sum may overflow
        y.lo = y.lo > 0 ? log(y.lo) - 1e-6 : -INFINITY;
        y.hi = y.hi > 0 ? log(y.hi) + 1e-6 : -INFINITY;
        y.integer = false;
    }
    if (kind == L2 && y.known) {
        y.hi = sqrt(y.hi);
        y.lo = 0;
    }
    return y;
}

static void reduce(RangeWalk *w, int kind)
{
    Range x = walk_in(w, 0), mean;
    if (!x.known || x.lo > x.hi || !walk_value(w, 0))
        return;
    Reduced of = reduced(w);
    Range left = left_over(w, x, &of, &mean);
    // Greatest and least numbers, and powers, are not those of means.
    bool linear = kind == SUM || kind == MEAN;
    Range y = reduced_one(w, kind, &of, linear ? mean : range_plain(x));
    const Channels *from = y.known ? left.channels : NULL;
    Channels *c = from ? channels_new(w, from->axis, from->n) : NULL;
    for (uint32_t k = 0; c && k < c->n; k++)
        channels_set(c, k, reduced_one(w, kind, &of, range_channel(&left, k)));
    walk_give(w, 0, range_with_channels(w, y, c), kind == EXTREME ? ROUND_NOT : ROUND_LOOSE);
}

static void reduce_sum(RangeWalk *w)
{
    reduce(w, SUM);
}

static void reduce_sum_square(RangeWalk *w)
{
    reduce(w, SUM_SQUARE);
}

static void reduce_l1(RangeWalk *w)
{
    reduce(w, L1);
}

static void reduce_l2(RangeWalk *w)
{
    reduce(w, L2);
}

static void reduce_log_sum(RangeWalk *w)
{
    if (dtype_is_float(walk_dtype(w, 0)))
        reduce(w, LOG_SUM);
}

static void reduce_product(RangeWalk *w)
{
    reduce(w, PRODUCT);
}

static void reduce_log_sum_exp(RangeWalk *w)
{
    reduce(w, LOG_SUM_EXP);
}

static void reduce_extreme(RangeWalk *w) // the greatest or the least
{
    reduce(w, EXTREME);
}

static void reduce_mean(RangeWalk *w)
{
    if (dtype_is_float(walk_dtype(w, 0)))
        reduce(w, MEAN);
}

static Range mean_of_operands(RangeWalk *w, Range x)
{
    return x.lo > x.hi ? range_none() : mean_of(w, x, w->n->nin, RANGE_PROVED);
}

static void mean(RangeWalk *w)
{
    Range x = range_fold(w, 0, w->n->nin, range_join_two);
    if (x.known)
        walk_give(w, 0, range_each(w, x, mean_of_operands), ROUND_LOOSE);
}

static Range sum_so_far(RangeWalk *w, Range x)
{
    RangeBasis by;
    double axis = walk_scalar(w, 1, NAN);
    double n = isnan(axis) || fabs(axis) > 64 ? walk_count(w, 0, INT32_MIN, &by)
                                              : walk_count(w, 0, (int64_t)axis, &by);
    Range y = x.lo > x.hi ? range_none() : range_sum_of(w, x, n, by, false);
    y.integer = x.integer && y.known && range_within(&y, -0x1p53, 0x1p53);
    return y;
}

static void cum_sum(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    const Value *v = walk_value(w, 0);
    double axis = walk_scalar(w, 1, NAN);
    if (!x.known || x.lo > x.hi || !v)
        return;
    axis = axis < 0 ? axis + v->rank : axis;
    bool along = x.channels && !(axis >= 0 && axis != x.channels->axis);
    walk_give(w, 0, range_each(w, along ? range_plain(x) : x, sum_so_far), ROUND_LOOSE);
}

const RangeRow ranges_reductions[] = {
    {"ReduceSum", reduce_sum, {NULL}, 0},
    {"ReduceSumSquare", reduce_sum_square, {NULL}, 0},
    {"ReduceL1", reduce_l1, {NULL}, 0},
    {"ReduceL2", reduce_l2, {NULL}, 0},
    {"ReduceLogSumExp", reduce_log_sum_exp, {NULL}, 0},
    {"ReduceLogSum", reduce_log_sum, {NULL}, 0},
    {"ReduceProd", reduce_product, {NULL}, 0},
    {"ReduceMax", reduce_extreme, {NULL}, 0},
    {"ReduceMin", reduce_extreme, {NULL}, 0},
    {"ReduceMean", reduce_mean, {NULL}, 0},
    {"Mean", mean, {NULL}, 0},
    {"CumSum", cum_sum, {NULL}, 0},
    {NULL, NULL, {NULL}, 0},
};
