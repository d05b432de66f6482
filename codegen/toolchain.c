// gcc, clang and nvcc, each in the build's folder.

#include "codegen/toolchain.h"
#include "codegen/cpu/processor.h"
#include "base/file.h"
#include "codegen/cpus.h"
#include "codegen/embedded.h"
#include "codegen/jobs.h"
#include "codegen/printer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ARGS = 40 };

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

// ---- the C compiler --------------------------------------------------------------------------

// A path that holds in the build's folder too.
static const char *from_anywhere(Build *b, const char *path)
{
    char *here = *path == '/' ? NULL : getcwd(NULL, 0);
    const char *full = here ? str_printf(b->arena, "%s/%s", here, path).at : path;
    free(here);
    return full;
}

int toolchain_find_compiler(Build *b)
{
    if (b->cc)
        return 0;
    static const char *const known[] = {"gcc", "clang-19", "clang", "cc"};
    bool clang = b->o->kind == EMIT_LOADED;
    if (b->o->cc)
        b->cc = process_find(b->arena, b->o->cc);
    for (int i = clang ? 1 : 0; !b->o->cc && i < (clang ? 3 : 4) && !b->cc; i++)
        b->cc = process_find(b->arena, known[i]);
    if (b->cc) {
        b->cc = from_anywhere(b, b->cc);
        return 0;
    }
    b->report->error = str_printf(b->arena, "no working C compiler: %s is not on the path",
                                  b->o->cc ? b->o->cc
                                  : clang  ? "clang-19"
                                           : "gcc");
    return 2;
}

// What a unit holds: kernels, whose loops the compiler is to make quick; tiles, whose vectors are
// written out, so that there is nothing more to find and -O3 would only make them longer; or what
// is beside the model, waits for files, and runs anywhere, also to say that a machine lacks what
// the model was compiled for.
typedef enum Unit { KERNELS, TILES, BESIDE } Unit;

// gcc for the machine that this one is, and not for another one.
static bool is_gcc_for_x86(const Build *b)
{
#if defined(__x86_64__)
    const char *name = path_base(b->cc);
    return strncmp(name, "gcc", 3) == 0 || strncmp(name, "x86_64-linux-gnu-gcc", 20) == 0;
#else
    (void)b;
    return false;
#endif
}

// Is it this machine, whose vectors multiply words? gcc 12 takes such processors for older ones of
// their maker; ordered as for the first ones with AVX2 programs take up to 3 % less.
static bool is_tuned(const Build *b, uint32_t cpu)
{
    const char *name = b->cpus[cpu];
    const bool native = !name || strcmp(name, "native") == 0;
    return native && is_gcc_for_x86(b) && processor_of(name).words > 0;
}

static uint32_t add_flags(Build *b, Unit unit, uint32_t cpu, const char **argv)
{
    const CompileOptions *o = b->o;
    uint32_t n = 0;
    argv[n++] = b->cc;
    argv[n++] = "-std=c11";
    argv[n++] = "-D_GNU_SOURCE";
    argv[n++] = unit == BESIDE ? "-Os" : o->once ? "-O1" : unit == TILES ? "-O2" : "-O3";
    argv[n++] = "-fno-math-errno";
    argv[n++] = "-fno-trapping-math";
    argv[n++] = "-ffp-contract=off"; // the text says what is joined
    argv[n++] = "-fPIC";
    argv[n++] = "-fvisibility=default";
    argv[n++] = "-ffunction-sections"; // so that linkers leave out what is not called
    argv[n++] = "-fdata-sections";
    if (unit == KERNELS && strstr(path_base(b->cc), "gcc")) {
        // Copies of functions for one caller, of loops for one step or for a part of their steps,
        // and of bodies whose loops of up to 16 steps were written as such: kernels run no faster
        // by them, and what all products share would be a third longer.
        argv[n++] = "-fno-ipa-cp-clone";
        argv[n++] = "-fno-version-loops-for-strides";
        argv[n++] = "-fno-split-loops";
        argv[n++] = "--param";
        argv[n++] = "max-completely-peel-times=8";
    }
    // gcc 12 moves what lies on the stack by vectors that must be aligned, and does not align it
    // where a function that calls none has it below the stack pointer (its bug 109093).
    if (unit != BESIDE && is_gcc_for_x86(b))
        argv[n++] = "-mno-red-zone";
    if (unit != BESIDE)
        n += cpus_flags(b->arena, b->cpus[cpu], argv + n);
    if (unit != BESIDE && is_tuned(b, cpu))
        argv[n++] = "-mtune=haswell";
#if defined(__x86_64__) // clang takes half of a vector for loops, of float64 too few numbers
    if (unit == KERNELS && b->has_figures && strstr(b->cc, "clang"))
        argv[n++] = "-mprefer-vector-width=512";
#endif
    return n;
}

// One source to one object, for number `cpu` of the build's processors.
static uint32_t compile_command(Build *b, Unit unit, uint32_t cpu, const char *source,
                                const char *object, const char **argv)
{
    uint32_t n = add_flags(b, unit, cpu, argv);
    argv[n++] = "-c";
    argv[n++] = source;
    argv[n++] = "-o";
    argv[n++] = object;
    argv[n] = NULL;
    return n;
}

// Of a source of the build's folder, to an object beside it.
static void prepare(Build *b, Job *job, const char *name)
{
    *job = (Job){.argv = NEWS(b->arena, const char *, MAX_ARGS)};
    job->source = str_printf(b->arena, "%s.c", name).at;
    job->object = str_printf(b->arena, "%s.o", name).at;
}

// Names of units that all models share end with this.
static const char *target_name(Build *b, uint32_t cpu)
{
    const char *name = b->cpus[cpu] ? b->cpus[cpu] : "native";
    char *target = memcpy(arena_alloc(b->arena, strlen(name) + 1), name, strlen(name) + 1);
    for (char *at = target; *at; at++)
        *at = isalnum((unsigned char)*at) ? *at : '_';
    return target;
}

static const char *target_define(Build *b, uint32_t cpu)
{
    return str_printf(b->arena, "-DCAMEO_TARGET=%s", target_name(b, cpu)).at;
}

void toolchain_kept_job(Build *b, bool tiles, uint32_t cpu, Job *job)
{
    const char *name =
        str_printf(b->arena, "cameo_%s_%s", tiles ? "tiles" : "products", target_name(b, cpu)).at;
    prepare(b, job, name);
    uint32_t n =
        compile_command(b, tiles ? TILES : KERNELS, cpu, job->source, job->object, job->argv);
    job->argv[n++] = target_define(b, cpu);
    job->argv[n] = NULL;
}

// A library has the first alone, and where kernels run on a device its text has that; the last is
// for inputs and outputs that are lists.
enum { CONTEXT, MAIN, LISTS = MAIN + 3 };
const char *const toolchain_parts[] = {"cameo_context", "cameo_main",  "cameo_io",
                                       "cameo_pb",      "cameo_lists", NULL};

void toolchain_part_job(Build *b, const char *name, Job *job)
{
    prepare(b, job, name);
    compile_command(b, BESIDE, 0, job->source, job->object, job->argv);
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
    int status = toolchain_find_compiler(b);
    return status ? status : check_libraries(b);
}

// ---- programs and libraries ------------------------------------------------------------------

int toolchain_write_runtime(Build *b)
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
               "int main(int argc, char **argv)\n{\n",
               b->prefix);
    if (b->o->weights_file) {
        buf_printf(&text, "    return cameo_main_beside(&%s_model, ", b->prefix);
        print_c_string(&text, str_of(path_base(compile_beside(b->arena, b->o, ".weights"))));
        buf_printf(&text, ", argc, argv);\n}\n");
    } else {
        buf_printf(&text, "    return cameo_main(&%s_model, argc, argv);\n}\n", b->prefix);
    }
    int status = build_write_text(b, with(b, "_main.c"), &text);
    buf_free(&text);
    return status;
}

static Job *add_job(Build *b, Jobs *jobs, Unit unit, const char *name)
{
    Job job;
    prepare(b, &job, name);
    compile_command(b, unit, 0, job.source, job.object, job.argv);
    vec_push(b->arena, jobs, job);
    return &jobs->at[jobs->len - 1];
}

static void define(Job *job, const char *what)
{
    uint32_t n = 0;
    while (job->argv[n])
        n++;
    job->argv[n++] = what;
    job->argv[n] = NULL;
}

// Is the model's object all that there is to be?
static bool alone(const Build *b)
{
    const EmitKind kind = b->o->kind;
    return (kind == EMIT_OBJ || kind == EMIT_LOADED) && b->ncpus == 1 && !b->custom.len;
}

const char *toolchain_result(Build *b)
{
    return with(b, ".out");
}

// The model for one of several processors, its two outer names by number.
static void add_variant(Build *b, Jobs *jobs, const ModelText *t, uint32_t variant)
{
    const uint32_t cpu = t->first + variant;
    Job *job = add_job(b, jobs, KERNELS, t->name);
    job->object = str_printf(b->arena, "%s_%u.o", b->prefix, cpu).at;
    uint32_t n = compile_command(b, KERNELS, cpu, job->source, job->object, job->argv);
    static const char *const outer[] = {"program", "lacks"};
    for (int k = 0; k < 2; k++)
        job->argv[n++] = str_printf(b->arena, "-D%s_%s=%s_%s_%u", b->prefix, outer[k], b->prefix,
                                    outer[k], cpu)
                             .at;
    job->argv[n++] = str_printf(b->arena, "-DCAMEO_VARIANT=%u", variant).at;
    job->argv[n] = NULL;
    if (b->kept[cpu][0])
        define(job, target_define(b, cpu));
}

void toolchain_begin(Build *b, const ModelText *t)
{
    if (!b->models)
        b->models = NEW(b->arena, Jobs);
    if (b->ncpus == 1) {
        Job *job = add_job(b, b->models, KERNELS, t->name);
        job->object = alone(b) ? toolchain_result(b) : job->object;
        compile_command(b, KERNELS, 0, job->source, job->object, job->argv);
        if (b->kept[0][0])
            define(job, target_define(b, 0));
    }
    for (uint32_t i = t->n; i-- > 0 && b->ncpus > 1;)
        add_variant(b, b->models, t, i);
    jobs_start(b, b->models);
}

void toolchain_abandon(Build *b)
{
    if (b->models)
        jobs_abandon(b, b->models);
}

static void add_blobs(Build *b, Jobs *jobs)
{
    if (!b->has_blobs)
        return;
    Job *blobs = add_job(b, jobs, BESIDE, with(b, "_blobs"));
    if (b->includes) // files that no cache would know
        blobs->source = NULL;
}

// What goes into a program beside the model: its objects, compiled while the model is.
static int add_parts(Build *b, Jobs *jobs)
{
    if (b->has_products)
        add_job(b, jobs, KERNELS, with(b, "_products"));
    if (b->has_tiles)
        add_job(b, jobs, TILES, with(b, "_tiles"));
    const bool exe = b->o->kind == EMIT_EXE;
    const int first = b->o->device == ON_CPU ? CONTEXT : MAIN,
              end = exe ? LISTS + b->has_lists : MAIN;
    int status = toolchain_write_runtime(b);
    status = status || !exe ? status : write_main(b);
    if (status)
        return status;
    for (int i = first; i < end; i++)
        add_job(b, jobs, BESIDE, toolchain_parts[i])->kept = true;
    if (exe)
        add_job(b, jobs, BESIDE, with(b, "_main"));
    return 0;
}

// The sources of the custom operators that the module calls, each function under the name that the
// emitted C calls it by.
static void add_custom(Build *b, Jobs *jobs)
{
    for (uint32_t i = 0; i < b->custom.len; i++) {
        const CustomSource *c = &b->custom.at[i];
        Job job = {.argv = NEWS(b->arena, const char *, MAX_ARGS + c->defines.len), .of = c->path};
        job.object = str_printf(b->arena, "%s_custom%u.o", b->prefix, i).at;
        const char *source = from_anywhere(b, str_copy(b->arena, c->path).at);
        uint32_t n = compile_command(b, KERNELS, 0, source, job.object, job.argv);
        for (uint32_t d = 0; d < c->defines.len; d++)
            job.argv[n++] = c->defines.at[d];
        job.argv[n] = NULL;
        vec_push(b->arena, jobs, job);
    }
}

static int link_program(Build *b, const Jobs *objects, const char *out)
{
    const char **argv = NEWS(b->arena, const char *, MAX_ARGS + 2 * MAX_CPUS + objects->len);
    uint32_t n = 0;
    argv[n++] = b->cc;
    argv[n++] = "-o";
    argv[n++] = out;
    if (b->o->kind == EMIT_SHARED)
        argv[n++] = "-shared";
    for (uint32_t i = 0; i < objects->len; i++)
        argv[n++] = objects->at[i].object;
    for (uint32_t i = 0; i < b->ncpus; i++)
        for (int k = 0; k < 2 && b->kept[i][0]; k++)
            argv[n++] = b->kept[i][k];
    argv[n++] = "-Wl,--gc-sections";
    if (b->attaches)
        argv[n++] = str_printf(b->arena, "-Wl,-T,%s", with(b, "_weights.ld")).at;
    if (b->o->gemm == GEMM_OPENBLAS)
        argv[n++] = "-lopenblas";
    argv[n++] = "-lm";
    n = add_libraries(b, argv, n);
    if (b->o->device == ON_CUDA)
        argv[n++] = "-ldl";
    argv[n] = NULL;
    return jobs_call(b, argv);
}

// Several objects as one.
static int join_objects(Build *b, const Jobs *objects, const char *out)
{
    const char **argv = NEWS(b->arena, const char *, MAX_ARGS + objects->len);
    uint32_t n = 0;
    argv[n++] = b->cc;
    argv[n++] = "-r";
    argv[n++] = "-nostdlib";
    for (uint32_t i = 0; i < objects->len; i++)
        argv[n++] = objects->at[i].object;
    argv[n++] = "-o";
    argv[n++] = out;
    argv[n] = NULL;
    return jobs_call(b, argv);
}

static int archive_object(Build *b, const char *object, const char *out)
{
    const char *argv[] = {"ar", "rcsD", out, object, NULL};
    return jobs_call(b, argv);
}

int toolchain_compile(Build *b)
{
    const EmitKind kind = b->o->kind;
    const bool linked = kind == EMIT_EXE || kind == EMIT_SHARED;
    const char *out = toolchain_result(b), *object = with(b, ".o");
    Jobs *jobs = b->models;
    if (alone(b))
        return jobs_run(b, jobs);
    const uint32_t models = jobs->len;
    if (b->ncpus > 1)
        add_job(b, jobs, BESIDE, with(b, "_api"));
    int status = linked ? add_parts(b, jobs) : 0;
    add_blobs(b, jobs);
    add_custom(b, jobs);
    status = status ? status : jobs_run(b, jobs);
    const Jobs objects = *jobs;
    jobs->len = models; // what is around them may have to be made again
    double since = stage_clock();
    if (linked) {
        status = status ? status : link_program(b, &objects, out);
        stage_end(b->arena, &b->report->stages, "link", &since);
        return status;
    }
    if (b->ncpus > 1 || b->custom.len) {
        object = kind == EMIT_STATIC ? with(b, "_joined.o") : out;
        status = status ? status : join_objects(b, &objects, object);
    }
    return status || kind != EMIT_STATIC ? status : archive_object(b, object, out);
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
    const CustomSources *own = &b->custom_kernels;
    for (uint32_t i = 0; i < own->len && n < MAX_ARGS - 2;
         i++) { // what they include is beside them
        const char *path = from_anywhere(b, str_copy(b->arena, own->at[i].path).at);
        int folder = (int)(strrchr(path, '/') - path);
        argv[n++] = str_printf(b->arena, "-I%.*s", folder ? folder : 1, path).at;
    }
    argv[n++] = source;
    argv[n] = NULL;
    int status = jobs_call(b, argv);
    if (status == 4 && own->len) {
        b->report->error =
            str_printf(b->arena, "the CUDA compiler rejects the kernels with %.*s%s",
                       STR_ARG(own->at[0].path), message_after_line(b->report->error));
        status = 2;
    }
    return status;
}
