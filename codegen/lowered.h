// A model as it is lowered for processors that lay values and weights out alike.
//
// Those of a build with matrix registers, those whose vectors multiply words, and those with
// neither (codegen/cpu/processors.def) want different layouts, and products of bytes and bfloat16
// different panels. Such neighbours in the list of processors are lowered each for themselves, by
// passes over a copy of the model, and become texts of their own. They share one blob, in which
// weights that are the same bytes lie once. What has been lowered is taken before the next is, so
// that compilers run meanwhile.
#ifndef CAMEO_CODEGEN_LOWERED_H
#define CAMEO_CODEGEN_LOWERED_H

#include "codegen/compile.h"
#include "codegen/toolchain.h"

typedef struct Lowered {
    CompileOptions o;         // the build's, with these processors alone
    Processor rows[MAX_CPUS]; // theirs
    uint32_t first, n;        // which of the build's they are
    uint32_t number;          // of the Lowered: 0 has the least processors
    Module *mod;
    Plan *plan;         // filled in by the build
} Lowered;

// Takes what was lowered, which stays where it is. The exit status: with one that is not 0 nothing
// more is lowered.
typedef int LoweredTake(void *of, Lowered *l);

// Lowers the model for all processors of the build, the best ones first: from `m` itself, the
// others from copies, each into all[], which has room for MAX_CPUS, and given to `take`. What
// `portable` adds for words is left out of the build where nothing multiplies them. The exit
// status, as compile_model's.
int lower_for_processors(Build *b, Model *m, Diags *diags, Lowered *all, LoweredTake *take,
                         void *of);

// The weights of modules that share them.
typedef struct Blob Blob;
Blob *blob_new(Arena *a);
// Lays those of a planned module behind what is there already, its sizes being those of the blob.
bool blob_place(Blob *blob, const Lowered *l, Str *error);

#endif
