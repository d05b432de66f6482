/* Convolutions on matrix registers, or vectors that multiply words (cameo_words.h), whose x lies in
 * pixels: [planes][lines][pixels][64 bytes], 64 bytes being neighbouring channels of one place. The
 * sum, in float32 or int32, over k of x[place + k] * w[k][m]: places are rows of the first factor,
 * which is read where it lies, channels of the output are columns of the second, which is packed.
 *
 * x has a border that holds what a place outside of it counts as, so that each place of the window
 * is a constant distance. For matrix registers places of the output are counted along the lines of
 * x where a window moves by as much down as across, those behind the end of a row too, whose sums
 * nobody reads; else each row by itself, in whole tiles. 16 of them are a tile. The last one ends
 * with the last place, so that nothing behind x is read: it may begin with places of the one
 * before. For vectors only places of the output are counted. */
#ifndef CAMEO_PIXEL_CONV_H
#define CAMEO_PIXEL_CONV_H

#include "cameo_amx.h"
#include "cameo_pixel_silu.h"
#include "cameo_words.h"

enum {
    CAMEO_PIXEL = 64,         /* bytes of a pixel */
    CAMEO_PIXEL_TILE = 16,    /* places of a tile, words of a pixel */
    CAMEO_PIXEL_PANEL = 32,   /* columns of a panel of weights */
    CAMEO_PIXEL_TILES = 8,    /* that all channels of the output pass together; */
    CAMEO_PIXEL_EXACT = 16,   /* by vectors, whose groups of places begin and end once for each */
    CAMEO_PIXEL_MANY = 64,    /* that a block of them passes */
    CAMEO_PIXEL_KEPT = 524288 /* bytes of weights that stay in a cache from unit to unit */
};

typedef enum cameo_pixel_kind { CAMEO_PIXEL_BF16, CAMEO_PIXEL_U8, CAMEO_PIXEL_S8 } cameo_pixel_kind;

typedef struct cameo_pixel_conv {
    cameo_pixel_kind kind;         /* of x; weights are bfloat16, or bytes with a sign */
    int64_t planes, lines, across; /* of x, pixels of a line */
    int64_t rows, row;             /* of the output */
    int64_t taps[2], stride[2], dilation[2], origin; /* origin: pixels before the first window */
    int64_t blocks, columns; /* blocks of channels of the output, channels of a block */
    int64_t last;            /* panels of the last block that anybody reads */
    int64_t pixel;        /* bytes of one; those after it are read too where it is less than 64 */
    int gathered;         /* x is what cameo_pixel_gather copied */
    int narrow;           /* the only panel has 16 columns that anybody reads */
    int edge;             /* the last panel has no more than 16 channels */
    int half;             /* it has 17 to 24 */
    int64_t whole, words; /* steps of k whose pixels are full, and words of those behind them */
    /* set by cameo_pixel_conv_plan */
    int64_t steps, pitch, places, tiles, step, down;
    int by_blocks;
    int exact; /* vectors multiply: places of the output are counted, and no others */
} cameo_pixel_conv;

/* A turn: two tiles of a block, whose places end with `last`. first: the tile whose sums would
 * stand first where theirs stand. */
typedef struct cameo_pixel_turn {
    int64_t block, tile, last, first;
} cameo_pixel_turn;

/* What is multiplied: from unit u on, up to unit `next`, tiles t0 .. t1 of blocks b0 .. b1. Unit
 * `from` was the first one, and they end before `end`. */
typedef struct cameo_pixel_cut {
    int64_t from, u, next, end, t0, t1, b0, b1;
    const char *x, *w;
    const int64_t *at; /* where the pixels of each step of k begin, in bytes */
    char *sums;        /* of a turn, or of two: for each place those of a block */
    int64_t ahead;     /* bytes to the panels that are asked for meanwhile, 0: none */
    /* where turns overlap: one of those of u is multiplied */
    int64_t half;              /* half: 0 or 1, which half of the sums is its own */
    cameo_pixel_turn turns[2]; /* by halves: nothing is copied, which would wait for its stores */
    /* what is left of it: steps of a panel, panels; what is read and written next, and how many
     * steps are done between two pieces of the turn before it, which has two or more */
    int64_t steps, panels, two, share;
    cameo_amx_rows a;
    const char *b;
    cameo_amx_soon soon;
    int64_t asked; /* bytes between a panel and the first that is asked for */
    char *c;
} cameo_pixel_cut;

/* Do vectors multiply its words, there being no matrix registers? */
static inline __attribute__((always_inline, unused)) int cameo_pixel_exact(cameo_pixel_kind kind)
{
    int has = 0;
#ifdef CAMEO_AMX
    has = cameo_words_has(kind == CAMEO_PIXEL_BF16 ? CAMEO_WORDS_BF16 : CAMEO_WORDS_U8S8);
#endif
    (void)kind;
    return has && !cameo_amx_on();
}

/* sizes: all but what is set here. */
static __attribute__((noinline, unused)) cameo_pixel_conv
cameo_pixel_conv_plan(const cameo_pixel_conv *sizes)
{
    enum { TILE = CAMEO_PIXEL_TILE };
    cameo_pixel_conv c = *sizes;
    const int64_t down = c.stride[0] * c.across, flat = down / c.stride[1];
    const int64_t rows = (c.row + TILE - 1) / TILE, wide = (c.rows - 1) * flat + c.row;
    c.steps = c.planes * c.taps[0] * c.taps[1];
    c.step = c.stride[1] * c.pixel;
    c.down = down * c.pixel;
    c.pitch =
        down % c.stride[1] == 0 && (wide + TILE - 1) / TILE <= c.rows * rows ? flat : rows * TILE;
    c.exact = cameo_pixel_exact(c.kind);
    if (c.gathered) {
        c.step = c.pixel;
        c.down = c.row * c.pixel;
    }
    if (c.gathered || c.exact)
        c.pitch = c.row;
    c.places = (c.rows - 1) * c.pitch + c.row;
    c.tiles = (c.places + TILE - 1) / TILE;
    /* weights are read once then, and x for each block */
    const int64_t weights = c.steps * c.blocks * c.columns * CAMEO_PIXEL;
    const int64_t given = c.planes * c.lines * c.across * c.pixel;
    c.by_blocks = weights > CAMEO_PIXEL_KEPT || weights > 2 * given;
    return c;
}

/* Turns of a block: two tiles, the last one may be a single. */
static inline __attribute__((unused)) int64_t cameo_pixel_turns(const cameo_pixel_conv *c)
{
    return (c->tiles + 1) / 2;
}

/* A unit is a turn, of a block or of all: what threads share is as fine as that, so that their
 * shares of few places are alike. Neighbours that one of them has are done together. */
static inline __attribute__((unused)) int64_t cameo_pixel_units(const cameo_pixel_conv *c)
{
    return cameo_pixel_turns(c) * (c->by_blocks ? c->blocks : 1);
}

/* Where the pixels of place i, j of the window begin in plane p, in bytes behind the first ones. */
static inline __attribute__((unused)) int64_t cameo_pixel_tap(const cameo_pixel_conv *c, int64_t p,
                                                              int64_t i, int64_t j)
{
    return ((p * c->lines + i * c->dilation[0]) * c->across + j * c->dilation[1]) * c->pixel;
}

/* Steps from .. to of k: the pixels of all places, one behind another. */
static __attribute__((noinline, unused)) void
cameo_pixel_gather(const cameo_pixel_conv *c, const void *x, int64_t from, int64_t to, void *copy)
{
    char *y = (char *)copy + from * c->places * CAMEO_PIXEL;
    for (int64_t k = from; k < to; k++) {
        const int64_t taps = c->taps[0] * c->taps[1], tap = k % taps;
        const char *first = (const char *)x + c->origin * c->pixel +
                            cameo_pixel_tap(c, k / taps, tap / c->taps[1], tap % c->taps[1]);
        for (int64_t r = 0; r < c->rows; r++)
            for (int64_t i = 0; i < c->row; i++, y += CAMEO_PIXEL)
                memcpy(y, first + (r * c->stride[0] * c->across + i * c->stride[1]) * c->pixel,
                       CAMEO_PIXEL);
    }
}

/* Before units are done: where the pixels of each step lie. at: room for c->steps. */
static __attribute__((noinline, unused)) cameo_pixel_cut
cameo_pixel_begin(const cameo_pixel_conv *c, const void *x, const void *w, int64_t *at, void *sums)
{
    int64_t n = 0;
    for (int64_t p = 0; p < c->planes; p++)
        for (int64_t i = 0; i < c->taps[0]; i++)
            for (int64_t j = 0; j < c->taps[1]; j++, n++)
                at[n] = c->gathered ? n * c->places * c->pixel : cameo_pixel_tap(c, p, i, j);
    const int64_t origin = c->gathered ? 0 : c->origin * c->pixel;
#ifdef CAMEO_AMX
    if (cameo_amx_on())
        cameo_amx_begin();
#endif
    return (cameo_pixel_cut){
        .x = (const char *)x + origin, .w = (const char *)w, .at = at, .sums = (char *)sums};
}

static inline __attribute__((unused)) void cameo_pixel_end(void)
{
#ifdef CAMEO_AMX
    if (cameo_amx_on())
        cameo_amx_end();
#endif
}

/* Unit cut->u and those behind it that are done with it. Where it is the first one of a thread,
 * weights are in no cache of its core. Those of the next block come while one is multiplied for the
 * first time, and when all are done for the last time what lies behind them: the next kernel's. */
static __attribute__((noinline, unused)) void cameo_pixel_unit(const cameo_pixel_conv *c,
                                                               cameo_pixel_cut *cut)
{
    const int64_t together = c->exact ? CAMEO_PIXEL_EXACT : CAMEO_PIXEL_TILES;
    const int64_t u = cut->u, most = (c->by_blocks ? CAMEO_PIXEL_MANY : together) / 2;
    const int64_t turns = cameo_pixel_turns(c), turn = u % turns;
    const int64_t some = cut->end - u < most ? cut->end - u : most;
    const int64_t after = turn + some < turns ? turn + some : turns;
    const int64_t block = c->steps * c->columns * CAMEO_PIXEL;
    cut->next = u + after - turn;
    cut->b0 = c->by_blocks ? u / turns : 0;
    cut->b1 = c->by_blocks ? cut->b0 + 1 : c->blocks;
    cut->t0 = 2 * turn;
    cut->t1 = 2 * after < c->tiles ? 2 * after : c->tiles;
    cut->ahead = u == cut->from || c->by_blocks ? block : after == turns ? c->blocks * block : 0;
}

/* Places before those of tile t that it has too. */
static inline __attribute__((unused)) int64_t cameo_pixel_again(const cameo_pixel_conv *c,
                                                                int64_t t)
{
    const int64_t beyond = (t + 1) * CAMEO_PIXEL_TILE - c->places;
    return beyond > 0 && !c->exact ? beyond : 0;
}

/* Where the first pixel of tile t lies. */
static inline __attribute__((unused)) const char *
cameo_pixel_tile(const cameo_pixel_conv *c, const cameo_pixel_cut *cut, int64_t t)
{
    const int64_t place = t * CAMEO_PIXEL_TILE, line = place / c->pitch;
    return cut->x + line * c->down + (place - line * c->pitch - cameo_pixel_again(c, t)) * c->step;
}

/* all[j] += what a word of x adds with 16 words of weights. */
static inline __attribute__((unused)) void cameo_pixel_add_halves(const char *a, const char *b,
                                                                  float *all)
{
    uint32_t x, w[CAMEO_PIXEL_TILE];
    memcpy(&x, a, sizeof x);
    memcpy(w, b, sizeof w);
    const uint32_t low = x << 16, high = x & 0xffff0000u;
    float even, odd;
    memcpy(&even, &low, sizeof even);
    memcpy(&odd, &high, sizeof odd);
    for (int j = 0; j < CAMEO_PIXEL_TILE; j++) {
        const uint32_t first = w[j] << 16, second = w[j] & 0xffff0000u;
        float v0, v1;
        memcpy(&v0, &first, sizeof v0);
        memcpy(&v1, &second, sizeof v1);
        all[j] += even * v0 + odd * v1;
    }
}

static inline __attribute__((unused)) void
cameo_pixel_add_bytes(const char *a, const char *b, cameo_pixel_kind kind, uint32_t *all)
{
    for (int t = 0; t < 4; t++) {
        const int32_t x = kind == CAMEO_PIXEL_U8 ? (uint8_t)a[t] : (int8_t)a[t];
        for (int j = 0; j < CAMEO_PIXEL_TILE; j++)
            all[j] += (uint32_t)(x * (int8_t)b[4 * j + t]);
    }
}

/* 16 places times a panel without matrix registers. */
static __attribute__((noinline, unused)) void cameo_pixel_plain(const cameo_pixel_conv *c,
                                                                const cameo_pixel_cut *cut,
                                                                const char *x, const char *w,
                                                                char *sums, int64_t next)
{
    enum { TILE = CAMEO_PIXEL_TILE };
    for (int64_t i = 0; i < TILE; i++, x += c->step, sums += next) {
        float all[CAMEO_PIXEL_PANEL] = {0};
        uint32_t whole[CAMEO_PIXEL_PANEL] = {0};
        const char *b = w;
        for (int64_t k = 0; k < c->steps; k++)
            for (int half = 0; half < 2; half++)
                for (const char *a = x + cut->at[k], *end = a + CAMEO_PIXEL; a < end; a += 4) {
                    if (c->kind == CAMEO_PIXEL_BF16)
                        cameo_pixel_add_halves(a, b, all + half * TILE);
                    else
                        cameo_pixel_add_bytes(a, b, c->kind, whole + half * TILE);
                    b += CAMEO_PIXEL;
                }
        memcpy(sums, c->kind == CAMEO_PIXEL_BF16 ? (const void *)all : (const void *)whole,
               sizeof all);
    }
}

#ifdef CAMEO_AMX
/* The tiles of a kind: a program has those of its convolutions. */
static inline __attribute__((unused))
cameo_amx_tile *const (*cameo_pixel_tiles(cameo_pixel_kind kind))[2]
{
    switch (kind) {
#ifdef CAMEO_AMX_bf16_placed
    case CAMEO_PIXEL_BF16:
        return cameo_amx_bf16_placed;
#endif
#ifdef CAMEO_AMX_u8s8_placed
    case CAMEO_PIXEL_U8:
        return cameo_amx_u8s8_placed;
#endif
#ifdef CAMEO_AMX_s8s8_placed
    case CAMEO_PIXEL_S8:
        return cameo_amx_s8s8_placed;
#endif
    default:
        return NULL;
    }
}

/* Those of vectors; NULL: the processor has no such instruction. */
static inline __attribute__((unused)) const cameo_words_table *
cameo_pixel_words(cameo_pixel_kind kind)
{
    switch (kind) {
#ifdef CAMEO_AMX_bf16_placed
    case CAMEO_PIXEL_BF16:
        return CAMEO_WORDS_OF(BF16, cameo_words_bf16_placed);
#endif
#ifdef CAMEO_AMX_u8s8_placed
    case CAMEO_PIXEL_U8:
        return CAMEO_WORDS_OF(U8S8, cameo_words_u8s8_placed);
#endif
#ifdef CAMEO_AMX_s8s8_placed
    case CAMEO_PIXEL_S8:
        return CAMEO_WORDS_OF(S8S8, cameo_words_s8s8_placed);
#endif
    default:
        return NULL;
    }
}

/* Rows of places `place` to `last`, and of the last one again for a group that has more. */
static inline __attribute__((unused)) void cameo_pixel_rows(const cameo_pixel_conv *c,
                                                            const char *x, int64_t place,
                                                            int64_t last, const char **rows)
{
    const int64_t n = last - place;
    int64_t across = place % c->row;
    const char *at = x + place / c->row * c->down + across * c->step;
    for (int64_t i = 0; i < n; i++) {
        rows[i] = at;
        at += c->step;
        if (++across == c->row) {
            across = 0;
            at += c->down - c->row * c->step;
        }
    }
    for (int64_t i = n; i < n + 3; i++)
        rows[i] = rows[n - 1];
}

/* Those of columns behind the last channel. */
static inline __attribute__((unused)) void cameo_pixel_none(char *sums, int64_t n, int64_t next)
{
    for (int64_t i = 0; i < n; i++, sums += next)
        memset(sums, 0, 4 * CAMEO_PIXEL_TILE);
}

/* The sums of tiles t and t + 1, as far as the cut has them, by vectors. */
static __attribute__((noinline, unused)) void cameo_pixel_word_sums(const cameo_pixel_conv *c,
                                                                    const cameo_pixel_cut *cut,
                                                                    int64_t b, int64_t t, char *to)
{
    enum { PANEL = CAMEO_PIXEL_PANEL, LINE = 4 * PANEL, TILE = CAMEO_PIXEL_TILE };
    const char *rows[2 * TILE + 3];
    const int64_t panels = c->columns / PANEL, read = b == c->blocks - 1 ? c->last : panels;
    const int64_t size = c->steps * TILE * LINE, next = 4 * c->columns;
    const int64_t after = (t + 2 < cut->t1 ? t + 2 : cut->t1) * TILE;
    const int64_t last = after < c->places ? after : c->places, n = last - t * TILE;
    const int64_t turns = (cut->t1 - cut->t0 + 1) / 2, turn = (t - cut->t0) / 2;
    const int64_t lines = cut->ahead ? size / CAMEO_AMX_LINE : 0;
    const cameo_words_steps steps = {c->steps, c->whole, c->words, cut->at, 0};
    const cameo_words_table *groups = cameo_pixel_words(c->kind);
    const char *w = cut->w + b * panels * size;
    cameo_words_panel panel = {w, LINE * TILE, LINE / 2, LINE * TILE / 2, w + cut->ahead, 0};
    cameo_pixel_rows(c, cut->x, t * TILE, last, rows);
    for (int64_t p = 0; p < read; p++, panel.at += size, panel.next += size) {
        char *sums = to + p * LINE;
        const int64_t edge = c->edge && b == c->blocks - 1 && p == read - 1;
        const int64_t vectors = c->narrow || edge ? 1 : 2;
        cameo_words_vector less[2] = {{0}};
        if (c->kind == CAMEO_PIXEL_S8)
            cameo_words_less(&steps, vectors, &panel, less);
        cameo_words_rows(groups, &steps, n, rows, vectors, &panel, lines, turn, turns, sums, next,
                         less);
        if (edge && !c->narrow)
            cameo_pixel_none(sums + LINE / 2, n, next);
    }
}
#endif

/* The sums of tile t, and of the next one if the cut has it, in block b. */
static __attribute__((noinline, unused)) void
cameo_pixel_sums(const cameo_pixel_conv *c, const cameo_pixel_cut *cut, int64_t b, int64_t t)
{
    enum { PANEL = CAMEO_PIXEL_PANEL, LINE = 4 * PANEL };
    const int64_t panels = c->columns / PANEL, read = b == c->blocks - 1 ? c->last : panels;
    const int64_t size = c->steps * CAMEO_PIXEL_TILE * LINE;
    const int64_t next = 4 * c->columns, two = t + 1 < cut->t1;
    const char *x = cameo_pixel_tile(c, cut, t), *w = cut->w + b * panels * size;
    const char *second = two ? cameo_pixel_tile(c, cut, t + 1) : x;
#ifdef CAMEO_AMX
    if (c->exact) {
        cameo_pixel_word_sums(c, cut, b, t, cut->sums);
        return;
    }
#endif
    for (int64_t p = 0; p < read; p++, w += size) {
        char *sums = cut->sums + p * LINE;
#ifdef CAMEO_AMX
        if (cameo_amx_on()) {
            /* the next panel is asked for while this one meets its tiles, each line once */
            const int64_t turns = (cut->t1 - cut->t0 + 1) / 2, turn = (t - cut->t0) / 2;
            const int64_t lines = cut->ahead ? size / CAMEO_AMX_LINE : 0;
            const cameo_amx_rows a = {x, c->step, 0, second - x, cut->at};
            const cameo_amx_soon soon =
                cameo_amx_soon_of(w + cut->ahead, lines, c->steps, turn, turns);
            cameo_pixel_tiles(c->kind)[two][!c->narrow](c->steps, &a, w, CAMEO_AMX_LINE, &soon,
                                                        sums, next, 0);
            continue;
        }
#endif
        cameo_pixel_plain(c, cut, x, w, sums, next);
        if (two)
            cameo_pixel_plain(c, cut, second, w, sums + CAMEO_PIXEL_TILE * next, next);
    }
}

/* ---- turns that overlap: pieces of one are finished between steps of the next one. Registers of
 * tiles and of vectors work side by side where what follows one another is neither all for the ones
 * nor all for the others. ---- */

/* Before the first step of a panel. */
static inline __attribute__((unused)) void cameo_pixel_begin_panel(const cameo_pixel_conv *c,
                                                                   cameo_pixel_cut *cut)
{
    cut->steps = c->steps;
    cut->a.places = cut->at;
    cut->soon.at = cut->b + cut->asked;
}

/* Tiles from `tile` on of a block are multiplied next. */
static inline __attribute__((unused)) void
cameo_pixel_begin_turn(const cameo_pixel_conv *c, cameo_pixel_cut *cut, int64_t block, int64_t tile)
{
    enum { PANEL = CAMEO_PIXEL_PANEL, LINE = 4 * PANEL };
    cameo_pixel_turn *turn = &cut->turns[cut->half];
    const int64_t after = tile + 2 < cut->t1 ? tile + 2 : cut->t1;
    const int64_t last = after * CAMEO_PIXEL_TILE, panels = c->columns / PANEL;
    turn->block = block;
    turn->tile = tile;
    turn->last = last < c->places ? last : c->places;
    turn->first = tile - 2 * cut->half;
    cut->two = tile + 1 < cut->t1;
    cut->a.at = cameo_pixel_tile(c, cut, tile);
    cut->a.row = c->step;
    cut->a.tile = cut->two ? cameo_pixel_tile(c, cut, tile + 1) - cut->a.at : 0;
    cut->b = cut->w + block * panels * c->steps * CAMEO_PIXEL_TILE * LINE;
    cut->c = cut->sums + cut->half * 2 * CAMEO_PIXEL_TILE * 4 * c->columns;
    cut->panels = block == c->blocks - 1 ? c->last : panels;
    cut->share = (cut->panels * c->steps + 1) / 2;
#ifdef CAMEO_AMX
    /* the next panel is asked for while this one meets its tiles, each line once */
    const int64_t lines = cut->ahead ? c->steps * LINE / 4 : 0;
    const int64_t turns = (cut->t1 - cut->t0 + 1) / 2;
    cut->soon = cameo_amx_soon_of(cut->b, lines, c->steps, (tile - cut->t0) / 2, turns);
    cut->asked = cut->ahead + (cut->soon.at - cut->b);
#endif
    cameo_pixel_begin_panel(c, cut);
}

/* The next n steps of a panel. Sums are stored behind the last one. */
static inline __attribute__((unused)) void cameo_pixel_steps(const cameo_pixel_conv *c,
                                                             cameo_pixel_cut *cut, int64_t n)
{
    const int64_t next = 4 * c->columns;
    const char *b = cut->b;
    cut->b += n * 2 * CAMEO_PIXEL_TILE * CAMEO_PIXEL;
#ifdef CAMEO_AMX
    if (cameo_amx_on()) {
        char *sums = n == cut->steps ? cut->c : NULL;
        cameo_pixel_tiles(c->kind)[cut->two][!c->narrow](n, &cut->a, b, CAMEO_AMX_LINE, &cut->soon,
                                                         sums, next, cut->steps < c->steps);
        cut->steps -= n;
        cut->a.places += n;
        cut->soon.at += n * cut->soon.each * CAMEO_AMX_LINE;
        return;
    }
#endif
    cameo_pixel_plain(c, cut, cut->a.at, b, cut->c, next);
    if (cut->two)
        cameo_pixel_plain(c, cut, cut->a.at + cut->a.tile, b, cut->c + CAMEO_PIXEL_TILE * next,
                          next);
    cut->steps -= n;
}

/* Up to n steps of those that are left of a turn. Without matrix registers whole panels, or all. */
static __attribute__((noinline, unused)) void cameo_pixel_some(const cameo_pixel_conv *c,
                                                               cameo_pixel_cut *cut, int64_t n)
{
#ifdef CAMEO_AMX
    if (c->exact && n > 0 && cut->panels > 0) {
        const cameo_pixel_turn *turn = &cut->turns[cut->half];
        cameo_pixel_word_sums(c, cut, turn->block, turn->tile, cut->c);
        cut->panels = 0;
    }
#endif
    while (n > 0 && cut->panels > 0) {
        const int64_t some = n < cut->steps && cameo_amx_on() ? n : cut->steps;
        cameo_pixel_steps(c, cut, some);
        n -= some;
        if (cut->steps > 0)
            continue;
        cut->c += 4 * CAMEO_PIXEL_PANEL;
        cut->panels--;
        cameo_pixel_begin_panel(c, cut);
    }
}

/* Units from .. end: their first turn begins. */
static __attribute__((noinline, unused)) void
cameo_pixel_start(const cameo_pixel_conv *c, cameo_pixel_cut *cut, int64_t from, int64_t end)
{
    cut->from = cut->u = from;
    cut->end = end;
    cut->panels = cut->half = 0;
    if (from == end)
        return;
    cameo_pixel_unit(c, cut);
    cameo_pixel_begin_turn(c, cut, cut->b0, cut->t0);
}

/* Ends a turn, whose sums are then there, and begins the one behind it. NULL: there is none. */
static __attribute__((noinline, unused)) const cameo_pixel_turn *
cameo_pixel_next(const cameo_pixel_conv *c, cameo_pixel_cut *cut)
{
    const cameo_pixel_turn *done = &cut->turns[cut->half];
    int64_t block = done->block, tile = done->tile + 2;
    if (cut->u == cut->end)
        return NULL;
    cameo_pixel_some(c, cut, cut->panels * c->steps);
    cut->half ^= 1;
    if (tile >= cut->t1) {
        tile = cut->t0;
        block++;
    }
    if (block == cut->b1 && (cut->u = cut->next) < cut->end) {
        cameo_pixel_unit(c, cut);
        block = cut->b0;
        tile = cut->t0;
    }
    if (cut->u < cut->end)
        cameo_pixel_begin_turn(c, cut, block, tile);
    return done;
}

/* n floats, a multiple of 32, rounded to bfloat16. */
static inline __attribute__((unused)) void cameo_pixel_halves(uint16_t *restrict to,
                                                              const float *restrict from, int64_t n)
{
#if defined(__AVX512BF16__) && defined(__x86_64__)
    typedef float cameo_floats __attribute__((vector_size(64), aligned(4), may_alias));
    typedef uint16_t cameo_halves __attribute__((vector_size(64), aligned(2), may_alias));
    for (int64_t i = 0; i < n; i += 32) {
        const cameo_floats a = *(const cameo_floats *)(from + i);
        const cameo_floats b = *(const cameo_floats *)(from + i + 16);
        cameo_halves both;
        __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(both) : "v"(a), "v"(b));
        *(cameo_halves *)(to + i) = both;
    }
#else
    for (int64_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, from + i, sizeof u);
        const uint32_t nan = (u >> 16 & 0x8000) | 0x7fc0;
        to[i] =
            (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? nan : (u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
#endif
}

/* y[k * apart + i] = from[i * columns + k], rounded to bfloat16, for i below n and k below
 * channels; n is 32 at most, and columns are 32. */
static __attribute__((noinline, unused)) void
cameo_pixel_planes_bf16(uint16_t *restrict y, int64_t apart, const float *restrict from,
                        int64_t columns, int64_t channels, int64_t n)
{
    uint16_t halves[CAMEO_PIXEL_PANEL * CAMEO_PIXEL_PANEL];
    cameo_pixel_halves(halves, from, n * columns);
    for (int64_t k = 0; k < channels; k++)
        for (int64_t i = 0; i < n; i++)
            y[k * apart + i] = halves[i * columns + k];
}

/* The first `lanes` of 32 numbers, a multiple of 16, of each of n places, rounded to bfloat16. */
static inline __attribute__((unused)) void
cameo_pixel_parts(uint16_t *restrict to, const float *restrict from, int64_t n, int64_t lanes)
{
    for (; n > 0; n--, to += CAMEO_PIXEL_PANEL, from += CAMEO_PIXEL_PANEL) {
#if defined(__AVX512BF16__) && defined(__x86_64__)
        typedef float cameo_floats __attribute__((vector_size(64), aligned(4), may_alias));
        typedef uint16_t cameo_bits16 __attribute__((vector_size(32), aligned(2), may_alias));
        for (int64_t i = 0; i < lanes; i += 16) {
            cameo_bits16 some;
            __asm__("vcvtneps2bf16 %1, %0" : "=v"(some) : "v"(*(const cameo_floats *)(from + i)));
            *(cameo_bits16 *)(to + i) = some;
        }
#else
        cameo_pixel_halves(to, from, lanes);
#endif
    }
}

/* Of a block of 32 channels; NULL: factors of 1, nothing added. added: those of each place. */
typedef struct cameo_pixel_ends {
    const float *scale, *bias;
    const uint16_t *added;
    const float *by;
    float low, high;
} cameo_pixel_ends;

/* `to` may be where e->added is.
 * min(max(sum * scale + bias + added * by, low), high) of n places, as bfloat16; NaN stays NaN. */
static __attribute__((noinline, unused)) void
cameo_pixel_finish(uint16_t *to, const float *restrict sums, int64_t n, const cameo_pixel_ends *e)
{
    enum { LANES = CAMEO_PIXEL_PANEL };
#if defined(__AVX512BF16__) && defined(__x86_64__)
    typedef float cameo_floats __attribute__((vector_size(64), aligned(4), may_alias));
    typedef uint32_t cameo_words __attribute__((vector_size(64), aligned(2), may_alias));
    typedef uint16_t cameo_bits16 __attribute__((vector_size(32), aligned(2), may_alias));
    typedef uint16_t cameo_halves __attribute__((vector_size(64), aligned(2), may_alias));
    const cameo_floats zero = {0}, low = zero + e->low, high = zero + e->high;
    cameo_floats s0 = zero + 1, s1 = s0, b0 = zero, b1 = zero, by0 = s0, by1 = s0;
    if (e->scale) {
        s0 = *(const cameo_floats *)e->scale;
        s1 = *(const cameo_floats *)(e->scale + 16);
    }
    if (e->bias) {
        b0 = *(const cameo_floats *)e->bias;
        b1 = *(const cameo_floats *)(e->bias + 16);
    }
    if (e->by) {
        by0 = *(const cameo_floats *)e->by;
        by1 = *(const cameo_floats *)(e->by + 16);
    }
    for (int64_t i = 0; i < n; i++, sums += LANES, to += LANES) {
        cameo_floats x = *(const cameo_floats *)sums * s0 + b0;
        cameo_floats y = *(const cameo_floats *)(sums + 16) * s1 + b1;
        if (e->added) {
            const uint16_t *added = e->added + i * LANES;
            const cameo_words u =
                __builtin_convertvector(*(const cameo_bits16 *)added, cameo_words);
            const cameo_words v =
                __builtin_convertvector(*(const cameo_bits16 *)(added + 16), cameo_words);
            x += (cameo_floats)(u << 16) * by0;
            y += (cameo_floats)(v << 16) * by1;
        }
        cameo_halves both; /* of two operands of which one is NaN these give the second */
        __asm__("vmaxps %1, %2, %0" : "=v"(x) : "v"(x), "v"(low));
        __asm__("vmaxps %1, %2, %0" : "=v"(y) : "v"(y), "v"(low));
        __asm__("vminps %1, %2, %0" : "=v"(x) : "v"(x), "v"(high));
        __asm__("vminps %1, %2, %0" : "=v"(y) : "v"(y), "v"(high));
        __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(both) : "v"(x), "v"(y));
        *(cameo_halves *)to = both;
    }
#else
    for (int64_t i = 0; i < n; i++, sums += LANES, to += LANES) {
        float x[LANES];
        for (int j = 0; j < LANES; j++) {
            uint32_t u = e->added ? (uint32_t)e->added[i * LANES + j] << 16 : 0;
            float v;
            memcpy(&v, &u, sizeof v);
            v = sums[j] * (e->scale ? e->scale[j] : 1) + (e->bias ? e->bias[j] : 0) +
                (e->by ? v * e->by[j] : v);
            v = v < e->low ? e->low : v;
            x[j] = v > e->high ? e->high : v;
        }
        cameo_pixel_halves(to, x, LANES);
    }
#endif
}

#ifdef CAMEO_PIXEL_SILU
#define CAMEO_PIXEL_LANES 1 /* channels that are not there are no sums */

/* Vector i of a place; scale and bias by CAMEO_PIXEL_SILU_BY. */
static inline __attribute__((unused)) cameo_pixel_floats
cameo_pixel_silu_sum(const float *sums, int64_t i, const cameo_pixel_floats *scale,
                     const cameo_pixel_floats *bias, const uint16_t *added)
{
    typedef uint32_t cameo_words __attribute__((vector_size(64), aligned(2), may_alias));
    const cameo_pixel_floats s = *(const cameo_pixel_floats *)(sums + 16 * i);
    const cameo_pixel_floats y = cameo_pixel_silu_of(cameo_pixel_muladd(s, scale[i], bias[i]));
    if (!added)
        return y;
    const cameo_words x =
        __builtin_convertvector(*(const cameo_pixel_half *)(added + 16 * i), cameo_words);
    return y + (cameo_pixel_floats)(x << 16);
}

/* silu(sum * scale + bias) + added of n places, as bfloat16, of the first `lanes` channels, 16 or
 * 32; fill: the others are 0, else they are left. */
static __attribute__((noinline, unused)) void cameo_pixel_silu(uint16_t *to,
                                                               const float *restrict sums,
                                                               int64_t n, int64_t lanes, int fill,
                                                               const cameo_pixel_ends *e)
{
    enum { LANES = CAMEO_PIXEL_PANEL };
    typedef uint16_t cameo_halves __attribute__((vector_size(64), aligned(2), may_alias));
    const cameo_pixel_floats zero = {0};
    cameo_pixel_floats scale[2] = {zero + 1, zero + 1}, bias[2] = {zero, zero};
    for (int i = 0; i < 2; i++) {
        if (e->scale)
            scale[i] = *(const cameo_pixel_floats *)(e->scale + 16 * i);
        if (e->bias)
            bias[i] = *(const cameo_pixel_floats *)(e->bias + 16 * i);
        scale[i] *= CAMEO_PIXEL_SILU_BY;
        bias[i] *= CAMEO_PIXEL_SILU_BY;
    }
    for (int64_t i = 0; i < n; i++, sums += LANES, to += LANES) {
        const uint16_t *added = e->added ? e->added + i * LANES : NULL;
        const cameo_pixel_floats x = cameo_pixel_silu_sum(sums, 0, scale, bias, added);
        if (lanes == LANES || fill) {
            const cameo_pixel_floats y =
                lanes == LANES ? cameo_pixel_silu_sum(sums, 1, scale, bias, added) : zero;
            cameo_halves both;
            __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(both) : "v"(x), "v"(y));
            *(cameo_halves *)to = both;
        } else {
            cameo_pixel_half some;
            __asm__("vcvtneps2bf16 %1, %0" : "=v"(some) : "v"(x));
            *(cameo_pixel_half *)to = some;
        }
    }
}
#else
#define CAMEO_PIXEL_LANES 0
#endif

/* Where the places of tiles t and t + 1 of a cut end. */
static inline __attribute__((unused)) int64_t
cameo_pixel_last(const cameo_pixel_conv *c, const cameo_pixel_cut *cut, int64_t t)
{
    const int64_t last = (t + 2 < cut->t1 ? t + 2 : cut->t1) * CAMEO_PIXEL_TILE;
    return last < c->places ? last : c->places;
}

/* From `place` on: elements low .. high of row *row of the output, whose sums are those of places
 * *at + low ..., the first ones being tile t's. The place after them. (Of every kernel's text: a
 * call takes less than a row's elements, and copies would be most of what kernels are.) */
static __attribute__((noinline, unused)) int64_t cameo_pixel_piece(const cameo_pixel_conv *c,
                                                                   int64_t t, int64_t place,
                                                                   int64_t *row, int64_t *low,
                                                                   int64_t *high, int64_t *at)
{
    const int64_t tile = place / CAMEO_PIXEL_TILE, line = place / c->pitch;
    const int64_t across = place - line * c->pitch;
    const int64_t end = c->exact ? tile / 2 * 2 + 2 : tile + 1; /* where sums begin anew */
    const int64_t fits = end * CAMEO_PIXEL_TILE - place;
    const int64_t some = c->pitch - across < fits ? c->pitch - across : fits;
    *row = line;
    *low = across < c->row ? across : c->row;
    *high = across + some < c->row ? across + some : c->row;
    *at = place - t * CAMEO_PIXEL_TILE + cameo_pixel_again(c, tile) - across;
    return place + some;
}

#endif
