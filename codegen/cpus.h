// The processors that a program is compiled for. Where there are several, the model's text is
// compiled once for each, with a number behind its two outer names, and what stands around it (the
// tables of the API) takes the last whose instructions the machine has.
#ifndef CAMEO_CODEGEN_CPUS_H
#define CAMEO_CODEGEN_CPUS_H

#include "codegen/toolchain.h"

// The names of a list "a,b,c"; how many. names[0] is NULL where nothing is said: this machine.
uint32_t cpus_split(Arena *a, const char *list, const char **names);
// "portable" becomes what that is for the compiler's machine and the model: with processors that
// multiply words of bytes and bfloat16, b->may_leave, where it may have such products. Each name is
// one that the compiler knows. 0, or the exit status with report->error set.
int cpus_resolve(Build *b, const Model *m, const char **list);
// Does the C compiler (b->cc) make code for it?
bool cpus_known(Build *b, const char *name);
// What makes the compiler take it, at most MAX_CPU_FLAGS; how many: 0 for the compiler's default.
// "NAME+A+B" is NAME with instructions that the compiler calls A and B: -march=NAME -mA -mB. Those
// of ARM's names are parts of these for the compiler too.
// x86-64-v4 is tuned as the first processors with AVX2.
enum { MAX_CPU_FLAGS = 8 };
uint32_t cpus_flags(Arena *a, const char *name, const char **argv);

#endif
