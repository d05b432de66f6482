// Interval rules of normalizations: what they bound whatever comes, and what scales and shifts it.

#include "passes/ranges_state.h"

#include <math.h>

// ---- normalizations

// What scales and shifts: elements of an operand of one axis, of which each holds for `size` of
// the channels in a row; else the operand as a whole.
static Range factor_at(RangeWalk *w, uint32_t i, uint32_t k, uint32_t n)
{
    const Elements d = i == UINT32_MAX ? (Elements){0} : walk_constant(w, i);
    if (d.rank != 1 || d.n == 0 || n % d.n)
        return range_plain(walk_in(w, i));
    double v = element_at(&d, k / (n / d.n));
    return isnan(v) ? range_plain(walk_in(w, i)) : range_between(v, v);
}

void range_normalized(RangeWalk *w, double bound, RangeBasis by, int64_t axis, uint32_t scale,
                      uint32_t shift)
{
    const Value *y = w->n->out[0] ? value_at(w->m, w->n->out[0]) : NULL;
    Range x = walk_in(w, 0), z = range_between(-bound, bound), whole;
    bool scaled = walk_value(w, scale) != NULL, shifted = walk_value(w, shift) != NULL;
    int64_t n = 0;
    z.lo_by = z.hi_by = (uint8_t)by;
    if (isinf(bound) || isnan(bound))
        return;
    whole = z = range_widen(z, bound * 1e-3 + 1e-6);
    whole = scaled ? range_mul(w, whole, range_plain(walk_in(w, scale))) : whole;
    whole = shifted ? range_add(w, whole, range_plain(walk_in(w, shift))) : whole;
    uint8_t nan = !x.known || range_is_large(&x) ? (uint8_t)NAN_BY_OVERFLOW : x.nan;
    whole.nan = nan > whole.nan ? nan : whole.nan;
    axis = y && axis < 0 ? axis + y->rank : axis;
    bool apart = scaled && y && axis >= 0 && axis < y->rank && poly_is_const(y->dims[axis], &n);
    Channels *c = apart && n > 0 ? channels_new(w, (uint32_t)axis, (uint64_t)n) : NULL;
    for (uint32_t k = 0; c && k < c->n; k++) {
        Range one = range_mul(w, z, factor_at(w, scale, k, c->n));
        channels_set(c, k, shifted ? range_add(w, one, factor_at(w, shift, k, c->n)) : one);
    }
    walk_give(w, 0, range_with_channels(w, whole, c), ROUND_LOOSE);
}

static double count_from(RangeWalk *w, int64_t axis, RangeBasis *by)
{
    const Value *v = walk_value(w, 0);
    if (!v || v->rank < 0)
        return INFINITY;
    axis = axis < 0 ? axis + v->rank : axis;
    return axis < 0 || axis > v->rank ? INFINITY : range_dims_product(w, v, (uint32_t)axis, by);
}

static void layer_norm(RangeWalk *w)
{
    RangeBasis by = RANGE_PROVED;
    double n = count_from(w, node_int(w->n, "axis", -1), &by);
    range_normalized(w, sqrt(n), by, -1, 1, 2);
}

static void rms_norm(RangeWalk *w)
{
    RangeBasis by = RANGE_PROVED;
    double n = count_from(w, node_int(w->n, "axis", -1), &by);
    range_normalized(w, sqrt(n), by, -1, 1, UINT32_MAX);
}

static void instance_norm(RangeWalk *w)
{
    RangeBasis by = RANGE_PROVED;
    double n = count_from(w, 2, &by);
    range_normalized(w, sqrt(n), by, 1, 1, 2);
}

static void group_norm(RangeWalk *w)
{
    RangeBasis by = RANGE_PROVED;
    double n = count_from(w, 1, &by);
    range_normalized(w, sqrt(n), by, 1, 1, 2);
}

static void variance_norm(RangeWalk *w)
{
    RangeBasis by;
    double n = walk_count(w, 0, INT32_MIN, &by);
    range_normalized(w, sqrt(n), by, 0, UINT32_MAX, UINT32_MAX);
}

typedef struct Norm {
    Elements scale, shift, mean, variance;
    double epsilon;
} Norm;

static Range norm_channel(const Norm *f, Range x, uint32_t k, DType t)
{
    double root = sqrt(element_at(&f->variance, k) + f->epsilon),
           a = element_at(&f->scale, k) / root;
    double m = element_at(&f->mean, k), b = element_at(&f->shift, k);
    double lo = a * (x.lo - m), hi = a * (x.hi - m);
    double error = 16 * ldexp(1, -range_digits(t)) *
                   (fabs(a) * (fmax(fabs(x.lo), fabs(x.hi)) + fabs(m)) + fabs(b));
    Range y = range_widen(range_between(fmin(lo, hi) + b, fmax(lo, hi) + b), error);
    y.lo_by = y.hi_by = x.lo_by | x.hi_by;
    return y;
}

static void batch_norm(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    Norm f = {walk_constant(w, 1), walk_constant(w, 2), walk_constant(w, 3), walk_constant(w, 4),
              node_float(w->n, "epsilon", 1e-5)};
    if (!x.known || x.lo > x.hi || !f.scale.at || !f.shift.at || !f.mean.at || !f.variance.at ||
        range_is_large(&x) || node_int(w->n, "training_mode", 0) ||
        (node_has_attr(w->n, "is_test") && !node_int(w->n, "is_test", 0)))
        return;
    uint64_t n = f.scale.n;
    if (n == 0 || n > UINT32_MAX || f.shift.n != n || f.mean.n != n || f.variance.n != n ||
        !walk_afford(w, 4 * n) || !range_digits(walk_dtype(w, 0)))
        return;
    bool apart = x.channels && x.channels->axis == 1 && x.channels->n == n;
    Channels *c = channels_new(w, 1, n);
    Range y = range_between(INFINITY, -INFINITY);
    for (uint32_t k = 0; k < n; k++) {
        Range one =
            norm_channel(&f, apart ? range_channel(&x, k) : range_plain(x), k, walk_dtype(w, 0));
        if (!isfinite(one.lo) || !isfinite(one.hi))
            return;
        y = range_join(y, one);
        if (c)
            channels_set(c, k, one);
    }
    y.nan = x.nan;
    walk_give(w, 0, range_with_channels(w, y, c), ROUND_LOOSE);
}

const RangeRow ranges_norms[] = {
    {"LayerNormalization", layer_norm, {NULL}, 0},
    {"RMSNormalization", rms_norm, {NULL}, 0},
    {"InstanceNormalization", instance_norm, {NULL}, 0},
    {"GroupNormalization", group_norm, {NULL}, 0},
    {"SimplifiedLayerNormalization", rms_norm, {NULL}, 0},
    {"MeanVarianceNormalization", variance_norm, {NULL}, 0},
    {"BatchNormalization", batch_norm, {NULL}, 0},
    {NULL, NULL, {NULL}, 0},
};
