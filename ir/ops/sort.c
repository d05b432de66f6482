// TopK: an element's place is the number of those that come before it, ties in the order of the
// input.

#include "ir/ops/common.h"

#include <string.h>

static void infer_topk(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0};
    uint32_t n;
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
    infer_shape(s, 0, (uint32_t)x->rank, dims);
    infer_shape(s, 1, (uint32_t)x->rank, dims);
    infer_dtype(s, 1, DT_I64);
}

static void lower_topk(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0), places = output(l, 1), any = y.buffer ? y : places;
    Tensor rank = temp(l, "rank", DT_I64, x.rank, x.dims);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, to[MAX_RANK] = {0};
    int64_t axis = node_int(l->n, "axis", -1);
    bool largest = node_int(l->n, "largest", 1) != 0;
    axis += axis < 0 ? x.rank : 0;
    if (has_input(l, 1)) {
        Index k = input_element(l, 1, 0);
        define_dim(l, any.dims[axis], k);
        check(l, both(l, index_le(l, ix(l, 0), k), index_le(l, k, x.dims[axis])),
              "TopK: k is negative or greater than the dimension");
    }
    kernel(l, "rank");
    par_all(l, rank, o);
    memcpy(at, o, sizeof at);
    Index j = at[axis] = red(l, x.dims[axis]);
    const Expr *own = load(l, x, o), *other = load(l, x, at);
    const Expr *before = largest ? lt(l, own, other) : lt(l, other, own);
    const Expr *tie = and_(l, eq(l, own, other), index_lt(l, j, o[axis]));
    store(l, rank, o, reduce_add(l, 1, &j, NULL, cast(l, DT_I64, or_(l, before, tie))));
    kernel_end(l);
    kernel(l, "top_k");
    par_all(l, x, o);
    const Expr *r = let(l, load(l, rank, o));
    if_(l, lt(l, r, expr_index(l->module, any.dims[axis])));
    memcpy(to, o, sizeof to);
    to[axis] = to_index(l, r);
    if (y.buffer)
        store(l, y, to, load(l, x, o));
    if (places.buffer)
        store(l, places, to, from_index(l, o[axis], DT_I64));
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
