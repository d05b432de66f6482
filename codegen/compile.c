// The back end as a script: lower, plan, print, call the C compiler, put the result in its place.

#include "codegen/check_bounds.h"
#include "codegen/compile.h"
#include "base/file.h"
#include "codegen/cuda/cuda.h"
#include "codegen/custom.h"
#include "codegen/embedded.h"
#include "codegen/fix_sizes.h"
#include "codegen/kernel_pass.h"
#include "codegen/libraries.h"
#include "passes/insert_casts.h"
#include "passes/lint/lint.h"
#include "passes/pass.h"

#include <stdlib.h>
#include <string.h>

typedef struct Build {
    Arena *arena;
    const CompileOptions *o;
    CompileReport *report;
    const char *dir, *prefix, *cc;
    bool has_lists; // among inputs and outputs
    const Library *libraries[MAX_LIBRARIES + 1];
} Build;

const char *prefix_of(Arena *a, const char *path)
{
    const char *stem = strrchr(path, '/');
    stem = stem ? stem + 1 : path;
    const char *dot = strchr(stem, '.');
    size_t n = dot && dot > stem ? (size_t)(dot - stem) : strlen(stem);
    char *out = arena_alloc(a, n + 8);
    size_t k = 0;
    if (n == 0 || (stem[0] >= '0' && stem[0] <= '9'))
        out[k++] = 'm';
    for (size_t i = 0; i < n; i++) {
        char c = stem[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        out[k++] = plain ? c : '_';
    }
    return out;
}

static const char *join(Arena *a, const char *dir, const char *name, const char *ending)
{
    return str_printf(a, "%s/%s%s", dir, name, ending).at;
}

// A device's kernels change their form after fusion, before what it lacks is rewritten.
static bool run_kernel_passes(Model *m, const CompileOptions *o, PassContext *c)
{
    for (const Pass *p = kernel_passes; p->name; p++) {
        if (o->no_fuse && strcmp(p->name, "fuse") == 0)
            continue;
        if (o->device == ON_CUDA && strcmp(p->name, "legalize") == 0 &&
            !cuda_prepare_module(m->kernels, c->diags))
            return false;
        if (!pass_run(p, m, c))
            return false;
        if (o->device == ON_CUDA && p->gives & FACT_LOWERED)
            cuda_place_kernels(m->kernels);
    }
    return true;
}

Module *compile_to_module(Model *m, const CompileOptions *o, Diags *diags, CompileReport *report)
{
    if (!fix_sizes(m, o, &report->error))
        return NULL;
    m->for_device = o->device == ON_CUDA;
    Repair repair = {.unsafe = o->unsafe_fixes};
    if (o->fix || o->unsafe_fixes) {
        lint_prepare(m, diags);
        insert_casts(m, &repair);
        insert_transfers(m, &repair);
        report->casts = repair.casts;
        report->transfers = repair.transfers;
        report->retyped = repair.retyped;
    }
    lint_model(m, diags, NULL, NULL);
    if (diags->errors)
        return NULL;
    PassContext passes = {.diags = diags,
                          .after = o->after,
                          .user = o->user,
                          .on_device = o->device == ON_CUDA,
                          .fused = &report->fused};
    bool passed = pass_pipeline(m, &passes) && !diags->errors && run_kernel_passes(m, o, &passes);
    report->bug = passes.broken != NULL;
    if (!passed)
        return NULL;
    Module *mod = m->kernels;
    GemmKind gemm = o->device == ON_CUDA ? GEMM_CUBLASLT : o->gemm;
    if (!o->no_override && o->gemm != GEMM_LOOPS && !override_module(mod, gemm, &report->error))
        return NULL;
    if (o->device == ON_CUDA)
        cuda_split_products(mod);
    check_bounds(mod);
    report->nkernels = mod->nkernels;
    return mod;
}

// ---- files -----------------------------------------------------------------------------------

static int write_text(Build *b, const char *path, const Buf *text)
{
    return file_write(path, text->at ? text->at : "", text->len, 0644, &b->report->error, b->arena)
               ? 0
               : 3;
}

static int write_runtime(Build *b)
{
    for (const EmbeddedFile *f = embedded_files; f->name; f++) {
        const char *path = join(b->arena, b->dir, f->name, "");
        if (!file_write(path, f->text, f->len, 0644, &b->report->error, b->arena))
            return 3;
    }
    return 0;
}

static int write_main(Build *b, const char *path)
{
    Buf text = {0};
    buf_printf(&text,
               "#include \"cameo_main.h\"\n\n"
               "extern const cameo_model %s_model;\n\n"
               "int main(int argc, char **argv)\n{\n"
               "    return cameo_main(&%s_model, argc, argv);\n}\n",
               b->prefix, b->prefix);
    int status = write_text(b, path, &text);
    buf_free(&text);
    return status;
}

// ---- the C compiler ----------------------------------------------------------------------------

static int find_compiler(Build *b)
{
    static const char *const known[] = {"gcc", "clang-19", "clang", "cc"};
    bool clang = b->o->kind == EMIT_BITCODE;
    if (b->o->cc)
        b->cc = process_find(b->arena, b->o->cc);
    for (int i = clang ? 1 : 0; !b->o->cc && i < (clang ? 3 : 4) && !b->cc; i++)
        b->cc = process_find(b->arena, known[i]);
    if (b->cc)
        return 0;
    b->report->error = str_printf(b->arena, "no working C compiler: %s is not on the path",
                                  b->o->cc ? b->o->cc
                                  : clang  ? "clang-19"
                                           : "gcc");
    return 2;
}

static int call(Build *b, const char *const *argv)
{
    Buf output = {0};
    int status = 0;
    if (b->o->verbose) {
        for (const char *const *a = argv; *a; a++)
            fprintf(stderr, "%s%s", a == argv ? "" : " ", *a);
        fprintf(stderr, "\n");
    }
    bool ran = process_run(b->arena, argv, &output, &status, &b->report->error);
    if (ran && status != 0)
        b->report->error = str_printf(
            b->arena,
            "%s rejects what Cameo emitted; this is a bug of Cameo, please report it\n%.*s",
            argv[0], (int)(output.len < 4000 ? output.len : 4000), output.at ? output.at : "");
    buf_free(&output);
    return !ran ? 2 : status != 0 ? 4 : 0;
}

enum { MAX_ARGS = 40 };

static uint32_t add_flags(Build *b, const char **argv)
{
    const CompileOptions *o = b->o;
    uint32_t n = 0;
    argv[n++] = b->cc;
    argv[n++] = "-std=c11";
    argv[n++] = "-D_GNU_SOURCE";
    argv[n++] = "-O3";
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

// What a message says behind its first line.
static const char *after_line(Str s)
{
    const char *end = s.at ? strchr(s.at, '\n') : NULL;
    return end ? end : "";
}

// One source to one object (or to bitcode).
static int compile_file(Build *b, const char *source, const char *object)
{
    const char *argv[MAX_ARGS];
    uint32_t n = add_flags(b, argv);
    argv[n++] = "-I";
    argv[n++] = b->dir;
    if (b->o->kind == EMIT_BITCODE)
        argv[n++] = "-emit-llvm";
    argv[n++] = "-c";
    argv[n++] = source;
    argv[n++] = "-o";
    argv[n++] = object;
    argv[n] = NULL;
    return call(b, argv);
}

// ---- custom operators

// Compiles the sources of the custom operators that the module calls, each function under the name
// that the emitted C calls it by, and joins them with the module's object.
static int add_custom(Build *b, const Module *mod, const char **object)
{
    CustomSources all = custom_sources(mod, b->arena, b->prefix, false);
    const char **join_argv = NEWS(b->arena, const char *, all.len + 8u);
    uint32_t n = 0;
    join_argv[n++] = b->cc;
    join_argv[n++] = "-r";
    join_argv[n++] = "-nostdlib";
    join_argv[n++] = *object;
    for (uint32_t i = 0; i < all.len; i++) {
        const CustomSource *c = &all.at[i];
        const char *own = str_printf(b->arena, "%s/%s_custom%u.o", b->dir, b->prefix, i).at;
        const char **argv = NEWS(b->arena, const char *, MAX_ARGS + c->defines.len);
        uint32_t k = add_flags(b, argv);
        for (uint32_t d = 0; d < c->defines.len; d++)
            argv[k++] = c->defines.at[d];
        argv[k++] = "-c";
        argv[k++] = str_copy(b->arena, c->path).at;
        argv[k++] = "-o";
        argv[k++] = own;
        argv[k] = NULL;
        int status = call(b, argv);
        if (status == 4) {
            b->report->error = str_printf(b->arena, "the C compiler rejects %.*s%s",
                                          STR_ARG(c->path), after_line(b->report->error));
            return 2;
        }
        if (status)
            return status;
        join_argv[n++] = own;
    }
    if (!all.len)
        return 0;
    const char *joined = join(b->arena, b->dir, b->prefix, "_joined.o");
    join_argv[n++] = "-o";
    join_argv[n++] = joined;
    join_argv[n] = NULL;
    *object = joined;
    return call(b, join_argv);
}

// ---- libraries

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
    const char *source = join(b->arena, b->dir, b->prefix, "_libraries.c");
    const char *out = join(b->arena, b->dir, b->prefix, "_libraries.out");
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
    status = write_text(b, source, &text);
    bool ok = !status && process_run(b->arena, argv, &output, &status, &b->report->error);
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

static int link_program(Build *b, const char *object, const char *out)
{
    static const char *const parts[] = {"cameo_main", "cameo_io", "cameo_pb", "cameo_lists"};
    const char *argv[MAX_ARGS];
    const char *own_main = join(b->arena, b->dir, b->prefix, "_main.c");
    int status = write_main(b, own_main);
    uint32_t n = add_flags(b, argv);
    argv[3] = "-O2";
    argv[n++] = "-I";
    argv[n++] = b->dir;
    argv[n++] = own_main;
    for (int i = 0; i < (b->has_lists ? 4 : 3); i++)
        argv[n++] = join(b->arena, b->dir, parts[i], ".c");
    argv[n++] = object;
    argv[n++] = "-o";
    argv[n++] = out;
    if (b->o->gemm == GEMM_OPENBLAS)
        argv[n++] = "-lopenblas";
    argv[n++] = "-lm";
    n = add_libraries(b, argv, n);
    if (b->o->device == ON_CUDA)
        argv[n++] = "-ldl";
    argv[n] = NULL;
    return status ? status : call(b, argv);
}

static int link_library(Build *b, const char *object, const char *out)
{
    const char *blas = b->o->gemm == GEMM_OPENBLAS ? "-lopenblas" : "-lm";
    const char *shared[MAX_ARGS] = {b->cc, "-shared", "-o", out, object, blas, "-lm"};
    add_libraries(b, shared, 7);
    const char *archive[] = {"ar", "rcsD", out, object, NULL};
    return call(b, b->o->kind == EMIT_SHARED ? shared : archive);
}

// ---- putting it in place -----------------------------------------------------------------------

static int place_file(Build *b, const char *from, const char *to, unsigned mode)
{
    FileView view;
    if (!file_open(b->arena, from, &view, &b->report->error))
        return 3;
    bool ok = file_write(to, view.at, view.len, mode, &b->report->error, b->arena);
    file_close(&view);
    return ok ? 0 : 3;
}

// "dir/net.so" to "dir/net": where header and weights go.
static const char *beside(Build *b, const char *ending)
{
    const char *out = b->o->out, *slash = strrchr(out, '/'), *name = slash ? slash + 1 : out;
    const char *dot = strrchr(name, '.');
    size_t n = dot && dot > name ? (size_t)(dot - out) : strlen(out);
    return str_printf(b->arena, "%.*s%s", (int)n, out, ending).at;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static WeightsMode choose_weights(const CompileOptions *o, Module *mod, const Plan *plan)
{
    if (o->kind == EMIT_BITCODE || o->weights_file)
        return WEIGHTS_FILE;
    if (o->device == ON_CUDA)
        return WEIGHTS_INCBIN;
    return weights_fit_arrays(mod, plan) ? WEIGHTS_ARRAYS : WEIGHTS_INCBIN;
}

// ---- CUDA ------------------------------------------------------------------------------------

static const char *find_nvcc(Arena *a)
{
    const char *home = getenv("CUDA_HOME"), *found = process_find(a, "nvcc");
    if (!found && home)
        found = process_find(a, join(a, home, "bin/nvcc", ""));
    return found ? found : process_find(a, "/usr/local/cuda/bin/nvcc");
}

// "kernels/x.cu": 8, "x.cu": 0, with one for the dot that stands for the folder.
static size_t folder_length(Str path)
{
    size_t n = path.len;
    while (n && path.at[n - 1] != '/')
        n--;
    return n;
}

// PTX for all, and machine code for the architectures asked for.
static int compile_kernels(Build *b, const Module *mod, const char *source, const char *image)
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
    CustomSources own = custom_sources(mod, b->arena, b->prefix, true);
    for (uint32_t i = 0; i < own.len && n < MAX_ARGS - 3;
         i++) // what those include lies beside them
        argv[n++] =
            str_printf(b->arena, "-I%.*s", (int)folder_length(own.at[i].path), own.at[i].path.at)
                .at;
    argv[n++] = source;
    argv[n] = NULL;
    int status = call(b, argv);
    if (status != 4 || !own.len)
        return status;
    b->report->error = str_printf(b->arena, "the CUDA compiler rejects the kernels with %.*s%s",
                                  STR_ARG(own.at[0].path), after_line(b->report->error));
    return 2;
}

// The kernels' file, compiled unless sources are asked for; then the host's.
static int emit_cuda(Build *b, Module *mod, const Plan *plan, EmitOptions *emit, Buf *host)
{
    Arena *scratch = arena_new();
    CudaTarget target = {.arena = scratch};
    Buf text = {0};
    Printer *p = printer_new(mod, &dialect_cuda, scratch, &text, b->prefix);
    p->target = &target;
    const char *source = join(b->arena, b->dir, b->prefix, ".cu");
    const char *image = join(b->arena, b->dir, b->prefix, ".fatbin");
    emit->image_path = b->o->kind == EMIT_C ? base_name(beside(b, ".fatbin")) : image;
    emit_cu(mod, p, emit);
    int status = custom_emit_kernels(p, &b->report->error) ? write_text(b, source, &text) : 3;
    if (!status && b->o->kind == EMIT_C)
        status = place_file(b, source, beside(b, ".cu"), 0644);
    else if (!status)
        status = compile_kernels(b, mod, source, image);
    if (!status)
        emit_cuda_host(mod, plan, emit, p, host);
    buf_free(&text);
    arena_free(scratch);
    return status;
}

static int finish(Build *b, const Module *mod, const char *source, const char *blob,
                  const EmitOptions *emit)
{
    const CompileOptions *o = b->o;
    const char *object = join(b->arena, b->dir, b->prefix, ".o");
    const char *built = join(b->arena, b->dir, b->prefix, ".out");
    int status = 0;
    if (o->kind == EMIT_C) {
        status = place_file(b, source, o->out, 0644);
    } else {
        status = find_compiler(b);
        if (!status)
            status = check_libraries(b);
        if (!status && o->kind != EMIT_BITCODE)
            status = write_runtime(b);
        if (!status)
            status = compile_file(b, source, object);
        if (!status)
            status = add_custom(b, mod, &object);
        if (!status && o->kind == EMIT_EXE)
            status = link_program(b, object, built);
        else if (!status && (o->kind == EMIT_SHARED || o->kind == EMIT_STATIC))
            status = link_library(b, object, built);
        else
            built = object;
        if (!status)
            status = place_file(b, built, o->out,
                                o->kind == EMIT_EXE || o->kind == EMIT_SHARED ? 0755 : 0644);
    }
    bool blob_beside = o->kind == EMIT_C ? emit->weights != WEIGHTS_ARRAYS
                                         : emit->weights == WEIGHTS_FILE && o->kind != EMIT_BITCODE;
    if (!status && blob_beside)
        status = place_file(b, blob, beside(b, ".weights"), 0644);
    if (!status && o->kind != EMIT_EXE && o->kind != EMIT_BITCODE) {
        Buf header = {0};
        emit_header(emit, &header);
        status = write_text(b, beside(b, ".h"), &header);
        buf_free(&header);
    }
    return status;
}

static int build(Build *b, Module *mod)
{
    const CompileOptions *o = b->o;
    CompileReport *r = b->report;
    b->has_lists = module_has_list_ports(mod);
    Plan *plan = plan_module(mod, b->arena);
    if (plan->fault) {
        r->error = str_of(plan->fault);
        return 4;
    }
    r->fixed = plan->fixed;
    r->peak = plan->peak;
    r->bound = plan->bound;
    r->weights_size = plan->weights_size;
    const char *blob = join(b->arena, b->dir, b->prefix, ".weights");
    EmitOptions emit = {.prefix = b->prefix, .source = mod->model->path, .profile = o->profile};
    emit.has_lists = b->has_lists;
    emit.libraries = libraries_flags(mod, b->arena);
    uint32_t n = libraries_of(mod, b->libraries);
    for (uint32_t i = 0; i < n; i++)
        r->libraries[i] = b->libraries[i]->name;
    emit.weights = choose_weights(o, mod, plan);
    emit.weights_path =
        o->kind == EMIT_C || emit.weights == WEIGHTS_FILE ? base_name(beside(b, ".weights")) : blob;
    Buf text = {0}, weights = {0};
    int status = o->device == ON_CUDA ? emit_cuda(b, mod, plan, &emit, &text)
                 : emit_c(mod, plan, &emit, &text, &r->error) ? 0
                                                              : 1;
    const char *source = join(b->arena, b->dir, b->prefix, ".c");
    if (!status)
        status = write_text(b, source, &text);
    if (!status && emit.weights != WEIGHTS_ARRAYS)
        status = emit_weights(mod, plan, &weights, &r->error) ? 0 : 1;
    if (!status && emit.weights != WEIGHTS_ARRAYS && o->kind != EMIT_BITCODE)
        status = write_text(b, blob, &weights);
    if (!status)
        status = finish(b, mod, source, blob, &emit);
    buf_free(&text);
    if (o->kind == EMIT_BITCODE)
        r->weights = weights;
    else
        buf_free(&weights);
    return status;
}

int compile_model(Model *m, const CompileOptions *o, Diags *diags, CompileReport *report)
{
    *report = (CompileReport){0};
    Module *mod = compile_to_module(m, o, diags, report);
    if (!mod) // no diagnostic: an option does not fit the model
        return report->bug ? 4 : report->error.len && !diags->errors ? 2 : 1;
    Build b = {.arena = m->arena, .o = o, .report = report, .dir = o->keep};
    b.prefix = o->prefix ? o->prefix : prefix_of(m->arena, o->out);
    bool made = o->keep ? dir_make(m->arena, o->keep, &report->error)
                        : dir_temporary(m->arena, &b.dir, &report->error);
    if (!made)
        return 3;
    int status = build(&b, mod);
    if (!o->keep)
        dir_remove(b.dir);
    return status;
}
