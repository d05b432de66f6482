// cameo verify: compiles, runs on data sets, compares with the outputs that they hold.

#include "base/file.h"
#include "tools/layers.h"

#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_RTOL,
    OPT_ATOL,
    OPT_CC,
    OPT_CPU,
    OPT_GEMM,
    OPT_NO_OVERRIDE,
    OPT_NO_FUSE,
    OPT_DEVICE,
    OPT_THREADS,
    OPT_GRAIN,
    OPT_LAYERS,
    OPT_AGAINST,
    OPT_VALUES,
    OPT_THRESHOLD,
    OPT_FORMAT,
    OPT_PLOT
};

static const ToolOption options[] = {
    [OPT_RTOL] = {"--rtol", "R", "relative tolerance (default 1e-3, or tolerance.json)"},
    [OPT_ATOL] = {"--atol", "A", "absolute tolerance (default 1e-5, or tolerance.json)"},
    [OPT_CC] = {"--cc", "CC", "the clang to use"},
    [OPT_CPU] = {"--cpu", "NAME", "native (default), portable, or a name that clang knows"},
    [OPT_GEMM] = {"--gemm", "HOW", "auto, packed or loops"},
    [OPT_NO_OVERRIDE] = {"--no-override", NULL, "plain loops for every kernel"},
    [OPT_NO_FUSE] = {"--no-fuse", NULL, "one kernel for each operator"},
    [OPT_DEVICE] = {"--device", "DEVICE", "cpu (default), cuda, or auto: cuda where there is one"},
    [OPT_THREADS] = {"--threads", "N", "how many threads (default: 1)"},
    [OPT_GRAIN] = {"--grain", "WORK", "the least that a thread takes, in tenths of nanoseconds"},
    [OPT_LAYERS] = {"--layers", NULL, "report every value instead of comparing outputs"},
    [OPT_AGAINST] =
        {"--against", "WHAT",
         "--layers: f64 (default), the model's own shadow in float64 (of a float64 model in "
         "double-double), dd, in double-double, or another model"},
    [OPT_VALUES] = {"--against-values", "DIR",
                    "--layers: NAME.npy of each value as another runtime wrote them, what is no "
                    "letter, digit, '.', '_' or '-' of NAME as '_' (see cameo help instrument)"},
    [OPT_THRESHOLD] = {"--threshold", "T",
                       "--layers: exit 1 where a value is further away, as a part of the greatest "
                       "number in it (default 1e-3, only marked)"},
    [OPT_FORMAT] = {"--format", "FORMAT", "--layers: text (default), json or csv"},
    [OPT_PLOT] = {"--plot", "FILE", "--layers: draw the error along the graph as SVG"},
    {0},
};

typedef struct Verify {
    const Tool *tool;
    Session s;
    double rtol, atol; // negative: not given
    uint32_t sets, differing;
} Verify;

static void read_tolerance(Verify *v, const char *folder)
{
    const char *path = str_printf(v->s.arena, "%s/tolerance.json", folder).at;
    json_t *root = file_exists(path) ? json_load_file(path, 0, NULL) : NULL;
    const json_t *r = json_object_get(root, "rtol"), *t = json_object_get(root, "atol");
    if (v->rtol < 0)
        v->rtol = json_is_number(r) ? json_number_value(r) : 1e-3;
    if (v->atol < 0)
        v->atol = json_is_number(t) ? json_number_value(t) : 1e-5;
    json_decref(root);
}

// ---- comparing ---------------------------------------------------------------------------------

static bool is_float(int32_t dtype)
{
    return dtype_is_float((DType)dtype);
}

static bool same_element(const Verify *v, const cameo_tensor *got, const cameo_tensor *want,
                         int64_t i, double *excess)
{
    *excess = 0;
    if (want->dtype == DT_STRING)
        return cameo_compare_str(((cameo_str *)got->elements)[i],
                                 ((cameo_str *)want->elements)[i]) == 0;
    if (!is_float(want->dtype)) {
        size_t size = (size_t)cameo_dtype_size(want->dtype);
        return memcmp((char *)got->elements + (size_t)i * size,
                      (char *)want->elements + (size_t)i * size, size) == 0;
    }
    double a = cameo_element(got, i), b = cameo_element(want, i);
    if (a == b || (a != a && b != b))
        return true;
    *excess = fabs(a - b) - (v->atol + v->rtol * fabs(b));
    return *excess <= 0;
}

static bool same_shape(const cameo_tensor *a, const cameo_tensor *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int32_t k = 0; same && k < a->rank; k++)
        same = a->dims[k] == b->dims[k];
    return same;
}

static void print_shape(const cameo_tensor *t)
{
    printf("%s[", cameo_dtype_name(t->dtype));
    for (int32_t k = 0; k < t->rank; k++)
        printf("%s%lld", k ? "," : "", (long long)t->dims[k]);
    printf("]");
}

static bool compare(Verify *v, const char *set, const char *name, const cameo_tensor *got,
                    const cameo_tensor *want)
{
    if (!same_shape(got, want)) {
        printf("%s: output %s is ", set, name);
        print_shape(got);
        printf(", expected ");
        print_shape(want);
        printf("\n");
        return false;
    }
    int64_t bad = 0, worst = -1;
    double greatest = -INFINITY, worst_difference = 0;
    for (int64_t i = 0; i < want->count; i++) {
        double excess;
        bool same = same_element(v, got, want, i, &excess);
        bad += !same;
        if (is_float(want->dtype)) {
            double d = fabs(cameo_element(got, i) - cameo_element(want, i));
            if (d > worst_difference)
                worst_difference = d;
        }
        if (!same && (worst < 0 || excess > greatest || excess != excess)) {
            greatest = excess;
            worst = i;
        }
    }
    printf("%s: output %s %s", set, name, bad ? "differs" : "agrees");
    if (is_float(want->dtype))
        printf(" (greatest difference %.3g)", worst_difference);
    if (bad && want->dtype != DT_STRING)
        printf(" in %lld of %lld, worst at %lld: %.9g, expected %.9g", (long long)bad,
               (long long)want->count, (long long)worst, cameo_element(got, worst),
               cameo_element(want, worst));
    printf("\n");
    return !bad;
}

// Item by item; what agrees in parts is said part by part.
static bool compare_objects(Verify *v, const char *set, const char *name, const cameo_object *got,
                            const cameo_object *want)
{
    if (got->kind != want->kind || (got->kind != CAMEO_TENSOR && got->count != want->count)) {
        printf("%s: output %s has %lld items or another kind, expected %lld\n", set, name,
               (long long)got->count, (long long)want->count);
        return false;
    }
    if (got->kind == CAMEO_TENSOR) {
        cameo_tensor a = cameo_tensor_of(got, name), b = cameo_tensor_of(want, name);
        return compare(v, set, name, &a, &b);
    }
    bool all = true;
    for (int64_t i = 0; i < got->count; i++)
        all &= compare_objects(v, set, str_printf(v->s.arena, "%s[%lld]", name, (long long)i).at,
                               &got->items[i], &want->items[i]);
    if (got->count == 0)
        printf("%s: output %s agrees (empty)\n", set, name);
    return all;
}

// ---- one data set ------------------------------------------------------------------------------

static int compare_list(Verify *v, const char *set, const cameo_context *x, int32_t k, bool *same)
{
    const cameo_model *m = v->s.model;
    char error[512];
    cameo_loaded want;
    const char *path = str_printf(v->s.arena, "%s/output_%d.pb", set, (int)k).at;
    int status = cameo_load_object(path, m->output_types[k], &want, error, sizeof error);
    if (status)
        tool_error(v->tool, status, "%s", error);
    else
        *same = compare_objects(v, set, m->outputs[k].name, m->output_object(x, k), &want.object);
    cameo_free_object(&want);
    return status;
}

static int compare_outputs(Verify *v, const char *set, const cameo_context *x)
{
    const cameo_model *m = v->s.model;
    char error[512];
    bool all = true;
    for (int32_t k = 0; k < m->noutputs; k++) {
        if (m->output_types && m->output_types[k]) {
            bool same = false;
            int failed = compare_list(v, set, x, k, &same);
            if (failed)
                return failed;
            all &= same;
            continue;
        }
        const char *path = str_printf(v->s.arena, "%s/output_%d.pb", set, (int)k).at;
        cameo_tensor want, got = {.name = ""};
        int status = cameo_load_tensor(path, m->outputs[k].dtype, &want, error, sizeof error);
        if (status)
            return tool_error(v->tool, status, "%s", error);
        const int64_t *dims = want.dims;
        got.elements = (void *)(uintptr_t)m->output(x, k, &got.rank, &dims);
        got.dtype = m->outputs[k].dtype;
        memcpy(got.dims, dims, sizeof got.dims);
        all &= compare(v, set, m->outputs[k].name, &got, &want);
        cameo_tensor_free(&want);
    }
    v->differing += !all;
    return EXIT_CLEAN;
}

static int set_list(Verify *v, const char *set, cameo_context *x, int32_t i, cameo_loaded *list)
{
    const cameo_model *m = v->s.model;
    char error[512];
    const char *path = str_printf(v->s.arena, "%s/input_%d.pb", set, (int)i).at;
    int status = cameo_load_object(path, m->input_types[i], list, error, sizeof error);
    if (status)
        return tool_error(v->tool, status, "%s", error);
    if (m->set_object(x, i, &list->object) != 0)
        return tool_error(v->tool, EXIT_USAGE, "%s: %s", set, m->error(x));
    return EXIT_CLEAN;
}

static int run_set(Verify *v, const char *set, cameo_context *x, cameo_tensor *inputs,
                   cameo_loaded *lists)
{
    const cameo_model *m = v->s.model;
    char error[512];
    for (int32_t i = 0; i < m->ninputs; i++) {
        if (m->input_types && m->input_types[i]) {
            int failed = set_list(v, set, x, i, &lists[i]);
            if (failed)
                return failed;
            continue;
        }
        const char *path = str_printf(v->s.arena, "%s/input_%d.pb", set, (int)i).at;
        int status = cameo_load_tensor(path, m->inputs[i].dtype, &inputs[i], error, sizeof error);
        if (status)
            return tool_error(v->tool, status, "%s", error);
        const cameo_tensor *t = &inputs[i];
        if (m->set_input(x, i, t->dtype, t->rank, t->dims, t->elements) != 0)
            return tool_error(v->tool, EXIT_USAGE, "%s: %s", path, m->error(x));
    }
    v->sets++;
    if (m->run(x) != 0)
        return tool_error(v->tool, EXIT_FINDINGS, "%s: %s", set, m->error(x));
    return compare_outputs(v, set, x);
}

static int verify_set(Verify *v, const char *set)
{
    const cameo_model *m = v->s.model;
    cameo_context *x = m->create(&v->s.options);
    cameo_tensor *inputs = calloc((size_t)m->ninputs + 1, sizeof *inputs);
    cameo_loaded *lists = calloc((size_t)m->ninputs + 1, sizeof *lists);
    int status = x && inputs && lists ? run_set(v, set, x, inputs, lists)
                                      : tool_error(v->tool, EXIT_BYTES, "not enough memory");
    for (int32_t i = 0; inputs && lists && i < m->ninputs; i++) {
        cameo_tensor_free(&inputs[i]);
        cameo_free_object(&lists[i]);
    }
    free(inputs);
    free(lists);
    m->destroy(x);
    return status;
}

static int by_name(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    size_t n = strlen(x), k = strlen(y);
    return n != k ? (n > k) - (n < k) : strcmp(x, y); // test_data_set_2 before test_data_set_10
}

// A folder with input files is a set; else its folders test_data_set_N are.
static int verify_folder(Verify *v, const char *folder)
{
    Arena *a = v->s.arena;
    VEC(const char *) sets = {0};
    DIR *d = opendir(folder);
    bool is_set = false;
    for (struct dirent *e; d && (e = readdir(d));) {
        is_set |= strcmp(e->d_name, "output_0.pb") == 0;
        if (strncmp(e->d_name, "test_data_set_", 14) == 0)
            vec_push(a, &sets, str_printf(a, "%s/%s", folder, e->d_name).at);
    }
    if (!d)
        return tool_error(v->tool, EXIT_BYTES, "%s is no folder that can be read", folder);
    closedir(d);
    if (is_set)
        return verify_set(v, folder);
    if (sets.len == 0)
        return tool_error(v->tool, EXIT_USAGE, "%s holds no test_data_set_N", folder);
    qsort(sets.at, sets.len, sizeof *sets.at, by_name);
    int status = EXIT_CLEAN;
    for (uint32_t i = 0; i < sets.len && !status; i++)
        status = verify_set(v, sets.at[i]);
    return status;
}

typedef struct Asked {
    CompileOptions o;
    const char *model, **sets;
    int nsets;
    bool layers;
    LayersOptions l;
} Asked;

static int verify(Verify *v, Asked *a)
{
    int status = session_open(v->tool, a->model, &a->o, &v->s);
    const char *folder = status ? NULL : path_folder(v->s.arena, a->model);
    if (!status) {
        read_tolerance(v, folder);
        if (a->nsets == 0)
            status = verify_folder(v, folder);
        for (int i = 0; i < a->nsets && !status; i++)
            status = verify_folder(v, a->sets[i]);
    }
    if (!status) {
        printf("%u of %u data sets agree (rtol %g, atol %g)\n", v->sets - v->differing, v->sets,
               v->rtol, v->atol);
        status = v->differing ? EXIT_FINDINGS : EXIT_CLEAN;
    }
    session_close(&v->s);
    return status;
}

static int layers(const Tool *t, Asked *a)
{
    LayersOptions *l = &a->l;
    l->compile = a->o;
    l->model = a->model;
    l->data = a->sets;
    l->ndata = a->nsets;
    if (a->o.device != ON_CPU)
        return tool_error(t, EXIT_USAGE, "--layers runs on the cpu");
    if (l->against && l->values)
        return tool_error(t, EXIT_USAGE, "--against and --against-values exclude each other");
    return layers_run(t, l);
}

static bool take_format(const char *name, LayersFormat *format)
{
    static const char *const names[] = {"text", "json", "csv"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            *format = (LayersFormat)i;
            return true;
        }
    return false;
}

// -1, or the exit status.
static int take_tolerance(const Tool *t, const char *name, const char *value, double *to)
{
    char *end = NULL;
    *to = strtod(value, &end);
    if (end == value || *end || !(*to >= 0) || !(*to < INFINITY))
        return tool_error(t, EXIT_USAGE, "%s %s: a tolerance is 0 or more, and finite", name,
                          value);
    return -1;
}

// -1, or the exit status.
static int take_option(const Tool *t, Verify *v, Asked *a, int option, const char *value)
{
    switch (option) {
    case OPT_RTOL:
        return take_tolerance(t, "--rtol", value, &v->rtol);
    case OPT_ATOL:
        return take_tolerance(t, "--atol", value, &v->atol);
    case OPT_CC:
        a->o.cc = value;
        return -1;
    case OPT_CPU:
        a->o.cpu = value;
        return -1;
    case OPT_GEMM:
        a->o.gemm = strcmp(value, "loops") == 0 ? GEMM_LOOPS : GEMM_AUTO;
        return -1;
    case OPT_NO_FUSE:
        a->o.no_fuse = true;
        return -1;
    case OPT_NO_OVERRIDE:
        a->o.no_override = true;
        return -1;
    case OPT_DEVICE:
        return session_device(value, &a->o.device)
                   ? -1
                   : tool_error(t, EXIT_USAGE, "--device is cpu, cuda or auto");
    case OPT_GRAIN:
        return tool_count(value, MAX_GRAIN, &a->o.grain)
                   ? -1
                   : tool_error(t, EXIT_USAGE, "--grain is a number from 1 on");
    case OPT_THREADS:
        return tool_count(value, MAX_THREADS, &a->o.threads)
                   ? -1
                   : tool_error(t, EXIT_USAGE, "--threads is a number from 1 to %d", MAX_THREADS);
    case OPT_LAYERS:
        a->layers = true;
        return -1;
    case OPT_AGAINST:
        a->l.against = value;
        a->layers = true;
        return -1;
    case OPT_VALUES:
        a->l.values = value;
        a->layers = true;
        return -1;
    case OPT_THRESHOLD:
        a->l.threshold = strtod(value, NULL);
        return a->l.threshold >= 0 ? -1 : tool_error(t, EXIT_USAGE, "--threshold is 0 or more");
    case OPT_FORMAT:
        return take_format(value, &a->l.format)
                   ? -1
                   : tool_error(t, EXIT_USAGE, "--format is text, json or csv");
    default:
        a->l.plot = value;
        return -1;
    }
}

static int run(const Tool *t, int argc, char **argv)
{
    Verify v = {.tool = t, .rtol = -1, .atol = -1};
    Asked a = {.sets = calloc((size_t)argc + 1, sizeof *a.sets), .l.threshold = -1};
    Args args = args_of(t, argc, argv);
    const char *value;
    int status = -1;
    for (int option; status < 0 && (option = args_next(&args, &value)) != ARG_END;) {
        if (option == ARG_HELP || option == ARG_BAD)
            status = option == ARG_HELP ? EXIT_CLEAN : EXIT_USAGE;
        else if (option == ARG_FILE && !a.model)
            a.model = value;
        else if (option == ARG_FILE)
            a.sets[a.nsets++] = value;
        else
            status = take_option(t, &v, &a, option, value);
    }
    if (status < 0 && !a.model)
        status = tool_error(t, EXIT_USAGE, "a MODEL is needed (see cameo help verify)");
    if (status < 0)
        status = a.layers ? layers(t, &a) : verify(&v, &a);
    free(a.sets);
    return status;
}

const Tool tool_verify = {"verify", "MODEL [DATASET | NAME=FILE | FILE ...] [OPTIONS]",
                          "compares what a model computes with data sets, or layer by layer",
                          options, run};
