// The layout of an emitted C file, and C as a dialect of the kernel printer.

#include "codegen/emit_c.h"
#include "codegen/attach.h"
#include "codegen/cpu/gemm.h"
#include "codegen/custom.h"
#include "codegen/embedded.h"
#include "codegen/emit_products.h"
#include "codegen/libraries.h"
#include "codegen/parts.h"
#include "codegen/print_parts.h"
#include "codegen/repeats.h"
#include "codegen/units.h"

#include <string.h>

// ---- text of models --------------------------------------------------------------------------

void print_comment_text(Buf *out, Str s)
{
    Buf b = {0};
    buf_escaped(&b, s);
    for (size_t i = 0; i < b.len; i++) {
        bool opens = b.at[i] == '*' && i && b.at[i - 1] == '/';
        buf_printf(out, "%s%c", opens ? " " : "", b.at[i]);
    }
    buf_free(&b);
}

void print_c_string(Buf *out, Str s)
{
    buf_char(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr(" _-./:,;()[]{}<>=+*&@#!|~^'", c));
        if (plain)
            buf_char(out, (char)c);
        else
            buf_printf(out, "\\%03o", c);
    }
    buf_char(out, '"');
}

void print_buffer_type(Printer *p, const Buffer *b)
{
    buf_printf(p->out, "%s[", dtype_name(b->dtype));
    for (uint32_t i = 0; i < b->rank; i++) {
        Buf dim = {0};
        poly_print(p->mod->polys, b->dims[i], &dim);
        buf_printf(p->out, "%s", i ? "," : "");
        print_comment_text(p->out, (Str){dim.at ? dim.at : "", dim.len});
        buf_free(&dim);
    }
    buf_printf(p->out, "]");
}

static void print_node_text(Printer *p, NodeId id)
{
    const Node *n = node_at(p->mod->model, id);
    print_comment_text(p->out, n->op);
    if (n->name.len) {
        buf_printf(p->out, " ");
        print_comment_text(p->out, n->name);
    }
}

const char *kernel_name(Printer *p, const Kernel *k)
{
    k = repeats_of(p, k);
    Str s = str_printf(p->arena, "%s_k%u_%.*s", p->prefix, k->id, STR_ARG(k->name));
    return s.at;
}

// ---- the dialect -----------------------------------------------------------------------------

void print_kernel_comment(Printer *p, const Kernel *k, const KernelUses *u)
{
    buf_printf(p->out, "/* ");
    if (k->fused.len == 0 && k->node)
        print_node_text(p, k->node);
    for (uint32_t i = 0; i < k->fused.len; i++) {
        buf_printf(p->out, "%s", i ? " + " : "");
        print_node_text(p, k->fused.at[i]);
    }
    for (uint32_t i = 0; i < u->buffers.len; i++) {
        Access use = u->buffers.at[i];
        const Buffer *buf = buffer_at(p->mod, use.id);
        buf_printf(p->out, "\n *   b%u %s ", use.id, use.bits & ACCESS_WRITE ? "=>" : "<-");
        print_buffer_type(p, buf);
        buf_printf(p->out, " ");
        print_comment_text(p->out, buf->name);
    }
    buf_printf(p->out, " */\n");
}

const char *print_restrict(const Printer *p, BufferId b)
{
    BufferId y = 0;
    const BufferId x = override_replaces(p->mod, p->kernel, &y);
    const BufferId lies = x ? buffer_at(p->mod, x)->in_place : 0;
    const bool over = x && buffer_at(p->mod, y)->in_place == (lies ? lies : x);
    return over && (b == x || b == y) ? "" : "restrict ";
}

// Kernels are not inlined. Where a buffer of one dtype takes the place of another's in the arena,
// clang 19 believes by type that stores of the one leave the other alone: of three copies in a row,
// inlined, it drops the last when it goes back to where the first one read, whatever was stored
// there meanwhile. It cannot do so across calls.
static void c_kernel_begin(Printer *p, const Kernel *k)
{
    KernelUses u = printer_kernel_uses(p, k);
    const bool shared = parts_in_kernel(p);
    print_kernel_comment(p, k, &u);
    p->text_at = p->out->len;
    buf_put(p->out, p->before.at ? p->before.at : "", p->before.len);
    buf_free(&p->before);
    p->before = (Buf){0};
    if (shared)
        parts_print(p, k, &u);
    buf_printf(p->out, "static __attribute__((noinline)) void %s(%s", kernel_name(p, k),
               repeats_mark(p, MARK_PARAMETER));
    const char *comma = "";
    for (uint32_t i = 0; i < u.buffers.len; i++, comma = ", ") {
        Access use = u.buffers.at[i];
        buf_printf(p->out, "%s%s%s *%sb%u", comma, use.bits & ACCESS_WRITE ? "" : "const ",
                   type_of_value(p, buffer_at(p->mod, use.id)->dtype), print_restrict(p, use.id),
                   use.id);
    }
    for (uint32_t i = 0; i < u.dims.len; i++, comma = ", ")
        buf_printf(p->out, "%sconst int64_t d%u", comma, u.dims.at[i].id);
    if (shared)
        buf_printf(p->out, "%sconst cameo_threads *threads", comma);
    buf_printf(p->out, "%s)\n{\n%s", *comma || shared ? "" : "void", repeats_mark(p, MARK_BODY));
    if (shared)
        parts_print_args(p, k, &u);
}

static void c_kernel_end(Printer *p, const Kernel *k)
{
    buf_printf(p->out, "}\n\n");
    if (p->parts)
        parts_end_kernel(p, k);
}

const Dialect dialect_c = {
    .name = "c",
    .type = {[DT_F32] = "float",      [DT_F64] = "double",         [DT_BOOL] = "uint8_t",
             [DT_U8] = "uint8_t",     [DT_I8] = "int8_t",          [DT_U16] = "uint16_t",
             [DT_I16] = "int16_t",    [DT_U32] = "uint32_t",       [DT_I32] = "int32_t",
             [DT_U64] = "uint64_t",   [DT_I64] = "int64_t",        [DT_F16] = "uint16_t",
             [DT_BF16] = "uint16_t",  [DT_F8E4M3FN] = "uint8_t",   [DT_F8E4M3FNUZ] = "uint8_t",
             [DT_F8E5M2] = "uint8_t", [DT_F8E5M2FNUZ] = "uint8_t", [DT_F8E8M0] = "uint8_t",
             [DT_F4E2M1] = "uint8_t", [DT_F6E2M3] = "uint8_t",     [DT_F6E3M2] = "uint8_t",
             [DT_U4] = "uint8_t",     [DT_I4] = "int8_t",          [DT_U2] = "uint8_t",
             [DT_I2] = "int8_t",      [DT_C64] = "cameo_c64",      [DT_C128] = "cameo_c128",
             [DT_STRING] = "int64_t"},
    .index = "int64_t",
    .row = "",
    .rows = true,
    .restrict_ = "restrict ",
    .kernel_begin = c_kernel_begin,
    .kernel_end = c_kernel_end,
};

// ---- the file --------------------------------------------------------------------------------

static const EmbeddedFile *embedded_find(const char *name)
{
    for (const EmbeddedFile *f = embedded_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

void emit_runtime(Buf *out, const char *const *names)
{
    for (; *names; names++) {
        const EmbeddedFile *f = embedded_find(*names);
        const char *end = f ? f->text + f->len : NULL;
        for (const char *line = f ? f->text : NULL; line && line < end;) {
            const char *next = memchr(line, '\n', (size_t)(end - line));
            next = next ? next + 1 : end;
            static const char own[] = "#include \"cameo_";
            bool skip = (size_t)(next - line) > sizeof own && !strncmp(line, own, sizeof own - 1);
            if (!skip)
                buf_put(out, line, (size_t)(next - line));
            line = next;
        }
        buf_printf(out, "\n");
    }
}

uint32_t emit_add_part(const char **parts, uint32_t n, const char *name)
{
    static const char include[] = "\n#include \"cameo_";
    const EmbeddedFile *f = NULL;
    for (const EmbeddedFile *e = embedded_files; e->name; e++)
        if (strlen(e->name) == strcspn(name, "\"\n") && !strncmp(e->name, name, strlen(e->name)))
            f = e;
    for (uint32_t k = 0; f && k < n; k++)
        if (strcmp(parts[k], f->name) == 0)
            return n;
    for (const char *at = f ? f->text : NULL; at && (at = strstr(at, include)); at++)
        n = emit_add_part(parts, n, at + strlen("\n#include \""));
    if (f && n < MAX_PARTS)
        parts[n++] = f->name;
    return n;
}

static bool any_list(const Module *mod, const BufferId *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (buffer_at(mod, at[i])->dtype == DT_OBJECT)
            return true;
    return false;
}

bool module_has_list_ports(const Module *mod)
{
    return any_list(mod, mod->inputs.at, mod->inputs.len) ||
           any_list(mod, mod->outputs.at, mod->outputs.len);
}

static bool has_pairs(const Module *mod)
{
    for (BufferId b = 1; b < mod->buffers.len; b++)
        if (buffer_at(mod, b)->dtype == DT_F64X2)
            return true;
    return false;
}

void emit_add_parts(const Module *mod, const char **parts, uint32_t n)
{
    if (module_has_complex(mod))
        n = emit_add_part(parts, n, "cameo_complex.h");
    if (has_pairs(mod))
        n = emit_add_part(parts, n, "cameo_pair_functions.h");
    if (!module_has_objects(mod))
        return;
    n = emit_add_part(parts, n, "cameo_boundary.h");
    if (module_has_list_ports(mod))
        n = emit_add_part(parts, n, "cameo_list_boundary.h");
    for (const Intrinsic *i = intrinsics; i->name; i++)
        if (steps_call_into(mod->steps, i->header))
            n = emit_add_part(parts, n, i->header);
}

bool module_has_complex(const Module *mod)
{
    for (BufferId b = 1; b < mod->buffers.len; b++)
        if (dtype_is_complex(buffer_at(mod, b)->dtype))
            return true;
    return false;
}

void emit_symbols(Printer *p)
{
    if (!module_has_objects(p->mod))
        return;
    buf_printf(p->out, "static const cameo_str %s_symbols[] = {", p->prefix);
    for (uint32_t i = 0; i < p->mod->symbols.len; i++) {
        buf_printf(p->out, i % 4 ? " {" : "\n    {");
        print_c_string(p->out, p->mod->symbols.at[i]);
        buf_printf(p->out, ", %zu},", p->mod->symbols.at[i].len);
    }
    buf_printf(p->out, "};\n\n");
}

static void emit_kernels(Printer *p, const Step *s)
{
    for (; s; s = s->next) {
        if (s->kernel) {
            const size_t from = p->out->len;
            p->marks = repeats_by_sizes(s->kernel);
            printer_kernel(p, s->kernel);
            p->marks = false;
            repeats_take(p, s->kernel, from);
        }
        emit_kernels(p, s->body);
        emit_kernels(p, s->other);
    }
}

static void emit_blas(Buf *out)
{
    static const char *const types[] = {"float", "double"};
    for (int i = 0; i < 2; i++) {
        const char *t = types[i];
        char c = *t == 'f' ? 's' : 'd';
        buf_printf(out,
                   "void cblas_%cgemm(int, int, int, int, int, int, %s, const %s *, int,\n"
                   "                 const %s *, int, %s, %s *, int);\n",
                   c, t, t, t, t, t);
        buf_printf(out,
                   "void cblas_%cgemv(int, int, int, int, %s, const %s *, int, const %s *, int,\n"
                   "                 %s, %s *, int);\n",
                   c, t, t, t, t, t);
    }
    buf_printf(out, "\n");
}

void blob_print(Buf *out, const char *x, const char *name, const char *path)
{
    buf_printf(out,
               "__asm__(\".pushsection .rodata\\n\"\n"
               "        \".balign 4096\\n\"\n"
               "        \".globl %s_%s\\n\"\n"
               "        \".hidden %s_%s\\n\"\n"
               "        \"%s_%s:\\n\"\n"
               "        \".incbin \\\"",
               x, name, x, name, x, name);
    for (const char *c = path; *c; c++)
        buf_printf(out, *c == '"' || *c == '\\' ? "\\\\\\%c" : "%c", *c);
    buf_printf(out, "\\\"\\n\"\n        \".popsection\\n\");\n");
}

static void declare_blob(Printer *p, const char *name)
{
    buf_printf(p->out,
               "extern const unsigned char %s_%s[] __attribute__((visibility(\"hidden\")));\n\n",
               p->prefix, name);
}

void emit_blob(Printer *p, const EmitOptions *o, const char *name, const char *path)
{
    blob_print(o->blobs ? o->blobs : p->out, p->prefix, name, path);
    declare_blob(p, name);
}

void emit_weights_tag(const EmitOptions *o, const unsigned char *tag, Buf *out)
{
    buf_printf(out,
               "__attribute__((visibility(\"hidden\"))) const unsigned char %s_weights_tag[] = {",
               o->prefix);
    for (size_t i = 0; i < WEIGHTS_TAG; i++)
        buf_printf(out, "%s%u", i ? ", " : "", tag[i]);
    buf_printf(out, "};\n\n");
}

void emit_weights_symbol(Printer *p, const Plan *plan, const EmitOptions *o)
{
    if (o->weights_tagged)
        declare_blob(p, "weights_tag");
    if (o->weights_tagged && !o->blobs)
        emit_weights_tag(o, o->weights_tag, p->out);
    if (o->weights != WEIGHTS_INCBIN && o->weights != WEIGHTS_ATTACHED)
        return;
    if (!o->blobs)
        emit_weights_blob(o, plan->weights_size, p->out);
    declare_blob(p, "weights");
}

void emit_weights_blob(const EmitOptions *o, int64_t size, Buf *out)
{
    if (o->weights == WEIGHTS_INCBIN)
        blob_print(out, o->prefix, "weights", o->weights_path);
    if (o->weights == WEIGHTS_ATTACHED)
        attach_print_room(out, o->prefix, "weights", size);
}

void emit_rounding(const EmitOptions *o, Buf *out)
{
    if (o->strict)
        buf_printf(out, "#define CAMEO_EACH_ROUNDS\n\n");
}

static void emit_headline(const EmitOptions *o, bool threads, Buf *out)
{
    buf_printf(out, "/* ");
    if (o->source)
        print_comment_text(out, str_of(o->source));
    buf_printf(out,
               " as C11, written by cameo. Compile with -ffp-contract=off, link with %s. */\n\n",
               o->libraries);
    if (threads) // for threads and futex
        buf_printf(out, "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n\n");
    if (o->apart)
        buf_printf(out, "#define CAMEO_APART\n\n");
    emit_rounding(o, out);
    // gcc takes half of a vector for loops on Intel's processors.
    buf_printf(out, "#if defined(__AVX512F__) && !defined(__clang__)\n"
                    "#pragma GCC target(\"prefer-vector-width=512\")\n#endif\n\n");
    if (threads)
        processors_define(out, o->rows, o->nrows);
}

// What runs once for a context, or is a call for each kernel, is compiled in half the time by -O1.
// (gcc, which inlines nothing of it elsewhere.) clang has no such words.
static void plain_begin(Buf *out)
{
    buf_printf(out, "#if defined(__OPTIMIZE__) && !defined(__clang__)\n#pragma GCC push_options\n"
                    "#pragma GCC optimize(\"O1\")\n#endif\n");
}

static void plain_end(Buf *out)
{
    buf_printf(out, "#if defined(__OPTIMIZE__) && !defined(__clang__)\n#pragma GCC pop_options\n"
                    "#endif\n\n");
}

static bool is_one_of(const char *part, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(part, *names) == 0)
            return true;
    return false;
}

// Functions that a program has once are declared where they are in a unit of their own.
static void emit_part(const EmitOptions *o, const char *part, Buf *out)
{
    static const char *const once[] = {"cameo_plan.h", "cameo_runtime.h", "cameo_pool.h",
                                       "cameo_share.h", NULL};
    Buf text = {0};
    emit_runtime(&text, (const char *const[]){part, NULL});
    if (o->beside && is_one_of(part, once))
        unit_share(out, (Str){text.at, text.len}, 0);
    else
        buf_put(out, text.at, text.len);
    buf_free(&text);
}

static void emit_parts(const EmitOptions *o, const char *const *parts, Buf *out)
{
    static const char *const plain_parts[] = {"cameo_plan.h", "cameo_runtime.h", "cameo_machine.h",
                                              "cameo_pool.h", NULL};
    for (; *parts; parts++) {
        const bool plain = is_one_of(*parts, plain_parts);
        if (plain)
            plain_begin(out);
        emit_part(o, *parts, out);
        if (plain)
            plain_end(out);
    }
}

bool emit_c(Module *mod, const Plan *plan, const EmitOptions *o, Buf *out, Str *error)
{
    const char *parts[MAX_PARTS + 1] = {"cameo_model.h", "cameo_math.h",    "cameo_muladd.h",
                                        "cameo_plan.h",  "cameo_runtime.h", "cameo_machine.h"};
    uint32_t n = 6;
    if (o->profile)
        n = emit_add_part(parts, n, "cameo_profile.h");
    Arena *scratch = arena_new();
    Buf kernels = {0}; // their text says what they need
    Printer *p = printer_new(mod, &dialect_c, scratch, &kernels, o->prefix);
    parts_new(p, plan, o->grain);
    repeats_new(p);
    emit_kernels(p, mod->steps);
    repeats_print(p);
    p->out = out;
    if (parts_any(p))
        parts[n++] = "cameo_pool.h", parts[n++] = "cameo_share.h";
    if (p->shorts || steps_call_functions(mod, mod->steps))
        parts[n++] = "cameo_vector.h";
    if (p->transposes || p->planes)
        parts[n++] = "cameo_transpose.h";
    if (p->planes)
        parts[n++] = "cameo_pixel_planes.h";
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
    if (p->half_rows)
        parts[n++] = "cameo_half_rows.h";
    if (p->look_ups)
        parts[n++] = "cameo_look_up.h";
    if (p->away)
        parts[n++] = "cameo_away.h";
    emit_add_parts(mod, parts, n);
    emit_headline(o, parts_any(p), out);
    Apart apart = {0};
    products_emit(mod, scratch, o, out, &apart);
    emit_parts(o, parts, out);
    if (p->half_heads) // which calls products
        emit_part(o, "cameo_half_heads.h", out);
    if (products_any(mod->steps, GEMM_OPENBLAS))
        emit_blas(out);
    emit_symbols(p);
    custom_declare(p);
    bool ok = o->weights != WEIGHTS_ARRAYS || emit_weight_arrays(p, plan, error);
    emit_weights_symbol(p, plan, o);
    buf_put(out, kernels.at ? kernels.at : "", kernels.len);
    buf_free(&kernels);
    Buf steps = {0}; // their text says what they need
    p->out = &steps;
    emit_steps(p, plan, o);
    p->out = out;
    if (p->withins)
        emit_part(o, "cameo_within.h", out);
    plain_begin(out);
    buf_put(out, steps.at ? steps.at : "", steps.len);
    buf_free(&steps);
    emit_bind(p, plan);
    emit_program(p, plan, o);
    plain_end(out);
    products_define(o, &apart, out);
    if (o->api) { // a unit of its own, with the same runtime
        p->out = o->api;
        emit_headline(o, parts_any(p), o->api);
        emit_parts(o, parts, o->api);
    }
    if (o->api || !o->several)
        emit_api(p, o);
    arena_free(scratch);
    return ok;
}

void emit_header(const EmitOptions *o, Buf *out)
{
    const char *const runtime[] = {"cameo_model.h", o->has_lists ? "cameo_object.h" : NULL, NULL};
    const char *x = o->prefix;
    buf_printf(out,
               "/* The C API of %s. All of it is reached through %s_model too. Link with %s. */\n",
               x, x, o->libraries);
    buf_printf(out, "#ifndef CAMEO_HEADER_%s\n#define CAMEO_HEADER_%s\n\n", x, x);
    emit_runtime(out, runtime);
    buf_printf(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    buf_printf(out, "extern const cameo_model %s_model;\n", x);
    buf_printf(out, "cameo_context *%s_create(const cameo_options *options);\n", x);
    buf_printf(out, "void %s_destroy(cameo_context *context);\n", x);
    buf_printf(out,
               "int %s_set_input(cameo_context *context, int32_t i, int32_t dtype, int32_t rank,\n"
               "    const int64_t *dims, const void *elements);\n",
               x);
    buf_printf(out,
               "int %s_set_output(cameo_context *context, int32_t i, void *elements,\n"
               "    int64_t bytes);\n",
               x);
    buf_printf(out, "int %s_run(cameo_context *context);\n", x);
    buf_printf(out,
               "const void *%s_output(const cameo_context *context, int32_t i, int32_t *rank,\n"
               "    const int64_t **dims);\n",
               x);
    if (o->has_lists)
        buf_printf(
            out,
            "int %s_set_object(cameo_context *context, int32_t i, const cameo_object *object);\n"
            "const cameo_object *%s_output_object(const cameo_context *context, int32_t i);\n",
            x, x);
    buf_printf(out, "const char *%s_error(const cameo_context *context);\n\n", x);
    buf_printf(out, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
