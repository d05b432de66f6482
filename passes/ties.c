// What has one dtype: for each node and type variable, the operands and results that bear it.
//
// If, Loop and Scan tie through their graphs: a carried value's first value, its place in the body,
// what the body makes of it and what comes out at the end are one.

#include "passes/ties.h"

#include "ir/lists.h"

#include <string.h>

static const TypeSet TENSORS = ((TypeSet)1 << DT_COUNT) - 2;

DType ties_dtype(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    if (value->kind == TYPE_TENSOR && value->dtype != DT_NONE)
        return value->dtype;
    int32_t t = value->kind == TYPE_NONE && value->init ? value->init->dtype : 0;
    return t > 0 && t < DT_COUNT ? (DType)t : DT_NONE;
}

static uint32_t tie_new(Ties *t, TieKind kind, TypeSet allowed)
{
    Tie tie = {.kind = kind, .allowed = allowed & TENSORS};
    vec_push(t->arena, &t->at, tie);
    return t->at.len - 1;
}

static uint32_t fixed_tie(Ties *t, DType d)
{
    if (t->fixed[d] == NO_TIE)
        t->fixed[d] = tie_new(t, TIE_FIXED, (TypeSet)1 << d);
    return t->fixed[d];
}

static bool is_tensor(const Model *m, ValueId v)
{
    TypeKind kind = value_at(m, v)->kind;
    return v && (kind == TYPE_TENSOR || kind == TYPE_NONE);
}

// No Cast takes a sequence or an optional value: all that hold one follow one tie.
static bool is_list(const Model *m, ValueId v)
{
    return v && kind_is_list(value_at(m, v)->kind) && value_at(m, v)->dtype != DT_NONE;
}

// The tie of a list; what no node here makes stays as it is.
static uint32_t list_tie(Ties *t, ValueId v)
{
    return t->maker[v] != NO_TIE ? t->maker[v] : fixed_tie(t, value_at(t->m, v)->dtype);
}

static void use(Ties *t, ValueId v, Use at, uint32_t tie)
{
    TieUse u = {at, v, tie};
    if (is_tensor(t->m, v))
        vec_push(t->arena, &t->uses, u);
    else if (is_list(t->m, v)) // what control flow or a caller takes keeps its dtype
        t->at.at[list_tie(t, v)].allowed &= (TypeSet)1 << value_at(t->m, v)->dtype;
}

static void use_operand(Ties *t, NodeId n, uint32_t i, uint32_t tie)
{
    const Node *node = node_at(t->m, n);
    if (i < node->nin)
        use(t, node->in[i], (Use){n, node->graph, i}, tie);
}

static void use_output(Ties *t, GraphId g, uint32_t i, uint32_t tie)
{
    use(t, graph_at(t->m, g)->outputs.at[i].value, (Use){0, g, i}, tie);
}

static void make(Ties *t, ValueId v, uint32_t tie)
{
    if (is_tensor(t->m, v) || is_list(t->m, v))
        t->maker[v] = tie;
    DType said = is_list(t->m, v) ? type_leaf(value_at(t->m, v)->declared) : DT_NONE;
    if (said != DT_NONE) // what is declared of a list stays
        t->at.at[tie].allowed &= (TypeSet)1 << said;
}

static void make_result(Ties *t, NodeId n, uint32_t o, uint32_t tie)
{
    if (o < node_at(t->m, n)->nout)
        make(t, node_at(t->m, n)->out[o], tie);
}

// What nothing but the file itself decides. `types`: what its producer can give.
static void make_source(Ties *t, ValueId v, TieKind kind, TypeSet types)
{
    DType own = v ? ties_dtype(t->m, v) : DT_NONE;
    if (own == DT_NONE)
        return;
    if (kind == TIE_FIXED) {
        make(t, v, fixed_tie(t, own));
        return;
    }
    uint32_t tie = tie_new(t, kind, types & TENSORS);
    t->at.at[tie].own = own;
    t->at.at[tie].value = v;
    make(t, v, tie);
}

// ---- nodes by their schemas ---------------------------------------------------------------------

typedef struct Vars {
    const char *name[32];
    uint32_t tie[32], n;
} Vars;

static bool is_tied(const SchemaParam *p)
{
    return p && p->type_var && !(p->option == PARAM_VARIADIC && !p->homogeneous);
}

static uint32_t *var_of(Vars *vars, const char *name)
{
    for (uint32_t i = 0; i < vars->n; i++)
        if (strcmp(vars->name[i], name) == 0)
            return &vars->tie[i];
    return NULL;
}

// A variable is bound to what the first list among its operands follows.
static void bind_lists(Ties *t, const Node *node, Vars *vars)
{
    for (uint32_t i = 0; i < node->nin && vars->n < 32; i++) {
        const SchemaParam *p = schema_param(node->schema->inputs, node->schema->ninputs, i);
        if (!is_list(t->m, node->in[i]) || !is_tied(p) || var_of(vars, param_variable(p)))
            continue;
        vars->name[vars->n] = param_variable(p);
        vars->tie[vars->n++] = list_tie(t, node->in[i]);
    }
}

static void tie_operand(Ties *t, NodeId n, uint32_t i, Vars *vars)
{
    const Node *node = node_at(t->m, n);
    const SchemaParam *p = schema_param(node->schema->inputs, node->schema->ninputs, i);
    if (!is_tensor(t->m, node->in[i]) || !p || !(p->types & TENSORS))
        return;
    if (!p->type_var) {
        TypeSet types = p->types & TENSORS;
        bool one = (types & (types - 1)) == 0;
        use_operand(t, n, i,
                    one ? fixed_tie(t, (DType)__builtin_ctzll(types))
                        : tie_new(t, TIE_NODE, types));
        return;
    }
    if (!is_tied(p))
        return;
    uint32_t *tie = var_of(vars, param_variable(p));
    if (!tie && vars->n == 32)
        return;
    if (!tie) {
        vars->name[vars->n] = param_variable(p);
        vars->tie[vars->n] = tie_new(t, TIE_NODE, p->types);
        tie = &vars->tie[vars->n++];
    }
    use_operand(t, n, i, *tie);
}

static TieKind source_kind(const Node *n)
{
    bool constant = node_is(n, "Constant") || node_is(n, "ConstantOfShape");
    return constant ? TIE_CONSTANT : node_is(n, "Cast") ? TIE_CAST : TIE_FIXED;
}

// The tie of an operand that the result's dtype follows though no variable says so, as what
// DequantizeLinear gives follows its scale's.
static uint32_t *tie_followed(Ties *t, const Node *node, uint32_t o, Vars *vars)
{
    const Value *v = node->out[o] ? value_at(t->m, node->out[o]) : NULL;
    const Schema *s = node->schema;
    TypeSet types = schema_param(s->outputs, s->noutputs, o)->types & TENSORS;
    for (uint32_t i = 0; v && v->why_dtype.kind == WHY_OPERAND && i < node->nin; i++) {
        const SchemaParam *p = schema_param(s->inputs, s->ninputs, i);
        uint32_t *tie =
            node->in[i] == v->why_dtype.from && is_tied(p) ? var_of(vars, param_variable(p)) : NULL;
        if (!tie || ties_dtype(t->m, node->in[i]) != v->dtype || !is_tensor(t->m, node->out[o]))
            continue;
        t->at.at[*tie].allowed &= types;
        return tie;
    }
    return NULL;
}

static void tie_node(Ties *t, NodeId n)
{
    const Node *node = node_at(t->m, n);
    const Schema *s = node->schema;
    Vars vars = {.n = 0};
    if (s)
        bind_lists(t, node, &vars);
    for (uint32_t i = 0; s && i < node->nin; i++)
        tie_operand(t, n, i, &vars);
    for (uint32_t o = 0; o < node->nout; o++) {
        const SchemaParam *p = s ? schema_param(s->outputs, s->noutputs, o) : NULL;
        uint32_t *tie = is_tied(p) ? var_of(&vars, param_variable(p)) : NULL;
        tie = tie || !p ? tie : tie_followed(t, node, o, &vars);
        if (tie)
            make_result(t, n, o, *tie);
        else
            make_source(t, node->out[o], source_kind(node), p ? p->types : TENSORS);
    }
}

// ---- control flow -------------------------------------------------------------------------------

// What a node with graphs inside can hand on: If, Loop and Scan of older opsets have fewer dtypes.
static TypeSet results_of(const Node *n)
{
    const Schema *s = n->schema;
    return s && s->noutputs ? s->outputs[s->noutputs - 1].types & TENSORS : TENSORS;
}

static void tie_if(Ties *t, NodeId n)
{
    const Node *node = node_at(t->m, n);
    GraphId branch[2] = {node_graph(node, "then_branch"), node_graph(node, "else_branch")};
    use_operand(t, n, 0, fixed_tie(t, DT_BOOL));
    for (uint32_t o = 0; o < node->nout; o++) {
        uint32_t tie = tie_new(t, TIE_NODE, results_of(node_at(t->m, n)));
        for (int k = 0; k < 2; k++)
            if (branch[k] && o < graph_at(t->m, branch[k])->outputs.len)
                use_output(t, branch[k], o, tie);
        make_result(t, n, o, tie);
    }
}

// Operands from `from` on, body inputs from `in` on, body outputs from `out` on, and results.
static void tie_carried(Ties *t, NodeId n, GraphId body, uint32_t from, uint32_t in, uint32_t out,
                        uint32_t count)
{
    const Graph *g = graph_at(t->m, body);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t tie = tie_new(t, TIE_NODE, results_of(node_at(t->m, n)));
        use_operand(t, n, from + i, tie);
        make(t, g->inputs.at[in + i].value, tie);
        use_output(t, body, out + i, tie);
        make_result(t, n, i, tie);
    }
}

// Results from `result` on gather what the body gives from `out` on.
static void tie_gathered(Ties *t, NodeId n, GraphId body, uint32_t out, uint32_t result)
{
    for (uint32_t i = out; i < graph_at(t->m, body)->outputs.len; i++) {
        uint32_t tie = tie_new(t, TIE_NODE, results_of(node_at(t->m, n)));
        use_output(t, body, i, tie);
        make_result(t, n, result + i - out, tie);
    }
}

static void tie_loop(Ties *t, NodeId n)
{
    const Node *node = node_at(t->m, n);
    GraphId body = node_graph(node, "body");
    uint32_t carried = node->nin > 2 ? node->nin - 2 : 0;
    const Graph *g = graph_at(t->m, body);
    if (!body || g->inputs.len != carried + 2 || g->outputs.len < carried + 1)
        return;
    use_operand(t, n, 0, fixed_tie(t, DT_I64));
    use_operand(t, n, 1, fixed_tie(t, DT_BOOL));
    make(t, g->inputs.at[0].value, fixed_tie(t, DT_I64));
    make(t, g->inputs.at[1].value, fixed_tie(t, DT_BOOL));
    use_output(t, body, 0, fixed_tie(t, DT_BOOL));
    tie_carried(t, n, body, 2, 2, 1, carried);
    tie_gathered(t, n, body, 1 + carried, carried);
}

static void tie_scan(Ties *t, NodeId n)
{
    const Node *node = node_at(t->m, n);
    GraphId body = node_graph(node, "body");
    int64_t scanned = node_int(node, "num_scan_inputs", 0);
    const Graph *g = graph_at(t->m, body);
    if (!body || scanned < 1 || scanned > node->nin || g->inputs.len != node->nin ||
        opset_of(t->m, node) < 9)
        return;
    uint32_t states = node->nin - (uint32_t)scanned;
    if (g->outputs.len < states)
        return;
    tie_carried(t, n, body, 0, 0, 0, states);
    for (uint32_t i = states; i < node->nin; i++) {
        uint32_t tie = tie_new(t, TIE_NODE, results_of(node_at(t->m, n)));
        use_operand(t, n, i, tie);
        make(t, g->inputs.at[i].value, tie);
    }
    tie_gathered(t, n, body, states, states);
}

// ---- graphs -------------------------------------------------------------------------------------

static void tie_graph(Ties *t, GraphId g);

static void tie_held(Ties *t, const Attr *a)
{
    if (a->g)
        tie_graph(t, a->g);
    for (uint32_t i = 0; i < a->ngraphs; i++)
        tie_graph(t, a->graphs[i]);
}

static void tie_graph(Ties *t, GraphId g)
{
    const Graph *graph = graph_at(t->m, g);
    for (uint32_t i = 0; i < graph->inputs.len; i++)
        make_source(t, graph->inputs.at[i].value, TIE_FIXED, TENSORS);
    for (uint32_t i = 0; i < graph->initializers.len; i++) {
        ValueId v = graph->initializers.at[i].value;
        if (v && value_is_weight(t->m, v))
            make_source(t, v, TIE_CONSTANT, TENSORS);
    }
    for (uint32_t i = 0; i < graph->sparse.len; i++)
        make_source(t, graph->sparse.at[i].value, TIE_FIXED, TENSORS);
    for (uint32_t i = 0; i < graph->nodes.len; i++) {
        NodeId n = graph->nodes.at[i];
        const Node *node = node_at(t->m, n);
        for (uint32_t k = 0; k < node->nattrs; k++)
            tie_held(t, &node->attrs[k]);
        if (node_is(node, "If"))
            tie_if(t, n);
        else if (node_is(node, "Loop"))
            tie_loop(t, n);
        else if (node_is(node, "Scan"))
            tie_scan(t, n);
        else
            tie_node(t, n);
    }
}

// What the model's outputs are declared as is its interface.
static void tie_outputs(Ties *t)
{
    const Graph *g = graph_at(t->m, t->m->main);
    for (uint32_t i = 0; i < g->outputs.len; i++) {
        const Type *type = g->outputs.at[i].type;
        const Value *v = value_at(t->m, g->outputs.at[i].value);
        if (v->def == DEF_NODE && type && type->kind == TYPE_TENSOR && type->elem > 0 &&
            type->elem < DT_COUNT)
            use_output(t, t->m->main, i, fixed_tie(t, (DType)type->elem));
        else if (v->def == DEF_INITIALIZER)
            make_source(t, g->outputs.at[i].value, TIE_FIXED, TENSORS);
    }
}

static void sort_uses(Ties *t)
{
    uint32_t n = t->uses.len, *next = NEWS(t->arena, uint32_t, t->nvalues + 1u);
    TieUse *sorted = NEWS(t->arena, TieUse, n + 1u);
    t->first_use = NEWS(t->arena, uint32_t, t->nvalues + 1u);
    for (uint32_t i = 0; i < n; i++)
        t->first_use[t->uses.at[i].value + 1]++;
    for (uint32_t v = 0; v < t->nvalues; v++)
        next[v + 1] = t->first_use[v + 1] += t->first_use[v];
    for (uint32_t i = 0; i < n; i++)
        sorted[next[t->uses.at[i].value]++] = t->uses.at[i];
    t->uses.at = sorted;
    t->uses.cap = n + 1;
}

Ties *ties_of(Model *m, Arena *a)
{
    Ties *t = NEW(a, Ties);
    *t = (Ties){.m = m, .arena = a, .nvalues = m->values.len};
    t->maker = NEWS(a, uint32_t, t->nvalues);
    memset(t->maker, 0xff, t->nvalues * sizeof *t->maker);
    memset(t->fixed, 0xff, sizeof t->fixed);
    if (m->main) {
        tie_graph(t, m->main);
        tie_outputs(t);
    }
    sort_uses(t);
    return t;
}
