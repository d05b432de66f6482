/* SiLU of rows of numbers, and what is added to it, and their sigmoid: where the processor has the
 * instructions, 2^n comes of a table of its sixteenths or eighths, numbers that are far are looked
 * for and not clipped, and with AVX-512 there is no division where that takes longer. Otherwise
 * each number is cameo_silu_f32's or cameo_sigmoid_f32's. */
#ifndef CAMEO_SILU_H
#define CAMEO_SILU_H

#include <string.h>

#include "cameo_maker.h"
#include "cameo_vector.h"

/* What becomes of x: x / (1 + e^-x), 1 / (1 + e^-x) or 1 / (1 + e^x). */
enum { CAMEO_ROW_SILU, CAMEO_ROW_SIGMOID, CAMEO_ROW_LOGISTIC };

CAMEO_IN_LOOP float cameo_silu_one(float x, const int how)
{
    return how == CAMEO_ROW_SILU ? cameo_silu_f32(x)
                                 : cameo_sigmoid_f32(how == CAMEO_ROW_LOGISTIC ? -x : x);
}

#if defined CAMEO_ROUNDS_ONCE && defined __AVX512F__ && defined __AVX512DQ__
#define CAMEO_SILU_LANES 16
#define CAMEO_SILU_VECTORS 6 /* beside one another */
#elif defined CAMEO_ROUNDS_ONCE && defined __AVX2__
#define CAMEO_SILU_LANES 8
#define CAMEO_SILU_VECTORS 4
#endif

#ifdef CAMEO_SILU_LANES
typedef float cameo_silu_vec
    __attribute__((vector_size(4 * CAMEO_SILU_LANES), aligned(4), may_alias));

/* From it on, and below its negative, e^-x may be no normal number. */
#define CAMEO_SILU_FAR 87.0f

/* Rounded once: a * b + c, a * b - c, c - a * b. */
CAMEO_IN_LOOP cameo_silu_vec cameo_joined_add(cameo_silu_vec a, cameo_silu_vec b, cameo_silu_vec c)
{
    __asm__("vfmadd213ps %2, %1, %0" : "+v"(a) : "v"(b), "v"(c));
    return a;
}
CAMEO_IN_LOOP cameo_silu_vec cameo_joined_sub(cameo_silu_vec a, cameo_silu_vec b, cameo_silu_vec c)
{
    __asm__("vfmsub213ps %2, %1, %0" : "+v"(a) : "v"(b), "v"(c));
    return a;
}

#if CAMEO_SILU_LANES == 16
CAMEO_IN_LOOP cameo_silu_vec cameo_joined_from(cameo_silu_vec a, cameo_silu_vec b, cameo_silu_vec c)
{
    __asm__("vfnmadd213ps %2, %1, %0" : "+v"(a) : "v"(b), "v"(c));
    return a;
}

/* The steps of n, as what is added to a number so that its last digit is one; of the rest f, which
 * is half of one at most, the polynomial's terms. */
#define CAMEO_SILU_SHIFT 0x1.8p19f
#define CAMEO_SILU_SECOND 0.240234286f
#define CAMEO_SILU_THIRD 0.05550595f

/* 2^n: t is n + CAMEO_SILU_SHIFT. */
CAMEO_IN_LOOP cameo_silu_vec cameo_silu_power(cameo_silu_vec t, cameo_silu_vec n)
{
    static const float powers[16] = {0x1p0f,        0x1.0b5586p0f, 0x1.172b84p0f, 0x1.2387a6p0f,
                                     0x1.306fe0p0f, 0x1.3dea64p0f, 0x1.4bfdaep0f, 0x1.5ab07ep0f,
                                     0x1.6a09e6p0f, 0x1.7a1148p0f, 0x1.8ace54p0f, 0x1.9c4918p0f,
                                     0x1.ae89fap0f, 0x1.c199bep0f, 0x1.d5818ep0f, 0x1.ea4afap0f};
    const cameo_silu_vec table = *(const cameo_silu_vec *)powers;
    cameo_silu_vec power;
    __asm__("vpermps %2, %1, %0" : "=v"(power) : "v"(t), "v"(table));
    __asm__("vscalefps %1, %0, %0" : "+v"(power) : "v"(n));
    return power;
}

/* Does the processor divide beside other operations, for less than the reciprocal takes? The row of
 * processors.def says so, or that it is to be asked. */
#if defined CAMEO_CPU_QUOTIENTS && CAMEO_CPU_QUOTIENTS == 2
#define cameo_silu_divides() cameo_maker_is_zen()
#elif defined CAMEO_CPU_QUOTIENTS && CAMEO_CPU_QUOTIENTS
#define cameo_silu_divides() 1
#else
#define cameo_silu_divides() 0
#endif

/* x / d by the reciprocal within 2^-14 and what that leaves of x. -0 stays so. */
CAMEO_IN_LOOP cameo_silu_vec cameo_silu_over(cameo_silu_vec x, cameo_silu_vec d)
{
    cameo_silu_vec r;
    __asm__("vrcp14ps %1, %0" : "=v"(r) : "v"(d));
    const cameo_silu_vec q = x * r;
    return cameo_joined_from(cameo_joined_sub(q, d, x), r, q);
}

/* Is any of so many vectors far? A NaN may be said to be. */
CAMEO_IN_LOOP int cameo_silu_any_far(const cameo_silu_vec *x, const int vectors)
{
    const cameo_silu_vec far = (cameo_silu_vec){0} + CAMEO_SILU_FAR;
    cameo_silu_vec size = x[0], other = x[vectors > 1];
    uint16_t any;
    /* of each pair the greater size; a NaN or a number */
    for (int i = 2; i < vectors; i += 2) {
        __asm__("vrangeps $11, %1, %0, %0" : "+v"(size) : "v"(x[i]));
        __asm__("vrangeps $11, %1, %0, %0" : "+v"(other) : "v"(x[i + 1]));
    }
    __asm__("vrangeps $11, %1, %0, %0" : "+v"(size) : "v"(other));
    __asm__("vcmpps $21, %2, %1, %0" : "=Yk"(any) : "v"(size), "v"(far));
    return any != 0;
}

/* The first n numbers at y; the others are 0, or stay as they are: they may be another thread's. */
CAMEO_IN_LOOP cameo_silu_vec cameo_silu_load(const float *y, int64_t n)
{
    const uint16_t lanes = (uint16_t)((1u << n) - 1);
    cameo_silu_vec x;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(x) : "m"(*(const cameo_silu_vec *)y), "Yk"(lanes));
    return x;
}
CAMEO_IN_LOOP void cameo_silu_store(float *y, int64_t n, cameo_silu_vec x)
{
    const uint16_t lanes = (uint16_t)((1u << n) - 1);
    __asm__("vmovups %1, %0%{%2%}" : "+m"(*(cameo_silu_vec *)y) : "v"(x), "Yk"(lanes));
}
#else
typedef int32_t cameo_silu_bits __attribute__((vector_size(32), aligned(4), may_alias));

/* As above, by eighths. The quotient is a division's, which is no slower here. */
#define CAMEO_SILU_SHIFT 0x1.8p20f
#define CAMEO_SILU_SECOND 0.2402576f
#define CAMEO_SILU_THIRD 0.055508677f

CAMEO_IN_LOOP cameo_silu_vec cameo_silu_power(cameo_silu_vec t, cameo_silu_vec n)
{
    static const float powers[8] = {0x1p0f,        0x1.172b84p0f, 0x1.306fe0p0f, 0x1.4bfdaep0f,
                                    0x1.6a09e6p0f, 0x1.8ace54p0f, 0x1.ae89fap0f, 0x1.d5818ep0f};
    const cameo_silu_vec table = *(const cameo_silu_vec *)powers;
    cameo_silu_vec power;
    (void)n;
    __asm__("vpermps %2, %1, %0" : "=x"(power) : "x"(t), "x"(table));
    /* behind the eighths t has the exponent; what is above it is shifted out */
    return (cameo_silu_vec)((cameo_silu_bits)power + (((cameo_silu_bits)t >> 3) << 23));
}

#define cameo_silu_divides() 1
CAMEO_IN_LOOP cameo_silu_vec cameo_silu_over(cameo_silu_vec x, cameo_silu_vec d)
{
    return x / d;
}

CAMEO_IN_LOOP int cameo_silu_any_far(const cameo_silu_vec *x, const int vectors)
{
    const cameo_silu_bits size = (cameo_silu_bits){0} + 0x7fffffff;
    const cameo_silu_vec far = (cameo_silu_vec){0} + CAMEO_SILU_FAR;
    cameo_silu_bits most = (cameo_silu_bits)x[0] & size, any;
    int lanes;
    for (int i = 1; i < vectors; i++) /* bits of sizes are in order, and NaN is the greatest */
        __asm__("vpmaxsd %1, %0, %0" : "+x"(most) : "x"((cameo_silu_bits)x[i] & size));
    any = most >= (cameo_silu_bits)far;
    __asm__("vmovmskps %1, %0" : "=r"(lanes) : "x"(any));
    return lanes != 0;
}

CAMEO_IN_LOOP cameo_silu_bits cameo_silu_first(int64_t n)
{
    return (cameo_silu_bits){0, 1, 2, 3, 4, 5, 6, 7} < (int32_t)n;
}
CAMEO_IN_LOOP cameo_silu_vec cameo_silu_load(const float *y, int64_t n)
{
    cameo_silu_vec x;
    __asm__("vmaskmovps %1, %2, %0"
            : "=x"(x)
            : "m"(*(const cameo_silu_vec *)y), "x"(cameo_silu_first(n)));
    return x;
}
CAMEO_IN_LOOP void cameo_silu_store(float *y, int64_t n, cameo_silu_vec x)
{
    __asm__("vmaskmovps %1, %2, %0"
            : "+m"(*(cameo_silu_vec *)y)
            : "x"(x), "x"(cameo_silu_first(n)));
}
#endif

/* Of so many vectors what becomes of them, none being far: e^-x = 2^n * (1 + p), n a number of
 * steps and p the polynomial of the rest f. Within 2.5 units in the last place. Each operation is
 * one of all vectors before the next: those of one vector wait for each other, and a processor's
 * queues hold few vectors' operations. */
CAMEO_IN_LOOP void cameo_silu_near(cameo_silu_vec *x, const int vectors, const int how,
                                   const int divided)
{
    const float sign = how == CAMEO_ROW_LOGISTIC ? 1.0f : -1.0f;
    const cameo_silu_vec zero = {0}, shift = zero + CAMEO_SILU_SHIFT, one = zero + 1.0f;
    const cameo_silu_vec steps = zero + sign * 0x1.715476p0f, rest = zero + sign * 0x1.4ae0c0p-26f;
    cameo_silu_vec t[CAMEO_SILU_VECTORS], n[CAMEO_SILU_VECTORS], f[CAMEO_SILU_VECTORS];
    cameo_silu_vec p[CAMEO_SILU_VECTORS];
#define CAMEO_EACH_VECTOR _Pragma("GCC unroll 6") for (int i = 0; i < vectors; i++)
    CAMEO_EACH_VECTOR t[i] = cameo_joined_add(steps, x[i], shift);
    CAMEO_EACH_VECTOR n[i] = t[i] - shift;
    CAMEO_EACH_VECTOR f[i] = cameo_joined_sub(steps, x[i], n[i]);
    CAMEO_EACH_VECTOR f[i] = cameo_joined_add(rest, x[i], f[i]);
    CAMEO_EACH_VECTOR n[i] = cameo_silu_power(t[i], n[i]);
    CAMEO_EACH_VECTOR p[i] =
        cameo_joined_add(zero + CAMEO_SILU_THIRD, f[i], zero + CAMEO_SILU_SECOND);
    CAMEO_EACH_VECTOR p[i] = cameo_joined_add(p[i], f[i], zero + 0.693147182f);
    CAMEO_EACH_VECTOR p[i] = p[i] * f[i];
    CAMEO_EACH_VECTOR p[i] = cameo_joined_add(p[i], n[i], one);
    CAMEO_EACH_VECTOR n[i] = n[i] + p[i];
    if (divided) {
        CAMEO_EACH_VECTOR x[i] = (how == CAMEO_ROW_SILU ? x[i] : one) / n[i];
    } else {
        CAMEO_EACH_VECTOR x[i] = cameo_silu_over(how == CAMEO_ROW_SILU ? x[i] : one, n[i]);
    }
#undef CAMEO_EACH_VECTOR
}

/* Of a vector of which one number is far: the others are what they are among others. */
CAMEO_IN_LOOP void cameo_silu_far_as(float *y, const float *added, const int how)
{
    float near[CAMEO_SILU_LANES];
    for (int i = 0; i < CAMEO_SILU_LANES; i++)
        near[i] = fabsf(y[i]) < CAMEO_SILU_FAR ? y[i] : 0.0f;
    cameo_silu_vec x = *(const cameo_silu_vec *)near;
    cameo_silu_near(&x, 1, how, cameo_silu_divides());
    *(cameo_silu_vec *)near = x;
    for (int i = 0; i < CAMEO_SILU_LANES; i++)
        y[i] = (fabsf(y[i]) < CAMEO_SILU_FAR ? near[i] : cameo_silu_one(y[i], how)) +
               (added ? added[i] : -0.0f);
}

static __attribute__((noinline, unused)) void cameo_silu_far(float *y, const float *added)
{
    cameo_silu_far_as(y, added, CAMEO_ROW_SILU);
}
static __attribute__((noinline, unused)) void cameo_sigmoid_far(float *y)
{
    cameo_silu_far_as(y, NULL, CAMEO_ROW_SIGMOID);
}
static __attribute__((noinline, unused)) void cameo_logistic_far(float *y)
{
    cameo_silu_far_as(y, NULL, CAMEO_ROW_LOGISTIC);
}

/* Of some vectors, so many that the test is little beside them, with `added` (NULL: nothing). */
CAMEO_IN_LOOP void cameo_silu_vectors(float *y, const float *added, const int vectors,
                                      const int how, const int divided)
{
    enum { LANES = CAMEO_SILU_LANES };
    cameo_silu_vec x[CAMEO_SILU_VECTORS];
    for (int i = 0; i < vectors; i++)
        x[i] = *(const cameo_silu_vec *)(y + LANES * i);
    if (__builtin_expect(cameo_silu_any_far(x, vectors), 0)) {
        for (int i = 0; i < vectors; i++)
            if (how == CAMEO_ROW_SILU)
                cameo_silu_far(y + LANES * i, added ? added + LANES * i : NULL);
            else if (how == CAMEO_ROW_SIGMOID)
                cameo_sigmoid_far(y + LANES * i);
            else
                cameo_logistic_far(y + LANES * i);
        return;
    }
    cameo_silu_near(x, vectors, how, divided);
    for (int i = 0; added && i < vectors; i++)
        x[i] += *(const cameo_silu_vec *)(added + LANES * i);
    for (int i = 0; i < vectors; i++)
        *(cameo_silu_vec *)(y + LANES * i) = x[i];
}

CAMEO_IN_LOOP void cameo_silu_row_as(float *y, const float *added, int64_t n, const int how,
                                     const int divided)
{
    enum { LANES = CAMEO_SILU_LANES, ALL = CAMEO_SILU_VECTORS * LANES };
    int64_t i = 0;
    for (; n - i >= ALL; i += ALL)
        cameo_silu_vectors(y + i, added ? added + i : NULL, CAMEO_SILU_VECTORS, how, divided);
    for (; CAMEO_SILU_VECTORS > 4 && n - i >= 4 * LANES; i += 4 * LANES)
        cameo_silu_vectors(y + i, added ? added + i : NULL, 4, how, divided);
    for (; n - i >= LANES; i += LANES)
        cameo_silu_vectors(y + i, added ? added + i : NULL, 1, how, divided);
    if (i == n)
        return;
    float last[LANES], beside[LANES];
    *(cameo_silu_vec *)last = cameo_silu_load(y + i, n - i);
    if (added)
        *(cameo_silu_vec *)beside = cameo_silu_load(added + i, n - i);
    cameo_silu_vectors(last, added ? beside : NULL, 1, how, divided);
    cameo_silu_store(y + i, n - i, *(const cameo_silu_vec *)last);
}
#else
#define cameo_silu_divides() 1
CAMEO_IN_LOOP void cameo_silu_row_as(float *y, const float *added, int64_t n, const int how,
                                     const int divided)
{
    (void)divided;
    for (int64_t i = 0; i < n; i++)
        y[i] = cameo_silu_one(y[i], how) + (added ? added[i] : -0.0f);
}
#endif

CAMEO_IN_LOOP void cameo_silu_rows_as(float *y, const float *added, int64_t rows, int64_t row,
                                      int64_t n, const int how)
{
    if (row == n) {
        n *= rows;
        rows = 1;
    }
    const int divided = cameo_silu_divides();
    for (int64_t r = 0; r < rows; r++)
        cameo_silu_row_as(y + r * row, added ? added + r * row : NULL, n, how, divided);
}

/* n neighbours in each of `rows` rows of y, `row` apart, and what lies in `added` as they do; NULL:
 * nothing is added. */
static __attribute__((noinline, unused)) void cameo_silu_rows_with(float *restrict y,
                                                                   const float *restrict added,
                                                                   int64_t rows, int64_t row,
                                                                   int64_t n)
{
    cameo_silu_rows_as(y, added, rows, row, n, CAMEO_ROW_SILU);
}
static inline __attribute__((unused)) void cameo_silu_rows(float *y, int64_t rows, int64_t row,
                                                           int64_t n)
{
    cameo_silu_rows_with(y, NULL, rows, row, n);
}

/* Their sigmoid, and that of their negatives. */
static __attribute__((noinline, unused)) void cameo_sigmoid_rows(float *y, int64_t rows,
                                                                 int64_t row, int64_t n)
{
    cameo_silu_rows_as(y, NULL, rows, row, n, CAMEO_ROW_SIGMOID);
}
static __attribute__((noinline, unused)) void cameo_logistic_rows(float *y, int64_t rows,
                                                                  int64_t row, int64_t n)
{
    cameo_silu_rows_as(y, NULL, rows, row, n, CAMEO_ROW_LOGISTIC);
}

#endif
