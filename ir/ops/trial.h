// Operators of our own that change a value, or leave it, as the running program is told
// (passes/trial.h).
#ifndef CAMEO_IR_OPS_TRIAL_H
#define CAMEO_IR_OPS_TRIAL_H

#include "ir/graph.h"

// y = RoundTo(x, modes): x rounded to what modes[at] says, a TrialMode, and in x's dtype again.
// Attributes: at; to, where that is float64 x stays as it is: a shadow is never rounded.
#define ROUND_TO_OP "RoundTo"
// y = Choose(a, b, modes): b where modes[at] is TRIAL_WIDE, else a; both of one shape and dtype.
#define CHOOSE_OP "Choose"

// What is done to a value.
typedef enum TrialMode {
    TRIAL_OWN, // nothing
    TRIAL_F16, // it is rounded to that dtype and computed with as it was
    TRIAL_BF16,
    TRIAL_F32,
    TRIAL_WIDE // its node computes in float64
} TrialMode;

#endif
