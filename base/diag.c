#include "base/diag.h"
#include "base/wrap.h"

#include <inttypes.h>
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

static void headline(const Diag *g, Buf *out, bool colour, uint32_t width)
{
    static const char *const names[] = {"info", "warning", "error"};
    static const char *const codes[] = {"\033[1;36m", "\033[1;33m", "\033[1;31m"};
    Buf head = {0};
    buf_printf(&head, "%s%s%s%s", names[g->severity], g->rule[0] ? "[" : "", g->rule,
               g->rule[0] ? "]" : "");
    buf_printf(out, "%s%s%s: ", colour ? codes[g->severity] : "", head.at, colour ? "\033[0m" : "");
    wrap_text(out, g->message, (uint32_t)head.len + 2, width, colour ? "\033[1m" : "",
              colour ? "\033[0m" : "");
    buf_free(&head);
}

void diag_print_line(Buf *out, bool colour, uint32_t width, const char *what, Str text)
{
    bool help = what[0] == 'h';
    buf_printf(out, "   %s=%s %s%s%s: ", colour ? "\033[1;34m" : "", colour ? "\033[0m" : "",
               !colour ? ""
               : help  ? "\033[1;32m"
                       : "\033[1m",
               what, colour ? "\033[0m" : "");
    wrap_text(out, text, (uint32_t)strlen(what) + 7, width, "", "");
}

bool diag_place(const Diag *d, uint32_t *line, uint32_t *column)
{
    char text[32];
    int used = 0;
    if (d->path.len >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%.*s", STR_ARG(d->path));
    return sscanf(text, "%" SCNu32 ":%" SCNu32 "%n", line, column, &used) == 2 && !text[used];
}

void diag_print(const Diag *g, Buf *out, bool colour, uint32_t width)
{
    headline(g, out, colour, width);
    if (g->file.len || g->path.len) {
        buf_printf(out, "  %s-->%s ", colour ? "\033[1;34m" : "", colour ? "\033[0m" : "");
        buf_name(out, g->file);
        buf_printf(out, "%s%.*s\n", g->file.len && g->path.len ? ":" : "", STR_ARG(g->path));
    }
    if (g->source.len)
        diag_print_line(out, colour, 0, "source", g->source);
    for (uint32_t i = 0; i < g->notes.len; i++)
        diag_print_line(out, colour, width, "note", g->notes.at[i]);
    for (uint32_t i = 0; i < g->fixes.len; i++) {
        const Fix *f = &g->fixes.at[i];
        Buf text = {0};
        buf_printf(&text, "[%s] %.*s", f->safe ? "safe" : "unsafe", STR_ARG(f->text));
        diag_print_line(out, colour, width, "help", (Str){text.at, text.len});
        buf_free(&text);
        if (f->note.len)
            diag_print_line(out, colour, width, "note", f->note);
    }
    for (uint32_t i = 0; i < g->helps.len; i++)
        diag_print_line(out, colour, width, "help", g->helps.at[i]);
}
