/* Products of a head's rows with keys and values of 16 bits, which are widened some rows at a time:
 * they come from memory once, as they are. */
#ifndef CAMEO_HALF_HEADS_H
#define CAMEO_HALF_HEADS_H

#include "cameo_gemm.h"
#include "cameo_half_rows.h"

/* Numbers that are widened at once: in the first cache for a few rows, for more in the second one,
 * since panels are made of them. */
enum { CAMEO_HALF_FEW = 4096, CAMEO_HALF_ROWS = 8, CAMEO_HALF_ROOM = 24576 };

/* How many rows of n numbers, up to 512, for m rows. */
static inline __attribute__((unused)) int64_t cameo_half_fit(int64_t m, int64_t n)
{
    return m > CAMEO_HALF_ROWS ? CAMEO_HALF_ROOM / n / 48 * 48 : CAMEO_HALF_FEW / n / 8 * 8;
}

/* Rows of n numbers, which lie `step` apart, one behind the other. */
static inline __attribute__((unused)) void cameo_half_take(int bfloat, int64_t rows, int64_t n,
                                                           const uint16_t *from, int64_t step,
                                                           float *to)
{
    if (step == n) {
        n *= rows;
        rows = 1;
    }
    for (int64_t i = 0; i < rows; i++, from += step, to += n)
        if (!bfloat)
            cameo_half_widen(n, from, to);
        else
            for (int64_t k = 0; k < n; k++) {
                const uint32_t bits = (uint32_t)from[k] << 16;
                memcpy(to + k, &bits, sizeof bits);
            }
}

/* C = A * B, columns of B being rows of k neighbours, k up to 512, which lie bn apart. */
static __attribute__((noinline, unused)) void
cameo_half_scores(int bfloat, int64_t m, int64_t n, int64_t k, const float *a, int64_t am,
                  int64_t ak, const uint16_t *b, int64_t bn, float *c, int64_t ldc)
{
    float wide[CAMEO_HALF_ROOM] __attribute__((aligned(64)));
    const int64_t most = cameo_half_fit(m, k);
    for (int64_t j = 0, some; j < n; j += some) {
        some = n - j < most ? n - j : most;
        cameo_half_take(bfloat, some, k, b + j * bn, bn, wide);
        cameo_gemm_first(m, some, k, a, am, ak, wide, 1, k, c + j, ldc);
    }
}

/* C = A * B, rows of B being n neighbours, n up to 512, which lie bk apart. */
static __attribute__((noinline, unused)) void
cameo_half_result(int bfloat, int64_t m, int64_t n, int64_t k, const float *a, int64_t am,
                  int64_t ak, const uint16_t *b, int64_t bk, float *c, int64_t ldc)
{
    float wide[CAMEO_HALF_ROOM] __attribute__((aligned(64)));
    const int64_t most = cameo_half_fit(m, n);
    for (int64_t p = 0, some; p < k || !p; p += some) {
        some = k - p < most ? k - p : most;
        cameo_half_take(bfloat, some, n, b + p * bk, bk, wide);
        cameo_gemm_any(m, n, some, a + p * ak, am, ak, wide, n, 1, c, ldc, p > 0);
        if (!some)
            break;
    }
}

#endif
