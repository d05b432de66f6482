// Optimizers of ai.onnx.preview.training: Adagrad, Adam, Momentum.
//
// Inputs are R (rate), T (number of updates so far), then n tensors X, n gradients G, and n of each
// state; outputs are the new X and the new states.

#include "ir/ops/common.h"

static uint32_t group_size(const Node *n, uint32_t states)
{
    return n->nin > 2 ? (n->nin - 2) / (2 + states) : 0;
}

static void infer_optimizer(Infer *s)
{
    uint32_t states = str_is(s->n->op, "Adam") ? 2 : 1, n = group_size(s->n, states);
    if (n == 0 || s->n->nin != 2 + (2 + states) * n || s->n->nout > (1 + states) * n) {
        infer_error(s, "%u inputs and %u outputs make no whole groups of tensors", s->n->nin,
                    s->n->nout);
        return;
    }
    for (uint32_t o = 0; o < s->n->nout; o++) {
        uint32_t i = o < n ? 2 + o : 2 + n + o; // behind X stand the gradients
        infer_dtype_of(s, o, i);
        infer_same(s, o, i);
    }
    for (uint32_t i = 2; i < s->n->nin; i++) { // all of a group are alike
        const Value *x = infer_in(s, 2 + (i - 2) % n), *v = infer_in(s, i);
        if (!x || !v)
            continue;
        if (v->rank != x->rank || v->dtype != x->dtype)
            infer_error(s, "input %u has not the rank and dtype of input %u", i, 2 + (i - 2) % n);
        else if (x->rank >= 0)
            infer_fits(s, i, (uint32_t)x->rank, x->dims);
    }
}

typedef struct Update { // one tensor of the group, at one element
    DType t;
    const Expr *rate, *x, *g, *state[2]; // g with norm_coefficient * x added
    const Expr *updates;                 // T, int64
} Update;

typedef struct Updated {
    const Expr *x, *state[2];
} Updated;

typedef Updated (*Rule)(Lower *l, const Update *u);

static const Expr *scalar_of(Lower *l, uint32_t i)
{
    Tensor x = input(l, i);
    Index at[MAX_RANK] = {0};
    for (uint32_t k = 0; k < x.rank; k++)
        at[k] = ix(l, 0);
    return load(l, x, at);
}

static void lower_optimizer(Lower *l, uint32_t states, Rule rule)
{
    uint32_t n = group_size(l->n, states);
    for (uint32_t i = 0; i < n; i++) {
        Tensor x = input(l, 2 + i);
        Index o[MAX_RANK] = {0};
        kernel(l, str_escaped(l->arena, l->n->op).at);
        par_all(l, x, o);
        Update u = {.t = x.dtype, .x = load(l, x, o)};
        u.rate = cast(l, x.dtype, scalar_of(l, 0));
        u.updates = cast(l, DT_I64, scalar_of(l, 1));
        u.g = add(l, mul(l, attr_num(l, x.dtype, "norm_coefficient", 0), u.x),
                  load(l, input(l, 2 + n + i), o));
        for (uint32_t k = 0; k < states; k++)
            u.state[k] = load(l, input(l, 2 + (2 + k) * n + i), o);
        Updated v = rule(l, &u);
        if (has_output(l, i))
            store(l, output(l, i), o, v.x);
        for (uint32_t k = 0; k < states; k++)
            if (has_output(l, (1 + k) * n + i))
                store(l, output(l, (1 + k) * n + i), o, v.state[k]);
        kernel_end(l);
    }
}

// H' = H + G^2, X' = X - rate / (1 + T * decay) * G / (sqrt(H') + epsilon). Spec: Adagrad-1.
static Updated adagrad(Lower *l, const Update *u)
{
    const Expr *t = cast(l, u->t, u->updates);
    const Expr *slower = add(l, one(l, u->t), mul(l, t, attr_num(l, u->t, "decay_factor", 0)));
    const Expr *h = add(l, u->state[0], mul(l, u->g, u->g));
    const Expr *scale = add(l, sqrt_(l, h), attr_num(l, u->t, "epsilon", 0));
    const Expr *step = div_(l, mul(l, div_(l, u->rate, slower), u->g), scale);
    return (Updated){sub(l, u->x, step), {h, NULL}};
}

// V' = alpha V + (1 - alpha) G, H' = beta H + (1 - beta) G^2, and from the first update on a rate
// corrected for the zeros that V and H began with. Spec: Adam-1.
static Updated adam(Lower *l, const Update *u)
{
    DType t = u->t;
    const Expr *alpha = attr_num(l, t, "alpha", 0.9), *beta = attr_num(l, t, "beta", 0.999);
    const Expr *v = add(l, mul(l, alpha, u->state[0]), mul(l, sub(l, one(l, t), alpha), u->g));
    const Expr *h =
        add(l, mul(l, beta, u->state[1]), mul(l, sub(l, one(l, t), beta), mul(l, u->g, u->g)));
    const Expr *n = cast(l, t, u->updates);
    const Expr *corrected = div_(l, mul(l, u->rate, sqrt_(l, sub(l, one(l, t), pow_(l, beta, n)))),
                                 sub(l, one(l, t), pow_(l, alpha, n)));
    const Expr *rate = select_(l, lt(l, zero(l, DT_I64), u->updates), corrected, u->rate);
    const Expr *scale = add(l, sqrt_(l, h), attr_num(l, t, "epsilon", 0));
    const Expr *x = sub(l, u->x, div_(l, mul(l, rate, v), scale));
    const Expr *decay = sub(l, one(l, t), attr_num(l, t, "norm_coefficient_post", 0));
    return (Updated){mul(l, decay, x), {v, h}};
}

// V' = alpha V + beta G (beta only from the second update on); X' = X - rate V', or one step of
// momentum further. Spec: Momentum-1.
static Updated momentum(Lower *l, const Update *u)
{
    DType t = u->t;
    const Expr *alpha = attr_num(l, t, "alpha", 0);
    const Expr *beta =
        select_(l, lt(l, zero(l, DT_I64), u->updates), attr_num(l, t, "beta", 0), one(l, t));
    const Expr *v = add(l, mul(l, alpha, u->state[0]), mul(l, beta, u->g));
    bool nesterov = str_is(node_str(l->n, "mode", "standard"), "nesterov");
    const Expr *step = nesterov ? add(l, u->g, mul(l, alpha, v)) : v;
    return (Updated){sub(l, u->x, mul(l, u->rate, step)), {v, NULL}};
}

static void lower_adagrad(Lower *l)
{
    lower_optimizer(l, 1, adagrad);
}

static void lower_adam(Lower *l)
{
    lower_optimizer(l, 2, adam);
}

static void lower_momentum(Lower *l)
{
    Str mode = node_str(l->n, "mode", "standard");
    if (!str_is(mode, "standard") && !str_is(mode, "nesterov")) {
        Str said = str_escaped(l->arena, mode);
        not_supported(l, "Momentum with mode \"%.*s\"", STR_ARG(said));
        return;
    }
    lower_optimizer(l, 1, momentum);
}

#define TRAINING "ai.onnx.preview.training"
const OpDef ops_training[] = {
    {"Adagrad", 1, infer_optimizer, lower_adagrad, {NULL}, TRAINING},
    {"Adam", 1, infer_optimizer, lower_adam, {NULL}, TRAINING},
    {"Momentum", 1, infer_optimizer, lower_momentum, {NULL}, TRAINING},
    {0},
};
