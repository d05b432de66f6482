/* Weights of float32 as products of float32 read them packed, widened for products of float64: they
 * are stored once. Of a convolution they are rows, for every CAMEO_WIDE_DEPTH values of k panels of
 * CAMEO_WIDE_HIGH rows, of a matrix on the right columns, panels of CAMEO_WIDE_BROAD, the last one
 * as broad as vectors of 16 need. Zeros fill up both. */
#ifndef CAMEO_WIDE_PANELS_H
#define CAMEO_WIDE_PANELS_H

#include "cameo_wide_vectors.h"

enum { CAMEO_WIDE_HIGH = 8, CAMEO_WIDE_BROAD = 48, CAMEO_WIDE_DEPTH = 256 };

typedef struct cameo_wide_panels {
    const float *at;
    int64_t lines, depth; /* rows or columns, and all values of k */
} cameo_wide_panels;

/* Row m at k; each further k up to the next multiple of CAMEO_WIDE_DEPTH is CAMEO_WIDE_HIGH on. */
static inline __attribute__((unused)) const float *cameo_wide_high(const cameo_wide_panels *p,
                                                                   int64_t m, int64_t k)
{
    const int64_t begin = k / CAMEO_WIDE_DEPTH * CAMEO_WIDE_DEPTH, left = p->depth - begin;
    const int64_t depth = left < CAMEO_WIDE_DEPTH ? left : CAMEO_WIDE_DEPTH;
    const int64_t rows = (p->lines + CAMEO_WIDE_HIGH - 1) / CAMEO_WIDE_HIGH * CAMEO_WIDE_HIGH;
    return p->at + begin * rows + (m / CAMEO_WIDE_HIGH * depth + k - begin) * CAMEO_WIDE_HIGH +
           m % CAMEO_WIDE_HIGH;
}

/* Column n, which begins a panel, at k; `*step`: as many columns as it holds, from each k to the
 * next. */
static inline __attribute__((unused)) const float *
cameo_wide_broad(const cameo_wide_panels *p, int64_t n, int64_t k, int64_t *step)
{
    const int64_t left = (p->lines - n + 15) / 16 * 16;
    *step = left < CAMEO_WIDE_BROAD ? left : CAMEO_WIDE_BROAD;
    return p->at + n * p->depth + k * *step;
}

/* Rows of a tile side by side, of values of k that lie in one block of panels. */
static inline __attribute__((unused)) void cameo_wide_high_part(const float *from, int height,
                                                                int64_t depth, double *to)
{
    if (height == CAMEO_WIDE_ROWS) {
        for (int64_t j = 0; j < depth; j++)
            for (int r = 0; r < CAMEO_WIDE_ROWS; r += CAMEO_WIDE_LANES)
                *(cameo_wide_vec *)(to + j * CAMEO_WIDE_ROWS + r) =
                    cameo_wide_widen(from + j * CAMEO_WIDE_HIGH + r);
        return;
    }
    for (int64_t j = 0; j < depth; j++)
        for (int r = 0; r < height; r++)
            to[j * height + r] = (double)from[j * CAMEO_WIDE_HIGH + r];
}

/* A tile's rows from m on, of `depth` values of k: for each the rows side by side. */
static inline __attribute__((unused)) void cameo_wide_high_tile(const cameo_wide_panels *p,
                                                                int64_t m, int height, int64_t k,
                                                                int64_t depth, double *to)
{
    for (int64_t part; depth > 0; k += part, depth -= part, to += part * height) {
        const int64_t left = CAMEO_WIDE_DEPTH - k % CAMEO_WIDE_DEPTH;
        part = depth < left ? depth : left;
        cameo_wide_high_part(cameo_wide_high(p, m, k), height, part, to);
    }
}

/* `width` columns from n on at k, and zeros up to the next vector. */
static inline __attribute__((unused)) void
cameo_wide_broad_row(const cameo_wide_panels *p, int64_t n, int64_t width, int64_t k, double *to)
{
    for (int64_t j = 0, step; j < width; j += CAMEO_WIDE_BROAD) {
        const float *from = cameo_wide_broad(p, n + j, k, &step);
        for (int64_t i = 0; i < step && j + i < width; i += CAMEO_WIDE_LANES)
            *(cameo_wide_vec *)(to + j + i) = cameo_wide_widen(from + i);
    }
}

/* Sums of a row by so many vectors of columns side by side, `step` from each k to the next. */
static inline __attribute__((always_inline)) void
cameo_wide_broad_sum(const double *a, const float *narrow, int64_t ak, int64_t depth,
                     const float *b, int64_t step, double *y, int64_t width, const int vectors)
{
    cameo_wide_vec sums[2 * CAMEO_WIDE_VECTORS];
#pragma GCC unroll 6
    for (int v = 0; v < vectors; v++)
        sums[v] = (cameo_wide_vec){0};
    for (int64_t k = 0; k < depth; k++) {
        const double x = narrow ? (double)narrow[k * ak] : a[k * ak];
#pragma GCC unroll 6
        for (int v = 0; v < vectors; v++)
            sums[v] += x * cameo_wide_widen(b + k * step + v * CAMEO_WIDE_LANES);
    }
    for (int64_t i = 0; i < width && i < vectors * CAMEO_WIDE_LANES; i++)
        y[i] += sums[i / CAMEO_WIDE_LANES][i % CAMEO_WIDE_LANES];
}

/* y += one row by columns n0 .. n1, of which n0 begins a panel. */
static __attribute__((noinline, unused)) CAMEO_WIDE_WHOLE void
cameo_wide_broad_product(const cameo_wide_panels *p, const double *a, const float *narrow,
                         int64_t ak, double *y, int64_t n0, int64_t n1)
{
    enum { MANY = 2 * CAMEO_WIDE_VECTORS, FEW = 2 };
    for (int64_t n = n0, step; n < n1; n += CAMEO_WIDE_BROAD) {
        const float *b = cameo_wide_broad(p, n, 0, &step);
        int64_t i = 0;
        for (; i + MANY * CAMEO_WIDE_LANES <= step; i += MANY * CAMEO_WIDE_LANES)
            cameo_wide_broad_sum(a, narrow, ak, p->depth, b + i, step, y + n + i, n1 - n - i, MANY);
        for (; i < step; i += FEW * CAMEO_WIDE_LANES)
            cameo_wide_broad_sum(a, narrow, ak, p->depth, b + i, step, y + n + i, n1 - n - i, FEW);
    }
}

enum {
    CAMEO_WIDE_NARROW = 4, /* columns for which a is not worth packing */
    CAMEO_WIDE_DEEP = 512  /* values of k in a block then; whole vectors */
};

/* y += rows m0 .. m1, of which m0 begins a panel, by `columns` columns of b, each a row of `depth`
 * values of k from `k` on: neighbours in a panel are rows of y. */
static __attribute__((noinline, unused)) CAMEO_WIDE_WHOLE void
cameo_wide_high_product(const cameo_wide_panels *p, int64_t m0, int64_t m1, int64_t k,
                        int64_t depth, const double *b, int64_t columns, double *y, int64_t ym)
{
    for (int64_t m = m0; m < m1; m += CAMEO_WIDE_LANES) {
        const float *from = cameo_wide_high(p, m, k);
        cameo_wide_vec sums[2][CAMEO_WIDE_NARROW] = {{{0}}};
        int64_t i = 0;
        for (; i + 2 <= depth; i += 2)
#pragma GCC unroll 8
            for (int j = 0; j < 2 * CAMEO_WIDE_NARROW; j++)
                sums[j / CAMEO_WIDE_NARROW][j % CAMEO_WIDE_NARROW] +=
                    b[j % CAMEO_WIDE_NARROW * CAMEO_WIDE_DEEP + i + j / CAMEO_WIDE_NARROW] *
                    cameo_wide_widen(from + (i + j / CAMEO_WIDE_NARROW) * CAMEO_WIDE_HIGH);
        for (; i < depth; i++)
            for (int j = 0; j < CAMEO_WIDE_NARROW; j++)
                sums[0][j] +=
                    b[j * CAMEO_WIDE_DEEP + i] * cameo_wide_widen(from + i * CAMEO_WIDE_HIGH);
        for (int64_t r = 0; r < CAMEO_WIDE_LANES && m + r < m1; r++)
            for (int64_t j = 0; j < columns; j++)
                y[(m + r) * ym + j] += sums[0][j][r] + sums[1][j][r];
    }
}

#endif
