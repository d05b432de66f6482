// cameo drift: which nodes cause how much of the error at the outputs, and whether that matters.

#include "tools/drift_parts.h"
#include "base/file.h"
#include "tools/tails.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_DATA,
    OPT_BUDGET,
    OPT_PRECISION,
    OPT_PROJECTIONS,
    OPT_TOP,
    OPT_FORMAT,
    OPT_CC,
    OPT_CPU,
    OPT_THREADS
};

static const ToolOption options[] = {
    [OPT_DATA] = {"--data", "DATA",
                  "what the model is run on: NAME=FILE, FILE, or a folder of data sets"},
    [OPT_BUDGET] = {"--budget", "OUT=REL",
                    "exit 1 where the error of OUT (every output: REL alone) may be more: its rms "
                    "as a part of the output's"},
    [OPT_PRECISION] = {"--precision", "DTYPE",
                       "f16, bf16 or f32: what rounding every value to it would do; or a file of "
                       "lines NAME DTYPE, others as they are (default: the model as it is)"},
    [OPT_PROJECTIONS] = {"--projections", "N",
                         "random projections of an output of more than 32 elements (default 16)"},
    [OPT_TOP] = {"--top", "N", "how many contributors to list (default 12)"},
    [OPT_FORMAT] = {"--format", "FORMAT", "text (default) or json"},
    [OPT_CC] = {"--cc", "CC", "the clang to use"},
    [OPT_CPU] = {"--cpu", "NAME", "native (default), portable, or a name that clang knows"},
    [OPT_THREADS] = {"--threads", "N", "how many threads (default: 1)"},
    {0},
};

typedef struct Asked {
    const Tool *tool;
    Drift drift;
    SensOptions sens;
    const char **data;
    DriftBudget *budgets;
    int nbudgets;
    bool json;
} Asked;

// ---- figures -----------------------------------------------------------------------------------

const char *drift_precision_name(DriftPrecision p)
{
    static const char *const names[] = {"own", "f16", "bf16", "f32", "mixed"};
    return names[p];
}

const char *drift_basis_name(DriftBasis b)
{
    static const char *const names[] = {"proved", "measured", "assumed", "unknown"};
    return names[b];
}

static int field_of(const SensValue *v, DriftPrecision p)
{
    static const DType dtypes[] = {DT_NONE, DT_F16, DT_BF16, DT_F32};
    static const int fields[] = {SENS_MADE, SENS_F16, SENS_BF16, SENS_F32};
    return v->dtype == dtypes[p] && v->kind == SENS_OF_NODE ? SENS_MADE : fields[p];
}

static DriftBasis basis_of(const Drift *d, const SensValue *v, int field, double variance)
{
    if (field == SENS_MADE && v->kind != SENS_OF_NODE)
        return BASIS_PROVED; // inputs and weights are what they are
    if (v->exact || (v->kind == SENS_OF_WEIGHT && variance == 0))
        return BASIS_PROVED;
    if (field == SENS_MADE && !v->made)
        return BASIS_NONE;
    return d->table.made_up || v->assumed ? BASIS_ASSUMED : BASIS_MEASURED;
}

DriftPrecision drift_precision_of(const Drift *d, uint32_t k)
{
    return d->precision == DRIFT_MIXED ? d->each[k] : d->precision;
}

double drift_overflows(const Drift *d, uint32_t k)
{
    return drift_precision_of(d, k) == DRIFT_F16 ? sens_numbers(&d->table, 0, k)[SENS_OVER_F16] : 0;
}

double drift_variance(const Drift *d, uint32_t o, uint32_t k, DriftBasis *basis)
{
    const SensValue *v = &d->table.report.values.at[k];
    int field = field_of(v, drift_precision_of(d, k));
    double scale = sens_scale(&d->table, o), raw = sens_numbers(&d->table, o, k)[field];
    bool counts = !(v->exact || (field == SENS_MADE && v->kind != SENS_OF_NODE));
    double variance = counts && scale > 0 ? raw / scale : 0;
    *basis = basis_of(d, v, field, variance);
    return variance;
}

double drift_raw(const Drift *d, const double *numbers, uint32_t k)
{
    const SensValue *v = &d->table.report.values.at[k];
    int field = field_of(v, drift_precision_of(d, k));
    bool counts = !(v->exact || (field == SENS_MADE && v->kind != SENS_OF_NODE));
    return counts ? numbers[field] : 0;
}

static int by_part(const void *a, const void *b)
{
    const DriftPart *x = a, *y = b;
    return x->variance != y->variance ? (x->variance < y->variance) - (x->variance > y->variance)
                                      : (x->value > y->value) - (x->value < y->value);
}

static void find_order(Drift *d)
{
    uint32_t n = d->table.report.values.len;
    DriftPart *sorted = NEWS(d->table.arena, DriftPart, n + 1u);
    if (n) {
        memcpy(sorted, d->values, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_part);
    }
    for (uint32_t i = 0; i < n; i++)
        d->order[i] = sorted[i].value;
    for (uint32_t i = 0; i < n; i++)
        if (drift_overflows(d, d->order[i]) > 0)
            d->remedy[d->noverflows++] = d->order[i];
    for (uint32_t i = 0, at = d->noverflows; i < n; i++)
        if (!(drift_overflows(d, d->order[i]) > 0))
            d->remedy[at++] = d->order[i];
}

static void find_operators(Drift *d)
{
    uint32_t n = d->table.report.values.len;
    d->operators = NEWS(d->table.arena, DriftPart, n + 1u);
    for (uint32_t k = 0; k < n; k++) {
        const SensValue *v = &d->table.report.values.at[k];
        uint32_t at = 0;
        for (; at < d->noperators; at++) {
            const SensValue *w = &d->table.report.values.at[d->operators[at].value];
            if (w->kind == v->kind && str_eq(w->op, v->op))
                break;
        }
        DriftPart *p = &d->operators[at];
        if (at == d->noperators) {
            *p = (DriftPart){.value = k};
            d->noperators++;
        }
        p->count++;
        p->variance += d->values[k].variance;
        p->share += d->values[k].share;
        p->basis = d->values[k].basis > p->basis ? d->values[k].basis : p->basis;
    }
    if (d->noperators)
        qsort(d->operators, d->noperators, sizeof *d->operators, by_part);
}

static double reach_of(const Drift *d, uint32_t o, double *rare)
{
    static const int fields[] = {SENS_MADE, SENS_F16, SENS_BF16, SENS_F32};
    if (d->precision != DRIFT_MIXED)
        return sens_reach(&d->table, o, fields[d->precision], rare);
    double other, reach = sens_reach(&d->table, o, SENS_F16, &other);
    reach = fmax(reach, sens_reach(&d->table, o, SENS_BF16, rare));
    *rare = fmax(*rare, other);
    return reach;
}

double drift_predicted_of(const Drift *d, uint32_t o, uint32_t set)
{
    const double *each = sens_each(&d->table, set, o);
    switch (d->precision) {
    case DRIFT_OWN:
        return sqrt(each[SENS_EACH_MADE]);
    case DRIFT_MIXED:
        return sqrt(fmax(each[0], each[1]));
    default:
        return sqrt(each[d->precision - DRIFT_F16]);
    }
}

static double *own_errors(const Drift *d, uint32_t o)
{
    double *sets = NEWS(d->table.arena, double, d->table.sets + 1u);
    for (uint32_t i = 0; i < d->table.sets; i++)
        sets[i] = sqrt(sens_each(&d->table, i, o)[SENS_EACH_ERROR]);
    return sets;
}

void drift_take_sets(DriftOutput *out, const double *sets, uint32_t n)
{
    out->sets = sets;
    out->nsets = n;
    out->worst = out->measured;
    for (uint32_t i = 0; i < n; i++)
        if (sets[i] > out->worst || i == 0) {
            out->worst = sets[i];
            out->worst_set = i;
        }
    out->rare = fmax(out->rare, tails_rare(sets, n));
    out->bound = out->worst > out->linear ? 3 * out->worst : out->linear;
    out->bound = fmax(out->bound, out->rare);
}

void drift_take_mixed(Arena *a, DriftOutput *out, const double *mixed, uint32_t n)
{
    double *all = NEWS(a, double, out->nsets + n + 1u);
    uint32_t finite = 0;
    for (uint32_t i = 0; i < n; i++)
        if (isfinite(mixed[i]))
            all[finite++] = mixed[i];
    out->mixed = all;
    out->nmixed = finite;
    out->wild = n - finite;
    if (out->nsets)
        memcpy(all + finite, out->sets, out->nsets * sizeof *all);
    out->rare = fmax(out->rare, tails_mixed(all, finite, finite + out->nsets));
    out->bound = fmax(out->bound, out->rare);
}

static void find_output(Drift *d, uint32_t o)
{
    double sum = 0, signs = 0, scale = sens_scale(&d->table, o);
    DriftBasis basis;
    for (uint32_t k = 0; k < d->table.report.values.len; k++) {
        const SensValue *v = &d->table.report.values.at[k];
        int field = field_of(v, drift_precision_of(d, k));
        double one = drift_variance(d, o, k, &basis);
        double very = sens_numbers(&d->table, o, k)[field - SENS_F16 + SENS_SIGNED_F16];
        sum += one;
        signs += one > 0 && scale > 0 ? very / scale : 0;
    }
    DriftOutput *out = &d->outputs[o];
    out->predicted = sqrt(sum);
    out->signed_ = sqrt(signs);
    out->linear = out->predicted * reach_of(d, o, &out->rare);
    out->rare *= out->predicted;
    out->bound = fmax(out->linear, out->rare);
    out->measured = out->worst = -1;
    if (d->precision == DRIFT_OWN && scale > 0) {
        out->measured = sqrt(sens_error(&d->table, o) / scale);
        drift_take_sets(out, own_errors(d, o), d->table.sets);
    }
    if (sens_numbers(&d->table, o, d->table.report.outputs.at[o].record)[SENS_LOST] > 0 &&
        d->precision == DRIFT_OWN)
        out->measured = out->worst = out->bound = INFINITY;
    out->lost =
        !(scale > 0) &&
        sens_numbers(&d->table, o, d->table.report.outputs.at[o].record)[SENS_NONFINITE] > 0;
    if (out->lost)
        out->bound = INFINITY;
    out->budget = -1;
}

void drift_find(Drift *d)
{
    const SensReport *r = &d->table.report;
    d->values = NEWS(d->table.arena, DriftPart, r->values.len + 1u);
    d->order = NEWS(d->table.arena, uint32_t, r->values.len + 1u);
    d->remedy = NEWS(d->table.arena, uint32_t, r->values.len + 1u);
    d->outputs = NEWS(d->table.arena, DriftOutput, r->outputs.len + 1u);
    for (uint32_t k = 0; k < r->values.len; k++) {
        DriftPart *p = &d->values[k];
        *p = (DriftPart){.value = k, .count = 1};
        for (uint32_t o = 0; o < r->outputs.len; o++) {
            DriftBasis basis;
            p->variance += drift_variance(d, o, k, &basis);
            p->basis = basis > p->basis ? basis : p->basis;
        }
        d->total += p->variance;
    }
    for (uint32_t k = 0; k < r->values.len; k++)
        d->values[k].share = d->total > 0 ? d->values[k].variance / d->total : 0;
    find_order(d);
    find_operators(d);
    for (uint32_t o = 0; o < r->outputs.len; o++)
        find_output(d, o);
}

DriftBoundBasis drift_bound_basis(const DriftOutput *o)
{
    return o->rare > 0 && o->rare >= o->bound ? BOUND_TAILS
           : o->bound > o->linear             ? BOUND_MEASURED
                                              : BOUND_PREDICTED;
}

bool drift_is_over(const DriftOutput *o)
{
    return o->budget >= 0 && (!(o->bound <= o->budget) || o->measured > o->budget);
}

// ---- the command -------------------------------------------------------------------------------

// The names that there are.
static int no_such_output(const Asked *a, const DriftBudget *b)
{
    const SensReport *r = &a->drift.table.report;
    Buf names = {0};
    for (uint32_t o = 0; o < r->outputs.len; o++) {
        buf_printf(&names, o ? ", " : "; it has ");
        buf_quoted(&names, r->outputs.at[o].name);
    }
    int status = tool_error(
        a->tool, EXIT_USAGE, "--budget %.*s: the model has no output of floats of that name%.*s",
        (int)b->len, b->output ? b->output : "", (int)names.len, names.at ? names.at : "");
    buf_free(&names);
    return status;
}

static int set_budgets(Asked *a)
{
    for (int i = 0; i < a->nbudgets; i++) {
        const DriftBudget *b = &a->budgets[i];
        bool found = false;
        for (uint32_t o = 0; o < a->drift.table.report.outputs.len; o++) {
            Str name = a->drift.table.report.outputs.at[o].name;
            if (b->output && (name.len != b->len || memcmp(name.at, b->output, b->len) != 0))
                continue;
            a->drift.outputs[o].budget = b->relative;
            found = true;
        }
        if (!found)
            return no_such_output(a, b);
    }
    return EXIT_CLEAN;
}

static int report(Asked *a)
{
    Buf out = {0};
    bool over = false;
    int status = set_budgets(a);
    if (status)
        return status;
    if (a->drift.table.report.outputs.len) {
        drift_run_rounded(a->tool, &a->sens, &a->drift);
        drift_rewrite(a->tool, &a->sens, &a->drift);
    }
    drift_advise(a->tool, &a->sens, &a->drift);
    if (a->json)
        drift_print_json(&a->drift, &out);
    else
        drift_print_text(&a->drift, &out);
    fwrite(out.at ? out.at : "", 1, out.len, stdout);
    buf_free(&out);
    for (uint32_t o = 0; o < a->drift.table.report.outputs.len; o++)
        over = over || drift_is_over(&a->drift.outputs[o]);
    return over ? EXIT_FINDINGS : EXIT_CLEAN;
}

int drift_measure(const Tool *t, SensOptions *o, Drift *d)
{
    int status = sens_run(t, o, &d->table);
    if (!status && d->mix)
        status = drift_read_mix(t, d);
    if (!status)
        drift_find(d);
    return status;
}

// What is measured against float64 makes no error where all floats are float64.
static bool any_narrow(const SensTable *t)
{
    for (uint32_t i = 0; i < t->report.values.len; i++)
        if (t->report.values.at[i].node && t->report.values.at[i].dtype != DT_F64)
            return true;
    return false;
}

static int work(Asked *a)
{
    a->drift.model = a->sens.model;
    a->sens.data = a->data;
    a->sens.decisions = a->drift.precision != DRIFT_OWN;
    a->sens.compile.once = true;
    a->sens.may_only_decide = true;
    int status = a->drift.mix ? drift_check_mix(a->tool, &a->drift) : EXIT_CLEAN;
    if (!status)
        status = drift_measure(a->tool, &a->sens, &a->drift);
    if (!status && a->drift.precision == DRIFT_OWN && !any_narrow(&a->drift.table))
        status = tool_error(a->tool, EXIT_USAGE,
                            "%s computes in float64 alone, which is what its own error is measured "
                            "against: `cameo verify --layers` compares it with double-double, and "
                            "--precision f32, bf16 or f16 says what narrower floats would do",
                            a->sens.model);
    if (!status)
        status = report(a);
    sens_free(&a->drift.table);
    return status;
}

static int take_budget(Asked *a, const char *value)
{
    const char *split = strrchr(value, '=');
    const char *number = split ? split + 1 : value;
    char *end = NULL;
    double relative = strtod(number, &end);
    if (end == number || *end || split == value)
        return tool_error(a->tool, EXIT_USAGE,
                          "--budget %s: it is REL, or OUT=REL of one output, REL a number", value);
    if (!(relative > 0) || !(relative < INFINITY))
        return tool_error(a->tool, EXIT_USAGE,
                          "--budget %s: an error relative to the output is above 0 and finite",
                          value);
    a->budgets[a->nbudgets++] =
        (DriftBudget){split ? value : NULL, split ? (size_t)(split - value) : 0, relative};
    return -1;
}

static int take_precision(Asked *a, const char *value)
{
    for (int p = DRIFT_F16; p <= DRIFT_F32; p++)
        if (strcmp(value, drift_precision_name((DriftPrecision)p)) == 0) {
            a->drift.precision = (DriftPrecision)p;
            return -1;
        }
    if (!file_exists(value))
        return tool_error(a->tool, EXIT_USAGE,
                          "--precision is f16, bf16, f32 or a file, and there is no file %s",
                          value);
    a->drift.precision = DRIFT_MIXED;
    a->drift.mix = value;
    return -1;
}

// -1, or the exit status.
static int take_option(Asked *a, int option, const char *value)
{
    const Tool *t = a->tool;
    switch (option) {
    case OPT_DATA:
        a->data[a->sens.ndata++] = value;
        return -1;
    case OPT_BUDGET:
        return take_budget(a, value);
    case OPT_PRECISION:
        return take_precision(a, value);
    case OPT_PROJECTIONS:
        return tool_count(value, 4096, &a->sens.projections)
                   ? -1
                   : tool_error(t, EXIT_USAGE, "--projections is a number from 1 to 4096");
    case OPT_TOP:
        return tool_count(value, 1000000, &a->drift.listed)
                   ? -1
                   : tool_error(t, EXIT_USAGE, "--top is a number from 1 on");
    case OPT_FORMAT:
        a->json = strcmp(value, "json") == 0;
        return a->json || strcmp(value, "text") == 0
                   ? -1
                   : tool_error(t, EXIT_USAGE, "--format is text or json");
    case OPT_CC:
        a->sens.compile.cc = value;
        return -1;
    case OPT_CPU:
        a->sens.compile.cpu = value;
        return -1;
    default:
        return tool_count(value, MAX_THREADS, &a->sens.compile.threads)
                   ? -1
                   : tool_error(t, EXIT_USAGE, "--threads is a number from 1 to %d", MAX_THREADS);
    }
}

static int run(const Tool *t, int argc, char **argv)
{
    Asked a = {.tool = t, .drift.listed = 12};
    a.data = calloc((size_t)argc + 1, sizeof *a.data);
    a.budgets = calloc((size_t)argc + 1, sizeof *a.budgets);
    Args args = args_of(t, argc, argv);
    const char *value;
    int status = a.data && a.budgets ? -1 : tool_error(t, EXIT_BYTES, "not enough memory");
    for (int option; status < 0 && (option = args_next(&args, &value)) != ARG_END;) {
        if (option == ARG_HELP || option == ARG_BAD)
            status = option == ARG_HELP ? EXIT_CLEAN : EXIT_USAGE;
        else if (option == ARG_FILE && !a.sens.model)
            a.sens.model = value;
        else if (option == ARG_FILE)
            a.data[a.sens.ndata++] = value;
        else
            status = take_option(&a, option, value);
    }
    if (status < 0 && !a.sens.model)
        status = tool_error(t, EXIT_USAGE, "a MODEL is needed (see cameo help drift)");
    if (status < 0)
        status = work(&a);
    free(a.data);
    free(a.budgets);
    return status;
}

const Tool tool_drift = {"drift", "MODEL [--data NAME=FILE | FILE | DATASET ...] [OPTIONS]",
                         "which nodes cause how much of the error at the outputs", options, run};
