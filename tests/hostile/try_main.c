// Compiles many models, each in a process of its own, and says how each ended.
//
//   try_main OUT.c < LIST      LIST: a path a line; "PATH STATUS" a line, findings in PATH.said
//
// STATUS is that of `cameo compile --emit c`, 100 + the signal that ended it, or 5 where the
// kernels read or write outside of a buffer when the interpreter runs them on made-up inputs.

#include "codegen/compile.h"
#include "frontend/load.h"
#include "ir/interp.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 20, MAX_PORTS = 64, SYMBOLIC = 3, STATUS_OUTSIDE = 5, SIGNALLED = 100 };
static const uint64_t most_bytes = (uint64_t)1 << 26, most_operations = 300000;

static void print_findings(const Diags *d)
{
    for (uint32_t i = 0; i < d->all.len; i++) {
        Buf text = {0};
        diag_print(d->all.at[i], &text, false, 0);
        fwrite(text.at, 1, text.len, stderr);
        buf_free(&text);
    }
}

static int try_compile(const char *path, const char *out)
{
    Arena *a = arena_new();
    Diags diags;
    CompileReport report = {0};
    CompileOptions options = {.kind = EMIT_C, .out = out};
    int status = 0;
    diags_init(&diags, a, str_of(path));
    Model *m = load_model(a, path, &diags, &status);
    if (m)
        status = compile_model(m, &options, &diags, &report);
    print_findings(&diags);
    if (report.error.len)
        fprintf(stderr, "%.*s\n", STR_ARG(report.error));
    if (m)
        load_close(m);
    arena_free(a);
    return status;
}

// Small numbers: 0, 1, 2, 0 ... false where the input is too large to be made up.
static bool make_input(const Module *mod, uint32_t i, InterpTensor *t)
{
    const Buffer *b = buffer_at(mod, mod->inputs.at[i]);
    const DTypeInfo *info = dtype_info(b->dtype);
    int64_t count = 1;
    t->dtype = b->dtype;
    t->rank = b->rank;
    for (uint32_t k = 0; k < b->rank; k++) {
        if (!poly_is_const(b->dims[k], &t->dims[k]))
            t->dims[k] = SYMBOLIC;
        if (t->dims[k] > 4096 || (count *= t->dims[k]) > 4096)
            return false;
    }
    unsigned char *at = t->elements = calloc((size_t)count + 1, (size_t)info->bytes);
    for (int64_t k = 0; at && k < count; k++) {
        double v = b->dtype == DT_BOOL ? (double)(k % 2) : (double)(k % 3);
        Scalar s = scalar_cast(DT_F64, b->dtype, (Scalar){.f = v}, true);
        scalar_store(b->dtype, at + k * info->bytes, s);
    }
    return at != NULL;
}

static int run_module(Module *mod)
{
    InterpTensor in[MAX_PORTS] = {0}, out[MAX_PORTS] = {0};
    InterpLimits limits = {.max_bytes = most_bytes, .max_operations = most_operations};
    Str error = STR_NONE;
    if (mod->inputs.len > MAX_PORTS || mod->outputs.len > MAX_PORTS)
        return 0;
    for (uint32_t i = 0; i < mod->inputs.len; i++)
        if (!make_input(mod, i, &in[i]))
            return 0;
    if (interp_run(mod, in, out, &limits, &error))
        return 0;
    const char *said = str_printf(mod->arena, "%.*s", STR_ARG(error)).at;
    if (!strstr(said, "is not below") && !strstr(said, "before it is written"))
        return 0; // a check of the program, a size or a limit
    fprintf(stderr, "interpreter: %s\n", said);
    return STATUS_OUTSIDE;
}

static int try_run(const char *path)
{
    Arena *a = arena_new();
    Diags diags;
    int status = 0;
    diags_init(&diags, a, str_of(path));
    Model *m = load_model(a, path, &diags, &status);
    CompileReport report = {0};
    CompileOptions options = {.no_override = true, .no_fuse = true};
    Module *mod = m ? compile_to_module(m, &options, &diags, &report) : NULL;
    return mod ? run_module(mod) : 0;
}

static int try_model(const char *path, const char *out)
{
    char said[4096];
    snprintf(said, sizeof said, "%s.said", path);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        if (!freopen(said, "w", stderr))
            _exit(2);
        alarm(SECONDS);
        int status = try_compile(path, out);
        if (status == 0)
            status = try_run(path);
        fflush(stderr);
        _exit(status);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return SIGNALLED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status);
}

static void out_of_memory(void)
{
    fprintf(stderr, "not enough memory\n");
    _exit(SIGNALLED);
}

int main(int argc, char **argv)
{
    char path[4000];
    if (argc != 2) {
        fprintf(stderr, "usage: try_main OUT.c < LIST\n");
        return 64;
    }
    arena_on_exhausted(out_of_memory);
    while (fgets(path, sizeof path, stdin)) {
        path[strcspn(path, "\n")] = 0;
        printf("%s %d\n", path, try_model(path, argv[1]));
    }
    return 0;
}
