// cameo lint: finds what does not fit, says where it began, and mends it if asked to.

#include "base/file.h"
#include "base/json.h"
#include "frontend/export.h"
#include "frontend/load.h"
#include "ir/infer.h"
#include "ir/text.h"
#include "passes/inline_functions.h"
#include "passes/insert_casts.h"
#include "passes/lint/lint.h"
#include "tools/config.h"
#include "tools/report.h"
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPT_SELECT,
    OPT_PROFILE,
    OPT_IGNORE,
    OPT_FORMAT,
    OPT_FAIL_ON,
    OPT_FIX,
    OPT_UNSAFE,
    OPT_OUT,
    OPT_IN_PLACE,
    OPT_MAX,
    OPT_TARGET,
    OPT_SHOW_CONFIG
};

static const ToolOption options[] = {
    {"--select", "RULES", "only these rules or families: DT001,ST; ALL, DEFAULT"},
    {"--profile", "NAME", "default, or strict: every error and warning"},
    {"--ignore", "RULES", "all but these"},
    {"--format", "FORMAT", "text (default) or json"},
    {"--fail-on", "LEVEL", "error (default) or warn"},
    {"--fix", NULL, "apply the safe fixes and write the repaired model"},
    {"--unsafe-fixes", NULL, "apply the unsafe ones too"},
    {"-o", "OUT", "the repaired model (default: NAME.fixed.onnx)"},
    {"--in-place", NULL, "write the repaired model over the input"},
    {"--max-per-rule", "N", "print at most N findings a rule"},
    {"--target", "NAME", "what runs the model, by `cameo targets` (default: cameo.yaml's)"},
    {"--show-config", NULL, "print what holds for each model, and where it was said"},
    {0},
};

typedef struct LintRun {
    const Tool *tool;
    const char *select, *profile, *ignore, *out;
    bool json, fix, unsafe, in_place, show_config;
    int fail_on; // SEV_*; LEVEL_OFF: not said on the command line
    bool fails;  // something at or above the level that holds for its model
    const Target *target;
    long max;
    Arena *arena;
    VEC(Diag *) found, fixed;
    uint32_t counts[3];
    Repair repair;
    int status;
} LintRun;

static bool take_fail_on(LintRun *r, const char *value)
{
    r->fail_on = strcmp(value, "error") == 0 ? SEV_ERROR : SEV_WARNING;
    return r->fail_on == SEV_ERROR || strcmp(value, "warn") == 0 || strcmp(value, "warning") == 0;
}

static bool take_profile(LintRun *r, const char *value)
{
    bool strict = strcmp(value, "strict") == 0;
    r->profile = strict ? "ALL" : "DEFAULT";
    return strict || strcmp(value, "default") == 0;
}

static bool parse_options(LintRun *r, Args *args, const char **files, int *nfiles, int *status)
{
    const char *value;
    for (int i; (i = args_next(args, &value)) != ARG_END;) {
        bool bad = i == ARG_BAD;
        if (i == ARG_HELP) {
            *status = EXIT_CLEAN;
            return false;
        }
        if (i == ARG_FILE)
            files[(*nfiles)++] = value;
        else if (i == OPT_SELECT)
            r->select = value;
        else if (i == OPT_PROFILE)
            bad = !take_profile(r, value);
        else if (i == OPT_IGNORE)
            r->ignore = value;
        else if (i == OPT_FORMAT)
            r->json = strcmp(value, "json") == 0, bad = !r->json && strcmp(value, "text") != 0;
        else if (i == OPT_FAIL_ON)
            bad = !take_fail_on(r, value);
        else if (i == OPT_FIX)
            r->fix = true;
        else if (i == OPT_UNSAFE)
            r->fix = r->unsafe = true;
        else if (i == OPT_OUT)
            r->out = value;
        else if (i == OPT_IN_PLACE)
            r->in_place = true;
        else if (i == OPT_MAX)
            r->max = strtol(value, NULL, 10), bad = r->max <= 0;
        else if (i == OPT_TARGET)
            r->target = target_find(str_of(value)), bad = !r->target;
        else if (i == OPT_SHOW_CONFIG)
            r->show_config = true;
        if (bad) {
            *status =
                i == ARG_BAD ? EXIT_USAGE : tool_error(r->tool, EXIT_USAGE, "cannot use %s", value);
            return false;
        }
    }
    r->select = r->select ? r->select : r->profile;
    if (*nfiles == 0 || (*nfiles > 1 && r->out)) {
        *status = tool_error(r->tool, EXIT_USAGE,
                             *nfiles ? "-o goes with one model" : "no model is given");
        return false;
    }
    return true;
}

static const char *fixed_path(LintRun *r, const char *path)
{
    if (r->in_place)
        return path;
    if (r->out)
        return r->out;
    const char *dot = strrchr(path, '.');
    int n = dot && !strchr(dot, '/') ? (int)(dot - path) : (int)strlen(path);
    return str_printf(r->arena, "%.*s.fixed.onnx", n, path).at;
}

static bool print_model(const Model *m, const char *path, Buf *bytes, Str *error)
{
    if (!str_ends(str_of(path), ".cir") && !str_ends(str_of(path), ".onnxtxt"))
        return export_onnx(m, bytes, error);
    Dropped lost = {0};
    text_print(m, str_ends(str_of(path), ".cir") ? TEXT_CIR : TEXT_PLAIN, false, bytes, &lost);
    for (uint32_t i = 0; i < lost.len; i++)
        fprintf(stderr, "left out: %.*s\n", STR_ARG(lost.at[i]));
    return true;
}

static int write_bytes(LintRun *r, const Buf *bytes, const char *path, const char *source)
{
    Str error = STR_NONE;
    if (!r->in_place && file_same(path, source))
        return tool_error(r->tool, EXIT_USAGE, "%s is the input; say --in-place to overwrite it",
                          path);
    if (!file_write(path, bytes->at ? bytes->at : "", bytes->len, 0644, &error, r->arena))
        return tool_error(r->tool, EXIT_BYTES, "%.*s", STR_ARG(error));
    return EXIT_CLEAN;
}

static Str key_of(LintRun *r, const Diag *d)
{
    return str_printf(r->arena, "%s %.*s", d->rule, STR_ARG(d->path));
}

// ---- repair
// --------------------------------------------------------------------------------------

typedef struct Attempt {
    Repair done;
    Buf bytes; // the repaired model, as the file is going to hold it; empty: nothing changed
    Diags after;
    bool changed, printed;
    Str error;
} Attempt;

// Repairs an inferred model, keeps it as bytes, lints again.
static void attempt(LintRun *r, Model *m, const char *path, const char *out, Attempt *a)
{
    *a = (Attempt){.done = {.unsafe = r->unsafe}};
    a->changed = insert_casts(m, &a->done);
    a->changed |= insert_transfers(m, &a->done);
    a->done.others = lint_repair(m, r->unsafe, r->select, r->ignore);
    a->changed |= a->done.others > 0;
    a->printed = print_model(m, out, &a->bytes, &a->error);
    diags_init(&a->after, r->arena, str_of(path));
    lint_model(m, &a->after, r->select, r->ignore);
}

// Does a dtype or device not fit in a function's body? No repair around calls mends that.
static bool any_in_function(const Diags *d)
{
    for (uint32_t i = 0; i < d->all.len; i++)
        if (d->all.at[i]->rule[0] == 'D' && str_starts(d->all.at[i]->path, "function["))
            return true;
    return false;
}

// Sorts the findings into those that are gone and those that stay.
static void take_attempt(LintRun *r, const Attempt *a, Diags *diags)
{
    Map left = {.arena = r->arena};
    for (uint32_t i = 0; i < a->after.all.len; i++)
        map_put(&left, key_of(r, a->after.all.at[i]), NULL);
    for (uint32_t i = 0; i < diags->all.len; i++) {
        Diag *d = diags->all.at[i];
        d->fixed = a->changed && !map_get(&left, key_of(r, d));
        if (d->fixed)
            vec_push(r->arena, &r->fixed, d);
    }
    r->repair.casts += a->done.casts;
    r->repair.transfers += a->done.transfers;
    r->repair.retyped += a->done.retyped;
    r->repair.retargeted += a->done.retargeted;
    r->repair.others += a->done.others;
    r->repair.lower_bound += a->done.lower_bound;
    *diags = a->after;
}

// The types of what calls give, found with the functions inlined, for a model that still has them.
static const Type *const *types_of_results(LintRun *r, const Model *m)
{
    const Type **given = NEWS(r->arena, const Type *, m->values.len);
    for (NodeId id = 1; id < m->nodes.len; id++) {
        const Node *n = node_at(m, id);
        for (uint32_t o = 0; n->dead && !n->copy_of && o < n->nout; o++) {
            const Value *v = n->out[o] ? value_at(m, n->out[o]) : NULL;
            if (!v || v->kind != TYPE_TENSOR || v->dtype == DT_NONE)
                continue;
            Type *t = NEW(r->arena, Type);
            *t = (Type){.kind = TYPE_TENSOR, .elem = (int32_t)v->dtype, .has_elem = true};
            t->has_shape = v->rank >= 0;
            t->rank = v->rank > 0 ? (uint32_t)v->rank : 0;
            t->dims = NEWS(r->arena, DeclDim, t->rank + 1);
            for (uint32_t k = 0; k < t->rank; k++)
                t->dims[k].kind =
                    poly_is_const(v->dims[k], &t->dims[k].value) ? DIM_VALUE : DIM_UNSET;
            given[n->out[o]] = t;
        }
    }
    return given;
}

static Model *load_again(LintRun *r, const char *path, const Config *config, int *status)
{
    Diags again;
    diags_init(&again, r->arena, str_of(path));
    Model *m = load_model(r->arena, path, &again, status);
    if (m)
        m->config = config;
    return m;
}

// A model that calls functions, as the file has it: mended around the calls; where that is not
// enough, with all of them inlined, since a body may fit one call and not another. `seen` is the
// linted model.
static int attempt_calls(LintRun *r, const Model *seen, const char *path, const char *out,
                         Attempt *a)
{
    Diags refused;
    int status = EXIT_CLEAN;
    Model *m = load_again(r, path, seen->config, &status);
    if (!m)
        return status;
    m->given = types_of_results(r, seen);
    m->ngiven = seen->values.len;
    infer_model(m, NULL);
    attempt(r, m, path, out, a);
    load_close(m);
    if (!any_in_function(&a->after))
        return EXIT_CLEAN;
    m = load_again(r, path, seen->config, &status);
    if (!m)
        return status;
    Attempt inlined = {0};
    diags_init(&refused, r->arena, str_of(path));
    if (inline_functions(m, &refused, false, 1000000)) {
        infer_model(m, NULL);
        attempt(r, m, path, out, &inlined);
    }
    tool_print_diags(&refused);
    load_close(m);
    Buf unused = inlined.bytes;
    if (inlined.changed && inlined.after.errors < a->after.errors) {
        unused = a->bytes;
        *a = inlined;
    }
    buf_free(&unused);
    return EXIT_CLEAN;
}

// Writes the bytes that were read, as they are or in the other form.
static int write_copy(LintRun *r, const char *path, const Config *config)
{
    int status = EXIT_CLEAN;
    Buf bytes = {0};
    Str error = STR_NONE;
    Model *m = load_again(r, path, config, &status);
    if (m)
        status = print_model(m, r->out, &bytes, &error)
                     ? write_bytes(r, &bytes, r->out, path)
                     : tool_error(r->tool, EXIT_BYTES, "%.*s", STR_ARG(error));
    if (m)
        load_close(m);
    buf_free(&bytes);
    return status;
}

static int repair_file(LintRun *r, Model *m, const char *path, Diags *diags)
{
    const char *out = fixed_path(r, path);
    Attempt a = {0};
    int status = EXIT_CLEAN;
    bool calls = m->functions.len > 0;
    if (calls)
        status = attempt_calls(r, m, path, out, &a);
    else
        attempt(r, m, path, out, &a);
    if (!status && !a.changed && r->out && calls)
        status = write_copy(r, path, m->config);
    else if (!status && (a.changed || r->out))
        status = a.printed ? write_bytes(r, &a.bytes, out, path)
                           : tool_error(r->tool, EXIT_BYTES, "%.*s", STR_ARG(a.error));
    if (a.changed)
        take_attempt(r, &a, diags);
    buf_free(&a.bytes);
    return status;
}

static void lint_file(LintRun *r, const char *path)
{
    Diags diags;
    Config *config = NEW(r->arena, Config);
    int status = EXIT_CLEAN;
    diags_init(&diags, r->arena, str_of(path));
    if (!tool_config(r->tool, r->arena, path, config)) {
        r->status = r->status > EXIT_USAGE ? r->status : EXIT_USAGE;
        return;
    }
    if (r->target)
        config->target = r->target;
    if (r->show_config)
        config_show(config, r->target ? "--target" : NULL, r->select ? "--select" : NULL,
                    r->ignore ? "--ignore" : NULL, r->select, r->ignore);
    Model *m = load_model(r->arena, path, &diags, &status);
    uint32_t before = diags.all.len;
    if (m) {
        m->config = config;
        lint_model(m, &diags, r->select, r->ignore);
        if (r->fix && (diags.all.len > before || r->out))
            status = repair_file(r, m, path, &diags);
        load_close(m);
    }
    int level = r->fail_on != LEVEL_OFF        ? r->fail_on
                : config->fail_on != LEVEL_OFF ? config->fail_on
                                               : SEV_ERROR;
    for (uint32_t i = 0; i < diags.all.len; i++) {
        vec_push(r->arena, &r->found, diags.all.at[i]);
        r->counts[diags.all.at[i]->severity]++;
        r->fails |= (int)diags.all.at[i]->severity >= level;
    }
    status = tool_status(&diags, status);
    r->status = status > r->status ? status : r->status;
}

// ---- what is printed
// ------------------------------------------------------------------------------------

// By rule, operator, path without indices ("#37" of unnamed nodes, operand numbers), and value:
// stable when a model is edited elsewhere.
static uint64_t fingerprint(const Diag *d)
{
    uint64_t h = hash_bytes(d->rule, strlen(d->rule), 1);
    h = hash_bytes(d->op.at, d->op.len, h);
    for (size_t i = 0; i < d->path.len; i++) {
        bool index = d->path.at[i] == '#' && i && d->path.at[i - 1] == '[';
        h = hash_bytes(&d->path.at[i], 1, h);
        while (index && i + 1 < d->path.len && d->path.at[i + 1] >= '0' && d->path.at[i + 1] <= '9')
            i++;
    }
    return hash_bytes(d->value.at, d->value.len, h);
}

static void json_field(Json *j, const char *key, Str value)
{
    json_key(j, key);
    json_str(j, value);
}

static void json_strings(Json *j, const char *key, const Str *at, uint32_t n)
{
    json_key(j, key);
    json_array(j);
    for (uint32_t i = 0; i < n; i++)
        json_str(j, at[i]);
    json_end_array(j);
}

static void json_notes(Json *j, const Diag *d)
{
    json_key(j, "notes");
    json_array(j);
    if (d->source.len)
        json_str(j, d->source);
    for (uint32_t i = 0; i < d->notes.len; i++)
        json_str(j, d->notes.at[i]);
    for (uint32_t i = 0; i < d->fixes.len; i++)
        if (d->fixes.at[i].note.len)
            json_str(j, d->fixes.at[i].note);
    for (uint32_t i = 0; i < d->helps.len; i++)
        json_str(j, d->helps.at[i]);
    json_end_array(j);
}

void json_finding(Json *j, const Diag *d)
{
    static const char *const severities[] = {"info", "warning", "error"};
    char print[24];
    json_object(j);
    json_field(j, "rule", str_of(d->rule));
    json_field(j, "severity", str_of(severities[d->severity]));
    json_field(j, "message", d->message);
    json_field(j, "file", d->file);
    json_field(j, "path", d->path);
    json_field(j, "node", d->node);
    json_field(j, "op", d->op);
    json_field(j, "value", d->value);
    if (d->origin_kind.len) {
        json_key(j, "origin");
        json_object(j);
        json_field(j, "kind", d->origin_kind);
        json_field(j, "name", d->origin_name);
        json_end_object(j);
    }
    json_strings(j, "chain", d->chain.at, d->chain.len);
    json_notes(j, d);
    json_key(j, "fixes");
    json_array(j);
    for (uint32_t i = 0; i < d->fixes.len; i++) {
        json_object(j);
        json_field(j, "safety", d->fixes.at[i].safe ? STR("safe") : STR("unsafe"));
        json_field(j, "text", d->fixes.at[i].text);
        json_key(j, "casts");
        json_int(j, d->fixes.at[i].casts);
        json_key(j, "transfers");
        json_int(j, d->fixes.at[i].transfers);
        json_end_object(j);
    }
    json_end_array(j);
    snprintf(print, sizeof print, "%016llx", (unsigned long long)fingerprint(d));
    json_field(j, "fingerprint", str_of(print));
    json_end_object(j);
}

static void print_json(const LintRun *r)
{
    Buf out = {0};
    Json j = {.out = &out};
    json_object(&j);
    json_field(&j, "schema", STR("cameo.lint/1"));
    for (int k = 0; k < 2; k++) {
        json_key(&j, k ? "fixed" : "findings");
        json_array(&j);
        for (uint32_t i = 0; i < (k ? r->fixed.len : r->found.len); i++)
            json_finding(&j, k ? r->fixed.at[i] : r->found.at[i]);
        json_end_array(&j);
    }
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {{"error", r->counts[SEV_ERROR]},
                  {"warning", r->counts[SEV_WARNING]},
                  {"info", r->counts[SEV_INFO]},
                  {"casts_inserted", r->repair.casts},
                  {"transfers_inserted", r->repair.transfers},
                  {"lower_bound", r->repair.lower_bound}};
    json_key(&j, "summary");
    json_object(&j);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        json_key(&j, counts[i].key);
        json_int(&j, counts[i].value);
    }
    json_key(&j, "proved_minimal");
    json_bool(&j, r->repair.casts + r->repair.transfers == r->repair.lower_bound);
    json_end_object(&j);
    json_end_object(&j);
    printf("%s\n", out.at);
    buf_free(&out);
}

static void print_text(const LintRun *r)
{
    Buf out = {0};
    long seen[UINT8_MAX] = {0};
    for (uint32_t i = 0; i < r->found.len; i++) {
        long *count = &seen[lint_rule_index(r->found.at[i]->rule)];
        if (!r->max || (*count)++ < r->max)
            diag_print(r->found.at[i], &out, tool_style.colour);
    }
    for (uint32_t i = 0; i < r->fixed.len; i++)
        buf_printf(&out, "fixed[%s]: %.*s\n", r->fixed.at[i]->rule,
                   STR_ARG(r->fixed.at[i]->message));
    if (r->fix)
        buf_printf(&out,
                   "%u constants retyped, %u casts and %u transfers inserted, lower bound %u\n",
                   r->repair.retyped, r->repair.casts, r->repair.transfers, r->repair.lower_bound);
    if (r->fix && r->repair.retargeted)
        buf_printf(&out, "%u Casts given another target, or deleted where they had become idle\n",
                   r->repair.retargeted);
    if (r->fix && r->repair.others)
        buf_printf(&out, "%u other changes\n", r->repair.others);
    if (!tool_style.quiet)
        buf_printf(&out, "%u errors, %u warnings\n", r->counts[SEV_ERROR], r->counts[SEV_WARNING]);
    fwrite(out.at ? out.at : "", 1, out.len, stdout);
    buf_free(&out);
}

static int run_lint(const Tool *t, int argc, char **argv)
{
    LintRun r = {.tool = t, .arena = arena_new(), .fail_on = LEVEL_OFF};
    const char **files = NEWS(r.arena, const char *, (size_t)argc + 1);
    int nfiles = 0, status = EXIT_CLEAN;
    Args args = args_of(t, argc, argv);
    if (!parse_options(&r, &args, files, &nfiles, &status)) {
        arena_free(r.arena);
        return status;
    }
    for (int i = 0; i < nfiles; i++)
        lint_file(&r, files[i]);
    bool nothing = r.status == EXIT_USAGE && !r.found.len; // no model was looked at
    if (!nothing && r.json)
        print_json(&r);
    else if (!nothing)
        print_text(&r);
    status = r.status ? r.status : r.fails ? EXIT_FINDINGS : EXIT_CLEAN;
    arena_free(r.arena);
    return status;
}

const Tool tool_lint = {"lint", "MODEL... [--fix [--unsafe-fixes] [-o OUT]]",
                        "finds what does not fit and where it began", options, run_lint};
