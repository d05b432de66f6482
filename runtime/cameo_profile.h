/* Where the time of a run goes, kernel by kernel: models compiled with --profile. */
#ifndef CAMEO_PROFILE_H
#define CAMEO_PROFILE_H

#include "cameo_peaks.h"
#include "cameo_runtime.h"

#include <time.h>

CAMEO_FN int64_t cameo_now(void)
{
    struct timespec t;
    return timespec_get(&t, TIME_UTC) ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : 0;
}

/* Kernel i ran since `begin`: operations and bytes of this run, -1 where they depend on data. */
CAMEO_FN void cameo_time_kernel(cameo_context *c, int32_t i, int64_t begin, int64_t operations,
                                int64_t bytes, int32_t factors)
{
    const int64_t nanoseconds = cameo_now() - begin;
    cameo_kernel_time *t = &c->profile[i];
    t->runs++;
    t->nanoseconds += nanoseconds;
    t->operations = operations < 0 || t->operations < 0 ? -1 : t->operations + operations;
    t->factors = factors;
    t->bytes = bytes < 0 || t->bytes < 0 ? -1 : t->bytes + bytes;
    c->events[c->nevents++ % CAMEO_EVENTS] = (cameo_kernel_event){i, begin, nanoseconds};
}

CAMEO_FN int cameo_profile(const cameo_context *c, int32_t i, cameo_kernel_time *time)
{
    if (i < 0 || i >= c->program->nkernels)
        return -1;
    *time = c->profile[i];
    time->kernel = c->program->kernels[i];
    return 0;
}

/* No less than that of float32, which takes any factors. */
CAMEO_FN double cameo_peak_of(int32_t factors)
{
    const double floats = cameo_peak();
    const double vectors = factors == CAMEO_BFLOAT16 ? cameo_peak_of_pairs()
                           : factors == CAMEO_BYTES  ? cameo_peak_of_words()
                                                     : 0;
    const double squares =
        factors == CAMEO_FLOAT32 ? 0 : cameo_peak_of_squares(factors == CAMEO_BYTES);
    const double best = vectors > squares ? vectors : squares;
    return best > floats ? best : floats;
}

CAMEO_FN int cameo_event(const cameo_context *c, int64_t i, cameo_kernel_event *event)
{
    const int64_t first = c->nevents > CAMEO_EVENTS ? c->nevents - CAMEO_EVENTS : 0;
    if (i < 0 || i >= c->nevents - first)
        return -1;
    *event = c->events[(first + i) % CAMEO_EVENTS];
    return 0;
}

#endif
