// The graph IR to an ONNX file's bytes.
#ifndef CAMEO_FRONTEND_EXPORT_H
#define CAMEO_FRONTEND_EXPORT_H

#include "ir/graph.h"

// Appends the model, field by field as it was imported, with what passes made of it. Values without
// a name get one that no other value has. False with *error set (a constant text) where protobuf
// cannot hold it: over 2 GiB, or nested too deep; *out is as before then.
bool export_onnx(const Model *m, Buf *out, Str *error);

#endif
