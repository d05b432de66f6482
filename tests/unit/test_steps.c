// Quantisation in emitted programs: its shorter form gives the integers of the schema's formula,
// saturate(round(x / scale) + zero), for every kind of float.

#include "runtime/cameo_math.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SCALES = 300, NUMBERS = 20000 };

static uint64_t state = 88172645463325252u;

static uint32_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static int within(int least, int most)
{
    return least + (int)(draw() % (uint32_t)(most - least + 1));
}

// A float up to two places beside v.
static float beside(float v)
{
    return cameo_bits_u32_f32(cameo_bits_f32_u32(v) + draw() % 5 - 2);
}

// What a float may be, as such and in steps of d.
static float number(int i, float d)
{
    const float some[] = {INFINITY, -INFINITY, NAN, -NAN, 0.0f, -0.0f, 3.4e38f, -3.4e38f, 1e-45f};
    if (i < (int)(sizeof some / sizeof *some))
        return some[i];
    switch (i % 4) {
    case 0:
        return cameo_bits_u32_f32(draw());
    case 1:
        return beside(((float)within(-300, 300) + 0.5f) * d);
    case 2:
        return beside((float)within(-300, 300) * d);
    default:
        return ((float)draw() / 4294967296.0f - 0.5f) * 600.0f * d;
    }
}

// Clipped as the schema says, NaN to 0.
static int saturated(float v, int least, int most)
{
    return v != v ? 0 : v<(float)least ? least : v>(float) most ? most : (int)v;
}

static void test_bytes(void **unused)
{
    (void)unused;
    for (int s = 0; s < SCALES; s++) {
        const float mantissa = 1.0f + (float)(draw() & 0x7fffff) / 8388608.0f;
        const float d = ldexpf(mantissa, s % 3 ? within(-14, 6) : within(-99, 99));
        const int u = s % 5 ? within(0, 255) : s % 2 * 255;
        const int i = s % 5 ? within(-128, 127) : s % 2 ? 127 : -128;
        for (int k = 0; k < NUMBERS; k++) {
            const float x = number(k, d), over = rintf(x / d), whole = rintf(x);
            const int a = saturated((float)u + over, 0, 255);
            const int b = saturated((float)i + over, -128, 127);
            assert_int_equal(cameo_quantize_u8(x, d, u), a);
            assert_int_equal(cameo_quantize_i8(x, d, i), b);
            assert_int_equal(cameo_quantize_by_u8(x, d, u), a);
            assert_true(cameo_quantized_u8(x, d, u) == (float)(a - u));
            assert_true(cameo_quantized_i8(x, d, i) == (float)(b - i));
            const int c = saturated((float)u + whole, 0, 255);
            const int e = saturated((float)i + whole, -128, 127);
            assert_int_equal(cameo_nearest_u8(x, u), c);
            assert_int_equal(cameo_nearest_i8(x, i), e);
            assert_true(cameo_rounded_u8(x, u) == (float)(c - u));
            assert_true(cameo_rounded_i8(x, i) == (float)(e - i));
        }
    }
}

static void test_two_bytes(void **unused)
{
    (void)unused;
    for (int s = 0; s < SCALES; s++) {
        const float mantissa = 1.0f + (float)(draw() & 0x7fffff) / 8388608.0f;
        const float d = ldexpf(mantissa, s % 3 ? within(-20, 2) : within(-99, 99));
        const int u = s % 5 ? within(0, 65535) : s % 2 * 65535;
        const int i = s % 5 ? within(-32768, 32767) : s % 2 ? 32767 : -32768;
        for (int k = 0; k < NUMBERS; k++) {
            const float x = number(k, k % 2 ? 256 * d : d), over = rintf(x / d), whole = rintf(x);
            const int a = saturated((float)u + over, 0, 65535);
            const int b = saturated((float)i + over, -32768, 32767);
            const int c = saturated((float)u + whole, 0, 65535);
            const int e = saturated((float)i + whole, -32768, 32767);
            assert_int_equal(cameo_quantize_u16(x, d, u), a);
            assert_int_equal(cameo_quantize_i16(x, d, i), b);
            assert_true(cameo_quantized_u16(x, d, u) == (float)(a - u));
            assert_true(cameo_quantized_i16(x, d, i) == (float)(b - i));
            assert_int_equal(cameo_nearest_u16(x, u), c);
            assert_int_equal(cameo_nearest_i16(x, i), e);
            assert_true(cameo_rounded_u16(x, u) == (float)(c - u));
            assert_true(cameo_rounded_i16(x, i) == (float)(e - i));
        }
    }
}

// Scales that a run may bring and no constant may be: they are divided by.
static void test_any_scale(void **unused)
{
    (void)unused;
    const float scales[] = {0.0f,   -0.0f,  NAN,      INFINITY, -0.5f,   1e-45f,
                            3e-39f, 1e-38f, 7.8e-31f, 1.3e30f,  3.4e38f, -INFINITY};
    for (int s = 0; s < (int)(sizeof scales / sizeof *scales); s++)
        for (int k = 0; k < NUMBERS; k++) {
            const float d = scales[s], x = number(k, k % 2 ? d : 1.0f), over = rintf(x / d);
            assert_int_equal(cameo_quantize_by_u8(x, d, 3), saturated(3.0f + over, 0, 255));
        }
}

// Of all mantissas, each divided by some.
static void test_quotients(void **unused)
{
    (void)unused;
    for (int s = 0; s < 40; s++) {
        const uint32_t m = s % 2 ? draw() : s % 4 ? 0x7fffffu - (uint32_t)s : (uint32_t)s;
        const float d = cameo_bits_u32_f32(0x3f800000u | (m & 0x7fffffu));
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < 0x800000u; i++) {
            const float x = cameo_bits_u32_f32(0x3f800000u | i);
            wrong += cameo_over_f32(x, d) != x / d;
        }
        assert_int_equal(wrong, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_two_bytes),
        cmocka_unit_test(test_any_scale),
        cmocka_unit_test(test_quotients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
