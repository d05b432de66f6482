// cameo convert-data: writes a data file as an input of a model takes it, and says which values
// changed by that.

#include "base/file.h"
#include "frontend/load.h"
#include "ir/infer.h"
#include "runtime/cameo_io.h"
#include "tools/data.h"
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>

enum { OPT_FOR, OPT_OUT };

static const ToolOption options[] = {
    {"--for", "MODEL", "the model that is to take the data"},
    {"-o", "OUT", "what to write: .npy, or .pb for a TensorProto"},
    {0},
};

typedef struct Job {
    const Tool *tool;
    Arena *arena;
    const char *file, *model, *input, *out;
    Model *m;
    DType want;
} Job;

static bool parse(Job *j, int argc, char **argv, int *status)
{
    Args args = args_of(j->tool, argc, argv);
    const char *value;
    *status = EXIT_USAGE;
    for (int i; (i = args_next(&args, &value)) != ARG_END;) {
        if (i == ARG_HELP || i == ARG_BAD) {
            *status = i == ARG_HELP ? EXIT_CLEAN : EXIT_USAGE;
            return false;
        }
        if (i == OPT_FOR)
            j->model = value;
        else if (i == OPT_OUT)
            j->out = value;
        else if (!j->file)
            j->file = value;
        else if (!j->input)
            j->input = value;
        else
            return tool_error(j->tool, false, "%s is one argument too many", value);
    }
    Str out = str_of(j->out ? j->out : "");
    if (!j->file || !j->model || !j->input || !j->out)
        tool_error(j->tool, 0, "FILE, --for MODEL, NAME and -o OUT are needed");
    else if (!str_ends(out, ".npy") && !str_ends(out, ".pb"))
        tool_error(j->tool, 0, "%s: OUT ends in .npy or .pb", j->out);
    else if (file_same(j->out, j->file) || file_same(j->out, j->model))
        tool_error(j->tool, 0, "%s is read from: it is not overwritten", j->out);
    else
        return true;
    return false;
}

// Element `i` of the result, in row-major order: where it stands in the file.
static uint64_t source_of(const DataTensor *t, const DataPlan *p, uint64_t i)
{
    int64_t at[DATA_MAX_RANK] = {0}; // of the data, with a dim of 1 in front where `expanded`
    if (p->shape != DATA_LAYOUT && !t->columns)
        return i; // dims of 1 move nothing
    if (p->shape == DATA_LAYOUT) {
        for (uint32_t k = p->rank; k-- > 0;) {
            at[p->from[k]] = (int64_t)(i % (uint64_t)p->dims[k]);
            i /= (uint64_t)p->dims[k];
        }
        memmove(at, at + p->expanded, t->rank * sizeof *at);
    } else {
        for (uint32_t k = t->rank; k-- > 0;) {
            at[k] = (int64_t)(i % (uint64_t)t->dims[k]);
            i /= (uint64_t)t->dims[k];
        }
    }
    uint64_t place = 0;
    for (uint32_t k = 0; k < t->rank; k++) {
        uint32_t axis = t->columns ? t->rank - 1 - k : k;
        place = place * (uint64_t)t->dims[axis] + (uint64_t)at[axis];
    }
    return place;
}

static int write_out(Job *j, const DataTensor *t, const DataPlan *p)
{
    size_t bytes = dtype_info(j->want)->bytes, len = 0;
    unsigned char *elements = arena_array(j->arena, t->count + 1, bytes);
    for (uint64_t i = 0; i < t->count; i++) {
        Scalar s = data_element(t, source_of(t, p, i));
        scalar_store(j->want, elements + i * bytes, scalar_cast(t->dtype, j->want, s, false));
    }
    cameo_tensor out = {.dtype = (int32_t)j->want, .rank = (int32_t)p->rank, .elements = elements};
    out.count = (int64_t)t->count;
    memcpy(out.dims, p->dims, sizeof out.dims);
    snprintf(out.name, sizeof out.name, "%s", j->input);
    unsigned char *file = str_ends(str_of(j->out), ".npy") ? cameo_format_npy(&out, &len)
                                                           : cameo_format_pb(&out, &len);
    Str error = STR("no memory");
    bool ok = file && file_write(j->out, file, len, 0644, &error, j->arena);
    free(file);
    return ok ? EXIT_CLEAN : tool_error(j->tool, EXIT_BYTES, "%.*s", STR_ARG(error));
}

// Elements whose bytes stand in the order of other machines, in that of this one.
static void turn_bytes(Job *j, DataTensor *t)
{
    const uint32_t width = dtype_info(t->turned)->bytes;
    unsigned char *to = arena_array(j->arena, t->count + 1, width);
    for (uint64_t i = 0; i < t->count; i++)
        for (uint32_t k = 0; k < width; k++)
            to[i * width + k] = t->elements[i * width + width - 1 - k];
    t->elements = to;
    t->dtype = t->turned;
}

// Why the file cannot become what the input takes; absent: it can.
static Str refusal(Job *j, const DataTensor *t, const DataPlan *p, const DataFit *f, uint32_t rank,
                   const int64_t *dims)
{
    const char *want = dtype_name(j->want);
    uint64_t lost = f->beyond + f->nans + f->cut;
    if (t->dtype == DT_NONE)
        return str_printf(j->arena, "elements of the type \"%.*s\", which no tensor has",
                          STR_ARG(str_escaped(j->arena, t->type)));
    if (t->dtype == DT_STRING && j->want == DT_STRING)
        return STR("strings are taken as they are, there is nothing to convert");
    if (!data_converts(t->dtype, j->want))
        return str_printf(j->arena, "no %s is made of %s", want, dtype_name(t->dtype));
    if (p->shape == DATA_MISFIT)
        return str_printf(j->arena, "its dims are %.*s where the input takes %.*s",
                          STR_ARG(data_shown_dims(j->arena, t->rank, t->dims)),
                          STR_ARG(data_shown_dims(j->arena, rank, dims)));
    if (lost)
        return str_printf(j->arena, "%llu of %llu values are none of %s, as %.*s at %.*s",
                          (unsigned long long)lost, (unsigned long long)f->count, want,
                          STR_ARG(data_value(j->arena, t, f->at)),
                          STR_ARG(data_place(j->arena, t, f->at)));
    return STR_NONE;
}

static void say_done(Job *j, const DataTensor *t, const DataPlan *p, const DataFit *f)
{
    printf("%s: %s %.*s", j->out, dtype_name(j->want),
           STR_ARG(data_shown_dims(j->arena, p->rank, p->dims)));
    if (t->dtype != j->want)
        printf(" from %s", dtype_name(t->dtype));
    if (t->turned)
        printf(", bytes turned from \"%.*s\"", STR_ARG(t->type));
    if (p->shape == DATA_LAYOUT)
        printf(", transposed from %s to %s", p->have + p->expanded, p->want);
    else if (p->shape != DATA_FITS)
        printf(", dims of 1 %s", p->shape == DATA_EXPANDS ? "added" : "left out");
    if (!data_changes(f))
        printf("; no value changed");
    else
        printf("; %llu of %llu values changed by rounding, the most by %.3g: %.*s at %.*s",
               (unsigned long long)f->rounded, (unsigned long long)f->count, f->worst,
               STR_ARG(data_value(j->arena, t, f->at)), STR_ARG(data_place(j->arena, t, f->at)));
    if (f->without)
        printf("; %llu of %llu NaN", (unsigned long long)f->without, (unsigned long long)f->count);
    printf("\n");
}

static int convert(Job *j, DataFiles *files)
{
    uint32_t rank = 0;
    int64_t dims[DATA_MAX_RANK];
    NodeId by;
    ValueId input = data_input(j->m, str_of(j->input));
    if (!input)
        return tool_error(j->tool, EXIT_USAGE, "%s has no input %s", j->model, j->input);
    infer_model(j->m, NULL);
    j->want = value_at(j->m, input)->dtype;
    if (j->want == DT_NONE)
        return tool_error(j->tool, EXIT_USAGE, "the dtype of input %s is not known", j->input);
    if (!data_take_file(files, j->file, input))
        return tool_error(j->tool, files->status, "%.*s", STR_ARG(files->error));
    DataTensor *t = &files->set.all.at[0];
    if (t->turned)
        turn_bytes(j, t);
    Uses uses = uses_of(j->m, j->arena);
    DataPlan p = {.rank = t->rank};
    memcpy(p.dims, t->dims, sizeof p.dims);
    if (data_dims(j->m, &uses, input, &rank, dims, &by))
        p = data_plan(t, rank, dims);
    DataFit f = {0};
    if (data_converts(t->dtype, j->want))
        f = data_fit(t, j->want);
    Str why = refusal(j, t, &p, &f, rank, dims);
    if (why.len)
        return tool_error(j->tool, EXIT_USAGE, "%s does not fit input %s: %.*s", j->file, j->input,
                          STR_ARG(why));
    int status = write_out(j, t, &p);
    if (status == EXIT_CLEAN)
        say_done(j, t, &p, &f);
    return status;
}

static int run_convert(const Tool *tool, int argc, char **argv)
{
    Job j = {.tool = tool, .arena = arena_new()};
    Diags diags;
    int status;
    if (parse(&j, argc, argv, &status)) {
        diags_init(&diags, j.arena, str_of(j.model));
        j.m = tool_load(tool, j.arena, j.model, &diags, &status);
    }
    if (j.m) {
        DataFiles files = {.arena = j.arena, .m = j.m};
        status = convert(&j, &files);
        data_close(&files);
        load_close(j.m);
    }
    arena_free(j.arena);
    return status;
}

const Tool tool_convert_data = {"convert-data", "FILE --for MODEL NAME -o OUT",
                                "writes a data file as a model's input takes it", options,
                                run_convert};
