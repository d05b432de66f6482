// Makes an If of a Squeeze without axes for each dim of which nobody knows whether it is 1: its
// branches hold a Squeeze that names its axes.
//
// A value has one rank in a program, and what such a Squeeze gives has several. In the branches the
// rank is known, and passes/sink_if.c moves what depends on it there. Where the rank is declared,
// or more than MAX_UNKNOWN dims are open, the Squeeze is left as it is.
//
// in:  inferred types, sorted nodes.   out: the same.

#include "ir/builder.h"
#include "ir/infer.h"
#include "passes/pass.h"

#include <string.h>

enum { MAX_UNKNOWN = 3, SINCE_AXES_INPUT = 13 };

typedef struct Split {
    Model *m;
    Arena *scratch;
    VEC(NodeId) found;
    Builder builder;
    NodeId origin; // the Squeeze in question
    int64_t axes[MAX_RANK];
    uint32_t naxes;
    uint32_t open[MAX_UNKNOWN], nopen;
} Split;

static bool note_dims(Split *s, NodeId id)
{
    const Node *n = node_at(s->m, id);
    s->naxes = s->nopen = 0;
    if (!node_is(n, "Squeeze") || !n->def || attr_find(n, "axes") || n->nin < 1 || !n->in[0] ||
        (n->nin > 1 && n->in[1]) || n->nout != 1 || !n->out[0] ||
        value_at(s->m, n->out[0])->rank >= 0)
        return false;
    const Value *x = value_at(s->m, n->in[0]);
    for (int32_t i = 0; i < x->rank && i < MAX_RANK; i++) {
        int64_t k;
        if (!poly_is_const(x->dims[i], &k)) {
            if (s->nopen == MAX_UNKNOWN)
                return false;
            s->open[s->nopen++] = (uint32_t)i;
        } else if (k == 1) {
            s->axes[s->naxes++] = i;
        }
    }
    return x->rank <= MAX_RANK && s->nopen > 0;
}

static void collect(void *context, NodeId n)
{
    Split *s = context;
    if (note_dims(s, n))
        vec_push(s->scratch, &s->found, n);
}

// ---- building

static ValueId constant(Split *s, GraphId g, uint32_t rank, int64_t count, const int64_t *elements)
{
    Str base = value_at(s->m, node_at(s->m, s->origin)->out[0])->name;
    return builder_constant(&s->builder, g, base, "axis",
                            tensor_new(s->m->arena, DT_I64, rank, &count, elements));
}

// A node that stands, for people, where the Squeeze stood; in the Squeeze's own graph before it.
static ValueId build(Split *s, GraphId g, const char *op, const ValueId *in, uint32_t nin)
{
    NodeId id = builder_node(&s->builder, g, s->origin, op, in, nin);
    if (g == node_at(s->m, s->origin)->graph)
        graph_insert_before(s->m, s->origin, id);
    else
        graph_append(s->m, g, id);
    return node_at(s->m, id)->out[0];
}

static ValueId squeeze(Split *s, GraphId g, ValueId x)
{
    if (s->naxes == 0)
        return build(s, g, "Identity", &x, 1);
    if (opset_of(s->m, node_at(s->m, s->origin)) >= SINCE_AXES_INPUT)
        return build(s, g, "Squeeze", (ValueId[]){x, constant(s, g, 1, (int64_t)s->naxes, s->axes)},
                     2);
    ValueId y = build(s, g, "Squeeze", &x, 1);
    Attr *a = node_set_attr(s->m, value_at(s->m, y)->node, "axes", ATTR_INTS);
    int64_t *axes = NEWS(s->m->arena, int64_t, s->naxes);
    memcpy(axes, s->axes, s->naxes * sizeof *axes);
    a->ints = axes;
    a->nints = s->naxes;
    return y;
}

static ValueId choose(Split *s, GraphId g, ValueId x, uint32_t next);

static GraphId branch(Split *s, GraphId parent, ValueId x, uint32_t next)
{
    GraphId g = graph_new(s->m);
    graph_at(s->m, g)->parent = parent;
    graph_at(s->m, g)->name = STR("branch");
    graph_at(s->m, g)->has = 1;
    ValueInfo out = {.value = choose(s, g, x, next)};
    vec_push(s->m->arena, &graph_at(s->m, g)->outputs, out);
    return g;
}

// The squeezed value, with the dims open[next..] still to be decided.
static ValueId choose(Split *s, GraphId g, ValueId x, uint32_t next)
{
    if (next == s->nopen)
        return squeeze(s, g, x);
    int64_t dim = s->open[next], unit = 1;
    ValueId shape = build(s, g, "Shape", &x, 1);
    ValueId size = build(s, g, "Gather", (ValueId[]){shape, constant(s, g, 0, 0, &dim)}, 2);
    ValueId is_one = build(s, g, "Equal", (ValueId[]){size, constant(s, g, 0, 0, &unit)}, 2);
    ValueId y = build(s, g, "If", &is_one, 1);
    NodeId holder = value_at(s->m, y)->node;
    s->axes[s->naxes++] = dim;
    GraphId yes = branch(s, g, x, next + 1);
    s->naxes--;
    GraphId no = branch(s, g, x, next + 1);
    graph_at(s->m, yes)->owner = graph_at(s->m, no)->owner = holder;
    node_set_attr(s->m, holder, "then_branch", ATTR_GRAPH)->g = yes;
    node_set_attr(s->m, holder, "else_branch", ATTR_GRAPH)->g = no;
    return y;
}

static void split(Split *s, NodeId id)
{
    s->origin = id;
    note_dims(s, id);
    const Node *n = node_at(s->m, id);
    ValueId made = choose(s, n->graph, n->in[0], 0);
    builder_replace(&s->builder, id, value_at(s->m, made)->node);
}

bool pass_split_squeeze(Model *m, PassContext *c)
{
    Split s = {.m = m, .scratch = arena_new()};
    graph_walk(m, m->main, collect, &s);
    if (s.found.len)
        s.builder = builder_of(m, s.scratch);
    for (uint32_t i = 0; i < s.found.len; i++)
        split(&s, s.found.at[i]);
    bool any = s.found.len > 0;
    arena_free(s.scratch);
    return !any || pass_infer(m, c);
}
