// Functions that are arithmetic are near to those of the C library, over all of float32.

#include "runtime/cameo_vector.h"

#include <fenv.h>
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

// Units in the last place of float32 between a result and what it should be.
static double distance(float got, double want)
{
    int e;
    if (isnan(want))
        return isnan(got) ? 0 : INFINITY;
    if (got == (float)want)
        return 0;
    if (isnan(got) || isinf(got) || isinf(want))
        return INFINITY;
    frexp(fabs(want) < (double)FLT_MIN ? (double)FLT_MIN : want, &e);
    return fabs((double)got - want) / ldexp(1, e - 24);
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

typedef struct Function {
    const char *name;
    float (*ours)(float x);
    double (*theirs)(double x);
    double limit; // units in the last place
} Function;

static const Function functions[] = {
    {"exp", cameo_exp_f32, exp, 2},
    {"expm1", cameo_expm1_f32, expm1, 2},
    {"log", cameo_log_f32, log, 2},
    {"tanh", cameo_tanh_f32, tanh, 2},
    {"erf", cameo_erf_f32, erf, 2},
    {"log1p", cameo_log1p_f32, log1p, 1},
    {"sin", cameo_sin_f32, sin, 1},
    {"cos", cameo_cos_f32, cos, 1},
    {"tan", cameo_tan_f32, tan, 1},
    {"atan", cameo_atan_f32, atan, 1},
    {"asin", cameo_asin_f32, asin, 1},
    {"acos", cameo_acos_f32, acos, 1},
    {"asinh", cameo_asinh_f32, asinh, 1},
    {"acosh", cameo_acosh_f32, acosh, 1},
    {"atanh", cameo_atanh_f32, atanh, 1},
    {"sigmoid", cameo_sigmoid_f32, logistic, 2},
    {"silu", cameo_silu_f32, silu, 2},
    {"silu_short", cameo_silu_short_f32, silu, 1448},
    {"sigmoid_short", cameo_sigmoid_short_f32, logistic, 1448},
};

static void test_float32(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        const Function *f = &functions[k];
        double worst = 0;
        float at = 0;
        for (uint64_t i = 0; i < (uint64_t)1 << 32; i += 4093) {
            float x = cameo_bits_u32_f32((uint32_t)i);
            double d = distance(f->ours(x), f->theirs((double)x));
            if (d > worst) {
                worst = d;
                at = x;
            }
        }
        print_message("%s: %.3f units at %a\n", f->name, worst, (double)at);
        assert_true(worst < f->limit);
    }
}

static void test_specials(void **state)
{
    (void)state;
    static const float special[] = {0.0f,      -0.0f,  1.0f,           -1.0f,      INFINITY,
                                    -INFINITY, NAN,    FLT_MIN,        -FLT_MIN,   FLT_MAX,
                                    -FLT_MAX,  1e-45f, 16777216.0f,    8388607.5f, 1e-20f,
                                    0.5f,      -0.5f,  0x1.fffffep-1f, 88.8f,      -104.0f};
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
            float got = functions[k].ours(special[i]);
            double want = functions[k].theirs((double)special[i]);
            if (distance(got, want) >= functions[k].limit ||
                (!isnan(want) && !signbit(got) != !signbit(want)))
                print_error("%s(%a) is %a\n", functions[k].name, (double)special[i], (double)got);
            assert_true(distance(got, want) < functions[k].limit);
            assert_true(isnan(want) || !signbit(got) == !signbit(want));
        }
}

// What is not above 0 has the bits that it has in any other place.
static void test_exp_below(void **state)
{
    (void)state;
    static const float special[] = {0.0f, -0.0f, -1e-45f, -87.5f, -103.9f, -104.0f, -INFINITY};
    for (uint64_t i = (uint64_t)1 << 31; i <= 0xff800000; i += 127) {
        const float x = cameo_bits_u32_f32((uint32_t)i);
        assert_true(cameo_exp_below_f32(x) == cameo_exp_f32(x));
    }
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        assert_true(cameo_exp_below_f32(special[i]) == cameo_exp_f32(special[i]));
    assert_true(isnan(cameo_exp_below_f32(NAN)) && isnan(cameo_exp_below_f32(-NAN)));
}

// What is masked comes to 0 without an underflow, which processors take a hundred cycles over.
static void test_masked(void **state)
{
    (void)state;
    volatile float masked[] = {-104.5f, -1000.0f, -1e9f, -FLT_MAX, -INFINITY};
    for (size_t i = 0; i < sizeof masked / sizeof *masked; i++) {
        feclearexcept(FE_ALL_EXCEPT);
        volatile float below = cameo_exp_below_f32(masked[i]), any = cameo_exp_f32(masked[i]);
        assert_true(!fetestexcept(FE_UNDERFLOW));
        assert_true(below == 0 && any == 0);
    }
}

// Units in the last place of the exact result, those of subnormal numbers 2^-1074.
static double distance64(double got, long double want)
{
    int e;
    frexp((double)fmaxl(fabsl(want), (long double)DBL_MIN), &e);
    return fabs((double)(((long double)got - want) * ldexpl(1, 53 - e)));
}

static void test_exp_float64(void **state)
{
    (void)state;
    double worst = 0, at = 0;
    for (double x = -745.5; x < 709.78; x += 0.00137) {
        double d = distance64(cameo_exp_f64(x), expl((long double)x));
        at = d > worst ? x : at;
        worst = d > worst ? d : worst;
        d = distance64(cameo_exp_f64(x * 1e-3), expl((long double)(x * 1e-3)));
        at = d > worst ? x * 1e-3 : at;
        worst = d > worst ? d : worst;
    }
    print_message("exp of float64: %.3f units at %a\n", worst, at);
    assert_true(worst <= 1);
    assert_true(cameo_exp_f64(0) == 1 && cameo_exp_f64(-0.0) == 1 && cameo_exp_f64(1e-300) == 1);
    assert_true(isinf(cameo_exp_f64(709.79)) && isinf(cameo_exp_f64(INFINITY)));
    assert_true(isfinite(cameo_exp_f64(709.78)) && cameo_exp_f64(-745.13) == 0x1p-1074);
    assert_true(cameo_exp_f64(-745.14) == 0 && cameo_exp_f64(-INFINITY) == 0);
    assert_true(cameo_exp_f64(1e308) == INFINITY && cameo_exp_f64(-1e308) == 0);
    assert_true(isnan(cameo_exp_f64(NAN)));
}

static void test_sigmoid_float64(void **state)
{
    (void)state;
    double worst = 0, at = 0;
    for (double x = -745; x < 60; x += 0.000437) {
        double d = distance64(cameo_sigmoid_f64(x), 1 / (1 + expl((long double)-x)));
        at = d > worst ? x : at;
        worst = d > worst ? d : worst;
    }
    print_message("sigmoid of float64: %.3f units at %a\n", worst, at);
    assert_true(worst <= 3);
    assert_true(cameo_sigmoid_f64(0) == 0.5 && cameo_sigmoid_f64(-0.0) == 0.5);
    assert_true(cameo_sigmoid_f64(INFINITY) == 1 && cameo_sigmoid_f64(1e308) == 1);
    assert_true(cameo_sigmoid_f64(-INFINITY) == 0 && cameo_sigmoid_f64(-1e308) == 0);
    assert_true(isnan(cameo_sigmoid_f64(NAN)));
}

static void test_float64(void **state)
{
    (void)state;
    for (double x = -25; x < 25; x += 0.000137) {
        double want = tanh(x), unit = fabs(want) * DBL_EPSILON;
        assert_true(fabs(cameo_tanh_f64(x) - want) <= 3 * unit);
        want = tanh(x * 1e-9);
        assert_true(fabs(cameo_tanh_f64(x * 1e-9) - want) <= 3 * fabs(want) * DBL_EPSILON);
    }
    assert_true(cameo_tanh_f64(INFINITY) == 1 && cameo_tanh_f64(-INFINITY) == -1);
    assert_true(isnan(cameo_tanh_f64(NAN)) && signbit(cameo_tanh_f64(-0.0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float32),  cmocka_unit_test(test_exp_float64),
        cmocka_unit_test(test_specials), cmocka_unit_test(test_sigmoid_float64),
        cmocka_unit_test(test_float64),  cmocka_unit_test(test_exp_below),
        cmocka_unit_test(test_masked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
