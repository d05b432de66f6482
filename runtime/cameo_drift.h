/* How far a value is from its shadow, as a few numbers: what `cameo verify --layers` reads. */
#ifndef CAMEO_DRIFT_H
#define CAMEO_DRIFT_H

#include "cameo_objects.h"
#include "cameo_pairs.h"

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

enum { DRIFT_LANES = 8, DRIFT_BLOCK = 256 };
enum { DRIFT_PAIR = 61 }; /* the dtype of cameo_f64x2 */

typedef struct cameo_drift_lanes {
    double total[DRIFT_LANES], total2[DRIFT_LANES], made[DRIFT_LANES], made2[DRIFT_LANES];
    double inherited[DRIFT_LANES], inherited2[DRIFT_LANES], shadow[DRIFT_LANES];
    double shadow2[DRIFT_LANES], ulp[DRIFT_LANES];
    double least[DRIFT_LANES], greatest[DRIFT_LANES];
    double further[DRIFT_LANES]; /* 1: some |total / Y| is greater than `relative` */
    double relative;             /* greatest |total / Y| of the blocks before */
    double nonfinite, lost, flips;
} cameo_drift_lanes;

/* Part of a value: itself, total, made and inherited, and the size of its shadow. */
typedef struct cameo_drift_block {
    double y[DRIFT_BLOCK], total[DRIFT_BLOCK], made[DRIFT_BLOCK], inherited[DRIFT_BLOCK];
    double shadow[DRIFT_BLOCK];
} cameo_drift_block;

/* What is computed of: one number's unit in the last place is a power of two of its size, and no
 * less than that of the least normal number. */
typedef struct cameo_drift_unit {
    double least, scale; /* least normal number; 2^bits of the fraction */
} cameo_drift_unit;

CAMEO_FN double cameo_drift_larger(double a, double b)
{
    return a > b ? a : b;
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

/* Element i of the block to lane j. Its differences are finite; a y that is NaN is none. */
CAMEO_FN void cameo_drift_step(cameo_drift_lanes *s, int j, const cameo_drift_block *b, int64_t i,
                               const cameo_drift_unit *u)
{
    double y = b->y[i], size = b->shadow[i], total = fabs(b->total[i]), made = fabs(b->made[i]);
    double inherited = fabs(b->inherited[i]);
    s->total[j] = cameo_drift_larger(total, s->total[j]);
    s->total2[j] += total * total;
    s->made[j] = cameo_drift_larger(made, s->made[j]);
    s->made2[j] += made * made;
    s->inherited[j] = cameo_drift_larger(inherited, s->inherited[j]);
    s->inherited2[j] += inherited * inherited;
    s->shadow[j] = cameo_drift_larger(size, s->shadow[j]);
    s->shadow2[j] += size * size;
    s->further[j] = total > (size > 0 ? s->relative * size : DBL_MAX) ? 1 : s->further[j];
    s->ulp[j] = cameo_drift_larger(cameo_drift_ulps(total, size, u), s->ulp[j]);
    s->least[j] = y < s->least[j] ? y : s->least[j];
    s->greatest[j] = y > s->greatest[j] ? y : s->greatest[j];
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
CAMEO_FN void cameo_drift_relative(cameo_drift_lanes *s, const cameo_drift_block *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (b->shadow[i] > 0)
            s->relative = cameo_drift_larger(fabs(b->total[i]) / b->shadow[i], s->relative);
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

/* Element i of Y or L. */
CAMEO_FN cameo_f64x2 cameo_drift_at(const cameo_view *v, int64_t i)
{
    if (v->dtype == DRIFT_PAIR)
        return ((const cameo_f64x2 *)v->at)[i];
    return cameo_make_f64x2(((const double *)v->at)[i], 0);
}

/* Differences of n elements from `first` on. Y and L are float64, or double-double beside a float64
 * y: then differences are taken in both halves. */
CAMEO_FN void cameo_drift_differences(cameo_drift_block *b, const cameo_call *c, int64_t first,
                                      int64_t n)
{
    const double *exact = (const double *)c->reads[1].at, *local = b->y;
    cameo_drift_widen(b->y, &c->reads[0], first, n);
    if (c->reads[1].dtype == DRIFT_PAIR || (c->nreads > 2 && c->reads[2].dtype == DRIFT_PAIR)) {
        for (int64_t i = 0; i < n; i++) {
            cameo_f64x2 y = {b->y[i], 0}, want = cameo_drift_at(&c->reads[1], first + i), own = y;
            if (c->nreads > 2)
                own = cameo_drift_at(&c->reads[2], first + i);
            b->total[i] = cameo_sub_f64x2(y, want).hi;
            b->made[i] = cameo_sub_f64x2(y, own).hi;
            b->inherited[i] = cameo_sub_f64x2(own, want).hi;
            b->shadow[i] = fabs(want.hi);
        }
        return;
    }
    if (c->nreads > 2)
        local = (const double *)c->reads[2].at + first;
    for (int64_t i = 0; i < n; i++) {
        double y = b->y[i], want = exact[first + i], own = local[i];
        b->total[i] = y - want;
        b->made[i] = y - own;
        b->inherited[i] = own - want;
        b->shadow[i] = fabs(want);
    }
}

/* Counts what is not finite in a block, and takes it out: an element whose differences are not
 * finite is no part of them, and one that is not finite itself is neither least nor greatest. */
CAMEO_FN void cameo_drift_exclude(cameo_drift_lanes *s, cameo_drift_block *b, int64_t first,
                                  int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        int number = fabs(b->y[i]) <= DBL_MAX, known = b->shadow[i] <= DBL_MAX;
        if (!number && out[DRIFT_NONFINITE_AT] < 0)
            out[DRIFT_NONFINITE_AT] = (double)(first + i);
        s->nonfinite += number ? 0 : 1;
        s->lost += number || !known ? 0 : 1;
        if (!(fabs(b->total[i]) <= DBL_MAX && fabs(b->made[i]) <= DBL_MAX))
            b->total[i] = b->made[i] = b->inherited[i] = b->shadow[i] = 0;
        if (!number)
            b->y[i] = NAN;
    }
}

/* Is any difference not finite? */
CAMEO_FN int cameo_drift_is_odd(const cameo_drift_block *b, int64_t n)
{
    const uint64_t all = UINT64_C(0x7ff0000000000000);
    uint64_t odd = 0, total, made;
    for (int64_t i = 0; i < n; i++) {
        memcpy(&total, &b->total[i], 8);
        memcpy(&made, &b->made[i], 8);
        odd |= (uint64_t)((total & all) == all) | (uint64_t)((made & all) == all);
    }
    return odd != 0;
}

/* Where y is another number than Y. */
CAMEO_FN double cameo_drift_flips(const cameo_call *c, const double *y, int64_t first, int64_t n)
{
    double flips = 0;
    for (int64_t i = 0; i < n; i++) {
        cameo_f64x2 want = cameo_drift_at(&c->reads[1], first + i);
        int same = y[i] == want.hi && want.lo == 0;
        flips += same || (y[i] != y[i] && want.hi != want.hi) ? 0 : 1;
    }
    return flips;
}

CAMEO_FN void cameo_drift_write(double *out, cameo_drift_lanes *s)
{
    out[DRIFT_SUM_TOTAL] = cameo_drift_sum(s->total2);
    out[DRIFT_MAX_MADE] = cameo_drift_most(s->made);
    out[DRIFT_SUM_MADE] = cameo_drift_sum(s->made2);
    out[DRIFT_MAX_INHERITED] = cameo_drift_most(s->inherited);
    out[DRIFT_SUM_INHERITED] = cameo_drift_sum(s->inherited2);
    out[DRIFT_MAX_SHADOW] = cameo_drift_most(s->shadow);
    out[DRIFT_SUM_SHADOW] = cameo_drift_sum(s->shadow2);
    out[DRIFT_MAX_RELATIVE] = s->relative;
    out[DRIFT_MAX_ULP] = cameo_drift_most(s->ulp);
    out[DRIFT_NONFINITE] = s->nonfinite;
    out[DRIFT_LOST] = s->lost;
    out[DRIFT_FLIPS] = s->flips;
    out[DRIFT_GREATEST] = cameo_drift_most(s->greatest);
    for (int j = 0; j < DRIFT_LANES; j++)
        s->least[j] = -s->least[j];
    out[DRIFT_LEAST] = -cameo_drift_most(s->least);
}

CAMEO_FN void cameo_drift_floats(const cameo_call *c, int64_t count, double *out)
{
    cameo_drift_block b;
    cameo_drift_lanes s;
    cameo_drift_unit u = {ldexp(1, (int)c->n[1]), ldexp(1, (int)c->n[0])};
    memset(&s, 0, sizeof s);
    for (int j = 0; j < DRIFT_LANES; j++) {
        s.least[j] = DBL_MAX;
        s.greatest[j] = -DBL_MAX;
    }
    for (int64_t first = 0; first < count; first += DRIFT_BLOCK) {
        int64_t n = count - first < DRIFT_BLOCK ? count - first : DRIFT_BLOCK, i = 0;
        cameo_drift_differences(&b, c, first, n);
        s.flips += c->n[2] ? cameo_drift_flips(c, b.y, first, n) : 0;
        if (cameo_drift_is_odd(&b, n))
            cameo_drift_exclude(&s, &b, first, n, out);
        for (; i + DRIFT_LANES <= n; i += DRIFT_LANES)
            for (int j = 0; j < DRIFT_LANES; j++)
                cameo_drift_step(&s, j, &b, i + j, &u);
        for (int j = 0; i + j < n; j++)
            cameo_drift_step(&s, j, &b, i + j, &u);
        if (cameo_drift_most(s.further) > 0)
            cameo_drift_relative(&s, &b, n);
        double most = cameo_drift_most(s.total);
        for (i = 0; most > out[DRIFT_MAX_TOTAL]; i++)
            if (fabs(b.total[i]) == most) {
                out[DRIFT_MAX_TOTAL] = most;
                out[DRIFT_AT] = (double)(first + i);
            }
    }
    cameo_drift_write(out, &s);
}

/* (y, Y, L) => (numbers) [bits of the fraction, exponent of the least normal number, does it
 * decide?]: y of float16, bfloat16, float32 or float64, Y and L of float64 or pairs. Without L
 * nothing was made: y is exact in what it is computed of. Of other dtypes y and Y are compared bit
 * by bit. */
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
