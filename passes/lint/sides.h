// Of values that have to be of one dtype and are not: which dtype the fewest sources contradict.
#ifndef CAMEO_PASSES_LINT_SIDES_H
#define CAMEO_PASSES_LINT_SIDES_H

#include "ir/graph.h"

typedef struct Sides Sides;
typedef VEC(ValueId) ValueList;

// The parts of an inferred model. A part is what has one dtype: values, and what makes and uses
// them, up to Casts and to operators that give another dtype. The result belongs to the arena.
Sides *sides_of(Model *m, Arena *a);

// The dtype that all of v's part fits but for the fewest sources: initializers, constants, inputs,
// targets of Casts, declarations; one in a function's body is one for all calls. Those sources are
// the origin of what does not fit in the part. Where several dtypes are such, the one whose first
// source comes first by the order of origins: it is of another dtype than the model's own, then of
// float64, then of fewer bytes, then the earliest. *count: how many sources. DT_NONE: it would take
// more than four, or several with an input or an output among them.
DType sides_right(Sides *s, ValueId v, uint32_t *count);

// Adds the sources of v's part that are not of dtype t, of a function's body those of its first
// call, and what is declared as another.
void sides_against(Sides *s, ValueId v, DType t, ValueList *sources, ValueList *said);
#endif
