// Operators of our own that compare a value with its float64 shadow (passes/shadow.h).
#ifndef CAMEO_IR_OPS_SHADOW_H
#define CAMEO_IR_OPS_SHADOW_H

#include "ir/graph.h"

#define SHADOW_DOMAIN "cameo"
// y = x in float64. Never folded: a weight stays as narrow as it is.
#define WIDEN_OP "Widen"
// numbers, apart = Drift(y, Y, L): see runtime/cameo_drift.h; `apart` may be left out. Attributes:
// dtype, whose units in the last place are meant; decides, 1 where a result other than Y's is a
// decision that flipped; brought, 1 where Y - L is given in float32 instead of L, 2 where L is
// given instead of Y too.
#define DRIFT_OP "Drift"
// Y = Beside(y, apart) in float64, with the error of apart's rounding to float32.
#define BESIDE_OP "Beside"
// numbers = DriftJoin(numbers of each iteration)
#define DRIFT_JOIN_OP "DriftJoin"
// numbers = Measure(y): see runtime/cameo_measure.h; numbers = MeasureJoin(numbers of each
// iteration).
#define MEASURE_OP "Measure"
#define MEASURE_JOIN_OP "MeasureJoin"
// May Measure read such elements?
bool dtype_is_measured(DType t);

bool node_is_widen(const Node *n);

#endif
