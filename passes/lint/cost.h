// What a run costs on a target, estimated from bytes and operations.
#ifndef CAMEO_PASSES_LINT_COST_H
#define CAMEO_PASSES_LINT_COST_H

#include "passes/lint/lint.h"

enum { COST_UNKNOWN_DIM = 16 }; // what a dim that is not known counts as where bytes are compared

// The elements of a value, a dim that is not known counting as `unknown`; of an unknown rank 1.
double cost_elements(const Model *m, ValueId v, double unknown);

// Is a finding about Casts worth a word, that convert so many bytes too much where the node runs
// once? Below the rule's "min-bytes" a run, starting a node takes longer than what it does: nothing
// is said then unless the rule was asked for by its id.
bool cost_worth_telling(const Lint *l, const char *rule, NodeId node, double bytes);

// What a run takes longer if the nodes marked (by node id) compute in float32 instead of `from`: a
// share of the time it takes, Casts with it, on the target of cameo.yaml or --target, else
// cpu-x86-64. Bytes by the target's bandwidth, products by its arithmetic, dims that are not known
// 1. Negative: the target's speed is not known.
double cost_of_widening(Lint *l, const bool *in, DType from);

#endif
