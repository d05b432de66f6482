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

// May the factors be convolved, x's zero point being one number?
bool byte_conv_fits(Printer *p, const Conv *c, const Bytes *b);
// Is w's zero point 0 once w is signed?
bool byte_conv_centred(Printer *p, const Bytes *b);
// The zero point of each of w's n rows, those of all groups; false: they are not known.
bool byte_conv_zeros(Printer *p, const Conv *c, const Bytes *b, int64_t n, int64_t *zeros);
// The same, less what makes w signed.
bool byte_conv_signed_zeros(Printer *p, const Conv *c, const Bytes *b, int64_t n, int64_t *zeros);
// Packs w for `cpu` and fills *c and *b. *found: its zero points are known. false with *error where
// weights cannot be read.
bool byte_conv_pack(Printer *p, Conv *c, Bytes *b, const ByteWeights *w, const Processor *cpu,
                    bool *found, Str *error);
// Planes of the copy of x, four channels to a word.
int64_t byte_conv_planes(const Bytes *b, const ByteWeights *w);

// What holds of all planes; after cameo_conv_plan: what is different of bytes.
void byte_conv_print_planes(Printer *p);
void byte_conv_print_plan(Printer *p, const Bytes *b);
// Planes from .. to of the copy of x, which begins at `x`. Text, as `places`, the places of y.
void byte_conv_print_copy(Printer *p, const Conv *c, const char *x, const char *from,
                          const char *to);
// How many units of rows or of places threads may divide it into.
const char *byte_conv_units(Printer *p, const Conv *c, const char *places);
// Opens the loops over blocks of `cut`: two braces; so does a plane by its own window, in `x`.
void byte_conv_print_share(Printer *p, const Conv *c, const char *places);
void byte_conv_print_plane(Printer *p, const Conv *c, const char *x, const char *places);

#endif
