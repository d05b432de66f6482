// The interpreter: the definition of the kernel IR. Slow and plain; folding and tests run on it.
#ifndef CAMEO_IR_INTERP_H
#define CAMEO_IR_INTERP_H

#include "ir/kernel.h"

typedef struct InterpTensor {
    DType dtype;
    uint32_t rank;
    int64_t dims[16];
    void *elements; // as in memory, strings: Str, lists: a cameo_object (runtime/cameo_model.h);
                    // malloc'ed as one for results, freed by interp_free
} InterpTensor;

typedef struct InterpLimits {
    uint64_t max_bytes;      // of all buffers together
    uint64_t max_operations; // expression evaluations; 0: no limit
} InterpLimits;

// Runs a module. inputs and outputs are in the module's order. false with *error: a failed check, a
// limit, an index out of a buffer (a bug of a lowering, reported as such).
bool interp_run(Module *mod, const InterpTensor *inputs, InterpTensor *outputs,
                const InterpLimits *limits, Str *error);
void interp_free(InterpTensor *t);
// The type of an input or output as emitted programs have it (runtime/cameo_model.h); NULL: a
// tensor.
const struct cameo_type *interp_list_type(const Module *mod, Arena *a, BufferId b);

#endif
