/* The sums and greatest numbers that a value's figures are made of, a vector of elements at a time.
 */
#ifndef CAMEO_DRIFT_SUMS_H
#define CAMEO_DRIFT_SUMS_H

#include "cameo_math.h"

#include <float.h>
#include <string.h>

#if defined(__AVX512F__)
enum { DRIFT_LANES = 8 };
#elif defined(__AVX__)
enum { DRIFT_LANES = 4 };
#else
enum { DRIFT_LANES = 2 };
#endif
enum { DRIFT_BLOCK = 256 }; /* elements; whole vectors */

typedef double cameo_drift_vec __attribute__((vector_size(8 * DRIFT_LANES), aligned(8), may_alias));
typedef float cameo_drift_narrow
    __attribute__((vector_size(4 * DRIFT_LANES), aligned(4), may_alias));
typedef double cameo_drift_lanes __attribute__((vector_size(8 * DRIFT_LANES)));
typedef int64_t cameo_drift_bits __attribute__((vector_size(8 * DRIFT_LANES), may_alias));
/* As many float32 as fill a vector. */
typedef float cameo_drift_floats
    __attribute__((vector_size(8 * DRIFT_LANES), aligned(4), may_alias));

typedef int32_t cameo_drift_ints __attribute__((vector_size(8 * DRIFT_LANES), may_alias));

/* Of y, total = y - Y, made = y - L, inherited = L - Y and Y; magnitudes where nothing else is
 * said.
 */
typedef struct cameo_drift_sums {
    cameo_drift_vec total, total2, made, made2, inherited, inherited2, shadow, shadow2;
    cameo_drift_vec least, greatest; /* of y */
} cameo_drift_sums;

/* Sums of squares. */
typedef struct cameo_drift_squares {
    cameo_drift_vec total, made, inherited, shadow;
} cameo_drift_squares;

/* Greatest magnitudes, and y's range. */
typedef struct cameo_drift_peaks {
    cameo_drift_floats total, made, inherited, low, high, shadow;
} cameo_drift_peaks;

/* What was taken in float32 of some elements. */
typedef struct cameo_drift_near_sums {
    double total2, made2, inherited2, shadow2;
    float total, made, inherited, low, high, shadow;
} cameo_drift_near_sums;

/* Part of a value, where its differences are not taken on the way. */
typedef struct cameo_drift_block {
    double y[DRIFT_BLOCK], total[DRIFT_BLOCK], made[DRIFT_BLOCK], inherited[DRIFT_BLOCK];
    double shadow[DRIFT_BLOCK]; /* |Y| */
} cameo_drift_block;

/* What L is given as. */
typedef enum cameo_drift_third {
    DRIFT_EXACT,   /* not at all: nothing is made, all is inherited */
    DRIFT_LOCAL,   /* L in float64 */
    DRIFT_BROUGHT, /* Y - L in float32 */
    DRIFT_ADDED,   /* the same, and L stands where Y is expected */
    DRIFT_MOVED,   /* Y - y in float32 stands where Y is expected; L is y */
    DRIFT_MADE,    /* L stands where Y is expected, and is Y */
    DRIFT_SAME     /* not at all, nor is Y: both are y */
} cameo_drift_third;

#define CAMEO_DRIFT_FN static inline __attribute__((always_inline, unused))

CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_chosen(cameo_drift_bits first, cameo_drift_vec a,
                                                  cameo_drift_vec b)
{
    return (cameo_drift_vec)((first & (cameo_drift_bits)a) | (~first & (cameo_drift_bits)b));
}

CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_larger_of(cameo_drift_vec a, cameo_drift_vec b)
{
    return cameo_drift_chosen((cameo_drift_bits)(a > b), a, b);
}

CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_less_of(cameo_drift_vec a, cameo_drift_vec b)
{
    return cameo_drift_chosen((cameo_drift_bits)(a < b), a, b);
}

CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_size(cameo_drift_vec v)
{
    return (cameo_drift_vec)((cameo_drift_bits)v & INT64_MAX);
}

CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_load(const double *at)
{
    return *(const cameo_drift_vec *)at;
}

CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_widened(const float *at)
{
    return __builtin_convertvector(*(const cameo_drift_narrow *)at, cameo_drift_vec);
}

CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_joined(cameo_drift_vec a, cameo_drift_vec b,
                                                  cameo_drift_vec c)
{
#if defined __FMA__ && defined __clang__
    return __builtin_elementwise_fma(a, b, c);
#else
    return a * b + c;
#endif
}

CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_squared(cameo_drift_vec v, cameo_drift_vec sum)
{
    return cameo_drift_joined(v, v, sum);
}

/* max(|a|, b) of b >= 0 */
CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_largest(cameo_drift_vec a, cameo_drift_vec b)
{
#if defined __AVX512DQ__
    enum { GREATER_MAGNITUDE = 0xb, AS_SET = 4 };
    return (cameo_drift_vec)__builtin_ia32_rangepd512_mask((cameo_drift_lanes)a,
                                                           (cameo_drift_lanes)b, GREATER_MAGNITUDE,
                                                           (cameo_drift_lanes)b, -1, AS_SET);
#else
    return cameo_drift_larger_of(cameo_drift_size(a), b);
#endif
}

CAMEO_DRIFT_FN cameo_drift_floats cameo_drift_picked(cameo_drift_ints first, cameo_drift_floats a,
                                                     cameo_drift_floats b)
{
    return (cameo_drift_floats)((first & (cameo_drift_ints)a) | (~first & (cameo_drift_ints)b));
}

#if defined __AVX512DQ__
typedef float cameo_drift_whole __attribute__((vector_size(8 * DRIFT_LANES)));
#define CAMEO_DRIFT_RANGE(how, a, b)                                                               \
    (cameo_drift_floats) __builtin_ia32_rangeps512_mask(                                           \
        (cameo_drift_whole)a, (cameo_drift_whole)b, how, (cameo_drift_whole)b, -1, 4)
#endif

CAMEO_DRIFT_FN cameo_drift_floats cameo_drift_sizes(cameo_drift_floats v)
{
    return (cameo_drift_floats)((cameo_drift_ints)v & INT32_MAX);
}

/* max(|a|, |b|) */
CAMEO_DRIFT_FN cameo_drift_floats cameo_drift_wider(cameo_drift_floats a, cameo_drift_floats b)
{
#if defined __AVX512DQ__
    return CAMEO_DRIFT_RANGE(0xb, a, b);
#else
    const cameo_drift_floats x = cameo_drift_sizes(a), y = cameo_drift_sizes(b);
    return cameo_drift_picked((cameo_drift_ints)(x > y), x, y);
#endif
}

/* min(|a|, |b|) */
CAMEO_DRIFT_FN cameo_drift_floats cameo_drift_slighter(cameo_drift_floats a, cameo_drift_floats b)
{
#if defined __AVX512DQ__
    return CAMEO_DRIFT_RANGE(0xa, a, b);
#else
    const cameo_drift_floats x = cameo_drift_sizes(a), y = cameo_drift_sizes(b);
    return cameo_drift_picked((cameo_drift_ints)(x < y), x, y);
#endif
}

CAMEO_DRIFT_FN cameo_drift_floats cameo_drift_joined_floats(cameo_drift_floats a,
                                                            cameo_drift_floats b,
                                                            cameo_drift_floats c)
{
#if defined __FMA__ && defined __clang__
    return __builtin_elementwise_fma(a, b, c);
#else
    return a * b + c;
#endif
}

/* Vectors of float64 as long as one of float32. */
typedef struct cameo_drift_wide {
    cameo_drift_vec low, high;
} cameo_drift_wide;

#if defined(__AVX512F__)
#define DRIFT_LOW 0, 1, 2, 3, 4, 5, 6, 7
#define DRIFT_HIGH 8, 9, 10, 11, 12, 13, 14, 15
#elif defined(__AVX__)
#define DRIFT_LOW 0, 1, 2, 3
#define DRIFT_HIGH 4, 5, 6, 7
#else
#define DRIFT_LOW 0, 1
#define DRIFT_HIGH 2, 3
#endif

CAMEO_DRIFT_FN cameo_drift_wide cameo_drift_both(cameo_drift_floats v)
{
    const cameo_drift_narrow low = __builtin_shufflevector(v, v, DRIFT_LOW);
    const cameo_drift_narrow high = __builtin_shufflevector(v, v, DRIFT_HIGH);
    return (cameo_drift_wide){__builtin_convertvector(low, cameo_drift_vec),
                              __builtin_convertvector(high, cameo_drift_vec)};
}

/* Both rounded to float32, one behind the other. */
CAMEO_DRIFT_FN cameo_drift_floats cameo_drift_narrowed(cameo_drift_vec a, cameo_drift_vec b)
{
    const cameo_drift_narrow low = __builtin_convertvector(a, cameo_drift_narrow);
    const cameo_drift_narrow high = __builtin_convertvector(b, cameo_drift_narrow);
    return (cameo_drift_floats)__builtin_shufflevector(low, high, DRIFT_LOW, DRIFT_HIGH);
}

/* The sum of both halves, in float64. */
CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_halves(cameo_drift_floats v)
{
    const cameo_drift_wide both = cameo_drift_both(v);
    return both.low + both.high;
}

/* Adds a vector of elements: `all` of it, or no made and inherited. `over` is more than 0 where
 * some |total| > limit * |Y|. */
CAMEO_DRIFT_FN void cameo_drift_step_wide(cameo_drift_sums *s, cameo_drift_vec total,
                                          cameo_drift_vec made, cameo_drift_vec inherited,
                                          cameo_drift_vec shadow, double limit, int all,
                                          cameo_drift_vec *over)
{
    const cameo_drift_vec size = cameo_drift_size(total), value = cameo_drift_size(shadow);
    s->total = cameo_drift_larger_of(size, s->total);
    s->total2 = cameo_drift_squared(total, s->total2);
    if (all) {
        s->made = cameo_drift_largest(made, s->made);
        s->made2 = cameo_drift_squared(made, s->made2);
        s->inherited = cameo_drift_largest(inherited, s->inherited);
        s->inherited2 = cameo_drift_squared(inherited, s->inherited2);
    }
    s->shadow = cameo_drift_larger_of(value, s->shadow);
    s->shadow2 = cameo_drift_squared(shadow, s->shadow2);
    *over = cameo_drift_larger_of(cameo_drift_joined(-limit + (cameo_drift_vec){0}, value, size),
                                  *over);
}

CAMEO_DRIFT_FN int cameo_drift_any(cameo_drift_bits v)
{
    int64_t any = 0;
    for (int j = 0; j < DRIFT_LANES; j++)
        any |= v[j];
    return any != 0;
}

/* Adds a block, whose last elements are padded here: a y that is no number is neither least nor
 * greatest. 1: some |total| > limit * |Y|. */
CAMEO_FN int cameo_drift_blocks(cameo_drift_sums *s, cameo_drift_block *b, int64_t n, double limit)
{
    cameo_drift_vec over = {0};
    for (; n % DRIFT_LANES; n++) {
        b->y[n] = NAN;
        b->total[n] = b->made[n] = b->inherited[n] = b->shadow[n] = 0;
    }
    for (int64_t i = 0; i < n; i += DRIFT_LANES) {
        const cameo_drift_vec y = cameo_drift_load(b->y + i);
        s->least = cameo_drift_less_of(y, s->least);
        s->greatest = cameo_drift_larger_of(y, s->greatest);
        cameo_drift_step_wide(s, cameo_drift_load(b->total + i), cameo_drift_load(b->made + i),
                              cameo_drift_load(b->inherited + i), cameo_drift_load(b->shadow + i),
                              limit, 1, &over);
    }
    return cameo_drift_any((cameo_drift_bits)(over > 0));
}

CAMEO_FN double cameo_drift_sum(const double *lanes, int n)
{
    double sum = 0;
    for (int j = 0; j < n; j++)
        sum += lanes[j];
    return sum;
}

CAMEO_FN double cameo_drift_most(const double *lanes, int n)
{
    double most = lanes[0];
    for (int j = 1; j < n; j++)
        most = lanes[j] > most ? lanes[j] : most;
    return most;
}

/* As many lanes further on, halves first. */
#if defined(__AVX512F__)
#define CAMEO_DRIFT_HALVES(step)                                                                   \
    step(4, 5, 6, 7, 0, 1, 2, 3) step(2, 3, 0, 1, 6, 7, 4, 5) step(1, 0, 3, 2, 5, 4, 7, 6)
#elif defined(__AVX__)
#define CAMEO_DRIFT_HALVES(step) step(2, 3, 0, 1) step(1, 0, 3, 2)
#else
#define CAMEO_DRIFT_HALVES(step) step(1, 0)
#endif

/* Halves are joined until one number is left. */
CAMEO_DRIFT_FN double cameo_drift_added(const cameo_drift_vec *lanes)
{
    cameo_drift_lanes v = *lanes;
#define CAMEO_DRIFT_STEP(...) v += __builtin_shufflevector(v, v, __VA_ARGS__);
    CAMEO_DRIFT_HALVES(CAMEO_DRIFT_STEP)
#undef CAMEO_DRIFT_STEP
    return v[0];
}

CAMEO_DRIFT_FN double cameo_drift_greatest(const cameo_drift_vec *lanes)
{
    cameo_drift_vec v = *lanes;
#define CAMEO_DRIFT_STEP(...)                                                                      \
    v = cameo_drift_larger_of(__builtin_shufflevector(v, v, __VA_ARGS__), v);
    CAMEO_DRIFT_HALVES(CAMEO_DRIFT_STEP)
#undef CAMEO_DRIFT_STEP
    return v[0];
}

CAMEO_DRIFT_FN double cameo_drift_greatest_float(const cameo_drift_floats *lanes)
{
    typedef float half __attribute__((vector_size(4 * DRIFT_LANES)));
    typedef int32_t half_bits __attribute__((vector_size(4 * DRIFT_LANES)));
    half v = __builtin_shufflevector(*lanes, *lanes, DRIFT_LOW);
    half w = __builtin_shufflevector(*lanes, *lanes, DRIFT_HIGH);
#define CAMEO_DRIFT_MORE                                                                           \
    v = (half)(((half_bits)(v > w) & (half_bits)v) | (~(half_bits)(v > w) & (half_bits)w));
#define CAMEO_DRIFT_STEP(...)                                                                      \
    w = __builtin_shufflevector(v, v, __VA_ARGS__);                                                \
    CAMEO_DRIFT_MORE
    CAMEO_DRIFT_MORE
    CAMEO_DRIFT_HALVES(CAMEO_DRIFT_STEP)
#undef CAMEO_DRIFT_STEP
#undef CAMEO_DRIFT_MORE
    return (double)v[0];
}

/* Joins the halves of vectors a and b, which then lie side by side in u; those of c and d; and so
 * on until u has one number of each of the four. */
#if defined(__AVX512F__)
#define CAMEO_DRIFT_FOUR(join)                                                                     \
    join(u, a, b, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15))                        \
        join(v, c, d, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15))                    \
            join(u, u, v, (0, 1, 4, 5, 8, 9, 12, 13), (2, 3, 6, 7, 10, 11, 14, 15))                \
                join(u, u, u, (0, 2, 4, 6, 0, 2, 4, 6), (1, 3, 5, 7, 1, 3, 5, 7))
#elif defined(__AVX__)
#define CAMEO_DRIFT_FOUR(join)                                                                     \
    join(u, a, b, (0, 1, 4, 5), (2, 3, 6, 7)) join(v, c, d, (0, 1, 4, 5), (2, 3, 6, 7))            \
        join(u, u, v, (0, 2, 4, 6), (1, 3, 5, 7))
#endif
#define CAMEO_DRIFT_LISTED(...) __VA_ARGS__

/* What cameo_drift_added says of each. */
CAMEO_DRIFT_FN void cameo_drift_added_four(const cameo_drift_squares *s, double *sums)
{
#ifdef CAMEO_DRIFT_FOUR
    const cameo_drift_lanes a = s->total, b = s->made, c = s->inherited, d = s->shadow;
    cameo_drift_lanes u, v;
#define CAMEO_DRIFT_JOIN(to, x, y, low, high)                                                      \
    to = __builtin_shufflevector(x, y, CAMEO_DRIFT_LISTED low) +                                   \
         __builtin_shufflevector(x, y, CAMEO_DRIFT_LISTED high);
    CAMEO_DRIFT_FOUR(CAMEO_DRIFT_JOIN)
#undef CAMEO_DRIFT_JOIN
    memcpy(sums, &u, 4 * sizeof *sums);
#else
    sums[0] = cameo_drift_added(&s->total);
    sums[1] = cameo_drift_added(&s->made);
    sums[2] = cameo_drift_added(&s->inherited);
    sums[3] = cameo_drift_added(&s->shadow);
#endif
}

/* The same of six vectors of float32, whose numbers come to lie at CAMEO_DRIFT_PLACES. */
#if defined(__AVX512F__)
#define CAMEO_DRIFT_QUARTERS_LOW 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define CAMEO_DRIFT_QUARTERS_HIGH 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31
#define CAMEO_DRIFT_FIRST                                                                          \
    (0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),                                      \
        (8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)
#define CAMEO_DRIFT_SECOND (CAMEO_DRIFT_QUARTERS_LOW), (CAMEO_DRIFT_QUARTERS_HIGH)
#define CAMEO_DRIFT_THIRD                                                                          \
    (0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),                                    \
        (2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#define CAMEO_DRIFT_LAST                                                                           \
    (0, 2, 0, 2, 4, 6, 4, 6, 8, 10, 8, 10, 12, 14, 12, 14),                                        \
        (1, 3, 1, 3, 5, 7, 5, 7, 9, 11, 9, 11, 13, 15, 13, 15)
#define CAMEO_DRIFT_PLACES 0, 4, 8, 12, 1, 5
#elif defined(__AVX__)
#define CAMEO_DRIFT_FIRST (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)
#define CAMEO_DRIFT_SECOND (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15)
#define CAMEO_DRIFT_THIRD (0, 2, 8, 10, 4, 6, 12, 14), (1, 3, 9, 11, 5, 7, 13, 15)
#define CAMEO_DRIFT_PLACES 0, 4, 1, 5, 2, 6
#endif

/* The greatest of each of six vectors. */
CAMEO_DRIFT_FN void cameo_drift_greatest_six(const cameo_drift_floats *v, float *most)
{
#ifdef CAMEO_DRIFT_PLACES
    typedef float whole __attribute__((vector_size(8 * DRIFT_LANES)));
    typedef int32_t whole_bits __attribute__((vector_size(8 * DRIFT_LANES)));
    static const unsigned char places[] = {CAMEO_DRIFT_PLACES};
    whole a, b, c, w;
    float all[DRIFT_LANES * 2];
#define CAMEO_DRIFT_JOIN_BY(to, x, y, low, high)                                                   \
    w = __builtin_shufflevector(x, y, CAMEO_DRIFT_LISTED low);                                     \
    to = __builtin_shufflevector(x, y, CAMEO_DRIFT_LISTED high);                                   \
    to = (whole)(((whole_bits)(w > to) & (whole_bits)w) | (~(whole_bits)(w > to) & (whole_bits)to));
#define CAMEO_DRIFT_JOIN(to, x, y, level) CAMEO_DRIFT_JOIN_AT(to, x, y, level)
#define CAMEO_DRIFT_JOIN_AT(...) CAMEO_DRIFT_JOIN_BY(__VA_ARGS__)
    CAMEO_DRIFT_JOIN(a, v[0], v[1], CAMEO_DRIFT_FIRST)
    CAMEO_DRIFT_JOIN(b, v[2], v[3], CAMEO_DRIFT_FIRST)
    CAMEO_DRIFT_JOIN(c, v[4], v[5], CAMEO_DRIFT_FIRST)
    CAMEO_DRIFT_JOIN(a, a, b, CAMEO_DRIFT_SECOND)
    CAMEO_DRIFT_JOIN(c, c, c, CAMEO_DRIFT_SECOND)
    CAMEO_DRIFT_JOIN(a, a, c, CAMEO_DRIFT_THIRD)
#ifdef CAMEO_DRIFT_LAST
    CAMEO_DRIFT_JOIN(a, a, a, CAMEO_DRIFT_LAST)
#endif
#undef CAMEO_DRIFT_JOIN
#undef CAMEO_DRIFT_JOIN_AT
#undef CAMEO_DRIFT_JOIN_BY
    memcpy(all, &a, sizeof all);
    for (int i = 0; i < 6; i++)
        most[i] = all[places[i]];
#else
    for (int i = 0; i < 6; i++)
        most[i] = (float)cameo_drift_greatest_float(&v[i]);
#endif
}

/* The greatest of sign * y. */
CAMEO_DRIFT_FN double cameo_drift_extreme(const cameo_drift_vec *v, double sign)
{
    const cameo_drift_vec signed_v = *v * sign;
    return cameo_drift_greatest(&signed_v);
}

CAMEO_FN void cameo_drift_begin(cameo_drift_sums *s)
{
    memset(s, 0, sizeof *s);
    for (int j = 0; j < DRIFT_LANES; j++) {
        s->least[j] = DBL_MAX;
        s->greatest[j] = -DBL_MAX;
    }
}

/* Both vectors' numbers as single ones. */
CAMEO_DRIFT_FN cameo_drift_near_sums cameo_drift_reduced(const cameo_drift_squares *s,
                                                         const cameo_drift_peaks *p)
{
    const cameo_drift_floats six[] = {p->total, p->made, p->inherited, -p->low, p->high, p->shadow};
    double sums[4];
    float most[6];
    cameo_drift_added_four(s, sums);
    cameo_drift_greatest_six(six, most);
    return (cameo_drift_near_sums){sums[0], sums[1], sums[2],  sums[3], most[0],
                                   most[1], most[2], -most[3], most[4], most[5]};
}

#endif
