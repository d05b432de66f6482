// Adjoints that are gathered: where a kernel stores a sum of loads, or of products of two, whose
// places solve for its loop variables, what it adds to the adjoint of what it reads is a sum of the
// same kind, and not a scatter.
#ifndef CAMEO_IR_ADJOINT_GATHER_H
#define CAMEO_IR_ADJOINT_GATHER_H

#include "ir/lower.h"

enum { GATHER_VARS = 32, GATHER_PARTS = 32 };

// One load x[at] of a term: scale * sum over vars where `where` of x[at] * other. Expressions are
// those of the kernel that is derived; absent ones are 1, or true.
typedef struct GatherPart {
    const Expr *load, *other, *scale, *where;
    uint32_t nvars;
    const LoopId *vars;
} GatherPart;

// A kernel y[at] = sum of the parts + sum of `rest`, its loops parallel.
typedef struct GatherPlan {
    Lower *l;
    const Stmt *store;
    uint32_t nloops, nparts, nrest;
    LoopId loops[GATHER_VARS];
    GatherPart parts[GATHER_PARTS];
    const Expr *rest[GATHER_PARTS];
} GatherPlan;

// Takes the kernel apart; active: by buffer, nbuffers of them, what is derived by. false: it is
// not of that form, or none of its parts can be gathered.
bool gather_plan(Lower *l, const Kernel *k, const uint8_t *active, uint32_t nbuffers,
                 GatherPlan *plan);
// A kernel that adds to bar_x (stores to it unless it has begun) what part i gives, bar_y being the
// adjoint of what the kernel stores.
void gather_emit(const GatherPlan *plan, uint32_t i, Tensor bar_y, Tensor bar_x, bool begun);

#endif
