// cameo lint: finds what does not fit, says where it began, and mends it if asked to.

#include "tools/lint.h"
#include "base/file.h"
#include "base/wrap.h"
#include "frontend/load.h"
#include "ir/infer.h"
#include "passes/lint/guard.h"
#include "tools/calib.h"
#include "tools/estimate.h"
#include "tools/config.h"
#include "tools/contracts.h"
#include "tools/data.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    OPT_FORMAT = LINT_OPTIONS_END,
    OPT_FAIL_ON,
    OPT_FIX,
    OPT_UNSAFE,
    OPT_DIFF,
    OPT_DATA,
    OPT_CALIB,
    OPT_BUDGET,
    OPT_OUT,
    OPT_IN_PLACE,
    OPT_BASELINE,
    OPT_MAX,
    OPT_STATISTICS,
    OPT_SHOW_CONFIG
};

enum { MAX_SHOWN = 20 };

static const ToolOption options[] = {
    LINT_OPTIONS,
    {"--format", "FORMAT", "text (default), json, sarif, junit, github or gitlab"},
    {"--fail-on", "LEVEL", "error (default) or warn"},
    {"--fix", NULL, "apply the safe fixes and write the repaired model"},
    {"--unsafe-fixes", NULL, "apply the unsafe ones too"},
    {"--diff", NULL, "show what the fixes change, as text, and write nothing"},
    {"--data", "NAME=FILE",
     "what input NAME is given: .npy, .npz, .pb, or .csv with a header (DT016)"},
    {"--calib", "DATA",
     "run the model on the data sets of a folder or an .npz, so that ranges are measured, not "
     "assumed"},
    {"--budget", "OUT=REL",
     "how far OUT (every output: REL alone) may be off on those data, as a part of its rms "
     "(PR008)"},
    {"-o", "OUT", "the repaired model (default: NAME.fixed.onnx)"},
    {"--in-place", NULL, "write the repaired model over the input"},
    {"--baseline", "FILE", "only what `cameo baseline write` has not listed there"},
    {"--max-per-rule", "N", "show at most N findings a rule (default 20; 0: all)"},
    {"--statistics", NULL, "say how many findings each rule has, and where the time went"},
    {"--show-config", NULL, "print what holds for each model, and where it was said"},
    {0},
};

static const struct {
    const char *name;
    void (*print)(const LintRun *r);
} formats[] = {{"text", lint_print_text},     {"json", lint_print_json},
               {"sarif", lint_print_sarif},   {"junit", lint_print_junit},
               {"github", lint_print_github}, {"gitlab", lint_print_gitlab}};

static int format_of(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, name) == 0)
            return (int)i;
    return -1;
}

// Said twice, an option that takes a list means both lists.
static const char *joined(const LintRun *r, const char *before, const char *value)
{
    return before ? str_printf(r->arena, "%s,%s", before, value).at : value;
}

bool lint_take_option(LintRun *r, int option, const char *value, bool *bad)
{
    bool strict = option == OPT_PROFILE && strcmp(value, "strict") == 0;
    *bad = false;
    if (option == OPT_SELECT)
        r->select = joined(r, r->select, value), *bad = lint_unknown_rule(value).at != NULL;
    else if (option == OPT_IGNORE)
        r->ignore = joined(r, r->ignore, value), *bad = lint_unknown_rule(value).at != NULL;
    else if (option == OPT_UNTRUSTED)
        r->untrusted = true;
    else if (option == OPT_TARGET)
        *bad = (r->target = target_find(str_of(value))) == NULL;
    else if (option == OPT_PROFILE)
        r->profile = strict ? "ALL" : "DEFAULT", *bad = !strict && strcmp(value, "default") != 0;
    else
        return false;
    return true;
}

int lint_refuse_option(const LintRun *r, const ToolOption *o, const char *value)
{
    Str word = strcmp(o->name, "--select") == 0 || strcmp(o->name, "--ignore") == 0
                   ? lint_unknown_rule(value)
                   : STR_NONE;
    const LintRule *meant = word.at ? lint_meant_rule(word) : NULL;
    const Str shown = str_escaped(r->arena, word.at ? word : str_of(value));
    const char *target = strcmp(o->name, "--target") == 0 ? target_meant(str_of(value)) : NULL;
    if (!word.at)
        return tool_error(r->tool, EXIT_USAGE, "%s %.*s cannot be used: %s%s%s%s", o->name,
                          STR_ARG(shown), o->doc, target ? "; did you mean " : "",
                          target ? target : "", target ? "?" : "");
    return tool_error(r->tool, EXIT_USAGE, "%s: there is no rule \"%.*s\"%s%s%s (see cameo rules)",
                      o->name, STR_ARG(shown), meant ? "; did you mean " : "",
                      meant ? meant->id : "", meant ? "?" : "");
}

static bool take_fail_on(LintRun *r, const char *value)
{
    r->fail_on = strcmp(value, "error") == 0 ? SEV_ERROR : SEV_WARNING;
    return r->fail_on == SEV_ERROR || strcmp(value, "warn") == 0 || strcmp(value, "warning") == 0;
}

static bool take_number(LintRun *r, const char *value)
{
    char *end;
    r->max = strtol(value, &end, 10);
    return *value && !*end && r->max >= 0;
}

// False: the value cannot be used.
static bool take_option(LintRun *r, int i, const char *value)
{
    bool bad;
    if (lint_take_option(r, i, value, &bad))
        return !bad;
    if (i == OPT_FORMAT)
        r->format = value;
    else if (i == OPT_FIX || i == OPT_UNSAFE || i == OPT_DIFF)
        r->fix = true, r->unsafe |= i == OPT_UNSAFE, r->diff |= i == OPT_DIFF;
    else if (i == OPT_DATA)
        vec_push(r->arena, &r->data, value);
    else if (i == OPT_CALIB)
        r->calib = value;
    else if (i == OPT_BUDGET)
        vec_push(r->arena, &r->budgets, value);
    else if (i == OPT_OUT)
        r->out = value;
    else if (i == OPT_IN_PLACE)
        r->in_place = true;
    else if (i == OPT_BASELINE)
        r->baseline = value;
    else if (i == OPT_STATISTICS)
        r->statistics = true;
    else if (i == OPT_SHOW_CONFIG)
        r->show_config = true;
    if (i == OPT_FORMAT)
        return format_of(value) >= 0;
    return i == OPT_FAIL_ON ? take_fail_on(r, value) : i != OPT_MAX || take_number(r, value);
}

static bool parse_options(LintRun *r, Args *args, const char **files, int *nfiles, int *status)
{
    const char *value;
    for (int i; (i = args_next(args, &value)) != ARG_END;) {
        *status = i == ARG_HELP ? EXIT_CLEAN : EXIT_USAGE;
        if (i == ARG_HELP || i == ARG_BAD)
            return false;
        if (i == ARG_FILE) {
            files[(*nfiles)++] = value;
        } else if (!take_option(r, i, value)) {
            lint_refuse_option(r, &options[i], value);
            return false;
        }
    }
    r->select = r->select ? r->select : r->profile;
    *status = EXIT_CLEAN;
    return true;
}

// ---- one model

Model *lint_load(LintRun *r, const char *path, const Config *config, Diags *diags, int *status)
{
    ImportLimits limits = r->untrusted ? import_limits_untrusted() : import_limits_default();
    config_limits(config, &limits.max_depth, &limits.max_nodes, &limits.max_metadata,
                  &limits.max_memory);
    Model *m = r->buffer.at ? load_text(r->arena, path, r->buffer, diags, status)
                            : load_model_within(r->arena, path, &limits, diags, status);
    if (m) {
        Arena *scratch = arena_new(); // import has sorted binary models; text stands as written
        m->config = config;
        m->data = r->given;
        m->contracts = r->contracts;
        m->measured = r->measured;
        m->estimates = r->estimates;
        model_sort(m, scratch);
        arena_free(scratch);
    }
    // What cannot be decoded is a finding of its own, so that every form of output shows it.
    for (uint32_t i = 0; !m && i < diags->all.len; i++)
        if (!diags->all.at[i]->rule[0] && (r->buffer.at || file_exists(path)))
            diags->all.at[i]->rule = "SE006";
    return m;
}

// The files of --data. False: the command cannot go on, which is said; what cannot be decoded is a
// finding.
static bool take_data(LintRun *r, DataFiles *files, Diags *diags, LintResult *result)
{
    Model *m = files->m;
    infer_model(m, NULL);
    for (uint32_t i = 0; i < r->data.len; i++) {
        if (data_take(files, r->data.at[i]))
            continue;
        result->status = files->status;
        if (files->bytes) {
            diag(diags, "SE006", SEV_ERROR,
                 files->input ? location_value(m, r->arena, files->input) : STR_NONE, "%.*s",
                 STR_ARG(files->error));
            continue;
        }
        tool_error(r->tool, 0, "--data %.*s", STR_ARG(files->error));
        return false;
    }
    r->given = m->data = &files->set;
    return true;
}

static void show_config(const LintRun *r, const Config *config)
{
    ConfigSaid said = {.select = r->select,
                       .select_by = r->select == r->profile ? "--profile" : "--select",
                       .ignore = r->ignore,
                       .target = r->target,
                       .fail_on = r->fail_on};
    config_show(config, &said);
}

// Runs the model on the data of --calib. False: they cannot be used, which is said. A model that
// cannot be compiled is looked at without; *missing then.
static bool take_calibration(LintRun *r, Model *m, const char *path, bool *missing,
                             LintResult *result)
{
    int status =
        r->calib ? calib_measure(r->tool, path, r->calib, r->arena, &r->measured) : EXIT_CLEAN;
    m->measured = r->measured;
    *missing = status == EXIT_FINDINGS;
    if (*missing)
        tool_error(r->tool, 0, "--calib: the model cannot run, so no range is measured");
    else
        result->status = status;
    return !status || *missing;
}

// --budget goes before what cameo.yaml says, and those before nothing: then nothing is estimated.
static bool take_budgets(LintRun *r, Config *config, Model *m, const char *path, LintResult *result)
{
    EstimateSet *set = NULL;
    if (r->budgets.len)
        config->budgets.len = 0;
    for (uint32_t i = 0; i < r->budgets.len; i++)
        if (!estimate_take_budget(r->tool, r->arena, config, r->budgets.at[i])) {
            result->status = EXIT_USAGE;
            return false;
        }
    if (!r->calib || !config->budgets.len)
        return true;
    int status = estimate_outputs(r->tool, config, path, r->calib, r->arena, &set);
    m->estimates = r->estimates = status ? NULL : set;
    result->status = status && status != EXIT_FINDINGS ? status : result->status;
    return !status || status == EXIT_FINDINGS;
}

void lint_one(LintRun *r, const char *path, LintResult *result)
{
    Diags diags;
    Config *config = NEW(r->arena, Config);
    *result = (LintResult){.path = path};
    diags_init(&diags, r->arena, str_of(path));
    if (!tool_config(r->tool, r->arena, path, config)) {
        result->status = EXIT_USAGE;
        result->unusable = true;
        return;
    }
    config->untrusted = r->untrusted;
    if (r->target)
        config->target = r->target;
    if (r->show_config)
        show_config(r, config);
    const double begin = times_now();
    Model *m = lint_load(r, path, config, &diags, &result->status);
    result->times.read = times_now() - begin;
    result->times.read_bytes = m ? m->source.len : 0;
    DataFiles files = {.arena = r->arena, .m = m};
    uint32_t before = diags.all.len;
    bool usable = !m || tool_contracts(r->tool, r->arena, config, m, &r->contracts);
    if (!usable)
        result->status = EXIT_USAGE;
    if (m && r->data.len)
        usable = usable && take_data(r, &files, &diags, result);
    bool missing = false;
    if (m && usable)
        usable = take_calibration(r, m, path, &missing, result);
    if (m && usable && !missing)
        usable = take_budgets(r, config, m, path, result);
    if (m && !usable) {
        load_close(m);
        m = NULL;
        result->unusable = true;
    }
    if (m && r->contracts) {
        m->contracts = r->contracts;
        infer_model(m, NULL); // what sources say of their results
    }
    if (m) {
        m->times = r->statistics ? &result->times : NULL;
        config->allowed = NEWS(r->arena, bool, config->allows.len + 1u);
        config->placed = NEWS(r->arena, bool, config->places.len + 1u);
        lint_model(m, &diags, r->select, r->ignore);
        lint_take_entries(r, config, m, result);
        m->times = NULL;
        if (r->measured)
            r->measured->nvalues = m->values.len;
        if (missing && !diags.errors)
            result->status = EXIT_USAGE;
        Unmended stay;
        lint_try_fixes(r, m, path, &diags, &stay);
        lint_correct_offers(r, m, path, &diags);
        if (r->fix && (diags.all.len > before || r->out))
            lint_fix(r, m, config, &diags, result);
        else if (strcmp(r->format, "sarif") == 0)
            lint_rewrites(r, m, &diags, result);
        lint_withhold(&diags, &stay);
        load_close(m);
    }
    data_close(&files);
    int level = r->fail_on != LEVEL_OFF        ? r->fail_on
                : config->fail_on != LEVEL_OFF ? config->fail_on
                                               : SEV_ERROR;
    for (uint32_t i = 0; i < diags.all.len; i++) {
        vec_push(r->arena, &result->found, diags.all.at[i]);
        diags.all.at[i]->fails = (int)diags.all.at[i]->severity >= level;
    }
    result->status = tool_status(&diags, result->status);
}

// ---- all of them

void lint_sum(LintRun *r)
{
    lint_sum_entries(r);
    for (uint32_t f = 0; f < r->results.len; f++) {
        const LintResult *one = &r->results.at[f];
        for (uint32_t i = 0; i < one->found.len; i++) {
            r->counts[one->found.at[i]->severity]++;
            r->fails |= one->found.at[i]->fails;
        }
        times_add(&r->times, &one->times);
        r->repair.casts += one->repair.casts;
        r->repair.transfers += one->repair.transfers;
        r->repair.retyped += one->repair.retyped;
        r->repair.retargeted += one->repair.retargeted;
        r->repair.others += one->repair.others;
        r->repair.lower_bound += one->repair.lower_bound;
        r->status = one->status > r->status ? one->status : r->status;
    }
    r->status = r->status ? r->status : r->fails ? EXIT_FINDINGS : EXIT_CLEAN;
}

static bool is_usable(const LintRun *r, const Paths *paths)
{
    bool one = paths->len == 1, stream = false;
    for (uint32_t i = 0; i < paths->len; i++)
        stream |= strcmp(paths->at[i], "-") == 0;
    if (paths->len == 0)
        tool_error(r->tool, EXIT_USAGE, "no model is given");
    else if (r->out && !one)
        tool_error(r->tool, EXIT_USAGE, "-o goes with one model");
    else if (stream && r->fix)
        tool_error(r->tool, EXIT_USAGE, "a model from standard input cannot be repaired");
    else if (r->data.len && !one)
        tool_error(r->tool, EXIT_USAGE, "--data goes with one model");
    else if (r->calib && (!one || stream))
        tool_error(r->tool, EXIT_USAGE, "--calib goes with one model, which is a file");
    else if (r->budgets.len && !r->calib)
        tool_error(r->tool, EXIT_USAGE, "--budget is held to data: --calib is needed too");
    else if (r->calib && r->untrusted)
        tool_error(r->tool, EXIT_USAGE,
                   "--calib runs the model, which --untrusted forbids: leave one of them out");
    else if (r->diff && strcmp(r->format, "text") != 0)
        tool_error(r->tool, EXIT_USAGE, "--diff goes with --format text");
    else
        return true;
    return false;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int lint_arguments(LintRun *r, int argc, char **argv)
{
    const char **files = NEWS(r->arena, const char *, (size_t)argc + 1);
    int nfiles = 0, status = EXIT_CLEAN;
    Paths paths = {0};
    Args args = args_of(r->tool, argc, argv);
    tool_style.colour = isatty(1) && !getenv("NO_COLOR");
    r->width = terminal_width(1);
    if (!parse_options(r, &args, files, &nfiles, &status))
        return status;
    if (!lint_paths(r, files, nfiles, &paths) || !is_usable(r, &paths))
        return EXIT_USAGE;
    // What is wrong with the configuration of many models is said once.
    if (paths.len > 1 && !tool_config(r->tool, r->arena, paths.at[0], NEW(r->arena, Config)))
        return EXIT_USAGE;
    double start = now();
    lint_guard_rules(true);
    lint_all(r, &paths);
    if (r->baseline && !lint_heed_baseline(r, r->baseline))
        return EXIT_USAGE;
    r->seconds = now() - start;
    lint_sum(r);
    bool any = false;
    for (uint32_t i = 0; i < r->results.len; i++)
        any |= !r->results.at[i].unusable;
    if (any)
        formats[format_of(r->format)].print(r);
    fflush(stdout);
    lint_tell_entries(r);
    return r->status;
}

static int run_lint(const Tool *t, int argc, char **argv)
{
    LintRun r = {
        .tool = t, .arena = arena_new(), .fail_on = LEVEL_OFF, .format = "text", .max = MAX_SHOWN};
    int status = lint_arguments(&r, argc, argv);
    arena_free(r.arena);
    return status;
}

const Tool tool_lint = {"lint", "MODEL|FOLDER|GLOB|-... [--fix [--unsafe-fixes] [-o OUT]]",
                        "finds what does not fit and where it began", options, run_lint};
