// Nodes in order of execution.
//
// A node comes after those that make what it, or a graph inside it, uses. Of the nodes that may
// come next the one that stood first comes first, so a sorted graph stays as it is.
#include "ir/graph.h"

#include <string.h>

// Edges between nodes of one graph: to[first[n]] .. to[first[n + 1] - 1] wait for n.
typedef struct Edges {
    uint32_t *first, *to, *waits; // waits[n]: how many nodes n waits for
} Edges;

// Calls for each pair of a node and one that waits for it; a value from an outer graph is waited
// for by the node there that holds the graph of the use.
static void use_edge(const Model *m, ValueId v, GraphId g, NodeId user,
                     void (*need)(void *context, NodeId from, NodeId to, ValueId v), void *context)
{
    const Value *value = value_at(m, v);
    if (value->def != DEF_NODE)
        return;
    while (g && g != value->graph) {
        user = graph_at(m, g)->owner;
        g = user ? node_at(m, user)->graph : 0;
    }
    if (g && user && !node_at(m, user)->dead) // graphs that a removed node held are still listed
        need(context, value->node, user, v);
}

void model_each_need(const Model *m, void (*need)(void *context, NodeId from, NodeId to, ValueId v),
                     void *context)
{
    for (GraphId g = 1; g < m->graphs.len; g++) {
        const Graph *graph = graph_at(m, g);
        for (uint32_t i = 0; i < graph->nodes.len; i++) {
            const Node *n = node_at(m, graph->nodes.at[i]);
            for (uint32_t k = 0; k < n->nin; k++)
                use_edge(m, n->in[k], g, graph->nodes.at[i], need, context);
        }
        for (uint32_t k = 0; k < graph->outputs.len; k++)
            use_edge(m, graph->outputs.at[k].value, g, 0, need, context);
    }
}

static void count_edge(void *context, NodeId from, NodeId to, ValueId v)
{
    (void)v;
    Edges *e = context;
    e->first[from + 1]++;
    e->waits[to]++;
}

static void fill_edge(void *context, NodeId from, NodeId to, ValueId v)
{
    (void)v;
    Edges *e = context;
    e->to[e->first[from]++] = to;
}

// A heap of places in the old order, least on top.
static void heap_push(uint32_t *heap, uint32_t *n, uint32_t place)
{
    uint32_t i = (*n)++;
    for (; i && heap[(i - 1) / 2] > place; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = place;
}

static uint32_t heap_pop(uint32_t *heap, uint32_t *n)
{
    uint32_t top = heap[0], last = heap[--*n], i = 0;
    for (uint32_t child; (child = 2 * i + 1) < *n; i = child) {
        child += child + 1 < *n && heap[child + 1] < heap[child];
        if (last <= heap[child])
            break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return top;
}

typedef struct Places {
    const uint32_t *of; // a node's place in its graph
    bool kept;          // each node stands behind those that it waits for
} Places;

static void keep_places(void *context, NodeId from, NodeId to, ValueId v)
{
    (void)v;
    Places *p = context;
    p->kept = p->kept && p->of[from] < p->of[to];
}

static bool is_sorted(const Graph *g, const Edges *e, const uint32_t *place)
{
    for (uint32_t i = 0; i < g->nodes.len; i++)
        for (uint32_t k = e->first[g->nodes.at[i]]; k < e->first[g->nodes.at[i] + 1]; k++)
            if (place[e->to[k]] <= i)
                return false;
    return true;
}

// False if the graph has a cycle; its order is as before then.
static bool sort_graph(Graph *g, const Edges *e, const uint32_t *place, Arena *scratch)
{
    uint32_t count = g->nodes.len, ready = 0, done = 0;
    uint32_t *heap = NEWS(scratch, uint32_t, count + 1u);
    NodeId *order = NEWS(scratch, NodeId, count + 1u);
    for (uint32_t i = 0; i < count; i++)
        if (e->waits[g->nodes.at[i]] == 0)
            heap_push(heap, &ready, i);
    while (ready) {
        NodeId n = g->nodes.at[heap_pop(heap, &ready)];
        order[done++] = n;
        for (uint32_t k = e->first[n]; k < e->first[n + 1]; k++)
            if (--e->waits[e->to[k]] == 0)
                heap_push(heap, &ready, place[e->to[k]]);
    }
    if (done < count)
        return false;
    memcpy(g->nodes.at, order, count * sizeof *order);
    return true;
}

static void set_places(const Graph *g, uint32_t *place)
{
    for (uint32_t i = 0; i < g->nodes.len; i++)
        place[g->nodes.at[i]] = i;
}

bool model_sort(Model *m, Arena *scratch)
{
    uint32_t n = m->nodes.len;
    uint32_t *place = NEWS(scratch, uint32_t, n + 1u);
    Places places = {place, true};
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(m, g)->nodes.len; i++)
            if (node_at(m, graph_at(m, g)->nodes.at[i])->graph == g)
                place[graph_at(m, g)->nodes.at[i]] = i;
    model_each_need(m, keep_places, &places);
    if (places.kept)
        return true;
    Edges e = {.first = NEWS(scratch, uint32_t, n + 2u), .waits = NEWS(scratch, uint32_t, n + 1u)};
    model_each_need(m, count_edge, &e);
    for (uint32_t i = 0; i <= n; i++)
        e.first[i + 1] += e.first[i];
    e.to = NEWS(scratch, uint32_t, e.first[n + 1] + 1u);
    model_each_need(m, fill_edge, &e);
    memmove(e.first + 1, e.first, (n + 1u) * sizeof *e.first); // filling moved each to its end
    e.first[0] = 0;
    bool ok = true;
    for (GraphId g = 1; g < m->graphs.len; g++) {
        Graph *graph = graph_at(m, g);
        set_places(graph, place); // a graph that a removed node held may list another's nodes too
        if (is_sorted(graph, &e, place))
            continue;
        bool sorted = sort_graph(graph, &e, place, scratch);
        graph->unsorted = graph->unsorted || sorted;
        ok = ok && sorted;
    }
    return ok;
}
