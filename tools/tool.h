// What the subcommands share: options, messages, loading a model.
#ifndef CAMEO_TOOLS_TOOL_H
#define CAMEO_TOOLS_TOOL_H

#include "base/diag.h"
#include "ir/graph.h"

// Exit statuses of every subcommand.
enum {
    EXIT_CLEAN = 0,
    EXIT_FINDINGS = 1, // findings, not supported, results that differ
    EXIT_USAGE = 2,    // usage, configuration, wrong input data, no C compiler
    EXIT_BYTES = 3,    // bytes that cannot be decoded, files that cannot be read or written
    EXIT_BUG = 4
};

// An option: "--emit" or "-o"; `value` is what its argument is called, NULL for a flag.
typedef struct ToolOption {
    const char *name, *value, *doc;
} ToolOption;

typedef struct Tool Tool;
struct Tool {
    const char *name, *usage, *doc;
    const ToolOption *options; // ends with a NULL name
    int (*run)(const Tool *t, int argc, char **argv);
};

extern const Tool *const tools[]; // in the order of tools.def; ends with NULL

// What -q, -v, --color and the terminal say; set before a tool runs.
typedef struct ToolStyle {
    bool quiet, verbose, colour;
} ToolStyle;
extern ToolStyle tool_style;

// Walks the arguments: the index of an option (its argument in *value), or one of these.
enum { ARG_FILE = -1, ARG_END = -2, ARG_BAD = -3, ARG_HELP = -4 };
typedef struct Args {
    const Tool *tool;
    int argc, at;
    char **argv;
    bool only_files;
} Args;
Args args_of(const Tool *t, int argc, char **argv);
int args_next(Args *a, const char **value);

// Runs a tool whose one option is --format text|json: prints what it lists in that form.
int tool_list(const Tool *t, int argc, char **argv, void (*text)(void), void (*json)(void));
// A number from 1 to `most`; false: it is none.
bool tool_count(const char *text, uint32_t most, uint32_t *n);
enum { MAX_THREADS = 1024, MAX_GRAIN = 1000000000 };

// "cameo compile: error: ..." on stderr; returns `status`.
int tool_error(const Tool *t, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tool_help(const Tool *t, FILE *f);
// The same as a manual page (roff), and the page that lists the commands.
void tool_man(const Tool *t, FILE *f);
void tool_man_overview(FILE *f);
// Prints findings on stderr, infos only with -v.
void tool_print_diags(const Diags *d);

// The exit status where `status` is what the command came to: a limit that was exceeded (SE006)
// makes it EXIT_BYTES, a rule that failed EXIT_BUG.
int tool_status(const Diags *d, int status);

// Loads a model; findings are printed. NULL with *status set.
Model *tool_load(const Tool *t, Arena *a, const char *path, Diags *diags, int *status);

#endif
