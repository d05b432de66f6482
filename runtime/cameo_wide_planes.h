/* Windows of float64 without copies of them: x is widened once, with its padding and split where
 * windows have steps, so that at each of a window's places neighbours of the output read
 * neighbours. */
#ifndef CAMEO_WIDE_PLANES_H
#define CAMEO_WIDE_PLANES_H

#include "cameo_wide_factors.h"

enum {
    CAMEO_WIDE_ROOM = CAMEO_WIDE_K * CAMEO_WIDE_N, /* elements of the planes of a block */
    CAMEO_WIDE_PLACES = 1024,                      /* of windows, and values of k of a block */
    CAMEO_WIDE_DEPTHS = 256,                       /* values of k that are worth a block */
    CAMEO_WIDE_STEPS = 4,                          /* between windows, the most */
    CAMEO_WIDE_LINE = 2 * CAMEO_WIDE_VECTORS       /* vectors of a tile of a row or two */
};

/* x as a block of rows of the output reads it. A channel is a plane for every part of its places
 * that some place of the window reads: those that are (y, x) modulo the windows' steps. */
typedef struct cameo_wide_planes {
    cameo_wide_window w;
    int64_t first, rows;         /* of the output */
    int64_t pitch, high, plane;  /* elements of a row of a plane; its rows; elements */
    int64_t nplanes, channel;    /* planes of a channel; elements of it */
    int64_t taps;                /* places of a window */
    int64_t line, nlines, lines; /* neighbours in a row, rows of them; elements from one to the next
                                  */
    signed char at[CAMEO_WIDE_STEPS * CAMEO_WIDE_STEPS]; /* plane of a part; -1: none */
} cameo_wide_planes;

static inline __attribute__((unused)) int64_t cameo_wide_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The windows as planes have them. 0: they have not. */
static inline __attribute__((unused)) int cameo_wide_planes_of(cameo_wide_planes *s,
                                                               const cameo_wide_window *w)
{
    s->w = *w;
    if (w->out[2] == 1 && w->taps[2] == 1 && w->in[2] == 1 && w->pad[2] == 0)
        for (int d = 1; d < 3; d++) { /* a column is a row */
            const int from = d - 1;
            s->w.out[d] = d == 2 ? w->out[from] : 1;
            s->w.taps[d] = d == 2 ? w->taps[from] : 1;
            s->w.stride[d] = d == 2 ? w->stride[from] : 1;
            s->w.dilation[d] = d == 2 ? w->dilation[from] : 1;
            s->w.pad[d] = d == 2 ? w->pad[from] : 0;
            s->w.in[d] = d == 2 ? w->in[from] : 1;
            s->w.step[d] = d == 2 ? w->step[from] : 0;
        }
    w = &s->w;
    s->taps = w->taps[1] * w->taps[2];
    if (w->out[0] != 1 || w->taps[0] != 1 || w->in[0] != 1 || w->pad[0] != 0 ||
        w->stride[1] > CAMEO_WIDE_STEPS || w->stride[2] > CAMEO_WIDE_STEPS ||
        s->taps > CAMEO_WIDE_PLACES)
        return 0;
    memset(s->at, -1, sizeof s->at);
    s->nplanes = 0;
    for (int64_t y = 0; y < w->taps[1]; y++)
        for (int64_t x = 0; x < w->taps[2]; x++) {
            const int64_t part = y * w->dilation[1] % w->stride[1] * CAMEO_WIDE_STEPS +
                                 x * w->dilation[2] % w->stride[2];
            if (s->at[part] < 0)
                s->at[part] = (signed char)s->nplanes++;
        }
    s->pitch = w->out[2] + (w->taps[2] - 1) * w->dilation[2] / w->stride[2];
    return s->nplanes * s->pitch * ((w->taps[1] - 1) * w->dilation[1] / w->stride[1] + 1) <=
           CAMEO_WIDE_ROOM;
}

/* Rows first .. first + rows, or fewer of them where no more of `channels` fit. */
static inline __attribute__((unused)) void
cameo_wide_planes_rows(cameo_wide_planes *s, int64_t channels, int64_t first, int64_t rows)
{
    const cameo_wide_window *w = &s->w;
    const int64_t more = (w->taps[1] - 1) * w->dilation[1] / w->stride[1];
    const int64_t most = CAMEO_WIDE_ROOM / (channels * s->nplanes * s->pitch) - more;
    const int64_t blocks = most > 0 ? (rows + most - 1) / most : rows;
    s->first = first;
    s->rows = (rows + blocks - 1) / blocks;
    s->high = s->rows + more;
    s->plane = s->high * s->pitch;
    s->channel = s->nplanes * s->plane;
    const int joined = s->pitch == w->out[2];
    s->line = joined ? s->rows * s->pitch : w->out[2];
    s->nlines = joined ? 1 : s->rows;
    s->lines = s->pitch;
}

/* n elements as float64, each second one or each `apart` from the next. */
static inline __attribute__((always_inline)) void
cameo_wide_gather(const cameo_wide *p, int64_t x, int64_t apart, int64_t n, double *to)
{
    if (p->narrow_b && apart == 2)
        for (int64_t i = 0; i < n; i++)
            to[i] = (double)p->narrow_b[x + 2 * i];
    else if (p->narrow_b)
        for (int64_t i = 0; i < n; i++)
            to[i] = (double)p->narrow_b[x + i * apart];
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = p->b[x + i * apart];
}

/* A row of a plane: what of x lies at its places, each `step` from the next, from `place` on. */
static inline __attribute__((always_inline)) void cameo_wide_planes_line(const cameo_wide *p,
                                                                         const cameo_wide_window *w,
                                                                         int64_t x, int64_t place,
                                                                         int64_t pitch, double *to)
{
    const int64_t step = w->stride[2], before = place >= 0 ? 0 : step - 1 - place;
    const int64_t left = w->in[2] - place, within = left <= 0 ? 0 : left + step - 1;
    const int64_t from = step == 1 ? before : before / step; /* dividing takes a while */
    const int64_t end = step == 1 ? within : within / step;
    const int64_t low = cameo_wide_least(from, pitch);
    int64_t high = cameo_wide_least(end, pitch);
    high = high > low ? high : low;
    x += place * w->step[2];
    const int64_t apart = step * w->step[2];
    for (int64_t i = 0; i < low; i++)
        to[i] = 0;
    if (apart == 1)
        cameo_wide_copy(p, x + low, high - low, to + low);
    else
        cameo_wide_gather(p, x + low * apart, apart, high - low, to + low);
    for (int64_t i = high; i < pitch; i++)
        to[i] = 0;
}

/* A plane: the places (y, x) modulo the steps of the channel that begins at `from`. */
static inline __attribute__((always_inline)) void cameo_wide_planes_part(const cameo_wide *p,
                                                                         const cameo_wide_planes *s,
                                                                         int64_t from, int64_t y,
                                                                         int64_t x, double *to)
{
    const cameo_wide_window *w = &s->w;
    for (int64_t r = 0; r < s->high; r++, to += s->pitch) {
        const int64_t row = (s->first + r) * w->stride[1] + y - w->pad[1];
        if (row < 0 || row >= w->in[1])
            memset(to, 0, (size_t)s->pitch * sizeof *to);
        else
            cameo_wide_planes_line(p, w, from + row * w->step[1], x - w->pad[2], s->pitch, to);
    }
}

/* Planes of `channels` channels from `channel` on, and zeros that the last vector reads. */
static __attribute__((noinline, unused)) CAMEO_WIDE_WHOLE void
cameo_wide_planes_fill(const cameo_wide *p, const cameo_wide_planes *s, int64_t channel,
                       int64_t channels, double *to)
{
    const cameo_wide_window *w = &s->w;
    const int64_t parts = w->stride[1] * w->stride[2];
    for (int64_t i = 0; i < channels * parts; i++) {
        const int64_t c = i / parts, y = i % parts / w->stride[2], x = i % w->stride[2];
        const int at = s->at[y * CAMEO_WIDE_STEPS + x];
        if (at >= 0)
            cameo_wide_planes_part(p, s, (channel + c) * w->channel, y, x,
                                   to + c * s->channel + at * s->plane);
    }
    memset(to + channels * s->channel, 0, CAMEO_WIDE_LANES * sizeof *to);
}

/* Where in the planes k is for the first of the output. */
static inline __attribute__((unused)) void
cameo_wide_planes_places(const cameo_wide_planes *s, int64_t channels, int64_t *places)
{
    const cameo_wide_window *w = &s->w;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t y = 0; y < w->taps[1]; y++)
            for (int64_t x = 0; x < w->taps[2]; x++) {
                const int64_t down = y * w->dilation[1], right = x * w->dilation[2];
                const int64_t part = down % w->stride[1] * CAMEO_WIDE_STEPS + right % w->stride[2];
                *places++ = c * s->channel + s->at[part] * s->plane +
                            down / w->stride[1] * s->pitch + right / w->stride[2];
            }
}

/* A tile: some rows by neighbours of the output. */
typedef struct cameo_wide_spot {
    int64_t depth;
    const double *a, *b; /* packed rows; the planes at the first neighbour */
    const int64_t *places;
    double *y;
    int64_t ym, rows;
    int64_t low, high;   /* neighbours that are asked for */
    int64_t free;        /* of y there are so many, of which those behind `high` come later */
    const double *start; /* what the sums of each row begin with, and y is written; NULL: added */
} cameo_wide_spot;

static inline __attribute__((always_inline)) void
cameo_wide_spot_of(const cameo_wide_spot *t, const int height, const int vectors)
{
    enum { PANEL = CAMEO_WIDE_ROWS * CAMEO_WIDE_VECTORS, MOST = PANEL > 12 ? PANEL : 12 };
    cameo_wide_vec sums[MOST];
    const double *a = t->a;
    const int64_t *place = t->places;
    const int64_t wide = vectors * CAMEO_WIDE_LANES;
#pragma GCC unroll 24
    for (int i = 0; i < height * vectors; i++)
        sums[i] = (cameo_wide_vec){0};
    if (t->start) {
#pragma GCC unroll 24
        for (int i = 0; i < height * vectors; i++)
            sums[i] += t->start[i / vectors];
    }
    for (int64_t k = t->depth; k > 0; k--, a += height) {
        const double *b = t->b + *place++;
#pragma GCC unroll 24
        for (int i = 0; i < height * vectors; i++)
            sums[i] += a[i / vectors] * ((const cameo_wide_vec *)b)[i % vectors];
    }
    if (t->rows == height && t->low == 0 && t->start && t->free >= wide) {
#pragma GCC unroll 24
        for (int i = 0; i < height * vectors; i++)
            ((cameo_wide_vec *)(t->y + i / vectors * t->ym))[i % vectors] = sums[i];
        return;
    }
    if (t->rows == height && t->low == 0 && t->high == wide) {
#pragma GCC unroll 24
        for (int i = 0; i < height * vectors; i++)
            ((cameo_wide_vec *)(t->y + i / vectors * t->ym))[i % vectors] += sums[i];
        return;
    }
    cameo_wide_vec edge[MOST];
#pragma GCC unroll 24
    for (int i = 0; i < height * vectors; i++)
        edge[i] = sums[i];
    for (int64_t i = 0; i < t->rows; i++)
        for (int64_t j = t->low; j < t->high; j++)
            t->y[i * t->ym + j] =
                (t->start ? 0 : t->y[i * t->ym + j]) + ((const double *)edge)[i * wide + j];
}

/* Tiles of few rows. */
static inline __attribute__((always_inline)) void
cameo_wide_spot_line(const cameo_wide_spot *t, const int height, int64_t vectors)
{
    switch (vectors) {
    case 1:
        cameo_wide_spot_of(t, height, 1);
        break;
    case 2:
        cameo_wide_spot_of(t, height, 2);
        break;
    case 3:
        cameo_wide_spot_of(t, height, 3);
        break;
    case 4:
        cameo_wide_spot_of(t, height, 4);
        break;
    case 5:
        cameo_wide_spot_of(t, height, 5);
        break;
    default:
        cameo_wide_spot_of(t, height, CAMEO_WIDE_LINE);
    }
}

static inline __attribute__((always_inline)) void
cameo_wide_spot_panel(const cameo_wide_spot *t, const int height, int64_t vectors)
{
    if (vectors == 1)
        cameo_wide_spot_of(t, height, 1);
    else if (vectors == 2)
        cameo_wide_spot_of(t, height, 2);
    else
        cameo_wide_spot_of(t, height, CAMEO_WIDE_VECTORS);
}

static __attribute__((noinline, unused)) CAMEO_WIDE_WHOLE void
cameo_wide_spot_sum(const cameo_wide_spot *t, int height, int64_t vectors)
{
    if (height == CAMEO_WIDE_ROWS)
        cameo_wide_spot_panel(t, CAMEO_WIDE_ROWS, vectors);
    else if (height == 4)
        cameo_wide_spot_panel(t, 4, vectors);
    else if (height == 2)
        cameo_wide_spot_line(t, 2, vectors);
    else
        cameo_wide_spot_line(t, 1, vectors);
}

/* Vectors of a tile where a line has `left` more: four are two and two where a tile of one vector
 * has too few sums to hide how long a multiplication takes. */
static inline __attribute__((unused)) int64_t cameo_wide_breadths(int64_t left, int64_t most)
{
    const int one = left > most && left % most == 1 && most > 2 && CAMEO_WIDE_ROWS < 8;
    return one ? most - 1 : cameo_wide_least(left, most);
}

/* A block's rows m .. m + rows, packed, of columns n0 .. n1. */
static inline __attribute__((unused)) void
cameo_wide_planes_block(const cameo_wide *p, const cameo_wide_planes *s, cameo_wide_spot t,
                        int64_t m, int64_t rows, int64_t n0, int64_t n1, const double *planes)
{
    const double *a = t.a, *start = t.start;
    const int few = cameo_wide_height(rows) <= 2;
    const int64_t most = few ? CAMEO_WIDE_LINE : CAMEO_WIDE_VECTORS;
    for (int64_t l = 0; l < s->nlines; l++) {
        const int64_t begin = (s->first + l) * s->w.out[2];
        for (int64_t x = 0, vectors; x < s->line; x += vectors * CAMEO_WIDE_LANES) {
            const int64_t left = s->line - x, n = begin + x;
            vectors = cameo_wide_breadths((left + CAMEO_WIDE_LANES - 1) / CAMEO_WIDE_LANES, most);
            t.low = n < n0 ? n0 - n : 0;
            t.free = n1 - n;
            t.high = cameo_wide_least(cameo_wide_least(left, t.free), vectors * CAMEO_WIDE_LANES);
            if (t.low >= t.high)
                continue;
            t.b = planes + l * s->lines + x;
            for (int64_t i = 0; i < rows; i += CAMEO_WIDE_ROWS) {
                t.rows = cameo_wide_least(rows - i, CAMEO_WIDE_ROWS);
                t.a = a + i * t.depth;
                t.start = start ? start + i : NULL;
                t.y = p->y + (m + i) * p->ym + n;
                const int height = cameo_wide_height(t.rows);
                cameo_wide_spot_sum(&t, height, vectors);
            }
        }
    }
}

/* Rows m0 .. m1 and columns n0 .. n1 where b is windows. 0: they are none that planes have, and
 * nothing is done. `a` and `planes` are room for a block. */
static __attribute__((noinline, unused)) int cameo_wide_slide(const cameo_wide *p, int64_t m0,
                                                              int64_t m1, int64_t n0, int64_t n1,
                                                              double *a, double *planes)
{
    cameo_wide_planes s;
    int64_t places[CAMEO_WIDE_PLACES];
    if (!cameo_wide_planes_of(&s, p->window))
        return 0;
    const int64_t all = p->depth / s.taps, many = CAMEO_WIDE_DEPTHS / s.taps;
    int64_t most = cameo_wide_least(all, many > 1 ? many : 1);
    const int64_t last = (n1 + s.w.out[2] - 1) / s.w.out[2];
    for (int64_t y = n0 / s.w.out[2]; y < last; y += s.rows) {
        cameo_wide_planes_rows(&s, most, y, last - y);
        while (most > 1 && most * s.channel > CAMEO_WIDE_ROOM) {
            most = (most + 1) / 2;
            cameo_wide_planes_rows(&s, most, y, last - y);
        }
        for (int64_t c = 0, channels; c < all; c += channels) {
            channels = cameo_wide_least(all - c, most);
            cameo_wide_planes_fill(p, &s, c, channels, planes);
            cameo_wide_planes_places(&s, channels, places);
            const int64_t depth = channels * s.taps;
            const int64_t fit = CAMEO_WIDE_M * CAMEO_WIDE_K / depth;
            const int64_t high =
                cameo_wide_least(fit / CAMEO_WIDE_ROWS * CAMEO_WIDE_ROWS, CAMEO_WIDE_M);
            for (int64_t m = m0, rows; m < m1; m += rows) {
                double start[CAMEO_WIDE_M + CAMEO_WIDE_ROWS] = {0};
                rows = cameo_wide_least(m1 - m, high);
                cameo_wide_pack_a(p, m, rows, c * s.taps, depth, a);
                if (p->fresh && c == 0)
                    cameo_wide_starts(p, m, rows, start);
                const cameo_wide_spot t = {.depth = depth,
                                           .a = a,
                                           .places = places,
                                           .ym = p->ym,
                                           .start = p->fresh && c == 0 ? start : NULL};
                cameo_wide_planes_block(p, &s, t, m, rows, n0, n1, planes);
            }
        }
    }
    return 1;
}

#endif
