#include "frontend/export_parts.h"

void *export_new(Arena *a, size_t size, const ProtobufCMessageDescriptor *type, Str unknown)
{
    ProtobufCMessage *m = arena_alloc(a, size);
    m->descriptor = type;
    if (unknown.len) {
        m->n_unknown_fields = 1;
        m->unknown_fields = NEW(a, ProtobufCMessageUnknownField);
        m->unknown_fields->len = unknown.len;
        m->unknown_fields->data = (uint8_t *)(uintptr_t)unknown.at;
    }
    return m;
}

ProtobufCBinaryData export_bytes(Str s)
{
    return (ProtobufCBinaryData){s.len, (uint8_t *)(uintptr_t)s.at};
}

ProtobufCBinaryData *export_strs(Arena *a, const Str *from, size_t n)
{
    ProtobufCBinaryData *to = n ? NEWS(a, ProtobufCBinaryData, n) : NULL;
    for (size_t i = 0; i < n; i++)
        to[i] = export_bytes(from[i]);
    return to;
}

Onnx__StringStringEntryProto **export_props(Arena *a, const Props *p)
{
    Onnx__StringStringEntryProto **to =
        p->len ? NEWS(a, Onnx__StringStringEntryProto *, p->len) : NULL;
    for (uint32_t i = 0; i < p->len; i++) {
        const Prop *from = &p->at[i];
        to[i] =
            EXPORT_NEW(a, Onnx__StringStringEntryProto, string_string_entry_proto, from->unknown);
        to[i]->has_key = (from->has & 1) || from->key.len;
        to[i]->key = export_bytes(from->key);
        to[i]->has_value = (from->has & 2) || from->value.len;
        to[i]->value = export_bytes(from->value);
    }
    return to;
}

static Onnx__TensorShapeProto *export_shape(Arena *a, const Type *t)
{
    if (!t->has_shape)
        return NULL;
    Onnx__TensorShapeProto *s =
        EXPORT_NEW(a, Onnx__TensorShapeProto, tensor_shape_proto, t->unknown_shape);
    s->n_dim = t->rank;
    s->dim = NEWS(a, Onnx__TensorShapeProto__Dimension *, t->rank + 1u);
    for (uint32_t i = 0; i < t->rank; i++) {
        const DeclDim *from = &t->dims[i];
        Onnx__TensorShapeProto__Dimension *d = EXPORT_NEW(
            a, Onnx__TensorShapeProto__Dimension, tensor_shape_proto__dimension, from->unknown);
        s->dim[i] = d;
        d->has_denotation = from->denotation.at != NULL;
        d->denotation = export_bytes(from->denotation);
        if (from->kind == DIM_VALUE) {
            d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            d->dim_value = from->value;
        } else if (from->kind == DIM_PARAM) {
            d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            d->dim_param = export_bytes(from->param);
        }
    }
    return s;
}

static void export_tensor_type(Arena *a, const Type *t, Onnx__TypeProto *p)
{
    if (t->kind == TYPE_TENSOR) {
        p->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
        p->tensor_type =
            EXPORT_NEW(a, Onnx__TypeProto__Tensor, type_proto__tensor, t->unknown_inner);
        p->tensor_type->has_elem_type = t->has_elem;
        p->tensor_type->elem_type = t->elem;
        p->tensor_type->shape = export_shape(a, t);
        return;
    }
    p->value_case = ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE;
    p->sparse_tensor_type =
        EXPORT_NEW(a, Onnx__TypeProto__SparseTensor, type_proto__sparse_tensor, t->unknown_inner);
    p->sparse_tensor_type->has_elem_type = t->has_elem;
    p->sparse_tensor_type->elem_type = t->elem;
    p->sparse_tensor_type->shape = export_shape(a, t);
}

Onnx__TypeProto *export_type(Arena *a, const Type *t)
{
    if (!t)
        return NULL;
    Onnx__TypeProto *p = EXPORT_NEW(a, Onnx__TypeProto, type_proto, t->unknown);
    p->has_denotation = t->denotation.at != NULL;
    p->denotation = export_bytes(t->denotation);
    switch (t->kind) {
    case TYPE_TENSOR:
    case TYPE_SPARSE:
        export_tensor_type(a, t, p);
        break;
    case TYPE_SEQUENCE:
        p->value_case = ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
        p->sequence_type =
            EXPORT_NEW(a, Onnx__TypeProto__Sequence, type_proto__sequence, t->unknown_inner);
        p->sequence_type->elem_type = export_type(a, t->sub);
        break;
    case TYPE_MAP:
        p->value_case = ONNX__TYPE_PROTO__VALUE_MAP_TYPE;
        p->map_type = EXPORT_NEW(a, Onnx__TypeProto__Map, type_proto__map, t->unknown_inner);
        p->map_type->has_key_type = t->has_elem;
        p->map_type->key_type = t->elem;
        p->map_type->value_type = export_type(a, t->sub);
        break;
    case TYPE_OPTIONAL:
        p->value_case = ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE;
        p->optional_type =
            EXPORT_NEW(a, Onnx__TypeProto__Optional, type_proto__optional, t->unknown_inner);
        p->optional_type->elem_type = export_type(a, t->sub);
        break;
    case TYPE_OPAQUE:
        p->value_case = ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE;
        p->opaque_type =
            EXPORT_NEW(a, Onnx__TypeProto__Opaque, type_proto__opaque, t->unknown_inner);
        p->opaque_type->has_domain = t->domain.at != NULL;
        p->opaque_type->domain = export_bytes(t->domain);
        p->opaque_type->has_name = t->name.at != NULL;
        p->opaque_type->name = export_bytes(t->name);
        break;
    case TYPE_NONE:
        break;
    }
    return p;
}

// ---- tensors

static void export_payload(Arena *a, const TensorData *t, Onnx__TensorProto *p)
{
    void *ints = (void *)(uintptr_t)t->ints, *raw = (void *)(uintptr_t)t->raw.at;
    switch (t->payload) {
    case PAYLOAD_FLOAT:
        p->float_data = raw;
        p->n_float_data = t->raw.len / sizeof(float);
        break;
    case PAYLOAD_DOUBLE:
        p->double_data = raw;
        p->n_double_data = t->raw.len / sizeof(double);
        break;
    case PAYLOAD_INT32:
        p->int32_data = ints;
        p->n_int32_data = t->count;
        break;
    case PAYLOAD_INT64:
        p->int64_data = ints;
        p->n_int64_data = t->count;
        break;
    case PAYLOAD_UINT64:
        p->uint64_data = ints;
        p->n_uint64_data = t->count;
        break;
    case PAYLOAD_STRING:
        p->string_data = export_strs(a, t->strings, t->count);
        p->n_string_data = t->count;
        break;
    case PAYLOAD_RAW:
    case PAYLOAD_EXTERNAL:
    case PAYLOAD_NONE:
        p->has_raw_data = t->payload == PAYLOAD_RAW || (t->has & TENSOR_HAS_RAW);
        p->raw_data = export_bytes(t->raw);
        break;
    }
}

Onnx__TensorProto *export_tensor(Arena *a, const TensorData *t)
{
    if (!t)
        return NULL;
    Onnx__TensorProto *p = EXPORT_NEW(a, Onnx__TensorProto, tensor_proto, t->unknown);
    p->has_name = (t->has & TENSOR_HAS_NAME) || t->name.len;
    p->name = export_bytes(t->name);
    p->has_doc_string = (t->has & TENSOR_HAS_DOC) || t->doc.len;
    p->doc_string = export_bytes(t->doc);
    p->has_data_type = (t->has & TENSOR_HAS_DTYPE) || t->dtype;
    p->data_type = t->dtype;
    p->n_dims = t->rank;
    p->dims = (int64_t *)(uintptr_t)t->dims;
    p->n_external_data = t->external.len;
    p->external_data = export_props(a, &t->external);
    p->has_data_location = (t->has & TENSOR_HAS_LOCATION) || t->data_location;
    p->data_location = (Onnx__TensorProto__DataLocation)t->data_location;
    p->n_metadata_props = t->metadata.len;
    p->metadata_props = export_props(a, &t->metadata);
    if (t->has_segment) {
        p->segment = EXPORT_NEW(a, Onnx__TensorProto__Segment, tensor_proto__segment, STR_NONE);
        p->segment->has_begin = t->segment_has & 1;
        p->segment->begin = t->segment_begin;
        p->segment->has_end = t->segment_has >> 1 & 1;
        p->segment->end = t->segment_end;
    }
    export_payload(a, t, p);
    return p;
}

Onnx__SparseTensorProto *export_sparse(Arena *a, const SparseData *s)
{
    if (!s)
        return NULL;
    Onnx__SparseTensorProto *p =
        EXPORT_NEW(a, Onnx__SparseTensorProto, sparse_tensor_proto, s->unknown);
    p->values = export_tensor(a, s->values);
    p->indices = export_tensor(a, s->indices);
    p->n_dims = s->rank;
    p->dims = (int64_t *)(uintptr_t)s->dims;
    return p;
}

// ---- attributes

Onnx__AttributeProto *export_attr_values(Arena *a, const Attr *from)
{
    Onnx__AttributeProto *p = EXPORT_NEW(a, Onnx__AttributeProto, attribute_proto, from->unknown);
    p->has_name = (from->has & ATTR_HAS_NAME) || from->name.len;
    p->name = export_bytes(from->name);
    p->has_doc_string = (from->has & ATTR_HAS_DOC) || from->doc.len;
    p->doc_string = export_bytes(from->doc);
    p->has_ref_attr_name = (from->has & ATTR_HAS_REF) || from->ref.len;
    p->ref_attr_name = export_bytes(from->ref);
    p->has_type = (from->has & ATTR_HAS_TYPE) || from->type;
    p->type = (Onnx__AttributeProto__AttributeType)from->type;
    p->has_f = (from->has & ATTR_HAS_F) != 0;
    p->f = from->f;
    p->has_i = (from->has & ATTR_HAS_I) != 0;
    p->i = from->i;
    p->has_s = (from->has & ATTR_HAS_S) != 0;
    p->s = export_bytes(from->s);
    p->t = export_tensor(a, from->t);
    p->sparse_tensor = export_sparse(a, from->sparse);
    p->tp = export_type(a, from->tp);
    p->n_floats = from->nfloats;
    p->floats = (float *)(uintptr_t)from->floats;
    p->n_ints = from->nints;
    p->ints = (int64_t *)(uintptr_t)from->ints;
    p->n_strings = from->nstrings;
    p->strings = export_strs(a, from->strings, from->nstrings);
    p->n_tensors = from->ntensors;
    p->tensors = NEWS(a, Onnx__TensorProto *, from->ntensors + 1u);
    for (uint32_t i = 0; i < from->ntensors; i++)
        p->tensors[i] = export_tensor(a, from->tensors[i]);
    p->n_sparse_tensors = from->nsparses;
    p->sparse_tensors = NEWS(a, Onnx__SparseTensorProto *, from->nsparses + 1u);
    for (uint32_t i = 0; i < from->nsparses; i++)
        p->sparse_tensors[i] = export_sparse(a, from->sparses[i]);
    p->n_type_protos = from->ntypes;
    p->type_protos = NEWS(a, Onnx__TypeProto *, from->ntypes + 1u);
    for (uint32_t i = 0; i < from->ntypes; i++)
        p->type_protos[i] = export_type(a, from->types[i]);
    return p;
}

// ---- placements

static Onnx__ShardedDimProto *export_sharded(Arena *a, const ShardedDim *d)
{
    Onnx__ShardedDimProto *p = EXPORT_NEW(a, Onnx__ShardedDimProto, sharded_dim_proto, d->unknown);
    p->has_axis = d->has_axis;
    p->axis = d->axis;
    p->n_simple_sharding = d->nsimple;
    p->simple_sharding = NEWS(a, Onnx__SimpleShardedDimProto *, d->nsimple + 1u);
    for (uint32_t i = 0; i < d->nsimple; i++) {
        const struct SimpleSharding *from = &d->simple[i];
        Onnx__SimpleShardedDimProto *s =
            EXPORT_NEW(a, Onnx__SimpleShardedDimProto, simple_sharded_dim_proto, from->unknown);
        p->simple_sharding[i] = s;
        s->has_num_shards = from->has_num;
        s->num_shards = from->num_shards;
        if (from->kind == SHARD_VALUE) {
            s->dim_case = ONNX__SIMPLE_SHARDED_DIM_PROTO__DIM_DIM_VALUE;
            s->dim_value = from->value;
        } else if (from->kind == SHARD_PARAM) {
            s->dim_case = ONNX__SIMPLE_SHARDED_DIM_PROTO__DIM_DIM_PARAM;
            s->dim_param = export_bytes(from->param);
        }
    }
    return p;
}

static Onnx__ShardingSpecProto *export_spec(Arena *a, const ShardingSpec *s)
{
    Onnx__ShardingSpecProto *p =
        EXPORT_NEW(a, Onnx__ShardingSpecProto, sharding_spec_proto, s->unknown);
    p->has_tensor_name = s->tensor.at != NULL;
    p->tensor_name = export_bytes(s->tensor);
    p->n_device = s->ndevices;
    p->device = (int64_t *)(uintptr_t)s->devices;
    p->n_index_to_device_group_map = s->ngroups;
    p->index_to_device_group_map = NEWS(a, Onnx__IntIntListEntryProto *, s->ngroups + 1u);
    for (uint32_t i = 0; i < s->ngroups; i++) {
        const struct IndexGroup *from = &s->groups[i];
        Onnx__IntIntListEntryProto *e =
            EXPORT_NEW(a, Onnx__IntIntListEntryProto, int_int_list_entry_proto, from->unknown);
        p->index_to_device_group_map[i] = e;
        e->has_key = from->has_key;
        e->key = from->key;
        e->n_value = from->nvalues;
        e->value = (int64_t *)(uintptr_t)from->values;
    }
    p->n_sharded_dim = s->ndims;
    p->sharded_dim = NEWS(a, Onnx__ShardedDimProto *, s->ndims + 1u);
    for (uint32_t i = 0; i < s->ndims; i++)
        p->sharded_dim[i] = export_sharded(a, &s->dims[i]);
    return p;
}

Onnx__NodeDeviceConfigurationProto **export_placements(Arena *a, const NodeDeviceConfig *from,
                                                       size_t n)
{
    Onnx__NodeDeviceConfigurationProto **to = NEWS(a, Onnx__NodeDeviceConfigurationProto *, n + 1);
    for (size_t i = 0; i < n; i++) {
        Onnx__NodeDeviceConfigurationProto *p =
            EXPORT_NEW(a, Onnx__NodeDeviceConfigurationProto, node_device_configuration_proto,
                       from[i].unknown);
        to[i] = p;
        p->has_configuration_id = from[i].configuration.at != NULL;
        p->configuration_id = export_bytes(from[i].configuration);
        p->has_pipeline_stage = from[i].has_stage;
        p->pipeline_stage = from[i].stage;
        p->n_sharding_spec = from[i].nspecs;
        p->sharding_spec = NEWS(a, Onnx__ShardingSpecProto *, from[i].nspecs + 1u);
        for (uint32_t k = 0; k < from[i].nspecs; k++)
            p->sharding_spec[k] = export_spec(a, &from[i].specs[k]);
    }
    return to;
}
