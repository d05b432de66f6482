// Types that calls of the model's own functions give, for a model that still has its calls.
#ifndef CAMEO_PASSES_CALLED_TYPES_H
#define CAMEO_PASSES_CALLED_TYPES_H

#include "ir/graph.h"

// Model.given of a model with calls, from `seen`: the same model with its functions inlined and
// inferred (values of the file have the same ids), or the model itself where its calls were put
// back after that (`put_back`): calls that a repair left written out are none any more. What calls
// give is given to their results.
//
// `bodies`: what all calls of a function agree on is given to its inputs as well, so that inference
// and repairs look into its body: dtypes, else nothing of the function is given, and dims. A
// function whose nodes refer to its attributes is left out, since each call may mean another node.
//
// Lives in `a`; `seen->values.len` entries.
const Type *const *called_types(const Model *seen, Arena *a, bool bodies, bool put_back);

// By function: does anything call it? What nobody calls is no part of the model.
const bool *called_functions(const Model *seen, Arena *a, bool put_back);

// By function: is its body one that repairs can look into? `seen` is as above.
bool *called_bodies(const Model *seen, Arena *a);

#endif
