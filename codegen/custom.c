// The names, declarations and calls of custom operators' functions in emitted C. All symbols bear
// the program's prefix, so that two programs link into one: sources are compiled with their
// functions' names replaced.

#include "codegen/custom.h"
#include "base/file.h"
#include "codegen/emit_c.h"

#include <string.h>

static const char *name_of(Arena *a, const char *prefix, const CustomFunction *f)
{
    return str_printf(a, "%s_custom%u_%.*s", prefix, f->source, STR_ARG(f->symbol)).at;
}

typedef VEC(const CustomFunction *) Functions;

// The functions that steps call, each once, in the order of the steps.
static void collect(const Module *mod, Arena *a, const Step *s, bool kernels, Functions *all)
{
    for (; s; s = s->next) {
        if (s->call && call_is_custom(s->call)) {
            const CustomFunction *f = custom_function_of(mod->model, a, s->node);
            bool known = !f || f->is_kernel != kernels;
            for (uint32_t i = 0; i < all->len; i++)
                known |= all->at[i]->source == f->source && str_eq(all->at[i]->symbol, f->symbol);
            if (!known)
                vec_push(a, all, f);
        }
        collect(mod, a, s->body, kernels, all);
        collect(mod, a, s->other, kernels, all);
    }
}

CustomSources custom_sources(const Module *mod, Arena *a, const char *prefix, bool on_device)
{
    Functions all = {0};
    CustomSources sources = {0};
    collect(mod, a, mod->steps, on_device, &all);
    for (uint32_t i = 0; i < all.len; i++) {
        const CustomFunction *f = all.at[i];
        uint32_t k = 0;
        while (k < sources.len && sources.at[k].source != f->source)
            k++;
        if (k == sources.len)
            vec_push(a, &sources, ((CustomSource){.path = f->path, .source = f->source}));
        vec_push(a, &sources.at[k].defines,
                 str_printf(a, "-D%.*s=%s", STR_ARG(f->symbol), name_of(a, prefix, f)).at);
    }
    return sources;
}

// A parameter's type: of the same size and kind as in the source.
static const char *type_of_param(const CustomParam *p)
{
    if (p->kind == CUSTOM_FLOAT)
        return p->dtype == DT_F32 ? "float" : "double";
    if (p->kind == CUSTOM_INPUT)
        return "const void *";
    if (p->kind == CUSTOM_OUTPUT)
        return "void *";
    const char *type = dialect_c.type[p->dtype];
    return type ? type : "int64_t";
}

void custom_declare(Printer *p)
{
    Functions all = {0};
    collect(p->mod, p->arena, p->mod->steps, false, &all);
    for (uint32_t i = 0; i < all.len; i++) {
        const CustomFunction *f = all.at[i];
        const char *name = name_of(p->arena, p->prefix, f);
        buf_printf(p->out, "/* ");
        print_comment_text(p->out, f->text);
        buf_printf(p->out, "\n * of ");
        print_comment_text(p->out, f->path);
        buf_printf(p->out, ", to be compiled with -D%.*s=%s */\n", STR_ARG(f->symbol), name);
        buf_printf(p->out, "%s %s(", f->gives_int ? "int" : "void", name);
        for (uint32_t k = 0; k < f->nparams; k++)
            buf_printf(p->out, "%s%s", k ? ", " : "", type_of_param(&f->params[k]));
        buf_printf(p->out, "%s);\n\n", f->nparams ? "" : "void");
    }
}

static void print_float(Printer *p, const Node *n, const CustomParam *param)
{
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (str_eq(n->attrs[i].name, param->name)) {
            buf_printf(p->out, "%a%s", (double)n->attrs[i].f, param->dtype == DT_F32 ? "f" : "");
            return;
        }
}

void custom_print_call(Printer *p, const Step *step, char letter)
{
    const CustomFunction *f = custom_function_of(p->mod->model, p->arena, step->node);
    const Node *n = node_at(p->mod->model, step->node);
    const Call *call = step->call;
    uint32_t in = 0, read = 0, written = 0, number = 0;
    print_line(p, "{");
    buf_printf(p->out, "%*s%s%s(", (int)p->indent * 4 + 4, "", f->gives_int ? "if (" : "",
               name_of(p->arena, p->prefix, f));
    for (uint32_t k = 0; k < f->nparams; k++) {
        const CustomParam *param = &f->params[k];
        buf_printf(p->out, "%s", k ? ", " : "");
        if (param->kind == CUSTOM_INPUT && !n->in[in++])
            buf_printf(p->out, "NULL"); // an input that is left out
        else if (param->kind == CUSTOM_INPUT)
            buf_printf(p->out, "%c%u", letter, call->reads[read++]);
        else if (param->kind == CUSTOM_OUTPUT)
            buf_printf(p->out, "%c%u", letter, call->writes[written++]);
        else if (param->kind == CUSTOM_FLOAT)
            print_float(p, n, param);
        else
            buf_printf(p->out, "(%s)(%s)", type_of_param(param),
                       print_index_bare(p, call->numbers[number++]));
    }
    if (f->gives_int) {
        buf_printf(p->out, ") != 0)\n%*sreturn cameo_fail(c, \"%%s\", ", (int)p->indent * 4 + 8,
                   "");
        Str where = location_node(p->mod->model, p->arena, step->node);
        print_c_string(p->out, str_printf(p->arena, "%.*s: %.*s failed", STR_ARG(where),
                                          STR_ARG(str_escaped(p->arena, f->symbol))));
    }
    buf_printf(p->out, ");\n");
    print_line(p, "}");
}

// ---- kernels on a device

bool custom_on_device(const Module *mod, Arena *scratch, const Step *step)
{
    const CustomFunction *f = step->call && call_is_custom(step->call)
                                  ? custom_function_of(mod->model, scratch, step->node)
                                  : NULL;
    return f && f->is_kernel;
}

static void collect_launches(const Module *mod, Arena *a, const Step *s, CustomLaunches *all)
{
    for (; s; s = s->next) {
        if (custom_on_device(mod, a, s))
            vec_push(a, all, s);
        collect_launches(mod, a, s->body, all);
        collect_launches(mod, a, s->other, all);
    }
}

CustomLaunches custom_launches(const Module *mod, Arena *a)
{
    CustomLaunches all = {0};
    collect_launches(mod, a, mod->steps, &all);
    return all;
}

const char *custom_launch_name(Printer *p, const CustomLaunches *all, uint32_t i)
{
    const CustomFunction *f = custom_function_of(p->mod->model, p->arena, all->at[i]->node);
    return str_printf(p->arena, "%s_launch%u_%.*s", p->prefix, i, STR_ARG(f->symbol)).at;
}

Index custom_launch_size(const Module *mod, const Step *step)
{
    const Buffer *y = buffer_at(mod, step->call->writes[0]);
    Index size = poly_const(mod->polys, 1);
    for (uint32_t k = 0; k < y->rank; k++)
        size = poly_mul(mod->polys, size, y->dims[k]);
    return size;
}

// "(const float *)": what the kernel takes, or what a template's type is here.
static void print_cast(Printer *p, const CustomParam *param, DType t)
{
    if (param->variable >= 0)
        buf_printf(p->out, "(%s%s *)", param->kind == CUSTOM_INPUT ? "const " : "",
                   custom_type_name(t));
    else
        buf_printf(p->out, "(%.*s)", STR_ARG(param->type));
}

// A kernel of the module that hands its arguments, in the function's order, to the function, which
// is compiled as one of the device.
static void print_launcher(Printer *p, const Step *step, const char *name)
{
    const CustomFunction *f = custom_function_of(p->mod->model, p->arena, step->node);
    const Node *n = node_at(p->mod->model, step->node);
    Buf *out = p->out, args = {0};
    uint32_t in = 0, read = 0, written = 0;
    const char *comma = "";
    buf_printf(out, "extern \"C\" __global__ void %s(", name);
    p->out = &args;
    for (uint32_t k = 0; k < f->nparams; k++) {
        const CustomParam *param = &f->params[k];
        bool reads = param->kind == CUSTOM_INPUT, writes = param->kind == CUSTOM_OUTPUT;
        bool absent = reads && !n->in[in++];
        buf_printf(&args, "%s", k ? ", " : "");
        if (param->kind == CUSTOM_FLOAT || absent) {
            if (absent)
                buf_printf(&args, "nullptr");
            else
                print_float(p, n, param);
            continue;
        }
        BufferId b = reads ? step->call->reads[read++] : writes ? step->call->writes[written++] : 0;
        buf_printf(out, "%s%s a%u", comma,
                   reads    ? "const void *"
                   : writes ? "void *"
                            : "int64_t",
                   k);
        if (b)
            print_cast(p, param, buffer_at(p->mod, b)->dtype);
        else
            buf_printf(&args, "(%s)", type_of_param(param));
        buf_printf(&args, "a%u", k);
        comma = ", ";
    }
    p->out = out;
    buf_printf(out, ")\n{\n    %.*s(%s);\n}\n\n", STR_ARG(f->symbol), args.at ? args.at : "");
    buf_free(&args);
}

static bool print_source(Printer *p, const CustomSource *source, Str *error)
{
    FileView view;
    if (!file_open(p->arena, str_copy(p->arena, source->path).at, &view, error))
        return false;
    buf_printf(p->out, "/* ---- ");
    print_comment_text(p->out, source->path);
    buf_printf(p->out, " */\n\n");
    buf_put(p->out, view.at, view.len);
    buf_printf(p->out, "\n");
    file_close(&view);
    return true;
}

bool custom_emit_kernels(Printer *p, Str *error)
{
    CustomLaunches all = custom_launches(p->mod, p->arena);
    CustomSources sources = custom_sources(p->mod, p->arena, p->prefix, true);
    bool ok = true;
    if (!all.len)
        return true;
    buf_printf(p->out, "/* Kernels of custom operators are called by kernels of this file. */\n"
                       "#pragma push_macro(\"__global__\")\n#undef __global__\n"
                       "#define __global__ __device__\n"
                       "#pragma push_macro(\"__launch_bounds__\")\n#undef __launch_bounds__\n"
                       "#define __launch_bounds__(...)\n\n");
    for (uint32_t i = 0; i < sources.len && ok; i++)
        ok = print_source(p, &sources.at[i], error);
    buf_printf(p->out, "#pragma pop_macro(\"__launch_bounds__\")\n"
                       "#pragma pop_macro(\"__global__\")\n\n");
    for (uint32_t i = 0; i < all.len && ok; i++)
        print_launcher(p, all.at[i], custom_launch_name(p, &all, i));
    return ok;
}

void custom_print_launch(Printer *p, const Step *step)
{
    CustomLaunches all = custom_launches(p->mod, p->arena);
    const CustomFunction *f = custom_function_of(p->mod->model, p->arena, step->node);
    const Node *n = node_at(p->mod->model, step->node);
    uint32_t i = 0, in = 0, read = 0, written = 0, number = 0, count = 0;
    Buf args = {0};
    while (all.at[i] != step)
        i++;
    for (uint32_t k = 0; k < f->nparams; k++) {
        const CustomParam *param = &f->params[k];
        if (param->kind == CUSTOM_FLOAT || (param->kind == CUSTOM_INPUT && !n->in[in++]))
            continue;
        buf_printf(&args, "%s", count++ ? ", " : "");
        if (param->kind == CUSTOM_SIZE)
            buf_printf(&args, "(uint64_t)(%s)", print_index_bare(p, step->call->numbers[number++]));
        else
            buf_printf(&args, "g%u",
                       param->kind == CUSTOM_INPUT ? step->call->reads[read++]
                                                   : step->call->writes[written++]);
    }
    print_line(p, "if (cameo_cuda_launch_each(c, %u, %s, %u, (const uint64_t[]){%s}) != 0)",
               p->mod->nkernels + i, print_index_bare(p, custom_launch_size(p->mod, step)), count,
               args.at ? args.at : "0");
    print_line(p, "    return -1;");
    buf_free(&args);
}
