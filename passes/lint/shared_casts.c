// DT008, MP003, MP005, MP006: Casts that make what is there already, or make it too often.

#include "passes/adaptor.h"
#include "passes/lint/cost.h"
#include "passes/lint/edit.h"
#include "passes/lint/motion.h"
#include "passes/lint/story.h"
#include "passes/retype.h"

#include <math.h>
#include <string.h>

// ---- DT008 --------------------------------------------------------------------------------------

static bool is_idle(const Model *m, NodeId id)
{
    return !node_at(m, id)->dead && is_cast(m, id) && cast_from(m, id) == cast_to(m, id);
}

void lint_idle_casts(Lint *l)
{
    const NodeIds of = LINT_NODES(l, "Cast");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        if (!is_idle(l->m, id) || !lint_first_time(l, "DT008", id))
            continue;
        const Node *n = node_at(l->m, id);
        Diag *d = diag(l->diags, "DT008", SEV_INFO, location_node(l->m, l->arena, id),
                       "Cast of \"%.*s\" to %s, which it is already",
                       STR_ARG(lint_name(l, n->in[0])), dtype_name(cast_to(l->m, id)));
        d->value = lint_name(l, n->out[0]);
        lint_about_node(l, d, id);
        diag_fix(l->diags, d, true, "delete it");
    }
}

uint32_t repair_idle_casts(Model *m, bool unsafe)
{
    (void)unsafe;
    Edit e = edit_begin(m);
    for (NodeId id = 1; id < m->nodes.len; id++)
        if (is_idle(m, id))
            edit_drop(&e, id, node_at(m, id)->in[0]);
    return edit_end(&e);
}

// ---- MP003 --------------------------------------------------------------------------------------

static bool same_cast(const Model *m, NodeId a, NodeId b)
{
    const Node *x = node_at(m, a), *y = node_at(m, b);
    bool small = dtype_info(cast_to(m, a))->bits < 16;
    return cast_to(m, a) == cast_to(m, b) && x->graph == y->graph &&
           (!small || (node_int(x, "saturate", 1) == node_int(y, "saturate", 1) &&
                       str_eq(node_str(x, "round_mode", "up"), node_str(y, "round_mode", "up"))));
}

static bool is_one_element(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    bool one = value->rank >= 0;
    int64_t k;
    for (int32_t i = 0; i < value->rank && one; i++)
        one = poly_is_const(value->dims[i], &k) && k == 1;
    return one;
}

// By node: the Cast before it that makes the same, 0: none. Of single elements (sizes, mostly) they
// cost nothing. Casts of one value to one dtype are
// compared with the first of that dtype and with the one before.
static NodeId *find_twins(const Model *m, const Uses *uses, Arena *a)
{
    NodeId *twin = NEWS(a, NodeId, m->nodes.len);
    for (ValueId v = 1; v < m->values.len; v++) {
        NodeId first[DT_COUNT] = {0}, last[DT_COUNT] = {0};
        if (uses->first[v + 1] - uses->first[v] < 2 || is_one_element(m, v))
            continue;
        for (uint32_t k = uses->first[v]; k < uses->first[v + 1]; k++) {
            NodeId id = uses->uses[k].node;
            if (!id || !is_cast(m, id) || cast_from(m, id) == cast_to(m, id))
                continue;
            DType t = cast_to(m, id);
            if (first[t] && same_cast(m, first[t], id))
                twin[id] = first[t];
            else if (last[t] && same_cast(m, last[t], id))
                twin[id] = twin[last[t]] ? twin[last[t]] : last[t];
            first[t] = first[t] ? first[t] : id;
            last[t] = id;
        }
    }
    return twin;
}

static double converted_bytes(const Model *m, NodeId id)
{
    ValueId v = node_at(m, id)->in[0];
    double width = dtype_info(cast_from(m, id))->bytes + dtype_info(cast_to(m, id))->bytes;
    bool ranked = value_at(m, v)->rank >= 0;
    return ranked ? width * cost_elements(m, v, COST_UNKNOWN_DIM) : INFINITY;
}

void lint_duplicate_casts(Lint *l)
{
    if (LINT_NODES(l, "Cast").len < 2)
        return;
    NodeId *twin = find_twins(l->m, lint_uses(l), l->arena);
    uint32_t *count = NEWS(l->arena, uint32_t, l->m->nodes.len);
    NodeId *other = NEWS(l->arena, NodeId, l->m->nodes.len);
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        other[twin[id]] = count[twin[id]] ? other[twin[id]] : id;
        count[twin[id]] += twin[id] != 0;
    }
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        if (!count[id] ||
            !cost_worth_telling(l, "MP003", id, count[id] * converted_bytes(l->m, id)) ||
            !lint_first_time(l, "MP003", id))
            continue;
        const Node *n = node_at(l->m, id);
        Diag *d = diag(l->diags, "MP003", SEV_WARNING, location_node(l->m, l->arena, other[id]),
                       "\"%.*s\" is cast to %s %u times", STR_ARG(lint_name(l, n->in[0])),
                       dtype_name(cast_to(l->m, id)), count[id] + 1);
        d->value = lint_name(l, n->in[0]);
        lint_about_node(l, d, other[id]);
        diag_note(l->diags, d, "the same is made by Cast %.*s", STR_ARG(lint_short(l, id)));
        diag_fix(l->diags, d, true, "delete %u Cast%s: all its readers share one", count[id],
                 count[id] == 1 ? "" : "s");
    }
}

uint32_t repair_duplicate_casts(Model *m, bool unsafe)
{
    (void)unsafe;
    Arena *a = arena_new();
    Uses uses = uses_of(m, a);
    NodeId *twin = find_twins(m, &uses, a);
    Edit e = edit_begin(m);
    for (NodeId id = 1; id < m->nodes.len; id++)
        if (twin[id])
            edit_drop(&e, id, node_at(m, twin[id])->out[0]);
    arena_free(a);
    return edit_end(&e);
}

// ---- MP005 --------------------------------------------------------------------------------------

static bool is_loop(const Model *m, GraphId g)
{
    NodeId owner = graph_at(m, g)->owner;
    return owner && (node_is(node_at(m, owner), "Loop") || node_is(node_at(m, owner), "Scan"));
}

// The loop in front of which a Cast in its body may stand, outermost; 0: none. Casts in an If are
// left where they are: they need not run at all.
static NodeId loop_of(const Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    NodeId loop = 0;
    if (n->dead || !is_cast(m, id))
        return 0;
    GraphId home = value_at(m, n->in[0])->graph;
    for (GraphId g = n->graph; g && g != home && is_loop(m, g); g = graph_at(m, g)->parent)
        loop = graph_at(m, g)->owner;
    return loop;
}

void lint_casts_in_loops(Lint *l)
{
    const NodeIds of = LINT_NODES(l, "Cast");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        NodeId loop = loop_of(l->m, id);
        if (!loop || !lint_first_time(l, "MP005", id))
            continue;
        const Node *n = node_at(l->m, id);
        Diag *d = diag(l->diags, "MP005", SEV_WARNING, location_node(l->m, l->arena, id),
                       "\"%.*s\" is cast to %s again in every iteration",
                       STR_ARG(lint_name(l, n->in[0])), dtype_name(cast_to(l->m, id)));
        d->value = lint_name(l, n->in[0]);
        lint_about_node(l, d, id);
        diag_note(l->diags, d, "it comes from outside of %.*s %.*s and does not change there",
                  STR_ARG(str_escaped(l->arena, node_at(l->m, loop)->op)),
                  STR_ARG(lint_short(l, loop)));
        diag_fix(l->diags, d, true, "cast it once, before the loop");
    }
}

uint32_t repair_casts_in_loops(Model *m, bool unsafe)
{
    (void)unsafe;
    uint32_t nodes = m->nodes.len;
    Arena *a = arena_new();
    Builder adaptors = builder_of(m, a);
    Edit e = edit_begin(m);
    for (NodeId id = 1; id < nodes; id++) {
        if (!loop_of(m, id))
            continue;
        Use use = {id, node_at(m, id)->graph, 0};
        DType to = cast_to(m, id);
        NodeId fresh = adaptor_insert(&adaptors, node_at(m, id)->in[0], "Cast",
                                      dtype_info(to)->abbrev, &use, 1);
        Node *n = node_at(m, fresh);
        n->attrs = node_at(m, id)->attrs;
        n->nattrs = node_at(m, id)->nattrs;
        edit_drop(&e, id, n->out[0]);
    }
    arena_free(a);
    return edit_end(&e);
}

// ---- MP006 --------------------------------------------------------------------------------------

static TensorData *cast_constant(Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    if (n->dead || !is_cast(m, id) || is_idle(m, id) || cast_from(m, id) == DT_STRING ||
        cast_to(m, id) == DT_STRING)
        return NULL;
    const Value *v = value_at(m, n->in[0]);
    bool weight = v->init && (v->def == DEF_INITIALIZER || value_is_weight(m, n->in[0]));
    bool constant = v->def == DEF_NODE && node_is(node_at(m, v->node), "Constant");
    return weight || constant ? constant_data(m, n->in[0]) : NULL;
}

void lint_constant_casts(Lint *l)
{
    const NodeIds of = LINT_NODES(l, "Cast");
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        TensorData *t = cast_constant(l->m, id);
        uint64_t n = t ? tensor_count(t) : UINT64_MAX;
        if (n == UINT64_MAX || !lint_first_time(l, "MP006", id))
            continue;
        DType from = cast_from(l->m, id), to = cast_to(l->m, id);
        Str name = lint_name(l, node_at(l->m, id)->in[0]);
        Diag *d = diag(l->diags, "MP006", SEV_INFO, location_node(l->m, l->arena, id),
                       "constant \"%.*s\" is cast from %s to %s in every run", STR_ARG(name),
                       dtype_name(from), dtype_name(to));
        d->value = name;
        lint_about_node(l, d, id);
        diag_note(l->diags, d, "%llu element%s: %llu bytes read and %llu written",
                  (unsigned long long)n, n == 1 ? "" : "s",
                  (unsigned long long)(n * dtype_info(from)->bytes),
                  (unsigned long long)(n * dtype_info(to)->bytes));
        diag_fix(l->diags, d, true, "store it as %s", dtype_name(to));
    }
}

// Numbers that the other dtype has, or that are rounded as Cast rounds them.
static bool is_defined(Model *m, TensorData *t, DType from, DType to)
{
    bool floats = dtype_is_float(from) && dtype_is_float(to) && dtype_info(to)->bits >= 16;
    return floats || constant_is_exact(m, t, to);
}

static uint32_t uses_of_value(const Uses *u, ValueId v)
{
    return u->first[v + 1] - u->first[v];
}

static void become_constant(Model *m, NodeId id, TensorData *t, DType to)
{
    TensorData *data = tensor_cast(m, t, to);
    Node *n = node_at(m, id);
    if (!data)
        return;
    n->op = STR("Constant");
    n->nin = 0;
    n->attrs = NEW(m->arena, Attr);
    n->nattrs = 1;
    n->attrs[0] = (Attr){
        .name = STR("value"), .type = ATTR_TENSOR, .has = ATTR_HAS_NAME | ATTR_HAS_TYPE, .t = data};
}

uint32_t repair_constant_casts(Model *m, bool unsafe)
{
    (void)unsafe;
    Arena *a = arena_new();
    Uses uses = uses_of(m, a);
    Edit e = edit_begin(m);
    for (NodeId id = 1; id < m->nodes.len; id++) {
        TensorData *t = cast_constant(m, id);
        DType from = t ? cast_from(m, id) : DT_NONE, to = t ? cast_to(m, id) : DT_NONE;
        ValueId v = t ? node_at(m, id)->in[0] : 0;
        if (!t || !is_defined(m, t, from, to))
            continue;
        if (uses_of_value(&uses, v) > 1 || value_at(m, v)->declared) {
            become_constant(m, id, t, to);
            e.count++;
        } else if (constant_retype(m, v, to)) {
            edit_drop(&e, id, v);
        }
    }
    arena_free(a);
    return edit_end(&e);
}
