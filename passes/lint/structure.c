// ST001, ST002, ST005: graphs that are not what the format asks for.

#include "passes/lint/lint.h"

#include <ctype.h>
#include <string.h>

// Two nodes of one name are no fault, but tools and people confuse them: said where ST001 is asked
// for by its id.
static void duplicate_nodes(Lint *l)
{
    for (GraphId g = 1; g < l->m->graphs.len; g++) {
        Map seen = {.arena = l->arena};
        for (uint32_t i = 0; i < graph_at(l->m, g)->nodes.len; i++) {
            NodeId id = graph_at(l->m, g)->nodes.at[i];
            const Node *n = node_at(l->m, id);
            bool added;
            uint32_t *first = n->name.len ? map_put(&seen, n->name, &added) : NULL;
            if (!first)
                continue;
            if (added) {
                *first = id;
                continue;
            }
            Diag *d = diag(l->diags, "ST001", SEV_INFO, location_node(l->m, l->arena, id),
                           "two nodes are named \"%.*s\"", STR_ARG(str_escaped(l->arena, n->name)));
            lint_about_node(l, d, id);
            diag_note(l->diags, d, "the first is the %.*s at #%u",
                      STR_ARG(str_escaped(l->arena, node_at(l->m, *first)->op)),
                      node_at(l->m, *first)->position);
            diag_fix(l->diags, d, true, "give it a name of its own");
        }
    }
}

uint32_t lint_repair_node_names(Model *m)
{
    uint32_t changes = 0;
    Arena *a = arena_new();
    for (GraphId g = 1; g < m->graphs.len; g++) {
        Map taken = {.arena = a}, seen = {.arena = a};
        const Graph *graph = graph_at(m, g);
        for (uint32_t i = 0; i < graph->nodes.len; i++)
            map_put(&taken, node_at(m, graph->nodes.at[i])->name, NULL);
        for (uint32_t i = 0; i < graph->nodes.len; i++) {
            Node *n = node_at(m, graph->nodes.at[i]);
            bool added = true;
            uint32_t *count = n->name.len ? map_put(&seen, n->name, &added) : NULL;
            if (!count || ++*count == 1)
                continue;
            Str name = n->name;
            for (added = false; !added; ++*count) {
                name = str_printf(m->arena, "%.*s_%u", STR_ARG(n->name), *count);
                map_put(&taken, name, &added);
            }
            n->name = name;
            changes++;
        }
    }
    arena_free(a);
    return changes;
}

static void report_duplicate(Lint *l, ValueId v, ValueId first)
{
    const Value *value = value_at(l->m, v);
    Str name = str_escaped(l->arena, value->name);
    Diag *d = diag(l->diags, "ST001", SEV_ERROR, location_value(l->m, l->arena, v),
                   "value \"%.*s\" is defined twice", STR_ARG(name));
    d->value = name;
    diag_note(l->diags, d, "first defined at %.*s", STR_ARG(location_value(l->m, l->arena, first)));
    diag_note(l->diags, d, "in a graph a name stands for one value; uses of it mean the first");
    diag_help(l->diags, d, "give one of the two another name, and what reads it with it");
    if (value->def == DEF_NODE)
        lint_about_node(l, d, value->node);
}

static void duplicate_functions(Lint *l)
{
    Map first = lint_functions(l);
    for (uint32_t i = 0; first.len && i < l->m->functions.len; i++) {
        const Function *f = &l->m->functions.at[i];
        uint32_t *at = map_get(&first, lint_function_key(l, f->domain, f->name, f->overload));
        if (*at != i)
            diag_help(l->diags,
                      diag(l->diags, "ST001", SEV_ERROR, location_graph(l->m, l->arena, f->body),
                           "function %.*s::%.*s is defined twice",
                           STR_ARG(str_escaped(l->arena, f->domain)),
                           STR_ARG(str_escaped(l->arena, f->name))),
                      "delete one, or tell them apart by their field overload: calls mean the "
                      "first");
    }
}

// Does what a graph around has under that name stand in front of the node that holds the graph?
static bool is_visible(const Model *m, ValueId v, NodeId holder)
{
    const Value *value = value_at(m, v);
    return value->def != DEF_NODE ||
           node_at(m, value->node)->position < node_at(m, holder)->position;
}

// A result inside a branch or body bears the name of a value around: which one is meant by a use
// there, readers do not agree on.
static void report_shadowing(Lint *l, ValueId v, Map *named)
{
    const Model *m = l->m;
    const Value *value = value_at(m, v);
    const Graph *g = graph_at(m, value->graph);
    for (; g->parent; g = graph_at(m, g->parent)) {
        uint32_t *outer = map_get(&named[g->parent], value->name);
        if (!outer || !is_visible(m, *outer, g->owner))
            continue;
        Str name = str_escaped(l->arena, value->name);
        Diag *d = diag(l->diags, "ST001", SEV_ERROR, location_value(m, l->arena, v),
                       "value \"%.*s\" bears the name of one of a graph around", STR_ARG(name));
        d->value = name;
        diag_note(l->diags, d, "that is defined at %.*s",
                  STR_ARG(location_value(m, l->arena, *outer)));
        diag_help(l->diags, d,
                  "give it another name in this graph, and what reads it here with it");
        lint_about_node(l, d, value->node);
        return;
    }
}

void lint_duplicates(Lint *l)
{
    const Model *m = l->m;
    Map *seen = NEWS(l->arena, Map, m->graphs.len);
    if (lint_named(l, "ST001"))
        duplicate_nodes(l);
    for (GraphId g = 1; g < m->graphs.len; g++) {
        seen[g].arena = l->arena;
        map_reserve(&seen[g], graph_at(m, g)->nodes.len);
    }
    for (ValueId v = 1; v < m->values.len; v++) {
        const Value *value = value_at(m, v);
        bool added;
        if (!value->graph || value->def == DEF_NONE || value->name.len == 0)
            continue;
        uint32_t *first = map_put(&seen[value->graph], value->name, &added);
        if (added)
            *first = v;
        else
            report_duplicate(l, v, *first);
    }
    for (ValueId v = 1; v < m->values.len; v++)
        if (value_at(m, v)->def == DEF_NODE && value_at(m, v)->name.len &&
            graph_at(m, value_at(m, v)->graph)->parent)
            report_shadowing(l, v, seen);
    duplicate_functions(l);
}

// ---- ST002

enum { MOST_COMPARED = 1 << 20 }; // names, all searches together

static const char undefined_note[] =
    "it is no input, initializer or node's result, neither here nor in a graph around";

// Do two names differ in numbers alone? Then neither is the other misspelt.
static bool differ_in_digits(Str a, Str b)
{
    size_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < a.len && isdigit((unsigned char)a.at[i]))
            i++;
        while (k < b.len && isdigit((unsigned char)b.at[k]))
            k++;
        if (i == a.len || k == b.len || a.at[i] != b.at[k])
            return i == a.len && k == b.len;
    }
}

// The name that something defines where graph g sees it, and that a misspelt one was probably meant
// to be; NULL: none.
static const char *nearest_name(Lint *l, GraphId g, Str name)
{
    enum { SHORT = 4 }; // one letter of those is no slip
    VEC(const char *) names = {0};
    if (name.len < SHORT)
        return NULL;
    for (ValueId v = 1; v < l->m->values.len; v++) {
        const Value *value = value_at(l->m, v);
        GraphId around = g;
        while (around && around != value->graph)
            around = graph_at(l->m, around)->parent;
        if (value->def != DEF_NONE && value->name.len && around &&
            !differ_in_digits(value->name, name))
            vec_push(l->arena, &names, str_escaped(l->arena, value->name).at);
    }
    return str_nearest(name, names.at, names.len);
}

static void help_undefined(Lint *l, Diag *d, GraphId g, uint32_t *searched)
{
    const char *near =
        ++*searched <= MOST_COMPARED / l->m->values.len + 1 ? nearest_name(l, g, d->value) : NULL;
    if (near)
        diag_help(l->diags, d, "did you mean \"%s\"?", near);
    else
        diag_help(l->diags, d,
                  "what made it was cut away or renamed: export the model again, or give it as "
                  "an initializer or input");
}

static void dangling_uses(Lint *l)
{
    uint32_t searched = 0;
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        for (uint32_t i = 0; !n->dead && i < n->nin; i++) {
            if (!n->in[i] || value_at(l->m, n->in[i])->def != DEF_NONE)
                continue;
            Str name = str_escaped(l->arena, value_at(l->m, n->in[i])->name);
            Diag *d = diag(l->diags, "ST002", SEV_ERROR, location_operand(l->m, l->arena, id, i),
                           "nothing defines \"%.*s\"", STR_ARG(name));
            d->value = name;
            lint_about_node(l, d, id);
            diag_note(l->diags, d, "%s", undefined_note);
            help_undefined(l, d, n->graph, &searched);
        }
    }
    for (GraphId g = 1; g < l->m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(l->m, g)->outputs.len; i++) {
            const Value *v = value_at(l->m, graph_at(l->m, g)->outputs.at[i].value);
            if (v->def != DEF_NONE || v->name.len == 0)
                continue;
            Str name = str_escaped(l->arena, v->name), where = location_graph(l->m, l->arena, g);
            Diag *d = diag(l->diags, "ST002", SEV_ERROR,
                           str_printf(l->arena, "%.*s/output(%.*s)", STR_ARG(where), STR_ARG(name)),
                           "nothing defines output \"%.*s\"", STR_ARG(name));
            d->value = name;
            diag_note(l->diags, d, "%s", undefined_note);
            help_undefined(l, d, g, &searched);
        }
}

typedef struct Cycles {
    Lint *l;
    unsigned char *state; // by node: 0 new, 1 open, 2 done
    NodeId *stack;
    uint32_t *next; // the operand to look at
    uint32_t depth;
} Cycles;

static void report_cycle(Cycles *c, NodeId back_to)
{
    Lint *l = c->l;
    uint32_t from = c->depth - 1;
    while (c->stack[from] != back_to)
        from--;
    const uint32_t count = c->depth - from;
    Diag *d = diag(
        l->diags, "ST002", SEV_ERROR, location_node(l->m, l->arena, back_to),
        count == 1 ? "%u node needs its own result" : "%u nodes need each other's results", count);
    // The whole cycle, in the order in which results are handed on.
    for (uint32_t i = c->depth; i-- > from;) {
        Str next = lint_short(l, i > from ? c->stack[i - 1] : c->stack[c->depth - 1]);
        vec_push(l->arena, &d->chain, location_node(l->m, l->arena, c->stack[i]));
        diag_note(l->diags, d, "  %.*s -> %.*s", STR_ARG(lint_short(l, c->stack[i])),
                  STR_ARG(next));
    }
    lint_about_node(l, d, back_to);
    diag_help(l->diags, d,
              "one of %s reads a name that means another value: what a step hands to the next is "
              "carried by Loop or Scan",
              count == 1 ? "its operands" : "them");
}

// Depth first along operands, with a stack of its own: chains may be as long as the model.
static void search_cycles(Cycles *c, NodeId root)
{
    const Model *m = c->l->m;
    c->stack[0] = root;
    c->next[0] = 0;
    c->depth = 1;
    c->state[root] = 1;
    while (c->depth) {
        NodeId id = c->stack[c->depth - 1];
        const Node *n = node_at(m, id);
        uint32_t i = c->next[c->depth - 1]++;
        if (i >= n->nin) {
            c->state[id] = 2;
            c->depth--;
            continue;
        }
        const Value *v = value_at(m, n->in[i]);
        if (!n->in[i] || v->def != DEF_NODE || node_at(m, v->node)->dead || c->state[v->node] == 2)
            continue;
        if (c->state[v->node] == 1) {
            report_cycle(c, v->node);
            continue;
        }
        c->state[v->node] = 1;
        c->stack[c->depth] = v->node;
        c->next[c->depth++] = 0;
    }
}

void lint_dangling(Lint *l)
{
    uint32_t n = l->m->nodes.len;
    Cycles c = {l, NEWS(l->arena, unsigned char, n), NEWS(l->arena, NodeId, n + 1),
                NEWS(l->arena, uint32_t, n + 1), 0};
    dangling_uses(l);
    for (NodeId id = 1; id < n; id++)
        if (!node_at(l->m, id)->dead && c.state[id] == 0)
            search_cycles(&c, id);
}

// ---- ST005

Str lint_function_key(Lint *l, Str domain, Str name, Str overload)
{
    char nul = 0;
    Buf b = {0};
    buf_str(&b, domain);
    buf_put(&b, &nul, 1);
    buf_str(&b, name);
    buf_put(&b, &nul, 1);
    buf_str(&b, overload);
    Str key = str_copy(l->arena, (Str){b.at, b.len});
    buf_free(&b);
    return key;
}

Map lint_functions(Lint *l)
{
    Map map = {.arena = l->arena};
    for (uint32_t i = 0; i < l->m->functions.len; i++) {
        const Function *f = &l->m->functions.at[i];
        bool added;
        uint32_t *at = map_put(&map, lint_function_key(l, f->domain, f->name, f->overload), &added);
        if (added)
            *at = i;
    }
    return map;
}

// Since which opset there is an operator; 0: no opset has it.
static int first_opset(Str domain, Str op)
{
    const Schema *newest = schema_find(domain, op, INT64_MAX);
    for (uint32_t i = 0; newest && schema_at(i); i++)
        if (strcmp(schema_at(i)->name, newest->name) == 0 &&
            strcmp(schema_at(i)->domain, newest->domain) == 0)
            return schema_at(i)->since;
    return 0;
}

// The operator of the domain whose name is nearest to a misspelt one; NULL: none is near.
static const char *nearest_operator(Lint *l, Str domain, Str op)
{
    uint32_t n = 0, count = 0;
    while (schema_at(n))
        n++;
    const char **names = NEWS(l->arena, const char *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        if (schema_find(domain, str_of(schema_at(i)->name), INT64_MAX) == schema_at(i))
            names[count++] = schema_at(i)->name;
    return str_nearest(op, names, count);
}

// What is known of operators that no opset of the model has, looked for once for each name.
typedef struct Unknown {
    int since;
    const char *near;
} Unknown;

typedef struct Unknowns {
    Map at; // by domain and name: which of `all`
    VEC(Unknown) all;
} Unknowns;

enum { MOST_NEAREST = 64 }; // names that are compared with all that there are

static const Unknown *unknown_of(Lint *l, Unknowns *u, const Node *n)
{
    bool added = false;
    Str key = str_printf(l->arena, "%.*s:%.*s", STR_ARG(n->domain), STR_ARG(n->op));
    uint32_t *at = map_put(&u->at, key, &added);
    if (added) {
        *at = u->all.len;
        Unknown known = {first_opset(n->domain, n->op), NULL};
        if (!known.since && u->all.len < MOST_NEAREST)
            known.near = nearest_operator(l, n->domain, n->op);
        vec_push(l->arena, &u->all, known);
    }
    return &u->all.at[*at];
}

static void help_operator(Lint *l, Diag *d, const Unknown *known, int64_t opset)
{
    if (opset <= 0) {
        diag_help(l->diags, d, "import the domain, with the version whose operators are meant");
        return;
    }
    if (known->since)
        diag_note(l->diags, d, "it exists since opset %d", known->since);
    if (known->since > opset)
        diag_help(l->diags, d, "convert the model to opset %d or later", known->since);
    if (known->near)
        diag_help(l->diags, d, "did you mean %s?", known->near);
}

static void report_operator(Lint *l, Unknowns *u, NodeId id, int64_t opset)
{
    const Node *n = node_at(l->m, id);
    Str op = str_escaped(l->arena, n->op), where = location_node(l->m, l->arena, id);
    Str domain = n->domain.len ? str_escaped(l->arena, n->domain) : STR("ai.onnx");
    bool inside = str_starts(where, "function[");
    Diag *d;
    if (opset <= 0)
        d = diag(l->diags, "ST005", SEV_ERROR, where,
                 "%.*s belongs to domain %.*s, which the %s does not import", STR_ARG(op),
                 STR_ARG(domain), inside ? "function" : "model");
    else
        d = diag(l->diags, "ST005", SEV_ERROR, where,
                 "domain %.*s has no operator %.*s at opset %lld", STR_ARG(domain), STR_ARG(op),
                 (long long)opset);
    lint_about_node(l, d, id);
    d->origin_kind = STR("node");
    d->origin_name = where;
    help_operator(l, d, opset > 0 ? unknown_of(l, u, n) : NULL, opset);
}

void lint_operators(Lint *l)
{
    Map functions = lint_functions(l);
    Unknowns unknown = {.at = {.arena = l->arena}};
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        if (n->dead || n->schema)
            continue;
        int64_t opset = opset_of(l->m, n);
        if (opset > 0 && functions.len &&
            map_get(&functions, lint_function_key(l, n->domain, n->op, n->overload)))
            continue;
        if (opset > 0 && !schema_has_domain(n->domain))
            continue; // an operator of somebody's own
        report_operator(l, &unknown, id, opset);
    }
}
