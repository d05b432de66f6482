// Convolutions of one value by windows alike, of few rows each and few places, made one
// convolution.
//
//     y_i = Conv(x, w_i, b_i)  becomes  y_i = Slice(Conv(x, Concat(w), Concat(b)), rows of i)
//
// as a detector's last heads are. Every sum stays as it is. Of so few places x is one panel, which
// each of them would copy and read by itself, and rows fill tiles better together; threads have
// more rows to share. So it is where what is made is only moved: what a convolution does to its
// sums in registers would become a kernel behind it.
//
// in:  inferred types, sorted nodes, constants folded.   out: the same.

#include "ir/builder.h"
#include "ir/registry.h"
#include "passes/pass.h"

#include <string.h>

enum {
    MOST_PLACES = 48, // of a plane: a panel's
    MOST_ROWS = 64,   // of all of them
    MOST = 8          // of them
};

typedef struct Sibling {
    NodeId node;
    int64_t rows;
} Sibling;

typedef struct Siblings {
    Model *m;
    Arena *scratch;
    Uses uses;
    VEC(Sibling) found;
    Builder builder;
} Siblings;

// ---- finding -----------------------------------------------------------------------------------

static const TensorData *constant_of(const Model *m, ValueId v)
{
    const Value *value = v ? value_at(m, v) : NULL;
    return value && value->dtype == DT_F32 ? value->constant : NULL;
}

static bool is_only_moved(const Siblings *s, ValueId v)
{
    static const char *const moves[] = {"Transpose", "Reshape", "Flatten", "Concat"};
    for (uint32_t i = s->uses.first[v]; i < s->uses.first[v + 1]; i++) {
        const Use *u = &s->uses.uses[i];
        bool moved = false;
        for (size_t k = 0; u->node && k < sizeof moves / sizeof *moves; k++)
            moved = moved || node_is(node_at(s->m, u->node), moves[k]);
        if (!moved)
            return false;
    }
    return true;
}

static bool is_few_places(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    int64_t rows, columns;
    return value->rank == 4 && poly_is_const(value->dims[2], &rows) &&
           poly_is_const(value->dims[3], &columns) && rows > 0 && columns > 0 &&
           rows <= MOST_PLACES && rows * columns <= MOST_PLACES;
}

static void collect(void *context, NodeId id)
{
    Siblings *s = context;
    const Node *n = node_at(s->m, id);
    if (!node_is(n, "Conv") || !n->def || n->fault.len || n->nin < 2 || n->nout != 1 ||
        node_int(n, "group", 1) != 1 || !is_few_places(s->m, n->out[0]))
        return;
    const TensorData *w = constant_of(s->m, n->in[1]);
    const TensorData *b = n->nin > 2 ? constant_of(s->m, n->in[2]) : NULL;
    if (w && w->rank == 4 && (n->nin == 2 || (b && b->rank == 1 && b->dims[0] == w->dims[0])) &&
        is_only_moved(s, n->out[0]))
        vec_push(s->scratch, &s->found, ((Sibling){id, w->dims[0]}));
}

static bool are_same_integers(const Node *a, const Node *b, const char *name)
{
    const int64_t *of_a, *of_b;
    uint32_t n = 0, len = 0;
    const bool has = node_ints(a, name, &of_a, &n);
    return has == node_ints(b, name, &of_b, &len) &&
           (!has || (n == len && memcmp(of_a, of_b, n * sizeof *of_a) == 0));
}

// Do both see the same places of one value?
static bool are_alike(const Model *m, NodeId one, NodeId other)
{
    const Node *a = node_at(m, one), *b = node_at(m, other);
    const TensorData *v = value_at(m, a->in[1])->constant, *w = value_at(m, b->in[1])->constant;
    return a->in[0] == b->in[0] && a->graph == b->graph && a->nin == b->nin &&
           memcmp(v->dims + 1, w->dims + 1, 3 * sizeof *v->dims) == 0 &&
           str_eq(node_str(a, "auto_pad", "NOTSET"), node_str(b, "auto_pad", "NOTSET")) &&
           are_same_integers(a, b, "pads") && are_same_integers(a, b, "strides") &&
           are_same_integers(a, b, "dilations");
}

// ---- building ----------------------------------------------------------------------------------

// Operand `index` of all of them, one behind the other; NULL where one cannot be read.
static TensorData *joined(Siblings *s, const Sibling *of, uint32_t count, uint32_t index)
{
    TensorData *parts[MOST];
    const void *from[MOST];
    int64_t dims[4] = {0};
    uint64_t all = 0;
    Str error;
    for (uint32_t i = 0; i < count; i++) {
        const Node *n = node_at(s->m, of[i].node);
        parts[i] = (TensorData *)(uintptr_t)constant_of(s->m, n->in[index]);
        from[i] = tensor_elements(s->m, parts[i], &error);
        if (!from[i])
            return NULL;
        all += parts[i]->nelements; // known behind tensor_elements
        dims[0] += parts[i]->dims[0];
    }
    const uint32_t rank = parts[0]->rank;
    memcpy(dims + 1, parts[0]->dims + 1, (rank - 1) * sizeof *dims);
    float *to = NEWS(s->scratch, float, (size_t)all);
    for (uint64_t i = 0, at = 0; i < count; at += parts[i++]->nelements)
        memcpy(to + at, from[i], (size_t)parts[i]->nelements * sizeof *to);
    return tensor_new(s->m->arena, DT_F32, rank, dims, to);
}

// Rows from .. to of what `of` makes are what `old` made.
static void replace_by_rows(Siblings *s, NodeId old, ValueId of, int64_t from, int64_t to)
{
    static const char *const names[] = {"starts", "ends", "axes"};
    const int64_t numbers[] = {from, to, 1}, one = 1;
    Model *m = s->m;
    const GraphId g = node_at(m, old)->graph;
    const bool operands = opset_of(m, node_at(m, old)) >= 10;
    const Str base = value_at(m, of)->name;
    ValueId in[4] = {of};
    for (int i = 0; operands && i < 3; i++)
        in[1 + i] = builder_constant(&s->builder, g, base, names[i],
                                     tensor_new(m->arena, DT_I64, 1, &one, &numbers[i]));
    const NodeId rows = builder_node(&s->builder, g, old, "Slice", in, operands ? 4 : 1);
    for (int i = 0; !operands && i < 3; i++)
        node_set_ints(m, rows, names[i], 1, &numbers[i]);
    graph_insert_before(m, old, rows);
    builder_replace(&s->builder, old, rows);
}

static bool join(Siblings *s, const Sibling *of, uint32_t count)
{
    Model *m = s->m;
    const NodeId first = of[0].node;
    const GraphId g = node_at(m, first)->graph;
    const uint32_t nin = node_at(m, first)->nin < 3 ? 2 : 3;
    ValueId in[3] = {node_at(m, first)->in[0]};
    for (uint32_t i = 1; i < nin; i++) {
        const Str base = value_at(m, node_at(m, first)->in[i])->name;
        TensorData *t = joined(s, of, count, i);
        if (!t)
            return false;
        in[i] = builder_constant(&s->builder, g, base, "joined", t);
    }
    const NodeId conv = builder_node(&s->builder, g, first, "Conv", in, nin);
    node_at(m, conv)->attrs = node_at(m, first)->attrs;
    node_at(m, conv)->nattrs = node_at(m, first)->nattrs;
    graph_insert_before(m, first, conv);
    const ValueId all = node_at(m, conv)->out[0];
    for (uint32_t i = 0, row = 0; i < count; row += (uint32_t)of[i++].rows)
        replace_by_rows(s, of[i].node, all, row, row + of[i].rows);
    return true;
}

// Those alike that come behind the first one that is left, with it. Returns whether there are any.
static bool join_next(Siblings *s, uint32_t first)
{
    Sibling group[MOST];
    uint32_t count = 0;
    int64_t rows = 0;
    const NodeId leader = s->found.at[first].node;
    for (uint32_t i = first; leader && i < s->found.len && count < MOST; i++) {
        Sibling *f = &s->found.at[i];
        if (!f->node || rows + f->rows > MOST_ROWS ||
            (i > first && !are_alike(s->m, leader, f->node)))
            continue;
        rows += f->rows;
        group[count++] = *f;
    }
    if (count < 2 || !join(s, group, count))
        return false;
    for (uint32_t i = first; i < s->found.len; i++)
        for (uint32_t k = 0; k < count; k++)
            if (s->found.at[i].node == group[k].node)
                s->found.at[i].node = 0;
    return true;
}

bool pass_join_siblings(Model *m, PassContext *c)
{
    if (c->on_device || c->strict)
        return true;
    Siblings s = {.m = m, .scratch = arena_new()};
    s.uses = uses_of(m, s.scratch);
    graph_walk(m, m->main, collect, &s);
    if (s.found.len > 1)
        s.builder = builder_of(m, s.scratch);
    bool any = false;
    for (uint32_t i = 0; s.found.len > 1 && i < s.found.len; i++)
        any = join_next(&s, i) || any;
    arena_free(s.scratch);
    return !any || (pass_sort_nodes(m, c) && pass_infer(m, c));
}
