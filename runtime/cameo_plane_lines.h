/* Convolutions by a window of 5 x 5 that moves by one, four neighbours of a row of the output at a
 * time: of eight elements of a row of x, and of a row of the window, eight numbers each are made
 * (Toom and Cook, at 0, +-1/2, +-1, +-2 and infinity); products of equal ones, summed over the
 * channels and the rows of the window, give four places of y by sums again: 10 products a place
 * instead of 25.
 *
 * Numbers of equal place are a plane of each channel, tiles of a row side by side, so that the rows
 * of a window are as far apart everywhere and lanes go on from row to row. x is read where it lies.
 * Threads share the channels whose numbers are made, then rows of y; rows of y whose tiles of x
 * stay in the second cache are a block. */
#ifndef CAMEO_PLANE_LINES_H
#define CAMEO_PLANE_LINES_H

#include "cameo_winograd.h"

enum {
    CAMEO_PLANE_TILE = 4,     /* places of y */
    CAMEO_PLANE_PLACES = 8,   /* numbers of a tile */
    CAMEO_PLANE_GAP = 32,     /* elements behind what belongs to one place */
    CAMEO_PLANE_PIECE = 2048, /* elements of rows of x that are laid out at a time */
    CAMEO_PLANE_SLACK = 5 * 16
};

typedef struct cameo_plane_line {
    const cameo_conv *g;
    const cameo_finish *finish; /* of y, with nothing added; NULL: none */
    int64_t across;             /* tiles in a row */
    int64_t each, blocks;       /* rows of y of a block */
    int64_t below;              /* rows of x beside those of y */
    int64_t length, place;      /* elements between two channels of a place, between two places */
} cameo_plane_line;

/* The rows h0 .. h1 of y, which are the places n0 .. n1. */
typedef struct cameo_plane_block {
    const cameo_plane_line *form;
    int64_t h0, h1, n0, n1;
    const float *tiles;
    float *sums;
    int64_t at[CAMEO_WINOGRAD_K];
} cameo_plane_block;

/* Tiles of so many rows, with what whole vectors write behind them. */
static inline __attribute__((unused)) int64_t cameo_plane_length(int64_t tiles)
{
    return (tiles + 15) / 16 * 16 + 16;
}

/* most: rows of y that a block may have. */
static inline __attribute__((unused)) void cameo_plane_line_plan(const cameo_conv *g, int64_t most,
                                                                 cameo_plane_line *f)
{
    const int64_t blocks = (g->out[1] + most - 1) / most;
    *f = (cameo_plane_line){.g = g, .blocks = blocks};
    f->across = (g->out[2] + CAMEO_PLANE_TILE - 1) / CAMEO_PLANE_TILE;
    f->each = blocks > 0 ? (g->out[1] + blocks - 1) / blocks : 0;
    f->below = (g->taps[1] - 1) * g->dilation[1];
    f->length = cameo_plane_length((f->each + f->below) * f->across);
    f->place = g->channels * f->length + CAMEO_PLANE_GAP;
}

/* The first row of a block. */
static inline __attribute__((unused)) int64_t cameo_plane_from(const cameo_plane_line *f,
                                                               int64_t block)
{
    return block * f->each < f->g->out[1] ? block * f->each : f->g->out[1];
}

/* ---- of x --------------------------------------------------------------------------------------
 */

/* Lanes of x that have a mask, from element `at` on, of which there are `size`; at: may be outside.
 */
static inline __attribute__((always_inline)) cameo_vec
cameo_plane_load(const float *x, int64_t size, int64_t at, const uint32_t *mask)
{
    typedef uint32_t words __attribute__((vector_size(4 * CAMEO_LANES), aligned(4), may_alias));
    if (at >= 0 && size - at >= CAMEO_LANES)
        return (cameo_vec)(*(const words *)(x + at) & *(const words *)mask);
    float lanes[CAMEO_LANES] = {0.0f};
    for (int64_t i = 0; i < CAMEO_LANES; i++)
        if (mask[i])
            lanes[i] = x[at + i];
    return *(const cameo_vec *)lanes;
}

/* Rows r .. r + count of channel c of x with their border, at each place of a row what is `shift`
 * further, one behind the other: no element lies between two rows. masks: of the places of a row.
 */
static inline __attribute__((unused)) void cameo_plane_lay(const cameo_plane_line *f,
                                                           const float *x, int64_t c, int64_t r,
                                                           int64_t count, int64_t shift,
                                                           const uint32_t *masks, float *to)
{
    const cameo_conv *g = f->g;
    const cameo_vec none = {0};
    const int64_t wide = f->across * CAMEO_PLANE_TILE;
    const int64_t size = (g->channels - 1) * g->channel + (g->in[1] - 1) * g->step[1] + g->in[2];
    for (int64_t i = 0; i < count; i++, to += wide) {
        const int64_t row = r + i - g->pad[1], inside = row >= 0 && row < g->in[1];
        const int64_t at = c * g->channel + row * g->step[1] + shift - g->pad[2];
        for (int64_t j = 0; j < wide; j += CAMEO_LANES)
            *(cameo_vec *)(to + j) =
                inside ? cameo_plane_load(x, size, at + j, masks + shift + j) : none;
    }
}

static inline __attribute__((always_inline)) void cameo_plane_of_x(const cameo_vec *d,
                                                                   cameo_vec *to)
{
    const cameo_vec even_1 = d[6] - 4.25f * d[4] + d[2], odd_1 = d[5] - 4.25f * d[3] + d[1];
    const cameo_vec even_h = d[6] - 5.0f * d[4] + 4.0f * d[2];
    const cameo_vec odd_h = d[5] - 5.0f * d[3] + 4.0f * d[1];
    const cameo_vec even_2 = d[6] - 1.25f * d[4] + 0.25f * d[2];
    const cameo_vec odd_2 = d[5] - 1.25f * d[3] + 0.25f * d[1];
    to[0] = (d[0] - d[6]) + 5.25f * (d[4] - d[2]);
    to[1] = even_h + 0.5f * odd_h;
    to[2] = even_h - 0.5f * odd_h;
    to[3] = even_1 + odd_1;
    to[4] = even_1 - odd_1;
    to[5] = even_2 + 2.0f * odd_2;
    to[6] = even_2 - 2.0f * odd_2;
    to[7] = (d[7] - d[1]) + 5.25f * (d[3] - d[5]);
}

/* The tiles of so many elements of rows; near, far: elements 0 .. 3 and 4 .. 7 of each. */
static inline __attribute__((unused)) void cameo_plane_numbers(const cameo_plane_line *f,
                                                               const float *near, const float *far,
                                                               int64_t tiles, float *to)
{
    for (int64_t s = 0; s < tiles; s += CAMEO_LANES) {
        cameo_vec d[CAMEO_PLANE_PLACES], z[CAMEO_PLANE_PLACES];
        cameo_winograd_lanes(CAMEO_PLANE_TILE, 4, near + s * CAMEO_PLANE_TILE, CAMEO_PLANE_TILE, d);
        cameo_winograd_lanes(CAMEO_PLANE_TILE, 4, far + s * CAMEO_PLANE_TILE, CAMEO_PLANE_TILE,
                             d + 4);
        cameo_plane_of_x(d, z);
        for (int i = 0; i < CAMEO_PLANE_PLACES; i++)
            *(cameo_vec *)(to + i * f->place + s) = z[i];
    }
}

/* The numbers of channels from .. to of x, of a block's tiles. x: its first element. */
static __attribute__((noinline, unused)) void cameo_plane_line_make(const cameo_plane_line *f,
                                                                    int64_t block, int64_t from,
                                                                    int64_t to, const float *x,
                                                                    float *tiles)
{
    enum { PIECE = CAMEO_PLANE_PIECE, ROOM = PIECE + CAMEO_PLANE_SLACK };
    const cameo_conv *g = f->g;
    const int64_t wide = f->across * CAMEO_PLANE_TILE, rows = PIECE / wide;
    const int64_t h0 = cameo_plane_from(f, block);
    const int64_t h1 = cameo_plane_from(f, block + 1) + f->below, all = h1 - h0;
    const int64_t used = (all < rows ? all : rows) * wide;
    float near[ROOM], far[ROOM];
    uint32_t masks[ROOM];
    memset(near + used, 0, CAMEO_PLANE_SLACK * sizeof *near);
    memset(far + used, 0, CAMEO_PLANE_SLACK * sizeof *far);
    for (int64_t j = 0; j < wide + CAMEO_PLANE_TILE + CAMEO_LANES; j++)
        masks[j] = j >= g->pad[2] && j < g->pad[2] + g->in[2] ? UINT32_MAX : 0;
    for (int64_t c = from; c < to; c++) {
        float *const plane = tiles + c * f->length;
        for (int64_t h = h0; h < h1; h += rows) {
            const int64_t count = h1 - h < rows ? h1 - h : rows;
            cameo_plane_lay(f, x, c, h, count, 0, masks, near);
            cameo_plane_lay(f, x, c, h, count, CAMEO_PLANE_TILE, masks, far);
            cameo_plane_numbers(f, near, far, count * f->across, plane + (h - h0) * f->across);
        }
        /* products read whole vectors: what lay there before may be below normal numbers, with
         * which processors take many times as long */
        const int64_t made = all * f->across;
        const int64_t gap = c + 1 < g->channels ? 0 : CAMEO_PLANE_GAP;
        for (int i = 0; i < CAMEO_PLANE_PLACES; i++)
            memset(plane + i * f->place + made, 0,
                   (size_t)(f->length + gap - made) * sizeof *plane);
    }
}

/* ---- of the sums -------------------------------------------------------------------------------
 */

/* sums: room for CAMEO_PLANE_PLACES * CAMEO_WINOGRAD_ROWS * CAMEO_TILE_COLUMNS elements. */
static inline __attribute__((unused)) void cameo_plane_line_begin(const cameo_plane_line *f,
                                                                  int64_t block, const float *tiles,
                                                                  float *sums, cameo_plane_block *b)
{
    const int64_t taps = f->g->taps[1];
    b->form = f;
    b->h0 = cameo_plane_from(f, block);
    b->h1 = cameo_plane_from(f, block + 1);
    b->n0 = b->h0 * f->g->out[2];
    b->n1 = b->h1 * f->g->out[2];
    b->tiles = tiles;
    b->sums = sums;
    for (int64_t k = 0; k < CAMEO_WINOGRAD_K && k < f->g->channels * taps; k++)
        b->at[k] = k / taps * f->length + k % taps * f->g->dilation[1] * f->across;
}

/* The products of one place for `height` rows and so many vectors of x; a: the rows' panels, which
 * lie behind one another, place after place. ahead: bytes to those that are asked for. */
static inline __attribute__((unused)) void cameo_plane_multiply(const cameo_plane_block *b,
                                                                int64_t place, int64_t height,
                                                                const float *a, int64_t ahead,
                                                                const float *x, int64_t vectors)
{
    const int64_t taps = b->form->g->taps[1], depth = b->form->g->channels * taps;
    const int64_t row = vectors * CAMEO_LANES, most = CAMEO_WINOGRAD_K / taps * taps;
    float *c = b->sums + place * CAMEO_WINOGRAD_ROWS * CAMEO_TILE_COLUMNS;
    for (int64_t k = 0; k < depth; k += most) {
        const int64_t nk = depth - k < most ? depth - k : most;
        for (int64_t i = 0; i < height; i += CAMEO_ROWS)
            cameo_tiles[CAMEO_ROWS - 1][vectors - 1](
                nk,
                a + i / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS * depth + k * CAMEO_TILE_ROWS +
                    i % CAMEO_TILE_ROWS,
                x + k / taps * b->form->length, b->at, ahead, c + i * row, row, row, k > 0, NULL);
    }
}

static inline __attribute__((always_inline)) void cameo_plane_of_y(const cameo_vec *s,
                                                                   cameo_vec *to)
{
    const cameo_vec sum_h = s[1] + s[2], odd_h = s[1] - s[2], sum_1 = s[3] + s[4];
    const cameo_vec odd_1 = s[3] - s[4], sum_2 = s[5] + s[6], odd_2 = s[5] - s[6];
    to[0] = (s[0] + sum_h) + (sum_1 + sum_2);
    to[1] = 0.5f * odd_h + (odd_1 + 2.0f * odd_2);
    to[2] = 0.25f * sum_h + (sum_1 + 4.0f * sum_2);
    to[3] = (s[7] + 0.125f * odd_h) + (odd_1 + 8.0f * odd_2);
}

/* Places of y from tile t of the block on, whole tiles of a row side by side, to rows of y. */
static inline __attribute__((unused)) void cameo_plane_write(const cameo_plane_block *b,
                                                             const float *lines, int64_t t,
                                                             int64_t tiles, float *y)
{
    const int64_t across = b->form->across, row = b->form->g->out[2];
    int64_t count;
    for (int64_t done = 0; done < tiles; done += count) {
        const int64_t h = (t + done) / across, first = (t + done) % across;
        const int64_t left = row - first * CAMEO_PLANE_TILE;
        count = across - first < tiles - done ? across - first : tiles - done;
        const int64_t wide = count * CAMEO_PLANE_TILE;
        cameo_winograd_copy(lines + done * CAMEO_PLANE_TILE, left < wide ? left : wide,
                            y + (b->h0 + h) * row + first * CAMEO_PLANE_TILE);
    }
}

/* Row `channel` of y from tile t of the block on, of so many vectors of tiles; sums: its own. */
static inline __attribute__((always_inline)) void cameo_plane_row(const cameo_plane_block *b,
                                                                  const float *sums,
                                                                  int64_t channel, int64_t t,
                                                                  int64_t vectors, float *y)
{
    enum { APART = CAMEO_WINOGRAD_ROWS * CAMEO_TILE_COLUMNS, TILE = CAMEO_PLANE_TILE };
    const cameo_plane_line *f = b->form;
    const cameo_finish *finish = f->finish;
    const cameo_vec zero = {0};
    const float bias = finish ? finish->bias[channel] : 0.0f;
    const cameo_vec low = zero + (finish ? finish->low : 0.0f);
    const cameo_vec high = zero + (finish ? finish->high : 0.0f);
    const int64_t all = (b->h1 - b->h0) * f->across - t, last = vectors * CAMEO_LANES;
    const int64_t tiles = all < last ? all : last;
    const int flat = f->across * TILE == f->g->out[2];
    float lines[TILE * CAMEO_TILE_COLUMNS];
    for (int64_t v = 0; v < tiles; v += CAMEO_LANES, sums += CAMEO_LANES) {
        cameo_vec s[CAMEO_PLANE_PLACES], z[TILE];
        for (int i = 0; i < CAMEO_PLANE_PLACES; i++)
            s[i] = *(const cameo_vec *)(sums + i * APART);
        cameo_plane_of_y(s, z);
        for (int j = 0; finish && j < TILE; j++)
            z[j] = cameo_clip(z[j] + bias, low, high);
        const int whole = flat && tiles - v >= CAMEO_LANES;
        cameo_winograd_line(TILE, z, whole ? y + b->n0 + (t + v) * TILE : lines + v * TILE);
        if (flat && !whole)
            cameo_winograd_copy(lines + v * TILE, (tiles - v) * TILE, y + b->n0 + (t + v) * TILE);
    }
    if (!flat)
        cameo_plane_write(b, lines, t, tiles, y);
}

/* Rows m0 and more of y, none behind `high`, w the packed windows: for CAMEO_WINOGRAD_ROWS rows one
 * place after the other, each in panels of CAMEO_TILE_ROWS rows, with which m0 begins. Returns
 * where they end: where those rows do. */
static __attribute__((noinline, unused)) int64_t cameo_plane_line_rows(const cameo_plane_block *b,
                                                                       int64_t m0, int64_t high,
                                                                       const float *w, float *y)
{
    enum { ROWS = CAMEO_WINOGRAD_ROWS, PANEL = CAMEO_TILE_ROWS };
    const cameo_plane_line *f = b->form;
    const cameo_conv *g = f->g;
    const int64_t first = m0 / ROWS * ROWS, tiles = (b->h1 - b->h0) * f->across;
    const int64_t whole = g->rows - first < ROWS ? g->rows - first : ROWS;
    const int64_t m1 = high < first + whole ? high : first + whole, height = m1 - m0;
    const int64_t depth = g->channels * g->taps[1], size = (whole + PANEL - 1) / PANEL * PANEL;
    w += (first * CAMEO_PLANE_PLACES + m0 - first) * depth;
    for (int64_t t = 0, vectors; t < tiles; t += vectors * CAMEO_LANES) {
        vectors = cameo_winograd_vectors(tiles, t);
        for (int64_t i = 0; i < CAMEO_PLANE_PLACES; i++)
            cameo_plane_multiply(b, i, height, w + i * size * depth,
                                 t ? 0 : size * depth * (int64_t)sizeof *w,
                                 b->tiles + i * f->place + t, vectors);
        for (int64_t i = 0; i < height; i++)
            cameo_plane_row(b, b->sums + i * vectors * CAMEO_LANES, m0 + i, t, vectors,
                            y + (m0 + i) * g->row);
    }
    cameo_bend(f->finish, y, m0 * g->row + b->n0, height, g->row, b->n1 - b->n0);
    return m1;
}

#endif
