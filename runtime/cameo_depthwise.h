/* Convolutions of one plane by its own window (depthwise): y[j][k] = sum over the window of w * x.
 * Vectors run along the rows of y and go down its columns. They are read from x itself, a mask for
 * each column of the window making 0 of what is no element of the row; where a window slides by one
 * row, a vector is loaded once for all the rows of y that it is in. What would be read outside of
 * x's buffer, or is further apart than two elements, is copied with its border first, a band of
 * rows at a time, every stride-th element of a row together. Of planes whose rows are at most half
 * a vector, vectors run on from row to row, a mask for each element of the window. */
#ifndef CAMEO_DEPTHWISE_H
#define CAMEO_DEPTHWISE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    CAMEO_BAND = 3072,     /* elements of a copied band, if two rows of output are not more */
    CAMEO_PHASES = 8,      /* the greatest stride */
    CAMEO_FLAT = 100,      /* masks for planes of short rows */
    CAMEO_MANY_TAPS = 12,  /* are worth a copy, which has no borders */
    CAMEO_WINDOW = 16,     /* columns of a window, and */
    CAMEO_WIDEST = 1 << 28 /* of a plane, that x itself is read for */
};

/* Elements low .. high of a row of the copy are x's, from x[from] on. */
typedef struct cameo_phase {
    int64_t low, high, from;
} cameo_phase;

/* Rows first .. rows of a plane of the output. Rows shorter than a vector are stored whole, in
 * order, and what is past them is overwritten by the next one; what would lie past the last of them
 * and the `room` behind it goes beside. */
typedef struct cameo_plane {
    float *y;
    int64_t first, rows, columns, room;
    const cameo_finish *finish; /* with nothing added */
    float beside[2 * CAMEO_LANES];
} cameo_plane;

/* Where sums are stored, and what is done to them before: min(max(sum + bias, low), high). */
typedef struct cameo_ends {
    float *y, *beside;
    int64_t size;
    cameo_vec bias, low, high;
} cameo_ends;

/* LANES columns from k on, in rows j .. j + n of a plane. */
typedef struct cameo_planes cameo_planes;
typedef void cameo_rows(const cameo_planes *g, const float *x, const float *w, int64_t j, int64_t n,
                        int64_t k, cameo_plane *p);

typedef int cameo_mask __attribute__((vector_size(4 * CAMEO_LANES)));

/* What all planes share. */
struct cameo_planes {
    const cameo_conv *sizes;
    cameo_rows *rows;                /* computes from x itself; NULL: nothing does */
    int64_t before, behind;          /* elements around a plane's first one that it reads */
    int64_t room;                    /* elements behind those of y that may be overwritten */
    int64_t ahead;                   /* elements from what it reads to what it reads soon */
    int64_t phase, width;            /* elements of a phase of a row, and of all of its phases */
    int64_t plane;                   /* and of a plane of the copy */
    int64_t direct, band;            /* rows of y at a time, from x itself or from a copy */
    int64_t taps;                    /* of the whole window */
    int64_t places[CAMEO_CONV_TAPS]; /* of the window in the copy */
    int64_t w[CAMEO_CONV_TAPS];      /* and in the weights */
    int dense;                       /* w[t] is t */
    const float *begin, *end;        /* of the buffer that holds x */
    cameo_finish finish;             /* of the plane, with nothing added */
    cameo_phase phases[CAMEO_PHASES];
    int64_t flat, around;         /* vectors of planes of short rows, what these read around a plane
                                   * beside its own; flat is 0: rows are not short */
    cameo_mask masks[CAMEO_FLAT]; /* of each of them, of each element of the window */
};

/* n zeros and what the last vector writes past them. */
static inline __attribute__((unused)) void cameo_line_zeros(float *to, int64_t n)
{
    const cameo_vec zero = {0};
    if (n > 0)
        *(cameo_vec *)to = zero;
    for (int64_t i = CAMEO_LANES; i < n; i += CAMEO_LANES)
        *(cameo_vec *)(to + i) = zero;
}

/* count elements of x, `step` apart, and what the last vector writes past them. */
static inline __attribute__((unused)) void
cameo_line_copy(const float *x, int64_t step, int64_t count, float *to, const float *end)
{
    const int64_t whole = (count + CAMEO_LANES - 1) / CAMEO_LANES * CAMEO_LANES;
    if (step == 1 && whole <= end - x)
        for (int64_t i = 0; i < count; i += CAMEO_LANES)
            *(cameo_vec *)(to + i) = *(const cameo_vec *)(x + i);
    else if (step == 2 && 2 * whole <= end - x)
        for (int64_t i = 0; i < count; i += CAMEO_LANES)
            *(cameo_vec *)(to + i) = cameo_even(*(const cameo_vec *)(x + 2 * i),
                                                *(const cameo_vec *)(x + 2 * i + CAMEO_LANES));
    else
        for (int64_t i = 0; i < count; i++)
            to[i] = x[i * step];
}

/* Rows low .. high of the bordered plane whose elements begin at x. */
static inline __attribute__((unused)) void cameo_band(const cameo_planes *p, const float *x,
                                                      int64_t low, int64_t high, float *to)
{
    const cameo_conv *g = p->sizes;
    const int64_t phases = g->stride[2], step = phases * g->step[2];
    for (int64_t j = low - g->pad[1]; j < high - g->pad[1]; j++)
        for (int64_t f = 0; f < phases; f++, to += p->phase) {
            const cameo_phase *at = &p->phases[f];
            if (j < 0 || j >= g->in[1]) {
                cameo_line_zeros(to, p->phase);
                continue;
            }
            cameo_line_zeros(to, at->low);
            cameo_line_copy(x + j * g->step[1] + at->from, step, at->high - at->low, to + at->low,
                            p->end);
            cameo_line_zeros(to + at->high, p->phase - at->high);
        }
}

static inline __attribute__((always_inline)) cameo_ends cameo_plane_ends(cameo_plane *p)
{
    const cameo_vec zero = {0};
    return (cameo_ends){.y = p->y,
                        .beside = p->beside,
                        .size = p->rows * p->columns + p->room,
                        .bias = *p->finish->bias - zero,
                        .low = zero + p->finish->low,
                        .high = zero + p->finish->high};
}

static inline __attribute__((always_inline)) void cameo_plane_store(const cameo_ends *p, int64_t at,
                                                                    cameo_vec v)
{
    const int64_t past = at + CAMEO_LANES - p->size;
    *(cameo_vec *)(past <= 0 ? p->y + at : p->beside + past) =
        cameo_clip(v + p->bias, p->low, p->high);
}

static inline __attribute__((unused)) void cameo_plane_end(cameo_plane *p)
{
    const int64_t size = p->rows * p->columns, left = size - CAMEO_LANES;
    if (p->columns + p->room >= CAMEO_LANES)
        return;
    const int64_t row = left < 0 ? 0 : left / p->columns + 1;
    const int64_t from = (row > p->first ? row : p->first) * p->columns;
    if (from < size)
        memcpy(p->y + from, p->beside + (from - left), (size_t)(size - from) * sizeof *p->y);
}

/* ---- from x itself ---- */

#ifdef __clang__
#define CAMEO_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define CAMEO_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (cameo_mask){__VA_ARGS__})
#endif

/* Every second number of two vectors, in the order that is one quick instruction: where those
 * within quarters of vectors, or halves, are, these by turns. cameo_pair_lane: whose place lane i
 * has. */
#if defined __AVX512F__
enum { CAMEO_BORDERS_APART = 1 }; /* a mask takes turns with products */
static inline __attribute__((always_inline, unused)) cameo_vec cameo_held(cameo_vec v)
{
    __asm__("" : "+v"(v));
    return v;
}
static inline __attribute__((always_inline, unused)) cameo_vec cameo_pair_even(cameo_vec a,
                                                                               cameo_vec b)
{
    return CAMEO_SHUFFLE(a, b, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
}
static inline __attribute__((always_inline, unused)) cameo_vec cameo_pair_odd(cameo_vec a,
                                                                              cameo_vec b)
{
    return CAMEO_SHUFFLE(a, b, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
}
static inline __attribute__((always_inline, unused)) cameo_vec cameo_pair_ordered(cameo_vec v)
{
    return CAMEO_SHUFFLE(v, v, 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
}
static inline __attribute__((always_inline, unused)) int cameo_pair_lane(int i)
{
    return (i & 1) + (i & 2) * 4 + (i & 12) / 2;
}
#elif defined __AVX__
enum { CAMEO_BORDERS_APART = 1 }; /* masks would take registers where none is needed */
static inline __attribute__((always_inline, unused)) cameo_vec cameo_held(cameo_vec v)
{
    CAMEO_HOLD(v);
    return v;
}
static inline __attribute__((always_inline, unused)) cameo_vec cameo_pair_even(cameo_vec a,
                                                                               cameo_vec b)
{
    return CAMEO_SHUFFLE(a, b, 0, 2, 8, 10, 4, 6, 12, 14);
}
static inline __attribute__((always_inline, unused)) cameo_vec cameo_pair_odd(cameo_vec a,
                                                                              cameo_vec b)
{
    return CAMEO_SHUFFLE(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
}
static inline __attribute__((always_inline, unused)) cameo_vec cameo_pair_ordered(cameo_vec v)
{
    return CAMEO_SHUFFLE(v, v, 0, 1, 4, 5, 2, 3, 6, 7);
}
static inline __attribute__((always_inline, unused)) int cameo_pair_lane(int i)
{
    return (i & 1) + (i & 2) * 2 + (i & 4) / 2;
}
#else
enum { CAMEO_BORDERS_APART = 0 };
static inline __attribute__((always_inline, unused)) cameo_vec cameo_held(cameo_vec v)
{
    return v;
}
static inline __attribute__((always_inline, unused)) cameo_vec cameo_pair_even(cameo_vec a,
                                                                               cameo_vec b)
{
    return cameo_even(a, b);
}
static inline __attribute__((always_inline, unused)) cameo_vec cameo_pair_odd(cameo_vec a,
                                                                              cameo_vec b)
{
    return cameo_odd(a, b);
}
static inline __attribute__((always_inline, unused)) cameo_vec cameo_pair_ordered(cameo_vec v)
{
    return v;
}
static inline __attribute__((always_inline, unused)) int cameo_pair_lane(int i)
{
    return i;
}
#endif

/* Each number goes to the lane that is the next in order; the first one has x. Worth it where a
 * vector is a line, so that nearly all that begin elsewhere are read from two lines. */
#ifdef __AVX512F__
enum { CAMEO_PAIRS_TURN = 1 };
static inline __attribute__((always_inline, unused)) cameo_vec cameo_pair_before(cameo_vec v,
                                                                                 float x)
{
    const cameo_vec first = x - (cameo_vec){0};
    return CAMEO_SHUFFLE(v, first, 16, 0, 13, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14);
}
#else
enum { CAMEO_PAIRS_TURN = 0 };
static inline __attribute__((always_inline, unused)) cameo_vec cameo_pair_before(cameo_vec v,
                                                                                 float x)
{
    return (void)x, v;
}
#endif

/* Where the window's columns, for LANES columns of the output from k on, are inside of x. */
static inline __attribute__((always_inline)) void cameo_masks(const cameo_conv *g, int64_t k,
                                                              int64_t columns, int stride,
                                                              int pairs, cameo_mask *masks)
{
    cameo_mask lanes;
    for (int i = 0; i < CAMEO_LANES; i++)
        lanes[i] = (pairs ? cameo_pair_lane(i) : i) * stride;
    for (int64_t b = 0; b < columns; b++) {
        const int64_t from = k * stride + b * g->dilation[2] - g->pad[2];
        const cameo_mask at = lanes + (int)from;
        masks[b] = (at >= 0) & (at < (int)g->in[2]);
    }
}

/* Is no column of the window, for LANES columns of the output from k on, outside of x? */
static inline __attribute__((always_inline)) int cameo_is_inside(const cameo_conv *g, int64_t k,
                                                                 int64_t columns, int stride)
{
    const int64_t from = k * stride - g->pad[2];
    const int64_t last = from + (CAMEO_LANES - 1) * stride + (columns - 1) * g->dilation[2];
    return from >= 0 && last < g->in[2];
}

/* LANES elements of x, `stride` apart, 0 where they are none. */
static inline __attribute__((always_inline)) cameo_vec cameo_take(const float *x, int stride,
                                                                  cameo_mask mask)
{
    cameo_vec v = *(const cameo_vec *)x;
    if (stride == 2)
        v = cameo_even(v, *(const cameo_vec *)(x + CAMEO_LANES));
    return (cameo_vec)((cameo_mask)v & mask);
}

/* LANES columns of the output from k on, in rows j .. j + n: any window. */
static inline __attribute__((always_inline)) void
cameo_window_of(const cameo_planes *g, const float *x, const float *w, int64_t j, int64_t n,
                int64_t k, cameo_plane *p, const int stride, const int inside)
{
    const cameo_conv *c = g->sizes;
    const int64_t rows = c->taps[1], columns = c->taps[2], apart = c->dilation[2];
    cameo_mask masks[CAMEO_WINDOW];
    const cameo_ends ends = cameo_plane_ends(p);
    if (!inside)
        cameo_masks(c, k, columns, stride, 0, masks);
    x += k * stride - c->pad[2];
    for (int64_t i = j; i < j + n; i++) {
        cameo_vec sum = {0};
        for (int64_t a = 0; a < rows; a++) {
            const int64_t q = i * c->stride[1] + a * c->dilation[1] - c->pad[1];
            if (q < 0 || q >= c->in[1])
                continue;
            const float *row = x + q * c->step[1];
            __builtin_prefetch(row + g->ahead);
            for (int64_t b = 0; b < columns; b++)
                sum +=
                    w[a * columns + b] * (inside ? *(const cameo_vec *)(row + b * apart)
                                                 : cameo_take(row + b * apart, stride, masks[b]));
        }
        cameo_plane_store(&ends, i * p->columns + k, sum);
    }
}

/* The window's weights for every lane: what a product does not have to ask for again. */
static inline __attribute__((always_inline)) void cameo_window_lanes(const float *w, int taps,
                                                                     cameo_vec *to)
{
    const cameo_vec zero = {0};
    for (int t = 0; t < taps; t++)
        to[t] = w[t] - zero;
}

/* The same of size x size elements that move by one element: sums of `size` rows at a time. What a
 * row of x gives to each is summed by itself first, so that no row waits for the one before; it
 * begins with 0 and not with a product, which a compiler may join with either neighbour. */
static inline __attribute__((always_inline)) void
cameo_slide_of(const cameo_planes *g, const float *x, const float *w, int64_t j, int64_t n,
               int64_t k, cameo_plane *p, int size, int inside)
{
    const cameo_conv *c = g->sizes;
    const int64_t in = c->in[1], step = c->step[1], apart = c->dilation[2], ahead = g->ahead;
    const int64_t first = size - 1 - c->pad[1], columns = p->columns;
    const cameo_ends ends = cameo_plane_ends(p);
    cameo_vec sums[5] = {{0}, {0}, {0}, {0}, {0}};
    cameo_vec window[25];
    cameo_mask masks[5];
    cameo_masks(c, k, size, 1, 0, masks);
    cameo_window_lanes(w, size * size, window);
    x += k - c->pad[2];
    for (int64_t i = j + 1 - size; i < j + n; i++) {
        cameo_vec of_row[5] = {{0}, {0}, {0}, {0}, {0}};
        const int64_t q = i + first;
        if (q >= 0 && q < in) {
            const float *row = x + q * step;
            __builtin_prefetch(row + ahead);
            for (int b = 0; b < size; b++) {
                const cameo_vec e = cameo_held(inside ? *(const cameo_vec *)(row + b * apart)
                                                      : cameo_take(row + b * apart, 1, masks[b]));
                for (int a = 0; a < size; a++)
                    of_row[a] += window[a * size + b] * e;
            }
        }
        if (i >= j)
            cameo_plane_store(&ends, i * columns + k, sums[size - 2] + of_row[size - 1]);
        for (int a = size - 2; a > 0; a--)
            sums[a] = sums[a - 1] + of_row[a];
        sums[0] = of_row[0];
    }
}

/* size vectors of every second element from x on, each one element further. The window's middle is
 * the first of a pair: it is where x's rows are as aligned as those of the output. What is before
 * it is what comes two elements later, one lane further, or is read by itself. */
static inline __attribute__((always_inline)) void
cameo_take_pairs(const float *x, const cameo_mask *masks, cameo_vec *to, int size, int inside)
{
    const int middle = size / 2;
    for (int b = CAMEO_PAIRS_TURN ? middle : middle % 2 - 2; b < size; b += 2) {
        const int at = b < 0 ? 0 : b;
        if (b + 2 == 0)
            continue;
        const cameo_vec l = cameo_held(*(const cameo_vec *)(x + at));
        const cameo_vec h = cameo_held(*(const cameo_vec *)(x + at + CAMEO_LANES));
        to[at] = cameo_pair_even(l, h);
        if (b >= 0 && b + 1 < size)
            to[b + 1] = cameo_pair_odd(l, h);
    }
    for (int b = middle; CAMEO_PAIRS_TURN && b-- > 0;)
        to[b] = cameo_pair_before(to[b + 2], x[b]);
    for (int b = 0; b < size && !inside; b++)
        to[b] = (cameo_vec)((cameo_mask)to[b] & masks[b]);
}

/* What a row of x gives, as far as it is there, to rows of the output whose windows have it as
 * their row first, first + 2, ... */
static inline __attribute__((always_inline)) void
cameo_stride_row(const float *row, int64_t ahead, const cameo_vec *window, const cameo_mask *masks,
                 int first, int size, int inside, int there, cameo_vec *to)
{
    const cameo_vec zero = {0};
    cameo_vec e[5];
    for (int m = 0; first + 2 * m < size; m++)
        to[m] = zero;
    if (!there)
        return;
    __builtin_prefetch(row + ahead);
    cameo_take_pairs(row, masks, e, size, inside);
    for (int b = 0; b < size; b++)
        for (int m = 0; first + 2 * m < size; m++)
            to[m] += window[(first + 2 * m) * size + b] * e[b];
}

/* The same of a window of an odd size that moves by two elements. Rows of x come in pairs, the
 * first of them the first, third, .. of the windows that it is in: even[m] and odd[m] are for row
 * i - m. */
static inline __attribute__((always_inline)) void
cameo_stride_of(const cameo_planes *g, const float *x, const float *w, int64_t j, int64_t n,
                int64_t k, cameo_plane *p, int size, int inside)
{
    const cameo_conv *c = g->sizes;
    const int last = size / 2;
    const int64_t in = c->in[1], step = c->step[1], ahead = g->ahead, pad = c->pad[1];
    const int64_t columns = p->columns;
    const cameo_ends ends = cameo_plane_ends(p);
    cameo_vec sums[3] = {{0}, {0}, {0}}, even[3], odd[3], window[25];
    cameo_mask masks[5];
    cameo_masks(c, k, size, 2, 1, masks);
    cameo_window_lanes(w, size * size, window);
    x += 2 * k - c->pad[2] + (2 * j - pad) * step;
    for (int64_t i = j, q = 2 * j - pad; i < j + n + last; i++, q += 2, x += 2 * step) {
        if (q >= 0 && q + 1 < in) { /* nearly all of them */
            cameo_stride_row(x, ahead, window, masks, 0, size, inside, 1, even);
            cameo_stride_row(x + step, ahead, window, masks, 1, size, inside, 1, odd);
        } else {
            cameo_stride_row(x, ahead, window, masks, 0, size, inside, q >= 0 && q < in, even);
            cameo_stride_row(x + step, ahead, window, masks, 1, size, inside,
                             q + 1 >= 0 && q + 1 < in, odd);
        }
        if (i >= j + last)
            cameo_plane_store(&ends, (i - last) * columns + k,
                              cameo_pair_ordered(sums[last - 1] + even[last]));
        for (int m = last - 1; m > 0; m--)
            sums[m] = sums[m - 1] + (even[m] + odd[m]);
        sums[0] = even[0] + odd[0];
    }
}

static __attribute__((noinline, unused)) void cameo_slide_3(const cameo_planes *g, const float *x,
                                                            const float *w, int64_t j, int64_t n,
                                                            int64_t k, cameo_plane *p)
{
    if (CAMEO_BORDERS_APART && cameo_is_inside(g->sizes, k, 3, 1))
        cameo_slide_of(g, x, w, j, n, k, p, 3, 1);
    else
        cameo_slide_of(g, x, w, j, n, k, p, 3, 0);
}

static __attribute__((noinline, unused)) void cameo_slide_5(const cameo_planes *g, const float *x,
                                                            const float *w, int64_t j, int64_t n,
                                                            int64_t k, cameo_plane *p)
{
    if (CAMEO_BORDERS_APART && cameo_is_inside(g->sizes, k, 5, 1))
        cameo_slide_of(g, x, w, j, n, k, p, 5, 1);
    else
        cameo_slide_of(g, x, w, j, n, k, p, 5, 0);
}

static __attribute__((noinline, unused)) void cameo_window_1(const cameo_planes *g, const float *x,
                                                             const float *w, int64_t j, int64_t n,
                                                             int64_t k, cameo_plane *p)
{
    if (CAMEO_BORDERS_APART && cameo_is_inside(g->sizes, k, g->sizes->taps[2], 1))
        cameo_window_of(g, x, w, j, n, k, p, 1, 1);
    else
        cameo_window_of(g, x, w, j, n, k, p, 1, 0);
}

static __attribute__((noinline, unused)) void cameo_window_2(const cameo_planes *g, const float *x,
                                                             const float *w, int64_t j, int64_t n,
                                                             int64_t k, cameo_plane *p)
{
    cameo_window_of(g, x, w, j, n, k, p, 2, 0);
}

static __attribute__((noinline, unused)) void cameo_stride_3(const cameo_planes *g, const float *x,
                                                             const float *w, int64_t j, int64_t n,
                                                             int64_t k, cameo_plane *p)
{
    if (CAMEO_BORDERS_APART && cameo_is_inside(g->sizes, k, 3, 2))
        cameo_stride_of(g, x, w, j, n, k, p, 3, 1);
    else
        cameo_stride_of(g, x, w, j, n, k, p, 3, 0);
}

static __attribute__((noinline, unused)) void cameo_stride_5(const cameo_planes *g, const float *x,
                                                             const float *w, int64_t j, int64_t n,
                                                             int64_t k, cameo_plane *p)
{
    if (CAMEO_BORDERS_APART && cameo_is_inside(g->sizes, k, 5, 2))
        cameo_stride_of(g, x, w, j, n, k, p, 5, 1);
    else
        cameo_stride_of(g, x, w, j, n, k, p, 5, 0);
}

/* ---- planes of short rows ---- */

/* The first element of vector v of a plane: the last one ends where the plane does. */
static inline __attribute__((always_inline)) int64_t cameo_flat_at(const cameo_planes *g, int64_t v)
{
    const cameo_conv *c = g->sizes;
    return v + 1 < g->flat ? v * CAMEO_LANES : c->out[1] * c->out[2] - CAMEO_LANES;
}

/* Are rows short, and is each element of y the middle of the window at x's element? Then vectors
 * run on from row to row; behind cameo_planes_plan. */
static __attribute__((noinline, unused)) void cameo_flat_plan(const cameo_conv *g, cameo_planes *p)
{
    const int64_t size = g->taps[1], all = g->out[1] * g->out[2];
    const int64_t flat = (all + CAMEO_LANES - 1) / CAMEO_LANES;
    if (g->taps[0] != 1 || g->step[2] != 1 || g->step[1] != g->in[2] || g->stride[1] != 1 ||
        g->stride[2] != 1 || g->taps[2] != size || (size != 3 && size != 5) ||
        g->in[1] != g->out[1] || g->in[2] != g->out[2] || 2 * g->out[2] > CAMEO_LANES ||
        all < CAMEO_LANES || flat * size * size > CAMEO_FLAT)
        return;
    p->flat = flat;
    p->around = size * (g->dilation[1] * g->in[2] + g->dilation[2]);
    const int height = (int)g->in[1], width = (int)g->in[2];
    cameo_mask *mask = p->masks;
    for (int64_t v = 0; v < flat; v++) {
        cameo_mask row, column;
        int i = (int)(cameo_flat_at(p, v) / width), j = (int)(cameo_flat_at(p, v) % width);
        for (int l = 0; l < CAMEO_LANES; l++, j = j + 1 < width ? j + 1 : 0, i += j == 0) {
            row[l] = i - (int)g->pad[1];
            column[l] = j - (int)g->pad[2];
        }
        for (int a = 0; a < size; a++)
            for (int b = 0; b < size; b++, mask++) {
                const cameo_mask r = row + a * (int)g->dilation[1];
                const cameo_mask c = column + b * (int)g->dilation[2];
                *mask = (r >= 0) & (r < height) & (c >= 0) & (c < width);
            }
    }
}

/* All of a plane. */
static inline __attribute__((always_inline)) void
cameo_flat_of(const cameo_planes *g, const float *x, const float *w, cameo_plane *p, int size)
{
    const cameo_conv *c = g->sizes;
    const int64_t down = c->dilation[1] * c->in[2], apart = c->dilation[2];
    const cameo_ends ends = cameo_plane_ends(p);
    const cameo_mask *mask = g->masks;
    cameo_vec window[25];
    cameo_window_lanes(w, size * size, window);
    x -= c->pad[1] * c->in[2] + c->pad[2];
    for (int64_t v = 0; v < g->flat; v++, mask += size * size) {
        const int64_t at = cameo_flat_at(g, v);
        cameo_vec sum = {0};
        for (int a = 0; a < size; a++) {
            cameo_vec of_row = {0};
            for (int b = 0; b < size; b++)
                of_row += window[a * size + b] *
                          cameo_take(x + at + a * down + b * apart, 1, mask[a * size + b]);
            sum = sum + of_row;
        }
        *(cameo_vec *)(ends.y + at) = cameo_clip(sum + ends.bias, ends.low, ends.high);
    }
}

static __attribute__((noinline, unused)) void cameo_flat(const cameo_planes *g, const float *x,
                                                         const float *w, cameo_plane *p)
{
    if (g->sizes->taps[1] == 3)
        cameo_flat_of(g, x, w, p, 3);
    else
        cameo_flat_of(g, x, w, p, 5);
}

/* ---- from a copy ---- */

enum { CAMEO_TAPS_HIGH = 4 }; /* rows that are summed beside one another */

/* Any window in `high` rows of a copy, whose places are known. Every second element goes to sums of
 * their own: they wait for one another half as long. */
static inline __attribute__((always_inline)) void cameo_taps_of(const cameo_planes *g,
                                                                const float *x, const float *w,
                                                                const cameo_ends *ends, int64_t at,
                                                                int64_t columns, const int high)
{
    const int64_t next = g->sizes->stride[1] * g->width;
    cameo_vec even[CAMEO_TAPS_HIGH] = {{0}, {0}, {0}, {0}};
    cameo_vec odd[CAMEO_TAPS_HIGH] = {{0}, {0}, {0}, {0}};
    int64_t t = 0;
    for (; t + 1 < g->taps; t += 2)
        for (int r = 0; r < high; r++) {
            even[r] += w[t] * *(const cameo_vec *)(x + g->places[t] + r * next);
            odd[r] += w[t + 1] * *(const cameo_vec *)(x + g->places[t + 1] + r * next);
        }
    for (int r = 0; t < g->taps && r < high; r++)
        even[r] += w[t] * *(const cameo_vec *)(x + g->places[t] + r * next);
    for (int r = 0; r < high; r++)
        cameo_plane_store(ends, at + r * columns, even[r] + odd[r]);
}

static __attribute__((noinline, unused)) void cameo_taps(const cameo_planes *g, const float *x,
                                                         const float *w, int64_t j, int64_t n,
                                                         int64_t k, cameo_plane *p)
{
    enum { HIGH = CAMEO_TAPS_HIGH };
    const cameo_ends ends = cameo_plane_ends(p);
    const int64_t next = g->sizes->stride[1] * g->width, columns = p->columns;
    int64_t i = 0;
    x += k;
    for (; i + HIGH <= n; i += HIGH, x += HIGH * next)
        cameo_taps_of(g, x, w, &ends, (j + i) * columns + k, columns, HIGH);
    for (; i < n; i++, x += next)
        cameo_taps_of(g, x, w, &ends, (j + i) * columns + k, columns, 1);
}

/* What computes from x itself; NULL: nothing. */
static inline __attribute__((unused)) cameo_rows *cameo_rows_for(const cameo_conv *g)
{
    if (g->taps[0] != 1 || g->step[2] != 1 || g->stride[2] > 2 || g->taps[2] > CAMEO_WINDOW ||
        g->in[2] >= CAMEO_WIDEST || g->out[2] >= CAMEO_WIDEST)
        return NULL;
    const int64_t size = g->taps[1] == g->taps[2] && g->dilation[1] == 1 ? g->taps[1] : 0;
    if (g->stride[2] == 2 && g->stride[1] == 2 && g->dilation[2] == 1 && (size == 3 || size == 5))
        return size == 3 ? cameo_stride_3 : cameo_stride_5;
    if (g->stride[2] == 1 && g->stride[1] == 1 && (size == 3 || size == 5))
        return size == 3 ? cameo_slide_3 : cameo_slide_5;
    if (g->taps[1] * g->taps[2] >= CAMEO_MANY_TAPS)
        return NULL;
    return g->stride[2] == 1 ? cameo_window_1 : cameo_window_2;
}

enum { CAMEO_LINE_VECTORS = 4 }; /* that are summed beside one another */

/* A row of the output of a window of one row, from column k on, as far as windows are within x,
 * several vectors at a time. Returns the column where it ends. */
static __attribute__((noinline, unused)) int64_t cameo_line_windows(const cameo_planes *g,
                                                                    const float *x, const float *w,
                                                                    int64_t j, int64_t k,
                                                                    cameo_plane *p)
{
    enum { MANY = CAMEO_LINE_VECTORS, WIDTH = MANY * CAMEO_LANES };
    const cameo_conv *c = g->sizes;
    const int64_t q = j * c->stride[1] - c->pad[1], taps = c->taps[2], apart = c->dilation[2];
    const int64_t reach = (taps - 1) * apart + WIDTH, columns = p->columns;
    const cameo_ends ends = cameo_plane_ends(p);
    if (q < 0 || q >= c->in[1])
        return k;
    for (; k >= c->pad[2] && k - c->pad[2] + reach <= c->in[2] && k + WIDTH <= columns;
         k += WIDTH) {
        const float *from = x + q * c->step[1] + k - c->pad[2];
        cameo_vec sums[MANY] = {{0}, {0}, {0}, {0}};
        __builtin_prefetch(from + g->ahead);
        for (int64_t t = 0; t < taps; t++)
            for (int v = 0; v < MANY; v++)
                sums[v] += w[t] * ((const cameo_vec *)(from + t * apart))[v];
        for (int v = 0; v < MANY; v++)
            cameo_plane_store(&ends, j * columns + k + v * CAMEO_LANES, sums[v]);
    }
    return k;
}

/* Rows j .. j + n of the output. The last vector of a row lies over the one before, so that it ends
 * where the row does. */
static inline __attribute__((unused)) void cameo_plane_rows(const cameo_planes *g, cameo_rows *rows,
                                                            const float *x, const float *w,
                                                            int64_t j, int64_t n, cameo_plane *p)
{
    const int64_t last = p->columns > CAMEO_LANES ? p->columns - CAMEO_LANES : 0;
    const int line = rows == cameo_window_1 && g->sizes->taps[1] == 1 && n == 1;
    for (int64_t k = 0; k < p->columns; k += CAMEO_LANES) {
        k = line ? cameo_line_windows(g, x, w, j, k, p) : k;
        if (k < p->columns)
            rows(g, x, w, j, n, k < last ? k : last, p);
    }
}

/* Rows of x of which what a vector of columns reads, and the next one does, stays in the first
 * cache. */
static inline __attribute__((unused)) int64_t cameo_direct_rows(const cameo_conv *g)
{
    return CAMEO_BAND / (CAMEO_LANES * (g->stride[2] + 1));
}

/* begin, end: of the buffer that holds x. wt: strides of the window in the weights. */
static __attribute__((noinline, unused)) void cameo_planes_plan(const cameo_conv *g,
                                                                const int64_t *wt,
                                                                const float *begin,
                                                                const float *end, cameo_planes *p)
{
    cameo_conv_view v;
    cameo_conv_plan(g, &v);
    static const float none = -0.0f; /* added to any number, gives that number */
    p->sizes = g;
    p->finish = (cameo_finish){.bias = &none, .low = -INFINITY, .high = INFINITY};
    p->begin = begin;
    p->end = end;
    p->room = p->flat = 0;
    p->rows = cameo_rows_for(g);
    p->before = g->pad[2] > 0 ? g->pad[2] : 0;
    /* the last vector's first element, and what it and the window reach */
    const int64_t last = g->out[2] > CAMEO_LANES ? g->out[2] - CAMEO_LANES : 0;
    p->behind = (g->in[1] - 1) * g->step[1] + last * g->stride[2] - g->pad[2] +
                g->dilation[2] * (g->taps[2] - 1) + g->stride[2] * CAMEO_LANES;
    const int64_t rows = p->rows ? cameo_direct_rows(g) : CAMEO_BAND / (v.phase * g->stride[2]);
    p->ahead = (rows < g->in[1] ? rows : g->in[1]) * g->step[1];
    p->plane = cameo_conv_reach(g, 1) * v.phase * g->stride[2];
    p->phase = v.phase;
    p->width = v.phase * g->stride[2];
    const int64_t reach = g->dilation[1] * (g->taps[1] - 1) + 1;
    const int64_t fit = p->width > 0 ? (CAMEO_BAND / p->width - reach) / g->stride[1] + 1 : 0;
    const int64_t direct = cameo_direct_rows(g) / g->stride[1];
    p->direct = direct < 1 ? 1 : direct;
    p->band = fit < 2 ? 2 : fit;
    p->taps = g->taps[0] * g->taps[1] * g->taps[2];
    cameo_conv_places(&v, 0, p->taps, p->places);
    int64_t t = 0;
    for (int64_t a = 0; a < g->taps[0]; a++)
        for (int64_t b = 0; b < g->taps[1]; b++)
            for (int64_t c = 0; c < g->taps[2]; c++)
                p->w[t++] = a * wt[0] + b * wt[1] + c * wt[2];
    p->dense = 1;
    for (t = 0; t < p->taps; t++)
        p->dense &= p->w[t] == t;
    for (int64_t f = 0, n = g->stride[2]; f < n && f < CAMEO_PHASES; f++) {
        /* place i * n + shift of x, for the i where it is one */
        const int64_t shift = f - g->pad[2], in = g->in[2];
        int64_t low = shift >= 0 ? 0 : (n - 1 - shift) / n;
        int64_t high = in > shift ? (in - shift + n - 1) / n : 0;
        low = low < v.phase ? low : v.phase;
        high = high < v.phase ? high : v.phase;
        p->phases[f] = (cameo_phase){low, high > low ? high : low, (low * n + shift) * g->step[2]};
    }
}

/* Of a window of rows and columns. x: the plane's first element. */
static inline __attribute__((unused)) void cameo_depthwise_plane(const cameo_planes *g,
                                                                 const float *x, const float *w,
                                                                 float *padded, cameo_plane *p)
{
    const cameo_conv *c = g->sizes;
    const int64_t reach = c->dilation[1] * (c->taps[1] - 1) + 1;
    if (g->flat && p->first == 0 && p->rows == c->out[1] && x - g->begin >= g->around &&
        g->end - x >= c->in[1] * c->in[2] + g->around) {
        cameo_flat(g, x, w, p);
        return;
    }
    const int direct = g->rows && x - g->begin >= g->before && g->end - x >= g->behind;
    const int64_t band = direct ? g->direct : g->band;
    for (int64_t j = p->first; j < p->rows; j += band) {
        const int64_t n = p->rows - j < band ? p->rows - j : band;
        if (direct) {
            cameo_plane_rows(g, g->rows, x, w, j, n, p);
            continue;
        }
        cameo_band(g, x, j * c->stride[1], (j + n - 1) * c->stride[1] + reach, padded);
        cameo_plane_rows(g, cameo_taps, padded, w, j, n, p);
    }
    cameo_plane_end(p);
}

/* The planes of y by one window. x: its first element. Of a single plane rows first .. last, else
 * all of them. */
static __attribute__((noinline, unused)) void cameo_depthwise(const cameo_planes *g, const float *x,
                                                              const float *w, int64_t first,
                                                              int64_t last, float *padded, float *y)
{
    const cameo_conv *c = g->sizes;
    float sorted[CAMEO_CONV_TAPS];
    const float *window = g->dense ? w : sorted;
    for (int64_t t = 0; !g->dense && t < g->taps; t++)
        sorted[t] = w[g->w[t]];
    if (c->taps[0] != 1)
        cameo_conv_copy(c, x, padded, g->phase, 0, c->channels);
    cameo_plane p;
    p.first = first;
    p.rows = last;
    p.columns = c->out[2];
    p.room = g->room;
    p.finish = &g->finish;
    for (int64_t i = 0; i < c->out[0]; i++) {
        const int64_t a = i * c->stride[0] - c->pad[0], at = i * c->out[1] * p.columns;
        p.y = y + at;
        if (c->taps[0] != 1) {
            cameo_plane_rows(g, cameo_taps, padded + i * c->stride[0] * g->plane, window, 0, p.rows,
                             &p);
            cameo_plane_end(&p);
        } else if (a < 0 || a >= c->in[0]) {
            for (int64_t n = first * p.columns; n < last * p.columns; n++)
                p.y[n] = cameo_finished(&g->finish, 0, n, 0.0f);
        } else {
            cameo_depthwise_plane(g, x + a * c->step[0], window, padded, &p);
        }
        cameo_bend(&g->finish, y, at + first * p.columns, last - first, p.columns, p.columns);
    }
}

#endif
