/* Serialized SequenceProto, OptionalProto and MapProto: read field by field with bounds, written;
 * and values of such types in print. A message says what it holds; the model's type says what it
 * has to, so how deep they nest is the model's to say. */
#include "cameo_lists.h"
#include "cameo_wire.h"

enum { HOLDS_NONE, HOLDS_TENSOR, HOLDS_SPARSE, HOLDS_SEQUENCE, HOLDS_MAP, HOLDS_OPTIONAL };

/* ---- memory */

typedef struct cameo_owned {
    struct cameo_owned *next;
    void *at;
} cameo_owned;

typedef struct Reader {
    cameo_loaded *to;
    char *error;
    size_t room;
} Reader;

static int damaged(Reader *r, const char *what)
{
    if (!r->error[0])
        snprintf(r->error, r->room, "%s", what);
    return -1;
}

/* Keeps what was malloc'ed as long as the value lives. NULL: no memory. */
static void *keep(Reader *r, void *at)
{
    cameo_owned *o = at ? malloc(sizeof *o) : NULL;
    if (!o) {
        free(at);
        damaged(r, "no memory");
        return NULL;
    }
    *o = (cameo_owned){r->to->owned, at};
    r->to->owned = o;
    return at;
}

static void *keep_array(Reader *r, size_t n, size_t size)
{
    return keep(r, calloc(n + 1, size));
}

void cameo_free_object(cameo_loaded *l)
{
    for (cameo_owned *o = l->owned, *next; o; o = next) {
        next = o->next;
        free(o->at);
        free(o);
    }
    l->owned = NULL;
}

/* ---- reading */

static int read_value(Reader *r, cameo_span s, const cameo_type *type, cameo_object *o);

static int read_tensor(Reader *r, cameo_span s, cameo_object *o)
{
    cameo_tensor t;
    int status = cameo_read_pb(s.at, s.len, &t, r->error, r->room);
    void *elements = t.elements ? keep(r, t.elements) : NULL;
    if (t.text && !keep(r, t.text))
        return -1;
    if (status != 0 || !elements)
        return damaged(r, "no memory");
    int64_t *dims = (int64_t *)keep_array(r, (size_t)t.rank, sizeof *dims);
    if (!dims)
        return -1;
    memcpy(dims, t.dims, (size_t)t.rank * sizeof *dims);
    *o = (cameo_object){CAMEO_TENSOR, t.dtype, t.rank, dims, elements, 0, NULL};
    return 0;
}

/* The field of a SequenceProto (of an OptionalProto: the same numbers) that holds what it holds. */
static uint32_t field_of(const cameo_type *item)
{
    static const uint32_t fields[] = {3, 5, 7, 6};
    return item ? fields[item->kind] : fields[CAMEO_TENSOR];
}

static int32_t holds(const cameo_type *item)
{
    static const int32_t kinds[] = {HOLDS_TENSOR, HOLDS_SEQUENCE, HOLDS_OPTIONAL, HOLDS_MAP};
    return item ? kinds[item->kind] : kinds[CAMEO_TENSOR];
}

/* How often a field stands in a message; what elem_type (field 2) says. -1: it is damaged. */
static int64_t count_fields(cameo_span s, uint32_t wanted, uint64_t *elem_type)
{
    uint32_t number, wire;
    uint64_t v;
    cameo_span body;
    int64_t n = 0;
    *elem_type = HOLDS_NONE;
    while (s.len) {
        if (!cameo_take_field(&s, &number, &wire, &v, &body))
            return -1;
        n += number == wanted && wire == 2;
        if (number == 2 && wire == 0)
            *elem_type = v;
    }
    return n;
}

/* A sequence, or (at most one item) an optional. */
static int read_items(Reader *r, cameo_span s, const cameo_type *type, cameo_object *o)
{
    uint32_t number, wire, field = field_of(type->item);
    uint64_t v, elem_type;
    cameo_span body;
    int64_t count = count_fields(s, field, &elem_type), n = 0;
    if (count < 0)
        return damaged(r, "a message that is cut short");
    if (elem_type == HOLDS_NONE)
        count = 0;
    else if (elem_type != (uint64_t)holds(type->item))
        return damaged(r, "what it holds is not what the model takes");
    if (type->kind == CAMEO_OPTIONAL && count > 1)
        return damaged(r, "an optional with more than one value");
    cameo_object *items = (cameo_object *)keep_array(r, (size_t)count, sizeof *items);
    if (!items)
        return -1;
    while (n < count && cameo_take_field(&s, &number, &wire, &v, &body)) {
        if (number == field && wire == 2 && read_value(r, body, type->item, &items[n++]) != 0)
            return -1;
    }
    *o = (cameo_object){type->kind, 0, 0, NULL, NULL, count, items};
    return 0;
}

/* Scalars of one dtype are kept as one tensor of them; anything else stays a sequence. */
static int join_scalars(Reader *r, cameo_object *values)
{
    int64_t n = values->count;
    int32_t dtype = n ? values->items[0].dtype : 0;
    int64_t size = cameo_dtype_size(dtype);
    for (int64_t i = 0; i < n; i++)
        if (values->items[i].rank != 0 || values->items[i].dtype != dtype)
            return 0;
    if (!size)
        return 0;
    int64_t *dims = (int64_t *)keep_array(r, 1, sizeof *dims);
    unsigned char *elements = (unsigned char *)keep_array(r, (size_t)n, (size_t)size);
    if (!dims || !elements)
        return -1;
    dims[0] = n;
    for (int64_t i = 0; i < n; i++)
        memcpy(elements + i * size, values->items[i].elements, (size_t)size);
    *values = (cameo_object){CAMEO_TENSOR, dtype, 1, dims, elements, 0, NULL};
    return 0;
}

static int64_t count_keys(cameo_span s, bool text)
{
    uint32_t number, wire;
    uint64_t v;
    cameo_span body;
    int64_t n = 0;
    while (s.len) {
        if (!cameo_take_field(&s, &number, &wire, &v, &body))
            return -1;
        if (number == (text ? 4u : 3u))
            n += text || wire == 0 ? 1 : (int64_t)body.len;
    }
    return n;
}

static int put_key(Reader *r, int32_t dtype, void *elements, int64_t n, uint64_t v, cameo_span text)
{
    int64_t size = cameo_dtype_size(dtype);
    if (dtype != 8) {
        memcpy((unsigned char *)elements + n * size, &v, (size_t)size);
        return 0;
    }
    char *copy = (char *)keep_array(r, text.len, 1);
    if (!copy)
        return -1;
    if (text.len)
        memcpy(copy, text.at, text.len);
    ((cameo_str *)elements)[n] = (cameo_str){copy, (int64_t)text.len};
    return 0;
}

static int read_map(Reader *r, cameo_span s, const cameo_type *type, cameo_object *o)
{
    uint32_t number, wire;
    uint64_t v;
    bool text = type->key == 8;
    cameo_span body, values = {s.at, 0};
    int64_t room = count_keys(s, text), n = 0;
    if (room < 0 || cameo_dtype_size(type->key) == 0)
        return damaged(r, "a MapProto that is cut short");
    void *keys = keep_array(r, (size_t)room, (size_t)cameo_dtype_size(type->key));
    int64_t *dims = (int64_t *)keep_array(r, 1, sizeof *dims);
    cameo_object *items = (cameo_object *)keep_array(r, 2, sizeof *items);
    if (!keys || !dims || !items)
        return -1;
    while (s.len && cameo_take_field(&s, &number, &wire, &v, &body)) {
        if (number == 2 && wire == 0 && (int32_t)v != type->key)
            return damaged(r, "a map whose keys have another type than the model takes");
        if (number == 5 && wire == 2)
            values = body;
        if (number != (text ? 4u : 3u))
            continue;
        if ((text || wire == 0) && put_key(r, type->key, keys, n++, v, body) != 0)
            return -1;
        while (!text && wire == 2 && body.len) {
            if (!cameo_take_varint(&body, &v))
                return damaged(r, "a MapProto that is cut short");
            put_key(r, type->key, keys, n++, v, body);
        }
    }
    dims[0] = n;
    items[0] = (cameo_object){CAMEO_TENSOR, type->key, 1, dims, keys, 0, NULL};
    cameo_type of_values = {.kind = CAMEO_SEQUENCE, .item = type->item};
    if (read_items(r, values, &of_values, &items[1]) != 0 ||
        (!type->item && join_scalars(r, &items[1]) != 0))
        return -1;
    int64_t have = items[1].kind == CAMEO_TENSOR ? items[1].dims[0] : items[1].count;
    if (have != n)
        return damaged(r, "a map with another number of keys than of values");
    *o = (cameo_object){CAMEO_MAP, 0, 0, NULL, NULL, 2, items};
    return 0;
}

static int read_value(Reader *r, cameo_span s, const cameo_type *type, cameo_object *o)
{
    return !type                     ? read_tensor(r, s, o)
           : type->kind == CAMEO_MAP ? read_map(r, s, type, o)
                                     : read_items(r, s, type, o);
}

int cameo_read_object(const unsigned char *at, size_t len, const cameo_type *type, cameo_loaded *to,
                      char *error, size_t room)
{
    Reader r = {to, error, room};
    *to = (cameo_loaded){.owned = NULL};
    error[0] = 0;
    return read_value(&r, (cameo_span){at, len}, type, &to->object);
}

/* ---- writing */

typedef struct Bytes {
    unsigned char *at;
    size_t len, room;
    bool failed;
} Bytes;

static void put(Bytes *b, const void *from, size_t n)
{
    if (b->failed)
        return;
    if (n > b->room - b->len) {
        size_t room = b->room * 2 + n + 64;
        unsigned char *at = (unsigned char *)realloc(b->at, room);
        if (!at) {
            b->failed = true;
            return;
        }
        b->at = at;
        b->room = room;
    }
    if (n)
        memcpy(b->at + b->len, from, n);
    b->len += n;
}

static void put_number(Bytes *b, uint64_t v)
{
    unsigned char bytes[10];
    put(b, bytes, cameo_put_varint(bytes, v));
}

static void put_field(Bytes *b, uint32_t field, uint64_t v)
{
    put_number(b, (uint64_t)field << 3);
    put_number(b, v);
}

static void put_bytes(Bytes *b, uint32_t field, const void *at, size_t len)
{
    put_number(b, (uint64_t)field << 3 | 2);
    put_number(b, len);
    put(b, at, len);
}

static void format_value(Bytes *b, const cameo_object *o, const cameo_type *type, const char *name);

/* A field that holds a value's message. */
static void put_value(Bytes *b, uint32_t field, const cameo_object *o, const cameo_type *type)
{
    Bytes inner = {NULL, 0, 0, false};
    format_value(&inner, o, type, "");
    b->failed |= inner.failed;
    put_bytes(b, field, inner.at, inner.len);
    free(inner.at);
}

static void put_items(Bytes *b, const cameo_object *o, const cameo_type *item, bool optional)
{
    put_field(b, 2, optional && o->count == 0 ? HOLDS_NONE : (uint64_t)holds(item));
    for (int64_t i = 0; i < o->count; i++)
        put_value(b, field_of(item), &o->items[i], item);
}

/* The elements of a tensor one by one, as a SequenceProto. */
static void put_scalars(Bytes *b, const cameo_object *o)
{
    int64_t size = cameo_dtype_size(o->dtype), n = o->rank == 1 ? o->dims[0] : 0;
    put_field(b, 2, HOLDS_TENSOR);
    for (int64_t i = 0; i < n; i++) {
        cameo_object one = *o;
        one.rank = 0;
        one.elements = (const unsigned char *)o->elements + i * size;
        put_value(b, 3, &one, NULL);
    }
}

static void put_keys(Bytes *b, const cameo_object *keys)
{
    int64_t n = keys->rank == 1 ? keys->dims[0] : 0, size = cameo_dtype_size(keys->dtype);
    for (int64_t i = 0; i < n; i++) {
        const cameo_str *s = &((const cameo_str *)keys->elements)[i];
        const unsigned char *at = (const unsigned char *)keys->elements + i * size;
        if (keys->dtype == 8) {
            put_bytes(b, 4, s->at, (size_t)s->len);
            continue;
        }
        /* the sign of what is narrower than 64 bits */
        bool is_signed = keys->dtype == 3 || keys->dtype == 5 || keys->dtype == 6;
        int64_t v = is_signed && at[size - 1] & 0x80 ? -1 : 0;
        memcpy(&v, at, (size_t)size);
        put_field(b, 3, (uint64_t)v);
    }
}

static void format_value(Bytes *b, const cameo_object *o, const cameo_type *type, const char *name)
{
    if (!type) {
        cameo_tensor t = cameo_tensor_of(o, name);
        size_t len;
        unsigned char *at = cameo_format_pb(&t, &len);
        b->failed |= !at;
        if (at)
            put(b, at, len);
        free(at);
        return;
    }
    put_bytes(b, 1, name, strlen(name));
    if (type->kind != CAMEO_MAP) {
        put_items(b, o, type->item, type->kind == CAMEO_OPTIONAL);
        return;
    }
    put_field(b, 2, (uint64_t)type->key);
    put_keys(b, &o->items[0]);
    Bytes values = {NULL, 0, 0, false};
    if (o->items[1].kind == CAMEO_TENSOR)
        put_scalars(&values, &o->items[1]);
    else
        put_items(&values, &o->items[1], type->item, false);
    b->failed |= values.failed;
    put_bytes(b, 5, values.at, values.len);
    free(values.at);
}

unsigned char *cameo_format_object(const cameo_object *o, const cameo_type *type, const char *name,
                                   size_t *len)
{
    Bytes b = {NULL, 0, 0, false};
    format_value(&b, o, type, name);
    *len = b.len;
    if (b.failed) {
        free(b.at);
        return NULL;
    }
    return b.at ? b.at : (unsigned char *)calloc(1, 1);
}

/* ---- printing */

cameo_tensor cameo_tensor_of(const cameo_object *o, const char *name)
{
    cameo_tensor t = {.name = ""};
    snprintf(t.name, sizeof t.name, "%s", name);
    t.dtype = o->dtype;
    t.rank = o->rank;
    if (t.rank)
        memcpy(t.dims, o->dims, (size_t)t.rank * sizeof *t.dims);
    t.count = cameo_bytes(1, t.rank, t.dims);
    t.elements = (void *)(uintptr_t)o->elements; /* only read */
    return t;
}

static void print_nested(const cameo_object *o, const char *name, int depth,
                         void (*print)(const cameo_tensor *t))
{
    enum { SHOWN = 64 };
    static const char *const parts[] = {"keys", "values"};
    printf("%*s", 2 * depth, "");
    if (o->kind == CAMEO_TENSOR) {
        cameo_tensor t = cameo_tensor_of(o, name);
        print(&t);
        return;
    }
    if (o->kind == CAMEO_SEQUENCE)
        printf("%s sequence of %lld\n", name, (long long)o->count);
    else
        printf("%s %s\n", name,
               o->kind == CAMEO_MAP ? "map"
               : o->count           ? "optional"
                                    : "optional, empty");
    for (int64_t i = 0; i < o->count && i < SHOWN; i++) {
        char number[32];
        snprintf(number, sizeof number, "[%lld]", (long long)i);
        print_nested(&o->items[i],
                     o->kind == CAMEO_MAP        ? parts[i & 1]
                     : o->kind == CAMEO_SEQUENCE ? number
                                                 : "value",
                     depth + 1, print);
    }
    if (o->count > SHOWN)
        printf("%*s...\n", 2 * depth + 2, "");
}

void cameo_print_object(const cameo_object *o, const char *name,
                        void (*print)(const cameo_tensor *t))
{
    print_nested(o, name, 0, print);
}
