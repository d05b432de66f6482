/* Tensors in files. What is read is checked against the bytes that are there: a file may be cut
 * short or say anything. */
#include "cameo_io.h"
#include "cameo_text.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

void cameo_tensor_free(cameo_tensor *t)
{
    free(t->elements);
    free(t->text);
    t->elements = NULL;
    t->text = NULL;
}

unsigned char *cameo_read_file(const char *path, size_t *len, char *error, size_t room)
{
    FILE *f = fopen(path, "rb");
    unsigned char *at = NULL;
    size_t n = 0, cap = 0;
    struct stat st;
    const bool known = f && fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
    const size_t first = known ? (size_t)st.st_size + 1 : 1 << 16; /* one more: to see its end */
    while (f && !ferror(f) && !feof(f)) {
        if (n == cap) {
            cap = cap ? cap * 2 : first;
            unsigned char *more = realloc(at, cap);
            if (!more)
                break;
            at = more;
        }
        n += fread(at + n, 1, cap - n, f);
    }
    bool whole = f && feof(f) && !ferror(f);
    if (!whole) {
        snprintf(error, room, "%s: %s", path, strerror(errno ? errno : EIO));
        free(at);
        at = NULL;
    }
    if (f)
        fclose(f);
    *len = n;
    return at;
}

int cameo_write_file(const char *path, const void *bytes, size_t len, char *error, size_t room)
{
    size_t n = strlen(path) + 32;
    char *temporary = malloc(n);
    if (!temporary)
        return snprintf(error, room, "no memory"), -1;
    snprintf(temporary, n, "%s.%ld.tmp", path, (long)getpid());
    FILE *f = fopen(temporary, "wb");
    bool ok = f && fwrite(bytes, 1, len, f) == len;
    ok = f && fclose(f) == 0 && ok;
    ok = ok && rename(temporary, path) == 0;
    if (!ok) {
        snprintf(error, room, "%s: %s", path, strerror(errno));
        remove(temporary);
    }
    free(temporary);
    return ok ? 0 : -1;
}

/* ---- dtypes */

static const struct {
    int32_t dtype;
    const char *descr;
} npy_types[] = {{1, "<f4"},  {2, "|u1"},  {3, "|i1"},  {4, "<u2"},  {5, "<i2"},
                 {6, "<i4"},  {7, "<i8"},  {9, "|b1"},  {10, "<f2"}, {11, "<f8"},
                 {12, "<u4"}, {13, "<u8"}, {14, "<c8"}, {15, "<c16"}};

int cameo_npy_knows(int32_t dtype)
{
    for (size_t i = 0; i < sizeof npy_types / sizeof *npy_types; i++)
        if (npy_types[i].dtype == dtype)
            return 1;
    return dtype == 8;
}

static int set_shape(cameo_tensor *t, char *error, size_t room)
{
    int64_t bytes = cameo_bytes(1, t->rank, t->dims);
    if (bytes < 0)
        return snprintf(error, room, "dims that are negative or too large"), -1;
    t->count = bytes;
    return 0;
}

static int take_elements(cameo_tensor *t, const unsigned char *from, size_t len, char *error,
                         size_t room)
{
    int64_t size = cameo_dtype_size(t->dtype);
    if (!size || cameo_bytes(size, t->rank, t->dims) < 0)
        return snprintf(error, room, "dims or a dtype that cannot be"), -1;
    size_t need = (size_t)(t->count * size);
    if (len < need)
        return snprintf(error, room, "%zu bytes of elements where %zu are needed", len, need), -1;
    t->elements = malloc(need ? need : 1);
    if (!t->elements)
        return snprintf(error, room, "no memory"), -1;
    if (need)
        memcpy(t->elements, from, need);
    return 0;
}

/* ---- .npy */

/* UTF-32 text of fixed width to strings. */
static int take_strings(cameo_tensor *t, const unsigned char *from, size_t len, size_t width,
                        char *error, size_t room)
{
    if (width && (size_t)t->count > len / 4 / width)
        return snprintf(error, room, "fewer bytes than its shape needs"), -1;
    cameo_str *out = calloc((size_t)t->count + 1, sizeof *out);
    char *text = malloc((size_t)t->count * (width * 4 + 1) + 1);
    t->elements = out;
    t->text = text;
    if (!out || !text)
        return snprintf(error, room, "no memory"), -1;
    for (int64_t i = 0; i < t->count; i++) {
        out[i].at = text;
        for (size_t k = 0; k < width; k++) {
            uint32_t c;
            memcpy(&c, from + ((size_t)i * width + k) * 4, 4);
            if (c == 0)
                break;
            if (c >= 0xdc80 && c <= 0xdcff)
                *text++ = (char)c; /* a byte that is no UTF-8, as Python writes it */
            else
                text += cameo_encode_utf8(c, text);
        }
        out[i].len = text - out[i].at;
    }
    return 0;
}

/* The value that follows a key of the header's dictionary. */
static const char *npy_key(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    at = at ? strchr(at, ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " ") : NULL;
}

static int npy_shape(const char *at, cameo_tensor *t, char *error, size_t room)
{
    if (!at || *at != '(')
        return snprintf(error, room, "no .npy shape"), -1;
    for (at++; *at && *at != ')';) {
        char *end;
        errno = 0;
        long long d = strtoll(at, &end, 10);
        if (end == at || errno || d < 0 || t->rank == CAMEO_MAX_RANK)
            return snprintf(error, room, "an .npy shape that cannot be read"), -1;
        t->dims[t->rank++] = d;
        at = end + strspn(end, ", ");
    }
    return set_shape(t, error, room);
}

static void npy_dtype(const char *descr, int32_t expected, cameo_npy *h)
{
    char *type = h->descr;
    bool text = descr && (*descr == '\'' || *descr == '"');
    for (size_t i = 0; text && i + 1 < sizeof h->descr && descr[1 + i] && descr[1 + i] != *descr;
         i++)
        type[i] = descr[1 + i], type[i + 1] = 0;
    if (descr && *descr == '[')
        snprintf(type, sizeof h->descr, "record");
    for (size_t i = 0; i < sizeof npy_types / sizeof *npy_types; i++)
        if (type[0] && !strcmp(type + 1, npy_types[i].descr + 1) && type[0] != '>')
            h->head.dtype = npy_types[i].dtype;
    if (type[0] && type[1] == 'V' && cameo_dtype_size(expected) == atoi(type + 2))
        h->head.dtype = expected;
    int width = type[0] == '<' && type[1] == 'U' ? atoi(type + 2) : -1;
    if (width >= 0) {
        h->head.dtype = 8;
        h->width = (size_t)width;
    }
}

/* Column-major elements to row-major ones. */
static int transpose(cameo_tensor *t, char *error, size_t room)
{
    size_t size = (size_t)cameo_dtype_size(t->dtype);
    unsigned char *from = t->elements, *to = malloc((size_t)t->count * size + 1);
    if (!to)
        return snprintf(error, room, "no memory"), -1;
    int64_t at[CAMEO_MAX_RANK] = {0};
    for (int64_t i = 0; i < t->count; i++) { // at: the position of element i of `from`
        int64_t position = 0;
        for (int32_t k = 0; k < t->rank; k++)
            position = position * t->dims[k] + at[k];
        memcpy(to + (size_t)position * size, from + (size_t)i * size, size);
        for (int32_t k = 0; k < t->rank && ++at[k] == t->dims[k]; k++)
            at[k] = 0;
    }
    free(from);
    t->elements = to;
    return 0;
}

int cameo_npy_header(const unsigned char *at, size_t len, int32_t expected, cameo_npy *h,
                     char *error, size_t room)
{
    *h = (cameo_npy){.descr = ""};
    if (len < 12 || memcmp(at, "\x93NUMPY", 6) != 0)
        return snprintf(error, room, "no .npy file"), -1;
    size_t start = at[6] == 1 ? 10 : 12;
    size_t n = at[8] | (size_t)at[9] << 8;
    if (at[6] != 1)
        n |= (size_t)at[10] << 16 | (size_t)at[11] << 24;
    if (n > len - start || n > 1 << 16)
        return snprintf(error, room, "an .npy header that is cut short"), -1;
    char *header = malloc(n + 1);
    if (!header)
        return snprintf(error, room, "no memory"), -1;
    memcpy(header, at + start, n);
    header[n] = 0;
    const char *order = npy_key(header, "fortran_order");
    h->columns = order && *order == 'T';
    h->start = start + n;
    npy_dtype(npy_key(header, "descr"), expected, h);
    int status = npy_shape(npy_key(header, "'shape'"), &h->head, error, room);
    free(header);
    return status;
}

int cameo_read_npy(const unsigned char *at, size_t len, int32_t expected, cameo_tensor *t,
                   char *error, size_t room)
{
    cameo_npy h;
    *t = (cameo_tensor){.name = ""};
    if (cameo_npy_header(at, len, expected, &h, error, room) != 0)
        return -1;
    *t = h.head;
    if (!t->dtype)
        return snprintf(error, room, "elements of the type \"%s\", which no tensor has", h.descr),
               -1;
    int status = t->dtype == 8 ? take_strings(t, at + h.start, len - h.start, h.width, error, room)
                               : take_elements(t, at + h.start, len - h.start, error, room);
    return status == 0 && h.columns && t->rank > 1 ? transpose(t, error, room) : status;
}

static size_t characters_of(cameo_str s)
{
    size_t n = 0;
    uint32_t c;
    for (int64_t i = 0; i < s.len; n++)
        i += cameo_decode_utf8(s.at + i, s.len - i, &c);
    return n;
}

unsigned char *cameo_format_npy(const cameo_tensor *t, size_t *len)
{
    char descr[32] = "";
    size_t size = (size_t)cameo_dtype_size(t->dtype), width = 1;
    for (size_t i = 0; i < sizeof npy_types / sizeof *npy_types; i++)
        if (npy_types[i].dtype == t->dtype)
            snprintf(descr, sizeof descr, "%s", npy_types[i].descr);
    if (t->dtype == 8) {
        for (int64_t i = 0; i < t->count; i++)
            if (characters_of(((cameo_str *)t->elements)[i]) > width)
                width = characters_of(((cameo_str *)t->elements)[i]);
        snprintf(descr, sizeof descr, "<U%zu", width);
        size = width * 4;
    } else if (!descr[0]) {
        snprintf(descr, sizeof descr, size == 1 ? "|V%zu" : "<V%zu", size);
    }
    char header[1024];
    int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                     descr);
    for (int32_t i = 0; i < t->rank; i++)
        n += snprintf(header + n, sizeof header - (size_t)n, "%lld,%s", (long long)t->dims[i],
                      i + 1 < t->rank ? " " : "");
    n += snprintf(header + n, sizeof header - (size_t)n, "), }");
    size_t head = ((size_t)n + 10 + 1 + 63) / 64 * 64;
    unsigned char *out = calloc(1, head + (size_t)t->count * size + 1);
    if (!out)
        return NULL;
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (unsigned char)((head - 10) & 0xff);
    out[9] = (unsigned char)((head - 10) >> 8);
    memset(out + 10, ' ', head - 10);
    memcpy(out + 10, header, (size_t)n);
    out[head - 1] = '\n';
    if (t->dtype != 8 && t->count)
        memcpy(out + head, t->elements, (size_t)t->count * size);
    for (int64_t i = 0; t->dtype == 8 && i < t->count; i++) {
        const cameo_str *s = &((const cameo_str *)t->elements)[i];
        unsigned char *to = out + head + (size_t)i * size;
        for (int64_t k = 0; k < s->len; to += 4) {
            uint32_t c;
            int n = cameo_decode_utf8(s->at + k, s->len - k, &c);
            if (c == CAMEO_NO_CHARACTER)
                c = 0xdc00 | (unsigned char)s->at[k];
            memcpy(to, &c, 4);
            k += n;
        }
    }
    *len = head + (size_t)t->count * size;
    return out;
}

/* ---- .npz: a zip archive, read by its central directory */

static uint64_t little(const unsigned char *at, int n)
{
    uint64_t v = 0;
    for (int i = n - 1; i >= 0; i--)
        v = v << 8 | at[i];
    return v;
}

static size_t find_directory(const unsigned char *at, size_t len)
{
    for (size_t i = 22; i <= len && i < 22 + 65536; i++)
        if (memcmp(at + len - i, "PK\5\6", 4) == 0)
            return (size_t)little(at + len - i + 16, 4);
    return len;
}

/* Sizes and place of more than 4 GiB stand in an extra field of the directory. */
static void take_long_sizes(const unsigned char *extra, size_t n, cameo_zip *e, uint64_t *local)
{
    for (size_t p = 0; p + 4 <= n;) {
        size_t tag = (size_t)little(extra + p, 2), size = (size_t)little(extra + p + 2, 2);
        const unsigned char *at = extra + p + 4, *end = at + size;
        p += 4 + size;
        if (tag != 1 || p > n)
            continue;
        uint64_t *const wide[] = {&e->unpacked, &e->len, local};
        for (int i = 0; i < 3; i++)
            if (*wide[i] == UINT32_MAX && end - at >= 8) {
                *wide[i] = little(at, 8);
                at += 8;
            }
    }
}

int cameo_next_zip(const unsigned char *at, size_t len, size_t *next, cameo_zip *e, char *error,
                   size_t room)
{
    size_t p = *next ? *next : find_directory(at, len);
    if (*next && (p + 4 > len || memcmp(at + p, "PK\1\2", 4) != 0))
        return 0;
    if (p >= len || len - p < 46 || memcmp(at + p, "PK\1\2", 4) != 0)
        return snprintf(error, room, "no .npz file, or a damaged one"), -1;
    size_t n = (size_t)little(at + p + 28, 2), extra = (size_t)little(at + p + 30, 2);
    uint64_t local = little(at + p + 42, 4);
    *e = (cameo_zip){.name = (const char *)at + p + 46, .name_len = n};
    e->method = (int)little(at + p + 10, 2);
    e->crc = (uint32_t)little(at + p + 16, 4);
    e->len = little(at + p + 20, 4);
    e->unpacked = little(at + p + 24, 4);
    if (n + extra > len - p - 46)
        return snprintf(error, room, "a damaged .npz"), -1;
    take_long_sizes(at + p + 46 + n, extra, e, &local);
    if (local > len || len - local < 30)
        return snprintf(error, room, "a damaged .npz"), -1;
    uint64_t start = local + 30 + little(at + local + 26, 2) + little(at + local + 28, 2);
    if (start > len || e->len > len - start)
        return snprintf(error, room, "a damaged .npz"), -1;
    e->at = at + start;
    *next = p + 46 + n + extra + (size_t)little(at + p + 32, 2);
    return 1;
}

int cameo_next_npz(const unsigned char *at, size_t len, size_t *next, const unsigned char **member,
                   size_t *member_len, char *name, size_t name_room, char *error, size_t room)
{
    cameo_zip e;
    int status = cameo_next_zip(at, len, next, &e, error, room);
    if (status != 1)
        return status;
    if (e.method != 0)
        return snprintf(error, room, "compressed .npz: write it with numpy.savez instead"), -1;
    size_t n = e.name_len;
    size_t shown = n > 4 && !memcmp(e.name + n - 4, ".npy", 4) ? n - 4 : n;
    snprintf(name, name_room, "%.*s", (int)shown, e.name);
    *member = e.at;
    *member_len = (size_t)e.len;
    return 1;
}

/* ---- elements as numbers */

double cameo_element(const cameo_tensor *t, int64_t i)
{
    const unsigned char *at = (const unsigned char *)t->elements + i * cameo_dtype_size(t->dtype);
    uint16_t half;
    switch (t->dtype) {
    case 1:
        return ((const float *)t->elements)[i];
    case 2:
    case 9:
    case 21:
    case 25:
        return *at;
    case 3:
    case 22:
    case 26:
        return (int8_t)*at;
    case 4:
        return ((const uint16_t *)t->elements)[i];
    case 5:
        return ((const int16_t *)t->elements)[i];
    case 6:
        return ((const int32_t *)t->elements)[i];
    case 7:
        return (double)((const int64_t *)t->elements)[i];
    case 10:
    case 16:
        memcpy(&half, at, 2);
        return t->dtype == 10 ? cameo_cast_f16_f32(half) : cameo_cast_bf16_f32(half);
    case 11:
        return ((const double *)t->elements)[i];
    case 12:
        return ((const uint32_t *)t->elements)[i];
    case 13:
        return (double)((const uint64_t *)t->elements)[i];
    case 17:
        return cameo_cast_f8e4m3fn_f32(*at);
    case 18:
        return cameo_cast_f8e4m3fnuz_f32(*at);
    case 19:
        return cameo_cast_f8e5m2_f32(*at);
    case 20:
        return cameo_cast_f8e5m2fnuz_f32(*at);
    case 23:
        return cameo_cast_f4e2m1_f32(*at);
    case 24:
        return cameo_cast_f8e8m0_f32(*at);
    case 27:
        return cameo_cast_f6e2m3_f32(*at);
    case 28:
        return cameo_cast_f6e3m2_f32(*at);
    default:
        return NAN;
    }
}
