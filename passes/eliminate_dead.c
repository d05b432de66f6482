// Removes nodes whose results nobody uses, from the last to the first, so that chains go in one
// sweep.

#include "passes/pass.h"

typedef struct Counter {
    const Model *m;
    uint32_t *uses; // by value
} Counter;

static void count_node(void *context, NodeId n)
{
    Counter *c = context;
    const Node *node = node_at(c->m, n);
    for (uint32_t i = 0; i < node->nin; i++)
        c->uses[node->in[i]]++;
}

static void count_outputs(Counter *c)
{
    for (GraphId g = 1; g < c->m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(c->m, g)->outputs.len; i++)
            c->uses[graph_at(c->m, g)->outputs.at[i].value]++;
}

static bool is_used(const Counter *c, const Node *n)
{
    for (uint32_t i = 0; i < n->nout; i++)
        if (n->out[i] && c->uses[n->out[i]])
            return true;
    return n->nout == 0;
}

static void drop_operand(void *context, NodeId n)
{
    Counter *c = context;
    const Node *node = node_at(c->m, n);
    for (uint32_t i = 0; i < node->nin; i++)
        c->uses[node->in[i]]--;
}

static void remove_node(Model *m, Counter *c, NodeId id)
{
    const Node *n = node_at(m, id);
    drop_operand(c, id);
    for (uint32_t i = 0; i < n->nattrs; i++) {
        GraphId g = n->attrs[i].g;
        if (!g)
            continue;
        graph_walk(m, g, drop_operand, c);
        for (uint32_t k = 0; k < graph_at(m, g)->outputs.len; k++)
            c->uses[graph_at(m, g)->outputs.at[k].value]--;
    }
    graph_remove(m, id);
}

bool pass_eliminate_dead(Model *m, PassContext *context)
{
    (void)context;
    Arena *scratch = arena_new();
    Counter c = {m, NEWS(scratch, uint32_t, m->values.len)};
    for (GraphId g = 1; g < m->graphs.len; g++)
        if (graph_at(m, g)->parent == 0 && graph_at(m, g)->owner == 0)
            graph_walk(m, g, count_node, &c);
    count_outputs(&c);
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = graph_at(m, g)->nodes.len; i-- > 0;) {
            NodeId n = graph_at(m, g)->nodes.at[i];
            if (!is_used(&c, node_at(m, n)))
                remove_node(m, &c, n);
        }
    arena_free(scratch);
    return true;
}
