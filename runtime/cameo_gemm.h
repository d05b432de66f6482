/* Products of float32 matrices: C[m,n] += sum over k of A[m,k] * B[k,n], with any strides of A and
 * B and unit stride along C's rows. A block of A is packed in panels of rows; B is read where its
 * rows are contiguous, else copied panel by panel, unless it was packed before. */
#ifndef CAMEO_GEMM_H
#define CAMEO_GEMM_H

#include "cameo_processor.h"
#include "cameo_turn.h"

#include <stdint.h>
#include <string.h>

enum { CAMEO_GEMM_K = CAMEO_CPU_DEEP, CAMEO_GEMM_M = 128 }; /* values of k, rows in a block */
/* Where blocks are short, up to a third of one that is left at the end belongs to the last. */
enum { CAMEO_GEMM_REST = CAMEO_GEMM_K < 256 ? CAMEO_GEMM_K / 3 : 0 };
enum { CAMEO_GEMM_MOST = CAMEO_GEMM_K + CAMEO_GEMM_REST }; /* values of k in a block */
enum { CAMEO_GEMM_FEW = 256 * CAMEO_GEMM_M }; /* elements of few rows of A, for all k */
/* Rows of A from which on lines are asked for between tiles, and panels of B are copied unless its
 * rows reach no further than so many elements, a first cache. */
enum { CAMEO_GEMM_ASKS = 48, CAMEO_GEMM_COPIES = 64, CAMEO_GEMM_NEAR = 8192 };
/* Rows of B that are read at once, and how far apart they are where few rows of A read no more. */
enum { CAMEO_GEMM_LINES = 8, CAMEO_GEMM_FAR = 512 };
/* Last columns of C that are summed along k, of at least so many values of k. */
enum { CAMEO_GEMM_COLUMNS = CAMEO_LANES / 4, CAMEO_GEMM_ALONG = 2 * CAMEO_LANES };
enum { CAMEO_GEMM_KEPT = CAMEO_CPU_KEPT / 4 }; /* elements of A, for each panel of B */

/* Four numbers, wherever they lie. */
typedef float cameo_quad __attribute__((vector_size(16), aligned(4), may_alias));

/* Vectors of eight lanes are two quads, and what moves a number from one to the other takes several
 * times as long as what moves it within. So lanes are turned in squares of 4 x 4, two side by side,
 * which are read and written by quads. */
#if defined __AVX__ && !defined __AVX512F__ && defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define CAMEO_QUADS

static inline __attribute__((always_inline, unused)) cameo_vec cameo_quads(const float *low,
                                                                           const float *high)
{
    return __builtin_shufflevector(*(const cameo_quad *)low, *(const cameo_quad *)high, 0, 1, 2, 3,
                                   4, 5, 6, 7);
}

/* Number j of row i of each square becomes number i of row j. */
static inline __attribute__((always_inline, unused)) void
cameo_quads_turn(cameo_vec r0, cameo_vec r1, cameo_vec r2, cameo_vec r3, cameo_vec *to)
{
    const cameo_vec a = __builtin_shufflevector(r0, r1, 0, 8, 1, 9, 4, 12, 5, 13);
    const cameo_vec b = __builtin_shufflevector(r2, r3, 0, 8, 1, 9, 4, 12, 5, 13);
    const cameo_vec c = __builtin_shufflevector(r0, r1, 2, 10, 3, 11, 6, 14, 7, 15);
    const cameo_vec d = __builtin_shufflevector(r2, r3, 2, 10, 3, 11, 6, 14, 7, 15);
    to[0] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    to[1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    to[2] = __builtin_shufflevector(c, d, 0, 1, 8, 9, 4, 5, 12, 13);
    to[3] = __builtin_shufflevector(c, d, 2, 3, 10, 11, 6, 7, 14, 15);
}
#endif
#endif

/* A square of LANES x LANES elements, its columns `bn` apart, as rows `wide` apart; behind column
 * `last` it is that one again. Lanes of a half and of the other are put side by side until each is
 * in its place. */
#ifdef CAMEO_QUADS
static inline __attribute__((always_inline, unused)) void
cameo_gemm_square(const float *b, int64_t bn, int64_t last, float *to, int64_t wide)
{
    int64_t at[CAMEO_LANES];
    for (int i = 0; i < CAMEO_LANES; i++)
        at[i] = (i < last ? i : last) * bn;
    for (int half = 0; half < CAMEO_LANES; half += 4, b += 4, to += 4 * wide) {
        cameo_vec v[4];
        cameo_quads_turn(cameo_quads(b, b + at[4]), cameo_quads(b + at[1], b + at[5]),
                         cameo_quads(b + at[2], b + at[6]), cameo_quads(b + at[3], b + at[7]), v);
        for (int i = 0; i < 4; i++)
            *(cameo_vec *)(to + i * wide) = v[i];
    }
}
#else
static inline __attribute__((always_inline, unused)) void
cameo_gemm_square(const float *b, int64_t bn, int64_t last, float *to, int64_t wide)
{
    cameo_vec v[CAMEO_LANES], w[CAMEO_LANES];
    for (int i = 0; i < CAMEO_LANES; i++)
        v[i] = *(const cameo_vec *)(b + (i < last ? i : last) * bn);
    for (int turn = 1; turn < CAMEO_LANES; turn *= 2) {
        for (int i = 0; i < CAMEO_LANES / 2; i++) {
            w[2 * i] = cameo_zip_low(v[i], v[i + CAMEO_LANES / 2]);
            w[2 * i + 1] = cameo_zip_high(v[i], v[i + CAMEO_LANES / 2]);
        }
        memcpy(v, w, sizeof v);
    }
    for (int i = 0; i < CAMEO_LANES; i++)
        *(cameo_vec *)(to + i * wide) = v[i];
}
#endif

/* Values of k in the next block, of those that are left. */
static inline __attribute__((unused)) int64_t cameo_gemm_depth(int64_t left)
{
    return left <= CAMEO_GEMM_MOST ? left : CAMEO_GEMM_K;
}

/* Rows of A as panels of CAMEO_TILE_ROWS: for each k the numbers of its rows side by side. Where k
 * are neighbours in A they are turned in squares. */
static inline __attribute__((unused)) void cameo_gemm_pack_a(int64_t m, int64_t k, const float *a,
                                                             int64_t am, int64_t ak, float *to)
{
    for (int64_t i = 0; i < m; i += CAMEO_TILE_ROWS, to += k * CAMEO_TILE_ROWS) {
        const int64_t rows = m - i < CAMEO_TILE_ROWS ? m - i : CAMEO_TILE_ROWS;
        const float *from = a + i * am;
        int64_t x = 0;
        if (ak == 1 && rows == CAMEO_TURN_ROWS)
            x = cameo_turn_rows(k, from, 4 * am, 0, to);
        for (; am == 1 && rows == CAMEO_TILE_ROWS && x < k; x++)
            memcpy(to + x * CAMEO_TILE_ROWS, from + x * ak, CAMEO_TILE_ROWS * sizeof *to);
        if (rows == CAMEO_TILE_ROWS)
            for (; x < k; x++)
                for (int r = 0; r < CAMEO_TILE_ROWS; r++)
                    to[x * CAMEO_TILE_ROWS + r] = from[r * am + x * ak];
        else
            for (int64_t r = 0; r < rows; r++)
                for (x = 0; x < k; x++)
                    to[x * CAMEO_TILE_ROWS + r] = from[r * am + x * ak];
    }
}

/* How a tile asks for the lines of what is read next: few rows ask for b itself, further on; more
 * for what follows, each tile for as many bytes as it reads of A. */
static inline __attribute__((unused)) int64_t cameo_gemm_ahead(int64_t rows, int64_t tile,
                                                               int64_t k, const float *a,
                                                               const float *next, int64_t lines)
{
    if (!next || tile * k * CAMEO_TILE_ROWS >= lines * 16 || rows <= CAMEO_FEW_ROWS)
        return 0;
    return (int64_t)((uintptr_t)(next + tile * k * CAMEO_TILE_ROWS) - (uintptr_t)a);
}

/* Do whole tiles follow one another in strips, which ask for lines before each tile? Tiles of fewer
 * rows ask as they multiply: memory would not deliver as many lines at once. */
static inline __attribute__((unused)) int cameo_gemm_strips(int64_t m)
{
#ifdef CAMEO_SUMS
    return m >= CAMEO_GEMM_ASKS;
#else
    (void)m;
    return 0;
#endif
}

/* All rows of a packed block times one panel of at most a tile's columns. next: what is read after
 * it, or NULL: so many lines of it come meanwhile. more: added to C. */
static inline __attribute__((unused)) void
cameo_gemm_panel_before(int64_t m, int64_t width, int64_t k, const float *a, const float *b,
                        const int64_t *at, const float *next, int64_t lines, float *c, int64_t ldc,
                        int more)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    const int64_t vectors = (width + CAMEO_LANES - 1) / CAMEO_LANES;
    int64_t i = 0;
#ifdef CAMEO_SUMS
    if (width == PANEL && (!next || cameo_gemm_strips(m))) {
        const int64_t tiles = m / CAMEO_ROWS;
        const int64_t each = next ? (lines + tiles - 1) / tiles : 0;
        CAMEO_SUMS(k, a, b, k > 1 ? at[1] : 0, next, each, tiles, c, ldc, more);
        i = tiles * CAMEO_ROWS;
    }
#endif
    for (; i < m; i += CAMEO_ROWS) {
        const int64_t rows = m - i < CAMEO_ROWS ? m - i : CAMEO_ROWS;
        const float *x = a + i / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS * k + i % CAMEO_TILE_ROWS;
        const int64_t ahead = next && m <= CAMEO_FEW_ROWS
                                  ? CAMEO_CPU_STREAM
                                  : cameo_gemm_ahead(rows, i / CAMEO_ROWS, k, x, next, lines);
        cameo_tiles[rows - 1][vectors - 1](k, x, b, at, ahead, c + i * ldc, ldc, width, more, NULL);
    }
}

/* The same where next is of the panel that is read after it: as many columns of it where tiles
 * follow one another in strips, else all. */
static inline __attribute__((unused)) void cameo_gemm_panel(int64_t m, int64_t width, int64_t k,
                                                            const float *a, const float *b,
                                                            const int64_t *at, const float *next,
                                                            float *c, int64_t ldc, int more)
{
    const int64_t columns = cameo_gemm_strips(m) ? CAMEO_LANES * CAMEO_VECTORS : CAMEO_TILE_COLUMNS;
    cameo_gemm_panel_before(m, width, k, a, b, at, next, k * columns / 16, c, ldc, more);
}

/* C += A * B where k are neighbours in both. */
static inline __attribute__((unused)) void cameo_gemm_dots(int64_t m, int64_t n, int64_t k,
                                                           const float *a, int64_t am,
                                                           const float *b, int64_t bn, float *c,
                                                           int64_t ldc)
{
    for (int64_t j = 0; j < n; j += CAMEO_LANES)
        for (int64_t i = 0; i < m; i++) {
            float sums[CAMEO_LANES];
            cameo_dots(k, a + i * am, b + j * bn, bn, n - j - 1, sums);
            for (int64_t x = 0; x < CAMEO_LANES && x < n - j; x++)
                c[i * ldc + j + x] += sums[x];
        }
}

/* k x n elements of B as one panel whose rows are `wide` apart, whole vectors of them: what stands
 * behind n is not read from sums. */
static inline __attribute__((unused)) void cameo_gemm_pack_b(int64_t k, int64_t n, const float *b,
                                                             int64_t bk, int64_t bn, int64_t wide,
                                                             float *to)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    const int64_t deep = bk == 1 ? k / CAMEO_LANES * CAMEO_LANES : 0;
    const int64_t lanes = (n + CAMEO_LANES - 1) / CAMEO_LANES * CAMEO_LANES;
    if (bn == 1 && n == PANEL) {
        for (int64_t x = 0; x < k; x++, b += bk, to += wide)
            for (int v = 0; v < CAMEO_VECTORS; v++) /* so many that no compiler calls memcpy */
                ((cameo_vec *)to)[v] = ((const cameo_vec *)b)[v];
        return;
    }
    for (int64_t y = 0; deep && y < n; y += CAMEO_LANES)
        for (int64_t x = 0; x < deep; x += CAMEO_LANES)
            cameo_gemm_square(b + x + y * bn, bn, n - y - 1, to + x * wide + y, wide);
    int64_t x = deep;
    for (; bn == 1 && x * bk + lanes <= (k - 1) * bk + n; x++)
        for (int64_t y = 0; y < n; y += CAMEO_LANES)
            *(cameo_vec *)(to + x * wide + y) = *(const cameo_vec *)(b + x * bk + y);
    for (; x < k; x++)
        for (int64_t y = 0; y < lanes; y++)
            to[x * wide + y] = y < n ? b[x * bk + y * bn] : 0.0f;
}

/* A few columns of C, where k are neighbours in A: sums along k, as A need not be packed and lanes
 * of vectors of columns would be empty. more: as below. */
static inline __attribute__((unused)) void cameo_gemm_few(int64_t m, int64_t n, int64_t k,
                                                          const float *a, int64_t am,
                                                          const float *b, int64_t bk, int64_t bn,
                                                          float *c, int64_t ldc, int more)
{
    float columns[CAMEO_GEMM_COLUMNS * CAMEO_GEMM_MOST], sums[CAMEO_LANES];
    for (int64_t p = 0, depth; p < k; p += depth) {
        depth = cameo_gemm_depth(k - p);
        for (int64_t x = 0; x < depth; x++)
            for (int64_t j = 0; j < n; j++)
                columns[j * depth + x] = b[(p + x) * bk + j * bn];
        for (int64_t i = 0; i < m; i += CAMEO_LANES)
            for (int64_t j = 0; j < n; j++) {
                float *to = c + i * ldc + j;
                cameo_dots(depth, columns + j * depth, a + i * am + p, am, m - i - 1, sums);
                for (int64_t x = 0; x < CAMEO_LANES && x < m - i; x++)
                    to[x * ldc] = more || p > 0 ? to[x * ldc] + sums[x] : sums[x];
            }
    }
}

/* C += A * B for one row of A and rows of B: some of these at a time, each from its first element
 * to its last, as memory delivers them best. */
static inline __attribute__((unused)) void cameo_gemm_row(int64_t n, int64_t k,
                                                          const float *restrict a, int64_t ak,
                                                          const float *restrict b, int64_t bk,
                                                          float *restrict c)
{
    int64_t x = 0;
    for (; x + CAMEO_GEMM_LINES <= k; x += CAMEO_GEMM_LINES, b += CAMEO_GEMM_LINES * bk) {
        float w[CAMEO_GEMM_LINES];
        for (int i = 0; i < CAMEO_GEMM_LINES; i++)
            w[i] = a[(x + i) * ak];
        for (int64_t j = 0; j < n; j++) {
            float sum = w[0] * b[j];
            for (int i = 1; i < CAMEO_GEMM_LINES; i++)
                sum += w[i] * b[i * bk + j];
            c[j] += sum;
        }
    }
    a += x * ak; /* gcc 12 warns of an index of a loop that might have 2^62 turns */
    for (; x < k; x++, a += ak, b += bk)
        for (int64_t j = 0; j < n; j++)
            c[j] += *a * b[j];
}

/* C = A * B, or C += A * B where more. am, ak, bk, bn, ldc: strides in elements. Few rows are not
 * worth that B is turned, and take few rows of B at a time where these lie in pages of their own.
 * With vectors of up to 8 many rows of A copy panels of B whose rows are far apart, as they share
 * few places of the first cache. */
static __attribute__((noinline, unused)) void cameo_gemm_any(int64_t m, int64_t n, int64_t k,
                                                             const float *a, int64_t am, int64_t ak,
                                                             const float *b, int64_t bk, int64_t bn,
                                                             float *c, int64_t ldc, int more)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    const int64_t deepest = k < CAMEO_GEMM_MOST ? k : CAMEO_GEMM_MOST;
    /* The fewer values of k, the more rows: a block is as large, and B is copied less often. */
    const int64_t most = CAMEO_GEMM_M * (k > 0 && k < CAMEO_GEMM_MOST ? CAMEO_GEMM_MOST / k : 1);
    const int far = bn == 1 && m <= CAMEO_TILE_ROWS && bk >= CAMEO_GEMM_FAR;
    const int near =
        bn == 1 && (CAMEO_LANES > 8 || m < CAMEO_GEMM_COPIES || deepest * bk <= CAMEO_GEMM_NEAR);
    float block[CAMEO_GEMM_M * CAMEO_GEMM_MOST], panel[CAMEO_GEMM_MOST * PANEL];
    int64_t rows_at[CAMEO_GEMM_MOST], packed_at[CAMEO_GEMM_MOST];
    const int dots = m <= CAMEO_FEW_ROWS && ak == 1 && bk == 1 && bn != 1, row = m == 1 && bn == 1;
    for (int64_t i = 0; !more && (dots || row || k == 0) && i < m; i++)
        memset(c + i * ldc, 0, (size_t)n * sizeof *c);
    if (dots) {
        cameo_gemm_dots(m, n, k, a, am, b, bn, c, ldc);
        return;
    }
    if (row) {
        cameo_gemm_row(n, k, a, ak, b, bk, c);
        return;
    }
    const int64_t last = n % PANEL;
    if (ak == 1 && m > CAMEO_FEW_ROWS && last <= CAMEO_GEMM_COLUMNS && k >= CAMEO_GEMM_ALONG) {
        n -= last;
        cameo_gemm_few(m, last, k, a, am, b + n * bn, bk, bn, c + n, ldc, more);
    }
    for (int64_t x = 0; x < deepest; x++) {
        rows_at[x] = x * bk;
        packed_at[x] = x * PANEL;
    }
    for (int64_t i = 0; i < m; i += most)
        for (int64_t p = 0, depth; p < k; p += depth) {
            const int64_t rows = m - i < most ? m - i : most;
            depth = cameo_gemm_depth(k - p);
            depth = far && depth > CAMEO_GEMM_LINES ? CAMEO_GEMM_LINES : depth;
            cameo_gemm_pack_a(rows, depth, a + i * am + p * ak, am, ak, block);
            for (int64_t j = 0; j < n; j += PANEL) {
                const int64_t width = n - j < PANEL ? n - j : PANEL;
                const float *from = b + p * bk + j * bn;
                const int direct = near && width % CAMEO_LANES == 0;
                if (!direct)
                    cameo_gemm_pack_b(depth, width, from, bk, bn, PANEL, panel);
                cameo_gemm_panel(rows, width, depth, block, direct ? from : panel,
                                 direct ? rows_at : packed_at, 0, c + i * ldc + j, ldc,
                                 more || p > 0);
            }
        }
}

/* C += A * B. */
static inline __attribute__((unused)) void cameo_gemm(int64_t m, int64_t n, int64_t k,
                                                      const float *a, int64_t am, int64_t ak,
                                                      const float *b, int64_t bk, int64_t bn,
                                                      float *c, int64_t ldc)
{
    cameo_gemm_any(m, n, k, a, am, ak, b, bk, bn, c, ldc, 1);
}

/* C = A * B. */
static inline __attribute__((unused)) void cameo_gemm_first(int64_t m, int64_t n, int64_t k,
                                                            const float *a, int64_t am, int64_t ak,
                                                            const float *b, int64_t bk, int64_t bn,
                                                            float *c, int64_t ldc)
{
    cameo_gemm_any(m, n, k, a, am, ak, b, bk, bn, c, ldc, 0);
}

/* C += A * B for the values of k from p0 to p1, B packed: panels of CAMEO_TILE_COLUMNS columns,
 * each k rows side by side; the last is narrower where vectors of 16 allow, padded to them. a: of
 * these values of k, for each CAMEO_GEMM_K of them panels of all rows. A panel of B is read for all
 * of them before the next one: in order, and C is in the first cache meanwhile. */
static inline __attribute__((unused)) void cameo_gemm_some(int64_t m, int64_t n, int64_t k,
                                                           int64_t p0, int64_t p1, const float *a,
                                                           const float *b, float *c, int64_t ldc)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS, WIDTH = CAMEO_TILE_COLUMNS };
    int64_t full_at[CAMEO_GEMM_MOST], last_at[CAMEO_GEMM_MOST];
    const int64_t last = (n - (n - 1) / WIDTH * WIDTH + 15) / 16 * 16;
    const int64_t padded = (m + CAMEO_TILE_ROWS - 1) / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS;
    const int64_t deepest = p1 - p0 < CAMEO_GEMM_MOST ? p1 - p0 : CAMEO_GEMM_MOST;
    for (int64_t x = 0; x < deepest && n >= WIDTH; x++)
        full_at[x] = x * WIDTH;
    for (int64_t x = 0; x < deepest && n % WIDTH; x++)
        last_at[x] = x * last;
    for (int64_t j = 0; j < n; j += WIDTH)
        for (int64_t p = p0, depth; p < p1; p += depth) {
            depth = cameo_gemm_depth(p1 - p);
            const int64_t ldb = j + WIDTH > n ? last : WIDTH;
            const float *panel = b + j * k + p * ldb;
            const float *next = p + depth < p1  ? panel + depth * ldb
                                : j + WIDTH < n ? b + (j + WIDTH) * k + p0 * WIDTH
                                : p1 < k        ? b + p1 * WIDTH
                                                : NULL;
            for (int64_t part = 0; part < WIDTH && j + part < n; part += PANEL) {
                const int64_t left = n - j - part;
                cameo_gemm_panel(m, left < PANEL ? left : PANEL, depth, a + (p - p0) * padded,
                                 panel + part, j + WIDTH > n ? last_at : full_at,
                                 !part                          ? next
                                 : next && cameo_gemm_strips(m) ? next + part * depth
                                                                : NULL,
                                 c + j + part, ldc, 1);
            }
        }
}

/* C += A * B for one row and whole panels of B. A column's sum is the same however many panels are
 * taken together, so that threads may divide them anywhere. */
static inline __attribute__((unused)) void cameo_gemm_stream(int64_t n, int64_t k, const float *a,
                                                             const float *b, float *c)
{
    const int64_t next = k * CAMEO_TILE_COLUMNS;
    for (int64_t j = 0, panels; j + CAMEO_TILE_COLUMNS <= n; j += panels * CAMEO_TILE_COLUMNS) {
        panels = j + CAMEO_STREAMS * CAMEO_TILE_COLUMNS <= n ? CAMEO_STREAMS : 1;
        for (int64_t p = 0, depth; p < k; p += depth) {
            depth = cameo_gemm_depth(k - p);
            const float *from = b + j * k + p * CAMEO_TILE_COLUMNS;
            if (panels == CAMEO_STREAMS)
                CAMEO_STREAM(depth, a + p, 1, from, next, c + j);
            else
                cameo_stream_1(depth, a + p, 1, from, next, c + j);
        }
    }
}

/* C += A * B, B packed. */
static __attribute__((noinline, unused)) void cameo_gemm_packed(int64_t m, int64_t n, int64_t k,
                                                                const float *a, int64_t am,
                                                                int64_t ak, const float *b,
                                                                float *c, int64_t ldc)
{
    float block[CAMEO_GEMM_FEW];
    /* Few rows: all of A is packed at once, and B is read from its first element to its last. */
    const int few = m <= CAMEO_TILE_ROWS && k <= CAMEO_GEMM_FEW / CAMEO_TILE_ROWS;
    if (m == 1 && n >= CAMEO_TILE_COLUMNS && k <= CAMEO_GEMM_FEW) {
        const int64_t whole = n / CAMEO_TILE_COLUMNS * CAMEO_TILE_COLUMNS;
        for (int64_t x = 0; x < k; x++)
            block[x] = a[x * ak];
        cameo_gemm_stream(n, k, block, b, c);
        b += whole * k;
        c += whole;
        n -= whole;
    }
    for (int64_t p = 0, depth; few && n && p < k; p += depth) {
        depth = cameo_gemm_depth(k - p);
        cameo_gemm_pack_a(m, depth, a + p * ak, am, ak, block + p * CAMEO_TILE_ROWS);
    }
    if (few && n)
        cameo_gemm_some(m, n, k, 0, k, block, b, c, ldc);
    for (int64_t i = 0; !few && n && i < m; i += CAMEO_GEMM_M)
        for (int64_t p = 0, depth; p < k; p += depth) {
            const int64_t rows = m - i < CAMEO_GEMM_M ? m - i : CAMEO_GEMM_M;
            depth = cameo_gemm_depth(k - p);
            cameo_gemm_pack_a(rows, depth, a + i * am + p * ak, am, ak, block);
            cameo_gemm_some(rows, n, k, p, p + depth, block, b, c + i * ldc, ldc);
        }
}

/* ---- shares of a product ---- */

enum {
    CAMEO_GEMM_TALL = 512, /* so many rows are divided by rows, fewer by columns */
    CAMEO_GEMM_WIDE = 1024 /* so many columns are always */
};

/* What units from .. to of a product are: blocks of rows, or panels of columns. A few last rows
 * belong to the block before them: alone they would be a product of few rows, whose sums go another
 * way. */
typedef struct cameo_rectangle {
    int64_t m0, m1, n0, n1;
} cameo_rectangle;

static __attribute__((noinline, unused)) int64_t cameo_gemm_units(int64_t m, int64_t n)
{
    return m >= CAMEO_GEMM_TALL ? (m + CAMEO_GEMM_M - 1 - CAMEO_TILE_ROWS) / CAMEO_GEMM_M
                                : (n + CAMEO_TILE_COLUMNS - 1) / CAMEO_TILE_COLUMNS;
}

static __attribute__((noinline, unused)) cameo_rectangle cameo_gemm_share(int64_t m, int64_t n,
                                                                          int64_t from, int64_t to)
{
    const int tall = m >= CAMEO_GEMM_TALL;
    const int64_t unit = tall ? CAMEO_GEMM_M : CAMEO_TILE_COLUMNS, end = tall ? m : n;
    const int64_t few = tall ? CAMEO_TILE_ROWS : 0;
    const int64_t low = from * unit, high = to * unit < end - few ? to * unit : end;
    return tall ? (cameo_rectangle){low, high, 0, n} : (cameo_rectangle){0, m, low, high};
}

/* Is A packed once for all, before its columns are divided? */
static inline __attribute__((unused)) int cameo_gemm_packs(int64_t m)
{
    return m > CAMEO_TILE_ROWS && m < CAMEO_GEMM_TALL;
}

/* How many rows of A are packed at once, before the columns of C are divided; 0: none are. Many
 * rows by many columns go some at a time: what C is of these rows and of the values of k that stay
 * in the second cache is passed over less often. */
static __attribute__((noinline, unused)) int64_t cameo_gemm_chunk(int64_t m, int64_t n)
{
    const int64_t chunks = (m + CAMEO_GEMM_M - 1) / CAMEO_GEMM_M;
    if (m < 2 * CAMEO_GEMM_M || n < CAMEO_GEMM_WIDE)
        return cameo_gemm_packs(m) ? m : 0;
    return (m / chunks + CAMEO_TILE_ROWS) / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS;
}

/* Units of the packing, and of the product, of rows that begin at `mode` - 1; 0: of all rows. */
static __attribute__((noinline, unused)) int64_t cameo_gemm_chunk_units(int64_t m, int64_t n,
                                                                        int64_t mode)
{
    return mode ? (n + CAMEO_TILE_COLUMNS - 1) / CAMEO_TILE_COLUMNS : cameo_gemm_units(m, n);
}

static __attribute__((noinline, unused)) cameo_rectangle
cameo_gemm_chunk_share(int64_t m, int64_t n, int64_t mode, int64_t from, int64_t to)
{
    cameo_rectangle r = cameo_gemm_share(m, n, from, to);
    if (!mode)
        return r;
    const int64_t chunk = cameo_gemm_chunk(m, n), left = m - (mode - 1);
    r.m0 = mode - 1;
    r.m1 = r.m0 + (chunk < left ? chunk : left);
    r.n0 = from * CAMEO_TILE_COLUMNS;
    r.n1 = to * CAMEO_TILE_COLUMNS < n ? to * CAMEO_TILE_COLUMNS : n;
    return r;
}

/* Tiles of rows from .. to of A, for all k: for each CAMEO_GEMM_K values of k tiles of rows. */
static __attribute__((noinline, unused)) void cameo_gemm_pack_all(int64_t m, int64_t k,
                                                                  const float *a, int64_t am,
                                                                  int64_t ak, int64_t from,
                                                                  int64_t to, float *packed)
{
    const int64_t padded = (m + CAMEO_TILE_ROWS - 1) / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS;
    for (int64_t i = from * CAMEO_TILE_ROWS; i < m && i < to * CAMEO_TILE_ROWS;
         i += CAMEO_TILE_ROWS)
        for (int64_t p = 0, depth; p < k; p += depth) {
            const int64_t left = m - i;
            depth = cameo_gemm_depth(k - p);
            cameo_gemm_pack_a(left < CAMEO_TILE_ROWS ? left : CAMEO_TILE_ROWS, depth,
                              a + i * am + p * ak, am, ak, packed + p * padded + i * depth);
        }
}

/* How many values of k of so many rows stay in the second cache, in blocks. */
static inline __attribute__((unused)) int64_t cameo_gemm_step(int64_t rows)
{
    const int64_t blocks = CAMEO_GEMM_KEPT / rows / CAMEO_GEMM_K;
    return (blocks > 1 ? blocks : 1) * CAMEO_GEMM_K;
}

/* C += A * B, both packed: as many values of k at a time as stay in the second cache. */
static __attribute__((noinline, unused)) void cameo_gemm_columns(int64_t m, int64_t n, int64_t k,
                                                                 const float *a, const float *b,
                                                                 float *c, int64_t ldc)
{
    const int64_t padded = (m + CAMEO_TILE_ROWS - 1) / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS;
    const int64_t step = cameo_gemm_step(padded);
    for (int64_t p = 0, next; p < k; p = next) {
        next = k - p <= step + CAMEO_GEMM_REST ? k : p + step;
        cameo_gemm_some(m, n, k, p, next, a + p * padded, b, c, ldc);
    }
}

#endif
