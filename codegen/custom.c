// The names, declarations and calls of custom operators' functions in emitted C. All symbols bear
// the program's prefix, so that two programs link into one: sources are compiled with their
// functions' names replaced.

#include "codegen/custom.h"
#include "codegen/emit_c.h"

#include <string.h>

static const char *name_of(Arena *a, const char *prefix, const CustomFunction *f)
{
    return str_printf(a, "%s_custom%u_%.*s", prefix, f->source, STR_ARG(f->symbol)).at;
}

typedef VEC(const CustomFunction *) Functions;

// The functions that steps call, each once, in the order of the steps.
static void collect(const Module *mod, Arena *a, const Step *s, Functions *all)
{
    for (; s; s = s->next) {
        if (s->call && call_is_custom(s->call)) {
            const CustomFunction *f = custom_function_of(mod->model, a, s->node);
            bool known = !f;
            for (uint32_t i = 0; i < all->len; i++)
                known |= all->at[i]->source == f->source && str_eq(all->at[i]->symbol, f->symbol);
            if (!known)
                vec_push(a, all, f);
        }
        collect(mod, a, s->body, all);
        collect(mod, a, s->other, all);
    }
}

CustomSources custom_sources(const Module *mod, Arena *a, const char *prefix)
{
    Functions all = {0};
    CustomSources sources = {0};
    collect(mod, a, mod->steps, &all);
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
    collect(p->mod, p->arena, p->mod->steps, &all);
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
