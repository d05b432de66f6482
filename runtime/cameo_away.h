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

#endif
