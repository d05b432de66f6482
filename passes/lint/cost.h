// What a run costs on a target, estimated from bytes and operations.
#ifndef CAMEO_PASSES_LINT_COST_H
#define CAMEO_PASSES_LINT_COST_H

#include "passes/lint/lint.h"

// What a run takes longer if the nodes marked (by node id) compute in float32 instead of `from`: a
// share of the time it takes, Casts with it, on the target of cameo.yaml or --target, else
// cpu-x86-64. Bytes by the target's bandwidth, products by its arithmetic, dims that are not known
// 1. Negative: the target's speed is not known.
double cost_of_widening(Lint *l, const bool *in, DType from);

#endif
