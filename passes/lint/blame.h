// Values that faults begin with, and what is asked of them: what a repair changes.
#ifndef CAMEO_PASSES_LINT_BLAME_H
#define CAMEO_PASSES_LINT_BLAME_H

#include "passes/lint/lint.h"

// What a fault asks of a value that it begins with. DT_NONE: nothing is to blame there.
typedef struct Blame {
    DType want;
    bool declared; // because declarations of what it makes say so
    bool alone;    // all that has to be of its dtype fits once it has the other one
} Blame;

// By value as written in the file. The model is inferred; the table is of m->values.len and belongs
// to the arena.
Blame *lint_blamed(Model *m, Arena *a);

#endif
