// What one pass over a large constant finds is what looking at each element finds, in every dtype
// and at any alignment.
#include "passes/ranges_stats.c"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
// After what it needs.
#include <cmocka.h>

enum { COUNT = 200003 };

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

// kind 0: any bits; 1: small numbers; 2: integers; 3: zeros; 4: all are no numbers.
static void fill(unsigned char *at, DType t, int kind, uint64_t seed)
{
    uint32_t width = dtype_info(t)->bytes;
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t bits = draw(&seed) ^ draw(&seed) << 31;
        double small = (double)(bits % 2001) / 1000 - 1, whole = (double)(bits % 201) - 100;
        Scalar x = {.f = kind == 1 ? small : kind == 2 ? whole : kind == 4 ? NAN : 0};
        if (!dtype_is_float(t))
            x.i =
                kind == 3 ? 0 : (int64_t)(bits % 7) - (dtype_info(t)->kind == KIND_SIGNED ? 3 : 0);
        if (kind == 0)
            memcpy(at + i * width, &bits, width);
        else
            scalar_store(t, at + i * width, x);
    }
}

static double number_at(DType t, const unsigned char *at)
{
    const Scalar x = scalar_load(t, at);
    if (dtype_is_float(t))
        return x.f;
    return t == DT_U64 ? (double)(uint64_t)x.i : (double)x.i;
}

// The exponent of the least normal number, by the definition of each format.
static int least_exponent(DType t)
{
    switch (t) {
    case DT_F64:
        return -1022;
    case DT_F16:
    case DT_F8E5M2:
        return -14;
    case DT_F8E5M2FNUZ:
        return -15;
    case DT_F8E4M3FN:
        return -6;
    case DT_F8E4M3FNUZ:
        return -7;
    case DT_F4E2M1:
    case DT_F6E2M3:
        return 0;
    case DT_F6E3M2:
        return -2;
    default:
        return t == DT_F8E8M0 ? -127 : -126;
    }
}

static uint8_t significant_bits(double v)
{
    int exponent;
    const uint64_t bits = (uint64_t)ldexp(frexp(fabs(v), &exponent), 53);
    return (uint8_t)(bits ? 53 - __builtin_ctzll(bits) : 1);
}

static void take(ConstantStats *s, DType t, double v)
{
    const double m = fabs(v);
    s->nans += isnan(v);
    s->infinities += isinf(v) != 0;
    s->zeros += v == 0;
    s->lo = fmin(s->lo, v);
    s->hi = fmax(s->hi, v);
    if (!isfinite(v))
        return;
    s->integer &= v == nearbyint(v);
    s->bits = significant_bits(v) > s->bits ? significant_bits(v) : s->bits;
    if (v == 0)
        return;
    s->least = s->least == 0 || m < s->least ? m : s->least;
    s->subnormal += dtype_is_float(t) && m < ldexp(1, least_exponent(t));
    s->flushed_f16 += m <= 0x1p-25;
    s->over_f16 += m >= 65520;
}

static ConstantStats naive(DType t, const unsigned char *packed, unsigned bits)
{
    ConstantStats s = {.lo = INFINITY, .hi = -INFINITY, .integer = true, .read = true};
    uint32_t width = dtype_info(t)->bytes;
    bool wide = t == DT_I64 || t == DT_U64;
    s.count = COUNT;
    for (uint64_t i = 0; i < COUNT; i++) {
        unsigned char one[16] = {0};
        memcpy(one, packed + i * width, bits < 8 ? 0 : width);
        if (bits < 8) {
            unsigned v = packed[i * bits / 8] >> (i * bits % 8) & ((1u << bits) - 1);
            bool negative = dtype_info(t)->kind == KIND_SIGNED && v >> (bits - 1);
            one[0] = (unsigned char)(negative ? v | ~((1u << bits) - 1) : v);
        }
        take(&s, t, number_at(t, one));
    }
    if (wide && (s.hi >= 0x1p53 || s.lo <= -0x1p53))
        s.bits = 64;
    return s;
}

static void check(DType t, int kind, uint64_t seed)
{
    Arena *a = arena_new();
    Model m = {.arena = a};
    Ranges r = {.m = &m, .a = a};
    unsigned char *at = NEWS(a, unsigned char, COUNT * 8 + 16);
    unsigned bits = dtype_info(t)->bits;
    int64_t dims[] = {COUNT};
    at += 1 + kind % 2; // not aligned
    fill(at, bits < 8 ? DT_U8 : t, bits < 8 ? 0 : kind, seed);
    TensorData d = {.dtype = (int32_t)t, .rank = 1, .dims = dims, .payload = PAYLOAD_RAW};
    d.raw = (Str){(const char *)at, ((uint64_t)COUNT * bits + 7) / 8};
    ConstantStats got, want = naive(t, at, bits);
    read_all(&r, &d, &got);
    assert_null(d.elements); // in place
    assert_true(got.read && got.count == want.count && got.nans == want.nans);
    assert_true(got.infinities == want.infinities && got.zeros == want.zeros);
    assert_true(got.flushed_f16 == want.flushed_f16 && got.over_f16 == want.over_f16);
    assert_true(got.subnormal == want.subnormal && got.integer == want.integer);
    assert_true(got.bits == want.bits && got.least == want.least);
    assert_true(got.lo == want.lo && got.hi == want.hi);
    arena_free(a);
}

static void test_all(void **state)
{
    (void)state;
    for (int t = 1; t < DT_COUNT; t++) {
        DTypeKind kind = dtype_info((DType)t)->kind;
        bool number =
            kind == KIND_FLOAT || kind == KIND_SIGNED || kind == KIND_UNSIGNED || kind == KIND_BOOL;
        if (!number || dtype_info((DType)t)->bits == 6)
            continue;
        for (int k = 0; k < (dtype_is_float((DType)t) ? 5 : 4); k++)
            check((DType)t, k, 77u * (unsigned)t + (unsigned)k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
