// Runs the module of passes/sensitivity.c on data, once for each probe.

#include "tools/sensitivity_parts.h"
#include "tools/tails.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct SensRunner {
    const Tool *tool;
    SensOptions *o;
    SensTable *table;
    Session s;
    cameo_context *context;
    BranchChoices choices;
    uint32_t set;  // of the data, those left out too
    int32_t probe; // the input
    FirstSizes sizes;
} SensRunner;

const double *sens_numbers(const SensTable *t, uint32_t o, uint32_t k)
{
    return t->numbers + ((size_t)o * t->report.values.len + k) * SENS_FIELDS;
}

double sens_scale(const SensTable *t, uint32_t o)
{
    return sens_numbers(t, o, t->report.outputs.at[o].record)[SENS_SUM];
}

double sens_error(const SensTable *t, uint32_t o)
{
    return sens_numbers(t, o, t->report.outputs.at[o].record)[SENS_ERROR];
}

// All values that make an error together, of output o: what is summed up so far.
static double total_of(const SensTable *t, uint32_t o, int field)
{
    double sum = 0;
    for (uint32_t k = 0; k < t->report.values.len; k++)
        if (!t->report.values.at[k].exact)
            sum += sens_numbers(t, o, k)[field];
    return sum;
}

static void totals_of(const SensTable *t, uint32_t o, double *to)
{
    for (int f = 0; f <= SENS_EACH_MADE; f++)
        to[f] = total_of(t, o, SENS_F16 + f);
    to[SENS_EACH_ERROR] = sens_error(t, o);
}

const double *sens_each(const SensTable *t, uint32_t set, uint32_t o)
{
    return t->each.at + ((size_t)set * t->report.outputs.len + o) * SENS_EACH;
}

double sens_reach(const SensTable *t, uint32_t o, int field, double *rare)
{
    double mean = total_of(t, o, field) / sens_scale(t, o), worst = mean;
    double *deviations = NEWS(t->arena, double, t->sets + 1u);
    *rare = 0;
    if (!(mean > 0))
        return 3;
    for (uint32_t i = 0; i < t->sets; i++) {
        double variance = sens_each(t, i, o)[field - SENS_F16];
        worst = fmax(worst, variance);
        deviations[i] = sqrt(variance / mean);
    }
    *rare = tails_rare(deviations, t->sets);
    return 3 * sqrt(worst / mean);
}

// ---- running -----------------------------------------------------------------------------------

static bool rewrite(void *runner, Model *m, Diags *diags)
{
    SensRunner *r = runner;
    if (!branches_apply(&r->choices, m, diags))
        return false;
    return sensitivity_model(m, diags, &r->table->report);
}

// The probe is an input that stands for no file.
static int prepare(void *runner, Inputs *in)
{
    SensRunner *r = runner;
    cameo_tensor *t = &in->tensors[r->probe];
    t->dtype = DT_I64;
    t->rank = 1;
    t->dims[0] = t->count = 3;
    t->elements = calloc(3, sizeof(int64_t));
    in->given[r->probe] = true;
    return t->elements ? EXIT_CLEAN : tool_error(r->tool, EXIT_BYTES, "not enough memory");
}

static int run_once(SensRunner *r, Inputs *in, uint32_t output, int64_t kind, int64_t number)
{
    const cameo_model *m = r->s.model;
    int64_t *probe = in->tensors[r->probe].elements;
    probe[0] = output;
    probe[1] = kind;
    probe[2] = number;
    r->table->runs++;
    return m->run(r->context) == 0 ? EXIT_CLEAN
                                   : tool_error(r->tool, EXIT_FINDINGS, "%s", m->error(r->context));
}

static const double *output_of(const SensRunner *r, uint32_t k)
{
    int32_t rank = 0;
    const int64_t *dims = NULL;
    return r->s.model->output(r->context, (int32_t)r->table->report.values.at[k].output, &rank,
                              &dims);
}

// What a probe says, weighted.
static void add_probe(SensRunner *r, double *numbers, double weight)
{
    for (uint32_t k = 0; k < r->table->report.values.len; k++) {
        double *to = numbers + k * SENS_FIELDS;
        const double *from = output_of(r, k);
        for (int f = SENS_BAR; f <= SENS_SIGNED_MADE; f++)
            to[f] += weight * from[f];
    }
}

// What a run says of the values themselves, once for each set of data.
static void add_values(SensRunner *r, double *numbers)
{
    for (uint32_t k = 0; k < r->table->report.values.len; k++) {
        double *to = numbers + k * SENS_FIELDS;
        const double *from = output_of(r, k);
        to[SENS_COUNT] = from[SENS_COUNT];
        if (from[SENS_NONFINITE] > 0 && !(to[SENS_NONFINITE] > 0)) {
            to[SENS_NONFINITE_AT] = from[SENS_NONFINITE_AT];
            r->table->nonfinite[k] = r->set - 1;
        }
        to[SENS_SUM] += from[SENS_SUM];
        to[SENS_ERROR] += from[SENS_ERROR];
        to[SENS_GREATEST] = fmax(to[SENS_GREATEST], from[SENS_GREATEST]);
        if (from[SENS_LEAST] > 0 && !(to[SENS_LEAST] > 0 && to[SENS_LEAST] < from[SENS_LEAST]))
            to[SENS_LEAST] = from[SENS_LEAST];
        for (int f = SENS_OVER_F16; f <= SENS_LOST; f++)
            to[f] += from[f];
    }
}

// Probes a value, `output` by its number and `record` in the report.
static int run_output(SensRunner *r, Inputs *in, uint32_t output, uint32_t record, double *numbers)
{
    SensTable *t = r->table;
    uint32_t signs = r->o->projections ? r->o->projections : SENS_PROJECTIONS;
    int64_t first = (int64_t)t->sets * signs + 1;
    int status = run_once(r, in, output, SENS_PROBE_SIGNS, first);
    if (status)
        return status;
    double count = output_of(r, record)[SENS_COUNT];
    bool exact = count <= SENS_EXACT;
    uint32_t runs = exact ? (uint32_t)count : signs;
    add_values(r, numbers);
    t->sampled = t->sampled || !exact;
    for (uint32_t k = 0; k < runs && !status; k++) {
        if (exact || k > 0)
            status = run_once(r, in, output, exact ? SENS_PROBE_UNIT : SENS_PROBE_SIGNS,
                              exact ? (int64_t)k : first + k);
        if (!status)
            add_probe(r, numbers, exact ? 1 : 1.0 / runs);
    }
    return status;
}

static void add_margins(SensRunner *r)
{
    for (uint32_t i = 0; i < r->table->report.decisions.len; i++) {
        double *to = r->table->margins + i * MARGIN_FIELDS, count = to[MARGIN_COUNT];
        int32_t rank = 0;
        const int64_t *dims = NULL;
        const double *from = r->s.model->output(
            r->context, (int32_t)r->table->report.decisions.at[i].output, &rank, &dims);
        if (from[MARGIN_COUNT] > 0 && (!(count > 0) || from[MARGIN_LEAST] < to[MARGIN_LEAST]))
            memcpy(to, from, MARGIN_FIELDS * sizeof *to);
        to[MARGIN_COUNT] = count + from[MARGIN_COUNT];
    }
}

static int run_probes(SensRunner *r, Inputs *in)
{
    SensTable *t = r->table;
    const SensReport *all = &t->report;
    size_t stride = (size_t)all->values.len * SENS_FIELDS;
    int status = EXIT_CLEAN;
    if (all->outputs.len == 0) {
        status = run_once(r, in, UINT32_MAX, SENS_PROBE_SIGNS, 0);
        if (!status)
            add_values(r, t->numbers);
    }
    for (uint32_t o = 0; o < all->outputs.len && !status; o++) {
        double before[SENS_EACH], after[SENS_EACH], scale = sens_scale(t, o);
        totals_of(t, o, before);
        status = run_output(r, in, all->outputs.at[o].number, all->outputs.at[o].record,
                            t->numbers + o * stride);
        totals_of(t, o, after);
        scale = sens_scale(t, o) - scale; // of this set alone
        for (int f = 0; f < SENS_EACH; f++)
            vec_push(t->arena, &t->each, scale > 0 ? fmax(after[f] - before[f], 0) / scale : 0);
    }
    if (!status)
        add_margins(r);
    for (uint32_t i = 0; r->o->decisions && i < all->decisions.len && !status; i++)
        status = run_output(r, in, all->decisions.at[i].number, all->decisions.at[i].record,
                            t->decided + i * stride);
    return status;
}

static int run_set(void *runner, Inputs *in)
{
    SensRunner *r = runner;
    const cameo_model *m = r->s.model;
    uint32_t set = r->set++;
    if (set < MAX_CHOOSING_SETS && r->choices.other[set]) {
        r->table->left_out++;
        return EXIT_CLEAN;
    }
    if (!sizes_fit(&r->sizes, in)) {
        r->table->other_sizes++;
        return EXIT_CLEAN;
    }
    if (!r->context)
        r->context = m->create(&r->s.options);
    int status = r->context ? inputs_set(r->tool, m, r->context, in)
                            : tool_error(r->tool, EXIT_BYTES, "not enough memory");
    if (!status)
        status = run_probes(r, in);
    r->table->sets++;
    return status;
}

static void average(const SensTable *t, double *numbers, uint32_t n)
{
    for (size_t i = 0; i < (size_t)n * t->report.values.len; i++)
        for (int f = SENS_BAR; f <= SENS_ERROR && t->sets; f++)
            numbers[i * SENS_FIELDS + (size_t)f] /= t->sets;
}

static int open_program(SensRunner *r)
{
    CompileOptions options = r->o->compile;
    options.rewrite = rewrite;
    options.rewriter = r;
    sizes_fix(&r->sizes, &options);
    r->probe = -1;
    int status = session_open(r->tool, r->o->model, &options, &r->s);
    r->table->arena = r->s.arena;
    for (int32_t i = 0; !status && i < r->s.model->ninputs; i++)
        if (strcmp(r->s.model->inputs[i].name, SENS_INPUT) == 0)
            r->probe = i;
    return status;
}

static DataSets data_of(SensRunner *r, int (*run)(void *user, Inputs *in))
{
    DataSets d = {.tool = r->tool, .arena = r->table->arena, .model = r->s.model};
    d.path = r->o->model;
    d.data = r->o->data;
    d.ndata = r->o->ndata;
    d.user = r;
    d.prepare = prepare;
    d.run = run;
    return d;
}

static int note_sizes(void *runner, Inputs *in)
{
    SensRunner *r = runner;
    const cameo_model *m = r->s.model;
    if (r->set++ != r->choices.first)
        return EXIT_CLEAN;
    cameo_context *x = m->create(&r->s.options);
    int status = x ? inputs_set(r->tool, m, x, in) // do they fit at all?
                   : tool_error(r->tool, EXIT_BYTES, "not enough memory");
    if (!status)
        sizes_note(&r->sizes, m, in, r->probe);
    if (x)
        m->destroy(x);
    return status;
}

// Once more with the sizes of the first data set, which a derivative wants to know.
static int open_sized(SensRunner *r)
{
    bool made_up;
    DataSets d = data_of(r, note_sizes);
    int status = datasets_each(&d, &made_up);
    r->set = 0;
    if (status || !r->sizes.known)
        return status;
    session_close(&r->s);
    r->table->report = (SensReport){.may_only_decide = r->o->may_only_decide};
    return open_program(r);
}

int sens_run(const Tool *t, SensOptions *o, SensTable *table)
{
    SensRunner r = {.tool = t, .o = o, .table = table, .sizes.arena = arena_new()};
    *table = (SensTable){.report.may_only_decide = o->may_only_decide};
    int status = branches_choose(t, o, &r.choices);
    if (!status)
        status = open_program(&r);
    if (!status && table->report.wants_sizes)
        status = open_sized(&r);
    if (!table->arena) {
        arena_free(r.sizes.arena);
        return status;
    }
    const SensReport *all = &table->report;
    size_t stride = (size_t)all->values.len * SENS_FIELDS;
    const uint32_t rows = all->outputs.len ? all->outputs.len : 1;
    table->numbers = NEWS(table->arena, double, rows *stride + 1);
    table->nonfinite = NEWS(table->arena, uint32_t, all->values.len + 1u);
    table->decided = NEWS(table->arena, double, all->decisions.len *stride + 1);
    table->margins = NEWS(table->arena, double, all->decisions.len *(size_t)MARGIN_FIELDS + 1);
    DataSets d = data_of(&r, run_set);
    if (!status)
        status = datasets_each(&d, &table->made_up);
    average(table, table->numbers, rows);
    average(table, table->decided, all->decisions.len);
    if (r.context)
        r.s.model->destroy(r.context);
    session_close_program(&r.s);
    arena_free(r.sizes.arena);
    return status;
}

void sens_free(SensTable *table)
{
    if (table->arena)
        arena_free(table->arena);
    *table = (SensTable){0};
}
