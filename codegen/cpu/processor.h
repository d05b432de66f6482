// What the code that is printed depends on that differs from processor to processor: a row of
// processors.def, or one that `cameo tune` measured.
#ifndef CAMEO_CODEGEN_CPU_PROCESSOR_H
#define CAMEO_CODEGEN_CPU_PROCESSOR_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>

enum { MAX_CPUS = 8 }; // that one program is for

// Columns are those of processors.def, with their units.
typedef struct Processor {
    const char *names; // what --cpu may say, between spaces
#define COLUMN(name, ...) double name;
#include "codegen/cpu/processors.def"
} Processor;

// Does it multiply words, two numbers of bfloat16 or four bytes, in matrix registers or vectors?
bool processor_has_words(const Processor *p);
// The row of one name that --cpu may say; NULL or "native": of this machine, told by what its
// processor has, with the second cache that it has. Every column is set.
Processor processor_of(const char *cpu);
// Sets the columns that may be 0 and are.
void processor_complete(Processor *p);
// The rows of --cpu's list, the best one last; how many. tuned: stands for the last one, unless it
// has no lanes. "portable" is one row where the list was not resolved (codegen/cpus.h).
uint32_t processors_of(const char *cpus, const Processor *tuned, Processor rows[MAX_CPUS]);

// Reads a row as processors.def and `cameo tune` write it, comments around it, and forgets its
// names; false with *error, which names the line.
bool processor_read(Arena *a, const char *path, Processor *p, Str *error);
// That text: PROCESSOR(" names ", .lanes = 16, ...), columns that are 0 left out.
void processor_print(Buf *out, const Processor *p);

// What runtime/ reads of the rows, for the C preprocessor: of several the one that
// CAMEO_VARIANT counts, the last where it is not defined.
void processors_define(Buf *out, const Processor *rows, uint32_t n);

#endif
