// What came of rewrites, decisions near their threshold, and what would keep a budget.

#include "passes/lint/lint.h"
#include "tools/drift.h"

#include <math.h>

// ---- decisions ---------------------------------------------------------------------------------

bool drift_flip(const Drift *d, uint32_t i, DriftFlip *flip)
{
    const SensTable *t = &d->table;
    const SensDecision *at = &t->report.decisions.at[i];
    const double *margin = t->margins + i * (size_t)MARGIN_FIELDS;
    const double *own = sens_numbers(t, 0, at->record);
    double variance = 0, count = own[SENS_COUNT];
    for (uint32_t k = 0; d->precision != DRIFT_OWN && k < t->report.values.len; k++)
        variance +=
            drift_raw(d, t->decided + ((size_t)i * t->report.values.len + k) * SENS_FIELDS, k);
    if (d->precision == DRIFT_OWN)
        variance = own[SENS_ERROR];
    *flip = (DriftFlip){.margin = margin[MARGIN_LEAST],
                        .at = margin[MARGIN_AT],
                        .second = margin[MARGIN_SECOND],
                        .decisions = margin[MARGIN_COUNT],
                        .error = count > 0 ? sqrt(variance / count) : 0};
    bool any = flip->decisions > 0 && flip->error > 0;
    return any && flip->margin <= 3 * flip->error;
}

void drift_print_flips(const Drift *d, Buf *out)
{
    bool any = d->table.report.outputs.len > 0; // a report that has something to say
    for (uint32_t i = 0; i < d->table.report.decisions.len; i++) {
        const SensDecision *at = &d->table.report.decisions.at[i];
        DriftFlip f;
        if (!drift_flip(d, i, &f))
            continue;
        any = true;
        buf_printf(out, "may flip: %.*s: element %.0f of ", STR_ARG(at->path), f.at);
        buf_quoted(out, at->name);
        if (f.second >= 0)
            buf_printf(out, " is %.2e ahead of element %.0f", f.margin, f.second);
        else
            buf_printf(out, " is %.2e from where %.*s decides otherwise", f.margin,
                       STR_ARG(at->op));
        buf_printf(out, "; the error there is %.2e (1 sigma, %s)\n", f.error,
                   drift_basis_name(d->table.made_up ? BASIS_ASSUMED : BASIS_MEASURED));
    }
    if (!any)
        buf_printf(out, "firm: none of %u decisions stands within three times the error\n",
                   d->table.report.decisions.len);
}

void drift_json_flips(const Drift *d, Json *j)
{
    json_key(j, "decisions");
    json_array(j);
    for (uint32_t i = 0; i < d->table.report.decisions.len; i++) {
        const SensDecision *at = &d->table.report.decisions.at[i];
        DriftFlip f;
        bool may = drift_flip(d, i, &f);
        json_object(j);
        json_key(j, "op");
        json_str(j, at->op);
        json_key(j, "path");
        json_str(j, at->path);
        json_key(j, "value");
        json_str(j, at->name);
        json_key(j, "decisions");
        json_num(j, f.decisions);
        json_key(j, "margin");
        json_num(j, f.margin);
        json_key(j, "element");
        json_num(j, f.at);
        json_key(j, "second");
        json_num(j, f.second);
        json_key(j, "sigma");
        json_num(j, f.error);
        json_key(j, "may_flip");
        json_bool(j, may);
        json_end_object(j);
    }
    json_end_array(j);
}

// ---- formulas written otherwise ----------------------------------------------------------------

static bool gains(const DriftOutput *x, double after)
{
    return after < 0.9 * x->measured || (isfinite(after) && !isfinite(x->measured));
}

const DriftRewrite *drift_best_rewrite(const Drift *d, uint32_t *output)
{
    const DriftRewrite *best = NULL;
    double most = 0;
    for (uint32_t i = 0; i < d->nrewrites; i++)
        for (uint32_t o = 0; d->rewrites[i].ran && o < d->table.report.outputs.len; o++) {
            double after = d->rewrites[i].after[o], gain = d->outputs[o].measured / after;
            if (after < 0 || !gains(&d->outputs[o], after) || !(gain > most))
                continue;
            most = gain;
            best = &d->rewrites[i];
            *output = o;
        }
    return best;
}

static void put_error(double error, Buf *out)
{
    if (isfinite(error))
        buf_printf(out, "%.2e", error);
    else
        buf_printf(out, "not finite");
}

static void put_outcome(const Drift *d, const DriftRewrite *r, uint32_t o, Buf *out)
{
    const DriftOutput *x = &d->outputs[o];
    buf_printf(out, "  error of ");
    buf_quoted(out, d->table.report.outputs.at[o].name);
    buf_char(out, ' ');
    put_error(r->after[o], out);
    buf_printf(out, " instead of ");
    put_error(x->measured, out);
    buf_printf(out, " (measured; %.2e predicted without these nodes)%s\n", r->predicted[o],
               gains(x, r->after[o]) ? "" : ": no gain");
}

void drift_print_rewrites(const Drift *d, Buf *out)
{
    for (uint32_t i = 0; i < d->nrewrites; i++) {
        const DriftRewrite *r = &d->rewrites[i];
        bool any = false;
        buf_printf(out, "rewrite: %s, %s (%s, %u place%s)\n", r->rule->name, r->rule->doc,
                   r->rule->id, r->places, r->places == 1 ? "" : "s");
        if (!r->ran)
            buf_printf(out, "  the model so changed could not be run\n");
        for (uint32_t o = 0; r->ran && o < d->table.report.outputs.len; o++)
            if (r->after[o] >= 0) {
                put_outcome(d, r, o, out);
                any = any || gains(&d->outputs[o], r->after[o]);
            }
        if (any)
            buf_printf(out, "  cameo lint --select %s --unsafe-fixes writes it\n", r->rule->id);
    }
}

void drift_json_rewrites(const Drift *d, Json *j)
{
    json_key(j, "rewrites");
    json_array(j);
    for (uint32_t i = 0; i < d->nrewrites; i++) {
        const DriftRewrite *r = &d->rewrites[i];
        json_object(j);
        json_key(j, "rule");
        json_str(j, str_of(r->rule->id));
        json_key(j, "places");
        json_int(j, r->places);
        json_key(j, "ran");
        json_bool(j, r->ran);
        json_key(j, "outputs");
        json_array(j);
        for (uint32_t o = 0; r->ran && o < d->table.report.outputs.len; o++) {
            if (r->after[o] < 0)
                continue;
            json_object(j);
            json_key(j, "name");
            json_str(j, d->table.report.outputs.at[o].name);
            json_key(j, "measured_before");
            json_num(j, d->outputs[o].measured);
            json_key(j, "measured_then");
            json_num(j, r->after[o]);
            json_key(j, "predicted_then");
            json_num(j, r->predicted[o]);
            json_key(j, "gains");
            json_bool(j, gains(&d->outputs[o], r->after[o]));
            json_end_object(j);
        }
        json_end_array(j);
        json_end_object(j);
    }
    json_end_array(j);
}

// ---- what would keep a budget ------------------------------------------------------------------

static const char *better(const Drift *d)
{
    return d->precision == DRIFT_OWN || d->precision == DRIFT_F32 ? "float64" : "float32";
}

static void put_tried(const DriftAdvice *a, uint32_t all, Buf *out)
{
    buf_printf(out, ": with %u of %u the error is ", a->values, all);
    put_error(a->after, out);
    buf_printf(out, " instead of ");
    put_error(a->before, out);
    buf_printf(out, " (measured)");
}

void drift_print_advice(const Drift *d, Buf *out)
{
    uint32_t all = d->table.report.values.len;
    for (uint32_t o = 0; o < d->table.report.outputs.len; o++) {
        const DriftOutput *x = &d->outputs[o];
        const DriftAdvice *a = &x->advice;
        if (!drift_is_over(x))
            continue;
        buf_printf(out, "the budget of ");
        buf_quoted(out, d->table.report.outputs.at[o].name);
        if (!a->holds) {
            buf_printf(out, " was not kept by any choice of values in %s", better(d));
            if (a->tried)
                put_tried(a, all, out);
            buf_printf(out, "\n");
            continue;
        }
        uint32_t n = a->values, shown = n < 5 ? n : 5;
        buf_printf(out,
                   " is kept with %u of %u values in %s: error %.2e at most (predicted), %.2e "
                   "instead of ",
                   n, all, better(d), a->predicted, a->after);
        put_error(a->before, out);
        buf_printf(out, " (measured):");
        for (uint32_t i = 0; i < shown; i++) {
            buf_printf(out, "%s ", i ? "," : "");
            buf_quoted(out, d->table.report.values.at[d->remedy[i]].name);
        }
        buf_printf(out, n > shown ? " and %u others\n" : "\n", n - shown);
    }
}

void drift_json_advice(const Drift *d, uint32_t o, Json *j)
{
    const DriftAdvice *a = &d->outputs[o].advice;
    json_key(j, "keep");
    json_array(j);
    for (uint32_t i = 0; a->holds && i < a->values; i++)
        json_str(j, d->table.report.values.at[d->remedy[i]].name);
    json_end_array(j);
    json_key(j, "kept_in");
    json_str(j, str_of(better(d)));
    json_key(j, "keeps");
    json_bool(j, a->holds);
    json_key(j, "predicted_then");
    json_num(j, a->predicted);
    if (a->tried) {
        json_key(j, "measured_before");
        json_num(j, a->before);
        json_key(j, "measured_then");
        json_num(j, a->after);
    }
}
