/* Fields of serialized protocol buffers, read with bounds, and written. */
#ifndef CAMEO_WIRE_H
#define CAMEO_WIRE_H

#include "cameo_io.h"

#include <stdbool.h>

typedef struct cameo_span {
    const unsigned char *at;
    size_t len;
} cameo_span;

/* The number at the front. */
CAMEO_FN bool cameo_take_varint(cameo_span *s, uint64_t *v)
{
    *v = 0;
    for (unsigned shift = 0; shift < 64 && s->len; shift += 7) {
        unsigned char c = *s->at++;
        s->len--;
        *v |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80))
            return true;
    }
    return false;
}

/* One field: its number and wire type; v for varints, body for the rest. */
CAMEO_FN bool cameo_take_field(cameo_span *s, uint32_t *number, uint32_t *wire, uint64_t *v,
                               cameo_span *body)
{
    uint64_t key, n;
    if (!cameo_take_varint(s, &key))
        return false;
    *number = (uint32_t)(key >> 3);
    *wire = (uint32_t)(key & 7);
    *v = 0;
    *body = (cameo_span){s->at, 0};
    if (*wire == 0)
        return cameo_take_varint(s, v);
    if (*wire == 2) {
        if (!cameo_take_varint(s, &n) || n > s->len)
            return false;
    } else if (*wire == 1 || *wire == 5) {
        n = *wire == 1 ? 8 : 4;
        if (n > s->len)
            return false;
    } else {
        return false;
    }
    *body = (cameo_span){s->at, (size_t)n};
    s->at += n;
    s->len -= (size_t)n;
    return true;
}

/* At most ten bytes; how many. */
CAMEO_FN size_t cameo_put_varint(unsigned char *to, uint64_t v)
{
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        to[n++] = (unsigned char)(v | 0x80);
    to[n++] = (unsigned char)v;
    return n;
}

#endif
