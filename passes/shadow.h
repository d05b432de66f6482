// The float64 shadow of a model: every value once more in float64, and how far the two are apart.
// Of a model that is float64 itself, or where it is asked for, the shadow is double-double
// (ir/pairs.h).
//
// For a float value y = f(x) the model then computes Y = f(X) in float64, X being the shadows of
// what y is computed of (inputs and constants are their own), and L = f(x) in float64 of the values
// as they are. total = y - Y is the error so far; made = y - L is this node's part of it, inherited
// = L - Y what its operands brought. Integers, bools, strings and shapes are the model's own, so
// that the shadow goes the same way; where it would have decided otherwise a flip is counted.
//
// A compact shadow of a float32 value is Y - y in float32 (Y itself where y is no finite number),
// half of what Y takes. It is as exact as Y to 6e-8 of the error so far, which is as small a part
// of every figure; what it can't say is a Y beyond the range of float32 (shadow_overflows). The
// model's outputs are those numbers (runtime/cameo_drift.h) instead of its own.
#ifndef CAMEO_PASSES_SHADOW_H
#define CAMEO_PASSES_SHADOW_H

#include "base/diag.h"
#include "ir/graph.h"

typedef enum ShadowKind {
    SHADOW_FLOAT,   // total, made and inherited
    SHADOW_EXACT,   // total alone: the node only moves or picks numbers, all of it is inherited
    SHADOW_TOTAL,   // total alone: an If, Loop or Scan gives it, its body's values say why
    SHADOW_DECIDES, // no float: where it differs from what the shadow gives (flips)
    SHADOW_RESTART  // the node runs as it is: from here on the shadow follows the value itself
} ShadowKind;

// A value that is reported, in order of execution.
typedef struct ShadowValue {
    ValueId value;
    NodeId node;
    ShadowKind kind;
    DType dtype;     // the model's own
    GraphId graph;   // where it is computed
    uint32_t loops;  // around it
    uint32_t output; // of the model: its numbers, a row for each iteration of the outermost loop
    Str name, op;    // as in the file
    Str path;        // of the node, escaped
    Str call;        // the calls of functions around it, escaped, the innermost first; absent: none
    bool anew;       // a float made of integers or strings that came of floats: their error ends
                     // there, but for what flips
} ShadowValue;

// What the shadow is computed in.
typedef enum ShadowWidth {
    SHADOW_WIDER,  // float64; pairs where no value of the model is a narrower float
    SHADOW_DOUBLE, // float64: a model without narrower floats is refused
    SHADOW_PAIRS   // pairs
} ShadowWidth;

typedef struct ShadowReport {
    ShadowWidth width; // in; what was taken, out
    bool rounded;      // in: float64 values are rounded too (passes/trial.h), so none is refused
    bool compact;      // in: shadows of float32 are kept as their differences, in float32
    VEC(ShadowValue) values;
    uint32_t restarts; // values of kind SHADOW_RESTART
} ShadowReport;

// Rewrites the model, which has been through pass_pipeline; types are not inferred again. false
// with a diagnostic: it holds no float that the shadow is wider than.
bool shadow_model(Model *m, Diags *diags, ShadowReport *report);
// Do a value's numbers say that a compact shadow may not say what it stands for?
bool shadow_overflows(const double *numbers);

#endif
