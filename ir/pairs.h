// Double-double numbers (DT_F64X2): what the shadow of float64 is computed in. No file holds one
// and no graph names one: a node of the graph that is marked computes in float64 as inference and
// its lowering say, and behind lowering all float64 of its kernels becomes such pairs.
#ifndef CAMEO_IR_PAIRS_H
#define CAMEO_IR_PAIRS_H

#include "ir/kernel.h"

// Marks a node (Node.reason): its float64 is pairs, and so is what it gives.
extern const Str pairs_mark;
bool node_is_paired(const Node *n);

// May the kernels of a marked node be so rewritten? `alone` is its lowering (lower_node_alone). Not
// where it calls a function on float64, reads its bits, or has a constant that no float64 holds and
// that is not among those known here to more digits.
bool pairs_can(Module *alone);

// Makes float64 of marked nodes pairs: their kernels, and what control flow copies of their
// results. Of other modules nothing is changed.
void pairs_module(Module *mod);

#endif
