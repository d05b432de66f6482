#include "passes/adaptor.h"

static bool is_loop(const Model *m, GraphId g)
{
    NodeId owner = graph_at(m, g)->owner;
    return owner && (node_is(node_at(m, owner), "Loop") || node_is(node_at(m, owner), "Scan"));
}

static uint32_t depth_of(const Model *m, GraphId g)
{
    uint32_t depth = 0;
    while ((g = graph_at(m, g)->parent))
        depth++;
    return depth;
}

// The innermost graph around both.
static GraphId meet(const Model *m, GraphId a, GraphId b)
{
    uint32_t da = depth_of(m, a), db = depth_of(m, b);
    for (; da > db; da--)
        a = graph_at(m, a)->parent;
    for (; db > da; db--)
        b = graph_at(m, b)->parent;
    while (a != b) {
        a = graph_at(m, a)->parent;
        b = graph_at(m, b)->parent;
    }
    return a;
}

static void put_behind(Model *m, ValueId v, NodeId fresh)
{
    const Graph *graph = graph_at(m, value_at(m, v)->graph);
    NodeId def = value_at(m, v)->def == DEF_NODE ? value_at(m, v)->node : 0;
    uint32_t i = 0;
    while (def && i < graph->nodes.len && graph->nodes.at[i] != def)
        i++;
    if (!def)
        graph_insert_first(m, value_at(m, v)->graph, fresh);
    else if (i + 1 < graph->nodes.len)
        graph_insert_before(m, graph->nodes.at[i + 1], fresh);
    else
        graph_append(m, value_at(m, v)->graph, fresh);
}

// The graph to insert into, and in it the loop to insert before (0: none).
static GraphId place_of(const Model *m, ValueId v, const Use *uses, uint32_t nuses, NodeId *loop)
{
    GraphId home = value_at(m, v)->graph, place = uses[0].graph;
    for (uint32_t i = 1; i < nuses; i++)
        place = meet(m, place, uses[i].graph);
    *loop = 0;
    for (GraphId g = place; g != home && g; g = graph_at(m, g)->parent)
        if (is_loop(m, g)) {
            *loop = graph_at(m, g)->owner;
            place = graph_at(m, g)->parent;
        }
    return place;
}

void adaptor_redirect(Builder *a, ValueId v, ValueId to, const Use *uses, uint32_t nuses)
{
    for (uint32_t i = 0; i < nuses; i++) {
        if (uses[i].node) {
            node_at(a->m, uses[i].node)->in[uses[i].index] = to;
            continue;
        }
        graph_at(a->m, uses[i].graph)->outputs.at[uses[i].index].value = to;
        if (uses[i].graph != a->m->main)
            continue;
        // The name is the interface. v takes another, and not the new node's: that says what it
        // gives.
        Value *was = value_at(a->m, v), *is = value_at(a->m, to);
        Str name = was->name;
        was->name = builder_name(a, name, "inner");
        is->name = name;
    }
}

NodeId adaptor_insert(Builder *a, ValueId v, const char *op, const char *suffix, const Use *uses,
                      uint32_t nuses)
{
    NodeId loop;
    GraphId home = value_at(a->m, v)->graph, place = place_of(a->m, v, uses, nuses, &loop);
    NodeId fresh =
        node_build(a->m, place, op, &v, 1, builder_name(a, value_at(a->m, v)->name, suffix));
    if (place == home)
        put_behind(a->m, v, fresh);
    else if (loop)
        graph_insert_before(a->m, loop, fresh);
    else
        graph_insert_first(a->m, place, fresh);
    adaptor_redirect(a, v, node_at(a->m, fresh)->out[0], uses, nuses);
    return fresh;
}

void repair_sort(Model *m, Arena *scratch)
{
    bool *unsorted = NEWS(scratch, bool, m->graphs.len);
    for (GraphId g = 1; g < m->graphs.len; g++)
        unsorted[g] = graph_at(m, g)->unsorted;
    model_sort(m, scratch);
    for (GraphId g = 1; g < m->graphs.len; g++)
        graph_at(m, g)->unsorted = unsorted[g];
}

double value_weight(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    double weight = value->rank < 0 ? 256 : 1;
    for (int32_t i = 0; i < value->rank; i++) {
        int64_t k;
        weight *= poly_is_const(value->dims[i], &k) ? (double)(k > 0 ? k : 0) : 16;
    }
    for (GraphId g = value->graph; g; g = graph_at(m, g)->parent)
        if (is_loop(m, g))
            weight *= 16;
    return weight < 1e15 ? weight : 1e15;
}
