// Interval rules of operators that put a tensor's elements elsewhere: which index of which axis the
// bounds of a channel go to.
//
// Where that cannot be said (sizes that only the program knows, indices that are computed) the
// bounds of the whole remain.

#include "passes/ranges_state.h"

#include <math.h>

static const Value *result(RangeWalk *w)
{
    return w->n->nout && w->n->out[0] ? value_at(w->m, w->n->out[0]) : NULL;
}

// The channels' axis, if the operand has some and its rank is known.
static bool has_channels(RangeWalk *w, const Range *x, const Value *y)
{
    const Value *v = walk_value(w, 0);
    return x->channels && v && v->rank > 0 && x->channels->axis < (uint32_t)v->rank && y &&
           y->rank >= 0;
}

static void give_whole(RangeWalk *w, Range x)
{
    for (uint32_t o = 0; o < w->n->nout; o++)
        walk_give(w, o, range_plain(x), ROUND_NOT);
}

// ---- other dims, the same order of elements

// The product of dims from `axis` on.
static Index behind(RangeWalk *w, const Value *v, uint32_t axis)
{
    Index p = poly_const(w->m->polys, 1);
    for (uint32_t k = axis; k < (uint32_t)v->rank; k++)
        p = poly_mul(w->m->polys, p, v->dims[k]);
    return p;
}

// x's channel at index q of an axis of the result: q / repeat % n, or, of a part of the axis, all
// whose quotient by `step` is q modulo the part's size.
typedef struct Reshaped {
    uint32_t axis;
    uint64_t size, repeat, step; // one of repeat and step is 1
} Reshaped;

// The channels' axis was split: parts of it are axes of the result. The largest is taken.
static bool split_axis(RangeWalk *w, const Channels *c, Index inner, const Value *y, Reshaped *to)
{
    uint64_t step = 1;
    uint32_t at = (uint32_t)y->rank;
    to->size = 0;
    while (at > 0 && behind(w, y, at) != inner)
        at--;
    if (behind(w, y, at) != inner)
        return false;
    for (; at > 0 && step < c->n; at--) {
        int64_t d;
        if (!poly_is_const(y->dims[at - 1], &d) || d < 1 || c->n % (step * (uint64_t)d))
            return false;
        if ((uint64_t)d > to->size)
            *to = (Reshaped){at - 1, (uint64_t)d, 1, step};
        step *= (uint64_t)d;
    }
    return step == c->n && to->size > 1;
}

// The channels' axis was merged with axes around it.
static bool merged_axis(RangeWalk *w, const Channels *c, const Value *v, const Value *y,
                        Reshaped *to)
{
    for (uint32_t j = 0; j < (uint32_t)y->rank; j++) {
        Index inner = behind(w, y, j + 1);
        int64_t repeat = 1, d, size;
        uint32_t end = (uint32_t)v->rank;
        if (!poly_is_const(y->dims[j], &size) || size < 1 || size > 1 << 24)
            continue;
        while (end > c->axis + 1 && behind(w, v, end) != inner)
            end--;
        bool fits = behind(w, v, end) == inner;
        for (uint32_t k = c->axis + 1; fits && k < end; k++) {
            fits = poly_is_const(v->dims[k], &d) && d > 0 && repeat <= size / d;
            repeat *= fits ? d : 1;
        }
        if (fits && (uint64_t)size % ((uint64_t)repeat * c->n) == 0) {
            *to = (Reshaped){j, (uint64_t)size, (uint64_t)repeat, 1};
            return true;
        }
    }
    return false;
}

static void reshape(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    const Value *v = walk_value(w, 0), *y = result(w);
    Reshaped to;
    if (!has_channels(w, &x, y) || poly_is_overflow(behind(w, v, 0)) ||
        poly_is_overflow(behind(w, y, 0))) {
        give_whole(w, x);
        return;
    }
    const Channels *from = x.channels;
    bool merged = merged_axis(w, from, v, y, &to);
    if (!merged && !split_axis(w, from, behind(w, v, from->axis + 1), y, &to)) {
        give_whole(w, x);
        return;
    }
    Channels *c = walk_afford(w, from->n) ? channels_new(w, to.axis, to.size) : NULL;
    for (uint32_t q = 0; c && merged && q < to.size; q++)
        channels_set(c, q, range_channel(&x, (uint32_t)(q / to.repeat % from->n)));
    for (uint32_t q = 0; c && !merged && q < to.size; q++) {
        Range one = range_between(INFINITY, -INFINITY);
        for (uint64_t part = q * to.step; part < from->n; part += to.step * to.size)
            for (uint64_t k = part; k < part + to.step; k++)
                one = range_join(one, range_channel(&x, (uint32_t)k));
        channels_set(c, q, one);
    }
    walk_give(w, 0, range_with_channels(w, range_plain(x), c), ROUND_NOT);
}

// Expand and Tile: an axis of the result repeats the operand's.
static void repeat(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    const Value *v = walk_value(w, 0), *y = result(w);
    int64_t size;
    if (!has_channels(w, &x, y) || y->rank < v->rank) {
        give_whole(w, x);
        return;
    }
    uint32_t axis = x.channels->axis + (uint32_t)(y->rank - v->rank), n = x.channels->n;
    if (!poly_is_const(y->dims[axis], &size) || size < n || size % n || size > UINT32_MAX)
        x = range_plain(x);
    else if (size == n)
        x = range_on_axis(w, x, axis);
    else if (walk_afford(w, (uint64_t)size)) {
        uint32_t *from = NEWS(w->r->a, uint32_t, size);
        for (uint32_t k = 0; k < size; k++)
            from[k] = k % n;
        x = range_picked(w, x, axis, (uint64_t)size, from);
    }
    walk_give(w, 0, x, ROUND_NOT);
}

// The channels' axis goes where the permutation puts it.
static void transpose(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    const Value *v = walk_value(w, 0);
    const int64_t *perm;
    uint32_t n, to = UINT32_MAX;
    if (x.channels && v->rank > 0) {
        bool given = node_ints(w->n, "perm", &perm, &n) && n == (uint32_t)v->rank;
        for (uint32_t k = 0; k < (uint32_t)v->rank; k++)
            if ((given ? perm[k] : v->rank - 1 - (int64_t)k) == (int64_t)x.channels->axis)
                to = k;
        x = to == UINT32_MAX ? range_plain(x) : range_on_axis(w, x, to);
    }
    walk_give(w, 0, x, ROUND_NOT);
}

// ---- parts of an axis

// The integers of an attribute or of a constant operand; false: they are not known.
static bool integers(RangeWalk *w, const char *name, uint32_t i, const int64_t **at, uint32_t *n)
{
    if (node_ints(w->n, name, at, n))
        return true;
    const Elements d = walk_constant(w, i);
    if ((d.dtype != DT_I64 && d.dtype != DT_I32) || d.n > UINT32_MAX || !walk_afford(w, d.n))
        return false;
    int64_t *copy = NEWS(w->r->a, int64_t, d.n + 1);
    for (uint64_t k = 0; k < d.n; k++)
        copy[k] = element_scalar(&d, k).i;
    *at = copy;
    *n = (uint32_t)d.n;
    return true;
}

// Where start, start + step ... of n channels are taken.
static Range strided(RangeWalk *w, Range x, int64_t start, int64_t step, uint64_t count)
{
    uint32_t n = x.channels->n;
    int64_t last = start + step * ((int64_t)count - 1);
    if (count == 0 || count > n || start < 0 || start >= n || last < 0 || last >= n ||
        !walk_afford(w, count))
        return range_plain(x);
    uint32_t *from = NEWS(w->r->a, uint32_t, count);
    for (uint64_t k = 0; k < count; k++)
        from[k] = (uint32_t)(start + step * (int64_t)k);
    return range_picked(w, x, x.channels->axis, count, from);
}

static int64_t clamped(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static void slice(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    const Value *v = walk_value(w, 0), *y = result(w);
    const int64_t *starts, *axes = NULL, *steps = NULL;
    uint32_t n = 0, naxes = 0, nsteps = 0, at = 0;
    bool stepped = walk_value(w, 4) != NULL,
         named = walk_value(w, 3) || node_has_attr(w->n, "axes");
    if (!has_channels(w, &x, y) || !integers(w, "starts", 1, &starts, &n) ||
        (named && !integers(w, "axes", 3, &axes, &naxes)) || (named && naxes != n) ||
        (stepped && (!integers(w, "steps", 4, &steps, &nsteps) || nsteps != n))) {
        give_whole(w, x);
        return;
    }
    int64_t size = x.channels->n, count, axis = (int64_t)x.channels->axis;
    while (at < n && (axes ? (axes[at] < 0 ? axes[at] + v->rank : axes[at]) : at) != axis)
        at++;
    if (at < n) {
        int64_t step = steps ? steps[at] : 1;
        int64_t start = starts[at] < 0 ? starts[at] + size : starts[at];
        start = step < 0 ? clamped(start, 0, size - 1) : clamped(start, 0, size);
        bool known = poly_is_const(y->dims[axis], &count) && count > 0 && step > -size &&
                     step < size && step != 0;
        x = known ? strided(w, x, start, step, (uint64_t)count) : range_plain(x);
    }
    walk_give(w, 0, x, ROUND_NOT);
}

static void split(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    const Value *v = walk_value(w, 0);
    int64_t axis = node_int(w->n, "axis", 0), start = 0, count;
    bool known = has_channels(w, &x, v);
    axis = known && axis < 0 ? axis + v->rank : axis;
    for (uint32_t o = 0; o < w->n->nout; o++) {
        const Value *y = w->n->out[o] ? value_at(w->m, w->n->out[o]) : NULL;
        Range part = known ? x : range_plain(x);
        if (known && axis == (int64_t)x.channels->axis) {
            known = y && y->rank == v->rank && poly_is_const(y->dims[axis], &count) && count > 0 &&
                    start < (int64_t)x.channels->n;
            part = known ? strided(w, x, start, 1, (uint64_t)count) : range_plain(x);
            start += known ? count : 0;
        }
        walk_give(w, o, part, ROUND_NOT);
    }
}

// The channels that constant indices name.
static Range gathered(RangeWalk *w, Range x, Elements d)
{
    uint32_t n = x.channels->n;
    if (d.n == 0 || d.rank > 1 || d.n > UINT32_MAX || !walk_afford(w, d.n))
        return range_plain(x);
    uint32_t *from = NEWS(w->r->a, uint32_t, d.n);
    for (uint64_t k = 0; k < d.n; k++) {
        double i = element_at(&d, k);
        i = i < 0 ? i + n : i;
        if (!(i >= 0 && i < n))
            return range_plain(x);
        from[k] = (uint32_t)i;
    }
    return range_picked(w, x, x.channels->axis, d.n, from);
}

static void gather(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    const Value *v = walk_value(w, 0), *indices = walk_value(w, 1), *y = result(w);
    if (!has_channels(w, &x, y) || !indices || indices->rank < 0) {
        give_whole(w, x);
        return;
    }
    int64_t axis = node_int(w->n, "axis", 0), own = (int64_t)x.channels->axis;
    axis = axis < 0 ? axis + v->rank : axis;
    if (axis == own)
        x = gathered(w, x, walk_constant(w, 1));
    else if (own > axis)
        x = range_on_axis(w, x, (uint32_t)(own - 1 + indices->rank));
    walk_give(w, 0, x, ROUND_NOT);
}

// ---- several operands

// Operands side by side: channels of each, or one bound for all that it puts there.
static Channels *side_by_side(RangeWalk *w, const Value *y, uint32_t axis)
{
    int64_t size, n;
    uint32_t at = 0;
    if (!poly_is_const(y->dims[axis], &size) || size < 2 || size > 1 << 20)
        return NULL;
    Channels *c = channels_new(w, axis, (uint64_t)size);
    for (uint32_t i = 0; c && i < w->n->nin; i++) {
        const Value *v = walk_value(w, i);
        if (!v || v->rank != y->rank || !poly_is_const(v->dims[axis], &n) || n < 0 || n > size - at)
            return NULL;
        Range x = range_along(w, i, (uint32_t)y->rank, axis, (uint32_t)n);
        for (uint32_t k = 0; k < n; k++)
            channels_set(c, at++, range_channel(&x, k));
    }
    return c && at == c->n ? c : NULL;
}

static void concat(RangeWalk *w)
{
    const Value *y = result(w);
    Range x = range_plain(walk_in(w, 0));
    bool apart = false, here = false, elsewhere = false;
    int64_t axis = node_int(w->n, "axis", 1);
    axis = y && axis < 0 ? axis + y->rank : axis;
    for (uint32_t i = 0; i < w->n->nin; i++) {
        Range one = walk_in(w, i);
        apart = apart || one.lo != x.lo || one.hi != x.hi;
        x = range_join(x, range_plain(one));
        elsewhere = elsewhere || (one.channels && one.channels->axis != axis);
        here = here || (one.channels && one.channels->axis == axis);
    }
    bool known = y && y->rank > 0 && axis >= 0 && axis < y->rank && x.known;
    if (known && elsewhere && !here)
        x = range_fold(w, 0, w->n->nin, range_join_two);
    else if (known && (apart || here) && dtype_is_float(y->dtype))
        x = range_with_channels(w, x, side_by_side(w, y, (uint32_t)axis));
    walk_give(w, 0, x, ROUND_NOT);
}

static void pad(RangeWalk *w)
{
    Range x = walk_in(w, 0), fill = range_between(0, 0);
    const Value *y = result(w);
    bool kept = has_channels(w, &x, y) && !walk_value(w, 3);
    const int64_t *pads;
    uint32_t n, axis = kept ? x.channels->axis : 0;
    kept = kept && integers(w, "pads", 1, &pads, &n) && n == 2 * (uint32_t)y->rank &&
           pads[axis] == 0 && pads[axis + (uint32_t)y->rank] == 0;
    x = kept ? x : range_plain(x);
    fill.integer = true;
    if (str_is(node_str(w->n, "mode", "constant"), "constant")) {
        if (walk_value(w, 2))
            fill = range_plain(walk_in(w, 2));
        else if (node_has_attr(w->n, "value"))
            fill = range_between(node_float(w->n, "value", 0), node_float(w->n, "value", 0));
        x = range_joined(w, x, fill);
    }
    walk_give(w, 0, x, ROUND_NOT);
}

static void where(RangeWalk *w)
{
    walk_give(w, 0, range_fold(w, 1, 2, range_join_two), ROUND_NOT);
}

const RangeRow ranges_layout[] = {
    {"Reshape", reshape, {NULL}, 0},     {"Flatten", reshape, {NULL}, 0},
    {"Squeeze", reshape, {NULL}, 0},     {"Unsqueeze", reshape, {NULL}, 0},
    {"Expand", repeat, {NULL}, 0},       {"Tile", repeat, {NULL}, 0},
    {"Transpose", transpose, {NULL}, 0}, {"Slice", slice, {NULL}, 0},
    {"Split", split, {NULL}, 0},         {"Gather", gather, {NULL}, 0},
    {"Concat", concat, {NULL}, 0},       {"Pad", pad, {NULL}, 0},
    {"Where", where, {NULL}, 0},         {NULL, NULL, {NULL}, 0},
};
