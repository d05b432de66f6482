// The ranks that the standard fixes for operands.
#ifndef CAMEO_IR_OPS_RANKS_H
#define CAMEO_IR_OPS_RANKS_H

#include "ir/registry.h"

// What is wrong with the ranks of a node's operands (all known), NULL if nothing is.
const char *rank_fault(const Model *m, const Node *n);
// The same for their kinds (tensor, sequence, optional, map), where they are known.
const char *kind_fault(const Model *m, const Node *n);

// Does the operator take one number as that input (a scalar, or a vector of one element)?
bool rank_wants_number(const Node *n, uint32_t input);

#endif
