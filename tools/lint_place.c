// Where a finding is shown to people who read code: the line of the program that the model was
// exported from, where that lies in the repository; the line of a text that cannot be read; else
// the first line of the model, which has no lines.

#include "base/file.h"
#include "tools/lint.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Splits "train/model.py:41 in forward ..." (Diag.source). False: it is not of that form.
static bool source_line(Str source, Str *file, uint32_t *line)
{
    for (size_t i = 1; i + 1 < source.len; i++) {
        if (source.at[i] != ':' || !isdigit((unsigned char)source.at[i + 1]))
            continue;
        *file = (Str){source.at, i};
        *line = (uint32_t)strtoul(source.at + i + 1, NULL, 10);
        return *line > 0;
    }
    return false;
}

// The file as seen from the working folder; absent: it lies elsewhere, or is not there.
static Str within_folder(Arena *a, Str file)
{
    char *folder = getcwd(NULL, 0);
    size_t n = folder ? strlen(folder) : 0;
    bool below = n && file.len > n + 1 && memcmp(file.at, folder, n) == 0 && file.at[n] == '/';
    free(folder);
    if (below)
        file = (Str){file.at + n + 1, file.len - n - 1};
    Str path = str_copy(a, file);
    bool leaves = str_starts(path, "/") || str_starts(path, "../") || strstr(path.at, "/../");
    return !leaves && file_regular(path.at) ? path : STR_NONE;
}

LintPlace lint_place(Arena *a, const Diag *d)
{
    LintPlace p = {.file = d->file, .line = 1};
    Str file;
    uint32_t line;
    if (diag_place(d, &p.line, &p.column))
        return p;
    if (d->source.len && source_line(d->source, &file, &line) && (file = within_folder(a, file)).at)
        p = (LintPlace){.file = file, .line = line, .in_program = true};
    return p;
}
