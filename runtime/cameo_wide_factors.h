/* What a product of float64 multiplies, and how a block of its left factor is packed. */
#ifndef CAMEO_WIDE_FACTORS_H
#define CAMEO_WIDE_FACTORS_H

#include "cameo_wide_panels.h"

/* k is a channel and a place of the window, n a place of the output. Dims that there are not are 1
 * and stand before those that there are. */
typedef struct cameo_wide_window {
    int64_t out[3], taps[3], stride[3], dilation[3];
    int64_t pad[3], in[3], step[3]; /* where x is: pad <= place < pad + in; its strides */
    int64_t channel;                /* from one channel of x to the next */
} cameo_wide_window;

/* A factor is of float32 where it is given as narrow or in panels, else of float64. */
typedef struct cameo_wide {
    int64_t rows, columns, depth;
    const double *a, *b;
    const float *narrow_a, *narrow_b;
    cameo_wide_panels high, broad; /* a in panels of rows, b in panels of columns; at NULL: not */
    int64_t am, ak, bk, bn;
    const cameo_wide_window *window; /* b is x, from the first element of its first
                                      window on; NULL: a matrix */
    double *y;
    int64_t ym;
    int fresh;          /* y is written, not added to, */
    const double *bias; /* and begins with this number of each row; NULL: 0 */
    int64_t bm;
} cameo_wide;

static inline __attribute__((always_inline)) cameo_wide_vec cameo_wide_load(const cameo_wide *p,
                                                                            int64_t at)
{
    return cameo_wide_load_of(p->narrow_b, p->b, at);
}

static inline __attribute__((always_inline)) double cameo_wide_one(const cameo_wide *p, int64_t at)
{
    return p->narrow_b ? (double)p->narrow_b[at] : p->b[at];
}

/* An element of a. */
static inline __attribute__((always_inline)) double cameo_wide_left(const cameo_wide *p, int64_t m,
                                                                    int64_t k)
{
    const int64_t at = m * p->am + k * p->ak;
    return p->high.at ? (double)*cameo_wide_high(&p->high, m, k)
           : p->a     ? p->a[at]
                      : (double)p->narrow_a[at];
}

/* n neighbours as float64. What is left over by whole vectors is the end of one that begins further
 * in front. */
static inline __attribute__((always_inline)) void cameo_wide_copy(const cameo_wide *p, int64_t x,
                                                                  int64_t n, double *to)
{
    int64_t i = 0;
    if (n < CAMEO_WIDE_LANES) {
        for (; i < n; i++)
            to[i] = cameo_wide_one(p, x + i);
        return;
    }
    for (; i + CAMEO_WIDE_LANES <= n; i += CAMEO_WIDE_LANES)
        *(cameo_wide_vec *)(to + i) = cameo_wide_load(p, x + i);
    if (i < n)
        *(cameo_wide_vec *)(to + n - CAMEO_WIDE_LANES) =
            cameo_wide_load(p, x + n - CAMEO_WIDE_LANES);
}

/* Rows of the last tile: as few as a tile may have. */
static inline __attribute__((unused)) int cameo_wide_height(int64_t left)
{
    int rows = CAMEO_WIDE_ROWS;
    while (rows / 2 >= left)
        rows /= 2;
    return rows;
}

/* Rows m .. m + rows of a in tiles: for each k the rows of a tile side by side. */
static inline __attribute__((unused)) void cameo_wide_pack_a(const cameo_wide *p, int64_t m,
                                                             int64_t rows, int64_t k, int64_t depth,
                                                             double *to)
{
    for (int64_t i = 0; i < rows; i += CAMEO_WIDE_ROWS, to += CAMEO_WIDE_ROWS * depth) {
        const int64_t left = rows - i;
        const int height = cameo_wide_height(left);
        if (p->high.at)
            cameo_wide_high_tile(&p->high, m + i, height, k, depth, to);
        for (int r = 0; r < height && !p->high.at; r++) {
            const int64_t from = (m + i + r) * p->am + k * p->ak;
            if (r >= left)
                for (int64_t j = 0; j < depth; j++)
                    to[j * height + r] = 0;
            else if (p->narrow_a)
                for (int64_t j = 0; j < depth; j++)
                    to[j * height + r] = (double)p->narrow_a[from + j * p->ak];
            else
                for (int64_t j = 0; j < depth; j++)
                    to[j * height + r] = p->a[from + j * p->ak];
        }
    }
}

/* What the sums of rows from m on begin with. */
static inline __attribute__((unused)) void cameo_wide_starts(const cameo_wide *p, int64_t m,
                                                             int64_t rows, double *start)
{
    for (int64_t i = 0; i < rows; i++)
        start[i] = p->bias ? p->bias[(m + i) * p->bm] : 0;
}

#endif
