// Whole results of compilations: what was written and said, kept in the cache by all that decides
// it.
//
// The key is a digest of the model's bytes, the options, cameo.yaml, the compilers (this one and
// the C compiler) and the machine. A small entry of that name lists the files of external data that
// were read and the files that were written, each with the digest of its contents; what was written
// is an entry by that digest. All of it is compared before it is used: what has changed is compiled
// anew.
#ifndef CAMEO_CODEGEN_RESULTS_H
#define CAMEO_CODEGEN_RESULTS_H

#include "codegen/cache.h"
#include "codegen/compile.h"
#include "passes/config.h"

typedef struct Results {
    Arena *arena;
    const char *model; // its path
    const CompileOptions *o;
    Cache *cache;
    const char *key, *digest; // of all that decides; of the model's file
} Results;

// False: for these options there are none (they ask for more than files, or for no cache).
bool results_open(Results *r, Arena *a, const char *model, const Config *config,
                  const CompileOptions *o);
// All that was asked for is in its place, as compile_model would have left it. *said: what
// results_keep was told. False: it has to be compiled.
bool results_take(Results *r, Str *said);
// What was just compiled from `m`. What fails is no error: it is not kept.
void results_keep(Results *r, const Model *m, const CompileReport *report, Str said);

#endif
