// Calls of the model's own functions replaced by their bodies.
#ifndef CAMEO_PASSES_INLINE_FUNCTIONS_H
#define CAMEO_PASSES_INLINE_FUNCTIONS_H

#include "base/diag.h"
#include "ir/graph.h"

// Inlines every call in the main graph and the graphs inside it; copies know the node and the call
// that they were made from (Node.copy_of, Node.call). False with a finding: a function calls itself
// (ST002), more than max_copies nodes are made (SE006), or, unless any_opset, a function imports
// another version of an opset than the model does. With any_opset copies keep their function's
// versions (opset_of): such a model is for looking at only, a file could not say it.
bool inline_functions(Model *m, Diags *diags, bool any_opset, uint32_t max_copies);

#endif
