// Runs the module of passes/sensitivity.c on data, once for each probe.

#include "tools/sensitivity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct SensRunner {
    const Tool *tool;
    SensOptions *o;
    SensTable *table;
    Session s;
    cameo_context *context;
    int32_t probe;      // the input
    int64_t numbers[3]; // what it holds
    int64_t probe_dims[1];
} SensRunner;

const double *sens_numbers(const SensTable *t, uint32_t o, uint32_t k)
{
    return t->numbers + ((size_t)o * t->report.values.len + k) * SENS_FIELDS;
}

static double *numbers_at(SensTable *t, uint32_t o, uint32_t k)
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

// ---- running -----------------------------------------------------------------------------------

static bool rewrite(void *runner, Model *m, Diags *diags)
{
    SensRunner *r = runner;
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

static int run_once(SensRunner *r, Inputs *in, uint32_t o, int64_t kind, int64_t number)
{
    const cameo_model *m = r->s.model;
    int64_t *probe = in->tensors[r->probe].elements;
    probe[0] = r->table->report.outputs.at[o].number;
    probe[1] = kind;
    probe[2] = number;
    r->table->runs++;
    return m->run(r->context) == 0
               ? EXIT_CLEAN
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
static void add_probe(SensRunner *r, uint32_t o, double weight)
{
    for (uint32_t k = 0; k < r->table->report.values.len; k++) {
        double *to = numbers_at(r->table, o, k);
        const double *from = output_of(r, k);
        for (int f = SENS_BAR; f <= SENS_SIGNED_MADE; f++)
            to[f] += weight * from[f];
    }
}

// What a run says of the values themselves, once for each set of data.
static void add_values(SensRunner *r, uint32_t o)
{
    for (uint32_t k = 0; k < r->table->report.values.len; k++) {
        double *to = numbers_at(r->table, o, k);
        const double *from = output_of(r, k);
        to[SENS_COUNT] = from[SENS_COUNT];
        to[SENS_SUM] += from[SENS_SUM];
        to[SENS_ERROR] += from[SENS_ERROR];
        to[SENS_GREATEST] = fmax(to[SENS_GREATEST], from[SENS_GREATEST]);
        if (from[SENS_LEAST] > 0 && !(to[SENS_LEAST] > 0 && to[SENS_LEAST] < from[SENS_LEAST]))
            to[SENS_LEAST] = from[SENS_LEAST];
        for (int f = SENS_OVER_F16; f <= SENS_NONFINITE; f++)
            to[f] += from[f];
    }
}

static int run_output(SensRunner *r, Inputs *in, uint32_t o)
{
    SensTable *t = r->table;
    uint32_t signs = r->o->projections ? r->o->projections : SENS_PROJECTIONS;
    int64_t first = (int64_t)t->sets * signs + 1;
    int status = run_once(r, in, o, SENS_PROBE_SIGNS, first);
    if (status)
        return status;
    double count = output_of(r, t->report.outputs.at[o].record)[SENS_COUNT];
    bool exact = count <= SENS_EXACT;
    uint32_t runs = exact ? (uint32_t)count : signs;
    add_values(r, o);
    t->sampled = t->sampled || !exact;
    for (uint32_t k = 0; k < runs && !status; k++) {
        if (exact || k > 0)
            status = run_once(r, in, o, exact ? SENS_PROBE_UNIT : SENS_PROBE_SIGNS,
                              exact ? (int64_t)k : first + k);
        if (!status)
            add_probe(r, o, exact ? 1 : 1.0 / runs);
    }
    return status;
}

static int run_set(void *runner, Inputs *in)
{
    SensRunner *r = runner;
    const cameo_model *m = r->s.model;
    if (!r->context)
        r->context = m->create(&r->s.options);
    int status = r->context ? inputs_set(r->tool, m, r->context, in)
                            : tool_error(r->tool, EXIT_BYTES, "not enough memory");
    for (uint32_t o = 0; o < r->table->report.outputs.len && !status; o++)
        status = run_output(r, in, o);
    r->table->sets++;
    return status;
}

static void average(SensTable *t)
{
    size_t n = (size_t)t->report.outputs.len * t->report.values.len;
    for (size_t i = 0; i < n; i++)
        for (int f = SENS_BAR; f <= SENS_ERROR && t->sets; f++)
            t->numbers[i * SENS_FIELDS + (size_t)f] /= t->sets;
}

int sens_run(const Tool *t, SensOptions *o, SensTable *table)
{
    SensRunner r = {.tool = t, .o = o, .table = table, .probe = -1};
    *table = (SensTable){0};
    o->compile.rewrite = rewrite;
    o->compile.rewriter = &r;
    int status = session_open(t, o->model, &o->compile, &r.s);
    table->arena = r.s.arena;
    for (int32_t i = 0; !status && i < r.s.model->ninputs; i++)
        if (strcmp(r.s.model->inputs[i].name, SENS_INPUT) == 0)
            r.probe = i;
    size_t n = (size_t)table->report.outputs.len * table->report.values.len * SENS_FIELDS;
    table->numbers = NEWS(table->arena, double, n + 1);
    DataSets d = {.tool = t,
                  .arena = table->arena,
                  .model = r.s.model,
                  .path = o->model,
                  .data = o->data,
                  .ndata = o->ndata,
                  .user = &r,
                  .prepare = prepare,
                  .run = run_set};
    if (!status)
        status = datasets_each(&d, &table->made_up);
    if (!status)
        average(table);
    if (r.context)
        r.s.model->destroy(r.context);
    session_close_program(&r.s);
    return status;
}

void sens_free(SensTable *table)
{
    if (table->arena)
        arena_free(table->arena);
    *table = (SensTable){0};
}
