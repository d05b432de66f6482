// Copies of nodes and graphs. Recursion is as deep as graphs are nested, which import bounds.

#include "passes/clone.h"

ValueId clone_mapped(const Clone *c, ValueId v)
{
    if (v >= c->nmap || !c->map[v])
        return v;
    return c->map[v] == CLONE_NOTHING ? 0 : c->map[v];
}

void clone_map(Clone *c, ValueId v, ValueId to)
{
    if (c->scratch && !c->map[v])
        vec_push(c->scratch, &c->touched, v);
    c->map[v] = to;
}

void clone_forget(Clone *c)
{
    for (uint32_t i = 0; i < c->touched.len; i++)
        c->map[c->touched.at[i]] = 0;
    c->touched.len = 0;
}

// A repair may store a constant otherwise for one call only.
static TensorData *own_constant(const Clone *c, TensorData *t)
{
    if (!c->call || !t)
        return t;
    TensorData *own = NEW(c->m->arena, TensorData);
    *own = *t;
    return own;
}

static ValueId clone_value(Clone *c, ValueId v, GraphId to)
{
    Model *m = c->m;
    if (v == 0)
        return 0;
    Value old = *value_at(m, v);
    Str name = c->prefix.len ? str_printf(m->arena, "%.*s/%.*s#%u", STR_ARG(c->prefix),
                                          STR_ARG(old.name), m->values.len)
                             : str_printf(m->arena, "%.*s#%u", STR_ARG(old.name), m->values.len);
    ValueId fresh = value_new(m, to, name);
    Value *value = value_at(m, fresh);
    value->def = old.def;
    value->index = old.index;
    value->init = old.init;
    value->sparse_init = old.sparse_init;
    value->copy_of = c->call ? v : 0;
    clone_map(c, v, fresh);
    return fresh;
}

static void clone_results(Clone *c, const Node *from, ValueId *outs, NodeId id, GraphId to)
{
    for (uint32_t i = 0; i < from->nout; i++) {
        ValueId v = from->out[i];
        outs[i] = v ? clone_mapped(c, v) : 0;
        if (v && outs[i] == v)
            outs[i] = clone_value(c, v, to);
        if (!outs[i])
            continue;
        Value *value = value_at(c->m, outs[i]);
        value->def = DEF_NODE;
        value->node = id;
        value->index = i;
    }
}

static GraphId clone_held(Clone *c, const Node *holder, GraphId held, NodeId id, GraphId to)
{
    bool moved = c->moved;
    c->moved = moved && node_is(holder, "If");
    GraphId g = clone_graph(c, held, to);
    c->moved = moved;
    graph_at(c->m, g)->owner = id;
    return g;
}

NodeId clone_node(Clone *c, NodeId from, GraphId to)
{
    Model *m = c->m;
    NodeId id = node_new(m, to);
    Node n = *node_at(m, from);
    uint32_t kept = 0;
    c->failed |= ++c->copies > c->limit;
    Attr *attrs = NEWS(m->arena, Attr, n.nattrs);
    ValueId *ins = NEWS(m->arena, ValueId, n.nin), *outs = NEWS(m->arena, ValueId, n.nout);
    for (uint32_t i = 0; i < n.nin; i++)
        ins[i] = clone_mapped(c, n.in[i]);
    for (uint32_t i = 0; i < n.nattrs; i++) {
        Attr a = n.attrs[i];
        if (a.ref.at && c->argument) {
            const Attr *given = c->argument(c->context, a.ref);
            if (!given)
                continue;
            Str name = a.name;
            a = *given;
            a.name = name;
        } else if (a.t) {
            a.t = own_constant(c, a.t);
        } else if (a.g) {
            a.g = clone_held(c, &n, a.g, id, to);
        }
        attrs[kept++] = a;
    }
    clone_results(c, &n, outs, id, to);
    n.graph = to;
    n.in = ins;
    n.out = outs;
    n.attrs = attrs;
    n.nattrs = kept;
    n.position = c->at_position ? c->position : n.position;
    n.moved = n.moved || c->moved;
    n.copy_of = c->call ? from : n.copy_of;
    n.call = c->call ? c->call : n.call;
    *node_at(m, id) = n;
    return id;
}

static void clone_constants(Clone *c, const Graph *old, GraphId g)
{
    Model *m = c->m;
    for (uint32_t i = 0; i < old->initializers.len; i++) {
        Initializer init = old->initializers.at[i];
        ValueId mapped = clone_mapped(c, init.value);
        init.value = mapped == init.value ? clone_value(c, init.value, g) : mapped;
        init.data = own_constant(c, init.data);
        value_at(m, init.value)->init = init.data;
        vec_push(m->arena, &graph_at(m, g)->initializers, init);
    }
    for (uint32_t i = 0; i < old->sparse.len; i++) {
        SparseInitializer init = old->sparse.at[i];
        ValueId mapped = clone_mapped(c, init.value);
        init.value = mapped == init.value ? clone_value(c, init.value, g) : mapped;
        vec_push(m->arena, &graph_at(m, g)->sparse, init);
    }
}

GraphId clone_graph(Clone *c, GraphId from, GraphId parent)
{
    Model *m = c->m;
    GraphId g = graph_new(m);
    Graph old = *graph_at(m, from);
    graph_at(m, g)->name = old.name;
    graph_at(m, g)->has = old.has;
    graph_at(m, g)->parent = parent;
    for (uint32_t i = 0; i < old.inputs.len; i++) {
        ValueInfo info = old.inputs.at[i];
        info.value = clone_value(c, info.value, g);
        vec_push(m->arena, &graph_at(m, g)->inputs, info);
    }
    clone_constants(c, &old, g);
    for (uint32_t i = 0; i < old.nodes.len && !c->failed; i++)
        graph_append(m, g, clone_node(c, old.nodes.at[i], g));
    for (uint32_t i = 0; i < old.outputs.len; i++) {
        ValueInfo info = old.outputs.at[i];
        info.value = clone_mapped(c, info.value);
        vec_push(m->arena, &graph_at(m, g)->outputs, info);
    }
    return g;
}
