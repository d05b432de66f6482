// cameo why: why a value has its dtype, its shape, its device or its range, back to where that
// began.

#include "frontend/load.h"
#include "passes/devices.h"
#include "passes/lint/lint.h"
#include "tools/calib.h"
#include "tools/config.h"
#include "tools/pipeline.h"
#include "tools/why.h"
#include "tools/why_range.h"

enum { MAX_CALLS = 64, MAX_KEPT = 64 };
enum {
    WHY_OPT_DTYPE = WHY_OF_DTYPE,
    WHY_OPT_DEVICE = WHY_OF_DEVICE,
    WHY_OPT_SHAPE = WHY_OF_SHAPE,
    WHY_OPT_RANGE,
    WHY_OPT_CALIB
};

static const ToolOption options[] = {
    [WHY_OPT_DTYPE] = {"--dtype", NULL, "why it has its dtype (default)"},
    [WHY_OPT_DEVICE] = {"--device", NULL, "why it lies where it lies"},
    [WHY_OPT_SHAPE] = {"--shape", NULL, "why it has its shape"},
    [WHY_OPT_RANGE] = {"--range", NULL, "between which bounds it lies, and what sets them"},
    [WHY_OPT_CALIB] = {"--calib", "DATA", "--range: as measured on data sets, a folder or an .npz"},
    {0},
};

static bool is_part_of_main(const Model *m, GraphId g)
{
    while (graph_at(m, g)->parent)
        g = graph_at(m, g)->parent;
    return g == m->main;
}

ValueId why_find(const Model *m, const char *name)
{
    for (int inside = 0; inside < 2; inside++) // names inside functions last, in their first call
        for (ValueId v = 1; v < m->values.len; v++) {
            const Value *value = value_at(m, v);
            bool dead = value->def == DEF_NODE && node_at(m, value->node)->dead;
            Str shown = inside ? value_shown_name(m, v) : value->name;
            if (!dead && str_is(shown, name) && is_part_of_main(m, value->graph))
                return v;
        }
    return 0;
}

static const char *reason(Model *m, const Value *v, const Why *w, int what)
{
    if (what == WHY_OPT_DEVICE)
        return v->device && v->def == DEF_NODE ? device_reason(m, v->node).at : "";
    if (v->init)
        return v->def == DEF_INPUT ? "an input with a default" : "an initializer";
    if (v->def == DEF_INPUT)
        return what == WHY_OPT_SHAPE && w->kind == WHY_SCHEMA ? "an input, whose uses fix its rank"
                                                              : "an input, as declared";
    if (v->def == DEF_NONE)
        return "nothing defines it";
    if (w->kind == WHY_DECLARED)
        return "declared so; no rule says";
    if (v->def == DEF_NODE && node_is(node_at(m, v->node), "Constant"))
        return "a Constant";
    if (w->kind == WHY_ATTRIBUTE)
        return "an attribute of the node";
    if (w->kind == WHY_SCHEMA)
        return "fixed by the schema";
    return "";
}

static void put_line(Model *m, ValueId id, int what, const char *because, Buf *line)
{
    const Value *v = value_at(m, id);
    buf_quoted(line, value_shown_name(m, id));
    buf_printf(line, " is ");
    DeviceId device = what == WHY_OPT_DEVICE ? v->device : 0;
    if (what == WHY_OPT_DEVICE)
        buf_str(line, device ? str_escaped(m->arena, m->devices.at[device])
                             : STR("wherever it is needed"));
    else
        type_print(m, v, line);
    buf_printf(line, "  (%.*s", STR_ARG(location_value(m, m->arena, id)));
    NodeId calls[MAX_CALLS];
    NodeId made = v->def == DEF_NODE ? v->node : 0;
    uint32_t count = made ? location_calls(m, made, calls, MAX_CALLS) : 0;
    // What a call gives is made further in; it belongs to the call.
    NodeId own = v->copy_of ? value_at(m, v->copy_of)->node : 0;
    for (uint32_t i = made && own && node_at(m, made)->copy_of != own; i < count; i++)
        buf_printf(line, ", called at %.*s", STR_ARG(location_node(m, m->arena, calls[i])));
    buf_char(line, ')');
    if (because[0])
        buf_printf(line, ": %s", because);
    buf_char(line, '\n');
}

// A text with a name between its first and last quotation mark, as people read it.
static Str noted_text(const Model *m, Str text)
{
    size_t first = 0, last = text.len;
    while (first < text.len && text.at[first] != '"')
        first++;
    while (last > first + 1 && text.at[last - 1] != '"')
        last--;
    if (last <= first + 1)
        return str_escaped(m->arena, text);
    Buf b = {0};
    buf_escaped(&b, (Str){text.at, first});
    buf_quoted(&b, (Str){text.at + first + 1, last - first - 2});
    buf_escaped(&b, (Str){text.at + last, text.len - last});
    Str shown = str_copy(m->arena, (Str){b.at, b.len});
    buf_free(&b);
    return shown;
}

// What cameo convert noted on the node that makes v; "": nothing.
static const char *kept(const Model *m, const Value *v)
{
    Str why = v->def == DEF_NODE ? props_get(&node_at(m, v->node)->metadata, "cameo.precision")
                                 : STR_NONE;
    return why.len ? str_printf(m->arena, "kept in %.*s", STR_ARG(noted_text(m, why))).at : "";
}

// The value that the node of v is kept for, as cameo convert noted it; 0: none.
static ValueId kept_for(const Model *m, const Value *v)
{
    Str name = props_get(&node_at(m, v->node)->metadata, "cameo.precision.of");
    return name.len ? why_find(m, str_printf(m->arena, "%.*s", STR_ARG(name)).at) : 0;
}

// Follows the edges that inference left, at most once through each value.
void why_chain(Model *m, ValueId v, int what, Buf *out)
{
    for (uint32_t steps = 0; v && steps < m->values.len; steps++) {
        const Value *value = value_at(m, v);
        const Why *w = what == WHY_OPT_SHAPE    ? &value->why_shape
                       : what == WHY_OPT_DEVICE ? &value->why_device
                                                : &value->why_dtype;
        const char *noted = what == WHY_OPT_DTYPE ? kept(m, value) : "";
        if (noted[0]) {
            put_line(m, v, what, noted, out);
            v = steps < MAX_KEPT ? kept_for(m, value) : 0;
            continue;
        }
        bool follows = (w->kind == WHY_OPERAND || w->kind == WHY_BRANCH) && w->from && w->from != v;
        put_line(m, v, what,
                 !follows                ? reason(m, value, w, what)
                 : w->kind == WHY_BRANCH ? "from the branch's"
                                         : "from operand",
                 out);
        if (!follows)
            return;
        v = w->from;
    }
}

static void print_chain(Model *m, ValueId v, int what)
{
    Buf out = {0};
    why_chain(m, v, what, &out);
    fwrite(out.at ? out.at : "", 1, out.len, stdout);
    buf_free(&out);
}

static int run_why(const Tool *t, int argc, char **argv)
{
    const char *value, *model = NULL, *name = NULL, *calib = NULL;
    int what = WHY_OPT_DTYPE, status = EXIT_CLEAN;
    Args args = args_of(t, argc, argv);
    for (int i; (i = args_next(&args, &value)) != ARG_END;) {
        if (i == ARG_HELP || i == ARG_BAD)
            return i == ARG_HELP ? EXIT_CLEAN : EXIT_USAGE;
        if (i == WHY_OPT_CALIB)
            calib = value;
        else if (i != ARG_FILE)
            what = i;
        else if (!model)
            model = value;
        else
            name = value;
    }
    if (!model || !name)
        return tool_error(t, EXIT_USAGE, "a model and the name of a value are needed");
    if (calib && what != WHY_OPT_RANGE)
        return tool_error(t, EXIT_USAGE, "--calib goes with --range");
    Arena *a = arena_new();
    Diags diags;
    diags_init(&diags, a, str_of(model));
    Config config;
    if (!tool_config(t, a, model, &config)) {
        arena_free(a);
        return EXIT_USAGE;
    }
    MeasuredSet *measured = NULL;
    status = calib ? calib_measure(t, model, calib, a, &measured) : EXIT_CLEAN;
    Model *m = status ? NULL : tool_load(t, a, model, &diags, &status);
    if (m) {
        m->config = &config;
        m->measured = measured;
        lint_prepare(m, &diags);
        ValueId v = why_find(m, name);
        if (v && what == WHY_OPT_RANGE)
            why_range(m, v);
        else if (v)
            print_chain(m, v, what);
        else
            status = tool_error(t, EXIT_USAGE, "the model has no value %s", name);
        load_close(m);
    }
    arena_free(a);
    return status;
}

const Tool tool_why = {"why", "MODEL VALUE [--dtype|--device|--shape|--range [--calib DATA]]",
                       "says why a value is what it is", options, run_why};
