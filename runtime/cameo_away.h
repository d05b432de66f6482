/* Copies past the caches, of what nobody reads before a run has read so much else that no cache
 * would still hold it: lines that are written whole need not be read first, and push nothing out.
 */
#ifndef CAMEO_AWAY_H
#define CAMEO_AWAY_H

#include "cameo_math.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>

enum { CAMEO_AWAY_LINE = 64, CAMEO_AWAY_AHEAD = 2048 };

CAMEO_FN void cameo_line_away(char *to, const char *from)
{
#if defined __AVX512F__
    _mm512_stream_si512((__m512i *)(void *)to, _mm512_loadu_si512(from));
#elif defined __AVX__
    for (int i = 0; i < 64; i += 32)
        _mm256_stream_si256((__m256i *)(void *)(to + i),
                            _mm256_loadu_si256((const __m256i *)(const void *)(from + i)));
#else
    for (int i = 0; i < 64; i += 16)
        _mm_stream_si128((__m128i *)(void *)(to + i),
                         _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
#endif
}

/* size bytes to where nothing of `from` lies. Others see them after cameo_away_end. */
CAMEO_FN void cameo_copy_away(void *to, const void *from, int64_t size)
{
    char *y = (char *)to;
    const char *x = (const char *)from;
    int64_t first = (int64_t)((0 - (uintptr_t)y) % CAMEO_AWAY_LINE);
    first = first < size ? first : size;
    memcpy(y, x, (size_t)first);
    for (y += first, x += first, size -= first; size >= CAMEO_AWAY_LINE; size -= CAMEO_AWAY_LINE) {
        __builtin_prefetch(x + CAMEO_AWAY_AHEAD);
        cameo_line_away(y, x);
        y += CAMEO_AWAY_LINE;
        x += CAMEO_AWAY_LINE;
    }
    memcpy(y, x, (size_t)size);
}

/* What this thread copied is there for others. */
CAMEO_FN void cameo_away_end(void)
{
    _mm_sfence();
}
#else
CAMEO_FN void cameo_copy_away(void *to, const void *from, int64_t size)
{
    memcpy(to, from, (size_t)size);
}

CAMEO_FN void cameo_away_end(void) {}
#endif

/* Products of one row that read b once copy it meanwhile: a few rows at a time, which the product
 * finds in the first cache while the next ones come from memory. b and `to` have `rows` rows of
 * `width` numbers, one behind another; more: y is added to. */
CAMEO_FN int64_t cameo_rows_away(int64_t rows, int64_t width, const float *b, float *to)
{
    const int64_t most = width < 1024 ? 1024 / (width > 0 ? width : 1) : 1;
    const int64_t n = rows < most ? rows : most;
    cameo_copy_away(to, b, n * width * (int64_t)sizeof *b);
    return n;
}

/* y[i] = the sum over k of a[k] * b[i][k]. */
CAMEO_FN void cameo_dots_away(int64_t rows, int64_t width, const float *restrict a,
                              const float *restrict b, float *restrict to, float *restrict y,
                              int more)
{
    enum { LANES = 16 };
    for (int64_t i = 0, n; i < rows; i += n, b += n * width, to += n * width) {
        n = cameo_rows_away(rows - i, width, b, to);
        for (int64_t r = 0; r < n; r++) {
            const float *row = b + r * width;
            float lane[LANES] = {0}, sum = 0;
            int64_t k = 0;
            for (; k + LANES <= width; k += LANES)
                for (int l = 0; l < LANES; l++)
                    lane[l] += a[k + l] * row[k + l];
            for (int half = LANES / 2; half > 0; half /= 2)
                for (int l = 0; l < half; l++)
                    lane[l] += lane[l + half];
            for (; k < width; k++)
                sum += a[k] * row[k];
            y[i + r] = (more ? y[i + r] : 0) + (lane[0] + sum);
        }
    }
}

/* y[k] = the sum over i of a[i] * b[i][k]. */
CAMEO_FN void cameo_sums_away(int64_t rows, int64_t width, const float *restrict a,
                              const float *restrict b, float *restrict to, float *restrict y,
                              int more)
{
    if (!more)
        memset(y, 0, (size_t)width * sizeof *y);
    for (int64_t i = 0, n; i < rows; i += n, b += n * width, to += n * width) {
        n = cameo_rows_away(rows - i, width, b, to);
        int64_t r = 0;
        for (; r + 4 <= n; r += 4) {
            const float *at = a + i + r, *row = b + r * width;
            for (int64_t k = 0; k < width; k++)
                y[k] += (at[0] * row[k] + at[1] * row[width + k]) +
                        (at[2] * row[2 * width + k] + at[3] * row[3 * width + k]);
        }
        for (; r < n; r++)
            for (int64_t k = 0; k < width; k++)
                y[k] += a[i + r] * b[r * width + k];
    }
}

#endif
