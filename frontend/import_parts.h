// What frontend/import.c and frontend/import_parts.c share.
#ifndef CAMEO_FRONTEND_IMPORT_PARTS_H
#define CAMEO_FRONTEND_IMPORT_PARTS_H

#include "frontend/import.h"
#include "frontend/onnx.pb-c.h"

typedef struct Importer {
    Arena *a, *scratch;
    Model *m;
    const ImportLimits *limits;
    uint64_t budget; // size that the arena may reach
    uint64_t metadata;
    Map words;        // operators and domains, each kept once
    const char *over; // the limit that was exceeded
} Importer;

// The names of a graph and of those around it.
typedef struct Scope {
    const struct Scope *outer;
    GraphId graph;
    Map names;
} Scope;

// False once a limit is exceeded.
bool import_within(Importer *i);

// A field, absent where has == 0.
Str import_str(protobuf_c_boolean has, ProtobufCBinaryData bytes);
// The same bytes at one place for all fields that hold them: what every rule asks of every node
// then stays in the cache. Of a model with very many of them some are left where they are.
Str import_word(Importer *i, protobuf_c_boolean has, ProtobufCBinaryData bytes);
Str *import_strs(Importer *i, const ProtobufCBinaryData *from, size_t n);
Str import_unknown(Importer *i, const ProtobufCMessage *message);
Props import_props(Importer *i, Onnx__StringStringEntryProto *const *from, size_t n);
Type *import_type(Importer *i, const Onnx__TypeProto *p); // NULL for NULL
TensorData *import_tensor(Importer *i, const Onnx__TensorProto *p);
SparseData *import_sparse(Importer *i, const Onnx__SparseTensorProto *p);
NodeDeviceConfig *import_placements(Importer *i, Onnx__NodeDeviceConfigurationProto *const *from,
                                    size_t n);
// All of an attribute but the graphs in it.
void import_attr_values(Importer *i, const Onnx__AttributeProto *p, Attr *out);

#endif
