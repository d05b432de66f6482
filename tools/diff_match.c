// Which graphs, nodes and values of two models belong together. Names decide where they can be
// trusted, structure where they cannot: exporters number what has no name.

#include "tools/diff.h"

#include <string.h>

void diff_pair_values(DiffPair *p, ValueId a, ValueId b)
{
    if (!a || !b || p->a.value[a] || p->b.value[b])
        return;
    p->a.value[a] = b;
    p->b.value[b] = a;
}

void diff_pair_nodes(DiffPair *p, NodeId a, NodeId b)
{
    const Node *x = node_at(p->a.m, a), *y = node_at(p->b.m, b);
    if (p->a.node[a] || p->b.node[b])
        return;
    p->a.node[a] = b;
    p->b.node[b] = a;
    for (uint32_t i = 0; i < x->nout && i < y->nout; i++)
        diff_pair_values(p, x->out[i], y->out[i]);
}

// ---- inputs, outputs, initializers --------------------------------------------------------------

static bool is_plain_input(const Model *m, const ValueInfo *v)
{
    return !value_at(m, v->value)->init;
}

// By name, else in order.
static void pair_inputs(DiffPair *p, GraphId ga, GraphId gb)
{
    const Graph *a = graph_at(p->a.m, ga), *b = graph_at(p->b.m, gb);
    Map names = {.arena = p->arena};
    bool outermost = !a->owner && !a->function; // bodies bind by order
    for (uint32_t i = 0; outermost && i < b->inputs.len; i++)
        *map_put(&names, value_at(p->b.m, b->inputs.at[i].value)->name, NULL) = i;
    for (uint32_t i = 0; outermost && i < a->inputs.len; i++) {
        const uint32_t *at = map_get(&names, value_at(p->a.m, a->inputs.at[i].value)->name);
        if (at)
            diff_pair_values(p, a->inputs.at[i].value, b->inputs.at[*at].value);
    }
    for (uint32_t i = 0, k = 0; i < a->inputs.len; i++) {
        if (p->a.value[a->inputs.at[i].value] || !is_plain_input(p->a.m, &a->inputs.at[i]))
            continue;
        while (k < b->inputs.len &&
               (p->b.value[b->inputs.at[k].value] || !is_plain_input(p->b.m, &b->inputs.at[k])))
            k++;
        if (k == b->inputs.len)
            return;
        diff_pair_values(p, a->inputs.at[i].value, b->inputs.at[k].value);
    }
}

// By name; what is left, by what it holds.
static void pair_initializers(DiffPair *p, GraphId ga, GraphId gb)
{
    const Graph *a = graph_at(p->a.m, ga), *b = graph_at(p->b.m, gb);
    Map names = {.arena = p->arena}, held = {.arena = p->arena};
    uint32_t left = 0;
    for (uint32_t i = 0; i < b->initializers.len; i++)
        *map_put(&names, value_at(p->b.m, b->initializers.at[i].value)->name, NULL) = i;
    for (uint32_t i = 0; i < a->initializers.len; i++) {
        const uint32_t *at = map_get(&names, value_at(p->a.m, a->initializers.at[i].value)->name);
        if (at)
            diff_pair_values(p, a->initializers.at[i].value, b->initializers.at[*at].value);
        left += !p->a.value[a->initializers.at[i].value];
    }
    for (uint32_t i = 0; left && i < b->initializers.len; i++) {
        const Initializer *y = &b->initializers.at[i];
        if (p->b.value[y->value])
            continue;
        uint64_t *h = NEW(p->arena, uint64_t);
        *h = diff_hash_tensor(p->b.m, y->data);
        bool added;
        uint32_t *at = map_put(&held, (Str){(const char *)h, sizeof *h}, &added);
        *at = added ? i : *at;
    }
    for (uint32_t i = 0; held.len && i < a->initializers.len; i++) {
        const Initializer *x = &a->initializers.at[i];
        if (p->a.value[x->value])
            continue;
        uint64_t h = diff_hash_tensor(p->a.m, x->data);
        const uint32_t *at = map_get(&held, (Str){(const char *)&h, sizeof h});
        if (at)
            diff_pair_values(p, x->value, b->initializers.at[*at].value);
    }
}

static void pair_sparse(DiffPair *p, GraphId ga, GraphId gb)
{
    const Graph *a = graph_at(p->a.m, ga), *b = graph_at(p->b.m, gb);
    Map names = {.arena = p->arena};
    for (uint32_t i = 0; i < b->sparse.len; i++)
        *map_put(&names, value_at(p->b.m, b->sparse.at[i].value)->name, NULL) = i;
    for (uint32_t i = 0; i < a->sparse.len; i++) {
        const uint32_t *at = map_get(&names, value_at(p->a.m, a->sparse.at[i].value)->name);
        if (at)
            diff_pair_values(p, a->sparse.at[i].value, b->sparse.at[*at].value);
    }
}

// Weights that no name and no content joined belong together where nodes read them that do; so do
// a weight and a Constant that holds it.
static void pair_operands(DiffPair *p, GraphId ga)
{
    const Graph *a = graph_at(p->a.m, ga);
    for (uint32_t i = 0; i < a->nodes.len; i++) {
        NodeId id = a->nodes.at[i];
        const Node *x = node_at(p->a.m, id), *y = node_at(p->b.m, p->a.node[id]);
        for (uint32_t k = 0; p->a.node[id] && k < x->nin && k < y->nin; k++) {
            if (!x->in[k] || !y->in[k] || p->a.value[x->in[k]] || p->b.value[y->in[k]])
                continue;
            const Value *v = value_at(p->a.m, x->in[k]), *w = value_at(p->b.m, y->in[k]);
            bool of_v = v->def == DEF_NODE && node_is(node_at(p->a.m, v->node), "Constant");
            bool of_w = w->def == DEF_NODE && node_is(node_at(p->b.m, w->node), "Constant");
            bool here = v->graph == ga;
            if (here && ((v->init && w->init) || (of_v && w->init) || (v->init && of_w)))
                diff_pair_values(p, x->in[k], y->in[k]);
        }
    }
}

// ---- names --------------------------------------------------------------------------------------

Str diff_node_name(const Model *m, const Node *n)
{
    return n->name.len ? n->name : n->nout && n->out[0] ? value_at(m, n->out[0])->name : STR("");
}

// Do the operands say that both are the same node: all of one name, or a weight that belongs
// together?
static bool operands_agree(const DiffPair *p, const Node *x, const Node *y)
{
    bool same = x->nin == y->nin;
    for (uint32_t k = 0; k < x->nin && k < y->nin; k++) {
        const Value *v = value_at(p->a.m, x->in[k]), *w = value_at(p->b.m, y->in[k]);
        if (v->init && w->init && p->a.value[x->in[k]] == y->in[k])
            return true;
        same = same && str_eq(v->name, w->name);
    }
    return same;
}

static void match_names(DiffPair *p, GraphId ga, GraphId gb, bool sure)
{
    const Graph *a = graph_at(p->a.m, ga), *b = graph_at(p->b.m, gb);
    Map names = {.arena = p->arena};
    for (uint32_t i = 0; i < b->nodes.len; i++) {
        const Node *n = node_at(p->b.m, b->nodes.at[i]);
        if (!p->b.node[b->nodes.at[i]] && diff_node_name(p->b.m, n).len)
            *map_put(&names, diff_node_name(p->b.m, n), NULL) = b->nodes.at[i];
    }
    for (uint32_t i = 0; names.len && i < a->nodes.len; i++) {
        const Node *x = node_at(p->a.m, a->nodes.at[i]);
        const uint32_t *at =
            p->a.node[a->nodes.at[i]] ? NULL : map_get(&names, diff_node_name(p->a.m, x));
        const Node *y = at ? node_at(p->b.m, *at) : NULL;
        if (y && str_eq(x->op, y->op) && (!sure || operands_agree(p, x, y)))
            diff_pair_nodes(p, a->nodes.at[i], *at);
    }
}

// ---- another operator in the same place ---------------------------------------------------------

// The node of graph g that is or holds the node; 0: none.
static NodeId in_graph(const Model *m, NodeId id, GraphId g)
{
    while (id && node_at(m, id)->graph != g)
        id = graph_at(m, node_at(m, id)->graph)->owner;
    return id;
}

// The only node of graph g, not paired yet, that reads v as its first operand; 0: none, or several.
static NodeId only_reader(const DiffSide *s, GraphId g, ValueId v)
{
    NodeId found = 0;
    for (uint32_t i = s->uses.first[v]; i < s->uses.first[v + 1]; i++) {
        const Use *u = &s->uses.uses[i];
        if (!u->node || s->node[u->node] || u->index || u->graph != g)
            continue;
        if (found)
            return 0;
        found = u->node;
    }
    return found;
}

enum { MAX_READERS = 64 };

// Is what x gives read by nodes, or given by graphs, as what y gives?
static bool is_read_alike(const DiffPair *p, const Node *x, const Node *y)
{
    ValueId v = x->nout ? x->out[0] : 0, w = y->nout ? y->out[0] : 0;
    const Uses *a = &p->a.uses, *b = &p->b.uses;
    for (uint32_t i = v ? a->first[v] : 0; v && w && i < a->first[v + 1]; i++) {
        const Use *u = &a->uses[i];
        NodeId reader = u->node ? p->a.node[in_graph(p->a.m, u->node, x->graph)] : 0;
        for (uint32_t k = b->first[w]; k < b->first[w + 1] && k < b->first[w] + MAX_READERS; k++) {
            const Use *t = &b->uses[k];
            if (u->node ? reader && t->node && in_graph(p->b.m, t->node, y->graph) == reader
                        : !t->node && u->index == t->index && p->a.graph[u->graph] == t->graph)
                return true;
        }
    }
    return false;
}

static void pair_replaced(DiffPair *p, GraphId ga, GraphId gb)
{
    const Graph *a = graph_at(p->a.m, ga);
    for (uint32_t i = 0; i < a->nodes.len; i++) {
        NodeId id = a->nodes.at[i];
        const Node *x = node_at(p->a.m, id);
        ValueId from = p->a.node[id] || !x->nin || !x->in[0] ? 0 : p->a.value[x->in[0]];
        bool only = from && only_reader(&p->a, ga, x->in[0]) == id;
        NodeId other = only ? only_reader(&p->b, gb, from) : 0;
        if (other && is_read_alike(p, x, node_at(p->b.m, other)))
            diff_pair_nodes(p, id, other);
    }
}

// ---- graphs -------------------------------------------------------------------------------------

static void match_graphs(DiffPair *p, GraphId ga, GraphId gb);

static const Attr *attr_named(const Node *n, Str name)
{
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (str_eq(n->attrs[i].name, name))
            return &n->attrs[i];
    return NULL;
}

static void match_inner(DiffPair *p, const Node *x, const Node *y)
{
    for (uint32_t i = 0; i < x->nattrs; i++) {
        const Attr *a = &x->attrs[i], *b = a->g || a->ngraphs ? attr_named(y, a->name) : NULL;
        if (b && a->g && b->g)
            match_graphs(p, a->g, b->g);
        for (uint32_t k = 0; b && k < a->ngraphs && k < b->ngraphs; k++)
            match_graphs(p, a->graphs[k], b->graphs[k]);
    }
}

static void match_graphs(DiffPair *p, GraphId ga, GraphId gb)
{
    p->a.graph[ga] = gb;
    p->b.graph[gb] = ga;
    pair_inputs(p, ga, gb);
    pair_initializers(p, ga, gb);
    pair_sparse(p, ga, gb);
    diff_match_classes(p, ga, gb);
    match_names(p, ga, gb, true);
    diff_match_rest(p, ga, gb);
    match_names(p, ga, gb, false);
    DiffSpread *spread = diff_spread_new(p, ga, gb, false);
    diff_spread_all(spread);
    diff_spread_free(spread);
    pair_replaced(p, ga, gb);
    pair_operands(p, ga);
    const Graph *a = graph_at(p->a.m, ga);
    for (uint32_t i = 0; i < a->nodes.len; i++) {
        NodeId id = a->nodes.at[i];
        if (p->a.node[id] && node_at(p->a.m, id)->nattrs)
            match_inner(p, node_at(p->a.m, id), node_at(p->b.m, p->a.node[id]));
    }
}

static Str function_key(Arena *a, const Function *f)
{
    return str_printf(a, "%.*s|%.*s|%.*s", STR_ARG(f->domain), STR_ARG(f->name),
                      STR_ARG(f->overload));
}

static void match_functions(DiffPair *p)
{
    Map names = {.arena = p->arena};
    for (uint32_t i = 0; i < p->b.m->functions.len; i++)
        *map_put(&names, function_key(p->arena, &p->b.m->functions.at[i]), NULL) = i;
    for (uint32_t i = 0; i < p->a.m->functions.len; i++) {
        const Function *f = &p->a.m->functions.at[i];
        const uint32_t *at = map_get(&names, function_key(p->arena, f));
        if (at && !p->b.graph[p->b.m->functions.at[*at].body])
            match_graphs(p, f->body, p->b.m->functions.at[*at].body);
    }
}

static void open_side(DiffPair *p, DiffSide *s)
{
    s->value = NEWS(p->arena, ValueId, s->m->values.len);
    s->node = NEWS(p->arena, NodeId, s->m->nodes.len);
    s->graph = NEWS(p->arena, GraphId, s->m->graphs.len);
    s->uses = uses_of(s->m, p->arena);
    s->place = NEWS(p->arena, uint32_t, s->m->nodes.len);
    registry_bind(s->m);
    diff_open_classes(p, s);
}

void diff_match(DiffPair *p)
{
    open_side(p, &p->a);
    open_side(p, &p->b);
    match_graphs(p, p->a.m->main, p->b.m->main);
    match_functions(p);
    for (uint32_t i = 0; i < p->a.m->training.len && i < p->b.m->training.len; i++) {
        const TrainingInfo *x = &p->a.m->training.at[i], *y = &p->b.m->training.at[i];
        if (x->initialization && y->initialization)
            match_graphs(p, x->initialization, y->initialization);
        if (x->algorithm && y->algorithm)
            match_graphs(p, x->algorithm, y->algorithm);
    }
}
