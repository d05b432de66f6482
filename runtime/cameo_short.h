/* Sums, extremes and their places of rows of numbers: what their lanes hold together is found in
 * registers, and so is all of a short row whose n the caller's text says. Sums are in the order of
 * the 32 lanes that reductions along neighbours have. */
#ifndef CAMEO_SHORT_H
#define CAMEO_SHORT_H

#include "cameo_silu.h"

#if defined CAMEO_SILU_LANES && !defined CAMEO_EACH_ROUNDS
#define CAMEO_SHORT_VECTORS

typedef float cameo_short_eight __attribute__((vector_size(32)));
typedef float cameo_short_four __attribute__((vector_size(16)));

/* Lanes, a bit each, of which a comparison of two holds. */
#if CAMEO_SILU_LANES == 16
#define CAMEO_SHORT_WHERE(name, predicate)                                                         \
    CAMEO_IN_LOOP uint32_t name(cameo_silu_vec a, cameo_silu_vec b)                                \
    {                                                                                              \
        uint16_t any;                                                                              \
        __asm__("vcmpps $" predicate ", %2, %1, %0" : "=Yk"(any) : "v"(a), "v"(b));                \
        return any;                                                                                \
    }
#else
#define CAMEO_SHORT_WHERE(name, predicate)                                                         \
    CAMEO_IN_LOOP uint32_t name(cameo_silu_vec a, cameo_silu_vec b)                                \
    {                                                                                              \
        cameo_silu_vec is;                                                                         \
        uint32_t any;                                                                              \
        __asm__("vcmpps $" predicate ", %2, %1, %0" : "=x"(is) : "x"(a), "x"(b));                  \
        __asm__("vmovmskps %1, %0" : "=r"(any) : "x"(is));                                         \
        return any;                                                                                \
    }
#endif
CAMEO_SHORT_WHERE(cameo_short_equal, "0")
CAMEO_SHORT_WHERE(cameo_short_unordered, "3") /* one is NaN */

/* The lesser or the greater of two, the second one where one is NaN. */
#define CAMEO_SHORT_BEST(y, a, b, least)                                                           \
    do {                                                                                           \
        if (least)                                                                                 \
            __asm__("vminps %2, %1, %0" : "=v"(y) : "v"(a), "v"(b));                               \
        else                                                                                       \
            __asm__("vmaxps %2, %1, %0" : "=v"(y) : "v"(a), "v"(b));                               \
    } while (0)

#if CAMEO_SILU_LANES == 16
CAMEO_IN_LOOP uint16_t cameo_short_lanes(int64_t n)
{
    return (uint16_t)(n >= 16 ? 0xffff : n <= 0 ? 0 : (1 << n) - 1);
}
#endif

/* A whole vector of a row, or its end with `other` in the lanes behind it. */
CAMEO_IN_LOOP cameo_silu_vec cameo_short_part(const float *x, int64_t n, cameo_silu_vec other)
{
    if (n >= CAMEO_SILU_LANES)
        return *(const cameo_silu_vec *)x;
#if CAMEO_SILU_LANES == 16
    __asm__("vmovups %1, %0%{%2%}"
            : "+v"(other)
            : "m"(*(const cameo_silu_vec *)x), "Yk"(cameo_short_lanes(n)));
    return other;
#else
    const cameo_silu_bits own = cameo_silu_first(n);
    return (cameo_silu_vec)(((cameo_silu_bits)cameo_silu_load(x, n) & own) |
                            ((cameo_silu_bits)other & ~own));
#endif
}

/* The sum of 32 lanes, as cameo_lanes_add_f32 adds them. */
CAMEO_IN_LOOP float cameo_short_added(const cameo_silu_vec *sums)
{
#if CAMEO_SILU_LANES == 16
    const cameo_silu_vec x = sums[0] + sums[1];
    const cameo_short_eight y = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
                                __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
#else
    const cameo_short_eight y = (sums[0] + sums[2]) + (sums[1] + sums[3]);
#endif
    const cameo_short_four a =
        __builtin_shufflevector(y, y, 0, 1, 2, 3) + __builtin_shufflevector(y, y, 4, 5, 6, 7);
    return (a[0] + a[2]) + (a[1] + a[3]);
}

/* The greatest of a vector's lanes, none of which is NaN, or the least. */
CAMEO_IN_LOOP float cameo_short_most(cameo_silu_vec x, const int least)
{
#if CAMEO_SILU_LANES == 16
    const cameo_short_eight low = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7);
    const cameo_short_eight high = __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
    cameo_short_eight y;
    CAMEO_SHORT_BEST(y, low, high, least);
#else
    const cameo_short_eight y = x;
#endif
    cameo_short_four a = __builtin_shufflevector(y, y, 0, 1, 2, 3);
    cameo_short_four b = __builtin_shufflevector(y, y, 4, 5, 6, 7);
    CAMEO_SHORT_BEST(a, a, b, least);
    b = __builtin_shufflevector(a, a, 2, 3, 0, 1);
    CAMEO_SHORT_BEST(a, a, b, least);
    return (least ? a[0] < a[1] : a[0] > a[1]) ? a[0] : a[1];
}

CAMEO_IN_LOOP float cameo_short_add_f32(const float *x, const int64_t n)
{
    enum { LANES = CAMEO_SILU_LANES, ALL = 32 };
    const cameo_silu_vec zero = {0};
    cameo_silu_vec sums[ALL / LANES] = {{0}};
    const int64_t whole = n / ALL * ALL;
    for (int64_t i = 0; i < whole; i += ALL)
        for (int v = 0; v < ALL / LANES; v++)
            sums[v] += *(const cameo_silu_vec *)(x + i + v * LANES);
    for (int v = 0; v < ALL / LANES; v++)
        if (v * LANES < n - whole)
            sums[v] += cameo_short_part(x + whole + v * LANES, n - whole - v * LANES, zero);
    return cameo_short_added(sums);
}

/* The greatest or the least; NaN where one is. Of more than a vector the last one ends with the
 * row. */
CAMEO_IN_LOOP float cameo_short_extreme_f32(const float *x, const int64_t n, const int least)
{
    enum { LANES = CAMEO_SILU_LANES };
    const cameo_silu_vec none = (cameo_silu_vec){0} + (least ? INFINITY : -INFINITY);
    const cameo_silu_vec first = cameo_short_part(x, n, none);
    cameo_silu_vec most;
    CAMEO_SHORT_BEST(most, first, none, least); /* none, where it is NaN */
    uint32_t odd = cameo_short_unordered(first, first);
    for (int64_t i = LANES; i < n; i += LANES) {
        const int64_t at = i + LANES <= n ? i : n - LANES;
        const cameo_silu_vec v = *(const cameo_silu_vec *)(x + at);
        CAMEO_SHORT_BEST(most, v, most, least);
        odd |= cameo_short_unordered(v, v);
    }
    const float best = cameo_short_most(most, least);
    return odd ? (float)NAN : best;
}

/* The first place of it, or of the first NaN, in a row of up to 64. */
CAMEO_IN_LOOP int64_t cameo_short_place_f32(const float *x, const int64_t n, const int least)
{
    enum { LANES = CAMEO_SILU_LANES };
    const cameo_silu_vec zero = {0}, none = zero + (least ? INFINITY : -INFINITY);
    cameo_silu_vec row[64 / LANES], most = none;
    uint64_t odd = 0, equal = 0;
    for (int v = 0; v * LANES < n; v++) {
        row[v] = cameo_short_part(x + v * LANES, n - v * LANES, none);
        CAMEO_SHORT_BEST(most, row[v], most, least);
        odd |= (uint64_t)cameo_short_unordered(row[v], row[v]) << v * LANES;
    }
    const cameo_silu_vec best = zero + cameo_short_most(most, least);
    for (int v = 0; v * LANES < n; v++)
        equal |= (uint64_t)cameo_short_equal(row[v], best) << v * LANES;
    return __builtin_ctzll(odd ? odd : equal);
}

/* In a row of any length; -1 in none. */
static __attribute__((noinline, unused)) int64_t cameo_row_place_f32(const float *x, int64_t n,
                                                                     const int least)
{
    enum { LANES = CAMEO_SILU_LANES };
    const float best = cameo_short_extreme_f32(x, n, least);
    const cameo_silu_vec zero = {0}, all = zero + best;
    for (int64_t i = 0; i < n; i += LANES) {
        const cameo_silu_vec v = cameo_short_part(x + i, n - i, all);
        const uint32_t any =
            best != best ? cameo_short_unordered(v, zero) : cameo_short_equal(v, all);
        if (any)
            return i + __builtin_ctz(any);
    }
    return -1;
}
#else
CAMEO_IN_LOOP float cameo_short_add_f32(const float *x, const int64_t n)
{
    float lane[32] = {0};
    for (int64_t i = 0; i + 32 <= n; i += 32)
        for (int l = 0; l < 32; l++)
            lane[l] += x[i + l];
    for (int64_t i = n / 32 * 32; i < n; i++)
        lane[i % 32] += x[i];
    return cameo_lanes_add_f32(lane);
}

CAMEO_IN_LOOP float cameo_short_extreme_f32(const float *x, const int64_t n, const int least)
{
    float best = x[0];
    for (int64_t i = 1; i < n; i++)
        best = least ? cameo_min_f32(best, x[i]) : cameo_max_f32(best, x[i]);
    return best;
}

CAMEO_IN_LOOP int64_t cameo_short_place_f32(const float *x, const int64_t n, const int least)
{
    int64_t place = 0;
    for (int64_t i = 1; i < n; i++) {
        const float best = x[place];
        if (best == best && ((least ? x[i] < best : x[i] > best) || x[i] != x[i]))
            place = i;
    }
    return place;
}

CAMEO_IN_LOOP int64_t cameo_row_place_f32(const float *x, int64_t n, const int least)
{
    return n ? cameo_short_place_f32(x, n, least) : -1;
}
#endif

#endif
