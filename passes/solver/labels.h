// Labels (dtypes, devices) for what makes and uses values, with the fewest adaptors between them.
//
// A *variable* takes one of the labels that it allows, at a price for each: a node's type variable,
// a weight that may be stored otherwise, a graph input whose label is given. A *value* bears the
// label of the variable that makes it. A *use* asks for the value in its own variable's label.
// Where a label is asked for that the value does not bear, one adaptor makes it, whose price is
// paid once for each (value, label) however many uses share it, inside loops or outside of them.
//
//     total = sum over variables: price(variable, its label)
//           + sum over (value, label): adaptor(value, label)
//                                      if some use has the label and the maker does not
#ifndef CAMEO_PASSES_SOLVER_LABELS_H
#define CAMEO_PASSES_SOLVER_LABELS_H

#include "passes/solver/mincut.h"

enum { LABELS_MAX = 32 };
typedef uint32_t LabelSet; // bit l: label l

typedef struct Labels Labels;

// A problem without variables whose labels are 0 .. nlabels-1, living in the arena.
Labels *labels_new(Arena *a, uint32_t nlabels);

// Says that labels stand in an order and that adaptors go step by step: a value of label 1 that is
// asked for in label 3 is adapted to 2 and to 3, and each of these is paid once for its value.
void labels_in_order(Labels *l);

// A variable; `allowed` must hold at least one label. Prices are 0 until set.
uint32_t labels_variable(Labels *l, LabelSet allowed);
void labels_price(Labels *l, uint32_t variable, uint32_t label, Cost price);
// A value made by a variable. Adaptors cost 0 until priced. Prices of an adaptor are below
// COST_NEVER / 4 in sum over the problem.
uint32_t labels_value(Labels *l, uint32_t maker);
void labels_adaptor(Labels *l, uint32_t value, uint32_t label, Cost price);
void labels_use(Labels *l, uint32_t value, uint32_t user);

// Chooses. The problem falls into parts that share no undecided variable. A part with two labels,
// or with ordered ones, is one minimum cut (Ishikawa 2003 for the latter); any other is improved by
// expansion moves, each a minimum cut (Boykov, Veksler, Zabih 2001), and bounded from below by one
// cut for each label with multipliers that make them agree.
void labels_solve(Labels *l);

// After labels_solve:
uint32_t labels_of(const Labels *l, uint32_t variable);
Cost labels_total(const Labels *l); // of the labels chosen
Cost labels_bound(const Labels *l); // no choice costs less; equal to the total where that is proved

#endif
