/* Products of bfloat16: the sums, in float32, over k of A[m,k] * B[k,n], B packed as words of two
 * values of k (codegen/cpu/narrow.c). A block of rows is multiplied with as many columns at a time
 * as keep their sums in a cache until what surrounds them is done. On matrix registers these are
 * some panels; tiles of vectors, which unpack B for all rows, take more. */
#ifndef CAMEO_HALF_H
#define CAMEO_HALF_H

#include "cameo_amx.h"
#include "cameo_narrow.h"

enum {
    CAMEO_HALF_M = 128,    /* rows of a block */
    CAMEO_HALF_N = 96,     /* columns of a block on matrix registers: whole panels, whole vectors */
    CAMEO_HALF_K = 512,    /* values of k of a block, where B is packed while it runs */
    CAMEO_HALF_BLOCK = 32, /* values of k that B is padded to */
    CAMEO_HALF_FEW = 8     /* so many rows are memory's time: vectors do as well */
};

typedef struct cameo_half {
    int64_t m, n, k; /* rows of the block, columns of B, values of k */
    const uint16_t *a;
    int64_t am, ak; /* strides of A in elements */
    int lies;       /* ak is 1, and k and am are multiples of CAMEO_HALF_BLOCK */
    const int32_t *b;
    float *sums;     /* rows of `columns`; then room for copied rows of A */
    int64_t columns; /* set here to fewer on matrix registers */
    int64_t whole;   /* rows that are read where they lie, on matrix registers */
    int more;        /* is added to the sums */
} cameo_half;

static inline __attribute__((unused)) int64_t cameo_half_words(const cameo_half *h)
{
    return (h->k + CAMEO_HALF_BLOCK - 1) / CAMEO_HALF_BLOCK * CAMEO_HALF_BLOCK / 2;
}

#ifdef CAMEO_AMX
static inline __attribute__((unused)) float *cameo_half_copy(const cameo_half *h)
{
    return h->sums + (h->m + CAMEO_AMX_ROWS - 1) / CAMEO_AMX_ROWS * CAMEO_AMX_ROWS * h->columns;
}

/* Do matrix registers or vectors multiply its words? */
static inline __attribute__((unused)) int cameo_half_has(void)
{
    return cameo_words_has(CAMEO_WORDS_BF16) || cameo_amx_on();
}

/* m rows at `a` by the panel that begins with column n0; next: as cameo_amx_panel has it. */
static inline __attribute__((unused)) void cameo_half_some(const cameo_half *h, int64_t m,
                                                           cameo_amx_rows a, int64_t n0,
                                                           int64_t next, float *sums)
{
    const int64_t words = cameo_half_words(h), width = cameo_narrow_width(h->n, n0);
    const int32_t *b = h->b + n0 * words;
    if (cameo_amx_on())
        cameo_amx_panel(cameo_amx_bf16, m, width / 16, words / CAMEO_AMX_ROWS, &a, b, 4 * width,
                        next, sums, 4 * h->columns, h->more);
    else if (cameo_words_has(CAMEO_WORDS_BF16))
        cameo_words_product(cameo_words_bf16, m, width / 16, h->k, sizeof *h->a, &a, b, 4 * width,
                            next, sums, 4 * h->columns, h->more);
}

/* Columns n0 and those after it that are in its panel, to those of the sums from `column` on. */
static inline __attribute__((unused)) void cameo_half_panel(const cameo_half *h, int64_t n0,
                                                            int64_t column)
{
    const int64_t size = 4 * cameo_half_words(h) * cameo_narrow_width(h->n, n0);
    const int64_t next = n0 + CAMEO_TILE_COLUMNS < h->n ? size : 0;
    float *sums = h->sums + column;
    if (h->whole)
        cameo_half_some(h, h->whole, cameo_amx_lying(h->a, 2 * h->am), n0, next, sums);
    if (h->m > h->whole)
        cameo_half_some(h, h->m - h->whole, cameo_amx_packed(cameo_half_copy(h), 2 * h->k), n0,
                        h->whole ? 0 : next, sums + h->whole * h->columns);
}
#endif

/* Before the columns of a block of rows. */
static __attribute__((noinline, unused)) void cameo_half_begin(cameo_half *h)
{
    h->whole = -1;
#ifdef CAMEO_AMX
    if (h->m <= CAMEO_HALF_FEW || !cameo_half_has())
        return;
    h->columns = CAMEO_HALF_N;
    h->whole = h->lies ? h->m / CAMEO_AMX_ROWS * CAMEO_AMX_ROWS : 0;
    cameo_amx_pack(h->m - h->whole, h->k, 2, h->a + h->whole * h->am, h->am, h->ak, 0,
                   cameo_half_copy(h));
    if (cameo_amx_on())
        cameo_amx_begin();
#endif
}

/* The sums of columns n0 .. n1, at most h->columns of them; n0 begins a panel. */
static __attribute__((noinline, unused)) void cameo_half_sums(const cameo_half *h, int64_t n0,
                                                              int64_t n1)
{
#ifdef CAMEO_AMX
    if (h->whole >= 0) {
        for (int64_t n = n0; n < n1; n += CAMEO_TILE_COLUMNS)
            cameo_half_panel(h, n, n - n0);
        return;
    }
#endif
    for (int64_t i = 0; i < h->m && !h->more; i++)
        memset(h->sums + i * h->columns, 0, (size_t)(n1 - n0) * sizeof *h->sums);
    const cameo_narrow_sizes sizes = {h->m, n1 - n0, h->k, CAMEO_HALF_BLOCK, 0, 0, 1};
    const int32_t *b = h->b + n0 * cameo_half_words(h);
#ifdef CAMEO_AMX
    if (cameo_words_has(CAMEO_WORDS_BF16)) /* which multiply all but few rows, above */
        cameo_narrow_few(&cameo_narrow_bf16, sizes, h->a, h->am, h->ak, b, h->sums, h->columns);
    else
#endif
        cameo_narrow_product(&cameo_narrow_bf16, sizes, h->a, h->am, h->ak, b, h->sums, h->columns);
}

static inline __attribute__((unused)) void cameo_half_end(const cameo_half *h)
{
    (void)h;
#ifdef CAMEO_AMX
    if (h->whole >= 0 && cameo_amx_on())
        cameo_amx_end();
#endif
}

/* Of two factors that are both computed: some rows times all columns of B, which is packed a block
 * of k and some columns at a time. */
typedef struct cameo_half_pair {
    int64_t m, k;
    const uint16_t *a;
    int64_t am, ak;
    const uint16_t *b;
    int64_t bk, bn;
    float *room; /* rows of CAMEO_HALF_N sums, rows of A copied for tiles, words of B */
} cameo_half_pair;

typedef int32_t cameo_half_vector __attribute__((vector_size(64), aligned(2), may_alias));

/* Each line of the first half and one of the second, element by element: after four times what was
 * a column is a line. */
static inline __attribute__((unused, always_inline)) void
cameo_half_join(cameo_half_vector to[16], const cameo_half_vector from[16])
{
    for (int i = 0; i < 8; i++) {
        to[2 * i] = __builtin_shufflevector(from[i], from[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                            5, 21, 6, 22, 7, 23);
        to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + 8], 8, 24, 9, 25, 10, 26, 11, 27,
                                                12, 28, 13, 29, 14, 30, 15, 31);
    }
}

/* to[x * width + i] = word x of column i, for x and i below 16; columns are bn elements apart. */
static inline __attribute__((unused)) void
cameo_half_turn_square(const uint16_t *restrict b, int64_t bn, int64_t width, int32_t *restrict to)
{
    cameo_half_vector x[16], y[16];
    for (int i = 0; i < 16; i++)
        x[i] = *(const cameo_half_vector *)(b + i * bn);
    cameo_half_join(y, x);
    cameo_half_join(x, y);
    cameo_half_join(y, x);
    cameo_half_join(x, y);
    for (int i = 0; i < 16; i++)
        *(cameo_half_vector *)(to + i * width) = x[i];
}

/* Columns that lie one behind another: two values of k are a word as they lie. */
static inline __attribute__((unused)) void cameo_half_turn(int64_t k, int64_t n,
                                                           const uint16_t *restrict b, int64_t bn,
                                                           int64_t width, int32_t *restrict to)
{
    const int64_t words = k / 2, most = n / 16 * 16, deep = words / 16 * 16;
    for (int64_t i = 0; i < most; i += 16)
        for (int64_t x = 0; x < deep; x += 16)
            cameo_half_turn_square(b + i * bn + 2 * x, bn, width, to + x * width + i);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t x = i < most ? deep : 0; x < words; x++)
            memcpy(to + x * width + i, b + i * bn + 2 * x, sizeof *to);
        if (k % 2)
            to[words * width + i] = b[i * bn + k - 1];
    }
}

/* Rows: two are a row of words. */
static inline __attribute__((unused)) void cameo_half_rows(int64_t k, int64_t n,
                                                           const uint16_t *restrict b, int64_t bk,
                                                           int64_t bn, int64_t width,
                                                           int32_t *restrict to)
{
    for (int64_t x = 0; x < k / 2; x++, to += width, b += 2 * bk) {
        if (bn == 1)
            for (int64_t i = 0; i < n; i++)
                to[i] = (int32_t)(b[i] | (uint32_t)b[bk + i] << 16);
        else
            for (int64_t i = 0; i < n; i++)
                to[i] = (int32_t)(b[i * bn] | (uint32_t)b[bk + i * bn] << 16);
    }
    for (int64_t i = 0; k % 2 && i < n; i++)
        to[i] = b[i * bn];
}

/* k x n elements of B as panels of words of two values of k, zeros up to a block and to 16. */
static __attribute__((noinline, unused)) void cameo_half_pack(int64_t k, int64_t n,
                                                              const uint16_t *restrict b,
                                                              int64_t bk, int64_t bn,
                                                              int32_t *restrict to)
{
    const int64_t all = (k + CAMEO_HALF_BLOCK - 1) / CAMEO_HALF_BLOCK * CAMEO_HALF_BLOCK / 2;
    for (int64_t j = 0; j < n; j += CAMEO_TILE_COLUMNS) {
        const int64_t width = cameo_narrow_width(n, j), some = n - j < width ? n - j : width;
        const uint16_t *from = b + j * bn;
        if (some < width || 2 * all > k)
            memset(to, 0, (size_t)(all * width) * sizeof *to);
        if (bk == 1)
            cameo_half_turn(k, some, from, bn, width, to);
        else
            cameo_half_rows(k, some, from, bk, bn, width, to);
        to += all * width;
    }
}

/* The sums of columns n0 .. n1, at most CAMEO_HALF_N of them. */
static __attribute__((noinline, unused)) void cameo_half_pair_sums(const cameo_half_pair *p,
                                                                   int64_t n0, int64_t n1)
{
    int32_t *words = (int32_t *)(p->room + CAMEO_HALF_M * (CAMEO_HALF_N + CAMEO_HALF_K / 2));
    const int lines = p->ak == 1 && p->am % CAMEO_HALF_BLOCK == 0 && (uintptr_t)p->a % 64 == 0;
    for (int64_t x = 0; x < p->k; x += CAMEO_HALF_K) {
        const int64_t k = p->k - x < CAMEO_HALF_K ? p->k - x : CAMEO_HALF_K;
        cameo_half h = {p->m,
                        n1 - n0,
                        k,
                        p->a + x * p->ak,
                        p->am,
                        p->ak,
                        lines && k % CAMEO_HALF_BLOCK == 0,
                        words,
                        p->room,
                        CAMEO_HALF_N,
                        0,
                        x > 0};
        cameo_half_pack(k, n1 - n0, p->b + x * p->bk + n0 * p->bn, p->bk, p->bn, words);
        cameo_half_begin(&h);
        cameo_half_sums(&h, 0, n1 - n0);
        cameo_half_end(&h);
    }
}

#endif
