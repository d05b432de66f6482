#include "passes/lint/motion.h"
#include "passes/lint/story.h"

#include <string.h>

typedef struct Mover {
    const char *op;
    uint32_t data; // bit i: operand i is data; ALL: every one
    Motion motion;
} Mover;
enum { ALL = UINT32_MAX };

static const Mover movers[] = {
    {"Abs", 1, MOTION_MOVES},       {"Compress", 1, MOTION_MOVES},
    {"Concat", ALL, MOTION_MOVES},  {"DepthToSpace", 1, MOTION_MOVES},
    {"Expand", 1, MOTION_MOVES},    {"Flatten", 1, MOTION_MOVES},
    {"Gather", 1, MOTION_MOVES},    {"GatherElements", 1, MOTION_MOVES},
    {"GatherND", 1, MOTION_MOVES},  {"Identity", 1, MOTION_MOVES},
    {"Max", ALL, MOTION_ORDERS},    {"Min", ALL, MOTION_ORDERS},
    {"Neg", 1, MOTION_MOVES},       {"Relu", 1, MOTION_ORDERS},
    {"Reshape", 1, MOTION_MOVES},   {"ReverseSequence", 1, MOTION_MOVES},
    {"Slice", 1, MOTION_MOVES},     {"SpaceToDepth", 1, MOTION_MOVES},
    {"Split", 1, MOTION_MOVES},     {"Squeeze", 1, MOTION_MOVES},
    {"Tile", 1, MOTION_MOVES},      {"Transpose", 1, MOTION_MOVES},
    {"Unsqueeze", 1, MOTION_MOVES}, {"Where", 6, MOTION_MOVES},
};

static const Mover *mover_of(const Node *n)
{
    if (!n->schema || !n->op.len || !is_standard_domain(n->domain))
        return NULL;
    for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
        if (n->op.at[0] == movers[i].op[0] && str_is(n->op, movers[i].op))
            return &movers[i];
    return NULL;
}

Motion motion_of(const Node *n)
{
    const Mover *m = mover_of(n);
    return m ? m->motion : MOTION_NONE;
}

bool motion_is_data(const Node *n, uint32_t i)
{
    const Mover *m = mover_of(n);
    return m && (m->data == ALL || (i < 32 && (m->data >> i & 1)));
}

bool is_cast(const Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    return node_is(n, "Cast") && n->nin == 1 && n->nout == 1 && n->in[0] && n->out[0] &&
           lint_dtype(m, n->in[0]) != DT_NONE && lint_dtype(m, n->out[0]) != DT_NONE;
}

DType cast_from(const Model *m, NodeId n)
{
    return lint_dtype(m, node_at(m, n)->in[0]);
}

DType cast_to(const Model *m, NodeId n)
{
    return lint_dtype(m, node_at(m, n)->out[0]);
}

// ---- regions ------------------------------------------------------------------------------------

static uint32_t root_of(uint32_t *parent, uint32_t v)
{
    while (parent[v] != v)
        v = parent[v] = parent[parent[v]];
    return v;
}

static bool is_float(const Model *m, ValueId v)
{
    return dtype_is_float(lint_dtype(m, v));
}

static void join_node(const Model *m, const Node *n, uint32_t *parent)
{
    ValueId first = 0;
    for (uint32_t i = 0; i < n->nin + n->nout; i++) {
        ValueId v = i < n->nin ? n->in[i] : n->out[i - n->nin];
        if ((i < n->nin && !motion_is_data(n, i)) || !v || !is_float(m, v))
            continue;
        if (!first)
            first = v;
        else if (lint_dtype(m, first) == lint_dtype(m, v))
            parent[root_of(parent, v)] = root_of(parent, first);
    }
}

static Region *region_of(const Regions *x, ValueId v)
{
    return v && x->of[v] ? &x->at[x->of[v] - 1] : NULL;
}

static void gather_value(Regions *x, ValueId v, Region *r)
{
    const Model *m = x->m;
    const Value *value = value_at(m, v);
    NodeId maker = value->def == DEF_NODE ? value->node : 0;
    vec_push(x->arena, &r->values, v);
    if (maker && is_cast(m, maker)) {
        DType from = cast_from(m, maker);
        r->from = r->enter.len == 0 || r->from == from ? from : DT_NONE;
        vec_push(x->arena, &r->enter, maker);
    } else if (!maker || motion_of(node_at(m, maker)) == MOTION_NONE) {
        r->foreign = true;
    }
    for (uint32_t k = x->uses->first[v]; k < x->uses->first[v + 1]; k++) {
        const Use *u = &x->uses->uses[k];
        const Node *n = u->node ? node_at(m, u->node) : NULL;
        if (n && is_cast(m, u->node))
            vec_push(x->arena, &r->leave, u->node);
        else if (!n || !motion_is_data(n, u->index))
            r->used = true;
    }
}

// Regions begin and end with Casts; others are of no interest.
static void number_regions(Regions *x, uint32_t *parent)
{
    const Model *m = x->m;
    uint32_t *number = NEWS(x->arena, uint32_t, m->values.len);
    for (NodeId id = 1; id < m->nodes.len; id++) {
        if (node_at(m, id)->dead || !is_cast(m, id))
            continue;
        ValueId ends[2] = {node_at(m, id)->in[0], node_at(m, id)->out[0]};
        for (int k = 0; k < 2; k++)
            if (is_float(m, ends[k]) && !number[root_of(parent, ends[k])])
                number[root_of(parent, ends[k])] = ++x->len;
    }
    x->at = NEWS(x->arena, Region, x->len);
    for (ValueId v = 1; v < m->values.len; v++)
        x->of[v] = is_float(m, v) ? number[root_of(parent, v)] : 0;
}

static bool has_casts(const Model *m)
{
    for (NodeId id = 1; id < m->nodes.len; id++)
        if (!node_at(m, id)->dead && is_cast(m, id))
            return true;
    return false;
}

Regions regions_of(Model *m, const Uses *uses, Arena *a)
{
    Regions x = {.m = m, .arena = a, .uses = uses, .of = NEWS(a, uint32_t, m->values.len)};
    if (!has_casts(m))
        return x;
    uint32_t *parent = NEWS(a, uint32_t, m->values.len);
    for (ValueId v = 0; v < m->values.len; v++)
        parent[v] = v;
    for (NodeId id = 1; id < m->nodes.len; id++)
        if (!node_at(m, id)->dead && motion_of(node_at(m, id)) != MOTION_NONE)
            join_node(m, node_at(m, id), parent);
    number_regions(&x, parent);
    for (ValueId v = 1; v < m->values.len; v++) {
        Region *r = region_of(&x, v);
        bool gone = value_at(m, v)->def == DEF_NODE && node_at(m, value_at(m, v)->node)->dead;
        if (!r || gone)
            continue;
        r->dtype = lint_dtype(m, v);
        gather_value(&x, v, r);
    }
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        Motion motion = n->dead || !n->nout ? MOTION_NONE : motion_of(n);
        Region *r = motion == MOTION_NONE ? NULL : region_of(&x, n->out[0]);
        if (!r)
            continue;
        vec_push(a, &r->nodes, id);
        r->orders |= motion == MOTION_ORDERS;
    }
    return x;
}

const Regions *lint_regions(Lint *l)
{
    if (!l->regions) {
        Regions *x = NEW(l->arena, Regions);
        *x = regions_of(l->m, lint_uses(l), l->arena);
        l->regions = x;
    }
    return l->regions;
}

bool region_allows(const Regions *x, const Region *r, DType t)
{
    for (uint32_t i = 0; i < r->nodes.len; i++) {
        const Node *n = node_at(x->m, r->nodes.at[i]);
        const SchemaParam *p = n->nout ? param_of_result(n, 0) : NULL;
        if (!p || !(p->types >> t & 1))
            return false;
    }
    return true;
}
