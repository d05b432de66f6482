#include "frontend/decode.h"

#include <assert.h>
#include <string.h>

enum { MAX_FIELDS = 24, MAX_TYPES = 40 };

// A piece of a message: bytes that hold whole fields.
typedef struct Piece {
    const uint8_t *at, *end;
    struct Piece *next;
} Piece;

// A message that is being read. First all of its pieces are counted (open_frame), then filled
// (fill_frame) with a stop at each message inside, which is read before going on.
typedef struct Frame {
    const ProtobufCMessageDescriptor *type;
    unsigned char *message;
    Piece own, *now;
    const uint8_t *at;
    const uint8_t *unknown_end; // of the last run of unknown fields
    size_t runs;                // of unknown fields, filled
    size_t filled[MAX_FIELDS];  // elements of repeated fields
    Piece *first[MAX_FIELDS];   // pieces of singular messages
    Piece *last[MAX_FIELDS];
    unsigned next_single;                   // field whose singular message comes next
    const ProtobufCFieldDescriptor *holder; // field of the frame below that holds this message
    size_t index;                           // and which element of it
} Frame;

typedef struct Decoder {
    Arena *keep, *scratch;
    const uint8_t *base;
    const DecodeLimits *limits;
    uint64_t taken;
    Frame *frames;
    uint32_t depth;
    bool failed;
    DecodeError *error;
    struct {
        const ProtobufCMessageDescriptor *type;
        unsigned char *message;
    } empty[MAX_TYPES]; // one message without fields for each type
} Decoder;

// One field on the wire.
typedef struct Item {
    uint32_t id;
    unsigned wire;
    const uint8_t *start, *body, *end; // the tag, what follows it (or its length), the next field
    uint64_t value;                    // varint
} Item;

typedef enum Wire { VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 } Wire;

static Str path_of(const Decoder *d)
{
    Buf b = {0};
    for (uint32_t i = 1; i < d->depth; i++) {
        const Frame *f = &d->frames[i];
        buf_printf(&b, "%s%s", i > 1 ? "." : "", f->holder->name);
        if (f->holder->label == PROTOBUF_C_LABEL_REPEATED)
            buf_printf(&b, "[%zu]", f->index);
    }
    Str s = {arena_copy(d->keep, b.at, b.len), b.len};
    buf_free(&b);
    return s;
}

static bool fail(Decoder *d, bool limit, const uint8_t *at, const char *why)
{
    if (!d->failed)
        *d->error = (DecodeError){.limit = limit,
                                  .offset = (uint64_t)(at - d->base),
                                  .path = path_of(d),
                                  .message = str_of(why)};
    d->failed = true;
    return false;
}

static void *take(Decoder *d, Arena *a, size_t n, size_t size, const uint8_t *at)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > d->limits->max_memory ||
        d->taken + bytes > d->limits->max_memory) {
        fail(d, true, at, "reading the model takes more memory than the limit");
        return NULL;
    }
    d->taken += (bytes + 15) & ~UINT64_C(15);
    return arena_alloc(a, bytes);
}

static bool read_varint(Decoder *d, const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;
    const uint8_t *p = *at;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (p == end)
            return fail(d, false, *at, "an integer goes on beyond the end of its message");
        uint8_t byte = *p++;
        v |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (shift == 63 && byte > 1)
            break;
        if (!(byte & 0x80)) {
            *at = p;
            *out = v;
            return true;
        }
    }
    return fail(d, false, *at, "an integer has more than 64 bits");
}

static bool read_tag(Decoder *d, const uint8_t **at, const uint8_t *end, Item *item)
{
    uint64_t tag = 0;
    item->start = *at;
    if (!read_varint(d, at, end, &tag))
        return false;
    if (tag > UINT32_MAX || tag >> 3 == 0)
        return fail(d, false, item->start, "a field has no valid number");
    item->id = (uint32_t)(tag >> 3);
    item->wire = tag & 7;
    return true;
}

// Sets body and end of an item whose tag is read, other than a group.
static bool read_body(Decoder *d, const uint8_t *at, const uint8_t *end, Item *item)
{
    uint64_t length = item->wire == FIXED64 ? 8 : 4;
    item->body = at;
    item->end = at;
    switch (item->wire) {
    case VARINT:
        return read_varint(d, &item->end, end, &item->value);
    case BYTES:
        if (!read_varint(d, &at, end, &length))
            return false;
        item->body = at;
        break;
    case FIXED32:
    case FIXED64:
        break;
    default:
        return fail(d, false, item->start, "a field has no valid wire type");
    }
    if (length > (uint64_t)(end - at)) {
        fail(d, false, item->start, "a field is longer than the message around it");
        d->error->missing = d->error->path.len ? 0 : length - (uint64_t)(end - at);
        return false;
    }
    item->end = at + length;
    return true;
}

// Finds the end of a group, whose tag is read; groups inside it are matched by their numbers.
static bool skip_group(Decoder *d, const uint8_t *at, const uint8_t *end, Item *group)
{
    enum { MOST = 128 };
    uint32_t open[MOST], depth = 0, most = d->limits->max_depth - d->depth + 1;
    open[depth++] = group->id;
    while (depth) {
        Item inner = {0};
        if (!read_tag(d, &at, end, &inner))
            return false;
        if (inner.wire == GROUP) {
            if (depth >= MOST || depth >= most)
                return fail(d, true, inner.start, "messages are nested deeper than the limit");
            open[depth++] = inner.id;
        } else if (inner.wire == GROUP_END) {
            if (open[--depth] != inner.id)
                return fail(d, false, inner.start, "a group ends that did not begin");
        } else {
            if (!read_body(d, at, end, &inner))
                return false;
            at = inner.end;
        }
    }
    group->body = at;
    group->end = at;
    return true;
}

static bool read_item(Decoder *d, const uint8_t *at, const uint8_t *end, Item *item)
{
    *item = (Item){0};
    if (!read_tag(d, &at, end, item))
        return false;
    return item->wire == GROUP ? skip_group(d, at, end, item) : read_body(d, at, end, item);
}

static Wire wire_of(ProtobufCType t)
{
    switch (t) {
    case PROTOBUF_C_TYPE_FLOAT:
        return FIXED32;
    case PROTOBUF_C_TYPE_DOUBLE:
        return FIXED64;
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return BYTES;
    default:
        return VARINT;
    }
}

static size_t size_of(ProtobufCType t)
{
    switch (t) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_ENUM:
        return 4;
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    default:
        assert(t == PROTOBUF_C_TYPE_MESSAGE); // the only types that onnx.proto uses
        return sizeof(void *);
    }
}

// The field that an item fills, or NULL: kept as unknown.
static const ProtobufCFieldDescriptor *field_of(const ProtobufCMessageDescriptor *type,
                                                const Item *item)
{
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &type->fields[i];
        if (f->id != item->id)
            continue;
        bool packed = f->label == PROTOBUF_C_LABEL_REPEATED && item->wire == BYTES;
        return item->wire == (unsigned)wire_of(f->type) || packed ? f : NULL;
    }
    return NULL;
}

static bool is_packed(const ProtobufCFieldDescriptor *f, const Item *item)
{
    return item->wire == BYTES && wire_of(f->type) != BYTES;
}

static size_t *count_of(const Frame *f, const ProtobufCFieldDescriptor *field)
{
    return (size_t *)(void *)(f->message + field->quantifier_offset);
}

static int *case_of(const Frame *f, const ProtobufCFieldDescriptor *field)
{
    return (int *)(void *)(f->message + field->quantifier_offset);
}

// How many elements an item adds to a repeated field.
static bool count_elements(Decoder *d, const ProtobufCFieldDescriptor *f, const Item *item,
                           size_t *n)
{
    size_t length = (size_t)(item->end - item->body), size = size_of(f->type);
    *n = 1;
    if (!is_packed(f, item))
        return true;
    if (wire_of(f->type) != VARINT) {
        *n = length / size;
        return length % size == 0 ||
               fail(d, false, item->start, "packed numbers do not fill their field");
    }
    *n = 0;
    for (const uint8_t *p = item->body; p < item->end; p++)
        *n += *p < 0x80;
    return length == 0 || item->end[-1] < 0x80 ||
           fail(d, false, item->start, "packed numbers do not fill their field");
}

// Another member of a oneof: what came before of it counts no longer.
static void choose_member(Frame *f, const ProtobufCFieldDescriptor *field)
{
    int *which = case_of(f, field);
    if (*which == (int)field->id)
        return;
    *which = (int)field->id;
    for (unsigned i = 0; i < f->type->n_fields; i++) {
        const ProtobufCFieldDescriptor *other = &f->type->fields[i];
        if ((other->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
            other->quantifier_offset == field->quantifier_offset)
            f->first[i] = f->last[i] = NULL;
    }
}

static bool count_item(Decoder *d, Frame *f, const Item *item)
{
    const ProtobufCFieldDescriptor *field = field_of(f->type, item);
    ProtobufCMessage *message = (ProtobufCMessage *)(void *)f->message;
    if (!field) {
        message->n_unknown_fields += f->unknown_end != item->start;
        f->unknown_end = item->end;
        return true;
    }
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        choose_member(f, field);
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t more;
        if (!count_elements(d, field, item, &more))
            return false;
        size_t *n = count_of(f, field);
        *n += more; // no more than bytes in the input
        return *n < UINT32_MAX / 2 ||
               fail(d, true, item->start, "a field has more elements than the limit");
    }
    if (field->type != PROTOBUF_C_TYPE_MESSAGE)
        return true;
    Piece *p = take(d, d->scratch, 1, sizeof *p, item->start);
    if (!p)
        return false;
    *p = (Piece){item->body, item->end, NULL};
    size_t i = (size_t)(field - f->type->fields);
    *(f->first[i] ? &f->last[i]->next : &f->first[i]) = p;
    f->last[i] = p;
    return true;
}

static unsigned char *new_message(Decoder *d, const ProtobufCMessageDescriptor *type,
                                  const uint8_t *at, const uint8_t *end)
{
    size_t header = sizeof(DecodeSpan);
    unsigned char *p = take(d, d->scratch, 1, header + type->sizeof_message, at);
    if (!p)
        return NULL;
    *(DecodeSpan *)(void *)p = (DecodeSpan){(uint64_t)(at - d->base), (uint64_t)(end - at)};
    ((ProtobufCMessage *)(void *)(p + header))->descriptor = type;
    return p + header;
}

DecodeSpan decode_span(const ProtobufCMessage *message)
{
    return ((const DecodeSpan *)message)[-1];
}

// Begins a message of one or more pieces on top of the stack.
static bool open_frame(Decoder *d, const ProtobufCMessageDescriptor *type, unsigned char *message,
                       Piece pieces, const ProtobufCFieldDescriptor *holder, size_t index)
{
    if (d->depth > d->limits->max_depth)
        return fail(d, true, pieces.at, "messages are nested deeper than the limit");
    assert(type->n_fields <= MAX_FIELDS);
    Frame *f = &d->frames[d->depth++];
    *f = (Frame){.type = type, .message = message, .own = pieces, .holder = holder, .index = index};
    for (const Piece *p = &f->own; p; p = p->next) {
        Item item;
        for (const uint8_t *at = p->at; at < p->end; at = item.end)
            if (!read_item(d, at, p->end, &item) || !count_item(d, f, &item))
                return false;
    }
    ProtobufCMessage *m = (ProtobufCMessage *)(void *)message;
    if (m->n_unknown_fields) {
        m->unknown_fields =
            take(d, d->scratch, m->n_unknown_fields, sizeof *m->unknown_fields, pieces.at);
        if (!m->unknown_fields)
            return false;
    }
    f->unknown_end = NULL;
    f->now = &f->own;
    f->at = f->own.at;
    return true;
}

static void keep_unknown(Frame *f, const Item *item)
{
    ProtobufCMessage *m = (ProtobufCMessage *)(void *)f->message;
    if (f->unknown_end != item->start)
        m->unknown_fields[f->runs++] =
            (ProtobufCMessageUnknownField){.data = (uint8_t *)(uintptr_t)item->start};
    m->unknown_fields[f->runs - 1].len += (size_t)(item->end - item->start);
    f->unknown_end = item->end;
}

static void store_number(ProtobufCType t, const Item *item, unsigned char *to)
{
    int32_t narrow = (int32_t)(uint32_t)item->value;
    if (wire_of(t) != VARINT)
        memcpy(to, item->body, size_of(t)); // little-endian, as here
    else if (size_of(t) == 4)
        memcpy(to, &narrow, sizeof narrow);
    else
        memcpy(to, &item->value, sizeof item->value);
}

static void store_bytes(const Item *item, unsigned char *to)
{
    *(ProtobufCBinaryData *)(void *)to =
        (ProtobufCBinaryData){(size_t)(item->end - item->body), (uint8_t *)(uintptr_t)item->body};
}

static void store_singular(const Frame *f, const ProtobufCFieldDescriptor *field, const Item *item)
{
    bool oneof = field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
    if (oneof && *case_of(f, field) != (int)field->id)
        return;
    if (!oneof)
        *(protobuf_c_boolean *)(void *)(f->message + field->quantifier_offset) = 1;
    if (field->type == PROTOBUF_C_TYPE_BYTES)
        store_bytes(item, f->message + field->offset);
    else
        store_number(field->type, item, f->message + field->offset);
}

// Appends an item's elements to a repeated field of numbers.
static bool store_packed(Decoder *d, const ProtobufCFieldDescriptor *field, const Item *item,
                         unsigned char *to, size_t *filled)
{
    size_t size = size_of(field->type);
    if (wire_of(field->type) != VARINT) {
        memcpy(to + *filled * size, item->body, (size_t)(item->end - item->body));
        *filled += (size_t)(item->end - item->body) / size;
        return true;
    }
    for (const uint8_t *p = item->body; p < item->end;) {
        Item one = {.wire = VARINT};
        if (!read_varint(d, &p, item->end, &one.value))
            return false;
        store_number(field->type, &one, to + (*filled)++ * size);
    }
    return true;
}

// One message without fields serves for all of a type: a file can name millions in a few bytes.
static unsigned char *empty_message(Decoder *d, const ProtobufCMessageDescriptor *type,
                                    const Item *item)
{
    unsigned i = 0;
    while (i < MAX_TYPES && d->empty[i].type && d->empty[i].type != type)
        i++;
    assert(i < MAX_TYPES);
    if (!d->empty[i].type) {
        d->empty[i].message = new_message(d, type, item->body, item->end);
        d->empty[i].type = type;
    }
    return d->empty[i].message;
}

// Stores an item in a repeated field; a message with contents becomes the top of the stack.
static bool store_element(Decoder *d, Frame *f, const ProtobufCFieldDescriptor *field,
                          const Item *item)
{
    void **array = (void **)(void *)(f->message + field->offset);
    size_t total = *count_of(f, field), *filled = &f->filled[field - f->type->fields];
    size_t size = size_of(field->type), length = (size_t)(item->end - item->body);
    bool packed = is_packed(field, item), whole = wire_of(field->type) != VARINT;
    if (packed && whole && length / size == total) {
        *array = (void *)(uintptr_t)item->body;
        return true;
    }
    if (!*array && total) {
        Arena *a = wire_of(field->type) == BYTES ? d->scratch : d->keep;
        *array = take(d, a, total, size, item->start);
        if (!*array)
            return false;
    }
    unsigned char *to = *array;
    if (packed)
        return store_packed(d, field, item, to, filled);
    size_t index = (*filled)++;
    to += index * size;
    if (field->type == PROTOBUF_C_TYPE_BYTES) {
        store_bytes(item, to);
    } else if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        store_number(field->type, item, to);
    } else {
        unsigned char *message = length ? new_message(d, field->descriptor, item->body, item->end)
                                        : empty_message(d, field->descriptor, item);
        *(void **)(void *)to = message;
        Piece piece = {item->body, item->end, NULL};
        if (!message || (length && !open_frame(d, field->descriptor, message, piece, field, index)))
            return false;
    }
    return true;
}

// Goes on with the message on top until a message inside it is on top or it is complete. Returns
// false on failure.
static bool fill_frame(Decoder *d)
{
    uint32_t depth = d->depth;
    Frame *f = &d->frames[depth - 1];
    while (f->now) {
        while (f->at < f->now->end) {
            Item item;
            if (!read_item(d, f->at, f->now->end, &item))
                return false;
            f->at = item.end;
            const ProtobufCFieldDescriptor *field = field_of(f->type, &item);
            if (!field)
                keep_unknown(f, &item);
            else if (field->label == PROTOBUF_C_LABEL_REPEATED) {
                if (!store_element(d, f, field, &item))
                    return false;
                if (d->depth != depth)
                    return true;
            } else if (field->type != PROTOBUF_C_TYPE_MESSAGE)
                store_singular(f, field, &item);
        }
        f->now = f->now->next;
        f->at = f->now ? f->now->at : NULL;
    }
    for (; f->next_single < f->type->n_fields; f->next_single++) {
        const Piece *pieces = f->first[f->next_single];
        const ProtobufCFieldDescriptor *field = &f->type->fields[f->next_single];
        if (!pieces)
            continue;
        unsigned char *message = new_message(d, field->descriptor, pieces->at, pieces->end);
        *(void **)(void *)(f->message + field->offset) = message;
        f->next_single++;
        return message && open_frame(d, field->descriptor, message, *pieces, field, 0);
    }
    d->depth--;
    return true;
}

ProtobufCMessage *decode_message(Arena *keep, Arena *scratch,
                                 const ProtobufCMessageDescriptor *type, Str bytes,
                                 const DecodeLimits *limits, DecodeError *error)
{
    Decoder d = {.keep = keep,
                 .scratch = scratch,
                 .base = (const uint8_t *)(bytes.at ? bytes.at : ""),
                 .limits = limits,
                 .error = error};
    d.frames = NEWS(scratch, Frame, limits->max_depth + 1u);
    unsigned char *root = new_message(&d, type, d.base, d.base + bytes.len);
    if (!root)
        return NULL;
    bool ok = open_frame(&d, type, root, (Piece){d.base, d.base + bytes.len, NULL}, NULL, 0);
    while (ok && d.depth)
        ok = fill_frame(&d);
    return ok ? (ProtobufCMessage *)(void *)root : NULL;
}
