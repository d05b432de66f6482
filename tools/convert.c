// cameo convert: a model in another float precision.

#include "tools/config.h"
#include "tools/convert.h"
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
    [OPT_CALIB] = {"--calib", "DATA",
                   "data sets, a folder or an .npz: ranges are measured on them, and the error of "
                   "the outputs"},
    [OPT_CHECK] =
        {"--check", "DATA",
         "other data sets, which nothing is chosen by: the error is measured on them too"},
    [OPT_IO] = {"--io", NULL, "inputs and outputs of the model too"},
    [OPT_FORMAT] = {"--format", "FORMAT", "of the report: text (default) or json"},
    [OPT_OUT] = {"-o", "OUT", "the file to write (needed)"},
    [OPT_SCALE] = {"--loss-scale", "S",
                   "what losses are multiplied by where the model trains in float16: a power of "
                   "two from 2 to 65536 (default 1024)"},
    [OPT_MARGIN] =
        {"--margin", "TIMES",
         "a budget is held to so many times the worst error measured (default: what one "
         "data set in "
         "a thousand exceeds, by the tail of eight and more; of fewer 3, or down to 1.5 where a "
         "large output is evenly off)"},
    {0},
};

// Is a budget exceeded on data that nothing was chosen by?
static bool held_exceeds(const ConvertRun *r)
{
    for (uint32_t i = 0; i < r->held_errors.len; i++)
        if (r->held_errors.at[i].budget >= 0 &&
            !(r->held_errors.at[i].worst <= r->held_errors.at[i].budget))
            return true;
    return false;
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
        r->out, convert_excess(r), 100 * x->low_products / all, dtype_name(r->options.to), x->casts,
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
    int status = convert_within(r, &config, &report);
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
        return r->options.io = true;
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
    if (strcmp(r.model, "-") == 0 && (r.calibration || r.held || r.nbudgets || r.options.io))
        return tool_error(t, EXIT_USAGE,
                          "--calib, --check, --budget and --io go with a model in a file");
    if (r.nbudgets && r.options.to == DT_F64) {
        fputs("warning: --budget says how much rounding may change, and in float64 nothing is "
              "rounded: cameo drift --budget says which values need it\n",
              stderr);
        r.nbudgets = 0;
    }
    r.arena = arena_new();
    int status = work(&r);
    arena_free(r.arena);
    return status;
}

const Tool tool_convert = {"convert", "MODEL --precision P -o OUT",
                           "writes a model in another float precision", options, run};
