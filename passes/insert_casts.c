// Gives everything that must have one dtype one dtype, with the fewest casts.
//
// 1. What must agree is a tie (passes/ties.h): an operator's type variable, a carried value. Ties
//    are the variables of a label problem (passes/solver/labels.h) whose labels are dtypes; each
//    value is made by one tie and used by others, and where their dtypes differ it takes a Cast,
//    one for each (value, dtype).
// 2. Only the parts of the model where something disagrees are looked at; there a tie may take any
//    dtype that it allows and that some value of the part has.
// 3. Prices, the first that differs decides:
//      what may not be mended (a narrowing where only what is safe may be done, weights made wider)
//      casts
//      bytes: of the casts, and of all that an operator reads and writes in another dtype than the
//        model's own, twice, so that an input is narrowed at the door; of integers that count
//        (passes/counted.h) where they become floats, so much that their result is cast
//      constants retyped: none for another dtype, few if every value is exact, more if not
//    A constant is retyped towards the model's dtype or its user's, never away from it, but for
//    what is to blame by the declarations of what it makes, and for a single number that stays
//    exact: it is written with whatever it is used with. A Cast's own target is changed before
//    another Cast is put behind it.
// 4. What could not be mended stays as it is, for lint to report. Results whose dtype follows an
//    operand's in ways that no type variable says are seen in another round.

#include "passes/insert_casts.h"
#include "ir/infer.h"
#include "passes/adaptor.h"
#include "passes/counted.h"
#include "passes/mending.h"
#include "passes/retype.h"

#include <string.h>

enum { MAX_ROUNDS = 4, NO_PART = UINT32_MAX };

static uint32_t root_of(Mending *w, uint32_t tie)
{
    while (w->parent[tie] != tie)
        tie = w->parent[tie] = w->parent[w->parent[tie]];
    return tie;
}

static bool may_choose(const Mending *w, uint32_t tie)
{
    return !is_one(tie_at(w, tie)->allowed) && !w->pinned[tie];
}

// ---- what disagrees, and with what it is connected ----------------------------------------------

// The part that a value belongs to: that of any tie of it that may choose.
static uint32_t part_of(Mending *w, ValueId v)
{
    const Ties *t = w->t;
    if (t->maker[v] == NO_TIE)
        return NO_PART;
    if (may_choose(w, t->maker[v]))
        return root_of(w, t->maker[v]);
    for (uint32_t i = t->first_use[v]; i < t->first_use[v + 1]; i++)
        if (may_choose(w, t->uses.at[i].tie))
            return root_of(w, t->uses.at[i].tie);
    return NO_PART;
}

static void see_values(Mending *w)
{
    const Ties *t = w->t;
    for (ValueId v = 1; v < t->nvalues; v++) {
        DType d = ties_dtype(w->m, v);
        double weight = t->maker[v] == NO_TIE ? 0 : value_weight(w->m, v);
        for (uint32_t i = t->first_use[v]; i < t->first_use[v + 1]; i++) {
            uint32_t tie = t->uses.at[i].tie;
            w->seen[tie] |= d == DT_NONE || t->maker[v] == NO_TIE ? 0 : bit(d);
            w->weight[tie] += weight;
            w->members[tie]++;
            w->counts[tie] |= w->counted[v];
        }
        if (t->maker[v] == NO_TIE)
            continue;
        w->weight[t->maker[v]] += weight;
        w->members[t->maker[v]]++;
        w->counts[t->maker[v]] |= w->counted[v];
    }
}

static void connect(Mending *w)
{
    const Ties *t = w->t;
    for (ValueId v = 1; v < t->nvalues; v++) {
        uint32_t part = part_of(w, v);
        if (part == NO_PART)
            continue;
        if (may_choose(w, t->maker[v]))
            w->parent[root_of(w, t->maker[v])] = root_of(w, part);
        for (uint32_t i = t->first_use[v]; i < t->first_use[v + 1]; i++)
            if (may_choose(w, t->uses.at[i].tie))
                w->parent[root_of(w, t->uses.at[i].tie)] = root_of(w, part);
    }
}

// The tie that decides with this one: a constant of a function's body, or the target of a Cast
// there, is one for all calls.
static uint32_t first_copy(const Mending *w, uint32_t i)
{
    const Tie *tie = tie_at(w, i);
    bool stored = tie->kind == TIE_CONSTANT || tie->kind == TIE_CAST;
    ValueId written = stored ? value_written(w->m, tie->value) : 0;
    bool alike = written && written != tie->value && !w->pinned[i] && w->copies[written] > 1;
    uint32_t first = alike ? w->first[written] : NO_TIE;
    if (alike && first == NO_TIE)
        w->first[written] = i;
    alike = first != NO_TIE && tie_at(w, first)->own == tie->own && may_choose(w, first);
    return alike ? first : i;
}

static void connect_copies(Mending *w)
{
    for (uint32_t i = 0; i < w->t->at.len; i++)
        if (may_choose(w, i) && first_copy(w, i) != i)
            w->parent[root_of(w, i)] = root_of(w, first_copy(w, i));
}

// The tie of the scale of what QuantizeLinear reads by tie i. They need not agree since opset 23,
// but not every runtime lets go: in what is mended they are of one dtype. NO_TIE: there is none, or
// it is of a float that a scale may be and what is scaled may not.
static uint32_t scale_of(Mending *w, const TieUse *u)
{
    const Node *n = u->use.node && u->use.index == 0 ? node_at(w->m, u->use.node) : NULL;
    if (!n || !node_is(n, "QuantizeLinear") || n->nin < 2 || !n->in[1] || !may_choose(w, u->tie))
        return NO_TIE;
    DType scale = ties_dtype(w->m, n->in[1]), scaled = ties_dtype(w->m, n->in[0]);
    bool floats = dtype_is_float(scale) && (scaled == DT_NONE || dtype_is_float(scaled));
    if (!floats)
        return NO_TIE;
    for (uint32_t k = w->t->first_use[n->in[1]]; k < w->t->first_use[n->in[1] + 1]; k++) {
        const TieUse *s = &w->t->uses.at[k];
        bool kept = tie_at(w, s->tie)->allowed & ~tie_at(w, u->tie)->allowed & bit(scale);
        if (s->use.node == u->use.node && s->use.index == 1 && s->tie != u->tie && !kept &&
            may_choose(w, s->tie))
            return s->tie;
    }
    return NO_TIE;
}

static void connect_scales(Mending *w)
{
    for (uint32_t k = 0; k < w->t->uses.len; k++) {
        const TieUse *u = &w->t->uses.at[k];
        uint32_t scale = scale_of(w, u);
        if (scale == NO_TIE)
            continue;
        w->scale_of[u->tie] = scale;
        tie_at(w, scale)->allowed &= tie_at(w, u->tie)->allowed;
        w->parent[root_of(w, u->tie)] = root_of(w, scale);
    }
}

// Does this use ask for what the value has not?
static bool is_fault(const Mending *w, const TieUse *u, DType have)
{
    TypeSet allowed = tie_at(w, u->tie)->allowed, seen = w->seen[u->tie];
    if (is_one(allowed))
        return have != DT_NONE && !(allowed & bit(have));
    return !is_one(seen) || (seen & ~allowed);
}

// Marks faulty parts and gathers their dtypes; is any?
static bool find_faults(Mending *w)
{
    const Ties *t = w->t;
    bool any = false;
    for (ValueId v = 1; v < t->nvalues; v++) {
        uint32_t part = part_of(w, v);
        DType d = ties_dtype(w->m, v);
        if (t->maker[v] == NO_TIE)
            continue;
        if (part != NO_PART && d != DT_NONE)
            w->candidates[part] |= bit(d);
        for (uint32_t i = t->first_use[v]; i < t->first_use[v + 1]; i++) {
            TypeSet allowed = tie_at(w, t->uses.at[i].tie)->allowed;
            bool fault = is_fault(w, &t->uses.at[i], d);
            any |= fault;
            if (part == NO_PART)
                continue;
            w->faulty[part] |= fault;
            w->candidates[part] |= is_one(allowed) ? allowed : 0;
        }
    }
    return any;
}

// A dtype for a tie that takes none of those that the part has.
static TypeSet fallback(const Mending *w, TypeSet allowed)
{
    const DType order[] = {w->own, DT_F32, DT_I64};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (allowed & bit(order[i]))
            return bit(order[i]);
    return allowed & (~allowed + 1);
}

static void add_fallbacks(Mending *w)
{
    for (uint32_t i = 0; i < w->t->at.len; i++) {
        TypeSet *candidates = &w->candidates[root_of(w, i)];
        if (may_choose(w, i) && w->faulty[root_of(w, i)] && !(*candidates & tie_at(w, i)->allowed))
            *candidates |= fallback(w, tie_at(w, i)->allowed);
    }
}

// What is tied to a Cast that neither gives its dtype nor may give another stays as it is.
static void leave_beyond(Mending *w)
{
    for (uint32_t i = 0; i < w->t->at.len; i++)
        if (may_choose(w, i) && mending_is_beyond(w, i, w->candidates[root_of(w, i)]))
            w->faulty[root_of(w, i)] = false;
}

// ---- the label problem --------------------------------------------------------------------------

static bool in_problem(Mending *w, ValueId v)
{
    const Ties *t = w->t;
    uint32_t part = part_of(w, v);
    if (t->maker[v] == NO_TIE || t->first_use[v] == t->first_use[v + 1])
        return false;
    if (part != NO_PART)
        return w->faulty[part];
    for (uint32_t i = t->first_use[v]; i < t->first_use[v + 1]; i++)
        if (!(tie_at(w, t->uses.at[i].tie)->allowed & tie_at(w, t->maker[v])->allowed))
            return true;
    return false;
}

// What a tie outside of any part has.
static TypeSet decided(const Mending *w, uint32_t i)
{
    const Tie *tie = tie_at(w, i);
    return w->pinned[i] ? bit(tie->own) : is_one(tie->allowed) ? tie->allowed : 0;
}

static void number_dtypes(Mending *w)
{
    const Ties *t = w->t;
    uint32_t n = 0;
    for (ValueId v = 1; v < t->nvalues; v++) {
        if (!in_problem(w, v))
            continue;
        uint32_t part = part_of(w, v);
        w->dtypes |= decided(w, t->maker[v]) | (part == NO_PART ? 0 : w->candidates[part]);
        for (uint32_t i = t->first_use[v]; i < t->first_use[v + 1]; i++)
            w->dtypes |= decided(w, t->uses.at[i].tie);
    }
    for (DType d = 1; d < DT_COUNT; d++)
        if (w->dtypes & bit(d)) {
            w->dtype[n] = d;
            w->label[d] = (uint8_t)n++;
        }
    w->l = labels_new(w->a, n);
}

static void set_prices(Mending *w)
{
    double bytes = 1;
    uint32_t n = 0;
    for (ValueId v = 1; v < w->t->nvalues; v++) {
        uint32_t part = part_of(w, v), uses = w->t->first_use[v + 1] - w->t->first_use[v];
        if (!in_problem(w, v) && (part == NO_PART || !w->faulty[part]))
            continue;
        n += 1 + uses;
        // At most a cast for each use, and twice what each tie around it reads and writes.
        bytes += value_weight(w->m, v) * MOST_BYTES * (1 + 1.0 * uses);
    }
    Cost most = (Cost)1 << 46;
    w->scale = FINE / bytes;
    w->cast = 2 * (FINE + (Cost)PRICE_MOST * (n + 1)); // more than twice all that is finer
    w->never = w->cast * (n + 1) < most ? w->cast * (n + 1) : most;
}

static uint32_t variable_of(Mending *w, uint32_t i)
{
    if (w->variable[i] != NO_TIE)
        return w->variable[i];
    uint32_t first = w->scale_of[i] != NO_TIE ? w->scale_of[i] : first_copy(w, i);
    if (first != i)
        return w->variable[i] = variable_of(w, first);
    const Tie *tie = tie_at(w, i);
    TypeSet allowed = tie->allowed, candidates = w->candidates[root_of(w, i)];
    LabelSet labels = 0;
    if (w->pinned[i])
        allowed = bit(tie->own);
    else if (!is_one(allowed))
        allowed &= candidates;
    for (DType t = 1; t < DT_COUNT; t++)
        if ((tie->kind == TIE_CONSTANT || tie->kind == TIE_CAST) && (allowed & bit(t)) &&
            t != tie->own && mending_price_of_tie(w, i, t, candidates) == 0)
            allowed &= ~bit(t);
    for (DType t = 1; t < DT_COUNT; t++)
        labels |= allowed & bit(t) ? (LabelSet)1 << w->label[t] : 0;
    w->variable[i] = labels_variable(w->l, labels);
    for (DType t = 1; t < DT_COUNT; t++)
        if (allowed & bit(t))
            labels_price(w->l, w->variable[i], w->label[t],
                         mending_price_of_tie(w, i, t, candidates));
    return w->variable[i];
}

// What a value is cast from where k is asked for: what it has, or else may come to have.
static DType cast_from(Mending *w, ValueId v, DType k)
{
    uint32_t maker = w->t->maker[v];
    DType have = ties_dtype(w->m, v);
    TypeSet others = tie_at(w, maker)->allowed & w->candidates[root_of(w, maker)] & ~bit(k);
    if ((have == k || have == DT_NONE) && others)
        return (DType)__builtin_ctzll(others);
    return have;
}

static void pose(Mending *w)
{
    const Ties *t = w->t;
    for (ValueId v = 1; v < t->nvalues; v++) {
        if (!in_problem(w, v))
            continue;
        TypeSet asked = 0;
        w->value[v] = labels_value(w->l, variable_of(w, t->maker[v]));
        for (uint32_t i = t->first_use[v]; i < t->first_use[v + 1]; i++) {
            uint32_t user = t->uses.at[i].tie;
            TypeSet allowed = tie_at(w, user)->allowed;
            asked |= is_one(allowed) ? allowed : allowed & w->candidates[root_of(w, user)];
            labels_use(w->l, w->value[v], variable_of(w, user));
        }
        for (DType k = 1; k < DT_COUNT; k++)
            if (asked & bit(k))
                labels_adaptor(w->l, w->value[v], w->label[k],
                               mending_price_of_cast(w, v, cast_from(w, v, k), k));
    }
}

// ---- what was chosen ----------------------------------------------------------------------------

static DType chosen(const Mending *w, uint32_t tie)
{
    return w->dtype[labels_of(w->l, w->variable[tie])];
}

static bool apply_sources(Mending *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->t->at.len; i++) {
        const Tie *tie = tie_at(w, i);
        if (w->variable[i] == NO_TIE || chosen(w, i) == tie->own)
            continue;
        bool constant = tie->kind == TIE_CONSTANT;
        if (constant && constant_retype(w->m, tie->value, chosen(w, i))) {
            w->r->retyped++;
            any = true;
        } else if (tie->kind == TIE_CAST) {
            NodeId cast = value_at(w->m, tie->value)->node;
            node_set_int(w->m, cast, "to", chosen(w, i));
            vec_push(w->a, &w->retargeted, cast);
            w->r->retargeted++;
            any = true;
        }
    }
    return any;
}

// An existing Cast serves unless that would give the model's output another Cast's name.
static bool share_cast(Mending *w, Builder *a, ValueId v, DType t, const Use *uses, uint32_t n)
{
    NodeId there = mending_cast_there(w, v, t);
    for (uint32_t i = 0; i < n; i++)
        there = uses[i].node || uses[i].graph != w->m->main ? there : 0;
    if (there)
        adaptor_redirect(a, v, node_at(w->m, there)->out[0], uses, n);
    return there != 0;
}

static void forget_info(Graph *g, ValueId v)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->infos.len; i++)
        if (g->infos.at[i].value != v)
            g->infos.at[n++] = g->infos.at[i];
    g->infos.len = n;
}

static void cast_value(Mending *w, Builder *a, ValueId v, DType t, const Use *uses, uint32_t n)
{
    if (share_cast(w, a, v, t, uses, n))
        return;
    Str name = str_escaped(w->m->arena, value_at(w->m, v)->name);
    DType from = chosen(w, w->t->maker[v]);
    NodeId cast = adaptor_insert(a, v, "Cast", dtype_info(t)->abbrev, uses, n);
    node_set_int(w->m, cast, "to", t);
    node_at(w->m, cast)->reason =
        str_printf(w->m->arena, "inserted: %.*s is %s", STR_ARG(name), dtype_name(from));
    w->r->casts++;
}

static bool apply_casts(Mending *w)
{
    const Ties *t = w->t;
    Builder a = builder_of(w->m, w->a);
    bool any = false;
    for (ValueId v = 1; v < t->nvalues; v++) {
        if (w->value[v] == NO_TIE)
            continue;
        uint32_t first = t->first_use[v], n = t->first_use[v + 1] - first;
        Use *uses = NEWS(w->a, Use, n);
        DType own = chosen(w, t->maker[v]);
        for (DType k = 1; k < DT_COUNT; k++) {
            uint32_t count = 0;
            NodeId there = mending_cast_there(w, v, k);
            for (uint32_t i = 0; i < n; i++)
                if (k != own && chosen(w, t->uses.at[first + i].tie) == k &&
                    (!there || t->uses.at[first + i].use.node != there))
                    uses[count++] = t->uses.at[first + i].use;
            if (count == 0)
                continue;
            if (mending_price_of_cast(w, v, own, k) >= w->never) {
                w->skipped |= mending_price_of_cast(w, v, cast_from(w, v, k), k) < w->never;
                continue;
            }
            cast_value(w, &a, v, k, uses, count);
            any = true;
        }
    }
    return any;
}

// Casts that now give what they are given go, but for those that make an output of the model or
// the result of a call, which could not stand without.
static void drop_casts(Mending *w)
{
    Model *m = w->m;
    Uses uses = w->retargeted.len ? uses_of(m, w->a) : (Uses){0};
    for (uint32_t i = 0; i < w->retargeted.len; i++) {
        const Node *n = node_at(m, w->retargeted.at[i]);
        ValueId from = n->in[0], to = n->out[0];
        uint32_t tie = from < w->t->nvalues ? w->t->maker[from] : NO_TIE;
        bool known = tie != NO_TIE && w->variable[tie] != NO_TIE;
        bool keeps = (known ? chosen(w, tie) : ties_dtype(m, from)) != chosen(w, w->t->maker[to]);
        keeps |= value_leaves_call(m, to);
        for (uint32_t k = uses.first[to]; k < uses.first[to + 1]; k++)
            keeps |= !uses.uses[k].node && uses.uses[k].graph == m->main;
        if (keeps)
            continue;
        for (uint32_t k = uses.first[to]; k < uses.first[to + 1]; k++) {
            const Use *u = &uses.uses[k];
            if (u->node)
                node_at(m, u->node)->in[u->index] = from;
            else
                graph_at(m, u->graph)->outputs.at[u->index].value = from;
        }
        graph_remove(m, w->retargeted.at[i]);
        forget_info(graph_at(m, value_at(m, to)->graph), to);
    }
}

// ---- rounds -------------------------------------------------------------------------------------

static void find_cast_types(Mending *w)
{
    for (uint32_t i = 0; i < w->m->opsets.len; i++) {
        const OpsetImport *o = &w->m->opsets.at[i];
        const Schema *s =
            is_standard_domain(o->domain) ? schema_find(STR(""), STR("Cast"), o->version) : NULL;
        if (!s || o->version < 6) // before that the target is a name
            continue;
        w->from = s->inputs[0].types;
        w->to = s->outputs[0].types;
    }
}

static uint32_t *numbers(Arena *a, uint32_t n)
{
    uint32_t *at = NEWS(a, uint32_t, n);
    memset(at, 0xff, n * sizeof *at);
    return at;
}

// The problem of a model, whose ties and blame are known, with nothing decided.
static Mending begin(const Mending *of, const bool *pinned, const bool *apart)
{
    Model *m = of->m;
    Arena *a = of->a;
    Ties *t = of->t;
    uint32_t n = t->at.len + 1;
    Mending w = {.m = m, .a = a, .r = of->r, .t = t, .pinned = pinned, .apart = apart};
    w.blamed = of->blamed;
    w.counted = of->counted;
    w.strict = of->strict;
    w.settled = of->settled;
    w.calls = of->calls;
    w.alike = of->alike;
    w.parent = NEWS(a, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        w.parent[i] = i;
    w.candidates = NEWS(a, TypeSet, n);
    w.seen = NEWS(a, TypeSet, n);
    w.first = numbers(a, m->values.len);
    mending_see_copies(&w);
    w.faulty = NEWS(a, bool, n);
    w.weight = NEWS(a, double, n);
    w.scale_of = numbers(a, n);
    w.counts = NEWS(a, bool, n);
    w.members = NEWS(a, uint32_t, n);
    w.variable = numbers(a, n);
    w.value = numbers(a, t->nvalues);
    w.own = m->dominant == DT_NONE ? DT_F32 : m->dominant;
    find_cast_types(&w);
    return w;
}

// The least number of casts, from what no choice costs less than. What cannot be mended counts for
// none; where less of it might do, nothing is known.
static uint32_t least_casts(const Mending *w)
{
    Cost bound = labels_bound(w->l), rest = bound % w->never;
    if (bound / w->never != labels_total(w->l) / w->never)
        return 0;
    return (uint32_t)(rest / w->cast) + (rest % w->cast > w->cast / 2);
}

// How many Casts the choice takes; what cannot be mended counts for more than any.
static uint32_t casts_of(const Mending *w)
{
    Cost total = labels_total(w->l), casts = total % w->never / w->cast;
    return (uint32_t)(casts + (total / w->never) * (w->never / w->cast));
}

// Poses the problem and solves it; false: nothing is at fault.
static bool solve(Mending *w)
{
    see_values(w);
    connect(w);
    connect_copies(w);
    connect_scales(w);
    if (!find_faults(w))
        return false;
    w->blamed = w->blamed ? w->blamed : lint_blamed(w->m, w->a);
    add_fallbacks(w);
    leave_beyond(w);
    number_dtypes(w);
    set_prices(w);
    pose(w);
    labels_solve(w->l);
    return true;
}

// Does the choice make use of a Cast that it gives another target? Marks those Casts.
static bool mark_misused(const Mending *w, bool *casts)
{
    const Ties *t = w->t;
    bool any = false;
    for (ValueId v = 1; v < t->nvalues; v++) {
        for (uint32_t i = t->first_use[v]; w->value[v] != NO_TIE && i < t->first_use[v + 1]; i++) {
            DType k = chosen(w, t->uses.at[i].tie);
            NodeId there = k == chosen(w, t->maker[v]) ? 0 : mending_cast_there(w, v, k);
            if (!there || there == t->uses.at[i].use.node)
                continue;
            uint32_t tie = t->maker[node_at(w->m, there)->out[0]];
            bool misused = w->variable[tie] != NO_TIE && chosen(w, tie) != k;
            casts[tie] |= misused;
            any |= misused;
        }
    }
    return any;
}

// A Cast may serve other uses of its operand only with the target that it has, and may be given
// another only if none does. Both at once is no choice but costs no more than any: the bound. Casts
// of which both was made keep their target, or serve nobody else, whichever costs less.
static bool choose(Mending *best, const Mending *of, uint32_t *bound)
{
    const Ties *t = of->t;
    Arena *a = of->a;
    bool *none = NEWS(a, bool, t->at.len + 1), *kept = NEWS(a, bool, t->at.len + 1);
    bool *apart = NEWS(a, bool, t->at.len + 1);
    *best = begin(of, none, none);
    if (!solve(best))
        return false;
    *bound = least_casts(best);
    if (!mark_misused(best, kept))
        return true;
    Mending keeps = begin(best, kept, none), alone;
    memcpy(apart, kept, t->at.len * sizeof *apart);
    bool fits = false;
    for (int tries = 0; !fits && tries < MAX_ROUNDS; tries++) {
        keeps = begin(best, kept, none);
        fits = solve(&keeps) && !mark_misused(&keeps, kept);
    }
    for (int tries = 0; tries < MAX_ROUNDS; tries++) {
        alone = begin(best, none, apart);
        if (!solve(&alone) || !mark_misused(&alone, apart))
            break;
    }
    uint32_t with = fits ? casts_of(&keeps) : UINT32_MAX, without = casts_of(&alone);
    *best = with <= without ? keeps : alone;
    return true;
}

// Does the choice give a Cast another target though nothing blames it?
static bool turns_others(const Mending *w)
{
    for (uint32_t i = 0; i < w->t->at.len; i++) {
        const Tie *tie = tie_at(w, i);
        if (tie->kind == TIE_CAST && w->variable[i] != NO_TIE && chosen(w, i) != tie->own &&
            w->blamed[value_written(w->m, tie->value)].want != chosen(w, i))
            return true;
    }
    return false;
}

// Does the choice leave a Cast idle that gives a call's result? It stays, to do nothing.
static bool idles_results(const Mending *w)
{
    for (uint32_t i = 0; i < w->t->at.len; i++) {
        const Tie *tie = tie_at(w, i);
        if (tie->kind != TIE_CAST || w->variable[i] == NO_TIE || chosen(w, i) == tie->own)
            continue;
        const Node *cast = node_at(w->m, value_at(w->m, tie->value)->node);
        const Node *call = cast->call ? node_at(w->m, cast->call) : NULL;
        uint32_t from = w->t->maker[cast->in[0]];
        DType given = from != NO_TIE && w->variable[from] != NO_TIE ? chosen(w, from)
                                                                    : ties_dtype(w->m, cast->in[0]);
        for (uint32_t o = 0; call && given == chosen(w, i) && o < call->nout; o++)
            if (call->out[o] == tie->value)
                return true;
    }
    return false;
}

// Does the choice make use of a Cast of a body, so that its call could not stand as it is? outside:
// only for what is not in that body.
static bool shares_in_calls(const Mending *w, bool outside)
{
    const Ties *t = w->t;
    for (ValueId v = 1; v < t->nvalues; v++)
        for (uint32_t i = t->first_use[v]; w->value[v] != NO_TIE && i < t->first_use[v + 1]; i++) {
            DType k = chosen(w, t->uses.at[i].tie);
            NodeId reader = t->uses.at[i].use.node;
            NodeId there = k == chosen(w, t->maker[v]) ? 0 : mending_cast_there(w, v, k);
            NodeId call = there && there != reader ? node_at(w->m, there)->call : 0;
            if (call && !(outside && node_is_within(w->m, reader, call)))
                return true;
        }
    return false;
}

// To which dtypes the body of its call reads v through Casts.
static TypeSet cast_within(const Mending *w, ValueId v)
{
    const Ties *t = w->t;
    const Value *value = value_at(w->m, v);
    NodeId call = value->def == DEF_NODE ? node_at(w->m, value->node)->call : 0;
    TypeSet to = 0;
    for (uint32_t i = t->first_use[v]; i < t->first_use[v + 1]; i++)
        if (node_is_within(w->m, t->uses.at[i].use.node, call))
            to |= bit(chosen(w, t->uses.at[i].tie));
    return to & ~bit(chosen(w, t->maker[v]));
}

// Marks values of bodies whose copies are not all cast alike: no body could say that.
static bool mark_uneven(const Mending *w, bool *values)
{
    uint32_t *first = numbers(w->a, w->m->values.len);
    bool any = false;
    for (ValueId v = 1; v < w->t->nvalues; v++) {
        ValueId written = value_written(w->m, v);
        if (written == v || w->value[v] == NO_TIE || w->copies[written] < 2)
            continue;
        if (first[written] == NO_TIE)
            first[written] = v;
        if (values[written] || cast_within(w, v) == cast_within(w, first[written]))
            continue;
        any = values[written] = true;
    }
    return any;
}

static bool leaves_no_more(const Mending *w, const Mending *than)
{
    return labels_total(w->l) / w->never <= labels_total(than->l) / than->never;
}

// Chooses so that calls can be put back, if as much is mended then, whatever that costs in Casts:
// a call that is left written out is a greater change. *bound is below other choices too.
static bool choose_in_calls(Mending *best, Mending *of, uint32_t *bound)
{
    Mending other;
    uint32_t ignored = 0;
    bool *uneven = NEWS(of->a, bool, of->m->values.len);
    if (!choose(best, of, bound))
        return false;
    of->calls = CALLS_WITHIN;
    if (shares_in_calls(best, true) && choose(&other, of, &ignored) && leaves_no_more(&other, best))
        *best = other;
    of->calls = best->calls;
    of->alike = uneven;
    for (int round = 0; round < MAX_ROUNDS && mark_uneven(best, uneven); round++)
        if (choose(&other, of, &ignored) && leaves_no_more(&other, best))
            *best = other;
    of->calls = CALLS_OPEN;
    of->alike = NULL;
    return true;
}

// Where what is to blame mends all, no other Cast is given another target; nor where as few Casts
// do without and a call's result would be cast for nothing. Of constants that one is narrowed which
// is to blame; others too where that is allowed, to compute in fewer bits, and saves a Cast.
static bool choose_blamed(Mending *best, Model *m, Arena *a, Repair *r, uint32_t *bound)
{
    Mending of = {.m = m, .a = a, .r = r, .t = ties_of(m, a), .strict = true}, settled, whole,
            freely;
    uint32_t ignored = 0;
    of.counted = counted_values(of.t, a);
    mending_heed_declared(m, of.t, a);
    if (!choose_in_calls(best, &of, bound))
        return false;
    of.blamed = best->blamed;
    of.settled = true;
    if (turns_others(best) && choose_in_calls(&settled, &of, &ignored) &&
        casts_of(&settled) <= (idles_results(best) ? casts_of(best) : 0))
        *best = settled;
    of.settled = false;
    of.calls = CALLS_NONE;
    if (shares_in_calls(best, false) && choose(&whole, &of, &ignored) &&
        casts_of(&whole) <= casts_of(best))
        *best = whole;
    of.calls = CALLS_OPEN;
    if (!r->unsafe)
        return true;
    of.strict = false;
    if (choose_in_calls(&freely, &of, bound) && casts_of(&freely) < casts_of(best))
        *best = freely;
    return true;
}

// Mends what one solution mends; did anything change?
static bool mend(Model *m, Repair *r, uint32_t round)
{
    Arena *scratch = arena_new();
    Mending w;
    uint32_t bound = 0;
    bool any = false;
    if (choose_blamed(&w, m, scratch, r, &bound)) {
        any = apply_sources(&w);
        any |= apply_casts(&w);
        drop_casts(&w);
        if (round == 0 && !w.skipped)
            r->lower_bound += bound;
    }
    arena_free(scratch);
    return any;
}

bool insert_casts(Model *m, Repair *r)
{
    bool any, again = true;
    infer_model(m, NULL);
    any = give_zero_points(m, r);
    if (any)
        infer_model(m, NULL);
    for (uint32_t round = 0; again && round < MAX_ROUNDS; round++) {
        again = mend(m, r, round);
        if (again) {
            Arena *scratch = arena_new();
            repair_sort(m, scratch); // a Cast that is shared may stand behind its new users
            arena_free(scratch);
            infer_model(m, NULL);
        }
        any |= again;
    }
    if (retype_belied(m, r)) {
        any = true;
        infer_model(m, NULL);
    }
    if (declare_types(m, r->unsafe)) {
        any = true;
        infer_model(m, NULL);
    }
    return any;
}
