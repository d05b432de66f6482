// Nodes that belong together, field by field; nodes that one model alone has; where nodes moved.

#include "tools/diff.h"

#include <stdlib.h>
#include <string.h>

// ---- attributes ---------------------------------------------------------------------------------

static bool same_sparse(DiffPair *p, const SparseData *a, const SparseData *b)
{
    return a && b && diff_same_tensor(p, a->values, b->values) &&
           diff_same_tensor(p, a->indices, b->indices);
}

static bool same_strings(const Str *a, const Str *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!str_eq(a[i], b[i]))
            return false;
    return true;
}

static bool same_type(DiffPair *p, const Type *a, const Type *b)
{
    return str_eq(diff_type_of(p->arena, a), diff_type_of(p->arena, b));
}

static bool same_bytes(const void *a, const void *b, size_t n)
{
    return n == 0 || memcmp(a, b, n) == 0;
}

// Do two attributes say the same? Graphs are compared where their nodes are.
static bool same_attr(DiffPair *p, const Attr *a, const Attr *b)
{
    bool same = a->type == b->type && str_eq(a->ref, b->ref) && str_eq(a->s, b->s) &&
                a->i == b->i && memcmp(&a->f, &b->f, sizeof a->f) == 0 && a->nints == b->nints &&
                a->nfloats == b->nfloats && a->nstrings == b->nstrings &&
                a->ntensors == b->ntensors && a->nsparses == b->nsparses &&
                a->ntypes == b->ntypes && a->ngraphs == b->ngraphs && !a->t == !b->t &&
                !a->g == !b->g && !a->sparse == !b->sparse && !a->tp == !b->tp &&
                str_eq(a->unknown, b->unknown);
    same = same && same_bytes(a->ints, b->ints, a->nints * sizeof *a->ints) &&
           same_bytes(a->floats, b->floats, a->nfloats * sizeof *a->floats) &&
           same_strings(a->strings, b->strings, a->nstrings) &&
           (!a->t || diff_same_tensor(p, a->t, b->t)) &&
           (!a->sparse || same_sparse(p, a->sparse, b->sparse)) &&
           (!a->tp || same_type(p, a->tp, b->tp));
    for (uint32_t i = 0; same && i < a->ntensors; i++)
        same = diff_same_tensor(p, a->tensors[i], b->tensors[i]);
    for (uint32_t i = 0; same && i < a->nsparses; i++)
        same = same_sparse(p, a->sparses[i], b->sparses[i]);
    for (uint32_t i = 0; same && i < a->ntypes; i++)
        same = same_type(p, a->types[i], b->types[i]);
    return same;
}

static const Attr *attr_named(const Node *n, Str name)
{
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (str_eq(n->attrs[i].name, name))
            return &n->attrs[i];
    return NULL;
}

// ---- one pair of nodes --------------------------------------------------------------------------

// What differs is put here first: most pairs differ in nothing.
typedef struct Compared {
    DiffPair *p;
    DiffReport *r;
    NodeId a, b;
    Difference d;
    DiffElements *elements;
} Compared;

static void put(Compared *c, Str name, Str a, Str b)
{
    vec_push(c->r->arena, &c->d.fields, ((DiffField){name, a, b}));
}

static void compare_operator(Compared *c, const Node *x, const Node *y)
{
    Arena *a = c->r->arena;
    if (!str_eq(x->op, y->op))
        put(c, STR("operator"), str_escaped(a, x->op), str_escaped(a, y->op));
    bool standard = is_standard_domain(x->domain) && is_standard_domain(y->domain);
    if (!standard && !str_eq(x->domain, y->domain))
        put(c, STR("domain"), str_escaped(a, x->domain), str_escaped(a, y->domain));
    if (!str_eq(x->overload, y->overload))
        put(c, STR("overload"), str_escaped(a, x->overload), str_escaped(a, y->overload));
}

static void compare_attrs(Compared *c, const Node *x, const Node *y)
{
    const Model *ma = c->p->a.m, *mb = c->p->b.m;
    Arena *arena = c->r->arena;
    for (uint32_t i = 0; i < x->nattrs; i++) {
        const Attr *a = &x->attrs[i], *b = attr_named(y, a->name);
        if (b ? same_attr(c->p, a, b) : diff_says_default(x, a))
            continue;
        if (b && a->t && b->t)
            diff_tensors(c->p, c->r->options, a->t, b->t, &c->elements);
        if (c->elements && !c->elements->differ && a->t->dtype == b->t->dtype)
            continue; // within the tolerance
        put(c, str_escaped(arena, a->name), diff_attr_text(ma, arena, a),
            b ? diff_attr_text(mb, arena, b) : STR_NONE);
    }
    for (uint32_t i = 0; i < y->nattrs; i++) {
        const Attr *b = &y->attrs[i];
        if (!attr_named(x, b->name) && !diff_says_default(y, b))
            put(c, str_escaped(arena, b->name), STR_NONE, diff_attr_text(mb, arena, b));
    }
}

// Is operand v of the one what operand w of the other is? What nothing defines goes by its name.
static bool same_value(const DiffPair *p, ValueId v, ValueId w)
{
    if (!v || !w)
        return v == w;
    if (p->a.value[v] == w)
        return true;
    const Value *x = value_at(p->a.m, v), *y = value_at(p->b.m, w);
    return x->def == DEF_NONE && y->def == DEF_NONE && str_eq(x->name, y->name);
}

// Values as operands and results name them: one that is the same under another name is told so.
static void compare_values(Compared *c, const char *kind, const ValueId *x, uint32_t nx,
                           const ValueId *y, uint32_t ny)
{
    Arena *a = c->r->arena;
    for (uint32_t i = 0; i < nx || i < ny; i++) {
        ValueId v = i < nx ? x[i] : 0, w = i < ny ? y[i] : 0;
        if (!same_value(c->p, v, w))
            put(c, str_printf(a, "%s%u", kind, i), v ? diff_value_text(c->p->a.m, a, v) : STR_NONE,
                w ? diff_value_text(c->p->b.m, a, w) : STR_NONE);
    }
}

static Str devices_text(Arena *a, const Node *n)
{
    Buf b = {0};
    for (uint32_t i = 0; i < n->ndevices; i++) {
        buf_printf(&b, "%s", i ? ", " : "");
        buf_escaped(&b, n->devices[i].configuration);
        if (n->devices[i].has_stage)
            buf_printf(&b, " stage %d", (int)n->devices[i].stage);
        for (uint32_t k = 0; k < n->devices[i].nspecs; k++) {
            const ShardingSpec *s = &n->devices[i].specs[k];
            buf_printf(&b, " ");
            buf_escaped(&b, s->tensor);
            for (uint32_t d = 0; d < s->ndevices; d++)
                buf_printf(&b, "%s%lld", d ? "," : ":", (long long)s->devices[d]);
            buf_printf(&b, " (%u dims sharded)", s->ndims);
        }
    }
    Str s = str_copy(a, (Str){b.at ? b.at : "", b.len});
    buf_free(&b);
    return s;
}

static void compare_pair(DiffPair *p, DiffReport *r, NodeId a, NodeId b)
{
    const Node *x = node_at(p->a.m, a), *y = node_at(p->b.m, b);
    Compared c = {.p = p, .r = r, .a = a, .b = b};
    compare_operator(&c, x, y);
    compare_attrs(&c, x, y);
    compare_values(&c, "in", x->in, x->nin, y->in, y->nin);
    compare_values(&c, "out", x->out, x->nout, y->out, y->nout);
    if (x->ndevices || y->ndevices) {
        Str u = devices_text(r->arena, x), v = devices_text(r->arena, y);
        if (!str_eq(u, v))
            put(&c, STR("device_configurations"), u, v);
    }
    if (c.d.fields.len) {
        Difference *d = diff_add(r, DIFF_NODE, DIFF_CHANGED, location_node(p->a.m, r->arena, a),
                                 location_node(p->b.m, r->arena, b));
        if (d) {
            d->what = str_escaped(r->arena, x->op);
            d->elements = c.elements;
            d->fields.at = c.d.fields.at;
            d->fields.len = c.d.fields.len;
            d->fields.cap = c.d.fields.cap;
        }
    }
    bool props = x->metadata.len || y->metadata.len || x->doc.len || y->doc.len;
    if (props)
        diff_compare_props(r, &x->metadata, &y->metadata, x->doc, y->doc,
                           location_node(p->a.m, r->arena, a), location_node(p->b.m, r->arena, b));
}

// ---- all nodes of two graphs --------------------------------------------------------------------

// Are all results of a Constant the other model's initializers?
static bool is_stored(const DiffSide *s, const Node *n)
{
    return node_is(n, "Constant") && n->nout && n->out[0] && s->value[n->out[0]];
}

static void add_alone(DiffReport *r, const DiffSide *s, NodeId id, bool second)
{
    const Node *n = node_at(s->m, id);
    if (s->node[id] || is_stored(s, n))
        return;
    Str path = location_node(s->m, r->arena, id);
    Difference *d = diff_add(r, DIFF_NODE, second ? DIFF_ADDED : DIFF_REMOVED,
                             second ? STR_NONE : path, second ? path : STR_NONE);
    if (d)
        d->what = diff_node_text(s->m, r->arena, n);
}

static void add_renamed(DiffPair *p, DiffReport *r, NodeId id)
{
    const Node *x = node_at(p->a.m, id), *y = node_at(p->b.m, p->a.node[id]);
    Difference *d = NULL;
    if (!str_eq(x->name, y->name))
        d = diff_add(r, DIFF_NAME, DIFF_CHANGED, location_node(p->a.m, r->arena, id),
                     location_node(p->b.m, r->arena, p->a.node[id]));
    if (d)
        d->what = STR("node");
    for (uint32_t i = 0; i < x->nout && i < y->nout; i++) {
        if (!x->out[i] || p->a.value[x->out[i]] != y->out[i] ||
            str_eq(value_at(p->a.m, x->out[i])->name, value_at(p->b.m, y->out[i])->name))
            continue;
        d = diff_add(r, DIFF_NAME, DIFF_CHANGED, location_result(p->a.m, r->arena, id, i),
                     location_result(p->b.m, r->arena, p->a.node[id], i));
        if (d)
            d->what = STR("value");
    }
}

// The nodes of a graph as the file has them.
static NodeId *written_order(const Model *m, GraphId g, Arena *scratch)
{
    const Graph *graph = graph_at(m, g);
    NodeId *order = NEWS(scratch, NodeId, graph->nodes.len + 1u);
    bool known = true; // each place taken once
    for (uint32_t i = 0; i < graph->nodes.len; i++) {
        uint32_t at = node_at(m, graph->nodes.at[i])->position;
        known = known && at < graph->nodes.len && !order[at];
        if (known)
            order[at] = graph->nodes.at[i];
    }
    for (uint32_t i = 0; !known && i < graph->nodes.len; i++)
        order[i] = graph->nodes.at[i];
    return order;
}

// The nodes that stand in another order: all but a longest sequence that does not.
static void add_moved(DiffPair *p, DiffReport *r, GraphId ga, GraphId gb)
{
    Arena *scratch = arena_new();
    const uint32_t count = graph_at(p->a.m, ga)->nodes.len;
    const NodeId *ours = written_order(p->a.m, ga, scratch);
    const NodeId *theirs = written_order(p->b.m, gb, scratch);
    uint32_t *tails = NEWS(scratch, uint32_t, count + 1u), n = 0, *place = p->b.place;
    uint32_t *before = NEWS(scratch, uint32_t, count + 1u);
    uint8_t *stays = NEWS(scratch, uint8_t, count + 1u);
    for (uint32_t i = 0; i < graph_at(p->b.m, gb)->nodes.len; i++)
        place[theirs[i]] = i;
    for (uint32_t i = 0; i < count; i++) {
        NodeId other = p->a.node[ours[i]];
        if (!other)
            continue;
        uint32_t lo = 0, hi = n;
        while (lo < hi) {
            uint32_t mid = (lo + hi) / 2;
            if (place[p->a.node[ours[tails[mid]]]] < place[other])
                lo = mid + 1;
            else
                hi = mid;
        }
        before[i] = lo ? tails[lo - 1] : UINT32_MAX;
        tails[lo] = i;
        n = lo == n ? n + 1 : n;
    }
    for (uint32_t i = n ? tails[n - 1] : UINT32_MAX; i != UINT32_MAX; i = before[i])
        stays[i] = 1;
    for (uint32_t i = 0; i < count; i++) {
        NodeId id = ours[i];
        Difference *d =
            p->a.node[id] && !stays[i]
                ? diff_add(r, DIFF_ORDER, DIFF_CHANGED, location_node(p->a.m, r->arena, id),
                           location_node(p->b.m, r->arena, p->a.node[id]))
                : NULL;
        if (d)
            d->what = STR("node");
    }
    arena_free(scratch);
}

void diff_compare_nodes(DiffPair *p, DiffReport *r, GraphId ga, GraphId gb)
{
    const Graph *a = graph_at(p->a.m, ga);
    const Graph *b = graph_at(p->b.m, gb);
    for (uint32_t i = 0; i < a->nodes.len; i++) {
        NodeId id = a->nodes.at[i];
        r->nodes++;
        r->matched += p->a.node[id] != 0;
        add_alone(r, &p->a, id, false);
        if (!p->a.node[id])
            continue;
        compare_pair(p, r, id, p->a.node[id]);
        add_renamed(p, r, id);
    }
    for (uint32_t i = 0; i < b->nodes.len; i++)
        add_alone(r, &p->b, b->nodes.at[i], true);
    add_moved(p, r, ga, gb);
}

// ---- types --------------------------------------------------------------------------------------

// Names of open dims are told at inputs and outputs, where they are declared.
static bool same_dim(Index x, Index y)
{
    int64_t u = 0, v = 0;
    const bool cx = poly_is_const(x, &u), cy = poly_is_const(y, &v);
    return cx == cy && u == v;
}

static bool same_inferred(const DiffPair *p, ValueId v, ValueId w)
{
    const Value *x = value_at(p->a.m, v), *y = value_at(p->b.m, w);
    if (x->kind != y->kind || x->dtype != y->dtype || x->rank != y->rank)
        return false;
    for (int32_t i = 0; i < x->rank; i++)
        if (!same_dim(x->dims[i], y->dims[i]))
            return false;
    return true;
}

// Does an operand of the node have another type, too?
static bool follows(const DiffPair *p, const Node *n)
{
    for (uint32_t i = 0; i < n->nin; i++) {
        ValueId w = n->in[i] ? p->a.value[n->in[i]] : 0;
        if (w && !same_inferred(p, n->in[i], w))
            return true;
    }
    return false;
}

void diff_compare_types(DiffPair *p, DiffReport *r, GraphId ga)
{
    const Graph *a = graph_at(p->a.m, ga);
    for (uint32_t i = 0; i < a->nodes.len; i++) {
        NodeId id = a->nodes.at[i];
        const Node *x = node_at(p->a.m, id);
        for (uint32_t k = 0; p->a.node[id] && k < x->nout; k++) {
            ValueId v = x->out[k], w = v ? p->a.value[v] : 0;
            if (!w || same_inferred(p, v, w))
                continue;
            Difference *d =
                diff_add(r, DIFF_TYPE, DIFF_CHANGED, location_value(p->a.m, r->arena, v),
                         location_value(p->b.m, r->arena, w));
            if (!d)
                continue;
            d->follows = follows(p, x);
            diff_field(r, d, "type", diff_type_of_value(p->a.m, r->arena, v),
                       diff_type_of_value(p->b.m, r->arena, w));
        }
    }
}
