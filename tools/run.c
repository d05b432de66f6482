// cameo run: compiles a model into this process and runs it as an emitted program would.

#include "tools/precision.h"
#include "tools/session.h"
#include "tools/tuning.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPT_CC,
    OPT_CPU,
    OPT_TUNING,
    OPT_GEMM,
    OPT_NO_OVERRIDE,
    OPT_NO_FUSE,
    OPT_DEVICE,
    OPT_PROFILE,
    OPT_PRECISION,
    OPT_TRACE, // from here on the program's own
    OPT_PASSED
};

static const ToolOption options[] = {
    [OPT_CC] = {"--cc", "CC", "the clang to use"},
    [OPT_CPU] = {"--cpu", "NAME", "native (default), portable, or a name that clang knows"},
    [OPT_TUNING] = {"--tuning", "FILE", TUNING_DOC},
    [OPT_GEMM] = {"--gemm", "HOW", "auto, packed or loops"},
    [OPT_NO_OVERRIDE] = {"--no-override", NULL, "plain loops for every kernel"},
    [OPT_NO_FUSE] = {"--no-fuse", NULL, "one kernel for each operator"},
    [OPT_DEVICE] = {"--device", "DEVICE", "cpu (default), cuda, or auto: cuda where there is one"},
    [OPT_PROFILE] = {"--profile", NULL, "print what each kernel took, and of what the machine can"},
    [OPT_PRECISION] = {"--precision", "P",
                       "f32 (as the model is), or as for convert: f16, bf16, "
                       "mixed, f64"},
    [OPT_TRACE] = {"--trace", "FILE", "write when each kernel ran, for Perfetto"},
    [OPT_PASSED] = {"-o", "DIR", "write the outputs there"},
    {"--format", "FORMAT", "npy or pb"},
    {"--bench", "N", "print a line of latencies of N runs"},
    {"--threads", "N", "how many threads"},
    {"--inputs-from", "DATASET", "inputs from a folder test_data_set_N"},
    {"--random", NULL, "make up inputs that are not given"},
    {0},
};

static int is_read(const void *model, const char *path)
{
    return model_reads(model, path);
}

static int run(const Tool *t, int argc, char **argv)
{
    CompileOptions o = {0};
    Precision precision = {.convert = {.to = DT_F16}};
    Args args = args_of(t, argc, argv);
    const char *model = NULL, *value;
    char **passed = calloc((size_t)argc * 2 + 2, sizeof *passed);
    if (!passed)
        return EXIT_BYTES;
    int n = 0, status = EXIT_CLEAN;
    passed[n++] = (char *)(uintptr_t)"cameo run";
    for (int option; (option = args_next(&args, &value)) != ARG_END;) {
        if (option == ARG_HELP || option == ARG_BAD) {
            free(passed);
            return option == ARG_HELP ? EXIT_CLEAN : EXIT_USAGE;
        }
        if (option == ARG_FILE && !model)
            model = value;
        else if (option == OPT_CC)
            o.cc = value;
        else if (option == OPT_CPU)
            o.cpu = value;
        else if (option == OPT_TUNING && !tuning_take(t, value, &o)) {
            free(passed);
            return EXIT_USAGE;
        } else if (option == OPT_TUNING)
            continue;
        else if (option == OPT_GEMM)
            o.gemm = strcmp(value, "loops") == 0 ? GEMM_LOOPS : GEMM_AUTO;
        else if (option == OPT_NO_OVERRIDE)
            o.no_override = true;
        else if (option == OPT_NO_FUSE)
            o.no_fuse = true;
        else if (option == OPT_PROFILE)
            o.profile = true;
        else if (option == OPT_DEVICE && !session_device(value, &o.device)) {
            free(passed);
            return tool_error(t, EXIT_USAGE, "--device is cpu, cuda or auto");
        } else if (option == OPT_DEVICE)
            continue;
        else if (option == OPT_PRECISION && !precision_compile(value, &precision, &o)) {
            free(passed);
            return tool_error(t, EXIT_USAGE, "--precision is f32, f16, bf16, mixed or f64");
        } else if (option == OPT_PRECISION)
            continue;
        else {
            o.profile |= option == OPT_TRACE;
            if (option >= OPT_TRACE)
                passed[n++] = (char *)(uintptr_t)options[option].name;
            if (value)
                passed[n++] = (char *)(uintptr_t)value;
        }
    }
    Session s = {0};
    if (!model)
        status = tool_error(t, EXIT_USAGE, "a MODEL is needed (see cameo help run)");
    else if (o.profile && o.device == ON_CUDA)
        status = tool_error(t, EXIT_USAGE, "--profile times kernels of the host, not of a GPU");
    else
        status = session_open(t, model, &o, &s);
    if (!status)
        status = cameo_main_with(s.model, &s.options, &(cameo_kept){is_read, s.source}, n, passed);
    if (s.arena)
        session_close(&s);
    free(passed);
    return status;
}

const Tool tool_run = {"run", "MODEL [NAME=FILE | FILE ...] [OPTIONS]",
                       "runs a model, compiled in memory", options, run};
