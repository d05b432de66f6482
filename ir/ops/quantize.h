// What operators on quantised tensors share.
#ifndef CAMEO_IR_OPS_QUANTIZE_H
#define CAMEO_IR_OPS_QUANTIZE_H

#include "ir/ops/common.h"

// (e - point) * scale in float32. A parameter of more than one element has one for each `along`;
// `point` may be absent.
const Expr *dequantize_element(Lower *l, const Expr *e, Tensor scale, Tensor point, Index along);
// saturate(round(e / scale) + point) of a float32 e, ties to even; parameters of one element.
// Without a scale: e as it is.
const Expr *quantize_element(Lower *l, const Expr *e, Tensor scale, Tensor point, DType to);

#endif
