// Windows of convolutions without the taps that see the border alone, whatever place they are at:
// those of 3x3 around a plane of one place are its middle.
//
//     y[o] = sum over t of w[t] * x[s * o + d * t - p]  ==  the same over low <= t < high, where no
//     other tap lies in x for any o: a window w[low .. high) and a border of p - d * low
//
// And one window that sees each place once is a product of matrices: taps become channels of one
// place, in the order that x and the weights have.
//
//     y = sum over c and t of w[c][t] * x[c][d * t]  ==  sum over k of w[k] * x[k]
//
// So do the first dims of a plane whose places the only window there sees, each once, where others
// follow in which it moves: the last images of a video leave a convolution of two dims.
//
// in:  inferred types, sorted nodes, constants folded.   out: the same.

#include "ir/builder.h"
#include "ir/registry.h"
#include "passes/pass.h"

#include <string.h>

enum { MOST_DIMS = 3 };

typedef struct Window {
    uint32_t rank;                           // of the plane
    uint32_t w;                              // which input are the weights
    int64_t low[MOST_DIMS], high[MOST_DIMS]; // taps that see x
    int64_t size[MOST_DIMS], pads[2 * MOST_DIMS];
    int64_t stride[MOST_DIMS], dilation[MOST_DIMS];
    int64_t in[MOST_DIMS];   // places of x
    int64_t ends[MOST_DIMS]; // behind the last one that the first window sees
    bool crops;              // some taps see none
    bool single;             // one window of several taps, all of which see x
    uint32_t joins;          // else the first dims that become channels; 0: none
} Window;

typedef struct Crop {
    Model *m;
    Arena *scratch;
    Uses uses; // as they were before anything was changed
    VEC(NodeId) found;
    Builder builder;
} Crop;

// The border at both ends of dim i. Spec: Conv, auto_pad.
static bool read_pads(const Node *n, Window *w, uint32_t i, int64_t in, int64_t out, int64_t stride,
                      int64_t dilation)
{
    const Str how = node_str(n, "auto_pad", "NOTSET");
    const bool upper = str_is(how, "SAME_UPPER");
    int64_t *begin = &w->pads[i], *end = &w->pads[w->rank + i];
    if (str_is(how, "NOTSET")) {
        *begin = node_ints_item(n, "pads", 2 * w->rank, i, 0);
        *end = node_ints_item(n, "pads", 2 * w->rank, w->rank + i, 0);
        return true;
    }
    if (!upper && !str_is(how, "SAME_LOWER"))
        return false;
    const int64_t all = (out - 1) * stride + (w->size[i] - 1) * dilation + 1 - in;
    *begin = all > 0 ? (upper ? all / 2 : all - all / 2) : 0;
    *end = all > 0 ? all - *begin : 0;
    return true;
}

// Sets the taps of dim i that see some place of x; no border becomes negative.
static bool read_dim(const Node *n, Window *w, uint32_t i, int64_t in, int64_t out)
{
    const int64_t stride = node_ints_item(n, "strides", w->rank, i, 1);
    const int64_t dilation = node_ints_item(n, "dilations", w->rank, i, 1);
    const int64_t most = (int64_t)1 << 20; // so that no product of these is too large
    if (in < 1 || out < 1 || stride < 1 || dilation < 1 || w->size[i] < 1 || in > most ||
        out > most || stride > most || dilation > most || w->size[i] > most ||
        !read_pads(n, w, i, in, out, stride, dilation))
        return false;
    int64_t *begin = &w->pads[i], *end = &w->pads[w->rank + i], taps = w->size[i];
    if (*begin < 0 || *end < 0 || *begin > most || *end > most)
        return false;
    // A tap's last place lies before x.
    for (; taps > 1 && (out - 1) * stride < *begin && *begin >= dilation; taps--) {
        *begin -= dilation;
        w->low[i]++;
    }
    // A tap's first place lies behind x.
    for (; taps > 1 && (taps - 1) * dilation - *begin >= in && *end >= dilation; taps--)
        *end -= dilation;
    w->high[i] = w->low[i] + taps;
    w->in[i] = in;
    w->stride[i] = stride;
    w->dilation[i] = dilation;
    w->ends[i] = (taps - 1) * dilation + 1;
    w->crops = w->crops || taps < w->size[i];
    const bool once = out == 1 && *begin == 0;
    w->single = w->single && once && w->ends[i] <= in;
    if (w->joins == i && once && dilation == 1 && taps == in)
        w->joins++;
    return true;
}

// Taps of the first `n` dims.
static int64_t seen(const Window *w, uint32_t n)
{
    int64_t taps = 1;
    for (uint32_t i = 0; i < n; i++)
        taps *= w->high[i] - w->low[i];
    return taps;
}

static bool read_window(const Model *m, const Node *n, Window *w)
{
    const bool linear = node_is(n, "QLinearConv");
    *w = (Window){.w = linear ? 3 : 1, .single = true};
    if ((!linear && !node_is(n, "Conv") && !node_is(n, "ConvInteger")) || !n->def || n->fault.len ||
        n->nin <= w->w || !n->in[0] || !n->in[w->w] || n->nout != 1)
        return false;
    const Value *x = value_at(m, n->in[0]), *y = value_at(m, n->out[0]);
    const TensorData *t = value_at(m, n->in[w->w])->constant;
    if (!t || t->rank < 3 || t->rank > 2 + MOST_DIMS || x->rank != (int32_t)t->rank ||
        y->rank != (int32_t)t->rank)
        return false;
    w->rank = t->rank - 2;
    for (uint32_t i = 0; i < w->rank; i++) {
        int64_t in, out;
        w->size[i] = t->dims[2 + i];
        if (!poly_is_const(x->dims[2 + i], &in) || !poly_is_const(y->dims[2 + i], &out) ||
            !read_dim(n, w, i, in, out))
            return false;
    }
    // Planes by their own windows stay what they are.
    w->single = w->single && seen(w, w->rank) > 1 && t->dims[1] > 1;
    if (w->single || seen(w, w->joins) == 1 || t->dims[1] == 1)
        w->joins = 0;
    return w->crops || w->single || w->joins;
}

// Weights that others read too would be stored twice.
static bool reads_alone(const Crop *c, ValueId v)
{
    return c->uses.first[v + 1] - c->uses.first[v] == 1;
}

static void collect(void *context, NodeId id)
{
    Crop *c = context;
    Window w;
    const Node *n = node_at(c->m, id);
    if (read_window(c->m, n, &w) && reads_alone(c, n->in[w.w]))
        vec_push(c->scratch, &c->found, id);
}

// The taps that are left; NULL where the weights cannot be read.
static TensorData *cropped(Crop *c, TensorData *t, const Window *w)
{
    Str error;
    const char *from = tensor_elements(c->m, t, &error);
    if (!from)
        return NULL;
    const size_t bytes = dtype_stored_bytes(t->dtype);
    int64_t dims[2 + MOST_DIMS], taps = 1, left = 1;
    memcpy(dims, t->dims, 2 * sizeof *dims);
    for (uint32_t i = 0; i < w->rank; i++) {
        dims[2 + i] = w->high[i] - w->low[i];
        taps *= w->size[i];
        left *= dims[2 + i];
    }
    const int64_t windows = dims[0] * dims[1];
    char *to = arena_alloc(c->scratch, (size_t)(windows * left) * bytes), *next = to;
    for (int64_t n = 0; n < windows; n++)
        for (int64_t k = 0; k < left; k++, next += bytes) {
            int64_t at = 0, rest = k, step = 1;
            for (uint32_t i = w->rank; i > 0; i--) {
                at += (w->low[i - 1] + rest % dims[1 + i]) * step;
                rest /= dims[1 + i];
                step *= w->size[i - 1];
            }
            memcpy(next, from + (size_t)(n * taps + at) * bytes, bytes);
        }
    return tensor_new(c->m->arena, t->dtype, t->rank, dims, to);
}

static void replace_weights(Crop *c, NodeId id, const Window *w, const char *what, TensorData *t)
{
    Model *m = c->m;
    const Str base = value_at(m, node_at(m, id)->in[w->w])->name;
    const ValueId made = builder_constant(&c->builder, node_at(m, id)->graph, base, what, t);
    node_at(m, id)->in[w->w] = made;
    node_set_ints(m, id, "kernel_shape", w->rank, t->dims + 2);
    node_set_str(m, id, "auto_pad", STR("NOTSET"));
}

// The places that the taps of the only window see, where these are not all of x.
static void put_slice(Crop *c, NodeId id, const Window *w)
{
    int64_t zeros[MOST_DIMS] = {0}, axes[MOST_DIMS];
    bool all = true;
    for (uint32_t i = 0; i < w->rank; i++) {
        axes[i] = 2 + i;
        all = all && w->ends[i] == w->in[i] && w->dilation[i] == 1;
    }
    if (all)
        return;
    const ValueId in[] = {node_at(c->m, id)->in[0],
                          builder_integers(&c->builder, id, "starts", w->rank, zeros),
                          builder_integers(&c->builder, id, "ends", w->rank, w->ends),
                          builder_integers(&c->builder, id, "axes", w->rank, axes),
                          builder_integers(&c->builder, id, "steps", w->rank, w->dilation)};
    node_at(c->m, id)->in[0] = builder_before(&c->builder, id, "Slice", in, 5);
}

// Makes the first `n` dims channels.
static void flatten(Crop *c, NodeId id, const Window *w, uint32_t n)
{
    Model *m = c->m;
    const TensorData *t = value_at(m, node_at(m, id)->in[w->w])->constant;
    int64_t dims[2 + MOST_DIMS] = {t->dims[0], t->dims[1] * seen(w, n), 1, 1, 1};
    int64_t shape[2 + MOST_DIMS] = {0, -1, 1, 1, 1}, pads[2 * MOST_DIMS] = {0};
    int64_t strides[] = {1, 1, 1, 1, 1}, dilations[] = {1, 1, 1, 1, 1};
    for (uint32_t i = n; i < w->rank; i++) {
        dims[2 + i] = w->high[i] - w->low[i];
        shape[2 + i] = w->in[i];
        strides[i] = w->stride[i];
        dilations[i] = w->dilation[i];
        pads[i] = w->pads[i];
        pads[w->rank + i] = w->pads[w->rank + i];
    }
    Str error;
    const void *elements = tensor_elements(m, (TensorData *)(uintptr_t)t, &error);
    if (!elements)
        return;
    if (n == w->rank)
        put_slice(c, id, w);
    const ValueId in[] = {node_at(m, id)->in[0],
                          builder_integers(&c->builder, id, "shape", 2 + w->rank, shape)};
    node_at(c->m, id)->in[0] = builder_before(&c->builder, id, "Reshape", in, 2);
    replace_weights(c, id, w, "flat",
                    tensor_around(m->arena, t->dtype, 2 + w->rank, dims, elements));
    node_set_ints(m, id, "pads", 2 * w->rank, pads);
    node_set_ints(m, id, "strides", w->rank, strides);
    node_set_ints(m, id, "dilations", w->rank, dilations);
}

static void rewrite(Crop *c, NodeId id)
{
    Model *m = c->m;
    Window w;
    if (!read_window(m, node_at(m, id), &w))
        return;
    if (w.crops) {
        TensorData *from = (TensorData *)(uintptr_t)value_at(m, node_at(m, id)->in[w.w])->constant;
        TensorData *t = cropped(c, from, &w);
        if (!t)
            return;
        replace_weights(c, id, &w, "seen", t);
        node_set_ints(m, id, "pads", 2 * w.rank, w.pads);
    }
    if (w.single || w.joins)
        flatten(c, id, &w, w.single ? w.rank : w.joins);
}

bool pass_crop_windows(Model *m, PassContext *context)
{
    Crop c = {.m = m, .scratch = arena_new()};
    c.uses = uses_of(m, c.scratch);
    graph_walk(m, m->main, collect, &c);
    if (c.found.len)
        c.builder = builder_of(m, c.scratch);
    for (uint32_t i = 0; i < c.found.len; i++)
        rewrite(&c, c.found.at[i]);
    const bool any = c.found.len > 0;
    arena_free(c.scratch);
    return !any || pass_infer(m, context);
}
