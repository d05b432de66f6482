// Operators of our own that compare a value with its float64 shadow (passes/shadow.h).
#ifndef CAMEO_IR_OPS_SHADOW_H
#define CAMEO_IR_OPS_SHADOW_H

#include "ir/graph.h"

#define SHADOW_DOMAIN "cameo"
// y = x in float64. Never folded: a weight stays as narrow as it is.
#define WIDEN_OP "Widen"
// numbers, apart = Drift(y, Y, L): see runtime/cameo_drift.h; `apart` may be left out. Attributes:
// dtype, whose units in the last place are meant; decides, 1 where a result other than Y's is a
// decision that flipped; given, a DriftGiven. y alone is exact.
#define DRIFT_OP "Drift"
// Y = Beside(y, apart) in float64, with the error of apart's rounding to float32.
#define BESIDE_OP "Beside"
// Y - y of y = f(x) in float32 is Apart<of = f>(y, x..., X - x...), in which the differences of
// operands that are exact are absent; y is float64's where apart_is_wide (ir/ops/apart.h).
// Apart<of = "Identity">(x, x, ) is what that is of an exact x.
#define APART_OP "Apart"
// numbers = DriftJoin(numbers of each iteration)
#define DRIFT_JOIN_OP "DriftJoin"
// numbers = Measure(y): see runtime/cameo_measure.h; numbers = MeasureJoin(numbers of each
// iteration).
#define MEASURE_OP "Measure"
#define MEASURE_JOIN_OP "MeasureJoin"
// What stands for Y and L in a Drift, in float32 where differences are meant.
typedef enum DriftGiven {
    DRIFT_IS_SHADOW,  // Y and, where it is there, L
    DRIFT_IS_BROUGHT, // Y, Y - L
    DRIFT_IS_LOCAL,   // L, Y - L
    DRIFT_IS_APART,   // Y - y; L is y
    DRIFT_IS_MADE     // L; Y is L
} DriftGiven;
// May Measure read such elements?
bool dtype_is_measured(DType t);

bool node_is_widen(const Node *n);

#endif
