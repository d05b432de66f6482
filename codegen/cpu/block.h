// What surrounds the sums of a product, done to a block of them while it is in a cache.
#ifndef CAMEO_CODEGEN_CPU_BLOCK_H
#define CAMEO_CODEGEN_CPU_BLOCK_H

#include "codegen/print_parts.h"

// Variables that say where the block begins, which its sums are read by. narrow: has it so few
// columns that runtime/cameo_gelu.h has room for a row of them?
typedef struct Block {
    LoopId m0, n0;
    bool narrow;
} Block;

// The loops of the epilogue for rows m0 .. m1 (one row if m is 0) and columns n0 .. n1, which are
// variables of C. n: the variables that the columns run over, outermost first.
void block_print_epilogue(Printer *p, Block b, const Stmt *epilogue, LoopId m, const LoopId *n,
                          uint32_t rank);

#endif
