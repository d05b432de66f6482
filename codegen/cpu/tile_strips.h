// Several of the largest tiles of float32, one after the other, and what of tiles they are made of.
#ifndef CAMEO_CODEGEN_CPU_TILE_STRIPS_H
#define CAMEO_CODEGEN_CPU_TILE_STRIPS_H

#include "codegen/cpu/tiles.h"

// The function CAMEO_STRIP; with `columns` CAMEO_STRIP_COLUMN too, where there are registers for
// it, whose panels have one more column each; and CAMEO_SUMS, the same down the rows of a product,
// whose sums are added to what is there, or stand for it.
void tile_strip_print(Buf *out, const TileTarget *t, bool columns);
void tile_strip_print_down(Buf *out, const TileTarget *t);
// The sums of a strip's tile: of `rows` and b, `depth` values of k, the latter's `step` numbers
// from one to the next; ask: what is done beside each.
void tile_strip_print_sums(Buf *out, const TileTarget *t, const char *ask);

// ---- of tiles.c

extern const TileKind tile_floats;
// A product added to the sum of row i and vector v, which is called `sum`.
void tile_print_sum(Buf *out, const TileKind *kind, char sum, int i, int v);
// Each sum is added to from `base`, whose rows are `row` apart, or stored there.
void tile_print_moves(Buf *out, const TileKind *kind, const char *base, const char *row, int rows,
                      int vectors, bool stores);

#endif
