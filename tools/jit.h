// Bitcode in this process, by LLVM's ORC JIT. LLVM is loaded only when this is called.
#ifndef CAMEO_TOOLS_JIT_H
#define CAMEO_TOOLS_JIT_H

#include "base/str.h"

typedef struct Jit Jit;

// Compiles and links a bitcode file; the symbols it needs are looked up in this program. NULL with
// *error.
Jit *jit_load(Arena *a, const char *bitcode, Str *error);
// The address of a symbol, NULL with *error.
void *jit_symbol(Jit *j, const char *name, Str *error);
void jit_free(Jit *j);

#endif
