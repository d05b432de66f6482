// Is the graph one that the passes behind may rely on?
//
// Tables first: nothing else can be read where ids are out of range. Then every use: its value is
// defined, in the same graph or one around it, before the use, and no other value between bears its
// name, so that the file that is written means the same. Then each node against its schema.

#include "passes/verify.h"
#include "ir/registry.h"
#include "passes/pass.h"

#include <string.h>

typedef struct Verify {
    const Model *m;
    Diags *diags;
    Arena *scratch;
    uint32_t wanted, found;
    uint32_t *place; // by NodeId: in its graph's list, counted from 1; 0: in none
    Map names;       // graph and name: the value
} Verify;

// Is this the first fault of a kind that is looked for?
static bool is_news(Verify *v, uint32_t kind)
{
    bool news = (v->wanted & kind) && !(v->found & kind);
    v->found |= v->wanted & kind;
    return news && v->diags;
}

static void fault(Verify *v, uint32_t kind, NodeId n, const char *what, uint32_t id)
{
    if (is_news(v, kind))
        diag(v->diags, "VERIFY", SEV_ERROR, location_node(v->m, v->m->arena, n), "%s %u", what, id);
}

// Graphs that a removed node held are still listed.
static bool is_live(const Model *m, GraphId g)
{
    for (uint32_t depth = 0; g && depth <= m->graphs.len; depth++) {
        NodeId owner = graph_at(m, g)->owner;
        if (owner && owner < m->nodes.len && node_at(m, owner)->dead)
            return false;
        g = graph_at(m, g)->parent;
    }
    return true;
}

// ---- tables

static void check_node_tables(Verify *v, NodeId id, GraphId g)
{
    const Model *m = v->m;
    const Node *n = node_at(m, id);
    if (n->dead)
        fault(v, VERIFY_TABLES, id, "a removed node is listed in graph", g);
    if (n->graph != g)
        fault(v, VERIFY_TABLES, id, "the node is listed in another graph,", g);
    for (uint32_t i = 0; i < n->nin; i++)
        if (n->in[i] >= m->values.len)
            fault(v, VERIFY_TABLES, id, "no value for operand", i);
    for (uint32_t i = 0; i < n->nout; i++) {
        const Value *value = n->out[i] < m->values.len ? value_at(m, n->out[i]) : NULL;
        if (!value)
            fault(v, VERIFY_TABLES, id, "no value for result", i);
        else if (n->out[i] && (value->def != DEF_NODE || value->node != id || value->index != i))
            fault(v, VERIFY_TABLES, id, "another definition for result", i);
        else if (n->out[i] && value->graph != g)
            fault(v, VERIFY_TABLES, id, "another graph for result", i);
    }
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (n->attrs[i].g >= m->graphs.len ||
            (n->attrs[i].g && is_live(m, n->attrs[i].g) && graph_at(m, n->attrs[i].g)->owner != id))
            fault(v, VERIFY_TABLES, id, "no graph of its own for attribute", i);
}

static void check_tables(Verify *v)
{
    const Model *m = v->m;
    for (GraphId g = 1; g < m->graphs.len; g++) {
        const Graph *graph = graph_at(m, g);
        for (uint32_t i = 0; i < graph->nodes.len; i++) {
            NodeId n = graph->nodes.at[i];
            if (n == 0 || n >= m->nodes.len)
                fault(v, VERIFY_TABLES, graph->owner, "no node at place", i);
            else if (v->place[n])
                fault(v, VERIFY_TABLES, n, "the node is listed twice, at place", i);
            else
                check_node_tables(v, n, g);
            if (n < m->nodes.len)
                v->place[n] = i + 1;
        }
        for (uint32_t i = 0; i < graph->outputs.len; i++)
            if (graph->outputs.at[i].value >= m->values.len)
                fault(v, VERIFY_TABLES, graph->owner, "no value for output", i);
    }
}

// ---- names

static Str name_key(Verify *v, GraphId g, Str name)
{
    char *key = arena_alloc(v->scratch, name.len + sizeof g);
    memcpy(key, &g, sizeof g);
    memcpy(key + sizeof g, name.at, name.len);
    return (Str){key, name.len + sizeof g};
}

static void check_names(Verify *v)
{
    const Model *m = v->m;
    for (ValueId id = 1; id < m->values.len; id++) {
        const Value *value = value_at(m, id);
        bool removed = value->def == DEF_NODE && node_at(m, value->node)->dead;
        bool added;
        if (value->def == DEF_NONE || removed || value->name.len == 0)
            continue;
        uint32_t *first = map_put(&v->names, name_key(v, value->graph, value->name), &added);
        if (added)
            *first = id;
        else if (is_live(m, value->graph) && is_news(v, VERIFY_NAMES))
            diag(v->diags, "VERIFY", SEV_ERROR, location_value(m, m->arena, id),
                 "a second value is called \"%.*s\"", STR_ARG(str_escaped(m->arena, value->name)));
    }
}

// ---- uses

static Str use_place(Verify *v, Use use)
{
    return use.node ? location_operand(v->m, v->m->arena, use.node, use.index)
                    : location_graph(v->m, v->m->arena, use.graph);
}

static void use_fault(Verify *v, uint32_t kind, Use use, ValueId id, const char *what)
{
    if (is_news(v, kind))
        diag(v->diags, "VERIFY", SEV_ERROR, use_place(v, use), "%s \"%.*s\"", what,
             STR_ARG(str_escaped(v->m->arena, value_at(v->m, id)->name)));
}

static void check_use(Verify *v, ValueId id, Use use)
{
    const Model *m = v->m;
    const Value *value = value_at(m, id);
    GraphId g = use.graph;
    NodeId user = use.node;
    if (value->def == DEF_NONE) {
        use_fault(v, VERIFY_DANGLING, use, id, "nothing defines");
        return;
    }
    if (value->def == DEF_NODE && node_at(m, value->node)->dead)
        use_fault(v, VERIFY_TABLES, use, id, "a removed node defines");
    for (uint32_t depth = 0; g && g != value->graph && depth <= m->graphs.len; depth++) {
        if (value->name.len && map_get(&v->names, name_key(v, g, value->name)))
            use_fault(v, VERIFY_NAMES, use, id,
                      "between definition and use another value is called");
        user = graph_at(m, g)->owner;
        g = user ? node_at(m, user)->graph : 0;
    }
    if (g != value->graph)
        use_fault(v, VERIFY_SCOPE, use, id, "no graph around this has");
    else if (value->def == DEF_NODE && user && v->place[value->node] >= v->place[user])
        use_fault(v, VERIFY_ORDER, use, id, "used before its definition:");
}

static void check_uses(Verify *v, GraphId g)
{
    const Graph *graph = graph_at(v->m, g);
    for (uint32_t i = 0; i < graph->nodes.len; i++) {
        NodeId id = graph->nodes.at[i];
        for (uint32_t k = 0; k < node_at(v->m, id)->nin; k++)
            if (node_at(v->m, id)->in[k])
                check_use(v, node_at(v->m, id)->in[k], (Use){id, g, k});
    }
    for (uint32_t i = 0; i < graph->outputs.len; i++)
        if (graph->outputs.at[i].value)
            check_use(v, graph->outputs.at[i].value, (Use){0, g, i});
}

// ---- schemas

static bool is_of_kind(const Attr *a)
{
    return a->type == ATTR_TENSOR   ? a->t != NULL
           : a->type == ATTR_GRAPH  ? a->g != 0
           : a->type == ATTR_SPARSE ? a->sparse != NULL
           : a->type == ATTR_TYPE   ? a->tp != NULL
                                    : true;
}

static void check_attrs(Verify *v, NodeId id)
{
    const Node *n = node_at(v->m, id);
    const Schema *s = n->schema;
    for (uint32_t i = 0; i < n->nattrs; i++) {
        const Attr *a = &n->attrs[i];
        bool wrong = !a->ref.at && !is_of_kind(a);
        for (uint32_t k = 0; s && k < s->nattrs; k++)
            if (str_is(a->name, s->attrs[k].name) && a->type)
                wrong |= a->type != (int32_t)s->attrs[k].type;
        for (uint32_t k = 0; k < i; k++)
            wrong |= str_eq(a->name, n->attrs[k].name);
        if (wrong && is_news(v, VERIFY_ATTRS))
            diag(v->diags, "VERIFY", SEV_ERROR, location_node(v->m, v->m->arena, id),
                 "attribute \"%.*s\" is not of the kind that the schema says, or stands twice",
                 STR_ARG(str_escaped(v->m->arena, a->name)));
    }
}

static void check_schemas(Verify *v, GraphId g)
{
    const Graph *graph = graph_at(v->m, g);
    for (uint32_t i = 0; i < graph->nodes.len; i++) {
        const char *wrong = schema_fault(node_at(v->m, graph->nodes.at[i]));
        if (wrong && is_news(v, VERIFY_ARITY))
            diag(v->diags, "VERIFY", SEV_ERROR,
                 location_node(v->m, v->m->arena, graph->nodes.at[i]), "by the schema %s", wrong);
        check_attrs(v, graph->nodes.at[i]);
    }
}

uint32_t verify_model(const Model *m, uint32_t wanted, Diags *diags)
{
    Verify v = {.m = m, .diags = diags, .scratch = arena_new(), .wanted = wanted};
    v.names.arena = v.scratch;
    v.place = NEWS(v.scratch, uint32_t, m->nodes.len + 1);
    check_tables(&v);
    if (!(v.found & VERIFY_TABLES)) {
        check_names(&v);
        for (GraphId g = 1; g < m->graphs.len; g++)
            if (is_live(m, g)) {
                check_uses(&v, g);
                check_schemas(&v, g);
            }
    }
    arena_free(v.scratch);
    return v.found;
}

bool pass_verify(Model *m, PassContext *c)
{
    registry_bind(m);
    return verify_model(m, VERIFY_ALL, c->diags) == 0;
}
