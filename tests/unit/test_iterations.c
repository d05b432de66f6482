#include "codegen/cpu/iterations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static Arena *arena;
static Module mod;

static int begin(void **state)
{
    (void)state;
    arena = arena_new();
    mod = (Module){.arena = arena, .polys = polys_new(arena)};
    return 0;
}

static int finish(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

// ---- the definition: one iteration after the other, by poly_eval --------------------------------

typedef struct Nest {
    uint32_t n;
    LoopId vars[4];
    int64_t extents[4], at[4];
} Nest;

static Nest nest_of(uint32_t n, const int64_t *extents)
{
    Nest nest = {.n = n};
    for (uint32_t i = 0; i < n; i++) {
        nest.extents[i] = extents[i];
        nest.vars[i] = loop_new(mod.polys, poly_const(mod.polys, extents[i]));
    }
    return nest;
}

static int64_t value_of(void *context, const Atom *a)
{
    const Nest *nest = context;
    for (uint32_t i = 0; i < nest->n; i++)
        if (nest->vars[i] == a->var)
            return nest->at[i];
    return -1;
}

static void advance(Nest *nest)
{
    for (uint32_t k = nest->n; k > 0 && ++nest->at[k - 1] == nest->extents[k - 1]; k--)
        nest->at[k - 1] = 0;
}

// At all iterations of the nest, each step-th lane: what poly_eval says. How many there were.
static int64_t compare(Nest nest, Index i, uint32_t step)
{
    Iterations x;
    int64_t to[CONSTANT_LANES], count = 0;
    assert_true(iterations_begin(&x, &mod, nest.n, nest.vars, (int64_t)1 << 40));
    assert_true(iterations_know(&x, i));
    while (iterations_next(&x)) {
        const uint32_t n = x.n;
        iterations_step(&x, step);
        iterations_index(&x, i, to);
        for (uint32_t l = 0; l < n; l++, count++, advance(&nest))
            if (l % step == 0 && to[l / step] != poly_eval(i, value_of, &nest))
                fail_msg("iteration %lld: %lld", (long long)count, (long long)to[l / step]);
    }
    assert_false(x.failed);
    iterations_end(&x);
    return count;
}

static uint64_t seed = 1;

static int64_t below(int64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(seed >> 33) % n;
}

// A sum of variables, products of two, and quotients and remainders of sums of them.
static Index some_index(const Nest *nest, int depth)
{
    Polys *p = mod.polys;
    Index sum = poly_const(p, below(20) - 10);
    for (int i = 0; i < 3; i++) {
        Index v = poly_loop(p, nest->vars[below(nest->n)]);
        const int64_t kind = depth < 2 ? below(6) : 0, by = 1 + below(40);
        if (kind == 1)
            v = poly_floordiv(p, some_index(nest, depth + 1), poly_const(p, by));
        else if (kind == 2)
            v = poly_mod(p, some_index(nest, depth + 1), poly_const(p, by));
        else if (kind == 3)
            v = poly_mul(p, v, poly_loop(p, nest->vars[below(nest->n)]));
        else if (kind == 4)
            v = poly_min(p, v, some_index(nest, depth + 1));
        sum = poly_add(p, sum, poly_scale(p, v, below(9) - 4));
    }
    return sum;
}

static void all_of_a_nest_is_seen(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        const int64_t extents[] = {1 + below(5), 1 + below(9), 1 + below(40), 1 + below(70)};
        const uint32_t n = 1 + (uint32_t)below(4);
        Nest nest = nest_of(n, extents);
        int64_t all = 1;
        for (uint32_t k = 0; k < n; k++)
            all *= extents[k];
        assert_int_equal(compare(nest, some_index(&nest, 0), 1 << below(5)), all);
    }
}

// More iterations than are tabled at once: as inner loops beside an outer one, and in one loop.
static void long_nests_are_seen(void **state)
{
    (void)state;
    const int64_t deep[] = {3, 700, 900}, one[] = {700001}, below_one[] = {2, 300007};
    for (int i = 0; i < 4; i++) {
        Nest a = nest_of(3, deep), b = nest_of(1, one), c = nest_of(2, below_one);
        assert_int_equal(compare(a, some_index(&a, 0), 1), 3 * 700 * 900);
        assert_int_equal(compare(b, some_index(&b, 0), 16), 700001);
        assert_int_equal(compare(c, some_index(&c, 0), 1), 2 * 300007);
    }
}

static void even_lanes_are_known(void **state)
{
    (void)state;
    Polys *p = mod.polys;
    const int64_t extents[] = {5, 96};
    Nest nest = nest_of(2, extents);
    Index i = poly_loop(p, nest.vars[0]), k = poly_loop(p, nest.vars[1]);
    Index block = poly_floordiv(p, k, poly_const(p, 32));
    Iterations x;
    assert_true(iterations_begin(&x, &mod, 2, nest.vars, 1000));
    assert_true(iterations_next(&x));
    assert_true(iterations_even(&x, poly_add(p, poly_scale(p, i, 3), block), 16));
    assert_true(iterations_even(&x, block, 32));
    assert_false(iterations_even(&x, block, 64));
    assert_false(iterations_even(&x, poly_add(p, i, k), 2));
    iterations_end(&x);
}

static void places_outside_are_told(void **state)
{
    (void)state;
    Polys *p = mod.polys;
    const int64_t extents[] = {4, 8};
    Nest nest = nest_of(2, extents);
    const Index dims[] = {poly_const(p, 4), poly_const(p, 10)};
    const Index at[] = {poly_loop(p, nest.vars[0]),
                        poly_add_const(p, poly_loop(p, nest.vars[1]), 2)};
    const Index beyond[] = {at[0], poly_add_const(p, at[1], 1)};
    int64_t to[CONSTANT_LANES];
    Iterations x;
    assert_true(iterations_begin(&x, &mod, 2, nest.vars, 1000));
    assert_true(iterations_next(&x));
    iterations_places(&x, 2, dims, at, to);
    assert_false(x.failed);
    for (int64_t l = 0; l < 32; l++)
        assert_int_equal(to[l], l / 8 * 10 + l % 8 + 2);
    iterations_places(&x, 2, dims, beyond, to);
    assert_true(x.failed);
    iterations_end(&x);
}

static void too_many_are_refused(void **state)
{
    (void)state;
    const int64_t extents[] = {100, 101};
    Nest nest = nest_of(2, extents);
    Iterations x;
    assert_false(iterations_begin(&x, &mod, 2, nest.vars, 10000));
    iterations_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_of_a_nest_is_seen, begin, finish),
        cmocka_unit_test_setup_teardown(long_nests_are_seen, begin, finish),
        cmocka_unit_test_setup_teardown(even_lanes_are_known, begin, finish),
        cmocka_unit_test_setup_teardown(places_outside_are_told, begin, finish),
        cmocka_unit_test_setup_teardown(too_many_are_refused, begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
