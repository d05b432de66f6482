/* How far a value is from its shadow, as a few numbers: what `cameo verify --layers` reads. */
#ifndef CAMEO_DRIFT_H
#define CAMEO_DRIFT_H

#include "cameo_drift_float.h"
#include "cameo_objects.h"
#include "cameo_pairs.h"

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

enum { DRIFT_PAIR = 61 }; /* the dtype of cameo_f64x2 */

/* What goes from block to block: `relative`, `ulp` and `most`, the greatest |total|, are the
 * greatest so far. */
typedef struct cameo_drift_state {
    cameo_drift_near_sums near;
    cameo_drift_sums far; /* of what was taken in float64; nothing unless `wide` */
    double relative, ulp, most, at, nonfinite, nonfinite_at, lost, flips;
    double shadow; /* the greatest |Y| of what was taken in float32 */
    int wide;      /* was any taken in float64? */
} cameo_drift_state;

/* No |total| that is at most so much of |Y| changes the greatest of total / Y or of its units in
 * the last place, of which a number has up to 2^(fraction + 1): only a block with a greater one is
 * looked at again. */
CAMEO_FN double cameo_drift_limit(const cameo_drift_state *s, const cameo_drift_unit *u)
{
    double units = s->ulp / u->scale / 2;
    return units < s->relative ? units : s->relative;
}

CAMEO_FN void cameo_drift_look(cameo_drift_state *s, const cameo_drift_block *b, int64_t n,
                               const cameo_drift_unit *u)
{
    double ulp = s->ulp;
    int further = 0;
    for (int64_t i = 0; i < n; i++) {
        double size = fabs(b->total[i]);
        ulp = cameo_drift_larger(cameo_drift_ulps(size, b->shadow[i], u), ulp);
        further |= size > s->relative * b->shadow[i];
    }
    s->ulp = ulp;
    for (int64_t i = 0; further && i < n; i++)
        if (b->shadow[i] > 0)
            s->relative = cameo_drift_larger(fabs(b->total[i]) / b->shadow[i], s->relative);
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

/* How Y and L are given, by n[3]: as ir/ops/shadow.h numbers it. */
CAMEO_FN cameo_drift_third cameo_drift_how(const cameo_call *c)
{
    static const unsigned char given[] = {DRIFT_LOCAL, DRIFT_BROUGHT, DRIFT_ADDED, DRIFT_MOVED,
                                          DRIFT_MADE};
    if (c->nreads < 2)
        return DRIFT_SAME;
    return c->nreads < 3 && c->n[3] == 0 ? DRIFT_EXACT : (cameo_drift_third)given[c->n[3]];
}

CAMEO_FN int cameo_drift_is_paired(const cameo_call *c)
{
    return (c->nreads > 1 && c->reads[1].dtype == DRIFT_PAIR) ||
           (c->nreads > 2 && c->reads[2].dtype == DRIFT_PAIR);
}

/* Differences of n elements from `first` on, in both halves of what is double-double. */
CAMEO_FN void cameo_drift_pairs(cameo_drift_block *b, const cameo_call *c, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        cameo_f64x2 y = {b->y[i], 0}, want = cameo_drift_at(&c->reads[1], first + i), own = y;
        if (c->nreads > 2)
            own = cameo_drift_at(&c->reads[2], first + i);
        b->total[i] = cameo_sub_f64x2(y, want).hi;
        b->made[i] = cameo_sub_f64x2(y, own).hi;
        b->inherited[i] = cameo_sub_f64x2(own, want).hi;
        b->shadow[i] = fabs(want.hi);
    }
}

/* Y and L of an element y, the call's second and third operands being at the element. */
CAMEO_FN void cameo_drift_wanted(cameo_drift_third how, double y, const void *second,
                                 const void *third, int64_t i, double *want, double *own)
{
    const double *wide = (const double *)second;
    const float *narrow = (const float *)(how == DRIFT_MOVED ? second : third);
    *want = *own = y;
    if (how == DRIFT_EXACT || how == DRIFT_LOCAL || how == DRIFT_BROUGHT)
        *want = wide[i];
    if (how == DRIFT_LOCAL)
        *own = ((const double *)third)[i];
    else if (how == DRIFT_BROUGHT)
        *own = *want - (double)narrow[i];
    else if (how == DRIFT_MADE)
        *own = *want = wide[i];
    else if (how == DRIFT_MOVED)
        *want = fabs(y) <= DBL_MAX ? y + (double)narrow[i] : (double)narrow[i];
    else if (how == DRIFT_ADDED) {
        const double apart = (double)narrow[i];
        *own = wide[i];
        /* of a y that is no number nothing says how far Y is from L */
        *want = fabs(y) <= DBL_MAX || fabs(apart) <= DBL_MAX ? *own + apart : *own;
    }
}

/* The same of what is float64 or narrower. */
CAMEO_FN void cameo_drift_differences(cameo_drift_block *b, const cameo_call *c, int64_t first,
                                      int64_t n, float *apart)
{
    const cameo_drift_third how = cameo_drift_how(c);
    const void *second = c->nreads > 1 ? c->reads[1].at : NULL;
    const void *third = c->nreads > 2 ? c->reads[2].at : NULL;
    cameo_drift_widen(b->y, &c->reads[0], first, n);
    if (cameo_drift_is_paired(c)) {
        cameo_drift_pairs(b, c, first, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double y = b->y[i], want, own;
        cameo_drift_wanted(how, y, second, third, first + i, &want, &own);
        if (apart)
            apart[i] = (float)(fabs(y) <= DBL_MAX ? want - y : want);
        b->total[i] = y - want;
        b->made[i] = y - own;
        b->inherited[i] = own - want;
        b->shadow[i] = fabs(want);
    }
}

/* Counts what is not finite in a block, and takes it out: an element whose differences are not
 * finite is no part of them, and one that is not finite itself is neither least nor greatest. */
CAMEO_FN void cameo_drift_exclude(cameo_drift_state *s, cameo_drift_block *b, int64_t first,
                                  int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int number = fabs(b->y[i]) <= DBL_MAX, known = b->shadow[i] <= DBL_MAX;
        if (!number && s->nonfinite_at < 0)
            s->nonfinite_at = (double)(first + i);
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

/* The greatest of what was taken in float32 and in float64. */
CAMEO_FN double cameo_drift_peak(const cameo_drift_state *s, double near,
                                 const cameo_drift_vec *far)
{
    return s->wide ? cameo_drift_larger(cameo_drift_greatest(far), near) : near;
}

/* The same of sums. */
CAMEO_FN double cameo_drift_whole_sum(const cameo_drift_state *s, double near,
                                      const cameo_drift_vec *far)
{
    return s->wide ? near + cameo_drift_added(far) : near;
}

CAMEO_FN void cameo_drift_write(double *out, const cameo_drift_state *s, cameo_drift_third how,
                                int64_t count)
{
    const cameo_drift_near_sums *n = &s->near;
    const cameo_drift_sums *f = &s->far;
    const int exact = how == DRIFT_EXACT || how == DRIFT_MOVED, all = !exact && how != DRIFT_MADE;
    memset(out, 0, DRIFT_FIELDS * sizeof *out);
    out[DRIFT_COUNT] = (double)count;
    out[DRIFT_MAX_TOTAL] = s->most;
    out[DRIFT_AT] = s->at;
    out[DRIFT_SUM_TOTAL] = cameo_drift_whole_sum(s, n->total2, &f->total2);
    if (all) {
        out[DRIFT_MAX_MADE] = cameo_drift_peak(s, (double)n->made, &f->made);
        out[DRIFT_SUM_MADE] = cameo_drift_whole_sum(s, n->made2, &f->made2);
        out[DRIFT_MAX_INHERITED] = cameo_drift_peak(s, (double)n->inherited, &f->inherited);
        out[DRIFT_SUM_INHERITED] = cameo_drift_whole_sum(s, n->inherited2, &f->inherited2);
    } else {
        out[exact ? DRIFT_MAX_INHERITED : DRIFT_MAX_MADE] = s->most;
        out[exact ? DRIFT_SUM_INHERITED : DRIFT_SUM_MADE] = out[DRIFT_SUM_TOTAL];
    }
    out[DRIFT_MAX_SHADOW] = cameo_drift_peak(s, s->shadow, &f->shadow);
    out[DRIFT_SUM_SHADOW] = cameo_drift_whole_sum(s, n->shadow2, &f->shadow2);
    out[DRIFT_MAX_RELATIVE] = s->relative;
    out[DRIFT_MAX_ULP] = s->ulp;
    out[DRIFT_NONFINITE] = s->nonfinite;
    out[DRIFT_NONFINITE_AT] = s->nonfinite_at;
    out[DRIFT_LOST] = s->lost;
    out[DRIFT_FLIPS] = s->flips;
    out[DRIFT_LEAST] = (double)n->low;
    out[DRIFT_GREATEST] = (double)n->high;
    if (s->wide) {
        out[DRIFT_LEAST] =
            -cameo_drift_larger(cameo_drift_extreme(&f->least, -1), -out[DRIFT_LEAST]);
        out[DRIFT_GREATEST] =
            cameo_drift_larger(cameo_drift_extreme(&f->greatest, 1), out[DRIFT_GREATEST]);
    }
}

/* Is 0 or may be squared in float32, with all that is a part of it? */
CAMEO_FN int cameo_drift_may_square(double most)
{
    return most <= 0 || (most >= 0x1p-48 && most <= 0x1p+55);
}

/* Does float32 hold the numbers of some elements and their squares, and are all finite? */
CAMEO_FN int cameo_drift_near_holds(const cameo_drift_near_sums *s)
{
    return s->total2 + s->made2 + s->shadow2 <= DBL_MAX &&
           cameo_drift_may_square((double)s->total) && cameo_drift_may_square((double)s->made) &&
           cameo_drift_may_square((double)s->inherited) &&
           cameo_drift_may_square((double)s->shadow);
}

/* Adds what float32 holds of some elements, the greatest |total| apart. */
CAMEO_FN void cameo_drift_near_add(cameo_drift_near_sums *to, const cameo_drift_near_sums *from)
{
    to->total2 += from->total2;
    to->made2 += from->made2;
    to->inherited2 += from->inherited2;
    to->shadow2 += from->shadow2;
    to->made = from->made > to->made ? from->made : to->made;
    to->inherited = from->inherited > to->inherited ? from->inherited : to->inherited;
    to->low = from->low < to->low ? from->low : to->low;
    to->high = from->high > to->high ? from->high : to->high;
}

/* Is the greatest |total| of a block that begins at `first` greater than those before, or as great
 * and in front of them? Blocks may come in any order. */
CAMEO_FN int cameo_drift_is_first(const cameo_drift_state *s, double most, int64_t first)
{
    return most > s->most || (most == s->most && most > 0 && (double)first < s->at);
}

/* n elements of float32 from their own places; false: some number among them is not finite, or all
 * are so small that float32 does not hold their squares, and nothing was added. */
CAMEO_FN int cameo_drift_plain(cameo_drift_state *s, const cameo_call *c, int64_t first, int64_t n,
                               const cameo_drift_unit *u)
{
    const cameo_drift_third how = cameo_drift_how(c);
    const int moved = how == DRIFT_MOVED;
    const char *second = c->nreads > 1 ? (const char *)c->reads[1].at : NULL;
    const char *third = moved ? second : c->nreads > 2 ? (const char *)c->reads[2].at : NULL;
    const double limit = cameo_drift_limit(s, u);
    cameo_drift_near_sums own;
    cameo_drift_tail tail;
    cameo_drift_part parts[2];
    parts[0] = (cameo_drift_part){
        .y = (const float *)c->reads[0].at + first,
        .range = (const float *)c->reads[0].at + first,
        .exact = second && !moved ? (const double *)second + first : NULL,
        .third = third ? third + first * (how == DRIFT_LOCAL ? 8 : 4) : NULL,
        .apart = c->nwrites > 1 ? (float *)(uintptr_t)c->writes[1].at + first : NULL,
        .n = n};
    cameo_drift_split(parts, &tail, how);
    const uint32_t over = cameo_drift_parts_take(&own, parts, limit, how);
    cameo_drift_split_end(parts, n);
    if (!cameo_drift_near_holds(&own))
        return 0;
    cameo_drift_near_add(&s->near, &own);
    s->shadow = cameo_drift_larger((double)own.shadow, s->shadow);
    const double most = (double)own.total;
    const int found = cameo_drift_is_first(s, most, first);
    for (int k = 0; k < 2; k++)
        if (over >> k * DRIFT_CHUNKS)
            cameo_drift_part_look(&parts[k], over >> k * DRIFT_CHUNKS, how, u, &s->relative,
                                  &s->ulp);
    if (found) {
        int64_t at = cameo_drift_part_find(&parts[0], how, (float)most);
        if (at < 0)
            at = n - DRIFT_STEP + cameo_drift_part_find(&parts[1], how, (float)most);
        s->most = most;
        s->at = (double)(first + at);
    }
    return 1;
}

/* Any block, by its differences. */
CAMEO_FN void cameo_drift_any_block(cameo_drift_state *s, const cameo_call *c, int64_t first,
                                    int64_t n, const cameo_drift_unit *u)
{
    cameo_drift_block b;
    float *apart = c->nwrites > 1 ? (float *)(uintptr_t)c->writes[1].at + first : NULL;
    cameo_drift_differences(&b, c, first, n, apart);
    if (!s->wide)
        cameo_drift_begin(&s->far);
    s->wide = 1;
    s->flips += c->n[2] ? cameo_drift_flips(c, b.y, first, n) : 0;
    if (cameo_drift_is_odd(&b, n))
        cameo_drift_exclude(s, &b, first, n);
    if (cameo_drift_blocks(&s->far, &b, n, cameo_drift_limit(s, u)))
        cameo_drift_look(s, &b, n, u);
    const double most = cameo_drift_greatest(&s->far.total);
    const int found = cameo_drift_is_first(s, most, first);
    for (int64_t i = 0; found && i < n; i++)
        if (fabs(b.total[i]) == most) {
            s->most = most;
            s->at = (double)(first + i);
            break;
        }
}

/* Figures of `count` elements, of which the first is number `origin` of the value. `before`, if
 * any, has the numbers of other elements: the greatest numbers are those of both. */
CAMEO_FN void cameo_drift_numbers(const cameo_call *c, int64_t count, int64_t origin,
                                  const double *before, double *out)
{
    cameo_drift_state s;
    const cameo_drift_unit u = {cameo_drift_power(c->n[1]), cameo_drift_power(c->n[0])};
    const int plain = c->reads[0].dtype == 1 && !cameo_drift_is_paired(c) && !c->n[2];
    s.near = (cameo_drift_near_sums){.low = INFINITY, .high = -INFINITY};
    s.relative = before ? before[DRIFT_MAX_RELATIVE] : 0;
    s.ulp = before ? before[DRIFT_MAX_ULP] : 0;
    s.most = before ? before[DRIFT_MAX_TOTAL] : 0;
    s.at = s.most > 0 ? before[DRIFT_AT] - (double)origin : 0;
    s.nonfinite = s.lost = s.flips = 0;
    s.shadow = before ? before[DRIFT_MAX_SHADOW] : 0;
    s.nonfinite_at = -1;
    s.wide = 0;
    for (int64_t first = 0, n; first < count; first += n) {
        n = count - first < DRIFT_RUN ? count - first : DRIFT_RUN;
        if (plain && cameo_drift_may_square(s.most) && cameo_drift_plain(&s, c, first, n, &u))
            continue;
        for (int64_t i = 0, part; i < n; i += part) {
            part = n - i < DRIFT_BLOCK ? n - i : DRIFT_BLOCK;
            cameo_drift_any_block(&s, c, first + i, part, &u);
        }
    }
    cameo_drift_write(out, &s, cameo_drift_how(c), count);
    out[DRIFT_AT] += out[DRIFT_MAX_TOTAL] > 0 ? (double)origin : 0;
    out[DRIFT_NONFINITE_AT] += s.nonfinite > 0 ? (double)origin : 0;
}

CAMEO_FN void cameo_drift_clear(double *out)
{
    memset(out, 0, DRIFT_FIELDS * sizeof *out);
    out[DRIFT_NONFINITE_AT] = -1;
}

/* (y, Y, L) => (numbers, apart) [bits of the fraction, exponent of the least normal number, does it
 * decide? what stands for Y and L?]: y of float16, bfloat16, float32 or float64, Y
 * and L of float64 or pairs. Without L nothing was made: y is exact in what it is computed of.
 * `apart`, where it is asked for, is Y - y in float32, and Y where y is not finite. Of other dtypes
 * y and Y are compared bit by bit. */
CAMEO_FN int cameo_drift(cameo_objects *o, const cameo_call *c)
{
    const cameo_view *y = &c->reads[0];
    double *out = (double *)c->writes[0].at;
    int64_t count = cameo_view_count(y);
    if ((c->nreads > 1 && cameo_view_count(&c->reads[1]) != count) ||
        (c->nreads > 2 && cameo_view_count(&c->reads[2]) != count))
        return cameo_objects_fail(o, "the float64 shadow has another shape than the value");
    if (y->dtype == 1 || y->dtype == 10 || y->dtype == 11 || y->dtype == 16) {
        cameo_drift_numbers(c, count, 0, NULL, out);
        return 0;
    }
    cameo_drift_clear(out);
    out[DRIFT_COUNT] = (double)count;
    size_t size = (size_t)cameo_stored_size(y->dtype);
    for (int64_t i = 0; i < count; i++)
        if (memcmp((const char *)y->at + (size_t)i * size,
                   (const char *)c->reads[1].at + (size_t)i * size, size) != 0) {
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

/* cameo_drift of some elements of a value of floats, `first` the first of them. `before`, if any,
 * has the numbers of other elements: the greatest numbers are those of both. */
CAMEO_DRIFT_WHOLE void cameo_drift_stretch(const cameo_call *c, int64_t first, const double *before)
{
    double *out = (double *)(uintptr_t)c->writes[0].at;
    cameo_drift_numbers(c, cameo_view_count(&c->reads[0]), first, before, out);
}

/* The numbers of n stretches of a value, `step` apart, as its own. */
CAMEO_FN void cameo_drift_gather(const double *rows, int64_t step, int64_t n, double *out)
{
    cameo_drift_clear(out);
    for (int64_t i = 0; i < n; i++, rows += step) {
        cameo_drift_add(out, rows, 0);
        if (rows[DRIFT_MAX_TOTAL] == out[DRIFT_MAX_TOTAL] && rows[DRIFT_AT] < out[DRIFT_AT])
            out[DRIFT_AT] = rows[DRIFT_AT]; /* of another stretch, done before this one */
    }
}

/* (rows [n, fields]) => (numbers): the n iterations of a loop as one. */
CAMEO_FN int cameo_drift_join(cameo_objects *o, const cameo_call *c)
{
    const double *rows = (const double *)c->reads[0].at;
    double *out = (double *)c->writes[0].at;
    (void)o;
    cameo_drift_clear(out);
    for (int64_t i = 0; i < c->reads[0].dims[0]; i++)
        cameo_drift_add(out, rows + i * DRIFT_FIELDS, (double)i);
    return 0;
}

#endif
