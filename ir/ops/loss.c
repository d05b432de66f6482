// Losses: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.

#include "ir/ops/common.h"

#include <string.h>

// Shape of what is not reduced: the target's.
static void infer_loss(Infer *s)
{
    const Value *x = infer_in(s, 0), *t = infer_in(s, 1);
    Index dims[MAX_RANK] = {0};
    if (x && x->rank >= 2) {
        for (int32_t i = 0; i + 1 < x->rank; i++)
            dims[i] = x->dims[i ? i + 1 : 0];
        infer_fits(s, 1, (uint32_t)x->rank - 1, dims);
        infer_fits(s, 2, 1, &x->dims[1]);
        if (t && t->rank >= 0 && t->rank + 1 != x->rank)
            infer_error(s, "the target has rank %d, not %d: that of the input without classes",
                        t->rank, x->rank - 1);
    }
    if (str_is(node_str(s->n, "reduction", "mean"), "none")) {
        if (t && t->rank >= 0)
            infer_shape(s, 0, (uint32_t)t->rank, t->dims);
    } else {
        infer_shape(s, 0, 0, NULL);
    }
    infer_same(s, 1, 0);
}

// The weight of a target: 0 where it is ignored, its class's weight, or 1.
static const Expr *weight_of(Lower *l, const Expr *target, DType t)
{
    const Expr *w = one(l, t);
    if (has_input(l, 2)) {
        const Expr *valid = target;
        if (node_has_attr(l->n, "ignore_index"))
            valid = select_(l, eq(l, target, int_(l, DT_I64, node_int(l->n, "ignore_index", 0))),
                            zero(l, DT_I64), target);
        Index at[1] = {to_index(l, valid)};
        w = cast(l, t, load(l, input(l, 2), at));
    }
    if (node_has_attr(l->n, "ignore_index"))
        w = select_(l, eq(l, target, int_(l, DT_I64, node_int(l->n, "ignore_index", 0))),
                    zero(l, t), w);
    return w;
}

// Each target is a class, or the one that is ignored.
static void check_targets(Lower *l, Tensor target, Index classes)
{
    Index vars[MAX_RANK] = {0};
    for (uint32_t i = 0; i < target.rank; i++)
        vars[i] = red(l, target.dims[i]);
    const Expr *k = cast(l, DT_I64, load(l, target, vars));
    const Expr *ok = both(l, le(l, zero(l, DT_I64), k), lt(l, k, expr_index(l->module, classes)));
    if (node_has_attr(l->n, "ignore_index"))
        ok = or_(l, ok, eq(l, k, int_(l, DT_I64, node_int(l->n, "ignore_index", 0))));
    check(l, reduce(l, R_AND, target.rank, vars, NULL, ok), "%.*s: a target is no class",
          STR_ARG(str_escaped(l->arena, l->n->op)));
}

// -weight * log_prob[target] summed, averaged by weight, or left as it is. log_prob: [N, C, d...].
static void lower_likelihood(Lower *l, Tensor log_prob)
{
    Tensor target = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    Str how = node_str(l->n, "reduction", "mean");
    DType t = accumulator(y.dtype);
    bool none = str_is(how, "none");
    if (!y.buffer)
        return;
    check_targets(l, target, log_prob.dims[1]);
    kernel(l, "likelihood");
    if (none)
        par_all(l, y, o);
    const Expr *total = NULL, *weights = NULL;
    for (int pass = 0; pass < (none || str_is(how, "sum") ? 1 : 2); pass++) {
        for (uint32_t i = 0; !none && i < target.rank; i++)
            o[i] = red(l, target.dims[i]);
        const Expr *k = cast(l, DT_I64, load(l, target, o)), *w = weight_of(l, k, t);
        at[0] = o[0];
        for (uint32_t i = 1; i < target.rank; i++)
            at[i + 1] = o[i];
        const Expr *place = k;
        if (node_has_attr(l->n, "ignore_index")) // it need not be a class at all
            place = select_(l, eq(l, k, int_(l, DT_I64, node_int(l->n, "ignore_index", 0))),
                            zero(l, DT_I64), k);
        at[1] = to_index(l, place);
        const Expr *e = neg(l, mul(l, cast(l, t, load(l, log_prob, at)), w));
        if (pass)
            weights = reduce_add(l, target.rank, o, NULL, w);
        else
            total = none ? e : reduce_add(l, target.rank, o, NULL, e);
    }
    store(l, y, none ? o : NULL, cast(l, y.dtype, weights ? div_(l, total, weights) : total));
    kernel_end(l);
}

static void lower_nll(Lower *l)
{
    lower_likelihood(l, input(l, 0));
}

static void lower_cross_entropy(Lower *l)
{
    Tensor x = input(l, 0), p = output(l, 1);
    Index o[MAX_RANK] = {0}, at[MAX_RANK] = {0};
    DType t = accumulator(x.dtype);
    if (!p.buffer)
        p = temp(l, "log_prob", x.dtype, x.rank, x.dims);
    kernel(l, "log_softmax");
    par_all(l, p, o);
    memcpy(at, o, sizeof at);
    Index v = at[1] = red(l, x.dims[1]);
    const Expr *m = reduce(l, R_MAX, 1, &v, NULL, cast(l, t, load(l, x, at)));
    v = at[1] = red(l, x.dims[1]);
    const Expr *s = reduce_add(l, 1, &v, NULL, exp_(l, sub(l, cast(l, t, load(l, x, at)), m)));
    store(l, p, o, cast(l, p.dtype, sub(l, sub(l, cast(l, t, load(l, x, o)), m), log_(l, s))));
    kernel_end(l);
    lower_likelihood(l, p);
}

const OpDef ops_loss[] = {
    {"NegativeLogLikelihoodLoss", 12, infer_loss, lower_nll, {NULL}, NULL},
    {"SoftmaxCrossEntropyLoss", 12, infer_loss, lower_cross_entropy, {NULL}, NULL},
    {0},
};
