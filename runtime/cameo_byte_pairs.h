/* Planes of bytes by their own windows, where a processor multiplies pairs of 16 bits and adds both
 * products to 32 bits, and does no more at once. Bytes are widened once, with their border, to rows
 * of 16 bits as they lie. Two neighbours in a row of the window are a pair: with a stride of 2 the
 * pairs of neighbouring places of y are neighbours; with a stride of 1 those of every second place
 * are, and the places between them have theirs one element further on. */
#ifndef CAMEO_BYTE_PAIRS_H
#define CAMEO_BYTE_PAIRS_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && !defined(__AVXVNNI__) && !defined(__AVX512VNNI__)
#define CAMEO_BYTE_PAIRS 1
#include <immintrin.h>
#else
#define CAMEO_BYTE_PAIRS 0
#endif

#if CAMEO_BYTE_PAIRS

enum {
    CAMEO_PAIRS_BLOCK = 4096, /* words of a block and its sums, if those of a row are no more */
    CAMEO_PAIRS_MOST = 64,    /* pairs of a window */
    CAMEO_PAIRS_FEW = 8       /* that registers hold */
};

#ifdef __AVX2__
enum { CAMEO_PAIRS_LANES = 8 };
typedef __m256i cameo_pairs;
#define CAMEO_PAIRS_LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define CAMEO_PAIRS_ALL(p) _mm256_set1_epi32(p)
#define CAMEO_PAIRS_DOT(c, x, w) _mm256_add_epi32(c, _mm256_madd_epi16(x, w))
#define CAMEO_PAIRS_STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)

/* a[0] b[0] a[1] b[1] ... */
static inline __attribute__((always_inline, unused)) void
cameo_pairs_join(cameo_pairs a, cameo_pairs b, int32_t *to)
{
    const cameo_pairs low = _mm256_unpacklo_epi32(a, b), high = _mm256_unpackhi_epi32(a, b);
    CAMEO_PAIRS_STORE(to, _mm256_permute2x128_si256(low, high, 0x20));
    CAMEO_PAIRS_STORE(to + 8, _mm256_permute2x128_si256(low, high, 0x31));
}

/* 16 bytes, their signs changed. */
static inline __attribute__((always_inline, unused)) void
cameo_pairs_widen(const unsigned char *from, __m128i flip, int16_t *to)
{
    const __m128i x = _mm_xor_si128(_mm_loadu_si128((const __m128i *)from), flip);
    CAMEO_PAIRS_STORE(to, _mm256_cvtepu8_epi16(x));
}
#else
enum { CAMEO_PAIRS_LANES = 4 };
typedef __m128i cameo_pairs;
#define CAMEO_PAIRS_LOAD(p) _mm_loadu_si128((const __m128i *)(p))
#define CAMEO_PAIRS_ALL(p) _mm_set1_epi32(p)
#define CAMEO_PAIRS_DOT(c, x, w) _mm_add_epi32(c, _mm_madd_epi16(x, w))
#define CAMEO_PAIRS_STORE(p, v) _mm_storeu_si128((__m128i *)(p), v)

static inline __attribute__((always_inline, unused)) void
cameo_pairs_join(cameo_pairs a, cameo_pairs b, int32_t *to)
{
    CAMEO_PAIRS_STORE(to, _mm_unpacklo_epi32(a, b));
    CAMEO_PAIRS_STORE(to + 4, _mm_unpackhi_epi32(a, b));
}

static inline __attribute__((always_inline, unused)) void
cameo_pairs_widen(const unsigned char *from, __m128i flip, int16_t *to)
{
    const __m128i x = _mm_xor_si128(_mm_loadu_si128((const __m128i *)from), flip);
    CAMEO_PAIRS_STORE(to, _mm_unpacklo_epi8(x, _mm_setzero_si128()));
    CAMEO_PAIRS_STORE(to + 8, _mm_unpackhi_epi8(x, _mm_setzero_si128()));
}
#endif

/* How many rows of y are made at once; 0: not in this way. */
static __attribute__((noinline, unused)) int64_t cameo_pairs_rows(const cameo_conv *g)
{
    const int64_t columns = (g->taps[2] + 1) / 2;
    if ((g->stride[2] != 1 && g->stride[2] != 2) || (g->dilation[2] != 1 && g->taps[2] > 1) ||
        g->taps[1] * columns > CAMEO_PAIRS_MOST)
        return 0;
    const int64_t length = cameo_conv_reach(g, 2), down = g->stride[1];
    const int64_t beyond = (g->taps[1] - 1) * g->dilation[1] + 1 - down;
    const int64_t each = down * length / 2 + g->out[2] + 1;
    const int64_t rows = (CAMEO_PAIRS_BLOCK - beyond * length / 2) / each;
    return rows < 1 ? 1 : rows < g->out[1] ? rows : g->out[1] > 0 ? g->out[1] : 1;
}

/* The pairs of the window's rows, from words of four rows in each column. */
static inline __attribute__((unused)) void cameo_pairs_weights(const cameo_conv *g,
                                                               const int8_t *weights, int32_t *to)
{
    for (int64_t r = 0; r < g->taps[1]; r++)
        for (int64_t t = 0; t < g->taps[2]; t += 2) {
            const int8_t *w = weights + 4 * (r / 4 * g->taps[2] + t) + r % 4;
            const int32_t first = w[0], second = t + 1 < g->taps[2] ? w[4] : 0;
            *to++ = (int32_t)(((uint32_t)first & 0xffff) | (uint32_t)second << 16);
        }
}

/* `count` rows of x from `first` on as they are multiplied, `length` elements each, what is no
 * element set to `border`. Vectors reach into the next row, which is made later. */
static inline __attribute__((always_inline, unused)) void
cameo_pairs_copy(const cameo_conv *g, const unsigned char *x, int border, int flip, int64_t first,
                 int64_t count, int64_t length, int16_t *to)
{
    const int64_t pad = g->pad[2] < length ? g->pad[2] : length;
    const int64_t n = g->in[2] < length - pad ? g->in[2] : length - pad;
    const unsigned char *end = x + (g->in[1] - 1) * g->step[1] + g->in[2];
    const __m128i signs = _mm_set1_epi8((char)flip), fill = _mm_set1_epi16((short)border);
    for (int64_t j = first; j < first + count; j++, to += length) {
        const int inside = j >= 0 && j < g->in[1];
        int64_t i = 0;
        for (; i < (inside ? pad : length); i += 8)
            _mm_storeu_si128((__m128i *)(to + i), fill);
        if (!inside)
            continue;
        const unsigned char *from = x + j * g->step[1];
        for (i = 0; i < n && end - from >= i + 16; i += 16)
            cameo_pairs_widen(from + i, signs, to + pad + i);
        for (; i < n; i++)
            to[pad + i] = (int16_t)(from[i] ^ flip);
        for (i = pad + n; i < length; i += 8)
            _mm_storeu_si128((__m128i *)(to + i), fill);
    }
}

/* A row of y: n places of `rows` rows of x, `down` elements apart, with `pairs` pairs in each. */
static inline __attribute__((always_inline, unused)) void
cameo_pairs_line(int64_t rows, int64_t pairs, int64_t stride, const int16_t *x, int64_t down,
                 const cameo_pairs *w, int64_t n, int32_t *y)
{
    enum { BOTH = 2 * CAMEO_PAIRS_LANES };
    const int64_t apart = stride == 1 ? 1 : BOTH;
    for (int64_t j = 0; j < n; j += BOTH) {
        cameo_pairs a = CAMEO_PAIRS_ALL(0), b = a;
        const int16_t *from = x + j * stride;
        const int half = stride == 2 && n - j <= CAMEO_PAIRS_LANES;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t t = 0; t < pairs; t++) {
                const int16_t *at = from + r * down + 2 * t;
                a = CAMEO_PAIRS_DOT(a, CAMEO_PAIRS_LOAD(at), w[r * pairs + t]);
                if (!half)
                    b = CAMEO_PAIRS_DOT(b, CAMEO_PAIRS_LOAD(at + apart), w[r * pairs + t]);
            }
        if (stride == 1) {
            cameo_pairs_join(a, b, y + j);
        } else {
            CAMEO_PAIRS_STORE(y + j, a);
            CAMEO_PAIRS_STORE(y + j + CAMEO_PAIRS_LANES, b);
        }
    }
}

/* As cameo_byte_plane, `most` rows at once. */
static __attribute__((noinline, unused)) int64_t
cameo_pairs_plane(const cameo_conv *g, int64_t most, const void *x, int zero, int flip,
                  const void *weights, void *scratch, int64_t n0, int32_t *sums)
{
    const int64_t rows = g->taps[1], pairs = (g->taps[2] + 1) / 2, out = g->out[2];
    const int64_t line = n0 ? n0 / out : 0, left = g->out[1] - line;
    const int64_t lines = left < most ? left : most, length = cameo_conv_reach(g, 2);
    const int64_t down = g->dilation[1] * length, next = g->stride[1] * length;
    int32_t numbers[CAMEO_PAIRS_MOST];
    cameo_pairs w[CAMEO_PAIRS_MOST];
    cameo_pairs_weights(g, weights, numbers);
    for (int64_t i = 0; i < rows * pairs; i++)
        w[i] = CAMEO_PAIRS_ALL(numbers[i]);
    int16_t *to = scratch;
    const int64_t count = (lines - 1) * g->stride[1] + (rows - 1) * g->dilation[1] + 1;
    cameo_pairs_copy(g, x, (zero & 255) ^ flip, flip, line * g->stride[1] - g->pad[1], count,
                     length, to);
    const int three = rows == 3 && pairs == 2, once = g->stride[2] == 1;
    for (int64_t i = 0; i < lines; i++, to += next, sums += out)
        if (three && once)
            cameo_pairs_line(3, 2, 1, to, down, w, out, sums);
        else if (three)
            cameo_pairs_line(3, 2, 2, to, down, w, out, sums);
        else if (once)
            cameo_pairs_line(rows, pairs, 1, to, down, w, out, sums);
        else
            cameo_pairs_line(rows, pairs, 2, to, down, w, out, sums);
    return n0 + lines * out;
}

#endif
#endif
