// The verifier of the graph IR.
#ifndef CAMEO_PASSES_VERIFY_H
#define CAMEO_PASSES_VERIFY_H

#include "base/diag.h"
#include "ir/graph.h"

// Are ids in range, definitions consistent, and graphs trees? A fault is a bug of a pass, reported
// as an error of rule "VERIFY"; what a model's author can get wrong (dangling names, cycles) is no
// fault here.
bool verify_model(const Model *m, Diags *diags);

#endif
