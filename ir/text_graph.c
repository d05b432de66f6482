// Printing nodes, graphs, functions and models as text.

#include "ir/text_print.h"

#include <inttypes.h>
#include <string.h>

// ---- nodes and graphs

uint32_t node_natural_has(const Node *n)
{
    return NODE_HAS_OP | (n->name.len ? NODE_HAS_NAME : 0) | (n->domain.len ? NODE_HAS_DOMAIN : 0) |
           (n->overload.len ? NODE_HAS_OVERLOAD : 0) | (n->doc.at ? NODE_HAS_DOC : 0);
}

static void newline(Text *t)
{
    buf_printf(t->out, "\n%*s", t->depth * 3, "");
}

static void print_values(Text *t, const ValueId *at, uint32_t n, bool results)
{
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(t->out, "%s", i ? ", " : "");
        text_value(t, at[i]);
        if (results && at[i])
            text_inferred(t, at[i]);
    }
}

static void print_op(Text *t, const Node *n)
{
    Str domain = n->domain, op = n->op, overload = n->overload;
    if (t->form == TEXT_PLAIN) {
        if ((domain.len && !plain_dotted(domain)) || !plain_word(op) ||
            (overload.len && !plain_word(overload)))
            text_drop(t, "the odd name of the operator");
        domain = domain.len && !plain_dotted(domain) ? plain_renamed(t, domain, true) : domain;
        op = plain_word(op) ? op : plain_renamed(t, op, false);
        overload = overload.len ? plain_renamed(t, overload, false) : overload;
    }
    if (domain.len) {
        buf_str(t->out, domain);
        buf_char(t->out, '.');
    }
    if (t->form == TEXT_PLAIN)
        buf_str(t->out, op);
    else
        text_name(t, op);
    if (overload.len) {
        buf_char(t->out, ':');
        text_name(t, overload);
    }
}

static bool is_dotted(Str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '_' && c != '.' &&
            !(i && c >= '0' && c <= '9'))
            return false;
    }
    return true;
}

static void print_node_ext(Text *t, const Node *n, bool odd_name)
{
    Ext e = {0};
    if (odd_name && t->form == TEXT_CIR) {
        ext_str(t, &e, "domain", n->domain, n->domain.at);
        ext_str(t, &e, "overload", n->overload, n->overload.at);
    }
    ext_str(t, &e, "doc_string", n->doc, n->doc.at);
    ext_props(t, &e, "metadata_props", &n->metadata);
    ext_devices(t, &e, n);
    if (t->types && n->device)
        ext_str(t, &e, "device", t->m->devices.at[n->device], true);
    ext_str(t, &e, "reason", n->reason, n->reason.at && t->form == TEXT_CIR);
    if (t->form == TEXT_CIR)
        ext_int(t, &e, "moved", n->moved, 0);
    ext_int(t, &e, "has", n->has, node_natural_has(n));
    ext_bytes(t, &e, "unknown", n->unknown);
    ext_end(t, &e);
}

// Can the form say it? Else it is named.
static bool attr_stays(Text *t, const Attr *a)
{
    if (t->form == TEXT_CIR || plain_attr(a, attr_content(a)))
        return true;
    Str name = str_escaped(t->m->arena, a->name);
    text_drop(t, str_printf(t->m->arena, "attribute \"%.*s\"", STR_ARG(name)).at);
    return false;
}

static void print_node(Text *t, NodeId id)
{
    const Node *n = node_at(t->m, id);
    t->node = id;
    newline(t);
    if (n->name.len) {
        buf_char(t->out, '[');
        text_name(t, n->name);
        buf_printf(t->out, "] ");
    }
    print_values(t, n->out, n->nout, true);
    buf_printf(t->out, " = ");
    bool odd_name = !is_dotted(n->domain) || !is_dotted(n->op) || n->op.len == 0;
    if (odd_name && t->form == TEXT_CIR)
        text_quoted(t, n->op);
    else
        print_op(t, n);
    uint32_t nattrs = 0;
    for (uint32_t i = 0; i < n->nattrs; i++) {
        if (!attr_stays(t, &n->attrs[i]))
            continue;
        buf_printf(t->out, "%s", nattrs++ ? ", " : " <");
        text_attr(t, &n->attrs[i]);
        t->node = id;
    }
    buf_printf(t->out, "%s(", nattrs ? "> " : " ");
    print_values(t, n->in, n->nin, false);
    buf_char(t->out, ')');
    print_node_ext(t, n, odd_name);
}

static void print_info(Text *t, const ValueInfo *v)
{
    Ext e = {0};
    Str outer = t->where;
    if (t->form == TEXT_PLAIN)
        t->where = location_value(t->m, t->m->arena, v->value);
    if (v->type && t->form == TEXT_PLAIN && !plain_type(v->type)) {
        text_drop(t, "the type");
    } else if (v->type) {
        text_type(t, v->type);
        buf_char(t->out, ' ');
    }
    text_value(t, v->value);
    ext_str(t, &e, "doc_string", v->doc, v->doc.at);
    ext_props(t, &e, "metadata_props", &v->metadata);
    ext_int(t, &e, "has", v->has, 1 | (v->doc.at ? 2 : 0));
    ext_bytes(t, &e, "unknown", v->unknown);
    ext_end(t, &e);
    t->where = outer;
}

static void print_infos(Text *t, const ValueInfo *at, uint32_t n)
{
    buf_char(t->out, '(');
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(t->out, "%s", i ? ", " : "");
        print_info(t, &at[i]);
    }
    buf_char(t->out, ')');
}

static void print_initializer(Text *t, const TensorData *d)
{
    text_tensor_type(t, d);
    if (!d->name.at && t->form == TEXT_CIR)
        buf_printf(t->out, " _");
    text_tensor(t, d, false);
}

// Begins an entry of "< ... >", the first with the bracket.
static void open_entry(Text *t, uint32_t *n)
{
    if (*n == 0) {
        newline(t);
        buf_char(t->out, '<');
        t->depth++;
    } else {
        buf_char(t->out, ',');
    }
    newline(t);
    ++*n;
}

static void print_initializers(Text *t, const Graph *g, uint32_t *n)
{
    Str outer = t->where;
    for (uint32_t i = 0; i < g->initializers.len; i++) {
        const TensorData *d = g->initializers.at[i].data;
        if (t->form == TEXT_PLAIN)
            t->where = location_value(t->m, t->m->arena, g->initializers.at[i].value);
        if (t->form == TEXT_PLAIN && (!plain_tensor(d) || d->name.len == 0)) {
            text_drop(t, "the tensor");
            continue;
        }
        open_entry(t, n);
        print_initializer(t, d);
    }
    t->where = outer;
}

static void print_constants(Text *t, const Graph *g)
{
    uint32_t n = 0;
    bool cir = t->form == TEXT_CIR;
    print_initializers(t, g, &n);
    for (uint32_t i = 0; i < g->sparse.len; i++) {
        if (!cir) {
            text_drop(t, "a sparse initializer");
            continue;
        }
        open_entry(t, &n);
        text_sparse(t, g->sparse.at[i].data);
    }
    for (uint32_t i = 0; i < g->infos.len; i++) {
        if (!cir && (!g->infos.at[i].type || !plain_type(g->infos.at[i].type))) {
            text_drop(t, "a value_info");
            continue;
        }
        open_entry(t, &n);
        print_info(t, &g->infos.at[i]);
    }
    if (n == 0)
        return;
    t->depth--;
    newline(t);
    buf_char(t->out, '>');
}

static void print_graph_ext(Text *t, const Graph *g)
{
    Ext e = {0};
    ext_str(t, &e, "doc_string", g->doc, g->doc.at);
    ext_props(t, &e, "metadata_props", &g->metadata);
    for (uint32_t i = 0; i < g->quantization.len; i++) {
        const Quantization *q = &g->quantization.at[i];
        if (t->form == TEXT_PLAIN) {
            text_drop(t, "quantization_annotation");
            break;
        }
        Ext inner = {.open = true};
        ext_key(t, &e, "quantization");
        buf_printf(t->out, "{params: ");
        text_props(t, &q->params);
        if (q->has_tensor)
            ext_str(t, &inner, "tensor", q->tensor, true);
        ext_bytes(t, &inner, "unknown", q->unknown);
        buf_char(t->out, '}');
    }
    ext_int(t, &e, "has", g->has, 1 | (g->doc.at ? 2 : 0));
    ext_bytes(t, &e, "unknown", g->unknown);
    ext_end(t, &e);
}

static void print_body(Text *t, const Graph *g)
{
    print_constants(t, g);
    print_graph_ext(t, g);
    buf_printf(t->out, " {");
    t->depth++;
    for (uint32_t i = 0; i < g->nodes.len; i++)
        print_node(t, g->nodes.at[i]);
    t->node = 0;
    t->depth--;
    newline(t);
    buf_char(t->out, '}');
}

// In an attribute of the plain form the name must be a word, and no word of types.
static void print_graph_name(Text *t, Str name)
{
    bool attribute = t->node != 0;
    if (t->form == TEXT_PLAIN && name.len == 0)
        text_drop(t, "the empty name of a graph");
    if (t->form == TEXT_PLAIN && attribute && name.len) {
        Buf quoted = {0};
        Text probe = {.m = t->m, .out = &quoted, .form = TEXT_CIR};
        text_name(&probe, name);
        if (quoted.len && quoted.at[0] == '"') {
            text_drop(t, "the odd name of a graph");
            name = plain_renamed(t, name, false);
            name = dtype_of(name) || plain_word(name)
                       ? str_printf(t->m->arena, "%.*s_", STR_ARG(name))
                       : name;
        }
        buf_free(&quoted);
    }
    text_name(t, name.len ? name : STR("_"));
}

void text_graph(Text *t, GraphId id)
{
    const Graph *g = graph_at(t->m, id);
    Str outer = t->where;
    if (t->form == TEXT_PLAIN)
        t->where = location_graph(t->m, t->m->arena, id);
    print_graph_name(t, g->name);
    buf_char(t->out, ' ');
    print_infos(t, g->inputs.at, g->inputs.len);
    buf_printf(t->out, " => ");
    print_infos(t, g->outputs.at, g->outputs.len);
    print_body(t, g);
    t->where = outer;
}

// ---- functions and models

uint32_t function_natural_has(const Function *f)
{
    return 1 | 2 | (f->overload.len ? 4 : 0) | (f->doc.at ? 8 : 0);
}

uint32_t model_natural_has(const Model *m)
{
    return 1 | 64 | (m->producer_name.at ? 2 : 0) | (m->producer_version.at ? 4 : 0) |
           (m->domain.at ? 8 : 0) | (m->model_version ? 16 : 0) | (m->doc.at ? 32 : 0);
}

static void print_opsets(Text *t, const OpsetImport *at, uint32_t n)
{
    buf_printf(t->out, "opset_import: [");
    for (uint32_t i = 0; i < n; i++) {
        Ext e = {0};
        buf_printf(t->out, "%s", i ? ", " : "");
        text_quoted(t, at[i].domain);
        buf_printf(t->out, " : %" PRId64, at[i].version);
        ext_int(t, &e, "has", at[i].has, 3);
        ext_bytes(t, &e, "unknown", at[i].unknown);
        ext_end(t, &e);
    }
    buf_char(t->out, ']');
}

static void print_names(Text *t, const ValueInfo *at, uint32_t n)
{
    buf_char(t->out, '(');
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(t->out, "%s", i ? ", " : "");
        text_value(t, at[i].value);
    }
    buf_char(t->out, ')');
}

static void print_function_attributes(Text *t, const Function *f)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->nattributes; i++) {
        if (t->form == TEXT_PLAIN && !plain_word(f->attributes[i])) {
            text_drop(t, "the odd name of an attribute");
            continue;
        }
        buf_printf(t->out, "%s", n++ ? ", " : " <");
        if (t->form == TEXT_PLAIN)
            buf_str(t->out, f->attributes[i]);
        else
            text_name(t, f->attributes[i]);
    }
    for (uint32_t i = 0; i < f->ndefaults; i++)
        if (attr_stays(t, &f->defaults[i])) {
            buf_printf(t->out, "%s", n++ ? ", " : " <");
            text_attr(t, &f->defaults[i]);
        }
    buf_printf(t->out, n ? "> " : " ");
}

static void print_function(Text *t, const Function *f)
{
    Ext e = {0};
    const Graph *g = graph_at(t->m, f->body);
    buf_printf(t->out, "\n<\n   domain: ");
    text_quoted(t, f->domain);
    buf_printf(t->out, ",\n   ");
    print_opsets(t, f->opsets, f->nopsets);
    if (f->overload.len) {
        buf_printf(t->out, ",\n   overload: ");
        text_quoted(t, f->overload);
    }
    if (f->doc.at) {
        buf_printf(t->out, ",\n   doc_string: ");
        text_quoted(t, f->doc);
    }
    buf_printf(t->out, "\n>\n");
    text_name(t, f->name);
    print_function_attributes(t, f);
    print_names(t, g->inputs.at, g->inputs.len);
    buf_printf(t->out, " => ");
    print_names(t, g->outputs.at, g->outputs.len);
    ext_props(t, &e, "metadata_props", &f->metadata);
    ext_int(t, &e, "has", f->has, function_natural_has(f));
    ext_bytes(t, &e, "unknown", f->unknown);
    ext_end(t, &e);
    print_body(t, g);
    buf_char(t->out, '\n');
}

static void print_header(Text *t)
{
    const Model *m = t->m;
    buf_printf(t->out, "<\n   ");
    if (t->form == TEXT_CIR || m->has & 1)
        buf_printf(t->out, "ir_version: %" PRId64 ",\n   ", m->ir_version);
    print_opsets(t, m->opsets.at, m->opsets.len);
    const struct {
        const char *key;
        Str value;
    } fields[] = {{"producer_name", m->producer_name},
                  {"producer_version", m->producer_version},
                  {"domain", m->domain},
                  {"doc_string", m->doc}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].value.at) {
            buf_printf(t->out, ",\n   %s: ", fields[i].key);
            text_quoted(t, fields[i].value);
        }
    if (m->model_version || m->has & 16)
        buf_printf(t->out, ",\n   model_version: %" PRId64, m->model_version);
    if (m->metadata.len) {
        buf_printf(t->out, ",\n   metadata_props: ");
        text_props(t, &m->metadata);
    }
    buf_printf(t->out, "\n>");
}

static void print_configuration(Text *t, Ext *e, const DeviceConfiguration *c)
{
    Ext inner = {.open = true};
    ext_key(t, e, "configuration");
    buf_printf(t->out, "{devices: [");
    for (uint32_t i = 0; i < c->ndevices; i++) {
        buf_printf(t->out, "%s", i ? ", " : "");
        text_quoted(t, c->devices[i]);
    }
    buf_char(t->out, ']');
    if (c->has_name)
        ext_str(t, &inner, "name", c->name, true);
    if (c->has_num)
        ext_int(t, &inner, "num_devices", c->num_devices, INT64_MIN);
    ext_bytes(t, &inner, "unknown", c->unknown);
    buf_char(t->out, '}');
}

static void print_training(Text *t, Ext *e, const TrainingInfo *i)
{
    Ext inner = {.open = true};
    ext_key(t, e, "training");
    buf_printf(t->out, "{initialization_binding: ");
    text_props(t, &i->initialization_binding);
    ext_props(t, &inner, "update_binding", &i->update_binding);
    if (i->initialization) {
        ext_key(t, &inner, "initialization");
        text_graph(t, i->initialization);
    }
    if (i->algorithm) {
        ext_key(t, &inner, "algorithm");
        text_graph(t, i->algorithm);
    }
    ext_bytes(t, &inner, "unknown", i->unknown);
    buf_char(t->out, '}');
}

static void print_model_ext(Text *t)
{
    const Model *m = t->m;
    Ext e = {0};
    uint32_t natural = model_natural_has(m);
    if (t->form == TEXT_PLAIN && (m->configurations.len || m->training.len))
        text_drop(t, m->training.len ? "training_info" : "configuration");
    if (t->form == TEXT_PLAIN && m->has && !(m->has & 64))
        text_drop(t, "the absence of the graph");
    for (uint32_t i = 0; t->form == TEXT_CIR && i < m->configurations.len; i++)
        print_configuration(t, &e, &m->configurations.at[i]);
    for (uint32_t i = 0; t->form == TEXT_CIR && i < m->training.len; i++)
        print_training(t, &e, &m->training.at[i]);
    ext_int(t, &e, "has", m->has, natural);
    ext_bytes(t, &e, "unknown", m->unknown);
    if (t->form == TEXT_CIR && text_has_source(m))
        ext_str(t, &e, "source", str_of(m->path), true);
    ext_end(t, &e);
}

void text_print(const Model *m, TextForm form, bool types, Buf *out, Dropped *dropped)
{
    Text t = {.m = m, .out = out, .form = form, .types = types, .dropped = dropped};
    t.dims.arena = m->arena;
    if (form == TEXT_CIR)
        buf_printf(out, "cameo.ir/1\n");
    print_header(&t);
    print_model_ext(&t);
    buf_char(out, '\n');
    if (m->main)
        text_graph(&t, m->main);
    buf_char(out, '\n');
    for (uint32_t i = 0; i < m->functions.len; i++)
        print_function(&t, &m->functions.at[i]);
}
