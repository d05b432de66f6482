// Written from the end to the beginning: by the time that a message's length is wanted, its bytes
// are there and can be counted.
#include "frontend/encode.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 200 };

// What is written lies at the end of the buffer.
typedef struct Writer {
    unsigned char *at;
    size_t cap, len, most;
    const char *error;
} Writer;

static void put(Writer *w, const void *bytes, size_t n)
{
    if (w->error || n > w->most - w->len) {
        w->error = w->error ? w->error : "the model takes more than 2 GiB";
        return;
    }
    if (n >= w->cap - w->len) { // one byte stays free, for the NUL of a Buf
        size_t cap = w->cap ? w->cap * 2 : 65536;
        while (cap - w->len <= n)
            cap *= 2;
        unsigned char *at = malloc(cap);
        if (!at)
            abort();
        if (w->len)
            memcpy(at + cap - w->len, w->at + w->cap - w->len, w->len);
        free(w->at);
        w->at = at;
        w->cap = cap;
    }
    w->len += n;
    if (n)
        memcpy(w->at + w->cap - w->len, bytes, n);
}

static void put_varint(Writer *w, uint64_t v)
{
    unsigned char bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (unsigned char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        v >>= 7;
    } while (v);
    put(w, bytes, n);
}

static void put_tag(Writer *w, uint32_t id, unsigned wire)
{
    put_varint(w, (uint64_t)id << 3 | wire);
}

static void put_message(Writer *w, const ProtobufCMessage *m, uint32_t depth);

static size_t element_size(ProtobufCType t)
{
    switch (t) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_ENUM:
        return 4;
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return 8;
    }
}

// The value of one element without its tag; returns its wire type.
static unsigned put_value(Writer *w, ProtobufCType t, const unsigned char *at, uint32_t depth)
{
    int32_t narrow;
    uint64_t wide;
    const ProtobufCMessage *message;
    ProtobufCBinaryData bytes;
    size_t before = w->len;
    switch (t) {
    case PROTOBUF_C_TYPE_FLOAT:
        put(w, at, 4);
        return 5;
    case PROTOBUF_C_TYPE_DOUBLE:
        put(w, at, 8);
        return 1;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_ENUM:
        memcpy(&narrow, at, sizeof narrow);
        put_varint(w, (uint64_t)(int64_t)narrow);
        return 0;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
        memcpy(&wide, at, sizeof wide);
        put_varint(w, wide);
        return 0;
    case PROTOBUF_C_TYPE_BYTES:
        memcpy(&bytes, at, sizeof bytes);
        put(w, bytes.data, bytes.len);
        break;
    default:
        assert(t == PROTOBUF_C_TYPE_MESSAGE);
        memcpy(&message, at, sizeof message);
        put_message(w, message, depth + 1);
    }
    put_varint(w, w->len - before);
    return 2;
}

static void put_repeated(Writer *w, const ProtobufCFieldDescriptor *f, const unsigned char *m,
                         uint32_t depth)
{
    size_t n = *(const size_t *)(const void *)(m + f->quantifier_offset);
    const unsigned char *array = *(unsigned char *const *)(const void *)(m + f->offset);
    size_t size = element_size(f->type), before = w->len;
    bool packed = f->flags & PROTOBUF_C_FIELD_FLAG_PACKED;
    bool whole = f->type == PROTOBUF_C_TYPE_FLOAT || f->type == PROTOBUF_C_TYPE_DOUBLE;
    if (packed && whole)
        put(w, array, n * size);
    for (size_t i = packed && whole ? 0 : n; i-- > 0 && !w->error;) {
        unsigned wire = put_value(w, f->type, array + i * size, depth);
        if (!packed)
            put_tag(w, f->id, wire);
    }
    if (packed && n) {
        put_varint(w, w->len - before);
        put_tag(w, f->id, 2);
    }
}

static bool is_present(const ProtobufCFieldDescriptor *f, const unsigned char *m)
{
    const void *quantifier = m + f->quantifier_offset;
    if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        return *(const int *)quantifier == (int)f->id;
    if (f->type == PROTOBUF_C_TYPE_MESSAGE)
        return *(void *const *)(const void *)(m + f->offset) != NULL;
    return *(const protobuf_c_boolean *)quantifier;
}

static void put_message(Writer *w, const ProtobufCMessage *m, uint32_t depth)
{
    if (depth > MAX_DEPTH) {
        w->error = "messages are nested deeper than 200";
        return;
    }
    const unsigned char *at = (const unsigned char *)m;
    for (unsigned i = m->n_unknown_fields; i-- > 0;)
        put(w, m->unknown_fields[i].data, m->unknown_fields[i].len);
    for (unsigned i = m->descriptor->n_fields; i-- > 0 && !w->error;) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        if (f->label == PROTOBUF_C_LABEL_REPEATED)
            put_repeated(w, f, at, depth);
        else if (is_present(f, at))
            put_tag(w, f->id, put_value(w, f->type, at + f->offset, depth));
    }
}

bool encode_message(const ProtobufCMessage *message, uint64_t most, Buf *out, const char **error)
{
    Writer w = {.most = most};
    put_message(&w, message, 0);
    *error = w.error;
    if (!w.error && out->len == 0 && w.len) { // hand the memory over instead of copying it
        memmove(w.at, w.at + w.cap - w.len, w.len);
        w.at[w.len] = 0;
        free(out->at);
        *out = (Buf){(char *)w.at, w.len, w.cap};
        return true;
    }
    if (!w.error)
        buf_put(out, w.at + w.cap - w.len, w.len);
    free(w.at);
    return !w.error;
}
