/* Products of float64: y[m][n] += sum over k of a[m][k] * b[k][n], where a and b are matrices with
 * any strides, or b is made of the windows of x that a convolution slides over it. Factors of
 * float32 are widened where they are packed, a block at a time, weights also from the panels that
 * products of float32 read. */
#ifndef CAMEO_WIDE_H
#define CAMEO_WIDE_H

#include "cameo_wide_plane_lines.h"
#include "cameo_wide_own.h"

/* The channel and the place of the window that k is. */
static inline __attribute__((unused)) int64_t cameo_wide_tap(const cameo_wide_window *w, int64_t k,
                                                             int64_t *tap)
{
    tap[0] = k / w->taps[2] / w->taps[1] % w->taps[0];
    tap[1] = k / w->taps[2] % w->taps[1];
    tap[2] = k % w->taps[2];
    return k / w->taps[2] / w->taps[1] / w->taps[0];
}

static inline __attribute__((unused)) void cameo_wide_place(const cameo_wide_window *w, int64_t n,
                                                            int64_t *at)
{
    at[0] = n / w->out[2] / w->out[1];
    at[1] = n / w->out[2] % w->out[1];
    at[2] = n % w->out[2];
}

/* Columns of a block that lie in one row of the output: where x is for them at the window's first
 * place, as places in each dim. */
typedef struct cameo_wide_run {
    int64_t place[3], width;
} cameo_wide_run;

/* Of columns n .. n + width; how many runs they are. */
static inline __attribute__((unused)) int64_t cameo_wide_runs(const cameo_wide_window *w, int64_t n,
                                                              int64_t width, cameo_wide_run *runs)
{
    int64_t at[3], count = 0;
    cameo_wide_place(w, n, at);
    for (int64_t part; width > 0; width -= part) {
        cameo_wide_run *r = &runs[count++];
        const int64_t left = w->out[2] - at[2];
        r->width = part = left < width ? left : width;
        for (int d = 0; d < 3; d++)
            r->place[d] = at[d] * w->stride[d] - w->pad[d];
        at[2] = 0;
        if (++at[1] == w->out[1]) {
            at[1] = 0;
            at[0]++;
        }
    }
    return count;
}

/* A run at one place of the window, `x` being where its channel begins. */
static inline __attribute__((always_inline)) void cameo_wide_stretch(const cameo_wide *p,
                                                                     const cameo_wide_run *r,
                                                                     int64_t x, const int64_t *tap,
                                                                     double *to)
{
    const cameo_wide_window *w = p->window;
    const int64_t s = w->stride[2], first = r->place[2] + tap[2], left = w->in[2] - first;
    int64_t low = 0, high = 0;
    if ((uint64_t)(r->place[0] + tap[0]) < (uint64_t)w->in[0] &&
        (uint64_t)(r->place[1] + tap[1]) < (uint64_t)w->in[1]) {
        low = first >= 0 ? 0 : s == 1 ? -first : (s - 1 - first) / s;
        low = low < r->width ? low : r->width;
        high = left <= 0 ? 0 : s == 1 ? left : (left + s - 1) / s;
        high = high < r->width ? high : r->width;
        high = high > low ? high : low;
    }
    x += (r->place[0] + tap[0]) * w->step[0] + (r->place[1] + tap[1]) * w->step[1] +
         first * w->step[2];
    for (int64_t i = 0; i < low; i++)
        to[i] = 0;
    if (s * w->step[2] == 1)
        cameo_wide_copy(p, x + low, high - low, to + low);
    else
        for (int64_t i = low; i < high; i++)
            to[i] = cameo_wide_one(p, x + i * s * w->step[2]);
    for (int64_t i = high; i < r->width; i++)
        to[i] = 0;
}

/* The next place of the window, behind the last one the first of the next channel. */
static inline __attribute__((unused)) int64_t cameo_wide_next(const cameo_wide_window *w,
                                                              int64_t *tap)
{
    for (int d = 2; d >= 0; d--) {
        if (++tap[d] < w->taps[d])
            return 0;
        tap[d] = 0;
    }
    return w->channel;
}

/* A row of b, where it is windows, at one place of the window; `x` is where its channel begins. */
static inline __attribute__((unused)) void cameo_wide_windows(const cameo_wide *p, int64_t x,
                                                              const int64_t *tap,
                                                              const cameo_wide_run *runs,
                                                              int64_t nruns, double *to)
{
    int64_t under[3];
    for (int d = 0; d < 3; d++)
        under[d] = tap[d] * p->window->dilation[d];
    for (int64_t i = 0; i < nruns; i++) {
        cameo_wide_stretch(p, &runs[i], x, under, to);
        to += runs[i].width;
    }
}

/* A row of b whose columns are neighbours from `from` on, in panels `apart` elements from one
 * another; `row` is for the last. */
static inline __attribute__((always_inline)) void cameo_wide_row_panels(const cameo_wide *p,
                                                                        int64_t from, int64_t width,
                                                                        int64_t apart, double *row,
                                                                        double *to)
{
    for (; width >= CAMEO_WIDE_PANEL; width -= CAMEO_WIDE_PANEL, to += apart) {
        for (int v = 0; v < CAMEO_WIDE_PANEL; v += CAMEO_WIDE_LANES)
            *(cameo_wide_vec *)(to + v) = cameo_wide_load(p, from + v);
        from += CAMEO_WIDE_PANEL;
    }
    if (!width)
        return;
    cameo_wide_copy(p, from, width, row);
    memset(row + width, 0, (size_t)(CAMEO_WIDE_PANEL - width) * sizeof *row);
    memcpy(to, row, CAMEO_WIDE_PANEL * sizeof *row);
}

/* Is all that a block's one run reads of x at this place of the window inside of x? Then *from is
 * where it begins. */
static inline __attribute__((unused)) int cameo_wide_within(const cameo_wide_window *w,
                                                            const cameo_wide_run *r, int64_t x,
                                                            const int64_t *tap, int64_t *from)
{
    if (w->stride[2] * w->step[2] != 1)
        return 0;
    for (int d = 0; d < 3; d++) {
        const int64_t place = r->place[d] + tap[d] * w->dilation[d];
        if (place < 0 || place + (d == 2 ? r->width - 1 : 0) >= w->in[d])
            return 0;
        x += place * w->step[d];
    }
    *from = x;
    return 1;
}

/* Rows k .. k + depth of b in panels: for each k the columns of a panel side by side. */
static inline __attribute__((unused)) void cameo_wide_pack_b(const cameo_wide *p, int64_t k,
                                                             int64_t depth, int64_t n,
                                                             int64_t width, double *to)
{
    double row[CAMEO_WIDE_N + CAMEO_WIDE_PANEL];
    cameo_wide_run runs[CAMEO_WIDE_N];
    int64_t tap[3] = {0};
    const int64_t nruns = p->window ? cameo_wide_runs(p->window, n, width, runs) : 0;
    int64_t x = p->window ? cameo_wide_tap(p->window, k, tap) * p->window->channel : 0;
    memset(row + width, 0, CAMEO_WIDE_PANEL * sizeof *row);
    for (int64_t i = 0; i < depth; i++) {
        int64_t from = (k + i) * p->bk + n * p->bn;
        const int whole = p->window
                              ? nruns == 1 && cameo_wide_within(p->window, runs, x, tap, &from)
                              : !p->broad.at && p->bn == 1;
        if (p->window && !whole)
            cameo_wide_windows(p, x, tap, runs, nruns, row);
        if (p->window)
            x += cameo_wide_next(p->window, tap);
        if (whole) {
            cameo_wide_row_panels(p, from, width, CAMEO_WIDE_PANEL * depth, row,
                                  to + i * CAMEO_WIDE_PANEL);
            memset(row + width, 0, CAMEO_WIDE_PANEL * sizeof *row);
            continue;
        }
        if (p->broad.at)
            cameo_wide_broad_row(&p->broad, n, width, k + i, row);
        else if (!p->window)
            for (int64_t j = 0; j < width; j++)
                row[j] = cameo_wide_one(p, from + j * p->bn);
        for (int64_t j = 0; j < width; j += CAMEO_WIDE_PANEL)
            for (int v = 0; v < CAMEO_WIDE_PANEL; v += CAMEO_WIDE_LANES)
                *(cameo_wide_vec *)(to + j * depth + i * CAMEO_WIDE_PANEL + v) =
                    *(const cameo_wide_vec *)(row + j + v);
    }
}

enum { CAMEO_WIDE_FEW = 2 }; /* rows for which b is not worth packing */

/* One row of y where b's rows (bn is 1) or columns (bk is 1) are neighbours. What is left over by
 * whole vectors is done for all columns one by one. */
static __attribute__((noinline, unused)) void cameo_wide_row(const cameo_wide *p, int64_t m,
                                                             int64_t n0, int64_t n1)
{
    const double *a = p->a ? p->a + m * p->am : NULL;
    const float *narrow = p->narrow_a ? p->narrow_a + m * p->am : NULL;
    double *y = p->y + m * p->ym;
    if (p->broad.at) {
        cameo_wide_broad_product(&p->broad, a, narrow, p->ak, y, n0, n1);
        return;
    }
    for (int64_t k = 0; k < p->depth && p->bn == 1; k++) {
        const double x = cameo_wide_left(p, m, k);
        int64_t n = n0;
        for (; n + CAMEO_WIDE_LANES <= n1; n += CAMEO_WIDE_LANES)
            *(cameo_wide_vec *)(y + n) += x * cameo_wide_load(p, k * p->bk + n);
        for (; n < n1; n++)
            y[n] += x * (p->b ? p->b[k * p->bk + n] : (double)p->narrow_b[k * p->bk + n]);
    }
    for (int64_t n = n0; n < n1 && p->bn != 1; n++) {
        cameo_wide_vec sums = {0};
        const int64_t from = n * p->bn;
        int64_t k = 0;
        for (; k + CAMEO_WIDE_LANES <= p->depth; k += CAMEO_WIDE_LANES) {
            cameo_wide_vec x = {0};
            if (p->ak == 1)
                x = cameo_wide_load_of(narrow, a, k);
            else
                for (int i = 0; i < CAMEO_WIDE_LANES; i++)
                    x[i] = a ? a[(k + i) * p->ak] : (double)narrow[(k + i) * p->ak];
            sums += x * cameo_wide_load(p, from + k);
        }
        for (int i = 0; i < CAMEO_WIDE_LANES; i++)
            y[n] += sums[i];
        for (; k < p->depth; k++)
            y[n] += (a ? a[k * p->ak] : (double)narrow[k * p->ak]) *
                    (p->b ? p->b[from + k] : (double)p->narrow_b[from + k]);
    }
}

/* Columns n0 .. n1 of b, values k .. k + depth: each a row, zeros behind it. */
static inline __attribute__((unused)) void
cameo_wide_turn(const cameo_wide *p, int64_t k, int64_t depth, int64_t n0, int64_t n1, double *to)
{
    double row[CAMEO_WIDE_NARROW] = {0};
    cameo_wide_run runs[CAMEO_WIDE_NARROW];
    int64_t tap[3] = {0};
    const int64_t nruns = p->window ? cameo_wide_runs(p->window, n0, n1 - n0, runs) : 0;
    int64_t x = p->window ? cameo_wide_tap(p->window, k, tap) * p->window->channel : 0;
    memset(to, 0, CAMEO_WIDE_NARROW * CAMEO_WIDE_DEEP * sizeof *to);
    for (int64_t i = 0; i < depth; i++) {
        if (p->window) {
            cameo_wide_windows(p, x, tap, runs, nruns, row);
            x += cameo_wide_next(p->window, tap);
        } else
            for (int64_t j = 0; j < n1 - n0; j++)
                row[j] = cameo_wide_one(p, (k + i) * p->bk + (n0 + j) * p->bn);
        for (int64_t j = 0; j < n1 - n0; j++)
            to[j * CAMEO_WIDE_DEEP + i] = row[j];
    }
}

/* Few columns of windows or of a matrix by rows in panels. */
static __attribute__((noinline, unused)) void
cameo_wide_high_columns(const cameo_wide *p, int64_t m0, int64_t m1, int64_t n0, int64_t n1)
{
    double b[CAMEO_WIDE_NARROW * CAMEO_WIDE_DEEP];
    for (int64_t k = 0; k < p->depth; k += CAMEO_WIDE_DEPTH) {
        const int64_t depth = p->depth - k < CAMEO_WIDE_DEPTH ? p->depth - k : CAMEO_WIDE_DEPTH;
        cameo_wide_turn(p, k, depth, n0, n1, b);
        cameo_wide_high_product(&p->high, m0, m1, k, depth, b, n1 - n0, p->y + n0, p->ym);
    }
}

/* Few columns, where rows of a lie as they are: sums of a row by columns. */
static __attribute__((noinline, unused)) CAMEO_WIDE_WHOLE void
cameo_wide_columns(const cameo_wide *p, int64_t m0, int64_t m1, int64_t n0, int64_t n1)
{
    double b[CAMEO_WIDE_NARROW * CAMEO_WIDE_DEEP];
    for (int64_t k = 0; k < p->depth; k += CAMEO_WIDE_DEEP) {
        const int64_t depth = p->depth - k < CAMEO_WIDE_DEEP ? p->depth - k : CAMEO_WIDE_DEEP;
        cameo_wide_turn(p, k, depth, n0, n1, b);
        for (int64_t m = m0; m < m1; m++) {
            const float *narrow = p->narrow_a ? p->narrow_a + m * p->am + k : NULL;
            const double *a = p->a ? p->a + m * p->am + k : NULL;
            cameo_wide_vec sums[CAMEO_WIDE_NARROW] = {0};
            int64_t i = 0;
            for (; i + CAMEO_WIDE_LANES <= depth; i += CAMEO_WIDE_LANES) {
                const cameo_wide_vec x = cameo_wide_load_of(narrow, a, i);
#pragma GCC unroll 4
                for (int j = 0; j < CAMEO_WIDE_NARROW; j++)
                    sums[j] += x * *(const cameo_wide_vec *)(b + j * CAMEO_WIDE_DEEP + i);
            }
            for (int64_t j = 0; j < CAMEO_WIDE_NARROW && j < n1 - n0; j++) {
                double sum = 0;
                for (int v = 0; v < CAMEO_WIDE_LANES; v++)
                    sum += sums[j][v];
                for (int64_t r = i; r < depth; r++)
                    sum += (a ? a[r] : (double)narrow[r]) * b[j * CAMEO_WIDE_DEEP + r];
                p->y[m * p->ym + n0 + j] += sum;
            }
        }
    }
}

/* Windows of one place that lie in x as columns do: a matrix. */
static inline __attribute__((unused)) int cameo_wide_is_matrix(const cameo_wide_window *w)
{
    int64_t size = 1;
    for (int d = 2; d >= 0; size *= w->out[d--])
        if (w->taps[d] != 1 || w->stride[d] != 1 || w->pad[d] != 0 || w->in[d] != w->out[d] ||
            (w->in[d] != 1 && w->step[d] != size))
            return 0;
    return 1;
}

/* Columns of a block, for which all rows of a are packed again: as many as make that little work,
 * since each is memory that few rows would hardly use. */
static inline __attribute__((unused)) int64_t cameo_wide_breadth(int64_t rows)
{
    const int64_t n = (3 * rows + CAMEO_WIDE_BROAD - 1) / CAMEO_WIDE_BROAD * CAMEO_WIDE_BROAD;
    return n < CAMEO_WIDE_N ? n : CAMEO_WIDE_N;
}

/* Room for a block of either factor, packed or as tiles of lines. */
enum {
    CAMEO_WIDE_PACKED_A = CAMEO_WIDE_M * CAMEO_WIDE_K,
    CAMEO_WIDE_PACKED_B = CAMEO_WIDE_K * (CAMEO_WIDE_N + CAMEO_WIDE_PANEL),
    CAMEO_WIDE_ROOM_A =
        CAMEO_WIDE_PACKED_A > CAMEO_WIDE_LINE_ROOM_A ? CAMEO_WIDE_PACKED_A : CAMEO_WIDE_LINE_ROOM_A,
    CAMEO_WIDE_ROOM_B =
        CAMEO_WIDE_PACKED_B > CAMEO_WIDE_LINE_ROOM_B ? CAMEO_WIDE_PACKED_B : CAMEO_WIDE_LINE_ROOM_B
};

/* A y of which only columns from `first` on are there, at `at`: where column 0 would be. */
static inline __attribute__((unused)) double *cameo_wide_columns_from(double *at, int64_t first)
{
    return (double *)((uintptr_t)at - (uintptr_t)first * sizeof *at);
}

/* Rows m0 .. m1 and columns n0 .. n1. */
static __attribute__((noinline, unused)) CAMEO_WIDE_WHOLE void
cameo_wide_multiply(const cameo_wide *p, int64_t m0, int64_t m1, int64_t n0, int64_t n1)
{
    double b[CAMEO_WIDE_ROOM_B] __attribute__((aligned(64)));
    double a[CAMEO_WIDE_ROOM_A] __attribute__((aligned(64)));
    cameo_wide matrix = *p;
    if (p->window && cameo_wide_is_matrix(p->window)) {
        matrix.window = NULL;
        matrix.bk = p->window->channel;
        matrix.bn = 1;
        p = &matrix;
    }
    const int rare = p->rows <= CAMEO_WIDE_FEW;
    const int few =
        rare && !p->window && (p->broad.at || p->bn == 1 || (p->bk == 1 && !p->high.at));
    const int narrow =
        p->columns <= CAMEO_WIDE_NARROW && (p->high.at || (!p->broad.at && p->ak == 1));
    if (p->lines && !narrow && cameo_wide_lines_take(p, m0, m1, n0, n1, a, b))
        return;
    if (p->window && m0 == 0 && m1 == 1 && n0 == 0 && n1 == p->columns && cameo_wide_own_take(p, b))
        return;
    if (p->window && (rare || !narrow) && cameo_wide_slide(p, m0, m1, n0, n1, a, b))
        return;
    if (p->fresh && (few || narrow))
        cameo_wide_fill(p, m0, m1, n0, n1);
    if (few) {
        for (int64_t m = m0; m < m1; m++)
            cameo_wide_row(p, m, n0, n1);
        return;
    }
    if (narrow && p->high.at) {
        cameo_wide_high_columns(p, m0, m1, n0, n1);
        return;
    }
    if (narrow) {
        cameo_wide_columns(p, m0, m1, n0, n1);
        return;
    }
    const int64_t broad = cameo_wide_breadth(m1 - m0);
    for (int64_t n = n0; n < n1; n += broad)
        for (int64_t k = 0; k < p->depth; k += CAMEO_WIDE_K) {
            const int64_t width = n1 - n < broad ? n1 - n : broad;
            const int64_t depth = p->depth - k < CAMEO_WIDE_K ? p->depth - k : CAMEO_WIDE_K;
            cameo_wide_pack_b(p, k, depth, n, width, b);
            for (int64_t m = m0; m < m1; m += CAMEO_WIDE_M) {
                const int64_t rows = m1 - m < CAMEO_WIDE_M ? m1 - m : CAMEO_WIDE_M;
                cameo_wide_pack_a(p, m, rows, k, depth, a);
                double start[CAMEO_WIDE_M + CAMEO_WIDE_ROWS] = {0};
                const int fresh = p->fresh && k == 0;
                if (fresh)
                    cameo_wide_starts(p, m, rows, start);
                for (int64_t j = 0; j < width; j += CAMEO_WIDE_PANEL)
                    for (int64_t i = 0; i < rows; i += CAMEO_WIDE_ROWS) {
                        const int64_t high = rows - i, wide = width - j;
                        cameo_wide_tile(depth, a + i * depth, b + j * depth,
                                        p->y + (m + i) * p->ym + n + j, p->ym,
                                        high < CAMEO_WIDE_ROWS ? high : CAMEO_WIDE_ROWS,
                                        wide < CAMEO_WIDE_PANEL ? wide : CAMEO_WIDE_PANEL,
                                        fresh ? start + i : NULL);
                    }
            }
        }
}

/* ---- shares of a product: blocks of columns, or of rows where columns are few ---- */

typedef struct cameo_wide_part {
    int64_t m0, m1, n0, n1;
} cameo_wide_part;

static inline __attribute__((unused)) int64_t cameo_wide_units(int64_t m, int64_t n)
{
    return n >= 4 * CAMEO_WIDE_N ? (n + CAMEO_WIDE_N - 1) / CAMEO_WIDE_N
                                 : (m + CAMEO_WIDE_TALL - 1) / CAMEO_WIDE_TALL;
}

static inline __attribute__((unused)) cameo_wide_part cameo_wide_share(int64_t m, int64_t n,
                                                                       int64_t from, int64_t to)
{
    const int columns = n >= 4 * CAMEO_WIDE_N;
    const int64_t unit = columns ? CAMEO_WIDE_N : CAMEO_WIDE_TALL, end = columns ? n : m;
    const int64_t low = from * unit, high = to * unit < end ? to * unit : end;
    return columns ? (cameo_wide_part){0, m, low, high} : (cameo_wide_part){low, high, 0, n};
}

#endif
