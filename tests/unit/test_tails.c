// What one of a thousand exceeds, beside figures whose tail is known.
#include "tools/tails.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// After what it needs.
#include <cmocka.h>

static void near_to(double got, double want)
{
    assert_true(fabs(got - want) <= 1e-12 * fabs(want));
}

// 32 (2 * 1000 / 8)^((log 4 + log 2) / 2), in any order.
static void power_law(void **state)
{
    const double x[] = {16, 1, 128, 2, 32, 4, 64, 8};
    (void)state;
    near_to(tails_rare(x, 8), 32 * pow(250, 1.5 * log(2)));
}

// Of a hundred quantiles of 1 - t^-2 the greatest 25 are a quarter's; the index and the quantile
// are those of the law, as near as Hill's estimator comes to them.
static void index_of_law(void **state)
{
    double x[100];
    (void)state;
    for (int i = 0; i < 100; i++)
        x[i] = pow(1 - (i + 0.5) / 100, -0.5);
    double rare = tails_rare(x, 100);
    assert_true(rare > 0.8 * sqrt(1000) && rare < 1.25 * sqrt(1000));
}

// What hardly differs stays where it is.
static void alike(void **state)
{
    const double x[] = {1, 1.01, 0.99, 1.02, 1};
    const double equal[] = {3, 3, 3, 3};
    (void)state;
    assert_true(tails_rare(x, 5) < 1.15);
    near_to(tails_rare(equal, 4), 3);
}

static void too_few(void **state)
{
    const double x[] = {1, 0, 2, 0, 4}, wild[] = {1, 2, 3, INFINITY, 4};
    (void)state;
    assert_true(tails_rare(x, 5) == 0);
    assert_true(tails_rare(wild, 5) == 0);
    assert_true(tails_rare(wild, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_law),
        cmocka_unit_test(index_of_law),
        cmocka_unit_test(alike),
        cmocka_unit_test(too_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
