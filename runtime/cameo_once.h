/* Lines that are read once, as the weights of products of one row: asked for a while ahead. */
#ifndef CAMEO_ONCE_H
#define CAMEO_ONCE_H

#include "cameo_maker.h"

/* Are they asked for into the first cache, and pushed out of it without a way through the others?
 * The row of processors.def says so, or that the processor is to be asked. */
#if defined CAMEO_CPU_ONCE && CAMEO_CPU_ONCE == 2
#define cameo_once_past() cameo_maker_is_zen()
#elif defined CAMEO_CPU_ONCE && CAMEO_CPU_ONCE
#define cameo_once_past() 1
#else
#define cameo_once_past() 0
#endif

/* Otherwise into the second cache: the first one waits for fewer lines at once than it takes to
 * read at the memory's speed. */
static inline __attribute__((always_inline, unused)) void cameo_once_ask(const char *at,
                                                                         const int past)
{
    if (past)
        __builtin_prefetch(at, 0, 0);
    else
        __builtin_prefetch(at, 0, 2);
}

#endif
