// Shapes of lowerings that many operators share.
#ifndef CAMEO_IR_OPS_COMMON_H
#define CAMEO_IR_OPS_COMMON_H

#include "ir/lower.h"

// y[o] = f(x_0[o], x_1[o] ...) over all inputs, two at a time from the left, broadcast.
void lower_variadic(Lower *l);
// As lower_binary, for operators whose result is bool.
// The type that sums and means of t are taken in: float32 for narrower floats, else t.
DType accumulator(DType t);
// Reads the whole of a small integer attribute or input as axes of `rank`, normalised; false if
// unknown.
bool axes_of(Lower *l, uint32_t i, const char *attr, uint32_t rank, uint32_t *axes, uint32_t *n);
// 2^x with x an integer constant, and constants of a dtype from a double.
const Expr *sigmoid(Lower *l, const Expr *x);
const Expr *erf_(Lower *l, const Expr *x);
const Expr *abs_(Lower *l, const Expr *x);

// y = x in y's dtype, strings too.
void cast_tensor(Lower *l, Tensor y, Tensor x, bool saturate);

#endif
