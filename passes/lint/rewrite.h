// Building blocks of repairs that replace nodes.
#ifndef CAMEO_PASSES_LINT_REWRITE_H
#define CAMEO_PASSES_LINT_REWRITE_H

#include "ir/builder.h"
#include "passes/lint/numbers.h"

typedef struct Rewrite {
    Model *m;
    NumberFacts *numbers; // of the model before the first change
    Arena *scratch;
    Builder builder;
    bool *touched;   // by node that was there before: part of a change already
    bool *read;      // by value that was there before: a new node reads it
    uint32_t nnodes; // nodes that were there before
    uint32_t nvalues;
    NodeId at; // new nodes stand in front of this one, and are named after what it makes
} Rewrite;

// Runs `mend` for every live node of a model, again after inference as long as it changes
// something: how many changes it made. `mend` gives those that it made for the node.
uint32_t rewrite_model(Model *m, bool unsafe, uint32_t (*mend)(Rewrite *e, NodeId n));

// Marks a node as part of the change at hand; false if another change has it already.
bool rewrite_take(Rewrite *e, NodeId n);

// Each gives the new node's result; the dtype is what inference will find.
ValueId rewrite_node(Rewrite *e, const char *op, const ValueId *in, uint32_t nin);
ValueId rewrite_cast(Rewrite *e, ValueId v, DType t);
ValueId rewrite_number(Rewrite *e, DType t, double v); // a scalar
ValueId rewrite_ints(Rewrite *e, const int64_t *at, uint32_t n);
ValueId rewrite_constant(Rewrite *e, TensorData *t); // takes its name
// v with what is below lo or above hi moved there (infinite: no bound). Only where
// rewrite_can_limit: operators that broadcast a bound take floats since opset 8, integers since 12.
ValueId rewrite_limit(Rewrite *e, ValueId v, DType t, double lo, double hi);
bool rewrite_can_limit(const Rewrite *e, DType t);
// An attribute of the node that makes v.
void rewrite_set_ints(Rewrite *e, ValueId v, const char *name, const int64_t *at, uint32_t n);
void rewrite_set_int(Rewrite *e, ValueId v, const char *name, int64_t i);
void rewrite_copy_attr(Rewrite *e, ValueId v, NodeId from, const char *name);
// The reduction `op` of v over axes, kept as dims of 1 or not.
ValueId rewrite_reduction(Rewrite *e, const char *op, ValueId v, const int64_t *axes, uint32_t n,
                          bool keep);
// `made` takes the place of the node's first result; the node goes.
void rewrite_replace(Rewrite *e, NodeId n, ValueId made);
// What only `n` needed is left to dead-code elimination; it goes here if nothing uses it.
void rewrite_drop_unused(Rewrite *e, ValueId v);

// ---- stretches: nodes that are to run in another dtype

enum { MAX_STRETCH = 32 };
typedef struct Stretch {
    NodeId nodes[MAX_STRETCH]; // in order of execution
    uint32_t n;
} Stretch;

// `start` and what follows it: nodes that `through` names (space-separated), and behind them those
// that `last` names, with which it ends. All in one graph.
Stretch stretch_from(const NumberFacts *x, NodeId start, const char *through, const char *last);
// Casts that running it in float32 adds.
uint32_t stretch_casts(const NumberFacts *x, const Stretch *s, DType low);
// Has every node of it one result, and no more operands than stretch_widen takes?
bool stretch_is_simple(const Model *m, const Stretch *s);
// Runs the stretch's values of dtype `low` in float32. 1, or 0 if another change has some of it.
uint32_t stretch_widen(Rewrite *e, const Stretch *s, DType low);

#endif
