// The pass manager: a table and a loop.

#include "passes/pass.h"
#include "passes/verify.h"

const Pass passes[] = {
#define PASS(pass, text, ...) {.name = #pass, .doc = text, .run = pass_##pass, __VA_ARGS__},
#include "passes/passes.def"
#undef PASS
    {.name = NULL},
};

const char *const fact_names[FACT_COUNT] = {"sorted", "inlined", "typed"};

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
    c->facts = (c->facts & ~p->breaks) | p->gives;
    if (c->after)
        c->after(c->user, p->name, m);
    return true;
}

static const Pass *giver_of(uint32_t fact)
{
    for (const Pass *p = passes; p->name; p++)
        if (p->gives & fact)
            return p;
    return NULL;
}

bool pass_run_needed(const Pass *p, Model *m, PassContext *c)
{
    // A giver may break what an earlier one gave, so look again from the top. Each round adds a
    // fact that nothing after it breaks, or ends.
    for (int round = 0; (p->needs & ~c->facts) && round < FACT_COUNT * FACT_COUNT; round++) {
        uint32_t missing = p->needs & ~c->facts, breaker = 0;
        for (uint32_t k = 0; k < FACT_COUNT; k++)
            if ((missing >> k & 1) && giver_of(1u << k)->breaks)
                breaker = 1u << k;
        uint32_t next = breaker ? breaker : missing & (0u - missing);
        if (!pass_run_needed(giver_of(next), m, c))
            return false;
    }
    return pass_run(p, m, c);
}

bool pass_pipeline(Model *m, PassContext *c)
{
    static const char *const order[] = {"inline_functions", "sort_nodes", "eliminate_dead", "infer",
                                        "fold_constants",   "sink_if",    "eliminate_dead"};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (!pass_run(pass_find(str_of(order[i])), m, c))
            return false;
    return true;
}
