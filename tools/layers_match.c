// Values of two models that are the same: see tools/layers_match.h.
//
// A value is known by the layer that it belongs to (weights), by what it is computed of and by what
// is computed of it. The last finds the end of what one model writes as an operator and the other
// as a dozen: the LayerNormalization that a MatMul reads is what that MatMul reads in the other.
// No number of the two is looked at but those of constants, since it is their difference that is
// asked for.

#include "tools/layers_match.h"
#include "base/map.h"
#include "tools/diff.h"

#include <math.h>
#include <string.h>

enum {
    SAMPLES = 64,      // elements of a constant that are compared
    LEAST_WEIGHT = 16, // elements of one that tells layers apart
    MAX_SWEEPS = 32
};

typedef struct MatchConstant {
    int64_t count;
    bool floats;
    double greatest, at[SAMPLES]; // evenly spaced elements, and the greatest |x| of them
    int n;
} MatchConstant;

typedef struct MatchValue {
    ValueId partner;
    uint32_t maker; // its node and 1; 0: none
    uint32_t first, readers;
    bool floats, fits; // a tensor of a known rank
    int32_t rank;
    const int64_t *dims; // -1: not known
    const MatchConstant *constant;
    Str input; // its name, of an input
} MatchValue;

typedef struct MatchNode {
    uint64_t label;
    bool swaps; // its two operands may change places
    uint32_t nin, nout;
    const ValueId *in, *out; // 0: none. Casts between floats and Identity are passed
} MatchNode;

typedef struct MatchReader {
    uint32_t node, operand;
} MatchReader;

struct MatchSide {
    Arena *arena;
    uint32_t nvalues;
    MatchValue *values;
    VEC(MatchNode) nodes;
    MatchReader *readers; // by value: MatchValue.first
    ValueId *stands;      // by value: what it is but for its dtype; 0: itself
    VEC(ValueId) inputs;
    VEC(ValueId) outputs;
};

// ---- what is kept -------------------------------------------------------------------------------

static const MatchConstant *constant_of(Arena *a, Model *m, ValueId v)
{
    const TensorData *t = value_at(m, v)->constant;
    Str error = STR_NONE;
    const char *at =
        t && t->dtype != DT_STRING ? tensor_elements(m, (TensorData *)t, &error) : NULL;
    if (!at || dtype_info(t->dtype)->bits < 8 || dtype_is_complex(t->dtype))
        return NULL;
    MatchConstant *c = NEW(a, MatchConstant);
    c->count = (int64_t)tensor_count(t);
    c->floats = dtype_is_float(t->dtype);
    c->n = c->count < SAMPLES ? (int)c->count : SAMPLES;
    for (int i = 0; i < c->n; i++) {
        const size_t k = (size_t)((double)i * (double)c->count / c->n);
        const Scalar s = scalar_load(t->dtype, at + k * dtype_info(t->dtype)->bytes);
        c->at[i] = c->floats ? s.f : (double)s.i;
        c->greatest = fmax(c->greatest, fabs(c->at[i]));
    }
    return c;
}

static void see_value(MatchSide *s, Model *m, ValueId v)
{
    const Value *from = value_at(m, v);
    MatchValue *to = &s->values[v];
    to->fits = from->kind == TYPE_TENSOR && from->rank >= 0;
    to->floats = to->fits && dtype_is_float(from->dtype);
    to->rank = from->rank;
    int64_t *dims = NEWS(s->arena, int64_t, to->fits ? (size_t)from->rank + 1 : 1);
    for (int32_t i = 0; to->fits && i < from->rank; i++)
        dims[i] = poly_is_const(from->dims[i], &dims[i]) ? dims[i] : -1;
    to->dims = dims;
    to->constant = constant_of(s->arena, m, v);
}

// Does the node give its operand as it is, but for its dtype?
static bool is_passed(const Model *m, const Node *n)
{
    const bool cast = (node_is(n, "Cast") || node_is(n, "CastLike")) && n->nin && n->in[0] &&
                      n->out[0] && dtype_is_float(value_at(m, n->in[0])->dtype) &&
                      dtype_is_float(value_at(m, n->out[0])->dtype);
    return n->nout == 1 && (cast || (node_is(n, "Identity") && n->nin == 1));
}

static ValueId stands_for(const MatchSide *s, ValueId v)
{
    return s->stands[v] ? s->stands[v] : v;
}

static void see_node(MatchSide *s, const Model *m, const Node *n)
{
    if (is_passed(m, n)) {
        s->stands[n->out[0]] = stands_for(s, n->in[0]);
        return;
    }
    ValueId *in = NEWS(s->arena, ValueId, n->nin + 1u),
            *out = NEWS(s->arena, ValueId, n->nout + 1u);
    for (uint32_t i = 0; i < n->nin; i++) {
        in[i] = stands_for(s, n->in[i]);
        s->values[in[i]].readers++;
    }
    for (uint32_t i = 0; i < n->nout; i++) {
        out[i] = n->out[i];
        s->values[out[i]].maker = s->nodes.len + 1;
    }
    const bool swaps = n->nin == 2 && (node_is(n, "Add") || node_is(n, "Mul"));
    vec_push(s->arena, &s->nodes, ((MatchNode){diff_label(m, n), swaps, n->nin, n->nout, in, out}));
}

static void list_readers(MatchSide *s)
{
    uint32_t all = 0;
    for (ValueId v = 0; v < s->nvalues; v++) {
        s->values[v].first = all;
        all += s->values[v].readers;
        s->values[v].readers = 0;
    }
    s->readers = NEWS(s->arena, MatchReader, all + 1u);
    for (uint32_t i = 0; i < s->nodes.len; i++)
        for (uint32_t k = 0; k < s->nodes.at[i].nin; k++) {
            MatchValue *v = &s->values[s->nodes.at[i].in[k]];
            s->readers[v->first + v->readers++] = (MatchReader){i, k};
        }
}

MatchSide *match_see(Arena *a, Model *m)
{
    MatchSide *s = NEW(a, MatchSide);
    const Graph *g = graph_at(m, m->main);
    s->arena = a;
    s->nvalues = m->values.len;
    s->values = NEWS(a, MatchValue, s->nvalues + 1u);
    s->stands = NEWS(a, ValueId, s->nvalues + 1u);
    for (ValueId v = 1; v < s->nvalues; v++)
        see_value(s, m, v);
    for (uint32_t i = 0; i < g->nodes.len; i++)
        see_node(s, m, node_at(m, g->nodes.at[i]));
    list_readers(s);
    for (uint32_t i = 0; i < g->inputs.len; i++) {
        const ValueId v = g->inputs.at[i].value;
        if (value_at(m, v)->init)
            continue;
        s->values[v].input = str_copy(a, value_at(m, v)->name);
        vec_push(a, &s->inputs, v);
    }
    for (uint32_t i = 0; i < g->outputs.len; i++)
        vec_push(a, &s->outputs, stands_for(s, g->outputs.at[i].value));
    return s;
}

// ---- pairs --------------------------------------------------------------------------------------

ValueId match_partner(const MatchSide *s, ValueId v)
{
    return s->values[v].partner;
}

static bool shapes_fit(const MatchValue *x, const MatchValue *y)
{
    bool fit = x->fits && y->fits && x->floats == y->floats && x->rank == y->rank;
    for (int32_t i = 0; fit && i < x->rank; i++)
        fit = x->dims[i] == y->dims[i] || x->dims[i] < 0 || y->dims[i] < 0;
    return fit;
}

static bool may_pair(const MatchSide *a, const MatchSide *b, ValueId v, ValueId w)
{
    return v && w && !a->values[v].partner && !b->values[w].partner && !a->values[v].constant &&
           !b->values[w].constant && shapes_fit(&a->values[v], &b->values[w]);
}

static bool pair(MatchSide *a, MatchSide *b, ValueId v, ValueId w)
{
    if (!may_pair(a, b, v, w))
        return false;
    a->values[v].partner = w;
    b->values[w].partner = v;
    return true;
}

void match_pair(MatchSide *a, MatchSide *b, ValueId v, ValueId w)
{
    pair(a, b, stands_for(a, v), stands_for(b, w));
}

void match_ends(MatchSide *a, MatchSide *b)
{
    for (uint32_t i = 0; i < a->inputs.len; i++)
        for (uint32_t k = 0; k < b->inputs.len; k++)
            if (str_eq(a->values[a->inputs.at[i]].input, b->values[b->inputs.at[k]].input))
                pair(a, b, a->inputs.at[i], b->inputs.at[k]);
    for (uint32_t i = 0; i < a->inputs.len && i < b->inputs.len; i++)
        pair(a, b, a->inputs.at[i], b->inputs.at[i]);
    for (uint32_t i = 0; a->outputs.len == b->outputs.len && i < a->outputs.len; i++)
        pair(a, b, a->outputs.at[i], b->outputs.at[i]);
}

// Constants are alike that a rounding to 8 bits keeps apart; integers are equal.
static bool is_alike(const MatchConstant *x, const MatchConstant *y)
{
    const double near = x->floats ? 0.01 * fmax(x->greatest, y->greatest) : 0;
    bool alike = x->count == y->count && x->floats == y->floats;
    for (int i = 0; alike && i < x->n; i++)
        alike = fabs(x->at[i] - y->at[i]) <= near || x->at[i] == y->at[i];
    return alike;
}

static bool operands_alike(const MatchSide *a, const MatchSide *b, ValueId v, ValueId w)
{
    if (!v || !w)
        return v == w;
    const MatchConstant *x = a->values[v].constant, *y = b->values[w].constant;
    if (x && y)
        return is_alike(x, y) && shapes_fit(&a->values[v], &b->values[w]);
    return !x && !y && a->values[v].partner == w;
}

static bool pair_results(MatchSide *a, MatchSide *b, const MatchNode *x, const MatchNode *y)
{
    bool found = false;
    for (uint32_t i = 0; i < x->nout && i < y->nout; i++)
        found |= pair(a, b, x->out[i], y->out[i]);
    return found;
}

// ---- weights ------------------------------------------------------------------------------------

// The greatest of a node's constants; NULL: none that tells layers apart.
static const MatchConstant *weight_of(const MatchSide *s, const MatchNode *n)
{
    const MatchConstant *most = NULL;
    for (uint32_t i = 0; i < n->nin; i++) {
        const MatchConstant *c = s->values[n->in[i]].constant;
        if (c && c->floats && c->count >= LEAST_WEIGHT && (!most || c->count > most->count))
            most = c;
    }
    return most;
}

// How many nodes of the side have this label and such a weight; *found: the last.
static uint32_t nodes_like(const MatchSide *s, const Map *by_label, const uint32_t *next,
                           uint64_t label, const MatchConstant *weight, uint32_t *found)
{
    const uint32_t *first = map_get(by_label, (Str){(const char *)&label, sizeof label});
    uint32_t n = 0;
    for (uint32_t i = first ? *first : 0; i; i = next[i])
        if (is_alike(weight, weight_of(s, &s->nodes.at[i - 1]))) {
            *found = i - 1;
            n++;
        }
    return n;
}

// Nodes with weights by label, those of one label in a list: node and 1.
static uint32_t *list_weighted(const MatchSide *s, Map *by_label)
{
    uint32_t *next = NEWS(s->arena, uint32_t, s->nodes.len + 1u);
    for (uint32_t i = 0; i < s->nodes.len; i++) {
        if (!weight_of(s, &s->nodes.at[i]))
            continue;
        const uint64_t *label = &s->nodes.at[i].label;
        uint32_t *first = map_put(by_label, (Str){(const char *)label, sizeof *label}, NULL);
        next[i + 1] = *first;
        *first = i + 1;
    }
    return next;
}

void match_weights(MatchSide *a, MatchSide *b)
{
    Map here = {.arena = a->arena}, there = {.arena = b->arena};
    const uint32_t *next_here = list_weighted(a, &here), *next_there = list_weighted(b, &there);
    for (uint32_t i = 0; i < a->nodes.len; i++) {
        const MatchNode *x = &a->nodes.at[i];
        const MatchConstant *weight = weight_of(a, x);
        uint32_t own = 0, other = 0;
        if (weight && nodes_like(a, &here, next_here, x->label, weight, &own) == 1 &&
            nodes_like(b, &there, next_there, x->label, weight, &other) == 1)
            pair_results(a, b, x, &b->nodes.at[other]);
    }
}

// ---- neighbours ---------------------------------------------------------------------------------

static bool is_unpaired(const MatchSide *s, const MatchNode *n)
{
    for (uint32_t i = 0; i < n->nout; i++)
        if (n->out[i] && !s->values[n->out[i]].partner)
            return true;
    return false;
}

static bool all_alike(const MatchSide *a, const MatchSide *b, const MatchNode *x,
                      const MatchNode *y)
{
    bool straight = x->label == y->label && x->nin == y->nin, crossed = straight && x->swaps;
    for (uint32_t i = 0; straight && i < x->nin; i++)
        straight = operands_alike(a, b, x->in[i], y->in[i]);
    for (uint32_t i = 0; crossed && i < 2; i++)
        crossed = operands_alike(a, b, x->in[i], y->in[1 - i]);
    return straight || crossed;
}

// The node of the other side that does the same to the same, by the readers of an operand's
// partner.
static bool pair_ahead(MatchSide *a, MatchSide *b, const MatchNode *x)
{
    for (uint32_t i = 0; i < x->nin; i++) {
        const ValueId w = a->values[x->in[i]].partner;
        const MatchValue *value = &b->values[w];
        for (uint32_t k = 0; w && k < value->readers; k++) {
            const MatchNode *y = &b->nodes.at[b->readers[value->first + k].node];
            if (is_unpaired(b, y) && all_alike(a, b, x, y) && pair_results(a, b, x, y))
                return true;
        }
        if (w)
            return false;
    }
    return false;
}

// Of what may change places only the operand beside one that is known is known.
static bool pair_beside(MatchSide *a, MatchSide *b, const MatchNode *x, const MatchNode *y)
{
    bool found = false;
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t k = 0; k < 2; k++)
            if (operands_alike(a, b, x->in[i], y->in[k]))
                found |= pair(a, b, x->in[1 - i], y->in[1 - k]);
    return found;
}

// Are the operands that either node has as constants the same?
static bool constants_alike(const MatchSide *a, const MatchSide *b, const MatchNode *x,
                            const MatchNode *y)
{
    bool alike = true;
    for (uint32_t i = 0; alike && i < x->nin; i++)
        alike = (!a->values[x->in[i]].constant && !b->values[y->in[i]].constant) ||
                operands_alike(a, b, x->in[i], y->in[i]);
    return alike;
}

// What the maker of a paired value read, if the other's maker does the same.
static bool pair_behind(MatchSide *a, MatchSide *b, ValueId v)
{
    const ValueId w = a->values[v].partner;
    const uint32_t i = a->values[v].maker, k = w ? b->values[w].maker : 0;
    bool found = false;
    if (!i || !k)
        return false;
    const MatchNode *x = &a->nodes.at[i - 1], *y = &b->nodes.at[k - 1];
    if (x->label != y->label || x->nin != y->nin)
        return false;
    if (x->swaps)
        return pair_beside(a, b, x, y);
    if (!constants_alike(a, b, x, y))
        return false;
    for (uint32_t o = 0; o < x->nin; o++)
        found |= pair(a, b, x->in[o], y->in[o]);
    return found;
}

void match_spread(MatchSide *a, MatchSide *b)
{
    bool found = true;
    for (int sweep = 0; sweep < MAX_SWEEPS && found; sweep++) {
        found = false;
        for (uint32_t i = 0; i < a->nodes.len; i++)
            if (is_unpaired(a, &a->nodes.at[i]))
                found |= pair_ahead(a, b, &a->nodes.at[i]);
        for (uint32_t i = a->nodes.len; i-- > 0;)
            for (uint32_t o = 0; o < a->nodes.at[i].nout; o++)
                found |= a->nodes.at[i].out[o] && pair_behind(a, b, a->nodes.at[i].out[o]);
    }
}
