/* A model by ONNX Runtime's C interface, without its Python: from the start of a process to its
 * first output.
 *
 *     peer_start LIBRARY MODEL THREADS RUNS [DTYPE:DIM,DIM..:FILE]...
 *
 * FILE holds the elements of an input, in their order; DTYPE is ONNX's number. The library is
 * loaded when the process runs, as that of a program that is linked with it. Prints the first
 * element of the first output, a float32, and the quickest of RUNS further runs in ms, 0 where
 * there are none; the process ends without freeing anything. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { VERSION = 1, MAX_PORTS = 64, MAX_RANK = 16, QUIET = 4, ARENA = 1, DEFAULT_MEMORY = 0 };

/* The interface is a table of functions whose places never change (onnxruntime_c_api.h of the
 * project), all of which return NULL or what went wrong; named are those that are called. */
typedef struct Api {
    void *place_0[2];
    const char *(*message)(const void *status);
    void *(*create_env)(int severity, const char *name, void **env);
    void *place_4[3];
    void *(*create_session)(const void *env, const char *path, const void *options, void **session);
    void *place_8;
    void *(*run)(void *session, const void *options, const char *const *inputs,
                 const void *const *values, size_t ninputs, const char *const *outputs,
                 size_t noutputs, void **results);
    void *(*create_options)(void **options);
    void *place_11[13];
    void *(*threads_within)(void *options, int threads);
    void *(*threads_between)(void *options, int threads);
    void *place_26[5];
    void *(*count_outputs)(const void *session, size_t *count);
    void *place_32[4];
    void *(*input_name)(const void *session, size_t i, void *allocator, char **name);
    void *(*output_name)(const void *session, size_t i, void *allocator, char **name);
    void *place_38[11];
    void *(*tensor_of)(const void *memory, void *data, size_t bytes, const int64_t *dims,
                       size_t rank, int dtype, void **value);
    void *place_50;
    void *(*data_of)(void *value, void **data);
    void *place_52[17];
    void *(*cpu_memory)(int allocator, int kind, void **memory);
    void *place_70[8];
    void *(*allocator)(void **allocator);
} Api;

typedef struct Base {
    const Api *(*api)(uint32_t version);
} Base;

static const Api *api;

static void die(const char *what)
{
    fprintf(stderr, "peer_start: %s\n", what);
    exit(1);
}

static void check(const void *status)
{
    if (status)
        die(api->message(status));
}

static void *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        die(path);
    *size = (size_t)ftell(f);
    rewind(f);
    void *at = malloc(*size + 1);
    if (!at || fread(at, 1, *size, f) != *size)
        die(path);
    fclose(f);
    return at;
}

/* "1:1,3,224,224:x.bin" */
static void *tensor(const void *memory, const char *text)
{
    char *at;
    const int dtype = (int)strtol(text, &at, 10);
    int64_t dims[MAX_RANK];
    size_t rank = 0, size;
    void *value;
    while ((*at == ':' || *at == ',') && at[1] >= '0' && at[1] <= '9' && rank < MAX_RANK)
        dims[rank++] = strtoll(at + 1, &at, 10);
    at += rank == 0 && *at == ':';
    void *data = read_file(*at == ':' ? at + 1 : text, &size);
    check(api->tensor_of(memory, data, size, dims, rank, dtype, &value));
    return value;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static const Api *load(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY);
    const Base *(*base)(void) = NULL;
    if (library)
        *(void **)&base = dlsym(library, "OrtGetApiBase");
    if (!base)
        die(dlerror());
    return base()->api(VERSION);
}

int main(int argc, char **argv)
{
    const void *inputs[MAX_PORTS];
    void *results[MAX_PORTS] = {NULL}, *env, *options, *session, *memory, *allocator, *first;
    const char *names[MAX_PORTS], *wanted[MAX_PORTS];
    const size_t ninputs = (size_t)(argc - 5);
    size_t noutputs;
    double best = 0;
    if (argc < 5 || ninputs > MAX_PORTS)
        die("usage: LIBRARY MODEL THREADS RUNS [DTYPE:DIMS:FILE]...");
    api = load(argv[1]);
    check(api->create_env(QUIET, "start", &env));
    check(api->create_options(&options));
    check(api->threads_within(options, atoi(argv[3])));
    check(api->threads_between(options, 1));
    check(api->create_session(env, argv[2], options, &session));
    check(api->allocator(&allocator));
    check(api->cpu_memory(ARENA, DEFAULT_MEMORY, &memory));
    for (size_t i = 0; i < ninputs; i++) {
        check(api->input_name(session, i, allocator, (char **)&names[i]));
        inputs[i] = tensor(memory, argv[5 + i]);
    }
    check(api->count_outputs(session, &noutputs));
    noutputs = noutputs < MAX_PORTS ? noutputs : MAX_PORTS;
    for (size_t i = 0; i < noutputs; i++)
        check(api->output_name(session, i, allocator, (char **)&wanted[i]));
    for (long i = 0; i <= atol(argv[4]); i++) {
        const double begin = now_ms();
        check(api->run(session, NULL, names, inputs, ninputs, wanted, noutputs, results));
        const double took = now_ms() - begin;
        best = i == 1 || (i > 1 && took < best) ? took : best;
    }
    check(api->data_of(results[0], &first));
    printf("{\"first\": %.9g, \"min_ms\": %.6f}\n", (double)*(const float *)first, best);
    fflush(stdout);
    _exit(0);
}
