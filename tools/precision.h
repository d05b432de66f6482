// --precision of compile, run and convert.
#ifndef CAMEO_TOOLS_PRECISION_H
#define CAMEO_TOOLS_PRECISION_H

#include "codegen/compile.h"
#include "passes/convert_precision.h"

#define PRECISION_DOC                                                                              \
    "f16, bf16 or f64: every product that may be; mixed: float16 where it is fastest at the "      \
    "target"

// f16, bf16, mixed or f64; false: it is none of them.
bool precision_of(const char *name, ConvertOptions *o);

typedef struct Precision {
    ConvertOptions convert;
    ConvertHalves halves;
} Precision;

// Has the compiler convert the model, once it has been through the graph's passes; `f32`: not.
// `p` and `o` have to live until then. false: no such precision.
bool precision_compile(const char *name, Precision *p, CompileOptions *o);

#endif
