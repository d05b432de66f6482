/* The figures of float32 values, a vector at a time from where they lie. */
#ifndef CAMEO_DRIFT_FLOAT_H
#define CAMEO_DRIFT_FLOAT_H

#include "cameo_drift_sums.h"

enum {
    DRIFT_STEP = 2 * DRIFT_LANES, /* elements that are added at once */
    DRIFT_RUN = 2048              /* before what is special among them is looked for */
};

/* clang takes vectors of 512 bits apart unless it is told. */
#if defined(__clang__) && defined(__AVX512F__)
#define CAMEO_DRIFT_WHOLE static __attribute__((noinline, unused, min_vector_width(512)))
#else
#define CAMEO_DRIFT_WHOLE static __attribute__((noinline, unused))
#endif

typedef int32_t cameo_drift_ints __attribute__((vector_size(8 * DRIFT_LANES), may_alias));

/* What is computed of: one number's unit in the last place is a power of two of its size, and no
 * less than that of the least normal number. */
typedef struct cameo_drift_unit {
    double least, scale; /* least normal number; 2^bits of the fraction */
} cameo_drift_unit;

/* n elements of y, Y and what L is given as; n is a multiple of DRIFT_STEP. */
typedef struct cameo_drift_part {
    const float *y, *range; /* the latter for the least and the greatest */
    const double *exact;
    const void *third; /* float64 or float32; NULL: none */
    float *apart;      /* Y - y; NULL: nobody asks for it */
    int64_t n;
} cameo_drift_part;

/* The last elements and zeros behind them. */
typedef struct cameo_drift_tail {
    double exact[DRIFT_STEP], third[DRIFT_STEP];
    float y[DRIFT_STEP], range[DRIFT_STEP], apart[DRIFT_STEP];
} cameo_drift_tail;

CAMEO_FN double cameo_drift_larger(double a, double b)
{
    return a > b ? a : b;
}

/* 2^n of a normal number. */
CAMEO_FN double cameo_drift_power(int64_t n)
{
    const uint64_t bits = (uint64_t)(n + 1023) << 52;
    double power;
    memcpy(&power, &bits, 8);
    return power;
}

/* total / (the power of two below |v|, or below what is normal) * 2^fraction */
CAMEO_FN double cameo_drift_ulps(double total, double v, const cameo_drift_unit *u)
{
    uint64_t bits;
    double size = cameo_drift_larger(fabs(v), u->least), inverse;
    memcpy(&bits, &size, 8);
    bits = (UINT64_C(2046) << 52) - (bits & UINT64_C(0x7ff0000000000000));
    memcpy(&inverse, &bits, 8);
    return total * inverse * u->scale;
}

/* parts[0] are whole steps, parts[1] what is left over of them, in `tail`. */
CAMEO_FN void cameo_drift_split(cameo_drift_part *parts, cameo_drift_tail *tail,
                                cameo_drift_third how)
{
    cameo_drift_part *all = &parts[0];
    const size_t size = how == DRIFT_LOCAL ? 8 : 4;
    const int64_t left = all->n % DRIFT_STEP;
    all->n -= left;
    parts[1] = (cameo_drift_part){tail->y,
                                  tail->range,
                                  tail->exact,
                                  all->third ? tail->third : NULL,
                                  all->apart ? tail->apart : NULL,
                                  left ? DRIFT_STEP : 0};
    if (!left)
        return;
    memset(tail->y, 0, sizeof tail->y);
    memset(tail->exact, 0, sizeof tail->exact);
    memcpy(tail->y, all->y + all->n, (size_t)left * sizeof *tail->y);
    memcpy(tail->exact, all->exact + all->n, (size_t)left * sizeof *tail->exact);
    if (all->third) {
        memset(tail->third, 0, sizeof tail->third);
        memcpy(tail->third, (const char *)all->third + (size_t)all->n * size, (size_t)left * size);
    }
    for (int64_t i = 0; i < DRIFT_STEP; i++)
        tail->range[i] = tail->y[i < left ? i : 0];
}

/* What the tail's elements are apart goes where it belongs; n elements in all. */
CAMEO_FN void cameo_drift_split_end(const cameo_drift_part *parts, int64_t n)
{
    if (parts[0].apart && n > parts[0].n)
        memcpy(parts[0].apart + parts[0].n, parts[1].apart,
               (size_t)(n - parts[0].n) * sizeof *parts[0].apart);
}

CAMEO_DRIFT_FN cameo_drift_floats cameo_drift_picked(cameo_drift_ints first, cameo_drift_floats a,
                                                     cameo_drift_floats b)
{
    return (cameo_drift_floats)((first & (cameo_drift_ints)a) | (~first & (cameo_drift_ints)b));
}

typedef struct cameo_drift_apart {
    cameo_drift_vec total, made, inherited, shadow; /* of any sign */
} cameo_drift_apart;

CAMEO_DRIFT_FN cameo_drift_apart cameo_drift_of(const cameo_drift_part *p, int64_t i,
                                                const cameo_drift_third how)
{
    const cameo_drift_vec y = cameo_drift_widened(p->y + i);
    cameo_drift_apart a;
    a.shadow = cameo_drift_load(p->exact + i);
    if (how == DRIFT_EXACT || how == DRIFT_LOCAL) {
        const cameo_drift_vec own =
            how == DRIFT_LOCAL ? cameo_drift_load((const double *)p->third + i) : a.shadow;
        a.total = a.shadow - y;
        a.made = own - y;
        a.inherited = own - a.shadow;
        return a;
    }
    a.inherited = cameo_drift_widened((const float *)p->third + i);
    if (how == DRIFT_ADDED) {
        a.made = a.shadow - y;
        a.shadow += a.inherited;
        a.total = a.shadow - y;
    } else {
        a.total = a.shadow - y;
        a.made = a.total - a.inherited;
    }
    return a;
}

CAMEO_DRIFT_FN int cameo_drift_part_sums(cameo_drift_sums *to, const cameo_drift_part *of,
                                         double limit, const cameo_drift_third how, const int apart)
{
    const cameo_drift_part p = *of; /* what is stored may be any of it */
    cameo_drift_sums s = *to;
    cameo_drift_vec over = {0};
    for (int64_t i = 0; i < p.n; i += DRIFT_STEP) {
        const cameo_drift_floats y = *(const cameo_drift_floats *)(p.range + i);
        s.low = cameo_drift_picked((cameo_drift_ints)(y < s.low), y, s.low);
        s.high = cameo_drift_picked((cameo_drift_ints)(y > s.high), y, s.high);
#pragma GCC unroll 2
        for (int half = 0; half < DRIFT_STEP; half += DRIFT_LANES) {
            const cameo_drift_apart a = cameo_drift_of(&p, i + half, how);
            cameo_drift_step(&s, a.total, a.made, a.inherited, a.shadow, limit, how != DRIFT_EXACT,
                             &over);
            if (apart)
                *(cameo_drift_narrow *)(p.apart + i + half) =
                    __builtin_convertvector(a.total, cameo_drift_narrow);
        }
    }
    *to = s;
    return cameo_drift_any((cameo_drift_bits)(over > 0));
}

/* Adds the part. 1: some |total| > limit * |Y|. */
CAMEO_DRIFT_WHOLE int cameo_drift_part_add(cameo_drift_sums *s, const cameo_drift_part *p,
                                           double limit, cameo_drift_third how)
{
    if (p->apart)
        return how == DRIFT_EXACT     ? cameo_drift_part_sums(s, p, limit, DRIFT_EXACT, 1)
               : how == DRIFT_LOCAL   ? cameo_drift_part_sums(s, p, limit, DRIFT_LOCAL, 1)
               : how == DRIFT_BROUGHT ? cameo_drift_part_sums(s, p, limit, DRIFT_BROUGHT, 1)
                                      : cameo_drift_part_sums(s, p, limit, DRIFT_ADDED, 1);
    return how == DRIFT_EXACT     ? cameo_drift_part_sums(s, p, limit, DRIFT_EXACT, 0)
           : how == DRIFT_LOCAL   ? cameo_drift_part_sums(s, p, limit, DRIFT_LOCAL, 0)
           : how == DRIFT_BROUGHT ? cameo_drift_part_sums(s, p, limit, DRIFT_BROUGHT, 0)
                                  : cameo_drift_part_sums(s, p, limit, DRIFT_ADDED, 0);
}

/* The greatest relative error and units in the last place. */
CAMEO_DRIFT_WHOLE void cameo_drift_part_look(const cameo_drift_part *p, cameo_drift_third how,
                                             const cameo_drift_unit *u, double *relative,
                                             double *ulp)
{
    cameo_drift_vec parts = {0}, units = {0}, least = {0};
    const cameo_drift_bits exponent = INT64_C(0x7ff0000000000000) + (cameo_drift_bits){0};
    least += u->least;
    for (int64_t i = 0; i < p->n; i += DRIFT_LANES) {
        const cameo_drift_apart a = cameo_drift_of(p, i, how);
        const cameo_drift_vec size = cameo_drift_size(a.total), y = cameo_drift_size(a.shadow);
        const cameo_drift_bits bits = (cameo_drift_bits)cameo_drift_larger_of(y, least) & exponent;
        const cameo_drift_vec inverse = (cameo_drift_vec)((INT64_C(2046) << 52) - bits);
        const cameo_drift_vec part = cameo_drift_chosen((cameo_drift_bits)(y > 0), size / y, parts);
        units = cameo_drift_larger_of(size * inverse, units);
        parts = cameo_drift_larger_of(part, parts);
    }
    *ulp = cameo_drift_larger(cameo_drift_greatest(&units) * u->scale, *ulp);
    *relative = cameo_drift_larger(cameo_drift_greatest(&parts), *relative);
}

/* The first element with |total| = most; -1: there is none. */
CAMEO_DRIFT_WHOLE int64_t cameo_drift_part_find(const cameo_drift_part *p, cameo_drift_third how,
                                                double most)
{
    for (int64_t i = 0; i < p->n; i += DRIFT_LANES) {
        const cameo_drift_vec size = cameo_drift_size(cameo_drift_of(p, i, how).total);
        if (!cameo_drift_any((cameo_drift_bits)(size == most)))
            continue;
        for (int j = 0; j < DRIFT_LANES; j++)
            if (size[j] == most)
                return i + j;
    }
    return -1;
}

#endif
