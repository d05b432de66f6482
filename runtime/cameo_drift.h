/* How far a value is from its shadow, as a few numbers: what `cameo verify --layers` reads. */
#ifndef CAMEO_DRIFT_H
#define CAMEO_DRIFT_H

#include "cameo_objects.h"

#include <float.h>

/* Of y, its shadow Y, and L, the same operation in float64 on what y was computed of:
 * total = y - Y, made = y - L, inherited = L - Y. Only where all of them are finite. */
enum {
    DRIFT_COUNT,         /* elements; 0: the value was not computed, and nothing else is meant */
    DRIFT_MAX_TOTAL,     /* greatest |total| */
    DRIFT_AT,            /* its index */
    DRIFT_SUM_TOTAL,     /* sum of squares */
    DRIFT_MAX_MADE,      /* greatest |made| */
    DRIFT_SUM_MADE,      /* sum of squares */
    DRIFT_MAX_INHERITED, /* greatest |inherited| */
    DRIFT_SUM_INHERITED, /* sum of squares */
    DRIFT_MAX_SHADOW,    /* greatest |Y|, as all of these where y and Y are finite */
    DRIFT_SUM_SHADOW,    /* sum of squares */
    DRIFT_MAX_RELATIVE,  /* greatest |total / Y| where Y is not 0 */
    DRIFT_MAX_ULP,       /* greatest |total| in units in the last place of Y in y's dtype */
    DRIFT_NONFINITE,     /* elements of y that are infinite or no number */
    DRIFT_NONFINITE_AT,  /* the first of them, -1: none */
    DRIFT_LOST,          /* those among them that are finite in Y */
    DRIFT_FLIPS,         /* where an operator that decides gave another result than for Y */
    DRIFT_LEAST,         /* the least and the greatest finite element of y */
    DRIFT_GREATEST,
    DRIFT_ITERATION, /* of a loop, the one with the greatest |total| */
    DRIFT_FIELDS
};

enum { DRIFT_LANES = 8, DRIFT_BLOCK = 512 };

typedef struct cameo_drift_lanes {
    double total[DRIFT_LANES], total2[DRIFT_LANES], made[DRIFT_LANES], made2[DRIFT_LANES];
    double inherited[DRIFT_LANES], inherited2[DRIFT_LANES], shadow[DRIFT_LANES];
    double shadow2[DRIFT_LANES], ulp[DRIFT_LANES];
    double nonfinite[DRIFT_LANES], lost[DRIFT_LANES], flips[DRIFT_LANES];
    double least[DRIFT_LANES], greatest[DRIFT_LANES];
    double further[DRIFT_LANES]; /* 1: some |total / Y| is greater than `relative` */
    double relative;             /* greatest |total / Y| of the blocks before */
} cameo_drift_lanes;

/* What is computed of: one number's unit in the last place is a power of two of its size, and no
 * less than that of the least normal number. */
typedef struct cameo_drift_unit {
    double least, scale; /* least normal number; 2^bits of the fraction */
} cameo_drift_unit;

CAMEO_FN double cameo_drift_larger(double a, double b)
{
    return a > b ? a : b;
}

/* 2^fraction / (the power of two below |v|, or below what is normal) */
CAMEO_FN double cameo_drift_per_ulp(double v, const cameo_drift_unit *u)
{
    uint64_t bits;
    double size = cameo_drift_larger(fabs(v), u->least), inverse;
    memcpy(&bits, &size, 8);
    bits = (UINT64_C(2046) << 52) - (bits & UINT64_C(0x7ff0000000000000));
    memcpy(&inverse, &bits, 8);
    return inverse * u->scale;
}

CAMEO_FN void cameo_drift_step(cameo_drift_lanes *s, int j, double y, double exact, double local,
                               const cameo_drift_unit *u)
{
    double total = y - exact, made = y - local, size = fabs(exact);
    int finite = fabs(total) <= DBL_MAX && fabs(made) <= DBL_MAX;
    total = finite ? fabs(total) : 0;
    made = finite ? fabs(made) : 0;
    double inherited = finite ? fabs(local - exact) : 0;
    int known = size <= DBL_MAX, number = fabs(y) <= DBL_MAX;
    size = finite ? size : 0;
    s->total[j] = cameo_drift_larger(total, s->total[j]);
    s->total2[j] += total * total;
    s->made[j] = cameo_drift_larger(made, s->made[j]);
    s->made2[j] += made * made;
    s->inherited[j] = cameo_drift_larger(inherited, s->inherited[j]);
    s->inherited2[j] += inherited * inherited;
    s->shadow[j] = cameo_drift_larger(size, s->shadow[j]);
    s->shadow2[j] += size * size;
    s->further[j] = total > (size > 0 ? s->relative * size : DBL_MAX) ? 1 : s->further[j];
    s->ulp[j] = cameo_drift_larger(total * cameo_drift_per_ulp(size, u), s->ulp[j]);
    s->nonfinite[j] += number ? 0 : 1;
    s->lost[j] += number || !known ? 0 : 1;
    s->flips[j] += y == exact || (y != y && exact != exact) ? 0 : 1;
    s->least[j] = number && y < s->least[j] ? y : s->least[j];
    s->greatest[j] = number && y > s->greatest[j] ? y : s->greatest[j];
}

CAMEO_FN double cameo_drift_sum(const double *lanes)
{
    double sum = 0;
    for (int j = 0; j < DRIFT_LANES; j++)
        sum += lanes[j];
    return sum;
}

CAMEO_FN double cameo_drift_most(const double *lanes)
{
    double most = lanes[0];
    for (int j = 1; j < DRIFT_LANES; j++)
        most = cameo_drift_larger(lanes[j], most);
    return most;
}

/* A division takes as long as all the rest: only a block that has a greater |total / Y| than those
 * before it divides. */
CAMEO_FN void cameo_drift_relative(cameo_drift_lanes *s, const double *y, const double *exact,
                                   const double *local, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double total = fabs(y[i] - exact[i]), size = fabs(exact[i]);
        if (fabs(y[i] - local[i]) <= DBL_MAX && size > 0 && total <= DBL_MAX)
            s->relative = cameo_drift_larger(total / size, s->relative);
    }
    memset(s->further, 0, sizeof s->further);
}

/* n elements of y from `first` on as float64. */
CAMEO_FN void cameo_drift_widen(double *to, const cameo_view *y, int64_t first, int64_t n)
{
    if (y->dtype == 1)
        for (int64_t i = 0; i < n; i++)
            to[i] = (double)((const float *)y->at)[first + i];
    else if (y->dtype == 10)
        for (int64_t i = 0; i < n; i++)
            to[i] = (double)cameo_cast_f16_f32(((const uint16_t *)y->at)[first + i]);
    else if (y->dtype == 16)
        for (int64_t i = 0; i < n; i++)
            to[i] = (double)cameo_cast_bf16_f32(((const uint16_t *)y->at)[first + i]);
    else
        memcpy(to, (const double *)y->at + first, (size_t)n * sizeof *to);
}

/* Where in the block the greatest |total| so far and the first number that is none stand. */
CAMEO_FN void cameo_drift_locate(double *out, const cameo_drift_lanes *s, const double *y,
                                 const double *exact, int64_t first, int64_t n)
{
    double most = cameo_drift_most(s->total);
    int64_t i = 0;
    if (most > out[DRIFT_MAX_TOTAL]) {
        while (i < n && !(fabs(y[i] - exact[i]) == most))
            i++;
        out[DRIFT_MAX_TOTAL] = most;
        out[DRIFT_AT] = (double)(first + i);
    }
    if (out[DRIFT_NONFINITE_AT] < 0 && cameo_drift_sum(s->nonfinite) > 0) {
        for (i = 0; i < n && fabs(y[i]) <= DBL_MAX; i++)
            ;
        out[DRIFT_NONFINITE_AT] = (double)(first + i);
    }
}

CAMEO_FN void cameo_drift_floats(const cameo_call *c, int64_t count, double *out)
{
    double block[DRIFT_BLOCK];
    cameo_drift_lanes s;
    const double *exact = (const double *)c->reads[1].at;
    const double *local = c->nreads > 2 ? (const double *)c->reads[2].at : NULL;
    cameo_drift_unit u = {ldexp(1, (int)c->n[1]), ldexp(1, (int)c->n[0])};
    memset(&s, 0, sizeof s);
    for (int j = 0; j < DRIFT_LANES; j++) {
        s.least[j] = DBL_MAX;
        s.greatest[j] = -DBL_MAX;
    }
    for (int64_t first = 0; first < count; first += DRIFT_BLOCK) {
        int64_t n = count - first < DRIFT_BLOCK ? count - first : DRIFT_BLOCK, i = 0;
        const double *to = exact + first, *at = local ? local + first : block;
        cameo_drift_widen(block, &c->reads[0], first, n);
        for (; i + DRIFT_LANES <= n; i += DRIFT_LANES)
            for (int j = 0; j < DRIFT_LANES; j++)
                cameo_drift_step(&s, j, block[i + j], to[i + j], at[i + j], &u);
        for (int j = 0; i + j < n; j++)
            cameo_drift_step(&s, j, block[i + j], to[i + j], at[i + j], &u);
        if (cameo_drift_most(s.further) > 0)
            cameo_drift_relative(&s, block, to, at, n);
        cameo_drift_locate(out, &s, block, to, first, n);
    }
    out[DRIFT_SUM_TOTAL] = cameo_drift_sum(s.total2);
    out[DRIFT_MAX_MADE] = cameo_drift_most(s.made);
    out[DRIFT_SUM_MADE] = cameo_drift_sum(s.made2);
    out[DRIFT_MAX_INHERITED] = cameo_drift_most(s.inherited);
    out[DRIFT_SUM_INHERITED] = cameo_drift_sum(s.inherited2);
    out[DRIFT_MAX_SHADOW] = cameo_drift_most(s.shadow);
    out[DRIFT_SUM_SHADOW] = cameo_drift_sum(s.shadow2);
    out[DRIFT_MAX_RELATIVE] = s.relative;
    out[DRIFT_MAX_ULP] = cameo_drift_most(s.ulp);
    out[DRIFT_NONFINITE] = cameo_drift_sum(s.nonfinite);
    out[DRIFT_LOST] = cameo_drift_sum(s.lost);
    out[DRIFT_FLIPS] = c->n[2] ? cameo_drift_sum(s.flips) : 0;
    out[DRIFT_GREATEST] = cameo_drift_most(s.greatest);
    for (int j = 0; j < DRIFT_LANES; j++)
        s.least[j] = -s.least[j];
    out[DRIFT_LEAST] = -cameo_drift_most(s.least);
}

/* (y, Y, L) => (numbers) [bits of the fraction, exponent of the least normal number, does it
 * decide?]: y of float16, bfloat16, float32 or float64, Y and L of float64. Without L nothing was
 * made: y is exact in what it is computed of. Of other dtypes y and Y are compared bit by bit. */
CAMEO_FN int cameo_drift(cameo_objects *o, const cameo_call *c)
{
    const cameo_view *y = &c->reads[0], *exact = &c->reads[1];
    double *out = (double *)c->writes[0].at;
    int64_t count = cameo_view_count(y);
    if (cameo_view_count(exact) != count ||
        (c->nreads > 2 && cameo_view_count(&c->reads[2]) != count))
        return cameo_objects_fail(o, "the float64 shadow has another shape than the value");
    memset(out, 0, DRIFT_FIELDS * sizeof *out);
    out[DRIFT_COUNT] = (double)count;
    out[DRIFT_NONFINITE_AT] = -1;
    if (y->dtype == 1 || y->dtype == 10 || y->dtype == 11 || y->dtype == 16) {
        cameo_drift_floats(c, count, out);
        return 0;
    }
    size_t size = (size_t)cameo_stored_size(y->dtype);
    for (int64_t i = 0; i < count; i++)
        if (memcmp((const char *)y->at + (size_t)i * size,
                   (const char *)exact->at + (size_t)i * size, size) != 0) {
            out[DRIFT_AT] = out[DRIFT_FLIPS] > 0 ? out[DRIFT_AT] : (double)i;
            out[DRIFT_FLIPS]++;
        }
    return 0;
}

/* Adds what row `from` says to `to`; `iteration` is where it comes from. */
CAMEO_FN void cameo_drift_add(double *to, const double *from, double iteration)
{
    static const unsigned char sums[] = {DRIFT_COUNT,         DRIFT_SUM_TOTAL,  DRIFT_SUM_MADE,
                                         DRIFT_SUM_INHERITED, DRIFT_SUM_SHADOW, DRIFT_NONFINITE,
                                         DRIFT_LOST,          DRIFT_FLIPS};
    static const unsigned char most[] = {DRIFT_MAX_MADE,     DRIFT_MAX_INHERITED, DRIFT_MAX_SHADOW,
                                         DRIFT_MAX_RELATIVE, DRIFT_MAX_ULP,       DRIFT_GREATEST};
    if (!(from[DRIFT_COUNT] > 0))
        return;
    if (!(to[DRIFT_COUNT] > 0)) {
        memcpy(to, from, DRIFT_FIELDS * sizeof *to);
        to[DRIFT_ITERATION] = iteration;
        return;
    }
    int worse = from[DRIFT_MAX_TOTAL] > to[DRIFT_MAX_TOTAL] ||
                (from[DRIFT_FLIPS] > 0 && !(to[DRIFT_FLIPS] > 0) && !(to[DRIFT_MAX_TOTAL] > 0));
    if (worse) {
        to[DRIFT_MAX_TOTAL] = from[DRIFT_MAX_TOTAL];
        to[DRIFT_AT] = from[DRIFT_AT];
        to[DRIFT_ITERATION] = iteration;
    }
    if (to[DRIFT_NONFINITE_AT] < 0)
        to[DRIFT_NONFINITE_AT] = from[DRIFT_NONFINITE_AT];
    to[DRIFT_LEAST] = from[DRIFT_LEAST] < to[DRIFT_LEAST] ? from[DRIFT_LEAST] : to[DRIFT_LEAST];
    for (size_t i = 0; i < sizeof sums; i++)
        to[sums[i]] += from[sums[i]];
    for (size_t i = 0; i < sizeof most; i++)
        to[most[i]] = cameo_drift_larger(from[most[i]], to[most[i]]);
}

/* (rows [n, fields]) => (numbers): the n iterations of a loop as one. */
CAMEO_FN int cameo_drift_join(cameo_objects *o, const cameo_call *c)
{
    const double *rows = (const double *)c->reads[0].at;
    double *out = (double *)c->writes[0].at;
    (void)o;
    memset(out, 0, DRIFT_FIELDS * sizeof *out);
    out[DRIFT_NONFINITE_AT] = -1;
    for (int64_t i = 0; i < c->reads[0].dims[0]; i++)
        cameo_drift_add(out, rows + i * DRIFT_FIELDS, (double)i);
    return 0;
}

#endif
