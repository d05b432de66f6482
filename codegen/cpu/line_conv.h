// Convolutions by tiles of a line, or of the lines of a plane, in C (winograd.h,
// runtime/cameo_lines.h, cameo_plane_lines.h).
#ifndef CAMEO_CODEGEN_CPU_LINE_CONV_H
#define CAMEO_CODEGEN_CPU_LINE_CONV_H

#include "codegen/cpu/conv.h"
#include "codegen/print_parts.h"

// What was expected of a window in a line, and, where tiles compute it, `form`; `sizes` are known.
void line_conv_print_plan(Printer *p, const Conv *c);
// By one thread, sizes and form being known. False: the epilogue is left.
bool line_conv_print_blocks(Printer *p, const Kernel *k, const Conv *c);
// As parts that threads share. work: of the whole of it (codegen/parts.h).
void line_conv_print_parts(Printer *p, const Kernel *k, const Conv *c, Bounds *outer, Index work);

#endif
