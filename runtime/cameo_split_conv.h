/* Convolutions of float32 by products of three terms of bfloat16 (cameo_split.h): y[m][n] = sum
 * over k of w[m][k] * x[k][n], 32 rows and columns of y at a time on four matrix registers.
 *
 * Weights are float32 in the order in which they are taken apart: for every CAMEO_SPLIT_LONG values
 * of k tiles of 16 rows, in them 32 values of k at a time, of all rows the first 16 and then the
 * others. One factor is taken apart first and stays in the second cache; the other one is taken
 * apart, 32 rows or columns of it at a time, beside the products of those before. Where there are
 * no such registers, or sums are NaN, as they are where x is not finite or rounds to an infinity in
 * bfloat16, the tiles of float32 do the same products. */
#ifndef CAMEO_SPLIT_CONV_H
#define CAMEO_SPLIT_CONV_H

#include "cameo_conv_share.h"

enum {
    CAMEO_SPLIT_SIDE = 32,       /* rows and columns of y at a time */
    CAMEO_SPLIT_LONG = 768,      /* values of k that are summed before y is written */
    CAMEO_SPLIT_STAYS = 1 << 20, /* bytes of terms that stay in the second cache */
    CAMEO_SPLIT_PLAIN = 4 * CAMEO_CONV_K * CAMEO_TILE_COLUMNS * 4 /* bytes of four panels of
                                                                   * float32 */
};

typedef struct cameo_split_conv {
    const cameo_conv_view *v;
    int64_t rows, n; /* of y */
    const float *w;
    float *y;
    int64_t row; /* elements from one row of y to the next */
    char *made;  /* terms of x, for every CAMEO_SPLIT_LONG values of k panels of 32 columns; NULL:
                  * of no more than is needed next */
    char *room;  /* CAMEO_SPLIT_PLAIN bytes, then terms */
} cameo_split_conv;

static inline __attribute__((unused)) int64_t cameo_split_conv_k(const cameo_split_conv *c)
{
    return c->v->channels * c->v->taps[0] * c->v->taps[1] * c->v->taps[2];
}

/* What threads share where x is taken apart first: rows of y, then each reads terms that others
 * made; or columns, so that each takes apart its own part of x, and all weights. Those are beside
 * products if there are enough of them, and fewer than x has numbers. */
static inline __attribute__((unused)) int64_t cameo_split_conv_shares(int64_t threads, int64_t rows,
                                                                      int64_t k, int64_t n)
{
    const int64_t units = cameo_conv_blocks(n, CAMEO_SPLIT_SIDE);
    const int columns = threads > 1 && units >= 3 * threads && k > rows;
    return columns ? (int64_t)CAMEO_SPLIT_SIDE : (int64_t)CAMEO_CONV_ROWS;
}

/* The least of so many units that one of `threads` takes at a time: its part in so many shares,
 * since what each share begins with is made beside nothing. grain: what is worth its while. */
static inline __attribute__((unused)) int64_t cameo_split_conv_grain(int64_t threads, int64_t units,
                                                                     int64_t shares, int64_t grain)
{
    const int64_t some = (units + shares * threads - 1) / (shares * threads);
    return some > grain ? some : grain;
}

/* ---- by tiles of float32 ---- */

/* Rows m and on of weights, as many as CAMEO_TILE_ROWS, values k .. k + n of k: as tiles read them.
 */
static inline __attribute__((unused)) void
cameo_split_conv_weights(const cameo_split_conv *c, int64_t m, int64_t k, int64_t n, float *to)
{
    const int64_t all = (cameo_split_conv_k(c) + 31) / 32 * 32, whole = (c->rows + 15) / 16 * 16;
    const int64_t begin = k / CAMEO_SPLIT_LONG * CAMEO_SPLIT_LONG;
    const int64_t deep = all - begin < CAMEO_SPLIT_LONG ? all - begin : CAMEO_SPLIT_LONG;
    const float *from = c->w + begin * whole + m / 16 * 16 * deep + m % 16 * 16;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = k - begin + i;
        const float *number = from + at / 16 * 256 + at % 16;
        for (int r = 0; r < CAMEO_TILE_ROWS; r++)
            to[i * CAMEO_TILE_ROWS + r] = number[16 * r];
    }
}

/* Columns n and on of y, as many as four panels of x have, for values of k from k0 on. */
typedef struct cameo_split_conv_piece {
    int64_t m0, m1, n, width, k0, nk;
} cameo_split_conv_piece;

static inline __attribute__((unused)) void cameo_split_conv_tiles(const cameo_split_conv *c,
                                                                  const cameo_split_conv_piece *s,
                                                                  const float *panels,
                                                                  const int64_t *at)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    float a[CAMEO_TILE_ROWS * CAMEO_CONV_K];
    cameo_conv_block block = {.rows = c->rows,
                              .all = cameo_split_conv_k(c),
                              .k0 = s->k0,
                              .nk = s->nk,
                              .next = s->k0 + s->nk,
                              .row = c->row,
                              .finish = c->v->finish};
    for (int64_t m = s->m0; m < s->m1; m += CAMEO_TILE_ROWS) {
        cameo_split_conv_weights(c, m, s->k0, s->nk, a);
        const int64_t end = m + CAMEO_TILE_ROWS < s->m1 ? m + CAMEO_TILE_ROWS : s->m1;
        for (int64_t j = 0; j < s->width; j += PANEL)
            for (int64_t i = m; i < end; i += CAMEO_ROWS) {
                const int64_t height = end - i < CAMEO_ROWS ? end - i : CAMEO_ROWS;
                const int64_t width = s->width - j < PANEL ? s->width - j : PANEL;
                cameo_finish finish;
                /* Whole tiles: those of fewer vectors may sum in two chains, and where columns end
                 * depends on what threads share. */
                cameo_tiles[height - 1][CAMEO_VECTORS - 1](
                    s->nk, a + i - m, panels + j * CAMEO_CONV_K, at, 0,
                    c->y + i * c->row + s->n + j, c->row, width, s->k0 > 0,
                    cameo_conv_finish(&block, i, s->n + j, &finish));
            }
    }
}

/* Rows m0 .. m1, m0 a multiple of 16, of columns n0 .. n1 of y. */
static __attribute__((noinline, unused)) void
cameo_split_conv_plain(const cameo_split_conv *c, int64_t m0, int64_t m1, int64_t n0, int64_t n1)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS, SOME = 4 * CAMEO_TILE_COLUMNS / PANEL * PANEL };
    int64_t places[CAMEO_CONV_K], at[CAMEO_CONV_K];
    float *panels = (float *)(void *)c->room;
    const int64_t all = cameo_split_conv_k(c);
    for (int64_t k = 0; k < CAMEO_CONV_K; k++)
        at[k] = k * PANEL;
    for (int64_t n = n0; n < n1; n += SOME)
        for (int64_t k = 0; k < all; k += CAMEO_CONV_K) {
            const cameo_split_conv_piece piece = {
                m0, m1,
                n,  n1 - n < SOME ? n1 - n : SOME,
                k,  all - k < CAMEO_CONV_K ? all - k : CAMEO_CONV_K};
            cameo_conv_places(c->v, k, piece.nk, places);
            for (int64_t j = 0; j < piece.width; j += PANEL)
                cameo_conv_pack(c->v, n + j, piece.width - j < PANEL ? piece.width - j : PANEL,
                                piece.nk, places, panels + j * CAMEO_CONV_K);
            cameo_split_conv_tiles(c, &piece, panels, at);
        }
}

#ifdef CAMEO_AMX

/* ---- terms ---- */

/* Some values of k at a time, `deep` with those that fill up the last 32. */
typedef struct cameo_split_deep {
    int64_t k, n, deep;
} cameo_split_deep;

static inline __attribute__((unused)) cameo_split_deep
cameo_split_conv_deep(const cameo_split_conv *c, int64_t k)
{
    const int64_t all = cameo_split_conv_k(c);
    const int64_t n = all - k < CAMEO_SPLIT_LONG ? all - k : CAMEO_SPLIT_LONG;
    return (cameo_split_deep){k, n, (n + 31) / 32 * 32};
}

/* Where columns n .. n + width of x are, with those that fill up vectors, if they are neighbours in
 * it. */
static inline __attribute__((unused)) const float *cameo_split_conv_lies(const cameo_split_conv *c,
                                                                         const cameo_split_deep *k,
                                                                         int64_t n, int64_t width)
{
    const cameo_conv_view *v = c->v;
    const int64_t last = (k->k + k->n - 1) * v->channel + n + (width + 15) / 16 * 16;
    const int lies = v->out[0] * v->out[1] == 1 && v->taps[0] * v->taps[1] * v->taps[2] == 1;
    return lies && last <= v->size ? v->x + k->k * v->channel + n : NULL;
}

/* Columns n .. n + width of x, at most 32, as one panel of float32. */
static inline __attribute__((unused)) void cameo_split_conv_copy(const cameo_split_conv *c,
                                                                 const cameo_split_deep *k,
                                                                 int64_t n, int64_t width,
                                                                 float *copy)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    int64_t places[CAMEO_CONV_K];
    for (int64_t i = 0; i < k->n; i += CAMEO_CONV_K) {
        const int64_t some = k->n - i < CAMEO_CONV_K ? k->n - i : CAMEO_CONV_K;
        cameo_conv_places(c->v, k->k + i, some, places);
        cameo_conv_pack(c->v, n, width, some, places, copy + i * PANEL);
    }
}

/* Both of its vectors begin at `from`, or 16 * apart numbers behind it; all in so many turns. */
static inline __attribute__((unused)) cameo_split_feed
cameo_split_conv_feed(const cameo_split_deep *k, const float *from, int64_t apart, int64_t row,
                      int64_t turns, char *to)
{
    const int64_t pairs = k->deep / 2;
    return (cameo_split_feed){.from = {from, from + 16 * apart},
                              .row = {row, row},
                              .left = pairs,
                              .to = to,
                              .column = k->deep / 32 * CAMEO_SPLIT_STEP,
                              .all = pairs,
                              .turns = turns};
}

/* What is left of it. */
static inline __attribute__((unused)) void cameo_split_conv_rest(cameo_split_feed *f)
{
    f->turns = 1;
    f->due = f->left;
    cameo_split_turns(f);
}

/* What makes the terms of columns n .. n + width of x, at most 32, at `to`. copy: room for a panel
 * of float32, if they are no neighbours or rows are to be filled up with zeros. */
static inline __attribute__((unused)) cameo_split_feed cameo_split_conv_x(const cameo_split_conv *c,
                                                                          const cameo_split_deep *k,
                                                                          int64_t n, int64_t width,
                                                                          int64_t turns,
                                                                          float *copy, char *to)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    const int64_t apart = width > 16;
    const float *from = k->n == k->deep ? cameo_split_conv_lies(c, k, n, width) : NULL;
    if (from) {
        cameo_split_feed f = cameo_split_conv_feed(k, from, apart, c->v->channel, turns, to);
        for (int v = 0; v < 2 && turns > 1; v++)
            f.ahead[v] = 4 * CAMEO_SPLIT_DEEP * c->v->channel;
        return f;
    }
    cameo_split_conv_copy(c, k, n, width, copy);
    memset(copy + k->n * PANEL, 0, (size_t)((k->deep - k->n) * PANEL) * sizeof *copy);
    return cameo_split_conv_feed(k, copy, apart, PANEL, turns, to);
}

/* The same of rows m and on of weights, at most 32. */
static inline __attribute__((unused)) cameo_split_feed cameo_split_conv_w(const cameo_split_conv *c,
                                                                          const cameo_split_deep *k,
                                                                          int64_t m, int64_t turns,
                                                                          char *to)
{
    const int64_t whole = (c->rows + 15) / 16 * 16, next = m + CAMEO_SPLIT_SIDE;
    cameo_split_feed f = cameo_split_conv_feed(k, c->w + k->k * whole + m * k->deep,
                                               whole - m > 16 ? k->deep : 0, 16, turns, to);
    for (int v = 0; v < 2; v++)
        f.ahead[v] = next + 16 * v < whole ? 4 * CAMEO_SPLIT_SIDE * k->deep : 0;
    return f;
}

/* ---- sums ---- */

/* Rows and columns of y that are done at once, and whether sums of y go on and are finished. */
typedef struct cameo_split_square {
    int64_t m, rows, n, width;
    int more, last;
} cameo_split_square;

/* Squares by turns: while one is summed, the one before it goes to y. */
typedef struct cameo_split_ends {
    const cameo_split_conv *c;
    cameo_split_square square; /* that goes to y */
    cameo_split_goal goal;
    int now; /* which of the sums are written next */
    _Alignas(64) float sums[2][CAMEO_SPLIT_SIDE * CAMEO_SPLIT_SIDE];
} cameo_split_ends;

static inline __attribute__((unused)) void cameo_split_conv_ends(cameo_split_ends *e,
                                                                 const cameo_split_conv *c)
{
    e->c = c;
    e->now = 0;
    e->goal = (cameo_split_goal){.sums = NULL};
}

static inline __attribute__((unused)) void cameo_split_conv_goal(cameo_split_ends *e,
                                                                 const cameo_split_square *s)
{
    const cameo_split_conv *c = e->c;
    const cameo_finish *f = s->last ? c->v->finish : NULL;
    const int64_t at = s->m * c->row + s->n;
    e->square = *s;
    e->goal = (cameo_split_goal){.sums = e->sums[e->now],
                                 .y = c->y + at,
                                 .added = f && !f->curve && f->added ? f->added + at : NULL,
                                 .bias = f ? f->bias + s->m : NULL,
                                 .lds = (s->width + 15) / 16 * 16,
                                 .row = c->row,
                                 .rows = s->rows,
                                 .width = s->width,
                                 .more = s->more,
                                 .low = f ? f->low : 0.0f,
                                 .high = f ? f->high : 0.0f};
    e->now = 1 - e->now;
}

/* What is left of a square to y. 0: its sums are not all finite. */
static inline __attribute__((unused)) int cameo_split_conv_ended(cameo_split_ends *e)
{
    float any = 0.0f;
    cameo_split_end_rows(&e->goal, e->goal.rows);
    for (int i = 0; i < 16; i++)
        any += e->goal.none[i];
    e->goal.sums = NULL;
    return any == 0.0f;
}

/* The same; all of it again, by tiles of float32, if it is not finite. */
static __attribute__((noinline, unused)) CAMEO_SPLIT_WHOLE void
cameo_split_conv_end(cameo_split_ends *e)
{
    const cameo_split_square *s = &e->square;
    if (e->goal.sums && !cameo_split_conv_ended(e) && s->last)
        cameo_split_conv_plain(e->c, s->m, s->m + s->rows, s->n, s->n + s->width);
}

/* The sums of a square of the terms at a and b; the one before it goes to y meanwhile. */
static inline __attribute__((always_inline)) void
cameo_split_conv_multiply(cameo_split_ends *e, const cameo_split_deep *k,
                          const cameo_split_square *s, const char *a, const char *b,
                          cameo_split_feed *f)
{
    const int64_t steps = k->deep / 32, tile = steps * CAMEO_SPLIT_STEP;
    const int64_t down = (s->rows + 15) / 16, across = (s->width + 15) / 16;
    const int64_t turns = down * across * steps;
    e->goal.each = (e->goal.rows + turns - 1) / turns;
    f->goal = e->goal.sums ? &e->goal : NULL;
    cameo_split_tiles[down - 1][across - 1](steps, a, tile, b, tile, (char *)e->sums[e->now],
                                            64 * across, f);
}

/* A square of the terms at a and b. */
static inline __attribute__((always_inline)) void
cameo_split_conv_sum(cameo_split_ends *e, const cameo_split_deep *k, const cameo_split_square *s,
                     const char *a, const char *b, cameo_split_feed *f)
{
    cameo_split_conv_multiply(e, k, s, a, b, f);
    cameo_split_conv_end(e);
    cameo_split_conv_goal(e, s);
}

/* `side` rows and 32 columns at most. */
static inline __attribute__((unused)) cameo_split_square cameo_split_conv_at(
    const cameo_split_conv *c, const cameo_split_deep *k, int64_t m, int64_t side, int64_t n)
{
    enum { SIDE = CAMEO_SPLIT_SIDE };
    return (cameo_split_square){m,        c->rows - m < side ? c->rows - m : side,
                                n,        c->n - n < SIDE ? c->n - n : SIDE,
                                k->k > 0, k->k + k->n == cameo_split_conv_k(c)};
}

/* Columns n0 .. n1 for some values of k, all weights being taken apart first. */
static __attribute__((noinline, unused)) CAMEO_SPLIT_WHOLE void
cameo_split_conv_panels(const cameo_split_conv *c, const cameo_split_deep *k, int64_t n0,
                        int64_t n1)
{
    enum { SIDE = CAMEO_SPLIT_SIDE };
    const int64_t whole = (c->rows + SIDE - 1) / SIDE * SIDE, steps = k->deep / 32;
    char *a = c->room + CAMEO_SPLIT_PLAIN, *b[2] = {a + 6 * whole * k->deep};
    b[1] = b[0] + 6 * SIDE * k->deep;
    float *copy = (float *)(void *)(b[1] + 6 * SIDE * k->deep);
    const int bends = k->k + k->n == cameo_split_conv_k(c) && c->v->finish && c->v->finish->curve;
    cameo_split_ends ends;
    cameo_split_feed f;
    cameo_split_conv_ends(&ends, c);
    for (int64_t m = 0; m < c->rows; m += SIDE) {
        f = cameo_split_conv_w(c, k, m, 1, a + 6 * m * k->deep);
        cameo_split_turns(&f);
    }
    f = cameo_split_conv_x(c, k, n0, n1 - n0 < SIDE ? n1 - n0 : SIDE, 1, copy, b[0]);
    cameo_split_turns(&f);
    int now = 0;
    for (int64_t n = n0, end; n < n1; n = end, now = 1 - now) {
        end = n1 - n < SIDE ? n1 : n + SIDE;
        f = (cameo_split_feed){.turns = 1};
        if (end < n1)
            f = cameo_split_conv_x(c, k, end, n1 - end < SIDE ? n1 - end : SIDE,
                                   (c->rows + 15) / 16 * ((end - n + 15) / 16) * steps, copy,
                                   b[1 - now]);
        const int64_t side = end - n > 16 ? SIDE : 2 * SIDE;
        for (int64_t m = 0; m < c->rows; m += side) {
            const cameo_split_square s = cameo_split_conv_at(c, k, m, side, n);
            cameo_split_conv_sum(&ends, k, &s, a + 6 * m * k->deep, b[now], &f);
        }
        cameo_split_conv_rest(&f);
        if (bends) {
            cameo_split_conv_end(&ends);
            cameo_bend(c->v->finish, c->y, n, c->rows, c->row, end - n);
        }
    }
    cameo_split_conv_end(&ends);
}

/* Rows m0 .. m1 of columns n0 .. n1 for some values of k, x having been taken apart. */
static __attribute__((noinline, unused)) CAMEO_SPLIT_WHOLE void
cameo_split_conv_blocks(const cameo_split_conv *c, const cameo_split_deep *k, int64_t m0,
                        int64_t m1, int64_t n0, int64_t n1)
{
    enum { SIDE = CAMEO_SPLIT_SIDE };
    const int64_t whole = (c->n + SIDE - 1) / SIDE * SIDE, steps = k->deep / 32;
    const char *b = c->made + 6 * k->k * whole;
    char *a[2] = {c->room + CAMEO_SPLIT_PLAIN};
    a[1] = a[0] + 6 * SIDE * k->deep;
    const int bends = k->k + k->n == cameo_split_conv_k(c) && c->v->finish && c->v->finish->curve;
    cameo_split_ends ends;
    cameo_split_conv_ends(&ends, c);
    cameo_split_feed f = cameo_split_conv_w(c, k, m0, 1, a[0]);
    cameo_split_turns(&f);
    int now = 0;
    for (int64_t m = m0; m < m1; m += SIDE, now = 1 - now) {
        const int64_t rows = m1 - m < SIDE ? m1 - m : SIDE;
        f = (cameo_split_feed){.turns = 1};
        if (m + SIDE < m1)
            f = cameo_split_conv_w(c, k, m + SIDE, (rows + 15) / 16 * ((n1 - n0 + 15) / 16) * steps,
                                   a[1 - now]);
        for (int64_t n = n0; n < n1; n += SIDE) {
            const cameo_split_square s = cameo_split_conv_at(c, k, m, SIDE, n);
            cameo_split_conv_sum(&ends, k, &s, a[now], b + 6 * n * k->deep, &f);
        }
        cameo_split_conv_rest(&f);
        if (bends) {
            cameo_split_conv_end(&ends);
            cameo_bend(c->v->finish, c->y, m * c->row + n0, rows, c->row, n1 - n0);
        }
    }
    cameo_split_conv_end(&ends);
}
#endif

/* ---- what programs call ---- */

/* Units from .. to of the terms of x: 32 columns each. */
static __attribute__((noinline, unused)) void cameo_split_conv_make(const cameo_split_conv *c,
                                                                    int64_t from, int64_t to)
{
#ifdef CAMEO_AMX
    enum { SIDE = CAMEO_SPLIT_SIDE };
    const int64_t whole = (c->n + SIDE - 1) / SIDE * SIDE, all = cameo_split_conv_k(c);
    if (!cameo_amx_on())
        return;
    for (int64_t at = 0; at < all; at += CAMEO_SPLIT_LONG) {
        const cameo_split_deep k = cameo_split_conv_deep(c, at);
        for (int64_t n = from * SIDE; n < c->n && n < to * SIDE; n += SIDE) {
            const int64_t width = c->n - n < SIDE ? c->n - n : SIDE;
            cameo_split_feed f = cameo_split_conv_x(c, &k, n, width, 1, (float *)(void *)c->room,
                                                    c->made + 6 * at * whole + 6 * n * k.deep);
            cameo_split_turns(&f);
        }
    }
#endif
    (void)c, (void)from, (void)to;
}

/* Units from .. to: 32 columns of y each, all rows. */
static __attribute__((noinline, unused)) void cameo_split_conv_columns(const cameo_split_conv *c,
                                                                       int64_t from, int64_t to)
{
    enum { SIDE = CAMEO_SPLIT_SIDE };
    const int64_t n0 = from * SIDE, n1 = to * SIDE < c->n ? to * SIDE : c->n;
#ifdef CAMEO_AMX
    const int64_t all = cameo_split_conv_k(c);
    if (cameo_amx_on()) {
        cameo_amx_begin();
        for (int64_t at = 0; at < all; at += CAMEO_SPLIT_LONG) {
            const cameo_split_deep k = cameo_split_conv_deep(c, at);
            cameo_split_conv_panels(c, &k, n0, n1);
        }
        cameo_amx_end();
        return;
    }
#endif
    cameo_split_conv_plain(c, 0, c->rows, n0, n1);
    cameo_bend(c->v->finish, c->y, n0, c->rows, c->row, n1 - n0);
}

/* What is cut of y. x has been taken apart, unless threads share columns. */
static __attribute__((noinline, unused)) void
cameo_split_conv_rows(const cameo_split_conv *c, int64_t mode, const cameo_conv_cut *cut)
{
#ifdef CAMEO_AMX
    enum { SIDE = CAMEO_SPLIT_SIDE };
    const int64_t all = cameo_split_conv_k(c);
    const int64_t deep = all < CAMEO_SPLIT_LONG ? (all + 31) / 32 * 32 : CAMEO_SPLIT_LONG;
    const int64_t fit = CAMEO_SPLIT_STAYS / 6 / deep / SIDE * SIDE;
    if (mode >= CAMEO_CONV_COLUMNS)
        cameo_split_conv_make(c, cut->begin / SIDE, (cut->end + SIDE - 1) / SIDE);
    if (cameo_amx_on()) {
        cameo_amx_begin();
        for (int64_t n = cut->begin, end; n < cut->end; n = end) {
            end = cut->end - n < fit * 5 / 4 ? cut->end : n + (fit > SIDE ? fit : SIDE);
            for (int64_t at = 0; at < all; at += CAMEO_SPLIT_LONG) {
                const cameo_split_deep k = cameo_split_conv_deep(c, at);
                cameo_split_conv_blocks(c, &k, cut->low, cut->high, n, end);
            }
        }
        cameo_amx_end();
        return;
    }
#endif
    (void)mode;
    cameo_split_conv_plain(c, cut->low, cut->high, cut->begin, cut->end);
    cameo_bend(c->v->finish, c->y, cut->low * c->row + cut->begin, cut->high - cut->low, c->row,
               cut->end - cut->begin);
}

#endif
