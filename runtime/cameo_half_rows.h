/* Neighbours of float16 as float32 and back: by the processor's own instructions where it has them,
 * which compilers find in no loop over single elements. */
#ifndef CAMEO_HALF_ROWS_H
#define CAMEO_HALF_ROWS_H

#include "cameo_math.h"

#include <stdint.h>

#ifdef __F16C__
#include <immintrin.h>
#endif

static inline __attribute__((unused)) void
cameo_half_widen(int64_t n, const uint16_t *restrict from, float *restrict to)
{
    int64_t whole = 0;
#ifdef __AVX512F__ /* stores as wide as what compilers load of the row */
    for (; whole + 16 <= n; whole += 16)
        _mm512_storeu_ps(to + whole,
                         _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(from + whole))));
#endif
#ifdef __F16C__
    for (; whole + 8 <= n; whole += 8)
        _mm256_storeu_ps(to + whole,
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + whole))));
#endif
    for (int64_t i = whole; i < n; i++)
        to[i] = cameo_cast_f16_f32(from[i]);
}

/* Each rounded to float16, and float32 again. */
static inline __attribute__((unused)) void cameo_half_round(int64_t n, float *row)
{
    int64_t whole = 0;
#ifdef __AVX512F__
    for (; whole + 16 <= n; whole += 16) {
        const __m512 v = _mm512_loadu_ps(row + whole);
        _mm512_storeu_ps(row + whole,
                         _mm512_cvtph_ps(_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT)));
    }
#endif
#ifdef __F16C__
    for (; whole + 8 <= n; whole += 8) {
        const __m256 v = _mm256_loadu_ps(row + whole);
        _mm256_storeu_ps(row + whole,
                         _mm256_cvtph_ps(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT)));
    }
#endif
    for (int64_t i = whole; i < n; i++)
        row[i] = cameo_round_f16(row[i]);
}

/* NaN becomes the one that cameo_cast_f32_f16 makes of it, with its sign. */
static inline __attribute__((unused)) void cameo_half_narrow(int64_t n, const float *restrict from,
                                                             uint16_t *restrict to)
{
    int64_t whole = 0;
#ifdef __AVX512F__
    const __m512i signs = _mm512_set1_epi32(INT32_MIN), nans = _mm512_set1_epi32(0x7fc00000);
    for (; whole + 16 <= n; whole += 16) {
        const __m512 v = _mm512_loadu_ps(from + whole);
        const __mmask16 odd = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
        const __m512i of = _mm512_or_si512(_mm512_and_si512(_mm512_castps_si512(v), signs), nans);
        const __m512 w = _mm512_mask_mov_ps(v, odd, _mm512_castsi512_ps(of));
        _mm256_storeu_si256((void *)(to + whole), _mm512_cvtps_ph(w, _MM_FROUND_TO_NEAREST_INT));
    }
#endif
#ifdef __F16C__
    const __m256 sign = _mm256_set1_ps(-0.0f), nan = _mm256_set1_ps(__builtin_nanf(""));
    for (; whole + 8 <= n; whole += 8) {
        const __m256 v = _mm256_loadu_ps(from + whole), odd = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
        const __m256 w = _mm256_blendv_ps(v, _mm256_or_ps(_mm256_and_ps(v, sign), nan), odd);
        _mm_storeu_si128((__m128i *)(to + whole), _mm256_cvtps_ph(w, _MM_FROUND_TO_NEAREST_INT));
    }
#endif
    for (int64_t i = whole; i < n; i++)
        to[i] = cameo_cast_f32_f16(from[i]);
}

#endif
