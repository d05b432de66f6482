// What numbers lose where they are stored as another dtype: one pass over them as they lie in
// memory.
#ifndef CAMEO_PASSES_LOSSES_H
#define CAMEO_PASSES_LOSSES_H

#include "ir/dtype.h"

typedef struct Losses {
    uint64_t inexact;  // have no number of the dtype that equals them; of NaN, no NaN
    uint64_t infinite; // of these, finite ones that become infinite
} Losses;

// Of `count` floats or integers of one dtype at `at`, at any alignment, stored as floats or
// integers of another one, each rounded to nearest. `packed`: those of fewer than 8 bits stand
// several to a byte, the first in its low bits, else each has a byte; those of 6 bits always have.
Losses losses_of(DType from, DType to, const void *at, uint64_t count, bool packed);

#endif
