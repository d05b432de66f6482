// cameo compile: a model to a program, a library, an object or C.

#include "codegen/compile.h"
#include "base/file.h"
#include "frontend/load.h"
#include "tools/config.h"
#include "tools/kept.h"
#include "tools/pipeline.h"
#include "tools/precision.h"
#include "tools/report.h"
#include "tools/session.h"
#include "tools/tuning.h"

#include <string.h>
#include <unistd.h>

enum {
    OPT_OUT,
    OPT_EMIT,
    OPT_DEVICE,
    OPT_CPU,
    OPT_TUNING,
    OPT_ARCH,
    OPT_PREFIX,
    OPT_WEIGHTS,
    OPT_GEMM,
    OPT_NO_OVERRIDE,
    OPT_NO_FUSE,
    OPT_WINOGRAD,
    OPT_NO_WINOGRAD,
    OPT_NO_SPLIT,
    OPT_STRICT,
    OPT_PRECISION,
    OPT_CC,
    OPT_KEEP,
    OPT_NO_CACHE,
    OPT_DIM,
    OPT_SHAPE,
    OPT_FIX,
    OPT_UNSAFE,
    OPT_PRINT_AFTER,
    OPT_REPORT,
    OPT_PROFILE,
    OPT_APART,
    OPT_THREADS,
    OPT_GRAIN
};

static const ToolOption options[] = {
    [OPT_OUT] = {"-o", "OUT", "the file to write"},
    [OPT_EMIT] = {"--emit", "KIND", "exe, shared, static, obj or c (default: from OUT's ending)"},
    [OPT_DEVICE] = {"--device", "DEVICE", "cpu (default), cuda, or auto: cuda where there is one"},
    [OPT_ARCH] = {"--cuda-arch", "ARCH", "sm_90, or several; PTX for others is always added"},
    [OPT_CPU] = {"--cpu", "NAME,...",
                 "portable (default where it can be), native, or names that the C compiler knows"},
    [OPT_TUNING] = {"--tuning", "FILE", TUNING_DOC},
    [OPT_PREFIX] = {"--prefix", "NAME",
                    "of all symbols (default: OUT's stem, a program's: MODEL's)"},
    [OPT_WEIGHTS] = {"--weights", "WHERE", "embed (default), or file: beside OUT"},
    [OPT_GEMM] = {"--gemm", "HOW", "auto, packed, openblas or loops"},
    [OPT_NO_OVERRIDE] = {"--no-override", NULL, "plain loops for every kernel"},
    [OPT_NO_FUSE] = {"--no-fuse", NULL, "one kernel for each operator"},
    [OPT_WINOGRAD] = {"--winograd", "HOW", "tiles of 3x3 convolutions: auto (by cost), 2 or 4"},
    [OPT_NO_WINOGRAD] = {"--no-winograd", NULL, "every product of a convolution by itself"},
    [OPT_NO_SPLIT] = {"--no-split", NULL, "no products of float32 by terms of bfloat16 (AMX)"},
    [OPT_STRICT] = {"--strict-fp", NULL,
                    "no contraction of multiply and add, no Winograd, no Strassen, no dequantised "
                    "products in integers"},
    [OPT_PRECISION] = {"--precision", "P",
                       "f32 (as the model is), or as for convert: f16, bf16, "
                       "mixed, f64"},
    [OPT_CC] = {"--cc", "CC", "the C compiler"},
    [OPT_KEEP] = {"--keep", "DIR", "leave the emitted sources there"},
    [OPT_NO_CACHE] = {"--no-cache", NULL, "call the C compiler for what it made before too"},
    [OPT_DIM] = {"--dim", "NAME=SIZE", "fix a named dim"},
    [OPT_SHAPE] = {"--shape", "INPUT=1x3x224x224", "fix the shape of an input"},
    [OPT_FIX] = {"--fix", NULL, "apply the safe repairs of lint first"},
    [OPT_UNSAFE] = {"--unsafe-fixes", NULL, "apply the unsafe ones too"},
    [OPT_PRINT_AFTER] = {"--print-after", "PASS", "print the model after this pass, or after all"},
    [OPT_REPORT] = {"--report", "json", "print what was compiled, how, and what came of it"},
    [OPT_PROFILE] = {"--profile", NULL, "a program that prints how long each kernel took"},
    [OPT_APART] = {"--apart", NULL, "each value in memory of its own, for address sanitizers"},
    [OPT_THREADS] = {"--threads", "N",
                     "of the program, where it is not told otherwise (default: 1)"},
    [OPT_GRAIN] = {"--grain", "WORK", "the least that a thread takes, in tenths of nanoseconds"},
    {0},
};

static bool take_kind(const char *name, EmitKind *kind)
{
    static const char *const names[] = {"exe", "shared", "static", "obj", "c"};
    for (int i = 0; i < 5; i++)
        if (strcmp(name, names[i]) == 0) {
            *kind = (EmitKind)i;
            return true;
        }
    return false;
}

static bool take_gemm(const char *name, GemmKind *gemm)
{
    static const char *const names[] = {"auto", "packed", "openblas", "loops"};
    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0) {
            *gemm = (GemmKind)i;
            return true;
        }
    return false;
}

static EmitKind kind_by_ending(const char *out)
{
    static const struct {
        const char *ending;
        EmitKind kind;
    } known[] = {{".so", EMIT_SHARED}, {".a", EMIT_STATIC}, {".o", EMIT_OBJ}, {".c", EMIT_C}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_ends(str_of(out), known[i].ending))
            return known[i].kind;
    return EMIT_EXE;
}

// A C identifier?
static bool is_identifier(const char *s)
{
    bool first = true;
    for (; *s; s++, first = false) {
        bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_';
        if (!letter && (first || *s < '0' || *s > '9'))
            return false;
    }
    return !first;
}

// "sm_90,sm_80"
static bool is_arch_list(const char *s)
{
    return *s && strlen(s) < 64 && strspn(s, "sm_0123456789a,") == strlen(s);
}

typedef struct Asked {
    CompileOptions o;
    const char *model, *print_after;
    bool has_kind, report;
    Precision precision;
} Asked;

// An option without a value; false: it is none of them.
static bool take_flag(CompileOptions *o, int option)
{
    switch (option) {
    case OPT_NO_OVERRIDE:
        o->no_override = true;
        return true;
    case OPT_NO_CACHE:
        o->no_cache = true;
        return true;
    case OPT_NO_FUSE:
        o->no_fuse = true;
        return true;
    case OPT_PROFILE:
        o->profile = true;
        return true;
    case OPT_APART:
        o->apart = true;
        return true;
    case OPT_STRICT:
        o->strict_fp = true;
        return true;
    case OPT_NO_WINOGRAD:
        o->no_winograd = true;
        return true;
    case OPT_NO_SPLIT:
        o->no_split = true;
        return true;
    case OPT_FIX:
        o->fix = true;
        return true;
    case OPT_UNSAFE:
        o->fix = o->unsafe_fixes = true;
        return true;
    default:
        return false;
    }
}

static bool take_option(const Tool *t, Asked *a, int option, const char *value)
{
    CompileOptions *o = &a->o;
    bool ok = true;
    if (take_flag(o, option))
        return true;
    switch (option) {
    case ARG_FILE:
        ok = !a->model;
        a->model = value;
        break;
    case OPT_OUT:
        o->out = value;
        break;
    case OPT_EMIT:
        ok = a->has_kind = take_kind(value, &o->kind);
        break;
    case OPT_DEVICE:
        ok = session_device(value, &o->device);
        break;
    case OPT_PRECISION:
        ok = precision_compile(value, &a->precision, o);
        break;
    case OPT_ARCH:
        ok = is_arch_list(value);
        o->cuda_arch = value;
        break;
    case OPT_CPU:
        o->cpu = value;
        break;
    case OPT_TUNING:
        return tuning_take(t, value, o);
    case OPT_PREFIX:
        ok = is_identifier(value) && strncmp(value, "cameo", 5) != 0;
        o->prefix = value;
        break;
    case OPT_WEIGHTS:
        o->weights_file = strcmp(value, "file") == 0;
        ok = o->weights_file || strcmp(value, "embed") == 0;
        break;
    case OPT_GEMM:
        ok = take_gemm(value, &o->gemm);
        break;
    case OPT_WINOGRAD:
        ok = strcmp(value, "auto") == 0 || strcmp(value, "2") == 0 || strcmp(value, "4") == 0;
        o->tile = ok && *value != 'a' ? *value - '0' : 0;
        break;
    case OPT_CC:
        o->cc = value;
        break;
    case OPT_REPORT:
        ok = a->report = strcmp(value, "json") == 0;
        break;
    case OPT_PRINT_AFTER:
        ok = pass_is_printable(value);
        a->print_after = value;
        break;
    case OPT_THREADS:
    case OPT_GRAIN:
        ok = tool_count(value, option == OPT_GRAIN ? MAX_GRAIN : MAX_THREADS,
                        option == OPT_GRAIN ? &o->grain : &o->threads);
        break;
    case OPT_KEEP:
        o->keep = value;
        break;
    case OPT_DIM:
    case OPT_SHAPE:
        ok = o->nfixed < MAX_FIXED;
        if (ok)
            o->fixed[o->nfixed++] = (FixedSize){value, option == OPT_SHAPE};
    }
    if (!ok)
        tool_error(t, 0, "%s is not understood here", value);
    return ok;
}

static int64_t in_process(bool (*work)(void *of), void *of)
{
    fflush(stdout);
    fflush(stderr);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(work(of) ? 0 : 1);
    return pid;
}

static int compile(const Tool *t, const Asked *a)
{
    Arena *arena = arena_new();
    Diags diags;
    Results results = {0};
    diags_init(&diags, arena, str_of(a->model));
    int status = 0;
    if (!a->report && !a->print_after && kept_take(&results, a->model, &a->o, &diags)) {
        tool_print_diags(&diags);
        arena_free(arena);
        return EXIT_CLEAN;
    }
    Model *m = tool_load(t, arena, a->model, &diags, &status);
    CompileReport report = {0};
    if (m && !tool_config_of_program(t, arena, a->model, m))
        status = EXIT_USAGE;
    if (m && !status) {
        PrintAfter after = {t, a->print_after};
        CompileOptions o = a->o;
        o.after = a->print_after ? print_after : NULL;
        o.user = &after;
        o.beside = in_process;
        o.again = load_copy;
        status = tool_status(&diags, compile_model(m, &o, &diags, &report));
        if (!status && results.key)
            kept_keep(&results, m, &report, &diags);
        tool_print_diags(&diags);
        if (status && report.error.len)
            tool_error(t, 0, "%.*s", STR_ARG(report.error));
        if (!status && a->o.fix && !tool_style.quiet)
            fprintf(
                stderr, "repaired: %u constant%s retyped, %u cast%s and %u transfer%s inserted\n",
                report.retyped, report.retyped == 1 ? "" : "s", report.casts,
                report.casts == 1 ? "" : "s", report.transfers, report.transfers == 1 ? "" : "s");
        if (!status && tool_style.verbose && !a->o.no_fuse)
            fprintf(stderr, "fused: %u kernels to %u, work %.4g to %.4g operations (ratio %.3f)\n",
                    report.fused.kernels_before, report.fused.kernels_after,
                    report.fused.work_before, report.fused.work_after,
                    report.fused.work_before > 0
                        ? report.fused.work_after / report.fused.work_before
                        : 1);
        if (!status && tool_style.verbose && report.fixed)
            fprintf(stderr, "%u kernels, %lld bytes of weights, arena %lld bytes (bound %lld)\n",
                    report.nkernels, (long long)report.weights_size, (long long)report.peak,
                    (long long)report.bound);
    }
    if (a->report)
        report_print(m, &a->o, &report, &diags, status);
    arena_free(arena);
    return status;
}

// NULL, this machine's, where only one processor can be meant: in C text, for kernels of a device,
// with a profile, and with a row that was measured here.
static const char *default_cpu(const CompileOptions *o)
{
    const bool one = o->kind == EMIT_C || o->device == ON_CUDA || o->profile || o->tuned.lanes > 0;
    return one ? NULL : "portable";
}

static int run(const Tool *t, int argc, char **argv)
{
    Asked a = {0};
    Args args = args_of(t, argc, argv);
    const char *value;
    for (int option; (option = args_next(&args, &value)) != ARG_END;) {
        if (option == ARG_HELP)
            return EXIT_CLEAN;
        if (option == ARG_BAD || !take_option(t, &a, option, value))
            return EXIT_USAGE;
    }
    if (!a.model || !a.o.out)
        return tool_error(t, EXIT_USAGE, "a MODEL and -o OUT are needed (see cameo help compile)");
    if (a.o.profile && a.o.device == ON_CUDA)
        return tool_error(t, EXIT_USAGE, "--profile times kernels of the host, not of a GPU");
    if (file_same(a.model, a.o.out))
        return tool_error(t, EXIT_USAGE, "%s is the input", a.o.out);
    if (!a.has_kind)
        a.o.kind = kind_by_ending(a.o.out);
    a.o.cpu = a.o.cpu ? a.o.cpu : default_cpu(&a.o);
    a.o.verbose = tool_style.verbose;
    return compile(t, &a);
}

const Tool tool_compile = {"compile", "MODEL -o OUT [OPTIONS]",
                           "compiles a model to a program, a library, an object or C", options,
                           run};
