// Convolutions of bfloat16 on matrix registers (runtime/cameo_half_conv.h): where the processor
// that is compiled for has them. Otherwise they are convolutions of float32, with all of their
// forms.
#ifndef CAMEO_CODEGEN_CPU_HALF_CONV_H
#define CAMEO_CODEGEN_CPU_HALF_CONV_H

#include "codegen/cpu/byte_conv.h"

typedef struct HalfConv {
    BufferId packed, copy, scratch;
    int64_t group;     // panels that are gathered at a time
    LoopId m0, n0, at; // where the sums of a piece begin: row, place, column of their panel
    const Expr *value; // the sum, read from scratch
} HalfConv;

// Is it worth it, and does the processor have matrix registers?
bool half_conv_fits(const Conv *c, const ByteWeights *w, const Processor *cpu);
// Packs w, of bfloat16; NULL with *error where it cannot be read.
HalfConv *half_conv_pack(Printer *p, const Conv *c, const ByteWeights *w, Str *error);
void half_conv_uses(Module *mod, const Conv *c, KernelUses *u);
void half_conv_print(Printer *p, const Kernel *k, const Conv *c);

#endif
