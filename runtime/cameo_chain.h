/* Convolutions of which each reads what the one before it wrote, done a band of rows at a time, so
 * that what is between them never leaves the cache of the core that computes it:
 *
 *   1 x 1 (may be missing)   more channels, the rows that the band's windows reach; or any window,
 *                            as a network's first one, whose x is copied for the band
 *   planes by their own windows
 *   1 x 1                    to y
 *
 * The windows of some planes come right behind the rows that they read, before those of the next
 * planes, which take the same place in memory.
 *
 * Rows that two bands' windows reach are computed twice. What a place's sums are made of does not
 * depend on its band: rows of weights are whole tiles, and columns at a band's end sum in the order
 * that tiles do. */
#ifndef CAMEO_CHAIN_H
#define CAMEO_CHAIN_H

#include "cameo_depthwise.h"
#include "cameo_processor.h"

enum {
    CAMEO_CHAIN_SIZE = CAMEO_CPU_BAND / 4, /* elements of a band between convolutions */
    CAMEO_CHAIN_PLANES = CAMEO_TILE_ROWS,  /* that are widened at a time */
    CAMEO_CHAIN_ROWS = 3,                  /* of a band, if there are as many */
    /* columns of a block of the first product: as many as there is room for panels */
    CAMEO_CHAIN_PANELS = CAMEO_CONV_PANELS * 4 / 5,
    CAMEO_CHAIN_WIDE =
        CAMEO_CHAIN_PANELS * CAMEO_LANES * CAMEO_VECTORS / CAMEO_TILE_COLUMNS * CAMEO_TILE_COLUMNS
};

/* One of the convolutions: its packed weights or windows, what is done to its sums. */
typedef struct cameo_link {
    const cameo_conv *sizes;
    const float *w;
    cameo_finish finish;
} cameo_link;

typedef struct cameo_chain {
    cameo_link expand, windows, project; /* expand.sizes: NULL where it is missing */
    cameo_conv_view wide, narrow;        /* what the products read */
    cameo_conv part;                     /* of the first one the rows that a band reaches */
    cameo_planes planes;
    int64_t side; /* planes that are widened at a time */
    int64_t held; /* planes of a band behind the windows, with those that fill it up */
    int64_t bands;
    int64_t channel;       /* from one plane of x to the next, where the windows read it */
    int64_t read, written; /* from one plane of a band to the next, before and behind the windows */
    int again;             /* a band is several blocks, or goes in several steps of k */
    float *between[2];     /* what the windows read, of `side` planes, and write */
    float *panel, *padded; /* room for panels and for rows with their border */
    float *copy;           /* of x, where the first convolution reads a copy */
} cameo_chain;

/* Rows of x that the windows of rows from .. to reach. */
typedef struct cameo_band_rows {
    int64_t from, to;
} cameo_band_rows;

static inline __attribute__((unused)) cameo_band_rows cameo_chain_reach(const cameo_conv *g,
                                                                        int64_t from, int64_t to)
{
    const int64_t last = (to - 1) * g->stride[1] + g->dilation[1] * (g->taps[1] - 1) + 1;
    const int64_t low = from * g->stride[1] - g->pad[1], high = last - g->pad[1];
    return (cameo_band_rows){low > 0 ? low : 0, high < g->in[1] ? high : g->in[1]};
}

/* Elements of a plane of the longest band as the windows read it, or write it; whole vectors. */
static inline __attribute__((unused)) int64_t cameo_chain_plane(const cameo_conv *g, int64_t bands,
                                                                int written)
{
    const int64_t rows = (g->out[1] + bands - 1) / bands;
    const int64_t reach = (rows - 1) * g->stride[1] + g->dilation[1] * (g->taps[1] - 1) + 1;
    const int64_t read = reach < g->in[1] ? reach : g->in[1];
    return ((written ? rows * g->out[2] : read * g->in[2]) + 15) / 16 * 16;
}

/* The first convolution's rows from .. to; *x: the first element of x, then of what they read. */
static inline __attribute__((unused)) cameo_conv cameo_chain_rows(const cameo_conv *g, int64_t from,
                                                                  int64_t to, const float **x)
{
    cameo_conv part = *g;
    const int64_t place = from * g->stride[1] - g->pad[1];
    const int64_t skip = place < 0 ? 0 : place < g->in[1] ? place : g->in[1];
    part.out[1] = to - from;
    part.pad[1] = skip - place;
    part.in[1] = g->in[1] - skip;
    *x += skip * g->step[1];
    return part;
}

/* Elements that the longest band copies of x. */
static inline __attribute__((unused)) int64_t
cameo_chain_copied(const cameo_conv *first, const cameo_conv *windows, int64_t bands)
{
    cameo_conv part = *first;
    part.out[1] = cameo_chain_plane(windows, bands, 0) / windows->in[2];
    return first->copy ? first->channels * cameo_conv_reach(&part, 1) * cameo_conv_reach(&part, 2)
                       : 0;
}

/* As many bands as their size asks for, and a multiple of the threads where rows are enough.
 * first: NULL where the windows read x. planes: what a plane that the windows read counts for. */
static __attribute__((noinline, unused)) int64_t cameo_chain_bands(const cameo_conv *windows,
                                                                   const cameo_conv *first,
                                                                   int64_t channels, int64_t planes,
                                                                   int64_t threads)
{
    const int64_t rows = windows->out[1];
    int64_t bands = 1;
    while (bands < rows && channels * cameo_chain_plane(windows, bands, 1) +
                                   planes * cameo_chain_plane(windows, bands, 0) +
                                   (first ? cameo_chain_copied(first, windows, bands) : 0) >
                               CAMEO_CHAIN_SIZE)
        bands++;
    const int64_t even = (bands + threads - 1) / threads * threads, most = rows / CAMEO_CHAIN_ROWS;
    return even <= most ? even : bands < most ? most : bands;
}

/* Columns of a block of whole rows, of which each is some panels. */
static inline __attribute__((unused)) int64_t cameo_chain_whole(const cameo_conv_view *v)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    const int64_t rows = CAMEO_CHAIN_PANELS / ((v->out[2] + PANEL - 1) / PANEL);
    return rows > 0 ? rows * v->out[2] : v->width;
}

/* Nothing is copied panel by panel where that would be done again for the next planes. */
static inline __attribute__((unused)) void cameo_chain_plan_wide(cameo_chain *c,
                                                                 const cameo_conv *g)
{
    cameo_conv_view *v = &c->wide;
    cameo_conv_plan(g, v);
    const int deep = g->channels * g->taps[0] * g->taps[1] * g->taps[2] > CAMEO_CONV_K;
    if (deep || cameo_conv_end(0, c->read, v->width) < c->read)
        v->packs = 0;
    if (v->ends)
        v->width = cameo_chain_whole(v);
    else if (!v->packs && !g->copy)
        v->width = CAMEO_CHAIN_WIDE;
    c->again = deep || cameo_conv_end(0, c->read, v->width) < c->read;
    v->even = 1;
    v->finish = &c->expand.finish;
}

/* begin, end: of the buffer that is read. Of the scratch memory `panel` elements are for panels,
 * then `border` for rows of a plane with their border, the rest for what is between the
 * convolutions. */
static __attribute__((noinline, unused)) CAMEO_BRIEF void
cameo_chain_plan(cameo_chain *c, int64_t bands, const float *begin, const float *end, int64_t panel,
                 int64_t border, float *scratch)
{
    const cameo_conv *g = c->windows.sizes;
    const int64_t window[3] = {0, g->taps[2], 1};
    const int expands = c->expand.sizes != NULL;
    cameo_planes_plan(g, window, begin, end, &c->planes);
    /* no cameo_flat_plan: what a place's sum is made of does not depend on its band */
    c->planes.room = CAMEO_LANES; /* the next plane's, or slack */
    c->bands = bands;
    c->read = expands ? cameo_chain_plane(g, bands, 0) : 0;
    c->written = cameo_chain_plane(g, bands, 1);
    c->panel = scratch;
    c->padded = scratch + panel;
    c->between[0] = c->padded + border + CAMEO_CONV_SLACK;
    c->between[1] = c->between[0] + c->side * c->read + CAMEO_CONV_SLACK;
    c->copy = c->between[1] + c->held * c->written + CAMEO_CONV_SLACK;
    if (expands)
        cameo_chain_plan_wide(c, c->expand.sizes);
    cameo_conv_plan(c->project.sizes, &c->narrow);
    c->narrow.even = 1;
    c->narrow.packs = 0;
    c->narrow.finish = &c->project.finish;
    c->narrow.channel = c->written;
    c->narrow.size = INT64_MAX;
}

/* Columns n0 .. n1 of a product, rows of y `row` apart. */
static inline __attribute__((unused)) void cameo_chain_multiply(const cameo_conv_view *v,
                                                                const cameo_link *l, int64_t n0,
                                                                int64_t n1, float *y, int64_t row,
                                                                float *panel)
{
    const int64_t rows = l->sizes->rows;
    for (int64_t n = n0, end; n < n1; n = end) {
        cameo_conv_block block;
        end = cameo_conv_end(n, n1, v->width);
        cameo_conv_start(v, rows, 0, rows, n, end, l->w, y, row, panel, &block);
        for (int64_t m = 0; m < rows;)
            m = cameo_conv_rows_end(&block, m);
    }
}

/* Planes from .. to of a band. */
typedef struct cameo_chain_part {
    int64_t from, to;
    int64_t low, high; /* rows */
} cameo_chain_part;

/* x: the first element of the part's first plane; y: that of the band's first one. */
static inline __attribute__((unused)) void cameo_chain_windows(cameo_chain *c,
                                                               const cameo_chain_part *part,
                                                               const float *x, int64_t channel,
                                                               float *y)
{
    cameo_planes *p = &c->planes;
    p->finish = c->windows.finish;
    p->finish.bias += part->from;
    p->ahead = channel; /* rows of other bands are other threads' */
    y += part->from * c->written;
    for (int64_t i = part->from, n; i < part->to; i += n) {
        const float *w = c->windows.w + i * p->taps;
        if (c->expand.sizes) { /* there is room on both sides */
            p->begin = x - p->before;
            p->end = x + (part->to - i) * channel + p->behind;
        }
        n = cameo_depthwise_fit(p, x, channel, part->to - i);
        if (n > 0)
            cameo_depthwise_some(p, x, channel, w, n, part->low, part->high, y, c->written);
        else
            cameo_depthwise(p, x, w, part->low, part->high, c->padded, y);
        n += n == 0;
        x += n * channel;
        y += n * c->written;
        p->finish.bias += n;
    }
}

/* Columns first .. last of CAMEO_CHAIN_PLANES planes from m on, to where y has the first element of
 * plane m. block: the same one for all planes of a band. */
static inline __attribute__((unused)) void cameo_chain_widen(const cameo_chain *c, int64_t m,
                                                             int64_t first, int64_t last, float *y,
                                                             cameo_conv_block *block)
{
    const cameo_conv_view *v = &c->wide;
    const int64_t rows = c->expand.sizes->rows, high = m + CAMEO_CHAIN_PLANES;
    y -= m * c->read;
    for (int64_t n = first, end; n < last; n = end) {
        end = cameo_conv_end(n, last, v->width);
        if (m == 0 || c->again)
            cameo_conv_start(v, rows, m, high, n, end, c->expand.w, y, c->read, c->panel, block);
        block->high = high;
        block->y = y;
        cameo_conv_rows_end(block, m);
    }
}

/* What the first convolution reads for some of its rows. Returns the column of them that is the
 * first one there: that of the first row, where they are copied. */
static inline __attribute__((unused)) int64_t cameo_chain_begin(cameo_chain *c, const float *x,
                                                                const cameo_band_rows *rows)
{
    const cameo_conv *g = c->expand.sizes;
    c->wide.x = x;
    if (!g->copy)
        return 0;
    c->part = cameo_chain_rows(g, rows->from, rows->to, &x);
    cameo_chain_plan_wide(c, &c->part);
    cameo_conv_begin(&c->part, x, c->copy, &c->wide);
    return rows->from * g->out[2];
}

/* The first row of a band. Bands are as even as rows allow, though two threads may then write one
 * line of the cache: to wait for a longer band that ends with its own line takes longer. */
static inline __attribute__((unused)) int64_t cameo_chain_low(const cameo_chain *c, int64_t band)
{
    return c->windows.sizes->out[1] * band / c->bands;
}

/* Bands from .. to. x: the first element of what is read; y: of what is written, rows `row` apart.
 */
static __attribute__((noinline, unused)) void
cameo_chain_share(cameo_chain *c, const float *x, float *y, int64_t row, int64_t from, int64_t to)
{
    const cameo_conv *g = c->windows.sizes;
    const int64_t planes = c->project.sizes->channels;
    for (int64_t band = from; band < to; band++) {
        const int64_t low = cameo_chain_low(c, band), high = cameo_chain_low(c, band + 1);
        const cameo_band_rows reach = cameo_chain_reach(g, low, high);
        const int64_t n0 = low * g->out[2], n1 = high * g->out[2];
        cameo_chain_part part = {0, planes, low, high};
        if (c->expand.sizes) {
            const int64_t first = reach.from * g->in[2], last = reach.to * g->in[2];
            const int64_t origin = cameo_chain_begin(c, x, &reach);
            float *image = c->between[0] - first;
            cameo_conv_block block;
            for (part.from = 0; part.from < planes; part.from = part.to) {
                part.to = part.from + CAMEO_CHAIN_PLANES;
                cameo_chain_widen(c, part.from, first - origin, last - origin, image + origin,
                                  &block);
                cameo_chain_windows(c, &part, image, c->read, c->between[1] - n0);
            }
        } else {
            cameo_chain_windows(c, &part, x, c->channel, c->between[1] - n0);
        }
        c->narrow.x = c->between[1] - n0;
        cameo_chain_multiply(&c->narrow, &c->project, n0, n1, y, row, c->panel);
    }
}

#endif
