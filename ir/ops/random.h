// Operators that draw random numbers.
#ifndef CAMEO_IR_OPS_RANDOM_H
#define CAMEO_IR_OPS_RANDOM_H

#include "ir/graph.h"

// Does the node draw, or may it? In a loop every iteration draws anew, so that it is not constant
// where its operands are.
bool node_is_random(const Node *n);

#endif
