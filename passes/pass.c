// The pass manager: a table and a loop.

#include "passes/pass.h"
#include "ir/kernel.h"
#include "ir/registry.h"
#include "passes/verify.h"

#define KERNEL_PASS(pass, text, ...)

const Pass passes[] = {
#define PASS(pass, text, ...) {.name = #pass, .doc = text, .run = pass_##pass, __VA_ARGS__},
#include "passes/passes.def"
#undef PASS
    {.name = NULL},
};

const char *const fact_names[FACT_COUNT] = {"sorted", "inlined", "typed", "lowered"};

const Pass *pass_find(Str name)
{
    for (const Pass *p = passes; p->name; p++)
        if (str_is(name, p->name))
            return p;
    return NULL;
}

// A fault of the kernels is reported as verify_model reports one of the graph.
static bool verify_kernels(const Model *m, const char *pass, PassContext *c)
{
    Str error = STR_NONE;
    if (!m->kernels || module_verify(m->kernels, &error))
        return true;
    diag(c->diags, "VERIFY", SEV_ERROR, STR("kernels"), "after %s: %.*s", pass, STR_ARG(error));
    return false;
}

// Does a model that came with faults have uses that lead nowhere, or in a circle, now that its
// nodes are in order? Lint blames them on the model (ST002); passes that rewrite graphs, and
// lowering, follow uses to what they name and need not see it.
static bool uses_are_at_fault(const Pass *p, const Model *m, PassContext *c)
{
    const uint32_t kinds = VERIFY_DANGLING | VERIFY_SCOPE | VERIFY_ORDER;
    if (!(c->known_faults & kinds) || !(p->needs & FACT_TYPED) || !(c->facts & FACT_SORTED) ||
        !verify_model(m, kinds, c->diags))
        return false;
    diag_help(c->diags, c->diags->all.at[c->diags->all.len - 1], "see `cameo lint`");
    return true;
}

bool pass_run(const Pass *p, Model *m, PassContext *c)
{
    if (!((p->needs | p->gives) & FACT_LOWERED)) { // a pass over the graph outdates the kernels
        m->kernels = NULL;
        c->facts &= ~(uint32_t)FACT_LOWERED;
    }
    if (!c->verified) { // what is wrong with the model as it came is not a pass's fault
        registry_bind(m);
        c->known_faults = verify_model(m, VERIFY_ALL & ~(uint32_t)VERIFY_TABLES, NULL);
        c->verified = true;
    }
    if (uses_are_at_fault(p, m, c))
        return false;
    if (!p->run(m, c))
        return false;
    c->facts = (c->facts & ~p->breaks) | p->gives;
    uint32_t unsorted = c->facts & FACT_SORTED ? 0 : VERIFY_ORDER;
    if (verify_model(m, VERIFY_ALL & ~(c->known_faults | unsorted), c->diags) ||
        !verify_kernels(m, p->name, c)) {
        c->broken = p->name;
        diag_note(c->diags, c->diags->all.at[c->diags->all.len - 1],
                  "this was not so before the pass %s: a bug of Cameo, please report it", p->name);
        return false;
    }
    if (c->after)
        c->after(c->user, p->name, m);
    return true;
}

static const Pass *giver_of(uint32_t fact, const PassContext *c)
{
    for (const Pass *p = passes; p->name; p++)
        if (p->gives & fact)
            return p;
    for (const Pass *p = c->kernel_passes; p && p->name; p++)
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
            if ((missing >> k & 1) && giver_of(1u << k, c)->breaks)
                breaker = 1u << k;
        uint32_t next = breaker ? breaker : missing & (0u - missing);
        if (!pass_run_needed(giver_of(next, c), m, c))
            return false;
    }
    return pass_run(p, m, c);
}

static const char *const pipeline[] = {"inline_functions", "sort_nodes",     "bind_gradients",
                                       "sort_nodes",       "eliminate_dead", "infer",
                                       "integer_products", "eliminate_dead", "fold_constants",
                                       "join_scales",      "crop_windows",   "stack_planes",
                                       "join_squares",     "join_siblings",  "split_pools",
                                       "sink_if",          "eliminate_dead"};
enum { NPIPELINE = sizeof pipeline / sizeof *pipeline };

bool pass_pipeline(Model *m, PassContext *c)
{
    for (size_t i = 0; i < NPIPELINE; i++)
        if (!pass_run(pass_find(str_of(pipeline[i])), m, c))
            return false;
    return true;
}

bool pass_pipeline_to(const Pass *last, Model *m, PassContext *c)
{
    bool on_kernels = (last->needs | last->gives) & FACT_LOWERED, on_way = on_kernels;
    for (size_t i = 0; i < NPIPELINE; i++)
        on_way = on_way || str_is(str_of(last->name), pipeline[i]);
    if (!on_way || c->facts & FACT_LOWERED) // a text of kernels has been through all before them
        return pass_run_needed(last, m, c);
    for (size_t i = 0; i < NPIPELINE; i++) {
        const Pass *p = pass_find(str_of(pipeline[i]));
        if (!pass_run(p, m, c))
            return false;
        if (p == last)
            return true;
    }
    for (const Pass *p = c->kernel_passes; p && p->name; p++) {
        if (!pass_run(p, m, c))
            return false;
        if (p == last)
            return true;
    }
    return true;
}
