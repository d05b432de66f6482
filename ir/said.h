// What declarations say of the dtypes of values, also of those that have none of their own.
#ifndef CAMEO_IR_SAID_H
#define CAMEO_IR_SAID_H

#include "ir/graph.h"

// The dtype that v is declared as, or that a declared value has which v is tied to by the schemas'
// type variables, branches and bodies behind it; DT_NONE: nothing is said, or not one thing. The
// first question looks through the whole model, what comes of it is kept in the model's arena.
DType said_dtype(Model *m, ValueId v);
// Declarations may be others now.
void said_forget(Model *m);

#endif
