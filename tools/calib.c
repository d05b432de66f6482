// Runs a model on calibration data and keeps what its values were.

#include "tools/calib.h"
#include "passes/measure.h"
#include "runtime/cameo_measure.h"
#include "tools/datasets.h"

#include <float.h>
#include <string.h>

_Static_assert((int)MEASURED_RANKS == (int)MEASURE_RANKS, "dims are kept as they are measured");

typedef struct Calib {
    const Tool *tool;
    Arena *arena; // of the result
    const char *data;
    Session s;
    MeasureReport report;
    cameo_context *context; // of all data; NULL: none yet
    double *numbers;        // MEASURE_FIELDS for each value of the report
    uint32_t sets;
} Calib;

static bool rewrite(void *rewriter, Model *m, Diags *diags)
{
    Calib *c = rewriter;
    bool done = measure_model(m, diags, &c->report);
    for (uint32_t i = 0; i < c->report.values.len; i++) // the model goes with its session
        c->report.values.at[i].name = str_copy(c->arena, c->report.values.at[i].name);
    return done;
}

// ---- one data set ------------------------------------------------------------------------------

static void collect(Calib *c)
{
    for (uint32_t i = 0; i < c->report.values.len; i++) {
        int32_t rank = 0;
        const int64_t *dims = NULL;
        const double *at = c->s.model->output(c->context, (int32_t)i, &rank, &dims);
        int64_t rows = rank == 1 ? 1 : dims[0];
        for (int64_t k = 0; k < rows; k++)
            cameo_measure_add(c->numbers + (size_t)i * MEASURE_FIELDS, at + k * MEASURE_FIELDS);
    }
}

static int run_inputs(void *user, Inputs *in)
{
    Calib *c = user;
    const cameo_model *m = c->s.model;
    if (!c->context)
        c->context = m->create(&c->s.options);
    if (!c->context)
        return tool_error(c->tool, EXIT_BYTES, "not enough memory");
    int status = inputs_set(c->tool, m, c->context, in);
    if (!status && m->run(c->context) != 0)
        status = tool_error(c->tool, EXIT_USAGE, "%s", m->error(c->context));
    if (status)
        return tool_error(c->tool, status, "--calib: the model cannot run on %s",
                          in->from ? in->from : c->data);
    collect(c);
    c->sets++;
    return EXIT_CLEAN;
}

// ---- what came of it ---------------------------------------------------------------------------

static MeasuredSet *measured(const Calib *c, const char *data)
{
    Arena *a = c->arena;
    MeasuredSet *set = NEW(a, MeasuredSet);
    *set = (MeasuredSet){.sets = c->sets, .from = data};
    for (uint32_t i = 0; i < c->report.values.len; i++)
        if (c->report.values.at[i].value >= set->n)
            set->n = c->report.values.at[i].value + 1;
    set->at = NEWS(a, Measured, set->n + 1u);
    for (uint32_t i = 0; i < c->report.values.len; i++) {
        const MeasureValue *v = &c->report.values.at[i];
        const double *from = c->numbers + (size_t)i * MEASURE_FIELDS;
        Measured *to = &set->at[v->value];
        *to = (Measured){.name = v->name, .dtype = v->dtype, .node = v->node};
        to->count = from[MEASURE_COUNT];
        to->zeros = from[MEASURE_ZEROS];
        to->nans = from[MEASURE_NANS];
        to->above = from[MEASURE_ABOVE];
        to->below = from[MEASURE_BELOW];
        to->least = from[MEASURE_LEAST];
        to->greatest = from[MEASURE_GREATEST];
        to->tiny = from[MEASURE_TINY] < DBL_MAX ? from[MEASURE_TINY] : 0;
        to->rank = (int32_t)from[MEASURE_RANK];
        memcpy(to->dims, from + MEASURE_DIMS, sizeof to->dims);
    }
    return set;
}

int calib_measure(const Tool *t, const char *model, const char *data, Arena *a, MeasuredSet **set)
{
    Calib c = {.tool = t, .arena = a, .data = data};
    CompileOptions o = {.rewrite = rewrite, .rewriter = &c, .once = true};
    *set = NULL;
    bool quiet = tool_style.quiet;
    tool_style.quiet = true; // warnings about the model are the caller's to print
    int status = session_open(t, model, &o, &c.s);
    tool_style.quiet = quiet;
    c.numbers = NEWS(a, double, (size_t)c.report.values.len *MEASURE_FIELDS + 1);
    DataSets d = {.tool = t, .arena = c.s.arena, .model = c.s.model, .path = model};
    d.data = &data;
    d.ndata = 1;
    d.user = &c;
    d.run = run_inputs;
    bool made_up;
    if (!status)
        status = datasets_each(&d, &made_up);
    if (!status)
        *set = measured(&c, data);
    if (c.context)
        c.s.model->destroy(c.context);
    session_close(&c.s);
    return status;
}
