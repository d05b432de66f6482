// What declarations alone contradict: a constant or a Cast whose dtype fits all that reads it, so
// that nothing else asks for a repair, but is not what they say. Where the finding (DT002) blames
// the source and that source mends all, it is given the dtype that they say. Anything else takes a
// Cast where the declaration says what a scale asks for.

#include "passes/adaptor.h"
#include "passes/insert_casts.h"
#include "passes/lint/blame.h"
#include "passes/lint/origin.h"
#include "passes/retype.h"

static bool store(Model *m, ValueId v, DType t, Repair *r)
{
    TensorData *d = constant_data(m, v);
    if (!d || (!r->unsafe && !constant_is_exact(m, d, t)) || !constant_retype(m, v, t))
        return false;
    r->retyped++;
    return true;
}

// A Cast that comes to give what it is given goes, but for one that makes an output of the model or
// the result of a call, which could not stand without.
static void drop_idle(Model *m, const Uses *uses, NodeId id, Arena *a)
{
    const Node *n = node_at(m, id);
    ValueId from = n->in[0], to = n->out[0];
    uint32_t first = uses->first[to], count = uses->first[to + 1] - first;
    Builder b = builder_of(m, a);
    if (value_leaves_call(m, to))
        return;
    for (uint32_t k = 0; k < count; k++)
        if (!uses->uses[first + k].node && uses->uses[first + k].graph == m->main)
            return;
    adaptor_redirect(&b, to, from, &uses->uses[first], count);
    graph_remove(m, id);
}

static bool turn(Model *m, const Uses *uses, ValueId v, DType t, Repair *r, Arena *a)
{
    NodeId id = value_at(m, v)->def == DEF_NODE ? value_at(m, v)->node : 0;
    const Node *n = id ? node_at(m, id) : NULL;
    if (!n || n->dead || !node_is(n, "Cast") || !n->in[0])
        return false;
    bool idle = value_at(m, n->in[0])->dtype == t;
    if (!r->unsafe && !idle)
        return false;
    node_set_int(m, id, "to", t);
    if (idle)
        drop_idle(m, uses, id, a);
    r->retargeted++;
    return true;
}

bool retype_belied(Model *m, Repair *r)
{
    Arena *a = arena_new();
    const Blame *blamed = lint_blamed(m, a);
    Uses uses = uses_of(m, a);
    bool any = false;
    for (ValueId v = 1, n = m->values.len; v < n; v++) {
        const Blame *b = &blamed[value_written(m, v)];
        if (!b->declared || !b->alone || b->want == value_at(m, v)->dtype)
            continue;
        any |= origin_payload(m, v) ? store(m, v, b->want, r) : turn(m, &uses, v, b->want, r, a);
    }
    arena_free(a);
    return any;
}

// Is v of a dtype that a constant or a Cast has given it?
static bool is_given(Origins *o, Model *m, ValueId v)
{
    ValueId source = origin_find(o, v).value;
    const Value *at = value_at(m, source);
    return origin_payload(m, source) ||
           (at->def == DEF_NODE && node_is(node_at(m, at->node), "Cast"));
}

DType *belied_scaled(Model *m, Arena *a)
{
    DType *said = NEWS(a, DType, m->values.len);
    Uses uses = uses_of(m, a);
    Origins *origins = NULL;
    for (GraphId g = 1; g < m->graphs.len; g++) {
        const Graph *graph = graph_at(m, g);
        for (uint32_t i = 0; i < graph->infos.len; i++) {
            ValueId v = graph->infos.at[i].value;
            const Type *t = graph->infos.at[i].type;
            const Value *value = value_at(m, v);
            if (!t || t->kind != TYPE_TENSOR || t->elem <= DT_NONE || t->elem >= DT_COUNT ||
                value->def != DEF_NODE || value->dtype == DT_NONE ||
                t->elem == (int32_t)value->dtype || !says_scale(m, &uses, v, (DType)t->elem))
                continue;
            origins = origins ? origins : origins_of(m, a);
            if (!is_given(origins, m, v))
                said[v] = (DType)t->elem;
        }
    }
    return said;
}
