// Many numbers as another dtype (recast.h).
//
// A dtype of at most 16 bits has so few numbers that each is cast once. Others go through blocks of
// double or 64-bit integers, in which no bit of them is lost.

#include "passes/recast.h"
#include "base/host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { BLOCK = 512 };

// ---- one by one, and by a table

static void each(DType from, DType to, const unsigned char *at, uint64_t n, unsigned char *out)
{
    const uint32_t width = dtype_info(from)->bytes, wide = dtype_info(to)->bytes;
    for (uint64_t i = 0; i < n; i++)
        scalar_store(to, out + i * wide,
                     scalar_cast(from, to, scalar_load(from, at + i * width), false));
}

#define LOOKED_UP(name, code_type, type)                                                           \
    static void name(const unsigned char *table, const unsigned char *at, uint64_t n,              \
                     unsigned char *out)                                                           \
    {                                                                                              \
        for (uint64_t i = 0; i < n; i++) {                                                         \
            code_type code;                                                                        \
            memcpy(&code, at + i * sizeof code, sizeof code);                                      \
            memcpy(out + i * sizeof(type), table + code * sizeof(type), sizeof(type));             \
        }                                                                                          \
    }
LOOKED_UP(bytes_as_8, uint8_t, uint8_t)
LOOKED_UP(bytes_as_16, uint8_t, uint16_t)
LOOKED_UP(bytes_as_32, uint8_t, uint32_t)
LOOKED_UP(bytes_as_64, uint8_t, uint64_t)
LOOKED_UP(halves_as_8, uint16_t, uint8_t)
LOOKED_UP(halves_as_16, uint16_t, uint16_t)
LOOKED_UP(halves_as_32, uint16_t, uint32_t)
LOOKED_UP(halves_as_64, uint16_t, uint64_t)

// false: there are too few for a table.
static bool look_up(DType from, DType to, const unsigned char *at, uint64_t n, unsigned char *out)
{
    static void (*const loops[2][4])(const unsigned char *, const unsigned char *, uint64_t,
                                     unsigned char *) = {
        {bytes_as_8, bytes_as_16, bytes_as_32, bytes_as_64},
        {halves_as_8, halves_as_16, halves_as_32, halves_as_64},
    };
    const uint32_t width = dtype_info(from)->bytes, wide = dtype_info(to)->bytes;
    const uint32_t codes = UINT32_C(1) << (8 * width);
    unsigned char *table = n < codes ? NULL : malloc((size_t)codes * (width + wide));
    if (!table)
        return false;
    unsigned char *every = table + (size_t)codes * wide;
    for (uint32_t code = 0; code < codes; code++)
        memcpy(every + (size_t)code * width, &code, width); // little-endian: the low bytes
    each(from, to, every, codes, table);
    loops[width - 1][__builtin_ctz(wide)](table, at, n, out);
    free(table);
    return true;
}

// ---- blocks

#define LOOP(name, from, to, value)                                                                \
    HOST_VECTORS                                                                                   \
    static void name(const void *restrict at, uint64_t n, void *restrict out)                      \
    {                                                                                              \
        for (uint64_t i = 0; i < n; i++) {                                                         \
            from v;                                                                                \
            memcpy(&v, (const unsigned char *)at + i * sizeof v, sizeof v);                        \
            const to w = (to)(value);                                                              \
            memcpy((unsigned char *)out + i * sizeof w, &w, sizeof w);                             \
        }                                                                                          \
    }
LOOP(f32_as_f64, float, double, v)
LOOP(f64_as_f32, double, float, v)
LOOP(f64_as_truth, double, unsigned char, v != 0)
LOOP(i32_as_i64, int32_t, int64_t, v)
LOOP(u32_as_i64, uint32_t, int64_t, v)
LOOP(i64_as_f32, int64_t, float, v)
LOOP(u64_as_f32, uint64_t, float, v)
LOOP(i64_as_f64, int64_t, double, v)
LOOP(u64_as_f64, uint64_t, double, v)
LOOP(i64_as_i32, int64_t, uint32_t, v)
LOOP(i64_as_i16, int64_t, uint16_t, v)
LOOP(i64_as_i8, int64_t, unsigned char, v)
LOOP(i64_as_truth, int64_t, unsigned char, v != 0)
LOOP(i64_as_u4, int64_t, unsigned char, v & 15)
LOOP(i64_as_u2, int64_t, unsigned char, v & 3)
LOOP(i64_as_i4, int64_t, unsigned char, ((v & 15) ^ 8) - 8)
LOOP(i64_as_i2, int64_t, unsigned char, ((v & 3) ^ 2) - 2)

// Integers as 64-bit ones, those without a sign as their bits.
static void store_integers(DType to, const int64_t *x, uint64_t n, unsigned char *out)
{
    const bool is_signed = dtype_is_signed(to);
    switch (to == DT_BOOL ? 1 : dtype_info(to)->bits) {
    case 1:
        i64_as_truth(x, n, out);
        break;
    case 2:
        (is_signed ? i64_as_i2 : i64_as_u2)(x, n, out);
        break;
    case 4:
        (is_signed ? i64_as_i4 : i64_as_u4)(x, n, out);
        break;
    case 8:
        i64_as_i8(x, n, out);
        break;
    case 16:
        i64_as_i16(x, n, out);
        break;
    case 32:
        i64_as_i32(x, n, out);
        break;
    default:
        memcpy(out, x, n * sizeof *x);
    }
}

// Truncated, and clamped to what the dtype holds, where that has at least 8 bits.
HOST_VECTORS
static void truncate(DType to, const double *restrict x, uint64_t n, int64_t *restrict out)
{
    const int bits = dtype_info(to)->bits < 8 ? 64 : dtype_info(to)->bits;
    const bool is_signed = dtype_is_signed(to) || dtype_info(to)->bits < 8;
    const double low = is_signed ? -ldexp(1, bits - 1) : 0;
    const double high = ldexp(1, is_signed ? bits - 1 : bits);
    const int64_t least = is_signed ? (int64_t)(UINT64_MAX << (bits - 1)) : 0;
    const int64_t most = (int64_t)(UINT64_MAX >> (64 - bits + is_signed));
    for (uint64_t i = 0; i < n; i++) {
        const bool under = x[i] <= low, over = x[i] >= high;
        const double v = x[i] > low && x[i] < high ? x[i] : 0;
        const int64_t whole = bits == 64 && !is_signed ? (int64_t)(uint64_t)v : (int64_t)v;
        out[i] = under ? least : over ? most : whole;
    }
}

// A float of at most 16 bits: rounded to even at its last digit, which below its least normal
// number is that of a unit that all share.
typedef struct Coding {
    double normal, shift; // added, it leaves the number of units in the last bits
    int64_t first;        // its bits
    int64_t rebias, max, over, nan, sign;
    unsigned dropped; // bits of a double's mantissa
    bool no_negative_zero, over_has_sign, nan_has_sign;
} Coding;

static Coding coding_of(const SmallFloat *f)
{
    const int least = 1 - f->bias, digits = f->mantissa;
    Coding c = {.normal = ldexp(1, least),
                .shift = ldexp(1, least - digits + 52),
                .rebias = (int64_t)(1023 - f->bias) << digits,
                .max = f->max,
                .over = f->inf >= 0   ? f->inf
                        : f->nan >= 0 ? f->nan
                                      : (int32_t)f->max,
                .nan = f->nan >= 0 ? f->nan : 0,
                .sign = INT64_C(1) << (f->exponent + digits),
                .dropped = 52 - (unsigned)digits,
                .no_negative_zero = f->no_negative_zero,
                .over_has_sign = f->inf >= 0 || f->nan < 0,
                .nan_has_sign = f->nan < 0};
    memcpy(&c.first, &c.shift, sizeof c.first);
    return c;
}

INLINE int64_t code_of(const Coding *c, double x)
{
    const double size = fabs(x), moved = size + c->shift;
    int64_t bits, magnitude, units;
    memcpy(&bits, &x, sizeof bits);
    memcpy(&magnitude, &size, sizeof magnitude);
    memcpy(&units, &moved, sizeof units);
    const int64_t half = (INT64_C(1) << (c->dropped - 1)) - 1 + (magnitude >> c->dropped & 1);
    const int64_t rounded = ((magnitude + half) >> c->dropped) - c->rebias;
    const int64_t code = size < c->normal ? units - c->first : rounded;
    const int64_t sign = bits < 0 ? c->sign : 0;
    const int64_t number = code | (c->no_negative_zero && code == 0 ? 0 : sign);
    const int64_t over = c->over | (c->over_has_sign ? sign : 0);
    const int64_t nan = c->nan | (c->nan_has_sign ? sign : 0);
    return x != x ? nan : code > c->max ? over : number;
}

HOST_VECTORS
static void encode(const SmallFloat *f, const double *restrict x, uint64_t n, int64_t *restrict out)
{
    const Coding c = coding_of(f);
    for (uint64_t i = 0; i < n; i++)
        out[i] = code_of(&c, x[i]);
}

static void store_floats(DType to, const double *x, uint64_t n, unsigned char *out)
{
    int64_t whole[BLOCK];
    if (to == DT_F64)
        memcpy(out, x, n * sizeof *x);
    else if (to == DT_F32)
        f64_as_f32(x, n, out);
    else if (to == DT_BOOL)
        f64_as_truth(x, n, out);
    else if (dtype_is_integer(to)) {
        truncate(to, x, n, whole);
        store_integers(to, whole, n, out);
    } else if (dtype_small_float(to)) {
        encode(dtype_small_float(to), x, n, whole);
        (dtype_info(to)->bytes == 2 ? i64_as_i16 : i64_as_i8)(whole, n, out);
    } else {
        each(DT_F64, to, (const unsigned char *)x, n, out);
    }
}

static void block_of_floats(DType from, DType to, const unsigned char *at, uint64_t n,
                            unsigned char *out)
{
    double x[BLOCK];
    if (from == DT_F32)
        f32_as_f64(at, n, x);
    else
        memcpy(x, at, n * sizeof *x);
    store_floats(to, x, n, out);
}

static void block_of_integers(DType from, DType to, const unsigned char *at, uint64_t n,
                              unsigned char *out)
{
    int64_t x[BLOCK];
    double real[BLOCK];
    if (dtype_info(from)->bytes == 4)
        (from == DT_I32 ? i32_as_i64 : u32_as_i64)(at, n, x);
    else
        memcpy(x, at, n * sizeof *x);
    if (!dtype_is_float(to)) {
        store_integers(to, x, n, out);
    } else if (to == DT_F32) { // one rounding
        (from == DT_U64 ? u64_as_f32 : i64_as_f32)(x, n, out);
    } else {
        (from == DT_U64 ? u64_as_f64 : i64_as_f64)(x, n, real);
        store_floats(to, real, n, out);
    }
}

static bool is_real(DType t)
{
    return dtype_is_float(t) || dtype_is_integer(t) || t == DT_BOOL;
}

void recast(DType from, DType to, const void *at, uint64_t count, void *out)
{
    const uint32_t width = dtype_info(from)->bytes, wide = dtype_info(to)->bytes;
    if (!is_real(from) || !is_real(to) || (width <= 2 && !look_up(from, to, at, count, out)))
        each(from, to, at, count, out);
    else
        for (uint64_t done = 0; done < count && width > 2; done += BLOCK)
            (dtype_is_float(from) ? block_of_floats : block_of_integers)(
                from, to, (const unsigned char *)at + done * width,
                count - done < BLOCK ? count - done : BLOCK, (unsigned char *)out + done * wide);
}
