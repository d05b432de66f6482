// What is advised is tried: the model is run as the advice says, beside its float64 shadow, and
// only what then keeps the budget is given.

#include "tools/drift_parts.h"

#include <math.h>

enum { TRIES = 4 };

// What is tried is compiled once for so many times the values of the first try.
enum { AHEAD = 4 };

// The relative error of output o with the first n values of the order better, measured; negative:
// it cannot be run so.
static double check(DriftTrial *x, uint32_t o, uint32_t n)
{
    const Drift *d = x->d;
    uint32_t all = d->table.report.values.len;
    bool widens = d->precision == DRIFT_OWN;
    if (x->s.model && widens && n > x->widens)
        drift_trial_close(x);
    if (!x->s.model || (widens && n > x->widens)) {
        *x = (DriftTrial){.tool = x->tool, .sens = x->sens, .d = d};
        x->widens = AHEAD * n < all ? AHEAD * n : all;
        if (drift_trial_open(x) != EXIT_CLEAN)
            return -1;
    }
    if (widens)
        for (uint32_t i = 0; i < all; i++)
            x->modes[d->remedy[i]] = i < n ? TRIAL_WIDE : TRIAL_OWN;
    else
        drift_trial_round(x, n);
    return drift_trial_run(x) == EXIT_CLEAN ? x->outputs[o].rms : -1;
}

// How many of the remedy's values, at least `from`, have to be computed without error for the rest
// to keep the budget; *left is what remains. Where the error is not finite it is what overflows
// that makes it so, and the rest is as predicted.
static uint32_t needed(const Drift *d, uint32_t o, uint32_t from, double *left)
{
    const DriftOutput *x = &d->outputs[o];
    double bound = isfinite(x->bound) ? x->bound : x->linear;
    double rest = bound * bound, factor = rest / (x->predicted * x->predicted);
    uint32_t i = 0, n = d->table.report.values.len;
    from = from < d->noverflows ? d->noverflows : from;
    for (; i < n && (i < from || rest > x->budget * x->budget); i++) {
        DriftBasis basis;
        rest -= factor * drift_variance(d, o, d->remedy[i], &basis);
    }
    *left = sqrt(rest > 0 ? rest : 0);
    return i;
}

static void try_advice(DriftTrial *x, uint32_t o, DriftAdvice *a)
{
    const DriftOutput *out = &x->d->outputs[o];
    uint32_t all = x->d->table.report.values.len, from = 0;
    a->before = out->measured;
    for (int i = 0; i < TRIES && from <= all && !a->holds && a->before >= 0; i++) {
        a->values = needed(x->d, o, i == TRIES - 1 ? all : from, &a->predicted);
        a->after = check(x, o, a->values);
        a->tried = a->after >= 0;
        a->holds = a->tried && a->after <= out->budget && a->after < a->before;
        from = a->values == all ? all + 1 : 2 * a->values < all ? 2 * a->values : all;
    }
}

void drift_advise(const Tool *t, const SensOptions *sens, Drift *d)
{
    DriftTrial x = {.tool = t, .sens = sens, .d = d};
    for (uint32_t o = 0; o < d->table.report.outputs.len; o++) {
        DriftOutput *out = &d->outputs[o];
        if (drift_is_over(out) && out->predicted > 0)
            try_advice(&x, o, &out->advice);
    }
    if (x.s.arena)
        drift_trial_close(&x);
}
