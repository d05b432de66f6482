// Converts a model to another float precision: the label problem, and the model rewritten.
//
// Ties (passes/ties.h) say what has one dtype. The float ties of a node are one variable, since
// kernels take their float operands in one dtype. Two labels: `to`, and the dtype that is there.
//
//     price(node, label)   = bytes that it reads and writes + multiply-adds, in bytes that memory
//                            moves in their time; lower in float16 on devices that are faster in it
//                            + lambda * noise of what it rounds (label `to` only)
//                            + with a lambda, what multiply-adds that stay cost for staying
//     adaptor(value)       = a Cast: bytes read and written + COST_OF_LAUNCH
//     adaptor(constant)    = the bytes of a second copy; a constant that was rounded serves nobody
//                            who asks for what it was
//
// That is one minimum cut, so the choice is proved least at these prices.

#include "ir/infer.h"
#include "passes/adaptor.h"
#include "passes/convert_parts.h"
#include "passes/insert_casts.h"
#include "passes/retype.h"

#include <math.h>
#include <string.h>

static TypeSet bit(DType t)
{
    return (TypeSet)1 << t;
}

bool convert_is_from(const Conversion *c, DType t)
{
    DType to = c->o->to;
    if (to == DT_F64)
        return t == DT_F32 || t == DT_F16 || t == DT_BF16;
    return t == DT_F32 || (t == DT_F64 && c->m->dominant == DT_F64);
}

bool convert_is_float(const Conversion *c, uint32_t tie)
{
    return c->own[tie] != DT_NONE;
}

uint32_t convert_group(const Conversion *c, uint32_t tie)
{
    while (c->group[tie] != tie)
        tie = c->group[tie];
    return tie;
}

// ---- what there is ------------------------------------------------------------------------------

static void see_tie(Conversion *c, uint32_t tie, ValueId v, NodeId node)
{
    DType d = ties_dtype(c->m, v);
    if (convert_is_from(c, d) || d == c->o->to)
        c->own[tie] = d;
    c->weight[tie] += convert_weight(c, v);
    if (node && !c->node[tie] && c->t->at.at[tie].kind == TIE_NODE)
        c->node[tie] = node;
}

static void see_values(Conversion *c)
{
    const Ties *t = c->t;
    for (ValueId v = 1; v < t->nvalues; v++) {
        const Value *value = value_at(c->m, v);
        if (t->maker[v] != NO_TIE)
            see_tie(c, t->maker[v], v, value->def == DEF_NODE ? value->node : 0);
        for (uint32_t i = t->first_use[v]; i < t->first_use[v + 1]; i++)
            see_tie(c, t->uses.at[i].tie, v, t->uses.at[i].use.node);
    }
}

// A node takes its floats in one dtype; what converts, and what a graph inside gives, on its own.
static void join_ties(Conversion *c)
{
    for (uint32_t i = 0; i < c->t->at.len; i++) {
        const Node *n = c->node[i] ? node_at(c->m, c->node[i]) : NULL;
        bool alone = !n || node_is(n, "Cast") || node_is(n, "CastLike") || node_is(n, "If") ||
                     node_is(n, "Loop") || node_is(n, "Scan");
        if (!n || !convert_is_float(c, i))
            continue;
        uint32_t *first = &c->of_node[c->node[i]];
        if (*first == NO_TIE)
            *first = i;
        else if (!alone)
            c->group[i] = *first;
    }
}

// Uses that no tie speaks of, value by value.
static void find_loose(Conversion *c)
{
    const Ties *t = c->t;
    Arena *a = c->a;
    uint32_t *operand = NEWS(a, uint32_t, c->m->nodes.len + 1u), total = 0;
    for (NodeId n = 1; n < c->m->nodes.len; n++) {
        operand[n] = total;
        total += node_at(c->m, n)->nin;
    }
    uint32_t *output = NEWS(a, uint32_t, c->m->graphs.len + 1u);
    for (GraphId g = 1; g < c->m->graphs.len; g++) {
        output[g] = total;
        total += graph_at(c->m, g)->outputs.len;
    }
    bool *tied = NEWS(a, bool, total + 1u);
    for (uint32_t i = 0; i < t->uses.len; i++) {
        const Use *u = &t->uses.at[i].use;
        tied[(u->node ? operand[u->node] : output[u->graph]) + u->index] = true;
    }
    c->first_loose = NEWS(a, uint32_t, t->nvalues + 1u);
    for (ValueId v = 1; v < t->nvalues; v++) {
        c->first_loose[v] = c->loose.len;
        for (uint32_t i = c->uses.first[v]; i < c->uses.first[v + 1]; i++) {
            const Use *u = &c->uses.uses[i];
            if (!tied[(u->node ? operand[u->node] : output[u->graph]) + u->index])
                vec_push(a, &c->loose, ((LooseUse){*u, v}));
        }
    }
    c->first_loose[t->nvalues] = c->loose.len;
}

// ---- what came of it ----------------------------------------------------------------------------

static uint64_t bytes_of_weights(const Model *m)
{
    uint64_t bytes = 0;
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(m, g)->initializers.len; i++) {
            const TensorData *d = graph_at(m, g)->initializers.at[i].data;
            uint64_t n = tensor_count(d);
            bytes += n == UINT64_MAX ? 0 : n * dtype_info((DType)d->dtype)->bits / 8;
        }
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        const Attr *a = !n->dead && node_is(n, "Constant") ? attr_find(n, "value") : NULL;
        uint64_t count = a && a->t ? tensor_count(a->t) : 0;
        bytes += count == UINT64_MAX
                     ? 0
                     : count * dtype_info((DType)(a && a->t ? a->t->dtype : 0))->bits / 8;
    }
    return bytes;
}

static void count_nodes(Conversion *c)
{
    Model *m = c->m;
    for (NodeId id = 1; id < c->m->nodes.len; id++) {
        uint32_t tie = c->of_node[id];
        Node *n = node_at(m, id);
        if (tie == NO_TIE || n->dead || node_is(n, "Cast"))
            continue;
        bool low = convert_is_low(c, tie);
        double products = convert_products(m, id);
        c->r->nodes++;
        c->r->low_nodes += low;
        c->r->products += products;
        c->r->low_products += low ? products : 0;
    }
}

// What is rounded, and the values that were looked at for it.
typedef struct Rounded {
    const Conversion *c;
    bool *itself, *seen;
    VEC(ValueId) open;
} Rounded;

static void open_value(Rounded *r, ValueId v)
{
    if (!v || r->seen[v] || !convert_is_from(r->c, ties_dtype(r->c->m, v)))
        return;
    r->seen[v] = true;
    vec_push(r->c->a, &r->open, v);
}

// Noise is known of what gave a value its numbers: nodes that only move or pick them, and stay as
// they are, are passed.
static void round_value(Rounded *r, ValueId v)
{
    const Conversion *c = r->c;
    open_value(r, v);
    while (r->open.len) {
        v = r->open.at[--r->open.len];
        const Value *value = value_at(c->m, v);
        const Node *n = value->def == DEF_NODE ? node_at(c->m, value->node) : NULL;
        const bool moved = n && convert_moves(n) && !convert_becomes_low(c, v);
        r->itself[v] = !moved;
        for (uint32_t i = 0; moved && i < n->nin; i++)
            open_value(r, n->in[i]);
    }
}

// Inputs and outputs in `to` are rounded too.
static void round_interface(Rounded *r)
{
    const Graph *g = graph_at(r->c->m, r->c->m->main);
    for (uint32_t i = 0; i < g->inputs.len; i++)
        if (!value_at(r->c->m, g->inputs.at[i].value)->init)
            round_value(r, g->inputs.at[i].value);
    for (uint32_t i = 0; i < g->outputs.len; i++)
        if (value_at(r->c->m, g->outputs.at[i].value)->def == DEF_NODE)
            round_value(r, g->outputs.at[i].value);
}

// What all that is rounded adds, each value once: those that come to have `to`, and those that are
// cast to it where they are read.
static double sum_noise(const Conversion *c)
{
    Rounded r = {.c = c};
    r.itself = NEWS(c->a, bool, c->m->values.len + 1u);
    r.seen = NEWS(c->a, bool, c->m->values.len + 1u);
    double sum = 0;
    if (c->o->io)
        round_interface(&r);
    for (ValueId v = 1; v < c->t->nvalues; v++)
        if (convert_is_rounded(c, v))
            round_value(&r, v);
    for (ValueId v = 1; v < c->t->nvalues; v++)
        sum += r.itself[v] ? convert_noise(c, v) : 0;
    return sum;
}

static void count_values(Conversion *c)
{
    c->r->noise = sum_noise(c);
    for (ValueId v = 1; v < c->t->nvalues; v++) {
        if (!convert_becomes_low(c, v))
            continue;
        bool constant = c->t->at.at[c->t->maker[v]].kind == TIE_CONSTANT;
        if (!constant && c->o->to == DT_F16) {
            c->r->measured += convert_is_measured(c, v);
            c->r->assumed += !convert_is_measured(c, v);
        }
    }
}

// Weights that are listed as inputs too, as models before IR version 4 had to, are weights.
static void tie_defaults(Conversion *c)
{
    const Graph *g = graph_at(c->m, c->m->main);
    for (uint32_t i = 0; i < g->inputs.len; i++) {
        ValueId v = g->inputs.at[i].value;
        Value *value = value_at(c->m, v);
        if (!value->init || value_is_weight(c->m, v) || !convert_is_from(c, ties_dtype(c->m, v)))
            continue;
        Tie tie = {.kind = TIE_CONSTANT, .allowed = ~(TypeSet)0, .value = v};
        tie.own = ties_dtype(c->m, v);
        vec_push(c->a, &c->t->at, tie);
        c->t->maker[v] = c->t->at.len - 1;
        value->constant = value->init;
        c->r->defaults++;
    }
}

static Conversion begin(Model *m, Arena *a, const ConvertOptions *o, ConvertReport *r)
{
    Conversion c = {.m = m, .a = a, .o = o, .r = r, .t = ties_of(m, a), .nnodes = m->nodes.len};
    tie_defaults(&c);
    uint32_t n = c.t->at.len + 1;
    c.facts = numbers_open(m, a);
    c.uses = c.facts->uses;
    c.own = NEWS(a, DType, n);
    c.group = NEWS(a, uint32_t, n);
    c.why = NEWS(a, Str, n);
    c.of = NEWS(a, ValueId, n);
    c.node = NEWS(a, NodeId, n);
    c.weight = NEWS(a, double, n);
    c.variable = NEWS(a, uint32_t, n);
    c.of_node = NEWS(a, uint32_t, m->nodes.len + 1u);
    c.value = NEWS(a, uint32_t, m->values.len + 1u);
    c.clamp = NEWS(a, bool, m->values.len + 1u);
    memset(c.of_node, 0xff, (m->nodes.len + 1u) * sizeof *c.of_node);
    memset(c.value, 0xff, (m->values.len + 1u) * sizeof *c.value);
    for (uint32_t i = 0; i < n; i++)
        c.group[i] = i;
    see_values(&c);
    join_ties(&c);
    find_loose(&c);
    c.makes = NEWS(a, bool, n);
    c.priced = NEWS(a, bool, n);
    for (ValueId v = 1; v < c.t->nvalues; v++)
        if (c.t->maker[v] != NO_TIE)
            c.makes[convert_group(&c, c.t->maker[v])] = true;
    return c;
}

// ---- the pass -----------------------------------------------------------------------------------

// Does the model's Cast know both dtypes?
static bool has_cast(const Model *m, const ConvertOptions *o)
{
    for (uint32_t i = 0; i < m->opsets.len; i++) {
        const OpsetImport *x = &m->opsets.at[i];
        const Schema *s =
            is_standard_domain(x->domain) ? schema_find(STR(""), STR("Cast"), x->version) : NULL;
        if (s && x->version >= 6)
            return o->in_memory || (s->outputs[0].types & bit(o->to)) != 0;
    }
    return false;
}

static bool refuse(Model *m, const ConvertOptions *o, Diags *diags)
{
    uint32_t from = 0;
    Conflict conflict;
    if (!has_cast(m, o)) {
        diag(diags, "", SEV_ERROR, STR("graph"),
             "Cast of the model's opset gives no %s: convert the model to a newer opset first",
             dtype_name(o->to));
        return true;
    }
    for (NodeId id = 1; id < m->nodes.len; id++) {
        if (node_at(m, id)->dead || !lint_conflict(m, id, &from, &conflict))
            continue;
        diag(diags, "", SEV_ERROR, location_node(m, diags->arena, id),
             "operands do not fit; see cameo lint, cameo lint --fix");
        return true;
    }
    return false;
}

bool convert_precision(Model *m, const ConvertOptions *o, Diags *diags, ConvertReport *r)
{
    *r = (ConvertReport){.weights_before = bytes_of_weights(m)};
    if (refuse(m, o, diags))
        return false;
    if (o->in_memory)
        convert_take_newer(m);
    Arena *scratch = arena_new();
    Conversion c = begin(m, scratch, o, r);
    convert_find_allowed(&c);
    convert_choose(&c);
    r->total = labels_total(c.l);
    r->bound = labels_bound(c.l);
    count_values(&c);
    count_nodes(&c);
    if (o->predict) {
        arena_free(scratch);
        return true;
    }
    convert_note_kept(&c);
    convert_rewrite(&c);
    arena_free(scratch);
    // What follows a dtype in ways that no tie says gets a Cast, and declarations what is computed.
    Repair rest = {.unsafe = true};
    infer_model(m, NULL);
    insert_casts(m, &rest);
    r->casts += rest.casts;
    r->weights_after = bytes_of_weights(m);
    return true;
}
