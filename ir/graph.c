#include "ir/graph.h"

#include <string.h>

Str props_get(const Props *p, const char *key)
{
    for (uint32_t i = 0; i < p->len; i++)
        if (str_is(p->at[i].key, key))
            return p->at[i].value.at ? p->at[i].value : STR("");
    return STR_NONE;
}

Model *model_new(Arena *a)
{
    Model *m = NEW(a, Model);
    m->arena = a;
    m->polys = polys_new(a);
    m->path = "";
    m->device_ids.arena = m->file_ids.arena = a;
    vec_push(a, &m->values, ((Value){0}));
    vec_push(a, &m->nodes, ((Node){0}));
    vec_push(a, &m->graphs, ((Graph){0}));
    vec_push(a, &m->devices, STR(""));
    vec_push(a, &m->devices, STR("cpu"));
    return m;
}

GraphId graph_new(Model *m)
{
    vec_push(m->arena, &m->graphs, ((Graph){0}));
    return m->graphs.len - 1;
}

ValueId value_new(Model *m, GraphId g, Str name)
{
    vec_push(m->arena, &m->values, ((Value){.name = name, .graph = g, .rank = -1}));
    return m->values.len - 1;
}

NodeId node_new(Model *m, GraphId g)
{
    vec_push(m->arena, &m->nodes, ((Node){.graph = g}));
    return m->nodes.len - 1;
}

DeviceId device_id(Model *m, Str name)
{
    if (name.len == 0 || str_is(name, "host") || str_is(name, "cpu"))
        return 1;
    bool added;
    name = str_copy(m->arena, name);
    uint32_t *slot = map_put(&m->device_ids, name, &added);
    if (added) {
        *slot = m->devices.len;
        vec_push(m->arena, &m->devices, name);
    }
    return *slot;
}

// The function that a graph's body belongs to, itself or by the graphs around it; NULL: none.
static const Function *function_around(const Model *m, GraphId g)
{
    while (g && !graph_at(m, g)->function)
        g = graph_at(m, g)->parent;
    return g ? &m->functions.at[graph_at(m, g)->function - 1] : NULL;
}

int64_t opset_of(const Model *m, const Node *n)
{
    const Function *f = function_around(m, n->copy_of ? node_at(m, n->copy_of)->graph : n->graph);
    const OpsetImport *opsets = f ? f->opsets : m->opsets.at;
    uint32_t count = f ? f->nopsets : m->opsets.len;
    bool standard = is_standard_domain(n->domain);
    int64_t version = 0;
    for (uint32_t i = 0; i < count; i++)
        if ((standard ? is_standard_domain(opsets[i].domain)
                      : str_eq(opsets[i].domain, n->domain)) &&
            opsets[i].version > version)
            version = opsets[i].version;
    return version;
}

const Attr *attr_find(const Node *n, const char *name)
{
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (str_is(n->attrs[i].name, name))
            return &n->attrs[i];
    return NULL;
}

// Opens a gap at `at` in g's list and puts the node there.
static void insert_at(Model *m, GraphId g, uint32_t at, NodeId fresh)
{
    Graph *graph = graph_at(m, g);
    vec_push(m->arena, &graph->nodes, fresh);
    memmove(graph->nodes.at + at + 1, graph->nodes.at + at,
            (graph->nodes.len - 1 - at) * sizeof(NodeId));
    graph->nodes.at[at] = fresh;
    node_at(m, fresh)->graph = g;
}

bool value_is_weight(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    bool listed = value->def == DEF_INPUT && value->graph == m->main && m->ir_version < 4;
    return value->init && (value->def == DEF_INITIALIZER || listed);
}

void graph_insert_before(Model *m, NodeId anchor, NodeId fresh)
{
    GraphId g = node_at(m, anchor)->graph;
    const Graph *graph = graph_at(m, g);
    uint32_t at = 0;
    while (at < graph->nodes.len && graph->nodes.at[at] != anchor)
        at++;
    insert_at(m, g, at, fresh);
}

void graph_insert_first(Model *m, GraphId g, NodeId fresh)
{
    insert_at(m, g, 0, fresh);
}

void graph_append(Model *m, GraphId g, NodeId fresh)
{
    insert_at(m, g, graph_at(m, g)->nodes.len, fresh);
}

void graph_remove(Model *m, NodeId n)
{
    Node *node = node_at(m, n);
    Graph *graph = graph_at(m, node->graph);
    node->dead = true;
    for (uint32_t i = graph->nodes.len; i-- > 0;) { // passes that remove many go backwards
        if (graph->nodes.at[i] != n)
            continue;
        memmove(graph->nodes.at + i, graph->nodes.at + i + 1,
                (graph->nodes.len - 1 - i) * sizeof(NodeId));
        graph->nodes.len--;
        return;
    }
}

NodeId node_build(Model *m, GraphId g, const char *op, const ValueId *in, uint32_t nin,
                  Str out_name)
{
    NodeId n = node_new(m, g);
    ValueId v = value_new(m, g, out_name);
    Node *node = node_at(m, n);
    node->op = str_copy(m->arena, str_of(op));
    node->has = NODE_HAS_OP;
    node->in = NEWS(m->arena, ValueId, nin + 1u);
    if (nin)
        memcpy(node->in, in, nin * sizeof *in);
    node->nin = nin;
    node->out = NEW(m->arena, ValueId);
    node->out[0] = v;
    node->nout = 1;
    Value *value = value_at(m, v);
    value->def = DEF_NODE;
    value->node = n;
    return n;
}

Attr *node_set_attr(Model *m, NodeId n, const char *name, AttrType type)
{
    Node *node = node_at(m, n);
    uint32_t i = 0;
    while (i < node->nattrs && !str_is(node->attrs[i].name, name))
        i++;
    if (i == node->nattrs) {
        Attr *more = NEWS(m->arena, Attr, node->nattrs + 1u);
        if (node->nattrs)
            memcpy(more, node->attrs, node->nattrs * sizeof *more);
        node->attrs = more;
        node->nattrs++;
    }
    node->attrs[i] = (Attr){.name = str_copy(m->arena, str_of(name)),
                            .type = (int32_t)type,
                            .has = ATTR_HAS_NAME | ATTR_HAS_TYPE};
    return &node->attrs[i];
}

void node_set_int(Model *m, NodeId n, const char *attr, int64_t v)
{
    Attr *at = node_set_attr(m, n, attr, ATTR_INT);
    at->i = v;
    at->has |= ATTR_HAS_I;
}

void node_set_ints(Model *m, NodeId n, const char *attr, uint32_t count, const int64_t *from)
{
    int64_t *to = NEWS(m->arena, int64_t, count + 1u);
    if (count)
        memcpy(to, from, count * sizeof *to);
    Attr *at = node_set_attr(m, n, attr, ATTR_INTS);
    at->ints = to;
    at->nints = count;
}

void node_set_str(Model *m, NodeId n, const char *attr, Str v)
{
    Attr *at = node_set_attr(m, n, attr, ATTR_STRING);
    at->s = v.at ? str_copy(m->arena, v) : STR("");
    at->has |= ATTR_HAS_S;
}

static void walk_held(const Model *m, const Attr *attr, void (*visit)(void *context, NodeId n),
                      void *context)
{
    if (attr->g)
        graph_walk(m, attr->g, visit, context);
    for (uint32_t i = 0; i < attr->ngraphs; i++)
        graph_walk(m, attr->graphs[i], visit, context);
}

// The visitor may add and remove nodes: ids are read again after each call.
void graph_walk(const Model *m, GraphId g, void (*visit)(void *context, NodeId n), void *context)
{
    for (uint32_t i = 0; i < graph_at(m, g)->nodes.len; i++) {
        NodeId n = graph_at(m, g)->nodes.at[i];
        visit(context, n);
        for (uint32_t k = 0; k < node_at(m, n)->nattrs; k++)
            walk_held(m, &node_at(m, n)->attrs[k], visit, context);
        const Graph *graph = graph_at(m, g);
        if (node_at(m, n)->dead)
            i--;
        else
            while (i + 1 < graph->nodes.len && graph->nodes.at[i] != n)
                i++;
    }
}

bool graph_live(const Model *m, GraphId g)
{
    while (g && graph_at(m, g)->owner) {
        if (node_at(m, graph_at(m, g)->owner)->dead)
            return false;
        g = graph_at(m, g)->parent;
    }
    return true;
}

// Calls count (at == NULL) or fill for every use; `place` holds counts or the next free slots.
static void each_use(const Model *m, uint32_t *place, Use *at)
{
    for (GraphId g = 1; g < m->graphs.len; g++) {
        const Graph *graph = graph_at(m, g);
        if (!graph_live(m, g))
            continue;
        for (uint32_t i = 0; i < graph->nodes.len; i++) {
            NodeId n = graph->nodes.at[i];
            const Node *node = node_at(m, n);
            for (uint32_t k = 0; k < node->nin; k++) {
                if (!node->in[k])
                    continue;
                uint32_t slot = place[node->in[k]]++;
                if (at)
                    at[slot] = (Use){n, g, k};
            }
        }
        for (uint32_t k = 0; k < graph->outputs.len; k++) {
            if (!graph->outputs.at[k].value)
                continue;
            uint32_t slot = place[graph->outputs.at[k].value]++;
            if (at)
                at[slot] = (Use){0, g, k};
        }
    }
}

Uses uses_of(const Model *m, Arena *scratch)
{
    uint32_t n = m->values.len;
    uint32_t *count = NEWS(scratch, uint32_t, n + 1u), *first = NEWS(scratch, uint32_t, n + 1u);
    each_use(m, count, NULL);
    for (uint32_t v = 0; v < n; v++) {
        first[v + 1] = first[v] + count[v];
        count[v] = first[v];
    }
    Use *uses = NEWS(scratch, Use, (size_t)first[n] + 1);
    each_use(m, count, uses);
    return (Uses){first, uses};
}

bool atom_is_not_of_inputs(void *model, const Atom *a)
{
    return a->kind == ATOM_DIM ? !dim_is_input(model, a->var)
                               : a->kind == ATOM_LOOP || a->kind == ATOM_EXPR;
}

void dim_note(Model *m, DimId d, bool is_input, GraphId g)
{
    while (m->dim_infos.len <= d)
        vec_push(m->arena, &m->dim_infos, (DimInfo){0});
    m->dim_infos.at[d] = (DimInfo){is_input, g};
}

Index size_in_short(Model *m, Index a)
{
    enum { SHORT = 24 };
    if (poly_weight(a, SHORT) <= SHORT || poly_any(a, atom_is_not_of_inputs, m))
        return a;
    const DimId d = dim_named(m->polys, a, STR("size"));
    dim_note(m, d, true, 0);
    return poly_dim(m->polys, d);
}
