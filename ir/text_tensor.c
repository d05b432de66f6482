// Printing tensors as text.

#include "ir/text_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { INLINE_ELEMENTS = 64 };

uint32_t tensor_natural_has(const TensorData *d)
{
    return TENSOR_HAS_DTYPE | (d->name.at ? TENSOR_HAS_NAME : 0) |
           (d->doc.at ? TENSOR_HAS_DOC : 0) | (d->payload == PAYLOAD_RAW ? TENSOR_HAS_RAW : 0) |
           (d->payload == PAYLOAD_EXTERNAL ? TENSOR_HAS_LOCATION : 0);
}

static void print_floats(Text *t, const TensorData *d, bool wide)
{
    size_t width = wide ? 8 : 4;
    for (size_t i = 0; i + width <= d->raw.len; i += width) {
        float f;
        double v;
        uint64_t bits = 0;
        memcpy(&bits, d->raw.at + i, width);
        memcpy(&f, d->raw.at + i, 4);
        memcpy(&v, d->raw.at + i, wide ? 8 : 4);
        v = wide ? v : (double)f;
        buf_printf(t->out, "%s", i ? "," : "");
        bool odd = isnan(v) && bits != (wide ? 0x7ff8000000000000u : 0x7fc00000u);
        if (odd && t->form == TEXT_CIR)
            buf_printf(t->out, "bits(0x%" PRIx64 ")", bits);
        else if (isnan(v) || isinf(v))
            buf_printf(t->out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        else
            text_real(t, v, wide ? 17 : 9);
    }
}

static void print_int_list(Text *t, const TensorData *d)
{
    for (uint64_t i = 0; i < d->count; i++) {
        buf_printf(t->out, "%s", i ? "," : "");
        if (d->payload == PAYLOAD_INT32)
            buf_printf(t->out, "%" PRId32, ((const int32_t *)d->ints)[i]);
        else if (d->payload == PAYLOAD_INT64)
            buf_printf(t->out, "%" PRId64, ((const int64_t *)d->ints)[i]);
        else
            buf_printf(t->out, "%" PRIu64, ((const uint64_t *)d->ints)[i]);
    }
}

// Elements of a raw payload in plain syntax: decoded, since it has no raw form.
static void print_decoded(Text *t, const TensorData *d)
{
    Str error;
    TensorData *data = (TensorData *)(uintptr_t)d;
    const unsigned char *at = tensor_elements((Model *)(uintptr_t)t->m, data, &error);
    const DTypeInfo *info = dtype_info((DType)d->dtype);
    if (!at || info->kind == KIND_STRING) {
        text_drop(t, "payload of a tensor");
        return;
    }
    if (info->kind == KIND_COMPLEX) { // real and imaginary parts in turn, as in float_data
        print_floats(t, d, d->dtype == DT_C128);
        return;
    }
    bool packed = info->bits == 4 || info->bits == 2; // bytes of several, as in int32_data
    for (uint64_t i = 0; packed && i < d->raw.len; i++)
        buf_printf(t->out, "%s%u", i ? "," : "", (unsigned char)d->raw.at[i]);
    if (packed)
        return;
    for (uint64_t i = 0; i < data->nelements; i++) {
        const unsigned char *p = at + i * info->bytes;
        Scalar v = scalar_load((DType)d->dtype, p);
        uint64_t bits = 0;
        memcpy(&bits, p, info->bytes);
        buf_printf(t->out, "%s", i ? "," : "");
        if (dtype_is_small_float((DType)d->dtype))
            buf_printf(t->out, "%" PRIu64, bits);
        else if (info->kind == KIND_FLOAT && !isfinite(v.f))
            buf_printf(t->out, isnan(v.f) ? "nan" : v.f < 0 ? "-inf" : "inf");
        else if (info->kind == KIND_FLOAT)
            text_real(t, v.f, info->bits == 64 ? 17 : 9);
        else if (d->dtype == DT_U64)
            buf_printf(t->out, "%" PRIu64, (uint64_t)v.i);
        else
            buf_printf(t->out, "%" PRId64, v.i);
    }
}

// Can what is printed refer to the file? What came through a pipe cannot be read again.
bool text_has_source(const Model *m)
{
    return m->source.len && m->path && strcmp(m->path, "-") != 0;
}

// Bytes of the payload in the source file, or literally.
static void print_bytes(Text *t, const TensorData *d, size_t width)
{
    uintptr_t at = (uintptr_t)d->raw.at, base = (uintptr_t)t->m->source.at;
    bool large = d->raw.len > (size_t)INLINE_ELEMENTS * width;
    if (large && text_has_source(t->m) && at >= base && at + d->raw.len <= base + t->m->source.len)
        buf_printf(t->out, "source(%zu, %zu)", (size_t)(at - base), d->raw.len);
    else
        text_hex(t, d->raw);
}

static void print_strings(Text *t, const TensorData *d)
{
    for (uint64_t i = 0; i < d->count; i++) {
        buf_printf(t->out, "%s", i ? ", " : "");
        text_quoted(t, d->strings[i]);
    }
}

// [ "location" : "w.bin" ]
static void print_external(Text *t, const TensorData *d)
{
    if (t->form == TEXT_CIR) {
        text_props(t, &d->external);
        return;
    }
    buf_char(t->out, '[');
    for (uint32_t i = 0; i < d->external.len; i++) {
        buf_printf(t->out, "%s", i ? ", " : "");
        text_quoted(t, d->external.at[i].key);
        buf_printf(t->out, ": ");
        text_quoted(t, d->external.at[i].value);
    }
    buf_char(t->out, ']');
}

static void print_plain_payload(Text *t, const TensorData *d)
{
    bool natural = d->payload == tensor_natural_payload(d->dtype);
    if (d->payload == PAYLOAD_EXTERNAL && d->external.len) {
        buf_char(t->out, ' ');
        print_external(t, d);
        return;
    }
    buf_printf(t->out, " {");
    if (d->payload == PAYLOAD_RAW)
        print_decoded(t, d);
    else if (d->payload && !natural)
        text_drop(t, "payload of a tensor");
    else if (d->payload == PAYLOAD_STRING)
        print_strings(t, d);
    else if (d->payload == PAYLOAD_FLOAT || d->payload == PAYLOAD_DOUBLE)
        print_floats(t, d, d->payload == PAYLOAD_DOUBLE);
    else
        print_int_list(t, d);
    buf_char(t->out, '}');
}

static void print_payload(Text *t, const TensorData *d)
{
    bool natural = d->payload == tensor_natural_payload(d->dtype);
    static const char *const words[] = {"",           "raw",         "float_data",  "int32_data",
                                        "int64_data", "double_data", "uint64_data", "string_data",
                                        "external"};
    buf_printf(t->out, " %s%s{", natural ? "" : words[d->payload],
               natural || !d->payload ? "" : " ");
    bool floats = d->payload == PAYLOAD_FLOAT || d->payload == PAYLOAD_DOUBLE;
    size_t width = d->payload == PAYLOAD_RAW      ? dtype_info((DType)d->dtype)->bytes
                   : d->payload == PAYLOAD_DOUBLE ? 8
                                                  : 4;
    if (d->payload == PAYLOAD_RAW || (floats && d->raw.len > INLINE_ELEMENTS * width))
        print_bytes(t, d, width);
    else if (d->payload == PAYLOAD_EXTERNAL)
        print_external(t, d);
    else if (d->payload == PAYLOAD_STRING)
        print_strings(t, d);
    else if (floats)
        print_floats(t, d, d->payload == PAYLOAD_DOUBLE);
    else
        print_int_list(t, d);
    buf_char(t->out, '}');
}

void text_tensor_type(Text *t, const TensorData *d)
{
    if (d->dtype > 0 && d->dtype < DT_COUNT)
        buf_printf(t->out, "%s", dtype_info((DType)d->dtype)->onnx);
    else
        buf_printf(t->out, "type(%d)", d->dtype);
    if (d->rank)
        buf_char(t->out, '[');
    for (uint32_t i = 0; i < d->rank; i++)
        buf_printf(t->out, "%s%" PRId64, i ? "," : "", d->dims[i]);
    if (d->rank)
        buf_char(t->out, ']');
}

void text_tensor(Text *t, const TensorData *d, bool with_type)
{
    Ext e = {0};
    if (with_type)
        text_tensor_type(t, d);
    if (d->name.at && (d->name.len || t->form == TEXT_CIR)) {
        buf_char(t->out, ' ');
        text_name(t, d->name);
    }
    if (!with_type)
        buf_printf(t->out, " =");
    if (t->form == TEXT_CIR)
        print_payload(t, d);
    else
        print_plain_payload(t, d);
    ext_str(t, &e, "doc_string", d->doc, d->doc.at);
    ext_props(t, &e, "metadata_props", &d->metadata);
    if (d->payload != PAYLOAD_EXTERNAL && d->external.len)
        ext_props(t, &e, "external_data", &d->external);
    ext_int(t, &e, "location", d->data_location, d->payload == PAYLOAD_EXTERNAL);
    if (d->has_segment) {
        ext_int(t, &e, "segment", d->segment_has, INT64_MIN);
        ext_int(t, &e, "begin", d->segment_begin, 0);
        ext_int(t, &e, "end", d->segment_end, 0);
    }
    ext_int(t, &e, "has", d->has, tensor_natural_has(d));
    ext_bytes(t, &e, "unknown", d->unknown);
    ext_end(t, &e);
}

void text_sparse(Text *t, const SparseData *s)
{
    Ext e = {0};
    buf_printf(t->out, "sparse[");
    for (uint32_t i = 0; i < s->rank; i++)
        buf_printf(t->out, "%s%" PRId64, i ? "," : "", s->dims[i]);
    buf_printf(t->out, "](");
    if (s->values)
        text_tensor(t, s->values, true);
    buf_printf(t->out, "; ");
    if (s->indices)
        text_tensor(t, s->indices, true);
    buf_char(t->out, ')');
    ext_bytes(t, &e, "unknown", s->unknown);
    ext_end(t, &e);
}
