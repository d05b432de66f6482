// ReverseSequence: lines of a batch, each turned around up to its own length.

#include "ir/ops/common.h"

#include <string.h>

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
    {"ReverseSequence", 10, infer_reverse_sequence, lower_reverse_sequence, {NULL}, NULL},
    {0},
};
