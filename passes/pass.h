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
    uint32_t facts;           // FACT_* that hold now; pass_run keeps it
    bool verified;            // known_faults holds
    uint32_t known_faults;    // VERIFY_* of the model before the first pass
    const char *broken;       // the pass behind which the verifier found a fault; NULL if none
    bool on_device;           // the kernels are for a CUDA device
    bool strict;              // every operation as the model has it
    bool wide;                // operations of bfloat16 may hand float32 to one another
    bool words;               // words of bfloat16 are multiplied at once
    bool direct;              // no convolution goes by Winograd's tiles
    struct FuseReport *fused; // where fusion says what it did (codegen/fuse.h); NULL: nowhere
    const struct Pass *kernel_passes; // the passes over kernels, where there are any to be had
} PassContext;

// What passes establish for one another.
enum {
    FACT_SORTED = 1,  // nodes stand in order of execution
    FACT_INLINED = 2, // no call of a function of the model is left
    FACT_TYPED = 4,   // dtypes, shapes and contents are inferred
    FACT_LOWERED = 8, // Model.kernels are what the graph means
    FACT_COUNT = 4
};
extern const char *const fact_names[FACT_COUNT]; // by bit

typedef struct Pass {
    const char *name, *doc;
    uint32_t needs, gives, breaks;         // FACT_*
    bool (*run)(Model *m, PassContext *c); // false: an error was reported
} Pass;

extern const Pass passes[]; // in the order of passes.def; ends with a NULL name
const Pass *pass_find(Str name);

// Runs one pass, then the verifier of the graph, then the hook.
bool pass_run(const Pass *p, Model *m, PassContext *c);

// The same, after whatever passes it takes to give what it needs.
bool pass_run_needed(const Pass *p, Model *m, PassContext *c);

// What every program goes through before it is lowered.
bool pass_pipeline(Model *m, PassContext *c);

// As the compiler goes, up to and with the first run of `last`; a pass that is not on its way is
// run after what it needs.
bool pass_pipeline_to(const Pass *last, Model *m, PassContext *c);

#define PASS(name, doc, ...) bool pass_##name(Model *m, PassContext *c);
#define KERNEL_PASS(name, doc, ...)
#include "passes/passes.def"
#undef KERNEL_PASS
#undef PASS

#endif
