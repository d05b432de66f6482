// cameo info: what a model is, and what it needs.

#include "codegen/compile.h"
#include "tools/config.h"
#include "tools/tool.h"

#include <string.h>

static const ToolOption options[] = {{0}};

// What a dim is called that only the running program knows, or of which no rule says anything: as
// the file declares it. NULL: the dim is known, or the file has no word for it.
static const DeclDim *declared_dim(Model *m, const ValueInfo *info, int32_t i)
{
    const Value *v = value_at(m, info->value);
    const Type *t = info->type;
    if (!t || t->kind != TYPE_TENSOR || !t->has_shape || i >= (int32_t)t->rank ||
        (v->rank >= 0 && (v->rank != (int32_t)t->rank || t->dims[i].kind != DIM_PARAM ||
                          !poly_any(v->dims[i], atom_is_not_of_inputs, m))))
        return NULL;
    return &t->dims[i];
}

static void print_dim(Model *m, const ValueInfo *info, int32_t i, Buf *line)
{
    const Value *v = value_at(m, info->value);
    const DeclDim *said = declared_dim(m, info, i);
    if (said && said->kind == DIM_PARAM)
        buf_escaped(line, said->param);
    else if (said && said->kind == DIM_VALUE)
        buf_printf(line, "%lld", (long long)said->value);
    else if (v->rank >= 0)
        poly_print(m->polys, v->dims[i], line);
    else
        buf_char(line, '?');
}

static void print_port(Model *m, const ValueInfo *info)
{
    const Value *v = value_at(m, info->value);
    Buf line = {0};
    buf_printf(&line, "  ");
    buf_escaped(&line, v->name);
    buf_printf(&line, "  %s[", dtype_name(v->dtype));
    const bool declared = v->rank < 0 && info->type && info->type->has_shape;
    const int32_t rank = declared ? (int32_t)info->type->rank : v->rank;
    for (int32_t i = 0; i < rank; i++) {
        buf_printf(&line, "%s", i ? "," : "");
        print_dim(m, info, i, &line);
    }
    buf_printf(&line, "%s]\n", rank < 0 ? "?" : "");
    fwrite(line.at, 1, line.len, stdout);
    buf_free(&line);
}

// Operators by name with their number, in order of name.
static void print_operators(const Model *m, Arena *a)
{
    typedef struct Count {
        Str op;
        uint32_t n;
    } Count;
    VEC(Count) counts = {0};
    for (NodeId n = 1; n < m->nodes.len; n++) {
        const Node *node = node_at(m, n);
        if (node->dead)
            continue;
        uint32_t i = 0;
        while (i < counts.len && str_cmp(counts.at[i].op, node->op) < 0)
            i++;
        if (i < counts.len && str_eq(counts.at[i].op, node->op)) {
            counts.at[i].n++;
            continue;
        }
        vec_push(a, &counts, ((Count){node->op, 1}));
        memmove(counts.at + i + 1, counts.at + i, (counts.len - 1 - i) * sizeof *counts.at);
        counts.at[i] = (Count){node->op, 1};
    }
    printf("operators:\n");
    for (uint32_t i = 0; i < counts.len; i++) {
        Str op = str_escaped(a, counts.at[i].op);
        printf("  %.*s %u\n", STR_ARG(op), counts.at[i].n);
    }
}

static int info(const Tool *t, const char *path)
{
    Arena *a = arena_new();
    Diags diags;
    diags_init(&diags, a, str_of(path));
    int status = EXIT_CLEAN;
    Model *m = tool_load(t, a, path, &diags, &status);
    if (m && !tool_config_of_program(t, a, path, m))
        status = EXIT_USAGE;
    if (m && !status) {
        CompileOptions o = {0};
        CompileReport report = {0};
        Module *mod = compile_to_module(m, &o, &diags, &report);
        tool_print_diags(&diags);
        const Graph *g = &m->graphs.at[m->main];
        printf("inputs:\n");
        for (uint32_t i = 0; i < g->inputs.len; i++)
            if (!value_at(m, g->inputs.at[i].value)->init)
                print_port(m, &g->inputs.at[i]);
        printf("outputs:\n");
        for (uint32_t i = 0; i < g->outputs.len; i++)
            print_port(m, &g->outputs.at[i]);
        print_operators(m, a);
        if (mod) {
            Plan *plan = plan_module(mod, CAMEO_PLAN_PATIENCE, false, a);
            printf("kernels: %u\nweights: %lld bytes\n", mod->nkernels,
                   (long long)plan->weights_size);
            if (plan->fixed)
                printf("memory: %lld bytes (no plan can need less than %lld)\n",
                       (long long)plan->peak, (long long)plan->bound);
            else
                printf("memory: planned when the sizes of inputs are known\n");
        } else {
            status = EXIT_FINDINGS;
        }
    }
    arena_free(a);
    return status;
}

static int run(const Tool *t, int argc, char **argv)
{
    Args args = args_of(t, argc, argv);
    const char *path = NULL, *value;
    for (int option; (option = args_next(&args, &value)) != ARG_END;) {
        if (option == ARG_HELP)
            return EXIT_CLEAN;
        if (option == ARG_BAD)
            return EXIT_USAGE;
        path = value;
    }
    if (!path)
        return tool_error(t, EXIT_USAGE, "a MODEL is needed (see cameo help info)");
    return info(t, path);
}

const Tool tool_info = {"info", "MODEL", "says what a model is and needs", options, run};
