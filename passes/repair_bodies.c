// Writes into a function's body what a repair did to every copy of it.
//
// 1. For each node of a body the copies that were made of it are compared with what they were: a
//    Cast's target, a constant, a deleted Cast, an operand that is now read as another value of the
//    body or through a new Cast of one. What reads an input of the function may differ from call
//    to call and is left to restore_calls.c.
// 2. Where all copies of all nodes of a function were changed alike, the body is, and the copies
//    count as untouched. Anything else that was changed, or a new Cast that something outside of
//    the copies reads: the body stays, and so do its copies.

#include "ir/registry.h"
#include "passes/adaptor.h"
#include "passes/inlined.h"

#include <string.h>

// What a copy's operand is now, said by the body's values.
typedef struct Reads {
    ValueId base; // of the body; 0: as it was
    DType cast;   // read through a new Cast to this; DT_NONE: itself
} Reads;

typedef struct Bodies {
    Model *m;
    Inlined *x;
    NodeId *copy, *more; // by body's node: the first copy; by copy: the next
    bool *failed;        // by function
    bool *changed;       // by function
    Reads **reads;       // by body's node: of its operands
    bool *retyped;       // by body's node: its attributes are the copies' now
    bool *gone;          // by body's node
    TensorData **stored; // by body's initializer: what its copies are now
    uint32_t *again;     // by function: initializers that were stored anew in more than one copy
} Bodies;

static uint32_t function_of_graph(const Model *m, GraphId g)
{
    while (graph_at(m, g)->parent)
        g = graph_at(m, g)->parent;
    return graph_at(m, g)->function;
}

static uint32_t function_of(const Model *m, NodeId body)
{
    return function_of_graph(m, node_at(m, body)->graph);
}

static bool is_fresh_cast(const Bodies *b, ValueId v)
{
    const Value *value = value_at(b->m, v);
    return value->def == DEF_NODE && value->node >= b->x->nnodes &&
           node_is(node_at(b->m, value->node), "Cast");
}

// The node that made v when the calls were inlined, if it was a copy for this call.
static NodeId made_by_copy(const Bodies *b, ValueId v, NodeId call)
{
    const Value *value = v ? value_at(b->m, v) : NULL;
    bool copy = value && value->def == DEF_NODE && value->node < b->x->nnodes &&
                node_at(b->m, value->node)->copy_of && node_at(b->m, value->node)->call == call;
    return copy ? value->node : 0;
}

// What operand i of a copy reads now; false: nothing that the body could say.
static bool find_reads(const Bodies *b, NodeId copy, uint32_t i, Reads *r)
{
    const Model *m = b->m;
    const Node *n = node_at(m, copy), *body = node_at(m, n->copy_of);
    ValueId was = b->x->in[copy][i], now = n->in[i], written = body->in[i];
    *r = (Reads){0, DT_NONE};
    if (was == now || !written)
        return true;
    const Value *w = value_at(m, written);
    if (w->def == DEF_INPUT && graph_at(m, w->graph)->function)
        return true;
    if (is_fresh_cast(b, now)) {
        const Node *cast = node_at(m, value_at(m, now)->node);
        r->cast = (DType)node_int(cast, "to", 0);
        now = cast->in[0];
    }
    for (int steps = 0; steps < 8; steps++) {
        if (was == now) {
            r->base = written;
            return true;
        }
        NodeId maker = made_by_copy(b, was, n->call);
        const Node *at = maker ? node_at(m, maker) : NULL;
        if (!at || !node_is(at, "Cast") || !at->nin)
            break;
        was = b->x->in[maker][0];
        written = node_at(m, at->copy_of)->in[0];
    }
    NodeId maker = made_by_copy(b, now, n->call); // another value of the same copies
    if (!maker)
        return false;
    r->base = node_at(m, node_at(m, maker)->copy_of)->out[value_at(m, now)->index];
    return r->base != 0;
}

static bool may_be_retyped(const Model *m, NodeId body)
{
    const Node *n = node_at(m, body);
    bool refers = false;
    for (uint32_t i = 0; i < n->nattrs; i++)
        refers |= n->attrs[i].ref.len > 0;
    return !refers &&
           (node_is(n, "Cast") || node_is(n, "Constant") || node_is(n, "ConstantOfShape"));
}

// Is a node's change the same as that of the copy before?
static bool is_alike(const Bodies *b, NodeId copy, NodeId first, const Reads *reads)
{
    const Model *m = b->m;
    const Node *n = node_at(m, copy), *body = node_at(m, n->copy_of);
    if (node_at(m, first)->dead != n->dead || (n->dead && !node_is(n, "Cast")))
        return false;
    bool retyped = inlined_print_of(m, copy) != b->x->print[copy];
    bool was = inlined_print_of(m, first) != b->x->print[first];
    if (retyped != was || (retyped && !may_be_retyped(m, n->copy_of)))
        return false;
    if (retyped && !n->dead &&
        value_at(m, n->out[0])->dtype != value_at(m, node_at(m, first)->out[0])->dtype)
        return false;
    for (uint32_t i = 0; !n->dead && i < body->nin; i++) {
        Reads r;
        if (!find_reads(b, copy, i, &r) || r.base != reads[i].base || r.cast != reads[i].cast)
            return false;
    }
    return true;
}

static void look_at(Bodies *b, NodeId body)
{
    Model *m = b->m;
    NodeId first = b->copy[body];
    const Node *n = node_at(m, first);
    uint32_t f = function_of(m, body);
    Reads *reads = NEWS(b->x->a, Reads, n->nin + 1);
    bool changed = n->dead, fits = n->nin == node_at(m, body)->nin;
    for (uint32_t i = 0; fits && i < n->nin; i++) {
        fits = find_reads(b, first, i, &reads[i]);
        changed |= reads[i].base != 0;
    }
    for (NodeId copy = first; copy && fits; copy = b->more[copy])
        fits = is_alike(b, copy, first, reads);
    // Without a Cast that gives a result of the function its calls would give another value.
    const Graph *g = graph_at(m, node_at(m, body)->graph);
    for (uint32_t i = 0; n->dead && i < g->outputs.len; i++)
        fits &= value_at(m, g->outputs.at[i].value)->node != body;
    b->reads[body] = reads;
    b->gone[body] = n->dead;
    b->retyped[body] = !n->dead && inlined_print_of(m, first) != b->x->print[first];
    b->changed[f] |= changed || b->retyped[body];
    b->failed[f] |= !fits;
}

// The Cast through which a copy reads what its call is given; DT_NONE: it reads that itself.
static DType cast_of_operand(const Bodies *b, NodeId copy, uint32_t i)
{
    const Model *m = b->m;
    ValueId was = b->x->in[copy][i], now = node_at(m, copy)->in[i];
    if (was == now || !now || !is_fresh_cast(b, now))
        return DT_NONE;
    const Node *cast = node_at(m, value_at(m, now)->node);
    return cast->in[0] == was ? (DType)node_int(cast, "to", 0) : DT_NONE;
}

// An input of a function, by the places in its body that read it.
typedef struct Given {
    DType cast;   // some read it through a Cast to this
    bool as_is;   // some have to read it as it is given
    bool differs; // not all casts are to one dtype, or not all copies are alike
} Given;

static bool is_given(const Model *m, ValueId v)
{
    return v && value_at(m, v)->def == DEF_INPUT && graph_at(m, value_at(m, v)->graph)->function;
}

static void look_at_given(Bodies *b, NodeId body, uint32_t i, Given *given)
{
    DType cast = cast_of_operand(b, b->copy[body], i);
    for (NodeId copy = b->more[b->copy[body]]; copy; copy = b->more[copy])
        given->differs |= cast_of_operand(b, copy, i) != cast;
    if (cast == DT_NONE) {
        given->as_is |= !inlined_takes_any(node_at(b->m, b->copy[body]), i);
        return;
    }
    given->differs |= given->cast != DT_NONE && given->cast != cast;
    given->cast = cast;
}

// The body's Cast, as the body has it, through which a copy reads what its call is given; 0: none.
static NodeId cast_of_body(const Bodies *b, NodeId copy, uint32_t i)
{
    const Model *m = b->m;
    ValueId was = b->x->in[copy][i], now = node_at(m, copy)->in[i];
    NodeId maker = now != was ? made_by_copy(b, now, node_at(m, copy)->call) : 0;
    const Node *cast = maker ? node_at(m, maker) : NULL;
    bool same = cast && node_is(cast, "Cast") && cast->in[0] == was;
    return same ? cast->copy_of : 0;
}

// Some calls may read what they are given through a Cast that the body has anyway; the others may
// as well, where they are given the dtype that it gives.
static void share_cast_of_body(Bodies *b, NodeId body, uint32_t i)
{
    const Model *m = b->m;
    NodeId cast = 0;
    bool fits = true;
    for (NodeId copy = b->copy[body]; copy && !cast; copy = b->more[copy])
        cast = cast_of_body(b, copy, i);
    DType gives = cast ? value_at(m, node_at(m, b->copy[cast])->out[0])->dtype : DT_NONE;
    for (NodeId copy = b->copy[body]; copy && cast; copy = b->more[copy])
        fits &= cast_of_body(b, copy, i) == cast ||
                (node_at(m, copy)->in[i] == b->x->in[copy][i] &&
                 value_at(m, node_at(m, copy)->in[i])->dtype == gives);
    if (!cast || !fits)
        return;
    b->reads[body][i] = (Reads){node_at(m, cast)->out[0], DT_NONE};
    b->changed[function_of(m, body)] = true;
}

// What a call is given may be needed as it is in one place and cast in another, in all calls alike:
// no Cast in front of the calls does that, but one in the body.
static void look_at_inputs(Bodies *b)
{
    const Model *m = b->m;
    Given *given = NEWS(b->x->a, Given, m->values.len);
    for (NodeId n = 1; n < b->x->nnodes; n++)
        for (uint32_t i = 0; b->copy[n] && b->reads[n] && i < node_at(m, n)->nin; i++)
            if (is_given(m, node_at(m, n)->in[i]) && !node_at(m, b->copy[n])->dead) {
                look_at_given(b, n, i, &given[node_at(m, n)->in[i]]);
                share_cast_of_body(b, n, i);
            }
    for (NodeId n = 1; n < b->x->nnodes; n++)
        for (uint32_t i = 0; b->copy[n] && b->reads[n] && i < node_at(m, n)->nin; i++) {
            ValueId v = node_at(m, n)->in[i];
            const Given *g = is_given(m, v) ? &given[v] : NULL;
            if (!g || g->cast == DT_NONE || g->differs || !g->as_is ||
                cast_of_operand(b, b->copy[n], i) == DT_NONE)
                continue;
            b->reads[n][i] = (Reads){v, g->cast};
            b->changed[function_of(m, n)] = true;
        }
}

static Initializer *initializer_of(const Model *m, ValueId v)
{
    Graph *g = graph_at(m, value_at(m, v)->graph);
    for (uint32_t i = 0; i < g->initializers.len; i++)
        if (g->initializers.at[i].value == v)
            return &g->initializers.at[i];
    return NULL;
}

// What the graphs within a body hold has to be alike in all copies, too.
static void look_at_initializers(Bodies *b)
{
    const Model *m = b->m;
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(m, g)->initializers.len; i++) {
            const Initializer *copy = &graph_at(m, g)->initializers.at[i];
            ValueId of = copy->value ? value_at(m, copy->value)->copy_of : 0;
            const Initializer *own = of ? initializer_of(m, of) : NULL;
            if (!own)
                continue;
            uint32_t f = function_of_graph(m, value_at(m, of)->graph);
            b->failed[f] |= b->stored[of] && b->stored[of]->dtype != copy->data->dtype;
            bool changed = copy->data->dtype != own->data->dtype;
            b->changed[f] |= changed;
            b->again[f] += changed && b->stored[of];
            b->stored[of] = copy->data;
        }
}

// Something outside of its call that reads a value within leaves a function as it is.
static void look_outside(Bodies *b, ValueId v, NodeId reader)
{
    ValueId within = inlined_peeked(b->m, b->x, v, reader);
    if (within)
        b->failed[function_of_graph(b->m, value_at(b->m, value_at(b->m, within)->copy_of)->graph)] =
            true;
}

static void look_outside_all(Bodies *b)
{
    const Model *m = b->m;
    for (NodeId id = 1; id < m->nodes.len; id++)
        for (uint32_t i = 0; !node_at(m, id)->dead && i < node_at(m, id)->nin; i++)
            look_outside(b, node_at(m, id)->in[i], id);
    const Graph *g = graph_at(m, m->main);
    for (uint32_t i = 0; i < g->outputs.len; i++)
        look_outside(b, g->outputs.at[i].value, 0);
}

// ---- writing ------------------------------------------------------------------------------------

static void accept_copies(Bodies *b, NodeId body)
{
    Model *m = b->m;
    for (NodeId copy = b->copy[body]; copy; copy = b->more[copy]) {
        const Node *n = node_at(m, copy);
        b->x->gone[copy] = n->dead;
        b->x->print[copy] = inlined_print_of(m, copy);
        b->x->held[copy] = inlined_held_of(m, copy);
        for (uint32_t i = 0; i < n->nin; i++)
            if (b->reads[body][i].base)
                b->x->in[copy][i] = n->in[i];
    }
}

// One new Cast for all of the function's operands that read `r`, from this one on.
static void write_cast(Bodies *b, Builder *a, NodeId body, Reads r, Repair *done)
{
    Model *m = b->m;
    uint32_t f = function_of(m, body);
    VEC(Use) uses = {0};
    for (NodeId n = body; n < b->x->nnodes; n++)
        for (uint32_t i = 0; b->reads[n] && function_of(m, n) == f && i < node_at(m, n)->nin; i++) {
            Reads *o = &b->reads[n][i];
            if (o->base != r.base || o->cast != r.cast)
                continue;
            vec_push(b->x->a, &uses, ((Use){n, node_at(m, n)->graph, i}));
            *o = (Reads){0, DT_NONE};
        }
    NodeId cast = adaptor_insert(a, r.base, "Cast", dtype_info(r.cast)->abbrev, uses.at, uses.len);
    node_set_int(m, cast, "to", r.cast);
    done->casts++;
    done->lower_bound++;
}

// What was changed in every copy counts once.
static void count_once(const Bodies *b, NodeId body, Repair *done)
{
    bool cast = node_is(node_at(b->m, body), "Cast");
    uint32_t *count = cast ? &done->retargeted : &done->retyped;
    for (NodeId copy = b->more[b->copy[body]]; copy; copy = b->more[copy])
        *count -= *count > 1;
}

static void write_body(Bodies *b, Builder *a, NodeId body, Repair *done)
{
    Model *m = b->m;
    if (b->gone[body] || b->retyped[body])
        count_once(b, body, done);
    if (b->gone[body]) {
        graph_remove(m, body);
        return;
    }
    Node *n = node_at(m, body);
    const Node *copy = node_at(m, b->copy[body]);
    if (b->retyped[body]) {
        n->attrs = copy->attrs;
        n->nattrs = copy->nattrs;
    }
    ValueId *in = NEWS(m->arena, ValueId, n->nin + 1);
    if (n->nin)
        memcpy(in, n->in, n->nin * sizeof *in);
    n->in = in;
    for (uint32_t i = 0; i < n->nin; i++) {
        Reads r = b->reads[body][i];
        if (r.base)
            node_at(m, body)->in[i] = r.base;
    }
    for (uint32_t i = 0; i < node_at(m, body)->nin; i++) {
        Reads r = b->reads[body][i];
        if (r.base && r.cast != DT_NONE)
            write_cast(b, a, body, r, done);
    }
}

static void write_initializers(Bodies *b, Repair *done)
{
    Model *m = b->m;
    for (uint32_t f = 1; f <= m->functions.len; f++)
        if (b->changed[f] && !b->failed[f])
            done->retyped -= b->again[f] < done->retyped ? b->again[f] : done->retyped;
    for (ValueId v = 1; v < m->values.len; v++) {
        uint32_t f = b->stored[v] ? function_of_graph(m, value_at(m, v)->graph) : 0;
        if (f && b->changed[f] && !b->failed[f]) {
            initializer_of(m, v)->data = b->stored[v];
            value_at(m, v)->init = b->stored[v];
        }
    }
}

static Bodies bodies_of(Model *m, Inlined *x)
{
    uint32_t n = x->nnodes, f = m->functions.len + 1;
    Bodies b = {.m = m, .x = x, .copy = NEWS(x->a, NodeId, n), .more = NEWS(x->a, NodeId, n)};
    b.failed = NEWS(x->a, bool, f);
    b.changed = NEWS(x->a, bool, f);
    b.reads = NEWS(x->a, Reads *, n);
    b.retyped = NEWS(x->a, bool, n);
    b.gone = NEWS(x->a, bool, n);
    b.stored = NEWS(x->a, TensorData *, m->values.len);
    b.again = NEWS(x->a, uint32_t, f);
    for (NodeId id = n; id-- > 1;) {
        NodeId body = node_at(m, id)->copy_of;
        if (!body || x->dead[id])
            continue;
        b.more[id] = b.copy[body];
        b.copy[body] = id;
    }
    return b;
}

static bool is_to_write(const Bodies *b, NodeId body)
{
    uint32_t f = b->copy[body] ? function_of(b->m, body) : 0;
    return f && b->changed[f] && !b->failed[f];
}

uint32_t inlined_mend_bodies(Model *m, Inlined *x, Repair *r)
{
    Bodies b = bodies_of(m, x);
    uint32_t count = 0;
    for (NodeId body = 1; body < x->nnodes; body++)
        if (b.copy[body])
            look_at(&b, body);
    look_at_inputs(&b);
    look_at_initializers(&b);
    look_outside_all(&b);
    Builder a = builder_of(m, x->a);
    for (NodeId body = 1; body < x->nnodes; body++)
        if (is_to_write(&b, body))
            accept_copies(&b, body);
    for (NodeId body = 1; body < x->nnodes; body++)
        if (is_to_write(&b, body))
            write_body(&b, &a, body, r);
    write_initializers(&b, r);
    for (uint32_t f = 1; f <= m->functions.len; f++)
        count += b.changed[f] && !b.failed[f];
    return count;
}

void inlined_drop_casts(Model *m, const Inlined *x, Repair *r)
{
    Uses uses = uses_of(m, x->a);
    for (NodeId id = x->nnodes; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        bool read = !node_is(n, "Cast") || n->dead;
        for (uint32_t k = uses.first[n->out[0]]; !read && k < uses.first[n->out[0] + 1]; k++)
            read = !uses.uses[k].node || !node_at(m, uses.uses[k].node)->dead;
        if (read)
            continue;
        graph_remove(m, id);
        r->casts -= r->casts > 0;
        r->lower_bound -= r->lower_bound > 0;
    }
}
