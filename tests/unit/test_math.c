// The helpers that emitted programs use are bit for bit what ir/dtype.c defines.

#include "ir/dtype.h"
#include "runtime/cameo_math.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct Small {
    DType dtype;
    uint32_t (*encode)(double v, int saturate);
    float (*decode)(uint32_t code);
} Small;

static uint32_t f16_of(double v, int s)
{
    (void)s;
    return cameo_cast_f64_f16(v);
}
static uint32_t bf16_of(double v, int s)
{
    (void)s;
    return cameo_cast_f64_bf16(v);
}
static uint32_t e4m3fn_of(double v, int s)
{
    return cameo_cast_f64_f8e4m3fn(v, s);
}
static uint32_t e4m3fnuz_of(double v, int s)
{
    return cameo_cast_f64_f8e4m3fnuz(v, s);
}
static uint32_t e5m2_of(double v, int s)
{
    return cameo_cast_f64_f8e5m2(v, s);
}
static uint32_t e5m2fnuz_of(double v, int s)
{
    return cameo_cast_f64_f8e5m2fnuz(v, s);
}
static uint32_t e2m1_of(double v, int s)
{
    return cameo_cast_f64_f4e2m1(v, s);
}
static uint32_t e8m0_of(double v, int s)
{
    return cameo_cast_f64_f8e8m0(v, s);
}
static float of_f16(uint32_t c)
{
    return cameo_cast_f16_f32((uint16_t)c);
}
static float of_bf16(uint32_t c)
{
    return cameo_cast_bf16_f32((uint16_t)c);
}
static float of_e4m3fn(uint32_t c)
{
    return cameo_cast_f8e4m3fn_f32((uint8_t)c);
}
static float of_e4m3fnuz(uint32_t c)
{
    return cameo_cast_f8e4m3fnuz_f32((uint8_t)c);
}
static float of_e5m2(uint32_t c)
{
    return cameo_cast_f8e5m2_f32((uint8_t)c);
}
static float of_e5m2fnuz(uint32_t c)
{
    return cameo_cast_f8e5m2fnuz_f32((uint8_t)c);
}
static float of_e2m1(uint32_t c)
{
    return cameo_cast_f4e2m1_f32((uint8_t)c);
}
static float of_e8m0(uint32_t c)
{
    return cameo_cast_f8e8m0_f32((uint8_t)c);
}

static const Small smalls[] = {
    {DT_F16, f16_of, of_f16},
    {DT_BF16, bf16_of, of_bf16},
    {DT_F8E4M3FN, e4m3fn_of, of_e4m3fn},
    {DT_F8E4M3FNUZ, e4m3fnuz_of, of_e4m3fnuz},
    {DT_F8E5M2, e5m2_of, of_e5m2},
    {DT_F8E5M2FNUZ, e5m2fnuz_of, of_e5m2fnuz},
    {DT_F4E2M1, e2m1_of, of_e2m1},
    {DT_F8E8M0, e8m0_of, of_e8m0},
};

static uint32_t expected_code(DType t, double v, bool saturate)
{
    uint32_t code = 0;
    scalar_store(t, &code, scalar_cast(DT_F64, t, (Scalar){.f = v}, saturate));
    return code;
}

static void test_decode(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof smalls / sizeof *smalls; k++) {
        uint32_t n = 1u << dtype_info(smalls[k].dtype)->bits;
        for (uint32_t code = 0; code < n; code++) {
            float got = smalls[k].decode(code);
            float want = (float)scalar_load(smalls[k].dtype, &code).f;
            assert_true(got == want || (got != got && want != want));
        }
    }
}

// A NaN keeps no sign on its way through a number.
static void check_code(const Small *small, double v, int saturate)
{
    uint32_t got = small->encode(v, saturate), want = expected_code(small->dtype, v, saturate);
    float number = small->decode(want);
    if (number == number)
        assert_int_equal(got, want);
    else
        assert_true(isnan(small->decode(got)));
}

static void test_encode(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof smalls / sizeof *smalls; k++)
        for (uint32_t i = 0; i < 40000; i++) {
            uint32_t u = i * 107374u + i;
            float f;
            memcpy(&f, &u, sizeof f);
            double near = smalls[k].decode(i & 255) * (1 + ((int)(i % 9) - 4) / 64.0);
            for (int s = 0; s < 2 && f == f && near == near; s++) {
                check_code(&smalls[k], (double)f, s);
                check_code(&smalls[k], near, s);
            }
        }
}

// The shorter ways from float32 agree with the long way from float64.
static void test_half_from_float(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2000000; i++) {
        float f;
        uint32_t u = i * 2147u + i;
        memcpy(&f, &u, sizeof f);
        if (f != f)
            continue;
        assert_int_equal(cameo_cast_f32_f16(f), cameo_cast_f64_f16((double)f));
        assert_int_equal(cameo_cast_f32_bf16(f), cameo_cast_f64_bf16((double)f));
    }
}

static void test_integers(void **state)
{
    (void)state;
    assert_int_equal(cameo_div_i64(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(cameo_div_i64(5, 0), 0);
    assert_int_equal(cameo_mod_i32(-7, 3), 2);
    assert_int_equal(cameo_fmod_i32(-7, 3), -1);
    assert_int_equal(cameo_to_int(1e30, -128, 127), 127);
    assert_int_equal(cameo_to_int((double)NAN, -128, 127), 0);
    assert_int_equal(cameo_wrap_i4(15), -1);
    assert_int_equal(cameo_wrap_u4(17), 1);
}

// A rounding that stays float32 is the way to the small float and back.
static void test_rounding(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < (uint64_t)1 << 32; i += 1021) {
        float x = cameo_bits_u32_f32((uint32_t)i), half = cameo_round_f16(x),
              brain = cameo_round_bf16(x);
        if (x != x) {
            assert_true(half != half && brain != brain);
            continue;
        }
        assert_int_equal(cameo_bits_f32_u32(half),
                         cameo_bits_f32_u32(cameo_cast_f16_f32(cameo_cast_f64_f16((double)x))));
        assert_int_equal(cameo_bits_f32_u32(brain),
                         cameo_bits_f32_u32(cameo_cast_bf16_f32(cameo_cast_f64_bf16((double)x))));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode),          cmocka_unit_test(test_encode),
        cmocka_unit_test(test_half_from_float), cmocka_unit_test(test_integers),
        cmocka_unit_test(test_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
