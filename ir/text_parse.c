// Reading types, tensors and attributes of the textual forms.

#include "ir/text_parse.h"

#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 100 };

// ---- types

int32_t parse_elem(Parser *p, bool *has)
{
    *has = true;
    if (parse_take(p, "_")) {
        *has = false;
        return 0;
    }
    if (parse_take(p, "type")) {
        parse_expect(p, "(");
        int32_t number = (int32_t)parse_int(p);
        parse_expect(p, ")");
        return number;
    }
    DType t = p->tok == TOK_NAME ? dtype_of(p->lexeme) : DT_NONE;
    if (t == DT_NONE && !parse_is(p, "undefined"))
        parse_fail(p, "expected an element type");
    parse_next(p);
    return t;
}

bool parse_at_type(Parser *p)
{
    static const char *const words[] = {"seq",  "map",       "optional", "sparse_tensor", "opaque",
                                        "none", "undefined", "_",        "type"};
    if (p->tok != TOK_NAME)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_is(p->lexeme, words[i]))
            return true;
    return dtype_of(p->lexeme) != DT_NONE;
}

static void parse_dims(Parser *p, Type *t)
{
    VEC(DeclDim) dims = {0};
    t->has_shape = true;
    if (!parse_take(p, "["))
        return; // a scalar
    if (parse_take(p, "]")) {
        t->has_shape = false;
        return;
    }
    do {
        DeclDim d = {.kind = DIM_UNSET};
        if (p->tok == TOK_NUMBER) {
            d.kind = DIM_VALUE;
            d.value = parse_int(p);
        } else if (!parse_take(p, "?")) {
            d.kind = DIM_PARAM;
            d.param = parse_name(p);
        }
        vec_push(p->arena, &dims, d);
    } while (parse_take(p, ","));
    parse_expect(p, "]");
    t->rank = dims.len;
    t->dims = dims.at;
}

static void parse_dim_ext(Parser *p, Type *t)
{
    Str key;
    bool first = true;
    int64_t i = -1;
    parse_expect(p, "{");
    while (ext_next(p, &key, &first)) {
        if (str_is(key, "index"))
            i = parse_int(p);
        else if (i < 0 || i >= t->rank)
            parse_fail(p, "a dim's index is out of range");
        else if (str_is(key, "denotation"))
            t->dims[i].denotation = parse_string(p);
        else
            t->dims[i].unknown = parse_bytes(p);
    }
}

static void parse_type_ext(Parser *p, Type *t)
{
    Str key;
    bool first = true;
    if (!parse_ext(p))
        return;
    while (ext_next(p, &key, &first)) {
        if (str_is(key, "denotation"))
            t->denotation = parse_string(p);
        else if (str_is(key, "dim"))
            parse_dim_ext(p, t);
        else if (str_is(key, "unknown"))
            t->unknown = parse_bytes(p);
        else if (str_is(key, "unknown_inner"))
            t->unknown_inner = parse_bytes(p);
        else if (str_is(key, "unknown_shape"))
            t->unknown_shape = parse_bytes(p);
        else
            parse_fail(p, "unknown key of a type");
    }
}

Type *parse_type(Parser *p)
{
    Type *t = NEW(p->arena, Type);
    if (++p->depth > MAX_DEPTH)
        parse_fail(p, "types nested too deeply");
    if (parse_take(p, "none")) {
        t->kind = TYPE_NONE;
    } else if (parse_take(p, "sparse_tensor")) {
        t->kind = TYPE_SPARSE;
        parse_expect(p, "(");
        t->elem = parse_elem(p, &t->has_elem);
        parse_dims(p, t);
        parse_expect(p, ")");
    } else if (parse_take(p, "opaque")) {
        t->kind = TYPE_OPAQUE;
        parse_expect(p, "(");
        t->domain = parse_string(p);
        parse_expect(p, ",");
        t->name = parse_string(p);
        parse_expect(p, ")");
    } else if (parse_is(p, "seq") || parse_is(p, "map") || parse_is(p, "optional")) {
        t->kind = parse_is(p, "seq")   ? TYPE_SEQUENCE
                  : parse_is(p, "map") ? TYPE_MAP
                                       : TYPE_OPTIONAL;
        parse_next(p);
        parse_expect(p, "(");
        if (t->kind == TYPE_MAP) {
            t->elem = parse_elem(p, &t->has_elem);
            parse_expect(p, ",");
        }
        if (!parse_is(p, ")"))
            t->sub = parse_type(p);
        parse_expect(p, ")");
    } else {
        t->kind = TYPE_TENSOR;
        t->elem = parse_elem(p, &t->has_elem);
        parse_dims(p, t);
    }
    p->depth--;
    parse_type_ext(p, t);
    return t;
}

// ---- tensors

static Payload payload_named(Str word)
{
    static const char *const words[] = {"",           "raw",         "float_data",  "int32_data",
                                        "int64_data", "double_data", "uint64_data", "string_data",
                                        "external"};
    for (int i = 1; i <= PAYLOAD_EXTERNAL; i++)
        if (str_is(word, words[i]))
            return (Payload)i;
    return PAYLOAD_NONE;
}

static void parse_float_element(Parser *p, Buf *out, bool wide)
{
    if (parse_take(p, "bits")) {
        parse_expect(p, "(");
        uint64_t bits = parse_unsigned(p);
        parse_expect(p, ")");
        buf_put(out, &bits, wide ? 8 : 4);
        return;
    }
    double v = parse_real(p);
    if (isnan(v))
        v = (double)NAN;
    float f = (float)v;
    buf_put(out, wide ? (const void *)&v : (const void *)&f, wide ? 8 : 4);
}

static void parse_int_element(Parser *p, Payload kind, Buf *out)
{
    if (kind == PAYLOAD_UINT64) {
        uint64_t u = parse_unsigned(p);
        buf_put(out, &u, 8);
        return;
    }
    int64_t v = parse_int(p);
    int32_t w = (int32_t)v;
    buf_put(out, kind == PAYLOAD_INT64 ? (const void *)&v : (const void *)&w,
            kind == PAYLOAD_INT64 ? 8 : 4);
}

static void parse_source(Parser *p, TensorData *t)
{
    parse_expect(p, "(");
    uint64_t offset = parse_unsigned(p);
    parse_expect(p, ",");
    uint64_t len = parse_unsigned(p);
    parse_expect(p, ")");
    if (!p->source.at || offset > p->source.len || len > p->source.len - offset)
        parse_fail(p, "source(offset, length) lies outside the source file");
    else
        t->raw = (Str){p->source.at + offset, len};
}

static void parse_elements(Parser *p, TensorData *t)
{
    Buf b = {0};
    VEC(Str) strings = {0};
    while (!p->failed && !parse_is(p, "}")) {
        if (t->payload == PAYLOAD_STRING)
            vec_push(p->arena, &strings, parse_string(p));
        else if (t->payload == PAYLOAD_FLOAT || t->payload == PAYLOAD_DOUBLE)
            parse_float_element(p, &b, t->payload == PAYLOAD_DOUBLE);
        else
            parse_int_element(p, t->payload, &b);
        if (!parse_take(p, ","))
            break;
    }
    char *bytes = arena_copy(p->arena, b.at, b.len);
    t->count = t->payload == PAYLOAD_STRING
                   ? strings.len
                   : b.len / (t->payload == PAYLOAD_INT32 || t->payload == PAYLOAD_FLOAT ? 4 : 8);
    if (t->payload == PAYLOAD_STRING)
        t->strings = strings.at;
    else if (t->payload == PAYLOAD_FLOAT || t->payload == PAYLOAD_DOUBLE)
        t->raw = (Str){bytes, b.len};
    else
        t->ints = bytes;
    buf_free(&b);
}

void parse_payload(Parser *p, TensorData *t)
{
    Payload named = p->tok == TOK_NAME && p->cir ? payload_named(p->lexeme) : PAYLOAD_NONE;
    t->payload = named ? named : tensor_natural_payload(t->dtype);
    if (named)
        parse_next(p);
    if (!named && parse_is(p, "[")) { // as onnx.parser writes external data
        t->payload = PAYLOAD_EXTERNAL;
        t->data_location = 1;
        parse_props(p, &t->external);
        t->has = tensor_natural_has(t);
        return;
    }
    parse_expect(p, "{");
    if (t->payload == PAYLOAD_EXTERNAL) {
        parse_props(p, &t->external);
        t->data_location = 1;
    } else if (p->tok == TOK_BYTES) {
        t->raw = parse_bytes(p);
    } else if (p->cir && parse_take(p, "source")) {
        parse_source(p, t);
    } else if (t->payload == PAYLOAD_RAW) {
        parse_fail(p, "expected bytes, x\"...\"");
    } else {
        parse_elements(p, t);
        if (t->count == 0 && !named)
            t->payload = PAYLOAD_NONE;
    }
    if (t->payload == PAYLOAD_FLOAT || t->payload == PAYLOAD_DOUBLE)
        t->count = t->raw.len / (t->payload == PAYLOAD_DOUBLE ? 8 : 4);
    parse_expect(p, "}");
    t->has = tensor_natural_has(t);
}

void parse_tensor_ext(Parser *p, TensorData *t)
{
    Str key;
    bool first = true;
    t->has = tensor_natural_has(t);
    if (!parse_ext(p))
        return;
    while (ext_next(p, &key, &first)) {
        if (str_is(key, "doc_string")) {
            t->doc = parse_string(p);
            t->has = tensor_natural_has(t);
        } else if (str_is(key, "metadata_props")) {
            parse_props(p, &t->metadata);
        } else if (str_is(key, "external_data")) {
            parse_props(p, &t->external);
        } else if (str_is(key, "location")) {
            t->data_location = (int32_t)parse_int(p);
        } else if (str_is(key, "segment")) {
            t->has_segment = true;
            t->segment_has = (uint32_t)parse_int(p);
        } else if (str_is(key, "begin")) {
            t->segment_begin = parse_int(p);
        } else if (str_is(key, "end")) {
            t->segment_end = parse_int(p);
        } else if (str_is(key, "has")) {
            t->has = (uint32_t)parse_int(p);
        } else if (str_is(key, "unknown")) {
            t->unknown = parse_bytes(p);
        } else {
            parse_fail(p, "unknown key of a tensor");
        }
    }
}

static void tensor_dims(Parser *p, TensorData *t)
{
    VEC(int64_t) dims = {0};
    if (!parse_take(p, "["))
        return;
    if (!parse_is(p, "]"))
        do
            vec_push(p->arena, &dims, parse_int(p));
        while (parse_take(p, ","));
    parse_expect(p, "]");
    t->rank = dims.len;
    t->dims = dims.at;
}

TensorData *parse_tensor(Parser *p, bool named)
{
    TensorData *t = NEW(p->arena, TensorData);
    bool has;
    t->dtype = parse_elem(p, &has);
    tensor_dims(p, t);
    bool payload_word = p->cir && p->tok == TOK_NAME && payload_named(p->lexeme) != PAYLOAD_NONE;
    if ((p->tok == TOK_NAME || p->tok == TOK_STRING) && !payload_word && !parse_take(p, "_"))
        t->name = parse_name(p);
    if (named)
        parse_expect(p, "=");
    parse_payload(p, t);
    parse_tensor_ext(p, t);
    return t;
}

SparseData *parse_sparse(Parser *p)
{
    SparseData *s = NEW(p->arena, SparseData);
    TensorData shape = {0};
    Str key;
    bool first = true;
    parse_expect(p, "sparse");
    tensor_dims(p, &shape);
    s->rank = shape.rank;
    s->dims = shape.dims;
    parse_expect(p, "(");
    if (!parse_is(p, ";"))
        s->values = parse_tensor(p, false);
    parse_expect(p, ";");
    if (!parse_is(p, ")"))
        s->indices = parse_tensor(p, false);
    parse_expect(p, ")");
    if (parse_ext(p))
        while (ext_next(p, &key, &first))
            s->unknown = parse_bytes(p);
    return s;
}

// ---- attributes

int32_t attr_kind_of(Str name)
{
    static const char *const names[] = {
        "undefined",      "float",      "int",        "string",  "tensor", "graph",
        "floats",         "ints",       "strings",    "tensors", "graphs", "sparse_tensor",
        "sparse_tensors", "type_proto", "type_protos"};
    for (int32_t i = 0; i < 15; i++)
        if (str_is(name, names[i]))
            return i;
    return -1;
}

static float parse_float_bits(Parser *p)
{
    Buf b = {0};
    float f = 0;
    parse_float_element(p, &b, false);
    if (b.len == 4)
        memcpy(&f, b.at, 4);
    buf_free(&b);
    return f;
}

// What a value without a written kind is: as onnx.parser decides.
static int32_t guess_kind(Parser *p)
{
    if (p->tok == TOK_STRING)
        return ATTR_STRING;
    if (p->tok == TOK_NUMBER || parse_is(p, "nan") || parse_is(p, "inf")) {
        bool real = p->tok != TOK_NUMBER;
        for (size_t i = 0; i < p->lexeme.len; i++)
            real |= strchr(".eEnN", p->lexeme.at[i]) != NULL && !str_starts(p->lexeme, "0x");
        return real ? ATTR_FLOAT : ATTR_INT;
    }
    if (parse_is(p, "seq") || parse_is(p, "map") || parse_is(p, "optional"))
        return ATTR_TYPE;
    if (parse_at_type(
            p)) // a tensor literal; a graph's name may look like a type only when it is quoted
        return ATTR_TENSOR;
    return ATTR_GRAPH;
}

static void parse_list(Parser *p, Attr *a, int32_t kind)
{
    VEC(float) floats = {0};
    VEC(int64_t) ints = {0};
    VEC(Str) strings = {0};
    VEC(TensorData *) tensors = {0};
    VEC(GraphId) graphs = {0};
    VEC(SparseData *) sparses = {0};
    VEC(Type *) types = {0};
    parse_expect(p, "[");
    if (kind < 0 && parse_is(p, "]"))
        parse_fail(p, "an empty list needs its kind, as in \"axes: ints = []\"");
    if (kind < 0) {
        static const int32_t lists[] = {
            0, ATTR_FLOATS, ATTR_INTS, ATTR_STRINGS, ATTR_TENSORS, ATTR_GRAPHS};
        int32_t first = guess_kind(p);
        kind = first == ATTR_TYPE ? ATTR_TYPES : lists[first];
    }
    while (!p->failed && !parse_is(p, "]")) {
        if (kind == ATTR_FLOATS)
            vec_push(p->arena, &floats, parse_float_bits(p));
        else if (kind == ATTR_INTS)
            vec_push(p->arena, &ints, parse_int(p));
        else if (kind == ATTR_STRINGS)
            vec_push(p->arena, &strings, parse_string(p));
        else if (kind == ATTR_TENSORS)
            vec_push(p->arena, &tensors, parse_tensor(p, false));
        else if (kind == ATTR_GRAPHS)
            vec_push(p->arena, &graphs, parse_graph(p, p->graph, 0));
        else if (kind == ATTR_SPARSES)
            vec_push(p->arena, &sparses, parse_sparse(p));
        else
            vec_push(p->arena, &types, parse_type(p));
        if (!parse_take(p, ","))
            break;
    }
    parse_expect(p, "]");
    a->type = kind;
    a->floats = floats.at, a->nfloats = floats.len;
    a->ints = ints.at, a->nints = ints.len;
    a->strings = strings.at, a->nstrings = strings.len;
    a->tensors = tensors.at, a->ntensors = tensors.len;
    a->graphs = graphs.at, a->ngraphs = graphs.len;
    a->sparses = sparses.at, a->nsparses = sparses.len;
    a->types = types.at, a->ntypes = types.len;
}

static void parse_attr_value(Parser *p, Attr *a, int32_t kind)
{
    bool list = kind >= ATTR_FLOATS && kind != ATTR_SPARSE && kind != ATTR_TYPE;
    if (list || (kind < 0 && parse_is(p, "["))) {
        parse_list(p, a, kind);
        return;
    }
    a->type = kind < 0 ? guess_kind(p) : kind;
    switch (a->type) {
    case ATTR_FLOAT:
        a->f = parse_float_bits(p);
        return;
    case ATTR_INT:
        a->i = parse_int(p);
        return;
    case ATTR_STRING:
        a->s = parse_string(p);
        return;
    case ATTR_TENSOR:
        a->t = parse_tensor(p, false);
        return;
    case ATTR_GRAPH:
        a->g = parse_graph(p, p->graph, 0);
        return;
    case ATTR_SPARSE:
        a->sparse = parse_sparse(p);
        return;
    case ATTR_TYPE:
        a->tp = parse_type(p);
        return;
    default:
        parse_expect(p, "none");
    }
}

static void parse_attr_ext(Parser *p, Attr *a)
{
    Str key;
    bool first = true;
    if (!parse_ext(p))
        return;
    while (ext_next(p, &key, &first)) {
        if (str_is(key, "doc_string"))
            a->doc = parse_string(p), a->has |= ATTR_HAS_DOC;
        else if (str_is(key, "type"))
            a->type = (int32_t)parse_int(p);
        else if (str_is(key, "has"))
            a->has = (uint32_t)parse_int(p);
        else if (str_is(key, "unknown"))
            a->unknown = parse_bytes(p);
        else
            parse_fail(p, "unknown key of an attribute");
    }
}

bool parse_attr(Parser *p, Attr *a)
{
    int32_t kind = -1;
    *a = (Attr){.name = parse_name(p)};
    if (parse_take(p, ":")) {
        kind = attr_kind_of(p->lexeme);
        if (kind < 0 || p->tok != TOK_NAME)
            parse_fail(p, "expected an attribute's kind");
        parse_next(p);
    }
    if (!parse_take(p, "=")) {
        if (kind >= 0)
            parse_expect(p, "=");
        a->type = 0;
        return false;
    }
    if (parse_take(p, "@")) {
        a->ref = parse_name(p);
        a->type = kind < 0 ? 0 : kind;
    } else {
        parse_attr_value(p, a, kind);
    }
    a->has = attr_natural_has(a, a->type);
    parse_attr_ext(p, a);
    return true;
}
