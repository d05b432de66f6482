// How far the outputs of a model may be off, from the sensitivities of its values on calibration
// data (passes/sensitivity.h): what rule PR008 holds against the budgets.
#ifndef CAMEO_PASSES_ESTIMATE_H
#define CAMEO_PASSES_ESTIMATE_H

#include "base/arena.h"
#include "ir/dtype.h"

enum { ESTIMATE_PARTS = 3 };

// A node's part of the variance.
typedef struct EstimatePart {
    Str path; // escaped
    DType dtype;
    double share; // of 1
} EstimatePart;

// One output with a budget. Errors are rms of the error / rms of the output.
typedef struct Estimate {
    Str output;
    double sigma;    // how many standard deviations are meant
    double error;    // so many of them, on the worst data set
    double measured; // rms of the error against float64 on the data; negative: not known
    double budget;
    bool assumed;                       // some node on the way was taken as a whole
    EstimatePart parts[ESTIMATE_PARTS]; // the greatest first
    uint32_t nparts, others;            // nodes beside them
    double rest;                        // the others' share
    // Values whose nodes would keep the budget if they computed in float32, by name, and the error
    // that would be left. None: nothing in float16 or bfloat16 is to blame for enough of it.
    Str *widen;
    uint32_t nwiden;
    double widened;
} Estimate;

typedef struct EstimateSet {
    VEC(Estimate) all;
    uint32_t sets; // of data
} EstimateSet;

#endif
