// The interpreter on modules made by hand: arithmetic, laziness, limits, faults.

#include "ir/interp.h"
#include "ir/interp_state.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct Fixture {
    Arena *arena;
    Module *mod;
    BufferId x, y;
    LoopId i; // the loop over y
    Index at[1];
} Fixture;

// y: t[n] <- x: t[m], to be filled by store_all.
static Fixture fixture(DType t, int64_t m, int64_t n)
{
    Fixture f = {.arena = arena_new()};
    f.mod = module_new(model_new(f.arena));
    Polys *p = f.mod->polys;
    Index in[1] = {poly_const(p, m)}, out[1] = {poly_const(p, n)};
    f.x = buffer_new(f.mod, BUF_INPUT, STR("x"), t, 1, in);
    f.y = buffer_new(f.mod, BUF_OUTPUT, STR("y"), t, 1, out);
    vec_push(f.arena, &f.mod->inputs, f.x);
    vec_push(f.arena, &f.mod->outputs, f.y);
    f.i = loop_new(p, out[0]);
    f.at[0] = poly_loop(p, f.i);
    return f;
}

static bool run(Fixture *f, const Expr *value, InterpTensor *x, InterpTensor *y,
                InterpLimits limits, Str *error)
{
    Stmt store = {.kind = S_STORE, .buffer = f->y, .rank = 1, .at = f->at, .value = value};
    Stmt loop = {.kind = S_FOR, .par = true, .var = f->i, .body = &store};
    Kernel k = {.name = STR("k"), .body = &loop};
    Step step = {.kind = STEP_KERNEL, .kernel = &k};
    f->mod->steps = &step;
    bool ok = interp_run(f->mod, x, y, &limits, error);
    f->mod->steps = NULL;
    return ok;
}

static const InterpLimits plenty = {1 << 20, 1 << 20};

static void sums_prefixes(void **state)
{
    (void)state;
    Fixture f = fixture(DT_F32, 4, 4);
    float in[4] = {1, 2, 3, 4};
    InterpTensor x = {DT_F32, 1, {4}, in}, y;
    Str error;
    LoopId k = loop_new(f.mod->polys, poly_const(f.mod->polys, 4));
    Index at[1] = {poly_loop(f.mod->polys, k)};
    const Expr *where =
        expr_compare(f.mod, C_LE, expr_index(f.mod, at[0]), expr_index(f.mod, f.at[0]));
    const Expr *sum = expr_reduce(f.mod, R_ADD, 1, &k, where, expr_load(f.mod, f.x, at));
    assert_true(run(&f, sum, &x, &y, plenty, &error));
    const float expected[4] = {1, 3, 6, 10};
    assert_memory_equal(y.elements, expected, sizeof expected);
    interp_free(&y);
    arena_free(f.arena);
}

// x[i + 1] lies outside for the last i: an error, unless the arm is not chosen.
static void loads_are_checked_where_they_happen(void **state)
{
    (void)state;
    Fixture f = fixture(DT_I32, 3, 3);
    int32_t in[3] = {7, 8, 9};
    InterpTensor x = {DT_I32, 1, {3}, in}, y;
    Str error;
    Index next[1] = {poly_add_const(f.mod->polys, f.at[0], 1)};
    const Expr *ahead = expr_load(f.mod, f.x, next);
    assert_false(run(&f, ahead, &x, &y, plenty, &error));
    assert_true(error.len > 0);
    const Expr *inside = expr_compare(f.mod, C_LT, expr_index(f.mod, next[0]),
                                      expr_const(f.mod, DT_I64, (Scalar){.i = 3}));
    const Expr *guarded =
        expr_select(f.mod, inside, ahead, expr_const(f.mod, DT_I32, (Scalar){.i = -1}));
    assert_true(run(&f, guarded, &x, &y, plenty, &error));
    const int32_t expected[3] = {8, 9, -1};
    assert_memory_equal(y.elements, expected, sizeof expected);
    interp_free(&y);
    arena_free(f.arena);
}

static void limits_hold(void **state)
{
    (void)state;
    Fixture f = fixture(DT_F32, 1, 100000);
    float in[1] = {1};
    InterpTensor x = {DT_F32, 1, {1}, in}, y;
    Str error;
    Index zero[1] = {poly_const(f.mod->polys, 0)};
    const Expr *value = expr_load(f.mod, f.x, zero);
    assert_false(run(&f, value, &x, &y, (InterpLimits){1000, 0}, &error));
    assert_true(str_starts(error, "more than 1000 bytes"));
    assert_false(run(&f, value, &x, &y, (InterpLimits){1 << 20, 1000}, &error));
    assert_true(str_starts(error, "more than 1000 operations"));
    arena_free(f.arena);
}

static void integers_keep_their_width(void **state)
{
    (void)state;
    Scalar big = {.i = -1}, two = {.i = 2}, least = {.i = INT64_MIN}, minus = {.i = -1};
    assert_true(scalar_binary(B_DIV, DT_U64, big, two).i == INT64_MAX);
    assert_false(scalar_compare(C_LT, DT_U64, big, two));
    assert_true(scalar_binary(B_DIV, DT_I64, least, minus).i == INT64_MIN);
    assert_int_equal(scalar_binary(B_DIV, DT_I32, two, (Scalar){.i = 0}).i, 0);
    assert_int_equal(scalar_binary(B_ADD, DT_U8, (Scalar){.i = 250}, (Scalar){.i = 10}).i, 4);
    assert_int_equal(scalar_binary(B_MUL, DT_I8, (Scalar){.i = 100}, two).i, -56);
    assert_int_equal(scalar_binary(B_MOD, DT_I32, (Scalar){.i = -7}, (Scalar){.i = 3}).i, 2);
    assert_int_equal(scalar_binary(B_FMOD, DT_I32, (Scalar){.i = -7}, (Scalar){.i = 3}).i, -1);
    assert_int_equal(scalar_binary(B_SHL, DT_U8, (Scalar){.i = 1}, (Scalar){.i = 8}).i, 0);
}

static void floats_round_in_their_dtype(void **state)
{
    (void)state;
    Scalar a = {.f = 2048}, b = {.f = 1}, nan = {.f = (double)NAN};
    assert_true(scalar_binary(B_ADD, DT_F16, a, b).f == 2048); // 2049 is no float16
    assert_true(scalar_binary(B_ADD, DT_F32, (Scalar){.f = 16777216}, b).f == 16777216);
    assert_true(isnan(scalar_binary(B_MAX, DT_F32, nan, b).f));
    assert_true(isnan(scalar_binary(B_MIN, DT_F64, b, nan).f));
    assert_true(scalar_neutral(R_MAX, DT_F8E4M3FN).f == -448);
    assert_true(scalar_neutral(R_MIN, DT_I16).i == INT16_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_prefixes),
        cmocka_unit_test(loads_are_checked_where_they_happen),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(integers_keep_their_width),
        cmocka_unit_test(floats_round_in_their_dtype),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
