// Convolutions in pixels whose places are gathered: where rows of the output are short or windows
// move by more than one, tiles of neighbours in x hold places that nobody reads. Of such a copy,
// the places of each step of k one behind another, all tiles but the last one are full.
#ifndef CAMEO_CODEGEN_CPU_PIXEL_GATHER_H
#define CAMEO_CODEGEN_CPU_PIXEL_GATHER_H

#include "codegen/cpu/pixel_conv.h"

// Do the tiles that it saves take longer than the copy? All sizes are set; steps: of k.
bool pixel_gather_pays(const PixelConv *c, int64_t steps);
// Makes the copy's buffer.
void pixel_gather_buffer(Module *mod, PixelConv *c, int64_t steps);
// The copy of steps from .. to; `h` is declared.
void pixel_gather_print(Printer *p, const Conv *conv, const char *from, const char *to);

#endif
