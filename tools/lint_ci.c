// Findings as CI systems read them: JUnit's XML, GitHub's annotations, GitLab's code quality.

#include "base/json.h"
#include "tools/lint.h"

#include <string.h>

static const char *rule_name(const Diag *d)
{
    return lint_rules[lint_rule_index(d->rule)].name;
}

static Str plain_path(Str file)
{
    return str_starts(file, "./") ? (Str){file.at + 2, file.len - 2} : file;
}

static void flush(Buf *out)
{
    fwrite(out->at ? out->at : "", 1, out->len, stdout);
    buf_free(out);
}

// ---- JUnit: a suite a model, a failed case a finding

// Text is UTF-8 already (str_escaped); a file's name may not be, and XML takes few controls.
static void put_xml(Buf *b, Str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        uint32_t cp;
        size_t n = utf8_decode(s.at + i, s.len - i, &cp);
        if (c == '&' || c == '<' || c == '>' || c == '"')
            buf_printf(b, "&#%d;", c);
        else if (c == '\n')
            buf_char(b, '\n');
        else if (c < 0x20 || c == 0x7f || n == 0 || cp == 0xfffe || cp == 0xffff)
            buf_char(b, '?');
        else
            buf_put(b, s.at + i, n);
        i += n ? n - 1 : 0;
    }
}

static void put_case(Buf *b, const Diag *d)
{
    Buf text = {0};
    diag_print(d, &text, false, 0);
    buf_printf(b, "    <testcase classname=\"");
    put_xml(b, plain_path(d->file));
    buf_printf(b, "\" name=\"");
    put_xml(b, str_of(d->rule[0] ? d->rule : "cameo"));
    if (d->path.len)
        buf_char(b, ' ');
    put_xml(b, d->path);
    buf_printf(b, "\">\n      <%s type=\"%s\" message=\"", d->fails ? "failure" : "skipped",
               d->severity == SEV_ERROR ? "error" : "warning");
    put_xml(b, d->message);
    buf_printf(b, "\">");
    put_xml(b, (Str){text.at, text.len});
    buf_printf(b, "</%s>\n    </testcase>\n", d->fails ? "failure" : "skipped");
    buf_free(&text);
}

void lint_print_junit(const LintRun *r)
{
    Buf b = {0};
    uint32_t cases = 0, failures = 0;
    for (uint32_t f = 0; f < r->results.len; f++) {
        const Findings *found = &r->results.at[f].found;
        cases += found->len ? found->len : 1;
        for (uint32_t i = 0; i < found->len; i++)
            failures += found->at[i]->fails;
    }
    buf_printf(&b,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"cameo lint\" "
               "tests=\"%u\" failures=\"%u\">\n",
               cases, failures);
    for (uint32_t f = 0; f < r->results.len; f++) {
        const Findings *found = &r->results.at[f].found;
        uint32_t failed = 0;
        for (uint32_t i = 0; i < found->len; i++)
            failed += found->at[i]->fails;
        Str path = plain_path(str_of(r->results.at[f].path));
        buf_printf(&b, "  <testsuite name=\"");
        put_xml(&b, path);
        buf_printf(&b, "\" tests=\"%u\" failures=\"%u\">\n", found->len ? found->len : 1, failed);
        if (found->len == 0) {
            buf_printf(&b, "    <testcase classname=\"");
            put_xml(&b, path);
            buf_printf(&b, "\" name=\"no findings\"/>\n");
        }
        for (uint32_t i = 0; i < found->len; i++)
            put_case(&b, found->at[i]);
        buf_printf(&b, "  </testsuite>\n");
    }
    buf_printf(&b, "</testsuites>\n");
    flush(&b);
}

// ---- GitHub: workflow commands

static void put_command(Buf *b, Str s, bool property)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ',')))
            buf_printf(b, "%%%02X", c);
        else
            buf_char(b, c);
    }
}

void lint_print_github(const LintRun *r)
{
    static const char *const commands[] = {"notice", "warning", "error"};
    Buf b = {0};
    for (uint32_t f = 0; f < r->results.len; f++)
        for (uint32_t i = 0; i < r->results.at[f].found.len; i++) {
            const Diag *d = r->results.at[f].found.at[i];
            const LintPlace place = lint_place(r->arena, d);
            buf_printf(&b, "::%s file=", commands[d->severity]);
            put_command(&b, plain_path(place.file), true);
            buf_printf(&b, ",line=%u", place.line);
            if (place.column)
                buf_printf(&b, ",col=%u", place.column);
            buf_printf(&b, ",title=");
            put_command(&b, str_of(d->rule[0] ? d->rule : "cameo"), true);
            if (rule_name(d))
                buf_printf(&b, " %s", rule_name(d));
            buf_printf(&b, "::");
            put_command(&b, d->message, false);
            if (d->path.len || place.in_program)
                buf_printf(&b, "%%0Aat ");
            if (place.in_program) {
                put_command(&b, plain_path(d->file), false);
                buf_char(&b, ':');
            }
            put_command(&b, d->path, false);
            for (uint32_t k = 0; k < d->notes.len; k++) {
                buf_printf(&b, "%%0A");
                put_command(&b, d->notes.at[k], false);
            }
            for (uint32_t k = 0; k < d->fixes.len; k++) {
                buf_printf(&b, "%%0Ahelp: [%s] ", d->fixes.at[k].safe ? "safe" : "unsafe");
                put_command(&b, d->fixes.at[k].text, false);
            }
            buf_char(&b, '\n');
        }
    flush(&b);
}

// ---- GitLab: a code quality report

// Fingerprints are unique in a report: the file counts, and how often it came before.
static Str unique_print(Arena *a, Map *seen, const Diag *d)
{
    Str file = plain_path(d->file);
    uint64_t h = hash_bytes(file.at, file.len, lint_fingerprint(d));
    Str key = str_printf(a, "%016llx", (unsigned long long)h);
    uint32_t *count = map_put(seen, key, NULL);
    ++*count;
    return *count == 1 ? key : str_printf(a, "%.*s-%u", STR_ARG(key), *count);
}

void lint_print_gitlab(const LintRun *r)
{
    static const char *const severities[] = {"info", "minor", "major"};
    Buf b = {0};
    Json j = {.out = &b};
    Arena *a = arena_new();
    Map seen = {.arena = a};
    json_array(&j);
    for (uint32_t f = 0; f < r->results.len; f++)
        for (uint32_t i = 0; i < r->results.at[f].found.len; i++) {
            const Diag *d = r->results.at[f].found.at[i];
            const LintPlace place = lint_place(a, d);
            json_object(&j);
            json_put_str(&j, "description",
                         d->path.len
                             ? str_printf(a, "%.*s (%.*s)", STR_ARG(d->message), STR_ARG(d->path))
                             : d->message);
            json_put_str(&j, "check_name", str_of(d->rule[0] ? d->rule : "cameo"));
            json_put_str(&j, "fingerprint", unique_print(a, &seen, d));
            json_put_str(&j, "severity", str_of(severities[d->severity]));
            json_key(&j, "location");
            json_object(&j);
            json_put_str(&j, "path", plain_path(place.file));
            json_key(&j, "lines");
            json_object(&j);
            json_key(&j, "begin");
            json_int(&j, place.line);
            json_end_object(&j);
            json_end_object(&j);
            json_end_object(&j);
        }
    json_end_array(&j);
    buf_char(&b, '\n');
    arena_free(a);
    flush(&b);
}
