#include "passes/lint/blame.h"
#include "passes/lint/faults.h"

static void blame(const Model *m, Blame *blamed, ValueId v, const Fault *f)
{
    Blame *b = &blamed[value_written(m, v)];
    b->want = f->want;
    b->declared |= f->kind == FAULT_DECLARED;
    b->alone |= f->alone;
}

static void blame_side(Lint *l, Blame *blamed, ValueId v, const Fault *f)
{
    Origin o = origin_find(lint_origins(l), v);
    origin_trace(lint_origins(l), v, &o);
    blame(l->m, blamed, o.value, f);
    for (uint32_t k = 0; k < o.others.len; k++)
        blame(l->m, blamed, o.others.at[k], f);
}

Blame *lint_blamed(Model *m, Arena *a)
{
    Lint l = {.m = m, .arena = a};
    const Faults *f = lint_faults(&l);
    Blame *blamed = NEWS(a, Blame, m->values.len);
    for (uint32_t i = 0; i < f->all.len; i++) {
        const Fault *at = &f->all.at[i];
        if ((at->kind == FAULT_DECLARED && at->other) || at->want == DT_NONE)
            continue;
        blame_side(&l, blamed, at->value, at);
        for (uint32_t k = 0; k < at->with.len; k++)
            blame_side(&l, blamed, at->with.at[k], at);
    }
    return blamed;
}
