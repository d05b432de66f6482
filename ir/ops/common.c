#include "ir/ops/common.h"

static void lower_elements(Lower *l, DType within)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    if (!y.buffer)
        return;
    kernel(l, str_escaped(l->arena, l->n->op).at);
    par_all(l, y, o);
    const Expr *e = l->n->def->fn.unary(l, cast(l, within, load(l, x, o)));
    store(l, y, o, within == x.dtype ? e : cast(l, x.dtype, e));
    kernel_end(l);
}

void lower_unary(Lower *l)
{
    lower_elements(l, input(l, 0).dtype);
}

void lower_formula(Lower *l)
{
    lower_elements(l, accumulator(input(l, 0).dtype));
}

void lower_binary(Lower *l)
{
    Tensor a = input(l, 0), b = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    kernel(l, str_escaped(l->arena, l->n->op).at);
    par_all(l, y, o);
    store(
        l, y, o,
        l->n->def->fn.binary(l, load_broadcast(l, a, y.rank, o), load_broadcast(l, b, y.rank, o)));
    kernel_end(l);
}

const Expr *begin_variadic(Lower *l, BinaryFn f, const Index **at)
{
    enum { MOST = 256 }; // inputs of one kernel
    const char *name = str_escaped(l->arena, l->n->op).at;
    Tensor y = output(l, 0);
    Index *o = NEWS(l->arena, Index, MAX_RANK);
    kernel(l, name);
    par_all(l, y, o);
    const Expr *e = load_broadcast(l, input(l, 0), y.rank, o);
    for (uint32_t i = 1; i < l->n->nin; i++) {
        if (i % MOST == 0) {
            const Tensor before = temp(l, name, y.dtype, y.rank, y.dims);
            store(l, before, o, e);
            kernel_end(l);
            kernel(l, name);
            par_all(l, y, o);
            e = load(l, before, o);
        }
        e = f(l, e, load_broadcast(l, input(l, i), y.rank, o));
    }
    *at = o;
    return e;
}

void lower_variadic(Lower *l)
{
    const Index *o;
    const Expr *e = begin_variadic(l, l->n->def->fn.binary, &o);
    store(l, output(l, 0), o, e);
    kernel_end(l);
}

DType accumulator(DType t)
{
    return dtype_is_small_float(t) ? DT_F32 : t;
}

// Short rows of bfloat16 round at each addition, as the reference evaluator's do. Of more terms the
// result is another one for each order, and from 256 on whole terms are lost.
DType softmax_sum(DType t, Index terms)
{
    enum { SHORT = 32 };
    int64_t n;
    return t == DT_BF16 && poly_is_const(terms, &n) && n <= SHORT ? DT_BF16 : accumulator(t);
}

static uint32_t axis_or_none(int64_t axis, uint32_t rank)
{
    axis += axis < 0 ? rank : 0;
    return axis >= 0 && axis < rank ? (uint32_t)axis : UINT32_MAX;
}

bool axes_of(Lower *l, uint32_t i, const char *attr, uint32_t rank, uint32_t *axes, uint32_t *n)
{
    const int64_t *at;
    *n = 0;
    if (attr && node_has_attr(l->n, attr) && node_ints(l->n, attr, &at, n)) {
        for (uint32_t k = 0; k < *n && k < MAX_RANK; k++)
            axes[k] = axis_or_none(at[k], rank);
    } else if (has_input(l, i)) {
        const Value *v = value_at(l->model, l->n->in[i]);
        if (!v->content)
            return false;
        *n = v->ncontent;
        for (uint32_t k = 0; k < *n && k < MAX_RANK; k++) {
            int64_t a;
            if (!poly_is_const(v->content[k], &a))
                return false;
            axes[k] = axis_or_none(a, rank);
        }
    }
    for (uint32_t k = 0; k < *n; k++)
        if (k >= MAX_RANK || axes[k] >= rank)
            return false;
    return true;
}

const Expr *axis_is(Lower *l, const Expr *axis, int64_t i, int64_t rank)
{
    const Expr *a = cast(l, DT_I64, axis);
    return or_(l, eq(l, a, int_(l, DT_I64, i)), eq(l, a, int_(l, DT_I64, i - rank)));
}

const Expr *axis_is_listed(Lower *l, Tensor axes, int64_t i, int64_t rank)
{
    Index k = red(l, axes.dims[0]);
    return reduce(l, R_OR, 1, &k, NULL, axis_is(l, load(l, axes, &k), i, rank));
}

void check_axes(Lower *l, Tensor axes, int64_t rank)
{
    Index k = red(l, axes.dims[0]);
    const Expr *a = cast(l, DT_I64, load(l, axes, &k));
    const Expr *fits = and_(l, le(l, int_(l, DT_I64, -rank), a), lt(l, a, int_(l, DT_I64, rank)));
    check(l, reduce(l, R_AND, 1, &k, NULL, fits), "%.*s: an axis is out of range",
          STR_ARG(str_escaped(l->arena, l->n->op)));
}

const Expr *sigmoid(Lower *l, const Expr *x)
{
    // In float16 exp(-x) is infinite from -11.09 down, where the result is not 0 yet.
    if (x->dtype == DT_F16)
        return cast(l, DT_F16, sigmoid(l, cast(l, DT_F32, x)));
    return div_(l, one(l, x->dtype), add(l, one(l, x->dtype), exp_(l, neg(l, x))));
}

const Expr *erf_(Lower *l, const Expr *x)
{
    return unary(l, U_ERF, x);
}

const Expr *abs_(Lower *l, const Expr *x)
{
    return unary(l, U_ABS, x);
}
