// The machine that Cameo runs on.
#ifndef CAMEO_BASE_HOST_H
#define CAMEO_BASE_HOST_H

#include <stdbool.h>

// float32 numbers in the widest vector that its processor multiplies: 4, 8 or 16.
int host_lanes(void);
// Has its processor registers of square tiles of bytes (Intel AMX), and the system turned them on?
bool host_multiplies_squares(void);

#endif
