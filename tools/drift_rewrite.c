// Formulas that lose digits and can be written otherwise: lint's repairs, each tried on the data.
//
// What is predicted: the nodes that a repair replaces contribute nothing any more. What came of it:
// the changed model is run beside its own float64 shadow.

#include "passes/lint/lint.h"
#include "passes/pass.h"
#include "tools/drift_parts.h"

#include <math.h>
#include <string.h>

// Other formulas of the same function; then sums, exponentials and norms of 16 bits in float32.
static const char *const rules[] = {"NS001", "NS002", "NS005", "NS006", "NS010", "MP001",
                                    "MP007", "MP008", "PR005", "PR006", "PR007"};
enum { NRULES = sizeof rules / sizeof *rules };

// What is left of value k where a Cast gives it: its rounding.
static double rounded(const Drift *d, uint32_t o, uint32_t k)
{
    DType t = d->table.report.values.at[k].dtype;
    double scale = sens_scale(&d->table, o);
    int field = t == DT_F16 ? SENS_F16 : t == DT_BF16 ? SENS_BF16 : SENS_F32;
    return scale > 0 ? sens_numbers(&d->table, o, k)[field] / scale : 0;
}

// Is the value computed as it was?
static bool remains(const Model *m, const Value *then, const SensValue *before)
{
    return then && str_eq(node_at(m, then->node)->op, before->op) && then->dtype == before->dtype;
}

// Without what the nodes that are gone, or compute otherwise, contributed to each output.
static void predict(const Drift *d, DriftRewrite *r, const Model *m)
{
    Map made = {.arena = arena_new()};
    const SensReport *report = &d->table.report;
    bool added;
    for (NodeId n = 1; n < m->nodes.len; n++)
        for (uint32_t o = 0; !node_at(m, n)->dead && o < node_at(m, n)->nout; o++)
            if (node_at(m, n)->out[o])
                *map_put(&made, value_shown_name(m, node_at(m, n)->out[o]), &added) =
                    node_at(m, n)->out[o];
    for (uint32_t o = 0; o < report->outputs.len; o++) {
        double left = d->outputs[o].predicted * d->outputs[o].predicted;
        for (uint32_t k = 0; k < report->values.len; k++) {
            const SensValue *v = &report->values.at[k];
            const uint32_t *at = map_get(&made, v->name);
            const Value *then = at ? value_at(m, *at) : NULL;
            DriftBasis basis;
            if (v->kind != SENS_OF_NODE || remains(m, then, v))
                continue;
            left -= drift_variance(d, o, k, &basis);
            if (then && node_is(node_at(m, then->node), "Cast"))
                left += rounded(d, o, k);
        }
        r->predicted[o] = sqrt(fmax(left, 0));
    }
    arena_free(made.arena);
}

bool drift_rewrite_model(const Drift *d, DriftRewrite *r, Model *m, Diags *diags)
{
    PassContext c = {.diags = diags};
    r->places = r->rule->repair(m, true);
    if (!r->places || !pass_eliminate_dead(m, &c))
        return false;
    predict(d, r, m);
    return true;
}

// ---- which of them there are -------------------------------------------------------------------

typedef struct Finder {
    uint32_t places[NRULES];
} Finder;

// Repairs that change anything, one after the other; nothing is compiled of it.
static bool find(void *finder, Model *m, Diags *diags)
{
    Finder *f = finder;
    (void)diags;
    for (size_t i = 0; i < NRULES; i++)
        f->places[i] = lint_rules[lint_rule_index(rules[i])].repair(m, true);
    return false;
}

static void find_places(const Tool *t, const SensOptions *sens, Finder *f)
{
    CompileOptions options = sens->compile;
    Session s;
    options.rewrite = find;
    options.rewriter = f;
    bool quiet = tool_style.quiet; // what there is to say of the model was said
    tool_style.quiet = true;
    (void)session_open(t, sens->model, &options, &s); // `find` always ends it
    tool_style.quiet = quiet;
    session_close(&s);
}

// ---- trying ------------------------------------------------------------------------------------

static void try_rewrite(const Tool *t, const SensOptions *sens, Drift *d, DriftRewrite *r)
{
    DriftTrial x = {.tool = t, .sens = sens, .d = d, .rewrite = r};
    int status = drift_trial_open(&x);
    if (!status && d->precision != DRIFT_OWN)
        drift_trial_round(&x, 0);
    if (!status)
        status = drift_trial_run(&x);
    r->ran = !status;
    for (uint32_t o = 0; r->ran && o < d->table.report.outputs.len; o++)
        r->after[o] = x.outputs[o].rms;
    drift_trial_close(&x);
}

void drift_rewrite(const Tool *t, const SensOptions *sens, Drift *d)
{
    Finder f = {{0}};
    uint32_t n = d->table.report.outputs.len;
    d->rewrites = NEWS(d->table.arena, DriftRewrite, NRULES);
    find_places(t, sens, &f);
    for (size_t i = 0; i < NRULES; i++) {
        if (!f.places[i])
            continue;
        DriftRewrite *r = &d->rewrites[d->nrewrites];
        *r = (DriftRewrite){.rule = &lint_rules[lint_rule_index(rules[i])]};
        r->predicted = NEWS(d->table.arena, double, n + 1);
        r->after = NEWS(d->table.arena, double, n + 1);
        try_rewrite(t, sens, d, r);
        d->nrewrites += r->places > 0; // another repair may have made the place that was found
    }
}
