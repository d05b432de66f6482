/* Products of float32 matrices by constants of 2, 4 or 8 bits with a scale, and it may be a zero
 * point, for each block of k, or of 16 bits: C[m,n] += sum over k of A[m,k] * (q[k,n] - z) * s. Few
 * rows multiply q in registers, so that its bytes alone are read; many rows have it as floats, a
 * piece at a time that stays in the second cache. */
#ifndef CAMEO_NARROW_H
#define CAMEO_NARROW_H

#include "cameo_gemm.h"

enum {
    CAMEO_NARROW_ROWS = 4,  /* of the largest tile */
    CAMEO_NARROW_FEW = 8,   /* so many rows are few */
    CAMEO_NARROW_K = 8192,  /* values of k that are packed at once */
    CAMEO_NARROW_BLOCK = 16 /* of the smallest block */
};

typedef struct cameo_narrow_sizes {
    int64_t m, n, k, block;
    int zeros;  /* are there zero points? */
    int exact;  /* is (q - z) * s rounded before it is multiplied? */
    int halves; /* is A of bfloat16 instead of float32? */
} cameo_narrow_sizes;

/* Element i of A as a float. */
static inline __attribute__((unused)) float cameo_narrow_number(const void *a, int64_t i,
                                                                int halves)
{
    if (!halves)
        return ((const float *)a)[i];
    const uint32_t bits = (uint32_t)((const uint16_t *)a)[i] << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline __attribute__((unused)) int64_t cameo_narrow_width(int64_t n, int64_t j)
{
    const int64_t left = (n - j + 15) / 16 * 16;
    return left < CAMEO_TILE_COLUMNS ? left : CAMEO_TILE_COLUMNS;
}

/* `rows` rows of A from element `first` on side by side, 0 up to a whole block, and their sums over
 * each block. */
static inline __attribute__((unused)) void
cameo_narrow_pack(int64_t rows, int64_t depth, const cameo_narrow_sizes *s, const void *a,
                  int64_t first, int64_t am, int64_t ak, float *to, float *sums)
{
    const int64_t block = s->block, end = (depth + block - 1) / block * block;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t x = 0; x < depth; x++)
            to[x * rows + r] = cameo_narrow_number(a, first + r * am + x * ak, s->halves);
        for (int64_t x = depth; x < end; x++)
            to[x * rows + r] = 0.0f;
    }
    for (int64_t x = 0; x < end; x += block, sums += rows)
        for (int64_t r = 0; r < rows; r++) {
            float sum = 0.0f;
            for (int64_t y = x; y < x + block; y++)
                sum += to[y * rows + r];
            sums[r] = sum;
        }
}

static inline __attribute__((unused)) void cameo_narrow_few(const cameo_narrow *kind,
                                                            cameo_narrow_sizes s, const void *a,
                                                            int64_t am, int64_t ak,
                                                            const int32_t *b, float *c, int64_t ldc)
{
    enum { ONE = CAMEO_LANES * CAMEO_NARROW_VECTORS, PANEL = CAMEO_LANES * CAMEO_VECTORS };
    float packed[CAMEO_NARROW_ROWS * CAMEO_NARROW_K];
    float sums[CAMEO_NARROW_ROWS * CAMEO_NARROW_K / CAMEO_NARROW_BLOCK];
    const int64_t turns = s.block * kind->bits / 32, words = turns + kind->scales + s.zeros;
    const int64_t blocks = (s.k + s.block - 1) / s.block, deep = CAMEO_NARROW_K / s.block;
    for (int64_t i = 0, rows; i < s.m; i += rows) {
        rows = s.m - i >= 4 ? 4 : s.m - i >= 2 ? 2 : 1;
        const int64_t most = rows == 1 ? ONE : PANEL;
        for (int64_t g = 0; g < blocks; g += deep) {
            const int64_t some = blocks - g < deep ? blocks - g : deep, x = g * s.block;
            const int64_t depth = s.k - x < some * s.block ? s.k - x : some * s.block;
            cameo_narrow_pack(rows, depth, &s, a, i * am + x * ak, am, ak, packed, sums);
            for (int64_t j = 0; j < s.n; j += CAMEO_TILE_COLUMNS) {
                const int64_t row = cameo_narrow_width(s.n, j);
                const int32_t *panel = b + j * blocks * words + g * row * words;
                for (int64_t part = 0; part < row && j + part < s.n; part += most) {
                    const int64_t left = s.n - j - part;
                    const int64_t width = left < most ? left : most;
                    const int64_t vectors = (width + CAMEO_LANES - 1) / CAMEO_LANES;
                    kind->tiles[rows / 2][vectors - 1](some, turns, packed, sums, panel + part, row,
                                                       s.zeros, c + i * ldc + j + part, ldc, width);
                }
            }
        }
    }
}

/* Rows of A from element `first` on as panels of CAMEO_TILE_ROWS. */
static inline __attribute__((unused)) void cameo_narrow_pack_rows(int64_t rows, int64_t depth,
                                                                  int halves, const void *a,
                                                                  int64_t first, int64_t am,
                                                                  int64_t ak, float *to)
{
    float wide[CAMEO_TILE_ROWS * CAMEO_GEMM_K];
    if (!halves)
        cameo_gemm_pack_a(rows, depth, (const float *)a + first, am, ak, to);
    for (int64_t i = 0; halves && i < rows; i += CAMEO_TILE_ROWS) {
        const int64_t some = rows - i < CAMEO_TILE_ROWS ? rows - i : CAMEO_TILE_ROWS;
        for (int64_t r = 0; r < some; r++)
            for (int64_t x = 0; x < depth; x++)
                wide[r * depth + x] = cameo_narrow_number(a, first + (i + r) * am + x * ak, 1);
        cameo_gemm_pack_a(some, depth, wide, depth, 1, to + i * depth);
    }
}

/* A block of rows at a time: its values of k are packed, and each panel of B unpacked for it. */
static inline __attribute__((unused)) void
cameo_narrow_many(const cameo_narrow *kind, cameo_narrow_sizes s, const void *a, int64_t am,
                  int64_t ak, const int32_t *b, float *c, int64_t ldc)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    float block[CAMEO_GEMM_M * CAMEO_GEMM_K], floats[CAMEO_GEMM_K * CAMEO_TILE_COLUMNS];
    int64_t at[CAMEO_GEMM_K], last_at[CAMEO_GEMM_K];
    const int64_t turns = s.block * kind->bits / 32, blocks = (s.k + s.block - 1) / s.block;
    const int64_t last =
        cameo_narrow_width(s.n, (s.n - 1) / CAMEO_TILE_COLUMNS * CAMEO_TILE_COLUMNS);
    for (int64_t x = 0; x < CAMEO_GEMM_K; x++) {
        at[x] = x * CAMEO_TILE_COLUMNS;
        last_at[x] = x * last;
    }
    for (int64_t i = 0; i < s.m; i += CAMEO_GEMM_M)
        for (int64_t p = 0; p < s.k; p += CAMEO_GEMM_K) {
            const int64_t rows = s.m - i < CAMEO_GEMM_M ? s.m - i : CAMEO_GEMM_M;
            const int64_t depth = s.k - p < CAMEO_GEMM_K ? s.k - p : CAMEO_GEMM_K;
            cameo_narrow_pack_rows(rows, depth, s.halves, a, i * am + p * ak, am, ak, block);
            for (int64_t j = 0; j < s.n; j += CAMEO_TILE_COLUMNS) {
                const int64_t row = cameo_narrow_width(s.n, j);
                kind->unpack(p, depth, turns, b + j * blocks * (turns + kind->scales + s.zeros),
                             row, s.zeros, floats);
                for (int64_t part = 0; part < row && j + part < s.n; part += PANEL) {
                    const int64_t left = s.n - j - part, width = left < PANEL ? left : PANEL;
                    cameo_gemm_panel(rows, width, depth, block, floats + part,
                                     row == CAMEO_TILE_COLUMNS ? at : last_at, NULL,
                                     c + i * ldc + j + part, ldc, 1);
                }
            }
        }
}

/* Where the words of a panel for the value x of k lie. */
static inline __attribute__((unused)) int64_t cameo_narrow_place(const cameo_narrow *kind,
                                                                 cameo_narrow_sizes s, int64_t x)
{
    const int64_t turns = s.block * kind->bits / 32, turn = x * kind->bits / 32;
    return turn / turns * (turns + kind->scales + s.zeros) + turn % turns;
}

/* C += A * B for the values of k from p0 to p1, A packed (cameo_gemm_pack_all): each panel of B is
 * unpacked for all rows, and while they are multiplied the words of the next one come. */
static inline __attribute__((unused)) void
cameo_narrow_some(const cameo_narrow *kind, cameo_narrow_sizes s, int64_t p0, int64_t p1,
                  const float *a, const int32_t *b, float *c, int64_t ldc)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS, WIDTH = CAMEO_TILE_COLUMNS };
    float floats[CAMEO_GEMM_MOST * WIDTH];
    int64_t at[CAMEO_GEMM_MOST];
    const int64_t padded = (s.m + CAMEO_TILE_ROWS - 1) / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS;
    const int64_t turns = s.block * kind->bits / 32, blocks = (s.k + s.block - 1) / s.block;
    const int64_t words = blocks * (turns + kind->scales + s.zeros);
    for (int64_t j = 0; j < s.n; j += WIDTH) {
        const int64_t row = cameo_narrow_width(s.n, j);
        const int32_t *panel = b + j * words;
        for (int64_t x = 0; (j == 0 || row < WIDTH) && x < CAMEO_GEMM_MOST; x++)
            at[x] = x * row;
        for (int64_t p = p0, depth; p < p1; p += depth) {
            depth = cameo_gemm_depth(p1 - p);
            kind->unpack(p, depth, turns, panel, row, s.zeros, floats);
            const int32_t *next =
                p + depth < p1 ? panel + cameo_narrow_place(kind, s, p + depth) * row
                : j + 2 * WIDTH < s.n
                    ? panel + words * WIDTH + cameo_narrow_place(kind, s, p0) * WIDTH
                    : NULL;
            const int64_t lines =
                (cameo_narrow_place(kind, s, p + depth) - cameo_narrow_place(kind, s, p)) * row /
                16;
            for (int64_t part = 0; part < row && j + part < s.n; part += PANEL) {
                const int64_t left = s.n - j - part, width = left < PANEL ? left : PANEL;
                const int asks = !part && width == PANEL;
                cameo_gemm_panel_before(s.m, width, depth, a + (p - p0) * padded, floats + part, at,
                                        asks ? (const float *)(const void *)next : NULL, lines,
                                        c + j + part, ldc, 1);
            }
        }
    }
}

/* C += A * B, A packed: as many values of k at once as stay in the second cache. */
static __attribute__((noinline, unused)) void cameo_narrow_columns(const cameo_narrow *kind,
                                                                   cameo_narrow_sizes s,
                                                                   const float *a, const int32_t *b,
                                                                   float *c, int64_t ldc)
{
    const int64_t padded = (s.m + CAMEO_TILE_ROWS - 1) / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS;
    const int64_t step = cameo_gemm_step(padded);
    for (int64_t p = 0, next; p < s.k; p = next) {
        next = s.k - p <= step + CAMEO_GEMM_REST ? s.k : p + step;
        cameo_narrow_some(kind, s, p, next, a + p * padded, b, c, ldc);
    }
}

/* C += A * B. am, ak, ldc: strides in elements; b: panels (codegen/cpu/narrow.c). */
static __attribute__((noinline, unused)) void
cameo_narrow_product(const cameo_narrow *kind, cameo_narrow_sizes s, const void *a, int64_t am,
                     int64_t ak, const int32_t *b, float *c, int64_t ldc)
{
    if (s.m <= CAMEO_NARROW_FEW && !s.exact)
        cameo_narrow_few(kind, s, a, am, ak, b, c, ldc);
    else
        cameo_narrow_many(kind, s, a, am, ak, b, c, ldc);
}

#endif
