/* What the error of a value means for an output, as a few numbers: what `cameo drift` and `cameo
 * convert` read. */
#ifndef CAMEO_SENSITIVITY_H
#define CAMEO_SENSITIVITY_H

#include "cameo_drift.h"

#include <float.h>

/* Of a value y, bar = ds/dy for s = sum r_j out_j, L the same node in float64 on what y was
 * computed of (y itself where there is no L), and Y the shadow. e_t = round_t(L) - L is the error
 * of a result in dtype t, as it is, 0 where t holds the number; beyond t's range it is left out and
 * counted. Only finite elements.
 *
 * A variance is sum over c of (sum over i in c of bar_i e_i)^2, c being the elements whose numbers
 * are the same to an eighth of t's spacing: they are rounded alike, so their errors do not average
 * out. Rows that repeat, as those of a padded sequence, make most of an error so. */
enum {
    SENS_COUNT,        /* elements; 0: not computed, and nothing else is meant */
    SENS_BAR,          /* sum of bar^2 */
    SENS_F16,          /* for float16: the variance that it adds to the output */
    SENS_BF16,         /* for bfloat16 */
    SENS_F32,          /* for float32 */
    SENS_MADE,         /* with e = y - L: for y's own dtype, measured */
    SENS_SIGNED_F16,   /* the square of sum of bar e: what these very errors add up to */
    SENS_SIGNED_BF16,  /* for bfloat16 */
    SENS_SIGNED_F32,   /* for float32 */
    SENS_SIGNED_MADE,  /* for y - L */
    SENS_SUM,          /* sum of y^2 */
    SENS_ERROR,        /* sum of (y - Y)^2 */
    SENS_GREATEST,     /* greatest |y| */
    SENS_LEAST,        /* least |y| that is not 0 */
    SENS_OVER_F16,     /* elements whose |y| rounds to more than 65504 */
    SENS_UNDER_F16,    /* elements other than 0 that float16 makes 0 */
    SENS_NONFINITE,    /* elements of y that are infinite or no number */
    SENS_LOST,         /* those among them that are finite in Y */
    SENS_NONFINITE_AT, /* the first of the elements that are not finite */
    SENS_FIELDS
};

/* How near an operator that decides stands to deciding otherwise. */
enum {
    MARGIN_COUNT,  /* decisions */
    MARGIN_LEAST,  /* the least distance to a threshold, in units of what is decided by */
    MARGIN_AT,     /* the element that it stands at */
    MARGIN_SECOND, /* of a choice along an axis the element that is nearly chosen; else -1 */
    MARGIN_FIELDS
};
enum {
    MARGIN_ZERO,     /* a sign: the distance to 0 */
    MARGIN_HALF,     /* rounding: to the nearest half */
    MARGIN_WHOLE,    /* floor, ceil, casts to integers: to the nearest whole number */
    MARGIN_GREATEST, /* the k greatest along an axis: from the k-th to the next */
    MARGIN_LOWEST
};

/* Which r: the further input holds output, kind, number. */
enum {
    SENS_PROBE_UNIT, /* 1 at element `number` of the output, else 0 */
    SENS_PROBE_SIGNS /* +-1, by `number` */
};

enum { SENS_BLOCK = 256, SENS_CELLS = 4096, SENS_STEPS = 8 };

/* Elements that are rounded alike: the sum of bar e of each such set, by their numbers as far as
 * they count. Where there are more sets than cells some share one, which adds products of
 * independent errors: 0 on average. */
typedef struct cameo_sense_cells {
    uint64_t keys[SENS_CELLS];
    double sums[SENS_CELLS];
    uint8_t used[SENS_CELLS];
} cameo_sense_cells;

CAMEO_FN void cameo_sense_add(cameo_sense_cells *c, double v, int bits, double moved)
{
    uint64_t key;
    memcpy(&key, &v, sizeof key);
    key = bits < 52 ? (key + ((uint64_t)1 << (51 - bits))) >> (52 - bits) : key;
    uint64_t first = (key * 0x9E3779B97F4A7C15u) >> 52, at = first;
    for (int k = 0; k < SENS_STEPS && c->used[at] && c->keys[at] != key; k++)
        at = (at + 1) % SENS_CELLS;
    if (c->used[at] && c->keys[at] != key)
        at = first;
    c->keys[at] = c->used[at] ? c->keys[at] : key;
    c->used[at] = 1;
    c->sums[at] += moved;
}

CAMEO_FN void cameo_sense_sum(const cameo_sense_cells *c, double *variance, double *signed_)
{
    double sum = 0;
    for (int i = 0; i < SENS_CELLS; i++) {
        *variance += c->sums[i] * c->sums[i];
        sum += c->sums[i];
    }
    *signed_ = sum * sum;
}

/* What goes wrong where v is kept in each of the three dtypes. */
CAMEO_FN void cameo_sense_round(double v, double *e)
{
    float narrow = (float)v;
    double f16 = (double)cameo_cast_f16_f32(cameo_cast_f32_f16(narrow));
    double bf16 = (double)cameo_cast_bf16_f32(cameo_cast_f32_bf16(narrow));
    e[0] = fabs(f16) <= 65504 ? f16 - v : 0;
    e[1] = fabs(bf16) <= DBL_MAX ? bf16 - v : 0;
    e[2] = fabs((double)narrow) <= DBL_MAX ? (double)narrow - v : 0;
}

CAMEO_FN void cameo_sense_range(double *out, double y)
{
    double size = fabs(y);
    out[SENS_SUM] += y * y;
    out[SENS_GREATEST] = size > out[SENS_GREATEST] ? size : out[SENS_GREATEST];
    if (size > 0 && !(size >= out[SENS_LEAST] && out[SENS_LEAST] > 0))
        out[SENS_LEAST] = size;
    out[SENS_OVER_F16] += size >= 65520 ? 1 : 0;
    out[SENS_UNDER_F16] += size > 0 && size <= 0x1p-25 ? 1 : 0;
}

/* A block of elements from `first` on: y, bar, L, Y. */
CAMEO_FN void cameo_sense_block(double *out, cameo_sense_cells *cells, double (*at)[SENS_BLOCK],
                                int64_t first, int64_t n)
{
    static const int bits[4] = {13, 10, 26, 52}; /* of a significand, three more than the dtype's */
    for (int64_t i = 0; i < n; i++) {
        double y = at[0][i], bar = at[1][i], local = at[2][i], e[4];
        if (!(fabs(y) <= DBL_MAX)) {
            if (!(out[SENS_NONFINITE] > 0))
                out[SENS_NONFINITE_AT] = (double)(first + i);
            out[SENS_NONFINITE]++;
            out[SENS_LOST] += fabs(at[3][i]) <= DBL_MAX ? 1 : 0;
            continue;
        }
        cameo_sense_range(out, y);
        if (!(fabs(local) <= DBL_MAX) || !(fabs(at[3][i]) <= DBL_MAX) || !(fabs(bar) <= DBL_MAX))
            continue;
        cameo_sense_round(local, e);
        e[3] = y - local;
        out[SENS_BAR] += bar * bar;
        for (int k = 0; k < 4; k++)
            if (bar * e[k] != 0)
                cameo_sense_add(&cells[k], local, bits[k], bar * e[k]);
        out[SENS_ERROR] += (y - at[3][i]) * (y - at[3][i]);
    }
}

/* (y [, bar] [, L] [, Y]) => (numbers) [is bar there?, L?, Y?]. */
CAMEO_FN int cameo_sense(cameo_objects *o, const cameo_call *c)
{
    double at[4][SENS_BLOCK], *out = (double *)c->writes[0].at;
    const cameo_view *views[4] = {&c->reads[0], NULL, NULL, NULL};
    int64_t count = cameo_view_count(views[0]);
    int32_t next = 1;
    for (int k = 0; k < 3 && k < c->nn; k++)
        if (c->n[k] && next < c->nreads)
            views[k + 1] = &c->reads[next++];
    memset(out, 0, SENS_FIELDS * sizeof *out);
    for (int k = 1; k < 4; k++)
        if (views[k] && cameo_view_count(views[k]) != count)
            return cameo_objects_fail(o, "an adjoint or shadow has another shape than the value");
    out[SENS_COUNT] = (double)count;
    cameo_sense_cells *cells = calloc(4, sizeof *cells);
    if (!cells)
        return cameo_objects_fail(o, "not enough memory");
    for (int64_t first = 0; first < count; first += SENS_BLOCK) {
        int64_t n = count - first < SENS_BLOCK ? count - first : SENS_BLOCK;
        for (int k = 0; k < 4; k++)
            if (views[k])
                cameo_drift_widen(at[k], views[k], first, n);
            else if (k == 1)
                memset(at[1], 0, sizeof at[1]);
            else
                memcpy(at[k], at[0], (size_t)n * sizeof at[0][0]);
        cameo_sense_block(out, cells, at, first, n);
    }
    for (int k = 0; k < 4; k++)
        cameo_sense_sum(&cells[k], &out[SENS_F16 + k], &out[SENS_SIGNED_F16 + k]);
    free(cells);
    return 0;
}

CAMEO_FN double cameo_margin_element(const cameo_view *x, int64_t i)
{
    double v;
    cameo_drift_widen(&v, x, i, 1);
    return v;
}

CAMEO_FN void cameo_margin_note(double *out, double margin, int64_t at, int64_t second)
{
    out[MARGIN_COUNT]++;
    if (!(margin < out[MARGIN_LEAST]))
        return;
    out[MARGIN_LEAST] = margin;
    out[MARGIN_AT] = (double)at;
    out[MARGIN_SECOND] = (double)second;
}

/* One line of `n` elements `step` apart, of which k are chosen: the least of the chosen and the
 * greatest of the others, by k + 1 passes over the line; `ordered`: and those chosen, each beside
 * the next. */
CAMEO_FN void cameo_margin_line(double *out, const cameo_view *x, int64_t first, int64_t n,
                                int64_t step, int64_t k, double sign, int ordered)
{
    int64_t last = -1, before = -1;
    double bound = INFINITY;
    for (int64_t round = 0; round <= k && round < n; round++) {
        int64_t best = -1;
        double most = -INFINITY;
        for (int64_t i = 0; i < n; i++) {
            double v = sign * cameo_margin_element(x, first + i * step);
            int after = v < bound || (v == bound && i > last);
            if (after && (best < 0 || v > most)) {
                most = v;
                best = i;
            }
        }
        before = last;
        last = best;
        if ((round == k || ordered) && best >= 0 && before >= 0)
            cameo_margin_note(out, bound - most, first + before * step, first + best * step);
        if (best < 0)
            return;
        bound = most;
    }
}

enum { MARGIN_CHOSEN = 256 };

/* (x [, k]) => (numbers) [kind, axis, does the order count?]: see MARGIN_*. More than MARGIN_CHOSEN
 * of a line are not looked at. */
CAMEO_FN int cameo_margin(cameo_objects *o, const cameo_call *c)
{
    const cameo_view *x = &c->reads[0];
    double *out = (double *)c->writes[0].at;
    int64_t count = cameo_view_count(x), kind = c->n[0], k = 1, n, inner = 1;
    (void)o;
    memset(out, 0, MARGIN_FIELDS * sizeof *out);
    out[MARGIN_LEAST] = INFINITY;
    out[MARGIN_AT] = out[MARGIN_SECOND] = -1;
    if (kind < MARGIN_GREATEST) {
        for (int64_t i = 0; i < count; i++) {
            double v = cameo_margin_element(x, i), fraction = fabs(v - floor(v));
            double whole = fraction < 0.5 ? fraction : 1 - fraction;
            if (fabs(v) <= DBL_MAX)
                cameo_margin_note(out,
                                  kind == MARGIN_ZERO   ? fabs(v)
                                  : kind == MARGIN_HALF ? 0.5 - whole
                                                        : whole,
                                  i, -1);
        }
        return 0;
    }
    if (c->nreads > 1 && cameo_view_count(&c->reads[1]) > 0)
        k = *(const int64_t *)c->reads[1].at;
    n = x->dims[c->n[1]];
    for (int32_t d = (int32_t)c->n[1] + 1; d < x->rank; d++)
        inner *= x->dims[d];
    int ordered = c->n[2] != 0, chooses = k >= 1 && (k < n || ordered) && k <= MARGIN_CHOSEN;
    for (int64_t i = 0; chooses && i < count / n; i++)
        cameo_margin_line(out, x, i / inner * n * inner + i % inner, n, inner, k,
                          kind == MARGIN_GREATEST ? 1 : -1, ordered);
    return 0;
}

#endif
