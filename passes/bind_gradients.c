// Gives each Gradient a copy of the nodes between its xs and its y.
//
// Gradient names tensors of its graph, and derives the function between them at other values, its
// inputs. So the nodes are copied: what is named by xs becomes a Variable of the input, what is
// named by zs the input, and y of the copy is a further input of the Gradient. From then on it
// depends on what it derives like any node on its operands.
//
// in:  sorted nodes, functions inlined.   out: the same.

#include "ir/ops/gradient.h"
#include "passes/clone.h"
#include "passes/pass.h"

typedef struct Binder {
    Model *m;
    Diags *diags;
    Arena *scratch;
    VEC(NodeId) gradients;
    uint32_t nvalues;
    uint8_t *moves, *needed; // by value: depends on xs or zs; y depends on it
    bool failed;
} Binder;

enum { MAX_COPIES = 1 << 20 };

static void collect(void *context, NodeId n)
{
    Binder *b = context;
    uint32_t nxs, nzs;
    if (node_is_gradient(node_at(b->m, n)) && !gradient_is_bound(node_at(b->m, n), &nxs, &nzs))
        vec_push(b->scratch, &b->gradients, n);
}

static void refuse(Binder *b, NodeId n, const char *what, Str name)
{
    Str said = str_escaped(b->m->arena, name);
    diag(b->diags, "", SEV_ERROR, location_node(b->m, b->m->arena, n),
         "not supported: Gradient: %s \"%.*s\"", what, STR_ARG(said));
    b->failed = true;
}

static ValueId named(Binder *b, NodeId n, Str name)
{
    GraphId g = node_at(b->m, n)->graph;
    for (ValueId v = 1; v < b->m->values.len; v++)
        if (value_at(b->m, v)->graph == g && value_at(b->m, v)->def != DEF_NONE &&
            str_eq(value_at(b->m, v)->name, name))
            return v;
    refuse(b, n, "its graph has no tensor", name);
    return 0;
}

typedef struct Captured { // what graphs held by a node read from outside
    const Binder *b;
    bool moves;
} Captured;

static void look_inside(void *context, NodeId id)
{
    Captured *c = context;
    const Node *n = node_at(c->b->m, id);
    for (uint32_t k = 0; k < n->nin; k++)
        c->moves = c->moves || c->b->moves[n->in[k]];
    for (uint32_t k = 0; k < n->nattrs; k++)
        if (n->attrs[k].g) {
            const Graph *g = graph_at(c->b->m, n->attrs[k].g);
            for (uint32_t o = 0; o < g->outputs.len; o++)
                c->moves = c->moves || c->b->moves[g->outputs.at[o].value];
        }
}

// Does what the node gives depend on something that moves?
static bool node_moves(const Binder *b, NodeId id)
{
    Captured c = {.b = b};
    const Node *n = node_at(b->m, id);
    look_inside(&c, id);
    for (uint32_t k = 0; k < n->nattrs; k++)
        if (n->attrs[k].g)
            graph_walk(b->m, n->attrs[k].g, look_inside, &c);
    return c.moves;
}

static void mark(Binder *b, GraphId g, ValueId y)
{
    const Graph *graph = graph_at(b->m, g);
    for (uint32_t i = 0; i < graph->nodes.len; i++) {
        const Node *n = node_at(b->m, graph->nodes.at[i]);
        bool moves = node_moves(b, graph->nodes.at[i]);
        for (uint32_t k = 0; k < n->nout; k++)
            b->moves[n->out[k]] |= moves;
    }
    b->needed[y] = 1;
    b->moves[0] = b->needed[0] = 0;
    for (uint32_t i = graph->nodes.len; i-- > 0;) {
        const Node *n = node_at(b->m, graph->nodes.at[i]);
        bool needed = false;
        for (uint32_t k = 0; k < n->nout; k++)
            needed = needed || (n->out[k] && b->needed[n->out[k]]);
        for (uint32_t k = 0; k < n->nin; k++)
            b->needed[n->in[k]] |= needed;
    }
}

static ValueId variable_of(Binder *b, NodeId gradient, ValueId from, Str name)
{
    Model *m = b->m;
    GraphId g = node_at(m, gradient)->graph;
    Str fresh = str_printf(m->arena, "%.*s#%u", STR_ARG(name), m->values.len);
    NodeId n = node_build(m, g, VARIABLE_OP, &from, 1, fresh);
    node_at(m, n)->domain = STR(TRAINING_DOMAIN);
    node_at(m, n)->has |= NODE_HAS_DOMAIN;
    graph_insert_before(m, gradient, n);
    return node_at(m, n)->out[0];
}

// The nodes between what is mapped and y, before the Gradient.
static void copy_nodes(Binder *b, NodeId gradient, Clone *c)
{
    Model *m = b->m;
    GraphId g = node_at(m, gradient)->graph;
    VEC(NodeId) originals = {0};
    for (uint32_t i = 0; i < graph_at(m, g)->nodes.len; i++) {
        NodeId id = graph_at(m, g)->nodes.at[i];
        const Node *n = node_at(m, id);
        bool copied = false;
        for (uint32_t k = 0; k < n->nout; k++) {
            ValueId v = n->out[k];
            copied = copied || (v && v < c->nmap && b->needed[v] && b->moves[v] && !c->map[v]);
        }
        for (uint32_t k = 0; copied && k < n->nattrs; k++)
            if (n->attrs[k].g || n->attrs[k].ngraphs)
                refuse(b, gradient, "it goes through a graph of", n->op);
        if (copied)
            vec_push(b->scratch, &originals, id);
    }
    for (uint32_t i = 0; i < originals.len && !b->failed; i++)
        graph_insert_before(m, gradient, clone_node(c, originals.at[i], g));
}

static void bind_gradient(Binder *b, NodeId id)
{
    Model *m = b->m;
    Node n = *node_at(m, id);
    const Attr *xs = attr_find(&n, "xs"), *zs = attr_find(&n, "zs"), *y = attr_find(&n, "y");
    uint32_t nxs = xs ? xs->nstrings : 0, nzs = zs ? zs->nstrings : 0, given = nxs + nzs;
    if (!y || n.nin != given) {
        refuse(b, id, "there are not as many inputs as xs and zs name for", y ? y->s : STR(""));
        return;
    }
    ValueId *roots = NEWS(b->scratch, ValueId, given + 1u),
            *ins = NEWS(m->arena, ValueId, given + 1u), target = named(b, id, y->s);
    for (uint32_t i = 0; i < given; i++)
        roots[i] = named(b, id, i < nxs ? xs->strings[i] : zs->strings[i - nxs]);
    for (uint32_t i = 0; i < given; i++)
        if (!n.in[i])
            refuse(b, id, "an input is missing for", y->s);
    if (b->failed)
        return;
    b->nvalues = m->values.len;
    b->moves = NEWS(b->scratch, uint8_t, b->nvalues);
    b->needed = NEWS(b->scratch, uint8_t, b->nvalues);
    Clone c = {.m = m, .nmap = b->nvalues, .limit = MAX_COPIES};
    c.map = NEWS(b->scratch, ValueId, b->nvalues);
    for (uint32_t i = 0; i < given; i++)
        b->moves[roots[i]] = 1;
    mark(b, n.graph, target);
    for (uint32_t i = 0; i < given; i++) {
        ins[i] = i < nxs ? variable_of(b, id, n.in[i], xs->strings[i]) : n.in[i];
        c.map[roots[i]] = ins[i];
    }
    copy_nodes(b, id, &c);
    ins[given] = clone_mapped(&c, target);
    Node *bound = node_at(m, id);
    bound->in = ins;
    bound->nin = given + 1;
}

bool pass_bind_gradients(Model *m, PassContext *c)
{
    Binder b = {.m = m, .diags = c->diags, .scratch = arena_new()};
    graph_walk(m, m->main, collect, &b);
    for (uint32_t i = 0; i < b.gradients.len && !b.failed; i++)
        bind_gradient(&b, b.gradients.at[i]);
    arena_free(b.scratch);
    return !b.failed;
}
