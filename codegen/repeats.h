// Kernels whose text is that of an earlier one but for the numbers in their variables' names are
// printed once, and called for each with its own operands.
#ifndef CAMEO_CODEGEN_REPEATS_H
#define CAMEO_CODEGEN_REPEATS_H

#include "base/id_table.h"
#include "codegen/printer.h"

typedef struct Repeat {
    const Kernel *kernel; // whose function stands in the file
    Str text;             // its functions, variables numbered in order of appearance
} Repeat;

// Of Printer.repeats.
typedef struct Repeats {
    IdTable known; // of `all`, by text
    VEC(Repeat) all;
    VEC(const Kernel *) as; // by Kernel.id: the one whose function it calls; NULL: its own
} Repeats;

// From here on printed kernels are compared (p->repeats).
void repeats_new(Printer *p);
// Behind printer_kernel: the text from p->text_at on is k's functions, without the comment before
// them. Where an earlier kernel has them they are taken back, and the comment names it.
void repeats_take(Printer *p, const Kernel *k);
// The kernel whose function k calls: itself where its text is its own, or nothing is compared.
const Kernel *repeats_of(const Printer *p, const Kernel *k);

#endif
