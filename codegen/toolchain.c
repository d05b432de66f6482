// gcc, clang and nvcc, each in the build's folder.

#include "codegen/toolchain.h"
#include "base/file.h"
#include "base/process.h"
#include "codegen/embedded.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ARGS = 40, MAX_OBJECTS = 8 };

static const char *with(Build *b, const char *ending)
{
    return str_printf(b->arena, "%s%s", b->prefix, ending).at;
}

int build_write_text(Build *b, const char *name, const Buf *text)
{
    const char *path = str_printf(b->arena, "%s/%s", b->dir, name).at;
    return file_write(path, text->at ? text->at : "", text->len, 0644, &b->report->error, b->arena)
               ? 0
               : 3;
}

// ---- calling ---------------------------------------------------------------------------------

static bool start(Build *b, const char *const *argv, Process *p)
{
    if (b->o->verbose) {
        fprintf(stderr, "(cd %s;", b->dir);
        for (const char *const *a = argv; *a; a++)
            fprintf(stderr, " %s", *a);
        fprintf(stderr, ")\n");
    }
    return process_start(b->arena, b->dir, argv, true, p, &b->report->error);
}

static int end(Build *b, const char *name, Process *p)
{
    Buf output = {0};
    int status = process_wait(p, &output);
    if (status != 0)
        b->report->error = str_printf(
            b->arena,
            "%s rejects what Cameo emitted; this is a bug of Cameo, please report it\n%.*s", name,
            (int)(output.len < 4000 ? output.len : 4000), output.at ? output.at : "");
    buf_free(&output);
    return status != 0 ? 4 : 0;
}

static int call(Build *b, const char *const *argv)
{
    Process p;
    return start(b, argv, &p) ? end(b, argv[0], &p) : 2;
}

// ---- the C compiler --------------------------------------------------------------------------

static int find_compiler(Build *b)
{
    static const char *const known[] = {"gcc", "clang-19", "clang", "cc"};
    bool clang = b->o->kind == EMIT_BITCODE;
    if (b->o->cc)
        b->cc = process_find(b->arena, b->o->cc);
    for (int i = clang ? 1 : 0; !b->o->cc && i < (clang ? 3 : 4) && !b->cc; i++)
        b->cc = process_find(b->arena, known[i]);
    if (b->cc && *b->cc != '/') { // it is called from another folder
        char *here = getcwd(NULL, 0);
        if (here)
            b->cc = str_printf(b->arena, "%s/%s", here, b->cc).at;
        free(here);
    }
    if (b->cc)
        return 0;
    b->report->error = str_printf(b->arena, "no working C compiler: %s is not on the path",
                                  b->o->cc ? b->o->cc
                                  : clang  ? "clang-19"
                                           : "gcc");
    return 2;
}

static uint32_t add_flags(Build *b, const char *level, const char **argv)
{
    const CompileOptions *o = b->o;
    uint32_t n = 0;
    argv[n++] = b->cc;
    argv[n++] = "-std=c11";
    argv[n++] = "-D_GNU_SOURCE";
    argv[n++] = level;
    argv[n++] = "-fno-math-errno";
    argv[n++] = "-fno-trapping-math";
    argv[n++] = o->strict_fp ? "-ffp-contract=off" : "-ffp-contract=fast";
    argv[n++] = "-fPIC";
    argv[n++] = "-fvisibility=default";
    if (!o->cpu || strcmp(o->cpu, "native") == 0)
        argv[n++] = "-march=native";
    else if (strcmp(o->cpu, "portable") != 0)
        argv[n++] = str_printf(b->arena, "-march=%s", o->cpu).at;
    return n;
}

// One source to one object (or to bitcode).
static uint32_t compile_command(Build *b, const char *level, const char *source, const char *object,
                                const char **argv)
{
    uint32_t n = add_flags(b, level, argv);
    if (b->o->kind == EMIT_BITCODE)
        argv[n++] = "-emit-llvm";
    argv[n++] = "-c";
    argv[n++] = source;
    argv[n++] = "-o";
    argv[n++] = object;
    argv[n] = NULL;
    return n;
}

// ---- libraries -------------------------------------------------------------------------------

static uint32_t add_libraries(Build *b, const char **argv, uint32_t n)
{
    for (const Library **l = b->libraries; *l; l++)
        argv[n++] = str_printf(b->arena, "-l%s", (*l)->name).at;
    argv[n] = NULL;
    return n;
}

// Does the C compiler find headers and, where it links, the libraries themselves?
static bool finds(Build *b, const Library *const *needed)
{
    const char *source = with(b, "_libraries.c"), *out = with(b, "_libraries.out");
    bool links = b->o->kind == EMIT_EXE || b->o->kind == EMIT_SHARED;
    const char *argv[MAX_ARGS] = {b->cc, links ? "-shared" : "-c", "-fPIC", "-o", out, source};
    uint32_t n = 6;
    Buf text = {0}, output = {0};
    int status = 0;
    for (; *needed; needed++) {
        buf_printf(&text, "%s\n", (*needed)->includes);
        if (links)
            argv[n++] = str_printf(b->arena, "-l%s", (*needed)->name).at;
    }
    status = build_write_text(b, source, &text);
    bool ok = !status && process_run(b->arena, b->dir, argv, &output, &status, &b->report->error);
    buf_free(&text);
    buf_free(&output);
    return ok && status == 0;
}

// What is not there is named before the program is compiled. 0, or 2 with the packages.
static int check_libraries(Build *b)
{
    if (!b->libraries[0] || finds(b, b->libraries))
        return 0;
    const char *missing = "";
    for (const Library **l = b->libraries; *l; l++) {
        const Library *one[] = {*l, NULL};
        if (!finds(b, one))
            missing = str_printf(b->arena, "%s%slib%s (Debian package %s)", missing,
                                 *missing ? ", " : "", (*l)->name, (*l)->package)
                          .at;
    }
    if (!*missing)
        return 0;
    b->report->error = str_printf(b->arena, "the program needs libraries that %s does not find: %s",
                                  b->cc, missing);
    return 2;
}

int toolchain_find(Build *b)
{
    int status = find_compiler(b);
    return status ? status : check_libraries(b);
}

// ---- programs and libraries ------------------------------------------------------------------

static int write_runtime(Build *b)
{
    for (const EmbeddedFile *f = embedded_files; f->name; f++) {
        Buf text = {.at = (char *)(uintptr_t)f->text, .len = f->len};
        int status = build_write_text(b, f->name, &text);
        if (status)
            return status;
    }
    return 0;
}

static int write_main(Build *b)
{
    Buf text = {0};
    buf_printf(&text,
               "#include \"cameo_main.h\"\n\n"
               "extern const cameo_model %s_model;\n\n"
               "int main(int argc, char **argv)\n{\n"
               "    return cameo_main(&%s_model, argc, argv);\n}\n",
               b->prefix, b->prefix);
    int status = build_write_text(b, with(b, "_main.c"), &text);
    buf_free(&text);
    return status;
}

// What goes into a program beside the model: its objects, compiled while the model is.
static int compile_parts(Build *b, const char **objects, uint32_t *count)
{
    static const char *const parts[] = {"cameo_main", "cameo_io", "cameo_pb", "cameo_lists"};
    const char *names[MAX_OBJECTS];
    uint32_t n = 0;
    int status = 0;
    if (b->has_blobs)
        names[n++] = with(b, "_blobs");
    if (b->o->kind == EMIT_EXE) {
        status = write_runtime(b);
        if (!status)
            status = write_main(b);
        names[n++] = with(b, "_main");
        for (int i = 0; i < (b->has_lists ? 4 : 3); i++)
            names[n++] = parts[i];
    }
    for (uint32_t i = 0; i < n && !status; i++) {
        const char *argv[MAX_ARGS], *source = str_printf(b->arena, "%s.c", names[i]).at;
        objects[*count] = str_printf(b->arena, "%s.o", names[i]).at;
        compile_command(b, "-O2", source, objects[(*count)++], argv);
        status = call(b, argv);
    }
    return status;
}

static int link_program(Build *b, const char *const *objects, uint32_t count, const char *out)
{
    const char *argv[MAX_ARGS] = {b->cc, "-o", out};
    uint32_t n = 3;
    if (b->o->kind == EMIT_SHARED)
        argv[n++] = "-shared";
    for (uint32_t i = 0; i < count; i++)
        argv[n++] = objects[i];
    if (b->o->gemm == GEMM_OPENBLAS)
        argv[n++] = "-lopenblas";
    argv[n++] = "-lm";
    n = add_libraries(b, argv, n);
    if (b->o->device == ON_CUDA)
        argv[n++] = "-ldl";
    argv[n] = NULL;
    return call(b, argv);
}

int toolchain_compile(Build *b, const char *out)
{
    const EmitKind kind = b->o->kind;
    const bool linked = kind == EMIT_EXE || kind == EMIT_SHARED;
    const char *argv[MAX_ARGS], *objects[MAX_OBJECTS] = {with(b, ".o")};
    uint32_t n = 1;
    if (!linked && kind != EMIT_STATIC)
        objects[0] = out;
    compile_command(b, "-O3", with(b, ".c"), objects[0], argv);
    Process p;
    if (!start(b, argv, &p))
        return 2;
    int status = linked ? compile_parts(b, objects, &n) : 0;
    Str error = b->report->error;
    int compiled = end(b, argv[0], &p);
    if (status)
        b->report->error = error;
    status = status ? status : compiled;
    if (status || (!linked && kind != EMIT_STATIC))
        return status;
    const char *archive[] = {"ar", "rcsD", out, objects[0], NULL};
    return kind == EMIT_STATIC ? call(b, archive) : link_program(b, objects, n, out);
}

// ---- CUDA ------------------------------------------------------------------------------------

static const char *find_nvcc(Arena *a)
{
    const char *home = getenv("CUDA_HOME"), *found = process_find(a, "nvcc");
    if (!found && home)
        found = process_find(a, str_printf(a, "%s/bin/nvcc", home).at);
    return found ? found : process_find(a, "/usr/local/cuda/bin/nvcc");
}

int toolchain_compile_kernels(Build *b, const char *source, const char *image)
{
    const char *argv[MAX_ARGS] = {find_nvcc(b->arena), "-std=c++17", "-O3", "-fatbin", "-o", image};
    uint32_t n = 6;
    if (!argv[0]) {
        b->report->error = STR("no CUDA compiler: nvcc is not on the path");
        return 2;
    }
    argv[n++] = "-gencode=arch=compute_75,code=compute_75";
    const char *list = b->o->cuda_arch ? b->o->cuda_arch : "sm_80,sm_90";
    while (*list && n < MAX_ARGS - 4) {
        int length = (int)strcspn(list, ",");
        const char *number = strncmp(list, "sm_", 3) == 0 ? list + 3 : list;
        int digits = length - (int)(number - list);
        argv[n++] = str_printf(b->arena, "-gencode=arch=compute_%.*s,code=sm_%.*s", digits, number,
                               digits, number)
                        .at;
        list += length;
        list += *list == ',';
    }
    argv[n++] = source;
    argv[n] = NULL;
    return call(b, argv);
}
