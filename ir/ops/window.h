// Sliding windows: what Conv, ConvTranspose and the pools share.
#ifndef CAMEO_IR_OPS_WINDOW_H
#define CAMEO_IR_OPS_WINDOW_H

#include "ir/ops/common.h"

typedef struct Window {
    uint32_t rank; // of the spatial part
    int64_t stride[MAX_RANK], dilation[MAX_RANK];
    Index size[MAX_RANK];   // of the kernel
    Index before[MAX_RANK]; // padding in front, in elements of x
    Index out[MAX_RANK];    // spatial dims of the result
} Window;

// Reads strides, dilations, pads, auto_pad and ceil_mode of a node whose input has spatial dims
// x[0..rank). false with *fault set to what is wrong.
bool window_of(Polys *p, const Node *n, uint32_t rank, const Index *x, const Index *size, Window *w,
               const char **fault);

// The attribute among strides, dilations, pads, output_padding and output_shape that does not fit a
// spatial rank, or NULL.
const char *window_fault(const Node *n, uint32_t rank);

// The place in x that tap r of output o reads: o * stride + r * dilation - before.
Index window_at(Lower *l, const Window *w, uint32_t i, Index o, Index r);

#endif
