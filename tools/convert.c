// cameo convert: a model in another float precision.

#include "frontend/load.h"
#include "ir/ops/gradient.h"
#include "passes/inline_functions.h"
#include "passes/pass.h"
#include "passes/restore_calls.h"
#include "passes/scale_loss.h"
#include "tools/config.h"
#include "tools/convert.h"
#include "tools/pipeline.h"
#include "tools/precision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_PRECISION,
    OPT_POLICY,
    OPT_TARGET,
    OPT_BUDGET,
    OPT_CALIB,
    OPT_CHECK,
    OPT_IO,
    OPT_FORMAT,
    OPT_OUT,
    OPT_SCALE,
    OPT_MARGIN
};

static const ToolOption options[] = {
    [OPT_PRECISION] = {"--precision", "P", PRECISION_DOC},
    [OPT_POLICY] = {"--policy", "POLICY",
                    "cameo (default): by ranges and prices; autocast: PyTorch's lists; all: "
                    "whatever the schema allows"},
    [OPT_TARGET] = {"--target", "TARGET", "what runs it: a name of `cameo targets`"},
    [OPT_BUDGET] = {"--budget", "OUT=REL",
                    "the relative error that an output may have; REL alone: every output"},
    [OPT_CALIB] = {"--calib", "DIR",
                   "data sets: ranges are measured on them, and the error of the outputs"},
    [OPT_CHECK] =
        {"--check", "DIR",
         "other data sets, which nothing is chosen by: the error is measured on them too"},
    [OPT_IO] = {"--io", NULL, "inputs and outputs of the model too"},
    [OPT_FORMAT] = {"--format", "FORMAT", "of the report: text (default) or json"},
    [OPT_OUT] = {"-o", "OUT", "the file to write (needed)"},
    [OPT_SCALE] = {"--loss-scale", "S",
                   "what losses are multiplied by where the model trains in float16: a power of "
                   "two from 2 to 65536 (default 1024)"},
    [OPT_MARGIN] = {"--margin", "TIMES",
                    "a budget is held to so many times the worst error measured (default: what one "
                    "data set in "
                    "a thousand exceeds, by the tail of eight and more; 3 of fewer)"},
    {0},
};

// Is float16 what a loss is scaled for?
static bool scales_loss(const ConvertRun *r, const Model *m)
{
    return r->options.to == DT_F16 && model_has_gradient(m);
}

// A model that is inlined and inferred; NULL with *status set. `scaled`: losses of training are.
static Model *open_model(ConvertRun *r, const Config *config, Diags *diags, Inlined **inlined,
                         bool scaled, int *status)
{
    Model *m = tool_load(r->tool, r->arena, r->model, diags, status);
    PassContext c = {.diags = diags};
    uint32_t before = diags->all.len;
    if (!m)
        return NULL;
    m->config = config;
    uint32_t nopsets = m->opsets.len;
    bool calls = m->functions.len > 0;
    bool ok = pass_run_needed(pass_find(STR("sort_nodes")), m, &c);
    ok = ok && pass_run_needed(pass_find(STR("inline_functions")), m, &c);
    *inlined = ok && calls ? inlined_remember(m, r->arena, nopsets) : NULL;
    ok = ok && pass_run_needed(pass_find(STR("infer")), m, &c);
    if (ok && scaled && scales_loss(r, m)) { // what float16 would lose or overflow
        ok = r->loss_scale > 0 ? scale_loss(m, diags, r->loss_scale)
                               : pass_run_needed(pass_find(STR("scale_loss")), m, &c);
        c.facts &= ~(uint32_t)FACT_TYPED;
        ok = ok && pass_run_needed(pass_find(STR("infer")), m, &c);
    }
    if (ok)
        return m;
    if (diags->all.len > before)
        tool_print_diags(diags);
    *status = c.broken ? EXIT_BUG : EXIT_FINDINGS;
    load_close(m);
    return NULL;
}

static int write_model(ConvertRun *r, const Model *m)
{
    Buf bytes = {0};
    uint32_t dropped;
    bool printed = form_print(r->tool, m, form_by_ending(r->out), false, &bytes, &dropped);
    int status = printed ? output_write(r->tool, r->arena, r->out, r->model, &bytes) : EXIT_BYTES;
    buf_free(&bytes);
    return status;
}

static void restore_calls(Model *m, Inlined *inlined)
{
    Repair r = {.unsafe = true};
    if (!inlined)
        return;
    inlined_mend_bodies(m, inlined, &r);
    inlined_restore(m, inlined);
    inlined_drop_casts(m, inlined, &r);
}

// Without sensitivities a rounding adds u^2 / 3 to the relative variance of every output; nodes
// that only move numbers round nothing.
static double noise_assumed(const ConvertRun *r, const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    const Node *n = value->def == DEF_NODE ? node_at(m, value->node) : NULL;
    if (r->options.to == DT_F64 || (n && convert_moves(n)))
        return 0;
    return ldexp(1.0 / 3, r->options.to == DT_F16 ? -22 : -16);
}

static void find_facts(ConvertRun *r, Model *m)
{
    ConvertSeen *seen = NEWS(r->arena, ConvertSeen, m->values.len);
    double *noise = NEWS(r->arena, double, m->values.len);
    m->measured = r->measured;
    for (ValueId v = 1; v < m->values.len; v++) {
        const Measured *x = measured_of(m, v);
        const uint32_t *at = map_get(&r->noise_ids, value_shown_name(m, v));
        seen[v].greatest =
            x && x->least <= x->greatest ? fmax(fabs(x->least), fabs(x->greatest)) : -1;
        seen[v].negative = x && x->greatest <= 1;
        seen[v].elements = x && r->measured->sets ? x->count / r->measured->sets : 0;
        noise[v] = r->noises.len == 0 ? noise_assumed(r, m, v) : at ? r->noises.at[*at] : 0;
    }
    m->measured = NULL;
    r->options.measured = r->measured ? seen : NULL;
    r->options.noise = noise;
    r->options.nfacts = m->values.len;
}

// The model, converted; NULL, or *status, where it cannot be. Where nothing becomes float16 a loss
// is not scaled either.
static Model *converted(ConvertRun *r, const Config *config, Inlined **inlined, bool scaled,
                        int *status)
{
    Diags diags;
    diags_init(&diags, r->arena, str_of(r->model));
    Model *m = open_model(r, config, &diags, inlined, scaled, status);
    if (!m)
        return NULL;
    uint32_t before = diags.all.len;
    find_facts(r, m);
    if (!convert_precision(m, &r->options, &diags, &r->report))
        *status = EXIT_FINDINGS;
    if (!*status && scaled && r->report.low_nodes == 0 && scales_loss(r, m)) {
        load_close(m);
        return converted(r, config, inlined, false, status);
    }
    if (diags.all.len > before)
        tool_print_diags(&diags);
    return m;
}

// One conversion. `out`: written to OUT; `measured`: and run on the data.
static int convert_once(ConvertRun *r, const Config *config, bool out, bool measured, Buf *report)
{
    int status = EXIT_CLEAN;
    Inlined *inlined = NULL;
    Model *m = converted(r, config, &inlined, true, &status);
    if (!m)
        return status;
    if (!status && out) {
        restore_calls(m, inlined);
        status = write_model(r, m);
    }
    r->tries++;
    r->predicted = r->options.to == DT_F64 ? -1 : sqrt(r->report.noise);
    if (!status && measured && r->calibration)
        status = convert_measure_errors(r, r->out);
    if (!status && measured && r->held)
        status = convert_measure_held(r);
    report->len = 0;
    if (!status)
        convert_print(r, m, report);
    load_close(m);
    return status;
}

// How far over its budget the worst output is: at most 1 where all are met.
static double excess(const ConvertRun *r)
{
    double worst = 0;
    for (uint32_t i = 0; i < r->nbudgets && !r->calibration; i++)
        worst = fmax(worst, r->predicted / r->budgets[i].relative);
    for (uint32_t i = 0; i < r->errors.len; i++)
        if (r->errors.at[i].budget >= 0)
            worst = fmax(worst, r->errors.at[i].bound / r->errors.at[i].budget);
    return worst;
}

// The least lambda, to a STEPS-th of an octave, whose prediction is at most `limit`; the last
// conversion is that of it, and not written.
static int find_lambda(ConvertRun *r, const Config *config, double limit, double whole, Buf *report)
{
    enum { STEPS = 4 };
    int low = -8 * STEPS, high = 30 * STEPS; // exponents of 2, for the noise of everything
    int status = EXIT_CLEAN;
    while (high - low > 1 && !status) {
        int middle = (low + high) / 2;
        r->options.lambda = exp2((double)middle / STEPS) / whole;
        status = convert_once(r, config, false, false, report);
        if (!status && r->predicted <= limit)
            high = middle;
        else
            low = middle;
    }
    r->options.lambda = exp2((double)high / STEPS) / whole;
    return status;
}

// Conversions whose prediction is within a limit, which shrinks until what is measured meets the
// budget: MAX_ROUNDS at most, the last with nothing rounded that may be left alone.
static int meet_budget(ConvertRun *r, const Config *config, Buf *report, bool *met)
{
    enum { MAX_ROUNDS = 4 };
    int status = EXIT_CLEAN;
    *met = false;
    if (r->calibration && r->options.to != DT_F64) {
        status = convert_measure_noise(r);
        if (!status) // what all of it makes, by that
            status = convert_once(r, config, false, false, report);
    }
    double whole = r->report.noise > 0 ? r->report.noise : 1, limit = sqrt(whole);
    for (int round = 0; round < MAX_ROUNDS && !status && !*met; round++) {
        limit *= 0.9 / excess(r);
        if (round + 1 == MAX_ROUNDS)
            limit = 0;
        status = find_lambda(r, config, limit, whole, report);
        if (!status)
            status = convert_once(r, config, true, true, report);
        *met = !status && excess(r) <= 1;
    }
    return status;
}

// Is a budget exceeded on data that nothing was chosen by?
static bool held_exceeds(const ConvertRun *r)
{
    for (uint32_t i = 0; i < r->held_errors.len; i++)
        if (r->held_errors.at[i].budget >= 0 &&
            !(r->held_errors.at[i].worst <= r->held_errors.at[i].budget))
            return true;
    return false;
}

static bool knows_budgets(ConvertRun *r)
{
    for (uint32_t i = 0; i < r->nbudgets; i++) {
        bool found = !r->budgets[i].output.len || !r->calibration;
        for (uint32_t k = 0; k < r->errors.len; k++)
            found |= str_eq(r->budgets[i].output, str_of(r->errors.at[k].output));
        if (!found)
            return tool_error(r->tool, false, "the model has no output %.*s of floats",
                              STR_ARG(str_escaped(r->arena, r->budgets[i].output)));
    }
    return true;
}

static int convert(ConvertRun *r, const Config *config, Buf *report)
{
    int status = EXIT_CLEAN;
    bool met = true;
    if (r->calibration)
        status = convert_measure_values(r);
    if (!status && r->calibration)
        status = convert_measure_outputs(r);
    if (!status && !knows_budgets(r))
        status = EXIT_USAGE;
    if (!status)
        status = convert_once(r, config, true, true, report);
    if (!status && excess(r) > 1)
        status = meet_budget(r, config, report, &met);
    if (!status && r->io) {
        r->options.io = true;
        status = convert_once(r, config, true, false, report);
    }
    return status ? status : met ? EXIT_CLEAN : EXIT_FINDINGS;
}

// The nearest to the budget, how far it is from it, and what it costs.
static void tell_unmet(const ConvertRun *r)
{
    const ConvertReport *x = &r->report;
    const double all = x->products > 0 ? x->products : 1;
    tool_error(
        r->tool, 0,
        "the budget cannot be met: %s is the nearest to it, %.3g times over the budget, with "
        "%.1f%% of the multiply-adds in %s and %u cast%s",
        r->out, excess(r), 100 * x->low_products / all, dtype_name(r->options.to), x->casts,
        x->casts == 1 ? "" : "s");
}

static int work(ConvertRun *r)
{
    Config config;
    Buf report = {0};
    if (!tool_config(r->tool, r->arena, r->model, &config))
        return EXIT_USAGE;
    if (!r->options.target)
        r->options.target = config.target;
    int status = convert(r, &config, &report);
    fwrite(report.at ? report.at : "", 1, report.len, stdout);
    if (status == EXIT_FINDINGS && report.len)
        tell_unmet(r);
    buf_free(&report);
    if (!status && held_exceeds(r))
        status = tool_error(r->tool, EXIT_FINDINGS, "a budget is exceeded on the data of --check");
    return status;
}

// ---- options ------------------------------------------------------------------------------------

static bool take_precision(ConvertRun *r, const char *value)
{
    r->precision = value;
    return precision_of(value, &r->options) ||
           tool_error(r->tool, false, "--precision %s: f16, bf16, mixed or f64", value);
}

static bool take_policy(ConvertRun *r, const char *value)
{
    static const char *const names[] = {"cameo", "autocast", "all"};
    for (int i = 0; i < 3; i++)
        if (strcmp(value, names[i]) == 0) {
            r->policy = value;
            r->options.policy = (ConvertPolicy)i;
            return true;
        }
    return tool_error(r->tool, false, "--policy %s: cameo, autocast or all", value);
}

static bool take_budget(ConvertRun *r, const char *value)
{
    const char *equals = strrchr(value, '='), *number = equals ? equals + 1 : value;
    char *end;
    ConvertBudget b = {.relative = strtod(number, &end)};
    if (end == number || *end || !(b.relative > 0) || !isfinite(b.relative) ||
        r->nbudgets == CONVERT_BUDGETS)
        return tool_error(r->tool, false, "--budget %s: OUT=REL with a number above 0", value);
    if (equals)
        b.output = (Str){value, (size_t)(equals - value)};
    r->budgets[r->nbudgets++] = b;
    return true;
}

static bool take_scale(ConvertRun *r, const char *value)
{
    char *end = NULL;
    int exponent = 0;
    r->loss_scale = strtod(value, &end);
    return (end != value && !*end && r->loss_scale >= 2 && r->loss_scale <= 65536 &&
            frexp(r->loss_scale, &exponent) == 0.5) ||
           tool_error(r->tool, false, "--loss-scale is a power of two from 2 to 65536");
}

static bool take_margin(ConvertRun *r, const char *value)
{
    char *end = NULL;
    r->margin = strtod(value, &end);
    return (end != value && !*end && r->margin >= 1 && isfinite(r->margin)) ||
           tool_error(r->tool, false, "--margin %s: a number from 1 on", value);
}

static bool take_option(ConvertRun *r, int option, const char *value)
{
    switch (option) {
    case OPT_PRECISION:
        return take_precision(r, value);
    case OPT_POLICY:
        return take_policy(r, value);
    case OPT_TARGET:
        r->options.target = target_find(str_of(value));
        return r->options.target || tool_error(r->tool, false, "there is no target %s", value);
    case OPT_BUDGET:
        return take_budget(r, value);
    case OPT_CALIB:
        r->calibration = value;
        return true;
    case OPT_CHECK:
        r->held = value;
        return true;
    case OPT_IO:
        return r->io = true;
    case OPT_FORMAT:
        r->json = strcmp(value, "json") == 0;
        return r->json || strcmp(value, "text") == 0 ||
               tool_error(r->tool, false, "--format %s: text or json", value);
    case OPT_SCALE:
        return take_scale(r, value);
    case OPT_MARGIN:
        return take_margin(r, value);
    case OPT_OUT:
        r->out = value;
        return true;
    }
    r->model = value;
    return true;
}

static int run(const Tool *t, int argc, char **argv)
{
    ConvertRun r = {.tool = t, .policy = "cameo", .predicted = -1};
    Args args = args_of(t, argc, argv);
    const char *value;
    for (int option; (option = args_next(&args, &value)) != ARG_END;) {
        if (option == ARG_HELP || option == ARG_BAD)
            return option == ARG_HELP ? EXIT_CLEAN : EXIT_USAGE;
        if (!take_option(&r, option, value))
            return EXIT_USAGE;
    }
    if (!r.model || !r.out || !r.precision)
        return tool_error(t, EXIT_USAGE, "a MODEL, --precision P and -o OUT are needed");
    if (strcmp(r.model, "-") == 0 && (r.calibration || r.held || r.nbudgets || r.io))
        return tool_error(t, EXIT_USAGE,
                          "--calib, --check, --budget and --io go with a model in a file");
    r.arena = arena_new();
    int status = work(&r);
    arena_free(r.arena);
    return status;
}

const Tool tool_convert = {"convert", "MODEL --precision P -o OUT",
                           "writes a model in another float precision", options, run};
