// Dims of what a convolution reads.
#ifndef CAMEO_CODEGEN_CPU_CONV_DIMS_H
#define CAMEO_CODEGEN_CPU_CONV_DIMS_H

#include "codegen/cpu/conv.h"

enum { CONV_DIMS = 16 };

// The indices of a load and the dims that they are of, the outermost first.
typedef struct ConvDims {
    uint32_t rank;
    Index at[CONV_DIMS], dims[CONV_DIMS];
} ConvDims;

// Those of the load x, a dim that a Reshape joined cut in two where its index is at + size * rest
// with 0 <= at < size proved or said by the guard (NULL: none) of the sum: so that each of the n
// that are neighbours in y has a dim of its own. vars: all variables of the kernel and the sum.
// False: more dims than fit.
bool conv_dims(Printer *p, const Conv *c, const Expr *guard, uint32_t nvars, const LoopId *vars,
               ConvDims *d);

// A window of one place that moves by s sees every s-th element of x, as one that moves by one.
void conv_skip_between(Polys *polys, Conv *c);

// Where a sum has a guard and several variables that are in no dim with an n: those that stand
// alone in a dim of x outside of these slide windows in dims with one place, as the rows of a plane
// of two rows do that windows of two rows see. The first of n is 0 then.
void conv_whole_dims(Printer *p, Conv *c, const ConvDims *x);

// The place in y that all n together number.
Index conv_flat_place(Polys *polys, const Conv *c);

#endif
