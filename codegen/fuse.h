// Fusion on the kernel IR: values that are cheap to compute where they are read, or read in one
// place alone, never reach memory.
#ifndef CAMEO_CODEGEN_FUSE_H
#define CAMEO_CODEGEN_FUSE_H

#include "ir/kernel.h"

// What a target pays for.
typedef struct FuseTarget {
    double element;        // scalar operations that one element written and read back is worth
    double growth;         // the work of a module may grow to this many times what it was
    uint32_t most_buffers; // of one kernel
    uint32_t most_nodes;   // expressions of one kernel
    double least_rows;     // a reduction goes into its reader if it is at least so many
    bool rows;             // a kernel's loops may fill a row of its output before they finish it
    bool looks_up;         // a dear function of one byte is a table of 256
    bool scales;           // numbers that scale a product's factors may scale its sums
} FuseTarget;

extern const FuseTarget fuse_target_cpu, fuse_target_cuda;

typedef struct FuseReport {
    uint32_t kernels_before, kernels_after;
    double work_before, work_after; // scalar operations of a run; unknown sizes count as 512
} FuseReport;

// Inlines producers into their consumers, drops what nobody reads, splits loops where that removes
// divisions from indices, and numbers the kernels anew. In: a lowered module before legalization.
// The meaning of every buffer that is left is unchanged, bit for bit; where the target has
// `scales`, but for the rounding of what a number scales.
void fuse_module(Module *mod, const FuseTarget *target, FuseReport *report);

// Scalar operations that a run executes: each expression counts once in the innermost loop that
// binds its variables, and never above a guard. Of a select the dearer arm counts. Loads, stores
// and linear indices are free; `size` stands for each dim that is not known.
double module_work(Module *mod, int64_t size);

#endif
