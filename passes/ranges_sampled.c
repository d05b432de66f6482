// Interval rules of operators that sample, pool by norms, scale by a neighbourhood, or make
// signals.

#include "passes/ranges_state.h"

#include <math.h>

// ---- samples between elements

// Weights of at most 16 corners, not negative, whose sum is at most 1; means of these.
static Range sampled(RangeWalk *w, Range x)
{
    RangeBasis by;
    double error = range_magnitude(&x, &by) * (range_sum_error(walk_dtype(w, 0), 64) +
                                               ldexp(32, -range_digits(walk_dtype(w, 0))));
    x = range_join(x, range_between(0, 0));
    x.integer = false;
    x.bits = 0;
    return range_rounded(x, isinf(x.lo) || isinf(x.hi) ? 0 : error);
}

// Places that are no numbers, or far away, may make NaN.
static void sample(RangeWalk *w)
{
    Range x = range_of_images(w), places = walk_in(w, 1);
    Str mode = node_str(w->n, "mode", "linear");
    if (!x.known || x.lo > x.hi || str_is(mode, "cubic") || str_is(mode, "bicubic") ||
        !range_digits(walk_dtype(w, 0)))
        return;
    if (!places.known || places.nan || range_is_large(&places))
        x.nan = x.nan ? x.nan : (uint8_t)NAN_BY_OVERFLOW;
    walk_give(w, 0, range_each(w, x, sampled), ROUND_LOOSE);
}

static void roi_pool(RangeWalk *w)
{
    Range x = range_of_images(w);
    if (x.known && x.lo <= x.hi)
        walk_give(w, 0, range_joined(w, x, range_between(0, 0)), ROUND_NOT);
}

// theta times a place within [-1, 1] of each dim, and 1.
static void affine_grid(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    RangeBasis by;
    double most = x.known ? 4 * 1.001 * range_magnitude(&x, &by) : INFINITY;
    Range y = range_between(-most, most);
    if (!x.known || x.lo > x.hi || isinf(most))
        return;
    y.lo_by = y.hi_by = (uint8_t)by;
    y.nan = x.nan;
    walk_give(w, 0, y, ROUND_LOOSE);
}

// ---- norms

// The root of the sum of n pth powers.
static Range norm_of(RangeWalk *w, Range x, double n, RangeBasis by)
{
    RangeBasis of_x;
    double p = (double)node_int(w->n, "p", 2), m = range_magnitude(&x, &of_x), lo, most;
    range_of_dtype(walk_result(w, 0), &lo, &most);
    Range y = range_between(0, m * pow(n, 1 / p));
    if (isinf(n) || p < 1)
        return range_none();
    y.hi_by = (uint8_t)(of_x | by);
    y.nan = x.nan;
    // A power of the magnitude, and so the sum, may overflow on the way.
    bool fits = pow(m, p) * n < most / 2;
    return range_rounded(y, fits ? y.hi * (range_sum_error(walk_result(w, 0), n) +
                                           ldexp(16 * p, -range_digits(walk_result(w, 0))))
                                 : INFINITY);
}

static void lp_pool(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    const int64_t *kernel;
    uint32_t rank;
    double n = 1;
    if (!x.known || x.lo > x.hi || !node_ints(w->n, "kernel_shape", &kernel, &rank))
        return;
    for (uint32_t i = 0; i < rank; i++)
        n *= (double)kernel[i];
    walk_give(w, 0, norm_of(w, range_plain(x), n, RANGE_PROVED), ROUND_LOOSE);
}

static void global_lp_pool(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    const Value *v = walk_value(w, 0);
    RangeBasis by;
    if (!x.known || x.lo > x.hi || !v || v->rank < 2)
        return;
    double n = range_dims_product(w, v, 2, &by);
    walk_give(w, 0, norm_of(w, range_plain(x), n, by), ROUND_LOOSE);
}

// Each element beside the norm of its row.
static void lp_normalize(RangeWalk *w)
{
    Range x = walk_in(w, 0), y = range_between(-1.01, 1.01);
    if (x.known && x.lo >= 0)
        y.lo = 0;
    y.lo_by = x.known && x.lo >= 0 ? x.lo_by : (uint8_t)RANGE_PROVED;
    y.nan = x.known && x.nan > NAN_BY_OVERFLOW ? x.nan : (uint8_t)NAN_BY_OVERFLOW; // 0 by 0
    walk_give(w, 0, y, ROUND_LOOSE);
}

// x / (bias + alpha / size * sum of squares) ^ beta.
static Range by_neighbours(RangeWalk *w, Range x)
{
    double alpha = node_float(w->n, "alpha", 1e-4), beta = node_float(w->n, "beta", 0.75);
    double bias = node_float(w->n, "bias", 1), most = pow(bias, -beta);
    if (!(alpha >= 0) || !(beta >= 0) || !(bias > 0) || range_is_large(&x))
        return range_none();
    return range_mul(w, x, range_between(0, most * 1.0001));
}

static void local_response(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    if (x.known && x.lo <= x.hi)
        walk_give(w, 0, range_each(w, x, by_neighbours), ROUND_LOOSE);
}

// ---- signals

// Sums of n numbers turned by angles: of complex ones both parts add to each.
static void give_turned(RangeWalk *w, double magnitude, double n, RangeBasis by, uint8_t nan)
{
    double most = sqrt(2) * magnitude * n * (1 + 1e-3);
    Range y = range_between(-most, most);
    if (isinf(most) || isnan(most))
        return;
    y.lo_by = y.hi_by = (uint8_t)by;
    y.nan = range_overflows(w, most, nan);
    walk_give(w, 0, y, ROUND_LOOSE);
}

static void dft(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    RangeBasis of_x, of_n;
    bool operand = walk_value(w, 2) != NULL;
    double axis =
        operand ? walk_scalar(w, 2, NAN)
                : (double)node_int(w->n, "axis", w->n->def && w->n->def->since >= 20 ? -2 : 1);
    if (!x.known || x.lo > x.hi || isnan(axis) || fabs(axis) > 64 || range_is_large(&x))
        return;
    double n =
        walk_value(w, 1) ? walk_scalar(w, 1, INFINITY) : walk_count(w, 0, (int64_t)axis, &of_n);
    of_n = walk_value(w, 1) ? RANGE_PROVED : of_n;
    double m = range_magnitude(&x, &of_x);
    // Half of a spectrum stands for all of it.
    bool half = node_int(w->n, "onesided", 0) && node_int(w->n, "inverse", 0);
    give_turned(w, m, half ? 2 * n : n, (RangeBasis)(of_x | of_n), x.nan);
}

static void stft(RangeWalk *w)
{
    Range x = walk_in(w, 0), window = walk_value(w, 2) ? walk_in(w, 2) : range_between(1, 1);
    const Value *v = walk_value(w, 2);
    RangeBasis of_x, of_window, of_n = RANGE_PROVED;
    if (!x.known || x.lo > x.hi || range_is_large(&x) || !window.known || window.lo > window.hi)
        return;
    double n = walk_value(w, 3)    ? walk_scalar(w, 3, INFINITY)
               : v && v->rank == 1 ? range_of_axis(w->r, w->n->in[2], 0, &of_n)
                                   : INFINITY;
    double m = range_magnitude(&x, &of_x) * range_magnitude(&window, &of_window);
    give_turned(w, m, n, (RangeBasis)(of_x | of_window | of_n),
                x.nan > window.nan ? x.nan : window.nan);
}

static void window(RangeWalk *w)
{
    double least = str_is(w->n->op, "HammingWindow") ? 0.08 : 0;
    walk_give(w, 0, range_between(least - 1e-5, 1 + 1e-5), ROUND_LOOSE);
}

static void mel(RangeWalk *w)
{
    walk_give(w, 0, range_between(0, 1 + 1e-5), ROUND_LOOSE);
}

// Blocks that overlap are summed: at most as many as a column has elements.
static void col2im(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    RangeBasis by;
    double n = walk_count(w, 0, 1, &by);
    if (x.known && x.lo <= x.hi)
        walk_give(w, 0, range_sum_of(w, range_plain(x), n, by, false), ROUND_LOOSE);
}

// ---- integers

// Bits that one of two numbers without a sign has, or both have.
static void bits_of(RangeWalk *w)
{
    Range a = range_plain(walk_in(w, 0)), b = range_plain(walk_in(w, 1));
    bool both = str_is(w->n->op, "BitwiseAnd");
    if (!a.known || !b.known || a.lo > a.hi || b.lo > b.hi || a.lo < 0 || b.lo < 0)
        return;
    Range y = both ? (a.hi < b.hi ? a : b) : (a.hi > b.hi ? a : b);
    y.lo = 0;
    y.hi = both ? y.hi : exp2(ceil(log2(y.hi + 1))) - 1;
    y.lo_by = y.hi_by = a.lo_by | a.hi_by | b.lo_by | b.hi_by;
    y.integer = true;
    y.bits = 0;
    walk_give(w, 0, y, ROUND_NOT);
}

// Below the number of batches, classes or boxes.
static void boxes(RangeWalk *w)
{
    RangeBasis by[3];
    double n[3] = {walk_count(w, 0, 1, &by[0]), walk_count(w, 1, 0, &by[1]),
                   walk_count(w, 1, 1, &by[2])};
    Range y = range_between(0, fmax(0, fmax(fmax(n[0], n[1]), n[2]) - 1));
    y.hi_by = (uint8_t)(by[0] | by[1] | by[2]);
    y.integer = true;
    walk_give(w, 0, y, ROUND_NOT);
}

static void multinomial(RangeWalk *w)
{
    RangeBasis by;
    Range y = range_between(0, fmax(0, walk_count(w, 0, 1, &by) - 1));
    y.hi_by = (uint8_t)by;
    y.integer = true;
    walk_give(w, 0, y, ROUND_NOT);
}

const RangeRow ranges_sampled[] = {
    {"GridSample", sample, {NULL}, 0},
    {"RoiAlign", sample, {NULL}, 0},
    {"MaxRoiPool", roi_pool, {NULL}, 0},
    {"AffineGrid", affine_grid, {NULL}, 0},
    {"LpPool", lp_pool, {NULL}, 0},
    {"GlobalLpPool", global_lp_pool, {NULL}, 0},
    {"LpNormalization", lp_normalize, {NULL}, 0},
    {"LRN", local_response, {NULL}, 0},
    {"DFT", dft, {NULL}, 0},
    {"STFT", stft, {NULL}, 0},
    {"HannWindow", window, {NULL}, 0},
    {"HammingWindow", window, {NULL}, 0},
    {"BlackmanWindow", window, {NULL}, 0},
    {"MelWeightMatrix", mel, {NULL}, 0},
    {"Col2Im", col2im, {NULL}, 0},
    {"BitwiseAnd", bits_of, {NULL}, 0},
    {"BitwiseOr", bits_of, {NULL}, 0},
    {"BitwiseXor", bits_of, {NULL}, 0},
    {"NonMaxSuppression", boxes, {NULL}, 0},
    {"Multinomial", multinomial, {NULL}, 0},
    {NULL, NULL, {NULL}, 0},
};
