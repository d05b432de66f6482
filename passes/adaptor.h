// Where the nodes that repairs insert go: right behind the definition of what they convert, or at
// the front of the branch that alone needs it; never into a loop that the value comes from outside
// of.
#ifndef CAMEO_PASSES_ADAPTOR_H
#define CAMEO_PASSES_ADAPTOR_H

#include "ir/builder.h"

// A node `op` (one operand, one result) that converts v for these uses, which then read its result.
// A use as the main graph's output keeps the output's name: v becomes NAME_inner then. Returns the
// node.
NodeId adaptor_insert(Builder *a, ValueId v, const char *op, const char *suffix, const Use *uses,
                      uint32_t nuses);
// The uses read `to` from now on.
void adaptor_redirect(Builder *a, ValueId v, ValueId to, const Use *uses, uint32_t nuses);

// Puts nodes in order of execution after a repair made them read what stood behind them. A file
// that was in order is written in the new one; one that was not keeps its own (Graph.unsorted).
void repair_sort(Model *m, Arena *scratch);

// Elements of v, dims that are not known counted as 16, times 16 for each loop around it: what
// prices go by.
double value_weight(const Model *m, ValueId v);

#endif
