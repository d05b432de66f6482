// The passes over kernels: what a lowered model goes through before it is printed.
#ifndef CAMEO_CODEGEN_KERNEL_PASS_H
#define CAMEO_CODEGEN_KERNEL_PASS_H

#include "passes/pass.h"

// The rows of passes.def that work on Model.kernels, in its order; ends with a NULL name. `lower`
// makes the kernels.
extern const Pass kernel_passes[];

// A pass of either kind by name, or NULL.
const Pass *any_pass_find(Str name);

#endif
