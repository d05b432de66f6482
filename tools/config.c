#include "tools/config.h"
#include "tools/contracts.h"

bool tool_config(const Tool *t, Arena *a, const char *model_path, Config *config)
{
    Diags diags;
    (void)t;
    diags_init(&diags, a, STR_NONE);
    bool ok = config_read(a, model_path, config, &diags);
    if (!ok || tool_style.verbose)
        tool_print_diags(&diags);
    return ok;
}

bool tool_config_of_program(const Tool *t, Arena *a, const char *model_path, Model *m)
{
    Config *c = NEW(a, Config);
    if (!tool_config(t, a, model_path, c))
        return false;
    c->select = c->ignore = NULL;
    c->levels.len = c->allows.len = 0;
    m->config = c;
    return tool_contracts(t, a, c, m, &m->contracts);
}

static void show(const Config *c, const char *key, const char *value, const char *by, uint32_t line)
{
    printf("%-10s %s", key, value);
    if (by)
        printf("  (%s)\n", by);
    else if (line)
        printf("  (%s:%u)\n", c->path, line);
    else
        printf("  (default)\n");
}

static void show_choices(const Config *c, const ConfigSaid *said)
{
    const char *select = said->select ? said->select : c->select;
    const char *ignore = said->ignore ? said->ignore : c->ignore;
    const Target *target = said->target ? said->target : c->target;
    int fail_on = said->fail_on != LEVEL_OFF ? said->fail_on : c->fail_on;
    show(c, "config", c->path ? c->path : "none", c->path ? "nearest cameo.yaml" : NULL, 0);
    show(c, "select", select ? select : "the default rules", said->select ? said->select_by : NULL,
         c->select_line);
    show(c, "ignore", ignore ? ignore : "none", said->ignore ? "--ignore" : NULL, c->ignore_line);
    show(c, "fail-on", fail_on == SEV_WARNING ? "warn" : "error",
         said->fail_on != LEVEL_OFF ? "--fail-on" : NULL, c->fail_on_line);
    show(c, "target", target ? target->name : "none", said->target ? "--target" : NULL,
         c->target_line);
}

static void show_numbers(const Config *c, Buf *b)
{
    const struct {
        const char *key;
        uint64_t value;
        uint32_t line;
    } limits[] = {{"max-depth", c->max_depth, c->depth_line},
                  {"max-nodes", c->max_nodes, c->nodes_line},
                  {"max-metadata-mb", c->max_metadata >> 20, c->metadata_line},
                  {"max-memory-mb", c->max_memory >> 20, c->memory_line}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        b->len = 0;
        buf_printf(b, "%s: %llu", limits[i].key, (unsigned long long)limits[i].value);
        if (limits[i].line)
            show(c, "limits", b->at, NULL, limits[i].line);
    }
    for (uint32_t i = 0; i < c->ranges.len; i++) {
        const ConfigRange *range = &c->ranges.at[i];
        b->len = 0;
        buf_escaped(b, range->input);
        buf_printf(b, ": [%g, %g]", range->lo, range->hi);
        show(c, "ranges", b->at, NULL, range->line);
    }
    for (uint32_t i = 0; i < c->budgets.len; i++) {
        const ConfigBudget *budget = &c->budgets.at[i];
        b->len = 0;
        buf_escaped(b, budget->output);
        buf_printf(b, ": rel %g, sigma %g", budget->relative, budget->sigma);
        show(c, "budget", b->at, NULL, budget->line);
    }
}

static void show_customs(const Config *c, Buf *b)
{
    for (uint32_t i = 0; i < c->customs.len; i++) {
        const ConfigCustom *custom = &c->customs.at[i];
        b->len = 0;
        buf_escaped(b, custom->domain);
        for (uint32_t k = 0; k < custom->sources.len; k++) {
            buf_printf(b, k ? ", " : ": ");
            buf_escaped(b, custom->sources.at[k]);
        }
        for (uint32_t k = 0; k < custom->ops.len; k++) {
            buf_printf(b, "; ");
            buf_escaped(b, custom->ops.at[k].op);
            buf_printf(b, " is ");
            buf_escaped(b, custom->ops.at[k].symbol);
        }
        show(c, "custom", b->at, NULL, custom->line);
    }
}

void config_show(const Config *c, const ConfigSaid *said)
{
    static const char *const levels[] = {"off", "info", "warning", "error"};
    show_choices(c, said);
    Buf b = {0};
    for (uint32_t i = 0; i < c->levels.len; i++) {
        const ConfigLevel *l = &c->levels.at[i];
        b.len = 0;
        buf_escaped(&b, l->rule);
        buf_printf(&b, ": %s", levels[l->level + 1]);
        show(c, "severity", b.at, NULL, l->line);
    }
    for (uint32_t i = 0; i < c->params.len; i++) {
        const ConfigParam *p = &c->params.at[i];
        b.len = 0;
        buf_escaped(&b, p->rule);
        buf_printf(&b, ": %.*s %g", STR_ARG(p->key), p->value);
        show(c, "rules", b.at, NULL, p->line);
    }
    for (uint32_t i = 0; i < c->places.len; i++) {
        b.len = 0;
        buf_quoted(&b, c->places.at[i].at);
        buf_printf(&b, " on ");
        buf_escaped(&b, c->places.at[i].device);
        show(c, "place", b.at, NULL, c->places.at[i].line);
    }
    for (uint32_t i = 0; i < c->allows.len; i++) {
        const ConfigAllow *a = &c->allows.at[i];
        b.len = 0;
        buf_escaped(&b, a->rule);
        buf_printf(&b, " at ");
        buf_quoted(&b, a->at);
        buf_printf(&b, ": ");
        buf_escaped(&b, a->reason);
        if (a->expires.len)
            buf_printf(&b, " (until %.*s)", STR_ARG(a->expires));
        show(c, "allow", b.at, NULL, a->line);
    }
    show_numbers(c, &b);
    show_customs(c, &b);
    buf_free(&b);
}
