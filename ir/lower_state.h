// What the parts of the lowering share: where the next step and the next statement go.
#ifndef CAMEO_IR_LOWER_STATE_H
#define CAMEO_IR_LOWER_STATE_H

#include "ir/lower.h"

enum { MAX_NESTING = 256 };

typedef struct LowerState {
    Tensor *tensors; // by ValueId; buffer 0: none yet
    uint32_t nvalues;
    Step **tail;   // where the next step is linked in
    Step **before; // where checks of the inputs' dims are: ahead of all other steps
    Map checked;   // the pairs of dims that are checked there
    Step *open_steps[MAX_NESTING];
    uint32_t nopen_steps;
    Kernel *kernel; // the open kernel, or NULL
    Stmt **stmt_tail;
    Stmt *open_stmts[MAX_NESTING];
    uint32_t nopen_stmts;
    DType *local_types; // by LocalId
    uint32_t *local_ranks;
    uint32_t local_cap;
    bool written_out; // loops whose number of iterations is known become their iterations
    bool failed;
} LowerState;

Step *lower_step(Lower *l, StepKind kind); // appended

// A node whose operator has a contract (ir/contract.h): a call of its C function.
void lower_custom(Lower *l);

// Are n indices there, and is none too large? The node is refused where not.
bool lower_indices_fit(Lower *l, uint32_t n, const Index *at);

#endif
