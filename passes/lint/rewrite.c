// How repairs change the graph: new nodes stand where the old ones stood, results keep their ids,
// and with them names and declarations.

#include "passes/lint/rewrite.h"
#include "ir/infer.h"

#include <math.h>
#include <string.h>

enum { MAX_ROUNDS = 8 };

uint32_t rewrite_model(Model *m, bool unsafe, uint32_t (*mend)(Rewrite *e, NodeId n))
{
    uint32_t changes = 0;
    for (uint32_t round = 0; unsafe && round < MAX_ROUNDS; round++) {
        Arena *scratch = arena_new();
        Rewrite e = {.m = m, .scratch = scratch, .builder = builder_of(m, scratch)};
        e.nnodes = m->nodes.len;
        e.nvalues = m->values.len;
        uint32_t made = 0;
        e.numbers = numbers_open(m, scratch);
        (void)range_of(e.numbers->ranges, 0); // of the model as it stands, before anything changes
        e.touched = NEWS(scratch, bool, e.nnodes);
        e.read = NEWS(scratch, bool, e.nvalues);
        for (NodeId n = 1; n < e.nnodes; n++) {
            if (!numbers_alive(e.numbers, n) || e.touched[n])
                continue;
            e.at = n;
            made += mend(&e, n);
        }
        arena_free(scratch);
        changes += made;
        if (!made)
            break;
        infer_model(m, NULL);
    }
    return changes;
}

bool rewrite_take(Rewrite *e, NodeId n)
{
    if (n >= e->nnodes || e->touched[n])
        return false;
    e->touched[n] = true;
    return true;
}

// What new values are named after.
static Str base_name(const Rewrite *e)
{
    const Node *at = node_at(e->m, e->at);
    return at->nout && at->out[0] ? value_at(e->m, at->out[0])->name : STR("value");
}

// ---- nodes and constants

ValueId rewrite_node(Rewrite *e, const char *op, const ValueId *in, uint32_t nin)
{
    const Node *at = node_at(e->m, e->at);
    NodeId id =
        node_build(e->m, at->graph, op, in, nin, builder_name(&e->builder, base_name(e), op));
    for (uint32_t i = 0; i < nin; i++)
        if (in[i] < e->nvalues)
            e->read[in[i]] = true;
    Node *n = node_at(e->m, id);
    at = node_at(e->m, e->at);
    n->position = at->position;
    n->metadata = at->metadata;
    n->copy_of = at->copy_of;
    n->call = at->call;
    graph_insert_before(e->m, e->at, id);
    return n->out[0];
}

ValueId rewrite_cast(Rewrite *e, ValueId v, DType t)
{
    ValueId y = rewrite_node(e, "Cast", &v, 1);
    rewrite_set_int(e, y, "to", t);
    return y;
}

static Attr *set_attr(Rewrite *e, ValueId v, const char *name, AttrType type)
{
    return node_set_attr(e->m, value_at(e->m, v)->node, name, type);
}

// Before IR version 4 an initializer had to be an input as well, and functions have none; a node is
// a constant everywhere.
static ValueId constant_node(Rewrite *e, TensorData *t)
{
    ValueId v = rewrite_node(e, "Constant", NULL, 0);
    set_attr(e, v, "value", ATTR_TENSOR)->t = t;
    value_at(e->m, v)->constant = t;
    return v;
}

ValueId rewrite_constant(Rewrite *e, TensorData *t)
{
    GraphId g = node_at(e->m, e->at)->graph;
    if (e->m->ir_version < 4 || graph_at(e->m, g)->function)
        return constant_node(e, t);
    return builder_constant(&e->builder, g, base_name(e), "constant", t);
}

ValueId rewrite_number(Rewrite *e, DType t, double v)
{
    unsigned char bytes[16] = {0};
    bool real = dtype_is_float(t);
    // As a double the greatest int64 is one more than it is.
    Scalar s = real          ? scalar_cast(DT_F64, t, (Scalar){.f = v}, false)
               : v >= 0x1p63 ? (Scalar){.i = INT64_MAX}
                             : (Scalar){.i = (int64_t)v};
    scalar_store(t, bytes, s);
    return rewrite_constant(e, tensor_new(e->m->arena, t, 0, NULL, bytes));
}

ValueId rewrite_ints(Rewrite *e, const int64_t *at, uint32_t n)
{
    int64_t count = n;
    return rewrite_constant(e, tensor_new(e->m->arena, DT_I64, 1, &count, at));
}

bool rewrite_can_limit(const Rewrite *e, DType t)
{
    return dtype_is_float(t) || opset_of(e->m, node_at(e->m, e->at)) >= 12;
}

static void set_float(Rewrite *e, ValueId v, const char *name, double f)
{
    Attr *a = set_attr(e, v, name, ATTR_FLOAT);
    a->f = (float)f;
    a->has |= ATTR_HAS_F;
}

ValueId rewrite_limit(Rewrite *e, ValueId v, DType t, double lo, double hi)
{
    if (opset_of(e->m, node_at(e->m, e->at)) < 8) {
        v = rewrite_node(e, "Clip", &v, 1);
        if (isfinite(lo))
            set_float(e, v, "min", lo);
        if (isfinite(hi))
            set_float(e, v, "max", hi);
        return v;
    }
    if (isfinite(lo))
        v = rewrite_node(e, "Max", (ValueId[]){v, rewrite_number(e, t, lo)}, 2);
    if (isfinite(hi))
        v = rewrite_node(e, "Min", (ValueId[]){v, rewrite_number(e, t, hi)}, 2);
    return v;
}

void rewrite_set_ints(Rewrite *e, ValueId v, const char *name, const int64_t *at, uint32_t n)
{
    int64_t *ints = NEWS(e->m->arena, int64_t, n + 1);
    memcpy(ints, at, n * sizeof *ints);
    Attr *a = set_attr(e, v, name, ATTR_INTS);
    a->ints = ints;
    a->nints = n;
}

void rewrite_set_int(Rewrite *e, ValueId v, const char *name, int64_t i)
{
    node_set_int(e->m, value_at(e->m, v)->node, name, i);
}

void rewrite_copy_attr(Rewrite *e, ValueId v, NodeId from, const char *name)
{
    const Attr *a = attr_find(node_at(e->m, from), name);
    if (a)
        *set_attr(e, v, name, (AttrType)a->type) = *a;
}

// Axes are an operand of ReduceSum since opset 13, of the others since 18.
ValueId rewrite_reduction(Rewrite *e, const char *op, ValueId v, const int64_t *axes, uint32_t n,
                          bool keep)
{
    int64_t opset = opset_of(e->m, node_at(e->m, e->at));
    bool operand = opset >= (strcmp(op, "ReduceSum") == 0 ? 13 : 18);
    ValueId in[2] = {v, operand ? rewrite_ints(e, axes, n) : 0};
    ValueId y = rewrite_node(e, op, in, operand ? 2 : 1);
    if (!operand)
        rewrite_set_ints(e, y, "axes", axes, n);
    rewrite_set_int(e, y, "keepdims", keep);
    return y;
}

void rewrite_replace(Rewrite *e, NodeId n, ValueId made)
{
    ValueId old = node_at(e->m, n)->out[0];
    NodeId maker = value_at(e->m, made)->node;
    Value *v = value_at(e->m, old);
    node_at(e->m, maker)->out[0] = old;
    v->node = maker;
    v->index = 0;
    v->constant = NULL;
    value_at(e->m, made)->def = DEF_NONE;
    node_at(e->m, maker)->name = node_at(e->m, n)->name;
    node_at(e->m, maker)->has |= node_at(e->m, n)->has & NODE_HAS_NAME;
    graph_remove(e->m, n);
}

void rewrite_drop_unused(Rewrite *e, ValueId v)
{
    const Value *value = v ? value_at(e->m, v) : NULL;
    const Uses *u = &e->numbers->uses;
    if (!value || value->def != DEF_NODE || value->node >= e->nnodes || e->read[v])
        return;
    for (uint32_t i = u->first[v]; i < u->first[v + 1]; i++)
        if (!u->uses[i].node || !node_at(e->m, u->uses[i].node)->dead)
            return;
    const Node *n = node_at(e->m, value->node);
    if (n->dead || n->nout != 1)
        return;
    graph_remove(e->m, value->node);
    for (uint32_t i = 0; i < n->nin; i++)
        rewrite_drop_unused(e, node_at(e->m, value->node)->in[i]);
}

// ---- stretches

static bool listed(const char *names, const Node *n)
{
    for (const char *p = names; *p;) {
        size_t len = strcspn(p, " ");
        if (len == n->op.len && is_standard_domain(n->domain) && memcmp(p, n->op.at, len) == 0)
            return true;
        p += len + (p[len] == ' ');
    }
    return false;
}

static bool in_stretch(const Stretch *s, NodeId n)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->nodes[i] == n)
            return true;
    return false;
}

static void sort_stretch(const Model *m, Stretch *s)
{
    for (uint32_t i = 1; i < s->n; i++)
        for (uint32_t k = i; k > 0; k--) {
            NodeId a = s->nodes[k - 1], b = s->nodes[k];
            if (node_at(m, a)->position <= node_at(m, b)->position)
                break;
            s->nodes[k - 1] = b;
            s->nodes[k] = a;
        }
}

Stretch stretch_from(const NumberFacts *x, NodeId start, const char *through, const char *last)
{
    Stretch s = {.nodes = {start}, .n = 1};
    for (uint32_t i = 0; i < s.n; i++) {
        const Node *n = node_at(x->m, s.nodes[i]);
        ValueId v = n->out[0];
        if (i > 0 && listed(last, n))
            continue;
        for (uint32_t k = x->uses.first[v]; v && k < x->uses.first[v + 1]; k++) {
            NodeId user = x->uses.uses[k].node;
            const Node *u = user ? node_at(x->m, user) : NULL;
            if (u && !u->dead && u->graph == n->graph && s.n < MAX_STRETCH && u->nout == 1 &&
                (listed(through, u) || listed(last, u)) && !in_stretch(&s, user))
                s.nodes[s.n++] = user;
        }
    }
    sort_stretch(x->m, &s);
    return s;
}

static bool is_outside(const NumberFacts *x, const Stretch *s, ValueId v)
{
    const Value *value = value_at(x->m, v);
    return value->def != DEF_NODE || !in_stretch(s, value->node);
}

static bool leaves(const NumberFacts *x, const Stretch *s, ValueId v)
{
    for (uint32_t i = x->uses.first[v]; i < x->uses.first[v + 1]; i++)
        if (!x->uses.uses[i].node || !in_stretch(s, x->uses.uses[i].node))
            return true;
    return false;
}

// What a value of dtype `low` is in float32, if that is there already: the operand of the Cast that
// narrowed it.
static ValueId widened(const NumberFacts *x, ValueId v)
{
    NodeId cast = numbers_made_by(x, v, "Cast");
    ValueId from = cast ? numbers_in(x, cast, 0) : 0;
    return from && numbers_dtype(x, from) == DT_F32 ? from : 0;
}

uint32_t stretch_casts(const NumberFacts *x, const Stretch *s, DType low)
{
    uint32_t casts = 0, seen = 0;
    ValueId counted[MAX_STRETCH * 2];
    double number;
    for (uint32_t i = 0; i < s->n; i++) {
        const Node *n = node_at(x->m, s->nodes[i]);
        for (uint32_t k = 0; k < n->nin; k++) {
            ValueId v = n->in[k];
            bool known = false;
            if (!v || numbers_dtype(x, v) != low || !is_outside(x, s, v) || widened(x, v) ||
                numbers_constant(x, v, &number))
                continue;
            for (uint32_t j = 0; j < seen; j++)
                known = known || counted[j] == v;
            if (!known && seen < MAX_STRETCH * 2)
                counted[seen++] = v;
            casts += !known;
        }
        casts += numbers_dtype(x, n->out[0]) == low && leaves(x, s, n->out[0]);
    }
    return casts;
}

typedef struct Widening {
    Rewrite *e;
    const Stretch *s;
    DType low;
    ValueId from[MAX_STRETCH * 4], to[MAX_STRETCH * 4];
    uint32_t n;
} Widening;

static void remember(Widening *w, ValueId from, ValueId to)
{
    if (w->n < MAX_STRETCH * 4) {
        w->from[w->n] = from;
        w->to[w->n++] = to;
    }
}

static ValueId operand_of(Widening *w, ValueId v)
{
    const NumberFacts *x = w->e->numbers;
    double number;
    if (!v || numbers_dtype(x, v) != w->low)
        return v;
    for (uint32_t i = 0; i < w->n; i++)
        if (w->from[i] == v)
            return w->to[i];
    ValueId to = widened(x, v);
    if (!to && numbers_constant(x, v, &number) && value_at(x->m, v)->rank == 0)
        to = rewrite_number(w->e, DT_F32, number);
    to = to ? to : rewrite_cast(w->e, v, DT_F32);
    remember(w, v, to);
    return to;
}

static void widen_node(Widening *w, NodeId id)
{
    Rewrite *e = w->e;
    ValueId in[8] = {0}, old = node_at(e->m, id)->out[0];
    uint32_t nin = node_at(e->m, id)->nin;
    e->at = id;
    for (uint32_t k = 0; k < nin; k++)
        in[k] = operand_of(w, node_at(e->m, id)->in[k]);
    Str op = node_at(e->m, id)->op;
    ValueId y = rewrite_node(e, arena_copy(e->scratch, op.at, op.len), in, nin);
    Node *made = node_at(e->m, value_at(e->m, y)->node);
    const Node *n = node_at(e->m, id);
    made->attrs = NEWS(e->m->arena, Attr, n->nattrs + 1u);
    made->nattrs = n->nattrs;
    if (n->nattrs)
        memcpy(made->attrs, n->attrs, n->nattrs * sizeof *n->attrs);
    if (numbers_dtype(e->numbers, old) != w->low) {
        rewrite_replace(e, id, y);
        return;
    }
    if (node_is(n, "Cast"))
        rewrite_set_int(e, y, "to", DT_F32);
    remember(w, old, y);
    if (leaves(e->numbers, w->s, old))
        rewrite_replace(e, id, rewrite_cast(e, y, w->low));
    else
        graph_remove(e->m, id);
}

bool stretch_is_simple(const Model *m, const Stretch *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (node_at(m, s->nodes[i])->nin > 8 || node_at(m, s->nodes[i])->nout != 1)
            return false;
    return true;
}

uint32_t stretch_widen(Rewrite *e, const Stretch *s, DType low)
{
    Widening w = {.e = e, .s = s, .low = low};
    for (uint32_t i = 0; i < s->n; i++)
        if (s->nodes[i] >= e->nnodes || e->touched[s->nodes[i]])
            return 0;
    if (!stretch_is_simple(e->m, s))
        return 0;
    for (uint32_t i = 0; i < s->n; i++)
        rewrite_take(e, s->nodes[i]);
    for (uint32_t i = 0; i < s->n; i++)
        widen_node(&w, s->nodes[i]);
    return 1;
}
