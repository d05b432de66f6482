// Gradient. Spec: ai.onnx.preview.training 1. passes/bind_gradients.c gives it a copy of the nodes
// between xs and y to differentiate; ir/adjoint.c does that on their kernels.

#include "ir/ops/gradient.h"
#include "ir/adjoint.h"
#include "ir/lower_state.h"

#include <string.h>

bool node_is_training(const Node *n, const char *op)
{
    return str_is(n->op, op) && str_is(n->domain, TRAINING_DOMAIN);
}

bool node_is_gradient(const Node *n)
{
    return node_is_training(n, "Gradient");
}

bool model_has_gradient(const Model *m)
{
    for (NodeId n = 1; n < m->nodes.len; n++)
        if (!node_at(m, n)->dead && node_is_gradient(node_at(m, n)))
            return true;
    return false;
}

uint32_t optimizer_group(const Node *n)
{
    bool one = node_is_training(n, "Adagrad") || node_is_training(n, "Momentum");
    uint32_t states = node_is_training(n, "Adam") ? 2 : one ? 1 : 0;
    bool whole = states && n->nin > 2 && (n->nin - 2) % (2 + states) == 0;
    return whole ? (n->nin - 2) / (2 + states) : 0;
}

bool node_is_variable(const Node *n)
{
    return node_is_training(n, VARIABLE_OP);
}

bool may_be_derived(const Lower *l)
{
    return l->state->written_out || model_has_gradient(l->model);
}

bool gradient_is_bound(const Node *n, uint32_t *nxs, uint32_t *nzs)
{
    const Attr *xs = attr_find(n, "xs"), *zs = attr_find(n, "zs");
    *nxs = xs ? xs->nstrings : 0;
    *nzs = zs ? zs->nstrings : 0;
    return n->nin == (uint64_t)*nxs + *nzs + 1;
}

static void infer_gradient(Infer *s)
{
    uint32_t nxs, nzs;
    gradient_is_bound(s->n, &nxs, &nzs);
    for (uint32_t o = 0; o < s->n->nout && o < nxs && o < s->n->nin; o++) {
        infer_dtype_of(s, o, o);
        infer_same(s, o, o);
    }
}

static void store_gradient(Lower *l, Tensor to, Tensor from)
{
    Index o[MAX_RANK] = {0};
    if (from.buffer) {
        copy_tensor(l, to, from);
        return;
    }
    kernel(l, "no_gradient");
    par_all(l, to, o);
    store(l, to, o, zero(l, to.dtype));
    kernel_end(l);
}

static void lower_gradient(Lower *l)
{
    uint32_t nxs, nzs;
    if (!gradient_is_bound(l->n, &nxs, &nzs) || nxs == 0 || l->n->nout > nxs) {
        not_supported(l, "Gradient of tensors that are not found by xs, zs and y");
        return;
    }
    Tensor y = input(l, nxs + nzs), *x = NEWS(l->arena, Tensor, nxs),
           *grads = NEWS(l->arena, Tensor, nxs);
    bool floats = dtype_is_float(y.dtype);
    for (uint32_t i = 0; i < nxs; i++) {
        x[i] = input(l, i);
        floats = floats && dtype_is_float(x[i].dtype);
    }
    if (!floats) {
        not_supported(l, "Gradient of integers");
        return;
    }
    if (!adjoint_of_steps(l, y, nxs, x, grads))
        return;
    for (uint32_t o = 0; o < l->n->nout; o++)
        if (has_output(l, o))
            store_gradient(l, output(l, o), grads[o]);
}

static void infer_variable(Infer *s)
{
    same_as_0(s);
    infer_dtype_of(s, 0, 0);
}

static const Expr *same(Lower *l, const Expr *x)
{
    (void)l;
    return x;
}

const OpDef ops_gradient[] = {
    {"Gradient", 1, infer_gradient, lower_gradient, {NULL}, TRAINING_DOMAIN},
    {VARIABLE_OP, 1, infer_variable, UNARY(same), TRAINING_DOMAIN},
    {0},
};
