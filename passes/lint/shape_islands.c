// DV004: sizes that are computed on the host for a device.

#include "ir/builder.h"
#include "passes/devices.h"
#include "passes/lint/lint.h"

#include <string.h>

enum { MOST = 16 };

// The number of a size that operand `i` of a node reads, computed at run time from a Shape of what
// lies on a device: the nodes between. 0: it is none.
static uint32_t island_behind(Lint *l, ValueId v, NodeId *shape, uint32_t *stamp, uint32_t mark)
{
    Model *m = l->m;
    VEC(ValueId) open = {0};
    uint32_t count = 0;
    *shape = 0;
    vec_push(l->arena, &open, v);
    while (open.len && count < 1000) {
        ValueId at = open.at[--open.len];
        const Value *value = at ? value_at(m, at) : NULL;
        if (!value || value->def != DEF_NODE || value->constant || stamp[value->node] == mark ||
            stamp[value->node] == UINT32_MAX)
            continue;
        const Node *n = node_at(m, value->node);
        stamp[value->node] = mark;
        count++;
        if (node_is(n, "Shape") || node_is(n, "Size")) {
            if (n->nin && n->in[0] && device_of_value(m, n->in[0]) > DEVICE_HOST)
                *shape = value->node;
            continue;
        }
        if (device_run(m, value->node) > DEVICE_HOST)
            return 0;
        for (uint32_t i = 0; i < n->nin; i++)
            vec_push(l->arena, &open, n->in[i]);
    }
    return *shape ? count : 0;
}

// The shape that a Reshape is given, as a constant: a dim that is its operand's at that place is
// said by 0, and one other that is not known by -1. False: more than one is not known.
static bool constant_shape(const Model *m, NodeId id, uint32_t operand, int64_t *shape, uint32_t *n)
{
    const Node *node = node_at(m, id);
    if (!node_is(node, "Reshape") || operand != 1 || node_int(node, "allowzero", 0) || !node->in[0])
        return false;
    const Value *x = value_at(m, node->in[0]), *s = value_at(m, node->in[1]);
    uint32_t open = 0;
    if (!s->content || s->ncontent > MOST)
        return false;
    for (uint32_t i = 0; i < s->ncontent; i++) {
        bool kept = (int32_t)i < x->rank && s->content[i] == x->dims[i];
        if (!poly_is_const(s->content[i], &shape[i]))
            shape[i] = kept ? 0 : -1;
        open += shape[i] == -1;
    }
    *n = s->ncontent;
    return open <= 1;
}

static void offer_constant(Lint *l, Diag *d, NodeId id, uint32_t operand)
{
    int64_t shape[MOST];
    uint32_t n;
    Buf text = {0};
    if (!constant_shape(l->m, id, operand, shape, &n)) {
        diag_help(l->diags, d,
                  "give the dims that they ask for a fixed size: the nodes fold to a constant");
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        buf_printf(&text, "%s%lld", i ? ", " : "", (long long)shape[i]);
    diag_fix(l->diags, d, false, "give it the constant shape [%s]: the host computes nothing",
             text.len ? text.at : "");
    buf_free(&text);
}

// Is operand i a size that a node on a device reads on the host?
static bool is_asked(Model *m, NodeId id, uint32_t i)
{
    const Node *n = node_at(m, id);
    return !n->dead && i < n->nin && n->in[i] && !device_matters(m, id, i) &&
           device_run(m, id) > DEVICE_HOST;
}

void lint_shape_islands(Lint *l)
{
    Model *m = l->m;
    uint32_t *stamp = NEWS(l->arena, uint32_t, m->nodes.len);
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        for (uint32_t i = 1; !n->dead && i < n->nin; i++) {
            NodeId shape;
            uint32_t count = is_asked(m, id, i) ? island_behind(l, n->in[i], &shape, stamp, id) : 0;
            if (count < 2)
                continue;
            Diag *d = diag(l->diags, "DV004", SEV_INFO, location_operand(m, l->arena, id, i),
                           "%u nodes on cpu compute a size for %.*s on %.*s in every run", count,
                           STR_ARG(str_escaped(l->arena, n->op)),
                           STR_ARG(str_escaped(l->arena, m->devices.at[device_run(m, id)])));
            lint_about_node(l, d, id);
            d->value = lint_name(l, n->in[i]);
            diag_note(l->diags, d, "it begins at %.*s", STR_ARG(lint_short(l, shape)));
            offer_constant(l, d, id, i);
        }
    }
}

// ---- repair

static bool is_used(const Uses *uses, const Model *m, ValueId v)
{
    for (uint32_t k = uses->first[v]; k < uses->first[v + 1]; k++)
        if (!uses->uses[k].node || !node_at(m, uses->uses[k].node)->dead)
            return true;
    return false;
}

// Takes out what made v, if nothing else uses it, and what made that.
static void drop_idle(Model *m, const Uses *uses, ValueId v)
{
    const Value *value = v ? value_at(m, v) : NULL;
    if (!value || value->def != DEF_NODE || node_at(m, value->node)->dead)
        return;
    const Node *n = node_at(m, value->node);
    for (uint32_t o = 0; o < n->nout; o++)
        if (n->out[o] && is_used(uses, m, n->out[o]))
            return;
    graph_remove(m, value->node);
    for (uint32_t i = 0; i < n->nin; i++)
        drop_idle(m, uses, n->in[i]);
}

uint32_t repair_shape_islands(Model *m, bool unsafe)
{
    Arena *a = arena_new();
    Builder names = builder_of(m, a);
    Lint l = {.m = m, .arena = a};
    uint32_t *stamp = NEWS(a, uint32_t, m->nodes.len), changes = 0, nodes = m->nodes.len;
    for (NodeId id = 1; unsafe && id < nodes; id++) {
        int64_t shape[MOST];
        uint32_t n;
        NodeId begin;
        if (!is_asked(m, id, 1) ||
            island_behind(&l, node_at(m, id)->in[1], &begin, stamp, id) < 2 ||
            !constant_shape(m, id, 1, shape, &n))
            continue;
        int64_t *kept = NEWS(m->arena, int64_t, n + 1u), dims[1] = {n};
        memcpy(kept, shape, n * sizeof *kept);
        ValueId old = node_at(m, id)->in[1];
        TensorData *t = tensor_new(m->arena, DT_I64, 1, dims, kept);
        ValueId fresh = builder_constant(&names, m->main, value_at(m, old)->name, "shape", t);
        node_at(m, id)->in[1] = fresh;
        Uses uses = uses_of(m, a);
        drop_idle(m, &uses, old);
        changes++;
    }
    arena_free(a);
    return changes;
}
