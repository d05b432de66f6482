// Convolutions of three dims made ones of planes: what a window sees along the first dim becomes
// channels.
//
//     y[o, i, j] = sum over c, t, k, l of w[c, t, k, l] * x[c, s * o + d * t - p, i + k, j + l]
//                = sum over u, k, l of v[u, k, l] * z[u, o, i + k, j + l]     with u = (t, c)
//
// z is a few times x, made of slices of x with its border. A window of one place along the first
// dim leaves planes, which go by Winograd's tiles (codegen/cpu/conv.c): less than half of the
// products for a copy that takes a twentieth of their time. Only windows of 3 x 3 places are such.
// PassContext.direct leaves it out: it would be a copy for nothing.
//
// in:  inferred types, sorted nodes, constants folded.   out: the same.

#include "ir/builder.h"
#include "ir/registry.h"
#include "passes/pass.h"

#include <string.h>

enum {
    SPACE = 3,
    RANK = 2 + SPACE,
    WINDOW = 3,         // along the second and third dim
    MOST_TAPS = 5,      // along the first
    LEAST_CHANNELS = 8, // of x
    LEAST_ROWS = 16,
    LEAST_PLACES = 36, // of a plane
    LEAST_OPSET = 11   // from which a Pad's border is an operand
};

typedef struct Deep {
    int64_t taps, stride, dilation, pads[2 * SPACE];
} Deep;

typedef struct Stack {
    Model *m;
    Arena *scratch;
    Uses uses; // as they were before anything was changed
    VEC(NodeId) found;
    Builder builder;
} Stack;

static bool read_deep(const Model *m, const Node *n, Deep *d)
{
    if (!node_is(n, "Conv") || !n->def || n->fault.len || n->nin < 2 || !n->in[0] || !n->in[1] ||
        n->nout != 1 || opset_of(m, n) < LEAST_OPSET || node_int(n, "group", 1) != 1 ||
        !str_is(node_str(n, "auto_pad", "NOTSET"), "NOTSET"))
        return false;
    const Value *x = value_at(m, n->in[0]), *y = value_at(m, n->out[0]);
    const TensorData *t = value_at(m, n->in[1])->constant;
    int64_t images, out, size;
    if (!t || t->dtype != DT_F32 || t->rank != RANK || x->rank != RANK || y->rank != RANK ||
        !poly_is_const(x->dims[2], &images) || !poly_is_const(y->dims[2], &out) || out < 2)
        return false;
    for (uint32_t i = 1; i < SPACE; i++)
        if (t->dims[2 + i] != WINDOW || node_ints_item(n, "strides", SPACE, i, 1) != 1 ||
            node_ints_item(n, "dilations", SPACE, i, 1) != 1)
            return false;
    for (uint32_t i = 0; i < 2 * SPACE; i++) {
        d->pads[i] = node_ints_item(n, "pads", 2 * SPACE, i, 0);
        if (d->pads[i] < 0)
            return false;
    }
    int64_t places = 1;
    for (uint32_t i = 3; i < RANK; i++)
        places *= poly_is_const(y->dims[i], &size) && size < LEAST_PLACES ? size : LEAST_PLACES;
    d->taps = t->dims[2];
    d->stride = node_ints_item(n, "strides", SPACE, 0, 1);
    d->dilation = node_ints_item(n, "dilations", SPACE, 0, 1);
    return d->taps > 1 && d->taps <= MOST_TAPS && t->dims[0] >= LEAST_ROWS &&
           t->dims[1] >= LEAST_CHANNELS && places >= LEAST_PLACES;
}

static void collect(void *context, NodeId id)
{
    Stack *s = context;
    const Node *n = node_at(s->m, id);
    Deep d;
    // Weights that others read too would be stored twice.
    if (read_deep(s->m, n, &d) && s->uses.first[n->in[1] + 1] - s->uses.first[n->in[1]] == 1)
        vec_push(s->scratch, &s->found, id);
}

// Windows whose channels are those of each place along the first dim, one behind the other.
static TensorData *stacked(Stack *s, TensorData *t)
{
    Str error;
    const StoredF32 *from = tensor_elements(s->m, t, &error);
    if (!from)
        return NULL;
    const int64_t channels = t->dims[1], taps = t->dims[2], plane = WINDOW * WINDOW;
    const int64_t dims[RANK] = {t->dims[0], channels * taps, 1, WINDOW, WINDOW};
    float *to = arena_alloc(s->scratch, (size_t)(dims[0] * dims[1] * plane) * sizeof *to);
    for (int64_t m = 0; m < dims[0]; m++)
        for (int64_t u = 0; u < dims[1]; u++) {
            const int64_t at = (m * channels + u % channels) * taps + u / channels;
            memcpy(to + (m * dims[1] + u) * plane, from + at * plane, (size_t)plane * sizeof *to);
        }
    return tensor_new(s->m->arena, DT_F32, RANK, dims, to);
}

// x with its border along the first dim.
static ValueId put_border(Stack *s, NodeId id, const Deep *d)
{
    const int64_t pads[2 * RANK] = {0, 0, d->pads[0], 0, 0, 0, 0, d->pads[SPACE]};
    const ValueId x = node_at(s->m, id)->in[0];
    if (!d->pads[0] && !d->pads[SPACE])
        return x;
    const ValueId in[] = {x, builder_integers(&s->builder, id, "pads", 2 * RANK, pads)};
    return builder_before(&s->builder, id, "Pad", in, 2);
}

static void rewrite(Stack *s, NodeId id)
{
    Model *m = s->m;
    Deep d;
    if (!read_deep(m, node_at(m, id), &d))
        return;
    const ValueId w = node_at(m, id)->in[1];
    TensorData *t = stacked(s, (TensorData *)(uintptr_t)value_at(m, w)->constant);
    if (!t)
        return;
    const ValueId x = put_border(s, id, &d);
    const int64_t axes[] = {2}, behind = INT64_MAX;
    const ValueId axis = builder_integers(&s->builder, id, "axes", 1, axes);
    const ValueId step = builder_integers(&s->builder, id, "steps", 1, &d.stride);
    ValueId parts[MOST_TAPS];
    for (int64_t i = 0; i < d.taps; i++) {
        const int64_t first = i * d.dilation, last = first - (d.taps - 1) * d.dilation;
        const ValueId in[] = {x, builder_integers(&s->builder, id, "starts", 1, &first),
                              builder_integers(&s->builder, id, "ends", 1, last ? &last : &behind),
                              axis, step};
        parts[i] = builder_before(&s->builder, id, "Slice", in, 5);
    }
    const ValueId all = builder_before(&s->builder, id, "Concat", parts, (uint32_t)d.taps);
    node_set_int(m, value_at(m, all)->node, "axis", 1);
    const int64_t ones[] = {1, 1, 1}, pads[] = {0, d.pads[1], d.pads[2], 0, d.pads[4], d.pads[5]};
    node_at(m, id)->in[0] = all;
    const ValueId made =
        builder_constant(&s->builder, node_at(m, id)->graph, value_at(m, w)->name, "stacked", t);
    node_at(m, id)->in[1] = made;
    node_set_ints(m, id, "kernel_shape", SPACE, t->dims + 2);
    node_set_ints(m, id, "pads", 2 * SPACE, pads);
    node_set_ints(m, id, "strides", SPACE, ones);
    node_set_ints(m, id, "dilations", SPACE, ones);
}

bool pass_stack_planes(Model *m, PassContext *c)
{
    if (c->on_device || c->direct)
        return true;
    Stack s = {.m = m, .scratch = arena_new()};
    s.uses = uses_of(m, s.scratch);
    graph_walk(m, m->main, collect, &s);
    if (s.found.len)
        s.builder = builder_of(m, s.scratch);
    for (uint32_t i = 0; i < s.found.len; i++)
        rewrite(&s, s.found.at[i]);
    const bool any = s.found.len > 0;
    arena_free(s.scratch);
    return !any || pass_infer(m, c);
}
