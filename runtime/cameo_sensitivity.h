/* What the error of a value means for an output, as a few numbers: what `cameo drift` and `cameo
 * convert` read. */
#ifndef CAMEO_SENSITIVITY_H
#define CAMEO_SENSITIVITY_H

#include "cameo_objects.h"

#include <float.h>

/* Of a value y, bar = ds/dy for s = sum r_j out_j, L the same node in float64 on what y was
 * computed of (y itself where there is no L), and Y the shadow. e_t = round_t(L) - L is the error
 * of a result in dtype t, as it is, 0 where t holds the number; beyond t's range it is left out
 * and counted. Only finite elements. */
enum {
    SENS_COUNT,       /* elements; 0: not computed, and nothing else is meant */
    SENS_BAR,         /* sum of bar^2 */
    SENS_F16,         /* sum of bar^2 e^2 for float16: the variance that it adds to the output */
    SENS_BF16,        /* for bfloat16 */
    SENS_F32,         /* for float32 */
    SENS_MADE,        /* sum of bar^2 (y - L)^2: for y's own dtype, measured */
    SENS_SIGNED_F16,  /* the square of sum of bar e: what these very errors add up to */
    SENS_SIGNED_BF16, /* for bfloat16 */
    SENS_SIGNED_F32,  /* for float32 */
    SENS_SIGNED_MADE, /* for y - L */
    SENS_SUM,         /* sum of y^2 */
    SENS_ERROR,       /* sum of (y - Y)^2 */
    SENS_GREATEST,    /* greatest |y| */
    SENS_LEAST,       /* least |y| that is not 0 */
    SENS_OVER_F16,    /* elements whose |y| rounds to more than 65504 */
    SENS_UNDER_F16,   /* elements other than 0 that float16 makes 0 */
    SENS_NONFINITE,   /* elements of y that are infinite or no number */
    SENS_FIELDS
};

/* Which r: the further input holds output, kind, number. */
enum {
    SENS_PROBE_UNIT, /* 1 at element `number` of the output, else 0 */
    SENS_PROBE_SIGNS /* +-1, by `number` */
};

enum { SENS_BLOCK = 256 };

/* n elements from `first` on as float64. */
CAMEO_FN void cameo_sense_widen(double *to, const cameo_view *y, int64_t first, int64_t n)
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

/* A block of elements: y, bar, L, Y; signed sums of bar e in `sums`. */
CAMEO_FN void cameo_sense_block(double *out, double *sums, double (*at)[SENS_BLOCK], int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double y = at[0][i], bar = at[1][i], local = at[2][i], e[4];
        if (!(fabs(y) <= DBL_MAX)) {
            out[SENS_NONFINITE]++;
            continue;
        }
        cameo_sense_range(out, y);
        if (!(fabs(local) <= DBL_MAX) || !(fabs(at[3][i]) <= DBL_MAX) || !(fabs(bar) <= DBL_MAX))
            continue;
        cameo_sense_round(local, e);
        e[3] = y - local;
        out[SENS_BAR] += bar * bar;
        for (int k = 0; k < 4; k++) {
            double moved = bar * e[k];
            out[SENS_F16 + k] += moved * moved;
            sums[k] += moved;
        }
        out[SENS_ERROR] += (y - at[3][i]) * (y - at[3][i]);
    }
}

/* (y [, bar] [, L] [, Y]) => (numbers) [is bar there?, L?, Y?]. */
CAMEO_FN int cameo_sense(cameo_objects *o, const cameo_call *c)
{
    double at[4][SENS_BLOCK], sums[4] = {0, 0, 0, 0}, *out = (double *)c->writes[0].at;
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
    for (int64_t first = 0; first < count; first += SENS_BLOCK) {
        int64_t n = count - first < SENS_BLOCK ? count - first : SENS_BLOCK;
        for (int k = 0; k < 4; k++)
            if (views[k])
                cameo_sense_widen(at[k], views[k], first, n);
            else if (k == 1)
                memset(at[1], 0, sizeof at[1]);
            else
                memcpy(at[k], at[0], (size_t)n * sizeof at[0][0]);
        cameo_sense_block(out, sums, at, n);
    }
    for (int k = 0; k < 4; k++)
        out[SENS_SIGNED_F16 + k] = sums[k] * sums[k];
    return 0;
}

#endif
