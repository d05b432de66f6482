/* Inputs and outputs of compiled models that are no tensors: sequences, optionals, maps. */
#ifndef CAMEO_OBJECT_H
#define CAMEO_OBJECT_H

#include "cameo_model.h"

/* What an input or output is that is no tensor. Its port has rank -1, and the dtype of the tensors
 * that it holds in the end. */
typedef enum cameo_kind {
    CAMEO_TENSOR,
    CAMEO_SEQUENCE, /* items */
    CAMEO_OPTIONAL, /* no item, or one */
    CAMEO_MAP       /* two items: a tensor of keys, and of values a tensor or a sequence */
} cameo_kind;

struct cameo_type {
    cameo_kind kind;
    int32_t key;            /* map: dtype of the keys */
    const cameo_type *item; /* of items, of a map's values; NULL: tensors */
    int32_t dtype, rank;    /* of those tensors; rank -1: any */
    const int64_t *dims;    /* -1: any size */
};

/* A value of any kind. Elements of strings are `struct {const char *at; int64_t len;}`. */
struct cameo_object {
    cameo_kind kind;
    int32_t dtype, rank; /* tensor */
    const int64_t *dims;
    const void *elements;
    int64_t count; /* else: items */
    const cameo_object *items;
};

#endif
