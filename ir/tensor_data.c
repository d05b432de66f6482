// The elements of constants, from whichever field of TensorProto (or file) holds them.
//
// A payload is a view into the mapped model wherever its bytes are what memory needs; it is copied
// where elements are packed, narrower than the field that carries them, or badly aligned.
#include "ir/payload.h"
#include "base/file.h"
#include "ir/graph.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t tensor_count(const TensorData *t)
{
    uint64_t n = 1;
    bool zero = false;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] < 0)
            return UINT64_MAX;
        zero = zero || t->dims[i] == 0;
    }
    for (uint32_t i = 0; i < t->rank && !zero; i++)
        if (__builtin_mul_overflow(n, (uint64_t)t->dims[i], &n) || n > INT64_MAX)
            return UINT64_MAX;
    return zero ? 0 : n;
}

// "float32[2,3]"
static Str describe(Arena *a, const TensorData *t)
{
    Buf b = {0};
    buf_printf(&b, "%s[", dtype_name((DType)t->dtype));
    for (uint32_t i = 0; i < t->rank && i < 16; i++)
        buf_printf(&b, "%s%lld", i ? "," : "", (long long)t->dims[i]);
    buf_printf(&b, "%s]", t->rank > 16 ? ",..." : "");
    Str s = {arena_copy(a, b.at, b.len), b.len};
    buf_free(&b);
    return s;
}

// ---- external data

// The folder of the model's file, opened; -1 if it cannot be.
static int open_folder(const Model *m)
{
    return open(path_folder(m->arena, m->path), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

// Without openat2: one folder after the other, following no link at all.
static int open_by_steps(Arena *a, int folder, Str location)
{
    int at = dup(folder);
    const char *p = location.at, *end = p + location.len;
    while (at >= 0 && p < end) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        size_t n = (size_t)((slash ? slash : end) - p);
        int next = at;
        if (n) {
            int how = O_NOFOLLOW | O_CLOEXEC | (slash ? O_PATH | O_DIRECTORY : O_NONBLOCK);
            next = openat(at, arena_copy(a, p, n), how | O_RDONLY);
            int why = errno;
            close(at);
            errno = why;
        }
        at = next;
        p += n + 1;
    }
    return at;
}

static int open_beneath(Arena *a, int folder, Str location)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    long fd =
        syscall(SYS_openat2, folder, arena_copy(a, location.at, location.len), &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        return open_by_steps(a, folder, location);
    return (int)fd;
}

// Why a location may not be used at all; NULL: it may.
static const char *bad_location(Str s)
{
    if (s.len == 0)
        return "has no location";
    if (s.len > 4096)
        return "has a location of more than 4096 bytes";
    if (memchr(s.at, 0, s.len))
        return "has a location with a NUL in it";
    if (s.at[0] == '/')
        return "has an absolute location";
    for (size_t i = 0; i + 1 < s.len; i++)
        if (s.at[i] == '.' && s.at[i + 1] == '.' && (i == 0 || s.at[i - 1] == '/') &&
            (i + 2 == s.len || s.at[i + 2] == '/'))
            return "has a location that leaves the model's folder (..)";
    return NULL;
}

static void map_file(Model *m, ExternalFile *f)
{
    Str name = str_escaped(m->arena, f->location);
    const char *bad = bad_location(f->location);
    f->escapes = bad != NULL;
    if (bad) {
        f->error = str_printf(m->arena, "external data %s: \"%.*s\"", bad, STR_ARG(name));
        return;
    }
    int folder = open_folder(m);
    int fd = folder < 0 ? -1 : open_beneath(m->arena, folder, f->location);
    int why = errno;
    struct stat st = {0};
    if (fd < 0) {
        bool left = why == EXDEV || why == ELOOP;
        f->escapes = left;
        f->error =
            str_printf(m->arena, "external data \"%.*s\" cannot be opened: %s", STR_ARG(name),
                       left ? "a link that leaves the model's folder" : strerror(why));
    } else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        f->error =
            str_printf(m->arena, "external data \"%.*s\" is not a regular file", STR_ARG(name));
    } else if (st.st_size == 0) {
        f->at = (const unsigned char *)"";
    } else {
        void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at == MAP_FAILED)
            f->error = str_printf(m->arena, "external data \"%.*s\" cannot be mapped: %s",
                                  STR_ARG(name), strerror(errno));
        else
            f->at = at;
        f->len = at == MAP_FAILED ? 0 : (uint64_t)st.st_size;
        f->links = (uint32_t)st.st_nlink;
        f->device = (uint64_t)st.st_dev;
        f->number = (uint64_t)st.st_ino;
    }
    if (fd >= 0)
        close(fd);
    if (folder >= 0)
        close(folder);
}

static const ExternalFile *file_of(Model *m, Str location)
{
    bool added;
    uint32_t *slot = map_put(&m->file_ids, location, &added);
    if (added) {
        *slot = m->files.len;
        vec_push(m->arena, &m->files, ((ExternalFile){.location = location}));
        map_file(m, &m->files.at[*slot]);
    }
    return &m->files.at[*slot];
}

bool model_reads(const Model *m, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    for (uint32_t i = 0; i < m->files.len; i++) {
        const ExternalFile *f = &m->files.at[i];
        if (f->links && f->device == (uint64_t)st.st_dev && f->number == (uint64_t)st.st_ino)
            return true;
    }
    return m->path && file_same(m->path, path);
}

void model_close(Model *m)
{
    for (uint32_t i = 0; i < m->files.len; i++)
        if (m->files.at[i].len && !m->files.at[i].lent)
            munmap((void *)(uintptr_t)m->files.at[i].at, m->files.at[i].len);
    m->files.len = 0;
    m->file_ids = (Map){.arena = m->arena};
}

void model_lend(Model *m, const Model *of)
{
    for (uint32_t i = 0; i < of->files.len; i++) {
        bool added;
        uint32_t *slot = map_put(&m->file_ids, of->files.at[i].location, &added);
        if (!added)
            continue;
        *slot = m->files.len;
        vec_push(m->arena, &m->files, of->files.at[i]);
        m->files.at[*slot].lent = true;
    }
}

void model_forget(const Model *m, const void *at, size_t n)
{
    file_forget(&m->view, at ? at : m->view.at, at ? n : m->view.len);
    for (uint32_t i = 0; i < m->files.len; i++) {
        const ExternalFile *f = &m->files.at[i];
        const FileView view = {f->at, (size_t)f->len, f->len > 0};
        file_forget(&view, at ? at : f->at, at ? n : view.len);
    }
}

// A decimal number without sign; an absent one is `otherwise`.
static bool read_number(Str s, uint64_t otherwise, uint64_t *out)
{
    *out = otherwise;
    if (!s.at)
        return true;
    uint64_t v = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] < '0' || s.at[i] > '9' || __builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.at[i] - '0'), &v))
            return false;
    }
    *out = v;
    return s.len > 0;
}

static bool external_bytes(Model *m, const TensorData *t, uint64_t need, Str *bytes, Str *error)
{
    const ExternalFile *f = file_of(m, props_get(&t->external, "location"));
    if (!f->at) {
        *error = f->error;
        return false;
    }
    uint64_t offset, length;
    Str from = props_get(&t->external, "offset"), size = props_get(&t->external, "length");
    Str name = str_escaped(m->arena, f->location);
    bool known = read_number(from, 0, &offset);
    if (!known || !read_number(size, need, &length)) {
        Str bad = str_escaped(m->arena, known ? size : from);
        *error = str_printf(m->arena, "%s \"%.*s\" in external data \"%.*s\" is no number of bytes",
                            known ? "length" : "offset", STR_ARG(bad), STR_ARG(name));
        return false;
    }
    if (offset > f->len || length > f->len - offset) {
        *error = str_printf(m->arena,
                            "external data \"%.*s\" has %llu bytes, but %llu at offset %llu are "
                            "needed",
                            STR_ARG(name), (unsigned long long)f->len, (unsigned long long)length,
                            (unsigned long long)offset);
        return false;
    }
    *bytes = (Str){(const char *)f->at + offset, length};
    return true;
}

static uint64_t packed_bytes(uint64_t n, unsigned bits);

ExternalFault tensor_external(Model *m, const TensorData *t, ExternalRange *range, Str *error)
{
    uint64_t n = tensor_count(t), need = 0;
    const ExternalFile *f = file_of(m, props_get(&t->external, "location"));
    Str bytes;
    *range = (ExternalRange){.file = f};
    *error = f->error;
    if (!f->at)
        return f->escapes ? EXTERNAL_ESCAPES : EXTERNAL_UNREADABLE;
    if (n < UINT64_C(1) << 56)
        need = packed_bytes(n, dtype_info((DType)t->dtype)->bits);
    if (!external_bytes(m, t, need, &bytes, error)) {
        uint64_t number;
        range->beyond = read_number(props_get(&t->external, "offset"), 0, &number) &&
                        read_number(props_get(&t->external, "length"), 0, &number);
        return EXTERNAL_BOUNDS;
    }
    range->offset = (uint64_t)((const unsigned char *)bytes.at - f->at);
    range->length = bytes.len;
    return EXTERNAL_FINE;
}

// ---- decoding

// Little-endian bit stream of elements of 2, 4 or 6 bits to one byte each.
static void unpack_bits(const unsigned char *from, uint64_t n, unsigned bits, bool is_signed,
                        unsigned char *to)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bit = i * bits;
        unsigned v = from[bit / 8] >> (bit % 8);
        if (bit % 8 + bits > 8)
            v |= (unsigned)from[bit / 8 + 1] << (8 - bit % 8);
        v &= (1u << bits) - 1;
        if (is_signed && v >> (bits - 1))
            v |= 0xffu << bits;
        to[i] = (unsigned char)v;
    }
}

static void pack_bits(const unsigned char *from, uint64_t n, unsigned bits, unsigned char *to)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bit = i * bits;
        unsigned v = (from[i] & ((1u << bits) - 1)) << (bit % 8);
        to[bit / 8] |= (unsigned char)v;
        if (v >> 8)
            to[bit / 8 + 1] |= (unsigned char)(v >> 8);
    }
}

static uint64_t packed_bytes(uint64_t n, unsigned bits)
{
    return n / 8 * bits + (n % 8 * bits + 7) / 8;
}

// Bytes in the file to elements in memory.
static const void *from_bytes(Arena *a, const TensorData *t, const DTypeInfo *info, Str bytes)
{
    uint64_t n = t->nelements;
    if (info->bits < 8) {
        unsigned char *to = NEWS(a, unsigned char, n + 1);
        unpack_bits((const unsigned char *)bytes.at, n, info->bits, info->kind == KIND_SIGNED, to);
        return to;
    }
    bool copy = false;
    for (uint64_t i = 0; info->kind == KIND_BOOL && i < n && !copy; i++)
        copy = (unsigned char)bytes.at[i] > 1;
    size_t align = info->kind == KIND_COMPLEX ? info->bytes / 2u : info->bytes;
    bool wide = info->kind == KIND_FLOAT || info->kind == KIND_COMPLEX;
    if ((uintptr_t)bytes.at % align != 0 && (!wide || bytes.len <= 65536))
        copy = true;
    if (!copy)
        return bytes.len ? bytes.at : "";
    unsigned char *to = (unsigned char *)arena_copy(a, bytes.at, bytes.len);
    for (uint64_t i = 0; info->kind == KIND_BOOL && i < n; i++)
        to[i] = to[i] != 0;
    return to;
}

// int32_data to elements of one or two bytes, or of less: those are packed, save 6 bits.
static const void *from_int32(Arena *a, const TensorData *t, const DTypeInfo *info)
{
    uint64_t n = t->nelements;
    const int32_t *from = t->ints;
    if (info->bits == 32)
        return from;
    if (info->bits < 8 && info->bits != 6) {
        unsigned char *bytes = NEWS(a, unsigned char, t->count + 1);
        for (uint64_t i = 0; i < t->count; i++)
            bytes[i] = (unsigned char)from[i];
        return from_bytes(a, t, info, (Str){(const char *)bytes, t->count});
    }
    unsigned char *to = arena_array(a, n + 1, info->bytes);
    for (uint64_t i = 0; i < n; i++) {
        uint16_t v = (uint16_t)from[i];
        if (info->kind == KIND_BOOL)
            v = from[i] != 0;
        if (info->bits == 6)
            v &= 0x3f;
        memcpy(to + i * info->bytes, &v, info->bytes); // little-endian: the low bytes
    }
    return to;
}

Payload tensor_natural_payload(int32_t dtype)
{
    switch (dtype) {
    case DT_F32:
    case DT_C64:
        return PAYLOAD_FLOAT;
    case DT_F64:
    case DT_C128:
        return PAYLOAD_DOUBLE;
    case DT_I64:
        return PAYLOAD_INT64;
    case DT_U64:
    case DT_U32:
        return PAYLOAD_UINT64;
    case DT_STRING:
        return PAYLOAD_STRING;
    default:
        return PAYLOAD_INT32;
    }
}

static const char *payload_name(Payload p)
{
    static const char *const names[] = {"no data",     "raw_data",    "float_data",
                                        "int32_data",  "int64_data",  "double_data",
                                        "uint64_data", "string_data", "external data"};
    return names[p];
}

static const void *wrong_size(Model *m, const TensorData *t, uint64_t have, uint64_t need,
                              const char *one, const char *many, Str *error)
{
    Str what = describe(m->arena, t);
    *error = str_printf(m->arena, "%s holds %llu %s, but %.*s needs %llu %s",
                        payload_name(t->payload), (unsigned long long)have, have == 1 ? one : many,
                        STR_ARG(what), (unsigned long long)need, need == 1 ? one : many);
    return NULL;
}

// raw_data, float_data, double_data and external data: bytes of exactly the size needed.
static const void *bytes_elements(Model *m, TensorData *t, const DTypeInfo *info, Str *error)
{
    uint64_t need = packed_bytes(t->nelements, info->bits);
    Str bytes = t->raw;
    if (t->payload == PAYLOAD_EXTERNAL && !external_bytes(m, t, need, &bytes, error))
        return NULL;
    if (bytes.len != need)
        return wrong_size(m, t, bytes.len, need, "byte", "bytes", error);
    return from_bytes(m->arena, t, info, bytes);
}

static const void *counted_elements(Model *m, TensorData *t, const DTypeInfo *info, Str *error)
{
    uint64_t need = t->nelements;
    if (t->payload == PAYLOAD_INT32 && info->bits < 8 && info->bits != 6)
        need = packed_bytes(need, info->bits);
    if (t->count != need)
        return wrong_size(m, t, t->count, need, "entry", "entries", error);
    if (t->payload == PAYLOAD_STRING)
        return t->strings ? (const void *)t->strings : "";
    if (!t->ints)
        return "";
    if (t->payload == PAYLOAD_INT32)
        return from_int32(m->arena, t, info);
    if (info->bytes == 8)
        return t->ints;
    uint32_t *to = NEWS(m->arena, uint32_t, need + 1); // uint64_data of a uint32
    for (uint64_t i = 0; i < need; i++)
        to[i] = (uint32_t)((const uint64_t *)t->ints)[i];
    return to;
}

bool tensor_packed(Model *m, const TensorData *t, Str *bytes)
{
    Str error;
    uint64_t n = tensor_count(t);
    bool known = t->dtype > DT_NONE && t->dtype < DT_COUNT && t->dtype != DT_STRING;
    bool held = t->payload == PAYLOAD_RAW || t->payload == PAYLOAD_EXTERNAL;
    if (!known || !held || n > UINT64_C(1) << 57 || t->has_segment || (t->has & TENSOR_HAS_EXTRA) ||
        dtype_info((DType)t->dtype)->kind == KIND_NONE)
        return false;
    uint64_t need = packed_bytes(n, dtype_info((DType)t->dtype)->bits);
    *bytes = t->raw;
    if (t->payload == PAYLOAD_EXTERNAL && !external_bytes(m, t, need, bytes, &error))
        return false;
    return bytes->len == need;
}

const void *tensor_elements(Model *m, TensorData *t, Str *error)
{
    if (t->elements)
        return t->elements;
    Arena *a = m->arena;
    const DTypeInfo *info = dtype_info((DType)t->dtype);
    if (t->dtype <= DT_NONE || t->dtype >= DT_COUNT || info->kind == KIND_NONE) {
        *error = str_printf(a, "the tensor has no known data_type (%d)", t->dtype);
        return NULL;
    }
    uint64_t n = tensor_count(t);
    // A tensor of 2^57 elements of 16 bytes is more than any address space holds.
    if (n > UINT64_C(1) << 57) {
        Str what = describe(a, t);
        *error = str_printf(a, "%.*s has a negative dimension or too many elements", STR_ARG(what));
        return NULL;
    }
    if (t->has_segment || (t->has & TENSOR_HAS_EXTRA)) {
        *error = t->has_segment ? STR("tensors in segments are not supported")
                                : STR("the tensor has more than one payload field");
        return NULL;
    }
    bool bytes = t->payload == PAYLOAD_RAW || t->payload == PAYLOAD_EXTERNAL;
    if ((t->payload == PAYLOAD_NONE && n) || (bytes && info->kind == KIND_STRING) ||
        (!bytes && t->payload != PAYLOAD_NONE && t->payload != tensor_natural_payload(t->dtype))) {
        Str what = describe(a, t);
        *error = str_printf(a, "%.*s has %s instead of %s", STR_ARG(what), payload_name(t->payload),
                            payload_name(tensor_natural_payload(t->dtype)));
        return NULL;
    }
    t->nelements = n;
    if (t->payload == PAYLOAD_NONE)
        t->elements = "";
    else if (bytes || t->payload == PAYLOAD_FLOAT || t->payload == PAYLOAD_DOUBLE)
        t->elements = bytes_elements(m, t, info, error);
    else
        t->elements = counted_elements(m, t, info, error);
    return t->elements;
}

static TensorData *tensor_shaped(Arena *a, DType t, uint32_t rank, const int64_t *dims)
{
    TensorData *d = NEW(a, TensorData);
    int64_t *own = NEWS(a, int64_t, rank + 1u);
    if (rank)
        memcpy(own, dims, rank * sizeof *own);
    *d = (TensorData){.dtype = (int32_t)t, .rank = rank, .dims = own, .has = TENSOR_HAS_DTYPE};
    d->nelements = tensor_count(d);
    return d;
}

TensorData *tensor_around(Arena *a, DType t, uint32_t rank, const int64_t *dims,
                          const void *elements)
{
    const DTypeInfo *info = dtype_info(t);
    TensorData *d = tensor_shaped(a, t, rank, dims);
    const uint64_t n = d->nelements;
    d->elements = elements;
    d->payload = PAYLOAD_RAW;
    d->has |= TENSOR_HAS_RAW;
    d->raw = (Str){d->elements, n * info->bytes};
    if (info->bits < 8) {
        unsigned char *packed = NEWS(a, unsigned char, packed_bytes(n, info->bits) + 1);
        pack_bits(d->elements, n, info->bits, packed);
        d->raw = (Str){(const char *)packed, packed_bytes(n, info->bits)};
    }
    return d;
}

TensorData *tensor_new(Arena *a, DType t, uint32_t rank, const int64_t *dims, const void *elements)
{
    TensorData *d = tensor_shaped(a, t, rank, dims);
    const uint64_t n = d->nelements;
    if (t != DT_STRING)
        return tensor_around(a, t, rank, dims, arena_share(a, elements, n * dtype_info(t)->bytes));
    Str *strings = NEWS(a, Str, n + 1);
    for (uint64_t i = 0; i < n; i++)
        strings[i] = str_copy(a, ((const Str *)elements)[i]);
    d->payload = PAYLOAD_STRING;
    d->count = n;
    d->strings = strings;
    d->elements = strings;
    return d;
}
