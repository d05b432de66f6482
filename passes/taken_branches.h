// Branches that data decide: what is computed of a model on data that all take one branch of an If
// can be computed as if the branch stood in its place.
#ifndef CAMEO_PASSES_TAKEN_BRANCHES_H
#define CAMEO_PASSES_TAKEN_BRANCHES_H

#include "base/diag.h"
#include "ir/graph.h"

enum { MAX_ASKED = 64 };

// The main graph's If nodes whose condition is not known, in order, at most MAX_ASKED of them.
uint32_t branches_count(const Model *m);
// The model's outputs become the conditions of these nodes.
void branches_ask(Model *m);
// taken[k]: which branch the k-th of them takes, 1 or 0; negative: it stays an If. The branches
// are put in their places and the model goes through pass_pipeline again. false with diagnostics.
bool branches_take(Model *m, Diags *diags, const int8_t *taken, uint32_t n);

#endif
