/* What programs have once beside what is compiled for a processor: contexts, memory, threads. */
#define CAMEO_ONCE __attribute__((visibility("hidden")))

#include "cameo_share.h"
