// Nodes of two models that compute the same from the same, or are used in the same way: hashes of
// operators and edges, forward from what is known to belong together and backward from it.
//
// 1. A label is a node's operator and attributes. Weights count by the pair that they belong to,
//    not by their elements, and Casts between floats as their operand, so that a model trained on
//    or converted keeps its structure.
// 2. ahead(v) = label, ahead of the operands. behind(n) = label, and the sum over all that reads
//    its results of (behind of the reader, operand).
// 3. Nodes of two models with equal ahead and behind belong together, then those with equal ahead
//    (what follows was changed), then those with equal behind (what comes before was).

#include "tools/diff.h"

#include <stdlib.h>
#include <string.h>

enum { SEED_INPUT = 1, SEED_PAIR, SEED_WEIGHT, SEED_NAME, SEED_OUTPUT, SEED_NODE, SEED_INNER };

static uint64_t mix(uint64_t seed, uint64_t word)
{
    return hash_word(hash_word(0x9e3779b97f4a7c15u ^ seed, word), seed);
}

static uint64_t hash_str(Str s, uint64_t seed)
{
    return hash_bytes(s.at ? s.at : "", s.len, seed);
}

// ---- labels -------------------------------------------------------------------------------------

static uint64_t label_of_graph(const Model *m, GraphId g)
{
    const Graph *graph = graph_at(m, g);
    uint64_t h = mix(SEED_INNER, graph->nodes.len);
    for (uint32_t i = 0; i < graph->nodes.len; i++)
        h += diff_label(m, node_at(m, graph->nodes.at[i]));
    return h;
}

static uint64_t label_of_tensor(const TensorData *t)
{
    uint64_t h = mix(SEED_WEIGHT, t->rank);
    for (uint32_t i = 0; i < t->rank; i++)
        h = hash_word(h, (uint64_t)t->dims[i]);
    return h;
}

static uint64_t label_of_attr(const Model *m, const Attr *a)
{
    uint64_t h = hash_str(a->name, 7);
    h = hash_str(a->ref, h);
    h = hash_word(h, a->has & ATTR_HAS_I ? (uint64_t)a->i : 0);
    if (a->has & ATTR_HAS_F)
        h = hash_bytes(&a->f, sizeof a->f, h);
    h = hash_str(a->s, h);
    h = hash_bytes(a->nints ? a->ints : (const int64_t *)"", a->nints * sizeof *a->ints, h);
    h = hash_bytes(a->nfloats ? a->floats : (const float *)(const void *)"",
                   a->nfloats * sizeof *a->floats, h);
    for (uint32_t i = 0; i < a->nstrings; i++)
        h = hash_str(a->strings[i], h);
    if (a->t)
        h = hash_word(h, label_of_tensor(a->t));
    if (a->g)
        h = hash_word(h, label_of_graph(m, a->g));
    for (uint32_t i = 0; i < a->ngraphs; i++)
        h = hash_word(h, label_of_graph(m, a->graphs[i]));
    return h;
}

// Does the attribute say what holds without it?
bool diff_says_default(const Node *n, const Attr *a)
{
    const Schema *s = n->schema;
    for (uint32_t i = 0; s && i < s->nattrs; i++) {
        const SchemaAttr *d = &s->attrs[i];
        if (!str_is(a->name, d->name))
            continue;
        if (!d->has_default || a->ref.len || a->type != (int32_t)d->type)
            return false;
        if (d->type == ATTR_INT)
            return a->i == d->i;
        if (d->type == ATTR_FLOAT)
            return memcmp(&a->f, &d->f, sizeof a->f) == 0;
        if (d->type == ATTR_STRING)
            return str_is(a->s, d->s ? d->s : "");
        return d->type == ATTR_INTS && a->nints == d->nints &&
               memcmp(a->nints ? a->ints : d->ints, d->ints, d->nints * sizeof *d->ints) == 0;
    }
    return false;
}

uint64_t diff_label(const Model *m, const Node *n)
{
    uint64_t h = hash_str(n->op, is_standard_domain(n->domain) ? 1 : hash_str(n->domain, 2));
    h = hash_str(n->overload, h);
    uint64_t attrs = 0; // in whatever order
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (!diff_says_default(n, &n->attrs[i]))
            attrs += mix(SEED_NODE, label_of_attr(m, &n->attrs[i]));
    return hash_word(h, attrs);
}

// ---- classes ------------------------------------------------------------------------------------

typedef struct DiffClasses {
    const DiffSide *side;
    GraphId graph;                   // looked at
    bool first;                      // the side whose ids name pairs
    uint64_t *ahead;                 // by value of the graph
    uint64_t *sums;                  // by value: of what reads it
    uint64_t *label, *from, *behind; // by node
} Classes;

static bool is_float_cast(const Node *n)
{
    return n->nin && n->in[0] && n->nout == 1 && node_is(n, "Cast") &&
           dtype_is_float((DType)node_int(n, "to", 0));
}

// What is known of a value before any node is looked at.
static uint64_t seed_of(const Classes *c, ValueId v)
{
    const Value *value = value_at(c->side->m, v);
    ValueId partner = c->side->value[v];
    if (partner)
        return mix(SEED_PAIR, c->first ? v : partner);
    if (value->init)
        return label_of_tensor(value->init);
    if (value->def == DEF_INPUT)
        return mix(SEED_INPUT, value->index);
    return value->def == DEF_NODE ? mix(SEED_INNER, 0) : hash_str(value->name, SEED_NAME);
}

static uint64_t ahead_of(Classes *c, ValueId v)
{
    if (!v)
        return 0;
    if (value_at(c->side->m, v)->graph != c->graph)
        return seed_of(c, v);
    if (!c->ahead[v])
        c->ahead[v] = seed_of(c, v) | 1;
    return c->ahead[v];
}

static void look_ahead(Classes *c, GraphId g)
{
    const Graph *graph = graph_at(c->side->m, g);
    for (uint32_t i = 0; i < graph->nodes.len; i++) {
        NodeId id = graph->nodes.at[i];
        const Node *n = node_at(c->side->m, id);
        uint64_t h = c->label[id] = diff_label(c->side->m, n);
        uint32_t nin = n->nin;
        while (nin && !n->in[nin - 1])
            nin--;
        for (uint32_t k = 0; k < nin; k++)
            h = hash_word(h, ahead_of(c, n->in[k]));
        c->from[id] = h;
        for (uint32_t k = 0; k < n->nout; k++)
            if (n->out[k])
                c->ahead[n->out[k]] =
                    is_float_cast(n) ? ahead_of(c, n->in[0]) : hash_word(h, k + 1) | 1;
    }
}

// What graphs inside of a node read from around it is read by the node.
static void add_inner(Classes *c, const Node *holder, uint64_t behind);

static void add_graph(Classes *c, GraphId g, uint64_t behind)
{
    const Graph *graph = graph_at(c->side->m, g);
    for (uint32_t i = 0; i < graph->nodes.len; i++) {
        const Node *n = node_at(c->side->m, graph->nodes.at[i]);
        for (uint32_t k = 0; k < n->nin; k++)
            c->sums[n->in[k]] += mix(SEED_INNER, behind);
        add_inner(c, n, behind);
    }
    for (uint32_t i = 0; i < graph->outputs.len; i++)
        c->sums[graph->outputs.at[i].value] += mix(SEED_INNER, behind);
}

static void add_inner(Classes *c, const Node *holder, uint64_t behind)
{
    for (uint32_t i = 0; i < holder->nattrs; i++) {
        const Attr *a = &holder->attrs[i];
        if (a->g)
            add_graph(c, a->g, behind);
        for (uint32_t k = 0; k < a->ngraphs; k++)
            add_graph(c, a->graphs[k], behind);
    }
}

static void look_behind(Classes *c, GraphId g)
{
    const Graph *graph = graph_at(c->side->m, g);
    for (uint32_t i = 0; i < graph->outputs.len; i++)
        c->sums[graph->outputs.at[i].value] += mix(SEED_OUTPUT, i + 1);
    for (uint32_t i = graph->nodes.len; i--;) {
        NodeId id = graph->nodes.at[i];
        const Node *n = node_at(c->side->m, id);
        uint64_t h = c->label[id];
        for (uint32_t k = 0; k < n->nout; k++)
            h = hash_word(h, n->out[k] ? c->sums[n->out[k]] : 0);
        c->behind[id] = h;
        bool cast = is_float_cast(n);
        for (uint32_t k = 0; k < n->nin; k++)
            if (n->in[k])
                c->sums[n->in[k]] += cast ? c->sums[n->out[0]] : mix(h, k + 1);
        add_inner(c, n, h);
    }
}

void diff_open_classes(DiffPair *p, DiffSide *side)
{
    const Model *m = side->m;
    Classes *c = side->classes = NEW(p->arena, Classes);
    c->side = side;
    c->first = side == &p->a;
    c->ahead = NEWS(p->arena, uint64_t, m->values.len);
    c->sums = NEWS(p->arena, uint64_t, m->values.len);
    c->label = NEWS(p->arena, uint64_t, m->nodes.len);
    c->from = NEWS(p->arena, uint64_t, m->nodes.len);
    c->behind = NEWS(p->arena, uint64_t, m->nodes.len);
}

// ---- pairs by key -------------------------------------------------------------------------------

static int compare_keys(const void *a, const void *b)
{
    const DiffKey *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

// The end of the stretch of one key that begins at i.
static uint32_t stretch(const DiffKeys *k, uint32_t i)
{
    uint32_t end = i;
    while (end < k->len && k->at[end].key == k->at[i].key)
        end++;
    return end;
}

static void pair_named(DiffPair *p, const DiffKey *a, uint32_t na, const DiffKey *b, uint32_t nb)
{
    Map names = {.arena = p->arena};
    for (uint32_t i = 0; i < nb; i++)
        *map_put(&names, diff_node_name(p->b.m, node_at(p->b.m, b[i].node)), NULL) = i;
    for (uint32_t i = 0; i < na; i++) {
        const uint32_t *at = map_get(&names, diff_node_name(p->a.m, node_at(p->a.m, a[i].node)));
        if (at)
            diff_pair_nodes(p, a[i].node, b[*at].node);
    }
}

static void pair_stretch(DiffPair *p, const DiffKey *a, uint32_t na, const DiffKey *b, uint32_t nb,
                         DiffCare care, DiffSpread *spread)
{
    if (na == 1 && nb == 1 && care == DIFF_BY_NAME) {
        const Node *x = node_at(p->a.m, a->node), *y = node_at(p->b.m, b->node);
        if (str_eq(diff_node_name(p->a.m, x), diff_node_name(p->b.m, y)))
            diff_pair_nodes(p, a->node, b->node);
        return;
    }
    if (na > 1 || nb > 1)
        pair_named(p, a, na, b, nb);
    if (care == DIFF_BY_NAME || (care == DIFF_ALONE && (na > 1 || nb > 1)))
        return;
    for (uint32_t i = 0, k = 0; i < na; i++) {
        while (k < nb && p->b.node[b[k].node])
            k++;
        if (k == nb)
            return;
        if (p->a.node[a[i].node])
            continue;
        diff_pair_nodes(p, a[i].node, b[k].node);
        if (spread)
            diff_spread_from(spread, a[i].node);
    }
}

void diff_pair_keys(DiffPair *p, DiffKeys *a, DiffKeys *b, DiffCare care, DiffSpread *spread)
{
    if (!a->len || !b->len)
        return;
    qsort(a->at, a->len, sizeof *a->at, compare_keys);
    qsort(b->at, b->len, sizeof *b->at, compare_keys);
    for (uint32_t i = 0, k = 0; i < a->len && k < b->len;) {
        if (a->at[i].key < b->at[k].key) {
            i = stretch(a, i);
        } else if (a->at[i].key > b->at[k].key) {
            k = stretch(b, k);
        } else {
            uint32_t i1 = stretch(a, i), k1 = stretch(b, k);
            pair_stretch(p, a->at + i, i1 - i, b->at + k, k1 - k, care, spread);
            i = i1;
            k = k1;
        }
    }
}

static DiffKeys keys_of(DiffPair *p, const Classes *c, GraphId g, bool ahead, bool behind)
{
    const Graph *graph = graph_at(c->side->m, g);
    DiffKeys keys = {0};
    vec_reserve(p->arena, &keys, graph->nodes.len);
    for (uint32_t i = 0; i < graph->nodes.len; i++) {
        NodeId id = graph->nodes.at[i];
        const Node *n = node_at(c->side->m, id);
        // What reads nothing is the same as all of its kind; Casts look like their operand.
        bool apart = n->nin && !is_float_cast(n);
        uint64_t key = hash_word(ahead ? c->from[id] : 1, behind ? c->behind[id] : 1);
        if (!c->side->node[id] && (apart || (ahead && behind)))
            vec_push(p->arena, &keys, ((DiffKey){key, id, i}));
    }
    return keys;
}

static void look_at(Classes *c, GraphId g)
{
    c->graph = g;
    look_ahead(c, g);
    look_behind(c, g);
}

static void pair_classes(DiffPair *p, GraphId ga, GraphId gb, bool ahead, bool behind,
                         DiffCare care, DiffSpread *spread)
{
    Arena *outer = p->arena;
    p->arena = arena_new();
    DiffKeys a = keys_of(p, p->a.classes, ga, ahead, behind);
    DiffKeys b = keys_of(p, p->b.classes, gb, ahead, behind);
    diff_pair_keys(p, &a, &b, care, spread);
    arena_free(p->arena);
    p->arena = outer;
}

void diff_match_classes(DiffPair *p, GraphId ga, GraphId gb)
{
    static const struct {
        bool ahead, behind;
        DiffCare care;
    } ways[] = {{true, true, DIFF_ALONE},
                {true, false, DIFF_BY_NAME},
                {false, true, DIFF_BY_NAME},
                {true, false, DIFF_ALONE},
                {false, true, DIFF_ALONE}};
    look_at(p->a.classes, ga);
    look_at(p->b.classes, gb);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        pair_classes(p, ga, gb, ways[i].ahead, ways[i].behind, ways[i].care, NULL);
}

// Twins: each pair says which of the twins around it belong together.
void diff_match_rest(DiffPair *p, GraphId ga, GraphId gb)
{
    DiffSpread *spread = diff_spread_new(p, ga, gb, true);
    diff_spread_all(spread);
    pair_classes(p, ga, gb, true, true, DIFF_ANY, spread);
    pair_classes(p, ga, gb, true, false, DIFF_ANY, spread);
    pair_classes(p, ga, gb, false, true, DIFF_ANY, spread);
    diff_spread_free(spread);
}
