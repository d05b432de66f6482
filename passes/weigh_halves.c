// Sums of integers of 4 bits that all multiply one interval (weigh.h).
//
// Both halves of a byte are added in bytes, of a row for each word of 32 bits, which share a scale;
// of columns for as many rows as a byte holds the sums of.

#include "base/host.h"
#include "passes/weigh.h"
#include "passes/weigh_lanes.h"

#include <math.h>
#include <string.h>

enum { WORD_BYTES = WORDS * sizeof(uint32_t) };

INLINE unsigned char apart(unsigned char a, unsigned char b)
{
    const unsigned char more = a > b ? a : b, less = a > b ? b : a;
    return (unsigned char)(more - less);
}

// ---- rows

// The sum of the four bytes of a word, which is less than 256.
INLINE int sum_of_bytes(const unsigned char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    word = (word & UINT32_C(0x00ff00ff)) + (word >> 8 & UINT32_C(0x00ff00ff));
    return (int)((word + (word >> 16)) & 0xff);
}

INLINE void row_of_halves(const unsigned char *restrict at, uint64_t words, unsigned char flip,
                          const float *restrict scale, const uint32_t *restrict zero,
                          float *restrict sum, float *restrict magnitude, const bool scaled)
{
    for (uint64_t k = 0; k < words; k += WORDS) {
        unsigned char point[WORD_BYTES], all[WORD_BYTES], size[WORD_BYTES];
        memcpy(point, zero + k, sizeof point);
        for (int i = 0; i < WORD_BYTES; i++) {
            const unsigned char byte = (unsigned char)(at[k * sizeof *zero + i] ^ flip);
            const unsigned char low = byte & 15, high = byte >> 4;
            all[i] = (unsigned char)(low + high);
            size[i] = (unsigned char)(apart(low, point[i]) + apart(high, point[i]));
        }
        for (int i = 0; i < WORDS; i++) {
            const int points = (int)(zero[k + i] & 0xff) * 8;
            const float s = scaled ? scale[k + i] : 1;
            const int q = sum_of_bytes(all + i * sizeof *zero) - points;
            sum[i] += s * (float)q;
            magnitude[i] += fabsf(s) * (float)sum_of_bytes(size + i * sizeof *zero);
        }
    }
}

HOST_VECTORS
static void add_row(const unsigned char *at, uint64_t words, unsigned char flip,
                    const uint32_t *zero, float *sum, float *magnitude)
{
    row_of_halves(at, words, flip, NULL, zero, sum, magnitude, false);
}

HOST_VECTORS
static void add_scaled_row(const unsigned char *at, uint64_t words, unsigned char flip,
                           const float *scale, const uint32_t *zero, float *sum, float *magnitude)
{
    row_of_halves(at, words, flip, scale, zero, sum, magnitude, true);
}

HOST_VECTORS
static void add_all(const float *all, const float *magnitude, double *sum)
{
    sum[0] += add_floats(all);
    sum[1] += add_floats(magnitude);
}

// What is over is filled with zero points, which add nothing.
void weigh_half_row(const unsigned char *at, uint64_t n, unsigned char flip, const float *scale,
                    const uint32_t *zero, double *sum)
{
    const uint64_t bytes = n / 2, words = bytes / WORD_BYTES * WORDS, rest = bytes % WORD_BYTES;
    float all[WORDS] = {0}, magnitude[WORDS] = {0};
    if (scale)
        add_scaled_row(at, words, flip, scale, zero, all, magnitude);
    else
        add_row(at, words, flip, zero, all, magnitude);
    if (rest) {
        unsigned char last[WORD_BYTES];
        uint32_t points[WORDS] = {0};
        float scales[WORDS] = {0};
        const uint64_t left = (rest + sizeof *zero - 1) / sizeof *zero;
        memcpy(points, zero + words, left * sizeof *zero);
        for (uint64_t k = 0; k < left; k++)
            scales[k] = scale ? scale[words + k] : 1;
        for (uint64_t i = rest; i < WORD_BYTES; i++)
            last[i] = (unsigned char)((points[i / sizeof *zero] & 15) * 0x11) ^ flip;
        memcpy(last, at + words * sizeof *zero, rest);
        add_scaled_row(last, WORDS, flip, scales, points, all, magnitude);
    }
    add_all(all, magnitude, sum);
}

// ---- columns

// At most HELD_ROWS rows add up to less than 256.
enum { HELD_ROWS = 16, AT_ONCE = 4, PART = 512 };
typedef struct HalfSums {
    unsigned char sum[2][PART], magnitude[2][PART]; // of low halves, of high ones
} HalfSums;

INLINE void rows_of_halves(const unsigned char *at, uint64_t stride, const int rows, uint64_t bytes,
                           unsigned char flip, const unsigned char *restrict low_zero,
                           const unsigned char *restrict high_zero, HalfSums *restrict s)
{
    for (uint64_t k = 0; k < bytes; k++) {
        unsigned char sums[2] = {0}, sizes[2] = {0};
        for (int row = 0; row < rows; row++) {
            const unsigned char byte = (unsigned char)(at[(uint64_t)row * stride + k] ^ flip);
            const unsigned char low = byte & 15, high = byte >> 4;
            sums[0] = (unsigned char)(sums[0] + low);
            sums[1] = (unsigned char)(sums[1] + high);
            sizes[0] = (unsigned char)(sizes[0] + apart(low, low_zero[k]));
            sizes[1] = (unsigned char)(sizes[1] + apart(high, high_zero[k]));
        }
        for (int half = 0; half < 2; half++) {
            s->sum[half][k] = (unsigned char)(s->sum[half][k] + sums[half]);
            s->magnitude[half][k] = (unsigned char)(s->magnitude[half][k] + sizes[half]);
        }
    }
}

HOST_VECTORS
static void add_held_rows(const unsigned char *at, uint64_t stride, uint64_t rows, uint64_t bytes,
                          unsigned char flip, const unsigned char *low_zero,
                          const unsigned char *high_zero, HalfSums *s)
{
    uint64_t row = 0;
    for (; row + AT_ONCE <= rows; row += AT_ONCE)
        rows_of_halves(at + row * stride, stride, AT_ONCE, bytes, flip, low_zero, high_zero, s);
    for (; row < rows; row++)
        rows_of_halves(at + row * stride, stride, 1, bytes, flip, low_zero, high_zero, s);
}

HOST_VECTORS
static void add_held(const unsigned char *restrict held, uint64_t n, uint16_t *restrict to)
{
    for (uint64_t k = 0; k < n; k++)
        to[k] = (uint16_t)(to[k] + held[k]);
}

void weigh_half_rows(const unsigned char *at, uint64_t stride, uint64_t rows, uint64_t n,
                     unsigned char flip, const unsigned char *zero, uint16_t *sum,
                     uint16_t *magnitude)
{
    const uint64_t bytes = n / 2;
    for (uint64_t from = 0; from < bytes; from += PART)
        for (uint64_t row = 0; row < rows; row += HELD_ROWS) {
            const uint64_t part = bytes - from < PART ? bytes - from : PART;
            HalfSums s;
            memset(&s, 0, sizeof s);
            add_held_rows(at + row * stride + from, stride,
                          rows - row < HELD_ROWS ? rows - row : HELD_ROWS, part, flip, zero + from,
                          zero + bytes + from, &s);
            for (int half = 0; half < 2; half++) {
                add_held(s.sum[half], part, sum + (uint64_t)half * bytes + from);
                add_held(s.magnitude[half], part, magnitude + (uint64_t)half * bytes + from);
            }
        }
}
