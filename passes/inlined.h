// What restore_calls.c and repair_bodies.c share: the copies of calls as they were when inlined.
#ifndef CAMEO_PASSES_INLINED_H
#define CAMEO_PASSES_INLINED_H

#include "passes/restore_calls.h"

struct Inlined {
    Arena *a;
    uint32_t nnodes, nopsets;
    uint64_t *print; // by node: of all but its operands
    ValueId **in;    // by node: its operands
    bool *dead;      // by node: a call that was inlined
    bool *gone;      // by node: deleted by the repair, in the function's body too
    NodeId *first;   // by call: its copies, further ones by next[]
    NodeId *next;    // by node
};

// Of all of a node but its operands: equal if nothing of it was changed.
uint64_t inlined_print_of(const Model *m, NodeId n);

#endif
