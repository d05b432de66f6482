// Kernels that would be one function (codegen/repeats.h) but for numbers that are written in them,
// as the scales of equal layers are: such a number becomes an operand, a constant of one element.
#ifndef CAMEO_CODEGEN_ALIKE_H
#define CAMEO_CODEGEN_ALIKE_H

#include "ir/kernel.h"

// Once products are recognised: what is recognised may depend on a number being known.
void alike_module(Module *mod);

#endif
