/* What threads share of a convolution of float32: units are columns of y, or its rows, which lie
 * behind one another. */
#ifndef CAMEO_CONV_SHARE_H
#define CAMEO_CONV_SHARE_H

#include "cameo_conv.h"

enum {
    CAMEO_CONV_MANY = 64,       /* rows are not few */
    CAMEO_CONV_EACH = 8,        /* units of columns that a thread has, if there are as many */
    CAMEO_CONV_SEVENS_EACH = 2, /* the same where each makes sums of all weights */
    CAMEO_CONV_DOWN = 8         /* rows of a copy are not few */
};

/* What threads share: rows, as few as a tile has where panels are read where they lie or are made
 * before, or so many columns at a time. */
typedef enum cameo_conv_mode {
    CAMEO_CONV_ROWS_LYING = -1,
    CAMEO_CONV_ROWS,
    CAMEO_CONV_ROWS_MADE,
    CAMEO_CONV_COLUMNS /* or more */
} cameo_conv_mode;

/* Columns of the thread that has most of them, where units are so many. */
static inline __attribute__((unused)) int64_t cameo_conv_most(int64_t unit, int64_t all,
                                                              int64_t threads)
{
    return (cameo_conv_blocks(all, unit) + threads - 1) / threads * unit;
}

/* Columns of a unit: fewer than an eighth of a thread's part where parts of as many units are then
 * more even. Units begin where panels do however a share is divided: what a place's sum is made of
 * does not depend on its share. */
static inline __attribute__((unused)) int64_t cameo_conv_unit(const cameo_conv_view *v, int64_t all,
                                                              int64_t threads)
{
    enum { WORTH = 32 }; /* a thread's part is less by such a part of it */
    const int64_t rows = v->ends && v->out[2] <= v->width ? v->out[2] : v->width;
    const int64_t step = v->joined   ? v->joined * v->out[2]
                         : v->ends   ? rows
                         : v->sevens ? 2 * CAMEO_TILE_COLUMNS
                                     : CAMEO_TILE_COLUMNS;
    const int64_t each = v->sevens ? CAMEO_CONV_SEVENS_EACH : CAMEO_CONV_EACH;
    const int64_t fit = all / (threads * each) / step * step;
    if (fit < step)
        return step;
    int64_t best = fit < v->width ? fit : v->width;
    int64_t most = cameo_conv_most(best, all, threads);
    for (int64_t unit = best - step; unit >= step; unit -= step) {
        const int64_t n = cameo_conv_most(unit, all, threads);
        if ((most - n) * WORTH > most) {
            best = unit;
            most = n;
        }
    }
    return best;
}

/* Of columns each thread reads only its part of x, which is what it wrote itself where the kernel
 * before was shared so: what lies in another core's cache takes several times as long to read. And
 * it makes the panels of a block once. But it reads all weights. So columns are shared where there
 * are many, or weights are less than what else is read and written. made: there is room for the
 * panels of all columns. */
static __attribute__((noinline, unused)) CAMEO_SMALL int64_t
cameo_conv_shares(const cameo_conv *g, int64_t threads, int made)
{
    enum { EVEN = 16 }; /* parts differ by at most such a part of all */
    if (threads == 1)
        return CAMEO_CONV_WIDE;
    cameo_conv_view v;
    cameo_conv_plan(g, &v);
    const int64_t all = g->out[0] * g->out[1] * g->out[2];
    const int64_t window = g->taps[0] * g->taps[1] * g->taps[2];
    const int64_t weights = g->rows * g->channels * window;
    const int64_t moved = g->channels * g->in[0] * g->in[1] * g->in[2] + g->rows * all;
    const int64_t unit = cameo_conv_unit(&v, all, threads), units = cameo_conv_blocks(all, unit);
    const int64_t blocks = cameo_conv_blocks(all, v.width);
    const int enough = units >= 2 * threads && weights <= moved;
    /* few units, but nearly as many columns for each thread, and weights not many more */
    const int64_t most = (units + threads - 1) / threads * unit;
    const int even =
        units >= threads && (most * threads - all) * EVEN <= all && weights <= 2 * moved;
    if (enough || even || blocks == 0 || blocks >= 4 * threads || blocks % threads == 0)
        return unit;
    if (made && !v.ends && !v.joined)
        return CAMEO_CONV_ROWS_MADE;
    const int lies = !v.packs && (v.joined || v.ends || v.out[0] * v.out[1] == 1);
    if (units == 1 && lies && g->rows > CAMEO_TILE_ROWS)
        return CAMEO_CONV_ROWS_LYING;
    return g->rows < CAMEO_CONV_MANY ? unit : CAMEO_CONV_ROWS;
}

/* Units of the panels that are made before. */
static inline __attribute__((unused)) int64_t cameo_conv_makes(int64_t mode, int64_t k)
{
    return mode == CAMEO_CONV_ROWS_MADE ? (k + CAMEO_CONV_MAKE - 1) / CAMEO_CONV_MAKE : 0;
}

/* unit: rows of one, a multiple of CAMEO_TILE_ROWS, where each share makes its panels. */
static __attribute__((noinline, unused)) int64_t cameo_conv_units(int64_t mode, int64_t rows,
                                                                  int64_t unit, int64_t all)
{
    unit = mode == CAMEO_CONV_ROWS ? unit : CAMEO_TILE_ROWS;
    return mode >= CAMEO_CONV_COLUMNS ? cameo_conv_blocks(all, mode) : (rows + unit - 1) / unit;
}

static __attribute__((noinline, unused)) cameo_conv_cut
cameo_conv_share(int64_t mode, int64_t rows, int64_t unit, int64_t all, int64_t from, int64_t to)
{
    cameo_conv_cut c = {0, rows, 0, all};
    unit = mode == CAMEO_CONV_ROWS ? unit : CAMEO_TILE_ROWS;
    if (mode >= CAMEO_CONV_COLUMNS) {
        c.begin = from * mode;
        c.end = to >= cameo_conv_blocks(all, mode) ? all : to * mode;
        return c;
    }
    c.low = from * unit;
    c.high = to * unit < rows ? to * unit : rows;
    return c;
}

/* ---- the copy of x with its border: rows of all channels where columns of y are shared, so that
 * a thread reads what it copied; else channels */

static inline __attribute__((unused)) int cameo_conv_copies_rows(const cameo_conv *g, int64_t mode)
{
    return mode >= CAMEO_CONV_COLUMNS && cameo_conv_reach(g, 0) == 1 && g->pad[0] == 0 &&
           g->in[0] == 1 && cameo_conv_reach(g, 1) >= CAMEO_CONV_DOWN;
}

static __attribute__((noinline, unused)) int64_t cameo_conv_copies(const cameo_conv *g,
                                                                   int64_t mode)
{
    return cameo_conv_copies_rows(g, mode) ? cameo_conv_reach(g, 1) : g->channels;
}

/* Units from .. to of them. x: its first element. */
static __attribute__((noinline, unused)) void cameo_conv_copy_share(const cameo_conv *g,
                                                                    const float *x, float *padded,
                                                                    int64_t mode, int64_t from,
                                                                    int64_t to)
{
    const int64_t stride = g->stride[2], length = (cameo_conv_reach(g, 2) + stride - 1) / stride;
    if (!cameo_conv_copies_rows(g, mode)) {
        cameo_conv_copy(g, x, padded, length, from, to);
        return;
    }
    const float *end = cameo_conv_x_end(g, x);
    const int64_t width = length * stride, plane = cameo_conv_reach(g, 1) * width;
    if (cameo_conv_turns(g, length, g->channels)) {
        cameo_conv_turned(g, x, padded, length, g->channels, plane, from, to);
        return;
    }
    for (int64_t c = 0; c < g->channels; c++, padded += plane)
        cameo_conv_plane(g, x + c * g->channel, x, end, padded, length, from, to,
                         padded + to * width);
}

#endif
