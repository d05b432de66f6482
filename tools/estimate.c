#include "tools/estimate.h"
#include "tools/drift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const ConfigBudget *budget_of(const Config *config, Str output)
{
    for (uint32_t i = 0; i < config->budgets.len; i++) {
        const ConfigBudget *b = &config->budgets.at[i];
        if (!b->output.len || str_eq(b->output, output))
            return b;
    }
    return NULL;
}

// The parts of output o's variance, those of the greatest three by name.
static void find_parts(const Drift *d, uint32_t o, Arena *a, Estimate *e)
{
    const SensReport *r = &d->table.report;
    double total = 0, named = 0;
    for (uint32_t k = 0; k < r->values.len; k++) {
        const SensValue *v = &r->values.at[k];
        DriftBasis basis;
        EstimatePart part = {v->path, v->dtype, drift_variance(d, o, k, d->precision, &basis)};
        if (!(part.share > 0))
            continue;
        total += part.share;
        e->assumed |= basis == BASIS_ASSUMED;
        e->others++;
        for (uint32_t i = 0; i < ESTIMATE_PARTS; i++)
            if (i == e->nparts || part.share > e->parts[i].share) {
                EstimatePart moved = e->parts[i];
                bool last = i == e->nparts;
                e->parts[i] = part;
                part = moved;
                e->nparts += last;
                if (last)
                    break;
            }
    }
    for (uint32_t i = 0; i < e->nparts; i++) {
        e->parts[i].path = str_copy(a, e->parts[i].path);
        e->parts[i].share /= total;
        named += e->parts[i].share;
    }
    e->others -= e->nparts;
    e->rest = fmax(0, 1 - named);
}

static bool knows_outputs(const Tool *t, Arena *a, const Config *config, const SensReport *r)
{
    for (uint32_t i = 0; i < config->budgets.len; i++) {
        const ConfigBudget *b = &config->budgets.at[i];
        bool found = !b->output.len;
        for (uint32_t o = 0; o < r->outputs.len; o++)
            found |= str_eq(r->outputs.at[o].name, b->output);
        if (!found)
            return tool_error(t, false,
                              "budget %.*s: the model has no output of floats of that name",
                              STR_ARG(str_escaped(a, b->output)));
    }
    return true;
}

int estimate_outputs(const Tool *t, const Config *config, const char *model, const char *folder,
                     Arena *a, EstimateSet **set)
{
    Drift d = {.model = model};
    SensOptions o = {.model = model, .data = &folder, .ndata = 1};
    int status = drift_measure(t, &o, &d);
    if (!status && !knows_outputs(t, a, config, &d.table.report))
        status = EXIT_USAGE;
    *set = NEW(a, EstimateSet);
    (*set)->sets = d.table.sets;
    for (uint32_t i = 0; !status && i < d.table.report.outputs.len; i++) {
        Str name = d.table.report.outputs.at[i].name;
        const ConfigBudget *b = budget_of(config, name);
        if (!b)
            continue;
        Estimate e = {.output = str_copy(a, name), .sigma = b->sigma, .budget = b->relative};
        e.error = d.outputs[i].bound / 3 * b->sigma;
        e.measured = d.outputs[i].measured;
        find_parts(&d, i, a, &e);
        vec_push(a, &(*set)->all, e);
    }
    sens_free(&d.table);
    return status;
}

bool estimate_take_budget(const Tool *t, Arena *a, Config *config, const char *text)
{
    const char *equals = strrchr(text, '='), *number = equals ? equals + 1 : text;
    char *end;
    ConfigBudget b = {.relative = strtod(number, &end), .sigma = 3};
    if (end == number || *end || !(b.relative > 0) || !isfinite(b.relative))
        return tool_error(t, false, "--budget %s: OUT=REL with a number above 0", text);
    if (equals)
        b.output = str_copy(a, (Str){text, (size_t)(equals - text)});
    vec_push(a, &config->budgets, b);
    return true;
}
