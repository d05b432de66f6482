// The verifiers on what no file can say: models and kernels that a pass has spoilt.
#include "ir/kernel.h"
#include "ir/text.h"
#include "passes/pass.h"
#include "passes/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char two_branches[] =
    "cameo.ir/1\n<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[4] x, bool c) => (float[4] y) {\n"
    "  y = If <then_branch: graph = then () => (float[4] p) { t = Relu (x) p = Neg (t) },\n"
    "          else_branch: graph = other () => (float[4] q) { q = Neg (x) }> (c)\n}\n";

typedef struct Fixture {
    Arena *arena;
    Diags diags;
    Model *m;
} Fixture;

static Fixture open_model(const char *text)
{
    Fixture f = {.arena = arena_new()};
    diags_init(&f.diags, f.arena, STR("m.cir"));
    f.m = text_parse(f.arena, "m.cir", str_of(text), &f.diags);
    assert_non_null(f.m);
    return f;
}

static ValueId find(const Model *m, const char *name)
{
    for (ValueId v = 1; v < m->values.len; v++)
        if (str_is(value_at(m, v)->name, name))
            return v;
    fail();
    return 0;
}

static Node *maker(const Model *m, const char *name)
{
    return node_at(m, value_at(m, find(m, name))->node);
}

static void expect(Fixture *f, uint32_t kinds)
{
    assert_int_equal(verify_model(f->m, VERIFY_ALL, &f->diags), kinds);
    assert_int_equal(f->diags.errors, kinds != 0);
    arena_free(f->arena);
}

static void accepts_a_sound_model(void **state)
{
    (void)state;
    Fixture f = open_model(two_branches);
    expect(&f, 0);
}

static void finds_a_value_of_a_sibling(void **state)
{
    (void)state;
    Fixture f = open_model(two_branches);
    maker(f.m, "q")->in[0] = find(f.m, "t");
    expect(&f, VERIFY_SCOPE);
}

static void finds_a_hidden_name(void **state)
{
    (void)state;
    Fixture f = open_model(two_branches);
    value_at(f.m, find(f.m, "t"))->name = STR("x"); // its own operand is meant to be the outer x
    expect(&f, VERIFY_NAMES);
}

static void finds_tables_that_disagree(void **state)
{
    (void)state;
    Fixture f = open_model(two_branches);
    value_at(f.m, find(f.m, "t"))->index = 3;
    expect(&f, VERIFY_TABLES);
    f = open_model(two_branches);
    maker(f.m, "t")->dead = true;
    expect(&f, VERIFY_TABLES);
    f = open_model(two_branches);
    maker(f.m, "t")->in[0] = 1000000;
    expect(&f, VERIFY_TABLES);
}

static bool spoil(Model *m, PassContext *c)
{
    (void)c;
    maker(m, "q")->in[0] = find(m, "t");
    return true;
}

static bool keep(Model *m, PassContext *c)
{
    (void)m;
    (void)c;
    return true;
}

static void blames_the_pass_that_broke_it(void **state)
{
    (void)state;
    const Pass good = {.name = "good", .run = keep}, bad = {.name = "bad", .run = spoil};
    Fixture f = open_model(two_branches);
    PassContext c = {.diags = &f.diags};
    assert_true(pass_run(&good, f.m, &c));
    assert_false(pass_run(&bad, f.m, &c));
    assert_string_equal(c.broken, "bad");
    arena_free(f.arena);
    f = open_model(two_branches); // as it came: nobody is blamed
    spoil(f.m, NULL);
    c = (PassContext){.diags = &f.diags};
    assert_true(pass_run(&bad, f.m, &c));
    assert_null(c.broken);
    arena_free(f.arena);
}

static void finds_kernels_of_two_dtypes(void **state)
{
    (void)state;
    Str error = STR_NONE;
    Fixture f =
        open_model("cameo.ir/1\n<ir_version: 8, opset_import: [\"\" : 17]>\n"
                   "g (float[4] x) => (float[4] y) { y = Relu (x) }\n"
                   "kernels {\n b1 input(0) f32[4] \"x\"\n b2 output(0) f32[4] \"y\"\n"
                   " inputs (b1)\n outputs (b2)\n"
                   " kernel k0 \"relu\" @1 { par i1 < 4 { b2[i1] = max(b1[i1], 0:f32) } }\n}");
    assert_true(module_verify(f.m->kernels, &error));
    buffer_at(f.m->kernels, 2)->dtype = DT_F64;
    assert_false(module_verify(f.m->kernels, &error));
    buffer_at(f.m->kernels, 2)->dtype = DT_F32;
    Stmt *loop = f.m->kernels->steps->kernel->body;
    loop->body->value = expr_index(f.m->kernels, poly_loop(f.m->kernels->polys, 1));
    assert_false(module_verify(f.m->kernels, &error));
    arena_free(f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_a_sound_model),
        cmocka_unit_test(finds_a_value_of_a_sibling),
        cmocka_unit_test(finds_a_hidden_name),
        cmocka_unit_test(finds_tables_that_disagree),
        cmocka_unit_test(blames_the_pass_that_broke_it),
        cmocka_unit_test(finds_kernels_of_two_dtypes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
