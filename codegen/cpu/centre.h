// Weights of bytes whose zero points are not the middle of their range, made signed ones without,
// for convolutions in pixels (layouts.h), which multiply nothing else.
#ifndef CAMEO_CODEGEN_CPU_CENTRE_H
#define CAMEO_CODEGEN_CPU_CENTRE_H

#include "codegen/cpu/conv.h"

// Rewrites kernels of the module's list of steps, and adds some. false with *error where weights
// cannot be read.
bool centre_weights(Module *mod, Printer *p, const Processor *cpu, Str *error);

#endif
