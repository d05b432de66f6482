// The elements of constants: handed out one by one, or taken in one pass as they lie in memory.
#ifndef CAMEO_PASSES_ELEMENTS_H
#define CAMEO_PASSES_ELEMENTS_H

#include "ir/graph.h"

// A constant's elements, in order. Rules and passes that look at single elements ask for them here:
// a tensor's own fields say nothing before its payload was read.
typedef struct Elements {
    const unsigned char *at; // NULL: no constant of numbers or truths, or it cannot be read
    DType dtype;             // as it is stored; DT_NONE without elements
    uint64_t n;              // 0 without elements
    uint32_t rank;
    const int64_t *dims;
} Elements;

// Of a value that is known when compiling, or of a tensor (NULL: of none). The payload is read when
// first asked for; what lies in raw_data or a file in memory order stays where it is.
Elements elements_of(Model *m, ValueId v);
Elements elements_in(Model *m, TensorData *t);
Scalar element_scalar(const Elements *x, uint64_t i);
double element_at(const Elements *x, uint64_t i); // of integers beyond 2^53 the nearest double

// What one pass over a constant's elements finds.
typedef struct ConstantStats {
    bool read; // false: no numbers, or the payload cannot be read
    uint64_t count, nans, infinities, zeros;
    uint64_t subnormal;   // nonzero and below the least normal number of its dtype
    uint64_t flushed_f16; // nonzero, but 0 in float16 (at most 2^-25 in magnitude)
    uint64_t over_f16;    // finite, but infinite in float16 (65520 and more in magnitude)
    double lo, hi;        // of elements that are not NaN; lo > hi: none
    double least;         // magnitude of the least nonzero element; 0: none
    bool integer;         // all finite elements are integers
    uint8_t bits; // significant binary digits that the finite elements need; 64: more than 53
} ConstantStats;

// `count` elements of numbers or truths at `at`, at any alignment; `packed`: those of fewer than 8
// bits stand several to a byte, the first in its low bits, else each has a byte. Other dtypes:
// `read` is false.
void elements_measure(DType t, const void *at, uint64_t count, bool packed, ConstantStats *s);

// The same of elements that come in parts, in any order, while something else reads them too. Each
// part begins with a byte; packed ones end with one, but for the last of all.
typedef struct ElementsPass ElementsPass;
ElementsPass *elements_open(Arena *a, DType t, bool packed);
void elements_take(ElementsPass *p, const void *at, uint64_t count);
void elements_close(ElementsPass *p, ConstantStats *s);

#endif
