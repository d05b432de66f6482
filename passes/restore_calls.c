// Puts calls of functions back after a repair that looked at their bodies.
//
// A body may fit one call and not another, so repairs look at the model with all calls inlined.
// Most of them change nothing within a body: a source outside is retyped, or a Cast is put in front
// of the call. Then the copies are as they were, and the call can stand for them again.

#include "passes/adaptor.h"
#include "passes/lint/origin.h"
#include "passes/inlined.h"

#include <string.h>

// ---- what a copy is like ------------------------------------------------------------------------

static uint64_t mix(uint64_t h, const void *at, size_t n)
{
    return hash_bytes(at, n, h);
}

static uint64_t print_of_attr(const Model *m, const Attr *a, uint64_t h)
{
    h = mix(h, a->name.at, a->name.len);
    h = mix(h, &a->i, sizeof a->i);
    h = mix(h, &a->t, sizeof a->t);
    if (a->t)
        h = mix(h, &a->t->dtype, sizeof a->t->dtype);
    for (uint32_t k = 0; a->g && k < graph_at(m, a->g)->outputs.len; k++)
        h = mix(h, &graph_at(m, a->g)->outputs.at[k].value, sizeof(ValueId));
    return h;
}

uint64_t inlined_print_of(const Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    uint64_t h = mix(n->nin, n->op.at, n->op.len);
    for (uint32_t o = 0; o < n->nout; o++)
        h = mix(h, &n->out[o], sizeof n->out[o]);
    for (uint32_t i = 0; i < n->nattrs; i++)
        h = print_of_attr(m, &n->attrs[i], h);
    return h;
}

uint64_t inlined_held_of(const Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    uint64_t h = 0;
    for (uint32_t i = 0; i < n->nattrs; i++)
        for (uint32_t k = 0; n->attrs[i].g && k < graph_at(m, n->attrs[i].g)->initializers.len; k++)
            h = mix(h, &graph_at(m, n->attrs[i].g)->initializers.at[k].data->dtype, sizeof(DType));
    return h;
}

static void add_member(Inlined *x, NodeId call, NodeId n)
{
    if (n == call || x->next[n])
        return;
    x->next[n] = x->first[call] ? x->first[call] : n; // the last one ends in itself
    x->first[call] = n;
}

Inlined *inlined_remember(Model *m, Arena *a, uint32_t nopsets)
{
    Inlined *x = NEW(a, Inlined);
    uint32_t n = m->nodes.len;
    *x = (Inlined){.a = a, .nnodes = n, .nopsets = nopsets};
    x->print = NEWS(a, uint64_t, n);
    x->held = NEWS(a, uint64_t, n);
    x->in = NEWS(a, ValueId *, n);
    x->dead = NEWS(a, bool, n);
    x->gone = NEWS(a, bool, n);
    x->first = NEWS(a, NodeId, n);
    x->next = NEWS(a, NodeId, n);
    for (NodeId id = 1; id < n; id++) {
        const Node *node = node_at(m, id);
        x->dead[id] = node->dead;
        x->print[id] = inlined_print_of(m, id);
        x->held[id] = inlined_held_of(m, id);
        x->in[id] = NEWS(a, ValueId, node->nin + 1);
        memcpy(x->in[id], node->in, node->nin * sizeof *node->in);
        if (node->call)
            add_member(x, node->call, id);
    }
    for (NodeId id = 1; id < n; id++) { // a result that was handed through
        const Node *node = node_at(m, id);
        for (uint32_t o = 0; node->dead && x->first[id] && o < node->nout; o++)
            if (node->out[o] && !node_at(m, value_at(m, node->out[o])->node)->call)
                add_member(x, id, value_at(m, node->out[o])->node);
    }
    return x;
}

// ---- what became of it --------------------------------------------------------------------------

static bool is_result(const Model *m, NodeId n, ValueId v)
{
    for (uint32_t i = 0; i < node_at(m, n)->nout; i++)
        if (node_at(m, n)->out[i] == v)
            return true;
    return false;
}

static bool is_fresh_cast(const Model *m, const Inlined *x, NodeId n)
{
    return n >= x->nnodes && node_is(node_at(m, n), "Cast");
}

ValueId inlined_peeked(const Model *m, const Inlined *x, ValueId v, NodeId reader)
{
    if (!v || is_fresh_cast(m, x, reader))
        return 0;
    if (value_at(m, v)->def == DEF_NODE && is_fresh_cast(m, x, value_at(m, v)->node))
        v = node_at(m, value_at(m, v)->node)->in[0];
    const Value *value = value_at(m, v);
    NodeId call = value->copy_of && value->def == DEF_NODE ? node_at(m, value->node)->call : 0;
    while (call && is_result(m, call, v))
        call = node_at(m, call)->call;
    return call && !node_is_within(m, reader, call) ? v : 0;
}

// Marks the calls around what is read from outside of them: they cannot be put back.
static void find_peeked(Model *m, const Inlined *x, bool *peeked)
{
    for (NodeId id = 1; id < m->nodes.len; id++)
        for (uint32_t i = 0; !node_at(m, id)->dead && i < node_at(m, id)->nin; i++) {
            ValueId v = inlined_peeked(m, x, node_at(m, id)->in[i], id);
            NodeId call = v ? node_at(m, value_at(m, v)->node)->call : 0;
            for (; call && !node_is_within(m, id, call); call = node_at(m, call)->call)
                peeked[call] = true;
        }
}

bool inlined_takes_any(const Node *n, uint32_t i)
{
    const TypeSet numbers = (TypeSet)1 << DT_F16 | (TypeSet)1 << DT_F32 | (TypeSet)1 << DT_F64 |
                            (TypeSet)1 << DT_I32 | (TypeSet)1 << DT_I64;
    const SchemaParam *p = param_of_operand(n, i);
    bool tied = !p || (p->types & numbers) != numbers;
    for (uint32_t k = 0; !tied && k < n->nin; k++)
        tied = k != i && params_are_tied(p, param_of_operand(n, k));
    for (uint32_t o = 0; !tied && o < n->nout; o++)
        tied = params_are_tied(p, param_of_result(n, o));
    return !tied;
}

// The operands of a call that is to be put back: what they were, and what the copies read now.
typedef struct Operands {
    Model *m;
    const Inlined *x;
    NodeId call;
    ValueId *now; // by operand; 0: nothing reads it
    bool *loose;  // by operand: something reads it as it was that would take a Cast of it as well
    const bool *peeked;
} Operands;

static bool is_around(const Model *m, GraphId inner, GraphId outer)
{
    while (inner && inner != outer)
        inner = graph_at(m, inner)->parent;
    return inner == outer;
}

static bool is_copied(const Operands *o, NodeId n)
{
    for (; n && n < o->x->nnodes; n = node_at(o->m, n)->call)
        if (n == o->call)
            return true;
    return false;
}

// Copy n reads operand i, which was `old`, as another value now: right, if that is an operand of
// the call that may be another one in front of the call as well.
static bool take_operand(Operands *o, const Node *n, uint32_t i, ValueId old)
{
    const Node *call = node_at(o->m, o->call);
    ValueId now = n->in[i];
    bool operand = false, loose = old == now && inlined_takes_any(n, i);
    for (uint32_t k = 0; k < call->nin; k++) {
        if (!old || o->x->in[o->call][k] != old)
            continue;
        operand = true;
        o->loose[k] |= loose;
        if (loose)
            continue;
        if (o->now[k] && o->now[k] != now)
            return false;
        o->now[k] = now;
    }
    if (old == now)
        return true;
    const Value *v = value_at(o->m, now);
    return operand && is_around(o->m, call->graph, v->graph) &&
           !(v->def == DEF_NODE && is_copied(o, v->node));
}

// What is read in both ways is a Cast of what it was.
static bool is_loose(const Operands *o)
{
    for (uint32_t k = 0; k < node_at(o->m, o->call)->nin; k++) {
        ValueId now = o->now[k], was = o->x->in[o->call][k];
        NodeId maker = now && value_at(o->m, now)->def == DEF_NODE ? value_at(o->m, now)->node : 0;
        if (o->loose[k] && now && now != was &&
            (!is_fresh_cast(o->m, o->x, maker) || node_at(o->m, maker)->in[0] != was))
            return false;
    }
    return true;
}

static bool is_untouched(Operands *o, NodeId call)
{
    const Inlined *x = o->x;
    if (o->peeked[call])
        return false;
    for (NodeId n = x->first[call]; n; n = x->next[n] == n ? 0 : x->next[n]) {
        if (x->gone[n])
            continue;
        if (x->dead[n]) {
            if (x->first[n] && !is_untouched(o, n))
                return false;
            continue;
        }
        const Node *node = node_at(o->m, n);
        if (node->dead || inlined_print_of(o->m, n) != x->print[n] ||
            inlined_held_of(o->m, n) != x->held[n])
            return false;
        for (uint32_t i = 0; i < node->nin; i++)
            if (!take_operand(o, node, i, x->in[n][i]))
                return false;
    }
    return true;
}

static void bury(Model *m, const Inlined *x, NodeId call, NodeId *stands_for)
{
    for (NodeId n = x->first[call]; n; n = x->next[n] == n ? 0 : x->next[n]) {
        if (x->dead[n])
            bury(m, x, n, stands_for);
        node_at(m, n)->dead = true;
        stands_for[n] = *stands_for;
    }
}

static void put_back(Operands *o, NodeId *stands_for)
{
    Model *m = o->m;
    *stands_for = o->call; // bury marks with it
    bury(m, o->x, o->call, stands_for);
    Node *n = node_at(m, o->call);
    n->dead = false;
    n->in = NEWS(m->arena, ValueId, n->nin + 1);
    for (uint32_t i = 0; i < n->nin; i++)
        n->in[i] = o->now[i] ? o->now[i] : o->x->in[o->call][i];
    for (uint32_t k = 0; k < n->nout; k++) {
        if (!n->out[k])
            continue;
        value_at(m, n->out[k])->node = o->call;
        value_at(m, n->out[k])->index = k;
    }
}

// How many calls stay inlined.
static uint32_t restore(Model *m, const Inlined *x, NodeId call, const bool *peeked,
                        NodeId *stands_for)
{
    uint32_t left = 1, nin = node_at(m, call)->nin + 1;
    Operands o = {m, x, call, NEWS(x->a, ValueId, nin), NEWS(x->a, bool, nin), peeked};
    if (is_untouched(&o, call) && is_loose(&o)) {
        put_back(&o, stands_for);
        return 0;
    }
    for (NodeId n = x->first[call]; n; n = x->next[n] == n ? 0 : x->next[n])
        if (x->dead[n] && x->first[n])
            left += restore(m, x, n, peeked, stands_for);
    return left;
}

// A call takes the place of the last of its copies.
static void list_calls(Model *m, GraphId g, const NodeId *stands_for, uint32_t n, uint32_t *copies)
{
    Graph *graph = graph_at(m, g);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < graph->nodes.len; i++)
        if (graph->nodes.at[i] < n && stands_for[graph->nodes.at[i]])
            copies[stands_for[graph->nodes.at[i]]]++;
    for (uint32_t i = 0; i < graph->nodes.len; i++) {
        NodeId id = graph->nodes.at[i], call = id < n ? stands_for[id] : 0;
        if (!call)
            graph->nodes.at[kept++] = id;
        else if (--copies[call] == 0)
            graph->nodes.at[kept++] = call;
    }
    graph->nodes.len = kept;
}

// The name of a copy behind those of the calls that it is in.
static Str name_in_calls(const Model *m, const Node *n)
{
    Str name = n->name;
    for (NodeId k = n->call; k; k = node_at(m, k)->call) {
        const Node *call = node_at(m, k);
        Str around = call->name.len ? call->name : call->op;
        name = str_printf(m->arena, "%.*s/%.*s", STR_ARG(around), STR_ARG(name));
    }
    return name;
}

// Copies that stay keep the names that their nodes have in the body, but for those that are taken,
// since loaders want each node's name once.
static void name_copies(Model *m, Arena *a)
{
    Map taken = {.arena = a};
    bool added = false;
    for (NodeId id = 1; id < m->nodes.len; id++)
        if (!node_at(m, id)->dead && !node_at(m, id)->call)
            map_put(&taken, node_at(m, id)->name, &added);
    for (NodeId id = 1; id < m->nodes.len; id++) {
        Node *n = node_at(m, id);
        if (n->dead || !n->call || !n->name.len)
            continue;
        map_put(&taken, n->name, &added);
        if (added)
            continue;
        Str name = name_in_calls(m, n);
        map_put(&taken, name, &added);
        n->name = added ? name : str_printf(m->arena, "%.*s#%u", STR_ARG(name), id);
    }
}

uint32_t inlined_restore(Model *m, const Inlined *x)
{
    NodeId *stands_for = NEWS(x->a, NodeId, x->nnodes); // by copy: the call that stands for it
    uint32_t *copies = NEWS(x->a, uint32_t, x->nnodes), left = 0;
    bool *peeked = NEWS(x->a, bool, x->nnodes); // by call: something outside reads what is within
    find_peeked(m, x, peeked);
    for (NodeId id = 1; id < x->nnodes; id++)
        if (x->dead[id] && x->first[id] && !node_at(m, id)->call)
            left += restore(m, x, id, peeked, stands_for);
    stands_for[0] = 0;
    for (GraphId g = 1; g < m->graphs.len; g++)
        list_calls(m, g, stands_for, x->nnodes, copies);
    if (left == 0 && m->opsets.len > x->nopsets)
        m->opsets.len = x->nopsets;
    name_copies(m, x->a);
    repair_sort(m, x->a);
    return left;
}
