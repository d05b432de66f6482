/* Double-double numbers: the sum of two float64 of which the first is the whole rounded, some 106
 * bits of fraction and the range of float64. Y. Hida, X. S. Li, D. H. Bailey, "Algorithms for
 * quad-double precision floating point arithmetic", ARITH 15, 2001; bounds: M. Joldes, J.-M.
 * Muller, V. Popescu, "Tight and rigorous error bounds for basic building blocks of double-word
 * arithmetic", ACM TOMS 44 (2), 2017. With u = 2^-53 sums are within 3 u^2 of what is exact,
 * products within 5 u^2, quotients within 10 u^2, while nothing is subnormal: numbers below 2^-960
 * have less. What is infinite or no number is so in `hi`, with `lo` 0. */
#ifndef CAMEO_PAIRS_H
#define CAMEO_PAIRS_H

#include "cameo_math.h"

typedef struct cameo_f64x2 {
    double hi, lo;
} cameo_f64x2;

CAMEO_FN cameo_f64x2 cameo_make_f64x2(double hi, double lo)
{
    cameo_f64x2 r = {hi, lo};
    return r;
}

CAMEO_FN int cameo_finite_f64(double x)
{
    return fabs(x) < INFINITY;
}

/* a + b exactly (Knuth's two-sum). */
CAMEO_FN cameo_f64x2 cameo_sum_f64x2(double a, double b)
{
    double s = a + b, t = s - a, rest = (a - (s - t)) + (b - t);
    return cameo_make_f64x2(s, cameo_finite_f64(s) ? rest : 0);
}

/* The same where |a| >= |b| or a is 0 (Dekker's). */
CAMEO_FN cameo_f64x2 cameo_carry_f64x2(double a, double b)
{
    double s = a + b, rest = b - (s - a);
    return cameo_make_f64x2(s, cameo_finite_f64(s) ? rest : 0);
}

/* a * b exactly. fma, so that no compiler makes one operation of this product and a later sum: the
 * sum's own rounding is needed. */
CAMEO_FN cameo_f64x2 cameo_product_f64x2(double a, double b)
{
    double p = fma(a, b, 0.0), rest = fma(a, b, -p);
    if (!(fabs(p) > 0 && cameo_finite_f64(p)))
        return cameo_make_f64x2(a * b, 0);
    return cameo_make_f64x2(p, rest);
}

/* ---- arithmetic */

CAMEO_FN cameo_f64x2 cameo_neg_f64x2(cameo_f64x2 a)
{
    return cameo_make_f64x2(-a.hi, -a.lo);
}

CAMEO_FN cameo_f64x2 cameo_add_f64x2(cameo_f64x2 a, cameo_f64x2 b)
{
    cameo_f64x2 s = cameo_sum_f64x2(a.hi, b.hi), t = cameo_sum_f64x2(a.lo, b.lo);
    s = cameo_carry_f64x2(s.hi, s.lo + t.hi);
    return cameo_carry_f64x2(s.hi, s.lo + t.lo);
}

CAMEO_FN cameo_f64x2 cameo_sub_f64x2(cameo_f64x2 a, cameo_f64x2 b)
{
    return cameo_add_f64x2(a, cameo_neg_f64x2(b));
}

CAMEO_FN cameo_f64x2 cameo_mul_f64x2(cameo_f64x2 a, cameo_f64x2 b)
{
    cameo_f64x2 p = cameo_product_f64x2(a.hi, b.hi);
    return cameo_carry_f64x2(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

CAMEO_FN cameo_f64x2 cameo_times_f64x2(cameo_f64x2 a, double b)
{
    cameo_f64x2 p = cameo_product_f64x2(a.hi, b);
    return cameo_carry_f64x2(p.hi, p.lo + a.lo * b);
}

CAMEO_FN cameo_f64x2 cameo_plus_f64x2(cameo_f64x2 a, double b)
{
    return cameo_add_f64x2(a, cameo_make_f64x2(b, 0));
}

/* a * 2^n */
CAMEO_FN cameo_f64x2 cameo_scaled_f64x2(cameo_f64x2 a, int n)
{
    return cameo_make_f64x2(ldexp(a.hi, n), ldexp(a.lo, n));
}

CAMEO_FN cameo_f64x2 cameo_div_f64x2(cameo_f64x2 a, cameo_f64x2 b)
{
    double q = a.hi / b.hi;
    if (!(fabs(q) > 0 && cameo_finite_f64(q) && cameo_finite_f64(b.hi)))
        return cameo_make_f64x2(q, 0);
    cameo_f64x2 rest = cameo_sub_f64x2(a, cameo_times_f64x2(b, q));
    double r = rest.hi / b.hi;
    rest = cameo_sub_f64x2(rest, cameo_times_f64x2(b, r));
    return cameo_plus_f64x2(cameo_carry_f64x2(q, r), rest.hi / b.hi);
}

CAMEO_FN cameo_f64x2 cameo_sqrt_f64x2(cameo_f64x2 a)
{
    double r = sqrt(a.hi);
    if (!(r > 0 && cameo_finite_f64(r)))
        return cameo_make_f64x2(r, 0);
    cameo_f64x2 rest = cameo_sub_f64x2(a, cameo_product_f64x2(r, r));
    return cameo_sum_f64x2(r, rest.hi / (2 * r));
}

/* ---- order */

CAMEO_FN int cameo_isnan_f64x2(cameo_f64x2 a)
{
    return a.hi != a.hi;
}

CAMEO_FN int cameo_isinf_f64x2(cameo_f64x2 a)
{
    return fabs(a.hi) == INFINITY;
}

CAMEO_FN int cameo_eq_f64x2(cameo_f64x2 a, cameo_f64x2 b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

CAMEO_FN int cameo_lt_f64x2(cameo_f64x2 a, cameo_f64x2 b)
{
    return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}

CAMEO_FN int cameo_le_f64x2(cameo_f64x2 a, cameo_f64x2 b)
{
    return a.hi < b.hi || (a.hi == b.hi && a.lo <= b.lo);
}

CAMEO_FN cameo_f64x2 cameo_min_f64x2(cameo_f64x2 a, cameo_f64x2 b)
{
    return cameo_isnan_f64x2(a) || cameo_lt_f64x2(a, b) ? a : b;
}

CAMEO_FN cameo_f64x2 cameo_max_f64x2(cameo_f64x2 a, cameo_f64x2 b)
{
    return cameo_isnan_f64x2(a) || cameo_lt_f64x2(b, a) ? a : b;
}

CAMEO_FN int cameo_above_f64x2(cameo_f64x2 x, cameo_f64x2 best)
{
    return cameo_lt_f64x2(best, x) || (cameo_isnan_f64x2(x) && !cameo_isnan_f64x2(best));
}

CAMEO_FN int cameo_below_f64x2(cameo_f64x2 x, cameo_f64x2 best)
{
    return cameo_lt_f64x2(x, best) || (cameo_isnan_f64x2(x) && !cameo_isnan_f64x2(best));
}

CAMEO_FN cameo_f64x2 cameo_fabs_f64x2(cameo_f64x2 a)
{
    return a.hi > 0 ? a : cameo_make_f64x2(fabs(a.hi), a.hi < 0 ? -a.lo : 0);
}

/* ---- whole numbers */

CAMEO_FN cameo_f64x2 cameo_floor_f64x2(cameo_f64x2 a)
{
    double f = floor(a.hi);
    return f == a.hi ? cameo_carry_f64x2(f, floor(a.lo)) : cameo_make_f64x2(f, 0);
}

CAMEO_FN cameo_f64x2 cameo_ceil_f64x2(cameo_f64x2 a)
{
    double f = ceil(a.hi);
    return f == a.hi ? cameo_carry_f64x2(f, ceil(a.lo)) : cameo_make_f64x2(f, 0);
}

CAMEO_FN cameo_f64x2 cameo_trunc_f64x2(cameo_f64x2 a)
{
    return a.hi < 0 ? cameo_ceil_f64x2(a) : cameo_floor_f64x2(a);
}

/* To the nearest whole number, of two the even one. */
CAMEO_FN cameo_f64x2 cameo_rint_f64x2(cameo_f64x2 a)
{
    double r = rint(a.hi);
    if (r == a.hi) {
        double rest = rint(a.lo);
        if (fabs(a.lo) == 0.5 && fmod(r, 2) != 0)
            rest = a.lo > 0 ? 1 : -1;
        return cameo_carry_f64x2(r, rest);
    }
    if (fabs(a.hi - r) == 0.5 && (a.lo > 0 || a.lo < 0))
        r = a.lo > 0 ? ceil(a.hi) : floor(a.hi);
    return cameo_make_f64x2(r, 0);
}

/* The rest of a division whose quotient is cut to a whole number. Exact while b is one float64. */
CAMEO_FN cameo_f64x2 cameo_fmod_f64x2(cameo_f64x2 a, cameo_f64x2 b)
{
    cameo_f64x2 size = cameo_fabs_f64x2(b), rest = cameo_fabs_f64x2(a);
    if (!(size.hi > 0 && cameo_finite_f64(rest.hi)))
        return cameo_make_f64x2(fmod(a.hi, b.hi), 0);
    if (cameo_isinf_f64x2(b))
        return a;
    while (!cameo_lt_f64x2(rest, size)) { /* whole parts of the quotient, 52 bits at a time */
        int e = ilogb(rest.hi) - ilogb(size.hi) - 52;
        cameo_f64x2 step = cameo_scaled_f64x2(size, e > 0 ? e : 0);
        double times = floor(rest.hi / step.hi);
        rest = cameo_sub_f64x2(rest, cameo_times_f64x2(step, times > 1 ? times : 1));
        if (rest.hi < 0)
            rest = cameo_add_f64x2(rest, step);
    }
    return a.hi < 0 ? cameo_neg_f64x2(rest) : rest;
}

CAMEO_FN cameo_f64x2 cameo_mod_f64x2(cameo_f64x2 a, cameo_f64x2 b)
{
    cameo_f64x2 r = cameo_fmod_f64x2(a, b);
    return r.hi != 0 && (r.hi < 0) != (b.hi < 0) ? cameo_add_f64x2(r, b) : r;
}

/* ---- casts */

/* high * 2^32 + low */
CAMEO_FN cameo_f64x2 cameo_halves_f64x2(double high, double low)
{
    return cameo_sum_f64x2(high * 4294967296.0, low);
}

CAMEO_FN cameo_f64x2 cameo_cast_i64_f64x2(int64_t v)
{
    int64_t high = cameo_floordiv(v, INT64_C(4294967296));
    return cameo_halves_f64x2((double)high, (double)(v & INT64_C(4294967295)));
}

CAMEO_FN cameo_f64x2 cameo_cast_u64_f64x2(uint64_t v)
{
    return cameo_halves_f64x2((double)(v >> 32), (double)(v & UINT64_C(4294967295)));
}

/* A float64 beside a that rounds to narrower floats as a itself does: of its two neighbours the one
 * whose last bit is 1, where it is none of them. */
CAMEO_FN double cameo_odd_f64x2(cameo_f64x2 a)
{
    uint64_t bits = cameo_bits_f64_u64(a.hi);
    if (!(a.lo > 0 || a.lo < 0) || (bits & 1))
        return a.hi;
    return cameo_bits_u64_f64((a.lo > 0) == (a.hi > 0) ? bits + 1 : bits - 1);
}

/* Cut to a whole number; what is beyond the range is its end, NaN 0. */
CAMEO_FN int64_t cameo_whole_f64x2(cameo_f64x2 a, int64_t low, int64_t high)
{
    cameo_f64x2 v = cameo_trunc_f64x2(a);
    if (v.hi != v.hi)
        return 0;
    if (cameo_le_f64x2(v, cameo_cast_i64_f64x2(low)))
        return low;
    if (cameo_le_f64x2(cameo_cast_i64_f64x2(high), v))
        return high;
    if (fabs(v.hi) < 0x1p62)
        return (int64_t)v.hi + (int64_t)v.lo;
    int64_t half = (int64_t)(v.hi * 0.5);
    return half + (int64_t)v.lo + half;
}

CAMEO_FN uint64_t cameo_whole_u64_f64x2(cameo_f64x2 a)
{
    if (!(a.hi > 0))
        return 0;
    if (a.hi < 0x1p62)
        return (uint64_t)cameo_whole_f64x2(a, 0, INT64_MAX);
    cameo_f64x2 v = cameo_trunc_f64x2(a);
    if (!cameo_lt_f64x2(v, cameo_cast_u64_f64x2(UINT64_MAX)))
        return UINT64_MAX;
    uint64_t half = (uint64_t)(v.hi * 0.5);
    return half + (uint64_t)(int64_t)v.lo + half;
}

#endif
