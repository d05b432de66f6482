// Interval rules of products: convolutions and matrices.
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
    Elements data;
    uint64_t first, second, third;
    uint64_t groups;
    bool in_first; // [in][out][taps], else [out][in][taps]
} Weights;

typedef struct Sums {
    uint32_t n;
    double *lo, *hi, *magnitude;
    double terms;
} Sums;

// false: too much work, or a weight is no finite number.
static bool weigh(RangeWalk *w, const Weights *at, const Range *x, Sums *s)
{
    uint64_t grouped = at->first;
    if (at->groups > grouped || grouped % at->groups)
        return false;
    uint64_t outs = at->in_first ? at->second * at->groups : at->first;
    uint64_t ins = at->in_first ? at->first : at->second * at->groups;
    uint64_t per_group = grouped / at->groups, i = 0;
    if (outs == 0 || per_group == 0 || outs > at->data.n || outs > UINT32_MAX ||
        !walk_afford(w, at->data.n))
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
            Range of = apart ? range_channel(x, (uint32_t)in) : *x;
            double lo = of.lo, hi = of.hi;
            double positive = 0, negative = 0;
            for (uint64_t c = 0; c < at->third; c++) {
                double v = element_at(&at->data, i++);
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

// Bounds of a bias for column k of n: an element where it varies along the last axis alone.
static Range bias_at(const Elements *d, const Range *whole, uint32_t k, uint32_t n)
{
    bool apart = d->n == n && d->rank > 0 && d->dims[d->rank - 1] == (int64_t)n;
    return apart ? range_between(element_at(d, k), element_at(d, k)) : range_plain(*whole);
}

// What all that enters a sum rests on.
static uint8_t basis_of(const Range *x)
{
    const Channels *c = x->channels;
    return x->lo_by | x->hi_by | (c ? c->lo_by | c->hi_by : 0);
}

// The sums as the range of result 0, its channels along `axis`; a bias is added to each.
static void give_sums(RangeWalk *w, const Sums *s, Range x, uint32_t axis, uint32_t bias,
                      double alpha, double beta)
{
    Range c = walk_value(w, bias) ? walk_in(w, bias) : range_between(0, 0);
    const Elements d = walk_constant(w, bias);
    double error = range_sum_error(walk_dtype(w, 0), s->terms), most = 0;
    Channels *of = channels_new(w, axis, s->n);
    Range y = range_between(INFINITY, -INFINITY);
    if (!c.known)
        return;
    for (uint32_t k = 0; k < s->n; k++) {
        most = fmax(most, s->magnitude[k] * fmax(fabs(alpha), 1));
        Range one = range_widen(range_between(s->lo[k], s->hi[k]), error * s->magnitude[k]);
        Range b = bias_at(&d, &c, k, s->n);
        one.lo_by = one.hi_by = basis_of(&x);
        one = range_mul(w, one, range_between(alpha, alpha));
        one = range_add(w, one, range_mul(w, b, range_between(beta, beta)));
        if (isnan(one.lo) || isnan(one.hi))
            return;
        y = range_join(y, one);
        if (of)
            channels_set(of, k, one);
    }
    y.lo_by = y.hi_by = y.lo_by | y.hi_by;
    y.nan = range_overflows(w, most, x.nan > c.nan ? x.nan : c.nan);
    walk_give(w, 0, range_with_channels(w, y, of), ROUND_LOOSE);
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

static uint64_t taps(const Elements *d)
{
    uint64_t n = d->n, pairs = (uint64_t)d->dims[0] * (uint64_t)d->dims[1];
    return pairs ? n / pairs : 0;
}

static Range add_bias(RangeWalk *w, Range y, uint32_t bias)
{
    return walk_value(w, bias) ? range_add(w, y, range_plain(walk_in(w, bias))) : y;
}

static void convolution(RangeWalk *w, bool transposed)
{
    Range x = walk_in(w, 0), k = walk_in(w, 1);
    const Value *v = walk_value(w, 1);
    const Elements d = walk_constant(w, 1);
    int64_t groups = node_int(w->n, "group", 1);
    if (!x.known || !k.known || x.lo > x.hi || range_is_large(&x) || !v || v->rank < 3 ||
        groups < 1)
        return;
    Range zero = range_between(0, 0);
    bool with_zero = transposed || is_padded(w);
    if (x.channels && x.channels->axis != 1)
        x.channels = NULL;
    if (with_zero)
        x = range_joined(w, x, zero);
    Sums s;
    if (d.rank >= 3) {
        Weights at = {d,        (uint64_t)d.dims[0], (uint64_t)d.dims[1],
                      taps(&d), (uint64_t)groups,    transposed};
        if (weigh(w, &at, &x, &s))
            give_sums(w, &s, x, 1, 2, 1, 1);
        return;
    }
    RangeBasis by;
    double n = transposed ? range_of_dim(w->r, v->dims[0], &by) * range_dims_product(w, v, 2, &by)
                          : range_dims_product(w, v, 1, &by);
    Range product = range_mul(w, range_plain(x), range_plain(k));
    walk_give(w, 0, add_bias(w, range_sum_of(w, product, n, by, false), 2), ROUND_LOOSE);
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
    const Elements d = walk_constant(w, 1);
    const Value *y = w->n->out[0] ? value_at(w->m, w->n->out[0]) : NULL;
    const Value *a = walk_value(w, 0);
    Sums s;
    if (d.rank != 2 || !y || y->rank < 1 || !a || a->rank < 2)
        return false;
    if (x.channels && x.channels->axis + 1 != (uint32_t)a->rank)
        x.channels = NULL;
    Weights at = {d, (uint64_t)d.dims[0], (uint64_t)d.dims[1], 1, 1, !transposed};
    if (!weigh(w, &at, &x, &s))
        return false;
    give_sums(w, &s, x, (uint32_t)y->rank - 1, bias, alpha, beta);
    return true;
}

// Rows of the first or columns of the second factor, neither of them constant.
static Range product_of(RangeWalk *w, Range a, Range b, double n, RangeBasis by)
{
    const Value *y = w->n->out[0] ? value_at(w->m, w->n->out[0]) : NULL;
    const Value *u = walk_value(w, 0), *v = walk_value(w, 1);
    Range whole = range_mul(w, range_plain(a), range_plain(b));
    whole = range_sum_of(w, whole, n, by, true);
    bool matrices = y && u->rank >= 2 && v->rank >= 2 && y->rank >= 2;
    bool columns = matrices && b.channels && b.channels->axis + 1 == (uint32_t)v->rank;
    bool rows = matrices && a.channels && a.channels->axis + 2 == (uint32_t)u->rank;
    if (!columns && !rows)
        return whole;
    const Channels *of = columns ? b.channels : a.channels;
    Channels *c = channels_new(w, (uint32_t)y->rank - (columns ? 1 : 2), of->n);
    for (uint32_t k = 0; c && k < c->n; k++) {
        Range p = columns ? range_mul(w, range_plain(a), range_channel(&b, k))
                          : range_mul(w, range_channel(&a, k), range_plain(b));
        channels_set(c, k, range_sum_of(w, p, n, by, true));
    }
    return range_with_channels(w, whole, c);
}

static void matmul(RangeWalk *w)
{
    Range a = walk_in(w, 0), b = walk_in(w, 1);
    RangeBasis by;
    if (!a.known || !b.known || a.lo > a.hi || b.lo > b.hi || range_is_large(&a) ||
        range_is_large(&b))
        return;
    if (matrix(w, a, false, UINT32_MAX, 1, 1) || range_related_matmul(w))
        return;
    double n = walk_count(w, 0, -1, &by);
    walk_give(w, 0, product_of(w, a, b, n, by), ROUND_LOOSE);
}

static void gemm(RangeWalk *w)
{
    Range a = walk_in(w, 0), b = walk_in(w, 1);
    double alpha = node_float(w->n, "alpha", 1), beta = node_float(w->n, "beta", 1);
    bool ta = node_int(w->n, "transA", 0), tb = node_int(w->n, "transB", 0);
    RangeBasis by;
    if (!a.known || !b.known || a.lo > a.hi || b.lo > b.hi || range_is_large(&a) ||
        range_is_large(&b))
        return;
    if (!isfinite(alpha) || !isfinite(beta))
        return;
    if (ta)
        a.channels = NULL;
    if (matrix(w, a, tb, 2, alpha, beta))
        return;
    double n = walk_count(w, 0, ta ? 0 : 1, &by);
    Range y = range_sum_of(w, range_mul(w, range_plain(a), range_plain(b)), n, by, true);
    y = range_mul(w, y, range_between(alpha, alpha));
    if (walk_value(w, 2))
        y = range_add(w, y, range_mul(w, range_plain(walk_in(w, 2)), range_between(beta, beta)));
    walk_give(w, 0, y, ROUND_LOOSE);
}

const RangeRow ranges_sums[] = {
    {"Conv", conv, {NULL}, 0},     {"ConvTranspose", conv_transpose, {NULL}, 0},
    {"MatMul", matmul, {NULL}, 0}, {"Gemm", gemm, {NULL}, 0},
    {NULL, NULL, {NULL}, 0},
};
