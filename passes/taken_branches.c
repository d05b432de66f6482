// Puts branches that data decide in the place of their If: see passes/taken_branches.h.

#include "passes/taken_branches.h"
#include "passes/pass.h"

static bool is_asked(const Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    return node_is(n, "If") && n->nin == 1 && n->in[0] && !value_at(m, n->in[0])->constant;
}

uint32_t branches_count(const Model *m)
{
    const Graph *g = graph_at(m, m->main);
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->nodes.len && count < MAX_ASKED; i++)
        count += is_asked(m, g->nodes.at[i]);
    return count;
}

void branches_ask(Model *m)
{
    Graph *g = graph_at(m, m->main);
    uint32_t count = 0;
    g->outputs.at = NULL;
    g->outputs.len = g->outputs.cap = 0;
    for (uint32_t i = 0; i < g->nodes.len && count < MAX_ASKED; i++)
        if (is_asked(m, g->nodes.at[i])) {
            ValueId v = node_at(m, g->nodes.at[i])->in[0];
            vec_push(m->arena, &g->outputs, ((ValueInfo){.value = v, .has = 1}));
            count++;
        }
}

// A constant of the rank that the condition had.
static ValueId known(Model *m, ValueId like, bool yes)
{
    static const int64_t ones[1] = {1};
    uint8_t element = yes;
    int32_t rank = value_at(m, like)->rank;
    ValueId v = value_new(m, m->main, str_printf(m->arena, "taken#%u", m->values.len));
    TensorData *t = tensor_new(m->arena, DT_BOOL, rank == 1 ? 1 : 0, ones, &element);
    t->name = value_at(m, v)->name;
    t->has |= TENSOR_HAS_NAME;
    value_at(m, v)->def = DEF_INITIALIZER;
    value_at(m, v)->init = t;
    vec_push(m->arena, &graph_at(m, m->main)->initializers, ((Initializer){v, t}));
    return v;
}

bool branches_take(Model *m, Diags *diags, const int8_t *taken, uint32_t n)
{
    PassContext c = {.diags = diags};
    const Graph *g = graph_at(m, m->main);
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->nodes.len && count < n; i++) {
        NodeId id = graph_at(m, m->main)->nodes.at[i];
        if (!is_asked(m, id))
            continue;
        int8_t which = taken[count++];
        if (which >= 0) {
            ValueId v = known(m, node_at(m, id)->in[0], which != 0);
            node_at(m, id)->in[0] = v;
        }
    }
    return pass_pipeline(m, &c) && !diags->errors;
}
