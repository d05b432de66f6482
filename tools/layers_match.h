// Which values of two models are the same, where their names differ.
#ifndef CAMEO_TOOLS_LAYERS_MATCH_H
#define CAMEO_TOOLS_LAYERS_MATCH_H

#include "ir/graph.h"

// What is kept of a model's main graph, so that it can be held to another's: how values are
// computed of one another, and samples of its constants.
typedef struct MatchSide MatchSide;

// Needs inferred types. In arena `a`, which has to outlive it; the model need not.
MatchSide *match_see(Arena *a, Model *m);

// The value of the other side that v is known to be; 0: none.
ValueId match_partner(const MatchSide *s, ValueId v);
// Says that two are the same, unless one of them has a partner or their shapes do not fit.
void match_pair(MatchSide *a, MatchSide *b, ValueId v, ValueId w);

// Inputs by name, else in order; outputs in order, where there are as many.
void match_ends(MatchSide *a, MatchSide *b);
// Products and sums with constants that nothing else in either model is like: weights say which
// layer it is.
void match_weights(MatchSide *a, MatchSide *b);
// From what is paired on, as long as something is found: what the same operator gives of paired
// operands and alike constants, and what the same operator made a paired result of.
void match_spread(MatchSide *a, MatchSide *b);

#endif
