// Constant numbers, as rules about quantization read them.
#ifndef CAMEO_PASSES_LINT_QUANTIZED_H
#define CAMEO_PASSES_LINT_QUANTIZED_H

#include "ir/registry.h"

typedef struct Numbers {
    const unsigned char *at;
    DType dtype;
    uint64_t n; // 0: not a constant, or none that can be read
    uint32_t rank;
} Numbers;

// The elements of a value that is known when compiling.
Numbers numbers_of(Model *m, ValueId v);
double number_at(const Numbers *x, uint64_t i);

#endif
