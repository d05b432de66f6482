// CUDA C++ as a dialect, and the file of kernels.

#include "codegen/cuda/cuda.h"
#include "codegen/print_parts.h"

#include <string.h>

static const char *const update_name[B_COUNT] = {
    [B_ADD] = "add", [B_MUL] = "mul", [B_MIN] = "min", [B_MAX] = "max"};

// Blocks of one kernel may meet at an element, so every update is atomic.
static void cuda_update(Printer *p, const Stmt *s, const char *at, const char *value, bool parallel)
{
    (void)parallel;
    print_line(p, "cameo_atomic_%s_%s(&%s, %s);", update_name[s->op], dtype_suffix(s->value->dtype),
               at, value);
}

static void cuda_kernel_begin(Printer *p, const Kernel *k)
{
    KernelUses u = printer_kernel_uses(p, k);
    print_kernel_comment(p, k, &u);
    buf_printf(p->out, "extern \"C\" __global__ void %s(", kernel_name(p, k));
    const char *comma = "";
    for (uint32_t i = 0; i < u.buffers.len; i++, comma = ", ") {
        Access use = u.buffers.at[i];
        buf_printf(p->out, "%s%s%s *__restrict__ b%u", comma,
                   use.bits & ACCESS_WRITE ? "" : "const ",
                   type_of_value(p, buffer_at(p->mod, use.id)->dtype), use.id);
    }
    for (uint32_t i = 0; i < u.dims.len; i++, comma = ", ")
        buf_printf(p->out, "%sint64_t d%u", comma, u.dims.at[i].id);
    buf_printf(p->out, ")\n{\n");
}

static void cuda_kernel_end(Printer *p, const Kernel *k)
{
    (void)k;
    buf_printf(p->out, "}\n\n");
}

const Dialect dialect_cuda = {
    .name = "cuda",
    .type = {[DT_F32] = "float",      [DT_F64] = "double",         [DT_BOOL] = "uint8_t",
             [DT_U8] = "uint8_t",     [DT_I8] = "int8_t",          [DT_U16] = "uint16_t",
             [DT_I16] = "int16_t",    [DT_U32] = "uint32_t",       [DT_I32] = "int32_t",
             [DT_U64] = "uint64_t",   [DT_I64] = "int64_t",        [DT_F16] = "uint16_t",
             [DT_BF16] = "uint16_t",  [DT_F8E4M3FN] = "uint8_t",   [DT_F8E4M3FNUZ] = "uint8_t",
             [DT_F8E5M2] = "uint8_t", [DT_F8E5M2FNUZ] = "uint8_t", [DT_F8E8M0] = "uint8_t",
             [DT_F4E2M1] = "uint8_t", [DT_F6E2M3] = "uint8_t",     [DT_F6E3M2] = "uint8_t",
             [DT_U4] = "uint8_t",     [DT_I4] = "int8_t",          [DT_U2] = "uint8_t",
             [DT_I2] = "int8_t",      [DT_C64] = "cameo_c64",      [DT_C128] = "cameo_c128"},
    .index = "int64_t",
    .row = "static __shared__ ",
    .restrict_ = "__restrict__ ",
    .kernel_begin = cuda_kernel_begin,
    .kernel_end = cuda_kernel_end,
    .body = cuda_print_body,
    .lane = "threadIdx.x",
    .lanes = "blockDim.x",
    .slice = "threadIdx.y",
    .nslices = "blockDim.y",
    .update = cuda_update,
};

// ---- the file --------------------------------------------------------------------------------

static void emit_kernels(Printer *p, const Step *s)
{
    for (; s; s = s->next) {
        if (s->kernel && !s->kernel->on_host)
            printer_kernel(p, s->kernel);
        emit_kernels(p, s->body);
        emit_kernels(p, s->other);
    }
}

void emit_cu(Module *mod, Printer *p, const EmitOptions *o)
{
    const char *const runtime[] = {"cameo_math.h", "cameo_device.h",
                                   module_has_complex(mod) ? "cameo_complex.h" : NULL, NULL};
    buf_printf(p->out, "/* The kernels of ");
    if (o->source)
        print_comment_text(p->out, str_of(o->source));
    buf_printf(p->out,
               " as CUDA, written by cameo. */\n\n"
               "#define CAMEO_DEVICE 1\n"
               "#define CAMEO_FN static __device__ __forceinline__ __attribute__((unused))\n\n");
    emit_runtime(p->out, runtime);
    emit_kernels(p, mod->steps);
}
