// The run of steps that figures_find looks at, and the kernel that is made of it.
#ifndef CAMEO_CODEGEN_CPU_FIGURES_JOIN_H
#define CAMEO_CODEGEN_CPU_FIGURES_JOIN_H

#include "codegen/cpu/figures.h"
#include "codegen/fuse_parts.h"
#include "ir/infer.h"

typedef struct Joining {
    Module *mod;
    Arena *arena;
    Fuse fuse;
    uint32_t *reads, *writes; // by BufferId: steps that do
    bool *kept;               // by BufferId: an output of the module
    uint32_t *list;           // by BufferId: the number of the list of steps that writes it
    uint32_t nlists, here;    // lists seen, of the run's number
    // The run at hand.
    uint32_t rank; // dims of its values that are not 1
    Index dims[MAX_RANK];
    uint8_t *written; // by BufferId: 1 by the run
    uint32_t *inner;  // by BufferId: steps of the run that read it
    VEC(const Step *) steps;
    const Kernel *product; // a convolution in front of the run that could be a block; NULL: none
    // What it becomes.
    Figures *made;
    Index at[MAX_RANK]; // of an element of the stretch, by dim
    LoopId loops[MAX_RANK + 1];
    Index start[MAX_RANK]; // of a stretch, by dim
    uint32_t nloops;       // within a stretch
    int64_t room;          // of a row
    Index place;           // of an element in it
} Joining;

typedef struct JoiningCheck {
    const Joining *j;
    const Stmt *store;
    BufferId of; // this buffer; 0: all that the run makes
    bool fits;
} JoiningCheck;

// Are the buffer's dims, but for those that are 1, those of the run?
bool joining_same_dims(const Joining *j, const Buffer *b);
// Is the element that is loaded the one that is stored, dims that are 1 apart?
bool joining_same_place(const Module *mod, const Expr *load, const Stmt *store);
// For expr_walk, of a JoiningCheck: what is looked at is read where it is stored; nothing is
// summed.
void joining_check_load(void *context, const Expr *e);
// What the step reads and writes, in the arena of the joining.
KernelUses joining_uses(Joining *j, const Step *s);
// What a convolution of float64 in front of the run makes, if the run's figures alone read it: a
// place that its step stands at, in the list that begins at `first` and leads to `run`; NULL: none.
Step **figures_block_find(Joining *j, Step **first, const Step *run);
// With the loops over stretches chosen: is j->product computed a block at a time? Then j->made has
// the block.
bool figures_block_choose(Joining *j);
// The kernel that does what the steps of the run do, a stretch at a time.
Kernel *joining_make(Joining *j);

#endif
