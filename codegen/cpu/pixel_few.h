// First convolutions: x lies in planes and has so few channels that no pixel is worth it. It is
// copied with its border, its channels side by side, and then a line of a window is one stretch of
// 64 bytes: a row of a tile as it lies (runtime/cameo_pixel_few.h).
#ifndef CAMEO_CODEGEN_CPU_PIXEL_FEW_H
#define CAMEO_CODEGEN_CPU_PIXEL_FEW_H

#include "codegen/cpu/pixel_conv.h"

// Does a line of the window fit there? Sets to->few. `to` has its sizes.
bool pixel_few_fit(PixelConv *to, int64_t channels);
// The step of k, and the lane of it, at which a channel of x is met at place t of the window.
int64_t pixel_few_step(const PixelConv *c, int64_t t);
int64_t pixel_few_lane(const PixelConv *c, int64_t t, int64_t channel);
// The buffer of the copy, to->border being set.
void pixel_few_buffer(Module *mod, PixelConv *to, Index channels);
// Lets the copy read the input of float32 that x is rounded from, where x is that and nothing else:
// c->x becomes a load of it. What rounds it may be unread then (steps_drop_unread).
void pixel_few_read_input(Module *mod, Conv *c, PixelConv *to);
// Copies lines from .. to, text; how many there are.
void pixel_few_print(Printer *p, const Conv *c, const char *from, const char *to);
int64_t pixel_few_lines(const PixelConv *c);

#endif
