// The walk of the interval analysis: nodes in order, branches joined, loops from all that their
// carried values may be.
//
// A value gets the interval that its operator's row computes from those of the operands, or, where
// more is known, that of its constant or of its symbolic content. A loop's body is looked at with
// carried values of which only the dtype is known, and then again with what came out of it: both
// are sound, so no fixpoint is needed. Inside further loops once is enough, which keeps the time
// linear.

#include "passes/config.h"
#include "passes/measured.h"
#include "passes/ranges_state.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { TWICE_DEEP = 2, MAX_ATOMS = 4096, MAX_NESTED = 32, MAX_GRAPHS_DEEP = 200 };

// ---- dtypes

int range_digits(DType t)
{
    return t == DT_F64 ? 53 : t == DT_F32 ? 24 : t == DT_F16 ? 11 : t == DT_BF16 ? 8 : 0;
}

void range_of_dtype(DType t, double *lo, double *hi)
{
    const DTypeInfo *info = dtype_info(t);
    *hi = t == DT_F64                            ? DBL_MAX
          : t == DT_F32                          ? FLT_MAX
          : t == DT_F16                          ? 65504
          : t == DT_BF16                         ? 0x1.fep127
          : t == DT_F8E4M3FN                     ? 448
          : t == DT_F8E4M3FNUZ                   ? 240
          : t == DT_F8E5M2 || t == DT_F8E5M2FNUZ ? 57344
          : t == DT_F4E2M1                       ? 6
          : t == DT_F6E2M3                       ? 7.5
          : t == DT_F6E3M2                       ? 28
          : t == DT_F8E8M0                       ? 0x1p127
          : t == DT_BOOL                         ? 1
          : info->kind == KIND_SIGNED            ? ldexp(1, info->bits - 1) - 1
          : info->kind == KIND_UNSIGNED          ? ldexp(1, info->bits) - 1
                                                 : 0;
    *lo = dtype_is_float(t)           ? (t == DT_F8E8M0 ? 0 : -*hi)
          : info->kind == KIND_SIGNED ? -ldexp(1, info->bits - 1)
                                      : 0;
}

bool range_of_numbers(DType t)
{
    return dtype_is_float(t) || dtype_is_integer(t) || t == DT_BOOL;
}

Range range_finite(DType t)
{
    Range x = {.known = range_of_numbers(t), .integer = !dtype_is_float(t)};
    range_of_dtype(t, &x.lo, &x.hi);
    x.lo_by = x.hi_by =
        dtype_info(t)->bits > 16 || dtype_is_float(t) ? RANGE_ASSUMED : RANGE_PROVED;
    if (x.lo == 0)
        x.lo_by = RANGE_PROVED;
    return x;
}

Range range_full(DType t)
{
    Range x = range_finite(t);
    if (dtype_is_float(t) && dtype_info(t)->bits >= 16) {
        x.lo = -INFINITY;
        x.hi = INFINITY;
    }
    x.nan = dtype_is_float(t) ? NAN_BY_OVERFLOW : NAN_NEVER;
    return x;
}

bool range_has_lo(const Range *x, DType t)
{
    double lo, hi;
    range_of_dtype(t, &lo, &hi);
    return x->known && x->lo > lo;
}

bool range_has_hi(const Range *x, DType t)
{
    double lo, hi;
    range_of_dtype(t, &lo, &hi);
    return x->known && x->hi < hi;
}

bool range_within(const Range *x, double min, double max)
{
    return x->known && x->nan == NAN_NEVER && x->lo >= min && x->hi <= max;
}

double range_magnitude(const Range *x, RangeBasis *by)
{
    bool empty = x->lo > x->hi;
    *by = empty ? RANGE_PROVED : (RangeBasis)(x->lo_by > x->hi_by ? x->lo_by : x->hi_by);
    return empty ? 0 : fmax(fabs(x->lo), fabs(x->hi));
}

const char *range_basis(uint8_t by)
{
    return by == RANGE_PROVED ? "proved" : by == RANGE_MEASURED ? "measured" : "assumed";
}

// ---- symbolic integers

typedef struct Bounded {
    double lo, hi;
    RangeBasis by;
} Bounded;

static Bounded poly_range(Ranges *r, Index p, uint32_t depth, uint32_t *left);

static Bounded unbounded(void)
{
    return (Bounded){-INFINITY, INFINITY, RANGE_ASSUMED};
}

static RangeBasis worse(RangeBasis a, RangeBasis b)
{
    return a > b ? a : b;
}

static Bounded pair_range(AtomKind kind, Bounded a, Bounded b)
{
    RangeBasis by = worse(a.by, b.by);
    if (kind == ATOM_MIN)
        return (Bounded){fmin(a.lo, b.lo), fmin(a.hi, b.hi), by};
    if (kind == ATOM_MAX)
        return (Bounded){fmax(a.lo, b.lo), fmax(a.hi, b.hi), by};
    if (b.lo < 1)
        return unbounded();
    if (kind == ATOM_MOD)
        return (Bounded){0, b.hi - 1, b.by};
    double lo = a.lo < 0 ? floor(a.lo / b.lo) : floor(a.lo / b.hi);
    double hi = a.hi < 0 ? floor(a.hi / b.hi) : floor(a.hi / b.lo);
    return (Bounded){isnan(lo) ? -INFINITY : lo, isnan(hi) ? INFINITY : hi, by};
}

static Bounded atom_range(Ranges *r, const Atom *a, uint32_t depth, uint32_t *left)
{
    if (depth > MAX_NESTED || *left == 0 || a->kind == ATOM_EXPR)
        return unbounded();
    --*left;
    if (a->kind == ATOM_DIM)
        return (Bounded){(double)dim_least(r->m->polys, a->var), RANGE_MAX_DIM, RANGE_ASSUMED};
    Bounded x = poly_range(r, a->a, depth + 1, left);
    if (a->kind == ATOM_LOOP)
        return (Bounded){0, x.hi - 1, x.by};
    return pair_range(a->kind, x, poly_range(r, a->b, depth + 1, left));
}

static Bounded poly_range(Ranges *r, Index p, uint32_t depth, uint32_t *left)
{
    Bounded sum = {0, 0, RANGE_PROVED};
    if (!p || poly_is_overflow(p))
        return unbounded();
    for (uint32_t i = 0; i < p->nterms; i++) {
        const Term *t = &p->terms[i];
        Bounded x = {(double)t->coeff, (double)t->coeff, RANGE_PROVED};
        for (uint32_t k = 0; k < t->natoms; k++) {
            Bounded a = atom_range(r, t->atoms[k], depth, left);
            double c[4] = {range_product(x.lo, a.lo), range_product(x.lo, a.hi),
                           range_product(x.hi, a.lo), range_product(x.hi, a.hi)};
            x.lo = fmin(fmin(c[0], c[1]), fmin(c[2], c[3]));
            x.hi = fmax(fmax(c[0], c[1]), fmax(c[2], c[3]));
            x.by = worse(x.by, a.by);
        }
        sum.lo += x.lo;
        sum.hi += x.hi;
        sum.by = worse(sum.by, x.by);
    }
    return isnan(sum.lo) || isnan(sum.hi) ? unbounded() : sum;
}

double range_of_dim(Ranges *r, Index dim, RangeBasis *by)
{
    uint32_t left = MAX_ATOMS;
    Bounded b = poly_range(r, dim, 0, &left);
    *by = b.by;
    return b.hi;
}

static const Measured *measured(const Ranges *r, ValueId v)
{
    return r->without_data ? NULL : measured_of(r->m, v);
}

double range_of_axis(Ranges *r, ValueId v, int32_t axis, RangeBasis *by)
{
    double n = range_of_dim(r, value_at(r->m, v)->dims[axis], by);
    const Measured *x = *by == RANGE_ASSUMED ? measured(r, v) : NULL;
    if (!x || axis >= x->rank)
        return n;
    *by = RANGE_MEASURED;
    return x->dims[axis];
}

// ---- operands and results

const Value *walk_value(RangeWalk *w, uint32_t i)
{
    return i < w->n->nin && w->n->in[i] ? value_at(w->m, w->n->in[i]) : NULL;
}

Range walk_in(RangeWalk *w, uint32_t i)
{
    return walk_value(w, i) ? *range_at(w->r, w->n->in[i]) : range_none();
}

DType walk_dtype(RangeWalk *w, uint32_t i)
{
    const Value *v = walk_value(w, i);
    return v ? v->dtype : DT_NONE;
}

DType walk_result(RangeWalk *w, uint32_t o)
{
    return o < w->n->nout && w->n->out[o] ? value_at(w->m, w->n->out[o])->dtype : DT_NONE;
}

Elements walk_constant(RangeWalk *w, uint32_t i)
{
    const Value *v = walk_value(w, i);
    bool own = v && v->constant && v->constant->dtype == (int32_t)v->dtype;
    return own ? elements_of(w->m, w->n->in[i]) : (Elements){0};
}

double walk_scalar(RangeWalk *w, uint32_t i, double otherwise)
{
    const ConstantStats *s = range_stats(w->r, i < w->n->nin ? w->n->in[i] : 0);
    return s->read && s->count == 1 && !s->nans ? s->lo : otherwise;
}

double walk_count(RangeWalk *w, uint32_t i, int64_t axis, RangeBasis *by)
{
    const Value *v = walk_value(w, i);
    double n = 1;
    *by = RANGE_PROVED;
    if (!v || v->rank < 0)
        return INFINITY;
    for (int32_t k = 0; k < v->rank; k++) {
        RangeBasis of_dim;
        if (axis != INT32_MIN && k != axis && k - v->rank != axis)
            continue;
        n *= range_of_axis(w->r, w->n->in[i], k, &of_dim);
        *by = worse(*by, of_dim);
    }
    return isnan(n) ? INFINITY : n;
}

bool walk_afford(RangeWalk *w, uint64_t work)
{
    if (work > w->r->most - w->r->work)
        return false;
    w->r->work += work;
    return true;
}

// ---- what is known of a value beside its operator

static Range of_constant(const ConstantStats *s)
{
    Range x = {.known = true, .lo = s->lo, .hi = s->hi, .integer = s->integer, .bits = s->bits};
    x.nan = s->nans ? NAN_MADE : NAN_NEVER;
    return x;
}

static bool of_content(Ranges *r, const Value *v, Range *x)
{
    double lo, hi;
    uint32_t left = MAX_ATOMS;
    if (!v->content || !v->ncontent || !range_of_numbers(v->dtype) || v->ncontent > MAX_ATOMS)
        return false;
    *x = range_between(INFINITY, -INFINITY);
    x->integer = true;
    range_of_dtype(v->dtype, &lo, &hi);
    for (uint32_t i = 0; i < v->ncontent; i++) {
        Bounded b = poly_range(r, v->content[i], 0, &left);
        x->lo = fmin(x->lo, b.lo);
        x->hi = fmax(x->hi, b.hi);
        x->lo_by = x->hi_by = (uint8_t)worse((RangeBasis)x->lo_by, b.by);
    }
    return x->lo >= lo && x->hi <= hi;
}

// What data showed, where it is less than what may be.
static void take_measured(Ranges *r, ValueId v)
{
    const Measured *x = v && v < r->n ? measured(r, v) : NULL;
    Range *to = x ? &r->at[v] : NULL;
    if (!x || !to->known)
        return;
    bool any = x->least <= x->greatest || x->above > 0 || x->below > 0;
    double lo = x->below > 0 ? -INFINITY : x->least <= x->greatest ? x->least : INFINITY;
    double hi = x->above > 0 ? INFINITY : x->least <= x->greatest ? x->greatest : -INFINITY;
    if (any && lo >= to->lo && lo <= to->hi &&
        (lo > to->lo || isinf(lo) || to->lo_by == RANGE_ASSUMED)) {
        to->lo = lo;
        to->lo_by = RANGE_MEASURED;
    }
    if (any && hi <= to->hi && hi >= to->lo &&
        (hi < to->hi || isinf(hi) || to->hi_by == RANGE_ASSUMED)) {
        to->hi = hi;
        to->hi_by = RANGE_MEASURED;
    }
    to->nan = x->nans > 0 ? NAN_MADE : NAN_NEVER;
}

static bool is_large_constant(Ranges *r, ValueId v)
{
    enum { LARGE = 1 << 16 }; // elements
    const Value *value = value_at(r->m, v);
    return value->kind == TYPE_TENSOR && value->constant && value->def != DEF_INPUT &&
           !range_stats_known(r, v) && tensor_count(value->constant) >= LARGE;
}

static void refine_now(Ranges *r, ValueId v)
{
    const Value *value = value_at(r->m, v);
    const ConstantStats *s = range_stats(r, v);
    Range x;
    if (s->read && s->count)
        r->at[v] = of_constant(s);
    else if (value->kind == TYPE_TENSOR && of_content(r, value, &x))
        r->at[v] = x;
    take_measured(r, v);
}

static void refine(Ranges *r, ValueId v)
{
    if (r->later[v] == RANGE_NOW && is_large_constant(r, v)) {
        r->later[v] = RANGE_LATER;
        r->most += range_more_work(tensor_count(value_at(r->m, v)->constant));
    }
    if (r->later[v] != RANGE_LATER)
        refine_now(r, v);
}

// ---- control flow

static void walk_graph(Ranges *r, GraphId g, uint32_t depth, uint32_t nested);

static Range input_range(Ranges *r, ValueId v)
{
    const Value *value = value_at(r->m, v);
    return range_finite(value->dtype);
}

// What cameo.yaml says of the model's inputs: assumed, too.
static void take_given(Ranges *r)
{
    const Config *c = r->m->config;
    Map names = {.arena = r->a};
    for (uint32_t i = 0; c && i < c->ranges.len; i++)
        *map_put(&names, c->ranges.at[i].input, NULL) = i;
    const Graph *g = graph_at(r->m, r->m->main);
    for (uint32_t i = 0; names.len && i < g->inputs.len; i++) {
        ValueId v = g->inputs.at[i].value;
        const uint32_t *at = v && v < r->n ? map_get(&names, value_at(r->m, v)->name) : NULL;
        Range *x = at ? &r->at[v] : NULL;
        if (!x || !x->known || value_at(r->m, v)->def != DEF_INPUT)
            continue;
        x->lo = fmax(x->lo, c->ranges.at[*at].lo);
        x->hi = fmin(x->hi, c->ranges.at[*at].hi);
        x->lo_by = x->hi_by = RANGE_ASSUMED;
    }
}

static Range of_item(Range x) // one item of what a Scan runs over: its axis is gone
{
    x.channels = NULL;
    return x;
}

static GraphId body_of(const Node *n)
{
    return node_graph(n, "body");
}

// The trip count's bound: iteration numbers are below it.
static Range iterations(RangeWalk *w)
{
    double most = walk_scalar(w, 0, INFINITY);
    Range x = range_finite(DT_I64);
    x.lo = 0;
    x.lo_by = RANGE_PROVED;
    if (most < x.hi) {
        x.hi = most > 0 ? most - 1 : 0;
        x.hi_by = RANGE_PROVED;
    }
    return x;
}

// How the values of a body's inputs begin: of carried ones `given[i]`, else all of the dtype.
static void set_inputs(RangeWalk *w, GraphId g, const Range *carried, uint32_t first,
                       uint32_t ncarried)
{
    const Graph *body = graph_at(w->m, g);
    for (uint32_t i = 0; i < body->inputs.len; i++) {
        ValueId v = body->inputs.at[i].value;
        uint32_t k = i - first;
        bool is_carried = i >= first && k < ncarried;
        if (v && v < w->r->n)
            w->r->at[v] = is_carried && carried ? carried[k] : range_full(value_at(w->m, v)->dtype);
    }
}

// What two graphs give may differ in its dims: channels are kept where both have the same.
static Range of_either(RangeWalk *w, Range a, Range b)
{
    bool both = a.channels && b.channels;
    return both ? range_joined(w, a, b) : range_join(range_plain(a), range_plain(b));
}

static Range body_result(RangeWalk *w, const Graph *body, uint32_t o)
{
    ValueId v = o < body->outputs.len ? body->outputs.at[o].value : 0;
    return v && v < w->r->n ? *range_at(w->r, v) : range_none();
}

// Loop and Scan: `first`: where carried values stand among the body's inputs; `skip`: the body's
// results before those of carried values; `operand`: where they stand among the node's.
static void walk_loop(RangeWalk *w, uint32_t nested, uint32_t first, uint32_t skip,
                      uint32_t operand, uint32_t ncarried, uint32_t scanned)
{
    GraphId g = body_of(w->n);
    Range *carried = NEWS(w->r->a, Range, ncarried + 1);
    uint32_t rounds = w->depth < TWICE_DEEP ? 2 : 1;
    for (uint32_t round = 0; round < rounds; round++) {
        const Graph *body = graph_at(w->m, g);
        set_inputs(w, g, round ? carried : NULL, first, ncarried);
        if (skip && body->inputs.len && body->inputs.at[0].value)
            w->r->at[body->inputs.at[0].value] = iterations(w);
        for (uint32_t i = 0; i < scanned && first + ncarried + i < body->inputs.len; i++)
            if (body->inputs.at[first + ncarried + i].value)
                w->r->at[body->inputs.at[first + ncarried + i].value] =
                    of_item(walk_in(w, operand + ncarried + i));
        walk_graph(w->r, g, w->depth + 1, nested + 1);
        for (uint32_t k = 0; k < ncarried; k++)
            carried[k] = of_either(w, walk_in(w, operand + k), body_result(w, body, skip + k));
    }
    for (uint32_t o = 0; o < w->n->nout; o++) {
        Range x = body_result(w, graph_at(w->m, g), skip + o);
        walk_give(w, o, o < ncarried ? carried[o] : range_plain(x), ROUND_NOT);
    }
}

static void walk_if(RangeWalk *w, uint32_t nested)
{
    GraphId yes = node_graph(w->n, "then_branch"), no = node_graph(w->n, "else_branch");
    if (!yes || !no)
        return;
    walk_graph(w->r, yes, w->depth, nested + 1);
    walk_graph(w->r, no, w->depth, nested + 1);
    for (uint32_t o = 0; o < w->n->nout; o++)
        walk_give(w, o,
                  of_either(w, body_result(w, graph_at(w->m, yes), o),
                            body_result(w, graph_at(w->m, no), o)),
                  ROUND_NOT);
}

// Graphs that an operator holds of which nothing is known: with inputs of which nothing is.
static void walk_others(RangeWalk *w, uint32_t nested)
{
    for (uint32_t i = 0; i < w->n->nattrs; i++) {
        const Attr *a = &w->n->attrs[i];
        for (uint32_t k = 0; k <= a->ngraphs; k++) {
            GraphId g = k < a->ngraphs ? a->graphs[k] : a->g;
            if (g) {
                set_inputs(w, g, NULL, 0, 0);
                walk_graph(w->r, g, w->depth + 1, nested + 1);
            }
        }
    }
}

static bool walk_control(RangeWalk *w, uint32_t nested)
{
    if (node_is(w->n, "If") && w->n->nout) {
        walk_if(w, nested);
    } else if (node_is(w->n, "Loop") && body_of(w->n)) {
        walk_loop(w, nested, 2, 1, 2, w->n->nin > 2 ? w->n->nin - 2 : 0, 0);
    } else if (node_is(w->n, "Scan") && body_of(w->n) && w->n->def && w->n->def->since >= 9) {
        int64_t scanned = node_int(w->n, "num_scan_inputs", 0);
        scanned = scanned < 0 || scanned > w->n->nin ? w->n->nin : scanned;
        walk_loop(w, nested, 0, 0, 0, w->n->nin - (uint32_t)scanned, (uint32_t)scanned);
    } else {
        walk_others(w, nested);
        return false;
    }
    return true;
}

// ---- nodes

// Does it only convert what is computed later?
static bool converts_later(RangeWalk *w)
{
    const bool converts =
        range_dequantizes(w->n) || node_is(w->n, "Cast") || node_is(w->n, "Transpose");
    return converts && w->row && w->n->nout == 1 && w->n->out[0] && walk_waits(w, 0);
}

static void walk_node(Ranges *r, NodeId id, uint32_t depth, uint32_t nested)
{
    RangeWalk w = {.r = r, .m = r->m, .id = id, .n = node_at(r->m, id), .depth = depth};
    w.row = r->rows[id];
    if (converts_later(&w)) {
        r->later[w.n->out[0]] = RANGE_LATER;
        return;
    }
    for (uint32_t o = 0; o < w.n->nout; o++)
        if (w.n->out[o])
            r->at[w.n->out[o]] = range_full(walk_result(&w, o));
    if (!walk_control(&w, nested) && w.row)
        w.row->rule(&w);
    for (uint32_t o = 0; o < w.n->nout; o++)
        if (w.n->out[o])
            refine(r, w.n->out[o]);
}

Range *range_at(Ranges *r, ValueId v)
{
    const Value *value = value_at(r->m, v);
    if (r->later[v] == RANGE_LATER) {
        r->later[v] = RANGE_WAS_LATER;
        if (value->constant) {
            refine_now(r, v);
        } else {
            (void)range_at(r, node_at(r->m, value->node)->in[0]);
            walk_node(r, value->node, TWICE_DEEP, 0);
        }
    }
    return &r->at[v];
}

bool walk_waits(RangeWalk *w, uint32_t i)
{
    return walk_value(w, i) && w->r->later[w->n->in[i]] == RANGE_LATER;
}

static void walk_graph(Ranges *r, GraphId g, uint32_t depth, uint32_t nested)
{
    if (nested > MAX_GRAPHS_DEEP)
        return;
    for (uint32_t i = 0; i < graph_at(r->m, g)->inputs.len; i++)
        take_measured(r, graph_at(r->m, g)->inputs.at[i].value);
    for (uint32_t i = 0; i < graph_at(r->m, g)->nodes.len; i++) {
        NodeId id = graph_at(r->m, g)->nodes.at[i];
        if (!node_at(r->m, id)->dead)
            walk_node(r, id, depth, nested);
    }
}

static void bind_rows(Ranges *r)
{
    static const RangeRow *const families[] = {
        ranges_elementwise, ranges_movement,  ranges_layout,    ranges_sums,   ranges_norms,
        ranges_reductions,  ranges_numbers,   ranges_quantized, ranges_einsum, ranges_sampled,
        ranges_microsoft,   ranges_attention, ranges_ml};
    Map rows = {.arena = r->a};
    VEC(const RangeRow *) all = {0};
    vec_push(r->a, &all, NULL);
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const RangeRow *row = families[f]; row->name; row++) {
            *map_put(&rows, str_of(row->name), NULL) = all.len;
            vec_push(r->a, &all, row);
        }
    r->rows = NEWS(r->a, const RangeRow *, r->m->nodes.len);
    for (NodeId n = 1; n < r->m->nodes.len; n++) {
        // A row of another domain is named with it.
        const Node *node = node_at(r->m, n);
        Str name = is_standard_domain(node->domain)
                       ? node->op
                       : str_printf(r->a, "%.*s::%.*s", STR_ARG(node->domain), STR_ARG(node->op));
        const uint32_t *at = map_get(&rows, name);
        r->rows[n] = at ? all.at[*at] : NULL;
    }
}

static void analyse(Ranges *r)
{
    r->analysed = true;
    bind_rows(r);
    for (ValueId v = 1; v < r->n; v++) {
        const Value *value = value_at(r->m, v);
        r->at[v] = value->def == DEF_INPUT ? input_range(r, v) : range_full(value->dtype);
        if (value->def != DEF_NODE)
            refine(r, v);
    }
    r->most += 64ull * 1024 * 1024 + 16ull * r->n;
    take_given(r);
    walk_graph(r, r->m->main, 0, 0);
    for (uint32_t f = 0; r->m->given && f < r->m->functions.len; f++)
        if (r->m->called[f])
            walk_graph(r, r->m->functions.at[f].body, 0, 0);
}

Ranges *ranges_of(Model *m, Arena *a)
{
    Ranges *r = NEW(a, Ranges);
    r->m = m;
    r->a = a;
    r->n = m->values.len;
    r->at = NEWS(a, Range, r->n + 1);
    r->later = NEWS(a, uint8_t, r->n + 1);
    r->stats = NEWS(a, const ConstantStats *, r->n + 1);
    return r;
}

Ranges *ranges_without_data(Model *m, Arena *a)
{
    Ranges *r = ranges_of(m, a);
    r->without_data = true;
    return r;
}

Ranges *ranges_of_whole(Model *m, Arena *a)
{
    Ranges *r = ranges_of(m, a);
    r->whole = true;
    return r;
}

Range range_of(Ranges *r, ValueId v)
{
    if (!r->analysed)
        analyse(r);
    return v && v < r->n && value_at(r->m, v)->kind == TYPE_TENSOR ? *range_at(r, v) : range_none();
}
