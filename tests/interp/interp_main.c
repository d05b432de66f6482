// Runs folders of the backend suite through the interpreter: model.onnx, tolerance.json,
// test_data_set_N/{input,output}_K.pb.
//
//   interp_main FOLDER           0: agrees, 1: not supported, 2: differs or fails, 3: too large
//   interp_main --fused FOLDER   the fused module gives the same bits as the module as lowered

#include "codegen/fuse.h"
#include "codegen/libraries.h"
#include "frontend/load.h"
#include "ir/infer.h"
#include "ir/interp.h"
#include "ir/lower.h"
#include "passes/pass.h"
#include "runtime/cameo_lists.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AGREES, REFUSED, FAILS, TOO_LARGE, MAX_PORTS = 64 };

typedef struct Case {
    const char *folder;
    double rtol, atol;
    Module *mod, *fused; // fused: NULL where expected outputs are what is compared with
    InterpTensor in[MAX_PORTS], out[MAX_PORTS];
    cameo_tensor given[MAX_PORTS];
    cameo_loaded lists[MAX_PORTS];
    const cameo_type *in_types[MAX_PORTS], *out_types[MAX_PORTS]; // NULL: tensors
} Case;

static bool read_tensor(const Case *c, uint32_t set, const char *kind, uint32_t k, cameo_tensor *t,
                        bool *exists)
{
    char path[4096], error[256];
    snprintf(path, sizeof path, "%s/test_data_set_%u/%s_%u.pb", c->folder, set, kind, k);
    size_t len;
    unsigned char *bytes = cameo_read_file(path, &len, error, sizeof error);
    *exists = bytes != NULL;
    bool ok = bytes && cameo_read_pb(bytes, len, t, error, sizeof error) == 0;
    if (bytes && !ok)
        printf("%s: %s\n", path, error);
    free(bytes);
    return ok;
}

static bool read_list(const Case *c, uint32_t set, const char *kind, uint32_t k,
                      const cameo_type *type, cameo_loaded *list, bool *exists)
{
    char path[4096], error[256];
    snprintf(path, sizeof path, "%s/test_data_set_%u/%s_%u.pb", c->folder, set, kind, k);
    size_t len;
    unsigned char *bytes = cameo_read_file(path, &len, error, sizeof error);
    *exists = bytes != NULL;
    bool ok = bytes && cameo_read_object(bytes, len, type, list, error, sizeof error) == 0;
    if (bytes && !ok)
        printf("%s: %s\n", path, error);
    free(bytes);
    return ok;
}

static bool near(const Case *c, double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= c->atol + c->rtol * fabs(b);
}

static bool tensor_agrees(const Case *c, uint32_t k, const InterpTensor *got,
                          const cameo_tensor *want)
{
    bool same = (int32_t)got->dtype == want->dtype && (int32_t)got->rank == want->rank;
    for (uint32_t i = 0; same && i < got->rank; i++)
        same = got->dims[i] == want->dims[i];
    if (!same) {
        printf("output %u: dtype or shape differs\n", k);
        return false;
    }
    const DTypeInfo *info = dtype_info(got->dtype);
    for (int64_t i = 0; i < want->count; i++) {
        const char *a = (const char *)got->elements + i * info->bytes;
        const char *b = (const char *)want->elements + i * info->bytes;
        bool equal = got->dtype == DT_STRING
                         ? cameo_compare_str(*(const cameo_str *)(const void *)a,
                                             *(const cameo_str *)(const void *)b) == 0
                     : dtype_has_nan(got->dtype)
                         ? near(c, scalar_load(got->dtype, a).f, scalar_load(got->dtype, b).f)
                         : memcmp(a, b, info->bytes) == 0;
        if (dtype_is_complex(got->dtype)) // the real parts were compared
            equal &= near(c, scalar_load(got->dtype, a).c.im, scalar_load(got->dtype, b).c.im);
        if (!equal) {
            printf("output %u: element %lld differs: %.9g, expected %.9g\n", k, (long long)i,
                   dtype_has_nan(got->dtype) ? scalar_load(got->dtype, a).f
                                             : (double)scalar_load(got->dtype, a).i,
                   dtype_has_nan(got->dtype) ? scalar_load(got->dtype, b).f
                                             : (double)scalar_load(got->dtype, b).i);
            return false;
        }
    }
    return true;
}

static InterpTensor tensor_of(const cameo_object *o)
{
    InterpTensor t = {.dtype = (DType)o->dtype,
                      .rank = (uint32_t)o->rank,
                      .elements = (void *)(uintptr_t)o->elements};
    memcpy(t.dims, o->dims, (size_t)o->rank * sizeof *t.dims);
    return t;
}

static bool list_agrees(const Case *c, uint32_t k, const cameo_object *got,
                        const cameo_object *want)
{
    if (got->kind != want->kind || (got->kind != CAMEO_TENSOR && got->count != want->count)) {
        printf("output %u: kind or number of items differs\n", k);
        return false;
    }
    if (got->kind == CAMEO_TENSOR) {
        InterpTensor t = tensor_of(got);
        cameo_tensor expected = cameo_tensor_of(want, "");
        return tensor_agrees(c, k, &t, &expected);
    }
    for (int64_t i = 0; i < got->count; i++)
        if (!list_agrees(c, k, &got->items[i], &want->items[i]))
            return false;
    return true;
}

static bool output_agrees(const Case *c, uint32_t set, uint32_t k)
{
    bool exists, same;
    if (c->out_types[k]) {
        cameo_loaded want = {.owned = NULL};
        same = read_list(c, set, "output", k, c->out_types[k], &want, &exists) &&
               list_agrees(c, k, c->out[k].elements, &want.object);
        cameo_free_object(&want);
        return same;
    }
    cameo_tensor want = {0};
    same =
        read_tensor(c, set, "output", k, &want, &exists) && tensor_agrees(c, k, &c->out[k], &want);
    cameo_tensor_free(&want);
    return same;
}

// The interpreter's inputs, which the files' tensors own.
static bool read_inputs(Case *c, uint32_t set, bool *any)
{
    uint32_t n = c->mod->inputs.len;
    *any = n == 0 && set == 0;
    for (uint32_t i = 0; i < n; i++) {
        cameo_tensor *t = &c->given[i];
        if (c->in_types[i]) {
            if (!read_list(c, set, "input", i, c->in_types[i], &c->lists[i], any))
                return false;
            c->in[i] = (InterpTensor){.dtype = DT_OBJECT, .elements = &c->lists[i].object};
            continue;
        }
        if (!read_tensor(c, set, "input", i, t, any))
            return false;
        c->in[i] = (InterpTensor){
            .dtype = (DType)t->dtype, .rank = (uint32_t)t->rank, .elements = t->elements};
        memcpy(c->in[i].dims, t->dims, (size_t)t->rank * sizeof *t->dims);
    }
    return true;
}

static bool same_bits(const InterpTensor *a, const InterpTensor *b)
{
    int64_t count = 1;
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (uint32_t i = 0; same && i < a->rank; i++) {
        same = a->dims[i] == b->dims[i];
        count *= a->dims[i];
    }
    for (int64_t i = 0; same && a->dtype == DT_STRING && i < count; i++)
        same = cameo_compare_str(((const cameo_str *)a->elements)[i],
                                 ((const cameo_str *)b->elements)[i]) == 0;
    if (same && a->dtype == DT_STRING)
        return true;
    return same && memcmp(a->elements, b->elements,
                          (size_t)count * (size_t)dtype_info(a->dtype)->bytes) == 0;
}

static bool same_lists(const cameo_object *a, const cameo_object *b)
{
    if (a->kind != b->kind || a->count != b->count)
        return false;
    if (a->kind == CAMEO_TENSOR) {
        InterpTensor x = tensor_of(a), y = tensor_of(b);
        return same_bits(&x, &y);
    }
    for (int64_t i = 0; i < a->count; i++)
        if (!same_lists(&a->items[i], &b->items[i]))
            return false;
    return true;
}

// c->out is what the module as lowered gave.
static int run_fused(Case *c, const InterpLimits *limits)
{
    Str error = STR_NONE;
    InterpTensor out[MAX_PORTS] = {0};
    int status = AGREES;
    if (!interp_run(c->fused, c->in, out, limits, &error)) {
        printf("fused: %.*s\n", STR_ARG(error));
        return str_starts(error, "more than") ? TOO_LARGE : FAILS;
    }
    for (uint32_t k = 0; k < c->mod->outputs.len; k++) {
        if (c->out_types[k] ? !same_lists(c->out[k].elements, out[k].elements)
                            : !same_bits(&c->out[k], &out[k])) {
            printf("fused: output %u differs\n", k);
            status = FAILS;
        }
        interp_free(&out[k]);
    }
    return status;
}

static int run_set(Case *c, uint32_t set, bool *any)
{
    InterpLimits limits = {.max_bytes = (uint64_t)1 << 32, .max_operations = 300000000};
    Str error = STR_NONE;
    int status = AGREES;
    if (!read_inputs(c, set, any))
        return *any || set == 0 ? FAILS : AGREES;
    if (!*any)
        return AGREES;
    if (!interp_run(c->mod, c->in, c->out, &limits, &error)) {
        printf("%.*s\n", STR_ARG(error));
        bool library = steps_call_into(c->mod->steps, "cameo_images.h"); // the interpreter has none
        status = str_starts(error, "more than") ? TOO_LARGE : library ? REFUSED : FAILS;
    }
    if (status == AGREES && c->fused)
        status = run_fused(c, &limits);
    for (uint32_t k = 0; status == AGREES && !c->fused && k < c->mod->outputs.len; k++)
        if (!output_agrees(c, set, k))
            status = FAILS;
    for (uint32_t i = 0; i < c->mod->inputs.len; i++) {
        cameo_tensor_free(&c->given[i]);
        cameo_free_object(&c->lists[i]);
    }
    for (uint32_t k = 0; k < c->mod->outputs.len; k++)
        interp_free(&c->out[k]);
    return status;
}

static bool is_sound(const Module *mod)
{
    Str fault;
    bool sound = module_verify(mod, &fault);
    if (!sound)
        printf("%.*s\n", STR_ARG(fault));
    return sound;
}

static int run_case(Case *c, Arena *a, bool fused)
{
    Diags diags;
    diags_init(&diags, a, str_of(c->folder));
    int exit_status = 0;
    json_t *tolerance = json_load_file(str_printf(a, "%s/tolerance.json", c->folder).at, 0, NULL);
    c->rtol = json_number_value(json_object_get(tolerance, "rtol"));
    c->atol = json_number_value(json_object_get(tolerance, "atol"));
    json_decref(tolerance);
    Model *m = load_model(a, str_printf(a, "%s/model.onnx", c->folder).at, &diags, &exit_status);
    PassContext passes = {.diags = &diags};
    if (m && pass_pipeline(m, &passes) && !diags.errors)
        c->mod = lower_model(m, &diags);
    int status = c->mod ? AGREES : REFUSED;
    for (uint32_t i = 0; i < diags.all.len && !c->mod; i++)
        printf("%.*s\n", STR_ARG(diags.all.at[i]->message));
    FuseReport report;
    if (c->mod && fused && (c->fused = lower_model(m, &diags)))
        fuse_module(c->fused, &fuse_target_cpu, &report);
    if ((c->mod && !is_sound(c->mod)) || (c->fused && !is_sound(c->fused)))
        status = FAILS;
    bool any = status == AGREES;
    if (any && (c->mod->inputs.len > MAX_PORTS || c->mod->outputs.len > MAX_PORTS))
        status = FAILS;
    for (uint32_t i = 0; any && status == AGREES && i < c->mod->inputs.len; i++)
        c->in_types[i] = interp_list_type(c->mod, a, c->mod->inputs.at[i]);
    for (uint32_t i = 0; any && status == AGREES && i < c->mod->outputs.len; i++)
        c->out_types[i] = interp_list_type(c->mod, a, c->mod->outputs.at[i]);
    for (uint32_t set = 0; any && status == AGREES; set++)
        status = run_set(c, set, &any);
    if (m)
        load_close(m);
    return status;
}

int main(int argc, char **argv)
{
    bool fused = argc == 3 && strcmp(argv[1], "--fused") == 0;
    if (argc != 2 + fused) {
        fprintf(stderr, "usage: interp_main [--fused] FOLDER\n");
        return 64;
    }
    Arena *a = arena_new();
    Case *c = NEW(a, Case);
    c->folder = argv[argc - 1];
    int status = run_case(c, a, fused);
    arena_free(a);
    return status;
}
