// Which integers count: sizes, positions, and what is computed of them.
#ifndef CAMEO_PASSES_COUNTED_H
#define CAMEO_PASSES_COUNTED_H

#include "passes/ties.h"

// By value: is it an integer that Shape, Size, NonZero or Range gives, or computed of such and of
// constants alone? Of a's memory. Results of If, Loop and Scan are none.
const bool *counted_values(const Ties *t, Arena *a);

#endif
