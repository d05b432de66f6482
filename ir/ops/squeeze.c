// Squeeze and Unsqueeze: dims of 1 taken away or put in, nothing else.
//
// Axes that only the running program knows, or dims of which only it knows whether they are 1,
// leave the rank open. It follows from the number of axes, else from the declaration; the program
// then finds the dims, and stops where axes or dims do not give that rank. Spec: Squeeze-1, -13,
// Unsqueeze-1, -13.

#include "ir/ops/common.h"

#include <string.h>

// Axes from the attribute or from the input; false if they are not known.
static bool known_axes(Infer *s, uint32_t i, uint32_t rank, bool *marked, bool *given)
{
    const int64_t *at;
    uint32_t n;
    int64_t k;
    memset(marked, 0, MAX_RANK * sizeof *marked);
    *given = true;
    const Index *content = infer_content(s, i, &n);
    if (!content && !node_ints(s->n, "axes", &at, &n)) {
        *given = false;
        return infer_in(s, i) == NULL;
    }
    for (uint32_t a = 0; a < n; a++) {
        if (content && !poly_is_const(content[a], &k))
            return false;
        int64_t axis = infer_axis(s, content ? k : at[a], rank);
        if (axis < 0 || axis >= MAX_RANK)
            return false;
        marked[axis] = true;
    }
    return true;
}

// The rank of output 0 with `sign` dims more for each axis, else the declared one; -1: unknown.
static int64_t rank_of_result(Infer *s, int64_t rank, int sign)
{
    const Value *axes = infer_in(s, 1), *y = value_at(s->model, s->n->out[0]);
    int64_t n;
    if (axes && axes->rank == 1 && poly_is_const(axes->dims[0], &n) && n <= MAX_RANK)
        rank += sign * n;
    else
        rank = y->declared && y->declared->has_shape ? (int64_t)y->declared->rank : -1;
    if (rank >= 0 && rank <= MAX_RANK)
        return rank;
    if (rank != -1)
        infer_error(s, "the axes do not fit the input's rank");
    return -1;
}

static void unknown_dims(Infer *s, int64_t rank, const char *name)
{
    Index dims[MAX_RANK] = {0};
    for (int64_t i = 0; i < rank; i++)
        dims[i] = infer_data_dim(s, 0, (uint32_t)i, name);
    if (rank >= 0)
        infer_shape(s, 0, (uint32_t)rank, dims);
    if (rank == 0 || rank == 1)
        infer_content_copy(s, 0, 0);
}

// Without axes all dims of 1 go; where it is not known which those are, their number is declared.
static void squeeze_ones(Infer *s, const Value *x)
{
    const Value *y = value_at(s->model, s->n->out[0]);
    Index dims[MAX_RANK] = {0};
    uint32_t n = 0;
    bool sure = true;
    for (int32_t i = 0; i < x->rank; i++) {
        sure &= poly_is_const(x->dims[i], NULL);
        if (!poly_equals(x->dims[i], 1))
            dims[n++] = x->dims[i];
    }
    if (!sure && (!y->declared || !y->declared->has_shape || y->declared->rank > n))
        return;
    if (!sure && y->declared->rank < n) {
        unknown_dims(s, y->declared->rank, "squeezed");
        return;
    }
    infer_shape(s, 0, n, dims);
    if (n <= 1)
        infer_content_copy(s, 0, 0);
}

static void infer_squeeze(Infer *s)
{
    bool marked[MAX_RANK], given;
    Index dims[MAX_RANK] = {0};
    uint32_t n = 0;
    const Value *x = infer_in(s, 0);
    if (!x || x->rank < 0 || x->rank > MAX_RANK || s->n->nout < 1 || !s->n->out[0])
        return;
    bool known = known_axes(s, 1, (uint32_t)x->rank, marked, &given);
    if (s->failed)
        return;
    if (!known) {
        unknown_dims(s, rank_of_result(s, x->rank, -1), "squeezed");
        return;
    }
    if (!given) {
        squeeze_ones(s, x);
        return;
    }
    for (int32_t i = 0; i < x->rank; i++) {
        int64_t k;
        bool fits = !marked[i] || infer_require(s, x->dims[i], poly_const(s->polys, 1));
        if (!fits && poly_is_const(x->dims[i], &k))
            infer_error(s, "dimension %d is %lld, not 1", i, (long long)k);
        if (!marked[i])
            dims[n++] = x->dims[i];
    }
    infer_shape(s, 0, n, dims);
    if (n <= 1)
        infer_content_copy(s, 0, 0);
}

static void infer_unsqueeze(Infer *s)
{
    bool marked[MAX_RANK], given;
    Index dims[MAX_RANK] = {0};
    uint32_t n = 0;
    const int64_t *at;
    const Value *x = infer_in(s, 0);
    if (!x || x->rank < 0 || x->rank > MAX_RANK || s->n->nout < 1 || !s->n->out[0])
        return;
    bool listed = infer_content(s, 1, &n) || node_ints(s->n, "axes", &at, &n);
    uint32_t rank = (uint32_t)x->rank + n, from = 0;
    if (listed && rank > MAX_RANK)
        return;
    if (!listed || !known_axes(s, 1, rank, marked, &given)) {
        if (!s->failed)
            unknown_dims(s, rank_of_result(s, x->rank, 1), "unsqueezed");
        return;
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (!marked[i] && from >= (uint32_t)x->rank) {
            infer_error(s, "an axis is given twice");
            return;
        }
        dims[i] = marked[i] ? poly_const(s->polys, 1) : x->dims[from++];
    }
    infer_shape(s, 0, rank, dims);
    if (rank <= 1)
        infer_content_copy(s, 0, 0);
}

// ---- what the running program finds

// What is found of each of n dims: whether it is among the axes, and how many before it are not.
typedef struct Found {
    Tensor listed, place; // int64[n]; listed has the number of all that are listed behind it
} Found;

static Found find_dims(Lower *l, const Expr *const *bits, uint32_t n)
{
    Index size = ix(l, n), more = ix(l, n + 1), at;
    Found f = {temp(l, "listed", DT_I64, 1, &more), temp(l, "place", DT_I64, 1, &size)};
    const Expr *before = zero(l, DT_I64);
    kernel(l, "find_axes");
    for (uint32_t i = 0; i < n; i++) {
        const Expr *bit = let(l, cast(l, DT_I64, bits[i]));
        at = ix(l, i);
        store(l, f.listed, &at, bit);
        store(l, f.place, &at, sub(l, int_(l, DT_I64, i), before));
        before = let(l, add(l, before, bit));
    }
    at = ix(l, n);
    store(l, f.listed, &at, before);
    kernel_end(l);
    return f;
}

static const Expr *is_number(Lower *l, Tensor t, uint32_t i, int64_t value)
{
    Index at = ix(l, i);
    return eq(l, load(l, t, &at), int_(l, DT_I64, value));
}

// y.dims: of x's dims those that stay, in order.
static void define_squeezed(Lower *l, Tensor x, Tensor y, const Found *f)
{
    for (uint32_t k = 0; k < y.rank; k++) {
        const Expr *dim = zero(l, DT_I64);
        for (uint32_t i = 0; i < x.rank; i++) {
            const Expr *here = and_(l, is_number(l, f->listed, i, 0), is_number(l, f->place, i, k));
            dim = select_(l, here, from_index(l, x.dims[i], DT_I64), dim);
        }
        define_dim(l, y.dims[k], to_index(l, dim));
    }
}

static void lower_squeeze(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0), axes = input(l, 1);
    Infer s = {.model = l->model, .polys = l->polys, .arena = l->arena, .node = l->node, .n = l->n};
    const Expr *gone[MAX_RANK] = {NULL};
    bool marked[MAX_RANK], given;
    Index one_ = ix(l, 1);
    bool known = known_axes(&s, 1, x.rank, marked, &given);
    for (uint32_t i = 0; known && !given && i < x.rank; i++)
        known = poly_is_const(x.dims[i], NULL);
    if (known) {
        lower_reshape(l);
        return;
    }
    if (axes.buffer && axes.rank != 1) {
        not_supported(l, "Squeeze with axes of rank %u that only the program knows", axes.rank);
        return;
    }
    if (axes.buffer)
        check_axes(l, axes, x.rank);
    for (uint32_t i = 0; i < x.rank; i++) {
        const Expr *is_one = index_eq(l, x.dims[i], one_);
        gone[i] = axes.buffer ? axis_is_listed(l, axes, i, x.rank) : is_one;
    }
    Found f = find_dims(l, gone, x.rank);
    for (uint32_t i = 0; axes.buffer && i < x.rank; i++)
        check(l, or_(l, is_number(l, f.listed, i, 0), index_eq(l, x.dims[i], one_)),
              "Squeeze: dimension %u is not 1", i);
    check(l, is_number(l, f.listed, x.rank, (int64_t)x.rank - (int64_t)y.rank),
          "Squeeze: the result has not the %u dimensions that it was compiled for", y.rank);
    define_squeezed(l, x, y, &f);
    lower_reshape(l);
}

static void lower_unsqueeze(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0), axes = input(l, 1);
    Infer s = {.model = l->model, .polys = l->polys, .arena = l->arena, .node = l->node, .n = l->n};
    const Expr *new[MAX_RANK] = {NULL};
    bool marked[MAX_RANK], given;
    if (known_axes(&s, 1, y.rank, marked, &given)) {
        lower_reshape(l);
        return;
    }
    if (axes.rank != 1) {
        not_supported(l, "Unsqueeze with axes of rank %u that only the program knows", axes.rank);
        return;
    }
    check_axes(l, axes, y.rank);
    for (uint32_t i = 0; i < y.rank; i++)
        new[i] = axis_is_listed(l, axes, i, y.rank);
    Found f = find_dims(l, new, y.rank);
    check(l, is_number(l, f.listed, y.rank, (int64_t)y.rank - (int64_t)x.rank),
          "Unsqueeze: an axis is given twice, or the result has not %u dimensions", y.rank);
    for (uint32_t k = 0; k < y.rank; k++) {
        const Expr *dim = one(l, DT_I64);
        for (uint32_t i = 0; i < x.rank; i++)
            dim = select_(l, is_number(l, f.place, k, i), from_index(l, x.dims[i], DT_I64), dim);
        dim = select_(l, is_number(l, f.listed, k, 1), one(l, DT_I64), dim);
        define_dim(l, y.dims[k], to_index(l, dim));
    }
    lower_reshape(l);
}

const OpDef ops_squeeze[] = {
    {"Squeeze", 1, infer_squeeze, lower_squeeze, {NULL}, NULL},
    {"Unsqueeze", 1, infer_unsqueeze, lower_unsqueeze, {NULL}, NULL},
    {0},
};
