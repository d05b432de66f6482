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

enum { SENS_BLOCK = 256, SENS_LANES = 8, SENS_CELLS = 4096, SENS_STEPS = 8 };

/* Elements that are rounded alike: the sum of bar e of each such set, in a cell that its number
 * chooses as far as it counts. Of few elements each set has a cell of its own, of more than half of
 * SENS_CELLS some share one, which adds products of independent errors: 0 on average. */
typedef struct cameo_sense_cells {
    uint64_t *keys; /* NULL: cells are shared */
    double *sums;
    uint8_t *used;
    uint64_t mask; /* cells, a power of 2, less 1 */
    int shift;     /* of the hash to a cell's index */
} cameo_sense_cells;

/* The numbers of a block: y, bar, L and Y; their lanes are filled up with zeros. */
typedef struct cameo_sense_numbers {
    double y[SENS_BLOCK], bar[SENS_BLOCK], local[SENS_BLOCK], shadow[SENS_BLOCK];
} cameo_sense_numbers;

/* What is summed over all blocks, a lane for every SENS_LANES-th element. */
typedef struct cameo_sense_lanes {
    double bar[SENS_LANES], sum[SENS_LANES], error[SENS_LANES], greatest[SENS_LANES],
        least[SENS_LANES], over[SENS_LANES], under[SENS_LANES];
} cameo_sense_lanes;

CAMEO_FN void cameo_sense_add(const cameo_sense_cells *c, uint64_t key, uint64_t at, double moved)
{
    const uint64_t first = at;
    for (int k = 0; k < SENS_STEPS && c->used[at] && c->keys[at] != key; k++)
        at = (at + 1) & c->mask;
    if (c->used[at] && c->keys[at] != key)
        at = first;
    c->keys[at] = c->used[at] ? c->keys[at] : key;
    c->used[at] = 1;
    c->sums[at] += moved;
}

CAMEO_FN void cameo_sense_sum(const cameo_sense_cells *c, double *variance, double *signed_)
{
    double sum = 0;
    for (uint64_t i = 0; i <= c->mask; i++) {
        *variance += c->sums[i] * c->sums[i];
        sum += c->sums[i];
    }
    *signed_ = sum * sum;
}

/* What goes wrong where v is kept in float16, of the numbers that float32 has of it: to multiples
 * of the spacing at the end of float16's range, or of the normal number's low bits. */
CAMEO_FN double cameo_sense_f16(double v)
{
    const float narrow = (float)v, tiny = (fabsf(narrow) + 0.75f) - 0.75f;
    float normal;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    bits = (bits + 0xfff + (bits >> 13 & 1)) & ~(uint32_t)0x1fff;
    memcpy(&normal, &bits, sizeof normal);
    const double rounded =
        fabsf(narrow) < 0x1p-14f ? (double)copysignf(tiny, narrow) : (double)normal;
    return fabs(rounded) <= 65504 ? rounded - v : 0;
}

/* The same of bfloat16, whose least numbers are float32's. */
CAMEO_FN double cameo_sense_bf16(double v)
{
    float narrow = (float)v;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & ~(uint32_t)0xffff;
    memcpy(&narrow, &bits, sizeof narrow);
    return fabsf(narrow) <= FLT_MAX ? (double)narrow - v : 0;
}

CAMEO_FN double cameo_sense_f32(double v)
{
    const float narrow = (float)v;
    return fabsf(narrow) <= FLT_MAX ? (double)narrow - v : 0;
}

/* bar e of the elements of a block, in dtype k of float16, bfloat16, float32 and y's own. */
CAMEO_FN void cameo_sense_moved(double *to, const cameo_sense_numbers *b, int k)
{
    if (k == 0)
        for (int i = 0; i < SENS_BLOCK; i++)
            to[i] = b->bar[i] * cameo_sense_f16(b->local[i]);
    else if (k == 1)
        for (int i = 0; i < SENS_BLOCK; i++)
            to[i] = b->bar[i] * cameo_sense_bf16(b->local[i]);
    else if (k == 2)
        for (int i = 0; i < SENS_BLOCK; i++)
            to[i] = b->bar[i] * cameo_sense_f32(b->local[i]);
    else
        for (int i = 0; i < SENS_BLOCK; i++)
            to[i] = b->bar[i] * (b->y[i] - b->local[i]);
}

/* The numbers of a block as far as they count, and where their cells are looked for. */
CAMEO_FN void cameo_sense_keys(uint64_t *keys, uint64_t *at, const cameo_sense_numbers *b, int bits,
                               int shift)
{
    const uint64_t half = bits < 52 ? (uint64_t)1 << (51 - bits) : 0;
    memcpy(keys, b->local, sizeof b->local);
    for (int i = 0; i < SENS_BLOCK; i++) {
        keys[i] = (keys[i] + half) >> (52 - bits);
        at[i] = (keys[i] * 0x9E3779B97F4A7C15u) >> shift;
    }
}

CAMEO_FN void cameo_sense_errors(const cameo_sense_cells *cells, const cameo_sense_numbers *b,
                                 int64_t n)
{
    static const int bits[4] = {13, 10, 26, 52}; /* of a significand, three more than the dtype's */
    uint64_t keys[SENS_BLOCK], at[SENS_BLOCK];
    double moved[SENS_BLOCK];
    for (int k = 0; k < 4; k++) {
        cameo_sense_moved(moved, b, k);
        cameo_sense_keys(keys, at, b, bits[k], cells[k].shift);
        for (int64_t i = 0; cells[k].keys && i < n; i++)
            if (moved[i] != 0)
                cameo_sense_add(&cells[k], keys[i], at[i], moved[i]);
        for (int64_t i = 0; !cells[k].keys && i < n; i++)
            cells[k].sums[at[i]] += moved[i];
    }
}

CAMEO_FN void cameo_sense_ranges(cameo_sense_lanes *l, const cameo_sense_numbers *b)
{
    for (int i = 0; i < SENS_BLOCK; i += SENS_LANES)
        for (int k = 0; k < SENS_LANES; k++) {
            const double y = b->y[i + k], size = fabs(y), off = y - b->shadow[i + k];
            l->sum[k] += y * y;
            l->error[k] += off * off;
            l->bar[k] += b->bar[i + k] * b->bar[i + k];
            l->greatest[k] = size > l->greatest[k] ? size : l->greatest[k];
            l->least[k] = size > 0 && size < l->least[k] ? size : l->least[k];
            l->over[k] += size >= 65520 ? 1 : 0;
            l->under[k] += size > 0 && size <= 0x1p-25 ? 1 : 0;
        }
}

/* Is any number of a block not finite? */
CAMEO_FN int cameo_sense_is_odd(const cameo_sense_numbers *b)
{
    int odd = 0;
    for (int i = 0; i < SENS_BLOCK; i++)
        odd |= !(fabs(b->y[i]) <= DBL_MAX) | !(fabs(b->bar[i]) <= DBL_MAX) |
               !(fabs(b->local[i]) <= DBL_MAX) | !(fabs(b->shadow[i]) <= DBL_MAX);
    return odd;
}

/* Counts what is not finite, and makes numbers of it that add nothing. */
CAMEO_FN void cameo_sense_exclude(double *out, cameo_sense_numbers *b, int64_t first)
{
    for (int64_t i = 0; i < SENS_BLOCK; i++) {
        const int number = fabs(b->y[i]) <= DBL_MAX;
        if (!number) {
            if (!(out[SENS_NONFINITE] > 0))
                out[SENS_NONFINITE_AT] = (double)(first + i);
            out[SENS_NONFINITE]++;
            out[SENS_LOST] += fabs(b->shadow[i]) <= DBL_MAX ? 1 : 0;
            b->y[i] = 0;
        }
        if (number && fabs(b->local[i]) <= DBL_MAX && fabs(b->shadow[i]) <= DBL_MAX &&
            fabs(b->bar[i]) <= DBL_MAX)
            continue;
        b->bar[i] = b->local[i] = 0;
        b->shadow[i] = b->y[i];
    }
}

CAMEO_FN void cameo_sense_write(double *out, const cameo_sense_lanes *l)
{
    double least = INFINITY;
    for (int k = 0; k < SENS_LANES; k++) {
        out[SENS_SUM] += l->sum[k];
        out[SENS_ERROR] += l->error[k];
        out[SENS_BAR] += l->bar[k];
        out[SENS_OVER_F16] += l->over[k];
        out[SENS_UNDER_F16] += l->under[k];
        out[SENS_GREATEST] = fmax(out[SENS_GREATEST], l->greatest[k]);
        least = fmin(least, l->least[k]);
    }
    out[SENS_LEAST] = least < INFINITY ? least : 0;
}

/* Room for the sets of all four dtypes of `count` elements; NULL: there is no memory. */
CAMEO_FN void *cameo_sense_room(cameo_sense_cells *cells, int64_t count)
{
    uint64_t n = SENS_CELLS;
    int shift = 52, alone = count <= SENS_CELLS / 2;
    for (; alone && n > 16 && (int64_t)n >= 4 * count; n /= 2)
        shift++;
    const size_t each = alone ? sizeof *cells->keys + sizeof *cells->sums + 1 : sizeof *cells->sums;
    char *room = calloc(4 * n, each);
    for (size_t k = 0; room && k < 4; k++) {
        cells[k] = (cameo_sense_cells){.mask = n - 1, .shift = shift};
        cells[k].sums = (double *)(void *)room + k * n;
        if (alone) {
            cells[k].keys = (uint64_t *)(void *)(room + 4 * n * sizeof *cells->sums) + k * n;
            cells[k].used = (uint8_t *)room + 4 * n * (each - 1) + k * n;
        }
    }
    return room;
}

/* A block of elements from `first` on, n of them; those behind are 0. */
CAMEO_FN void cameo_sense_read(cameo_sense_numbers *b, const cameo_view *const *views,
                               int64_t first, int64_t n)
{
    double *const at[4] = {b->y, b->bar, b->local, b->shadow};
    for (int k = 0; k < 4; k++) {
        if (views[k])
            cameo_drift_widen(at[k], views[k], first, n);
        else if (k > 1)
            memcpy(at[k], b->y, (size_t)n * sizeof *at[k]);
        if (!views[k] && k == 1)
            memset(at[k], 0, sizeof b->bar);
        memset(at[k] + n, 0, (size_t)(SENS_BLOCK - n) * sizeof *at[k]);
    }
}

/* (y [, bar] [, L] [, Y]) => (numbers) [is bar there?, L?, Y?]. */
CAMEO_FN int cameo_sense(cameo_objects *o, const cameo_call *c)
{
    double *out = (double *)c->writes[0].at;
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
    cameo_sense_cells cells[4];
    void *room = cameo_sense_room(cells, count);
    if (!room)
        return cameo_objects_fail(o, "not enough memory");
    cameo_sense_lanes lanes = {.bar = {0}};
    for (int k = 0; k < SENS_LANES; k++)
        lanes.least[k] = INFINITY;
    for (int64_t first = 0; first < count; first += SENS_BLOCK) {
        cameo_sense_numbers b;
        int64_t n = count - first < SENS_BLOCK ? count - first : SENS_BLOCK;
        cameo_sense_read(&b, views, first, n);
        if (cameo_sense_is_odd(&b))
            cameo_sense_exclude(out, &b, first);
        cameo_sense_ranges(&lanes, &b);
        if (views[1])
            cameo_sense_errors(cells, &b, n);
    }
    cameo_sense_write(out, &lanes);
    for (int k = 0; k < 4; k++)
        cameo_sense_sum(&cells[k], &out[SENS_F16 + k], &out[SENS_SIGNED_F16 + k]);
    free(room);
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
