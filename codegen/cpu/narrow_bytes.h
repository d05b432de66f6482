// Products of bytes with factors of few bits: where the model allows it (Buffer.coarse) the other
// factor's rows are made bytes too, with a scale for each block of k, and processors multiply four
// of both at once.
#ifndef CAMEO_CODEGEN_CPU_NARROW_BYTES_H
#define CAMEO_CODEGEN_CPU_NARROW_BYTES_H

#include "codegen/cpu/narrow.h"

// Kinds of narrow_kinds and narrow_tiles_print: codes of 4 and of 8 bits so.
enum {
    NARROW_BYTES_2 = 128,
    NARROW_BYTES_4 = 32,
    NARROW_BYTES_8 = 64,
    NARROW_BYTES = NARROW_BYTES_2 | NARROW_BYTES_4 | NARROW_BYTES_8
};
// The one of them for so many bits.
uint32_t narrow_bytes_kind(uint32_t bits);

// Is the product one for them where so many values of k have one scale?
bool narrow_bytes_fit(const Narrow *w, int64_t coarse);
// The tables cameo_narrow_bytes_2, _4 and _8 of these kinds, behind narrow_tiles_print's own.
void narrow_bytes_print(Buf *out, uint32_t kinds);
// Packs rows from .. to, as the printed text has them, into o->block.
void narrow_bytes_print_pack(Printer *p, const Override *o, const char *rows, const char *a);
// Is there a product that they multiply in one of these steps?
bool narrow_bytes_any(const Step *s);

#endif
