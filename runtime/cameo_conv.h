/* Convolutions as products of packed matrices: y[m][n] = sum over k of w[m][k] * x[k][n], where k
 * is a channel and a place of the window, and n a place of the output. x is never written out as
 * such a matrix: a block of it is, panel by panel, while it is multiplied. */
#ifndef CAMEO_CONV_H
#define CAMEO_CONV_H

#include "cameo_columns.h"
#include "cameo_conv_copy.h"

enum {
    CAMEO_CONV_K = 256,    /* values of k and */
    CAMEO_CONV_N = 192,    /* of n in a block; a multiple of the columns of every tile */
    CAMEO_CONV_WIDE = 768, /* and at most, where the values of k are fewer */
    CAMEO_CONV_PANELS = CAMEO_CONV_WIDE * 5 / 3 / CAMEO_LANES + 4, /* of a block, at most */
    CAMEO_CONV_COPY = 4,      /* to copy a vector costs as much as so many products of one */
    CAMEO_CONV_PACKS = 64,    /* rows of y from which on all panels are copied, if they are near */
    CAMEO_CONV_SHORT_K = 64,  /* values of k of which a tile is soon done */
    CAMEO_CONV_FIRST = 24576, /* bytes of a panel that stays in the first cache */
    CAMEO_CONV_NEAR = CAMEO_CONV_K * CAMEO_LANES * CAMEO_VECTORS * 4 <= CAMEO_CONV_FIRST,
    /* rows that a panel is multiplied by before the next one */
    CAMEO_CONV_HIGH = CAMEO_CONV_NEAR ? CAMEO_COLUMN_ROWS : CAMEO_ROWS,
#ifdef CAMEO_STRIP
    CAMEO_STRIPS = 1, /* there are strips of tiles */
#else
    CAMEO_STRIPS = 0,
#endif
    CAMEO_CONV_TAPS = 128 /* of a window that slides over a plane by itself */
};

/* What the products read. */
typedef struct cameo_conv_view {
    const float *x;
    int64_t size;                    /* elements that may be read */
    int64_t out[3], at[3];           /* dims of n, as few as there can be, and their strides in x */
    int64_t taps[3], tap[2];         /* dims of the window and strides of the outer ones */
    int64_t stride, dilation, phase; /* of the innermost: every stride-th element together */
    int64_t channels, channel;
    int64_t width;              /* columns of a block */
    int ends;                   /* panels end where rows of the output do */
    int64_t joined;             /* so many rows are a panel, with what lies between them; 0: none */
    int packs;                  /* panels are copied wherever they are */
    int even;                   /* a place is summed as in any other panel: no few columns */
    const float *made;          /* panels of all columns, which are one block; NULL: none */
    const cameo_finish *finish; /* of y as it begins; NULL: none */
} cameo_conv_view;

/* Columns of a block: more where k is short, so that rows of y are written in longer pieces. */
static inline __attribute__((unused)) int64_t cameo_conv_width(int64_t all)
{
    const int64_t fit = CAMEO_CONV_K * CAMEO_CONV_N * 4 / 5 / (all > 0 ? all : 1) / 48 * 48;
    return fit < CAMEO_CONV_N ? CAMEO_CONV_N : fit < CAMEO_CONV_WIDE ? fit : CAMEO_CONV_WIDE;
}

/* Panels that end with rows of the output are read where they are, and lanes behind a row's end are
 * computed for nothing; others are copied where they go on in the next row, and have no such lanes.
 * Of a row at least three lanes in four are to be its own, which bounds the number of panels. There
 * is no room for copies of so many: panels that are all copied do not end with rows. */
static inline __attribute__((unused)) int cameo_conv_ends(const cameo_conv *g,
                                                          const cameo_conv_view *v)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    const int64_t row = v->out[2], lanes = (row + CAMEO_LANES - 1) / CAMEO_LANES * CAMEO_LANES;
    const int64_t crossing = row < PANEL ? row : PANEL;
    const int apart = g->copy || (v->out[0] == 1 && v->at[1] >= row);
    return (v->out[0] > 1 || v->out[1] > 1) && apart && 3 * lanes <= 4 * row &&
           g->rows * (lanes - row) <= CAMEO_CONV_COPY * crossing;
}

/* Short rows of a copy are read as they lie, some of them with their border between them as one
 * panel, where to sum for the border too is less work than to copy each row. How many; 0: none. */
static inline __attribute__((unused)) int64_t cameo_conv_joins(const cameo_conv *g,
                                                               const cameo_conv_view *v)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    const int64_t row = v->out[2], next = v->at[1];
    if (!g->copy || v->ends || v->out[0] > 1 || row <= CAMEO_FEW || row > PANEL || next < row)
        return 0;
    const int64_t fit = (PANEL - row) / next + 1, rows = fit < v->out[1] ? fit : v->out[1];
    const int64_t reach = (rows - 1) * next + row;
    const int64_t lanes = (reach + CAMEO_LANES - 1) / CAMEO_LANES * CAMEO_LANES;
    const int64_t copied = rows * ((row + CAMEO_LANES - 1) / CAMEO_LANES) * CAMEO_LANES;
    return rows > 1 && g->rows * (lanes - rows * row) <= CAMEO_CONV_COPY * copied ? rows : 0;
}

/* Rows of x that begin anywhere in a cache line take two lines for each vector that is as long as
 * one. A copy of them is worth it where many rows of y read it, tile after tile. So is one of
 * panels that are to stay in the first cache: rows of x are pages apart, and few places of that
 * cache are theirs. */
static inline __attribute__((unused)) int cameo_conv_packs(const cameo_conv *g,
                                                           const cameo_conv_view *v)
{
    enum { LINE = 16, PANEL = CAMEO_LANES * CAMEO_VECTORS };
    const int64_t lanes = CAMEO_LANES, window = g->taps[0] * g->taps[1] * g->taps[2];
    const int worth = CAMEO_CONV_NEAR
                          ? g->rows >= CAMEO_CONV_PACKS << (window > 1)
                          : lanes == LINE && v->channel % LINE != 0 && g->rows >= CAMEO_CONV_K;
    return worth && v->out[0] * v->out[1] * v->out[2] > PANEL + CAMEO_FEW;
}

/* What holds of every image of these sizes. */
static __attribute__((noinline, unused)) void cameo_conv_plan(const cameo_conv *g,
                                                              cameo_conv_view *v)
{
    int64_t step[3] = {g->step[0], g->step[1], 1}, reach[3];
    for (int d = 0; d < 3; d++)
        reach[d] = cameo_conv_reach(g, d);
    *v = (cameo_conv_view){.channels = g->channels, .channel = g->channel};
    v->stride = g->stride[2];
    v->dilation = g->dilation[2];
    if (g->copy) {
        v->phase = (reach[2] + v->stride - 1) / v->stride;
        step[1] = v->phase * v->stride;
        step[0] = reach[1] * step[1];
        v->channel = reach[0] * step[0];
        v->size = v->channel * v->channels + CAMEO_CONV_SLACK;
    } else {
        v->size = (v->channels - 1) * v->channel + (reach[0] - 1) * step[0] +
                  (reach[1] - 1) * step[1] + reach[2];
    }
    for (int d = 0; d < 3; d++) {
        v->taps[d] = g->taps[d];
        v->out[d] = g->out[d];
        v->at[d] = d < 2 ? g->stride[d] * step[d] : 1;
    }
    v->tap[0] = g->dilation[0] * step[0];
    v->tap[1] = g->dilation[1] * step[1];
    v->width = cameo_conv_width(g->channels * g->taps[0] * g->taps[1] * g->taps[2]);
    for (int turn = 0; turn < 2 && (v->out[1] == 1 || v->at[1] == v->out[2]); turn++) {
        v->out[2] *= v->out[1];
        v->out[1] = v->out[0];
        v->at[1] = v->at[0];
        v->out[0] = 1;
        v->at[0] = 0;
    }
    v->packs = cameo_conv_packs(g, v);
    v->ends = !v->packs && cameo_conv_ends(g, v);
    if (v->ends && v->out[2] <= v->width) /* rows are not cut */
        v->width -= v->width % v->out[2];
    v->joined = cameo_conv_joins(g, v);
    if (v->joined) /* nor are panels */
        v->width -= v->width % (v->joined * v->out[2]);
}

/* x: its first element where it is copied, else the first that a window reads. */
static inline __attribute__((unused)) void cameo_conv_begin(const cameo_conv *g, const float *x,
                                                            float *padded, cameo_conv_view *v)
{
    v->x = g->copy ? padded : x;
    if (g->copy)
        cameo_conv_copy(g, x, padded, v->phase, 0, g->channels);
}

/* Where values k .. k + n of a window begin in x. From the second channel on they lie as those of
 * the one before. */
static inline __attribute__((unused)) void cameo_conv_places(const cameo_conv_view *v, int64_t k,
                                                             int64_t n, int64_t *restrict places)
{
    const int64_t window = v->taps[0] * v->taps[1] * v->taps[2], channel = v->channel;
    int64_t t = k % v->taps[2], j = k / v->taps[2] % v->taps[1];
    int64_t i = k / v->taps[2] / v->taps[1] % v->taps[0];
    int64_t f = t * v->dilation % v->stride, place = t * v->dilation / v->stride;
    int64_t start = k / window * channel, at = 0;
    for (const int64_t first = n < window ? n : window; at < first; start += channel, i = 0)
        for (; i < v->taps[0] && at < first; i++, j = 0)
            for (; j < v->taps[1] && at < first; j++, t = f = place = 0) {
                const int64_t row = start + i * v->tap[0] + j * v->tap[1];
                for (; t < v->taps[2] && at < first; t++) {
                    places[at++] = row + f * v->phase + place;
                    for (f += v->dilation; f >= v->stride; f -= v->stride)
                        place++;
                }
            }
    for (; at < n; at++)
        places[at] = places[at - window] + channel;
}

typedef struct cameo_stretch {
    int64_t to, from, count; /* neighbours of the output whose elements of x are neighbours */
} cameo_stretch;

static inline __attribute__((unused)) int cameo_conv_runs(const cameo_conv_view *v, int64_t n,
                                                          int64_t width, cameo_stretch *runs)
{
    int count = 0;
    int64_t at = 0, k = n % v->out[2], j = n / v->out[2] % v->out[1], i = n / v->out[2] / v->out[1];
    while (at < width) {
        int64_t length = v->out[2] - k < width - at ? v->out[2] - k : width - at;
        runs[count++] = (cameo_stretch){at, i * v->at[0] + j * v->at[1] + k, length};
        at += length;
        k = 0;
        if (++j == v->out[1]) {
            j = 0;
            i++;
        }
    }
    return count;
}

/* Columns n .. n + width of the block's rows k, whose places are given, as one panel. A row may be
 * written beyond its end, where the next one comes; nothing is written behind the last. */
static inline __attribute__((unused)) void cameo_conv_pack(const cameo_conv_view *v, int64_t n,
                                                           int64_t width, int64_t nk,
                                                           const int64_t *places, float *to)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    cameo_stretch runs[PANEL];
    const int count = cameo_conv_runs(v, n, width, runs);
    int64_t reach = 0;
    for (int r = 0; r < count; r++)
        if (runs[r].from + runs[r].count > reach)
            reach = runs[r].from + runs[r].count;
    if (count == 1 && width == PANEL) {
        for (int64_t k = 0; k < nk; k++, to += PANEL) {
            const float *x = v->x + places[k] + runs[0].from;
            for (int64_t i = 0; i < PANEL; i += CAMEO_LANES)
                *(cameo_vec *)(to + i) = *(const cameo_vec *)(x + i);
        }
        return;
    }
    for (int64_t k = 0; k < nk; k++, to += PANEL) {
        const float *x = v->x + places[k];
        if (width < PANEL)
            *(cameo_vec *)(to + width / CAMEO_LANES * CAMEO_LANES) = (cameo_vec){0};
        if (places[k] + reach + CAMEO_LANES <= v->size && k + 1 < nk)
            for (int r = 0; r < count; r++)
                for (int64_t i = 0; i < runs[r].count; i += CAMEO_LANES)
                    *(cameo_vec *)(to + runs[r].to + i) =
                        *(const cameo_vec *)(x + runs[r].from + i);
        else
            for (int r = 0; r < count; r++)
                memcpy(to + runs[r].to, x + runs[r].from, (size_t)runs[r].count * sizeof *to);
    }
}

/* Some columns of a block, from n on. */
typedef struct cameo_conv_panel {
    const float *b;
    const int64_t *at;
    int64_t n, width;
    int64_t row, next; /* rows of b that are joined: their columns, and from one to the next; 0 */
} cameo_conv_panel;

/* The lanes of so many columns. */
static inline __attribute__((unused)) int64_t cameo_conv_whole(int64_t width)
{
    return (width + CAMEO_LANES - 1) / CAMEO_LANES * CAMEO_LANES;
}

/* Those that a tile of so many columns has. even: never so few that its sums would go in two
 * chains. */
static inline __attribute__((unused)) int64_t cameo_conv_lanes(int64_t width, int even)
{
    enum { ONE_CHAIN = 8, LEAST = (ONE_CHAIN + CAMEO_ROWS - 1) / CAMEO_ROWS * CAMEO_LANES };
    return even && width < LEAST ? LEAST : cameo_conv_whole(width);
}

/* May the last panel of a block be a few columns, whose sums go another way? Not where panels end
 * with rows: a row that ends a block for one number of threads does not for another. */
static inline __attribute__((unused)) int cameo_conv_ends_few(const cameo_conv_view *v)
{
    return !v->even && !v->ends;
}

/* Columns of a panel that begins at place k of a row where `left` columns are left. What is left of
 * the row is divided into panels of as many vectors each; otherwise a few columns are a panel of
 * their own. */
static inline __attribute__((unused)) int64_t cameo_conv_columns(const cameo_conv_view *v,
                                                                 int64_t k, int64_t left)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    if (v->joined) {
        const int64_t rows = v->joined * v->out[2];
        return rows < left ? rows : left;
    }
    if (v->ends) {
        const int64_t row = v->out[2] - k;
        left = row < left ? row : left;
        const int64_t vectors = cameo_conv_whole(left) / CAMEO_LANES;
        const int64_t panels = (vectors + CAMEO_VECTORS - 1) / CAMEO_VECTORS;
        if (panels == 1)
            return left;
        const int64_t width = (vectors + panels - 1) / panels * CAMEO_LANES;
        return width < left ? width : left;
    }
    const int64_t width = left < PANEL ? left : PANEL;
    const int64_t few = width > CAMEO_LANES ? width % CAMEO_LANES : 0;
    return few <= CAMEO_FEW && cameo_conv_ends_few(v) ? width - few : width;
}

/* The panels of a block for the values of k whose places are given: x itself where a panel's
 * elements are neighbours, else a copy. */
static inline __attribute__((unused)) int
cameo_conv_panels(const cameo_conv_view *v, int64_t n0, int64_t n1, int64_t nk,
                  const int64_t *places, const int64_t *packed, float *to, cameo_conv_panel *panels)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    int count = 0;
    int64_t most = 0, width;
    for (int64_t k = 0; k < nk; k++)
        most = places[k] > most ? places[k] : most;
    int64_t at = n0 % v->out[2], j = n0 / v->out[2] % v->out[1], i = n0 / v->out[2] / v->out[1];
    for (int64_t n = n0; n < n1; n += width) {
        width = cameo_conv_columns(v, at, n1 - n);
        const int few = width <= CAMEO_FEW && cameo_conv_ends_few(v);
        const int64_t joined = v->joined ? (width - 1) / v->out[2] * (v->at[1] - v->out[2]) : 0;
        const int64_t reach = few ? width : cameo_conv_lanes(width + joined, v->even);
        const int64_t from = i * v->at[0] + j * v->at[1] + at;
        cameo_conv_panel *p = &panels[count];
        *p = (cameo_conv_panel){v->x + from, places, n, width, 0, 0};
        if (joined) {
            p->row = v->out[2];
            p->next = v->at[1];
        } else if ((v->packs && !few) || at + width > v->out[2] || most + from + reach > v->size) {
            cameo_conv_pack(v, n, width, nk, places, to);
            p->b = to;
            p->at = packed;
            to += nk * PANEL;
        }
        count++;
        for (at += width; at >= v->out[2]; at -= v->out[2])
            if (++j == v->out[1]) {
                j = 0;
                i++;
            }
    }
    return count;
}

/* ---- panels of all columns, which are one block, and of all values of k, made by several threads:
 * for each CAMEO_CONV_K values of k one panel after the other */

enum { CAMEO_CONV_MAKE = 64 }; /* values of k that a thread takes; they divide CAMEO_CONV_K */

/* Where the panels of columns 0 .. n are; rows of a panel are `packed` apart, those of a few
 * columns `few`. */
static inline __attribute__((unused)) int cameo_conv_made(const cameo_conv_view *v, int64_t n,
                                                          int64_t k0, int64_t nk,
                                                          const int64_t *packed, const int64_t *few,
                                                          cameo_conv_panel *panels)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    int count = 0;
    for (int64_t at = 0, width; at < n; at += width) {
        width = cameo_conv_columns(v, 0, n - at);
        panels[count++] =
            (cameo_conv_panel){NULL, width > CAMEO_FEW ? packed : few, at, width, 0, 0};
    }
    for (int i = 0; i < count; i++)
        panels[i].b = v->made + (k0 * count + nk * i) * PANEL;
    return count;
}

/* A few columns from n on, of values of k whose places are given. */
static inline __attribute__((unused)) void cameo_conv_pack_few(const cameo_conv_view *v, int64_t n,
                                                               int64_t width, int64_t nk,
                                                               const int64_t *places, float *to)
{
    int64_t at[CAMEO_FEW] = {0};
    for (int64_t i = 0; i < width; i++) {
        const int64_t row = (n + i) / v->out[2];
        at[i] = row / v->out[1] * v->at[0] + row % v->out[1] * v->at[1] + (n + i) % v->out[2];
    }
    for (int64_t k = 0; k < nk; k++)
        for (int64_t i = 0; i < width; i++)
            to[k * CAMEO_FEW + i] = v->x[places[k] + at[i]];
}

/* Units from .. to of them: CAMEO_CONV_MAKE values of k each, of all. */
static __attribute__((noinline, unused)) void cameo_conv_make(const cameo_conv_view *v, int64_t n,
                                                              int64_t from, int64_t to, float *made)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    cameo_conv_panel panels[CAMEO_CONV_PANELS];
    int64_t places[CAMEO_CONV_MAKE];
    const int64_t all = v->channels * v->taps[0] * v->taps[1] * v->taps[2];
    for (int64_t k = from * CAMEO_CONV_MAKE; k < all && k < to * CAMEO_CONV_MAKE;
         k += CAMEO_CONV_MAKE) {
        const int64_t nk = all - k < CAMEO_CONV_MAKE ? all - k : CAMEO_CONV_MAKE;
        const int64_t k0 = k / CAMEO_CONV_K * CAMEO_CONV_K;
        const int64_t depth = all - k0 < CAMEO_CONV_K ? all - k0 : CAMEO_CONV_K;
        const int count = cameo_conv_made(v, n, k0, depth, NULL, NULL, panels);
        cameo_conv_places(v, k, nk, places);
        for (int i = 0; i < count; i++) {
            const cameo_conv_panel *p = &panels[i];
            float *at = made + (p->b - v->made);
            if (p->width > CAMEO_FEW)
                cameo_conv_pack(v, p->n, p->width, nk, places, at + (k - k0) * PANEL);
            else
                cameo_conv_pack_few(v, p->n, p->width, nk, places, at + (k - k0) * CAMEO_FEW);
        }
    }
}

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
    const float *w; /* packed: blocks of CAMEO_CONV_K values of k, in them panels of rows */
    float *y;
    int64_t row;
    const cameo_finish *finish; /* of y as it begins, with the last values of k; NULL: none */
    int even;                   /* as the view's */
    int few;                    /* the last panel may be a few columns */
    int64_t apart;              /* of x, from one value of k to the next; 0: not the same */
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
    const int64_t panels = (b->rows + CAMEO_TILE_ROWS - 1) / CAMEO_TILE_ROWS, k = b->k0 + b->nk;
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
    if (!b->finish || b->k0 + b->nk < b->all)
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
    return b->count > 0 && b->few && b->panels[b->count - 1].width <= CAMEO_FEW;
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
    if (b->k0 > 0) {
        memset(tile, 0, sizeof tile);
        cameo_conv_join(p, height, 0, b->y + at, tile, b->row, lanes);
    }
    if (f && f->added) {
        memset(added, 0, sizeof added);
        cameo_conv_join(p, height, 0, f->added, added, b->row, lanes);
        finish.added = added;
    }
    cameo_tiles[height - 1][lanes / CAMEO_LANES - 1](b->nk, a, p->b, p->at, ahead, tile, lanes,
                                                     lanes, b->k0 > 0, f);
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
    const int64_t end = b->k0 > 0 ? 0 : last->n + last->width;
    const int64_t whole = cameo_conv_lanes(p->width, b->even);
    cameo_finish finish;
    if (p->row)
        cameo_conv_joined(b, p, m, height, a, ahead);
#ifdef CAMEO_PAIR
    else if (pair)
        CAMEO_PAIR(b->nk, a, p->b, p[1].b - p->b, p->at, ahead, b->y + m * b->row + p->n, b->row,
                   p->width, p[1].n + whole <= end, b->k0 > 0,
                   cameo_conv_finish(b, m, p->n, &finish));
#endif
    else
        cameo_tiles[height - 1][whole / CAMEO_LANES - 1](
            b->nk, a, p->b, p->at, ahead, b->y + m * b->row + p->n, b->row,
            p->n + whole <= end ? whole : p->width, b->k0 > 0,
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

/* So many tiles, from rows m and panel i on: of the panels that follow, or, down, of the rows. */
static inline __attribute__((unused)) void cameo_conv_strip(const cameo_conv_block *b, int64_t m,
                                                            int i, int64_t tiles, int down,
                                                            const float *a)
{
#ifdef CAMEO_STRIP
    const cameo_conv_panel *p = &b->panels[i];
    cameo_finish finish;
    const int64_t step = p->at == b->packed ? CAMEO_LANES * CAMEO_VECTORS : b->apart;
    CAMEO_STRIP(b->nk, a, p->b + p->at[0], step, tiles > 1 && !down ? p[1].b - p->b : 0, tiles,
                down ? 1 + m % CAMEO_TILE_ROWS : 0, b->y + m * b->row + p->n, b->row, b->k0 > 0,
                cameo_conv_finish(b, m, p->n, &finish));
#else
    (void)b, (void)m, (void)i, (void)tiles, (void)down, (void)a;
#endif
}

/* Rows m .. next of all panels but a few columns. Those left of m0 .. m1 come next. */
static inline __attribute__((unused)) void cameo_conv_tiles(const cameo_conv_block *b, int64_t m0,
                                                            int64_t m1, int64_t m, int64_t next)
{
    const int count = b->count - cameo_conv_few(b), beside = cameo_conv_beside(b);
    const int64_t turns = (next - m + CAMEO_ROWS - 1) / CAMEO_ROWS * ((count - 1) / beside + 1);
    cameo_conv_next asks = cameo_conv_asks(b, m0, m1, next, turns);
    for (int from = 0, to; from < count; from = to) {
        to = count - from < beside ? count : from + beside;
        to += to < count && cameo_conv_pair(b, to - 1, CAMEO_ROWS);
        const int alike = CAMEO_STRIPS ? cameo_conv_alike(b, from, to) : 0;
        const int down = alike > 0 && from + 1 == to;
        for (int64_t j = m, height; j < next; j += height) {
            height = next - j < CAMEO_ROWS ? next - j : CAMEO_ROWS;
            const float *a = cameo_conv_weights(b, j);
            int64_t ahead = height > CAMEO_FEW_ROWS ? cameo_conv_ahead(&asks, a) : 0;
            int i = from;
            if (down && ahead == 0 && height == CAMEO_ROWS) {
                while (next - j - height >= CAMEO_ROWS && !cameo_conv_asking(&asks))
                    height += CAMEO_ROWS, asks.turn++;
                cameo_conv_strip(b, j, i, height / CAMEO_ROWS, 1, a);
                continue;
            }
            if (alike > 1 && ahead == 0 && height == CAMEO_ROWS) {
                cameo_conv_strip(b, j, i, alike, 0, a);
                i += alike;
            }
            for (int both; i < to; i += 1 + both, ahead = 0) {
                both = i + 1 < to && cameo_conv_pair(b, i, height);
                cameo_conv_tile(b, j, height, i, both, a, ahead);
            }
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
    for (int64_t m = m0, next; m < m1; m = next) {
        next = m1 - m < step ? m1 : m + step;
        for (int64_t i = m; i < next; i += CAMEO_CONV_HIGH)
            cameo_conv_tiles(b, m0, m1, i, next - i < CAMEO_CONV_HIGH ? next : i + CAMEO_CONV_HIGH);
        cameo_finish finish;
        if (cameo_conv_few(b))
            cameo_columns(b->nk, cameo_conv_weights(b, m), b->nk * CAMEO_TILE_ROWS, last->b,
                          last->at, b->y + m * b->row + last->n, b->row, next - m, last->width,
                          b->k0 > 0, cameo_conv_finish(b, m, last->n, &finish));
        if (b->k0 + b->nk == b->all)
            cameo_bend(b->finish, b->y, m * b->row + b->panels[0].n, next - m, b->row,
                       last->n + last->width - b->panels[0].n);
    }
}

/* Some rows from m0 on, for the last values of k. Returns where they end. */
static __attribute__((noinline, unused)) int64_t cameo_conv_rows_end(const cameo_conv_block *b,
                                                                     int64_t m0)
{
    const int64_t left = b->high - m0;
    const int few = CAMEO_CONV_NEAR || cameo_conv_few(b);
    const int64_t step = few ? CAMEO_COLUMN_ROWS : CAMEO_TILE_ROWS,
                  m1 = m0 + (left < step ? left : step);
    if (b->nk > 0)
        cameo_conv_multiply(b, m0, m1);
    return m1;
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
    b->high = high;
    b->all = v->channels * v->taps[0] * v->taps[1] * v->taps[2];
    b->w = w;
    b->y = y;
    b->row = row;
    b->finish = v->finish;
    b->even = v->even;
    b->few = cameo_conv_ends_few(v);
    b->apart = b->all == v->channels ? v->channel : 0;
    b->nk = 0;
    const int64_t depth = b->all < CAMEO_CONV_K ? b->all : CAMEO_CONV_K;
    for (int64_t k = 0; k < depth; k++)
        b->packed[k] = k * PANEL;
    for (int64_t k0 = 0; k0 < b->all; k0 += CAMEO_CONV_K) {
        if (k0 > 0)
            cameo_conv_multiply(b, low, high);
        b->k0 = k0;
        b->nk = b->all - k0 < CAMEO_CONV_K ? b->all - k0 : CAMEO_CONV_K;
        if (v->made) {
            for (int64_t k = 0; k < b->nk; k++)
                b->places[k] = k * CAMEO_FEW;
            b->count = cameo_conv_made(v, n1, k0, b->nk, b->packed, b->places, b->panels);
            continue;
        }
        cameo_conv_places(v, k0, b->nk, b->places);
        b->count = cameo_conv_panels(v, n0, n1, b->nk, b->places, b->packed, scratch, b->panels);
    }
    if (b->all > 0)
        return;
    for (int64_t m = low; m < high; m++)
        for (int64_t n = n0; n < n1; n++)
            y[m * row + n] = v->finish ? cameo_finished(v->finish, m, m * row + n, 0.0f) : 0.0f;
    cameo_bend(v->finish, y, low * row + n0, high - low, row, n1 - n0);
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
