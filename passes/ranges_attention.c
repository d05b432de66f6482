// Interval rules of attention, which gives means of values, of rotations by an angle, and of what
// recurrent operators keep.

#include "passes/ranges_state.h"

#include <math.h>

#define MS "com.microsoft::"

// ---- attention

static Range join_operand(RangeWalk *w, Range x, uint32_t i)
{
    return walk_value(w, i) ? range_join(x, range_plain(walk_in(w, i))) : x;
}

// Means of values, or zeros where a row is masked as a whole. A score of which nothing is known may
// make NaN of a row.
static void give_means(RangeWalk *w, Range values, double n, const uint32_t *scored, uint32_t count)
{
    uint8_t nan = values.nan;
    if (!values.known || values.lo > values.hi)
        return;
    for (uint32_t i = 0; i < count; i++) {
        Range x = walk_value(w, scored[i]) ? walk_in(w, scored[i]) : range_between(0, 0);
        uint8_t own = !x.known || !(fabs(x.lo) < 0x1p60) || !(fabs(x.hi) < 0x1p60)
                          ? (uint8_t)NAN_BY_OVERFLOW
                          : x.nan;
        nan = own > nan ? own : nan;
    }
    Range y = range_weighted(w, range_join(values, range_between(0, 0)), n);
    y.nan = nan;
    walk_give(w, 0, y, ROUND_LOOSE);
}

// The dim of operand i that counts keys, and of what was kept before.
static double keys(RangeWalk *w, uint32_t i, uint32_t past)
{
    RangeBasis by;
    double n = walk_value(w, i) ? walk_count(w, i, -2, &by) : INFINITY;
    return n + (walk_value(w, past) ? walk_count(w, past, -2, &by) : 0);
}

static void attention(RangeWalk *w)
{
    Range v = join_operand(w, range_plain(walk_in(w, 2)), 5);
    Range k = join_operand(w, range_plain(walk_in(w, 1)), 4);
    give_means(w, v, keys(w, 2, 5), (const uint32_t[]){0, 1, 3, 4}, 4);
    walk_give(w, 1, k, ROUND_NOT);
    walk_give(w, 2, v, ROUND_NOT);
}

// Values apart, or with keys or with both in one tensor; a bias of all three.
static void multi_head(RangeWalk *w)
{
    uint32_t from = walk_value(w, 2) ? 2 : walk_value(w, 1) ? 1 : 0;
    Range v = range_plain(walk_in(w, from));
    Range bias = walk_value(w, 3) ? range_plain(walk_in(w, 3)) : range_between(0, 0);
    if (!v.known || !bias.known || v.lo > v.hi || bias.lo > bias.hi)
        return;
    Range all = join_operand(w, range_add(w, v, bias), 7);
    double n = walk_value(w, 2) ? keys(w, 2, 7) : INFINITY;
    give_means(w, all, n, (const uint32_t[]){0, 1, 3, 5, 6}, 5);
    if (walk_result(w, 2) != DT_NONE && all.known)
        walk_give(w, 2, all, ROUND_LOOSE);
}

// Behind the positions that are filled the cache is what it was, or 0.
static void group_query(RangeWalk *w)
{
    uint32_t from = walk_value(w, 2) ? 2 : 0;
    Range v = join_operand(w, range_plain(walk_in(w, from)), 4);
    if (!v.known || v.lo > v.hi)
        return;
    v = range_join(v, range_between(0, 0));
    give_means(w, v, walk_value(w, 2) ? keys(w, 2, 4) : INFINITY,
               (const uint32_t[]){0, 1, 3, 7, 8, 10}, 6);
    if (walk_result(w, 2) != DT_NONE)
        walk_give(w, 2, v, ROUND_NOT);
}

// Each pair of channels turned: a * cos - b * sin, a * sin + b * cos; others as they are.
static void rotate(RangeWalk *w)
{
    bool ms = !is_standard_domain(w->n->domain);
    Range x = range_plain(walk_in(w, 0)), c = walk_in(w, ms ? 2 : 1), s = walk_in(w, ms ? 3 : 2);
    RangeBasis of_x, of_c, of_s;
    if (!x.known || !c.known || !s.known || x.lo > x.hi || c.lo > c.hi || s.lo > s.hi)
        return;
    double most = range_magnitude(&x, &of_x) *
                  (range_magnitude(&c, &of_c) + range_magnitude(&s, &of_s)) * 1.0001;
    Range y = range_between(-most, most);
    if (isinf(most) || isnan(most))
        return;
    y.lo_by = y.hi_by = (uint8_t)(of_x | of_c | of_s);
    y.nan = range_overflows(w, most, x.nan);
    walk_give(w, 0, range_join(y, x), ROUND_LOOSE);
}

// ---- recurrent operators

// The states with the usual activations.
static void states(RangeWalk *w)
{
    bool lstm = str_is(w->n->op, "LSTM") || str_is(w->n->op, "DynamicQuantizeLSTM");
    Range x = range_between(-1, 1), h = walk_in(w, 5), c = walk_in(w, 6);
    RangeBasis by, of_c = RANGE_PROVED;
    if (node_has_attr(w->n, "activations"))
        return;
    x = range_widen(x, ldexp(8, -range_digits(walk_dtype(w, 0))));
    x.nan = NAN_BY_OVERFLOW;
    if (walk_value(w, 5))
        x = range_join(x, h);
    walk_give(w, 0, range_plain(x), ROUND_LOOSE);
    walk_give(w, 1, range_plain(x), ROUND_LOOSE);
    // Each step keeps at most all of a cell and adds at most 1.
    double steps = walk_count(w, 0, node_int(w->n, "layout", 0) ? 1 : 0, &by);
    double before = walk_value(w, 6) ? (c.known ? range_magnitude(&c, &of_c) : INFINITY) : 0;
    double most = (before + steps) * (1 + 1e-3) + 1e-3;
    if (!lstm || isinf(most) || isnan(most) || walk_result(w, 2) == DT_NONE || most > 60000)
        return;
    Range cell = range_between(-most, most);
    cell.lo_by = cell.hi_by = (uint8_t)(by | of_c);
    cell.nan = NAN_BY_OVERFLOW;
    walk_give(w, 2, cell, ROUND_LOOSE);
}

const RangeRow ranges_attention[] = {
    {"Attention", attention, {NULL}, 0},
    {MS "MultiHeadAttention", multi_head, {NULL}, 0},
    {MS "GroupQueryAttention", group_query, {NULL}, 0},
    {"RotaryEmbedding", rotate, {NULL}, 0},
    {MS "RotaryEmbedding", rotate, {NULL}, 0},
    {"LSTM", states, {NULL}, 0},
    {"GRU", states, {NULL}, 0},
    {"RNN", states, {NULL}, 0},
    {MS "DynamicQuantizeLSTM", states, {NULL}, 0},
    {NULL, NULL, {NULL}, 0},
};
