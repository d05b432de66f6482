// Interval rule of Einsum: a sum of products over the letters that the result does not have.

#include "ir/ops/einsum.h"
#include "passes/ranges_state.h"

#include <math.h>

static bool is_in(const TermLabels *t, uint32_t label)
{
    for (uint32_t k = 0; k < t->n; k++)
        if (t->label[k] == label)
            return true;
    return false;
}

static bool read(RangeWalk *w, Equation *q)
{
    int32_t ranks[MAX_OPERANDS];
    if (w->n->nin > MAX_OPERANDS)
        return false;
    for (uint32_t i = 0; i < w->n->nin; i++) {
        const Value *v = walk_value(w, i);
        if (!v || v->rank < 0)
            return false;
        ranks[i] = v->rank;
    }
    return einsum_read(w->n, ranks, q);
}

// How many products are summed: the largest dim of each letter that only operands have, those of
// operands from `first` on.
static double count(RangeWalk *w, const Equation *q, RangeBasis *by)
{
    double dims[LETTERS + DOTS] = {0}, n = 1;
    *by = RANGE_PROVED;
    for (uint32_t i = 0; i < q->n; i++)
        for (uint32_t k = 0; k < q->in[i].n; k++) {
            RangeBasis of_dim;
            uint32_t label = q->in[i].label[k];
            double d = range_of_axis(w->r, w->n->in[i], (int32_t)k, &of_dim);
            if (is_in(&q->out, label))
                continue;
            dims[label] = fmax(dims[label], d);
            *by = of_dim > *by ? of_dim : *by;
        }
    for (uint32_t k = 0; k < LETTERS + DOTS; k++)
        n *= dims[k] > 0 ? dims[k] : 1;
    return isnan(n) ? INFINITY : n;
}

// ---- one of two operands is constant

// How the constant's elements go to sums: by axis, the stride of an element's sum (0: it is
// summed), and the axis along which x's channels lie.
typedef struct Folded {
    Factor f;
    TermLabels labels;
    uint64_t stride[MAX_RANK], sums;
    int32_t axis, kept; // of x's channels and of the result's; -1: none
} Folded;

// Each letter that is summed stands in the constant and in x once, so that one element of each
// meets.
static bool fold_axes(const Equation *q, uint32_t at, const Range *x, Folded *f)
{
    const TermLabels *other = &q->in[1 - at];
    int64_t largest = 0;
    f->sums = 1;
    f->axis = f->kept = -1;
    for (uint32_t k = 0; k < other->n; k++)
        if (!is_in(&q->out, other->label[k]) && !is_in(&f->labels, other->label[k]))
            return false;
    for (uint32_t k = f->labels.n; k-- > 0;) {
        uint32_t label = f->labels.label[k];
        for (uint32_t i = 0; i < k; i++)
            if (f->labels.label[i] == label)
                return false; // a diagonal
        bool kept = is_in(&q->out, label);
        f->stride[k] = kept ? f->sums : 0;
        f->sums *= kept ? (uint64_t)f->f.data.dims[k] : 1;
        if (kept && f->f.data.dims[k] > largest) {
            largest = f->f.data.dims[k];
            f->kept = (int32_t)k;
        }
        if (x->channels && x->channels->axis < other->n &&
            other->label[x->channels->axis] == label &&
            x->channels->n == (uint64_t)f->f.data.dims[k])
            f->axis = (int32_t)k;
    }
    return f->kept >= 0 && f->sums <= UINT32_MAX;
}

// Adds each element's products to its sum.
static bool fold(RangeWalk *w, const Folded *f, const Range *x, Sums *s)
{
    const uint64_t n = f->f.data.n;
    if (!walk_afford(w, 4 * n + f->sums))
        return false;
    *s = (Sums){.n = (uint32_t)f->sums, .terms = (double)(n / f->sums)};
    s->error = f->f.scaled ? ldexp(2, -range_digits(f->f.dtype)) : 0;
    s->lo = NEWS(w->r->a, double, f->sums);
    s->hi = NEWS(w->r->a, double, f->sums);
    s->magnitude = NEWS(w->r->a, double, f->sums);
    uint64_t at[MAX_RANK] = {0}, to = 0;
    for (uint64_t i = 0; i < n; i++) {
        double v;
        factor_read(&f->f, i, 1, &v);
        Range one = f->axis >= 0 ? range_channel(x, (uint32_t)at[f->axis]) : range_plain(*x);
        s->lo[to] += range_product(v, v > 0 ? one.lo : one.hi);
        s->hi[to] += range_product(v, v > 0 ? one.hi : one.lo);
        s->magnitude[to] += fabs(v) * fmax(fabs(one.lo), fabs(one.hi));
        for (uint32_t k = f->labels.n; k-- > 0;) {
            to += f->stride[k];
            if (++at[k] < (uint64_t)f->f.data.dims[k])
                break;
            to -= f->stride[k] * at[k];
            at[k] = 0;
        }
    }
    for (uint64_t k = 0; k < f->sums; k++)
        if (!isfinite(s->magnitude[k]))
            return false;
    return true;
}

// The widest of all sums that stand at one index of the axis that is kept.
static Sums along(RangeWalk *w, const Folded *f, const Sums *all)
{
    uint64_t n = (uint64_t)f->f.data.dims[f->kept], stride = f->stride[f->kept];
    Sums s = *all;
    s.n = (uint32_t)n;
    s.lo = NEWS(w->r->a, double, n);
    s.hi = NEWS(w->r->a, double, n);
    s.magnitude = NEWS(w->r->a, double, n);
    for (uint64_t k = 0; k < n; k++) {
        s.lo[k] = INFINITY;
        s.hi[k] = -INFINITY;
    }
    for (uint64_t i = 0; i < all->n; i++) {
        uint64_t k = i / stride % n;
        s.lo[k] = fmin(s.lo[k], all->lo[i]);
        s.hi[k] = fmax(s.hi[k], all->hi[i]);
        s.magnitude[k] = fmax(s.magnitude[k], all->magnitude[i]);
    }
    return s;
}

static bool with_constant(RangeWalk *w, const Equation *q, uint32_t at)
{
    Folded f = {.labels = q->in[at]};
    Range x = walk_in(w, 1 - at);
    Sums all;
    if (!walk_factor(w, at, &f.f) || f.f.data.rank != f.labels.n)
        return false;
    if (f.f.transposed) {
        f.labels.label[0] = q->in[at].label[1];
        f.labels.label[1] = q->in[at].label[0];
    }
    if (!fold_axes(q, at, &x, &f) || !fold(w, &f, &x, &all))
        return false;
    uint32_t axis = 0;
    while (q->out.label[axis] != f.labels.label[f.kept])
        axis++;
    Sums s = along(w, &f, &all);
    range_give_sums(w, &s, x, axis, &(Bias){UINT32_MAX, false, 1, 1});
    return true;
}

// An axis of one element is broadcast against others of its letter: then no element meets just one.
static bool broadcasts(RangeWalk *w, const Equation *q)
{
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t k = 0; k < q->in[i].n; k++) {
            const Value *a = walk_value(w, i), *b = walk_value(w, 1 - i);
            for (uint32_t j = 0; j < q->in[1 - i].n; j++)
                if (q->in[i].label[k] == q->in[1 - i].label[j] && a->dims[k] != b->dims[j])
                    return true;
        }
    return false;
}

static void einsum(RangeWalk *w)
{
    Equation q;
    Range y = range_between(1, 1);
    RangeBasis by;
    if (!read(w, &q))
        return;
    for (uint32_t i = 0; i < q.n; i++) {
        Range x = walk_in(w, i);
        if (!x.known || x.lo > x.hi || range_is_large(&x))
            return;
        y = i ? range_mul(w, y, range_plain(x)) : range_plain(x);
    }
    y.integer = y.integer && !dtype_is_float(walk_result(w, 0));
    if (q.n == 2 && !broadcasts(w, &q) && (with_constant(w, &q, 1) || with_constant(w, &q, 0)))
        return;
    double n = count(w, &q, &by);
    walk_give(w, 0, range_sum_of(w, y, n, by, true), ROUND_LOOSE);
}

const RangeRow ranges_einsum[] = {
    {"Einsum", einsum, {NULL}, 0},
    {NULL, NULL, {NULL}, 0},
};
