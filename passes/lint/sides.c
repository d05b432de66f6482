// Which side of a disagreement is right: the dtype that all fits but for one source.
//
// What passes/ties.h ties together, and what a value's maker and users say of it, must be of one
// dtype: these are the parts, found by union and find over values and ties. Within a part no Cast
// stands, so that all of it has one dtype t once it fits, and the sources to retype are those that
// are of another: to count them for each t gives the smallest set exactly. What no source decides
// (what Shape gives, what Gather takes for indices) forbids all t but one.
//
// Only a set of one source is taken for an answer. Where several would have to be retyped, one Cast
// mends as much, and what the user meant is seen from the sides that meet (faults.c).

#include "passes/lint/sides.h"

#include "passes/lint/origin.h"
#include "passes/ties.h"

#include <string.h>

// A source of a part. `dtype` is what it has, or, a declaration, what it says.
typedef struct Source {
    ValueId value; // as written
    uint32_t part;
    DType dtype;
} Source;

// Where a source comes in the order of origins.
typedef struct Key {
    bool own, narrow;
    uint64_t bytes;
    ValueId value;
} Key;

struct Sides {
    Model *m;
    Ties *t;
    Arena *arena;
    uint32_t *parent; // by value, then by tie
    TypeSet *types;   // by root: dtypes that all of the part takes
    VEC(Source) all;  // in the order of their parts
    uint32_t *first;  // by root: all.at[first[p]] .. all.at[first[p + 1] - 1]
};

static uint32_t root_of(Sides *s, uint32_t at)
{
    while (s->parent[at] != at)
        at = s->parent[at] = s->parent[s->parent[at]];
    return at;
}

static void join(Sides *s, uint32_t a, uint32_t b)
{
    s->parent[root_of(s, a)] = root_of(s, b);
}

static bool is_fixed(const Sides *s, uint32_t tie)
{
    return s->t->at.at[tie].kind == TIE_FIXED;
}

static bool is_input(const Sides *s, ValueId v)
{
    return value_at(s->m, v)->def == DEF_INPUT && value_at(s->m, v)->graph == s->m->main;
}

// What the model's outputs are declared as is a source, as any declaration; what an operator takes
// is not.
static bool is_asked_by_node(const Sides *s, const Use *u)
{
    return u->node || u->graph != s->m->main;
}

// A constant of a function's body, or the target of a Cast there, is one for all calls, but for a
// target that each call says.
static void join_copies(Sides *s)
{
    const Ties *t = s->t;
    ValueId *first = NEWS(s->arena, ValueId, t->nvalues);
    for (ValueId v = 1; v < t->nvalues; v++) {
        const Tie *tie = t->maker[v] == NO_TIE ? NULL : &t->at.at[t->maker[v]];
        if (!tie || (tie->kind != TIE_CONSTANT && tie->kind != TIE_CAST))
            continue;
        ValueId written = value_written(s->m, v);
        if (!first[written])
            first[written] = v;
        if (t->at.at[t->maker[first[written]]].own == tie->own)
            join(s, v, first[written]);
    }
}

static void join_parts(Sides *s)
{
    const Ties *t = s->t;
    for (ValueId v = 1; v < t->nvalues; v++) {
        if (t->maker[v] == NO_TIE)
            continue;
        if (!is_fixed(s, t->maker[v]))
            join(s, v, t->nvalues + t->maker[v]);
        for (uint32_t k = t->first_use[v]; k < t->first_use[v + 1]; k++)
            if (!is_fixed(s, t->uses.at[k].tie))
                join(s, v, t->nvalues + t->uses.at[k].tie);
    }
}

static void limit_types(Sides *s)
{
    const Ties *t = s->t;
    for (uint32_t i = 0; i < t->nvalues + t->at.len; i++)
        s->types[i] = ~(TypeSet)0;
    for (uint32_t i = 0; i < t->at.len; i++)
        if (!is_fixed(s, i))
            s->types[root_of(s, t->nvalues + i)] &= t->at.at[i].allowed;
    for (ValueId v = 1; v < t->nvalues; v++) {
        if (t->maker[v] == NO_TIE)
            continue;
        TypeSet *types = &s->types[root_of(s, v)];
        if (is_fixed(s, t->maker[v]) && !is_input(s, v))
            *types &= t->at.at[t->maker[v]].allowed;
        for (uint32_t k = t->first_use[v]; k < t->first_use[v + 1]; k++)
            if (is_fixed(s, t->uses.at[k].tie) && is_asked_by_node(s, &t->uses.at[k].use))
                *types &= t->at.at[t->uses.at[k].tie].allowed;
    }
}

static void add(Sides *s, ValueId v, DType dtype)
{
    Source source = {value_written(s->m, v), root_of(s, v), dtype};
    vec_push(s->arena, &s->all, source);
}

static void add_sources(Sides *s)
{
    const Ties *t = s->t;
    uint32_t *known = NEWS(s->arena, uint32_t, t->nvalues); // the part where it was met, plus 1
    for (ValueId v = 1; v < t->nvalues; v++) {
        if (t->maker[v] == NO_TIE || known[value_written(s->m, v)] == root_of(s, v) + 1)
            continue;
        known[value_written(s->m, v)] = root_of(s, v) + 1;
        const Type *said = value_at(s->m, v)->declared;
        TieKind kind = t->at.at[t->maker[v]].kind;
        if (is_input(s, v) || kind == TIE_CONSTANT || kind == TIE_CAST)
            add(s, v, ties_dtype(s->m, v));
        if (!is_input(s, v) && said && said->kind == TYPE_TENSOR && said->elem > 0 &&
            said->elem < DT_COUNT)
            add(s, v, (DType)said->elem);
    }
}

static void sort_sources(Sides *s)
{
    uint32_t n = s->t->nvalues + s->t->at.len, *next = NEWS(s->arena, uint32_t, n + 1u);
    Source *sorted = NEWS(s->arena, Source, s->all.len + 1u);
    s->first = NEWS(s->arena, uint32_t, n + 1u);
    for (uint32_t i = 0; i < s->all.len; i++)
        s->first[s->all.at[i].part + 1]++;
    for (uint32_t p = 0; p < n; p++)
        next[p + 1] = s->first[p + 1] += s->first[p];
    for (uint32_t i = 0; i < s->all.len; i++)
        sorted[next[s->all.at[i].part]++] = s->all.at[i];
    s->all.at = sorted;
    s->all.cap = s->all.len + 1;
}

Sides *sides_of(Model *m, Arena *a)
{
    Sides *s = NEW(a, Sides);
    *s = (Sides){.m = m, .t = ties_of(m, a), .arena = a};
    uint32_t n = s->t->nvalues + s->t->at.len;
    s->parent = NEWS(a, uint32_t, n + 1u);
    s->types = NEWS(a, TypeSet, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        s->parent[i] = i;
    join_parts(s);
    join_copies(s);
    limit_types(s);
    add_sources(s);
    sort_sources(s);
    return s;
}

// ---- questions ----------------------------------------------------------------------------------

static bool is_before(const Key *a, const Key *b)
{
    return a->own != b->own         ? b->own
           : a->narrow != b->narrow ? b->narrow
           : a->bytes != b->bytes   ? a->bytes < b->bytes
                                    : a->value < b->value;
}

static Key key_of(const Sides *s, const Source *at)
{
    return (Key){at->dtype == s->m->dominant, at->dtype != DT_F64,
                 origin_bytes(s->m, at->value, at->dtype), at->value};
}

// How many sources differ from t, and the first of them; UINT32_MAX where t cannot be.
static uint32_t count_against(const Sides *s, uint32_t part, DType t, Key *key)
{
    uint32_t n = 0;
    if (!(s->types[part] >> t & 1))
        return UINT32_MAX;
    for (uint32_t i = s->first[part]; i < s->first[part + 1]; i++) {
        if (s->all.at[i].dtype == t)
            continue;
        Key k = key_of(s, &s->all.at[i]);
        *key = !n++ || is_before(&k, key) ? k : *key;
    }
    return n;
}

DType sides_right(Sides *s, ValueId v)
{
    uint32_t part = root_of(s, v);
    TypeSet seen = 0;
    DType right = DT_NONE;
    Key first = {0};
    for (uint32_t i = s->first[part]; i < s->first[part + 1]; i++) {
        DType t = s->all.at[i].dtype;
        Key key = {0};
        if (seen >> t & 1)
            continue;
        seen |= (TypeSet)1 << t;
        if (count_against(s, part, t, &key) != 1 || (right && !is_before(&key, &first)))
            continue;
        right = t;
        first = key;
    }
    return right;
}
