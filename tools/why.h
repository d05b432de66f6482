// Why a value is what it is, for commands that tell it.
#ifndef CAMEO_TOOLS_WHY_H
#define CAMEO_TOOLS_WHY_H

#include "ir/graph.h"

enum { WHY_OF_DTYPE, WHY_OF_DEVICE, WHY_OF_SHAPE };

// The value of that name in the main graph, what it holds and, last, the functions that it calls;
// 0: none. The model has to be prepared (lint_prepare).
ValueId why_find(const Model *m, const char *name);

// From a value back to where its dtype, device or shape (WHY_OF_*) began, a line each.
void why_chain(Model *m, ValueId v, int what, Buf *out);

#endif
