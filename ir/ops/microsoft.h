// Domain com.microsoft: what its families share, and the shape rules that they borrow.
//
// Its operators are compositions of the standard's: their lowerings are parts (ir/lower.h) on
// temporaries that fusion takes away again.
#ifndef CAMEO_IR_OPS_MICROSOFT_H
#define CAMEO_IR_OPS_MICROSOFT_H

#include "ir/ops/common.h"

#define MS "com.microsoft"

// x with its dims in another order: dim i of the result is dim perm[i] of x. A view.
Tensor ms_permuted(Lower *l, Tensor x, const uint32_t *perm);
// A view between channels in the last dim and channels in dim 1.
Tensor ms_channels_first(Lower *l, Tensor x);
void ms_store_channels_last(Lower *l, Tensor y, Tensor x);
// A temporary of the shape of x.
Tensor ms_like(Lower *l, const char *name, DType t, Tensor x);
// x in this dtype: x itself where that is its own.
Tensor ms_cast(Lower *l, Tensor x, DType t);
void ms_cast_to(Lower *l, Tensor y, Tensor x);
// y = alpha * x.
void ms_scale(Lower *l, Tensor y, Tensor x, double alpha);

// Shape rules of the standard that apply here too.
void infer_matmul(Infer *s);
void infer_gemm(Infer *s);
void infer_conv_float(Infer *s);
// The shape of a product of a (rank ra > 0) and b, for output 0.
void infer_product_of(Infer *s, int32_t ra, const Index *a, int32_t rb, const Index *b);
// A pool's result, channels in dim 1; false with an error where attributes do not fit.
bool infer_pool_of(Infer *s, uint32_t rank, const Index *x, Index *y);

#endif
