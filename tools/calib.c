// Runs a model on calibration data and keeps what its values were.

#include "tools/calib.h"
#include "passes/measure.h"
#include "runtime/cameo_measure.h"
#include "tools/inputs.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert((int)MEASURED_RANKS == (int)MEASURE_RANKS, "dims are kept as they are measured");

typedef struct Calib {
    const Tool *tool;
    Arena *arena; // of the result
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

// `from`: where the data are, for messages.
static int run_inputs(Calib *c, const Inputs *in, const char *from)
{
    const cameo_model *m = c->s.model;
    if (!c->context)
        c->context = m->create(&c->s.options);
    if (!c->context)
        return tool_error(c->tool, EXIT_BYTES, "not enough memory");
    int status = inputs_set(c->tool, m, c->context, in);
    if (!status && m->run(c->context) != 0)
        status = tool_error(c->tool, EXIT_USAGE, "%s", m->error(c->context));
    if (status)
        return tool_error(c->tool, status, "--calib: the model cannot run on %s", from);
    collect(c);
    c->sets++;
    return EXIT_CLEAN;
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// The file of input i in the folder; NULL: there is none.
static const char *file_of(Calib *c, const char *folder, int32_t i)
{
    static const char *const kinds[] = {"npy", "pb"};
    Arena *a = c->s.arena;
    const char *path = str_printf(a, "%s/input_%d.pb", folder, (int)i).at;
    if (is_file(path))
        return path;
    Str name = str_printf(a, "%s", c->s.model->inputs[i].name);
    char *at = arena_copy(a, name.at, name.len);
    for (size_t k = 0; k < name.len; k++)
        if (!isalnum((unsigned char)at[k]) && !strchr(".-_", at[k]))
            at[k] = '_';
    for (int k = 0; k < 2; k++) {
        path = str_printf(a, "%s/%s.%s", folder, at, kinds[k]).at;
        if (is_file(path))
            return path;
    }
    return NULL;
}

static bool is_set(Calib *c, const char *folder)
{
    for (int32_t i = 0; i < c->s.model->ninputs; i++)
        if (file_of(c, folder, i))
            return true;
    return false;
}

static int run_set(Calib *c, const char *folder)
{
    Inputs in;
    int status = inputs_begin(c->tool, c->s.model, &in);
    for (int32_t i = 0; i < c->s.model->ninputs && !status; i++) {
        const char *path = file_of(c, folder, i);
        if (path)
            status = inputs_from_file(c->tool, c->s.model, i, path, &in);
    }
    if (!status)
        status = run_inputs(c, &in, folder);
    inputs_free(c->s.model, &in);
    return status;
}

static int run_file(Calib *c, const char *path)
{
    Inputs in;
    int status = inputs_begin(c->tool, c->s.model, &in);
    bool archive = str_ends(str_of(path), ".npz");
    if (!status)
        status = archive ? inputs_from_npz(c->tool, c->s.model, path, &in)
                         : inputs_from_file(c->tool, c->s.model, 0, path, &in);
    if (!status)
        status = run_inputs(c, &in, path);
    inputs_free(c->s.model, &in);
    return status;
}

// ---- a folder of them --------------------------------------------------------------------------

typedef VEC(const char *) Names;

static int by_name(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    size_t n = strlen(x), k = strlen(y);
    return n != k ? (n > k) - (n < k) : strcmp(x, y);
}

static int run_folder(Calib *c, const char *folder)
{
    Names names = {0};
    int status = EXIT_CLEAN;
    DIR *d = opendir(folder);
    if (!d)
        return tool_error(c->tool, EXIT_USAGE, "--calib: cannot read the folder %s", folder);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.')
            vec_push(c->s.arena, &names, str_printf(c->s.arena, "%s/%s", folder, e->d_name).at);
    closedir(d);
    if (names.len)
        qsort(names.at, names.len, sizeof *names.at, by_name);
    bool itself = is_set(c, folder);
    if (itself)
        status = run_set(c, folder);
    for (uint32_t i = 0; i < names.len && !status; i++) {
        const char *path = names.at[i], *last = strrchr(path, '/') + 1;
        Str name = str_of(last);
        bool alone = c->s.model->ninputs == 1 && !itself && !str_starts(name, "output_") &&
                     (str_ends(name, ".npy") || str_ends(name, ".pb"));
        if (is_file(path) && (str_ends(name, ".npz") || alone))
            status = run_file(c, path);
        else if (is_folder(path) && is_set(c, path))
            status = run_set(c, path);
    }
    if (!status && !c->sets)
        status = tool_error(c->tool, EXIT_USAGE,
                            "--calib: %s holds no data: neither input_0.pb nor %s.npy, no folder "
                            "that does, and no .npz",
                            folder, c->s.model->ninputs ? c->s.model->inputs[0].name : "NAME");
    return status;
}

// ---- what came of it ---------------------------------------------------------------------------

static MeasuredSet *measured(const Calib *c, const char *folder)
{
    Arena *a = c->arena;
    MeasuredSet *set = NEW(a, MeasuredSet);
    *set = (MeasuredSet){.sets = c->sets, .from = folder};
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

int calib_measure(const Tool *t, const char *model, const char *folder, Arena *a, MeasuredSet **set)
{
    Calib c = {.tool = t, .arena = a};
    CompileOptions o = {.rewrite = rewrite, .rewriter = &c};
    *set = NULL;
    if (!is_folder(folder))
        return tool_error(t, EXIT_USAGE, "--calib: %s is no folder", folder);
    if (dlopen("libopenblas.so.0", RTLD_NOW | RTLD_GLOBAL)) // the JIT finds what this process has
        o.gemm = GEMM_WIDE;
    bool quiet = tool_style.quiet;
    tool_style.quiet = true; // warnings about the model are the caller's to print
    int status = session_open(t, model, &o, &c.s);
    tool_style.quiet = quiet;
    c.numbers = NEWS(a, double, (size_t)c.report.values.len *MEASURE_FIELDS + 1);
    if (!status)
        status = run_folder(&c, folder);
    if (!status)
        *set = measured(&c, folder);
    if (c.context)
        c.s.model->destroy(c.context);
    session_close(&c.s);
    return status;
}
