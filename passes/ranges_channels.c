// Bounds for each index of one axis: made of constants, kept by what looks at each index alone, and
// joined to bounds of the whole.
//
// Which axis that is follows from what computed the value (a weight's outputs, what is
// concatenated, a constant that varies along one axis only) and from where movements put it. What
// is said of the whole stays said: bounds of an index are those of its channel and of the whole.

#include "base/host.h"
#include "passes/ranges_state.h"

#include <math.h>
#include <string.h>

bool range_is_large(const Range *x)
{
    return !(fabs(x->lo) < 0x1p100) || !(fabs(x->hi) < 0x1p100);
}

// ---- lists of bounds

Channels *channels_new(RangeWalk *w, uint32_t axis, uint64_t n)
{
    if (n == 0 || n > UINT32_MAX || !walk_afford(w, n))
        return NULL;
    Channels *c = w->r->spare;
    if (c && c->n == n) {
        w->r->spare = NULL;
        memset(c->lo, 0, n * sizeof *c->lo);
        memset(c->hi, 0, n * sizeof *c->hi);
        *c = (Channels){.axis = axis, .n = c->n, .lo = c->lo, .hi = c->hi, .own = true};
        return c;
    }
    c = NEW(w->r->a, Channels);
    *c = (Channels){.axis = axis, .n = (uint32_t)n, .own = true};
    c->lo = NEWS(w->r->a, double, n);
    c->hi = NEWS(w->r->a, double, n);
    return c;
}

// Nobody looks at these any more: what they take, the next ones have.
static void channels_drop(RangeWalk *w, const Channels *c)
{
    if (c && c->own)
        w->r->spare = (Channels *)(uintptr_t)c;
}

void channels_set(Channels *c, uint32_t k, Range one)
{
    bool lower = one.known && !isnan(one.lo), upper = one.known && !isnan(one.hi);
    uint8_t lo_by = lower ? one.lo_by : (uint8_t)RANGE_ASSUMED;
    uint8_t hi_by = upper ? one.hi_by : (uint8_t)RANGE_ASSUMED;
    c->lo[k] = lower ? one.lo : -INFINITY;
    c->hi[k] = upper ? one.hi : INFINITY;
    c->lo_by = lo_by > c->lo_by ? lo_by : c->lo_by;
    c->hi_by = hi_by > c->hi_by ? hi_by : c->hi_by;
}

Range range_with_channels(RangeWalk *w, Range whole, const Channels *c)
{
    double lo = INFINITY, hi = -INFINITY;
    whole.channels = NULL;
    if (!c || !whole.known)
        return whole;
    for (uint32_t k = 0; k < c->n; k++) { // none is NaN
        lo = c->lo[k] < lo ? c->lo[k] : lo;
        hi = c->hi[k] > hi ? c->hi[k] : hi;
    }
    if (lo > hi)
        return whole;
    whole.lo_by = lo > whole.lo ? c->lo_by : whole.lo_by;
    whole.hi_by = hi < whole.hi ? c->hi_by : whole.hi_by;
    whole.lo = whole.lo > lo ? whole.lo : lo;
    whole.hi = whole.hi < hi ? whole.hi : hi;
    whole.channels = c->n > 1 && !w->r->whole ? c : NULL;
    return whole;
}

Range range_channel(const Range *x, uint32_t k)
{
    Range one = *x;
    const Channels *c = x->channels;
    one.channels = NULL;
    if (!c)
        return one;
    one.lo_by = c->lo[k] > x->lo ? c->lo_by : x->lo_by;
    one.hi_by = c->hi[k] < x->hi ? c->hi_by : x->hi_by;
    one.lo = x->lo > c->lo[k] ? x->lo : c->lo[k]; // those of channels are no NaN
    one.hi = x->hi < c->hi[k] ? x->hi : c->hi[k];
    return one;
}

Range range_on_axis(RangeWalk *w, Range x, uint32_t axis)
{
    if (!x.channels || x.channels->axis == axis)
        return x;
    Channels *c = NEW(w->r->a, Channels);
    *c = *x.channels;
    c->axis = axis;
    c->own = false;
    x.channels = c;
    return x;
}

Range range_picked(RangeWalk *w, Range x, uint32_t axis, uint64_t n, const uint32_t *from)
{
    Channels *c = x.channels ? channels_new(w, axis, n) : NULL;
    for (uint32_t k = 0; c && k < c->n; k++)
        channels_set(c, k, range_channel(&x, from[k]));
    return range_with_channels(w, range_plain(x), c);
}

// ---- operands

static bool along_constant(RangeWalk *w, const Elements *d, uint32_t own, uint32_t n, Channels *c)
{
    uint64_t inner = 1;
    for (uint32_t k = own + 1; k < d->rank; k++)
        inner *= (uint64_t)d->dims[k];
    if (inner == 0 || !walk_afford(w, d->n))
        return false;
    for (uint32_t k = 0; k < n; k++) {
        c->lo[k] = INFINITY;
        c->hi[k] = -INFINITY;
    }
    for (uint64_t i = 0; i < d->n; i++) {
        uint32_t k = (uint32_t)(i / inner % n);
        double v = element_at(d, i);
        if (isnan(v))
            return false;
        c->lo[k] = fmin(c->lo[k], v);
        c->hi[k] = fmax(c->hi[k], v);
    }
    return true;
}

Range range_along(RangeWalk *w, uint32_t i, uint32_t rank, uint32_t axis, uint32_t n)
{
    const Value *v = walk_value(w, i);
    Range x = walk_in(w, i);
    int64_t own = v ? (int64_t)axis - ((int64_t)rank - v->rank) : -1;
    if (x.channels && x.channels->n == n && x.channels->axis == own)
        return x;
    x.channels = NULL;
    const Elements d = own >= 0 && v->rank >= 0 ? walk_constant(w, i) : (Elements){0};
    if (!d.n || own >= (int64_t)d.rank || d.dims[own] != (int64_t)n || w->r->whole)
        return x;
    Channels *c = channels_new(w, axis, n);
    return c && along_constant(w, &d, (uint32_t)own, n, c) ? range_with_channels(w, x, c) : x;
}

// The one axis that a constant varies along; false: none or several.
static bool varies_along(Elements d, uint32_t *axis, uint32_t *n)
{
    uint32_t many = 0;
    for (uint32_t k = 0; k < d.rank; k++)
        if (d.dims[k] > 1) {
            many++;
            *axis = k;
            *n = d.dims[k] < UINT32_MAX ? (uint32_t)d.dims[k] : 0;
        }
    return many == 1;
}

// Along which axis of the result bounds are worth having: what a computed operand has, or a
// constant that meets bounded operands.
static bool axis_of(RangeWalk *w, uint32_t first, uint32_t count, uint32_t rank, uint32_t *axis,
                    uint32_t *n)
{
    bool bounded = true;
    for (uint32_t i = first; i < first + count; i++) {
        const Value *v = walk_value(w, i);
        Range x = walk_in(w, i);
        if (!v || v->rank < 0 || v->rank > (int32_t)rank)
            return false;
        bounded = bounded && x.known && !range_is_large(&x);
        if (x.channels) {
            *axis = x.channels->axis + rank - (uint32_t)v->rank;
            *n = x.channels->n;
            return true;
        }
    }
    for (uint32_t i = first; bounded && i < first + count; i++)
        if (varies_along(walk_constant(w, i), axis, n)) {
            *axis += rank - (uint32_t)walk_value(w, i)->rank;
            return true;
        }
    return false;
}

// Adds n bounds to sums, those of the whole where these are tighter; which of both there are.
HOST_VECTORS
static void add_bounds(const double *restrict bounds, double whole, bool upper, uint64_t n,
                       double *restrict sums, bool *own, bool *of_whole)
{
    uint64_t is_own = 0, is_whole = 0;
    for (uint64_t k = 0; k < n; k++) {
        const bool tighter = upper ? bounds[k] < whole : bounds[k] > whole;
        sums[k] += tighter ? bounds[k] : whole;
        is_own |= tighter ? 1 : 0;
        is_whole |= tighter ? 0 : 1;
    }
    *own = is_own;
    *of_whole = is_whole;
}

static uint8_t worst(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

// Adds n channels of x to those of sums; without channels, all of x.
static void add_channels(const Range *x, Channels *sums)
{
    const Channels *c = x->channels;
    bool own = false, whole = true;
    if (!c)
        for (uint32_t k = 0; k < sums->n; k++) {
            sums->lo[k] += x->lo;
            sums->hi[k] += x->hi;
        }
    else
        add_bounds(c->lo, x->lo, false, c->n, sums->lo, &own, &whole);
    sums->lo_by = worst(sums->lo_by, worst(own ? c->lo_by : 0, whole ? x->lo_by : 0));
    if (c)
        add_bounds(c->hi, x->hi, true, c->n, sums->hi, &own, &whole);
    sums->hi_by = worst(sums->hi_by, worst(own ? c->hi_by : 0, whole ? x->hi_by : 0));
}

// The most frequent of all, where no bound is infinite: what range_add gives of each channel.
static bool add_all(const Range *of, uint32_t count, Channels *c)
{
    for (uint32_t i = 0; i < count; i++)
        if (range_is_large(&of[i]))
            return false;
    for (uint32_t i = 0; i < count; i++)
        add_channels(&of[i], c);
    return true;
}

Range range_fold(RangeWalk *w, uint32_t first, uint32_t count, RangeOfTwo *f)
{
    const Value *y = w->n->nout && w->n->out[0] ? value_at(w->m, w->n->out[0]) : NULL;
    Range whole = range_plain(walk_in(w, first));
    uint32_t axis = 0, n = 0;
    for (uint32_t i = 1; i < count && whole.known; i++)
        whole = f(w, whole, range_plain(walk_in(w, first + i)));
    if (!whole.known || !y || y->rank < 0 || !dtype_is_float(y->dtype) ||
        !axis_of(w, first, count, (uint32_t)y->rank, &axis, &n))
        return whole;
    Channels *c = channels_new(w, axis, n);
    Range *of = c && walk_afford(w, count) ? NEWS(w->r->a, Range, count) : NULL;
    for (uint32_t i = 0; of && i < count; i++)
        of[i] = range_along(w, first + i, (uint32_t)y->rank, axis, n);
    const bool added = of && f == range_add && add_all(of, count, c);
    for (uint32_t k = 0; of && !added && k < n; k++) {
        Range one = range_channel(&of[0], k);
        for (uint32_t i = 1; i < count; i++)
            one = f(w, one, range_channel(&of[i], k));
        channels_set(c, k, one);
    }
    for (uint32_t i = 0; of && i < count; i++)
        if (of[i].channels != walk_in(w, first + i).channels) // made of a constant
            channels_drop(w, of[i].channels);
    return range_with_channels(w, whole, of ? c : NULL);
}

Range range_each(RangeWalk *w, Range x, RangeOfOne *f)
{
    Range y = f(w, range_plain(x));
    Channels *c = x.channels && y.known ? channels_new(w, x.channels->axis, x.channels->n) : NULL;
    for (uint32_t k = 0; c && k < c->n; k++)
        channels_set(c, k, f(w, range_channel(&x, k)));
    return range_with_channels(w, y, c);
}

Range range_joined(RangeWalk *w, Range a, Range b)
{
    Range y = range_join(range_plain(a), range_plain(b));
    const Channels *of = a.channels ? a.channels : b.channels;
    bool agree = !a.channels || !b.channels ||
                 (a.channels->axis == b.channels->axis && a.channels->n == b.channels->n);
    Channels *c = of && agree && y.known ? channels_new(w, of->axis, of->n) : NULL;
    for (uint32_t k = 0; c && k < c->n; k++)
        channels_set(c, k, range_join(range_channel(&a, k), range_channel(&b, k)));
    return range_with_channels(w, y, c);
}
