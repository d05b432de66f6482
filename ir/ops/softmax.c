// Softmax, LogSoftmax, Hardmax: along one axis since 13, before that over all dims from the axis
// on.

#include "ir/ops/common.h"

#include <string.h>

// The dims that a line runs over: axis alone, or axis and all behind it.
static uint32_t lines(Lower *l, Tensor x, const Index *o, Index *at, Index *vars)
{
    bool flat = l->opset < 13;
    int64_t axis = node_int(l->n, "axis", flat ? 1 : -1);
    axis += axis < 0 ? x.rank : 0;
    uint32_t n = 0;
    memcpy(at, o, x.rank * sizeof *at);
    for (uint32_t i = 0; i < x.rank; i++)
        if (flat ? i >= axis : i == axis)
            at[i] = vars[n++] = red(l, x.dims[i]);
    return n;
}

static void lower_softmax(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, vars[MAX_RANK] = {0}, at2[MAX_RANK] = {0},
          vars2[MAX_RANK] = {0};
    bool logarithm = l->n->def->fn.mode != 0;
    kernel(l, str_escaped(l->arena, l->n->op).at);
    par_all(l, y, o);
    uint32_t n = lines(l, x, o, at, vars);
    lines(l, x, o, at2, vars2);
    // Each step rounds to the tensor's type, as the standard's function body does.
    Index terms = ix(l, 1);
    for (uint32_t i = 0; i < n; i++)
        terms = ix_mul(l, terms, loop_extent(l->polys, vars[i]->terms[0].atoms[0]->var));
    const DType t = softmax_sum(x.dtype, terms);
    const Expr *m = reduce(l, R_MAX, n, vars, NULL, load(l, x, at));
    const Expr *e = exp_(l, sub(l, load(l, x, at2), m));
    const Expr *s = cast(l, y.dtype, reduce_add(l, n, vars2, NULL, cast(l, t, e)));
    const Expr *d = sub(l, load(l, x, o), m);
    store(l, y, o, logarithm ? sub(l, d, log_(l, s)) : div_(l, exp_(l, d), s));
    kernel_end(l);
}

// 1 at the first greatest element of each line, else 0.
static void lower_hardmax(Lower *l)
{
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0}, vars[MAX_RANK] = {0}, dims[MAX_RANK] = {0},
          from[MAX_RANK] = {0}, own[MAX_RANK] = {0};
    kernel(l, "hardmax");
    par_all(l, y, o);
    uint32_t n = lines(l, x, o, at, vars), first = 0;
    while (first < x.rank && at[first] == o[first])
        first++;
    for (uint32_t i = 0; i < n; i++) {
        dims[i] = x.dims[first + i];
        own[i] = o[first + i];
    }
    Index k = red(l, ix_product(l, n, dims));
    ix_delinear(l, k, n, dims, from);
    memcpy(at, o, sizeof at);
    memcpy(at + first, from, n * sizeof *at);
    const Expr *best = reduce(l, R_ARGMAX, 1, &k, NULL, load(l, x, at));
    const Expr *hit = eq(l, best, expr_index(l->module, ix_linear(l, n, dims, own)));
    store(l, y, o, select_(l, hit, one(l, y.dtype), zero(l, y.dtype)));
    kernel_end(l);
}

const OpDef ops_softmax[] = {
    {"Softmax", 1, same_as_0, lower_softmax, {.mode = 0}, NULL},
    {"LogSoftmax", 1, same_as_0, lower_softmax, {.mode = 1}, NULL},
    {"Hardmax", 1, same_as_0, lower_hardmax, {NULL}, NULL},
    {0},
};
