// Interval rules of operators that sum: products with weights, reductions, normalizations.
//
// With constant weights each output channel has bounds of its own: sum over w > 0 of w * hi plus
// sum over w < 0 of w * lo, and the other way round. What rounding adds is bounded by the number of
// terms times the sum of magnitudes.

#include "passes/ranges_state.h"

#include <math.h>
#include <string.h>

// ---- sums of products with constant weights

// The elements of weights in memory order are at [first][second][third]; which output and which
// input channel one belongs to follows from the first two.
typedef struct Weights {
    const TensorData *data;
    uint64_t first, second, third;
    uint64_t groups;
    bool in_first; // [in][out][taps], else [out][in][taps]
} Weights;

typedef struct Sums {
    uint32_t n;
    double *lo, *hi, *magnitude;
    double terms;
} Sums;

static double number(const TensorData *d, uint64_t i)
{
    DType t = (DType)d->dtype;
    if (t == DT_F32) {
        float f;
        memcpy(&f, (const char *)d->elements + 4 * i, 4);
        return f;
    }
    Scalar s = scalar_load(t, (const char *)d->elements + i * dtype_info(t)->bytes);
    return dtype_is_float(t) ? s.f : (double)s.i;
}

static bool is_large(const Range *x)
{
    return !(fabs(x->lo) < 0x1p100) || !(fabs(x->hi) < 0x1p100);
}

// false: too much work, or a weight is no finite number.
static bool weigh(RangeWalk *w, const Weights *at, const Range *x, Sums *s)
{
    uint64_t grouped = at->first;
    if (at->groups > grouped || grouped % at->groups)
        return false;
    uint64_t outs = at->in_first ? at->second * at->groups : at->first;
    uint64_t ins = at->in_first ? at->first : at->second * at->groups;
    uint64_t per_group = grouped / at->groups, i = 0;
    if (outs == 0 || per_group == 0 || outs > UINT32_MAX || !walk_afford(w, at->data->nelements))
        return false;
    bool apart = x->channels && x->channels->n == ins;
    s->n = (uint32_t)outs;
    s->lo = NEWS(w->r->a, double, outs);
    s->hi = NEWS(w->r->a, double, outs);
    s->magnitude = NEWS(w->r->a, double, outs);
    s->terms = (double)(at->in_first ? ins / at->groups : at->second) * (double)at->third;
    for (uint64_t a = 0; a < at->first; a++)
        for (uint64_t b = 0; b < at->second; b++) {
            uint64_t group = a / per_group;
            uint64_t out = at->in_first ? group * at->second + b : a;
            uint64_t in = at->in_first ? a : group * at->second + b;
            double lo = apart ? x->channels->lo[in] : x->lo;
            double hi = apart ? x->channels->hi[in] : x->hi;
            double positive = 0, negative = 0;
            for (uint64_t c = 0; c < at->third; c++) {
                double v = number(at->data, i++);
                positive += v > 0 ? v : 0;
                negative += v > 0 ? 0 : v;
            }
            s->lo[out] += positive * lo + negative * hi;
            s->hi[out] += positive * hi + negative * lo;
            s->magnitude[out] += (positive - negative) * fmax(fabs(lo), fabs(hi));
        }
    for (uint32_t k = 0; k < s->n; k++)
        if (!isfinite(s->magnitude[k]))
            return false;
    return true;
}

// What a sum whose terms have such a magnitude is on the way may be infinite, and NaN then.
static uint8_t overflows(RangeWalk *w, double magnitude, uint8_t nan)
{
    double lo, hi;
    range_of_dtype(walk_result(w, 0), &lo, &hi);
    bool large = dtype_is_float(walk_result(w, 0)) && !(magnitude < hi / 2);
    return large && nan == NAN_NEVER ? (uint8_t)NAN_BY_OVERFLOW : nan;
}

// The sums as the range of result 0, its channels along `axis`; a bias is added to each.
static void give_sums(RangeWalk *w, const Sums *s, Range x, uint32_t axis, uint32_t bias,
                      double alpha, double beta)
{
    DType t = walk_dtype(w, 0);
    Range c = walk_value(w, bias) ? walk_in(w, bias) : range_between(0, 0);
    const TensorData *d = walk_constant(w, bias);
    bool apart = d && d->nelements == s->n;
    double error = range_sum_error(t, s->terms);
    double most = 0;
    if (!c.known)
        return;
    for (uint32_t k = 0; k < s->n; k++) {
        most = fmax(most, s->magnitude[k] * fmax(fabs(alpha), 1));
        double more = error * s->magnitude[k];
        Range one = range_widen(range_between(s->lo[k], s->hi[k]), more);
        Range b = apart ? range_between(number(d, k), number(d, k)) : range_plain(c);
        one = range_mul(w, one, range_between(alpha, alpha));
        one = range_add(w, one, range_mul(w, b, range_between(beta, beta)));
        s->lo[k] = one.lo;
        s->hi[k] = one.hi;
        if (isnan(one.lo) || isnan(one.hi))
            return;
    }
    uint8_t by = x.lo_by | x.hi_by | (apart ? 0 : c.lo_by | c.hi_by);
    Range y = {.known = true, .lo_by = by, .hi_by = by};
    y.nan = overflows(w, most, x.nan > c.nan ? x.nan : c.nan);
    walk_give(w, 0, range_of_channels(w, y, axis, s->n, s->lo, s->hi), ROUND_LOOSE);
}

// Without constant weights: n products, each between the corners.
static Range sum_of(RangeWalk *w, Range product, double n, RangeBasis by)
{
    Range count = range_between(fmin(n, 0), n), y = product;
    RangeBasis of_product;
    if (!product.known || isinf(n))
        return range_none();
    double error =
        range_magnitude(&product, &of_product) * n * range_sum_error(walk_result(w, 0), n);
    y.lo = range_product(product.lo, product.lo < 0 ? count.hi : 0);
    y.hi = range_product(product.hi, product.hi > 0 ? count.hi : 0);
    if (product.lo > 0)
        y.lo = 0;
    y.lo_by |= by;
    y.hi_by |= by;
    y.channels = NULL;
    y.bits = 0;
    y.nan = overflows(w, range_magnitude(&product, &of_product) * n, y.nan);
    double lo = y.lo;
    y = range_widen(y, dtype_is_float(walk_result(w, 0)) ? error : 0);
    if (lo >= 0) { // what is not negative sums to no less
        y.lo = 0;
        y.lo_by = product.lo_by;
    }
    return y;
}

static bool is_padded(RangeWalk *w)
{
    const int64_t *pads;
    uint32_t n;
    Str mode = node_str(w->n, "auto_pad", "NOTSET");
    bool any = !str_is(mode, "NOTSET") && !str_is(mode, "VALID");
    if (node_ints(w->n, "pads", &pads, &n))
        for (uint32_t i = 0; i < n; i++)
            any = any || pads[i] != 0;
    return any;
}

static uint64_t taps(const TensorData *d)
{
    uint64_t n = d->nelements, pairs = (uint64_t)d->dims[0] * (uint64_t)d->dims[1];
    return pairs ? n / pairs : 0;
}

static double dims_product(RangeWalk *w, const Value *v, uint32_t from, RangeBasis *by)
{
    double n = 1;
    *by = RANGE_PROVED;
    for (int32_t k = (int32_t)from; k < v->rank; k++) {
        RangeBasis of_dim;
        n *= range_of_dim(w->r, v->dims[k], &of_dim);
        *by = of_dim > *by ? of_dim : *by;
    }
    return v->rank < 0 || isnan(n) ? INFINITY : n;
}

static Range add_bias(RangeWalk *w, Range y, uint32_t bias)
{
    return walk_value(w, bias) ? range_add(w, y, range_plain(walk_in(w, bias))) : y;
}

static void convolution(RangeWalk *w, bool transposed)
{
    Range x = walk_in(w, 0), k = walk_in(w, 1);
    const Value *v = walk_value(w, 1);
    const TensorData *d = walk_constant(w, 1);
    int64_t groups = node_int(w->n, "group", 1);
    if (!x.known || !k.known || x.lo > x.hi || is_large(&x) || !v || v->rank < 3 || groups < 1)
        return;
    Range zero = range_between(0, 0);
    bool with_zero = transposed || is_padded(w);
    if (x.channels && x.channels->axis == 1 && with_zero && walk_afford(w, x.channels->n)) {
        double *lo = NEWS(w->r->a, double, x.channels->n),
               *hi = NEWS(w->r->a, double, x.channels->n);
        for (uint32_t c = 0; c < x.channels->n; c++) {
            lo[c] = fmin(x.channels->lo[c], 0);
            hi[c] = fmax(x.channels->hi[c], 0);
        }
        x = range_of_channels(w, x, 1, x.channels->n, lo, hi);
    } else if (with_zero) {
        x = range_join(range_plain(x), zero);
    }
    if (x.channels && x.channels->axis != 1)
        x.channels = NULL;
    Sums s;
    if (d && d->rank >= 3) {
        Weights at = {d,       (uint64_t)d->dims[0], (uint64_t)d->dims[1],
                      taps(d), (uint64_t)groups,     transposed};
        if (weigh(w, &at, &x, &s))
            give_sums(w, &s, x, 1, 2, 1, 1);
        return;
    }
    RangeBasis by;
    double n = transposed ? range_of_dim(w->r, v->dims[0], &by) * dims_product(w, v, 2, &by)
                          : dims_product(w, v, 1, &by);
    Range product = range_mul(w, range_plain(x), range_plain(k));
    walk_give(w, 0, add_bias(w, sum_of(w, product, n, by), 2), ROUND_LOOSE);
}

static void conv(RangeWalk *w)
{
    convolution(w, false);
}

static void conv_transpose(RangeWalk *w)
{
    convolution(w, true);
}

// A product with a constant matrix at operand 1: [K, N], or [N, K] where it is transposed.
static bool matrix(RangeWalk *w, Range x, bool transposed, uint32_t bias, double alpha, double beta)
{
    const TensorData *d = walk_constant(w, 1);
    const Value *y = w->n->out[0] ? value_at(w->m, w->n->out[0]) : NULL;
    const Value *a = walk_value(w, 0);
    Sums s;
    if (!d || d->rank != 2 || !y || y->rank < 1 || !a || a->rank < 2)
        return false;
    if (x.channels && x.channels->axis + 1 != (uint32_t)a->rank)
        x.channels = NULL;
    Weights at = {d, (uint64_t)d->dims[0], (uint64_t)d->dims[1], 1, 1, !transposed};
    if (!weigh(w, &at, &x, &s))
        return false;
    give_sums(w, &s, x, (uint32_t)y->rank - 1, bias, alpha, beta);
    return true;
}

static void matmul(RangeWalk *w)
{
    Range a = walk_in(w, 0), b = walk_in(w, 1);
    RangeBasis by;
    if (!a.known || !b.known || a.lo > a.hi || b.lo > b.hi || is_large(&a) || is_large(&b))
        return;
    if (matrix(w, a, false, UINT32_MAX, 1, 1))
        return;
    double n = walk_count(w, 0, -1, &by);
    walk_give(w, 0, sum_of(w, range_mul(w, range_plain(a), range_plain(b)), n, by), ROUND_LOOSE);
}

static void gemm(RangeWalk *w)
{
    Range a = walk_in(w, 0), b = walk_in(w, 1);
    double alpha = node_float(w->n, "alpha", 1), beta = node_float(w->n, "beta", 1);
    bool ta = node_int(w->n, "transA", 0), tb = node_int(w->n, "transB", 0);
    RangeBasis by;
    if (!a.known || !b.known || a.lo > a.hi || b.lo > b.hi || is_large(&a) || is_large(&b))
        return;
    if (!isfinite(alpha) || !isfinite(beta))
        return;
    if (ta)
        a.channels = NULL;
    if (matrix(w, a, tb, 2, alpha, beta))
        return;
    double n = walk_count(w, 0, ta ? 0 : 1, &by);
    Range y = sum_of(w, range_mul(w, range_plain(a), range_plain(b)), n, by);
    y = range_mul(w, y, range_between(alpha, alpha));
    if (walk_value(w, 2))
        y = range_add(w, y, range_mul(w, range_plain(walk_in(w, 2)), range_between(beta, beta)));
    walk_give(w, 0, y, ROUND_LOOSE);
}

// ---- reductions

// How many elements are summed; INFINITY: not known.
static double reduced(RangeWalk *w, RangeBasis *by)
{
    const Value *v = walk_value(w, 0);
    const int64_t *axes = NULL;
    uint32_t naxes = 0;
    double n = 1;
    *by = RANGE_PROVED;
    bool given = node_ints(w->n, "axes", &axes, &naxes);
    if (!given && walk_value(w, 1)) {
        const TensorData *d = walk_constant(w, 1);
        if (!d || d->dtype != DT_I64)
            return walk_count(w, 0, INT32_MIN, by);
        axes = d->elements;
        naxes = (uint32_t)(d->nelements < 64 ? d->nelements : 64);
    }
    if (naxes == 0)
        return node_int(w->n, "noop_with_empty_axes", 0) ? 1 : walk_count(w, 0, INT32_MIN, by);
    for (uint32_t i = 0; i < naxes; i++) {
        RangeBasis of_dim;
        int64_t k = axes[i] < 0 ? axes[i] + v->rank : axes[i];
        if (v->rank < 0 || k < 0 || k >= v->rank)
            return INFINITY;
        n *= range_of_dim(w->r, v->dims[k], &of_dim);
        *by = of_dim > *by ? of_dim : *by;
    }
    return n;
}

static Range squared(RangeWalk *w, Range x)
{
    RangeBasis by;
    (void)w;
    double m = range_magnitude(&x, &by);
    Range y = range_between(0, m * m);
    y.hi_by = (uint8_t)by;
    y.nan = x.nan;
    y.integer = x.integer;
    return y;
}

static Range magnitude(Range x)
{
    RangeBasis by;
    Range y = x;
    y.hi = range_magnitude(&x, &by);
    y.hi_by = (uint8_t)by;
    y.lo = 0;
    y.lo_by = RANGE_PROVED;
    return y;
}

enum { SUM, SUM_SQUARE, L1, L2, LOG_SUM_EXP };

static void reduce(RangeWalk *w, int kind)
{
    RangeBasis by;
    Range x = range_plain(walk_in(w, 0));
    if (!x.known || x.lo > x.hi || !walk_value(w, 0))
        return;
    double n = reduced(w, &by);
    Range y;
    if (kind == LOG_SUM_EXP) {
        y = x;
        y.lo = isinf(x.lo) ? x.lo : x.lo - 1e-3;
        y.hi = x.hi + log(fmax(n, 1)) + 1e-3;
        y.hi_by |= by;
        y.integer = false;
        y.bits = 0;
        walk_give(w, 0, n < 1 ? range_none() : y, ROUND_LOOSE);
        return;
    }
    Range term = kind == SUM ? x : kind == L1 ? magnitude(x) : squared(w, x);
    y = sum_of(w, term, n, by);
    bool whole = term.integer && y.known && range_within(&y, -0x1p24, 0x1p24);
    y.integer = kind != L2 && whole;
    if (kind == L2 && y.known) {
        y.hi = sqrt(y.hi);
        y.lo = 0;
    }
    walk_give(w, 0, y, ROUND_LOOSE);
}

static void reduce_sum(RangeWalk *w)
{
    reduce(w, SUM);
}

static void reduce_sum_square(RangeWalk *w)
{
    reduce(w, SUM_SQUARE);
}

static void reduce_l1(RangeWalk *w)
{
    reduce(w, L1);
}

static void reduce_l2(RangeWalk *w)
{
    reduce(w, L2);
}

static void reduce_log_sum_exp(RangeWalk *w)
{
    reduce(w, LOG_SUM_EXP);
}

static void keep_bounds(RangeWalk *w) // the greatest or the least
{
    Range x = range_plain(walk_in(w, 0));
    RangeBasis by;
    double n = walk_value(w, 0) ? reduced(w, &by) : 1;
    walk_give(w, 0, n >= 1 ? x : range_none(), ROUND_NOT);
}

static void mean_of(RangeWalk *w, Range x, double n, RangeBasis by)
{
    RangeBasis of_x;
    if (!x.known || x.lo > x.hi)
        return;
    double error = range_magnitude(&x, &of_x) * range_sum_error(walk_result(w, 0), n), lo = x.lo;
    x.bits = 0;
    x.integer = !dtype_is_float(walk_result(w, 0));
    // A sum may overflow where the mean would not.
    if (dtype_is_float(walk_result(w, 0)) && is_large(&x))
        error = INFINITY;
    x.nan = overflows(w, range_magnitude(&x, &of_x) * n, x.nan);
    x = range_widen(x, isinf(n) ? INFINITY : dtype_is_float(walk_result(w, 0)) ? error : 0);
    x.lo = lo >= 0 ? 0 : x.lo;
    x.hi_by |= isinf(n) ? by : 0;
    walk_give(w, 0, x, ROUND_LOOSE);
}

static void reduce_mean(RangeWalk *w)
{
    RangeBasis by;
    if (!walk_value(w, 0))
        return;
    double n = reduced(w, &by);
    if (dtype_is_float(walk_dtype(w, 0)))
        mean_of(w, range_plain(walk_in(w, 0)), n, by);
}

static void mean(RangeWalk *w)
{
    Range x = range_plain(walk_in(w, 0));
    for (uint32_t i = 1; i < w->n->nin; i++)
        x = range_join(x, range_plain(walk_in(w, i)));
    mean_of(w, x, w->n->nin, RANGE_PROVED);
}

static void cum_sum(RangeWalk *w)
{
    RangeBasis by;
    Range x = range_plain(walk_in(w, 0));
    if (!x.known || x.lo > x.hi || !walk_value(w, 0))
        return;
    double axis = walk_scalar(w, 1, NAN);
    double n = isnan(axis) || fabs(axis) > 64 ? walk_count(w, 0, INT32_MIN, &by)
                                              : walk_count(w, 0, (int64_t)axis, &by);
    Range y = sum_of(w, x, n, by);
    y.integer = x.integer && y.known && range_within(&y, -0x1p53, 0x1p53);
    walk_give(w, 0, y, ROUND_LOOSE);
}

// ---- normalizations

// scale * z + shift with |z| <= bound.
static void normalized(RangeWalk *w, double bound, RangeBasis by, uint32_t scale, uint32_t shift)
{
    Range x = walk_in(w, 0), z = range_between(-bound, bound);
    z.lo_by = z.hi_by = (uint8_t)by;
    if (isinf(bound))
        return;
    z = range_widen(z, bound * 1e-3 + 1e-6);
    if (scale != UINT32_MAX && walk_value(w, scale))
        z = range_mul(w, z, range_plain(walk_in(w, scale)));
    if (shift != UINT32_MAX && walk_value(w, shift))
        z = range_add(w, z, range_plain(walk_in(w, shift)));
    uint8_t nan = !x.known || is_large(&x) ? (uint8_t)NAN_BY_OVERFLOW : x.nan;
    z.nan = nan > z.nan ? nan : z.nan;
    walk_give(w, 0, z, ROUND_LOOSE);
}

static double count_from(RangeWalk *w, int64_t axis, RangeBasis *by)
{
    const Value *v = walk_value(w, 0);
    if (!v || v->rank < 0)
        return INFINITY;
    axis = axis < 0 ? axis + v->rank : axis;
    return axis < 0 || axis > v->rank ? INFINITY : dims_product(w, v, (uint32_t)axis, by);
}

static void layer_norm(RangeWalk *w)
{
    RangeBasis by = RANGE_PROVED;
    double n = count_from(w, node_int(w->n, "axis", -1), &by);
    normalized(w, sqrt(n), by, 1, 2);
}

static void rms_norm(RangeWalk *w)
{
    RangeBasis by = RANGE_PROVED;
    double n = count_from(w, node_int(w->n, "axis", -1), &by);
    normalized(w, sqrt(n), by, 1, UINT32_MAX);
}

static void instance_norm(RangeWalk *w)
{
    RangeBasis by = RANGE_PROVED;
    normalized(w, sqrt(count_from(w, 2, &by)), by, 1, 2);
}

static void group_norm(RangeWalk *w)
{
    RangeBasis by = RANGE_PROVED;
    normalized(w, sqrt(count_from(w, 1, &by)), by, 1, 2);
}

static void variance_norm(RangeWalk *w)
{
    RangeBasis by;
    double n = walk_count(w, 0, INT32_MIN, &by);
    normalized(w, sqrt(n), by, UINT32_MAX, UINT32_MAX);
}

typedef struct Norm {
    const TensorData *scale, *shift, *mean, *variance;
    double epsilon;
} Norm;

static Range norm_channel(const Norm *f, Range x, uint32_t k, DType t)
{
    double root = sqrt(number(f->variance, k) + f->epsilon), a = number(f->scale, k) / root;
    double m = number(f->mean, k), b = number(f->shift, k);
    double lo = a * (x.lo - m), hi = a * (x.hi - m);
    double error = 16 * ldexp(1, -range_digits(t)) *
                   (fabs(a) * (fmax(fabs(x.lo), fabs(x.hi)) + fabs(m)) + fabs(b));
    return range_widen(range_between(fmin(lo, hi) + b, fmax(lo, hi) + b), error);
}

static void batch_norm(RangeWalk *w)
{
    Range x = walk_in(w, 0);
    Norm f = {walk_constant(w, 1), walk_constant(w, 2), walk_constant(w, 3), walk_constant(w, 4),
              node_float(w->n, "epsilon", 1e-5)};
    if (!x.known || x.lo > x.hi || !f.scale || !f.shift || !f.mean || !f.variance || is_large(&x) ||
        node_int(w->n, "training_mode", 0) ||
        (node_has_attr(w->n, "is_test") && !node_int(w->n, "is_test", 0)))
        return;
    uint64_t n = f.scale->nelements;
    if (n == 0 || n > UINT32_MAX || f.shift->nelements != n || f.mean->nelements != n ||
        f.variance->nelements != n || !walk_afford(w, 4 * n) || !range_digits(walk_dtype(w, 0)))
        return;
    bool apart = x.channels && x.channels->axis == 1 && x.channels->n == n;
    double *lo = NEWS(w->r->a, double, n), *hi = NEWS(w->r->a, double, n);
    for (uint32_t k = 0; k < n; k++) {
        Range one =
            norm_channel(&f, apart ? range_channel(&x, k) : range_plain(x), k, walk_dtype(w, 0));
        if (!isfinite(one.lo) || !isfinite(one.hi))
            return;
        lo[k] = one.lo;
        hi[k] = one.hi;
    }
    Range y = {.known = true, .nan = x.nan};
    y.lo_by = y.hi_by = x.lo_by | x.hi_by;
    walk_give(w, 0, range_of_channels(w, y, 1, (uint32_t)n, lo, hi), ROUND_LOOSE);
}

const RangeRow ranges_sums[] = {
    {"Conv", conv, {NULL}, 0},
    {"ConvTranspose", conv_transpose, {NULL}, 0},
    {"MatMul", matmul, {NULL}, 0},
    {"Gemm", gemm, {NULL}, 0},
    {"ReduceSum", reduce_sum, {NULL}, 0},
    {"ReduceSumSquare", reduce_sum_square, {NULL}, 0},
    {"ReduceL1", reduce_l1, {NULL}, 0},
    {"ReduceL2", reduce_l2, {NULL}, 0},
    {"ReduceLogSumExp", reduce_log_sum_exp, {NULL}, 0},
    {"ReduceMax", keep_bounds, {NULL}, 0},
    {"ReduceMin", keep_bounds, {NULL}, 0},
    {"ReduceMean", reduce_mean, {NULL}, 0},
    {"Mean", mean, {NULL}, 0},
    {"CumSum", cum_sum, {NULL}, 0},
    {"LayerNormalization", layer_norm, {NULL}, 0},
    {"RMSNormalization", rms_norm, {NULL}, 0},
    {"InstanceNormalization", instance_norm, {NULL}, 0},
    {"GroupNormalization", group_norm, {NULL}, 0},
    {"MeanVarianceNormalization", variance_norm, {NULL}, 0},
    {"BatchNormalization", batch_norm, {NULL}, 0},
    {NULL, NULL, {NULL}, 0},
};
