/* Where the time of a run goes, kernel by kernel: models compiled with --profile. */
#ifndef CAMEO_PROFILE_H
#define CAMEO_PROFILE_H

#include "cameo_runtime.h"

#include <time.h>

CAMEO_FN int64_t cameo_now(void)
{
    struct timespec t;
    return timespec_get(&t, TIME_UTC) ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : 0;
}

CAMEO_FN void cameo_time_kernel(cameo_context *c, int32_t i, int64_t begin)
{
    c->profile[2 * i] += 1;
    c->profile[2 * i + 1] += cameo_now() - begin;
}

CAMEO_FN int cameo_profile(const cameo_context *c, int32_t i, const char **kernel, int64_t *runs,
                           int64_t *nanoseconds)
{
    if (i < 0 || i >= c->program->nkernels)
        return -1;
    *kernel = c->program->kernels[i];
    *runs = c->profile[2 * i];
    *nanoseconds = c->profile[2 * i + 1];
    return 0;
}

#endif
