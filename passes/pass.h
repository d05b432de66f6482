// Graph passes: each changes a model or annotates it, and leaves it valid.
#ifndef CAMEO_PASSES_PASS_H
#define CAMEO_PASSES_PASS_H

#include "base/diag.h"
#include "ir/graph.h"

typedef struct PassContext {
    Diags *diags;
    // Called after each pass where set (--print-after).
    void (*after)(void *user, const char *pass, const Model *m);
    void *user;
} PassContext;

typedef struct Pass {
    const char *name, *doc;
    bool (*run)(Model *m, PassContext *c); // false: an error was reported
} Pass;

extern const Pass passes[]; // in the order of passes.def; ends with a NULL name
const Pass *pass_find(Str name);

// Runs one pass, then the verifier of the graph, then the hook.
bool pass_run(const Pass *p, Model *m, PassContext *c);

// What every program goes through before it is lowered.
bool pass_pipeline(Model *m, PassContext *c);

#define PASS(name, doc) bool pass_##name(Model *m, PassContext *c);
#include "passes/passes.def"
#undef PASS

#endif
