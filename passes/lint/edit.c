#include "passes/adaptor.h"
#include "passes/lint/edit.h"

Edit edit_begin(Model *m)
{
    Arena *a = arena_new();
    Edit e = {.m = m, .a = a, .size = m->values.len, .nodes = m->nodes.len};
    e.to = NEWS(a, ValueId, e.size);
    e.output = NEWS(a, bool, e.size);
    e.dtype = NEWS(a, DType, e.size);
    for (GraphId g = 1; g < m->graphs.len; g++)
        for (uint32_t i = 0; i < graph_at(m, g)->outputs.len; i++)
            e.output[graph_at(m, g)->outputs.at[i].value] = true;
    return e;
}

void edit_replace(Edit *e, ValueId v, ValueId by)
{
    e->to[v] = by;
    e->count++;
}

void edit_drop(Edit *e, NodeId id, ValueId by)
{
    Node *n = node_at(e->m, id);
    ValueId v = n->out[0];
    e->count++;
    if (v < e->size && e->output[v]) {
        n->op = STR("Identity");
        n->nattrs = 0;
        n->nin = 1;
        n->in[0] = by;
        return;
    }
    e->to[v] = by;
    graph_remove(e->m, id);
}

void edit_declare(Edit *e, ValueId v, DType t)
{
    e->dtype[v] = t;
}

static ValueId resolve(const Edit *e, ValueId v)
{
    ValueId to = v;
    while (to < e->size && e->to[to])
        to = e->to[to];
    while (v < e->size && e->to[v] && e->to[v] != to) { // the way is short next time
        ValueId next = e->to[v];
        e->to[v] = to;
        v = next;
    }
    return to;
}

// Entries of values that are gone go; others say the new dtype.
static void mend_infos(const Edit *e, Graph *g)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->infos.len; i++) {
        ValueInfo *info = &g->infos.at[i];
        const Value *v = value_at(e->m, info->value);
        if (v->def == DEF_NODE && node_at(e->m, v->node)->dead)
            continue;
        bool known = info->value < e->size && e->dtype[info->value] != DT_NONE;
        if (known && info->type && info->type->kind == TYPE_TENSOR && info->type->elem)
            info->type->elem = (int32_t)e->dtype[info->value];
        g->infos.at[kept++] = *info;
    }
    g->infos.len = kept;
}

uint32_t edit_end(Edit *e)
{
    Model *m = e->m;
    for (NodeId id = 1; e->count && id < m->nodes.len; id++) {
        Node *n = node_at(m, id);
        for (uint32_t i = 0; !n->dead && i < n->nin; i++)
            n->in[i] = resolve(e, n->in[i]);
    }
    for (GraphId g = 1; e->count && g < m->graphs.len; g++)
        mend_infos(e, graph_at(m, g));
    if (e->count)
        repair_sort(m, e->a);
    arena_free(e->a);
    return e->count;
}
