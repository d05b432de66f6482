/* Products of float32 on the matrix registers' bfloat16: each number is three terms (see
 * cameo_split_words.h), and of the nine products of terms the six greatest are summed, in float32.
 * What is left out is at most 2^-24 |x||w|: G. Henry, P. T. P. Tang, A. Heinecke, "Leveraging
 * the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", ARITH 2019.
 *
 * Panels of B are those of cameo_gemm.h, float32, so that any machine reads the same weights. Where
 * there are no such registers, for fewer rows than are worth it and where A holds an infinity, a
 * NaN or what rounds to an infinity, the tiles of float32 do the same products. */
#ifndef CAMEO_SPLIT_H
#define CAMEO_SPLIT_H

#include "cameo_gemm.h"

#ifdef CAMEO_AMX

enum {
    CAMEO_SPLIT_KEPT = 131072, /* elements of A for each panel of B; 6 bytes each */
    CAMEO_SPLIT_K = 768,       /* values of k in a block where A lies packed */
    CAMEO_SPLIT_WIDTH = 32     /* columns of B in a block */
};

static inline __attribute__((unused)) int cameo_split_on(int64_t m)
{
    return CAMEO_CPU_SPLIT > 0 && m >= CAMEO_CPU_SPLIT && cameo_amx_on();
}

static inline __attribute__((unused)) int64_t cameo_split_whole(int64_t n, int64_t of)
{
    return (n + of - 1) / of * of;
}

/* Bytes of rows of A, whole tiles of them, by k values of k. */
static inline __attribute__((unused)) int64_t cameo_split_size(int64_t m, int64_t k)
{
    return cameo_split_whole(m, 16) * cameo_split_whole(k, CAMEO_SPLIT_DEEP) * 6;
}

/* ---- the first factor ---- */

/* Of numbers whose sign is not looked at those that are infinite in bfloat16, or no numbers, reach
 * the sign where this is added. */
enum { CAMEO_SPLIT_MORE = 0x80000000u - 0x7f7f8000u };

static inline __attribute__((always_inline)) cameo_split_bits cameo_split_over(const float *a)
{
    return (*(const cameo_split_bits *)a & 0x7fffffffu) + CAMEO_SPLIT_MORE;
}

static inline __attribute__((always_inline)) int cameo_split_any(const cameo_split_bits *over)
{
    uint32_t any = 0;
    for (int i = 0; i < 16; i++)
        any |= (*over)[i];
    return any >= 0x80000000u;
}

/* A tile of rows: for each 32 values of k its terms. 1: one may not be finite. */
static inline __attribute__((unused)) CAMEO_SPLIT_WHOLE int
cameo_split_pack(int64_t rows, int64_t depth, const float *a, int64_t am, int64_t ak, char *to)
{
    enum { DEEP = CAMEO_SPLIT_DEEP };
    cameo_split_bits over = {0};
    for (int64_t p = 0; p < depth; p += DEEP, to += CAMEO_SPLIT_STEP) {
        if (rows < 16)
            memset(to, 0, CAMEO_SPLIT_STEP);
        const int64_t left = depth - p < DEEP ? depth - p : DEEP;
        for (int64_t r = 0; r < rows; r++) {
            const float *from = a + r * am + p * ak;
            float some[DEEP];
            if (ak != 1 || left < DEEP) {
                for (int64_t i = 0; i < DEEP; i++)
                    some[i] = i < left ? from[i * ak] : 0.0f;
                from = some;
            }
            over |= cameo_split_over(from) | cameo_split_over(from + DEEP / 2);
            cameo_split_pair(from, from + DEEP / 2, to + 64 * r);
        }
    }
    return cameo_split_any(&over);
}

/* Tiles of rows from .. to, for each CAMEO_SPLIT_K values of k all tiles; behind the tiles of all k
 * what they returned. */
static inline __attribute__((unused)) CAMEO_SPLIT_WHOLE void
cameo_split_pack_tiles(int64_t m, int64_t k, const float *a, int64_t am, int64_t ak, int64_t from,
                       int64_t to, char *packed)
{
    int32_t *any = (int32_t *)(void *)(packed + cameo_split_size(m, k));
    for (int64_t i = from; i < to; i++) {
        any[i] = 0;
        for (int64_t p = 0; p < k; p += CAMEO_SPLIT_K) {
            const int64_t depth = k - p < CAMEO_SPLIT_K ? k - p : CAMEO_SPLIT_K;
            any[i] |= cameo_split_pack(
                m - 16 * i < 16 ? m - 16 * i : 16, depth, a + 16 * i * am + p * ak, am, ak,
                packed + cameo_split_size(m, p) + cameo_split_size(16 * i, depth));
        }
    }
}

/* ---- products ---- */

/* Of a product: columns and values of k of B; from which to which of k now, `depth` in a block. */
typedef struct cameo_split_span {
    int64_t n, k, p0, p1, depth;
    const float *b;
} cameo_split_span;

/* A block of B: columns j and on, values p and on. */
typedef struct cameo_split_block {
    int64_t j, p;
} cameo_split_block;

static inline __attribute__((unused)) cameo_split_block cameo_split_next(const cameo_split_span *s,
                                                                         cameo_split_block x)
{
    const int64_t p = x.p + s->depth;
    return p < s->p1 ? (cameo_split_block){x.j, p}
                     : (cameo_split_block){x.j + CAMEO_SPLIT_WIDTH, s->p0};
}

static inline __attribute__((unused)) int64_t cameo_split_rows_of(const cameo_split_span *s,
                                                                  cameo_split_block x)
{
    return s->p1 - x.p < s->depth ? s->p1 - x.p : s->depth;
}

/* The 16 columns from x.j on, or the last ones, in their panel; row: numbers from a row to the next
 * one. */
static inline __attribute__((unused)) const float *cameo_split_at(const cameo_split_span *s,
                                                                  cameo_split_block x, int64_t *row)
{
    enum { WIDTH = CAMEO_TILE_COLUMNS };
    const int64_t j = x.j < s->n ? x.j : (s->n - 1) / 16 * 16, panel = j / WIDTH * WIDTH;
    *row = s->n - panel < WIDTH ? cameo_split_whole(s->n - panel, 16) : WIDTH;
    return s->b + panel * s->k + x.p * *row + j - panel;
}

/* The block x to be taken apart to `to`, in so many turns. last: room for its last step. */
static inline __attribute__((unused)) cameo_split_feed cameo_split_begin(const cameo_split_span *s,
                                                                         cameo_split_block x,
                                                                         int64_t turns, char *to,
                                                                         float *last)
{
    enum { DEEP = CAMEO_SPLIT_DEEP };
    cameo_split_feed f = {.to = to, .turns = turns};
    if (x.j >= s->n)
        return f;
    const int64_t rows = cameo_split_rows_of(s, x), whole = rows / DEEP * DEEP;
    f.column = cameo_split_whole(rows, DEEP) / DEEP * CAMEO_SPLIT_STEP;
    f.left = f.all = cameo_split_whole(rows, DEEP) / 2;
    if (whole < rows)
        memset(last, 0, DEEP * CAMEO_SPLIT_WIDTH * sizeof *last);
    const cameo_split_block next = cameo_split_next(s, x);
    for (int v = 0; v < 2; v++, x.j += 16) {
        int64_t apart;
        const cameo_split_block after = {next.j + 16 * v, next.p};
        f.from[v] = cameo_split_at(s, x, &f.row[v]);
        f.ahead[v] = next.j < s->n ? 4 * (cameo_split_at(s, after, &apart) - f.from[v]) : 0;
        for (int64_t i = whole; i < rows; i++)
            memcpy(last + (i - whole) * CAMEO_SPLIT_WIDTH + 16 * v, f.from[v] + i * f.row[v], 64);
    }
    if (whole < rows)
        f.end = last;
    for (int v = 0; v < 2 && !whole; v++) {
        f.from[v] = last + 16 * v;
        f.row[v] = CAMEO_SPLIT_WIDTH;
    }
    return f;
}

/* C += the sums of a tile. */
static inline __attribute__((always_inline)) void
cameo_split_add(int64_t rows, int64_t width, const float *sums, int64_t lds, float *c, int64_t ldc)
{
    for (int64_t r = 0; r < rows; r++, sums += lds, c += ldc) {
        int64_t x = 0;
        for (; x + 16 <= width; x += 16)
            *(cameo_split_vec *)(c + x) += *(const cameo_split_vec *)(sums + x);
        for (; x < width; x++)
            c[x] += sums[x];
    }
}

/* All rows times `some` neighbouring vectors of columns, one or two, of a block: tiles of four sums
 * on the registers. width: columns that C has. */
static inline __attribute__((always_inline)) void
cameo_split_columns_of(int64_t m, int64_t steps, const char *a, const char *b, int some,
                       int64_t width, float *c, int64_t ldc, cameo_split_feed *f)
{
    _Alignas(64) float sums[4 * 256];
    const int64_t tile = steps * CAMEO_SPLIT_STEP, most = 4 / some;
    for (int64_t i = 0; i < m; i += 16 * most, a += most * tile, c += 16 * most * ldc) {
        const int64_t rows = m - i < 16 * most ? m - i : 16 * most;
        cameo_split_tiles[(rows - 1) / 16][some - 1](steps, a, tile, b, tile, (char *)sums,
                                                     64 * some, f);
        cameo_split_add(rows, width, sums, 16 * some, c, ldc);
    }
}

/* C += A * B for the values of k from p0 to p1; a: their tiles, for each `depth`
 * of them, of which a multiple lies before p0. */
static __attribute__((noinline, unused)) CAMEO_SPLIT_WHOLE void
cameo_split_product(int64_t m, const cameo_split_span *s, const char *a, float *c, int64_t ldc)
{
    enum { WIDTH = CAMEO_SPLIT_WIDTH };
    _Alignas(64) char room[2][CAMEO_SPLIT_K * WIDTH * 6];
    _Alignas(64) float last[CAMEO_SPLIT_DEEP * WIDTH];
    int now = 0;
    cameo_split_block x = {0, s->p0};
    cameo_split_feed f = cameo_split_begin(s, x, 1, room[now], last);
    cameo_split_turns(&f);
    cameo_amx_begin();
    while (x.j < s->n) {
        const cameo_split_block next = cameo_split_next(s, x);
        const int64_t left = s->n - x.j;
        const int64_t steps = cameo_split_whole(cameo_split_rows_of(s, x), 32) / 32;
        const char *at = a + cameo_split_size(m, x.p - s->p0);
        const int64_t tiles = (m + 15) / 16 * (left > 16 ? 2 : 1);
        f = cameo_split_begin(s, next, tiles * steps, room[1 - now], last);
        if (left > 16)
            cameo_split_columns_of(m, steps, at, room[now], 2, left < WIDTH ? left : WIDTH, c + x.j,
                                   ldc, &f);
        else
            cameo_split_columns_of(m, steps, at, room[now], 1, left, c + x.j, ldc, &f);
        x = next;
        now = 1 - now;
    }
    cameo_amx_end();
}

/* As many values of k at a time as leave A in the second cache. */
static inline __attribute__((unused)) void cameo_split_all(int64_t m, int64_t n, int64_t k,
                                                           const char *a, const float *b, float *c,
                                                           int64_t ldc)
{
    const int64_t blocks = CAMEO_SPLIT_KEPT / cameo_split_whole(m, 16) / CAMEO_SPLIT_K;
    const int64_t step = (blocks > 1 ? blocks : 1) * CAMEO_SPLIT_K;
    for (int64_t p = 0; p < k; p += step) {
        const cameo_split_span s = {n, k, p, k - p < step ? k : p + step, CAMEO_SPLIT_K, b};
        cameo_split_product(m, &s, a + cameo_split_size(m, p), c, ldc);
    }
}

/* Can all numbers of A be taken apart? None is, or rounds to, what is not finite in bfloat16. */
static inline __attribute__((unused)) CAMEO_SPLIT_WHOLE int
cameo_split_finite(int64_t m, int64_t k, const float *a, int64_t am, int64_t ak)
{
    cameo_split_bits over = {0};
    uint32_t any = 0;
    for (int64_t i = 0; i < m; i++, a += am) {
        int64_t x = 0;
        for (; ak == 1 && x + 16 <= k; x += 16)
            over |= cameo_split_over(a + x);
        for (const float *at = a + x * ak; x < k; x++, at += ak) {
            uint32_t bits;
            memcpy(&bits, at, sizeof bits);
            any |= (bits & 0x7fffffffu) + CAMEO_SPLIT_MORE;
        }
    }
    return !cameo_split_any(&over) && any < 0x80000000u;
}

/* A block of up to CAMEO_GEMM_M rows, A being packed here. */
static __attribute__((noinline, unused)) CAMEO_SPLIT_WHOLE void
cameo_split_rows(int64_t m, int64_t n, int64_t k, const float *a, int64_t am, int64_t ak,
                 const float *b, float *c, int64_t ldc)
{
    _Alignas(64) char block[CAMEO_GEMM_M * CAMEO_GEMM_K * 6];
    if (!cameo_split_finite(m, k, a, am, ak)) {
        cameo_gemm_packed(m, n, k, a, am, ak, b, c, ldc);
        return;
    }
    for (int64_t p = 0; p < k; p += CAMEO_GEMM_K) {
        const int64_t depth = k - p < CAMEO_GEMM_K ? k - p : CAMEO_GEMM_K;
        for (int64_t i = 0; i < m; i += 16)
            cameo_split_pack(m - i < 16 ? m - i : 16, depth, a + i * am + p * ak, am, ak,
                             block + cameo_split_size(i, depth));
        const cameo_split_span s = {n, k, p, p + depth, CAMEO_GEMM_K, b};
        cameo_split_product(m, &s, block, c, ldc);
    }
}

/* A block of up to CAMEO_GEMM_M rows, both factors being packed here, B some panels at a time. */
static __attribute__((noinline, unused)) CAMEO_SPLIT_WHOLE void
cameo_split_both_rows(int64_t m, int64_t n, int64_t k, const float *a, int64_t am, int64_t ak,
                      const float *b, int64_t bk, int64_t bn, float *c, int64_t ldc)
{
    enum { WIDTH = CAMEO_TILE_COLUMNS, MOST = 3 * WIDTH };
    _Alignas(64) char block[CAMEO_GEMM_M * CAMEO_GEMM_K * 6];
    _Alignas(64) float panels[CAMEO_GEMM_K * MOST];
    for (int64_t p = 0; p < k; p += CAMEO_GEMM_K) {
        const int64_t depth = k - p < CAMEO_GEMM_K ? k - p : CAMEO_GEMM_K;
        for (int64_t i = 0; i < m; i += 16)
            cameo_split_pack(m - i < 16 ? m - i : 16, depth, a + i * am + p * ak, am, ak,
                             block + cameo_split_size(i, depth));
        for (int64_t j = 0; j < n; j += MOST) {
            const int64_t some = n - j < MOST ? n - j : MOST;
            const float *from = b + p * bk + j * bn;
            for (int64_t x = 0; x < some; x += WIDTH) {
                const int64_t width = some - x < WIDTH ? some - x : WIDTH;
                cameo_gemm_pack_b(depth, width, from + x * bn, bk, bn, cameo_split_whole(width, 16),
                                  panels + x * depth);
            }
            const cameo_split_span s = {some, depth, 0, depth, CAMEO_GEMM_K, panels};
            cameo_split_product(m, &s, block, c + j, ldc);
        }
    }
}

/* The columns of B's first panels whose numbers can all be taken apart. */
static inline __attribute__((unused)) int64_t cameo_split_taken(int64_t n, int64_t k,
                                                                const float *b, int64_t bk,
                                                                int64_t bn)
{
    for (int64_t j = 0; j < n; j += CAMEO_TILE_COLUMNS) {
        const int64_t some = n - j < CAMEO_TILE_COLUMNS ? n - j : CAMEO_TILE_COLUMNS;
        const float *from = b + j * bn;
        if (!(bn == 1 ? cameo_split_finite(k, some, from, bk, 1)
                      : cameo_split_finite(some, k, from, bn, bk)))
            return j;
    }
    return n;
}

/* Blocks of rows, those that are worth it by terms. */
static inline __attribute__((unused)) void
cameo_split_both_blocks(int64_t m, int64_t n, int64_t k, const float *a, int64_t am, int64_t ak,
                        const float *b, int64_t bk, int64_t bn, float *c, int64_t ldc)
{
    for (int64_t rows; m > 0; m -= rows, a += rows * am, c += rows * ldc) {
        rows = m < CAMEO_GEMM_M ? m : CAMEO_GEMM_M;
        if (cameo_split_on(m) && cameo_split_finite(rows, k, a, am, ak))
            cameo_split_both_rows(rows, n, k, a, am, ak, b, bk, bn, c, ldc);
        else
            cameo_gemm(rows, n, k, a, am, ak, b, bk, bn, c, ldc);
    }
}
#endif

/* ---- what programs call: as the functions of cameo_gemm.h of these names ---- */

/* C += A * B, B packed. */
static __attribute__((noinline, unused)) void cameo_split_packed(int64_t m, int64_t n, int64_t k,
                                                                 const float *a, int64_t am,
                                                                 int64_t ak, const float *b,
                                                                 float *c, int64_t ldc)
{
#ifdef CAMEO_AMX
    for (int64_t rows; cameo_split_on(m); m -= rows, a += rows * am, c += rows * ldc) {
        rows = m < CAMEO_GEMM_M ? m : CAMEO_GEMM_M;
        cameo_split_rows(rows, n, k, a, am, ak, b, c, ldc);
    }
#endif
    if (m > 0)
        cameo_gemm_packed(m, n, k, a, am, ak, b, c, ldc);
}

/* C += A * B, as cameo_gemm: B is no constant and lies anywhere. What it does for a panel of
 * columns depends on that panel alone, since threads divide them. */
static __attribute__((noinline, unused)) void
cameo_split_both(int64_t m, int64_t n, int64_t k, const float *a, int64_t am, int64_t ak,
                 const float *b, int64_t bk, int64_t bn, float *c, int64_t ldc)
{
#ifdef CAMEO_AMX
    while (cameo_split_on(m) && n > 0) {
        int64_t some = cameo_split_taken(n, k, b, bk, bn);
        if (some > 0) {
            cameo_split_both_blocks(m, some, k, a, am, ak, b, bk, bn, c, ldc);
        } else {
            some = n < CAMEO_TILE_COLUMNS ? n : CAMEO_TILE_COLUMNS;
            cameo_gemm(m, some, k, a, am, ak, b, bk, bn, c, ldc);
        }
        n -= some;
        b += some * bn;
        c += some;
    }
#endif
    if (n > 0)
        cameo_gemm(m, n, k, a, am, ak, b, bk, bn, c, ldc);
}

/* The least of so many units that one of `threads` takes at a time: half of its part, since the
 * first block of each share is taken apart beside nothing. grain: what is worth its while. */
static inline __attribute__((unused)) int64_t cameo_split_grain(int64_t m, int64_t threads,
                                                                int64_t units, int64_t grain)
{
#ifdef CAMEO_AMX
    const int64_t half = (units + 2 * threads - 1) / (2 * threads);
    if (cameo_split_on(m) && half > grain)
        return half;
#endif
    (void)m, (void)threads, (void)units;
    return grain;
}

/* Units from .. to of A, 16 rows each, for all k, in a buffer that all threads read. */
static __attribute__((noinline, unused)) void cameo_split_pack_all(int64_t m, int64_t k,
                                                                   const float *a, int64_t am,
                                                                   int64_t ak, int64_t from,
                                                                   int64_t to, float *packed)
{
    enum { TILES = 16 / CAMEO_TILE_ROWS };
#ifdef CAMEO_AMX
    if (cameo_split_on(m)) {
        cameo_split_pack_tiles(m, k, a, am, ak, from, to, (char *)packed);
        return;
    }
#endif
    cameo_gemm_pack_all(m, k, a, am, ak, from * TILES, to * TILES, packed);
}

/* C += A * B, both packed; a, am, ak: A as it was. */
static __attribute__((noinline, unused)) void
cameo_split_columns(int64_t m, int64_t n, int64_t k, const float *a, int64_t am, int64_t ak,
                    const float *packed, const float *b, float *c, int64_t ldc)
{
#ifdef CAMEO_AMX
    if (cameo_split_on(m)) {
        const char *tiles = (const char *)packed;
        const int32_t *any = (const int32_t *)(const void *)(tiles + cameo_split_size(m, k));
        int32_t over = 0;
        for (int64_t i = 0; i < (m + 15) / 16; i++)
            over |= any[i];
        if (over)
            cameo_gemm_packed(m, n, k, a, am, ak, b, c, ldc);
        else
            cameo_split_all(m, n, k, tiles, b, c, ldc);
        return;
    }
#endif
    (void)a, (void)am, (void)ak;
    cameo_gemm_columns(m, n, k, packed, b, c, ldc);
}

#endif
