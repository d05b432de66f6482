#include "frontend/import.h"

#include "frontend/decode.h"
#include "frontend/import_parts.h"

ImportLimits import_limits_default(void)
{
    return (ImportLimits){.max_depth = 100,
                          .max_nodes = 4000000,
                          .max_metadata = UINT64_C(1) << 30,
                          .max_memory = UINT64_C(4) << 30};
}

ImportLimits import_limits_untrusted(void)
{
    ImportLimits l = import_limits_default();
    l.max_nodes = 1000000;
    l.max_metadata = UINT64_C(64) << 20;
    return l;
}

// ---- names

// The value that a use of a name means; 0 for an empty name.
static ValueId resolve(Importer *i, Scope *s, Str name)
{
    if (name.len == 0)
        return 0;
    for (const Scope *t = s; t; t = t->outer) {
        const uint32_t *found = map_get(&t->names, name);
        if (found)
            return *found;
    }
    ValueId v = value_new(i->m, s->graph, name);
    *map_put(&s->names, name, NULL) = v;
    return v;
}

static ValueId define(Importer *i, Scope *s, Str name, DefKind def)
{
    ValueId v = value_new(i->m, s->graph, name);
    value_at(i->m, v)->def = def;
    bool added = false;
    if (name.len) {
        uint32_t *slot = map_put(&s->names, name, &added);
        if (added)
            *slot = v;
    }
    return v;
}

// The value that an initializer defines, or gives a default; 0 if it has no name.
static ValueId define_initializer(Importer *i, Scope *s, Str name, DefKind def, TensorData *data,
                                  SparseData *sparse)
{
    if (name.len == 0)
        return 0;
    const uint32_t *found = map_get(&s->names, name);
    ValueId v = found ? *found : 0;
    if (!v || value_at(i->m, v)->def != DEF_INPUT || value_at(i->m, v)->init ||
        value_at(i->m, v)->sparse_init)
        v = define(i, s, name, def);
    value_at(i->m, v)->init = data;
    value_at(i->m, v)->sparse_init = sparse;
    return v;
}

// ---- graphs

static GraphId import_graph(Importer *i, const Onnx__GraphProto *p, const Scope *outer,
                            GraphId parent, NodeId owner);

static ValueInfo import_info(Importer *i, const Onnx__ValueInfoProto *p, ValueId v)
{
    return (ValueInfo){.value = v,
                       .type = import_type(i, p->type),
                       .doc = import_str(p->has_doc_string, p->doc_string),
                       .metadata = import_props(i, p->metadata_props, p->n_metadata_props),
                       .has = (p->has_name ? 1u : 0) | (p->has_doc_string ? 2u : 0),
                       .unknown = import_unknown(i, &p->base)};
}

static void import_attrs(Importer *i, const Scope *scope, NodeId owner,
                         Onnx__AttributeProto *const *from, size_t n, Attr *to)
{
    for (size_t k = 0; k < n && import_within(i); k++) {
        const Onnx__AttributeProto *p = from[k];
        import_attr_values(i, p, &to[k]);
        if (p->g)
            to[k].g = import_graph(i, p->g, scope, scope->graph, owner);
        GraphId *graphs = p->n_graphs ? NEWS(i->a, GraphId, p->n_graphs) : NULL;
        for (size_t j = 0; j < p->n_graphs && import_within(i); j++)
            graphs[j] = import_graph(i, p->graphs[j], scope, scope->graph, owner);
        to[k].graphs = graphs;
        to[k].ngraphs = (uint32_t)p->n_graphs;
    }
}

// A node with the values that it defines.
static NodeId begin_node(Importer *i, Scope *s, const Onnx__NodeProto *p, uint32_t position)
{
    if (i->m->nodes.len > i->limits->max_nodes)
        i->over = "nodes";
    NodeId id = node_new(i->m, s->graph);
    DecodeSpan span = decode_span(&p->base);
    Node n = {.op = import_word(i, p->has_op_type, p->op_type),
              .domain = import_word(i, p->has_domain, p->domain),
              .name = import_str(p->has_name, p->name),
              .overload = import_str(p->has_overload, p->overload),
              .doc = import_str(p->has_doc_string, p->doc_string),
              .graph = s->graph,
              .in = NEWS(i->a, ValueId, p->n_input + 1),
              .out = NEWS(i->a, ValueId, p->n_output + 1),
              .nin = (uint32_t)p->n_input,
              .nout = (uint32_t)p->n_output,
              .metadata = import_props(i, p->metadata_props, p->n_metadata_props),
              .devices = import_placements(i, p->device_configurations, p->n_device_configurations),
              .ndevices = (uint32_t)p->n_device_configurations,
              .has = (p->has_name ? NODE_HAS_NAME : 0) | (p->has_domain ? NODE_HAS_DOMAIN : 0) |
                     (p->has_overload ? NODE_HAS_OVERLOAD : 0) |
                     (p->has_doc_string ? NODE_HAS_DOC : 0) | (p->has_op_type ? NODE_HAS_OP : 0),
              .unknown = import_unknown(i, &p->base),
              .position = position,
              .offset = span.offset,
              .length = span.length};
    for (size_t k = 0; k < p->n_output; k++) {
        Str name = import_str(1, p->output[k]);
        if (name.len == 0)
            continue;
        n.out[k] = define(i, s, name, DEF_NODE);
        value_at(i->m, n.out[k])->node = id;
        value_at(i->m, n.out[k])->index = (uint32_t)k;
    }
    *node_at(i->m, id) = n;
    return id;
}

// What a node uses, once all names of its graph are known.
static void end_node(Importer *i, Scope *s, const Onnx__NodeProto *p, NodeId id)
{
    for (size_t k = 0; k < p->n_input; k++) {
        ValueId v = resolve(i, s, import_str(1, p->input[k]));
        node_at(i->m, id)->in[k] = v;
    }
    Attr *attrs = p->n_attribute ? NEWS(i->a, Attr, p->n_attribute) : NULL;
    import_attrs(i, s, id, p->attribute, p->n_attribute, attrs);
    node_at(i->m, id)->attrs = attrs;
    node_at(i->m, id)->nattrs = (uint32_t)p->n_attribute;
}

// A graph of so many nodes has the arrays of its model made for them.
enum { LARGE = 4096, SPARE = 64 };

static void import_nodes(Importer *i, Scope *s, Onnx__NodeProto *const *from, size_t n, Graph *g)
{
    const size_t need = n * (sizeof(Node) + sizeof(Value) + sizeof(NodeId));
    if (n > LARGE && arena_size(i->a) + need < i->budget) {
        vec_reserve(i->a, &i->m->nodes, n + SPARE);
        vec_reserve(i->a, &i->m->values, n + SPARE);
        vec_reserve(i->a, &g->nodes, n);
        map_reserve(&s->names, (uint32_t)n);
    }
    for (size_t k = 0; k < n && import_within(i); k++)
        vec_push(i->a, &g->nodes, begin_node(i, s, from[k], (uint32_t)k));
    for (uint32_t k = 0; k < g->nodes.len && import_within(i); k++)
        end_node(i, s, from[k], g->nodes.at[k]);
}

static void import_initializers(Importer *i, Scope *s, const Onnx__GraphProto *p, Graph *g)
{
    for (size_t k = 0; k < p->n_initializer && import_within(i); k++) {
        TensorData *data = import_tensor(i, p->initializer[k]);
        if (!data)
            return;
        Initializer init = {define_initializer(i, s, data->name, DEF_INITIALIZER, data, NULL),
                            data};
        vec_push(i->a, &g->initializers, init);
    }
    for (size_t k = 0; k < p->n_sparse_initializer && import_within(i); k++) {
        SparseData *data = import_sparse(i, p->sparse_initializer[k]);
        if (!data)
            return;
        Str name = data->values ? data->values->name : STR_NONE;
        SparseInitializer init = {define_initializer(i, s, name, DEF_SPARSE, NULL, data), data};
        vec_push(i->a, &g->sparse, init);
    }
}

static void import_quantization(Importer *i, const Onnx__GraphProto *p, Graph *g)
{
    for (size_t k = 0; k < p->n_quantization_annotation && import_within(i); k++) {
        const Onnx__TensorAnnotation *from = p->quantization_annotation[k];
        Quantization q = {.tensor = import_str(from->has_tensor_name, from->tensor_name),
                          .params = import_props(i, from->quant_parameter_tensor_names,
                                                 from->n_quant_parameter_tensor_names),
                          .has_tensor = from->has_tensor_name,
                          .unknown = import_unknown(i, &from->base)};
        vec_push(i->a, &g->quantization, q);
    }
}

static void define_input(Importer *i, Scope *s, const Onnx__ValueInfoProto *p, uint32_t index,
                         Graph *g)
{
    Str name = p->has_name ? import_str(1, p->name) : STR("");
    ValueId v = define(i, s, name, DEF_INPUT);
    value_at(i->m, v)->index = index;
    vec_push(i->a, &g->inputs, import_info(i, p, v));
}

// Fills a graph that exists already.
static void fill_graph(Importer *i, const Onnx__GraphProto *p, Scope *s, GraphId parent,
                       NodeId owner)
{
    Graph g = {.name = import_str(p->has_name, p->name),
               .doc = import_str(p->has_doc_string, p->doc_string),
               .has = (p->has_name ? 1u : 0) | (p->has_doc_string ? 2u : 0),
               .parent = parent,
               .owner = owner,
               .metadata = import_props(i, p->metadata_props, p->n_metadata_props),
               .unknown = import_unknown(i, &p->base)};
    graph_at(i->m, s->graph)->parent = parent;
    graph_at(i->m, s->graph)->owner = owner;
    for (size_t k = 0; k < p->n_input && import_within(i); k++)
        define_input(i, s, p->input[k], (uint32_t)k, &g);
    import_initializers(i, s, p, &g);
    import_nodes(i, s, p->node, p->n_node, &g);
    for (size_t k = 0; k < p->n_output && import_within(i); k++) {
        ValueId v = resolve(i, s, import_str(p->output[k]->has_name, p->output[k]->name));
        vec_push(i->a, &g.outputs, import_info(i, p->output[k], v));
    }
    for (size_t k = 0; k < p->n_value_info && import_within(i); k++) {
        ValueId v = resolve(i, s, import_str(p->value_info[k]->has_name, p->value_info[k]->name));
        vec_push(i->a, &g.infos, import_info(i, p->value_info[k], v));
    }
    import_quantization(i, p, &g);
    *graph_at(i->m, s->graph) = g;
}

// Recursion is bounded by the depth that the decoder admits.
static GraphId import_graph(Importer *i, const Onnx__GraphProto *p, const Scope *outer,
                            GraphId parent, NodeId owner)
{
    Scope s = {.outer = outer, .graph = graph_new(i->m), .names = {.arena = i->scratch}};
    fill_graph(i, p, &s, parent, owner);
    return s.graph;
}

// ---- functions and the model

// Each node looks through them, so there may not be many.
static bool few_opsets(Importer *i, size_t n)
{
    if (n > 1000)
        i->over = "opset imports";
    return import_within(i);
}

static OpsetImport import_opset(Importer *i, const Onnx__OperatorSetIdProto *p)
{
    return (OpsetImport){.domain = import_str(p->has_domain, p->domain),
                         .version = p->version,
                         .has = (p->has_domain ? 1u : 0) | (p->has_version ? 2u : 0),
                         .unknown = import_unknown(i, &p->base)};
}

static void import_body(Importer *i, const Onnx__FunctionProto *p, Function *f, uint32_t number)
{
    Scope s = {.graph = f->body, .names = {.arena = i->scratch}};
    Graph g = {.function = number};
    graph_at(i->m, f->body)->function = number;
    for (size_t k = 0; k < p->n_input && import_within(i); k++) {
        ValueId v = define(i, &s, import_str(1, p->input[k]), DEF_INPUT);
        value_at(i->m, v)->index = (uint32_t)k;
        vec_push(i->a, &g.inputs, ((ValueInfo){.value = v, .has = 1}));
    }
    import_nodes(i, &s, p->node, p->n_node, &g);
    for (size_t k = 0; k < p->n_output && import_within(i); k++) {
        ValueId v = resolve(i, &s, import_str(1, p->output[k]));
        vec_push(i->a, &g.outputs, ((ValueInfo){.value = v, .has = 1}));
    }
    for (size_t k = 0; k < p->n_value_info && import_within(i); k++) {
        ValueId v = resolve(i, &s, import_str(p->value_info[k]->has_name, p->value_info[k]->name));
        vec_push(i->a, &g.infos, import_info(i, p->value_info[k], v));
    }
    f->defaults = p->n_attribute_proto ? NEWS(i->a, Attr, p->n_attribute_proto) : NULL;
    f->ndefaults = (uint32_t)p->n_attribute_proto;
    import_attrs(i, &s, 0, p->attribute_proto, p->n_attribute_proto, f->defaults);
    *graph_at(i->m, f->body) = g;
}

static void import_function(Importer *i, const Onnx__FunctionProto *p)
{
    Function f = {.name = import_str(p->has_name, p->name),
                  .domain = import_str(p->has_domain, p->domain),
                  .overload = import_str(p->has_overload, p->overload),
                  .doc = import_str(p->has_doc_string, p->doc_string),
                  .has = (p->has_name ? 1u : 0) | (p->has_domain ? 2u : 0) |
                         (p->has_overload ? 4u : 0) | (p->has_doc_string ? 8u : 0),
                  .body = graph_new(i->m),
                  .attributes = import_strs(i, p->attribute, p->n_attribute),
                  .opsets = NEWS(i->a, OpsetImport, p->n_opset_import + 1),
                  .nopsets = (uint32_t)p->n_opset_import,
                  .metadata = import_props(i, p->metadata_props, p->n_metadata_props),
                  .unknown = import_unknown(i, &p->base)};
    f.nattributes = f.attributes ? (uint32_t)p->n_attribute : 0;
    for (size_t k = 0; k < p->n_opset_import && few_opsets(i, p->n_opset_import); k++)
        f.opsets[k] = import_opset(i, p->opset_import[k]);
    import_body(i, p, &f, i->m->functions.len + 1);
    vec_push(i->a, &i->m->functions, f);
}

static void import_training(Importer *i, const Scope *main, const Onnx__TrainingInfoProto *p)
{
    TrainingInfo t = {.initialization_binding =
                          import_props(i, p->initialization_binding, p->n_initialization_binding),
                      .update_binding = import_props(i, p->update_binding, p->n_update_binding),
                      .unknown = import_unknown(i, &p->base)};
    if (p->initialization)
        t.initialization = import_graph(i, p->initialization, NULL, 0, 0);
    if (p->algorithm) // sees the values of the main graph
        t.algorithm = import_graph(i, p->algorithm, main, 0, 0);
    vec_push(i->a, &i->m->training, t);
}

static void import_configuration(Importer *i, const Onnx__DeviceConfigurationProto *p)
{
    DeviceConfiguration c = {.name = import_str(p->has_name, p->name),
                             .has_name = p->has_name,
                             .has_num = p->has_num_devices,
                             .num_devices = p->num_devices,
                             .devices = import_strs(i, p->device, p->n_device),
                             .unknown = import_unknown(i, &p->base)};
    c.ndevices = c.devices ? (uint32_t)p->n_device : 0;
    vec_push(i->a, &i->m->configurations, c);
}

static void import_model(Importer *i, const Onnx__ModelProto *p)
{
    Model *m = i->m;
    m->ir_version = p->ir_version;
    m->model_version = p->model_version;
    m->producer_name = import_str(p->has_producer_name, p->producer_name);
    m->producer_version = import_str(p->has_producer_version, p->producer_version);
    m->domain = import_str(p->has_domain, p->domain);
    m->doc = import_str(p->has_doc_string, p->doc_string);
    m->has = (p->has_ir_version ? 1u : 0) | (p->has_producer_name ? 2u : 0) |
             (p->has_producer_version ? 4u : 0) | (p->has_domain ? 8u : 0) |
             (p->has_model_version ? 16u : 0) | (p->has_doc_string ? 32u : 0) |
             (p->graph ? 64u : 0);
    m->metadata = import_props(i, p->metadata_props, p->n_metadata_props);
    m->unknown = import_unknown(i, &p->base);
    for (size_t k = 0; k < p->n_opset_import && few_opsets(i, p->n_opset_import); k++)
        vec_push(i->a, &m->opsets, import_opset(i, p->opset_import[k]));
    m->main = graph_new(m); // there where the file has none: empty then
    Scope main = {.graph = m->main, .names = {.arena = i->scratch}};
    if (p->graph)
        fill_graph(i, p->graph, &main, 0, 0);
    for (size_t k = 0; k < p->n_functions && import_within(i); k++)
        import_function(i, p->functions[k]);
    for (size_t k = 0; k < p->n_training_info && import_within(i); k++)
        import_training(i, &main, p->training_info[k]);
    for (size_t k = 0; k < p->n_configuration && import_within(i); k++)
        import_configuration(i, p->configuration[k]);
}

// What bytes are that are often taken for a model; NULL: not known.
static const char *other_format(Str bytes)
{
    static const struct {
        size_t at;
        Str mark;
        const char *is;
    } known[] = {
        {0, STR("version https://git-lfs.github.com/spec/"),
         "it is a pointer of Git LFS: `git lfs pull` fetches the model"},
        {0, STR("<!DOCTYPE"), "it is a page of HTML, as a download that failed leaves"},
        {0, STR("<html"), "it is a page of HTML, as a download that failed leaves"},
        {0, STR("<ir_version"), "it is ONNX text, which is read from files named .onnxtxt"},
        {0, STR("cameo.ir/1"), "it is Cameo's text, which is read from files named .cir"},
        {0, STR("PK\x03\x04"), "it is a ZIP archive, as torch.save and numpy.savez write"},
        {0, STR("\x80\x02"), "it is a pickle of Python, as joblib and old versions of torch write"},
        {0, STR("\x80\x04"), "it is a pickle of Python, as joblib and old versions of torch write"},
        {0, STR("\x1f\x8b"), "it is compressed by gzip"},
        {0, STR("\x93NUMPY"), "it is an array of NumPy (.npy)"},
        {0, STR("\x89HDF"), "it is HDF5, as Keras writes"},
        {4, STR("TFL3"), "it is a model of TensorFlow Lite"},
        {4, STR("ORTM"), "it is in ONNX Runtime's own format (.ort)"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bytes.len >= known[i].at + known[i].mark.len &&
            memcmp(bytes.at + known[i].at, known[i].mark.at, known[i].mark.len) == 0)
            return known[i].is;
    return NULL;
}

// Where a message lies of those that are nested: the outer ones say which part of the model it is.
static Str shown_path(Arena *a, Str path)
{
    enum { LONGEST = 120 };
    return path.len > LONGEST ? str_printf(a, "%.*s...", LONGEST, path.at) : path;
}

static void report_decode(Diags *diags, const DecodeError *e, Str bytes)
{
    Diag *d = diag(diags, e->limit ? "SE006" : "", SEV_ERROR, shown_path(diags->arena, e->path),
                   e->limit ? "%.*s" : "not an ONNX model: %.*s", STR_ARG(e->message));
    const char *is = other_format(bytes);
    diag_note(diags, d, "at byte %llu", (unsigned long long)e->offset);
    if (is)
        diag_note(diags, d, "%s", is);
    else if (e->missing)
        diag_note(diags, d, "if it is one, its last %llu byte%s missing",
                  (unsigned long long)e->missing, e->missing == 1 ? " is" : "s are");
    if (e->limit)
        diag_help(diags, d, "cameo.yaml allows more, of a model that is trusted: limits");
    else if (!is)
        diag_help(diags, d, "download or export the model again");
}

Model *import_onnx(Arena *a, const char *path, const FileView *bytes, const ImportLimits *limits,
                   Diags *diags)
{
    uint64_t most = (UINT64_C(256) << 20) + 32 * (uint64_t)bytes->len;
    most = most < limits->max_memory ? most : limits->max_memory;
    Arena *scratch = arena_new();
    DecodeLimits decode_limits = {limits->max_depth, most};
    DecodeError error = {0};
    Str all = {(const char *)bytes->at, bytes->len};
    if (all.len == 0) {
        diag_help(diags,
                  diag(diags, "", SEV_ERROR, STR_NONE, "not an ONNX model: the file is empty"),
                  "download or export the model again");
        arena_free(scratch);
        return NULL;
    }
    ProtobufCMessage *p =
        decode_message(a, scratch, &onnx__model_proto__descriptor, all, &decode_limits, &error);
    Importer i = {.a = a,
                  .scratch = scratch,
                  .m = model_new(a),
                  .limits = limits,
                  .budget = arena_size(a) + most,
                  .words = {.arena = scratch}};
    i.m->path = arena_copy(a, path, str_of(path).len);
    i.m->source = all;
    if (p)
        import_model(&i, (const Onnx__ModelProto *)p);
    else
        report_decode(diags, &error, all);
    if (p && i.over)
        diag_help(diags,
                  diag(diags, "SE006", SEV_ERROR, STR_NONE,
                       "the model takes more %s than the limit", i.over),
                  "cameo.yaml allows more, of a model that is trusted: limits");
    bool ok = p && !i.over;
    if (ok)
        model_sort(i.m, scratch);
    arena_free(scratch);
    return ok ? i.m : NULL;
}
