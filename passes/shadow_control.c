// Shadows of If, Loop and Scan: what is carried, scanned and given by a branch has a shadow beside
// it, and the numbers of what is computed inside come out as further results.
//
// Results of a graph stand in the order: what is carried, its shadows, what is gathered, its
// shadows, numbers. A loop gathers numbers, a row an iteration; inside of another graph the rows
// are joined to one at once, so that no shape hangs on how often a loop ran.

#include "ir/infer.h"
#include "ir/ops/shadow.h"
#include "passes/shadow_parts.h"
#include "runtime/cameo_measure.h"

#include <string.h>

typedef VEC(ValueId) ValueList;
typedef VEC(ValueInfo) InfoList;

static void set_outputs(Shadow *s, GraphId g, const InfoList *list)
{
    Graph *graph = graph_at(s->m, g);
    graph->outputs.at = list->at;
    graph->outputs.len = list->len;
    graph->outputs.cap = list->cap;
}

static void add_output(Shadow *s, InfoList *list, ValueId v)
{
    vec_push(s->m->arena, list, ((ValueInfo){.value = v, .has = 1}));
}

static void set_operands(Node *n, const ValueList *in)
{
    n->in = in->at;
    n->nin = in->len;
}

// The node's results in that order.
static void set_results(Shadow *s, NodeId id, const ValueList *out)
{
    Node *n = node_at(s->m, id);
    n->out = out->at;
    n->nout = out->len;
    for (uint32_t o = 0; o < out->len; o++)
        if (out->at[o]) {
            Value *v = value_at(s->m, out->at[o]);
            v->def = DEF_NODE;
            v->node = id;
            v->index = o;
        }
}

// A result that is beside y (its shadow, its numbers), in the node's graph.
static ValueId new_result(Shadow *s, NodeId id, ValueId like, const char *what)
{
    return shadow_value(s, node_at(s->m, id)->graph, like, what);
}

// The shadow of a result or of a body's input, typed at once: nodes that read it are tried.
static ValueId beside(Shadow *s, GraphId g, ValueId of)
{
    ValueId v = shadow_value(s, g, of, "f64");
    const Value *like = value_at(s->m, of);
    Value *twin = value_at(s->m, v);
    twin->kind = TYPE_TENSOR;
    twin->dtype = DT_F64;
    twin->rank = like->rank;
    twin->dims = like->dims;
    return v;
}

static ValueId result_at(const Node *n, uint32_t o)
{
    return o < n->nout ? n->out[o] : 0;
}

// Numbers of what was not computed.
static ValueId no_numbers(Shadow *s, GraphId g)
{
    static const double zeros[DRIFT_FIELDS + MEASURE_FIELDS];
    int64_t dims[1] = {s->measures ? MEASURE_FIELDS : DRIFT_FIELDS};
    Model *m = s->m;
    ValueId v = value_new(m, g, str_printf(m->arena, "no_drift#%u", m->values.len));
    TensorData *data = tensor_new(m->arena, DT_F64, 1, dims, zeros);
    data->name = value_at(m, v)->name;
    data->has |= TENSOR_HAS_NAME;
    value_at(m, v)->def = DEF_INITIALIZER;
    value_at(m, v)->init = data;
    vec_push(m->arena, &graph_at(m, g)->initializers, ((Initializer){v, data}));
    return v;
}

// The rows of a loop as one where the loop stands in another graph.
static ValueId joined(Shadow *s, NodeId id, ValueId rows, bool *is_rows)
{
    Model *m = s->m;
    GraphId g = node_at(m, id)->graph;
    *is_rows = g == m->main;
    if (*is_rows)
        return rows;
    Str name = str_printf(m->arena, "drift#%u", m->values.len);
    const char *op = s->measures ? MEASURE_JOIN_OP : DRIFT_JOIN_OP;
    NodeId n = node_build(m, g, op, &rows, 1, name);
    node_at(m, n)->domain = STR(SHADOW_DOMAIN);
    node_at(m, n)->has |= NODE_HAS_DOMAIN;
    node_at(m, n)->reason = STR("shadow");
    graph_append(m, g, n);
    return node_at(m, n)->out[0];
}

// ---- If ----------------------------------------------------------------------------------------

static void finish_branch(Shadow *s, GraphId g, const Node *n, const ShadowList *own,
                          uint32_t before, uint32_t after)
{
    InfoList list = {0};
    const Graph *old = graph_at(s->m, g);
    for (uint32_t o = 0; o < n->nout; o++)
        vec_push(s->m->arena, &list, old->outputs.at[o]);
    for (uint32_t o = 0; o < n->nout; o++)
        if (shadow_is_float(s, n->out[o])) {
            ValueId v = graph_at(s->m, g)->outputs.at[o].value;
            add_output(s, &list, graph_at(s->m, g)->fails ? v : shadow_of(s, v));
        }
    ValueId none = before + after ? no_numbers(s, g) : 0;
    for (uint32_t i = 0; i < before; i++)
        add_output(s, &list, none);
    for (uint32_t i = 0; i < own->len; i++)
        add_output(s, &list, own->at[i].value);
    for (uint32_t i = 0; i < after; i++)
        add_output(s, &list, none);
    set_outputs(s, g, &list);
}

static bool gives_float(const Shadow *s, GraphId g, uint32_t o)
{
    return graph_at(s->m, g)->fails || shadow_is_float(s, graph_at(s->m, g)->outputs.at[o].value);
}

static bool shadow_if(Shadow *s, NodeId id, ShadowList *list)
{
    Model *m = s->m;
    Node n = *node_at(m, id);
    GraphId yes = node_graph(&n, "then_branch"), no = node_graph(&n, "else_branch");
    ShadowList inner[2] = {{0}};
    ValueList out = {0};
    if (!yes || !no || n.nattrs != 2 || graph_at(m, yes)->outputs.len != n.nout ||
        graph_at(m, no)->outputs.len != n.nout)
        return false;
    for (uint32_t o = 0; o < n.nout; o++) // a branch that gives no float would have no shadow
        if (shadow_is_float(s, n.out[o]) && (!gives_float(s, yes, o) || !gives_float(s, no, o)))
            return false;
    if (!graph_at(m, yes)->fails) // a branch that stops the program gives nothing
        shadow_graph(s, yes, &inner[0]);
    if (!graph_at(m, no)->fails)
        shadow_graph(s, no, &inner[1]);
    finish_branch(s, yes, &n, &inner[0], 0, inner[1].len);
    finish_branch(s, no, &n, &inner[1], inner[0].len, 0);
    for (uint32_t o = 0; o < n.nout; o++)
        vec_push(m->arena, &out, n.out[o]);
    for (uint32_t o = 0; o < n.nout; o++)
        if (shadow_is_float(s, n.out[o])) {
            s->shadow[n.out[o]] = beside(s, n.graph, n.out[o]);
            vec_push(m->arena, &out, s->shadow[n.out[o]]);
        }
    for (int b = 0; b < 2; b++)
        for (uint32_t i = 0; i < inner[b].len; i++) {
            ShadowNumbers numbers = inner[b].at[i];
            numbers.value = new_result(s, id, numbers.value, "if");
            vec_push(m->arena, &out, numbers.value);
            vec_push(s->scratch, list, numbers);
        }
    set_results(s, id, &out);
    graph_append(m, n.graph, id);
    return true;
}

// ---- Loop and Scan -----------------------------------------------------------------------------

// How a node's operands and results are laid out: `lead` operands before what is carried, of the
// body's inputs too; `lead_out` results of the body before it.
typedef struct Layout {
    GraphId body;
    uint32_t lead, lead_out, carried, scanned;
} Layout;

static bool layout_of(Shadow *s, const Node *n, Layout *l)
{
    int64_t scanned = node_int(n, "num_scan_inputs", 0);
    bool loop = node_is(n, "Loop"), scan = node_is(n, "Scan") && opset_of(s->m, n) >= 9;
    *l = (Layout){.body = node_graph(n, "body")};
    if (!l->body || (!loop && !scan) || graph_at(s->m, l->body)->fails)
        return false;
    const Graph *g = graph_at(s->m, l->body);
    l->lead = loop ? 2 : 0;
    l->lead_out = loop ? 1 : 0;
    l->scanned = scan && scanned > 0 && scanned <= n->nin ? (uint32_t)scanned : 0;
    if ((scan && l->scanned == 0) || n->nin < l->lead)
        return false;
    l->carried = n->nin - l->lead - l->scanned;
    return g->inputs.len == n->nin && g->outputs.len >= l->lead_out + l->carried;
}

// A body's input for the shadow of another, and what it begins with.
static void add_shadow_input(Shadow *s, const Node *n, const Layout *l, uint32_t i, ValueList *in,
                             ValueList *inner)
{
    ValueId v = graph_at(s->m, l->body)->inputs.at[i].value;
    if (!n->in[i] || !shadow_is_float(s, n->in[i]) || !shadow_is_float(s, v))
        return;
    vec_push(s->m->arena, in, shadow_of(s, n->in[i]));
    s->shadow[v] = beside(s, l->body, v);
    vec_push(s->scratch, inner, s->shadow[v]);
}

// Operands and the body's inputs: what is carried, its shadows, what is scanned, its shadows.
static void add_inputs(Shadow *s, NodeId id, Layout *l)
{
    Model *m = s->m;
    Node n = *node_at(m, id);
    ValueList in = {0}, inner = {0};
    uint32_t scan_from = l->lead + l->carried, scanned = l->scanned;
    for (uint32_t part = 0; part < 2; part++) {
        uint32_t first = part ? scan_from : 0, end = part ? n.nin : scan_from;
        for (uint32_t i = first; i < end; i++) {
            vec_push(m->arena, &in, n.in[i]);
            vec_push(s->scratch, &inner, graph_at(m, l->body)->inputs.at[i].value);
        }
        uint32_t before = in.len;
        for (uint32_t i = part ? first : l->lead; i < end; i++)
            add_shadow_input(s, &n, l, i, &in, &inner);
        l->scanned += part ? in.len - before : 0;
    }
    InfoList infos = {0};
    const Graph *old = graph_at(m, l->body);
    uint32_t next = 0;
    for (uint32_t i = 0; i < inner.len; i++) {
        Value *v = value_at(m, inner.at[i]);
        v->def = DEF_INPUT;
        v->index = i;
        bool was = next < old->inputs.len && old->inputs.at[next].value == inner.at[i];
        ValueInfo info = was ? old->inputs.at[next++] : (ValueInfo){.value = inner.at[i], .has = 1};
        vec_push(m->arena, &infos, info);
    }
    Graph *g = graph_at(m, l->body);
    g->inputs.at = infos.at;
    g->inputs.len = infos.len;
    g->inputs.cap = infos.cap;
    set_operands(node_at(m, id), &in);
    if (l->scanned != scanned)
        node_set_int(m, id, "num_scan_inputs", l->scanned);
}

// A list with an entry for each scanned operand or gathered result, where the node has one.
static void extend_list(Shadow *s, NodeId id, const char *name, const uint32_t *from, uint32_t n)
{
    Node *node = node_at(s->m, id);
    for (uint32_t i = 0; i < node->nattrs; i++) {
        Attr *a = &node->attrs[i];
        if (!str_is(a->name, name))
            continue;
        int64_t *at = NEWS(s->m->arena, int64_t, n + 1u);
        for (uint32_t k = 0; k < n; k++)
            at[k] = from[k] < a->nints ? a->ints[from[k]] : 0;
        a->ints = at;
        a->nints = n;
    }
}

static void extend_inputs(Shadow *s, NodeId id, const Node *old, const Layout *l)
{
    uint32_t n = 0, first = l->lead + l->carried, plain = old->nin - first;
    uint32_t *from = NEWS(s->scratch, uint32_t, 2 * plain + 1u);
    for (; n < plain; n++)
        from[n] = n;
    for (uint32_t i = 0; i < plain; i++)
        if (old->in[first + i] && shadow_is_float(s, old->in[first + i]))
            from[n++] = i;
    extend_list(s, id, "scan_input_axes", from, n);
    extend_list(s, id, "scan_input_directions", from, n);
}

// Results of the body and of the node, in step; `from` says which gathered result each follows.
typedef struct Results {
    InfoList inner;
    ValueList outer;
    uint32_t *from, gathered;
} Results;

static void add_result(Shadow *s, Results *r, ValueInfo inner, ValueId outer)
{
    vec_push(s->m->arena, &r->inner, inner);
    vec_push(s->m->arena, &r->outer, outer);
}

static void add_shadow_result(Shadow *s, Results *r, NodeId id, ValueId inner, ValueId outer)
{
    ValueId twin =
        outer ? beside(s, node_at(s->m, id)->graph, outer) : new_result(s, id, inner, "f64");
    if (outer)
        s->shadow[outer] = twin;
    add_result(s, r, (ValueInfo){.value = shadow_of(s, inner), .has = 1}, twin);
}

static void add_results(Shadow *s, NodeId id, const Layout *l, const ShadowList *inner, Results *r)
{
    Model *m = s->m;
    Node n = *node_at(m, id);
    Graph old = *graph_at(m, l->body);
    uint32_t first = l->lead_out + l->carried, end = old.outputs.len;
    r->from = NEWS(s->scratch, uint32_t, 2 * (end - first) + inner->len + 1u);
    for (uint32_t o = 0; o < l->lead_out; o++)
        vec_push(m->arena, &r->inner, old.outputs.at[o]);
    for (uint32_t part = 0; part < 2; part++) {
        uint32_t begin = part ? first : l->lead_out, stop = part ? end : first;
        for (uint32_t o = begin; o < stop; o++) {
            add_result(s, r, old.outputs.at[o], result_at(&n, o - l->lead_out));
            if (part)
                r->from[r->gathered++] = o - first;
        }
        for (uint32_t o = begin; o < stop; o++) {
            ValueId v = old.outputs.at[o].value;
            ValueId entry = part ? v : old.inputs.at[l->lead + o - l->lead_out].value;
            bool carried = part || (entry < s->nvalues && s->shadow[entry]);
            if (!shadow_is_float(s, v) || !carried)
                continue;
            add_shadow_result(s, r, id, v, result_at(&n, o - l->lead_out));
            if (part)
                r->from[r->gathered++] = o - first;
        }
    }
    for (uint32_t i = 0; i < inner->len; i++) {
        ValueId v = inner->at[i].value;
        add_result(s, r, (ValueInfo){.value = v, .has = 1}, new_result(s, id, v, "loop"));
        r->from[r->gathered++] = UINT32_MAX;
    }
}

static bool shadow_loop(Shadow *s, NodeId id, ShadowList *list)
{
    Model *m = s->m;
    Node old = *node_at(m, id);
    Layout l;
    ShadowList inner = {0};
    Results r = {0};
    if (!layout_of(s, &old, &l))
        return false;
    add_inputs(s, id, &l);
    extend_inputs(s, id, &old, &l);
    s->loops++;
    shadow_graph(s, l.body, &inner);
    s->loops--;
    add_results(s, id, &l, &inner, &r);
    set_outputs(s, l.body, &r.inner);
    set_results(s, id, &r.outer);
    extend_list(s, id, "scan_output_axes", r.from, r.gathered);
    extend_list(s, id, "scan_output_directions", r.from, r.gathered);
    graph_append(m, old.graph, id);
    for (uint32_t i = 0; i < inner.len; i++) {
        ShadowNumbers numbers = inner.at[i];
        ValueId rows = r.outer.at[r.outer.len - inner.len + i];
        numbers.value = joined(s, id, rows, &numbers.rows);
        vec_push(s->scratch, list, numbers);
    }
    return true;
}

bool shadow_control(Shadow *s, NodeId id, ShadowList *list)
{
    Node old = *node_at(s->m, id);
    bool done = node_is(&old, "If") ? shadow_if(s, id, list) : shadow_loop(s, id, list);
    for (uint32_t o = 0; done && o < old.nout; o++)
        if (old.out[o] && shadow_is_float(s, old.out[o]) && s->shadow[old.out[o]] &&
            value_at(s->m, old.out[o])->rank >= 0)
            shadow_report(s, id, old.out[o], s->shadow[old.out[o]], 0, SHADOW_TOTAL, list);
    return done;
}
