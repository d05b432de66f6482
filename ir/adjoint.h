// Derivatives of kernels, backwards: from the adjoint of what they write to that of what they read.
#ifndef CAMEO_IR_ADJOINT_H
#define CAMEO_IR_ADJOINT_H

#include "ir/lower.h"

// Emits kernels that give d(sum of y)/d(x[i]) for every x[i], from the steps lowered so far between
// them; grads[i].buffer is 0 where y does not depend on x[i]. All of float dtype. false with
// not_supported said where a step between them has no derivative here.
bool adjoint_of_steps(Lower *l, Tensor y, uint32_t n, const Tensor *x, Tensor *grads);

#endif
