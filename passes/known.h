// What a pass over the elements of a large constant found, kept as long as its model: each repair
// that is tried, and each rule behind it, asks anew. Copies of a model that read the same bytes
// (frontend/load.h) have it in common.
#ifndef CAMEO_PASSES_KNOWN_H
#define CAMEO_PASSES_KNOWN_H

#include "ir/graph.h"

// The place of what is known of `count` elements that lie at `at` until the model is closed, by
// their dtype and the one that they are looked at as (DT_NONE: none); it holds NULL as long as
// nobody looked. NULL: they are so few that nothing is kept. Valid until the next call.
const void **known_of(Model *m, const void *at, uint64_t count, DType t, DType as);
// In the same way the place of these elements as the dtype `as`, `count` of them in memory.
const void **known_as(Model *m, const void *at, uint64_t count, DType t, DType as);

// What something is called that was made of constants and is kept likewise.
const void **known_named(Model *m, Str name);

#endif
