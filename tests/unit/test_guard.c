// Rules that fail: the run goes on, and says which it was.
#include "passes/lint/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void aborts(Lint *l)
{
    diag(l->diags, "DT001", SEV_ERROR, STR_NONE, "found before it failed");
    raise(SIGABRT);
}

static void reads_nothing(Lint *l)
{
    (void)l;
    raise(SIGSEGV);
}

// No tail call, and more than any stack holds.
static int deeper(volatile char *above)
{
    volatile char here[4096];
    here[0] = above[0];
    return here[0] ? 0 : deeper(here) + here[0];
}

static void overflows(Lint *l)
{
    volatile char top = 0;
    (void)l;
    deeper(&top);
}

static void finds(Lint *l)
{
    diag(l->diags, "DT003", SEV_WARNING, STR_NONE, "found behind it");
}

static void names_the_rule_and_goes_on(void **state)
{
    (void)state;
    const LintRule rules[] = {
        {.id = "DT001", .name = "operand-mismatch", .run = aborts},
        {.id = "DT002", .name = "declared-vs-inferred", .run = reads_nothing},
        {.id = "DT004", .name = "branch-mismatch", .run = overflows},
        {.id = "DT003", .name = "op-dtype-unsupported", .run = finds},
    };
    Arena *a = arena_new();
    Diags diags;
    diags_init(&diags, a, STR("m.onnx"));
    Lint l = {.diags = &diags, .arena = a};
    lint_guard_rules(true);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        lint_run_rule(&rules[i], &l);
    lint_guard_rules(false);
    assert_true(diags.broken);
    assert_int_equal(diags.all.len, 5);
    assert_string_equal(diags.all.at[0]->rule, "DT001");
    assert_non_null(strstr(diags.all.at[1]->message.at, "rule DT001 (operand-mismatch) ended by"));
    assert_non_null(strstr(diags.all.at[2]->message.at, "rule DT002"));
    assert_non_null(strstr(diags.all.at[3]->message.at, "rule DT004"));
    assert_string_equal(diags.all.at[4]->rule, "DT003");
    arena_free(a);
}

static void says_nothing_of_good_rules(void **state)
{
    (void)state;
    const LintRule rule = {.id = "DT003", .name = "op-dtype-unsupported", .run = finds};
    Arena *a = arena_new();
    Diags diags;
    diags_init(&diags, a, STR("m.onnx"));
    Lint l = {.diags = &diags, .arena = a};
    lint_guard_rules(true);
    lint_run_rule(&rule, &l);
    lint_guard_rules(false);
    lint_run_rule(&rule, &l);
    assert_false(diags.broken);
    assert_int_equal(diags.all.len, 2);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_rule_and_goes_on),
        cmocka_unit_test(says_nothing_of_good_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
