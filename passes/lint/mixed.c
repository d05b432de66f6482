// MP001, MP002, MP009: float16 where float32 is usual, and float32 where float16 would do.

#include "ir/infer.h"
#include "passes/adaptor.h"
#include "passes/lint/edit.h"
#include "passes/lint/island.h"
#include "passes/lint/motion.h"
#include "passes/lint/story.h"
#include "passes/retype.h"

#include <string.h>

static bool listed(const Node *n, const char *const *ops)
{
    for (; is_standard_domain(n->domain) && *ops; ops++)
        if (str_is(n->op, *ops))
            return true;
    return false;
}

static bool is_half(DType t)
{
    return t == DT_F16 || t == DT_BF16;
}

// ---- MP001 --------------------------------------------------------------------------------------

// What torch.autocast runs in float32, of the operators that do not say in what they compute.
static const char *const wants_float32[] = {"CumProd",
                                            "CumSum",
                                            "Exp",
                                            "Log",
                                            "LogSoftmax",
                                            "LpNormalization",
                                            "NegativeLogLikelihoodLoss",
                                            "Pow",
                                            "Reciprocal",
                                            "ReduceL1",
                                            "ReduceL2",
                                            "ReduceLogSum",
                                            "ReduceLogSumExp",
                                            "ReduceProd",
                                            "ReduceSum",
                                            "ReduceSumSquare",
                                            "Softmax",
                                            "SoftmaxCrossEntropyLoss",
                                            "Softplus",
                                            NULL};

static DType runs_low(const Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    DType t = n->dead || !n->nin ? DT_NONE : lint_dtype(m, n->in[0]);
    return is_half(t) && listed(n, wants_float32) && island_allows(m, id, t, DT_F32) ? t : DT_NONE;
}

void lint_float32_operators(Lint *l)
{
    const NodeIds of = lint_nodes_of(l, wants_float32);
    for (uint32_t at = 0; at < of.len; at++) {
        const NodeId id = of.at[at];
        DType t = runs_low(l->m, id);
        if (t == DT_NONE || !lint_first_time(l, "MP001", id))
            continue;
        const Node *n = node_at(l->m, id);
        Diag *d =
            diag(l->diags, "MP001", SEV_WARNING, location_operand(l->m, l->arena, id, 0),
                 "%.*s runs in %s; autocast runs it in float32", STR_ARG(n->op), dtype_name(t));
        d->value = lint_name(l, n->in[0]);
        lint_about_node(l, d, id);
        Origin o = origin_find(lint_origins(l), n->in[0]);
        origin_trace(lint_origins(l), n->in[0], &o);
        lint_note_begin(l, d, t, o.value);
        lint_note_path(l, d, &o, id);
        Fix *f = diag_fix(l->diags, d, false,
                          "run it in float32: Casts around it, shared with others "
                          "of the kind beside it");
        f->casts = 2;
        diag_help(l->diags, d, "see `cameo explain MP001`");
    }
}

uint32_t repair_float32_operators(Model *m, bool unsafe)
{
    static const DType lows[] = {DT_F16, DT_BF16};
    uint32_t made = 0;
    for (int k = 0; unsafe && k < 2; k++) {
        Arena *a = arena_new();
        bool *in = NEWS(a, bool, m->nodes.len), any = false;
        for (NodeId id = 1; id < m->nodes.len; id++)
            any |= in[id] = runs_low(m, id) == lows[k];
        if (any) {
            made += island_run(m, in, lows[k], DT_F32);
            infer_model(m, NULL);
        }
        arena_free(a);
    }
    return made;
}

// ---- MP002 --------------------------------------------------------------------------------------

// One operation each, whose error does not grow: nothing is gained by more digits between.
static const char *const not_sensitive[] = {
    "Add", "Sub",     "Mul",     "Relu", "LeakyRelu",   "PRelu",     "Clip", "Max",
    "Min", "MaxPool", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", NULL};

static NodeId cast_that_makes(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    return value->def == DEF_NODE && is_cast(m, value->node) ? value->node : 0;
}

// The dtype that a lone float32 node is cast from and to; DT_NONE: it is none.
static DType island_of(const Model *m, const Uses *uses, NodeId id)
{
    const Node *n = node_at(m, id);
    DType t = DT_NONE;
    if (n->dead || n->nout != 1 || !n->out[0] || lint_dtype(m, n->out[0]) != DT_F32 ||
        !listed(n, not_sensitive))
        return DT_NONE;
    for (uint32_t i = 0; i < n->nin; i++) {
        NodeId cast = n->in[i] ? cast_that_makes(m, n->in[i]) : 0;
        DType from = cast ? cast_from(m, cast) : DT_NONE;
        bool constant = n->in[i] && value_at(m, n->in[i])->constant;
        if (!n->in[i] || (constant && !cast))
            continue;
        if (!is_half(from) || (t != DT_NONE && t != from))
            return DT_NONE;
        t = from;
    }
    for (uint32_t k = uses->first[n->out[0]]; k < uses->first[n->out[0] + 1]; k++) {
        NodeId cast = uses->uses[k].node;
        if (!cast || !is_cast(m, cast) || cast_to(m, cast) != t)
            return DT_NONE;
    }
    bool used = uses->first[n->out[0]] < uses->first[n->out[0] + 1];
    return used && t != DT_NONE && island_allows(m, id, DT_F32, t) ? t : DT_NONE;
}

void lint_costly_islands(Lint *l)
{
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        DType t = island_of(l->m, lint_uses(l), id);
        if (t == DT_NONE || !lint_first_time(l, "MP002", id))
            continue;
        const Node *n = node_at(l->m, id);
        Diag *d = diag(l->diags, "MP002", SEV_INFO, location_node(l->m, l->arena, id),
                       "%.*s alone runs in float32 between Casts from and to %s", STR_ARG(n->op),
                       dtype_name(t));
        d->value = lint_name(l, n->out[0]);
        lint_about_node(l, d, id);
        diag_note(l->diags, d,
                  "its one rounding is the same either way to within half a step of %s; the "
                  "Casts read and write more than it does",
                  dtype_name(t));
        diag_fix(l->diags, d, false, "run it in %s and delete the Casts", dtype_name(t));
    }
}

static void dissolve(Model *m, Edit *e, Builder *names, const Uses *uses, NodeId id, DType t)
{
    Node *n = node_at(m, id);
    for (uint32_t i = 0; i < n->nin; i++) {
        NodeId cast = n->in[i] ? cast_that_makes(m, n->in[i]) : 0;
        Use use = {id, n->graph, i};
        if (cast) {
            n->in[i] = node_at(m, cast)->in[0];
        } else if (n->in[i]) {
            NodeId fresh = adaptor_insert(names, n->in[i], "Cast", dtype_info(t)->abbrev, &use, 1);
            node_set_int(m, fresh, "to", t);
            n = node_at(m, id);
        }
    }
    ValueId v = n->out[0];
    for (uint32_t k = uses->first[v]; k < uses->first[v + 1]; k++)
        edit_drop(e, uses->uses[k].node, v);
    edit_declare(e, v, t);
}

// Casts that made operands of what runs in another dtype now, and make nothing else.
static void drop_unread(Model *m)
{
    Arena *a = arena_new();
    Uses uses = uses_of(m, a);
    Edit e = edit_begin(m);
    for (NodeId id = 1; id < m->nodes.len; id++) {
        ValueId v = !node_at(m, id)->dead && is_cast(m, id) ? node_at(m, id)->out[0] : 0;
        if (!v || uses.first[v] != uses.first[v + 1] || e.output[v])
            continue;
        graph_remove(m, id);
        e.count++;
    }
    edit_end(&e);
    arena_free(a);
}

uint32_t repair_costly_islands(Model *m, bool unsafe)
{
    uint32_t made = 0, nodes = m->nodes.len;
    Arena *a = arena_new();
    Uses uses = uses_of(m, a);
    Edit e = edit_begin(m);
    Builder names = builder_of(m, a);
    for (NodeId id = 1; unsafe && id < nodes; id++) {
        DType t = island_of(m, &uses, id);
        if (t == DT_NONE)
            continue;
        dissolve(m, &e, &names, &uses, id, t);
        made++;
    }
    edit_end(&e);
    if (made)
        drop_unread(m);
    arena_free(a);
    return made;
}

// ---- MP009 --------------------------------------------------------------------------------------

// A state that crosses a boundary widened: where it comes in it is narrowed, where it goes out
// widened.
typedef struct State {
    GraphId graph;
    uint32_t input, output; // of that graph
    NodeId enter, leave;
} State;
typedef VEC(State) States;

// Is every use of v a Cast to t? The first one.
static NodeId only_cast(const Model *m, const Uses *uses, ValueId v, DType t)
{
    for (uint32_t k = uses->first[v]; k < uses->first[v + 1]; k++) {
        NodeId id = uses->uses[k].node;
        if (!id || !is_cast(m, id) || cast_to(m, id) != t ||
            node_at(m, id)->graph != value_at(m, v)->graph)
            return 0;
    }
    return uses->first[v] < uses->first[v + 1] ? uses->uses[uses->first[v]].node : 0;
}

static bool find_state(const Model *m, const Uses *uses, GraphId g, uint32_t input, uint32_t output,
                       State *s)
{
    ValueId in = graph_at(m, g)->inputs.at[input].value;
    ValueId out = graph_at(m, g)->outputs.at[output].value;
    NodeId leave = cast_that_makes(m, out);
    if (!leave || uses->first[out + 1] - uses->first[out] != 1 || value_at(m, in)->init ||
        node_at(m, leave)->graph != g)
        return false;
    DType low = cast_from(m, leave), wide = cast_to(m, leave);
    const Value *inner = value_at(m, node_at(m, leave)->in[0]);
    NodeId enter = lint_dtype(m, in) == wide ? only_cast(m, uses, in, low) : 0;
    *s = (State){g, input, output, enter, leave};
    return enter && dtype_is_float(wide) && dtype_holds(wide, low) && wide != low &&
           inner->def == DEF_NODE && inner->graph == g;
}

// The model's own inputs and outputs belong together where data only moves from one to the other.
static void find_boundary(const Regions *x, States *found)
{
    const Model *m = x->m;
    const Graph *g = graph_at(m, m->main);
    uint32_t *by_region = NEWS(x->arena, uint32_t, x->len + 1u);
    for (uint32_t i = 0; i < g->outputs.len; i++) {
        NodeId leave = cast_that_makes(m, g->outputs.at[i].value);
        if (leave)
            by_region[x->of[node_at(m, leave)->in[0]]] = i + 1;
    }
    by_region[0] = 0;
    for (uint32_t i = 0; i < g->inputs.len; i++) {
        ValueId v = g->inputs.at[i].value;
        uint32_t first = x->uses->first[v];
        NodeId cast = first < x->uses->first[v + 1] ? x->uses->uses[first].node : 0;
        uint32_t output = cast && is_cast(m, cast) ? by_region[x->of[node_at(m, cast)->out[0]]] : 0;
        State s;
        if (output && find_state(m, x->uses, m->main, i, output - 1, &s))
            vec_push(x->arena, found, s);
    }
}

static void find_loops(const Regions *x, States *found)
{
    const Model *m = x->m;
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        GraphId g = !n->dead && node_is(n, "Loop") ? node_graph(n, "body") : 0;
        uint32_t carried = n->nin > 2 ? n->nin - 2 : 0;
        State s;
        if (!g || graph_at(m, g)->inputs.len != carried + 2 ||
            graph_at(m, g)->outputs.len < carried + 1)
            continue;
        for (uint32_t i = 0; i < carried; i++)
            if (n->in[2 + i] && find_state(m, x->uses, g, 2 + i, 1 + i, &s))
                vec_push(x->arena, found, s);
    }
}

static States find_states(Model *m, const Uses *uses, Arena *a)
{
    States found = {0};
    Regions x = regions_of(m, uses, a);
    find_boundary(&x, &found);
    find_loops(&x, &found);
    return found;
}

void lint_boundary_casts(Lint *l)
{
    States all = find_states(l->m, lint_uses(l), l->arena);
    for (uint32_t i = 0; i < all.len; i++) {
        const State *s = &all.at[i];
        bool loop = s->graph != l->m->main;
        DType low = cast_from(l->m, s->leave), wide = cast_to(l->m, s->leave);
        if (!lint_first_time(l, "MP009", s->leave))
            continue;
        Str in = lint_name(l, graph_at(l->m, s->graph)->inputs.at[s->input].value);
        Str out = lint_name(l, graph_at(l->m, s->graph)->outputs.at[s->output].value);
        Diag *d =
            diag(l->diags, "MP009", SEV_INFO, location_node(l->m, l->arena, s->leave),
                 "state \"%.*s\" leaves as %s and is narrowed to %s again when it comes back as "
                 "\"%.*s\"",
                 STR_ARG(out), dtype_name(wide), dtype_name(low), STR_ARG(in));
        d->value = out;
        lint_about_node(l, d, s->leave);
        diag_note(l->diags, d, "each %s costs two Casts of all of it, and twice its memory between",
                  loop ? "iteration" : "step");
        diag_fix(l->diags, d, false,
                 loop ? "carry it as %s: Casts before and after the loop only"
                      : "make the input and the output %s: that changes the model's "
                        "interface",
                 dtype_name(low));
    }
}

static void set_declared(Type *t, DType to)
{
    if (t && t->kind == TYPE_TENSOR && t->elem)
        t->elem = (int32_t)to;
}

// The graph's input and output hold `low`; its name stays that of the output.
static void narrow_state(Model *m, Edit *e, const Uses *uses, const State *s, DType low)
{
    Graph *g = graph_at(m, s->graph);
    ValueId in = g->inputs.at[s->input].value, out = g->outputs.at[s->output].value;
    ValueId inner = node_at(m, s->leave)->in[0];
    for (uint32_t k = uses->first[in]; k < uses->first[in + 1]; k++)
        edit_drop(e, uses->uses[k].node, in);
    Str name = value_at(m, out)->name;
    value_at(m, out)->name = value_at(m, inner)->name;
    value_at(m, inner)->name = name;
    g->outputs.at[s->output].value = inner;
    e->output[out] = false;
    edit_drop(e, s->leave, inner);
    set_declared(g->inputs.at[s->input].type, low);
    set_declared(g->outputs.at[s->output].type, low);
}

static void cast_around_loop(Model *m, Builder *names, const Uses *uses, const State *s, DType low,
                             DType wide)
{
    NodeId loop = graph_at(m, s->graph)->owner;
    Node *n = node_at(m, loop);
    Use use = {loop, n->graph, s->input};
    ValueId first = n->in[s->input], last = s->output - 1 < n->nout ? n->out[s->output - 1] : 0;
    node_set_int(m, adaptor_insert(names, first, "Cast", dtype_info(low)->abbrev, &use, 1), "to",
                 low);
    uint32_t count = last ? uses->first[last + 1] - uses->first[last] : 0;
    if (count)
        node_set_int(m,
                     adaptor_insert(names, last, "Cast", dtype_info(wide)->abbrev,
                                    &uses->uses[uses->first[last]], count),
                     "to", wide);
}

uint32_t repair_boundary_casts(Model *m, bool unsafe)
{
    Arena *a = arena_new();
    Uses uses = uses_of(m, a);
    States all = unsafe ? find_states(m, &uses, a) : (States){0};
    Edit e = edit_begin(m);
    Builder names = builder_of(m, a);
    uint32_t made = 0;
    for (uint32_t i = 0; i < all.len; i++) {
        const State *s = &all.at[i];
        ValueId inner = node_at(m, s->leave)->in[0];
        if (node_at(m, s->leave)->dead || node_at(m, s->enter)->dead || e.output[inner])
            continue;
        DType low = cast_from(m, s->leave), wide = cast_to(m, s->leave);
        narrow_state(m, &e, &uses, s, low);
        e.output[inner] = true;
        if (s->graph != m->main)
            cast_around_loop(m, &names, &uses, s, low, wide);
        made++;
    }
    edit_end(&e);
    arena_free(a);
    return made;
}
