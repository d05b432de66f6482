// Findings as SARIF 2.1.0 (OASIS). Every rule is declared, also without results, so that alerts
// that are mended close. An ONNX file has no lines: the place is a logical location, and the
// physical one what lint_place says.

#include "base/json.h"
#include "tools/lint.h"
#include "tools/rules.h"

#include <string.h>

static void message(Json *j, const char *key, Str text)
{
    json_key(j, key);
    json_object(j);
    json_put_str(j, "text", text);
    json_end_object(j);
}

static const char *level_of(Severity s)
{
    static const char *const levels[] = {"note", "warning", "error"};
    return levels[s];
}

static void put_rule(Json *j, const LintRule *r)
{
    json_object(j);
    json_put_str(j, "id", str_of(r->id));
    json_put_str(j, "name", str_of(r->name));
    message(j, "shortDescription", str_of(r->doc));
    message(j, "fullDescription", str_of(r->doc));
    message(j, "help", str_of(*rules_page(r->id) ? rules_page(r->id) : r->doc));
    json_key(j, "defaultConfiguration");
    json_object(j);
    json_put_str(j, "level", str_of(level_of(r->severity)));
    json_key(j, "enabled");
    json_bool(j, r->on);
    json_end_object(j);
    json_key(j, "properties");
    json_object(j);
    json_key(j, "tags");
    json_array(j);
    json_str(j, STR("onnx"));
    json_str(j, (Str){r->id, 2});
    json_end_array(j);
    json_put_str(j, "fix", str_of(r->fix));
    json_end_object(j);
    json_end_object(j);
}

// A path as a relative reference: what a URI may not hold is written as %XX.
static void put_uri(Json *j, Str path)
{
    Buf b = {0};
    if (str_starts(path, "./"))
        path = (Str){path.at + 2, path.len - 2};
    if (str_starts(path, "/"))
        buf_printf(&b, "file://");
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.at[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr("-._~/", c));
        if (plain)
            buf_char(&b, (char)c);
        else
            buf_printf(&b, "%%%02X", c);
    }
    json_put_str(j, "uri", (Str){b.at ? b.at : "", b.len});
    buf_free(&b);
}

static const char *kind_of(Str path)
{
    bool node = path.len && (path.at[path.len - 1] == ']' || memchr(path.at, ':', path.len));
    return node ? "member" : "module";
}

static void put_physical(Json *j, const LintPlace *place)
{
    json_key(j, "physicalLocation");
    json_object(j);
    json_key(j, "artifactLocation");
    json_object(j);
    put_uri(j, place->file);
    json_end_object(j);
    json_key(j, "region");
    json_object(j);
    json_put_int(j, "startLine", place->line);
    if (place->column)
        json_put_int(j, "startColumn", place->column);
    json_end_object(j);
    json_end_object(j);
}

// A path in the model, shown at a place.
static void put_location(Json *j, const LintPlace *place, Str path, bool says)
{
    json_object(j);
    put_physical(j, place);
    if (path.len && !place->column) {
        json_key(j, "logicalLocations");
        json_array(j);
        json_object(j);
        json_put_str(j, "fullyQualifiedName", path);
        json_put_str(j, "kind", str_of(kind_of(path)));
        json_end_object(j);
        json_end_array(j);
    }
    if (says)
        message(j, "message", path);
    json_end_object(j);
}

static void put_flow(Json *j, const Diag *d)
{
    json_key(j, "codeFlows");
    json_array(j);
    json_object(j);
    json_key(j, "threadFlows");
    json_array(j);
    json_object(j);
    json_key(j, "locations");
    json_array(j);
    const LintPlace model = {.file = d->file, .line = 1};
    for (uint32_t i = 0; i < d->chain.len; i++) {
        json_object(j);
        json_key(j, "location");
        put_location(j, &model, d->chain.at[i], true);
        json_end_object(j);
    }
    json_end_array(j);
    json_end_object(j);
    json_end_array(j);
    json_end_object(j);
    json_end_array(j);
}

// The repairs of the whole model that mend this finding, as what they change in the file.
static void put_fixes(Json *j, const LintResult *result, const Diag *d)
{
    static const char *const says[] = {"cameo lint --fix: all safe repairs of this model",
                                       "cameo lint --unsafe-fixes: all repairs of this model"};
    json_key(j, "fixes");
    json_array(j);
    for (int k = 0; k < 2; k++) {
        if (!result->rewrites[k].at || !lint_is_mended(result->mended[k], d))
            continue;
        json_object(j);
        message(j, "description", str_of(says[k]));
        json_key(j, "artifactChanges");
        json_array(j);
        json_object(j);
        json_key(j, "artifactLocation");
        json_object(j);
        put_uri(j, d->file);
        json_end_object(j);
        json_key(j, "replacements");
        buf_str(j->out, result->rewrites[k]);
        json_end_object(j);
        json_end_array(j);
        json_end_object(j);
    }
    json_end_array(j);
}

// What the finding says, as text; the single fixes too, with what each costs.
static void put_message(Json *j, const Diag *d)
{
    Buf b = {0};
    buf_str(&b, d->message);
    for (uint32_t i = 0; i < d->notes.len; i++)
        buf_printf(&b, "\n%.*s", STR_ARG(d->notes.at[i]));
    for (uint32_t i = 0; i < d->fixes.len; i++)
        buf_printf(&b, "\nhelp: [%s] %.*s", d->fixes.at[i].safe ? "safe" : "unsafe",
                   STR_ARG(d->fixes.at[i].text));
    message(j, "message", (Str){b.at, b.len});
    buf_free(&b);
}

static void put_properties(Json *j, const Diag *d)
{
    json_key(j, "properties");
    json_object(j);
    if (d->origin_kind.len) {
        json_put_str(j, "originKind", d->origin_kind);
        json_put_str(j, "originName", d->origin_name);
    }
    json_key(j, "fixes");
    json_array(j);
    for (uint32_t i = 0; i < d->fixes.len; i++) {
        json_object(j);
        json_put_str(j, "safety", d->fixes.at[i].safe ? STR("safe") : STR("unsafe"));
        json_put_str(j, "text", d->fixes.at[i].text);
        json_put_int(j, "casts", d->fixes.at[i].casts);
        json_put_int(j, "transfers", d->fixes.at[i].transfers);
        json_end_object(j);
    }
    json_end_array(j);
    json_end_object(j);
}

static void put_result(Json *j, Arena *a, const LintResult *result, const Diag *d)
{
    const LintPlace place = lint_place(a, d);
    char print[24];
    uint32_t index = lint_rule_index(d->rule);
    snprintf(print, sizeof print, "%016llx", (unsigned long long)lint_fingerprint(d));
    json_object(j);
    json_put_str(j, "ruleId", str_of(d->rule));
    if (lint_rules[index].id)
        json_put_int(j, "ruleIndex", index);
    json_put_str(j, "level", str_of(level_of(d->severity)));
    put_message(j, d);
    json_key(j, "locations");
    json_array(j);
    put_location(j, &place, d->path, false);
    json_end_array(j);
    if (place.in_program) {
        const LintPlace model = {.file = d->file, .line = 1};
        json_key(j, "relatedLocations");
        json_array(j);
        put_location(j, &model, d->path, false);
        json_end_array(j);
    }
    if (d->chain.len)
        put_flow(j, d);
    if (result->rewrites[0].at || result->rewrites[1].at)
        put_fixes(j, result, d);
    json_key(j, "partialFingerprints");
    json_object(j);
    json_put_str(j, "cameo/v1", str_of(print));
    json_put_str(j, "primaryLocationLineHash", str_of(print));
    json_end_object(j);
    put_properties(j, d);
    json_end_object(j);
}

// Findings of no rule are the tool's own: a file that cannot be read, a bug.
static void put_invocation(Json *j, const LintRun *r)
{
    json_key(j, "invocations");
    json_array(j);
    json_object(j);
    json_key(j, "executionSuccessful");
    json_bool(j, r->status <= EXIT_FINDINGS);
    json_put_int(j, "exitCode", r->status);
    json_key(j, "toolExecutionNotifications");
    json_array(j);
    for (uint32_t f = 0; f < r->results.len; f++)
        for (uint32_t i = 0; i < r->results.at[f].found.len; i++) {
            const Diag *d = r->results.at[f].found.at[i];
            if (d->rule[0])
                continue;
            json_object(j);
            json_put_str(j, "level", str_of(level_of(d->severity)));
            message(j, "message", d->message);
            json_key(j, "locations");
            json_array(j);
            const LintPlace model = {.file = d->file, .line = 1};
            put_location(j, &model, d->path, false);
            json_end_array(j);
            json_end_object(j);
        }
    json_end_array(j);
    json_end_object(j);
    json_end_array(j);
}

static void put_driver(Json *j)
{
    json_key(j, "tool");
    json_object(j);
    json_key(j, "driver");
    json_object(j);
    json_put_str(j, "name", STR("cameo"));
    json_put_str(j, "version", STR(CAMEO_VERSION));
    json_put_str(j, "semanticVersion", STR(CAMEO_VERSION));
    json_key(j, "rules");
    json_array(j);
    for (const LintRule *rule = lint_rules; rule->id; rule++)
        put_rule(j, rule);
    json_end_array(j);
    json_end_object(j);
    json_end_object(j);
}

void lint_print_sarif(const LintRun *r)
{
    Buf out = {0};
    Json j = {.out = &out};
    json_object(&j);
    json_put_str(&j, "$schema",
                 STR("https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                     "sarif-schema-2.1.0.json"));
    json_put_str(&j, "version", STR("2.1.0"));
    json_key(&j, "runs");
    json_array(&j);
    json_object(&j);
    put_driver(&j);
    put_invocation(&j, r);
    json_key(&j, "results");
    json_array(&j);
    for (uint32_t f = 0; f < r->results.len; f++)
        for (uint32_t i = 0; i < r->results.at[f].found.len; i++)
            if (r->results.at[f].found.at[i]->rule[0])
                put_result(&j, r->arena, &r->results.at[f], r->results.at[f].found.at[i]);
    json_end_array(&j);
    json_end_object(&j);
    json_end_array(&j);
    json_end_object(&j);
    buf_char(&out, '\n');
    fwrite(out.at, 1, out.len, stdout);
    buf_free(&out);
}
