// Training through float16 made safe: the loss scaled, gradients unscaled and looked at, updates
// that overflowed skipped.
//
// Gradients below 2.98e-8 are 0 in float16; those of a loss times a scale are not. What each
// Gradient gives is divided at once, so that whatever reads it (clipping, norms, optimizers) has it
// in its own unit. An optimizer that is given one that is not finite gives what it was given; where
// the model has none, and updates are sums and products, such a gradient is 0, which leaves a
// weight that moves by its gradient alone where it was. The weights are not touched: optimizers
// take float32 and float64 only, so that what reads a weight in 16 bits reads a Cast of the float32
// one.
//
// in:  inferred graphs, Gradients as the model has them.   out: sorted; dtypes are those that were.

#include "passes/scale_loss.h"

#include "ir/builder.h"
#include "ir/ops/gradient.h"
#include "passes/elements.h"
#include "passes/instrument.h"
#include "passes/pass.h"

#include <math.h>

enum { SINCE_WHERE = 9, DEFAULT_SCALE = 1024 };

typedef struct Scaling {
    Model *m;
    Diags *diags;
    Arena *scratch;
    Builder builder;
    double scale;
    VEC(NodeId) gradients, optimizers;
    ValueId good; // of the main graph: a bool, all gradients are finite; 0: none is looked at
    bool failed;
} Scaling;

static void collect(void *context, NodeId id)
{
    Scaling *s = context;
    const Node *n = node_at(s->m, id);
    if (node_is_gradient(n))
        vec_push(s->scratch, &s->gradients, id);
    else if (optimizer_group(n))
        vec_push(s->scratch, &s->optimizers, id);
}

static void refuse(Scaling *s, NodeId id, const char *what)
{
    diag(s->diags, "", SEV_ERROR, location_node(s->m, s->m->arena, id), "loss scaling: %s", what);
    s->failed = true;
}

// The tensor of its own graph that a Gradient derives, 0 if there is none.
static ValueId target_of(const Scaling *s, NodeId id)
{
    const Node *n = node_at(s->m, id);
    const Attr *y = attr_find(n, "y");
    for (ValueId v = 1; y && v < s->m->values.len; v++)
        if (value_at(s->m, v)->graph == n->graph && value_at(s->m, v)->def != DEF_NONE &&
            str_eq(value_at(s->m, v)->name, y->s))
            return v;
    return 0;
}

// Is it a scale: a constant above 1, or an input of one number?
static bool is_scale(Scaling *s, ValueId v)
{
    const Value *value = value_at(s->m, v);
    const Elements of = elements_of(s->m, v);
    if (!dtype_is_float(value->dtype) || value->rank != 0)
        return false;
    if (!value->constant)
        return value->def == DEF_INPUT;
    return of.n && element_at(&of, 0) > 1;
}

static bool is_scaled(Scaling *s, NodeId gradient)
{
    ValueId y = target_of(s, gradient);
    const Value *value = value_at(s->m, y);
    const Node *n = y && value->def == DEF_NODE ? node_at(s->m, value->node) : NULL;
    return n && node_is(n, "Mul") && n->nin == 2 && n->in[0] && n->in[1] &&
           is_scale(s, n->in[0]) != is_scale(s, n->in[1]);
}

// ---- building

// A node before `anchor`, its result named after `base`.
static ValueId build(Scaling *s, NodeId anchor, Str base, const char *op, ValueId a, ValueId b,
                     ValueId c)
{
    ValueId in[] = {a, b, c};
    GraphId g = node_at(s->m, anchor)->graph;
    NodeId id = node_build(s->m, g, op, in, c ? 3 : b ? 2 : 1, builder_name(&s->builder, base, op));
    graph_insert_before(s->m, anchor, id);
    return node_at(s->m, id)->out[0];
}

static ValueId number(Scaling *s, NodeId anchor, Str base, DType t, double v)
{
    uint64_t bits = 0;
    scalar_store(t, &bits, scalar_cast(DT_F64, t, (Scalar){.f = v}, false));
    return builder_constant(&s->builder, node_at(s->m, anchor)->graph, base, "scale",
                            tensor_new(s->m->arena, t, 0, NULL, &bits));
}

// What `id` gave as result o, `made` gives from now on; the node gives a new value, which is
// returned. `made` may be told of it afterwards.
static ValueId give_way(Scaling *s, NodeId id, uint32_t o, const char *what)
{
    ValueId old = node_at(s->m, id)->out[o];
    GraphId g = node_at(s->m, id)->graph;
    Str name = builder_name(&s->builder, value_at(s->m, old)->name, what);
    ValueId fresh = value_new(s->m, g, name);
    Value *v = value_at(s->m, fresh);
    v->def = DEF_NODE;
    v->node = id;
    v->index = o;
    v->dtype = value_at(s->m, old)->dtype;
    node_at(s->m, id)->out[o] = fresh;
    // Declared: the schema of Gradient has no rule that tells others what it gives.
    Type *t = instrument_type(s->m, value_at(s->m, old));
    if (t)
        vec_push(s->m->arena, &graph_at(s->m, g)->infos,
                 ((ValueInfo){.value = fresh, .type = t, .has = 1}));
    return fresh;
}

static void take_over(Scaling *s, ValueId made, ValueId old)
{
    NodeId maker = value_at(s->m, made)->node;
    value_at(s->m, made)->def = DEF_NONE;
    node_at(s->m, maker)->out[0] = old;
    value_at(s->m, old)->node = maker;
    value_at(s->m, old)->index = 0;
}

// One bool: all of the floats among n gradients are finite; 0: there is none. NaN is not below
// infinity.
static ValueId all_finite(Scaling *s, NodeId anchor, const ValueId *gradients, uint32_t n)
{
    ValueId all = 0;
    for (uint32_t i = 0; i < n; i++) {
        ValueId g = gradients[i];
        DType t = g ? value_at(s->m, g)->dtype : DT_NONE;
        if (!dtype_is_float(t))
            continue;
        Str base = value_at(s->m, g)->name;
        ValueId size = build(s, anchor, base, "Abs", g, 0, 0);
        ValueId most = build(s, anchor, base, "ReduceMax", size, 0, 0);
        node_set_int(s->m, value_at(s->m, most)->node, "keepdims", 0);
        ValueId finite =
            build(s, anchor, base, "Less", most, number(s, anchor, base, t, (double)INFINITY), 0);
        all = all ? build(s, anchor, base, "And", all, finite, 0) : finite;
    }
    return all;
}

static void note_finite(Scaling *s, NodeId id, ValueId good)
{
    if (good && node_at(s->m, id)->graph == s->m->main)
        s->good = s->good ? build(s, id, STR("gradients"), "And", s->good, good, 0) : good;
}

static void scale_loss_of(Scaling *s, NodeId id, ValueId y)
{
    Str base = value_at(s->m, y)->name;
    DType t = value_at(s->m, y)->dtype;
    ValueId scaled = build(s, id, base, "Mul", y, number(s, id, base, t, s->scale), 0);
    node_set_str(s->m, id, "y", value_at(s->m, scaled)->name);
}

// What a Gradient gave comes divided from now on, and with a zero for what is not finite where no
// optimizer looks.
static void unscale_gradients(Scaling *s, NodeId id)
{
    const uint32_t n = node_at(s->m, id)->nout;
    const bool checked = s->optimizers.len == 0;
    ValueId *old = NEWS(s->scratch, ValueId, n + 1u), *unscaled = NEWS(s->scratch, ValueId, n + 1u);
    for (uint32_t o = 0; o < n; o++) {
        old[o] = node_at(s->m, id)->out[o];
        if (!old[o])
            continue;
        Str base = value_at(s->m, old[o])->name;
        ValueId fresh = give_way(s, id, o, "scaled");
        DType t = value_at(s->m, fresh)->dtype;
        unscaled[o] = build(s, id, base, "Div", fresh, number(s, id, base, t, s->scale), 0);
        value_at(s->m, unscaled[o])->dtype = t;
    }
    ValueId good = checked ? all_finite(s, id, unscaled, n) : 0;
    for (uint32_t o = 0; o < n; o++) {
        if (!old[o])
            continue;
        ValueId u = unscaled[o];
        Str base = value_at(s->m, old[o])->name;
        DType t = value_at(s->m, u)->dtype;
        if (good && dtype_is_float(t))
            u = build(s, id, base, "Where", good, u, number(s, id, base, t, 0));
        take_over(s, u, old[o]);
    }
    note_finite(s, id, good);
}

static void scale_gradient(Scaling *s, NodeId id)
{
    ValueId y = target_of(s, id);
    if (!y) {
        refuse(s, id, "a Gradient's y is not a tensor of its graph");
        return;
    }
    if (!dtype_is_float(value_at(s->m, y)->dtype)) {
        refuse(s, id, "a Gradient's y is no float");
        return;
    }
    scale_loss_of(s, id, y);
    unscale_gradients(s, id);
}

static void guard_optimizer(Scaling *s, NodeId id)
{
    const uint32_t group = optimizer_group(node_at(s->m, id));
    ValueId *gradients = NEWS(s->scratch, ValueId, group + 1u);
    for (uint32_t i = 0; i < group; i++)
        gradients[i] = node_at(s->m, id)->in[2 + group + i];
    const ValueId good = all_finite(s, id, gradients, group);
    for (uint32_t o = 0; good && o < node_at(s->m, id)->nout; o++) {
        ValueId old = node_at(s->m, id)->out[o];
        ValueId before = node_at(s->m, id)->in[o < group ? 2 + o : 2 + group + o];
        if (!old || !before)
            continue;
        Str base = value_at(s->m, old)->name;
        ValueId fresh = give_way(s, id, o, "unchecked");
        take_over(s, build(s, id, base, "Where", good, fresh, before), old);
    }
    note_finite(s, id, good);
}

static void add_output(Scaling *s, ValueId all)
{
    Model *m = s->m;
    Graph *g = graph_at(m, m->main);
    NodeId last = g->nodes.at[g->nodes.len - 1];
    ValueId v = build(s, last, STR("gradients_finite"), "Identity", all, 0, 0);
    value_at(m, v)->name = builder_name(&s->builder, STR("gradients"), "finite");
    Type *t = NEW(m->arena, Type);
    *t = (Type){.kind = TYPE_TENSOR, .elem = DT_BOOL, .has_elem = true, .has_shape = true};
    vec_push(m->arena, &graph_at(m, m->main)->outputs,
             ((ValueInfo){.value = v, .type = t, .has = 1}));
}

bool scale_loss(Model *m, Diags *diags, double scale)
{
    Scaling s = {.m = m, .diags = diags, .scratch = arena_new(), .scale = scale};
    graph_walk(m, m->main, collect, &s);
    bool alone = s.gradients.len > 0;
    for (uint32_t i = 0; i < s.gradients.len; i++) {
        const Node *n = node_at(m, s.gradients.at[i]);
        alone = alone && !is_scaled(&s, s.gradients.at[i]);
        Node probe = {.domain = STR(""), .graph = n->graph};
        if (opset_of(m, &probe) < SINCE_WHERE)
            refuse(&s, s.gradients.at[i], "the opset has no Where; it needs 9 or later");
    }
    if (alone && !s.failed) {
        s.builder = builder_of(m, s.scratch);
        for (uint32_t i = 0; i < s.gradients.len && !s.failed; i++)
            scale_gradient(&s, s.gradients.at[i]);
        for (uint32_t i = 0; i < s.optimizers.len && !s.failed; i++)
            guard_optimizer(&s, s.optimizers.at[i]);
        if (s.good && !s.failed)
            add_output(&s, s.good);
        model_sort(m, s.scratch);
    }
    arena_free(s.scratch);
    return !s.failed;
}

bool pass_scale_loss(Model *m, PassContext *c)
{
    return scale_loss(m, c->diags, DEFAULT_SCALE);
}
