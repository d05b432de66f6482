/* Sizes of a convolution, and copies of what it reads, with a border of 0. */
#ifndef CAMEO_CONV_COPY_H
#define CAMEO_CONV_COPY_H

#include <stdint.h>
#include <string.h>

#include "cameo_brief.h"
#include "cameo_columns.h"

enum {
    CAMEO_CONV_SLACK = 64,    /* elements that may be read or written past the end of a buffer */
    CAMEO_CONV_SHORT = 32,    /* elements of a short row */
    CAMEO_CONV_ROWS_AHEAD = 8 /* rows of x between one that is copied and one that is asked for */
};

struct cameo_other_windows;
struct cameo_conv_block;
/* Two panels of rows of a block from row m on. */
typedef void cameo_conv_rows_two(const struct cameo_conv_block *b, int64_t m);

/* Dims of the window: the innermost is the last, those that there are not are 1 (steps 0). */
typedef struct cameo_conv {
    int64_t rows, channels;
    int64_t out[3], taps[3], stride[3], dilation[3];
    int64_t pad[3], in[3]; /* where x is: pad <= place < pad + in */
    int64_t step[3];       /* from one element of x to the next */
    int64_t channel, row;  /* from one channel of x, from one row of y to the next */
    int copy;              /* the border is made of 0 in a copy, innermost strides are sorted out */
    int sevens;            /* seven products for eight (cameo_strassen.h) */
    int outer; /* k is a place of the window and then a channel: a copy of which places far apart
                * read only the border of some blocks, and are left out there */
    cameo_columns_sum *several; /* where places may be more than a few, and all one panel */
    cameo_conv_rows_two *single; /* where all places may be one vector */
    const struct cameo_other_windows *windows; /* of planes that no sweep may be for */
} cameo_conv;

/* One row of x to `phases` rows, each holding every phases-th place from its number on: many, of
 * few elements. */
static inline __attribute__((unused)) void cameo_conv_phases(const float *x, int64_t step,
                                                             int64_t in, int64_t pad,
                                                             int64_t phases, int64_t length,
                                                             float *to)
{
    for (int64_t i = 0; i < length; i++, to++) {
        const int64_t first = i * phases - pad; /* place of phase 0 */
        int64_t low = first < 0 ? -first : 0, high = in - first;
        low = low < phases ? low : phases;
        high = high < phases ? high : phases;
        high = high > low ? high : low;
        for (int64_t f = 0; f < low; f++)
            to[f * length] = 0.0f;
        for (int64_t f = low; f < high; f++)
            to[f * length] = x[(first + f) * step];
        for (int64_t f = high; f < phases; f++)
            to[f * length] = 0.0f;
    }
}

/* The same for rows that may be long. */
static inline __attribute__((unused)) void cameo_conv_row(const float *x, int64_t step, int64_t in,
                                                          int64_t pad, int64_t phases,
                                                          int64_t length, float *to)
{
    if (phases > length) {
        cameo_conv_phases(x, step, in, pad, phases, length, to);
        return;
    }
    for (int64_t f = 0; f < phases; f++, to += length) {
        /* place i * phases + f - pad of x, for the i where it is one */
        int64_t low = f >= pad ? 0 : (pad - f + phases - 1) / phases;
        int64_t high = in + pad > f ? (in + pad - f + phases - 1) / phases : 0;
        low = low < length ? low : length;
        high = high < length ? high : length;
        high = high > low ? high : low;
        const float *from = x + (low * phases + f - pad) * step;
        for (int64_t i = 0; i < low; i++)
            to[i] = 0.0f;
        for (int64_t i = 0; i < high - low; i++)
            to[low + i] = from[i * phases * step];
        for (int64_t i = high; i < length; i++)
            to[i] = 0.0f;
    }
}

/* The same for two phases of neighbours, where x may be read from `begin` to `end`: vectors of both
 * phases, or of the first alone, from two of x, what lies outside of the row set to 0. A row
 * shorter than a vector is written with what the next one writes again. ahead: elements to the row
 * that is asked for. */
static inline __attribute__((unused)) void cameo_conv_halves(const float *x, const float *begin,
                                                             const float *end, int64_t in,
                                                             int64_t pad, int64_t length, int both,
                                                             int64_t ahead, float *to)
{
    typedef int32_t cameo_lanes __attribute__((vector_size(4 * CAMEO_LANES)));
    cameo_lanes number;
    for (int i = 0; i < CAMEO_LANES; i++)
        number[i] = i;
    for (int64_t j = 0; j < length; j += CAMEO_LANES) {
        const int64_t last = length - CAMEO_LANES, i = j > last && last > 0 ? last : j;
        const int64_t at = 2 * i - pad; /* place of the first lane in the row */
        float edge[2 * CAMEO_LANES];
        const float *from = edge;
        __builtin_prefetch(x + at + ahead);
        if (at >= begin - x && at + 2 * CAMEO_LANES <= end - x)
            from = x + at;
        else
            for (int64_t k = 0; k < 2 * CAMEO_LANES; k++)
                edge[k] = at + k >= 0 && at + k < in ? x[at + k] : 0.0f;
        cameo_vec a = *(const cameo_vec *)from, b = *(const cameo_vec *)(from + CAMEO_LANES);
        if (at < 0 || at + 2 * CAMEO_LANES > in) {
            enum { ALL = 2 * CAMEO_LANES };
            const int32_t low = at >= 0 ? 0 : at > -ALL ? (int32_t)-at : ALL;
            const int32_t high = at >= in ? 0 : in - at < ALL ? (int32_t)(in - at) : ALL;
            const cameo_lanes next = number + CAMEO_LANES;
            a = (cameo_vec)((cameo_lanes)a & (number >= low) & (number < high));
            b = (cameo_vec)((cameo_lanes)b & (next >= low) & (next < high));
        }
        *(cameo_vec *)(to + i) = cameo_even(a, b);
        if (both)
            *(cameo_vec *)(to + length + i) = cameo_odd(a, b);
    }
}

/* n places of 0, a few as one vector, a short one for up to four, which may write what is written
 * again behind them. */
static inline __attribute__((always_inline, unused)) void cameo_conv_border(float *to, int64_t n,
                                                                            const float *limit)
{
    typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
    if (n <= 0)
        return;
    if (n <= 4 && limit - to >= 4)
        *(four *)to = (four){0};
    else if (n <= CAMEO_LANES && limit - to >= CAMEO_LANES)
        *(cameo_vec *)to = (cameo_vec){0};
    else
        memset(to, 0, (size_t)n * sizeof *to);
}

/* The rows of x whose elements are neighbours, from `to` on, `width` apart: low places of 0, count
 * elements, places of 0 up to width. What a vector writes past a row the next one writes again;
 * nothing is read from `end` on, nor written from `limit` on. */
static inline __attribute__((unused)) void cameo_conv_rows(const float *x, const float *end,
                                                           int64_t step, int64_t rows, int64_t low,
                                                           int64_t count, int64_t width, float *to,
                                                           float *limit)
{
    const int64_t reach = low + (count + CAMEO_LANES - 1) / CAMEO_LANES * CAMEO_LANES;
    for (int64_t j = 0; j < rows; j++, x += step, to += width) {
        cameo_conv_border(to, low, limit);
        if (reach - low <= end - x && reach <= limit - to)
            for (int64_t i = 0; i < count; i += CAMEO_LANES)
                *(cameo_vec *)(to + low + i) = *(const cameo_vec *)(x + i);
        else
            memcpy(to + low, x, (size_t)count * sizeof *to);
        cameo_conv_border(to + low + count, width - low - count, limit);
    }
}

/* The same of rows whose phases are to be sorted out, or whose elements lie apart: as vectors, but
 * for the last rows, where a vector would be written past `limit`. */
static inline __attribute__((unused)) void cameo_conv_sorted(const cameo_conv *g, const float *x,
                                                             const float *begin, const float *end,
                                                             int64_t rows, int64_t length,
                                                             float *to, const float *limit)
{
    const int64_t step = g->step[1], ahead = CAMEO_CONV_ROWS_AHEAD * step, pad = g->pad[2];
    const int both = g->stride[2] == 2 && g->step[2] == 1;
    const int halves = both || (g->stride[2] == 1 && g->step[2] == 2);
    const int64_t width = length * g->stride[2], in = both ? g->in[2] : 2 * g->in[2] - 1;
    const int64_t behind = length < CAMEO_LANES ? CAMEO_LANES - length : 0; /* a row's vector */
    int64_t j = 0;
    for (; j < rows && halves && width + behind <= limit - to; j++, x += step, to += width)
        cameo_conv_halves(x, begin, end, in, both ? pad : 2 * pad, length, both, ahead, to);
    for (; j < rows; j++, x += step, to += width)
        cameo_conv_row(x, g->step[2], g->in[2], pad, g->stride[2], length, to);
}

/* Elements along each dim that windows reach. */
static inline __attribute__((unused)) int64_t cameo_conv_reach(const cameo_conv *g, int d)
{
    return g->stride[d] * (g->out[d] - 1) + g->dilation[d] * (g->taps[d] - 1) + 1;
}

/* Rows from .. until of a plane of x (two dims) with its border; nothing is written from `limit`
 * on. */
static inline __attribute__((unused)) void cameo_conv_plane(const cameo_conv *g, const float *x,
                                                            const float *begin, const float *end,
                                                            float *to, int64_t length, int64_t from,
                                                            int64_t until, float *limit)
{
    const int64_t width = length * g->stride[2], in = g->in[1], pad = g->pad[1];
    int64_t first = pad < from ? from : pad < until ? pad : until;
    int64_t last = in + pad < until ? in + pad : until;
    last = last > first ? last : first;
    to += from * width;
    cameo_conv_border(to, (first - from) * width, limit);
    x += (first - pad) * g->step[1];
    to += (first - from) * width;
    const int64_t low = g->pad[2], left = length - low;
    const int64_t count = g->in[2] < left ? g->in[2] : left;
    if (g->stride[2] == 1 && g->step[2] == 1 && low >= 0 && count > 0)
        cameo_conv_rows(x, end, g->step[1], last - first, low, count, width, to, limit);
    else
        cameo_conv_sorted(g, x, begin, end, last - first, length, to, limit);
    to += (last - first) * width;
    cameo_conv_border(to, (until - last) * width, limit);
}

/* Channels that are one short row each: what goes where is the same for all of them. */
static inline __attribute__((unused)) void
cameo_conv_short(const cameo_conv *g, const float *x, float *to, int64_t length, int64_t channels)
{
    int64_t place[CAMEO_CONV_SHORT], from[CAMEO_CONV_SHORT], border[CAMEO_CONV_SHORT];
    int64_t inside = 0, outside = 0;
    for (int64_t f = 0, at = 0; f < g->stride[2]; f++)
        for (int64_t i = 0; i < length; i++, at++) {
            const int64_t j = i * g->stride[2] + f - g->pad[2];
            if (j < 0 || j >= g->in[2]) {
                border[outside++] = at;
                continue;
            }
            from[inside] = j * g->step[2];
            place[inside++] = at;
        }
    for (int64_t c = 0; c < channels; c++, x += g->channel, to += length * g->stride[2]) {
        for (int64_t i = 0; i < inside; i++)
            to[place[i]] = x[from[i]];
        for (int64_t i = 0; i < outside; i++)
            to[border[i]] = 0.0f;
    }
}

/* The first element behind those of x that are read. */
static inline __attribute__((unused)) const float *cameo_conv_x_end(const cameo_conv *g,
                                                                    const float *x)
{
    return x + (g->channels - 1) * g->channel + (g->in[0] - 1) * g->step[0] +
           (g->in[1] - 1) * g->step[1] + (g->in[2] - 1) * g->step[2] + 1;
}

/* Are channels neighbours in x, enough of them and of elements for squares? */
static inline __attribute__((unused)) int cameo_conv_turns(const cameo_conv *g, int64_t length,
                                                           int64_t channels)
{
    return g->channel == 1 && g->stride[2] == 1 && g->step[2] > 1 && g->pad[2] >= 0 &&
           g->in[2] >= CAMEO_LANES && g->pad[2] + g->in[2] <= length && channels >= CAMEO_LANES;
}

/* Rows from .. until of planes of such channels with their border, as cameo_conv_plane makes them;
 * `apart` from one plane to the next. The last squares lie over those before. */
static __attribute__((noinline, unused)) void cameo_conv_turned(const cameo_conv *g, const float *x,
                                                                float *to, int64_t length,
                                                                int64_t channels, int64_t apart,
                                                                int64_t from, int64_t until)
{
    const int64_t low = g->pad[2], count = g->in[2], step = g->step[2];
    for (int64_t j = from; j < until; j++) {
        const int64_t row = j - g->pad[1];
        const int inside = row >= 0 && row < g->in[1];
        for (int64_t c = 0; c < channels; c++) {
            float *at = to + c * apart + j * length;
            const int64_t first = inside ? low : length, behind = inside ? low + count : length;
            memset(at, 0, (size_t)first * sizeof *at);
            memset(at + behind, 0, (size_t)(length - behind) * sizeof *at);
        }
        for (int64_t c = 0; inside && c < channels; c += CAMEO_LANES) {
            c = channels - c < CAMEO_LANES ? channels - CAMEO_LANES : c;
            for (int64_t i = 0; i < count; i += CAMEO_LANES) {
                i = count - i < CAMEO_LANES ? count - CAMEO_LANES : i;
                cameo_gemm_square(x + row * g->step[1] + i * step + c, step, CAMEO_LANES - 1,
                                  to + c * apart + j * length + low + i, apart);
            }
        }
    }
}

/* Channels from .. until of x. What lies behind their copies is another share's, except behind the
 * last, where there is room. */
static __attribute__((noinline, unused)) void cameo_conv_copy(const cameo_conv *g, const float *x,
                                                              float *to, int64_t length,
                                                              int64_t from, int64_t until)
{
    const int64_t deep = cameo_conv_reach(g, 0), rows = cameo_conv_reach(g, 1);
    const int64_t plane = rows * length * g->stride[2];
    to += from * deep * plane;
    float *limit =
        to + (until - from) * deep * plane + (until == g->channels ? CAMEO_CONV_SLACK : 0);
    const int one = deep == 1 && plane <= CAMEO_CONV_SHORT && rows == 1;
    if (one && g->pad[0] == 0 && g->pad[1] == 0 && g->in[0] > 0 && g->in[1] > 0) {
        cameo_conv_short(g, x + from * g->channel, to, length, until - from);
        return;
    }
    const float *end = cameo_conv_x_end(g, x);
    const int turns = cameo_conv_turns(g, length, until - from);
    for (int64_t i = 0; turns && i < deep; i++)
        if (i >= g->pad[0] && i < g->pad[0] + g->in[0])
            cameo_conv_turned(g, x + from + (i - g->pad[0]) * g->step[0], to + i * plane, length,
                              until - from, deep * plane, 0, rows);
    for (int64_t c = from; c < until; c++)
        for (int64_t i = 0; i < deep; i++, to += plane) {
            const int64_t a = i - g->pad[0];
            if (a < 0 || a >= g->in[0])
                memset(to, 0, (size_t)plane * sizeof *to);
            else if (!turns)
                cameo_conv_plane(g, x + c * g->channel + a * g->step[0], x, end, to, length, 0,
                                 rows, limit);
        }
}

#endif
