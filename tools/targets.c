// cameo targets: what runs models, as lint and placement know it.

#include "base/json.h"
#include "passes/target.h"
#include "tools/tool.h"

#include <string.h>

static const ToolOption options[] = {
    {"--format", "FORMAT", "text (default) or json"},
    {0},
};

static const char *accumulator(DType t)
{
    return t == DT_NONE ? "-" : dtype_info(t)->abbrev;
}

static void print_text(void)
{
    for (uint32_t i = 0; target_at(i); i++) {
        const Target *t = target_at(i);
        printf("%-24s %-7s f16 sums in %s, bf16 in %s%s; %s\n", t->name, t->device,
               accumulator(t->acc_f16), accumulator(t->acc_bf16),
               t->strongly_typed ? "; strongly typed" : "", t->doc);
    }
}

static void put(Json *j, const char *key, const char *value)
{
    json_key(j, key);
    json_str(j, str_of(value));
}

static void print_json(void)
{
    Buf out = {0};
    Json j = {.out = &out};
    json_object(&j);
    put(&j, "schema", "cameo.targets/1");
    json_key(&j, "targets");
    json_array(&j);
    for (uint32_t i = 0; target_at(i); i++) {
        const Target *t = target_at(i);
        json_object(&j);
        put(&j, "name", t->name);
        put(&j, "device", t->device);
        put(&j, "doc", t->doc);
        json_key(&j, "strongly_typed");
        json_bool(&j, t->strongly_typed);
        json_key(&j, "accumulators");
        json_object(&j);
        put(&j, "float16", dtype_name(t->acc_f16));
        put(&j, "bfloat16", dtype_name(t->acc_bf16));
        put(&j, "float32", dtype_name(t->acc_f32));
        json_end_object(&j);
        json_key(&j, "dtypes");
        json_array(&j);
        for (int k = 1; k < DT_COUNT; k++)
            if (t->types >> k & 1)
                json_str(&j, str_of(dtype_name((DType)k)));
        json_end_array(&j);
        json_end_object(&j);
    }
    json_end_array(&j);
    json_end_object(&j);
    printf("%s\n", out.at);
    buf_free(&out);
}

static int run(const Tool *t, int argc, char **argv)
{
    return tool_list(t, argc, argv, print_text, print_json);
}

const Tool tool_targets = {"targets", "[--format json]",
                           "lists what models can be placed and checked for", options, run};
