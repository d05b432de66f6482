// cameo dump: a model as text, at any stage. cameo opt: passes by name over a model.

#include "codegen/kernel_pass.h"
#include "frontend/load.h"
#include "tools/config.h"
#include "tools/pipeline.h"

#include <string.h>

enum { DUMP_AFTER, DUMP_FORMAT, DUMP_OUT, DUMP_VALUES, DUMP_TYPES_ONLY, DUMP_STRICT };

static const ToolOption dump_options[] = {
    [DUMP_AFTER] = {"--after", "PASS", "as the compiler has it behind this pass"},
    [DUMP_FORMAT] = {"--format", "FORM", "text (default), onnxtxt, json, dot or onnx"},
    [DUMP_OUT] = {"-o", "OUT", "the file to write (default: standard output)"},
    [DUMP_VALUES] = {"--values", NULL, "infer, and print the type of every result"},
    [DUMP_TYPES_ONLY] = {"--types-only", NULL,
                         "infer, and print nothing but each value's name and type, a line each"},
    [DUMP_STRICT] = {"--strict", NULL, "exit 1 if the form cannot carry everything"},
    {0},
};

enum { OPT_PASSES, OPT_PRINT_AFTER, OPT_OUT };

static const ToolOption opt_options[] = {
    [OPT_PASSES] = {"--passes", "A,B,C", "the passes to run, in this order (default: none)"},
    [OPT_PRINT_AFTER] = {"--print-after", "PASS", "print the model after this pass, or after all"},
    [OPT_OUT] = {"-o", "OUT", "the file to write (default: standard output)"},
    {0},
};

typedef struct Work {
    const Tool *tool;
    const char *model, *after, *out, *passes, *print_after;
    ModelForm form;
    bool has_form, types, infer, strict, types_only;
    Arena *arena;
} Work;

// "name: f32[N,8] @cpu", where it stands in the model behind it.
static void put_value(const Model *m, Arena *a, ValueId v, Buf *out)
{
    const Value *value = value_at(m, v);
    buf_escaped(out, value->name);
    buf_printf(out, ": ");
    type_print(m, value, out);
    if (value->device)
        buf_printf(out, " @%.*s", STR_ARG(str_escaped(a, m->devices.at[value->device])));
    buf_printf(out, "  (%.*s)\n", STR_ARG(location_value(m, a, v)));
}

static int write_types(Work *w, Model *m)
{
    Buf out = {0};
    for (ValueId v = 1; v < m->values.len; v++) {
        const Value *value = value_at(m, v);
        bool dead = value->def == DEF_NODE && node_at(m, value->node)->dead;
        if (!dead && value->name.len)
            put_value(m, w->arena, v, &out);
    }
    int status = output_write(w->tool, w->arena, w->out, m, &out);
    buf_free(&out);
    return status;
}

static int write_result(Work *w, Model *m)
{
    if (w->types_only)
        return write_types(w, m);
    Buf out = {0};
    uint32_t dropped = 0;
    ModelForm form = w->has_form ? w->form : w->out ? form_by_ending(w->out) : FORM_TEXT;
    if (!form_print(w->tool, m, form, w->types, &out, &dropped))
        return EXIT_BYTES;
    int status = output_write(w->tool, w->arena, w->out, m, &out);
    buf_free(&out);
    return status ? status : w->strict && dropped ? EXIT_FINDINGS : EXIT_CLEAN;
}

// Runs a comma-separated list of passes, each after what it needs.
static int run_passes(Work *w, Model *m, Diags *diags, const char *list)
{
    PrintAfter print = {w->tool, w->print_after};
    PassContext c = {.diags = diags,
                     .after = print_after,
                     .user = &print,
                     .facts = m->kernels ? FACT_LOWERED : 0,
                     .kernel_passes = kernel_passes};
    for (const char *p = list; p && *p;) {
        size_t n = strcspn(p, ",");
        const Pass *pass = any_pass_find((Str){p, n});
        if (!pass)
            return tool_error(w->tool, EXIT_USAGE, "there is no pass %.*s (see cameo passes)",
                              (int)n, p);
        bool ran = w->after ? pass_pipeline_to(pass, m, &c) : pass_run_needed(pass, m, &c);
        if (!ran)
            return c.broken ? EXIT_BUG : EXIT_FINDINGS;
        p += n + (p[n] == ',');
    }
    return EXIT_CLEAN;
}

static int work(Work *w)
{
    Diags diags;
    int status = EXIT_CLEAN;
    if (!w->model)
        return tool_error(w->tool, EXIT_USAGE, "no model is given");
    w->arena = arena_new();
    diags_init(&diags, w->arena, str_of(w->model));
    Model *m = tool_load(w->tool, w->arena, w->model, &diags, &status);
    if (m) {
        uint32_t before = diags.all.len;
        const char *list = w->passes ? w->passes : w->after ? w->after : w->infer ? "infer" : NULL;
        if (list && !tool_config_of_program(w->tool, w->arena, w->model, m))
            status = EXIT_USAGE;
        else
            status = run_passes(w, m, &diags, list);
        if (diags.all.len > before)
            tool_print_diags(&diags);
        if (!status)
            status = write_result(w, m);
        load_close(m);
    }
    arena_free(w->arena);
    return status;
}

static int run_dump(const Tool *t, int argc, char **argv)
{
    Work w = {.tool = t};
    const char *value;
    Args args = args_of(t, argc, argv);
    for (int i; (i = args_next(&args, &value)) != ARG_END;) {
        if (i == ARG_HELP || i == ARG_BAD)
            return i == ARG_HELP ? EXIT_CLEAN : EXIT_USAGE;
        if (i == ARG_FILE)
            w.model = value;
        else if (i == DUMP_AFTER)
            w.after = value, w.types = true;
        else if (i == DUMP_FORMAT)
            w.form = form_of(value), w.has_form = true;
        else if (i == DUMP_OUT)
            w.out = value;
        else if (i == DUMP_VALUES)
            w.types = w.infer = true;
        else if (i == DUMP_TYPES_ONLY)
            w.types_only = w.infer = true;
        else
            w.strict = true;
        if (w.has_form && w.form == FORM_BAD)
            return tool_error(t, EXIT_USAGE, "%s is no form", value);
    }
    if (w.types_only && (w.has_form || w.strict))
        return tool_error(t, EXIT_USAGE, "--types-only is a form of its own");
    return work(&w);
}

static int run_opt(const Tool *t, int argc, char **argv)
{
    Work w = {.tool = t, .types = true};
    const char *value;
    Args args = args_of(t, argc, argv);
    for (int i; (i = args_next(&args, &value)) != ARG_END;) {
        if (i == ARG_HELP || i == ARG_BAD)
            return i == ARG_HELP ? EXIT_CLEAN : EXIT_USAGE;
        if (i == ARG_FILE)
            w.model = value;
        else if (i == OPT_PASSES)
            w.passes = value;
        else if (i == OPT_PRINT_AFTER && !pass_is_printable(value))
            return tool_error(t, EXIT_USAGE, "there is no pass %s (see cameo passes)", value);
        else if (i == OPT_PRINT_AFTER)
            w.print_after = value;
        else
            w.out = value;
    }
    return work(&w);
}

const Tool tool_dump = {"dump", "MODEL [--after PASS] [--format FORM] [-o OUT]",
                        "prints a model, at any stage", dump_options, run_dump};
const Tool tool_opt = {"opt", "MODEL --passes A,B,C [-o OUT]", "runs passes over a model",
                       opt_options, run_opt};
