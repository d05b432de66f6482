// The machine that Cameo runs on.
#ifndef CAMEO_BASE_HOST_H
#define CAMEO_BASE_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h> // what says that this is glibc

// In front of a function whose loops are vectors: it is compiled for processors with wider ones
// too, and the program takes what its processor has. Nothing where compiler or system know no such
// choice.
#if defined(__x86_64__) && defined(__GLIBC__)
#define HOST_VECTORS __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define HOST_VECTORS
#endif

// float32 numbers in the widest vector that its processor multiplies: 4, 8 or 16.
int host_lanes(void);
// What compilers call its processor, as far as that is told by the instructions that it has: what
// it says of itself is not to be relied on where the machine is a virtual one. "": not known.
const char *host_processor(void);
// Bytes of a core's second cache; 0: not known.
int64_t host_second_cache(void);
// Has its processor registers of square tiles of bytes (Intel AMX), and the system turned them on?
bool host_multiplies_squares(void);

#endif
