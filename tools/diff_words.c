// Types, attributes and nodes in few words, for the report of `cameo diff`.

#include "ir/text_print.h"
#include "tools/diff.h"
#include "tools/pipeline.h"

#include <stdlib.h>

enum { MAX_TEXT = 100 };

static Str finish(Arena *a, Buf *b)
{
    Str s = str_copy(a, (Str){b->at ? b->at : "", b->len});
    buf_free(b);
    return s;
}

// The beginning of a text that is too long to be read.
static Str shortened(Arena *a, Buf *b)
{
    if (b->len > MAX_TEXT) {
        b->len = MAX_TEXT - 3;
        while (b->len && ((unsigned char)b->at[b->len] & 0xC0) == 0x80)
            b->len--;
        buf_printf(b, "...");
    }
    return finish(a, b);
}

static void put_dims(const DeclDim *dims, uint32_t rank, Buf *b)
{
    buf_char(b, '[');
    for (uint32_t i = 0; i < rank; i++) {
        buf_printf(b, "%s", i ? "," : "");
        if (dims[i].kind == DIM_VALUE)
            buf_printf(b, "%lld", (long long)dims[i].value);
        else if (dims[i].kind == DIM_PARAM)
            buf_escaped(b, dims[i].param);
        else
            buf_char(b, '?');
    }
    buf_char(b, ']');
}

static void put_type(const Type *t, Buf *b)
{
    static const char *const around[] = {
        [TYPE_NONE] = "none",         [TYPE_TENSOR] = "", [TYPE_SPARSE] = "sparse",
        [TYPE_SEQUENCE] = "sequence", [TYPE_MAP] = "map", [TYPE_OPTIONAL] = "optional",
        [TYPE_OPAQUE] = "opaque"};
    if (t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE) {
        buf_printf(b, "%s%s%s", around[t->kind], t->kind == TYPE_SPARSE ? " " : "",
                   dtype_info((DType)t->elem)->abbrev);
        if (t->has_shape)
            put_dims(t->dims, t->rank, b);
        else
            buf_printf(b, "[*]");
        return;
    }
    buf_printf(b, "%s", around[t->kind]);
    if (t->kind == TYPE_MAP)
        buf_printf(b, " of %s to", dtype_info((DType)t->elem)->abbrev);
    if (t->kind == TYPE_OPAQUE) {
        buf_printf(b, "(");
        buf_escaped(b, t->domain);
        buf_printf(b, ", ");
        buf_escaped(b, t->name);
        buf_char(b, ')');
    }
    if (t->sub) {
        buf_printf(b, t->kind == TYPE_MAP ? " " : " of ");
        put_type(t->sub, b);
    }
}

Str diff_type_of(Arena *a, const Type *t)
{
    Buf b = {0};
    if (!t)
        return STR_NONE;
    put_type(t, &b);
    return finish(a, &b);
}

Str diff_type_of_tensor(Arena *a, const TensorData *t)
{
    Buf b = {0};
    buf_printf(&b, "%s[", dtype_info((DType)t->dtype)->abbrev);
    for (uint32_t i = 0; i < t->rank; i++)
        buf_printf(&b, "%s%lld", i ? "," : "", (long long)t->dims[i]);
    buf_char(&b, ']');
    return shortened(a, &b);
}

Str diff_type_of_value(const Model *m, Arena *a, ValueId v)
{
    Buf b = {0};
    if (value_at(m, v)->kind == TYPE_NONE)
        return STR("unknown");
    type_print(m, value_at(m, v), &b);
    return shortened(a, &b);
}

// As few digits as give the same number back.
Str diff_float_text(Arena *a, float v)
{
    char text[32];
    int digits = 1;
    do
        snprintf(text, sizeof text, "%.*g", digits, (double)v);
    while (strtof(text, NULL) != v && digits++ < 9);
    return str_copy(a, str_of(text));
}

Str diff_attr_text(const Model *m, Arena *a, const Attr *attr)
{
    Buf b = {0};
    Dropped lost = {0};
    Text t = {.m = m, .out = &b, .form = TEXT_CIR, .dropped = &lost};
    Attr plain = *attr;
    if (attr->g || attr->ngraphs)
        return attr->g ? STR("a graph") : STR("graphs");
    bool dtype = str_is(attr->name, "to") || str_is(attr->name, "dtype");
    if (dtype && attr->type == ATTR_INT && attr->i > 0 && attr->i < DT_COUNT && !attr->ref.len)
        return str_of(dtype_name((DType)attr->i));
    if (attr->type == ATTR_FLOAT && !attr->ref.len)
        return diff_float_text(a, attr->f);
    plain.doc = plain.unknown = STR_NONE;
    plain.has &= ~(uint32_t)ATTR_HAS_DOC;
    text_attr(&t, &plain);
    const char *value = b.len ? memmem(b.at, b.len, " = ", 3) : NULL;
    Buf shown = {0};
    if (value)
        buf_put(&shown, value + 3, b.len - (size_t)(value + 3 - b.at));
    buf_free(&b);
    return shortened(a, &shown);
}

Str diff_value_text(const Model *m, Arena *a, ValueId v)
{
    return v ? str_escaped(a, value_at(m, v)->name) : STR("none");
}

static void put_values(const Model *m, Arena *a, const ValueId *at, uint32_t n, Buf *b)
{
    for (uint32_t i = 0; i < n; i++)
        buf_printf(b, "%s%.*s", i ? ", " : "", STR_ARG(diff_value_text(m, a, at[i])));
}

Str diff_node_text(const Model *m, Arena *a, const Node *n)
{
    Buf b = {0};
    uint32_t put = 0;
    if (!is_standard_domain(n->domain)) {
        buf_escaped(&b, n->domain);
        buf_char(&b, '.');
    }
    buf_escaped(&b, n->op);
    for (uint32_t i = 0; i < n->nattrs; i++) {
        const Attr *t = &n->attrs[i];
        if (t->g || t->ngraphs || diff_says_default(n, t))
            continue;
        buf_printf(&b, put++ ? ", " : "<");
        buf_escaped(&b, t->name);
        buf_printf(&b, " = %.*s", STR_ARG(diff_attr_text(m, a, t)));
    }
    buf_printf(&b, put ? ">(" : "(");
    put_values(m, a, n->in, n->nin, &b);
    buf_printf(&b, ") -> ");
    put_values(m, a, n->out, n->nout, &b);
    return finish(a, &b);
}
