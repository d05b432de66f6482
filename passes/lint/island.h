// Sets of nodes that run in another float dtype.
#ifndef CAMEO_PASSES_LINT_ISLAND_H
#define CAMEO_PASSES_LINT_ISLAND_H

#include "ir/registry.h"

// May the node run in t instead of its small float dtype (or of float32): do the schema's type
// variables allow it for all of its operands and results that have that dtype? Of integers,
// operands that may be of one dtype only (axes) stay as they are.
bool island_allows(const Model *m, NodeId n, DType from, DType t);

// The nodes marked (by node id) take and give t where they took and gave `from`: one Cast for each
// value that comes in, one back for each that goes out. How many Casts.
uint32_t island_run(Model *m, const bool *in, DType from, DType t);
// How many Casts that would be; of them those of constants, which a runtime does once.
uint32_t island_casts(const Model *m, const Uses *uses, const bool *in, DType from);
uint32_t island_constant_casts(const Model *m, const Uses *uses, const bool *in, DType from);

#endif
