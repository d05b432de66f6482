// Rewrites a model so that its outputs are what its values were: see runtime/cameo_measure.h.
#ifndef CAMEO_PASSES_MEASURE_H
#define CAMEO_PASSES_MEASURE_H

#include "base/diag.h"
#include "ir/graph.h"

// A value that is measured; the model's output of the same index holds its numbers, a row for each
// iteration of the outermost loop around it.
typedef struct MeasureValue {
    ValueId value;
    Str name;
    DType dtype;
    NodeId node; // 0: an input
} MeasureValue;

typedef struct MeasureReport {
    VEC(MeasureValue) values; // by output
} MeasureReport;

// Rewrites the model, which has been through pass_pipeline; types are not inferred again. Measured
// are tensors of numbers: inputs, what nodes give, and what bodies are given. false with a
// diagnostic: there is none.
bool measure_model(Model *m, Diags *diags, MeasureReport *report);

#endif
