#include "codegen/cpu/processor.h"

#include "base/file.h"
#include "base/host.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct Column {
    const char *name;
    size_t at;
    double least, most;
} Column;

static const Column columns[] = {
#define COLUMN(name, least, most, what) {#name, offsetof(Processor, name), least, most},
#include "codegen/cpu/processors.def"
};
enum { NCOLUMNS = sizeof columns / sizeof *columns };

static const Processor rows[] = {
#define PROCESSOR(names, ...) {names, __VA_ARGS__},
#include "codegen/cpu/processors.def"
};
enum { NROWS = sizeof rows / sizeof *rows };

static double *cell(Processor *p, const Column *c)
{
    return (double *)(void *)((char *)p + c->at);
}

// ---- choosing ----------------------------------------------------------------------------------

void processor_complete(Processor *p)
{
    const double second = p->second;
    p->band = p->band > 0 ? p->band : floor(second * 5 / 8);
    p->kept = p->kept > 0 ? p->kept : floor(second * 3 / 8);
    p->deep = p->deep > 0 ? p->deep : 256;
    p->stream = p->stream > 0 ? p->stream : 4096;
    p->turns = p->turns > 0 ? p->turns : 100000;
}

bool processor_has_words(const Processor *p)
{
    return p->squares > 0 || p->words > 0;
}

static const Processor *of_lanes(int lanes)
{
    for (int i = 0; i < NROWS; i++)
        if (rows[i].lanes <= lanes)
            return &rows[i];
    return &rows[NROWS - 1];
}

static const Processor *named(const char *name)
{
    const size_t n = strlen(name);
    for (int i = 0; i < NROWS; i++)
        for (const char *at = rows[i].names; n && (at = strstr(at, name)); at++)
            if (at[-1] == ' ' && at[n] == ' ')
                return &rows[i];
    return NULL;
}

Processor processor_of(const char *cpu)
{
    const bool native = !cpu || strcmp(cpu, "native") == 0;
    const Processor *row = named(native ? host_processor() : cpu);
    char plain[64]; // without further instructions
    if (!row && !native && snprintf(plain, sizeof plain, "%.*s", (int)strcspn(cpu, "+"), cpu) > 0)
        row = named(plain);
    if (!row)
        row = of_lanes(native ? host_lanes() : 8);
    Processor p = *row;
    const double second = native ? (double)host_second_cache() : 0;
    if (second >= 65536 && second != p.second) { // what is said of another cache does not hold
        p.second = second;
        p.band = p.kept = 0;
    }
    processor_complete(&p);
    return p;
}

uint32_t processors_of(const char *cpus, const Processor *tuned, Processor to[MAX_CPUS])
{
    uint32_t n = 0;
    for (const char *at = cpus; n < MAX_CPUS && (at || !n);) {
        char name[64] = "";
        const size_t length = at ? strcspn(at, ",") : 0;
        if (at && length < sizeof name)
            memcpy(name, at, length);
        to[n++] = processor_of(at ? name : NULL);
        at = at && at[length] ? at + length + 1 : NULL;
    }
    if (tuned->lanes > 0)
        to[n - 1] = *tuned;
    return n;
}

// ---- text --------------------------------------------------------------------------------------

void processor_print(Buf *out, const Processor *p)
{
    Processor row = *p;
    buf_printf(out, "PROCESSOR(\"%s\"", p->names);
    for (int i = 0; i < NCOLUMNS; i++) {
        const double v = *cell(&row, &columns[i]);
        if (v != 0)
            buf_printf(out, ",\n          .%s = %.*g", columns[i].name, v == floor(v) ? 12 : 3, v);
    }
    buf_printf(out, ")\n");
}

void processors_define(Buf *out, const Processor *p, uint32_t n)
{
    buf_printf(out, "/* of the processor: bytes, values of k, nanoseconds of idle threads */\n"
                    "#ifndef CAMEO_CPU_BAND\n");
    for (uint32_t i = 0; i < n; i++, p++) {
        if (n > 1 && i + 1 < n)
            buf_printf(out, "#%sif defined(CAMEO_VARIANT) && CAMEO_VARIANT == %u\n", i ? "el" : "",
                       i);
        else if (n > 1)
            buf_printf(out, "#else\n");
        buf_printf(out,
                   "#define CAMEO_CPU_BAND %.0f\n#define CAMEO_CPU_KEPT %.0f\n"
                   "#define CAMEO_CPU_DEEP %.0f\n#define CAMEO_CPU_STREAM %.0f\n"
                   "#define CAMEO_CPU_TURNS %.0f\n#define CAMEO_CPU_SPLIT %.0f\n"
                   "#define CAMEO_CPU_QUOTIENTS %.0f\n#define CAMEO_CPU_ONCE %.0f\n"
                   "#define CAMEO_CPU_SQUARES %.0f\n#define CAMEO_CPU_WHOLE %d\n",
                   p->band, p->kept, p->deep, p->stream, p->turns, p->split, p->quotients, p->once,
                   p->squares, p->words > 0 && p->products >= 2);
    }
    buf_printf(out, "%s#endif\n", n > 1 ? "#endif\n" : "");
}

// ---- reading -----------------------------------------------------------------------------------

typedef struct Reader {
    Arena *arena;
    const char *path, *at, *end;
    int line;
    Str *error;
} Reader;

static bool fail(Reader *r, const char *what)
{
    if (!r->error->len)
        *r->error = str_printf(r->arena, "%s:%d: %s", r->path, r->line, what);
    return false;
}

// To what is no space and no comment.
static void skip(Reader *r)
{
    for (; r->at < r->end; r->at++) {
        if (*r->at == '/' && r->at + 1 < r->end && r->at[1] == '/')
            while (r->at < r->end && *r->at != '\n')
                r->at++;
        if (r->at == r->end || !isspace((unsigned char)*r->at))
            return;
        r->line += *r->at == '\n';
    }
}

static bool take(Reader *r, const char *what)
{
    const size_t n = strlen(what);
    skip(r);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, what, n) != 0)
        return fail(r, str_printf(r->arena, "%s is expected here", what).at);
    r->at += n;
    return true;
}

// The characters up to the first that is not one of these; at most 127.
static const char *word(Reader *r, bool (*belongs)(char))
{
    size_t n = 0;
    skip(r);
    while (n < 127 && r->at + n < r->end && belongs(r->at[n]))
        n++;
    r->at += n;
    return str_printf(r->arena, "%.*s", (int)n, r->at - n).at;
}

static bool of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool of_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e';
}

static bool of_string(char c)
{
    return of_name(c) || c == '-' || c == ' ' || c == '.';
}

static const Column *column_named(const char *name)
{
    for (int i = 0; i < NCOLUMNS; i++)
        if (strcmp(columns[i].name, name) == 0)
            return &columns[i];
    return NULL;
}

static bool read_column(Reader *r, Processor *p)
{
    if (!take(r, "."))
        return false;
    const char *name = word(r, of_name);
    const Column *c = column_named(name);
    if (!c)
        return fail(r, str_printf(r->arena, "there is no column \"%s\"", name).at);
    if (!take(r, "="))
        return false;
    const char *text = word(r, of_number);
    char *end;
    const double v = strtod(text, &end);
    if (!*text || *end)
        return fail(r, str_printf(r->arena, "%s: a number is expected", name).at);
    if (!(v >= c->least && v <= c->most))
        return fail(r, str_printf(r->arena, "%s: %s is not from %.12g to %.12g", name, text,
                                  c->least, c->most)
                           .at);
    *cell(p, c) = v;
    return true;
}

// Of some columns few values are sizes that tiles can have, or an answer.
typedef struct Choice {
    const char *name;
    double of[5];
    const char *said;
} Choice;

static const Choice choices[] = {
    {"lanes", {4, 8, 16}, "4, 8 or 16 are expected"},
    {"rows", {0, 4, 8}, "4 or 8 are expected"}, // fewer have too few sums to hide what one takes
    {"step", {0, 1, 2, 4, 8}, "1, 2, 4 or 8 are expected"},
    {"deep", {0, 64, 96, 128, 256}, "64, 96, 128 or 256 are expected"},
    {"squares", {0, 1}, "0 or 1 is expected"},
    {"words", {0, 1}, "0 or 1 is expected"},
    {"quotients", {0, 1, 2}, "0, 1 or 2 is expected"},
    {"once", {0, 1, 2}, "0, 1 or 2 is expected"},
};
enum { NCHOICES = sizeof choices / sizeof *choices };

static bool is_one_of(double v, const Choice *c)
{
    for (int i = 0; i < (int)(sizeof c->of / sizeof *c->of); i++)
        if (v == c->of[i])
            return true;
    return false;
}

// Columns that have to be there are, and sizes are such as tiles can have.
static bool check(Reader *r, Processor *p)
{
    for (int i = 0; i < NCOLUMNS; i++)
        if (!(*cell(p, &columns[i]) >= columns[i].least))
            return fail(r, str_printf(r->arena, "there is no .%s", columns[i].name).at);
    for (int i = 0; i < NCHOICES; i++)
        if (!is_one_of(*cell(p, column_named(choices[i].name)), &choices[i]))
            return fail(r, str_printf(r->arena, "%s: %s", choices[i].name, choices[i].said).at);
    if (p->ahead != floor(p->ahead))
        return fail(r, "ahead: a whole number is expected");
    return true;
}

bool processor_read(Arena *a, const char *path, Processor *p, Str *error)
{
    FileView view;
    *p = (Processor){0};
    *error = STR_NONE;
    if (!file_open(a, path, &view, error))
        return false;
    const char *text = (const char *)view.at;
    Reader r = {a, str_escaped(a, str_of(path)).at, text, text + view.len, 1, error};
    bool ok = take(&r, "PROCESSOR") && take(&r, "(") && take(&r, "\"");
    if (ok)
        word(&r, of_string);
    p->names = " ";
    ok = ok && take(&r, "\"");
    while (ok && (skip(&r), r.at < r.end && *r.at == ','))
        ok = take(&r, ",") && read_column(&r, p);
    ok = ok && take(&r, ")") && check(&r, p);
    skip(&r);
    if (ok && r.at < r.end)
        ok = fail(&r, "nothing is expected behind the row");
    file_close(&view);
    processor_complete(p);
    return ok;
}
