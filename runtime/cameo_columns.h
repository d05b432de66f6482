/* Products of a few columns: lanes run over the rows, so that none is empty. */
#ifndef CAMEO_COLUMNS_H
#define CAMEO_COLUMNS_H

#include <stdint.h>

enum {
    CAMEO_FEW = 4,                          /* columns */
    CAMEO_COLUMN_ROWS = 4 * CAMEO_TILE_ROWS /* that are summed together, at most */
};

typedef float cameo_column __attribute__((vector_size(4 * CAMEO_TILE_ROWS), aligned(4), may_alias));

/* Where the sums of `rows` rows go, those of a column behind one another. One text: each of eight
 * callers would have its own. */
static __attribute__((noinline, unused)) void
cameo_columns_end(const float (*sums)[CAMEO_COLUMN_ROWS], float *c, int64_t ldc, int64_t rows,
                  int columns, int more, const cameo_finish *finish)
{
    for (int64_t m = 0; m < rows; m++)
        for (int j = 0; j < columns; j++) {
            const float v = more ? c[m * ldc + j] + sums[j][m] : sums[j][m];
            c[m * ldc + j] = finish ? cameo_finished(finish, m, m * ldc + j, v) : v;
        }
}

/* Each sum goes in `chains`, each of every so many values of k: together they hide the latency of
 * an addition. What a row's chains are does not depend on the rows beside it. */
static inline __attribute__((always_inline, unused)) void
cameo_columns_one(int64_t k, const float *a, const float *b, const int64_t *at, float *c,
                  int64_t ldc, int64_t rows, int more, int columns, int chains,
                  const cameo_finish *finish)
{
    cameo_column sums[8] = {{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}};
    float to[CAMEO_FEW][CAMEO_COLUMN_ROWS];
    int64_t i = 0;
    for (; i + chains <= k; i += chains)
        for (int s = 0; s < chains; s++) {
            const cameo_column x = *(const cameo_column *)(a + (i + s) * CAMEO_TILE_ROWS);
            for (int j = 0; j < columns; j++)
                sums[s * columns + j] += b[at[i + s] + j] * x;
        }
    for (; i < k; i++)
        for (int j = 0; j < columns; j++)
            sums[j] += b[at[i] + j] * *(const cameo_column *)(a + i * CAMEO_TILE_ROWS);
    for (int j = 0; j < columns; j++) {
        for (int s = 1; s < chains; s++)
            sums[j] += sums[s * columns + j];
        *(cameo_column *)to[j] = sums[j];
    }
    cameo_columns_end(to, c, ldc, rows, columns, more, finish);
}

#ifdef CAMEO_JOINS
/* The same of four panels, `next` elements from one another, two of them in a vector. */
static inline __attribute__((always_inline, unused)) void
cameo_columns_four(int64_t k, const float *a, int64_t next, const float *b, const int64_t *at,
                   float *c, int64_t ldc, int more, int columns, int chains,
                   const cameo_finish *finish)
{
    cameo_vec low[8] = {{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}};
    cameo_vec high[8] = {{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}};
    float to[CAMEO_FEW][CAMEO_COLUMN_ROWS];
    int64_t i = 0;
    for (; i + chains <= k; i += chains)
        for (int s = 0; s < chains; s++, a += CAMEO_TILE_ROWS) {
            const cameo_vec x = cameo_join(a, a + next), y = cameo_join(a + 2 * next, a + 3 * next);
            for (int j = 0; j < columns; j++) {
                low[s * columns + j] += b[at[i + s] + j] * x;
                high[s * columns + j] += b[at[i + s] + j] * y;
            }
        }
    for (; i < k; i++, a += CAMEO_TILE_ROWS)
        for (int j = 0; j < columns; j++) {
            low[j] += b[at[i] + j] * cameo_join(a, a + next);
            high[j] += b[at[i] + j] * cameo_join(a + 2 * next, a + 3 * next);
        }
    for (int j = 0; j < columns; j++) {
        for (int s = 1; s < chains; s++) {
            low[j] += low[s * columns + j];
            high[j] += high[s * columns + j];
        }
        *(cameo_vec *)to[j] = low[j];
        *(cameo_vec *)(to[j] + CAMEO_LANES) = high[j];
    }
    cameo_columns_end(to, c, ldc, CAMEO_COLUMN_ROWS, columns, more, finish);
}
#endif

static inline __attribute__((always_inline, unused)) void
cameo_columns_of(int64_t k, const float *a, int64_t next, const float *b, const int64_t *at,
                 float *c, int64_t ldc, int64_t rows, int more, int columns, int chains,
                 const cameo_finish *finish)
{
    cameo_finish f = {0};
    int64_t step;
    for (int64_t m = 0; m < rows; m += step) {
        const int64_t left = rows - m;
        if (finish) {
            f = *finish;
            f.bias += m;
            f.added = f.added ? f.added + m * ldc : NULL;
        }
#ifdef CAMEO_JOINS
        if (left >= CAMEO_COLUMN_ROWS) {
            step = CAMEO_COLUMN_ROWS;
            cameo_columns_four(k, a, next, b, at, c, ldc, more, columns, chains,
                               finish ? &f : NULL);
            a += 4 * next;
            c += step * ldc;
            continue;
        }
#endif
        step = CAMEO_TILE_ROWS;
        cameo_columns_one(k, a, b, at, c, ldc, left < step ? left : step, more, columns, chains,
                          finish ? &f : NULL);
        a += next;
        c += step * ldc;
    }
}

/* c[rows][width] = (or += where more) the sum over k of a, panels of CAMEO_TILE_ROWS rows that are
 * `next` elements from one another, times the `width` numbers at b + at[k]. finish: as a tile's. */
static __attribute__((noinline, unused)) void
cameo_columns(int64_t k, const float *a, int64_t next, const float *b, const int64_t *at, float *c,
              int64_t ldc, int64_t rows, int64_t width, int more, const cameo_finish *finish)
{
    if (width == 1)
        cameo_columns_of(k, a, next, b, at, c, ldc, rows, more, 1, 8, finish);
    else if (width == 2)
        cameo_columns_of(k, a, next, b, at, c, ldc, rows, more, 2, 4, finish);
    else if (width == 3)
        cameo_columns_of(k, a, next, b, at, c, ldc, rows, more, 3, 2, finish);
    else
        cameo_columns_of(k, a, next, b, at, c, ldc, rows, more, 4, 2, finish);
}

#endif
