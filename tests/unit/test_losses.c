// What numbers lose as another dtype, of every pair of dtypes, against the definition: a number
// that was cast is another number than before. Numbers stand at the edges of every dtype: its
// greatest, its least, its last digit, and what lies between two of its numbers. All of them are
// cast at once to the bits that each is cast to by itself.
#include "passes/losses.h"
#include "passes/recast.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// After what it needs.
#include <cmocka.h>

enum { MOST = 1 << 18, MAX_EDGES = 1 << 16 };

static bool is_number(DType t)
{
    return dtype_is_float(t) || dtype_is_integer(t);
}

// All 64-bit integers and all doubles are such numbers.
_Static_assert(LDBL_MANT_DIG >= 64, "a number that holds every other one");

static long double real_of(DType t, Scalar s)
{
    return dtype_is_float(t) ? (long double)s.f
           : t == DT_U64     ? (long double)(uint64_t)s.i
                             : (long double)s.i;
}

static Losses defined(DType from, DType to, const unsigned char *at, uint64_t n)
{
    Losses l = {0};
    for (uint64_t i = 0; i < n; i++) {
        const Scalar s = scalar_load(from, at + i * dtype_info(from)->bytes);
        const long double was = real_of(from, s);
        const long double is = real_of(to, scalar_cast(from, to, s, false));
        l.inexact += was != is && !(isnan(was) && isnan(is));
        l.infinite += isfinite(was) && isinf(is);
    }
    return l;
}

// ---- numbers

typedef struct Numbers {
    double at[MAX_EDGES];
    uint32_t n;
} Numbers;

static void add(Numbers *w, double v)
{
    const double around[] = {v, nextafter(v, INFINITY), nextafter(v, -INFINITY),
                             (double)nextafterf((float)v, INFINITY),
                             (double)nextafterf((float)v, -INFINITY)};
    for (size_t i = 0; i < sizeof around / sizeof *around; i++)
        for (int sign = 0; sign < 2; sign++) {
            assert_true(w->n < MAX_EDGES);
            w->at[w->n++] = sign ? -around[i] : around[i];
        }
}

// Around each power of two, and with digits up to the last one and one behind it.
static void edges_of(Numbers *w, int digits, int least, int greatest)
{
    const int step = greatest - least > 64 ? (greatest - least) / 24 : 1;
    for (int e = least - digits - 2; e <= greatest + 2; e += e < least + 2 ? 1 : step)
        add(w, ldexp(1, e));
    const int ends[] = {least, 0, greatest};
    for (int k = 0; k < 3; k++)
        for (int last = digits - 2; last <= digits + 1; last++) {
            const double unit = ldexp(1, ends[k] - last), one = ldexp(1, ends[k]);
            add(w, one + unit);
            add(w, one - unit);
            add(w, 2 * one - unit);
            add(w, 2 * one - 1.5 * unit);
        }
}

static Numbers *all_edges(void)
{
    static Numbers w;
    w.n = 0;
    for (int t = 1; t < DT_COUNT; t++) {
        const SmallFloat *f = dtype_small_float((DType)t);
        if (f)
            edges_of(&w, f->mantissa + 1, 1 - f->bias, ilogb(scalar_load((DType)t, &f->max).f));
        else if (dtype_is_integer((DType)t))
            edges_of(&w, dtype_info((DType)t)->bits, 0, dtype_info((DType)t)->bits);
    }
    edges_of(&w, 24, -126, 127);
    edges_of(&w, 53, -1022, 1023);
    edges_of(&w, 1, -127, 127);
    const double others[] = {0, NAN, INFINITY, 65520, 65519, 61440, 0.1, 1.0 / 3, 5, 7, 2049, 255};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        add(&w, others[i]);
    return &w;
}

// The edges as this dtype has them, integers around their ends, and any bits; as many as `n`.
static void fill(DType t, unsigned char *at, uint64_t n, const Numbers *w, bool any)
{
    const uint32_t width = dtype_info(t)->bytes;
    uint64_t state = 7;
    for (uint64_t i = 0; i < n; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const uint64_t drawn = state >> 16 ^ state << 40;
        const uint64_t near = ((uint64_t)1 << (drawn & 63)) - (drawn >> 8 & 3) + 1;
        Scalar s = {.f = w->at[i % w->n]};
        if (!dtype_is_float(t))
            s.i = i % 2 ? (int64_t)(drawn & 64 ? -near : near)
                        : scalar_cast(DT_F64, t, (Scalar){.f = w->at[i / 2 % w->n]}, false).i;
        if (any)
            memcpy(at + i * width, &drawn, width);
        else
            scalar_store(t, at + i * width,
                         scalar_cast(dtype_is_float(t) ? DT_F64 : DT_I64, t, s, false));
    }
}

static void check(DType from, DType to, const unsigned char *at, uint64_t n)
{
    const Losses got = losses_of(from, to, at, n, false), want = defined(from, to, at, n);
    if (got.inexact != want.inexact || got.infinite != want.infinite)
        fail_msg("%s as %s: %llu inexact and %llu infinite, not %llu and %llu", dtype_name(from),
                 dtype_name(to), (unsigned long long)got.inexact, (unsigned long long)got.infinite,
                 (unsigned long long)want.inexact, (unsigned long long)want.infinite);
}

// Of dtypes of at most 16 bits all numbers, of others their edges.
static void every_pair(void **state)
{
    (void)state;
    const Numbers *w = all_edges();
    unsigned char *memory = malloc(MOST * sizeof(uint64_t) + 1), *at = memory + 1; // not aligned
    assert_non_null(memory);
    for (int from = 1; from < DT_COUNT; from++)
        for (int to = 1; to < DT_COUNT; to++) {
            if (!is_number((DType)from) || !is_number((DType)to))
                continue;
            const uint32_t width = dtype_info((DType)from)->bytes;
            const uint64_t codes = width <= 2 ? UINT64_C(1) << dtype_info((DType)from)->bits : 0;
            for (uint64_t i = 0; width <= 2 && i < codes; i++)
                scalar_store((DType)from, at + i * width, scalar_load((DType)from, &i));
            if (width <= 2) {
                check((DType)from, (DType)to, at, codes);
                check((DType)from, (DType)to, at, codes / 3);
                continue;
            }
            fill((DType)from, at, 2 * (uint64_t)w->n + 3, w, false);
            check((DType)from, (DType)to, at, 2 * (uint64_t)w->n + 3);
            fill((DType)from, at, 1001, w, true);
            check((DType)from, (DType)to, at, 1001);
        }
    free(memory);
}

// A count alone could be right by chance.
static void each_edge(void **state)
{
    (void)state;
    const Numbers *w = all_edges();
    unsigned char at[8];
    for (int from = 1; from < DT_COUNT; from++)
        for (uint32_t i = 0; i < w->n; i++)
            for (int to = 1; to < DT_COUNT; to++) {
                if (!is_number((DType)from) || !is_number((DType)to) ||
                    dtype_info((DType)from)->bytes < 4)
                    continue;
                scalar_store((DType)from, at,
                             scalar_cast(DT_F64, (DType)from, (Scalar){.f = w->at[i]}, false));
                check((DType)from, (DType)to, at, 1);
            }
}

// Those of fewer than 8 bits, as a file holds them.
static void packed(void **state)
{
    (void)state;
    static const DType narrow[] = {DT_U4, DT_I4, DT_F4E2M1, DT_U2, DT_I2};
    enum { COUNT = 517 };
    unsigned char bytes[COUNT], each[COUNT];
    for (size_t k = 0; k < sizeof narrow / sizeof *narrow; k++) {
        const unsigned bits = dtype_info(narrow[k])->bits, per = 8 / bits;
        for (int i = 0; i < COUNT; i++)
            bytes[i] = (unsigned char)(i * 37 + i / 5);
        for (unsigned i = 0; i < COUNT; i++) {
            const uint64_t code = bytes[i / per] >> i % per * bits & ((1u << bits) - 1);
            scalar_store(narrow[k], &each[i], scalar_load(narrow[k], &code));
        }
        for (int to = 1; to < DT_COUNT; to++)
            if (is_number((DType)to)) {
                const Losses got = losses_of(narrow[k], (DType)to, bytes, COUNT, true);
                const Losses want = defined(narrow[k], (DType)to, each, COUNT);
                assert_int_equal(got.inexact, want.inexact);
                assert_int_equal(got.infinite, want.infinite);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair),
        cmocka_unit_test(each_edge),
        cmocka_unit_test(packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
