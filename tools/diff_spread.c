// Nodes that belong together because what stands around them does: what makes the same operand of
// two nodes that are a pair, and what reads the same result of them.

#include "tools/diff.h"

enum { MAX_READERS = 64 };

struct DiffSpread {
    DiffPair *p;
    Arena *arena;
    GraphId ga, gb;
    bool strict;
    bool any;             // of readers that look alike those that come first belong together
    bool local;           // behind one pair: values that very many nodes read are passed over
    VEC(ValueId) pending; // values of the first model whose readers are to be looked at
    VEC(NodeId) back;     // nodes of the first model whose operands are
    DiffKeys ka, kb;      // of one value, kept for their room
};

typedef DiffSpread Spread;

static uint64_t key_of(const Spread *s, const Model *m, const Node *n)
{
    if (s->strict)
        return diff_label(m, n);
    return hash_bytes(n->op.at ? n->op.at : "", n->op.len,
                      hash_bytes(n->domain.at ? n->domain.at : "", n->domain.len, 1));
}

// The nodes of graph g, not paired yet, that read v, by what they are and by which operand.
static void readers_of(Spread *s, const DiffSide *side, GraphId g, ValueId v, DiffKeys *keys)
{
    const Uses *u = &side->uses;
    keys->len = 0;
    if (s->local && u->first[v + 1] - u->first[v] > MAX_READERS)
        return;
    for (uint32_t i = u->first[v]; i < u->first[v + 1]; i++) {
        NodeId id = u->uses[i].node;
        if (!id || side->node[id] || node_at(side->m, id)->graph != g)
            continue;
        uint64_t key = hash_word(key_of(s, side->m, node_at(side->m, id)), u->uses[i].index + 1);
        vec_push(s->arena, keys, ((DiffKey){key, id, node_at(side->m, id)->position}));
    }
}

static void take_results(Spread *s, NodeId id)
{
    const Node *n = node_at(s->p->a.m, id);
    for (uint32_t i = 0; i < n->nout; i++)
        if (n->out[i] && s->p->a.value[n->out[i]])
            vec_push(s->arena, &s->pending, n->out[i]);
}

// From two nodes to what makes their operands, as far as that leads.
static void go_back(Spread *s, NodeId from)
{
    DiffPair *p = s->p;
    vec_push(s->arena, &s->back, from);
    while (s->back.len) {
        NodeId id = s->back.at[--s->back.len];
        const Node *a = node_at(p->a.m, id), *b = node_at(p->b.m, p->a.node[id]);
        for (uint32_t k = 0; k < a->nin && k < b->nin; k++) {
            if (!a->in[k] || !b->in[k])
                continue;
            const Value *x = value_at(p->a.m, a->in[k]), *y = value_at(p->b.m, b->in[k]);
            if (x->def != DEF_NODE || y->def != DEF_NODE || x->graph != s->ga ||
                y->graph != s->gb || x->index != y->index || p->a.node[x->node] ||
                p->b.node[y->node])
                continue;
            if (key_of(s, p->a.m, node_at(p->a.m, x->node)) !=
                key_of(s, p->b.m, node_at(p->b.m, y->node)))
                continue;
            diff_pair_nodes(p, x->node, y->node);
            take_results(s, x->node);
            vec_push(s->arena, &s->back, x->node);
        }
    }
}

static void go_on(Spread *s, ValueId v)
{
    DiffPair *p = s->p;
    readers_of(s, &p->a, s->ga, v, &s->ka);
    if (s->ka.len)
        readers_of(s, &p->b, s->gb, p->a.value[v], &s->kb);
    if (!s->ka.len || !s->kb.len)
        return;
    diff_pair_keys(p, &s->ka, &s->kb, s->any ? DIFF_ANY : DIFF_ALONE, NULL);
    for (uint32_t i = 0; i < s->ka.len; i++)
        if (p->a.node[s->ka.at[i].node]) {
            take_results(s, s->ka.at[i].node);
            go_back(s, s->ka.at[i].node);
        }
}

DiffSpread *diff_spread_new(DiffPair *p, GraphId ga, GraphId gb, bool strict)
{
    Arena *a = arena_new();
    Spread *s = NEW(a, Spread);
    *s = (Spread){.p = p, .arena = a, .ga = ga, .gb = gb, .strict = strict};
    return s;
}

void diff_spread_free(DiffSpread *s)
{
    arena_free(s->arena);
}

static void spread_all(Spread *s)
{
    const DiffPair *p = s->p;
    const Graph *g = graph_at(p->a.m, s->ga);
    for (uint32_t i = 0; i < g->nodes.len; i++)
        if (p->a.node[g->nodes.at[i]]) {
            take_results(s, g->nodes.at[i]);
            go_back(s, g->nodes.at[i]);
        }
    for (uint32_t i = 0; i < g->inputs.len; i++)
        if (p->a.value[g->inputs.at[i].value])
            vec_push(s->arena, &s->pending, g->inputs.at[i].value);
    for (uint32_t i = 0; i < g->initializers.len; i++)
        if (p->a.value[g->initializers.at[i].value])
            vec_push(s->arena, &s->pending, g->initializers.at[i].value);
    while (s->pending.len)
        go_on(s, s->pending.at[--s->pending.len]);
}

void diff_spread_all(DiffSpread *s)
{
    s->local = s->any = false;
    spread_all(s);
    s->any = !s->strict;
    if (s->any)
        spread_all(s);
    s->local = true;
    s->any = false;
}

void diff_spread_from(DiffSpread *s, NodeId a)
{
    take_results(s, a);
    go_back(s, a);
    while (s->pending.len)
        go_on(s, s->pending.at[--s->pending.len]);
}
