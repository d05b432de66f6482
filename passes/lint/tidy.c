// ST006, ST007, ST009, ST010: what a graph carries that it does not need, and the order of its
// nodes.

#include "ir/contract.h"
#include "passes/lint/tensors.h"

#include <string.h>

enum { MAX_NAMES = 6 };

// "a", "b" and 3 more
typedef struct Names {
    Buf text;
    uint32_t count;
} Names;

static void names_add(Names *n, Str shown)
{
    if (n->count < MAX_NAMES)
        buf_printf(&n->text, "%s%.*s", n->count ? ", " : "", STR_ARG(shown));
    n->count++;
}

static void names_note(Lint *l, Diag *d, Names *n)
{
    if (n->count > MAX_NAMES)
        buf_printf(&n->text, " and %u more", n->count - MAX_NAMES);
    diag_note(l->diags, d, "%s", n->text.at ? n->text.at : "");
    buf_free(&n->text);
}

// ---- ST006: what the outputs need

typedef struct Live {
    const Model *m;
    Arena *arena;
    bool *values, *nodes; // by id: needed
    uint64_t least_bytes; // idle constants of a graph that have fewer are left
    VEC(NodeId) open;
    Map names; // graph and name -> value, where a Gradient names values; filled when first asked
               // for
} Live;

static void need_value(Live *l, ValueId v)
{
    if (!v || l->values[v])
        return;
    l->values[v] = true;
    NodeId n = value_at(l->m, v)->def == DEF_NODE ? value_at(l->m, v)->node : 0;
    if (n && !l->nodes[n]) {
        l->nodes[n] = true;
        vec_push(l->arena, &l->open, n);
    }
}

static void need_outputs(Live *l, GraphId g)
{
    for (uint32_t i = 0; i < graph_at(l->m, g)->outputs.len; i++)
        need_value(l, graph_at(l->m, g)->outputs.at[i].value);
}

static Str name_key(Arena *a, GraphId g, Str name)
{
    return str_printf(a, "%u %.*s", g, STR_ARG(name));
}

// Gradient names the values between which it derives.
static void need_by_name(Live *l, GraphId g, Str name)
{
    bool first = !l->names.arena;
    l->names.arena = l->arena;
    for (ValueId v = 1; first && v < l->m->values.len; v++)
        if (value_at(l->m, v)->def != DEF_NONE)
            *map_put(&l->names,
                     name_key(l->arena, value_at(l->m, v)->graph, value_at(l->m, v)->name), NULL) =
                v;
    const uint32_t *v = map_get(&l->names, name_key(l->arena, g, name));
    if (v)
        need_value(l, *v);
}

static void need_all_of(Live *l, NodeId id)
{
    const Node *n = node_at(l->m, id);
    bool gradient = str_is(n->op, "Gradient") && str_is(n->domain, "ai.onnx.preview.training");
    for (uint32_t i = 0; gradient && i < n->nattrs; i++) {
        if (n->attrs[i].s.len)
            need_by_name(l, n->graph, n->attrs[i].s);
        for (uint32_t k = 0; k < n->attrs[i].nstrings; k++)
            need_by_name(l, n->graph, n->attrs[i].strings[k]);
    }
    for (uint32_t i = 0; i < n->nin; i++)
        need_value(l, n->in[i]);
    for (uint32_t i = 0; i < n->nattrs; i++) {
        if (n->attrs[i].g)
            need_outputs(l, n->attrs[i].g);
        for (uint32_t k = 0; k < n->attrs[i].ngraphs; k++)
            need_outputs(l, n->attrs[i].graphs[k]);
    }
}

static void need_names(Live *l, const Map *initializers, const Props *props, bool keys)
{
    for (uint32_t i = 0; i < props->len; i++) {
        const uint32_t *v = map_get(initializers, keys ? props->at[i].key : props->at[i].value);
        if (v)
            need_value(l, *v);
    }
}

// What a training graph gives for its bindings, also where no output of it says so.
static void need_bound(Live *l, GraphId g, const Props *binding)
{
    for (uint32_t i = 0; g && i < binding->len; i++)
        need_by_name(l, g, binding->at[i].value);
}

// Names that stand outside of nodes: quantization annotations, what training updates.
static void need_named(Live *l)
{
    const Model *m = l->m;
    for (uint32_t i = 0; i < m->training.len; i++) {
        const TrainingInfo *t = &m->training.at[i];
        need_bound(l, t->initialization, &t->initialization_binding);
        need_bound(l, t->algorithm, &t->update_binding);
    }
    for (GraphId g = 1; g < m->graphs.len; g++) {
        const Graph *graph = graph_at(m, g);
        bool training = g == m->main && m->training.len;
        Map names = {.arena = l->arena};
        if (!graph->quantization.len && !training)
            continue;
        for (uint32_t i = 0; i < graph->initializers.len; i++)
            *map_put(&names, value_at(m, graph->initializers.at[i].value)->name, NULL) =
                graph->initializers.at[i].value;
        for (uint32_t i = 0; i < graph->quantization.len; i++)
            need_names(l, &names, &graph->quantization.at[i].params, false);
        for (uint32_t i = 0; i < m->training.len && training; i++) {
            need_names(l, &names, &m->training.at[i].initialization_binding, true);
            need_names(l, &names, &m->training.at[i].update_binding, true);
        }
    }
}

enum { FEW_BYTES = 4096 }; // a constant that nobody would miss disk space for

// Is what a node gives known from shapes and small constants alone? `sizes`: of the nodes before.
static bool is_size(const Model *m, const Node *n, const bool *sizes)
{
    if (node_is(n, "Shape") || node_is(n, "Size"))
        return true;
    const Attr *value = node_is(n, "Constant") ? attr_find(n, "value") : NULL;
    if (node_is(n, "Constant"))
        return !value || !value->t || tensor_count(value->t) <= FEW_BYTES / 8;
    bool all = n->schema && n->nin > 0;
    for (uint32_t i = 0; i < n->nattrs; i++)
        all &= !n->attrs[i].g && !n->attrs[i].ngraphs;
    for (uint32_t i = 0; all && i < n->nin; i++) {
        const Value *v = n->in[i] ? value_at(m, n->in[i]) : NULL;
        all = !v || v->def == DEF_INITIALIZER || (v->def == DEF_NODE && sizes[v->node]);
    }
    return all;
}

static bool is_idle(const Live *l, NodeId n)
{
    return !node_at(l->m, n)->dead && !l->nodes[n];
}

// Exporters and the standard's own functions leave arithmetic on sizes behind that only some of
// their forms need, and whatever loads a model drops it: where that is all that is idle in a graph
// it counts as needed.
static void need_sizes(Live *l)
{
    const Model *m = l->m;
    bool *sizes = NEWS(l->arena, bool, m->nodes.len);
    for (GraphId g = 1; g < m->graphs.len; g++) {
        const Graph *graph = graph_at(m, g);
        bool only = true;
        for (uint32_t i = 0; i < graph->nodes.len; i++) {
            NodeId n = graph->nodes.at[i];
            sizes[n] = is_size(m, node_at(m, n), sizes);
            only &= !is_idle(l, n) || sizes[n];
        }
        for (uint32_t i = 0; only && i < graph->nodes.len; i++) {
            NodeId n = graph->nodes.at[i];
            if (!is_idle(l, n))
                continue;
            l->nodes[n] = true;
            vec_push(l->arena, &l->open, n);
        }
    }
}

// `small`: idle arithmetic on sizes and idle constants of few bytes count as idle too.
static Live live_of(const Model *m, Arena *a, bool small)
{
    Live l = {.m = m, .arena = a, .least_bytes = small ? 0 : FEW_BYTES};
    l.values = NEWS(a, bool, m->values.len);
    l.nodes = NEWS(a, bool, m->nodes.len);
    for (GraphId g = 1; g < m->graphs.len; g++)
        if (!graph_at(m, g)->owner)
            need_outputs(&l, g);
    // Somebody's own operator may do more than give results.
    for (NodeId n = 1; n < m->nodes.len; n++)
        if (!node_at(m, n)->dead && (!node_at(m, n)->schema || node_at(m, n)->nout == 0) &&
            !l.nodes[n]) {
            l.nodes[n] = true;
            vec_push(a, &l.open, n);
        }
    need_named(&l);
    for (int round = 0; round < 2; round++) {
        while (l.open.len)
            need_all_of(&l, l.open.at[--l.open.len]);
        if (round == 0 && !small)
            need_sizes(&l);
    }
    return l;
}

// An initializer that is an input too is part of what callers see.
static bool is_idle_initializer(const Live *l, ValueId v)
{
    return !l->values[v] && value_at(l->m, v)->def != DEF_INPUT;
}

static uint64_t idle_bytes(const Live *live, GraphId g)
{
    const Graph *graph = graph_at(live->m, g);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < graph->initializers.len; i++) {
        const Initializer *init = &graph->initializers.at[i];
        uint64_t n = tensor_count(init->data), bits = dtype_info((DType)init->data->dtype)->bits;
        if (is_idle_initializer(live, init->value))
            bytes += n < UINT64_C(1) << 48 ? (n * bits + 7) / 8 : 0;
    }
    for (uint32_t i = 0; i < graph->sparse.len; i++)
        if (is_idle_initializer(live, graph->sparse.at[i].value))
            bytes += (uint64_t)lint_sparse_bytes(graph->sparse.at[i].data);
    return bytes;
}

static void report_idle_weights(Lint *l, const Live *live, GraphId g)
{
    const Graph *graph = graph_at(l->m, g);
    Names names = {0};
    uint64_t bytes = idle_bytes(live, g);
    if (bytes < live->least_bytes)
        return;
    for (uint32_t i = 0; i < graph->initializers.len; i++) {
        const Initializer *init = &graph->initializers.at[i];
        if (!is_idle_initializer(live, init->value))
            continue;
        names_add(&names, str_printf(l->arena, "\"%.*s\"", STR_ARG(lint_name(l, init->value))));
    }
    for (uint32_t i = 0; i < graph->sparse.len; i++)
        if (is_idle_initializer(live, graph->sparse.at[i].value))
            names_add(&names, str_printf(l->arena, "\"%.*s\"",
                                         STR_ARG(lint_name(l, graph->sparse.at[i].value))));
    if (!names.count)
        return;
    uint32_t n = names.count;
    Diag *d = diag(l->diags, "ST006", SEV_WARNING, location_graph(l->m, l->arena, g),
                   "%u initializer%s of %llu bytes %s used by nothing", n, n == 1 ? "" : "s",
                   (unsigned long long)bytes, n == 1 ? "is" : "are");
    names_note(l, d, &names);
    diag_fix(l->diags, d, true, "delete %s: the file is %llu bytes smaller", n == 1 ? "it" : "them",
             (unsigned long long)bytes);
}

// A node inside of a graph whose own node is idle goes with that.
static bool is_reported_idle(const Live *l, NodeId n)
{
    const Node *node = node_at(l->m, n);
    NodeId owner = graph_at(l->m, node->graph)->owner;
    return !node->dead && !l->nodes[n] && (!owner || l->nodes[owner]);
}

static void report_idle_nodes(Lint *l, const Live *live, GraphId g)
{
    const Graph *graph = graph_at(l->m, g);
    Names names = {0};
    for (uint32_t i = 0; i < graph->nodes.len; i++)
        if (is_reported_idle(live, graph->nodes.at[i]))
            names_add(&names, lint_short(l, graph->nodes.at[i]));
    if (!names.count)
        return;
    uint32_t n = names.count;
    Diag *d = diag(l->diags, "ST006", SEV_WARNING, location_graph(l->m, l->arena, g),
                   "what %u node%s compute%s is used by nothing", n, n == 1 ? "" : "s",
                   n == 1 ? "s" : "");
    names_note(l, d, &names);
    diag_fix(l->diags, d, true, "delete %s: no output needs %s", n == 1 ? "it" : "them",
             n == 1 ? "it" : "them");
}

void lint_dead(Lint *l)
{
    Live live = live_of(l->m, l->arena, lint_named(l, "ST006"));
    for (GraphId g = 1; g < l->m->graphs.len; g++) {
        NodeId owner = graph_at(l->m, g)->owner;
        if (owner && (node_at(l->m, owner)->dead || !live.nodes[owner]))
            continue;
        report_idle_nodes(l, &live, g);
        report_idle_weights(l, &live, g);
    }
}

static uint32_t delete_dead(Model *m, bool small)
{
    Arena *scratch = arena_new();
    Live live = live_of(m, scratch, small);
    uint32_t changes = 0;
    for (GraphId g = 1; g < m->graphs.len; g++) {
        Graph *graph = graph_at(m, g);
        NodeId owner = graph->owner;
        if (owner && (node_at(m, owner)->dead || !live.nodes[owner]))
            continue;
        uint32_t nodes = 0, weights = 0, sparse = 0, infos = 0, before = changes;
        for (uint32_t i = 0; i < graph->nodes.len; i++) {
            NodeId n = graph->nodes.at[i];
            node_at(m, n)->dead = !live.nodes[n];
            changes += !live.nodes[n];
            if (live.nodes[n])
                graph->nodes.at[nodes++] = n;
        }
        bool many = changes > before || idle_bytes(&live, g) >= live.least_bytes;
        for (uint32_t i = 0; i < graph->initializers.len; i++)
            if (many && is_idle_initializer(&live, graph->initializers.at[i].value))
                changes++;
            else
                graph->initializers.at[weights++] = graph->initializers.at[i];
        for (uint32_t i = 0; i < graph->sparse.len; i++)
            if (many && is_idle_initializer(&live, graph->sparse.at[i].value))
                changes++;
            else
                graph->sparse.at[sparse++] = graph->sparse.at[i];
        for (uint32_t i = 0; i < graph->infos.len; i++) {
            const Value *v = value_at(m, graph->infos.at[i].value);
            bool gone = v->def == DEF_NODE ? node_at(m, v->node)->dead
                                           : many && v->def != DEF_NONE && v->def != DEF_INPUT &&
                                                 !live.values[graph->infos.at[i].value];
            if (!gone || changes == before)
                graph->infos.at[infos++] = graph->infos.at[i];
        }
        graph->nodes.len = nodes;
        graph->initializers.len = weights;
        graph->sparse.len = sparse;
        graph->infos.len = infos;
    }
    arena_free(scratch);
    return changes;
}

uint32_t repair_dead(Model *m, bool unsafe)
{
    (void)unsafe;
    return delete_dead(m, false);
}

uint32_t lint_repair_sizes(Model *m)
{
    return delete_dead(m, true);
}

// ---- ST007

static bool is_shadowed(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    return value->def == DEF_INPUT && value->init && !value_is_weight(m, v);
}

void lint_shadowed(Lint *l)
{
    const Model *m = l->m;
    const Graph *g = graph_at(m, m->main);
    Names names = {0};
    for (uint32_t i = 0; i < g->initializers.len; i++)
        if (is_shadowed(m, g->initializers.at[i].value))
            names_add(&names, str_printf(l->arena, "\"%.*s\"",
                                         STR_ARG(lint_name(l, g->initializers.at[i].value))));
    if (!names.count)
        return;
    uint32_t n = names.count;
    Diag *d = diag(l->diags, "ST007", SEV_INFO, location_graph(m, l->arena, m->main),
                   "%u weight%s may be replaced by whoever runs the model", n, n == 1 ? "" : "s");
    names_note(l, d, &names);
    diag_note(l->diags, d,
              "an initializer that is an input too is a default since IR version 4 (here %lld): "
              "runtimes cannot fold it",
              (long long)m->ir_version);
    diag_fix(l->diags, d, false, "take %s off the inputs: %s becomes constant",
             n == 1 ? "it" : "them", n == 1 ? "it" : "each");
}

uint32_t repair_shadowed(Model *m, bool unsafe)
{
    Graph *g = graph_at(m, m->main);
    uint32_t kept = 0, changes = 0;
    for (uint32_t i = 0; i < g->inputs.len && unsafe; i++) {
        ValueId v = g->inputs.at[i].value;
        if (is_shadowed(m, v)) {
            value_at(m, v)->def = DEF_INITIALIZER;
            changes++;
            continue;
        }
        value_at(m, v)->index = kept;
        g->inputs.at[kept++] = g->inputs.at[i];
    }
    if (unsafe)
        g->inputs.len = kept;
    return changes;
}

// ---- ST009

static bool calls_function(const Map *functions, Arena *a, const Node *n)
{
    Str key =
        str_printf(a, "%.*s %.*s %.*s", STR_ARG(n->domain), STR_ARG(n->op), STR_ARG(n->overload));
    return functions->len && map_get(functions, key);
}

// One finding an operator: the first of its nodes, and how many there are.
void lint_custom(Lint *l)
{
    const Model *m = l->m;
    Map functions = {.arena = l->arena}, seen = functions;
    VEC(uint32_t) counts = {0};
    VEC(NodeId) first = {0};
    for (uint32_t i = 0; i < m->functions.len; i++) {
        const Function *f = &m->functions.at[i];
        map_put(&functions,
                str_printf(l->arena, "%.*s %.*s %.*s", STR_ARG(f->domain), STR_ARG(f->name),
                           STR_ARG(f->overload)),
                NULL);
    }
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        bool added;
        if (n->dead || n->schema || schema_has_domain(n->domain) || opset_of(m, n) <= 0 ||
            calls_function(&functions, l->arena, n) || contract_of(m->contracts, l->arena, n))
            continue;
        uint32_t *at = map_put(
            &seen, str_printf(l->arena, "%.*s %.*s", STR_ARG(n->domain), STR_ARG(n->op)), &added);
        if (added) {
            *at = counts.len;
            vec_push(l->arena, &counts, 0);
            vec_push(l->arena, &first, id);
        }
        counts.at[*at]++;
    }
    for (uint32_t i = 0; i < counts.len; i++) {
        const Node *n = node_at(m, first.at[i]);
        Diag *d =
            diag(l->diags, "ST009", SEV_INFO, location_node(m, l->arena, first.at[i]),
                 "custom op %.*s::%.*s has no contract: what it takes and gives is unknown",
                 STR_ARG(str_escaped(l->arena, n->domain)), STR_ARG(str_escaped(l->arena, n->op)));
        lint_about_node(l, d, first.at[i]);
        diag_note(l->diags, d, "%u node%s of it", counts.at[i], counts.at[i] == 1 ? "" : "s");
        diag_note(l->diags, d, "dtypes, shapes and devices are not followed through it");
        diag_help(l->diags, d,
                  "name its kernel in cameo.yaml: custom: {%.*s: {sources: [FILE], ops: {%.*s: "
                  "FUNCTION}}}",
                  STR_ARG(str_escaped(l->arena, n->domain)), STR_ARG(str_escaped(l->arena, n->op)));
    }
}

// ---- ST010

// By graph: the node that stands in front of what it, or a graph inside of it, needs, and how many
// do.
typedef struct Early {
    const Model *m;
    NodeId *first;
    ValueId *needs; // of the first
    bool *counted;  // by node
    uint32_t *count;
} Early;

static void look_at_need(void *context, NodeId from, NodeId to, ValueId v)
{
    Early *e = context;
    const Node *n = node_at(e->m, to);
    GraphId g = n->graph;
    if (node_at(e->m, from)->position <= n->position)
        return;
    if (!e->first[g] || n->position < node_at(e->m, e->first[g])->position) {
        e->first[g] = to;
        e->needs[g] = v;
    }
    e->count[g] += !e->counted[to];
    e->counted[to] = true;
}

static Early early_nodes(const Model *m, Arena *a)
{
    uint32_t n = m->graphs.len;
    bool any = false;
    Early e = {m, NEWS(a, NodeId, n), NEWS(a, ValueId, n), NEWS(a, bool, m->nodes.len),
               NEWS(a, uint32_t, n)};
    for (GraphId g = 1; g < n; g++)
        any |= graph_at(m, g)->unsorted;
    if (any)
        model_each_need(m, look_at_need, &e);
    return e;
}

static bool is_operand(const Node *n, ValueId v)
{
    for (uint32_t i = 0; i < n->nin; i++)
        if (n->in[i] == v)
            return true;
    return false;
}

void lint_order(Lint *l)
{
    Early early = early_nodes(l->m, l->arena);
    for (GraphId g = 1; g < l->m->graphs.len; g++) {
        uint32_t count = early.count[g];
        ValueId needs = early.needs[g];
        NodeId id = graph_at(l->m, g)->unsorted ? early.first[g] : 0;
        if (!id)
            continue;
        Diag *d = diag(l->diags, "ST010", SEV_WARNING, location_node(l->m, l->arena, id),
                       "%.*s stands in front of the node that gives %s \"%.*s\"",
                       STR_ARG(str_escaped(l->arena, node_at(l->m, id)->op)),
                       is_operand(node_at(l->m, id), needs) ? "its input" : "what its graphs read,",
                       STR_ARG(lint_name(l, needs)));
        lint_about_node(l, d, id);
        d->value = lint_name(l, needs);
        diag_note(l->diags, d, "\"%.*s\" is made by %.*s", STR_ARG(lint_name(l, needs)),
                  STR_ARG(lint_short(l, value_at(l->m, needs)->node)));
        if (count > 1)
            diag_note(l->diags, d, "%u nodes of the graph stand so", count);
        diag_fix(l->diags, d, true,
                 "write the nodes in order of execution, otherwise as they stand");
    }
}

uint32_t repair_order(Model *m, bool unsafe)
{
    uint32_t changes = 0;
    Arena *a = arena_new();
    Early early = early_nodes(m, a);
    (void)unsafe;
    for (GraphId g = 1; g < m->graphs.len; g++) {
        if (!graph_at(m, g)->unsorted || !early.first[g])
            continue;
        graph_at(m, g)->unsorted = false;
        changes++;
    }
    arena_free(a);
    return changes;
}
