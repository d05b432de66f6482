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

// Those of C functions, or of kernels that are launched on a device.
CustomSources custom_sources(const Module *mod, Arena *a, const char *prefix, bool on_device);

// ---- kernels on a device: numbered in the order of the steps, behind the module's own
typedef VEC(const Step *) CustomLaunches;
CustomLaunches custom_launches(const Module *mod, Arena *a);
bool custom_on_device(const Module *mod, Arena *scratch, const Step *step);
const char *custom_launch_name(Printer *p, const CustomLaunches *all, uint32_t i);
// The elements of the first output: so many threads are launched at least.
Index custom_launch_size(const Module *mod, const Step *step);
void custom_print_launch(Printer *p, const Step *step);
// Prints their sources, and for each launch a kernel of the module that calls the function. False
// with *error: a source cannot be read.
bool custom_emit_kernels(Printer *p, Str *error);

// Declares the functions that the module calls.
void custom_declare(Printer *p);
// The call of a step; buffers are variables with this letter before their number.
void custom_print_call(Printer *p, const Step *step, char letter);

#endif
