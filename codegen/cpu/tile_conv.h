// Convolutions by tiles of a plane (winograd.h, runtime/cameo_winograd.h) in C, where tiles are so
// few that threads share rows of y.
#ifndef CAMEO_CODEGEN_CPU_TILE_CONV_H
#define CAMEO_CODEGEN_CPU_TILE_CONV_H

#include "codegen/cpu/conv.h"
#include "codegen/print_parts.h"

// What was expected of a window in a plane, and `form`; `sizes` are known.
void tile_conv_print_plan(Printer *p, const Conv *c);
// By one thread, sizes and form being known. False: the epilogue is left.
bool tile_conv_print_blocks(Printer *p, const Kernel *k, const Conv *c);
// As parts that threads share. work: of the whole of it (codegen/parts.h).
void tile_conv_print_parts(Printer *p, const Kernel *k, const Conv *c, Bounds *outer, Index work);

#endif
