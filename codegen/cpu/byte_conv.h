// Convolutions of bytes, by packed weights over a copy of four channels to a word
// (runtime/cameo_byte_conv.h).
#ifndef CAMEO_CODEGEN_CPU_BYTE_CONV_H
#define CAMEO_CODEGEN_CPU_BYTE_CONV_H

#include "codegen/cpu/conv.h"

// A convolution's weights as a function of their places: element (group, row, channel, tap) is at
// start + group_at(group) + row * stride + k_at(channel, tap).
typedef struct ByteWeights {
    int64_t groups, rows, row, channels, taps, start;
    int64_t columns;                // of taps: the innermost dim of the window
    const int64_t *group_at, *k_at; // k_at: [channels][taps]
} ByteWeights;

// May the factors be convolved, the zero points being one number for x and none for w?
bool byte_conv_fits(Printer *p, const Conv *c, const Bytes *b);
// Packs w and fills *c and *b. false with *error where weights cannot be read.
bool byte_conv_pack(Printer *p, Conv *c, Bytes *b, const ByteWeights *w, Str *error);
// Opens the loops over blocks, within the loops around the convolution: two braces. x: where it
// begins.
void byte_conv_print(Printer *p, const Conv *c, const char *x, const char *places);

#endif
