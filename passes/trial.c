// Rounds values, or computes some of them in float64: see passes/trial.h.
//
// 1. A rounded value v is followed by Cast(to = dtype) and a Cast back: everything that read v
// reads
//    that instead, the model's outputs too.
// 2. A node in float64 is a copy of it on widened operands, as the float64 shadow makes them; its
//    results are cast back for those that are no such nodes.

#include "passes/trial.h"

#include "ir/infer.h"
#include "passes/shadow_parts.h"

typedef struct Trying {
    Shadow s; // for its copies of nodes
    Model *m;
    const Trial *t;
    uint32_t nvalues;
    bool *marked;     // by ValueId
    ValueId *instead; // by ValueId: what is read from now on; 0: itself
    ValueId *wide;    // by ValueId: it in float64, for nodes that compute in it; 0: it is not
    uint32_t changed;
} Trying;

static ValueId cast_of(Trying *x, GraphId g, ValueId v, DType to)
{
    Str name = str_printf(x->m->arena, "%.*s#trial.%u", STR_ARG(value_at(x->m, v)->name),
                          x->m->values.len);
    NodeId n = node_build(x->m, g, "Cast", &v, 1, name);
    node_at(x->m, n)->reason = STR("trial");
    node_set_int(x->m, n, "to", to);
    infer_node(x->m, n, NULL);
    graph_append(x->m, g, n);
    return node_at(x->m, n)->out[0];
}

static void round_value(Trying *x, ValueId v)
{
    const Value *value = value_at(x->m, v);
    GraphId g = value->graph;
    DType own = value->dtype;
    if (x->instead[v] || own == x->t->round || !shadow_is_float(&x->s, v))
        return;
    x->instead[v] = cast_of(x, g, cast_of(x, g, v, x->t->round), own);
    x->changed++;
}

// The node in float64 in its place; false: it stays as it is.
static bool widen_node(Trying *x, NodeId id)
{
    Model *m = x->m;
    const Node n = *node_at(m, id);
    bool any = false;
    for (uint32_t o = 0; o < n.nout; o++)
        any |= n.out[o] && n.out[o] < x->nvalues && x->marked[n.out[o]] &&
               shadow_is_float(&x->s, n.out[o]) && value_at(m, n.out[o])->dtype != DT_F64;
    if (!any || !shadow_may_copy(&x->s, &n))
        return false;
    uint32_t before = graph_at(m, n.graph)->nodes.len;
    ValueId *in = NEWS(x->s.scratch, ValueId, n.nin + 1u);
    for (uint32_t i = 0; i < n.nin; i++) {
        in[i] = n.in[i];
        if (n.in[i] && shadow_is_float(&x->s, n.in[i]) && shadow_is_variable(&n, i) &&
            value_at(m, n.in[i])->dtype != DT_F64)
            in[i] = x->wide[n.in[i]] ? x->wide[n.in[i]] : cast_of(x, n.graph, n.in[i], DT_F64);
    }
    NodeId copy = shadow_copy(&x->s, id, in, "f64");
    if (!copy) {
        graph_at(m, n.graph)->nodes.len = before;
        return false;
    }
    graph_append(m, n.graph, copy);
    for (uint32_t o = 0; o < n.nout; o++) {
        ValueId v = n.out[o], wide = v ? node_at(m, copy)->out[o] : 0;
        if (!v)
            continue;
        DType own = value_at(m, v)->dtype;
        bool floats = shadow_is_float(&x->s, v);
        x->wide[v] = floats ? wide : 0;
        x->instead[v] = floats ? cast_of(x, n.graph, wide, own) : wide;
    }
    node_at(m, id)->dead = true;
    x->changed++;
    return true;
}

static void try_graph(Trying *x, GraphId g)
{
    Model *m = x->m;
    uint32_t n = graph_at(m, g)->nodes.len;
    NodeId *nodes = NEWS(x->s.scratch, NodeId, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        nodes[i] = graph_at(m, g)->nodes.at[i];
    graph_at(m, g)->nodes.len = 0;
    bool rounds = x->t->round != DT_NONE;
    for (ValueId v = 1; rounds && v < x->nvalues; v++)
        if (x->marked[v] && value_at(m, v)->graph == g && value_at(m, v)->def != DEF_NODE)
            round_value(x, v);
    for (uint32_t i = 0; i < n; i++) {
        if (!rounds && widen_node(x, nodes[i]))
            continue;
        graph_append(m, g, nodes[i]);
        const Node *node = node_at(m, nodes[i]);
        for (uint32_t o = 0; rounds && o < node->nout; o++) {
            ValueId v = node_at(m, nodes[i])->out[o];
            if (v && v < x->nvalues && x->marked[v])
                round_value(x, v);
        }
    }
}

static ValueId now(const Trying *x, ValueId v)
{
    return v && v < x->nvalues && x->instead[v] ? x->instead[v] : v;
}

// Readers of the values that were there before, but for the Cast that makes what stands instead.
static void rename_uses(Trying *x, uint32_t nodes)
{
    Model *m = x->m;
    for (NodeId n = 1; n < m->nodes.len; n++) {
        Node *node = node_at(m, n);
        bool rounding = n >= nodes && x->t->round != DT_NONE;
        for (uint32_t i = 0; i < node->nin && !rounding; i++)
            node->in[i] = now(x, node->in[i]);
    }
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(m, g)->outputs.len; i++) {
            ValueId *v = &graph_at(m, g)->outputs.at[i].value;
            *v = now(x, *v);
        }
}

static void mark(Trying *x, const Str *names, uint32_t n, bool on)
{
    Map ids = {.arena = x->s.scratch};
    bool added;
    for (uint32_t i = 0; i < n; i++)
        map_put(&ids, names[i], &added);
    for (ValueId v = 1; v < x->nvalues; v++)
        if (map_get(&ids, value_shown_name(x->m, v)))
            x->marked[v] = on;
}

uint32_t trial_apply(Model *m, const Trial *t)
{
    Trying x = {.m = m, .t = t, .nvalues = m->values.len};
    uint32_t nodes = m->nodes.len, graphs = m->graphs.len;
    x.s = (Shadow){.m = m, .scratch = arena_new(), .nvalues = x.nvalues};
    x.marked = NEWS(x.s.scratch, bool, x.nvalues);
    x.instead = NEWS(x.s.scratch, ValueId, x.nvalues);
    x.wide = NEWS(x.s.scratch, ValueId, x.nvalues);
    if (t->round != DT_NONE)
        mark(&x, t->all, t->nall, true);
    mark(&x, t->wide, t->nwide, t->round == DT_NONE);
    for (GraphId g = 1; g < graphs; g++)
        try_graph(&x, g);
    rename_uses(&x, nodes);
    arena_free(x.s.scratch);
    return x.changed;
}
