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
    int fresh;                /* y is written, not added to, */
    const double *bias;       /* and begins with this number of each row, */
    const float *narrow_bias; /* or this one; both NULL: 0 */
    int64_t bm;
    int lines; /* windows may be computed by tiles of a line (cameo_wide_lines.h) */
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

/* As many rows as columns of neighbours of float32, `am` from one row to the next, as columns. */
#if defined(__AVX512F__)
enum { CAMEO_WIDE_SQUARE = 8 };
static inline __attribute__((always_inline)) void cameo_wide_turned(const float *from, int64_t am,
                                                                    double *to)
{
    cameo_wide_narrow v[8], w[8];
    for (int i = 0; i < 8; i++)
        v[i] = *(const cameo_wide_narrow *)(from + i * am);
    for (int i = 0; i < 8; i += 2) {
        w[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        w[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; j++) {
            const cameo_wide_narrow a = w[i + j], b = w[i + j + 2];
            v[i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
            v[i + 2 * j + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; i++) {
        const cameo_wide_narrow a = v[i], b = v[i + 4];
        w[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
        w[i + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int i = 0; i < 8; i++)
        *(cameo_wide_vec *)(to + 8 * i) = __builtin_convertvector(w[i], cameo_wide_vec);
}
#elif defined(__AVX__)
enum { CAMEO_WIDE_SQUARE = 4 };
static inline __attribute__((always_inline)) void cameo_wide_turned(const float *from, int64_t am,
                                                                    double *to)
{
    cameo_wide_narrow v[4], w[4];
    for (int i = 0; i < 4; i++)
        v[i] = *(const cameo_wide_narrow *)(from + i * am);
    for (int i = 0; i < 4; i += 2) {
        w[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 4, 1, 5);
        w[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 2, 6, 3, 7);
    }
    for (int i = 0; i < 4; i++) {
        const cameo_wide_narrow a = w[i / 2], b = w[i / 2 + 2];
        v[i] = i % 2 ? __builtin_shufflevector(a, b, 2, 3, 6, 7)
                     : __builtin_shufflevector(a, b, 0, 1, 4, 5);
        *(cameo_wide_vec *)(to + 4 * i) = __builtin_convertvector(v[i], cameo_wide_vec);
    }
}
#endif

/* Of a tile's `rows` rows, which begin at `from`, the first `count` of them are there; the others
 * are zeros. */
static inline __attribute__((unused)) void cameo_wide_pack_rows(const cameo_wide *p, int64_t from,
                                                                int64_t count, int rows,
                                                                int64_t depth, double *to)
{
    int64_t done = 0;
#if defined(__AVX__)
    enum { N = CAMEO_WIDE_SQUARE };
    for (; p->narrow_a && p->ak == 1 && rows == N && count >= rows && done + N <= depth; done += N)
        cameo_wide_turned(p->narrow_a + from + done, p->am, to + N * done);
#endif
    for (int r = 0; r < rows; r++, from += p->am) {
        if (r >= count)
            for (int64_t j = done; j < depth; j++)
                to[j * rows + r] = 0;
        else if (p->narrow_a)
            for (int64_t j = done; j < depth; j++)
                to[j * rows + r] = (double)p->narrow_a[from + j * p->ak];
        else
            for (int64_t j = done; j < depth; j++)
                to[j * rows + r] = p->a[from + j * p->ak];
    }
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
        else
            cameo_wide_pack_rows(p, (m + i) * p->am + k * p->ak, left, height, depth, to);
    }
}

/* What the sums of rows from m on begin with. */
static inline __attribute__((unused)) void cameo_wide_starts(const cameo_wide *p, int64_t m,
                                                             int64_t rows, double *start)
{
    for (int64_t i = 0; i < rows; i++)
        start[i] = p->bias          ? p->bias[(m + i) * p->bm]
                   : p->narrow_bias ? (double)p->narrow_bias[(m + i) * p->bm]
                                    : 0;
}

#endif
