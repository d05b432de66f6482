// Values whose elements only move: from where they are cast, through what moves them, to where they
// are cast again.
#ifndef CAMEO_PASSES_LINT_MOTION_H
#define CAMEO_PASSES_LINT_MOTION_H

#include "passes/lint/lint.h"

typedef enum Motion {
    MOTION_NONE,
    MOTION_MOVES, // elements come out as they go in; Neg and Abs, which are exact, count too
    MOTION_ORDERS // what comes out is one of what goes in, chosen by order: Max, Relu
} Motion;

// Does the node only move what its data operands hold?
Motion motion_of(const Node *n);
// Is operand i such data? (Indices, shapes and axes are not.)
bool motion_is_data(const Node *n, uint32_t i);

// Values of one dtype that motion connects.
typedef struct Region {
    DType dtype;
    DType from;        // what its Casts convert from; DT_NONE where they differ, or there is none
    VEC(NodeId) enter; // Casts that make values of it
    VEC(NodeId) leave; // Casts that read values of it
    VEC(NodeId) nodes; // those that move
    VEC(ValueId) values;
    bool foreign; // some value is made by what is no Cast and moves nothing
    bool used;    // some value is used otherwise, or is a graph's output
    bool orders;  // some node is MOTION_ORDERS
} Region;

typedef struct Regions {
    Model *m;
    Arena *arena;
    const Uses *uses;
    Region *at; // those of float values next to a Cast
    uint32_t len;
    uint32_t *of; // by value: 1 + index of its region, 0: none
} Regions;

Regions regions_of(Model *m, const Uses *uses, Arena *a);

// Those of the model, for all rules of one run.
const Regions *lint_regions(Lint *l);

// May all nodes of the region run in t, by the schema at their opset?
bool region_allows(const Regions *x, const Region *r, DType t);

bool is_cast(const Model *m, NodeId n); // of one operand with a known dtype, to a known one
DType cast_from(const Model *m, NodeId n);
DType cast_to(const Model *m, NodeId n);

#endif
