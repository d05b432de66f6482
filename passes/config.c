// cameo.yaml by libcyaml, whose schema below says what each value has to be. It knows neither keys
// of the user's own (severity) nor lines: both come from libyaml's tree of the same bytes.

#include "passes/config.h"
#include "base/file.h"
#include "base/map.h"
#include "passes/config_words.h"
#include "passes/lint/lint.h"

#include <cyaml/cyaml.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { MAX_BYTES = 1 << 20 };

// ---- what the file holds, as libcyaml reads it

typedef struct YamlPlace {
    char *at, *device;
} YamlPlace;

typedef struct YamlAllow {
    char *rule, *at, *reason, *expires;
} YamlAllow;

typedef struct Yaml {
    int version;
    char **select, **ignore, *fail_on, *target;
    YamlPlace *place;
    YamlAllow *allow;
    unsigned nselect, nignore, nplace, nallow;
} Yaml;

#define TEXT(key, T, member) CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER, T, member, 1, 4096)
#define MAYBE_TEXT(key, T, member)                                                                 \
    CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, T, member, 1, 4096)
#define LIST(key, member, entry)                                                                   \
    CYAML_FIELD_SEQUENCE_COUNT(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, Yaml, member,        \
                               n##member, entry, 0, 10000)

static const cyaml_schema_value_t text = {CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, 64)};

static const cyaml_schema_field_t place_fields[] = {
    TEXT("at", YamlPlace, at), TEXT("device", YamlPlace, device), CYAML_FIELD_END};
static const cyaml_schema_value_t place = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, YamlPlace, place_fields)};

static const cyaml_schema_field_t allow_fields[] = {
    TEXT("rule", YamlAllow, rule), TEXT("at", YamlAllow, at), TEXT("reason", YamlAllow, reason),
    MAYBE_TEXT("expires", YamlAllow, expires), CYAML_FIELD_END};
static const cyaml_schema_value_t allow = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, YamlAllow, allow_fields)};

static const cyaml_schema_field_t fields[] = {
    CYAML_FIELD_INT("version", CYAML_FLAG_OPTIONAL, Yaml, version),
    LIST("select", select, &text),
    LIST("ignore", ignore, &text),
    MAYBE_TEXT("fail-on", Yaml, fail_on),
    MAYBE_TEXT("target", Yaml, target),
    LIST("place", place, &place),
    LIST("allow", allow, &allow),
    CYAML_FIELD_IGNORE("severity", CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_IGNORE("rules", CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_IGNORE("budget", CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_IGNORE("custom", CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_IGNORE("limits", CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_IGNORE("ranges", CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_END};
static const cyaml_schema_value_t top = {CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, Yaml, fields)};

static const struct {
    const char *rule, *key;
    double value;
} params[] = {
#define PARAM(rule, key, value, doc) {#rule, key, value},
#include "passes/lint/params.def"
#undef PARAM
};
enum { NPARAMS = sizeof params / sizeof *params };

// ---- findings, and lines by libyaml's tree

typedef struct Reader {
    Arena *arena;
    Config *config;
    Diags *diags;
    yaml_document_t tree;
    bool failed;
    Str message;   // libcyaml's first complaint
    Str field;     // of the mapping it is about; absent: of none
    uint32_t line; // and where
} Reader;

// `message`: what it quotes of the file is escaped already.
static Diag *complain(Reader *r, Severity severity, uint32_t line, Str message)
{
    Diag *d =
        diag(r->diags, "", severity, str_printf(r->arena, "%u", line), "%.*s", STR_ARG(message));
    d->file = str_escaped(r->arena, str_of(r->config->path));
    r->failed |= severity == SEV_ERROR;
    return d;
}

static uint32_t line_of(const yaml_node_t *n)
{
    return n ? (uint32_t)n->start_mark.line + 1 : 0;
}

static Str scalar_of(const yaml_node_t *n)
{
    if (!n || n->type != YAML_SCALAR_NODE)
        return STR_NONE;
    return (Str){(const char *)n->data.scalar.value, n->data.scalar.length};
}

static const yaml_node_t *node_of(Reader *r, int id)
{
    return yaml_document_get_node(&r->tree, id);
}

// The entry of a mapping; NULL if there is none.
static const yaml_node_pair_t *pair_of(Reader *r, const yaml_node_t *map, const char *key)
{
    if (!map || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++)
        if (str_is(scalar_of(node_of(r, p->key)), key))
            return p;
    return NULL;
}

static uint32_t key_line(Reader *r, const char *key)
{
    const yaml_node_pair_t *p = pair_of(r, yaml_document_get_root_node(&r->tree), key);
    return p ? line_of(node_of(r, p->key)) : 0;
}

static uint32_t item_line(Reader *r, const char *key, unsigned i)
{
    const yaml_node_pair_t *p = pair_of(r, yaml_document_get_root_node(&r->tree), key);
    const yaml_node_t *list = p ? node_of(r, p->value) : NULL;
    if (!list || list->type != YAML_SEQUENCE_NODE)
        return key_line(r, key);
    const yaml_node_item_t *at = list->data.sequence.items.start + i;
    return at < list->data.sequence.items.top ? line_of(node_of(r, *at)) : key_line(r, key);
}

// A key that nobody knows, and those that somebody does.
static void complain_key(Reader *r, const yaml_node_t *key, const char *where,
                         const char *const *known, uint32_t n)
{
    Buf list = {0};
    const char *meant = str_nearest(scalar_of(key), known, n);
    for (uint32_t i = 0; i < n; i++)
        buf_printf(&list, "%s%s", i ? ", " : "", known[i]);
    Diag *d = complain(r, SEV_ERROR, line_of(key),
                       str_printf(r->arena, "unknown key \"%.*s\"%s",
                                  STR_ARG(str_escaped(r->arena, scalar_of(key))), where));
    if (meant)
        diag_note(r->diags, d, "did you mean \"%s\"?", meant);
    diag_note(r->diags, d, "known keys: %s", list.at ? list.at : "none");
    buf_free(&list);
}

static void unknown_keys(Reader *r, const yaml_node_t *map, const cyaml_schema_field_t *known,
                         const char *where)
{
    if (!map || map->type != YAML_MAPPING_NODE)
        return;
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *key = node_of(r, p->key);
        const cyaml_schema_field_t *f = known;
        while (f->key && !str_is(scalar_of(key), f->key))
            f++;
        if (f->key)
            continue;
        const char *names[32];
        uint32_t n = 0;
        for (f = known; f->key && n < 32; f++)
            names[n++] = f->key;
        complain_key(r, key, where, names, n);
    }
}

static void unknown_keys_of_items(Reader *r, const char *key, const cyaml_schema_field_t *known)
{
    const yaml_node_pair_t *p = pair_of(r, yaml_document_get_root_node(&r->tree), key);
    const yaml_node_t *list = p ? node_of(r, p->value) : NULL;
    if (!list || list->type != YAML_SEQUENCE_NODE)
        return;
    const char *where = str_printf(r->arena, " in an entry of %s", key).at;
    for (const yaml_node_item_t *i = list->data.sequence.items.start;
         i < list->data.sequence.items.top; i++)
        unknown_keys(r, node_of(r, *i), known, where);
}

// Of a key that is said twice only one would be heeded.
static void repeated_keys(Reader *r)
{
    const yaml_node_t *map;
    for (int id = 1; (map = node_of(r, id)); id++) {
        if (map->type != YAML_MAPPING_NODE)
            continue;
        Map seen = {.arena = r->arena};
        for (const yaml_node_pair_t *p = map->data.mapping.pairs.start;
             p < map->data.mapping.pairs.top; p++) {
            const yaml_node_t *key = node_of(r, p->key);
            bool added;
            uint32_t *line = map_put(&seen, scalar_of(key), &added);
            if (added)
                *line = line_of(key);
            else if (scalar_of(key).len)
                complain(r, SEV_ERROR, line_of(key),
                         str_printf(r->arena, "key \"%.*s\" is said twice, first in line %u",
                                    STR_ARG(str_escaped(r->arena, scalar_of(key))), *line));
        }
    }
}

// What stands behind the end of the first document nothing would heed.
static void refuse_second_document(Reader *r, yaml_parser_t *parser)
{
    yaml_document_t next;
    bool read = yaml_parser_load(parser, &next) != 0;
    const yaml_node_t *root = read ? yaml_document_get_root_node(&next) : NULL;
    if (!read || root)
        complain(r, SEV_ERROR,
                 (uint32_t)(root ? next.start_mark.line : parser->problem_mark.line) + 1,
                 STR("a second YAML document begins here; there may be one"));
    if (read)
        yaml_document_delete(&next);
}

static bool tree_open(Reader *r, Str bytes)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return false;
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes.at, bytes.len);
    bool ok = yaml_parser_load(&parser, &r->tree) != 0;
    size_t at = parser.problem_mark.index;
    bool tab = !ok && at < bytes.len && bytes.at[at] == '\t';
    if (!ok)
        complain(r, SEV_ERROR, (uint32_t)parser.problem_mark.line + 1,
                 str_printf(r->arena, "not YAML: %s",
                            tab              ? "a tab; lines are indented by spaces"
                            : parser.problem ? parser.problem
                                             : "it cannot be read"));
    else
        refuse_second_document(r, &parser);
    yaml_parser_delete(&parser);
    return ok;
}

// libcyaml's log: the complaint is its first line, the innermost place the first with a line.
__attribute__((format(printf, 3, 0))) static void listen(cyaml_log_t level, void *context,
                                                         const char *format, va_list args)
{
    Reader *r = context;
    Buf b = {0};
    (void)level;
    buf_vprintf(&b, format, args);
    Str s = {b.at, b.len};
    const char *at = b.at ? strstr(b.at, "(line: ") : NULL;
    while (s.len && s.at[s.len - 1] == '\n')
        s.len--;
    if (at && !r->line) {
        const char *field = strstr(b.at, "field '"), *end = field ? strchr(field + 7, '\'') : NULL;
        r->line = (uint32_t)strtoul(at + 7, NULL, 10);
        if (end && end < at)
            r->field = str_copy(r->arena, (Str){field + 7, (size_t)(end - field) - 7});
    }
    if (!at && !r->message.len && str_starts(s, "Load: ") && !str_is(s, "Load: Backtrace:"))
        r->message = str_copy(r->arena, (Str){s.at + 6, s.len - 6});
    buf_free(&b);
}

// ---- from libcyaml's structs to the configuration

static const char *keep(Arena *a, const char *s)
{
    return s ? arena_copy(a, s, strlen(s)) : NULL;
}

static const char *join(Arena *a, char *const *at, unsigned n)
{
    Buf list = {0};
    for (unsigned i = 0; i < n; i++)
        buf_printf(&list, "%s%s", i ? "," : "", at[i]);
    const char *kept = keep(a, list.at ? list.at : "");
    buf_free(&list);
    return kept;
}

static const char *quote(Reader *r, const char *s)
{
    return str_escaped(r->arena, str_of(s)).at;
}

static bool level_of(Str s, int *level)
{
    static const struct {
        const char *name;
        int level;
    } known[] = {{"error", SEV_ERROR},
                 {"warning", SEV_WARNING},
                 {"warn", SEV_WARNING},
                 {"info", SEV_INFO},
                 {"off", LEVEL_OFF}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_is(s, known[i].name)) {
            *level = known[i].level;
            return true;
        }
    return false;
}

static void note_meant(Reader *r, Diag *d, Str rule)
{
    const LintRule *meant = lint_meant_rule(rule);
    if (meant)
        diag_note(r->diags, d, "did you mean \"%s\" (%s)?", meant->id, meant->name);
    diag_note(r->diags, d, "`cameo rules` lists them");
}

// `severity` and `allow` name one rule each; one that does not exist would do nothing.
static void check_rule(Reader *r, Str rule, const char *key, uint32_t line)
{
    char *word = arena_copy(r->arena, rule.at ? rule.at : "", rule.len);
    bool family = strcmp(word, "") && strcmp(word, "DEFAULT") && !lint_unknown_rule(word).at;
    if (lint_rules[lint_rule_index(word)].id)
        return;
    Diag *d = complain(r, SEV_ERROR, line,
                       str_printf(r->arena,
                                  family ? "%s takes one rule, and \"%.*s\" is a family of them"
                                         : "%s: there is no rule \"%.*s\"",
                                  key, STR_ARG(str_escaped(r->arena, rule))));
    if (!family)
        note_meant(r, d, rule);
}

static void take_levels(Reader *r)
{
    const yaml_node_pair_t *entry = pair_of(r, yaml_document_get_root_node(&r->tree), "severity");
    const yaml_node_t *map = entry ? node_of(r, entry->value) : NULL;
    if (map && map->type != YAML_MAPPING_NODE)
        complain(r, SEV_ERROR, line_of(map), STR("severity is a mapping of rules to levels"));
    if (!map || map->type != YAML_MAPPING_NODE)
        return;
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        Str rule = scalar_of(node_of(r, p->key)), level = scalar_of(node_of(r, p->value));
        ConfigLevel l = {str_copy(r->arena, rule), SEV_ERROR, line_of(node_of(r, p->key))};
        if (!level_of(level, &l.level))
            complain(r, SEV_ERROR, l.line,
                     str_printf(r->arena,
                                "severity of %.*s is error, warning, info or off, not %.*s",
                                STR_ARG(str_escaped(r->arena, rule)),
                                STR_ARG(str_escaped(r->arena, level))));
        check_rule(r, l.rule, "severity", l.line);
        vec_push(r->arena, &r->config->levels, l);
    }
}

// A mapping under a key of the file; NULL where there is none, which is an error if the key is
// there.
static const yaml_node_t *mapping_of(Reader *r, const yaml_node_t *at, Str name)
{
    if (at && at->type != YAML_MAPPING_NODE)
        complain(r, SEV_ERROR, line_of(at),
                 str_printf(r->arena, "%.*s is a mapping of keys to values",
                            STR_ARG(str_escaped(r->arena, name))));
    return at && at->type == YAML_MAPPING_NODE ? at : NULL;
}

static bool take_number(Reader *r, const yaml_node_t *key, const yaml_node_t *value, double *number)
{
    Str s = scalar_of(value);
    char *end = NULL;
    *number = s.len ? strtod(s.at, &end) : 0;
    if (end && end == s.at + s.len && isfinite(*number) && *number >= 0)
        return true;
    complain(r, SEV_ERROR, line_of(value),
             str_printf(r->arena, "%.*s is a number of at least 0, not %.*s",
                        STR_ARG(str_escaped(r->arena, scalar_of(key))),
                        STR_ARG(str_escaped(r->arena, s))));
    return false;
}

static void take_params_of(Reader *r, const yaml_node_t *key, const yaml_node_t *at)
{
    const char *known[NPARAMS];
    uint32_t n = 0;
    Str rule = scalar_of(key);
    const char *where =
        str_printf(r->arena, " of %.*s in rules", STR_ARG(str_escaped(r->arena, rule))).at;
    const yaml_node_t *map = mapping_of(r, at, rule);
    for (uint32_t i = 0; i < NPARAMS; i++)
        if (str_is(rule, params[i].rule))
            known[n++] = params[i].key;
    for (yaml_node_pair_t *p = map ? map->data.mapping.pairs.start : NULL;
         map && p < map->data.mapping.pairs.top; p++) {
        const yaml_node_t *name = node_of(r, p->key);
        ConfigParam c = {str_copy(r->arena, rule), str_copy(r->arena, scalar_of(name)), 0,
                         line_of(name)};
        uint32_t i = 0;
        while (i < n && !str_is(c.key, known[i]))
            i++;
        if (i == n)
            complain_key(r, name, where, known, n);
        else if (take_number(r, name, node_of(r, p->value), &c.value))
            vec_push(r->arena, &r->config->params, c);
    }
}

static void take_params(Reader *r)
{
    const yaml_node_pair_t *entry = pair_of(r, yaml_document_get_root_node(&r->tree), "rules");
    const yaml_node_t *map = mapping_of(r, entry ? node_of(r, entry->value) : NULL, STR("rules"));
    for (yaml_node_pair_t *p = map ? map->data.mapping.pairs.start : NULL;
         map && p < map->data.mapping.pairs.top; p++) {
        const char *known[NPARAMS];
        const yaml_node_t *key = node_of(r, p->key);
        bool any = false;
        for (uint32_t i = 0; i < NPARAMS; i++) {
            known[i] = params[i].rule;
            any |= str_is(scalar_of(key), known[i]);
        }
        Str rule = str_copy(r->arena, scalar_of(key));
        if (any)
            take_params_of(r, key, node_of(r, p->value));
        else if (rule.len && lint_rules[lint_rule_index(rule.at)].id)
            complain_key(r, key, " in rules: that rule has no numbers", known, NPARAMS);
        else
            check_rule(r, rule, "rules", line_of(key));
    }
}

static void take_limits(Reader *r)
{
    static const char *const known[] = {"max-depth", "max-nodes", "max-metadata-mb",
                                        "max-memory-mb"};
    Config *c = r->config;
    uint64_t *const to[] = {&c->max_depth, &c->max_nodes, &c->max_metadata, &c->max_memory};
    uint32_t *const lines[] = {&c->depth_line, &c->nodes_line, &c->metadata_line, &c->memory_line};
    const yaml_node_pair_t *entry = pair_of(r, yaml_document_get_root_node(&r->tree), "limits");
    const yaml_node_t *map = mapping_of(r, entry ? node_of(r, entry->value) : NULL, STR("limits"));
    for (yaml_node_pair_t *p = map ? map->data.mapping.pairs.start : NULL;
         map && p < map->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = node_of(r, p->key);
        double value;
        int i = 0;
        while (i < 4 && !str_is(scalar_of(key), known[i]))
            i++;
        if (i == 4)
            complain_key(r, key, " in limits", known, 4);
        else if (take_number(r, key, node_of(r, p->value), &value)) {
            *to[i] = (uint64_t)fmin(fmax(value, 1) * (i < 2 ? 1 : 1 << 20), i ? 1e18 : 120);
            *lines[i] = line_of(key);
        }
    }
}

// ranges: {image: [0, 255]}
static void take_ranges(Reader *r)
{
    const yaml_node_pair_t *entry = pair_of(r, yaml_document_get_root_node(&r->tree), "ranges");
    const yaml_node_t *map = mapping_of(r, entry ? node_of(r, entry->value) : NULL, STR("ranges"));
    for (yaml_node_pair_t *p = map ? map->data.mapping.pairs.start : NULL;
         map && p < map->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = node_of(r, p->key), *list = node_of(r, p->value);
        ConfigRange c = {.input = str_copy(r->arena, scalar_of(key)), .line = line_of(key)};
        double bounds[2] = {1, 0};
        bool pair = list && list->type == YAML_SEQUENCE_NODE &&
                    list->data.sequence.items.top - list->data.sequence.items.start == 2;
        for (int i = 0; pair && i < 2; i++) {
            char *end = NULL;
            Str s = scalar_of(node_of(r, list->data.sequence.items.start[i]));
            bounds[i] = s.len ? strtod(s.at, &end) : NAN;
            pair = end && end == s.at + s.len && isfinite(bounds[i]);
        }
        c.lo = bounds[0];
        c.hi = bounds[1];
        if (pair && c.lo <= c.hi)
            vec_push(r->arena, &r->config->ranges, c);
        else
            complain(r, SEV_ERROR, c.line,
                     str_printf(r->arena, "ranges of %.*s is [lower bound, upper bound]",
                                STR_ARG(str_escaped(r->arena, c.input))));
    }
}

// {logits: {rel: 1e-3, sigma: 3}}, sigma 3 where it is not said.
static void take_budgets(Reader *r)
{
    static const char *const keys[] = {"rel", "sigma"};
    const yaml_node_pair_t *entry = pair_of(r, yaml_document_get_root_node(&r->tree), "budget");
    const yaml_node_t *map = mapping_of(r, entry ? node_of(r, entry->value) : NULL, STR("budget"));
    for (yaml_node_pair_t *p = map ? map->data.mapping.pairs.start : NULL;
         map && p < map->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = node_of(r, p->key);
        ConfigBudget b = {str_copy(r->arena, scalar_of(key)), 0, 3, line_of(key)};
        const yaml_node_t *value = node_of(r, p->value);
        const yaml_node_t *of = value && value->type == YAML_MAPPING_NODE ? value : NULL;
        bool fits = of != NULL;
        for (yaml_node_pair_t *q = of ? of->data.mapping.pairs.start : NULL;
             of && q < of->data.mapping.pairs.top; q++) {
            const yaml_node_t *name = node_of(r, q->key);
            bool rel = str_is(scalar_of(name), "rel");
            if (!rel && !str_is(scalar_of(name), "sigma"))
                complain_key(r, name, " in budget", keys, 2);
            fits &= take_number(r, name, node_of(r, q->value), rel ? &b.relative : &b.sigma);
        }
        if (fits && b.relative > 0 && b.sigma > 0)
            vec_push(r->arena, &r->config->budgets, b);
        else
            complain(r, SEV_ERROR, b.line,
                     str_printf(r->arena, "budget of %.*s is {rel: NUMBER, sigma: NUMBER}",
                                STR_ARG(str_escaped(r->arena, b.output))));
    }
}

// A source is a glob inside of the folder of cameo.yaml.
static void take_source(Reader *r, const yaml_node_t *at, ConfigCustom *c)
{
    Str s = str_copy(r->arena, scalar_of(at));
    bool leaves = str_starts(s, "/") || str_starts(s, "../") || strstr(s.at ? s.at : "", "/../") ||
                  str_is(s, "..");
    if (!s.len || strlen(s.at) != s.len)
        complain(r, SEV_ERROR, line_of(at), STR("a source is a path or a glob"));
    else if (leaves)
        complain(r, SEV_ERROR, line_of(at),
                 str_printf(r->arena, "source %.*s is not below the folder of cameo.yaml",
                            STR_ARG(str_escaped(r->arena, s))));
    else
        vec_push(r->arena, &c->sources, s);
}

static void take_symbols(Reader *r, const yaml_node_t *at, ConfigCustom *c)
{
    const yaml_node_t *map = mapping_of(r, at, STR("ops"));
    for (yaml_node_pair_t *p = map ? map->data.mapping.pairs.start : NULL;
         map && p < map->data.mapping.pairs.top; p++) {
        const yaml_node_t *op = node_of(r, p->key), *symbol = node_of(r, p->value);
        ConfigSymbol s = {str_copy(r->arena, scalar_of(op)), str_copy(r->arena, scalar_of(symbol)),
                          line_of(op)};
        if (s.symbol.len)
            vec_push(r->arena, &c->ops, s);
        else
            complain(r, SEV_ERROR, s.line,
                     str_printf(r->arena, "%.*s is followed by the name of its function",
                                STR_ARG(str_escaped(r->arena, s.op))));
    }
}

// custom: {my.ops: {sources: ["kernels/*.cu"], ops: {FusedBias: fused_bias}}}
static void take_customs(Reader *r)
{
    static const char *const known[] = {"sources", "ops"};
    const yaml_node_pair_t *entry = pair_of(r, yaml_document_get_root_node(&r->tree), "custom");
    const yaml_node_t *map = mapping_of(r, entry ? node_of(r, entry->value) : NULL, STR("custom"));
    for (yaml_node_pair_t *p = map ? map->data.mapping.pairs.start : NULL;
         map && p < map->data.mapping.pairs.top; p++) {
        ConfigCustom c = {.domain = str_copy(r->arena, scalar_of(node_of(r, p->key))),
                          .line = line_of(node_of(r, p->key))};
        const yaml_node_t *of = mapping_of(r, node_of(r, p->value), c.domain);
        for (yaml_node_pair_t *q = of ? of->data.mapping.pairs.start : NULL;
             of && q < of->data.mapping.pairs.top; q++) {
            const yaml_node_t *key = node_of(r, q->key), *value = node_of(r, q->value);
            bool sources = str_is(scalar_of(key), "sources");
            if (sources && value->type == YAML_SEQUENCE_NODE)
                for (yaml_node_item_t *i = value->data.sequence.items.start;
                     i < value->data.sequence.items.top; i++)
                    take_source(r, node_of(r, *i), &c);
            else if (sources)
                take_source(r, value, &c);
            else if (str_is(scalar_of(key), "ops"))
                take_symbols(r, value, &c);
            else
                complain_key(r, key, " in an entry of custom", known, 2);
        }
        if (of && !c.sources.len && !r->failed)
            complain(r, SEV_ERROR, c.line,
                     str_printf(r->arena, "%.*s has no sources",
                                STR_ARG(str_escaped(r->arena, c.domain))));
        vec_push(r->arena, &r->config->customs, c);
    }
}

static void take_lists(Reader *r, const Yaml *y)
{
    Config *c = r->config;
    for (unsigned i = 0; i < y->nplace; i++) {
        ConfigPlace p = {str_of(keep(r->arena, y->place[i].at)),
                         str_of(keep(r->arena, y->place[i].device)), item_line(r, "place", i)};
        vec_push(r->arena, &c->places, p);
    }
    for (unsigned i = 0; i < y->nallow; i++) {
        const YamlAllow *from = &y->allow[i];
        ConfigAllow a = {str_of(keep(r->arena, from->rule)), str_of(keep(r->arena, from->at)),
                         str_of(keep(r->arena, from->reason)), STR_NONE, item_line(r, "allow", i)};
        if (from->expires && !config_is_date(from->expires))
            complain(r, SEV_ERROR, a.line,
                     str_printf(r->arena, "expires is a date such as 2027-01-01, not %s",
                                quote(r, from->expires)));
        check_rule(r, a.rule, "allow", a.line);
        if (from->expires)
            a.expires = str_of(keep(r->arena, from->expires));
        vec_push(r->arena, &c->allows, a);
    }
}

// The entries of select and ignore: a rule that does not exist would silence what was meant.
static void check_rules(Reader *r, const char *key, char *const *at, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        Str unknown = lint_unknown_rule(at[i]);
        if (!unknown.at)
            continue;
        Diag *d = complain(r, SEV_ERROR, item_line(r, key, i),
                           str_printf(r->arena, "%s: there is no rule \"%.*s\"", key,
                                      STR_ARG(str_escaped(r->arena, unknown))));
        note_meant(r, d, unknown);
    }
}

static void complain_target(Reader *r, const char *name, uint32_t line)
{
    const char *meant = target_meant(str_of(name));
    Diag *d =
        complain(r, SEV_ERROR, line,
                 str_printf(r->arena, "there is no target %s (see cameo targets)", quote(r, name)));
    if (meant)
        diag_note(r->diags, d, "did you mean \"%s\"?", meant);
}

static void take(Reader *r, const Yaml *y)
{
    Config *c = r->config;
    if (key_line(r, "version") && y->version != 1)
        complain(r, SEV_ERROR, key_line(r, "version"),
                 str_printf(r->arena, "version %d is not known; this is version 1", y->version));
    c->select_line = key_line(r, "select");
    c->ignore_line = key_line(r, "ignore");
    c->target_line = key_line(r, "target");
    c->fail_on_line = key_line(r, "fail-on");
    c->select = c->select_line ? join(r->arena, y->select, y->nselect) : NULL;
    c->ignore = c->ignore_line ? join(r->arena, y->ignore, y->nignore) : NULL;
    check_rules(r, "select", y->select, y->nselect);
    check_rules(r, "ignore", y->ignore, y->nignore);
    if (y->fail_on && (!level_of(str_of(y->fail_on), &c->fail_on) || c->fail_on < SEV_WARNING))
        complain(r, SEV_ERROR, c->fail_on_line,
                 str_printf(r->arena, "fail-on is error or warn, not %s", quote(r, y->fail_on)));
    c->target = y->target ? target_find(str_of(y->target)) : NULL;
    if (y->target && !c->target)
        complain_target(r, y->target, c->target_line);
    take_levels(r);
    take_params(r);
    take_limits(r);
    take_ranges(r);
    take_budgets(r);
    take_customs(r);
    take_lists(r, y);
}

static void read_bytes(Reader *r, Str bytes)
{
    const cyaml_config_t how = {.log_fn = listen,
                                .log_ctx = r,
                                .mem_fn = cyaml_mem,
                                .log_level = CYAML_LOG_ERROR,
                                .flags = CYAML_CFG_NO_ALIAS};
    Yaml *yaml = NULL;
    if (!tree_open(r, bytes))
        return;
    const yaml_node_t *root = yaml_document_get_root_node(&r->tree);
    repeated_keys(r);
    unknown_keys(r, root, fields, "");
    unknown_keys_of_items(r, "place", place_fields);
    unknown_keys_of_items(r, "allow", allow_fields);
    if (root && !r->failed) {
        cyaml_err_t e = cyaml_load_data((const uint8_t *)bytes.at, bytes.len, &how, &top,
                                        (cyaml_data_t **)&yaml, NULL);
        if (e != CYAML_OK)
            complain(r, SEV_ERROR, r->line ? r->line : 1,
                     config_said(r->arena, r->message.len ? r->message : str_of(cyaml_strerror(e)),
                                 r->field));
        else if (yaml)
            take(r, yaml);
        cyaml_free(&how, &top, yaml, 0);
    }
    yaml_document_delete(&r->tree);
}

// ---- the file that applies

static const char *find_file(Arena *a, const char *model_path)
{
    bool is_stream = strcmp(model_path, "-") == 0;
    char *full = realpath(is_stream ? "." : model_path, NULL);
    const char *found = NULL;
    Str folder = str_copy(a, str_of(full ? full : ""));
    free(full);
    for (bool first = is_stream; folder.len && !found; first = false) {
        while (!first && folder.len && folder.at[folder.len - 1] != '/')
            folder.len--;
        folder.len -= !first && folder.len; // the slash: "" is the root now
        const char *here = str_printf(a, "%.*s/cameo.yaml", STR_ARG(folder)).at;
        if (file_exists(here))
            found = here;
        if (file_exists(str_printf(a, "%.*s/.git", STR_ARG(folder)).at))
            break;
    }
    return found;
}

// As the user would name it: below the working folder, relative to it.
static const char *shown_path(Arena *a, const char *path)
{
    char *here = realpath(".", NULL);
    size_t n = here ? strlen(here) : 0;
    bool below = n > 1 && strncmp(path, here, n) == 0 && path[n] == '/';
    free(here);
    return below ? keep(a, path + n + 1) : path;
}

bool config_read(Arena *a, const char *model_path, Config *config, Diags *diags)
{
    *config = (Config){.fail_on = LEVEL_OFF};
    const char *path = find_file(a, model_path);
    if (!path)
        return true;
    config->path = shown_path(a, path);
    Reader r = {.arena = a, .config = config, .diags = diags};
    FileView view;
    Str error = STR_NONE;
    if (!file_regular(path)) {
        complain(&r, SEV_ERROR, 1, STR("it is no file"));
        return false;
    }
    if (!file_open(a, path, &view, &error)) {
        complain(&r, SEV_ERROR, 1, str_escaped(a, error));
        return false;
    }
    if (view.len > MAX_BYTES)
        complain(&r, SEV_ERROR, 1, STR("the file is larger than 1 MiB"));
    else if (view.len)
        read_bytes(&r, (Str){(const char *)view.at, view.len});
    file_close(&view);
    return !r.failed;
}

// ---- what it sets

double config_param(const Config *c, const char *rule, const char *key)
{
    double value = 0;
    for (uint32_t i = 0; i < NPARAMS; i++)
        if (strcmp(params[i].rule, rule) == 0 && strcmp(params[i].key, key) == 0)
            value = params[i].value;
    for (uint32_t i = 0; c && i < c->params.len; i++)
        if (str_is(c->params.at[i].rule, rule) && str_is(c->params.at[i].key, key))
            value = c->params.at[i].value;
    return value;
}

void config_limits(const Config *c, uint32_t *depth, uint64_t *nodes, uint64_t *metadata,
                   uint64_t *memory)
{
    if (c && c->max_depth)
        *depth = (uint32_t)c->max_depth;
    if (c && c->max_nodes)
        *nodes = c->max_nodes;
    if (c && c->max_metadata)
        *metadata = c->max_metadata;
    if (c && c->max_memory)
        *memory = c->max_memory;
}
