// What a kernel's definition does, counted: arithmetic operations and bytes that have to move.
#ifndef CAMEO_CODEGEN_COUNT_H
#define CAMEO_CODEGEN_COUNT_H

#include "ir/kernel.h"

// What a kernel's sums multiply, as cameo_factors of runtime/cameo_model.h has it: processors have
// instructions for each.
typedef enum Factors { FACTORS_FLOAT32, FACTORS_BFLOAT16, FACTORS_BYTES } Factors;

// Polynomials in the module's dims; NULL where the count depends on data.
typedef struct KernelCount {
    // Additions, multiplications, comparisons' minima and maxima and functions of floats, and sums
    // of products of bytes, each one operation: a product of matrices has 2*M*N*K. An expression
    // counts once for each value of the loop variables that it depends on. Taps in a border count.
    Index operations;
    Factors factors;
    // Each element of a buffer that is read, and each that is written, once.
    Index bytes;
} KernelCount;

// Of all kernels, by Kernel.id; in `a`.
const KernelCount *module_counts(Module *mod, Arena *a);

#endif
