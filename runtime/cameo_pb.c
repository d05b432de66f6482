/* Serialized TensorProto: read field by field with bounds, and written. */
#include "cameo_wire.h"

typedef struct Proto {
    cameo_tensor *t;
    cameo_span raw;
    bool has_raw;
    int64_t nstrings, nnumbers, room;
    char *error;
    size_t error_room;
} Proto;

static int damaged(const Proto *p, const char *what)
{
    snprintf(p->error, p->error_room, "%s", what);
    return -1;
}

/* Of dtypes that files pack; 0: whole bytes. */
static int bits_of(int32_t dtype)
{
    if (dtype == 27 || dtype == 28)
        return 6;
    return dtype == 21 || dtype == 22 || dtype == 23 ? 4 : dtype == 25 || dtype == 26 ? 2 : 0;
}

/* The element at `i` of a little-endian stream of `bits` each, sign extended where the dtype has
 * one. */
static unsigned char element_of(const unsigned char *from, int64_t i, int bits, int32_t dtype)
{
    int64_t bit = i * bits;
    unsigned v = from[bit / 8] >> (bit % 8);
    if (bit % 8 + bits > 8)
        v |= (unsigned)from[bit / 8 + 1] << (8 - bit % 8);
    unsigned sign = dtype == 22 || dtype == 26 ? 1u << (bits - 1) : 0;
    return (unsigned char)(((v & ((1u << bits) - 1)) ^ sign) - sign);
}

/* Elements of less than a byte, lowest bits first, to one a byte. */
static void unpack(cameo_tensor *t, const unsigned char *from)
{
    int bits = bits_of(t->dtype);
    unsigned char *to = t->elements;
    for (int64_t i = 0; i < t->count; i++)
        to[i] = element_of(from, i, bits, t->dtype);
}

static int take_raw(Proto *p)
{
    cameo_tensor *t = p->t;
    int bits = bits_of(t->dtype);
    int64_t size = cameo_dtype_size(t->dtype);
    int64_t need = bits ? (t->count * bits + 7) / 8 : t->count * size;
    if ((int64_t)p->raw.len != need)
        return damaged(p, "raw data of another size than its dims and dtype need");
    if (bits)
        unpack(t, p->raw.at);
    else if (need)
        memcpy(t->elements, p->raw.at, (size_t)need);
    return 0;
}

/* One number of int32_data, int64_data or uint64_data. */
static int put_integer(Proto *p, uint64_t v)
{
    cameo_tensor *t = p->t;
    int bits = bits_of(t->dtype);
    int64_t size = cameo_dtype_size(t->dtype);
    int64_t each = bits && bits != 6 ? 8 / bits : 1; /* those of 6 bits stand alone */
    const unsigned char bytes[2] = {(unsigned char)v, 0};
    for (int64_t k = 0; k < each && p->nnumbers < t->count; k++, p->nnumbers++) {
        unsigned char *to = (unsigned char *)t->elements + p->nnumbers * size;
        if (bits)
            *to = element_of(bytes, k, bits, t->dtype);
        else
            memcpy(to, &v, (size_t)size);
    }
    return 0;
}

static int put_integers(Proto *p, uint32_t wire, uint64_t v, cameo_span body)
{
    if (wire == 0)
        return put_integer(p, v);
    while (body.len) {
        if (!cameo_take_varint(&body, &v))
            return damaged(p, "a TensorProto that is cut short");
        put_integer(p, v);
    }
    return 0;
}

/* Numbers that make an element: complex ones are pairs. */
static int64_t parts_of(int32_t dtype)
{
    return dtype == 14 || dtype == 15 ? 2 : 1;
}

static int put_bytes(Proto *p, cameo_span body)
{
    int64_t parts = parts_of(p->t->dtype), size = cameo_dtype_size(p->t->dtype) / parts;
    int64_t n = (int64_t)body.len / size;
    if (n > p->t->count * parts - p->nnumbers)
        return damaged(p, "more elements than its dims say");
    if (n)
        memcpy((unsigned char *)p->t->elements + p->nnumbers * size, body.at, (size_t)(n * size));
    p->nnumbers += n;
    return 0;
}

static int put_string(Proto *p, cameo_span body)
{
    if (p->nnumbers >= p->t->count)
        return damaged(p, "more strings than its dims say");
    char *to = p->t->text + p->nstrings;
    if (body.len)
        memcpy(to, body.at, body.len);
    ((cameo_str *)p->t->elements)[p->nnumbers++] = (cameo_str){to, (int64_t)body.len};
    p->nstrings += (int64_t)body.len;
    return 0;
}

/* First pass: dims, dtype, name, where raw data is. */
static int take_head(Proto *p, cameo_span s)
{
    uint32_t number, wire;
    uint64_t v;
    cameo_span body;
    cameo_tensor *t = p->t;
    while (s.len) {
        if (!cameo_take_field(&s, &number, &wire, &v, &body))
            return damaged(p, "no TensorProto, or one that is cut short");
        if (number == 1 && wire == 2) {
            while (body.len) {
                if (!cameo_take_varint(&body, &v) || t->rank == CAMEO_MAX_RANK)
                    return damaged(p, "too many dims");
                t->dims[t->rank++] = (int64_t)v;
            }
        } else if (number == 1) {
            if (t->rank == CAMEO_MAX_RANK)
                return damaged(p, "too many dims");
            t->dims[t->rank++] = (int64_t)v;
        } else if (number == 2) {
            t->dtype = (int32_t)v;
        } else if (number == 8 && body.len < sizeof t->name) {
            memcpy(t->name, body.at, body.len);
            t->name[body.len] = 0;
        } else if (number == 9) {
            p->raw = body;
            p->has_raw = true;
        }
    }
    return 0;
}

static int take_payload(Proto *p, cameo_span s)
{
    uint32_t number, wire;
    uint64_t v;
    cameo_span body;
    int status = 0;
    while (s.len && status == 0) {
        if (!cameo_take_field(&s, &number, &wire, &v, &body))
            return damaged(p, "a TensorProto that is cut short");
        bool text = p->t->dtype == 8;
        bool real = p->t->dtype == 1 || p->t->dtype == 11 || p->t->dtype == 14 || p->t->dtype == 15;
        if (number == 6 && wire == 2 && text)
            status = put_string(p, body);
        else if ((number == 4 || number == 10) && wire != 0 && real)
            status = put_bytes(p, body);
        else if ((number == 5 || number == 7 || number == 11) && !text && !real)
            status = put_integers(p, wire, v, body);
    }
    return status;
}

int cameo_read_pb(const unsigned char *at, size_t len, cameo_tensor *t, char *error, size_t room)
{
    *t = (cameo_tensor){.name = ""};
    Proto p = {.t = t, .error = error, .error_room = room};
    cameo_span s = {at, len};
    if (take_head(&p, s) != 0)
        return -1;
    int64_t size = cameo_dtype_size(t->dtype);
    t->count = cameo_bytes(1, t->rank, t->dims);
    if (!size || t->count < 0)
        return damaged(&p, "a TensorProto with a dtype or dims that cannot be");
    /* every element takes at least a quarter of a byte of the file */
    if (t->count / 4 > (int64_t)len)
        return damaged(&p, "fewer elements than its dims say");
    t->elements = calloc((size_t)t->count + 1, (size_t)size);
    t->text = t->dtype == 8 ? malloc(len + 1) : NULL;
    if (!t->elements || (t->dtype == 8 && !t->text))
        return damaged(&p, "no memory");
    if (p.has_raw)
        return take_raw(&p);
    if (take_payload(&p, s) != 0)
        return -1;
    return p.nnumbers == t->count * parts_of(t->dtype)
               ? 0
               : damaged(&p, "fewer elements than its dims say");
}

/* ---- writing */

unsigned char *cameo_format_pb(const cameo_tensor *t, size_t *len)
{
    int bits = bits_of(t->dtype);
    int64_t size = cameo_dtype_size(t->dtype);
    int64_t raw = bits ? (t->count * bits + 7) / 8 : t->count * size;
    const cameo_str *strings = t->elements;
    int64_t text = 0;
    for (int64_t i = 0; t->dtype == 8 && i < t->count; i++)
        text += strings[i].len + 12;
    unsigned char *out = calloc(1, (size_t)(raw + text) + 1024);
    if (!out)
        return NULL;
    size_t n = 0;
    for (int32_t i = 0; i < t->rank; i++) {
        out[n++] = 1 << 3;
        n += cameo_put_varint(out + n, (uint64_t)t->dims[i]);
    }
    out[n++] = 2 << 3;
    n += cameo_put_varint(out + n, (uint64_t)t->dtype);
    for (int64_t i = 0; t->dtype == 8 && i < t->count; i++) {
        out[n++] = 6 << 3 | 2;
        n += cameo_put_varint(out + n, (uint64_t)strings[i].len);
        memcpy(out + n, strings[i].at, (size_t)strings[i].len);
        n += (size_t)strings[i].len;
    }
    out[n++] = 8 << 3 | 2;
    n += cameo_put_varint(out + n, strlen(t->name));
    memcpy(out + n, t->name, strlen(t->name));
    n += strlen(t->name);
    if (t->dtype != 8) {
        out[n++] = 9 << 3 | 2;
        n += cameo_put_varint(out + n, (uint64_t)raw);
        const unsigned char *from = t->elements;
        for (int64_t i = 0; bits && i < t->count; i++) {
            unsigned v = (from[i] & ((1u << bits) - 1)) << (i * bits % 8);
            out[n + (size_t)(i * bits / 8)] |= (unsigned char)v;
            if (v > 255)
                out[n + (size_t)(i * bits / 8) + 1] |= (unsigned char)(v >> 8);
        }
        if (!bits && raw)
            memcpy(out + n, from, (size_t)raw);
        n += (size_t)raw;
    }
    *len = n;
    return out;
}
