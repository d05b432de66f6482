// A file that says what each value is rounded to.

#include "base/file.h"
#include "tools/drift_parts.h"

#include <string.h>

static bool precision_named(Str name, DriftPrecision *p)
{
    for (int i = DRIFT_OWN; i <= DRIFT_F32; i++)
        if (str_is(name, drift_precision_name((DriftPrecision)i))) {
            *p = (DriftPrecision)i;
            return true;
        }
    return false;
}

static Str trimmed(Str s)
{
    while (s.len && strchr(" \t\r", s.at[s.len - 1]))
        s.len--;
    while (s.len && strchr(" \t", s.at[0])) {
        s.at++;
        s.len--;
    }
    return s;
}

// "NAME DTYPE", NAME up to the last white space. Every value of that name; before values are known
// (d->each) the form alone is looked at.
static int take_line(const Tool *t, Drift *d, Str line, uint32_t number)
{
    DriftPrecision p;
    size_t at = line.len;
    while (at && !strchr(" \t", line.at[at - 1]))
        at--;
    Str name = trimmed((Str){line.at, at}), dtype = {line.at + at, line.len - at};
    bool found = false;
    if (!name.len || !precision_named(dtype, &p))
        return tool_error(t, EXIT_USAGE, "%s:%u: a value's name and f16, bf16, f32 or own", d->mix,
                          number);
    if (!d->each)
        return EXIT_CLEAN;
    for (uint32_t k = 0; k < d->table.report.values.len; k++)
        if (str_eq(d->table.report.values.at[k].name, name)) {
            d->each[k] = p;
            found = true;
        }
    if (!found)
        return tool_error(t, EXIT_USAGE,
                          "%s:%u: \"%.*s\" is no value of floats that an output depends on", d->mix,
                          number, STR_ARG(str_escaped(d->table.arena, name)));
    return EXIT_CLEAN;
}

static int read_lines(const Tool *t, Drift *d, Arena *a)
{
    FileView file;
    Str error = STR_NONE;
    uint32_t number = 0;
    int status = EXIT_CLEAN;
    if (!file_open(a, d->mix, &file, &error))
        return tool_error(t, EXIT_BYTES, "%.*s", STR_ARG(error));
    Str rest = {(const char *)file.at, file.len};
    while (rest.len && !status) {
        const char *end = memchr(rest.at, '\n', rest.len);
        size_t n = end ? (size_t)(end - rest.at) : rest.len;
        Str line = trimmed((Str){rest.at, n});
        number++;
        if (line.len && line.at[0] != '#')
            status = take_line(t, d, line, number);
        rest.at += end ? n + 1 : n;
        rest.len -= end ? n + 1 : n;
    }
    file_close(&file);
    return status;
}

int drift_check_mix(const Tool *t, Drift *d)
{
    Arena *a = arena_new();
    int status = read_lines(t, d, a);
    arena_free(a);
    return status;
}

int drift_read_mix(const Tool *t, Drift *d)
{
    d->each = NEWS(d->table.arena, DriftPrecision, d->table.report.values.len + 1u);
    return read_lines(t, d, d->table.arena);
}
