/* Products of float32 matrices by constants of 2, 4 or 8 bits in integers: rows of A are rounded to
 * bytes, with a scale for each block of k. Where a processor has no product of four bytes they are
 * products of floats (cameo_narrow.h). */
#ifndef CAMEO_NARROW_BYTES_H
#define CAMEO_NARROW_BYTES_H

#include "cameo_narrow.h"

enum {
    CAMEO_BYTES_ROWS = 4,                    /* of a tile */
    CAMEO_BYTES_HEAD = 3 * CAMEO_BYTES_ROWS, /* words before those of a block */
    CAMEO_BYTES_DEEP = 512,                  /* values of k that are spread at once */
    CAMEO_BYTES_MOST = 256                   /* of the largest block */
};

/* Words of a tile's rows. */
static inline __attribute__((unused)) int64_t cameo_narrow_bytes_words(int64_t k, int64_t block)
{
    return (k + block - 1) / block * (block + CAMEO_BYTES_HEAD);
}

/* `some` numbers as bytes, 0 up to the block; returns their sum. */
static inline __attribute__((unused)) int32_t cameo_narrow_round(int64_t some, int64_t block,
                                                                 const float *a, int64_t ak,
                                                                 float *scale, int8_t *to)
{
    float x[CAMEO_BYTES_MOST];
    int32_t bits, most = 0, sum = 0;
    if (ak == 1)
        memcpy(x, a, (size_t)some * sizeof *x);
    for (int64_t i = 0; ak != 1 && i < some; i++)
        x[i] = a[i * ak];
    for (int64_t i = some; i < block; i++)
        x[i] = 0.0f;
    for (int64_t i = 0; i < block; i++) { /* as integers numbers without sign have the same order */
        memcpy(&bits, &x[i], sizeof bits);
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    memcpy(scale, &most, sizeof most);
    const float by = *scale > 1e-30f ? 127.0f / *scale : 0.0f;
    *scale /= 127.0f;
    for (int64_t i = 0; i < block; i++) { /* the nearest integer is the lowest bits of the sum */
        const float near = x[i] * by + 12582912.0f;
        memcpy(&bits, &near, sizeof bits);
        to[i] = (int8_t)bits;
        sum += (int8_t)bits;
    }
    return sum;
}

/* A row of a block of k, of a tile of `rows`; to: where this row's words are. */
static inline __attribute__((unused)) void cameo_narrow_bytes_row(int bits, int64_t some,
                                                                  int64_t block, const float *a,
                                                                  int64_t ak, int64_t rows,
                                                                  int32_t *to)
{
    int8_t bytes[CAMEO_BYTES_MOST];
    float scale;
    const int32_t sum = cameo_narrow_round(some, block, a, ak, &scale, bytes);
    const float whole = (float)sum;
    memcpy(to, &scale, sizeof scale);
    memcpy(to + rows, &whole, sizeof whole);
    to[2 * rows] = -(1 << (bits - 1)) * sum;
    to += 3 * rows;
    for (int64_t i = 0; bits == 2 && i < block; i++) { /* every fourth one of sixteen together */
        const int64_t word = i / 16 * 4 + i % 4;
        memcpy((int8_t *)(to + word * rows) + i / 4 % 4, bytes + i, 1);
    }
    for (int64_t i = 0; bits > 2 && i < block; i += 8, to += 2 * rows) {
        uint64_t eight;
        memcpy(&eight, bytes + i, sizeof eight);
        uint32_t first = (uint32_t)eight, second = (uint32_t)(eight >> 32);
        if (bits == 4) { /* even values of k, then odd ones, as spread codes lie */
            uint64_t even = eight & 0x00ff00ff00ff00ffu, odd = eight >> 8 & 0x00ff00ff00ff00ffu;
            even = (even | even >> 8) & 0x0000ffff0000ffffu;
            odd = (odd | odd >> 8) & 0x0000ffff0000ffffu;
            first = (uint32_t)(even | even >> 16);
            second = (uint32_t)(odd | odd >> 16);
        }
        to[0] = (int32_t)first;
        to[rows] = (int32_t)second;
    }
}

/* The tile of `rows` rows of A, k values of each; rows behind them are 0. */
static __attribute__((noinline, unused)) void cameo_narrow_bytes_tile(int bits, int64_t rows,
                                                                      int64_t k, int64_t block,
                                                                      const float *a, int64_t am,
                                                                      int64_t ak, int32_t *to)
{
    const int64_t words = block + CAMEO_BYTES_HEAD;
    for (int64_t p = 0; p < k; p += block, to += words) {
        const int64_t some = k - p < block ? k - p : block;
        if (rows < CAMEO_BYTES_ROWS)
            memset(to, 0, (size_t)words * sizeof *to);
        for (int64_t r = 0; r < rows; r++)
            cameo_narrow_bytes_row(bits, some, block, a + r * am + p * ak, ak, CAMEO_BYTES_ROWS,
                                   to + r);
    }
}

/* Tiles of rows from .. to, of CAMEO_TILE_ROWS rows each, for cameo_narrow_bytes_columns. */
static __attribute__((noinline, unused)) void
cameo_narrow_bytes_pack(const cameo_narrow_bytes *kind, int64_t m, int64_t k, int64_t block,
                        const float *a, int64_t am, int64_t ak, int64_t from, int64_t to,
                        float *packed)
{
    if (!kind->spread) {
        cameo_gemm_pack_all(m, k, a, am, ak, from, to, packed);
        return;
    }
    const int64_t words = cameo_narrow_bytes_words(k, block);
    const int64_t end = to * CAMEO_TILE_ROWS < m ? to * CAMEO_TILE_ROWS : m;
    for (int64_t i = from * CAMEO_TILE_ROWS; i < end; i += CAMEO_BYTES_ROWS)
        cameo_narrow_bytes_tile(
            kind->floats->bits, end - i < CAMEO_BYTES_ROWS ? end - i : CAMEO_BYTES_ROWS, k, block,
            a + i * am, am, ak, (int32_t *)(void *)packed + i / CAMEO_BYTES_ROWS * words);
}

/* C += A * B for all blocks of k from `from` to `to`; a: tiles of rows from `from` on, `words` to
 * the next one. */
static __attribute__((noinline, unused)) void
cameo_narrow_bytes_some(const cameo_narrow_bytes *kind, cameo_narrow_sizes s, int64_t from,
                        int64_t to, const int32_t *a, int64_t words, const int32_t *b, float *c,
                        int64_t ldc)
{
    enum { PANEL = CAMEO_LANES * CAMEO_BYTES_VECTORS, WIDTH = CAMEO_TILE_COLUMNS };
    int32_t codes[CAMEO_BYTES_DEEP / 4 * WIDTH];
    const int64_t turns = s.block * kind->floats->bits / 32, own = turns + 1 + s.zeros;
    const int64_t blocks = (s.k + s.block - 1) / s.block, deep = CAMEO_BYTES_DEEP / s.block;
    for (int64_t j = 0; j < s.n; j += WIDTH) {
        const int64_t row = cameo_narrow_width(s.n, j);
        for (int64_t g = from, some; g < to; g += some) {
            const int32_t *panel = b + j * blocks * own + g * own * row;
            some = to - g < deep ? to - g : deep;
            for (int64_t x = 0; x < some; x++)
                kind->spread(turns, row, panel + x * own * row, codes + x * s.block / 4 * row);
            for (int64_t part = 0; part < row && j + part < s.n; part += PANEL) {
                const int64_t left = s.n - j - part, width = left < PANEL ? left : PANEL;
                cameo_narrow_byte_tile *tile =
                    kind->tiles[(width + CAMEO_LANES - 1) / CAMEO_LANES - 1];
                const float *scales = (const float *)(const void *)(panel + turns * row) + part;
                for (int64_t i = 0; i < s.m; i += CAMEO_BYTES_ROWS) {
                    const int64_t rest = s.m - i;
                    tile(some, s.block / 4,
                         a + i / CAMEO_BYTES_ROWS * words +
                             (g - from) * (s.block + CAMEO_BYTES_HEAD),
                         codes + part, scales, row, own * row, s.zeros,
                         rest < CAMEO_BYTES_ROWS ? rest : CAMEO_BYTES_ROWS, width,
                         c + i * ldc + j + part, ldc);
                }
            }
        }
    }
}

/* C += A * B, A packed (cameo_narrow_bytes_pack). */
static __attribute__((noinline, unused)) void
cameo_narrow_bytes_columns(const cameo_narrow_bytes *kind, cameo_narrow_sizes s, const float *a,
                           const int32_t *b, float *c, int64_t ldc)
{
    if (kind->spread)
        cameo_narrow_bytes_some(kind, s, 0, (s.k + s.block - 1) / s.block,
                                (const int32_t *)(const void *)a,
                                cameo_narrow_bytes_words(s.k, s.block), b, c, ldc);
    else
        cameo_narrow_columns(kind->floats, s, a, b, c, ldc);
}

/* C += A * B of one row: codes are read once, from the first to the last. */
static __attribute__((noinline, unused)) void
cameo_narrow_bytes_one(const cameo_narrow_bytes *kind, cameo_narrow_sizes s, const float *a,
                       int64_t am, int64_t ak, const int32_t *b, float *c, int64_t ldc)
{
    enum { PANEL = CAMEO_LANES * CAMEO_BYTES_VECTORS, DEEP = CAMEO_NARROW_K };
    if (!kind->spread) {
        cameo_narrow_product(kind->floats, s, a, am, ak, b, c, ldc);
        return;
    }
    int32_t packed[DEEP / 4 + 3 * DEEP / CAMEO_NARROW_BLOCK];
    const int64_t turns = s.block * kind->floats->bits / 32, own = turns + 1 + s.zeros;
    const int64_t blocks = (s.k + s.block - 1) / s.block, deep = DEEP / s.block;
    const int64_t step = CAMEO_BYTES_DEEP / s.block; /* as sums of more rows are added up */
    for (int64_t g = 0; g < blocks; g += deep) {
        const int64_t some = blocks - g < deep ? blocks - g : deep;
        for (int64_t x = 0; x < some; x++) {
            const int64_t p = (g + x) * s.block, left = s.k - p;
            cameo_narrow_bytes_row(kind->floats->bits, left < s.block ? left : s.block, s.block,
                                   a + p * ak, ak, 1, packed + x * (s.block / 4 + 3));
        }
        for (int64_t j = 0; j < s.n; j += CAMEO_TILE_COLUMNS) {
            const int64_t row = cameo_narrow_width(s.n, j);
            const int32_t *panel = b + j * blocks * own + g * own * row;
            for (int64_t part = 0; part < row && j + part < s.n; part += PANEL) {
                const int64_t left = s.n - j - part, width = left < PANEL ? left : PANEL;
                cameo_narrow_one_tile *tile =
                    kind->one[(width + CAMEO_LANES - 1) / CAMEO_LANES - 1];
                for (int64_t x = 0; x < some; x += step)
                    tile(some - x < step ? some - x : step, turns, packed + x * (s.block / 4 + 3),
                         panel + x * own * row + part, row, s.zeros, width, c + j + part);
            }
        }
    }
}

/* C += A * B, A as it lies: some rows and values of k at a time, of few rows all that there are. */
static __attribute__((noinline, unused)) void
cameo_narrow_bytes_product(const cameo_narrow_bytes *kind, cameo_narrow_sizes s, const float *a,
                           int64_t am, int64_t ak, const int32_t *b, float *c, int64_t ldc)
{
    enum { ROWS = 128, WORDS = 28672 };
    if (!kind->spread) {
        cameo_narrow_product(kind->floats, s, a, am, ak, b, c, ldc);
        return;
    }
    int32_t packed[WORDS];
    const int64_t blocks = (s.k + s.block - 1) / s.block, m = s.m;
    const int64_t tiles = ((m < ROWS ? m : ROWS) + CAMEO_BYTES_ROWS - 1) / CAMEO_BYTES_ROWS;
    const int64_t step = CAMEO_BYTES_DEEP / s.block; /* whole ones: sums are the same for any m */
    const int64_t deep = WORDS / tiles / (s.block + CAMEO_BYTES_HEAD) / step * step;
    const int64_t words = deep * (s.block + CAMEO_BYTES_HEAD);
    for (int64_t i = 0; i < m; i += s.m) {
        s.m = m - i < ROWS ? m - i : ROWS;
        for (int64_t g = 0; g < blocks; g += deep) {
            const int64_t end = blocks - g < deep ? blocks : g + deep, p = g * s.block;
            const int64_t depth = (s.k < end * s.block ? s.k : end * s.block) - p;
            for (int64_t r = 0; r < s.m; r += CAMEO_BYTES_ROWS)
                cameo_narrow_bytes_tile(kind->floats->bits,
                                        s.m - r < CAMEO_BYTES_ROWS ? s.m - r : CAMEO_BYTES_ROWS,
                                        depth, s.block, a + (i + r) * am + p * ak, am, ak,
                                        packed + r / CAMEO_BYTES_ROWS * words);
            cameo_narrow_bytes_some(kind, s, g, end, packed, words, b, c + i * ldc, ldc);
        }
    }
}

#endif
