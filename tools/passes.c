// cameo passes: the table of the graph passes, as the compiler reads it.

#include "base/json.h"
#include "codegen/kernel_pass.h"
#include "tools/tool.h"

static const ToolOption options[] = {
    {"--format", "FORMAT", "text (default) or json"},
    {0},
};

static void put_facts(Buf *b, const char *word, uint32_t facts)
{
    for (uint32_t k = 0, n = 0; k < FACT_COUNT; k++)
        if (facts >> k & 1)
            buf_printf(b, "%s%s", n++ ? ", " : word, fact_names[k]);
}

static void put_table(Buf *out, const Pass *table)
{
    for (const Pass *p = table; p->name; p++) {
        buf_printf(out, "%-18s %s", p->name, p->doc);
        put_facts(out, "; needs ", p->needs);
        put_facts(out, "; gives ", p->gives);
        buf_char(out, '\n');
    }
}

static void print_text(void)
{
    Buf out = {0};
    put_table(&out, passes);
    put_table(&out, kernel_passes);
    fwrite(out.at, 1, out.len, stdout);
    buf_free(&out);
}

static void json_facts(Json *j, const char *key, uint32_t facts)
{
    json_key(j, key);
    json_array(j);
    for (uint32_t k = 0; k < FACT_COUNT; k++)
        if (facts >> k & 1)
            json_str(j, str_of(fact_names[k]));
    json_end_array(j);
}

static void json_table(Json *j, const Pass *table)
{
    for (const Pass *p = table; p->name; p++) {
        json_object(j);
        json_key(j, "name");
        json_str(j, str_of(p->name));
        json_key(j, "doc");
        json_str(j, str_of(p->doc));
        json_facts(j, "needs", p->needs);
        json_facts(j, "gives", p->gives);
        json_end_object(j);
    }
}

static void print_json(void)
{
    Buf out = {0};
    Json j = {.out = &out};
    json_object(&j);
    json_key(&j, "schema");
    json_str(&j, STR("cameo.passes/1"));
    json_key(&j, "passes");
    json_array(&j);
    json_table(&j, passes);
    json_table(&j, kernel_passes);
    json_end_array(&j);
    json_end_object(&j);
    printf("%s\n", out.at);
    buf_free(&out);
}

static int run(const Tool *t, int argc, char **argv)
{
    return tool_list(t, argc, argv, print_text, print_json);
}

const Tool tool_passes = {"passes", "[--format json]", "lists the passes of the compiler", options,
                          run};
