// libFuzzer target: read the textual form, kernels included; what is read prints, reads back, and
// prints the same again; kernels that hold still do when they are
// fused and legal.
#include "codegen/fuse.h"
#include "codegen/printer.h"
#include "ir/kernel.h"
#include "ir/text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Model *parse(Arena *a, const char *at, size_t len)
{
    Diags diags;
    diags_init(&diags, a, STR("fuzz.cir"));
    Model *m = text_parse(a, "fuzz.cir", (Str){at, len}, &diags);
    if (!m && diags.errors == 0)
        abort(); // refused without a reason
    return m;
}

static void print(const Model *m, Buf *out)
{
    Dropped lost = {0};
    text_print(m, TEXT_CIR, true, out, &lost);
    if (m->kernels)
        module_print(m->kernels, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *a = arena_new();
    Model *m = parse(a, (const char *)data, size);
    if (m) {
        Buf first = {0}, second = {0};
        print(m, &first);
        Model *again = parse(a, first.at, first.len);
        if (again)
            print(again, &second);
        if (!again || second.len != first.len || memcmp(first.at, second.at, first.len) != 0)
            abort(); // what is printed must come back as it is
        Str error = STR_NONE;
        if (m->kernels) {
            FuseReport fused;
            fuse_module(m->kernels, &fuse_target_cpu, &fused);
            legalize_module(m->kernels, true);
            if (!module_verify(m->kernels, &error))
                abort();
        }
        buf_free(&first);
        buf_free(&second);
    }
    arena_free(a);
    return 0;
}
