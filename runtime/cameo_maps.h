/* Maps: lists of two tensors, keys and values. */
#ifndef CAMEO_MAPS_H
#define CAMEO_MAPS_H

#include "cameo_objects.h"

/* An entry of a map: its key, and its place among the entries. */
typedef struct cameo_entry {
    int64_t key, place;
} cameo_entry;

CAMEO_FN int cameo_compare_entries(const void *a, const void *b)
{
    const cameo_entry *x = (const cameo_entry *)a, *y = (const cameo_entry *)b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* The entries of a map in the order of their keys (of strings: of their numbers), of a key that
 * stands twice the last, and its values, of that dtype. -1: the error is set. */
CAMEO_FN int64_t cameo_map_entries(cameo_objects *o, int64_t map, int32_t dtype,
                                   cameo_entry **entries, const unsigned char **values)
{
    const cameo_list *l = cameo_list_at(o, map);
    int64_t n, kept = 0;
    if (l->count == 2 && l->items[0].rank == 1 && l->items[0].dims[0] == 0)
        return 0;
    if (l->count != 2 || l->items[0].rank != 1 || cameo_stored_size(l->items[0].dtype) != 8 ||
        l->items[1].rank != 1 || l->items[1].dims[0] != l->items[0].dims[0])
        return cameo_objects_fail(o, "the map's values are no scalars");
    if (l->items[1].dtype != dtype)
        return cameo_objects_fail(o, "the map's values have another dtype than is needed here");
    n = l->items[0].dims[0];
    *values = (const unsigned char *)l->items[1].elements;
    cameo_entry *at = (cameo_entry *)cameo_objects_alloc(o, n * (int64_t)sizeof *at);
    if (!at)
        return -1;
    for (int64_t i = 0; i < n; i++)
        at[i] = (cameo_entry){((const int64_t *)l->items[0].elements)[i], i};
    if (n > 1)
        qsort(at, (size_t)n, sizeof *at, cameo_compare_entries);
    for (int64_t i = 0; i < n; i++) {
        kept += kept == 0 || at[kept - 1].key != at[i].key;
        at[kept - 1] = at[i];
    }
    *entries = at;
    return kept;
}

/* (map, keys) => (tensor): what the map has for each key, 0 or "" for those that it has not. */
CAMEO_FN int cameo_map_look_up(cameo_objects *o, const cameo_call *c)
{
    const cameo_view *to = &c->writes[0];
    const int64_t *keys = (const int64_t *)c->reads[1].at;
    cameo_entry *entries = NULL;
    const unsigned char *values = NULL;
    int64_t n =
        cameo_map_entries(o, *(const int64_t *)c->reads[0].at, to->dtype, &entries, &values);
    size_t size = (size_t)cameo_stored_size(to->dtype);
    unsigned char *at = (unsigned char *)(uintptr_t)to->at;
    for (int64_t i = 0, count = cameo_view_count(to); n >= 0 && i < count; i++, at += size) {
        int64_t low = 0, high = n;
        while (low < high) {
            int64_t mid = low + (high - low) / 2;
            if (entries[mid].key < keys[i])
                low = mid + 1;
            else
                high = mid;
        }
        if (low < n && entries[low].key == keys[i])
            memcpy(at, values + (size_t)entries[low].place * size, size);
        else
            memset(at, 0, size);
    }
    return n < 0 ? -1 : 0;
}

/* (map) => (how many entries it has); n[0]: the dtype of its values. */
CAMEO_FN int cameo_map_size(cameo_objects *o, const cameo_call *c)
{
    cameo_entry *entries = NULL;
    const unsigned char *values = NULL;
    int64_t n =
        cameo_map_entries(o, *(const int64_t *)c->reads[0].at, (int32_t)c->n[0], &entries, &values);
    *(int64_t *)(uintptr_t)c->writes[0].at = n;
    return n < 0 ? -1 : 0;
}

/* (map) => (values, present): the values in the order of the keys, or (n[0]) each at its key. */
CAMEO_FN int cameo_map_spread(cameo_objects *o, const cameo_call *c)
{
    const cameo_view *to = &c->writes[0];
    cameo_entry *entries = NULL;
    const unsigned char *values = NULL;
    int64_t n =
        cameo_map_entries(o, *(const int64_t *)c->reads[0].at, to->dtype, &entries, &values);
    int64_t count = cameo_view_count(to);
    size_t size = (size_t)cameo_stored_size(to->dtype);
    unsigned char *at = (unsigned char *)(uintptr_t)to->at;
    unsigned char *present = (unsigned char *)(uintptr_t)c->writes[1].at;
    if (n < 0)
        return -1;
    if (count > 0) {
        memset(at, 0, (size_t)count * size);
        memset(present, 0, (size_t)count);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t place = c->n[0] ? entries[i].key : i;
        if (place < 0 || place >= count)
            return cameo_objects_fail(o, "key %lld is out of range for %lld places",
                                      (long long)place, (long long)count);
        memcpy(at + (size_t)place * size, values + (size_t)entries[i].place * size, size);
        present[place] = 1;
    }
    return 0;
}

/* (keys, tensor[rows, keys]) => (list): a map for each row. */
CAMEO_FN int cameo_map_rows(cameo_objects *o, const cameo_call *c)
{
    const cameo_view *x = &c->reads[1];
    cameo_view row = {x->at, x->dtype, 1, &x->dims[1]};
    cameo_item parts[2], map = {CAMEO_OBJECT, 0, NULL, NULL, 0};
    int64_t list = 0, bytes = x->dims[1] * cameo_stored_size(x->dtype);
    if (x->dims[1] != cameo_view_count(&c->reads[0]))
        return cameo_objects_fail(o, "%lld columns for %lld keys", (long long)x->dims[1],
                                  (long long)cameo_view_count(&c->reads[0]));
    if (cameo_item_of(o, &c->reads[0], &parts[0]) != 0)
        return -1;
    for (int64_t i = 0; i < x->dims[0]; i++) {
        row.at = (const unsigned char *)x->at + i * bytes;
        if (cameo_item_of(o, &row, &parts[1]) != 0)
            return -1;
        map.list = cameo_list_with(o, 0, parts[0]);
        map.list = map.list ? cameo_list_with(o, map.list, parts[1]) : 0;
        list = map.list ? cameo_list_with(o, list, map) : 0;
        if (!list)
            return -1;
    }
    *(int64_t *)(uintptr_t)c->writes[0].at = list;
    return 0;
}

#endif
