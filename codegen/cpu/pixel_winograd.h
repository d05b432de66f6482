// Convolutions in pixels of bfloat16 by windows of 3 x 3 that move by one or two, in tiles of 2 x 2
// places (runtime/cameo_pixel_winograd.h): 16 or 25 products of a word instead of 36, where vectors
// multiply words and that is expected to be quicker. What is made of x, and of the windows in
// float64, is rounded to bfloat16 once more, so only a model whose float32 `--precision bf16` made
// bfloat16 goes so.
#ifndef CAMEO_CODEGEN_CPU_PIXEL_WINOGRAD_H
#define CAMEO_CODEGEN_CPU_PIXEL_WINOGRAD_H

#include "codegen/cpu/pixel_conv.h"

// The rms error of sums over their rms that is not exceeded for factors without order: two factors
// rounded to 8 bits, each 0.0016 of its size, times 5/3, by which the 25 products of a place weigh
// more than its 9. tests/models/pixel_winograd.py holds it.
#define PIXEL_WINOGRAD_ERROR 0.0042

// Chooses the form by cost, behind pixel_conv_finish: sets c->cost, c->tile and to->tiles. false:
// it is the direct one.
bool pixel_winograd_choose(Module *mod, Conv *c, PixelConv *to, const ConvChoice *how);
// Packs the windows; false with *error where they cannot be read.
bool pixel_winograd_pack(Module *mod, const Conv *c, const ByteWeights *w, PixelConv *to,
                         Str *error);

void pixel_winograd_print_begin(Printer *p, const Conv *conv);
// Products of a place, which would be 9.
int64_t pixel_winograd_products(const PixelConv *c);
// The numbers of tiles from .. to, of pixel_winograd_made in all, to to->copy: where it is there
// they are made before units. What one takes, in tenths of nanoseconds.
void pixel_winograd_print_make(Printer *p, const Conv *conv, const char *from, const char *to);
int64_t pixel_winograd_made(const PixelConv *c);
int64_t pixel_winograd_make_work(const PixelConv *c);
// The least number of units that a thread takes at once, of text that says what is worth it.
const char *pixel_winograd_grain(Printer *p, const char *grain);
// Units from .. to, with what surrounds their sums.
void pixel_winograd_print_units(Printer *p, const Conv *conv, const char *from, const char *to);
// Is there such a convolution?
bool pixel_winograd_any(const Step *s);

#endif
