// What is advised is tried: the model is changed as the advice says, run beside its float64 shadow,
// and only what then keeps the budget is given.

#include "passes/shadow.h"
#include "passes/trial.h"
#include "runtime/cameo_drift.h"
#include "tools/drift.h"

#include <math.h>
#include <string.h>

enum { TRIES = 4 };

typedef struct Check {
    const Tool *tool;
    Trial trial;
    Session s;
    cameo_context *context;
    ShadowReport report;
    uint32_t output;     // of the model: what is looked at
    ValueId value;       // then
    double squares, all; // of its error and of itself, over all data sets
    uint32_t changed;
} Check;

static bool rewrite(void *checker, Model *m, Diags *diags)
{
    Check *c = checker;
    c->changed = trial_apply(m, &c->trial);
    const Graph *g = graph_at(m, m->main);
    if (c->output < g->outputs.len)
        c->value = g->outputs.at[c->output].value;
    c->report.width = SHADOW_DOUBLE;
    return shadow_model(m, diags, &c->report);
}

static int run_set(void *checker, Inputs *in)
{
    Check *c = checker;
    const cameo_model *m = c->s.model;
    if (!c->context)
        c->context = m->create(&c->s.options);
    int status = c->context ? inputs_set(c->tool, m, c->context, in)
                            : tool_error(c->tool, EXIT_BYTES, "not enough memory");
    if (!status && m->run(c->context) != 0)
        status = tool_error(c->tool, EXIT_FINDINGS, "%s", m->error(c->context));
    for (uint32_t i = 0; !status && i < c->report.values.len; i++) {
        const ShadowValue *v = &c->report.values.at[i];
        int32_t rank = 0;
        const int64_t *dims = NULL;
        if (v->value != c->value)
            continue;
        const double *at = m->output(c->context, (int32_t)v->output, &rank, &dims);
        c->squares += at[DRIFT_LOST] > 0 ? INFINITY : at[DRIFT_SUM_TOTAL];
        c->all += at[DRIFT_SUM_SHADOW];
    }
    return status;
}

// The relative error of output o with n values of the order better, measured; negative: it cannot
// be run so.
static double check(const Tool *t, const SensOptions *sens, const Drift *d, uint32_t o, uint32_t n)
{
    static const DType dtypes[] = {DT_NONE, DT_F16, DT_BF16, DT_F32};
    const SensReport *r = &d->table.report;
    Arena *a = arena_new();
    Str *all = NEWS(a, Str, r->values.len + 1u), *wide = NEWS(a, Str, r->values.len + 1u);
    for (uint32_t k = 0; k < r->values.len; k++) {
        all[k] = r->values.at[k].name;
        wide[k] = r->values.at[d->order[k]].name;
    }
    Check c = {.tool = t, .output = r->outputs.at[o].number};
    c.trial = (Trial){dtypes[d->precision], all, r->values.len, wide, n};
    CompileOptions options = sens->compile;
    options.rewrite = rewrite;
    options.rewriter = &c;
    bool quiet = tool_style.quiet; // what there is to say of the model was said
    tool_style.quiet = true;
    int status = session_open(t, sens->model, &options, &c.s);
    tool_style.quiet = quiet;
    DataSets sets = {.tool = t,
                     .arena = c.s.arena,
                     .model = c.s.model,
                     .path = sens->model,
                     .data = sens->data,
                     .ndata = sens->ndata,
                     .user = &c,
                     .run = run_set};
    bool made_up;
    if (!status)
        status = datasets_each(&sets, &made_up);
    if (c.context)
        c.s.model->destroy(c.context);
    session_close(&c.s);
    arena_free(a);
    return status || !(c.all > 0) ? -1 : sqrt(c.squares / c.all);
}

// How many of the greatest contributors, at least `from`, have to be computed without error for the
// rest to keep the budget; *left is what remains.
static uint32_t needed(const Drift *d, uint32_t o, uint32_t from, double *left)
{
    const DriftOutput *x = &d->outputs[o];
    double rest = x->bound * x->bound, factor = rest / (x->predicted * x->predicted);
    uint32_t i = 0, n = d->table.report.values.len;
    for (; i < n && (i < from || rest > x->budget * x->budget); i++) {
        DriftBasis basis;
        rest -= factor * drift_variance(d, o, d->order[i], d->precision, &basis);
    }
    *left = sqrt(rest > 0 ? rest : 0);
    return i;
}

static void try_advice(const Tool *t, const SensOptions *sens, const Drift *d, uint32_t o,
                       DriftAdvice *a)
{
    const DriftOutput *x = &d->outputs[o];
    uint32_t all = d->table.report.values.len, from = 0;
    a->before = x->measured >= 0 ? x->measured : check(t, sens, d, o, 0);
    for (int i = 0; i < TRIES && from <= all && !a->holds && a->before >= 0; i++) {
        a->values = needed(d, o, i == TRIES - 1 ? all : from, &a->predicted);
        a->after = check(t, sens, d, o, a->values);
        a->tried = a->after >= 0;
        a->holds = a->tried && a->after <= x->budget && a->after < a->before;
        from = a->values == all ? all + 1 : 2 * a->values < all ? 2 * a->values : all;
    }
}

void drift_advise(const Tool *t, const SensOptions *sens, Drift *d)
{
    for (uint32_t o = 0; o < d->table.report.outputs.len; o++) {
        DriftOutput *x = &d->outputs[o];
        if (drift_is_over(x) && x->predicted > 0)
            try_advice(t, sens, d, o, &x->advice);
    }
}
