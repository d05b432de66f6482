// Reading nodes, graphs, functions and models of the textual forms.
//
// Names are resolved when all is read: an operand may stand before its definition, and a subgraph
// sees the names of the graphs around it.

#include "ir/lists.h"
#include "ir/text_parse.h"

#include <string.h>

enum { MAX_GRAPH_DEPTH = 100 };

// ---- names

static Map *scope_of(Parser *p, GraphId g)
{
    if (g >= p->nscopes) {
        uint32_t n = p->nscopes ? p->nscopes * 2 : 16;
        while (n <= g)
            n *= 2;
        Map *scopes = NEWS(p->arena, Map, n);
        if (p->nscopes)
            memcpy(scopes, p->scopes, p->nscopes * sizeof *scopes);
        p->scopes = scopes;
        p->nscopes = n;
    }
    p->scopes[g].arena = p->arena;
    return &p->scopes[g];
}

void parse_define(Parser *p, GraphId g, Str name, ValueId v)
{
    bool added;
    uint32_t *slot = map_put(scope_of(p, g), name, &added);
    if (added)
        *slot = v;
}

// A new value of graph g; its name is found by references unless an earlier one bears it.
static ValueId define(Parser *p, GraphId g, Str name, DefKind def)
{
    ValueId v = value_new(p->m, g, name);
    value_at(p->m, v)->def = def;
    parse_define(p, g, name, v);
    return v;
}

static ValueId *find(Parser *p, GraphId g, Str name)
{
    for (; g; g = graph_at(p->m, g)->parent) {
        ValueId *v = map_get(scope_of(p, g), name);
        if (v)
            return v;
    }
    return NULL;
}

void parse_resolve(Parser *p)
{
    for (uint32_t i = 0; i < p->references.len; i++) {
        const Reference *r = &p->references.at[i];
        ValueId *found = find(p, r->graph, r->name);
        ValueId v = found ? *found : define(p, r->graph, r->name, DEF_NONE);
        Graph *g = graph_at(p->m, r->graph);
        if (r->place)
            p->places->at[r->place - 1].value = v;
        if (r->slot)
            *r->slot = v;
        else if (r->is_output)
            g->outputs.at[r->index].value = v;
        else
            g->infos.at[r->index].value = v;
    }
}

// ---- graph headers

static void parse_info_ext(Parser *p, ValueInfo *info)
{
    Str key;
    bool first = true;
    if (!parse_ext(p))
        return;
    while (ext_next(p, &key, &first)) {
        if (str_is(key, "doc_string"))
            info->doc = parse_string(p), info->has |= 2;
        else if (str_is(key, "metadata_props"))
            parse_props(p, &info->metadata);
        else if (str_is(key, "has"))
            info->has = (uint32_t)parse_int(p);
        else
            info->unknown = parse_bytes(p);
    }
}

typedef enum ListKind { LIST_INPUTS, LIST_OUTPUTS, LIST_INFOS } ListKind;

static void add_info(Parser *p, GraphId g, ListKind kind, ValueInfo info, Str name, uint32_t place)
{
    if (kind == LIST_INPUTS) {
        info.value = define(p, g, name, DEF_INPUT);
        value_at(p->m, info.value)->index = graph_at(p->m, g)->inputs.len;
        vec_push(p->arena, &graph_at(p->m, g)->inputs, info);
        if (place)
            p->places->at[place - 1].value = info.value;
        return;
    }
    Graph *graph = graph_at(p->m, g);
    Reference r = {.graph = g,
                   .name = name,
                   .is_output = kind == LIST_OUTPUTS,
                   .index = kind == LIST_OUTPUTS ? graph->outputs.len : graph->infos.len,
                   .place = place};
    vec_push(p->arena, &p->references, r);
    if (kind == LIST_OUTPUTS)
        vec_push(p->arena, &graph->outputs, info);
    else
        vec_push(p->arena, &graph->infos, info);
}

static ValueId add_initializer(Parser *p, GraphId g, TensorData *t)
{
    ValueId *known = map_get(scope_of(p, g), t->name);
    ValueId v = known ? *known : define(p, g, t->name, DEF_INITIALIZER);
    if (known && value_at(p->m, v)->init)
        v = define(p, g, t->name, DEF_INITIALIZER);
    value_at(p->m, v)->init = t;
    Initializer init = {v, t};
    vec_push(p->arena, &graph_at(p->m, g)->initializers, init);
    return v;
}

// "type name", "type name = {...}" (an input with a default too), or a name alone.
static void parse_entry(Parser *p, GraphId g, ListKind kind)
{
    ValueInfo info = {.has = 1};
    if (kind == LIST_INFOS && parse_is(p, "sparse")) {
        SparseData *s = parse_sparse(p);
        Str name = s->values ? s->values->name : STR("");
        ValueId v = define(p, g, name, DEF_SPARSE);
        value_at(p->m, v)->sparse_init = s;
        SparseInitializer init = {v, s};
        vec_push(p->arena, &graph_at(p->m, g)->sparse, init);
        return;
    }
    bool typed = parse_at_type(p);
    Type *type = typed ? parse_type(p) : NULL;
    if (parse_is(p, "_")) // an initializer without a name
        parse_next(p);
    const size_t from = p->start;
    Str name = parse_is(p, "=") ? STR_NONE : parse_name(p);
    const bool stored = typed && parse_is(p, "=");
    const uint32_t place = parse_place(p,
                                       kind == LIST_INPUTS    ? PLACE_INPUT
                                       : stored               ? PLACE_INITIALIZER
                                       : kind == LIST_OUTPUTS ? PLACE_OUTPUT
                                                              : PLACE_DECLARED,
                                       from, (TextPlace){.graph = g});
    if (stored) {
        parse_next(p);
        TensorData *t = NEW(p->arena, TensorData);
        t->name = name;
        t->dtype = type->elem;
        t->rank = type->rank;
        int64_t *dims = NEWS(p->arena, int64_t, type->rank);
        for (uint32_t i = 0; i < type->rank; i++)
            dims[i] = type->dims[i].value;
        t->dims = dims;
        parse_payload(p, t);
        parse_tensor_ext(p, t);
        if (kind == LIST_INPUTS) {
            info.type = type;
            add_info(p, g, kind, info, name, place);
        }
        ValueId v = add_initializer(p, g, t);
        if (place)
            p->places->at[place - 1].value = v;
        return;
    }
    info.type = type;
    parse_info_ext(p, &info);
    add_info(p, g, kind, info, name, place);
}

// A list whose opening bracket, at `from`, is read.
static void parse_entries(Parser *p, GraphId g, ListKind kind, size_t from, const char *close)
{
    static const TextPlaceKind lists[] = {PLACE_INPUTS, PLACE_OUTPUTS, PLACE_CONSTANTS};
    while (!p->failed && !parse_is(p, close)) {
        const size_t entry = p->start;
        parse_entry(p, g, kind);
        parse_place(p, PLACE_ENTRY, entry, (TextPlace){.graph = g, .index = kind});
        if (!parse_take(p, ","))
            break;
    }
    parse_expect(p, close);
    parse_place(p, lists[kind], from, (TextPlace){.graph = g});
}

static void parse_quantization(Parser *p, GraphId g)
{
    Quantization q = {0};
    Str key;
    bool first = true;
    parse_expect(p, "{");
    while (ext_next(p, &key, &first)) {
        if (str_is(key, "params"))
            parse_props(p, &q.params);
        else if (str_is(key, "tensor"))
            q.tensor = parse_string(p), q.has_tensor = true;
        else
            q.unknown = parse_bytes(p);
    }
    vec_push(p->arena, &graph_at(p->m, g)->quantization, q);
}

static void parse_graph_ext(Parser *p, GraphId g)
{
    Str key;
    bool first = true;
    if (!parse_ext(p))
        return;
    while (ext_next(p, &key, &first)) {
        Graph *graph = graph_at(p->m, g);
        if (str_is(key, "doc_string"))
            graph->doc = parse_string(p), graph->has |= 2;
        else if (str_is(key, "metadata_props"))
            parse_props(p, &graph->metadata);
        else if (str_is(key, "quantization"))
            parse_quantization(p, g);
        else if (str_is(key, "has"))
            graph->has = (uint32_t)parse_int(p);
        else
            graph->unknown = parse_bytes(p);
    }
}

// ---- nodes

static Index parse_dim_sum(Parser *p);

static Index parse_dim_factor(Parser *p)
{
    static const char *const words[] = {"div", "mod", "min", "max"};
    Polys *q = p->m->polys;
    if (p->tok == TOK_NUMBER)
        return poly_const(q, parse_int(p));
    for (int i = 0; i < 4; i++) {
        if (!parse_take(p, words[i]))
            continue;
        parse_expect(p, "(");
        Index a = parse_dim_sum(p);
        parse_expect(p, ",");
        Index b = parse_dim_sum(p);
        parse_expect(p, ")");
        return i == 0   ? poly_floordiv(q, a, b)
               : i == 1 ? poly_mod(q, a, b)
               : i == 2 ? poly_min(q, a, b)
                        : poly_max(q, a, b);
    }
    Str name = parse_name(p);
    for (DimId d = 1; d <= dim_count(q); d++)
        if (str_eq(dim_name(q, d), name))
            return poly_dim(q, d);
    return poly_dim(q, dim_new(q, name, 0));
}

// The lexer reads "-2*N" and "+1" as signed numbers: a term may follow another without a sign of
// its own.
static Index parse_dim_sum(Parser *p)
{
    Index sum = poly_const(p->m->polys, 0);
    if (++p->depth > MAX_GRAPH_DEPTH)
        parse_fail(p, "a dim is nested too deeply");
    do {
        Index term = parse_dim_factor(p);
        while (parse_take(p, "*"))
            term = poly_mul(p->m->polys, term, parse_dim_factor(p));
        sum = poly_add(p->m->polys, sum, term);
    } while (!p->failed && (parse_take(p, "+") || p->tok == TOK_NUMBER));
    p->depth--;
    return sum;
}

// "f32[N,8]"
static const Type *parse_tensor_type(Parser *p, Value *v)
{
    VEC(Index) dims = {0};
    v->dtype = dtype_of(parse_name(p));
    v->rank = 0;
    if (parse_take(p, "[")) {
        if (parse_take(p, "*")) {
            v->rank = -1;
        } else if (parse_take(p, "none")) {
            v->rank = RANK_NONE;
        } else {
            do
                vec_push(p->arena, &dims, parse_dim_sum(p));
            while (parse_take(p, ","));
            v->rank = (int32_t)dims.len;
        }
        parse_expect(p, "]");
    }
    v->dims = dims.at;
    return type_tensor(p->arena, v->dtype);
}

// "seq(f32[N,8])", "optional(map(i64, f32[*]))"
static const Type *parse_value_type(Parser *p, Value *v)
{
    TypeKind kind = parse_is(p, "seq")        ? TYPE_SEQUENCE
                    : parse_is(p, "optional") ? TYPE_OPTIONAL
                    : parse_is(p, "map")      ? TYPE_MAP
                                              : TYPE_TENSOR;
    if (kind == TYPE_TENSOR)
        return parse_tensor_type(p, v);
    if (++p->depth > MAX_GRAPH_DEPTH) {
        parse_fail(p, "a type is nested too deeply");
        return NULL;
    }
    DType key = DT_NONE;
    parse_next(p);
    parse_expect(p, "(");
    if (kind == TYPE_MAP) {
        key = dtype_of(parse_name(p));
        parse_expect(p, ",");
    }
    Type *type = (Type *)(uintptr_t)type_around(p->arena, kind, parse_value_type(p, v));
    type->elem = (int32_t)key;
    type->has_elem = kind == TYPE_MAP;
    parse_expect(p, ")");
    p->depth--;
    return type;
}

// " : f32[N,8] @"cpu"" behind a result: kept, so that text of any stage stays what it is.
static void parse_inferred(Parser *p, ValueId id)
{
    Value v = {0};
    if (!p->cir || !parse_take(p, ":"))
        return;
    const Type *type = parse_value_type(p, &v);
    Str device = parse_take(p, "@") ? parse_string(p) : STR_NONE;
    Value *value = value_at(p->m, id);
    value->kind = type ? type->kind : TYPE_NONE;
    value->type = type && type->kind != TYPE_TENSOR ? type : NULL;
    value->dtype = v.dtype;
    value->rank = v.rank;
    value->dims = v.dims;
    if (device.at)
        value->device = device_id(p->m, device);
}

static void parse_results(Parser *p, GraphId g, NodeId id)
{
    VEC(ValueId) out = {0};
    while (!p->failed && !parse_is(p, "=")) {
        const size_t from = p->start;
        Str name = parse_name(p);
        ValueId v = 0;
        if (name.len) {
            v = define(p, g, name, DEF_NODE);
            value_at(p->m, v)->node = id;
            value_at(p->m, v)->index = out.len;
            parse_place(p, PLACE_RESULT, from,
                        (TextPlace){.graph = g, .node = id, .value = v, .index = out.len});
            parse_inferred(p, v);
        }
        vec_push(p->arena, &out, v);
        if (!parse_take(p, ","))
            break;
    }
    node_at(p->m, id)->out = out.at;
    node_at(p->m, id)->nout = out.len;
}

static void parse_operands(Parser *p, GraphId g, NodeId id)
{
    VEC(Str) names = {0};
    const uint32_t first = p->references.len;
    parse_expect(p, "(");
    while (!p->failed && !parse_is(p, ")")) {
        const size_t from = p->start;
        Str name = parse_is(p, ",") ? STR("") : parse_name(p);
        if (name.len) {
            Reference r = {.graph = g, .name = name, .index = names.len};
            r.place = parse_place(p, PLACE_OPERAND, from,
                                  (TextPlace){.graph = g, .node = id, .index = names.len});
            vec_push(p->arena, &p->references, r);
        }
        vec_push(p->arena, &names, name);
        if (!parse_take(p, ","))
            break;
    }
    parse_expect(p, ")");
    ValueId *in = NEWS(p->arena, ValueId, names.len);
    for (uint32_t i = first; i < p->references.len; i++)
        p->references.at[i].slot = &in[p->references.at[i].index];
    node_at(p->m, id)->in = in;
    node_at(p->m, id)->nin = names.len;
}

static void parse_node_attrs(Parser *p, NodeId id)
{
    VEC(Attr) attrs = {0};
    if (!parse_take(p, "<"))
        return;
    while (!p->failed && !parse_is(p, ">")) {
        Attr a;
        if (!parse_attr(p, &a))
            parse_fail(p, "expected \"=\" and the attribute's value");
        vec_push(p->arena, &attrs, a);
        if (!parse_take(p, ","))
            break;
    }
    parse_expect(p, ">");
    Node *n = node_at(p->m, id);
    if (n->nattrs) { // attributes may stand before or behind the operands, not both
        parse_fail(p, "attributes given twice");
        return;
    }
    n->attrs = attrs.at;
    n->nattrs = attrs.len;
    for (uint32_t i = 0; i < n->nattrs; i++) {
        if (n->attrs[i].g)
            graph_at(p->m, n->attrs[i].g)->owner = id;
        for (uint32_t k = 0; k < n->attrs[i].ngraphs; k++)
            graph_at(p->m, n->attrs[i].graphs[k])->owner = id;
    }
}

static void parse_node_ext(Parser *p, NodeId id)
{
    Str key;
    bool first = true;
    VEC(NodeDeviceConfig) devices = {0};
    node_at(p->m, id)->has = node_natural_has(node_at(p->m, id));
    if (!parse_ext(p))
        return;
    bool counted = false;
    while (ext_next(p, &key, &first)) {
        Node *n = node_at(p->m, id);
        if (str_is(key, "domain")) {
            n->domain = parse_string(p);
        } else if (str_is(key, "overload")) {
            n->overload = parse_string(p);
        } else if (str_is(key, "doc_string")) {
            n->doc = parse_string(p);
        } else if (str_is(key, "metadata_props")) {
            parse_props(p, &n->metadata);
        } else if (str_is(key, "device_configuration")) {
            NodeDeviceConfig c = {0};
            parse_device_configuration(p, &c);
            vec_push(p->arena, &devices, c);
        } else if (str_is(key, "device")) {
            n->device = device_id(p->m, parse_string(p));
        } else if (str_is(key, "reason")) {
            n->reason = parse_string(p);
        } else if (str_is(key, "moved")) {
            n->moved = parse_int(p) != 0;
        } else if (str_is(key, "has")) {
            n->has = (uint32_t)parse_int(p);
            counted = true;
        } else if (str_is(key, "unknown")) {
            n->unknown = parse_bytes(p);
        } else {
            parse_fail(p, "unknown key of a node");
        }
        if (!counted)
            n->has = node_natural_has(n);
    }
    node_at(p->m, id)->devices = devices.at;
    node_at(p->m, id)->ndevices = devices.len;
}

// "domain.with.dots.Op:overload" or "Op".
static void parse_operator(Parser *p, NodeId id)
{
    size_t begin = p->start;
    bool quoted = p->tok == TOK_STRING;
    Str op = parse_name(p), domain = STR_NONE, overload = STR_NONE;
    size_t dot = 0;
    while (!quoted && !p->failed && p->tok == TOK_PUNCT && parse_is(p, ".")) {
        dot = p->start;
        parse_next(p);
        op = parse_name(p);
    }
    // ".1" after a letter is a number to the lexer; domains do not begin parts with digits.
    if (dot)
        domain = (Str){p->text.at + begin, dot - begin};
    if (parse_take(p, ":"))
        overload = parse_name(p);
    parse_place(p, PLACE_OPERATOR, begin,
                (TextPlace){.graph = node_at(p->m, id)->graph, .node = id});
    Node *n = node_at(p->m, id);
    n->op = op;
    n->domain = domain;
    n->overload = overload;
}

static void parse_node(Parser *p, GraphId g)
{
    NodeId id = node_new(p->m, g);
    const size_t from = p->start;
    node_at(p->m, id)->position = graph_at(p->m, g)->nodes.len;
    node_at(p->m, id)->offset = from;
    if (parse_take(p, "[")) {
        const size_t title = p->start;
        Str name = parse_name(p);
        node_at(p->m, id)->name = name;
        parse_place(p, PLACE_TITLE, title, (TextPlace){.graph = g, .node = id});
        parse_expect(p, "]");
    }
    parse_results(p, g, id);
    parse_expect(p, "=");
    parse_operator(p, id);
    parse_node_attrs(p, id);
    parse_operands(p, g, id);
    if (parse_is(p, "<"))
        parse_node_attrs(p, id);
    parse_node_ext(p, id);
    graph_append(p->m, g, id);
    node_at(p->m, id)->length = p->end - from;
    parse_place(p, PLACE_NODE, from, (TextPlace){.graph = g, .node = id});
}

void parse_body(Parser *p, GraphId g)
{
    GraphId outer = p->graph;
    p->graph = g;
    if (++p->depth > MAX_GRAPH_DEPTH)
        parse_fail(p, "graphs nested too deeply");
    size_t from = p->start;
    if (parse_take(p, "<"))
        parse_entries(p, g, LIST_INFOS, from, ">");
    parse_graph_ext(p, g);
    from = p->start;
    parse_expect(p, "{");
    while (!p->failed && !parse_is(p, "}"))
        parse_node(p, g);
    parse_expect(p, "}");
    parse_place(p, PLACE_BODY, from, (TextPlace){.graph = g});
    p->depth--;
    p->graph = outer;
}

GraphId parse_graph(Parser *p, GraphId parent, NodeId owner)
{
    GraphId g = graph_new(p->m);
    graph_at(p->m, g)->parent = parent;
    graph_at(p->m, g)->owner = owner;
    graph_at(p->m, g)->has = 1;
    size_t from = p->start;
    Str name = parse_name(p);
    graph_at(p->m, g)->name = str_is(name, "_") ? STR("") : name;
    parse_place(p, PLACE_GRAPH, from, (TextPlace){.graph = g});
    from = p->start;
    parse_expect(p, "(");
    parse_entries(p, g, LIST_INPUTS, from, ")");
    parse_expect(p, "=>");
    from = p->start;
    parse_expect(p, "(");
    parse_entries(p, g, LIST_OUTPUTS, from, ")");
    parse_body(p, g);
    return g;
}
