// clang makes an object of the emitted C in a temporary folder, ORC links it here. The object comes
// from the cache where the same was made before: then nothing is compiled.

#include "tools/session.h"
#include "base/file.h"
#include "tools/config.h"

#include <dlfcn.h>
#include <string.h>

// What the program needs beyond libc and libm; its symbols are found through the process.
static bool load_libraries(Session *s, Str *error)
{
    for (const char *const *name = s->report.libraries; *name; name++)
        if (!dlopen(str_printf(s->arena, "lib%s.so", *name).at, RTLD_NOW | RTLD_GLOBAL)) {
            *error = str_printf(s->arena, "%s", dlerror());
            return false;
        }
    return true;
}

static int link_here(const Tool *t, Session *s, const char *object)
{
    Str error = STR_NONE;
    s->jit = load_libraries(s, &error) ? jit_load(s->arena, object, &error) : NULL;
    const cameo_model *model = s->jit ? jit_symbol(s->jit, "model_model", &error) : NULL;
    if (!model)
        return tool_error(t, EXIT_USAGE, "%.*s", STR_ARG(error));
    s->model = model;
    s->options.weights = s->report.weights.at;
    return EXIT_CLEAN;
}

// Kernels of a device, and functions of custom operators, come inside a library: the JIT has no
// place for them.
static int open_here(const Tool *t, Session *s, const char *path)
{
    s->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    s->model = s->library ? dlsym(s->library, "model_model") : NULL;
    return s->model ? EXIT_CLEAN : tool_error(t, EXIT_USAGE, "%s", dlerror());
}

bool session_device(const char *name, CompileDevice *device)
{
    void *driver = strcmp(name, "auto") == 0 ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
    *device = driver || strcmp(name, "cuda") == 0 ? ON_CUDA : ON_CPU;
    if (driver)
        dlclose(driver);
    return strcmp(name, "auto") == 0 || strcmp(name, "cuda") == 0 || strcmp(name, "cpu") == 0;
}

int session_open(const Tool *t, const char *path, CompileOptions *o, Session *s)
{
    *s = (Session){.arena = arena_new()};
    Diags diags;
    diags_init(&diags, s->arena, str_of(path));
    int status = EXIT_CLEAN;
    Model *m = tool_load(t, s->arena, path, &diags, &status);
    if (!m)
        return status;
    if (!tool_config_of_program(t, s->arena, path, m))
        return EXIT_USAGE;
    const char *dir;
    Str error = STR_NONE;
    if (!dir_temporary(s->arena, &dir, &error))
        return tool_error(t, EXIT_BYTES, "%.*s", STR_ARG(error));
    bool library = o->device == ON_CUDA || m->contracts;
    o->kind = library ? EMIT_SHARED : EMIT_LOADED;
    o->out = str_printf(s->arena, library ? "%s/model.so" : "%s/model.o", dir).at;
    o->prefix = "model";
    o->verbose = tool_style.verbose;
    s->source = m;
    status = compile_model(m, o, &diags, &s->report);
    status = tool_status(&diags, status);
    tool_print_diags(&diags);
    if (status && s->report.error.len)
        tool_error(t, 0, "%.*s", STR_ARG(s->report.error));
    if (!status)
        status = library ? open_here(t, s, o->out) : link_here(t, s, o->out);
    dir_remove(dir);
    return status;
}

void session_close_program(Session *s)
{
    jit_free(s->jit);
    if (s->library)
        dlclose(s->library);
    buf_free(&s->report.weights);
}

void session_close(Session *s)
{
    session_close_program(s);
    arena_free(s->arena);
}
