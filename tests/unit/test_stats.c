// What one pass over a large constant finds is what looking at each element finds, in every dtype
// and at any alignment.
#include "passes/ranges_stats.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
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
        double v = number_at(t, one);
        take(&s, t, v, 1);
        take_exactly(&s, v);
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
    if (t == DT_F32) { // of these nobody asks
        want.integer = got.integer = false;
        want.bits = got.bits = 24;
    }
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
        bool number = kind == KIND_FLOAT || kind == KIND_SIGNED || kind == KIND_UNSIGNED;
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
