// Convolutions by windows of 3 x 3 or 5 x 5, or of 3 or 5 places in a line, in fewer products
// (runtime/cameo_winograd.h, cameo_lines.h, cameo_plane_lines.h), where that is quicker.
#ifndef CAMEO_CODEGEN_CPU_WINOGRAD_H
#define CAMEO_CODEGEN_CPU_WINOGRAD_H

#include "codegen/cpu/conv.h"

enum { WINOGRAD_ROWS = 32 }; // rows of y between two transforms: CAMEO_WINOGRAD_ROWS

// Sets c->tile, c->line, c->plane, c->most and c->cost: the cheapest of the direct form and tiles
// of 2 x 2 and 4 x 4 (windows of 5 x 5: of 2 x 2 and of 4 in the lines of a plane), or of 2 or 4 in
// a line, of those that c and `how` allow. Sizes that only inputs say count as 28; a line of such a
// size stays direct: streams have a few places, where tiles take twice as long.
void winograd_choose(Conv *c, const ConvChoice *how);

// What a convolution by window x window that moves by one takes where y has size[0] x size[1]
// places: directly (tile 0) or by tiles. Vectors of so many lanes that are multiplied and added,
// other operations on vectors, bytes of weights.
typedef struct ConvWork {
    double products, moves, bytes;
} ConvWork;
ConvWork winograd_work(int64_t rows, int64_t channels, const int64_t size[2], int64_t tile,
                       int64_t window, double lanes);

// float32 elements of the scratch that the form needs for each thread.
Index winograd_scratch(Polys *polys, const Conv *c);
// Of a line: those of its sums, which come first.
int64_t winograd_sums(const Conv *c);
// Of a line: those of a block's tiles of x, which all threads read; NULL: each has its own, behind
// its sums.
Index winograd_block(Polys *polys, const Conv *c);
// Those of the tiles of x, which all threads read and then share rows of y: of so few tiles half
// would leave lanes of the products empty, and every thread would read all windows. NULL: tiles are
// many, or rows few.
Index winograd_made(Polys *polys, const Conv *c);
// Does a window of a plane move by two?
bool winograd_steps(const Conv *c);
// Rows and columns of a window.
int64_t winograd_side(const Conv *c);
// Places of a window, and numbers that are made of it.
int64_t winograd_window(const Conv *c);
int64_t winograd_places(const Conv *c);
// Windows in [groups][rows][channels][window] to what the runtime's functions for rows read,
// for each group the rows, padded to TILE_ROWS, times channels times winograd_places: each rounded
// once, from float64.
void winograd_pack(const Conv *c, int64_t groups, int64_t rows, int64_t channels, const float *from,
                   float *to);

// "direct", "F(2x2,3x3)", "F(4x4,3x3)", "F(2x2,5x5)"; of a line "F(2,5)", "F(4,3)", of a plane's
// lines "F(4,5)".
const char *winograd_form(const Conv *c, int64_t tile);
// The rms error of y relative to its rms that is not exceeded for factors without order, float32
// against exact: of the direct form where c->tile is 0. Measured; tests/models/winograd.py holds
// it.
double winograd_error(const Conv *c, int64_t channels);

#endif
