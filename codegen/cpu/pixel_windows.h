// Convolutions of each channel by its own window (depthwise) of values of bfloat16 that lie in
// pixels, by runtime/cameo_pixel_windows.h: the part of pixel_conv.h that differs from sums over
// channels.
#ifndef CAMEO_CODEGEN_CPU_PIXEL_WINDOWS_H
#define CAMEO_CODEGEN_CPU_PIXEL_WINDOWS_H

#include "codegen/cpu/pixel_conv.h"

// Is it one whose windows are printed? Sets to's channels.
bool pixel_windows_fit(Module *mod, const Conv *c, const ByteWeights *w, PixelConv *to);
// Packs the weights, which begin at `from`; false: there is no memory.
bool pixel_windows_pack(Module *mod, const ByteWeights *w, const StoredU16 *from, PixelConv *to);

bool pixel_windows_any(const Step *s); // are there such kernels?
// The functions for the windows of these steps; nothing if there are none.
void pixel_windows_tiles(Buf *out, const Step *s);
// The declaration of what all units share; then units from .. to, with what surrounds their sums.
void pixel_windows_print_begin(Printer *p, const Conv *c);
// Inside of a loop over units u: the block and the row of one.
void pixel_windows_print_unit(Printer *p, const PixelConv *c);
void pixel_windows_print_units(Printer *p, const Conv *c, const char *from, const char *to);

#endif
