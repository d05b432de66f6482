// The report of cameo drift as text and JSON.

#include "base/json.h"
#include "passes/lint/lint.h"
#include "tools/drift.h"
#include "tools/tails.h"

#include <math.h>

enum { NAME_WIDTH = 34, OP_WIDTH = 18 };

// In the summary: the least share of a value that is told, and where there is enough of them.
static const double LEAST_TOLD = 0.1, MOST = 0.8;

static void put_text(Buf *out, Str name, size_t width)
{
    Buf text = {0};
    buf_escaped(&text, name);
    size_t skip = text.len > width ? text.len - width + 2 : 0;
    buf_printf(out, "%s%-*s ", skip ? ".." : "", (int)(skip ? width - 2 : width),
               text.at ? text.at + skip : "");
    buf_free(&text);
}

static const char *what_of(const Drift *d)
{
    static const char *const texts[] = {
        "as it is", "with every value in float16", "with every value in bfloat16",
        "with every value in float32", "with values in mixed precision"};
    return texts[d->precision];
}

static Str kind_of(const SensValue *v)
{
    return v->kind == SENS_OF_INPUT    ? STR("(input)")
           : v->kind == SENS_OF_WEIGHT ? STR("(weight)")
                                       : v->op;
}

static void put_bound(const DriftOutput *x, const char *basis, Buf *out)
{
    buf_printf(out, "%.2e at most (%s)", x->bound,
               drift_bound_basis(x) == BOUND_TAILS ? "1 of 1000 data sets" : basis);
}

// Why so much: the errors of the data sets, measured where they are.
static void put_tails(const Drift *d, uint32_t o, Buf *out)
{
    const DriftOutput *x = &d->outputs[o];
    uint32_t n = x->nsets ? x->nsets : d->table.sets, worst = 0;
    double least = INFINITY, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        double error = x->nsets ? x->sets[i] : drift_predicted_of(d, o, i);
        worst = error > most ? i : worst;
        most = fmax(most, error);
        least = error > 0 ? fmin(least, error) : least;
    }
    buf_printf(out, "  data sets differ: the errors of the %u go from %.2e to %.2e (number %u)", n,
               least, most, worst + 1);
    for (uint32_t i = 0; i < x->nmixed; i++)
        most = i == 0 ? x->mixed[i] : fmax(most, x->mixed[i]);
    if (x->nmixed)
        buf_printf(out, ", of %u mixtures of them to %.2e", x->nmixed, most);
    buf_printf(out, "; as they fall off, one of %d others exceeds %.2e\n", TAILS_RARE, x->rare);
}

static void put_output(const Drift *d, uint32_t o, Buf *out)
{
    const DriftOutput *x = &d->outputs[o];
    buf_printf(out, "output ");
    buf_quoted(out, d->table.report.outputs.at[o].name);
    if (x->lost) {
        buf_printf(out, ": no element is finite, so that there is no error to tell");
    } else if (!isfinite(x->bound)) {
        buf_printf(out, ": error %.2e of its rms predicted, but measured: not finite",
                   x->predicted);
    } else if (x->worst > x->linear) {
        buf_printf(out,
                   ": error %.2e of its rms predicted, but measured %.2e, on the worst data set "
                   "%.2e: derivatives do not see it; ",
                   x->predicted, x->measured, x->worst);
        put_bound(x, "three times that", out);
    } else {
        buf_printf(out, ": error %.2e of its rms (1 sigma), ", x->predicted);
        put_bound(x, "3 sigma", out);
        if (x->measured >= 0)
            buf_printf(out, ", measured %.2e", x->measured);
    }
    if (x->budget >= 0)
        buf_printf(out, "; budget %.2e: %s", x->budget, drift_is_over(x) ? "exceeded" : "kept");
    buf_printf(out, "\n");
    if (drift_bound_basis(x) == BOUND_TAILS)
        put_tails(d, o, out);
    if (x->wild)
        buf_printf(out, "  mixtures of the data sets: %u of %u give what is not finite\n", x->wild,
                   x->wild + x->nmixed);
}

static void put_part(const Drift *d, const DriftPart *p, bool whole, Buf *out)
{
    const SensValue *v = &d->table.report.values.at[p->value];
    buf_printf(out, "%6.2f%%  %.2e  %-9s ", 100 * p->share, sqrt(p->variance),
               drift_basis_name(p->basis));
    put_text(out, kind_of(v), OP_WIDTH);
    if (whole)
        buf_printf(out, "%u\n", p->count);
    else {
        put_text(out, v->name, NAME_WIDTH);
        buf_printf(out, "%.*s\n", STR_ARG(v->path));
    }
}

static void put_ranges(const Drift *d, Buf *out)
{
    const SensReport *r = &d->table.report;
    for (uint32_t k = 0; k < r->values.len; k++) {
        const double *n = sens_numbers(&d->table, 0, k);
        if (!(drift_overflows(d, k) > 0))
            continue;
        buf_printf(out, "overflow: ");
        buf_quoted(out, r->values.at[k].name);
        buf_printf(out, " reaches %.4g in %.0f elements; float16 ends at 65504  (%.*s)\n",
                   n[SENS_GREATEST], n[SENS_OVER_F16], STR_ARG(r->values.at[k].path));
    }
}

static void put_nonfinite(const Drift *d, Buf *out)
{
    const SensReport *r = &d->table.report;
    for (uint32_t k = 0; k < r->values.len; k++) {
        const double *n = sens_numbers(&d->table, 0, k);
        if (!(n[SENS_NONFINITE] > 0) || r->values.at[k].kind == SENS_OF_WEIGHT)
            continue;
        buf_printf(out, "not finite: %.0f element%s of ", n[SENS_NONFINITE],
                   n[SENS_NONFINITE] == 1 ? "" : "s");
        buf_quoted(out, r->values.at[k].name);
        buf_printf(out,
                   ", the first value that has any: element %.0f in data set %u  (%.*s)\n"
                   "  no such element is in any error above\n",
                   n[SENS_NONFINITE_AT], d->table.nonfinite[k] + 1, STR_ARG(r->values.at[k].path));
        break;
    }
}

// By operator: how many nodes, and the first of them.
static void put_plain(const Drift *d, Buf *out)
{
    const SensReport *r = &d->table.report;
    for (uint32_t i = 0; i < r->plain.len; i++) {
        uint32_t before = 0, count = 0;
        for (uint32_t k = 0; k < r->plain.len; k++) {
            bool same = str_eq(r->plain.at[k].op, r->plain.at[i].op);
            before += same && k < i;
            count += same;
        }
        if (before)
            continue;
        buf_printf(out,
                   "note: %.*s runs as it is, beside float64 too: errors before it are not "
                   "counted through it  (",
                   STR_ARG(r->plain.at[i].op));
        if (count > 1)
            buf_printf(out, "%u nodes, the first ", count);
        buf_printf(out, "%.*s)\n", STR_ARG(r->plain.at[i].path));
    }
}

static void put_limits(const Drift *d, Buf *out)
{
    const SensReport *r = &d->table.report;
    for (uint32_t k = 0; k < r->values.len; k++) {
        const SensValue *v = &r->values.at[k];
        if ((!v->blind && !v->opaque) || (k > 0 && r->values.at[k - 1].node == v->node))
            continue;
        buf_printf(out, "note: %.*s has no derivative: %s%s\n", STR_ARG(v->path),
                   v->blind ? "errors before it are not counted through it"
                            : "it is taken as a whole, and errors before it are assumed to spread "
                              "evenly",
                   d->values[k].basis == BASIS_NONE
                       ? "; what it makes itself is unknown, and in no share"
                       : "");
    }
    put_plain(d, out);
    if (d->table.left_out)
        buf_printf(out,
                   "note: %u data sets are left out: they take another branch of an If than the "
                   "first one does\n",
                   d->table.left_out);
    if (d->table.other_sizes)
        buf_printf(
            out,
            "note: %u data sets are left out: their sizes are not the first one's, for which "
            "the steps of a recurrent node are derived\n",
            d->table.other_sizes);
    if (d->unrun)
        buf_printf(out, "note: the model could not be run with its values rounded: the figures are "
                        "predicted only\n");
    if (d->table.made_up)
        buf_printf(out, "note: the data are made up (see --data)\n");
}

static void put_parts(const Drift *d, Buf *out)
{
    const SensReport *r = &d->table.report;
    buf_printf(out, "\n  share     sigma  basis     %-*s %-*s node\n", OP_WIDTH, "operator",
               NAME_WIDTH, "value");
    for (uint32_t i = 0; i < r->values.len && i < d->listed; i++)
        if (d->values[d->order[i]].variance > 0)
            put_part(d, &d->values[d->order[i]], false, out);
    buf_printf(out, "\n  share     sigma  basis     %-*s values\n", OP_WIDTH, "by operator");
    for (uint32_t i = 0; i < d->noperators && i < d->listed; i++)
        if (d->operators[i].variance > 0)
            put_part(d, &d->operators[i], true, out);
    buf_printf(out, "\n");
}

// The values that make most of the error, three at most.
static void put_greatest(const Drift *d, Buf *out)
{
    uint32_t n = 0;
    double told = 0;
    while (n < 3 && n < d->table.report.values.len && told < MOST &&
           d->values[d->order[n]].share >= LEAST_TOLD)
        told += d->values[d->order[n++]].share;
    if (told < 0.5) {
        buf_printf(out, "spread over %u values, none of which makes more than %.0f %%\n",
                   d->table.report.values.len, ceil(100 * d->values[d->order[0]].share));
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const DriftPart *p = &d->values[d->order[i]];
        const SensValue *v = &d->table.report.values.at[p->value];
        buf_printf(out, "%s%.0f %% %.*s ", i ? ", " : "most of it: ", 100 * p->share,
                   STR_ARG(kind_of(v)));
        buf_quoted(out, v->name);
    }
    buf_char(out, '\n');
}

// What overflows, three values at most, in the order of the model.
static void put_overflows(const Drift *d, Buf *out)
{
    uint32_t told = 0;
    for (uint32_t k = 0; k < d->table.report.values.len && told < 3; k++)
        if (drift_overflows(d, k) > 0) {
            buf_printf(out, "%s", told++ ? ", " : "overflows: ");
            buf_quoted(out, d->table.report.values.at[k].name);
        }
    buf_printf(out, d->noverflows > told ? " and %u others\n" : "\n", d->noverflows - told);
}

// What the tables below come to.
static void put_summary(const Drift *d, Buf *out)
{
    uint32_t flips = 0, output = 0;
    const DriftRewrite *best = drift_best_rewrite(d, &output);
    if (d->noverflows)
        put_overflows(d, out);
    if (d->total > 0)
        put_greatest(d, out);
    if (best) {
        buf_printf(out, "what helps: %s (%s), error of ", best->rule->name, best->rule->id);
        buf_quoted(out, d->table.report.outputs.at[output].name);
        buf_printf(out, " %.2e then\n", best->after[output]);
    }
    for (uint32_t i = 0; i < d->table.report.decisions.len; i++) {
        DriftFlip f;
        flips += drift_flip(d, i, &f);
    }
    if (flips && d->table.report.outputs.len)
        buf_printf(out, "%u decision%s may flip\n", flips, flips == 1 ? "" : "s");
}

void drift_print_text(const Drift *d, Buf *out)
{
    const SensReport *r = &d->table.report;
    buf_printf(out, "%s, %s: %u data set%s, %u runs\n", d->model, what_of(d), d->table.sets,
               d->table.sets == 1 ? "" : "s", d->table.runs);
    for (uint32_t o = 0; o < r->outputs.len; o++)
        put_output(d, o, out);
    put_nonfinite(d, out);
    put_summary(d, out);
    if (r->outputs.len)
        put_parts(d, out);
    else
        buf_printf(out, "no output is a tensor of floats: what is decided by is looked at\n\n");
    drift_print_flips(d, out);
    drift_print_poles(d, out);
    put_ranges(d, out);
    drift_print_rewrites(d, out);
    drift_print_advice(d, out);
    put_limits(d, out);
}

// ---- JSON --------------------------------------------------------------------------------------

// How many predicted standard deviations an error is at most; what each data set adds to them.
static void json_reach(const Drift *d, uint32_t o, Json *j)
{
    double rare, reach = sens_reach(&d->table, o, SENS_F16, &rare);
    json_key(j, "reach_f16");
    json_num(j, fmax(reach, rare));
    reach = sens_reach(&d->table, o, SENS_BF16, &rare);
    json_key(j, "reach_bf16");
    json_num(j, fmax(reach, rare));
}

static void json_outputs(const Drift *d, Json *j)
{
    static const char *const bases[] = {"predicted", "measured", "tails"};
    json_key(j, "outputs");
    json_array(j);
    for (uint32_t o = 0; o < d->table.report.outputs.len; o++) {
        const DriftOutput *x = &d->outputs[o];
        json_object(j);
        json_key(j, "name");
        json_str(j, d->table.report.outputs.at[o].name);
        json_key(j, "rms_sum");
        json_num(j, sqrt(sens_scale(&d->table, o)));
        json_key(j, "predicted");
        json_num(j, x->predicted);
        json_key(j, "bound");
        json_num(j, x->bound);
        json_key(j, "bound_basis");
        json_str(j, str_of(bases[drift_bound_basis(x)]));
        json_key(j, "error"); // the greater of the two
        json_num(j, fmax(x->predicted, x->measured));
        json_reach(d, o, j);
        json_key(j, "of_these_data");
        json_num(j, x->signed_);
        json_key(j, "predicted_sets");
        json_array(j);
        for (uint32_t i = 0; i < d->table.sets; i++)
            json_num(j, drift_predicted_of(d, o, i));
        json_end_array(j);
        if (x->measured >= 0) {
            json_key(j, "measured");
            json_num(j, x->measured);
            json_key(j, "measured_worst");
            json_num(j, x->worst);
            json_key(j, "measured_sets");
            json_array(j);
            for (uint32_t i = 0; i < x->nsets; i++)
                json_num(j, x->sets[i]);
            json_end_array(j);
            json_key(j, "mixed_sets");
            json_array(j);
            for (uint32_t i = 0; i < x->nmixed; i++)
                json_num(j, x->mixed[i]);
            json_end_array(j);
            json_key(j, "mixed_not_finite");
            json_int(j, x->wild);
        }
        if (x->budget >= 0) {
            json_key(j, "budget");
            json_num(j, x->budget);
            json_key(j, "exceeded");
            json_bool(j, drift_is_over(x));
            if (drift_is_over(x))
                drift_json_advice(d, o, j);
        }
        json_end_object(j);
    }
    json_end_array(j);
}

// Relative variances for each output: what each dtype would add.
static void json_variances(const Drift *d, uint32_t k, Json *j)
{
    static const struct {
        const char *name;
        int field;
    } fields[] = {{"made", SENS_MADE},
                  {"f16", SENS_F16},
                  {"bf16", SENS_BF16},
                  {"f32", SENS_F32},
                  {"signed_made", SENS_SIGNED_MADE},
                  {"signed_f16", SENS_SIGNED_F16},
                  {"signed_bf16", SENS_SIGNED_BF16},
                  {"bar", SENS_BAR}};
    json_key(j, "outputs");
    json_array(j);
    for (uint32_t o = 0; o < d->table.report.outputs.len; o++) {
        double scale = sens_scale(&d->table, o);
        json_object(j);
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            json_key(j, fields[i].name);
            json_num(j, scale > 0 ? sens_numbers(&d->table, o, k)[fields[i].field] / scale : 0);
        }
        json_end_object(j);
    }
    json_end_array(j);
}

static void json_value(const Drift *d, uint32_t k, Json *j)
{
    static const char *const kinds[] = {"node", "input", "weight"};
    const SensValue *v = &d->table.report.values.at[k];
    const double *n = sens_numbers(&d->table, 0, k);
    json_object(j);
    json_key(j, "value");
    json_str(j, v->name);
    json_key(j, "kind");
    json_str(j, str_of(kinds[v->kind]));
    json_key(j, "op");
    json_str(j, v->op);
    json_key(j, "path");
    json_str(j, v->path);
    json_key(j, "dtype");
    json_str(j, str_of(dtype_info(v->dtype)->name));
    json_key(j, "share");
    json_num(j, d->values[k].share);
    json_key(j, "sigma");
    json_num(j, sqrt(d->values[k].variance));
    json_key(j, "basis");
    json_str(j, str_of(drift_basis_name(d->values[k].basis)));
    json_key(j, "exact");
    json_bool(j, v->exact);
    json_key(j, "whole");
    json_bool(j, v->opaque);
    json_key(j, "blind");
    json_bool(j, v->blind);
    json_key(j, "greatest");
    json_num(j, n[SENS_GREATEST]);
    json_key(j, "least");
    json_num(j, n[SENS_LEAST]);
    json_key(j, "over_f16");
    json_num(j, n[SENS_OVER_F16]);
    json_key(j, "under_f16");
    json_num(j, n[SENS_UNDER_F16]);
    json_key(j, "nonfinite");
    json_num(j, n[SENS_NONFINITE]);
    if (n[SENS_NONFINITE] > 0) {
        json_key(j, "nonfinite_element");
        json_num(j, n[SENS_NONFINITE_AT]);
        json_key(j, "nonfinite_set");
        json_int(j, d->table.nonfinite[k]);
    }
    json_variances(d, k, j);
    json_end_object(j);
}

static void json_plain(const Drift *d, Json *j)
{
    json_key(j, "as_they_are");
    json_array(j);
    for (uint32_t i = 0; i < d->table.report.plain.len; i++) {
        json_object(j);
        json_key(j, "op");
        json_str(j, d->table.report.plain.at[i].op);
        json_key(j, "path");
        json_str(j, d->table.report.plain.at[i].path);
        json_end_object(j);
    }
    json_end_array(j);
}

void drift_print_json(const Drift *d, Buf *out)
{
    Json j = {.out = out};
    json_object(&j);
    json_key(&j, "schema");
    json_str(&j, STR("cameo.drift/1"));
    json_key(&j, "model");
    json_str(&j, str_of(d->model));
    json_key(&j, "precision");
    json_str(&j, str_of(drift_precision_name(d->precision)));
    json_key(&j, "sets");
    json_int(&j, d->table.sets);
    json_key(&j, "left_out");
    json_int(&j, d->table.left_out);
    json_key(&j, "other_sizes");
    json_int(&j, d->table.other_sizes);
    json_key(&j, "runs");
    json_int(&j, d->table.runs);
    json_key(&j, "made_up");
    json_bool(&j, d->table.made_up);
    json_outputs(d, &j);
    json_key(&j, "values");
    json_array(&j);
    for (uint32_t k = 0; k < d->table.report.values.len; k++)
        json_value(d, k, &j);
    json_end_array(&j);
    json_plain(d, &j);
    drift_json_flips(d, &j);
    drift_json_poles(d, &j);
    drift_json_rewrites(d, &j);
    json_key(&j, "operators");
    json_array(&j);
    for (uint32_t i = 0; i < d->noperators; i++) {
        const DriftPart *p = &d->operators[i];
        json_object(&j);
        json_key(&j, "op");
        json_str(&j, kind_of(&d->table.report.values.at[p->value]));
        json_key(&j, "values");
        json_int(&j, p->count);
        json_key(&j, "share");
        json_num(&j, p->share);
        json_key(&j, "basis");
        json_str(&j, str_of(drift_basis_name(p->basis)));
        json_end_object(&j);
    }
    json_end_array(&j);
    json_end_object(&j);
    buf_char(out, '\n');
}
