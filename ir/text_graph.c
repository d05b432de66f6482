// Printing tensors, nodes, graphs, functions and models as text.

#include "ir/text_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { INLINE_ELEMENTS = 64 };

// ---- tensors
// --------------------------------------------------------------------------------------------

uint32_t tensor_natural_has(const TensorData *d)
{
    return TENSOR_HAS_DTYPE | (d->name.at ? TENSOR_HAS_NAME : 0) |
           (d->doc.at ? TENSOR_HAS_DOC : 0) | (d->payload == PAYLOAD_RAW ? TENSOR_HAS_RAW : 0) |
           (d->payload == PAYLOAD_EXTERNAL ? TENSOR_HAS_LOCATION : 0);
}

static void print_floats(Text *t, const TensorData *d, bool wide)
{
    size_t width = wide ? 8 : 4;
    for (size_t i = 0; i + width <= d->raw.len; i += width) {
        float f;
        double v;
        uint64_t bits = 0;
        memcpy(&bits, d->raw.at + i, width);
        memcpy(&f, d->raw.at + i, 4);
        memcpy(&v, d->raw.at + i, wide ? 8 : 4);
        v = wide ? v : (double)f;
        buf_printf(t->out, "%s", i ? "," : "");
        bool odd = isnan(v) && bits != (wide ? 0x7ff8000000000000u : 0x7fc00000u);
        if (odd && t->form == TEXT_CIR)
            buf_printf(t->out, "bits(0x%" PRIx64 ")", bits);
        else if (isnan(v) || isinf(v))
            buf_printf(t->out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        else
            text_real(t, v, wide ? 17 : 9);
    }
}

static void print_int_list(Text *t, const TensorData *d)
{
    for (uint64_t i = 0; i < d->count; i++) {
        buf_printf(t->out, "%s", i ? "," : "");
        if (d->payload == PAYLOAD_INT32)
            buf_printf(t->out, "%" PRId32, ((const int32_t *)d->ints)[i]);
        else if (d->payload == PAYLOAD_INT64)
            buf_printf(t->out, "%" PRId64, ((const int64_t *)d->ints)[i]);
        else
            buf_printf(t->out, "%" PRIu64, ((const uint64_t *)d->ints)[i]);
    }
}

// The field that the plain syntax fills for a dtype.
Payload tensor_natural_payload(int32_t dtype)
{
    switch (dtype) {
    case DT_F32:
    case DT_C64:
        return PAYLOAD_FLOAT;
    case DT_F64:
    case DT_C128:
        return PAYLOAD_DOUBLE;
    case DT_I64:
        return PAYLOAD_INT64;
    case DT_U64:
    case DT_U32:
        return PAYLOAD_UINT64;
    case DT_STRING:
        return PAYLOAD_STRING;
    default:
        return PAYLOAD_INT32;
    }
}

// Elements of a raw payload in plain syntax: decoded, since it has no raw form.
static void print_decoded(Text *t, const TensorData *d)
{
    Str error;
    TensorData *data = (TensorData *)(uintptr_t)d;
    const unsigned char *at = tensor_elements((Model *)(uintptr_t)t->m, data, &error);
    const DTypeInfo *info = dtype_info((DType)d->dtype);
    if (!at || info->kind == KIND_STRING || info->kind == KIND_COMPLEX) {
        text_drop(t, "payload of a tensor");
        return;
    }
    for (uint64_t i = 0; i < data->nelements; i++) {
        const unsigned char *p = at + i * info->bytes;
        Scalar v = scalar_load((DType)d->dtype, p);
        uint64_t bits = 0;
        memcpy(&bits, p, info->bytes);
        buf_printf(t->out, "%s", i ? "," : "");
        if (dtype_is_small_float((DType)d->dtype))
            buf_printf(t->out, "%" PRIu64, bits);
        else if (info->kind == KIND_FLOAT && !isfinite(v.f))
            buf_printf(t->out, isnan(v.f) ? "nan" : v.f < 0 ? "-inf" : "inf");
        else if (info->kind == KIND_FLOAT)
            text_real(t, v.f, info->bits == 64 ? 17 : 9);
        else if (d->dtype == DT_U64)
            buf_printf(t->out, "%" PRIu64, (uint64_t)v.i);
        else
            buf_printf(t->out, "%" PRId64, v.i);
    }
}

// Bytes of the payload in the source file, or literally.
static void print_bytes(Text *t, const TensorData *d, size_t width)
{
    uintptr_t at = (uintptr_t)d->raw.at, base = (uintptr_t)t->m->source.at;
    bool large = d->raw.len > (size_t)INLINE_ELEMENTS * width;
    if (large && t->m->source.at && at >= base && at + d->raw.len <= base + t->m->source.len)
        buf_printf(t->out, "source(%zu, %zu)", (size_t)(at - base), d->raw.len);
    else
        text_hex(t, d->raw);
}

static void print_payload(Text *t, const TensorData *d)
{
    bool cir = t->form == TEXT_CIR;
    bool natural = d->payload == tensor_natural_payload(d->dtype);
    static const char *const words[] = {"",           "raw",         "float_data",  "int32_data",
                                        "int64_data", "double_data", "uint64_data", "string_data",
                                        "external"};
    buf_printf(t->out, " %s%s{", cir && !natural ? words[d->payload] : "",
               cir && !natural && d->payload ? " " : "");
    bool floats = d->payload == PAYLOAD_FLOAT || d->payload == PAYLOAD_DOUBLE;
    bool wide = d->payload == PAYLOAD_DOUBLE;
    if (cir && (d->payload == PAYLOAD_RAW ||
                (floats && d->raw.len > (size_t)INLINE_ELEMENTS * (wide ? 8 : 4)))) {
        print_bytes(t, d,
                    d->payload == PAYLOAD_RAW ? dtype_info((DType)d->dtype)->bytes
                    : wide                    ? 8
                                              : 4);
    } else if (d->payload == PAYLOAD_EXTERNAL) {
        if (cir)
            text_props(t, &d->external);
        else
            text_drop(t, "external data");
    } else if (d->payload == PAYLOAD_STRING) {
        for (uint64_t i = 0; i < d->count; i++) {
            buf_printf(t->out, "%s", i ? ", " : "");
            text_quoted(t, d->strings[i]);
        }
    } else if (!cir && d->payload == PAYLOAD_RAW) {
        print_decoded(t, d);
    } else if (floats) {
        print_floats(t, d, wide);
    } else {
        print_int_list(t, d);
    }
    buf_char(t->out, '}');
}

static void print_tensor_type(Text *t, const TensorData *d)
{
    if (d->dtype > 0 && d->dtype < DT_COUNT)
        buf_printf(t->out, "%s", dtype_info((DType)d->dtype)->onnx);
    else
        buf_printf(t->out, "type(%d)", d->dtype);
    if (d->rank)
        buf_char(t->out, '[');
    for (uint32_t i = 0; i < d->rank; i++)
        buf_printf(t->out, "%s%" PRId64, i ? "," : "", d->dims[i]);
    if (d->rank)
        buf_char(t->out, ']');
}

void text_tensor(Text *t, const TensorData *d, bool with_type)
{
    Ext e = {0};
    if (with_type)
        print_tensor_type(t, d);
    if (d->name.at && (d->name.len || t->form == TEXT_CIR)) {
        buf_char(t->out, ' ');
        text_name(t, d->name);
    }
    if (!with_type)
        buf_printf(t->out, " =");
    print_payload(t, d);
    ext_str(t, &e, "doc_string", d->doc, d->doc.at);
    ext_props(t, &e, "metadata_props", &d->metadata);
    if (d->payload != PAYLOAD_EXTERNAL && d->external.len)
        ext_props(t, &e, "external_data", &d->external);
    ext_int(t, &e, "location", d->data_location, d->payload == PAYLOAD_EXTERNAL);
    if (d->has_segment) {
        ext_int(t, &e, "segment", d->segment_has, INT64_MIN);
        ext_int(t, &e, "begin", d->segment_begin, 0);
        ext_int(t, &e, "end", d->segment_end, 0);
    }
    ext_int(t, &e, "has", d->has, tensor_natural_has(d));
    ext_bytes(t, &e, "unknown", d->unknown);
    ext_end(t, &e);
}

void text_sparse(Text *t, const SparseData *s)
{
    Ext e = {0};
    if (t->form == TEXT_PLAIN) {
        text_drop(t, "a sparse tensor");
        return;
    }
    buf_printf(t->out, "sparse[");
    for (uint32_t i = 0; i < s->rank; i++)
        buf_printf(t->out, "%s%" PRId64, i ? "," : "", s->dims[i]);
    buf_printf(t->out, "](");
    if (s->values)
        text_tensor(t, s->values, true);
    buf_printf(t->out, "; ");
    if (s->indices)
        text_tensor(t, s->indices, true);
    buf_char(t->out, ')');
    ext_bytes(t, &e, "unknown", s->unknown);
    ext_end(t, &e);
}

// ---- inferred types
// -------------------------------------------------------------------------------------

static void print_dim(Text *t, Index i);

static void print_dim_atom(Text *t, const Atom *a)
{
    static const char *const words[] = {
        [ATOM_FLOORDIV] = "div", [ATOM_MOD] = "mod", [ATOM_MIN] = "min", [ATOM_MAX] = "max"};
    if (a->kind == ATOM_DIM) {
        Str name = dim_name(t->m->polys, a->var);
        if (name.len)
            text_name(t, name);
        else
            buf_printf(t->out, "\"?%u\"", a->var);
        return;
    }
    buf_printf(t->out, "%s(", words[a->kind]);
    print_dim(t, a->a);
    buf_printf(t->out, ", ");
    print_dim(t, a->b);
    buf_char(t->out, ')');
}

static void print_dim(Text *t, Index i)
{
    if (i->nterms == 0)
        buf_char(t->out, '0');
    for (uint32_t n = 0; n < i->nterms; n++) {
        const Term *term = &i->terms[n];
        buf_printf(t->out, "%s", n && term->coeff > 0 ? "+" : "");
        if (term->coeff != 1 || term->natoms == 0)
            buf_printf(t->out, "%" PRId64 "%s", term->coeff, term->natoms ? "*" : "");
        for (uint32_t k = 0; k < term->natoms; k++) {
            buf_printf(t->out, "%s", k ? "*" : "");
            print_dim_atom(t, term->atoms[k]);
        }
    }
}

// " : f32[N,16,8] @cpu"
static void print_inferred(Text *t, ValueId id)
{
    const Value *v = value_at(t->m, id);
    if (!t->types || t->form != TEXT_CIR || v->kind != TYPE_TENSOR || v->dtype == DT_NONE)
        return;
    buf_printf(t->out, " : %s", dtype_info(v->dtype)->abbrev);
    if (v->rank < 0)
        buf_printf(t->out, "[*]");
    if (v->rank > 0)
        buf_char(t->out, '[');
    for (int32_t i = 0; i < v->rank; i++) {
        buf_printf(t->out, "%s", i ? "," : "");
        print_dim(t, v->dims[i]);
    }
    if (v->rank > 0)
        buf_char(t->out, ']');
    if (v->device && v->device < t->m->devices.len) {
        buf_printf(t->out, " @");
        text_quoted(t, t->m->devices.at[v->device]);
    }
}

// ---- nodes and graphs
// -----------------------------------------------------------------------------------

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
            print_inferred(t, at[i]);
    }
}

static void print_op(Text *t, const Node *n)
{
    // Domains with dots are words to the plain parser; anything else is quoted in CIR only.
    if (n->domain.len) {
        buf_str(t->out, n->domain);
        buf_char(t->out, '.');
    }
    text_name(t, n->op);
    if (n->overload.len) {
        buf_char(t->out, ':');
        text_name(t, n->overload);
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
    if (odd_name) {
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
    if (n->nattrs)
        buf_printf(t->out, " <");
    for (uint32_t i = 0; i < n->nattrs; i++) {
        buf_printf(t->out, "%s", i ? ", " : "");
        text_attr(t, &n->attrs[i]);
        t->node = id;
    }
    buf_printf(t->out, "%s(", n->nattrs ? "> " : " ");
    print_values(t, n->in, n->nin, false);
    buf_char(t->out, ')');
    print_node_ext(t, n, odd_name);
}

static void print_info(Text *t, const ValueInfo *v)
{
    Ext e = {0};
    if (v->type) {
        text_type(t, v->type);
        buf_char(t->out, ' ');
    }
    text_value(t, v->value);
    ext_str(t, &e, "doc_string", v->doc, v->doc.at);
    ext_props(t, &e, "metadata_props", &v->metadata);
    ext_int(t, &e, "has", v->has, 1 | (v->doc.at ? 2 : 0));
    ext_bytes(t, &e, "unknown", v->unknown);
    ext_end(t, &e);
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
    print_tensor_type(t, d);
    if (!d->name.at && t->form == TEXT_CIR)
        buf_printf(t->out, " _");
    text_tensor(t, d, false);
}

static void print_constants(Text *t, const Graph *g)
{
    uint32_t n = g->initializers.len + g->sparse.len + g->infos.len, k = 0;
    if (n == 0)
        return;
    newline(t);
    buf_char(t->out, '<');
    t->depth++;
    for (uint32_t i = 0; i < g->initializers.len; i++, k++) {
        buf_printf(t->out, "%s", k ? "," : "");
        newline(t);
        print_initializer(t, g->initializers.at[i].data);
    }
    for (uint32_t i = 0; i < g->sparse.len; i++, k++) {
        buf_printf(t->out, "%s", k ? "," : "");
        newline(t);
        text_sparse(t, g->sparse.at[i].data);
    }
    for (uint32_t i = 0; i < g->infos.len; i++, k++) {
        buf_printf(t->out, "%s", k ? "," : "");
        newline(t);
        print_info(t, &g->infos.at[i]);
    }
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

void text_graph(Text *t, GraphId id)
{
    const Graph *g = graph_at(t->m, id);
    text_name(t, g->name.len ? g->name : STR("_"));
    buf_char(t->out, ' ');
    print_infos(t, g->inputs.at, g->inputs.len);
    buf_printf(t->out, " => ");
    print_infos(t, g->outputs.at, g->outputs.len);
    print_body(t, g);
}

// ---- functions and models
// -------------------------------------------------------------------------------

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
    uint32_t n = f->nattributes + f->ndefaults;
    buf_printf(t->out, n ? " <" : " ");
    for (uint32_t i = 0; i < f->nattributes; i++) {
        buf_printf(t->out, "%s", i ? ", " : "");
        text_name(t, f->attributes[i]);
    }
    for (uint32_t i = 0; i < f->ndefaults; i++) {
        buf_printf(t->out, "%s", i + f->nattributes ? ", " : "");
        text_attr(t, &f->defaults[i]);
    }
    buf_printf(t->out, n ? "> " : "");
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
    buf_printf(t->out, "<\n   ir_version: %" PRId64 ",\n   ", m->ir_version);
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
    for (uint32_t i = 0; t->form == TEXT_CIR && i < m->configurations.len; i++)
        print_configuration(t, &e, &m->configurations.at[i]);
    for (uint32_t i = 0; t->form == TEXT_CIR && i < m->training.len; i++)
        print_training(t, &e, &m->training.at[i]);
    ext_int(t, &e, "has", m->has, natural);
    ext_bytes(t, &e, "unknown", m->unknown);
    if (t->form == TEXT_CIR && m->source.len && m->path)
        ext_str(t, &e, "source", str_of(m->path), true);
    ext_end(t, &e);
}

void text_print(const Model *m, TextForm form, bool types, Buf *out, Dropped *dropped)
{
    Text t = {.m = m, .out = out, .form = form, .types = types, .dropped = dropped};
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
