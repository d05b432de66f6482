/* Functions as arithmetic without a branch, of which compilers make vectors. Polynomials are least
 * maximum fits; errors hold over all of float32 and are those of tests/unit/test_vector.c. */
#ifndef CAMEO_VECTOR_H
#define CAMEO_VECTOR_H

#include "cameo_math.h"
#include "cameo_muladd.h"

/* Into the loop, however large the file: a loop with a call in it is no vectors. */
#define CAMEO_IN_LOOP CAMEO_FN __attribute__((always_inline))

/* Are there short forms of what is rounded next? */
#ifdef CAMEO_EACH_ROUNDS
#define CAMEO_SHORT 0
#else
#define CAMEO_SHORT 1
#endif

/* ---- exp, expm1, log, tanh, erf in float32: within 2 units in the last place */

/* x between a positive and a negative number, as integers in order: compilers make two instructions
 * of it, where a choice between floats leads them to choose again behind each operation. A NaN
 * becomes one of the numbers. */
CAMEO_IN_LOOP float cameo_within_f32(float x, float most, float least)
{
    int32_t a = (int32_t)cameo_bits_f32_u32(x), high = (int32_t)cameo_bits_f32_u32(most);
    uint32_t b = (uint32_t)(a < high ? a : high), low = cameo_bits_f32_u32(least);
    return cameo_bits_u32_f32(b < low ? b : low);
}

/* The less of x and a positive number, by bits: a NaN with a sign stays, others become `most`. */
CAMEO_IN_LOOP float cameo_at_most_f32(float x, float most)
{
    int32_t a = (int32_t)cameo_bits_f32_u32(x), b = (int32_t)cameo_bits_f32_u32(most);
    return cameo_bits_u32_f32((uint32_t)(a < b ? a : b));
}

/* The greater of x and a negative number, by bits; a NaN with a sign becomes `least`. */
CAMEO_IN_LOOP float cameo_at_least_f32(float x, float least)
{
    uint32_t a = cameo_bits_f32_u32(x), b = cameo_bits_f32_u32(least);
    return cameo_bits_u32_f32(a < b ? a : b);
}

/* e^v = 2^n * e^r with n = round(v / ln 2), |r| <= ln(2) / 2; e^r = 1 + r + r^2 * q(r). Returns
 * e^r; the low bits of *t are those of n. */
CAMEO_IN_LOOP float cameo_exp_rest_f32(float v, float *t)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: a sum with it is a whole number */
    *t = cameo_muladd_f32(v, 1.44269504f, shift);
    float n = *t - shift;
    float r = cameo_muladd_f32(n, 2.12194440e-4f, cameo_muladd_f32(-n, 0.693359375f, v));
    float q = cameo_muladd_f32(0.00139506006f, r, 0.00836895393f);
    q = cameo_muladd_f32(q, r, 0.0416662042f);
    q = cameo_muladd_f32(q, r, 0.166665183f);
    q = cameo_muladd_f32(q, r, 0.5f);
    return cameo_muladd_f32(q * r, r, r) + 1.0f;
}

/* e^x where it and 2^n are normal numbers. */
CAMEO_IN_LOOP float cameo_exp_near_f32(float x)
{
    float t, y = cameo_exp_rest_f32(x, &t);
    return y * cameo_bits_u32_f32((cameo_bits_f32_u32(t) << 23) + 0x3f800000u);
}

/* Below -104, where masked scores are, a factor is 0: a product that underflows to it takes
 * processors a hundred times as long. */
CAMEO_IN_LOOP float cameo_exp_f32(float x)
{
    float t, y = cameo_exp_rest_f32(cameo_within_f32(x, 89.0f, -104.0f), &t);
    /* 2^n in two factors: either is a normal number, also where the result is none */
    int32_t k = (int32_t)(cameo_bits_f32_u32(t) - 0x4b400000u), half = k >> 1;
    float low = x < -104.0f ? 0.0f : cameo_bits_u32_f32(((uint32_t)half + 127u) << 23);
    float high = cameo_bits_u32_f32(((uint32_t)k - (uint32_t)half + 127u) << 23);
    return x != x ? x : y * low * high;
}

/* The same of what is not above 0, as a Softmax has it: 2^n times 2^64 is a normal number. What a
 * mask took away, of which nothing is left, is multiplied by 0: a product that is too small for a
 * float takes a processor ten times as long as any other. */
CAMEO_IN_LOOP float cameo_exp_below_f32(float x)
{
    const float least = -104.0f, back = x > least ? 0x1p-64f : 0.0f;
    float t, y = cameo_exp_rest_f32(cameo_at_least_f32(x, least), &t);
    float power = cameo_bits_u32_f32((cameo_bits_f32_u32(t) << 23) + ((127u + 64u) << 23));
    return x != x ? x : y * power * back;
}

/* x / sum for one of some numbers of 0 to 1 whose sum is at least 1: rounded as division rounds it,
 * but for what is below 2^-100. Compilers take the inverse out of the loop. */
CAMEO_IN_LOOP float cameo_part_f32(float x, float sum)
{
#ifdef CAMEO_EACH_ROUNDS
    return x / sum;
#else
    return cameo_over_f32(x, sum);
#endif
}

/* 2^k * (1 + e^-x): 2^k * e^-x is to be a normal number, or 0 beside 1. The shift's low bits are
 * those of k as an exponent, so that t << 23 is 2^k * 2^n and nothing else. The least is added
 * first: where e^-x is large, 1 is not lost. */
CAMEO_IN_LOOP float cameo_one_and_exp_f32(float x, int32_t k)
{
    const float shift = 12582912.0f + (float)(k + 127);
    const float c = cameo_bits_u32_f32((uint32_t)(k + 127) << 23);
    float t = cameo_muladd_f32(x, -1.44269504f, shift), n = t - shift;
    float r = cameo_muladd_f32(n, 2.12194440e-4f, cameo_muladd_f32(n, -0.693359375f, -x));
    float q = cameo_muladd_f32(0.00139506006f, r, 0.00836895393f);
    q = cameo_muladd_f32(q, r, 0.0416662042f);
    q = cameo_muladd_f32(q, r, 0.166665183f);
    q = cameo_muladd_f32(q, r, 0.5f);
    float p = cameo_muladd_f32(q * r, r, r);
    float s = cameo_bits_u32_f32(cameo_bits_f32_u32(t) << 23);
    return s + cameo_muladd_f32(p, s, c);
}

/* 1 / (1 + e^-x), which is 1 from 17 on, and 0 below -105: there 2^-25 * e^-x is 2^127. */
CAMEO_FN float cameo_sigmoid_f32(float x)
{
    float v = cameo_at_least_f32(cameo_at_most_f32(x, 60.0f), -105.5f);
    float y = 0x1p-25f / cameo_one_and_exp_f32(v, -25);
    return x != x ? x : y;
}

/* x / (1 + e^-x), which is x from 17 on, and 0 below -110 (NaN at infinity, as 0 times it). What x
 * is above 60 is added behind. */
CAMEO_FN float cameo_silu_f32(float x)
{
    float w = cameo_at_most_f32(x, 60.0f), v = cameo_at_least_f32(w, -110.0f);
    return cameo_muladd_f32(v / cameo_one_and_exp_f32(v, -32), 0x1p-32f, -(w - x));
}

/* ---- for what is rounded to bfloat16 next, 8 bits: within 0.021 units in its last place;
 * with --strict-fp what is above. There is no division: a number's bits taken from a
 * constant are those of its reciprocal within 1.5 % but for a factor, as both are straight lines
 * between powers of two. */

/* v / (1 + e^-x), times 2^64; x from -110 to 40. The sum is taken times 2^-64, so that it and its
 * reciprocal are normal numbers. e^-x = 2^n * 2^f, |f| <= 1 / 2. */
CAMEO_IN_LOOP float cameo_logistic_short_f32(float v, float x)
{
    const int32_t k = 127 - 64;
    const float shift = 12582912.0f + (float)k, c = cameo_bits_u32_f32((uint32_t)k << 23);
    float t = cameo_muladd_f32(x, -1.44269504f, shift);
    float f = cameo_muladd_f32(x, -1.44269504f, shift - t);
    float q = cameo_muladd_f32(0.0551718548f, f, 0.242611170f);
    q = cameo_muladd_f32(q, f, 0.693260968f);
    q = cameo_muladd_f32(q, f, 0.999928117f);
    float d = cameo_muladd_f32(q, cameo_bits_u32_f32(cameo_bits_f32_u32(t) << 23), c);
    float r = cameo_bits_u32_f32(0x7eb50000u - cameo_bits_f32_u32(d)), u = d * r;
    float p = cameo_muladd_f32(2.70454478f, u, -5.82382631f);
    return (v * r) * cameo_muladd_f32(p, u, 4.18000746f);
}

/* As cameo_sigmoid_f32. */
CAMEO_FN float cameo_sigmoid_short_f32(float x)
{
    float v = cameo_at_least_f32(cameo_at_most_f32(x, 40.0f), -105.5f);
    float y = cameo_logistic_short_f32(0x1p-64f, v);
    return !CAMEO_SHORT ? cameo_sigmoid_f32(x) : x != x ? x : y;
}

/* As cameo_silu_f32. */
CAMEO_FN float cameo_silu_short_f32(float x)
{
    float w = cameo_at_most_f32(x, 40.0f), v = cameo_at_least_f32(w, -110.0f);
    float y = cameo_muladd_f32(cameo_logistic_short_f32(v, v), 0x1p-64f, -(w - x));
    return CAMEO_SHORT ? y : cameo_silu_f32(x);
}

/* 2^n * e^r - 1 = 2^n * (e^r - 1) + (2^n - 1), n from -26 to 128: half of each, and that twice. x
 * itself is nearest where it is small; half of what is below normal would be rounded. */
CAMEO_IN_LOOP float cameo_expm1_f32(float x)
{
    const float shift = 12582912.0f;
    float v = x > 89.0f ? 89.0f : x;
    v = v < -18.0f ? -18.0f : v;
    float t = cameo_muladd_f32(v, 1.44269504f, shift), n = t - shift;
    float r = cameo_muladd_f32(n, 2.12194440e-4f, cameo_muladd_f32(-n, 0.693359375f, v));
    float q = cameo_muladd_f32(0.000199139208f, r, 0.00139412521f);
    q = cameo_muladd_f32(q, r, 0.00833327358f);
    q = cameo_muladd_f32(q, r, 0.0416663518f);
    q = cameo_muladd_f32(q, r, 0.166666668f);
    q = cameo_muladd_f32(q, r, 0.5f);
    float p = cameo_muladd_f32(q * r, r, r);
    float half = cameo_bits_u32_f32((cameo_bits_f32_u32(t) + 126u) << 23);
    float y = cameo_muladd_f32(p, half, half - 0.5f) * 2.0f;
    return fabsf(v) < 0x1p-25f ? x : y;
}

/* log(2^k * (1 + f)), 1 + f from sqrt(1/2) to sqrt(2); log(1 + f) = f - f^2 / 2 + f^3 * p(f). */
CAMEO_IN_LOOP float cameo_log_f32(float x)
{
    int tiny = x < 1.17549435e-38f;
    uint32_t u = cameo_bits_f32_u32(tiny ? x * 8388608.0f : x);
    int32_t k = (int32_t)(u - 0x3f3504f3u) >> 23;
    float f = cameo_bits_u32_f32(u - ((uint32_t)k << 23)) - 1.0f;
    float n = (float)(tiny ? k - 23 : k), z = f * f;
    float p = cameo_muladd_f32(0.0691536805f, f, -0.117898077f);
    p = cameo_muladd_f32(p, f, 0.118729763f);
    p = cameo_muladd_f32(p, f, -0.123843485f);
    p = cameo_muladd_f32(p, f, 0.142186581f);
    p = cameo_muladd_f32(p, f, -0.166692508f);
    p = cameo_muladd_f32(p, f, 0.200022266f);
    p = cameo_muladd_f32(p, f, -0.249999866f);
    p = cameo_muladd_f32(p, f, 0.333333104f);
    float rest = cameo_muladd_f32(-n, 2.12194440e-4f, cameo_muladd_f32(z * f, p, -0.5f * z));
    float y = cameo_muladd_f32(n, 0.693359375f, f + rest);
    y = x == INFINITY || x != x ? x : y;
    return x > 0.0f || x != x ? y : x == 0.0f ? -INFINITY : NAN;
}

/* Near 0 an odd polynomial, else 1 - 2 / (e^2x + 1), which is 1 from 9.02 on. */
CAMEO_IN_LOOP float cameo_tanh_f32(float x)
{
    float a = fabsf(x), z = x * x;
    float p = cameo_muladd_f32(-0.00571703251f, z, 0.0206505755f);
    p = cameo_muladd_f32(p, z, -0.0537434943f);
    p = cameo_muladd_f32(p, z, 0.133314912f);
    p = cameo_muladd_f32(p, z, -0.333332839f);
    float small = cameo_muladd_f32(p * z, x, x);
    float v = cameo_within_f32(a, 10.0f, -0.0f);
    float large = 1.0f - 2.0f / (cameo_exp_near_f32(2.0f * v) + 1.0f);
    return copysignf(a >= 0.625f ? large : small, x);
}

/* Near 0 an odd polynomial, else 1 - e^-p(x) with p = -log(erfc). */
CAMEO_IN_LOOP float cameo_erf_f32(float x)
{
    float a = fabsf(x), z = x * x;
    float p = cameo_muladd_f32(7.88911981e-05f, z, -0.000802084161f);
    p = cameo_muladd_f32(p, z, 0.00518953541f);
    p = cameo_muladd_f32(p, z, -0.0268544447f);
    p = cameo_muladd_f32(p, z, 0.112836002f);
    p = cameo_muladd_f32(p, z, -0.376126271f);
    p = cameo_muladd_f32(p, z, 0.128379167f);
    float small = cameo_muladd_f32(p, x, x);
    float u = cameo_within_f32(a, 4.0f, -0.0f) - 1.0f;
    float l = cameo_muladd_f32(2.16868499e-05f, u, -0.000289528427f);
    l = cameo_muladd_f32(l, u, 0.00201196747f);
    l = cameo_muladd_f32(l, u, -0.0100464533f);
    l = cameo_muladd_f32(l, u, 0.0415634813f);
    l = cameo_muladd_f32(l, u, 0.843107082f);
    l = cameo_muladd_f32(l, u, 2.63896751f);
    l = cameo_muladd_f32(l, u, 1.84960551f);
    float large = 1.0f - cameo_exp_near_f32(-l);
    return a >= 1.0f ? copysignf(large, x) : small;
}

/* x * Phi(x), Phi the normal distribution: the greater of x and 0, less |x| * Phi(-|x|), which is
 * 2^q with a polynomial q. From 5.7 on it is less than half a unit in the last place of x: 0. So
 * nothing cancels, where 1 + erf(x / sqrt 2) leaves few digits of what is below 0. */
CAMEO_IN_LOOP float cameo_gelu_f32(float x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: a sum with it is a whole number */
    float a = fabsf(x);
    float q = cameo_muladd_f32(-3.15293676e-08f, a, 9.06429761e-07f);
    q = cameo_muladd_f32(q, a, -1.12580483e-05f);
    q = cameo_muladd_f32(q, a, 7.69518956e-05f);
    q = cameo_muladd_f32(q, a, -0.000277598563f);
    q = cameo_muladd_f32(q, a, -1.11248974e-05f);
    q = cameo_muladd_f32(q, a, 0.00696734013f);
    q = cameo_muladd_f32(q, a, -0.0524584986f);
    q = cameo_muladd_f32(q, a, -0.459214538f);
    q = cameo_muladd_f32(q, a, -1.15110493f);
    q = cameo_muladd_f32(q, a, -1.0f);
    float t = q + shift, r = q - (t - shift);
    float p = cameo_muladd_f32(0.00015353362f, r, 0.0013398875f);
    p = cameo_muladd_f32(p, r, 0.00961843692f);
    p = cameo_muladd_f32(p, r, 0.0555033237f);
    p = cameo_muladd_f32(p, r, 0.240226477f);
    p = cameo_muladd_f32(p, r, 0.693147182f);
    p = cameo_muladd_f32(p, r, 1.0f);
    p = cameo_bits_u32_f32(cameo_bits_f32_u32(p) + (cameo_bits_f32_u32(t) << 23));
    float less = a < 5.7f ? a * p : 0.0f;
    return cameo_muladd_f32(0.5f, x, 0.5f * a) - less; /* NaN at -infinity, as 0 times it */
}

/* The same for what is rounded to bfloat16 next: within 0.027 units in its last place, by fewer
 * terms of either polynomial. */
CAMEO_IN_LOOP float cameo_gelu_short_f32(float x)
{
    const float shift = 12582912.0f;
    float a = fabsf(x);
    float q = cameo_muladd_f32(2.48630713e-05f, a, -0.000641130668f);
    q = cameo_muladd_f32(q, a, 0.00737469038f);
    q = cameo_muladd_f32(q, a, -0.0516732559f);
    q = cameo_muladd_f32(q, a, -0.460677415f);
    q = cameo_muladd_f32(q, a, -1.1504364f);
    q = cameo_muladd_f32(q, a, -1.00004613f);
    float t = q + shift, r = q - (t - shift);
    float p = cameo_muladd_f32(0.055171676f, r, 0.24261114f);
    p = cameo_muladd_f32(p, r, 0.693260968f);
    p = cameo_muladd_f32(p, r, 0.999928057f);
    p = cameo_bits_u32_f32(cameo_bits_f32_u32(p) + (cameo_bits_f32_u32(t) << 23));
    float less = a < 5.7f ? a * p : 0.0f;
    float y = cameo_muladd_f32(0.5f, x, 0.5f * a) - less;
    return CAMEO_SHORT ? y : cameo_gelu_f32(x);
}

/* ---- functions of float32 in float64: within 1 unit in the last place of float32 */

/* log(2^k * m) = k * log(2) + 2 * atanh(s) with s = (m - 1) / (m + 1); v is positive and normal. */
CAMEO_FN double cameo_log_normal(double v)
{
    uint64_t u = cameo_bits_f64_u64(v);
    int32_t k = (int32_t)((uint32_t)(u >> 32) - 0x3fe6a09eu) >> 20;
    double m = cameo_bits_u64_f64(u - ((uint64_t)(uint32_t)k << 52));
    double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = cameo_muladd_f64(0.2333276574713218, z, 0.28550723007348805);
    p = cameo_muladd_f64(p, z, 0.4000012287849482);
    p = cameo_muladd_f64(p, z, 0.6666666655286682);
    return cameo_muladd_f64((double)k, 0.6931471805599453, s * cameo_muladd_f64(z, p, 2.0));
}

/* log(1 + x) with what 1 + x lost. */
CAMEO_FN float cameo_log1p_f32(float x)
{
    double a = x, u = 1.0 + a, v = u > 0x1p-60 ? u : 0x1p-60;
    double y = cameo_log_normal(v) + (a - (v - 1.0)) / v;
    float r = x > -1.0f ? (float)y : x == -1.0f ? -INFINITY : NAN;
    return x == INFINITY || x == 0.0f ? x : r;
}

/* log(1 + a) of a that is not negative, within float64's range. */
CAMEO_FN double cameo_log1p_above(double a)
{
    double u = 1.0 + a;
    return cameo_log_normal(u) + (a - (u - 1.0)) / u;
}
/* log(a + sqrt(a^2 + 1)) and log(x + sqrt(x^2 - 1)) as log(1 + ...), nothing cancels in either. */
CAMEO_FN float cameo_asinh_f32(float x)
{
    double a = fabs((double)x), z = a * a;
    float y = (float)cameo_log1p_above(a + z / (1.0 + sqrt(z + 1.0)));
    return copysignf(a < (double)INFINITY ? y : (float)a, x);
}
CAMEO_FN float cameo_acosh_f32(float x)
{
    double a = (double)x - 1.0, t = a > 0.0 ? a : 0.0;
    float y = (float)cameo_log1p_above(t + sqrt(t * (t + 2.0)));
    y = x == INFINITY ? x : y;
    return x >= 1.0f ? y : NAN;
}
/* (log(1 + a) - log(1 - a)) / 2. */
CAMEO_FN float cameo_atanh_f32(float x)
{
    double a = fabs((double)x), t = a < 1.0 ? a : 0.0;
    float y = (float)(0.5 * cameo_log1p_above(2.0 * t / (1.0 - t))),
          edge = a == 1.0 ? INFINITY : NAN;
    return copysignf(a < 1.0 ? y : edge, x);
}

/* x is *r more than the result quarters of a turn, |*r| <= pi / 4. From 2^23 on x is a whole number
 * times a power of two, and only those bits of 1 / (2 pi) matter that are no whole turns: words of
 * 32 bits from each eighth bit on. */
CAMEO_FN int32_t cameo_quarters(float x, double *r)
{
    static const uint32_t turn[22] = {0x28be60db, 0xbe60db93, 0x60db9391, 0xdb939105, 0x9391054a,
                                      0x91054a7f, 0x054a7f09, 0x4a7f09d5, 0x7f09d5f4, 0x09d5f47d,
                                      0xd5f47d4d, 0xf47d4d37, 0x7d4d3770, 0x4d377036, 0x377036d8,
                                      0x7036d8a5, 0x36d8a566, 0xd8a5664f, 0xa5664f10, 0x664f10e4,
                                      0x4f10e410, 0x10e4107f};
    uint32_t u = cameo_bits_f32_u32(x), e = u >> 23 & 0xff, up = e > 150 ? e - 150 : 0;
    int large = e >= 150;
    double a = x, n = rint((large ? 0.0 : a) * 0.6366197723675814);
    double near =
        cameo_muladd_f64(-n, 0x1.10b4611a62633p-30, cameo_muladd_f64(-n, 0x1.921fb54p+0, a));
    uint64_t m = (uint64_t)((u & 0x7fffff) | 0x800000) << (up & 7);
    uint32_t from = up >> 3;
    uint64_t part = ((m * turn[from]) << 32) + m * turn[from + 4] + ((m * turn[from + 8]) >> 32);
    uint64_t q = (part + ((uint64_t)1 << 61)) >> 62;
    double far = (double)(int64_t)(part - (q << 62)) * 3.4061215800304517e-19; /* 2 pi / 2^64 */
    int32_t k = (int32_t)(uint32_t)q;
    *r = (large ? (x < 0.0f ? -far : far) : near) + (a - a); /* NaN of what is infinite */
    return large ? (x < 0.0f ? -k : k) : (int32_t)n;
}
CAMEO_FN double cameo_sin_near(double r)
{
    double z = r * r, p = cameo_muladd_f64(2.7243890693866106e-06, z, -0.00019840039856008497);
    p = cameo_muladd_f64(p, z, 0.008333331787425007);
    p = cameo_muladd_f64(p, z, -0.16666666663630159);
    return cameo_muladd_f64(r * z, p, r);
}
CAMEO_FN double cameo_cos_near(double r)
{
    double z = r * r, p = cameo_muladd_f64(-2.723082784374762e-07, z, 2.4799793451849014e-05);
    p = cameo_muladd_f64(p, z, -0.001388888486235613);
    p = cameo_muladd_f64(p, z, 0.04166666663502319);
    p = cameo_muladd_f64(p, z, -0.49999999999960176);
    return cameo_muladd_f64(z, p, 1.0);
}
CAMEO_FN float cameo_sin_f32(float x)
{
    double r;
    int32_t q = cameo_quarters(x, &r);
    double s = cameo_sin_near(r), c = cameo_cos_near(r), y = q & 1 ? c : s;
    return x == 0.0f ? x : (float)(q & 2 ? -y : y);
}
CAMEO_FN float cameo_cos_f32(float x)
{
    double r;
    int32_t q = cameo_quarters(x, &r);
    double s = cameo_sin_near(r), c = cameo_cos_near(r), y = q & 1 ? -s : c;
    return (float)(q & 2 ? -y : y);
}
CAMEO_FN float cameo_tan_f32(float x)
{
    double r;
    int32_t q = cameo_quarters(x, &r);
    double s = cameo_sin_near(r), c = cameo_cos_near(r);
    return x == 0.0f ? x : (float)((q & 1 ? -c : s) / (q & 1 ? s : c));
}

/* atan(a) = pi / 2 - atan(1 / a) where a > 1. */
CAMEO_FN float cameo_atan_f32(float x)
{
    double a = fabs((double)x), t = a > 1.0 ? 1.0 / a : a, z = t * t;
    double p = cameo_muladd_f64(0.0006245087107547357, z, -0.004395343103160248);
    p = cameo_muladd_f64(p, z, 0.01448709894362411);
    p = cameo_muladd_f64(p, z, -0.030471517940881505);
    p = cameo_muladd_f64(p, z, 0.04776254803149893);
    p = cameo_muladd_f64(p, z, -0.06271502021693011);
    p = cameo_muladd_f64(p, z, 0.0759537016513344);
    p = cameo_muladd_f64(p, z, -0.09075436102978339);
    p = cameo_muladd_f64(p, z, 0.11109629921888438);
    p = cameo_muladd_f64(p, z, -0.14285640298170071);
    p = cameo_muladd_f64(p, z, 0.19999998544713263);
    p = cameo_muladd_f64(p, z, -0.33333333328587267);
    double y = cameo_muladd_f64(t * z, p, t);
    return copysignf((float)(a > 1.0 ? 1.5707963267948966 - y : y), x);
}

/* asin of a from 0 to 1/2, and of sqrt(z) with z = (1 - |x|) / 2 for what is above. */
CAMEO_FN double cameo_asin_near(double a, double z)
{
    double p = cameo_muladd_f64(0.02952449232524888, z, 0.00525177226932717);
    p = cameo_muladd_f64(p, z, 0.01937188473859354);
    p = cameo_muladd_f64(p, z, 0.022121292969038982);
    p = cameo_muladd_f64(p, z, 0.03039860609972917);
    p = cameo_muladd_f64(p, z, 0.04464231817598895);
    p = cameo_muladd_f64(p, z, 0.07500000661439539);
    p = cameo_muladd_f64(p, z, 0.1666666666533655);
    return cameo_muladd_f64(a * z, p, a);
}
CAMEO_FN float cameo_asin_f32(float x)
{
    double a = fabs((double)x), z = (1.0 - a) * 0.5;
    double y = cameo_asin_near(a > 0.5 ? sqrt(z) : a, a > 0.5 ? z : a * a);
    return copysignf((float)(a > 0.5 ? 1.5707963267948966 - 2.0 * y : y), x);
}
CAMEO_FN float cameo_acos_f32(float x)
{
    double v = x, a = fabs(v), z = (1.0 - a) * 0.5;
    double y = cameo_asin_near(a > 0.5 ? sqrt(z) : v, a > 0.5 ? z : v * v);
    double outer = v < 0.0 ? 3.141592653589793 - 2.0 * y : 2.0 * y;
    return (float)(a > 0.5 ? outer : 1.5707963267948966 - y);
}

/* ---- float64: exp within 1 unit in the last place, sigmoid and tanh within 3 */

/* e^r - 1 as above, r + r^2 * q(r), within 6e-18 of e^r: nine terms of least greatest error do for
 * eleven of the series. */
CAMEO_IN_LOOP double cameo_exp_rest_f64(double v, double *t)
{
    const double shift = 6755399441055744.0; /* 1.5 * 2^52 */
    *t = cameo_muladd_f64(v, 1.4426950408889634, shift);
    double n = *t - shift;
    double r =
        cameo_muladd_f64(-n, 0x1.cf79abc9e3b3ap-40, cameo_muladd_f64(-n, 0x1.62e42fefa0000p-1, v));
    double z = r * r; /* odd and even powers apart: half as many steps wait for one another */
    double p = cameo_muladd_f64(0x1.ad200eeca937cp-26, z, 0x1.71df5548d2305p-19);
    double q = cameo_muladd_f64(0x1.289f8c70861fdp-22, z, 0x1.a019ab2b8ab4fp-16);
    p = cameo_muladd_f64(p, z, 0x1.a01a011c1e9acp-13);
    q = cameo_muladd_f64(q, z, 0x1.6c16c17cc3bffp-10);
    p = cameo_muladd_f64(p, z, 0x1.111111112888bp-7);
    q = cameo_muladd_f64(q, z, 0x1.5555555553205p-5);
    p = cameo_muladd_f64(p, z, 0x1.5555555555501p-3);
    q = cameo_muladd_f64(q, z, 0.5);
    return cameo_muladd_f64(cameo_muladd_f64(p, r, q), z, r);
}

/* 1 / (1 + e^-x), which is 1 from 38 on, and 0 below -746, as 2^-60 / (2^-60 + 2^-60 * e^-x): there
 * the sum is a normal number. */
CAMEO_FN double cameo_sigmoid_f64(double x)
{
    double v = -x, t;
    v = v > 750.0 ? 750.0 : v;
    double p = cameo_exp_rest_f64(v < -40.0 ? -40.0 : v, &t);
    double scale = cameo_bits_u64_f64((cameo_bits_f64_u64(t) + (1023 - 60)) << 52);
    return 0x1p-60 / (cameo_muladd_f64(p, scale, scale) + 0x1p-60); /* NaN for NaN: p is */
}

/* 2^n in two factors, as in float32; without shifts of negative numbers, which vectors may lack. */
CAMEO_IN_LOOP double cameo_exp_f64(double x)
{
    double v = x > 710.0 ? 710.0 : x, t;
    double p = cameo_exp_rest_f64(v < -746.0 ? -746.0 : v, &t);
    uint64_t k = cameo_bits_f64_u64(t) - 0x4338000000000000u + 2048, half = k >> 1;
    double low = cameo_bits_u64_f64((half - 1) << 52);
    double high = cameo_bits_u64_f64((k - half - 1) << 52);
    return (p + 1.0) * low * high; /* NaN for NaN: p is */
}

/* e / (e + 2) with e = expm1(2 |x|) */
CAMEO_FN double cameo_tanh_f64(double x)
{
    double a = fabs(x), t, p = cameo_exp_rest_f64(2.0 * (a > 20.0 ? 20.0 : a), &t);
    double scale = cameo_bits_u64_f64((cameo_bits_f64_u64(t) + 1023) << 52);
    double e = cameo_muladd_f64(p, scale, scale - 1.0);
    return copysign(e / (e + 2.0), x);
}

#endif
