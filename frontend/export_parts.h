// What frontend/export.c and frontend/export_parts.c share. Structs point into the model; what they
// need of their own comes from the arena.
#ifndef CAMEO_FRONTEND_EXPORT_PARTS_H
#define CAMEO_FRONTEND_EXPORT_PARTS_H

#include "frontend/onnx.pb-c.h"
#include "ir/graph.h"

// A new struct of message type `type` (its descriptor is `type`__descriptor), with unknown fields.
#define EXPORT_NEW(a, T, type, unknown)                                                            \
    ((T *)export_new((a), sizeof(T), &onnx__##type##__descriptor, (unknown)))
void *export_new(Arena *a, size_t size, const ProtobufCMessageDescriptor *type, Str unknown);

ProtobufCBinaryData export_bytes(Str s);
ProtobufCBinaryData *export_strs(Arena *a, const Str *from, size_t n);
Onnx__StringStringEntryProto **export_props(Arena *a, const Props *p);
Onnx__TypeProto *export_type(Arena *a, const Type *t); // NULL for NULL
Onnx__TensorProto *export_tensor(Arena *a, const TensorData *t);
Onnx__SparseTensorProto *export_sparse(Arena *a, const SparseData *s);
Onnx__NodeDeviceConfigurationProto **export_placements(Arena *a, const NodeDeviceConfig *from,
                                                       size_t n);
// All of an attribute but the graphs in it.
Onnx__AttributeProto *export_attr_values(Arena *a, const Attr *from);

#endif
