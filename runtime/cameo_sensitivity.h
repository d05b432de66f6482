/* What the error of a value means for an output, as a few numbers: what `cameo drift` and `cameo
 * convert` read. */
#ifndef CAMEO_SENSITIVITY_H
#define CAMEO_SENSITIVITY_H

#include "cameo_objects.h"

#include <float.h>

/* Of a value y, bar = ds/dy for s = sum r_j out_j, L the same node in float64 on what y was
 * computed of, and Y the shadow. e_t = round_t(y) - y is the error of y in dtype t, as it is, 0
 * where t holds the number; beyond t's range it is left out and counted. Only finite elements. */
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

#endif
