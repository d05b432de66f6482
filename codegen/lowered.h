// A model as it is lowered for processors that lay values and weights out alike.
//
// Those of a build with matrix registers, those whose vectors multiply words, and those with
// neither (codegen/cpu/processors.def) want different layouts, and products of bytes and bfloat16
// different panels. Such neighbours in the list of processors are lowered each for themselves, by
// passes over a copy of the model, and become texts of their own. They share one blob, in which
// weights that are the same bytes lie once.
#ifndef CAMEO_CODEGEN_LOWERED_H
#define CAMEO_CODEGEN_LOWERED_H

#include "codegen/compile.h"
#include "codegen/toolchain.h"

typedef struct Lowered {
    CompileOptions o;         // the build's, with these processors alone
    Processor rows[MAX_CPUS]; // theirs
    uint32_t first, n;        // which of the build's they are
    Module *mod;
    Plan *plan;         // filled in by the build
    const char *source; // "net_1.c", its text in the build's folder
} Lowered;

// Lowers the model for all processors of the build: all[] has room for MAX_CPUS; *n: how many came
// of it, the last of them from `m` itself, the others from copies. What `portable` adds for words
// is left out of the build where nothing multiplies them. The exit status, as compile_model's.
int lower_for_processors(Build *b, Model *m, Diags *diags, Lowered *all, uint32_t *n);

// Lays the weights of planned modules into one blob, in their order.
bool lowered_share_weights(Arena *a, const Lowered *all, uint32_t n, Str *error);

#endif
