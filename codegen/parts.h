// Parts of kernels whose work threads share: the text of a part becomes a function over units
// from .. to, which the kernel has called for all of its units (runtime/cameo_share.h).
//
// The units of a part may be divided anywhere: what they store does not depend on it. Which kernels
// have parts is decided by their work when compiling, or by a comparison where sizes are open.
#ifndef CAMEO_CODEGEN_PARTS_H
#define CAMEO_CODEGEN_PARTS_H

#include "codegen/plan.h"
#include "codegen/print_parts.h"

typedef VEC(LoopId) PartLoops;

typedef struct Part {
    Buf text;
    KernelUses uses;
    PartLoops loops; // of the kernel around it, in which it stands
    BufferId own;    // a buffer that each thread has its own of, 0: none
    bool has_mode;   // the text has the variable `mode`, which is args.mode when it is called
} Part;

// What each thread has of its own in a part of a kernel.
typedef struct PartOwn {
    BufferId buffer;
    uint32_t kernel; // Kernel.id
} PartOwn;

// A size that is computed before a part's loops.
typedef struct SteadySize {
    const Atom *atom;
    const char *text;
} SteadySize;

typedef struct Parts {
    const Plan *plan;
    int64_t much;          // see PART_MUCH
    VEC(Part) now;         // of the kernel that is printed
    VEC(uint8_t) shared;   // by Kernel.id: has parts
    VEC(PartOwn) own;      // of all parts
    PartLoops around;      // loops of the kernel around what is printed
    bool inside;           // a part is being printed
    LoopId divided;        // loop of the part whose bounds are low and high; 0: none
    Part part;             // that one
    KernelUses outside;    // what the text before and behind it uses
    Buf *out;              // where that goes
    uint32_t indent, mark; // of it
    VEC(Memo) masked;      // variables of it: not seen inside
    VEC(SteadySize) steady; // of it, as size0, size1 ...
    KernelUses *of_steps;  // of the whole module; NULL: nobody asked yet
} Parts;

// What a unit of work costs is counted in tenths of a nanosecond on one core, roughly. So much of
// it is worth what it takes to give it to another thread.
enum { PART_MUCH = 25000 };

// Of what is printed from here on threads may share the work. `much`: for PART_MUCH; 0: that.
void parts_new(Printer *p, const Plan *plan, uint32_t much);

// A part begins, from here to parts_end; p->parts must be there and no part be open. `own`: a
// buffer that it writes and only its own thread reads; parts_may_own holds.
void parts_begin(Printer *p, BufferId own);
// `units` and `grain`, the least number of them that a thread takes at once, are text.
void parts_end(Printer *p, const char *units, const char *grain);
// The variable for a size that no loop changes and that takes several divisions or extremes, as
// those of dims which Reshapes make of others do; `print` gives its text. NULL: it has none here.
const char *parts_steady(Printer *p, const Atom *a,
                         const char *(*print)(Printer *p, const Atom *a));
// The grain of units of so much work; of units that are so much work in all.
const char *parts_grain(Printer *p, Index work);
const char *parts_grain_of(Printer *p, Index work, const char *units);

// Is so much work worth it to be shared? Where sizes are open: may it well be?
bool parts_worth(Printer *p, Index units, Index work);
// May this buffer be a thread's own: is it memory of the module?
bool parts_may_own(const Printer *p, BufferId b);
// Loops around parts of a kernel.
void parts_around(Printer *p, const Bounds *b, bool on);

// A loop over the units of a part, which stand for all of these variables, the last one fastest.
void parts_nest_begin(Printer *p, uint32_t n, const LoopId *vars);
void parts_nest_end(Printer *p, uint32_t n, const LoopId *vars);
// Where a unit is: a variable for each loop, bound until the nest's end.
void parts_print_places(Printer *p, uint32_t n, const LoopId *vars);
// Product of their extents.
Index parts_units(Printer *p, uint32_t n, const LoopId *vars);

// The work of an expression, once for each combination of the loops that it depends on and that
// are not in `bound`.
Index parts_work(Printer *p, const Stmt *body, uint32_t n, const LoopId *bound);

// Prints a parallel loop at the top of a kernel as a part; false: it is none, or not worth it, and
// nothing was printed.
bool parts_print_for(Printer *p, const Stmt *loop);

// Prints the loops of a part, n of them around `last`, as copies past the caches; false: they are
// none, or somebody reads what they copy soon, and nothing was printed (codegen/cpu/away.c).
bool away_print(Printer *p, const Stmt *last, uint32_t n, const LoopId *vars);

// For the dialect: the functions of the kernel's parts, and what its own begins with.
void parts_print(Printer *p, const Kernel *k, const KernelUses *u);
void parts_print_args(Printer *p, const Kernel *k, const KernelUses *u);
void parts_end_kernel(Printer *p, const Kernel *k);
bool parts_in_kernel(const Printer *p);
// Has a kernel that was printed parts? Has any?
bool parts_shared(const Printer *p, const Kernel *k);
bool parts_any(const Printer *p);
// "cameo_max_i64(4 * d1, 1024)": bytes of own buffers of a thread that are known before a run.
const char *parts_scratch(Printer *p);
// The same of those of a kernel that only steps tell, before it is called; NULL: there are none.
const char *parts_scratch_of(Printer *p, const Kernel *k);

#endif
