/* Convolutions in pixels of bfloat16 by windows of 3 x 3 that move by one or two, by vectors that
 * multiply words: each tile of 2 x 2 places takes 16 products, or 25, instead of 36 (F(2x2,3x3);
 * Lavin, Gray, Fast Algorithms for Convolutional Neural Networks, CVPR 2016). Of a tile's 4 x 4
 * pixels 16 numbers are made by sums of four, each rounded to bfloat16; number i of all channels
 * with the windows' number i gives 16 sums, and sums of these the four places.
 *
 * Where windows move by two, places y0 and y1 of a line are of pixels d0 .. d4, and the outer taps
 * w0 and w2 of the window are one of two places: y0 = (d0 - d2) w0 + d2 (w0 + w2) + d1 w1 and
 * y1 = d2 (w0 + w2) + (d4 - d2) w2 + d3 w1. These are five numbers for six products. In both
 * directions they are 25, whose products make only nine sums, since those with d1 and d3 are added
 * to their neighbours': the numbers of a sum follow one another.
 *
 * What a block of tiles is made of stays in the second cache while all panels of 32 channels of the
 * output pass; the sums of up to eight tiles stay in the first one until what surrounds them is
 * done. Of a large panel a number's weights go over all groups of eight tiles before those of the
 * next number, and the sums wait in the second cache: so weights come from memory once, in the
 * order in which they lie, and asking a little ahead of what is multiplied leaves x its place.
 *
 * A pixel of 32 channels is made of as two vectors, of its even channels and of its odd ones: so
 * they lie in what is made of it, the even ones first, and weights are packed so too. Pixels that
 * are not full are read in the order of channels, which takes longer, and the words behind their
 * last channel are not multiplied. */
#ifndef CAMEO_PIXEL_WINOGRAD_H
#define CAMEO_PIXEL_WINOGRAD_H

#include "cameo_pixel_conv.h"
#include "cameo_pixel_fused.h"

#include <math.h>

enum {
    CAMEO_PIXEL_SIDE = 5,     /* pixels of a tile across: 5, or 4 where windows move by one */
    CAMEO_PIXEL_SUMS = 16,    /* of a tile: 9, or 16 */
    CAMEO_PIXEL_NINE = 9, /* tiles of a last group, where one of eight would leave one */
    CAMEO_PIXEL_BESIDE = CAMEO_PIXEL_NINE * CAMEO_PIXEL_PANEL, /* floats from a sum to the next */
    CAMEO_PIXEL_GROUP = CAMEO_PIXEL_SUMS * CAMEO_PIXEL_BESIDE, /* of a group's sums */
    CAMEO_PIXEL_BATCH = 7,                                     /* groups of a block */
    CAMEO_PIXEL_AHEAD = 65536 /* bytes of weights from what is multiplied to what is asked for */
};

typedef struct cameo_pixel_winograd {
    int64_t planes, lines, across; /* of x, pixels of a line */
    int64_t words;                 /* of a pixel of the last plane; 0: it is full */
    int64_t line, column;          /* where the first window begins */
    int64_t rows, row, step;       /* of the output; 1 or 2, by which windows move */
    int64_t panels;                /* of 32 channels of the output */
    int edge;                      /* the last one has no more than 16 */
    int64_t blocks, most, each; /* of tiles, and their tiles but the last one's; panels of a unit */
} cameo_pixel_winograd;

/* Where y lies and what is added, NULL: nothing: the first place's pixel of a panel, and bytes from
 * line to line. silu: what becomes of a sum (cameo_pixel_silu), else cameo_pixel_finish says it. */
typedef struct cameo_pixel_winograd_y {
    char *y;
    const char *added;
    int64_t down, added_down;
    int silu;
} cameo_pixel_winograd_y;

/* Tiles t0 .. t1 of a block, whose numbers are at v, and panels b0 .. b1 that are multiplied. */
typedef struct cameo_pixel_winograd_cut {
    const char *x, *w;
    int64_t *places; /* of each step of the sums the pixel, in what is made of a tile */
    float *sums;
    char *v;
    int all;      /* v holds all tiles, which are one block */
    int64_t made; /* the block that v holds, and 1; 0: none yet */
    int64_t t0, t1, b0, b1;
    int64_t ahead; /* bytes to the weights that are asked for meanwhile, 0: none */
} cameo_pixel_winograd_cut;

static inline __attribute__((unused)) int64_t
cameo_pixel_winograd_tiles(const cameo_pixel_winograd *c)
{
    return (c->rows + 1) / 2 * ((c->row + 1) / 2);
}

static inline __attribute__((unused)) int64_t
cameo_pixel_winograd_units(const cameo_pixel_winograd *c)
{
    return c->blocks * ((c->panels + c->each - 1) / c->each);
}

/* Pixels of a tile across, and of what is made of it. */
static inline __attribute__((unused)) int64_t
cameo_pixel_winograd_side(const cameo_pixel_winograd *c)
{
    return c->step + 3;
}

static inline __attribute__((unused)) int64_t
cameo_pixel_winograd_numbers(const cameo_pixel_winograd *c)
{
    return (c->step + 3) * (c->step + 3);
}

/* Sums of a tile, and how many numbers sum i is of: those of a plane, then those of the next. */
static inline __attribute__((unused)) int64_t
cameo_pixel_winograd_all(const cameo_pixel_winograd *c)
{
    return c->step == 1 ? 16 : 9;
}

static inline __attribute__((unused)) int64_t
cameo_pixel_winograd_many(const cameo_pixel_winograd *c, int64_t i)
{
    return c->step == 1 ? 1 : (1 + (i / 3 != 1)) * (1 + (i % 3 != 1));
}

/* Where numbers of a tile lie whose windows move by two: [down][across]. */
static const unsigned char cameo_pixel_winograd_order[25] __attribute__((unused)) = {
    0, 4, 6, 1, 7, 10, 12, 13, 11, 14, 15, 19, 21, 16, 22, 2, 5, 8, 3, 9, 17, 20, 23, 18, 24};

/* Bytes from a number of a block's tiles, of a plane, to the next: tiles lie one behind the other,
 * so that a group's have one address, and an odd number of pixels, so that numbers of a tile do
 * not take each other's place in a first cache. */
static inline __attribute__((unused)) int64_t
cameo_pixel_winograd_apart(const cameo_pixel_winograd *c)
{
    const int64_t last = cameo_pixel_winograd_tiles(c) - (c->blocks - 1) * c->most;
    return ((last > c->most ? last : c->most) | 1) * CAMEO_PIXEL;
}

/* Bytes of a panel of weights. */
static inline __attribute__((unused)) int64_t
cameo_pixel_winograd_panel_size(const cameo_pixel_winograd *c)
{
    return cameo_pixel_winograd_numbers(c) * c->planes * CAMEO_PIXEL * CAMEO_PIXEL_PANEL;
}

/* The lines of a tile's pixels in the first plane, in bytes behind x, and its pixels there. Of the
 * last tile lines or pixels behind the image stand for those that no place that is stored is made
 * of. */
static inline __attribute__((unused)) void
cameo_pixel_winograd_window(const cameo_pixel_winograd *c, int64_t tile, int64_t *lines,
                            int64_t *pixels)
{
    const int64_t across = (c->row + 1) / 2, i = tile / across, j = tile % across;
    for (int64_t k = 0; k < cameo_pixel_winograd_side(c); k++) {
        const int64_t line = c->line + 2 * c->step * i + k;
        const int64_t pixel = c->column + 2 * c->step * j + k;
        lines[k] = (line < c->lines ? line : c->lines - 1) * c->across * CAMEO_PIXEL;
        pixels[k] = (pixel < c->across ? pixel : c->across - 1) * CAMEO_PIXEL;
    }
}

#ifdef CAMEO_PIXEL_FUSED_BF16
typedef uint32_t cameo_pixel_winograd_pixel __attribute__((vector_size(64), aligned(2), may_alias));

static inline __attribute__((unused, always_inline)) void
cameo_pixel_winograd_line(const cameo_pixel_floats *d, cameo_pixel_floats *t)
{
    t[0] = d[0] - d[2];
    t[1] = d[1] + d[2];
    t[2] = d[2] - d[1];
    t[3] = d[1] - d[3];
}

/* The even and the odd channels of a pixel; the lower and the upper ones where it is not full. */
static inline __attribute__((unused, always_inline)) void
cameo_pixel_winograd_read(const char *at, int full, cameo_pixel_floats *even,
                          cameo_pixel_floats *odd)
{
    if (!full) {
        *even = cameo_pixel_fused_added(at, 0);
        *odd = cameo_pixel_fused_added(at, 1);
        return;
    }
    const cameo_pixel_winograd_pixel u = *(const cameo_pixel_winograd_pixel *)at;
    *even = (cameo_pixel_floats)(u << 16);
    *odd = (cameo_pixel_floats)(u & 0xffff0000u);
}

/* The numbers of a tile of a plane, `number` bytes apart, whose windows move by one. */
static inline __attribute__((unused, always_inline)) void
cameo_pixel_winograd_make_one(const char *x, int full, const int64_t *lines, const int64_t *pixels,
                              char *to, int64_t number)
{
    enum { SIDE = 4 };
    cameo_pixel_floats even[SIDE][SIDE], odd[SIDE][SIDE];
#pragma GCC unroll 4
    for (int j = 0; j < SIDE; j++) {
        cameo_pixel_floats low[SIDE], high[SIDE], e[SIDE], o[SIDE];
#pragma GCC unroll 4
        for (int i = 0; i < SIDE; i++)
            cameo_pixel_winograd_read(x + lines[i] + pixels[j], full, &low[i], &high[i]);
        cameo_pixel_winograd_line(low, e);
        cameo_pixel_winograd_line(high, o);
#pragma GCC unroll 4
        for (int i = 0; i < SIDE; i++) {
            even[i][j] = e[i];
            odd[i][j] = o[i];
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < SIDE; i++) {
        cameo_pixel_floats e[SIDE], o[SIDE];
        cameo_pixel_winograd_line(even[i], e);
        cameo_pixel_winograd_line(odd[i], o);
#pragma GCC unroll 4
        for (int j = 0; j < SIDE; j++)
            cameo_pixel_fused_store(to + (SIDE * i + j) * number, e[j], o[j]);
    }
}

/* Where they move by two: line by line of the numbers, since all of them are no registers. */
static inline __attribute__((unused, always_inline)) void
cameo_pixel_winograd_make_two(const char *x, int full, const int64_t *lines, const int64_t *pixels,
                              char *to, int64_t number)
{
    enum { SIDE = 5 };
    static const int from[SIDE] = {0, 2, 4, 1, 3}; /* the first and the third less line 2 */
#pragma GCC unroll 5
    for (int i = 0; i < SIDE; i++) {
        cameo_pixel_floats e[SIDE], o[SIDE];
#pragma GCC unroll 5
        for (int j = 0; j < SIDE; j++) {
            cameo_pixel_winograd_read(x + lines[from[i]] + pixels[j], full, &e[j], &o[j]);
            if (i == 0 || i == 2) {
                cameo_pixel_floats less, other;
                cameo_pixel_winograd_read(x + lines[2] + pixels[j], full, &less, &other);
                e[j] -= less;
                o[j] -= other;
            }
        }
        e[0] -= e[2], o[0] -= o[2];
        e[4] -= e[2], o[4] -= o[2];
#pragma GCC unroll 5
        for (int j = 0; j < SIDE; j++)
            cameo_pixel_fused_store(to + cameo_pixel_winograd_order[SIDE * i + j] * number,
                                    e[from[j]], o[from[j]]);
    }
}

/* Numbers of tiles t0 .. t1. */
static inline __attribute__((unused)) void cameo_pixel_winograd_make(const cameo_pixel_winograd *c,
                                                                     const char *x, int64_t t0,
                                                                     int64_t t1, char *v)
{
    const int64_t apart = cameo_pixel_winograd_apart(c), number = c->planes * apart;
    for (int64_t p = 0; p < c->planes; p++, x += c->lines * c->across * CAMEO_PIXEL) {
        const int full = !c->words || p < c->planes - 1;
        for (int64_t t = t0; t < t1; t++) {
            int64_t lines[CAMEO_PIXEL_SIDE], pixels[CAMEO_PIXEL_SIDE];
            char *to = v + (t - t0) * CAMEO_PIXEL + p * apart;
            cameo_pixel_winograd_window(c, t, lines, pixels);
            if (c->step == 1 && full)
                cameo_pixel_winograd_make_one(x, 1, lines, pixels, to, number);
            else if (c->step == 1)
                cameo_pixel_winograd_make_one(x, 0, lines, pixels, to, number);
            else if (full)
                cameo_pixel_winograd_make_two(x, 1, lines, pixels, to, number);
            else
                cameo_pixel_winograd_make_two(x, 0, lines, pixels, to, number);
        }
    }
}

/* Sums of so many tiles with two vectors of columns: a cameo_words_group of what lies evenly. */
#define CAMEO_PIXEL_WINOGRAD_EVEN(height)                                                          \
    static __attribute__((noinline, unused)) void cameo_pixel_winograd_##height(                   \
        const cameo_words_steps *steps, const char *const *rows, const cameo_words_panel *b,       \
        char *c, int64_t ldc, const cameo_words_vector *less)                                      \
    {                                                                                              \
        cameo_words_vector sums[height][CAMEO_WORDS_VECTORS];                                      \
        cameo_pixel_fused_begin(height, 2, less, sums);                                            \
        cameo_words_even(height, steps, rows[0], b, sums);                                         \
        CAMEO_PIXEL_UNROLL(16)                                                                     \
        for (int i = 0; i < (height); i++, c += ldc) {                                             \
            CAMEO_WORDS_HERE(c);                                                                   \
            *(cameo_words_vector *)c = sums[i][0];                                                 \
            *(cameo_words_vector *)(c + CAMEO_WORDS_LINE) = sums[i][1];                            \
        }                                                                                          \
    }
CAMEO_PIXEL_WINOGRAD_EVEN(8)
CAMEO_PIXEL_WINOGRAD_EVEN(9)

/* Groups of up to eight tiles, a last one of nine, which lie behind one another, and the rows of
 * each: of those that lie evenly the first one. */
typedef struct cameo_pixel_winograd_batch {
    const char *rows[CAMEO_PIXEL_BATCH * CAMEO_WORDS_MOST];
    int64_t n, heights[CAMEO_PIXEL_BATCH];
    cameo_words_group *groups[CAMEO_PIXEL_BATCH];
} cameo_pixel_winograd_batch;

/* Sums of the batch's tiles with a panel, one of their numbers after the other: its weights are in
 * the first cache when the second group reads them. */
static inline __attribute__((unused)) void
cameo_pixel_winograd_sums(const cameo_pixel_winograd *c, const cameo_pixel_winograd_cut *cut,
                          const cameo_pixel_winograd_batch *batch, cameo_words_panel *panel,
                          const cameo_words_asking *ask)
{
    const cameo_words_vector less[2] = {{0}};
    const int64_t sums = cameo_pixel_winograd_all(c);
    cameo_words_steps steps = {.words = c->words, .places = cut->places};
    for (int64_t i = 0; i < sums; i++) {
        float *to = cut->sums + i * CAMEO_PIXEL_BESIDE;
        const char *const *rows = batch->rows;
        steps.n = cameo_pixel_winograd_many(c, i) * c->planes;
        steps.whole = c->words ? steps.n - steps.n / c->planes : steps.n;
        for (int64_t g = 0; g < batch->n; g++) {
            panel->lines = panel->next < ask->end ? ask->step : 0;
            batch->groups[g](&steps, rows, panel, (char *)to, 4 * CAMEO_PIXEL_PANEL, less);
            panel->next += steps.n * panel->lines * CAMEO_WORDS_LINE;
            to += CAMEO_PIXEL_GROUP;
            rows += CAMEO_WORDS_MOST;
        }
        steps.places += steps.n;
        panel->at += steps.n * panel->step;
    }
}

/* The four places of a tile, of 16 channels. */
static inline __attribute__((unused, always_inline)) void
cameo_pixel_winograd_places_one(const float *sums, cameo_pixel_floats *y)
{
    enum { SIDE = 4 };
    cameo_pixel_floats up[SIDE], low[SIDE];
#pragma GCC unroll 4
    for (int j = 0; j < SIDE; j++) {
        cameo_pixel_floats m[SIDE];
#pragma GCC unroll 4
        for (int i = 0; i < SIDE; i++)
            m[i] = *(const cameo_pixel_floats *)(sums + (SIDE * i + j) * CAMEO_PIXEL_BESIDE);
        up[j] = m[0] + m[1] + m[2];
        low[j] = m[1] - m[2] - m[3];
    }
    y[0] = up[0] + up[1] + up[2];
    y[1] = up[1] - up[2] - up[3];
    y[2] = low[0] + low[1] + low[2];
    y[3] = low[1] - low[2] - low[3];
}

static inline __attribute__((unused, always_inline)) void
cameo_pixel_winograd_places_two(const float *sums, cameo_pixel_floats *y)
{
    enum { SIDE = 3 };
    cameo_pixel_floats up[SIDE], low[SIDE];
#pragma GCC unroll 3
    for (int j = 0; j < SIDE; j++) {
        cameo_pixel_floats m[SIDE];
#pragma GCC unroll 3
        for (int i = 0; i < SIDE; i++)
            m[i] = *(const cameo_pixel_floats *)(sums + (SIDE * i + j) * CAMEO_PIXEL_BESIDE);
        up[j] = m[0] + m[1];
        low[j] = m[1] + m[2];
    }
    y[0] = up[0] + up[1];
    y[1] = up[1] + up[2];
    y[2] = low[0] + low[1];
    y[3] = low[1] + low[2];
}

static inline __attribute__((unused, always_inline)) void
cameo_pixel_winograd_places(const cameo_pixel_winograd *c, const float *sums, cameo_pixel_floats *y)
{
    if (c->step == 1)
        cameo_pixel_winograd_places_one(sums, y);
    else
        cameo_pixel_winograd_places_two(sums, y);
}

/* How sums become what is stored: by cameo_pixel_finish with nothing added, or something, or by
 * cameo_pixel_silu. */
typedef enum cameo_pixel_winograd_how {
    CAMEO_PIXEL_WINOGRAD_CLIP,
    CAMEO_PIXEL_WINOGRAD_MORE,
    CAMEO_PIXEL_WINOGRAD_SILU
} cameo_pixel_winograd_how;

/* Of a vector of channels: what surrounds the sums, but the clip. */
typedef struct cameo_pixel_winograd_ends {
    cameo_pixel_floats scale, bias, by;
} cameo_pixel_winograd_ends;

/* Vector v of a place; added: its pixel of what is. */
static inline __attribute__((unused, always_inline)) cameo_pixel_floats
cameo_pixel_winograd_finished(cameo_pixel_winograd_how how, cameo_pixel_floats sum,
                              const char *added, int v, const cameo_pixel_winograd_ends *e,
                              cameo_pixel_floats low, cameo_pixel_floats high)
{
    cameo_pixel_floats x = cameo_pixel_muladd(sum, e->scale, e->bias);
    if (how == CAMEO_PIXEL_WINOGRAD_SILU) {
        x = cameo_pixel_silu_of(x);
        if (added)
            x += cameo_pixel_fused_added(added, v);
        return x;
    }
    if (how == CAMEO_PIXEL_WINOGRAD_MORE)
        x = cameo_pixel_muladd(cameo_pixel_fused_added(added, v), e->by, x);
    __asm__("vmaxps %1, %2, %0" : "=v"(x) : "v"(x), "v"(low));
    __asm__("vminps %1, %2, %0" : "=v"(x) : "v"(x), "v"(high));
    return x;
}

/* n tiles from `tile` on to y. Of one vector the other channels' sums are 0. */
static inline __attribute__((unused, always_inline)) void
cameo_pixel_winograd_end_of(const cameo_pixel_winograd *c, cameo_pixel_winograd_how how,
                            const float *sums, int64_t tile, int64_t n, int64_t vectors,
                            const cameo_pixel_winograd_y *f, const cameo_pixel_ends *e)
{
    const cameo_pixel_floats zero = {0}, low = zero + e->low, high = zero + e->high;
    cameo_pixel_winograd_ends ends[2];
    const int64_t across = (c->row + 1) / 2;
#pragma GCC unroll 2
    for (int v = 0; v < 2; v++) {
        ends[v] = (cameo_pixel_winograd_ends){zero + 1, zero, zero + 1};
        if (e->scale)
            ends[v].scale = *(const cameo_pixel_floats *)(e->scale + 16 * v);
        if (e->bias)
            ends[v].bias = *(const cameo_pixel_floats *)(e->bias + 16 * v);
        if (e->by)
            ends[v].by = *(const cameo_pixel_floats *)(e->by + 16 * v);
        if (how == CAMEO_PIXEL_WINOGRAD_SILU) {
            ends[v].scale *= CAMEO_PIXEL_SILU_BY;
            ends[v].bias *= CAMEO_PIXEL_SILU_BY;
        }
    }
    for (int64_t t = 0; t < n; t++, sums += CAMEO_PIXEL_PANEL) {
        const int64_t i = (tile + t) / across * 2, j = (tile + t) % across * 2;
        cameo_pixel_floats y[2][4] = {{zero, zero, zero, zero}, {zero, zero, zero, zero}};
        cameo_pixel_winograd_places(c, sums, y[0]);
        if (vectors > 1)
            cameo_pixel_winograd_places(c, sums + 16, y[1]);
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) { /* of a place outside the first one's pixel is read */
            const int is = i + k / 2 < c->rows && j + k % 2 < c->row;
            const int64_t line = is ? i + k / 2 : i, pixel = (is ? j + k % 2 : j) * CAMEO_PIXEL;
            const char *added = f->added ? f->added + line * f->added_down + pixel : NULL;
            cameo_pixel_floats x[2];
#pragma GCC unroll 2
            for (int v = 0; v < 2; v++)
                x[v] = cameo_pixel_winograd_finished(how, y[v][k], added, v, &ends[v], low, high);
            if (is)
                cameo_pixel_fused_store(f->y + line * f->down + pixel, x[0], x[1]);
        }
    }
}

static inline __attribute__((unused)) void cameo_pixel_winograd_end(const cameo_pixel_winograd *c,
                                                                    const float *sums, int64_t tile,
                                                                    int64_t n, int64_t vectors,
                                                                    const cameo_pixel_winograd_y *f,
                                                                    const cameo_pixel_ends *e)
{
    if (f->silu)
        cameo_pixel_winograd_end_of(c, CAMEO_PIXEL_WINOGRAD_SILU, sums, tile, n, vectors, f, e);
    else if (f->added)
        cameo_pixel_winograd_end_of(c, CAMEO_PIXEL_WINOGRAD_MORE, sums, tile, n, vectors, f, e);
    else
        cameo_pixel_winograd_end_of(c, CAMEO_PIXEL_WINOGRAD_CLIP, sums, tile, n, vectors, f, e);
}

/* Do groups of n tiles end with one of nine, one of eight leaving a tile alone? */
static inline __attribute__((unused)) int cameo_pixel_winograd_nine(const cameo_pixel_winograd *c,
                                                                    int64_t n, int64_t vectors)
{
    return vectors == 2 && !c->words && n > CAMEO_WORDS_MOST && n % CAMEO_WORDS_MOST == 1;
}

/* The batch from tile t of the cut on; the tile behind it. */
static inline __attribute__((unused)) int64_t
cameo_pixel_winograd_rows(const cameo_pixel_winograd *c, const cameo_pixel_winograd_cut *cut,
                          int64_t vectors, int64_t t, cameo_pixel_winograd_batch *batch)
{
    const int64_t most =
        cameo_pixel_winograd_panel_size(c) > CAMEO_PIXEL_AHEAD ? CAMEO_PIXEL_BATCH : 1;
    const int nine = cameo_pixel_winograd_nine(c, cut->t1 - t, vectors);
    const cameo_words_table *words = cameo_pixel_words(CAMEO_PIXEL_BF16);
    for (batch->n = 0; batch->n < most && t < cut->t1; batch->n++) {
        const char **rows = batch->rows + batch->n * CAMEO_WORDS_MOST;
        const int64_t left = cut->t1 - t;
        const int64_t some = nine && left == CAMEO_PIXEL_NINE ? CAMEO_PIXEL_NINE
                             : nine                           ? CAMEO_WORDS_MOST
                                                              : cameo_words_height(left);
        const int even = some >= CAMEO_WORDS_MOST && left >= some && vectors == 2 && !c->words;
        for (int64_t i = 0; i < (even ? 1 : some); i++)
            rows[i] = cut->v + (t - cut->t0 + (i < left ? i : left - 1)) * CAMEO_PIXEL;
        batch->heights[batch->n] = some;
        batch->groups[batch->n] =
            !even                      ? words[some / 2 - 2][vectors - 1]
            : some == CAMEO_PIXEL_NINE ? cameo_pixel_winograd_9
                                       : cameo_pixel_winograd_8;
        t += some;
    }
    return t;
}

/* The tiles of the cut with panel b to y. */
static __attribute__((noinline, unused)) void
cameo_pixel_winograd_panel(const cameo_pixel_winograd *c, const cameo_pixel_winograd_cut *cut,
                           int64_t b, const cameo_pixel_winograd_y *f, const cameo_pixel_ends *e)
{
    enum { PANEL = CAMEO_PIXEL_PANEL, TILE = CAMEO_WORDS_TILE };
    const int64_t size = cameo_pixel_winograd_panel_size(c);
    const int64_t vectors = c->edge && b == c->panels - 1 ? 1 : 2;
    const int64_t lines = cut->ahead ? size / CAMEO_WORDS_LINE : 0;
    const char *w = cut->w + b * size;
    cameo_words_panel panel = {w, 2 * TILE, CAMEO_WORDS_LINE, TILE, w + cut->ahead, 0};
    const int64_t tiles = cut->t1 - cut->t0;
    const cameo_words_asking ask =
        cameo_words_ask(&panel, tiles - cameo_pixel_winograd_nine(c, tiles, vectors),
                        cameo_pixel_winograd_numbers(c) * c->planes, lines, 0, 1);
    for (int64_t t = cut->t0, next; t < cut->t1; t = next) {
        cameo_pixel_winograd_batch batch;
        next = cameo_pixel_winograd_rows(c, cut, vectors, t, &batch);
        panel.at = w;
        cameo_pixel_winograd_sums(c, cut, &batch, &panel, &ask);
        const float *sums = cut->sums;
        for (int64_t g = 0; g < batch.n; g++, sums += CAMEO_PIXEL_GROUP) {
            const int64_t some = batch.heights[g], left = cut->t1 - t;
            cameo_pixel_winograd_end(c, sums, t, left < some ? left : some, vectors, f, e);
            t += some;
        }
    }
}
#else
/* A tile's numbers of a line, n floats apart. */
static inline __attribute__((unused)) void cameo_pixel_winograd_line(int64_t step, float *d,
                                                                     int64_t n)
{
    if (step == 1) {
        const float t[] = {d[0] - d[2 * n], d[n] + d[2 * n], d[2 * n] - d[n], d[n] - d[3 * n]};
        for (int64_t i = 0; i < 4; i++)
            d[i * n] = t[i];
    } else {
        const float t[] = {d[0] - d[2 * n], d[2 * n], d[4 * n] - d[2 * n], d[n], d[3 * n]};
        for (int64_t i = 0; i < 5; i++)
            d[i * n] = t[i];
    }
}

/* Those of a tile's numbers, of one channel: pixels become them, in the order of rows. */
static inline __attribute__((unused)) void cameo_pixel_winograd_square(int64_t step, float *d)
{
    for (int64_t i = 0; i < step + 3; i++)
        cameo_pixel_winograd_line(step, d + i, step + 3);
    for (int64_t i = 0; i < step + 3; i++)
        cameo_pixel_winograd_line(step, d + (step + 3) * i, 1);
}

/* Channel k of a pixel in the order of what is made of it. */
static inline __attribute__((unused)) float cameo_pixel_winograd_lane(const char *pixel, int full,
                                                                      int64_t k)
{
    enum { HALF = CAMEO_PIXEL_PANEL / 2 };
    uint16_t half;
    float f;
    memcpy(&half, pixel + 2 * (full ? k % HALF * 2 + k / HALF : k), sizeof half);
    const uint32_t u = (uint32_t)half << 16;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* As vectors do it. */
static inline __attribute__((unused)) void cameo_pixel_winograd_make(const cameo_pixel_winograd *c,
                                                                     const char *x, int64_t t0,
                                                                     int64_t t1, char *v)
{
    enum { MOST = CAMEO_PIXEL_SIDE, LANES = CAMEO_PIXEL_PANEL };
    const int64_t apart = cameo_pixel_winograd_apart(c), side = cameo_pixel_winograd_side(c);
    for (int64_t p = 0; p < c->planes; p++, x += c->lines * c->across * CAMEO_PIXEL)
        for (int64_t t = t0; t < t1; t++) {
            const int full = !c->words || p < c->planes - 1;
            float made[MOST * MOST][LANES];
            int64_t lines[MOST], pixels[MOST];
            cameo_pixel_winograd_window(c, t, lines, pixels);
            for (int64_t k = 0; k < LANES; k++) {
                float d[MOST * MOST];
                for (int64_t i = 0; i < side * side; i++)
                    d[i] =
                        cameo_pixel_winograd_lane(x + lines[i / side] + pixels[i % side], full, k);
                cameo_pixel_winograd_square(c->step, d);
                for (int64_t i = 0; i < side * side; i++)
                    made[c->step == 1 ? i : cameo_pixel_winograd_order[i]][k] = d[i];
            }
            char *to = v + (t - t0) * CAMEO_PIXEL + p * apart;
            for (int64_t i = 0; i < side * side; i++)
                cameo_pixel_halves((uint16_t *)(void *)(to + i * c->planes * apart), made[i],
                                   LANES);
        }
}

/* Places of a tile from its sums, which are all of a panel. */
static inline __attribute__((unused)) void cameo_pixel_winograd_places(int64_t step,
                                                                       const float *sums, float *y)
{
    enum { LANES = CAMEO_PIXEL_PANEL };
    const int64_t side = step == 1 ? 4 : 3, next = side * LANES;
    for (int64_t k = 0; k < LANES; k++) {
        float up[4], low[4];
        for (int64_t j = 0; j < side; j++) {
            const float *m = sums + j * LANES + k;
            up[j] = m[0] + m[next] + (step == 1 ? m[2 * next] : 0);
            low[j] = step == 1 ? m[next] - m[2 * next] - m[3 * next] : m[next] + m[2 * next];
        }
        y[k] = up[0] + up[1] + (step == 1 ? up[2] : 0);
        y[LANES + k] = step == 1 ? up[1] - up[2] - up[3] : up[1] + up[2];
        y[2 * LANES + k] = low[0] + low[1] + (step == 1 ? low[2] : 0);
        y[3 * LANES + k] = step == 1 ? low[1] - low[2] - low[3] : low[1] + low[2];
    }
}

/* silu(sum * scale + bias) + added of n places. */
static inline __attribute__((unused)) void
cameo_pixel_winograd_silu(uint16_t *to, const float *sums, int64_t n, const cameo_pixel_ends *e)
{
    enum { LANES = CAMEO_PIXEL_PANEL };
    for (int64_t i = 0; i < n; i++) {
        float y[LANES];
        for (int64_t k = 0; k < LANES; k++) {
            const uint32_t u = e->added ? (uint32_t)e->added[i * LANES + k] << 16 : 0;
            float added;
            memcpy(&added, &u, sizeof added);
            const float x =
                sums[i * LANES + k] * (e->scale ? e->scale[k] : 1) + (e->bias ? e->bias[k] : 0);
            y[k] = x / (1 + expf(-x)) + added;
        }
        cameo_pixel_halves(to + i * LANES, y, LANES);
    }
}

/* The places of a tile to y. */
static inline __attribute__((unused)) void cameo_pixel_winograd_end(const cameo_pixel_winograd *c,
                                                                    const float *sums, int64_t tile,
                                                                    const cameo_pixel_winograd_y *f,
                                                                    const cameo_pixel_ends *e)
{
    enum { LANES = CAMEO_PIXEL_PANEL };
    const int64_t across = (c->row + 1) / 2, i = tile / across * 2, j = tile % across * 2;
    float y[4 * LANES];
    cameo_pixel_winograd_places(c->step, sums, y);
    for (int64_t k = 0; k < 2 && i + k < c->rows; k++) {
        const int64_t n = c->row - j < 2 ? c->row - j : 2, pixel = j * CAMEO_PIXEL;
        uint16_t *to = (uint16_t *)(void *)(f->y + (i + k) * f->down + pixel);
        cameo_pixel_ends ends = *e;
        ends.added = NULL;
        if (f->added)
            ends.added =
                (const uint16_t *)(const void *)(f->added + (i + k) * f->added_down + pixel);
        if (f->silu)
            cameo_pixel_winograd_silu(to, y + 2 * k * LANES, n, &ends);
        else
            cameo_pixel_finish(to, y + 2 * k * LANES, n, &ends);
    }
}

static __attribute__((noinline, unused)) void
cameo_pixel_winograd_panel(const cameo_pixel_winograd *c, const cameo_pixel_winograd_cut *cut,
                           int64_t b, const cameo_pixel_winograd_y *f, const cameo_pixel_ends *e)
{
    enum { LANES = CAMEO_PIXEL_PANEL, TILE = CAMEO_PIXEL_TILE };
    const char *panel = cut->w + b * cameo_pixel_winograd_panel_size(c);
    for (int64_t t = cut->t0; t < cut->t1; t++) {
        const char *v = cut->v + (t - cut->t0) * CAMEO_PIXEL, *w = panel;
        const int64_t *place = cut->places;
        float sums[CAMEO_PIXEL_SUMS * LANES] = {0};
        for (int64_t s = 0; s < cameo_pixel_winograd_all(c); s++)
            for (int64_t p = cameo_pixel_winograd_many(c, s) * c->planes; p > 0; p--, place++)
                for (int64_t i = 0; i < 2 * TILE; i++, w += CAMEO_PIXEL)
                    cameo_pixel_add_halves(v + *place + i % TILE * 4, w,
                                           sums + s * LANES + i / TILE * TILE);
        cameo_pixel_winograd_end(c, sums, t, f, e);
    }
}
#endif

/* Numbers of tiles t0 .. t1 of all, where these are one block, which threads make together. */
static __attribute__((noinline, unused)) void
cameo_pixel_winograd_make_all(const cameo_pixel_winograd *c, const void *x, int64_t t0, int64_t t1,
                              void *v)
{
    cameo_pixel_winograd_make(c, (const char *)x, t0, t1, (char *)v + t0 * CAMEO_PIXEL);
}

/* The least of all units that one of `threads` takes at a time: a block's, for each share makes its
 * tiles, unless that were more than its part. grain: what is worth its while. */
static inline __attribute__((unused)) int64_t
cameo_pixel_winograd_grain(const cameo_pixel_winograd *c, int64_t threads, int64_t grain)
{
    const int64_t units = cameo_pixel_winograd_units(c), part = (units + threads - 1) / threads;
    const int64_t shares = (c->panels + c->each - 1) / c->each,
                  most = shares < part ? shares : part;
    return shares < units && most > grain ? most : grain;
}

/* Before units are done. v: the numbers of all tiles; NULL: units make them. scratch: places of all
 * numbers' planes, sums of a group, and then v if it is not there. */
static __attribute__((noinline, unused)) cameo_pixel_winograd_cut
cameo_pixel_winograd_begin(const cameo_pixel_winograd *c, const void *x, const void *w, void *v,
                           void *scratch)
{
    const int64_t n = cameo_pixel_winograd_numbers(c) * c->planes;
    int64_t *places = (int64_t *)scratch;
    float *sums = (float *)(void *)(places + n);
    for (int64_t s = 0, first = 0, k = 0; s < cameo_pixel_winograd_all(c); s++) {
        const int64_t many = cameo_pixel_winograd_many(c, s);
        for (int64_t i = 0; i < many * c->planes; i++)
            places[k++] =
                ((first + i % many) * c->planes + i / many) * cameo_pixel_winograd_apart(c);
        first += many;
    }
    return (cameo_pixel_winograd_cut){
        .x = (const char *)x,
        .w = (const char *)w,
        .places = places,
        .sums = sums,
        .v = v ? (char *)v : (char *)(sums + CAMEO_PIXEL_BATCH * CAMEO_PIXEL_GROUP),
        .all = v != NULL};
}

/* Unit u: panels of a block, whose tiles are made of x where they were not for the unit before it.
 * Where weights are in no cache of the core, or do not stay there, the next panel comes while one
 * is multiplied; with the last block's panels come those behind all of them, the next kernel's. */
static __attribute__((noinline, unused)) void
cameo_pixel_winograd_unit(const cameo_pixel_winograd *c, cameo_pixel_winograd_cut *cut, int64_t u)
{
    const int64_t shares = (c->panels + c->each - 1) / c->each, block = u / shares;
    const int64_t tiles = cameo_pixel_winograd_tiles(c), size = cameo_pixel_winograd_panel_size(c);
    const int64_t all = c->panels * size, first = !cut->made;
    const int64_t last = block == c->blocks - 1;
    cut->b0 = u % shares * c->each;
    cut->b1 = c->panels - cut->b0 < c->each ? c->panels : cut->b0 + c->each;
    if (cut->made == block + 1)
        return;
    cut->made = block + 1;
    cut->t0 = block * c->most;
    cut->t1 = last ? tiles : cut->t0 + c->most;
    const int64_t next = size < CAMEO_PIXEL_AHEAD ? size : CAMEO_PIXEL_AHEAD;
    cut->ahead = first || all > CAMEO_PIXEL_KEPT ? next : last ? all : 0;
    if (!cut->all)
        cameo_pixel_winograd_make(c, cut->x, cut->t0, cut->t1, cut->v);
}

#endif
