// Finds dtypes that do not fit: operands of one type variable, branches, carried values, zero
// points; and of several with one origin the one to tell.

#include "passes/lint/faults.h"

#include <string.h>

enum { MAX_WAY = 64 }; // nodes looked at on the way from an origin

typedef struct Finder {
    Lint *l;
    Faults *f;
    bool *misled; // by node: operands differ, and the result has the dtype that is wrong
} Finder;

ValueId lint_written_value(const Model *m, ValueId v)
{
    return value_at(m, v)->copy_of ? value_at(m, v)->copy_of : v;
}

static void add(Finder *x, Fault f)
{
    Origin o = origin_find(lint_origins(x->l), f.value);
    uint32_t *told = &x->f->told[lint_written_value(x->l->m, o.value)];
    if (!*told) {
        vec_push(x->l->arena, &x->f->all, f);
        *told = x->f->all.len;
        return;
    }
    Fault *known = &x->f->all.at[*told - 1];
    f.also = known->also + 1;
    if (f.kind < known->kind)
        *known = f;
    else
        known->also++;
}

// ---- operands -----------------------------------------------------------------------------------

static bool allows(const Node *n, uint32_t i, DType t)
{
    const SchemaParam *p = param_of_operand(n, i);
    return !p || !p->types || t == DT_NONE || (p->types >> t & 1);
}

// Quantized operands and their zero points, of one type variable each.
static const struct Quantized {
    const char *op;
    uint8_t operand, zero_point;
} quantized[] = {
    {"DequantizeLinear", 0, 2}, {"QLinearConv", 0, 2},   {"QLinearConv", 3, 5},
    {"QLinearMatMul", 0, 2},    {"QLinearMatMul", 3, 5}, {"ConvInteger", 0, 2},
    {"ConvInteger", 1, 3},      {"MatMulInteger", 0, 2}, {"MatMulInteger", 1, 3},
};

static bool is_zero_point(const Node *n, uint32_t operand, uint32_t zero_point)
{
    for (size_t i = 0; i < sizeof quantized / sizeof *quantized; i++)
        if (quantized[i].operand == operand && quantized[i].zero_point == zero_point &&
            node_is(n, quantized[i].op))
            return true;
    return false;
}

// What is quantized gives way where its declaration says so, or where a node made it and declares
// nothing; else the zero point, which is smaller.
static bool is_data_at_fault(const Model *m, ValueId data)
{
    const Value *v = value_at(m, data);
    bool declared = v->declared && v->declared->kind == TYPE_TENSOR && v->declared->elem;
    return v->def == DEF_NODE && (!declared || v->declared->elem != (int32_t)v->dtype);
}

static bool is_retypable(const Model *m, ValueId source)
{
    const char *kind = origin_kind(m, source);
    return origin_payload(m, source) || strcmp(kind, "cast") == 0 || strcmp(kind, "input") == 0;
}

// The sources of a node's operands that have dtype t where operand i is tied: how many, and the
// first to name.
static ValueId sources_of_side(Finder *x, const Node *n, uint32_t i, DType t, uint32_t *count)
{
    const Model *m = x->l->m;
    ValueId first = 0, seen[8];
    uint32_t nseen = 0;
    *count = 0;
    for (uint32_t k = 0; k < n->nin && nseen < 8; k++) {
        if (!params_are_tied(param_of_operand(n, i), param_of_operand(n, k)) ||
            lint_dtype(m, n->in[k]) != t)
            continue;
        Origin o = origin_find(lint_origins(x->l), n->in[k]);
        bool known = false;
        for (uint32_t s = 0; s < nseen; s++)
            known |= seen[s] == o.value;
        if (known)
            continue;
        seen[nseen++] = o.value;
        *count += o.count;
        first = !first || origin_is_before(m, o.value, first) ? o.value : first;
    }
    return first;
}

// Is a side's only source to blame, so that the model would fit if that had the other dtype?
static bool is_mended_by(Finder *x, ValueId side, DType want)
{
    Origin o = origin_find(lint_origins(x->l), side);
    return o.count == 1 && is_retypable(x->l->m, o.value) &&
           origin_mends(lint_origins(x->l), lint_uses(x->l), o.value, want);
}

// One source that mends all gives way before several. Of two dtypes of which neither is the model's
// own nor float64 that one gives way which has fewer sources, or the smaller.
static void weigh_sides(Finder *x, const Node *n, Conflict *c)
{
    const Model *m = x->l->m;
    ValueId low = n->in[c->culprit], high = n->in[c->other];
    DType a = lint_dtype(m, low), b = lint_dtype(m, high);
    uint32_t na, nb;
    if (!is_mended_by(x, low, b) && is_mended_by(x, high, a)) {
        *c = (Conflict){c->node, c->other, c->culprit};
        return;
    }
    if (a == m->dominant || b == m->dominant || a == DT_F64 || b == DT_F64)
        return;
    for (uint32_t o = 0; o < n->nout; o++)
        if (params_are_tied(param_of_operand(n, c->culprit), param_of_result(n, o)))
            return;
    ValueId s = sources_of_side(x, n, c->culprit, a, &na),
            t = sources_of_side(x, n, c->culprit, b, &nb);
    if (s && t && (na != nb ? nb < na : origin_is_before(m, t, s)))
        *c = (Conflict){c->node, c->other, c->culprit};
}

static bool has_conflict(const Model *m, NodeId n)
{
    uint32_t from = 0;
    Conflict c;
    return lint_conflict(m, n, &from, &c);
}

static bool has_unsupported(const Model *m, NodeId id)
{
    const Node *n = node_at(m, id);
    for (uint32_t i = 0; i < n->nin; i++)
        if (n->in[i] && !allows(n, i, lint_dtype(m, n->in[i])))
            return true;
    return false;
}

// Does a node of this kind lie on the way from the origin?
static bool passes_by(const Model *m, const Origin *o, bool (*is)(const Model *m, NodeId n))
{
    for (uint32_t i = 0; i < o->path.len && i < MAX_WAY; i++)
        if (is(m, o->path.at[i].node))
            return true;
    return false;
}

// Does a result have the dtype of the side that has to give way?
static bool takes_culprit(const Model *m, const Node *n, const Conflict *c)
{
    for (uint32_t o = 0; o < n->nout; o++)
        if (n->out[o] && params_are_tied(param_of_operand(n, c->culprit), param_of_result(n, o)))
            return lint_dtype(m, n->out[o]) == lint_dtype(m, n->in[c->culprit]);
    return false;
}

// What does not fit a value that a conflict gave the wrong side's dtype fits once that is mended.
static bool is_behind_conflict(Finder *x, ValueId v)
{
    Origin o = origin_find(lint_origins(x->l), v);
    origin_trace(lint_origins(x->l), v, &o);
    for (uint32_t i = 0; i < o.path.len && i < MAX_WAY; i++)
        if (x->misled[o.path.at[i].node])
            return true;
    return false;
}

static void find_conflict(Finder *x, NodeId id, Conflict c)
{
    const Model *m = x->l->m;
    const Node *n = node_at(m, id);
    weigh_sides(x, n, &c);
    ValueId key = lint_written_value(m, origin_find(lint_origins(x->l), n->in[c.culprit]).value);
    if (!x->f->told[key] && is_behind_conflict(x, n->in[c.other]))
        return;
    x->misled[id] = takes_culprit(m, n, &c);
    uint32_t low = c.culprit < c.other ? c.culprit : c.other, high = c.culprit + c.other - low;
    FaultKind kind = FAULT_OPERAND;
    if (is_zero_point(n, low, high)) {
        kind = FAULT_ZERO_POINT;
        bool data = is_data_at_fault(m, n->in[low]);
        c.culprit = data ? low : high;
        c.other = data ? high : low;
    } else if (!allows(n, c.culprit, lint_dtype(m, n->in[c.culprit]))) {
        kind = FAULT_UNSUPPORTED;
    } else if (!allows(n, c.other, lint_dtype(m, n->in[c.other]))) {
        kind = FAULT_UNSUPPORTED;
        uint32_t other = c.other;
        c.other = c.culprit;
        c.culprit = other;
    } else if (value_at(m, n->in[c.culprit])->graph != n->graph) {
        kind = FAULT_CAPTURED;
    }
    ValueId v = n->in[c.culprit];
    add(x, (Fault){kind, id, c.culprit, c.other, v, lint_dtype(m, v), lint_dtype(m, n->in[c.other]),
                   false, 0});
}

static void find_operands(Finder *x, NodeId id)
{
    const Model *m = x->l->m;
    const Node *n = node_at(m, id);
    uint32_t from = 0;
    Conflict c;
    if (lint_conflict(m, id, &from, &c)) {
        find_conflict(x, id, c);
        return;
    }
    for (uint32_t i = 0; i < n->nin; i++) {
        ValueId v = n->in[i];
        DType t = lint_dtype(m, v);
        if (!allows(n, i, t))
            add(x, (Fault){FAULT_UNSUPPORTED, id, i, i, v, t, DT_NONE, false, 0});
    }
}

// QuantizeLinear's attribute against its zero point: the attribute says what is wanted.
static void find_output_dtype(Finder *x, NodeId id)
{
    const Node *n = node_at(x->l->m, id);
    DType want =
        node_has_attr(n, "output_dtype") ? node_dtype(n, "output_dtype", DT_NONE) : DT_NONE;
    DType have = n->nin > 2 ? lint_dtype(x->l->m, n->in[2]) : DT_NONE;
    if (want != DT_NONE && have != DT_NONE && want != have)
        add(x, (Fault){FAULT_ZERO_POINT, id, 2, 0, n->in[2], have, want, false, 0});
}

// ---- control flow -------------------------------------------------------------------------------

static DType declared_dtype(const Model *m, ValueId v)
{
    const Type *t = v ? value_at(m, v)->declared : NULL;
    bool known = t && t->kind == TYPE_TENSOR && t->elem > 0 && t->elem < DT_COUNT;
    return known ? (DType)t->elem : DT_NONE;
}

// Of two dtypes that should be one, does the first give way? To what is declared, to the model's
// own; float64 does.
static bool gives_way(const Model *m, DType a, DType b, DType declared)
{
    if (declared == a || declared == b)
        return declared == b;
    return b == m->dominant || (a != m->dominant && a == DT_F64);
}

static ValueId output_of(const Model *m, GraphId g, uint32_t o)
{
    return g && o < graph_at(m, g)->outputs.len ? graph_at(m, g)->outputs.at[o].value : 0;
}

static void find_branches(Finder *x, NodeId id)
{
    const Model *m = x->l->m;
    const Node *n = node_at(m, id);
    GraphId yes = node_graph(n, "then_branch"), no = node_graph(n, "else_branch");
    for (uint32_t o = 0; o < n->nout; o++) {
        ValueId a = output_of(m, yes, o), b = output_of(m, no, o);
        DType s = lint_dtype(m, a), t = lint_dtype(m, b);
        if (s == DT_NONE || t == DT_NONE || s == t)
            continue;
        bool first = gives_way(m, s, t, declared_dtype(m, n->out[o]));
        add(x, (Fault){FAULT_BRANCH, id, o, first, first ? a : b, first ? s : t, first ? t : s,
                       false, 0});
    }
}

// A carried value: what it begins as, what the body declares it as, what the body makes of it.
static void find_carried(Finder *x, NodeId id, uint32_t operand, ValueId inner, ValueId made)
{
    const Model *m = x->l->m;
    const Node *n = node_at(m, id);
    ValueId first = operand < n->nin ? n->in[operand] : 0;
    DType a = lint_dtype(m, first), b = lint_dtype(m, made), said = declared_dtype(m, inner);
    if (a != DT_NONE && b != DT_NONE && a != b) {
        bool way = gives_way(m, a, b, said);
        add(x, (Fault){FAULT_CARRIED, id, operand, way, way ? first : made, way ? a : b,
                       way ? b : a, false, 0});
    } else if (a != DT_NONE && said != DT_NONE && a != said) {
        // A declaration at which nothing else takes offence.
        bool either = a == m->dominant || (said != m->dominant && a != DT_F64);
        bool lies = either || !is_mended_by(x, first, said);
        add(x, (Fault){FAULT_CARRIED, id, operand, lies ? 3 : 2, lies ? inner : first, a, said,
                       false, 0});
    }
}

static void find_loop(Finder *x, NodeId id)
{
    const Model *m = x->l->m;
    const Node *n = node_at(m, id);
    GraphId body = node_graph(n, "body");
    const Graph *g = graph_at(m, body);
    uint32_t carried = n->nin > 2 ? n->nin - 2 : 0;
    if (!body || g->inputs.len != carried + 2 || g->outputs.len < carried + 1)
        return;
    for (uint32_t i = 0; i < carried; i++)
        find_carried(x, id, 2 + i, g->inputs.at[2 + i].value, g->outputs.at[1 + i].value);
}

static void find_scan(Finder *x, NodeId id)
{
    const Model *m = x->l->m;
    const Node *n = node_at(m, id);
    GraphId body = node_graph(n, "body");
    int64_t scanned = node_int(n, "num_scan_inputs", 0);
    const Graph *g = graph_at(m, body);
    if (!body || scanned < 1 || scanned > n->nin || g->inputs.len != n->nin || opset_of(m, n) < 9)
        return;
    uint32_t states = n->nin - (uint32_t)scanned;
    for (uint32_t i = 0; i < n->nin; i++)
        find_carried(x, id, i, g->inputs.at[i].value,
                     i < states && i < g->outputs.len ? g->outputs.at[i].value : 0);
}

// ---- declarations -------------------------------------------------------------------------------

// Does a declaration say something else than what is computed?
static bool is_contradicted(const Model *m, const ValueInfo *info)
{
    const Value *v = value_at(m, info->value);
    if (!info->type || info->type->kind != TYPE_TENSOR || v->dtype == DT_NONE)
        return false;
    bool given = v->why_dtype.kind == WHY_DECLARED || !info->type->elem;
    bool made =
        v->def == DEF_NODE ? !has_conflict(m, v->node) : v->def == DEF_INITIALIZER || v->init;
    return made && !given && info->type->elem != (int32_t)v->dtype;
}

// Of a source and the declarations that it contradicts the fewer are wrong; of as many the source,
// if it is not of the model's own dtype, or of float64, or smaller, and if it alone is to blame.
static bool is_source_wrong(Finder *x, const Origin *o, ValueId v, DType want, uint32_t count)
{
    const Model *m = x->l->m;
    DType have = value_at(m, v)->dtype;
    bool retypable = is_retypable(m, o->value);
    bool first = have == m->dominant || want == m->dominant ? want == m->dominant
                 : have == DT_F64 || want == DT_F64         ? have == DT_F64
                                                            : origin_is_before(m, o->value, v);
    if (!retypable || want == DT_NONE || o->count != 1)
        return retypable && o->count < count;
    return (first || count > 1) &&
           origin_mends(lint_origins(x->l), lint_uses(x->l), o->value, want);
}

static void find_declared(Finder *x, const ValueInfo *info, bool output, const uint32_t *counts)
{
    const Model *m = x->l->m;
    if (!is_contradicted(m, info))
        return;
    const Value *v = value_at(m, info->value);
    int32_t said = info->type->elem;
    DType want = said > 0 && said < DT_COUNT ? (DType)said : DT_NONE;
    Fault f = {FAULT_DECLARED, v->node, v->index, 0, info->value, v->dtype, want, output, 0};
    Origin o = origin_find(lint_origins(x->l), info->value);
    ValueId key = lint_written_value(m, o.value);
    // Behind an operand that is not allowed nothing more is said.
    uint32_t told = x->f->told[key];
    origin_trace(lint_origins(x->l), info->value, &o);
    if (told && x->f->all.at[told - 1].kind == FAULT_UNSUPPORTED &&
        passes_by(m, &o, has_unsupported))
        return;
    if (told || is_source_wrong(x, &o, info->value, want, counts[key])) {
        add(x, f);
        return;
    }
    f.other = 1;
    vec_push(x->l->arena, &x->f->all, f);
}

static void count_declared(Finder *x, const ValueInfo *info, uint32_t *counts)
{
    if (is_contradicted(x->l->m, info))
        counts[lint_written_value(x->l->m, origin_find(lint_origins(x->l), info->value).value)]++;
}

static void find_all_declared(Finder *x)
{
    const Model *m = x->l->m;
    uint32_t *counts = NEWS(x->l->arena, uint32_t, m->values.len); // by origin
    for (int round = 0; round < 2; round++)
        for (GraphId g = 1; g < m->graphs.len; g++) {
            const Graph *graph = graph_at(m, g);
            for (uint32_t i = 0; i < graph->outputs.len; i++)
                if (round == 0)
                    count_declared(x, &graph->outputs.at[i], counts);
                else
                    find_declared(x, &graph->outputs.at[i], true, counts);
            for (uint32_t i = 0; i < graph->infos.len; i++)
                if (round == 0)
                    count_declared(x, &graph->infos.at[i], counts);
                else
                    find_declared(x, &graph->infos.at[i], false, counts);
            // A weight that is an input too: what its tensor says holds.
            for (uint32_t i = 0; i < graph->inputs.len; i++)
                if (!value_at(m, graph->inputs.at[i].value)->init)
                    continue;
                else if (round == 0)
                    count_declared(x, &graph->inputs.at[i], counts);
                else
                    find_declared(x, &graph->inputs.at[i], false, counts);
        }
}

const Faults *lint_faults(Lint *l)
{
    if (l->faults)
        return l->faults;
    Faults *f = NEW(l->arena, Faults);
    Finder x = {l, f, NEWS(l->arena, bool, l->m->nodes.len)};
    f->told = NEWS(l->arena, uint32_t, l->m->values.len);
    for (NodeId id = 1; id < l->m->nodes.len; id++) {
        const Node *n = node_at(l->m, id);
        if (n->dead)
            continue;
        find_operands(&x, id);
        if (node_is(n, "If"))
            find_branches(&x, id);
        else if (node_is(n, "Loop"))
            find_loop(&x, id);
        else if (node_is(n, "Scan"))
            find_scan(&x, id);
        else if (node_is(n, "QuantizeLinear"))
            find_output_dtype(&x, id);
    }
    find_all_declared(&x);
    l->faults = f;
    return f;
}
