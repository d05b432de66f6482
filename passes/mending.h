// The problem that insert_casts.c poses, and what its choices cost (mending.c).
#ifndef CAMEO_PASSES_MENDING_H
#define CAMEO_PASSES_MENDING_H

#include "passes/insert_casts.h"
#include "passes/lint/blame.h"
#include "passes/solver/labels.h"
#include "passes/ties.h"

// Prices below a cast's: bytes take 0 .. FINE in sum.
enum { FINE = 1 << 20, PRICE_EXACT = 1, PRICE_NARROW = 4, PRICE_TARGET = 8, PRICE_ROUNDED = 32 };
enum { PRICE_FOREIGN = 64, PRICE_MOST = 128 };
// Bytes that a tie is charged for an element at most: more than a Cast reads and writes for one.
enum { MOST_BYTES = 32 };

// Calls are looked at as copies of their bodies. Where a value outside of one is read through a
// Cast within, the call cannot be put back; where another place of the body is, the body has to be
// changed for all calls.
typedef enum CallCasts { CALLS_OPEN, CALLS_WITHIN, CALLS_NONE } CallCasts;

typedef struct Mending {
    Model *m;
    Arena *a;
    Repair *r;
    Ties *t;
    uint32_t *parent;    // of ties that may choose, joined where a value connects them
    TypeSet *candidates; // by root: dtypes that values of the part have
    bool *faulty;        // by root
    TypeSet *seen;       // by tie: dtypes of its operands as they are
    const bool *pinned;  // by tie: a Cast that is there already and keeps its target
    const bool *apart;   // by tie: a Cast that nothing else is to make use of
    uint32_t *copies;    // by value as written: how many calls have it
    bool *several;       // by value as written, a Cast's: is it given several dtypes?
    uint32_t *first;     // by value as written: the tie of its first copy
    double *weight;      // by tie: elements that it reads and writes
    uint32_t *members;   // by tie: operands and results
    uint32_t *scale_of;  // by tie of what QuantizeLinear reads: its scale's, with which it decides
    const bool *counted; // by value: an integer that counts (passes/counted.h)
    bool *counts;        // by tie: is something that it reads or writes counted?
    uint32_t *variable;  // by tie
    uint32_t *value;     // by value: its number in the problem
    VEC(NodeId) retargeted; // Casts with another target than before
    Labels *l;
    TypeSet dtypes;          // that anything in the problem may take
    uint8_t label[DT_COUNT]; // by dtype: its number there
    DType dtype[LABELS_MAX]; // by label
    bool skipped; // was a cast not possible, from what the value came to have, that was counted on?
    double scale; // fine units a byte
    Cost cast, never;    // prices
    const Blame *blamed; // by value as written: what findings ask of it
    bool strict;         // is no float constant narrowed but what is to blame?
    CallCasts calls;     // who may make use of a Cast in a function's body
    const bool *alike;   // by value as written: its copies take no Cast; NULL: all may
    bool settled;        // does a Cast that is not to blame keep its target?
    TypeSet from, to;    // what Cast takes and gives at the model's opset
    DType own;           // the model's float dtype
} Mending;

static inline TypeSet bit(DType t)
{
    return (TypeSet)1 << t;
}

static inline bool is_one(TypeSet s)
{
    return (s & (s - 1)) == 0;
}

static inline Tie *tie_at(const Mending *w, uint32_t i)
{
    return &w->t->at.at[i];
}

// Counts the copies of what is written in bodies, and compares what copies of one Cast are given.
void mending_see_copies(Mending *w);
// Lets QuantizeLinear ask for what declarations say of what it scales, of both that and the scale.
void mending_heed_declared(Model *m, Ties *t, Arena *a);
// Is there a Cast of v to t already, in v's own graph? Its node; 0: none.
NodeId mending_cast_there(const Mending *w, ValueId v, DType t);
// What it costs that tie i has dtype t, where the part that it is in has these dtypes. A constant
// or Cast that may not have it: 0, as for its own.
Cost mending_price_of_tie(const Mending *w, uint32_t i, DType t, TypeSet candidates);
// Is it a Cast to what no Cast gives at the model's opset, that may have no other target either?
bool mending_is_beyond(const Mending *w, uint32_t i, TypeSet candidates);
// What one Cast of v from dtype `from` to t costs; w->never where there may be none.
Cost mending_price_of_cast(const Mending *w, ValueId v, DType from, DType t);
#endif
