// Quick fixes: the repair of a finding, and of all that can be mended safely, as edits of the text.

#include "tools/lsp.h"

#include <string.h>

// Do two ranges touch? Lines and characters compare as pairs.
static bool before(const json_t *a, const json_t *b)
{
    json_int_t la = json_integer_value(json_object_get(a, "line"));
    json_int_t lb = json_integer_value(json_object_get(b, "line"));
    return la != lb ? la < lb
                    : json_integer_value(json_object_get(a, "character")) <
                          json_integer_value(json_object_get(b, "character"));
}

static bool touch(const json_t *a, const json_t *b)
{
    return !before(json_object_get(a, "end"), json_object_get(b, "start")) &&
           !before(json_object_get(b, "end"), json_object_get(a, "start"));
}

// Is the range at the finding, or where it begins?
static bool is_meant(const json_t *finding, const json_t *range)
{
    size_t i;
    json_t *r;
    bool meant = touch(json_object_get(finding, "range"), range);
    json_array_foreach(json_object_get(finding, "relatedInformation"), i, r) meant |=
        touch(json_object_get(json_object_get(r, "location"), "range"), range);
    return meant;
}

static bool is_asked_for(const json_t *params, const char *kind)
{
    const json_t *only = json_object_get(json_object_get(params, "context"), "only");
    size_t i;
    json_t *k;
    bool any = !json_is_array(only);
    json_array_foreach(only, i, k)
    {
        const char *word = json_string_value(k);
        size_t n = word ? strlen(word) : 0;
        any |= word && strncmp(kind, word, n) == 0 && (!kind[n] || kind[n] == '.' || !n);
    }
    return any;
}

// The edits of a repair; NULL: nothing is repaired.
static json_t *repair(LspServer *s, LspDocument *d, const char *only, bool unsafe)
{
    LintRun r = s->lint;
    Buf text = {0}, repaired = {0};
    r.arena = arena_new();
    r.buffer = lsp_text(d);
    r.only = only;
    r.select = only ? only : r.select;
    r.unsafe = unsafe;
    json_t *edits = NULL;
    if (lint_repaired(&r, d->path, &text, &repaired))
        edits = lsp_edits(s, d, (Str){text.at, text.len}, (Str){repaired.at, repaired.len});
    buf_free(&text);
    buf_free(&repaired);
    arena_free(r.arena);
    if (edits && !json_array_size(edits)) {
        json_decref(edits);
        edits = NULL;
    }
    return edits;
}

static void add_action(json_t *actions, const LspDocument *d, json_t *title, const char *kind,
                       json_t *edits, json_t *diagnostic, bool preferred)
{
    json_t *a = json_pack("{s:o, s:s, s:{s:{s:o}}}", "title", title, "kind", kind, "edit",
                          "changes", d->uri, edits);
    if (diagnostic)
        json_object_set_new(a, "diagnostics", json_pack("[O]", diagnostic));
    if (preferred)
        json_object_set_new(a, "isPreferred", json_true());
    json_array_append_new(actions, a);
}

// What one repair of the rule mends besides the finding.
static size_t others_of(const json_t *findings, const char *rule)
{
    size_t i, n = 0;
    json_t *f;
    json_array_foreach(findings, i, f) n +=
        strcmp(json_string_value(json_object_get(json_object_get(f, "data"), "rule")), rule) == 0 &&
        json_array_size(json_object_get(json_object_get(f, "data"), "fixes"));
    return n ? n - 1 : 0;
}

static void add_fixes(LspServer *s, LspDocument *d, const json_t *findings, json_t *finding,
                      json_t *actions)
{
    const json_t *data = json_object_get(finding, "data");
    const json_t *fixes = json_object_get(data, "fixes");
    const char *rule = json_string_value(json_object_get(data, "rule"));
    bool done[2] = {false, false};
    size_t i;
    json_t *fix;
    json_array_foreach(fixes, i, fix)
    {
        const bool safe = json_is_true(json_object_get(fix, "safe"));
        json_t *edits = done[safe] ? NULL : repair(s, d, rule, !safe);
        const size_t others = others_of(findings, rule);
        char more[64] = "";
        done[safe] = true;
        if (!edits)
            continue;
        if (others)
            snprintf(more, sizeof more, " (and %zu more of %s)", others, rule);
        add_action(actions, d,
                   json_sprintf("%s: %s%s%s", rule, json_string_value(json_object_get(fix, "text")),
                                safe ? "" : " [unsafe]", more),
                   "quickfix", edits, finding, safe);
    }
}

json_t *lsp_actions(LspServer *s, LspDocument *d, const json_t *params)
{
    json_t *actions = json_array(), *finding;
    const json_t *range = json_object_get(params, "range");
    size_t i;
    if (d->form != LSP_TEXT)
        return actions;
    json_t *findings = lsp_lint(s, d, NULL);
    json_array_foreach(findings, i, finding)
    {
        const char *code = json_string_value(json_object_get(finding, "code"));
        if (code && is_asked_for(params, "quickfix") && is_meant(finding, range))
            add_fixes(s, d, findings, finding, actions);
    }
    json_t *all = is_asked_for(params, "source.fixAll") ? repair(s, d, NULL, false) : NULL;
    if (all)
        add_action(actions, d, json_string("cameo: apply all safe repairs"), "source.fixAll", all,
                   NULL, false);
    return actions;
}
