// Libraries beyond libc and libm that a program needs because of what it holds of runtime/.
#ifndef CAMEO_CODEGEN_LIBRARIES_H
#define CAMEO_CODEGEN_LIBRARIES_H

#include "ir/kernel.h"

typedef struct Library {
    const char *part;     // calls into this file of runtime/ need it
    const char *name;     // "png": libpng, -lpng
    const char *includes; // what of it the emitted C includes, as lines of C
    const char *package;  // of Debian, that has header and library
} Library;
extern const Library libraries[]; // ends with a NULL name
enum { MAX_LIBRARIES = 8 };

// Those that a module needs, ended by NULL: n of them.
uint32_t libraries_of(const Module *mod, const Library *needed[MAX_LIBRARIES + 1]);
// "-lm -ljpeg -lpng": what to link with.
const char *libraries_flags(const Module *mod, Arena *a);
// Does a step call into this file of runtime/?
bool steps_call_into(const Step *s, const char *header);

#endif
