/* GELU of rows of numbers: with AVX-512 the normal distribution is a polynomial of sixteen, one for
 * each stretch of 3/8, whose terms lie in registers. Otherwise each number is cameo_gelu_f32's. */
#ifndef CAMEO_GELU_H
#define CAMEO_GELU_H

#include "cameo_silu.h"

/* Numbers that rows have room for, before their GELU is taken. */
enum { CAMEO_GELU_ROOM = 768 };

#if defined CAMEO_SILU_LANES && CAMEO_SILU_LANES == 16
enum { CAMEO_GELU_TERMS = 6 };

/* Phi(-a) near 3/8 * i: terms of the distance from there, least maximum fits of the ratio. It is
 * within 1e-7 of itself up to 3, within 5e-5 up to 5.7. */
static const float cameo_gelu_terms[CAMEO_GELU_TERMS][16] = {
    {0x1p-1f, 0x1.6a527ap-2f, 0x1.d022p-3f, 0x1.0ad7dap-3f, 0x1.11a46ep-4f, 0x1.f20394p-6f,
     0x1.90924cp-7f, 0x1.1bee6ap-8f, 0x1.61de22p-10f, 0x1.8301ccp-12f, 0x1.72d97cp-14f,
     0x1.36fef2p-16f, 0x1.c807dep-19f, 0x1.24155ep-21f, 0x1.46a2c6p-24f, 0x1.3eb538p-27f},
    {-0x1.988452p-2f, -0x1.7cc794p-2f, -0x1.345d5ep-2f, -0x1.b1ec62p-3f, -0x1.094088p-3f,
     -0x1.19bfa8p-4f, -0x1.0402e8p-5f, -0x1.a0f234p-7f, -0x1.227208p-8f, -0x1.5f90aap-10f,
     -0x1.71b856p-12f, -0x1.51cdfep-14f, -0x1.0c2724p-16f, -0x1.71df6ep-19f, -0x1.bb3ea2p-22f,
     -0x1.cd7b2cp-25f},
    {-0x1.8ad61ap-22f, 0x1.1d93ccp-4f, 0x1.ce89ep-4f, 0x1.e828fep-4f, 0x1.8de13cp-4f,
     0x1.0824a2p-4f, 0x1.24849ep-5f, 0x1.119fc2p-6f, 0x1.b3a9fcp-8f, 0x1.289e4p-9f, 0x1.5a92ap-11f,
     0x1.5c49e6p-13f, 0x1.2d925cp-15f, 0x1.c28f9ap-18f, 0x1.22ae0cp-20f, 0x1.442e94p-23f},
    {0x1.10604p-4f, 0x1.b448dep-5f, 0x1.67b764p-6f, -0x1.33601ep-7f, -0x1.ba0eb6p-6f,
     -0x1.d879d6p-6f, -0x1.60129cp-6f, -0x1.99559ep-7f, -0x1.834972p-8f, -0x1.307c06p-9f,
     -0x1.92a524p-11f, -0x1.c336ep-13f, -0x1.aeb78cp-15f, -0x1.5f8582p-17f, -0x1.ebe7b4p-20f,
     -0x1.27af6ap-22f},
    {-0x1.20688ep-14f, -0x1.0df034p-6f, -0x1.75368ep-6f, -0x1.1918b4p-6f, -0x1.90171ep-8f,
     0x1.61b71ap-9f, 0x1.8ed6c8p-8f, 0x1.61d584p-8f, 0x1.b4646cp-9f, 0x1.a16564p-10f,
     0x1.430b5p-11f, 0x1.9d6c76p-13f, 0x1.bb00a8p-15f, 0x1.90b6bcp-17f, 0x1.33b136p-19f,
     0x1.92c1acp-22f},
    {-0x1.3ee97ap-7f, -0x1.b3b3fap-8f, 0x1.95ccb2p-13f, 0x1.58c7f4p-8f, 0x1.7c97c2p-8f,
     0x1.a76daep-9f, 0x1.c88f8ep-12f, -0x1.fb974cp-11f, -0x1.1f394p-10f, -0x1.7332e4p-11f,
     -0x1.5f2122p-12f, -0x1.055704p-13f, -0x1.3c3016p-15f, -0x1.3c867p-17f, -0x1.091912p-19f,
     -0x1.764928p-22f},
};

/* x * Phi(x) as x / 2 + |x| / 2 less |x| * Phi(-|x|), which is 0 from 5.7 on; within 1.51 units in
 * the last place of x / 2. */
CAMEO_IN_LOOP cameo_silu_vec cameo_gelu_near(const cameo_silu_vec *terms, cameo_silu_vec x)
{
    typedef int32_t bits __attribute__((vector_size(64)));
    const cameo_silu_vec zero = {0}, shift = zero + 0x1.8p23f, half = zero + 0.5f;
    const cameo_silu_vec most = zero + 5.7f;
    const cameo_silu_vec a = (cameo_silu_vec)((bits)x & 0x7fffffff);
    const cameo_silu_vec t = cameo_joined_add(zero + 0x1.555556p1f, a, shift), n = t - shift;
    const cameo_silu_vec d = cameo_joined_add(zero - 0.375f, n, a);
    cameo_silu_vec p, y = cameo_joined_add(half, x, half * a);
    uint16_t lanes;
    __asm__("vpermps %2, %1, %0" : "=v"(p) : "v"(t), "v"(terms[CAMEO_GELU_TERMS - 1]));
    for (int i = CAMEO_GELU_TERMS - 1; i-- > 0;) {
        cameo_silu_vec term;
        __asm__("vpermps %2, %1, %0" : "=v"(term) : "v"(t), "v"(terms[i]));
        p = cameo_joined_add(p, d, term);
    }
    __asm__("vcmpps $17, %2, %1, %0" : "=Yk"(lanes) : "v"(a), "v"(most));
    __asm__("vfnmadd231ps %2, %1, %0%{%3%}" : "+v"(y) : "v"(a), "v"(p), "Yk"(lanes));
    return y;
}

/* y[r * row + i] = GELU(x[r * n + i]) for i below n. */
static __attribute__((noinline, unused)) void cameo_gelu_rows(const float *x, float *y,
                                                              int64_t rows, int64_t row, int64_t n)
{
    cameo_silu_vec terms[CAMEO_GELU_TERMS];
    for (int i = 0; i < CAMEO_GELU_TERMS; i++)
        terms[i] = *(const cameo_silu_vec *)cameo_gelu_terms[i];
    for (int64_t r = 0; r < rows; r++, x += n, y += row) {
        int64_t i = 0;
        for (; i + CAMEO_SILU_LANES <= n; i += CAMEO_SILU_LANES)
            *(cameo_silu_vec *)(y + i) = cameo_gelu_near(terms, *(const cameo_silu_vec *)(x + i));
        if (i < n)
            cameo_silu_store(y + i, n - i, cameo_gelu_near(terms, cameo_silu_load(x + i, n - i)));
    }
}
#else
static __attribute__((noinline, unused)) void
cameo_gelu_rows(const float *restrict x, float *restrict y, int64_t rows, int64_t row, int64_t n)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += row)
        for (int64_t i = 0; i < n; i++)
            y[i] = cameo_gelu_f32(x[i]);
}
#endif

#endif
