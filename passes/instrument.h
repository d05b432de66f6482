// Every value of the main graph as an output.
#ifndef CAMEO_PASSES_INSTRUMENT_H
#define CAMEO_PASSES_INSTRUMENT_H

#include "ir/graph.h"

// Adds, behind the outputs that the model has, the results of its nodes in order, with their types
// as far as they are known. Needs inferred types. Returns how many were added; *left: results of
// the main graph whose type is not known, and those of nodes in branches and bodies.
uint32_t instrument_model(Model *m, uint32_t *left);

// What is known of a value's type, to be declared; NULL: nothing. In the model's arena.
Type *instrument_type(Model *m, const Value *v);

// By value: equal for values of two models that are computed in the same way from inputs at the
// same place and constants of the same shape, casts between floats left out. For models whose names
// differ. In `scratch`.
const uint64_t *structure_of(const Model *m, Arena *scratch);

#endif
