// ST003, ST004: tensors whose dims or bytes are not what they should be; and a walk over all
// tensors of a model.

#include "ir/payload.h"
#include "passes/lint/tensors.h"

// ---- every tensor of the file

// graph/node[/c]:value
static Str attribute_path(Lint *l, NodeId id, Str name)
{
    return str_printf(l->arena, "%.*s:%.*s", STR_ARG(location_node(l->m, l->arena, id)),
                      STR_ARG(str_escaped(l->arena, name)));
}

static void visit_sparse(Lint *l, TensorVisit visit, void *context, SparseData *s, Str where)
{
    if (s && s->values)
        visit(l, context, s->values, where);
    if (s && s->indices)
        visit(l, context, s->indices, where);
}

static void visit_attribute(Lint *l, NodeId id, const Attr *a, TensorVisit visit, void *context)
{
    if (!a->t && !a->ntensors && !a->sparse && !a->nsparses)
        return;
    Str where = attribute_path(l, id, a->name);
    if (a->t)
        visit(l, context, a->t, where);
    for (uint32_t i = 0; i < a->ntensors; i++)
        visit(l, context, a->tensors[i], where);
    visit_sparse(l, visit, context, a->sparse, where);
    for (uint32_t i = 0; i < a->nsparses; i++)
        visit_sparse(l, visit, context, a->sparses[i], where);
}

void lint_each_tensor(Lint *l, TensorVisit visit, void *context)
{
    for (GraphId g = 1; g < l->m->graphs.len; g++) {
        const Graph *graph = graph_at(l->m, g);
        Str where = location_graph(l->m, l->arena, g);
        for (uint32_t i = 0; i < graph->initializers.len; i++) {
            TensorData *t = graph->initializers.at[i].data;
            visit(l, context, t,
                  str_printf(l->arena, "%.*s/initializer(%.*s)", STR_ARG(where),
                             STR_ARG(str_escaped(l->arena, t->name))));
        }
        for (uint32_t i = 0; i < graph->sparse.len; i++)
            visit_sparse(l, visit, context, graph->sparse.at[i].data,
                         str_printf(l->arena, "%.*s/sparse_initializer[%u]", STR_ARG(where), i));
    }
    for (NodeId id = 1; id < l->m->nodes.len; id++)
        for (uint32_t i = 0; !node_at(l->m, id)->dead && i < node_at(l->m, id)->nattrs; i++)
            visit_attribute(l, id, &node_at(l->m, id)->attrs[i], visit, context);
}

// ---- ST003

// The bytes that the tensor's values take as they lie in the file, where there are such.
static bool payload_bytes(Model *m, const TensorData *t, uint64_t *bytes)
{
    ExternalRange range;
    Str error;
    bool outside = t->payload == PAYLOAD_EXTERNAL;
    if (outside && tensor_external(m, t, &range, &error) != EXTERNAL_FINE)
        return false;
    *bytes = outside ? range.length : t->raw.len;
    return outside || t->payload == PAYLOAD_RAW;
}

// A converter that writes another dtype but leaves the bytes: the dtype of which the bytes are as
// many as dims ask for. Two bytes may be float16 or bfloat16, one may be any of many.
static DType dtype_of_bytes(Model *m, const TensorData *t)
{
    static const DType known[] = {DT_F32, DT_F64, DT_I32, DT_I64};
    uint64_t bytes, n = tensor_count(t);
    DType had = t->dtype > 0 && t->dtype < DT_COUNT ? (DType)t->dtype : DT_NONE;
    if (n == 0 || n > UINT64_MAX / 16 || !payload_bytes(m, t, &bytes))
        return DT_NONE;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (n * dtype_info(known[i])->bytes == bytes && known[i] != had &&
            dtype_is_float(had) == dtype_is_float(known[i]) && had != DT_STRING)
            return known[i];
    return DT_NONE;
}

static bool is_unreadable(Model *m, TensorData *t, Str *error)
{
    Str bytes;
    *error = STR_NONE;
    // Dims that cannot be are ST004's. What lies in the file as it is needs no look at its
    // elements.
    return !tensor_packed(m, t, &bytes) && !tensor_elements(m, t, error) && error->len &&
           tensor_count(t) != UINT64_MAX;
}

bool file_fault_told(Lint *l, FileFaults *f, const TensorData *t, Diag ***told)
{
    bool added;
    uint32_t *at = map_put(&f->files, props_get(&t->external, "location"), &added);
    if (added) {
        *at = f->at.len;
        vec_push(l->arena, &f->at, ((FileFault){0}));
    }
    FileFault *fault = &f->at.at[*at];
    fault->more += !added;
    *told = added ? &fault->d : NULL;
    return !added;
}

void file_faults_end(Lint *l, const FileFaults *f, const char *verb, const char *rest)
{
    for (uint32_t i = 0; i < f->at.len; i++) {
        const FileFault *fault = &f->at.at[i];
        bool one = fault->more == 1;
        if (fault->more)
            diag_note(l->diags, fault->d, "%u further tensor%s %s%s %s", fault->more,
                      one ? "" : "s", verb, one ? (verb[strlen(verb) - 1] == 'h' ? "es" : "s") : "",
                      rest);
    }
}

static void check_payload(Lint *l, void *context, TensorData *t, Str where)
{
    Str error, unused;
    ExternalRange range;
    Diag **told = NULL;
    if (!is_unreadable(l->m, t, &error))
        return;
    // Where external data lies is SE001's and SE002's.
    ExternalFault fault =
        t->payload == PAYLOAD_EXTERNAL ? tensor_external(l->m, t, &range, &unused) : EXTERNAL_FINE;
    if (fault == EXTERNAL_ESCAPES || fault == EXTERNAL_BOUNDS ||
        (fault == EXTERNAL_UNREADABLE && file_fault_told(l, context, t, &told)))
        return;
    Str name = str_escaped(l->arena, t->name);
    Diag *d = name.len ? diag(l->diags, "ST003", SEV_ERROR, where, "tensor \"%.*s\": %.*s",
                              STR_ARG(name), STR_ARG(error))
                       : diag(l->diags, "ST003", SEV_ERROR, where, "tensor: %.*s", STR_ARG(error));
    d->value = name;
    if (told)
        *told = d;
    DType fits = dtype_of_bytes(l->m, t);
    if (fits == DT_NONE) {
        diag_help(l->diags, d,
                  t->payload == PAYLOAD_EXTERNAL
                      ? "restore the file that belongs to the model, or export the model again"
                      : "export the model again: the numbers cannot be told from what is there");
        return;
    }
    diag_note(l->diags, d,
              "as %s they are as many as its dims ask for: the dtype was changed, the "
              "bytes were not",
              dtype_name(fits));
    diag_fix(l->diags, d, false, "read them as %s", dtype_name(fits));
}

static void restore_dtype(Lint *l, void *context, TensorData *t, Str where)
{
    Str error;
    DType fits = is_unreadable(l->m, t, &error) ? dtype_of_bytes(l->m, t) : DT_NONE;
    (void)where;
    if (fits == DT_NONE)
        return;
    t->dtype = (int32_t)fits;
    ++*(uint32_t *)context;
}

uint32_t repair_payloads(Model *m, bool unsafe)
{
    uint32_t changes = 0;
    Lint l = {.m = m, .arena = m->arena};
    if (unsafe)
        lint_each_tensor(&l, restore_dtype, &changes);
    return changes;
}

// Keys of external data that the format has not, or that say two things: readers take the first,
// the last, or neither.
static void check_keys(Lint *l, void *context, TensorData *t, Str where)
{
    static const char *const known[] = {"location", "offset", "length", "checksum", "basepath"};
    (void)context;
    for (uint32_t i = 0; t->payload == PAYLOAD_EXTERNAL && i < t->external.len; i++) {
        Str key = t->external.at[i].key;
        bool has = str_starts(key, "prepacked"), twice = false; // ONNX Runtime's own
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            has |= str_is(key, known[k]);
        for (uint32_t k = 0; k < i; k++)
            twice |= str_eq(t->external.at[k].key, key);
        if (has && !twice)
            continue;
        Diag *d = diag(l->diags, "ST003", SEV_ERROR, where,
                       "tensor \"%.*s\": external data %s key \"%.*s\"%s",
                       STR_ARG(str_escaped(l->arena, t->name)), has ? "has" : "has the",
                       STR_ARG(str_escaped(l->arena, key)),
                       has ? " twice" : ", which the format does not know");
        d->value = str_escaped(l->arena, t->name);
        const char *near = has ? NULL : str_nearest(key, known, sizeof known / sizeof *known);
        if (has)
            diag_help(l->diags, d, "delete the one that is not meant");
        else if (near)
            diag_help(l->diags, d, "did you mean %s?", near);
        else
            diag_help(l->diags, d, "keep what else there is to say in metadata_props");
    }
}

void lint_payloads(Lint *l)
{
    FileFaults faults = {.files = {.arena = l->arena}};
    lint_each_tensor(l, check_payload, &faults);
    file_faults_end(l, &faults, "lie", "there");
    lint_each_tensor(l, check_keys, NULL);
    lint_sparse_payloads(l);
}

// ---- ST004

static Str shown_dims(Lint *l, const int64_t *dims, uint32_t rank)
{
    Buf b = {0};
    for (uint32_t i = 0; i < rank && i < 16; i++)
        buf_printf(&b, "%s%lld", i ? "," : "", (long long)dims[i]);
    Str s = str_printf(l->arena, "[%s%s]", b.at ? b.at : "", rank > 16 ? ",..." : "");
    buf_free(&b);
    return s;
}

static void check_dims(Lint *l, void *context, TensorData *t, Str where)
{
    int64_t worst = 0;
    (void)context;
    if (tensor_count(t) != UINT64_MAX)
        return;
    for (uint32_t i = 0; i < t->rank; i++)
        worst = t->dims[i] < worst ? t->dims[i] : worst;
    Str dims = shown_dims(l, t->dims, t->rank), name = str_escaped(l->arena, t->name);
    Diag *d = worst < 0 ? diag(l->diags, "ST004", SEV_ERROR, where,
                               "tensor \"%.*s\" has dims %.*s: %lld is negative", STR_ARG(name),
                               STR_ARG(dims), (long long)worst)
                        : diag(l->diags, "ST004", SEV_ERROR, where,
                               "tensor \"%.*s\" has dims %.*s: their product is over 2^63",
                               STR_ARG(name), STR_ARG(dims));
    d->value = name;
    diag_note(l->diags, d, "a reader that multiplies them unchecked reserves less than it writes");
    diag_help(l->diags, d, "export the model again: no values can be stored with such dims");
}

// A declared size of -1 is how some exporters say "unknown"; the format says it with no size, or
// with a name.
static void check_declared(Lint *l, const Type *t, ValueId v)
{
    bool negative = false;
    for (uint32_t i = 0; t && i < t->rank; i++)
        negative |= t->dims[i].kind == DIM_VALUE && t->dims[i].value < 0;
    if (!negative)
        return;
    Diag *d = diag(l->diags, "ST004", SEV_WARNING, location_value(l->m, l->arena, v),
                   "value \"%.*s\" is declared with a negative dim", STR_ARG(lint_name(l, v)));
    d->value = lint_name(l, v);
    diag_note(l->diags, d, "a dim that is not known has no value in the format, or a name");
}

void lint_dims(Lint *l)
{
    lint_each_tensor(l, check_dims, NULL);
    for (GraphId g = 1; g < l->m->graphs.len; g++) {
        const Graph *graph = graph_at(l->m, g);
        for (uint32_t i = 0; i < graph->inputs.len; i++)
            check_declared(l, graph->inputs.at[i].type, graph->inputs.at[i].value);
        for (uint32_t i = 0; i < graph->outputs.len; i++)
            check_declared(l, graph->outputs.at[i].type, graph->outputs.at[i].value);
        for (uint32_t i = 0; i < graph->infos.len; i++)
            check_declared(l, graph->infos.at[i].type, graph->infos.at[i].value);
    }
}
