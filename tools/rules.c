// cameo rules: the table of the lint rules. cameo explain RULE: one of them.

#include "base/json.h"
#include "passes/lint/lint.h"
#include "tools/rules.h"
#include "tools/tool.h"

#include <string.h>

static const char *const severities[] = {"info", "warning", "error"};

static const ToolOption rules_options[] = {
    {"--format", "FORMAT", "text (default), json or markdown"},
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

const char *rules_page(const char *id)
{
    size_t n = strlen(id);
    for (const EmbeddedFile *f = lint_pages; f->name; f++)
        if (strncmp(f->name, id, n) == 0 && strcmp(f->name + n, ".txt") == 0)
            return f->text;
    return "";
}

// ---- the same as a page

static void put_markdown(Buf *out, const char *text, size_t len)
{
    bool code = false;
    for (size_t i = 0; i < len; i++) {
        code ^= text[i] == '`';
        if (!code && text[i] && strchr("*_<|", text[i]))
            buf_char(out, '\\');
        buf_char(out, text[i]);
    }
}

// A page's headings become bold; what is indented becomes code.
static void put_page(Buf *out, const char *text)
{
    static const char *const headings[] = {"Example:", "Frameworks say:", "Fix:", "Reference:"};
    bool code = false;
    for (const char *line = text; line && *line;) {
        size_t n = strcspn(line, "\n"), used = 0;
        bool indented = n > 2 && memcmp(line, "  ", 2) == 0;
        for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
            if (strncmp(line, headings[i], strlen(headings[i])) == 0)
                used = strlen(headings[i]);
        if (code != indented)
            buf_printf(out, "```\n");
        code = indented;
        if (used)
            buf_printf(out, "**%.*s**%s", (int)used - 1, line, n == used ? "\n" : "");
        if (indented)
            buf_put(out, line + 2, n - 2);
        else
            put_markdown(out, line + used, n - used);
        buf_char(out, '\n');
        line += n + (line[n] == '\n');
    }
    if (code)
        buf_printf(out, "```\n");
}

static void rules_markdown(void)
{
    Buf out = {0};
    buf_printf(&out, "# The lint rules\n\nWritten by `cameo rules --format markdown`. Fix: S "
                     "safe, U unsafe (`--unsafe-fixes`), - none. Rules that are off by default are "
                     "on with\n`--select ID`, the warnings among them also with their family's "
                     "name or `--profile strict`.\n\n| rule | name | severity | default | fix | "
                     "finds |\n|---|---|---|---|---|---|\n");
    for (const LintRule *r = lint_rules; r->id; r++) {
        buf_printf(&out, "| [%s](#%s) | %s | %s | %s | %s | ", r->id, r->id, r->name,
                   severities[r->severity], r->on ? "on" : "off", r->fix);
        put_markdown(&out, r->doc, strlen(r->doc));
        buf_printf(&out, " |\n");
    }
    for (const LintRule *r = lint_rules; r->id; r++) {
        buf_printf(&out, "\n<a id=\"%s\"></a>\n## %s %s\n\n", r->id, r->id, r->name);
        put_page(&out, rules_page(r->id));
    }
    fwrite(out.at, 1, out.len, stdout);
    buf_free(&out);
}

static int run_rules(const Tool *t, int argc, char **argv)
{
    const char *value, *format = "text";
    Args args = args_of(t, argc, argv);
    for (int i; (i = args_next(&args, &value)) != ARG_END;) {
        if (i == ARG_HELP)
            return EXIT_CLEAN;
        if (i == ARG_BAD)
            return EXIT_USAGE;
        if (i != 0)
            return tool_error(t, EXIT_USAGE, "cannot use %s", value);
        format = value;
    }
    if (strcmp(format, "json") == 0)
        rules_json();
    else if (strcmp(format, "markdown") == 0)
        rules_markdown();
    else if (strcmp(format, "text") != 0)
        return tool_error(t, EXIT_USAGE, "cannot use %s", format);
    else
        for (const LintRule *r = lint_rules; r->id; r++)
            printf("%s  %-8s fix %-4s %-22s %s\n", r->id, severities[r->severity], r->fix, r->name,
                   r->doc);
    return EXIT_CLEAN;
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
    const LintRule *meant = id ? lint_meant_rule(str_of(id)) : NULL;
    bool same = meant && (strcasecmp(meant->id, id) == 0 || strcmp(meant->name, id) == 0);
    for (const LintRule *r = lint_rules; same && r->id; r++) {
        if (r != meant)
            continue;
        printf("%s %s (%s, %s by default)\n\n%s.\n\n", r->id, r->name, severities[r->severity],
               r->on ? "on" : "off", r->doc);
        if (*rules_page(r->id))
            printf("%s\n", rules_page(r->id));
        printf("fix: %s\n", strcmp(r->fix, "-") == 0   ? "none"
                            : strcmp(r->fix, "S") == 0 ? "safe"
                            : strcmp(r->fix, "U") == 0
                                ? "unsafe (--unsafe-fixes)"
                                : "safe where no value loses bits, else unsafe (--unsafe-fixes)");
        return EXIT_CLEAN;
    }
    if (meant)
        return tool_error(t, EXIT_USAGE, "there is no rule %s; did you mean %s (%s)?", id,
                          meant->id, meant->name);
    return tool_error(t, EXIT_USAGE,
                      id ? "there is no rule %s (see cameo rules)" : "no rule is given%s",
                      id ? id : "");
}

static const ToolOption no_options[] = {{0}};
const Tool tool_rules = {"rules", "[--format json|markdown]", "lists the lint rules", rules_options,
                         run_rules};
const Tool tool_explain = {"explain", "RULE", "explains a lint rule", no_options, run_explain};
