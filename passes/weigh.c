// Sums over weights in the widest vectors of the host (weigh.h).
//
// Floats of 16 bits are added as bytes are, others in double. Bytes are added as integers where all
// that they multiply lies in one interval, else as float32 with few terms to a sum before it goes
// on in double.

#include "passes/weigh.h"
#include "base/host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BYTE_RUN = 1 << 16, SHORT_RUN = 512 };

// ---- floats

static inline double of_f64(const unsigned char *at, uint64_t i)
{
    double v;
    memcpy(&v, at + sizeof v * i, sizeof v);
    return v;
}

static inline double of_f32(const unsigned char *at, uint64_t i)
{
    float v;
    memcpy(&v, at + sizeof v * i, sizeof v);
    return (double)v;
}

static inline float from_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline uint32_t to_bits(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline float of_bf16(const unsigned char *at, uint64_t i)
{
    uint16_t bits;
    memcpy(&bits, at + sizeof bits * i, sizeof bits);
    return from_bits((uint32_t)bits << 16);
}

// The exponent is moved by 112; a subnormal number is what is above 2^-14 of the one that has
// exponent -14, and what is infinite or NaN stays so.
static inline float of_f16(const unsigned char *at, uint64_t i)
{
    const uint32_t bias = UINT32_C(112) << 23;
    uint16_t bits;
    memcpy(&bits, at + sizeof bits * i, sizeof bits);
    const uint32_t word = (uint32_t)(bits & 0x7fff) << 13, sign = (uint32_t)(bits & 0x8000) << 16;
    const uint32_t more = word >= UINT32_C(0x7c00) << 13 ? bias : 0;
    const uint32_t less = word < UINT32_C(0x400) << 13 ? UINT32_C(1) << 23 : 0;
    const float taken = from_bits(less ? UINT32_C(113) << 23 : 0); // 2^-14 or 0
    return from_bits(sign | to_bits(from_bits(word + bias + more + less) - taken));
}

#define NUMBER of_f64
#define REAL double
#define MAGNITUDE fabs
#define LANES 16
#define OF(name) name##_f64
#include "passes/weigh.inc"
#define NUMBER of_f32
#define REAL double
#define MAGNITUDE fabs
#define LANES 16
#define OF(name) name##_f32
#include "passes/weigh.inc"
#define NUMBER of_f16
#define REAL float
#define MAGNITUDE fabsf
#define LANES 32
#define OF(name) name##_f16
#include "passes/weigh.inc"
#define NUMBER of_bf16
#define REAL float
#define MAGNITUDE fabsf
#define LANES 32
#define OF(name) name##_bf16
#include "passes/weigh.inc"

void weigh_read(WeightForm form, const unsigned char *at, uint64_t n, double *to)
{
    switch (form) {
    case WEIGHT_F64:
        read_f64(at, n, to);
        break;
    case WEIGHT_F32:
        read_f32(at, n, to);
        break;
    case WEIGHT_F16:
        read_f16(at, n, to);
        break;
    case WEIGHT_BF16:
        read_bf16(at, n, to);
        break;
    }
}

void weigh_row(WeightForm form, const unsigned char *at, uint64_t n, const Intervals *x,
               double *sum)
{
    (form == WEIGHT_F64 ? row_f64 : row_f32)(at, n, x->middle, x->radius, x->most, sum);
}

void weigh_short_row(WeightForm form, const unsigned char *at, uint64_t n, const ShortIntervals *x,
                     double *sum)
{
    for (uint64_t k = 0; k < n; k += SHORT_RUN)
        (form == WEIGHT_F16 ? row_f16 : row_bf16)(at + k * sizeof(uint16_t),
                                                  n - k < SHORT_RUN ? n - k : SHORT_RUN,
                                                  x->middle + k, x->radius + k, x->most + k, sum);
}

void weigh_rows(WeightForm form, const unsigned char *at, uint64_t stride, uint64_t rows,
                uint64_t n, const Intervals *x, const Intervals *sums)
{
    for (uint64_t k = 0; k < rows; k += 2) {
        const uint64_t next = k + 1 < rows ? k + 1 : k, more = next - k;
        const double two[6] = {
            x->middle[k],           x->radius[k],           x->most[k],
            x->middle[next] * more, x->radius[next] * more, x->most[next] * more};
        (form == WEIGHT_F64 ? pair_f64 : pair_f32)(at + stride * k, at + stride * next, n, two,
                                                   sums->middle, sums->radius, sums->most);
    }
}

// A term of n goes through at most n / 2 + 3 roundings, and of more than SHORT_ROWS rows, or of
// SHORT_RUN weights in so many lanes, through half of 64 and three: then a sum goes on in double.
double weigh_short_error(double terms)
{
    return fmin(terms + 4, 72) * 0x1p-23;
}

// Rows k and k + 1, or k and again k, times nothing.
static void two_of(const ShortIntervals *x, uint64_t k, uint64_t rows, float two[6])
{
    const uint64_t next = k + 1 < rows ? k + 1 : k;
    const float more = next > k;
    two[0] = x->middle[k];
    two[1] = x->radius[k];
    two[2] = x->most[k];
    two[3] = x->middle[next] * more;
    two[4] = x->radius[next] * more;
    two[5] = x->most[next] * more;
}

void weigh_short_rows(WeightForm form, const unsigned char *at, uint64_t stride, uint64_t rows,
                      uint64_t n, const ShortIntervals *x, const ShortIntervals *sums)
{
    for (uint64_t k = 0; k < rows; k += 2) {
        const uint64_t next = k + 1 < rows ? k + 1 : k;
        float two[6];
        two_of(x, k, rows, two);
        (form == WEIGHT_F16 ? pair_f16 : pair_bf16)(at + stride * k, at + stride * next, n, two,
                                                    sums->middle, sums->radius, sums->most);
    }
}

// ---- bytes, one interval

// A sum of differences from 0 is one instruction, as that from `zero` is; the compiler must not see
// that it is 0.
HOST_VECTORS
static void add_bytes(const unsigned char *at, uint64_t n, unsigned char flip, unsigned char zero,
                      unsigned char none, uint64_t *sum, uint64_t *magnitude)
{
    uint32_t all = 0, sizes = 0;
    for (uint64_t k = 0; k < n; k++) {
        const unsigned char q = (unsigned char)(at[k] ^ flip);
        all += (uint32_t)abs((int)q - (int)none);
        sizes += (uint32_t)abs((int)q - (int)zero);
    }
    *sum += all;
    *magnitude += sizes;
}

void weigh_bytes(const unsigned char *at, uint64_t n, unsigned char flip, unsigned char zero,
                 uint64_t *sum, uint64_t *magnitude)
{
    for (uint64_t done = 0, part; done < n; done += part) {
        part = n - done < BYTE_RUN ? n - done : BYTE_RUN;
        add_bytes(at + done, part, flip, zero, 0, sum, magnitude);
    }
}

HOST_VECTORS
static void add_byte_row(const unsigned char *at, uint64_t n, unsigned char flip,
                         const unsigned char *zero, uint16_t *restrict sum,
                         uint16_t *restrict magnitude)
{
    for (uint64_t k = 0; k < n; k++) {
        const unsigned char q = (unsigned char)(at[k] ^ flip), z = zero[k];
        const unsigned char more = q > z ? q : z, less = q > z ? z : q;
        sum[k] = (uint16_t)(sum[k] + q);
        magnitude[k] = (uint16_t)(magnitude[k] + (unsigned char)(more - less));
    }
}

void weigh_byte_rows(const unsigned char *at, uint64_t stride, uint64_t rows, uint64_t n,
                     unsigned char flip, const unsigned char *zero, uint16_t *sum,
                     uint16_t *magnitude)
{
    for (uint64_t row = 0; row < rows; row++)
        add_byte_row(at + stride * row, n, flip, zero, sum, magnitude);
}

// ---- bytes, an interval each

HOST_VECTORS
static void add_pieces(const unsigned char *at, uint64_t pieces, unsigned char flip,
                       const Pieces *of, const ShortIntervals *x, double *sum)
{
    const float *middle = x->middle, *radius = x->radius, *most = x->most;
    float a[PIECE] = {0}, b[PIECE] = {0}, c[PIECE] = {0};
    for (uint64_t p = 0; p < pieces; p++) {
        const int zero = of->zero[p];
        const float scale = of->scale[p];
        for (int j = 0; j < PIECE; j++) {
            const uint64_t k = p * PIECE + j;
            const float v = (float)((int)(unsigned char)(at[k] ^ flip) - zero) * scale;
            const float size = fabsf(v);
            a[j] += v * middle[k];
            b[j] += size * radius[k];
            c[j] += size * most[k];
        }
    }
    double all[3] = {0};
    for (int j = 0; j < PIECE; j++) {
        all[0] += (double)a[j];
        all[1] += (double)b[j];
        all[2] += (double)c[j];
    }
    for (int j = 0; j < 3; j++)
        sum[j] += all[j];
}

void weigh_short_bytes(const unsigned char *at, uint64_t n, unsigned char flip, const Pieces *of,
                       const ShortIntervals *x, double *sum)
{
    enum { AT_ONCE = SHORT_RUN / PIECE };
    const uint64_t pieces = n / PIECE;
    for (uint64_t p = 0; p < pieces; p += AT_ONCE) {
        const uint64_t k = p * PIECE;
        const ShortIntervals from = {x->middle + k, x->radius + k, x->most + k};
        add_pieces(at + k, pieces - p < AT_ONCE ? pieces - p : AT_ONCE, flip,
                   &(Pieces){of->scale + p, of->zero + p}, &from, sum);
    }
    for (uint64_t k = pieces * PIECE; k < n; k++) {
        const double v =
            (double)((int)(unsigned char)(at[k] ^ flip) - of->zero[pieces]) * of->scale[pieces];
        sum[0] += v * (double)x->middle[k];
        sum[1] += fabs(v) * (double)x->radius[k];
        sum[2] += fabs(v) * (double)x->most[k];
    }
}

HOST_VECTORS
static void add_short_pair(const unsigned char *restrict p, const unsigned char *restrict q,
                           uint64_t n, unsigned char flip, const unsigned char *restrict zero,
                           const float x[6], float *restrict a, float *restrict b,
                           float *restrict c)
{
    const float m = x[0], d = x[1], g = x[2], m1 = x[3], d1 = x[4], g1 = x[5];
    for (uint64_t k = 0; k < n; k++) {
        const int z = zero[k];
        const float v = (float)((int)(unsigned char)(p[k] ^ flip) - z),
                    w = (float)((int)(unsigned char)(q[k] ^ flip) - z);
        const float size = fabsf(v), other = fabsf(w);
        a[k] += v * m + w * m1;
        b[k] += size * d + other * d1;
        c[k] += size * g + other * g1;
    }
}

void weigh_short_byte_rows(const unsigned char *at, uint64_t stride, uint64_t rows, uint64_t n,
                           unsigned char flip, const unsigned char *zero, const ShortIntervals *x,
                           const ShortIntervals *sums)
{
    for (uint64_t k = 0; k < rows; k += 2) {
        const uint64_t next = k + 1 < rows ? k + 1 : k;
        float two[6];
        two_of(x, k, rows, two);
        add_short_pair(at + stride * k, at + stride * next, n, flip, zero, two, sums->middle,
                       sums->radius, sums->most);
    }
}

// ---- few bits

HOST_VECTORS
static void unpack_bytes(const unsigned char *at, uint64_t n, unsigned bits, unsigned flip,
                         unsigned char *restrict to)
{
    if (bits == 4)
        for (uint64_t i = 0; i < n; i++) {
            const unsigned char v = (unsigned char)(at[i] ^ flip);
            to[2 * i] = v & 15;
            to[2 * i + 1] = v >> 4;
        }
    else
        for (uint64_t i = 0; i < n; i++) {
            const unsigned char v = (unsigned char)(at[i] ^ flip);
            to[4 * i] = v & 3;
            to[4 * i + 1] = v >> 2 & 3;
            to[4 * i + 2] = v >> 4 & 3;
            to[4 * i + 3] = v >> 6;
        }
}

void weigh_unpack(const unsigned char *at, uint64_t first, uint64_t n, unsigned bits,
                  bool is_signed, unsigned char *to)
{
    const unsigned per = 8 / bits, mask = (1u << bits) - 1;
    const unsigned flip = !is_signed ? 0 : bits == 4 ? 0x88 : 0xaa;
    uint64_t i = first, end = first + n;
    for (; i < end && i % per; i++)
        *to++ = (unsigned char)((at[i / per] ^ flip) >> i % per * bits & mask);
    const uint64_t whole = (end - i) / per;
    unpack_bytes(at + i / per, whole, bits, flip, to);
    to += whole * per;
    for (i += whole * per; i < end; i++)
        *to++ = (unsigned char)((at[i / per] ^ flip) >> i % per * bits & mask);
}
