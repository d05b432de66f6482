// Findings as JSON: "cameo.lint/1".

#include "tools/lint.h"
#include "tools/report.h"

#include <string.h>

uint64_t lint_fingerprint(const Diag *d)
{
    const bool marked = d->mark_path.at != NULL;
    const Str path = marked ? d->mark_path : d->path, op = marked ? d->mark_op : d->op;
    const Str value = marked ? d->mark_value : d->value;
    uint64_t h = hash_bytes(d->rule, strlen(d->rule), 1);
    h = hash_bytes(op.at, op.len, h);
    for (size_t i = 0; i < path.len; i++) {
        bool index = path.at[i] == '#' && i && path.at[i - 1] == '[';
        h = hash_bytes(&path.at[i], 1, h);
        while (index && i + 1 < path.len && path.at[i + 1] >= '0' && path.at[i + 1] <= '9')
            i++;
    }
    return hash_bytes(value.at, value.len, h);
}

static void json_field(Json *j, const char *key, Str value)
{
    json_key(j, key);
    json_str(j, value);
}

static void json_strings(Json *j, const char *key, const Str *at, uint32_t n)
{
    json_key(j, key);
    json_array(j);
    for (uint32_t i = 0; i < n; i++)
        json_str(j, at[i]);
    json_end_array(j);
}

static void json_notes(Json *j, const Diag *d)
{
    json_key(j, "notes");
    json_array(j);
    if (d->source.len)
        json_str(j, d->source);
    for (uint32_t i = 0; i < d->notes.len; i++)
        json_str(j, d->notes.at[i]);
    for (uint32_t i = 0; i < d->fixes.len; i++)
        if (d->fixes.at[i].note.len)
            json_str(j, d->fixes.at[i].note);
    for (uint32_t i = 0; i < d->helps.len; i++)
        json_str(j, d->helps.at[i]);
    json_end_array(j);
}

void json_finding(Json *j, const Diag *d)
{
    static const char *const severities[] = {"info", "warning", "error"};
    char print[24];
    json_object(j);
    json_field(j, "rule", str_of(d->rule));
    json_field(j, "severity", str_of(severities[d->severity]));
    json_field(j, "message", d->message);
    json_field(j, "file", d->file);
    json_field(j, "path", d->path);
    json_field(j, "node", d->node);
    json_field(j, "op", d->op);
    json_field(j, "value", d->value);
    if (d->origin_kind.len) {
        json_key(j, "origin");
        json_object(j);
        json_field(j, "kind", d->origin_kind);
        json_field(j, "name", d->origin_name);
        json_end_object(j);
    }
    json_strings(j, "chain", d->chain.at, d->chain.len);
    json_notes(j, d);
    json_key(j, "fixes");
    json_array(j);
    for (uint32_t i = 0; i < d->fixes.len; i++) {
        json_object(j);
        json_field(j, "safety", d->fixes.at[i].safe ? STR("safe") : STR("unsafe"));
        json_field(j, "text", d->fixes.at[i].text);
        json_key(j, "casts");
        json_int(j, d->fixes.at[i].casts);
        json_key(j, "transfers");
        json_int(j, d->fixes.at[i].transfers);
        json_end_object(j);
    }
    json_end_array(j);
    snprintf(print, sizeof print, "%016llx", (unsigned long long)lint_fingerprint(d));
    json_field(j, "fingerprint", str_of(print));
    json_end_object(j);
}

static void print_idle(Json *j, const LintRun *r)
{
    for (int k = 0; k < 2; k++) {
        json_key(j, k ? "idle_entries" : "idle_allows");
        json_array(j);
        for (uint32_t i = 0; i < r->idle.len; i++) {
            const LintEntry *e = &r->idle.at[i];
            if (str_is(e->key, "allow") == k)
                continue;
            json_object(j);
            json_field(j, "place", e->place);
            json_field(j, k ? "key" : "rule", k ? e->key : e->rule);
            json_field(j, k ? "name" : "at", e->at);
            if (k)
                json_field(j, "nearest", e->near);
            json_end_object(j);
        }
        json_end_array(j);
    }
}

void lint_print_json(const LintRun *r)
{
    Buf out = {0};
    Json j = {.out = &out};
    json_object(&j);
    json_field(&j, "schema", STR("cameo.lint/1"));
    for (int k = 0; k < 2; k++) {
        json_key(&j, k ? "fixed" : "findings");
        json_array(&j);
        for (uint32_t f = 0; f < r->results.len; f++) {
            const Findings *list = k ? &r->results.at[f].fixed : &r->results.at[f].found;
            for (uint32_t i = 0; i < list->len; i++)
                json_finding(&j, list->at[i]);
        }
        json_end_array(&j);
    }
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {{"error", r->counts[SEV_ERROR]},
                  {"warning", r->counts[SEV_WARNING]},
                  {"info", r->counts[SEV_INFO]},
                  {"casts_inserted", r->repair.casts},
                  {"transfers_inserted", r->repair.transfers},
                  {"lower_bound", r->repair.lower_bound}};
    json_key(&j, "summary");
    json_object(&j);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        json_key(&j, counts[i].key);
        json_int(&j, counts[i].value);
    }
    json_key(&j, "proved_minimal");
    json_bool(&j, r->repair.casts + r->repair.transfers == r->repair.lower_bound);
    json_key(&j, "suppressed");
    json_int(&j, r->suppressed);
    json_key(&j, "files");
    json_int(&j, r->results.len);
    print_idle(&j, r);
    json_end_object(&j);
    json_end_object(&j);
    buf_char(&out, '\n');
    fwrite(out.at, 1, out.len, stdout);
    buf_free(&out);
}
