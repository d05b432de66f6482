// Interval rules of operators whose results are elements of their operands, or numbers that come
// from shapes: the bounds are those of what is moved.

#include "passes/ranges_state.h"

#include <math.h>

static void keep(RangeWalk *w) // one operand, other dims
{
    for (uint32_t o = 0; o < w->n->nout; o++)
        walk_give(w, o, range_plain(walk_in(w, 0)), ROUND_NOT);
}

static void identity(RangeWalk *w)
{
    walk_give(w, 0, walk_in(w, 0), ROUND_NOT);
}

static void join_all(RangeWalk *w)
{
    Range x = range_plain(walk_in(w, 0));
    for (uint32_t i = 1; i < w->n->nin; i++)
        if (w->n->in[i])
            x = range_join(x, range_plain(walk_in(w, i)));
    walk_give(w, 0, x, ROUND_NOT);
}

// What is inserted stands at the second place.
static void join_two(RangeWalk *w)
{
    walk_give(w, 0, range_join(range_plain(walk_in(w, 0)), range_plain(walk_in(w, 1))), ROUND_NOT);
}

static void with_zero(RangeWalk *w)
{
    Range zero = range_between(0, 0), x = range_plain(walk_in(w, 0));
    zero.integer = true;
    walk_give(w, 0, range_join(x, zero), ROUND_NOT);
}

// Dropout: 1 / (1 - ratio) in training, what is not dropped else.
static void dropout(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    const Value *training = walk_value(w, 2);
    if (training && !(range_stats(w->r, w->n->in[2])->read && walk_scalar(w, 2, 1) == 0))
        x = range_none();
    walk_give(w, 0, x, ROUND_NOT);
    Range mask = range_between(0, 1);
    mask.integer = true;
    walk_give(w, 1, mask, ROUND_NOT);
}

Range range_of_images(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    const Value *y = w->n->nout && w->n->out[0] ? value_at(w->m, w->n->out[0]) : NULL;
    bool kept = x.channels && x.channels->axis == 1 && y && y->rank > 1 &&
                poly_equals(y->dims[1], x.channels->n);
    return kept ? x : range_plain(x);
}

// Linear weights are not negative and sum to 1; cubic ones reach beyond the samples.
static Range interpolated(RangeWalk *w, Range x)
{
    RangeBasis by;
    double error = range_magnitude(&x, &by) * range_sum_error(walk_dtype(w, 0), 32);
    x.integer = false;
    x.bits = 0;
    return range_rounded(x, isinf(x.lo) || isinf(x.hi) ? 0 : error);
}

static void resize(RangeWalk *w)
{
    Range x = range_of_images(w);
    Str mode = node_str(w->n, "mode", "nearest");
    bool whole = str_is(node_str(w->n, "coordinate_transformation_mode", "half_pixel"),
                        "tf_crop_and_resize");
    if (whole || str_is(mode, "cubic") || !x.known)
        return;
    if (str_is(mode, "nearest")) {
        walk_give(w, 0, x, ROUND_NOT);
        return;
    }
    walk_give(w, 0, range_each(w, x, interpolated), ROUND_NEAREST);
}

// ScatterElements, ScatterND: elements of the data or of the updates, where nothing is summed.
static void scatter(RangeWalk *w)
{
    if (str_is(node_str(w->n, "reduction", "none"), "none"))
        walk_give(w, 0, range_join(range_plain(walk_in(w, 0)), range_plain(walk_in(w, 2))),
                  ROUND_NOT);
}

static void one_hot(RangeWalk *w)
{
    walk_give(w, 0, range_plain(walk_in(w, 2)), ROUND_NOT);
}

// ---- pooling

// Integers from 0 to below the number of elements along an axis of operand 0, or of all of them
// (INT32_MIN), and `more`.
static Range integers_below(RangeWalk *w, int64_t axis, double more)
{
    RangeBasis by;
    double n = walk_count(w, 0, axis, &by) + more;
    Range x = range_between(0, n > 0 ? n - 1 : 0);
    x.hi_by = (uint8_t)by;
    x.integer = true;
    return x;
}

static void max_pool(RangeWalk *w)
{
    Range x = range_of_images(w);
    double lo, hi;
    range_of_dtype(walk_dtype(w, 0), &lo, &hi);
    if (range_digits(walk_dtype(w, 0)) < 24) // that of float32, which is infinite in float16
        lo = range_digits(walk_dtype(w, 0)) ? -INFINITY : lo;
    if (x.nan || isinf(x.lo)) { // of nothing but NaN or -inf some give the least number
        x.lo = fmin(x.lo, lo);
        x.hi = fmax(x.hi, lo);
        x.channels = NULL;
    }
    walk_give(w, 0, x, ROUND_NOT);
    walk_give(w, 1, integers_below(w, INT32_MIN, 0), ROUND_NOT);
}

// Means of elements, zeros of the padding counted or not: between the least and the greatest.
static Range averaged(RangeWalk *w, Range x)
{
    RangeBasis by;
    if (node_int(w->n, "count_include_pad", 0))
        x = range_join(x, range_between(0, 0));
    x.integer = false;
    x.bits = 0;
    double n = walk_count(w, 0, INT32_MIN, &by);
    double error = range_magnitude(&x, &by) * range_sum_error(walk_dtype(w, 0), n);
    double least, most;
    range_of_dtype(walk_dtype(w, 0), &least, &most);
    if (!(range_magnitude(&x, &by) * n < most / 2)) { // their sum may overflow on the way
        error = INFINITY;
        x.nan = x.nan ? x.nan : (uint8_t)NAN_BY_OVERFLOW;
    }
    return range_rounded(x, error);
}

static void average(RangeWalk *w)
{
    Range x = range_of_images(w);
    if (x.known && x.lo <= x.hi)
        walk_give(w, 0, range_each(w, x, averaged), ROUND_NEAREST);
}

static void global_max(RangeWalk *w)
{
    Range x = range_of_images(w);
    double lo, hi;
    range_of_dtype(walk_dtype(w, 0), &lo, &hi);
    if (isinf(x.lo)) {
        x.hi = fmax(x.hi, lo);
        x.channels = NULL;
    }
    walk_give(w, 0, x, ROUND_NOT);
}

// ---- indices and sizes

static void top_k(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    const Value *v = walk_value(w, 0);
    int64_t axis = node_int(w->n, "axis", -1);
    axis = v && axis < 0 ? axis + v->rank : axis;
    bool kept = x.channels && v->rank > 0 && axis != (int64_t)x.channels->axis;
    walk_give(w, 0, kept ? x : range_plain(x), ROUND_NOT);
    walk_give(w, 1, integers_below(w, node_int(w->n, "axis", -1), 0), ROUND_NOT);
}

static void arg(RangeWalk *w)
{
    walk_give(w, 0, integers_below(w, node_int(w->n, "axis", 0), 0), ROUND_NOT);
}

static void non_zero(RangeWalk *w)
{
    walk_give(w, 0, integers_below(w, INT32_MIN, 0), ROUND_NOT);
}

static void sizes(RangeWalk *w)
{
    Range x = integers_below(w, INT32_MIN, 1);
    walk_give(w, 0, x, ROUND_NOT);
}

static void shape(RangeWalk *w)
{
    RangeBasis by;
    const Value *v = walk_value(w, 0);
    Range x = range_between(0, v && v->rank > 0 ? 0 : RANGE_MAX_DIM);
    x.hi_by = v && v->rank >= 0 ? RANGE_PROVED : RANGE_ASSUMED;
    for (int32_t k = 0; v && k < v->rank; k++) {
        double n = range_of_dim(w->r, v->dims[k], &by);
        x.hi_by = n > x.hi ? (uint8_t)by : x.hi_by;
        x.hi = fmax(x.hi, n);
    }
    x.integer = true;
    walk_give(w, 0, x, ROUND_NOT);
}

// Range: start, start + delta ... below limit.
static void range(RangeWalk *w)
{
    Range start = walk_in(w, 0), limit = walk_in(w, 1), delta = walk_in(w, 2);
    if (!start.known || !limit.known || !delta.known || start.lo > start.hi || limit.lo > limit.hi)
        return;
    Range x = range_join(start, limit);
    x.nan = NAN_NEVER;
    x.integer = start.integer && delta.integer;
    if (x.integer && delta.lo >= 1 && limit.integer && limit.hi >= start.hi)
        x.hi = fmax(start.hi, limit.hi - 1);
    if (delta.lo >= 0)
        x.lo = fmin(start.lo, x.hi);
    x.lo_by |= delta.lo_by;
    x.hi_by |= delta.lo_by;
    walk_give(w, 0, range_plain(x), x.integer ? ROUND_NOT : ROUND_LOOSE);
}

static void eye(RangeWalk *w)
{
    Range x = range_between(0, 1);
    x.integer = true;
    walk_give(w, 0, x, ROUND_NOT);
}

static void constant_of_shape(RangeWalk *w)
{
    const Attr *a = attr_find(w->n, "value");
    Range x = range_between(0, 0);
    const Elements of = elements_in(w->m, a ? a->t : NULL);
    if (a && of.n != 1)
        return;
    if (a) {
        double v = element_at(&of, 0);
        x = isnan(v) ? range_none() : range_between(v, v);
    }
    x.integer = x.known && x.lo == nearbyint(x.lo);
    walk_give(w, 0, x, ROUND_NOT);
}

static void random_uniform(RangeWalk *w)
{
    double low = node_float(w->n, "low", 0), high = node_float(w->n, "high", 1);
    walk_give(w, 0, range_between(fmin(low, high), fmax(low, high)), ROUND_LOOSE);
}

static void unique(RangeWalk *w)
{
    walk_give(w, 0, range_plain(walk_in(w, 0)), ROUND_NOT);
    for (uint32_t o = 1; o < 4; o++)
        walk_give(w, o, integers_below(w, INT32_MIN, 1), ROUND_NOT);
}

const RangeRow ranges_movement[] = {
    {"Identity", identity, {NULL}, 0},
    {"GatherElements", keep, {NULL}, 0},
    {"GatherND", keep, {NULL}, 0},
    {"DepthToSpace", keep, {NULL}, 0},
    {"SpaceToDepth", keep, {NULL}, 0},
    {"Compress", keep, {NULL}, 0},
    {"ReverseSequence", keep, {NULL}, 0},
    {"SequenceConstruct", join_all, {NULL}, 0},
    {"SequenceAt", keep, {NULL}, 0},
    {"SequenceErase", keep, {NULL}, 0},
    {"SplitToSequence", keep, {NULL}, 0},
    {"ConcatFromSequence", keep, {NULL}, 0},
    {"SequenceInsert", join_two, {NULL}, 0},
    {"Optional", keep, {NULL}, 0},
    {"OptionalGetElement", keep, {NULL}, 0},
    {"Trilu", with_zero, {NULL}, 0},
    {"CenterCropPad", with_zero, {NULL}, 0},
    {"MaxUnpool", with_zero, {NULL}, 0},
    {"Dropout", dropout, {NULL}, 0},
    {"Resize", resize, {NULL}, 0},
    {"Upsample", resize, {NULL}, 0},
    {"Scatter", scatter, {NULL}, 0},
    {"ScatterElements", scatter, {NULL}, 0},
    {"ScatterND", scatter, {NULL}, 0},
    {"OneHot", one_hot, {NULL}, 0},
    {"MaxPool", max_pool, {NULL}, 0},
    {"GlobalMaxPool", global_max, {NULL}, 0},
    {"AveragePool", average, {NULL}, 0},
    {"GlobalAveragePool", average, {NULL}, 0},
    {"TopK", top_k, {NULL}, 0},
    {"ArgMax", arg, {NULL}, 0},
    {"ArgMin", arg, {NULL}, 0},
    {"NonZero", non_zero, {NULL}, 0},
    {"Size", sizes, {NULL}, 0},
    {"Shape", shape, {NULL}, 0},
    {"Range", range, {NULL}, 0},
    {"EyeLike", eye, {NULL}, 0},
    {"Bernoulli", eye, {NULL}, 0},
    {"ConstantOfShape", constant_of_shape, {NULL}, 0},
    {"RandomUniform", random_uniform, {NULL}, 0},
    {"RandomUniformLike", random_uniform, {NULL}, 0},
    {"Unique", unique, {NULL}, 0},
    {NULL, NULL, {NULL}, 0},
};
