// Runs the model with values rounded, or computed in float64, as modes say that it is given, beside
// its float64 shadow.

#include "passes/shadow.h"
#include "runtime/cameo_drift.h"
#include "tools/drift.h"
#include "tools/drift_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Of all that the shadow reports only the model's outputs are wanted, and what stands at poles.
static void keep_outputs(DriftTrial *x, Model *m, const ShadowReport *report)
{
    Graph *g = graph_at(m, m->main);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < report->values.len; i++) {
        const ShadowValue *v = &report->values.at[i];
        bool wanted = false;
        for (uint32_t o = 0; o < x->d->table.report.outputs.len; o++) {
            if (x->outputs[o].value != v->value)
                continue;
            wanted = x->outputs[o].known = true;
            x->outputs[o].number = kept;
        }
        for (uint32_t k = 0; k < x->poles.len; k++) {
            DriftPole *p = &x->poles.at[k];
            if (node_at(m, p->node)->in[p->operand] != v->value)
                continue;
            wanted = p->known = true;
            p->number = kept;
        }
        if (wanted)
            g->outputs.at[kept++] = g->outputs.at[v->output];
    }
    g->outputs.len = kept;
}

static bool rewrite(void *trial, Model *m, Diags *diags)
{
    DriftTrial *x = trial;
    const Graph *g = graph_at(m, m->main);
    ShadowReport report = {.width = SHADOW_DOUBLE, .rounded = true};
    x->trial.fresh = m->values.len;
    if (x->rewrite && !drift_rewrite_model(x->d, x->rewrite, m, diags))
        return false;
    if (x->wants_poles)
        drift_poles_find(x, m);
    trial_apply(m, &x->trial);
    for (uint32_t o = 0; o < x->d->table.report.outputs.len; o++) {
        uint32_t number = x->d->table.report.outputs.at[o].number;
        x->outputs[o].value = number < g->outputs.len ? g->outputs.at[number].value : 0;
    }
    if (!shadow_model(m, diags, &report))
        return false;
    keep_outputs(x, m, &report);
    return true;
}

int drift_trial_open(DriftTrial *x)
{
    const SensReport *r = &x->d->table.report;
    Arena *a = x->d->table.arena;
    bool widens = x->d->precision == DRIFT_OWN;
    Str *names = NEWS(a, Str, r->values.len + 1u);
    // Results of a node that may compute in float64 are named together; others are left alone.
    bool *may = NEWS(a, bool, r->values.len + 1u);
    for (uint32_t i = 0; widens && i < x->widens; i++)
        may[x->d->remedy[i]] = true;
    for (uint32_t k = 0; k < r->values.len; k++)
        names[k] = !widens || may[k] ? r->values.at[k].name : STR_NONE;
    x->trial = (Trial){.names = names, .n = r->values.len, .widens = widens};
    x->modes = NEWS(a, uint8_t, r->values.len + 1u);
    x->outputs = NEWS(a, __typeof__(*x->outputs), r->outputs.len + 1u);
    CompileOptions options = x->sens->compile;
    options.rewrite = rewrite;
    options.rewriter = x;
    options.no_fuse = true;        // every value is there to be rounded; nothing is computed twice
    bool quiet = tool_style.quiet; // what there is to say of the model was said
    tool_style.quiet = true;
    int status = session_open(x->tool, x->sens->model, &options, &x->s);
    tool_style.quiet = quiet;
    x->input = -1;
    for (int32_t i = 0; !status && i < x->s.model->ninputs; i++)
        if (strcmp(x->s.model->inputs[i].name, TRIAL_INPUT) == 0)
            x->input = i;
    return status;
}

static int prepare(void *trial, Inputs *in)
{
    DriftTrial *x = trial;
    size_t n = x->trial.n + 1u;
    if (x->input < 0)
        return EXIT_CLEAN; // nothing of the model can be changed
    cameo_tensor *t = &in->tensors[x->input];
    t->dtype = DT_U8;
    t->rank = 1;
    t->dims[0] = t->count = (int64_t)n;
    t->elements = calloc(n, 1);
    in->given[x->input] = true;
    if (!t->elements)
        return tool_error(x->tool, EXIT_BYTES, "not enough memory");
    memcpy(t->elements, x->modes, n);
    return EXIT_CLEAN;
}

static int run_inputs(DriftTrial *x, const Inputs *in)
{
    const cameo_model *m = x->s.model;
    if (!x->context)
        x->context = m->create(&x->s.options);
    int status = x->context ? inputs_set(x->tool, m, x->context, in)
                            : tool_error(x->tool, EXIT_BYTES, "not enough memory");
    if (!status && m->run(x->context) != 0)
        status = tool_error(x->tool, EXIT_FINDINGS, "%s", m->error(x->context));
    return status;
}

// The squares of output o's error in the run, and of the output.
static double squares_of(const DriftTrial *x, uint32_t o, double *all)
{
    int32_t rank = 0;
    const int64_t *dims = NULL;
    const double *at = x->s.model->output(x->context, (int32_t)x->outputs[o].number, &rank, &dims);
    *all = at[DRIFT_SUM_SHADOW];
    return at[DRIFT_LOST] > 0 ? INFINITY : at[DRIFT_SUM_TOTAL];
}

static int run_set(void *trial, Inputs *in)
{
    DriftTrial *x = trial;
    int status = run_inputs(x, in);
    for (uint32_t o = 0; !status && o < x->d->table.report.outputs.len; o++) {
        if (!x->outputs[o].known)
            continue;
        double all, squares = squares_of(x, o, &all);
        x->outputs[o].squares += squares;
        x->outputs[o].all += all;
        vec_push(x->d->table.arena, &x->outputs[o].sets, squares > 0 ? sqrt(squares / all) : 0);
    }
    if (!status && x->mixtures)
        mixtures_take(x->mixtures, in);
    if (!status)
        drift_poles_look(x, x->set++);
    return status;
}

int drift_trial_run(DriftTrial *x)
{
    DataSets sets = {.tool = x->tool, .arena = x->s.arena, .model = x->s.model};
    sets.path = x->sens->model;
    sets.data = x->sens->data;
    sets.ndata = x->sens->ndata;
    sets.user = x;
    sets.prepare = prepare;
    sets.run = run_set;
    bool made_up;
    for (uint32_t o = 0; o < x->d->table.report.outputs.len; o++)
        x->outputs[o].squares = x->outputs[o].all = x->outputs[o].sets.len = 0;
    x->set = 0;
    int status = datasets_each(&sets, &made_up);
    for (uint32_t o = 0; o < x->d->table.report.outputs.len; o++) {
        bool known = !status && (x->outputs[o].all > 0 || x->outputs[o].squares > 0);
        x->outputs[o].rms = known ? sqrt(x->outputs[o].squares / x->outputs[o].all) : -1;
    }
    return status;
}

// What other data may bring; what fails on them says nothing of the data sets.
static void run_mixtures(DriftTrial *x, Drift *d)
{
    Arena *a = d->table.arena;
    uint32_t n = mixtures_count(x->mixtures), outputs = d->table.report.outputs.len, ran = 0;
    double *found = NEWS(a, double, (size_t)n *outputs + 1);
    bool quiet = tool_style.quiet;
    tool_style.quiet = true;
    for (; ran < n && run_inputs(x, mixtures_next(x->mixtures)) == EXIT_CLEAN; ran++)
        for (uint32_t o = 0; o < outputs; o++) {
            double all, squares = x->outputs[o].known ? squares_of(x, o, &all) : 0;
            found[(size_t)o * n + ran] = squares > 0 ? sqrt(squares / all) : 0;
        }
    tool_style.quiet = quiet;
    for (uint32_t o = 0; o < outputs; o++)
        if (x->outputs[o].known && d->outputs[o].nsets)
            drift_take_mixed(a, &d->outputs[o], found + (size_t)o * n, ran);
}

void drift_trial_close(DriftTrial *x)
{
    if (x->context)
        x->s.model->destroy(x->context);
    session_close(&x->s);
}

static const uint8_t modes[] = {[DRIFT_OWN] = TRIAL_OWN,
                                [DRIFT_F16] = TRIAL_F16,
                                [DRIFT_BF16] = TRIAL_BF16,
                                [DRIFT_F32] = TRIAL_F32};

void drift_trial_round(DriftTrial *x, uint32_t leave)
{
    const Drift *d = x->d;
    uint32_t n = d->table.report.values.len;
    for (uint32_t i = 0; i < n; i++)
        x->modes[d->remedy[i]] = i < leave ? TRIAL_OWN : modes[drift_precision_of(d, d->remedy[i])];
    x->modes[n] = d->precision == DRIFT_MIXED ? TRIAL_OWN : modes[d->precision];
}

void drift_run_rounded(const Tool *t, const SensOptions *sens, Drift *d)
{
    DriftTrial x = {.tool = t, .sens = sens, .d = d, .wants_poles = true};
    Mixtures mixtures = {0};
    if (d->precision == DRIFT_OWN)
        return;
    int status = drift_trial_open(&x);
    if (!status) {
        mixtures = (Mixtures){.arena = x.s.arena, .model = x.s.model};
        x.mixtures = &mixtures;
        drift_trial_round(&x, 0);
        status = drift_trial_run(&x);
    }
    d->unrun = status != EXIT_CLEAN;
    d->poles = x.poles;
    for (uint32_t o = 0; !status && o < d->table.report.outputs.len; o++) {
        DriftOutput *out = &d->outputs[o];
        out->measured = x.outputs[o].rms;
        if (out->measured >= 0)
            drift_take_sets(out, x.outputs[o].sets.at, x.outputs[o].sets.len);
    }
    if (!status)
        run_mixtures(&x, d);
    drift_trial_close(&x);
}
