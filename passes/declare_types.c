// What is declared inside of a model made to say what is computed.

#include "ir/infer.h"
#include "passes/insert_casts.h"
#include "passes/lint/lint.h"

static bool is_settled(Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    uint32_t from = 0;
    Conflict c;
    return value->kind == TYPE_TENSOR && value->dtype != DT_NONE &&
           (value->def != DEF_NODE || !lint_conflict(m, value->node, &from, &c));
}

bool says_scale(const Model *m, const Uses *uses, ValueId v, DType said)
{
    for (uint32_t k = uses->first[v]; k < uses->first[v + 1]; k++) {
        const Use *u = &uses->uses[k];
        const Node *n = u->node && u->index == 0 ? node_at(m, u->node) : NULL;
        if (n && node_is(n, "QuantizeLinear") && n->nin > 1 && n->in[1] &&
            value_at(m, n->in[1])->dtype == said)
            return true;
    }
    return false;
}

static bool declare(Model *m, const Uses *uses, const ValueInfo *info)
{
    Type *t = info->type;
    if (!t || t->kind != TYPE_TENSOR || !t->elem || !is_settled(m, info->value) ||
        t->elem == (int32_t)value_at(m, info->value)->dtype ||
        says_scale(m, uses, info->value, (DType)t->elem))
        return false;
    t->elem = (int32_t)value_at(m, info->value)->dtype;
    return true;
}

bool declare_types(Model *m, bool unsafe)
{
    Arena *a = arena_new();
    Uses uses = uses_of(m, a);
    bool any = false;
    for (GraphId g = 1; g < m->graphs.len; g++) {
        const Graph *graph = graph_at(m, g);
        bool inner = g != m->main && !graph->function;
        for (uint32_t i = 0; i < graph->infos.len; i++)
            if (value_at(m, graph->infos.at[i].value)->def != DEF_INPUT)
                any |= declare(m, &uses, &graph->infos.at[i]);
        for (uint32_t i = 0; i < graph->inputs.len; i++)
            if (inner || value_is_weight(m, graph->inputs.at[i].value) ||
                (unsafe && value_at(m, graph->inputs.at[i].value)->init))
                any |= declare(m, &uses, &graph->inputs.at[i]);
        for (uint32_t i = 0; inner && i < graph->outputs.len; i++)
            any |= declare(m, &uses, &graph->outputs.at[i]);
    }
    arena_free(a);
    return any;
}
