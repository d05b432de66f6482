/* Products of float32 matrices: C[m,n] += sum over k of A[m,k] * B[k,n], with any strides of A and
 * B and unit stride along C's rows. A block of A is packed in panels of rows; B is read where its
 * rows are contiguous, else copied panel by panel, unless it was packed before. */
#ifndef CAMEO_GEMM_H
#define CAMEO_GEMM_H

#include <stdint.h>
#include <string.h>

enum { CAMEO_GEMM_K = 256, CAMEO_GEMM_M = 128 }; /* values of k and rows in a block */
enum { CAMEO_GEMM_AHEAD = 4096 }; /* bytes of B asked for before they are read once */

/* Rows of A as panels of CAMEO_TILE_ROWS: for each k the numbers of its rows side by side. */
static inline __attribute__((unused)) void cameo_gemm_pack_a(int64_t m, int64_t k, const float *a,
                                                             int64_t am, int64_t ak, float *to)
{
    for (int64_t i = 0; i < m; i += CAMEO_TILE_ROWS, to += k * CAMEO_TILE_ROWS) {
        const int64_t rows = m - i < CAMEO_TILE_ROWS ? m - i : CAMEO_TILE_ROWS;
        const float *from = a + i * am;
        if (rows == CAMEO_TILE_ROWS)
            for (int64_t x = 0; x < k; x++)
                for (int r = 0; r < CAMEO_TILE_ROWS; r++)
                    to[x * CAMEO_TILE_ROWS + r] = from[r * am + x * ak];
        else
            for (int64_t r = 0; r < rows; r++)
                for (int64_t x = 0; x < k; x++)
                    to[x * CAMEO_TILE_ROWS + r] = from[r * am + x * ak];
    }
}

/* All rows of a packed block times one panel of at most a tile's columns. ahead: bytes from b to
 * what is read soon after it; its lines come while b is multiplied, one of a row with each of the
 * first tiles, or all of them where rows are few. */
static inline __attribute__((unused)) void cameo_gemm_panel(int64_t m, int64_t width, int64_t k,
                                                            const float *a, const float *b,
                                                            const int64_t *at, int64_t ahead,
                                                            float *c, int64_t ldc)
{
    const int64_t vectors = (width + CAMEO_LANES - 1) / CAMEO_LANES;
    for (int64_t i = 0; i < m; i += CAMEO_ROWS) {
        const int64_t rows = m - i < CAMEO_ROWS ? m - i : CAMEO_ROWS;
        cameo_tiles[rows - 1][vectors - 1](
            k, a + i / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS * k + i % CAMEO_TILE_ROWS, b, at, ahead,
            c + i * ldc, ldc, width, 1, NULL);
        ahead = ahead && i < 2 * CAMEO_ROWS ? ahead + 64 : 0;
    }
}

/* C += A * B. am, ak, bk, bn, ldc: strides in elements. */
static __attribute__((noinline, unused)) void cameo_gemm(int64_t m, int64_t n, int64_t k,
                                                         const float *a, int64_t am, int64_t ak,
                                                         const float *b, int64_t bk, int64_t bn,
                                                         float *c, int64_t ldc)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    float block[CAMEO_GEMM_M * CAMEO_GEMM_K], panel[CAMEO_GEMM_K * PANEL];
    int64_t rows_at[CAMEO_GEMM_K], packed_at[CAMEO_GEMM_K];
    for (int64_t x = 0; x < CAMEO_GEMM_K && x < k; x++) {
        rows_at[x] = x * bk;
        packed_at[x] = x * PANEL;
    }
    for (int64_t i = 0; i < m; i += CAMEO_GEMM_M)
        for (int64_t p = 0; p < k; p += CAMEO_GEMM_K) {
            const int64_t rows = m - i < CAMEO_GEMM_M ? m - i : CAMEO_GEMM_M;
            const int64_t depth = k - p < CAMEO_GEMM_K ? k - p : CAMEO_GEMM_K;
            cameo_gemm_pack_a(rows, depth, a + i * am + p * ak, am, ak, block);
            for (int64_t j = 0; j < n; j += PANEL) {
                const int64_t width = n - j < PANEL ? n - j : PANEL;
                const float *from = b + p * bk + j * bn;
                const int direct = bn == 1 && width % CAMEO_LANES == 0;
                for (int64_t x = 0; x < depth && !direct; x++)
                    for (int64_t y = 0; y < PANEL; y++)
                        panel[x * PANEL + y] = y < width ? from[x * bk + y * bn] : 0.0f;
                cameo_gemm_panel(rows, width, depth, block, direct ? from : panel,
                                 direct ? rows_at : packed_at, 0, c + i * ldc + j, ldc);
            }
        }
}

/* The same with B packed: panels of CAMEO_TILE_COLUMNS columns, each k rows side by side; the last
 * is narrower where vectors of 16 allow, padded to them. */
static __attribute__((noinline, unused)) void cameo_gemm_packed(int64_t m, int64_t n, int64_t k,
                                                                const float *a, int64_t am,
                                                                int64_t ak, const float *b,
                                                                float *c, int64_t ldc)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS, WIDTH = CAMEO_TILE_COLUMNS };
    float block[CAMEO_GEMM_M * CAMEO_GEMM_K];
    int64_t full_at[CAMEO_GEMM_K], last_at[CAMEO_GEMM_K];
    const int64_t last = (n - (n - 1) / WIDTH * WIDTH + 15) / 16 * 16;
    for (int64_t x = 0; x < CAMEO_GEMM_K && x < k; x++) {
        full_at[x] = x * WIDTH;
        last_at[x] = x * last;
    }
    /* Few rows: all of A is packed at once, and B is read from its first element to its last. */
    const int few = m <= CAMEO_TILE_ROWS && k <= CAMEO_GEMM_M * CAMEO_GEMM_K / CAMEO_TILE_ROWS;
    for (int64_t p = 0; few && p < k; p += CAMEO_GEMM_K)
        cameo_gemm_pack_a(m, k - p < CAMEO_GEMM_K ? k - p : CAMEO_GEMM_K, a + p * ak, am, ak,
                          block + p * CAMEO_TILE_ROWS);
    for (int64_t j = 0; few && j < n; j += WIDTH)
        for (int64_t part = 0; part < WIDTH && j + part < n; part += PANEL)
            for (int64_t p = 0; p < k; p += CAMEO_GEMM_K) {
                const int64_t left = n - j - part, ldb = j + WIDTH > n ? last : WIDTH;
                cameo_gemm_panel(
                    m, left < PANEL ? left : PANEL, k - p < CAMEO_GEMM_K ? k - p : CAMEO_GEMM_K,
                    block + p * CAMEO_TILE_ROWS, b + j * k + p * ldb + part,
                    j + WIDTH > n ? last_at : full_at, CAMEO_GEMM_AHEAD, c + j + part, ldc);
            }
    for (int64_t i = 0; !few && i < m; i += CAMEO_GEMM_M)
        for (int64_t p = 0; p < k; p += CAMEO_GEMM_K) {
            const int64_t rows = m - i < CAMEO_GEMM_M ? m - i : CAMEO_GEMM_M;
            const int64_t depth = k - p < CAMEO_GEMM_K ? k - p : CAMEO_GEMM_K;
            cameo_gemm_pack_a(rows, depth, a + i * am + p * ak, am, ak, block);
            for (int64_t j = 0; j < n; j += WIDTH) {
                const int narrow = j + WIDTH > n;
                const int64_t next = j + WIDTH < n ? k * WIDTH : 0; /* from this panel to it */
                for (int64_t part = 0; part < WIDTH && j + part < n; part += PANEL) {
                    const int64_t left = n - j - part, width = left < PANEL ? left : PANEL;
                    cameo_gemm_panel(
                        rows, width, depth, block, b + j * k + p * (narrow ? last : WIDTH) + part,
                        narrow ? last_at : full_at, part ? 0 : next * (int64_t)sizeof *b,
                        c + i * ldc + j + part, ldc);
                }
            }
        }
}

/* ---- shares of a product ---- */

enum { CAMEO_GEMM_TALL = 512 }; /* so many rows are divided by rows, fewer by columns */

/* What units from .. to of a product are: blocks of rows, or panels of columns. */
typedef struct cameo_rectangle {
    int64_t m0, m1, n0, n1;
} cameo_rectangle;

static inline __attribute__((unused)) int64_t cameo_gemm_units(int64_t m, int64_t n)
{
    return m >= CAMEO_GEMM_TALL ? (m + CAMEO_GEMM_M - 1) / CAMEO_GEMM_M
                                : (n + CAMEO_TILE_COLUMNS - 1) / CAMEO_TILE_COLUMNS;
}

static inline __attribute__((unused)) cameo_rectangle cameo_gemm_share(int64_t m, int64_t n,
                                                                       int64_t from, int64_t to)
{
    const int tall = m >= CAMEO_GEMM_TALL;
    const int64_t unit = tall ? CAMEO_GEMM_M : CAMEO_TILE_COLUMNS, end = tall ? m : n;
    const int64_t low = from * unit, high = to * unit < end ? to * unit : end;
    return tall ? (cameo_rectangle){low, high, 0, n} : (cameo_rectangle){0, m, low, high};
}

/* Is A packed once for all, before its columns are divided? */
static inline __attribute__((unused)) int cameo_gemm_packs(int64_t m)
{
    return m > CAMEO_TILE_ROWS && m < CAMEO_GEMM_TALL;
}

/* Rows of the block of packed rows that begins at row i, whole tiles. */
static inline __attribute__((unused)) int64_t cameo_gemm_block(int64_t m, int64_t i)
{
    const int64_t rows = m - i < CAMEO_GEMM_M ? m - i : CAMEO_GEMM_M;
    return (rows + CAMEO_TILE_ROWS - 1) / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS;
}

/* Tiles of rows from .. to of A, for all k: blocks of CAMEO_GEMM_M rows, in them of CAMEO_GEMM_K
 * values of k, in them tiles of rows. */
static __attribute__((noinline, unused)) void cameo_gemm_pack_all(int64_t m, int64_t k,
                                                                  const float *a, int64_t am,
                                                                  int64_t ak, int64_t from,
                                                                  int64_t to, float *packed)
{
    for (int64_t i = from * CAMEO_TILE_ROWS; i < m && i < to * CAMEO_TILE_ROWS;
         i += CAMEO_TILE_ROWS) {
        const int64_t block = i / CAMEO_GEMM_M * CAMEO_GEMM_M, left = m - i;
        const int64_t high = cameo_gemm_block(m, block);
        for (int64_t p = 0; p < k; p += CAMEO_GEMM_K) {
            const int64_t depth = k - p < CAMEO_GEMM_K ? k - p : CAMEO_GEMM_K;
            cameo_gemm_pack_a(left < CAMEO_TILE_ROWS ? left : CAMEO_TILE_ROWS, depth,
                              a + i * am + p * ak, am, ak,
                              packed + block * k + high * p + (i - block) * depth);
        }
    }
}

/* C += A * B, both packed. */
static __attribute__((noinline, unused)) void cameo_gemm_columns(int64_t m, int64_t n, int64_t k,
                                                                 const float *a, const float *b,
                                                                 float *c, int64_t ldc)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS, WIDTH = CAMEO_TILE_COLUMNS };
    int64_t full_at[CAMEO_GEMM_K], last_at[CAMEO_GEMM_K];
    const int64_t last = (n - (n - 1) / WIDTH * WIDTH + 15) / 16 * 16;
    for (int64_t x = 0; x < CAMEO_GEMM_K && x < k; x++) {
        full_at[x] = x * WIDTH;
        last_at[x] = x * last;
    }
    for (int64_t i = 0; i < m; i += CAMEO_GEMM_M)
        for (int64_t p = 0; p < k; p += CAMEO_GEMM_K) {
            const int64_t rows = m - i < CAMEO_GEMM_M ? m - i : CAMEO_GEMM_M;
            const int64_t depth = k - p < CAMEO_GEMM_K ? k - p : CAMEO_GEMM_K;
            const float *block = a + i * k + cameo_gemm_block(m, i) * p;
            for (int64_t j = 0; j < n; j += WIDTH) {
                const int narrow = j + WIDTH > n;
                const int64_t next = j + WIDTH < n ? k * WIDTH : 0; /* from this panel to it */
                for (int64_t part = 0; part < WIDTH && j + part < n; part += PANEL) {
                    const int64_t left = n - j - part, width = left < PANEL ? left : PANEL;
                    cameo_gemm_panel(
                        rows, width, depth, block, b + j * k + p * (narrow ? last : WIDTH) + part,
                        narrow ? last_at : full_at, part ? 0 : next * (int64_t)sizeof *b,
                        c + i * ldc + j + part, ldc);
                }
            }
        }
}

#endif
