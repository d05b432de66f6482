/* Windows of float64 that slide along a line one place at a time, by tiles of that line: eight
 * numbers of x, and of each window eight sums of its numbers, whose products give m neighbours of
 * the output, m = 9 - taps. Directly they are m * taps products. (A. Toom and S. Cook; S. Winograd,
 * "Arithmetic complexity of computations", 1980; A. Lavin, S. Gray, "Fast Algorithms for
 * Convolutional Neural Networks", 2016.) The eight are the values of polynomials at 0, 1, -1, 2,
 * -2, 1/2, -1/2 and infinity:
 *
 *     y[i] = sum over p of p^i * g(p) / N(p) * d(p),   N(p) = product over other points q of p - q
 *
 * with g(p) the polynomial of a window's numbers, and d(p) the sum of x by the coefficients of the
 * product over other points q of t - q. Each row of a window is one more channel. The error is some
 * 1e-15 of the sum of |x| |w|: a measure for that of float32, no result that is asked for in
 * float64. */
#ifndef CAMEO_WIDE_LINES_H
#define CAMEO_WIDE_LINES_H

#include "cameo_wide_planes.h"
#include "cameo_wide_tiles.h"

enum {
    CAMEO_WIDE_LINE_POINTS = 8,
    CAMEO_WIDE_LINE_LEAST = 3, /* taps in a line */
    CAMEO_WIDE_LINE_MOST = 7,
    CAMEO_WIDE_LINE_TILES = 144,  /* of a block: whole panels on every target */
    CAMEO_WIDE_LINE_DEPTH = 40,   /* channels, by rows of their windows, of a block */
    CAMEO_WIDE_LINE_DEEP = 96,    /* of one whose rows are transformed once */
    CAMEO_WIDE_LINE_SPREAD = 288, /* tiles of a channel's rows in such a block */
    CAMEO_WIDE_LINE_ROWS = 16,    /* of y: for fewer what is done to x is not worth it */
    CAMEO_WIDE_LINE_LINES = 16,   /* of x in a place of y, its channels by rows of their windows */
    CAMEO_WIDE_LINE_WIDTH = 1024, /* of a line of x, the most */
    /* windows' numbers and products of a tile's rows; the numbers of a block of tiles */
    CAMEO_WIDE_LINE_ROOM_A =
        CAMEO_WIDE_LINE_POINTS * CAMEO_WIDE_ROWS * (CAMEO_WIDE_LINE_DEEP + CAMEO_WIDE_LINE_TILES),
    CAMEO_WIDE_LINE_ROOM_B = CAMEO_WIDE_LINE_POINTS * CAMEO_WIDE_LINE_DEPTH * CAMEO_WIDE_LINE_TILES
};

/* Tiles that lie in one line of the output. */
typedef struct cameo_wide_line_run {
    int64_t line, first, count;
} cameo_wide_line_run;

/* What a block of tiles is computed of. */
typedef struct cameo_wide_line_job {
    const cameo_wide *p;
    const cameo_wide_planes *s; /* the windows, dims that are 1 in front */
    int64_t taps, m, across;    /* places of a window; outputs of a tile; tiles of a line */
    cameo_wide_line_run runs[CAMEO_WIDE_LINE_TILES];
    int64_t nruns, tiles;
} cameo_wide_line_job;

/* Is the window one whose tiles save at least a third of the products? Whatever part of y is asked
 * for. */
static inline __attribute__((unused)) int
cameo_wide_line_fits(const cameo_wide *p, cameo_wide_line_job *j, cameo_wide_planes *s)
{
    if (!p->window || !p->fresh || !p->narrow_b || p->rows < CAMEO_WIDE_LINE_ROWS ||
        !cameo_wide_planes_of(s, p->window))
        return 0;
    const cameo_wide_window *w = &s->w;
    *j = (cameo_wide_line_job){.p = p, .s = s, .taps = w->taps[2], .m = 9 - w->taps[2]};
    if (j->taps < CAMEO_WIDE_LINE_LEAST || j->taps > CAMEO_WIDE_LINE_MOST || w->stride[2] != 1 ||
        w->dilation[2] != 1 || p->depth / j->taps < CAMEO_WIDE_LINE_LINES ||
        w->out[2] + 2 * CAMEO_WIDE_LINE_POINTS > CAMEO_WIDE_LINE_WIDTH)
        return 0;
    j->across = (w->out[2] + j->m - 1) / j->m;
    return 2 * j->taps * w->out[2] >= 3 * CAMEO_WIDE_LINE_POINTS * j->across;
}

/* Is one of n numbers not finite? */
static inline __attribute__((always_inline)) uint32_t cameo_wide_line_odd(const float *x, int64_t n,
                                                                          const int64_t step)
{
    uint32_t any = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i * step, sizeof bits);
        any |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return any;
}

/* Are all numbers of x finite? Tiles would spread one that is not to their other outputs. */
static __attribute__((noinline, unused)) CAMEO_WIDE_WHOLE int
cameo_wide_line_finite(const cameo_wide *p, const cameo_wide_planes *s)
{
    const cameo_wide_window *w = &s->w;
    const int64_t plane = w->in[1] * w->in[2], step = w->step[2];
    const int whole = w->step[1] == w->in[2] * step; /* rows follow one another */
    const int64_t rows = whole ? 1 : w->in[1], wide = whole ? plane : w->in[2];
    uint32_t any = 0;
    for (int64_t c = 0; c < p->depth / s->taps; c++)
        for (int64_t y = 0; y < rows; y++) {
            const float *x = p->narrow_b + c * w->channel + y * w->step[1];
            any |= step == 1 ? cameo_wide_line_odd(x, wide, 1) : cameo_wide_line_odd(x, wide, step);
        }
    return !any;
}

/* ---- the eight numbers of x ---- */

/* Of a vector of tiles; d: for each of the eight numbers those of all tiles, `wide` from the next.
 */
static inline __attribute__((always_inline)) void
cameo_wide_line_values(const double *d, const int64_t wide, double *to, int64_t apart)
{
    cameo_wide_vec x[CAMEO_WIDE_LINE_POINTS];
    for (int i = 0; i < CAMEO_WIDE_LINE_POINTS; i++)
        x[i] = *(const cameo_wide_vec *)(d + i * wide);
    const cameo_wide_vec even[3] = {x[6] - 4.25 * x[4] + x[2], x[6] - 1.25 * x[4] + 0.25 * x[2],
                                    x[6] - 5.0 * x[4] + 4.0 * x[2]};
    const cameo_wide_vec odd[3] = {x[5] - 4.25 * x[3] + x[1],
                                   2.0 * (x[5] - 1.25 * x[3] + 0.25 * x[1]),
                                   0.5 * (x[5] - 5.0 * x[3] + 4.0 * x[1])};
    *(cameo_wide_vec *)to = x[6] - x[0] + 5.25 * (x[2] - x[4]);
    for (int i = 0; i < 3; i++) {
        *(cameo_wide_vec *)(to + (1 + 2 * i) * apart) = even[i] + odd[i];
        *(cameo_wide_vec *)(to + (2 + 2 * i) * apart) = even[i] - odd[i];
    }
    *(cameo_wide_vec *)(to + 7 * apart) = x[7] - x[1] + 5.25 * (x[3] - x[5]);
}

/* As many vectors as one has numbers, rows, become columns. */
#if defined(__AVX__) && !defined(__AVX512F__)
enum { CAMEO_WIDE_LINE_TURNS = 1 };
static inline __attribute__((always_inline)) void cameo_wide_line_turn(cameo_wide_vec *v)
{
    const cameo_wide_vec a = __builtin_shufflevector(v[0], v[1], 0, 4, 2, 6);
    const cameo_wide_vec b = __builtin_shufflevector(v[0], v[1], 1, 5, 3, 7);
    const cameo_wide_vec c = __builtin_shufflevector(v[2], v[3], 0, 4, 2, 6);
    const cameo_wide_vec d = __builtin_shufflevector(v[2], v[3], 1, 5, 3, 7);
    v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    v[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    v[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}
#else
enum { CAMEO_WIDE_LINE_TURNS = 0 };
static inline __attribute__((always_inline)) void cameo_wide_line_turn(cameo_wide_vec *v)
{
    (void)v;
}
#endif

/* Tile after tile of a line of x, `line` beginning with the first: its eight numbers apart. */
static inline __attribute__((always_inline)) void
cameo_wide_line_spread_of(const double *line, int64_t count, const int m, const int64_t wide,
                          double *to)
{
    int64_t t = 0;
    for (; CAMEO_WIDE_LINE_TURNS && t + CAMEO_WIDE_LANES <= count; t += CAMEO_WIDE_LANES)
        for (int i = 0; i < CAMEO_WIDE_LINE_POINTS; i += CAMEO_WIDE_LANES) {
            cameo_wide_vec v[CAMEO_WIDE_LANES];
            for (int l = 0; l < CAMEO_WIDE_LANES; l++)
                v[l] = *(const cameo_wide_vec *)(line + (t + l) * m + i);
            cameo_wide_line_turn(v);
            for (int l = 0; l < CAMEO_WIDE_LANES; l++)
                *(cameo_wide_vec *)(to + (i + l) * wide + t) = v[l];
        }
    for (; t < count; t++)
        for (int i = 0; i < CAMEO_WIDE_LINE_POINTS; i++)
            to[i * wide + t] = line[t * m + i];
}

static inline __attribute__((always_inline)) void
cameo_wide_line_spread(const double *line, int64_t count, int64_t m, const int64_t wide, double *to)
{
    if (m == 6)
        cameo_wide_line_spread_of(line, count, 6, wide, to);
    else if (m == 4)
        cameo_wide_line_spread_of(line, count, 4, wide, to);
    else
        cameo_wide_line_spread_of(line, count, (int)m, wide, to);
}

/* The block's tiles of some channels' lines, from k on: for each point panels of tiles, in which
 * those of a k are neighbours. */
static __attribute__((noinline, unused)) CAMEO_WIDE_WHOLE void
cameo_wide_line_tiles(const cameo_wide_line_job *j, int64_t k, int64_t depth, double *to)
{
    double line[CAMEO_WIDE_LINE_WIDTH], d[CAMEO_WIDE_LINE_POINTS * CAMEO_WIDE_LINE_TILES] = {0};
    const cameo_wide_window *w = &j->s->w;
    for (int64_t i = 0; i < depth; i++) {
        const int64_t channel = (k + i) / w->taps[1] * w->channel;
        const int64_t down = (k + i) % w->taps[1] * w->dilation[1] - w->pad[1];
        int64_t at = 0;
        for (int64_t r = 0; r < j->nruns; r++) {
            const cameo_wide_line_run *run = &j->runs[r];
            const int64_t row = run->line * w->stride[1] + down;
            const int64_t width = run->count * j->m + CAMEO_WIDE_LINE_POINTS - j->m;
            if (row < 0 || row >= w->in[1])
                memset(line, 0, (size_t)width * sizeof *line);
            else
                cameo_wide_planes_line(j->p, w, channel + row * w->step[1],
                                       run->first * j->m - w->pad[2], width, line);
            cameo_wide_line_spread(line, run->count, j->m, CAMEO_WIDE_LINE_TILES, d + at);
            at += run->count;
        }
        for (int64_t t = 0; t < j->tiles; t += CAMEO_WIDE_LANES)
            cameo_wide_line_values(d + t, CAMEO_WIDE_LINE_TILES,
                                   to + t / CAMEO_WIDE_PANEL * CAMEO_WIDE_PANEL * depth +
                                       i * CAMEO_WIDE_PANEL + t % CAMEO_WIDE_PANEL,
                                   CAMEO_WIDE_LINE_TILES * depth);
    }
}

/* ---- those of windows ---- */

/* Of `height` rows side by side, w: for each place of the window those rows. */
static inline __attribute__((always_inline)) void
cameo_wide_line_weights_of(const double *w, int64_t depth, int64_t taps, const int height,
                           double *to)
{
    static const double points[3] = {1, 2, 0.5}, parts[3] = {-1 / 4.5, 1 / 90.0, 1 / 1.40625};
    const int64_t apart = CAMEO_WIDE_LINE_DEEP * CAMEO_WIDE_ROWS;
    for (int64_t k = 0; k < depth; k++, w += taps * height, to += height)
        for (int r = 0; r < height; r++) {
            to[r] = -w[r];
            to[7 * apart + r] = w[(taps - 1) * height + r];
            for (int q = 0; q < 3; q++) {
                double even = 0, odd = 0, power = parts[q];
                for (int64_t i = 0; i < taps; i++, power *= points[q])
                    *(i % 2 ? &odd : &even) += power * w[i * height + r];
                to[(1 + 2 * q) * apart + r] = even + odd;
                to[(2 + 2 * q) * apart + r] = even - odd;
            }
        }
}

/* The same of a tile's whole rows, a vector at a time. */
static inline __attribute__((always_inline)) void
cameo_wide_line_weights_whole(const double *w, int64_t depth, const int64_t taps, double *to)
{
    static const double points[3] = {1, 2, 0.5}, parts[3] = {-1 / 4.5, 1 / 90.0, 1 / 1.40625};
    const int64_t apart = CAMEO_WIDE_LINE_DEEP * CAMEO_WIDE_ROWS;
    for (int64_t k = 0; k < depth; k++, w += taps * CAMEO_WIDE_ROWS, to += CAMEO_WIDE_ROWS)
        for (int r = 0; r < CAMEO_WIDE_ROWS; r += CAMEO_WIDE_LANES) {
            *(cameo_wide_vec *)(to + r) = -*(const cameo_wide_vec *)(w + r);
            *(cameo_wide_vec *)(to + 7 * apart + r) =
                *(const cameo_wide_vec *)(w + (taps - 1) * CAMEO_WIDE_ROWS + r);
            for (int q = 0; q < 3; q++) {
                cameo_wide_vec sums[2] = {{0}, {0}};
                double power = parts[q];
#pragma GCC unroll 8
                for (int i = 0; i < taps; i++, power *= points[q])
                    sums[i % 2] += power * *(const cameo_wide_vec *)(w + i * CAMEO_WIDE_ROWS + r);
                *(cameo_wide_vec *)(to + (1 + 2 * q) * apart + r) = sums[0] + sums[1];
                *(cameo_wide_vec *)(to + (2 + 2 * q) * apart + r) = sums[0] - sums[1];
            }
        }
}

static __attribute__((noinline, unused)) CAMEO_WIDE_WHOLE void
cameo_wide_line_weights(const double *w, int64_t depth, int64_t taps, int height, double *to)
{
    if (height == CAMEO_WIDE_ROWS && taps == 3)
        cameo_wide_line_weights_whole(w, depth, 3, to);
    else if (height == CAMEO_WIDE_ROWS && taps == 5)
        cameo_wide_line_weights_whole(w, depth, 5, to);
    else if (height == CAMEO_WIDE_ROWS)
        cameo_wide_line_weights_whole(w, depth, taps, to);
    else
        cameo_wide_line_weights_of(w, depth, taps, height, to);
}

/* ---- outputs ---- */

/* m neighbours of a vector of tiles, vectors of each; v: products at the points. */
static inline __attribute__((always_inline)) void
cameo_wide_line_outputs(const cameo_wide_vec *v, const int m, cameo_wide_vec *to)
{
    double powers[3] = {1, 1, 1};
#pragma GCC unroll 8
    for (int i = 0; i < m; i++) {
        cameo_wide_vec sum = {0};
#pragma GCC unroll 3
        for (int q = 0; q < 3; q++)
            sum += powers[q] * (i % 2 ? v[1 + 2 * q] - v[2 + 2 * q] : v[1 + 2 * q] + v[2 + 2 * q]);
        powers[1] *= 2;
        powers[2] *= 0.5;
        sum += i == 0 ? v[0] : (cameo_wide_vec){0};
        sum += i == m - 1 ? v[7] : (cameo_wide_vec){0};
        to[i] = sum;
    }
}

/* Where an output of a tile is, of those of a row: neighbours of a tile lie side by side, or those
 * of all tiles. */
static inline __attribute__((always_inline)) int64_t cameo_wide_line_place(int64_t tile, int i,
                                                                           const int turned)
{
    return turned ? tile * CAMEO_WIDE_LINE_POINTS + i : i * CAMEO_WIDE_LINE_TILES + tile;
}

/* A run's outputs go to y, of which there are columns n0 .. n1, or are added to it; n: the first
 * one's, `tile` its tile. */
static inline __attribute__((always_inline)) void
cameo_wide_line_add(const double *out, int64_t tile, int64_t count, const int m, const int turned,
                    int64_t n, int64_t n0, int64_t n1, const double *start, const int fresh,
                    double *y)
{
    const double first = fresh ? *start : 0;
    const int whole = turned ? m / CAMEO_WIDE_LANES * CAMEO_WIDE_LANES : 0;
    for (const int64_t end = tile + count; tile < end; tile++, n += m)
        if (n0 <= n && n + m <= n1) {
            for (int i = 0; i < whole; i += CAMEO_WIDE_LANES) {
                cameo_wide_vec *at = (cameo_wide_vec *)(y + n + i);
                const double *from = out + cameo_wide_line_place(tile, i, turned);
                cameo_wide_vec sum = *(const cameo_wide_vec *)from;
                if (fresh)
                    sum += first;
                else
                    sum += *at;
                *at = sum;
            }
            for (int i = whole; i < m; i++)
                y[n + i] = (fresh ? first : y[n + i]) + out[cameo_wide_line_place(tile, i, turned)];
        } else {
            for (int i = 0; i < m; i++)
                if (n0 <= n + i && n + i < n1)
                    y[n + i] =
                        (fresh ? first : y[n + i]) + out[cameo_wide_line_place(tile, i, turned)];
        }
}

/* Products of a row of y: for each point those of a block's tiles, `apart` from the next point's.
 * `start`: what the row begins with; NULL: it is added to. */
typedef struct cameo_wide_line_out {
    const double *products;
    int64_t apart, n0, n1;
    const double *start;
    double *y;
} cameo_wide_line_out;

static inline __attribute__((always_inline)) void
cameo_wide_line_row_of(const cameo_wide_line_job *j, const cameo_wide_line_out *o, const int m)
{
    const int turned = CAMEO_WIDE_LINE_TURNS && m >= CAMEO_WIDE_LANES;
    double out[CAMEO_WIDE_LINE_POINTS * CAMEO_WIDE_LINE_TILES];
    for (int64_t t = 0; t < j->tiles; t += CAMEO_WIDE_LANES) {
        cameo_wide_vec v[CAMEO_WIDE_LINE_POINTS], sums[CAMEO_WIDE_LINE_POINTS] = {{0}};
        for (int i = 0; i < CAMEO_WIDE_LINE_POINTS; i++)
            v[i] = *(const cameo_wide_vec *)(o->products + i * o->apart + t);
        cameo_wide_line_outputs(v, m, sums);
        for (int i = 0; i < m; i += turned ? CAMEO_WIDE_LANES : 1) {
            if (turned)
                cameo_wide_line_turn(sums + i);
            for (int l = 0; l < (turned ? CAMEO_WIDE_LANES : 1); l++)
                *(cameo_wide_vec *)(out + cameo_wide_line_place(t + (turned ? l : 0), i, turned)) =
                    sums[i + l];
        }
    }
    for (int64_t r = 0, at = 0; r < j->nruns; at += j->runs[r++].count) {
        const cameo_wide_line_run *run = &j->runs[r];
        const int64_t begin = run->line * j->s->w.out[2], n = begin + run->first * m;
        const int64_t end = cameo_wide_least(o->n1, begin + j->s->w.out[2]);
        if (o->start)
            cameo_wide_line_add(out, at, run->count, m, turned, n, o->n0, end, o->start, 1, o->y);
        else
            cameo_wide_line_add(out, at, run->count, m, turned, n, o->n0, end, NULL, 0, o->y);
    }
}

static __attribute__((noinline, unused)) CAMEO_WIDE_WHOLE void
cameo_wide_line_row_out(const cameo_wide_line_job *j, const cameo_wide_line_out *o)
{
    switch (j->m) {
    case 2:
        cameo_wide_line_row_of(j, o, 2);
        break;
    case 3:
        cameo_wide_line_row_of(j, o, 3);
        break;
    case 4:
        cameo_wide_line_row_of(j, o, 4);
        break;
    case 5:
        cameo_wide_line_row_of(j, o, 5);
        break;
    default:
        cameo_wide_line_row_of(j, o, 6);
    }
}

/* Rows m .. m + rows, one tile high, at all points, of columns n0 .. n1; `fresh`: y is written. */
static inline __attribute__((unused)) void
cameo_wide_line_rows_out(const cameo_wide_line_job *j, const double *products, int64_t m,
                         int64_t rows, int64_t n0, int64_t n1, int fresh)
{
    double start[CAMEO_WIDE_ROWS];
    cameo_wide_starts(j->p, m, rows, start);
    for (int64_t r = 0; r < rows; r++) {
        const cameo_wide_line_out o = {products + r * CAMEO_WIDE_LINE_TILES,
                                       CAMEO_WIDE_LINE_TILES * CAMEO_WIDE_ROWS,
                                       n0,
                                       n1,
                                       fresh ? start + r : NULL,
                                       j->p->y + (m + r) * j->p->ym};
        cameo_wide_line_row_out(j, &o);
    }
}

/* ---- the whole ---- */

/* Tiles g0 .. g1 of all lines, counted on from one to the next. */
static inline __attribute__((unused)) void cameo_wide_line_block_of(cameo_wide_line_job *j,
                                                                    int64_t g0, int64_t g1)
{
    j->nruns = 0;
    j->tiles = g1 - g0;
    for (int64_t count; g0 < g1; g0 += count) {
        const int64_t first = g0 % j->across, left = j->across - first;
        count = cameo_wide_least(left, g1 - g0);
        j->runs[j->nruns++] = (cameo_wide_line_run){g0 / j->across, first, count};
    }
}

/* Rows m .. m + rows, one tile high, by values of k: their windows' numbers, in `room`. Returns
 * room behind them, for products. */
static inline __attribute__((unused)) double *cameo_wide_line_windows(const cameo_wide_line_job *j,
                                                                      int64_t m, int64_t rows,
                                                                      int64_t k, int64_t depth,
                                                                      double *room)
{
    double weights[CAMEO_WIDE_LINE_DEEP * CAMEO_WIDE_LINE_MOST * CAMEO_WIDE_ROWS];
    cameo_wide_pack_a(j->p, m, rows, k * j->taps, depth * j->taps, weights);
    cameo_wide_line_weights(weights, depth, j->taps, cameo_wide_height(rows), room);
    return room + CAMEO_WIDE_LINE_POINTS * CAMEO_WIDE_LINE_DEEP * CAMEO_WIDE_ROWS;
}

/* Rows m .. m + rows, one tile high, of a block, by values of k whose tiles of x are there. `room`
 * holds its windows' numbers and products. */
static inline __attribute__((unused)) void
cameo_wide_line_rows_add(const cameo_wide_line_job *j, int64_t m, int64_t rows, int64_t k,
                         int64_t depth, const double *tiles, double *room, int64_t n0, int64_t n1)
{
    static const double nothing[CAMEO_WIDE_ROWS];
    double *products = cameo_wide_line_windows(j, m, rows, k, depth, room);
    const int height = cameo_wide_height(rows);
    const int64_t apart = CAMEO_WIDE_LINE_TILES * CAMEO_WIDE_ROWS, lanes = CAMEO_WIDE_LANES;
    const int64_t width = (j->tiles + lanes - 1) / lanes * lanes;
    for (int i = 0; i < CAMEO_WIDE_LINE_POINTS; i++)
        for (int64_t t = 0; t < width; t += CAMEO_WIDE_PANEL)
            cameo_wide_tile(depth, room + i * CAMEO_WIDE_LINE_DEEP * CAMEO_WIDE_ROWS,
                            tiles + (i * CAMEO_WIDE_LINE_TILES + t) * depth,
                            products + i * apart + t, CAMEO_WIDE_LINE_TILES, height,
                            cameo_wide_least(width - t, CAMEO_WIDE_PANEL), nothing);
    cameo_wide_line_rows_out(j, products, m, rows, n0, n1, k == 0);
}

#endif
