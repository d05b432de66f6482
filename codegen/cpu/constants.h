// Elements of expressions of constants and loop variables, computed when compiling, for many
// iterations of their loops at once: what the interpreter would give, at the speed that weights of
// millions of elements ask for. Integers, and float32; narrower floats as they are read.
#ifndef CAMEO_CODEGEN_CPU_CONSTANTS_H
#define CAMEO_CODEGEN_CPU_CONSTANTS_H

#include "codegen/cpu/iterations.h"

// Can e, an integer or a float32, be computed where only these variables run?
bool constant_computes(const Iterations *x, const Expr *e);
// Adds a text of e, which can be: where it and that of the nest are the same, so are its values.
void constant_describe(const Iterations *x, const Expr *e, Buf *out);
// Is e, which can be, the same at each `step` lanes (iterations_even)?
bool constant_even(Iterations *x, const Expr *e, uint32_t step);
// Its values at these lanes.
void constant_integers(Iterations *x, const Expr *e, int64_t *to);
void constant_floats(Iterations *x, const Expr *e, float *to);
// What it reads of files takes no memory until it is read again.
void constant_forget(const Iterations *x, const Expr *e);

// A weight of these elements, which the module's arena lent (arena_lend), packed of `of`, whose
// name it has; another one that there is already under that name, if equal.
BufferId constants_weight(Module *mod, BufferId of, uint32_t rank, const int64_t *dims,
                          float *lent);

#endif
