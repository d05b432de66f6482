// Printing the function that runs a module's steps, for any place that values may be in.
#ifndef CAMEO_CODEGEN_EMIT_PARTS_H
#define CAMEO_CODEGEN_EMIT_PARTS_H

#include "codegen/count.h"
#include "codegen/emit_c.h"

typedef struct StepTarget StepTarget;

typedef struct StepPrinter {
    Printer *p;       // prints the host's C
    Printer *kernels; // printed the kernels
    const Plan *plan;
    VEC(const Step *) definitions; // of dims, in order
    KernelUses all;                // what all kernels and outputs use; all dims
    KernelUses host;               // what conditions and sizes use
    KernelUses beside;             // what kernels on the host use, where the others are on a device
    KernelUses device;             // what those others use
    const EmitOptions *options;
    const StepTarget *target;
    const KernelCount *counts; // by kernel, for a profile; NULL: not asked for
} StepPrinter;

struct StepTarget {
    void (*declare)(StepPrinter *s, BufferId b);
    void (*call)(StepPrinter *s, const Kernel *k);
    void (*objects)(StepPrinter *s, const Step *step); // STEP_CALL
    void (*before)(StepPrinter *s, const Step *step);  // NULL: nothing
    void (*outputs)(StepPrinter *s);                   // and the return
    // What a call needs besides a kernel's parameters. NULL: nothing.
    Index (*launch_size)(StepPrinter *s, const Kernel *k);
};

void emit_steps_on(const StepTarget *target, Printer *p, Printer *kernels, const Plan *plan,
                   const EmitOptions *o);
// An input or output of strings or lists, whose variable has this letter before its number; false:
// it is none, and nothing was printed.
bool print_object_input(StepPrinter *s, BufferId b, char letter);
bool print_object_output(StepPrinter *s, uint32_t i, char letter);
// The call of an intrinsic on host memory whose variables have this letter before their number.
void print_call_step(StepPrinter *s, const Step *step, char letter);
// "cameo_bytes(4, 2, (const int64_t[]){d1, 10})"
void print_bytes(Printer *p, BufferId b);

#endif
