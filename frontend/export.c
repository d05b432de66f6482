#include "frontend/export.h"

#include "frontend/encode.h"
#include "frontend/export_parts.h"

enum { DEEPEST = 64 }; // graphs inside each other

typedef struct Exporter {
    Arena *a;
    const Model *m;
    Str *names; // by value
    uint32_t depth;
    const char *error;
} Exporter;

// Values that passes made without a name: "v1", "v2" ..., past all names in use.
static void name_values(Exporter *e)
{
    const Model *m = e->m;
    Map used = {.arena = e->a};
    uint32_t next = 1;
    e->names = NEWS(e->a, Str, m->values.len);
    for (ValueId v = 1; v < m->values.len; v++) {
        e->names[v] = value_at(m, v)->name;
        if (e->names[v].len)
            map_put(&used, e->names[v], NULL);
    }
    for (ValueId v = 1; v < m->values.len; v++) {
        const Value *value = value_at(m, v);
        bool wants = value->def == DEF_INPUT ? !value->name.at : value->def != DEF_NONE;
        while (e->names[v].len == 0 && wants) {
            Str name = str_printf(e->a, "v%u", next++);
            if (!map_get(&used, name))
                e->names[v] = name;
        }
    }
}

static ProtobufCBinaryData name_of(const Exporter *e, ValueId v)
{
    return export_bytes(v ? e->names[v] : STR(""));
}

static Onnx__GraphProto *export_graph(Exporter *e, GraphId g);

static Onnx__ValueInfoProto **export_infos(Exporter *e, const ValueInfo *from, uint32_t n)
{
    Onnx__ValueInfoProto **to = NEWS(e->a, Onnx__ValueInfoProto *, n + 1u);
    for (uint32_t i = 0; i < n; i++) {
        Onnx__ValueInfoProto *p =
            EXPORT_NEW(e->a, Onnx__ValueInfoProto, value_info_proto, from[i].unknown);
        to[i] = p;
        p->name = name_of(e, from[i].value);
        p->has_name = (from[i].has & 1) || p->name.len;
        p->type = export_type(e->a, from[i].type);
        p->has_doc_string = (from[i].has & 2) || from[i].doc.len;
        p->doc_string = export_bytes(from[i].doc);
        p->n_metadata_props = from[i].metadata.len;
        p->metadata_props = export_props(e->a, &from[i].metadata);
    }
    return to;
}

static Onnx__AttributeProto **export_attrs(Exporter *e, const Attr *from, uint32_t n)
{
    Onnx__AttributeProto **to = NEWS(e->a, Onnx__AttributeProto *, n + 1u);
    for (uint32_t i = 0; i < n; i++) {
        to[i] = export_attr_values(e->a, &from[i]);
        to[i]->g = export_graph(e, from[i].g);
        to[i]->n_graphs = from[i].ngraphs;
        to[i]->graphs = NEWS(e->a, Onnx__GraphProto *, from[i].ngraphs + 1u);
        for (uint32_t k = 0; k < from[i].ngraphs; k++)
            to[i]->graphs[k] = export_graph(e, from[i].graphs[k]);
    }
    return to;
}

static ProtobufCBinaryData *export_names(Exporter *e, const ValueId *from, uint32_t n)
{
    ProtobufCBinaryData *to = NEWS(e->a, ProtobufCBinaryData, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        to[i] = name_of(e, from[i]);
    return to;
}

static Onnx__NodeProto *export_node(Exporter *e, const Node *n)
{
    Onnx__NodeProto *p = EXPORT_NEW(e->a, Onnx__NodeProto, node_proto, n->unknown);
    p->n_input = n->nin;
    p->input = export_names(e, n->in, n->nin);
    p->n_output = n->nout;
    p->output = export_names(e, n->out, n->nout);
    p->has_op_type = (n->has & NODE_HAS_OP) || n->op.len;
    p->op_type = export_bytes(n->op);
    p->has_domain = (n->has & NODE_HAS_DOMAIN) || n->domain.len;
    p->domain = export_bytes(n->domain);
    p->has_name = (n->has & NODE_HAS_NAME) || n->name.len;
    p->name = export_bytes(n->name);
    p->has_overload = (n->has & NODE_HAS_OVERLOAD) || n->overload.len;
    p->overload = export_bytes(n->overload);
    p->has_doc_string = (n->has & NODE_HAS_DOC) || n->doc.len;
    p->doc_string = export_bytes(n->doc);
    p->n_attribute = n->nattrs;
    p->attribute = export_attrs(e, n->attrs, n->nattrs);
    p->n_metadata_props = n->metadata.len;
    p->metadata_props = export_props(e->a, &n->metadata);
    p->n_device_configurations = n->ndevices;
    p->device_configurations = export_placements(e->a, n->devices, n->ndevices);
    return p;
}

// The file's order where it was another one and the nodes are still the file's, each once.
static bool file_order(const Exporter *e, const Graph *g, NodeId *order)
{
    if (!g->unsorted)
        return false;
    for (uint32_t i = 0; i < g->nodes.len; i++) {
        uint32_t at = node_at(e->m, g->nodes.at[i])->position;
        if (at >= g->nodes.len || order[at])
            return false;
        order[at] = g->nodes.at[i];
    }
    return true;
}

static Onnx__NodeProto **export_nodes(Exporter *e, const Graph *g)
{
    Onnx__NodeProto **to = NEWS(e->a, Onnx__NodeProto *, g->nodes.len + 1u);
    NodeId *order = NEWS(e->a, NodeId, g->nodes.len + 1u);
    if (!file_order(e, g, order))
        for (uint32_t i = 0; i < g->nodes.len; i++)
            order[i] = g->nodes.at[i];
    for (uint32_t i = 0; i < g->nodes.len; i++)
        to[i] = export_node(e, node_at(e->m, order[i]));
    return to;
}

static void export_initializers(Exporter *e, const Graph *g, Onnx__GraphProto *p)
{
    p->n_initializer = g->initializers.len;
    p->initializer = NEWS(e->a, Onnx__TensorProto *, g->initializers.len + 1u);
    for (uint32_t i = 0; i < g->initializers.len; i++) {
        const Initializer *from = &g->initializers.at[i];
        p->initializer[i] = export_tensor(e->a, from->data);
        if (from->value) {
            p->initializer[i]->name = name_of(e, from->value);
            p->initializer[i]->has_name = 1;
        }
    }
    p->n_sparse_initializer = g->sparse.len;
    p->sparse_initializer = NEWS(e->a, Onnx__SparseTensorProto *, g->sparse.len + 1u);
    for (uint32_t i = 0; i < g->sparse.len; i++) {
        const SparseInitializer *from = &g->sparse.at[i];
        Onnx__SparseTensorProto *s = export_sparse(e->a, from->data);
        p->sparse_initializer[i] = s;
        if (from->value && s->values) {
            s->values->name = name_of(e, from->value);
            s->values->has_name = 1;
        }
    }
}

static void export_quantization(Exporter *e, const Graph *g, Onnx__GraphProto *p)
{
    p->n_quantization_annotation = g->quantization.len;
    p->quantization_annotation = NEWS(e->a, Onnx__TensorAnnotation *, g->quantization.len + 1u);
    for (uint32_t i = 0; i < g->quantization.len; i++) {
        const Quantization *from = &g->quantization.at[i];
        Onnx__TensorAnnotation *q =
            EXPORT_NEW(e->a, Onnx__TensorAnnotation, tensor_annotation, from->unknown);
        p->quantization_annotation[i] = q;
        q->has_tensor_name = from->has_tensor;
        q->tensor_name = export_bytes(from->tensor);
        q->n_quant_parameter_tensor_names = from->params.len;
        q->quant_parameter_tensor_names = export_props(e->a, &from->params);
    }
}

static Onnx__GraphProto *export_graph(Exporter *e, GraphId id)
{
    if (!id)
        return NULL;
    const Graph *g = graph_at(e->m, id);
    Onnx__GraphProto *p = EXPORT_NEW(e->a, Onnx__GraphProto, graph_proto, g->unknown);
    if (e->depth >= DEEPEST) {
        e->error = "graphs are nested deeper than 64";
        return p;
    }
    e->depth++;
    p->has_name = (g->has & 1) || g->name.len;
    p->name = export_bytes(g->name);
    p->has_doc_string = (g->has & 2) || g->doc.len;
    p->doc_string = export_bytes(g->doc);
    p->n_input = g->inputs.len;
    p->input = export_infos(e, g->inputs.at, g->inputs.len);
    p->n_output = g->outputs.len;
    p->output = export_infos(e, g->outputs.at, g->outputs.len);
    p->n_value_info = g->infos.len;
    p->value_info = export_infos(e, g->infos.at, g->infos.len);
    export_initializers(e, g, p);
    export_quantization(e, g, p);
    p->n_node = g->nodes.len;
    p->node = export_nodes(e, g);
    p->n_metadata_props = g->metadata.len;
    p->metadata_props = export_props(e->a, &g->metadata);
    e->depth--;
    return p;
}

// ---- functions and the model

static Onnx__OperatorSetIdProto **export_opsets(Exporter *e, const OpsetImport *from, uint32_t n)
{
    Onnx__OperatorSetIdProto **to = NEWS(e->a, Onnx__OperatorSetIdProto *, n + 1u);
    for (uint32_t i = 0; i < n; i++) {
        to[i] = EXPORT_NEW(e->a, Onnx__OperatorSetIdProto, operator_set_id_proto, from[i].unknown);
        to[i]->has_domain = (from[i].has & 1) || from[i].domain.len;
        to[i]->domain = export_bytes(from[i].domain);
        to[i]->has_version = (from[i].has & 2) || from[i].version;
        to[i]->version = from[i].version;
    }
    return to;
}

static ProtobufCBinaryData *export_info_names(Exporter *e, const ValueInfo *from, uint32_t n)
{
    ProtobufCBinaryData *to = NEWS(e->a, ProtobufCBinaryData, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        to[i] = name_of(e, from[i].value);
    return to;
}

static Onnx__FunctionProto *export_function(Exporter *e, const Function *f)
{
    const Graph *g = graph_at(e->m, f->body);
    Onnx__FunctionProto *p = EXPORT_NEW(e->a, Onnx__FunctionProto, function_proto, f->unknown);
    p->has_name = (f->has & 1) || f->name.len;
    p->name = export_bytes(f->name);
    p->has_domain = (f->has & 2) || f->domain.len;
    p->domain = export_bytes(f->domain);
    p->has_overload = (f->has & 4) || f->overload.len;
    p->overload = export_bytes(f->overload);
    p->has_doc_string = (f->has & 8) || f->doc.len;
    p->doc_string = export_bytes(f->doc);
    p->n_input = g->inputs.len;
    p->input = export_info_names(e, g->inputs.at, g->inputs.len);
    p->n_output = g->outputs.len;
    p->output = export_info_names(e, g->outputs.at, g->outputs.len);
    p->n_attribute = f->nattributes;
    p->attribute = export_strs(e->a, f->attributes, f->nattributes);
    p->n_attribute_proto = f->ndefaults;
    p->attribute_proto = export_attrs(e, f->defaults, f->ndefaults);
    p->n_node = g->nodes.len;
    p->node = export_nodes(e, g);
    p->n_value_info = g->infos.len;
    p->value_info = export_infos(e, g->infos.at, g->infos.len);
    p->n_opset_import = f->nopsets;
    p->opset_import = export_opsets(e, f->opsets, f->nopsets);
    p->n_metadata_props = f->metadata.len;
    p->metadata_props = export_props(e->a, &f->metadata);
    return p;
}

static Onnx__TrainingInfoProto *export_training(Exporter *e, const TrainingInfo *t)
{
    Onnx__TrainingInfoProto *p =
        EXPORT_NEW(e->a, Onnx__TrainingInfoProto, training_info_proto, t->unknown);
    p->initialization = export_graph(e, t->initialization);
    p->algorithm = export_graph(e, t->algorithm);
    p->n_initialization_binding = t->initialization_binding.len;
    p->initialization_binding = export_props(e->a, &t->initialization_binding);
    p->n_update_binding = t->update_binding.len;
    p->update_binding = export_props(e->a, &t->update_binding);
    return p;
}

static Onnx__DeviceConfigurationProto *export_configuration(Exporter *e,
                                                            const DeviceConfiguration *c)
{
    Onnx__DeviceConfigurationProto *p =
        EXPORT_NEW(e->a, Onnx__DeviceConfigurationProto, device_configuration_proto, c->unknown);
    p->has_name = c->has_name;
    p->name = export_bytes(c->name);
    p->has_num_devices = c->has_num;
    p->num_devices = c->num_devices;
    p->n_device = c->ndevices;
    p->device = export_strs(e->a, c->devices, c->ndevices);
    return p;
}

static void export_fields(const Model *m, Onnx__ModelProto *p)
{
    p->has_ir_version = (m->has & 1) || m->ir_version;
    p->ir_version = m->ir_version;
    p->has_producer_name = (m->has & 2) || m->producer_name.len;
    p->producer_name = export_bytes(m->producer_name);
    p->has_producer_version = (m->has & 4) || m->producer_version.len;
    p->producer_version = export_bytes(m->producer_version);
    p->has_domain = (m->has & 8) || m->domain.len;
    p->domain = export_bytes(m->domain);
    p->has_model_version = (m->has & 16) || m->model_version;
    p->model_version = m->model_version;
    p->has_doc_string = (m->has & 32) || m->doc.len;
    p->doc_string = export_bytes(m->doc);
}

static bool has_graph(const Model *m)
{
    const Graph *g = graph_at(m, m->main);
    return (m->has & 64) || g->nodes.len || g->inputs.len || g->outputs.len || g->initializers.len;
}

static Onnx__ModelProto *export_model(Exporter *e)
{
    const Model *m = e->m;
    Onnx__ModelProto *p = EXPORT_NEW(e->a, Onnx__ModelProto, model_proto, m->unknown);
    export_fields(m, p);
    p->n_opset_import = m->opsets.len;
    p->opset_import = export_opsets(e, m->opsets.at, m->opsets.len);
    p->n_metadata_props = m->metadata.len;
    p->metadata_props = export_props(e->a, &m->metadata);
    if (has_graph(m))
        p->graph = export_graph(e, m->main);
    p->n_functions = m->functions.len;
    p->functions = NEWS(e->a, Onnx__FunctionProto *, m->functions.len + 1u);
    for (uint32_t i = 0; i < m->functions.len; i++)
        p->functions[i] = export_function(e, &m->functions.at[i]);
    p->n_training_info = m->training.len;
    p->training_info = NEWS(e->a, Onnx__TrainingInfoProto *, m->training.len + 1u);
    for (uint32_t i = 0; i < m->training.len; i++)
        p->training_info[i] = export_training(e, &m->training.at[i]);
    p->n_configuration = m->configurations.len;
    p->configuration = NEWS(e->a, Onnx__DeviceConfigurationProto *, m->configurations.len + 1u);
    for (uint32_t i = 0; i < m->configurations.len; i++)
        p->configuration[i] = export_configuration(e, &m->configurations.at[i]);
    return p;
}

bool export_onnx(const Model *m, Buf *out, Str *error)
{
    Exporter e = {.a = arena_new(), .m = m};
    name_values(&e);
    const Onnx__ModelProto *p = export_model(&e);
    if (!e.error)
        encode_message(&p->base, INT32_MAX, out, &e.error);
    *error = str_of(e.error);
    arena_free(e.a);
    return !e.error;
}
