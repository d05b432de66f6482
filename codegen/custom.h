// Calls of the C functions that custom operators' sources define (ir/contract.h).
#ifndef CAMEO_CODEGEN_CUSTOM_H
#define CAMEO_CODEGEN_CUSTOM_H

#include "codegen/print_parts.h"
#include "ir/contract.h"

// A source that a module calls into, and the compiler's options that give its functions the names
// under which they are called: "-Dscale=net_custom0_scale".
typedef struct CustomSource {
    Str path;
    uint32_t source;
    VEC(const char *) defines;
} CustomSource;
typedef VEC(CustomSource) CustomSources;

CustomSources custom_sources(const Module *mod, Arena *a, const char *prefix);
// Declares the functions that the module calls.
void custom_declare(Printer *p);
// The call of a step; buffers are variables with this letter before their number.
void custom_print_call(Printer *p, const Step *step, char letter);

#endif
