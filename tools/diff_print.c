// What differs between two models, for people and as JSON.

#include "tools/diff.h"

#include <math.h>

static const char *const titles[DIFF_KINDS] = {[DIFF_HEADER] = "header",
                                               [DIFF_METADATA] = "metadata",
                                               [DIFF_FUNCTION] = "functions",
                                               [DIFF_INPUT] = "inputs",
                                               [DIFF_OUTPUT] = "outputs",
                                               [DIFF_INITIALIZER] = "initializers",
                                               [DIFF_NODE] = "nodes",
                                               [DIFF_TYPE] = "types of results",
                                               [DIFF_DECLARED] = "declared types and annotations",
                                               [DIFF_NAME] = "names",
                                               [DIFF_ORDER] = "order"};

// ---- text ---------------------------------------------------------------------------------------

static const char *colour(DiffChange change)
{
    static const char *const codes[] = {"\033[32m", "\033[31m", "\033[33m"};
    return tool_style.colour ? codes[change] : "";
}

static const char *plain(void)
{
    return tool_style.colour ? "\033[0m" : "";
}

static void put_elements(Buf *b, const DiffElements *e, const char *indent)
{
    if (!e->differ) {
        buf_printf(b, "%sits elements are the same numbers\n", indent);
        return;
    }
    buf_printf(b, "%s%llu of %llu element%s differ%s", indent, (unsigned long long)e->differ,
               (unsigned long long)e->n, e->n == 1 ? "" : "s", e->differ == 1 ? "s" : "");
    if (isnan(e->greatest))
        buf_printf(b, ", the first at ");
    else if (isinf(e->greatest))
        buf_printf(b, ", one beyond all numbers at ");
    else
        buf_printf(b, ", at most by %.3g at ", e->greatest);
    buf_printf(b, "%.*s: %.*s -> %.*s\n", STR_ARG(e->index), STR_ARG(e->a), STR_ARG(e->b));
}

static void put_entry(Buf *b, const Difference *d)
{
    static const char signs[] = {'+', '-', '~'};
    Str path = d->path_a.at ? d->path_a : d->path_b;
    buf_printf(b, "  %s%c%s %.*s", colour(d->change), signs[d->change], plain(), STR_ARG(path));
    if (d->path_a.at && d->path_b.at && !str_eq(d->path_a, d->path_b))
        buf_printf(b, " -> %.*s", STR_ARG(d->path_b));
    bool one = d->fields.len == 1 && (str_is(d->fields.at[0].name, "type") || !d->what.len);
    if (d->what.len)
        buf_printf(b, "  %.*s", STR_ARG(d->what));
    for (uint32_t i = 0; i < d->fields.len; i++) {
        const DiffField *f = &d->fields.at[i];
        const bool bare = one && str_is(f->name, "type");
        buf_printf(b, one ? "  %.*s%s" : "\n      %.*s%s", STR_ARG(bare ? STR("") : f->name),
                   bare ? "" : ": ");
        buf_printf(b, "%.*s -> %.*s", STR_ARG(f->a.at ? f->a : STR("(none)")),
                   STR_ARG(f->b.at ? f->b : STR("(none)")));
    }
    buf_char(b, '\n');
    if (d->elements)
        put_elements(b, d->elements, "      ");
}

static void put_counts(Buf *b, const DiffReport *r, int kind)
{
    static const char *const words[] = {"added", "removed", "changed"};
    uint32_t put = 0;
    for (int c = DIFF_CHANGED; c >= 0; c--)
        if (r->count[kind][c])
            buf_printf(b, "%s%u %s", put++ ? ", " : "", r->count[kind][c], words[c]);
}

static void put_section(Buf *b, const DiffReport *r, int kind, uint32_t most)
{
    uint32_t shown = 0, following = 0, left = 0;
    buf_printf(b, "%s: ", titles[kind]);
    put_counts(b, r, kind);
    buf_char(b, '\n');
    for (uint32_t i = 0; i < r->all.len; i++) {
        const Difference *d = &r->all.at[i];
        if ((int)d->kind != kind)
            continue;
        if (d->follows) {
            following++;
        } else if (most && shown == most) {
            left++;
        } else {
            put_entry(b, d);
            shown++;
        }
    }
    if (left)
        buf_printf(b, "  ... and %u more (--max 0 shows all)\n", left);
    if (following)
        buf_printf(b, "  ... and %u that follow%s from %s\n", following, following == 1 ? "s" : "",
                   shown ? "these" : "what is above");
}

static uint32_t sum(const DiffReport *r, int kind)
{
    return r->count[kind][0] + r->count[kind][1] + r->count[kind][2];
}

void diff_print_summary(const DiffReport *r)
{
    Buf b = {0};
    uint32_t put = 0;
    if (r->total)
        buf_printf(&b, "%u difference%s: ", r->total, r->total == 1 ? "" : "s");
    else
        buf_printf(&b, "the models are the same");
    for (int k = 0; k < DIFF_KINDS; k++) {
        if (!sum(r, k) || r->options->ignore[k])
            continue;
        buf_printf(&b, "%s%s ", put++ ? "; " : "", titles[k]);
        put_counts(&b, r, k);
    }
    uint32_t names = r->options->ignore[DIFF_NAME] ? sum(r, DIFF_NAME) : 0;
    uint32_t places = r->options->ignore[DIFF_ORDER] ? sum(r, DIFF_ORDER) : 0;
    uint32_t others = 0;
    for (int k = 0; k < DIFF_NAME; k++)
        others += r->options->ignore[k] ? sum(r, k) : 0;
    const char *but = r->total ? "; besides" : " but for";
    if (names)
        buf_printf(&b, "%s %u renamed", but, names);
    if (places)
        buf_printf(&b, "%s %u moved", names ? "," : but, places);
    if (others)
        buf_printf(&b, "%s %u ignored", names || places ? "," : but, others);
    buf_char(&b, '\n');
    fwrite(b.at, 1, b.len, stdout);
    buf_free(&b);
}

void diff_print_text(const DiffPair *p, const DiffReport *r, uint32_t most)
{
    Buf b = {0};
    if (r->total) {
        buf_printf(&b, "--- ");
        buf_name(&b, str_of(p->a.path));
        buf_printf(&b, "\n+++ ");
        buf_name(&b, str_of(p->b.path));
        buf_char(&b, '\n');
    }
    for (int k = 0; k < DIFF_KINDS; k++)
        if (sum(r, k) && !r->options->ignore[k])
            put_section(&b, r, k, most);
    fwrite(b.at ? b.at : "", 1, b.len, stdout);
    buf_free(&b);
    diff_print_summary(r);
}

// ---- JSON ---------------------------------------------------------------------------------------

static void put_str(Json *j, const char *key, Str s)
{
    json_key(j, key);
    if (s.at)
        json_str(j, s);
    else
        json_null(j);
}

static void put_json_elements(Json *j, const DiffElements *e)
{
    json_key(j, "elements");
    json_object(j);
    json_key(j, "count");
    json_int(j, (int64_t)e->n);
    json_key(j, "differ");
    json_int(j, (int64_t)e->differ);
    if (e->differ) {
        json_key(j, "greatest");
        json_num(j, e->greatest);
        put_str(j, "at", e->index);
        put_str(j, "a", e->a);
        put_str(j, "b", e->b);
    }
    json_end_object(j);
}

static void put_json(Json *j, const Difference *d)
{
    static const char *const changes[] = {"added", "removed", "changed"};
    json_object(j);
    put_str(j, "kind", str_of(diff_kinds[d->kind]));
    put_str(j, "change", str_of(changes[d->change]));
    put_str(j, "path_a", d->path_a);
    put_str(j, "path_b", d->path_b);
    put_str(j, "what", d->what);
    json_key(j, "fields");
    json_array(j);
    for (uint32_t i = 0; i < d->fields.len; i++) {
        json_object(j);
        put_str(j, "field", d->fields.at[i].name);
        put_str(j, "a", d->fields.at[i].a);
        put_str(j, "b", d->fields.at[i].b);
        json_end_object(j);
    }
    json_end_array(j);
    if (d->elements)
        put_json_elements(j, d->elements);
    if (d->kind == DIFF_TYPE) {
        json_key(j, "follows");
        json_bool(j, d->follows);
    }
    json_end_object(j);
}

void diff_print_json(const DiffPair *p, const DiffReport *r)
{
    Buf out = {0};
    Json j = {.out = &out};
    json_object(&j);
    put_str(&j, "schema", STR("cameo.diff/1"));
    put_str(&j, "a", str_of(p->a.path));
    put_str(&j, "b", str_of(p->b.path));
    json_key(&j, "same");
    json_bool(&j, !r->total);
    json_key(&j, "differences");
    json_array(&j);
    for (uint32_t i = 0; i < r->all.len; i++)
        put_json(&j, &r->all.at[i]);
    json_end_array(&j);
    json_key(&j, "summary");
    json_object(&j);
    for (int k = 0; k < DIFF_KINDS; k++) {
        json_key(&j, diff_kinds[k]);
        json_int(&j, sum(r, k));
    }
    json_key(&j, "nodes");
    json_int(&j, r->nodes);
    json_key(&j, "nodes_matched");
    json_int(&j, r->matched);
    json_end_object(&j);
    json_end_object(&j);
    buf_char(&out, '\n');
    fwrite(out.at, 1, out.len, stdout);
    buf_free(&out);
}
