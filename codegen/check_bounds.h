// Steps that compare the sizes of operands before a kernel uses them.
#ifndef CAMEO_CODEGEN_CHECK_BOUNDS_H
#define CAMEO_CODEGEN_CHECK_BOUNDS_H

#include "ir/kernel.h"

// Puts a check before each kernel for every dim that an index of its own loops might exceed.
void check_bounds(Module *mod);

#endif
