// The verifier of the graph IR.
#ifndef CAMEO_PASSES_VERIFY_H
#define CAMEO_PASSES_VERIFY_H

#include "base/diag.h"
#include "ir/graph.h"

// Kinds of faults. VERIFY_TABLES is a bug wherever it is found; the others a model's author can
// make too: then lint has findings, and a pass is not to blame for what was there before it.
enum {
    VERIFY_TABLES = 1, // ids out of range, definitions and lists that disagree
    VERIFY_DANGLING = 2,
    VERIFY_SCOPE = 4,  // a value of a graph that is not around the use
    VERIFY_ORDER = 8,  // a use before its definition
    VERIFY_NAMES = 16, // two values of one name, or a name that hides the one that is meant
    VERIFY_ARITY = 32, // operands, results and required attributes against the schema
    VERIFY_ATTRS = 64, // kinds of attributes against the schema
    VERIFY_ALL = 127
};

// Looks for the kinds in `wanted`; reports the first fault of each as an error of rule "VERIFY"
// unless diags is NULL. Returns the kinds found. Schemas are those bound (registry_bind).
uint32_t verify_model(const Model *m, uint32_t wanted, Diags *diags);

#endif
