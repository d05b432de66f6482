/* SiLU of rows of numbers: where the processor has the instructions, 2^n comes of a table of its
 * sixteenths and one operation that scales, and there is no division. Otherwise each number is
 * cameo_silu_f32's. */
#ifndef CAMEO_SILU_H
#define CAMEO_SILU_H

#include <string.h>

#include "cameo_vector.h"

#if defined __AVX512F__ && defined __AVX512DQ__ && defined CAMEO_ROUNDS_ONCE
typedef float cameo_sixteen __attribute__((vector_size(64), aligned(4), may_alias));

/* From it on, and below its negative, e^-x may be no normal number. */
#define CAMEO_SILU_FAR 87.0f

/* Rounded once: a * b + c, a * b - c, c - a * b. */
CAMEO_IN_LOOP cameo_sixteen cameo_joined_add(cameo_sixteen a, cameo_sixteen b, cameo_sixteen c)
{
    __asm__("vfmadd213ps %2, %1, %0" : "+v"(a) : "v"(b), "v"(c));
    return a;
}
CAMEO_IN_LOOP cameo_sixteen cameo_joined_sub(cameo_sixteen a, cameo_sixteen b, cameo_sixteen c)
{
    __asm__("vfmsub213ps %2, %1, %0" : "+v"(a) : "v"(b), "v"(c));
    return a;
}
CAMEO_IN_LOOP cameo_sixteen cameo_joined_from(cameo_sixteen a, cameo_sixteen b, cameo_sixteen c)
{
    __asm__("vfnmadd213ps %2, %1, %0" : "+v"(a) : "v"(b), "v"(c));
    return a;
}

/* x / (1 + e^-x) of what is not far: e^-x = 2^n * (1 + p), n a number of sixteenths and p the
 * polynomial of the rest f. 1 + e^-x divides by its reciprocal within 2^-14 and what that leaves of
 * x. Within 2.5 units in the last place. */
CAMEO_IN_LOOP cameo_sixteen cameo_silu_near(cameo_sixteen x)
{
    static const float powers[16] = {0x1p0f,        0x1.0b5586p0f, 0x1.172b84p0f, 0x1.2387a6p0f,
                                     0x1.306fe0p0f, 0x1.3dea64p0f, 0x1.4bfdaep0f, 0x1.5ab07ep0f,
                                     0x1.6a09e6p0f, 0x1.7a1148p0f, 0x1.8ace54p0f, 0x1.9c4918p0f,
                                     0x1.ae89fap0f, 0x1.c199bep0f, 0x1.d5818ep0f, 0x1.ea4afap0f};
    const cameo_sixteen zero = {0}, shift = zero + 0x1.8p19f, one = zero + 1.0f;
    const cameo_sixteen table = *(const cameo_sixteen *)powers;
    cameo_sixteen power, r;
    const cameo_sixteen t = cameo_joined_add(zero - 0x1.715476p0f, x, shift), n = t - shift;
    cameo_sixteen f = cameo_joined_sub(zero - 0x1.715476p0f, x, n);
    f = cameo_joined_add(zero - 0x1.4ae0c0p-26f, x, f);
    cameo_sixteen p = cameo_joined_add(zero + 0.05550595f, f, zero + 0.240234286f);
    p = cameo_joined_add(p, f, zero + 0.693147182f) * f;
    __asm__("vpermps %2, %1, %0" : "=v"(power) : "v"(t), "v"(table));
    __asm__("vscalefps %1, %0, %0" : "+v"(power) : "v"(n));
    const cameo_sixteen d = power + cameo_joined_add(p, power, one);
    __asm__("vrcp14ps %1, %0" : "=v"(r) : "v"(d));
    const cameo_sixteen q = x * r;
    return cameo_joined_from(cameo_joined_sub(q, d, x), r, q); /* -0 stays so */
}

/* Of each pair the greater size; a NaN or a number. */
CAMEO_IN_LOOP cameo_sixteen cameo_greater_size(cameo_sixteen a, cameo_sixteen b)
{
    __asm__("vrangeps $11, %1, %0, %0" : "+v"(a) : "v"(b));
    return a;
}
/* A NaN may be said to be far. */
CAMEO_IN_LOOP int cameo_any_far(cameo_sixteen size)
{
    const cameo_sixteen far = (cameo_sixteen){0} + CAMEO_SILU_FAR;
    uint16_t any;
    __asm__("vcmpps $21, %2, %1, %0" : "=Yk"(any) : "v"(size), "v"(far));
    return any != 0;
}

/* Of 16 numbers of which one is far: the others are what they are among others. */
static __attribute__((noinline, unused)) void cameo_silu_far(float *y)
{
    float near[16];
    for (int i = 0; i < 16; i++)
        near[i] = fabsf(y[i]) < CAMEO_SILU_FAR ? y[i] : 0.0f;
    *(cameo_sixteen *)near = cameo_silu_near(*(const cameo_sixteen *)near);
    for (int i = 0; i < 16; i++)
        y[i] = fabsf(y[i]) < CAMEO_SILU_FAR ? near[i] : cameo_silu_f32(y[i]);
}

/* Of some vectors, so many that the test is little beside them. */
CAMEO_IN_LOOP void cameo_silu_vectors(float *y, const int vectors)
{
    cameo_sixteen x[4];
    for (int i = 0; i < vectors; i++)
        x[i] = *(const cameo_sixteen *)(y + 16 * i);
    cameo_sixteen size = cameo_greater_size(x[0], x[vectors > 1]);
    if (vectors > 2)
        size = cameo_greater_size(size, cameo_greater_size(x[2], x[3]));
    if (__builtin_expect(cameo_any_far(size), 0)) {
        for (int i = 0; i < vectors; i++)
            cameo_silu_far(y + 16 * i);
        return;
    }
    for (int i = 0; i < vectors; i++)
        *(cameo_sixteen *)(y + 16 * i) = cameo_silu_near(x[i]);
}

CAMEO_IN_LOOP void cameo_silu_row(float *y, int64_t n)
{
    int64_t i = 0;
    for (; n - i >= 64; i += 64)
        cameo_silu_vectors(y + i, 4);
    for (; n - i >= 16; i += 16)
        cameo_silu_vectors(y + i, 1);
    if (i == n)
        return;
    float last[16];
    const uint16_t lanes = (uint16_t)((1u << (n - i)) - 1);
    cameo_sixteen x;
    __asm__("vmovups %1, %0%{%2%}%{z%}"
            : "=v"(x)
            : "m"(*(const cameo_sixteen *)(y + i)), "Yk"(lanes));
    *(cameo_sixteen *)last = x;
    cameo_silu_vectors(last, 1);
    x = *(const cameo_sixteen *)last;
    __asm__("vmovups %1, %0%{%2%}" /* the columns behind may be another thread's */
            : "+m"(*(cameo_sixteen *)(y + i))
            : "v"(x), "Yk"(lanes));
}
#else
CAMEO_IN_LOOP void cameo_silu_row(float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = cameo_silu_f32(y[i]);
}
#endif

/* n neighbours in each of `rows` rows of y, `row` apart. */
static __attribute__((noinline, unused)) void cameo_silu_rows(float *y, int64_t rows, int64_t row,
                                                              int64_t n)
{
    for (int64_t r = 0; r < rows; r++)
        cameo_silu_row(y + r * row, n);
}

#endif
