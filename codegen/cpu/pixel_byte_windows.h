// Windows of single channels in pixels of bytes, by runtime/cameo_pixel_byte_windows.h: what
// pixel_windows.h does for these.
#ifndef CAMEO_CODEGEN_CPU_PIXEL_BYTE_WINDOWS_H
#define CAMEO_CODEGEN_CPU_PIXEL_BYTE_WINDOWS_H

#include "codegen/cpu/pixel_conv.h"

// Where lanes 0 .. 63 of a pixel are among the sums of a window.
int pixel_byte_windows_lane(int lane);
// Words of a block of them, in as many as a pixel has channels.
int64_t pixel_byte_windows_words(const PixelConv *c);
// Packs the weights, which begin at `from`; false: there is no memory.
bool pixel_byte_windows_pack(Module *mod, const Conv *c, const ByteWeights *w, const void *from,
                             PixelConv *to);

// Are there such kernels? What all their functions need, and those of one.
bool pixel_byte_windows_any(const Step *s);
void pixel_byte_windows_begin(Buf *out);
void pixel_byte_windows_tiles(Buf *out, const PixelConv *c, Arena *names);

void pixel_byte_windows_print_units(Printer *p, const Conv *c, const char *from, const char *to);

#endif
