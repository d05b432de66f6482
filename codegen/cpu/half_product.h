// Products of bfloat16 by packed constants or, on a processor that has matrix registers, of two
// factors that are computed.
//
// Both factors stay as they are, in 16 bits. The sums of a block of rows and some columns go to
// scratch that stays in a cache; what surrounds them is done there, and its result is written once.
// Which kernels run, those of matrix registers (amx.h) or those of vectors (narrow.h), the program
// decides when it is started: both read the same panels.
#ifndef CAMEO_CODEGEN_CPU_HALF_PRODUCT_H
#define CAMEO_CODEGEN_CPU_HALF_PRODUCT_H

#include "codegen/cpu/processor.h"
#include "codegen/print_parts.h"

typedef struct Override Override;

typedef struct HalfProduct {
    BufferId scratch;   // sums, then rows of the first factor in the order of tiles
    bool computed;      // the second factor: packed while the program runs
    int64_t columns;    // of the sums of a block, without matrix registers
    bool lies;          // rows of the first factor are read where they lie
    LoopId m0, n0, row; // where the block begins; columns of the sums while the program runs
    const Expr *value;  // the sum, read from scratch
} HalfProduct;

// For the product o, whose second factor o->narrow packed; NULL: it is computed.
HalfProduct *half_product_new(Module *mod, const Override *o);
// Two factors that are computed: is it worth it on this processor?
bool half_product_fits(Polys *polys, const Override *o, const Processor *cpu);
void half_product_uses(Module *mod, const Override *o, KernelUses *u);
// The kernel; `outer`: loops around the product.
void half_product_print(Printer *p, const Override *o, Bounds *outer);
// Has any kernel of these steps one? Does any ask for matrix registers, a convolution too?
bool half_products_any(const Step *s);
bool half_registers_any(const Step *s);

#endif
