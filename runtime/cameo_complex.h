/* Complex numbers: two floats beside each other, as files hold them. The same in C and in CUDA. */
#ifndef CAMEO_COMPLEX_H
#define CAMEO_COMPLEX_H

#include "cameo_math.h"

typedef struct cameo_c64 {
    float re, im;
} cameo_c64;

typedef struct cameo_c128 {
    double re, im;
} cameo_c128;

CAMEO_FN cameo_c64 cameo_make_c64(float re, float im)
{
    cameo_c64 r = {re, im};
    return r;
}
CAMEO_FN cameo_c128 cameo_make_c128(double re, double im)
{
    cameo_c128 r = {re, im};
    return r;
}

CAMEO_FN cameo_c64 cameo_neg_c64(cameo_c64 a)
{
    return cameo_make_c64(-a.re, -a.im);
}
CAMEO_FN cameo_c128 cameo_neg_c128(cameo_c128 a)
{
    return cameo_make_c128(-a.re, -a.im);
}

CAMEO_FN cameo_c64 cameo_add_c64(cameo_c64 a, cameo_c64 b)
{
    return cameo_make_c64(a.re + b.re, a.im + b.im);
}
CAMEO_FN cameo_c128 cameo_add_c128(cameo_c128 a, cameo_c128 b)
{
    return cameo_make_c128(a.re + b.re, a.im + b.im);
}

CAMEO_FN cameo_c64 cameo_sub_c64(cameo_c64 a, cameo_c64 b)
{
    return cameo_make_c64(a.re - b.re, a.im - b.im);
}
CAMEO_FN cameo_c128 cameo_sub_c128(cameo_c128 a, cameo_c128 b)
{
    return cameo_make_c128(a.re - b.re, a.im - b.im);
}

CAMEO_FN cameo_c64 cameo_mul_c64(cameo_c64 a, cameo_c64 b)
{
    return cameo_make_c64(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
CAMEO_FN cameo_c128 cameo_mul_c128(cameo_c128 a, cameo_c128 b)
{
    return cameo_make_c128(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

CAMEO_FN int cameo_eq_c64(cameo_c64 a, cameo_c64 b)
{
    return a.re == b.re && a.im == b.im;
}
CAMEO_FN int cameo_eq_c128(cameo_c128 a, cameo_c128 b)
{
    return a.re == b.re && a.im == b.im;
}

CAMEO_FN cameo_c128 cameo_cast_c64_c128(cameo_c64 a)
{
    return cameo_make_c128(a.re, a.im);
}
CAMEO_FN cameo_c64 cameo_cast_c128_c64(cameo_c128 a)
{
    return cameo_make_c64((float)a.re, (float)a.im);
}

CAMEO_FN uint64_t cameo_bits_c64_u64(cameo_c64 a)
{
    uint64_t r;
    memcpy(&r, &a, sizeof r);
    return r;
}
CAMEO_FN int64_t cameo_bits_c64_i64(cameo_c64 a)
{
    return (int64_t)cameo_bits_c64_u64(a);
}
CAMEO_FN double cameo_bits_c64_f64(cameo_c64 a)
{
    return cameo_bits_u64_f64(cameo_bits_c64_u64(a));
}
CAMEO_FN cameo_c64 cameo_bits_u64_c64(uint64_t a)
{
    cameo_c64 r;
    memcpy(&r, &a, sizeof r);
    return r;
}
CAMEO_FN cameo_c64 cameo_bits_i64_c64(int64_t a)
{
    return cameo_bits_u64_c64((uint64_t)a);
}
CAMEO_FN cameo_c64 cameo_bits_f64_c64(double a)
{
    return cameo_bits_u64_c64(cameo_bits_f64_u64(a));
}

#endif
