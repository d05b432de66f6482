#include "tools/lint_mends.h"

#include "passes/lint/lint.h"
#include "passes/lint/origin.h"
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

// A constant's tensor, also of a Constant in a body that nobody inferred.
static const TensorData *payload_of(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    const Node *n = value->def == DEF_NODE ? node_at(m, value->node) : NULL;
    const Attr *a = n && node_is(n, "Constant") ? attr_find(n, "value") : NULL;
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

static void add(Before *w, const Model *m, MendKind kind, Str what, int32_t to, ValueId at)
{
    mends_add(w->a, &w->done,
              (Mend){.kind = kind, .what = what, .to = (DType)to, .at = value_written(m, at)});
}

static void find_stored(Before *w, Lint *l)
{
    Model *m = l->m;
    for (ValueId v = 1; v < w->nvalues; v++) {
        const Value *value = value_at(m, v);
        TensorData *was = &w->was[v];
        const TensorData *t = was->dtype ? payload_of(m, v) : NULL;
        bool gone = value->def == DEF_NODE &&
                    (node_at(m, value->node)->dead || is_put_back(m, value->node));
        if (!t || t->dtype == was->dtype || gone ||
            (value->copy_of && value->def == DEF_INITIALIZER))
            continue;
        mends_add(w->a, &w->done,
                  (Mend){MEND_STORE, lint_name(l, v), (DType)t->dtype, value_written(m, v),
                         tensor_count(was), constant_inexact(m, was, (DType)t->dtype)});
    }
}

static void find_declared(Before *w, Lint *l)
{
    for (ValueId v = 1; v < w->nvalues; v++) {
        int32_t said = declared_of(l->m, v);
        if (said && w->declared[v] && said != w->declared[v])
            add(w, l->m, MEND_DECLARE, lint_name(l, v), said, v);
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

// Where a new Cast stands. The result of one that gives an output has the output's name.
static Str place_of(Lint *l, const Node *cast)
{
    ValueId v = cast->in[0];
    const Value *value = value_at(l->m, v);
    if (is_output(l->m, cast->out[0]))
        return str_printf(l->arena, "in front of output \"%.*s\"",
                          STR_ARG(lint_name(l, cast->out[0])));
    return value->def == DEF_NODE
               ? str_printf(l->arena, "right after %.*s", STR_ARG(lint_short(l, value->node)))
               : str_printf(l->arena, "right after %s \"%.*s\"", origin_kind(l->m, v),
                            STR_ARG(lint_name(l, v)));
}

// Operands that are read through a Cast which stood there before, and zero points that are given.
static void find_read(Before *w, Lint *l)
{
    const Model *m = l->m;
    for (NodeId id = 1; id < w->nnodes; id++) {
        const Node *n = node_at(m, id);
        if (n->dead || is_put_back(m, id))
            continue;
        if (node_is(n, "QuantizeLinear") && n->nin == 3 && n->in[2] &&
            (w->reads[id] < 3 || !w->read[id][2]))
            add(w, m, MEND_GIVE,
                str_printf(w->a, "QuantizeLinear %.*s", STR_ARG(lint_short(l, id))),
                (int32_t)value_at(m, n->in[2])->dtype, n->out[0]);
        for (uint32_t i = 0; i < n->nin && i < w->reads[id]; i++) {
            ValueId v = n->in[i], was = w->read[id][i];
            NodeId cast =
                v && v != was && value_at(m, v)->def == DEF_NODE ? value_at(m, v)->node : 0;
            if (cast && cast < w->nnodes && w->target[cast] && node_at(m, cast)->in[0] == was)
                add(w, m, MEND_READ, lint_short(l, cast), DT_NONE, was);
        }
    }
}

Mends mends_end(Before *w, Model *m)
{
    Lint l = {.m = m, .arena = w->a};
    find_stored(w, &l);
    find_read(w, &l);
    find_declared(w, &l);
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        int32_t was = id < w->nnodes ? w->target[id] : 0, now = target_of_cast(m, id);
        if (was == now || is_put_back(m, id))
            continue;
        if (was)
            add(w, m, now ? MEND_TURN : MEND_DELETE, lint_short(&l, id), now, n->out[0]);
        else if (id >= w->nnodes)
            add(w, m, MEND_INSERT, place_of(&l, n), now, n->in[0]);
    }
    return w->done;
}
