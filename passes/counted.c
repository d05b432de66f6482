// Sizes and positions are integers because they count, and what computes with nothing else computes
// in integers: Div rounds, and Range gives as many as its limit says. What merely arrives as
// integers, as an input or from a Cast, may as well be a number.

#include "passes/counted.h"

static bool begins_counting(const Node *n)
{
    return node_is(n, "Shape") || node_is(n, "Size") || node_is(n, "NonZero") ||
           node_is(n, "Range");
}

static bool is_counted(const Ties *t, const Node *n, const bool *counted)
{
    bool any = false;
    if (begins_counting(n))
        return true;
    if (node_is(n, "Cast") || node_is(n, "CastLike"))
        return false;
    for (uint32_t i = 0; i < n->nin; i++) {
        ValueId v = n->in[i];
        uint32_t maker = v ? t->maker[v] : NO_TIE;
        any |= v && counted[v];
        if (v && !counted[v] && (maker == NO_TIE || t->at.at[maker].kind != TIE_CONSTANT))
            return false;
    }
    return any;
}

const bool *counted_values(const Ties *t, Arena *a)
{
    const Model *m = t->m;
    bool *counted = NEWS(a, bool, t->nvalues);
    for (GraphId g = 1; g < m->graphs.len; g++) {
        const Graph *graph = graph_at(m, g);
        for (uint32_t i = 0; i < graph->nodes.len; i++) {
            const Node *n = node_at(m, graph->nodes.at[i]);
            if (n->dead || !is_counted(t, n, counted))
                continue;
            for (uint32_t o = 0; o < n->nout; o++)
                if (n->out[o])
                    counted[n->out[o]] = dtype_is_integer(ties_dtype(m, n->out[o]));
        }
    }
    return counted;
}
