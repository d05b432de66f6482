// Small changes that repairs of single rules make: nodes taken out, uses that read another value.
#ifndef CAMEO_PASSES_LINT_EDIT_H
#define CAMEO_PASSES_LINT_EDIT_H

#include "ir/registry.h"

typedef struct Edit {
    Model *m;
    Arena *a;     // of the edit alone
    ValueId *to;  // by value: what its uses read instead; 0: itself
    bool *output; // by value: is it an output of a graph?
    DType *dtype; // by value: what its declaration should say from now on; DT_NONE: as it does
    uint32_t size, nodes; // values and nodes when the edit began
    uint32_t count;       // changes
} Edit;

// Changes are gathered between begin and end, and take place at the end, in one pass.
Edit edit_begin(Model *m);
// All uses of v but as a graph's output read `by`.
void edit_replace(Edit *e, ValueId v, ValueId by);
// Takes a node of one result out; what read it reads `by`. Where the result is a graph's output
// the node stays as Identity of `by`.
void edit_drop(Edit *e, NodeId n, ValueId by);
// What a value_info entry says of v is brought in line with its new dtype.
void edit_declare(Edit *e, ValueId v, DType t);
// How many changes were made.
uint32_t edit_end(Edit *e);

#endif
