// Files of the source tree that the build carries inside the program as text.
#ifndef CAMEO_BASE_EMBEDDED_H
#define CAMEO_BASE_EMBEDDED_H

#include <stddef.h>

typedef struct EmbeddedFile {
    const char *name; // "cameo_runtime.h"
    const char *text; // ends with a 0 that len does not count
    size_t len;
} EmbeddedFile;

#endif
