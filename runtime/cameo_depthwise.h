/* Convolutions of one plane by its own window (depthwise): y[j][k] = sum over the window of w * x.
 * Vectors run along the rows of y and go down its columns. They are read from x itself, a mask for
 * each column of the window making 0 of what is no element of the row. What would be read outside
 * of x's buffer, or is further apart than two elements, is copied with its border first, a band of
 * rows at a time, every stride-th element of a row together. Of planes whose rows are at most half
 * a vector, vectors run on from row to row, a mask for each element of the window; where a vector
 * is a line, so that nearly all that begin elsewhere are read from two, elements are turned in
 * registers. */
#ifndef CAMEO_DEPTHWISE_H
#define CAMEO_DEPTHWISE_H

#include <math.h>
#include <stdint.h>

#include "cameo_planes.h"

/* ---- planes of short rows ---- */

/* The first element of vector v of a plane: the last one ends where the plane does. */
static inline __attribute__((always_inline)) int64_t cameo_flat_at(const cameo_planes *g, int64_t v)
{
    const cameo_conv *c = g->sizes;
    return v + 1 < g->flat ? v * CAMEO_LANES : c->out[1] * c->out[2] - CAMEO_LANES;
}

#if CAMEO_FLAT_TURNS
enum { CAMEO_FLAT_ALL = 0xffff }; /* lanes, a bit each */

/* Is the window one of 3 x 3, its middle the element of x that is where y's is, and the others no
 * further from it than a vector? Then lane l of what the window's element t gives to a vector is
 * that of index masks[t][l] of it and the one before, or, behind the middle, of it and the next.
 * What is above or below the plane is beside it too, where 0 is; lanes[3 * v + b]: those of vector
 * v whose column b of the window is in a row. */
static inline __attribute__((unused)) int cameo_flat_turn_plan(const cameo_conv *g, cameo_planes *p)
{
    const int64_t width = g->in[2], down = g->dilation[1] * width, apart = g->dilation[2];
    p->turned = p->flat == CAMEO_FLAT_TURNED && g->taps[1] == 3 && g->pad[1] == g->dilation[1] &&
                g->pad[2] == apart && apart < down && down + apart <= CAMEO_LANES;
    if (!p->turned)
        return 0;
    p->around = 0;
    const cameo_mask order = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    uint64_t first = 0; /* in each row, a bit for each element of the plane */
    for (int64_t i = 0; i < g->in[1]; i++)
        first |= UINT64_C(1) << i * width;
    for (int64_t t = 0; t < 9; t++) {
        const int64_t by = (t / 3 - 1) * down + (t % 3 - 1) * apart;
        p->masks[t] = order + (int)(by < 0 ? by + CAMEO_LANES : by);
    }
    for (int64_t b = 0; b < 3; b++) {
        uint64_t outside = 0;
        for (int64_t j = 0; b != 1 && j < apart && j < width; j++)
            outside |= first << (b == 0 ? j : width - 1 - j);
        for (int64_t v = 0; v < CAMEO_FLAT_TURNED; v++)
            p->lanes[3 * v + b] = (uint16_t)(~outside >> v * CAMEO_LANES);
    }
    return 1;
}

/* Lanes of two neighbours; 0 where no bit of `lanes` is. */
static inline __attribute__((always_inline)) cameo_vec
cameo_flat_turn(cameo_vec a, cameo_vec b, cameo_mask index, uint16_t lanes)
{
    __asm__("vpermt2ps %2, %1, %0%{%3%}%{z%}" : "+v"(a) : "v"(index), "v"(b), "Yk"(lanes));
    return a;
}

/* A plane's last lanes, and all of others. */
static inline __attribute__((always_inline)) cameo_vec cameo_flat_load(const float *x,
                                                                       uint16_t lanes)
{
    cameo_vec v;
    if (lanes == CAMEO_FLAT_ALL)
        v = *(const cameo_vec *)x;
    else
        __asm__("vmovups %1, %0%{%2%}%{z%}"
                : "=v"(v)
                : "m"(*(const cameo_vec *)x), "Yk"(lanes));
    return v;
}
static inline __attribute__((always_inline)) void cameo_flat_store(float *y, uint16_t lanes,
                                                                   cameo_vec v)
{
    if (lanes == CAMEO_FLAT_ALL)
        *(cameo_vec *)y = v;
    else
        __asm__("vmovups %1, %0%{%2%}" : "+m"(*(cameo_vec *)y) : "v"(v), "Yk"(lanes));
}

/* All of some planes. */
static __attribute__((noinline, unused)) void
cameo_flat_turned(const cameo_planes *g, const float *x, const float *w, cameo_plane *p)
{
    enum { VECTORS = CAMEO_FLAT_TURNED, LANES = CAMEO_LANES, TAPS = 9, MIDDLE = TAPS / 2 };
    const int64_t channel = p->channel, written = p->written;
    const int64_t behind = LANES * VECTORS - g->sizes->out[1] * g->sizes->out[2];
    const uint16_t all = CAMEO_FLAT_ALL, last = (uint16_t)(all >> behind);
    const float *bias = p->finish->bias;
    cameo_ends ends = cameo_plane_ends(p);
    cameo_mask index[TAPS];
    cameo_vec window[TAPS];
    float *y = p->y;
#pragma GCC unroll 9
    for (int t = 0; t < TAPS; t++)
        index[t] = (cameo_mask)cameo_held((cameo_vec)g->masks[t]);
    for (int64_t i = 0; i < p->planes; i++, x += channel, y += written, w += TAPS) {
        cameo_vec e[VECTORS + 2] = {{0}};
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            e[v + 1] = cameo_flat_load(x + v * LANES, v + 1 < VECTORS ? all : last);
        cameo_window_lanes(w, TAPS, window);
        ends.bias = bias[i] - (cameo_vec){0};
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) {
            cameo_vec sum = {0};
            for (int a = 0; a < 3; a++) {
                cameo_vec of_row = {0};
                for (int b = 0; b < 3; b++) {
                    const int t = 3 * a + b, at = v + (t > MIDDLE);
                    const uint16_t lanes = b == 1 ? all : g->lanes[3 * v + b];
                    of_row += window[t] * (t == MIDDLE ? e[v + 1]
                                                       : cameo_flat_turn(e[at], e[at + 1],
                                                                         index[t], lanes));
                }
                sum = sum + of_row;
            }
            cameo_flat_store(y + v * LANES, v + 1 < VECTORS ? all : last,
                             cameo_clip(sum + ends.bias, ends.low, ends.high));
        }
    }
}
#endif

/* Are rows short, and is each element of y the middle of the window at x's element? Then vectors
 * run on from row to row; behind cameo_planes_plan. */
static __attribute__((noinline, unused)) void cameo_flat_plan(const cameo_conv *g, cameo_planes *p)
{
    const int64_t size = g->taps[1], all = g->out[1] * g->out[2];
    const int64_t flat = (all + CAMEO_LANES - 1) / CAMEO_LANES;
    if (g->taps[0] != 1 || g->step[2] != 1 || g->step[1] != g->in[2] || g->stride[1] != 1 ||
        g->stride[2] != 1 || g->taps[2] != size || (size != 3 && size != 5) ||
        g->in[1] != g->out[1] || g->in[2] != g->out[2] || 2 * g->out[2] > CAMEO_LANES ||
        all < CAMEO_LANES || 2 * flat * size > CAMEO_FLAT)
        return;
    p->flat = flat;
#if CAMEO_FLAT_TURNS
    if (cameo_flat_turn_plan(g, p))
        return;
#endif
    p->around = size * (g->dilation[1] * g->in[2] + g->dilation[2]);
    const int height = (int)g->in[1], width = (int)g->in[2];
    cameo_mask *mask = p->masks;
    for (int64_t v = 0; v < flat; v++, mask += 2 * size) {
        cameo_mask row, column;
        int i = (int)(cameo_flat_at(p, v) / width), j = (int)(cameo_flat_at(p, v) % width);
        for (int l = 0; l < CAMEO_LANES; l++, j = j + 1 < width ? j + 1 : 0, i += j == 0) {
            row[l] = i - (int)g->pad[1];
            column[l] = j - (int)g->pad[2];
        }
        for (int a = 0; a < size; a++) {
            const cameo_mask r = row + a * (int)g->dilation[1];
            const cameo_mask c = column + a * (int)g->dilation[2];
            mask[a] = (r >= 0) & (r < height);
            mask[size + a] = (c >= 0) & (c < width);
        }
    }
}

/* All of some planes. */
static inline __attribute__((always_inline)) void
cameo_flat_of(const cameo_planes *g, const float *x, const float *w, cameo_plane *p, int size)
{
    const cameo_conv *c = g->sizes;
    const int64_t down = c->dilation[1] * c->in[2], apart = c->dilation[2], flat = g->flat;
    const int64_t last = cameo_flat_at(g, flat - 1), taps = g->taps, planes = p->planes;
    const int64_t channel = p->channel, written = p->written;
    const float *bias = p->finish->bias;
    cameo_ends ends = cameo_plane_ends(p);
    cameo_vec window[25];
    float *y = p->y;
    x -= c->pad[1] * c->in[2] + c->pad[2];
    for (int64_t i = 0; i < planes; i++, x += channel, y += written, w += taps) {
        const cameo_mask *mask = g->masks;
        cameo_window_lanes(w, size * size, window);
        ends.bias = bias[i] - (cameo_vec){0};
        for (int64_t v = 0; v < flat; v++, mask += 2 * size) {
            const int64_t at = v + 1 < flat ? v * CAMEO_LANES : last;
            const float *row = x + at;
            cameo_vec sum = {0}, within[5];
            for (int b = 0; b < size; b++)
                within[b] = cameo_held((cameo_vec)mask[size + b]);
            for (int a = 0; a < size; a++, row += down) {
                cameo_vec of_row = {0};
                for (int b = 0; b < size; b++)
                    of_row += window[a * size + b] *
                              cameo_take(row + b * apart, 1, (cameo_mask)within[b]);
                sum = sum + (cameo_vec)((cameo_mask)of_row & mask[a]);
            }
            *(cameo_vec *)(y + at) = cameo_clip(sum + ends.bias, ends.low, ends.high);
        }
    }
}

static __attribute__((noinline, unused)) void cameo_flat(const cameo_planes *g, const float *x,
                                                         const float *w, cameo_plane *p)
{
#if CAMEO_FLAT_TURNS
    if (g->turned) {
        cameo_flat_turned(g, x, w, p);
        return;
    }
#endif
    if (g->sizes->taps[1] == 3)
        cameo_flat_of(g, x, w, p, 3);
    else
        cameo_flat_of(g, x, w, p, 5);
}

/* ---- from a copy ---- */

enum { CAMEO_TAPS_HIGH = 4 }; /* rows that are summed beside one another */

/* Any window in `high` rows of a copy, whose places are known. Every second element goes to sums of
 * their own: they wait for one another half as long. */
static inline __attribute__((always_inline)) void cameo_taps_of(const cameo_planes *g,
                                                                const float *x, const float *w,
                                                                const cameo_ends *ends, int64_t at,
                                                                int64_t columns, const int high)
{
    const int64_t next = g->sizes->stride[1] * g->width;
    cameo_vec even[CAMEO_TAPS_HIGH] = {{0}, {0}, {0}, {0}};
    cameo_vec odd[CAMEO_TAPS_HIGH] = {{0}, {0}, {0}, {0}};
    int64_t t = 0;
    for (; t + 1 < g->taps; t += 2)
        for (int r = 0; r < high; r++) {
            even[r] += w[t] * *(const cameo_vec *)(x + g->places[t] + r * next);
            odd[r] += w[t + 1] * *(const cameo_vec *)(x + g->places[t + 1] + r * next);
        }
    for (int r = 0; t < g->taps && r < high; r++)
        even[r] += w[t] * *(const cameo_vec *)(x + g->places[t] + r * next);
    for (int r = 0; r < high; r++)
        cameo_plane_store(ends, at + r * columns, even[r] + odd[r]);
}

static __attribute__((noinline, unused)) void cameo_taps(const cameo_planes *g, const float *x,
                                                         const float *w, int64_t j, int64_t n,
                                                         int64_t k, cameo_plane *p)
{
    enum { HIGH = CAMEO_TAPS_HIGH };
    const cameo_ends ends = cameo_plane_ends(p);
    const int64_t next = g->sizes->stride[1] * g->width, columns = p->columns;
    int64_t i = 0;
    x += k;
    for (; i + HIGH <= n; i += HIGH, x += HIGH * next)
        cameo_taps_of(g, x, w, &ends, (j + i) * columns + k, columns, HIGH);
    for (; i < n; i++, x += next)
        cameo_taps_of(g, x, w, &ends, (j + i) * columns + k, columns, 1);
}

static inline __attribute__((unused)) cameo_rows *cameo_copied_rows(const cameo_conv *g)
{
    return g->windows ? g->windows->copied : cameo_taps;
}

/* What computes from x itself. */
static inline __attribute__((unused)) void cameo_rows_for(const cameo_conv *g, cameo_planes *p)
{
    p->sweep = NULL;
    p->rows = NULL;
    p->across = NULL;
    const int64_t most = g->taps[1] == 1 ? CAMEO_CONV_TAPS : CAMEO_WINDOW;
    if (g->taps[0] != 1 || g->step[2] != 1 || g->stride[2] > 2 || g->taps[2] > most ||
        g->in[2] >= CAMEO_WIDEST || g->out[2] >= CAMEO_WIDEST)
        return;
    const int64_t size = g->taps[1] == g->taps[2] && g->dilation[1] == 1 ? g->taps[1] : 0;
    const int swept = g->pad[1] < size && (size == 3 || size == 5);
    if (g->stride[2] == 2 && g->stride[1] == 2 && g->dilation[2] == 1 && swept)
        p->sweep = size == 3 ? cameo_stride_3 : cameo_stride_5;
    else if (g->stride[2] == 1 && g->stride[1] == 1 && swept)
        p->sweep = size == 3 ? cameo_slide_3 : cameo_slide_5;
    else
        p->rows = g->windows ? g->windows->own : NULL;
}

/* Rows j .. j + n of the output. The last vector of a row lies over the one before, so that it ends
 * where the row does. */
static inline __attribute__((unused)) void cameo_plane_rows(const cameo_planes *g, cameo_rows *rows,
                                                            const float *x, const float *w,
                                                            int64_t j, int64_t n, cameo_plane *p)
{
    const int64_t last = p->columns > CAMEO_LANES ? p->columns - CAMEO_LANES : 0;
    if (rows == g->rows && g->sizes->taps[1] == 1) {
        g->sizes->windows->line(g, x, w, j, n, p);
        return;
    }
    for (int64_t k = 0; k < p->columns; k += CAMEO_LANES)
        rows(g, x, w, j, n, k < last ? k : last, p);
}

/* Rows of x of which what a vector of columns reads, and the next one does, stays in the first
 * cache. */
static inline __attribute__((unused)) int64_t cameo_direct_rows(const cameo_conv *g)
{
    return CAMEO_BAND / (CAMEO_LANES * (g->stride[2] + 1));
}

/* begin, end: of the buffer that holds x. wt: strides of the window in the weights. */
static __attribute__((noinline, unused)) CAMEO_SMALL void
cameo_planes_plan(const cameo_conv *g, const int64_t *wt, const float *begin, const float *end,
                  cameo_planes *p)
{
    cameo_conv_view v;
    cameo_conv_plan(g, &v);
    static const float none = -0.0f; /* added to any number, gives that number */
    p->sizes = g;
    p->finish = (cameo_finish){.bias = &none, .low = -INFINITY, .high = INFINITY};
    p->begin = begin;
    p->end = end;
    p->room = p->flat = p->waiting.count = 0;
    cameo_rows_for(g, p);
    p->before = g->pad[2] > 0 ? g->pad[2] : 0;
    /* the last vector's first element, and what it and the window reach */
    const int64_t last = g->out[2] > CAMEO_LANES ? g->out[2] - CAMEO_LANES : 0;
    p->behind = (g->in[1] - 1) * g->step[1] + last * g->stride[2] - g->pad[2] +
                g->dilation[2] * (g->taps[2] - 1) + g->stride[2] * CAMEO_LANES;
    const int64_t rows =
        p->rows || p->sweep ? cameo_direct_rows(g) : CAMEO_BAND / (v.phase * g->stride[2]);
    p->ahead = (rows < g->in[1] ? rows : g->in[1]) * g->step[1];
    p->plane = cameo_conv_reach(g, 1) * v.phase * g->stride[2];
    p->phase = v.phase;
    p->width = v.phase * g->stride[2];
    const int64_t reach = g->dilation[1] * (g->taps[1] - 1) + 1;
    const int64_t fit = p->width > 0 ? (CAMEO_BAND / p->width - reach) / g->stride[1] + 1 : 0;
    const int64_t direct = cameo_direct_rows(g) / g->stride[1];
    p->direct = direct < 1 ? 1 : direct;
    p->band = fit < 2 ? 2 : fit;
    p->taps = g->taps[0] * g->taps[1] * g->taps[2];
    cameo_conv_places(&v, 0, p->taps, p->places);
    int64_t t = 0;
    for (int64_t a = 0; a < g->taps[0]; a++)
        for (int64_t b = 0; b < g->taps[1]; b++)
            for (int64_t c = 0; c < g->taps[2]; c++)
                p->w[t++] = a * wt[0] + b * wt[1] + c * wt[2];
    p->dense = 1;
    for (t = 0; t < p->taps; t++)
        p->dense &= p->w[t] == t;
    for (int64_t f = 0, n = g->stride[2]; f < n && f < CAMEO_PHASES; f++) {
        /* place i * n + shift of x, for the i where it is one */
        const int64_t shift = f - g->pad[2], in = g->in[2];
        int64_t low = shift >= 0 ? 0 : (n - 1 - shift) / n;
        int64_t high = in > shift ? (in - shift + n - 1) / n : 0;
        low = low < v.phase ? low : v.phase;
        high = high < v.phase ? high : v.phase;
        p->phases[f] = (cameo_phase){low, high > low ? high : low, (low * n + shift) * g->step[2]};
    }
}

/* Is x read where it lies, for the plane that begins there? */
static inline __attribute__((unused)) int cameo_is_direct(const cameo_planes *g, const float *x)
{
    return (g->rows || g->sweep) && x - g->begin >= g->before && g->end - x >= g->behind;
}

/* The rows of y for which x is read where it lies, of the plane that begins there: of one at an end
 * of the buffer all but a few, whatever part of them is done. */
static inline __attribute__((unused)) void
cameo_direct_within(const cameo_planes *g, const float *x, int64_t *low, int64_t *high)
{
    const cameo_conv *c = g->sizes;
    const int64_t before = g->before - (x - g->begin), behind = g->behind - (g->end - x);
    const int64_t step = c->step[1], stride = c->stride[1], pad = c->pad[1];
    const int direct = cameo_is_direct(g, x);
    *low = 0;
    *high = direct ? c->out[1] : 0;
    if (direct || (!g->rows && !g->sweep) || step <= 0 || pad < 0)
        return;
    if (before > 0)
        *low = ((before + step - 1) / step + pad + stride - 1) / stride;
    /* a sweep reads as many rows as it moves by */
    const int64_t missing = behind > 0 ? (behind + step - 1) / step : 0;
    const int64_t reach = c->dilation[1] * (c->taps[1] - 1) + stride;
    const int64_t last = c->in[1] - missing - reach + pad;
    *high = missing == 0 ? c->out[1] : last < 0 ? 0 : last / stride + 1;
    *high = *high < c->out[1] ? *high : c->out[1];
    *low = *low < *high ? *low : *high;
}

/* Do vectors run on from row to row of the whole plane that begins there? */
static inline __attribute__((unused)) int cameo_is_flat(const cameo_planes *g, const float *x)
{
    const cameo_conv *c = g->sizes;
    return g->flat && x - g->begin >= g->around && g->end - x >= c->in[1] * c->in[2] + g->around;
}

/* Of a window of rows and columns. x: the plane's first element. */
static inline __attribute__((unused)) void cameo_depthwise_plane(const cameo_planes *g,
                                                                 const float *x, const float *w,
                                                                 float *padded, cameo_plane *p)
{
    const cameo_conv *c = g->sizes;
    const int64_t reach = c->dilation[1] * (c->taps[1] - 1) + 1;
    if (p->first == 0 && p->rows == c->out[1] && cameo_is_flat(g, x)) {
        cameo_flat(g, x, w, p);
        return;
    }
    int64_t low, high;
    cameo_direct_within(g, x, &low, &high);
    for (int64_t j = p->first, n; j < p->rows; j += n) {
        const int direct = j >= low && j < high;
        const int64_t end = !direct && j < low ? low : direct ? high : p->rows;
        const int64_t left = (end < p->rows ? end : p->rows) - j,
                      most = direct ? g->direct : g->band;
        n = left < most ? left : most;
        if (direct && g->sweep)
            g->sweep(g, x, w, j, n, p);
        else if (direct)
            cameo_plane_rows(g, g->rows, x, w, j, n, p);
        if (direct)
            continue;
        cameo_band(g, x, j * c->stride[1], (j + n - 1) * c->stride[1] + reach, padded);
        cameo_plane_rows(g, cameo_copied_rows(c), padded, w, j, n, p);
    }
    cameo_plane_end(p);
}

/* How many of `planes` planes, `channel` elements from one another, can be done at once: each is
 * read where it lies, and nothing else is to be done to it. */
static inline __attribute__((unused)) int64_t
cameo_depthwise_fit(const cameo_planes *g, const float *x, int64_t channel, int64_t planes)
{
    const cameo_conv *c = g->sizes;
    int64_t n = 0;
    if (g->sweep && g->dense && !g->finish.curve && c->out[0] == 1 && c->pad[0] == 0 &&
        c->out[2] + g->room >= CAMEO_LANES)
        while (n < planes && cameo_is_direct(g, x + n * channel))
            n++;
    return n;
}

/* Rows first .. last of so many planes. y: where they are written, planes `written` apart. Rows
 * shorter than a vector are written beyond the plane's end, where the next one's are not yet: each
 * plane is done to its end before the next. */
static __attribute__((noinline, unused)) void
cameo_depthwise_some(const cameo_planes *g, const float *x, int64_t channel, const float *w,
                     int64_t planes, int64_t first, int64_t last, float *y, int64_t written)
{
    const int64_t columns = g->sizes->out[2];
    const int64_t beside = last - first > g->direct && columns < CAMEO_LANES ? 1 : planes;
    cameo_finish finish = g->finish;
    cameo_plane p = {.first = first, .rows = last, .columns = columns, .room = g->room};
    p.planes = beside;
    p.channel = channel;
    p.written = written;
    p.finish = &finish;
    for (int64_t i = 0; i < planes; i += beside, finish.bias += beside) {
        p.y = y + i * written;
        for (int64_t j = first; j < last; j += g->direct)
            g->sweep(g, x + i * channel, w + i * g->taps, j,
                     last - j < g->direct ? last - j : g->direct, &p);
    }
}

/* The planes of y by one window. x: its first element. Of a single plane rows first .. last, else
 * all of them. */
static __attribute__((noinline, unused)) void cameo_depthwise(const cameo_planes *g, const float *x,
                                                              const float *w, int64_t first,
                                                              int64_t last, float *padded, float *y)
{
    const cameo_conv *c = g->sizes;
    float sorted[CAMEO_CONV_TAPS];
    const float *window = g->dense ? w : sorted;
    for (int64_t t = 0; !g->dense && t < g->taps; t++)
        sorted[t] = w[g->w[t]];
    if (c->taps[0] != 1)
        cameo_conv_copy(c, x, padded, g->phase, 0, c->channels);
    cameo_plane p;
    p.first = first;
    p.rows = last;
    p.columns = c->out[2];
    p.room = g->room;
    p.finish = &g->finish;
    p.planes = 1;
    p.channel = p.written = 0;
    for (int64_t i = 0; i < c->out[0]; i++) {
        const int64_t a = i * c->stride[0] - c->pad[0], at = i * c->out[1] * p.columns;
        p.y = y + at;
        if (c->taps[0] != 1) {
            cameo_plane_rows(g, cameo_copied_rows(c), padded + i * c->stride[0] * g->plane, window,
                             0, p.rows, &p);
            cameo_plane_end(&p);
        } else if (a < 0 || a >= c->in[0]) {
            for (int64_t n = first * p.columns; n < last * p.columns; n++)
                p.y[n] = cameo_finished(&g->finish, 0, n, 0.0f);
        } else {
            cameo_depthwise_plane(g, x + a * c->step[0], window, padded, &p);
        }
        cameo_bend(&g->finish, y, at + first * p.columns, last - first, p.columns, p.columns);
    }
}

/* Planes i .. until of those that wait, each of which is all of its plane: as many as can be done
 * at once, or one. Returns the first that is left. */
static inline __attribute__((unused)) int64_t cameo_depthwise_turn(cameo_planes *g,
                                                                   const cameo_waiting *t,
                                                                   int64_t i, int64_t until,
                                                                   float *padded)
{
    const int64_t rows = g->sizes->out[1], size = rows * g->sizes->out[2];
    const float *x = t->x + i * t->channel, *w = t->w + i * g->taps;
    float *y = t->y + i * t->written;
    int64_t n = 0;
    g->finish.bias = t->finish.bias + i;
    while (!g->across && i + n < until && cameo_is_flat(g, x + n * t->channel))
        n++;
    if (n > 0 || g->across) {
        cameo_plane p = {.y = y, .rows = rows, .columns = g->sizes->out[2], .planes = n};
        p.channel = t->channel;
        p.written = t->written;
        p.finish = &g->finish;
        n = g->across ? until - i : n;
        if (g->across)
            g->across(g, x, w, n, &p);
        else
            cameo_flat(g, x, w, &p);
        return i + n;
    }
    /* what a vector writes past the end of a plane the next one writes again */
    g->room = i + 1 < until && t->written == size && size >= CAMEO_LANES ? CAMEO_LANES : 0;
    n = cameo_depthwise_fit(g, x, t->channel, until - i - (g->room > 0));
    if (n > 0)
        cameo_depthwise_some(g, x, t->channel, w, n, 0, rows, y, t->written);
    else
        cameo_depthwise(g, x, w, 0, rows, padded, y);
    g->room = 0;
    return n > 0 ? i + n : i + 1;
}

/* The planes that wait. */
static __attribute__((noinline, unused)) void cameo_depthwise_rest(cameo_planes *g, float *padded)
{
    const cameo_waiting waiting = g->waiting;
    const cameo_finish finish = g->finish;
    g->waiting.count = 0;
    g->finish = waiting.finish;
    for (int64_t i = 0; i < waiting.count;)
        i = cameo_depthwise_turn(g, &waiting, i, waiting.count, padded);
    g->finish = finish;
}

/* All of a plane of y, as cameo_depthwise; or it waits for those that follow it, until
 * cameo_depthwise_rest at the latest: a plane of few elements takes less time than a call. */
static inline __attribute__((unused)) void
cameo_depthwise_next(cameo_planes *g, const float *x, const float *w, float *padded, float *y)
{
    const cameo_conv *c = g->sizes;
    cameo_waiting *t = &g->waiting;
    const int apart = !g->sweep && !g->flat && !g->across;
    if (apart || !g->dense || g->finish.curve || c->out[0] != 1 || c->pad[0]) {
        cameo_depthwise(g, x, w, 0, c->out[1], padded, y);
        return;
    }
    if (t->count == 1) {
        t->channel = x - t->x;
        t->written = y - t->y;
    }
    if (t->count > 0 && x == t->x + t->count * t->channel && y == t->y + t->count * t->written &&
        w == t->w + t->count * g->taps && g->finish.bias == t->finish.bias + t->count) {
        t->count++;
        return;
    }
    cameo_depthwise_rest(g, padded);
    *t = (cameo_waiting){.x = x, .w = w, .y = y, .count = 1, .finish = g->finish};
}

#endif
