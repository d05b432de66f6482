// Products of float16 and bfloat16 as the faster code takes them.
//
// A kernel y = f(sum of cast(a) * cast(w)) whose factors or y have 16 bits becomes up to three:
// factors made float32 in buffers of the memory plan, the sum in float32, and f of it. A constant
// factor that is packed as it is (codegen/cpu/narrow.h) stays; others are made float32 when
// compiling. Numbers are those of the one kernel, since the sum is in float32 there too.
#ifndef CAMEO_CODEGEN_CPU_HALVES_H
#define CAMEO_CODEGEN_CPU_HALVES_H

#include "ir/kernel.h"

// false with *error where a constant cannot be read.
bool halves_widen(Module *mod, Str *error);
bool halves_dtype(DType t); // float16 or bfloat16
// cast(load of 16 bits) to float32: the load; else NULL.
const Expr *halves_load(const Expr *factor);

#endif
