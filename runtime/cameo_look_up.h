/* Bytes looked up in a table of 256, by the instructions that look up many at once where the
 * processor has them. */
#ifndef CAMEO_LOOK_UP_H
#define CAMEO_LOOK_UP_H

#include <stdint.h>

#ifdef __AVX2__
#include <immintrin.h>

/* Two rows of 16 bytes in one register, of each sixteenth of the table: an index beyond 15 in it
 * has its highest bit set once 0x70 is added, and gives 0. */
static inline __attribute__((unused)) int64_t
cameo_look_up_sixteenths(int64_t n, const uint8_t *from, uint8_t *to, const uint8_t *table)
{
    int64_t i = 0;
    for (; i + 64 <= n; i += 64) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(from + i));
        const __m256i y = _mm256_loadu_si256((const __m256i *)(from + i + 32));
        __m256i a = _mm256_setzero_si256(), b = a;
        for (int k = 0; k < 16; k++) {
            const __m256i high = _mm256_set1_epi8((char)(k << 4)), up = _mm256_set1_epi8(0x70);
            const __m256i part = _mm256_broadcastsi128_si256(
                _mm_loadu_si128((const __m128i *)(table + (k << 4))));
            const __m256i p = _mm256_adds_epu8(_mm256_xor_si256(x, high), up);
            const __m256i q = _mm256_adds_epu8(_mm256_xor_si256(y, high), up);
            a = _mm256_or_si256(a, _mm256_shuffle_epi8(part, p));
            b = _mm256_or_si256(b, _mm256_shuffle_epi8(part, q));
        }
        _mm256_storeu_si256((__m256i *)(to + i), a);
        _mm256_storeu_si256((__m256i *)(to + i + 32), b);
    }
    return i;
}
#endif

#ifdef __AVX512VBMI__
static inline __attribute__((unused)) int64_t
cameo_look_up_quarters(int64_t n, const uint8_t *from, uint8_t *to, const uint8_t *table)
{
    const __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + 64);
    const __m512i c = _mm512_loadu_si512(table + 128), d = _mm512_loadu_si512(table + 192);
    for (int64_t i = 0; i < n; i += 64) {
        const __mmask64 some = n - i < 64 ? ~(~(__mmask64)0 << (n - i)) : ~(__mmask64)0;
        const __m512i x = _mm512_maskz_loadu_epi8(some, from + i);
        const __m512i y = _mm512_mask_blend_epi8(_mm512_movepi8_mask(x),
                                                 _mm512_permutex2var_epi8(a, x, b),
                                                 _mm512_permutex2var_epi8(c, x, d));
        _mm512_mask_storeu_epi8(to + i, some, y);
    }
    return n;
}
#endif

/* Signed bytes have their places by their bits. */
static inline __attribute__((unused)) void cameo_look_up(int64_t n, const void *from, void *to,
                                                         const void *table)
{
    const uint8_t *x = (const uint8_t *)from, *values = (const uint8_t *)table;
    uint8_t *y = (uint8_t *)to;
    int64_t i = 0;
#if defined(__AVX512VBMI__)
    i = cameo_look_up_quarters(n, x, y, values);
#elif defined(__AVX2__)
    i = cameo_look_up_sixteenths(n, x, y, values);
#endif
    for (; i < n; i++)
        y[i] = values[x[i]];
}

#endif
