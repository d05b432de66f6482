// What numbers lose where they are stored as another dtype (losses.h).
//
// The numbers of a dtype are a grid: multiples of one unit up to some magnitude, and above it those
// of so many significant digits, between a least and a greatest one. Whether a number lies on it is
// asked without a branch, of a vector at a time, in double, which holds all numbers but 64-bit
// integers. A dtype of at most 16 bits has so few that each is asked once.

#include "passes/losses.h"
#include "base/host.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Grid {
    double lo, hi;         // the least and the greatest finite number
    double normal;         // below this magnitude numbers are multiples of a unit,
    double shift;          // to which this rounds what it is added to
    uint64_t below;        // above it, bits of a double's mantissa that they have none of
    int digits;            // significant ones, above it
    int64_t infinity, nan; // -1 where there is one, else 0
    double over;           // the least magnitude that rounds to infinity; INFINITY: none
} Grid;

static Grid grid_of_integers(DType t)
{
    const int bits = dtype_info(t)->bits, digits = bits - dtype_is_signed(t);
    const double end = ldexp(1, digits), most = digits > 53 ? nextafter(end, 0) : end - 1;
    return (Grid){.lo = dtype_is_signed(t) ? -end : 0,
                  .hi = most,
                  .normal = 0x1p52, // from here on a double has no digit behind the point
                  .shift = 0x1p52,
                  .digits = 64,
                  .over = INFINITY};
}

// By its digits, the exponents of its least and greatest normal numbers, and that one.
static Grid grid_of_floats(int digits, int least, double hi)
{
    return (Grid){.lo = -hi,
                  .hi = hi,
                  .normal = ldexp(1, least),
                  .shift = ldexp(1, least - (digits - 1) + 52),
                  .below = (UINT64_C(1) << (53 - digits)) - 1,
                  .digits = digits,
                  .over = INFINITY};
}

static Grid grid_of(DType t)
{
    const SmallFloat *small = dtype_small_float(t);
    if (dtype_is_integer(t))
        return grid_of_integers(t);
    if (t == DT_F8E8M0) { // powers of two, and no others
        Grid g = grid_of_floats(1, -127, 0x1p127);
        g.lo = g.normal;
        g.nan = -1;
        return g;
    }
    Grid g = t == DT_F64   ? grid_of_floats(DBL_MANT_DIG, DBL_MIN_EXP - 1, DBL_MAX)
             : t == DT_F32 ? grid_of_floats(FLT_MANT_DIG, FLT_MIN_EXP - 1, (double)FLT_MAX)
                           : grid_of_floats(small->mantissa + 1, 1 - small->bias,
                                            scalar_load(t, &small->max).f);
    g.nan = !small || small->nan >= 0 ? -1 : 0;
    g.infinity = !small || small->inf >= 0 ? -1 : 0;
    if (g.infinity) // half a unit above the greatest, whose last digit is odd
        g.over = g.hi + ldexp(1, ilogb(g.hi) - g.digits);
    return g;
}

#define INLINE static inline __attribute__((always_inline))

// -1: it has no counterpart.
INLINE int64_t is_inexact(const Grid *g, double x)
{
    const double size = fabs(x);
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int64_t within = (x >= g->lo ? -1 : 0) & (x <= g->hi ? -1 : 0);
    const int64_t unit = (size + g->shift) - g->shift == size ? -1 : 0;
    const int64_t digits = (bits & (int64_t)g->below) == 0 ? -1 : 0;
    const int64_t low = size < g->normal ? -1 : 0;
    const int64_t number = within & ((low & unit) | (~low & digits));
    const int64_t other = (x != x ? g->nan : 0) | (size == (double)INFINITY ? g->infinity : 0);
    return ~(number | other);
}

INLINE int64_t is_over(const Grid *g, double x)
{
    const double size = fabs(x);
    return (size >= g->over ? -1 : 0) & (size < (double)INFINITY ? -1 : 0);
}

// ---- numbers that a double holds

HOST_VECTORS
static Losses of_f64(const Grid *grid, const unsigned char *at, uint64_t n)
{
    const Grid g = *grid;
    int64_t inexact = 0, infinite = 0;
    for (uint64_t i = 0; i < n; i++) {
        double v;
        memcpy(&v, at + i * sizeof v, sizeof v);
        inexact -= is_inexact(&g, v);
        infinite -= is_over(&g, v);
    }
    return (Losses){(uint64_t)inexact, (uint64_t)infinite};
}

#define READ(name, type)                                                                           \
    HOST_VECTORS                                                                                   \
    static void name(const unsigned char *restrict at, uint64_t n, double *restrict to)            \
    {                                                                                              \
        for (uint64_t i = 0; i < n; i++) {                                                         \
            type v;                                                                                \
            memcpy(&v, at + i * sizeof v, sizeof v);                                               \
            to[i] = (double)v;                                                                     \
        }                                                                                          \
    }
READ(read_f32, float)
READ(read_i32, int32_t)
READ(read_u32, uint32_t)

static Losses of_32(const Grid *g, DType t, const unsigned char *at, uint64_t count)
{
    enum { BLOCK = 512 };
    double x[BLOCK];
    Losses all = {0};
    for (uint64_t done = 0, n; done < count; done += n) {
        n = count - done < BLOCK ? count - done : BLOCK;
        (t == DT_F32   ? read_f32
         : t == DT_I32 ? read_i32
                       : read_u32)(at + done * sizeof(uint32_t), n, x);
        const Losses l = of_f64(g, (const unsigned char *)x, n);
        all.inexact += l.inexact;
        all.infinite += l.infinite;
    }
    return all;
}

// ---- integers of 64 bits

// The grid's integers.
typedef struct Whole {
    int64_t least, most; // without sign: as those with one that have the same order
    uint64_t fits;       // the greatest magnitude that does not round to infinity
    int digits;          // fewer than 64
} Whole;

#define TOP (UINT64_C(1) << 63)

// Bounds of 64-bit integers are no doubles; to those of other dtypes a double's bounds are.
static Whole whole_of(const Grid *g, DType to, bool is_signed)
{
    const bool wide = dtype_is_integer(to) && dtype_info(to)->bits == 64;
    const double lo = ceil(g->lo), hi = floor(g->hi);
    const int64_t least = lo < -0x1p62 ? INT64_MIN : (int64_t)lo;
    const uint64_t most = wide          ? UINT64_MAX >> dtype_is_signed(to)
                          : hi < 0x1p64 ? (uint64_t)hi
                                        : UINT64_MAX;
    Whole w = {.digits = g->digits < 64 ? g->digits : 63, .fits = UINT64_MAX};
    w.fits = g->over < 0x1p63 ? (uint64_t)ceil(g->over) - 1 : UINT64_MAX;
    if (is_signed) {
        w.least = least;
        w.most = most > INT64_MAX ? INT64_MAX : (int64_t)most;
    } else {
        w.least = (int64_t)((least > 0 ? (uint64_t)least : 0) ^ TOP);
        w.most = (int64_t)(most ^ TOP);
    }
    return w;
}

// An integer has at most so many digits where what is left of its magnitude without them is below
// its lowest bit; 0 has none.
INLINE Losses of_words(const Whole *whole, const unsigned char *at, uint64_t n,
                       const bool is_signed)
{
    const Whole w = *whole;
    int64_t inexact = 0, infinite = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t v;
        memcpy(&v, at + i * sizeof v, sizeof v);
        const uint64_t negative = is_signed && (int64_t)v < 0 ? UINT64_MAX : 0;
        const uint64_t size = (v ^ negative) - negative, lowest = size & -size;
        const int64_t key = (int64_t)(is_signed ? v : v ^ TOP);
        const int64_t within = (key >= w.least ? -1 : 0) & (key <= w.most ? -1 : 0);
        inexact -= ~(within & (size >> w.digits <= lowest - 1 ? -1 : 0));
        infinite -= size > w.fits ? -1 : 0;
    }
    return (Losses){(uint64_t)inexact, (uint64_t)infinite};
}

HOST_VECTORS
static Losses of_i64(const Whole *w, const unsigned char *at, uint64_t n)
{
    return of_words(w, at, n, true);
}

HOST_VECTORS
static Losses of_u64(const Whole *w, const unsigned char *at, uint64_t n)
{
    return of_words(w, at, n, false);
}

// ---- numbers of at most 16 bits

enum { BYTES = 1 << 8, PAIRS = 1 << 16 };

// How many of the numbers that two bytes hold are lost, by these: inexact ones in the low half.
typedef struct Lost {
    unsigned char of[PAIRS];
    bool infinite; // is any in the high half?
} Lost;

static double number_of(DType t, uint32_t code)
{
    const unsigned char bytes[] = {code & 0xff, code >> 8 & 0xff};
    const Scalar s = scalar_load(t, bytes);
    return dtype_is_float(t) ? s.f : (double)s.i;
}

// Of `count` numbers that begin with the lowest bit.
static Losses of_code(const Grid *g, DType t, uint32_t code, unsigned count, bool packed)
{
    const unsigned bits = packed ? dtype_info(t)->bits : dtype_info(t)->bytes * 8u;
    const uint32_t mask = (UINT32_C(1) << bits) - 1;
    Losses l = {0};
    for (unsigned k = 0; k < count; k++) {
        const double x = number_of(t, code >> k * bits & mask);
        l.inexact += is_inexact(g, x) != 0;
        l.infinite += is_over(g, x) != 0;
    }
    return l;
}

static void fill(const Grid *g, DType t, unsigned per, bool packed, Lost *to)
{
    const unsigned apart = per > 1 ? BYTES : PAIRS;
    to->infinite = false;
    for (uint32_t code = 0; code < apart; code++) {
        const Losses l = of_code(g, t, code, per > 1 ? per / 2 : 1, packed);
        to->of[code] = (unsigned char)(l.inexact | l.infinite << 4);
        to->infinite |= l.infinite > 0;
    }
    for (uint32_t code = PAIRS; code-- > apart;) // at most 8 of each
        to->of[code] = (unsigned char)(to->of[code & 0xff] + to->of[code >> 8]);
}

// `n` pairs of bytes, four at a time.
INLINE Losses sum_of(const Lost *lost, const unsigned char *at, uint64_t n, const bool infinite)
{
    enum { AT_ONCE = 4 };
    Losses sum = {0};
    for (uint64_t i = 0; i < n; i += AT_ONCE) {
        uint64_t codes;
        memcpy(&codes, at + i * sizeof(uint16_t), sizeof codes);
        for (int k = 0; k < AT_ONCE; k++, codes >>= 16) {
            const uint64_t of = lost->of[codes & 0xffff];
            sum.inexact += of;
            sum.infinite += infinite ? of >> 4 : 0;
        }
    }
    sum.inexact -= sum.infinite << 4;
    return sum;
}

static Losses sum_of_both(const Lost *lost, const unsigned char *at, uint64_t n)
{
    return sum_of(lost, at, n, true);
}

static Losses sum_of_inexact(const Lost *lost, const unsigned char *at, uint64_t n)
{
    return sum_of(lost, at, n, false);
}

// Bytes by two, where so many are worth it.
static Losses of_few_bits(const Grid *g, DType t, const unsigned char *at, uint64_t count,
                          bool packed)
{
    const DTypeInfo *info = dtype_info(t);
    const bool dense = packed && info->bits != 6;
    const unsigned per = dense ? 16 / info->bits : 2 / info->bytes;
    const uint64_t pairs = count < PAIRS ? 0 : count / per / 4 * 4;
    Losses all = {0};
    if (pairs) {
        Lost lost;
        fill(g, t, per, dense, &lost);
        all = (lost.infinite ? sum_of_both : sum_of_inexact)(&lost, at, pairs);
    }
    const unsigned each = dense && info->bits < 8 ? 8 / info->bits : 1;
    const uint32_t width = info->bytes;
    for (uint64_t i = pairs * per; i < count; i += each) {
        const unsigned n = count - i < each ? (unsigned)(count - i) : each;
        const unsigned char *from = at + i / each * width;
        const Losses l =
            of_code(g, t, from[0] | (width > 1 ? (uint32_t)from[1] << 8 : 0), n, dense);
        all.inexact += l.inexact;
        all.infinite += l.infinite;
    }
    return all;
}

// ---- all

Losses losses_of(DType from, DType to, const void *at, uint64_t count, bool packed)
{
    const Grid g = grid_of(to);
    const Whole signed_whole = whole_of(&g, to, true), whole = whole_of(&g, to, false);
    if (from == to)
        return (Losses){0};
    switch (from) {
    case DT_F64:
        return of_f64(&g, at, count);
    case DT_F32:
    case DT_I32:
    case DT_U32:
        return of_32(&g, from, at, count);
    case DT_I64:
        return of_i64(&signed_whole, at, count);
    case DT_U64:
        return of_u64(&whole, at, count);
    default:
        return of_few_bits(&g, from, at, count, packed);
    }
}
