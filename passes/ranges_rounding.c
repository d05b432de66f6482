// How a bound that was computed in double becomes one of the result's dtype: rounded outward.

#include "base/host.h"
#include "passes/ranges_state.h"

#include <float.h>
#include <math.h>
#include <string.h>

// The number of the dtype next to v, or v itself, that is not within it. Runtimes fuse operations,
// and then what is between them is not rounded: bounds of it hold too where each is rounded
// outward.
static double outside(DType t, double v, double outward)
{
    double near = scalar_cast(DT_F64, t, (Scalar){.f = v}, false).f, lo, hi;
    range_of_dtype(t, &lo, &hi);
    if (near == v || (near > v) == (outward > 0) || fabs(near) >= hi)
        return near;
    int least = t == DT_F16 ? -14 : -126, e = near == 0 ? least : ilogb(near);
    double step = ldexp(1, (e < least ? least : e) + 1 - range_digits(t));
    return scalar_cast(DT_F64, t, (Scalar){.f = near + copysign(step, outward)}, false).f;
}

static double rounded(DType t, double v, double outward, RangeRounding how)
{
    int digits = range_digits(t);
    if (how == ROUND_NOT || isinf(v))
        return v;
    if (how == ROUND_LOOSE && v != 0 && t == DT_F32) // as below, the most frequent
        return (double)(float)(v + copysign(fabs(v) * 0x1p-21 + DBL_TRUE_MIN, outward)) +
               copysign(FLT_MIN, outward);
    if (how == ROUND_NEAREST && digits && t != DT_F64)
        return outside(t, v, outward);
    if (how == ROUND_LOOSE && v != 0)
        v += copysign(fabs(v) * ldexp(1, 3 - (digits ? digits : 4)) + DBL_TRUE_MIN, outward);
    else
        v = v == 0 ? v : nextafter(v, outward);
    Scalar s = scalar_cast(DT_F64, t, (Scalar){.f = v}, false);
    double tiny = t == DT_F64 ? DBL_MIN : t == DT_F16 ? 0x1p-14 : FLT_MIN;
    if (how == ROUND_LOOSE && v != 0) // subnormal results may be anything, 0 too
        s.f += copysign(tiny, outward);
    return s.f;
}

Range range_loosen(RangeWalk *w, Range x)
{
    DType t = walk_result(w, 0);
    x.lo = rounded(t, x.lo, -INFINITY, ROUND_LOOSE);
    x.hi = rounded(t, x.hi, INFINITY, ROUND_LOOSE);
    return x;
}

static void fit(Range *x, DType t, RangeRounding how)
{
    double lo, hi;
    range_of_dtype(t, &lo, &hi);
    if (dtype_is_float(t)) {
        x->lo = rounded(t, x->lo, -INFINITY, how);
        x->hi = rounded(t, x->hi, INFINITY, how);
        if (x->lo < lo && how == ROUND_NOT && dtype_info(t)->bits >= 16)
            x->lo = -INFINITY;
        if (x->hi > hi && how == ROUND_NOT && dtype_info(t)->bits >= 16)
            x->hi = INFINITY;
        return;
    }
    bool wide = dtype_info(t)->bits == 64;
    x->integer = true;
    if (x->lo < lo || x->hi > hi || isnan(x->lo) || isnan(x->hi)) { // it wraps
        Range full = range_full(t);
        full.known = x->known;
        *x = full;
    } else if (wide && how != ROUND_NOT) { // doubles are not exact there
        x->lo = fabs(x->lo) > 0x1p53 ? nextafter(x->lo, -INFINITY) : x->lo;
        x->hi = fabs(x->hi) > 0x1p53 ? nextafter(x->hi, INFINITY) : x->hi;
        x->lo = fmax(x->lo, lo);
        x->hi = fmin(x->hi, hi);
    }
}

// As `outside` of float32 says, and as ROUND_LOOSE, of n of them.
HOST_VECTORS
static void near_floats(double *restrict v, uint64_t n, bool upward)
{
    for (uint64_t k = 0; k < n; k++) {
        const float near = (float)v[k];
        const bool is_outside = upward ? (double)near >= v[k] : (double)near <= v[k];
        const bool ends = fabsf(near) >= FLT_MAX;
        uint32_t bits, more;
        float next;
        memcpy(&bits, &near, sizeof bits);
        more = bits >> 31 == (upward ? 0 : 1) ? 1 : UINT32_MAX;
        more = is_outside || ends ? 0 : more;
        bits += more;
        memcpy(&next, &bits, sizeof next);
        v[k] = (double)next;
    }
}

HOST_VECTORS
static void loose_floats(double *restrict v, uint64_t n, bool upward)
{
    const double outward = upward ? 1 : -1;
    for (uint64_t k = 0; k < n; k++) {
        const double x = v[k], size = fabs(x);
        const double y = (double)(float)(x + outward * (size * 0x1p-21)) + outward * FLT_MIN;
        v[k] = size == 0 || size == INFINITY ? x : y;
    }
}

static void round_all(DType t, double *v, uint64_t n, bool upward, RangeRounding how)
{
    if (t == DT_F32)
        (how == ROUND_NEAREST ? near_floats : loose_floats)(v, n, upward);
    else
        for (uint64_t k = 0; k < n; k++)
            v[k] = rounded(t, v[k], upward ? INFINITY : -INFINITY, how);
}

// Bounds that no value has so far are rounded where they are.
static Range round_channels(RangeWalk *w, Range x, const Channels *of, DType t, RangeRounding how)
{
    Channels *c = of->own ? (Channels *)(uintptr_t)of : channels_new(w, of->axis, of->n);
    if (!c)
        return range_plain(x);
    if (c != of) {
        c->lo_by = of->lo_by;
        c->hi_by = of->hi_by;
        memcpy(c->lo, of->lo, c->n * sizeof *c->lo);
        memcpy(c->hi, of->hi, c->n * sizeof *c->hi);
    }
    round_all(t, c->lo, c->n, false, how);
    round_all(t, c->hi, c->n, true, how);
    return range_with_channels(w, x, c);
}

static Range fit_channels(RangeWalk *w, Range x, const Channels *of, DType t, RangeRounding how)
{
    double lo, hi;
    range_of_dtype(t, &lo, &hi);
    if (how == ROUND_NOT && x.lo >= lo && x.hi <= hi)
        return range_with_channels(w, x, of);
    if (how != ROUND_NOT && dtype_is_float(t))
        return round_channels(w, x, of, t, how);
    Channels *c = channels_new(w, of->axis, of->n);
    for (uint32_t k = 0; c && k < c->n; k++) {
        Range one = {.known = true, .lo = of->lo[k], .hi = of->hi[k]};
        one.lo_by = of->lo_by;
        one.hi_by = of->hi_by;
        fit(&one, t, how);
        channels_set(c, k, one);
    }
    return range_with_channels(w, x, c);
}

// It is a value's from here on.
static void disown(const Channels *of)
{
    Channels *c = (Channels *)(uintptr_t)of;
    if (c && c->own)
        c->own = false;
}

void walk_give(RangeWalk *w, uint32_t o, Range x, RangeRounding how)
{
    DType t = walk_result(w, o);
    if (o >= w->n->nout || !w->n->out[o] || !range_of_numbers(t))
        return;
    if (!x.known || isnan(x.lo) || isnan(x.hi)) {
        x = range_full(t);
    } else {
        // Sizes and indices, which are integers of 64 bits, have none.
        const Channels *c = dtype_is_float(t) || dtype_info(t)->bits <= 32 ? x.channels : NULL;
        x.channels = NULL;
        fit(&x, t, how);
        x = c ? fit_channels(w, x, c, t, how) : x;
    }
    x.nan = dtype_is_float(t) ? x.nan : (uint8_t)NAN_NEVER;
    disown(x.channels);
    w->r->at[w->n->out[o]] = x;
}
