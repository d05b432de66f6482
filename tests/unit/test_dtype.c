// Element types: every code of the narrow ones, and what lies between two codes.

#include "ir/dtype.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const DType narrow[] = {DT_F16,    DT_BF16,       DT_F8E4M3FN, DT_F8E4M3FNUZ,
                               DT_F8E5M2, DT_F8E5M2FNUZ, DT_F4E2M1,   DT_F8E8M0};
enum { NARROW = sizeof narrow / sizeof *narrow };

static double decode(DType t, uint32_t code)
{
    uint16_t bits = (uint16_t)code;
    return scalar_load(t, &bits).f;
}

static uint32_t encode(DType t, double v)
{
    uint16_t bits = 0;
    scalar_store(t, &bits, (Scalar){.f = v});
    return bits;
}

static uint32_t codes(DType t)
{
    return (uint32_t)1 << dtype_info(t)->bits;
}

static void every_code_comes_back(void **state)
{
    (void)state;
    for (int k = 0; k < NARROW; k++)
        for (uint32_t c = 0; c < codes(narrow[k]); c++) {
            double v = decode(narrow[k], c);
            if (isnan(v))
                assert_true(isnan(decode(narrow[k], encode(narrow[k], v))));
            else
                assert_int_equal(encode(narrow[k], v), c);
        }
}

// Half way between neighbours the even code wins; a hair to either side the nearer one, also where
// a detour through float32 would round twice.
static void ties_go_to_even(void **state)
{
    (void)state;
    for (int k = 0; k < NARROW; k++) {
        DType t = narrow[k];
        for (uint32_t c = 0; t != DT_F8E8M0 && c + 1 < codes(t) / 2; c++) {
            double low = decode(t, c), high = decode(t, c + 1);
            if (!isfinite(low) || !isfinite(high))
                break;
            double middle = (low + high) / 2;
            assert_int_equal(encode(t, middle), c & 1 ? c + 1 : c);
            assert_int_equal(encode(t, nextafter(middle, low)), c);
            assert_int_equal(encode(t, nextafter(middle, high)), c + 1);
        }
    }
}

static double cast(DType t, double v, bool saturate)
{
    return scalar_cast(DT_F32, t, (Scalar){.f = v}, saturate).f;
}

// The tables of ONNX Cast.
static void float8_saturates_or_not(void **state)
{
    (void)state;
    assert_true(cast(DT_F8E4M3FN, 1e6, true) == 448);
    assert_true(cast(DT_F8E4M3FN, -(double)INFINITY, true) == -448);
    assert_true(isnan(cast(DT_F8E4M3FN, 1e6, false)));
    assert_true(cast(DT_F8E4M3FNUZ, 1e6, true) == 240);
    assert_true(isnan(cast(DT_F8E4M3FNUZ, (double)INFINITY, false)));
    assert_true(cast(DT_F8E5M2, 1e6, true) == 57344);
    assert_true(isinf(cast(DT_F8E5M2, 1e6, false)));
    assert_true(cast(DT_F8E5M2FNUZ, 1e6, true) == 57344);
    assert_true(isnan(cast(DT_F8E5M2FNUZ, 1e6, false)));
    assert_true(isnan(cast(DT_F8E5M2, (double)NAN, true)));
    assert_true(isinf(cast(DT_F16, 65520, true)));
    assert_true(cast(DT_F16, 65519, true) == 65504);
    assert_true(cast(DT_F4E2M1, 100, true) == 6);
}

static int64_t to_int(DType t, double v)
{
    return scalar_cast(DT_F64, t, (Scalar){.f = v}, true).i;
}

static void integers_clamp_and_wrap(void **state)
{
    (void)state;
    assert_int_equal(to_int(DT_I8, 300), 127);
    assert_int_equal(to_int(DT_U8, -5), 0);
    assert_int_equal(to_int(DT_I32, (double)NAN), 0);
    assert_true(to_int(DT_I64, 1e300) == INT64_MAX);
    assert_true((uint64_t)to_int(DT_U64, 1e300) == UINT64_MAX);
    assert_int_equal(to_int(DT_I16, -1.9), -1);
    assert_int_equal(scalar_cast(DT_I64, DT_I8, (Scalar){.i = 200}, true).i, -56);
    assert_int_equal(scalar_cast(DT_I64, DT_I4, (Scalar){.i = 9}, true).i, -7);
    assert_int_equal(scalar_cast(DT_I64, DT_U2, (Scalar){.i = 7}, true).i, 3);
    assert_true(scalar_cast(DT_U64, DT_F64, (Scalar){.i = -1}, true).f == 18446744073709551616.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_comes_back),
        cmocka_unit_test(ties_go_to_even),
        cmocka_unit_test(float8_saturates_or_not),
        cmocka_unit_test(integers_clamp_and_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
