// cameo verify --layers --against MODEL2 and --against-values DIR: every value of a model beside
// those of another one, or of another runtime's files.

#include "base/file.h"
#include "passes/instrument.h"
#include "tools/layers_match.h"
#include "tools/layers_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A model with every value of its main graph as an output.
typedef struct Opened {
    Arena *arena;
    VEC(ShadowValue) values; // in order of execution
    VEC(uint64_t) structure; // of each of these
    VEC(Str) names;          // by output
    MatchSide *side;
} Opened;

struct Beside {
    Opened first, second;
    Session other; // MODEL2
    bool has_other;
    int32_t *partner; // by layer: the output of the other model, -1: none
};

// ---- opening -----------------------------------------------------------------------------------

static bool open_all(void *opened, Model *m, Diags *diags)
{
    Opened *o = opened;
    Arena *scratch = arena_new();
    uint32_t left, *output = NEWS(scratch, uint32_t, m->values.len);
    (void)diags;
    o->side = match_see(o->arena, m);
    instrument_model(m, &left);
    const uint64_t *structure = structure_of(m, scratch);
    const Graph *g = graph_at(m, m->main);
    for (uint32_t i = 0; i < g->outputs.len; i++) {
        output[g->outputs.at[i].value] = i + 1;
        vec_push(o->arena, &o->names, value_shown_name(m, g->outputs.at[i].value));
    }
    for (uint32_t i = 0; i < g->nodes.len; i++) {
        const Node *n = node_at(m, g->nodes.at[i]);
        for (uint32_t k = 0; k < n->nout; k++) {
            ValueId v = n->out[k];
            if (!v || !output[v] || value_at(m, v)->kind != TYPE_TENSOR)
                continue;
            ShadowValue value = {.value = v,
                                 .node = g->nodes.at[i],
                                 .dtype = value_at(m, v)->dtype,
                                 .output = output[v] - 1,
                                 .name = value_shown_name(m, v),
                                 .op = n->op,
                                 .path = location_node(m, o->arena, g->nodes.at[i])};
            value.kind = dtype_is_float(value.dtype) ? SHADOW_TOTAL : SHADOW_DECIDES;
            vec_push(o->arena, &o->values, value);
            vec_push(o->arena, &o->structure, structure[v]);
        }
    }
    arena_free(scratch);
    return true;
}

static void take_partner(Runner *r, struct Beside *b, uint32_t i, uint32_t k, uint8_t *taken)
{
    const Str here = b->first.values.at[i].name, there = b->second.values.at[k].name;
    b->partner[i] = (int32_t)k;
    taken[k] = 1;
    if (!str_eq(here, there))
        r->layers.all.at[i].partner =
            str_printf(b->first.arena, "%.*s", STR_ARG(str_escaped(b->first.arena, there))).at;
    match_pair(b->first.side, b->second.side, b->first.values.at[i].value,
               b->second.values.at[k].value);
}

// By name, or by structure: values of one structure pair up in order.
static void match_equal(Runner *r, struct Beside *b, uint8_t *taken, bool by_name)
{
    for (uint32_t i = 0; i < r->layers.all.len; i++)
        for (uint32_t k = 0; k < b->second.values.len && b->partner[i] < 0; k++)
            if (!taken[k] &&
                (by_name ? str_eq(b->second.values.at[k].name, b->first.values.at[i].name)
                         : b->second.structure.at[k] == b->first.structure.at[i]))
                take_partner(r, b, i, k, taken);
}

// What neighbours and weights say (tools/layers_match.h).
static void match_known(Runner *r, struct Beside *b, uint8_t *taken)
{
    match_spread(b->first.side, b->second.side);
    for (uint32_t i = 0; i < r->layers.all.len; i++) {
        const ValueId w = match_partner(b->first.side, b->first.values.at[i].value);
        for (uint32_t k = 0; w && k < b->second.values.len && b->partner[i] < 0; k++)
            if (!taken[k] && b->second.values.at[k].value == w)
                take_partner(r, b, i, k, taken);
    }
}

static void match(Runner *r, struct Beside *b)
{
    uint32_t n = r->layers.all.len;
    uint8_t *taken = NEWS(b->first.arena, uint8_t, b->second.values.len + 1u);
    b->partner = NEWS(b->first.arena, int32_t, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        b->partner[i] = -1;
    match_equal(r, b, taken, true);
    match_ends(b->first.side, b->second.side);
    match_weights(b->first.side, b->second.side);
    match_known(r, b, taken);
    match_equal(r, b, taken, false);
    match_known(r, b, taken);
    for (uint32_t i = 0; i < n; i++) {
        r->layers.all.at[i].missing = b->partner[i] < 0;
        r->layers.all.at[i].why = "no value of its name or structure";
    }
    for (uint32_t k = 0; k < b->second.values.len; k++)
        r->layers.alone += !taken[k];
}

static int open_other(Runner *r, struct Beside *b)
{
    CompileOptions o = r->o->compile;
    b->second.arena = b->first.arena;
    o.rewrite = open_all;
    o.rewriter = &b->second;
    r->layers.against = r->o->against;
    b->has_other = true;
    int status = session_open(r->tool, r->o->against, &o, &b->other);
    if (!status && b->other.model->ninputs != r->s.model->ninputs)
        status = tool_error(r->tool, EXIT_USAGE, "%s has %d input%s, %s has %d", r->o->model,
                            (int)r->s.model->ninputs, r->s.model->ninputs == 1 ? "" : "s",
                            r->o->against, (int)b->other.model->ninputs);
    if (!status)
        match(r, b);
    return status;
}

static int collect_values(Runner *r, const cameo_context *x, const Inputs *in);
static int collect_other(Runner *r, const cameo_context *x, const Inputs *in);

int layers_open_beside(Runner *r)
{
    struct Beside *b = r->beside = calloc(1, sizeof *b);
    CompileOptions o = r->o->compile;
    if (!b)
        return tool_error(r->tool, EXIT_BYTES, "not enough memory");
    b->first.arena = arena_new();
    o.rewrite = open_all;
    o.rewriter = &b->first;
    int status = session_open(r->tool, r->o->model, &o, &r->s);
    if (status)
        return status;
    for (uint32_t i = 0; i < b->first.values.len; i++) {
        Layer l = {.value = b->first.values.at[i]};
        l.numbers[DRIFT_NONFINITE_AT] = -1;
        vec_push(r->s.arena, &r->layers.all, l);
    }
    r->collect = r->o->values ? collect_values : collect_other;
    r->layers.against = r->o->values;
    return r->o->values ? EXIT_CLEAN : open_other(r, b);
}

void layers_close_beside(Runner *r)
{
    if (!r->beside)
        return;
    if (r->beside->has_other)
        session_close(&r->beside->other);
    arena_free(r->beside->first.arena);
    free(r->beside);
}

// ---- comparing ---------------------------------------------------------------------------------

static int64_t count_of(int32_t rank, const int64_t *dims)
{
    int64_t n = 1;
    for (int32_t k = 0; k < rank; k++)
        n *= dims[k];
    return n;
}

static cameo_tensor output_of(const cameo_model *m, const cameo_context *x, uint32_t k)
{
    cameo_tensor t = {.name = ""};
    const int64_t *dims = NULL;
    t.dtype = m->outputs[k].dtype;
    t.elements = (void *)(uintptr_t)m->output(x, (int32_t)k, &t.rank, &dims);
    if (t.rank > 0)
        memcpy(t.dims, dims, (size_t)t.rank * sizeof *dims);
    t.count = count_of(t.rank, t.dims);
    return t;
}

static void precision_of(DType t, int64_t *numbers)
{
    numbers[0] = t == DT_F16 ? 10 : t == DT_BF16 ? 7 : t == DT_F64 ? 52 : 23;
    numbers[1] = t == DT_F16 ? -14 : t == DT_F64 ? -1022 : -126;
    numbers[2] = 0;
}

static void put_type(Buf *out, const cameo_tensor *t)
{
    buf_printf(out, "%s[", dtype_info((DType)t->dtype)->name);
    for (int32_t k = 0; k < t->rank; k++)
        buf_printf(out, "%s%lld", k ? "," : "", (long long)t->dims[k]);
    buf_char(out, ']');
}

// Why y is not compared with z.
static const char *unlike(Arena *a, const char *what, const cameo_tensor *y, const cameo_tensor *z)
{
    Buf text = {0};
    buf_printf(&text, "%s is ", what);
    put_type(&text, z);
    buf_printf(&text, ", the value ");
    put_type(&text, y);
    const char *why = str_printf(a, "%.*s", (int)text.len, text.at).at;
    buf_free(&text);
    return why;
}

// Figures of y beside z; false where their shapes or kinds do not fit.
static bool compare(Layer *l, const cameo_tensor *y, const cameo_tensor *z)
{
    bool floats = dtype_is_float((DType)y->dtype),
         fits = y->rank == z->rank && y->dtype != DT_STRING;
    for (int32_t k = 0; fits && k < y->rank; k++)
        fits = y->dims[k] == z->dims[k];
    fits = fits && (floats ? dtype_is_float((DType)z->dtype) : y->dtype == z->dtype) &&
           !dtype_is_complex((DType)y->dtype);
    double *wide = fits && floats ? calloc((size_t)z->count * 2 + 1, sizeof *wide) : NULL;
    if (!fits || (floats && !wide))
        return false;
    for (int64_t i = 0; floats && i < z->count; i++) {
        wide[i] = cameo_element(z, i);
        wide[z->count + i] = cameo_element(y, i);
    }
    int64_t numbers[4] = {0};
    double out[DRIFT_FIELDS];
    precision_of((DType)y->dtype, numbers);
    cameo_view reads[2] = {
        {floats ? (void *)(wide + z->count) : y->elements, floats ? DT_F64 : y->dtype, y->rank,
         y->dims},
        {floats ? (void *)wide : z->elements, floats ? DT_F64 : z->dtype, z->rank, z->dims}};
    cameo_view writes[1] = {{out, DT_F64, 0, NULL}};
    cameo_call call = {reads, writes, numbers, 2, 1, 4};
    cameo_objects objects = {0};
    if (cameo_drift(&objects, &call) == 0)
        cameo_drift_add(l->numbers, out, 0);
    free(wide);
    return true;
}

// What a runtime writes for an output of that name, the k-th of those whose names look alike:
// characters outside [A-Za-z0-9._-] are '_'.
static void plain_name(Str name, Buf *out)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '.' || c == '_' || c == '-';
        buf_char(out, plain ? c : '_');
    }
    if (out->len && out->at[0] == '.')
        out->at[0] = '_';
}

static const char *file_of(const struct Beside *b, const char *folder, uint32_t output)
{
    Buf own = {0}, other = {0};
    uint32_t same = 1;
    plain_name(b->first.names.at[output], &own);
    for (uint32_t i = 0; i < output; i++) {
        other.len = 0;
        plain_name(b->first.names.at[i], &other);
        same += other.len == own.len && memcmp(other.at, own.at, own.len) == 0;
    }
    const char *name = own.len ? own.at : "_";
    const char *path = same > 1 ? str_printf(b->first.arena, "%s/%s-%u.npy", folder, name, same).at
                                : str_printf(b->first.arena, "%s/%s.npy", folder, name).at;
    buf_free(&own);
    buf_free(&other);
    return path;
}

static int collect_values(Runner *r, const cameo_context *x, const Inputs *in)
{
    uint32_t found = 0;
    (void)in;
    if (r->layers.sets)
        return tool_error(r->tool, EXIT_USAGE,
                          "--against-values compares one run: name the data set that the values "
                          "are of");
    for (uint32_t i = 0; i < r->layers.all.len; i++) {
        Layer *l = &r->layers.all.at[i];
        const char *path = file_of(r->beside, r->o->values, l->value.output);
        cameo_tensor y = output_of(r->s.model, x, l->value.output), z = {.name = ""};
        char error[512];
        l->missing = true;
        l->why = str_printf(r->s.arena, "no %s", path_base(path)).at;
        if (!file_exists(path))
            continue;
        int status = cameo_load_tensor(path, y.dtype, &z, error, sizeof error);
        if (!status)
            l->missing = !compare(l, &y, &z);
        if (!status && l->missing)
            l->why = unlike(r->s.arena, path_base(path), &y, &z);
        cameo_tensor_free(&z);
        if (status)
            return tool_error(r->tool, status, "%s", error);
        found++;
    }
    return found ? EXIT_CLEAN
                 : tool_error(r->tool, EXIT_USAGE, "%s holds no NAME.npy of a value of %s",
                              r->o->values, r->o->model);
}

// An input of one model as the other takes it: floats in its own dtype.
static int hand_over(Runner *r, cameo_context *x, int32_t i, const cameo_tensor *from,
                     cameo_tensor *to)
{
    const cameo_model *m = r->beside->other.model;
    DType t = (DType)m->inputs[i].dtype;
    bool floats = dtype_is_float((DType)from->dtype) && dtype_is_float(t);
    *to = *from;
    to->elements = NULL;
    if (floats && from->dtype != (int32_t)t) {
        to->dtype = (int32_t)t;
        to->elements = calloc((size_t)from->count + 1, dtype_info(t)->bytes);
        for (int64_t k = 0; to->elements && k < from->count; k++)
            scalar_store(t, (char *)to->elements + (size_t)k * dtype_info(t)->bytes,
                         (Scalar){.f = cameo_element(from, k)});
        if (!to->elements)
            return tool_error(r->tool, EXIT_BYTES, "not enough memory");
    }
    if (m->set_input(x, i, to->dtype, to->rank, to->dims,
                     to->elements ? to->elements : from->elements) != 0)
        return tool_error(r->tool, EXIT_USAGE, "%s: %s", r->o->against, m->error(x));
    return EXIT_CLEAN;
}

static int set_other(Runner *r, cameo_context *x, const Inputs *in, cameo_tensor *own)
{
    const cameo_model *m = r->beside->other.model, *first = r->s.model;
    int status = EXIT_CLEAN;
    for (int32_t i = 0; i < m->ninputs && !status; i++) {
        int32_t from = i; // by name, else in order
        for (int32_t k = 0; k < first->ninputs; k++)
            from = strcmp(first->inputs[k].name, m->inputs[i].name) == 0 ? k : from;
        if (first->input_types && first->input_types[from])
            status = m->set_object && m->set_object(x, i, &in->lists[from].object) == 0
                         ? EXIT_CLEAN
                         : tool_error(r->tool, EXIT_USAGE, "%s: input %s does not fit",
                                      r->o->against, m->inputs[i].name);
        else
            status = hand_over(r, x, i, &in->tensors[from], &own[i]);
    }
    return status;
}

static int collect_other(Runner *r, const cameo_context *x, const Inputs *in)
{
    struct Beside *b = r->beside;
    const cameo_model *m = b->other.model;
    cameo_context *y = m->create(&b->other.options);
    cameo_tensor *own = calloc((size_t)m->ninputs + 1, sizeof *own);
    int status =
        y && own ? set_other(r, y, in, own) : tool_error(r->tool, EXIT_BYTES, "not enough memory");
    if (!status && m->run(y) != 0)
        status = tool_error(r->tool, EXIT_FINDINGS, "%s: %s", r->o->against, m->error(y));
    for (uint32_t i = 0; !status && i < r->layers.all.len; i++) {
        Layer *l = &r->layers.all.at[i];
        if (b->partner[i] < 0)
            continue;
        cameo_tensor here = output_of(r->s.model, x, l->value.output);
        cameo_tensor there = output_of(m, y, b->second.values.at[b->partner[i]].output);
        l->missing = !compare(l, &here, &there);
        if (l->missing)
            l->why = unlike(r->s.arena, "the other", &here, &there);
    }
    for (int32_t i = 0; own && i < m->ninputs; i++)
        free(own[i].elements);
    free(own);
    m->destroy(y);
    return status;
}
