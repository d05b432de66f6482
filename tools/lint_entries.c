// What cameo.yaml names that no model has: what was meant does not hold, and nothing else would say
// so. One file serves many models, so entries are told once, of all that were looked at.

#include "base/map.h"
#include "passes/lint/lint.h"
#include "tools/lint.h"

#include <stdio.h>

enum { MAX_NAMES = 1 << 16 }; // of a model's, among which a misspelt one is looked for

typedef struct Taking {
    Arena *arena;
    const Config *config;
    const Model *m;
    LintResult *result;
} Taking;

static LintEntry *take(Taking *t, uint32_t line, const char *key, Str at, bool used)
{
    LintEntry e = {.key = str_of(key), .at = at, .used = used};
    e.place = str_printf(t->arena, "%.*s:%u",
                         STR_ARG(str_escaped(t->arena, str_of(t->config->path))), line);
    vec_push(t->arena, &t->result->entries, e);
    return &t->result->entries.at[t->result->entries.len - 1];
}

static void take_allows(Taking *t, const LintRun *r)
{
    for (uint32_t i = 0; i < t->config->allows.len; i++) {
        const ConfigAllow *a = &t->config->allows.at[i];
        if (lint_runs(t->config, a->rule, r->select, r->ignore))
            take(t, a->line, "allow", a->at, t->config->allowed[i])->rule = a->rule;
    }
}

// Which places that no node was left to does the node match, by its location or its name?
static void match_places(const Taking *t, NodeId n, bool *used, bool *named)
{
    const Str name = node_at(t->m, n)->name;
    Str location = STR_NONE;
    for (uint32_t i = 0; i < t->config->places.len; i++) {
        const Str at = t->config->places.at[i].at;
        if (used[i])
            continue;
        named[i] |= glob_match(at, name);
        if (!str_starts(at, "/") && !location.len)
            location = location_node(t->m, t->arena, n);
        used[i] = glob_match(at, str_starts(at, "/") ? name : location);
    }
}

// An entry that no node was left to is no mistake in its name. A name without the '/' in front that
// tells names from locations is one.
static void take_places(Taking *t)
{
    const uint32_t count = t->config->places.len;
    bool *used = NEWS(t->arena, bool, count), *named = NEWS(t->arena, bool, count), all = true;
    for (uint32_t i = 0; i < count; i++) {
        used[i] = t->config->placed[i];
        all &= used[i];
    }
    for (NodeId n = 1; !all && n < t->m->nodes.len; n++)
        match_places(t, n, used, named);
    for (uint32_t i = 0; i < count; i++) {
        const ConfigPlace *p = &t->config->places.at[i];
        LintEntry *e = take(t, p->line, "place", p->at, used[i]);
        if (named[i] && !used[i])
            e->near = str_printf(t->arena, "*node[%.*s]", STR_ARG(p->at));
    }
}

static Str nearest_of(const Taking *t, Str name, const Map *names)
{
    uint32_t n = names->len < MAX_NAMES ? names->len : MAX_NAMES;
    const char **all = NEWS(t->arena, const char *, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        all[i] = str_copy(t->arena, names->entries[i].key).at;
    const char *near = str_nearest(name, all, n);
    return near ? str_of(near) : STR_NONE;
}

static void take_name(Taking *t, uint32_t line, const char *key, Str name, const Map *names)
{
    LintEntry *e = take(t, line, key, name, map_get(names, name) != NULL);
    if (!e->used)
        e->near = nearest_of(t, name, names);
}

static void take_interface(Taking *t)
{
    const Graph *g = graph_at(t->m, t->m->main);
    Map inputs = {.arena = t->arena}, outputs = {.arena = t->arena};
    for (uint32_t i = 0; i < g->inputs.len; i++)
        map_put(&inputs, value_at(t->m, g->inputs.at[i].value)->name, NULL);
    for (uint32_t i = 0; i < g->outputs.len; i++)
        map_put(&outputs, value_at(t->m, g->outputs.at[i].value)->name, NULL);
    for (uint32_t i = 0; i < t->config->ranges.len; i++)
        take_name(t, t->config->ranges.at[i].line, "ranges", t->config->ranges.at[i].input,
                  &inputs);
    for (uint32_t i = 0; i < t->config->budgets.len; i++) {
        const ConfigBudget *b = &t->config->budgets.at[i];
        if (b->line && b->output.len) // else it is the command line's, or any output's
            take_name(t, b->line, "budget", b->output, &outputs);
    }
}

// An operator is told where its domain is there.
static void take_customs(Taking *t)
{
    for (uint32_t i = 0; i < t->config->customs.len; i++) {
        const ConfigCustom *c = &t->config->customs.at[i];
        Map domains = {.arena = t->arena}, ops = {.arena = t->arena};
        for (NodeId n = 1; n < t->m->nodes.len; n++) {
            const Node *node = node_at(t->m, n);
            if (node->domain.len)
                map_put(&domains, node->domain, NULL);
            if (str_eq(node->domain, c->domain))
                map_put(&ops, node->op, NULL);
        }
        take_name(t, c->line, "custom", c->domain, &domains);
        for (uint32_t k = 0; ops.len && k < c->ops.len; k++)
            take_name(t, c->ops.at[k].line, "ops", c->ops.at[k].op, &ops);
    }
}

void lint_take_entries(const LintRun *r, const Config *c, const Model *m, LintResult *result)
{
    Taking t = {r->arena, c, m, result};
    take_allows(&t, r);
    take_places(&t);
    take_interface(&t);
    take_customs(&t);
}

// Of a model that could not be looked at nobody knows what it has.
void lint_sum_entries(LintRun *r)
{
    Map seen = {.arena = r->arena};
    LintEntries all = {0};
    for (uint32_t f = 0; f < r->results.len; f++) {
        const LintResult *one = &r->results.at[f];
        if (one->status == EXIT_BYTES || one->status == EXIT_BUG)
            return;
        for (uint32_t i = 0; i < one->entries.len; i++) {
            const LintEntry *e = &one->entries.at[i];
            bool added;
            uint32_t *at = map_put(&seen,
                                   str_printf(r->arena, "%.*s %.*s %.*s %.*s", STR_ARG(e->place),
                                              STR_ARG(e->key), STR_ARG(e->rule), STR_ARG(e->at)),
                                   &added);
            if (added) {
                *at = all.len;
                vec_push(r->arena, &all, *e);
            }
            all.at[*at].used |= e->used;
            if (!all.at[*at].near.len)
                all.at[*at].near = e->near;
        }
    }
    for (uint32_t i = 0; i < all.len; i++)
        if (!all.at[i].used)
            vec_push(r->arena, &r->idle, all.at[i]);
}

static const struct {
    const char *key, *lacks;
} kinds[] = {{"place", "node that place names:"},
             {"ranges", "input that ranges names:"},
             {"budget", "output that budget names:"},
             {"custom", "operator of the domain that custom names:"},
             {"ops", "operator that ops of custom names:"}};

// What is nearly a name that is there was probably meant; the rest may be another model's.
void lint_tell_entries(const LintRun *r)
{
    const bool one = r->results.len == 1;
    for (uint32_t i = 0; i < r->idle.len; i++) {
        const LintEntry *e = &r->idle.at[i];
        Str at = str_escaped(r->arena, e->at), near = str_escaped(r->arena, e->near);
        if (tool_style.quiet && !near.len)
            continue;
        if (str_is(e->key, "allow"))
            fprintf(stderr, "%.*s: note: allow of %.*s at \"%.*s\" matches no finding of %s\n",
                    STR_ARG(e->place), STR_ARG(e->rule), STR_ARG(at),
                    one ? "this model" : "these models");
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (str_is(e->key, kinds[k].key))
                fprintf(stderr, "%.*s: %s: %s no %s \"%.*s\"%s%.*s%s\n", STR_ARG(e->place),
                        near.len ? "warning" : "note", one ? "this model has" : "these models have",
                        kinds[k].lacks, STR_ARG(at), near.len ? "; did you mean \"" : "",
                        STR_ARG(near), near.len ? "\"?" : "");
    }
}
