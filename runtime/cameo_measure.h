/* What the elements of a value were in a run, as a few numbers: what `cameo lint --calib` reads. */
#ifndef CAMEO_MEASURE_H
#define CAMEO_MEASURE_H

#include "cameo_drift.h"

enum {
    MEASURE_COUNT, /* elements; 0: the value was not computed, and nothing else is meant */
    MEASURE_LEAST, /* the least and the greatest finite element; least > greatest: none */
    MEASURE_GREATEST,
    MEASURE_TINY,  /* least magnitude of a finite element that is not 0; DBL_MAX: none */
    MEASURE_ZEROS, /* elements that are 0 */
    MEASURE_NANS,  /* no numbers */
    MEASURE_ABOVE, /* +inf */
    MEASURE_BELOW, /* -inf */
    MEASURE_RANK,  /* -1: more than MEASURE_RANKS */
    MEASURE_DIMS,  /* the greatest that each dim was */
    MEASURE_RANKS = 8,
    MEASURE_FIELDS = MEASURE_DIMS + MEASURE_RANKS
};

enum { MEASURE_LANES = 8 };

typedef struct cameo_measure_lanes {
    double least[MEASURE_LANES], greatest[MEASURE_LANES], tiny[MEASURE_LANES], zeros[MEASURE_LANES];
    double nans[MEASURE_LANES], above[MEASURE_LANES], below[MEASURE_LANES];
} cameo_measure_lanes;

CAMEO_FN void cameo_measure_step(cameo_measure_lanes *s, int j, double y)
{
    double size = fabs(y);
    int number = size <= DBL_MAX;
    s->least[j] = number && y < s->least[j] ? y : s->least[j];
    s->greatest[j] = number && y > s->greatest[j] ? y : s->greatest[j];
    s->tiny[j] = size > 0 && size < s->tiny[j] ? size : s->tiny[j];
    s->zeros[j] += size > 0 || y != y ? 0 : 1;
    s->nans[j] += y != y ? 1 : 0;
    s->above[j] += y > DBL_MAX ? 1 : 0;
    s->below[j] += y < -DBL_MAX ? 1 : 0;
}

/* Element i of an integer dtype; integers beyond 2^53 are rounded. */
CAMEO_FN double cameo_measure_integer(const cameo_view *y, int64_t i)
{
    switch (y->dtype) {
    case 2:
        return ((const uint8_t *)y->at)[i];
    case 3:
        return ((const int8_t *)y->at)[i];
    case 4:
        return ((const uint16_t *)y->at)[i];
    case 5:
        return ((const int16_t *)y->at)[i];
    case 6:
        return ((const int32_t *)y->at)[i];
    case 7:
        return (double)((const int64_t *)y->at)[i];
    case 12:
        return ((const uint32_t *)y->at)[i];
    default:
        return (double)((const uint64_t *)y->at)[i];
    }
}

/* n elements of y from `first` on as float64. */
CAMEO_FN void cameo_measure_widen(double *to, const cameo_view *y, int64_t first, int64_t n)
{
    if (y->dtype == 1 || y->dtype == 10 || y->dtype == 11 || y->dtype == 16) {
        cameo_drift_widen(to, y, first, n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        to[i] = cameo_measure_integer(y, first + i);
}

CAMEO_FN double cameo_measure_fewest(const double *lanes)
{
    double least = lanes[0];
    for (int j = 1; j < MEASURE_LANES; j++)
        least = lanes[j] < least ? lanes[j] : least;
    return least;
}

/* (y) => (numbers): y of a float dtype of 16 to 64 bits or an integer dtype of 8 to 64. */
CAMEO_FN int cameo_measure(cameo_objects *o, const cameo_call *c)
{
    const cameo_view *y = &c->reads[0];
    double *out = (double *)c->writes[0].at, block[DRIFT_BLOCK];
    int64_t count = cameo_view_count(y);
    cameo_measure_lanes s;
    (void)o;
    memset(&s, 0, sizeof s);
    memset(out, 0, MEASURE_FIELDS * sizeof *out);
    for (int j = 0; j < MEASURE_LANES; j++) {
        s.least[j] = s.tiny[j] = DBL_MAX;
        s.greatest[j] = -DBL_MAX;
    }
    for (int64_t first = 0; first < count; first += DRIFT_BLOCK) {
        int64_t n = count - first < DRIFT_BLOCK ? count - first : DRIFT_BLOCK, i = 0;
        cameo_measure_widen(block, y, first, n);
        for (; i + MEASURE_LANES <= n; i += MEASURE_LANES)
            for (int j = 0; j < MEASURE_LANES; j++)
                cameo_measure_step(&s, j, block[i + j]);
        for (int j = 0; i + j < n; j++)
            cameo_measure_step(&s, j, block[i + j]);
    }
    out[MEASURE_COUNT] = (double)count;
    out[MEASURE_LEAST] = cameo_measure_fewest(s.least);
    out[MEASURE_GREATEST] = cameo_drift_most(s.greatest, MEASURE_LANES);
    out[MEASURE_TINY] = cameo_measure_fewest(s.tiny);
    out[MEASURE_ZEROS] = cameo_drift_sum(s.zeros, MEASURE_LANES);
    out[MEASURE_NANS] = cameo_drift_sum(s.nans, MEASURE_LANES);
    out[MEASURE_ABOVE] = cameo_drift_sum(s.above, MEASURE_LANES);
    out[MEASURE_BELOW] = cameo_drift_sum(s.below, MEASURE_LANES);
    out[MEASURE_RANK] = y->rank <= MEASURE_RANKS ? y->rank : -1;
    for (int32_t k = 0; k < y->rank && k < MEASURE_RANKS; k++)
        out[MEASURE_DIMS + k] = (double)y->dims[k];
    return 0;
}

/* Adds what row `from` says to `to`. */
CAMEO_FN void cameo_measure_add(double *to, const double *from)
{
    static const unsigned char sums[] = {MEASURE_COUNT, MEASURE_ZEROS, MEASURE_NANS, MEASURE_ABOVE,
                                         MEASURE_BELOW};
    if (!(from[MEASURE_COUNT] > 0))
        return;
    if (!(to[MEASURE_COUNT] > 0)) {
        memcpy(to, from, MEASURE_FIELDS * sizeof *to);
        return;
    }
    for (size_t i = 0; i < sizeof sums; i++)
        to[sums[i]] += from[sums[i]];
    to[MEASURE_LEAST] =
        from[MEASURE_LEAST] < to[MEASURE_LEAST] ? from[MEASURE_LEAST] : to[MEASURE_LEAST];
    to[MEASURE_TINY] =
        from[MEASURE_TINY] < to[MEASURE_TINY] ? from[MEASURE_TINY] : to[MEASURE_TINY];
    to[MEASURE_GREATEST] = cameo_drift_larger(from[MEASURE_GREATEST], to[MEASURE_GREATEST]);
    for (int k = 0; k < MEASURE_RANKS; k++)
        to[MEASURE_DIMS + k] = cameo_drift_larger(from[MEASURE_DIMS + k], to[MEASURE_DIMS + k]);
}

/* (rows [n, fields]) => (numbers): the n iterations of a loop as one. */
CAMEO_FN int cameo_measure_join(cameo_objects *o, const cameo_call *c)
{
    const double *rows = (const double *)c->reads[0].at;
    double *out = (double *)c->writes[0].at;
    (void)o;
    memset(out, 0, MEASURE_FIELDS * sizeof *out);
    for (int64_t i = 0; i < c->reads[0].dims[0]; i++)
        cameo_measure_add(out, rows + i * MEASURE_FIELDS);
    return 0;
}

#endif
