#include "passes/verify.h"

static bool fault(const Model *m, Diags *diags, NodeId n, const char *what, uint32_t id)
{
    diag(diags, "VERIFY", SEV_ERROR, location_node(m, m->arena, n), "%s %u", what, id);
    return false;
}

static bool verify_node(const Model *m, NodeId id, GraphId g, Diags *diags)
{
    const Node *n = node_at(m, id);
    if (n->dead)
        return fault(m, diags, id, "a removed node is listed in graph", g);
    if (n->graph != g)
        return fault(m, diags, id, "the node is listed in another graph,", g);
    for (uint32_t i = 0; i < n->nin; i++)
        if (n->in[i] >= m->values.len)
            return fault(m, diags, id, "no value for operand", i);
    for (uint32_t i = 0; i < n->nout; i++) {
        if (n->out[i] >= m->values.len)
            return fault(m, diags, id, "no value for result", i);
        const Value *v = value_at(m, n->out[i]);
        if (n->out[i] && (v->def != DEF_NODE || v->node != id || v->index != i))
            return fault(m, diags, id, "another definition for result", i);
    }
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (n->attrs[i].g >= m->graphs.len)
            return fault(m, diags, id, "no graph for attribute", i);
    return true;
}

bool verify_model(const Model *m, Diags *diags)
{
    for (GraphId g = 1; g < m->graphs.len; g++) {
        const Graph *graph = graph_at(m, g);
        for (uint32_t i = 0; i < graph->nodes.len; i++)
            if (graph->nodes.at[i] >= m->nodes.len || !verify_node(m, graph->nodes.at[i], g, diags))
                return false;
        for (uint32_t i = 0; i < graph->outputs.len; i++)
            if (graph->outputs.at[i].value >= m->values.len)
                return fault(m, diags, graph->owner, "no value for output", i);
    }
    return true;
}
