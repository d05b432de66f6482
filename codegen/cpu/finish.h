// What surrounds the sum of a convolution, where it is a linear function with constants of each
// channel of the output, clipped (a normalisation, a bias, a residual, an activation of the ReLU
// family):
//
//   y = min(max(scale[m] * sum + bias[m] + added, low), high)
//
// The scale goes into the weights when they are packed; the rest is done to the sums in registers.
// Any other function of scale[m] * sum + bias[m] and of what is added is a curve (curve.h).
#ifndef CAMEO_CODEGEN_CPU_FINISH_H
#define CAMEO_CODEGEN_CPU_FINISH_H

#include "codegen/cpu/curve.h"

enum { FINISH_VARS = 33 };

// The variables on which scale and bias may depend, and the channels that their extents give, the
// last variable the fastest.
typedef struct FinishVars {
    uint32_t n;
    LoopId var[FINISH_VARS];
    int64_t extent[FINISH_VARS];
    int64_t channels;
} FinishVars;

// What y is of the sum. scale and bias: of each channel, malloc'ed, the caller's.
typedef struct Finish {
    double *scale, *bias;
    const Expr *added;  // NULL: nothing
    double low, high;   // may be infinite
    const Curve *curve; // NULL: none; else what is done to scale * sum + bias and what is added
} Finish;

// false: what surrounds c's sum is something else, or there is nothing, and *f holds no memory.
// exact: only what rounds as the expression does, with no scale. adds: may something be added in
// registers?
bool finish_find(Printer *p, const Conv *c, const FinishVars *v, bool exact, bool adds, Finish *f);

#endif
