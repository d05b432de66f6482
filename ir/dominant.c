// The model's own float dtype, by which conflicts are decided.

#include "ir/infer.h"

static DType float_or_none(int32_t t)
{
    return t > 0 && t < DT_COUNT && dtype_is_float((DType)t) ? (DType)t : DT_NONE;
}

// A single number is no weight: it is written with whatever it is used with.
static void count_weight(const TensorData *t, uint64_t *bytes, uint64_t *count)
{
    DType d = float_or_none(t->dtype);
    uint64_t n = tensor_count(t);
    if (d == DT_NONE || n == UINT64_MAX || n < 2)
        return;
    bytes[d] += n * dtype_info(d)->bytes;
    count[d]++;
}

static void count_declared(const Model *m, const ValueInfo *at, uint32_t n, uint64_t *count)
{
    for (uint32_t i = 0; i < n; i++)
        if (at[i].type && at[i].type->kind == TYPE_TENSOR && !value_at(m, at[i].value)->init)
            count[float_or_none(at[i].type->elem)]++;
}

static DType greatest(const uint64_t *of)
{
    DType best = DT_NONE;
    for (int t = 1; t < DT_COUNT; t++)
        if (of[t] > of[best])
            best = (DType)t;
    return best;
}

// Made by inlining: what it holds is counted where the function has it.
static bool is_copy(const Model *m, GraphId g)
{
    NodeId owner = graph_at(m, g)->owner;
    return owner && node_at(m, owner)->copy_of;
}

// The float dtype that most bytes of the weights (initializers, Constants) have. One weight of a
// wrong dtype may outweigh all others, most of all in float64: what only one weight has is the
// model's own only where no more of its weights, inputs and outputs have another, and float64 only
// where fewer have any other.
// A model without weights is of float32, unless more of its inputs and outputs are of another.
DType infer_dominant_dtype(const Model *m)
{
    uint64_t bytes[DT_COUNT] = {0}, count[DT_COUNT] = {0};
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; !is_copy(m, g) && i < graph_at(m, g)->initializers.len; i++)
            count_weight(graph_at(m, g)->initializers.at[i].data, bytes, count);
    for (NodeId n = 1; n < m->nodes.len; n++) {
        const Node *node = node_at(m, n);
        bool counts = !node->dead && !node->copy_of && node_is(node, "Constant");
        const Attr *a = counts ? attr_find(node, "value") : NULL;
        if (a && a->t)
            count_weight(a->t, bytes, count);
    }
    bytes[DT_NONE] = 0;
    DType best = greatest(bytes);
    best = best == DT_NONE ? DT_F32 : best;
    if (!m->main || (best != DT_F64 && count[best] > 1))
        return best;
    const Graph *g = graph_at(m, m->main);
    count_declared(m, g->inputs.at, g->inputs.len, count);
    count_declared(m, g->outputs.at, g->outputs.len, count);
    count[DT_NONE] = 0;
    DType most = greatest(count);
    return count[most] > count[best] || (best == DT_F64 && count[most] == count[best]) ? most
                                                                                       : best;
}
