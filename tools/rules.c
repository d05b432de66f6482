// cameo rules: the table of the lint rules. cameo explain RULE: one of them.

#include "base/json.h"
#include "passes/lint/lint.h"
#include "tools/tool.h"

#include <string.h>

static const char *const severities[] = {"info", "warning", "error"};

static const ToolOption rules_options[] = {
    {"--format", "FORMAT", "text (default) or json"},
    {0},
};

static void rules_json(void)
{
    Buf out = {0};
    Json j = {.out = &out};
    json_object(&j);
    json_key(&j, "schema");
    json_str(&j, STR("cameo.rules/1"));
    json_key(&j, "rules");
    json_array(&j);
    for (const LintRule *r = lint_rules; r->id; r++) {
        const char *const fields[][2] = {{"id", r->id},
                                         {"name", r->name},
                                         {"severity", severities[r->severity]},
                                         {"fix", r->fix},
                                         {"doc", r->doc}};
        json_object(&j);
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            json_key(&j, fields[i][0]);
            json_str(&j, str_of(fields[i][1]));
        }
        json_key(&j, "default");
        json_bool(&j, r->on);
        json_end_object(&j);
    }
    json_end_array(&j);
    json_end_object(&j);
    printf("%s\n", out.at);
    buf_free(&out);
}

static int run_rules(const Tool *t, int argc, char **argv)
{
    const char *value;
    bool json = false;
    Args args = args_of(t, argc, argv);
    for (int i; (i = args_next(&args, &value)) != ARG_END;) {
        if (i == ARG_HELP)
            return EXIT_CLEAN;
        if (i != 0 || (strcmp(value, "json") != 0 && strcmp(value, "text") != 0))
            return i == ARG_BAD ? EXIT_USAGE : tool_error(t, EXIT_USAGE, "cannot use %s", value);
        json = strcmp(value, "json") == 0;
    }
    if (json) {
        rules_json();
        return EXIT_CLEAN;
    }
    for (const LintRule *r = lint_rules; r->id; r++)
        printf("%s  %-8s fix %-4s %-22s %s\n", r->id, severities[r->severity], r->fix, r->name,
               r->doc);
    return EXIT_CLEAN;
}

static const char *explanation_of(const char *id)
{
    size_t n = strlen(id);
    for (const EmbeddedFile *f = lint_pages; f->name; f++)
        if (strncmp(f->name, id, n) == 0 && strcmp(f->name + n, ".txt") == 0)
            return f->text;
    return NULL;
}

static int run_explain(const Tool *t, int argc, char **argv)
{
    const char *value = NULL, *id = NULL;
    Args args = args_of(t, argc, argv);
    for (int i; (i = args_next(&args, &value)) != ARG_END;) {
        if (i == ARG_HELP)
            return EXIT_CLEAN;
        if (i == ARG_BAD)
            return EXIT_USAGE;
        id = value;
    }
    for (const LintRule *r = lint_rules; id && r->id; r++) {
        if (strcmp(r->id, id) != 0)
            continue;
        printf("%s %s (%s, %s by default)\n\n%s.\n\n", r->id, r->name, severities[r->severity],
               r->on ? "on" : "off", r->doc);
        if (explanation_of(r->id))
            printf("%s\n", explanation_of(r->id));
        printf("fix: %s\n", strcmp(r->fix, "-") == 0   ? "none"
                            : strcmp(r->fix, "S") == 0 ? "safe"
                            : strcmp(r->fix, "U") == 0
                                ? "unsafe (--unsafe-fixes)"
                                : "safe where no value loses bits, else unsafe (--unsafe-fixes)");
        return EXIT_CLEAN;
    }
    return tool_error(t, EXIT_USAGE, id ? "there is no rule %s" : "no rule is given%s",
                      id ? id : "");
}

static const ToolOption no_options[] = {{0}};
const Tool tool_rules = {"rules", "[--format json]", "lists the lint rules", rules_options,
                         run_rules};
const Tool tool_explain = {"explain", "RULE", "explains a lint rule", no_options, run_explain};
