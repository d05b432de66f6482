// One pass over a constant: its bounds, what is no number, what narrower dtypes lose.
//
// Floats are taken as the integers that their bits are, which have the same order but for the sign;
// so one loop serves float16, bfloat16, float32, float64 and those of 8 bits and fewer, another all
// integers, a block at a time. What is seldom (subnormal numbers, integers of more digits than any
// before) is looked at one by one, and only where that may change what is known.

#include "passes/elements.h"
#include "base/host.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 4096, OVER_F16 = 65520 };

// A dtype's numbers by the bits of their magnitude, which are in the order of the numbers.
typedef struct Form {
    DType dtype;
    unsigned width;  // bits that a loop takes it for: 8, 16, 32, 64
    unsigned unused; // bits below its own: one of fewer than 8 bits stands at the top of its byte
    int64_t added;   // to float8e8m0's bits, which then are a word without sign and 0
    // Of floats:
    int digits;           // of the mantissa
    int64_t normal, one;  // the least normal magnitude; 1.0
    int64_t flushed;      // the greatest magnitude that is 0 in float16
    int64_t fits;         // the greatest that is finite there
    int64_t finite, last; // the greatest finite one; the greatest that is no NaN
    int64_t nan;          // a NaN that its magnitude does not show
    // Of integers: what makes those without a sign ones with, in the same order. 0: they have one.
    int64_t flip;
} Form;

// What blocks come to. Bounds are words in the order of the numbers (floats: those of negative ones
// are complements of their magnitudes).
typedef struct Sums {
    int64_t least, most;
    uint64_t small;    // the least magnitude but 0
    uint64_t mantissa; // the bits that any normal float has
    uint64_t nans, infinities, zeros, subnormal, flushed, over;
    unsigned halves; // which values halves of bytes have, a bit each
} Sums;

static const Sums no_sums = {.least = INT64_MAX, .most = INT64_MIN, .small = UINT64_MAX};

static inline void take_bounds(Sums *s, int64_t least, int64_t most, uint64_t small)
{
    s->least = least < s->least ? least : s->least;
    s->most = most > s->most ? most : s->most;
    s->small = small < s->small ? small : s->small;
}

// So many that a count of them fits their own width.
#define WORD int8_t
#define UWORD uint8_t
#define LEAST INT8_MIN
#define MOST INT8_MAX
#define OF(name) name##_8
#define COUNTED 192
#include "passes/elements.inc"
#define WORD int16_t
#define UWORD uint16_t
#define LEAST INT16_MIN
#define MOST INT16_MAX
#define OF(name) name##_16
#define COUNTED BLOCK
#include "passes/elements.inc"
#define WORD int32_t
#define UWORD uint32_t
#define LEAST INT32_MIN
#define MOST INT32_MAX
#define OF(name) name##_32
#define COUNTED BLOCK
#include "passes/elements.inc"
#define WORD int64_t
#define UWORD uint64_t
#define LEAST INT64_MIN
#define MOST INT64_MAX
#define OF(name) name##_64
#define COUNTED BLOCK
#include "passes/elements.inc"

#define BY_WIDTH(f, name, ...)                                                                     \
    ((f)->width == 8    ? name##_8(f, __VA_ARGS__)                                                 \
     : (f)->width == 16 ? name##_16(f, __VA_ARGS__)                                                \
     : (f)->width == 32 ? name##_32(f, __VA_ARGS__)                                                \
                        : name##_64(f, __VA_ARGS__))

// ---- dtypes

static double number_of(const Form *f, int64_t word)
{
    const uint64_t mask = f->width == 64 ? UINT64_MAX : (UINT64_C(1) << f->width) - 1;
    const uint64_t bits = ((uint64_t)(word - f->added) & mask) >> f->unused;
    Scalar x = scalar_load(f->dtype, &bits);
    return dtype_is_float(f->dtype) ? x.f
           : f->dtype == DT_U64     ? (double)(uint64_t)x.i
                                    : (double)x.i;
}

// The least magnitude of at least v; f->last + 1: none.
static uint64_t first_from(const Form *f, double v)
{
    uint64_t low = 0, high = (uint64_t)f->last + 1;
    while (low < high) {
        const uint64_t mid = low + (high - low) / 2;
        if (number_of(f, (int64_t)mid) >= v)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

static Form form_of(DType t)
{
    const bool exponent = t == DT_F8E8M0;
    const unsigned bits = exponent ? 16 : dtype_info(t)->bits, width = bits < 8 ? 8 : bits;
    const int64_t sign = (int64_t)(UINT64_C(1) << (width - 1)),
                  greatest = (int64_t)((uint64_t)sign - 1);
    Form f = {.dtype = t, .width = width, .unused = width - bits, .last = greatest, .nan = -1};
    f.added = exponent;
    f.flip = dtype_is_signed(t) ? 0 : width == 64 ? INT64_MIN : -sign;
    if (!dtype_is_float(t))
        return f;
    for (int64_t step = (int64_t)((uint64_t)sign >> 1), at = 0; step; step >>= 1) {
        at += isnan(number_of(&f, at + step)) ? 0 : step;
        f.last = at;
    }
    f.finite = (int64_t)first_from(&f, INFINITY) - 1;
    f.one = (int64_t)first_from(&f, 1);
    f.digits = __builtin_ctzll(first_from(&f, 2) - (uint64_t)f.one);
    f.normal = INT64_C(1) << f.digits;
    f.flushed = (int64_t)first_from(&f, nextafter(0x1p-25, 1)) - 1;
    f.fits = (int64_t)first_from(&f, OVER_F16) - 1;
    f.nan = isnan(number_of(&f, sign)) ? -sign : -1;
    return f;
}

// ---- a block

static uint64_t word_at(const Form *f, const unsigned char *at, uint64_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, at + i * (f->width / 8), f->width / 8);
    return bits;
}

// Significant binary digits.
static uint8_t digits_of(uint64_t m)
{
    return m ? (uint8_t)(64 - __builtin_clzll(m) - __builtin_ctzll(m)) : 1;
}

// Floats of 8 bits of which none is infinite, NaN, or 0 in float16, a vector at a time: counts are
// those of lanes. false: look closer.
HOST_VECTORS
static bool finite_bytes(const Form *f, const unsigned char *at, uint64_t n, Sums *s)
{
    enum { LANES = 64, ENOUGH = 192 * LANES }; // so that counts fit
    const int8_t normal = (int8_t)f->normal, nan = (int8_t)f->nan;
    int8_t least[LANES], most[LANES], small[LANES], mantissa[LANES] = {0}, nans[LANES] = {0};
    uint8_t zeros[LANES] = {0}, below[LANES] = {0};
    if (f->flushed || f->fits < f->finite || n % LANES || n > ENOUGH)
        return false;
    memset(least, INT8_MAX, sizeof least);
    memset(most, INT8_MIN, sizeof most);
    memset(small, INT8_MAX, sizeof small);
    for (uint64_t i = 0; i < n; i += LANES)
        for (int j = 0; j < LANES; j++) {
            const int8_t bits = (int8_t)at[i + (uint64_t)j], m = bits & INT8_MAX;
            const int8_t key = m ^ (bits < 0 ? -1 : 0), none = m == 0 ? -1 : 0;
            const int8_t lower = (int8_t)(m - normal) < 0 ? -1 : 0, size = m | (none & INT8_MAX);
            least[j] = key < least[j] ? key : least[j];
            most[j] = key > most[j] ? key : most[j];
            small[j] = size < small[j] ? size : small[j];
            mantissa[j] |= m & ~lower;
            nans[j] |= (int8_t)(bits ^ nan) == 0 ? -1 : 0;
            zeros[j] = (uint8_t)(zeros[j] - none);
            below[j] = (uint8_t)(below[j] - lower);
        }
    Sums own = no_sums;
    int8_t any = 0;
    for (int j = 0; j < LANES; j++) {
        take_bounds(&own, least[j], most[j], (uint64_t)small[j]);
        any |= nans[j];
        own.mantissa |= (uint64_t)mantissa[j];
        own.zeros += zeros[j];
        own.subnormal += (uint64_t)(below[j] - zeros[j]);
    }
    if ((any && f->nan < -1) || own.most > f->finite || own.least < ~f->finite)
        return false;
    *s = own;
    return true;
}

static void take_floats(const Form *f, const unsigned char *at, uint64_t n, Sums *all,
                        ConstantStats *s)
{
    const uint64_t magnitude = (UINT64_C(1) << (f->width - 1)) - 1;
    Sums own = no_sums;
    const bool taken =
        f->width == 8 ? finite_bytes(f, at, n, &own) : BY_WIDTH(f, plain_floats, at, n, &own);
    if (!taken)
        BY_WIDTH(f, count_floats, at, n, &own);
    // A subnormal number has at most as many digits as the mantissa.
    for (uint64_t i = 0; i < n && own.subnormal && s->bits < f->digits - (int)f->unused; i++) {
        const uint64_t m = word_at(f, at, i) & magnitude;
        const uint8_t bits = m < (uint64_t)f->normal ? digits_of(m) : 1;
        s->bits = bits > s->bits ? bits : s->bits;
    }
    const uint64_t mantissa = own.mantissa & ((uint64_t)f->normal - 1);
    const uint8_t bits = (uint8_t)(mantissa ? f->digits + 1 - __builtin_ctzll(mantissa)
                                            : own.nans + own.infinities < n);
    s->bits = bits > s->bits ? bits : s->bits;
    s->integer = s->integer && own.small >= (uint64_t)f->one && BY_WIDTH(f, whole_floats, at, n);
    take_bounds(all, own.least, own.most, own.small);
    all->nans += own.nans;
    all->infinities += own.infinities;
    all->zeros += own.zeros;
    all->subnormal += own.subnormal;
    all->flushed += own.flushed;
    all->over += own.over;
}

// The magnitude of a word whose order has been made that of numbers.
static uint64_t magnitude_of(const Form *f, int64_t key)
{
    return f->flip ? (uint64_t)key - (uint64_t)f->flip : key < 0 ? -(uint64_t)key : (uint64_t)key;
}

static void take_integers(const Form *f, const unsigned char *at, uint64_t n, Sums *all,
                          ConstantStats *s)
{
    Sums own = no_sums;
    BY_WIDTH(f, bound_integers, at, n, &own);
    BY_WIDTH(f, count_integers, at, n, &own);
    const uint64_t a = magnitude_of(f, own.least), b = magnitude_of(f, own.most);
    const uint64_t greatest = (a > b ? a : b) >> f->unused;
    const unsigned shift = 64 - f->width;
    s->bits = s->bits ? s->bits : 1;
    // Up to 2^bits none has more digits than `bits`.
    for (uint64_t i = 0; i < n && s->bits < 64 && greatest > UINT64_C(1) << s->bits; i++) {
        const int64_t word = (int64_t)(word_at(f, at, i) << shift) >> shift;
        const uint8_t bits = digits_of(f->flip ? word_at(f, at, i) : magnitude_of(f, word));
        s->bits = bits > s->bits ? bits : s->bits;
    }
    take_bounds(all, own.least, own.most, own.small);
    all->zeros += own.zeros;
    all->over += own.over;
}

// ---- halves of bytes

// Of 16 values nearly all are there soon: then a block is only asked whether it holds one that is
// not, and how many are 0.
enum { HALVES_AT_ONCE = 64, FEW = 4 };

HOST_VECTORS
static bool has_half(const unsigned char *at, uint64_t n, unsigned char value)
{
    unsigned char found = 0;
    for (uint64_t i = 0; i < n; i++) {
        const unsigned char low = at[i] & 15, high = at[i] >> 4;
        found |= low == value ? 1 : 0;
        found |= high == value ? 1 : 0;
    }
    return found;
}

HOST_VECTORS
static uint64_t count_halves(const unsigned char *at, uint64_t n, unsigned char mask,
                             unsigned char value)
{
    unsigned char counts[HALVES_AT_ONCE] = {0}; // at most 2 for each of BLOCK / HALVES_AT_ONCE
    uint64_t all = 0;
    for (uint64_t i = 0; i + HALVES_AT_ONCE <= n; i += HALVES_AT_ONCE)
        for (int j = 0; j < HALVES_AT_ONCE; j++) {
            const unsigned char low = at[i + j] & mask, high = at[i + j] >> 4 & mask;
            counts[j] += (unsigned char)((low == value ? 1 : 0) + (high == value ? 1 : 0));
        }
    for (int j = 0; j < HALVES_AT_ONCE; j++)
        all += counts[j];
    for (uint64_t i = n / HALVES_AT_ONCE * HALVES_AT_ONCE; i < n; i++)
        all += (uint64_t)((at[i] & mask) == value) + (uint64_t)((at[i] >> 4 & mask) == value);
    return all;
}

// Of floats of 4 bits those that are 0, with any sign, and those that are subnormal, in so many
// lines. What the three low bits of a half are is told in its lowest one; halves of words are
// counted without a carry to their neighbours.
typedef uint64_t Line __attribute__((vector_size(64)));

// What the 16 halves of each of a line's words sum up to, added.
static inline uint64_t sum_of_halves(const Line *line)
{
    const uint64_t low = UINT64_C(0x0f0f0f0f0f0f0f0f);
    uint64_t sum = 0;
    for (int j = 0; j < 8; j++) {
        const uint64_t word = (*line)[j];
        sum += ((word & low) + (word >> 4 & low)) * UINT64_C(0x0101010101010101) >> 56;
    }
    return sum;
}

HOST_VECTORS
static void count_small(const unsigned char *at, uint64_t lines, uint64_t *zeros,
                        uint64_t *subnormal)
{
    enum { MOST = 15 }; // that a half counts
    const uint64_t lowest = UINT64_C(0x1111111111111111);
    for (uint64_t part; lines; lines -= part) {
        Line other = {0}, normal = {0}; // than 0
        part = lines < MOST ? lines : MOST;
        for (uint64_t k = 0; k < part; k++, at += sizeof(Line)) {
            Line line;
            memcpy(&line, at, sizeof line);
            const Line above = line >> 1 | line >> 2;
            normal += above & lowest;
            other += (line | above) & lowest;
        }
        const uint64_t others = sum_of_halves(&other);
        *zeros += part * 2 * sizeof(Line) - others;
        *subnormal += others - sum_of_halves(&normal);
    }
}

// Those not seen so far are looked for one by one only where there is one.
static void see_halves(const unsigned char *at, uint64_t n, unsigned *seen)
{
    const unsigned missing = ~*seen & 0xffff;
    bool look = __builtin_popcount(missing) > FEW;
    for (unsigned left = look ? 0 : missing; left && !look; left &= left - 1)
        look = has_half(at, n, (unsigned char)__builtin_ctz(left));
    for (uint64_t i = 0; look && i < n; i++)
        *seen |= 1u << (at[i] & 15) | 1u << (at[i] >> 4);
}

// n whole bytes. Of floats of 4 bits none is infinite, NaN or too much for float16.
static void take_halves(const Form *f, const unsigned char *at, uint64_t n, Sums *all)
{
    enum { PART = 512 };
    const bool floats = dtype_is_float(f->dtype);
    const unsigned char mask = floats ? 7 : 15, normal = floats ? f->normal >> f->unused : 1;
    uint64_t part;
    for (uint64_t done = 0; done < n; done += part) {
        const bool few = __builtin_popcount(~all->halves & 0xffff) <= FEW;
        part = n - done < BLOCK ? n - done : BLOCK;
        part = few || part < PART ? part : PART;
        see_halves(at + done, part, &all->halves);
        const uint64_t lines = normal == 2 ? part / sizeof(Line) : 0, to = lines * sizeof(Line);
        count_small(at + done, lines, &all->zeros, &all->subnormal);
        all->zeros += count_halves(at + done + to, part - to, mask, 0);
        for (unsigned char v = 1; v < normal; v++)
            all->subnormal += count_halves(at + done + to, part - to, mask, v);
    }
}

// What they hold, each value once, is taken as any others are; how many are 0 or subnormal is
// known.
static void take_seen(const Form *f, Sums *all, ConstantStats *s)
{
    const uint64_t zeros = all->zeros, subnormal = all->subnormal;
    unsigned char values[16];
    uint64_t found = 0;
    for (unsigned v = 0; v < 16; v++)
        if (all->halves >> v & 1)
            values[found++] = (unsigned char)(v << f->unused);
    if (!found)
        return;
    (dtype_is_float(f->dtype) ? take_floats : take_integers)(f, values, found, all, s);
    all->zeros = zeros;
    all->subnormal = subnormal;
}

// ---- the whole

// The k-th of those that a byte holds, at the top of a byte of its own each.
HOST_VECTORS
static void unpack(const unsigned char *at, uint64_t n, unsigned bits, unsigned k,
                   unsigned char *to)
{
    const uint64_t each = UINT64_C(0x0101010101010101), word = sizeof each;
    const uint64_t mask = (0xff & ~(0xffu >> bits)) * each;
    const unsigned up = 8 - bits * (k + 1);
    for (uint64_t i = 0; i < n / word; i++) {
        uint64_t eight;
        memcpy(&eight, at + word * i, word);
        eight = eight << up & mask; // what comes from the byte below is masked
        memcpy(to + word * i, &eight, word);
    }
    for (uint64_t i = n / word * word; i < n; i++)
        to[i] = (unsigned char)((unsigned)at[i] << up & mask);
}

typedef void (*Take)(const Form *f, const unsigned char *at, uint64_t n, Sums *all,
                     ConstantStats *s);

// The order of what a byte holds is no matter, but of the last byte only the first may count.
static void take_narrow(const Form *f, Take take, const unsigned char *at, uint64_t count,
                        bool packed, Sums *sums, ConstantStats *s)
{
    const unsigned bits = 8 - f->unused, per = packed ? 8 / bits : 1;
    const uint64_t full = count / per;
    const bool halves = per == 2;
    unsigned char fields[BLOCK];
    if (halves)
        take_halves(f, at, full, sums);
    for (uint64_t done = halves ? full : 0, n; done < full; done += n) {
        n = full - done < BLOCK ? full - done : BLOCK;
        for (unsigned k = 0; k < per; k++) {
            unpack(at + done, n, bits, k, fields);
            take(f, fields, n, sums, s);
        }
    }
    for (unsigned k = 0; k < count % per; k++) {
        unpack(at + full, 1, bits, k, fields);
        take(f, fields, 1, sums, s);
    }
}

static void take_exponents(const Form *f, const unsigned char *at, uint64_t count, Sums *sums,
                           ConstantStats *s)
{
    uint16_t words[BLOCK];
    for (uint64_t done = 0, n; done < count; done += n) {
        n = count - done < BLOCK ? count - done : BLOCK;
        for (uint64_t i = 0; i < n; i++)
            words[i] = (uint16_t)(at[done + i] + 1);
        take_floats(f, (const unsigned char *)words, n, sums, s);
    }
}

static void finish_floats(const Form *f, const Sums *sums, ConstantStats *s)
{
    const int64_t sign = (int64_t)(UINT64_C(1) << (f->width - 1));
    s->nans = sums->nans;
    s->infinities = sums->infinities;
    s->subnormal = sums->subnormal;
    s->flushed_f16 = sums->flushed;
    if (s->nans < s->count) {
        s->lo = number_of(f, sums->least < 0 ? ~sums->least | sign : sums->least);
        s->hi = number_of(f, sums->most < 0 ? ~sums->most | sign : sums->most);
    }
    if (s->zeros + s->nans + s->infinities < s->count)
        s->least = number_of(f, (int64_t)sums->small);
}

static void finish_integers(const Form *f, const Sums *sums, ConstantStats *s)
{
    s->lo = number_of(f, sums->least ^ f->flip);
    s->hi = number_of(f, sums->most ^ f->flip);
    s->least = s->zeros < s->count ? (double)(sums->small >> f->unused) : 0;
    if (f->width == 64 && (s->hi >= 0x1p53 || s->lo <= -0x1p53)) // the double is not the integer
        s->bits = 64;
    if (f->dtype != DT_BOOL) // whose bytes other than 0 are 1
        return;
    s->least = s->least > 0;
    s->bits = 1;
}

struct ElementsPass {
    Form form;
    bool packed;
    Sums sums;
    ConstantStats stats;
};

static void pass_begin(ElementsPass *p, DType t, bool packed)
{
    const bool numbers = dtype_is_float(t) || dtype_is_integer(t) || t == DT_BOOL;
    *p = (ElementsPass){.packed = packed, .sums = no_sums};
    p->stats = (ConstantStats){.read = numbers, .lo = INFINITY, .hi = -INFINITY, .integer = true};
    if (numbers)
        p->form = form_of(t);
}

void elements_take(ElementsPass *p, const void *at, uint64_t count)
{
    const Form *f = &p->form;
    const Take take = dtype_is_float(f->dtype) ? take_floats : take_integers;
    const uint64_t width = f->width / 8;
    if (!p->stats.read || !count)
        return;
    p->stats.count += count;
    if (f->dtype == DT_F8E8M0)
        take_exponents(f, at, count, &p->sums, &p->stats);
    else if (f->unused)
        take_narrow(f, take, at, count, p->packed, &p->sums, &p->stats);
    else
        for (uint64_t done = 0; done < count; done += BLOCK)
            take(f, (const unsigned char *)at + done * width,
                 count - done < BLOCK ? count - done : BLOCK, &p->sums, &p->stats);
}

void elements_close(ElementsPass *p, ConstantStats *s)
{
    const Form *f = &p->form;
    *s = p->stats;
    if (!s->count)
        return;
    take_seen(f, &p->sums, s);
    s->zeros = p->sums.zeros;
    s->over_f16 = p->sums.over;
    (dtype_is_float(f->dtype) ? finish_floats : finish_integers)(f, &p->sums, s);
}

ElementsPass *elements_open(Arena *a, DType t, bool packed)
{
    ElementsPass *p = NEW(a, ElementsPass);
    pass_begin(p, t, packed);
    return p;
}

void elements_measure(DType t, const void *at, uint64_t count, bool packed, ConstantStats *s)
{
    ElementsPass p;
    pass_begin(&p, t, packed);
    elements_take(&p, at, count);
    elements_close(&p, s);
}

// ---- one by one

Elements elements_in(Model *m, TensorData *t)
{
    const DType type = t && t->dtype > 0 && t->dtype < DT_COUNT ? (DType)t->dtype : DT_NONE;
    const bool numbers = dtype_is_float(type) || dtype_is_integer(type) || type == DT_BOOL;
    Str error;
    const void *at = numbers ? tensor_elements(m, t, &error) : NULL;
    return at ? (Elements){at, type, t->nelements, t->rank, t->dims} : (Elements){0};
}

Elements elements_of(Model *m, ValueId v)
{
    return elements_in(m, v ? (TensorData *)(uintptr_t)value_at(m, v)->constant : NULL);
}

Scalar element_scalar(const Elements *x, uint64_t i)
{
    return scalar_load(x->dtype, x->at + i * dtype_info(x->dtype)->bytes);
}

double element_at(const Elements *x, uint64_t i)
{
    if (x->dtype == DT_F32) {
        float f;
        memcpy(&f, x->at + 4 * i, sizeof f);
        return f;
    }
    const Scalar s = element_scalar(x, i);
    return dtype_is_float(x->dtype) ? s.f
           : x->dtype == DT_U64     ? (double)(uint64_t)s.i
                                    : (double)s.i;
}
