// The processors that a program is compiled for. Where there are several, the model's text is
// compiled once for each, with a number behind its two outer names, and what stands around it (the
// tables of the API) takes the last whose instructions the machine has.
#ifndef CAMEO_CODEGEN_CPUS_H
#define CAMEO_CODEGEN_CPUS_H

#include "codegen/toolchain.h"

// The names of a list "a,b,c"; how many. names[0] is NULL where nothing is said: this machine.
uint32_t cpus_split(Arena *a, const char *list, const char **names);
// "portable" becomes what that is for the compiler's machine, and each name is one that the
// compiler knows. 0, or the exit status with report->error set.
int cpus_resolve(Build *b, const char **list);
// "-march=NAME"; NULL: the compiler's default.
const char *cpus_flag(Arena *a, const char *name);

#endif
