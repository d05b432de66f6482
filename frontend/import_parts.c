// The parts of a model that hold no nodes: properties, types, tensors, attributes, placements.
#include "frontend/import_parts.h"

#include "frontend/encode.h"

#include <string.h>

bool import_within(Importer *i)
{
    if (!i->over && arena_size(i->a) > i->budget)
        i->over = "memory";
    return !i->over;
}

Str import_str(protobuf_c_boolean has, ProtobufCBinaryData bytes)
{
    return has ? (Str){bytes.data ? (const char *)bytes.data : "", bytes.len} : STR_NONE;
}

Str import_word(Importer *i, protobuf_c_boolean has, ProtobufCBinaryData bytes)
{
    enum { MANY = 4096 };
    const Str word = import_str(has, bytes);
    bool added = false;
    if (!word.len)
        return word;
    uint32_t *at =
        i->words.len < MANY ? map_put(&i->words, word, &added) : map_get(&i->words, word);
    if (added)
        *at = i->words.len - 1;
    return at ? i->words.entries[*at].key : word;
}

Str *import_strs(Importer *i, const ProtobufCBinaryData *from, size_t n)
{
    Str *to = n && import_within(i) ? NEWS(i->a, Str, n) : NULL;
    for (size_t k = 0; to && k < n; k++)
        to[k] = import_str(1, from[k]);
    return to;
}

Str import_unknown(Importer *i, const ProtobufCMessage *message)
{
    size_t n = message->n_unknown_fields, len = 0;
    const ProtobufCMessageUnknownField *runs = message->unknown_fields;
    if (n == 0)
        return STR_NONE;
    if (n == 1)
        return (Str){(const char *)runs[0].data, runs[0].len};
    for (size_t k = 0; k < n; k++)
        len += runs[k].len;
    char *to = arena_alloc(i->a, len);
    Str all = {to, len};
    for (size_t k = 0; k < n; k++) {
        memcpy(to, runs[k].data, runs[k].len);
        to += runs[k].len;
    }
    return all;
}

Props import_props(Importer *i, Onnx__StringStringEntryProto *const *from, size_t n)
{
    Props props = {0};
    for (size_t k = 0; k < n && import_within(i); k++) {
        const Onnx__StringStringEntryProto *p = from[k];
        i->metadata += p->key.len + p->value.len;
        if (i->metadata > i->limits->max_metadata)
            i->over = "metadata";
        Prop prop = {.key = import_str(p->has_key, p->key),
                     .value = import_str(p->has_value, p->value),
                     .has = (p->has_key ? 1u : 0) | (p->has_value ? 2u : 0),
                     .unknown = import_unknown(i, &p->base)};
        vec_push(i->a, &props, prop);
    }
    return props;
}

static void import_shape(Importer *i, const Onnx__TensorShapeProto *p, Type *t)
{
    t->has_shape = p != NULL;
    if (!p || !import_within(i))
        return;
    t->rank = (uint32_t)p->n_dim;
    t->dims = NEWS(i->a, DeclDim, p->n_dim + 1);
    t->unknown_shape = import_unknown(i, &p->base);
    for (size_t k = 0; k < p->n_dim; k++) {
        const Onnx__TensorShapeProto__Dimension *d = p->dim[k];
        DeclDim *to = &t->dims[k];
        to->denotation = import_str(d->has_denotation, d->denotation);
        to->unknown = import_unknown(i, &d->base);
        if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
            to->kind = DIM_VALUE;
            to->value = d->dim_value;
        } else if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM) {
            to->kind = DIM_PARAM;
            to->param = import_str(1, d->dim_param);
        }
    }
}

static void import_elem(Type *t, TypeKind kind, protobuf_c_boolean has, int32_t elem)
{
    t->kind = kind;
    t->has_elem = has;
    t->elem = elem;
}

// Recursion is bounded by the depth that the decoder admits.
Type *import_type(Importer *i, const Onnx__TypeProto *p)
{
    if (!p || !import_within(i))
        return NULL;
    Type *t = NEW(i->a, Type);
    const ProtobufCMessage *inner = NULL;
    t->denotation = import_str(p->has_denotation, p->denotation);
    t->unknown = import_unknown(i, &p->base);
    switch (p->value_case) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        import_elem(t, TYPE_TENSOR, p->tensor_type->has_elem_type, p->tensor_type->elem_type);
        import_shape(i, p->tensor_type->shape, t);
        inner = &p->tensor_type->base;
        break;
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        import_elem(t, TYPE_SPARSE, p->sparse_tensor_type->has_elem_type,
                    p->sparse_tensor_type->elem_type);
        import_shape(i, p->sparse_tensor_type->shape, t);
        inner = &p->sparse_tensor_type->base;
        break;
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        t->kind = TYPE_SEQUENCE;
        t->sub = import_type(i, p->sequence_type->elem_type);
        inner = &p->sequence_type->base;
        break;
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        import_elem(t, TYPE_MAP, p->map_type->has_key_type, p->map_type->key_type);
        t->sub = import_type(i, p->map_type->value_type);
        inner = &p->map_type->base;
        break;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        t->kind = TYPE_OPTIONAL;
        t->sub = import_type(i, p->optional_type->elem_type);
        inner = &p->optional_type->base;
        break;
    case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
        t->kind = TYPE_OPAQUE;
        t->domain = import_str(p->opaque_type->has_domain, p->opaque_type->domain);
        t->name = import_str(p->opaque_type->has_name, p->opaque_type->name);
        inner = &p->opaque_type->base;
        break;
    default:
        break;
    }
    if (inner)
        t->unknown_inner = import_unknown(i, inner);
    return t;
}

// ---- tensors

// Payload fields beside the one that counts, and what is unknown in a segment, are kept as bytes.
static void keep_rest(Importer *i, const Onnx__TensorProto *p, TensorData *t)
{
    Onnx__TensorProto rest = {.base = {.descriptor = &onnx__tensor_proto__descriptor}};
    Onnx__TensorProto__Segment segment;
#define KEEP(kind, field)                                                                          \
    if (p->n_##field && t->payload != (kind)) {                                                    \
        rest.n_##field = p->n_##field;                                                             \
        rest.field = p->field;                                                                     \
        t->has |= TENSOR_HAS_EXTRA;                                                                \
    }
    KEEP(PAYLOAD_FLOAT, float_data)
    KEEP(PAYLOAD_INT32, int32_data)
    KEEP(PAYLOAD_INT64, int64_data)
    KEEP(PAYLOAD_DOUBLE, double_data)
    KEEP(PAYLOAD_UINT64, uint64_data)
    KEEP(PAYLOAD_STRING, string_data)
#undef KEEP
    if (p->has_raw_data && t->payload != PAYLOAD_RAW)
        t->has |= TENSOR_HAS_EXTRA;
    if (p->segment && p->segment->base.n_unknown_fields) {
        segment = *p->segment;
        segment.has_begin = segment.has_end = 0;
        rest.segment = &segment;
    }
    Buf b = {0};
    const char *error;
    encode_message(&rest.base, UINT64_MAX / 4, &b, &error);
    if (b.len) {
        buf_str(&b, t->unknown);
        t->unknown = (Str){arena_copy(i->a, b.at, b.len), b.len};
    }
    buf_free(&b);
}

static Payload payload_of(const Onnx__TensorProto *p)
{
    return p->has_data_location && p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL
               ? PAYLOAD_EXTERNAL
           : p->has_raw_data  ? PAYLOAD_RAW
           : p->n_float_data  ? PAYLOAD_FLOAT
           : p->n_int32_data  ? PAYLOAD_INT32
           : p->n_int64_data  ? PAYLOAD_INT64
           : p->n_double_data ? PAYLOAD_DOUBLE
           : p->n_uint64_data ? PAYLOAD_UINT64
           : p->n_string_data ? PAYLOAD_STRING
                              : PAYLOAD_NONE;
}

static void import_payload(Importer *i, const Onnx__TensorProto *p, TensorData *t)
{
    t->payload = payload_of(p);
    t->raw = import_str(p->has_raw_data, p->raw_data);
    switch (t->payload) {
    case PAYLOAD_FLOAT:
        t->raw = (Str){(const char *)p->float_data, p->n_float_data * sizeof(float)};
        break;
    case PAYLOAD_DOUBLE:
        t->raw = (Str){(const char *)p->double_data, p->n_double_data * sizeof(double)};
        break;
    case PAYLOAD_INT32:
        t->ints = p->int32_data;
        t->count = p->n_int32_data;
        break;
    case PAYLOAD_INT64:
        t->ints = p->int64_data;
        t->count = p->n_int64_data;
        break;
    case PAYLOAD_UINT64:
        t->ints = p->uint64_data;
        t->count = p->n_uint64_data;
        break;
    case PAYLOAD_STRING:
        t->strings = import_strs(i, p->string_data, p->n_string_data);
        t->count = p->n_string_data;
        break;
    default:
        break;
    }
}

TensorData *import_tensor(Importer *i, const Onnx__TensorProto *p)
{
    if (!p || !import_within(i))
        return NULL;
    TensorData *t = NEW(i->a, TensorData);
    t->name = import_str(p->has_name, p->name);
    t->doc = import_str(p->has_doc_string, p->doc_string);
    t->dtype = p->has_data_type ? p->data_type : 0;
    t->rank = (uint32_t)p->n_dims;
    t->dims = p->dims;
    t->external = import_props(i, p->external_data, p->n_external_data);
    t->data_location = p->has_data_location ? (int32_t)p->data_location : 0;
    t->metadata = import_props(i, p->metadata_props, p->n_metadata_props);
    if (p->segment) {
        t->has_segment = true;
        t->segment_begin = p->segment->begin;
        t->segment_end = p->segment->end;
        t->segment_has = (p->segment->has_begin ? 1u : 0) | (p->segment->has_end ? 2u : 0);
    }
    t->has = (p->has_name ? TENSOR_HAS_NAME : 0) | (p->has_doc_string ? TENSOR_HAS_DOC : 0) |
             (p->has_data_type ? TENSOR_HAS_DTYPE : 0) |
             (p->has_data_location ? TENSOR_HAS_LOCATION : 0) |
             (p->has_raw_data ? TENSOR_HAS_RAW : 0);
    t->unknown = import_unknown(i, &p->base);
    import_payload(i, p, t);
    keep_rest(i, p, t);
    return t;
}

SparseData *import_sparse(Importer *i, const Onnx__SparseTensorProto *p)
{
    if (!p || !import_within(i))
        return NULL;
    SparseData *s = NEW(i->a, SparseData);
    *s = (SparseData){.values = import_tensor(i, p->values),
                      .indices = import_tensor(i, p->indices),
                      .rank = (uint32_t)p->n_dims,
                      .dims = p->dims,
                      .unknown = import_unknown(i, &p->base)};
    return s;
}

// ---- attributes

void import_attr_values(Importer *i, const Onnx__AttributeProto *p, Attr *out)
{
    *out =
        (Attr){.name = import_str(p->has_name, p->name),
               .doc = import_str(p->has_doc_string, p->doc_string),
               .ref = import_str(p->has_ref_attr_name, p->ref_attr_name),
               .type = p->has_type ? (int32_t)p->type : 0,
               .has = (p->has_name ? ATTR_HAS_NAME : 0) | (p->has_doc_string ? ATTR_HAS_DOC : 0) |
                      (p->has_ref_attr_name ? ATTR_HAS_REF : 0) |
                      (p->has_type ? ATTR_HAS_TYPE : 0) | (p->has_f ? ATTR_HAS_F : 0) |
                      (p->has_i ? ATTR_HAS_I : 0) | (p->has_s ? ATTR_HAS_S : 0),
               .f = p->f,
               .i = p->i,
               .s = import_str(p->has_s, p->s),
               .t = import_tensor(i, p->t),
               .sparse = import_sparse(i, p->sparse_tensor),
               .tp = import_type(i, p->tp),
               .nfloats = (uint32_t)p->n_floats,
               .floats = p->floats,
               .nints = (uint32_t)p->n_ints,
               .ints = p->ints,
               .strings = import_strs(i, p->strings, p->n_strings),
               .unknown = import_unknown(i, &p->base)};
    out->nstrings = out->strings ? (uint32_t)p->n_strings : 0;
    if ((uintptr_t)p->floats % sizeof(float)) // a view at a bad alignment
        out->floats = (const void *)arena_copy(i->a, p->floats, p->n_floats * sizeof(float));
    TensorData **tensors = p->n_tensors ? NEWS(i->a, TensorData *, p->n_tensors) : NULL;
    SparseData **sparses =
        p->n_sparse_tensors ? NEWS(i->a, SparseData *, p->n_sparse_tensors) : NULL;
    Type **types = p->n_type_protos ? NEWS(i->a, Type *, p->n_type_protos) : NULL;
    for (size_t k = 0; k < p->n_tensors && import_within(i); k++)
        tensors[k] = import_tensor(i, p->tensors[k]);
    for (size_t k = 0; k < p->n_sparse_tensors && import_within(i); k++)
        sparses[k] = import_sparse(i, p->sparse_tensors[k]);
    for (size_t k = 0; k < p->n_type_protos && import_within(i); k++)
        types[k] = import_type(i, p->type_protos[k]);
    out->tensors = tensors;
    out->sparses = sparses;
    out->types = types;
    out->ntensors = (uint32_t)p->n_tensors;
    out->nsparses = (uint32_t)p->n_sparse_tensors;
    out->ntypes = (uint32_t)p->n_type_protos;
}

// ---- placements

static ShardedDim import_sharded(Importer *i, const Onnx__ShardedDimProto *p)
{
    ShardedDim d = {.has_axis = p->has_axis,
                    .axis = p->axis,
                    .simple = NEWS(i->a, struct SimpleSharding, p->n_simple_sharding + 1),
                    .nsimple = (uint32_t)p->n_simple_sharding,
                    .unknown = import_unknown(i, &p->base)};
    for (size_t k = 0; k < p->n_simple_sharding; k++) {
        const Onnx__SimpleShardedDimProto *s = p->simple_sharding[k];
        struct SimpleSharding *to = &d.simple[k];
        to->has_num = s->has_num_shards;
        to->num_shards = s->num_shards;
        to->unknown = import_unknown(i, &s->base);
        if (s->dim_case == ONNX__SIMPLE_SHARDED_DIM_PROTO__DIM_DIM_VALUE) {
            to->kind = SHARD_VALUE;
            to->value = s->dim_value;
        } else if (s->dim_case == ONNX__SIMPLE_SHARDED_DIM_PROTO__DIM_DIM_PARAM) {
            to->kind = SHARD_PARAM;
            to->param = import_str(1, s->dim_param);
        }
    }
    return d;
}

static ShardingSpec import_spec(Importer *i, const Onnx__ShardingSpecProto *p)
{
    ShardingSpec s = {.tensor = import_str(p->has_tensor_name, p->tensor_name),
                      .devices = p->device,
                      .ndevices = (uint32_t)p->n_device,
                      .groups = NEWS(i->a, struct IndexGroup, p->n_index_to_device_group_map + 1),
                      .ngroups = (uint32_t)p->n_index_to_device_group_map,
                      .dims = NEWS(i->a, ShardedDim, p->n_sharded_dim + 1),
                      .ndims = (uint32_t)p->n_sharded_dim,
                      .unknown = import_unknown(i, &p->base)};
    for (size_t k = 0; k < p->n_index_to_device_group_map; k++) {
        const Onnx__IntIntListEntryProto *e = p->index_to_device_group_map[k];
        s.groups[k] = (struct IndexGroup){.has_key = e->has_key,
                                          .key = e->key,
                                          .values = e->value,
                                          .nvalues = (uint32_t)e->n_value,
                                          .unknown = import_unknown(i, &e->base)};
    }
    for (size_t k = 0; k < p->n_sharded_dim && import_within(i); k++)
        s.dims[k] = import_sharded(i, p->sharded_dim[k]);
    return s;
}

NodeDeviceConfig *import_placements(Importer *i, Onnx__NodeDeviceConfigurationProto *const *from,
                                    size_t n)
{
    NodeDeviceConfig *to = n ? NEWS(i->a, NodeDeviceConfig, n) : NULL;
    for (size_t k = 0; k < n && import_within(i); k++) {
        const Onnx__NodeDeviceConfigurationProto *p = from[k];
        to[k] = (NodeDeviceConfig){.configuration =
                                       import_str(p->has_configuration_id, p->configuration_id),
                                   .specs = NEWS(i->a, ShardingSpec, p->n_sharding_spec + 1),
                                   .nspecs = (uint32_t)p->n_sharding_spec,
                                   .has_stage = p->has_pipeline_stage,
                                   .stage = p->pipeline_stage,
                                   .unknown = import_unknown(i, &p->base)};
        for (size_t j = 0; j < p->n_sharding_spec && import_within(i); j++)
            to[k].specs[j] = import_spec(i, p->sharding_spec[j]);
    }
    return to;
}
