// The host's side of a model on a CUDA device: one C11 file on the driver's interface. The steps
// record launches; where one decides by a value on the device, what was recorded runs first.

#include "codegen/cuda/cuda.h"
#include "codegen/custom.h"
#include "codegen/emit_parts.h"
#include "codegen/print_parts.h"

#include <string.h>

// ---- declarations ----------------------------------------------------------------------------

// The memory of a value on the host that kernels there read and write: at the same place as on the
// device.
static void declare_beside(StepPrinter *s, BufferId b)
{
    Printer *p = s->p;
    const Plan *plan = s->plan;
    uint32_t slot = plan->slot[b];
    const char *type = type_of_value(p, buffer_at(p->mod, b)->dtype);
    switch (plan->place[b]) {
    case PLACE_INPUT:
        if (!print_object_input(s, b, 'h'))
            print_line(p, "const %s *const h%u = (const %s *)c->inputs[%u].at;", type, b, type,
                       slot);
        break;
    case PLACE_WEIGHT:
        print_line(p, "const %s *const h%u = (const %s *)(c->weights + %lld);", type, b, type,
                   (long long)plan->weight_offset[b]);
        break;
    case PLACE_ARENA:
        if (plan->fixed)
            print_line(p, "%s *const h%u = (%s *)(cameo_cuda_mirror(c) + %lld);", type, b, type,
                       (long long)plan->offset[slot]);
        else
            print_line(p, "%s *const h%u = (%s *)(cameo_cuda_mirror(c) + c->offsets[%u]);", type, b,
                       type, slot);
        break;
    case PLACE_BLOCK:
        print_line(p, "%s *h%u = NULL;", type, b);
        break;
    case PLACE_NOWHERE:
        break;
    }
}

// Inputs and weights are in host memory too; of other buffers the host reads single numbers.
static void declare_on_host(StepPrinter *s, BufferId b)
{
    Printer *p = s->p;
    const char *type = type_of_value(p, buffer_at(p->mod, b)->dtype);
    switch (s->plan->place[b]) {
    case PLACE_INPUT:
        print_line(p, "const %s *const b%u = (const %s *)c->inputs[%u].at;", type, b, type,
                   s->plan->slot[b]);
        break;
    case PLACE_WEIGHT:
        print_line(p, "const %s *const b%u = (const %s *)(c->weights + %lld);", type, b, type,
                   (long long)s->plan->weight_offset[b]);
        break;
    default:
        print_line(p, "int64_t b%u[1] = {0};", b);
    }
}

static void cuda_declare(StepPrinter *s, BufferId b)
{
    Printer *p = s->p;
    const Plan *plan = s->plan;
    uint32_t slot = plan->slot[b];
    if (access_bits(&s->host.buffers, b))
        declare_on_host(s, b);
    if (access_bits(&s->beside.buffers, b))
        declare_beside(s, b);
    bool given = plan->place[b] == PLACE_INPUT || plan->place[b] == PLACE_WEIGHT;
    if (!access_bits(&s->all.buffers, b) || dtype_is_reference(buffer_at(p->mod, b)->dtype) ||
        (given && !access_bits(&s->device.buffers, b)))
        return;
    switch (plan->place[b]) {
    case PLACE_INPUT:
        print_line(p, "const uint64_t g%u = cameo_cuda_input(c, %u);", b, slot);
        break;
    case PLACE_WEIGHT:
        print_line(p, "const uint64_t g%u = cameo_cuda_of(c)->weights + %lld;", b,
                   (long long)plan->weight_offset[b]);
        break;
    case PLACE_ARENA:
        if (plan->fixed)
            print_line(p, "const uint64_t g%u = cameo_cuda_of(c)->arena + %lld;", b,
                       (long long)plan->offset[slot]);
        else
            print_line(p,
                       "const uint64_t g%u = cameo_cuda_of(c)->arena + (uint64_t)c->offsets[%u];",
                       b, slot);
        break;
    case PLACE_BLOCK:
        print_line(p, "uint64_t g%u = 0;", b);
        break;
    case PLACE_NOWHERE:
        break;
    }
}

// ---- steps -----------------------------------------------------------------------------------

static void cuda_reserve(StepPrinter *s, BufferId b)
{
    Printer *p = s->p;
    buf_printf(p->out, "%*sg%u = cameo_cuda_reserve(c, %u, ", (int)p->indent * 4, "", b,
               s->plan->slot[b]);
    print_bytes(p, b);
    buf_printf(p->out, ");\n");
    print_line(p, "if (!g%u)", b);
    print_line(p, "    return -1;");
}

static const CudaGrid *grid_of(StepPrinter *s, const Kernel *k)
{
    const CudaTarget *t = s->kernels->target;
    return &t->grids.at[k->id];
}

static Index cuda_launch_size(StepPrinter *s, const Kernel *k)
{
    return grid_of(s, k)->points;
}

static void print_crossing(StepPrinter *s, BufferId b, const char *function)
{
    Printer *p = s->p;
    buf_printf(p->out, "%*sif (%s(c, g%u, h%u, ", (int)p->indent * 4, "", function, b, b);
    print_bytes(p, b);
    buf_printf(p->out, ") != 0)\n");
    print_line(p, "    return -1;");
}

static void host_reserve(StepPrinter *s, BufferId b)
{
    Printer *p = s->p;
    buf_printf(p->out, "%*sh%u = (%s *)cameo_reserve(&c->blocks[%u], ", (int)p->indent * 4, "", b,
               type_of_value(p, buffer_at(p->mod, b)->dtype), s->plan->slot[b]);
    print_bytes(p, b);
    buf_printf(p->out, ");\n");
    print_line(p, "if (!h%u)", b);
    print_line(p, "    return cameo_fail(c, \"no memory\");");
}

// What is done on the host: what it reads is brought there, what it writes is brought back. The
// device's memory holds every value that is no reference, so that nothing else needs to know.
static void host_begin(StepPrinter *s, const KernelUses *u)
{
    Printer *p = s->p;
    print_line(p, "if (cameo_cuda_flush(c) != 0)");
    print_line(p, "    return -1;");
    for (uint32_t i = 0; i < u->buffers.len; i++) {
        BufferId b = u->buffers.at[i].id;
        Place place = s->plan->place[b];
        bool reference = dtype_is_reference(buffer_at(p->mod, b)->dtype);
        if (place == PLACE_BLOCK && u->buffers.at[i].bits & ACCESS_WRITE && !reference)
            cuda_reserve(s, b);
        if (place == PLACE_BLOCK)
            host_reserve(s, b);
        if (access_bits(&s->device.buffers, b) & ACCESS_WRITE)
            print_crossing(s, b, "cameo_cuda_pull");
    }
}

static void host_end(StepPrinter *s, const KernelUses *u)
{
    const Module *mod = s->p->mod;
    for (uint32_t i = 0; i < u->buffers.len; i++) {
        Access use = u->buffers.at[i];
        if (use.bits & ACCESS_WRITE && !dtype_is_reference(buffer_at(mod, use.id)->dtype))
            print_crossing(s, use.id, "cameo_cuda_push");
    }
}

static void cuda_objects(StepPrinter *s, const Step *step)
{
    KernelUses u = {.arena = s->p->arena};
    uses_add_call(s->p->mod, &u, step->call);
    if (custom_on_device(s->p->mod, s->p->arena, step)) {
        for (uint32_t i = 0; i < step->call->nwrites; i++)
            if (s->plan->place[step->call->writes[i]] == PLACE_BLOCK)
                cuda_reserve(s, step->call->writes[i]);
        custom_print_launch(s->p, step);
        return;
    }
    host_begin(s, &u);
    print_call_step(s, step, 'h');
    host_end(s, &u);
}

static void host_call(StepPrinter *s, const Kernel *k)
{
    Printer *p = s->p;
    KernelUses u = printer_kernel_uses(p, k);
    host_begin(s, &u);
    buf_printf(p->out, "%*s%s(", (int)p->indent * 4, "", kernel_name(p, k));
    const char *comma = "";
    for (uint32_t i = 0; i < u.buffers.len; i++, comma = ", ")
        buf_printf(p->out, "%sh%u", comma, u.buffers.at[i].id);
    for (uint32_t i = 0; i < u.dims.len; i++, comma = ", ")
        buf_printf(p->out, "%sd%u", comma, u.dims.at[i].id);
    buf_printf(p->out, ");\n");
    host_end(s, &u);
}

static void cuda_call(StepPrinter *s, const Kernel *k)
{
    Printer *p = s->p;
    if (k->on_host) {
        host_call(s, k);
        return;
    }
    KernelUses u = printer_kernel_uses(s->kernels, k);
    for (uint32_t i = 0; i < u.buffers.len; i++)
        if (u.buffers.at[i].bits & ACCESS_WRITE &&
            s->plan->place[u.buffers.at[i].id] == PLACE_BLOCK)
            cuda_reserve(s, u.buffers.at[i].id);
    Buf args = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < u.buffers.len; i++)
        buf_printf(&args, "%sg%u", n++ ? ", " : "", u.buffers.at[i].id);
    for (uint32_t i = 0; i < u.dims.len; i++)
        buf_printf(&args, "%s(uint64_t)d%u", n++ ? ", " : "", u.dims.at[i].id);
    const CudaGrid *grid = grid_of(s, k);
    const char *points = grid->points ? print_index_bare(p, grid->points) : "-1";
    const char *width = grid->parts ? str_printf(p->arena, "%u, %u", grid->least, grid->parts).at
                                    : str_printf(p->arena, "%u", grid->threads).at;
    Str launch = str_printf(
        p->arena, "cameo_cuda_launch%s(c, %u, %s, %s, %u, (const uint64_t[]){%.*s}); /* %s */",
        grid->parts ? "_slices" : "", k->id, points, width, n, n ? (int)args.len : 1,
        n ? args.at : "0", kernel_name(p, k));
    if (k->override && u.buffers.len) // a product of nothing uses none: they are not declared
        cuda_print_product(p, k, launch.at);
    else
        print_line(p, "%s", launch.at);
    buf_free(&args);
}

// What the host decides by is read first, where it is on the device.
static void cuda_before(StepPrinter *s, const Step *step)
{
    Printer *p = s->p;
    KernelUses u = {.arena = p->arena};
    uses_add_index(p->mod, &u, step->value);
    uses_add_expr(p->mod, &u, step->cond);
    for (uint32_t i = 0; i < u.buffers.len; i++) {
        BufferId b = u.buffers.at[i].id;
        Place place = s->plan->place[b];
        if (place == PLACE_INPUT || place == PLACE_WEIGHT)
            continue;
        print_line(p, "if (cameo_cuda_read(c, g%u, b%u) != 0)", b, b);
        print_line(p, "    return -1;");
    }
}

static void cuda_outputs(StepPrinter *s)
{
    Printer *p = s->p;
    for (uint32_t i = 0; i < p->mod->outputs.len; i++) {
        BufferId b = p->mod->outputs.at[i];
        bool reference = dtype_is_reference(buffer_at(p->mod, b)->dtype);
        if (reference && s->plan->place[b] == PLACE_BLOCK)
            host_reserve(s, b);
        print_object_output(s, i, 'h');
    }
    for (uint32_t i = 0; i < p->mod->outputs.len; i++) {
        BufferId b = p->mod->outputs.at[i];
        const Buffer *buf = buffer_at(p->mod, b);
        if (dtype_is_reference(buf->dtype))
            continue;
        if (s->plan->place[b] == PLACE_BLOCK)
            cuda_reserve(s, b);
        buf_printf(p->out, "    if (cameo_cuda_output(c, %u, g%u, %u, (const int64_t[]){", i, b,
                   buf->rank);
        for (uint32_t k = 0; k < buf->rank; k++)
            buf_printf(p->out, "%s%s", k ? ", " : "", print_index_bare(p, buf->dims[k]));
        buf_printf(p->out, "%s}) != 0)\n        return -1;\n", buf->rank ? "" : "0");
    }
    print_line(p, "return cameo_cuda_end(c);");
}

// ---- the file --------------------------------------------------------------------------------

static void emit_blobs(Printer *p, const Plan *plan, const EmitOptions *o)
{
    emit_blob(p, o, "image", o->image_path);
    emit_weights_symbol(p, plan, o);
}

// Kernels that are placed on the host; true: there are any, or calls.
static bool emit_beside(Printer *p, const Step *s)
{
    bool any = false;
    for (; s; s = s->next) {
        if (s->kernel && s->kernel->on_host) {
            printer_kernel(p, s->kernel);
            any = true;
        }
        any |= s->call && !custom_on_device(p->mod, p->arena, s);
        any |= emit_beside(p, s->body);
        any |= emit_beside(p, s->other);
    }
    return any;
}

static void collect_kernels(Printer *p, const Step *s, const char **names)
{
    for (; s; s = s->next) {
        if (s->kernel && !s->kernel->on_host)
            names[s->kernel->id] = kernel_name(p, s->kernel);
        collect_kernels(p, s->body, names);
        collect_kernels(p, s->other, names);
    }
}

static void emit_module(Printer *p, const Plan *plan, bool mirrored)
{
    const char *x = p->prefix;
    const char **names = NEWS(p->arena, const char *, p->mod->nkernels + 1);
    collect_kernels(p, p->mod->steps, names);
    buf_printf(p->out, "static const char *const %s_kernels[] = {\n", x);
    for (uint32_t i = 0; i < p->mod->nkernels; i++)
        buf_printf(p->out, names[i] ? "    \"%s\",\n" : "    NULL,\n", names[i]);
    CustomLaunches launches = custom_launches(p->mod, p->arena);
    for (uint32_t i = 0; i < launches.len; i++)
        buf_printf(p->out, "    \"%s\",\n", custom_launch_name(p, &launches, i));
    buf_printf(p->out, "    NULL};\n\n");
    buf_printf(p->out,
               "static const cameo_cuda_module %s_cuda = {\n    .image = %s_image,\n"
               "    .kernels = %s_kernels,\n    .nkernels = %u,\n    .arena = %lld,\n"
               "    .mirrored = %d,\n};\n\n",
               x, x, x, p->mod->nkernels + launches.len, plan->fixed ? (long long)plan->peak : -1,
               mirrored);
    buf_printf(p->out,
               "static int %s_open(cameo_context *c)\n{\n"
               "    return cameo_cuda_open(c, &%s_cuda);\n}\n\n",
               x, x);
}

void emit_cuda_host(Module *mod, const Plan *plan, const EmitOptions *o, Printer *kernels, Buf *out)
{
    const char *parts[MAX_PARTS + 1] = {"cameo_model.h",    "cameo_math.h",    "cameo_muladd.h",
                                        "cameo_plan.h",     "cameo_runtime.h", "cameo_cuda_api.h",
                                        "cameo_cublaslt.h", "cameo_cuda.h",    "cameo_machine.h"};
    static const StepTarget target = {.declare = cuda_declare,
                                      .call = cuda_call,
                                      .objects = cuda_objects,
                                      .before = cuda_before,
                                      .outputs = cuda_outputs,
                                      .launch_size = cuda_launch_size};
    Arena *scratch = arena_new();
    Buf beside = {0}; // their text says what they need
    Printer *p = printer_new(mod, &dialect_c, scratch, &beside, o->prefix);
    bool mirrored = emit_beside(p, mod->steps);
    p->out = out;
    buf_printf(out, "/* The host's side of ");
    if (o->source)
        print_comment_text(out, str_of(o->source));
    buf_printf(out, " as C11, written by cameo. Link with -ldl %s. */\n\n", o->libraries);
    emit_rounding(o, out);
    uint32_t n = 9;
    if (p->shorts || steps_call_functions(mod, mod->steps))
        parts[n++] = "cameo_vector.h";
    if (p->transposes)
        parts[n++] = "cameo_transpose.h";
    if (p->silus || p->powers || p->shorts || p->gelus)
        parts[n++] = "cameo_maker.h", parts[n++] = "cameo_silu.h";
    if (p->powers || p->shorts)
        parts[n++] = "cameo_short.h";
    if (p->powers)
        parts[n++] = "cameo_powers.h";
    if (p->gelus)
        parts[n++] = "cameo_gelu.h";
    if (p->extremes)
        parts[n++] = "cameo_extremes.h";
    emit_add_parts(mod, parts, n);
    emit_runtime(out, parts);
    emit_symbols(p);
    custom_declare(p);
    emit_blobs(p, plan, o);
    buf_put(out, beside.at ? beside.at : "", beside.len);
    buf_free(&beside);
    emit_module(p, plan, mirrored);
    Buf steps = {0};
    p->out = &steps;
    emit_steps_on(&target, p, kernels, plan, o);
    p->out = out;
    if (p->withins)
        emit_runtime(out, (const char *const[]){"cameo_within.h", NULL});
    buf_put(out, steps.at ? steps.at : "", steps.len);
    buf_free(&steps);
    emit_bind(p, plan);
    emit_program(p, plan, o);
    emit_api(p, o);
    arena_free(scratch);
}
