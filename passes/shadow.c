// Gives a model its float64 shadow: see passes/shadow.h.
//
// 1. A node is copied twice, in float64: once on the shadows of its operands (Y), once on its own
//    operands (L). Where these are the same values, or the node is exact, one copy is enough.
// 2. What names a dtype (Cast's `to`, a norm's stash_type) names float64 in the copies; operands
//    whose type no type variable says (Resize's scales) stay as they are.
// 3. Nodes that draw, that work on lists, whose schema or lowering has no float64, or whose shapes
//    the numbers themselves decide, are not copied: their results are their own shadows.
//
// in:  what pass_pipeline leaves.   out: a model of the same inputs; types have to be inferred.

#include "ir/infer.h"
#include "ir/lists.h"
#include "ir/lower.h"
#include "ir/ops/gradient.h"
#include "ir/ops/random.h"
#include "ir/ops/shadow.h"
#include "ir/pairs.h"
#include "passes/pass.h"
#include "passes/shadow_parts.h"
#include "runtime/cameo_drift.h"

#include <string.h>

enum { SMALL_CONSTANT = 32 }; // elements; more stay as narrow as they are until they are read

// They give some of their operands' numbers, or numbers that the dtype holds whatever they are.
static const char *const exact_ops[] = {"Identity",
                                        "Reshape",
                                        "Transpose",
                                        "Squeeze",
                                        "Unsqueeze",
                                        "Flatten",
                                        "Slice",
                                        "Gather",
                                        "GatherElements",
                                        "GatherND",
                                        "Concat",
                                        "Split",
                                        "Expand",
                                        "Tile",
                                        "Pad",
                                        "DepthToSpace",
                                        "Where",
                                        "SpaceToDepth",
                                        "Compress",
                                        "ScatterElements",
                                        "ReverseSequence",
                                        "Relu",
                                        "MaxPool",
                                        "Max",
                                        "Min",
                                        "Clip",
                                        "Neg",
                                        "Abs",
                                        "ReduceMax",
                                        "ReduceMin",
                                        "GlobalMaxPool",
                                        "Floor",
                                        "Ceil",
                                        "Round",
                                        "Sign",
                                        "TopK",
                                        "Trilu",
                                        "MaxUnpool",
                                        "Variable"};
// Decisions whose result is a float.
static const char *const deciding_ops[] = {"Floor", "Ceil", "Round", "Sign"};
// The shape of what they give is made of numbers.
static const char *const shaping_ops[] = {"Unique", "Range"};
// What they read or give is no number but its bits.
static const char *const bits_ops[] = {"BitCast"};

static bool is_one_of(const Node *n, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(n->op, names[i]))
            return true;
    return false;
}
#define IS_ONE_OF(n, names) is_one_of(n, names, sizeof(names) / sizeof *(names))

// ---- values ------------------------------------------------------------------------------------

bool shadow_is_float(const Shadow *s, ValueId v)
{
    const Value *value = v && !s->measures ? value_at(s->m, v) : NULL;
    return value && value->kind == TYPE_TENSOR && dtype_is_float(value->dtype);
}

// Is it part of a double-double shadow?
static bool shadow_is_pair(const Shadow *s, ValueId v)
{
    const Value *value = value_at(s->m, v);
    return v >= s->nvalues &&
           (value->def != DEF_NODE || node_is_paired(node_at(s->m, value->node)));
}

ValueId shadow_value(Shadow *s, GraphId g, ValueId like, const char *what)
{
    Str name = value_at(s->m, like)->name;
    return value_new(s->m, g,
                     str_printf(s->m->arena, "%.*s#%s.%u", STR_ARG(name), what, s->m->values.len));
}

static ValueId result_of(Shadow *s, NodeId n)
{
    return node_at(s->m, n)->out[0];
}

NodeId shadow_own(Shadow *s, GraphId g, const char *op, const ValueId *in, uint32_t nin,
                  ValueId like, const char *what)
{
    Str name = str_printf(s->m->arena, "%.*s#%s.%u", STR_ARG(value_at(s->m, like)->name), what,
                          s->m->values.len);
    NodeId n = node_build(s->m, g, op, in, nin, name);
    Node *node = node_at(s->m, n);
    node->domain = STR(SHADOW_DOMAIN);
    node->has |= NODE_HAS_DOMAIN;
    node->reason = STR("shadow");
    return n;
}

static ValueId widened(Shadow *s, ValueId v, const char *op, Str reason)
{
    GraphId g = value_at(s->m, v)->graph;
    NodeId n = shadow_own(s, g, op, &v, 1, v, "wide");
    node_at(s->m, n)->reason = reason;
    if (!str_is(str_of(op), WIDEN_OP)) {
        node_at(s->m, n)->domain = STR_NONE;
        node_at(s->m, n)->has &= ~(uint32_t)NODE_HAS_DOMAIN;
        node_set_int(s->m, n, "to", DT_F64);
    }
    infer_node(s->m, n, NULL);
    graph_append(s->m, g, n);
    return result_of(s, n);
}

ValueId shadow_widened(Shadow *s, ValueId v)
{
    return widened(s, v, WIDEN_OP, STR("shadow"));
}

ValueId shadow_wide(Shadow *s, ValueId v)
{
    if (value_at(s->m, v)->dtype == DT_F64 && (!s->pairs || shadow_is_pair(s, v)))
        return v;
    if (v < s->nvalues && s->wide[v])
        return s->wide[v];
    const TensorData *t = value_at(s->m, v)->constant;
    bool small = t && tensor_count(t) <= SMALL_CONSTANT && !s->pairs;
    ValueId wide = widened(s, v, small ? "Cast" : WIDEN_OP, s->pairs ? pairs_mark : STR("shadow"));
    if (v < s->nvalues)
        s->wide[v] = wide;
    return wide;
}

// Each reader has a node of its own, which becomes part of it.
static ValueId beside(Shadow *s, ValueId v)
{
    GraphId g = value_at(s->m, v)->graph;
    ValueId in[2] = {v, shadow_apart(s, v)};
    NodeId n = shadow_own(s, g, BESIDE_OP, in, 2, v, "f64");
    infer_node(s->m, n, NULL);
    graph_append(s->m, g, n);
    return result_of(s, n);
}

ValueId shadow_of(Shadow *s, ValueId v)
{
    if (v < s->nvalues && s->compact[v])
        return beside(s, v);
    return v < s->nvalues && s->shadow[v] ? s->shadow[v] : shadow_wide(s, v);
}

// What stands for Y and L where y is compared with them.
static DriftGiven given_of(const Shadow *s, ValueId y, ValueId exact, ValueId local)
{
    if (y >= s->nvalues || !exact)
        return DRIFT_IS_SHADOW;
    if (exact == s->apart[y])
        return DRIFT_IS_APART;
    if (local && local == s->brought[y])
        return s->report->compact ? DRIFT_IS_LOCAL : DRIFT_IS_BROUGHT;
    const bool plain = s->report->compact && value_at(s->m, y)->dtype == DT_F32;
    return plain && local == exact ? DRIFT_IS_MADE : DRIFT_IS_SHADOW;
}

// The calls around a node that stands in a function, the innermost first.
static Str calls_around(const Model *m, NodeId n)
{
    enum { MAX_CALLS = 16 };
    NodeId calls[MAX_CALLS];
    const uint32_t count = location_calls(m, n, calls, MAX_CALLS);
    Str text = STR_NONE;
    for (uint32_t i = 0; i < count; i++)
        text = str_printf(m->arena, "%.*s%s%.*s", STR_ARG(text), i ? ", " : "",
                          STR_ARG(location_node(m, m->arena, calls[i])));
    return text;
}

void shadow_report(Shadow *s, NodeId n, ValueId y, ValueId exact, ValueId local, ShadowKind kind,
                   ShadowList *list)
{
    Model *m = s->m;
    GraphId g = value_at(m, y)->graph;
    DType t = value_at(m, y)->dtype;
    ShadowValue v = {.value = y, .node = n, .kind = kind, .dtype = t, .graph = g};
    bool plain = !dtype_is_float(t) || t == DT_F32 || t == DT_F16 || t == DT_BF16 || t == DT_F64;
    ValueId number = plain ? y : shadow_widened(s, y), in[3] = {number, exact, local};
    const DriftGiven given = given_of(s, y, exact, local);
    const uint32_t nin = !exact ? 1 : local && given != DRIFT_IS_MADE ? 3 : 2;
    NodeId drift = shadow_own(s, g, DRIFT_OP, in, nin, y, "drift");
    node_set_int(m, drift, "dtype", t);
    if (IS_ONE_OF(node_at(m, n), deciding_ops))
        node_set_int(m, drift, "decides", 1);
    if (given)
        node_set_int(m, drift, "given", given);
    if (y < s->nvalues && t == DT_F32 && !s->pairs) {
        s->drift[y] = drift;
        s->compact[y] =
            exact && s->report->compact && (kind == SHADOW_FLOAT || kind == SHADOW_EXACT);
    }
    Node *node = node_at(m, drift);
    node->position = node_at(m, n)->position;
    graph_append(m, g, drift);
    v.loops = s->loops;
    v.name = value_shown_name(m, y);
    v.op = node_at(m, n)->op;
    v.path = location_node(m, m->arena, n);
    v.call = calls_around(m, n);
    v.anew = s->anew && dtype_is_float(t);
    vec_push(s->scratch, list,
             ((ShadowNumbers){s->report->values.len, result_of(s, drift), false}));
    vec_push(m->arena, &s->report->values, v);
    s->report->restarts += kind == SHADOW_RESTART;
}

// ---- copies ------------------------------------------------------------------------------------

bool shadow_is_variable(const Node *n, uint32_t i)
{
    const Schema *s = n->schema;
    if (!s || !s->ninputs)
        return true;
    const SchemaParam *p = &s->inputs[i < s->ninputs ? i : s->ninputs - 1];
    return p->type_var != NULL;
}

// Attributes that name the dtype computed in, or given.
static void name_wide_dtypes(Shadow *s, NodeId n)
{
    static const char *const names[] = {"to", "dtype", "output_dtype", "softmax_precision"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        DType t = node_dtype(node_at(s->m, n), names[i], DT_NONE);
        if (node_has_attr(node_at(s->m, n), names[i]) && dtype_is_float(t))
            node_set_int(s->m, n, names[i], DT_F64);
    }
    const Schema *schema = node_at(s->m, n)->schema;
    for (uint32_t i = 0; schema && i < schema->nattrs; i++)
        if (strcmp(schema->attrs[i].name, "stash_type") == 0)
            node_set_int(s->m, n, "stash_type", DT_F64);
}

// A copy of the node in float64, on `in`; not in the list yet. Its results are fresh values.
NodeId shadow_copy_as_is(Shadow *s, NodeId from, const ValueId *in, const char *what)
{
    Model *m = s->m;
    NodeId id = node_new(m, node_at(m, from)->graph);
    Node n = *node_at(m, from);
    n.in = NEWS(m->arena, ValueId, n.nin + 1u);
    n.out = NEWS(m->arena, ValueId, n.nout + 1u);
    Attr *attrs = NEWS(m->arena, Attr, n.nattrs + 1u);
    if (n.nin)
        memcpy(n.in, in, n.nin * sizeof *in);
    if (n.nattrs)
        memcpy(attrs, n.attrs, n.nattrs * sizeof *attrs);
    n.attrs = attrs;
    n.name = STR_NONE;
    n.has &= ~(uint32_t)NODE_HAS_NAME;
    n.reason = s->pairs ? pairs_mark : STR("shadow");
    n.needs.at = NULL;
    n.needs.len = n.needs.cap = 0;
    for (uint32_t o = 0; o < n.nout; o++) {
        ValueId old = node_at(m, from)->out[o];
        if (!old)
            continue;
        n.out[o] = shadow_value(s, n.graph, old, what);
        Value *v = value_at(m, n.out[o]);
        v->def = DEF_NODE;
        v->node = id;
        v->index = o;
    }
    *node_at(m, id) = n;
    name_wide_dtypes(s, id);
    return id;
}

ValueId shadow_local(Shadow *s, ValueId v)
{
    if (!s->local[v] && s->brought[v])
        s->local[v] = shadow_plain(s, value_at(s->m, v)->graph, "Sub", s->shadow[v],
                                   shadow_wide(s, s->brought[v]), v);
    return s->local[v];
}

static void drop_copy(Shadow *s, NodeId n)
{
    node_at(s->m, n)->dead = true;
}

// Are the copy's floats float64, and may its shapes be other ones?
static bool copy_fits(Shadow *s, NodeId from, NodeId copy)
{
    Model *m = s->m;
    Diags quiet;
    diags_init(&quiet, s->scratch, STR_NONE);
    infer_node(m, copy, &quiet);
    const Node *a = node_at(m, from), *b = node_at(m, copy);
    bool fits = !quiet.errors && !b->fault.at;
    for (uint32_t o = 0; fits && o < a->nout; o++) {
        if (!a->out[o])
            continue;
        const Value *y = value_at(m, a->out[o]), *twin = value_at(m, b->out[o]);
        fits = y->kind == twin->kind && y->rank == twin->rank && twin->kind == TYPE_TENSOR;
        fits = fits && twin->dtype == (dtype_is_float(y->dtype) ? DT_F64 : y->dtype);
        for (int32_t k = 0; fits && k < y->rank; k++)
            fits = y->dims[k] == twin->dims[k] || !IS_ONE_OF(a, shaping_ops);
    }
    return fits;
}

// A schema that has no float64 may stand over a lowering that has: only trying says.
static bool copy_lowers(Shadow *s, NodeId copy)
{
    const Node *n = node_at(s->m, copy);
    const Schema *schema = n->schema;
    bool all = n->def && n->def->lower && schema && schema->ninputs;
    for (uint32_t i = 0; all && i < n->nin; i++) {
        const SchemaParam *p = &schema->inputs[i < schema->ninputs ? i : schema->ninputs - 1];
        all = !shadow_is_float(s, n->in[i]) || value_at(s->m, n->in[i])->dtype != DT_F64 ||
              (p->types >> DT_F64 & 1);
    }
    if ((all && !s->pairs) || !n->def || !n->def->lower)
        return all;
    Diags quiet;
    diags_init(&quiet, s->scratch, STR_NONE);
    Module *alone = lower_node_alone(s->m, copy, &quiet);
    return alone && !quiet.errors && (!s->pairs || pairs_can(alone));
}

NodeId shadow_copy(Shadow *s, NodeId from, const ValueId *in, const char *what)
{
    NodeId copy = shadow_copy_as_is(s, from, in, what);
    if (copy_fits(s, from, copy) && copy_lowers(s, copy))
        return copy;
    drop_copy(s, copy);
    return 0;
}

// ---- nodes -------------------------------------------------------------------------------------

static bool has_graphs(const Node *n)
{
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (n->attrs[i].g || n->attrs[i].ngraphs)
            return true;
    return false;
}

static bool any_float(const Shadow *s, const ValueId *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (at[i] && shadow_is_float(s, at[i]))
            return true;
    return false;
}

static bool all_tensors(const Shadow *s, const ValueId *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (at[i] &&
            (value_at(s->m, at[i])->kind != TYPE_TENSOR || value_at(s->m, at[i])->rank < 0 ||
             dtype_is_complex(value_at(s->m, at[i])->dtype)))
            return false;
    return true;
}

bool shadow_may_copy(const Shadow *s, const Node *n)
{
    return !has_graphs(n) && !node_is_random(n) && !IS_ONE_OF(n, bits_ops) && n->def &&
           n->def->lower && !n->fault.at && all_tensors(s, n->in, n->nin) &&
           all_tensors(s, n->out, n->nout);
}

static bool is_known(const Shadow *s, const Node *n)
{
    for (uint32_t i = 0; i < n->nout; i++)
        if (n->out[i] && !value_at(s->m, n->out[i])->constant)
            return false;
    return true;
}

// What the copies read: `exact` shadows, but of the operand `as_is` (-1: none) the value itself,
// `local` the values themselves. Are both the same?
static bool operands_of(Shadow *s, const Node *n, int32_t as_is, ValueId *exact, ValueId *local)
{
    bool same = true;
    for (uint32_t i = 0; i < n->nin; i++) {
        ValueId v = n->in[i];
        exact[i] = local[i] = v;
        if (!v || !shadow_is_float(s, v) || !shadow_is_variable(n, i))
            continue;
        exact[i] = as_is == (int32_t)i ? widened(s, v, WIDEN_OP, STR("shadow")) : shadow_of(s, v);
        same = same && (!s->shadow[v] || s->shadow[v] == s->wide[v]);
    }
    return same;
}

// A cast between floats moves the shadow on as it is.
static bool is_float_cast(const Shadow *s, const Node *n)
{
    return (node_is(n, "Cast") || node_is(n, "CastLike")) && n->nin && n->nout == 1 &&
           shadow_is_float(s, n->in[0]) && shadow_is_float(s, n->out[0]);
}

static void restart(Shadow *s, NodeId id, ShadowList *list)
{
    Node n = *node_at(s->m, id);
    for (uint32_t o = 0; o < n.nout; o++)
        if (n.out[o] && shadow_is_float(s, n.out[o]) && value_at(s->m, n.out[o])->rank >= 0)
            shadow_report(s, id, n.out[o], shadow_wide(s, n.out[o]), 0, SHADOW_RESTART, list);
}

static void report_results(Shadow *s, NodeId id, NodeId copy, NodeId local, ShadowList *list)
{
    Node n = *node_at(s->m, id);
    for (uint32_t o = 0; o < n.nout; o++) {
        ValueId y = n.out[o], twin = y ? node_at(s->m, copy)->out[o] : 0;
        if (!y || value_at(s->m, y)->constant)
            continue;
        if (shadow_is_float(s, y)) {
            ValueId at = local ? node_at(s->m, local)->out[o] : 0;
            s->shadow[y] = twin;
            s->local[y] = s->brought[y] ? 0 : at;
            shadow_report(s, id, y, twin, at, local ? SHADOW_FLOAT : SHADOW_EXACT, list);
            continue;
        }
        const Value *a = value_at(s->m, y), *b = value_at(s->m, twin);
        bool same = a->dtype != DT_STRING && a->rank >= 0;
        for (int32_t k = 0; same && k < a->rank; k++)
            same = a->dims[k] == b->dims[k];
        if (same)
            shadow_report(s, id, y, twin, 0, SHADOW_DECIDES, list);
    }
}

static void shadow_cast(Shadow *s, NodeId id, ShadowList *list)
{
    ValueId x = node_at(s->m, id)->in[0], y = node_at(s->m, id)->out[0];
    s->shadow[y] = shadow_of(s, x);
    s->local[y] = shadow_wide(s, x);
    shadow_report(s, id, y, s->shadow[y], s->local[y], SHADOW_FLOAT, list);
}

static bool has_own_shadow(const Shadow *s, ValueId v)
{
    return shadow_is_float(s, v) && (s->compact[v] || (s->shadow[v] && s->shadow[v] != s->wide[v]));
}

// What follows from floats, and is none, and where it becomes floats again. A shape is no number of
// its operand; what is picked by what was decided is what the operand holds.
static void follow_decisions(Shadow *s, const Node *n)
{
    bool floats = false, decided = false;
    for (uint32_t i = 0; i < n->nin && n->in[i] < s->nvalues; i++) {
        floats = floats || has_own_shadow(s, n->in[i]);
        decided = decided || s->decided[n->in[i]];
    }
    const bool shape = node_is(n, "Shape") || node_is(n, "Size");
    for (uint32_t o = 0; o < n->nout; o++)
        if (n->out[o] && n->out[o] < s->nvalues)
            s->decided[n->out[o]] = !shape && (floats || decided) && !shadow_is_float(s, n->out[o]);
    s->anew = decided && !floats && !shadow_is_exact(n);
}

// A node without graphs. It is in its graph's list already.
static void shadow_node(Shadow *s, NodeId id, ShadowList *list)
{
    Model *m = s->m;
    Node n = *node_at(m, id);
    follow_decisions(s, &n);
    bool floats_in = any_float(s, n.in, n.nin), floats_out = any_float(s, n.out, n.nout);
    if ((!floats_in && !floats_out) || is_known(s, &n))
        return;
    if (is_float_cast(s, &n)) {
        shadow_cast(s, id, list);
        return;
    }
    if (!shadow_may_copy(s, &n)) {
        restart(s, id, list);
        return;
    }
    if (shadow_by_difference(s, id, list))
        return;
    ValueId *exact = NEWS(s->scratch, ValueId, n.nin + 1u),
            *own = NEWS(s->scratch, ValueId, n.nin + 1u);
    const int32_t linear = shadow_linear(s, &n); // of a compact shadow the copy is L
    bool same = operands_of(s, &n, s->report->compact ? linear : -1, exact, own);
    if (same && !floats_out)
        return; // decided by what is exact
    NodeId copy = shadow_copy(s, id, exact, "f64");
    if (!copy) {
        restart(s, id, list);
        return;
    }
    NodeId local = 0;
    bool exactly = shadow_is_exact(&n) && floats_in;
    if (!same && linear >= 0) // first, while there is no L beside what its kernel needs
        local = shadow_by_product(s, id, linear);
    graph_append(m, n.graph, copy);
    if (same) {
        local = copy;
    } else if (!local && floats_out && !exactly && !node_is_gradient(&n)) {
        for (uint32_t i = 0; i < n.nin; i++)
            own[i] = exact[i] == own[i] ? own[i] : shadow_wide(s, own[i]);
        local = shadow_copy_as_is(s, id, own, "own");
        infer_node(m, local, NULL);
        graph_append(m, n.graph, local);
    }
    report_results(s, id, copy, exactly ? 0 : local, list);
}

void shadow_graph(Shadow *s, GraphId g, ShadowList *list)
{
    Model *m = s->m;
    if (s->measures) {
        measure_graph(s, g, list);
        return;
    }
    uint32_t n = graph_at(m, g)->nodes.len;
    NodeId *nodes = NEWS(s->scratch, NodeId, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        nodes[i] = graph_at(m, g)->nodes.at[i];
    graph_at(m, g)->nodes.len = 0;
    for (uint32_t i = 0; i < n; i++) {
        const Node *node = node_at(m, nodes[i]);
        if (has_graphs(node) && shadow_control(s, nodes[i], list))
            continue;
        graph_append(m, g, nodes[i]);
        shadow_node(s, nodes[i], list);
    }
}

bool shadow_overflows(const double *numbers)
{
    return numbers[DRIFT_LOST] > 0 || numbers[DRIFT_MAX_SHADOW] > FLT_MAX ||
           numbers[DRIFT_MAX_TOTAL] > FLT_MAX;
}

// What is scattered is exact unless it is added to, or multiplied by, what is there.
bool shadow_is_exact(const Node *n)
{
    return IS_ONE_OF(n, exact_ops) && str_eq(node_str(n, "reduction", "none"), STR("none"));
}

void shadow_begin(Shadow *s, Model *m, Diags *diags, ShadowReport *report, Arena *scratch)
{
    *s = (Shadow){.m = m, .diags = diags, .report = report, .scratch = scratch};
    s->nvalues = m->values.len;
    s->shadow = NEWS(scratch, ValueId, s->nvalues);
    s->wide = NEWS(scratch, ValueId, s->nvalues);
    s->local = NEWS(scratch, ValueId, s->nvalues);
    s->brought = NEWS(scratch, ValueId, s->nvalues);
    s->apart = NEWS(scratch, ValueId, s->nvalues);
    s->drift = NEWS(scratch, NodeId, s->nvalues);
    s->compact = NEWS(scratch, bool, s->nvalues);
    s->decided = NEWS(scratch, bool, s->nvalues);
    vec_push(m->arena, &m->opsets,
             ((OpsetImport){.domain = STR(SHADOW_DOMAIN), .version = 1, .has = 3}));
}

void shadow_drop_outputs(Model *m, Graph *g)
{
    for (uint32_t i = 0; i < g->outputs.len; i++)
        if (g->outputs.at[i].type && value_at(m, g->outputs.at[i].value)->def == DEF_NODE)
            vec_push(m->arena, &g->infos, g->outputs.at[i]);
    g->outputs.at = NULL;
    g->outputs.len = g->outputs.cap = 0;
}

// Is any float that a node gives, of this dtype or of another one?
static bool any_computed(const Shadow *s, DType t, bool is)
{
    for (NodeId n = 1; n < s->m->nodes.len; n++) {
        const Node *node = node_at(s->m, n);
        for (uint32_t o = 0; !node->dead && o < node->nout; o++)
            if (shadow_is_float(s, node->out[o]) && !value_at(s->m, node->out[o])->constant &&
                (value_at(s->m, node->out[o])->dtype == t) == is)
                return true;
    }
    return false;
}

bool shadow_model(Model *m, Diags *diags, ShadowReport *report)
{
    Shadow s;
    ShadowList list = {0};
    shadow_begin(&s, m, diags, report, arena_new());
    bool narrow = any_computed(&s, DT_F64, false), wide = any_computed(&s, DT_F64, true);
    s.pairs = report->width == SHADOW_PAIRS || (report->width == SHADOW_WIDER && !narrow && wide);
    report->width = s.pairs ? SHADOW_PAIRS : SHADOW_DOUBLE;
    // A Gradient derives what stands between its operands: all of that in float64, without what is
    // kept of a compact shadow.
    report->compact = report->compact && !s.pairs && !model_has_gradient(m);
    shadow_graph(&s, m->main, &list);
    Graph *g = graph_at(m, m->main);
    shadow_drop_outputs(m, g);
    for (uint32_t i = 0; i < list.len; i++) {
        report->values.at[list.at[i].record].output = i;
        vec_push(m->arena, &g->outputs, ((ValueInfo){.value = list.at[i].value, .has = 1}));
    }
    bool any = narrow || ((s.pairs || report->rounded) && wide);
    if (!any)
        diag(diags, "", SEV_ERROR, location_graph(m, m->arena, m->main),
             wide ? "not supported: the shadow is float64, and no value of the model is a narrower "
                    "float"
                  : "not supported: no value of the model is a float that it computes");
    arena_free(s.scratch);
    return any;
}

bool pass_shadow(Model *m, PassContext *c)
{
    ShadowReport report = {.compact = true};
    return shadow_model(m, c->diags, &report);
}
