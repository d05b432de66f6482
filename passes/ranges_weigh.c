// Bounds of sums of products with constant weights: where the weights of each sum lie, and in which
// way they are read.
//
// Floats are added as they are stored, in one of two precisions. Integers and floats of at most 8
// bits are too: their scales and zero points come in once for all weights next to each other that
// share them. What is left (scales that change with each weight, wider integers) is made double
// first. Where every interval is nearly as wide as its numbers are large, the sum of magnitudes
// follows from that of radii.

#include "base/host.h"
#include "passes/ranges_weigh.h"
#include "passes/times.h"
#include "passes/weigh_sixteen.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MAX_SHARE 64.0 // times what float32 sums are off, that is little

// ---- what is multiplied

static float at_least(double v)
{
    float f = (float)v;
    return (double)f < v ? nextafterf(f, INFINITY) : f;
}

static void set_interval(Weighing *g, uint64_t k, Range one)
{
    double middle = one.lo / 2 + one.hi / 2, most = fmax(fabs(one.lo), fabs(one.hi));
    double brief = (double)(float)middle;
    g->x.middle[k] = middle;
    g->x.radius[k] = fmax(fmax(one.hi - middle, middle - one.lo), 0);
    g->x.most[k] = most;
    g->brief.middle[k] = (float)brief;
    g->brief.radius[k] = at_least(fmax(fmax(one.hi - brief, brief - one.lo), 0));
    g->brief.most[k] = at_least(most);
}

// Have all channels the same bounds? `one` is what these are.
static bool are_alike(const Range *x, Range *one)
{
    *one = range_channel(x, 0);
    for (uint32_t k = 1; k < x->channels->n; k++) {
        const Range other = range_channel(x, k);
        if (other.lo != one->lo || other.hi != one->hi)
            return false;
    }
    return true;
}

// May the third sum be left out? Its bound is then at most twice what it is.
static double share_of(const Weighing *g, uint64_t n)
{
    double least = INFINITY, most = 0;
    for (uint64_t k = 0; k < n; k++) {
        const double share = g->x.most[k] == 0 ? 1 : g->x.most[k] / g->x.radius[k];
        least = share < least ? share : least;
        most = share > most ? share : most;
    }
    return most <= 2 * least && most < MAX_SHARE ? most * (1 + 4 * DBL_EPSILON) : 0;
}

static void take_inputs(Weighing *g, const Range *x, uint64_t ins, uint64_t outs)
{
    struct WeighScratch *s = g->s;
    Range one = *x;
    g->lone = !x->channels || x->channels->n != ins || are_alike(x, &one);
    if (g->lone) {
        g->x = (Intervals){s->lone[0], s->lone[1], s->lone[2]};
        g->brief = (ShortIntervals){s->brief[0], s->brief[1], s->brief[2]};
    } else {
        double *of = g->sums.most + outs; // the room behind the sums
        float *brief = (float *)(of + 3 * ins);
        g->x = (Intervals){of, of + ins, of + 2 * ins};
        g->brief = (ShortIntervals){brief, brief + ins, brief + 2 * ins};
    }
    const uint64_t n = g->lone ? CHUNK : ins;
    for (uint64_t k = 0; k < n; k++)
        set_interval(g, k, g->lone ? one : range_channel(x, (uint32_t)k));
    g->share = share_of(g, n);
}

// Are sums those of integers, and all that these multiply one interval?
static bool are_integers(const Weighing *g)
{
    return g->way == AS_BYTES || g->way == AS_HALVES;
}

// Without a third sum there is nothing for it either.
static void leave_out(Weighing *g)
{
    const bool integers = are_integers(g) || !dtype_is_float(g->f->dtype);
    g->share = integers ? 0 : g->share;
    if (g->share > 0) {
        g->x.most = NULL;
        g->brief.most = NULL;
    }
}

static Intervals inputs_from(const Weighing *g, uint64_t in)
{
    in = g->lone ? 0 : in;
    return (Intervals){g->x.middle + in, g->x.radius + in, g->x.most ? g->x.most + in : NULL};
}

static ShortIntervals short_from(const ShortIntervals *x, uint64_t k)
{
    return (ShortIntervals){x->middle + k, x->radius + k, x->most ? x->most + k : NULL};
}

// What n weights of a row from `first` on multiply, in the group of inputs that begins at `base`.
static void inputs_of_row(Weighing *g, uint64_t base, uint64_t first, uint64_t n, Intervals *x,
                          ShortIntervals *brief)
{
    struct WeighScratch *s = g->s;
    const uint64_t taps = g->at->third;
    if (g->lone || taps == 1) {
        const uint64_t in = g->lone ? 0 : base + first;
        *x = inputs_from(g, in);
        *brief = short_from(&g->brief, in);
        return;
    }
    const bool all = g->x.most != NULL;
    *x = (Intervals){s->taken[0], s->taken[1], all ? s->taken[2] : NULL};
    *brief = (ShortIntervals){s->short_taken[0], s->short_taken[1], all ? s->short_taken[2] : NULL};
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t in = base + (first + k) / taps;
        x->middle[k] = g->x.middle[in];
        x->radius[k] = g->x.radius[in];
        brief->middle[k] = g->brief.middle[in];
        brief->radius[k] = g->brief.radius[in];
        if (all) {
            x->most[k] = g->x.most[in];
            brief->most[k] = g->brief.most[in];
        }
    }
}

// ---- how weights are read

static unsigned data_bits(const Factor *f)
{
    return f->packed ? f->packed : dtype_info(f->data.dtype)->bits;
}

// Does every scale make a normal number of the dtype of every number whose magnitude is 0 or from
// `low` to `high`, so that rounding is an error relative to it?
static bool are_plain_scales(RangeWalk *w, const Factor *f, double low, double high)
{
    const bool narrow = f->dtype == DT_F16;
    const double least = (narrow ? 0x1p-14 : 0x1p-100) / low,
                 most = (narrow ? 0x1p15 : 0x1p38) / high;
    ConstantStats s;
    if (f->scale_value)
        s = *range_stats(w->r, f->scale_value);
    else
        elements_measure(f->scale.dtype, f->scale.at, f->scale.n, false, &s);
    return s.read && !s.nans && s.hi <= most && s.lo >= -most &&
           (!(s.least > 0) || s.least >= least);
}

// Are zero points, with what is added to integers, integers up to `most` too?
static bool are_plain_points(const Factor *f, double offset, double most)
{
    ConstantStats s;
    elements_measure(f->zero.dtype, f->zero.at, f->zero.n, false, &s);
    return s.integer && !s.nans && s.lo + offset >= 0 && s.hi + offset <= most;
}

static bool are_bytes(RangeWalk *w, const Factor *f, const Range *x, bool whole, double offset)
{
    const DType t = f->data.dtype;
    const unsigned bits = data_bits(f);
    if (!dtype_is_integer(t) || bits > 8 || (bits < 8 && !f->packed))
        return false;
    // Sums of integers have to be exact, those in float32 finite.
    const bool exact = !dtype_is_float(f->dtype);
    const double most = whole ? INFINITY : exact ? 0x1p8 : 0x1p80;
    if (fabs(x->lo) > most || fabs(x->hi) > most)
        return false;
    return (!f->scale.n || are_plain_scales(w, f, 1, 0x1p8)) &&
           (!f->zero.n || are_plain_points(f, offset, f->packed == 4 ? 15 : 255));
}

// Floats whose zero points, if there are any, are 0. What is no number the pass over them tells.
static bool are_small_floats(RangeWalk *w, const Factor *f, const Range *x, const WordForm *form)
{
    const int low = 1 - form->bias - (int)form->digits;
    double lo, most;
    ConstantStats zero;
    range_of_dtype(f->data.dtype, &lo, &most);
    elements_measure(f->zero.dtype, f->zero.at, f->zero.n, false, &zero);
    return form->digits && f->value && fabs(x->lo) <= 0x1p80 && fabs(x->hi) <= 0x1p80 &&
           (!f->scale.n || are_plain_scales(w, f, ldexp(1, low), most)) &&
           (!f->zero.n || zero.zeros == zero.count);
}

// Do enough weights next to each other share their scale: all of a word, or of a row of bytes?
static bool shares_scales(const Weighing *g)
{
    const Factor *f = g->f;
    if (f->nscales < 2)
        return true;
    if (!g->at->in_first)
        return f->block ? f->inner == 1 && f->block % (32 / g->word.bits) == 0
                        : f->inner % g->width == 0;
    return f->block ? f->inner == g->width && f->along == g->at->first
                    : f->inner * f->along == g->width;
}

// Of rows of `width` numbers.
static WordForm word_form(const Factor *f, uint64_t width, unsigned char flip)
{
    const DType t = f->data.dtype;
    const SmallFloat *small = dtype_small_float(t);
    WordForm form = {.bits = f->packed == 4 && width % 2 == 0 ? 4 : 8, .flip = flip};
    if (form.bits == 4 && dtype_is_signed(t))
        form.flip = 0x88;
    if (small && dtype_info(t)->bits == form.bits && data_bits(f) == form.bits &&
        (f->packed || form.bits == 8)) {
        form.digits = (unsigned)small->mantissa;
        form.bias = small->bias;
        if (form.bits == 4)
            weigh_sixteen_numbers(&form);
    }
    return form;
}

static void choose_way(RangeWalk *w, Weighing *g, const Range *x)
{
    const Factor *f = g->f;
    const DType t = f->data.dtype;
    const bool floats = factor_form(f, &g->form);
    const unsigned bits = data_bits(f);
    g->flip = t == DT_I8 && !f->packed ? 0x80 : 0;
    g->offset = dtype_is_signed(t) && bits <= 8 ? (double)(1 << (bits - 1)) : 0;
    g->word = word_form(f, g->width, g->flip);
    g->filled = NAN;
    const bool small = are_small_floats(w, f, x, &g->word);
    const bool halves = g->lone && g->word.bits == 4;
    const bool whole = g->lone && (halves || g->at->in_first || !f->block);
    const bool narrow = dtype_info(t)->bits == 16;
    g->way = floats && !f->nscales && (f->value || !narrow) ? (narrow ? AS_SHORT_FLOATS : AS_FLOATS)
             : small && shares_scales(g)                    ? AS_WORDS
             : !are_bytes(w, f, x, whole, g->offset) || !shares_scales(g) ? AS_READ
             : halves                                                     ? AS_HALVES
             : whole                                                      ? AS_BYTES
                                                                          : AS_WORDS;
    leave_out(g);
}

static const unsigned char *stored(const Factor *f, uint64_t i)
{
    return f->data.at + i * dtype_info(f->data.dtype)->bytes;
}

static bool is_unpacked(const Weighing *g)
{
    return g->f->packed && (g->way == AS_BYTES || g->word.bits == 8);
}

// Integers from index i on, which begin with a byte, as they are stored.
static const unsigned char *packed_at(const Factor *f, uint64_t i)
{
    return f->packed ? f->data.at + i * f->packed / 8 : stored(f, i);
}

// n bytes from index i on, unpacked where they are stored packed.
static const unsigned char *bytes_at(const Weighing *g, uint64_t i, uint64_t n, unsigned char *to)
{
    const Factor *f = g->f;
    if (!f->packed)
        return stored(f, i);
    weigh_unpack(f->data.at, i, n, f->packed, dtype_is_signed(f->data.dtype), to);
    return to;
}

// ---- what else is to be known of weights

enum { AT_ONCE = 1 << 14 }; // bytes that stay in the first cache

// Do all rows, and what of them is read at a time, begin with a byte?
static bool begins_with_bytes(const Weighing *g)
{
    return !g->f->packed || g->width * g->f->packed % 8 == 0;
}

// So many rows of n weights as are looked at together.
static uint64_t rows_measured(const Weighing *g, uint64_t n)
{
    const uint64_t rows = n == g->width ? AT_ONCE * 8 / (n * data_bits(g->f)) : 1;
    return rows ? rows : 1;
}

// n weights from index i on, next to each other. What an operator takes for packed may be bytes.
static void measure(const Weighing *g, uint64_t i, uint64_t n)
{
    const bool bytes = g->f->packed && g->f->data.dtype == DT_U8;
    elements_take(g->pass, packed_at(g->f, i), bytes ? n * g->f->packed / 8 : n);
}

// Do sums take longer than memory, so that what comes next is worth asking for?
static bool waits_for_sums(const Weighing *g)
{
    return g->pass && (g->way == AS_WORDS || g->way == AS_HALVES || g->way == AS_SHORT_FLOATS);
}

// ---- a sum has a row of weights

static void add_words_of_row(Weighing *g, uint64_t i, uint64_t n, const ShortIntervals *x,
                             double *sum)
{
    struct WeighScratch *s = g->s;
    const unsigned char *at = is_unpacked(g) ? bytes_at(g, i, n, s->bytes) : packed_at(g->f, i);
    const FactorRun run = factor_run(g->f, i, n);
    if (run.n < n) {
        weighing_blocks(g, &run, n);
        weigh_word_row(&g->word, at, n, s->word_scale, s->word_zero, x, sum);
        return;
    }
    const double scale = factor_scale(g->f, run.k), size = fabs(scale);
    weighing_point(g, factor_zero(g->f, run.k) + g->offset);
    weigh_word_row(&g->word, at, n, NULL, s->word_zero, x, sum);
    sum[0] *= scale;
    sum[1] *= size;
    sum[2] *= size;
}

static void add_bytes_of_row(const Weighing *g, uint64_t i, uint64_t n, double *sum)
{
    const unsigned char *at = bytes_at(g, i, n, g->s->bytes);
    const FactorRun run = factor_run(g->f, i, n);
    const double point = factor_zero(g->f, run.k) + g->offset;
    const double scale = factor_scale(g->f, run.k), size = fabs(scale);
    uint64_t all = 0, magnitude = 0;
    weigh_bytes(at, n, g->flip, (unsigned char)point, &all, &magnitude);
    sum[0] = scale * ((double)all - (double)n * point);
    sum[1] = size * (double)magnitude;
}

static void add_halves_of_row(Weighing *g, uint64_t i, uint64_t n, double *sum)
{
    const unsigned char *at = packed_at(g->f, i);
    const FactorRun run = factor_run(g->f, i, n);
    if (run.n < n) {
        weighing_blocks(g, &run, n);
        weigh_half_row(at, n, g->word.flip, g->s->word_scale, g->s->points, sum);
        return;
    }
    const double scale = factor_scale(g->f, run.k);
    weighing_point(g, factor_zero(g->f, run.k) + g->offset);
    weigh_half_row(at, n, g->word.flip, NULL, g->s->points, sum);
    sum[0] *= scale;
    sum[1] *= fabs(scale);
}

// The three sums, of those of weights and of their magnitudes that all multiply one interval.
static void multiply_interval(const Weighing *g, double *sum)
{
    sum[2] = sum[1] * g->x.most[0];
    sum[1] *= g->x.radius[0];
    sum[0] *= g->x.middle[0];
}

// Intervals as words want them.
static ShortIntervals in_places(const Weighing *g, const ShortIntervals *x, uint64_t n)
{
    float(*to)[CHUNK] = g->s->placed;
    weigh_place(&g->word, x->middle, n, to[0]);
    weigh_place(&g->word, x->radius, n, to[1]);
    if (x->most)
        weigh_place(&g->word, x->most, n, to[2]);
    return (ShortIntervals){to[0], to[1], x->most ? to[2] : NULL};
}

// The three sums of n weights of a row from index i on.
static void sum_row(Weighing *g, uint64_t i, uint64_t n, const Intervals *x,
                    const ShortIntervals *brief, double *sum)
{
    if (g->way == AS_FLOATS) {
        weigh_row(g->form, stored(g->f, i), n, x, sum);
    } else if (g->way == AS_SHORT_FLOATS) {
        weigh_short_row(g->form, stored(g->f, i), n, brief, sum);
    } else if (g->way == AS_WORDS) {
        add_words_of_row(g, i, n, brief, sum);
    } else if (g->way == AS_BYTES) {
        add_bytes_of_row(g, i, n, sum);
    } else if (g->way == AS_HALVES) {
        add_halves_of_row(g, i, n, sum);
    } else {
        factor_read(g->f, i, n, g->s->numbers);
        weigh_row(WEIGHT_F64, (const unsigned char *)g->s->numbers, n, x, sum);
    }
}

static void weigh_outputs_first(Weighing *g)
{
    const Weights *at = g->at;
    const uint64_t per_group = at->first / at->groups;
    const bool whole = g->way == AS_BYTES && !g->f->packed;
    for (uint64_t group = 0; group < at->groups; group++)
        for (uint64_t from = 0, n; from < g->width; from += n) {
            Intervals x;
            ShortIntervals brief;
            n = whole || g->width - from < CHUNK ? g->width - from : CHUNK;
            inputs_of_row(g, group * at->second, from, n, &x, &brief);
            if (g->way == AS_WORDS)
                brief = in_places(g, &brief, n);
            const uint64_t end = (group + 1) * per_group, rows = rows_measured(g, n);
            for (uint64_t out = group * per_group; out < end; out++) {
                double sum[3] = {0};
                if (g->pass && (out - group * per_group) % rows == 0)
                    measure(g, out * g->width + from, (end - out < rows ? end - out : rows) * n);
                if (waits_for_sums(g) && end - out > rows)
                    weigh_expect(packed_at(g->f, (out + rows) * g->width + from),
                                 n * data_bits(g->f) / 8);
                sum_row(g, out * g->width + from, n, &x, &brief, sum);
                if (are_integers(g))
                    multiply_interval(g, sum);
                g->sums.middle[out] += sum[0];
                g->sums.radius[out] += sum[1];
                g->sums.most[out] += sum[2];
            }
        }
}

// ---- a sum has a column of weights

// Sums of integers that `rows` rows have added to, and of their magnitudes, as numbers.
HOST_VECTORS
static void add_byte_sums(const Weighing *g, uint64_t rows, uint64_t n)
{
    const struct WeighScratch *s = g->s;
    double *restrict a = g->s->sums[0], *restrict b = g->s->sums[1];
    for (uint64_t k = 0; k < n; k++) {
        const int all = (int)s->byte_sums[0][k] - (int)rows * (int)s->zero[k];
        const double scale = (double)s->scale[k];
        a[k] += scale * (double)all;
        b[k] += fabs(scale) * (double)s->byte_sums[1][k];
    }
}

HOST_VECTORS
static void add_short_sums(struct WeighScratch *s, uint64_t n)
{
    for (uint64_t k = 0; k < n; k++) {
        s->sums[0][k] += (double)s->short_sums[0][k];
        s->sums[1][k] += (double)s->short_sums[1][k];
        s->sums[2][k] += (double)s->short_sums[2][k];
    }
}

HOST_VECTORS
static void add_scaled(const float *restrict scale, const float *restrict sum, uint64_t n,
                       bool size, double *restrict to)
{
    for (uint64_t k = 0; k < n; k++) {
        const double by = (double)scale[k];
        to[k] += (size ? fabs(by) : by) * (double)sum[k];
    }
}

static void add_scaled_sums(struct WeighScratch *s, uint64_t n, bool all)
{
    add_scaled(s->word_scale, s->short_sums[0], n, false, s->sums[0]);
    add_scaled(s->word_scale, s->short_sums[1], n, true, s->sums[1]);
    if (all)
        add_scaled(s->word_scale, s->short_sums[2], n, true, s->sums[2]);
}

// How many bytes behind `rows` rows from index i on as many others lie; 0: not all of them do, or
// none is worth asking for.
static uint64_t bytes_to_next(const Weighing *g, uint64_t i, uint64_t rows)
{
    const bool there = waits_for_sums(g) && i + 2 * rows * g->width <= g->f->data.n;
    return there ? rows * g->width * data_bits(g->f) / 8 : 0;
}

// n columns from `from` on of `rows` rows from `first` on, which share the scales of each column.
static void add_word_rows(Weighing *g, uint64_t first, uint64_t rows, uint64_t from, uint64_t n)
{
    struct WeighScratch *s = g->s;
    const ShortIntervals sums = {s->short_sums[0], s->short_sums[1], s->short_sums[2]};
    const ShortIntervals x = short_from(&g->brief, g->lone ? 0 : first);
    const uint64_t i = first * g->width + from;
    const bool unpacked = is_unpacked(g);
    for (uint64_t k = 0; unpacked && k < rows; k++)
        bytes_at(g, i + k * g->width, n, s->bytes + k * TILE);
    const uint64_t stride = unpacked ? TILE : g->width * g->word.bits / 8;
    weighing_word_columns(g, i, n);
    weigh_word_rows(&g->word, unpacked ? s->bytes : packed_at(g->f, i), stride, rows, n,
                    unpacked ? 0 : bytes_to_next(g, i, rows), s->word_zero, &x, &sums);
    add_scaled_sums(s, weigh_places(&g->word, n), g->x.most != NULL);
}

// The same with one interval for all.
static void add_byte_rows(Weighing *g, uint64_t first, uint64_t rows, uint64_t from, uint64_t n)
{
    struct WeighScratch *s = g->s;
    const bool packed = g->f->packed;
    const uint64_t at_once = packed ? UNPACKED / g->tile : rows;
    weighing_columns(g, first * g->width + from, n);
    for (uint64_t row = 0, m; row < rows; row += m) {
        const uint64_t i = (first + row) * g->width + from;
        m = rows - row < at_once ? rows - row : at_once;
        for (uint64_t k = 0; packed && k < m; k++)
            bytes_at(g, i + k * g->width, n, s->bytes + k * g->tile);
        weigh_byte_rows(packed ? s->bytes : stored(g->f, i), packed ? g->tile : g->width, m, n,
                        g->flip, s->zero, s->byte_sums[0], s->byte_sums[1]);
    }
    add_byte_sums(g, rows, n);
}

static void add_half_rows(Weighing *g, uint64_t first, uint64_t rows, uint64_t from, uint64_t n)
{
    struct WeighScratch *s = g->s;
    const uint64_t i = first * g->width + from;
    weighing_columns(g, i, n);
    weigh_half_rows(packed_at(g->f, i), g->width / 2, rows, n, g->word.flip, s->zero,
                    s->byte_sums[0], s->byte_sums[1]);
    add_byte_sums(g, rows, n);
}

// The same of integers or in float32, added to the sums of the tile.
static void add_block(Weighing *g, uint64_t row, uint64_t rows, uint64_t from, uint64_t n)
{
    struct WeighScratch *s = g->s;
    const ShortIntervals sums = {s->short_sums[0], s->short_sums[1], s->short_sums[2]};
    if (are_integers(g)) {
        memset(s->byte_sums[0], 0, n * sizeof *s->byte_sums[0]);
        memset(s->byte_sums[1], 0, n * sizeof *s->byte_sums[1]);
        (g->way == AS_BYTES ? add_byte_rows : add_half_rows)(g, row, rows, from, n);
        return;
    }
    memset(s->short_sums, 0, sizeof s->short_sums);
    if (g->way == AS_WORDS) {
        add_word_rows(g, row, rows, from, n);
        return;
    }
    const ShortIntervals x = short_from(&g->brief, g->lone ? 0 : row);
    weigh_short_rows(g->form, stored(g->f, row * g->width + from), 2 * g->width, rows, n, &x,
                     &sums);
    add_short_sums(s, n);
}

// So many rows from `row` to `end` as can be added at a time.
static uint64_t rows_at_once(const Weighing *g, uint64_t row, uint64_t end, uint64_t n)
{
    const uint64_t block =
        (are_integers(g) || g->way == AS_WORDS) && g->f->nscales > 1 ? g->f->block : 0;
    uint64_t most = g->way == AS_FLOATS ? CHUNK
                    : g->way == AS_READ ? CHUNK / TILE
                    : are_integers(g)   ? BYTE_ROWS
                                        : SHORT_ROWS;
    most = block && block - row % block < most ? block - row % block : most;
    const uint64_t fit = AT_ONCE * 8 / (n * data_bits(g->f));
    most = g->way == AS_FLOATS && fit + 2 < most ? fit + 2 : most;
    return end - row < most ? end - row : most;
}

static void add_rows(Weighing *g, uint64_t row, uint64_t rows, uint64_t from, uint64_t n)
{
    struct WeighScratch *s = g->s;
    const Intervals x = inputs_from(g, row), sums = {s->sums[0], s->sums[1], s->sums[2]};
    const uint64_t i = row * g->width + from, part = rows_measured(g, n);
    for (uint64_t k = 0; g->pass && k < rows; k += part)
        measure(g, i + k * g->width, (rows - k < part ? rows - k : part) * n);
    if (g->way == AS_FLOATS) {
        weigh_rows(g->form, stored(g->f, i), g->width * dtype_info(g->f->data.dtype)->bytes, rows,
                   n, &x, &sums);
    } else if (g->way != AS_READ) {
        add_block(g, row, rows, from, n);
    } else {
        for (uint64_t k = 0; k < rows; k++)
            factor_read(g->f, i + k * g->width, n, s->numbers + k * TILE);
        weigh_rows(WEIGHT_F64, (const unsigned char *)s->numbers, sizeof(double) * TILE, rows, n,
                   &x, &sums);
    }
}

// The sums of n columns from `from` on, to those of the outputs from `first` on.
static void give_tile(Weighing *g, uint64_t first, uint64_t from, uint64_t n)
{
    const struct WeighScratch *s = g->s;
    const uint64_t taps = g->at->third;
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t out = first + (taps == 1 ? from + k : (from + k) / taps);
        const uint64_t of = weighing_place(g, k, n);
        double sum[3] = {s->sums[0][of], s->sums[1][of], s->sums[2][of]};
        if (are_integers(g))
            multiply_interval(g, sum);
        g->sums.middle[out] += sum[0];
        g->sums.radius[out] += sum[1];
        g->sums.most[out] += sum[2];
    }
}

static void weigh_inputs_first(Weighing *g)
{
    const Weights *at = g->at;
    struct WeighScratch *s = g->s;
    const uint64_t per_group = at->first / at->groups;
    g->tile = g->way == AS_BYTES ? WIDE_TILE : g->way == AS_HALVES ? CHUNK : TILE;
    for (uint64_t group = 0; group < at->groups; group++)
        for (uint64_t from = 0, n; from < g->width; from += n) {
            const uint64_t end = (group + 1) * per_group;
            n = g->width - from < g->tile ? g->width - from : g->tile;
            for (int k = 0; k < 3; k++)
                memset(s->sums[k], 0, g->tile * sizeof *s->sums[k]);
            for (uint64_t row = group * per_group, m; row < end; row += m) {
                m = rows_at_once(g, row, end, n);
                add_rows(g, row, m, from, n);
            }
            give_tile(g, group * at->second, from, n);
        }
}

// ---- bounds

static void room_for(Ranges *r, uint64_t n)
{
    if (r->rooms >= n)
        return;
    r->rooms = n + n / 2;
    r->room = NEWS(r->a, double, r->rooms);
}

static bool sums_open(RangeWalk *w, const Weights *at, uint64_t outs, uint64_t ins, Sums *s)
{
    const Factor *f = at->data;
    if (outs == 0 || outs > f->data.n || outs > UINT32_MAX || ins > f->data.n ||
        !walk_afford(w, f->data.n))
        return false;
    *s = (Sums){.n = (uint32_t)outs};
    room_for(w->r, 3 * outs + 5 * ins);
    s->lo = w->r->room;
    s->hi = s->lo + outs;
    s->magnitude = s->hi + outs;
    memset(s->lo, 0, 3 * outs * sizeof *s->lo);
    s->terms = (double)(at->in_first ? at->first / at->groups : at->second) * (double)at->third;
    s->error = f->scaled ? ldexp(2, -range_digits(f->dtype)) : 0;
    return true;
}

// false: one is no finite number.
HOST_VECTORS
static bool bound_sums(Sums *s, double error, double least)
{
    double *restrict lo = s->lo, *restrict hi = s->hi, *restrict magnitude = s->magnitude;
    double none = 0; // NaN, where there is one
    for (uint32_t k = 0; k < s->n; k++) {
        const double middle = lo[k], radius = hi[k] + magnitude[k] * error + least;
        none += (middle + magnitude[k]) * 0;
        lo[k] = middle - radius;
        hi[k] = middle + radius;
        magnitude[k] *= 1 + error;
    }
    return none == 0;
}

// From the three sums to bounds, those outside of what rounding made of them: of integers nothing.
static bool sums_close(const Weighing *g, Sums *s)
{
    const bool brief = g->way == AS_SHORT_FLOATS || g->way == AS_WORDS || g->way == AS_HALVES;
    double error = (brief ? weigh_short_error(s->terms) : 0) + (s->terms + 4) * 2 * DBL_EPSILON;
    double least = brief ? s->terms * SHORT_LEAST : 0;
    if (!dtype_is_float(g->f->dtype))
        error = least = 0;
    // The sum of radii may itself be less than it is by so much of that of magnitudes.
    const double share = g->share * (1 + 2 * error * g->share);
    for (uint32_t k = 0; g->share > 0 && k < s->n; k++)
        s->magnitude[k] = share * (s->hi[k] + least);
    return bound_sums(s, error, least);
}

static bool weigh(Weighing *g, Sums *s)
{
    if (g->at->in_first)
        weigh_inputs_first(g);
    else
        weigh_outputs_first(g);
    return sums_close(g, s);
}

// What of the sums is left once the elements are known: of infinities and NaN, and of floats beyond
// what ranges multiply, nothing.
static bool holds(RangeWalk *w, const Factor *f)
{
    const ConstantStats *s = range_stats(w->r, f->value);
    return !s->read ||
           (s->nans + s->infinities == 0 && (f->nscales || (s->lo > -0x1p100 && s->hi < 0x1p100)));
}

// The sums, and in the same pass what else is to be known of the weights.
static bool weigh_once(RangeWalk *w, Weighing *g, Sums *s)
{
    const ValueId v = g->f->value;
    g->pass = v && begins_with_bytes(g) ? range_stats_open(w->r, v, g->f->packed > 0) : NULL;
    bool ok = weigh(g, s);
    if (g->pass)
        range_stats_close(w->r, v, g->pass);
    g->pass = NULL;
    return ok;
}

bool range_weigh(RangeWalk *w, const Weights *at, const Range *x, Sums *s)
{
    if (at->groups > at->first || at->first % at->groups || !at->third)
        return false;
    uint64_t outs = at->in_first ? at->second * at->groups : at->first;
    uint64_t ins = at->in_first ? at->first : at->second * at->groups;
    if (!sums_open(w, at, outs, ins, s) || !walk_afford(w, ins))
        return false;
    if (!w->r->scratch)
        w->r->scratch = NEW(w->r->a, struct WeighScratch);
    Times *times = w->m->times;
    const double begin = times ? times_now() : 0;
    Weighing g = {.at = at, .f = at->data, .s = w->r->scratch, .width = at->second * at->third};
    g.sums = (Intervals){s->lo, s->hi, s->magnitude};
    take_inputs(&g, x, ins, outs);
    choose_way(w, &g, x);
    bool ok = weigh_once(w, &g, s);
    if (times) {
        times->weights += times_now() - begin;
        times->weight_bytes += at->data->data.n * data_bits(at->data) / 8;
    }
    if (!holds(w, at->data))
        return false;
    if (!ok && g.way == AS_SHORT_FLOATS) { // beyond float32, but not beyond double
        memset(s->lo, 0, outs * sizeof *s->lo);
        memset(s->hi, 0, outs * sizeof *s->hi);
        memset(s->magnitude, 0, outs * sizeof *s->magnitude);
        g.way = AS_READ;
        ok = weigh(&g, s);
    }
    return ok;
}
