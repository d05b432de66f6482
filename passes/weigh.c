// Sums over weights in the widest vectors of the host (weigh.h).
//
// Floats of 16 bits are added as bytes are, others in double. Bytes are added as integers where all
// that they multiply lies in one interval, else as float32 with few terms to a sum before it goes
// on in double.

#include "passes/weigh.h"
#include "base/host.h"
#include "passes/weigh_lanes.h"
#include "passes/weigh_sixteen.h"

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
// exponent -14. What is infinite or NaN becomes some number: elements_measure tells it.
static inline float of_f16(const unsigned char *at, uint64_t i)
{
    const uint32_t bias = UINT32_C(112) << 23, least = UINT32_C(1) << 23;
    uint16_t bits;
    memcpy(&bits, at + sizeof bits * i, sizeof bits);
    const uint32_t word = (uint32_t)(bits & 0x7fff) << 13, sign = (uint32_t)(bits & 0x8000) << 16;
    const uint32_t less = (uint32_t)((int32_t)(word - least) >> 31); // ones: subnormal, or 0
    const float taken = from_bits(less & (bias + least));            // 2^-14 or 0
    return from_bits(sign | to_bits(from_bits(word + bias + (less & least)) - taken));
}

#define NUMBER of_f64
#define REAL double
#define ADDED add_doubles
#define MAGNITUDE fabs
#define OF(name) name##_f64
#include "passes/weigh.inc"
#define NUMBER of_f32
#define REAL double
#define ADDED add_doubles
#define MAGNITUDE fabs
#define OF(name) name##_f32
#include "passes/weigh.inc"
#define NUMBER of_f16
#define REAL float
#define ADDED add_floats
#define MAGNITUDE fabsf
#define OF(name) name##_f16
#include "passes/weigh.inc"
#define NUMBER of_bf16
#define REAL float
#define ADDED add_floats
#define MAGNITUDE fabsf
#define OF(name) name##_bf16
#include "passes/weigh.inc"

// An infinity or NaN is what it is.
static inline double whole_of_f16(const unsigned char *at, uint64_t i)
{
    uint16_t bits;
    memcpy(&bits, at + sizeof bits * i, sizeof bits);
    const uint32_t ends = (bits & 0x7c00) == 0x7c00 ? UINT32_C(0x7f800000) : 0;
    return (double)from_bits(to_bits(of_f16(at, i)) | ends);
}

#define READ(name, number)                                                                         \
    HOST_VECTORS                                                                                   \
    static void name(const unsigned char *restrict at, uint64_t n, double *restrict to)            \
    {                                                                                              \
        for (uint64_t k = 0; k < n; k++)                                                           \
            to[k] = (double)number(at, k);                                                         \
    }
READ(read_f64, of_f64)
READ(read_f32, of_f32)
READ(read_f16, whole_of_f16)
READ(read_bf16, of_bf16)

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
    (form == WEIGHT_F64 ? add_row_f64 : add_row_f32)(at, n, x->middle, x->radius, x->most, sum);
}

void weigh_rows(WeightForm form, const unsigned char *at, uint64_t stride, uint64_t rows,
                uint64_t n, const Intervals *x, const Intervals *sums)
{
    (form == WEIGHT_F64 ? add_rows_f64 : add_rows_f32)(
        at, stride, rows, n, x->middle, x->radius, x->most, sums->middle, sums->radius, sums->most);
}

// A term of n goes through at most n + 3 roundings, and of more than SHORT_ROWS rows, or of
// SHORT_RUN weights or WORD_RUN integers in so many lanes, through 64 and three: then a sum goes on
// in double.
double weigh_short_error(double terms)
{
    return fmin(terms + 4, 72) * 0x1p-23;
}

void weigh_short_row(WeightForm form, const unsigned char *at, uint64_t n, const ShortIntervals *x,
                     double *sum)
{
    for (uint64_t k = 0; k < n; k += SHORT_RUN)
        (form == WEIGHT_F16 ? add_row_f16 : add_row_bf16)(
            at + k * sizeof(uint16_t), n - k < SHORT_RUN ? n - k : SHORT_RUN, x->middle + k,
            x->radius + k, x->most ? x->most + k : NULL, sum);
}

void weigh_short_rows(WeightForm form, const unsigned char *at, uint64_t stride, uint64_t rows,
                      uint64_t n, const ShortIntervals *x, const ShortIntervals *sums)
{
    (form == WEIGHT_F16 ? add_rows_f16 : add_rows_bf16)(
        at, stride, rows, n, x->middle, x->radius, x->most, sums->middle, sums->radius, sums->most);
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

// ---- numbers in words

#define HELD UINT32_C(0x4b000000) // the float WORD_HELD

// What a form's numbers are made with.
typedef struct Making {
    uint32_t flip, up;
    float normal;
} Making;

static inline Making making_of(const WordForm *form)
{
    const int exponent = 127 - form->bias;
    return (Making){form->flip * UINT32_C(0x01010101), (uint32_t)exponent << 23,
                    from_bits((uint32_t)(exponent + 1) << 23)};
}

// The integer of each of WORDS words that begins with bit `shift`, as a float.
INLINE float integer_of(uint32_t word, const unsigned shift, const unsigned bits)
{
    return from_bits((word >> shift & ((UINT32_C(1) << bits) - 1)) | HELD);
}

// The same of floats with so many digits behind the point: exponent and digits are put where those
// of a float are. A number with exponent 0 is then above half of the least normal one by half of
// what it is; for all others the double less that least one is no less than the number.
INLINE uint32_t small_size(uint32_t word, const unsigned shift, const unsigned bits,
                           const unsigned digits, const Making *m)
{
    const int up = 23 - (int)digits - (int)shift;
    const uint32_t mask = ((UINT32_C(1) << (bits - 1)) - 1) << (23 - digits);
    const float one = from_bits(((up > 0 ? word << up : word >> -up) & mask) + m->up);
    const uint32_t as_is = to_bits(one), other = to_bits(one + one - m->normal);
    return as_is < other ? as_is : other;
}

// A number and its magnitude, which of floats is there first.
INLINE float number_of(uint32_t word, const unsigned shift, const unsigned bits,
                       const unsigned digits, const Making *m, float zero, float *size)
{
    const uint32_t sign = word << (32 - bits - shift) & UINT32_C(0x80000000);
    if (digits) {
        const uint32_t magnitude = small_size(word, shift, bits, digits, m);
        *size = from_bits(magnitude);
        return from_bits(magnitude | sign);
    }
    const float v = integer_of(word, shift, bits) - zero;
    *size = fabsf(v);
    return v;
}

// Loops that shift by a number which the compiler does not know take longer: each of these is
// called with its own.
INLINE void row_step(const uint32_t *word, const unsigned t, const unsigned bits,
                     const unsigned digits, const Making *m, const float *zero,
                     const ShortIntervals *x, uint64_t from, float *restrict middle,
                     float *restrict radius, float *restrict most, const bool all)
{
    const float *restrict by_middle = x->middle + from + t * WORDS;
    const float *restrict by_radius = x->radius + from + t * WORDS;
    const float *restrict by_most = all ? x->most + from + t * WORDS : NULL;
    for (int i = 0; i < WORDS; i++) {
        float size;
        const float v = number_of(word[i], t * bits, bits, digits, m, zero[i], &size);
        middle[i] += v * by_middle[i];
        radius[i] += size * by_radius[i];
        if (all)
            most[i] += size * by_most[i];
    }
}

#define STEPS(bits)                                                                                \
    STEP(0);                                                                                       \
    STEP(1);                                                                                       \
    STEP(2);                                                                                       \
    STEP(3);                                                                                       \
    if (bits == 4) {                                                                               \
        STEP(4);                                                                                   \
        STEP(5);                                                                                   \
        STEP(6);                                                                                   \
        STEP(7);                                                                                   \
    }

// The integers of each word are next to each other, the first in its low bits.
INLINE void row_of_words(const unsigned char *restrict at, uint64_t words, const unsigned bits,
                         const unsigned digits, const Making *m, const float *scale,
                         const float *zero, const ShortIntervals *x, double *restrict sum,
                         const bool all)
{
    float a[WORDS] = {0}, b[WORDS] = {0}, c[WORDS] = {0};
    for (uint64_t k = 0; k < words; k += WORDS) {
        float middle[WORDS] = {0}, radius[WORDS] = {0}, most[WORDS] = {0};
        uint32_t word[WORDS];
        for (int i = 0; i < WORDS; i++) {
            memcpy(&word[i], at + (k + i) * sizeof *word, sizeof *word);
            word[i] ^= m->flip;
        }
#define STEP(t)                                                                                    \
    row_step(word, t, bits, digits, m, zero + k, x, k * (32 / bits), middle, radius, most, all)
        STEPS(bits)
#undef STEP
        for (int i = 0; i < WORDS; i++) {
            const float s = scale ? scale[k + i] : 1, size = fabsf(s);
            a[i] += s * middle[i];
            b[i] += size * radius[i];
            if (all)
                c[i] += size * most[i];
        }
    }
    sum[0] += add_floats(a);
    sum[1] += add_floats(b);
    if (all)
        sum[2] += add_floats(c);
}

INLINE void rows_step(const uint32_t word[4][WORDS], const unsigned t, const unsigned bits,
                      const unsigned digits, const Making *m, const float *restrict zero,
                      const float *x, uint64_t to, float *restrict a, float *restrict b,
                      float *restrict c, const bool all)
{
    to += t * WORDS;
    zero += to;
    a += to;
    b += to;
    c = all ? c + to : NULL;
    for (int i = 0; i < WORDS; i++) {
        float v[4], size[4];
        for (int j = 0; j < 4; j++)
            v[j] = number_of(word[j][i], t * bits, bits, digits, m, zero[i], &size[j]);
        a[i] += v[0] * x[0] + v[1] * x[3] + (v[2] * x[6] + v[3] * x[9]);
        b[i] += size[0] * x[1] + size[1] * x[4] + (size[2] * x[7] + size[3] * x[10]);
        if (all)
            c[i] += size[0] * x[2] + size[1] * x[5] + (size[2] * x[8] + size[3] * x[11]);
    }
}

// Four rows, whose intervals are x[0..2], x[3..5] ..
INLINE void rows_of_words(const unsigned char *const *row, uint64_t words, const unsigned bits,
                          const unsigned digits, const Making *m, const float *restrict zero,
                          const float *x, float *restrict a, float *restrict b, float *restrict c,
                          const bool all)
{
    for (uint64_t k = 0; k < words; k += WORDS) {
        uint32_t word[4][WORDS];
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < WORDS; i++) {
                memcpy(&word[j][i], row[j] + (k + i) * sizeof **word, sizeof **word);
                word[j][i] ^= m->flip;
            }
#define STEP(t) rows_step(word, t, bits, digits, m, zero, x, k * (32 / bits), a, b, c, all)
        STEPS(bits)
#undef STEP
    }
}

#define WORD_LOOPS(bits, digits, all)                                                              \
    HOST_VECTORS                                                                                   \
    static void row_##bits##_##digits##_##all(                                                     \
        const unsigned char *at, uint64_t words, const Making *m, const float *scale,              \
        const float *zero, const ShortIntervals *x, double *sum)                                   \
    {                                                                                              \
        const Making own = *m;                                                                     \
        row_of_words(at, words, bits, digits, &own, scale, zero, x, sum, all);                     \
    }                                                                                              \
    HOST_VECTORS                                                                                   \
    static void rows_##bits##_##digits##_##all(const unsigned char *const *row, uint64_t words,    \
                                               const Making *m, const float *zero, const float *x, \
                                               const ShortIntervals *to)                           \
    {                                                                                              \
        const Making own = *m;                                                                     \
        rows_of_words(row, words, bits, digits, &own, zero, x, to->middle, to->radius, to->most,   \
                      all);                                                                        \
    }
WORD_LOOPS(4, 0, 0)
WORD_LOOPS(4, 0, 1)
WORD_LOOPS(4, 1, 0)
WORD_LOOPS(4, 1, 1)
WORD_LOOPS(8, 0, 0)
WORD_LOOPS(8, 0, 1)
WORD_LOOPS(8, 2, 0)
WORD_LOOPS(8, 2, 1)
WORD_LOOPS(8, 3, 0)
WORD_LOOPS(8, 3, 1)

// The loop of a form, with all three sums or two.
#define FORM_LOOP(loop, form, all)                                                                 \
    ((form)->bits == 4     ? ((form)->digits ? LOOP(loop, 4, 1, all) : LOOP(loop, 4, 0, all))      \
     : (form)->digits == 3 ? LOOP(loop, 8, 3, all)                                                 \
     : (form)->digits == 2 ? LOOP(loop, 8, 2, all)                                                 \
                           : LOOP(loop, 8, 0, all))
#define LOOP(loop, bits, digits, all)                                                              \
    ((all) ? loop##_##bits##_##digits##_1 : loop##_##bits##_##digits##_0)

enum { WORD_BYTES = WORDS * sizeof(uint32_t) };

uint64_t weigh_places(const WordForm *form, uint64_t n)
{
    const uint64_t at_once = WORD_BYTES * 8 / form->bits;
    return (n + at_once - 1) / at_once * at_once;
}

INLINE void place_whole(const float *restrict from, uint64_t n, float *restrict to,
                        const uint64_t per)
{
    for (uint64_t k = 0; k < n; k += WORDS * per)
        for (uint64_t i = 0; i < WORDS; i++)
            for (uint64_t t = 0; t < per; t++)
                to[k + t * WORDS + i] = from[k + i * per + t];
}

HOST_VECTORS
static void place_halves(const float *from, uint64_t n, float *to)
{
    place_whole(from, n, to, 8);
}

HOST_VECTORS
static void place_bytes(const float *from, uint64_t n, float *to)
{
    place_whole(from, n, to, 4);
}

void weigh_place(const WordForm *form, const float *from, uint64_t n, float *to)
{
    const uint64_t per = 32 / form->bits, whole = n / (WORDS * per) * (WORDS * per);
    (form->bits == 4 ? place_halves : place_bytes)(from, whole, to);
    memset(to + whole, 0, (weigh_places(form, n) - whole) * sizeof *to);
    for (uint64_t k = whole; k < n; k++)
        to[weigh_place_of(form, k)] = from[k];
}

static void add_words(const WordForm *form, const unsigned char *at, uint64_t words,
                      const float *scale, const float *zero, const ShortIntervals *x, double *sum)
{
    const Making m = making_of(form);
    if (weigh_looks_up(form))
        weigh_sixteen_row(form, at, words, scale, x, sum);
    else
        FORM_LOOP(row, form, x->most)(at, words, &m, scale, zero, x, sum);
}

// Bytes beyond the last word are those of another row, or none: these are copied.
void weigh_word_row(const WordForm *form, const unsigned char *at, uint64_t n, const float *scale,
                    const float *zero, const ShortIntervals *x, double *sum)
{
    const uint64_t per = 32 / form->bits, words = n / (WORDS * per) * WORDS;
    const uint64_t bytes = words * sizeof(uint32_t), all = (n * form->bits + 7) / 8;
    add_words(form, at, words, scale, zero, x, sum);
    if (bytes == all)
        return;
    unsigned char last[WORD_BYTES] = {0};
    const ShortIntervals rest = {x->middle + words * per, x->radius + words * per,
                                 x->most ? x->most + words * per : NULL};
    memcpy(last, at + bytes, all - bytes);
    add_words(form, last, WORDS, scale ? scale + words : NULL, zero + words, &rest, sum);
}

static void add_word_rows(const WordForm *form, const unsigned char *const *row, uint64_t words,
                          uint64_t ahead, const float *zero, const float *x,
                          const ShortIntervals *to)
{
    const Making m = making_of(form);
    if (weigh_looks_up(form)) {
        weigh_sixteen_rows(form, row, words, ahead, x, to);
        return;
    }
    for (int j = 0; ahead && j < 4; j++)
        weigh_expect(row[j] + ahead, words * sizeof(uint32_t));
    FORM_LOOP(rows, form, to->most)(row, words, &m, zero, x, to);
}

void weigh_word_rows(const WordForm *form, const unsigned char *at, uint64_t stride, uint64_t rows,
                     uint64_t n, uint64_t ahead, const float *zero, const ShortIntervals *x,
                     const ShortIntervals *sums)
{
    enum { AT_ONCE = 4 };
    const uint64_t per = 32 / form->bits, words = n / (WORDS * per) * WORDS, done = words * per;
    const uint64_t bytes = words * sizeof(uint32_t), all = (n * form->bits + 7) / 8;
    const ShortIntervals to = {sums->middle, sums->radius, x->most ? sums->most : NULL};
    const ShortIntervals rest = {to.middle + done, to.radius + done,
                                 to.most ? to.most + done : NULL};
    for (uint64_t k = 0; k < rows; k += AT_ONCE) {
        unsigned char last[AT_ONCE][WORD_BYTES];
        const unsigned char *row[AT_ONCE], *ends[AT_ONCE];
        float of[3 * AT_ONCE] = {0};
        for (uint64_t j = 0; j < AT_ONCE; j++) {
            const uint64_t i = k + j < rows ? k + j : k;
            row[j] = at + stride * i;
            ends[j] = last[j];
            if (bytes < all) {
                memset(last[j], 0, sizeof last[j]);
                memcpy(last[j], row[j] + bytes, all - bytes);
            }
            if (k + j < rows) {
                of[3 * j] = x->middle[i];
                of[3 * j + 1] = x->radius[i];
                of[3 * j + 2] = x->most ? x->most[i] : 0;
            }
        }
        add_word_rows(form, row, words, ahead, zero, of, &to);
        if (bytes < all)
            add_word_rows(form, ends, WORDS, 0, zero + done, of, &rest);
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
