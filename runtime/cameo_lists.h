/* Sequences, optionals and maps in files (SequenceProto, OptionalProto, MapProto), and in print.
 * Only programs with such inputs or outputs hold these functions. */
#ifndef CAMEO_LISTS_H
#define CAMEO_LISTS_H

#include "cameo_io.h"
#include "cameo_object.h"

/* A value that was read, with the memory that it stands in. */
typedef struct cameo_loaded {
    cameo_object object;
    struct cameo_owned *owned;
} cameo_loaded;

/* The value in a serialized message of that type. 0 or -1, with an error; free it in both cases. */
int cameo_read_object(const unsigned char *at, size_t len, const cameo_type *type, cameo_loaded *to,
                      char *error, size_t room);
void cameo_free_object(cameo_loaded *l);
/* The message of a value, malloc'ed, or NULL for want of memory. */
unsigned char *cameo_format_object(const cameo_object *o, const cameo_type *type, const char *name,
                                   size_t *len);
/* Prints a value in some lines, tensors by `print`. */
void cameo_print_object(const cameo_object *o, const char *name,
                        void (*print)(const cameo_tensor *t));
/* A tensor of a value as one of a file; its elements stay the object's. */
cameo_tensor cameo_tensor_of(const cameo_object *o, const char *name);

#endif
