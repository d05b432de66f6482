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

// Rewrites all kernels, now that labels are known, and moves what is read in another layout
// (codegen/cpu/layouts_apply.c). false with *error where weights cannot be read.
bool layouts_apply(Layouts *l, Str *error);

#endif
