/* Chains (cameo_chain.h) whose products go by three terms of bfloat16 for each number
 * (cameo_split_conv.h). Of a band x of the first product is taken apart once, for all planes; those
 * that the windows wrote beside the last product's own products. Weights are taken apart once for a
 * share of bands, and stay in the second cache.
 *
 * A place's sums are made of its own column of x alone, so that they depend neither on the band nor
 * on the columns done with it; those of a column that are not finite, as they are where x is not or
 * rounds to an infinity in bfloat16, are done again in float32. */
#ifndef CAMEO_CHAIN_TERMS_H
#define CAMEO_CHAIN_TERMS_H

#include "cameo_chain.h"
#include "cameo_split_conv.h"

enum { CAMEO_CHAIN_SIDE = CAMEO_SPLIT_SIDE }; /* planes that are widened at a time */

/* Room of a thread, each at a line of the cache. */
typedef struct cameo_chain_terms {
    char *weights[2]; /* terms of the first product's and of the last one's */
    char *next;       /* of two times 32 columns of what the last one reads */
    char *plain;      /* CAMEO_SPLIT_PLAIN bytes */
    char *x;          /* terms of a band of x */
} cameo_chain_terms;

/* Bytes of terms of rows, or columns, in whole squares by k values of k. */
static inline __attribute__((unused)) int64_t cameo_chain_apart(int64_t rows, int64_t k)
{
    enum { SIDE = CAMEO_SPLIT_SIDE };
    return 6 * ((rows + SIDE - 1) / SIDE * SIDE) * ((k + SIDE - 1) / SIDE * SIDE);
}

/* k values of k of the first product; 0: there is none. */
static inline __attribute__((unused)) void cameo_chain_terms_plan(const cameo_chain *c, int64_t k,
                                                                  char *room, cameo_chain_terms *t)
{
    const cameo_conv *last = c->project.sizes;
    t->weights[0] = room;
    t->weights[1] = room + (k ? cameo_chain_apart(c->expand.sizes->rows, k) : 0);
    t->next = t->weights[1] + cameo_chain_apart(last->rows, last->channels);
    t->plain = t->next + cameo_chain_apart(2 * CAMEO_SPLIT_SIDE, last->channels);
    const float *end = c->copy + CAMEO_CONV_SLACK;
    if (k)
        end += cameo_chain_copied(c->expand.sizes, c->windows.sizes, c->bands);
    t->x = room + ((const char *)end - room + 63) / 64 * 64;
}

#ifdef CAMEO_AMX

/* All weights of a product. */
static inline __attribute__((unused)) void cameo_chain_terms_weights(const cameo_split_conv *c,
                                                                     char *to)
{
    const cameo_split_deep k = cameo_split_conv_deep(c, 0);
    for (int64_t m = 0; m < c->rows; m += CAMEO_SPLIT_SIDE) {
        cameo_split_feed f = cameo_split_conv_w(c, &k, m, 1, to + 6 * m * k.deep);
        cameo_split_turns(&f);
    }
}

/* The columns again whose sums are not all finite, of the square that went to y. */
static __attribute__((noinline, unused)) void cameo_chain_terms_again(const cameo_split_ends *e)
{
    const cameo_split_square *s = &e->square;
    const int64_t lds = (s->width + 15) / 16 * 16;
    for (int64_t x = 0; x < s->width; x++) {
        float any = 0.0f;
        for (int64_t r = 0; r < s->rows; r++)
            any += 0.0f * e->sums[1 - e->now][r * lds + x];
        if (!(any == 0.0f))
            cameo_split_conv_plain(e->c, s->m, s->m + s->rows, s->n + x, s->n + x + 1);
    }
}

/* What is left of a square to y. */
static inline __attribute__((unused)) void cameo_chain_terms_end(cameo_split_ends *e)
{
    if (e->goal.sums && !cameo_split_conv_ended(e))
        cameo_chain_terms_again(e);
}

/* A square of the terms at a and b. */
static inline __attribute__((always_inline)) void
cameo_chain_terms_sum(cameo_split_ends *e, const cameo_split_deep *k, const cameo_split_square *s,
                      const char *a, const char *b, cameo_split_feed *f)
{
    cameo_split_conv_multiply(e, k, s, a, b, f);
    cameo_chain_terms_end(e);
    cameo_split_conv_goal(e, s);
}

/* Columns first .. last of rows from .. to of the first product; terms of x from the first one on.
 */
static __attribute__((noinline, unused)) CAMEO_SPLIT_WHOLE void
cameo_chain_terms_widen(const cameo_split_conv *c, const cameo_chain_terms *t, int64_t from,
                        int64_t to, int64_t first, int64_t last)
{
    enum { SIDE = CAMEO_SPLIT_SIDE };
    const cameo_split_deep k = cameo_split_conv_deep(c, 0);
    cameo_split_ends ends;
    cameo_split_conv_ends(&ends, c);
    for (int64_t n = first; n < last; n += SIDE) {
        cameo_split_feed f = {.turns = 1};
        const cameo_split_square s = {from, to - from, n, last - n < SIDE ? last - n : SIDE, 0, 1};
        cameo_chain_terms_sum(&ends, &k, &s, t->weights[0] + 6 * from * k.deep,
                              t->x + 6 * (n - first) * k.deep, &f);
    }
    cameo_chain_terms_end(&ends);
}

/* Terms of columns first .. last of x. */
static __attribute__((noinline, unused)) CAMEO_SPLIT_WHOLE void
cameo_chain_terms_x(const cameo_split_conv *c, const cameo_chain_terms *t, int64_t first,
                    int64_t last)
{
    enum { SIDE = CAMEO_SPLIT_SIDE };
    const cameo_split_deep k = cameo_split_conv_deep(c, 0);
    for (int64_t n = first; n < last; n += SIDE) {
        cameo_split_feed f =
            cameo_split_conv_x(c, &k, n, last - n < SIDE ? last - n : SIDE, 1,
                               (float *)(void *)t->plain, t->x + 6 * (n - first) * k.deep);
        cameo_split_turns(&f);
    }
}

/* Columns n0 .. n1 of the last product; planes that fill up the last values of k hold zeros. */
static __attribute__((noinline, unused)) CAMEO_SPLIT_WHOLE void
cameo_chain_terms_columns(const cameo_split_conv *c, const cameo_chain_terms *t, int64_t n0,
                          int64_t n1)
{
    enum { SIDE = CAMEO_SPLIT_SIDE };
    const cameo_split_deep k = cameo_split_conv_deep(c, 0);
    char *b[2] = {t->next, t->next + 6 * SIDE * k.deep};
    const int64_t channel = c->v->channel, steps = k.deep / 32;
    cameo_split_feed f = cameo_split_conv_feed(&k, c->v->x + n0, n1 - n0 > 16, channel, 1, b[0]);
    cameo_split_turns(&f);
    cameo_split_ends ends;
    cameo_split_conv_ends(&ends, c);
    int now = 0;
    for (int64_t n = n0, end; n < n1; n = end, now = 1 - now) {
        end = n1 - n < SIDE ? n1 : n + SIDE;
        f = (cameo_split_feed){.turns = 1};
        if (end < n1)
            f = cameo_split_conv_feed(&k, c->v->x + end, n1 - end > 16, channel,
                                      (c->rows + 15) / 16 * ((end - n + 15) / 16) * steps,
                                      b[1 - now]);
        const int64_t side = end - n > 16 ? SIDE : 2 * SIDE;
        for (int64_t m = 0; m < c->rows; m += side) {
            const int64_t rows = c->rows - m < side ? c->rows - m : side;
            const cameo_split_square s = {m, rows, n, end - n, 0, 1};
            cameo_chain_terms_sum(&ends, &k, &s, t->weights[1] + 6 * m * k.deep, b[now], &f);
        }
        cameo_split_conv_rest(&f);
    }
    cameo_chain_terms_end(&ends);
}
#endif

/* Planes from .. to of the first product, at y, and what is done to its sums. */
static inline __attribute__((unused)) void cameo_chain_terms_planes(const cameo_split_conv *c,
                                                                    const cameo_chain_terms *t,
                                                                    int64_t from, int64_t to,
                                                                    int64_t first, int64_t last)
{
#ifdef CAMEO_AMX
    if (cameo_amx_on())
        cameo_chain_terms_widen(c, t, from, to, first, last);
    else
#endif
        cameo_split_conv_plain(c, from, to, first, last);
    cameo_bend(c->v->finish, c->y, from * c->row + first, to - from, c->row, last - first);
    (void)t;
}

/* What the windows of a band read and write: its columns first .. last, and its part of rows. */
static inline __attribute__((unused)) void cameo_chain_terms_wide(cameo_chain *c,
                                                                  const cameo_chain_terms *t,
                                                                  const float *x,
                                                                  cameo_chain_part *part)
{
    const cameo_conv *g = c->windows.sizes;
    const cameo_band_rows reach = cameo_chain_reach(g, part->low, part->high);
    const int64_t planes = part->to;
    const int64_t first = reach.from * g->in[2], last = reach.to * g->in[2];
    const int64_t origin = cameo_chain_begin(c, x, &reach);
    float *image = c->between[0] - first;
    cameo_split_conv wide = {.v = &c->wide,
                             .rows = c->expand.sizes->rows,
                             .n = last - origin,
                             .w = c->expand.w,
                             .row = c->read,
                             .room = t->plain};
#ifdef CAMEO_AMX
    if (cameo_amx_on())
        cameo_chain_terms_x(&wide, t, first - origin, last - origin);
#endif
    for (part->from = 0; part->from < planes; part->from = part->to) {
        const int64_t left = planes - part->from;
        part->to = part->from + (left < c->side ? left : c->side);
        wide.y = image + origin - part->from * c->read;
        cameo_chain_terms_planes(&wide, t, part->from, part->to, first - origin, last - origin);
        cameo_chain_windows(c, part, image, c->read, c->between[1] - part->low * g->out[2]);
    }
}

/* The last product of columns n0 .. n1. */
static inline __attribute__((unused)) void cameo_chain_terms_narrow(const cameo_split_conv *c,
                                                                    const cameo_chain_terms *t,
                                                                    int64_t n0, int64_t n1)
{
#ifdef CAMEO_AMX
    if (cameo_amx_on())
        cameo_chain_terms_columns(c, t, n0, n1);
    else
#endif
        cameo_split_conv_plain(c, 0, c->rows, n0, n1);
    cameo_bend(c->v->finish, c->y, n0, c->rows, c->row, n1 - n0);
    (void)t;
}

/* Bands from .. to, as cameo_chain_share. k: values of k of the first product; room: of a thread,
 * cameo_chain_terms_size bytes and what a band's x takes. */
static __attribute__((noinline, unused)) void cameo_chain_terms_share(cameo_chain *c, int64_t k,
                                                                      char *room, const float *x,
                                                                      float *y, int64_t row,
                                                                      int64_t from, int64_t to)
{
    const cameo_conv *g = c->windows.sizes, *last = c->project.sizes;
    cameo_chain_terms t;
    cameo_chain_terms_plan(c, k, room, &t);
    cameo_split_conv narrow = {.v = &c->narrow,
                               .rows = last->rows,
                               .n = last->out[1] * last->out[2],
                               .w = c->project.w,
                               .y = y,
                               .row = row,
                               .room = t.plain};
#ifdef CAMEO_AMX
    const int on = cameo_amx_on();
    if (on && k) {
        const cameo_split_conv wide = {
            .v = &c->wide, .rows = c->expand.sizes->rows, .w = c->expand.w};
        cameo_chain_terms_weights(&wide, t.weights[0]);
    }
    if (on)
        cameo_chain_terms_weights(&narrow, t.weights[1]);
    if (on)
        cameo_amx_begin();
#endif
    memset(c->between[1] + last->channels * c->written, 0,
           (size_t)((c->held - last->channels) * c->written) * sizeof(float));
    for (int64_t band = from; band < to; band++) {
        const int64_t low = cameo_chain_low(c, band), high = cameo_chain_low(c, band + 1);
        cameo_chain_part part = {0, last->channels, low, high};
        if (k)
            cameo_chain_terms_wide(c, &t, x, &part);
        else
            cameo_chain_windows(c, &part, x, c->channel, c->between[1] - low * g->out[2]);
        c->narrow.x = c->between[1] - low * g->out[2];
        cameo_chain_terms_narrow(&narrow, &t, low * g->out[2], high * g->out[2]);
    }
#ifdef CAMEO_AMX
    if (on)
        cameo_amx_end();
#endif
}

#endif
