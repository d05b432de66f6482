// The forms in which a model is written.

#include "tools/pipeline.h"
#include "base/file.h"
#include "base/json.h"
#include "codegen/kernel_pass.h"
#include "frontend/export.h"
#include "ir/lists.h"
#include "ir/kernel.h"
#include "ir/text.h"
#include "tools/carry.h"

#include <string.h>

ModelForm form_of(const char *name)
{
    static const char *const names[FORM_BAD] = {"text", "onnxtxt", "json", "dot", "onnx"};
    ModelForm f = FORM_TEXT;
    while (f < FORM_BAD && strcmp(names[f], name) != 0)
        f++;
    return f;
}

ModelForm form_by_ending(const char *path)
{
    Str s = str_of(path ? path : "");
    return str_ends(s, ".onnx")      ? FORM_BINARY
           : str_ends(s, ".onnxtxt") ? FORM_PLAIN
           : str_ends(s, ".json")    ? FORM_JSON
           : str_ends(s, ".dot")     ? FORM_DOT
                                     : FORM_TEXT;
}

bool form_print(const Tool *t, const Model *m, ModelForm form, bool types, Buf *out,
                uint32_t *dropped)
{
    Dropped lost = {0};
    Str error = STR_NONE;
    *dropped = 0;
    switch (form) {
    case FORM_DOT:
        dot_print(m, out);
        break;
    case FORM_JSON:
        json_print(m, out);
        break;
    case FORM_BINARY:
        if (!export_onnx(m, out, &error)) {
            tool_error(t, 0, "%.*s", STR_ARG(error));
            return false;
        }
        break;
    default:
        text_print(m, form == FORM_PLAIN ? TEXT_PLAIN : TEXT_CIR, types, out, &lost);
        if (m->kernels && form == FORM_TEXT)
            module_print(m->kernels, out);
        break;
    }
    for (uint32_t i = 0; i < lost.len; i++)
        fprintf(stderr, "left out: %.*s\n", STR_ARG(lost.at[i]));
    *dropped = lost.len;
    return true;
}

int output_write(const Tool *t, Arena *a, const char *path, Model *m, const Buf *out)
{
    const char *bytes = out->at ? out->at : "";
    Str error = STR_NONE;
    if (!path)
        return fwrite(bytes, 1, out->len, stdout) == out->len
                   ? EXIT_CLEAN
                   : tool_error(t, EXIT_BYTES, "cannot write to stdout");
    if (m && file_same(path, m->path))
        return tool_error(t, EXIT_USAGE, "%s is the input", path);
    const Carried beside = m ? carried_by(m, a) : (Carried){0};
    if (m && (model_reads(m, path) || carried_is(&beside, m->path, path, a)))
        return tool_error(t, EXIT_USAGE, "%s is the model's external data", path);
    if (!file_write(path, bytes, out->len, 0644, &error, a))
        return tool_error(t, EXIT_BYTES, "%.*s", STR_ARG(error));
    return EXIT_CLEAN;
}

void print_after(void *user, const char *pass, const Model *m)
{
    const PrintAfter *p = user;
    Buf out = {0};
    uint32_t dropped = 0;
    if (!p->pass || (strcmp(p->pass, "all") != 0 && strcmp(p->pass, pass) != 0))
        return;
    fprintf(stderr, "# after %s\n", pass);
    if (form_print(p->tool, m, FORM_TEXT, true, &out, &dropped))
        fwrite(out.at, 1, out.len, stderr);
    buf_free(&out);
}

bool pass_is_printable(const char *name)
{
    return strcmp(name, "all") == 0 || any_pass_find(str_of(name)) != NULL;
}

// ---- types -------------------------------------------------------------------------------------

void type_print(const Model *m, const Value *v, Buf *out)
{
    static const char *const kinds[] = {[TYPE_NONE] = "?",
                                        [TYPE_TENSOR] = "",
                                        [TYPE_SPARSE] = "sparse ",
                                        [TYPE_MAP] = "map ",
                                        [TYPE_SEQUENCE] = "sequence ",
                                        [TYPE_OPTIONAL] = "optional ",
                                        [TYPE_OPAQUE] = "opaque"};
    buf_printf(out, "%s", kinds[v->kind]);
    for (const Type *t = v->type; t && kind_is_list(t->kind); t = t->sub)
        if (t->sub && kind_is_list(t->sub->kind))
            buf_printf(out, "of %s", kinds[t->sub->kind]);
    if (kind_is_list(v->kind))
        buf_printf(out, "of ");
    else if (v->kind != TYPE_TENSOR && v->kind != TYPE_SPARSE)
        return;
    buf_printf(out, "%s[%s", dtype_info(v->dtype)->abbrev, v->rank < 0 ? "*" : "");
    for (int32_t i = 0; i < v->rank; i++) {
        buf_printf(out, "%s", i ? "," : "");
        poly_print(m->polys, v->dims[i], out);
    }
    buf_char(out, ']');
}

// ---- Graphviz ----------------------------------------------------------------------------------

static void dot_value(const Model *m, ValueId v, Buf *out)
{
    buf_printf(out, "  v%u [shape=ellipse, label=\"", v);
    buf_escaped(out, value_at(m, v)->name);
    buf_printf(out, "\"];\n");
}

// Where a value comes from: its node, or itself.
static void dot_source(const Model *m, ValueId v, Buf *out)
{
    const Value *value = value_at(m, v);
    if (value->def == DEF_NODE)
        buf_printf(out, "n%u", value->node);
    else
        buf_printf(out, "v%u", v);
}

static void dot_edge(const Model *m, ValueId v, Buf *out)
{
    Buf type = {0};
    type_print(m, value_at(m, v), &type);
    buf_printf(out, " [label=\"");
    buf_escaped(out, (Str){type.at, type.len});
    buf_printf(out, "\"];\n");
    buf_free(&type);
}

static void dot_node(const Model *m, NodeId id, Buf *out)
{
    const Node *n = node_at(m, id);
    buf_printf(out, "  n%u [shape=box, label=\"", id);
    buf_escaped(out, n->op);
    if (n->name.len) {
        buf_printf(out, "\\n");
        buf_escaped(out, n->name);
    }
    buf_printf(out, "\"];\n");
    for (uint32_t i = 0; i < n->nin; i++) {
        if (!n->in[i])
            continue;
        buf_printf(out, "  ");
        dot_source(m, n->in[i], out);
        buf_printf(out, " -> n%u", id);
        dot_edge(m, n->in[i], out);
    }
}

static void dot_graph(const Model *m, GraphId id, Buf *out)
{
    const Graph *g = graph_at(m, id);
    for (uint32_t i = 0; i < g->inputs.len; i++)
        dot_value(m, g->inputs.at[i].value, out);
    for (uint32_t i = 0; i < g->initializers.len; i++)
        if (value_at(m, g->initializers.at[i].value)->def == DEF_INITIALIZER)
            dot_value(m, g->initializers.at[i].value, out);
    for (uint32_t i = 0; i < g->nodes.len; i++)
        dot_node(m, g->nodes.at[i], out);
    for (uint32_t i = 0; i < g->outputs.len; i++) {
        ValueId v = g->outputs.at[i].value;
        buf_printf(out, "  o%u_%u [shape=ellipse, label=\"", id, i);
        buf_escaped(out, value_at(m, v)->name);
        buf_printf(out, "\"];\n  ");
        dot_source(m, v, out);
        buf_printf(out, " -> o%u_%u", id, i);
        dot_edge(m, v, out);
    }
}

void dot_print(const Model *m, Buf *out)
{
    buf_printf(out, "digraph model {\n");
    for (GraphId g = 1; g < m->graphs.len; g++) {
        bool inner = g != m->main;
        if (inner) {
            Str path = location_graph(m, m->arena, g);
            buf_printf(out, "  subgraph cluster_%u {\n  label=\"%.*s\";\n", g, STR_ARG(path));
        }
        dot_graph(m, g, out);
        buf_printf(out, "%s", inner ? "  }\n" : "");
        if (inner && graph_at(m, g)->owner)
            for (uint32_t i = 0; i < graph_at(m, g)->outputs.len; i++)
                buf_printf(out, "  o%u_%u -> n%u [style=dashed];\n", g, i, graph_at(m, g)->owner);
    }
    buf_printf(out, "}\n");
}

// ---- JSON --------------------------------------------------------------------------------------

static void json_text(Json *j, const char *key, Str s)
{
    json_key(j, key);
    json_str(j, s);
}

static void json_value(Json *j, const Model *m, ValueId id)
{
    const Value *v = value_at(m, id);
    Buf dim = {0};
    json_object(j);
    json_text(j, "name", v->name);
    json_text(j, "dtype", str_of(v->kind == TYPE_TENSOR ? dtype_name(v->dtype) : "unknown"));
    if (kind_is_list(v->kind)) { // "sequence of f32[N,8]"
        type_print(m, v, &dim);
        json_text(j, "type", (Str){dim.at, dim.len});
    }
    json_key(j, "shape");
    if (v->kind != TYPE_TENSOR || v->rank < 0) {
        json_null(j);
    } else {
        json_array(j);
        for (int32_t i = 0; i < v->rank; i++) {
            int64_t n;
            dim.len = 0;
            if (poly_is_const(v->dims[i], &n)) {
                json_int(j, n);
                continue;
            }
            poly_print(m->polys, v->dims[i], &dim);
            json_str(j, (Str){dim.at, dim.len});
        }
        json_end_array(j);
    }
    if (v->device)
        json_text(j, "device", m->devices.at[v->device]);
    json_end_object(j);
    buf_free(&dim);
}

static void json_names(Json *j, const Model *m, const char *key, const ValueId *at, uint32_t n)
{
    json_key(j, key);
    json_array(j);
    for (uint32_t i = 0; i < n; i++)
        json_str(j, at[i] ? value_at(m, at[i])->name : STR(""));
    json_end_array(j);
}

static void json_node(Json *j, const Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    json_object(j);
    json_text(j, "path", location_node(m, m->arena, id));
    json_text(j, "op", n->op);
    json_text(j, "domain", n->domain);
    json_text(j, "name", n->name);
    json_names(j, m, "inputs", n->in, n->nin);
    json_key(j, "outputs");
    json_array(j);
    for (uint32_t i = 0; i < n->nout; i++)
        if (n->out[i])
            json_value(j, m, n->out[i]);
    json_end_array(j);
    json_key(j, "attributes");
    json_array(j);
    for (uint32_t i = 0; i < n->nattrs; i++)
        json_str(j, n->attrs[i].name);
    json_end_array(j);
    if (n->reason.len)
        json_text(j, "reason", n->reason);
    json_end_object(j);
}

static void json_graph(Json *j, const Model *m, GraphId id)
{
    const Graph *g = graph_at(m, id);
    json_object(j);
    json_text(j, "path", location_graph(m, m->arena, id));
    json_text(j, "name", g->name);
    json_key(j, "inputs");
    json_array(j);
    for (uint32_t i = 0; i < g->inputs.len; i++)
        json_value(j, m, g->inputs.at[i].value);
    json_end_array(j);
    json_key(j, "initializers");
    json_array(j);
    for (uint32_t i = 0; i < g->initializers.len; i++)
        json_value(j, m, g->initializers.at[i].value);
    json_end_array(j);
    json_key(j, "nodes");
    json_array(j);
    for (uint32_t i = 0; i < g->nodes.len; i++)
        json_node(j, m, g->nodes.at[i]);
    json_end_array(j);
    json_key(j, "outputs");
    json_array(j);
    for (uint32_t i = 0; i < g->outputs.len; i++)
        json_value(j, m, g->outputs.at[i].value);
    json_end_array(j);
    json_end_object(j);
}

void json_print(const Model *m, Buf *out)
{
    Json j = {.out = out};
    json_object(&j);
    json_text(&j, "schema", STR("cameo.dump/1"));
    json_key(&j, "ir_version");
    json_int(&j, m->ir_version);
    json_key(&j, "graphs");
    json_array(&j);
    for (GraphId g = 1; g < m->graphs.len; g++)
        json_graph(&j, m, g);
    json_end_array(&j);
    json_end_object(&j);
    buf_char(out, '\n');
}
