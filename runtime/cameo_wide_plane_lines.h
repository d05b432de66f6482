/* Tiles of lines (cameo_wide_lines.h) of a plane, whose windows are several rows high: each row of
 * x is transformed once for all rows of the windows that it is in. The numbers of one of the eight
 * points are a plane in which tiles of a row lie side by side, so that a row of the window is the
 * same distance everywhere and lanes go on from row to row. */
#ifndef CAMEO_WIDE_PLANE_LINES_H
#define CAMEO_WIDE_PLANE_LINES_H

#include "cameo_wide_lines.h"

/* A block's planes: for each of the eight points those of all its channels. */
typedef struct cameo_wide_line_planes {
    int64_t channels;                     /* of a block, the most */
    int64_t first, rows, high;            /* rows of y; rows of x that their windows reach */
    int64_t size, point;                  /* numbers of a plane; of all planes of a point */
    int64_t places[CAMEO_WIDE_LINE_DEEP]; /* where a row of the window is, by values of k */
} cameo_wide_line_planes;

/* How many of `rows` rows and channels a block has; the channels are the same for any part of y,
 * for they decide in which order a number of y is added up. 0: windows are a line, or no row fits.
 */
static inline __attribute__((unused)) int
cameo_wide_line_planes_of(const cameo_wide_line_job *j, int64_t rows, cameo_wide_line_planes *b)
{
    const cameo_wide_window *w = &j->s->w;
    const int64_t more = (w->taps[1] - 1) * w->dilation[1];
    const int64_t room = CAMEO_WIDE_LINE_ROOM_B / CAMEO_WIDE_LINE_POINTS - CAMEO_WIDE_PANEL;
    const int64_t most = cameo_wide_least(CAMEO_WIDE_LINE_TILES / j->across,
                                          CAMEO_WIDE_LINE_SPREAD / j->across - more);
    if (w->taps[1] == 1 || w->stride[1] != 1 || most < 1)
        return 0;
    const int64_t blocks = (rows + most - 1) / most;
    b->rows = (rows + blocks - 1) / blocks;
    b->high = b->rows + more;
    b->size = b->high * j->across;
    b->channels = cameo_wide_least(
        cameo_wide_least(j->p->depth / j->s->taps, CAMEO_WIDE_LINE_DEEP / w->taps[1]),
        room / ((cameo_wide_least(most, w->out[1]) + more) * j->across));
    return b->channels > 0;
}

/* `channels` channels' planes from `channel` on. */
static __attribute__((noinline, unused)) CAMEO_WIDE_WHOLE void
cameo_wide_line_planes_fill(const cameo_wide_line_job *j, const cameo_wide_line_planes *b,
                            int64_t channel, int64_t channels, double *to)
{
    double line[CAMEO_WIDE_LINE_WIDTH], d[CAMEO_WIDE_LINE_POINTS * CAMEO_WIDE_LINE_SPREAD];
    const cameo_wide_window *w = &j->s->w;
    const int64_t width = j->across * j->m + CAMEO_WIDE_LINE_POINTS - j->m;
    const int64_t whole = (b->size + CAMEO_WIDE_LANES - 1) / CAMEO_WIDE_LANES * CAMEO_WIDE_LANES;
    for (int i = 0; i < CAMEO_WIDE_LINE_POINTS; i++) /* what the last vector reads behind tiles */
        for (int64_t n = b->size; n < whole; n++)
            d[i * CAMEO_WIDE_LINE_SPREAD + n] = 0;
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t r = 0; r < b->high; r++) {
            const int64_t row = b->first + r - w->pad[1];
            if (row < 0 || row >= w->in[1])
                memset(line, 0, (size_t)width * sizeof *line);
            else
                cameo_wide_planes_line(j->p, w, (channel + c) * w->channel + row * w->step[1],
                                       -w->pad[2], width, line);
            cameo_wide_line_spread(line, j->across, j->m, CAMEO_WIDE_LINE_SPREAD,
                                   d + r * j->across);
        }
        for (int64_t t = 0; t < b->size; t += CAMEO_WIDE_LANES)
            cameo_wide_line_values(d + t, CAMEO_WIDE_LINE_SPREAD, to + c * b->size + t, b->point);
    }
}

/* Rows m .. m + rows, one tile high, of the block whose planes are there. */
static inline __attribute__((unused)) void
cameo_wide_line_planes_add(const cameo_wide_line_job *j, const cameo_wide_line_planes *b, int64_t m,
                           int64_t rows, int64_t k, int64_t depth, const double *planes,
                           double *room, int64_t n0, int64_t n1)
{
    static const double nothing[CAMEO_WIDE_ROWS];
    double *products = cameo_wide_line_windows(j, m, rows, k, depth, room);
    const int64_t apart = CAMEO_WIDE_LINE_TILES * CAMEO_WIDE_ROWS;
    const int height = cameo_wide_height(rows);
    cameo_wide_spot t = {.depth = depth,
                         .places = b->places,
                         .ym = CAMEO_WIDE_LINE_TILES,
                         .rows = height,
                         .start = nothing};
    for (int i = 0; i < CAMEO_WIDE_LINE_POINTS; i++)
        for (int64_t n = 0, vectors; n < j->tiles; n += vectors * CAMEO_WIDE_LANES) {
            const int64_t left = (j->tiles - n + CAMEO_WIDE_LANES - 1) / CAMEO_WIDE_LANES;
            vectors = cameo_wide_breadths(left, CAMEO_WIDE_VECTORS);
            t.a = room + i * CAMEO_WIDE_LINE_DEEP * CAMEO_WIDE_ROWS;
            t.b = planes + i * b->point + n;
            t.y = products + i * apart + n;
            t.high = t.free = vectors * CAMEO_WIDE_LANES;
            cameo_wide_spot_sum(&t, height, vectors);
        }
    cameo_wide_line_rows_out(j, products, m, rows, n0, n1, k == 0);
}

/* Rows m0 .. m1 and columns n0 .. n1. 0: nothing is done. */
static inline __attribute__((unused)) int cameo_wide_line_planes_take(cameo_wide_line_job *j,
                                                                      int64_t m0, int64_t m1,
                                                                      int64_t n0, int64_t n1,
                                                                      double *room, double *planes)
{
    cameo_wide_line_planes b;
    const cameo_wide_window *w = &j->s->w;
    const int64_t out = w->out[2], last = (n1 - 1) / out + 1, all = j->p->depth / j->s->taps;
    if (!cameo_wide_line_planes_of(j, last - n0 / out, &b))
        return 0;
    b.point = b.channels * b.size + CAMEO_WIDE_PANEL;
    for (int64_t c = 0, k = 0; c < b.channels; c++)
        for (int64_t t = 0; t < w->taps[1]; t++)
            b.places[k++] = c * b.size + t * w->dilation[1] * j->across;
    for (b.first = n0 / out; b.first < last; b.first += b.rows) {
        const int64_t end = cameo_wide_least(b.first + b.rows, last);
        cameo_wide_line_block_of(j, b.first * j->across, end * j->across);
        for (int64_t c = 0, channels; c < all; c += channels) {
            channels = cameo_wide_least(all - c, b.channels);
            cameo_wide_line_planes_fill(j, &b, c, channels, planes);
            for (int64_t m = m0; m < m1; m += CAMEO_WIDE_ROWS)
                cameo_wide_line_planes_add(j, &b, m, cameo_wide_least(m1 - m, CAMEO_WIDE_ROWS),
                                           c * w->taps[1], channels * w->taps[1], planes, room, n0,
                                           n1);
        }
    }
    return 1;
}

/* Rows m0 .. m1 and columns n0 .. n1. 0: the windows are none that tiles of a line are worth, or
 * x is not finite, and nothing is done. `room` and `tiles` are those of a block of cameo_wide.h. */
static __attribute__((noinline, unused)) int cameo_wide_lines_take(const cameo_wide *p, int64_t m0,
                                                                   int64_t m1, int64_t n0,
                                                                   int64_t n1, double *room,
                                                                   double *tiles)
{
    cameo_wide_planes s;
    cameo_wide_line_job j;
    if (!cameo_wide_line_fits(p, &j, &s) || !cameo_wide_line_finite(p, &s))
        return 0;
    if (n0 >= n1)
        return 1;
    if (cameo_wide_line_planes_take(&j, m0, m1, n0, n1, room, tiles))
        return 1;
    const int64_t out = s.w.out[2], all = p->depth / j.taps;
    const int64_t begin = n0 / out * j.across + n0 % out / j.m;
    const int64_t end = (n1 - 1) / out * j.across + (n1 - 1) % out / j.m + 1;
    for (int64_t g = begin; g < end; g += CAMEO_WIDE_LINE_TILES) {
        cameo_wide_line_block_of(&j, g, cameo_wide_least(end, g + CAMEO_WIDE_LINE_TILES));
        for (int64_t k = 0, depth; k < all; k += depth) {
            depth = cameo_wide_least(all - k, CAMEO_WIDE_LINE_DEPTH);
            cameo_wide_line_tiles(&j, k, depth, tiles);
            for (int64_t m = m0; m < m1; m += CAMEO_WIDE_ROWS)
                cameo_wide_line_rows_add(&j, m, cameo_wide_least(m1 - m, CAMEO_WIDE_ROWS), k, depth,
                                         tiles, room, n0, n1);
        }
    }
    return 1;
}

#endif
