// Of values that have to be of one dtype and are not: which dtype the fewest sources contradict.
#ifndef CAMEO_PASSES_LINT_SIDES_H
#define CAMEO_PASSES_LINT_SIDES_H

#include "ir/graph.h"

typedef struct Sides Sides;

// The parts of an inferred model. A part is what has one dtype: values, and what makes and uses
// them, up to Casts and to operators that give another dtype. The result belongs to the arena.
Sides *sides_of(Model *m, Arena *a);

// The dtype that all of v's part fits but for one source: an initializer, constant, input, target
// of a Cast or declaration; one in a function's body is one for all calls. That source is the
// origin of what does not fit in the part. Where several dtypes are such, the one whose source
// comes first by the order of origins: it is of another dtype than the model's own, then of
// float64, then of fewer bytes, then the earliest. DT_NONE: no source alone mends the part.
DType sides_right(Sides *s, ValueId v);
#endif
