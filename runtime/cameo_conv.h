/* Convolutions as products of packed matrices: y[m][n] = sum over k of w[m][k] * x[k][n], where k
 * is a channel and a place of the window, and n a place of the output. x is never written out as
 * such a matrix: a block of it is, panel by panel, while it is multiplied. */
#ifndef CAMEO_CONV_H
#define CAMEO_CONV_H

#include <stdint.h>
#include <string.h>

enum {
    CAMEO_CONV_K = 256,    /* values of k and */
    CAMEO_CONV_N = 192,    /* of n in a block; a multiple of the columns of every tile */
    CAMEO_CONV_SLACK = 64, /* elements that may be read or written past the end of a buffer */
    CAMEO_CONV_TAPS = 128  /* of a window that slides over a plane by itself */
};

/* Dims of the window: the innermost is the last, those that there are not are 1 (steps 0). */
typedef struct cameo_conv {
    int64_t rows, channels;
    int64_t out[3], taps[3], stride[3], dilation[3];
    int64_t pad[3], in[3]; /* where x is: pad <= place < pad + in */
    int64_t step[3];       /* from one element of x to the next */
    int64_t channel, row;  /* from one channel of x, from one row of y to the next */
    int copy;              /* the border is made of 0 in a copy, innermost strides are sorted out */
} cameo_conv;

/* What the products read. */
typedef struct cameo_conv_view {
    const float *x;
    int64_t size;           /* elements that may be read */
    int64_t out[3], at[3];  /* dims of n, as few as there can be, and their strides in x */
    int64_t taps[3], tap[2];/* dims of the window and strides of the outer ones */
    int64_t stride, dilation, phase; /* of the innermost: every stride-th element together */
    int64_t channels, channel;
} cameo_conv_view;

/* One row of x to `phases` rows, each holding every phases-th place from its number on. */
static inline __attribute__((unused)) void cameo_conv_row(const float *x, int64_t step, int64_t in,
                                                          int64_t pad, int64_t phases,
                                                          int64_t length, float *to)
{
    for (int64_t f = 0; f < phases; f++, to += length) {
        /* place i * phases + f - pad of x, for the i where it is one */
        int64_t low = f >= pad ? 0 : (pad - f + phases - 1) / phases;
        int64_t high = in + pad > f ? (in + pad - f + phases - 1) / phases : 0;
        low = low < length ? low : length;
        high = high < length ? high : length;
        high = high > low ? high : low;
        const float *from = x + (low * phases + f - pad) * step;
        for (int64_t i = 0; i < low; i++)
            to[i] = 0.0f;
        if (phases * step == 1)
            memcpy(to + low, from, (size_t)(high - low) * sizeof *to);
        else if (phases * step == 2)
            for (int64_t i = 0; i < high - low; i++)
                to[low + i] = from[2 * i];
        else
            for (int64_t i = 0; i < high - low; i++)
                to[low + i] = from[i * phases * step];
        for (int64_t i = high; i < length; i++)
            to[i] = 0.0f;
    }
}

/* Elements along each dim that windows reach. */
static inline int64_t cameo_conv_reach(const cameo_conv *g, int d)
{
    return g->stride[d] * (g->out[d] - 1) + g->dilation[d] * (g->taps[d] - 1) + 1;
}

static inline __attribute__((unused)) void cameo_conv_copy(const cameo_conv *g, const float *x,
                                                           float *to, int64_t length)
{
    const int64_t deep = cameo_conv_reach(g, 0), high = cameo_conv_reach(g, 1);
    const int64_t width = length * g->stride[2];
    for (int64_t c = 0; c < g->channels; c++)
        for (int64_t i = 0; i < deep; i++)
            for (int64_t j = 0; j < high; j++, to += width) {
                const int64_t a = i - g->pad[0], b = j - g->pad[1];
                if (a < 0 || a >= g->in[0] || b < 0 || b >= g->in[1])
                    memset(to, 0, (size_t)width * sizeof *to);
                else
                    cameo_conv_row(x + c * g->channel + a * g->step[0] + b * g->step[1],
                                   g->step[2], g->in[2], g->pad[2], g->stride[2], length, to);
            }
}

/* x: its first element where it is copied, else the first that a window reads. */
static __attribute__((noinline, unused)) void cameo_conv_begin(const cameo_conv *g, const float *x,
                                                               float *padded, cameo_conv_view *v)
{
    int64_t step[3] = {g->step[0], g->step[1], 1}, reach[3];
    for (int d = 0; d < 3; d++)
        reach[d] = cameo_conv_reach(g, d);
    *v = (cameo_conv_view){.x = x, .channels = g->channels, .channel = g->channel};
    v->stride = g->stride[2];
    v->dilation = g->dilation[2];
    if (g->copy) {
        v->phase = (reach[2] + v->stride - 1) / v->stride;
        step[1] = v->phase * v->stride;
        step[0] = reach[1] * step[1];
        v->channel = reach[0] * step[0];
        v->x = padded;
        v->size = v->channel * v->channels + CAMEO_CONV_SLACK;
        if (v->size > CAMEO_CONV_SLACK)
            cameo_conv_copy(g, x, padded, v->phase);
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
    for (int turn = 0; turn < 2 && (v->out[1] == 1 || v->at[1] == v->out[2]); turn++) {
        v->out[2] *= v->out[1];
        v->out[1] = v->out[0];
        v->at[1] = v->at[0];
        v->out[0] = 1;
        v->at[0] = 0;
    }
}

/* Where value k of a window begins in x. */
static inline int64_t cameo_conv_place(const cameo_conv_view *v, int64_t k)
{
    const int64_t t = k % v->taps[2] * v->dilation, rest = k / v->taps[2];
    return rest / v->taps[1] / v->taps[0] * v->channel + rest / v->taps[1] % v->taps[0] * v->tap[0] +
           rest % v->taps[1] * v->tap[1] + t % v->stride * v->phase + t / v->stride;
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

/* Columns n .. n + width of the block's rows k, whose places are given, as one panel. */
static inline __attribute__((unused)) void cameo_conv_pack(const cameo_conv_view *v, int64_t n,
                                                           int64_t width, int64_t nk,
                                                           const int64_t *places, float *to)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    cameo_stretch runs[PANEL];
    const int count = cameo_conv_runs(v, n, width, runs);
    int64_t reach = 0;
    for (int r = 0; r < count; r++)
        if (runs[r].from + runs[r].count > reach)
            reach = runs[r].from + runs[r].count;
    for (int64_t k = 0; k < nk; k++, to += PANEL) {
        const float *x = v->x + places[k];
        if (places[k] + reach + CAMEO_LANES <= v->size)
            for (int r = 0; r < count; r++)
                for (int64_t i = 0; i < runs[r].count; i += CAMEO_LANES)
                    *(cameo_vec *)(to + runs[r].to + i) = *(const cameo_vec *)(x + runs[r].from + i);
        else
            for (int r = 0; r < count; r++)
                memcpy(to + runs[r].to, x + runs[r].from, (size_t)runs[r].count * sizeof *to);
        for (int64_t i = width; i < PANEL && i % CAMEO_LANES; i++)
            to[i] = 0.0f;
    }
}

/* Columns n0 .. n1 (at most CAMEO_CONV_N) of y, all rows. w: packed. */
static __attribute__((noinline, unused)) void cameo_conv_block(const cameo_conv_view *v, int64_t rows,
                                                               int64_t n0, int64_t n1,
                                                               const float *w, float *y,
                                                               int64_t row, float *panels)
{
    enum { PANEL = CAMEO_LANES * CAMEO_VECTORS };
    const int64_t all = v->channels * v->taps[0] * v->taps[1] * v->taps[2];
    int64_t places[CAMEO_CONV_K];
    for (int64_t k0 = 0; k0 < all; k0 += CAMEO_CONV_K) {
        const int64_t nk = all - k0 < CAMEO_CONV_K ? all - k0 : CAMEO_CONV_K;
        for (int64_t k = 0; k < nk; k++)
            places[k] = cameo_conv_place(v, k0 + k);
        for (int64_t n = n0; n < n1; n += PANEL)
            cameo_conv_pack(v, n, n1 - n < PANEL ? n1 - n : PANEL, nk, places,
                            panels + (n - n0) * CAMEO_CONV_K);
        for (int64_t m = 0; m < rows; m += CAMEO_ROWS) {
            const float *a = w + m / CAMEO_TILE_ROWS * CAMEO_TILE_ROWS * all +
                             k0 * CAMEO_TILE_ROWS + m % CAMEO_TILE_ROWS;
            const int64_t height = rows - m < CAMEO_ROWS ? rows - m : CAMEO_ROWS;
            for (int64_t n = n0; n < n1; n += PANEL) {
                const int64_t width = n1 - n < PANEL ? n1 - n : PANEL;
                cameo_tiles[height - 1][(width + CAMEO_LANES - 1) / CAMEO_LANES - 1](
                    nk, a, panels + (n - n0) * CAMEO_CONV_K, PANEL, y + m * row + n, row, width,
                    k0 > 0);
            }
        }
    }
    if (all <= 0)
        for (int64_t m = 0; m < rows; m++)
            memset(y + m * row + n0, 0, (size_t)(n1 - n0) * sizeof *y);
}

/* `vectors` neighbouring vectors of a row of one plane. */
static inline __attribute__((always_inline)) void cameo_depthwise_part(
    const float *x, int64_t taps, const int64_t *places, const float *w, float *y, int64_t width,
    int vectors)
{
    cameo_vec sums[4] = {{0}, {0}, {0}, {0}};
    for (int64_t t = 0; t < taps; t++) {
        const float *from = x + places[t], factor = w[t];
        for (int v = 0; v < vectors; v++)
            sums[v] += factor * ((const cameo_vec *)from)[v];
    }
    for (int v = 0; v < vectors; v++)
        if ((v + 1) * CAMEO_LANES <= width)
            ((cameo_vec *)y)[v] = sums[v];
        else
            memcpy(y + v * CAMEO_LANES, &sums[v], (size_t)(width - v * CAMEO_LANES) * sizeof *y);
}

/* One plane of y by one window. v: a copy, with one channel. wt: strides of the window in w. */
static __attribute__((noinline, unused)) void cameo_depthwise(const cameo_conv_view *v, const float *w,
                                                              const int64_t *wt, float *y)
{
    const int64_t taps = v->taps[0] * v->taps[1] * v->taps[2];
    int64_t places[CAMEO_CONV_TAPS];
    float window[CAMEO_CONV_TAPS];
    for (int64_t t = 0; t < taps; t++) {
        places[t] = cameo_conv_place(v, t);
        window[t] = w[t / v->taps[2] / v->taps[1] * wt[0] + t / v->taps[2] % v->taps[1] * wt[1] +
                      t % v->taps[2] * wt[2]];
    }
    for (int64_t i = 0; i < v->out[0]; i++)
        for (int64_t j = 0; j < v->out[1]; j++, y += v->out[2]) {
            const float *x = v->x + i * v->at[0] + j * v->at[1];
            for (int64_t k = 0; k < v->out[2]; k += 4 * CAMEO_LANES) {
                const int64_t left = v->out[2] - k;
                if (left > 3 * CAMEO_LANES)
                    cameo_depthwise_part(x + k, taps, places, window, y + k,
                                         left < 4 * CAMEO_LANES ? left : 4 * CAMEO_LANES, 4);
                else if (left > 2 * CAMEO_LANES)
                    cameo_depthwise_part(x + k, taps, places, window, y + k, left, 3);
                else if (left > CAMEO_LANES)
                    cameo_depthwise_part(x + k, taps, places, window, y + k, left, 2);
                else
                    cameo_depthwise_part(x + k, taps, places, window, y + k, left, 1);
            }
        }
}

#endif
