// Schedules of the CPU that are forms of the kernel IR, before anything is printed.
#ifndef CAMEO_CODEGEN_CPU_WINDOWS_H
#define CAMEO_CODEGEN_CPU_WINDOWS_H

#include "ir/kernel.h"

// Elements at the ends of a buffer that no kernel reads are not computed
// (codegen/cpu/unread_ends.c).
void unread_ends_module(Module *mod);
// Lets kernels that move elements of one buffer to parts of another move rows together
// (codegen/cpu/beside.c).
void beside_module(Module *mod);
// Products read what Concat joins in an output where its parts are (codegen/cpu/joined.c).
void joined_module(Module *mod);
// Reductions over windows that overlap go over a plane with a border, columns first, then rows.
void windows_module(Module *mod);
// Loops cut where the place of what they read changes its form (codegen/cpu/parts.c).
void parts_module(Module *mod);
// Rows that walk until a condition fails go eight side by side (codegen/cpu/abreast.c).
void abreast_module(Module *mod);
// Dear functions of one element of 8 bits looked up (codegen/cpu/lookup.c).
void lookup_module(Module *mod);

#endif
