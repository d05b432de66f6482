// A model rewritten as a conversion chose: see convert_precision.c.

#include "ir/infer.h"
#include "passes/adaptor.h"
#include "passes/convert_parts.h"
#include "passes/retype.h"

#include <math.h>

// Finite elements that `to` does not hold become the greatest that it does.
static void clamp_constant(Conversion *c, TensorData *d)
{
    Str error;
    const unsigned char *at = tensor_elements(c->m, d, &error);
    DType from = (DType)d->dtype;
    size_t width = dtype_info(from)->bytes;
    double lo, hi;
    range_of_dtype(c->o->to, &lo, &hi);
    hi *= c->o->policy == CONVERT_CAMEO ? 0.5 : 1; // a mask, to which a score is still added
    bool any = false;
    for (uint64_t i = 0; at && i < d->nelements && !any; i++) {
        double x = scalar_load(from, at + i * width).f;
        any = isfinite(x) && fabs(x) > hi;
    }
    if (!any)
        return;
    unsigned char *fresh = arena_array(c->m->arena, d->nelements + 1, width);
    for (uint64_t i = 0; i < d->nelements; i++) {
        Scalar s = scalar_load(from, at + i * width);
        if (isfinite(s.f) && fabs(s.f) > hi) {
            s.f = copysign(hi, s.f);
            c->r->clamped++;
        }
        scalar_store(from, fresh + i * width, s);
    }
    d->elements = fresh;
}

static void store_constant(Conversion *c, ValueId v)
{
    TensorData *d = constant_data(c->m, v);
    if (d && c->clamp[v])
        clamp_constant(c, d);
    c->r->constants += constant_retype(c->m, v, c->o->to);
    const Value *value = value_at(c->m, v);
    Graph *g = graph_at(c->m, c->m->main);
    ValueInfo *info =
        value->def == DEF_INPUT && value->graph == c->m->main ? &g->inputs.at[value->index] : NULL;
    if (info && info->value == v && info->type && info->type->kind == TYPE_TENSOR)
        info->type->elem = c->o->to;
}

static void apply_sources(Conversion *c)
{
    for (ValueId v = 1; v < c->t->nvalues; v++) {
        uint32_t maker = c->t->maker[v];
        TieKind kind = maker == NO_TIE ? TIE_FIXED : c->t->at.at[maker].kind;
        if (!convert_becomes_low(c, v))
            continue;
        if (kind == TIE_CONSTANT)
            store_constant(c, v);
        if (kind == TIE_CAST)
            node_set_int(c->m, value_at(c->m, v)->node, "to", c->o->to);
    }
}

// A second initializer, in `to`. 0: its elements cannot be read.
static ValueId copy_constant(Conversion *c, Builder *a, ValueId v, const Use *uses, uint32_t n)
{
    Model *m = c->m;
    TensorData own = *constant_data(m, v), *d;
    if (c->clamp[v])
        clamp_constant(c, &own);
    d = tensor_cast(m, &own, c->o->to);
    if (!d)
        return 0;
    ValueId fresh = builder_constant(a, value_at(m, v)->graph, value_at(m, v)->name,
                                     dtype_info(c->o->to)->abbrev, d);
    adaptor_redirect(a, v, fresh, uses, n);
    c->r->constants++;
    return fresh;
}

static void cast_value(Conversion *c, Builder *a, ValueId v, DType t, const Use *uses, uint32_t n)
{
    Model *m = c->m;
    if (t == c->o->to && convert_is_initializer(c, v) && copy_constant(c, a, v, uses, n))
        return;
    Str name = str_escaped(m->arena, value_at(m, v)->name);
    DType named = t; // an output keeps its name: what is cast to it gets another
    for (uint32_t i = 0; i < n; i++)
        if (!uses[i].node && uses[i].graph == m->main)
            named = c->o->to;
    NodeId cast = adaptor_insert(a, v, "Cast", dtype_info(named)->abbrev, uses, n);
    if (c->o->in_memory)
        convert_bind_newer(m, cast);
    node_set_int(m, cast, "to", t);
    node_at(m, cast)->reason =
        str_printf(m->arena, "inserted: %.*s is read in %s", STR_ARG(name), dtype_name(t));
    c->r->casts++;
}

static void apply_casts(Conversion *c)
{
    const Ties *t = c->t;
    Builder a = builder_of(c->m, c->a);
    for (ValueId v = 1; v < t->nvalues; v++) {
        DType own = ties_dtype(c->m, v);
        if (c->value[v] == NO_TIE || own == c->o->to)
            continue;
        bool low = convert_is_low(c, t->maker[v]);
        uint32_t n = t->first_use[v + 1] - t->first_use[v], count = 0;
        uint32_t loose = c->first_loose[v + 1] - c->first_loose[v];
        Use *uses = NEWS(c->a, Use, n + loose + 1u);
        for (uint32_t i = t->first_use[v]; i < t->first_use[v + 1]; i++)
            if (convert_is_low(c, t->uses.at[i].tie) != low)
                uses[count++] = t->uses.at[i].use;
        for (uint32_t i = c->first_loose[v]; low && i < c->first_loose[v + 1]; i++)
            uses[count++] = c->loose.at[i].use;
        if (count)
            cast_value(c, &a, v, low ? own : c->o->to, uses, count);
    }
}

// What is declared of values that are gone goes.
static void forget_infos(Model *m, const ValueId *alias)
{
    for (GraphId id = 1; id < m->graphs.len; id++) {
        Graph *g = graph_at(m, id);
        uint32_t n = 0;
        for (uint32_t i = 0; i < g->infos.len; i++)
            if (!alias[g->infos.at[i].value])
                g->infos.at[n++] = g->infos.at[i];
        g->infos.len = n;
    }
}

static ValueId stands_for(const ValueId *alias, ValueId v)
{
    while (alias[v])
        v = alias[v];
    return v;
}

// Does the Cast give what it is given? Those that make an output of the model are not asked.
static bool is_idle(const Model *m, NodeId id, const bool *named)
{
    const Node *n = node_at(m, id);
    if (n->dead || !node_is(n, "Cast") || n->nin != 1 || n->nout != 1 || !n->in[0] || !n->out[0])
        return false;
    DType from = ties_dtype(m, n->in[0]), to = ties_dtype(m, n->out[0]);
    return from == to && dtype_is_float(to) && !named[n->out[0]];
}

static bool *outputs_of(const Conversion *c)
{
    bool *named = NEWS(c->a, bool, c->m->values.len + 1u);
    const Graph *g = graph_at(c->m, c->m->main);
    for (uint32_t i = 0; i < g->outputs.len; i++)
        named[g->outputs.at[i].value] = true;
    return named;
}

// Casts that give what they are given now, and did not before, go.
static void drop_casts(Conversion *c, const bool *was_idle, uint32_t nnodes)
{
    Model *m = c->m;
    ValueId *alias = NEWS(c->a, ValueId, m->values.len + 1u);
    const bool *named = outputs_of(c);
    for (NodeId id = 1; id < m->nodes.len; id++) {
        if (!is_idle(m, id, named) || (id < nnodes && was_idle[id]))
            continue;
        alias[node_at(m, id)->out[0]] = node_at(m, id)->in[0];
        graph_remove(m, id);
        if (id < c->nnodes)
            c->r->dropped++;
        else
            c->r->casts--;
    }
    for (NodeId id = 1; id < m->nodes.len; id++)
        for (uint32_t i = 0; i < node_at(m, id)->nin; i++)
            node_at(m, id)->in[i] = stands_for(alias, node_at(m, id)->in[i]);
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(m, g)->outputs.len; i++)
            graph_at(m, g)->outputs.at[i].value =
                stands_for(alias, graph_at(m, g)->outputs.at[i].value);
    forget_infos(m, alias);
}

// ---- inputs and outputs -------------------------------------------------------------------------

// An input is declared in `to`; what read it as it was reads a Cast of it.
static void retype_input(Conversion *c, Builder *a, ValueInfo *info)
{
    Model *m = c->m;
    ValueId v = info->value;
    DType own = ties_dtype(m, v);
    Uses uses = uses_of(m, c->a);
    uint32_t n = uses.first[v + 1] - uses.first[v];
    if (!info->type || info->type->kind != TYPE_TENSOR || !convert_is_from(c, own) ||
        value_at(m, v)->init)
        return;
    if (n) {
        NodeId cast =
            adaptor_insert(a, v, "Cast", dtype_info(own)->abbrev, uses.uses + uses.first[v], n);
        node_set_int(m, cast, "to", own);
        c->r->casts++;
    }
    info->type->elem = c->o->to;
}

static void retype_output(Conversion *c, Builder *a, uint32_t i)
{
    Model *m = c->m;
    ValueInfo *info = &graph_at(m, m->main)->outputs.at[i];
    ValueId v = info->value;
    if (!info->type || info->type->kind != TYPE_TENSOR || value_at(m, v)->def != DEF_NODE ||
        !convert_is_from(c, ties_dtype(m, v)))
        return;
    const Node *made = node_at(m, value_at(m, v)->node);
    ValueId from = node_is(made, "Cast") && made->nin ? made->in[0] : 0;
    info->type->elem = c->o->to;
    if (from && ties_dtype(m, from) == c->o->to && value_at(m, from)->def == DEF_NODE &&
        value_at(m, from)->graph == m->main && !outputs_of(c)[from]) {
        Str name = value_at(m, v)->name; // what was cast is the output now
        value_at(m, v)->name = value_at(m, from)->name;
        value_at(m, from)->name = name;
        info->value = from;
        return;
    }
    Use use = {0, m->main, i};
    NodeId cast = adaptor_insert(a, v, "Cast", dtype_info(c->o->to)->abbrev, &use, 1);
    node_set_int(m, cast, "to", c->o->to);
    c->r->casts++;
}

// Casts of what a Cast widened, and nobody else reads: the first is not needed.
static void join_casts(Conversion *c)
{
    Model *m = c->m;
    for (NodeId id = 1; id < m->nodes.len; id++) {
        Node *n = node_at(m, id);
        const Value *v = !n->dead && node_is(n, "Cast") && n->nin ? value_at(m, n->in[0]) : NULL;
        const Node *inner = v && v->def == DEF_NODE ? node_at(m, v->node) : NULL;
        if (!inner || inner->dead || !node_is(inner, "Cast") || inner->nin != 1)
            continue;
        if (dtype_holds(ties_dtype(m, n->in[0]), ties_dtype(m, inner->in[0])))
            n->in[0] = inner->in[0];
    }
}

static void remove_unread_casts(Conversion *c)
{
    Uses uses = uses_of(c->m, c->a);
    for (NodeId id = c->nnodes; id < c->m->nodes.len; id++) {
        const Node *n = node_at(c->m, id);
        if (!n->dead && node_is(n, "Cast") && uses.first[n->out[0]] == uses.first[n->out[0] + 1]) {
            graph_remove(c->m, id);
            c->r->casts--;
        }
    }
}

static void retype_interface(Conversion *c)
{
    Model *m = c->m;
    Builder a = builder_of(m, c->a);
    bool *idle = NEWS(c->a, bool, m->nodes.len + 1u);
    const bool *named = outputs_of(c);
    uint32_t nnodes = m->nodes.len;
    for (NodeId id = 1; id < nnodes; id++)
        idle[id] = is_idle(m, id, named);
    for (uint32_t i = 0; i < graph_at(m, m->main)->inputs.len; i++)
        retype_input(c, &a, &graph_at(m, m->main)->inputs.at[i]);
    for (uint32_t i = 0; i < graph_at(m, m->main)->outputs.len; i++)
        retype_output(c, &a, i);
    model_sort(m, c->a);
    infer_model(m, NULL);
    join_casts(c);
    infer_model(m, NULL);
    drop_casts(c, idle, nnodes);
    remove_unread_casts(c);
}

void convert_rewrite(Conversion *c)
{
    Model *m = c->m;
    uint32_t nnodes = m->nodes.len;
    bool *idle = NEWS(c->a, bool, nnodes + 1u);
    const bool *named = outputs_of(c);
    for (NodeId id = 1; id < nnodes; id++)
        idle[id] = is_idle(m, id, named);
    apply_sources(c);
    apply_casts(c);
    model_sort(m, c->a);
    infer_model(m, NULL);
    drop_casts(c, idle, nnodes);
    if (c->o->io)
        retype_interface(c);
    for (GraphId g = 1; g < m->graphs.len; g++)
        graph_at(m, g)->unsorted = false;
}
