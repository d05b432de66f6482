// What convolutions and transposed ones share beside their windows.
#ifndef CAMEO_IR_OPS_CONV_H
#define CAMEO_IR_OPS_CONV_H

#include "ir/ops/common.h"

// Do the channels divide into groups? group > 0. An error of the node where they do not.
bool conv_groups_fit(Infer *s, Index channels, int64_t group);

// The bias of channel k, operand i, as t; NULL if there is none.
const Expr *conv_bias_at(Lower *l, uint32_t i, Index k, DType t);

#endif
