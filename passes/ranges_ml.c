// Interval rules of ai.onnx.ml.

#include "passes/ranges_state.h"

#include <math.h>

#define ML "ai.onnx.ml::"

static void extract(RangeWalk *w)
{
    walk_give(w, 0, range_plain(walk_in(w, 0)), ROUND_NOT);
}

static void truth(RangeWalk *w)
{
    Range y = range_between(0, 1);
    y.integer = true;
    walk_give(w, 0, y, ROUND_NOT);
}

// Rows by their length or by the sum of sizes; by the greatest, which may be near 0, anything.
static void normalize(RangeWalk *w)
{
    Range x = walk_in(w, 0), y = range_between(-1.01, 1.01);
    if (str_is(node_str(w->n, "norm", "MAX"), "MAX"))
        return;
    y.nan = x.known && !range_is_large(&x) ? x.nan : (uint8_t)NAN_BY_OVERFLOW;
    walk_give(w, 0, y, ROUND_LOOSE);
}

// (x - offset) * scale, one of each for all or for each feature.
static void scale(RangeWalk *w)
{
    Range x = range_plain(walk_in(w, 0)), y = range_between(INFINITY, -INFINITY);
    const float *offset, *factor;
    uint32_t noffset, nfactor;
    if (!x.known || x.lo > x.hi || !node_floats(w->n, "offset", &offset, &noffset) ||
        !node_floats(w->n, "scale", &factor, &nfactor) || !noffset || !nfactor ||
        (noffset > 1 && nfactor > 1 && noffset != nfactor))
        return;
    for (uint32_t k = 0; k < (noffset > nfactor ? noffset : nfactor); k++) {
        double o = offset[noffset > 1 ? k : 0], f = factor[nfactor > 1 ? k : 0];
        if (!isfinite(o) || !isfinite(f))
            return;
        y = range_join(y, range_mul(w, range_sub(w, x, range_between(o, o)), range_between(f, f)));
    }
    y.integer = false;
    y.bits = 0;
    walk_give(w, 0, y, ROUND_LOOSE);
}

// ---- trees

// Has no leaf two weights for one target?
static bool leaves_apart(RangeWalk *w, const int64_t *tree, uint32_t n)
{
    const int64_t *node, *target;
    uint32_t nnodes, ntargets;
    Map seen = {.arena = w->r->a};
    if (!node_ints(w->n, "target_nodeids", &node, &nnodes) || nnodes != n ||
        !node_ints(w->n, "target_ids", &target, &ntargets) || ntargets != n ||
        !walk_afford(w, 16 * (uint64_t)n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        int64_t key[3] = {tree[i], node[i], target[i]};
        bool added;
        map_put(&seen, str_copy(w->r->a, (Str){(const char *)key, sizeof key}), &added);
        if (!added)
            return false;
    }
    return true;
}

// Each tree gives one of its leaves' weights: the least and the greatest of each tree, summed.
static void trees(RangeWalk *w)
{
    const int64_t *tree;
    const float *weight, *base;
    uint32_t n, nweights, nbase = 0;
    Str aggregate = node_str(w->n, "aggregate_function", "SUM");
    if (!node_ints(w->n, "target_treeids", &tree, &n) ||
        !node_floats(w->n, "target_weights", &weight, &nweights) || n != nweights || !n ||
        !str_is(node_str(w->n, "post_transform", "NONE"), "NONE") ||
        !(str_is(aggregate, "SUM") || str_is(aggregate, "AVERAGE")) || !leaves_apart(w, tree, n))
        return;
    double lo = 0, hi = 0, magnitude = 0, least = 0, most = 0, from = 0, to = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!isfinite(weight[i]) || (i && tree[i] < tree[i - 1]))
            return; // trees whose leaves do not stand together are not told apart
        bool fresh = i && tree[i] != tree[i - 1];
        lo += fresh ? least : 0;
        hi += fresh ? most : 0;
        magnitude += fresh ? fmax(-least, most) : 0;
        // A leaf may give nothing for one of several targets.
        least = fmin(fresh ? 0 : least, weight[i]);
        most = fmax(fresh ? 0 : most, weight[i]);
    }
    lo += least;
    hi += most;
    magnitude += fmax(-least, most);
    if (str_is(aggregate, "AVERAGE")) {
        lo = fmin(lo, least); // of one tree or of all of them
        hi = fmax(hi, most);
        lo = fmin(lo, 0);
        hi = fmax(hi, 0);
    }
    if (node_floats(w->n, "base_values", &base, &nbase))
        for (uint32_t i = 0; i < nbase; i++) {
            from = i ? fmin(from, base[i]) : base[i];
            to = i ? fmax(to, base[i]) : base[i];
        }
    if (node_has_attr(w->n, "base_values_as_tensor") || !isfinite(from) || !isfinite(to) ||
        node_has_attr(w->n, "target_weights_as_tensor"))
        return;
    Range y = range_between(lo + from, hi + to);
    walk_give(w, 0, range_widen(y, magnitude * range_sum_error(DT_F32, n) + 1e-30), ROUND_LOOSE);
}

// Labels are what the attributes say; of scores only those that were made probabilities are known.
static void classify(RangeWalk *w)
{
    Str transform = node_str(w->n, "post_transform", "NONE");
    Range y = range_between(0, 1 + 1e-5);
    y.nan = NAN_BY_OVERFLOW;
    if (str_is(transform, "LOGISTIC") || str_is(transform, "SOFTMAX") ||
        str_is(transform, "SOFTMAX_ZERO"))
        walk_give(w, 1, y, ROUND_LOOSE);
}

const RangeRow ranges_ml[] = {
    {ML "ArrayFeatureExtractor", extract, {NULL}, 0},
    {ML "Binarizer", truth, {NULL}, 0},
    {ML "OneHotEncoder", truth, {NULL}, 0},
    {ML "Normalizer", normalize, {NULL}, 0},
    {ML "Scaler", scale, {NULL}, 0},
    {ML "TreeEnsembleRegressor", trees, {NULL}, 0},
    {ML "TreeEnsembleClassifier", classify, {NULL}, 0},
    {ML "LinearClassifier", classify, {NULL}, 0},
    {NULL, NULL, {NULL}, 0},
};
