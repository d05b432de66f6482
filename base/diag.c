#include "base/diag.h"

#include <stdarg.h>

void diags_init(Diags *d, Arena *a, Str file)
{
    *d = (Diags){.arena = a, .file = file};
}

static Str format_args(Arena *a, const char *format, va_list args)
{
    Buf b = {0};
    buf_vprintf(&b, format, args);
    Str s = {arena_copy(a, b.at, b.len), b.len};
    buf_free(&b);
    return s;
}

Diag *diag(Diags *d, const char *rule, Severity severity, Str path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Diag *g = NEW(d->arena, Diag);
    *g = (Diag){.rule = rule,
                .severity = severity,
                .file = d->file,
                .path = path,
                .message = format_args(d->arena, format, args)};
    va_end(args);
    vec_push(d->arena, &d->all, g);
    uint32_t *count = severity == SEV_ERROR     ? &d->errors
                      : severity == SEV_WARNING ? &d->warnings
                                                : &d->infos;
    ++*count;
    return g;
}

void diag_note(Diags *d, Diag *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vec_push(d->arena, &g->notes, format_args(d->arena, format, args));
    va_end(args);
}

void diag_help(Diags *d, Diag *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vec_push(d->arena, &g->helps, format_args(d->arena, format, args));
    va_end(args);
}

Fix *diag_fix(Diags *d, Diag *g, bool safe, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Fix f = {.safe = safe, .text = format_args(d->arena, format, args)};
    va_end(args);
    vec_push(d->arena, &g->fixes, f);
    return &g->fixes.at[g->fixes.len - 1];
}

static void headline(const Diag *g, Buf *out, bool colour)
{
    static const char *const names[] = {"info", "warning", "error"};
    static const char *const codes[] = {"\033[1;36m", "\033[1;33m", "\033[1;31m"};
    buf_printf(out, "%s%s%s%s%s%s%s%s: %.*s%s\n", colour ? codes[g->severity] : "",
               names[g->severity], g->rule[0] ? "[" : "", g->rule, g->rule[0] ? "]" : "",
               colour ? "\033[0m" : "", colour ? "\033[1m" : "", "", STR_ARG(g->message),
               colour ? "\033[0m" : "");
}

void diag_print(const Diag *g, Buf *out, bool colour)
{
    headline(g, out, colour);
    if (g->file.len || g->path.len)
        buf_printf(out, "  --> %.*s%s%.*s\n", STR_ARG(g->file),
                   g->file.len && g->path.len ? ":" : "", STR_ARG(g->path));
    if (g->source.len)
        buf_printf(out, "   = source: %.*s\n", STR_ARG(g->source));
    for (uint32_t i = 0; i < g->notes.len; i++)
        buf_printf(out, "   = note: %.*s\n", STR_ARG(g->notes.at[i]));
    for (uint32_t i = 0; i < g->fixes.len; i++) {
        const Fix *f = &g->fixes.at[i];
        buf_printf(out, "   = help: [%s] %.*s\n", f->safe ? "safe" : "unsafe", STR_ARG(f->text));
        if (f->note.len)
            buf_printf(out, "   = note: %.*s\n", STR_ARG(f->note));
    }
    for (uint32_t i = 0; i < g->helps.len; i++)
        buf_printf(out, "   = help: %.*s\n", STR_ARG(g->helps.at[i]));
}
