/* What a Softmax makes of a row of numbers x: e^(x - m), m being the greatest, and their sum. Lanes
 * are those that sums along neighbours have. A NaN stays, and so does the sum; m is that of the
 * others. */
#ifndef CAMEO_POWERS_H
#define CAMEO_POWERS_H

#include "cameo_short.h"

enum {
    CAMEO_POWERS_LANES = 32,
    CAMEO_POWERS_SHORT = 64 /* elements of a row that stays in registers */
};

/* Below it e^x is 0, which is no normal number there. */
#define CAMEO_POWERS_LEAST -87.0f

/* What m is subtracted from: where all of a row is masked, m is 0 if `empty`. */
CAMEO_IN_LOOP float cameo_powers_from(float m, int empty)
{
    return empty && m == -INFINITY ? 0.0f : m;
}

/* The greatest of all lanes, none of which is NaN. */
CAMEO_IN_LOOP float cameo_powers_most(const float *lane)
{
    float half[16], quarter[8], last[4];
    for (int l = 0; l < 16; l++)
        half[l] = lane[l] > lane[l + 16] ? lane[l] : lane[l + 16];
    for (int l = 0; l < 8; l++)
        quarter[l] = half[l] > half[l + 8] ? half[l] : half[l + 8];
    for (int l = 0; l < 4; l++)
        last[l] = quarter[l] > quarter[l + 4] ? quarter[l] : quarter[l + 4];
    const float even = last[0] > last[2] ? last[0] : last[2];
    const float odd = last[1] > last[3] ? last[1] : last[3];
    return even > odd ? even : odd;
}

#ifdef CAMEO_SHORT_VECTORS
/* The greater of two, the second one where one is NaN. */
CAMEO_IN_LOOP cameo_silu_vec cameo_powers_greater(cameo_silu_vec a, cameo_silu_vec b)
{
    cameo_silu_vec y;
    CAMEO_SHORT_BEST(y, a, b, 0);
    return y;
}

/* a * b + c, or 0 where x is below the least. */
CAMEO_IN_LOOP cameo_silu_vec cameo_powers_kept(cameo_silu_vec a, cameo_silu_vec b, cameo_silu_vec c,
                                               cameo_silu_vec x, cameo_silu_vec least)
{
#if CAMEO_SILU_LANES == 16
    uint16_t kept;
    __asm__("vcmpps $21, %2, %1, %0" : "=Yk"(kept) : "v"(x), "v"(least));
    __asm__("vfmadd213ps %2, %1, %0%{%3%}%{z%}" : "+v"(a) : "v"(b), "v"(c), "Yk"(kept));
    return a;
#else
    cameo_silu_vec kept;
    __asm__("vcmpps $21, %2, %1, %0" : "=x"(kept) : "x"(x), "x"(least));
    return (cameo_silu_vec)((cameo_silu_bits)cameo_joined_add(a, b, c) & (cameo_silu_bits)kept);
#endif
}

/* e^x of what is not above 0: 2^n * (1 + p), as cameo_silu_near has it. */
CAMEO_IN_LOOP cameo_silu_vec cameo_powers_of(cameo_silu_vec x)
{
    const cameo_silu_vec zero = {0}, shift = zero + CAMEO_SILU_SHIFT;
    const cameo_silu_vec least = zero + CAMEO_POWERS_LEAST, v = cameo_powers_greater(least, x);
    const cameo_silu_vec t = cameo_joined_add(zero + 0x1.715476p0f, v, shift), n = t - shift;
    cameo_silu_vec f = cameo_joined_sub(zero + 0x1.715476p0f, v, n);
    f = cameo_joined_add(zero + 0x1.4ae0c0p-26f, v, f);
    cameo_silu_vec p = cameo_joined_add(zero + CAMEO_SILU_THIRD, f, zero + CAMEO_SILU_SECOND);
    p = cameo_joined_add(p, f, zero + 0.693147182f) * f;
    const cameo_silu_vec power = cameo_silu_power(t, n);
    return cameo_powers_kept(p, power, power, x, least);
}

/* The n numbers of a row's end, -INFINITY in the other lanes, and back. */
#if CAMEO_SILU_LANES == 16
CAMEO_IN_LOOP void cameo_powers_end(const float *y, int64_t n, cameo_silu_vec last[2])
{
    for (int v = 0; v < 2; v++) {
        const uint16_t lanes = cameo_short_lanes(n - 16 * v);
        last[v] = (cameo_silu_vec){0} - INFINITY;
        if (lanes) /* no address behind the row is made */
            __asm__("vmovups %1, %0%{%2%}"
                    : "+v"(last[v])
                    : "m"(*(const cameo_silu_vec *)(y + 16 * v)), "Yk"(lanes));
    }
}

CAMEO_IN_LOOP void cameo_powers_end_back(float *y, int64_t n, const cameo_silu_vec last[2])
{
    for (int v = 0; v < 2; v++) {
        const uint16_t lanes = cameo_short_lanes(n - 16 * v);
        if (lanes)
            __asm__("vmovups %1, %0%{%2%}"
                    : "+m"(*(cameo_silu_vec *)(y + 16 * v))
                    : "v"(last[v]), "Yk"(lanes));
    }
}
#else
CAMEO_IN_LOOP void cameo_powers_end(const float *y, int64_t n, cameo_silu_vec *last)
{
    float *lane = (float *)last;
    for (int i = 0; i < CAMEO_POWERS_LANES; i++)
        lane[i] = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        lane[i] = y[i];
}

CAMEO_IN_LOOP void cameo_powers_end_back(float *y, int64_t n, const cameo_silu_vec *last)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = ((const float *)last)[i];
}
#endif

/* y[0 .. n) = e^(y - m); their sum. */
static __attribute__((noinline, unused)) float cameo_powers(float *y, int64_t n, int empty)
{
    enum { LANES = CAMEO_SILU_LANES, ALL = CAMEO_POWERS_LANES, VECTORS = ALL / LANES };
    const cameo_silu_vec zero = {0};
    const int64_t whole = n / ALL * ALL, rest = n - whole;
    cameo_silu_vec most[VECTORS], sums[VECTORS], last[VECTORS];
    cameo_powers_end(y + whole, rest, last);
    for (int v = 0; v < VECTORS; v++) {
        most[v] = last[v];
        sums[v] = zero;
    }
    for (int64_t i = 0; i < whole; i += ALL)
        for (int v = 0; v < VECTORS; v++)
            most[v] = cameo_powers_greater(*(const cameo_silu_vec *)(y + i + v * LANES), most[v]);
    const cameo_silu_vec from =
        zero + cameo_powers_from(cameo_powers_most((const float *)most), empty);
    for (int64_t i = 0; i < whole; i += ALL)
        for (int v = 0; v < VECTORS; v++) {
            cameo_silu_vec *at = (cameo_silu_vec *)(y + i + v * LANES);
            const cameo_silu_vec power = cameo_powers_of(*at - from);
            sums[v] += power;
            *at = power;
        }
    for (int v = 0; v < VECTORS && v * LANES < rest; v++) {
        last[v] = cameo_powers_of(last[v] - from);
        sums[v] += last[v];
    }
    cameo_powers_end_back(y + whole, rest, last);
    return cameo_lanes_add_f32((const float *)sums);
}

/* y[0 .. n) = e^(x - m) over their sum, of a row of so many vectors or fewer: all of it stays in
 * registers, and rows do not wait for what was written. The sum is cameo_powers's, bit by bit.
 * Where all is masked it is 1 if `empty`. */
CAMEO_IN_LOOP void cameo_powers_vectors(const float *x, float *y, const int64_t n, const int empty,
                                        const int vectors)
{
    enum { LANES = CAMEO_SILU_LANES, ALL = CAMEO_POWERS_LANES / LANES };
    const cameo_silu_vec zero = {0}, none = zero - INFINITY;
    cameo_silu_vec row[CAMEO_POWERS_SHORT / LANES], most = none, sums[ALL] = {{0}};
    for (int v = 0; v < vectors; v++) {
        row[v] = v * LANES < n ? cameo_short_part(x + v * LANES, n - v * LANES, none) : none;
        most = cameo_powers_greater(row[v], most);
    }
    const cameo_silu_vec from = zero + cameo_powers_from(cameo_short_most(most, 0), empty);
    for (int v = 0; v < vectors; v++) {
        row[v] = cameo_powers_of(row[v] - from);
        sums[v % ALL] += row[v];
    }
    const float sum = cameo_short_added(sums);
    const float divisor = empty && sum == 0 ? 1.0f : sum;
    const cameo_silu_vec all = zero + divisor, inverse = zero + 1.0f / divisor;
    for (int v = 0; v < vectors; v++) {
        const int64_t left = n - v * LANES;
        const cameo_silu_vec part = row[v] * inverse; /* and what it leaves, as cameo_over_f32 */
        row[v] = cameo_joined_add(cameo_joined_sub(part, all, row[v]), -inverse, part);
        if (left >= LANES)
            *(cameo_silu_vec *)(y + v * LANES) = row[v];
        else if (left > 0)
            cameo_silu_store(y + v * LANES, left, row[v]);
    }
}

/* Of a row whose n the caller's text says. */
CAMEO_IN_LOOP void cameo_powers_short(const float *x, float *y, const int64_t n, const int empty)
{
    enum { LANES = CAMEO_SILU_LANES };
    cameo_powers_vectors(x, y, n, empty, (int)((n + LANES - 1) / LANES));
}

/* The sum of e^(x - m). */
static __attribute__((noinline, unused)) float cameo_powers_sum(const float *x, int64_t n, float m)
{
    enum { LANES = CAMEO_SILU_LANES, ALL = CAMEO_POWERS_LANES };
    const cameo_silu_vec zero = {0}, none = zero - INFINITY;
    const int64_t whole = n / ALL * ALL;
    cameo_silu_vec sums[ALL / LANES] = {{0}};
    for (int64_t i = 0; i < whole; i += ALL)
        for (int v = 0; v < ALL / LANES; v++)
            sums[v] += cameo_powers_of(*(const cameo_silu_vec *)(x + i + v * LANES) - m);
    for (int v = 0; v < ALL / LANES; v++)
        if (v * LANES < n - whole)
            sums[v] += cameo_powers_of(
                cameo_short_part(x + whole + v * LANES, n - whole - v * LANES, none) - m);
    return cameo_short_added(sums);
}
#else
CAMEO_IN_LOOP float cameo_powers_of(float x)
{
    float y = cameo_exp_near_f32(cameo_at_least_f32(x, CAMEO_POWERS_LEAST));
    y = x < CAMEO_POWERS_LEAST ? 0.0f : y;
    return x != x ? x : y;
}

static __attribute__((noinline, unused)) float cameo_powers(float *y, int64_t n, int empty)
{
    enum { ALL = CAMEO_POWERS_LANES };
    float most[ALL], sums[ALL] = {0};
    const int64_t whole = n / ALL * ALL;
    for (int l = 0; l < ALL; l++)
        most[l] = -INFINITY;
    for (int64_t i = 0; i < whole; i += ALL)
        for (int l = 0; l < ALL; l++)
            most[l] = y[i + l] > most[l] ? y[i + l] : most[l];
    for (int64_t i = whole; i < n; i++)
        most[i - whole] = y[i] > most[i - whole] ? y[i] : most[i - whole];
    const float m = cameo_powers_from(cameo_powers_most(most), empty);
    for (int64_t i = 0; i < whole; i += ALL)
        for (int l = 0; l < ALL; l++) {
            const float power = cameo_powers_of(y[i + l] - m);
            sums[l] += power;
            y[i + l] = power;
        }
    for (int64_t i = whole; i < n; i++) {
        y[i] = cameo_powers_of(y[i] - m);
        sums[i - whole] += y[i];
    }
    return cameo_lanes_add_f32(sums);
}

static __attribute__((noinline, unused)) float cameo_powers_sum(const float *x, int64_t n, float m)
{
    float sums[CAMEO_POWERS_LANES] = {0};
    for (int64_t i = 0; i < n; i++)
        sums[i % CAMEO_POWERS_LANES] += cameo_powers_of(x[i] - m);
    return cameo_lanes_add_f32(sums);
}
#endif

/* y[0 .. n) = e^(x - m) over their sum, of a row of any length. */
static __attribute__((noinline, unused)) void cameo_powers_row(const float *x, float *y, int64_t n,
                                                               int empty)
{
#ifdef CAMEO_SHORT_VECTORS
    enum { LANES = CAMEO_SILU_LANES };
    if (n <= 16)
        cameo_powers_vectors(x, y, n, empty, 16 / LANES);
    else if (n <= 32)
        cameo_powers_vectors(x, y, n, empty, 32 / LANES);
    else if (n <= CAMEO_POWERS_SHORT)
        cameo_powers_vectors(x, y, n, empty, CAMEO_POWERS_SHORT / LANES);
    if (n <= CAMEO_POWERS_SHORT)
        return;
#endif
    memmove(y, x, (size_t)n * sizeof *y);
    const float sum = cameo_powers(y, n, empty), all = empty && sum == 0 ? 1.0f : sum;
    for (int64_t i = 0; i < n; i++)
        y[i] = cameo_part_f32(y[i], all);
}

#ifndef CAMEO_SHORT_VECTORS
CAMEO_IN_LOOP void cameo_powers_short(const float *x, float *y, int64_t n, int empty)
{
    cameo_powers_row(x, y, n, empty);
}
#endif

#endif
