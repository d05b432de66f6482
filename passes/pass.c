// The pass manager: a table and a loop.

#include "passes/pass.h"
#include "passes/verify.h"

const Pass passes[] = {
#define PASS(name, doc) {#name, doc, pass_##name},
#include "passes/passes.def"
#undef PASS
    {NULL, NULL, NULL},
};

const Pass *pass_find(Str name)
{
    for (const Pass *p = passes; p->name; p++)
        if (str_is(name, p->name))
            return p;
    return NULL;
}

bool pass_run(const Pass *p, Model *m, PassContext *c)
{
    if (!p->run(m, c))
        return false;
    if (!verify_model(m, c->diags))
        return false;
    if (c->after)
        c->after(c->user, p->name, m);
    return true;
}

bool pass_pipeline(Model *m, PassContext *c)
{
    static const char *const order[] = {"inline_functions", "sort_nodes", "eliminate_dead", "infer",
                                        "fold_constants"};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (!pass_run(pass_find(str_of(order[i])), m, c))
            return false;
    return true;
}
