/* What one core can do at most, measured with the instructions that the file is compiled for:
 * multiplications and additions in registers, each counted as two operations, and bytes that are
 * read. The best of some measurements of a few milliseconds each, since others may use the machine.
 * 0 where there is no such instruction. */
#ifndef CAMEO_PEAK_H
#define CAMEO_PEAK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#if defined __AVX512F__
enum { CAMEO_PEAK_LANES = 16 };
#elif defined __AVX__
enum { CAMEO_PEAK_LANES = 8 };
#else
enum { CAMEO_PEAK_LANES = 4 };
#endif
enum { CAMEO_PEAK_CHAINS = 12, CAMEO_PEAK_ROUNDS = 150, CAMEO_PEAK_STEPS = 20000 };
typedef float cameo_peak_lanes __attribute__((vector_size(CAMEO_PEAK_LANES * 4)));

static inline __attribute__((unused)) double cameo_peak_now(void)
{
    struct timespec t;
    return timespec_get(&t, TIME_UTC) ? 1e9 * (double)t.tv_sec + (double)t.tv_nsec : 0;
}

/* Operations a nanosecond, the best of the rounds, of a function that does `n` times `each`. */
static inline __attribute__((unused)) double cameo_peak_best(void (*work)(int64_t n), double each)
{
    double best = 0;
    for (int round = 0; round < CAMEO_PEAK_ROUNDS; round++) {
        const double begin = cameo_peak_now();
        work(CAMEO_PEAK_STEPS);
        const double rate = each * CAMEO_PEAK_STEPS / (cameo_peak_now() - begin);
        best = rate > best ? rate : best;
    }
    return best;
}

static volatile float cameo_peak_factor = 0.999f, cameo_peak_summand = 0.001f;

/* Independent chains of a*m + c, as many as hide what one takes; equal ones would be computed
 * once. A pragma unrolls them: where the compiler unrolls less they would stay in memory. The two
 * are one instruction whatever the rest of the file is compiled with. */
#if defined(__clang__)
#pragma clang fp contract(fast)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#endif
static __attribute__((noinline, unused)) void cameo_peak_floats(int64_t n)
{
    cameo_peak_lanes a[CAMEO_PEAK_CHAINS], m, s;
    for (int i = 0; i < CAMEO_PEAK_LANES; i++) {
        m[i] = cameo_peak_factor;
        s[i] = cameo_peak_summand;
    }
#pragma GCC unroll 12
    for (int k = 0; k < CAMEO_PEAK_CHAINS; k++)
        a[k] = s * (float)k;
    for (int64_t i = 0; i < n; i++)
#pragma GCC unroll 12
        for (int k = 0; k < CAMEO_PEAK_CHAINS; k++)
            a[k] = a[k] * m + s;
#pragma GCC unroll 12
    for (int k = 0; k < CAMEO_PEAK_CHAINS; k++)
        cameo_peak_summand = cameo_peak_summand + 0 * a[k][0];
}
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif

/* GFLOP/s of float32. */
static inline __attribute__((unused)) double cameo_peak(void)
{
    return cameo_peak_best(cameo_peak_floats, 2.0 * CAMEO_PEAK_LANES * CAMEO_PEAK_CHAINS);
}

#endif
