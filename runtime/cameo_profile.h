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

/* Kernel i ran since `begin`: operations and bytes of this run, -1 where they depend on data. */
CAMEO_FN void cameo_time_kernel(cameo_context *c, int32_t i, int64_t begin, int64_t operations,
                                int64_t bytes)
{
    const int64_t nanoseconds = cameo_now() - begin;
    cameo_kernel_time *t = &c->profile[i];
    t->runs++;
    t->nanoseconds += nanoseconds;
    t->operations = operations < 0 || t->operations < 0 ? -1 : t->operations + operations;
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

CAMEO_FN int cameo_event(const cameo_context *c, int64_t i, cameo_kernel_event *event)
{
    const int64_t first = c->nevents > CAMEO_EVENTS ? c->nevents - CAMEO_EVENTS : 0;
    if (i < 0 || i >= c->nevents - first)
        return -1;
    *event = c->events[(first + i) % CAMEO_EVENTS];
    return 0;
}

#if defined __AVX512F__
enum { CAMEO_PEAK_LANES = 16 };
#elif defined __AVX__
enum { CAMEO_PEAK_LANES = 8 };
#else
enum { CAMEO_PEAK_LANES = 4 };
#endif
typedef float cameo_peak_lanes __attribute__((vector_size(CAMEO_PEAK_LANES * 4)));

/* The best of a few measurements of some milliseconds: independent chains of a*m + c, as many as
 * hide what one takes. */
CAMEO_FN double cameo_peak(void)
{
    enum { CHAINS = 12, ROUNDS = 5, STEPS = 100000 };
    volatile float factor = 0.999f, summand = 0.001f;
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        cameo_peak_lanes a[CHAINS], m, s;
        for (int i = 0; i < CAMEO_PEAK_LANES; i++) {
            m[i] = factor;
            s[i] = summand;
        }
        for (int k = 0; k < CHAINS; k++) /* equal ones would be computed once */
            a[k] = s * (float)k;
        const int64_t begin = cameo_now();
        for (int i = 0; i < STEPS; i++)
            for (int k = 0; k < CHAINS; k++)
                a[k] = a[k] * m + s;
        const double nanoseconds = (double)(cameo_now() - begin);
        for (int k = 0; k < CHAINS; k++)
            summand = summand + 0 * a[k][0];
        const double rate = 2.0 * CAMEO_PEAK_LANES * CHAINS * STEPS / nanoseconds;
        best = rate > best ? rate : best;
    }
    return best;
}

#endif
