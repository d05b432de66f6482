/* Tiles of sums of products of float64, both factors packed. */
#ifndef CAMEO_WIDE_TILES_H
#define CAMEO_WIDE_TILES_H

#include "cameo_wide_factors.h"

static inline __attribute__((always_inline)) void
cameo_wide_tile_of(int64_t k, const double *a, const double *b, double *y, int64_t ym, int64_t rows,
                   int64_t width, const double *start, const int height, const int vectors)
{
    cameo_wide_vec sums[CAMEO_WIDE_ROWS * CAMEO_WIDE_VECTORS];
#pragma GCC unroll 24
    for (int i = 0; i < height * vectors; i++)
        sums[i] = (cameo_wide_vec){0};
    if (start) {
#pragma GCC unroll 24
        for (int i = 0; i < height * vectors; i++)
            sums[i] += start[i / vectors];
    }
    for (; k > 0; k--, a += height, b += CAMEO_WIDE_PANEL)
#pragma GCC unroll 24
        for (int i = 0; i < height * vectors; i++)
            sums[i] += a[i / vectors] * ((const cameo_wide_vec *)b)[i % vectors];
    if (start && rows == height && width == vectors * CAMEO_WIDE_LANES) {
#pragma GCC unroll 24
        for (int i = 0; i < height * vectors; i++)
            ((cameo_wide_vec *)(y + i / vectors * ym))[i % vectors] = sums[i];
        return;
    }
    if (rows == height && width == vectors * CAMEO_WIDE_LANES) {
#pragma GCC unroll 24
        for (int i = 0; i < height * vectors; i++)
            ((cameo_wide_vec *)(y + i / vectors * ym))[i % vectors] += sums[i];
        return;
    }
    cameo_wide_vec edge[CAMEO_WIDE_ROWS * CAMEO_WIDE_VECTORS];
#pragma GCC unroll 24
    for (int i = 0; i < height * vectors; i++)
        edge[i] = sums[i];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < width; j++)
            y[i * ym + j] = (start ? 0 : y[i * ym + j]) +
                            ((const double *)edge)[i * vectors * CAMEO_WIDE_LANES + j];
}

/* One size of tile each: rows a power of 2, vectors 1 .. CAMEO_WIDE_VECTORS. `start`: what the sums
 * of each row begin with, and y is written; NULL: they are added to y. */
static __attribute__((noinline, unused)) CAMEO_WIDE_WHOLE void
cameo_wide_tile(int64_t k, const double *a, const double *b, double *y, int64_t ym, int64_t rows,
                int64_t width, const double *start)
{
    const int height = cameo_wide_height(rows);
    const int64_t vectors = (width + CAMEO_WIDE_LANES - 1) / CAMEO_WIDE_LANES;
    if (height == CAMEO_WIDE_ROWS && vectors == CAMEO_WIDE_VECTORS)
        cameo_wide_tile_of(k, a, b, y, ym, rows, width, start, CAMEO_WIDE_ROWS, CAMEO_WIDE_VECTORS);
    else if (height == CAMEO_WIDE_ROWS && vectors == 2)
        cameo_wide_tile_of(k, a, b, y, ym, rows, width, start, CAMEO_WIDE_ROWS, 2);
    else if (height == CAMEO_WIDE_ROWS)
        cameo_wide_tile_of(k, a, b, y, ym, rows, width, start, CAMEO_WIDE_ROWS, 1);
    else if (height == 4)
        cameo_wide_tile_of(k, a, b, y, ym, rows, width, start, 4, CAMEO_WIDE_VECTORS);
    else if (height == 2)
        cameo_wide_tile_of(k, a, b, y, ym, rows, width, start, 2, CAMEO_WIDE_VECTORS);
    else
        cameo_wide_tile_of(k, a, b, y, ym, rows, width, start, 1, CAMEO_WIDE_VECTORS);
}

/* y begins with them. */
static inline __attribute__((unused)) void cameo_wide_fill(const cameo_wide *p, int64_t m0,
                                                           int64_t m1, int64_t n0, int64_t n1)
{
    for (int64_t m = m0; m < m1; m++) {
        double start;
        cameo_wide_starts(p, m, 1, &start);
        for (int64_t n = n0; n < n1; n++)
            p->y[m * p->ym + n] = start;
    }
}

#endif
