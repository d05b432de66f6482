/* Convolutions by a window of 3 x 3 that moves by two, in tiles of 2 x 2 places (cameo_winograd.h).
 * Places y0 and y1 of a line are of elements d0 .. d4 of x, and the outer taps w0 and w2 share d2:
 * y0 = (d0 - d2) w0 + d2 (w0 + w2) + d1 w1 and y1 = d2 (w0 + w2) + (d4 - d2) w2 + d3 w1. These are
 * five numbers for six products, in both directions 25 instead of 36. Products with d1 and d3 are
 * added to their neighbours', so that a tile has nine sums: numbers of a sum follow one another. */
#ifndef CAMEO_WINOGRAD_TWO_H
#define CAMEO_WINOGRAD_TWO_H

#include "cameo_winograd.h"

enum {
    CAMEO_TWO_SIDE = 5,               /* elements of a tile across, and numbers */
    CAMEO_TWO_STEP = 4,               /* from one tile to the next */
    CAMEO_TWO_REACH = 4 * CAMEO_LANES /* elements that a vector of tiles reads, and one more */
};

/* Where number [down][across] of a tile lies, and the sum of each. */
static const unsigned char cameo_two_order[25] __attribute__((unused)) = {
    0, 4, 6, 1, 7, 10, 12, 13, 11, 14, 15, 19, 21, 16, 22, 2, 5, 8, 3, 9, 17, 20, 23, 18, 24};
static const unsigned char cameo_two_sums[25] __attribute__((unused)) = {
    0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 5, 6, 6, 6, 6, 7, 7, 8, 8, 8, 8};

static inline __attribute__((always_inline)) void cameo_two_of_x(const cameo_vec *d, cameo_vec *to)
{
    to[0] = d[0] - d[2];
    to[1] = d[2];
    to[2] = d[4] - d[2];
    to[3] = d[1];
    to[4] = d[3];
}

/* What a vector of tiles reads: five rows, of which elements low .. high are of x, the others 0. */
typedef struct cameo_two_rows {
    const float *from[CAMEO_TWO_SIDE];
    float behind[CAMEO_TWO_SIDE]; /* element CAMEO_TWO_REACH of each */
    int64_t low, high;
} cameo_two_rows;

/* The rows of the vector that begins with tile `first` of row `row` of tiles. Nothing before
 * `begin` nor from `end` on is read: a piece of such a row is copied to `edge`. */
static inline __attribute__((always_inline)) void
cameo_two_read(const cameo_conv *g, const float *x, const float *begin, const float *end,
               int64_t row, int64_t first, float edge[CAMEO_TWO_SIDE][CAMEO_TWO_REACH],
               cameo_two_rows *r)
{
    static const float none[CAMEO_TWO_REACH] = {0};
    const int64_t start = first * CAMEO_TWO_STEP - g->pad[2], left = g->in[2] - start;
    const int64_t high = left < 0 ? 0 : left < CAMEO_TWO_REACH ? left : CAMEO_TWO_REACH;
    const int64_t low = start < 0 ? -start < high ? -start : high : 0;
    r->low = low;
    r->high = high;
    for (int i = 0; i < CAMEO_TWO_SIDE; i++) {
        const int64_t at = row * CAMEO_TWO_STEP + i - g->pad[1];
        const int inside = at >= 0 && at < g->in[1] && low < high;
        const float *from = x + at * g->step[1] + start;
        r->behind[i] = inside && left > CAMEO_TWO_REACH ? from[CAMEO_TWO_REACH] : 0.0f;
        r->from[i] = inside ? from : none;
        if (inside && (from < begin || end - from < CAMEO_TWO_REACH)) {
            memcpy(edge[i] + low, from + low, (size_t)(high - low) * sizeof *from);
            r->from[i] = edge[i];
        }
    }
}

/* The numbers of a vector of tiles, `place` elements apart. */
static inline __attribute__((always_inline)) void cameo_two_numbers(const cameo_two_rows *r,
                                                                    float *to, int64_t place)
{
    typedef int32_t cameo_two_lanes __attribute__((vector_size(4 * CAMEO_LANES)));
    static const int32_t lane[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    cameo_two_lanes lanes;
    memcpy(&lanes, lane, sizeof lanes);
    cameo_vec z[CAMEO_TWO_SIDE][CAMEO_TWO_STEP], d[CAMEO_TWO_SIDE], down[CAMEO_TWO_SIDE];
    cameo_vec behind[CAMEO_TWO_SIDE];
    for (int v = 0; v < CAMEO_TWO_STEP; v++, lanes += CAMEO_LANES) {
        const cameo_two_lanes some = (lanes >= (int32_t)r->low) & (lanes < (int32_t)r->high);
        for (int i = 0; i < CAMEO_TWO_SIDE; i++) {
            const cameo_vec all = *(const cameo_vec *)(r->from[i] + v * CAMEO_LANES);
            d[i] = (cameo_vec)((cameo_two_lanes)all & some);
        }
        cameo_two_of_x(d, down);
        for (int i = 0; i < CAMEO_TWO_SIDE; i++)
            z[i][v] = down[i];
    }
    for (int i = 0; i < CAMEO_TWO_SIDE; i++)
        d[i] = (cameo_vec){0} + r->behind[i];
    cameo_two_of_x(d, behind);
    for (int i = 0; i < CAMEO_TWO_SIDE; i++) {
        const cameo_vec even0 = cameo_even(z[i][0], z[i][1]), even1 = cameo_even(z[i][2], z[i][3]);
        const cameo_vec odd0 = cameo_odd(z[i][0], z[i][1]), odd1 = cameo_odd(z[i][2], z[i][3]);
        d[0] = cameo_even(even0, even1);
        d[1] = cameo_even(odd0, odd1);
        d[2] = cameo_odd(even0, even1);
        d[3] = cameo_odd(odd0, odd1);
        d[4] = cameo_after(d[0], behind[i]);
        cameo_two_of_x(d, down);
        for (int j = 0; j < CAMEO_TWO_SIDE; j++)
            *(cameo_vec *)(to + cameo_two_order[CAMEO_TWO_SIDE * i + j] * place) = down[j];
    }
}

/* As cameo_winograd_tiles. A vector that reaches behind a channel's tiles is cut: the next channel
 * may be another thread's. */
static __attribute__((noinline, unused)) void cameo_two_tiles(const float *x, int64_t low,
                                                              int64_t high, cameo_winograd_block *b)
{
    const cameo_winograd *f = b->form;
    const cameo_conv *g = f->g;
    const float *end = x + (g->channels - 1) * g->channel + (g->in[1] - 1) * g->step[1] + g->in[2];
    const float *channel = x + low * g->channel;
    const int64_t read = (b->t1 - b->t0 + 15) / 16 * 16;
    float edge[CAMEO_TWO_SIDE][CAMEO_TWO_REACH] = {{0}};
    float spare[CAMEO_TWO_SIDE * CAMEO_TWO_SIDE * CAMEO_LANES];
    for (int64_t c = low; c < high; c++, channel += g->channel) {
        float *const to = b->tiles + (c - b->first) * f->width;
        /* products read whole vectors: those that tiles do not fill */
        for (int64_t t = (b->t1 - b->t0) / CAMEO_LANES * CAMEO_LANES; t < read; t += CAMEO_LANES)
            for (int i = 0; i < CAMEO_TWO_SIDE * CAMEO_TWO_SIDE; i++)
                *(cameo_vec *)(to + i * f->place + t) = (cameo_vec){0};
        int64_t count;
        for (int64_t t = b->t0; t < b->t1; t += count) {
            const int64_t row = t / f->across, first = t % f->across, left = f->across - first;
            count = left < b->t1 - t ? left : b->t1 - t;
            count = count < CAMEO_LANES ? count : CAMEO_LANES;
            cameo_two_rows rows;
            cameo_two_read(g, channel, x, end, row, first, edge, &rows);
            const int64_t at = t - b->t0, room = f->width - at;
            const int whole = room >= CAMEO_LANES;
            cameo_two_numbers(&rows, whole ? to + at : spare, whole ? f->place : CAMEO_LANES);
            for (int i = 0; !whole && i < CAMEO_TWO_SIDE * CAMEO_TWO_SIDE; i++)
                memcpy(to + i * f->place + at, spare + (int64_t)i * CAMEO_LANES,
                       (size_t)room * sizeof *to);
        }
    }
}

static __attribute__((noinline, unused)) void
cameo_two_row(const cameo_winograd_block *b, const float *sums, int64_t channel, float *y)
{
    cameo_winograd_row(2, 3, b, sums, channel, y);
}

static __attribute__((unused)) const cameo_winograd_kind cameo_winograd_two = {
    .m = 2,
    .n = CAMEO_TWO_SIDE,
    .sums = cameo_two_sums,
    .tiles = cameo_two_tiles,
    .row = cameo_two_row,
};

#endif
