// How much the error of each value moves the model's outputs: one sweep of derivatives backwards.
//
// For s = sum_j r_j out_j the model computes bar_v = ds/dv of every float value v, node by node
// from the outputs to the inputs, each node's part by ir/adjoint.c on its own kernels. r is a unit
// vector (exact, an element at a time) or random signs (E of what is quadratic in r is the sum over
// the output's elements), chosen by one further input, so that one compiled module serves all r.
// Next to each v a few numbers are made of bar_v and v (runtime/cameo_sensitivity.h) and nothing
// else leaves the module: what rounding v to float16, bfloat16 or float32 adds to the output's
// variance, and what the error that v's node made (passes/shadow.h) adds to it. Contributions of
// different values add.
//
// A recurrent operator is derived step by step where the number of steps is known. A node whose
// kernels have no derivative (a Loop, an If) is taken as a whole: it is computed in float64 once
// more for each of its operands, moved a little in a random direction; how much its results follow
// is measured, where in the operand it comes from is assumed to be even. What stands inside of its
// graphs has no numbers of its own.
#ifndef CAMEO_PASSES_SENSITIVITY_H
#define CAMEO_PASSES_SENSITIVITY_H

#include "base/diag.h"
#include "ir/graph.h"
#include "runtime/cameo_sensitivity.h"

// What the further input of the module is called: int64[3], see SENS_PROBE_*.
#define SENS_INPUT "cameo.probe"

typedef enum SensKind {
    SENS_OF_NODE,  // a node's result
    SENS_OF_INPUT, // an input of the model
    SENS_OF_WEIGHT // a constant that a node reads
} SensKind;

// A value of floats and what is known of it. Ids, names and paths are those of the model as
// pass_pipeline leaves it.
typedef struct SensValue {
    ValueId value;
    NodeId node; // that makes it; 0: an input or a weight
    SensKind kind;
    DType dtype;     // the model's own
    bool exact;      // the node makes no error of its own: it moves, picks or compares numbers
    bool made;       // numbers[SENS_MADE..] are there: the shadow's error of this node, measured
    bool assumed;    // between it and an output lies a node taken as a whole
    bool opaque;     // the node is such a one
    bool blind;      // the node has no derivative in any way: what is before it counts as 0
    uint32_t output; // of the rewritten model: its numbers, SENS_FIELDS of float64
    Str name, op;    // as in the file
    Str path;        // of the node, escaped; of inputs and weights that of the graph's value
} SensValue;

// An output of floats: sums over its elements (SENS_SUM, SENS_ERROR) are those of its value.
typedef struct SensOutput {
    ValueId value;
    Str name;
    uint32_t record; // of `values`
    uint32_t number; // among all outputs: what a probe names
} SensOutput;

// A node that decides something by numbers: derivatives do not see what happens where it decides
// otherwise.
typedef struct SensDecision {
    ValueId value; // what it decides by
    NodeId node;
    uint32_t record; // of `values`
    uint32_t number; // among all probes
    uint32_t output; // of the rewritten model: its margins, MARGIN_FIELDS of float64
    Str name, op;    // of the value and the node, as in the file
    Str path;
} SensDecision;

// A node of strings or quantised integers: it is the model's own in the shadow too.
typedef struct SensPlain {
    Str op, path;
} SensPlain;

typedef struct SensReport {
    VEC(SensValue) values; // inputs, weights, then nodes in order of execution
    VEC(SensOutput) outputs;
    VEC(SensDecision) decisions; // in order of execution
    VEC(SensPlain) plain;        // in order of execution
    bool may_only_decide; // set before: a model will do that gives no floats but decides by some
    bool wants_sizes;     // a recurrent node is taken as a whole for want of its number of steps
} SensReport;

// Rewrites the model, which has been through pass_pipeline: its outputs become the numbers above.
// Types have to be inferred again. false with a diagnostic: no output is of floats (and nothing is
// decided, where that would do), or what it is computed of has no shape.
bool sensitivity_model(Model *m, Diags *diags, SensReport *report);

#endif
