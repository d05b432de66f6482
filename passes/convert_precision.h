// A model's precision changed: which nodes compute in another float dtype, and the model rewritten
// so that they do.
//
// 1. What is allowed (convert_allowed.c): the schema, the target's kernels, ranges and the policy.
// 2. What is chosen: one label problem of two labels, the dtype asked for and the one that is there
//    (passes/solver/labels.h), which one minimum cut solves.
// 3. Rewriting: constants stored otherwise, Casts given another target or deleted, one new Cast for
//    each value and dtype, declarations inside of the model.
#ifndef CAMEO_PASSES_CONVERT_PRECISION_H
#define CAMEO_PASSES_CONVERT_PRECISION_H

#include "base/diag.h"
#include "passes/solver/labels.h"
#include "passes/target.h"

typedef enum ConvertPolicy {
    CONVERT_CAMEO,    // what ranges and formulas allow, where it pays
    CONVERT_AUTOCAST, // the operator lists of PyTorch's autocast for CUDA
    CONVERT_ALL       // whatever the schema allows
} ConvertPolicy;

// The magnitudes that a value had on calibration data. greatest < 0: it was not measured.
typedef struct ConvertSeen {
    double greatest;
    double rms;
    double elements; // of one run, all iterations of loops around it; 0: not known
    bool negative;   // no element above 1
} ConvertSeen;

// What bfloat16 changes in Cameo's own kernels on the processor that is compiled for: multiply-adds
// of a convolution without groups in the time of one of float32; those of float32 in the time of
// copying or casting an element.
typedef struct ConvertHalves {
    double products, copied;
    bool windows; // those of each channel by its own window copy nothing, and take as long
} ConvertHalves;

typedef struct ConvertOptions {
    DType to;       // float16, bfloat16 or float64
    bool mixed;     // whatever is fastest at the target; else every product that may be in `to` is
    bool io;        // inputs and outputs of the model too
    bool predict;   // only the choice is asked for: the report, and the model stays as it is
    bool in_memory; // no file is written: operators may take dtypes that a later opset gave them
    const ConvertHalves *halves; // in memory; NULL: not Cameo's own kernels
    ConvertPolicy policy;
    const Target *target; // NULL: none is named; time as on cuda-sm80, sums in the dtype itself
    // By value (nfacts of them), NULL: nothing is known.
    const ConvertSeen *measured;
    const double *noise; // share of the output's variance, relative, that rounding it makes
    uint32_t nfacts;
    const bool *lowered; // by node (nlowered of them), NULL: none. It is in `to`, if it may be
    uint32_t nlowered;
    double lambda; // price of a unit of noise, as a part of the time of the whole model
} ConvertOptions;

// A node that stays in its dtype.
typedef struct ConvertKept {
    NodeId node;
    Str why;
    ValueId of;    // the value that it is said of; 0: the node itself
    bool by_price; // it might be in `to`
} ConvertKept;

typedef struct ConvertReport {
    double products, low_products; // multiply-adds; dims that are not known count as 16
    uint32_t nodes, low_nodes;     // that compute with floats
    uint32_t casts, dropped;       // Casts inserted and deleted
    uint32_t defaults;             // weights that are listed as inputs too, and retyped there
    uint32_t constants, clamped;   // constants stored otherwise; finite elements beyond the range
    uint64_t weights_before, weights_after; // bytes
    uint32_t measured, assumed;             // values in `to` whose range is measured, or assumed
    double noise;                           // predicted: sum over all that is rounded
    Cost total, bound;                      // of the cut; equal: proved least
    VEC(ConvertKept) kept;
} ConvertReport;

// Changes an inferred model without calls of its own functions; types are inferred again. What is
// kept says why in its node's metadata "cameo.precision", and names the value that it is kept for,
// if it is another's, in "cameo.precision.of". With o->predict nothing is changed, and the report
// has no Casts, constants or nodes that are kept. false with a diagnostic: the model's opset has no
// Cast to the dtype, or operands did not fit before.
bool convert_precision(Model *m, const ConvertOptions *o, Diags *diags, ConvertReport *r);

// Multiply-adds of a node that is a product or a recurrent cell; 0 of any other.
double convert_products(const Model *m, NodeId n);

// Does an operator only move or pick numbers, so that its result is rounded if its operand is?
bool convert_moves(const Node *n);

#endif
