// Kernels that make values element by element, and the figures that are taken of these values
// (runtime/cameo_drift.h), as one kernel that does a stretch of elements at a time: a value is
// compared while it is in the first cache, and one that only its own stretch reads is no buffer of
// the module.
//
// Sums are taken for each stretch and added up in order, so that they are the same bits for any
// number of threads.
#ifndef CAMEO_CODEGEN_CPU_FIGURES_H
#define CAMEO_CODEGEN_CPU_FIGURES_H

#include "codegen/print_parts.h"

// What a convolution of float64 makes that only a run's figures read: it is computed a block at a
// time right in front of the stretches that read it, and lies in few rows of a thread's own
// instead of a buffer that no cache holds. Nothing else is known of these rows.
typedef struct FigureBlock {
    const Kernel *kernel; // the convolution
    BufferId value;       // what it makes: there is no such buffer
    BufferId rows;        // where a block of it lies
    LoopId plane;         // the loop of its own over planes that are done one by one; 0: none, and
                          // a block is as many places as a stretch has, of all channels
    Index column, at;     // of a stretch: its first place, and where that lies in the block
} FigureBlock;

// Numbers that are taken of a value of the stretch.
typedef struct Figure {
    const Stmt *after; // this statement; NULL: before the first
    const Call *call;
} Figure;

// A buffer that is a row of the stretch, or written over one that the run reads last.
typedef struct FigureRow {
    BufferId buffer;
    LocalId local; // 0: written over
    BufferId over;
} FigureRow;

enum {
    FIGURE_LOOPS = 16,
    FIGURE_STRETCH = 1024 // elements: what is known of one stays in the first cache, or nearly
};

typedef struct Figures {
    VEC(Figure) all;
    VEC(FigureRow) rows;
    LoopId loops[FIGURE_LOOPS]; // over stretches, outermost first
    uint32_t nloops;
    bool flat; // the last index counts on through all dims, whose bounds were those of loops
    const Stmt *stretch; // what is done to one: loops over its elements
    Index first, count;  // its first element and how many they are
    BufferId numbers;    // of all stretches; 0: there is one
    FigureBlock *block;  // then loops are two, over channels and over stretches; NULL: none
} Figures;

// Joins steps that follow one another: such kernels of values of the same dims, and calls that take
// figures of them.
void figures_find(Module *mod);
// Are figures taken by any of the steps, in whatever way?
bool figures_taken(const Step *s);
// Are there any such kernels among the steps?
bool figures_used(const Step *s);
// The convolution of float64 that the kernel has in it, or NULL.
const Kernel *figures_convolution(const Kernel *k);
// What the kernel uses besides its statements.
void figures_uses(Module *mod, const Figures *f, KernelUses *u);
// Where the buffer's elements lie.
FigureRow figures_row(const Figures *f, BufferId b);
void figures_print(Printer *p, const Figures *f);

#endif
