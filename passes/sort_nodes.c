// Stable topological order: a node moves behind what it needs and no further (Kahn's algorithm with
// the file's order as the priority). Nodes on a cycle stay where they are, behind the others.

#include "passes/pass.h"

#include <string.h>

typedef struct Sorter {
    const Model *m;
    GraphId g;
    unsigned char *done; // by value: defined already, or not defined by this graph's nodes
    bool ready;
} Sorter;

static void visit_operand(Sorter *s, ValueId v)
{
    const Value *value = value_at(s->m, v);
    if (v && value->def == DEF_NODE && value->graph == s->g && !s->done[v])
        s->ready = false;
}

static void visit_inner(void *context, NodeId n)
{
    const Node *node = node_at(((Sorter *)context)->m, n);
    for (uint32_t i = 0; i < node->nin; i++)
        visit_operand(context, node->in[i]);
}

static void visit_graph(Sorter *s, GraphId g)
{
    if (!g)
        return;
    graph_walk(s->m, g, visit_inner, s);
    for (uint32_t i = 0; i < graph_at(s->m, g)->outputs.len; i++)
        visit_operand(s, graph_at(s->m, g)->outputs.at[i].value);
}

static bool is_ready(Sorter *s, NodeId id)
{
    const Node *n = node_at(s->m, id);
    s->ready = true;
    for (uint32_t i = 0; i < n->nin; i++)
        visit_operand(s, n->in[i]);
    for (uint32_t i = 0; i < n->nattrs && s->ready; i++) {
        visit_graph(s, n->attrs[i].g);
        for (uint32_t k = 0; k < n->attrs[i].ngraphs; k++)
            visit_graph(s, n->attrs[i].graphs[k]);
    }
    return s->ready;
}

static void sort_graph(Model *m, GraphId g, unsigned char *done, Arena *scratch)
{
    Graph *graph = graph_at(m, g);
    uint32_t n = graph->nodes.len, out = 0;
    NodeId *order = NEWS(scratch, NodeId, n);
    unsigned char *placed = NEWS(scratch, unsigned char, n);
    Sorter s = {m, g, done, true};
    uint32_t first = 0;
    for (bool moved = true; moved && out < n;) {
        moved = false;
        for (uint32_t i = first; i < n; i++) {
            if (placed[i] || !is_ready(&s, graph->nodes.at[i]))
                continue;
            const Node *node = node_at(m, graph->nodes.at[i]);
            for (uint32_t k = 0; k < node->nout; k++)
                done[node->out[k]] = 1;
            placed[i] = 1;
            order[out++] = graph->nodes.at[i];
            moved = true;
        }
        while (first < n && placed[first])
            first++;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!placed[i])
            order[out++] = graph->nodes.at[i];
    if (n)
        memcpy(graph->nodes.at, order, n * sizeof *order);
}

bool pass_sort_nodes(Model *m, PassContext *c)
{
    (void)c;
    Arena *scratch = arena_new();
    unsigned char *done = NEWS(scratch, unsigned char, m->values.len);
    for (GraphId g = 1; g < m->graphs.len; g++)
        sort_graph(m, g, done, scratch);
    arena_free(scratch);
    return true;
}
