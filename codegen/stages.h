// How long the stages of a compilation took.
#ifndef CAMEO_CODEGEN_STAGES_H
#define CAMEO_CODEGEN_STAGES_H

#include "base/arena.h"

typedef struct Stage {
    const char *name; // "passes", or what a compiler made: "model.o"
    double seconds;   // from its beginning to its end
} Stage;

// In the order in which they ended; compilers run side by side, so that theirs overlap.
typedef VEC(Stage) Stages;

// Seconds since some moment.
double stage_clock(void);
// What began at *since has ended now; the next one begins.
void stage_end(Arena *a, Stages *s, const char *name, double *since);
// The same, where it is one stage with what was called so before.
void stage_more(Arena *a, Stages *s, const char *name, double *since);

#endif
