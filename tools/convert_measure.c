// Calibration: what the values of a model are on data sets, and how far a converted model's outputs
// are from the model's own there.

#include "passes/shadow.h"
#include "runtime/cameo_drift.h"
#include "tools/convert.h"
#include "tools/inputs.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- data sets ----------------------------------------------------------------------------------

static bool holds_inputs(Arena *a, const char *folder)
{
    return file_exists(str_printf(a, "%s/input_0.pb", folder).at);
}

static int by_name(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    size_t n = strlen(x), k = strlen(y);
    return n != k ? (n > k) - (n < k) : strcmp(x, y);
}

int convert_find_sets(ConvertRun *r)
{
    Arena *a = r->arena;
    if (holds_inputs(a, r->calibration)) {
        vec_push(a, &r->folders, r->calibration);
        return EXIT_CLEAN;
    }
    DIR *d = opendir(r->calibration);
    for (struct dirent *e; d && (e = readdir(d));) {
        const char *folder = str_printf(a, "%s/%s", r->calibration, e->d_name).at;
        if (e->d_name[0] != '.' && holds_inputs(a, folder))
            vec_push(a, &r->folders, folder);
    }
    if (d)
        closedir(d);
    if (!r->folders.len)
        return tool_error(r->tool, EXIT_USAGE, "%s holds no input_0.pb, and no folder that does",
                          r->calibration);
    qsort(r->folders.at, r->folders.len, sizeof *r->folders.at, by_name);
    return EXIT_CLEAN;
}

// Runs a model on every set.
static int run_sets(ConvertRun *r, const Session *s,
                    int (*take)(ConvertRun *r, const cameo_model *m, const cameo_context *x,
                                const Inputs *in, uint32_t set))
{
    const cameo_model *m = s->model;
    cameo_context *x = m->create(&s->options);
    int status = x ? EXIT_CLEAN : tool_error(r->tool, EXIT_BYTES, "not enough memory");
    for (uint32_t i = 0; i < r->folders.len && !status; i++) {
        Inputs in;
        status = inputs_begin(r->tool, m, &in);
        if (!status)
            status = inputs_from_folder(r->tool, m, r->folders.at[i], &in);
        if (!status)
            status = inputs_set(r->tool, m, x, &in);
        if (!status && m->run(x) != 0)
            status = tool_error(r->tool, EXIT_FINDINGS, "%s: %s", r->folders.at[i], m->error(x));
        if (!status)
            status = take(r, m, x, &in, i);
        inputs_free(m, &in);
    }
    if (x)
        m->destroy(x);
    return status;
}

// ---- what values are ----------------------------------------------------------------------------

static ConvertSeen *seen_of(ConvertRun *r, Str name)
{
    bool added;
    uint32_t *at = map_put(&r->seen_ids, name, &added);
    if (added) {
        *at = r->seen.len;
        vec_push(r->arena, &r->seen, ((ConvertSeen){.greatest = -1, .negative = true}));
    }
    return &r->seen.at[*at];
}

static void see(ConvertSeen *s, double least, double greatest)
{
    s->greatest = fmax(s->greatest, fmax(fabs(least), fabs(greatest)));
    s->negative &= greatest <= 1;
}

static void see_inputs(ConvertRun *r, const cameo_model *m, const Inputs *in)
{
    for (int32_t i = 0; i < m->ninputs; i++) {
        const cameo_tensor *t = &in->tensors[i];
        if (!in->given[i] || (m->input_types && m->input_types[i]) ||
            !dtype_is_float((DType)t->dtype))
            continue;
        ConvertSeen *s = seen_of(r, str_copy(r->arena, str_of(m->inputs[i].name)));
        for (int64_t k = 0; k < t->count; k++)
            if (isfinite(cameo_element(t, k)))
                see(s, cameo_element(t, k), cameo_element(t, k));
    }
}

static int take_values(ConvertRun *r, const cameo_model *m, const cameo_context *x,
                       const Inputs *in, uint32_t set)
{
    (void)set;
    see_inputs(r, m, in);
    for (uint32_t i = 0; i < r->shadow.values.len; i++) {
        const ShadowValue *v = &r->shadow.values.at[i];
        int32_t rank = 0;
        const int64_t *dims = NULL;
        const double *at = m->output(x, (int32_t)v->output, &rank, &dims);
        for (int64_t k = 0; k < (rank == 1 ? 1 : dims[0]); k++) {
            const double *row = at + k * DRIFT_FIELDS;
            if (row[DRIFT_COUNT] > row[DRIFT_NONFINITE])
                see(seen_of(r, v->name), row[DRIFT_LEAST], row[DRIFT_GREATEST]);
        }
    }
    return EXIT_CLEAN;
}

static bool add_shadow(void *run, Model *m, Diags *diags)
{
    ConvertRun *r = run;
    return shadow_model(m, diags, &r->shadow);
}

static int open_session(ConvertRun *r, const char *path, bool shadow, Session *s)
{
    CompileOptions o = {.gemm = GEMM_PACKED, .threads = 1};
    if (shadow) {
        o.rewrite = add_shadow;
        o.rewriter = r;
    }
    return session_open(r->tool, path, &o, s);
}

int convert_measure_values(ConvertRun *r)
{
    Session s;
    r->seen_ids.arena = r->arena;
    int status = open_session(r, r->model, true, &s);
    if (!status)
        status = run_sets(r, &s, take_values);
    for (uint32_t i = 0; i < r->shadow.values.len; i++) // the names live in the session
        r->shadow.values.at[i].name = STR_NONE;
    if (!status)
        r->sets = r->folders.len;
    session_close(&s);
    return status;
}

// ---- how far outputs are ------------------------------------------------------------------------

typedef struct Output {
    double *at;
    int64_t count;
} Output;

static bool is_compared(const cameo_model *m, int32_t k)
{
    return !(m->output_types && m->output_types[k]) && dtype_is_float((DType)m->outputs[k].dtype);
}

static cameo_tensor output_of(const cameo_model *m, const cameo_context *x, int32_t k)
{
    cameo_tensor t = {.name = "", .dtype = m->outputs[k].dtype, .count = 1};
    const int64_t *dims = NULL;
    t.elements = (void *)(uintptr_t)m->output(x, k, &t.rank, &dims);
    for (int32_t i = 0; i < t.rank; i++)
        t.count *= dims[i];
    return t;
}

static int keep_outputs(ConvertRun *r, const cameo_model *m, const cameo_context *x,
                        const Inputs *in, uint32_t set)
{
    (void)in;
    if (set == 0) {
        r->noutputs = m->noutputs;
        r->wanted = NEWS(r->arena, Output, (size_t)m->noutputs * r->folders.len + 1);
        for (int32_t k = 0; k < m->noutputs; k++)
            if (is_compared(m, k)) {
                ConvertError e = {.budget = -1, .number = k};
                e.output = str_printf(r->arena, "%s", m->outputs[k].name).at;
                for (uint32_t b = 0; b < r->nbudgets; b++)
                    if (!r->budgets[b].output.len || str_is(r->budgets[b].output, e.output))
                        e.budget = r->budgets[b].relative;
                vec_push(r->arena, &r->errors, e);
            }
    }
    for (int32_t k = 0; k < m->noutputs; k++) {
        cameo_tensor t = is_compared(m, k) ? output_of(m, x, k) : (cameo_tensor){0};
        Output *o = &((Output *)r->wanted)[set * (uint32_t)m->noutputs + (uint32_t)k];
        o->count = t.count;
        o->at = NEWS(r->arena, double, (size_t)t.count + 1);
        for (int64_t i = 0; i < t.count; i++)
            o->at[i] = cameo_element(&t, i);
    }
    return EXIT_CLEAN;
}

static int take_errors(ConvertRun *r, const cameo_model *m, const cameo_context *x,
                       const Inputs *in, uint32_t set)
{
    (void)in;
    for (uint32_t j = 0; j < r->errors.len; j++) {
        ConvertError *e = &r->errors.at[j];
        const Output *o =
            &((const Output *)r->wanted)[set * (uint32_t)r->noutputs + (uint32_t)e->number];
        cameo_tensor t = output_of(m, x, e->number);
        bool same = t.count == o->count; // a shape that data decides may differ
        for (int64_t i = 0; i < o->count; i++) {
            double want = o->at[i], got = same ? cameo_element(&t, i) : NAN;
            if (!isfinite(want) || got == want)
                continue;
            double off = isfinite(got) ? fabs(got - want) : INFINITY;
            e->greatest = fmax(e->greatest, off);
            e->squares += off * off;
        }
        for (int64_t i = 0; i < o->count; i++)
            e->all += isfinite(o->at[i]) ? o->at[i] * o->at[i] : 0;
    }
    return EXIT_CLEAN;
}

int convert_measure_outputs(ConvertRun *r)
{
    Session s;
    int status = open_session(r, r->model, false, &s);
    if (!status)
        status = run_sets(r, &s, keep_outputs);
    session_close(&s);
    return status;
}

int convert_measure_errors(ConvertRun *r, const char *converted)
{
    Session s;
    for (uint32_t j = 0; j < r->errors.len; j++)
        r->errors.at[j].squares = r->errors.at[j].all = r->errors.at[j].greatest = 0;
    int status = open_session(r, converted, false, &s);
    if (!status)
        status = run_sets(r, &s, take_errors);
    for (uint32_t j = 0; j < r->errors.len; j++) {
        ConvertError *e = &r->errors.at[j];
        e->relative = e->squares > 0 ? sqrt(e->squares / fmax(e->all, 1e-300)) : 0;
    }
    session_close(&s);
    return status;
}
