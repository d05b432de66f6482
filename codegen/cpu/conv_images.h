// Convolutions of a batch of small planes: places of all images are the columns of one product, so
// that weights are read once and panels are full.
#ifndef CAMEO_CODEGEN_CPU_CONV_IMAGES_H
#define CAMEO_CODEGEN_CPU_CONV_IMAGES_H

#include "codegen/cpu/conv.h"

// Is `all`, whose first n numbers images, less work than `one` for each image? rows, k: of the
// weights of a group.
bool conv_images_worth(Polys *polys, const Conv *one, const Conv *all, const ConvChoice *how,
                       int64_t rows, int64_t k);
// Are Winograd's tiles of each plane, as `one` has them, less work than all places together, where
// the first n of `all` numbers planes?
bool conv_planes_worth(const Conv *one, const Conv *all, const ConvChoice *how, int64_t rows,
                       int64_t k);
// Moves the sums of rows m0 .. m1 and columns n0 .. n1 to y, with what is added to them.
void conv_images_print(Printer *p, const Conv *c, const char *y);

#endif
