// The microkernels that contractions run on, printed for every known width of vectors.
#ifndef CAMEO_CODEGEN_CPU_TILES_H
#define CAMEO_CODEGEN_CPU_TILES_H

#include "base/str.h"

// The lanes of a panel, whatever the target: tiles read parts of a panel's rows, so that packed
// weights serve every target. TILE_ROWS of the factor that is broadcast, TILE_COLUMNS of the other.
enum { TILE_ROWS = 8, TILE_COLUMNS = 48 };

// The C preprocessor chooses the row of the target that the file is compiled for.
void tiles_print(Buf *out);

#endif
