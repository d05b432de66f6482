// TopK by a heap of the best k, ties in the order of the input; ReverseSequence.

#include "ir/ops/common.h"

#include <string.h>

static void infer_topk(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0};
    uint32_t n;
    int64_t most, have;
    if (!x || x->rank < 1 || x->rank > MAX_RANK)
        return;
    int64_t axis = infer_axis(s, node_int(s->n, "axis", -1), x->rank);
    const Index *k = infer_content(s, 1, &n);
    if (axis < 0)
        return;
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[axis] = k && n == 1                ? k[0]
                 : node_has_attr(s->n, "k") ? poly_const(s->polys, node_int(s->n, "k", 0))
                                            : infer_data_dim(s, 0, (uint32_t)axis, "k");
    if (poly_is_const(dims[axis], &most) && poly_is_const(x->dims[axis], &have) && most > have) {
        infer_error(s, "k is %lld, and axis %lld has %lld elements", (long long)most,
                    (long long)axis, (long long)have);
        return;
    }
    infer_shape(s, 0, (uint32_t)x->rank, dims);
    infer_shape(s, 1, (uint32_t)x->rank, dims);
    infer_dtype(s, 1, DT_I64);
}

// The best k places of a line so far: a heap in `places` with the worst of them at its root.
typedef struct Heap {
    Lower *l;
    Tensor x, places;
    Index at[MAX_RANK];
    uint32_t axis;
    bool largest;
    LocalId hole, child, going;
} Heap;

static const Expr *heap_load(Heap *h, Tensor t, const Expr *at)
{
    h->at[h->axis] = to_index(h->l, at);
    return load(h->l, t, h->at);
}

static void heap_store(Heap *h, const Expr *at, const Expr *place)
{
    h->at[h->axis] = to_index(h->l, at);
    store(h->l, h->places, h->at, place);
}

// Does place i come behind place j?
static const Expr *behind(Heap *h, const Expr *i, const Expr *j)
{
    Lower *l = h->l;
    const Expr *a = let(l, heap_load(h, h->x, i)), *b = let(l, heap_load(h, h->x, j));
    const Expr *tie = and_(l, eq(l, a, b), lt(l, j, i));
    return or_(l, h->largest ? lt(l, a, b) : lt(l, b, a), tie);
}

// Puts `place` where it belongs below the hole, in a heap of n.
static void heap_sift(Heap *h, const Expr *place, const Expr *n)
{
    Lower *l = h->l;
    const Expr *one_ = one(l, DT_I64), *no = zero(l, DT_BOOL);
    set(l, h->going, NULL, one(l, DT_BOOL));
    while_(l, get(l, h->going, NULL));
    const Expr *hole = let(l, get(l, h->hole, NULL));
    const Expr *left = let(l, add(l, add(l, hole, hole), one_)),
               *right = let(l, add(l, left, one_));
    set(l, h->child, NULL, left);
    if_(l, lt(l, right, n));
    const Expr *a = let(l, heap_load(h, h->places, right));
    const Expr *b = let(l, heap_load(h, h->places, left));
    if_(l, behind(h, a, b));
    set(l, h->child, NULL, right);
    end(l);
    end(l);
    if_(l, lt(l, left, n));
    const Expr *child = let(l, get(l, h->child, NULL));
    const Expr *other = let(l, heap_load(h, h->places, child));
    if_(l, behind(h, other, place));
    heap_store(h, hole, other);
    set(l, h->hole, NULL, child);
    else_(l);
    set(l, h->going, NULL, no);
    end(l);
    else_(l);
    set(l, h->going, NULL, no);
    end(l);
    end(l);
    heap_store(h, get(l, h->hole, NULL), place);
}

// The first k places of a line make the heap, the others enter where they are better than its root;
// then the root goes to the end, again and again.
static void sort_best(Heap *h, const Expr *k, const Expr *n)
{
    Lower *l = h->l;
    const Expr *one_ = one(l, DT_I64), *none = zero(l, DT_I64);
    Index i = seq(l, to_index(l, k));
    const Expr *at = let(l, sub(l, sub(l, k, one_), expr_index(l->module, i)));
    heap_store(h, at, at);
    set(l, h->hole, NULL, at);
    heap_sift(h, at, k); // what lies behind `at` is a heap already
    end(l);
    i = seq(l, to_index(l, max_(l, none, sub(l, n, k))));
    at = let(l, add(l, k, expr_index(l->module, i)));
    const Expr *root = let(l, heap_load(h, h->places, none));
    if_(l, behind(h, root, at));
    set(l, h->hole, NULL, none);
    heap_sift(h, at, k);
    end(l);
    end(l);
    i = seq(l, to_index(l, k));
    const Expr *last = let(l, sub(l, sub(l, k, one_), expr_index(l->module, i)));
    root = let(l, heap_load(h, h->places, none));
    at = let(l, heap_load(h, h->places, last));
    set(l, h->hole, NULL, none);
    heap_sift(h, at, last);
    heap_store(h, last, root);
    end(l);
}

static void lower_topk(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0), places = output(l, 1), any = y.buffer ? y : places;
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    int64_t axis = node_int(l->n, "axis", -1);
    axis += axis < 0 ? x.rank : 0;
    if (has_input(l, 1)) {
        Index k = input_element(l, 1, 0);
        define_dim(l, any.dims[axis], k);
        check(l, both(l, index_le(l, ix(l, 0), k), index_le(l, k, x.dims[axis])),
              "TopK: k is negative or greater than the dimension");
    }
    Heap h = {.l = l, .x = x, .axis = (uint32_t)axis};
    h.largest = node_int(l->n, "largest", 1) != 0;
    h.places = places.buffer ? places : temp(l, "places", DT_I64, any.rank, any.dims);
    kernel(l, "top_k");
    for (uint32_t i = 0; i < x.rank; i++)
        if (i != h.axis)
            h.at[i] = par(l, x.dims[i]);
    h.hole = row(l, DT_I64, 0, NULL);
    h.child = row(l, DT_I64, 0, NULL);
    h.going = row(l, DT_BOOL, 0, NULL);
    const Expr *k = let(l, expr_index(l->module, any.dims[axis]));
    if_(l, index_lt(l, ix(l, 0), any.dims[axis])); // of no place there is no root
    sort_best(&h, k, let(l, expr_index(l->module, x.dims[axis])));
    kernel_end(l);
    if (!y.buffer)
        return;
    kernel(l, "top_values");
    par_all(l, y, o);
    memcpy(at, o, sizeof at);
    at[axis] = to_index(l, load(l, h.places, o));
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

static void infer_reverse_sequence(Infer *s)
{
    const Value *x = infer_in(s, 0);
    int64_t batch = node_int(s->n, "batch_axis", 1), time = node_int(s->n, "time_axis", 0);
    if (!x || x->rank < 2)
        return;
    if (batch < 0 || time < 0 || batch >= x->rank || time >= x->rank || batch == time) {
        infer_error(s, "batch_axis %lld and time_axis %lld do not fit rank %d", (long long)batch,
                    (long long)time, x->rank);
        return;
    }
    infer_fits(s, 1, 1, &x->dims[batch]);
    infer_same(s, 0, 0);
}

// Each line of a batch reversed up to its own length. Spec: ReverseSequence-10.
static void lower_reverse_sequence(Lower *l)
{
    Tensor x = input(l, 0), lens = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    uint32_t b = (uint32_t)node_int(l->n, "batch_axis", 1),
             t = (uint32_t)node_int(l->n, "time_axis", 0);
    Index v = red(l, lens.dims[0]);
    const Expr *len = cast(l, DT_I64, load(l, lens, &v)),
               *fits = both(l, le(l, zero(l, DT_I64), len),
                            le(l, len, expr_index(l->module, x.dims[t])));
    check(l, reduce(l, R_AND, 1, &v, NULL, fits), "ReverseSequence: a length is out of range");
    kernel(l, "reverse_sequence");
    par_all(l, y, o);
    memcpy(at, o, sizeof at);
    Index row[1] = {o[b]};
    const Expr *n = cast(l, DT_I64, load(l, lens, row)), *i = expr_index(l->module, o[t]);
    const Expr *back = sub(l, sub(l, n, one(l, DT_I64)), i);
    at[t] = to_index(l, select_(l, lt(l, i, n), back, i));
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

const OpDef ops_sort[] = {
    {"TopK", 1, infer_topk, lower_topk, {NULL}, NULL},
    {"ReverseSequence", 10, infer_reverse_sequence, lower_reverse_sequence, {NULL}, NULL},
    {0},
};
