// Convolutions of pixels whose results are planes of float32, int32 or bfloat16: they stand in
// place of the sums of a piece first, by functions of rows where there are such, and are turned
// from there.
#ifndef CAMEO_CODEGEN_CPU_PIXEL_PLANES_H
#define CAMEO_CODEGEN_CPU_PIXEL_PLANES_H

#include "codegen/cpu/pixel_conv.h"

// What is done to a piece behind the loops over its places and channels.
typedef struct PixelPlanes {
    int64_t apart;    // elements from channel to channel of y
    bool halves;      // they are bfloat16
    const char *rows; // "silu" or "sigmoid", which what stands there becomes before; NULL: neither
} PixelPlanes;

// Could such a convolution end in `store`, of a value in planes? channel: whose loop the channels
// of that are.
bool pixel_planes_fit(Module *mod, const PixelConv *c, const Stmt *store, LoopId channel);
// Lets `store`, which is of y, go to the sum at `at` instead, mod's own; NULL: y is no such value,
// and nothing is changed.
const PixelPlanes *pixel_planes_of(Module *mod, const PixelConv *c, Index at, Stmt *store);
// Of places low .. high of a row; n[1] and lane are bound to the first.
void pixel_planes_print(Printer *p, const Conv *conv);

#endif
