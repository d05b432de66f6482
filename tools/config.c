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

void config_show(const Config *c, const char *target_by, const char *select_by,
                 const char *ignore_by, const char *select, const char *ignore)
{
    static const char *const levels[] = {"off", "info", "warning", "error"};
    select = select ? select : c->select;
    ignore = ignore ? ignore : c->ignore;
    show(c, "config", c->path ? c->path : "none", c->path ? "nearest cameo.yaml" : NULL, 0);
    show(c, "select", select ? select : "the default rules", select_by, c->select_line);
    show(c, "ignore", ignore ? ignore : "none", ignore_by, c->ignore_line);
    show(c, "fail-on", c->fail_on == SEV_WARNING ? "warn" : "error", NULL, c->fail_on_line);
    show(c, "target", c->target ? c->target->name : "none", target_by, c->target_line);
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
    buf_free(&b);
}
