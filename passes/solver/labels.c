// Choosing labels by minimum cuts.
//
// 1. Every cut here decides between two labels for each variable: label `low` keeps it on the
//    source's side, label `high` takes it to the sink's.
// 2. An adaptor of value v to label l is shared by a vertex of its own, one for each (v, l):
//    maker -> shared at its price, shared -> each user without end, where l is the high label. A
//    user that is high pulls the shared vertex along, and the maker's arc is then cut unless it is
//    high too. Where l is the low label the same, mirrored.
// 3. The total is a sum over labels l of terms that only ask "is it l?" of each variable. So one
//    cut for each label, free of the others, gives a lower bound in sum; a multiplier on each
//    variable, raised where several labels claim it and lowered where none does, makes it the best
//    that way (the bound of the linear relaxation).

#include "passes/solver/labels.h"

// Arcs that one solve may look at: a second or two. Beyond it what has been found so far stands.
enum { MAX_WORK = 200000000, MAX_SWEEPS = 20, MAX_MULTIPLIER_STEPS = 80, NONE = 255 };

typedef struct Variable {
    LabelSet allowed;
    uint32_t part; // which part of the problem, of those that are not decided; 0: decided
    uint8_t label, low, high;
    uint32_t vertex; // in the cut at hand, 0: none
    Cost multiplier;
} Variable;

typedef struct ValueOf {
    uint32_t maker, part;
    VEC(uint32_t) users;
} ValueOf;

typedef VEC(uint32_t) Ids;

struct Labels {
    Arena *arena;
    uint32_t nlabels;
    bool ordered;
    VEC(Variable) variables;
    VEC(ValueOf) values;
    VEC(Cost) prices, adaptors; // [id * nlabels + label]
    uint32_t nparts;
    Ids *part_variables, *part_values; // by part
    Cost bound;
    uint32_t shift; // multipliers, and prices beside them, count in units of 2^-shift
    int64_t work;
};

// ---- the problem --------------------------------------------------------------------------------

Labels *labels_new(Arena *a, uint32_t nlabels)
{
    Labels *l = NEW(a, Labels);
    l->arena = a;
    l->nlabels = nlabels;
    l->work = MAX_WORK;
    return l;
}

void labels_in_order(Labels *l)
{
    l->ordered = true;
}

uint32_t labels_variable(Labels *l, LabelSet allowed)
{
    Variable v = {.allowed = allowed};
    vec_push(l->arena, &l->variables, v);
    for (uint32_t k = 0; k < l->nlabels; k++)
        vec_push(l->arena, &l->prices, 0);
    return l->variables.len - 1;
}

void labels_price(Labels *l, uint32_t variable, uint32_t label, Cost price)
{
    l->prices.at[(size_t)variable * l->nlabels + label] = price;
}

uint32_t labels_value(Labels *l, uint32_t maker)
{
    ValueOf v = {.maker = maker};
    vec_push(l->arena, &l->values, v);
    for (uint32_t k = 0; k < l->nlabels; k++)
        vec_push(l->arena, &l->adaptors, 0);
    return l->values.len - 1;
}

void labels_adaptor(Labels *l, uint32_t value, uint32_t label, Cost price)
{
    l->adaptors.at[(size_t)value * l->nlabels + label] = price;
}

void labels_use(Labels *l, uint32_t value, uint32_t user)
{
    vec_push(l->arena, &l->values.at[value].users, user);
}

uint32_t labels_of(const Labels *l, uint32_t variable)
{
    return l->variables.at[variable].label;
}

static Cost price_of(const Labels *l, uint32_t variable, uint32_t label)
{
    return l->prices.at[(size_t)variable * l->nlabels + label];
}

static Cost adaptor_of(const Labels *l, uint32_t value, uint32_t label)
{
    return l->adaptors.at[(size_t)value * l->nlabels + label];
}

// What a value's adaptors cost under the labels that its maker and users have now.
static Cost value_cost(const Labels *l, uint32_t id)
{
    const ValueOf *v = &l->values.at[id];
    LabelSet asked = 0, paid = 0;
    uint32_t own = l->variables.at[v->maker].label;
    Cost cost = 0;
    for (uint32_t i = 0; i < v->users.len; i++)
        asked |= (LabelSet)1 << l->variables.at[v->users.at[i]].label;
    for (uint32_t k = 0; k < l->nlabels; k++) {
        if (!(asked >> k & 1) || k == own)
            continue;
        for (uint32_t step = k; step != own; step += step < own ? 1u : UINT32_MAX) {
            if (!(paid >> step & 1))
                cost += adaptor_of(l, id, step);
            paid |= (LabelSet)1 << step;
            if (!l->ordered)
                break;
        }
    }
    return cost;
}

static Cost cost_of(const Labels *l, const Ids *variables, const Ids *values)
{
    Cost cost = 0;
    for (uint32_t i = 0; i < variables->len; i++)
        cost += price_of(l, variables->at[i], l->variables.at[variables->at[i]].label);
    for (uint32_t i = 0; i < values->len; i++)
        cost += value_cost(l, values->at[i]);
    return cost;
}

Cost labels_total(const Labels *l)
{
    Cost cost = 0;
    for (uint32_t p = 0; p <= l->nparts; p++)
        cost += cost_of(l, &l->part_variables[p], &l->part_values[p]);
    return cost;
}

Cost labels_bound(const Labels *l)
{
    return l->bound;
}

// ---- parts --------------------------------------------------------------------------------------

static uint32_t root_of(uint32_t *parent, uint32_t v)
{
    while (parent[v] != v)
        v = parent[v] = parent[parent[v]];
    return v;
}

static bool is_decided(const Variable *v)
{
    return (v->allowed & (v->allowed - 1)) == 0;
}

static void join(Labels *l, uint32_t *parent, uint32_t *last, uint32_t v)
{
    if (is_decided(&l->variables.at[v]))
        return;
    uint32_t root = root_of(parent, v);
    if (*last != UINT32_MAX)
        parent[root] = root_of(parent, *last);
    *last = v;
}

// Undecided variables that meet at a value belong together; part 0 holds what is decided.
static void find_parts(Labels *l)
{
    uint32_t n = l->variables.len, *parent = NEWS(l->arena, uint32_t, n + 1u);
    for (uint32_t v = 0; v < n; v++)
        parent[v] = v;
    for (uint32_t id = 0; id < l->values.len; id++) {
        uint32_t last = UINT32_MAX;
        join(l, parent, &last, l->values.at[id].maker);
        for (uint32_t i = 0; i < l->values.at[id].users.len; i++)
            join(l, parent, &last, l->values.at[id].users.at[i]);
        l->values.at[id].part = last; // a variable of it, until parts have numbers
    }
    for (uint32_t v = 0; v < n; v++) {
        uint32_t root = root_of(parent, v);
        if (!is_decided(&l->variables.at[v]) && !l->variables.at[root].part)
            l->variables.at[root].part = ++l->nparts;
    }
    l->part_variables = NEWS(l->arena, Ids, l->nparts + 1u);
    l->part_values = NEWS(l->arena, Ids, l->nparts + 1u);
    for (uint32_t v = 0; v < n; v++) {
        if (!is_decided(&l->variables.at[v]))
            l->variables.at[v].part = l->variables.at[root_of(parent, v)].part;
        vec_push(l->arena, &l->part_variables[l->variables.at[v].part], v);
    }
    for (uint32_t id = 0; id < l->values.len; id++) {
        ValueOf *v = &l->values.at[id];
        v->part = v->part == UINT32_MAX ? 0 : l->variables.at[v->part].part;
        vec_push(l->arena, &l->part_values[v->part], id);
    }
}

// ---- one cut: each variable its low label or its high one ---------------------------------------

// The term of (value, label): its adaptor, if some user has the label and the maker does not.
static Cost add_term(Labels *l, Cut *cut, uint32_t id, uint32_t label, uint32_t shift)
{
    const ValueOf *v = &l->values.at[id];
    const Variable *maker = &l->variables.at[v->maker];
    Cost price = adaptor_of(l, id, label) << shift;
    bool always = false, sometimes = false, rises = false;
    for (uint32_t i = 0; i < v->users.len; i++) {
        const Variable *u = &l->variables.at[v->users.at[i]];
        always |= u->low == label && u->high == label;
        sometimes |= (u->low == label) != (u->high == label);
        rises |= u->high == label && u->low != label;
    }
    if (price == 0 || (!always && !sometimes) || (maker->low == label && maker->high == label))
        return 0;
    bool free = (maker->low == label) != (maker->high == label);
    // rises: only high users ask. Where all users always do, the maker alone says which way.
    if (!sometimes || always) {
        if (!free)
            return price;
        bool high = maker->high == label;
        cut_arc(cut, high ? maker->vertex : CUT_SOURCE, high ? CUT_SINK : maker->vertex, price);
        return 0;
    }
    uint32_t shared = cut_vertex(cut);
    if (rises)
        cut_arc(cut, free ? maker->vertex : CUT_SOURCE, shared, price);
    else
        cut_arc(cut, shared, free ? maker->vertex : CUT_SINK, price);
    for (uint32_t i = 0; i < v->users.len; i++) {
        const Variable *u = &l->variables.at[v->users.at[i]];
        if ((u->low == label) != (u->high == label))
            cut_arc(cut, rises ? shared : u->vertex, rises ? u->vertex : shared, COST_NEVER);
    }
    return 0;
}

static Cost price_or_none(const Labels *l, uint32_t variable, uint32_t label)
{
    return label == NONE ? 0 : price_of(l, variable, label);
}

// Solves for one part between low and high labels, for the labels of `only`. `claim`: the label
// whose multipliers count, or NONE. false: too much work. *least: the value of the least cut with
// all that does not depend on it. Afterwards `label` is low or high where `take` is set.
static bool solve_cut(Labels *l, uint32_t part, LabelSet only, uint32_t claim, Cost *least,
                      bool take)
{
    const Ids *variables = &l->part_variables[part], *values = &l->part_values[part];
    Arena *scratch = arena_new();
    Cut *cut = cut_new(scratch);
    Cost fixed = 0, flow = 0;
    uint32_t shift = claim == NONE ? 0 : l->shift;
    for (uint32_t i = 0; i < variables->len; i++) {
        uint32_t id = variables->at[i];
        Variable *v = &l->variables.at[id];
        Cost low = price_or_none(l, id, v->low) << shift;
        Cost high = price_or_none(l, id, v->high) << shift;
        if (claim != NONE && v->low == claim)
            low += v->multiplier;
        if (claim != NONE && v->high == claim)
            high += v->multiplier;
        fixed += low < high ? low : high;
        v->vertex = 0;
        if (v->low == v->high)
            continue;
        v->vertex = cut_vertex(cut);
        cut_arc(cut, v->vertex, CUT_SINK, low - high);
        cut_arc(cut, CUT_SOURCE, v->vertex, high - low);
    }
    for (uint32_t i = 0; i < values->len; i++)
        for (uint32_t k = 0; k < l->nlabels; k++)
            if (only >> k & 1)
                fixed += add_term(l, cut, values->at[i], k, shift);
    bool done = cut_solve(cut, &flow, &l->work);
    *least = fixed + flow;
    for (uint32_t i = 0; done && take && i < variables->len; i++) {
        Variable *v = &l->variables.at[variables->at[i]];
        bool high = v->vertex && cut_is_sink_side(cut, v->vertex);
        v->label = high ? v->high : v->low;
    }
    arena_free(scratch);
    return done;
}

// Decided neighbours of a part say their label either way.
static void settle_decided(Labels *l)
{
    for (uint32_t v = 0; v < l->variables.len; v++) {
        Variable *at = &l->variables.at[v];
        at->label = (uint8_t)__builtin_ctz(at->allowed);
        for (uint32_t k = 0; k < l->nlabels; k++)
            if ((at->allowed >> k & 1) && price_of(l, v, k) < price_of(l, v, at->label))
                at->label = (uint8_t)k;
        at->low = at->high = at->label;
    }
}

// ---- two labels, and more -----------------------------------------------------------------------

static const LabelSet ALL = UINT32_MAX;

// A variable that allows two labels of the part's two takes either.
static void offer_two(Labels *l, uint32_t part, LabelSet set)
{
    const Ids *ids = &l->part_variables[part];
    for (uint32_t i = 0; i < ids->len; i++) {
        Variable *v = &l->variables.at[ids->at[i]];
        v->low = (uint8_t)__builtin_ctz(set);
        v->high = (uint8_t)__builtin_ctz(set & (set - 1));
    }
}

// Offers `label` to every variable that allows it: is there a cheaper choice?
static bool expand(Labels *l, uint32_t part, uint32_t label, Cost *best)
{
    const Ids *ids = &l->part_variables[part];
    Cost before = *best, found;
    uint8_t *kept = NEWS(l->arena, uint8_t, ids->len);
    for (uint32_t i = 0; i < ids->len; i++) {
        Variable *v = &l->variables.at[ids->at[i]];
        kept[i] = v->low = v->label;
        v->high = v->allowed >> label & 1 ? (uint8_t)label : v->label;
    }
    bool better = solve_cut(l, part, ALL, NONE, &found, true) &&
                  cost_of(l, ids, &l->part_values[part]) < before;
    for (uint32_t i = 0; !better && i < ids->len; i++)
        l->variables.at[ids->at[i]].label = kept[i];
    if (better)
        *best = cost_of(l, ids, &l->part_values[part]);
    return better;
}

static Cost expand_all(Labels *l, uint32_t part, LabelSet set)
{
    Cost best = cost_of(l, &l->part_variables[part], &l->part_values[part]);
    bool better = true;
    for (int sweep = 0; better && sweep < MAX_SWEEPS; sweep++) {
        better = false;
        for (uint32_t k = 0; k < l->nlabels; k++)
            if (set >> k & 1)
                better |= expand(l, part, k, &best);
    }
    return best;
}

// The sum of one cut for each label under the multipliers; claims[i]: how many labels but one take
// variable i, chosen[i]: the last of them. INT64_MIN: too much work.
static Cost relaxed(Labels *l, uint32_t part, int32_t *claims, uint8_t *chosen)
{
    const Ids *ids = &l->part_variables[part];
    Cost sum = 0, least;
    for (uint32_t i = 0; i < ids->len; i++) {
        claims[i] = -1;
        sum -= l->variables.at[ids->at[i]].multiplier;
    }
    for (uint32_t k = 0; k < l->nlabels; k++) {
        for (uint32_t i = 0; i < ids->len; i++) {
            Variable *v = &l->variables.at[ids->at[i]];
            v->low = NONE;
            v->high = v->allowed >> k & 1 ? (uint8_t)k : NONE;
        }
        if (!solve_cut(l, part, (LabelSet)1 << k, k, &least, true))
            return INT64_MIN;
        sum += least;
        for (uint32_t i = 0; i < ids->len; i++) {
            bool claimed = l->variables.at[ids->at[i]].label == k;
            claims[i] += claimed;
            chosen[i] = claimed ? (uint8_t)k : chosen[i];
        }
    }
    return sum;
}

static void put_labels(Labels *l, const Ids *ids, const uint8_t *labels)
{
    for (uint32_t i = 0; i < ids->len; i++)
        l->variables.at[ids->at[i]].label = labels[i];
}

static uint8_t *labels_now(Labels *l, const Ids *ids)
{
    uint8_t *labels = NEWS(l->arena, uint8_t, ids->len);
    for (uint32_t i = 0; i < ids->len; i++)
        labels[i] = l->variables.at[ids->at[i]].label;
    return labels;
}

// The best lower bound that the multipliers give, by steps of Polyak's length towards `best`, the
// cost of a choice. chosen: labels that claim the variables in the end; where each is claimed once
// they cost the bound. Some work is left for what comes after.
static Cost bound_below(Labels *l, uint32_t part, Cost best, uint8_t *chosen)
{
    const Ids *ids = &l->part_variables[part];
    int32_t *claims = NEWS(l->arena, int32_t, ids->len);
    Cost bound = 0, unit = (Cost)1 << l->shift; // prices are not negative
    double pace = 1;
    best <<= l->shift;
    for (int step = 0; best - bound >= unit && step < MAX_MULTIPLIER_STEPS; step++) {
        Cost now = l->work > MAX_WORK / 4 ? relaxed(l, part, claims, chosen) : INT64_MIN;
        int64_t norm = 0;
        if (now == INT64_MIN)
            break;
        pace = now > bound ? pace : pace * 0.8;
        bound = now > bound ? now : bound;
        for (uint32_t i = 0; i < ids->len; i++)
            norm += (int64_t)claims[i] * claims[i];
        if (norm == 0)
            break;
        double length = pace * (double)(best - now) / (double)norm;
        for (uint32_t i = 0; i < ids->len; i++)
            l->variables.at[ids->at[i]].multiplier += (Cost)(length * claims[i]);
    }
    bound = bound < best ? bound : best;
    return (bound >> l->shift) + ((bound & (unit - 1)) != 0); // totals are whole
}

// Expansion moves, a bound, and expansion moves again from where the bound's cuts stood.
static Cost solve_many(Labels *l, uint32_t part, LabelSet set)
{
    const Ids *ids = &l->part_variables[part];
    Cost least = expand_all(l, part, set);
    const uint8_t *labels = labels_now(l, ids);
    uint8_t *chosen = labels_now(l, ids);
    Cost bound = bound_below(l, part, least, chosen);
    put_labels(l, ids, chosen);
    if (bound == least || expand_all(l, part, set) >= least)
        put_labels(l, ids, labels);
    return bound;
}

// ---- labels in order ----------------------------------------------------------------------------

// The vertex that is on the sink's side where the variable's label is k or more.
static uint32_t reaches(const Labels *l, uint32_t variable, uint32_t k)
{
    const Variable *v = &l->variables.at[variable];
    if (v->vertex)
        return v->vertex + k - 1;
    return v->label >= k ? CUT_SINK : CUT_SOURCE;
}

// Each variable is a chain of vertices, one for each step between labels; only a chain whose first
// vertices are on the sink's side and the rest on the source's is a label.
static void add_chain(Labels *l, Cut *cut, uint32_t id)
{
    Variable *v = &l->variables.at[id];
    v->vertex = cut_vertex(cut);
    for (uint32_t k = 2; k < l->nlabels; k++)
        cut_vertex(cut);
    for (uint32_t k = 0; k < l->nlabels; k++) {
        Cost price = v->allowed >> k & 1 ? price_of(l, id, k) : COST_NEVER;
        uint32_t above = k + 1 < l->nlabels ? reaches(l, id, k + 1) : CUT_SOURCE;
        uint32_t here = k ? reaches(l, id, k) : CUT_SINK;
        cut_arc(cut, above, here, price);
        if (k && k + 1 < l->nlabels)
            cut_arc(cut, here, above, COST_NEVER);
    }
}

static void add_step(Labels *l, Cut *cut, uint32_t id, uint32_t k)
{
    const ValueOf *v = &l->values.at[id];
    uint32_t maker = reaches(l, v->maker, k), up = cut_vertex(cut), down = cut_vertex(cut);
    cut_arc(cut, maker, up, adaptor_of(l, id, k));
    cut_arc(cut, down, maker, adaptor_of(l, id, k - 1));
    for (uint32_t i = 0; i < v->users.len; i++) {
        uint32_t user = reaches(l, v->users.at[i], k);
        cut_arc(cut, up, user, COST_NEVER);
        cut_arc(cut, user, down, COST_NEVER);
    }
}

static bool solve_ordered(Labels *l, uint32_t part)
{
    const Ids *variables = &l->part_variables[part], *values = &l->part_values[part];
    Arena *scratch = arena_new();
    Cut *cut = cut_new(scratch);
    Cost flow;
    for (uint32_t i = 0; i < variables->len; i++)
        add_chain(l, cut, variables->at[i]);
    for (uint32_t i = 0; i < values->len; i++)
        for (uint32_t k = 1; k < l->nlabels; k++)
            add_step(l, cut, values->at[i], k);
    bool done = cut_solve(cut, &flow, &l->work);
    for (uint32_t i = 0; done && i < variables->len; i++) {
        Variable *v = &l->variables.at[variables->at[i]];
        v->label = 0;
        for (uint32_t k = 1; k < l->nlabels; k++)
            v->label += cut_is_sink_side(cut, v->vertex + k - 1);
    }
    arena_free(scratch);
    return done;
}

// ---- all of it ----------------------------------------------------------------------------------

static LabelSet labels_of_part(const Labels *l, uint32_t part)
{
    LabelSet set = 0;
    const Ids *ids = &l->part_variables[part];
    for (uint32_t i = 0; i < ids->len; i++)
        set |= l->variables.at[ids->at[i]].allowed;
    return set;
}

// The finest unit in which no sum overflows.
static uint32_t finest_shift(const Labels *l)
{
    Cost sum = 1;
    uint32_t shift = 0;
    for (uint32_t i = 0; i < l->prices.len && sum < COST_NEVER; i++)
        sum += l->prices.at[i];
    for (uint32_t i = 0; i < l->adaptors.len && sum < COST_NEVER; i++)
        sum += l->adaptors.at[i];
    while (shift < 10 && sum << shift < COST_NEVER / 8)
        shift++;
    return shift;
}

void labels_solve(Labels *l)
{
    l->shift = finest_shift(l);
    find_parts(l);
    settle_decided(l);
    l->bound = cost_of(l, &l->part_variables[0], &l->part_values[0]);
    for (uint32_t part = 1; part <= l->nparts; part++) {
        LabelSet set = labels_of_part(l, part);
        Cost least = 0;
        bool two = __builtin_popcount(set) == 2 && !l->ordered;
        if (l->ordered) {
            bool done = solve_ordered(l, part);
            l->bound += done ? cost_of(l, &l->part_variables[part], &l->part_values[part]) : 0;
            continue;
        }
        if (two)
            offer_two(l, part, set);
        if (two && solve_cut(l, part, ALL, NONE, &least, true)) {
            l->bound += least;
            continue;
        }
        l->bound += solve_many(l, part, set);
    }
}
