// Interval rules of operators whose results are bounded whatever goes in.

#include "passes/ranges_state.h"

#include <math.h>

static void log_softmax(RangeWalk *w)
{
    RangeBasis by;
    Range x = range_plain(walk_in(w, 0)), y = range_between(-INFINITY, 0);
    double n = walk_count(w, 0, INT32_MIN, &by);
    if (!x.known || x.lo > x.hi)
        return;
    y.nan = isinf(x.lo) || isinf(x.hi) ? (uint8_t)NAN_BY_OVERFLOW : NAN_NEVER;
    y.nan = x.nan > y.nan ? x.nan : y.nan;
    if (!isinf(n)) {
        y.lo = x.lo - x.hi - log(fmax(n, 1));
        y.lo -= fabs(y.lo) * 1e-5 + 1e-5;
        y.lo_by = x.lo_by | x.hi_by | (uint8_t)by;
    }
    y.hi = 1e-5; // rounding
    walk_give(w, 0, y, ROUND_LOOSE);
}

const RangeRow ranges_numbers[] = {
    {"Softmax", range_bounds, {.bounds = {0, 1 + 0x1p-20}}, 0},
    {"Hardmax", range_bounds, {.bounds = {0, 1}}, 0},
    {"LogSoftmax", log_softmax, {NULL}, 0},
    {NULL, NULL, {NULL}, 0},
};
