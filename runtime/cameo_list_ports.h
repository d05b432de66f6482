/* Lists between a caller and the table of a run. */
#ifndef CAMEO_LIST_PORTS_H
#define CAMEO_LIST_PORTS_H

#include "cameo_object.h"
#include "cameo_objects.h"

/* ---- in: what a caller gives is checked against the model's type. */

CAMEO_FN int cameo_check_tensor(const cameo_object *from, const cameo_type *type,
                                const char **fault)
{
    int64_t count = 1, size = from->dtype == CAMEO_STRING ? (int64_t)sizeof(cameo_str)
                                                          : cameo_stored_size(from->dtype);
    *fault = from->dtype != type->dtype ? "a tensor of another dtype than the model takes"
             : from->rank < 0 || from->rank > CAMEO_ITEM_RANK ||
                     (type->rank >= 0 && from->rank != type->rank)
                 ? "a tensor of another rank than the model takes"
                 : NULL;
    for (int32_t k = 0; !*fault && k < from->rank; k++) {
        if (from->dims[k] < 0 ||
            (type->rank >= 0 && type->dims[k] >= 0 && from->dims[k] != type->dims[k]))
            *fault = "a tensor of another shape than the model takes";
        else if (count > 0 && from->dims[k] > (INT64_C(1) << 46) / size / count)
            *fault = "a tensor that is too large";
        else
            count *= from->dims[k];
    }
    return *fault ? -1 : 0;
}

CAMEO_FN int cameo_check_object(const cameo_object *from, const cameo_type *type,
                                const char **fault)
{
    const cameo_type *item = type->item;
    *fault = NULL;
    if (from->kind != type->kind)
        *fault = "a value of another kind than the model takes";
    else if (from->count < 0 || (type->kind == CAMEO_OPTIONAL && from->count > 1) ||
             (type->kind == CAMEO_MAP && from->count != 2))
        *fault = "an optional or map with another number of parts than it has";
    for (int64_t i = 0; !*fault && i < from->count && type->kind != CAMEO_MAP; i++)
        if (item)
            cameo_check_object(&from->items[i], item, fault);
        else if (from->items[i].kind != CAMEO_TENSOR)
            *fault = "something else where the model takes tensors";
        else
            cameo_check_tensor(&from->items[i], type, fault);
    if (*fault || type->kind != CAMEO_MAP)
        return *fault ? -1 : 0;
    const cameo_object *keys = &from->items[0], *values = &from->items[1];
    static const int64_t any[1] = {-1};
    cameo_type of_keys = {CAMEO_SEQUENCE, 0, NULL, type->key, 1, any};
    cameo_type of_values = {CAMEO_SEQUENCE, 0, item, type->dtype, type->rank, type->dims};
    cameo_type of_scalars = {CAMEO_SEQUENCE, 0, NULL, type->dtype, 1, any};
    int joined = values->kind == CAMEO_TENSOR && !item;
    if (keys->kind != CAMEO_TENSOR)
        *fault = "a map whose keys are no tensor";
    else if (cameo_check_tensor(keys, &of_keys, fault) == 0)
        joined ? cameo_check_tensor(values, &of_scalars, fault)
               : cameo_check_object(values, &of_values, fault);
    if (!*fault && (joined ? values->dims[0] : values->count) != keys->dims[0])
        *fault = "a map with another number of keys than of values";
    return *fault ? -1 : 0;
}

/* The item of the table that a checked value becomes: a copy. */
CAMEO_FN int cameo_import_object(cameo_objects *o, const cameo_object *from, cameo_item *item)
{
    if (from->kind != CAMEO_TENSOR) {
        *item = (cameo_item){CAMEO_OBJECT, 0, NULL, NULL, 0};
        for (int64_t i = 0; i < from->count; i++) {
            cameo_item part;
            if (cameo_import_object(o, &from->items[i], &part) != 0)
                return -1;
            item->list = cameo_list_with(o, item->list, part);
            if (!item->list)
                return -1;
        }
        return 0;
    }
    cameo_view view = {from->elements, from->dtype, from->rank, from->dims};
    if (from->dtype != CAMEO_STRING)
        return cameo_item_of(o, &view, item);
    const cameo_str *strings = (const cameo_str *)from->elements;
    int64_t n = cameo_view_count(&view), *to = (int64_t *)cameo_objects_alloc(o, n * 8);
    for (int64_t i = 0; to && i < n; i++) {
        if (strings[i].len < 0)
            return cameo_objects_fail(o, "a string of negative length");
        to[i] = cameo_intern(o, strings[i].at, strings[i].len, 0);
        if (to[i] < 0)
            return -1;
    }
    view.at = to;
    return to ? cameo_item_of(o, &view, item) : -1;
}

/* ---- out */

/* What an item looks like to a caller, until the next run. type NULL: a tensor. */
CAMEO_FN int cameo_export_item(cameo_objects *o, const cameo_item *item, const cameo_type *type,
                               cameo_object *to)
{
    if (item->dtype == CAMEO_OBJECT) {
        const cameo_list l = *cameo_list_at(o, item->list);
        cameo_object *items =
            (cameo_object *)cameo_objects_alloc(o, (l.count + 1) * (int64_t)sizeof *items);
        *to = (cameo_object){type ? type->kind : CAMEO_SEQUENCE, 0, 0, NULL, NULL, l.count, items};
        for (int64_t i = 0; items && i < l.count; i++) {
            /* a map's keys are a tensor; its values one, or a sequence */
            int of_map = type && type->kind == CAMEO_MAP;
            cameo_type values = {CAMEO_SEQUENCE, 0, type ? type->item : NULL, 0, -1, NULL};
            const cameo_type *part = of_map ? &values : type ? type->item : NULL;
            if (cameo_export_item(o, &l.items[i], part, &items[i]) != 0)
                return -1;
        }
        return items ? 0 : -1;
    }
    *to =
        (cameo_object){CAMEO_TENSOR, item->dtype, item->rank, item->dims, item->elements, 0, NULL};
    if (item->dtype != CAMEO_STRING)
        return 0;
    cameo_view view = {NULL, item->dtype, item->rank, item->dims};
    int64_t n = cameo_view_count(&view);
    cameo_str *strings = (cameo_str *)cameo_objects_alloc(o, n * (int64_t)sizeof *strings);
    for (int64_t i = 0; strings && i < n; i++)
        strings[i] = cameo_string_of(o, ((const int64_t *)item->elements)[i]);
    to->elements = strings;
    return strings ? 0 : -1;
}

#endif
