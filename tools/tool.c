// What the subcommands share.

#include "tools/tool.h"
#include "base/wrap.h"
#include "frontend/load.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ToolStyle tool_style;

Args args_of(const Tool *t, int argc, char **argv)
{
    tool_style.colour = isatty(2) && !getenv("NO_COLOR");
    return (Args){t, argc, 0, argv, false};
}

// Options of every command; true if it was one.
static bool take_common(const char *a)
{
    if (strcmp(a, "-q") == 0)
        tool_style.quiet = true;
    else if (strcmp(a, "-v") == 0)
        tool_style.verbose = true;
    else if (strcmp(a, "--color") == 0 || strcmp(a, "--color=always") == 0)
        tool_style.colour = true;
    else if (strcmp(a, "--color=never") == 0)
        tool_style.colour = false;
    else
        return strcmp(a, "--color=auto") == 0;
    return true;
}

static const char *meant_option(const Tool *t, const char *arg)
{
    enum { MOST = 64 };
    const char *names[MOST];
    uint32_t n = 0;
    for (; n < MOST && t->options[n].name; n++)
        names[n] = t->options[n].name;
    return str_nearest((Str){arg, strcspn(arg, "=")}, names, n);
}

int args_next(Args *a, const char **value)
{
    *value = NULL;
    while (a->at < a->argc) {
        const char *arg = a->argv[a->at++];
        bool option = !a->only_files && arg[0] == '-' && arg[1];
        if (!option) {
            *value = arg;
            return ARG_FILE;
        }
        if (strcmp(arg, "--") == 0) {
            a->only_files = true;
            continue;
        }
        if (take_common(arg))
            continue;
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            tool_help(a->tool, stdout);
            return ARG_HELP;
        }
        for (int i = 0; a->tool->options[i].name; i++) {
            const ToolOption *o = &a->tool->options[i];
            size_t n = strlen(o->name);
            if (strncmp(arg, o->name, n) != 0 || (arg[n] && (arg[n] != '=' || !o->value)))
                continue;
            if (!o->value)
                return i;
            *value = arg[n] ? arg + n + 1 : a->at < a->argc ? a->argv[a->at++] : NULL;
            if (*value)
                return i;
            tool_error(a->tool, 0, "%s needs %s", o->name, o->value);
            return ARG_BAD;
        }
        const char *meant = meant_option(a->tool, arg);
        tool_error(a->tool, 0, "there is no option %s%s%s%s (see cameo help %s)", arg,
                   meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "",
                   a->tool->name);
        return ARG_BAD;
    }
    return ARG_END;
}

int tool_list(const Tool *t, int argc, char **argv, void (*text)(void), void (*json)(void))
{
    Args args = args_of(t, argc, argv);
    const char *value;
    void (*print)(void) = text;
    for (int option; (option = args_next(&args, &value)) != ARG_END;) {
        if (option == ARG_HELP)
            return EXIT_CLEAN;
        if (option == ARG_BAD)
            return EXIT_USAGE;
        const bool is_json = strcmp(value, "json") == 0;
        if (option == ARG_FILE || (!is_json && strcmp(value, "text") != 0))
            return tool_error(t, EXIT_USAGE, "what is %s? (see cameo help %s)", value, t->name);
        print = is_json ? json : text;
    }
    print();
    return EXIT_CLEAN;
}

bool tool_count(const char *text, uint32_t most, uint32_t *n)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 1 || value > (long)most)
        return false;
    *n = (uint32_t)value;
    return true;
}

int tool_error(const Tool *t, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "cameo %s: error: ", t->name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    return status;
}

void tool_help(const Tool *t, FILE *f)
{
    fprintf(f, "usage: cameo %s %s\n\n%s\n", t->name, t->usage, t->doc);
    if (t->options[0].name)
        fprintf(f, "\noptions:\n");
    for (const ToolOption *o = t->options; o->name; o++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", o->name, o->value ? " " : "",
                 o->value ? o->value : "");
        fprintf(f, "  %-24s %s\n", left, o->doc);
    }
    fprintf(f, "  %-24s %s\n", "-q, -v, --color[=WHEN]", "less, more, coloured messages");
}

void tool_print_diags(const Diags *d)
{
    for (uint32_t i = 0; i < d->all.len; i++) {
        if (tool_style.quiet && d->all.at[i]->severity != SEV_ERROR)
            continue;
        Buf text = {0};
        diag_print(d->all.at[i], &text, tool_style.colour, terminal_width(2));
        fwrite(text.at, 1, text.len, stderr);
        buf_free(&text);
    }
}

int tool_status(const Diags *d, int status)
{
    if (d->broken)
        return EXIT_BUG;
    for (uint32_t i = 0; i < d->all.len; i++)
        if (strcmp(d->all.at[i]->rule, "SE006") == 0)
            return EXIT_BYTES;
    return status;
}

Model *tool_load(const Tool *t, Arena *a, const char *path, Diags *diags, int *status)
{
    (void)t;
    Model *m = load_model(a, path, diags, status);
    if (!m)
        tool_print_diags(diags);
    return m;
}
