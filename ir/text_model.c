// Reading functions, the header and the rest of a model's textual form.

#include "ir/kernel_text.h"
#include "ir/text_parse.h"

#include <string.h>

// ---- device configurations

static void parse_int_list(Parser *p, const int64_t **at, uint32_t *n)
{
    VEC(int64_t) ints = {0};
    parse_expect(p, "[");
    if (!parse_is(p, "]"))
        do
            vec_push(p->arena, &ints, parse_int(p));
        while (parse_take(p, ","));
    parse_expect(p, "]");
    *at = ints.at;
    *n = ints.len;
}

static void parse_sharding(Parser *p, struct SimpleSharding *s)
{
    Str key;
    bool first = true;
    parse_expect(p, "{");
    while (ext_next(p, &key, &first)) {
        if (str_is(key, "kind"))
            s->kind = parse_int(p) & 3;
        else if (str_is(key, "value"))
            s->value = parse_int(p);
        else if (str_is(key, "param"))
            s->param = parse_string(p);
        else if (str_is(key, "shards"))
            s->num_shards = parse_int(p), s->has_num = true;
        else
            s->unknown = parse_bytes(p);
    }
}

static void parse_sharded_dim(Parser *p, ShardedDim *d)
{
    Str key;
    bool first = true;
    VEC(struct SimpleSharding) simple = {0};
    parse_expect(p, "{");
    while (ext_next(p, &key, &first)) {
        struct SimpleSharding s = {0};
        if (str_is(key, "n"))
            parse_int(p);
        else if (str_is(key, "axis"))
            d->axis = parse_int(p), d->has_axis = true;
        else if (str_is(key, "sharding"))
            parse_sharding(p, &s), vec_push(p->arena, &simple, s);
        else
            d->unknown = parse_bytes(p);
    }
    d->simple = simple.at;
    d->nsimple = simple.len;
}

static void parse_group(Parser *p, struct IndexGroup *g)
{
    Str key;
    bool first = true;
    parse_expect(p, "{");
    while (ext_next(p, &key, &first)) {
        if (str_is(key, "values"))
            parse_int_list(p, &g->values, &g->nvalues);
        else if (str_is(key, "key"))
            g->key = parse_int(p), g->has_key = true;
        else
            g->unknown = parse_bytes(p);
    }
}

static void parse_spec(Parser *p, ShardingSpec *s)
{
    Str key;
    bool first = true;
    VEC(struct IndexGroup) groups = {0};
    VEC(ShardedDim) dims = {0};
    parse_expect(p, "{");
    while (ext_next(p, &key, &first)) {
        struct IndexGroup group = {0};
        ShardedDim dim = {0};
        if (str_is(key, "device"))
            parse_int_list(p, &s->devices, &s->ndevices);
        else if (str_is(key, "tensor"))
            s->tensor = parse_string(p);
        else if (str_is(key, "group"))
            parse_group(p, &group), vec_push(p->arena, &groups, group);
        else if (str_is(key, "dim"))
            parse_sharded_dim(p, &dim), vec_push(p->arena, &dims, dim);
        else
            s->unknown = parse_bytes(p);
    }
    s->groups = groups.at;
    s->ngroups = groups.len;
    s->dims = dims.at;
    s->ndims = dims.len;
}

void parse_device_configuration(Parser *p, NodeDeviceConfig *c)
{
    Str key;
    bool first = true;
    VEC(ShardingSpec) specs = {0};
    parse_expect(p, "{");
    while (ext_next(p, &key, &first)) {
        ShardingSpec s = {0};
        if (str_is(key, "n"))
            parse_int(p);
        else if (str_is(key, "id"))
            c->configuration = parse_string(p);
        else if (str_is(key, "stage"))
            c->stage = (int32_t)parse_int(p), c->has_stage = true;
        else if (str_is(key, "spec"))
            parse_spec(p, &s), vec_push(p->arena, &specs, s);
        else
            c->unknown = parse_bytes(p);
    }
    c->specs = specs.at;
    c->nspecs = specs.len;
}

// ---- model header

static void parse_opsets(Parser *p, OpsetImport **at, uint32_t *n)
{
    VEC(OpsetImport) list = {0};
    parse_expect(p, "[");
    while (!p->failed && !parse_is(p, "]")) {
        OpsetImport o = {.has = 3};
        Str key;
        bool first = true;
        o.domain = parse_string(p);
        parse_expect(p, ":");
        o.version = parse_int(p);
        if (parse_ext(p))
            while (ext_next(p, &key, &first)) {
                if (str_is(key, "has"))
                    o.has = (uint32_t)parse_int(p);
                else
                    o.unknown = parse_bytes(p);
            }
        vec_push(p->arena, &list, o);
        if (!parse_take(p, ","))
            break;
    }
    parse_expect(p, "]");
    *at = list.at;
    *n = list.len;
}

static void parse_header_field(Parser *p, Str key)
{
    Model *m = p->m;
    if (str_is(key, "ir_version")) {
        m->ir_version = parse_int(p);
    } else if (str_is(key, "opset_import")) {
        OpsetImport *at;
        uint32_t n;
        parse_opsets(p, &at, &n);
        for (uint32_t i = 0; i < n; i++)
            vec_push(p->arena, &m->opsets, at[i]);
    } else if (str_is(key, "producer_name")) {
        m->producer_name = parse_string(p);
    } else if (str_is(key, "producer_version")) {
        m->producer_version = parse_string(p);
    } else if (str_is(key, "domain")) {
        m->domain = parse_string(p);
    } else if (str_is(key, "doc_string")) {
        m->doc = parse_string(p);
    } else if (str_is(key, "model_version")) {
        m->model_version = parse_int(p);
    } else if (str_is(key, "metadata_props")) {
        parse_props(p, &m->metadata);
    } else {
        parse_fail(p, "unknown key of a model");
    }
}

static void parse_header(Parser *p)
{
    if (!parse_take(p, "<"))
        return;
    while (!p->failed && !parse_is(p, ">")) {
        Str key = parse_name(p);
        parse_expect(p, ":");
        parse_header_field(p, key);
        if (!parse_take(p, ","))
            break;
    }
    parse_expect(p, ">");
    p->m->has = model_natural_has(p->m);
}

static void parse_configuration(Parser *p)
{
    DeviceConfiguration c = {0};
    VEC(Str) devices = {0};
    Str key;
    bool first = true;
    parse_expect(p, "{");
    while (ext_next(p, &key, &first)) {
        if (str_is(key, "name")) {
            c.name = parse_string(p), c.has_name = true;
        } else if (str_is(key, "num_devices")) {
            c.num_devices = (int32_t)parse_int(p), c.has_num = true;
        } else if (str_is(key, "devices")) {
            parse_expect(p, "[");
            while (!p->failed && !parse_is(p, "]")) {
                vec_push(p->arena, &devices, parse_string(p));
                if (!parse_take(p, ","))
                    break;
            }
            parse_expect(p, "]");
        } else {
            c.unknown = parse_bytes(p);
        }
    }
    c.devices = devices.at;
    c.ndevices = devices.len;
    vec_push(p->arena, &p->m->configurations, c);
}

static void parse_training(Parser *p)
{
    TrainingInfo t = {0};
    Str key;
    bool first = true;
    parse_expect(p, "{");
    while (ext_next(p, &key, &first)) {
        if (str_is(key, "initialization_binding"))
            parse_props(p, &t.initialization_binding);
        else if (str_is(key, "update_binding"))
            parse_props(p, &t.update_binding);
        else if (str_is(key, "initialization"))
            t.initialization = parse_graph(p, 0, 0);
        else if (str_is(key, "algorithm"))
            t.algorithm = parse_graph(p, 0, 0);
        else
            t.unknown = parse_bytes(p);
    }
    vec_push(p->arena, &p->m->training, t);
}

// The bytes of the file that source(...) refers to: beside the text, under the name it was printed
// with.
static void open_source(Parser *p, Str path)
{
    FileView view;
    Str error;
    Str name = path;
    const char *slash = strrchr(p->path ? p->path : "", '/');
    if (path.len && path.at[0] != '/' && slash && !file_exists(path.at))
        name = str_printf(p->arena, "%.*s/%.*s", (int)(slash - p->path), p->path, STR_ARG(path));
    // A text must not make its reader wait at a pipe or read a device for ever.
    if (memchr(name.at, 0, name.len) || !file_regular(name.at) ||
        !file_open(p->arena, name.at, &view, &error))
        parse_fail(p, "cannot open the source file");
    else
        p->m->source = p->source = (Str){(const char *)view.at, view.len};
    p->m->path = name.at;
}

static bool parse_model_ext(Parser *p)
{
    Str key;
    bool first = true, counted = false;
    if (!parse_ext(p))
        return false;
    while (ext_next(p, &key, &first)) {
        if (str_is(key, "configuration")) {
            parse_configuration(p);
        } else if (str_is(key, "training")) {
            parse_training(p);
        } else if (str_is(key, "source")) {
            open_source(p, parse_string(p));
        } else if (str_is(key, "has")) {
            p->m->has = (uint32_t)parse_int(p);
            counted = true;
        } else {
            p->m->unknown = parse_bytes(p);
        }
    }
    return counted;
}

// ---- functions

static void parse_names(Parser *p, GraphId g, bool inputs)
{
    parse_expect(p, "(");
    while (!p->failed && !parse_is(p, ")")) {
        ValueInfo info = {.has = 1};
        const size_t from = p->start;
        Str name = parse_name(p);
        const uint32_t place =
            parse_place(p, inputs ? PLACE_INPUT : PLACE_OUTPUT, from, (TextPlace){.graph = g});
        if (inputs) {
            ValueId v = value_new(p->m, g, name);
            value_at(p->m, v)->def = DEF_INPUT;
            value_at(p->m, v)->index = graph_at(p->m, g)->inputs.len;
            info.value = v;
            if (place)
                p->places->at[place - 1].value = v;
            vec_push(p->arena, &graph_at(p->m, g)->inputs, info);
            parse_define(p, g, name, v);
        } else {
            Reference r = {.graph = g,
                           .name = name,
                           .place = place,
                           .is_output = true,
                           .index = graph_at(p->m, g)->outputs.len};
            vec_push(p->arena, &p->references, r);
            vec_push(p->arena, &graph_at(p->m, g)->outputs, info);
        }
        if (!parse_take(p, ","))
            break;
    }
    parse_expect(p, ")");
}

static void parse_function_header(Parser *p, Function *f)
{
    if (!parse_take(p, "<"))
        return;
    while (!p->failed && !parse_is(p, ">")) {
        Str key = parse_name(p);
        parse_expect(p, ":");
        if (str_is(key, "domain"))
            f->domain = parse_string(p);
        else if (str_is(key, "overload"))
            f->overload = parse_string(p);
        else if (str_is(key, "doc_string"))
            f->doc = parse_string(p);
        else if (str_is(key, "opset_import"))
            parse_opsets(p, &f->opsets, &f->nopsets);
        else
            parse_fail(p, "unknown key of a function");
        if (!parse_take(p, ","))
            break;
    }
    parse_expect(p, ">");
}

static void parse_function_attributes(Parser *p, Function *f)
{
    VEC(Str) names = {0};
    VEC(Attr) defaults = {0};
    if (!parse_take(p, "<"))
        return;
    while (!p->failed && !parse_is(p, ">")) {
        Attr a;
        if (parse_attr(p, &a))
            vec_push(p->arena, &defaults, a);
        else
            vec_push(p->arena, &names, a.name);
        if (!parse_take(p, ","))
            break;
    }
    parse_expect(p, ">");
    f->attributes = names.at;
    f->nattributes = names.len;
    f->defaults = defaults.at;
    f->ndefaults = defaults.len;
}

static void parse_function(Parser *p)
{
    Function f = {0};
    Str key;
    bool first = true;
    parse_function_header(p, &f);
    const size_t from = p->start;
    f.name = parse_name(p);
    f.body = graph_new(p->m);
    graph_at(p->m, f.body)->function = p->m->functions.len + 1;
    parse_place(p, PLACE_GRAPH, from, (TextPlace){.graph = f.body});
    parse_function_attributes(p, &f);
    parse_names(p, f.body, true);
    parse_expect(p, "=>");
    parse_names(p, f.body, false);
    f.has = function_natural_has(&f);
    if (parse_ext(p))
        while (ext_next(p, &key, &first)) {
            if (str_is(key, "metadata_props"))
                parse_props(p, &f.metadata);
            else if (str_is(key, "has"))
                f.has = (uint32_t)parse_int(p);
            else
                f.unknown = parse_bytes(p);
        }
    parse_body(p, f.body);
    vec_push(p->arena, &p->m->functions, f);
}

// ---- models

Model *text_parse(Arena *a, const char *path, Str text, Diags *diags)
{
    return text_parse_places(a, path, text, diags, NULL);
}

Model *text_parse_places(Arena *a, const char *path, Str text, Diags *diags, TextPlaces *places)
{
    Model *m = model_new(a);
    m->path = path;
    Parser p = {.arena = a, .m = m, .diags = diags, .path = path, .text = text, .places = places};
    p.cir = str_starts(text, "cameo.ir/1");
    if (p.cir)
        p.at = strlen("cameo.ir/1");
    parse_next(&p);
    const size_t from = p.start;
    parse_header(&p);
    parse_model_ext(&p);
    if (!p.failed && p.end > from)
        parse_place(&p, PLACE_HEADER, from, (TextPlace){0});
    if (!p.failed && p.tok != TOK_END)
        m->main = parse_graph(&p, 0, 0);
    while (!p.failed && p.tok != TOK_END && !(p.cir && parse_is(&p, "kernels")))
        parse_function(&p);
    if (p.failed)
        return NULL;
    parse_resolve(&p);
    if (parse_take(&p, "kernels"))
        parse_kernels(&p);
    if (!p.failed && p.tok != TOK_END)
        parse_fail(&p, "expected the end");
    return p.failed ? NULL : m;
}
