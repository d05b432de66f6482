/* Tensors in files: .npy, .npz (stored), serialized TensorProto (.pb). */
#ifndef CAMEO_IO_H
#define CAMEO_IO_H

#include "cameo_runtime.h"

typedef struct cameo_tensor {
    char name[256]; /* as the file says; "" if it does not */
    int32_t dtype, rank;
    int64_t dims[CAMEO_MAX_RANK];
    int64_t count;
    void *elements; /* row-major, as in memory (elements of less than a byte take one); malloc'ed */
    char *text;     /* of strings; malloc'ed */
} cameo_tensor;

void cameo_tensor_free(cameo_tensor *t);

/* A whole file, malloc'ed. NULL with an error. */
unsigned char *cameo_read_file(const char *path, size_t *len, char *error, size_t room);
/* Writes a file whole or not at all. 0 or -1. */
int cameo_write_file(const char *path, const void *bytes, size_t len, char *error, size_t room);

/* 0; -1 the bytes are not what they should be; `expected` (0: none) resolves what .npy cannot say.
 */
int cameo_read_npy(const unsigned char *at, size_t len, int32_t expected, cameo_tensor *t,
                   char *error, size_t room);
int cameo_read_pb(const unsigned char *at, size_t len, cameo_tensor *t, char *error, size_t room);

/* What the header of an .npy says. */
typedef struct cameo_npy {
    cameo_tensor head; /* dtype (0: none that a tensor has), rank, dims, count */
    char descr[24];    /* "<f8"; "record" of a structured one */
    int columns;       /* elements stand column by column */
    size_t width;      /* characters of a string, of 4 bytes each */
    size_t start;      /* of the elements, in bytes */
} cameo_npy;
/* 0; -1 the bytes are no .npy. Whether all elements are there is not looked at. */
int cameo_npy_header(const unsigned char *at, size_t len, int32_t expected, cameo_npy *h,
                     char *error, size_t room);

/* A file in a zip archive, by its directory; `at` holds len bytes. */
typedef struct cameo_zip {
    const char *name;
    size_t name_len;
    int method; /* 0: stored, 8: deflated, other ones are no numpy's */
    uint32_t crc;
    uint64_t len, unpacked;
    const unsigned char *at;
} cameo_zip;
/* One at a time: *next is 0 first. 1: one is there, 0: no more, -1: an error. */
int cameo_next_zip(const unsigned char *at, size_t len, size_t *next, cameo_zip *entry, char *error,
                   size_t room);

/* One member of an .npz at a time, by a program without zlib: *next is 0 first. 1: one is there
 * (bytes at *member, its name without .npy in `name`), 0: no more, -1: an error, or a compressed
 * one. */
int cameo_next_npz(const unsigned char *at, size_t len, size_t *next, const unsigned char **member,
                   size_t *member_len, char *name, size_t name_room, char *error, size_t room);

/* The file's bytes, malloc'ed, or NULL for want of memory. */
unsigned char *cameo_format_npy(const cameo_tensor *t, size_t *len);
unsigned char *cameo_format_pb(const cameo_tensor *t, size_t *len);
/* Does .npy hold this dtype under its own name? */
int cameo_npy_knows(int32_t dtype);

/* An element as a number (not for strings). */
double cameo_element(const cameo_tensor *t, int64_t i);

#endif
