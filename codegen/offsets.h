// Where a kernel stores behind many parts of open lengths, as Concat's later ones do, the sum of
// these lengths is a dim of its own, defined in front of the kernel by the one before it: texts
// grow with the parts, not with their square, and kernels of equal parts are one function.
#ifndef CAMEO_CODEGEN_OFFSETS_H
#define CAMEO_CODEGEN_OFFSETS_H

#include "ir/kernel.h"

// Once nothing is proved of indices any more: of such a dim only its sign is known.
void name_offsets(Module *mod);

#endif
