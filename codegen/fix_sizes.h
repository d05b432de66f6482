// Dims that the user fixes when compiling.
#ifndef CAMEO_CODEGEN_FIX_SIZES_H
#define CAMEO_CODEGEN_FIX_SIZES_H

#include "codegen/compile.h"

// Writes the sizes of --dim and --shape into the declared types. false with *error: no such dim or
// input, or a size that contradicts the declaration.
bool fix_sizes(Model *m, const CompileOptions *o, Str *error);

#endif
