// Values that are rounded, or taken from a node in float64, where an input of the program says so.

#include "ir/ops/trial.h"
#include "ir/lower.h"

// modes[at], the operand after `before` others.
static const Expr *mode_of(Lower *l, uint32_t before)
{
    Index at[1] = {ix(l, node_int(l->n, "at", 0))};
    return load(l, input(l, before), at);
}

static const Expr *is_mode(Lower *l, const Expr *mode, TrialMode m)
{
    return eq(l, mode, int_(l, DT_U8, m));
}

static bool takes_modes(Lower *l, uint32_t before)
{
    Tensor modes = input(l, before);
    if (modes.buffer && modes.rank == 1 && modes.dtype == DT_U8 && l->n->nin == before + 1)
        return true;
    lower_unfit(l, "modes of values are expected");
    return false;
}

static void lower_round_to(Lower *l)
{
    static const DType dtypes[] = {
        [TRIAL_F16] = DT_F16, [TRIAL_BF16] = DT_BF16, [TRIAL_F32] = DT_F32};
    Tensor x = input(l, 0), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    if (!takes_modes(l, 1))
        return;
    kernel(l, "round_to");
    par_all(l, y, o);
    const Expr *v = load(l, x, o), *rounded = v;
    for (TrialMode m = TRIAL_F16; m <= TRIAL_F32 && node_dtype(l->n, "to", DT_NONE) != DT_F64; m++)
        rounded = select_(l, is_mode(l, mode_of(l, 1), m),
                          cast(l, x.dtype, cast(l, DT_F32, cast(l, dtypes[m], v))), rounded);
    store(l, y, o, rounded);
    kernel_end(l);
}

static void infer_as_it_is(Infer *s)
{
    const Value *x = infer_in(s, 0);
    same_as_0(s);
    if (x)
        infer_dtype(s, 0, x->dtype);
}

static void infer_choose(Infer *s)
{
    const Value *a = infer_in(s, 0), *b = infer_in(s, 1);
    infer_as_it_is(s);
    for (int32_t k = 0; a && b && a->rank == b->rank && k < a->rank; k++)
        infer_require(s, a->dims[k], b->dims[k]);
}

static void lower_choose(Lower *l)
{
    Tensor a = input(l, 0), b = input(l, 1), y = output(l, 0);
    Index o[MAX_RANK] = {0};
    if (!takes_modes(l, 2))
        return;
    if (a.dtype != b.dtype || a.rank != b.rank) {
        lower_unfit(l, "two values of one shape and dtype are expected");
        return;
    }
    kernel(l, "choose");
    par_all(l, y, o);
    store(l, y, o, select_(l, is_mode(l, mode_of(l, 2), TRIAL_WIDE), load(l, b, o), load(l, a, o)));
    kernel_end(l);
}

const OpDef ops_trial[] = {
    {ROUND_TO_OP, 1, infer_as_it_is, lower_round_to, {NULL}, "cameo"},
    {CHOOSE_OP, 1, infer_choose, lower_choose, {NULL}, "cameo"},
    {0},
};
