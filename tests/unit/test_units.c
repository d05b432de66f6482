// What a unit's text is without what nothing in it needs.

#include "codegen/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void expect(const char *text, const char *pruned)
{
    Buf out = {0};
    unit_prune(&out, str_of(text));
    buf_put(&out, "", 1);
    assert_string_equal(out.at, pruned);
    buf_free(&out);
}

#define USER "void model(void)\n{\n    cameo_a(1);\n}\n"

// What is named by what is named stays, in its place; comments name nothing.
static void test_named(void **state)
{
    (void)state;
    expect("static inline int cameo_b(int x)\n{\n    return x; /* cameo_c */\n}\n"
           "static inline int cameo_c(int x)\n{\n    return cameo_b(x);\n}\n"
           "static inline int cameo_a(int x)\n{\n    return cameo_b(x);\n}\n" USER,
           "static inline int cameo_b(int x)\n{\n    return x; /* cameo_c */\n}\n"
           "static inline int cameo_a(int x)\n{\n    return cameo_b(x);\n}\n" USER);
    expect(
        "static __attribute__((unused)) const int cameo_t[] = {\n    1,\n};\n"
        "static __attribute__((noinline, unused)) int cameo_a(int x)\n{\n    return x;\n}\n" USER,
        "static __attribute__((noinline, unused)) int cameo_a(int x)\n{\n    return x;\n}\n" USER);
}

// Macros and names of types of several lines and choices go as a whole.
static void test_macros(void **state)
{
    (void)state;
    expect("#define CAMEO_ONE(x) \\\n    cameo_b(x)\n#if Z\n#define CAMEO_TWO 1\n#else\n"
           "#define CAMEO_TWO 2\n#endif\ntypedef __m256i cameo_v;\ntypedef int cameo_w;\n"
           "static inline int cameo_b(int x)\n{\n    return x;\n}\n"
           "static inline cameo_w cameo_a(int x)\n{\n    return CAMEO_TWO;\n}\n" USER,
           "#if Z\n#define CAMEO_TWO 1\n#else\n#define CAMEO_TWO 2\n#endif\ntypedef int cameo_w;\n"
           "static inline cameo_w cameo_a(int x)\n{\n    return CAMEO_TWO;\n}\n" USER);
    expect("#define CAMEO_HAS 1\n#if CAMEO_HAS\n#define FOREIGN 1\n#endif\n",
           "#define CAMEO_HAS 1\n#if CAMEO_HAS\n#define FOREIGN 1\n#endif\n");
}

// What a macro pastes together is named by the parts that it says itself.
static void test_pasted(void **state)
{
    (void)state;
    expect("#define CAMEO_ENDS_few 4\n#define CAMEO_END_few 3\n#define CAMEO_OF(name) "
           "CAMEO_ENDS_##name\n"
           "static inline int few_of(int x)\n{\n    return x;\n}\n"
           "static inline int few_at(int x)\n{\n    return x;\n}\n"
           "#define CAMEO_CALL(name) name##_of(CAMEO_OF(name))\n"
           "void model(void)\n{\n    CAMEO_CALL(few);\n}\n",
           "#define CAMEO_ENDS_few 4\n#define CAMEO_OF(name) CAMEO_ENDS_##name\n"
           "static inline int few_of(int x)\n{\n    return x;\n}\n"
           "#define CAMEO_CALL(name) name##_of(CAMEO_OF(name))\n"
           "void model(void)\n{\n    CAMEO_CALL(few);\n}\n");
}

// A head that is a choice, or begins with a declaration, is no whole function.
static void test_whole(void **state)
{
    (void)state;
    const char *choice = "#if Z\nstatic inline int cameo_b(int x)\n#else\n"
                         "static inline int cameo_b(long x)\n#endif\n{\n    return 1;\n}\n";
    const char *declared = "static inline int cameo_b(int x);\nvoid model(void)\n{\n}\n";
    expect(choice, choice);
    expect(declared, declared);
}

// The header of instructions goes with the last of them.
static void test_instructions(void **state)
{
    (void)state;
    expect("#include <immintrin.h>\n"
           "static inline int cameo_b(int x)\n{\n    return _mm_popcnt_u32(x);\n}\n"
           "static inline int cameo_a(int x)\n{\n    return x;\n}\n" USER,
           "static inline int cameo_a(int x)\n{\n    return x;\n}\n" USER);
    const char *used =
        "#include <immintrin.h>\n"
        "static inline int cameo_a(int x)\n{\n    return _mm_popcnt_u32(x);\n}\n" USER;
    expect(used, used);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_named), cmocka_unit_test(test_macros),
                                       cmocka_unit_test(test_whole), cmocka_unit_test(test_pasted),
                                       cmocka_unit_test(test_instructions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
