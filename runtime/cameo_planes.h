/* Planes by their own windows (cameo_depthwise.h): what their forms share, and sweeps, which go
 * over all columns of some rows of planes whose windows of 3 x 3 or 5 x 5 elements move by one
 * element or two. x is read where it lies; a vector of it is loaded once for all rows of the output
 * that it is in, whose sums are in registers. */
#ifndef CAMEO_PLANES_H
#define CAMEO_PLANES_H

#include <stdint.h>
#include <string.h>

enum {
    CAMEO_BAND = 3072,     /* elements of a copied band, if two rows of output are not more */
    CAMEO_PHASES = 8,      /* the greatest stride */
    CAMEO_FLAT = 100,      /* masks for planes of short rows */
    CAMEO_WINDOW = 16,     /* columns of a window, and */
    CAMEO_WIDEST = 1 << 28 /* of a plane, that x itself is read for */
};

#if defined __AVX512F__
#define CAMEO_FLAT_TURNS 1
enum { CAMEO_FLAT_TURNED = 4 }; /* vectors of planes of short rows that are turned in registers */
#else
#define CAMEO_FLAT_TURNS 0
#endif

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
    int64_t planes, channel, written; /* of a sweep: how many, from one to the next in x and y */
    const cameo_finish *finish;       /* with nothing added */
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

/* All columns, of all planes that there are. */
typedef void cameo_sweep(const cameo_planes *g, const float *x, const float *w, int64_t j,
                         int64_t n, cameo_plane *p);

/* Some planes, of all of which each is a lane (cameo_across.h). */
typedef void cameo_beside(const cameo_planes *g, const float *x, const float *w, int64_t planes,
                          cameo_plane *p);

/* Windows that no sweep is for: from x itself, and from a copy; those of one row from x itself, of
 * one plane. Only convolutions that have such windows name them, so that programs of sweeps alone
 * are smaller. */
typedef struct cameo_other_windows {
    cameo_rows *own, *copied;
    cameo_sweep *line;
} cameo_other_windows;

typedef int cameo_mask __attribute__((vector_size(4 * CAMEO_LANES)));

/* Planes whose turn has come and that are done with those that follow: as many, from the first
 * one's x, weights and y, from one to the next in x and y. */
typedef struct cameo_waiting {
    const float *x, *w;
    float *y;
    int64_t count, channel, written;
    cameo_finish finish; /* of the first */
} cameo_waiting;

/* What all planes share. */
struct cameo_planes {
    const cameo_conv *sizes;
    cameo_sweep *sweep;              /* computes from x itself; NULL: */
    cameo_rows *rows;                /* this one does; NULL: nothing does */
    cameo_beside *across;            /* does whole planes that wait; NULL: the others do */
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
    cameo_waiting waiting;
    cameo_phase phases[CAMEO_PHASES];
    int64_t flat, around;         /* vectors of planes of short rows, what these read around a plane
                                   * beside its own; flat is 0: rows are not short */
    cameo_mask masks[CAMEO_FLAT]; /* of each of them, of each element of the window */
#if CAMEO_FLAT_TURNS
    int turned;
    uint16_t lanes[3 * CAMEO_FLAT_TURNED]; /* see cameo_flat_turn_plan */
#endif
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

/* Is none, for the columns from k on that the output has, but what is before x's first element,
 * which is the middle of the first window, of an odd size, and the first of a pair? */
static inline __attribute__((always_inline)) int cameo_is_begin(const cameo_conv *g, int64_t k,
                                                                int64_t columns)
{
    const int64_t left = g->out[2] - k, lanes = left < CAMEO_LANES ? left : CAMEO_LANES;
    return CAMEO_PAIRS_TURN && k == 0 && g->pad[2] == columns / 2 &&
           2 * (lanes - 1) + columns / 2 < g->in[2];
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

/* The window's weights for every lane: what a product does not have to ask for again. */
static inline __attribute__((always_inline)) void cameo_window_lanes(const float *w, int taps,
                                                                     cameo_vec *to)
{
    const cameo_vec zero = {0};
    for (int t = 0; t < taps; t++)
        to[t] = w[t] - zero;
}

/* What all columns of some rows of the output share: of the rows of x that their windows reach,
 * `in` are there, behind `top` that are not. */
typedef struct cameo_reach {
    int64_t top, in, step, apart, ahead, columns;
    int64_t rows, whole; /* of the output, and those whose vectors may be written */
} cameo_reach;

/* A row of x: what it gives to each row of the output is summed by itself first, so that no row
 * waits for the one before; it begins with 0 and not with a product, which a compiler may join with
 * either neighbour. Returns the sum that is done. */
static inline __attribute__((always_inline)) cameo_vec
cameo_slide_row(const float *row, int64_t apart, const cameo_vec *window, const cameo_mask *masks,
                int size, int inside, int there, cameo_vec *sums)
{
    cameo_vec of_row[5] = {{0}, {0}, {0}, {0}, {0}};
    for (int b = 0; b < size && there; b++) {
        const cameo_vec e = cameo_held(inside ? *(const cameo_vec *)(row + b * apart)
                                              : cameo_take(row + b * apart, 1, masks[b]));
        for (int a = 0; a < size; a++)
            of_row[a] += window[a * size + b] * e;
    }
    cameo_vec done = sums[size - 2];
    if (there)
        done = done + of_row[size - 1];
    for (int a = size - 2; a > 0; a--) {
        sums[a] = sums[a - 1];
        if (there)
            sums[a] = sums[a] + of_row[a];
    }
    sums[0] = of_row[0];
    return done;
}

/* LANES columns of a window of size x size elements that moves by one element. x: what the window
 * of the first row of the output, which is at `at`, reads first. */
static inline __attribute__((always_inline)) void
cameo_slide_of(const cameo_reach *r, const float *x, const cameo_vec *window,
               const cameo_mask *masks, const cameo_ends *ends, int64_t at, int size, int inside)
{
    cameo_vec sums[5] = {{0}, {0}, {0}, {0}, {0}}, done;
    for (int row = 0; row + 1 < size; row++, x += r->step) {
        __builtin_prefetch(x + r->ahead);
        if ((uint64_t)(row - r->top) < (uint64_t)r->in)
            cameo_slide_row(x, r->apart, window, masks, size, inside, 1, sums);
        else
            cameo_slide_row(x, r->apart, window, masks, size, inside, 0, sums);
    }
    float *y = ends->y + at;
    for (int64_t i = r->whole; i > 0; i--, x += r->step, y += r->columns) {
        __builtin_prefetch(x + r->ahead);
        done = cameo_slide_row(x, r->apart, window, masks, size, inside, 1, sums);
        *(cameo_vec *)y = cameo_clip(done + ends->bias, ends->low, ends->high);
    }
    for (int64_t i = r->whole; i < r->rows; i++, x += r->step) {
        if (i + size - 1 - r->top < r->in)
            done = cameo_slide_row(x, r->apart, window, masks, size, inside, 1, sums);
        else
            done = cameo_slide_row(x, r->apart, window, masks, size, inside, 0, sums);
        cameo_plane_store(ends, at + i * r->columns, done);
    }
}

enum { CAMEO_KEPT = 4 };  /* vectors of a row whose masks are made once for all planes */
enum { CAMEO_BEGIN = 2 }; /* inside, but for what is before x's first element */

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
        to[b] = cameo_pair_before(to[b + 2], inside == CAMEO_BEGIN ? 0 : x[b]);
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

/* Two rows of x, the first of them the first, third, .. of the windows that it is in: even[m] and
 * odd[m] are for the row that begins with them and those before. Returns the sum that is done. */
static inline __attribute__((always_inline)) cameo_vec
cameo_stride_rows(const cameo_reach *r, const float *x, const cameo_vec *window,
                  const cameo_mask *masks, int size, int inside, int first, int second,
                  cameo_vec *sums)
{
    const int last = size / 2;
    cameo_vec even[3], odd[3];
    cameo_stride_row(x, r->ahead, window, masks, 0, size, inside, first, even);
    cameo_stride_row(x + r->step, r->ahead, window, masks, 1, size, inside, second, odd);
    const cameo_vec done = cameo_pair_ordered(sums[last - 1] + even[last]);
    for (int m = last - 1; m > 0; m--)
        sums[m] = sums[m - 1] + (even[m] + odd[m]);
    sums[0] = even[0] + odd[0];
    return done;
}

/* The same of a window of an odd size that moves by two elements. */
static inline __attribute__((always_inline)) void
cameo_stride_of(const cameo_reach *r, const float *x, const cameo_vec *window,
                const cameo_mask *masks, const cameo_ends *ends, int64_t at, int size, int inside)
{
    const int last = size / 2;
    const int64_t next = 2 * r->step, end = r->top + r->in;
    cameo_vec sums[3] = {{0}, {0}, {0}};
    for (int i = 0; i < 2 * last; i += 2, x += next)
        if (i >= r->top && i + 1 < end)
            cameo_stride_rows(r, x, window, masks, size, inside, 1, 1, sums);
        else
            cameo_stride_rows(r, x, window, masks, size, inside, i >= r->top && i < end,
                              i + 1 >= r->top && i + 1 < end, sums);
    float *y = ends->y + at;
    for (int64_t i = r->whole; i > 0; i--, x += next, y += r->columns) {
        const cameo_vec done = cameo_stride_rows(r, x, window, masks, size, inside, 1, 1, sums);
        *(cameo_vec *)y = cameo_clip(done + ends->bias, ends->low, ends->high);
    }
    for (int64_t i = r->whole; i < r->rows; i++, x += next) {
        const int64_t row = 2 * (i + last);
        cameo_plane_store(ends, at + i * r->columns,
                          cameo_stride_rows(r, x, window, masks, size, inside, row < end,
                                            row + 1 < end && i + 1 < r->rows, sums));
    }
}

/* How many of rows j .. j + n lie within what may be written, with what is past their end. */
static inline __attribute__((always_inline)) int64_t cameo_plane_whole(const cameo_plane *p,
                                                                       int64_t j, int64_t n)
{
    if (p->columns + p->room >= CAMEO_LANES)
        return n;
    const int64_t whole = p->rows - j - (CAMEO_LANES - p->room - 1) / p->columns;
    return whole < n ? whole : n;
}

static inline __attribute__((unused)) cameo_reach cameo_reach_of(const cameo_planes *g, int64_t j,
                                                                 int64_t n, const cameo_plane *p)
{
    const cameo_conv *c = g->sizes;
    const int64_t stride = c->stride[1], size = c->taps[1], written = cameo_plane_whole(p, j, n);
    const int64_t q = j * stride - c->pad[1], top = q < 0 ? -q : 0, left = c->in[1] - (q + top);
    const int64_t in = left > 0 ? left : 0;
    const int64_t there = stride == 1 ? top + in - (size - 1) : (top + in) / 2 - size / 2;
    const int64_t whole = there < written ? there : written;
    return (cameo_reach){.top = top,
                         .in = in,
                         .step = c->step[1],
                         .apart = c->dilation[2],
                         .ahead = g->ahead,
                         .columns = p->columns,
                         .rows = n,
                         .whole = whole > 0 ? whole : 0};
}

/* Rows j .. j + n of some planes. The last vector of a row lies over the one before, so that it
 * ends where the row does. */
static inline __attribute__((always_inline, unused)) void
cameo_sweep_of(const cameo_planes *g, const float *x, const float *w, int64_t j, int64_t n,
               cameo_plane *p, int size, int stride)
{
    const cameo_conv *c = g->sizes;
    const int64_t columns = p->columns, at = j * columns;
    const int64_t last = columns > CAMEO_LANES ? columns - CAMEO_LANES : 0;
    const cameo_reach r = cameo_reach_of(g, j, n, p);
    cameo_ends ends = cameo_plane_ends(p);
    cameo_vec window[25];
    cameo_mask masks[5], kept[CAMEO_KEPT][5];
    const int few = columns <= CAMEO_KEPT * CAMEO_LANES;
    for (int64_t k = 0; few && k < columns; k += CAMEO_LANES)
        cameo_masks(c, k < last ? k : last, size, stride, stride == 2, kept[k / CAMEO_LANES]);
    x += (j * stride - c->pad[1]) * c->step[1] - c->pad[2];
    for (int64_t i = 0; i < p->planes; i++, x += p->channel, ends.y += p->written, w += g->taps) {
        cameo_window_lanes(w, size * size, window);
        ends.bias = p->finish->bias[i] - (cameo_vec){0};
        for (int64_t next = 0, k; next < columns; next += CAMEO_LANES) {
            k = next < last ? next : last;
            const int inside = CAMEO_BORDERS_APART && cameo_is_inside(c, k, size, stride);
            if (stride == 2 && !inside && cameo_is_begin(c, k, size)) {
                cameo_stride_of(&r, x + 2 * k, window, masks, &ends, at + k, size, CAMEO_BEGIN);
                continue;
            }
            if (!inside && !few)
                cameo_masks(c, k, size, stride, stride == 2, masks);
            for (int b = 0; !inside && few && b < size; b++)
                masks[b] = kept[next / CAMEO_LANES][b];
            if (inside && stride == 1)
                cameo_slide_of(&r, x + k, window, masks, &ends, at + k, size, 1);
            else if (inside)
                cameo_stride_of(&r, x + 2 * k, window, masks, &ends, at + k, size, 1);
            else if (stride == 1)
                cameo_slide_of(&r, x + k, window, masks, &ends, at + k, size, 0);
            else
                cameo_stride_of(&r, x + 2 * k, window, masks, &ends, at + k, size, 0);
        }
    }
}

static __attribute__((noinline, unused)) void cameo_slide_3(const cameo_planes *g, const float *x,
                                                            const float *w, int64_t j, int64_t n,
                                                            cameo_plane *p)
{
    cameo_sweep_of(g, x, w, j, n, p, 3, 1);
}

static __attribute__((noinline, unused)) void cameo_slide_5(const cameo_planes *g, const float *x,
                                                            const float *w, int64_t j, int64_t n,
                                                            cameo_plane *p)
{
    cameo_sweep_of(g, x, w, j, n, p, 5, 1);
}

static __attribute__((noinline, unused)) void cameo_stride_3(const cameo_planes *g, const float *x,
                                                             const float *w, int64_t j, int64_t n,
                                                             cameo_plane *p)
{
    cameo_sweep_of(g, x, w, j, n, p, 3, 2);
}

static __attribute__((noinline, unused)) void cameo_stride_5(const cameo_planes *g, const float *x,
                                                             const float *w, int64_t j, int64_t n,
                                                             cameo_plane *p)
{
    cameo_sweep_of(g, x, w, j, n, p, 5, 2);
}

#endif
