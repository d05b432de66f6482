// Which side of a disagreement is right: the dtype that all fits but for one source.
//
// What passes/ties.h ties together, and what a value's maker and users say of it, must be of one
// dtype: these are the parts, found by union and find over values and ties. Within a part no Cast
// stands, so that all of it has one dtype t once it fits, and the sources to retype are those that
// are of another: to count them for each t gives the smallest set exactly. What no source decides
// (what Shape gives, what Gather takes for indices) forbids all t but one, and so does a Cast of
// floats, which is no integer's.
//
// Only a set of a few sources is taken for an answer, and of several only one without the model's
// interface. Where more would have to be retyped, one Cast mends as much, and what the user meant
// is seen from the sides that meet (faults_weigh.c).

#include "passes/lint/sides.h"

#include "passes/lint/origin.h"
#include "passes/ties.h"

#include <string.h>

enum { MAX_SET = 4 };

// A source of a part. `dtype` is what it has, or, a declaration, what it says.
typedef struct Source {
    ValueId value; // of the copies of a body's value the first
    uint32_t part;
    DType dtype;
    bool declared;  // it is a declaration
    bool interface; // of the model: an input, or what is declared of an output
    bool fractions; // a Cast of floats to a float
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

static bool is_fractional_cast(const Sides *s, ValueId v, DType dtype)
{
    const Value *at = value_at(s->m, v);
    const Node *n = at->def == DEF_NODE ? node_at(s->m, at->node) : NULL;
    return n && node_is(n, "Cast") && n->nin && n->in[0] && dtype_is_float(dtype) &&
           dtype_is_float(ties_dtype(s->m, n->in[0]));
}

static bool is_output(const Sides *s, ValueId v)
{
    const Ties *t = s->t;
    for (uint32_t k = t->first_use[v]; k < t->first_use[v + 1]; k++)
        if (!is_asked_by_node(s, &t->uses.at[k].use))
            return true;
    return false;
}

// `again`: another copy of it is known.
static void add_sources_of(Sides *s, ValueId v, bool again)
{
    TieKind kind = s->t->at.at[s->t->maker[v]].kind;
    const Type *said = value_at(s->m, v)->declared;
    bool input = is_input(s, v), output = is_output(s, v);
    bool source = input || kind == TIE_CONSTANT || kind == TIE_CAST;
    DType own = source ? ties_dtype(s->m, v) : DT_NONE;
    Source at = {.value = v, .part = root_of(s, v), .dtype = own, .interface = input};
    at.fractions = kind == TIE_CAST && is_fractional_cast(s, v, own);
    if (source && !again)
        vec_push(s->arena, &s->all, at);
    if (input || (again && !output) || !said || said->kind != TYPE_TENSOR || said->elem <= 0 ||
        said->elem >= DT_COUNT)
        return;
    at = (Source){.value = v, .part = at.part, .dtype = (DType)said->elem, .declared = true};
    at.interface = output;
    if (output ||
        at.dtype != own) // what a source says of itself inside of the model changes with it
        vec_push(s->arena, &s->all, at);
}

static void add_sources(Sides *s)
{
    const Ties *t = s->t;
    uint32_t *known = NEWS(s->arena, uint32_t, t->nvalues); // the part where it was met, plus 1
    for (ValueId v = 1; v < t->nvalues; v++) {
        if (t->maker[v] == NO_TIE)
            continue;
        uint32_t *met = &known[value_written(s->m, v)], part = root_of(s, v) + 1;
        add_sources_of(s, v, *met == part);
        *met = part;
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
                 origin_bytes(s->m, at->value, at->dtype), value_written(s->m, at->value)};
}

// The sources that differ from t.
typedef struct Against {
    uint32_t count; // UINT32_MAX where t cannot be
    bool interface; // the model's is among them
    Key first;
} Against;

static Against count_against(const Sides *s, uint32_t part, DType t)
{
    Against n = {0};
    if (!(s->types[part] >> t & 1))
        return (Against){.count = UINT32_MAX};
    for (uint32_t i = s->first[part]; i < s->first[part + 1]; i++) {
        const Source *at = &s->all.at[i];
        if (at->dtype == t)
            continue;
        if (at->fractions && dtype_is_integer(t))
            return (Against){.count = UINT32_MAX};
        Key k = key_of(s, at);
        n.interface |= at->interface;
        n.first = !n.count++ || is_before(&k, &n.first) ? k : n.first;
    }
    return n;
}

DType sides_right(Sides *s, ValueId v, uint32_t *count)
{
    uint32_t part = root_of(s, v);
    TypeSet seen = 0;
    DType right = DT_NONE;
    Against best = {.count = UINT32_MAX};
    for (uint32_t i = s->first[part]; i < s->first[part + 1]; i++) {
        DType t = s->all.at[i].dtype;
        if (seen >> t & 1)
            continue;
        seen |= (TypeSet)1 << t;
        Against n = count_against(s, part, t);
        if (!n.count || n.count == UINT32_MAX || n.count > best.count ||
            (n.count == best.count && (!right || !is_before(&n.first, &best.first))))
            continue;
        right = t;
        best = n;
    }
    *count = right ? best.count : 0;
    return best.count == 1 || (best.count <= MAX_SET && !best.interface) ? right : DT_NONE;
}

void sides_against(Sides *s, ValueId v, DType t, ValueList *sources, ValueList *said)
{
    uint32_t part = root_of(s, v);
    for (uint32_t i = s->first[part]; i < s->first[part + 1]; i++)
        if (s->all.at[i].dtype != t)
            vec_push(s->arena, s->all.at[i].declared ? said : sources, s->all.at[i].value);
}
