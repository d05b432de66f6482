// Reading and writing at indices that are data: Gather*, Scatter*.

#include "ir/ops/common.h"

#include <string.h>

// Are all indices known, and in range?
static bool are_in_range(Lower *l, Index n)
{
    const Value *v = value_at(l->model, l->n->in[1]);
    int64_t size, at;
    if (!v->content || !poly_is_const(n, &size))
        return false;
    for (uint32_t k = 0; k < v->ncontent; k++)
        if (!poly_is_const(v->content[k], &at) || at < -size || at >= size)
            return false;
    return true;
}

// All entries of an index tensor lie in -n <= i < n, or the program stops.
static void check_indices(Lower *l, Tensor indices, Index n)
{
    if (are_in_range(l, n))
        return;
    Index vars[MAX_RANK] = {0};
    for (uint32_t i = 0; i < indices.rank; i++)
        vars[i] = red(l, indices.dims[i]);
    const Expr *k = cast(l, DT_I64, load(l, indices, vars)), *size = expr_index(l->module, n);
    const Expr *ok = and_(l, le(l, neg(l, size), k), lt(l, k, size));
    check(l, reduce(l, R_AND, indices.rank, vars, NULL, ok), "%.*s: an index is out of range",
          STR_ARG(str_escaped(l->arena, l->n->op)));
}

static Index wrapped(Lower *l, const Expr *k, Index n)
{
    const Expr *i = cast(l, DT_I64, k);
    if (i->kind == EX_CONST)
        return ix_wrap(l, ix(l, i->value.i), n);
    return to_index(l,
                    select_(l, lt(l, i, zero(l, DT_I64)), add(l, i, expr_index(l->module, n)), i));
}

static uint32_t axis_of(Lower *l, uint32_t rank)
{
    int64_t axis = node_int(l->n, "axis", 0);
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

// ---- Gather

static void infer_gather(Infer *s)
{
    const Value *x = infer_in(s, 0), *i = infer_in(s, 1);
    Index dims[2 * MAX_RANK] = {0};
    uint32_t n = 0, nc, ni;
    if (!x || !i || x->rank < 1 || i->rank < 0 || x->rank + i->rank - 1 > MAX_RANK)
        return;
    int64_t axis = infer_axis(s, node_int(s->n, "axis", 0), x->rank);
    if (axis < 0)
        return;
    for (int64_t k = 0; k < axis; k++)
        dims[n++] = x->dims[k];
    for (int32_t k = 0; k < i->rank; k++)
        dims[n++] = i->dims[k];
    for (int64_t k = axis + 1; k < x->rank; k++)
        dims[n++] = x->dims[k];
    infer_shape(s, 0, n, dims);
    const Index *content = infer_content(s, 0, &nc), *at = infer_content(s, 1, &ni);
    if (!content || !at || x->rank != 1 || ni > 256)
        return;
    Index picked[256] = {0};
    for (uint32_t k = 0; k < ni; k++) {
        int64_t a;
        if (!poly_is_const(at[k], &a) || a < -(int64_t)nc || a >= (int64_t)nc)
            return;
        picked[k] = content[a < 0 ? a + nc : a];
    }
    infer_set_content(s, 0, ni, picked);
}

static void lower_gather(Lower *l)
{
    Tensor x = input(l, 0), i = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    uint32_t axis = axis_of(l, x.rank);
    check_indices(l, i, x.dims[axis]);
    kernel(l, "gather");
    par_all(l, y, o);
    for (uint32_t k = 0; k < x.rank; k++)
        at[k] = k < axis ? o[k] : o[k + i.rank - 1 + (k == axis)];
    at[axis] = wrapped(l, load(l, i, o + axis), x.dims[axis]);
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

// Indices stand beside the data: along other dims than the axis there are not more of them.
static void infer_beside(Infer *s)
{
    const Value *x = infer_in(s, 0), *i = infer_in(s, 1);
    int64_t axis, n, m;
    if (!x || !i || x->rank < 1 || i->rank != x->rank ||
        (axis = infer_axis(s, node_int(s->n, "axis", 0), x->rank)) < 0)
        return;
    for (int32_t k = 0; k < x->rank; k++)
        if (k != axis && poly_is_const(i->dims[k], &n) && poly_is_const(x->dims[k], &m) && n > m)
            infer_error(s, "dimension %d of the indices is %lld, of the data %lld", k, (long long)n,
                        (long long)m);
}

static void infer_gather_elements(Infer *s)
{
    infer_beside(s);
    infer_same(s, 0, 1);
}

static void lower_gather_elements(Lower *l)
{
    Tensor x = input(l, 0), i = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    uint32_t axis = axis_of(l, x.rank);
    check_indices(l, i, x.dims[axis]);
    kernel(l, "gather_elements");
    par_all(l, y, o);
    memcpy(at, o, sizeof at);
    at[axis] = wrapped(l, load(l, i, o), x.dims[axis]);
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

// How many numbers a tuple of indices has. Where its dim does not say, the rank of what stands for
// the tuples does (`rank`, -1: not known): a tuple takes away as many dims as it has numbers.
static bool tuple_size(Infer *s, const Value *x, const Value *i, int64_t batch, int64_t rank,
                       int64_t *size)
{
    if (poly_is_const(i->dims[i->rank - 1], size))
        return true;
    *size = i->rank - 1 + x->rank - batch - rank;
    return rank >= 0 && *size >= 0 && *size <= x->rank - batch &&
           infer_require(s, i->dims[i->rank - 1], poly_const(s->polys, *size));
}

static void infer_gather_nd(Infer *s)
{
    const Value *x = infer_in(s, 0), *i = infer_in(s, 1);
    Index dims[2 * MAX_RANK] = {0}, batch[MAX_RANK] = {NULL};
    int64_t b = node_int(s->n, "batch_dims", 0), last;
    uint32_t n = 0;
    const Type *declared = value_at(s->model, s->n->out[0])->declared;
    int64_t rank = declared && declared->has_shape ? (int64_t)declared->rank : -1;
    if (!x || !i || x->rank < 1 || i->rank < 1 || !tuple_size(s, x, i, b, rank, &last))
        return;
    if (b < 0 || b >= i->rank || last < 0 || last > x->rank || b + last > x->rank ||
        i->rank - 1 + x->rank - b - last > MAX_RANK) {
        infer_error(s, "indices do not fit the data");
        return;
    }
    for (int32_t k = 0; k + 1 < i->rank; k++)
        dims[n++] = i->dims[k];
    memcpy(batch, i->dims, (size_t)b * sizeof *batch);
    infer_fits(s, 0, (uint32_t)x->rank, batch);
    for (int64_t k = b + last; k < x->rank; k++)
        dims[n++] = x->dims[k];
    infer_shape(s, 0, n, dims);
}

// The last dim of the indices is a tuple: checked and wrapped entry by entry.
static void check_tuples(Lower *l, Tensor i, Tensor x, uint32_t b, int64_t last)
{
    Index vars[MAX_RANK] = {0};
    for (int64_t k = 0; k < last; k++) {
        for (uint32_t d = 0; d + 1 < i.rank; d++)
            vars[d] = red(l, i.dims[d]);
        vars[i.rank - 1] = ix(l, k);
        const Expr *v = cast(l, DT_I64, load(l, i, vars)),
                   *size = expr_index(l->module, x.dims[b + k]);
        const Expr *ok = and_(l, le(l, neg(l, size), v), lt(l, v, size));
        check(l, reduce(l, R_AND, i.rank - 1, vars, NULL, ok), "%.*s: an index is out of range",
              STR_ARG(str_escaped(l->arena, l->n->op)));
    }
}

static void lower_gather_nd(Lower *l)
{
    Tensor x = input(l, 0), i = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, tuple[MAX_RANK] = {0};
    uint32_t b = (uint32_t)node_int(l->n, "batch_dims", 0), n = 0;
    int64_t last = (int64_t)i.rank - 1 + x.rank - b - y.rank;
    check_tuples(l, i, x, b, last);
    kernel(l, "gather_nd");
    par_all(l, y, o);
    for (; n < b; n++)
        at[n] = o[n];
    memcpy(tuple, o, (i.rank - 1) * sizeof *tuple);
    for (int64_t k = 0; k < last; k++, n++) {
        tuple[i.rank - 1] = ix(l, k);
        at[n] = wrapped(l, load(l, i, tuple), x.dims[n]);
    }
    for (uint32_t k = i.rank - 1; n < x.rank; n++, k++)
        at[n] = o[k];
    store(l, y, o, load(l, x, at));
    kernel_end(l);
}

// ---- Scatter

// Updates come in order where a plain store may hit one place twice: the last one wins.
static void put(Lower *l, Tensor y, const Index *at, const Expr *value)
{
    Str how = node_str(l->n, "reduction", "none");
    if (str_is(how, "add"))
        update(l, B_ADD, y, at, value);
    else if (str_is(how, "mul"))
        update(l, B_MUL, y, at, value);
    else if (str_is(how, "max"))
        update(l, B_MAX, y, at, value);
    else if (str_is(how, "min"))
        update(l, B_MIN, y, at, value);
    else
        store(l, y, at, value);
}

static void lower_scatter_elements(Lower *l)
{
    Tensor x = input(l, 0), i = input(l, 1), u = input(l, 2), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    uint32_t axis = axis_of(l, x.rank);
    check_indices(l, i, x.dims[axis]);
    copy_tensor(l, y, x);
    kernel(l, "scatter_elements");
    for (uint32_t k = 0; k < i.rank; k++)
        o[k] = seq(l, i.dims[k]);
    memcpy(at, o, sizeof at);
    at[axis] = wrapped(l, load(l, i, o), x.dims[axis]);
    put(l, y, at, load(l, u, o));
    kernel_end(l);
}

static void lower_scatter_nd(Lower *l)
{
    Tensor x = input(l, 0), i = input(l, 1), u = input(l, 2), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, tuple[MAX_RANK] = {0};
    int64_t last = (int64_t)i.rank - 1 + x.rank - u.rank, known;
    uint32_t n = 0;
    if (last < 0 || last > x.rank || (poly_is_const(i.dims[i.rank - 1], &known) && known != last)) {
        not_supported(l, "ScatterND whose indices do not fit data and updates");
        return;
    }
    check_tuples(l, i, x, 0, last);
    copy_tensor(l, y, x);
    kernel(l, "scatter_nd");
    for (uint32_t k = 0; k < u.rank; k++)
        o[k] = seq(l, u.dims[k]);
    memcpy(tuple, o, (i.rank - 1) * sizeof *tuple);
    for (; n < (uint32_t)last; n++) {
        tuple[i.rank - 1] = ix(l, n);
        at[n] = wrapped(l, load(l, i, tuple), x.dims[n]);
    }
    for (uint32_t k = i.rank - 1; n < x.rank; n++, k++)
        at[n] = o[k];
    put(l, y, at, load(l, u, o));
    kernel_end(l);
}

static void infer_scatter_elements(Infer *s)
{
    const Value *i = infer_in(s, 1);
    infer_beside(s);
    infer_same(s, 0, 0);
    if (i && i->rank >= 0)
        infer_fits(s, 2, (uint32_t)i->rank, i->dims);
}

// The updates stand for the indices' places, and the dims of the data that a tuple leaves open.
static void infer_scatter_nd(Infer *s)
{
    const Value *x = infer_in(s, 0), *i = infer_in(s, 1);
    Index dims[2 * MAX_RANK] = {0};
    int64_t last;
    uint32_t n = 0;
    infer_same(s, 0, 0);
    if (!x || !i || x->rank < 1 || i->rank < 1 || !tuple_size(s, x, i, 0, infer_rank(s, 2), &last))
        return;
    if (last > x->rank) {
        infer_error(s, "indices of %lld numbers do not fit rank %d", (long long)last, x->rank);
        return;
    }
    for (int32_t k = 0; k + 1 < i->rank; k++)
        dims[n++] = i->dims[k];
    for (int64_t k = last; k < x->rank; k++)
        dims[n++] = x->dims[k];
    if (infer_rank(s, 2) >= 0 && infer_rank(s, 2) != (int32_t)n)
        infer_error(s, "updates have rank %d, where indices and data take %u",
                    (int)infer_rank(s, 2), n);
    infer_fits(s, 2, n, dims);
}

const OpDef ops_gather[] = {
    {"Gather", 1, infer_gather, lower_gather, {NULL}, NULL},
    {"GatherElements", 11, infer_gather_elements, lower_gather_elements, {NULL}, NULL},
    {"GatherND", 11, infer_gather_nd, lower_gather_nd, {NULL}, NULL},
    {"GatherND", 1, infer_gather_nd, lower_gather_nd, {NULL}, "com.microsoft"},
    {"Scatter", 9, infer_scatter_elements, lower_scatter_elements, {NULL}, NULL},
    {"ScatterElements", 11, infer_scatter_elements, lower_scatter_elements, {NULL}, NULL},
    {"ScatterND", 11, infer_scatter_nd, lower_scatter_nd, {NULL}, NULL},
    {0},
};
