// What surrounds the sums of a convolution in pixels of bytes, where it is one product and sum with
// constants of the channel, a residual of bytes or none, and quantisation by a step of one: done at
// once by runtime/cameo_pixel_bytes.h, from the sums to y.
#ifndef CAMEO_CODEGEN_CPU_PIXEL_BYTES_H
#define CAMEO_CODEGEN_CPU_PIXEL_BYTES_H

#include "codegen/cpu/pixel_conv.h"

// A byte that a float32 becomes: clip(round(clip(x, low, high)) + zero).
typedef struct ByteStep {
    DType dtype;
    int64_t zero;
    float low, high;
} ByteStep;

// Constants are tables of all channels; less may be 0, which is none.
typedef struct PixelBytes {
    Index place; // of sums
    BufferId scale, bias, less;
    const Expr *beside; // a number of each place, of which an image's lie side by side, and
    BufferId often;     // how often a channel's sum has it added; NULL, 0: nothing
    ByteStep y;
    // Where a residual is added, a load in pixels; else NULL, and the rest is not set.
    const Expr *added;
    ByteStep first;           // what the sum becomes before
    float factor, number, by; // first * factor + number + added * by
    bool last;                // first's product is added last
} PixelBytes;

// That form of what is stored, of a convolution whose block, lane, n and sums are set and which
// stores whole pixels of bytes, windows without a residual, the sum being read at `place`; NULL: it
// is another one.
PixelBytes *pixel_bytes_of(Module *mod, const PixelConv *c, const Stmt *store, Index place);
// What it reads beside the sums.
void pixel_bytes_uses(Module *mod, const PixelBytes *b, KernelUses *u);
// Declares `ends`, where block is bound.
void pixel_bytes_print_ends(Printer *p, const PixelConv *c);
// Declares it, and does it for the places low .. high of a row; n[1] and lane are bound to the
// first.
void pixel_bytes_print(Printer *p, const Conv *c);
// The same of units from .. to, and from registers, where the program's vectors multiply.
void pixel_bytes_print_fused(Printer *p, const Conv *conv, const char *from, const char *to);

#endif
