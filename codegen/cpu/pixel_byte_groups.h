// Convolutions in pixels of bytes whose groups have several channels, as many of y as of x: windows
// (pixel_byte_windows.h) that are sums over those of a group, too.
#ifndef CAMEO_CODEGEN_CPU_PIXEL_BYTE_GROUPS_H
#define CAMEO_CODEGEN_CPU_PIXEL_BYTE_GROUPS_H

#include "codegen/cpu/pixel_conv.h"

// Is it one, a single loop, c->m, going over all channels of y? Sets to's channels and width.
bool pixel_byte_groups_fit(Module *mod, const Conv *c, const ByteWeights *w, PixelConv *to);
// Packs the weights, which begin at `from`; false: there is no memory.
bool pixel_byte_groups_pack(Module *mod, const Conv *c, const ByteWeights *w, const void *from,
                            PixelConv *to);

// What all functions need; what each pixel of a line adds to the sums of n windows, by vectors of
// `type`; and what of a line the sum of channel `lane` is made of, without vectors.
void pixel_byte_groups_begin(Buf *out);
void pixel_byte_groups_line(Buf *out, const PixelConv *c, const char *type, int64_t n);
void pixel_byte_groups_plain(Buf *out, const PixelConv *c);

#endif
