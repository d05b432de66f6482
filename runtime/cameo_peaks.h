/* The other instructions that multiply and add: pairs of bfloat16 to sums of float32, four bytes to
 * sums of 32 bits, in vectors and in matrix registers; and bytes read from each cache and from
 * memory. As cameo_peak.h. */
#ifndef CAMEO_PEAKS_H
#define CAMEO_PEAKS_H

#include "cameo_matrix.h"
#include "cameo_peak.h"

#include <stdlib.h>
#include <string.h>

#if defined __AVX512BF16__ || defined __AVX512VNNI__ || defined __AVX2__
#include <immintrin.h>
#endif

/* A function that sums in as many chains as hide what one takes; each has its own sum, so that none
 * is computed twice. */
#define CAMEO_PEAK_WORK(name, type, join)                                                          \
    static __attribute__((noinline, unused)) void name(int64_t n)                                  \
    {                                                                                              \
        type a[CAMEO_PEAK_CHAINS], m;                                                              \
        volatile unsigned char some = 0;                                                           \
        memset(&m, some, sizeof m);                                                                \
        _Pragma("GCC unroll 12") for (int k = 0; k < CAMEO_PEAK_CHAINS; k++)                       \
        {                                                                                          \
            memset(&a[k], some + k, sizeof *a);                                                    \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            _Pragma("GCC unroll 12") for (int k = 0; k < CAMEO_PEAK_CHAINS; k++)                   \
            {                                                                                      \
                a[k] = join;                                                                       \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 12") for (int k = 0; k < CAMEO_PEAK_CHAINS; k++)                       \
        {                                                                                          \
            some = (unsigned char)(some + *(const unsigned char *)&a[k]);                          \
        }                                                                                          \
    }

#ifdef __AVX512BF16__
CAMEO_PEAK_WORK(cameo_peak_pairs, __m512, _mm512_dpbf16_ps(a[k], (__m512bh)m, (__m512bh)m))
#endif
#if defined __AVX512VNNI__
CAMEO_PEAK_WORK(cameo_peak_words, __m512i, _mm512_dpbusd_epi32(a[k], m, m))
#elif defined __AVXVNNI__
CAMEO_PEAK_WORK(cameo_peak_words, __m256i, _mm256_dpbusd_avx_epi32(a[k], m, m))
#elif defined __AVX2__
/* As many products of bytes as 16 bits are sure to hold where one factor has 6, then sums of 32. */
static inline __attribute__((unused)) __m256i cameo_peak_eight(__m256i sum, __m256i m)
{
    __m256i u, v;
    __asm__ volatile("vpmaddubsw %1, %1, %0" : "=x"(u) : "x"(m));
    __asm__ volatile("vpmaddubsw %1, %1, %0" : "=x"(v) : "x"(m));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_adds_epi16(u, v), m));
}
CAMEO_PEAK_WORK(cameo_peak_words, __m256i, cameo_peak_eight(a[k], m))
#endif

/* GFLOP/s of vectors of pairs of bfloat16. */
static inline __attribute__((unused)) double cameo_peak_of_pairs(void)
{
#ifdef __AVX512BF16__
    return cameo_peak_best(cameo_peak_pairs, 4.0 * CAMEO_PEAK_LANES * CAMEO_PEAK_CHAINS);
#else
    return 0;
#endif
}

/* Giga-operations a second of vectors of four bytes a number, or with AVX2 alone of eight. */
static inline __attribute__((unused)) double cameo_peak_of_words(void)
{
#if defined __AVX512VNNI__
    return cameo_peak_best(cameo_peak_words, 8.0 * 16 * CAMEO_PEAK_CHAINS);
#elif defined __AVXVNNI__
    return cameo_peak_best(cameo_peak_words, 8.0 * 8 * CAMEO_PEAK_CHAINS);
#elif defined __AVX2__
    return cameo_peak_best(cameo_peak_words, 16.0 * 8 * CAMEO_PEAK_CHAINS);
#else
    return 0;
#endif
}

#ifdef CAMEO_AMX
/* Six sums, as the tiles of products have. */
#define CAMEO_PEAK_SQUARES(name, instruction)                                                      \
    static __attribute__((noinline, unused)) void name(int64_t n)                                  \
    {                                                                                              \
        for (int64_t i = 0; i < n / 8; i++) {                                                      \
            CAMEO_AMX_PRODUCT(instruction, 0, 6, 7);                                               \
            CAMEO_AMX_PRODUCT(instruction, 1, 6, 7);                                               \
            CAMEO_AMX_PRODUCT(instruction, 2, 6, 7);                                               \
            CAMEO_AMX_PRODUCT(instruction, 3, 6, 7);                                               \
            CAMEO_AMX_PRODUCT(instruction, 4, 6, 7);                                               \
            CAMEO_AMX_PRODUCT(instruction, 5, 6, 7);                                               \
        }                                                                                          \
    }
CAMEO_PEAK_SQUARES(cameo_peak_square_pairs, "tdpbf16ps")
CAMEO_PEAK_SQUARES(cameo_peak_square_words, "tdpbusd")
#endif

/* Giga-operations a second of matrix registers: bytes four to a word, or bfloat16, two to a word.
 */
static inline __attribute__((unused)) double cameo_peak_of_squares(int bytes)
{
    double best = 0;
#ifdef CAMEO_AMX
    if (!cameo_amx_on())
        return 0;
    cameo_amx_begin();
    best = cameo_peak_best(bytes ? cameo_peak_square_words : cameo_peak_square_pairs,
                           6.0 / 8 * 16 * 16 * 16 * (bytes ? 8 : 4));
    cameo_amx_end();
#else
    (void)bytes;
#endif
    return best;
}

/* Additions that wait for one another, one in each cycle. */
static __attribute__((noinline, unused)) void cameo_peak_cycles(int64_t n)
{
    volatile int64_t one = 1;
    int64_t sum = 0, by = one;
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 32; k++) {
            sum += by;
            __asm__ volatile("" : "+r"(sum), "+r"(by));
        }
    one = sum;
}

/* Cycles a nanosecond. */
static inline __attribute__((unused)) double cameo_peak_clock(void)
{
    return cameo_peak_best(cameo_peak_cycles, 32);
}

/* Four sums, that no addition waits for another. */
static __attribute__((noinline, unused)) float cameo_peak_sum(const char *at, size_t bytes,
                                                              size_t ahead)
{
    enum { LINE = 64, EACH = (int)sizeof(cameo_peak_lanes) };
    cameo_peak_lanes sum[4] = {{0}};
    for (size_t i = 0; i + 4 * LINE <= bytes; i += 4 * LINE) {
        for (size_t l = 0; ahead && l < 4; l++)
            __builtin_prefetch(at + i + ahead + l * LINE, 0, 2);
        for (size_t l = 0; l < 4 * LINE; l += 4 * (size_t)EACH)
            for (int k = 0; k < 4; k++)
                sum[k] +=
                    *(const cameo_peak_lanes *)(const void *)(at + i + l + (size_t)(k * EACH));
    }
    return (sum[0] + sum[1] + (sum[2] + sum[3]))[0];
}

/* Gigabytes a second of so many bytes, at least 256, that were read before as often as caches need
 * to hold what they can of them. ahead: bytes to what is asked for meanwhile; 0: nothing is. 0
 * where there is no memory for them. */
static inline __attribute__((unused)) double cameo_peak_read(size_t bytes, size_t ahead)
{
    const size_t size = (bytes + 4095) / 4096 * 4096, least = (size_t)1 << 24;
    char *at = (char *)aligned_alloc(4096, size);
    volatile float sink = 0;
    double best = 0;
    if (!at)
        return 0;
    memset(at, 0, size);
    const size_t turns = bytes < least ? least / bytes : 1;
    for (int round = 0; round <= 9; round++) {
        const double begin = cameo_peak_now();
        for (size_t t = 0; t < turns; t++) {
            __asm__ volatile("" ::"r"(at) : "memory"); /* it may have changed: it is read again */
            sink = sink + cameo_peak_sum(at, bytes, ahead);
        }
        const double rate = (double)(turns * bytes) / (cameo_peak_now() - begin);
        best = round && rate > best ? rate : best;
    }
    free(at);
    return best;
}

#endif
