// Kernels as C, where no operator's lowering makes them.
#include "codegen/printer.h"
#include "ir/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char lengths[] =
    "cameo.ir/1\n<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[4,8] x, int64[4] n) => (float[4] y) { y = ReduceSum <keepdims: int = 0> (x, n) }\n"
    "kernels {\n"
    "  b1 input(0) f32[4,8] \"x\"\n"
    "  b2 input(1) i64[4] \"n\"\n"
    "  b3 output(0) f32[4] \"y\"\n"
    "  inputs (b1, b2)\n"
    "  outputs (b3)\n"
    "  kernel k0 \"sum\" @1 {\n"
    "    par i1 < 4 {\n"
    "      let v1 = b2[i1]\n"
    "      let v2 = b2[i1]\n"
    "      b3[i1] = (reduce add i2 < [v1] : b1[i1,i2])\n"
    "    }\n"
    "  }\n"
    "}\n";

// A let that only the extent of a reduction reads is declared; one that nothing reads is not.
static void extents_read_lets(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Diags diags;
    Buf out = {0};
    diags_init(&diags, a, STR("m.cir"));
    Model *m = text_parse(a, "m.cir", str_of(lengths), &diags);
    assert_non_null(m);
    assert_non_null(m->kernels);
    Printer *p = printer_new(m->kernels, &dialect_c, a, &out, "m");
    printer_kernel(p, m->kernels->steps->kernel);
    buf_put(&out, "", 1);
    const char *declared = strstr(out.at, "v1"),
               *used = declared ? strstr(declared + 2, "v1") : NULL;
    assert_non_null(strstr(out.at, "const int64_t v1 = "));
    assert_non_null(used);
    assert_ptr_equal(declared, strstr(out.at, "const int64_t v1 = ") + strlen("const int64_t "));
    assert_null(strstr(out.at, "v2"));
    buf_free(&out);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(extents_read_lets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
