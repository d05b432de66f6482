#include "passes/lint/lint.h"
#include "ir/infer.h"

#include <string.h>

const LintRule lint_rules[] = {
#define RULE(id, name, severity, on, fix, doc, fn) {#id, name, severity, on, fix, doc, fn},
#include "passes/lint/rules.def"
#undef RULE
    {NULL, NULL, SEV_INFO, false, NULL, NULL, NULL},
};

bool lint_listed(const char *list, const LintRule *r)
{
    for (const char *p = list; p && *p;) {
        size_t n = strcspn(p, ",");
        bool all = n == 3 && memcmp(p, "ALL", 3) == 0;
        bool family =
            n < strlen(r->id) && memcmp(p, r->id, n) == 0 && n >= 2 && r->severity != SEV_INFO;
        if (all || family || (n == strlen(r->id) && memcmp(p, r->id, n) == 0))
            return true;
        p += n + (p[n] == ',');
    }
    return false;
}

void lint_model(Model *m, Diags *diags, const char *select, const char *ignore)
{
    Lint l = {m, diags, m->arena};
    infer_model(m, NULL);
    for (const LintRule *r = lint_rules; r->id; r++)
        if ((select ? lint_listed(select, r) : r->on) && !lint_listed(ignore, r))
            r->run(&l);
}
