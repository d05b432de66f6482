// What restore_calls.c and repair_bodies.c share: the copies of calls as they were when inlined.
#ifndef CAMEO_PASSES_INLINED_H
#define CAMEO_PASSES_INLINED_H

#include "passes/restore_calls.h"

struct Inlined {
    Arena *a;
    uint32_t nnodes, nopsets;
    uint64_t *print; // by node: of all but its operands
    uint64_t *held;  // by node: of the initializers of its graphs
    ValueId **in;    // by node: its operands
    bool *dead;      // by node: a call that was inlined
    bool *gone;      // by node: deleted by the repair, in the function's body too
    NodeId *first;   // by call: its copies, further ones by next[]
    NodeId *next;    // by node
};

// Of all of a node but its operands: equal if nothing of it was changed.
uint64_t inlined_print_of(const Model *m, NodeId n);
// Of the dtypes of the initializers in the graphs that a node holds.
uint64_t inlined_held_of(const Model *m, NodeId n);

// Does operand i of a node take any number, and decide nothing, as that of Cast and Shape?
bool inlined_takes_any(const Node *n, uint32_t i);
// The value made within a call that `reader`, which is outside of it, reads as v, itself or through
// a new Cast; 0: v is none. A call's own results are not within. `reader` 0: the model's outputs.
ValueId inlined_peeked(const Model *m, const Inlined *x, ValueId v, NodeId reader);

#endif
