// Copies to outputs that no kernel reads, past the caches, where a run reads more weights than
// caches hold; beside products that read the same elements, if there are such.
#ifndef CAMEO_CODEGEN_CPU_AWAY_H
#define CAMEO_CODEGEN_CPU_AWAY_H

#include "codegen/cpu/gemm.h"

enum { AWAY_DIMS = 8 };

// A product of one row that copies its other factor as it goes.
struct Away {
    const Kernel *copy;  // what the kernel before it did
    BufferId to;         // the output
    Index at[AWAY_DIMS]; // of it, where the factor's element goes
    Index rows, width;   // of the factor, one row behind another
    bool along;          // the product sums along a row; else down the rows
};

// What all steps use.
KernelUses away_uses_of_all(Module *mod, Arena *scratch);
// Does nobody need what is written to the buffer before caches have lost it?
bool away_takes(const Module *mod, const KernelUses *all, BufferId b);
// Gives such products the copies before them, and takes their steps from the module.
void away_find(Module *mod, Printer *p);
// What the copy uses too.
void away_uses(Module *mod, const Away *away, KernelUses *u);
void away_print_product(Printer *p, const Override *o, Bounds *outer);

#endif
