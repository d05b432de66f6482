// Convolutions of rearranged squares, made convolutions of what was rearranged.
//
//     s_ij[c, h, w] = x[c, b * h + i, b * w + j]          one part for each i, j below b
//     Conv(Concat(s_ij ...), v; pads p, strides t) = Conv(x, v'; pads b * p, strides b * t)
//     v'[m, c, b * r + i, b * q + j] = v[m, ij * C + c, r, q]
//
// The same products, summed in another order; nothing is moved. Parts are Slices that step, one
// behind another or both axes at once (Focus), joined by Concat in any order, or SpaceToDepth. A
// Cast of the whole becomes one of x. Of bfloat16 alone, and where matrix registers take the places
// of a window that are in a line as one row (codegen/cpu/pixel_few.h): elsewhere Winograd's tiles
// do the small window with fewer products. PassContext.strict leaves it out.
//
// in:  inferred types, sorted nodes, constants folded.   out: the same; what nobody reads is dead.

#include "ir/builder.h"
#include "ir/infer.h"
#include "passes/pass.h"

enum { MOST_PARTS = 16, MOST_LANES = 32 /* of bfloat16 in a row of a tile */ };

// Where element i of an axis of a part is in x: first + i * step.
typedef struct Part {
    ValueId x;
    int64_t first[2], step[2];
} Part;

typedef struct Squares {
    ValueId x;
    int64_t size, channels;    // of x
    int64_t at[MOST_PARTS][2]; // of each part
    uint32_t nparts;
} Squares;

typedef struct Join {
    Model *m;
    Arena *scratch;
    VEC(NodeId) found;
    Builder builder;
} Join;

// ---- finding -----------------------------------------------------------------------------------

static const Node *maker_of(const Model *m, ValueId v)
{
    const Value *value = v ? value_at(m, v) : NULL;
    const Node *n = value && value->def == DEF_NODE ? node_at(m, value->node) : NULL;
    return n && n->def && is_standard_domain(n->domain) && !n->fault.len && n->nout == 1 ? n : NULL;
}

// A plane of known size for each channel.
static bool read_dims(const Model *m, ValueId v, int64_t dims[3])
{
    const Value *value = value_at(m, v);
    for (int i = 0; i < 3; i++)
        if (value->rank != 4 || !poly_is_const(value->dims[1 + i], &dims[i]) || dims[i] < 1)
            return false;
    return true;
}

// The elements of a small vector of known integers; how many, 0: it is none.
static uint32_t read_integers(const Model *m, ValueId v, int64_t to[4])
{
    const Value *value = v ? value_at(m, v) : NULL;
    if (!value || value->rank != 1 || !value->content || value->ncontent > 4)
        return 0;
    for (uint32_t i = 0; i < value->ncontent; i++)
        if (!poly_is_const(value->content[i], &to[i]))
            return 0;
    return value->ncontent;
}

// Goes on from what a Slice made to what it reads; false: it takes more than steps along planes.
static bool read_slice(Model *m, const Node *n, Part *p)
{
    int64_t starts[4], axes[4], steps[4], dims[3];
    if (n->nin != 5 || !read_dims(m, n->in[0], dims))
        return false;
    const uint32_t count = read_integers(m, n->in[1], starts);
    if (!count || read_integers(m, n->in[3], axes) != count ||
        read_integers(m, n->in[4], steps) != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t axis = axes[i] + (axes[i] < 0 ? 4 : 0) - 2;
        if (axis < 0 || axis > 1 || steps[i] < 1 || starts[i] < -dims[1 + axis])
            return false;
        const int64_t start = starts[i] + (starts[i] < 0 ? dims[1 + axis] : 0);
        p->first[axis] = start + p->first[axis] * steps[i];
        p->step[axis] *= steps[i];
    }
    p->x = n->in[0];
    return true;
}

static bool add_part(Squares *s, int64_t i, int64_t j)
{
    for (uint32_t k = 0; k < s->nparts; k++)
        if (s->at[k][0] == i && s->at[k][1] == j)
            return false;
    if (s->nparts == MOST_PARTS || i < 0 || j < 0 || i >= s->size || j >= s->size)
        return false;
    s->at[s->nparts][0] = i;
    s->at[s->nparts++][1] = j;
    return true;
}

static bool read_concat(Model *m, const Node *n, Squares *s)
{
    const int64_t axis = node_int(n, "axis", 0);
    for (uint32_t i = 0; i < n->nin; i++) {
        Part p = {.x = n->in[i], .step = {1, 1}};
        const Node *slice = maker_of(m, p.x);
        for (; slice && str_is(slice->op, "Slice"); slice = maker_of(m, p.x))
            if (!read_slice(m, slice, &p))
                return false;
        s->x = i == 0 ? p.x : s->x;
        s->size = i == 0 ? p.step[0] : s->size;
        if (!p.x || p.x != s->x || p.step[0] != s->size || p.step[1] != s->size ||
            !add_part(s, p.first[0], p.first[1]))
            return false;
    }
    return axis == 1 || axis == -3;
}

static bool read_space_to_depth(const Node *n, Squares *s)
{
    s->x = n->in[0];
    s->size = node_int(n, "blocksize", 0);
    bool all = s->size > 0;
    for (int64_t i = 0; i < s->size && all; i++)
        for (int64_t j = 0; j < s->size && all; j++)
            all = add_part(s, i, j);
    return all;
}

// Is v squares of one value, of all of it?
static bool read_squares(Model *m, ValueId v, Squares *s)
{
    int64_t from[3], to[3];
    const Node *n = maker_of(m, v);
    *s = (Squares){0};
    const bool read = n && n->nin > 0 && n->in[0] &&
                      (str_is(n->op, "Concat")         ? read_concat(m, n, s)
                       : str_is(n->op, "SpaceToDepth") ? read_space_to_depth(n, s)
                                                       : false);
    if (!read || s->size < 2 || !read_dims(m, s->x, from) || !read_dims(m, v, to) ||
        to[0] != from[0] * s->nparts || to[1] * s->size != from[1] || to[2] * s->size != from[2])
        return false;
    s->channels = from[0];
    return true;
}

static bool are_ones(const Node *n, const char *name)
{
    const int64_t *at;
    uint32_t len;
    bool all = true;
    for (uint32_t i = 0; node_ints(n, name, &at, &len) && i < len; i++)
        all = all && at[i] == 1;
    return all;
}

// A row of a tile holds so many places of a line, channels made a power of two.
static bool fits_row(const Squares *s, int64_t window)
{
    int64_t lanes = 1;
    while (lanes < s->channels)
        lanes *= 2;
    return lanes * window * s->size <= MOST_LANES;
}

// The value whose squares are x, cast or not, of a convolution of this kind.
static bool read_conv(Model *m, const Node *n, Squares *s, bool *cast)
{
    int64_t dims[3];
    if (!node_is(n, "Conv") || !n->def || n->nin < 2 || !n->in[0] || !n->in[1] || n->fault.len ||
        value_at(m, n->in[0])->dtype != DT_BF16 || !value_at(m, n->in[1])->constant ||
        !read_dims(m, n->in[1], dims) || node_int(n, "group", 1) != 1 || !are_ones(n, "dilations"))
        return false;
    const Str padding = node_str(n, "auto_pad", "NOTSET");
    const Node *maker = maker_of(m, n->in[0]);
    *cast = maker && str_is(maker->op, "Cast");
    return str_is(padding, "NOTSET") && read_squares(m, *cast ? maker->in[0] : n->in[0], s) &&
           dims[0] == s->channels * s->nparts && fits_row(s, dims[2]);
}

static void collect(void *context, NodeId id)
{
    Join *j = context;
    Squares s;
    bool cast;
    if (read_conv(j->m, node_at(j->m, id), &s, &cast))
        vec_push(j->scratch, &j->found, id);
}

// ---- building ----------------------------------------------------------------------------------

// v' of above; NULL where v cannot be read.
static TensorData *spread(Join *j, ValueId v, const Squares *s)
{
    Str error;
    TensorData *t = (TensorData *)(uintptr_t)value_at(j->m, v)->constant;
    const StoredU16 *from = tensor_elements(j->m, t, &error);
    if (!from)
        return NULL;
    const int64_t b = s->size, rows = t->dims[2], row = t->dims[3];
    const int64_t dims[] = {t->dims[0], s->channels, rows * b, row * b};
    const int64_t count = dims[0] * dims[1] * dims[2] * dims[3];
    uint16_t *to = NEWS(j->scratch, uint16_t, (size_t)count);
    for (uint64_t i = 0; i < t->nelements; i++) {
        const int64_t q = (int64_t)i % row, r = (int64_t)i / row % rows;
        const int64_t k = (int64_t)i / (row * rows) % t->dims[1];
        const int64_t m = (int64_t)i / (row * rows * t->dims[1]);
        const int64_t *at = s->at[k / s->channels];
        const int64_t plane = m * s->channels + k % s->channels;
        to[(plane * dims[2] + r * b + at[0]) * dims[3] + q * b + at[1]] = from[i];
    }
    return tensor_new(j->m->arena, DT_BF16, 4, dims, to);
}

// An attribute of integers, `otherwise` where it has none, times `by`.
static void scale_integers(Join *j, NodeId id, const char *name, uint32_t count, int64_t otherwise,
                           int64_t by)
{
    int64_t to[4];
    const int64_t *at;
    uint32_t len = 0;
    const bool has = node_ints(node_at(j->m, id), name, &at, &len) && len == count;
    for (uint32_t i = 0; i < count; i++)
        to[i] = (has ? at[i] : otherwise) * by;
    node_set_ints(j->m, id, name, count, to);
}

static void rewrite(Join *j, NodeId id)
{
    Model *m = j->m;
    Squares s;
    bool cast;
    if (!read_conv(m, node_at(m, id), &s, &cast))
        return;
    const GraphId g = node_at(m, id)->graph;
    TensorData *w = spread(j, node_at(m, id)->in[1], &s);
    if (!w)
        return;
    ValueId x = s.x;
    if (cast) {
        const NodeId of_x = builder_node(&j->builder, g, id, "Cast", &x, 1);
        node_set_int(m, of_x, "to", DT_BF16);
        graph_insert_before(m, id, of_x);
        x = node_at(m, of_x)->out[0];
    }
    const int64_t window[] = {w->dims[2], w->dims[3]};
    const Str base = value_at(m, node_at(m, id)->in[1])->name;
    const ValueId weights = builder_constant(&j->builder, g, base, "squares", w);
    node_at(m, id)->in[0] = x;
    node_at(m, id)->in[1] = weights;
    scale_integers(j, id, "pads", 4, 0, s.size);
    scale_integers(j, id, "strides", 2, 1, s.size);
    node_set_ints(j->m, id, "kernel_shape", 2, window);
}

bool pass_join_squares(Model *m, PassContext *c)
{
    if (c->on_device || c->strict || !c->words)
        return true;
    Join j = {.m = m, .scratch = arena_new()};
    graph_walk(m, m->main, collect, &j);
    if (j.found.len)
        j.builder = builder_of(m, j.scratch);
    for (uint32_t i = 0; i < j.found.len; i++)
        rewrite(&j, j.found.at[i]);
    const bool any = j.found.len > 0;
    arena_free(j.scratch);
    return !any || pass_infer(m, c);
}
