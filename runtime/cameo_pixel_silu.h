/* SiLU of vectors of float32 that become bfloat16 (see cameo_pixel_conv.h), where the processor has
 * the instructions: CAMEO_PIXEL_SILU. */
#ifndef CAMEO_PIXEL_SILU_H
#define CAMEO_PIXEL_SILU_H

#include <stdint.h>

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BF16__) && defined(__x86_64__)
#define CAMEO_PIXEL_SILU 1
typedef float cameo_pixel_floats __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint16_t cameo_pixel_half __attribute__((vector_size(32), aligned(2), may_alias));

/* a * b + c, rounded once. */
static inline __attribute__((unused)) cameo_pixel_floats
cameo_pixel_muladd(cameo_pixel_floats a, cameo_pixel_floats b, cameo_pixel_floats c)
{
    __asm__("vfmadd213ps %2, %1, %0" : "+v"(a) : "v"(b), "v"(c));
    return a;
}

/* What x is multiplied by before cameo_pixel_silu_of: -log2 e. */
#define CAMEO_PIXEL_SILU_BY (-1.44269504f)

/* x / (1 + e^-x) of z = x * CAMEO_PIXEL_SILU_BY, within 0.033 units in bfloat16's last place; x
 * above 17, 0 below -88, infinite or NaN where z is. It is z / (by + by * 2^z); by * 2^f of the
 * share f = z - floor(z) is a polynomial within 7.5e-5 of it, and the operations that scale and
 * divide keep to what is far. */
static inline __attribute__((unused)) cameo_pixel_floats cameo_pixel_silu_of(cameo_pixel_floats z)
{
    const cameo_pixel_floats zero = {0};
    cameo_pixel_floats f, e, r;
    __asm__("vreduceps $9, %1, %0" : "=v"(f) : "v"(z)); /* z - floor(z), 0 of infinity */
    cameo_pixel_floats q = cameo_pixel_muladd(f, zero - 0.112565592f, zero - 0.326145977f);
    q = cameo_pixel_muladd(q, f, zero - 1.00387561f);
    q = cameo_pixel_muladd(q, f, zero - 1.44258714f);
    __asm__("vscalefps %2, %1, %0" : "=v"(e) : "v"(q), "v"(z)); /* q * 2^floor(z) */
    e += zero + CAMEO_PIXEL_SILU_BY;
    __asm__("vrcp14ps %1, %0" : "=v"(r) : "v"(e)); /* within 2^-14 */
    return z * r;
}
#endif

#endif
