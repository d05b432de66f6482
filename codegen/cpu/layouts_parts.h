// What the files of layouts.h share: what is known of kernels and of values, and the two steps.
#ifndef CAMEO_CODEGEN_CPU_LAYOUTS_PARTS_H
#define CAMEO_CODEGEN_CPU_LAYOUTS_PARTS_H

#include "codegen/cpu/byte_conv.h"
#include "codegen/cpu/laid.h"
#include "codegen/cpu/layouts.h"
#include "codegen/cpu/pixel_conv.h"
#include "passes/solver/labels.h"

enum { RANK = LAID_RANK, MAX_NEST = 16 };

// A kernel of the module's list of steps.
typedef struct Site {
    Step *step;
    uint32_t group;    // whose variable is this one's too: kernels that make parts of one value
    uint32_t variable; // the label
    LabelSet allowed;
    const Stmt *body; // of such loops, groups being channels of one; NULL: the kernel's
    const Stmt *loops[MAX_NEST], *store; // store: NULL where it is no nest around one store
    uint32_t nloops;
    LoopId channel; // whose channels are those of the values in pixels; 0: none
    int64_t lanes;  // the fewest of a value in pixels that is read; 0: none
    int64_t part;   // lanes of one pixel that are all it makes, others being another's; 0: no such
    bool beside;    // channels decide what is read of values in planes
    int64_t apart, taps; // such reads of an element that lanes would do apart; summed so often
    Conv conv;
    ByteWeights weights;
    PixelConv *pixels; // a convolution that could read pixels; NULL: none
} Site;

typedef struct Layouts {
    Module *mod;
    Printer *p;
    Arena *arena;
    const ConvChoice *how;
    Site *sites;
    uint32_t nsites, nvalues;
    Laid *values; // by BufferId
    Labels *labels;
    Site *site; // that is looked at
} Layouts;

// What a kernel does, whatever form it has in planes.
const Stmt *site_body(const Site *site);
// Visits all values of the statements and what they are made of.
void site_walk(Layouts *l, const Stmt *s, void (*visit)(void *context, const Expr *e));
// Channels that are innermost where the kernel is one of pixels.
int64_t site_lanes(Layouts *l, const Site *site);

// What a kernel in pixels keeps in rows, one element for each lane (codegen/cpu/layouts_rows.c).
enum { MOST_ROWS = 8 };
typedef struct Rows {
    uint32_t n;
    const Expr *of[MOST_ROWS], *made[MOST_ROWS]; // as they stand in planes; of the lanes of a block
    LocalId local[MOST_ROWS];
} Rows;

// Finds them: what is more than a load, or anything where channels fill no whole pixels (rest).
// false: some of what hangs on channels alone cannot be in a row.
bool layouts_find_rows(const Layouts *l, const Site *site, bool rest, Rows *rows);
// The element of the row that stands for e, or NULL.
const Expr *layouts_row_at(Module *mod, const Rows *rows, LoopId lane, const Expr *e);
// Statements that make the rows, before body.
Stmt *layouts_fill_rows(Module *mod, const Rows *rows, LoopId lane, Stmt *body);

// Does the kernel reduce each channel to what lies in planes? Then lanes that are no channels are
// made as well, and left behind.
bool layouts_fills(const Layouts *l, const Site *site);

// Rewrites all kernels, now that labels are known, and moves what is read in another layout
// (codegen/cpu/layouts_apply.c). false with *error where weights cannot be read.
bool layouts_apply(Layouts *l, Str *error);

#endif
