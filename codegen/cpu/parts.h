// Loops cut where what they read changes its place (codegen/cpu/parts.c), of open sizes too.
#ifndef CAMEO_CODEGEN_CPU_PARTS_H
#define CAMEO_CODEGEN_CPU_PARTS_H

#include "ir/kernel.h"

// The loop over `extent` elements from `from` on of what `loop`, around one store, runs over.
Stmt *part_of(Module *mod, const Stmt *loop, Index from, Index extent);
// The parts of a loop around one store, in order, itself behind what they ask of dims where they
// ask for something; `loop` where it is not cut (codegen/cpu/open_parts.c).
Stmt *cut_open_loop(Module *mod, Stmt *loop);

#endif
