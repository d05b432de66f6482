// --tuning of compile and run: a row that `cameo tune` measured.
#ifndef CAMEO_TOOLS_TUNING_H
#define CAMEO_TOOLS_TUNING_H

#include "codegen/compile.h"
#include "tools/tool.h"

#define TUNING_DOC "a row that `cameo tune` printed, for the processor of --cpu"

// Reads the row; false, with the fault printed.
bool tuning_take(const Tool *t, const char *path, CompileOptions *o);

#endif
