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

// Is it this level of x86-64, with whatever further instructions? Compilers that are told a level
// and no processor order and choose instructions for machines long before it as well.
static bool is_level(const char *name, const char *level)
{
    const size_t n = strlen(level);
    return strncmp(name, level, n) == 0 && (!name[n] || name[n] == '+');
}

uint32_t cpus_flags(Arena *a, const char *name, const char **argv)
{
    if (name && strcmp(name, "portable") == 0)
        return 0;
    name = name ? name : "native";
    const bool of_name = strncmp(name, "arm", 3) == 0;
    const size_t length = of_name ? strlen(name) : strcspn(name, "+");
    uint32_t n = 0;
    argv[n++] = str_printf(a, "-march=%.*s", (int)length, name).at;
    for (const char *at = name + length; *at && n < MAX_CPU_FLAGS;) {
        const size_t len = strcspn(++at, "+");
        argv[n++] = str_printf(a, "-m%.*s", (int)len, at).at;
        at += len;
    }
    if (n < MAX_CPU_FLAGS && is_level(name, "x86-64-v4"))
        argv[n++] = "-mtune=haswell";
    return n;
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

// Does the compiler make code for it? *said: why it does not.
static bool knows(Build *b, const char *name, Str *said)
{
    static const char *const rest[] = {"-fsyntax-only", "-xc", "/dev/null", NULL};
    const char *argv[1 + MAX_CPU_FLAGS + sizeof rest / sizeof *rest] = {b->cc};
    uint32_t flags = 1;
    *said = STR("");
    for (const char *at = name; (at = strchr(at, '+')); at++)
        flags++;
    const uint32_t n = 1 + cpus_flags(b->arena, name, argv + 1);
    memcpy(argv + n, rest, sizeof rest);
    return n > 1 && flags <= MAX_CPU_FLAGS && ask(b, argv, said);
}

bool cpus_known(Build *b, const char *name)
{
    Str said;
    return knows(b, name, &said);
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

static bool is_word(int32_t dtype)
{
    return dtype == DT_I8 || dtype == DT_U8 || dtype == DT_BF16;
}

// Has the model constants of bytes or bfloat16, or will it have them?
static bool may_have_words(const Build *b, const Model *m)
{
    bool found = b->o->rewrite != NULL;
    for (ValueId v = 1; v < m->values.len && !found; v++) {
        const TensorData *init = m->values.at[v].init;
        found = init && is_word(init->dtype);
    }
    for (NodeId id = 1; id < m->nodes.len && !found; id++) {
        const Node *n = &m->nodes.at[id];
        for (uint32_t i = 0; i < n->nattrs && !found; i++)
            found = n->attrs[i].t && is_word(n->attrs[i].t->dtype);
    }
    return found;
}

static int portable(Build *b, const Model *m, const char **list)
{
    static const char *const words[] = {"x86-64-v4+avx512vnni+avx512bf16", "sapphirerapids"};
    const char *machine[] = {b->cc, "-dumpmachine", NULL};
    const bool several = b->o->device == ON_CPU && b->o->kind != EMIT_LOADED;
    Str said = STR_NONE;
    if (!several || !ask(b, machine, &said) || !str_starts(said, "x86_64"))
        return 0;
    *list = "x86-64-v2,x86-64-v3,x86-64-v4";
    b->may_leave = may_have_words(b, m);
    for (size_t i = 0; i < sizeof words / sizeof *words && b->may_leave; i++)
        if (knows(b, words[i], &said))
            *list = str_printf(b->arena, "%s,%s", *list, words[i]).at;
    return 0;
}

int cpus_resolve(Build *b, const Model *m, const char **list)
{
    if (!*list || strcmp(*list, "native") == 0 || b->o->kind == EMIT_C)
        return 0;
    if (strcmp(*list, "portable") == 0)
        return portable(b, m, list);
    const char *names[MAX_CPUS];
    Str said = STR_NONE;
    uint32_t commas = 0;
    for (const char *at = *list; (at = strchr(at, ',')); at++)
        commas++;
    if (commas >= MAX_CPUS) {
        b->report->error = str_printf(b->arena, "at most %d processors", MAX_CPUS);
        return 2;
    }
    const uint32_t n = cpus_split(b->arena, *list, names);
    for (uint32_t i = 0; i < n; i++)
        if (!knows(b, names[i], &said))
            return refuse(b, names[i], said);
    return 0;
}
