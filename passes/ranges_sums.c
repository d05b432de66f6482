// Interval rules of products: convolutions and matrices.
//
// With constant weights each output channel has bounds of its own (ranges_weigh.c). What rounding
// adds is bounded by the number of terms times the sum of magnitudes.

#include "passes/ranges_state.h"

#include <math.h>

// Bounds of a bias for column k of n: an element where it varies along the last axis alone.
static Range bias_at(RangeWalk *w, const Bias *b, const Elements *d, const Range *x, uint32_t k,
                     uint32_t n)
{
    const Value *v = walk_value(w, b->operand);
    bool apart = b->apart && d->n == n && d->rank > 0 && d->dims[d->rank - 1] == (int64_t)n;
    bool channels = b->apart && x->channels && x->channels->n == n &&
                    (int64_t)x->channels->axis + 1 == (int64_t)v->rank;
    return apart      ? range_between(element_at(d, k), element_at(d, k))
           : channels ? range_channel(x, k)
                      : range_plain(*x);
}

uint8_t range_by_all(const Range *x)
{
    const Channels *c = x->channels;
    return x->lo_by | x->hi_by | (c ? c->lo_by | c->hi_by : 0);
}

// The whole of sums that nothing is added to or multiplied with, and in `of` each.
static Range plain_sums(const Sums *s, double error, uint8_t by, Channels *of)
{
    Range y = range_between(INFINITY, -INFINITY);
    y.lo_by = y.hi_by = by;
    for (uint32_t k = 0; k < s->n; k++) {
        const double more = isinf(error) ? error : error * s->magnitude[k];
        const double lo = s->lo[k] - more, hi = s->hi[k] + more;
        if (isnan(lo) || isnan(hi))
            return range_none();
        y.lo = lo < y.lo ? lo : y.lo;
        y.hi = hi > y.hi ? hi : y.hi;
        if (of) {
            of->lo[k] = lo;
            of->hi[k] = hi;
        }
    }
    if (of)
        of->lo_by = of->hi_by = by;
    return y;
}

static double greatest(const double *v, uint32_t n)
{
    double most = 0;
    for (uint32_t k = 0; k < n; k++)
        most = v[k] > most ? v[k] : most;
    return most;
}

void range_give_sums(RangeWalk *w, const Sums *s, Range x, uint32_t axis, const Bias *bias)
{
    Range c = walk_value(w, bias->operand) ? walk_in(w, bias->operand) : range_between(0, 0);
    const Elements d = walk_constant(w, bias->operand);
    double error = range_sum_error(walk_dtype(w, 0), s->terms) + s->error;
    double alpha = bias->alpha, beta = bias->beta;
    Channels *of = channels_new(w, axis, s->n);
    const bool biased = walk_value(w, bias->operand) != NULL;
    const uint8_t by = range_by_all(&x);
    Range y = range_between(INFINITY, -INFINITY);
    const double most = greatest(s->magnitude, s->n) * fmax(fabs(alpha), 1);
    const bool plain = alpha == 1 && !biased;
    if (!c.known)
        return;
    if (plain)
        y = plain_sums(s, error, by, of);
    if (!y.known)
        return;
    for (uint32_t k = 0; !plain && k < s->n; k++) {
        Range one = range_widen(range_between(s->lo[k], s->hi[k]), error * s->magnitude[k]);
        one.lo_by = one.hi_by = by;
        if (alpha != 1)
            one = range_mul(w, one, range_between(alpha, alpha));
        if (biased) {
            Range b = bias_at(w, bias, &d, &c, k, s->n);
            one = range_add(w, one, range_mul(w, b, range_between(beta, beta)));
        }
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

Range range_window(RangeWalk *w, Range x, bool transposed)
{
    if (x.channels && x.channels->axis != 1)
        x.channels = NULL;
    return transposed || is_padded(w) ? range_joined(w, x, range_between(0, 0)) : x;
}

bool range_kernel(RangeWalk *w, const Factor *f, bool transposed, Weights *at)
{
    int64_t groups = node_int(w->n, "group", 1);
    const int64_t *dims = f->data.dims;
    if (f->data.rank < 3 || groups < 1)
        return false;
    uint64_t pairs = (uint64_t)dims[0] * (uint64_t)dims[1];
    *at = (Weights){f,
                    (uint64_t)dims[0],
                    (uint64_t)dims[1],
                    pairs ? f->data.n / pairs : 0,
                    (uint64_t)groups,
                    transposed};
    return true;
}

static Range add_bias(RangeWalk *w, Range y, uint32_t bias)
{
    return walk_value(w, bias) ? range_add(w, y, range_plain(walk_in(w, bias))) : y;
}

static void convolution(RangeWalk *w, bool transposed)
{
    Range x = walk_in(w, 0);
    const Value *v = walk_value(w, 1);
    Factor f;
    Weights at;
    Sums s;
    if (!x.known || x.lo > x.hi || range_is_large(&x) || !v || v->rank < 3)
        return;
    x = range_window(w, x, transposed);
    if (walk_factor(w, 1, &f) && range_kernel(w, &f, transposed, &at)) {
        if (range_weigh(w, &at, &x, &s))
            range_give_sums(w, &s, x, 1, &(Bias){2, true, 1, 1});
        return;
    }
    RangeBasis by;
    Range k = walk_in(w, 1);
    if (!k.known)
        return;
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

bool range_matrix(RangeWalk *w, Range x, const Matrix *m, const Bias *bias)
{
    const Value *y = w->n->out[0] ? value_at(w->m, w->n->out[0]) : NULL;
    const Value *a = walk_value(w, m->first ? 1 : 0);
    Factor f;
    Sums s;
    if (!y || y->rank < (m->first ? 2 : 1) || !a || a->rank < 2 ||
        !walk_factor(w, m->first ? 0 : 1, &f) || f.data.rank != 2)
        return false;
    uint32_t summed = (uint32_t)a->rank - (m->across ? 2 : 1);
    if (x.channels && x.channels->axis != summed)
        x.channels = NULL;
    bool in_first = m->first == (m->transposed != f.transposed);
    Weights at = {&f, (uint64_t)f.data.dims[0], (uint64_t)f.data.dims[1], 1, 1, in_first};
    if (!range_weigh(w, &at, &x, &s))
        return false;
    range_give_sums(w, &s, x, (uint32_t)y->rank - (m->first ? 2 : 1), bias);
    return true;
}

// Rows of the first or columns of the second factor have channels.
Range range_products(RangeWalk *w, Range a, Range b, double n, RangeBasis by)
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

bool range_first_matrix(RangeWalk *w, const Matrix *m, const Bias *bias)
{
    if (!walk_waits(w, m->first ? 0 : 1))
        return false;
    Range x = walk_in(w, m->first ? 1 : 0);
    return x.known && x.lo <= x.hi && !range_is_large(&x) && range_matrix(w, x, m, bias);
}

static void matmul(RangeWalk *w)
{
    const Bias none = {UINT32_MAX, false, 1, 1};
    const Matrix second = {false, false, false}, first = {true, false, true};
    if (range_first_matrix(w, &second, &none) || range_first_matrix(w, &first, &none))
        return;
    Range a = walk_in(w, 0), b = walk_in(w, 1);
    RangeBasis by;
    if (!a.known || !b.known || a.lo > a.hi || b.lo > b.hi || range_is_large(&a) ||
        range_is_large(&b))
        return;
    if (range_matrix(w, a, &second, &none) || range_matrix(w, b, &first, &none) ||
        range_related_matmul(w))
        return;
    double n = walk_count(w, 0, -1, &by);
    walk_give(w, 0, range_products(w, a, b, n, by), ROUND_LOOSE);
}

static void gemm(RangeWalk *w)
{
    double alpha = node_float(w->n, "alpha", 1), beta = node_float(w->n, "beta", 1);
    bool ta = node_int(w->n, "transA", 0), tb = node_int(w->n, "transB", 0);
    RangeBasis by;
    Range a, b;
    if (!isfinite(alpha) || !isfinite(beta))
        return;
    const Matrix second = {false, tb, ta}, first = {true, ta, !tb};
    const Bias at_second = {2, true, alpha, beta}, at_first = {2, false, alpha, beta};
    if (range_first_matrix(w, &second, &at_second) || range_first_matrix(w, &first, &at_first))
        return;
    a = walk_in(w, 0);
    b = walk_in(w, 1);
    if (!a.known || !b.known || a.lo > a.hi || b.lo > b.hi || range_is_large(&a) ||
        range_is_large(&b))
        return;
    if (range_matrix(w, a, &second, &at_second) || range_matrix(w, b, &first, &at_first))
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
