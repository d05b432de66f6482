// Nodes by operator. Most rules are about a few operators, and a large model has few of them: what
// looks at a million nodes to find none waits for memory.

#include "passes/lint/lint.h"

// `ids` of one operator stand next to each other, in order; those of operator k from first[k] on.
struct NodesByOperator {
    Map operators; // to k
    NodeId *ids;
    uint32_t *first;
};

static struct NodesByOperator *sorted(const Model *m, Arena *a)
{
    struct NodesByOperator *by = NEW(a, struct NodesByOperator);
    uint32_t *of = NEWS(a, uint32_t, m->nodes.len);
    by->operators.arena = a;
    for (NodeId id = 1; id < m->nodes.len; id++) {
        bool added;
        uint32_t *k = map_put(&by->operators, node_at(m, id)->op, &added);
        *k = added ? by->operators.len - 1 : *k;
        of[id] = *k;
    }
    by->ids = NEWS(a, NodeId, m->nodes.len);
    by->first = NEWS(a, uint32_t, by->operators.len + 2u);
    for (NodeId id = 1; id < m->nodes.len; id++)
        by->first[of[id] + 2]++;
    for (uint32_t k = 0; k < by->operators.len; k++)
        by->first[k + 2] += by->first[k + 1];
    for (NodeId id = 1; id < m->nodes.len; id++)
        by->ids[by->first[of[id] + 1]++] = id;
    return by;
}

static NodeIds merged(Arena *a, NodeIds x, NodeIds y)
{
    NodeId *at = NEWS(a, NodeId, x.len + y.len);
    for (uint32_t i = 0, k = 0; i < x.len || k < y.len;) {
        const bool first = k == y.len || (i < x.len && x.at[i] < y.at[k]);
        at[i + k] = first ? x.at[i] : y.at[k];
        i += first;
        k += !first;
    }
    return (NodeIds){at, x.len + y.len};
}

NodeIds lint_nodes_of(Lint *l, const char *const *operators)
{
    if (!l->by_operator)
        l->by_operator = sorted(l->m, l->arena);
    const struct NodesByOperator *by = l->by_operator;
    NodeIds all = {0};
    for (uint32_t i = 0; operators[i]; i++) {
        const uint32_t *k = map_get(&by->operators, str_of(operators[i]));
        const NodeIds one =
            k ? (NodeIds){by->ids + by->first[*k], by->first[*k + 1] - by->first[*k]}
              : (NodeIds){0};
        all = !one.len ? all : all.len ? merged(l->arena, all, one) : one;
    }
    return all;
}
