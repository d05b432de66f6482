// What surrounds the sums of a convolution in pixels of bfloat16, where it is min(max(sum * scale +
// bias + added * by, low), high) or silu(sum * scale + bias) + added: done at once by
// runtime/cameo_pixel_conv.h, from the sums to y. The second takes instructions of its own
// (CAMEO_PIXEL_SILU); programs that lack them do it as any other function.
#ifndef CAMEO_CODEGEN_CPU_PIXEL_FINISH_H
#define CAMEO_CODEGEN_CPU_PIXEL_FINISH_H

#include "codegen/cpu/pixel_conv.h"

// That form of the float32 `e`, of a convolution whose block, lane, n and sums are set; NULL: it is
// another one. `sum` is read where the sums stand.
PixelFinish *pixel_finish_of(Module *mod, const PixelConv *c, const Expr *e);
// x of x * (1 / (1 + exp(-x))); NULL: e is another function.
const Expr *pixel_finish_silu_of(const Expr *e);
// For the places low .. high of a row.
void pixel_finish_print(Printer *p, const Conv *c);
// The same of units from .. to, and from registers, where the program's vectors multiply.
void pixel_finish_print_fused(Printer *p, const Conv *conv, const char *from, const char *to);
// What a form of its own reads, up to pixel_conv_end_y: as `name` what pixel_conv_begin_y says and
// whether it is silu, and `ends`.
void pixel_finish_begin_y(Printer *p, const Conv *conv, const char *name);
// Are channels that fill up the last block 0 where everything around them is? After
// pixel_conv_finish.
bool pixel_finish_fills(Module *mod, const PixelConv *c);
// What windows end by where it is no SiLU and adds nothing: `ends`.
void pixel_finish_print_window(Printer *p, const PixelConv *c);

#endif
