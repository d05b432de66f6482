/* Lists changed in the middle, made of parts of a tensor, and joined to one. */
#ifndef CAMEO_SEQUENCES_H
#define CAMEO_SEQUENCES_H

#include "cameo_objects.h"

CAMEO_FN int64_t cameo_read_number(const cameo_view *v)
{
    return *(const int64_t *)v->at;
}

/* (list, tensor or list, position) => (list): a copy with it there; 0..length, or from the end. */
CAMEO_FN int cameo_list_insert(cameo_objects *o, const cameo_call *c)
{
    int64_t from = cameo_read_number(&c->reads[0]), at = cameo_read_number(&c->reads[2]);
    int64_t n = cameo_list_at(o, from)->count, list = 0;
    cameo_item item;
    if (at < -n || at > n)
        return cameo_objects_fail(o, "position %lld of a sequence of %lld", (long long)at,
                                  (long long)n);
    at = at < 0 ? at + n : at;
    if (cameo_item_of(o, &c->reads[1], &item))
        return -1;
    if (at == n) {
        list = cameo_list_with(o, from, item);
    } else {
        list = cameo_list_new(o, n + 1);
        if (!list)
            return -1;
        cameo_list *to = &o->lists[list - 1];
        const cameo_item *items = cameo_list_at(o, from)->items;
        for (int64_t i = 0; i <= n; i++)
            to->items[i] = i == at ? item : items[i - (i > at)];
        to->count = *to->used = n + 1;
    }
    *(int64_t *)(uintptr_t)c->writes[0].at = list;
    return list ? 0 : -1;
}

/* (list, position) => (list): a copy without the item there. */
CAMEO_FN int cameo_list_erase(cameo_objects *o, const cameo_call *c)
{
    int64_t from = cameo_read_number(&c->reads[0]), at = cameo_read_number(&c->reads[1]);
    int64_t n = cameo_list_at(o, from)->count, list = 0;
    if (!cameo_list_item(o, from, at))
        return -1;
    at = at < 0 ? at + n : at;
    list = cameo_list_new(o, n - 1);
    if (!list)
        return -1;
    cameo_list *to = &o->lists[list - 1];
    const cameo_item *items = cameo_list_at(o, from)->items;
    for (int64_t i = 0; i + 1 < n; i++)
        to->items[i] = items[i + (i >= at)];
    to->count = *to->used = n - 1;
    *(int64_t *)(uintptr_t)c->writes[0].at = list;
    return 0;
}

/* ---- parts of a tensor */

/* A tensor along one of its dims: `outer` runs of n elements each `inner` bytes. */
typedef struct cameo_runs {
    int64_t outer, n, inner;
} cameo_runs;

CAMEO_FN cameo_runs cameo_runs_of(int32_t dtype, int32_t rank, const int64_t *dims, int64_t axis)
{
    cameo_runs r = {1, 1, cameo_stored_size(dtype)}, none = {0, dims[axis], 0};
    for (int32_t i = 0; i < rank; i++)
        if (dims[i] == 0)
            return none;
    for (int32_t i = 0; i < rank; i++) {
        if (i < axis)
            r.outer *= dims[i];
        else if (i == axis)
            r.n = dims[i];
        else
            r.inner *= dims[i];
    }
    return r;
}

/* The elements from..from+n along the axis of x, as an item; drops: without that axis (n is 1). */
CAMEO_FN int cameo_part_of(cameo_objects *o, const cameo_view *x, int64_t axis, int64_t from,
                           int64_t n, int drops, cameo_item *item)
{
    cameo_runs r = cameo_runs_of(x->dtype, x->rank, x->dims, axis);
    int64_t *dims = (int64_t *)cameo_objects_alloc(o, x->rank * (int64_t)sizeof *dims);
    unsigned char *to =
        dims ? (unsigned char *)cameo_objects_alloc(o, r.outer * n * r.inner) : NULL;
    int32_t rank = 0;
    if (!to)
        return -1;
    for (int32_t i = 0; i < x->rank; i++)
        if (i != axis || !drops)
            dims[rank++] = i == axis ? n : x->dims[i];
    for (int64_t k = 0; k < r.outer && n * r.inner > 0; k++)
        memcpy(to + k * n * r.inner, (const unsigned char *)x->at + (k * r.n + from) * r.inner,
               (size_t)(n * r.inner));
    *item = (cameo_item){x->dtype, rank, dims, to, 0};
    return 0;
}

/* (tensor, sizes) => (list) of its parts along n[0]: of these sizes, or (n[1]) all of the one size,
 * the last one maybe smaller; n[2]: without that axis. */
CAMEO_FN int cameo_list_split(cameo_objects *o, const cameo_call *c)
{
    const cameo_view *x = &c->reads[0];
    const int64_t *sizes = (const int64_t *)c->reads[1].at;
    int64_t total = x->dims[c->n[0]], nsizes = cameo_view_count(&c->reads[1]), from = 0, list = 0;
    int alike = c->n[1] != 0;
    if (alike && (nsizes != 1 || sizes[0] <= 0))
        return cameo_objects_fail(o, "parts of size %lld", nsizes ? (long long)sizes[0] : 0LL);
    for (int64_t i = 0; alike ? from < total : i < nsizes; i++) {
        cameo_item item;
        int64_t n = sizes[alike ? 0 : i];
        if (alike && n > total - from)
            n = total - from;
        if (n < 0 || n > total - from)
            return cameo_objects_fail(o, "the parts do not fit %lld", (long long)total);
        if (cameo_part_of(o, x, c->n[0], from, n, c->n[2] != 0, &item))
            return -1;
        list = cameo_list_with(o, list, item);
        if (!list)
            return -1;
        from += n;
    }
    *(int64_t *)(uintptr_t)c->writes[0].at = list;
    return from == total ? 0 : cameo_objects_fail(o, "the parts do not fit %lld", (long long)total);
}

/* (list) => (dims[rank]) of all its items one behind the other along axis n[0] or, if n[1], along a
 * new one. n[2]: their dtype. */
CAMEO_FN int cameo_list_joined_dims(cameo_objects *o, const cameo_call *c)
{
    const cameo_list *l = cameo_list_at(o, cameo_read_number(&c->reads[0]));
    int64_t *dims = (int64_t *)(uintptr_t)c->writes[0].at, axis = c->n[0];
    int stacks = c->n[1] != 0;
    int32_t rank = (int32_t)cameo_view_count(&c->writes[0]) - stacks;
    if (l->count == 0)
        return cameo_objects_fail(o, "the sequence is empty");
    for (int32_t i = 0; i < rank + stacks; i++)
        dims[i] = stacks && i == axis ? l->count : 0;
    for (int64_t k = 0; k < l->count; k++) {
        const cameo_item *item = &l->items[k];
        if (item->dtype != c->n[2] || item->rank != rank)
            return cameo_objects_fail(o, "item %lld has another dtype or rank than is needed here",
                                      (long long)k);
        for (int32_t i = 0; i < rank; i++) {
            int64_t *to = &dims[i + (stacks && i >= axis)];
            int sums = !stacks && i == axis;
            if (k > 0 && !sums && *to != item->dims[i])
                return cameo_objects_fail(o, "item %lld has another shape than the others",
                                          (long long)k);
            if (sums && item->dims[i] > (INT64_C(1) << 46) - *to)
                return cameo_objects_fail(o, "the result is too large");
            *to = sums ? *to + item->dims[i] : item->dims[i];
        }
    }
    return 0;
}

/* (list, dims) => (tensor): the items joined, as cameo_list_joined_dims says. */
CAMEO_FN int cameo_list_join(cameo_objects *o, const cameo_call *c)
{
    const cameo_list *l = cameo_list_at(o, cameo_read_number(&c->reads[0]));
    const int64_t *dims = (const int64_t *)c->reads[1].at;
    const cameo_view *to = &c->writes[0];
    int64_t axis = c->n[0], at = 0;
    for (int32_t i = 0; i < to->rank; i++)
        if (dims[i] != to->dims[i])
            return cameo_objects_fail(o, "the items have another shape than is needed here");
    cameo_runs all = cameo_runs_of(to->dtype, to->rank, to->dims, axis);
    for (int64_t k = 0; k < l->count; k++) {
        const cameo_item *item = &l->items[k];
        int64_t n = c->n[1] ? 1 : item->dims[axis], bytes = n * all.inner;
        for (int64_t i = 0; i < all.outer && bytes > 0; i++)
            memcpy((unsigned char *)(uintptr_t)to->at + (i * all.n + at) * all.inner,
                   (const unsigned char *)item->elements + i * bytes, (size_t)bytes);
        at += n;
    }
    return 0;
}

#endif
