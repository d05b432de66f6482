// cameo diff: what differs between two models, node by node and value by value. What is only named
// or placed otherwise is no difference.

#include "tools/diff.h"
#include "frontend/load.h"
#include "ir/infer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIFF_FORMAT, DIFF_IGNORE, DIFF_STRICT, DIFF_ATOL, DIFF_RTOL, DIFF_MAX };
enum { MAX_SHOWN = 20 };

static const ToolOption options[] = {
    [DIFF_FORMAT] = {"--format", "FORMAT", "text (default) or json"},
    [DIFF_IGNORE] = {"--ignore", "KINDS",
                     "leave these out: header, metadata, functions, inputs, outputs, initializers, "
                     "nodes, types, declared"},
    [DIFF_STRICT] = {"--strict", NULL, "names of nodes and values and their order count, too"},
    [DIFF_ATOL] = {"--atol", "A", "elements that differ by at most A + R * |b| are the same"},
    [DIFF_RTOL] = {"--rtol", "R", "see --atol (default of both: 0)"},
    [DIFF_MAX] = {"--max", "N", "show at most N differences of a kind (default 20; 0: all)"},
    {0},
};

typedef struct Work {
    const Tool *tool;
    const char *files[2];
    int nfiles;
    bool json, strict;
    uint32_t most;
    DiffOptions options;
} Work;

static bool take_kinds(Work *w, const char *list)
{
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ",");
        int found = -1;
        for (int k = 0; k < DIFF_KINDS; k++)
            if (n == strlen(diff_kinds[k]) && memcmp(p, diff_kinds[k], n) == 0)
                found = k;
        if (found < 0) {
            const char *meant = str_nearest((Str){p, n}, diff_kinds, DIFF_KINDS);
            tool_error(w->tool, 0, "--ignore: there is no kind \"%.*s\"%s%s%s", (int)n, p,
                       meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
            return false;
        }
        w->options.ignore[found] = true;
        p += n + (p[n] == ',');
    }
    return true;
}

static bool take_tolerance(Work *w, const char *option, const char *text, double *tolerance)
{
    char *end;
    *tolerance = strtod(text, &end);
    if (*text && !*end && isfinite(*tolerance) && *tolerance >= 0)
        return true;
    tool_error(w->tool, 0, "%s: %s is no number of at least 0", option, text);
    return false;
}

static bool take_option(Work *w, int i, const char *value)
{
    char *end;
    switch (i) {
    case DIFF_FORMAT:
        w->json = strcmp(value, "json") == 0;
        if (!w->json && strcmp(value, "text") != 0)
            tool_error(w->tool, 0, "--format: %s is neither text nor json", value);
        return w->json || strcmp(value, "text") == 0;
    case DIFF_IGNORE:
        return take_kinds(w, value);
    case DIFF_STRICT:
        w->strict = true;
        return true;
    case DIFF_ATOL:
        return take_tolerance(w, "--atol", value, &w->options.atol);
    case DIFF_RTOL:
        return take_tolerance(w, "--rtol", value, &w->options.rtol);
    default:
        w->most = (uint32_t)strtoul(value, &end, 10);
        if (!*value || *end || *value == '-')
            tool_error(w->tool, 0, "--max: %s is no number", value);
        return *value && !*end && *value != '-';
    }
}

static int report(Work *w, DiffPair *p)
{
    DiffReport r = {.arena = p->arena, .options = &w->options};
    diff_match(p);
    // Types are inferred behind the matching, which looks at the files as they stand.
    infer_model(p->a.m, NULL);
    infer_model(p->b.m, NULL);
    diff_compare(p, &r);
    if (w->json)
        diff_print_json(p, &r);
    else if (tool_style.quiet)
        diff_print_summary(&r);
    else
        diff_print_text(p, &r, w->most);
    return r.total ? EXIT_FINDINGS : EXIT_CLEAN;
}

static int compare_files(Work *w)
{
    DiffPair p = {.arena = arena_new()};
    DiffSide *const sides[2] = {&p.a, &p.b};
    int status = EXIT_CLEAN;
    for (int k = 0; k < 2 && !status; k++) {
        Diags diags;
        diags_init(&diags, p.arena, str_of(w->files[k]));
        sides[k]->path = w->files[k];
        sides[k]->m = tool_load(w->tool, p.arena, w->files[k], &diags, &status);
    }
    if (!status)
        status = report(w, &p);
    for (int k = 0; k < 2; k++)
        if (sides[k]->m)
            load_close(sides[k]->m);
    arena_free(p.arena);
    return status;
}

static int run_diff(const Tool *t, int argc, char **argv)
{
    Work w = {.tool = t, .most = MAX_SHOWN};
    const char *value;
    Args args = args_of(t, argc, argv);
    tool_style.colour = isatty(1) && !getenv("NO_COLOR");
    for (int i; (i = args_next(&args, &value)) != ARG_END;) {
        if (i == ARG_HELP || i == ARG_BAD)
            return i == ARG_HELP ? EXIT_CLEAN : EXIT_USAGE;
        if (i == ARG_FILE && w.nfiles < 2)
            w.files[w.nfiles++] = value;
        else if (i == ARG_FILE)
            return tool_error(t, EXIT_USAGE, "two models are compared; %s is one more", value);
        else if (!take_option(&w, i, value))
            return EXIT_USAGE;
    }
    if (w.nfiles < 2)
        return tool_error(t, EXIT_USAGE, "two models are needed");
    if (strcmp(w.files[0], "-") == 0 && strcmp(w.files[1], "-") == 0)
        return tool_error(t, EXIT_USAGE, "only one of the two can come from standard input");
    w.options.ignore[DIFF_NAME] |= !w.strict;
    w.options.ignore[DIFF_ORDER] |= !w.strict;
    return compare_files(&w);
}

const Tool tool_diff = {"diff", "A B [--ignore KINDS] [--atol A] [--rtol R] [--format text|json]",
                        "says what differs between two models", options, run_diff};
