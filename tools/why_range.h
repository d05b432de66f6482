// cameo why --range: where the bounds of a value come from.
#ifndef CAMEO_TOOLS_WHY_RANGE_H
#define CAMEO_TOOLS_WHY_RANGE_H

#include "ir/graph.h"

// Prints the chain of each bound of v on stdout: of a prepared model (lint_prepare), with what was
// measured of it (Model.measured).
void why_range(Model *m, ValueId v);

#endif
