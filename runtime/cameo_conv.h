/* Convolutions as products of packed matrices: y[m][n] = sum over k of w[m][k] * x[k][n], where k
 * is a channel and a place of the window, and n a place of the output. x is never written out as
 * such a matrix: a block of it is, panel by panel, while it is multiplied. */
#ifndef CAMEO_CONV_H
#define CAMEO_CONV_H

#include "cameo_conv_panels.h"

/* f's curve, if it has one, of n neighbours in each of `rows` rows of y, `row` apart, from y[at]
 * on, which hold sum + bias. y: where f's `added` begins too. */
static inline __attribute__((unused)) void cameo_bend(const cameo_finish *f, float *y, int64_t at,
                                                      int64_t rows, int64_t row, int64_t n)
{
    const int one = n == row; /* rows go on where they end */
    if (f && f->curve)
        f->curve(y + at, f->added ? f->added + at : NULL, one ? 1 : rows, row, one ? rows * n : n);
}

/* Columns n0 .. n1 of y: rows m0 .. m1 for the values of k whose panels there are. */
typedef struct cameo_conv_block {
    int64_t rows, high, all, k0, nk; /* rows of y, the last ones to do; values of k, those of the
                                      * panels */
    int64_t next;                    /* the first of those that come then; all: none do */
    int begun;                       /* there are sums of others in y */
    const float *w; /* packed: blocks of CAMEO_CONV_K values of k, in them panels of rows */
    float *y;
    int64_t row;
    const cameo_finish *finish; /* of y as it begins, with the last values of k; NULL: none */
    int even;                   /* as the view's */
    int tied;                   /* few columns are summed as tiles sum */
    int few;                    /* columns of the last panel that are a few, at most */
    cameo_columns_sum *several; /* sums of more than CAMEO_FEW of them */
    cameo_conv_rows_two *single;
    int64_t apart;     /* of x, from one value of k to the next; 0: not the same */
    int64_t low;       /* the first row to do */
    const float *soon; /* x of the panels that come next, rows `apart`, */
    int64_t lines;     /* and lines of each; 0: it is not asked for */
    int count;
    cameo_conv_panel panels[CAMEO_CONV_PANELS];
    int64_t places[CAMEO_CONV_K], packed[CAMEO_CONV_K];
} cameo_conv_block;

/* What tiles of some rows ask for: the weights of those that come next, panel after panel, evenly.
 */
typedef struct cameo_conv_next {
    const float *w;       /* their first panel */
    int64_t size, panels; /* elements of a panel, and how many there are */
    int64_t asked;        /* panels asked for */
    int64_t turns, turn;  /* of rows of a tile by the panels beside one another */
} cameo_conv_next;

/* Of rows before `next` of m0 .. m1: those from `next` on, or what lies behind the last ones, or
 * the first ones for the next values of k. */
static inline __attribute__((unused)) cameo_conv_next
cameo_conv_asks(const cameo_conv_block *b, int64_t m0, int64_t m1, int64_t next, int64_t turns)
{
    const int64_t panels = (b->rows + CAMEO_TILE_ROWS - 1) / CAMEO_TILE_ROWS, k = b->next;
    const int64_t left = b->all - k;
    const int more = next < m1 || left <= 0;
    const int64_t row = more ? next : m0, rest = b->rows - row;
    const int64_t rows = rest > 0 && rest < CAMEO_CONV_HIGH ? rest : CAMEO_CONV_HIGH;
    const int64_t depth = more ? b->nk : left < CAMEO_CONV_K ? left : CAMEO_CONV_K;
    return (cameo_conv_next){b->w + (more ? b->k0 : k) * panels * CAMEO_TILE_ROWS + row * depth,
                             depth * CAMEO_TILE_ROWS,
                             (rows + CAMEO_TILE_ROWS - 1) / CAMEO_TILE_ROWS,
                             0,
                             turns,
                             0};
}

/* Does the turn that comes ask for some? */
static inline __attribute__((unused)) int cameo_conv_asking(const cameo_conv_next *n)
{
    return n->asked < n->panels && n->asked * n->turns <= n->turn * n->panels;
}

/* Of the x that the next panels are made of: what rows m .. next ask for, a line of all values of k
 * at a time. */
static inline __attribute__((unused)) cameo_conv_next
cameo_conv_asks_x(const cameo_conv_block *b, int64_t m, int64_t next, int64_t turns)
{
    if (b->lines == 0)
        return (cameo_conv_next){0};
    const int64_t rows = b->high - b->low, from = b->lines * (m - b->low) / rows;
    const int64_t to = b->lines * (next - b->low) / rows;
    return (cameo_conv_next){
        b->soon + from * CAMEO_CONV_LINE, CAMEO_CONV_LINE, to - from, 0, turns, 0};
}

/* Bytes from the weights `a` of the tile to do to those that it asks for, or 0: for each turn. */
static inline __attribute__((unused)) int64_t cameo_conv_ahead(cameo_conv_next *n, const float *a)
{
    const int asks = cameo_conv_asking(n);
    n->turn++;
    if (!asks)
        return 0;
    return (int64_t)((uintptr_t)(n->w + n->asked++ * n->size) - (uintptr_t)a);
}

/* What is done to the sums of rows from m on and columns from n on; *f: room for it. */
static inline __attribute__((unused)) const cameo_finish *
cameo_conv_finish(const cameo_conv_block *b, int64_t m, int64_t n, cameo_finish *f)
{
    if (!b->finish || b->next < b->all)
        return NULL;
    *f = *b->finish;
    f->bias += m;
    f->added = f->added && !f->curve ? f->added + m * b->row + n : NULL;
    return f;
}

/* Where the weights of row m are, of the values of k whose panels there are. */
static inline __attribute__((unused)) const float *cameo_conv_weights(const cameo_conv_block *b,
                                                                      int64_t m)
{
    const int64_t panels = (b->rows + CAMEO_TILE_ROWS - 1) / CAMEO_TILE_ROWS;
    return b->w + b->k0 * panels * CAMEO_TILE_ROWS + m / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS * b->nk +
           m % CAMEO_TILE_ROWS;
}

/* Is the last panel a few columns? */
static inline __attribute__((unused)) int cameo_conv_few(const cameo_conv_block *b)
{
    return b->count > 0 && b->panels[b->count - 1].width <= b->few;
}

/* Are panels i and i + 1 one vector each, with places alike, and rows a whole tile? */
static inline __attribute__((unused)) int cameo_conv_pair(const cameo_conv_block *b, int i,
                                                          int64_t height)
{
#ifndef CAMEO_PAIR
    return (void)b, (void)i, (void)height, 0;
#else
    const cameo_conv_panel *p = &b->panels[i];
    return height == CAMEO_ROWS && i + 1 < b->count - cameo_conv_few(b) && p->at == p[1].at &&
           !p->row && !p[1].row && p->width == p[1].width &&
           cameo_conv_lanes(p->width, b->even) == CAMEO_LANES;
#endif
}

/* `height` rows of y, `row` apart, to a tile whose columns are those of a panel's joined rows, or,
 * `back`, from it. */
static inline __attribute__((unused)) void
cameo_conv_join(const cameo_conv_panel *p, int64_t height, int back, const float *restrict from,
                float *restrict to, int64_t row, int64_t lanes)
{
    for (int64_t i = 0; i < height; i++) {
        for (int64_t n = 0, at = 0; n < p->width; n += p->row, at += p->next)
            for (int64_t k = 0; k < p->row; k++)
                to[(back ? n : at) + k] = from[(back ? at : n) + k];
        from += back ? lanes : row;
        to += back ? row : lanes;
    }
}

/* Rows m .. m + height, those of a tile, of a panel of joined rows. */
static __attribute__((noinline, unused)) void cameo_conv_joined(const cameo_conv_block *b,
                                                                const cameo_conv_panel *p,
                                                                int64_t m, int64_t height,
                                                                const float *a, int64_t ahead)
{
    enum { TILE = CAMEO_ROWS * CAMEO_LANES * CAMEO_VECTORS };
    const int64_t reach = (p->width / p->row - 1) * p->next + p->row;
    const int64_t lanes = cameo_conv_lanes(reach, b->even), at = m * b->row + p->n;
    float tile[TILE], added[TILE];
    cameo_finish finish;
    const cameo_finish *f = cameo_conv_finish(b, m, p->n, &finish);
    if (b->begun) {
        memset(tile, 0, sizeof tile);
        cameo_conv_join(p, height, 0, b->y + at, tile, b->row, lanes);
    }
    if (f && f->added) {
        memset(added, 0, sizeof added);
        cameo_conv_join(p, height, 0, f->added, added, b->row, lanes);
        finish.added = added;
    }
    cameo_tiles[height - 1][lanes / CAMEO_LANES - 1](b->nk, a, p->b, p->at, ahead, tile, lanes,
                                                     lanes, b->begun, f);
    cameo_conv_join(p, height, 1, tile, b->y + at, b->row, lanes);
}

/* Rows m .. m + height, those of a tile, of panel i, or, pair, of two. Empty lanes of a panel are
 * written too where they are columns of those that follow it, unless there are sums in these
 * already. */
static inline __attribute__((unused)) void cameo_conv_tile(const cameo_conv_block *b, int64_t m,
                                                           int64_t height, int i, int pair,
                                                           const float *a, int64_t ahead)
{
    const cameo_conv_panel *last = &b->panels[b->count - 1], *p = &b->panels[i];
    const int64_t end = b->begun ? 0 : last->n + last->width;
    const int64_t whole = cameo_conv_lanes(p->width, b->even);
    cameo_finish finish;
    if (p->row)
        cameo_conv_joined(b, p, m, height, a, ahead);
#ifdef CAMEO_PAIR
    else if (pair)
        CAMEO_PAIR(b->nk, a, p->b, p[1].b - p->b, p->at, ahead, b->y + m * b->row + p->n, b->row,
                   p->width, p[1].n + whole <= end, b->begun,
                   cameo_conv_finish(b, m, p->n, &finish));
#endif
    else
        cameo_tiles[height - 1][whole / CAMEO_LANES - 1](
            b->nk, a, p->b, p->at, ahead, b->y + m * b->row + p->n, b->row,
            p->n + whole <= end ? whole : p->width, b->begun,
            cameo_conv_finish(b, m, p->n, &finish));
    (void)pair;
}

/* How many panels are multiplied by CAMEO_CONV_HIGH rows before the next ones: one that stays in
 * the first cache; more where k is short and y is written all the time, which is to be in longer
 * pieces. Panels that do not stay come one after the other for each tile's rows. */
static inline __attribute__((unused)) int cameo_conv_beside(const cameo_conv_block *b)
{
    return !CAMEO_CONV_NEAR ? CAMEO_CONV_PANELS : b->nk <= CAMEO_CONV_SHORT_K ? 4 : 1;
}

/* Of panels from .. to how many of the first ones are as wide as a tile and the same distance from
 * one another, with values of k that are so too. */
static inline __attribute__((unused)) int cameo_conv_alike(const cameo_conv_block *b, int from,
                                                           int to)
{
    const cameo_conv_panel *p = &b->panels[from];
    const int64_t width = CAMEO_LANES * CAMEO_VECTORS;
    if ((p->at != b->packed && b->apart == 0) || p->width != width || p->row)
        return 0;
    int n = 1;
    while (from + n < to && p[n].width == width && !p[n].row && p[n].at == p->at &&
           p[n].b - p[n - 1].b == p[1].b - p->b)
        n++;
    return n;
}

/* So many of the few columns at the end does each of as many panels take, from the first one on,
 * where whole tiles of rows are done. */
static inline __attribute__((unused)) int cameo_conv_taken(const cameo_conv_block *b)
{
#ifdef CAMEO_STRIP_COLUMN
    if (b->tied && cameo_conv_few(b)) {
        const int width = (int)b->panels[b->count - 1].width;
        return width < b->count && cameo_conv_alike(b, 0, width) == width ? width : 0;
    }
#endif
    return (void)b, 0;
}

/* What a strip's first tile asks for: from `at` on, `along` elements further for each value of k;
 * along is 0: nothing, `at` is read anyway. */
typedef struct cameo_conv_ask {
    const float *at;
    int64_t along;
} cameo_conv_ask;

/* What tiles from rows m and panel i on read and write: the panels that follow, or, down, the rows.
 */
typedef struct cameo_conv_strip_at {
    const cameo_conv_panel *p;
    const cameo_finish *finish;
    int64_t step, next, row;
    float *y;
} cameo_conv_strip_at;

static inline __attribute__((unused)) cameo_conv_strip_at
cameo_conv_strip_begin(const cameo_conv_block *b, int64_t m, int i, int64_t tiles, int down,
                       cameo_finish *finish)
{
    const cameo_conv_panel *p = &b->panels[i];
    return (cameo_conv_strip_at){
        .p = p,
        .finish = cameo_conv_finish(b, m, p->n, finish),
        .step = p->at == b->packed ? CAMEO_LANES * CAMEO_VECTORS : b->apart,
        .next = tiles > 1 && !down ? p[1].b - p->b : 0,
        .row = down ? 1 + m % CAMEO_TILE_ROWS : 0,
        .y = b->y + m * b->row + p->n,
    };
}

/* So many tiles, from rows m and panel i on: of the panels that follow, or, down, of the rows. The
 * first `taken` panels take one of the few columns each. */
static inline __attribute__((unused)) void cameo_conv_strip(const cameo_conv_block *b, int64_t m,
                                                            int i, int64_t tiles, int down,
                                                            int taken, const float *a,
                                                            cameo_conv_ask ask)
{
#ifdef CAMEO_STRIP
    cameo_finish finish;
#ifdef CAMEO_STRIP_COLUMN
    if (i < taken) {
        const cameo_conv_panel *last = &b->panels[b->count - 1];
        const int64_t some = down || tiles < taken - i ? tiles : taken - i;
        const cameo_conv_strip_at s = cameo_conv_strip_begin(b, m, i, tiles, down, &finish);
        CAMEO_STRIP_COLUMN(b->nk, a, s.p->b + s.p->at[0], s.step, s.next, some, s.row, ask.at,
                           ask.along, last->b + i, last->at, last->n + i - s.p->n, s.y, b->row,
                           b->begun, s.finish);
        if (some == tiles)
            return;
        i += (int)some;
        tiles -= some;
        down = 0;
        ask = (cameo_conv_ask){a, 0};
    }
#endif
    const cameo_conv_strip_at s = cameo_conv_strip_begin(b, m, i, tiles, down, &finish);
    CAMEO_STRIP(b->nk, a, s.p->b + s.p->at[0], s.step, s.next, tiles, s.row, ask.at, ask.along, s.y,
                b->row, b->begun, s.finish);
#else
    (void)b, (void)m, (void)i, (void)tiles, (void)down, (void)a, (void)ask;
#endif
    (void)taken;
}

/* The turn of tiles that read the weights a: the next weights, else x. */
static inline __attribute__((unused)) cameo_conv_ask cameo_conv_turn(const cameo_conv_block *b,
                                                                     cameo_conv_next *weights,
                                                                     cameo_conv_next *x,
                                                                     const float *a)
{
    const int first = cameo_conv_asking(weights), second = !first && cameo_conv_asking(x);
    weights->turn++;
    x->turn++;
    if (first)
        return (cameo_conv_ask){weights->w + weights->asked++ * weights->size, CAMEO_TILE_ROWS};
    if (second)
        return (cameo_conv_ask){x->w + x->asked++ * x->size, b->apart};
    return (cameo_conv_ask){a, 0};
}

/* Rows m .. next of panels from .. to, of which the first `alike` are a strip. Returns the first
 * panel that is left, and in *height the rows that were done. */
static inline __attribute__((unused)) int
cameo_conv_strips(const cameo_conv_block *b, int64_t m, int64_t next, int from, int to, int alike,
                  int taken, cameo_conv_next *weights, cameo_conv_next *x, const float *a,
                  int64_t *height)
{
    const int down = from + 1 == to;
    const cameo_conv_ask ask = cameo_conv_turn(b, weights, x, a);
    while (down && next - m - *height >= CAMEO_ROWS && !cameo_conv_asking(weights) &&
           !cameo_conv_asking(x)) {
        *height += CAMEO_ROWS;
        weights->turn++;
        x->turn++;
    }
    cameo_conv_strip(b, m, from, down ? *height / CAMEO_ROWS : alike, down, taken, a, ask);
    return from + alike;
}

/* Rows m .. next of all panels but a few columns. Those left of m0 .. m1 come next. */
static inline __attribute__((unused)) void cameo_conv_tiles(const cameo_conv_block *b, int64_t m0,
                                                            int64_t m1, int64_t m, int64_t next,
                                                            int taken)
{
    const int count = b->count - cameo_conv_few(b), beside = cameo_conv_beside(b);
    const int64_t turns = (next - m + CAMEO_ROWS - 1) / CAMEO_ROWS * ((count - 1) / beside + 1);
    cameo_conv_next asks = cameo_conv_asks(b, m0, m1, next, turns);
    cameo_conv_next x = cameo_conv_asks_x(b, m, next, turns);
    for (int from = 0, to; from < count; from = to) {
        to = count - from < beside ? count : from + beside;
        to += to < count && cameo_conv_pair(b, to - 1, CAMEO_ROWS);
        const int alike = CAMEO_STRIPS ? cameo_conv_alike(b, from, to) : 0;
        for (int64_t j = m, height; j < next; j += height) {
            height = next - j < CAMEO_ROWS ? next - j : CAMEO_ROWS;
            const float *a = cameo_conv_weights(b, j);
            int64_t ahead = 0;
            int i = from;
            if (alike > 0 && height == CAMEO_ROWS)
                i = cameo_conv_strips(b, j, next, from, to, alike, taken, &asks, &x, a, &height);
            else if (height > CAMEO_FEW_ROWS)
                ahead = cameo_conv_ahead(&asks, a);
            for (int both; i < to; i += 1 + both, ahead = 0) {
                both = i + 1 < to && cameo_conv_pair(b, i, height);
                cameo_conv_tile(b, j, height, i, both, a, ahead);
            }
        }
    }
}

/* Is all of the block one vector of columns, of which a tile would have too few sums? */
static inline __attribute__((unused)) int cameo_conv_single(const cameo_conv_block *b)
{
    return b->single && (int)CAMEO_LANES == (int)CAMEO_CONV_LINE && b->count == 1 &&
           !cameo_conv_few(b) && !b->panels[0].row &&
           cameo_conv_lanes(b->panels[0].width, b->even) == CAMEO_LANES;
}

/* Two panels of rows from m on by the only vector of columns. */
static __attribute__((noinline, unused)) void cameo_conv_two(const cameo_conv_block *b, int64_t m)
{
    enum { ROWS = CAMEO_TILE_ROWS };
    const cameo_conv_panel *p = &b->panels[0];
    const float *low = cameo_conv_weights(b, m), *high = low + b->nk * ROWS;
    const int more = b->begun;
    cameo_vec sums[2 * ROWS];
    cameo_finish finish;
    const cameo_finish *f = cameo_conv_finish(b, m, p->n, &finish);
#pragma GCC unroll 16
    for (int i = 0; i < 2 * ROWS; i++)
        sums[i] = (cameo_vec){0};
    for (int64_t k = 0; k < b->nk; k++, low += ROWS, high += ROWS) {
        const cameo_vec x = *(const cameo_vec *)(p->b + p->at[k]);
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++)
            sums[i] += low[i] * x;
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++)
            sums[ROWS + i] += high[i] * x;
    }
    float *y = b->y + m * b->row + p->n, to[CAMEO_LANES];
    const cameo_vec zero = {0};
    const int whole = p->width == CAMEO_LANES;
    for (int i = 0; whole && i < 2 * ROWS; i++, y += b->row) {
        cameo_vec v = sums[i];
        if (more)
            v += *(const cameo_vec *)y;
        if (f)
            v += f->bias[i];
        if (f && f->added)
            v += *(const cameo_vec *)(f->added + i * b->row);
        if (f)
            v = cameo_clip(v, zero + f->low, zero + f->high);
        *(cameo_vec *)y = v;
    }
    for (int i = 0; !whole && i < 2 * ROWS; i++, y += b->row) {
        *(cameo_vec *)to = sums[i];
        for (int64_t n = 0; n < p->width; n++) {
            const float v = more ? to[n] + y[n] : to[n];
            y[n] = f ? cameo_finished(f, i, i * b->row + n, v) : v;
        }
    }
}

/* Rows m0 .. m1, as many at a time as a few columns are summed for. */
static __attribute__((noinline, unused)) void cameo_conv_multiply(const cameo_conv_block *b,
                                                                  int64_t m0, int64_t m1)
{
    if (b->count == 0)
        return;
    const cameo_conv_panel *last = &b->panels[b->count - 1];
    const int64_t step = cameo_conv_few(b) ? CAMEO_COLUMN_ROWS : CAMEO_CONV_HIGH;
    const int taken = cameo_conv_taken(b);
    for (; cameo_conv_single(b) && m1 - m0 >= 2 * CAMEO_TILE_ROWS; m0 += 2 * CAMEO_TILE_ROWS) {
        b->single(b, m0);
        if (b->next == b->all)
            cameo_bend(b->finish, b->y, m0 * b->row + b->panels[0].n, 2 * CAMEO_TILE_ROWS, b->row,
                       last->width);
    }
    for (int64_t m = m0, next; m < m1; m = next) {
        next = m1 - m < step ? m1 : m + step;
        for (int64_t i = m; i < next; i += CAMEO_CONV_HIGH)
            cameo_conv_tiles(b, m0, m1, i, next - i < CAMEO_CONV_HIGH ? next : i + CAMEO_CONV_HIGH,
                             taken);
        cameo_finish finish;
        const int64_t from = taken ? next - (next - m) % CAMEO_ROWS : m;
        if (cameo_conv_few(b) && from < next)
            (last->width > CAMEO_FEW ? b->several
             : b->even || b->tied    ? cameo_columns_even
                                     : cameo_columns)(
                b->nk, cameo_conv_weights(b, from), b->nk * CAMEO_TILE_ROWS, last->b, last->at,
                b->y + from * b->row + last->n, b->row, next - from, last->width, b->begun,
                cameo_conv_finish(b, from, last->n, &finish));
        if (b->next == b->all)
            cameo_bend(b->finish, b->y, m * b->row + b->panels[0].n, next - m, b->row,
                       last->n + last->width - b->panels[0].n);
    }
}

/* Some rows from m0 on, for the last values of k. Returns where they end. */
static __attribute__((noinline, unused)) int64_t cameo_conv_rows_end(const cameo_conv_block *b,
                                                                     int64_t m0)
{
    const int64_t left = b->high - m0;
    const int few = CAMEO_CONV_NEAR || cameo_conv_few(b) || cameo_conv_single(b);
    const int64_t step = few ? CAMEO_COLUMN_ROWS : CAMEO_TILE_ROWS,
                  m1 = m0 + (left < step ? left : step);
    if (b->nk > 0)
        cameo_conv_multiply(b, m0, m1);
    return m1;
}

/* What x is asked for while the panels that there are are multiplied: the next values of k of
 * columns n0 .. n1, or the first ones of as many that follow, where enough rows of y read them. */
static inline __attribute__((unused)) void cameo_conv_soon(const cameo_conv_view *v, int64_t n0,
                                                           int64_t n1, cameo_conv_block *b)
{
    const int64_t k = b->next, more = k < b->all, at = more ? n0 : n1;
    const int64_t left = v->out[2] - at, width = n1 - n0 < left ? n1 - n0 : left;
    b->lines = 0;
    b->soon = v->x + (more ? k : 0) * b->apart + at;
    if (CAMEO_STRIPS && v->packs && b->apart && v->out[0] * v->out[1] == 1 && width > 0 &&
        b->high - b->low >= CAMEO_CONV_PACKS)
        b->lines = (width + 2 * (CAMEO_CONV_LINE - 1)) / CAMEO_CONV_LINE;
}

/* Are a plane's last columns so few that its panels may take one each? Where they are not taken so,
 * as in a share of its columns, they are summed alike. */
static inline __attribute__((unused)) int cameo_conv_ties(const cameo_conv_view *v)
{
#ifdef CAMEO_STRIP_COLUMN
    const int64_t width = CAMEO_LANES * CAMEO_VECTORS, n = v->out[0] * v->out[1] * v->out[2];
    return n % width <= n / width;
#else
    return (void)v, 0;
#endif
}

/* Rows low .. high for all values of k but the last CAMEO_CONV_K or fewer, whose panels are made.
 */
static __attribute__((noinline, unused)) void
cameo_conv_start(const cameo_conv_view *v, int64_t rows, int64_t low, int64_t high, int64_t n0,
                 int64_t n1, const float *w, float *y, int64_t row, float *scratch,
                 cameo_conv_block *b)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    b->rows = rows;
    b->low = low;
    b->lines = 0;
    b->high = high;
    b->all = v->channels * v->taps[0] * v->taps[1] * v->taps[2];
    b->w = w;
    b->y = y;
    b->row = row;
    b->finish = v->finish;
    b->even = v->even;
    b->few = cameo_conv_few_most(v);
    b->several = v->several;
    b->single = v->single;
    b->tied = cameo_conv_ties(v);
    b->apart = b->all == v->channels ? v->channel : 0;
    b->nk = 0;
    const int64_t depth = b->all < CAMEO_CONV_K ? b->all : CAMEO_CONV_K;
    for (int64_t k = 0; k < depth; k++)
        b->packed[k] = k * PANEL;
    b->begun = 0;
    b->next = cameo_conv_first(v, b->all, n0, n1);
    while (b->next < b->all) {
        if (b->nk > 0) {
            cameo_conv_multiply(b, low, high);
            b->begun = 1;
        }
        b->k0 = b->next;
        b->nk = b->all - b->k0 < CAMEO_CONV_K ? b->all - b->k0 : CAMEO_CONV_K;
        b->next = cameo_conv_block_of(v, b->all, b->k0 + b->nk, n0, n1);
        if (v->made) {
            for (int64_t k = 0; k < b->nk; k++)
                b->places[k] = k * CAMEO_FEW;
            b->count = cameo_conv_made(v, n1, b->k0, b->nk, b->packed, b->places, b->panels);
            continue;
        }
        cameo_conv_places(v, b->k0, b->nk, b->places);
        b->count =
            cameo_conv_panels(v, n0, n1, b->few, b->nk, b->places, b->packed, scratch, b->panels);
        cameo_conv_soon(v, n0, n1, b);
    }
    if (b->all > 0)
        return;
    for (int64_t m = low; m < high; m++)
        for (int64_t n = n0; n < n1; n++)
            y[m * row + n] = v->finish ? cameo_finished(v->finish, m, m * row + n, 0.0f) : 0.0f;
    cameo_bend(v->finish, y, low * row + n0, high - low, row, n1 - n0);
}

/* Rows m0 .. m1 and columns n0 .. n1 of sums, rows of `all` columns, to y, where an image's places
 * are neighbours and images are `image` apart, rows `row`; added: as y lies, with what clips the
 * sum of both; NULL: nothing. */
static __attribute__((noinline, unused)) void
cameo_conv_spread(const float *restrict sums, int64_t all, int64_t m0, int64_t m1, int64_t n0,
                  int64_t n1, int64_t places, int64_t image, int64_t row,
                  const float *restrict added, float low, float high, float *restrict y)
{
    for (int64_t n = n0, i = n0 / places, end; n < n1; n = end, i++) {
        end = (i + 1) * places < n1 ? (i + 1) * places : n1;
        int64_t at = i * image + n - i * places + m0 * row;
        for (int64_t m = m0; m < m1; m++, at += row) {
            const float *s = sums + m * all + n;
            for (int64_t j = 0; !added && j < end - n; j++)
                y[at + j] = s[j];
            for (int64_t j = 0; added && j < end - n; j++) {
                const float v = s[j] + added[at + j], w = low > v ? low : v;
                y[at + j] = high < w ? high : w;
            }
        }
    }
}

/* Where the block that begins at n ends: a short rest joins the last. */
static __attribute__((noinline, unused)) int64_t cameo_conv_end(int64_t n, int64_t all,
                                                                int64_t width)
{
    return all - n < width * 5 / 4 ? all : n + width;
}

/* How many blocks cameo_conv_end makes of so many columns. */
static inline __attribute__((unused)) int64_t cameo_conv_blocks(int64_t all, int64_t width)
{
    return all < width * 5 / 4 ? all > 0 : (all - width * 5 / 4) / width + 2;
}

/* Rows and columns of a share; the columns are done block by block. */
typedef struct cameo_conv_cut {
    int64_t low, high, begin, end;
} cameo_conv_cut;

#endif
