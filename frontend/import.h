// An ONNX file's bytes to the graph IR.
#ifndef CAMEO_FRONTEND_IMPORT_H
#define CAMEO_FRONTEND_IMPORT_H

#include "base/diag.h"
#include "base/file.h"
#include "ir/graph.h"

// What a file may cost. Memory is what it takes beside the mapping: at most max_memory bytes, and
// at most 256 MiB and 32 times the file's size.
typedef struct ImportLimits {
    uint32_t max_depth;    // messages inside each other
    uint64_t max_nodes;    // of all graphs together
    uint64_t max_metadata; // bytes of keys and values
    uint64_t max_memory;
} ImportLimits;

ImportLimits import_limits_default(void);   // 100; 4,000,000; 1 GiB; 4 GiB
ImportLimits import_limits_untrusted(void); // 100; 1,000,000; 64 MiB; 4 GiB

// The model in `bytes`, which must stay mapped as long as the model is used: strings and weights
// are views of them. Everything in the file is in the model. NULL with a diagnostic if the bytes
// are no ONNX model (rule "") or a limit is exceeded (rule "SE006").
//
// Names become values: a name of the graph first, then of the graphs around it; the place of the
// definition does not matter. A name that nothing defines is a value with DEF_NONE. Of several
// definitions in one graph the first counts for uses, the others are values of the same name that
// nothing uses. Nodes that are out of order are sorted (model_sort).
Model *import_onnx(Arena *a, const char *path, const FileView *bytes, const ImportLimits *limits,
                   Diags *diags);

#endif
