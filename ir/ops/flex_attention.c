// FlexAttention: attention with two subgraphs of the model in it, on the scores and on the
// probabilities. Their nodes are lowered where they stand; any body is allowed.
//
//     s = score_mod(Q K' scale)    p = prob_mod(softmax(s))    y = p V
//
// Scores are rounded to the tensors' type, and from there on all is in softmax_precision.
// Spec: FlexAttention-1 of ai.onnx.preview.

#include "ir/ops/common.h"

#include <math.h>

static DType precision_of(const Node *n, DType t)
{
    return node_dtype(n, "softmax_precision", t == DT_F64 ? DT_F64 : DT_F32);
}

// ---- shapes

static void infer_body(Infer *s, const char *name, DType t, const Index *dims)
{
    GraphId g = node_graph(s->n, name);
    if (!g)
        return;
    if (graph_at(s->model, g)->inputs.len != 1 || graph_at(s->model, g)->outputs.len != 1) {
        infer_error(s, "%s has not one input and one output", name);
        return;
    }
    ValueId inner = graph_at(s->model, g)->inputs.at[0].value;
    infer_value(s, inner, t, 4, dims);
    Value *v = value_at(s->model, inner);
    v->why_dtype = v->why_shape = (Why){.kind = WHY_OPERAND, .node = s->node, .from = s->n->in[0]};
    infer_graph(s, g);
    NodeId failing = infer_failing_node(s->model, g);
    if (failing) {
        const Node *n = node_at(s->model, failing);
        infer_error(s, "%.*s in %s: %.*s", STR_ARG(str_escaped(s->arena, n->op)), name,
                    STR_ARG(n->fault));
        return;
    }
    v = value_at(s->model, graph_at(s->model, g)->outputs.at[0].value);
    if (v->rank >= 0 && v->rank != 4)
        infer_error(s, "%s gives rank %d, not 4", name, v->rank);
    for (int32_t i = 0; v->rank == 4 && i < 4; i++)
        if (!infer_require(s, v->dims[i], dims[i]))
            infer_error(s, "%s changes dimension %d", name, i);
}

static void infer_flex(Infer *s)
{
    const Value *q = infer_in(s, 0), *k = infer_in(s, 1), *v = infer_in(s, 2);
    if (!q || !k || !v || q->rank != 4 || k->rank != 4 || v->rank != 4 || q->dtype == DT_NONE)
        return;
    Index all[4] = {q->dims[0], q->dims[1], q->dims[2], k->dims[2]};
    Index y[4] = {q->dims[0], q->dims[1], q->dims[2], v->dims[3]};
    Index *qd = q->dims, *kd = k->dims;
    DType t = precision_of(s->n, q->dtype);
    if (!dtype_is_float(t)) {
        infer_error(s, "softmax_precision is no float type");
        return;
    }
    infer_fits(s, 1, 4, (Index[]){qd[0], NULL, NULL, qd[3]});
    infer_fits(s, 2, 4, (Index[]){qd[0], kd[1], kd[2], NULL});
    infer_shape(s, 0, 4, y);
    infer_body(s, "score_mod", t, all);
    infer_body(s, "prob_mod", t, all);
}

// ---- kernels

// x after the body; x itself where there is none. No buffer where that is refused.
static Tensor through_body(Lower *l, const char *name, Tensor x)
{
    GraphId g = node_graph(l->n, name);
    if (!g)
        return x;
    bind_value(l, graph_at(l->model, g)->inputs.at[0].value, x);
    lower_graph(l, g);
    Tensor y = tensor_of_value(l, graph_at(l->model, g)->outputs.at[0].value);
    if (y.buffer && y.dtype == x.dtype && y.rank == 4) {
        for (uint32_t i = 0; i < 4; i++)
            check(l, index_eq(l, y.dims[i], x.dims[i]), "FlexAttention: %s changes the shape",
                  name);
        return y;
    }
    if (y.buffer)
        not_supported(l, "FlexAttention whose %s changes rank or dtype", name);
    return (Tensor){0};
}

// Both factors carry a root of the scale, the key its sign too.
static Tensor lower_scores(Lower *l, Tensor q, Tensor k, Index group, DType precision)
{
    Index dims[4] = {q.dims[0], q.dims[1], q.dims[2], k.dims[2]}, o[MAX_RANK] = {0};
    Tensor s = temp(l, "scores", precision, 4, dims);
    DType t = q.dtype, acc = accumulator(t);
    double scale = node_float(l->n, "scale", 0);
    kernel(l, "flex_scores");
    par_all(l, s, o);
    const Expr *root = num(l, DT_F32, sqrt(fabs(scale)));
    if (!node_has_attr(l->n, "scale"))
        root = sqrt_(l, cast(l, DT_F32,
                             div_(l, one(l, DT_F64), sqrt_(l, from_index(l, q.dims[3], DT_F64)))));
    root = cast(l, t, root);
    Index c = red(l, q.dims[3]);
    const Expr *a = mul(l, load(l, q, (Index[]){o[0], o[1], o[2], c}), root),
               *b = load(l, k, (Index[]){o[0], ix_div(l, o[1], group), o[3], c});
    b = mul(l, b, scale < 0 ? neg(l, root) : root);
    const Expr *e = reduce_add(l, 1, &c, NULL, mul(l, cast(l, acc, a), cast(l, acc, b)));
    store(l, s, o, cast(l, precision, cast(l, t, e)));
    kernel_end(l);
    return s;
}

static Tensor lower_probabilities(Lower *l, Tensor s)
{
    Tensor p = temp(l, "probabilities", s.dtype, 4, s.dims);
    DType acc = accumulator(s.dtype);
    Index o[MAX_RANK] = {0}, j = red(l, s.dims[3]);
    kernel(l, "flex_softmax");
    par_all(l, p, o);
    Index at[4] = {o[0], o[1], o[2], j};
    const Expr *m = reduce(l, R_MAX, 1, &j, NULL, load(l, s, at));
    j = at[3] = red(l, s.dims[3]);
    const Expr *e = cast(l, acc, exp_(l, sub(l, load(l, s, at), m)));
    const Expr *sum = cast(l, s.dtype, reduce_add(l, 1, &j, NULL, e));
    store(l, p, o, div_(l, exp_(l, sub(l, load(l, s, o), m)), sum));
    kernel_end(l);
    return p;
}

static void lower_product(Lower *l, Tensor p, Tensor v, Index group)
{
    Tensor y = output(l, 0);
    DType acc = accumulator(p.dtype);
    Index o[MAX_RANK] = {0}, j = red(l, p.dims[3]);
    kernel(l, "flex_result");
    par_all(l, y, o);
    const Expr *a = load(l, p, (Index[]){o[0], o[1], o[2], j}),
               *b = load(l, v, (Index[]){o[0], ix_div(l, o[1], group), j, o[3]});
    b = cast(l, acc, cast(l, p.dtype, b));
    const Expr *e = reduce_add(l, 1, &j, NULL, mul(l, cast(l, acc, a), b));
    store(l, y, o, cast(l, y.dtype, cast(l, p.dtype, e)));
    kernel_end(l);
}

static void lower_flex(Lower *l)
{
    Tensor q = input(l, 0), k = input(l, 1), v = input(l, 2);
    DType precision = precision_of(l->n, q.dtype);
    if (q.rank != 4 || k.rank != 4 || v.rank != 4) {
        not_supported(l, "FlexAttention with operands of other ranks than 4");
        return;
    }
    if (precision != DT_F16 && precision != DT_BF16 && precision != DT_F32 && precision != DT_F64) {
        not_supported(l, "FlexAttention with softmax_precision %d", (int)precision);
        return;
    }
    // At least 1, so that nothing divides by zero where there are no heads.
    Index least = ix(l, 1), group = ix_div(l, q.dims[1], ix_max(l, k.dims[1], least));
    check(l, index_eq(l, ix_mul(l, group, k.dims[1]), q.dims[1]),
          "FlexAttention: the query's heads are no multiple of the key's");
    group = ix_max(l, group, least);
    Tensor s = through_body(l, "score_mod", lower_scores(l, q, k, group, precision));
    if (!s.buffer)
        return;
    Tensor p = through_body(l, "prob_mod", lower_probabilities(l, s));
    if (p.buffer)
        lower_product(l, p, v, group);
}

const OpDef ops_flex_attention[] = {
    {"FlexAttention", 1, infer_flex, lower_flex, {NULL}, "ai.onnx.preview"},
    {0},
};
