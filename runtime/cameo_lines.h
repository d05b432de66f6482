/* Convolutions by a window of 5 or 3 places in one line that moves by one, m neighbours of the
 * output at a time (m is 2 or 4): the sums of cameo_winograd.h along one dim alone. Of six elements
 * of x, and of the window, six numbers each are made; products of equal ones, summed over the
 * channels, give m places of y by sums again: 6 products instead of 10, or of 12. The points are
 * those of tiles of 4 x 4.
 *
 * x is read from its copy with a border. Threads share the channels whose numbers are made, then
 * rows of y; numbers of more tiles than stay in the second cache are made block by block. */
#ifndef CAMEO_LINES_H
#define CAMEO_LINES_H

#include "cameo_winograd.h"

enum {
    CAMEO_LINE_PLACES = 6,
    CAMEO_LINE_GAP = 16 /* elements behind what belongs to one place */
};

typedef struct cameo_line {
    const cameo_conv *g;
    const cameo_finish *finish; /* of y, with nothing added; NULL: none */
    int64_t m;                  /* places of y in a tile */
    int64_t length;             /* elements between two channels of the copy */
    int64_t tiles, each;        /* all, and those of a block, whole panels of CAMEO_TILE_COLUMNS */
    int64_t blocks;
    int64_t place; /* elements between two places of a panel's tiles */
} cameo_line;

/* The tiles of a block, and the places n0 .. n1 of y that are finished with it. */
typedef struct cameo_line_block {
    const cameo_line *form;
    int64_t t0, t1, n0, n1;
    const float *tiles;
    float *sums;
    int64_t at[CAMEO_WINOGRAD_K];
} cameo_line_block;

/* Elements of a channel of the copy: those that tiles of m places read, so that none is another
 * channel's, nor what lies behind the last one. */
static inline __attribute__((unused)) int64_t cameo_line_length(const cameo_conv *g, int64_t m)
{
    return (g->out[2] + m - 1) / m * m + CAMEO_LINE_PLACES - m;
}

/* most: tiles that a block may have, whole panels. */
static inline __attribute__((unused)) void cameo_line_plan(const cameo_conv *g, int64_t m,
                                                           int64_t most, cameo_line *f)
{
    enum { PANEL = CAMEO_TILE_COLUMNS };
    const int64_t tiles = (g->out[2] + m - 1) / m, blocks = (tiles + most - 1) / most;
    const int64_t panels = blocks > 0 ? (tiles + blocks * PANEL - 1) / (blocks * PANEL) : 0;
    *f = (cameo_line){.g = g, .m = m, .tiles = tiles, .each = panels * PANEL, .blocks = blocks};
    f->length = cameo_line_length(g, m);
    f->place = g->channels * PANEL + CAMEO_LINE_GAP;
}

/* The first tile of a block. */
static inline __attribute__((unused)) int64_t cameo_line_from(const cameo_line *f, int64_t block)
{
    return block * f->each < f->tiles ? block * f->each : f->tiles;
}

static inline __attribute__((always_inline)) void
cameo_line_channels(int m, const cameo_line *f, int64_t block, int64_t from, int64_t to,
                    const float *padded, float *tiles)
{
    enum { PANEL = CAMEO_TILE_COLUMNS };
    const int64_t t0 = cameo_line_from(f, block), count = cameo_line_from(f, block + 1) - t0;
    for (int64_t c = from; c < to; c++) {
        const float *x = padded + c * f->length + t0 * m;
        for (int64_t s = 0; s < count; s += CAMEO_LANES) {
            float *panel = tiles + s / PANEL * CAMEO_LINE_PLACES * f->place + c * PANEL + s % PANEL;
            cameo_vec d[CAMEO_LINE_PLACES], z[CAMEO_LINE_PLACES];
            cameo_winograd_lanes(m, CAMEO_LINE_PLACES, x + s * m, m, d);
            cameo_winograd_of_x(CAMEO_LINE_PLACES, d, z);
            for (int i = 0; i < CAMEO_LINE_PLACES; i++)
                *(cameo_vec *)(panel + i * f->place) = z[i];
        }
    }
}

/* The numbers of channels from .. to of x, of a block's tiles. padded: the copy. */
static __attribute__((noinline, unused)) void cameo_line_make(const cameo_line *f, int64_t block,
                                                              int64_t from, int64_t to,
                                                              const float *padded, float *tiles)
{
    if (f->m == 2)
        cameo_line_channels(2, f, block, from, to, padded, tiles);
    else
        cameo_line_channels(4, f, block, from, to, padded, tiles);
}

/* sums: room for CAMEO_LINE_PLACES * CAMEO_WINOGRAD_ROWS * CAMEO_TILE_COLUMNS elements. */
static inline __attribute__((unused)) void cameo_line_begin(const cameo_line *f, int64_t block,
                                                            const float *tiles, float *sums,
                                                            cameo_line_block *b)
{
    const int64_t all = f->g->out[2];
    b->form = f;
    b->t0 = cameo_line_from(f, block);
    b->t1 = cameo_line_from(f, block + 1);
    b->n0 = b->t0 * f->m;
    b->n1 = b->t1 * f->m < all ? b->t1 * f->m : all;
    b->tiles = tiles;
    b->sums = sums;
    for (int64_t k = 0; k < CAMEO_WINOGRAD_K && k < f->g->channels; k++)
        b->at[k] = k * CAMEO_TILE_COLUMNS;
}

/* The products of one place for `height` rows and so many vectors of x, whose rows are those of a
 * panel; a: the rows' panels, which lie behind one another, place after place. ahead: bytes to
 * those that are asked for. */
static inline __attribute__((unused)) void cameo_line_multiply(const cameo_line_block *b,
                                                               int64_t place, int64_t height,
                                                               const float *a, int64_t ahead,
                                                               const float *x, int64_t vectors)
{
    const int64_t depth = b->form->g->channels, row = vectors * CAMEO_LANES;
    float *c = b->sums + place * CAMEO_WINOGRAD_ROWS * CAMEO_TILE_COLUMNS;
    for (int64_t k = 0; k < depth; k += CAMEO_WINOGRAD_K) {
        const int64_t nk = depth - k < CAMEO_WINOGRAD_K ? depth - k : CAMEO_WINOGRAD_K;
        for (int64_t i = 0; i < height; i += CAMEO_ROWS)
            cameo_tiles[CAMEO_ROWS - 1][vectors - 1](
                nk,
                a + i / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS * depth + k * CAMEO_TILE_ROWS +
                    i % CAMEO_TILE_ROWS,
                x + k * CAMEO_TILE_COLUMNS, b->at, ahead, c + i * row, row, row, k > 0, NULL);
    }
}

/* Row `channel` of y from tile t of the block on, of so many vectors of tiles; sums: its own. */
static inline __attribute__((always_inline)) void cameo_line_row(int m, const cameo_line_block *b,
                                                                 const float *sums, int64_t channel,
                                                                 int64_t t, int64_t vectors,
                                                                 float *y)
{
    enum { APART = CAMEO_WINOGRAD_ROWS * CAMEO_TILE_COLUMNS };
    const cameo_finish *finish = b->form->finish;
    const cameo_vec zero = {0};
    const float bias = finish ? finish->bias[channel] : 0.0f;
    const cameo_vec low = zero + (finish ? finish->low : 0.0f);
    const cameo_vec high = zero + (finish ? finish->high : 0.0f);
    for (int64_t v = 0; v < vectors; v++, sums += CAMEO_LANES) {
        const int64_t n = b->n0 + (t + v * CAMEO_LANES) * m, left = b->n1 - n;
        float line[4 * CAMEO_LANES];
        cameo_vec s[CAMEO_LINE_PLACES], z[4];
        for (int i = 0; i < CAMEO_LINE_PLACES; i++)
            s[i] = *(const cameo_vec *)(sums + i * APART);
        cameo_winograd_of_y(m, CAMEO_LINE_PLACES, s, z);
        for (int j = 0; finish && j < m; j++)
            z[j] = cameo_clip(z[j] + bias, low, high);
        cameo_winograd_line(m, z, left < m * CAMEO_LANES ? line : y + n);
        if (left < m * CAMEO_LANES)
            cameo_winograd_copy(line, left > 0 ? left : 0, y + n);
    }
}

/* Rows m0 and up to CAMEO_WINOGRAD_ROWS - 1 more of y, w the packed windows: for as many rows one
 * place after the other, each in panels of CAMEO_TILE_ROWS rows. Returns where they end. */
static __attribute__((noinline, unused)) int64_t
cameo_line_rows(const cameo_line_block *b, int64_t m0, const float *w, float *y)
{
    const cameo_line *f = b->form;
    const cameo_conv *g = f->g;
    enum { PANEL = CAMEO_TILE_COLUMNS };
    const int64_t left = g->rows - m0, tiles = b->t1 - b->t0;
    const int64_t height = left < CAMEO_WINOGRAD_ROWS ? left : CAMEO_WINOGRAD_ROWS;
    const int64_t panels = (height + CAMEO_TILE_ROWS - 1) / CAMEO_TILE_ROWS;
    const int64_t size = panels * CAMEO_TILE_ROWS * g->channels;
    w += m0 * CAMEO_LINE_PLACES * g->channels;
    for (int64_t t = 0, vectors; t < tiles; t += vectors * CAMEO_LANES) {
        const int64_t rest = tiles - t / PANEL * PANEL;
        const float *x = b->tiles + t / PANEL * CAMEO_LINE_PLACES * f->place + t % PANEL;
        vectors = cameo_winograd_vectors(rest < PANEL ? rest : PANEL, t % PANEL);
        for (int64_t i = 0; i < CAMEO_LINE_PLACES; i++)
            cameo_line_multiply(b, i, height, w + i * size, t ? 0 : size * (int64_t)sizeof *w,
                                x + i * f->place, vectors);
        for (int64_t i = 0; i < height; i++) {
            const float *sums = b->sums + i * vectors * CAMEO_LANES;
            if (f->m == 2)
                cameo_line_row(2, b, sums, m0 + i, t, vectors, y + (m0 + i) * g->row);
            else
                cameo_line_row(4, b, sums, m0 + i, t, vectors, y + (m0 + i) * g->row);
        }
    }
    cameo_bend(f->finish, y, m0 * g->row + b->n0, height, g->row, b->n1 - b->n0);
    return m0 + height;
}

#endif
