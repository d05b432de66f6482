// Convolutions on matrix registers, or vectors that multiply words, of values that lie in pixels
// (layouts.h), by runtime/cameo_pixel_conv.h: nothing is copied, and what surrounds the sums is
// done to those of 32 places at a time, by vectors in registers (runtime/cameo_pixel_fused.h).
#ifndef CAMEO_CODEGEN_CPU_PIXEL_CONV_H
#define CAMEO_CODEGEN_CPU_PIXEL_CONV_H

#include "codegen/cpu/byte_conv.h"

enum { PIXEL_BYTES = 64, PIXEL_PANEL = 32 }; // of a pixel; channels of y in a panel of weights

// min(max(sum * scale + bias + added * by, low), high), or silu(sum * scale + bias) + added; scale,
// bias, by: tables of channels; 0: 1, 0, 1. added: a load in pixels; NULL: nothing.
typedef struct PixelFinish {
    bool silu;
    BufferId scale, bias, by;
    const Expr *added;
    float low, high;
} PixelFinish;

// Sizes of such a convolution, innermost dims last.
typedef struct PixelConv {
    DType dtype;      // of x: bfloat16, uint8 or int8
    bool windows;     // each channel by its own window (depthwise), or each group of few
    int64_t width;    // channels of such a group (pixel_byte_groups.h); 0: one
    int64_t few;      // lanes of a pixel of x's copy (pixel_few.h); 0: x lies in pixels
    int64_t given;    // channels that such an x has
    BufferId rounded; // what it was, where it is the input that was rounded to that; 0: it is not
    bool gathered;    // x's places are copied for each step of k (pixel_gather.h)
    BufferId copy;    // of one of the two, or what is made of all tiles (pixel_winograd.h)
    LoopId channel;   // of y, before it became block and lane
    int64_t planes, lines, across; // of x with its border: pixels of `lanes` channels
    int64_t in[2], out[2];         // without border
    int64_t channels, filled;      // of y, and with those that fill up its last block
    int64_t taps[2], stride[2], dilation[2], pad[2];
    int64_t border;  // that x has
    int64_t columns; // channels of y in a block
    int64_t words;   // of a pixel of x's last plane, or of few channels, that hold something
    bool anywhere;   // rows of products lie anywhere, nothing is gathered for them
    int64_t overlap; // steps of k from which on a turn is multiplied beside the one before
    bool overlaps;   // it has so many
    int64_t tiles;   // of a block, where it goes by tiles (pixel_winograd.h); 0: directly
    int64_t tile_blocks;
    int64_t part; // lanes of one pixel that it makes, all its channels; 0: whole pixels
    BufferId packed, sums;
    LoopId block, lane, n[2], at;   // variables of y; where sums of a row begin
    Index start;                    // of x, by the variables around
    const int64_t *zeros;           // of windows of bytes, whose signed weights less these are sums
                                    // of two bytes; NULL: there are none
    bool wide;                      // what operations of bfloat16 hand on may be float32
    const Stmt *store;              // what is done to a sum
    bool halves;                    // it goes back there, and is rounded for a piece at once
    const PixelFinish *finish;      // unless it is this, which goes to y
    const struct PixelBytes *ends;  // or, of bytes, this
    const struct PixelPlanes *flat; // or y is planes, to which a piece is turned; NULL: it is not
} PixelConv;

// Channels that a pixel of this dtype holds; 0: there are no such pixels.
int64_t pixel_lanes(DType t);
// Could it be one, y lying in pixels and x too, unless `few`? Fills sizes, without those that a
// border decides.
bool pixel_conv_fits(Printer *p, const Conv *c, const ByteWeights *w, const Processor *cpu,
                     bool few, PixelConv *to);
// Where the tables of its channels are read.
Index pixel_conv_channel(Module *mod, const PixelConv *c);
// A table of float32 for all channels that holds e, which is such a table or made of numbers alone;
// 0: e is neither, or a NaN.
BufferId pixel_conv_table(Module *mod, const PixelConv *c, const Expr *e);
// The border that x must have for it.
int64_t pixel_conv_border(const PixelConv *c);
// Packs the weights, to->columns and filled being set; false with *error where they cannot be read.
bool pixel_conv_pack(Module *mod, const Conv *c, const ByteWeights *w, PixelConv *to, Str *error);
// Makes the kernel one: its body, whose store and sum stand in `c` and whose x lies in pixels with
// to->border. Weights of bytes are packed before. to->block, lane and n are set. Constants of a
// channel become tables.
void pixel_conv_finish(Module *mod, Kernel *k, Conv *c, PixelConv *to);

void pixel_conv_uses(Module *mod, const Conv *c, KernelUses *u);
// Channels of a block that are there, in whole vectors. Sums of others are what is stored of them:
// nobody reads these, or they were made 0 and pixel_finish_fills holds.
int64_t pixel_conv_lanes(const PixelConv *c);
// What is done to the sums of places low .. high of a row: block, n[0] and at are declared.
void pixel_conv_print_piece(Printer *p, const Conv *c);
// Where y lies, and what is added (NULL: nothing), as `name`: the first place of a block, and bytes
// from line to line; `more` stands behind them. Variables of y are 0 until the end of it.
void pixel_conv_begin_y(Printer *p, const Conv *conv, const Expr *added, const char *name,
                        const char *more);
void pixel_conv_end_y(Printer *p, const Conv *conv);
// Around what finishes sums in registers (runtime/cameo_pixel_fused.h): declares `groups` of those
// that are called `name`, and `fuse`, where y and what is added to it begin; block 0 is bound.
void pixel_conv_begin_fused(Printer *p, const Conv *conv, const char *name);
void pixel_conv_end_fused(Printer *p, const Conv *conv);
void pixel_conv_print(Printer *p, const Kernel *k, const Conv *c);
// A value of which the kernel reads no element but the one whose place it stores to next, which may
// therefore lie where y does; 0: there is none.
BufferId pixel_conv_replaces(Module *mod, const Conv *c);
// The kinds of tiles (amx.h), 1 << AmxKind each, that kernels of these steps use.
uint32_t pixel_convs_kinds(const Step *s);

#endif
