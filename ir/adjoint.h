// Derivatives of kernels, backwards: from the adjoint of what they write to that of what they read.
#ifndef CAMEO_IR_ADJOINT_H
#define CAMEO_IR_ADJOINT_H

#include "ir/lower.h"

// Emits kernels that give d(sum of y)/d(x[i]) for every x[i], from the steps lowered so far between
// them; grads[i].buffer is 0 where y does not depend on x[i]. All of float dtype. false with
// not_supported said where a step between them has no derivative here.
bool adjoint_of_steps(Lower *l, Tensor y, uint32_t n, const Tensor *x, Tensor *grads);

// Between what: results and their adjoints (NULL: 1), and what is derived by. Tensors of buffer 0
// are left out.
typedef struct AdjointEnds {
    uint32_t ny;
    const Tensor *y, *seeds;
    uint32_t nx;
    const Tensor *x;
} AdjointEnds;

// The same of the steps from `first` on alone: grads[i] = sum_k d(seeds[k] . y[k])/d(x[i]).
bool adjoint_of_part(Lower *l, const Step *first, const AdjointEnds *ends, Tensor *grads);

#endif
