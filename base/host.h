// The machine that Cameo runs on.
#ifndef CAMEO_BASE_HOST_H
#define CAMEO_BASE_HOST_H

// float32 numbers in the widest vector that its processor multiplies: 4, 8 or 16.
int host_lanes(void);

#endif
