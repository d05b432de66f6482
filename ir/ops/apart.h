// What moves what an operator gives, of what moved its operands.
#ifndef CAMEO_IR_OPS_APART_H
#define CAMEO_IR_OPS_APART_H

#include "ir/graph.h"

struct Lower;

// Is there a formula for what the node gives? All its operands are needed then.
bool apart_has(const Node *n);
// Is that of its result in float64?
bool apart_is_wide(const Node *n);
// y = Apart(result, operands..., differences...): see APART_OP.
void lower_apart(struct Lower *l);

#endif
