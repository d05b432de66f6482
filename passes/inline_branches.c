// Puts the nodes of the branch that an If takes in its place, where its condition is known when
// compiling.
//
// Nodes and values of the branch move to the graph around it. A result that a node of the branch
// makes is the If's own output from then on; one that comes from elsewhere is handed on by an
// Identity. Names that occur elsewhere in the model too get a number. The other branch goes.
//
// in:  inferred types, sorted nodes.   out: the same, of fewer graphs.

#include "ir/registry.h"
#include "passes/pass.h"

typedef struct Inliner {
    Model *m;
    Arena *scratch;
    uint32_t nvalues;  // before the first Identity
    ValueId *renamed;  // by value: the output that took its place
    NodeId *moved_for; // by value: the If whose branch its node was in
    Map names;         // how often a name occurs
    VEC(NodeId) decided, dropped;
} Inliner;

// The branch that is taken, 0 where that is not known or the node is no If.
static GraphId taken_branch(Model *m, const Node *n)
{
    Str error;
    const TensorData *t =
        node_is(n, "If") && n->nin && n->in[0] ? value_at(m, n->in[0])->constant : NULL;
    GraphId yes = node_graph(n, "then_branch"), no = node_graph(n, "else_branch");
    if (!t || t->dtype != DT_BOOL || tensor_count(t) != 1 || !yes || !no)
        return 0;
    const unsigned char *at = tensor_elements(m, (TensorData *)(uintptr_t)t, &error);
    return !at ? 0 : *at ? yes : no;
}

static void collect(void *context, NodeId n)
{
    Inliner *in = context;
    GraphId g = taken_branch(in->m, node_at(in->m, n));
    if (g && graph_at(in->m, g)->outputs.len >= node_at(in->m, n)->nout)
        vec_push(in->scratch, &in->decided, n);
}

static void count_names(Inliner *in)
{
    in->names.arena = in->scratch;
    for (ValueId v = 1; v < in->nvalues; v++)
        ++*map_put(&in->names, value_at(in->m, v)->name, NULL);
}

static void move_value(Inliner *in, ValueId v, NodeId holder)
{
    Value *value = value_at(in->m, v);
    if (v == 0)
        return;
    value->graph = node_at(in->m, holder)->graph;
    if (v >= in->nvalues)
        return;
    in->moved_for[v] = holder;
    if (*map_get(&in->names, value->name) > 1)
        value->name = str_printf(in->m->arena, "%.*s#%u", STR_ARG(value->name), v);
}

static void move_nodes(Inliner *in, GraphId branch, NodeId holder)
{
    Model *m = in->m;
    GraphId to = node_at(m, holder)->graph;
    Graph from = *graph_at(m, branch);
    for (uint32_t i = 0; i < from.nodes.len; i++) {
        Node *n = node_at(m, from.nodes.at[i]);
        graph_insert_before(m, holder, from.nodes.at[i]);
        for (uint32_t k = 0; k < n->nout; k++)
            if (n->out[k])
                move_value(in, n->out[k], holder);
        for (uint32_t k = 0; k < n->nattrs; k++) {
            if (n->attrs[k].g)
                graph_at(m, n->attrs[k].g)->parent = to;
            for (uint32_t j = 0; j < n->attrs[k].ngraphs; j++)
                graph_at(m, n->attrs[k].graphs[j])->parent = to;
        }
    }
    for (uint32_t i = 0; i < from.initializers.len; i++) {
        move_value(in, from.initializers.at[i].value, holder);
        vec_push(m->arena, &graph_at(m, to)->initializers, from.initializers.at[i]);
    }
    for (uint32_t i = 0; i < from.sparse.len; i++) {
        move_value(in, from.sparse.at[i].value, holder);
        vec_push(m->arena, &graph_at(m, to)->sparse, from.sparse.at[i]);
    }
    for (uint32_t i = 0; i < from.infos.len; i++)
        vec_push(m->arena, &graph_at(m, to)->infos, from.infos.at[i]);
}

static ValueId resolve(const Inliner *in, ValueId v)
{
    while (v < in->nvalues && in->renamed[v])
        v = in->renamed[v];
    return v;
}

static void bind_result(Inliner *in, ValueId inner, ValueId outer, NodeId holder)
{
    Model *m = in->m;
    Value *to = value_at(m, outer), *from = value_at(m, inner);
    if (from->def == DEF_NODE && inner < in->nvalues && in->moved_for[inner] == holder) {
        in->renamed[inner] = outer;
        node_at(m, from->node)->out[from->index] = outer;
        to->node = from->node;
        to->index = from->index;
        return;
    }
    NodeId id = node_build(m, to->graph, "Identity", &inner, 1,
                           str_printf(m->arena, "unused#%u", m->values.len));
    node_at(m, id)->out[0] = outer;
    value_at(m, outer)->node = id;
    value_at(m, outer)->index = 0;
    graph_insert_before(m, holder, id);
}

static void empty(Graph *g)
{
    g->nodes.len = g->outputs.len = g->initializers.len = g->sparse.len = g->infos.len = 0;
}

static void collect_all(void *context, NodeId n)
{
    Inliner *in = context;
    vec_push(in->scratch, &in->dropped, n);
}

// Removes a branch with all that it holds.
static void drop_branch(Inliner *in, GraphId branch)
{
    in->dropped.len = 0;
    graph_walk(in->m, branch, collect_all, in);
    empty(graph_at(in->m, branch));
    for (uint32_t i = 0; i < in->dropped.len; i++) {
        Node *n = node_at(in->m, in->dropped.at[i]);
        n->dead = true;
        for (uint32_t k = 0; k < n->nattrs; k++) {
            if (n->attrs[k].g)
                empty(graph_at(in->m, n->attrs[k].g));
            for (uint32_t j = 0; j < n->attrs[k].ngraphs; j++)
                empty(graph_at(in->m, n->attrs[k].graphs[j]));
        }
    }
}

static void inline_branch(Inliner *in, NodeId holder)
{
    Model *m = in->m;
    Node n = *node_at(m, holder);
    GraphId taken = taken_branch(m, &n);
    GraphId yes = node_graph(&n, "then_branch"), no = node_graph(&n, "else_branch");
    move_nodes(in, taken, holder);
    for (uint32_t o = 0; o < n.nout; o++)
        if (n.out[o])
            bind_result(in, resolve(in, graph_at(m, taken)->outputs.at[o].value), n.out[o], holder);
    empty(graph_at(m, taken));
    drop_branch(in, taken == yes ? no : yes);
    graph_remove(m, holder);
}

static void rename_uses(Inliner *in)
{
    Model *m = in->m;
    for (NodeId n = 1; n < m->nodes.len; n++)
        for (uint32_t i = 0; i < node_at(m, n)->nin; i++)
            node_at(m, n)->in[i] = resolve(in, node_at(m, n)->in[i]);
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(m, g)->outputs.len; i++) {
            ValueId *v = &graph_at(m, g)->outputs.at[i].value;
            *v = resolve(in, *v);
        }
}

bool pass_inline_branches(Model *m, PassContext *c)
{
    Inliner in = {.m = m, .scratch = arena_new(), .nvalues = m->values.len};
    graph_walk(m, m->main, collect, &in);
    bool any = in.decided.len > 0;
    if (any) {
        in.renamed = NEWS(in.scratch, ValueId, in.nvalues);
        in.moved_for = NEWS(in.scratch, NodeId, in.nvalues);
        count_names(&in);
        for (uint32_t i = 0; i < in.decided.len; i++)
            if (!node_at(m, in.decided.at[i])->dead)
                inline_branch(&in, in.decided.at[i]);
        rename_uses(&in);
    }
    arena_free(in.scratch);
    return !any || pass_infer(m, c);
}
