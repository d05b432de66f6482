/* Elementary functions of double-double numbers (cameo_pairs.h), to some 30 digits: an argument
 * brought near 0, then the series of the function, or a step of Newton's from the float64 result
 * (Hida, Li, Bailey 2001, section 4). Angles of any size are reduced by as many bits of 2 / pi as
 * they need (M. Payne, R. Hanek, "Radian reduction for trigonometric functions", SIGNUM 1983).
 * Where float64's own function gives 0, an infinity or NaN, so do these. */
#ifndef CAMEO_PAIR_FUNCTIONS_H
#define CAMEO_PAIR_FUNCTIONS_H

#include "cameo_pairs.h"

/* 1 / (n + 3)! */
CAMEO_FN cameo_f64x2 cameo_factorial_f64x2(int n)
{
    static const cameo_f64x2 inverse[] = {
        {0x1.5555555555555p-3, 0x1.5555555555555p-57},
        {0x1.5555555555555p-5, 0x1.5555555555555p-59},
        {0x1.1111111111111p-7, 0x1.1111111111111p-63},
        {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
        {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
        {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
        {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
        {0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76},
        {0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80},
        {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83},
        {0x1.6124613a86d09p-33, 0x1.f28e0cc748ebep-87},
        {0x1.93974a8c07c9dp-37, 0x1.05d6f8a2efd1fp-92},
        {0x1.ae7f3e733b81fp-41, 0x1.1d8656b0ee8cbp-97},
        {0x1.ae7f3e733b81fp-45, 0x1.1d8656b0ee8cbp-101},
        {0x1.952c77030ad4ap-49, 0x1.ac981465ddc6cp-103},
        {0x1.6827863b97d97p-53, 0x1.eec01221a8b0bp-107},
        {0x1.2f49b46814157p-57, 0x1.2650f61dbdcb4p-112},
        {0x1.e542ba4020225p-62, 0x1.ea72b4afe3c2fp-120},
        {0x1.71b8ef6dcf572p-66, -0x1.d043ae40c4647p-120},
        {0x1.0ce396db7f853p-70, -0x1.aebcdbd20331cp-124},
        {0x1.761b41316381ap-75, -0x1.3423c7d91404fp-130},
        {0x1.f2cf01972f578p-80, -0x1.9ada5fcc1ab14p-135},
        {0x1.3f3ccdd165fa9p-84, -0x1.58ddadf344487p-139},
        {0x1.88e85fc6a4e5ap-89, -0x1.71c37ebd16540p-143},
        {0x1.d1ab1c2dccea3p-94, 0x1.054d0c78aea14p-149},
        {0x1.0a18a2635085dp-98, 0x1.b9e2e28e1aa54p-153},
        {0x1.259f98b4358adp-103, 0x1.eaf8c39dd9bc5p-157},
        {0x1.3932c5047d60ep-108, 0x1.832b7b530a627p-162},
        {0x1.434d2e783f5bcp-113, 0x1.0b87b91be9affp-167},
        {0x1.434d2e783f5bcp-118, 0x1.0b87b91be9affp-172},
        {0x1.3981254dd0d52p-123, -0x1.2b1f4c8015a2fp-177},
        {0x1.2710231c0fd7ap-128, 0x1.3f8a2b4af9d6bp-184},
        {0x1.0dc59c716d91fp-133, 0x1.419e3fad3f031p-188},
    };
    return inverse[n];
}

/* ---- powers of e */

/* e^a - 1 for |a| <= 0.35: of a / 512, then nine times (1 + s)^2 - 1 = 2 s + s^2. */
CAMEO_FN cameo_f64x2 cameo_expm1_near_f64x2(cameo_f64x2 a)
{
    cameo_f64x2 r = cameo_scaled_f64x2(a, -9), s = cameo_factorial_f64x2(8);
    for (int n = 7; n >= 0; n--)
        s = cameo_add_f64x2(cameo_mul_f64x2(s, r), cameo_factorial_f64x2(n));
    s = cameo_plus_f64x2(cameo_mul_f64x2(s, r), 0.5);
    s = cameo_add_f64x2(cameo_mul_f64x2(s, cameo_mul_f64x2(r, r)), r);
    for (int i = 0; i < 9; i++)
        s = cameo_add_f64x2(cameo_scaled_f64x2(s, 1), cameo_mul_f64x2(s, s));
    return s;
}

/* n * ln 2 */
CAMEO_FN cameo_f64x2 cameo_ln2_f64x2(double n)
{
    cameo_f64x2 low = cameo_product_f64x2(n, 0x1.abc9e3b39803fp-56);
    low = cameo_plus_f64x2(low, n * 0x1.7b57a079a1934p-111);
    return cameo_add_f64x2(cameo_product_f64x2(n, 0x1.62e42fefa39efp-1), low);
}

CAMEO_FN cameo_f64x2 cameo_exp_f64x2(cameo_f64x2 a)
{
    double plain = exp(a.hi);
    if (!(plain > 0 && cameo_finite_f64(plain)) || !cameo_finite_f64(a.hi))
        return cameo_make_f64x2(plain, 0);
    double k = rint(a.hi * 1.4426950408889634);
    cameo_f64x2 low = cameo_product_f64x2(k, -0x1.abc9e3b39803fp-56), s;
    s = cameo_add_f64x2(a, cameo_product_f64x2(k, -0x1.62e42fefa39efp-1)); /* what cancels first */
    s = cameo_plus_f64x2(cameo_add_f64x2(s, low), k * -0x1.7b57a079a1934p-111);
    s = cameo_expm1_near_f64x2(s);
    return cameo_scaled_f64x2(cameo_plus_f64x2(s, 1), (int)k);
}

CAMEO_FN cameo_f64x2 cameo_expm1_f64x2(cameo_f64x2 a)
{
    if (fabs(a.hi) < 0.34)
        return fabs(a.hi) > 0 ? cameo_expm1_near_f64x2(a) : a;
    return cameo_plus_f64x2(cameo_exp_f64x2(a), -1);
}

/* ---- logarithms */

/* log(1 + t) = 2 (s + s^3 / 3 + s^5 / 5 ...), s = t / (2 + t), for |t| <= 0.11. */
CAMEO_FN cameo_f64x2 cameo_log_near_f64x2(cameo_f64x2 t)
{
    static const cameo_f64x2 odd[] = {
        {0x1.5555555555555p-2, 0x1.5555555555555p-56},
        {0x1.999999999999ap-3, -0x1.999999999999ap-57},
        {0x1.2492492492492p-3, 0x1.2492492492492p-57},
        {0x1.c71c71c71c71cp-4, 0x1.c71c71c71c71cp-58},
        {0x1.745d1745d1746p-4, -0x1.745d1745d1746p-59},
        {0x1.3b13b13b13b14p-4, -0x1.3b13b13b13b14p-58},
        {0x1.1111111111111p-4, 0x1.1111111111111p-60},
        {0x1.e1e1e1e1e1e1ep-5, 0x1.e1e1e1e1e1e1ep-61},
        {0x1.af286bca1af28p-5, 0x1.af286bca1af28p-59},
        {0x1.8618618618618p-5, 0x1.8618618618618p-59},
        {0x1.642c8590b2164p-5, 0x1.642c8590b2164p-60},
        {0x1.47ae147ae147bp-5, -0x1.eb851eb851eb8p-61},
        {0x1.2f684bda12f68p-5, 0x1.2f684bda12f68p-59},
        {0x1.1a7b9611a7b96p-5, 0x1.1a7b9611a7b96p-61},
        {0x1.0842108421084p-5, 0x1.0842108421084p-60},
    };
    cameo_f64x2 s = cameo_div_f64x2(t, cameo_plus_f64x2(t, 2)), s2 = cameo_mul_f64x2(s, s);
    cameo_f64x2 sum = odd[13];
    for (int n = 12; n >= 0; n--)
        sum = cameo_add_f64x2(cameo_mul_f64x2(sum, s2), odd[n]);
    sum = cameo_mul_f64x2(cameo_mul_f64x2(sum, s2), s);
    return cameo_scaled_f64x2(cameo_add_f64x2(sum, s), 1);
}

CAMEO_FN cameo_f64x2 cameo_log_f64x2(cameo_f64x2 a)
{
    if (!(a.hi > 0 && cameo_finite_f64(a.hi)))
        return cameo_make_f64x2(log(a.hi), 0);
    int e;
    double m = frexp(a.hi, &e);
    e -= m < 0.70710678118654752;
    cameo_f64x2 x = cameo_scaled_f64x2(a, -e), near = cameo_plus_f64x2(x, -1), y;
    if (fabs(near.hi) < 0.1) {
        y = cameo_log_near_f64x2(near);
    } else {
        double first = log(x.hi);
        cameo_f64x2 f = cameo_exp_f64x2(cameo_make_f64x2(-first, 0));
        f = cameo_plus_f64x2(cameo_mul_f64x2(x, f), -1);
        y = cameo_plus_f64x2(cameo_plus_f64x2(f, -0.5 * f.hi * f.hi), first);
    }
    return e ? cameo_add_f64x2(cameo_ln2_f64x2(e), y) : y;
}

CAMEO_FN cameo_f64x2 cameo_log1p_f64x2(cameo_f64x2 a)
{
    if (fabs(a.hi) < 0.1)
        return fabs(a.hi) > 0 ? cameo_log_near_f64x2(a) : a;
    return cameo_log_f64x2(cameo_plus_f64x2(a, 1));
}

/* ---- angles */

enum { CAMEO_TURN_WORDS = 7 };

/* |v| in quarters of a turn, less multiples of 4: words of 32 bits, the greatest first, of which 2
 * bits stand before the point. */
CAMEO_FN void cameo_turns_f64(double v, uint32_t *out)
{
    static const uint32_t inverse[] = {
        0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
        0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
        0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b,
        0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
        0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1,
        0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d, 0xa9e39161, 0x5ee61b08,
    };
    enum { WORDS = 9 };
    uint32_t product[WORDS + 2] = {0};
    int e;
    uint64_t m = (uint64_t)ldexp(frexp(fabs(v), &e), 53);
    e -= 53;
    /* Words before `first` give multiples of 4 alone. */
    int first = e > 33 ? (e - 2) / 32 : 0, before = e - 32 * first; /* bits of the product there */
    uint64_t half[2] = {m & UINT64_C(0xffffffff), m >> 32};
    for (int h = 0; h < 2; h++) {
        uint64_t carry = 0;
        for (int i = WORDS - 1; i >= 0; i--) {
            uint64_t sum = half[h] * inverse[first + i] + product[i + 2 - h] + carry;
            product[i + 2 - h] = (uint32_t)sum;
            carry = sum >> 32;
        }
        for (int i = 1 - h; i >= 0; i--) {
            carry += product[i];
            product[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    /* The point stands `before` bits behind the two words of m. */
    int skip = 64 + before - 2;
    for (int i = 0; i < CAMEO_TURN_WORDS; i++) {
        int word = (skip + 32 * i) >> 5, shift = (skip + 32 * i) & 31;
        uint64_t high = word >= 0 && word < WORDS + 2 ? product[word] : 0;
        uint64_t low = word + 1 >= 0 && word + 1 < WORDS + 2 ? product[word + 1] : 0;
        out[i] = (uint32_t)((high << 32 | low) >> (32 - shift));
    }
}

/* to + from, or to - from, of what may be added up modulo 4. */
CAMEO_FN void cameo_add_turns(uint32_t *to, const uint32_t *from, int minus)
{
    uint64_t carry = minus != 0;
    for (int i = CAMEO_TURN_WORDS - 1; i >= 0; i--) {
        carry += (uint64_t)to[i] + (minus ? ~from[i] : from[i]);
        to[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* a = quarters * pi / 2 + what is given, at most pi / 4 of either sign. */
CAMEO_FN cameo_f64x2 cameo_reduced_f64x2(cameo_f64x2 a, int *quarters)
{
    const cameo_f64x2 right = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
    uint32_t t[CAMEO_TURN_WORDS], low[CAMEO_TURN_WORDS], none[CAMEO_TURN_WORDS] = {0};
    *quarters = 0;
    if (fabs(a.hi) < 0.78)
        return a;
    cameo_turns_f64(a.hi, t);
    cameo_turns_f64(a.lo, low);
    cameo_add_turns(t, low, (a.hi < 0) != (a.lo < 0));
    int whole = (int)(t[0] >> 30), upper = t[0] >> 29 & 1;
    t[0] &= UINT32_C(0x3fffffff);
    if (upper) { /* the next quarter is nearer */
        cameo_add_turns(none, t, 1);
        memcpy(t, none, sizeof t);
        t[0] &= UINT32_C(0x3fffffff);
    }
    cameo_f64x2 rest = {0, 0};
    for (int i = 0; i < CAMEO_TURN_WORDS; i++)
        rest = cameo_plus_f64x2(rest, ldexp((double)t[i], -30 - 32 * i));
    whole += upper;
    *quarters = (a.hi < 0 ? -whole : whole) & 3;
    rest = (a.hi < 0) != (upper != 0) ? cameo_neg_f64x2(rest) : rest;
    return cameo_mul_f64x2(rest, right);
}

/* sin and cos of |r| <= pi / 4, by their series. */
CAMEO_FN cameo_f64x2 cameo_sin_near_f64x2(cameo_f64x2 r)
{
    cameo_f64x2 r2 = cameo_mul_f64x2(r, r), s = cameo_factorial_f64x2(26);
    for (int n = 24; n >= 0; n -= 2)
        s = cameo_sub_f64x2(cameo_factorial_f64x2(n), cameo_mul_f64x2(s, r2));
    return cameo_sub_f64x2(r, cameo_mul_f64x2(cameo_mul_f64x2(s, r2), r));
}

CAMEO_FN cameo_f64x2 cameo_cos_near_f64x2(cameo_f64x2 r)
{
    cameo_f64x2 r2 = cameo_mul_f64x2(r, r), s = cameo_factorial_f64x2(27);
    for (int n = 25; n >= 1; n -= 2)
        s = cameo_sub_f64x2(cameo_factorial_f64x2(n), cameo_mul_f64x2(s, r2));
    s = cameo_sub_f64x2(cameo_make_f64x2(0.5, 0), cameo_mul_f64x2(s, r2));
    return cameo_sub_f64x2(cameo_make_f64x2(1, 0), cameo_mul_f64x2(s, r2));
}

CAMEO_FN void cameo_sincos_f64x2(cameo_f64x2 a, cameo_f64x2 *s, cameo_f64x2 *c)
{
    int quarters;
    if (!cameo_finite_f64(a.hi) || !(fabs(a.hi) > 0)) {
        *s = cameo_make_f64x2(sin(a.hi), 0);
        *c = cameo_make_f64x2(cos(a.hi), 0);
        return;
    }
    cameo_f64x2 r = cameo_reduced_f64x2(a, &quarters);
    cameo_f64x2 x = cameo_sin_near_f64x2(r), y = cameo_cos_near_f64x2(r);
    *s = quarters & 1 ? y : x;
    *c = quarters & 1 ? x : y;
    if (quarters & 2)
        *s = cameo_neg_f64x2(*s);
    if (quarters == 1 || quarters == 2)
        *c = cameo_neg_f64x2(*c);
}

CAMEO_FN cameo_f64x2 cameo_sin_f64x2(cameo_f64x2 a)
{
    cameo_f64x2 s, c;
    cameo_sincos_f64x2(a, &s, &c);
    return s;
}

CAMEO_FN cameo_f64x2 cameo_cos_f64x2(cameo_f64x2 a)
{
    cameo_f64x2 s, c;
    cameo_sincos_f64x2(a, &s, &c);
    return c;
}

CAMEO_FN cameo_f64x2 cameo_tan_f64x2(cameo_f64x2 a)
{
    cameo_f64x2 s, c;
    cameo_sincos_f64x2(a, &s, &c);
    return cameo_div_f64x2(s, c);
}

/* From the float64 angle t of (x, y), by the sine of what is left: (y cos t - x sin t) / (x cos t +
 * y sin t). */
CAMEO_FN cameo_f64x2 cameo_atan2_f64x2(cameo_f64x2 y, cameo_f64x2 x)
{
    const cameo_f64x2 eighth = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
    double first = atan2(y.hi, x.hi), most = fabs(x.hi) > fabs(y.hi) ? fabs(x.hi) : fabs(y.hi);
    if (!(fabs(first) > 0))
        return cameo_make_f64x2(first, 0);
    if (!(most > 0 && cameo_finite_f64(most))) /* a multiple of pi / 4 */
        return cameo_times_f64x2(eighth, rint(first / eighth.hi));
    int e = ilogb(most);
    cameo_f64x2 s, c;
    x = cameo_scaled_f64x2(x, -e);
    y = cameo_scaled_f64x2(y, -e);
    cameo_sincos_f64x2(cameo_make_f64x2(first, 0), &s, &c);
    cameo_f64x2 across = cameo_sub_f64x2(cameo_mul_f64x2(y, c), cameo_mul_f64x2(x, s));
    cameo_f64x2 along = cameo_add_f64x2(cameo_mul_f64x2(x, c), cameo_mul_f64x2(y, s));
    return cameo_plus_f64x2(cameo_div_f64x2(across, along), first);
}

CAMEO_FN cameo_f64x2 cameo_atan_f64x2(cameo_f64x2 a)
{
    return cameo_atan2_f64x2(a, cameo_make_f64x2(1, 0));
}

/* sqrt(1 - a^2) */
CAMEO_FN cameo_f64x2 cameo_beside_f64x2(cameo_f64x2 a)
{
    cameo_f64x2 less = cameo_plus_f64x2(cameo_neg_f64x2(a), 1), more = cameo_plus_f64x2(a, 1);
    return cameo_sqrt_f64x2(cameo_mul_f64x2(less, more));
}

CAMEO_FN cameo_f64x2 cameo_asin_f64x2(cameo_f64x2 a)
{
    return cameo_atan2_f64x2(a, cameo_beside_f64x2(a));
}

CAMEO_FN cameo_f64x2 cameo_acos_f64x2(cameo_f64x2 a)
{
    return cameo_atan2_f64x2(cameo_beside_f64x2(a), a);
}

/* ---- hyperbolic functions: odd ones of |a|, signed at the end */

CAMEO_FN cameo_f64x2 cameo_signed_f64x2(cameo_f64x2 size, double like)
{
    return like < 0 ? cameo_neg_f64x2(size) : size;
}

/* e^|a| / 2, which is finite where e^|a| is not. */
CAMEO_FN cameo_f64x2 cameo_half_exp_f64x2(cameo_f64x2 a)
{
    cameo_f64x2 size = cameo_fabs_f64x2(a);
    if (size.hi < 700)
        return cameo_scaled_f64x2(cameo_exp_f64x2(size), -1);
    return cameo_exp_f64x2(cameo_sub_f64x2(size, cameo_ln2_f64x2(1)));
}

CAMEO_FN cameo_f64x2 cameo_sinh_f64x2(cameo_f64x2 a)
{
    cameo_f64x2 size = cameo_fabs_f64x2(a), e;
    if (!(size.hi > 0))
        return a;
    if (size.hi > 300)
        return cameo_signed_f64x2(cameo_half_exp_f64x2(a), a.hi);
    e = cameo_expm1_f64x2(size);
    e = cameo_add_f64x2(e, cameo_div_f64x2(e, cameo_plus_f64x2(e, 1)));
    return cameo_signed_f64x2(cameo_scaled_f64x2(e, -1), a.hi);
}

CAMEO_FN cameo_f64x2 cameo_cosh_f64x2(cameo_f64x2 a)
{
    cameo_f64x2 half = cameo_half_exp_f64x2(a);
    return cameo_add_f64x2(half, cameo_div_f64x2(cameo_make_f64x2(0.25, 0), half));
}

CAMEO_FN cameo_f64x2 cameo_tanh_f64x2(cameo_f64x2 a)
{
    cameo_f64x2 size = cameo_fabs_f64x2(a);
    if (!(size.hi > 0) || size.hi > 300)
        return cameo_make_f64x2(tanh(a.hi), a.hi != 0 ? 0 : a.lo);
    cameo_f64x2 e = cameo_expm1_f64x2(cameo_scaled_f64x2(size, 1));
    return cameo_signed_f64x2(cameo_div_f64x2(e, cameo_plus_f64x2(e, 2)), a.hi);
}

CAMEO_FN cameo_f64x2 cameo_asinh_f64x2(cameo_f64x2 a)
{
    cameo_f64x2 x = cameo_fabs_f64x2(a);
    if (!(x.hi > 0 && cameo_finite_f64(x.hi)))
        return a;
    if (x.hi > 0x1p100)
        return cameo_signed_f64x2(cameo_add_f64x2(cameo_log_f64x2(x), cameo_ln2_f64x2(1)), a.hi);
    cameo_f64x2 x2 = cameo_mul_f64x2(x, x), root = cameo_sqrt_f64x2(cameo_plus_f64x2(x2, 1));
    x = cameo_add_f64x2(x, cameo_div_f64x2(x2, cameo_plus_f64x2(root, 1)));
    return cameo_signed_f64x2(cameo_log1p_f64x2(x), a.hi);
}

CAMEO_FN cameo_f64x2 cameo_acosh_f64x2(cameo_f64x2 a)
{
    cameo_f64x2 t = cameo_plus_f64x2(a, -1);
    if (a.hi > 0x1p100)
        return cameo_add_f64x2(cameo_log_f64x2(a), cameo_ln2_f64x2(1));
    t = cameo_add_f64x2(t, cameo_sqrt_f64x2(cameo_mul_f64x2(t, cameo_plus_f64x2(t, 2))));
    return cameo_log1p_f64x2(t);
}

CAMEO_FN cameo_f64x2 cameo_atanh_f64x2(cameo_f64x2 a)
{
    cameo_f64x2 x = cameo_fabs_f64x2(a);
    if (!(x.hi > 0))
        return a;
    x = cameo_div_f64x2(cameo_scaled_f64x2(x, 1), cameo_plus_f64x2(cameo_neg_f64x2(x), 1));
    return cameo_signed_f64x2(cameo_scaled_f64x2(cameo_log1p_f64x2(x), -1), a.hi);
}

/* ---- the error function, powers */

/* 2 / sqrt(pi) e^(-a^2) (a + 2 a^3 / 3 + 4 a^5 / 15 ...): terms of one sign (Abramowitz, Stegun
 * 7.1.6). 1 - erf(9) is 4e-37. */
CAMEO_FN cameo_f64x2 cameo_erf_f64x2(cameo_f64x2 a)
{
    const cameo_f64x2 factor = {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56};
    cameo_f64x2 x2 = cameo_mul_f64x2(a, a), term = a, sum = a;
    if (!(fabs(a.hi) < 9) || !(fabs(a.hi) > 0))
        return cameo_make_f64x2(erf(a.hi), 0);
    for (int n = 1; fabs(term.hi) > 0x1p-110 * fabs(sum.hi); n++) {
        term = cameo_mul_f64x2(cameo_scaled_f64x2(term, 1), x2);
        term = cameo_div_f64x2(term, cameo_make_f64x2(2 * n + 1, 0));
        sum = cameo_add_f64x2(sum, term);
    }
    sum = cameo_mul_f64x2(sum, cameo_exp_f64x2(cameo_neg_f64x2(x2)));
    return cameo_mul_f64x2(sum, factor);
}

/* a^n by squares, 0 <= n. */
CAMEO_FN cameo_f64x2 cameo_squares_f64x2(cameo_f64x2 a, int n)
{
    cameo_f64x2 r = {1, 0};
    for (; n; n >>= 1, a = n ? cameo_mul_f64x2(a, a) : a)
        if (n & 1)
            r = cameo_mul_f64x2(r, a);
    return r;
}

CAMEO_FN cameo_f64x2 cameo_pow_f64x2(cameo_f64x2 a, cameo_f64x2 b)
{
    double plain = pow(a.hi, b.hi);
    if (!(fabs(plain) > 0 && cameo_finite_f64(plain)) || !cameo_finite_f64(a.hi) ||
        !cameo_finite_f64(b.hi))
        return cameo_make_f64x2(plain, 0);
    if (rint(b.hi) == b.hi && b.lo == 0 && fabs(b.hi) <= 256) {
        cameo_f64x2 r = cameo_squares_f64x2(a, (int)fabs(b.hi));
        if (cameo_finite_f64(r.hi) && fabs(r.hi) > 0x1p-900)
            return b.hi < 0 ? cameo_div_f64x2(cameo_make_f64x2(1, 0), r) : r;
    }
    cameo_f64x2 size = cameo_mul_f64x2(b, cameo_log_f64x2(cameo_fabs_f64x2(a)));
    return cameo_signed_f64x2(cameo_exp_f64x2(size), plain);
}

#endif
