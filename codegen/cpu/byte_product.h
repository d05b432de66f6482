// Products of matrices of bytes, by packed panels (runtime/cameo_bytes.h).
#ifndef CAMEO_CODEGEN_CPU_BYTE_PRODUCT_H
#define CAMEO_CODEGEN_CPU_BYTE_PRODUCT_H

#include "codegen/cpu/gemm.h"

// Is the product o, whose factors b are, one with constant columns of w? Then *b is filled and w
// packed. false with *error where weights cannot be read.
bool byte_product_find(Printer *p, const Override *o, Bytes *b, bool *found, Str *error);
// Has a program any product of bytes, or any convolution of them?
bool byte_products_any(const Step *s, bool convolutions);
// The calls and the epilogue, within loops over `outer`, the variables that are not the product's.
void byte_product_print(Printer *p, const Override *o, Bounds *outer);

#endif
