#include "passes/lint/lint.h"
#include "ir/infer.h"
#include "passes/adaptor.h"
#include "passes/config.h"
#include "passes/devices.h"
#include "passes/inline_functions.h"
#include "passes/lint/guard.h"
#include "passes/lint/origin.h"
#include "passes/times.h"

#include <string.h>
#include <time.h>

// Nodes that inlining may add: so many, or 64 times those of the file; more is finding SE006.
enum { MIN_COPIES = 100000, GROWTH = 64, MAX_CALLS = 64, MAX_REPAIRS = 8 };

const LintRule lint_rules[] = {
#define RULE(id, name, severity, on, fix, doc, fn, repair, stage)                                  \
    {#id, name, severity, on, fix, doc, fn, repair, stage},
#include "passes/lint/rules.def"
#undef RULE
    {NULL, NULL, SEV_INFO, false, NULL, NULL, NULL, NULL, OF_FILE},
};

static bool word_is(const char *p, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(p, word, n) == 0;
}

static bool names(const char *list, const LintRule *r, bool by_id)
{
    for (const char *p = list; p && *p;) {
        size_t n = strcspn(p, ",");
        bool family =
            word_is(p, n, "ALL") || (n < strlen(r->id) && memcmp(p, r->id, n) == 0 && n >= 2);
        bool several = (family && r->severity != SEV_INFO) || (word_is(p, n, "DEFAULT") && r->on);
        if (word_is(p, n, r->id) || (several && !by_id))
            return true;
        p += n + (p[n] == ',');
    }
    return false;
}

bool lint_listed(const char *list, const LintRule *r)
{
    return names(list, r, false);
}

Str lint_unknown_rule(const char *list)
{
    for (const char *p = list; p && *p;) {
        size_t n = strcspn(p, ",");
        bool known = word_is(p, n, "ALL") || word_is(p, n, "DEFAULT");
        for (const LintRule *r = lint_rules; r->id && !known; r++)
            known = (n == 2 || n == strlen(r->id)) && memcmp(p, r->id, n) == 0;
        if (!known)
            return (Str){p, n};
        p += n + (p[n] == ',');
    }
    return STR_NONE;
}

const LintRule *lint_meant_rule(Str word)
{
    enum { COUNT = sizeof lint_rules / sizeof *lint_rules - 1 };
    const char *ids[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        const LintRule *r = &lint_rules[i];
        bool id = word.len == strlen(r->id) && strncasecmp(word.at, r->id, word.len) == 0;
        if (id || str_is(word, r->name))
            return r;
        ids[i] = r->id;
    }
    const char *near = str_nearest(word, ids, COUNT);
    return near ? &lint_rules[lint_rule_index(near)] : NULL;
}

uint32_t lint_rule_index(const char *id)
{
    uint32_t i = 0;
    while (lint_rules[i].id && strcmp(lint_rules[i].id, id) != 0)
        i++;
    return i;
}

bool lint_named(const Lint *l, const char *id)
{
    const LintRule *r = &lint_rules[lint_rule_index(id)];
    return r->id && names(l->select, r, true);
}

const Uses *lint_uses(Lint *l)
{
    if (!l->uses.first)
        l->uses = uses_of(l->m, l->arena);
    return &l->uses;
}

// ---- what findings say of nodes

Str lint_short(Lint *l, NodeId n)
{
    Str path = location_node(l->m, l->arena, n);
    return str_starts(path, "graph/node[") ? (Str){path.at + 6, path.len - 6} : path;
}

Str lint_name(Lint *l, ValueId v)
{
    return str_escaped(l->arena, value_shown_name(l->m, v));
}

double lint_bytes(const Model *m, ValueId v)
{
    uint32_t width = dtype_info(value_at(m, v)->dtype)->bytes;
    return value_weight(m, v) * (width ? width : 1);
}

Str lint_shown_bytes(Lint *l, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int u = 0;
    while (bytes >= 1024 && u < 4)
        bytes /= 1024, u++;
    return str_printf(l->arena, bytes < 10 && u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
}

struct Origins *lint_origins(Lint *l)
{
    if (!l->origins)
        l->origins = origins_of(l->m, l->arena);
    return l->origins;
}

bool lint_first_time(Lint *l, const char *rule, NodeId id)
{
    const Node *n = node_at(l->m, id);
    bool added = true;
    l->told.arena = l->arena;
    if (n->copy_of)
        map_put(&l->told, str_printf(l->arena, "%s %u", rule, n->copy_of), &added);
    return added;
}

static Str line_at(Str text, size_t *at)
{
    size_t from = *at;
    while (*at < text.len && text.at[*at] != '\n')
        ++*at;
    Str line = {text.at + from, *at - from};
    *at += *at < text.len;
    while (line.len && (line.at[0] == ' ' || line.at[0] == '\t')) {
        line.at++;
        line.len--;
    }
    return line;
}

Str lint_shown_code(Arena *a, Str code)
{
    Str s = str_escaped(a, code);
    char *to = arena_copy(a, s.at, s.len);
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] != '\\' || i + 1 == s.len || s.at[i + 1] != '"')
            to[n++] = s.at[i];
    return (Str){to, n};
}

// The innermost frame of a Python stack trace: "  File "train/model.py", line 41, in forward" and
// the line of code below it, as "train/model.py:41 in forward    x = ...".
static Str source_of(Lint *l, Str trace)
{
    Str found = STR_NONE;
    for (size_t at = 0; at < trace.len;) {
        Str line = line_at(trace, &at);
        const char *file = line.len > 6 && memcmp(line.at, "File \"", 6) == 0 ? line.at + 6 : NULL;
        const char *end = file ? memchr(file, '"', line.len - 6) : NULL;
        size_t rest = end ? line.len - (size_t)(end - line.at) : 0;
        if (rest < 8 || memcmp(end, "\", line ", 8) != 0)
            continue;
        Str number = {end + 8, 0}, where = {end + 8, rest - 8};
        while (number.len < where.len && where.at[number.len] >= '0' && where.at[number.len] <= '9')
            number.len++;
        where.at += number.len;
        where.len -= number.len;
        where = str_starts(where, ", ") ? (Str){where.at + 1, where.len - 1} : STR("");
        size_t next = at;
        Str code = line_at(trace, &next);
        bool has_code = code.len && !str_starts(code, "File \"");
        found = str_printf(l->arena, "%.*s:%.*s%.*s%s%.*s",
                           STR_ARG(str_escaped(l->arena, (Str){file, (size_t)(end - file)})),
                           STR_ARG(number), STR_ARG(str_escaped(l->arena, where)),
                           has_code ? "    " : "",
                           STR_ARG(has_code ? lint_shown_code(l->arena, code) : STR("")));
    }
    return found;
}

void lint_about_node(Lint *l, Diag *d, NodeId id)
{
    const Node *n = node_at(l->m, id);
    NodeId calls[MAX_CALLS];
    d->op = str_escaped(l->arena, n->op);
    d->node = str_escaped(l->arena, n->name);
    d->source = source_of(l, props_get(&n->metadata, "pkg.torch.onnx.stack_trace"));
    uint32_t count = location_calls(l->m, id, calls, MAX_CALLS);
    for (uint32_t i = 0; i < count; i++)
        diag_note(l->diags, d, "%s %.*s, called at %.*s", i ? "which is in" : "in function",
                  STR_ARG(str_escaped(l->arena, node_at(l->m, calls[i])->op)),
                  STR_ARG(lint_short(l, calls[i])));
}

// ---- levels and what is allowed

static int level_of(const Config *c, const LintRule *r)
{
    for (uint32_t i = 0; c && i < c->levels.len; i++)
        if (str_is(c->levels.at[i].rule, r->id))
            return c->levels.at[i].level;
    return r->severity;
}

static bool is_expired(Str date)
{
    char today[32];
    time_t now = time(NULL);
    struct tm t;
    if (!date.len || !gmtime_r(&now, &t) || !strftime(today, sizeof today, "%Y-%m-%d", &t))
        return false;
    return str_cmp(date, str_of(today)) < 0;
}

// A glob names a finding by its whole path, or by that of its node.
static bool allow_matches(const ConfigAllow *a, const Diag *d)
{
    Str node = d->path;
    while (node.len && node.at[node.len - 1] != ']')
        node.len--;
    Str named = str_starts(a->at, "/") ? d->node : node;
    return str_is(a->rule, d->rule) && (glob_match(a->at, d->path) || glob_match(a->at, named));
}

// ---- what the model itself allows: metadata "cameo.allow", "DT009: QAT emulation; DT006 at
// graph/node[/x/*]: why"
// -------------------------------------------------------------------------------------------

enum { ALLOW_IDLE = 1, ALLOW_USED = 2 };

typedef struct Allowed {
    VEC(ConfigAllow) everywhere; // of the model's metadata
    bool *used;                  // by those
    Map at;                      // rule and path of a node's -> ALLOW_
} Allowed;

static Str trimmed(Str s)
{
    while (s.len && (s.at[0] == ' ' || s.at[0] == '\n' || s.at[0] == '\t'))
        s = (Str){s.at + 1, s.len - 1};
    while (s.len && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\n'))
        s.len--;
    return s;
}

// The next entry of `*left`: its rule, the glob it is said of (empty: everything) and the reason.
// False: there is none. One that names no rule or no reason is a finding.
static bool next_allowed(Lint *l, Str *left, Str where, ConfigAllow *a)
{
    while (left->len) {
        const char *end = memchr(left->at, ';', left->len);
        size_t n = end ? (size_t)(end - left->at) : left->len;
        Str entry = trimmed((Str){left->at, n});
        *left = (Str){left->at + n + (end != NULL), left->len - n - (end != NULL)};
        size_t word = 0;
        while (word < entry.len && entry.at[word] != ' ' && entry.at[word] != ':')
            word++;
        const char *colon = entry.len ? memrchr(entry.at, ':', entry.len) : NULL;
        for (size_t i = word; i + 1 < entry.len && colon; i++)
            if (entry.at[i] == ':' && entry.at[i + 1] == ' ') {
                colon = entry.at + i;
                break;
            }
        *a = (ConfigAllow){.rule = {entry.at, word}};
        Str at = colon ? trimmed((Str){entry.at + word, (size_t)(colon - entry.at) - word}) : entry;
        a->reason =
            colon ? trimmed((Str){colon + 1, entry.len - (size_t)(colon - entry.at) - 1}) : STR("");
        a->at = str_starts(at, "at ") ? trimmed((Str){at.at + 3, at.len - 3}) : STR("");
        if (a->reason.len && lint_rules[lint_rule_index(str_copy(l->arena, a->rule).at)].id)
            return true;
        if (entry.len)
            diag(l->diags, "", SEV_WARNING, where,
                 "cameo.allow is not heeded: \"%.*s\" is not \"RULE: reason\"",
                 STR_ARG(str_escaped(l->arena, entry)));
    }
    return false;
}

static Allowed allowed_by_model(Lint *l)
{
    Allowed all = {.at = {.arena = l->arena}};
    ConfigAllow a;
    if (l->m->config && l->m->config->untrusted)
        return all;
    Str said = props_get(&l->m->metadata, "cameo.allow");
    while (said.len && next_allowed(l, &said, STR("graph"), &a))
        vec_push(l->arena, &all.everywhere, a);
    all.used = NEWS(l->arena, bool, all.everywhere.len + 1);
    for (NodeId n = 1; n < l->m->nodes.len; n++) {
        said = props_get(&node_at(l->m, n)->metadata, "cameo.allow");
        Str where = said.len ? location_node(l->m, l->arena, n) : STR_NONE;
        // A finding of a function's node stands at one of its calls.
        const Node *node = node_at(l->m, n);
        bool once = !node->copy_of && !graph_at(l->m, node->graph)->function;
        while (said.len && next_allowed(l, &said, where, &a))
            *map_put(&all.at, str_printf(l->arena, "%.*s %.*s", STR_ARG(a.rule), STR_ARG(where)),
                     NULL) = once ? ALLOW_IDLE : ALLOW_USED;
    }
    return all;
}

// What the model allows and no finding of a rule that ran asks for is told.
static void tell_idle(Lint *l, const Allowed *all, const char *select, const char *ignore)
{
    for (uint32_t i = 0; i < all->everywhere.len; i++) {
        const ConfigAllow *a = &all->everywhere.at[i];
        if (!all->used[i] && lint_runs(l->m->config, a->rule, select, ignore))
            diag(l->diags, "", SEV_INFO, STR("graph"),
                 "cameo.allow of %.*s%s%.*s matches no finding of this model", STR_ARG(a->rule),
                 a->at.len ? " at " : "", STR_ARG(str_escaped(l->arena, a->at)));
    }
    for (uint32_t i = 0; i < all->at.len; i++) {
        const MapEntry *e = &all->at.entries[i];
        const char *end = memchr(e->key.at, ' ', e->key.len);
        Str rule = {e->key.at, (size_t)(end - e->key.at)};
        if (e->value == ALLOW_IDLE && lint_runs(l->m->config, rule, select, ignore))
            diag(l->diags, "", SEV_INFO, (Str){end + 1, e->key.len - rule.len - 1},
                 "cameo.allow of %.*s matches no finding here", STR_ARG(rule));
    }
}

static bool model_allows(Lint *l, Allowed *all, const Diag *d)
{
    Str node = d->path;
    while (node.len && node.at[node.len - 1] != ']')
        node.len--;
    for (uint32_t i = 0; i < all->everywhere.len; i++) {
        ConfigAllow a = all->everywhere.at[i];
        a.at = a.at.len ? a.at : STR("*");
        if (allow_matches(&a, d))
            return all->used[i] = true;
    }
    uint32_t *at = all->at.len
                       ? map_get(&all->at, str_printf(l->arena, "%s %.*s", d->rule, STR_ARG(node)))
                       : NULL;
    if (at)
        *at = ALLOW_USED;
    return at != NULL;
}

// What was allowed until a day that is past is shown again, and says so.
static bool is_allowed(Lint *l, Diag *d)
{
    const Config *c = l->m->config;
    const ConfigAllow *expired = NULL;
    for (uint32_t i = 0; c && i < c->allows.len; i++) {
        if (!allow_matches(&c->allows.at[i], d))
            continue;
        if (c->allowed)
            c->allowed[i] = true;
        if (!is_expired(c->allows.at[i].expires))
            return true;
        expired = expired ? expired : &c->allows.at[i];
    }
    if (expired)
        diag_note(l->diags, d, "it was allowed until %.*s by %.*s:%u (\"%.*s\"), which has expired",
                  STR_ARG(expired->expires), STR_ARG(str_escaped(l->arena, str_of(c->path))),
                  expired->line, STR_ARG(str_escaped(l->arena, expired->reason)));
    return false;
}

enum { NRULES = sizeof lint_rules / sizeof *lint_rules }; // with the row that ends them

// Takes the findings from `first` on: those that are allowed go, levels are the configuration's,
// and they stand in the order of the rules.
static void settle(Lint *l, uint32_t first, Allowed *allowed)
{
    Diags *all = l->diags;
    uint32_t count = all->all.len - first, kept = first, ends[NRULES + 1] = {0};
    Diag **sorted = NEWS(l->arena, Diag *, count + 1);
    uint8_t *index = NEWS(l->arena, uint8_t, count + 1);
    _Static_assert(NRULES <= UINT8_MAX, "a rule's number fits a byte");
    _Static_assert((int)NRULES <= (int)TIMES_RULES, "each rule has a time");
    for (uint32_t i = 0; i < count; i++)
        ends[1 + (index[i] = (uint8_t)lint_rule_index(all->all.at[first + i]->rule))]++;
    for (uint32_t k = 0; k < NRULES; k++)
        ends[k + 1] += ends[k];
    for (uint32_t i = 0; i < count; i++)
        sorted[ends[index[i]]++] = all->all.at[first + i];
    for (uint32_t i = 0, k = 0; i < count; i++) {
        Diag *d = sorted[i];
        while (i >= ends[k])
            k++;
        const LintRule *r = &lint_rules[k];
        if (model_allows(l, allowed, d) || is_allowed(l, d))
            continue;
        // A rule's lesser findings stay lesser.
        if (r->id && d->severity == r->severity && level_of(l->m->config, r) != LEVEL_OFF)
            d->severity = (Severity)level_of(l->m->config, r);
        all->all.at[kept++] = d;
    }
    all->all.len = kept;
    all->errors = all->warnings = all->infos = 0;
    for (uint32_t i = 0; i < kept; i++) {
        Severity s = all->all.at[i]->severity;
        ++*(s == SEV_ERROR ? &all->errors : s == SEV_WARNING ? &all->warnings : &all->infos);
    }
}

static bool is_on(const Config *c, const LintRule *r, const char *select, const char *ignore)
{
    bool on = select ? lint_listed(select, r) : r->on;
    return on && !lint_listed(ignore, r) && level_of(c, r) != LEVEL_OFF;
}

bool lint_runs(const Config *c, Str id, const char *select, const char *ignore)
{
    for (const LintRule *r = lint_rules; r->id; r++)
        if (str_is(id, r->id))
            return is_on(c, r, select ? select : c->select, ignore ? ignore : c->ignore);
    return false;
}

static void prepare(Model *m, Diags *diags, Diags *inferred)
{
    uint64_t grown = (uint64_t)GROWTH * m->nodes.len;
    uint32_t copies = grown < MIN_COPIES   ? MIN_COPIES
                      : grown < UINT32_MAX ? (uint32_t)grown
                                           : UINT32_MAX;
    inline_functions(m, diags, true, copies);
    infer_model(m, inferred);
    devices_place(m);
}

void lint_prepare(Model *m, Diags *diags)
{
    prepare(m, diags, NULL);
}

static void run_rules(Lint *l, LintStage stage, const char *select, const char *ignore)
{
    for (const LintRule *r = lint_rules; r->id; r++)
        if (r->stage == stage && is_on(l->m->config, r, select, ignore))
            lint_run_rule(r, l);
}

// Rules about the file as it stands come first; the others look through calls of functions, so
// they see the model with its functions inlined. Those that look at all weights come last: where
// others asked for bounds, weights were measured while they were summed, and are not read again.
void lint_model(Model *m, Diags *diags, const char *select, const char *ignore)
{
    const Config *c = m->config;
    select = select ? select : c ? c->select : NULL;
    ignore = ignore ? ignore : c ? c->ignore : NULL;
    Lint l = {.m = m, .diags = diags, .arena = m->arena, .select = select};
    uint32_t first = diags->all.len;
    Diags inferred;
    diags_init(&inferred, m->arena, diags->file);
    l.inferred = &inferred;
    registry_bind(m);
    run_rules(&l, OF_FILE, select, ignore);
    const double begin = m->times ? times_now() : 0;
    prepare(m, diags, &inferred);
    if (m->times)
        m->times->types += times_now() - begin;
    l.uses = (Uses){0}; // the calls are inlined now
    l.by_operator = NULL;
    run_rules(&l, OF_TYPES, select, ignore);
    run_rules(&l, OF_WEIGHTS, select, ignore);
    Allowed allowed = allowed_by_model(&l);
    settle(&l, first, &allowed);
    tell_idle(&l, &allowed, select, ignore);
}

static uint32_t repair_once(Model *m, bool unsafe, const char *select, const char *ignore)
{
    uint32_t changes = 0;
    for (const LintRule *r = lint_rules; r->id; r++) {
        uint32_t made = r->repair && is_on(m->config, r, select, ignore) ? r->repair(m, unsafe) : 0;
        if (made)
            infer_model(m, NULL);
        changes += made;
    }
    // What is reported where a rule is asked for by its id is mended where it is.
    const LintRule *dead = &lint_rules[lint_rule_index("ST006")];
    if (names(select, dead, true) && is_on(m->config, dead, select, ignore))
        changes += lint_repair_sizes(m);
    const LintRule *named = &lint_rules[lint_rule_index("ST001")];
    if (names(select, named, true) && is_on(m->config, named, select, ignore))
        changes += lint_repair_node_names(m);
    return changes;
}

uint32_t lint_repair(Model *m, bool unsafe, const char *select, const char *ignore)
{
    const Config *c = m->config;
    uint32_t changes = 0, made = 1;
    select = select ? select : c ? c->select : NULL;
    ignore = ignore ? ignore : c ? c->ignore : NULL;
    // What one rule mends another may find something new in.
    for (int round = 0; made && round < MAX_REPAIRS; round++)
        changes += made = repair_once(m, unsafe, select, ignore);
    return changes;
}

uint32_t lint_repair_tensors(Model *m, bool unsafe, const char *select, const char *ignore)
{
    const Config *c = m->config;
    const LintRule *r = &lint_rules[lint_rule_index("ST003")];
    uint32_t made = is_on(c, r,
                          select ? select
                          : c    ? c->select
                                 : NULL,
                          ignore ? ignore
                          : c    ? c->ignore
                                 : NULL)
                        ? r->repair(m, unsafe)
                        : 0;
    if (made)
        infer_model(m, NULL);
    return made;
}
