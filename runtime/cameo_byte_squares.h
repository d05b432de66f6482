/* Convolutions of bytes by square tiles: 16 rows of weights times 16 columns, four channels to a
 * word, in registers that hold 16 x 16 sums (Intel AMX: TDPBSUD). x is the copy of
 * cameo_byte_conv.h: a tile of it is `depth` words of k, each with 16 neighbouring columns, and is
 * read where it lies, or gathered where rows of the output are short.
 *
 * Weights are packed in tiles of 1024 bytes: for every 16 rows, for each tile along k, 16 lines of
 * 64 bytes, of which 4 * depth are used. Rows of x past them meet zeros. Where
 * the registers are not to be had, the same weights are multiplied by cameo_dot. */
#ifndef CAMEO_BYTE_SQUARES_H
#define CAMEO_BYTE_SQUARES_H

#include <stdint.h>

enum {
    CAMEO_SQUARE = 16,
    CAMEO_SQUARE_BYTES = 1024,
    CAMEO_SQUARE_ROWS = 32,   /* rows of the output that are multiplied at once */
    CAMEO_SQUARE_COLUMNS = 48 /* most tiles of a block: each has 12 columns or more, but two */
};

#ifdef CAMEO_AMX

/* Registers 0 .. 3 are sums, 4 and 5 weights, 6 and 7 columns. */
#define CAMEO_SQUARE_SUM(c, a, b) CAMEO_AMX_PRODUCT("tdpbsud", c, a, b)

/* One or two tiles of rows times one or two of columns. lines: of what lies at `ahead` so many are
 * asked for with each tile along k. */
static inline __attribute__((always_inline, unused)) void
cameo_squares_tile(int64_t tiles, const char *a, int64_t next, const cameo_word *b0,
                   const cameo_word *b1, const int64_t *at, int64_t ldb, int32_t *c0, int32_t *c1,
                   int64_t ldc, const char *ahead, int64_t lines, const int two_rows,
                   const int two_columns)
{
    const int64_t whole = 64, line = 4 * ldb, row = 4 * ldc;
    CAMEO_AMX_ZERO(0);
    CAMEO_AMX_ZERO(1);
    CAMEO_AMX_ZERO(2);
    CAMEO_AMX_ZERO(3);
    for (int64_t k = 0; k < tiles; k++, a += CAMEO_SQUARE_BYTES) {
        for (int64_t i = 0; i < lines; i++, ahead += 64)
            __builtin_prefetch(ahead, 0, 2);
        CAMEO_AMX_LOAD(4, a, whole);
        CAMEO_AMX_LOAD(6, b0 + at[k], line);
        CAMEO_SQUARE_SUM(0, 4, 6);
        if (two_rows) {
            CAMEO_AMX_LOAD(5, a + next, whole);
            CAMEO_SQUARE_SUM(2, 5, 6);
        }
        if (two_columns) {
            CAMEO_AMX_LOAD(7, b1 + at[k], line);
            CAMEO_SQUARE_SUM(1, 4, 7);
            if (two_rows)
                CAMEO_SQUARE_SUM(3, 5, 7);
        }
    }
    CAMEO_AMX_STORE(0, c0, row);
    if (two_columns)
        CAMEO_AMX_STORE(1, c1, row);
    if (two_rows)
        CAMEO_AMX_STORE(2, c0 + CAMEO_SQUARE * ldc, row);
    if (two_rows && two_columns)
        CAMEO_AMX_STORE(3, c1 + CAMEO_SQUARE * ldc, row);
}
#endif

/* How k is cut, and where its tiles begin from a column on. */
typedef struct cameo_squares {
    int64_t depth, tiles; /* words of k in a tile, tiles along k */
    int gathered;         /* k is one row of words: place after place of the window, their channels
                             together; else each place has tiles of its own */
} cameo_squares;

/* Columns n0 .. n1: tiles of 16 that begin at n, in order; what lies past a tile's own columns the
 * next one writes again. */
typedef struct cameo_square_block {
    cameo_squares k;
    int64_t ldb, n0;
    const int64_t *at;
    int count;
    struct {
        const cameo_word *b;
        int64_t n;
    } columns[CAMEO_SQUARE_COLUMNS];
} cameo_square_block;

/* 16 columns from n on: for each word of k their words. */
static inline __attribute__((unused)) void cameo_squares_gather(const cameo_conv_view *v, int64_t n,
                                                                int64_t width,
                                                                const int64_t *places, int64_t taps,
                                                                cameo_word *to)
{
    typedef cameo_word cameo_square __attribute__((vector_size(64), aligned(4), may_alias));
    cameo_stretch runs[CAMEO_SQUARE];
    const int count = cameo_conv_runs(v, n, width, runs);
    const cameo_word *x = (const cameo_word *)(const void *)v->x;
    for (int64_t t = 0; t < taps; t++)
        for (int64_t c = 0; c < v->channels; c++, to += CAMEO_SQUARE)
            for (int r = 0; r < count; r++)
                *(cameo_square *)(to + runs[r].to) =
                    *(const cameo_square *)(x + places[t] + c * v->channel + runs[r].from);
}

/* at: a number for each tile along k, and for each place of the window. scratch, where gathered: 16
 * words for each word of k and tile of columns, and those of 16 more words. */
static __attribute__((noinline, unused)) void
cameo_squares_start(const cameo_conv_view *v, const cameo_squares *s, int64_t n0, int64_t n1,
                    int64_t *at, cameo_word *scratch, cameo_square_block *b)
{
    const int64_t taps = v->taps[0] * v->taps[1] * v->taps[2], row = v->out[2];
    int64_t *places = at + s->tiles;
    cameo_conv_places(v, 0, taps, places);
    *b = (cameo_square_block){.k = *s, .n0 = n0, .at = at};
    b->ldb = s->gathered ? CAMEO_SQUARE : v->channel;
    const int64_t of_place = s->gathered ? s->tiles : s->tiles / taps;
    for (int64_t k = 0; k < s->tiles; k++)
        at[k] = (s->gathered ? 0 : places[k / of_place]) + k % of_place * s->depth * b->ldb;
    int64_t width;
    for (int64_t n = n0; n < n1; n += width, b->count++) {
        const int64_t k = n % row, j = n / row % v->out[1], i = n / row / v->out[1];
        const int64_t left = s->gathered || row - k > n1 - n ? n1 - n : row - k;
        width = left < CAMEO_SQUARE ? left : CAMEO_SQUARE;
        b->columns[b->count].n = n;
        if (s->gathered) {
            cameo_squares_gather(v, n, width, places, taps, scratch);
            b->columns[b->count].b = scratch;
            scratch += s->tiles * s->depth * CAMEO_SQUARE;
        } else {
            b->columns[b->count].b =
                (const cameo_word *)(const void *)v->x + i * v->at[0] + j * v->at[1] + k;
        }
    }
}

/* 16 rows times 16 columns by cameo_dot. */
static __attribute__((noinline, unused)) void cameo_squares_dots(const cameo_square_block *s,
                                                                 const cameo_word *a,
                                                                 const cameo_word *b, int32_t *c,
                                                                 int64_t ldc)
{
    const cameo_sums zero = {0};
    for (int n = 0; n < CAMEO_SQUARE; n += CAMEO_LANES)
        for (int m = 0; m < CAMEO_SQUARE; m += 8) {
            cameo_sums sums[8] = {zero, zero, zero, zero, zero, zero, zero, zero};
            for (int64_t k = 0; k < s->k.tiles; k++)
                for (int64_t j = 0; j < s->k.depth; j++) {
                    const cameo_sums x = *(const cameo_sums *)(b + s->at[k] + j * s->ldb + n);
                    const cameo_word *w = a + (k * CAMEO_SQUARE + m) * CAMEO_SQUARE + j;
                    for (int i = 0; i < 8; i++)
                        sums[i] = cameo_dot(sums[i], x, zero + w[i * CAMEO_SQUARE]);
                }
            for (int i = 0; i < 8; i++)
                *(cameo_sums *)(c + (m + i) * ldc + n) = sums[i];
        }
}

/* Rows m0 and up to CAMEO_SQUARE_ROWS - 1 more of the block: sums[row][n - n0]. Returns their end.
 */
static __attribute__((noinline, unused)) int64_t cameo_squares_rows(const cameo_square_block *b,
                                                                    int64_t rows,
                                                                    const void *weights, int64_t m0,
                                                                    int32_t *sums)
{
    const int64_t m1 = rows - m0 < CAMEO_SQUARE_ROWS ? rows : m0 + CAMEO_SQUARE_ROWS;
    const int64_t next = b->k.tiles * CAMEO_SQUARE_BYTES, ldc = CAMEO_BYTE_SUMS;
    const char *a = (const char *)weights + m0 / CAMEO_SQUARE * next;
#ifdef CAMEO_AMX
    if (cameo_amx_on()) {
        const int two = m1 - m0 > CAMEO_SQUARE;
        /* while these rows are multiplied, the weights of the next ones come into the second cache
         */
        const int pairs = (b->count + 1) / 2;
        const int64_t lines = (CAMEO_SQUARE_ROWS + pairs - 1) / pairs,
                      all = b->k.tiles * lines * 64;
        const char *ahead = a + 2 * next;
        cameo_amx_begin();
        for (int i = 0; i < b->count; i += 2, ahead += all) {
            const int last = i + 1 == b->count, j = last ? i : i + 1;
            const cameo_word *b0 = b->columns[i].b, *b1 = b->columns[j].b;
            int32_t *c0 = sums + b->columns[i].n - b->n0, *c1 = sums + b->columns[j].n - b->n0;
            if (two && !last)
                cameo_squares_tile(b->k.tiles, a, next, b0, b1, b->at, b->ldb, c0, c1, ldc, ahead,
                                   lines, 1, 1);
            else if (two)
                cameo_squares_tile(b->k.tiles, a, next, b0, b1, b->at, b->ldb, c0, c1, ldc, ahead,
                                   lines, 1, 0);
            else if (!last)
                cameo_squares_tile(b->k.tiles, a, next, b0, b1, b->at, b->ldb, c0, c1, ldc, ahead,
                                   lines, 0, 1);
            else
                cameo_squares_tile(b->k.tiles, a, next, b0, b1, b->at, b->ldb, c0, c1, ldc, ahead,
                                   lines, 0, 0);
        }
        cameo_amx_end();
        return m1;
    }
#endif
    for (int64_t m = m0; m < m1; m += CAMEO_SQUARE, a += next)
        for (int i = 0; i < b->count; i++)
            cameo_squares_dots(b, (const cameo_word *)(const void *)a, b->columns[i].b,
                               sums + (m - m0) * ldc + b->columns[i].n - b->n0, ldc);
    return m1;
}

#endif
