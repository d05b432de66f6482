/* What surrounds sums of bytes in pixels (see cameo_pixel_conv.h): of 64 channels of a place at a
 * time, from the sums to the pixel, in registers.
 *
 *     y = clip(round(clip((sum - less) * scale + bias)) + zero)
 *     y = clip(round(clip(q * factor + number + added * by)) + zero), q such a y before
 *
 * Every step is what the kernel's own expression does: whole numbers are exact, a product and a sum
 * are rounded once where the processor joins them, and clips of what is rounded to whole numbers
 * are the same behind it, so that saturating integers do them. */
#ifndef CAMEO_PIXEL_BYTES_H
#define CAMEO_PIXEL_BYTES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { CAMEO_PIXEL_BYTE_LANES = 64, CAMEO_PIXEL_BYTE_VECTOR = 16 };

/* What is left out where it does nothing: clips and the sign; and the zero point too. */
enum { CAMEO_PIXEL_BYTE_BARE = 1, CAMEO_PIXEL_BYTE_PLAIN = 2 };

/* Of a block of 64 channels. least .. most: y as bytes without a sign; flip: 0x80 where y has
 * one, whose zero is 128 more. vectors: of 16 channels that anybody reads. */
typedef struct cameo_pixel_byte_ends {
    const float *scale, *bias;
    const int32_t *less;
    const int32_t *beside, *often; /* a number of each place, and how often a channel's sum has it
                                      added; NULL: nothing */
    int vectors, zero, least, most, flip;
    /* where something is added; NULL: nothing, and all below is not read */
    const unsigned char *added;
    int sign, last; /* added has a sign; it is the sum's product that is added last */
    float low, high, start, factor, number, by; /* clips of q before start is added */
} cameo_pixel_byte_ends;

static inline __attribute__((unused)) float cameo_pixel_byte_muladd(float a, float b, float c)
{
#if !defined(CAMEO_EACH_ROUNDS) &&                                                                 \
    (defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMAF))
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

/* Which of them: 0, none is. */
static inline __attribute__((unused)) int cameo_pixel_byte_bare(const cameo_pixel_byte_ends *e)
{
    if (e->least > 0 || e->most < 255 || e->flip)
        return 0;
    return e->zero ? CAMEO_PIXEL_BYTE_BARE : CAMEO_PIXEL_BYTE_PLAIN;
}

/* Adds it to the sums of n places that lie one behind another. */
static __attribute__((noinline, unused)) void
cameo_pixel_bytes_beside(int32_t *sums, int64_t n, const cameo_pixel_byte_ends *e)
{
    const uint32_t *often = (const uint32_t *)e->often;
    for (int64_t i = 0; i < n; i++, sums += CAMEO_PIXEL_BYTE_LANES)
        for (int j = 0; j < e->vectors * CAMEO_PIXEL_BYTE_VECTOR; j++)
            sums[j] = (int32_t)((uint32_t)sums[j] + often[j] * (uint32_t)e->beside[i]);
}

/* What becomes of a sum; lane: of the tables; added: its byte, NULL: none. */
static inline __attribute__((unused)) unsigned char
cameo_pixel_byte_one(int32_t sum, int lane, const unsigned char *added,
                     const cameo_pixel_byte_ends *e)
{
    const int32_t exact = (int32_t)((uint32_t)sum - (uint32_t)(e->less[lane]));
    float f = cameo_pixel_byte_muladd((float)exact, e->scale[lane], e->bias[lane]);
    if (added) {
        const float other = e->sign ? (float)(int8_t)*added : (float)*added;
        f = rintf(f < e->low ? e->low : f > e->high ? e->high : f) + e->start;
        f = e->last ? cameo_pixel_byte_muladd(f, e->factor,
                                              cameo_pixel_byte_muladd(other, e->by, e->number))
                    : cameo_pixel_byte_muladd(other, e->by,
                                              cameo_pixel_byte_muladd(f, e->factor, e->number));
    }
    const int64_t y = (int64_t)rintf(f) + e->zero;
    return (unsigned char)((y < e->least ? e->least : y > e->most ? e->most : (int)y) ^ e->flip);
}

#if defined(__AVX512BW__) && defined(__x86_64__)

/* Vectors of a pixel's words and bytes, and what is done to them; of `size` bytes. packed: rounded
 * numbers as y's bytes: of 16 channels v0, v1, v2, v3 four of each in each 128 bits. zero: of 16
 * bits each. */
#define CAMEO_PIXEL_BYTE_VECTORS(name, size)                                                       \
    typedef float name##_floats __attribute__((vector_size(size), aligned(4), may_alias));         \
    typedef int32_t name##_ints __attribute__((vector_size(size), aligned(4), may_alias));         \
    typedef uint32_t name##_words __attribute__((vector_size(size), aligned(4), may_alias));       \
    typedef uint8_t name##_pixel __attribute__((vector_size(size), aligned(1), may_alias));        \
                                                                                                   \
    static inline __attribute__((always_inline, unused))                                           \
    name##_floats name##_joined(name##_floats a, name##_floats b, name##_floats c)                 \
    {                                                                                              \
        __asm__("vfmadd213ps %2, %1, %0" : "+v"(a) : "v"(b), "v"(c));                              \
        return a;                                                                                  \
    }                                                                                              \
                                                                                                   \
    static inline __attribute__((always_inline, unused))                                           \
    name##_ints name##_nearest(name##_floats f)                                                    \
    {                                                                                              \
        name##_ints i;                                                                             \
        __asm__("vcvtps2dq %1, %0" : "=v"(i) : "v"(f));                                            \
        return i;                                                                                  \
    }                                                                                              \
                                                                                                   \
    static inline __attribute__((always_inline, unused))                                           \
    name##_ints name##_less(name##_ints sum, name##_ints less)                                     \
    {                                                                                              \
        return (name##_ints)((name##_words)sum - (name##_words)less);                              \
    }                                                                                              \
                                                                                                   \
    static inline __attribute__((always_inline, unused))                                           \
    name##_floats name##_scaled(name##_ints sum, name##_floats scale, name##_floats bias)          \
    {                                                                                              \
        return name##_joined(__builtin_convertvector(sum, name##_floats), scale, bias);            \
    }                                                                                              \
                                                                                                   \
    static inline __attribute__((always_inline, unused)) name##_pixel name##_packed(               \
        name##_ints v0, name##_ints v1, name##_ints v2, name##_ints v3, name##_ints zero,          \
        name##_pixel least, name##_pixel most, name##_pixel flip, const int bare)                  \
    {                                                                                              \
        name##_ints low, high;                                                                     \
        name##_pixel y;                                                                            \
        __asm__("vpackssdw %2, %1, %0" : "=v"(low) : "v"(v0), "v"(v1));                            \
        __asm__("vpackssdw %2, %1, %0" : "=v"(high) : "v"(v2), "v"(v3));                           \
        if (bare < CAMEO_PIXEL_BYTE_PLAIN) {                                                       \
            __asm__("vpaddsw %1, %0, %0" : "+v"(low) : "v"(zero));                                 \
            __asm__("vpaddsw %1, %0, %0" : "+v"(high) : "v"(zero));                                \
        }                                                                                          \
        __asm__("vpackuswb %2, %1, %0" : "=v"(y) : "v"(low), "v"(high));                           \
        if (bare)                                                                                  \
            return y;                                                                              \
        __asm__("vpmaxub %1, %0, %0" : "+v"(y) : "v"(least));                                      \
        __asm__("vpminub %1, %0, %0" : "+v"(y) : "v"(most));                                       \
        return y ^ flip;                                                                           \
    }

typedef uint8_t cameo_pixel_byte_few __attribute__((vector_size(16), aligned(1), may_alias));
CAMEO_PIXEL_BYTE_VECTORS(cameo_pixel_byte, 64)
#ifdef __AVX512VL__
CAMEO_PIXEL_BYTE_VECTORS(cameo_pixel_byte_half, 32)
#endif

/* What `packed` takes behind its sums, of ends e. No arrays and structures of vectors: compilers
 * keep these in memory. */
#define CAMEO_PIXEL_BYTE_BOUNDS(name, e)                                                           \
    const uint32_t both = ((uint32_t)(e)->zero & 0xffff) * 0x10001u;                               \
    const name##_ints zero = (name##_ints){0} + (int32_t)both;                                     \
    const name##_pixel no_bytes = {0};                                                             \
    const name##_pixel least = no_bytes + (uint8_t)(e)->least;                                     \
    const name##_pixel most = no_bytes + (uint8_t)(e)->most;                                       \
    const name##_pixel flip = no_bytes + (uint8_t)(e)->flip

/* The constants of 16 channels, in variables of their own. */
#define CAMEO_PIXEL_BYTE_TABLES(name, v)                                                           \
    const name##_floats s##v = *(const name##_floats *)(e->scale + 16 * v);                        \
    const name##_floats b##v = *(const name##_floats *)(e->bias + 16 * v)
#define CAMEO_PIXEL_BYTE_LESS(v)                                                                   \
    const cameo_pixel_byte_ints l##v = *(const cameo_pixel_byte_ints *)(e->less + 16 * v)

#define CAMEO_PIXEL_BYTE_SCALED(v)                                                                 \
    cameo_pixel_byte_scaled(                                                                       \
        cameo_pixel_byte_less(*(const cameo_pixel_byte_ints *)(sums + 16 * v), l##v), s##v, b##v)

#define CAMEO_PIXEL_BYTE_ORDER                                                                     \
    {                                                                                              \
        0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15                                       \
    }

static inline __attribute__((always_inline, unused)) void
cameo_pixel_bytes_alone(unsigned char *restrict to, const int32_t *restrict sums, int64_t n,
                        const cameo_pixel_byte_ends *restrict e, const int vectors)
{
    const cameo_pixel_byte_ints order = CAMEO_PIXEL_BYTE_ORDER, none = {0};
    CAMEO_PIXEL_BYTE_BOUNDS(cameo_pixel_byte, e);
    CAMEO_PIXEL_BYTE_TABLES(cameo_pixel_byte, 0);
    CAMEO_PIXEL_BYTE_LESS(0);
    CAMEO_PIXEL_BYTE_TABLES(cameo_pixel_byte, 1);
    CAMEO_PIXEL_BYTE_LESS(1);
    CAMEO_PIXEL_BYTE_TABLES(cameo_pixel_byte, 2);
    CAMEO_PIXEL_BYTE_LESS(2);
    CAMEO_PIXEL_BYTE_TABLES(cameo_pixel_byte, 3);
    CAMEO_PIXEL_BYTE_LESS(3);
    for (int64_t i = 0; i < n; i++, sums += CAMEO_PIXEL_BYTE_LANES, to += CAMEO_PIXEL_BYTE_LANES) {
        cameo_pixel_byte_ints r0 = none, r1 = none, r2 = none, r3 = none;
        r0 = cameo_pixel_byte_nearest(CAMEO_PIXEL_BYTE_SCALED(0));
        if (vectors > 1)
            r1 = cameo_pixel_byte_nearest(CAMEO_PIXEL_BYTE_SCALED(1));
        if (vectors > 2)
            r2 = cameo_pixel_byte_nearest(CAMEO_PIXEL_BYTE_SCALED(2));
        if (vectors > 3)
            r3 = cameo_pixel_byte_nearest(CAMEO_PIXEL_BYTE_SCALED(3));
        cameo_pixel_byte_pixel y =
            cameo_pixel_byte_packed(r0, r1, r2, r3, zero, least, most, flip, 0);
        __asm__("vpermd %0, %1, %0" : "+v"(y) : "v"(order));
        *(cameo_pixel_byte_pixel *)to = y;
    }
}

/* 16 bytes as numbers. */
static inline __attribute__((always_inline, unused)) cameo_pixel_byte_floats
cameo_pixel_byte_widened(const unsigned char *at, const int sign)
{
    cameo_pixel_byte_ints i;
    if (sign)
        __asm__("vpmovsxbd %1, %0" : "=v"(i) : "m"(*(const cameo_pixel_byte_few *)at));
    else
        __asm__("vpmovzxbd %1, %0" : "=v"(i) : "m"(*(const cameo_pixel_byte_few *)at));
    return __builtin_convertvector(i, cameo_pixel_byte_floats);
}

/* What the sum is before something is added, that added. */
#define CAMEO_PIXEL_BYTE_ADDED(v)                                                                  \
    do {                                                                                           \
        cameo_pixel_byte_floats f = CAMEO_PIXEL_BYTE_SCALED(v);                                    \
        const cameo_pixel_byte_floats other = cameo_pixel_byte_widened(added + 16 * v, sign);      \
        __asm__("vmaxps %1, %0, %0" : "+v"(f) : "v"(low));                                         \
        __asm__("vminps %1, %0, %0" : "+v"(f) : "v"(high));                                        \
        f = (f + whole) - start;                                                                   \
        f = last ? cameo_pixel_byte_joined(f, factor, cameo_pixel_byte_joined(other, by, number))  \
                 : cameo_pixel_byte_joined(other, by, cameo_pixel_byte_joined(f, factor, number)); \
        r##v = cameo_pixel_byte_nearest(f);                                                        \
    } while (0)

static inline __attribute__((always_inline, unused)) void
cameo_pixel_bytes_added(unsigned char *to, const int32_t *restrict sums, int64_t n,
                        const cameo_pixel_byte_ends *restrict e, const int sign, const int last)
{
    const cameo_pixel_byte_ints order = CAMEO_PIXEL_BYTE_ORDER;
    const cameo_pixel_byte_floats none = {0}, low = none + e->low, high = none + e->high;
    const cameo_pixel_byte_floats factor = none + e->factor, by = none + e->by;
    const cameo_pixel_byte_floats number = none + e->number;
    const cameo_pixel_byte_floats whole = none + 12582912.0f; /* see CAMEO_WHOLE */
    const cameo_pixel_byte_floats start = none + (12582912.0f - e->start);
    const unsigned char *added = e->added;
    CAMEO_PIXEL_BYTE_BOUNDS(cameo_pixel_byte, e);
    CAMEO_PIXEL_BYTE_TABLES(cameo_pixel_byte, 0);
    CAMEO_PIXEL_BYTE_LESS(0);
    CAMEO_PIXEL_BYTE_TABLES(cameo_pixel_byte, 1);
    CAMEO_PIXEL_BYTE_LESS(1);
    CAMEO_PIXEL_BYTE_TABLES(cameo_pixel_byte, 2);
    CAMEO_PIXEL_BYTE_LESS(2);
    CAMEO_PIXEL_BYTE_TABLES(cameo_pixel_byte, 3);
    CAMEO_PIXEL_BYTE_LESS(3);
    for (int64_t i = 0; i < n; i++, sums += CAMEO_PIXEL_BYTE_LANES, to += CAMEO_PIXEL_BYTE_LANES) {
        cameo_pixel_byte_ints r0, r1, r2, r3;
        CAMEO_PIXEL_BYTE_ADDED(0);
        CAMEO_PIXEL_BYTE_ADDED(1);
        CAMEO_PIXEL_BYTE_ADDED(2);
        CAMEO_PIXEL_BYTE_ADDED(3);
        cameo_pixel_byte_pixel y =
            cameo_pixel_byte_packed(r0, r1, r2, r3, zero, least, most, flip, 0);
        __asm__("vpermd %0, %1, %0" : "+v"(y) : "v"(order));
        *(cameo_pixel_byte_pixel *)to = y;
        added += CAMEO_PIXEL_BYTE_LANES;
    }
}

/* n places, whose sums and pixels lie one behind another. */
static __attribute__((noinline, unused)) void
cameo_pixel_bytes(void *to, const int32_t *sums, int64_t n, const cameo_pixel_byte_ends *e)
{
    unsigned char *y = (unsigned char *)to;
    if (e->added && e->last && e->sign)
        cameo_pixel_bytes_added(y, sums, n, e, 1, 1);
    else if (e->added && e->last)
        cameo_pixel_bytes_added(y, sums, n, e, 0, 1);
    else if (e->added && e->sign)
        cameo_pixel_bytes_added(y, sums, n, e, 1, 0);
    else if (e->added)
        cameo_pixel_bytes_added(y, sums, n, e, 0, 0);
    else if (e->vectors == 4)
        cameo_pixel_bytes_alone(y, sums, n, e, 4);
    else if (e->vectors == 3)
        cameo_pixel_bytes_alone(y, sums, n, e, 3);
    else if (e->vectors == 2)
        cameo_pixel_bytes_alone(y, sums, n, e, 2);
    else
        cameo_pixel_bytes_alone(y, sums, n, e, 1);
}

#else

/* n places, whose sums and pixels lie one behind another. */
static __attribute__((noinline, unused)) void
cameo_pixel_bytes(void *to, const int32_t *sums, int64_t n, const cameo_pixel_byte_ends *e)
{
    unsigned char *y = (unsigned char *)to;
    for (int64_t i = 0; i < n * CAMEO_PIXEL_BYTE_LANES; i++) {
        const int lane = (int)(i % CAMEO_PIXEL_BYTE_LANES);
        const int read = lane < e->vectors * CAMEO_PIXEL_BYTE_VECTOR;
        y[i] = read ? cameo_pixel_byte_one(sums[i], lane, e->added ? e->added + i : NULL, e) : 0;
    }
}

#endif

#endif
