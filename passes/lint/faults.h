// Dtypes that do not fit, each fault once: what DT001, DT002, DT003, DT004, DT005, DT015 and QN001
// report.
#ifndef CAMEO_PASSES_LINT_FAULTS_H
#define CAMEO_PASSES_LINT_FAULTS_H

#include "passes/lint/sides.h"
#include "passes/lint/story.h"

// The most specific first: of faults with one origin that one is told, the others are its notes.
typedef enum FaultKind {
    FAULT_ZERO_POINT,  // QN001
    FAULT_BRANCH,      // DT004
    FAULT_CARRIED,     // DT005
    FAULT_CONDITION,   // DT005: what a loop's body gives for whether to go on, which is no operand
    FAULT_CAPTURED,    // DT015
    FAULT_DECLARED,    // DT002
    FAULT_UNSUPPORTED, // DT003
    FAULT_OPERAND,     // DT001
    FAULT_BEHIND       // none: mended where another fault is, which was seen later
} FaultKind;

// A place that a fault reaches: an operand of a node, a result of one, or a declared value.
typedef struct FaultSpot {
    NodeId node; // 0: `value` is declared
    uint32_t index;
    bool result;
    ValueId value;
} FaultSpot;

// How many places, and the first of them; and which comes first by names, in whatever order nodes
// stand.
typedef struct FaultReach {
    uint32_t count;
    FaultSpot first[3], least;
} FaultReach;

typedef struct Fault {
    FaultKind kind;
    NodeId node;
    uint32_t index, other; // operands; BRANCH: the output, CARRIED: the number of the carried
                           // value; DECLARED: other is 1 where the declaration is at fault
    ValueId value;         // the side that should change
    DType have, want;      // want: DT_NONE where nothing says
    bool output;           // DECLARED: as an output of its graph; UNSUPPORTED: a result of the node
    bool alone;            // its source mends all that differs with it, and no other is as good
    FaultReach also;       // further places that its origin reaches
    // Further sides that should change: those of the node's other operands, and of other places
    // that differ from the same value.
    ValueList with;
    ValueList said; // what is declared as the dtype to change, and would have to change with it
} Fault;

typedef struct Faults {
    VEC(Fault) all;
    uint32_t *told; // by value, as written in the file: 1 + index of the fault that begins there
} Faults;

const Faults *lint_faults(Lint *l);
// Where the fault itself is told.
FaultSpot fault_spot(const Fault *f);
// The value that a spot is about.
ValueId fault_spot_value(const Model *m, const FaultSpot *s);
// Does one spot come before another by names? Which nodes stand in front says nothing.
bool fault_spot_before(const Model *m, const FaultSpot *a, const FaultSpot *b);

#endif
