#include "tools/lint_mends.h"

#include "passes/lint/story.h"
#include "passes/retype.h"

struct Before {
    Arena *a;
    uint32_t nvalues, nnodes;
    TensorData *was;   // by value: a constant's tensor; dtype 0: none
    int32_t *declared; // by value: its declared dtype; 0: none
    int32_t *target;   // by node: of a live Cast; 0: none
    ValueId **read;    // by node: its operands
    uint32_t *reads;   // by node: how many
    Mends done;
};

static int32_t target_of_cast(const Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    bool cast = !n->dead && is_standard_domain(n->domain) && node_is(n, "Cast") && n->nout;
    return cast ? (int32_t)node_int(n, "to", 0) : 0;
}

// A constant's tensor, also of a Constant in a body that nobody inferred; what ConstantOfShape
// fills with.
static const TensorData *payload_of(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    const Node *n = value->def == DEF_NODE ? node_at(m, value->node) : NULL;
    const bool holds = n && (node_is(n, "Constant") || node_is(n, "ConstantOfShape"));
    const Attr *a = holds ? attr_find(n, "value") : NULL;
    return a && a->t ? a->t : origin_payload(m, v);
}

static int32_t declared_of(const Model *m, ValueId v)
{
    const Type *t = value_at(m, v)->declared;
    return t && t->kind == TYPE_TENSOR ? t->elem : 0;
}

Before *mends_begin(Model *m, Arena *a)
{
    Before *w = NEW(a, Before);
    *w = (Before){.a = a, .nvalues = m->values.len, .nnodes = m->nodes.len};
    w->was = NEWS(a, TensorData, w->nvalues);
    w->declared = NEWS(a, int32_t, w->nvalues);
    w->target = NEWS(a, int32_t, w->nnodes);
    w->read = NEWS(a, ValueId *, w->nnodes);
    w->reads = NEWS(a, uint32_t, w->nnodes);
    for (ValueId v = 1; v < w->nvalues; v++) {
        const TensorData *t = payload_of(m, v);
        w->declared[v] = declared_of(m, v);
        if (t)
            w->was[v] = *t;
    }
    for (NodeId id = 1; id < w->nnodes; id++) {
        const Node *n = node_at(m, id);
        w->target[id] = target_of_cast(m, id);
        w->reads[id] = n->nin;
        w->read[id] = NEWS(a, ValueId, n->nin + 1u);
        for (uint32_t i = 0; i < n->nin; i++)
            w->read[id][i] = n->in[i];
    }
    return w;
}

// Is it a copy for a call that stands again? What was done to it shows in the body.
static bool is_put_back(const Model *m, NodeId id)
{
    for (NodeId call = node_at(m, id)->call; call; call = node_at(m, call)->call)
        if (!node_at(m, call)->dead)
            return true;
    return false;
}

static void add(Before *w, MendKind kind, Str what, DType to, ValueId at, bool loses)
{
    mends_add(w->a, &w->done,
              (Mend){.kind = kind, .what = what, .to = to, .at = at, .loses = loses});
}

// Does the node fill with a value that it was given just now? Without one it is the float32 zero.
static bool is_filled_anew(const Before *w, const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    return !w->was[v].dtype && value->def == DEF_NODE &&
           node_is(node_at(m, value->node), "ConstantOfShape") && payload_of(m, v);
}

static void find_stored(Before *w, Lint *l)
{
    Model *m = l->m;
    for (ValueId v = 1; v < w->nvalues; v++) {
        const Value *value = value_at(m, v);
        TensorData *was = &w->was[v];
        const bool filled = is_filled_anew(w, m, v);
        const TensorData *t = was->dtype || filled ? payload_of(m, v) : NULL;
        bool gone = value->def == DEF_NODE &&
                    (node_at(m, value->node)->dead || is_put_back(m, value->node));
        if (!t || t->dtype == was->dtype || gone ||
            (value->copy_of && value->def == DEF_INITIALIZER))
            continue;
        Mend mend = {.kind = MEND_STORE,
                     .what = lint_name(l, v),
                     .to = (DType)t->dtype,
                     .at = value_written(m, v),
                     .values = 1};
        if (!filled)
            mends_store(m, w->a, was, &mend);
        mends_add(w->a, &w->done, mend);
    }
}

// What is declared of an input is its callers'.
static void find_declared(Before *w, Lint *l)
{
    for (ValueId v = 1; v < w->nvalues; v++) {
        int32_t said = declared_of(l->m, v);
        if (said && w->declared[v] && said != w->declared[v])
            add(w, MEND_DECLARE, lint_name(l, v), (DType)said, value_written(l->m, v),
                value_at(l->m, v)->def == DEF_INPUT && value_at(l->m, v)->graph == l->m->main);
    }
}

static bool is_output(const Model *m, ValueId v)
{
    const Graph *g = graph_at(m, m->main);
    for (uint32_t i = 0; i < g->outputs.len; i++)
        if (g->outputs.at[i].value == v)
            return true;
    return false;
}

// Does a Cast lose what it is given?
static bool is_narrow(const Model *m, const Node *cast)
{
    return !dtype_holds((DType)node_int(cast, "to", 0), value_at(m, cast->in[0])->dtype);
}

// Operands that are read through a Cast which stood there before, and zero points that are given.
static void find_read(Before *w, Lint *l, NodeId id)
{
    const Model *m = l->m;
    const Node *n = node_at(m, id);
    if (node_is(n, "QuantizeLinear") && n->nin == 3 && n->in[2] &&
        (w->reads[id] < 3 || !w->read[id][2]))
        add(w, MEND_GIVE, str_printf(w->a, "QuantizeLinear %.*s", STR_ARG(lint_short(l, id))),
            value_at(m, n->in[2])->dtype, value_written(m, n->out[0]), false);
    for (uint32_t i = 0; i < n->nin && i < w->reads[id]; i++) {
        ValueId v = n->in[i], was = w->read[id][i];
        NodeId cast = v && v != was && value_at(m, v)->def == DEF_NODE ? value_at(m, v)->node : 0;
        if (cast && cast < w->nnodes && w->target[cast] && node_at(m, cast)->in[0] == was)
            add(w, MEND_READ, lint_short(l, cast), DT_NONE, value_written(m, was),
                is_narrow(m, node_at(m, cast)));
    }
}

// What each Cast is given in the end; one of a body, whose own values have no dtype, in all copies
// of it. By node; DT_NONE: not one dtype.
static const DType *given_to_casts(Before *w, const Model *m)
{
    DType *given = NEWS(w->a, DType, m->nodes.len + 1u);
    bool *seen = NEWS(w->a, bool, m->nodes.len + 1u);
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        bool cast = node_is(n, "Cast") && n->nin && n->in[0];
        DType d = cast ? value_at(m, n->in[0])->dtype : DT_NONE;
        NodeId of = n->copy_of ? n->copy_of : id;
        if (d == DT_NONE)
            continue;
        given[of] = seen[of] && given[of] != d ? DT_NONE : d;
        seen[of] = true;
    }
    return given;
}

// A Cast that is new, gone or has another target. One that gives what it is given loses nothing,
// as if it were gone. The result of one that gives an output has the output's name.
static void find_cast(Before *w, Lint *l, NodeId id, DType given)
{
    const Model *m = l->m;
    const Node *n = node_at(m, id);
    int32_t was = id < w->nnodes ? w->target[id] : 0, now = target_of_cast(m, id);
    if (was && was != now)
        add(w, now ? MEND_TURN : MEND_DELETE, lint_short(l, id), (DType)now,
            value_written(m, n->out[0]), now && (DType)now != given);
    else if (!was && now && id >= w->nnodes)
        add(w, MEND_INSERT,
            is_output(m, n->out[0])
                ? str_printf(w->a, "in front of output \"%.*s\"", STR_ARG(lint_name(l, n->out[0])))
                : lint_behind(l, n->in[0]),
            (DType)now, value_written(m, n->in[0]), is_narrow(m, n));
}

Mends mends_end(Before *w, Model *m)
{
    Lint l = {.m = m, .arena = w->a};
    find_stored(w, &l);
    find_declared(w, &l);
    const DType *given = given_to_casts(w, m);
    for (NodeId id = 1; id < m->nodes.len; id++) {
        if (is_put_back(m, id))
            continue;
        find_cast(w, &l, id, given[id]);
        if (id < w->nnodes && !node_at(m, id)->dead)
            find_read(w, &l, id);
    }
    return w->done;
}
