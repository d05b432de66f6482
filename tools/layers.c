// cameo verify --layers --against f64: runs a model and its shadow side by side.

#include "tools/layers.h"
#include "base/file.h"
#include "tools/datasets.h"
#include "tools/layers_parts.h"
#include "tools/pipeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- figures -----------------------------------------------------------------------------------

double layer_rms(const Layer *l, int sum)
{
    double n = l->numbers[DRIFT_COUNT] - l->numbers[DRIFT_NONFINITE];
    return n > 0 ? sqrt(l->numbers[sum] / n) : 0;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : a > 0 ? INFINITY : 0;
}

double layer_relative(const Layer *l)
{
    return ratio(layer_rms(l, DRIFT_SUM_TOTAL), layer_rms(l, DRIFT_SUM_SHADOW));
}

double layer_spread(const Layer *l)
{
    return ratio(l->numbers[DRIFT_MAX_TOTAL], l->numbers[DRIFT_MAX_SHADOW]);
}

double layer_share(const Layer *l)
{
    return ratio(layer_rms(l, DRIFT_SUM_MADE), layer_rms(l, DRIFT_SUM_SHADOW));
}

bool layer_is_over(const Layers *s, const Layer *l)
{
    return !l->missing && (layer_spread(l) > s->threshold || l->numbers[DRIFT_LOST] > 0 ||
                           (l->value.kind == SHADOW_DECIDES && l->numbers[DRIFT_FLIPS] > 0));
}

const char *layer_kind(const Layer *l)
{
    static const char *const names[] = {[SHADOW_FLOAT] = "computed",
                                        [SHADOW_EXACT] = "exact",
                                        [SHADOW_TOTAL] = "control",
                                        [SHADOW_DECIDES] = "decides",
                                        [SHADOW_RESTART] = "restarts"};
    return names[l->value.kind];
}

// ---- running -----------------------------------------------------------------------------------

static bool rewrite(void *rewriter, Model *m, Diags *diags)
{
    Runner *r = rewriter;
    return shadow_model(m, diags, &r->report);
}

static void begin_layers(Runner *r)
{
    Arena *a = r->s.arena;
    for (uint32_t i = 0; i < r->report.values.len; i++) {
        Layer l = {.value = r->report.values.at[i]};
        l.numbers[DRIFT_NONFINITE_AT] = -1;
        vec_push(a, &r->layers.all, l);
    }
}

static int collect(Runner *r, const cameo_context *x, const Inputs *in)
{
    const cameo_model *m = r->s.model;
    (void)in;
    for (uint32_t i = 0; i < r->layers.all.len; i++) {
        Layer *l = &r->layers.all.at[i];
        int32_t rank = 0;
        const int64_t *dims = NULL;
        const double *at = m->output(x, (int32_t)l->value.output, &rank, &dims);
        double set[DRIFT_FIELDS] = {0};
        if (rank == 1) {
            cameo_drift_add(l->numbers, at, at[DRIFT_ITERATION]);
            r->overflows |= shadow_overflows(l->numbers);
            continue;
        }
        for (int64_t k = 0; k < dims[0]; k++)
            cameo_drift_add(set, at + k * DRIFT_FIELDS, (double)k);
        cameo_drift_add(l->numbers, set, set[DRIFT_ITERATION]);
        r->overflows |= shadow_overflows(l->numbers);
        l->nrows = dims[0];
        l->rows = NEWS(r->s.arena, double, (size_t)dims[0] * DRIFT_FIELDS + 1);
        if (dims[0])
            memcpy(l->rows, at, (size_t)dims[0] * DRIFT_FIELDS * sizeof *at);
    }
    return r->overflows && r->report.compact ? EXIT_FINDINGS : EXIT_CLEAN;
}

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void keep_least(double *least, double seconds, bool first)
{
    *least = !first && *least < seconds ? *least : seconds;
}

static bool any_not_finite(const Runner *r)
{
    for (uint32_t i = 0; i < r->layers.all.len; i++)
        if (r->layers.all.at[i].numbers[DRIFT_NONFINITE] > 0)
            return true;
    return false;
}

// Values that are not finite may have come with an input.
static void note_inputs(Runner *r, const Inputs *in)
{
    const cameo_model *m = r->s.model;
    for (int32_t i = 0; i < m->ninputs && !r->layers.input; i++) {
        const cameo_tensor *t = &in->tensors[i];
        if ((m->input_types && m->input_types[i]) || !dtype_is_float((DType)t->dtype))
            continue;
        for (int64_t k = 0; k < t->count && !r->layers.input; k++)
            if (!isfinite(cameo_element(t, k))) {
                r->layers.input = m->inputs[i].name;
                r->layers.input_at = k;
            }
    }
}

static int run_inputs(void *runner, Inputs *in)
{
    Runner *r = runner;
    const cameo_model *m = r->s.model;
    if (!r->context)
        r->context = m->create(&r->s.options);
    int status = r->context ? inputs_set(r->tool, m, r->context, in)
                            : tool_error(r->tool, EXIT_BYTES, "not enough memory");
    double begin = now(CLOCK_MONOTONIC), work = now(CLOCK_PROCESS_CPUTIME_ID);
    if (!status && m->run(r->context) != 0)
        status = tool_error(r->tool, EXIT_FINDINGS, "%s", m->error(r->context));
    keep_least(&r->work, now(CLOCK_PROCESS_CPUTIME_ID) - work, !r->layers.sets);
    keep_least(&r->fastest, now(CLOCK_MONOTONIC) - begin, !r->layers.sets);
    if (!status)
        status = r->collect(r, r->context, in);
    if (any_not_finite(r))
        note_inputs(r, in);
    r->layers.sets++;
    return status;
}

static int run_data(Runner *r)
{
    DataSets d = {.tool = r->tool,
                  .arena = r->s.arena,
                  .model = r->s.model,
                  .path = r->o->model,
                  .data = r->o->data,
                  .ndata = r->o->ndata,
                  .user = r,
                  .run = run_inputs};
    return datasets_each(&d, &r->layers.made_up);
}

// ---- the report --------------------------------------------------------------------------------

static int write_report(Runner *r)
{
    const LayersOptions *o = r->o;
    Buf out = {0};
    if (o->format == LAYERS_JSON)
        layers_print_json(&r->layers, &out);
    else if (o->format == LAYERS_CSV)
        layers_print_csv(&r->layers, &out);
    else
        layers_print_text(&r->layers, &out);
    fwrite(out.at ? out.at : "", 1, out.len, stdout);
    out.len = 0;
    int status = EXIT_CLEAN;
    if (o->plot) {
        layers_plot(&r->layers, &out);
        status = file_same(o->plot, o->model)
                     ? tool_error(r->tool, EXIT_USAGE, "%s is the input", o->plot)
                     : output_write(r->tool, r->s.arena, o->plot, NULL, &out);
    }
    buf_free(&out);
    for (uint32_t i = 0; !status && o->threshold >= 0 && i < r->layers.all.len; i++)
        status = layer_is_over(&r->layers, &r->layers.all.at[i]) ? EXIT_FINDINGS : EXIT_CLEAN;
    return status;
}

static int open_shadow(Runner *r, bool pairs)
{
    LayersOptions *o = r->o;
    o->compile.rewrite = rewrite;
    o->compile.rewriter = r;
    r->report.width = pairs ? SHADOW_PAIRS : SHADOW_WIDER;
    const int status = session_open(r->tool, o->model, &o->compile, &r->s);
    r->layers.against = r->report.width == SHADOW_PAIRS ? "double-double" : "float64";
    if (!status)
        begin_layers(r);
    return status;
}

static void close_runner(Runner *r)
{
    if (r->context)
        r->s.model->destroy(r->context);
    layers_close_beside(r);
    session_close(&r->s);
}

// A shadow is compact until data show that it may not be.
static int run_shadow(Runner *r, bool pairs)
{
    const Runner begin = *r;
    r->report.compact = true;
    int status = open_shadow(r, pairs);
    if (!status)
        status = run_data(r);
    if (!r->overflows || !r->report.compact)
        return status;
    close_runner(r);
    *r = begin;
    status = open_shadow(r, pairs);
    return status ? status : run_data(r);
}

int layers_run(const Tool *t, LayersOptions *o)
{
    Runner r = {.tool = t, .o = o, .collect = collect};
    r.layers.model = o->model;
    r.layers.threshold = o->threshold >= 0 ? o->threshold : 1e-3;
    int status = EXIT_CLEAN;
    const bool pairs = o->against && strcmp(o->against, "dd") == 0;
    if (o->values || (o->against && !pairs && strcmp(o->against, "f64") != 0)) {
        status = layers_open_beside(&r);
        if (!status)
            status = run_data(&r);
    } else {
        status = run_shadow(&r, pairs);
    }
    if (!status)
        status = write_report(&r);
    if (!status && tool_style.verbose)
        fprintf(stderr, "%u runs, the fastest %.3f ms, %.3f ms of processor time\n", r.layers.sets,
                1e3 * r.fastest, 1e3 * r.work);
    close_runner(&r);
    return status;
}
