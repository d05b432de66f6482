// Gives conflicting operands one dtype, with few casts.
//
// 1. A conflict's origin is the source that its culprit's dtype follows from (passes/lint/lint.h).
// 2. An origin that is a constant is stored in the other dtype: no cast. Exact values make that
// safe.
// 3. Any other origin gets one Cast right behind its definition, and every use of it reads the
// Cast: with labels
//    fixed on both sides that is the least possible, one for each (value, dtype). Widening is safe.
// 4. Inference runs again, and what still conflicts is mended the same way; each round settles one
// origin for
//    good, so there are at most as many rounds as values.

#include "passes/insert_casts.h"
#include "ir/infer.h"
#include "passes/devices.h"
#include "passes/lint/lint.h"

#include <string.h>

static void retype(Model *m, ValueId v, DType t)
{
    Str error;
    TensorData *old = (TensorData *)(uintptr_t)(value_at(m, v)->init ? value_at(m, v)->init
                                                                     : value_at(m, v)->constant);
    DType from = (DType)old->dtype;
    const unsigned char *at = tensor_elements(m, old, &error);
    size_t width = dtype_info(t)->bytes;
    if (!at)
        return;
    unsigned char *bytes = arena_array(m->arena, old->nelements + 1, width);
    for (uint64_t i = 0; i < old->nelements; i++)
        scalar_store(
            t, bytes + i * width,
            scalar_cast(from, t, scalar_load(from, at + i * dtype_info(from)->bytes), false));
    // The tensor keeps its name, documentation and metadata; only its type and payload change.
    TensorData kept = *old;
    *old = *tensor_new(m->arena, t, kept.rank, kept.dims, bytes);
    old->name = kept.name;
    old->doc = kept.doc;
    old->metadata = kept.metadata;
    old->unknown = kept.unknown;
    old->has |= kept.has & (TENSOR_HAS_NAME | TENSOR_HAS_DOC);
}

// Where anything had to be inserted, one of its kind is the least that could do; more is not
// proved.
static void note_bound(Repair *r)
{
    r->lower_bound = (r->casts > 0) + (r->transfers > 0);
}

static void redirect(Model *m, ValueId from, ValueId to, NodeId but)
{
    for (NodeId id = 1; id < m->nodes.len; id++) {
        Node *n = node_at(m, id);
        for (uint32_t i = 0; !n->dead && id != but && i < n->nin; i++)
            if (n->in[i] == from)
                n->in[i] = to;
    }
}

static Str fresh_name(Model *m, ValueId v, const char *suffix)
{
    return str_printf(m->arena, "%.*s_%s_%u", STR_ARG(value_at(m, v)->name), suffix, m->values.len);
}

// A node behind v's definition, of the graph that defines v.
static NodeId insert_behind(Model *m, ValueId v, const char *op, const char *suffix)
{
    GraphId g = value_at(m, v)->graph;
    NodeId def = value_at(m, v)->def == DEF_NODE ? value_at(m, v)->node : 0;
    NodeId fresh = node_build(m, g, op, &v, 1, fresh_name(m, v, suffix));
    const Graph *graph = graph_at(m, g);
    uint32_t i = 0;
    while (def && i < graph->nodes.len && graph->nodes.at[i] != def)
        i++;
    if (!def)
        graph_insert_first(m, g, fresh);
    else if (i + 1 < graph->nodes.len)
        graph_insert_before(m, graph->nodes.at[i + 1], fresh);
    else
        graph_append(m, g, fresh);
    return fresh;
}

static void cast_behind(Model *m, ValueId v, DType t, Repair *r)
{
    NodeId cast = insert_behind(m, v, "Cast", dtype_info(t)->abbrev);
    node_set_int(m, cast, "to", t);
    node_at(m, cast)->reason = str_printf(m->arena, "inserted: %.*s is %s",
                                          STR_ARG(str_escaped(m->arena, value_at(m, v)->name)),
                                          dtype_name(value_at(m, v)->dtype));
    redirect(m, v, node_at(m, cast)->out[0], cast);
    r->casts++;
}

static bool is_widening(DType from, DType to)
{
    return dtype_is_float(from) && dtype_is_float(to) &&
           dtype_info(to)->bits > dtype_info(from)->bits;
}

// Mends one conflict; false if that is not allowed.
static bool mend(Model *m, const Conflict *c, Repair *r)
{
    const Node *n = node_at(m, c->node);
    ValueId origin = lint_origin(m, n->in[c->culprit]);
    DType want = value_at(m, n->in[c->other])->dtype;
    const Value *v = value_at(m, origin);
    uint64_t count;
    bool weight = (v->init && v->def != DEF_INPUT) ||
                  (v->def == DEF_NODE && node_is(node_at(m, v->node), "Constant") && v->constant);
    if (weight) {
        TensorData *data = (TensorData *)(uintptr_t)(v->init ? v->init : v->constant);
        bool widens_weights =
            is_widening(v->dtype, want) && want != m->dominant && m->dominant != DT_NONE;
        if ((!lint_exact(m, data, want, &count) && !r->unsafe) || widens_weights)
            return false;
        retype(m, origin, want);
        r->retyped++;
        return true;
    }
    if (!is_widening(v->dtype, want) && !r->unsafe)
        return false;
    cast_behind(m, origin, want, r);
    return true;
}

static bool mend_output(Model *m, ValueInfo *info, Repair *r)
{
    const Value *v = value_at(m, info->value);
    const Type *t = info->type;
    bool differs = t && t->kind == TYPE_TENSOR && t->elem > 0 && t->elem < DT_COUNT &&
                   v->def == DEF_NODE && v->dtype != DT_NONE && t->elem != (int32_t)v->dtype &&
                   v->why_dtype.kind != WHY_DECLARED;
    if (!differs || (!is_widening(v->dtype, (DType)t->elem) && !r->unsafe))
        return false;
    // The output keeps its name: the value that was it gets another.
    ValueId inner = info->value;
    Str name = v->name;
    NodeId cast = insert_behind(m, inner, "Cast", "out");
    ValueId outer = node_at(m, cast)->out[0];
    node_set_int(m, cast, "to", t->elem);
    value_at(m, inner)->name = fresh_name(m, inner, "inner");
    value_at(m, outer)->name = name;
    info->value = outer;
    r->casts++;
    return true;
}

bool insert_casts(Model *m, Repair *r)
{
    bool any = false, again = true;
    for (uint32_t round = 0; again && round < m->values.len; round++) {
        again = false;
        infer_model(m, NULL);
        NodeId last = m->nodes.len;
        for (NodeId id = 1; id < last && !again; id++) {
            Conflict c;
            for (uint32_t from = 0;
                 !again && !node_at(m, id)->dead && lint_conflict(m, id, &from, &c);)
                again = mend(m, &c, r);
        }
        any |= again;
    }
    Graph *g = graph_at(m, m->main);
    for (uint32_t i = 0; i < g->outputs.len; i++) {
        any |= mend_output(m, &g->outputs.at[i], r);
        g = graph_at(m, m->main);
    }
    infer_model(m, NULL);
    note_bound(r);
    return any;
}

// ---- transfers
// ------------------------------------------------------------------------------------------

static ValueId transfer_to(Model *m, ValueId v, DeviceId to, Repair *r)
{
    for (NodeId id = 1; id < m->nodes.len; id++) { // one that is there already
        const Node *n = node_at(m, id);
        if (!n->dead && node_is(n, "Identity") && n->nin == 1 && n->in[0] == v &&
            device_of_node(m, id) == to)
            return n->out[0];
    }
    NodeId id = insert_behind(m, v, "Identity", "transfer");
    Prop p = {STR("cameo.device"), m->devices.at[to], 3, STR_NONE};
    vec_push(m->arena, &node_at(m, id)->metadata, p);
    r->transfers++;
    return node_at(m, id)->out[0];
}

bool insert_transfers(Model *m, Repair *r)
{
    bool any = false;
    NodeId last = m->nodes.len;
    devices_place(m);
    for (NodeId id = 1; id < last; id++) {
        for (uint32_t i = 0; i < node_at(m, id)->nin; i++) {
            ValueId v = node_at(m, id)->in[i];
            if (!device_crosses(m, id, i))
                continue;
            ValueId moved = transfer_to(m, v, device_run(m, id), r);
            node_at(m, id)->in[i] = moved;
            any = true;
        }
    }
    infer_model(m, NULL);
    note_bound(r);
    return any;
}
