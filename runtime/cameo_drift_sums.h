/* The sums and greatest numbers that a value's figures are made of, a vector of elements at a time.
 */
#ifndef CAMEO_DRIFT_SUMS_H
#define CAMEO_DRIFT_SUMS_H

#include "cameo_math.h"

#include <float.h>
#include <string.h>

#if defined(__AVX512F__)
enum { DRIFT_LANES = 8 };
#elif defined(__AVX__)
enum { DRIFT_LANES = 4 };
#else
enum { DRIFT_LANES = 2 };
#endif
enum { DRIFT_BLOCK = 256 }; /* elements; whole vectors */

typedef double cameo_drift_vec __attribute__((vector_size(8 * DRIFT_LANES), aligned(8), may_alias));
typedef float cameo_drift_narrow
    __attribute__((vector_size(4 * DRIFT_LANES), aligned(4), may_alias));
typedef int64_t cameo_drift_bits __attribute__((vector_size(8 * DRIFT_LANES), may_alias));

/* Of y, total = y - Y, made = y - L, inherited = L - Y and Y; magnitudes where nothing else is
 * said.
 */
typedef struct cameo_drift_sums {
    cameo_drift_vec total, total2, made, made2, inherited, inherited2, shadow, shadow2;
    cameo_drift_vec least, greatest; /* of y */
} cameo_drift_sums;

/* Part of a value, where its differences are not taken on the way. */
typedef struct cameo_drift_block {
    double y[DRIFT_BLOCK], total[DRIFT_BLOCK], made[DRIFT_BLOCK], inherited[DRIFT_BLOCK];
    double shadow[DRIFT_BLOCK]; /* |Y| */
} cameo_drift_block;

/* What L is given as. */
typedef enum cameo_drift_third {
    DRIFT_EXACT,   /* not at all: nothing is made, all is inherited */
    DRIFT_LOCAL,   /* L in float64 */
    DRIFT_BROUGHT, /* Y - L in float32 */
    DRIFT_ADDED    /* the same, and L stands where Y is expected */
} cameo_drift_third;

#define CAMEO_DRIFT_FN static inline __attribute__((always_inline, unused))

CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_chosen(cameo_drift_bits first, cameo_drift_vec a,
                                                  cameo_drift_vec b)
{
    return (cameo_drift_vec)((first & (cameo_drift_bits)a) | (~first & (cameo_drift_bits)b));
}

CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_larger_of(cameo_drift_vec a, cameo_drift_vec b)
{
    return cameo_drift_chosen((cameo_drift_bits)(a > b), a, b);
}

CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_less_of(cameo_drift_vec a, cameo_drift_vec b)
{
    return cameo_drift_chosen((cameo_drift_bits)(a < b), a, b);
}

CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_size(cameo_drift_vec v)
{
    return (cameo_drift_vec)((cameo_drift_bits)v & INT64_MAX);
}

CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_load(const double *at)
{
    return *(const cameo_drift_vec *)at;
}

CAMEO_DRIFT_FN cameo_drift_vec cameo_drift_widened(const float *at)
{
    return __builtin_convertvector(*(const cameo_drift_narrow *)at, cameo_drift_vec);
}

/* Adds a vector of elements: `all` of it, or no made and inherited. The result is not 0 where
 * |total| > limit * |Y|. */
CAMEO_DRIFT_FN cameo_drift_bits cameo_drift_step(cameo_drift_sums *s, cameo_drift_vec y,
                                                 cameo_drift_vec total, cameo_drift_vec made,
                                                 cameo_drift_vec inherited, cameo_drift_vec shadow,
                                                 double limit, int all)
{
    const cameo_drift_vec size = cameo_drift_size(total);
    s->total = cameo_drift_larger_of(size, s->total);
    s->total2 += total * total;
    if (all) {
        s->made = cameo_drift_larger_of(cameo_drift_size(made), s->made);
        s->made2 += made * made;
        s->inherited = cameo_drift_larger_of(cameo_drift_size(inherited), s->inherited);
        s->inherited2 += inherited * inherited;
    }
    s->shadow = cameo_drift_larger_of(shadow, s->shadow);
    s->shadow2 += shadow * shadow;
    s->least = cameo_drift_less_of(y, s->least);
    s->greatest = cameo_drift_larger_of(y, s->greatest);
    return (cameo_drift_bits)(size > limit * shadow);
}

CAMEO_DRIFT_FN int cameo_drift_any(cameo_drift_bits v)
{
    int64_t any = 0;
    for (int j = 0; j < DRIFT_LANES; j++)
        any |= v[j];
    return any != 0;
}

CAMEO_DRIFT_FN int cameo_drift_vectors_of(cameo_drift_sums *to, const float *y, const double *exact,
                                          const void *third, float *apart, int64_t n, double limit,
                                          const cameo_drift_third how)
{
    cameo_drift_sums s = *to;
    cameo_drift_bits further = {0};
    for (int64_t i = 0; i < n; i += DRIFT_LANES) {
        const cameo_drift_vec v = cameo_drift_widened(y + i);
        cameo_drift_vec want = cameo_drift_load(exact + i), own = want;
        if (how == DRIFT_LOCAL)
            own = cameo_drift_load((const double *)third + i);
        else if (how == DRIFT_BROUGHT)
            own = want - cameo_drift_widened((const float *)third + i);
        else if (how == DRIFT_ADDED)
            want = own + cameo_drift_widened((const float *)third + i);
        const cameo_drift_vec total = v - want;
        further |= cameo_drift_step(&s, v, total, v - own, own - want, cameo_drift_size(want),
                                    limit, how != DRIFT_EXACT);
        if (apart)
            *(cameo_drift_narrow *)(apart + i) =
                __builtin_convertvector(-total, cameo_drift_narrow);
    }
    *to = s;
    return cameo_drift_any(further);
}

/* Whole vectors of n elements of float32 beside Y, L being given as `how` says; `apart`, if any, is
 * Y - y. 1: some |total| > limit * |Y|. */
CAMEO_FN int cameo_drift_vectors(cameo_drift_sums *s, const float *y, const double *exact,
                                 const void *third, float *apart, int64_t n, double limit,
                                 cameo_drift_third how)
{
    if (how == DRIFT_EXACT)
        return cameo_drift_vectors_of(s, y, exact, third, apart, n, limit, DRIFT_EXACT);
    if (how == DRIFT_LOCAL)
        return cameo_drift_vectors_of(s, y, exact, third, apart, n, limit, DRIFT_LOCAL);
    if (how == DRIFT_BROUGHT)
        return cameo_drift_vectors_of(s, y, exact, third, apart, n, limit, DRIFT_BROUGHT);
    return cameo_drift_vectors_of(s, y, exact, third, apart, n, limit, DRIFT_ADDED);
}

/* The same of a block, whose last elements are padded here: a y that is no number is neither least
 * nor greatest. */
CAMEO_FN int cameo_drift_blocks(cameo_drift_sums *s, cameo_drift_block *b, int64_t n, double limit)
{
    cameo_drift_bits further = {0};
    for (; n % DRIFT_LANES; n++) {
        b->y[n] = NAN;
        b->total[n] = b->made[n] = b->inherited[n] = b->shadow[n] = 0;
    }
    for (int64_t i = 0; i < n; i += DRIFT_LANES)
        further |=
            cameo_drift_step(s, cameo_drift_load(b->y + i), cameo_drift_load(b->total + i),
                             cameo_drift_load(b->made + i), cameo_drift_load(b->inherited + i),
                             cameo_drift_load(b->shadow + i), limit, 1);
    return cameo_drift_any(further);
}

CAMEO_FN double cameo_drift_sum(const double *lanes, int n)
{
    double sum = 0;
    for (int j = 0; j < n; j++)
        sum += lanes[j];
    return sum;
}

CAMEO_FN double cameo_drift_most(const double *lanes, int n)
{
    double most = lanes[0];
    for (int j = 1; j < n; j++)
        most = lanes[j] > most ? lanes[j] : most;
    return most;
}

CAMEO_FN double cameo_drift_added(const cameo_drift_vec *v)
{
    return cameo_drift_sum((const double *)v, DRIFT_LANES);
}

CAMEO_FN double cameo_drift_greatest(const cameo_drift_vec *v)
{
    return cameo_drift_most((const double *)v, DRIFT_LANES);
}

CAMEO_FN double cameo_drift_least(const cameo_drift_vec *v)
{
    const cameo_drift_vec negative = -*v;
    return -cameo_drift_greatest(&negative);
}

CAMEO_FN void cameo_drift_begin(cameo_drift_sums *s)
{
    memset(s, 0, sizeof *s);
    for (int j = 0; j < DRIFT_LANES; j++) {
        s->least[j] = DBL_MAX;
        s->greatest[j] = -DBL_MAX;
    }
}

#endif
