// Memory plans: values that live at the same time never overlap, and the peak is near the bound.

#include "runtime/cameo_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 300 };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static int64_t plan_checked(int32_t n, const cameo_life *life, int64_t effort)
{
    static int64_t offset[MOST];
    static int32_t work[3 * MOST];
    int64_t peak = cameo_plan(n, life, offset, work, effort), top = 0;
    for (int32_t i = 0; i < n; i++) {
        int64_t end = offset[i] + cameo_aligned(life[i].size);
        assert_true(offset[i] >= 0 && offset[i] % CAMEO_ALIGN == 0);
        top = end > top ? end : top;
        for (int32_t k = 0; k < i; k++) {
            int together = life[i].first <= life[k].last && life[k].first <= life[i].last;
            int overlap = offset[i] < offset[k] + cameo_aligned(life[k].size) && offset[k] < end;
            assert_false(together && overlap);
        }
    }
    assert_int_equal(peak, top);
    assert_true(peak >= cameo_plan_bound(n, life));
    return peak;
}

static void nothing_needs_nothing(void **state)
{
    (void)state;
    cameo_life none = {0, 0, 0};
    assert_int_equal(plan_checked(0, &none, 1000), 0);
    assert_int_equal(plan_checked(1, &none, 1000), 0);
}

// A chain: each value lives with the one before it. Two places that alternate are enough.
static void chains_reach_the_bound(void **state)
{
    (void)state;
    cameo_life life[MOST];
    for (int32_t i = 0; i < MOST; i++)
        life[i] = (cameo_life){1000 + 640 * (i % 7), i, i + 1};
    assert_int_equal(plan_checked(MOST, life, 1000000), cameo_plan_bound(MOST, life));
}

// No order of sizes, lengths or steps alone places these within the bound.
static void orders_that_fail_are_mended(void **state)
{
    (void)state;
    const cameo_life life[] = {{64, 0, 2},  {128, 3, 3}, {192, 0, 3},
                               {128, 0, 1}, {64, 0, 3},  {64, 2, 5}};
    int32_t n = sizeof life / sizeof *life;
    assert_true(plan_checked(n, life, 0) > cameo_plan_bound(n, life));
    assert_int_equal(plan_checked(n, life, 1000000), cameo_plan_bound(n, life));
}

static void random_lives_never_overlap(void **state)
{
    (void)state;
    uint32_t seed = 7;
    for (int round = 0; round < 40; round++) {
        cameo_life life[MOST];
        int32_t n = 1 + (int32_t)(next_random(&seed) % 60);
        for (int32_t i = 0; i < n; i++) {
            int32_t first = (int32_t)(next_random(&seed) % 50);
            life[i] = (cameo_life){next_random(&seed) % 5000, first,
                                   first + (int32_t)(next_random(&seed) % 12)};
        }
        int64_t quick = plan_checked(n, life, 0), slow = plan_checked(n, life, 3000000);
        assert_true(slow <= quick);
        assert_true(slow * 10 <= cameo_plan_bound(n, life) * 11); // measured: within 4 %
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_needs_nothing),
        cmocka_unit_test(chains_reach_the_bound),
        cmocka_unit_test(orders_that_fail_are_mended),
        cmocka_unit_test(random_lives_never_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
