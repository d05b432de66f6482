// What a repair of dtypes does to a model: what a finding offers, planned or done, and its words.
#ifndef CAMEO_PASSES_LINT_MENDS_H
#define CAMEO_PASSES_LINT_MENDS_H

#include "base/diag.h"
#include "ir/graph.h"

typedef enum MendKind {
    MEND_STORE,  // a constant is stored as `to`
    MEND_DELETE, // a Cast goes
    MEND_TURN,   // a Cast gives `to`
    MEND_READ,   // what a Cast gives is read that is there already
    MEND_GIVE,   // a QuantizeLinear is given a zero point of `to`
    MEND_INSERT, // a new Cast gives `to`
    MEND_DECLARE // a value is declared as `to`
} MendKind;

typedef struct Mend {
    MendKind kind;
    Str what;   // a value's name, or where a node stands; INSERT: where the Cast comes to stand
    DType to;   // DT_NONE where the kind has none
    ValueId at; // as written: what it acts on
    uint64_t values, inexact; // STORE: elements, and how many of them change
    uint64_t infinite;        // STORE: how many finite ones become infinite
    Str change;               // STORE: "1e-50 becomes 0" where it is one that changes; else absent
    bool loses;               // bits of what some operand is: it is not safe
} Mend;

typedef VEC(Mend) Mends;

// Adds a mend, unless one of its kind acts on what is called the same.
void mends_add(Arena *a, Mends *w, Mend mend);
bool mends_have(const Mends *w, MendKind kind);

// Fills in what storing the tensor as mend->to does to its elements.
void mends_store(Model *m, Arena *a, TensorData *t, Mend *mend);

// A new fix that says all of them: "store "w" as float32 (all 4 values exact): 0 casts added". Safe
// if nothing is lost.
Fix mends_fix(Arena *a, const Mends *w);

#endif
