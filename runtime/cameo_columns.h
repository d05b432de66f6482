/* Products of a few columns: lanes run over the rows, so that none is empty. */
#ifndef CAMEO_COLUMNS_H
#define CAMEO_COLUMNS_H

#include <stdint.h>

enum {
    CAMEO_FEW = 4,      /* columns */
    CAMEO_SEVERAL = 12, /* where there are no others: as many as registers hold the sums of */
    CAMEO_COLUMN_ROWS = 4 * CAMEO_TILE_ROWS, /* that are summed together, at most */
    CAMEO_COLUMN =
        (int)CAMEO_LANES < (int)CAMEO_TILE_ROWS ? (int)CAMEO_LANES : (int)CAMEO_TILE_ROWS,
    CAMEO_PARTS = CAMEO_TILE_ROWS / CAMEO_COLUMN /* vectors of a panel's rows */
};

typedef float cameo_column __attribute__((vector_size(4 * CAMEO_COLUMN), aligned(4), may_alias));

/* gcc reads memory that holds a vector again for each product of it, which is more reads than a
 * processor has in a cycle, unless it cannot know what the vector is. */
#ifdef __x86_64__
#define CAMEO_HOLD(x) __asm__("" : "+x"(x))
#else
#define CAMEO_HOLD(x) (void)(x)
#endif

/* Where the sums of `rows` rows go, those of a column behind one another. One text: each of its
 * callers would have its own. */
static __attribute__((noinline, unused)) void cameo_columns_end(float (*sums)[CAMEO_COLUMN_ROWS],
                                                                float *c, int64_t ldc, int64_t rows,
                                                                int columns, int more,
                                                                const cameo_finish *finish)
{
    for (int j = 0; j < columns; j++) {
        float *s = sums[j];
        for (int64_t m = 0; more && m < rows; m++)
            s[m] += c[m * ldc + j];
        for (int64_t m = 0; finish && m < rows; m++)
            s[m] = cameo_finished(finish, m, m * ldc + j, s[m]);
        for (int64_t m = 0; m < rows; m++)
            c[m * ldc + j] = s[m];
    }
}

/* One value of k for the sums of `columns` columns, each of `vectors` vectors of rows. */
static inline __attribute__((always_inline, unused)) void
cameo_columns_step(const float *a, int64_t next, const float *b, const int columns,
                   const int vectors, cameo_column *sums)
{
    cameo_column x[2];
    for (int v = 0; v < vectors; v++) {
        x[v] = *(const cameo_column *)(a + v / CAMEO_PARTS * next + v % CAMEO_PARTS * CAMEO_COLUMN);
        CAMEO_HOLD(x[v]);
    }
    for (int j = 0; j < columns; j++)
        for (int v = 0; v < vectors; v++)
            sums[j * vectors + v] += b[j] * x[v];
}

/* `rows` rows, in `vectors` vectors of panels that are `next` elements from one another. Each sum
 * goes in `chains`, each of every so many values of k: together they hide the latency of an
 * addition. What a row's chains are does not depend on the rows beside it. For some processors gcc
 * would round the products of the only sum of a loop by themselves, which a tile does not. */
static inline __attribute__((always_inline, unused)) void
cameo_columns_some(int64_t k, const float *a, int64_t next, const float *b, const int64_t *at,
                   float *c, int64_t ldc, int64_t rows, int more, const int columns,
                   const int chains, const int vectors, const cameo_finish *finish)
{
    cameo_column sums[12] = {{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}};
    float to[CAMEO_SEVERAL][CAMEO_COLUMN_ROWS];
    const int all = vectors * columns;
    int64_t i = 0;
    for (; i + chains <= k && chains > 1; i += chains)
        for (int s = 0; s < chains; s++, a += CAMEO_TILE_ROWS)
            cameo_columns_step(a, next, b + at[i + s], columns, vectors, sums + s * all);
    for (; i < k; i++, a += CAMEO_TILE_ROWS) {
        cameo_columns_step(a, next, b + at[i], columns, vectors, sums);
        if (chains * all == 1)
            CAMEO_HOLD(sums[0]);
    }
    for (int n = 0; n < all; n++) {
        for (int s = 1; s < chains; s++)
            sums[n] += sums[s * all + n];
        *(cameo_column *)(to[n / vectors] + n % vectors * CAMEO_COLUMN) = sums[n];
    }
    cameo_columns_end(to, c, ldc, rows, columns, more, finish);
}

/* Vectors of rows that are summed beside one another; how many chains four columns have. */
#ifdef CAMEO_JOINS
enum { CAMEO_MANY = 1, CAMEO_CHAINS = 2 };
#else
enum { CAMEO_MANY = 2, CAMEO_CHAINS = 1 };
#endif

#ifdef CAMEO_JOINS
/* The same of four panels, `next` elements from one another, two of them in a vector. */
static inline __attribute__((always_inline, unused)) void
cameo_columns_four(int64_t k, const float *a, int64_t next, const float *b, const int64_t *at,
                   float *c, int64_t ldc, int more, const int columns, const int chains,
                   const cameo_finish *finish)
{
    cameo_vec low[CAMEO_SEVERAL], high[CAMEO_SEVERAL];
    float to[CAMEO_SEVERAL][CAMEO_COLUMN_ROWS];
    int64_t i = 0;
    for (int n = 0; n < chains * columns; n++)
        low[n] = high[n] = (cameo_vec){0};
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
                 float *c, int64_t ldc, int64_t rows, int more, const int columns, const int chains,
                 const cameo_finish *finish)
{
    cameo_finish f = {0};
    int64_t step;
    for (int64_t m = 0; m < rows; m += step, a += step / CAMEO_TILE_ROWS * next, c += step * ldc) {
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
            continue;
        }
#endif
        const int many = (int)CAMEO_MANY == (int)CAMEO_PARTS || left > CAMEO_TILE_ROWS;
        step = many ? CAMEO_MANY * CAMEO_COLUMN : CAMEO_TILE_ROWS;
        if (many)
            cameo_columns_some(k, a, next, b, at, c, ldc, left < step ? left : step, more, columns,
                               chains, CAMEO_MANY, finish ? &f : NULL);
        else
            cameo_columns_some(k, a, next, b, at, c, ldc, left < step ? left : step, more, columns,
                               chains, CAMEO_PARTS, finish ? &f : NULL);
    }
}

/* What follows: c[rows][width] = (or += where more) the sum over k of a, panels of CAMEO_TILE_ROWS
 * rows that are `next` elements from one another, times the `width` numbers at b + at[k]. finish:
 * as a tile's. */
typedef void cameo_columns_sum(int64_t k, const float *a, int64_t next, const float *b,
                               const int64_t *at, float *c, int64_t ldc, int64_t rows,
                               int64_t width, int more, const cameo_finish *finish);

#define CAMEO_COLUMNS_OF(N)                                                                        \
    case N:                                                                                        \
        cameo_columns_of(k, a, next, b, at, c, ldc, rows, more, N, 1, finish);                     \
        return;

/* Each sum in one chain, as those of tiles are. */
static __attribute__((noinline, unused)) void
cameo_columns_even(int64_t k, const float *a, int64_t next, const float *b, const int64_t *at,
                   float *c, int64_t ldc, int64_t rows, int64_t width, int more,
                   const cameo_finish *finish)
{
    switch (width) {
        CAMEO_COLUMNS_OF(1)
        CAMEO_COLUMNS_OF(2)
        CAMEO_COLUMNS_OF(3)
        CAMEO_COLUMNS_OF(4)
    default:
        return;
    }
}

/* The same of more than a few columns, up to CAMEO_SEVERAL. Only convolutions that may have so many
 * places name it, so that programs without them are smaller. */
#ifdef CAMEO_JOINS
static __attribute__((noinline, unused)) void
cameo_columns_several(int64_t k, const float *a, int64_t next, const float *b, const int64_t *at,
                      float *c, int64_t ldc, int64_t rows, int64_t width, int more,
                      const cameo_finish *finish)
{
    switch (width) {
        CAMEO_COLUMNS_OF(5)
        CAMEO_COLUMNS_OF(6)
        CAMEO_COLUMNS_OF(7)
        CAMEO_COLUMNS_OF(8)
        CAMEO_COLUMNS_OF(9)
        CAMEO_COLUMNS_OF(10)
        CAMEO_COLUMNS_OF(11)
        CAMEO_COLUMNS_OF(12)
    default:
        return;
    }
}
#define CAMEO_COLUMNS_SEVERAL cameo_columns_several
#else
#define CAMEO_COLUMNS_SEVERAL NULL
#endif

/* The same of a few columns, each sum in as many chains as are quickest. */
static __attribute__((noinline, unused)) void
cameo_columns(int64_t k, const float *a, int64_t next, const float *b, const int64_t *at, float *c,
              int64_t ldc, int64_t rows, int64_t width, int more, const cameo_finish *finish)
{
    if (width == 1)
        cameo_columns_of(k, a, next, b, at, c, ldc, rows, more, 1, 4 * CAMEO_CHAINS, finish);
    else if (width == 2)
        cameo_columns_of(k, a, next, b, at, c, ldc, rows, more, 2, 2 * CAMEO_CHAINS, finish);
    else if (width == 3)
        cameo_columns_of(k, a, next, b, at, c, ldc, rows, more, 3, 2, finish);
    else if (width == 4 && CAMEO_CHAINS > 1)
        cameo_columns_of(k, a, next, b, at, c, ldc, rows, more, 4, CAMEO_CHAINS, finish);
    else
        cameo_columns_even(k, a, next, b, at, c, ldc, rows, width, more, finish);
}

#endif
