#include "ir/poly.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static Arena *arena;
static Polys *p;

static int begin(void **state)
{
    (void)state;
    arena = arena_new();
    p = polys_new(arena);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static void normal_form_is_unique(void **state)
{
    (void)state;
    Index n = poly_dim(p, dim_new(p, STR("N"), 0)), m = poly_dim(p, dim_new(p, STR("M"), 0));
    assert_ptr_equal(poly_mul(p, n, m), poly_mul(p, m, n));
    assert_ptr_equal(poly_sub(p, poly_add(p, n, m), m), n);
    Index square = poly_mul(p, poly_add(p, n, m), poly_sub(p, n, m));
    assert_ptr_equal(square, poly_sub(p, poly_mul(p, n, n), poly_mul(p, m, m)));
    assert_true(poly_is_overflow(poly_scale(p, poly_const(p, INT64_MAX), 2)));
}

static void reshape_round_trip_vanishes(void **state)
{
    (void)state;
    Index h = poly_dim(p, dim_new(p, STR("H"), 0)), w = poly_dim(p, dim_new(p, STR("W"), 0));
    Index i = poly_loop(p, loop_new(p, h)), j = poly_loop(p, loop_new(p, w));
    Index line = poly_add(p, poly_mul(p, i, w), j);
    assert_ptr_equal(poly_floordiv(p, line, w), i);
    assert_ptr_equal(poly_mod(p, line, w), j);
    Index few = poly_loop(p, loop_new(p, poly_const(p, 5)));
    Index next = poly_loop(p, loop_new(p, poly_const(p, 6)));
    Index skewed = poly_add(p, poly_scale(p, few, 11), next), ten = poly_const(p, 10);
    assert_ptr_equal(poly_floordiv(p, skewed, ten), few);
    assert_ptr_equal(poly_mod(p, skewed, ten), poly_add(p, few, next));
    skewed = poly_add_const(p, skewed, 1); // 5 + 4 + 1 may be 10
    assert_ptr_not_equal(poly_floordiv(p, skewed, ten), few);
    // Channels of an open length, cut into groups of 32; and lines of h rows.
    Index channel = poly_loop(p, loop_new(p, poly_const(p, 256))), group = poly_const(p, 32);
    Index at = poly_add(p, poly_mul(p, channel, w), j), size = poly_mul(p, group, w);
    assert_ptr_equal(poly_floordiv(p, at, size), poly_floordiv(p, channel, group));
    assert_ptr_equal(poly_mod(p, at, size),
                     poly_add(p, poly_mul(p, poly_mod(p, channel, group), w), j));
    assert_ptr_equal(poly_floordiv(p, at, poly_mul(p, h, w)), poly_floordiv(p, channel, h));
    assert_ptr_not_equal(poly_floordiv(p, poly_add(p, at, j), size),
                         poly_floordiv(p, channel, group));
    Index k = poly_loop(p, loop_new(p, poly_mul(p, h, w)));
    Index back = poly_add(p, poly_mul(p, poly_floordiv(p, k, w), w), poly_mod(p, k, w));
    assert_ptr_equal(back, k);
    Index d = poly_const(p, 12), e = poly_const(p, 40), de = poly_const(p, 480);
    back =
        poly_add(p, poly_mod(p, k, d), poly_scale(p, poly_mod(p, poly_floordiv(p, k, d), e), 12));
    assert_ptr_equal(poly_add(p, back, poly_scale(p, poly_floordiv(p, k, de), 480)), k);
    Index c = poly_loop(p, loop_new(p, poly_const(p, 12)));
    Index halves = poly_floordiv(p, poly_add_const(p, poly_scale(p, c, 2), 1), poly_const(p, 2));
    assert_ptr_equal(halves, c);
}

static void bounds_are_proved(void **state)
{
    (void)state;
    Index n = poly_dim(p, dim_new(p, STR("N"), 1));
    Index i = poly_loop(p, loop_new(p, n)), r = poly_loop(p, loop_new(p, poly_const(p, 3)));
    assert_true(poly_less(p, i, n));
    assert_true(poly_nonnegative(p, poly_add_const(p, n, -1)));
    assert_false(poly_nonnegative(p, poly_add_const(p, poly_add(p, i, r), -1)));
    assert_true(poly_less(p, poly_add(p, i, r), poly_add_const(p, n, 2)));
    assert_ptr_equal(poly_min(p, i, n), i);
    Index half = poly_floordiv(p, i, poly_const(p, 2));
    assert_true(poly_less(p, half, n));
}

static int64_t value_of(void *context, const Atom *a)
{
    return ((const int64_t *)context)[a->id];
}

static void evaluation_floors(void **state)
{
    (void)state;
    Index n = poly_dim(p, dim_new(p, STR("N"), 0));
    Index e = poly_floordiv(p, poly_add_const(p, poly_scale(p, n, -3), 1), poly_const(p, 4));
    int64_t values[16] = {0};
    values[n->terms[0].atoms[0]->id] = 5;
    assert_int_equal(poly_eval(e, value_of, values), -4);
    assert_int_equal(
        poly_eval(poly_mod(p, poly_scale(p, n, -3), poly_const(p, 4)), value_of, values), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(normal_form_is_unique, begin, finish),
        cmocka_unit_test_setup_teardown(reshape_round_trip_vanishes, begin, finish),
        cmocka_unit_test_setup_teardown(bounds_are_proved, begin, finish),
        cmocka_unit_test_setup_teardown(evaluation_floors, begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
