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

// A value's part of the variance of an output.
typedef struct Part {
    double variance;
    uint32_t value; // of the table's
} Part;

static int by_variance(const void *a, const void *b)
{
    const Part *x = a, *y = b;
    return x->variance != y->variance ? (x->variance < y->variance) - (x->variance > y->variance)
                                      : (x->value > y->value) - (x->value < y->value);
}

// The parts of output o's variance, the greatest first; their number, and in *total their sum.
static uint32_t parts_of(const Drift *d, uint32_t o, Arena *a, Part **parts, double *total,
                         bool *assumed)
{
    const SensReport *r = &d->table.report;
    uint32_t n = 0;
    *parts = NEWS(a, Part, r->values.len + 1u);
    *total = 0;
    for (uint32_t k = 0; k < r->values.len; k++) {
        DriftBasis basis;
        double variance = drift_variance(d, o, k, &basis);
        if (!(variance > 0))
            continue;
        (*parts)[n++] = (Part){variance, k};
        *total += variance;
        *assumed |= basis == BASIS_ASSUMED;
    }
    if (n)
        qsort(*parts, n, sizeof **parts, by_variance);
    return n;
}

// The fewest parts in 16 bits without which the output keeps its budget, with a tenth to spare.
static void find_widened(const SensReport *r, const Part *parts, uint32_t n, double total, Arena *a,
                         Estimate *e)
{
    double all = fmax(e->error, e->measured), left = 1;
    double limit = 0.81 * (e->budget / all) * (e->budget / all);
    e->widen = NEWS(a, Str, n + 1u);
    for (uint32_t i = 0; i < n && left > limit; i++) {
        const SensValue *v = &r->values.at[parts[i].value];
        if (v->kind != SENS_OF_NODE || (v->dtype != DT_F16 && v->dtype != DT_BF16))
            continue;
        left -= parts[i].variance / total;
        e->widen[e->nwiden++] = str_copy(a, v->name);
    }
    e->widened = all * sqrt(fmax(left, 0));
    if (left > limit)
        e->nwiden = 0;
}

static void find_parts(const Drift *d, uint32_t o, Arena *a, Estimate *e)
{
    const SensReport *r = &d->table.report;
    Part *parts;
    double total, named = 0;
    uint32_t n = parts_of(d, o, a, &parts, &total, &e->assumed);
    for (; e->nparts < n && e->nparts < ESTIMATE_PARTS; e->nparts++) {
        const SensValue *v = &r->values.at[parts[e->nparts].value];
        double share = parts[e->nparts].variance / total;
        e->parts[e->nparts] = (EstimatePart){str_copy(a, v->path), v->dtype, share};
        named += share;
    }
    e->others = n - e->nparts;
    e->rest = fmax(0, 1 - named);
    if (e->error > e->budget || e->measured > e->budget)
        find_widened(r, parts, n, total, a, e);
}

// What an option names has to be there. What cameo.yaml names may be another model's output, which
// linting tells where no model has it.
static bool knows_outputs(const Tool *t, Arena *a, const Config *config, const SensReport *r)
{
    const char **names = NEWS(a, const char *, r->outputs.len + 1u);
    for (uint32_t o = 0; o < r->outputs.len; o++)
        names[o] = str_copy(a, r->outputs.at[o].name).at;
    for (uint32_t i = 0; i < config->budgets.len; i++) {
        const ConfigBudget *b = &config->budgets.at[i];
        bool found = !b->output.len || b->line;
        for (uint32_t o = 0; o < r->outputs.len; o++)
            found |= str_eq(r->outputs.at[o].name, b->output);
        if (found)
            continue;
        const char *near = str_nearest(b->output, names, r->outputs.len);
        return tool_error(
            t, false, "--budget %.*s: the model has no output of floats of that name%s%.*s%s",
            STR_ARG(str_escaped(a, b->output)), near ? "; did you mean \"" : "",
            STR_ARG(near ? str_escaped(a, str_of(near)) : STR_NONE), near ? "\"?" : "");
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
