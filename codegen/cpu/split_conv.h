// Convolutions of float32 by three terms of bfloat16 for each number, on matrix registers
// (runtime/cameo_split_conv.h), where that is expected to be quicker.
#ifndef CAMEO_CODEGEN_CPU_SPLIT_CONV_H
#define CAMEO_CODEGEN_CPU_SPLIT_CONV_H

#include "codegen/cpu/conv.h"

// Sets c->split, c->cost[3], c->panel and c->shared, and then c->tile and c->line to 0, where terms
// cost less than the form that c has. rows, k: of its weights. Which factor is taken apart first,
// and stays in the second cache: weights where columns of y are shared, x where rows are.
void split_conv_choose(Module *mod, Conv *c, const ConvChoice *how, int64_t rows, int64_t k);
// The processor's `terms` of which so many cycles of a convolution without a border come, its
// weights being taken apart first; 0: they are too few.
double split_conv_rate(const Processor *t, double rows, double k, double n, double cycles);
// The rms error of y relative to its rms that is not exceeded for factors without order
// (tests/models/split.py).
double split_conv_error(const Conv *c);
// Where the weight of row i is, of value `at` of k, in a block of rows times k of them.
int64_t split_conv_at(int64_t rows, int64_t k, int64_t i, int64_t at);
// Panels of TILE_ROWS rows, and values of k, with those that fill them up where it is split.
void split_conv_whole(const Conv *c, int64_t *panels, int64_t *k);
void split_conv_print(Printer *p, const Kernel *k, const Conv *c);

#endif
