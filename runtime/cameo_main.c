/* The command line of a compiled model: files in, files or a summary out. */
#include "cameo_main.h"

#include "cameo_lists.h"
#include "cameo_profile_report.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Linked into programs with such inputs or outputs only. */
#pragma weak cameo_read_object
#pragma weak cameo_free_object
#pragma weak cameo_format_object
#pragma weak cameo_print_object

enum { PATH_ROOM = 4096, NAME_ROOM = 224 }; /* bytes; names of files may have 255 */

typedef struct Command {
    const cameo_model *model;
    const char *program, *out, *format, *dataset, *weights, *trace;
    long bench, threads;
    bool random;
    char **files; /* by input: what it came from; NULL: no file */
    const cameo_kept *kept;
    char (*names)[NAME_ROOM]; /* of outputs' files, without ending */
    cameo_tensor *inputs;
    cameo_loaded *lists; /* of inputs that are no tensors */
    bool *loaded;
    char error[8192];
} Command;

static int say(const Command *c, int status)
{
    fprintf(stderr, "%s: error: %s\n", c->program, c->error);
    return status;
}

/* ---- help */

/* shares: the input whose memory the output may be lent; NULL: none. */
static void print_port(FILE *f, const cameo_port *p, const cameo_type *type, const char *shares)
{
    static const char *const kinds[] = {"", "sequence of ", "optional ", "map to "};
    fprintf(f, "  %s  ", p->name);
    for (const cameo_type *t = type; t; t = t->item)
        fprintf(f, "%s", kinds[t->kind]);
    if (p->rank < 0) {
        fprintf(f, "%s\n", cameo_dtype_name(p->dtype));
        return;
    }
    fprintf(f, "%s[", cameo_dtype_name(p->dtype));
    for (int32_t k = 0; k < p->rank; k++) {
        if (p->dims[k] >= 0)
            fprintf(f, "%s%lld", k ? "," : "", (long long)p->dims[k]);
        else
            fprintf(f, "%s%s", k ? "," : "", p->dim_names[k][0] ? p->dim_names[k] : "?");
    }
    fprintf(f, "]");
    if (shares)
        fprintf(f, "  may lie where %s does", shares);
    fprintf(f, "\n");
}

static const cameo_type *input_type(const cameo_model *m, int32_t i)
{
    return m->input_types ? m->input_types[i] : NULL;
}

static const cameo_type *output_type(const cameo_model *m, int32_t i)
{
    return m->output_types ? m->output_types[i] : NULL;
}

static void print_help(const Command *c)
{
    const cameo_model *m = c->model;
    printf(
        "usage: %s [NAME=FILE | FILE ...] [-o DIR] [--format npy|pb] [--bench N] [--threads N]\n"
        "       [--inputs-from DATASET] [--random] [--weights FILE] [--trace FILE] [--version]\n\n"
        "FILE is .npy, .npz or a serialized TensorProto .pb; without a name, files are taken in\n"
        "the order of the inputs. -o DIR writes each output as a file; else they are printed.\n\n",
        c->program);
    printf("inputs:\n");
    for (int32_t i = 0; i < m->ninputs; i++)
        print_port(stdout, &m->inputs[i], input_type(m, i), NULL);
    printf("outputs:\n");
    for (int32_t i = 0; i < m->noutputs; i++)
        print_port(stdout, &m->outputs[i], output_type(m, i),
                   m->outputs[i].shares ? m->inputs[m->outputs[i].shares - 1].name : NULL);
}

/* ---- reading inputs */

int cameo_load_tensor(const char *path, int32_t expected, cameo_tensor *t, char *error, size_t room)
{
    size_t len;
    *t = (cameo_tensor){.name = ""};
    unsigned char *at = cameo_read_file(path, &len, error, room);
    if (!at)
        return 3;
    char why[256] = "";
    bool npy = len >= 6 && memcmp(at, "\x93NUMPY", 6) == 0;
    int status = npy ? cameo_read_npy(at, len, expected, t, why, sizeof why)
                     : cameo_read_pb(at, len, t, why, sizeof why);
    free(at);
    if (status != 0)
        snprintf(error, room, "%s: %s", path, why);
    return status != 0 ? 2 : 0;
}

int cameo_load_object(const char *path, const cameo_type *type, cameo_loaded *to, char *error,
                      size_t room)
{
    size_t len;
    *to = (cameo_loaded){.owned = NULL};
    unsigned char *at = cameo_read_file(path, &len, error, room);
    if (!at)
        return 3;
    char why[256] = "";
    int status = cameo_read_object(at, len, type, to, why, sizeof why);
    free(at);
    if (status != 0)
        snprintf(error, room, "%s: %s", path, why);
    return status != 0 ? 2 : 0;
}

static void forget_input(Command *c, int32_t i)
{
    if (!c->loaded[i])
        return;
    if (input_type(c->model, i))
        cameo_free_object(&c->lists[i]);
    else
        cameo_tensor_free(&c->inputs[i]);
}

static void note_file(Command *c, int32_t i, const char *path)
{
    c->loaded[i] = true;
    free(c->files[i]);
    c->files[i] = strdup(path); /* without one a message says less */
}

static int input_named(const cameo_model *m, const char *name, size_t len)
{
    for (int32_t i = 0; i < m->ninputs; i++)
        if (strlen(m->inputs[i].name) == len && memcmp(m->inputs[i].name, name, len) == 0)
            return i;
    return -1;
}

static int load_npz(Command *c, const char *path, const unsigned char *at, size_t len)
{
    char name[256], why[512] = "";
    const unsigned char *member;
    size_t next = 0, n;
    int status;
    while ((status = cameo_next_npz(at, len, &next, &member, &n, name, sizeof name, why,
                                    sizeof why)) == 1) {
        int i = input_named(c->model, name, strlen(name));
        if (i < 0) {
            snprintf(c->error, sizeof c->error, "%s: holds \"%s\", which is no input", path, name);
            return 2;
        }
        forget_input(c, i);
        note_file(c, i, path);
        c->loaded[i] = input_type(c->model, i) == NULL;
        if (!c->loaded[i]) {
            snprintf(why, sizeof why, "input %s is no tensor", name);
            status = -1;
        } else if (cameo_read_npy(member, n, c->model->inputs[i].dtype, &c->inputs[i], why,
                                  sizeof why))
            status = -1;
        if (status < 0)
            break;
    }
    if (status < 0)
        snprintf(c->error, sizeof c->error, "%s: %s", path, why);
    return status < 0 ? 2 : 0;
}

static int load_file(Command *c, int32_t i, const char *path)
{
    const cameo_type *type = input_type(c->model, i);
    forget_input(c, i);
    note_file(c, i, path);
    if (type)
        return cameo_load_object(path, type, &c->lists[i], c->error, sizeof c->error);
    return cameo_load_tensor(path, c->model->inputs[i].dtype, &c->inputs[i], c->error,
                             sizeof c->error);
}

static int take_file(Command *c, const char *argument)
{
    const cameo_model *m = c->model;
    /* NAME=FILE splits at the longest known name */
    size_t longest = 0;
    int named = -1;
    for (const char *at = strchr(argument, '='); at; at = strchr(at + 1, '=')) {
        int i = input_named(m, argument, (size_t)(at - argument));
        if (i >= 0) {
            named = i;
            longest = (size_t)(at - argument);
        }
    }
    if (named >= 0)
        return load_file(c, named, argument + longest + 1);
    size_t len;
    unsigned char *at = cameo_read_file(argument, &len, c->error, sizeof c->error);
    if (!at)
        return 3;
    int status;
    if (len > 4 && memcmp(at, "PK\3\4", 4) == 0) {
        status = load_npz(c, argument, at, len);
    } else {
        int32_t i = 0;
        while (i < m->ninputs && c->loaded[i])
            i++;
        if (i == m->ninputs) {
            snprintf(c->error, sizeof c->error, "%s: the model has only %d inputs", argument,
                     (int)m->ninputs);
            status = 2;
        } else {
            status = load_file(c, i, argument);
        }
    }
    free(at);
    return status;
}

static int load_dataset(Command *c)
{
    char path[4096];
    for (int32_t i = 0; i < c->model->ninputs; i++) {
        if (c->loaded[i])
            continue;
        snprintf(path, sizeof path, "%s/input_%d.pb", c->dataset, (int)i);
        int status = load_file(c, i, path);
        if (status)
            return status;
    }
    return 0;
}

static int make_random(Command *c, int32_t i)
{
    const cameo_port *p = &c->model->inputs[i];
    cameo_tensor *t = &c->inputs[i];
    if (input_type(c->model, i)) {
        snprintf(c->error, sizeof c->error, "input %s is no tensor: it has to be given", p->name);
        return 2;
    }
    t->dtype = p->dtype;
    t->rank = p->rank;
    for (int32_t k = 0; k < p->rank; k++)
        t->dims[k] = p->dims[k] >= 0 ? p->dims[k] : 1;
    t->count = cameo_bytes(1, t->rank, t->dims);
    int64_t size = cameo_dtype_size(t->dtype);
    t->elements = t->count < 0 ? NULL : calloc((size_t)t->count + 1, (size_t)size);
    if (!t->elements)
        return snprintf(c->error, sizeof c->error, "no memory for input %s", p->name), 1;
    uint64_t seed = 0x9e3779b97f4a7c15u + (uint64_t)i;
    for (int64_t k = 0; k < t->count; k++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double v = (double)(seed >> 40) / (1 << 24);
        unsigned char *at = (unsigned char *)t->elements + k * size;
        float f = (float)v;
        uint16_t half = p->dtype == 16 ? cameo_cast_f64_bf16(v) : cameo_cast_f64_f16(v);
        if (p->dtype == 1)
            memcpy(at, &f, 4);
        else if (p->dtype == 11)
            memcpy(at, &v, 8);
        else if (p->dtype == 10 || p->dtype == 16)
            memcpy(at, &half, 2);
        else if (p->dtype == 9)
            *at = v >= 0.5;
        else if (p->dtype == 14) /* complex numbers on the real line */
            memcpy(at, &f, 4);
        else if (p->dtype == 15)
            memcpy(at, &v, 8);
        /* integers stay 0: any index is in range */
    }
    c->loaded[i] = true;
    return 0;
}

/* ---- writing outputs */

static void file_name(const char *name, char *out, size_t room)
{
    size_t n = 0;
    for (; *name && n + 12 < room; name++) { /* room for a number behind it */
        bool plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                     (*name >= '0' && *name <= '9') || strchr("._-", *name);
        out[n++] = plain ? *name : '_';
    }
    if (n == 0 || out[0] == '.')
        out[0] = '_', n = n ? n : 1;
    out[n] = 0;
}

/* Names of outputs' files: a clash with an earlier one gets "-2", "-3" ... */
static void name_outputs(Command *c)
{
    char base[NAME_ROOM];
    for (int32_t i = 0, k; i < c->model->noutputs; i++) {
        file_name(c->model->outputs[i].name, base, sizeof base);
        memcpy(c->names[i], base, sizeof base);
        for (int count = 2; k = 0, true; count++) {
            while (k < i && strcmp(c->names[k], c->names[i]) != 0)
                k++;
            if (k == i)
                break;
            snprintf(c->names[i], NAME_ROOM, "%.*s-%d", NAME_ROOM - 12, base, count);
        }
    }
}

/* A dtype that .npy has no name for is told by a file beside it. */
static bool has_json(const Command *c, int32_t i)
{
    return strcmp(c->format, "npy") == 0 && !output_type(c->model, i) &&
           !cameo_npy_knows(c->model->outputs[i].dtype);
}

/* The file of output i, or the one beside it. */
static void output_path(const Command *c, int32_t i, bool json, char path[PATH_ROOM])
{
    if (strcmp(c->format, "pb") == 0)
        snprintf(path, PATH_ROOM, "%s/output_%d.pb", c->out, (int)i);
    else
        snprintf(path, PATH_ROOM, "%s/%s.%s", c->out, c->names[i],
                 json                       ? "json"
                 : output_type(c->model, i) ? "pb"
                                            : "npy");
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* Nothing is written over what is read: said before anything is computed. */
static int refuse_read(Command *c, const char *path, const char *weights)
{
    const cameo_model *m = c->model;
    for (int32_t i = 0; i < m->ninputs; i++)
        if (same_file(c->files[i], path)) {
            snprintf(c->error, sizeof c->error, "%s is what input %s is read from", path,
                     m->inputs[i].name);
            return 2;
        }
    const bool model = c->kept && c->kept->is(c->kept->of, path);
    if (!model && !same_file(weights, path))
        return 0;
    snprintf(c->error, sizeof c->error, "%s is what the %s read from", path,
             model ? "model is" : "weights are");
    return 2;
}

static int refuse_outputs(Command *c, const char *weights)
{
    char path[PATH_ROOM];
    int status = c->trace ? refuse_read(c, c->trace, weights) : 0;
    for (int32_t i = 0; c->out && i < c->model->noutputs && !status; i++) {
        output_path(c, i, false, path);
        status = refuse_read(c, path, weights);
        if (status || !has_json(c, i))
            continue;
        output_path(c, i, true, path);
        status = refuse_read(c, path, weights);
    }
    return status;
}

static void output_tensor(const Command *c, const cameo_context *x, int32_t i, cameo_tensor *t)
{
    const int64_t *dims = c->inputs[0].dims;
    *t = (cameo_tensor){.name = ""};
    snprintf(t->name, sizeof t->name, "%s", c->model->outputs[i].name);
    t->dtype = c->model->outputs[i].dtype;
    t->elements = (void *)(uintptr_t)cameo_output(x, i, &t->rank, &dims);
    memcpy(t->dims, dims, sizeof t->dims);
    t->count = cameo_bytes(1, t->rank, t->dims);
}

static int write_output(Command *c, const cameo_context *x, int32_t i)
{
    char path[PATH_ROOM];
    const cameo_type *type = output_type(c->model, i);
    cameo_tensor t = {.name = ""};
    if (!type)
        output_tensor(c, x, i, &t);
    bool pb = strcmp(c->format, "pb") == 0;
    output_path(c, i, false, path);
    size_t len;
    unsigned char *bytes = type ? cameo_format_object(c->model->output_object(x, i), type,
                                                      c->model->outputs[i].name, &len)
                           : pb ? cameo_format_pb(&t, &len)
                                : cameo_format_npy(&t, &len);
    if (!bytes)
        return snprintf(c->error, sizeof c->error, "no memory"), 1;
    int status = cameo_write_file(path, bytes, len, c->error, sizeof c->error);
    free(bytes);
    if (status == 0 && has_json(c, i)) {
        char json[128];
        int n = snprintf(json, sizeof json, "{\"dtype\":\"%s\"}\n", cameo_dtype_name(t.dtype));
        output_path(c, i, true, path);
        status = cameo_write_file(path, json, (size_t)n, c->error, sizeof c->error);
    }
    return status ? 3 : 0;
}

static void print_element(const cameo_tensor *t, int64_t i)
{
    if (t->dtype == 8) {
        const cameo_str *s = &((const cameo_str *)t->elements)[i];
        putchar('"');
        for (int64_t k = 0; k < s->len; k++) {
            unsigned char ch = (unsigned char)s->at[k];
            printf(ch < 32 || ch == '"' || ch == '\\' || ch == 127 ? "\\x%02x" : "%c", ch);
        }
        putchar('"');
    } else if (t->dtype == 7) {
        printf("%lld", (long long)((const int64_t *)t->elements)[i]);
    } else if (t->dtype == 13) {
        printf("%llu", (unsigned long long)((const uint64_t *)t->elements)[i]);
    } else if (t->dtype == 14) {
        const float *c = (const float *)t->elements + 2 * i;
        printf("%.7g%+.7gj", (double)c[0], (double)c[1]);
    } else if (t->dtype == 15) {
        const double *c = (const double *)t->elements + 2 * i;
        printf("%.7g%+.7gj", c[0], c[1]);
    } else {
        printf("%.7g", cameo_element(t, i));
    }
}

static void print_tensor(const cameo_tensor *whole)
{
    enum { SMALL = 64, FIRST = 8 };
    cameo_tensor t = *whole;
    printf("%s %s[", t.name, cameo_dtype_name(t.dtype));
    for (int32_t k = 0; k < t.rank; k++)
        printf("%s%lld", k ? "," : "", (long long)t.dims[k]);
    printf("]");
    if (t.count > SMALL && t.dtype != 8 && t.dtype != 14 && t.dtype != 15) {
        double low = INFINITY, high = -INFINITY, sum = 0;
        for (int64_t k = 0; k < t.count; k++) {
            double v = cameo_element(&t, k);
            low = v < low ? v : low;
            high = v > high ? v : high;
            sum += v;
        }
        printf(" min %.7g max %.7g mean %.7g", low, high, sum / (double)t.count);
    }
    printf(" = ");
    int64_t shown = t.count > SMALL ? FIRST : t.count;
    for (int64_t k = 0; k < shown; k++) {
        printf("%s", k ? " " : "");
        print_element(&t, k);
    }
    printf("%s\n", shown < t.count ? " ..." : "");
}

static void print_output(const Command *c, const cameo_context *x, int32_t i)
{
    cameo_tensor t;
    if (output_type(c->model, i)) {
        cameo_print_object(c->model->output_object(x, i), c->model->outputs[i].name, print_tensor);
        return;
    }
    output_tensor(c, x, i, &t);
    print_tensor(&t);
}

/* ---- running */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int bench(Command *c, cameo_context *x)
{
    double *ms = calloc((size_t)c->bench, sizeof *ms);
    if (!ms)
        return snprintf(c->error, sizeof c->error, "no memory"), 1;
    int status = 0;
    double begin = now_ms();
    for (int i = 0; i < 10 && status == 0 && (i < 1 || now_ms() - begin < 500); i++)
        status = c->model->run(x);
    for (long i = 0; i < c->bench && status == 0; i++) {
        double start = now_ms();
        status = c->model->run(x);
        ms[i] = now_ms() - start;
    }
    qsort(ms, (size_t)c->bench, sizeof *ms, by_time);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    if (status == 0)
        printf("{\"schema\":\"cameo.bench/1\",\"runs\":%ld,\"min_ms\":%.6f,\"median_ms\":%.6f,"
               "\"p95_ms\":%.6f,\"max_rss_kb\":%ld,\"threads\":%ld}\n",
               c->bench, ms[0], ms[c->bench / 2], ms[c->bench * 95 / 100], usage.ru_maxrss,
               c->model->threads ? (long)c->model->threads(x) : 1L);
    free(ms);
    return status;
}

static int make_dir(Command *c)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", c->out);
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = 0;
            mkdir(path, 0777);
            *at = '/';
        }
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        snprintf(c->error, sizeof c->error, "%s: %s", path, strerror(errno));
        return 3;
    }
    return 0;
}

static int run(Command *c, cameo_context *x)
{
    const cameo_model *m = c->model;
    for (int32_t i = 0; i < m->ninputs; i++) {
        const cameo_tensor *t = &c->inputs[i];
        if ((input_type(m, i) ? m->set_object(x, i, &c->lists[i].object)
                              : m->set_input(x, i, t->dtype, t->rank, t->dims, t->elements)) != 0) {
            snprintf(c->error, sizeof c->error, "%s%s%s", c->files[i] ? c->files[i] : "",
                     c->files[i] ? ": " : "", m->error(x));
            return 2;
        }
    }
    if ((c->bench ? bench(c, x) : m->run(x)) != 0) {
        if (!c->error[0])
            snprintf(c->error, sizeof c->error, "%s", m->error(x));
        return 1;
    }
    if (m->profile)
        profile_table(m, x, c->threads ? c->threads : 1);
    if (c->trace && !profile_trace(m, x, c->trace)) {
        snprintf(c->error, sizeof c->error, "%s: %s", c->trace, strerror(errno));
        return 3;
    }
    int status = c->out ? make_dir(c) : 0;
    for (int32_t i = 0; i < m->noutputs && c->out && status == 0; i++)
        status = write_output(c, x, i);
    for (int32_t i = 0; i < m->noutputs && !c->out && !c->bench; i++)
        print_output(c, x, i);
    return status;
}

/* ---- options */

static int usage(Command *c, const char *what, const char *which)
{
    snprintf(c->error, sizeof c->error, "%s %s (see --help)", what, which);
    return 2;
}

/* An option with a value: 1 + index into `values`, or 0. */
static int option_of(const char *argument)
{
    static const char *const names[] = {
        "-o", "--format", "--bench", "--threads", "--inputs-from", "--weights", "--trace"};
    for (int i = 0; i < 7; i++) {
        size_t n = strlen(names[i]);
        bool joined = strncmp(argument, names[i], n) == 0 && i > 0 && argument[n] == '=';
        if (strcmp(argument, names[i]) == 0 || joined)
            return i + 1;
    }
    return 0;
}

static int take_option(Command *c, int option, const char *value)
{
    char *end = NULL;
    long n = option == 3 || option == 4 ? strtol(value, &end, 10) : 1;
    if (n < 1 || n > 100000000 || (end && *end))
        return usage(c, "not a positive number:", value);
    switch (option) {
    case 1:
        if (strlen(value) >= PATH_ROOM - NAME_ROOM - 16)
            return usage(c, "too long a path:", value);
        c->out = value;
        break;
    case 2:
        if (strcmp(value, "npy") != 0 && strcmp(value, "pb") != 0)
            return usage(c, "--format is npy or pb, not", value);
        c->format = value;
        break;
    case 3:
        c->bench = n;
        break;
    case 4:
        c->threads = n;
        break;
    case 5:
        c->dataset = value;
        break;
    case 6:
        c->weights = value;
        break;
    default:
        if (!c->model->profile)
            return usage(c, "compiled without --profile, so that there is no", "--trace");
        c->trace = value;
    }
    return 0;
}

/* -1: go on; else the exit status. */
static int take_arguments(Command *c, int argc, char **argv)
{
    bool only_files = false;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        int option = only_files ? 0 : option_of(a), status = 0;
        if (option) {
            const char *joined = a[1] == '-' ? strchr(a, '=') : NULL;
            if (!joined && i + 1 == argc)
                return usage(c, "no value for", a);
            status = take_option(c, option, joined ? joined + 1 : argv[++i]);
        } else if (!only_files && strcmp(a, "--") == 0) {
            only_files = true;
        } else if (!only_files && strcmp(a, "--help") == 0) {
            print_help(c);
            return 0;
        } else if (!only_files && strcmp(a, "--version") == 0) {
            printf("%s: %s\n", c->model->name, c->model->version);
            return 0;
        } else if (!only_files && strcmp(a, "--random") == 0) {
            c->random = true;
        } else if (!only_files && a[0] == '-' && a[1]) {
            return usage(c, "no such option:", a);
        } else {
            status = take_file(c, a);
        }
        if (status)
            return status;
    }
    return -1;
}

static int load_rest(Command *c)
{
    int status = c->dataset ? load_dataset(c) : 0;
    for (int32_t i = 0; i < c->model->ninputs && status == 0; i++) {
        if (c->loaded[i])
            continue;
        if (!c->random)
            return usage(c, "no data for input", c->model->inputs[i].name);
        status = make_random(c, i);
    }
    return status;
}

/* Creates the context and runs. */
static int start(Command *c, const cameo_options *given, cameo_context **x)
{
    const cameo_model *m = c->model;
    cameo_options options = *given;
    options.weights_path = c->weights ? c->weights : given->weights_path;
    options.threads = c->threads ? (int32_t)c->threads : given->threads;
    name_outputs(c);
    const int refused = refuse_outputs(c, options.weights_path);
    if (refused)
        return refused;
    *x = m->create(&options);
    if (*x)
        return run(c, *x);
    const char *lacks = m->lacks ? m->lacks() : NULL, *path = options.weights_path;
    if (lacks)
        snprintf(c->error, sizeof c->error,
                 "this processor has no %s, for which the program was compiled (--cpu says what "
                 "for; portable runs anywhere)",
                 lacks);
    else
        snprintf(c->error, sizeof c->error,
                 "no memory, or the weights cannot be read or are not this program's%s%s",
                 path ? ": " : "", path ? path : "");
    return 3;
}

int cameo_main(const cameo_model *model, int argc, char **argv)
{
    cameo_options none = {0};
    return cameo_main_with(model, &none, NULL, argc, argv);
}

int cameo_main_beside(const cameo_model *model, const char *file, int argc, char **argv)
{
    char path[4096];
    cameo_options options = {0};
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    while (n > 0 && path[n - 1] != '/')
        n--;
    const size_t room = n < 0 ? 0 : sizeof path - (size_t)n;
    const bool fits = n > 0 && (size_t)snprintf(path + n, room, "%s", file) < room;
    options.weights_path = // beside the program, unless they are but in the working folder
        fits && (access(path, R_OK) == 0 || access(file, R_OK) != 0) ? path : file;
    return cameo_main_with(model, &options, NULL, argc, argv);
}

int cameo_main_with(const cameo_model *model, const cameo_options *given, const cameo_kept *kept,
                    int argc, char **argv)
{
    Command c = {.model = model, .program = argc ? argv[0] : model->name, .format = "npy"};
    c.kept = kept;
    const char *slash = strrchr(c.program, '/');
    c.program = slash ? slash + 1 : c.program;
    size_t n = (size_t)model->ninputs + 1;
    c.inputs = calloc(n, sizeof *c.inputs);
    c.lists = calloc(n, sizeof *c.lists);
    c.loaded = calloc(n, sizeof *c.loaded);
    c.files = calloc(n, sizeof *c.files);
    c.names = calloc((size_t)model->noutputs + 1, sizeof *c.names);
    cameo_context *x = NULL;
    const bool room = c.inputs && c.lists && c.loaded && c.files && c.names;
    int status = room ? take_arguments(&c, argc, argv) : 1;
    bool done = status >= 0;
    if (!done)
        status = load_rest(&c);
    if (!done && status == 0)
        status = start(&c, given, &x);
    if (status == 0 && fflush(stdout) != 0) {
        snprintf(c.error, sizeof c.error, "cannot write to stdout");
        status = 3;
    }
    if (status != 0)
        say(&c, status);
    model->destroy(x);
    for (int32_t i = 0; room && i < model->ninputs; i++) {
        forget_input(&c, i);
        free(c.files[i]);
    }
    free(c.files);
    free(c.names);
    free(c.inputs);
    free(c.lists);
    free(c.loaded);
    return status;
}
