/* Planes of float32 that each have a window of their own, in float64: some rows of x are widened
 * with their padding, a part for each step of the window along them, and what is read at one place
 * counts for several rows of the output at once. */
#ifndef CAMEO_WIDE_OWN_H
#define CAMEO_WIDE_OWN_H

#include "cameo_wide_planes.h"

enum {
    CAMEO_WIDE_OWN_ROWS = 4,    /* of a tile */
    CAMEO_WIDE_OWN_ROOM = 2048, /* elements of widened rows that stay in the first cache */
    CAMEO_WIDE_OWN_MOST = 5,    /* places of a window in a line, at most */
    CAMEO_WIDE_OWN_STEPS = 2    /* between windows, at most */
};

typedef struct cameo_wide_own {
    const float *x; /* the plane */
    const cameo_wide_window *w;
    int64_t taps, down, right; /* places of a window in a line, its steps */
    int64_t pitch;             /* elements of a part of a widened row */
    int64_t rows;              /* of the output, of those that are widened at once */
    double start;              /* what sums begin with */
    double a[CAMEO_WIDE_OWN_MOST * CAMEO_WIDE_OWN_MOST];
} cameo_wide_own;

/* Each second one of n elements of which there are two vectors of floats or more, reading nothing
 * behind the last. */
static inline __attribute__((always_inline)) void cameo_wide_halve(const float *x, int64_t n,
                                                                   double *to)
{
#if defined(__AVX512F__)
#define CAMEO_WIDE_EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define CAMEO_WIDE_ODD 1, 3, 5, 7, 9, 11, 13, 15
#elif defined(__AVX__)
#define CAMEO_WIDE_EVEN 0, 2, 4, 6
#define CAMEO_WIDE_ODD 1, 3, 5, 7
#else
#define CAMEO_WIDE_EVEN 0, 2
#define CAMEO_WIDE_ODD 1, 3
#endif
    const int64_t last = n - CAMEO_WIDE_LANES;
    for (int64_t i = 0; i < last; i += CAMEO_WIDE_LANES) {
        const cameo_wide_narrow *v = (const cameo_wide_narrow *)(x + 2 * i);
        *(cameo_wide_vec *)(to + i) = __builtin_convertvector(
            __builtin_shufflevector(v[0], v[1], CAMEO_WIDE_EVEN), cameo_wide_vec);
    }
    const cameo_wide_narrow *v = (const cameo_wide_narrow *)(x + 2 * last - 1);
    *(cameo_wide_vec *)(to + last) = __builtin_convertvector(
        __builtin_shufflevector(v[0], v[1], CAMEO_WIDE_ODD), cameo_wide_vec);
#undef CAMEO_WIDE_EVEN
#undef CAMEO_WIDE_ODD
}

/* n elements that lie `right` apart. */
static inline __attribute__((always_inline)) void cameo_wide_own_copy(const float *x, int64_t n,
                                                                      const int right, double *to)
{
    const int64_t last = n - CAMEO_WIDE_LANES;
    if (last < 0 || (right == 2 && last == 0)) {
        for (int64_t i = 0; i < n; i++)
            to[i] = (double)x[i * right];
        return;
    }
    if (right == 2) {
        cameo_wide_halve(x, n, to);
        return;
    }
    for (int64_t i = 0; i < last; i += CAMEO_WIDE_LANES)
        *(cameo_wide_vec *)(to + i) = cameo_wide_widen(x + i);
    *(cameo_wide_vec *)(to + last) = cameo_wide_widen(x + last);
}

/* Elements of a part that stand in front of x's. */
static inline __attribute__((always_inline)) int64_t cameo_wide_own_low(const cameo_wide_own *s,
                                                                        int64_t part,
                                                                        const int right)
{
    const int64_t before = s->w->pad[2] - part;
    return before > 0 ? (before + right - 1) / right : 0;
}

/* The rows of x that rows of the output from `first` on read. */
static inline __attribute__((always_inline)) void
cameo_wide_own_lines(const cameo_wide_own *s, int64_t first, double *to, const int right)
{
    const cameo_wide_window *w = s->w;
    const int64_t count = (s->rows - 1) * s->down + s->taps, above = first * s->down - w->pad[1];
    for (int part = 0; part < right; part++) {
        const int64_t low = cameo_wide_own_low(s, part, right);
        const int64_t from = low * right + part - w->pad[2];
        const int64_t n = cameo_wide_least((w->in[2] - from + right - 1) / right, s->pitch - low);
        for (int64_t r = 0; r < count; r++) {
            double *line = to + (r * right + part) * s->pitch;
            const int inside = above + r >= 0 && above + r < w->in[1];
            const int64_t lead = inside ? low : s->pitch, end = inside ? low + n : s->pitch;
            for (int64_t i = 0; i < lead; i += CAMEO_WIDE_LANES)
                *(cameo_wide_vec *)(line + i) = (cameo_wide_vec){0};
            for (int64_t i = end / CAMEO_WIDE_LANES * CAMEO_WIDE_LANES; i < s->pitch;
                 i += CAMEO_WIDE_LANES)
                *(cameo_wide_vec *)(line + i) = (cameo_wide_vec){0};
            if (inside)
                cameo_wide_own_copy(s->x + (above + r) * w->step[1] + from, n, right, line + low);
        }
    }
}

/* `height` rows of the output from their column `column` on, x's rows being at `rows`. */
static inline __attribute__((always_inline)) void
cameo_wide_own_tile(const cameo_wide_own *s, const double *rows, double *y, const int height,
                    const int taps, const int down, const int right)
{
    cameo_wide_vec sums[CAMEO_WIDE_OWN_ROWS];
#pragma GCC unroll 4
    for (int i = 0; i < height; i++)
        sums[i] = s->start + (cameo_wide_vec){0};
#pragma GCC unroll 9
    for (int r = 0; r < (height - 1) * down + taps; r++)
#pragma GCC unroll 5
        for (int t = 0; t < taps; t++) {
            const double *at = rows + (r * right + t % right) * s->pitch + t / right;
            const cameo_wide_vec v = *(const cameo_wide_vec *)at;
#pragma GCC unroll 4
            for (int i = 0; i < height; i++)
                if (r - i * down >= 0 && r - i * down < taps)
                    sums[i] += s->a[(r - i * down) * taps + t] * v;
        }
#pragma GCC unroll 4
    for (int i = 0; i < height; i++)
        *(cameo_wide_vec *)(y + i * s->w->out[2]) = sums[i];
}

/* The rows of the output from `first` on that are widened, as tiles of `height` rows. */
static inline __attribute__((always_inline)) void
cameo_wide_own_rows(const cameo_wide_own *s, const double *rows, double *y, const int height,
                    const int taps, const int down, const int right)
{
    const int64_t last = s->w->out[2] - CAMEO_WIDE_LANES;
    for (int64_t i = 0; i < s->rows; i += height) {
        const int64_t at = cameo_wide_least(i, s->rows - height);
        const double *from = rows + at * down * right * s->pitch;
        double *to = y + at * s->w->out[2];
        for (int64_t x = 0; x < last; x += CAMEO_WIDE_LANES)
            cameo_wide_own_tile(s, from + x, to + x, height, taps, down, right);
        cameo_wide_own_tile(s, from + last, to + last, height, taps, down, right);
    }
}

static inline __attribute__((always_inline)) void cameo_wide_own_steps(const cameo_wide_own *s,
                                                                       const double *rows,
                                                                       double *y, const int taps,
                                                                       const int step)
{
    if (s->rows >= CAMEO_WIDE_OWN_ROWS)
        cameo_wide_own_rows(s, rows, y, CAMEO_WIDE_OWN_ROWS, taps, step, step);
    else
        cameo_wide_own_rows(s, rows, y, 1, taps, step, step);
}

static __attribute__((noinline, unused)) CAMEO_WIDE_WHOLE void
cameo_wide_own_sum(const cameo_wide_own *s, const double *rows, double *y)
{
    if (s->taps == 3 && s->right == 1)
        cameo_wide_own_steps(s, rows, y, 3, 1);
    else if (s->taps == 3)
        cameo_wide_own_steps(s, rows, y, 3, 2);
    else if (s->right == 1)
        cameo_wide_own_steps(s, rows, y, 5, 1);
    else
        cameo_wide_own_steps(s, rows, y, 5, 2);
}

static __attribute__((noinline, unused)) CAMEO_WIDE_WHOLE void
cameo_wide_own_fill(const cameo_wide_own *s, int64_t first, double *rows)
{
    if (s->right == 1)
        cameo_wide_own_lines(s, first, rows, 1);
    else
        cameo_wide_own_lines(s, first, rows, 2);
}

/* Squares of 3 or 5 places, with steps of 1 or 2 in both dims, of planes no narrower than a vector.
 */
static inline __attribute__((unused)) int cameo_wide_own_has(const cameo_wide *p)
{
    const cameo_wide_window *w = p->window;
    const int64_t taps = w->taps[2], step = w->stride[2];
    return p->rows == 1 && p->narrow_b && p->fresh && p->depth == taps * taps && w->out[0] == 1 &&
           w->taps[0] == 1 && w->in[0] == 1 && w->pad[0] == 0 && w->taps[1] == taps &&
           (taps == 3 || taps == 5) && w->stride[1] == step && (step == 1 || step == 2) &&
           w->dilation[1] == 1 && w->dilation[2] == 1 && w->step[2] == 1 &&
           w->out[2] >= CAMEO_WIDE_LANES && w->pad[2] <= taps;
}

/* All of the only row of y. 0: it is no such plane, and nothing is done. `room` is for what is
 * widened: CAMEO_WIDE_ROOM elements. */
static __attribute__((noinline, unused)) int cameo_wide_own_take(const cameo_wide *p, double *room)
{
    if (!cameo_wide_own_has(p))
        return 0;
    const cameo_wide_window *w = p->window;
    cameo_wide_own s = {.x = p->narrow_b,
                        .w = w,
                        .taps = w->taps[2],
                        .down = w->stride[1],
                        .right = w->stride[2]};
    cameo_wide_starts(p, 0, 1, &s.start);
    s.pitch = (w->out[2] + s.taps + CAMEO_WIDE_LANES - 1) / CAMEO_WIDE_LANES * CAMEO_WIDE_LANES;
    const int64_t row = s.pitch * s.right;
    const int64_t fit = (CAMEO_WIDE_OWN_ROOM / row - s.taps) / s.down + 1;
    const int64_t least = ((CAMEO_WIDE_OWN_ROWS - 1) * s.down + s.taps) * row;
    if (least + CAMEO_WIDE_LANES > CAMEO_WIDE_ROOM)
        return 0;
    const int64_t tall = fit > CAMEO_WIDE_OWN_ROWS ? fit / CAMEO_WIDE_OWN_ROWS * CAMEO_WIDE_OWN_ROWS
                                                   : CAMEO_WIDE_OWN_ROWS;
    for (int64_t k = 0; k < p->depth; k++)
        s.a[k] = cameo_wide_left(p, 0, k);
    s.rows = cameo_wide_least(tall, w->out[1]);
    /* where x's first elements are whole vectors from the beginning */
    double *const rows =
        room + (CAMEO_WIDE_LANES - cameo_wide_own_low(&s, 0, (int)s.right) % CAMEO_WIDE_LANES) %
                   CAMEO_WIDE_LANES;
    for (int64_t y = 0; y < w->out[1]; y += s.rows) {
        const int64_t first = cameo_wide_least(y, w->out[1] - s.rows);
        cameo_wide_own_fill(&s, first, rows);
        cameo_wide_own_sum(&s, rows, p->y + first * w->out[2]);
    }
    return 1;
}

#endif
