// A model whose values can be tried in another precision: which of them, the running program is
// told.
#ifndef CAMEO_PASSES_TRIAL_H
#define CAMEO_PASSES_TRIAL_H

#include "base/diag.h"
#include "ir/graph.h"
#include "ir/ops/trial.h"

// What the further input of the module is called: uint8[n + 1], a TrialMode for each name, and one
// for all values from `fresh` on.
#define TRIAL_INPUT "cameo.trial"

// Values are named as in reports (value_shown_name): inputs, weights, results of nodes.
typedef struct Trial {
    const Str *names;
    uint32_t n;
    ValueId fresh; // values from this one on are not named; 0: there are none
    bool widens;   // TRIAL_WIDE may be said: results of nodes; else TRIAL_F16 to TRIAL_F32
} Trial;

// Rewrites a typed and sorted model; it stays so. What has no float64 stays as it is whatever its
// mode.
void trial_apply(Model *m, const Trial *t);

#endif
