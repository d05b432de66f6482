/* Planes by windows of any size (cameo_depthwise.h): some rows of the output are summed side by
 * side, so that an element of x is loaded once for all rows of the window that it is in, and a
 * weight once for all rows of the output. */
#ifndef CAMEO_TALL_H
#define CAMEO_TALL_H

#include "cameo_planes.h"

enum {
    CAMEO_TALL_FEW = 7,                                 /* rows of the output side by side, or */
    CAMEO_TALL = CAMEO_LANES < 16 ? 7 : 14,             /* so many: sums in registers */
    CAMEO_TALL_TAPS = 7,                                /* rows of a window, the most */
    CAMEO_TALL_ROWS = CAMEO_TALL + CAMEO_TALL_TAPS - 1, /* of x that both reach */
};

typedef struct cameo_tall {
    const float *rows[CAMEO_TALL_ROWS]; /* NULL: not there */
    const float *w;                     /* of the first row of the window */
    int64_t next, columns;              /* from one to the next; columns of a row, */
    int64_t stride, up;                 /* by which windows move along a row, and from row to row */
    int64_t apart;                      /* rows of the output from one that is summed to the next */
    int64_t places[CAMEO_CONV_TAPS];    /* where columns are in a row of x, */
    cameo_mask masks[CAMEO_CONV_TAPS];  /* and what of x there is for them */
    cameo_vec sums[CAMEO_TALL];
} cameo_tall;

/* Rows of a window, as many as `taps`, added to `high` rows of the output. */
static inline __attribute__((always_inline)) void cameo_tall_of(cameo_tall *t, const int taps,
                                                                const int high, const int stride)
{
    cameo_vec sums[CAMEO_TALL], w[CAMEO_TALL_TAPS];
    const cameo_vec zero = {0};
#pragma GCC unroll 14
    for (int i = 0; i < high; i++)
        sums[i] = t->sums[i];
    for (int64_t b = 0; b < t->columns; b++) {
        const int64_t at = t->places[b];
#pragma GCC unroll 7
        for (int a = 0; a < taps; a++)
            w[a] = cameo_held(t->w[a * t->next + b] - zero);
#pragma GCC unroll 20
        for (int r = 0; r < high + taps - 1; r++) {
            if (!t->rows[r])
                continue;
            const cameo_vec x = cameo_held(cameo_take(t->rows[r] + at, stride, t->masks[b]));
#pragma GCC unroll 7
            for (int a = 0; a < taps; a++)
                if (r - a >= 0 && r - a < high)
                    sums[r - a] += w[a] * x;
        }
    }
#pragma GCC unroll 14
    for (int i = 0; i < high; i++)
        t->sums[i] = sums[i];
}

static inline __attribute__((always_inline)) void cameo_tall_taps(cameo_tall *t, int64_t taps,
                                                                  const int high, const int stride)
{
    if (taps == CAMEO_TALL_TAPS)
        cameo_tall_of(t, CAMEO_TALL_TAPS, high, stride);
    else if (taps == 5)
        cameo_tall_of(t, 5, high, stride);
    else if (taps == 4)
        cameo_tall_of(t, 4, high, stride);
    else if (taps == 3)
        cameo_tall_of(t, 3, high, stride);
    else
        cameo_tall_of(t, 1, high, stride);
}

/* Of `left` rows of a window those that are added at once, as many as there is a function for. */
static inline __attribute__((unused)) int64_t cameo_tall_part(int64_t left)
{
    if (left == 9)
        return 5;
    return left >= CAMEO_TALL_TAPS ? CAMEO_TALL_TAPS : left == 6 ? 3 : left == 2 ? 1 : left;
}

static __attribute__((noinline, unused)) void cameo_tall_sum(cameo_tall *t, int64_t taps,
                                                             int64_t rows)
{
    if (t->stride == 2)
        cameo_tall_taps(t, taps, CAMEO_TALL, 2);
    else if (rows > CAMEO_TALL_FEW && CAMEO_TALL > CAMEO_TALL_FEW)
        cameo_tall_taps(t, taps, CAMEO_TALL, 1);
    else
        cameo_tall_taps(t, taps, CAMEO_TALL_FEW, 1);
}

/* The rows of one plane of a window, w, added to n rows of the output. x: what row 0 of `high` rows
 * begins with, of which row `first` is what the window's first row is for the first of these. */
static inline __attribute__((always_inline)) void
cameo_tall_plane(cameo_tall *t, const cameo_conv *c, const float *x, const float *w, int64_t high,
                 int64_t first, int64_t n, int64_t ahead)
{
    const int64_t rows = c->taps[1], stride = c->stride[1] * t->apart, down = c->dilation[1];
    /* those that are as far from one another as windows move see the same rows of x */
    const int64_t by = down == stride ? 1 : down == 1 ? stride : rows;
    const int64_t parts = by < rows ? by : rows;
    t->next = by * t->columns;
    for (int64_t part = 0; part < parts; part++) {
        const int64_t taps = (rows - part + by - 1) / by;
        for (int64_t m = 0, some; m < taps; m += some) {
            int64_t q = first + part * down + m * stride;
            some = cameo_tall_part(taps - m);
            t->w = w + (part + m * by) * t->columns;
            for (int64_t r = 0; r < CAMEO_TALL_ROWS; r++, q += stride) {
                const int there = r < n + some - 1 && q >= 0 && q < high;
                t->rows[r] = there ? x + q * t->up : NULL;
                if (there && ahead)
                    __builtin_prefetch(x + q * t->up + ahead);
            }
            cameo_tall_sum(t, some, n);
        }
    }
}

/* How many of rows i .. end are summed side by side, which begin with 0. */
static inline __attribute__((always_inline)) int64_t cameo_tall_begin(cameo_tall *t, int64_t i,
                                                                      int64_t end)
{
    const int64_t rows = (end - i + t->apart - 1) / t->apart;
    for (int r = 0; r < CAMEO_TALL; r++)
        t->sums[r] = (cameo_vec){0};
    return rows < CAMEO_TALL ? rows : CAMEO_TALL;
}

/* Rows that windows have apart see the same rows of x as rows of the output that are as far from
 * one another: these are summed side by side, unless rows are to be stored in order. */
static inline __attribute__((always_inline)) int64_t cameo_tall_apart(const cameo_conv *c,
                                                                      const cameo_plane *p)
{
    return c->stride[1] == 1 && p->columns >= CAMEO_LANES ? c->dilation[1] : 1;
}

/* LANES columns of the output from k on, in rows j .. j + n, from x itself: windows that move by
 * one column or two. */
static __attribute__((noinline, unused)) void cameo_tall_own(const cameo_planes *g, const float *x,
                                                             const float *w, int64_t j, int64_t n,
                                                             int64_t k, cameo_plane *p)
{
    const cameo_conv *c = g->sizes;
    const cameo_ends ends = cameo_plane_ends(p);
    cameo_tall t;
    t.columns = c->taps[2];
    t.stride = c->stride[2];
    t.up = c->step[1];
    t.apart = cameo_tall_apart(c, p);
    cameo_masks(c, k, t.columns, (int)t.stride, 0, t.masks);
    for (int64_t b = 0; b < t.columns; b++)
        t.places[b] = k * t.stride + b * c->dilation[2] - c->pad[2];
    for (int64_t first = j; first < j + t.apart; first++)
        for (int64_t i = first, some; i < j + n; i += some * t.apart) {
            some = cameo_tall_begin(&t, i, j + n);
            cameo_tall_plane(&t, c, x, w, c->in[1], i * c->stride[1] - c->pad[1], some, g->ahead);
            for (int64_t r = 0; r < some; r++)
                cameo_plane_store(&ends, (i + r * t.apart) * p->columns + k, t.sums[r]);
        }
}

/* The same of a copy, whose places are known: any window. x: what row j reads first. */
static __attribute__((noinline, unused)) void cameo_tall_copied(const cameo_planes *g,
                                                                const float *x, const float *w,
                                                                int64_t j, int64_t n, int64_t k,
                                                                cameo_plane *p)
{
    const cameo_conv *c = g->sizes;
    const cameo_ends ends = cameo_plane_ends(p);
    const int64_t plane = c->taps[1] * c->taps[2];
    cameo_tall t;
    t.columns = c->taps[2];
    t.stride = 1;
    t.up = g->width;
    t.apart = cameo_tall_apart(c, p);
    for (int64_t b = 0; b < t.columns; b++) {
        t.places[b] = k + g->places[b];
        t.masks[b] = ~(cameo_mask){0};
    }
    for (int64_t first = 0; first < t.apart; first++)
        for (int64_t i = first, some; i < n; i += some * t.apart) {
            some = cameo_tall_begin(&t, i, n);
            for (int64_t a = 0; a < c->taps[0]; a++)
                cameo_tall_plane(&t, c, x + g->places[a * plane], w + a * plane, INT64_MAX,
                                 i * c->stride[1], some, 0);
            for (int64_t r = 0; r < some; r++)
                cameo_plane_store(&ends, (j + i + r * t.apart) * p->columns + k, t.sums[r]);
        }
}

/* ---- windows of one row ---- */

enum { CAMEO_LINE = 4 }; /* vectors, or rows, that are summed beside one another */

/* `high` rows of the output from j on, whose rows of x are there, `many` vectors of each from
 * column k on. inside: no window reaches beyond a row. */
static inline __attribute__((always_inline)) void
cameo_tall_line_of(const cameo_planes *g, const float *x, const float *w, int64_t j, int64_t k,
                   const int high, const int many, const int stride, const int inside,
                   cameo_plane *p)
{
    const cameo_conv *c = g->sizes;
    const int64_t first = k * stride - c->pad[2], apart = c->dilation[2], taps = c->taps[2];
    const int64_t next = c->stride[1] * c->step[1];
    const cameo_ends ends = cameo_plane_ends(p);
    cameo_vec sums[CAMEO_LINE] = {{0}, {0}, {0}, {0}};
    cameo_mask at = {0}, mask = ~(cameo_mask){0};
    for (int i = 0; i < CAMEO_LANES; i++)
        at[i] = i * stride + (int)first;
    x += (j * c->stride[1] - c->pad[1]) * c->step[1] + first;
    for (int r = 0; r < high; r++)
        __builtin_prefetch(x + r * next + g->ahead);
    for (int64_t t = 0; t < taps; t++, x += apart, at += (int)apart) {
        for (int v = 0; v < many; v++) {
            const cameo_mask of = at + v * CAMEO_LANES * stride;
            if (!inside)
                mask = (of >= 0) & (of < (int)c->in[2]);
            for (int r = 0; r < high; r++)
                sums[r * many + v] +=
                    w[t] * cameo_take(x + r * next + v * CAMEO_LANES * stride, stride, mask);
        }
    }
    for (int r = 0; r < high; r++)
        for (int v = 0; v < many; v++)
            cameo_plane_store(&ends, (j + r) * p->columns + k + v * CAMEO_LANES,
                              sums[r * many + v]);
}

/* All columns of `high` rows, which is 1 or CAMEO_LINE. The last vectors of a row lie over those
 * before, so that they end where the row does. */
static inline __attribute__((always_inline)) void
cameo_tall_line_rows(const cameo_planes *g, const float *x, const float *w, int64_t j, int64_t high,
                     const int stride, cameo_plane *p)
{
    enum { WIDE = CAMEO_LINE * CAMEO_LANES };
    const cameo_conv *c = g->sizes;
    const int64_t columns = p->columns, last = columns > CAMEO_LANES ? columns - CAMEO_LANES : 0;
    const int64_t reach = (WIDE - 1) * stride + (c->taps[2] - 1) * c->dilation[2] + 1;
    int64_t k = 0;
    while (high == 1 && columns >= WIDE && columns - k >= WIDE / 2) {
        const int64_t at = k + WIDE <= columns ? k : columns - WIDE;
        const int64_t first = at * stride - c->pad[2];
        if (first >= 0 && first + reach <= c->in[2])
            cameo_tall_line_of(g, x, w, j, at, 1, CAMEO_LINE, stride, 1, p);
        else
            cameo_tall_line_of(g, x, w, j, at, 1, CAMEO_LINE, stride, 0, p);
        k = at + WIDE;
    }
    for (; k < columns; k += CAMEO_LANES)
        if (high > 1)
            cameo_tall_line_of(g, x, w, j, k < last ? k : last, CAMEO_LINE, 1, stride, 0, p);
        else
            cameo_tall_line_of(g, x, w, j, k < last ? k : last, 1, 1, stride, 0, p);
}

/* Rows j .. j + n; those whose row of x is not there as any other window has them. */
static __attribute__((noinline, unused)) void cameo_tall_line(const cameo_planes *g, const float *x,
                                                              const float *w, int64_t j, int64_t n,
                                                              cameo_plane *p)
{
    const cameo_conv *c = g->sizes;
    const int64_t end = j + n, last = p->columns > CAMEO_LANES ? p->columns - CAMEO_LANES : 0;
    const int narrow = p->columns < 2 * CAMEO_LINE * CAMEO_LANES;
    for (int64_t high; j < end; j += high) {
        const int64_t q = j * c->stride[1] - c->pad[1];
        high = 1;
        if (q < 0 || q >= c->in[1]) {
            for (int64_t k = 0; k < p->columns; k += CAMEO_LANES)
                cameo_tall_own(g, x, w, j, 1, k < last ? k : last, p);
            continue;
        }
        if (narrow && j + CAMEO_LINE <= end && q + (CAMEO_LINE - 1) * c->stride[1] < c->in[1])
            high = CAMEO_LINE;
        if (c->stride[2] == 1)
            cameo_tall_line_rows(g, x, w, j, high, 1, p);
        else
            cameo_tall_line_rows(g, x, w, j, high, 2, p);
    }
}

static __attribute__((unused)) const cameo_other_windows cameo_tall_windows = {
    .own = cameo_tall_own,
    .copied = cameo_tall_copied,
    .line = cameo_tall_line,
};

/* ---- windows of three dims ---- */

/* `high` rows of the output, from a copy, by windows of `taps` rows that move by `stride` rows: of
 * a column of the window in one of its planes after the other. */
static inline __attribute__((always_inline)) void
cameo_cube_rows(const cameo_planes *g, const float *x, const float *w, const cameo_ends *ends,
                int64_t at, int64_t columns, const int taps, const int stride, const int high)
{
    const int64_t next = g->width, across = g->sizes->taps[2], planes = g->sizes->taps[0];
    const cameo_vec zero = {0};
    cameo_vec sums[CAMEO_TALL], of[5];
#pragma GCC unroll 14
    for (int i = 0; i < high; i++)
        sums[i] = zero;
    for (int64_t a = 0; a < planes; a++, w += taps * across)
        for (int64_t b = 0; b < across; b++) {
            const float *row = x + g->places[a * taps * across + b];
#pragma GCC unroll 5
            for (int t = 0; t < taps; t++)
                of[t] = cameo_held(w[t * across + b] - zero);
#pragma GCC unroll 32
            for (int r = 0; r < (high - 1) * stride + taps; r++, row += next) {
                const cameo_vec v = cameo_held(*(const cameo_vec *)row);
#pragma GCC unroll 5
                for (int t = 0; t < taps; t++)
                    if (r >= t && (r - t) % stride == 0 && (r - t) / stride < high)
                        sums[(r - t) / stride] += of[t] * v;
            }
        }
#pragma GCC unroll 14
    for (int i = 0; i < high; i++)
        cameo_plane_store(ends, at + i * columns, sums[i]);
}

/* n rows from j on, CAMEO_TALL_FEW or more, of which the last ones lie over those before them. */
static inline __attribute__((always_inline)) void
cameo_cube_of(const cameo_planes *g, const float *x, const float *w, int64_t j, int64_t n,
              int64_t k, const int taps, const int stride, cameo_plane *p)
{
    const cameo_ends ends = cameo_plane_ends(p);
    const int64_t columns = p->columns, next = stride * g->width;
    for (int64_t i = 0, high; i < n; i += high) {
        const int many = CAMEO_TALL > CAMEO_TALL_FEW && n - i > CAMEO_TALL_FEW && n >= CAMEO_TALL;
        high = many ? CAMEO_TALL : CAMEO_TALL_FEW;
        i = i + high <= n ? i : n - high;
        const float *from = x + k + i * next;
        const int64_t at = (j + i) * columns + k;
        if (many)
            cameo_cube_rows(g, from, w, &ends, at, columns, taps, stride, CAMEO_TALL);
        else
            cameo_cube_rows(g, from, w, &ends, at, columns, taps, stride, CAMEO_TALL_FEW);
    }
}

/* As cameo_tall_copied. */
static __attribute__((noinline, unused)) void cameo_cube_copied(const cameo_planes *g,
                                                                const float *x, const float *w,
                                                                int64_t j, int64_t n, int64_t k,
                                                                cameo_plane *p)
{
    const cameo_conv *c = g->sizes;
    const int64_t taps = c->dilation[1] == 1 && n >= CAMEO_TALL_FEW ? c->taps[1] : 0;
    if (c->stride[1] == 1 && taps == 3)
        cameo_cube_of(g, x, w, j, n, k, 3, 1, p);
    else if (c->stride[1] == 1 && taps == 5)
        cameo_cube_of(g, x, w, j, n, k, 5, 1, p);
    else if (c->stride[1] == 2 && taps == 3)
        cameo_cube_of(g, x, w, j, n, k, 3, 2, p);
    else if (c->stride[1] == 1 && c->taps[1] == 1 && n >= CAMEO_TALL_FEW)
        cameo_cube_of(g, x, w, j, n, k, 1, 1, p);
    else
        cameo_tall_copied(g, x, w, j, n, k, p);
}

static __attribute__((unused)) const cameo_other_windows cameo_cube_windows = {
    .own = cameo_tall_own,
    .copied = cameo_cube_copied,
    .line = cameo_tall_line,
};

#endif
