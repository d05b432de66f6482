// Repair by cameo lint: what is written, and which findings are gone with it.

#include "base/file.h"
#include "frontend/export.h"
#include "frontend/load.h"
#include "ir/infer.h"
#include "ir/text.h"
#include "passes/called_types.h"
#include "passes/inline_functions.h"
#include "passes/restore_calls.h"
#include "tools/carry.h"
#include "tools/config.h"
#include "tools/contracts.h"
#include "tools/estimate.h"
#include "tools/lint.h"
#include "tools/lint_mends.h"
#include "tools/rewrite_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int write_bytes(LintRun *r, const Buf *bytes, const Carried *data, const char *path,
                       const char *source)
{
    Str error = STR_NONE;
    if (!r->in_place && file_same(path, source))
        return tool_error(r->tool, EXIT_USAGE, "%s is the input; say --in-place to overwrite it",
                          path);
    if (carried_is(data, source, path, r->arena))
        return tool_error(r->tool, EXIT_USAGE, "%s is the model's external data", path);
    if (!carry_data(data, source, path, &error, r->arena))
        return tool_error(r->tool, EXIT_BYTES, "%.*s", STR_ARG(error));
    if (!file_write(path, bytes->at ? bytes->at : "", bytes->len, 0644, &error, r->arena))
        return tool_error(r->tool, EXIT_BYTES, "%.*s", STR_ARG(error));
    return EXIT_CLEAN;
}

static Str key_of(LintRun *r, const Diag *d)
{
    return str_printf(r->arena, "%s %.*s", d->rule, STR_ARG(d->path));
}

typedef struct Attempt {
    Repair done;
    Buf bytes;    // the repaired model, as the file is going to hold it; empty: nothing changed
    Buf text;     // --diff: and as text
    Carried data; // what lies in files beside it
    Mends mends;  // what was done to dtypes
    Diags after;
    uint32_t inlined; // calls that are left written out
    bool changed, printed;
    Str error;
} Attempt;

// What calls give, for a model that still has them, or has them again; `bodies`: and what they are
// given.
static void give_types(LintRun *r, Model *m, const Model *seen, bool bodies)
{
    m->given = called_types(seen, r->arena, bodies, m == seen);
    m->ngiven = seen->values.len;
    m->called = called_functions(seen, r->arena, m == seen);
}

// Runs a repaired model on the data of --calib, from a file of its own: m->estimates then says how
// far its outputs may be off. False: it is not known.
static bool estimate_again(LintRun *r, Model *m, const char *path)
{
    Buf bytes = {0};
    Str error = STR_NONE;
    EstimateSet *set = NULL;
    const char *folder = NULL;
    bool beside = m->files.len > 0; // its external data lie there
    if (beside)
        folder = path_folder(r->arena, path);
    bool ok = beside || dir_temporary(r->arena, &folder, &error);
    const char *file =
        ok ? str_printf(r->arena, "%s/.cameo-%ld.onnx", folder, (long)getpid()).at : NULL;
    ok = ok && export_onnx(m, &bytes, &error) &&
         file_write(file, bytes.at ? bytes.at : "", bytes.len, 0600, &error, r->arena);
    if (ok)
        ok = estimate_outputs(r->tool, m->config, file, r->calib, r->arena, &set) == EXIT_CLEAN;
    else
        tool_error(r->tool, 0, "the repaired model cannot be measured: %.*s", STR_ARG(error));
    m->estimates = ok ? set : m->estimates;
    if (file)
        unlink(file);
    if (folder && !beside)
        dir_remove(folder);
    buf_free(&bytes);
    return ok;
}

// PR008: what a repair came to is measured, and as long as that is not within the budgets more is
// kept in float32. Of what is not measured again nothing is known any more.
static void meet_budgets(LintRun *r, Model *m, const char *path, Attempt *a)
{
    enum { MAX_ROUNDS = 6 };
    uint32_t made = 1;
    for (int round = 0; a->changed && m->estimates && made && round < MAX_ROUNDS; round++)
        made = estimate_again(r, m, path) ? lint_repair(m, r->unsafe, r->select, r->ignore) : 0;
}

// How a model is mended that calls functions.
typedef struct Calls {
    const Model *seen; // as it was linted; NULL: the model has no functions
    Inlined *inlined;  // its calls, to be put back; NULL: they stand
    bool bodies;       // rules' repairs look into the functions' bodies
} Calls;

// The repairs of single rules. Casts that they insert are counted as such, whatever they are for.
static void repair_by_rules(LintRun *r, Model *m, Repair *done)
{
    const uint32_t before = m->nodes.len;
    uint32_t changes = lint_repair(m, r->unsafe, r->select, r->ignore), casts = 0;
    for (NodeId id = before; id < m->nodes.len; id++)
        casts += !node_at(m, id)->dead && node_is(node_at(m, id), "Cast");
    done->casts += casts;
    done->others += changes > casts ? changes - casts : 0;
}

// Repairs an inferred model, keeps it as bytes, lints again. Of dtypes it does what suits the calls
// as they are given, inlined or not; the repairs of single rules find the calls in their places.
static void attempt(LintRun *r, Model *m, const char *path, const char *out, const Calls *calls,
                    Attempt *a)
{
    *a = (Attempt){.done = {.unsafe = r->unsafe}};
    Before *before = mends_begin(m, r->arena);
    uint32_t tensors = lint_repair_tensors(m, r->unsafe, r->select, r->ignore);
    // One rule's own repair leaves dtypes and devices as they are.
    if (!r->only || !lint_rules[lint_rule_index(r->only)].repair) {
        a->changed = insert_casts(m, &a->done);
        a->changed |= insert_transfers(m, &a->done);
    }
    if (calls->inlined) {
        infer_model(m, NULL);
        inlined_mend_bodies(m, calls->inlined, &a->done);
        a->inlined = inlined_restore(m, calls->inlined);
        inlined_drop_casts(m, calls->inlined, &a->done);
    }
    a->mends = mends_end(before, m);
    if (calls->seen && (calls->inlined || calls->bodies)) {
        give_types(r, m, calls->inlined ? m : calls->seen, calls->bodies);
        infer_model(m, NULL);
    }
    a->done.others = tensors;
    const uint32_t casts = a->done.casts;
    repair_by_rules(r, m, &a->done);
    a->changed |= a->done.others > 0 || a->done.casts > casts;
    meet_budgets(r, m, path, a);
    a->printed = r->only_tried || print_model(m, out, &a->bytes, &a->error);
    a->data = carried_by(m, r->arena);
    Dropped lost = {0};
    if (r->diff)
        text_print(m, TEXT_CIR, false, &a->text, &lost);
    diags_init(&a->after, r->arena, str_of(path));
    lint_model(m, &a->after, r->select, r->ignore);
}

// Does a dtype or device still not fit? Where a function's body is at fault no repair around calls
// mends that, wherever it shows.
static bool any_misfit(const Diags *d)
{
    for (uint32_t i = 0; i < d->all.len; i++) {
        const Diag *at = d->all.at[i];
        if (at->severity == SEV_ERROR && (at->rule[0] == 'D' || strcmp(at->rule, "QN001") == 0))
            return true;
    }
    return false;
}

// Sorts the findings into those that are gone and those that stay.
static void take_attempt(LintRun *r, const Attempt *a, Diags *diags, LintResult *result)
{
    Map left = {.arena = r->arena};
    for (uint32_t i = 0; i < a->after.all.len; i++)
        map_put(&left, key_of(r, a->after.all.at[i]), NULL);
    for (uint32_t i = 0; i < diags->all.len; i++) {
        Diag *d = diags->all.at[i];
        d->fixed = a->changed && !map_get(&left, key_of(r, d));
        if (d->fixed)
            vec_push(r->arena, &result->fixed, d);
    }
    result->repair = a->done;
    *diags = a->after;
}

static Model *load_again(LintRun *r, const char *path, const Config *config, int *status)
{
    Diags again;
    diags_init(&again, r->arena, str_of(path));
    return lint_load(r, path, config, &again, status);
}

// Does it leave fewer errors, or as few by fewer Casts while all calls stand? Calls are not written
// out by what is safe alone.
static bool is_better(const Attempt *tried, const Attempt *than)
{
    if (!than->printed)
        return true;
    if (tried->inlined && !tried->done.unsafe)
        return false;
    if (!tried->changed || tried->after.errors != than->after.errors)
        return tried->changed && tried->after.errors < than->after.errors;
    return !tried->inlined && tried->done.casts < than->done.casts;
}

// Repairs the file anew, with the calls inlined or not, and keeps it in *a if that is better.
static int attempt_way(LintRun *r, const Model *seen, const char *path, const char *out,
                       bool inlined, bool bodies, Attempt *a)
{
    int status = EXIT_CLEAN;
    Model *m = load_again(r, path, seen->config, &status);
    if (!m)
        return status;
    Calls calls = {.seen = m->functions.len ? seen : NULL, .bodies = bodies};
    Attempt tried = {0};
    Diags refused;
    diags_init(&refused, r->arena, str_of(path));
    uint32_t nopsets = m->opsets.len;
    bool possible = !inlined || inline_functions(m, &refused, false, 1000000);
    if (possible && inlined)
        calls.inlined = inlined_remember(m, r->arena, nopsets);
    else if (possible)
        give_types(r, m, seen, false);
    if (possible) {
        infer_model(m, NULL);
        attempt(r, m, path, out, &calls, &tried);
    }
    if (r->fix)
        tool_print_diags(&refused);
    load_close(m);
    Attempt unused = tried;
    if (possible && is_better(&tried, a)) {
        unused = *a;
        *a = tried;
    }
    buf_free(&unused.bytes);
    buf_free(&unused.text);
    return EXIT_CLEAN;
}

// A model that calls functions, as the file has it: mended around the calls; where that is not
// enough, or takes Casts, with all of them inlined, since a body may fit one call and not another,
// and calls whose bodies fit then are put back: a Cast within may be to blame. What a rule's repair
// changes in a body may leave it giving another dtype than the calls were thought to give: then
// bodies are left alone. `seen` is the linted model.
static int attempt_calls(LintRun *r, const Model *seen, const char *path, const char *out,
                         Attempt *a)
{
    static const struct {
        bool inlined, bodies;
    } ways[] = {{false, true}, {true, true}, {false, false}, {true, false}};
    int status = EXIT_CLEAN;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && !status; i++)
        if (!i || (seen->functions.len && (any_misfit(&a->after) || (i == 1 && a->done.casts))))
            status = attempt_way(r, seen, path, out, ways[i].inlined, ways[i].bodies, a);
    return status;
}

enum { MAX_REWRITTEN = 256 << 20 }; // bytes of a file that is read to keep or show what it says

// Are both texts of one form?
static bool both_written(const char *path, const char *out)
{
    static const char *const forms[] = {".cir", ".onnxtxt"};
    bool both = false;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        both |= str_ends(str_of(path), forms[i]) && str_ends(str_of(out), forms[i]);
    return both;
}

// What somebody wrote as text keeps its comments and blanks where the repair leaves it alone.
// `bytes` is the model as it is printed behind the repair.
static void keep_written(LintRun *r, const char *path, const Config *config, Buf *bytes)
{
    FileView file;
    Buf before = {0}, kept = {0};
    Dropped lost = {0};
    int status = EXIT_CLEAN;
    Str error = STR_NONE;
    Model *m = load_again(r, path, config, &status);
    if (!m)
        return;
    text_print(m, str_ends(str_of(path), ".cir") ? TEXT_CIR : TEXT_PLAIN, false, &before, &lost);
    load_close(m);
    if (file_open(r->arena, path, &file, &error)) {
        if (file.len <= MAX_REWRITTEN) {
            text_rewrite(path, (Str){(const char *)file.at, file.len}, (Str){before.at, before.len},
                         (Str){bytes->at, bytes->len}, &kept);
            buf_free(bytes);
            *bytes = kept;
        }
        file_close(&file);
    }
    buf_free(&before);
}

// Writes the bytes that were read, as they are or in the other form.
static int write_copy(LintRun *r, const char *path, const Config *config)
{
    int status = EXIT_CLEAN;
    Buf bytes = {0};
    Str error = STR_NONE;
    Model *m = load_again(r, path, config, &status);
    Carried data = m ? carried_by(m, r->arena) : (Carried){0};
    bool printed = m && print_model(m, r->out, &bytes, &error);
    if (printed && both_written(path, r->out))
        keep_written(r, path, config, &bytes);
    if (m) {
        status = printed ? write_bytes(r, &bytes, &data, r->out, path)
                         : tool_error(r->tool, EXIT_BYTES, "%.*s", STR_ARG(error));
        load_close(m);
    }
    buf_free(&bytes);
    return status;
}

// The model before and after, as text.
static Str diff_of(LintRun *r, const char *path, const Config *config, const Attempt *a)
{
    Buf before = {0}, diff = {0};
    Dropped lost = {0};
    int status = EXIT_CLEAN;
    Model *m = load_again(r, path, config, &status);
    if (m)
        text_print(m, TEXT_CIR, false, &before, &lost);
    if (m)
        load_close(m);
    if (m)
        lint_diff((Str){before.at, before.len}, (Str){a->text.at, a->text.len}, path, &diff);
    Str shown = diff.len ? str_copy(r->arena, (Str){diff.at, diff.len}) : STR_NONE;
    buf_free(&before);
    buf_free(&diff);
    return shown;
}

static int write_repaired(LintRun *r, Attempt *a, const char *out, const char *path,
                          const Config *config, bool calls)
{
    if (r->diff && !r->out && !r->in_place)
        return EXIT_CLEAN;
    if (!a->changed && r->out && calls)
        return write_copy(r, path, config);
    if (!a->changed && !r->out)
        return EXIT_CLEAN;
    if (a->printed && both_written(path, out))
        keep_written(r, path, config, &a->bytes);
    return a->printed ? write_bytes(r, &a->bytes, &a->data, out, path)
                      : tool_error(r->tool, EXIT_BYTES, "%.*s", STR_ARG(a->error));
}

void lint_fix(LintRun *r, Model *m, const Config *config, Diags *diags, LintResult *result)
{
    const char *path = result->path, *out = r->diff ? "diff.cir" : fixed_path(r, path);
    Attempt a = {0};
    int status = EXIT_CLEAN;
    bool calls = m->functions.len > 0;
    out = r->diff && (r->out || r->in_place) ? fixed_path(r, path) : out;
    if (calls)
        status = attempt_calls(r, m, path, out, &a);
    else
        attempt(r, m, path, out, &(Calls){0}, &a);
    if (!status && r->diff && a.changed)
        result->diff = diff_of(r, path, config, &a);
    if (!status)
        status = write_repaired(r, &a, out, path, config, calls);
    if (a.changed)
        take_attempt(r, &a, diags, result);
    buf_free(&a.bytes);
    buf_free(&a.text);
    result->status = status;
}

// ---- the repairs as what they would change in the file

static bool any_fix(const Diags *d, bool safe)
{
    for (uint32_t i = 0; i < d->all.len; i++)
        for (uint32_t k = 0; k < d->all.at[i]->fixes.len; k++)
            if (d->all.at[i]->fixes.at[k].safe == safe)
                return true;
    return false;
}

static bool attempt_again(LintRun *r, const Model *seen, const char *path, Attempt *a)
{
    int status = EXIT_CLEAN;
    *a = (Attempt){0};
    if (seen->functions.len)
        return attempt_calls(r, seen, path, path, a) == EXIT_CLEAN;
    Model *m = load_again(r, path, seen->config, &status);
    if (!m)
        return false;
    m->contracts = seen->contracts;
    infer_model(m, NULL);
    attempt(r, m, path, path, &(Calls){0}, a);
    load_close(m);
    return true;
}

bool lint_repaired(LintRun *r, const char *path, Buf *before, Buf *after)
{
    Config *config = NEW(r->arena, Config);
    Diags diags;
    Attempt a = {0};
    int status = EXIT_CLEAN;
    diags_init(&diags, r->arena, str_of(path));
    if (!tool_config(r->tool, r->arena, path, config))
        return false;
    config->untrusted = r->untrusted;
    config->target = r->target ? r->target : config->target;
    Model *m = lint_load(r, path, config, &diags, &status);
    bool ok = m && print_model(m, path, before, &a.error) &&
              tool_contracts(r->tool, r->arena, config, m, &r->contracts);
    if (ok) {
        m->contracts = r->contracts;
        lint_model(m, &diags, r->select, r->ignore);
        ok = attempt_again(r, m, path, &a) && a.changed && a.printed;
    }
    if (m)
        load_close(m);
    *after = a.bytes;
    buf_free(&a.text);
    return ok;
}

static int compare_prints(const void *a, const void *b)
{
    uint64_t x, y; // what came through a pipe lies anywhere
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

static Str prints_of(Arena *a, const Diags *d, Str without)
{
    VEC(uint64_t) prints = {0};
    for (uint32_t i = 0; i < d->all.len; i++)
        if (!lint_is_mended(without, d->all.at[i]))
            vec_push(a, &prints, lint_fingerprint(d->all.at[i]));
    if (!prints.len)
        return STR_NONE;
    qsort(prints.at, prints.len, sizeof *prints.at, compare_prints);
    return (Str){(const char *)prints.at, prints.len * sizeof *prints.at};
}

bool lint_is_mended(Str fingerprints, const Diag *d)
{
    uint64_t print = lint_fingerprint(d);
    return fingerprints.at && bsearch(&print, fingerprints.at, fingerprints.len / sizeof print,
                                      sizeof print, compare_prints);
}

void lint_rewrites(LintRun *r, const Model *m, const Diags *diags, LintResult *result)
{
    FileView file;
    Str error = STR_NONE, path = str_of(result->path);
    bool text = str_ends(path, ".cir") || str_ends(path, ".onnxtxt"), unsafe = r->unsafe;
    bool wanted = any_fix(diags, true) || any_fix(diags, false);
    if (!wanted || str_is(path, "-") || !file_open(r->arena, result->path, &file, &error))
        return;
    for (int k = 0; k < 2 && file.len <= MAX_REWRITTEN; k++) {
        Attempt a;
        r->unsafe = k == 1;
        if (!any_fix(diags, k == 0) || !attempt_again(r, m, result->path, &a))
            continue;
        if (a.changed && a.printed && text)
            keep_written(r, result->path, m->config, &a.bytes);
        if (a.changed && a.printed)
            result->rewrites[k] =
                lint_replacements(r->arena, (Str){(const char *)file.at, file.len},
                                  (Str){a.bytes.at ? a.bytes.at : "", a.bytes.len}, text);
        result->mended[k] = prints_of(r->arena, diags, prints_of(r->arena, &a.after, STR_NONE));
        buf_free(&a.bytes);
        buf_free(&a.text);
    }
    r->unsafe = unsafe;
    file_close(&file);
}

// ---- what no repair does ------------------------------------------------------------------------

// Has the rule a repair that looks at the graph? What dtypes and devices need is done around calls.
static bool repairs_itself(const Diag *d)
{
    const LintRule *rule = &lint_rules[lint_rule_index(d->rule)];
    return rule->id && rule->repair;
}

static bool any_own_fix(const Diags *d, bool safe)
{
    for (uint32_t i = 0; i < d->all.len; i++)
        for (uint32_t k = 0; repairs_itself(d->all.at[i]) && k < d->all.at[i]->fixes.len; k++)
            if (d->all.at[i]->fixes.at[k].safe == safe)
                return true;
    return false;
}

void lint_try_fixes(LintRun *r, const Model *m, const char *path, const Diags *diags,
                    Unmended *stay)
{
    bool unsafe = r->unsafe;
    *stay = (Unmended){{STR_NONE, STR_NONE}};
    if (!m->functions.len || m->estimates || strcmp(path, "-") == 0)
        return;
    r->only_tried = true;
    for (int k = 0; k < 2; k++) {
        Attempt a;
        r->unsafe = k == 1;
        if (any_own_fix(diags, k == 0) && attempt_again(r, m, path, &a)) {
            stay->prints[k] = prints_of(r->arena, &a.after, STR_NONE);
            buf_free(&a.text);
        }
    }
    r->only_tried = false;
    r->unsafe = unsafe;
}

// Findings of dtypes that do not fit, which one repair of the whole model mends.
static bool is_of_dtypes(const Diag *d)
{
    bool dtypes = strncmp(d->rule, "DT", 2) == 0 || strcmp(d->rule, "QN001") == 0;
    return dtypes && d->severity == SEV_ERROR && d->fixes.len && strcmp(d->rule, "DT016") != 0;
}

static bool acts_on(const Mend *mend, const Diag *d)
{
    bool any = false;
    for (uint32_t i = 0; i < d->blamed.len; i++)
        any |= d->blamed.at[i] == mend->at;
    return any;
}

// Whose is what was done? Of a finding that blames what it acts on; else of the first, which is
// told what no other is.
static const Diag *owner_of(const Mend *mend, const Diags *diags)
{
    const Diag *first = NULL;
    for (uint32_t i = 0; i < diags->all.len; i++) {
        const Diag *d = diags->all.at[i];
        if (is_of_dtypes(d) && acts_on(mend, d))
            return d;
        first = first || !is_of_dtypes(d) ? first : d;
    }
    return first;
}

// A finding's part of what was done. What is declared is told where nothing else was done: it
// follows what is computed.
static Mends mends_of(LintRun *r, const Attempt *a, const Diag *d, const Diags *diags)
{
    Mends own = {0};
    bool declared = true;
    for (uint32_t i = 0; i < a->mends.len; i++)
        declared &= a->mends.at[i].kind == MEND_DECLARE || owner_of(&a->mends.at[i], diags) != d;
    for (uint32_t i = 0; i < a->mends.len; i++) {
        const Mend *mend = &a->mends.at[i];
        if (mend->kind == MEND_DECLARE ? declared && acts_on(mend, d) : owner_of(mend, diags) == d)
            mends_add(r->arena, &own, *mend);
    }
    return own;
}

// Of a finding that went although nothing was done to what it blames: whose repair that was.
static void offer_other(LintRun *r, const Attempt *a, Diag *d, const Diags *diags)
{
    const Diag *of = NULL;
    for (uint32_t i = 0; i < a->mends.len && !of; i++)
        of = owner_of(&a->mends.at[i], diags);
    if (!of || of == d)
        return;
    d->fixes.at[0].safe = of->fixes.at[0].safe;
    d->fixes.at[0].casts = 0;
    d->fixes.at[0].text = str_printf(r->arena, "what mends %s at %.*s mends it too: 0 casts added",
                                     of->rule, STR_ARG(of->path));
}

// What a repair did is what the findings offer that are gone with it, where it made no others.
static void offer_done(LintRun *r, const Attempt *a, Diags *diags, bool *offered)
{
    Map left = {.arena = r->arena};
    uint32_t gone = 0;
    bool *idle = NEWS(r->arena, bool, diags->all.len + 1);
    for (uint32_t i = 0; i < a->after.all.len; i++)
        map_put(&left, key_of(r, a->after.all.at[i]), NULL);
    for (uint32_t i = 0; i < diags->all.len; i++)
        gone +=
            diags->all.at[i]->severity == SEV_ERROR && !map_get(&left, key_of(r, diags->all.at[i]));
    for (uint32_t i = 0; i < diags->all.len && a->after.errors + gone <= diags->errors; i++) {
        Diag *d = diags->all.at[i];
        if (!is_of_dtypes(d) || offered[i] || map_get(&left, key_of(r, d)))
            continue;
        const Mends own = mends_of(r, a, d, diags);
        Str note = d->fixes.at[0].note;
        offered[i] = true;
        idle[i] = !own.len;
        if (own.len)
            d->fixes.at[0] = mends_fix(r->arena, &own);
        d->fixes.at[0].note = note;
    }
    for (uint32_t i = 0; i < diags->all.len; i++)
        if (idle[i])
            offer_other(r, a, diags->all.at[i], diags);
}

void lint_correct_offers(LintRun *r, const Model *m, const char *path, Diags *diags)
{
    bool unsafe = r->unsafe, wanted[2] = {false, false};
    for (uint32_t i = 0; i < diags->all.len; i++)
        if (is_of_dtypes(diags->all.at[i]))
            wanted[diags->all.at[i]->fixes.at[0].safe ? 0 : 1] = true;
    bool *offered = NEWS(r->arena, bool, diags->all.len + 1);
    r->only_tried = true;
    for (int k = 0; k < 2 && strcmp(path, "-") != 0; k++) {
        Attempt a;
        r->unsafe = k == 1;
        if (!wanted[k] || !attempt_again(r, m, path, &a))
            continue;
        offer_done(r, &a, diags, offered);
        wanted[1] |= any_misfit(&a.after);
        buf_free(&a.text);
    }
    r->only_tried = false;
    r->unsafe = unsafe;
}

void lint_withhold(Diags *diags, const Unmended *stay)
{
    for (uint32_t i = 0; i < diags->all.len; i++) {
        Diag *d = diags->all.at[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; repairs_itself(d) && k < d->fixes.len; k++) {
            Fix f = d->fixes.at[k];
            if (lint_is_mended(stay->prints[f.safe ? 0 : 1], d))
                diag_help(diags, d, "by hand, since it goes through calls: %.*s", STR_ARG(f.text));
            else
                d->fixes.at[kept++] = f;
        }
        d->fixes.len = repairs_itself(d) ? kept : d->fixes.len;
    }
}
