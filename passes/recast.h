// Many numbers as another dtype.
#ifndef CAMEO_PASSES_RECAST_H
#define CAMEO_PASSES_RECAST_H

#include "ir/dtype.h"

// `count` elements as they are in memory (DTypeInfo.bytes each, `at` at any alignment) as those of
// another dtype: bit for bit what scalar_store makes of what scalar_cast gives, not saturating, of
// what scalar_load reads. No strings.
void recast(DType from, DType to, const void *at, uint64_t count, void *out);

#endif
