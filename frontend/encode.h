// Message structs to protobuf bytes: the inverse of frontend/decode.h.
#ifndef CAMEO_FRONTEND_ENCODE_H
#define CAMEO_FRONTEND_ENCODE_H

#include "base/str.h"

#include <protobuf-c/protobuf-c.h>

// Appends the message to *out, fields in the order of their numbers, then unknown fields as they
// are (runs of whole fields, as decode_message keeps them). Floats may be at any alignment.
// False with *error set if messages are nested deeper than 200 or `most` bytes do not suffice; *out
// is as before then.
bool encode_message(const ProtobufCMessage *message, uint64_t most, Buf *out, const char **error);

#endif
