/* Products on matrix registers (AMX). The second factor is panels of words as the tiles of vectors
 * read them; the first is read in tiles of 16 rows, 64 bytes of each: from where it lies if its
 * rows are whole and apart by a multiple of 64 bytes, else from a copy in the order of tiles.
 *
 * The registers are configured for each product and given back behind it, so that no thread keeps
 * them, and nothing depends on which thread ran before. */
#ifndef CAMEO_AMX_H
#define CAMEO_AMX_H

#include "cameo_words.h"

#include <string.h>

#ifdef CAMEO_AMX

enum {
    CAMEO_AMX_ROWS = 16,                              /* of a tile */
    CAMEO_AMX_LINE = 64,                              /* bytes of each */
    CAMEO_AMX_BYTES = CAMEO_AMX_ROWS * CAMEO_AMX_LINE /* of a tile */
};

/* Bytes of a copy of m rows of so many bytes in the order of tiles. */
static inline __attribute__((unused)) int64_t cameo_amx_size(int64_t m, int64_t bytes)
{
    return (m + CAMEO_AMX_ROWS - 1) / CAMEO_AMX_ROWS *
           ((bytes + CAMEO_AMX_LINE - 1) / CAMEO_AMX_LINE) * CAMEO_AMX_BYTES;
}

/* Copies m rows of k elements of `size` bytes, 1 or 2, into the order of tiles, 0 where tiles have
 * more. am, ak: strides in elements; flip: what is XORed to each byte of those of size 1. */
static __attribute__((noinline, unused)) void cameo_amx_pack(int64_t m, int64_t k, int64_t size,
                                                             const void *from, int64_t am,
                                                             int64_t ak, int flip, void *to)
{
    const int64_t each = CAMEO_AMX_LINE / size, steps = (k + each - 1) / each;
    const int64_t rows = (m + CAMEO_AMX_ROWS - 1) / CAMEO_AMX_ROWS * CAMEO_AMX_ROWS;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t s = 0; s < steps; s++) {
            const int64_t first = s * each, left = k - first < each ? k - first : each;
            const unsigned char *a = (const unsigned char *)from + (i * am + first * ak) * size;
            unsigned char *t = (unsigned char *)to + i % CAMEO_AMX_ROWS * CAMEO_AMX_LINE +
                               (i / CAMEO_AMX_ROWS * steps + s) * CAMEO_AMX_BYTES;
            if (i >= m || left < each)
                memset(t, 0, CAMEO_AMX_LINE);
            if (i < m && ak == 1)
                memcpy(t, a, (size_t)(left * size));
            for (int64_t x = 0; i < m && ak != 1 && x < left; x++)
                memcpy(t + x * size, a + x * ak * size, (size_t)size);
            for (int64_t x = 0; flip && i < m && x < left; x++)
                t[x] ^= (unsigned char)flip;
        }
}

/* Rows that are read where they lie, `stride` bytes apart: whole lines of whole tiles. Where they
 * do not begin at multiples of 64 bytes that takes three times as long. */
static inline __attribute__((unused)) cameo_amx_rows cameo_amx_lying(const void *a, int64_t stride)
{
    return (cameo_amx_rows){(const char *)a, stride, CAMEO_AMX_LINE, CAMEO_AMX_ROWS * stride, NULL};
}

/* Rows of so many bytes that cameo_amx_pack copied. */
static inline __attribute__((unused)) cameo_amx_rows cameo_amx_packed(const void *a, int64_t bytes)
{
    const int64_t steps = (bytes + CAMEO_AMX_LINE - 1) / CAMEO_AMX_LINE;
    return (cameo_amx_rows){(const char *)a, CAMEO_AMX_LINE, CAMEO_AMX_BYTES,
                            steps * CAMEO_AMX_BYTES, NULL};
}

/* Of `lines` lines at `at`, which `turns` calls of tiles of so many steps ask for, those of call
 * `turn`: with each step the next ones of all streams, from the first step of the first call to the
 * last of the last, so that memory never rests. It gives more of several streams than of one, since
 * what asks waits for 16 lines at most, and the second cache asks on its own for what follows in
 * the page of each stream (2.4 million bytes beside products of 128 rows, 768 values of k: no
 * stream 336 us, one 356, eight for each call 331, twelve over all calls 224, 24 of them 315). */
static inline __attribute__((unused)) cameo_amx_soon cameo_amx_soon_of(const char *at,
                                                                       int64_t lines, int64_t steps,
                                                                       int64_t turn, int64_t turns)
{
    enum { STREAMS = 12 };
    if (lines == 0)
        return (cameo_amx_soon){at, 0, 0, 0};
    const int64_t all = steps * turns, step = (lines + all - 1) / all;
    const int64_t each = (step + STREAMS - 1) / STREAMS, streams = (step + each - 1) / each;
    const int64_t part = (lines + streams - 1) / streams, first = turn * steps * each;
    return (cameo_amx_soon){at + first * CAMEO_AMX_LINE, first < part ? streams : 0, each,
                            part * CAMEO_AMX_LINE};
}

/* m rows times one panel: `columns` tiles of 16 words side by side in rows ldb bytes apart, 16 rows
 * for each of `steps`. a: the rows, of which it moves on; by its place, since a structure that is
 * copied is read in pieces that were not stored as such, which waits for all of the last panel's
 * sums to be in the cache (0.2 us). c: sums of 32 bits, ldc bytes from row to row, of whole tiles.
 * next: bytes from the panel to the one that is read after it, 0 if there is none; its lines are
 * asked for while this one is multiplied, each once. Between cameo_amx_begin and cameo_amx_end. */
static __attribute__((noinline, unused)) void
cameo_amx_panel(cameo_amx_tile *const (*tiles)[CAMEO_AMX_COLUMNS], int64_t m, int64_t columns,
                int64_t steps, cameo_amx_rows *a, const void *b, int64_t ldb, int64_t next, void *c,
                int64_t ldc, int more)
{
    enum { ROWS = CAMEO_AMX_TILES * CAMEO_AMX_ROWS };
    const int64_t turns = (m + ROWS - 1) / ROWS;
    const int64_t lines = next ? steps * columns * CAMEO_AMX_ROWS : 0;
    for (int64_t i = 0; i < m; i += ROWS, a->at += CAMEO_AMX_TILES * a->tile) {
        const int64_t rows = m - i > CAMEO_AMX_ROWS ? 2 : 1;
        const cameo_amx_soon soon =
            cameo_amx_soon_of((const char *)b + next, lines, steps, i / ROWS, turns);
        tiles[rows - 1][columns - 1](steps, a, (const char *)b, ldb, &soon, (char *)c + i * ldc,
                                     ldc, more);
    }
}

/* The same by vectors, of k elements of `size` bytes: rows of tiles where a says. Up to 3 rows of c
 * behind the last one are written. */
static __attribute__((noinline, unused)) void
cameo_words_product(const cameo_words_table *groups, int64_t m, int64_t columns, int64_t k,
                    int64_t size, const cameo_amx_rows *a, const void *b, int64_t ldb, int64_t next,
                    void *c, int64_t ldc, int more)
{
    enum { ROWS = CAMEO_AMX_TILES * CAMEO_AMX_ROWS };
    const int64_t whole = CAMEO_AMX_LINE / size, turns = (m + ROWS - 1) / ROWS;
    const cameo_words_steps steps = {(k + whole - 1) / whole, k / whole, (k % whole * size + 3) / 4,
                                     NULL, a->step};
    const cameo_words_panel panel = {(const char *)b, CAMEO_AMX_ROWS * ldb, ldb, CAMEO_AMX_LINE,
                                     (const char *)b + next, 0};
    const int64_t lines = next ? steps.n * columns * CAMEO_AMX_ROWS : 0;
    const cameo_words_vector none[CAMEO_WORDS_VECTORS] = {{0}};
    for (int64_t i = 0; i < m; i += ROWS) {
        const int64_t n = m - i < ROWS ? m - i : ROWS;
        const char *rows[ROWS + 3];
        for (int64_t j = 0; j < n + 3; j++) {
            const int64_t r = i + (j < n ? j : n - 1);
            rows[j] = a->at + r / CAMEO_AMX_ROWS * a->tile + r % CAMEO_AMX_ROWS * a->row;
        }
        cameo_words_rows(groups, &steps, n, rows, columns, &panel, lines, i / ROWS, turns,
                         (char *)c + i * ldc, ldc, more ? NULL : none);
    }
}

#endif
#endif
