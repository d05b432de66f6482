#include "codegen/cpus.h"
#include "base/process.h"
#include "codegen/jobs.h"

#include <string.h>

uint32_t cpus_split(Arena *a, const char *list, const char **names)
{
    uint32_t n = 0;
    names[0] = list;
    for (const char *at = list; at && n < MAX_CPUS; n++) {
        const size_t length = strcspn(at, ",");
        names[n] = str_printf(a, "%.*s", (int)length, at).at;
        at = at[length] ? at + length + 1 : NULL;
    }
    return n ? n : 1;
}

const char *cpus_flag(Arena *a, const char *name)
{
    if (name && strcmp(name, "portable") == 0)
        return NULL;
    return str_printf(a, "-march=%s", name ? name : "native").at;
}

// What the compiler says to these arguments; false: it does not take them.
static bool ask(Build *b, const char *const *argv, Str *said)
{
    Buf output = {0};
    int status = 0;
    const bool ok = process_run(b->arena, "/", argv, &output, &status, &b->report->error);
    *said = str_copy(b->arena, (Str){output.at ? output.at : "", output.len});
    buf_free(&output);
    return ok && status == 0;
}

static int refuse(Build *b, const char *name, Str said)
{
    const char *known = strstr(said.at, "valid ");
    known = known ? strchr(known, ':') : NULL;
    const int length = known ? (int)strcspn(known + 1, ";\n") : 0;
    Str shown = str_escaped(b->arena, str_of(name));
    b->report->error =
        str_printf(b->arena, "%s knows no processor \"%.*s\"%s%.*s", b->cc, STR_ARG(shown),
                   length ? "; it knows" : "", length, length ? known + 1 : "");
    return 2;
}

int cpus_resolve(Build *b, const char **list)
{
    if (!*list || strcmp(*list, "native") == 0 || b->o->kind == EMIT_C)
        return 0;
    const char *names[MAX_CPUS], *machine[] = {b->cc, "-dumpmachine", NULL};
    Str said = STR_NONE;
    if (strcmp(*list, "portable") == 0) {
        const bool several = b->o->device == ON_CPU && b->o->kind != EMIT_LOADED;
        if (several && ask(b, machine, &said) && str_starts(said, "x86_64"))
            *list = "x86-64-v2,x86-64-v3,x86-64-v4";
        return 0;
    }
    uint32_t commas = 0;
    for (const char *at = *list; (at = strchr(at, ',')); at++)
        commas++;
    if (commas >= MAX_CPUS) {
        b->report->error = str_printf(b->arena, "at most %d processors", MAX_CPUS);
        return 2;
    }
    const uint32_t n = cpus_split(b->arena, *list, names);
    for (uint32_t i = 0; i < n; i++) {
        const char *flag = cpus_flag(b->arena, names[i]);
        const char *argv[] = {b->cc, flag, "-fsyntax-only", "-xc", "/dev/null", NULL};
        if (!flag || !ask(b, argv, &said))
            return refuse(b, names[i], said);
    }
    return 0;
}
