// Where a bound comes from: an operand decides it if, were the operand anything, the bound would be
// wider. That asks the operator's own row again, so that no rule has to record what it did.

#include "passes/ranges_state.h"

#include <math.h>

static double bound_of(const Range *x, bool upper)
{
    return upper ? x->hi : -x->lo;
}

// What the row gives for result `o` as operands stand now.
static double asked_again(RangeWalk *w, uint32_t o, bool upper)
{
    ValueId v = w->n->out[o];
    w->r->at[v] = range_full(walk_result(w, o));
    w->row->rule(w);
    return bound_of(&w->r->at[v], upper);
}

// The operand that moves the bound furthest if it may be anything, or, by `narrow`, if it is one
// number: of a bound that is infinite already. One that is no constant goes before one that is.
static ValueId most_moved(RangeWalk *w, uint32_t o, bool upper, double base, bool narrow)
{
    ValueId best = 0;
    double furthest = 0;
    bool constant = true;
    for (uint32_t i = 0; i < w->n->nin; i++) {
        ValueId in = w->n->in[i];
        const Value *operand = in ? value_at(w->m, in) : NULL;
        if (!operand || in >= w->r->n || !w->r->at[in].known)
            continue;
        Range was = w->r->at[in];
        double one = was.lo > 1 ? was.lo : was.hi < 1 ? was.hi : 1;
        w->r->at[in] = narrow ? range_between(one, one) : range_full(operand->dtype);
        double there = asked_again(w, o, upper), moved = narrow ? base - there : there - base;
        w->r->at[in] = was;
        bool fixed = operand->constant != NULL;
        bool first = !best || (constant && !fixed);
        if (moved > 0 && (first || (constant == fixed && moved > furthest))) {
            best = in;
            furthest = moved;
            constant = fixed;
        }
    }
    return best;
}

static ValueId of_operands(Ranges *r, const Value *value, bool upper)
{
    RangeWalk w = {.r = r, .m = r->m, .id = value->node, .n = node_at(r->m, value->node)};
    ValueId v = w.n->out[value->index], best;
    Range own = r->at[v];
    w.row = r->rows[value->node];
    if (!w.row)
        return 0;
    double base = asked_again(&w, value->index, upper);
    best = most_moved(&w, value->index, upper, base, false);
    best = best ? best : most_moved(&w, value->index, upper, base, true);
    r->at[v] = own;
    return best;
}

// Of If, Loop and Scan: the branch's or the body's value that reaches furthest.
static ValueId of_graphs(Ranges *r, const Value *value, bool upper)
{
    const Node *n = node_at(r->m, value->node);
    uint32_t skip = node_is(n, "Loop") ? 1 : 0;
    ValueId best = 0;
    for (uint32_t i = 0; i < n->nattrs; i++) {
        GraphId g = n->attrs[i].g;
        uint32_t o = value->index + skip;
        ValueId v =
            g && o < graph_at(r->m, g)->outputs.len ? graph_at(r->m, g)->outputs.at[o].value : 0;
        if (v && v < r->n && r->at[v].known &&
            (!best || bound_of(&r->at[v], upper) > bound_of(&r->at[best], upper)))
            best = v;
    }
    return best;
}

ValueId range_source(Ranges *r, ValueId v, bool upper)
{
    const Value *value = v ? value_at(r->m, v) : NULL;
    Range x = range_of(r, v);
    if (!value || !x.known || value->constant || value->def != DEF_NODE ||
        (value->content && value->ncontent))
        return 0;
    const Node *n = node_at(r->m, value->node);
    bool control = node_is(n, "If") || node_is(n, "Loop") || node_is(n, "Scan");
    return control ? of_graphs(r, value, upper) : of_operands(r, value, upper);
}

bool range_has_row(Ranges *r, NodeId n)
{
    (void)range_of(r, 0);
    return r->rows[n] != NULL;
}
