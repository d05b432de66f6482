// Printing a model as text: one element a function, what the plain syntax lacks in "@{ ... }"
// behind it.

#include "ir/text_print.h"

#include <math.h>
#include <string.h>

// ---- small things

void text_quoted(Text *t, Str s)
{
    if (t->form == TEXT_CIR) {
        buf_quoted(t->out, s);
        return;
    }
    plain_quoted(t, s);
}

void text_name(Text *t, Str s)
{
    static const char *const words[] = {"float",    "double",        "int", "seq", "map",
                                        "optional", "sparse_tensor", "nan", "inf"};
    bool plain = plain_word(s);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        plain = plain && !str_is(s, words[i]);
    if (plain && dtype_of(s) == DT_NONE)
        buf_str(t->out, s);
    else
        text_quoted(t, s);
}

void text_value(Text *t, ValueId v)
{
    const Value *value = v ? value_at(t->m, v) : NULL;
    if (!v)
        text_quoted(t, (Str){"", 0});
    else if (value->name.len)
        text_name(t, value->name);
    else
        buf_printf(t->out, "\"%%%u\"", v);
}

void ext_key(Text *t, Ext *e, const char *key)
{
    buf_printf(t->out, "%s%s: ", e->open ? ", " : " @{", key);
    e->open = true;
}

void ext_end(Text *t, Ext *e)
{
    if (e->open)
        buf_char(t->out, '}');
}

void ext_str(Text *t, Ext *e, const char *key, Str s, bool present)
{
    if (!present)
        return;
    if (t->form == TEXT_PLAIN) {
        text_drop(t, key);
        return;
    }
    ext_key(t, e, key);
    buf_quoted(t->out, s);
}

void ext_int(Text *t, Ext *e, const char *key, int64_t v, int64_t natural)
{
    if (v == natural || t->form == TEXT_PLAIN)
        return;
    ext_key(t, e, key);
    buf_printf(t->out, "%lld", (long long)v);
}

void ext_bytes(Text *t, Ext *e, const char *key, Str s)
{
    if (s.len == 0)
        return;
    if (t->form == TEXT_PLAIN) {
        text_drop(t, key);
        return;
    }
    ext_key(t, e, key);
    text_hex(t, s);
}

void text_hex(Text *t, Str s)
{
    buf_printf(t->out, "x\"");
    for (size_t i = 0; i < s.len; i++)
        buf_printf(t->out, "%02x", (unsigned char)s.at[i]);
    buf_char(t->out, '"');
}

void text_drop(Text *t, const char *what)
{
    if (!t->dropped)
        return;
    Str where = t->node       ? location_node(t->m, t->m->arena, t->node)
                : t->where.at ? t->where
                              : STR("model");
    vec_push(t->m->arena, t->dropped, str_printf(t->m->arena, "%s of %.*s", what, STR_ARG(where)));
}

void text_props(Text *t, const Props *p)
{
    buf_char(t->out, '[');
    for (uint32_t i = 0; i < p->len; i++) {
        const Prop *q = &p->at[i];
        Ext e = {0};
        if (i)
            buf_printf(t->out, ", ");
        text_quoted(t, q->key);
        buf_printf(t->out, ": ");
        text_quoted(t, q->value);
        ext_int(t, &e, "has", q->has, 3);
        ext_bytes(t, &e, "unknown", q->unknown);
        ext_end(t, &e);
    }
    buf_char(t->out, ']');
}

void ext_props(Text *t, Ext *e, const char *key, const Props *p)
{
    if (p->len == 0)
        return;
    if (t->form == TEXT_PLAIN) {
        text_drop(t, key);
        return;
    }
    ext_key(t, e, key);
    text_props(t, p);
}

static void print_strs(Text *t, const Str *at, uint32_t n)
{
    buf_char(t->out, '[');
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(t->out, "%s", i ? ", " : "");
        text_quoted(t, at[i]);
    }
    buf_char(t->out, ']');
}

static void print_ints(Text *t, const int64_t *at, uint32_t n)
{
    buf_char(t->out, '[');
    for (uint32_t i = 0; i < n; i++)
        buf_printf(t->out, "%s%lld", i ? ", " : "", (long long)at[i]);
    buf_char(t->out, ']');
}

// ---- types

static void print_elem(Text *t, int32_t elem, bool has)
{
    if (!has)
        buf_char(t->out, '_');
    else if (elem > 0 && elem < DT_COUNT)
        buf_printf(t->out, "%s", dtype_info((DType)elem)->onnx);
    else
        buf_printf(t->out, "type(%d)", elem);
}

static void print_shape(Text *t, const Type *type)
{
    if (!type->has_shape || type->rank) {
        buf_char(t->out, '[');
        for (uint32_t i = 0; i < type->rank; i++) {
            const DeclDim *d = &type->dims[i];
            buf_printf(t->out, "%s", i ? "," : "");
            if (d->kind == DIM_VALUE)
                buf_printf(t->out, "%lld", (long long)d->value);
            else if (d->kind == DIM_PARAM)
                text_name(t, d->param);
            else
                buf_char(t->out, '?');
        }
        buf_char(t->out, ']');
    }
}

static void print_type_ext(Text *t, const Type *type)
{
    Ext e = {0};
    ext_str(t, &e, "denotation", type->denotation, type->denotation.at);
    for (uint32_t i = 0; i < type->rank; i++) {
        if (!type->dims[i].denotation.at && !type->dims[i].unknown.len)
            continue;
        if (t->form == TEXT_PLAIN) {
            text_drop(t, "denotation of a dim");
            continue;
        }
        ext_key(t, &e, "dim");
        Ext inner = {.open = true};
        buf_printf(t->out, "{index: %u", i);
        ext_str(t, &inner, "denotation", type->dims[i].denotation, type->dims[i].denotation.at);
        ext_bytes(t, &inner, "unknown", type->dims[i].unknown);
        buf_char(t->out, '}');
    }
    ext_bytes(t, &e, "unknown", type->unknown);
    ext_bytes(t, &e, "unknown_inner", type->unknown_inner);
    ext_bytes(t, &e, "unknown_shape", type->unknown_shape);
    ext_end(t, &e);
}

void text_type(Text *t, const Type *type)
{
    switch (type->kind) {
    case TYPE_NONE:
        buf_printf(t->out, "none");
        break;
    case TYPE_TENSOR:
    case TYPE_SPARSE:
        buf_printf(t->out, "%s", type->kind == TYPE_SPARSE ? "sparse_tensor(" : "");
        print_elem(t, type->elem, type->has_elem);
        print_shape(t, type);
        buf_printf(t->out, "%s", type->kind == TYPE_SPARSE ? ")" : "");
        break;
    case TYPE_OPAQUE:
        buf_printf(t->out, "opaque(");
        text_quoted(t, type->domain);
        buf_printf(t->out, ", ");
        text_quoted(t, type->name);
        buf_printf(t->out, ")");
        break;
    default:
        buf_printf(t->out, "%s(",
                   type->kind == TYPE_SEQUENCE ? "seq"
                   : type->kind == TYPE_MAP    ? "map"
                                               : "optional");
        if (type->kind == TYPE_MAP) {
            print_elem(t, type->elem, type->has_elem);
            buf_printf(t->out, ", ");
        }
        if (type->sub)
            text_type(t, type->sub);
        buf_char(t->out, ')');
    }
    print_type_ext(t, type);
}

// ---- attributes

// Every float must come back bit for bit: nine digits do for numbers, the bits for NaNs with a
// payload.
static void print_float(Text *t, float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if (isnan(f) && bits != 0x7fc00000u && t->form == TEXT_CIR)
        buf_printf(t->out, "bits(0x%08x)", bits);
    else if (isnan(f))
        buf_printf(t->out, "nan");
    else if (isinf(f))
        buf_printf(t->out, f < 0 ? "-inf" : "inf");
    else
        text_real(t, f, 9);
}

void text_real(Text *t, double v, int digits)
{
    char s[48];
    snprintf(s, sizeof s, "%.*g", digits, v);
    bool real = strpbrk(s, ".e") != NULL;
    buf_printf(t->out, "%s%s", s, real ? "" : ".0");
}

static const char *attr_kind(int32_t type)
{
    static const char *const names[] = {
        "undefined",      "float",      "int",        "string",  "tensor", "graph",
        "floats",         "ints",       "strings",    "tensors", "graphs", "sparse_tensor",
        "sparse_tensors", "type_proto", "type_protos"};
    return type >= 0 && type <= 14 ? names[type] : "undefined";
}

// The kind by what is there, for files that leave the type out.
int32_t attr_content(const Attr *a)
{
    if (a->type >= ATTR_FLOAT && a->type <= ATTR_TYPES)
        return a->type;
    return a->has & ATTR_HAS_F   ? ATTR_FLOAT
           : a->has & ATTR_HAS_I ? ATTR_INT
           : a->has & ATTR_HAS_S ? ATTR_STRING
           : a->t                ? ATTR_TENSOR
           : a->g                ? ATTR_GRAPH
           : a->nfloats          ? ATTR_FLOATS
           : a->nints            ? ATTR_INTS
           : a->nstrings         ? ATTR_STRINGS
           : a->ntensors         ? ATTR_TENSORS
           : a->ngraphs          ? ATTR_GRAPHS
           : a->sparse           ? ATTR_SPARSE
           : a->nsparses         ? ATTR_SPARSES
           : a->tp               ? ATTR_TYPE
           : a->ntypes           ? ATTR_TYPES
                                 : ATTR_UNDEFINED;
}

uint32_t attr_natural_has(const Attr *a, int32_t content)
{
    uint32_t has = ATTR_HAS_NAME | ATTR_HAS_TYPE | (a->doc.at ? ATTR_HAS_DOC : 0);
    if (a->ref.at)
        return has | ATTR_HAS_REF;
    return has | (content == ATTR_FLOAT    ? ATTR_HAS_F
                  : content == ATTR_INT    ? ATTR_HAS_I
                  : content == ATTR_STRING ? ATTR_HAS_S
                                           : 0);
}

static void print_list(Text *t, const Attr *a, int32_t content)
{
    buf_char(t->out, '[');
    uint32_t n = content == ATTR_FLOATS    ? a->nfloats
                 : content == ATTR_TENSORS ? a->ntensors
                 : content == ATTR_GRAPHS  ? a->ngraphs
                 : content == ATTR_SPARSES ? a->nsparses
                                           : a->ntypes;
    for (uint32_t i = 0; i < n; i++) {
        buf_printf(t->out, "%s", i ? ", " : "");
        if (content == ATTR_FLOATS)
            print_float(t, a->floats[i]);
        else if (content == ATTR_TENSORS)
            text_tensor(t, a->tensors[i], true);
        else if (content == ATTR_GRAPHS)
            text_graph(t, a->graphs[i]);
        else if (content == ATTR_SPARSES)
            text_sparse(t, a->sparses[i]);
        else
            text_type(t, a->types[i]);
    }
    buf_char(t->out, ']');
}

static void print_payload(Text *t, const Attr *a, int32_t content)
{
    switch (content) {
    case ATTR_FLOAT:
        print_float(t, a->f);
        return;
    case ATTR_INT:
        buf_printf(t->out, "%lld", (long long)a->i);
        return;
    case ATTR_STRING:
        text_quoted(t, a->s);
        return;
    case ATTR_TENSOR:
        if (a->t)
            text_tensor(t, a->t, true);
        return;
    case ATTR_GRAPH:
        if (a->g)
            text_graph(t, a->g);
        return;
    case ATTR_INTS:
        print_ints(t, a->ints, a->nints);
        return;
    case ATTR_STRINGS:
        print_strs(t, a->strings, a->nstrings);
        return;
    case ATTR_SPARSE:
        if (a->sparse)
            text_sparse(t, a->sparse);
        return;
    case ATTR_TYPE:
        if (a->tp)
            text_type(t, a->tp);
        return;
    case ATTR_UNDEFINED:
        buf_printf(t->out, "none");
        return;
    default:
        print_list(t, a, content);
    }
}

void text_attr(Text *t, const Attr *a)
{
    Ext e = {0};
    int32_t content = attr_content(a);
    if (t->form == TEXT_CIR)
        text_name(t, a->name);
    else
        buf_str(t->out, a->name); // words of types may stand here, quoted names may not
    if (t->form == TEXT_PLAIN && a->type != content)
        text_drop(t, "the missing type of an attribute");
    buf_printf(t->out, ": %s = ", attr_kind(content));
    if (a->ref.at) {
        buf_char(t->out, '@');
        text_name(t, a->ref);
    } else {
        print_payload(t, a, content);
    }
    ext_str(t, &e, "doc_string", a->doc, a->doc.at);
    ext_int(t, &e, "type", a->type, content);
    ext_int(t, &e, "has", a->has, attr_natural_has(a, content));
    ext_bytes(t, &e, "unknown", a->unknown);
    ext_end(t, &e);
}

// ---- device configurations

static void print_sharded_dim(Text *t, const ShardedDim *d)
{
    Ext e = {.open = true};
    buf_printf(t->out, "{n: %u", d->nsimple);
    if (d->has_axis)
        ext_int(t, &e, "axis", d->axis, INT64_MIN);
    for (uint32_t i = 0; i < d->nsimple; i++) {
        Ext inner = {.open = true};
        ext_key(t, &e, "sharding");
        buf_printf(t->out, "{kind: %d", (int)d->simple[i].kind);
        if (d->simple[i].kind == SHARD_VALUE)
            ext_int(t, &inner, "value", d->simple[i].value, INT64_MIN);
        if (d->simple[i].kind == SHARD_PARAM)
            ext_str(t, &inner, "param", d->simple[i].param, true);
        if (d->simple[i].has_num)
            ext_int(t, &inner, "shards", d->simple[i].num_shards, INT64_MIN);
        ext_bytes(t, &inner, "unknown", d->simple[i].unknown);
        buf_char(t->out, '}');
    }
    ext_bytes(t, &e, "unknown", d->unknown);
    buf_char(t->out, '}');
}

static void print_spec(Text *t, const ShardingSpec *s)
{
    Ext e = {.open = true};
    buf_printf(t->out, "{device: ");
    print_ints(t, s->devices, s->ndevices);
    ext_str(t, &e, "tensor", s->tensor, s->tensor.at);
    for (uint32_t i = 0; i < s->ngroups; i++) {
        Ext inner = {.open = true};
        ext_key(t, &e, "group");
        buf_printf(t->out, "{values: ");
        print_ints(t, s->groups[i].values, s->groups[i].nvalues);
        if (s->groups[i].has_key)
            ext_int(t, &inner, "key", s->groups[i].key, INT64_MIN);
        ext_bytes(t, &inner, "unknown", s->groups[i].unknown);
        buf_char(t->out, '}');
    }
    for (uint32_t i = 0; i < s->ndims; i++) {
        ext_key(t, &e, "dim");
        print_sharded_dim(t, &s->dims[i]);
    }
    ext_bytes(t, &e, "unknown", s->unknown);
    buf_char(t->out, '}');
}

void ext_devices(Text *t, Ext *e, const Node *n)
{
    if (n->ndevices && t->form == TEXT_PLAIN)
        text_drop(t, "device_configurations");
    for (uint32_t i = 0; i < n->ndevices && t->form == TEXT_CIR; i++) {
        const NodeDeviceConfig *c = &n->devices[i];
        Ext inner = {.open = true};
        ext_key(t, e, "device_configuration");
        buf_printf(t->out, "{n: %u", c->nspecs);
        ext_str(t, &inner, "id", c->configuration, c->configuration.at);
        if (c->has_stage)
            ext_int(t, &inner, "stage", c->stage, INT64_MIN);
        for (uint32_t k = 0; k < c->nspecs; k++) {
            ext_key(t, &inner, "spec");
            print_spec(t, &c->specs[k]);
        }
        ext_bytes(t, &inner, "unknown", c->unknown);
        buf_char(t->out, '}');
    }
}
