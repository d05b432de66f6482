// Pools of large windows, made of pools of smaller ones.
//
//     max over (k + q - 1) x (l + r - 1) places of x = max over q x r places of max over k x l of x
//
// where windows move by one place and the border keeps the size of planes: a place outside counts
// for nothing, and what a window around it would see, one around the next place inside sees too.
// So of several such pools of one value (SPP) each reads the one before it. The greatest number is
// the same whatever order it is looked for in. Where values may lie in pixels (layouts.h), whose
// windows are taken place by place, a window of many places is one of a column, then one of a row.
// PassContext.strict leaves it out.
//
// in:  inferred types, sorted nodes.   out: the same.

#include "ir/builder.h"
#include "ir/registry.h"
#include "passes/pass.h"

enum { FEW = 9 }; // places of a window that are taken one by one

typedef struct Pool {
    NodeId node;
    ValueId x;
    int64_t size[2];
} Pool;

typedef struct Pools {
    Model *m;
    Arena *scratch;
    VEC(Pool) found;
    Builder builder;
} Pools;

static bool all_are(const Node *n, const char *name, int64_t number)
{
    const int64_t *at;
    uint32_t len;
    bool all = true;
    for (uint32_t i = 0; node_ints(n, name, &at, &len) && i < len; i++)
        all = all && at[i] == number;
    return all;
}

// A MaxPool of planes whose size it keeps, by an odd window that moves by one place.
static bool read_pool(const Model *m, NodeId id, Pool *p)
{
    const Node *n = node_at(m, id);
    const int64_t *window, *pads;
    uint32_t rank, sides;
    if (!node_is(n, "MaxPool") || !n->def || n->fault.len || n->nin != 1 || n->nout != 1 ||
        value_at(m, n->in[0])->rank != 4 || !str_is(node_str(n, "auto_pad", "NOTSET"), "NOTSET") ||
        !all_are(n, "strides", 1) || !all_are(n, "dilations", 1) ||
        !node_ints(n, "kernel_shape", &window, &rank) || rank != 2 ||
        !node_ints(n, "pads", &pads, &sides) || sides != 4)
        return false;
    *p = (Pool){.node = id, .x = n->in[0]};
    for (int i = 0; i < 2; i++) {
        p->size[i] = window[i];
        if (window[i] % 2 == 0 || pads[i] != window[i] / 2 || pads[2 + i] != window[i] / 2)
            return false;
    }
    return true;
}

static void collect(void *context, NodeId id)
{
    Pools *x = context;
    Pool p;
    if (read_pool(x->m, id, &p))
        vec_push(x->scratch, &x->found, p);
}

static void set_window(Model *m, NodeId id, int64_t rows, int64_t columns)
{
    const int64_t size[] = {rows, columns};
    const int64_t pads[] = {rows / 2, columns / 2, rows / 2, columns / 2};
    node_set_ints(m, id, "kernel_shape", 2, size);
    node_set_ints(m, id, "pads", 4, pads);
}

// The largest pool of the same value whose window lies within p's; NULL: there is none.
static const Pool *within(const Pools *x, const Pool *p)
{
    const Pool *best = NULL;
    for (uint32_t i = 0; i < x->found.len; i++) {
        const Pool *q = &x->found.at[i];
        const int64_t places = q->size[0] * q->size[1];
        if (q->x == p->x && node_at(x->m, q->node)->graph == node_at(x->m, p->node)->graph &&
            q->size[0] <= p->size[0] && q->size[1] <= p->size[1] &&
            places < p->size[0] * p->size[1] && (!best || places > best->size[0] * best->size[1]))
            best = q;
    }
    return best;
}

// Down a column first, then along a row.
static void split_lines(Pools *x, const Pool *p, const int64_t size[2])
{
    Model *m = x->m;
    const DType t = value_at(m, p->x)->dtype;
    const bool pixels = t == DT_BF16 || t == DT_U8 || t == DT_I8;
    if (!pixels || size[0] * size[1] <= FEW || size[0] > FEW || size[1] > FEW || size[0] == 1 ||
        size[1] == 1)
        return;
    const NodeId first = builder_node(&x->builder, node_at(m, p->node)->graph, p->node, "MaxPool",
                                      node_at(m, p->node)->in, 1);
    graph_insert_before(m, p->node, first);
    node_at(m, p->node)->in[0] = node_at(m, first)->out[0];
    set_window(m, first, size[0], 1);
    set_window(m, p->node, 1, size[1]);
}

static void split(Pools *x, const Pool *p, bool lines)
{
    Model *m = x->m;
    const Pool *q = within(x, p);
    int64_t size[] = {p->size[0], p->size[1]};
    for (int i = 0; q && i < 2; i++)
        size[i] -= q->size[i] - 1;
    if (q) {
        node_at(m, p->node)->in[0] = node_at(m, q->node)->out[0];
        set_window(m, p->node, size[0], size[1]);
    }
    if (lines)
        split_lines(x, p, size);
}

bool pass_split_pools(Model *m, PassContext *c)
{
    if (c->strict)
        return true;
    Pools x = {.m = m, .scratch = arena_new()};
    graph_walk(m, m->main, collect, &x);
    if (x.found.len)
        x.builder = builder_of(m, x.scratch);
    for (uint32_t i = 0; i < x.found.len; i++)
        split(&x, &x.found.at[i], c->words && !c->on_device);
    const bool any = x.found.len > 0;
    arena_free(x.scratch);
    return !any || (pass_sort_nodes(m, c) && pass_infer(m, c));
}
