// What two graphs declare: inputs, outputs, weights, types of values, annotations.

#include "tools/diff.h"

#include <string.h>

const char *const diff_kinds[DIFF_KINDS] = {
    [DIFF_HEADER] = "header", [DIFF_METADATA] = "metadata", [DIFF_FUNCTION] = "functions",
    [DIFF_INPUT] = "inputs",  [DIFF_OUTPUT] = "outputs",    [DIFF_INITIALIZER] = "initializers",
    [DIFF_NODE] = "nodes",    [DIFF_TYPE] = "types",        [DIFF_DECLARED] = "declared",
    [DIFF_NAME] = "names",    [DIFF_ORDER] = "order"};

Difference *diff_add(DiffReport *r, DiffKind kind, DiffChange change, Str path_a, Str path_b)
{
    r->count[kind][change]++;
    if (r->options->ignore[kind])
        return NULL;
    r->total++;
    Difference d = {.kind = kind, .change = change, .path_a = path_a, .path_b = path_b};
    vec_push(r->arena, &r->all, d);
    return &r->all.at[r->all.len - 1];
}

void diff_field(DiffReport *r, Difference *d, const char *name, Str a, Str b)
{
    if (d && (!str_eq(a, b) || !a.at != !b.at))
        vec_push(r->arena, &d->fields, ((DiffField){str_of(name), a, b}));
}

// ---- documentation and metadata -----------------------------------------------------------------

// A text on one line, its beginning where it is long.
static Str shown(Arena *a, Str s)
{
    if (!s.at)
        return STR_NONE;
    return s.len > 60 ? str_printf(a, "%.*s...", STR_ARG(str_escaped(a, (Str){s.at, 57})))
                      : str_escaped(a, s);
}

static void put_prop(DiffReport *r, Difference *d, const char *what, Str key, Str a, Str b)
{
    Str name = key.at ? str_printf(r->arena, "%s %.*s", what, STR_ARG(str_escaped(r->arena, key)))
                      : str_of(what);
    vec_push(r->arena, &d->fields, ((DiffField){name, shown(r->arena, a), shown(r->arena, b)}));
}

void diff_compare_props(DiffReport *r, const Props *a, const Props *b, Str doc_a, Str doc_b,
                        Str path_a, Str path_b)
{
    Difference d = {0};
    Map values = {.arena = r->arena};
    if (!str_eq(doc_a, doc_b))
        put_prop(r, &d, "doc_string", STR_NONE, doc_a, doc_b);
    for (uint32_t i = 0; i < b->len; i++)
        *map_put(&values, b->at[i].key, NULL) = i + 1;
    for (uint32_t i = 0; i < a->len; i++) {
        uint32_t *at = map_get(&values, a->at[i].key);
        Str other = at && *at ? b->at[*at - 1].value : STR_NONE;
        if (!at || !str_eq(a->at[i].value, other))
            put_prop(r, &d, "metadata", a->at[i].key, a->at[i].value, other);
        if (at)
            *at = 0;
    }
    for (uint32_t i = 0; i < b->len; i++)
        if (*map_get(&values, b->at[i].key) == i + 1)
            put_prop(r, &d, "metadata", b->at[i].key, STR_NONE, b->at[i].value);
    Difference *put =
        d.fields.len ? diff_add(r, DIFF_METADATA, DIFF_CHANGED, path_a, path_b) : NULL;
    if (put)
        memcpy(&put->fields, &d.fields, sizeof put->fields);
}

// ---- inputs and outputs -------------------------------------------------------------------------

typedef struct Ends {
    DiffPair *p;
    DiffReport *r;
    DiffKind kind;
    const Model *ma, *mb;
    const ValueInfo *a, *b;
    uint32_t na, nb;
    Str where_a, where_b; // the graphs
    bool outermost;       // bound by name, elsewhere by order
} Ends;

static Str end_path(const Ends *e, bool second, uint32_t i)
{
    const Model *m = second ? e->mb : e->ma;
    ValueId v = (second ? e->b : e->a)[i].value;
    return str_printf(e->r->arena, "%.*s/%s(%.*s)", STR_ARG(second ? e->where_b : e->where_a),
                      e->kind == DIFF_INPUT ? "input" : "output",
                      STR_ARG(str_escaped(e->r->arena, value_at(m, v)->name)));
}

static void compare_ends(const Ends *e, uint32_t i, uint32_t k)
{
    Arena *arena = e->r->arena;
    Difference d = {0};
    ValueId v = e->a[i].value, w = e->b[k].value;
    const Value *x = value_at(e->ma, v), *y = value_at(e->mb, w);
    if (e->outermost)
        diff_field(e->r, &d, "name", str_escaped(arena, x->name), str_escaped(arena, y->name));
    diff_field(e->r, &d, "type", diff_type_of(arena, e->a[i].type),
               diff_type_of(arena, e->b[k].type));
    if (e->outermost && i != k)
        diff_field(e->r, &d, "position", str_printf(arena, "%u", i), str_printf(arena, "%u", k));
    if (e->p->a.value[v] != w && e->kind == DIFF_OUTPUT) {
        Str a = location_value(e->ma, arena, v), b = location_value(e->mb, arena, w);
        bool alike = x->def == DEF_NONE && y->def == DEF_NONE;
        if (!alike)
            diff_field(e->r, &d, "given by", a, str_eq(a, b) ? STR("another node") : b);
    }
    Difference *put = d.fields.len ? diff_add(e->r, e->kind, DIFF_CHANGED, end_path(e, false, i),
                                              end_path(e, true, k))
                                   : NULL;
    if (put)
        memcpy(&put->fields, &d.fields, sizeof put->fields);
    if (!e->outermost && !str_eq(x->name, y->name)) {
        put = diff_add(e->r, DIFF_NAME, DIFF_CHANGED, end_path(e, false, i), end_path(e, true, k));
        if (put)
            put->what = STR("value");
    }
    diff_compare_props(e->r, &e->a[i].metadata, &e->b[k].metadata, e->a[i].doc, e->b[k].doc,
                       end_path(e, false, i), end_path(e, true, k));
}

// The partner of each end of the first graph, plus 1; 0: none.
static uint32_t *pair_ends(const Ends *e, Arena *scratch)
{
    uint32_t *other = NEWS(scratch, uint32_t, e->na + 1u);
    Map names = {.arena = scratch};
    for (uint32_t k = 0; k < e->nb; k++)
        *map_put(&names, value_at(e->mb, e->b[k].value)->name, NULL) = k + 1;
    for (uint32_t i = 0; i < e->na; i++) {
        uint32_t *at = e->outermost ? map_get(&names, value_at(e->ma, e->a[i].value)->name) : NULL;
        other[i] = at ? *at : 0;
        if (at)
            *at = 0; // taken
        if (!e->outermost && i < e->nb)
            other[i] = i + 1;
    }
    // Renamed: what is left and belongs together.
    for (uint32_t i = 0; e->outermost && i < e->na; i++) {
        ValueId w = other[i] ? 0 : e->p->a.value[e->a[i].value];
        for (uint32_t k = 0; w && k < e->nb && !other[i]; k++) {
            uint32_t *at = map_get(&names, value_at(e->mb, e->b[k].value)->name);
            if (e->b[k].value != w || *at != k + 1)
                continue;
            other[i] = k + 1;
            *at = 0;
        }
    }
    return other;
}

static void compare_all_ends(const Ends *e)
{
    Arena *scratch = arena_new();
    uint32_t *other = pair_ends(e, scratch);
    uint8_t *taken = NEWS(scratch, uint8_t, e->nb + 1u);
    for (uint32_t i = 0; i < e->na; i++) {
        if (other[i]) {
            taken[other[i] - 1] = 1;
            compare_ends(e, i, other[i] - 1);
            continue;
        }
        Difference *d = diff_add(e->r, e->kind, DIFF_REMOVED, end_path(e, false, i), STR_NONE);
        if (d)
            d->what = diff_type_of(e->r->arena, e->a[i].type);
    }
    for (uint32_t k = 0; k < e->nb; k++) {
        if (taken[k])
            continue;
        Difference *d = diff_add(e->r, e->kind, DIFF_ADDED, STR_NONE, end_path(e, true, k));
        if (d)
            d->what = diff_type_of(e->r->arena, e->b[k].type);
    }
    arena_free(scratch);
}

// ---- initializers -------------------------------------------------------------------------------

static TensorData *stored_in(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    const Node *n = value->def == DEF_NODE ? node_at(m, value->node) : NULL;
    const Attr *a = n && node_is(n, "Constant") ? attr_find(n, "value") : NULL;
    return value->init ? value->init : a ? a->t : NULL;
}

static void compare_stored(DiffPair *p, DiffReport *r, ValueId v, ValueId w)
{
    TensorData *a = stored_in(p->a.m, v), *b = stored_in(p->b.m, w);
    DiffElements *elements = NULL;
    Str pa = location_value(p->a.m, r->arena, v), pb = location_value(p->b.m, r->arena, w);
    const bool forms =
        (value_at(p->a.m, v)->def == DEF_NODE) != (value_at(p->b.m, w)->def == DEF_NODE);
    const bool same = a && b && diff_tensors(p, r->options, a, b, &elements);
    if (!same) {
        Difference *d = diff_add(r, DIFF_INITIALIZER, DIFF_CHANGED, pa, pb);
        Str ta = a ? diff_type_of_tensor(r->arena, a) : STR("not a tensor");
        Str tb = b ? diff_type_of_tensor(r->arena, b) : STR("not a tensor");
        if (d) {
            d->what = str_eq(ta, tb) ? ta : STR_NONE;
            d->elements = elements;
            diff_field(r, d, "type", ta, tb);
        }
    }
    if (forms || !str_eq(value_at(p->a.m, v)->name, value_at(p->b.m, w)->name)) {
        Difference *d = diff_add(r, DIFF_NAME, DIFF_CHANGED, pa, pb);
        if (d)
            d->what = forms ? STR("constant") : STR("initializer");
    }
    if (a && b)
        diff_compare_props(r, &a->metadata, &b->metadata, a->doc, b->doc, pa, pb);
}

static void add_stored(DiffReport *r, const DiffSide *s, ValueId v, TensorData *t, bool second)
{
    Str path = location_value(s->m, r->arena, v);
    Difference *d = diff_add(r, DIFF_INITIALIZER, second ? DIFF_ADDED : DIFF_REMOVED,
                             second ? STR_NONE : path, second ? path : STR_NONE);
    if (d)
        d->what = t ? diff_type_of_tensor(r->arena, t) : STR("sparse");
}

static void compare_sparse(DiffPair *p, DiffReport *r, const SparseInitializer *x)
{
    ValueId w = p->a.value[x->value];
    const SparseData *a = x->data, *b = value_at(p->b.m, w)->sparse_init;
    if (a && b && diff_same_tensor(p, a->values, b->values) &&
        diff_same_tensor(p, a->indices, b->indices))
        return;
    Difference *d =
        diff_add(r, DIFF_INITIALIZER, DIFF_CHANGED, location_value(p->a.m, r->arena, x->value),
                 location_value(p->b.m, r->arena, w));
    if (d)
        d->what = STR("sparse");
}

// Constants of the first graph that the second stores as initializers.
static void compare_constants(DiffPair *p, DiffReport *r, const Graph *a)
{
    for (uint32_t i = 0; i < a->nodes.len; i++) {
        const Node *n = node_at(p->a.m, a->nodes.at[i]);
        ValueId v = n->nout ? n->out[0] : 0;
        if (v && !p->a.node[a->nodes.at[i]] && p->a.value[v] && node_is(n, "Constant"))
            compare_stored(p, r, v, p->a.value[v]);
    }
}

void diff_compare_initializers(DiffPair *p, DiffReport *r, GraphId ga, GraphId gb)
{
    const Graph *a = graph_at(p->a.m, ga), *b = graph_at(p->b.m, gb);
    for (uint32_t i = 0; i < a->initializers.len; i++) {
        const Initializer *x = &a->initializers.at[i];
        if (p->a.value[x->value] && value_at(p->a.m, x->value)->init == x->data)
            compare_stored(p, r, x->value, p->a.value[x->value]);
        else
            add_stored(r, &p->a, x->value, x->data, false);
    }
    for (uint32_t i = 0; i < b->initializers.len; i++) {
        const Initializer *y = &b->initializers.at[i];
        if (!p->b.value[y->value] || value_at(p->b.m, y->value)->init != y->data)
            add_stored(r, &p->b, y->value, y->data, true);
    }
    for (uint32_t i = 0; i < a->sparse.len; i++)
        if (p->a.value[a->sparse.at[i].value])
            compare_sparse(p, r, &a->sparse.at[i]);
        else
            add_stored(r, &p->a, a->sparse.at[i].value, NULL, false);
    for (uint32_t i = 0; i < b->sparse.len; i++)
        if (!p->b.value[b->sparse.at[i].value])
            add_stored(r, &p->b, b->sparse.at[i].value, NULL, true);
    compare_constants(p, r, a);
}

// ---- what is declared of other values -----------------------------------------------------------

static void add_declared(DiffReport *r, const DiffSide *s, ValueId v, const Type *t, bool second)
{
    Str path = location_value(s->m, r->arena, v);
    Difference *d = diff_add(r, DIFF_DECLARED, second ? DIFF_ADDED : DIFF_REMOVED,
                             second ? STR_NONE : path, second ? path : STR_NONE);
    if (d)
        d->what = diff_type_of(r->arena, t);
}

// The entries of a value_info by value, plus 1.
static uint32_t *infos_of(const Model *m, const Graph *g, Arena *scratch)
{
    uint32_t *at = NEWS(scratch, uint32_t, m->values.len);
    for (uint32_t i = 0; i < g->infos.len; i++)
        at[g->infos.at[i].value] = i + 1;
    return at;
}

static void compare_declared(DiffPair *p, DiffReport *r, const Graph *a, const Graph *b)
{
    Arena *scratch = arena_new();
    if (a->infos.len || b->infos.len) {
        uint32_t *ours = infos_of(p->a.m, a, scratch), *theirs = infos_of(p->b.m, b, scratch);
        for (uint32_t i = 0; i < a->infos.len; i++) {
            const ValueInfo *x = &a->infos.at[i];
            ValueId w = p->a.value[x->value];
            const ValueInfo *y = w && theirs[w] ? &b->infos.at[theirs[w] - 1] : NULL;
            Str t = diff_type_of(r->arena, x->type), u = y ? diff_type_of(r->arena, y->type) : t;
            if (!y)
                add_declared(r, &p->a, x->value, x->type, false);
            else if (!str_eq(t, u))
                diff_field(r,
                           diff_add(r, DIFF_DECLARED, DIFF_CHANGED,
                                    location_value(p->a.m, r->arena, x->value),
                                    location_value(p->b.m, r->arena, w)),
                           "type", t, u);
        }
        for (uint32_t i = 0; i < b->infos.len; i++) {
            ValueId v = p->b.value[b->infos.at[i].value];
            if (!v || !ours[v])
                add_declared(r, &p->b, b->infos.at[i].value, b->infos.at[i].type, true);
        }
    }
    arena_free(scratch);
}

static Str annotation_text(Arena *a, const Quantization *q)
{
    Buf b = {0};
    for (uint32_t i = 0; i < q->params.len; i++) {
        buf_printf(&b, "%s", i ? ", " : "");
        buf_escaped(&b, q->params.at[i].key);
        buf_printf(&b, " = ");
        buf_escaped(&b, q->params.at[i].value);
    }
    Str s = str_copy(a, (Str){b.at ? b.at : "", b.len});
    buf_free(&b);
    return s;
}

static void compare_annotations(DiffReport *r, const Graph *a, const Graph *b, Str where)
{
    Map names = {.arena = r->arena};
    for (uint32_t k = 0; k < b->quantization.len; k++)
        *map_put(&names, b->quantization.at[k].tensor, NULL) = k + 1;
    for (uint32_t i = 0; i < a->quantization.len + b->quantization.len; i++) {
        const bool second = i >= a->quantization.len;
        const Quantization *q =
            second ? &b->quantization.at[i - a->quantization.len] : &a->quantization.at[i];
        uint32_t *at = map_get(&names, q->tensor);
        if (second && !(at && *at == i - a->quantization.len + 1))
            continue;
        const Quantization *other = !second && at && *at ? &b->quantization.at[*at - 1] : NULL;
        Str ours = annotation_text(r->arena, q);
        Str theirs = other ? annotation_text(r->arena, other) : STR_NONE;
        if (at)
            *at = 0;
        if (other && str_eq(ours, theirs))
            continue;
        Str path = str_printf(r->arena, "%.*s/quantization(%.*s)", STR_ARG(where),
                              STR_ARG(str_escaped(r->arena, q->tensor)));
        Difference *d = diff_add(r, DIFF_DECLARED,
                                 other    ? DIFF_CHANGED
                                 : second ? DIFF_ADDED
                                          : DIFF_REMOVED,
                                 second ? STR_NONE : path, second || other ? path : STR_NONE);
        if (other)
            diff_field(r, d, "parameters", ours, theirs);
        else if (d)
            d->what = ours;
    }
}

// ---- graphs -------------------------------------------------------------------------------------

static void compare_graphs(DiffPair *p, DiffReport *r, GraphId ga)
{
    GraphId gb = p->a.graph[ga];
    const Graph *a = graph_at(p->a.m, ga), *b = graph_at(p->b.m, gb);
    Ends e = {.p = p,
              .r = r,
              .kind = DIFF_INPUT,
              .ma = p->a.m,
              .mb = p->b.m,
              .a = a->inputs.at,
              .b = b->inputs.at,
              .na = a->inputs.len,
              .nb = b->inputs.len,
              .where_a = location_graph(p->a.m, r->arena, ga),
              .where_b = location_graph(p->b.m, r->arena, gb),
              .outermost = ga == p->a.m->main};
    compare_all_ends(&e);
    e.kind = DIFF_OUTPUT;
    e.a = a->outputs.at, e.na = a->outputs.len;
    e.b = b->outputs.at, e.nb = b->outputs.len;
    compare_all_ends(&e);
    diff_compare_initializers(p, r, ga, gb);
    diff_compare_nodes(p, r, ga, gb);
    diff_compare_types(p, r, ga);
    compare_declared(p, r, a, b);
    if (a->quantization.len || b->quantization.len)
        compare_annotations(r, a, b, e.where_a);
    diff_compare_props(r, &a->metadata, &b->metadata, a->doc, b->doc, e.where_a, e.where_b);
    if (!str_eq(a->name, b->name)) {
        Difference *d = diff_add(r, DIFF_NAME, DIFF_CHANGED, e.where_a, e.where_b);
        if (d) {
            d->what = STR("graph");
            diff_field(r, d, "name", str_escaped(r->arena, a->name),
                       str_escaped(r->arena, b->name));
        }
    }
}

void diff_compare(DiffPair *p, DiffReport *r)
{
    diff_compare_header(p, r);
    for (GraphId g = 1; g < p->a.m->graphs.len; g++)
        if (p->a.graph[g])
            compare_graphs(p, r, g);
}
