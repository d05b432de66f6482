// Elements of expressions of constants and loop variables, computed when compiling, for many
// iterations of their loops at once: what the interpreter would give, at the speed that weights of
// millions of elements ask for. Integers, and float32; narrower floats as they are read.
#ifndef CAMEO_CODEGEN_CPU_CONSTANTS_H
#define CAMEO_CODEGEN_CPU_CONSTANTS_H

#include "ir/kernel.h"

enum { CONSTANT_LANES = 256, CONSTANT_LOOPS = 24 };

// Iterations of a nest of loops, in order, up to CONSTANT_LANES at a time.
typedef struct Iterations {
    Module *mod;
    uint32_t nloops;
    LoopId vars[CONSTANT_LOOPS]; // outermost first
    int64_t extents[CONSTANT_LOOPS], next[CONSTANT_LOOPS], left;
    int64_t (*values)[CONSTANT_LANES]; // of each variable, for these iterations
    uint32_t n;                        // how many these are
    bool failed;                       // an element outside of its tensor was asked for
} Iterations;

// false: the number of iterations is not known, 0, or beyond `most`.
bool iterations_begin(Iterations *x, Module *mod, uint32_t nloops, const LoopId *vars,
                      int64_t most);
// The next ones; false: there are none.
bool iterations_next(Iterations *x);
void iterations_end(Iterations *x);

// Can e, an integer or a float32, be computed where only these variables run?
bool constant_computes(const Iterations *x, const Expr *e);
bool constant_indexes(const Iterations *x, Index i);
// Its values at these iterations.
void constant_integers(Iterations *x, const Expr *e, int64_t *to);
void constant_floats(Iterations *x, const Expr *e, float *to);
void constant_index(Iterations *x, Index i, int64_t *to);
// The element of a tensor of these dims at each.
void constant_places(Iterations *x, uint32_t rank, const Index *dims, const Index *at, int64_t *to);

// A weight of these elements, which the module's arena lent (arena_lend), packed of `of`, whose
// name it has; another one that there is already under that name, if equal.
BufferId constants_weight(Module *mod, BufferId of, uint32_t rank, const int64_t *dims,
                          float *lent);

#endif
