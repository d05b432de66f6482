// Rounds values, or computes some of them in float64: see passes/trial.h.
//
// 1. A value v that may be rounded is followed by RoundTo: everything that read v reads that
//    instead, the model's outputs too.
// 2. A node that may compute in float64 stands beside a copy of it on widened operands, as the
//    float64 shadow makes them; of the two Choose gives what is read.
//
// Both ask the modes in each run, so that one program tries every choice.

#include "passes/trial.h"

#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/ops/shadow.h"
#include "passes/shadow_parts.h"

enum { NO_MODE = UINT32_MAX };

typedef struct Trying {
    Shadow s; // for its copies of nodes
    Model *m;
    const Trial *t;
    uint32_t nvalues;
    ValueId modes;
    uint32_t *mode;   // by ValueId: which of them; NO_MODE: none
    ValueId *instead; // by ValueId: what is read from now on; 0: itself
    ValueId *wide;    // by ValueId: the same in float64, for copies; 0: none
} Trying;

static ValueId finish(Trying *x, NodeId n)
{
    node_at(x->m, n)->reason = STR("trial");
    infer_node(x->m, n, NULL);
    graph_append(x->m, node_at(x->m, n)->graph, n);
    return node_at(x->m, n)->out[0];
}

static NodeId new_node(Trying *x, GraphId g, const char *op, const ValueId *in, uint32_t nin)
{
    Str name = str_printf(x->m->arena, "%.*s#trial.%u", STR_ARG(value_at(x->m, in[0])->name),
                          x->m->values.len);
    return node_build(x->m, g, op, in, nin, name);
}

static ValueId cast_of(Trying *x, GraphId g, ValueId v, DType to)
{
    NodeId n = new_node(x, g, "Cast", &v, 1);
    node_set_int(x->m, n, "to", to);
    return finish(x, n);
}

static NodeId asking_node(Trying *x, GraphId g, const char *op, const ValueId *in, uint32_t nin,
                          uint32_t mode)
{
    NodeId n = new_node(x, g, op, in, nin);
    Node *node = node_at(x->m, n);
    node->domain = STR(SHADOW_DOMAIN);
    node->has |= NODE_HAS_DOMAIN;
    node_set_int(x->m, n, "at", mode);
    return n;
}

static void round_value(Trying *x, ValueId v)
{
    if (x->mode[v] == NO_MODE || x->instead[v] || !shadow_is_float(&x->s, v))
        return;
    ValueId in[2] = {v, x->modes};
    NodeId n = asking_node(x, value_at(x->m, v)->graph, ROUND_TO_OP, in, 2, x->mode[v]);
    node_set_int(x->m, n, "to", DT_F32);
    x->instead[v] = finish(x, n);
}

static ValueId choose(Trying *x, GraphId g, ValueId own, ValueId wide, uint32_t mode)
{
    ValueId in[3] = {own, wide, x->modes};
    return finish(x, asking_node(x, g, CHOOSE_OP, in, 3, mode));
}

// The mode of a node that may compute in float64; NO_MODE: it may not.
static uint32_t mode_of(Trying *x, const Node *n)
{
    uint32_t mode = NO_MODE;
    for (uint32_t o = 0; o < n->nout && mode == NO_MODE; o++)
        if (n->out[o] && n->out[o] < x->nvalues && shadow_is_float(&x->s, n->out[o]) &&
            value_at(x->m, n->out[o])->dtype != DT_F64)
            mode = x->mode[n->out[o]];
    return mode != NO_MODE && shadow_may_copy(&x->s, n) ? mode : NO_MODE;
}

// Have the node and its copy one shape each?
static bool same_shapes(const Trying *x, NodeId node, NodeId copy)
{
    const Node *a = node_at(x->m, node), *b = node_at(x->m, copy);
    for (uint32_t o = 0; o < a->nout; o++) {
        const Value *y = value_at(x->m, a->out[o]), *twin = value_at(x->m, b->out[o]);
        for (int32_t k = 0; a->out[o] && k < y->rank; k++)
            if (y->dims[k] != twin->dims[k])
                return false;
    }
    return true;
}

// The copy of a node in float64 behind it, and what is read of the two.
static void widen_node(Trying *x, NodeId id)
{
    Model *m = x->m;
    const Node n = *node_at(m, id);
    uint32_t mode = mode_of(x, &n), before = graph_at(m, n.graph)->nodes.len;
    if (mode == NO_MODE)
        return;
    ValueId *in = NEWS(x->s.scratch, ValueId, n.nin + 1u);
    for (uint32_t i = 0; i < n.nin; i++) {
        ValueId v = n.in[i];
        in[i] = v && v < x->nvalues && x->instead[v] ? x->instead[v] : v;
        if (v && shadow_is_float(&x->s, v) && shadow_is_variable(&n, i) &&
            value_at(m, v)->dtype != DT_F64)
            in[i] = v < x->nvalues && x->wide[v] ? x->wide[v] : cast_of(x, n.graph, v, DT_F64);
    }
    NodeId copy = shadow_copy(&x->s, id, in, "f64");
    if (!copy || !same_shapes(x, id, copy)) {
        graph_at(m, n.graph)->nodes.len = before;
        return;
    }
    graph_append(m, n.graph, copy);
    for (uint32_t o = 0; o < n.nout; o++) {
        ValueId v = n.out[o], wide = v ? node_at(m, copy)->out[o] : 0;
        DType own = v ? value_at(m, v)->dtype : DT_NONE;
        if (!v || dtype_is_reference(own))
            continue;
        if (!shadow_is_float(&x->s, v)) {
            x->instead[v] = choose(x, n.graph, v, wide, mode);
            continue;
        }
        x->wide[v] = choose(x, n.graph, cast_of(x, n.graph, v, DT_F64), wide, mode);
        x->instead[v] = choose(x, n.graph, v, cast_of(x, n.graph, wide, own), mode);
    }
}

static void try_graph(Trying *x, GraphId g)
{
    Model *m = x->m;
    uint32_t n = graph_at(m, g)->nodes.len;
    NodeId *nodes = NEWS(x->s.scratch, NodeId, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        nodes[i] = graph_at(m, g)->nodes.at[i];
    graph_at(m, g)->nodes.len = 0;
    for (ValueId v = 1; !x->t->widens && v < x->nvalues; v++)
        if (value_at(m, v)->graph == g && value_at(m, v)->def != DEF_NODE)
            round_value(x, v);
    for (uint32_t i = 0; i < n; i++) {
        graph_append(m, g, nodes[i]);
        if (x->t->widens)
            widen_node(x, nodes[i]);
        for (uint32_t o = 0; !x->t->widens && o < node_at(m, nodes[i])->nout; o++)
            if (node_at(m, nodes[i])->out[o])
                round_value(x, node_at(m, nodes[i])->out[o]);
    }
}

static ValueId now(const Trying *x, ValueId v)
{
    return v && v < x->nvalues && x->instead[v] ? x->instead[v] : v;
}

// What nodes of the model and its outputs read; nodes made here read what they are made of.
static void rename_uses(Trying *x, uint32_t nodes)
{
    Model *m = x->m;
    for (NodeId n = 1; n < nodes; n++)
        for (uint32_t i = 0; i < node_at(m, n)->nin; i++)
            node_at(m, n)->in[i] = now(x, node_at(m, n)->in[i]);
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(m, g)->outputs.len; i++) {
            ValueId *v = &graph_at(m, g)->outputs.at[i].value;
            *v = now(x, *v);
        }
}

static void find_modes(Trying *x)
{
    Map ids = {.arena = x->s.scratch};
    bool added;
    for (uint32_t i = 0; i < x->t->n; i++)
        *(uint32_t *)map_put(&ids, x->t->names[i], &added) = i;
    for (ValueId v = 1; v < x->nvalues; v++) {
        bool fresh = x->t->fresh && v >= x->t->fresh;
        const uint32_t *at = fresh ? &x->t->n : map_get(&ids, value_shown_name(x->m, v));
        x->mode[v] = at ? *at : NO_MODE;
    }
}

void trial_apply(Model *m, const Trial *t)
{
    Trying x = {.m = m, .t = t, .nvalues = m->values.len};
    uint32_t nodes = m->nodes.len, graphs = m->graphs.len;
    ShadowReport none = {0};
    shadow_begin(&x.s, m, NULL, &none, arena_new());
    x.mode = NEWS(x.s.scratch, uint32_t, x.nvalues);
    x.instead = NEWS(x.s.scratch, ValueId, x.nvalues);
    x.wide = NEWS(x.s.scratch, ValueId, x.nvalues);
    find_modes(&x);
    x.modes = builder_vector_input(m, m->main, TRIAL_INPUT, DT_U8, (int64_t)t->n + 1);
    for (GraphId g = 1; g < graphs; g++)
        try_graph(&x, g);
    rename_uses(&x, nodes);
    arena_free(x.s.scratch);
}
