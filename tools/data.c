// Data files, mapped, with every header checked against the bytes that are there. What a program
// that Cameo emits reads is read by the same code (runtime/cameo_io.c); an .npz may be compressed.

#include "tools/data.h"
#include "runtime/cameo_io.h"
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

_Static_assert(DATA_MAX_RANK == (int)CAMEO_MAX_RANK, "ranks of files");

// Deflate makes at most so many bytes of one.
static const uint64_t MAX_RATIO = 1032, MAX_UNPACKED = UINT64_C(1) << 32;

bool data_fail(DataFiles *f, int status, const char *format, ...)
{
    Buf b = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&b, format, args);
    va_end(args);
    f->status = status;
    f->error = str_copy(f->arena, (Str){b.at, b.len});
    buf_free(&b);
    return false;
}

static bool fail_bytes(DataFiles *f, const char *path, const char *why)
{
    f->bytes = true;
    return data_fail(f, EXIT_BYTES, "%.*s: %s", STR_ARG(str_escaped(f->arena, str_of(path))), why);
}

ValueId data_input(const Model *m, Str name)
{
    const Graph *g = graph_at(m, m->main);
    for (uint32_t i = 0; i < g->inputs.len; i++)
        if (str_eq(value_at(m, g->inputs.at[i].value)->name, name))
            return g->inputs.at[i].value;
    return 0;
}

static DataTensor *add(DataFiles *f, const char *path, Str member, ValueId input)
{
    vec_push(f->arena, &f->set.all,
             ((DataTensor){.file = str_of(path), .member = member, .input = input}));
    return &f->set.all.at[f->set.all.len - 1];
}

static void take_head(DataTensor *t, const cameo_tensor *head)
{
    t->dtype = head->dtype > 0 && head->dtype < DT_COUNT ? (DType)head->dtype : DT_NONE;
    t->rank = (uint32_t)head->rank;
    t->count = (uint64_t)head->count;
    memcpy(t->dims, head->dims, sizeof t->dims);
}

// ---- .npy

// The dtype of ">f4": numbers whose bytes stand in the order of other machines. DT_NONE: none.
static DType turned_dtype(const char *type)
{
    for (int t = type[0] == '>' ? DT_NONE + 1 : DT_COUNT; t < DT_COUNT; t++) {
        const DTypeInfo *info = dtype_info((DType)t);
        const char kind = info->kind == KIND_FLOAT      ? 'f'
                          : info->kind == KIND_SIGNED   ? 'i'
                          : info->kind == KIND_UNSIGNED ? 'u'
                                                        : 0;
        const bool wide = info->bits >= 16 && t != DT_BF16; // which NumPy does not have
        if (wide && type[1] == kind && atoi(type + 2) == info->bytes)
            return (DType)t;
    }
    return DT_NONE;
}

static bool take_npy(DataFiles *f, const char *path, Str member, Str bytes, ValueId input)
{
    char why[256] = "";
    cameo_npy h;
    const unsigned char *at = (const unsigned char *)bytes.at;
    if (cameo_npy_header(at, bytes.len, (int32_t)value_at(f->m, input)->dtype, &h, why,
                         sizeof why) != 0)
        return fail_bytes(f, path, why);
    DataTensor t = {.file = str_of(path), .member = member, .input = input};
    take_head(&t, &h.head);
    t.type = str_copy(f->arena, str_of(h.descr));
    t.columns = h.columns && t.rank > 1;
    t.elements = at + h.start;
    t.turned = t.dtype == DT_NONE ? turned_dtype(h.descr) : DT_NONE;
    const DType held = t.turned ? t.turned : t.dtype;
    uint64_t width = held == DT_STRING ? h.width * 4 : dtype_info(held)->bytes;
    if (held != DT_NONE && width && t.count > (bytes.len - h.start) / width)
        return fail_bytes(f, path,
                          str_printf(f->arena,
                                     "%zu bytes of elements, but its header says %llu elements of "
                                     "%llu bytes",
                                     bytes.len - h.start, (unsigned long long)t.count,
                                     (unsigned long long)width)
                              .at);
    *add(f, path, member, input) = t;
    return true;
}

// ---- .npz

static Str member_name(DataFiles *f, const cameo_zip *e)
{
    Str name = {e->name, e->name_len};
    if (str_ends(name, ".npy"))
        name.len -= 4;
    return str_copy(f->arena, name);
}

// The bytes of a member, inflated if they are compressed. Absent: `error` says why.
static Str unpack(DataFiles *f, const char *path, const cameo_zip *e)
{
    if (e->method == 0)
        return (Str){(const char *)e->at, e->len};
    if (e->method != 8) {
        fail_bytes(f, path, "a member is compressed by something else than deflate");
        return STR_NONE;
    }
    if (e->unpacked > MAX_UNPACKED || e->unpacked > e->len * MAX_RATIO + 64) {
        fail_bytes(f, path, "a member says that it is larger than 4 GiB, or than its bytes can be");
        return STR_NONE;
    }
    unsigned char *out = arena_alloc(f->arena, e->unpacked + 1);
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)e->at, .next_out = out};
    if (inflateInit2(&z, -15) != Z_OK) {
        data_fail(f, EXIT_BYTES, "no memory");
        return STR_NONE;
    }
    uint64_t in = e->len, room = e->unpacked;
    int status = Z_OK;
    while (status == Z_OK) {
        uInt give = in < (1u << 30) ? (uInt)in : 1u << 30,
             take = room < (1u << 30) ? (uInt)room : 1u << 30;
        z.avail_in = give;
        z.avail_out = take;
        status = inflate(&z, Z_NO_FLUSH);
        in -= give - z.avail_in;
        room -= take - z.avail_out;
        if (status == Z_OK && give == z.avail_in && take == z.avail_out)
            status = Z_BUF_ERROR;
    }
    inflateEnd(&z);
    uLong crc = crc32_z(0, out, e->unpacked);
    if (status != Z_STREAM_END || room || crc != e->crc) {
        fail_bytes(f, path, "a compressed member is damaged");
        return STR_NONE;
    }
    return (Str){(const char *)out, e->unpacked};
}

static bool take_member(DataFiles *f, const char *path, const cameo_zip *e, ValueId input)
{
    Str bytes = unpack(f, path, e);
    return bytes.at && take_npy(f, path, member_name(f, e), bytes, input);
}

// The array of the input's name, or the only one.
static bool take_npz_for(DataFiles *f, const char *path, Str bytes, ValueId input)
{
    char why[256] = "";
    cameo_zip e, only = {0};
    size_t next = 0, count = 0;
    int status;
    Buf names = {0};
    Str wanted = value_at(f->m, input)->name;
    while ((status = cameo_next_zip((const unsigned char *)bytes.at, bytes.len, &next, &e, why,
                                    sizeof why)) == 1) {
        Str name = member_name(f, &e);
        if (str_eq(name, wanted)) {
            buf_free(&names);
            return take_member(f, path, &e, input);
        }
        only = count++ ? only : e;
        if (count < 10)
            buf_printf(&names, "%s%.*s", count > 1 ? ", " : "",
                       STR_ARG(str_escaped(f->arena, name)));
    }
    bool ok = status < 0   ? fail_bytes(f, path, why)
              : count == 1 ? take_member(f, path, &only, input)
                           : data_fail(f, EXIT_USAGE, "%.*s holds no array \"%.*s\" but %s",
                                       STR_ARG(str_escaped(f->arena, str_of(path))),
                                       STR_ARG(str_escaped(f->arena, wanted)),
                                       names.at ? names.at : "nothing");
    buf_free(&names);
    return ok;
}

static bool take_npz(DataFiles *f, const char *path, Str bytes)
{
    char why[256] = "";
    cameo_zip e;
    size_t next = 0;
    int status;
    while ((status = cameo_next_zip((const unsigned char *)bytes.at, bytes.len, &next, &e, why,
                                    sizeof why)) == 1) {
        Str name = member_name(f, &e);
        ValueId input = data_input(f->m, name);
        if (!input)
            return data_fail(f, EXIT_USAGE,
                             "%.*s holds \"%.*s\", which is no input; INPUT=%.*s takes the array "
                             "of one input alone",
                             STR_ARG(str_escaped(f->arena, str_of(path))),
                             STR_ARG(str_escaped(f->arena, name)),
                             STR_ARG(str_escaped(f->arena, str_of(path))));
        f->input = input;
        if (!take_member(f, path, &e, input))
            return false;
    }
    return status == 0 || fail_bytes(f, path, why);
}

// ---- TensorProto

static bool take_pb(DataFiles *f, const char *path, Str bytes, ValueId input)
{
    char why[256] = "";
    cameo_tensor head;
    int status = cameo_read_pb((const unsigned char *)bytes.at, bytes.len, &head, why, sizeof why);
    if (status == 0) {
        DataTensor *t = add(f, path, STR_NONE, input);
        take_head(t, &head);
        uint64_t size = (uint64_t)cameo_dtype_size(head.dtype);
        if (t->dtype == DT_STRING) // their bytes go with `head`: what fits is seen without them
            t->elements = NULL;
        else
            t->elements =
                (const unsigned char *)arena_copy(f->arena, head.elements, t->count * size);
    }
    cameo_tensor_free(&head);
    if (status != 0 && !str_ends(str_of(path), ".pb"))
        return fail_bytes(f, path,
                          "neither .npy, .npz nor .csv by its name, and no TensorProto inside");
    return status == 0 || fail_bytes(f, path, why);
}

// ---- any

static bool open_file(DataFiles *f, const char *path, Str *bytes)
{
    FileView view;
    Str error = STR_NONE;
    if (!file_regular(path))
        return data_fail(f, EXIT_BYTES, "%.*s cannot be read: %s",
                         STR_ARG(str_escaped(f->arena, str_of(path))),
                         file_exists(path) ? "it is no file" : "there is no such file");
    if (!file_open(f->arena, path, &view, &error))
        return data_fail(f, EXIT_BYTES, "%.*s", STR_ARG(error));
    vec_push(f->arena, &f->views, view);
    *bytes = (Str){(const char *)view.at, view.len};
    return true;
}

typedef enum Kind { KIND_NPY, KIND_NPZ, KIND_CSV, KIND_PB } Kind;

static Kind kind_of(const char *path, Str bytes)
{
    if (str_starts(bytes, "\x93NUMPY") || str_ends(str_of(path), ".npy"))
        return KIND_NPY;
    if (str_starts(bytes, "PK\3\4") || str_ends(str_of(path), ".npz"))
        return KIND_NPZ;
    return str_ends(str_of(path), ".csv") ? KIND_CSV : KIND_PB;
}

bool data_take_file(DataFiles *f, const char *path, ValueId input)
{
    Str bytes;
    f->input = input;
    if (value_at(f->m, input)->kind != TYPE_TENSOR)
        return data_fail(f, EXIT_USAGE, "input \"%.*s\" is no tensor",
                         STR_ARG(str_escaped(f->arena, value_at(f->m, input)->name)));
    for (uint32_t i = 0; i < f->set.all.len; i++)
        if (f->set.all.at[i].input == input)
            return data_fail(f, EXIT_USAGE, "input \"%.*s\" is given twice",
                             STR_ARG(str_escaped(f->arena, value_at(f->m, input)->name)));
    if (!open_file(f, path, &bytes))
        return false;
    Kind kind = kind_of(path, bytes);
    return kind == KIND_NPY   ? take_npy(f, path, STR_NONE, bytes, input)
           : kind == KIND_NPZ ? take_npz_for(f, path, bytes, input)
           : kind == KIND_CSV ? data_take_csv(f, path, bytes, input)
                              : take_pb(f, path, bytes, input);
}

// The first input that is no weight and that nothing was given for.
static ValueId next_input(const DataFiles *f)
{
    const Graph *g = graph_at(f->m, f->m->main);
    for (uint32_t i = 0; i < g->inputs.len; i++) {
        ValueId v = g->inputs.at[i].value;
        bool taken = value_at(f->m, v)->init != NULL;
        for (uint32_t k = 0; k < f->set.all.len; k++)
            taken |= f->set.all.at[k].input == v;
        if (!taken)
            return v;
    }
    return 0;
}

static bool take_unnamed(DataFiles *f, const char *path)
{
    Str bytes;
    if (!open_file(f, path, &bytes))
        return false;
    Kind kind = kind_of(path, bytes);
    ValueId next = next_input(f);
    if (kind == KIND_NPZ)
        return take_npz(f, path, bytes);
    if (kind == KIND_CSV)
        return data_take_csv(f, path, bytes, 0);
    return next ? data_take_file(f, path, next)
                : data_fail(f, EXIT_USAGE, "%.*s: every input has a file already",
                            STR_ARG(str_escaped(f->arena, str_of(path))));
}

static bool fail_unknown(DataFiles *f, const char *argument)
{
    const Graph *g = graph_at(f->m, f->m->main);
    Buf names = {0};
    for (uint32_t i = 0; i < g->inputs.len && i < 10; i++)
        buf_printf(&names, "%s\"%.*s\"", i ? ", " : "",
                   STR_ARG(str_escaped(f->arena, value_at(f->m, g->inputs.at[i].value)->name)));
    data_fail(f, EXIT_USAGE, "%.*s names no input of the model, which has %s",
              STR_ARG(str_escaped(f->arena, str_of(argument))), names.at ? names.at : "none");
    buf_free(&names);
    return false;
}

bool data_take(DataFiles *f, const char *argument)
{
    ValueId input = 0;
    const char *path = argument;
    for (const char *at = strchr(argument, '='); at; at = strchr(at + 1, '=')) {
        ValueId named = data_input(f->m, (Str){argument, (size_t)(at - argument)});
        input = named ? named : input;
        path = named ? at + 1 : path;
    }
    f->input = input;
    if (input)
        return data_take_file(f, path, input);
    if (strchr(argument, '=') && !file_exists(argument))
        return fail_unknown(f, argument);
    return take_unnamed(f, argument);
}

void data_close(DataFiles *f)
{
    for (uint32_t i = 0; i < f->views.len; i++)
        file_close(&f->views.at[i]);
    f->views.len = 0;
}
