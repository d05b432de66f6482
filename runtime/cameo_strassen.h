/* Convolutions as products of packed matrices (cameo_conv.h) in seven products for eight, by
 * Strassen's algorithm in Winograd's form (Winograd, On multiplication of 2 x 2 matrices, 1971):
 * of a block of y that is two tiles high and two wide, for values of k in two halves, with
 *
 *     S1 = A21 + A22   S2 = S1 - A11   S3 = A11 - A21   S4 = A12 - S2
 *     T1 = B12 - B11   T2 = B22 - T1   T3 = B22 - B12   T4 = B21 - T2
 *
 *     C11 = A11 B11 + A12 B21        U = A11 B11 + S2 T2        V = U + S3 T3
 *     C12 = U + S1 T1 + S4 B22       C21 = V + A22 T4           C22 = V + S1 T1
 *
 * A are two panels of rows of the weights, S are made for each while it is multiplied. B are two
 * panels of x beside one another, T are made with them, once for all rows. What several products
 * are summed to is kept in tiles in the first cache. */
#ifndef CAMEO_STRASSEN_H
#define CAMEO_STRASSEN_H

#include "cameo_conv_share.h"

enum {
    CAMEO_STRASSEN_SIDE = CAMEO_LANES * CAMEO_VECTORS, /* columns of a panel */
    CAMEO_STRASSEN_HIGH = 2 * CAMEO_TILE_ROWS,         /* rows of a block of y */
    CAMEO_STRASSEN_PANELS = 7, /* of a pair of panels of x: B11, B21, B22, T1, T2, T3, T4 */
    CAMEO_STRASSEN_GAP = 16,   /* between them: they are written together, in other sets of lines */
    CAMEO_STRASSEN_AHEAD = 16  /* values of k between x that is read and asked for */
};

/* Columns of y for the values of k whose panels there are. */
typedef struct cameo_strassen_block {
    cameo_conv_block rest; /* columns that no pair has */
    int64_t rows, all, k0, nk, next, n, pairs, row; /* next: as in cameo_conv_block */
    int begun;                                      /* this too */
    const float *w; /* packed as those of cameo_conv_block */
    float *y;
    const cameo_finish *finish;
    const float *b; /* pairs of panels */
    const float *x; /* B of the first, where x is read as it lies, else NULL; */
    int64_t apart;  /* then: from one value of k to the next */
    float *s;       /* room for S */
} cameo_strassen_block;

/* From one panel of a pair to the next. */
static inline __attribute__((unused)) int64_t cameo_strassen_next(int64_t nk)
{
    return nk / 2 * CAMEO_STRASSEN_SIDE + CAMEO_STRASSEN_GAP;
}

/* Elements of a pair. */
static inline __attribute__((unused)) int64_t cameo_strassen_size(int64_t nk)
{
    return CAMEO_STRASSEN_PANELS * cameo_strassen_next(nk);
}

/* Pairs of panels of all columns. */
static inline __attribute__((unused)) int64_t cameo_strassen_pairs(const cameo_conv_view *v)
{
    return v->sevens ? v->out[0] * v->out[1] * v->out[2] / (2 * CAMEO_STRASSEN_SIDE) : 0;
}

/* Are columns that are neighbours in y neighbours in x? */
static inline __attribute__((unused)) int cameo_strassen_flat(const cameo_conv_view *v)
{
    return v->out[0] * v->out[1] == 1;
}

/* Is x read as it lies, for few rows of y, which read it too seldom for a copy? */
static inline __attribute__((unused)) int cameo_strassen_lies(const cameo_conv_view *v,
                                                              int64_t rows)
{
    return !v->packs && rows < CAMEO_CONV_K && cameo_strassen_flat(v) &&
           v->taps[0] * v->taps[1] * v->taps[2] == 1;
}

/* Panels of B from column n on, values from .. to of the first half of nk values of k, at `places`;
 * that of B12 where T3 is to be. */
static inline __attribute__((unused)) void cameo_strassen_pack(const cameo_conv_view *v, int64_t n,
                                                               int64_t nk, int64_t from, int64_t to,
                                                               const int64_t *places, float *b)
{
    enum { SIDE = CAMEO_STRASSEN_SIDE };
    const int64_t next = cameo_strassen_next(nk);
    const int64_t *high = places + from, *low = high + nk / 2;
    b += from * SIDE;
    cameo_conv_pack(v, n, SIDE, to - from, high, b);
    cameo_conv_pack(v, n, SIDE, to - from, low, b + next);
    cameo_conv_pack(v, n + SIDE, SIDE, to - from, low, b + 2 * next);
    cameo_conv_pack(v, n + SIDE, SIDE, to - from, high, b + 5 * next);
}

/* One value of k of the pair at b, panels `next` apart: T of these rows of B, and, copies, B. */
static inline __attribute__((unused)) void cameo_strassen_sums(const float *b11, const float *b12,
                                                               const float *b21, const float *b22,
                                                               int copies, float *b, int64_t next)
{
    for (int64_t i = 0; i < CAMEO_STRASSEN_SIDE; i += CAMEO_LANES, b += CAMEO_LANES) {
        const cameo_vec q11 = *(const cameo_vec *)(b11 + i), q12 = *(const cameo_vec *)(b12 + i);
        const cameo_vec q21 = *(const cameo_vec *)(b21 + i), q22 = *(const cameo_vec *)(b22 + i);
        const cameo_vec t1 = q12 - q11, t2 = q22 - t1;
        if (copies) {
            *(cameo_vec *)b = q11;
            *(cameo_vec *)(b + next) = q21;
            *(cameo_vec *)(b + 2 * next) = q22;
        }
        *(cameo_vec *)(b + 3 * next) = t1;
        *(cameo_vec *)(b + 4 * next) = t2;
        *(cameo_vec *)(b + 5 * next) = q22 - q12;
        *(cameo_vec *)(b + 6 * next) = q21 - t2;
    }
}

/* The pair of panels from column n on, values from .. to of the first half of nk values of k, at
 * `places`; lies: without those of B. */
static __attribute__((noinline, unused)) void
cameo_strassen_pair(const cameo_conv_view *v, int64_t n, int64_t nk, int64_t from, int64_t to,
                    const int64_t *places, int lies, float *b)
{
    enum { SIDE = CAMEO_STRASSEN_SIDE };
    const int64_t *low = places + nk / 2, next = cameo_strassen_next(nk);
    if (!cameo_strassen_flat(v)) {
        cameo_strassen_pack(v, n, nk, from, to, places, b);
        for (float *at = b + from * SIDE; from < to; from++, at += SIDE)
            cameo_strassen_sums(at, at + 5 * next, at + next, at + 2 * next, 0, at, next);
        return;
    }
    for (int64_t k = from; k < to; k++) {
        const int64_t soon = k + CAMEO_STRASSEN_AHEAD < to ? k + CAMEO_STRASSEN_AHEAD : k;
        const float *x = v->x + n, *high = x + places[k], *under = x + low[k];
        for (int64_t i = 0; i < 2 * SIDE; i += CAMEO_CONV_LINE) {
            __builtin_prefetch(x + places[soon] + i);
            __builtin_prefetch(x + low[soon] + i);
        }
        cameo_strassen_sums(high, high + SIDE, under, under + SIDE, !lies, b + k * SIDE, next);
    }
}

/* From one S to the next, which are written together too. */
static inline __attribute__((unused)) int64_t cameo_strassen_apart(int64_t nk)
{
    return nk / 2 * CAMEO_TILE_ROWS + CAMEO_STRASSEN_GAP;
}

/* S1 .. S4 of two panels of rows, each of nk values of k, a multiple of four. */
static __attribute__((noinline, unused)) void cameo_strassen_rows(const float *a, int64_t nk,
                                                                  float *s)
{
    const int64_t half = nk / 2 * CAMEO_TILE_ROWS, apart = cameo_strassen_apart(nk);
    const float *low = a + 2 * half;
    for (int64_t i = 0; i < half; i += CAMEO_LANES) {
        const cameo_vec a11 = *(const cameo_vec *)(a + i);
        const cameo_vec a12 = *(const cameo_vec *)(a + half + i);
        const cameo_vec a21 = *(const cameo_vec *)(low + i);
        const cameo_vec a22 = *(const cameo_vec *)(low + half + i);
        const cameo_vec first = a21 + a22, second = first - a11;
        *(cameo_vec *)(s + i) = first;
        *(cameo_vec *)(s + apart + i) = second;
        *(cameo_vec *)(s + 2 * apart + i) = a11 - a21;
        *(cameo_vec *)(s + 3 * apart + i) = a12 - second;
    }
}

/* Rows from m on of pair number i; ask: the weights of the next ones. */
static inline __attribute__((unused)) void cameo_strassen_tiles(const cameo_strassen_block *b,
                                                                int64_t m, int64_t i,
                                                                const float *a, const float *ask)
{
#ifdef CAMEO_STRASSEN
    enum { SIDE = CAMEO_STRASSEN_SIDE, TILE = CAMEO_TILE_ROWS * SIDE };
    static const float none[TILE] __attribute__((aligned(64)));
    static const float plain[CAMEO_STRASSEN_HIGH] = {-0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f,
                                                     -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f,
                                                     -0.0f, -0.0f, -0.0f, -0.0f};
    float u[TILE] __attribute__((aligned(64))), c12[TILE] __attribute__((aligned(64)));
    const int64_t half = b->nk / 2 * CAMEO_TILE_ROWS, next = cameo_strassen_next(b->nk);
    const int64_t n = b->n + 2 * SIDE * i, step = b->x ? b->apart : SIDE;
    const float *t = b->b + i * cameo_strassen_size(b->nk), *low = a + 2 * half, *s = b->s;
    const int64_t apart = cameo_strassen_apart(b->nk);
    const float *x = b->x ? b->x + 2 * SIDE * i : t;
    const float *x21 = b->x ? x + b->nk / 2 * b->apart : t + next;
    const float *x22 = b->x ? x21 + SIDE : t + 2 * next;
    const cameo_finish *f = b->next < b->all ? NULL : b->finish;
    const float *added = f && f->added && !f->curve ? f->added + m * b->row + n : NULL;
    const float *bias = f ? f->bias + m : plain;
    const int64_t under = CAMEO_TILE_ROWS * b->row;
    float *y = b->y + m * b->row + n;
    const cameo_seventh sevenths[] = {
        {a, x, step, none, u, NULL, NULL, NULL, NULL},
        {a + half, x21, step, NULL, NULL, u, y, bias, added},
        {s + apart, t + 4 * next, SIDE, u, u, NULL, NULL, NULL, NULL},
        {s, t + 3 * next, SIDE, u, c12, NULL, NULL, NULL, NULL},
        {s + 2 * apart, t + 5 * next, SIDE, u, u, c12, y + under + SIDE, bias + CAMEO_TILE_ROWS,
         added ? added + under + SIDE : NULL},
        {s + 3 * apart, x22, step, NULL, NULL, c12, y + SIDE, bias, added ? added + SIDE : NULL},
        {low + half, t + 6 * next, SIDE, NULL, NULL, u, y + under, bias + CAMEO_TILE_ROWS,
         added ? added + under : NULL},
    };
    CAMEO_STRASSEN(b->nk / 2, sevenths, ask, b->row, b->begun, f);
#else
    (void)b, (void)m, (void)i, (void)a, (void)ask;
#endif
}

/* Rows m0 .. m1 of all pairs. */
static __attribute__((noinline, unused)) void cameo_strassen_multiply(const cameo_strassen_block *b,
                                                                      int64_t m0, int64_t m1)
{
    const int64_t k = b->next;
    for (int64_t m = m0; m < m1 && b->pairs > 0; m += CAMEO_STRASSEN_HIGH) {
        const float *a = b->w + b->k0 * b->rows + m * b->nk;
        const float *ask = m + CAMEO_STRASSEN_HIGH < b->rows ? a + CAMEO_STRASSEN_HIGH * b->nk
                           : k < b->all                      ? b->w + k * b->rows
                                                             : a;
        cameo_strassen_rows(a, b->nk, b->s);
        for (int64_t i = 0; i < b->pairs; i++)
            cameo_strassen_tiles(b, m, i, a, i ? NULL : ask);
        if (k == b->all)
            cameo_bend(b->finish, b->y, m * b->row + b->n, CAMEO_STRASSEN_HIGH, b->row,
                       2 * CAMEO_STRASSEN_SIDE * b->pairs);
    }
}

/* The pairs' panels for the values of k from k0 on: in scratch, or as they were made. */
static __attribute__((noinline, unused)) void
cameo_strassen_panels(const cameo_conv_view *v, int64_t k0, int64_t n1, float *scratch,
                      cameo_strassen_block *b)
{
    enum { PAIR = 2 * CAMEO_STRASSEN_SIDE };
    int64_t places[CAMEO_CONV_K];
    b->k0 = k0;
    b->nk = b->all - k0 < CAMEO_CONV_K ? b->all - k0 : CAMEO_CONV_K;
    b->next = cameo_conv_block_of(v, b->all, k0 + b->nk, b->n, n1);
    b->b = scratch;
    b->x = NULL;
    if (v->made) {
        b->b = v->made +
               k0 / CAMEO_CONV_K * cameo_strassen_pairs(v) * cameo_strassen_size(CAMEO_CONV_K) +
               b->n / PAIR * cameo_strassen_size(b->nk);
        return;
    }
    if (cameo_strassen_lies(v, b->rows))
        b->x = v->x + k0 * v->channel + b->n;
    cameo_conv_places(v, k0, b->nk, places);
    for (int64_t i = 0; i < b->pairs; i++)
        cameo_strassen_pair(v, b->n + PAIR * i, b->nk, 0, b->nk / 2, places, b->x != NULL,
                            scratch + i * cameo_strassen_size(b->nk));
}

/* As cameo_conv_start: rows low .. high, whole blocks, for all values of k but the last ones. */
static __attribute__((noinline, unused)) void
cameo_strassen_start(const cameo_conv_view *v, int64_t rows, int64_t low, int64_t high, int64_t n0,
                     int64_t n1, const float *w, float *y, int64_t row, float *scratch,
                     cameo_strassen_block *b)
{
    enum { PAIR = 2 * CAMEO_STRASSEN_SIDE };
    cameo_conv_view rest = *v;
    b->pairs = v->sevens ? (n1 - n0) / PAIR : 0;
    if (b->pairs > 0) {
        b->rows = rows;
        b->all = v->channels * v->taps[0] * v->taps[1] * v->taps[2];
        b->n = n0;
        b->row = row;
        b->w = w;
        b->y = y;
        b->finish = v->finish;
        b->apart = v->channel;
        b->s = scratch;
        scratch += 4 * cameo_strassen_apart(CAMEO_CONV_K);
        b->begun = 0;
        cameo_strassen_panels(v, cameo_conv_first(v, b->all, n0, n1), n1, scratch, b);
        while (b->next < b->all) {
            cameo_strassen_multiply(b, low, high);
            b->begun = 1;
            cameo_strassen_panels(v, b->next, n1, scratch, b);
        }
        scratch += b->pairs * cameo_strassen_size(b->all < CAMEO_CONV_K ? b->all : CAMEO_CONV_K);
    }
    if (cameo_strassen_pairs(v) > 0) /* which alone are made */
        rest.made = NULL;
    cameo_conv_start(&rest, rows, low, high, n0 + b->pairs * PAIR, n1, w, y, row, scratch,
                     &b->rest);
}

/* Some rows from m0 on, for the last values of k. Returns where they end. */
static __attribute__((noinline, unused)) int64_t
cameo_strassen_rows_end(const cameo_strassen_block *b, int64_t m0)
{
    enum {
        MOST = (CAMEO_COLUMN_ROWS - 1 + CAMEO_STRASSEN_HIGH) / CAMEO_STRASSEN_HIGH *
               CAMEO_STRASSEN_HIGH
    };
    if (b->pairs == 0)
        return cameo_conv_rows_end(&b->rest, m0);
    const int64_t step = cameo_conv_few(&b->rest) ? MOST : CAMEO_STRASSEN_HIGH;
    const int64_t left = b->rest.high - m0, m1 = m0 + (left < step ? left : step);
    cameo_strassen_multiply(b, m0, m1);
    cameo_conv_multiply(&b->rest, m0, m1);
    return m1;
}

/* As cameo_conv_make: units from .. to of the pairs of all n columns, CAMEO_CONV_MAKE values of k
 * each. */
static __attribute__((noinline, unused)) void
cameo_strassen_make(const cameo_conv_view *v, int64_t n, int64_t from, int64_t to, float *made)
{
    enum { PAIR = 2 * CAMEO_STRASSEN_SIDE, EACH = CAMEO_CONV_MAKE / 2 };
    const int64_t all = v->channels * v->taps[0] * v->taps[1] * v->taps[2];
    const int64_t pairs = cameo_strassen_pairs(v);
    int64_t places[CAMEO_CONV_K];
    if (pairs == 0) {
        cameo_conv_make(v, n, from, to, made);
        return;
    }
    for (; from < to; from++) {
        const int64_t k0 = from * CAMEO_CONV_MAKE / CAMEO_CONV_K * CAMEO_CONV_K;
        const int64_t nk = all - k0 < CAMEO_CONV_K ? all - k0 : CAMEO_CONV_K;
        const int64_t k = (from * CAMEO_CONV_MAKE - k0) / 2, half = nk / 2;
        float *b = made + k0 / CAMEO_CONV_K * pairs * cameo_strassen_size(CAMEO_CONV_K);
        cameo_conv_places(v, k0, nk, places);
        for (int64_t i = 0; i < pairs; i++)
            cameo_strassen_pair(v, PAIR * i, nk, k, k + EACH < half ? k + EACH : half, places, 0,
                                b + i * cameo_strassen_size(nk));
    }
}

#endif
