// Finds dtypes that do not fit: operands of one type variable, branches, carried values, zero
// points; and of several with one origin the one to tell.

#include "passes/lint/faults.h"

#include <string.h>

typedef struct Finder {
    Lint *l;
    Faults *f;
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

static void find_conflict(Finder *x, NodeId id, Conflict c)
{
    const Model *m = x->l->m;
    const Node *n = node_at(m, id);
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
                   0});
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
            add(x, (Fault){FAULT_UNSUPPORTED, id, i, i, v, t, DT_NONE, 0});
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
        add(x, (Fault){FAULT_ZERO_POINT, id, 2, 0, n->in[2], have, want, 0});
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
        add(x, (Fault){FAULT_BRANCH, id, o, first, first ? a : b, first ? s : t, first ? t : s, 0});
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
                       way ? b : a, 0});
    } else if (a != DT_NONE && said != DT_NONE && a != said) {
        add(x, (Fault){FAULT_CARRIED, id, operand, 2, first, a, said, 0});
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

const Faults *lint_faults(Lint *l)
{
    if (l->faults)
        return l->faults;
    Faults *f = NEW(l->arena, Faults);
    Finder x = {l, f};
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
    l->faults = f;
    return f;
}
