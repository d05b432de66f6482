/* Convolutions of bfloat16 on matrix registers: y[m][n] = the sum, in float32, over k of w[m][k] *
 * x[k][n]. Rows are channels of the output, k is a place of the window and a channel, two channels
 * to a word.
 *
 * x is copied once in words of two channels, with its border, places that a stride takes together
 * lying together: so all places of a window are constant distances. Places of the output are
 * counted along the lines of that copy, those behind the end of a row of y too, whose sums nobody
 * reads. 48 of them are a panel; some panels are gathered at a time, and 128 rows of weights go
 * over them. */
#ifndef CAMEO_HALF_CONV_H
#define CAMEO_HALF_CONV_H

#include "cameo_amx.h"
#include "cameo_conv.h"

enum {
    CAMEO_HALF_ROWS = 128,      /* of a block */
    CAMEO_HALF_TILE = 16,       /* rows and words of a tile, */
    CAMEO_HALF_TILE_WORDS = 256 /* all of its words */
};

typedef struct cameo_half_conv {
    int64_t rows, pairs, steps; /* rows of y, pairs of channels of x, tiles of words along k */
    int64_t taps[2], stride[2], dilation[2], pad[2], in[2], step[2];
    int64_t channels, channel; /* of x, and the stride from one to the next */
    int64_t row, lines, pitch; /* places in a row of y; lines of a phase of the copy, their words */
    int64_t places;            /* that are counted */
    int64_t group;             /* panels that are gathered at a time */
    const int32_t *w;          /* for each 16 rows, for each tile along k: 16 rows of 16 words */
    int32_t *x;                /* the copy */
    int32_t *panels;           /* of a group */
    float *sums;               /* 128 rows of a panel's columns */
} cameo_half_conv;

/* Rows m0 .. m1, counted places low .. high. */
typedef struct cameo_half_cut {
    int64_t m0, m1, low, high;
} cameo_half_cut;

static inline __attribute__((unused)) int64_t cameo_half_reach(int64_t out, int64_t taps,
                                                               int64_t stride, int64_t dilation)
{
    return ((out - 1) * stride + (taps - 1) * dilation + stride) / stride;
}

/* The sizes of x and y as cameo_conv.h has them; the innermost two dims count. */
static __attribute__((noinline, unused)) cameo_half_conv
cameo_half_conv_of(const cameo_conv *g, int64_t group, const int32_t *w, int32_t *x, float *scratch)
{
    cameo_half_conv h = {.rows = g->rows,
                         .pairs = (g->channels + 1) / 2,
                         .channels = g->channels,
                         .channel = g->channel,
                         .row = g->out[2],
                         .group = group,
                         .w = w,
                         .x = x,
                         .sums = scratch};
    for (int i = 0; i < 2; i++) {
        h.taps[i] = g->taps[i + 1];
        h.stride[i] = g->stride[i + 1];
        h.dilation[i] = g->dilation[i + 1];
        h.pad[i] = g->pad[i + 1];
        h.in[i] = g->in[i + 1];
        h.step[i] = g->step[i + 1];
    }
    h.steps = (h.pairs * h.taps[0] * h.taps[1] + CAMEO_HALF_TILE - 1) / CAMEO_HALF_TILE;
    h.lines = cameo_half_reach(g->out[1], h.taps[0], h.stride[0], h.dilation[0]);
    h.pitch = cameo_half_reach(g->out[2], h.taps[1], h.stride[1], h.dilation[1]);
    h.places = (g->out[1] - 1) * h.pitch + g->out[2];
    h.panels = (int32_t *)(void *)(scratch + CAMEO_HALF_ROWS * CAMEO_TILE_COLUMNS);
    return h;
}

/* One line of two channels, every `every`-th element of x from `from` on; places low .. high are in
 * x. b: NULL where there is no second channel. */
static inline __attribute__((always_inline, unused)) void
cameo_half_line(const uint16_t *a, const uint16_t *b, int64_t from, int64_t every, int64_t low,
                int64_t high, int64_t length, int32_t *to)
{
    for (int64_t i = 0; i < low; i++)
        to[i] = 0;
    for (int64_t i = low; b && i < high; i++)
        to[i] = (int32_t)((uint32_t)a[from + i * every] | (uint32_t)b[from + i * every] << 16);
    for (int64_t i = low; !b && i < high; i++)
        to[i] = a[from + i * every];
    for (int64_t i = high; i < length; i++)
        to[i] = 0;
}

static inline __attribute__((unused)) int64_t cameo_half_within(int64_t i, int64_t most)
{
    return i < 0 ? 0 : i < most ? i : most;
}

/* Pairs from .. to of the channels of x. */
static __attribute__((noinline, unused)) void
cameo_half_conv_copy(const cameo_half_conv *h, const uint16_t *x, int64_t from, int64_t to)
{
    const int64_t s0 = h->stride[0], s1 = h->stride[1], every = s1 * h->step[1];
    int32_t *at = h->x + from * s0 * s1 * h->lines * h->pitch;
    for (int64_t c = from; c < to; c++)
        for (int64_t f = 0; f < s0; f++)
            for (int64_t g = 0; g < s1; g++)
                for (int64_t r = 0; r < h->lines; r++, at += h->pitch) {
                    const int64_t i = r * s0 + f - h->pad[0], j = g - h->pad[1];
                    const int inside = i >= 0 && i < h->in[0];
                    const int64_t low =
                        inside ? cameo_half_within((s1 - 1 - j) / s1, h->pitch) : h->pitch;
                    const int64_t end =
                        inside ? cameo_half_within((h->in[1] - j + s1 - 1) / s1, h->pitch) : 0;
                    const int64_t high = end > low ? end : low;
                    const uint16_t *a = x + 2 * c * h->channel;
                    const uint16_t *b = 2 * c + 1 < h->channels ? a + h->channel : NULL;
                    const int64_t first = i * h->step[0] + j * h->step[1];
                    if (every == 1)
                        cameo_half_line(a, b, first, 1, low, high, h->pitch, at);
                    else
                        cameo_half_line(a, b, first, every, low, high, h->pitch, at);
                }
}

/* Panels from .. to as tiles read them, 0 in the words behind the last one of k. */
static __attribute__((noinline, unused)) void cameo_half_gather(const cameo_half_conv *h,
                                                                int64_t from, int64_t to)
{
    enum { WIDTH = CAMEO_TILE_COLUMNS };
    const int64_t phase = h->lines * h->pitch, plane = h->stride[0] * h->stride[1] * phase;
    int32_t *at = h->panels;
    for (int64_t p = from; p < to; p++) {
        int32_t *end = at + h->steps * CAMEO_HALF_TILE * WIDTH;
        for (int64_t i = 0; i < h->taps[0]; i++)
            for (int64_t j = 0; j < h->taps[1]; j++) {
                const int64_t a = i * h->dilation[0], b = j * h->dilation[1];
                const int32_t *x = h->x + p * WIDTH +
                                   (a % h->stride[0] * h->stride[1] + b % h->stride[1]) * phase +
                                   a / h->stride[0] * h->pitch + b / h->stride[1];
                for (int64_t c = 0; c < h->pairs; c++, at += WIDTH, x += plane)
                    memcpy(at, x, WIDTH * sizeof *at);
            }
        memset(at, 0, (size_t)(end - at) * sizeof *at);
        at = end;
    }
}

/* The units of work: groups of panels, in each blocks of rows. */
static inline __attribute__((unused)) int64_t cameo_half_conv_blocks(const cameo_half_conv *h)
{
    return (h->rows + CAMEO_HALF_ROWS - 1) / CAMEO_HALF_ROWS;
}

static inline __attribute__((unused)) int64_t cameo_half_conv_units(const cameo_half_conv *h)
{
    const int64_t each = h->group * CAMEO_TILE_COLUMNS;
    return (h->places + each - 1) / each * cameo_half_conv_blocks(h);
}

/* Unit u; `first`: the panels are not those of the unit before. */
static __attribute__((noinline, unused)) cameo_half_cut
cameo_half_conv_cut(const cameo_half_conv *h, int64_t u, int first)
{
    const int64_t blocks = cameo_half_conv_blocks(h), each = h->group * CAMEO_TILE_COLUMNS;
    const int64_t m0 = u % blocks * CAMEO_HALF_ROWS, low = u / blocks * each;
    const int64_t m1 = h->rows - m0 < CAMEO_HALF_ROWS ? h->rows : m0 + CAMEO_HALF_ROWS;
    const int64_t high = h->places - low < each ? h->places : low + each;
    if (first || m0 == 0)
        cameo_half_gather(h, low / CAMEO_TILE_COLUMNS,
                          (high + CAMEO_TILE_COLUMNS - 1) / CAMEO_TILE_COLUMNS);
    return (cameo_half_cut){m0, m1, low, high};
}

static inline __attribute__((unused)) float cameo_half_float(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* One row of a panel's sums without matrix registers. */
static __attribute__((noinline, unused)) void cameo_half_row(int64_t steps, const int32_t *w,
                                                             const int32_t *panel, float *sums)
{
    enum { WIDTH = CAMEO_TILE_COLUMNS };
    float all[WIDTH] = {0};
    for (int64_t s = 0; s < steps; s++, w += CAMEO_HALF_TILE_WORDS)
        for (int64_t k = 0; k < CAMEO_HALF_TILE; k++, panel += WIDTH) {
            const float even = cameo_half_float((uint32_t)w[k] << 16);
            const float odd = cameo_half_float((uint32_t)w[k] & 0xffff0000u);
            for (int j = 0; j < WIDTH; j++)
                all[j] += even * cameo_half_float((uint32_t)panel[j] << 16) +
                          odd * cameo_half_float((uint32_t)panel[j] & 0xffff0000u);
        }
    memcpy(sums, all, sizeof all);
}

/* The sums of a cut's rows in the panel that begins at `place`. */
static __attribute__((noinline, unused)) void
cameo_half_conv_panel(const cameo_half_conv *h, const cameo_half_cut *cut, int64_t place)
{
    enum { WIDTH = CAMEO_TILE_COLUMNS, TILE = CAMEO_HALF_TILE };
    const int32_t *w = h->w + cut->m0 / TILE * h->steps * CAMEO_HALF_TILE_WORDS;
    const int32_t *panel = h->panels + (place - cut->low) * h->steps * TILE;
#ifdef CAMEO_AMX
    const int64_t left = cut->high - place, columns = left < WIDTH ? left : WIDTH;
    cameo_amx_rows rows = cameo_amx_packed(w, h->steps * CAMEO_AMX_LINE);
    if (cameo_amx_on()) {
        cameo_amx_begin();
        cameo_amx_panel(cameo_amx_bf16, cut->m1 - cut->m0, (columns + TILE - 1) / TILE, h->steps,
                        &rows, panel, 4 * WIDTH, 0, h->sums, 4 * WIDTH, 0);
        cameo_amx_end();
        return;
    }
    if (cameo_words_has(CAMEO_WORDS_BF16)) {
        cameo_words_product(cameo_words_bf16, cut->m1 - cut->m0, (columns + TILE - 1) / TILE,
                            2 * h->pairs * h->taps[0] * h->taps[1], 2, &rows, panel, 4 * WIDTH, 0,
                            h->sums, 4 * WIDTH, 0);
        return;
    }
#endif
    for (int64_t i = 0; i < cut->m1 - cut->m0; i++)
        cameo_half_row(h->steps, w + i / TILE * h->steps * CAMEO_HALF_TILE_WORDS + i % TILE * TILE,
                       panel, h->sums + i * WIDTH);
}

/* Places n0 .. n1 of y, whose sums stand from column `at` on in rows of a panel's columns: those
 * that follow `place` in one panel and one row of y. The place after them. */
static inline __attribute__((unused)) int64_t cameo_half_conv_piece(const cameo_half_conv *h,
                                                                    const cameo_half_cut *cut,
                                                                    int64_t place, int64_t *n0,
                                                                    int64_t *n1, int64_t *at)
{
    const int64_t column = place % CAMEO_TILE_COLUMNS, line = place / h->pitch;
    const int64_t left = cut->high - place, fits = CAMEO_TILE_COLUMNS - column;
    const int64_t some = left < fits ? left : fits;
    if (column == 0)
        cameo_half_conv_panel(h, cut, place);
    *at = column;
    if (h->pitch == h->row) {
        *n0 = place;
        *n1 = place + some;
        return *n1;
    }
    const int64_t across = place - line * h->pitch, end = h->row - across;
    const int64_t length = end < 0 ? 0 : end < some ? end : some;
    *n0 = line * h->row + (across < h->row ? across : h->row);
    *n1 = *n0 + length;
    return h->pitch - across < some ? place + h->pitch - across : place + some;
}

#endif
