// The model's own float dtype, by which conflicts are decided.

#include "ir/infer.h"

static DType float_or_none(int32_t t)
{
    return t > 0 && t < DT_COUNT && dtype_is_float((DType)t) ? (DType)t : DT_NONE;
}

typedef struct Counts {
    uint64_t bytes[DT_COUNT], weights[DT_COUNT], declared[DT_COUNT];
    bool has_matrix; // does a weight extend along two axes or more?
} Counts;

// A single number is no weight: it is written with whatever it is used with.
static void count_weight(const TensorData *t, Counts *c)
{
    DType d = float_or_none(t->dtype);
    uint64_t n = tensor_count(t);
    uint32_t axes = 0;
    if (d == DT_NONE || n == UINT64_MAX || n < 2)
        return;
    c->bytes[d] += n * dtype_info(d)->bytes;
    c->weights[d]++;
    for (uint32_t i = 0; i < t->rank; i++)
        axes += t->dims[i] > 1;
    c->has_matrix |= axes > 1;
}

// Returns how many are declared of floats.
static uint64_t count_declared(const Model *m, const ValueInfo *at, uint32_t n, Counts *c)
{
    uint64_t floats = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!at[i].type || at[i].type->kind != TYPE_TENSOR || value_at(m, at[i].value)->init)
            continue;
        DType d = float_or_none(at[i].type->elem);
        c->declared[d] += d != DT_NONE;
        floats += d != DT_NONE;
    }
    return floats;
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

static void count_weights(const Model *m, Counts *c)
{
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; !is_copy(m, g) && i < graph_at(m, g)->initializers.len; i++)
            count_weight(graph_at(m, g)->initializers.at[i].data, c);
    for (NodeId n = 1; n < m->nodes.len; n++) {
        const Node *node = node_at(m, n);
        bool counts = !node->dead && !node->copy_of && node_is(node, "Constant");
        const Attr *a = counts ? attr_find(node, "value") : NULL;
        if (a && a->t)
            count_weight(a->t, c);
    }
}

// The float dtype that most bytes of the weights (initializers, Constants) have. One weight of a
// wrong dtype may outweigh all others, most of all in float64: what only one weight has is the
// model's own only where no more of its weights, inputs and outputs have another, and float64 only
// where fewer have any other. Scales and offsets of channels are left in another dtype than all
// else, or kept in it, by many a converter: without a weight of two axes it is the dtype that
// inputs and outputs agree on, if that is not float64.
// A model without weights is of float32, unless more of its inputs and outputs are of another.
DType infer_dominant_dtype(const Model *m)
{
    Counts c = {0};
    count_weights(m, &c);
    DType best = greatest(c.bytes);
    best = best == DT_NONE ? DT_F32 : best;
    if (!m->main || (best != DT_F64 && c.weights[best] > 1 && c.has_matrix))
        return best;
    const Graph *g = graph_at(m, m->main);
    const uint64_t in = count_declared(m, g->inputs.at, g->inputs.len, &c);
    const uint64_t out = count_declared(m, g->outputs.at, g->outputs.len, &c);
    DType most = greatest(c.declared);
    if (!c.has_matrix && in && out && most != DT_F64 && c.declared[most] == in + out)
        return most;
    if (best != DT_F64 && c.weights[best] > 1)
        return best;
    for (int t = 1; t < DT_COUNT; t++)
        c.declared[t] += c.weights[t];
    most = greatest(c.declared);
    return c.declared[most] > c.declared[best] ||
                   (best == DT_F64 && c.declared[most] == c.declared[best])
               ? most
               : best;
}
