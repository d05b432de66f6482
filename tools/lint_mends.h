// What a repair of dtypes did, found by comparing the model with what it was.
#ifndef CAMEO_TOOLS_LINT_MENDS_H
#define CAMEO_TOOLS_LINT_MENDS_H

#include "passes/lint/mends.h"

// A model's constants, Casts, operands and declarations as they were.
typedef struct Before Before;

// Remembers the model before insert_casts; lives in `a`.
Before *mends_begin(Model *m, Arena *a);
// What became of it. Calls may have been inlined before mends_begin, and put back.
Mends mends_end(Before *w, Model *m);

#endif
