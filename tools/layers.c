// cameo verify --layers --against f64: runs a model and its float64 shadow side by side.

#include "tools/layers.h"
#include "base/file.h"
#include "tools/layers_parts.h"
#include "tools/pipeline.h"

#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

// ---- figures -----------------------------------------------------------------------------------

double layer_rms(const Layer *l, int sum)
{
    double n = l->numbers[DRIFT_COUNT] - l->numbers[DRIFT_NONFINITE];
    return n > 0 ? sqrt(l->numbers[sum] / n) : 0;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
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
            continue;
        }
        for (int64_t k = 0; k < dims[0]; k++)
            cameo_drift_add(set, at + k * DRIFT_FIELDS, (double)k);
        cameo_drift_add(l->numbers, set, set[DRIFT_ITERATION]);
        l->nrows = dims[0];
        l->rows = NEWS(r->s.arena, double, (size_t)dims[0] * DRIFT_FIELDS + 1);
        if (dims[0])
            memcpy(l->rows, at, (size_t)dims[0] * DRIFT_FIELDS * sizeof *at);
    }
    return EXIT_CLEAN;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run_inputs(Runner *r, const Inputs *in)
{
    const cameo_model *m = r->s.model;
    if (!r->context)
        r->context = m->create(&r->s.options);
    int status = r->context ? inputs_set(r->tool, m, r->context, in)
                            : tool_error(r->tool, EXIT_BYTES, "not enough memory");
    double begin = now();
    if (!status && m->run(r->context) != 0)
        status = tool_error(r->tool, EXIT_FINDINGS, "%s", m->error(r->context));
    double seconds = now() - begin;
    r->fastest = r->layers.sets && r->fastest < seconds ? r->fastest : seconds;
    if (!status)
        status = r->collect(r, r->context, in);
    r->layers.sets++;
    return status;
}

static int run_folder(Runner *r, const char *folder)
{
    Inputs in;
    int status = inputs_begin(r->tool, r->s.model, &in);
    if (!status)
        status = inputs_from_folder(r->tool, r->s.model, folder, &in);
    if (!status)
        status = run_inputs(r, &in);
    inputs_free(r->s.model, &in);
    return status;
}

static int by_name(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    size_t n = strlen(x), k = strlen(y);
    return n != k ? (n > k) - (n < k) : strcmp(x, y);
}

// A folder with input files, or its folders test_data_set_N. *found: was there any?
static int run_folders(Runner *r, const char *folder, bool *found)
{
    Arena *a = r->s.arena;
    VEC(const char *) sets = {0};
    bool is_set = false;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        is_set |= strcmp(e->d_name, "input_0.pb") == 0;
        if (strncmp(e->d_name, "test_data_set_", 14) == 0)
            vec_push(a, &sets, str_printf(a, "%s/%s", folder, e->d_name).at);
    }
    if (d)
        closedir(d);
    *found = is_set || sets.len;
    if (is_set)
        return run_folder(r, folder);
    if (sets.len)
        qsort(sets.at, sets.len, sizeof *sets.at, by_name);
    int status = EXIT_CLEAN;
    for (uint32_t i = 0; i < sets.len && !status; i++)
        status = run_folder(r, sets.at[i]);
    return status;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *folder_of(Arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? arena_copy(a, path, (size_t)(slash - path)) : ".";
}

// Files and NAME=FILE together are one set of inputs.
static int run_files(Runner *r)
{
    Inputs in;
    int status = inputs_begin(r->tool, r->s.model, &in);
    for (int i = 0; i < r->o->ndata && !status; i++)
        if (!is_folder(r->o->data[i]))
            status = inputs_from_argument(r->tool, r->s.model, r->o->data[i], &in);
    if (!status)
        status = run_inputs(r, &in);
    inputs_free(r->s.model, &in);
    return status;
}

static int run_made_up(Runner *r)
{
    Inputs in;
    int status = inputs_begin(r->tool, r->s.model, &in);
    r->layers.made_up = true;
    if (!status)
        status = inputs_make_up(r->tool, r->s.model, &in);
    if (!status)
        status = run_inputs(r, &in);
    inputs_free(r->s.model, &in);
    return status;
}

static int run_data(Runner *r)
{
    int status = EXIT_CLEAN;
    bool files = false, found = false;
    for (int i = 0; i < r->o->ndata && !status; i++) {
        if (!is_folder(r->o->data[i])) {
            files = true;
            continue;
        }
        status = run_folders(r, r->o->data[i], &found);
        if (!status && !found)
            status = tool_error(r->tool, EXIT_USAGE,
                                "%s holds no input_0.pb and no test_data_set_N", r->o->data[i]);
    }
    if (!status && files)
        status = run_files(r);
    if (status || r->o->ndata)
        return status;
    status = run_folders(r, folder_of(r->s.arena, r->o->model), &found);
    return status || found ? status : run_made_up(r);
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
        status = output_write(r->tool, r->s.arena, o->plot, o->model, &out);
    }
    buf_free(&out);
    for (uint32_t i = 0; !status && o->threshold >= 0 && i < r->layers.all.len; i++)
        status = layer_is_over(&r->layers, &r->layers.all.at[i]) ? EXIT_FINDINGS : EXIT_CLEAN;
    return status;
}

int layers_run(const Tool *t, LayersOptions *o)
{
    Runner r = {.tool = t, .o = o, .collect = collect};
    r.layers.model = o->model;
    r.layers.against = "float64";
    r.layers.threshold = o->threshold >= 0 ? o->threshold : 1e-3;
    int status = EXIT_CLEAN;
    if (o->values || (o->against && strcmp(o->against, "f64") != 0)) {
        status = layers_open_beside(&r);
    } else {
        o->compile.rewrite = rewrite;
        o->compile.rewriter = &r;
        bool blas = o->compile.gemm == GEMM_AUTO && !o->compile.no_override &&
                    dlopen("libopenblas.so.0", RTLD_NOW | RTLD_GLOBAL);
        if (blas) // the JIT finds what this process has
            o->compile.gemm = GEMM_WIDE;
        status = session_open(t, o->model, &o->compile, &r.s);
        if (!status)
            begin_layers(&r);
    }
    if (!status)
        status = run_data(&r);
    if (!status)
        status = write_report(&r);
    if (!status && tool_style.verbose)
        fprintf(stderr, "%u runs, the fastest %.3f ms\n", r.layers.sets, 1e3 * r.fastest);
    if (r.context)
        r.s.model->destroy(r.context);
    layers_close_beside(&r);
    session_close(&r.s);
    return status;
}
