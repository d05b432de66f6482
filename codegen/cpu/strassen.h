// Convolutions of float32 in seven products of matrices for eight, by Strassen's algorithm in
// Winograd's form (runtime/cameo_strassen.h), where that is expected to be quicker.
#ifndef CAMEO_CODEGEN_CPU_STRASSEN_H
#define CAMEO_CODEGEN_CPU_STRASSEN_H

#include "codegen/cpu/conv.h"
#include "codegen/cpu/tiles.h"

// Sets c->cost[0] and c->cost[4] of a convolution that is neither by tiles nor by terms, and
// c->sevens where that costs less. rows, k: of its weights, whose panels stay as they are.
void strassen_choose(Conv *c, const ConvChoice *how, int64_t rows, int64_t k);
// Elements of the panels of a block, with room for what is multiplied beside them.
int64_t strassen_panel(int64_t k);
// The rms error of y relative to its rms that is not exceeded for factors without order.
double strassen_error(int64_t k);
// The products of two tiles' rows and columns, cameo_strassen_ROWS_VECTORS; after the strips.
void strassen_print_tile(Buf *out, const TileTarget *t);

#endif
