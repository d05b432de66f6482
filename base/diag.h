// Diagnostics are values: what is wrong, where, why, and what to do. Nothing here prints.
#ifndef CAMEO_BASE_DIAG_H
#define CAMEO_BASE_DIAG_H

#include "base/str.h"

typedef enum Severity { SEV_INFO, SEV_WARNING, SEV_ERROR } Severity;

// A way to mend it. `text` is the sentence after "help: [safe]".
typedef struct Fix {
    bool safe;
    Str text;
    uint32_t casts, transfers; // what the fix adds
    Str note;                  // said right behind it; absent: nothing
} Fix;

typedef struct Diag {
    const char *rule; // "DT001"; "" for what is no lint rule (usage, not supported)
    Severity severity;
    Str message; // one line, model strings escaped
    Str file;    // as the user named it
    Str path;    // "graph/If_0.then_branch/node[/stft/Conv]:in1(weight)", see ir/location.h
    Str node, op, value;
    // What the fingerprint is of where the finding shows at several places: the least of them,
    // whichever node comes first in the file. Absent: its own.
    Str mark_path, mark_op, mark_value;
    Str origin_kind, origin_name; // absent where a rule has no origin
    VEC(Str) chain;               // from the origin to here
    Str source;                   // the line of the program that was exported; absent: not known
    VEC(Str) notes;
    VEC(Fix) fixes;
    VEC(Str) helps;       // where to read on
    VEC(uint32_t) blamed; // values as written, by id: what a repair does to them mends this finding
    bool fixed;           // a repair was applied
    bool fails;           // at or above the level that makes the command fail
} Diag;

// A list of findings; the arena owns all of it.
typedef struct Diags {
    Arena *arena;
    Str file;
    VEC(Diag *) all;
    uint32_t errors, warnings, infos;
    bool broken; // a fault of our own is among them
} Diags;

void diags_init(Diags *d, Arena *a, Str file);

// A new finding. `format` is printf's; pass model strings through str_escaped first.
Diag *diag(Diags *d, const char *rule, Severity severity, Str path, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void diag_note(Diags *d, Diag *g, const char *format, ...) __attribute__((format(printf, 3, 4)));
Fix *diag_fix(Diags *d, Diag *g, bool safe, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

void diag_help(Diags *d, Diag *g, const char *format, ...) __attribute__((format(printf, 3, 4)));

// A fault in a text stands at a line and a column of it (path "5:13"), both from 1 on. False: d is
// about something else.
bool diag_place(const Diag *d, uint32_t *line, uint32_t *column);

// The text form of one finding (the layout of rustc: headline, "-->", notes, helps). colour: ANSI;
// width: of the terminal, 0 for lines as long as they are. Where it is, and what line of a program
// it came from, is never wrapped: both are there to be copied.
void diag_print(const Diag *g, Buf *out, bool colour, uint32_t width);
// One of its lines: "   = WHAT: TEXT"; a help stands out from the others.
void diag_print_line(Buf *out, bool colour, uint32_t width, const char *what, Str text);

#endif
