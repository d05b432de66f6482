// Reductions over axes: Reduce*, ArgMax, ArgMin, CumSum, CumProd.

#include "ir/ops/common.h"
#include "ir/ops/gradient.h"

#include <string.h>

// Which axes go; false if they are not known when compiling. none: the node does nothing
// (Reduce-18).
static bool reduced_axes(const Node *n, const Index *content, uint32_t ncontent,
                         bool has_axes_input, uint32_t rank, bool *gone, bool *none)
{
    const int64_t *at;
    uint32_t len = 0;
    memset(gone, 0, MAX_RANK * sizeof *gone);
    *none = false;
    if (has_axes_input && !content)
        return false;
    bool listed = !has_axes_input && node_ints(n, "axes", &at, &len);
    len = has_axes_input ? ncontent : len;
    if (len == 0) {
        (void)listed;
        *none = node_int(n, "noop_with_empty_axes", 0) != 0;
        for (uint32_t i = 0; i < rank; i++)
            gone[i] = !*none;
        return true;
    }
    for (uint32_t i = 0; i < len; i++) {
        int64_t a = 0;
        if (has_axes_input ? !poly_is_const(content[i], &a) : (a = at[i], false))
            return false;
        a += a < 0 ? rank : 0;
        if (a < 0 || a >= rank)
            return false;
        gone[a] = true;
    }
    return true;
}

// Axes that only the program knows: with keepdims each dim stays or becomes 1; without, the rank
// follows from how many axes there are.
static void infer_runtime_axes(Infer *s, const Value *x, bool keep)
{
    int64_t n;
    Index dims[MAX_RANK] = {0};
    const Value *axes = infer_in(s, 1);
    uint32_t rank = (uint32_t)x->rank;
    if (!keep) {
        if (axes->rank != 1 || !poly_is_const(axes->dims[0], &n) || n > x->rank)
            return;
        bool none = n == 0 && node_int(s->n, "noop_with_empty_axes", 0) != 0;
        rank = none ? rank : n == 0 ? 0 : rank - (uint32_t)n;
    }
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = infer_data_dim(s, 0, i, "reduced");
    infer_shape(s, 0, rank, dims);
}

static void infer_reduce(Infer *s)
{
    const Value *x = infer_in(s, 0);
    bool gone[MAX_RANK], none, keep = node_int(s->n, "keepdims", 1) != 0;
    Index dims[MAX_RANK] = {0};
    uint32_t n = 0, nc = 0;
    const Index *content = infer_content(s, 1, &nc);
    if (!x || x->rank < 0 || x->rank > MAX_RANK)
        return;
    bool has_axes = infer_in(s, 1) != NULL;
    if (has_axes && !content) {
        infer_runtime_axes(s, x, keep);
        return;
    }
    if (!reduced_axes(s->n, content, nc, has_axes, (uint32_t)x->rank, gone, &none)) {
        const int64_t *at;
        uint32_t len;
        if (!has_axes && node_ints(s->n, "axes", &at, &len))
            infer_error(s, "an axis is out of range for rank %d", x->rank);
        return;
    }
    for (int32_t i = 0; i < x->rank; i++)
        if (!gone[i] || keep)
            dims[n++] = gone[i] ? poly_const(s->polys, 1) : x->dims[i];
    infer_shape(s, 0, n, dims);
}

typedef enum ReduceKind {
    RED_SUM,
    RED_MEAN,
    RED_PROD,
    RED_MAX,
    RED_MIN,
    RED_L1,
    RED_L2,
    RED_SUM_SQUARE,
    RED_LOG_SUM,
    RED_LOG_SUM_EXP
} ReduceKind;

static const Expr *log_sum_exp(Lower *l, uint32_t n, const Index *vars, const Expr *x,
                               const Expr *again)
{
    // max + log(sum(exp(x - max))); an infinite maximum is the answer itself.
    const Expr *m = expr_fresh(l->module, reduce(l, R_MAX, n, vars, NULL, x));
    const Expr *safe = select_(l, unary(l, U_ISINF, m), zero(l, x->dtype), m);
    return add(l, log_(l, reduce_add(l, n, vars, NULL, exp_(l, sub(l, again, safe)))), safe);
}

static const Expr *reduced(Lower *l, ReduceKind kind, uint32_t n, const Index *vars, const Expr *x,
                           Index count)
{
    DType t = x->dtype;
    switch (kind) {
    case RED_SUM:
        return reduce_add(l, n, vars, NULL, x);
    case RED_MEAN:
        return div_(l, reduce_add(l, n, vars, NULL, x), from_index(l, count, t));
    case RED_PROD:
        return reduce(l, R_MUL, n, vars, NULL, x);
    case RED_MAX:
        return t == DT_BOOL ? reduce(l, R_OR, n, vars, NULL, x)
                            : reduce(l, R_MAX, n, vars, NULL, x);
    case RED_MIN:
        return t == DT_BOOL ? reduce(l, R_AND, n, vars, NULL, x)
                            : reduce(l, R_MIN, n, vars, NULL, x);
    case RED_L1:
        return reduce_add(l, n, vars, NULL, abs_(l, x));
    case RED_L2: {
        const Expr *sum = reduce_add(l, n, vars, NULL, mul(l, x, x));
        return dtype_is_float(t) ? sqrt_(l, sum) : cast(l, t, sqrt_(l, cast(l, DT_F64, sum)));
    }
    case RED_SUM_SQUARE:
        return reduce_add(l, n, vars, NULL, mul(l, x, x));
    case RED_LOG_SUM:
    case RED_LOG_SUM_EXP: {
        const Expr *f = dtype_is_float(t) ? x : cast(l, DT_F64, x);
        const Expr *e = kind == RED_LOG_SUM ? log_(l, reduce_add(l, n, vars, NULL, f))
                                            : log_sum_exp(l, n, vars, f, f);
        return cast(l, t, e);
    }
    }
    return x;
}

// Is dim i among the axes? A look through the list, or all dims where the list is empty.
static const Expr *is_gone(Lower *l, Tensor axes, uint32_t i, uint32_t rank)
{
    Index v = red(l, axes.dims[0]), at[1] = {v};
    const Expr *a = cast(l, DT_I64, load(l, axes, at));
    const Expr *hit =
        or_(l, eq(l, a, int_(l, DT_I64, i)), eq(l, a, int_(l, DT_I64, (int64_t)i - rank)));
    const Expr *listed = reduce(l, R_OR, 1, &v, NULL, hit);
    if (node_int(l->n, "noop_with_empty_axes", 0))
        return listed;
    return or_(l, listed, index_eq(l, axes.dims[0], ix(l, 0)));
}

// o[k] for a k that only the program knows.
static const Expr *pick(Lower *l, const Expr *k, uint32_t n, const Index *o)
{
    const Expr *e = zero(l, DT_I64);
    for (uint32_t i = n; i-- > 0;)
        e = select_(l, eq(l, k, int_(l, DT_I64, i)), expr_index(l->module, o[i]), e);
    return e;
}

// Every dim gets a reduction variable whose extent is 1 where the dim stays.
static void lower_runtime_axes(Lower *l, Tensor x, Tensor y, bool keep)
{
    Tensor axes = input(l, 1);
    const Expr *kept = zero(l, DT_I64), *one64 = one(l, DT_I64), *gone[MAX_RANK], *place[MAX_RANK];
    Index flags[1] = {ix(l, x.rank ? x.rank : 1)}, o[MAX_RANK] = {0}, at[MAX_RANK] = {0},
          vars[MAX_RANK] = {0}, count = ix(l, 1);
    Tensor flag = temp(l, "reduced_dims", DT_BOOL, 1, flags);
    kernel(l, "reduced_dims");
    for (uint32_t i = 0; i < x.rank; i++) {
        Index to[1] = {ix(l, i)};
        store(l, flag, to, is_gone(l, axes, i, x.rank));
    }
    kernel_end(l);
    for (uint32_t i = 0; i < x.rank; i++) {
        Index to[1] = {ix(l, i)};
        gone[i] = load(l, flag, to);
        place[i] = kept;
        kept = add(l, kept, select_(l, gone[i], zero(l, DT_I64), one64));
    }
    for (uint32_t k = 0; k < y.rank; k++) { // the k-th dim that stays, or dim k itself
        const Expr *d = one64;
        for (uint32_t i = 0; i < x.rank; i++) {
            const Expr *size = expr_index(l->module, x.dims[i]);
            if (keep && i == k)
                d = select_(l, gone[i], one64, size);
            if (!keep)
                d = select_(l, and_(l, not_(l, gone[i]), eq(l, place[i], int_(l, DT_I64, k))), size,
                            d);
        }
        define_dim(l, y.dims[k], to_index(l, d));
    }
    kernel(l, str_escaped(l->arena, l->n->op).at);
    for (uint32_t k = 0; k < y.rank; k++)
        o[k] = par(l, y.dims[k]);
    for (uint32_t i = 0; i < x.rank; i++) {
        Index extent = to_index(l, select_(l, gone[i], expr_index(l->module, x.dims[i]), one64));
        vars[i] = red(l, extent);
        count = ix_mul(l, count, extent);
        const Expr *own = keep ? i < y.rank ? expr_index(l->module, o[i]) : zero(l, DT_I64)
                               : pick(l, place[i], y.rank, o);
        at[i] = to_index(l, select_(l, gone[i], expr_index(l->module, vars[i]), own));
    }
    DType t = accumulator(x.dtype);
    const Expr *e = cast(l, t, load(l, x, at));
    store(l, y, o,
          cast(l, y.dtype, reduced(l, (ReduceKind)l->n->def->fn.mode, x.rank, vars, e, count)));
    kernel_end(l);
}

static void lower_reduce(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    bool gone[MAX_RANK], none, keep = node_int(l->n, "keepdims", 1) != 0;
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, vars[MAX_RANK] = {0}, count = ix(l, 1);
    uint32_t n = 0, k = 0;
    const Value *axes = has_input(l, 1) ? value_at(l->model, l->n->in[1]) : NULL;
    if (axes && !axes->content) {
        lower_runtime_axes(l, x, y, keep);
        return;
    }
    if (!reduced_axes(l->n, axes ? axes->content : NULL, axes ? axes->ncontent : 0, axes != NULL,
                      x.rank, gone, &none)) {
        not_supported(l, "an axis that is out of range");
        return;
    }
    kernel(l, str_escaped(l->arena, l->n->op).at);
    par_all(l, y, o);
    for (uint32_t i = 0; i < x.rank; i++) {
        if (gone[i]) {
            at[i] = vars[n++] = red(l, x.dims[i]);
            count = ix_mul(l, count, x.dims[i]);
            k += keep;
        } else {
            at[i] = o[k++];
        }
    }
    DType t = accumulator(x.dtype);
    const Expr *e = cast(l, t, load(l, x, at));
    ReduceKind kind = (ReduceKind)l->n->def->fn.mode;
    bool asis = none && (kind == RED_SUM || kind == RED_MEAN || kind == RED_PROD ||
                         kind == RED_MAX || kind == RED_MIN);
    store(l, y, o, cast(l, y.dtype, asis ? e : reduced(l, kind, n, vars, e, count)));
    kernel_end(l);
}

// ---- ArgMax, ArgMin

static void infer_arg(Infer *s)
{
    const Value *x = infer_in(s, 0);
    Index dims[MAX_RANK] = {0};
    uint32_t n = 0;
    if (!x || x->rank < 1)
        return;
    int64_t axis = infer_axis(s, node_int(s->n, "axis", 0), x->rank);
    bool keep = node_int(s->n, "keepdims", 1) != 0;
    for (int32_t i = 0; axis >= 0 && i < x->rank; i++)
        if (i != axis || keep)
            dims[n++] = i == axis ? poly_const(s->polys, 1) : x->dims[i];
    if (axis >= 0)
        infer_shape(s, 0, n, dims);
}

static void lower_arg(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    int64_t given = node_int(l->n, "axis", 0);
    uint32_t axis = (uint32_t)(given < 0 ? given + x.rank : given), k = 0;
    bool keep = node_int(l->n, "keepdims", 1) != 0,
         last = node_int(l->n, "select_last_index", 0) != 0;
    kernel(l, str_escaped(l->arena, l->n->op).at);
    par_all(l, y, o);
    Index v = red(l, x.dims[axis]), end_ = ix_addc(l, x.dims[axis], -1);
    for (uint32_t i = 0; i < x.rank; i++) {
        at[i] = i == axis ? last ? ix_sub(l, end_, v) : v : o[k];
        k += i != axis || keep;
    }
    const Expr *best = reduce(l, (ReduceOp)l->n->def->fn.mode, 1, &v, NULL, load(l, x, at));
    store(l, y, o, last ? sub(l, expr_index(l->module, end_), best) : best);
    kernel_end(l);
}

// ---- CumSum, CumProd

// An axis that only the program knows, where derivatives are asked for: element by element, a
// reduction over what stands before it.
static void cumulative_sums(Lower *l, Tensor x, Tensor y, Index axis, BinaryOp op)
{
    bool exclusive = node_int(l->n, "exclusive", 0) != 0,
         reverse = node_int(l->n, "reverse", 0) != 0;
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    DType t = accumulator(x.dtype);
    const Expr *a = expr_index(l->module, axis), *size = one(l, DT_I64), *own = zero(l, DT_I64);
    const Expr *hit[MAX_RANK];
    kernel(l, str_escaped(l->arena, l->n->op).at);
    par_all(l, y, o);
    for (uint32_t i = 0; i < x.rank; i++) {
        hit[i] =
            or_(l, eq(l, a, int_(l, DT_I64, i)), eq(l, a, int_(l, DT_I64, (int64_t)i - x.rank)));
        size = select_(l, hit[i], expr_index(l->module, x.dims[i]), size);
        own = select_(l, hit[i], expr_index(l->module, o[i]), own);
    }
    Index v = red(l, to_index(l, size));
    const Expr *var = expr_index(l->module, v), *low = reverse ? own : var,
               *high = reverse ? var : own;
    for (uint32_t i = 0; i < x.rank; i++)
        at[i] = to_index(l, select_(l, hit[i], var, expr_index(l->module, o[i])));
    const Expr *e = cast(l, t, load(l, x, at)),
               *where = exclusive ? lt(l, low, high) : le(l, low, high);
    store(l, y, o, cast(l, y.dtype, reduce(l, op == B_ADD ? R_ADD : R_MUL, 1, &v, where, e)));
    kernel_end(l);
}

// A running total along the axis, one sequential sweep for each line.
static void cumulative_along(Lower *l, Tensor x, Tensor y, uint32_t axis, BinaryOp op)
{
    bool exclusive = node_int(l->n, "exclusive", 0) != 0,
         reverse = node_int(l->n, "reverse", 0) != 0;
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    DType t = accumulator(x.dtype);
    kernel(l, str_escaped(l->arena, l->n->op).at);
    for (uint32_t i = 0; i < x.rank; i++)
        o[i] = i == axis ? NULL : par(l, x.dims[i]);
    LocalId total = row(l, t, 0, NULL);
    set(l, total, NULL, op == B_ADD ? zero(l, t) : one(l, t));
    Index step = seq(l, x.dims[axis]);
    o[axis] = reverse ? ix_addc(l, ix_sub(l, x.dims[axis], step), -1) : step;
    memcpy(at, o, sizeof at);
    const Expr *next = binary(l, op, get(l, total, NULL), cast(l, t, load(l, x, at)));
    if (exclusive)
        store(l, y, o, cast(l, y.dtype, get(l, total, NULL)));
    set(l, total, NULL, next);
    if (!exclusive)
        store(l, y, o, cast(l, y.dtype, get(l, total, NULL)));
    kernel_end(l);
}

// A kernel for each axis that it may be.
static void cumulative_any(Lower *l, Tensor x, Tensor y, Index given, BinaryOp op)
{
    const Expr *axis = expr_index(l->module, given);
    const Expr *rank = int_(l, DT_I64, x.rank), *least = int_(l, DT_I64, -(int64_t)x.rank);
    check(l, and_(l, le(l, least, axis), lt(l, axis, rank)), "%.*s: the axis is out of range",
          STR_ARG(str_escaped(l->arena, l->n->op)));
    for (uint32_t i = 0; i < x.rank; i++) {
        step_if(l, axis_is(l, axis, i, x.rank));
        cumulative_along(l, x, y, i, op);
        step_end(l);
    }
}

static void lower_cumulative(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    BinaryOp op = (BinaryOp)l->n->def->fn.mode;
    int64_t axis;
    Index given = input_element(l, 1, 0);
    if (!poly_is_const(given, &axis)) {
        if (may_be_derived(l))
            cumulative_sums(l, x, y, given, op);
        else
            cumulative_any(l, x, y, given, op);
        return;
    }
    axis += axis < 0 ? x.rank : 0;
    if (axis < 0 || axis >= x.rank) {
        not_supported(l, "an axis that is out of range");
        return;
    }
    cumulative_along(l, x, y, (uint32_t)axis, op);
}

#define REDUCE(kind) infer_reduce, lower_reduce, {.mode = (kind)}, NULL

const OpDef ops_reduce[] = {
    {"ReduceSum", 1, REDUCE(RED_SUM)},
    {"ReduceMean", 1, REDUCE(RED_MEAN)},
    {"ReduceProd", 1, REDUCE(RED_PROD)},
    {"ReduceMax", 1, REDUCE(RED_MAX)},
    {"ReduceMin", 1, REDUCE(RED_MIN)},
    {"ReduceL1", 1, REDUCE(RED_L1)},
    {"ReduceL2", 1, REDUCE(RED_L2)},
    {"ReduceSumSquare", 1, REDUCE(RED_SUM_SQUARE)},
    {"ReduceLogSum", 1, REDUCE(RED_LOG_SUM)},
    {"ReduceLogSumExp", 1, REDUCE(RED_LOG_SUM_EXP)},
    {"ArgMax", 1, infer_arg, lower_arg, {.mode = R_ARGMAX}, NULL},
    {"ArgMin", 1, infer_arg, lower_arg, {.mode = R_ARGMIN}, NULL},
    {"CumSum", 11, same_as_0, lower_cumulative, {.mode = B_ADD}, NULL},
    {"CumProd", 26, same_as_0, lower_cumulative, {.mode = B_MUL}, NULL},
    {0},
};
