// What the calls of a function agree on: a repair of its body has to be right for all of them.
//
// 1. Every call of the model, inlined by now, is looked at: calls of the file and the copies of
//    calls within bodies. What they read and give has types there.
// 2. An input of a function has a type where all calls give it one dtype; of its dims those are
//    known that are the same numbers in all. The result of a call within a body likewise.
// 3. A function all of whose inputs have one can be repaired as a graph of its own.

#include "passes/called_types.h"
#include "base/map.h"
#include "ir/poly.h"

// What the calls seen so far say of a value.
typedef struct Joined {
    Type *type;
    bool differs; // in dtype, or one call gives no tensor
} Joined;

typedef struct Called {
    const Model *m;
    Arena *a;
    bool put_back;  // calls that stand are calls; else all are, inlined by now
    Joined *at;     // by value
    Map names;      // of functions -> index
    bool *called;   // by function
    bool *possible; // by function
} Called;

static Str key_of(Called *c, Str domain, Str name, Str overload)
{
    return str_printf(c->a, "%.*s\n%.*s\n%.*s", STR_ARG(domain), STR_ARG(name), STR_ARG(overload));
}

static Type *type_of(Called *c, ValueId id)
{
    const Value *v = id ? value_at(c->m, id) : NULL;
    if (!v || v->kind != TYPE_TENSOR || v->dtype == DT_NONE)
        return NULL;
    Type *t = NEW(c->a, Type);
    *t = (Type){.kind = TYPE_TENSOR, .elem = (int32_t)v->dtype, .has_elem = true};
    t->has_shape = v->rank >= 0;
    t->rank = v->rank > 0 ? (uint32_t)v->rank : 0;
    t->dims = NEWS(c->a, DeclDim, t->rank + 1);
    for (uint32_t k = 0; k < t->rank; k++)
        t->dims[k].kind = poly_is_const(v->dims[k], &t->dims[k].value) ? DIM_VALUE : DIM_UNSET;
    return t;
}

static void join_dims(Type *known, const Type *t)
{
    if (!t->has_shape || t->rank != known->rank) {
        known->has_shape = false;
        known->rank = 0;
    }
    for (uint32_t k = 0; k < known->rank; k++)
        if (t->dims[k].kind != DIM_VALUE || t->dims[k].value != known->dims[k].value)
            known->dims[k] = (DeclDim){.kind = DIM_UNSET};
}

static void join(Called *c, ValueId of, const Type *t)
{
    Joined *j = &c->at[of];
    if (!t || j->differs || (j->type && j->type->elem != t->elem)) {
        *j = (Joined){NULL, true};
        return;
    }
    if (!j->type)
        j->type = (Type *)(uintptr_t)t;
    else
        join_dims(j->type, t);
}

static GraphId outermost(const Model *m, GraphId g)
{
    while (graph_at(m, g)->parent)
        g = graph_at(m, g)->parent;
    return g;
}

// A call of the file gives its results; the copy of one within a body, those of the one there.
static void look_at_call(Called *c, const Node *n, uint32_t f)
{
    const Model *m = c->m;
    const Node *written = n->copy_of ? node_at(m, n->copy_of) : n;
    const Graph *body = graph_at(m, m->functions.at[f].body);
    c->called[f] = true;
    for (uint32_t o = 0; o < n->nout && o < written->nout; o++)
        if (written->out[o])
            join(c, written->out[o], type_of(c, n->out[o]));
    for (uint32_t i = 0; i < body->inputs.len; i++)
        if (body->inputs.at[i].value)
            join(c, body->inputs.at[i].value, i < n->nin ? type_of(c, n->in[i]) : NULL);
}

static bool has_references(const Node *n)
{
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (n->attrs[i].ref.len)
            return true;
    return false;
}

// Is it a call still? Where calls were put back the others are left written out, and a copy of a
// call within a body is one where that body is called.
static bool is_call(const Called *c, NodeId id)
{
    const Node *n = node_at(c->m, id);
    bool stands = !c->put_back || !n->dead;
    for (NodeId call = n->call; call && !stands; call = node_at(c->m, call)->call)
        stands = !node_at(c->m, call)->dead;
    return stands && (n->dead || !n->copy_of || c->put_back);
}

static void look_at_calls(Called *c)
{
    const Model *m = c->m;
    for (uint32_t f = 0; f < m->functions.len; f++) {
        const Function *at = &m->functions.at[f];
        *map_put(&c->names, key_of(c, at->domain, at->name, at->overload), NULL) = f;
        c->possible[f] = true;
    }
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        uint32_t within = n->graph ? graph_at(m, outermost(m, n->graph))->function : 0;
        if (within) {
            c->possible[within - 1] &= !has_references(n);
            continue;
        }
        const uint32_t *f = map_get(&c->names, key_of(c, n->domain, n->op, n->overload));
        if (f && is_call(c, id))
            look_at_call(c, n, *f);
    }
    for (uint32_t f = 0; f < m->functions.len; f++) {
        const Graph *body = graph_at(m, m->functions.at[f].body);
        c->possible[f] &= c->called[f];
        for (uint32_t i = 0; i < body->inputs.len; i++)
            c->possible[f] &= body->inputs.at[i].value && c->at[body->inputs.at[i].value].type;
    }
}

static Called *calls_of(const Model *seen, Arena *a, bool put_back)
{
    Called *c = NEW(a, Called);
    *c = (Called){.m = seen, .a = a, .put_back = put_back, .names = {.arena = a}};
    c->at = NEWS(a, Joined, seen->values.len);
    c->called = NEWS(a, bool, seen->functions.len + 1);
    c->possible = NEWS(a, bool, seen->functions.len + 1);
    look_at_calls(c);
    return c;
}

const Type *const *called_types(const Model *seen, Arena *a, bool bodies, bool put_back)
{
    Called *c = calls_of(seen, a, put_back);
    const Type **given = NEWS(a, const Type *, seen->values.len);
    for (ValueId v = 1; v < seen->values.len; v++) {
        GraphId g = value_at(seen, v)->graph;
        uint32_t f = g ? graph_at(seen, outermost(seen, g))->function : 0;
        if (!f || (bodies && c->possible[f - 1]))
            given[v] = c->at[v].type;
    }
    return given;
}

const bool *called_functions(const Model *seen, Arena *a, bool put_back)
{
    return calls_of(seen, a, put_back)->called;
}

bool *called_bodies(const Model *seen, Arena *a)
{
    return calls_of(seen, a, false)->possible;
}
