// Gives every value numbers that say what it was: see passes/measure.h.
//
// Branches and bodies are those of the shadow pass (passes/shadow_control.c) of a model in which no
// value has a shadow: what is left of it are the numbers that come out of them.
//
// in:  what pass_pipeline leaves.   out: a model of the same inputs; types have to be inferred.

#include "passes/measure.h"
#include "ir/ops/shadow.h"
#include "passes/measured.h"
#include "passes/pass.h"
#include "passes/shadow_parts.h"

const Measured *measured_of(const Model *m, ValueId v)
{
    const MeasuredSet *set = m->measured;
    const Measured *x = set && v && v < set->n ? &set->at[v] : NULL;
    if (!x || !(x->count > 0))
        return NULL;
    const Value *value = value_at(m, v);
    bool same = value->dtype == x->dtype && str_eq(value->name, x->name) &&
                (value->def == DEF_NODE ? value->node : 0) == x->node;
    bool finite = x->nans + x->above + x->below == 0;
    return same && (finite || !set->nvalues || m->values.len <= set->nvalues) ? x : NULL;
}

static void measure_value(Shadow *s, GraphId g, ValueId v, ShadowList *list)
{
    Model *m = s->m;
    const Value *value = v ? value_at(m, v) : NULL;
    if (!value || value->kind != TYPE_TENSOR || value->rank < 0 || value->constant ||
        !dtype_is_measured(value->dtype) || v >= s->nvalues)
        return;
    NodeId from = value->def == DEF_NODE ? value->node : 0;
    MeasureValue one = {v, value->name, value->dtype, from};
    Str name = str_printf(m->arena, "%.*s#measure.%u", STR_ARG(value->name), m->values.len);
    NodeId n = node_build(m, g, MEASURE_OP, &v, 1, name);
    node_at(m, n)->domain = STR(SHADOW_DOMAIN);
    node_at(m, n)->has |= NODE_HAS_DOMAIN;
    node_at(m, n)->reason = STR("measure");
    graph_append(m, g, n);
    vec_push(s->scratch, list,
             ((ShadowNumbers){s->measures->values.len, node_at(m, n)->out[0], false}));
    vec_push(m->arena, &s->measures->values, one);
}

void measure_graph(Shadow *s, GraphId g, ShadowList *list)
{
    Model *m = s->m;
    Graph old = *graph_at(m, g);
    graph_at(m, g)->nodes.at = NULL;
    graph_at(m, g)->nodes.len = graph_at(m, g)->nodes.cap = 0;
    for (uint32_t i = 0; i < old.inputs.len; i++)
        measure_value(s, g, old.inputs.at[i].value, list);
    for (uint32_t i = 0; i < old.nodes.len; i++) {
        NodeId id = old.nodes.at[i];
        Node n = *node_at(m, id); // a node with graphs gets further results
        bool graphs = false;
        for (uint32_t k = 0; k < n.nattrs; k++)
            graphs = graphs || n.attrs[k].g || n.attrs[k].ngraphs;
        if (!graphs || !shadow_control(s, id, list))
            graph_append(m, g, id);
        for (uint32_t o = 0; o < n.nout; o++)
            measure_value(s, g, n.out[o], list);
    }
}

bool measure_model(Model *m, Diags *diags, MeasureReport *report)
{
    ShadowReport unused = {0};
    Shadow s = {.m = m,
                .diags = diags,
                .report = &unused,
                .scratch = arena_new(),
                .nvalues = m->values.len,
                .measures = report};
    ShadowList list = {0};
    MeasureReport ordered = {0};
    s.shadow = NEWS(s.scratch, ValueId, s.nvalues);
    s.wide = NEWS(s.scratch, ValueId, s.nvalues);
    vec_push(m->arena, &m->opsets,
             ((OpsetImport){.domain = STR(SHADOW_DOMAIN), .version = 1, .has = 3}));
    measure_graph(&s, m->main, &list);
    Graph *g = graph_at(m, m->main);
    shadow_drop_outputs(m, g);
    for (uint32_t i = 0; i < list.len; i++) {
        vec_push(m->arena, &ordered.values, report->values.at[list.at[i].record]);
        vec_push(m->arena, &g->outputs, ((ValueInfo){.value = list.at[i].value, .has = 1}));
    }
    *report = ordered;
    arena_free(s.scratch);
    if (!report->values.len)
        diag(diags, "", SEV_ERROR, location_graph(m, m->arena, m->main),
             "not supported: nothing can be measured: no value is a tensor of numbers that "
             "only a run knows");
    return report->values.len > 0;
}

bool pass_measure(Model *m, PassContext *c)
{
    MeasureReport report = {0};
    return measure_model(m, c->diags, &report);
}
