// Objects in this process, linked by LLVM's ORC JIT. LLVM is loaded only when this is called.
#ifndef CAMEO_TOOLS_JIT_H
#define CAMEO_TOOLS_JIT_H

#include "base/str.h"

typedef struct Jit Jit;

// Links an object file; the symbols it needs are looked up in this program. NULL with
// *error.
Jit *jit_load(Arena *a, const char *object, Str *error);
// The address of a symbol, NULL with *error.
void *jit_symbol(Jit *j, const char *name, Str *error);
void jit_free(Jit *j);

#endif
