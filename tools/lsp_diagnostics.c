// Findings of lint at their places in the text.

#include "passes/lint/guard.h"
#include "tools/config.h"
#include "tools/lsp.h"

#include <string.h>

enum { MAX_FINDINGS = 1000 };

// ---- places by path
// ------------------------------------------------------------------------------------

typedef struct PlacePaths {
    const LspModel *l;
    Map at; // path -> number of a place
} PlacePaths;

static void add_path(PlacePaths *p, Str path, uint32_t place)
{
    bool added;
    uint32_t *at = map_put(&p->at, path, &added);
    *at = added ? place : *at;
}

static Str path_of(const LspModel *l, const TextPlace *p)
{
    switch (p->kind) {
    case PLACE_OPERATOR:
        return location_node(l->m, l->arena, p->node);
    case PLACE_OPERAND:
        return location_operand(l->m, l->arena, p->node, p->index);
    case PLACE_RESULT:
        return location_result(l->m, l->arena, p->node, p->index);
    case PLACE_GRAPH:
        return location_graph(l->m, l->arena, p->graph);
    case PLACE_INPUT:
    case PLACE_INITIALIZER:
        return p->value ? location_value(l->m, l->arena, p->value) : STR_NONE;
    case PLACE_OUTPUT:
        return str_printf(l->arena, "%.*s/output(%.*s)",
                          STR_ARG(location_graph(l->m, l->arena, p->graph)),
                          STR_ARG(str_escaped(l->arena, value_at(l->m, p->value)->name)));
    default:
        return STR_NONE;
    }
}

static PlacePaths paths_of(const LspModel *l)
{
    PlacePaths p = {.l = l, .at = {.arena = l->arena}};
    for (uint32_t i = 0; i < l->places.len; i++) {
        Str path = path_of(l, &l->places.at[i]);
        if (path.at)
            add_path(&p, path, i);
    }
    return p;
}

// The place of a path, else of what it is within.
static const TextPlace *find_path(const PlacePaths *p, Str path)
{
    while (path.len) {
        const uint32_t *at = map_get(&p->at, path);
        if (at)
            return &p->l->places.at[*at];
        path.len--;
        while (path.len && path.at[path.len] != ':' && path.at[path.len] != '/' &&
               path.at[path.len] != '.')
            path.len--;
    }
    return NULL;
}

// ---- one finding
// ---------------------------------------------------------------------------------------

static json_t *range_of(const LspDocument *d, const PlacePaths *p, const Diag *f)
{
    uint32_t line, column;
    const TextPlace *place = p ? find_path(p, f->path) : NULL;
    if (d->form == LSP_TEXT && diag_place(f, &line, &column) && line && line <= d->nlines) {
        size_t from = d->lines[line - 1] + column - 1;
        const Str word = lsp_word_at(d, from);
        size_t to = word.len ? (size_t)(word.at - lsp_text(d).at) + word.len : from + 1;
        return lsp_range(d, from, to < d->text.len ? to : d->text.len);
    }
    return place ? lsp_range(d, place->from, place->to) : lsp_range(d, 0, 0);
}

static Str message_of(const LspDocument *d, const Diag *f)
{
    Buf b = {0};
    buf_str(&b, f->message);
    if (d->form == LSP_BINARY && f->path.len)
        buf_printf(&b, "\nat %.*s", STR_ARG(f->path));
    if (f->source.len)
        buf_printf(&b, "\nsource: %.*s", STR_ARG(f->source));
    for (uint32_t i = 0; i < f->notes.len; i++)
        buf_printf(&b, "\nnote: %.*s", STR_ARG(f->notes.at[i]));
    for (uint32_t i = 0; i < f->fixes.len; i++)
        buf_printf(&b, "\nhelp: [%s] %.*s", f->fixes.at[i].safe ? "safe" : "unsafe",
                   STR_ARG(f->fixes.at[i].text));
    for (uint32_t i = 0; i < f->helps.len; i++)
        buf_printf(&b, "\nhelp: %.*s", STR_ARG(f->helps.at[i]));
    return (Str){b.at, b.len};
}

static void add_related(json_t *list, const LspDocument *d, const TextPlace *place,
                        const char *what, Str name)
{
    char words[200];
    snprintf(words, sizeof words, "%s%.*s", what, STR_ARG(name));
    json_array_append_new(list, json_pack("{s:o, s:o}", "location",
                                          lsp_location(d, place->from, place->to), "message",
                                          lsp_string(str_of(words))));
}

// Where it began, and through which nodes it came.
static json_t *related_of(const LspDocument *d, const PlacePaths *p, const Diag *f)
{
    json_t *list = json_array();
    Str begin = str_printf(p->l->arena, "graph/%.*s(%.*s)", STR_ARG(f->origin_kind),
                           STR_ARG(f->origin_name));
    const uint32_t *at = f->origin_kind.len ? map_get(&p->at, begin) : NULL;
    if (!at && f->origin_kind.len) {
        begin = str_printf(p->l->arena, "graph/node[%.*s]", STR_ARG(f->origin_name));
        at = map_get(&p->at, begin);
    }
    if (at)
        add_related(list, d, &p->l->places.at[*at], "it begins here: ", f->origin_name);
    for (uint32_t i = 0; i + 1 < f->chain.len; i++) {
        const uint32_t *step = map_get(&p->at, f->chain.at[i]);
        if (step)
            add_related(list, d, &p->l->places.at[*step], "and comes through ", f->chain.at[i]);
    }
    return list;
}

// What a code action goes by: the rule, and what its fixes are.
static json_t *data_of(const Diag *f)
{
    json_t *fixes = json_array();
    char print[24];
    for (uint32_t i = 0; i < f->fixes.len; i++)
        json_array_append_new(fixes, json_pack("{s:b, s:o}", "safe", (int)f->fixes.at[i].safe,
                                               "text", lsp_string(f->fixes.at[i].text)));
    snprintf(print, sizeof print, "%016llx", (unsigned long long)lint_fingerprint(f));
    return json_pack("{s:s, s:s, s:o}", "rule", f->rule, "fingerprint", print, "fixes", fixes);
}

static json_t *diagnostic_of(const LspServer *s, const LspDocument *d, const PlacePaths *p,
                             const Diag *f)
{
    static const int severities[] = {3, 2, 1};
    Str message = message_of(d, f);
    json_t *j = json_pack("{s:o, s:i, s:s, s:o, s:o}", "range", range_of(d, p, f), "severity",
                          severities[f->severity], "source", "cameo", "message",
                          lsp_string(message), "data", data_of(f));
    if (f->rule[0])
        json_object_set_new(j, "code", json_string(f->rule));
    if (f->rule[0] && s->docs) {
        json_t *href = json_sprintf("%s#%s", s->docs, f->rule);
        json_object_set_new(j, "codeDescription", json_pack("{s:o}", "href", href));
    }
    json_t *related = p ? related_of(d, p, f) : json_array();
    if (json_array_size(related))
        json_object_set(j, "relatedInformation", related);
    json_decref(related);
    if (strcmp(f->rule, "ST006") == 0) // shown as what nobody needs
        json_object_set_new(j, "tags", json_pack("[i]", 1));
    return j;
}

// ---- all of a document
// ---------------------------------------------------------------------------------

// What is wrong with cameo.yaml. `own`: it is the document itself.
static bool add_config(const LspDocument *d, bool own, json_t *all)
{
    Arena *a = arena_new();
    Diags diags;
    Config config = {0};
    diags_init(&diags, a, STR_NONE);
    bool ok = config_read(a, d->path, &config, &diags);
    for (uint32_t i = 0; i < diags.all.len; i++) {
        const Diag *f = diags.all.at[i];
        unsigned line = 0;
        char text[16];
        snprintf(text, sizeof text, "%.*s", STR_ARG(f->path));
        bool known = sscanf(text, "%u", &line) == 1 && line && line <= d->nlines && own;
        size_t from = known ? d->lines[line - 1] : 0;
        size_t to = known && line < d->nlines ? d->lines[line] - 1 : own ? d->text.len : 0;
        Str words =
            own ? message_of(d, f)
                : str_printf(a, "%.*s:%s: %.*s", STR_ARG(f->file), text, STR_ARG(f->message));
        if (own || f->severity == SEV_ERROR)
            json_array_append_new(all, json_pack("{s:o, s:i, s:s, s:o}", "range",
                                                 lsp_range(d, from, known ? to : from), "severity",
                                                 f->severity == SEV_ERROR ? 1 : 3, "source",
                                                 "cameo", "message", lsp_string(words)));
    }
    arena_free(a);
    return ok;
}

json_t *lsp_lint(LspServer *s, LspDocument *d, const json_t *params)
{
    json_t *all = json_array();
    LintRun r = s->lint;
    LintResult result;
    LspModel l;
    (void)params;
    bool usable = d->form != LSP_OTHER && add_config(d, d->form == LSP_CONFIG, all);
    if (!usable || d->form == LSP_CONFIG)
        return all;
    lint_guard_rules(true);
    r.arena = arena_new();
    r.buffer = d->form == LSP_TEXT ? lsp_text(d) : STR_NONE;
    lint_one(&r, d->path, &result);
    bool placed = lsp_parse(s, d, &l);
    PlacePaths paths = placed ? paths_of(&l) : (PlacePaths){0};
    for (uint32_t i = 0; i < result.found.len && i < MAX_FINDINGS; i++)
        json_array_append_new(all, diagnostic_of(s, d, placed ? &paths : NULL, result.found.at[i]));
    if (result.found.len > MAX_FINDINGS) {
        json_t *words =
            json_sprintf("%u more findings are not shown", result.found.len - MAX_FINDINGS);
        json_array_append_new(all, json_pack("{s:o, s:i, s:s, s:o}", "range", lsp_range(d, 0, 0),
                                             "severity", 3, "source", "cameo", "message", words));
    }
    return all;
}
