/* What the products of a convolution read: x as a matrix of values of k by places of the output,
 * which is not written out. Panels of some columns of it are x itself, or a copy. */
#ifndef CAMEO_CONV_PANELS_H
#define CAMEO_CONV_PANELS_H

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
    CAMEO_CONV_LINE = 16,     /* elements of a line of memory */
    CAMEO_CONV_FIRST = 24576, /* bytes of a panel that stays in the first cache */
    CAMEO_CONV_NEAR = CAMEO_CONV_K * CAMEO_LANES * CAMEO_VECTORS * 4 <= CAMEO_CONV_FIRST,
    /* rows that a panel is multiplied by before the next one */
    CAMEO_CONV_HIGH = CAMEO_CONV_NEAR ? CAMEO_COLUMN_ROWS : CAMEO_ROWS,
#ifdef CAMEO_STRIP
    CAMEO_STRIPS = 1, /* there are strips of tiles */
#else
    CAMEO_STRIPS = 0,
#endif
#ifdef CAMEO_STRASSEN
    CAMEO_STRASSENS = 1,
#else
    CAMEO_STRASSENS = 0,
#endif
    CAMEO_CONV_SEVENS = 524288, /* bytes of pairs of panels, at most */
    CAMEO_CONV_TAPS = 128       /* of a window that slides over a plane by itself */
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
    int even;                   /* a place is summed as in any other panel, few columns too */
    int sevens;                 /* pairs of panels go by seven products for eight */
    int outer;                  /* as the convolution's; */
    int64_t from[2], to[2];     /* then: rows and columns of the copy that are x's, */
    int64_t apart, next;        /* rows of it from one of the window, and of y, to the next, */
    int64_t columns;            /* and columns of y, whose rows `out` may have as one */
    cameo_columns_sum *several; /* as the convolution's */
    cameo_conv_rows_two *single;
    const float *made;          /* panels of all columns, which are one block; NULL: none */
    const cameo_finish *finish; /* of y as it begins; NULL: none */
} cameo_conv_view;

/* Columns of a block: more where k is short, so that rows of y are written in longer pieces. */
static inline __attribute__((unused)) int64_t cameo_conv_width(int64_t all)
{
    const int64_t fit = CAMEO_CONV_K * CAMEO_CONV_N * 4 / 5 / (all > 0 ? all : 1) / 48 * 48;
    return fit < CAMEO_CONV_N ? CAMEO_CONV_N : fit < CAMEO_CONV_WIDE ? fit : CAMEO_CONV_WIDE;
}

/* The same where seven products are made of eight: pairs of panels, which with their sums are seven
 * halves, that stay in the second cache. */
static inline __attribute__((unused)) int64_t cameo_conv_seven_width(int64_t all)
{
    enum { PAIR = 2 * CAMEO_TILE_COLUMNS };
    const int64_t k = all < CAMEO_CONV_K ? all : CAMEO_CONV_K;
    const int64_t bytes = CAMEO_CPU_KEPT < CAMEO_CONV_SEVENS ? CAMEO_CPU_KEPT : CAMEO_CONV_SEVENS;
    const int64_t fit = bytes / (7 * (int64_t)sizeof(float) / 4 * k) / PAIR * PAIR;
    return fit < PAIR ? PAIR : fit < CAMEO_CONV_WIDE ? fit : CAMEO_CONV_WIDE;
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
    return row > 0 && (v->out[0] > 1 || v->out[1] > 1) && apart && 3 * lanes <= 4 * row &&
           g->rows * (lanes - row) <= CAMEO_CONV_COPY * crossing;
}

/* Short rows of a copy are read as they lie, some of them with their border between them as one
 * panel, where to sum for the border too is less work than to copy each row. How many; 0: none. */
static inline __attribute__((unused)) int64_t cameo_conv_joins(const cameo_conv *g,
                                                               const cameo_conv_view *v)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    const int64_t row = v->out[2], next = v->at[1];
    if (!g->copy || v->ends || v->out[0] > 1 || row <= CAMEO_FEW || row > PANEL || next < row ||
        (g->several && v->out[1] * row <= CAMEO_SEVERAL))
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
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    const int64_t lanes = CAMEO_LANES, window = g->taps[0] * g->taps[1] * g->taps[2];
    const int worth = CAMEO_CONV_NEAR
                          ? g->rows >= CAMEO_CONV_PACKS << (window > 1)
                          : lanes == CAMEO_CONV_LINE && v->channel % CAMEO_CONV_LINE != 0 &&
                                g->rows >= CAMEO_CONV_K;
    const int64_t least = CAMEO_CONV_NEAR ? PANEL + CAMEO_FEW + 1 : PANEL;
    return worth && v->out[0] * v->out[1] * v->out[2] >= least;
}

/* What holds of every image of these sizes. */
static __attribute__((noinline, unused)) CAMEO_SMALL void cameo_conv_plan(const cameo_conv *g,
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
    v->outer = g->outer;
    v->apart = g->dilation[1];
    v->next = g->stride[1];
    v->columns = g->out[2];
    for (int d = 0; d < 2; d++) {
        v->from[d] = g->pad[d + 1];
        v->to[d] = g->pad[d + 1] + g->in[d + 1];
    }
    v->packs = cameo_conv_packs(g, v);
    v->sevens = g->sevens && CAMEO_STRASSENS;
    v->several = g->several;
    v->single = g->single;
    if (v->sevens) {
        v->width = cameo_conv_seven_width(g->channels * g->taps[0] * g->taps[1] * g->taps[2]);
        return;
    }
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

/* Do places n0 .. n1 of y read anything of x by values k .. k + n, and not its border alone? Of
 * places outside of channels. */
static inline __attribute__((unused)) int cameo_conv_alive(const cameo_conv_view *v, int64_t k,
                                                           int64_t n, int64_t n0, int64_t n1)
{
    const int64_t last = (v->columns - 1) * v->stride;
    for (int64_t tap = k / v->channels; tap * v->channels < k + n; tap++) {
        const int64_t row = v->apart * (tap / v->taps[2]);
        const int64_t column = v->dilation * (tap % v->taps[2]);
        if (row + n0 / v->columns * v->next < v->to[0] &&
            row + (n1 - 1) / v->columns * v->next >= v->from[0] && column < v->to[1] &&
            column + last >= v->from[1])
            return 1;
    }
    return 0;
}

/* The first block of values of k, from k0 on, by which places n0 .. n1 of y read anything of x;
 * all, if there is none. */
static __attribute__((noinline, unused)) CAMEO_SMALL int64_t
cameo_conv_block_of(const cameo_conv_view *v, int64_t all, int64_t k0, int64_t n0, int64_t n1)
{
    while (v->outer && k0 < all &&
           !cameo_conv_alive(v, k0, all - k0 < CAMEO_CONV_K ? all - k0 : CAMEO_CONV_K, n0, n1))
        k0 += CAMEO_CONV_K;
    return k0 < all ? k0 : all;
}

/* The first of all blocks: where nothing of x is read, one of zeros. */
static inline __attribute__((unused)) int64_t cameo_conv_first(const cameo_conv_view *v,
                                                               int64_t all, int64_t n0, int64_t n1)
{
    const int64_t first = cameo_conv_block_of(v, all, 0, n0, n1);
    return first < all ? first : 0;
}

/* Where values k .. k + n begin in x, each of a place of the window and then of a channel. */
static __attribute__((noinline, unused)) CAMEO_SMALL void
cameo_conv_places_outer(const cameo_conv_view *v, int64_t k, int64_t n, int64_t *restrict places)
{
    for (int64_t i = 0; i < n;) {
        const int64_t tap = (k + i) / v->channels, t = tap % v->taps[2] * v->dilation;
        const int64_t place =
            tap / v->taps[2] * v->tap[1] + t % v->stride * v->phase + t / v->stride;
        for (int64_t c = (k + i) % v->channels; c < v->channels && i < n; c++)
            places[i++] = place + c * v->channel;
    }
}

/* Where values k .. k + n of a window begin in x. From the second channel on they lie as those of
 * the one before. */
static __attribute__((noinline, unused)) void
cameo_conv_places(const cameo_conv_view *v, int64_t k, int64_t n, int64_t *restrict places)
{
    if (v->outer) {
        cameo_conv_places_outer(v, k, n, places);
        return;
    }
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
    /* one place a channel: no sum waits for what the one before has just written */
    for (; window == 1 && at < n; at++)
        places[at] = places[0] + at * channel;
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
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS, AHEAD = 16 };
    cameo_stretch runs[PANEL];
    const int count = cameo_conv_runs(v, n, width, runs);
    int64_t reach = 0;
    for (int r = 0; r < count; r++)
        if (runs[r].from + runs[r].count > reach)
            reach = runs[r].from + runs[r].count;
    if (count == 1 && width == PANEL) {
        for (int64_t k = 0; k < nk; k++, to += PANEL) {
            const float *x = v->x + places[k] + runs[0].from;
            const float *soon = v->x + places[k + AHEAD < nk ? k + AHEAD : k] + runs[0].from;
            __builtin_prefetch(soon); /* rows lie in other pages: no processor asks for them */
            __builtin_prefetch(soon + PANEL - 1);
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

/* May the last panel of a block be a few columns, which are summed another way? Not where panels
 * end with rows: a row that ends a block for one number of threads does not for another. */
static inline __attribute__((unused)) int cameo_conv_ends_few(const cameo_conv_view *v)
{
    return !v->ends;
}

/* How many columns such a panel has at most: more where they are all that there are. */
static inline __attribute__((unused)) int cameo_conv_few_most(const cameo_conv_view *v)
{
    const int64_t places = v->out[0] * v->out[1] * v->out[2];
    const int several = v->several && places <= CAMEO_SEVERAL;
    return !cameo_conv_ends_few(v) ? 0 : several ? CAMEO_SEVERAL : CAMEO_FEW;
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
        int64_t each = 1;
        while (each * panels < vectors) /* a division takes longer than the few turns */
            each++;
        return each * CAMEO_LANES < left ? each * CAMEO_LANES : left;
    }
    const int64_t width = left < PANEL ? left : PANEL;
    const int64_t few = width > CAMEO_LANES ? width % CAMEO_LANES : 0;
    return few <= CAMEO_FEW && cameo_conv_ends_few(v) ? width - few : width;
}

/* The panels of a block for the values of k whose places are given: x itself where a panel's
 * elements are neighbours, else a copy. One of so many columns at most has no empty lanes. */
static inline __attribute__((unused)) int
cameo_conv_panels(const cameo_conv_view *v, int64_t n0, int64_t n1, int most_few, int64_t nk,
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
        const int few = n + width == n1 && width <= most_few;
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

#endif
