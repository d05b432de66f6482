/* Planes of few elements by windows of many, of as many planes at a time as a vector has lanes: a
 * lane is a plane. Squares of their elements are turned in registers on the way in and out;
 * between, rows stand in a copy with their border, and no lane is empty, however short rows are. */
#ifndef CAMEO_ACROSS_H
#define CAMEO_ACROSS_H

#include "cameo_planes.h"

enum {
    CAMEO_ACROSS_PLACES = 256, /* elements of a plane, at most, */
    CAMEO_ACROSS_COPY = 400,   /* and with the border of its rows */
    CAMEO_ACROSS_TURN = 12,    /* to turn a vector takes as long as so many products, */
    CAMEO_ACROSS_NEAR = 24576, /* or twice as many if there are more bytes of them */
    CAMEO_ACROSS_MANY = 8      /* columns of the output beside one another, at most */
};

typedef struct cameo_across_work {
    float flat[CAMEO_ACROSS_PLACES * CAMEO_LANES]; /* what is turned */
    float x[CAMEO_ACROSS_COPY * CAMEO_LANES];      /* rows with their border */
    float window[CAMEO_CONV_TAPS * CAMEO_LANES];
} cameo_across_work;

/* n elements of each of some planes, `apart` from one another, to vectors of all planes. */
static inline __attribute__((unused)) void cameo_across_turn(const float *from, int64_t apart,
                                                             int64_t planes, int64_t n, float *to)
{
    for (int64_t i = 0; n >= CAMEO_LANES && i < n; i += CAMEO_LANES) {
        i = n - i < CAMEO_LANES ? n - CAMEO_LANES : i;
        cameo_gemm_square(from + i, apart, planes - 1, to + i * CAMEO_LANES, CAMEO_LANES);
    }
    for (int64_t i = 0; n < CAMEO_LANES && i < n; i++)
        for (int64_t l = 0; l < CAMEO_LANES; l++)
            to[i * CAMEO_LANES + l] = from[(l < planes ? l : 0) * apart + i];
}

/* The same back: LANES elements or more. */
static inline __attribute__((unused)) void
cameo_across_back(const float *from, int64_t n, int64_t planes, float *to, int64_t apart)
{
    float square[CAMEO_LANES * CAMEO_LANES];
    for (int64_t i = 0; i < n; i += CAMEO_LANES) {
        i = n - i < CAMEO_LANES ? n - CAMEO_LANES : i;
        const float *at = from + i * CAMEO_LANES;
        if (planes == CAMEO_LANES) {
            cameo_gemm_square(at, CAMEO_LANES, CAMEO_LANES - 1, to + i, apart);
            continue;
        }
        cameo_gemm_square(at, CAMEO_LANES, CAMEO_LANES - 1, square, CAMEO_LANES);
        for (int64_t l = 0; l < planes; l++)
            memcpy(to + l * apart + i, square + l * CAMEO_LANES, sizeof(float) * CAMEO_LANES);
    }
}

/* n neighbours of a row of the output, from the rows low .. high of the window. x: what the first
 * of them sees first; width: of a row of the copy. */
static inline __attribute__((always_inline)) void
cameo_across_some(const cameo_conv *c, const float *x, int64_t width, const float *window,
                  int64_t low, int64_t high, const int n, const cameo_ends *ends, float *to)
{
    const int64_t columns = c->taps[2], apart = c->dilation[2] * CAMEO_LANES;
    const int64_t down = c->dilation[1] * width * CAMEO_LANES, next = c->stride[2] * CAMEO_LANES;
    cameo_vec sums[CAMEO_ACROSS_MANY] = {{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}};
    x += low * down;
    window += low * columns * CAMEO_LANES;
    for (int64_t a = low; a < high; a++, x += down) {
        const float *at = x;
        for (int64_t b = 0; b < columns; b++, at += apart, window += CAMEO_LANES) {
            const cameo_vec w = cameo_held(*(const cameo_vec *)window);
#pragma GCC unroll 8
            for (int i = 0; i < n; i++)
                sums[i] += w * *(const cameo_vec *)(at + i * next);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < n; i++)
        *(cameo_vec *)(to + i * CAMEO_LANES) =
            cameo_clip(sums[i] + ends->bias, ends->low, ends->high);
}

/* A row of the output. The last columns that are summed beside one another lie over those before.
 */
static inline __attribute__((unused)) void cameo_across_row(const cameo_conv *c,
                                                            cameo_across_work *work, int64_t width,
                                                            int64_t j, const cameo_ends *ends)
{
    const int64_t rows = c->taps[1], down = c->dilation[1], all = c->out[2];
    const int64_t first = j * c->stride[1] - c->pad[1];
    int64_t low = 0, high = rows;
    while (low < rows && first + low * down < 0)
        low++;
    while (high > low && first + (high - 1) * down >= c->in[1])
        high--;
    const int64_t many = all % 7 == 0 ? 7 : all >= 8 ? 8 : all >= 4 ? 4 : 1;
    const float *x = work->x + first * width * CAMEO_LANES;
    float *to = work->flat + j * all * CAMEO_LANES;
    for (int64_t k = 0; k < all; k += many) {
        k = all - k < many ? all - many : k;
        const float *at = x + k * c->stride[2] * CAMEO_LANES;
        float *y = to + k * CAMEO_LANES;
        if (many == 7)
            cameo_across_some(c, at, width, work->window, low, high, 7, ends, y);
        else if (many == 8)
            cameo_across_some(c, at, width, work->window, low, high, 8, ends, y);
        else if (many == 4)
            cameo_across_some(c, at, width, work->window, low, high, 4, ends, y);
        else
            cameo_across_some(c, at, width, work->window, low, high, 1, ends, y);
    }
}

/* So many planes, p->channel elements from one another in x and p->written in y. */
static __attribute__((noinline, unused)) void
cameo_across(const cameo_planes *g, const float *x, const float *w, int64_t planes, cameo_plane *p)
{
    __attribute__((aligned(64))) cameo_across_work work; /* no vector is in two lines */
    const cameo_conv *c = g->sizes;
    const int64_t width = cameo_conv_reach(c, 2), in = c->in[2], places = c->in[1] * in;
    int64_t low = c->pad[2] < 0 ? 0 : c->pad[2], high = c->pad[2] + in;
    low = low < width ? low : width;
    high = high < low ? low : high < width ? high : width;
    memset(work.x, 0, (size_t)(c->in[1] * width) * sizeof(cameo_vec));
    cameo_ends ends = cameo_plane_ends(p);
    for (int64_t i = 0; i < planes; i += CAMEO_LANES) {
        const int64_t some = planes - i < CAMEO_LANES ? planes - i : CAMEO_LANES;
        float bias[CAMEO_LANES] = {0};
        memcpy(bias, p->finish->bias + i, (size_t)some * sizeof *bias);
        ends.bias = *(const cameo_vec *)bias;
        cameo_across_turn(w + i * g->taps, g->taps, some, g->taps, work.window);
        cameo_across_turn(x + i * p->channel, p->channel, some, places, work.flat);
        for (int64_t j = 0; j < c->in[1]; j++) {
            const float *from = work.flat + (j * in - c->pad[2]) * CAMEO_LANES;
            float *to = work.x + j * width * CAMEO_LANES;
            for (int64_t k = low * CAMEO_LANES; k < high * CAMEO_LANES; k += CAMEO_LANES)
                *(cameo_vec *)(to + k) = *(const cameo_vec *)(from + k);
        }
        for (int64_t j = 0; j < c->out[1]; j++)
            cameo_across_row(c, &work, width, j, &ends);
        cameo_across_back(work.flat, c->out[1] * c->out[2], some, p->y + i * p->written,
                          p->written);
    }
}

/* Is that less work than vectors along rows, which take as long as half as many products more, and
 * by steps of two twice as many? Behind cameo_planes_plan. */
static __attribute__((noinline, unused)) void cameo_across_plan(const cameo_conv *g,
                                                                cameo_planes *p)
{
    const int64_t places = g->in[1] * g->in[2], all = g->out[1] * g->out[2];
    const int64_t copy = g->in[1] * cameo_conv_reach(g, 2);
    const int64_t vectors = (g->out[2] + CAMEO_LANES - 1) / CAMEO_LANES;
    const int64_t own = CAMEO_LANES * g->out[1] * vectors * p->taps;
    const int64_t bytes = (places + copy) * (int64_t)sizeof(cameo_vec);
    const int64_t turn = bytes > CAMEO_ACROSS_NEAR ? 2 * CAMEO_ACROSS_TURN : CAMEO_ACROSS_TURN;
    const int64_t across = all * p->taps + turn * (places + all + p->taps);
    if (g->taps[0] == 1 && g->step[2] == 1 && g->step[1] == g->in[2] && places >= CAMEO_LANES &&
        all >= CAMEO_LANES && places <= CAMEO_ACROSS_PLACES && all <= CAMEO_ACROSS_PLACES &&
        copy <= CAMEO_ACROSS_COPY && (g->stride[2] == 1 ? 3 : 4) * own > 2 * across)
        p->across = cameo_across;
}

#endif
