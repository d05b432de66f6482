// The tables of an emitted model's API, and its weights.

#include "codegen/cpu/byte_product.h"
#include "codegen/cpu/half_product.h"
#include "codegen/cpu/pixel_conv.h"
#include "codegen/emit_c.h"
#include "codegen/libraries.h"
#include "codegen/parts.h"
#include "codegen/print_parts.h"
#include "codegen/share_outputs.h"
#include "ir/lists.h"

#include <string.h>

// Of weights that are C arrays at most; and where sanitizers are to see what lies beside each.
enum { SMALL_WEIGHTS = 64 * 1024, APART_WEIGHTS = 8 << 20 };

// ---- weights ---------------------------------------------------------------------------------

static const void *weight_elements(Module *mod, const Buffer *b, Str *error)
{
    return tensor_elements(mod->model, (TensorData *)(uintptr_t)b->data, error);
}

bool weights_fit_arrays(const Plan *plan)
{
    return plan->weights_size <= (plan->apart ? APART_WEIGHTS : SMALL_WEIGHTS);
}

static bool put_weight(Module *mod, const Buffer *b, ByteSink *out, Str *error)
{
    const int64_t size = buffer_bytes(b);
    const void *at = weight_elements(mod, b, error);
    if (!at || b->dtype != DT_STRING) {
        bool ok = at ? sink_put(out, at, (size_t)size) : !size;
        model_forget(mod->model, at, (size_t)size);
        return ok;
    }
    for (int64_t i = 0; i < size / 8; i++) {
        int64_t symbol = module_symbol(mod, ((const Str *)at)[i]);
        if (!sink_put(out, &symbol, sizeof symbol))
            return false;
    }
    return true;
}

static bool pad_to(ByteSink *out, int64_t offset)
{
    static const char zeros[CAMEO_ALIGN];
    bool ok = true;
    while (ok && (int64_t)out->put < offset) {
        int64_t left = offset - (int64_t)out->put;
        ok = sink_put(out, zeros, left < CAMEO_ALIGN ? (size_t)left : CAMEO_ALIGN);
    }
    return ok;
}

bool emit_weights(Module *mod, const Plan *plan, ByteSink *out, Str *error)
{
    *error = (Str){0};
    bool ok = true;
    for (BufferId b = 1; ok && b < mod->buffers.len; b++)
        if (plan->place[b] == PLACE_WEIGHT && !(plan->elsewhere && plan->elsewhere[b]))
            ok = pad_to(out, plan->weight_offset[b]) &&
                 put_weight(mod, buffer_at(mod, b), out, error);
    ok = ok && pad_to(out, plan->weights_end);
    if (!ok && !error->len)
        *error = STR("the weights cannot be written");
    return ok;
}

static void print_weight(Printer *p, BufferId b, const void *at, uint64_t count)
{
    const Buffer *buf = buffer_at(p->mod, b);
    uint8_t bytes = dtype_info(buf->dtype)->bytes;
    buf_printf(p->out, "/* ");
    print_comment_text(p->out, buf->name);
    buf_printf(p->out, " ");
    print_buffer_type(p, buf);
    buf_printf(p->out, " */\nstatic const %s %s_w%u[%llu] = {", type_of_value(p, buf->dtype),
               p->prefix, b, (unsigned long long)(count ? count : 1));
    for (uint64_t i = 0; i < count; i++) {
        buf_printf(p->out, i % 8 ? " " : "\n    ");
        if (buf->dtype == DT_STRING) {
            long long symbol = module_symbol(p->mod, ((const Str *)at)[i]);
            buf_printf(p->out, "%lld,", symbol);
        } else {
            Scalar v = scalar_load(buf->dtype, (const char *)at + i * bytes);
            const char *number = print_literal(p, buf->dtype, v);
            if (dtype_is_complex(buf->dtype)) // a call is no constant
                buf_printf(p->out, "{%s},", without_parentheses(p, strchr(number, '(')));
            else
                buf_printf(p->out, "%s,", number);
        }
    }
    if (!count)
        buf_printf(p->out, "0");
    buf_printf(p->out, "};\n\n");
}

bool emit_weight_arrays(Printer *p, const Plan *plan, Str *error)
{
    for (BufferId b = 1; b < p->mod->buffers.len; b++) {
        const Buffer *buf = buffer_at(p->mod, b);
        if (plan->place[b] != PLACE_WEIGHT)
            continue;
        const void *at = weight_elements(p->mod, buf, error);
        uint64_t count = buf->data->nelements;
        if (!at && count)
            return false;
        print_weight(p, b, at, count);
    }
    return true;
}

// ---- ports -----------------------------------------------------------------------------------

// The type of a list at port i, innermost part first: each part points at the one before.
static uint32_t print_list_type(Printer *p, const Value *v, const char *what, uint32_t i)
{
    static const char *const kinds[] = {[TYPE_SEQUENCE] = "CAMEO_SEQUENCE",
                                        [TYPE_OPTIONAL] = "CAMEO_OPTIONAL",
                                        [TYPE_MAP] = "CAMEO_MAP"};
    const Type *chain[64];
    uint32_t depth = 0;
    for (const Type *t = v->type; t && kind_is_list(t->kind) && depth < 64; t = t->sub)
        chain[depth++] = t;
    buf_printf(p->out, "static const int64_t %s_%s%u_items[] = {", p->prefix, what, i);
    for (int32_t k = 0; k < v->rank; k++) {
        int64_t d = -1;
        if (!poly_is_const(v->dims[k], &d))
            d = -1;
        buf_printf(p->out, "%s%lld", k ? ", " : "", (long long)d);
    }
    buf_printf(p->out, "%s};\n", v->rank > 0 ? "" : "0");
    for (uint32_t d = depth; d-- > 0;) {
        bool last = d + 1 == depth;
        buf_printf(p->out, "static const cameo_type %s_%s%u_type%u = {%s, %d, ", p->prefix, what, i,
                   d, kinds[chain[d]->kind], chain[d]->kind == TYPE_MAP ? (int)chain[d]->elem : 0);
        if (last)
            buf_printf(p->out, "NULL, ");
        else
            buf_printf(p->out, "&%s_%s%u_type%u, ", p->prefix, what, i, d + 1);
        buf_printf(p->out, "%d, %d, %s_%s%u_items};\n", (int)v->dtype, v->rank < 0 ? -1 : v->rank,
                   p->prefix, what, i);
    }
    return depth;
}

// The types of ports that are no tensors; false if all are.
static bool print_list_types(Printer *p, const BufferId *at, uint32_t n, const char *what)
{
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        const Buffer *b = buffer_at(p->mod, at[i]);
        if (b->dtype == DT_OBJECT)
            any |= print_list_type(p, value_at(p->mod->model, b->value), what, i) > 0;
    }
    if (!any)
        return false;
    buf_printf(p->out, "static const cameo_type *const %s_%s_types[] = {", p->prefix, what);
    for (uint32_t i = 0; i < n; i++)
        if (buffer_at(p->mod, at[i])->dtype == DT_OBJECT)
            buf_printf(p->out, "%s&%s_%s%u_type0", i ? ", " : "", p->prefix, what, i);
        else
            buf_printf(p->out, "%sNULL", i ? ", " : "");
    buf_printf(p->out, "};\n\n");
    return true;
}

static void print_ports(Printer *p, const BufferId *at, uint32_t n, const char *what)
{
    for (uint32_t i = 0; i < n; i++) {
        const Buffer *b = buffer_at(p->mod, at[i]);
        buf_printf(p->out, "static const int64_t %s_%s%u_dims[] = {", p->prefix, what, i);
        for (uint32_t k = 0; k < b->rank; k++) {
            int64_t d = -1;
            if (!poly_is_const(b->dims[k], &d))
                d = -1;
            buf_printf(p->out, "%s%lld", k ? ", " : "", (long long)d);
        }
        buf_printf(p->out, "%s};\nstatic const char *const %s_%s%u_names[] = {", b->rank ? "" : "0",
                   p->prefix, what, i);
        for (uint32_t k = 0; k < b->rank; k++) {
            Buf name = {0};
            if (!poly_is_const(b->dims[k], NULL))
                poly_print(p->mod->polys, b->dims[k], &name);
            buf_printf(p->out, "%s", k ? ", " : "");
            print_c_string(p->out, (Str){name.at ? name.at : "", name.len});
            buf_free(&name);
        }
        buf_printf(p->out, "%s};\n", b->rank ? "" : "\"\"");
    }
    buf_printf(p->out, "static const cameo_port %s_%s[] = {\n", p->prefix, what);
    for (uint32_t i = 0; i < n; i++) {
        const Buffer *b = buffer_at(p->mod, at[i]);
        const BufferId shared = b->kind == BUF_OUTPUT ? shared_input_of(p->mod, at[i]) : 0;
        buf_printf(p->out, "    {");
        print_c_string(p->out, b->name);
        bool list = b->dtype == DT_OBJECT;
        DType t = list ? value_at(p->mod->model, b->value)->dtype : b->dtype;
        buf_printf(p->out, ", %d, %d, %s_%s%u_dims, %s_%s%u_names, %u},\n", (int)t,
                   list ? -1 : (int)b->rank, p->prefix, what, i, p->prefix, what, i,
                   shared ? buffer_at(p->mod, shared)->port + 1 : 0);
    }
    buf_printf(p->out, "%s};\n\n", n ? "" : "    {0, 0, 0, 0, 0, 0}\n");
}

// ---- profile ---------------------------------------------------------------------------------

static void name_kernels(Printer *p, const Step *s, const char **names)
{
    for (; s; s = s->next) {
        const Kernel *k = s->kernel;
        if (k) {
            Buf b = {0};
            buf_printf(&b, "k%u %.*s", k->id, STR_ARG(k->name));
            for (uint32_t i = 0; i < k->fused.len; i++) {
                Str place = location_node(p->mod->model, p->arena, k->fused.at[i]);
                buf_printf(&b, "%s%.*s", i ? " + " : "  ", STR_ARG(place));
            }
            names[k->id] = str_copy(p->arena, (Str){b.at, b.len}).at;
            buf_free(&b);
        }
        name_kernels(p, s->body, names);
        name_kernels(p, s->other, names);
    }
}

// The names of kernels, by number; those that are no more have none.
static void print_profile(Printer *p)
{
    uint32_t n = p->mod->nkernels;
    const char **names = NEWS(p->arena, const char *, n + 1);
    name_kernels(p, p->mod->steps, names);
    buf_printf(p->out, "static const char *const %s_kernels[] = {\n", p->prefix);
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(p->out, "    ");
        print_c_string(p->out, str_of(names[i] ? names[i] : ""));
        buf_printf(p->out, ",\n");
    }
    buf_printf(p->out, "    \"\"};\n\n");
}

// ---- entry points ----------------------------------------------------------------------------

static void print_api(Printer *p, bool several)
{
    const char *x = p->prefix;
    buf_printf(p->out,
               "cameo_context *%s_create(const cameo_options *options);\n"
               "cameo_context *%s_create(const cameo_options *options)\n{\n",
               x, x);
    buf_printf(p->out,
               several ? "    const cameo_program *program = NULL;\n"
                         "    return %s_choose(&program) ? NULL : cameo_create(program, options);\n"
                       : "    return cameo_lacks() ? NULL : cameo_create(&%s_program, options);\n",
               x);
    buf_printf(p->out, "}\n\n");
    buf_printf(p->out,
               "void %s_destroy(cameo_context *context);\n"
               "void %s_destroy(cameo_context *context)\n{\n    cameo_destroy(context);\n}\n\n",
               x, x);
    buf_printf(p->out,
               "int %s_set_input(cameo_context *context, int32_t i, int32_t dtype, int32_t rank,\n"
               "    const int64_t *dims, const void *elements);\n"
               "int %s_set_input(cameo_context *context, int32_t i, int32_t dtype, int32_t rank,\n"
               "    const int64_t *dims, const void *elements)\n"
               "{\n    return cameo_set_input(context, i, dtype, rank, dims, elements);\n}\n\n",
               x, x);
    buf_printf(p->out,
               "int %s_set_output(cameo_context *context, int32_t i, void *elements,\n"
               "    int64_t bytes);\n"
               "int %s_set_output(cameo_context *context, int32_t i, void *elements,\n"
               "    int64_t bytes)\n"
               "{\n    return cameo_set_output(context, i, elements, bytes);\n}\n\n",
               x, x);
    buf_printf(p->out,
               "int %s_run(cameo_context *context);\n"
               "int %s_run(cameo_context *context)\n{\n    return cameo_run(context);\n}\n\n",
               x, x);
    buf_printf(p->out,
               "const void *%s_output(const cameo_context *context, int32_t i, int32_t *rank,\n"
               "    const int64_t **dims);\n"
               "const void *%s_output(const cameo_context *context, int32_t i, int32_t *rank,\n"
               "    const int64_t **dims)\n"
               "{\n    return cameo_output(context, i, rank, dims);\n}\n\n",
               x, x);
    buf_printf(p->out,
               "const char *%s_error(const cameo_context *context);\n"
               "const char *%s_error(const cameo_context *context)\n"
               "{\n    return cameo_error(context);\n}\n\n",
               x, x);
}

static void print_list_api(Printer *p)
{
    const char *x = p->prefix;
    buf_printf(p->out,
               "int %s_set_object(cameo_context *context, int32_t i, const cameo_object *object);\n"
               "int %s_set_object(cameo_context *context, int32_t i, const cameo_object *object)\n"
               "{\n    return cameo_set_object(context, i, object);\n}\n\n",
               x, x);
    buf_printf(p->out,
               "const cameo_object *%s_output_object(const cameo_context *context, int32_t i);\n"
               "const cameo_object *%s_output_object(const cameo_context *context, int32_t i)\n"
               "{\n    return cameo_output_object(context, i);\n}\n\n",
               x, x);
}

static void print_threads(Printer *p, const Plan *plan, const EmitOptions *o)
{
    if (parts_any(p))
        buf_printf(p->out,
                   "    .open_threads = cameo_open_threads,\n"
                   "    .close_threads = cameo_close_threads,\n"
                   "    .threads = %u,\n    .scratch = %s,\n",
                   o->threads ? o->threads : 1, plan->fixed ? parts_scratch(p) : "0");
}

static void print_pools(Printer *p)
{
    if (parts_any(p))
        buf_printf(p->out, "    .threads = cameo_count_threads,\n"
                           "    .create_pool = cameo_pool_create,\n"
                           "    .destroy_pool = cameo_pool_destroy,\n");
}

// How the model is run, without what it is called by.
static void print_program(Printer *p, const Plan *plan, const EmitOptions *o)
{
    const char *x = p->prefix;
    const bool on_device = o->image_path != NULL;
    const long long arena = !plan->fixed ? -1 : on_device ? 0 : (long long)plan->peak;
    buf_printf(p->out, "    .model = &%s_model,\n", x);
    buf_printf(p->out, "    .ndims = %u,\n", dim_count(p->mod->polys) + 1);
    buf_printf(p->out, "    .nplanned = %u,\n", plan->planned.len);
    buf_printf(p->out, plan->fixed ? "    .lives = NULL,\n" : "    .lives = %s_lives,\n", x);
    buf_printf(p->out, "    .arena = %lld,\n", arena);
    buf_printf(p->out, "    .nblocks = %u,\n", plan->blocks.len);
    if (o->weights == WEIGHTS_INCBIN || o->weights == WEIGHTS_ATTACHED)
        buf_printf(p->out, "    .weights = %s_weights,\n", x);
    buf_printf(p->out, "    .weights_size = %lld,\n", (long long)plan->weights_size);
    if (o->weights == WEIGHTS_FILE) {
        buf_printf(p->out, "    .weights_path = ");
        print_c_string(p->out, str_of(o->weights_path));
        buf_printf(p->out, ",\n");
    }
    if (o->weights_tagged)
        buf_printf(p->out, "    .weights_tag = %s_weights_tag,\n", x);
    if (o->profile)
        buf_printf(p->out, "    .nkernels = %u,\n    .kernels = %s_kernels,\n", p->mod->nkernels,
                   x);
    buf_printf(p->out, "    .bind = %s_bind,\n    .steps = %s_steps,\n", x, x);
    if (!plan->fixed)
        buf_printf(p->out, "    .plan = cameo_plan_arena,\n");
    if (half_registers_any(p->mod->steps) || splits_any(p->mod->steps) ||
        pixel_convs_kinds(p->mod->steps) || byte_products_any(p->mod->steps, false) ||
        byte_products_any(p->mod->steps, true))
        buf_printf(p->out, "    .prepare = cameo_amx_on,\n");
    print_threads(p, plan, o);
    if (on_device)
        buf_printf(p->out, "    .open = %s_open,\n    .resize_arena = cameo_cuda_arena,\n", x);
    buf_printf(p->out, "};\n\n");
}

void emit_program(Printer *p, const Plan *plan, const EmitOptions *o)
{
    const char *x = p->prefix;
    if (!plan->fixed) {
        buf_printf(p->out, "/* first and last step at which each value lives */\n");
        buf_printf(p->out, "static const int32_t %s_lives[] = {", x);
        for (uint32_t i = 0; i < plan->planned.len; i++)
            buf_printf(p->out, "%s%d, %d,", i % 8 ? " " : "\n    ", plan->lives[i].first,
                       plan->lives[i].last);
        buf_printf(p->out, "};\n\n");
    }
    if (o->profile)
        print_profile(p);
    buf_printf(p->out, "extern const cameo_model %s_model;\n\n", x);
    if (o->several) {
        buf_printf(
            p->out,
            "extern const cameo_program %s_program __attribute__((visibility(\"hidden\")));\n"
            "const char *%s_lacks(void) __attribute__((visibility(\"hidden\")));\n"
            "const char *%s_lacks(void)\n{\n    return cameo_lacks();\n}\n\n",
            x, x, x);
    }
    buf_printf(p->out, "%sconst cameo_program %s_program = {\n", o->several ? "" : "static ", x);
    print_program(p, plan, o);
}

void emit_choice(const char *x, const uint32_t *numbers, uint32_t n, Buf *out)
{
    buf_printf(out, "\n/* The programs for each processor, the best one first. */\n");
    for (uint32_t i = 0; i < n; i++)
        buf_printf(
            out,
            "extern const cameo_program %s_program_%u __attribute__((visibility(\"hidden\")));\n"
            "const char *%s_lacks_%u(void) __attribute__((visibility(\"hidden\")));\n",
            x, numbers[i], x, numbers[i]);
    buf_printf(out,
               "\nstatic const struct {\n    const cameo_program *program;\n"
               "    const char *(*lacks)(void);\n} %s_programs[] = {\n",
               x);
    for (uint32_t i = n; i-- > 0;)
        buf_printf(out, "    {&%s_program_%u, %s_lacks_%u},\n", x, numbers[i], x, numbers[i]);
    buf_printf(
        out,
        "};\n\n/* The best that the machine has the instructions of. What it lacks even for the "
        "least, or NULL. */\n"
        "static const char *%s_choose(const cameo_program **program)\n{\n"
        "    const char *lacks = NULL;\n"
        "    for (int i = 0; i < %u; i++) {\n"
        "        *program = %s_programs[i].program;\n"
        "        lacks = %s_programs[i].lacks();\n"
        "        if (!lacks)\n            return NULL;\n    }\n    return lacks;\n}\n\n"
        "static const char *%s_lacks(void)\n{\n"
        "    const cameo_program *program = NULL;\n    return %s_choose(&program);\n}\n",
        x, n, x, x, x, x);
}

void emit_api(Printer *p, const EmitOptions *o)
{
    const char *x = p->prefix;
    Module *mod = p->mod;
    const bool on_device = o->image_path != NULL;
    print_ports(p, mod->inputs.at, mod->inputs.len, "inputs");
    print_ports(p, mod->outputs.at, mod->outputs.len, "outputs");
    bool in = print_list_types(p, mod->inputs.at, mod->inputs.len, "inputs");
    bool out = print_list_types(p, mod->outputs.at, mod->outputs.len, "outputs");
    if (o->several)
        buf_printf(p->out,
                   "extern const cameo_model %s_model;\n"
                   "static const char *%s_choose(const cameo_program **program);\n"
                   "static const char *%s_lacks(void);\n\n",
                   x, x, x);
    print_api(p, o->several);
    if (in || out)
        print_list_api(p);
    const Library *needed[MAX_LIBRARIES + 1];
    libraries_of(mod, needed);
    buf_printf(p->out,
               "const cameo_model %s_model = {\n"
               "    .name = \"%s\",\n"
               "    .version = \"cameo " CAMEO_VERSION "; needs libc and libm",
               x, x);
    for (const Library **l = needed; *l; l++)
        buf_printf(p->out, ", lib%s", (*l)->name);
    buf_printf(
        p->out,
        "%s\",\n"
        "    .ninputs = %u,\n    .noutputs = %u,\n"
        "    .inputs = %s_inputs,\n    .outputs = %s_outputs,\n"
        "    .create = %s_create,\n    .destroy = %s_destroy,\n"
        "    .set_input = %s_set_input,\n    .set_output = %s_set_output,\n    .run = %s_run,\n"
        "    .output = %s_output,\n    .error = %s_error,\n%s",
        on_device ? ", and libcuda to run" : "", mod->inputs.len, mod->outputs.len, x, x, x, x, x,
        x, x, x, x,
        o->profile
            ? "    .profile = cameo_profile,\n    .event = cameo_event,\n    .peak = cameo_peak,\n"
              "    .peak_of = cameo_peak_of,\n"
            : "");
    if (o->several)
        buf_printf(p->out, "    .lacks = %s_lacks,\n", x);
    else
        buf_printf(p->out, "    .lacks = cameo_lacks,\n");
    if (in)
        buf_printf(p->out, "    .input_types = %s_inputs_types,\n", x);
    if (out)
        buf_printf(p->out, "    .output_types = %s_outputs_types,\n", x);
    if (in || out)
        buf_printf(p->out,
                   "    .set_object = %s_set_object,\n    .output_object = %s_output_object,\n", x,
                   x);
    print_pools(p);
    buf_printf(p->out, "};\n");
}
