// What the files of `cameo lint` share: what was asked for, and what came of each model.
#ifndef CAMEO_TOOLS_LINT_H
#define CAMEO_TOOLS_LINT_H

#include "passes/config.h"
#include "passes/insert_casts.h"
#include "passes/lint/lint.h"
#include "passes/times.h"
#include "tools/tool.h"

typedef VEC(Diag *) Findings;
typedef VEC(const char *) Paths;

// An entry of cameo.yaml that names something of models, and whether this one has it. Of `allow`
// those whose rule was run, which match a finding.
typedef struct LintEntry {
    Str place; // "cameo.yaml:12"
    Str key;   // "allow", "place", "ranges", "budget", "custom"
    Str rule;  // allow: whose findings
    Str at;    // what it names
    Str near;  // what the model has of nearly that name; absent: nothing
    bool used;
} LintEntry;
typedef VEC(LintEntry) LintEntries;

// What one model came to. The model is closed; everything is in the run's arena.
typedef struct LintResult {
    const char *path;
    int status;            // EXIT_*
    bool fails;            // something at or above the level that holds for it
    bool unusable;         // the configuration cannot be used: it was not looked at
    Findings found, fixed; // what stays, what a repair mended
    Repair repair;
    Str diff; // --diff: the repair as a diff of the text; absent: nothing to show
    // SARIF: what the safe repair and the unsafe one would change in the file, as a list of SARIF
    // replacements; absent: nothing, or too much of it.
    Str rewrites[2];
    LintEntries entries;
    Times times;   // --statistics
    Str mended[2]; // the fingerprints of the findings that each mends, sorted numbers of 64 bits
} LintResult;

typedef struct LintRun {
    const Tool *tool;
    Arena *arena;
    const char *select, *profile, *ignore, *out, *baseline;
    const char *format; // "text", "json", ...
    bool fix, unsafe, diff, in_place, show_config, untrusted, statistics;
    bool only_tried; // what a repair does is looked at, and nobody reads the repaired file
    int fail_on;     // SEV_*; LEVEL_OFF: not said on the command line
    const Target *target;
    Str buffer;       // the text of the one model, as an editor holds it; absent: the file's
    const char *only; // repairs: those of this rule alone; NULL: of all
    Paths data;       // --data, as given
    const struct DataSet *given;       // what was read of them for the one model
    const char *calib;                 // --calib: a folder; NULL: none
    VEC(const char *) budgets;         // --budget
    struct MeasuredSet *measured;      // what was measured on it for the one model
    struct EstimateSet *estimates;     // how far its outputs may be off by those data
    const struct Contracts *contracts; // of the model's custom operators
    long max;                          // findings a rule that text shows; 0: all
    uint32_t width;                    // of the terminal that text goes to; 0: none
    double seconds;
    Times times; // of all models
    VEC(LintResult) results;
    // Summed up over the results by lint_sum:
    LintEntries idle; // what no model has
    uint32_t counts[3], suppressed;
    Repair repair;
    bool fails;
    int status;
} LintRun;

// Takes an option that choosing findings goes by, which lint and baseline share; *bad: its value
// cannot be used. False: it is none of these. The options themselves are LINT_OPTIONS.
enum { OPT_SELECT, OPT_PROFILE, OPT_IGNORE, OPT_TARGET, OPT_UNTRUSTED, LINT_OPTIONS_END };
#define LINT_OPTIONS                                                                               \
    {"--select", "RULES", "only these rules or families: DT001,ST; ALL, DEFAULT"},                 \
        {"--profile", "NAME", "default, or strict: every error and warning"},                      \
        {"--ignore", "RULES", "all but these"},                                                    \
        {"--target", "NAME", "what runs the model, by `cameo targets` (default: cameo.yaml's)"},   \
        {"--untrusted", NULL, "lower limits, and what the model itself allows is not heeded"}
bool lint_take_option(LintRun *r, int option, const char *value, bool *bad);
// Says that an option's value cannot be used, and what can; EXIT_USAGE.
int lint_refuse_option(const LintRun *r, const ToolOption *o, const char *value);

// The models that the arguments name: files, "-", folders with all models in them, globs (`**` for
// folders between). False: an argument names none; an error is printed.
bool lint_paths(LintRun *r, const char *const *args, int n, Paths *paths);

// Lints (and repairs) models, several at a time, and adds their results in order.
void lint_all(LintRun *r, const Paths *paths);
// One model in this process.
void lint_one(LintRun *r, const char *path, LintResult *result);
// Repairs a linted model and writes it; result->status says how that went. `diags` becomes what
// stays.
void lint_fix(LintRun *r, Model *m, const Config *config, Diags *diags, LintResult *result);
// Of a model that calls functions the fingerprints of the findings that stay when it is repaired,
// safely [0] and unsafely [1]: no body can be written that mends them. Nothing is known of a model
// without functions, where every repair is done that is offered.
typedef struct Unmended {
    Str prints[2];
} Unmended;
void lint_try_fixes(LintRun *r, const Model *m, const char *path, const Diags *diags,
                    Unmended *stay);
// The fix of a finding about dtypes says what the repair of the whole model does: where that
// differs from what the finding's own node shows, its text is replaced. Of several findings the
// first notes it.
void lint_correct_offers(LintRun *r, const Model *m, const char *path, Diags *diags);
// What is not done is not offered: fixes of such findings become advice.
void lint_withhold(Diags *diags, const Unmended *stay);
// Repairs the model at a path (or of r->buffer) as r->unsafe, r->only, r->select and r->ignore say:
// how it is printed, before and after. False: nothing is repaired.
bool lint_repaired(LintRun *r, const char *path, Buf *before, Buf *after);
Model *lint_load(LintRun *r, const char *path, const Config *config, Diags *diags, int *status);
// Counts, and the exit status.
void lint_sum(LintRun *r);

// What of cameo.yaml names something of the model, of which config->allowed and config->placed say
// what was met: fills result->entries.
void lint_take_entries(const LintRun *r, const Config *c, const Model *m, LintResult *result);
// Fills r->idle from all results: entries that nothing in any of the models answers to.
void lint_sum_entries(LintRun *r);
// Says so on stderr.
void lint_tell_entries(const LintRun *r);

// A unified diff of two texts, line by line; empty where they are equal. `name` heads it.
void lint_diff(Str before, Str after, const char *name, Buf *out);

// The pieces of two sequences that the shortest edit removes (gone, by old piece) and adds (fresh).
void lint_compare(Arena *a, const Str *old, uint32_t n, const Str *new, uint32_t m, bool *gone,
                  bool *fresh);
// What makes `after` of a file's bytes, as a JSON array of SARIF replacements: whole lines of a
// text, stretches of bytes of an ONNX file. Absent: they are equal, or MAX_REWRITE bytes would not
// hold it.
Str lint_replacements(Arena *a, Str before, Str after, bool text);
// Fills result->rewrites and result->mended.
bool lint_is_mended(Str fingerprints, const Diag *d);
void lint_rewrites(LintRun *r, const Model *m, const Diags *diags, LintResult *result);

// What stays the same when a model is edited elsewhere: of rule, operator, path without the indices
// of unnamed nodes, and value.
uint64_t lint_fingerprint(const Diag *d);

// Where a finding is shown beside code.
typedef struct LintPlace {
    Str file;
    uint32_t line, column; // from 1 on; column 0: the whole line
    bool in_program;       // a line of the program that was exported, else of the model
} LintPlace;
LintPlace lint_place(Arena *a, const Diag *d);

// A result as bytes, and back: between processes.
void lint_pack(const LintResult *result, Buf *out);
bool lint_unpack(Arena *a, Str bytes, LintResult *result);

// Drops the findings that the file lists. False: it cannot be read; an error is printed.
bool lint_heed_baseline(LintRun *r, const char *path);

// The forms of output, on stdout.
void lint_print_text(const LintRun *r);
void lint_print_json(const LintRun *r);
void lint_print_sarif(const LintRun *r);
void lint_print_junit(const LintRun *r);
void lint_print_github(const LintRun *r);
void lint_print_gitlab(const LintRun *r);

#endif
