// Kernels whose text is that of an earlier one but for the numbers in their variables' names are
// printed once, and called for each with its own operands. So are convolutions that differ in sizes
// alone: their loops over elements are the runtime's, or between bounds that are variables anyway,
// so that compilers make the same of them whether they know the sizes or read them. Such a function
// takes a table of its caller's sizes, of those in which its kernels differ.
#ifndef CAMEO_CODEGEN_REPEATS_H
#define CAMEO_CODEGEN_REPEATS_H

#include "base/id_table.h"
#include "codegen/printer.h"

// Marks in the text of a kernel whose sizes may be another's (Printer.marks). They stand for text
// that only a function with a table of sizes has.
typedef enum RepeatMark {
    MARK_SIZE = 1,  // before the digits of a size
    MARK_FIELD,     // of the arguments of its parts
    MARK_PARAMETER, // of a function
    MARK_ARGUMENT,  // what the function of a part is given
    MARK_INITIAL,   // of the arguments
    MARK_BODY,      // where the body of a function begins that has such a parameter
    MARK_STATIC,    // "static ": constants that are none where they are read from a table
    MARK_END
} RepeatMark;

typedef VEC(int32_t) RepeatSizes;

typedef struct Repeat {
    Str key; // its functions, variables numbered in order of appearance, without sizes and comments
    Str text;             // as they were printed, with marks
    uint32_t first, last; // among Repeats.printed
    int32_t *slots;       // of each size: its place in tables; -1: the same for all
    uint32_t nslots;
} Repeat;

typedef struct PrintedKernel {
    const Kernel *kernel;
    Str comment, notes;   // in front of it, and those within its functions
    RepeatSizes sizes;    // that are marked, in order
    uint32_t repeat;      // whose functions it calls
    uint32_t next;        // of the same repeat; 0: the last
    const Kernel *tables; // whose table it gives; NULL: none
} PrintedKernel;

// Of Printer.repeats.
typedef struct Repeats {
    IdTable known; // of `all`, by key
    VEC(Repeat) all;
    VEC(PrintedKernel) printed; // in order; the first is none
    VEC(uint32_t) of;           // by Kernel.id: its number among the printed
} Repeats;

// From here on printed kernels are compared (p->repeats).
void repeats_new(Printer *p);
// Is what is printed of k to be marked?
bool repeats_by_sizes(const Kernel *k);
// A mark as text; "" where nothing is marked.
const char *repeats_mark(Printer *p, RepeatMark mark);
// Behind printer_kernel: takes the text of k out of p->out, its comment from `from` on, its
// functions from p->text_at on.
void repeats_take(Printer *p, const Kernel *k, size_t from);
// All that was taken, in order, each function once; comments name whose functions a kernel has.
void repeats_print(Printer *p);
// The kernel whose function k calls: itself where its text is its own, or nothing is compared.
const Kernel *repeats_of(const Printer *p, const Kernel *k);
// The table of sizes that k gives to that function, as its first argument; "": it takes none.
const char *repeats_sizes(Printer *p, const Kernel *k);

#endif
