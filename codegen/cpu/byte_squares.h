// Convolutions of bytes by square tiles (runtime/cameo_byte_squares.h): where, and their weights.
#ifndef CAMEO_CODEGEN_CPU_BYTE_SQUARES_H
#define CAMEO_CODEGEN_CPU_BYTE_SQUARES_H

#include "codegen/cpu/byte_conv.h"

// How c is cut into square tiles where `cpu` has them and they
// are worth it; else depth is 0.
ByteSquares byte_squares_choose(const Conv *c, const ByteWeights *w, const Processor *cpu);
// Bytes of one group's weights.
int64_t byte_squares_block(const ByteSquares *s, int64_t rows);
// Planes of the copy of x that tiles may read: those past its channels meet weights of 0.
int64_t byte_squares_planes(const ByteSquares *s, int64_t channels, int64_t taps);
// Columns of a block of the output.
int64_t byte_squares_width(const ByteSquares *s);
// Packs the weights of group g, and sums each row.
void byte_squares_pack(const Bytes *b, const ByteWeights *w, const void *from, int64_t g,
                       int8_t *to, int32_t *totals);

#endif
