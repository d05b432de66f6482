// Signatures of custom operators' kernels, read from C, C++ and CUDA sources by libclang. Sources
// are parsed, never compiled or run; no CUDA headers are needed.
#ifndef CAMEO_FRONTEND_CONTRACT_H
#define CAMEO_FRONTEND_CONTRACT_H

#include "ir/contract.h"

// Adds the functions that a source declares at its top to c->functions: those of a name for which
// `wanted` says so. False with *error: it cannot be read, or libclang cannot be loaded.
bool contract_read(Contracts *c, Arena *a, const char *path,
                   bool (*wanted)(void *context, Str symbol), void *context, Str *error);

#endif
