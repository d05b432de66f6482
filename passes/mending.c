// What a repair of dtypes may do, and what that costs: constants stored otherwise, Casts with
// another target, Casts inserted. The prices are those that insert_casts.c opens with.

#include "passes/mending.h"
#include "passes/adaptor.h"
#include "passes/retype.h"

// Does some user take nothing of the dtype that v has?
static bool is_required(const Mending *w, ValueId v, DType have)
{
    const Ties *t = w->t;
    for (uint32_t i = t->first_use[v]; i < t->first_use[v + 1]; i++)
        if (!(tie_at(w, t->uses.at[i].tie)->allowed & bit(have)))
            return true;
    return false;
}

static bool widens(DType from, DType to)
{
    return dtype_is_float(from) && dtype_is_float(to) &&
           dtype_info(to)->bits > dtype_info(from)->bits;
}

// One number that is the same number as t: no weight that would grow.
static bool is_literal(const Mending *w, ValueId v, DType t)
{
    TensorData *d = constant_data(w->m, v);
    return d && tensor_count(d) == 1 && constant_is_exact(w->m, d, t);
}

// Weights are not made wider than the model's own dtype.
static bool spoils_weights(const Mending *w, ValueId v, DType from, DType to)
{
    return widens(from, to) && to != w->m->dominant && w->m->dominant != DT_NONE &&
           !is_required(w, v, from);
}

static bool is_blamed(const Mending *w, ValueId v, DType t)
{
    return w->blamed[value_written(w->m, v)].want == t;
}

// By the declarations of what it makes, or because nothing else differs? Then no weight gets wider,
// but one that is foreign to the model anyway, if its numbers stay.
static bool is_belied(const Mending *w, ValueId v, DType from, DType t)
{
    const Blame *b = &w->blamed[value_written(w->m, v)];
    bool fits = !widens(from, t) || (from != w->m->dominant && dtype_holds(t, from));
    return is_blamed(w, v, t) && (b->declared || (b->alone && fits));
}

// What it costs to store a constant as t, 0 where that is not allowed.
static Cost price_of_retyping(const Mending *w, const Tie *c, DType t)
{
    TensorData *d = constant_data(w->m, c->value);
    bool required = is_required(w, c->value, c->own);
    bool numbers = (dtype_is_float(c->own) || dtype_is_integer(c->own)) &&
                   (dtype_is_float(t) || dtype_is_integer(t));
    bool away = (c->own == w->m->dominant && !required) || spoils_weights(w, c->value, c->own, t);
    if (!d || !numbers ||
        (away && !is_belied(w, c->value, c->own, t) && !is_literal(w, c->value, t)))
        return 0;
    bool free = required || is_blamed(w, c->value, t) || is_literal(w, c->value, t);
    if (w->strict && widens(t, c->own) && !free)
        return 0;
    if (constant_is_exact(w->m, d, t))
        return dtype_info(t)->bits > dtype_info(c->own)->bits ? PRICE_EXACT : PRICE_NARROW;
    bool floats = dtype_is_float(c->own) && dtype_is_float(t);
    return floats && w->r->unsafe ? PRICE_ROUNDED : 0;
}

// Is a number that a Cast from one dtype to another makes of the same truth as the number itself?
static bool keeps_truth(DType from, DType to)
{
    return dtype_is_integer(to) && (from == DT_BOOL || dtype_is_integer(from)) &&
           dtype_holds(to, from);
}

void mending_see_copies(Mending *w)
{
    const Model *m = w->m;
    DType *given = NEWS(w->a, DType, m->values.len);
    w->copies = NEWS(w->a, uint32_t, m->values.len);
    w->several = NEWS(w->a, bool, m->values.len);
    for (ValueId v = 1; v < m->values.len; v++)
        w->copies[value_written(m, v)] += value_written(m, v) != v;
    for (uint32_t i = 0; i < w->t->at.len; i++) {
        const Tie *tie = tie_at(w, i);
        const Node *n = tie->kind == TIE_CAST ? node_at(m, value_at(m, tie->value)->node) : NULL;
        ValueId written = n ? value_written(m, tie->value) : 0;
        DType d = n && n->nin && n->in[0] ? ties_dtype(m, n->in[0]) : DT_NONE;
        w->several[written] |= given[written] != DT_NONE && d != DT_NONE && given[written] != d;
        given[written] = d == DT_NONE ? given[written] : d;
    }
    w->several[0] = false;
}

// The tie of an operand of a node; NO_TIE: it has none.
static uint32_t tie_of_operand(const Ties *t, NodeId node, uint32_t index)
{
    ValueId v = node_at(t->m, node)->in[index];
    for (uint32_t k = t->first_use[v]; k < t->first_use[v + 1]; k++)
        if (t->uses.at[k].use.node == node && t->uses.at[k].use.index == index)
            return t->uses.at[k].tie;
    return NO_TIE;
}

void mending_heed_declared(Model *m, Ties *t, Arena *a)
{
    const DType *said = belied_scaled(m, a);
    for (uint32_t k = 0; k < t->uses.len; k++) {
        const TieUse *u = &t->uses.at[k];
        const Node *n = u->use.node && u->use.index == 0 ? node_at(m, u->use.node) : NULL;
        if (said[u->value] == DT_NONE || !n || !node_is(n, "QuantizeLinear") || n->nin < 2 ||
            !n->in[1] || value_at(m, n->in[1])->dtype != said[u->value])
            continue;
        uint32_t scale = tie_of_operand(t, u->use.node, 1);
        TypeSet one = bit(said[u->value]);
        if (scale == NO_TIE || scale == u->tie || !(t->at.at[u->tie].allowed & one))
            continue;
        t->at.at[u->tie].allowed = t->at.at[scale].allowed = one;
    }
}

// Does a call say by an attribute what the body's Cast gives? No other target stands in the body
// then.
static bool is_given_by_call(const Model *m, const Node *cast)
{
    const Attr *to = cast->copy_of ? attr_find(node_at(m, cast->copy_of), "to") : NULL;
    return to && to->ref.len;
}

// What it costs to give a Cast another target, 0 where that is not allowed.
static Cost price_of_target(const Mending *w, const Tie *c, DType t)
{
    const Node *n = node_at(w->m, value_at(w->m, c->value)->node);
    DType from = n->nin && n->in[0] ? ties_dtype(w->m, n->in[0]) : DT_NONE;
    bool alike = (dtype_is_float(c->own) && dtype_is_float(t)) ||
                 (dtype_is_integer(c->own) && dtype_is_integer(t)) ||
                 (t == DT_BOOL && keeps_truth(from, c->own));
    // What no Cast gives at the model's opset may have been meant: a later one gives it.
    bool foreign = !(c->allowed & bit(c->own));
    bool kept = (c->own == w->own || w->settled || foreign) && !is_blamed(w, c->value, t);
    // One target for all copies would round what some of them are given.
    bool exact = t == from && !w->several[value_written(w->m, c->value)];
    if (!alike || kept || is_given_by_call(w->m, n) || !(w->to & bit(t)) ||
        (!w->r->unsafe && !exact))
        return 0;
    return PRICE_TARGET;
}

// Does the tie count in integers, and in nothing else?
static bool is_counting(const Mending *w, uint32_t i)
{
    for (DType t = 1; t < DT_COUNT; t++)
        if ((w->seen[i] & bit(t)) && !dtype_is_integer(t))
            return false;
    return w->counts[i];
}

Cost mending_price_of_tie(const Mending *w, uint32_t i, DType t, TypeSet candidates)
{
    const Tie *tie = tie_at(w, i);
    if (tie->kind == TIE_CONSTANT || tie->kind == TIE_CAST) {
        if (t == tie->own)
            return 0;
        return tie->kind == TIE_CAST ? price_of_target(w, tie, t) : price_of_retyping(w, tie, t);
    }
    // A lone operand (of Cast, of Shape) takes what it is given, which is best left as it is.
    if (w->members[i] < 2 && tie->kind == TIE_NODE)
        return w->seen[i] & bit(t) ? 0 : PRICE_EXACT;
    if (tie->kind == TIE_NODE && is_counting(w, i))
        return dtype_is_integer(t) ? 0
                                   : PRICE_FOREIGN + (Cost)(w->scale * MOST_BYTES * w->weight[i]);
    if (t == w->own || !(candidates & bit(w->own)) || tie->kind == TIE_FIXED || w->members[i] < 2)
        return 0;
    return PRICE_FOREIGN + (Cost)(w->scale * 2 * w->weight[i] * dtype_info(t)->bytes);
}

bool mending_is_beyond(const Mending *w, uint32_t i, TypeSet candidates)
{
    const Tie *tie = tie_at(w, i);
    if (tie->kind != TIE_CAST || (tie->allowed & bit(tie->own)))
        return false;
    for (DType t = 1; t < DT_COUNT; t++)
        if ((tie->allowed & candidates & bit(t)) && price_of_target(w, tie, t))
            return false;
    return true;
}

// May a Cast of v serve whatever reads v? One in a call's copy, in that call alone.
static bool may_serve(const Mending *w, ValueId v, NodeId call)
{
    const Ties *t = w->t;
    if (!call || w->calls == CALLS_OPEN)
        return true;
    for (uint32_t k = t->first_use[v]; k < t->first_use[v + 1]; k++)
        if (!node_is_within(w->m, t->uses.at[k].use.node, call))
            return false;
    return w->calls == CALLS_WITHIN;
}

NodeId mending_cast_there(const Mending *w, ValueId v, DType t)
{
    const Ties *ties = w->t;
    for (uint32_t k = ties->first_use[v]; k < ties->first_use[v + 1]; k++) {
        NodeId id = ties->uses.at[k].use.node;
        const Node *n = id ? node_at(w->m, id) : NULL;
        if (!n || !node_is(n, "Cast") || n->nout == 0 || !n->out[0] ||
            n->graph != value_at(w->m, v)->graph || !may_serve(w, v, n->call))
            continue;
        uint32_t tie = ties->maker[n->out[0]];
        if (tie != NO_TIE && !w->apart[tie] && tie_at(w, tie)->kind == TIE_CAST &&
            tie_at(w, tie)->own == t)
            return id;
    }
    return 0;
}

// Would a Cast of a constant to integers give other numbers?
static bool truncates_constant(const Mending *w, ValueId v, DType from, DType t)
{
    TensorData *d = dtype_is_float(from) && dtype_is_integer(t) ? constant_data(w->m, v) : NULL;
    return d && !constant_is_exact(w->m, d, t);
}

Cost mending_price_of_cast(const Mending *w, ValueId v, DType from, DType t)
{
    if ((w->r->unsafe || dtype_holds(t, from)) && mending_cast_there(w, v, t))
        return PRICE_EXACT;
    ValueId written = value_written(w->m, v);
    if (w->alike && written != v && w->alike[written])
        return w->never;
    bool weight = tie_at(w, w->t->maker[v])->kind == TIE_CONSTANT;
    bool possible = (w->from & bit(from)) && (w->to & bit(t)) && from != DT_STRING &&
                    t != DT_STRING && dtype_info(from)->kind != KIND_COMPLEX &&
                    dtype_info(t)->kind != KIND_COMPLEX;
    if (!possible || (!w->r->unsafe && !dtype_holds(t, from)) ||
        (weight && (spoils_weights(w, v, from, t) || truncates_constant(w, v, from, t))))
        return w->never;
    double bytes = value_weight(w->m, v) * (dtype_info(from)->bytes + dtype_info(t)->bytes);
    return w->cast + (dtype_is_float(from) && !dtype_is_float(t) ? PRICE_ROUNDED : 0) +
           (Cost)(w->scale * bytes);
}
