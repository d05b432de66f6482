// PR008: outputs that may be off by more than their budget (passes/estimate.h).

#include "passes/estimate.h"
#include "passes/lint/cost.h"
#include "passes/lint/edit.h"
#include "passes/lint/island.h"
#include "passes/lint/lint.h"
#include "passes/lint/motion.h"
#include "passes/lint/story.h"

#include <math.h>
#include <string.h>

// ---- what would run in float32

static bool is_over(const Estimate *e)
{
    return e->measured > e->budget || e->error > e->budget;
}

// Is it a node of a function's body whose calls are inlined? Their copies stand for it.
static bool is_of_body(const Model *m, const Node *n)
{
    GraphId g = n->graph;
    while (g && graph_at(m, g)->parent)
        g = graph_at(m, g)->parent;
    return g && graph_at(m, g)->function && !m->given;
}

// Values that nodes make, by the name that the file has; 0 where several bear it. Copies of a body
// are mended together, and the first stands for them.
static Map values_by_name(const Model *m, Arena *a)
{
    Map names = {.arena = a};
    for (ValueId v = 1; v < m->values.len; v++) {
        const Value *value = value_at(m, v);
        ValueId written = value_written(m, v);
        bool added;
        if (value->def != DEF_NODE || node_at(m, value->node)->dead ||
            is_of_body(m, node_at(m, value->node)))
            continue;
        uint32_t *at = map_put(&names, value_at(m, written)->name, &added);
        if (added || !*at || value_written(m, *at) != written)
            *at = added ? v : 0;
    }
    return names;
}

// Does the node take and give float32 where it now has `from`, but for a Cast's target?
static bool may_widen(const Model *m, NodeId id, DType from)
{
    static const char *const fixing[] = {"dtype", "value", "output_dtype"};
    const Node *n = node_at(m, id);
    for (uint32_t k = 0; k < n->nattrs; k++)
        for (size_t i = 0; i < sizeof fixing / sizeof *fixing; i++)
            if (str_is(n->attrs[k].name, fixing[i]))
                return false;
    return island_allows(m, id, from, DT_F32);
}

// Marks the nodes of dtype `from` that make what an estimate wants wider, and those that read it:
// what reads it in float32 is rounded no more on the way. How many of the first; *lacking: some
// cannot be.
static uint32_t mark_widened(const Model *m, const Uses *uses, const Map *names, const Estimate *e,
                             DType from, bool *in, bool *lacking)
{
    uint32_t made = 0;
    for (uint32_t i = 0; i < e->nwiden; i++) {
        const uint32_t *at = map_get(names, e->widen[i]);
        ValueId v = at ? *at : 0;
        NodeId n = v ? value_at(m, v)->node : 0;
        bool low = v && lint_dtype(m, v) == from;
        *lacking |= !v || (low && !may_widen(m, n, from));
        if (!low || !may_widen(m, n, from))
            continue;
        made++;
        in[n] = true;
        for (uint32_t k = uses->first[v]; k < uses->first[v + 1]; k++)
            if (uses->uses[k].node && may_widen(m, uses->uses[k].node, from))
                in[uses->uses[k].node] = true;
    }
    return made;
}

static const DType lows[] = {DT_F16, DT_BF16};
enum { NLOWS = sizeof lows / sizeof *lows };

static void offer_float32(Lint *l, Diag *d, const Estimate *e)
{
    const Model *m = l->m;
    const Uses *uses = lint_uses(l);
    Map names = values_by_name(m, l->arena);
    uint32_t made = 0, casts = 0;
    double slower = 0;
    bool lacking = e->nwiden == 0;
    for (int k = 0; k < NLOWS && !lacking; k++) {
        bool *in = NEWS(l->arena, bool, m->nodes.len);
        uint32_t n = mark_widened(m, uses, &names, e, lows[k], in, &lacking);
        casts += n ? island_casts(m, uses, in, lows[k]) : 0;
        made += n;
        slower += n ? fmax(cost_of_widening(l, in, lows[k]), 0) : 0;
    }
    if (lacking || !made)
        return;
    Fix *f = diag_fix(l->diags, d, false,
                      "keep %s node%s in float32, with what reads %s: predicted %.2g, +%u cast%s, "
                      "est. +%.0f%% time",
                      made == 1 ? "this" : str_printf(l->arena, "these %u", made).at,
                      made == 1 ? "" : "s", made == 1 ? "it" : "them", e->widened, casts,
                      casts == 1 ? "" : "s", 100 * slower);
    f->casts = casts;
    f->note = STR("after the repair it is measured again, and more is kept in float32 if need be");
}

// A Cast of the island goes on in float32; where that is what it takes, it goes.
static void mend_casts(Model *m, const bool *in, const DType *taken, DType from)
{
    Edit e = edit_begin(m);
    for (NodeId id = 1; id < e.nodes; id++) {
        Node *n = node_at(m, id);
        if (!in[id] || n->dead || !is_cast(m, id))
            continue;
        DType a = taken[id] == from ? DT_F32 : taken[id];
        DType b = cast_to(m, id) == from ? DT_F32 : cast_to(m, id);
        if (a == b)
            edit_drop(&e, id, n->in[0]);
        else
            node_set_int(m, id, "to", b);
    }
    edit_end(&e);
}

static uint32_t widen(Model *m, DType from)
{
    Arena *a = arena_new();
    Uses uses = uses_of(m, a);
    Map names = values_by_name(m, a);
    bool *in = NEWS(a, bool, m->nodes.len), lacking = false;
    DType *taken = NEWS(a, DType, m->nodes.len);
    uint32_t made = 0;
    for (uint32_t i = 0; i < m->estimates->all.len; i++)
        if (is_over(&m->estimates->all.at[i]))
            made += mark_widened(m, &uses, &names, &m->estimates->all.at[i], from, in, &lacking);
    for (NodeId id = 1; id < m->nodes.len; id++)
        taken[id] = in[id] && is_cast(m, id) ? cast_from(m, id) : DT_NONE;
    if (made) {
        uint32_t before = m->nodes.len;
        bool *all = NULL;
        island_run(m, in, from, DT_F32);
        all = NEWS(a, bool, m->nodes.len);
        memcpy(all, in, before * sizeof *all);
        mend_casts(m, all, taken, from);
    }
    arena_free(a);
    return made;
}

uint32_t repair_budgets(Model *m, bool unsafe)
{
    uint32_t made = 0;
    for (int k = 0; k < NLOWS && unsafe && m->estimates; k++)
        made += widen(m, lows[k]);
    return made;
}

// ---- the rule

static ValueId output_named(const Model *m, Str name)
{
    const Graph *g = graph_at(m, m->main);
    for (uint32_t i = 0; i < g->outputs.len; i++)
        if (str_eq(value_at(m, g->outputs.at[i].value)->name, name))
            return g->outputs.at[i].value;
    return 0;
}

static void note_parts(Lint *l, Diag *d, const Estimate *e)
{
    Buf b = {0};
    for (uint32_t i = 0; i < e->nparts; i++)
        buf_printf(&b, "%s%.0f%% %.*s (%s)", i ? "; " : "", 100 * e->parts[i].share,
                   STR_ARG(e->parts[i].path), dtype_name(e->parts[i].dtype));
    if (e->others)
        buf_printf(&b, "; %.0f%% %u other%s", 100 * e->rest, e->others, e->others == 1 ? "" : "s");
    if (b.len)
        diag_note(l->diags, d, "variance: %.*s", (int)b.len, b.at);
    buf_free(&b);
}

void lint_budgets(Lint *l)
{
    const EstimateSet *s = l->m->estimates;
    for (uint32_t i = 0; s && i < s->all.len; i++) {
        const Estimate *e = &s->all.at[i];
        bool shown = e->measured > e->budget;
        ValueId v = output_named(l->m, e->output);
        if (!is_over(e) || !v)
            continue;
        Str name = lint_name(l, v);
        Str at = str_printf(l->arena, "graph/output(%.*s)", STR_ARG(name));
        Diag *d = shown ? diag(l->diags, "PR008", SEV_WARNING, at,
                               "output \"%.*s\" is off by %.2g; its budget is %.2g", STR_ARG(name),
                               e->measured, e->budget)
                        : diag(l->diags, "PR008", SEV_WARNING, at,
                               "output \"%.*s\" may be off by %.2g (%g sigma); its budget is %.2g",
                               STR_ARG(name), e->error, e->sigma, e->budget);
        d->value = name;
        diag_note(l->diags, d,
                  "%s, not proved: %u data set%s, sensitivities, a shadow in float64; rms of the "
                  "error as a part of the output's",
                  e->assumed ? "measured, in part assumed" : "measured", s->sets,
                  s->sets == 1 ? "" : "s");
        if (shown)
            diag_note(l->diags, d, "predicted: %.2g (%g sigma)", e->error, e->sigma);
        else if (e->measured >= 0)
            diag_note(l->diags, d, "on these data it is off by %.2g", e->measured);
        note_parts(l, d, e);
        offer_float32(l, d, e);
        diag_help(l->diags, d, "see what each node adds: `cameo drift MODEL --data DIR`");
    }
}
