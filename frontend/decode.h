// Protobuf bytes to the message structs that protoc-c generates, for bytes that nobody vouches for.
//
// One walk for every message type, driven by the descriptors. It uses no recursion, never copies
// strings, bytes and packed floats (they are views of the input, floats at any alignment), takes
// memory in proportion to the input and up to a limit, and time linear in the input, also where a
// singular field is repeated: the pieces of one message are read as if they followed each other,
// which is what merging means.
#ifndef CAMEO_FRONTEND_DECODE_H
#define CAMEO_FRONTEND_DECODE_H

#include "base/str.h"

#include <protobuf-c/protobuf-c.h>

typedef struct DecodeLimits {
    uint32_t max_depth;  // messages inside each other, groups too
    uint64_t max_memory; // bytes taken from both arenas
} DecodeLimits;

typedef struct DecodeError {
    bool limit;       // a limit, not the bytes, is to blame
    uint64_t offset;  // in the input, where reading stopped
    uint64_t missing; // so many bytes end a field that is longer than the input; 0: none is
    Str path;         // "graph.node[3].attribute[0]": the message around that place
    Str message;
} DecodeError;

// Where a message lay: of one in several pieces, the first.
typedef struct DecodeSpan {
    uint64_t offset, length;
} DecodeSpan;

// The message of type `type` in `bytes`, or NULL with *error set. Structs come from `scratch`,
// arrays of integers and error texts from `keep`. Fields that the type does not have, or has with
// another wire type, are kept: unknown_fields holds runs of whole fields as they were, tags
// included (their tag and wire_type members are 0). Empty messages of one type may be one struct.
ProtobufCMessage *decode_message(Arena *keep, Arena *scratch,
                                 const ProtobufCMessageDescriptor *type, Str bytes,
                                 const DecodeLimits *limits, DecodeError *error);

// Of a message made by decode_message.
DecodeSpan decode_span(const ProtobufCMessage *message);

#endif
