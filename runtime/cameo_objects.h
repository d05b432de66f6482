/* Values that are no tensors of numbers: strings and lists (sequences, optionals, maps).
 *
 * In memory each is a reference, an int64 into a table that belongs to the run. A string's is the
 * number of its bytes, each distinct one once ("" is 0), so that equal strings have equal numbers.
 * A list's (0 is the empty one) is the number of an immutable list of tensors and of lists.
 * What looks inside them are the functions at the end, all of one form: cameo_call. */
#ifndef CAMEO_OBJECTS_H
#define CAMEO_OBJECTS_H

#include "cameo_math.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAMEO_STRING = 8, CAMEO_OBJECT = 62, CAMEO_ITEM_RANK = 16 };

/* Memory that is given back as a whole, and kept for the next run. */
typedef struct cameo_chunk {
    struct cameo_chunk *next;
    int64_t size, used;
} cameo_chunk;

/* A tensor in a list, or (dtype CAMEO_OBJECT) a list. */
typedef struct cameo_item {
    int32_t dtype, rank;
    const int64_t *dims;
    const void *elements; /* of strings and of lists: references */
    int64_t list;
} cameo_item;

/* Lists that grew from one another share `items`: each is the first `count` of the `*used` there.
 */
typedef struct cameo_list {
    cameo_item *items;
    int64_t count, room, *used;
} cameo_list;

typedef struct cameo_objects {
    cameo_chunk *first, *chunk;
    int64_t bytes, limit; /* taken; may be taken, 0: any */
    cameo_str *strings;
    int64_t nstrings, string_room;
    int64_t *slots; /* open hash table of number + 1 */
    int64_t nslots;
    cameo_list *lists;
    int64_t nlists, list_room;
    char error[256];
} cameo_objects;

CAMEO_FN int cameo_objects_fail(cameo_objects *o, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
CAMEO_FN int cameo_objects_fail(cameo_objects *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(o->error, sizeof o->error, format, args);
    va_end(args);
    return -1;
}

/* ---- memory */

/* Room for `size` bytes until the next run, aligned for any element. NULL, with the error: none. */
CAMEO_FN void *cameo_objects_alloc(cameo_objects *o, int64_t size)
{
    cameo_chunk *c = o->chunk;
    if (size < 0 || size > INT64_C(1) << 46 || (o->limit && size > o->limit - o->bytes)) {
        cameo_objects_fail(o, "strings and lists need more memory than there is");
        return NULL;
    }
    size = (size + 15) / 16 * 16;
    while (c && c->size - c->used < size) {
        if (c->next)
            c->next->used = 0;
        else
            break;
        c = c->next;
    }
    if (!c || c->size - c->used < size) {
        int64_t room = c && c->size < INT64_C(1) << 24 ? 2 * c->size : 1 << 14;
        room = room > size ? room : size;
        cameo_chunk *fresh = (cameo_chunk *)malloc(sizeof *fresh + 16 + (size_t)room);
        if (!fresh) {
            cameo_objects_fail(o, "no memory for strings and lists");
            return NULL;
        }
        fresh->next = NULL;
        fresh->size = room;
        fresh->used = 0;
        if (c)
            c->next = fresh;
        else
            o->first = fresh;
        c = fresh;
    }
    o->chunk = c;
    unsigned char *at = (unsigned char *)(c + 1) + c->used;
    c->used += size;
    o->bytes += size;
    return at;
}

/* An array that grows to hold `need` elements of `size` bytes; what it holds is kept. */
CAMEO_FN int cameo_objects_grow(cameo_objects *o, void **at, int64_t *room, int64_t need,
                                size_t size)
{
    if (need <= *room)
        return 0;
    int64_t more = *room * 2 > need ? *room * 2 : need + 16;
    int64_t bytes = (more - *room) * (int64_t)size;
    void *to = o->limit && bytes > o->limit - o->bytes ? NULL : realloc(*at, (size_t)more * size);
    if (!to)
        return cameo_objects_fail(o, "no memory for strings and lists");
    *at = to;
    *room = more;
    o->bytes += bytes;
    return 0;
}

CAMEO_FN void cameo_objects_free(void *objects)
{
    cameo_objects *o = (cameo_objects *)objects;
    for (cameo_chunk *c = o->first, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(o->strings);
    free(o->slots);
    free(o->lists);
    free(o);
}

/* ---- strings */

CAMEO_FN uint64_t cameo_hash_str(const char *at, int64_t len)
{
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)len, w;
    for (; len > 0; at += 8, len -= 8) {
        w = 0;
        memcpy(&w, at, len < 8 ? (size_t)len : 8);
        h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return h;
}

/* The slot of a string: where its number is or would be put. */
CAMEO_FN int64_t *cameo_string_slot(cameo_objects *o, const char *at, int64_t len)
{
    uint64_t mask = (uint64_t)o->nslots - 1, i = cameo_hash_str(at, len) & mask;
    for (; o->slots[i]; i = (i + 1) & mask) {
        const cameo_str *s = &o->strings[o->slots[i] - 1];
        if (s->len == len && (len == 0 || memcmp(s->at, at, (size_t)len) == 0))
            break;
    }
    return &o->slots[i];
}

/* The number of a string, which is copied unless it stays where it is; -1: no memory. */
CAMEO_FN int64_t cameo_intern(cameo_objects *o, const char *at, int64_t len, int stays)
{
    if (2 * (o->nstrings + 1) > o->nslots) {
        int64_t n = o->nslots ? 2 * o->nslots : 64;
        int64_t *slots = (int64_t *)calloc((size_t)n, sizeof *slots);
        if (!slots)
            return cameo_objects_fail(o, "no memory for strings");
        free(o->slots);
        o->slots = slots;
        o->nslots = n;
        for (int64_t i = 0; i < o->nstrings; i++)
            *cameo_string_slot(o, o->strings[i].at, o->strings[i].len) = i + 1;
    }
    int64_t *slot = cameo_string_slot(o, at, len);
    if (*slot)
        return *slot - 1;
    if (cameo_objects_grow(o, (void **)&o->strings, &o->string_room, o->nstrings + 1,
                           sizeof *o->strings))
        return -1;
    if (!stays && len > 0) {
        char *own = (char *)cameo_objects_alloc(o, len);
        if (!own)
            return -1;
        memcpy(own, at, (size_t)len);
        at = own;
    }
    o->strings[o->nstrings] = (cameo_str){len > 0 ? at : "", len};
    *slot = ++o->nstrings;
    return o->nstrings - 1;
}

/* The bytes of a string by its number. */
CAMEO_FN cameo_str cameo_string_of(const cameo_objects *o, int64_t symbol)
{
    cameo_str none = {"", 0};
    return symbol >= 0 && symbol < o->nstrings ? o->strings[symbol] : none;
}

/* ---- lists */

CAMEO_FN const cameo_list *cameo_list_at(const cameo_objects *o, int64_t list)
{
    static const cameo_list none = {NULL, 0, 0, NULL};
    return list > 0 && list <= o->nlists ? &o->lists[list - 1] : &none;
}

/* A new list with room for some items and none in it; 0 with the error set: no memory. */
CAMEO_FN int64_t cameo_list_new(cameo_objects *o, int64_t room)
{
    if (cameo_objects_grow(o, (void **)&o->lists, &o->list_room, o->nlists + 1, sizeof *o->lists))
        return 0;
    cameo_list l = {NULL, 0, room < 4 ? 4 : room, NULL};
    if (l.room > INT64_C(1) << 40)
        return (void)cameo_objects_fail(o, "no memory for lists"), 0;
    l.items = (cameo_item *)cameo_objects_alloc(o, l.room * (int64_t)sizeof *l.items);
    l.used = (int64_t *)cameo_objects_alloc(o, sizeof *l.used);
    if (!l.items || !l.used)
        return 0;
    *l.used = 0;
    o->lists[o->nlists] = l;
    return ++o->nlists;
}

/* A list with one item more, at its end. Lists that nobody has added to share their items with the
 * new one. 0 with the error set: no memory. */
CAMEO_FN int64_t cameo_list_with(cameo_objects *o, int64_t list, cameo_item item)
{
    cameo_list from = *cameo_list_at(o, list);
    if (from.used && *from.used == from.count && from.count < from.room) {
        if (cameo_objects_grow(o, (void **)&o->lists, &o->list_room, o->nlists + 1,
                               sizeof *o->lists))
            return 0;
        o->lists[o->nlists] = from;
    } else {
        if (!cameo_list_new(o, 2 * from.count))
            return 0;
        o->nlists--;
        if (from.count)
            memcpy(o->lists[o->nlists].items, from.items, (size_t)from.count * sizeof *from.items);
    }
    cameo_list *to = &o->lists[o->nlists];
    to->items[from.count] = item;
    to->count = *to->used = from.count + 1;
    return ++o->nlists;
}

/* ---- begin and end of a run */

/* Forgets what the run before made. The strings of `constants` have the numbers 0, 1 ...; the first
 * is "". 0 or -1. */
CAMEO_FN int cameo_objects_reset(cameo_objects *o, const cameo_str *constants, int64_t n)
{
    o->chunk = o->first;
    if (o->first)
        o->first->used = 0;
    o->bytes = 0;
    o->nlists = 0;
    o->nstrings = 0;
    if (o->nslots)
        memset(o->slots, 0, (size_t)o->nslots * sizeof *o->slots);
    for (int64_t i = 0; i < n; i++)
        if (cameo_intern(o, constants[i].at, constants[i].len, 1) < 0)
            return -1;
    return 0;
}

/* ---- calls: what steps of a model ask of objects */

/* A buffer: its elements in memory, row-major. */
typedef struct cameo_view {
    const void *at; /* a call may write to the elements of its `writes` */
    int32_t dtype, rank;
    const int64_t *dims;
} cameo_view;

typedef struct cameo_call {
    const cameo_view *reads, *writes;
    const int64_t *n; /* numbers */
    int32_t nreads, nwrites, nn;
} cameo_call;

CAMEO_FN int64_t cameo_view_count(const cameo_view *v)
{
    int64_t n = 1;
    for (int32_t i = 0; i < v->rank; i++)
        n *= v->dims[i];
    return n;
}

/* Bytes of an element in memory; references take eight. */
CAMEO_FN int64_t cameo_stored_size(int32_t dtype)
{
    static const unsigned char sizes[] = {0,  4, 1, 1, 2, 2, 4, 8, 8, 1, 2, 8, 4, 8, 8,
                                          16, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    return dtype == CAMEO_OBJECT                        ? 8
           : dtype > 0 && dtype < (int32_t)sizeof sizes ? sizes[dtype]
                                                        : 0;
}

/* An item that holds a copy of a tensor, or the list that the buffer refers to. */
CAMEO_FN int cameo_item_of(cameo_objects *o, const cameo_view *v, cameo_item *item)
{
    *item = (cameo_item){v->dtype, v->rank, NULL, NULL, 0};
    if (v->dtype == CAMEO_OBJECT) {
        item->list = *(const int64_t *)v->at;
        return 0;
    }
    int64_t bytes = cameo_view_count(v) * cameo_stored_size(v->dtype);
    int64_t *dims = (int64_t *)cameo_objects_alloc(o, v->rank * (int64_t)sizeof *dims);
    void *elements = dims ? cameo_objects_alloc(o, bytes) : NULL;
    if (!elements)
        return -1;
    if (v->rank)
        memcpy(dims, v->dims, (size_t)v->rank * sizeof *dims);
    if (bytes)
        memcpy(elements, v->at, (size_t)bytes);
    item->dims = dims;
    item->elements = elements;
    return 0;
}

/* The item at a position; NULL with the error set where there is none. */
CAMEO_FN const cameo_item *cameo_list_item(cameo_objects *o, int64_t list, int64_t position)
{
    const cameo_list *l = cameo_list_at(o, list);
    int64_t at = position < 0 ? position + l->count : position;
    if (at >= 0 && at < l->count)
        return &l->items[at];
    cameo_objects_fail(o, "position %lld of a sequence of %lld", (long long)position,
                       (long long)l->count);
    return NULL;
}

/* (tensor or list ...) => (list): all of them as items. */
CAMEO_FN int cameo_list_of(cameo_objects *o, const cameo_call *c)
{
    int64_t list = 0;
    for (int32_t i = 0; i < c->nreads; i++) {
        cameo_item item;
        if (cameo_item_of(o, &c->reads[i], &item))
            return -1;
        list = cameo_list_with(o, list, item);
        if (!list)
            return -1;
    }
    *(int64_t *)(uintptr_t)c->writes[0].at = list;
    return 0;
}

/* (list, tensor or list) => (list): with it at the end. */
CAMEO_FN int cameo_list_append(cameo_objects *o, const cameo_call *c)
{
    cameo_item item;
    if (cameo_item_of(o, &c->reads[1], &item))
        return -1;
    int64_t list = cameo_list_with(o, *(const int64_t *)c->reads[0].at, item);
    *(int64_t *)(uintptr_t)c->writes[0].at = list;
    return list ? 0 : -1;
}

/* (list) => (length) */
CAMEO_FN int cameo_list_length(cameo_objects *o, const cameo_call *c)
{
    const cameo_list *l = cameo_list_at(o, *(const int64_t *)c->reads[0].at);
    *(int64_t *)(uintptr_t)c->writes[0].at = l->count;
    return 0;
}

/* (list, position) => (dims[rank]); dtype: of the tensor at the position, negative from the end. */
CAMEO_FN int cameo_list_dims(cameo_objects *o, const cameo_call *c)
{
    const cameo_item *item =
        cameo_list_item(o, *(const int64_t *)c->reads[0].at, *(const int64_t *)c->reads[1].at);
    int64_t rank = cameo_view_count(&c->writes[0]);
    if (!item)
        return -1;
    if (item->dtype != c->n[0] || item->rank != rank)
        return cameo_objects_fail(o, "the item has dtype %d and rank %d, not %d and %d",
                                  (int)item->dtype, (int)item->rank, (int)c->n[0], (int)rank);
    if (rank)
        memcpy((void *)(uintptr_t)c->writes[0].at, item->dims, (size_t)rank * sizeof(int64_t));
    return 0;
}

/* (list, position) => (tensor, or list): the item, whose dtype and dims the result must have. */
CAMEO_FN int cameo_list_get(cameo_objects *o, const cameo_call *c)
{
    const cameo_item *item =
        cameo_list_item(o, *(const int64_t *)c->reads[0].at, *(const int64_t *)c->reads[1].at);
    const cameo_view *to = &c->writes[0];
    if (!item)
        return -1;
    if (item->dtype != to->dtype)
        return cameo_objects_fail(o, "the item has another type than is needed here");
    if (item->dtype == CAMEO_OBJECT) {
        *(int64_t *)(uintptr_t)to->at = item->list;
        return 0;
    }
    for (int32_t i = 0; i < to->rank || item->rank != to->rank; i++)
        if (item->rank != to->rank || item->dims[i] != to->dims[i])
            return cameo_objects_fail(o, "the item has another shape than is needed here");
    int64_t bytes = cameo_view_count(to) * cameo_stored_size(to->dtype);
    if (bytes)
        memcpy((void *)(uintptr_t)to->at, item->elements, (size_t)bytes);
    return 0;
}

#endif
