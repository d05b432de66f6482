/* Arithmetic that C lacks or leaves open: integers that divide by zero, casts out of range, minimum
 * and maximum that keep NaN, floats of less than 32 bits. Part of every emitted program. */
#ifndef CAMEO_MATH_H
#define CAMEO_MATH_H

#ifdef CAMEO_DEVICE /* kernels: the compiler brings the mathematics */
#include <stdint.h>
#else
#include <math.h>
#include <stdint.h>
#include <string.h>
#endif

#ifndef CAMEO_FN /* how a helper is declared */
#define CAMEO_FN static inline __attribute__((unused))
#endif

#ifndef CAMEO_DEVICE
#ifndef CAMEO_STR
#define CAMEO_STR
/* A string element: bytes that somebody else owns. */
typedef struct cameo_str {
    const char *at;
    int64_t len;
} cameo_str;
#endif

CAMEO_FN int cameo_compare_str(cameo_str a, cameo_str b)
{
    int64_t n = a.len < b.len ? a.len : b.len;
    int order = n > 0 ? memcmp(a.at, b.at, (size_t)n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

#endif

/* ---- indices */

CAMEO_FN int64_t cameo_floordiv(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

CAMEO_FN int64_t cameo_floormod(int64_t a, int64_t b)
{
    return b ? (int64_t)((uint64_t)a - (uint64_t)b * (uint64_t)cameo_floordiv(a, b)) : 0;
}

/* ---- integers: by 0 gives 0, the least by -1 wraps */

/* Each in its own width: compilers have no vectors of what is widened and narrowed at each step. */
#define CAMEO_EXTREMES(name, type)                                                                 \
    CAMEO_FN type cameo_min_##name(type a, type b)                                                 \
    {                                                                                              \
        return a < b ? a : b;                                                                      \
    }                                                                                              \
    CAMEO_FN type cameo_max_##name(type a, type b)                                                 \
    {                                                                                              \
        return a > b ? a : b;                                                                      \
    }
CAMEO_EXTREMES(i8, int8_t)
CAMEO_EXTREMES(u8, uint8_t)
CAMEO_EXTREMES(i16, int16_t)
CAMEO_EXTREMES(u16, uint16_t)
CAMEO_EXTREMES(i32, int32_t)
CAMEO_EXTREMES(u32, uint32_t)
CAMEO_EXTREMES(i64, int64_t)
CAMEO_EXTREMES(u64, uint64_t)

CAMEO_FN uint32_t cameo_abs_i32(int32_t a)
{
    return a < 0 ? 0u - (uint32_t)a : (uint32_t)a;
}
CAMEO_FN uint64_t cameo_abs_i64(int64_t a)
{
    return a < 0 ? 0u - (uint64_t)a : (uint64_t)a;
}

CAMEO_FN int64_t cameo_div_i64(int64_t a, int64_t b)
{
    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
CAMEO_FN int64_t cameo_div_i32(int32_t a, int32_t b)
{
    return b == 0 ? 0 : (int64_t)a / b;
}
/* The same in float64, which has vectors of divisions: a quotient of such numbers is nearer to
 * itself there than to a whole number that it is not. INT32_MIN / -1 wraps. */
CAMEO_FN int32_t cameo_quotient_i32(int32_t a, int32_t b)
{
    double q = (double)a / (double)(b == 0 ? 1 : b);
    q = q > 2147483647.0 ? -2147483648.0 : q;
    return b == 0 ? 0 : (int32_t)q;
}
CAMEO_FN uint32_t cameo_div_u32(uint32_t a, uint32_t b)
{
    return b == 0 ? 0 : a / b;
}
CAMEO_FN uint64_t cameo_div_u64(uint64_t a, uint64_t b)
{
    return b == 0 ? 0 : a / b;
}

/* mod: the sign of the divisor; fmod: the sign of the dividend. */
CAMEO_FN int64_t cameo_mod_i64(int64_t a, int64_t b)
{
    return cameo_floormod(a, b);
}
CAMEO_FN int32_t cameo_mod_i32(int32_t a, int32_t b)
{
    return (int32_t)cameo_floormod(a, b);
}
CAMEO_FN uint32_t cameo_mod_u32(uint32_t a, uint32_t b)
{
    return b == 0 ? 0 : a % b;
}
CAMEO_FN uint64_t cameo_mod_u64(uint64_t a, uint64_t b)
{
    return b == 0 ? 0 : a % b;
}
CAMEO_FN int64_t cameo_fmod_i64(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}
CAMEO_FN int32_t cameo_fmod_i32(int32_t a, int32_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}
CAMEO_FN uint32_t cameo_fmod_u32(uint32_t a, uint32_t b)
{
    return b == 0 ? 0 : a % b;
}
CAMEO_FN uint64_t cameo_fmod_u64(uint64_t a, uint64_t b)
{
    return b == 0 ? 0 : a % b;
}

/* Shifts within `bits`; a count of that many or more leaves no bit but
 * copies of the sign. */
CAMEO_FN uint64_t cameo_shl_u64(uint64_t a, uint64_t n, unsigned bits)
{
    return n < bits ? a << n : 0;
}
CAMEO_FN uint64_t cameo_shr_u64(uint64_t a, uint64_t n, unsigned bits)
{
    return n < bits ? a >> n : 0;
}
CAMEO_FN uint64_t cameo_shl_u32(uint64_t a, uint64_t n, unsigned bits)
{
    return n < bits ? a << n : 0;
}
CAMEO_FN uint64_t cameo_shr_u32(uint64_t a, uint64_t n, unsigned bits)
{
    return n < bits ? a >> n : 0;
}
CAMEO_FN uint64_t cameo_shl_i64(int64_t a, uint64_t n, unsigned bits)
{
    return n < bits ? (uint64_t)a << n : 0;
}
CAMEO_FN int64_t cameo_shr_i64(int64_t a, uint64_t n, unsigned bits)
{
    return n < bits ? a >> n : a < 0 ? -1 : 0;
}
CAMEO_FN uint64_t cameo_shl_i32(int64_t a, uint64_t n, unsigned bits)
{
    return n < bits ? (uint64_t)a << n : 0;
}
CAMEO_FN int64_t cameo_shr_i32(int64_t a, uint64_t n, unsigned bits)
{
    return n < bits ? a >> n : a < 0 ? -1 : 0;
}

/* Powers wrap; a negative exponent gives what division of 1 gives. */
CAMEO_FN uint64_t cameo_pow_u64(uint64_t a, uint64_t n)
{
    uint64_t r = 1;
    for (; n; n >>= 1, a *= a)
        if (n & 1)
            r *= a;
    return r;
}
CAMEO_FN int64_t cameo_pow_i64(int64_t a, int64_t n)
{
    if (n < 0)
        return a == 1 ? 1 : a == -1 ? (n & 1 ? -1 : 1) : 0;
    return (int64_t)cameo_pow_u64((uint64_t)a, (uint64_t)n);
}
CAMEO_FN int64_t cameo_pow_i32(int64_t a, int64_t n)
{
    return cameo_pow_i64(a, n);
}
CAMEO_FN uint64_t cameo_pow_u32(uint64_t a, uint64_t n)
{
    return cameo_pow_u64(a, n);
}

/* Elements of less than a byte: the low bits, sign extended where signed. */
CAMEO_FN uint8_t cameo_wrap_u4(uint64_t v)
{
    return (uint8_t)(v & 15);
}
CAMEO_FN int8_t cameo_wrap_i4(uint64_t v)
{
    return (int8_t)((int)((v & 15) ^ 8) - 8);
}
CAMEO_FN uint8_t cameo_wrap_u2(uint64_t v)
{
    return (uint8_t)(v & 3);
}
CAMEO_FN int8_t cameo_wrap_i2(uint64_t v)
{
    return (int8_t)((int)((v & 3) ^ 2) - 2);
}

/* ---- floats: NaN where either is. No branches: compilers make vectors of selections, but take
 * apart what tests a selected number: so b is what is tested, since a is often another's. */
CAMEO_FN float cameo_min_f32(float a, float b)
{
    float m = b < a ? b : a;
    return b != b ? b : m;
}
CAMEO_FN float cameo_max_f32(float a, float b)
{
    float m = b > a ? b : a;
    return b != b ? b : m;
}
CAMEO_FN double cameo_min_f64(double a, double b)
{
    double m = b < a ? b : a;
    return b != b ? b : m;
}
CAMEO_FN double cameo_max_f64(double a, double b)
{
    double m = b > a ? b : a;
    return b != b ? b : m;
}

/* min(x, c) and max(x, c) of a c that is a number: one instruction each. */
CAMEO_FN float cameo_atmost_f32(float x, float c)
{
    return c < x ? c : x;
}
CAMEO_FN float cameo_atleast_f32(float x, float c)
{
    return c > x ? c : x;
}
CAMEO_FN double cameo_atmost_f64(double x, double c)
{
    return c < x ? c : x;
}
CAMEO_FN double cameo_atleast_f64(double x, double c)
{
    return c > x ? c : x;
}

#ifndef CAMEO_DEVICE
/* What 32 lanes of a reduction hold together; a lane of an extreme is odd where it met a NaN: the
 * first one says whether any did. What is between stays in registers, as an array of its own. */
static __attribute__((noinline, unused)) float cameo_lanes_add_f32(const float *lane)
{
    float quarter[8], last[4];
    for (int l = 0; l < 8; l++)
        quarter[l] = (lane[l] + lane[l + 16]) + (lane[l + 8] + lane[l + 24]);
    for (int l = 0; l < 4; l++)
        last[l] = quarter[l] + quarter[l + 4];
    return (last[0] + last[2]) + (last[1] + last[3]);
}
static __attribute__((noinline, unused)) float cameo_lanes_max_f32(const float *lane, int *odd)
{
    float half[16], quarter[8], last[4];
    int any = 0;
    for (int l = 0; l < 32; l++)
        any |= odd[l];
    for (int l = 0; l < 16; l++)
        half[l] = cameo_atleast_f32(lane[l + 16], lane[l]);
    for (int l = 0; l < 8; l++)
        quarter[l] = cameo_atleast_f32(half[l + 8], half[l]);
    for (int l = 0; l < 4; l++)
        last[l] = cameo_atleast_f32(quarter[l + 4], quarter[l]);
    for (int l = 0; l < 2; l++)
        last[l] = cameo_atleast_f32(last[l + 2], last[l]);
    odd[0] = any;
    return any ? (float)NAN : cameo_atleast_f32(last[1], last[0]);
}
static __attribute__((noinline, unused)) float cameo_lanes_min_f32(const float *lane, int *odd)
{
    float half[16], quarter[8], last[4];
    int any = 0;
    for (int l = 0; l < 32; l++)
        any |= odd[l];
    for (int l = 0; l < 16; l++)
        half[l] = cameo_atmost_f32(lane[l + 16], lane[l]);
    for (int l = 0; l < 8; l++)
        quarter[l] = cameo_atmost_f32(half[l + 8], half[l]);
    for (int l = 0; l < 4; l++)
        last[l] = cameo_atmost_f32(quarter[l + 4], quarter[l]);
    for (int l = 0; l < 2; l++)
        last[l] = cameo_atmost_f32(last[l + 2], last[l]);
    odd[0] = any;
    return any ? (float)NAN : cameo_atmost_f32(last[1], last[0]);
}
CAMEO_FN double cameo_lanes_add_f64(const double *lane)
{
    double quarter[8], last[4];
    for (int l = 0; l < 8; l++)
        quarter[l] = (lane[l] + lane[l + 16]) + (lane[l + 8] + lane[l + 24]);
    for (int l = 0; l < 4; l++)
        last[l] = quarter[l] + quarter[l + 4];
    return (last[0] + last[2]) + (last[1] + last[3]);
}
CAMEO_FN double cameo_lanes_max_f64(const double *lane, int *odd)
{
    double half[16], quarter[8], last[4];
    int any = 0;
    for (int l = 0; l < 32; l++)
        any |= odd[l];
    for (int l = 0; l < 16; l++)
        half[l] = cameo_atleast_f64(lane[l + 16], lane[l]);
    for (int l = 0; l < 8; l++)
        quarter[l] = cameo_atleast_f64(half[l + 8], half[l]);
    for (int l = 0; l < 4; l++)
        last[l] = cameo_atleast_f64(quarter[l + 4], quarter[l]);
    for (int l = 0; l < 2; l++)
        last[l] = cameo_atleast_f64(last[l + 2], last[l]);
    odd[0] = any;
    return any ? (double)NAN : cameo_atleast_f64(last[1], last[0]);
}
CAMEO_FN double cameo_lanes_min_f64(const double *lane, int *odd)
{
    double half[16], quarter[8], last[4];
    int any = 0;
    for (int l = 0; l < 32; l++)
        any |= odd[l];
    for (int l = 0; l < 16; l++)
        half[l] = cameo_atmost_f64(lane[l + 16], lane[l]);
    for (int l = 0; l < 8; l++)
        quarter[l] = cameo_atmost_f64(half[l + 8], half[l]);
    for (int l = 0; l < 4; l++)
        last[l] = cameo_atmost_f64(quarter[l + 4], quarter[l]);
    for (int l = 0; l < 2; l++)
        last[l] = cameo_atmost_f64(last[l + 2], last[l]);
    odd[0] = any;
    return any ? (double)NAN : cameo_atmost_f64(last[1], last[0]);
}
#endif

/* low <= high. */
CAMEO_FN float cameo_clip_f32(float x, float low, float high)
{
    const float y = low > x ? low : x;
    return high < x ? high : y;
}
CAMEO_FN double cameo_clip_f64(double x, double low, double high)
{
    const double y = low > x ? low : x;
    return high < x ? high : y;
}

/* The sign of the dividend. Exact: of quotients that float64 holds to an integer, rounded up. */
CAMEO_FN float cameo_fmod_f32(float a, float b)
{
    const double x = fabs((double)a), y = fabs((double)b), q = trunc(x / y), r = x - q * y;
    return q < 0x1p29 && y < INFINITY ? copysignf((float)(r < 0 ? r + y : r), a) : fmodf(a, b);
}
CAMEO_FN double cameo_fmod_f64(double a, double b)
{
    const double x = fabs(a), y = fabs(b), q = trunc(x / y), r = fma(-q, y, x);
    return q < 0x1p52 && y < INFINITY ? copysign(r < 0 ? r + y : r, a) : fmod(a, b);
}

/* The sign of the divisor. */
CAMEO_FN float cameo_mod_f32(float a, float b)
{
    float r = fmodf(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
CAMEO_FN double cameo_mod_f64(double a, double b)
{
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* Does x replace the extreme found so far? NaN does, once. */
CAMEO_FN int cameo_above_f32(float x, float best)
{
    return x > best || (x != x && best == best);
}
CAMEO_FN int cameo_below_f32(float x, float best)
{
    return x < best || (x != x && best == best);
}
CAMEO_FN int cameo_above_f64(double x, double best)
{
    return x > best || (x != x && best == best);
}
CAMEO_FN int cameo_below_f64(double x, double best)
{
    return x < best || (x != x && best == best);
}

CAMEO_FN int cameo_isnan_f32(float x)
{
    return x != x;
}
CAMEO_FN int cameo_isnan_f64(double x)
{
    return x != x;
}
CAMEO_FN int cameo_isinf_f32(float x)
{
    return fabsf(x) == INFINITY;
}
CAMEO_FN int cameo_isinf_f64(double x)
{
    return fabs(x) == (double)INFINITY;
}

/* Toward zero, clamped to [low, high]; NaN gives 0. */
CAMEO_FN int64_t cameo_to_int(double v, int64_t low, int64_t high)
{
    return v != v ? 0 : v <= (double)low ? low : v >= (double)high ? high : (int64_t)v;
}
/* The same of float32 to at most 32 bits. */
CAMEO_FN int32_t cameo_to_i32(float v, int32_t low, int32_t high)
{
    float w = v > (float)low ? v : (float)low;
    int32_t k = w >= (float)high ? high : (int32_t)w;
    return v != v ? 0 : k;
}
/* Toward zero, of what is within int32 or NaN. */
CAMEO_FN int32_t cameo_within_i32(float v)
{
    return v != v ? 0 : (int32_t)v;
}
CAMEO_FN uint64_t cameo_to_u64(double v)
{
    return !(v > 0) ? 0 : v >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)v;
}

/* ---- bits */

CAMEO_FN uint32_t cameo_bits_f32_u32(float v)
{
    uint32_t r;
    memcpy(&r, &v, sizeof r);
    return r;
}
CAMEO_FN float cameo_bits_u32_f32(uint32_t v)
{
    float r;
    memcpy(&r, &v, sizeof r);
    return r;
}
/* Clipped to what the integer holds, NaN to 0, as a float. Numbers are clipped as the integers that
 * their bits are, in the same order but for the negative, since of comparisons of floats whose
 * result is cast compilers make masks. */
CAMEO_FN float cameo_clipped_u8(float v)
{
    const int32_t bits = (int32_t)cameo_bits_f32_u32(v), top = (int32_t)cameo_bits_f32_u32(255.0f);
    const int32_t less = bits < top ? bits : top, more = less > 0 ? less : 0;
    return cameo_bits_u32_f32((uint32_t)(v == v ? more : 0));
}
CAMEO_FN float cameo_clipped_i8(float v)
{
    const uint32_t bits = cameo_bits_f32_u32(v);
    const int32_t size = (int32_t)(bits & 0x7fffffffu);
    const int32_t most = (int32_t)cameo_bits_f32_u32(128.0f),
                  top = (int32_t)cameo_bits_f32_u32(127.0f);
    const int32_t less = size < most ? size : most, number = v == v ? less : 0;
    const int32_t whole = (int32_t)((uint32_t)number | (bits & 0x80000000u));
    return cameo_bits_u32_f32((uint32_t)(whole < top ? whole : top));
}
CAMEO_FN uint8_t cameo_clip_u8(float v)
{
    return (uint8_t)(int32_t)cameo_clipped_u8(v);
}
CAMEO_FN int8_t cameo_clip_i8(float v)
{
    return (int8_t)(int32_t)cameo_clipped_i8(v);
}
/* x / d, rounded as division rounds it: a product, and one step of Newton's method with the exact
 * remainder (Markstein 1990; Brisebarre, Muller, Raina 2004). d is a constant of 2^-100 to 2^100,
 * and x at most 2^20 times it. */
CAMEO_FN float cameo_over_f32(float x, float d)
{
#ifdef __FMA__
    const float inverse = 1.0f / d, q = x * inverse;
    return __builtin_fmaf(__builtin_fmaf(-q, d, x), inverse, q);
#else
    return x / d;
#endif
}
/* x clipped to low <= 0 .. high >= 0, a NaN to either: as integers the bits of positive floats are
 * in their order below those of negative ones, which are in theirs backwards. */
CAMEO_FN float cameo_around_0(float x, float low, float high)
{
    const int32_t bits = (int32_t)cameo_bits_f32_u32(x), top = (int32_t)cameo_bits_f32_u32(high);
    const uint32_t less = (uint32_t)(bits < top ? bits : top);
    const uint32_t bottom = cameo_bits_f32_u32(-fabsf(low));
    return cameo_bits_u32_f32(less < bottom ? less : bottom);
}
/* 1.5 * 2^23: the last bits of its sum with a smaller number are that number, rounded to an even
 * whole one. */
#define CAMEO_WHOLE 12582912.0f
/* CAMEO_WHOLE + x / d, or + x, rounded and clipped to low .. high; x is clipped first, since low *
 * d and high * d, which are rounded, become low and high again. */
CAMEO_FN float cameo_steps(float x, float d, float low, float high)
{
    return CAMEO_WHOLE + cameo_over_f32(cameo_around_0(x, low * d, high * d), d);
}
/* QuantizeLinear of x / d (quantize), or of x (nearest): an integer of 8 or 16 bits; or the same
 * less its zero point, as a float (quantized, rounded). NaN gives the integer 0, as
 * cameo_clipped_u8 does. */
#define CAMEO_STEPS_OF(name, type, least, most)                                                    \
    CAMEO_FN type cameo_quantize_##name(float x, float d, int zero)                                \
    {                                                                                              \
        const float sum = cameo_steps(x, d, (float)((least) - zero), (float)((most) - zero));      \
        const uint32_t whole = cameo_bits_f32_u32(sum) + (uint32_t)zero;                           \
        return (type)(x == x ? whole : 0);                                                         \
    }                                                                                              \
    CAMEO_FN float cameo_quantized_##name(float x, float d, int zero)                              \
    {                                                                                              \
        const float sum = cameo_steps(x, d, (float)((least) - zero), (float)((most) - zero));      \
        return x == x ? sum - CAMEO_WHOLE : (float)-zero;                                          \
    }                                                                                              \
    CAMEO_FN type cameo_nearest_##name(float x, int zero)                                          \
    {                                                                                              \
        const float v = cameo_around_0(x, (float)((least) - zero), (float)((most) - zero));        \
        const uint32_t whole = cameo_bits_f32_u32(CAMEO_WHOLE + v) + (uint32_t)zero;               \
        return (type)(x == x ? whole : 0);                                                         \
    }                                                                                              \
    CAMEO_FN float cameo_rounded_##name(float x, int zero)                                         \
    {                                                                                              \
        const float v = cameo_around_0(x, (float)((least) - zero), (float)((most) - zero));        \
        return x == x ? CAMEO_WHOLE + v - CAMEO_WHOLE : (float)-zero;                              \
    }
CAMEO_STEPS_OF(u8, uint8_t, 0, 255)
CAMEO_STEPS_OF(i8, int8_t, -128, 127)
CAMEO_STEPS_OF(u16, uint16_t, 0, 65535)
CAMEO_STEPS_OF(i16, int16_t, -32768, 32767)
/* The same for a scale that is known when running: compilers take the branch out of the loop. Any
 * other scale (0, what is tiny, NaN) is divided by. */
CAMEO_FN uint8_t cameo_quantize_by_u8(float x, float d, int zero)
{
#ifdef __FMA__
    if (d >= 0x1p-100f && d <= 0x1p100f)
        return cameo_quantize_u8(x, d, zero);
#endif
    return cameo_clip_u8((float)zero + rintf(x / d));
}
CAMEO_FN int32_t cameo_bits_f32_i32(float v)
{
    return (int32_t)cameo_bits_f32_u32(v);
}
CAMEO_FN float cameo_bits_i32_f32(int32_t v)
{
    return cameo_bits_u32_f32((uint32_t)v);
}
CAMEO_FN uint64_t cameo_bits_f64_u64(double v)
{
    uint64_t r;
    memcpy(&r, &v, sizeof r);
    return r;
}
CAMEO_FN double cameo_bits_u64_f64(uint64_t v)
{
    double r;
    memcpy(&r, &v, sizeof r);
    return r;
}
CAMEO_FN int64_t cameo_bits_f64_i64(double v)
{
    return (int64_t)cameo_bits_f64_u64(v);
}

CAMEO_FN double cameo_bits_i64_f64(int64_t v)
{
    return cameo_bits_u64_f64((uint64_t)v);
}

/* ---- floats of less than 32 bits */

/* |v| + m rounds |v| to the unit that float16 has there, where m is 2^13 times the power of two
 * below |v|, which is at least 2^-14. */
CAMEO_FN uint16_t cameo_cast_f32_f16(float v)
{
    const uint32_t least = 0x38800000, most = 0x47800000; /* 2^-14, 2^16 */
    uint32_t u = cameo_bits_f32_u32(v), a = u & 0x7fffffff;
    uint32_t finite = a < most ? a : most, e = finite & 0x7f800000;
    e = e > least ? e : least;
    uint32_t m = e + (13u << 23);
    uint32_t sum = cameo_bits_f32_u32(cameo_bits_u32_f32(finite) + cameo_bits_u32_f32(m));
    uint32_t r = (sum - m) + ((e - least) >> 13);
    return (uint16_t)((u >> 16 & 0x8000) | (a > 0x7f800000 ? 0x7e00 : r));
}
CAMEO_FN float cameo_cast_f16_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fffu;
    /* the exponent moved to where float32 keeps it, then scaled by 2^112: exact */
    float r = cameo_bits_u32_f32(rest << 13) * 0x1p112f;
    uint32_t special = 0x7f800000 | (rest & 0x3ff) << 13;
    return cameo_bits_u32_f32(sign | (rest >= 0x7c00 ? special : cameo_bits_f32_u32(r)));
}
CAMEO_FN uint16_t cameo_cast_f32_bf16(float v)
{
    uint32_t u = cameo_bits_f32_u32(v), nan = (u >> 16 & 0x8000) | 0x7fc0;
    return (uint16_t)(v != v ? nan : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}
CAMEO_FN float cameo_cast_bf16_f32(uint16_t h)
{
    return cameo_bits_u32_f32((uint32_t)h << 16);
}

/* v rounded to float16 or bfloat16, as a float32. */
CAMEO_FN float cameo_round_f16(float v)
{
    const uint32_t least = 0x38800000, most = 0x47800000;
    uint32_t u = cameo_bits_f32_u32(v), e = u & 0x7f800000;
    e = e > least ? e : least;
    float m = cameo_bits_u32_f32((e < most ? e : most) + (13u << 23));
    float r = (cameo_bits_u32_f32(u & 0x7fffffff) + m) - m;
    r = r > 65504.0f ? INFINITY : r;
    return cameo_bits_u32_f32((u & 0x80000000) | cameo_bits_f32_u32(r));
}
CAMEO_FN float cameo_round_bf16(float v)
{
    uint32_t u = cameo_bits_f32_u32(v), r = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
    return cameo_bits_u32_f32(v != v ? (u & 0x80000000) | 0x7fc00000 : r);
}

/* Sign, exponent and mantissa from the top; inf, nan: their codes, -1: there is none. A nan that is
 * the sign bit alone means that there is no negative zero. */
typedef struct cameo_small {
    int exponent, mantissa, bias, max, inf, nan;
} cameo_small;

CAMEO_FN float cameo_decode_small(cameo_small f, uint32_t code)
{
    uint32_t sign_bit = 1u << (f.exponent + f.mantissa), rest = code & (sign_bit - 1);
    float sign = code & sign_bit ? -1.0f : 1.0f;
    if (f.nan == (int)sign_bit ? code == sign_bit
                               : f.nan >= 0 && (int)rest > (f.inf >= 0 ? f.inf : f.max))
        return NAN;
    if (f.inf >= 0 && (int)rest == f.inf)
        return sign * INFINITY;
    int e = (int)(rest >> f.mantissa);
    float m = (float)(rest & ((1u << f.mantissa) - 1));
    return sign * (e ? ldexpf(m + (float)(1u << f.mantissa), e - f.bias - f.mantissa)
                     : ldexpf(m, 1 - f.bias - f.mantissa));
}

/* |v| in units of the last place at its exponent, rounded to even, is the code. */
CAMEO_FN uint32_t cameo_encode_small(cameo_small f, double v, int saturate)
{
    uint32_t sign_bit = 1u << (f.exponent + f.mantissa);
    uint32_t sign = cameo_bits_f64_u64(v) >> 63 ? sign_bit : 0;
    int no_negative_zero = f.nan == (int)sign_bit;
    if (v != v)
        return f.nan < 0 ? sign : no_negative_zero ? sign_bit : (uint32_t)f.nan | sign;
    double a = fabs(v);
    int64_t code = INT64_MAX;
    if (a < (double)INFINITY) {
        int e = (int)(cameo_bits_f64_u64(a) >> 52) - 1023, least = 1 - f.bias;
        int unit = (e < least ? least : e) - f.mantissa;
        double q = rint(ldexp(a, -unit)); /* at most 2^(mantissa + 1) */
        code = (int64_t)(unit + f.mantissa - least) * ((int64_t)1 << f.mantissa) + (int64_t)q;
    }
    if (code > f.max) {
        if (saturate || (f.inf < 0 && f.nan < 0))
            code = f.max;
        else if (f.inf >= 0)
            code = f.inf;
        else
            return no_negative_zero ? sign_bit : (uint32_t)f.nan | sign;
    }
    return code == 0 && no_negative_zero ? 0 : (uint32_t)code | sign;
}

CAMEO_FN uint16_t cameo_cast_f64_f16(double v)
{
    cameo_small f = {5, 10, 15, 0x7bff, 0x7c00, 0x7e00};
    return (uint16_t)cameo_encode_small(f, v, 0);
}
CAMEO_FN uint16_t cameo_cast_f64_bf16(double v)
{
    cameo_small f = {8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0};
    return (uint16_t)cameo_encode_small(f, v, 0);
}

CAMEO_FN uint8_t cameo_cast_f64_f8e4m3fn(double v, int saturate)
{
    cameo_small f = {4, 3, 7, 0x7e, -1, 0x7f};
    return (uint8_t)cameo_encode_small(f, v, saturate);
}
CAMEO_FN float cameo_cast_f8e4m3fn_f32(uint8_t code)
{
    cameo_small f = {4, 3, 7, 0x7e, -1, 0x7f};
    return cameo_decode_small(f, code);
}

CAMEO_FN uint8_t cameo_cast_f64_f8e4m3fnuz(double v, int saturate)
{
    cameo_small f = {4, 3, 8, 0x7f, -1, 0x80};
    return (uint8_t)cameo_encode_small(f, v, saturate);
}
CAMEO_FN float cameo_cast_f8e4m3fnuz_f32(uint8_t code)
{
    cameo_small f = {4, 3, 8, 0x7f, -1, 0x80};
    return cameo_decode_small(f, code);
}

CAMEO_FN uint8_t cameo_cast_f64_f8e5m2(double v, int saturate)
{
    cameo_small f = {5, 2, 15, 0x7b, 0x7c, 0x7e};
    return (uint8_t)cameo_encode_small(f, v, saturate);
}
CAMEO_FN float cameo_cast_f8e5m2_f32(uint8_t code)
{
    cameo_small f = {5, 2, 15, 0x7b, 0x7c, 0x7e};
    return cameo_decode_small(f, code);
}

CAMEO_FN uint8_t cameo_cast_f64_f8e5m2fnuz(double v, int saturate)
{
    cameo_small f = {5, 2, 16, 0x7f, -1, 0x80};
    return (uint8_t)cameo_encode_small(f, v, saturate);
}
CAMEO_FN float cameo_cast_f8e5m2fnuz_f32(uint8_t code)
{
    cameo_small f = {5, 2, 16, 0x7f, -1, 0x80};
    return cameo_decode_small(f, code);
}

CAMEO_FN uint8_t cameo_cast_f64_f4e2m1(double v, int saturate)
{
    cameo_small f = {2, 1, 1, 0x7, -1, -1};
    return (uint8_t)cameo_encode_small(f, v, saturate);
}
CAMEO_FN float cameo_cast_f4e2m1_f32(uint8_t code)
{
    cameo_small f = {2, 1, 1, 0x7, -1, -1};
    return cameo_decode_small(f, code);
}

CAMEO_FN uint8_t cameo_cast_f64_f6e2m3(double v, int saturate)
{
    cameo_small f = {2, 3, 1, 0x1f, -1, -1};
    return (uint8_t)cameo_encode_small(f, v, saturate);
}
CAMEO_FN float cameo_cast_f6e2m3_f32(uint8_t code)
{
    cameo_small f = {2, 3, 1, 0x1f, -1, -1};
    return cameo_decode_small(f, code);
}

CAMEO_FN uint8_t cameo_cast_f64_f6e3m2(double v, int saturate)
{
    cameo_small f = {3, 2, 3, 0x1f, -1, -1};
    return (uint8_t)cameo_encode_small(f, v, saturate);
}
CAMEO_FN float cameo_cast_f6e3m2_f32(uint8_t code)
{
    cameo_small f = {3, 2, 3, 0x1f, -1, -1};
    return cameo_decode_small(f, code);
}

/* Powers of two: code e is 2^(e - 127), 255 is NaN. Rounds to nearest, ties up. */
CAMEO_FN uint8_t cameo_cast_f64_f8e8m0(double v, int saturate)
{
    (void)saturate;
    if (v != v || v < 0)
        return 255;
    if (v == 0)
        return 0;
    if (v > 0x1p1000)
        return 254;
    int e;
    double m = frexp(v, &e);
    e += m >= 0.75 ? 0 : -1;
    return (uint8_t)(e < -127 ? 0 : e > 127 ? 254 : e + 127);
}
CAMEO_FN float cameo_cast_f8e8m0_f32(uint8_t code)
{
    return code == 255 ? NAN : ldexpf(1.0f, (int)code - 127);
}

#endif
