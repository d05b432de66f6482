// Where a value lies, in planes or in pixels (layouts.h), and kernels that move it from one to the
// other or fill what is beside its elements.
#ifndef CAMEO_CODEGEN_CPU_LAID_H
#define CAMEO_CODEGEN_CPU_LAID_H

#include "ir/kernel.h"

enum { PLANES, PIXELS, LAID_RANK = 4 }; // of a value in planes; a pixel's lanes are one dim more

// What is known of a buffer.
typedef struct Laid {
    bool fits;               // it may lie in pixels
    bool read;               // while sites are looked at in their order
    struct Site *maker;      // the last one
    uint32_t id;             // among the values of the solver
    int64_t dims[LAID_RANK]; // without [0]
    int64_t lanes, blocks;   // of a pixel; of channels, the last one filled up
    BufferId in[2];          // where it lies in planes, in pixels; 0: nowhere
    int64_t border;
    const Expr *around; // what the border holds, as x's zero point; NULL: 0
} Laid;

// The body of a parallel loop over v.
Stmt *laid_loop(Module *mod, LoopId v, Stmt *body);
// Where the element `at` stands in pixels: LAID_RANK + 1 indices.
const Index *laid_in_pixels(Module *mod, const Laid *v, const Index *at);
// Copies all of it to where layout `to` lies, from the other one.
Stmt *laid_move(Module *mod, const Laid *v, uint32_t to);
// Makes 0 of what fills up the last pixels.
Stmt *laid_blank(Module *mod, const Laid *v);
// Fills the border.
Stmt *laid_border(Module *mod, const Laid *v);

#endif
