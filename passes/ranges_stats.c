// One pass over a constant: its bounds, what is no number, what narrower dtypes lose.

#include "ir/payload.h"
#include "passes/ranges_state.h"

#include <math.h>
#include <string.h>

// Elements that are looked at one by one for `integer` and `bits`; larger floats are not.
enum { FEW = 1 << 16 };

static int least_exponent(DType t)
{
    return t == DT_F64 ? -1022 : t == DT_F16 ? -14 : -126;
}

// Significant binary digits of a finite number.
static int significant_bits(double v)
{
    uint64_t bits;
    int exponent;
    double fraction = frexp(fabs(v), &exponent);
    bits = (uint64_t)ldexp(fraction, 53);
    return bits ? 53 - __builtin_ctzll(bits) : 1;
}

static void take(ConstantStats *s, DType t, double v, uint64_t times)
{
    double magnitude = fabs(v);
    s->nans += isnan(v) ? times : 0;
    if (isnan(v))
        return;
    s->infinities += isinf(v) ? times : 0;
    s->zeros += v == 0 ? times : 0;
    s->lo = fmin(s->lo, v);
    s->hi = fmax(s->hi, v);
    if (v == 0 || isinf(v))
        return;
    s->least = s->least == 0 || magnitude < s->least ? magnitude : s->least;
    s->subnormal += dtype_is_float(t) && magnitude < ldexp(1, least_exponent(t)) ? times : 0;
    s->flushed_f16 += magnitude <= 0x1p-25 ? times : 0;
    s->over_f16 += magnitude >= 65520 ? times : 0;
}

static void take_exactly(ConstantStats *s, double v)
{
    if (!isfinite(v))
        return;
    int bits = significant_bits(v);
    s->integer = s->integer && v == nearbyint(v);
    s->bits = bits > s->bits ? (uint8_t)bits : s->bits;
}

static double number_at(DType t, const unsigned char *at)
{
    Scalar x = scalar_load(t, at);
    if (dtype_is_float(t))
        return x.f;
    return t == DT_U64 ? (double)(uint64_t)x.i : (double)x.i;
}

static void take_each(ConstantStats *s, DType t, const unsigned char *at)
{
    size_t width = dtype_info(t)->bytes;
    bool wide = t == DT_I64 || t == DT_U64;
    for (uint64_t i = 0; i < s->count; i++) {
        double v = number_at(t, at + i * width);
        take(s, t, v, 1);
        take_exactly(s, v);
    }
    if (wide && (s->hi >= 0x1p53 || s->lo <= -0x1p53)) // the double is not the integer itself
        s->bits = 64;
}

// Of 16 bits: how often each pattern occurs, then each pattern once.
static void take_words(ConstantStats *s, DType t, const unsigned char *at, uint32_t *counts)
{
    for (uint64_t i = 0; i < s->count; i++) {
        uint16_t bits;
        memcpy(&bits, at + 2 * i, 2);
        counts[bits] += counts[bits] != UINT32_MAX;
    }
    for (uint32_t p = 0; p < 65536; p++) {
        uint16_t bits = (uint16_t)p;
        if (!counts[p])
            continue;
        double v = number_at(t, (const unsigned char *)&bits);
        take(s, t, v, counts[p]);
        take_exactly(s, v);
    }
}

// How often each byte occurs, in four tables so that bytes that are alike do not wait for each
// other.
static void count_bytes(const unsigned char *at, uint64_t n, uint64_t *counts)
{
    enum { TABLES = 4, MOST = 1 << 30 };
    uint32_t part[TABLES][256];
    for (uint64_t done = 0, m; done < n; done += m) {
        m = n - done < MOST ? n - done : MOST;
        memset(part, 0, sizeof part);
        uint64_t i = 0;
        for (; i + 8 <= m; i += 8) {
            uint64_t word;
            memcpy(&word, at + done + i, 8);
            for (int k = 0; k < 8; k++)
                part[k % TABLES][word >> (8 * k) & 255]++;
        }
        for (; i < m; i++)
            part[0][at[done + i]]++;
        for (int p = 0; p < 256; p++)
            for (int k = 0; k < TABLES; k++)
                counts[p] += part[k][p];
    }
}

// Of 8 bits each pattern once; of 4 and 2, which are packed, each of those within it.
static void take_bytes(ConstantStats *s, DType t, const unsigned char *at)
{
    unsigned bits = dtype_info(t)->bits, per = 8 / bits, rest = (unsigned)(s->count % per);
    unsigned sign = dtype_info(t)->kind == KIND_SIGNED ? 1u << (bits - 1) : 0;
    uint64_t counts[256] = {0}, last = s->count / per;
    count_bytes(at, last, counts);
    for (unsigned p = 0; p < 256 + (rest > 0); p++) {
        unsigned byte = p < 256 ? p : at[last], n = p < 256 ? per : rest;
        for (unsigned k = 0; k < n && (p == 256 || counts[p]); k++) {
            unsigned v = byte >> (k * bits) & ((1u << bits) - 1);
            unsigned char one = (unsigned char)(v & sign ? v | ~((1u << bits) - 1) : v);
            double x = number_at(t, &one);
            take(s, t, x, p < 256 ? counts[p] : 1);
            take_exactly(s, x);
        }
    }
}

// What a dtype of 16 bits is made of: digits after the point, the bits of infinity, of the greatest
// magnitude that is 0 in float16 and of the least that is infinite there.
typedef struct Half {
    int32_t digits, infinity, flushed, over;
} Half;

static Half half_of(DType t)
{
    return t == DT_F16 ? (Half){10, 0x7c00, 0, 0x7c00} : (Half){7, 0x7f80, 0x3300, 0x4780};
}

// What a block of them comes to. `least`, `most`: of numbers, as integers in their order; `small`:
// the least magnitude but 0; `mantissa`: the bits that any normal one has.
typedef struct HalfBlock {
    int32_t least, most, small, mantissa;
    int32_t nans, infinities, zeros, subnormal, flushed, over;
} HalfBlock;

static HalfBlock take_half_block(Half h, const unsigned char *at, uint64_t n)
{
    int32_t least = INT32_MAX, most = INT32_MIN, small = INT32_MAX, mantissa = 0, nans = 0;
    int32_t infinities = 0, zeros = 0, subnormal = 0, flushed = 0, over = 0;
    int32_t normal = 1 << h.digits;
    for (uint64_t i = 0; i < n; i++) {
        int16_t bits;
        memcpy(&bits, at + 2 * i, 2);
        int32_t m = bits & 0x7fff, key = m ^ (bits < 0 ? -1 : 0);
        int32_t nan = m > h.infinity, zero = m == 0;
        int32_t low = nan ? INT32_MAX : key, high = nan ? INT32_MIN : key;
        int32_t magnitude = zero ? INT32_MAX : m;
        least = low < least ? low : least;
        most = high > most ? high : most;
        small = magnitude < small ? magnitude : small;
        mantissa |= ((m >= normal) & (m < h.infinity)) ? m : 0;
        nans += nan;
        infinities += m == h.infinity;
        zeros += zero;
        subnormal += (m < normal) & !zero;
        flushed += (m <= h.flushed) & !zero;
        over += (m >= h.over) & (m < h.infinity);
    }
    return (HalfBlock){least,     most,    small, mantissa & (normal - 1), nans, infinities, zeros,
                       subnormal, flushed, over};
}

// Most blocks hold nothing that counts: then four reductions say all. false: look closer.
static bool take_plain_halves(Half h, const unsigned char *at, uint64_t n, HalfBlock *b)
{
    int32_t least = INT32_MAX, most = INT32_MIN, small = INT32_MAX, mantissa = 0;
    int32_t normal = 1 << h.digits;
    for (uint64_t i = 0; i < n; i++) {
        int16_t bits;
        memcpy(&bits, at + 2 * i, 2);
        int32_t m = bits & 0x7fff, key = m ^ (bits < 0 ? -1 : 0);
        least = key < least ? key : least;
        most = key > most ? key : most;
        small = m < small ? m : small;
        mantissa |= m;
    }
    *b = (HalfBlock){.least = least, .most = most, .small = small};
    b->mantissa = mantissa & (normal - 1);
    return small >= normal && small > h.flushed && most < h.over && least >= ~(h.over - 1);
}

static double half_number(DType t, uint16_t bits)
{
    return number_at(t, (const unsigned char *)&bits);
}

static uint16_t half_of_key(int32_t key)
{
    return (uint16_t)(key < 0 ? ~key | 0x8000 : key);
}

// float16 and bfloat16, a block at a time, without a branch; whether all are integers is asked as
// long as all are.
static void take_halves(ConstantStats *s, DType t, const unsigned char *at)
{
    enum { HALVES = 1024 };
    Half h = half_of(t);
    int32_t mantissa = 0, least = INT32_MAX, most = INT32_MIN, small = INT32_MAX;
    for (uint64_t done = 0; done < s->count; done += HALVES) {
        uint32_t n = s->count - done < HALVES ? (uint32_t)(s->count - done) : HALVES;
        HalfBlock b;
        if (!take_plain_halves(h, at + 2 * done, n, &b))
            b = take_half_block(h, at + 2 * done, n);
        for (uint32_t i = 0; i < n && (s->integer || b.subnormal); i++) {
            uint16_t bits;
            memcpy(&bits, at + 2 * (done + i), 2);
            if (s->integer || (bits & 0x7fff) >> h.digits == 0)
                take_exactly(s, half_number(t, bits));
        }
        mantissa |= b.mantissa;
        least = b.least < least ? b.least : least;
        most = b.most > most ? b.most : most;
        small = b.small < small ? b.small : small;
        s->nans += (uint64_t)b.nans;
        s->infinities += (uint64_t)b.infinities;
        s->zeros += (uint64_t)b.zeros;
        s->subnormal += (uint64_t)b.subnormal;
        s->flushed_f16 += (uint64_t)b.flushed;
        s->over_f16 += (uint64_t)b.over;
    }
    if (s->nans < s->count) {
        s->lo = half_number(t, half_of_key(least));
        s->hi = half_number(t, half_of_key(most));
    }
    bool any = s->zeros + s->nans + s->infinities < s->count;
    if (!any && !s->zeros)
        return;
    s->least = any ? half_number(t, (uint16_t)small) : 0;
    int bits = mantissa ? h.digits + 1 - __builtin_ctz((unsigned)mantissa) : 1;
    s->bits = bits > s->bits ? (uint8_t)bits : s->bits;
}

// Bits of the least magnitude that is infinite in float16, and of the greatest that is 0 there.
enum { OVER_F16 = 0x477ff000, FLUSHED_F16 = 0x33000000, BLOCK = 4096 };

// Bounds of float32, as integers in the order of the numbers; `small`: the least magnitude less 1,
// so that 0 comes last.
typedef struct FloatBounds {
    int32_t least, most;
    uint32_t small;
} FloatBounds;

// Most blocks hold nothing that counts: no zero, none too small or too large for float16, no NaN.
// Then three bounds say all, and that loop is as fast as memory. false: look closer.
static bool take_plain(FloatBounds *b, const unsigned char *at, uint64_t n)
{
    int32_t least = INT32_MAX, most = INT32_MIN, small = INT32_MAX;
    for (uint64_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, at + 4 * i, 4);
        int32_t m = bits & 0x7fffffff, key = m ^ (bits < 0 ? -1 : 0);
        least = key < least ? key : least;
        most = key > most ? key : most;
        small = m < small ? m : small;
    }
    if (small <= FLUSHED_F16 || most >= OVER_F16 || least <= ~OVER_F16)
        return false;
    b->least = least < b->least ? least : b->least;
    b->most = most > b->most ? most : b->most;
    b->small = (uint32_t)small - 1 < b->small ? (uint32_t)small - 1 : b->small;
    return true;
}

// float32 by its bits, so that the loop has no branch: a vector of elements at a time.
static void take_floats(ConstantStats *s, const unsigned char *at)
{
    FloatBounds b = {INT32_MAX, INT32_MIN, UINT32_MAX};
    for (uint64_t done = 0, n; done < s->count; done += n) {
        n = s->count - done < BLOCK ? s->count - done : BLOCK;
        if (take_plain(&b, at + 4 * done, n))
            continue;
        uint32_t nans = 0, infinities = 0, zeros = 0, subnormal = 0, flushed = 0, over = 0;
        for (uint64_t i = 0; i < n; i++) {
            uint32_t bits;
            memcpy(&bits, at + 4 * (done + i), 4);
            uint32_t m = bits & 0x7fffffff;
            bool nan = m > 0x7f800000;
            // Integers in the order of the numbers.
            int32_t key = (int32_t)(bits & 0x80000000 ? ~m : m);
            b.least = !nan && key < b.least ? key : b.least;
            b.most = !nan && key > b.most ? key : b.most;
            b.small = m - 1 < b.small ? m - 1 : b.small;
            nans += nan;
            infinities += m == 0x7f800000;
            zeros += m == 0;
            subnormal += m - 1 < 0x007fffff;
            flushed += m - 1 < FLUSHED_F16;
            over += m - OVER_F16 < 0x7f800000 - OVER_F16;
        }
        s->nans += nans;
        s->infinities += infinities;
        s->zeros += zeros;
        s->subnormal += subnormal;
        s->flushed_f16 += flushed;
        s->over_f16 += over;
    }
    uint32_t words[3] = {b.least < 0 ? ~(uint32_t)b.least | 0x80000000 : (uint32_t)b.least,
                         b.most < 0 ? ~(uint32_t)b.most | 0x80000000 : (uint32_t)b.most,
                         b.small + 1};
    float bounds[3];
    memcpy(bounds, words, sizeof bounds);
    if (s->nans < s->count) {
        s->lo = bounds[0];
        s->hi = bounds[1];
    }
    s->least = s->zeros + s->nans + s->infinities < s->count ? bounds[2] : 0;
}

// What a block of float64 comes to.
typedef struct DoubleBlock {
    double lo, hi, small; // small: the least magnitude, 0 and NaN aside
    uint64_t mantissa;    // the bits that any of them has
    bool nan, zero, fraction;
} DoubleBlock;

// Without a branch; what is no number is less than nothing and greater than nothing.
static DoubleBlock take_doubles(const unsigned char *at, uint64_t n)
{
    const double whole = 0x1p52; // added and taken off it leaves integers alone
    DoubleBlock b = {.lo = INFINITY, .hi = -INFINITY, .small = INFINITY};
    bool nan = false, zero = false, fraction = false;
    for (uint64_t i = 0; i < n; i++) {
        double v;
        uint64_t bits;
        memcpy(&v, at + 8 * i, 8);
        memcpy(&bits, at + 8 * i, 8);
        double m = fabs(v), least = m > 0 ? m : INFINITY;
        b.lo = v < b.lo ? v : b.lo;
        b.hi = v > b.hi ? v : b.hi;
        b.small = least < b.small ? least : b.small;
        b.mantissa |= bits & ((UINT64_C(1) << 52) - 1);
        nan |= v != v;
        zero |= m == 0;
        fraction |= (m < whole) & ((m + whole) - whole != m);
    }
    b.nan = nan;
    b.zero = zero;
    b.fraction = fraction;
    return b;
}

// float64, a block at a time: where nothing in it counts (no zero, none too small or too large for
// float16, no NaN) its bounds say all.
static void take_all_doubles(ConstantStats *s, const unsigned char *at)
{
    uint64_t mantissa = 0;
    for (uint64_t done = 0, n; done < s->count; done += n) {
        n = s->count - done < BLOCK ? s->count - done : BLOCK;
        DoubleBlock b = take_doubles(at + 8 * done, n);
        bool plain = !b.nan && !b.zero && b.small > 0x1p-25 && b.hi < 65520 && b.lo > -65520;
        for (uint64_t i = 0; i < n && !plain; i++)
            take(s, DT_F64, number_at(DT_F64, at + 8 * (done + i)), 1);
        // NaN has bits that no number needs.
        for (uint64_t i = 0; i < n && b.nan; i++)
            take_exactly(s, number_at(DT_F64, at + 8 * (done + i)));
        mantissa |= b.nan ? 0 : b.mantissa;
        s->integer &= !b.fraction;
        s->lo = b.lo < s->lo ? b.lo : s->lo;
        s->hi = b.hi > s->hi ? b.hi : s->hi;
        if (b.small < INFINITY && (s->least == 0 || b.small < s->least))
            s->least = b.small;
    }
    int bits = mantissa ? 53 - __builtin_ctzll(mantissa) : s->nans < s->count;
    s->bits = bits > s->bits ? (uint8_t)bits : s->bits;
}

// A block of integers of 32 and 64 bits; false: one that int64 does not hold.
static bool load_integers(DType t, const unsigned char *at, uint64_t n, int64_t *to)
{
    int64_t all = 0;
    if (t == DT_I64 || t == DT_U64) {
        memcpy(to, at, n * 8);
        for (uint64_t i = 0; t == DT_U64 && i < n; i++)
            all |= to[i];
        return all >= 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, at + 4 * i, 4);
        to[i] = t == DT_I32 ? (int64_t)(int32_t)bits : (int64_t)bits;
    }
    return true;
}

static bool take_integers(ConstantStats *s, DType t, const unsigned char *at)
{
    int64_t block[BLOCK], lo = INT64_MAX, hi = INT64_MIN;
    uint64_t least = UINT64_MAX, zeros = 0, over = 0, known = 1; // below `known` nothing to learn
    uint32_t width = dtype_info(t)->bytes;
    s->bits = 1;
    for (uint64_t done = 0, n; done < s->count; done += n) {
        n = s->count - done < BLOCK ? s->count - done : BLOCK;
        if (!load_integers(t, at + width * done, n, block))
            return false;
        for (uint64_t i = 0; i < n; i++) {
            int64_t v = block[i];
            uint64_t m = v < 0 ? -(uint64_t)v : (uint64_t)v;
            lo = v < lo ? v : lo;
            hi = v > hi ? v : hi;
            least = m - 1 < least ? m - 1 : least;
            zeros += m == 0;
            over += m >= 65520;
            if (m < known)
                continue;
            int bits = significant_bits((double)m);
            s->bits = bits > s->bits ? (uint8_t)bits : s->bits;
            known = UINT64_C(1) << s->bits;
        }
    }
    s->lo = (double)lo;
    s->hi = (double)hi;
    s->zeros = zeros;
    s->over_f16 = over;
    s->least = zeros < s->count ? (double)(least + 1) : 0;
    if (width == 8 && (s->hi >= 0x1p53 || s->lo <= -0x1p53)) // the double is not the integer itself
        s->bits = 64;
    return true;
}

// Larger constants, by what is fast for their dtype; false: there is no such way.
static bool take_many(ConstantStats *s, DType t, const unsigned char *at)
{
    switch (t) {
    case DT_F32:
        take_floats(s, at);
        s->integer = false;
        s->bits = 24;
        return true;
    case DT_F64:
        take_all_doubles(s, at);
        return true;
    case DT_I32:
    case DT_U32:
    case DT_I64:
    case DT_U64:
        return take_integers(s, t, at);
    case DT_F16:
    case DT_BF16:
        take_halves(s, t, at);
        return true;
    default:
        return false;
    }
}

// A large constant as the file holds it; false: it has to be decoded.
static bool read_packed(Ranges *r, TensorData *d, DType t, ConstantStats *s)
{
    Str bytes;
    unsigned bits = dtype_info(t)->bits;
    if (tensor_count(d) <= FEW || (bits < 8 && bits != 4 && bits != 2) ||
        !tensor_packed(r->m, d, &bytes))
        return false;
    const unsigned char *at = (const unsigned char *)bytes.at;
    s->read = true;
    s->count = tensor_count(d);
    if (bits <= 8) {
        take_bytes(s, t, at);
    } else if (!take_many(s, t, at) && bits > 16) {
        take_each(s, t, at);
    } else if (bits == 16 && !dtype_is_float(t)) {
        Arena *scratch = arena_new();
        take_words(s, t, at, NEWS(scratch, uint32_t, 65536));
        arena_free(scratch);
    }
    return true;
}

static void read_all(Ranges *r, TensorData *d, ConstantStats *s)
{
    Str error;
    DType t = d->dtype > 0 && d->dtype < DT_COUNT ? (DType)d->dtype : DT_NONE;
    bool numbers = dtype_is_float(t) || dtype_is_integer(t) || t == DT_BOOL;
    *s = (ConstantStats){.lo = INFINITY, .hi = -INFINITY, .integer = true};
    if (!numbers || read_packed(r, d, t, s))
        return;
    const unsigned char *at = tensor_elements(r->m, d, &error);
    s->read = at != NULL;
    s->count = at ? d->nelements : 0;
    if (at && (s->count <= FEW || !take_many(s, t, at)))
        take_each(s, t, at);
}

const ConstantStats *range_stats(Ranges *r, ValueId v)
{
    static const ConstantStats nothing;
    const TensorData *d = v && v < r->n ? value_at(r->m, v)->constant : NULL;
    if (!d || value_at(r->m, v)->kind != TYPE_TENSOR)
        return &nothing;
    if (!r->stats[v]) {
        ConstantStats *s = NEW(r->a, ConstantStats);
        read_all(r, (TensorData *)(uintptr_t)d, s);
        r->most += 2 * s->count;
        r->stats[v] = s;
    }
    return r->stats[v];
}
