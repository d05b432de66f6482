// Removes nodes whose results nobody uses, and results of an If that nobody uses.
//
// From the last node to the first and from inner graphs to outer ones, so that chains go in one
// sweep; what a branch need not give any more goes in the next.

#include "ir/registry.h"
#include "passes/pass.h"

enum { MAX_SWEEPS = 16 };

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
        for (uint32_t i = 0; graph_live(c->m, g) && i < graph_at(c->m, g)->outputs.len; i++)
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

// An If keeps the outputs that somebody uses; true if one went.
static bool drop_outputs(Model *m, Counter *c, NodeId id)
{
    Node *n = node_at(m, id);
    GraphId branch[2] = {node_graph(n, "then_branch"), node_graph(n, "else_branch")};
    uint32_t kept = 0, given = n->nout;
    if (!node_is(n, "If") || !branch[0] || !branch[1] ||
        graph_at(m, branch[0])->outputs.len != given ||
        graph_at(m, branch[1])->outputs.len != given)
        return false;
    for (uint32_t o = 0; o < given; o++) {
        bool used = n->out[o] && c->uses[n->out[o]];
        for (int b = 0; b < 2; b++) {
            ValueInfo *outputs = graph_at(m, branch[b])->outputs.at;
            if (used)
                outputs[kept] = outputs[o];
            else
                c->uses[outputs[o].value]--;
        }
        if (!used)
            continue;
        value_at(m, n->out[o])->index = kept;
        n->out[kept++] = n->out[o];
    }
    n->nout = graph_at(m, branch[0])->outputs.len = graph_at(m, branch[1])->outputs.len = kept;
    return kept < given;
}

static bool sweep(Model *m, Counter *c)
{
    bool any = false;
    for (GraphId g = m->graphs.len; g-- > 1;) {
        if (!graph_live(m, g))
            continue;
        for (uint32_t i = graph_at(m, g)->nodes.len; i-- > 0;) {
            NodeId n = graph_at(m, g)->nodes.at[i];
            if (is_used(c, node_at(m, n))) {
                any |= drop_outputs(m, c, n);
                continue;
            }
            remove_node(m, c, n);
            any = true;
        }
    }
    return any;
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
    for (int i = 0; i < MAX_SWEEPS && sweep(m, &c); i++)
        ;
    arena_free(scratch);
    return true;
}
