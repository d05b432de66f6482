// The microkernels that contractions run on, printed for every known width of vectors.
#ifndef CAMEO_CODEGEN_CPU_TILES_H
#define CAMEO_CODEGEN_CPU_TILES_H

#include "codegen/cpu/processor.h"
#include "ir/kernel.h"

#include <math.h>

// The lanes of a panel, whatever the target: tiles read parts of a panel's rows, so that packed
// weights serve every target. TILE_ROWS of the factor that is broadcast, TILE_COLUMNS of the other.
enum { TILE_ROWS = 8, TILE_COLUMNS = 48 };

// The least multiple of `step` that is n or more; as a double, where costs are reckoned.
static inline int64_t rounded_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}
static inline double cost_rounded_up(double n, double step)
{
    return ceil(n / step) * step;
}

typedef struct TileTarget {
    const char *test;  // of the preprocessor
    int lanes;         // numbers of 32 bits in a vector
    int rows, vectors; // of the largest tile; they divide TILE_ROWS and TILE_COLUMNS / lanes
    int step;          // values of k in one turn of the loop
    int ahead;         // values of k between what is read and what is asked for
} TileTarget;

// The tables of tiles that a module's products choose from.
typedef enum TileTable { TILES_OF_FLOATS, TILES_OF_BYTES, TILES_OF_WINDOWS } TileTable;

// How a number of one factor and a vector of the other join a sum: as product and sum, or as
// cameo_dot of four bytes each, of which those of its first operand have no sign.
typedef enum TileDot { DOT_NONE, DOT_FIRST /* a has none */, DOT_SECOND /* b has none */ } TileDot;

// How a tile over bytes multiplies: by cameo_dot, or pairs of 16 bits, four to a number of a, which
// are widened before; a vector of b is widened in two halves, once for all rows, and each half has
// its own sums until the end. Near: several numbers of k at once, by cameo_near and its kin.
typedef enum TileForm { FORM_WORDS, FORM_WIDE, FORM_NEAR } TileForm;

typedef struct TileKind {
    TileTable table;
    const char *name;            // of the functions and their type
    const char *first, *element; // C types of what the factors a and b
    const char *number, *vector; // and the sums are made of
    TileDot dot;
    bool apart;    // vectors of b are `next` numbers from one another, those of c `width`
    TileForm form; // of bytes
    int together;  // numbers of k that are multiplied at once; 1 but for FORM_NEAR
} TileKind;

// A product of so many rows and columns: tiles of the greatest size, and of what is left at its
// ends. TILE_ANY: only the program knows, or columns are divided otherwise.
enum { TILE_ANY = -1 };

typedef struct TileUse {
    TileTable table;
    int64_t rows, columns;
} TileUse;

typedef struct TileUses {
    TileUse *at;
    uint32_t len, cap;
    bool sevens; // convolutions in seven products for eight (strassen.h)
} TileUses;

// What the products of these steps choose from (codegen/cpu/tile_uses.c).
TileUses tile_uses(Arena *a, const Step *s);
TileUses tile_uses_all(Arena *a); // whatever products there are
// May a tile of this size be asked for?
bool tile_needed(const TileUses *u, TileTable table, const TileTarget *t, int rows, int vectors);
// Do products of float32 have panels of the greatest width and as many columns left at most?
bool tile_ends_few(const TileUses *u, const TileTarget *t);

// How many panels one row is multiplied by together: as many as twelve sums are.
int tile_streams(const TileTarget *t);
// The function for so many of them, NAME_PANELS.
void tile_print_stream(Buf *out, const TileKind *kind, const TileTarget *t, const char *name,
                       int panels);

// One size of tile; what writes the edges of all; the sizes that are needed and the table of them,
// NULL in the places of others.
void tile_print(Buf *out, const TileKind *kind, const TileTarget *t, int rows, int vectors);
void tile_print_edge(Buf *out, const TileKind *kind);
void tile_print_table(Buf *out, const TileKind *kind, const TileTarget *t, const TileUses *uses);

// The C preprocessor chooses the row of the target that the file is compiled for; `rows`: of
// processors, whose columns stand for those of a target with as many lanes where they are not 0.
void tiles_print(Buf *out, const TileUses *uses, const Processor *rows, uint32_t n);
// Tiles over bytes, four values of k to a number (codegen/cpu/byte_tiles.c): `products` has those
// whose numbers have no sign, `windows` those whose vectors have none. After tiles_print.
void byte_tiles_print(Buf *out, bool products, bool windows, const TileUses *uses);

#endif
