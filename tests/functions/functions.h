// The elementary functions of float32 as emitted programs compute them, in one build each.
#ifndef TESTS_FUNCTIONS_H
#define TESTS_FUNCTIONS_H

enum {
#define FUNCTION(name, ours, theirs, limit) F_##name,
#include "tests/functions/functions.def"
#undef FUNCTION
    F_COUNT
};

// y[i] = f(x[i]) for i from 0 to n - 1, as a loop that the compiler makes vectors of.
typedef void (*Evaluate)(const float *x, float *y, long n);

// The same, exactly enough to say how far a float32 is from it.
typedef void (*Reference)(const float *x, double *y, long n);
extern const Reference references[F_COUNT];

// All functions as one set of flags compiles them.
typedef struct Build {
    const char *name;
    Evaluate evaluate[F_COUNT];
} Build;

extern const Build build_plain, build_fma, build_wide, build_divided, build_asked, build_strict;

#endif
