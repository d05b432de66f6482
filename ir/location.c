// Where things stand in a model, as diagnostics name it: graph/If_0.then_branch/node[/stft/Conv].
#include "ir/graph.h"

enum { DEEPEST = 128 }; // graphs shown around a place; import admits fewer

static void put_node(const Model *m, const Node *n, Buf *b)
{
    if (n->name.len) {
        buf_escaped(b, n->name);
        return;
    }
    buf_printf(b, "#%u", n->position);
    if (n->nout && n->out[0]) {
        buf_printf(b, " ->");
        buf_quoted(b, value_at(m, n->out[0])->name);
    }
}

// The attribute by which the node holds the graph: "then_branch", or "bodies[1]".
static void put_holder(const Model *m, const Node *n, GraphId g, Buf *b)
{
    (void)m;
    for (uint32_t i = 0; i < n->nattrs; i++) {
        const Attr *a = &n->attrs[i];
        if (a->g == g) {
            buf_escaped(b, a->name);
            return;
        }
        for (uint32_t k = 0; k < a->ngraphs; k++) {
            if (a->graphs[k] != g)
                continue;
            buf_escaped(b, a->name);
            buf_printf(b, "[%u]", k);
            return;
        }
    }
}

// A graph that no node holds: the main graph, a function's body, or a graph for training.
static void put_root(const Model *m, GraphId g, Buf *b)
{
    if (graph_at(m, g)->function) {
        const Function *f = &m->functions.at[graph_at(m, g)->function - 1];
        buf_printf(b, "function[");
        if (f->domain.len) {
            buf_escaped(b, f->domain);
            buf_printf(b, "::");
        }
        buf_escaped(b, f->name);
        if (f->overload.len) {
            buf_char(b, ':');
            buf_escaped(b, f->overload);
        }
        buf_char(b, ']');
        return;
    }
    for (uint32_t i = 0; i < m->training.len; i++) {
        const TrainingInfo *t = &m->training.at[i];
        if (g && (t->initialization == g || t->algorithm == g)) {
            buf_printf(b, "training[%u].%s", i,
                       t->initialization == g ? "initialization" : "algorithm");
            return;
        }
    }
    buf_printf(b, "graph");
}

static void put_graph(const Model *m, GraphId g, Buf *b)
{
    GraphId around[DEEPEST];
    uint32_t n = 0;
    while (n + 1 < DEEPEST && g && graph_at(m, g)->owner) {
        around[n++] = g;
        g = graph_at(m, g)->parent;
    }
    put_root(m, g, b);
    while (n--) {
        const Node *owner = node_at(m, graph_at(m, around[n])->owner);
        buf_char(b, '/');
        put_node(m, owner, b);
        buf_char(b, '.');
        put_holder(m, owner, around[n], b);
    }
}

static Str finish(Arena *a, Buf *b)
{
    Str s = {arena_copy(a, b->at, b->len), b->len};
    buf_free(b);
    return s;
}

// What stands in the file: of a copy, the node it was copied from.
static NodeId written(const Model *m, NodeId n)
{
    return node_at(m, n)->copy_of ? node_at(m, n)->copy_of : n;
}

static void put_path(const Model *m, NodeId n, Buf *b)
{
    put_graph(m, node_at(m, n)->graph, b);
    buf_printf(b, "/node[");
    put_node(m, node_at(m, n), b);
    buf_char(b, ']');
}

Str location_node(const Model *m, Arena *a, NodeId n)
{
    Buf b = {0};
    put_path(m, written(m, n), &b);
    return finish(a, &b);
}

static void put_end(const Model *m, const char *kind, uint32_t index, const ValueId *at,
                    uint32_t count, Buf *b)
{
    buf_printf(b, ":%s%u", kind, index);
    if (index >= count || !at[index])
        return;
    buf_char(b, '(');
    buf_escaped(b, value_at(m, at[index])->name);
    buf_char(b, ')');
}

Str location_operand(const Model *m, Arena *a, NodeId n, uint32_t index)
{
    Buf b = {0};
    n = written(m, n);
    put_path(m, n, &b);
    put_end(m, "in", index, node_at(m, n)->in, node_at(m, n)->nin, &b);
    return finish(a, &b);
}

Str location_result(const Model *m, Arena *a, NodeId n, uint32_t index)
{
    Buf b = {0};
    n = written(m, n);
    put_path(m, n, &b);
    put_end(m, "out", index, node_at(m, n)->out, node_at(m, n)->nout, &b);
    return finish(a, &b);
}

Str location_graph(const Model *m, Arena *a, GraphId g)
{
    Buf b = {0};
    put_graph(m, g, &b);
    return finish(a, &b);
}

Str location_value(const Model *m, Arena *a, ValueId v)
{
    static const char *const kinds[] = {
        [DEF_NONE] = "value",
        [DEF_INPUT] = "input",
        [DEF_INITIALIZER] = "initializer",
        [DEF_SPARSE] = "sparse_initializer",
    };
    if (value_at(m, v)->copy_of)
        v = value_at(m, v)->copy_of;
    const Value *value = value_at(m, v);
    if (value->def == DEF_NODE)
        return location_result(m, a, value->node, value->index);
    Buf b = {0};
    put_graph(m, value->graph, &b);
    buf_printf(&b, "/%s(", kinds[value->def]);
    buf_escaped(&b, value->name);
    buf_char(&b, ')');
    return finish(a, &b);
}

uint32_t location_calls(const Model *m, NodeId n, NodeId *calls, uint32_t max)
{
    uint32_t count = 0;
    for (NodeId call = node_at(m, n)->call; call && count < max; call = node_at(m, call)->call)
        calls[count++] = call;
    return count;
}

ValueId value_written(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    const Node *n = value->def == DEF_NODE ? node_at(m, value->node) : NULL;
    const Node *body = n && n->copy_of ? node_at(m, n->copy_of) : NULL;
    if (body && value->index < body->nout)
        return body->out[value->index];
    return value->copy_of ? value->copy_of : v;
}

bool value_leaves_call(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    NodeId at = value->def == DEF_NODE ? node_at(m, value->node)->call : 0;
    const Node *call = at ? node_at(m, at) : NULL;
    for (uint32_t o = 0; call && o < call->nout; o++)
        if (call->out[o] == v)
            return true;
    return false;
}

bool node_is_within(const Model *m, NodeId n, NodeId call)
{
    for (NodeId at = n ? node_at(m, n)->call : 0; at; at = node_at(m, at)->call)
        if (at == call)
            return true;
    return false;
}

Str value_shown_name(const Model *m, ValueId v)
{
    return value_at(m, value_at(m, v)->copy_of ? value_at(m, v)->copy_of : v)->name;
}
