// Kernels that compute nothing: what they store is what they loaded, in another place or order.
#ifndef CAMEO_CODEGEN_MOVES_H
#define CAMEO_CODEGEN_MOVES_H

#include "ir/kernel.h"

// Is all that the kernel does to move elements? A transpose that was not fused is one, a Concat, a
// Gather, a value brought into another layout; constants beside the elements, as a Pad's, are no
// computation, constants alone no move. A kernel that a faster form took over is none.
bool kernel_moves(const Kernel *k);
// Does a move stand at an edge of the program: is what it loads an input, or what it stores an
// output?
bool kernel_moves_at_edge(const Module *mod, const Kernel *k);

#endif
