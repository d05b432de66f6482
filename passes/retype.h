// Constants stored in another dtype.
#ifndef CAMEO_PASSES_RETYPE_H
#define CAMEO_PASSES_RETYPE_H

#include "ir/registry.h"
#include "passes/losses.h"

// Has every number of `from` an exact counterpart in `to`? Casting then loses nothing.
bool dtype_holds(DType to, DType from);

// The elements of an initializer, or of what a Constant or ConstantOfShape node gives; NULL if v is
// none of these, or not dense.
TensorData *constant_data(Model *m, ValueId v);

// Has every element an exact counterpart in t? Only for numbers (bool is none).
bool constant_is_exact(Model *m, TensorData *d, DType t);

// What the elements lose as t: all of them where they are no numbers, or cannot be read. Large
// constants are read once for each t, whoever asks.
Losses constant_losses(Model *m, TensorData *d, DType t);

// A new tensor of d's elements as t, each rounded to nearest. NULL if they cannot be read.
TensorData *tensor_cast(Model *m, TensorData *d, DType t);

// Stores v's elements as t, each rounded to nearest. false if they cannot be read.
bool constant_retype(Model *m, ValueId v, DType t);

#endif
