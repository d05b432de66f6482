// A model with some of its values in another precision, for trying what is advised.
#ifndef CAMEO_PASSES_TRIAL_H
#define CAMEO_PASSES_TRIAL_H

#include "base/diag.h"
#include "ir/graph.h"

// Values are named as in reports (value_shown_name).
typedef struct Trial {
    DType round;    // every value of `all` is rounded to it and computed with as it was; NONE: none
    const Str *all; // what is rounded: inputs, weights, results of nodes
    uint32_t nall;
    const Str *wide; // not rounded; where nothing is, their nodes compute in float64
    uint32_t nwide;
} Trial;

// Rewrites a typed and sorted model; it stays so. A node that has no float64 stays as it is.
// Returns how many values were changed.
uint32_t trial_apply(Model *m, const Trial *t);

#endif
