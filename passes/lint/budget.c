// PR008: outputs that may be off by more than their budget (passes/estimate.h).

#include "passes/estimate.h"
#include "passes/lint/lint.h"

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
        if ((!shown && e->error <= e->budget) || !v)
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
        diag_note(l->diags, d,
                  "`cameo drift` says what each node adds; `cameo convert --budget` chooses what "
                  "stays in float32");
    }
}
