// Finds dtypes that do not fit: operands of one type variable, branches, carried values, zero
// points; and of several with one origin the one to tell.

#include "passes/lint/faults.h"
#include "ir/said.h"
#include "passes/lint/judge.h"

#include <string.h>

typedef struct Finder {
    Judge j;
    Faults *f;
    bool *misled;        // by value: made of what does not fit, and of the dtype that is wrong
    DType *right;        // by value: of one that is misled, what it would be; DT_NONE: unknown
    bool *belied;        // by value: made of what fits, but declared as something else
    bool *visited;       // by graph
    uint32_t *convicted; // by value as written: 1 + index of the conflicts behind what it makes
                         // and what is belied
    VEC(FaultReach) behind;
    uint32_t *declared; // by value as written: declarations that what begins there contradicts
    uint32_t *at;       // by node of a body: 1 + index of the fault there
    uint32_t *met;      // by value as written: 1 + index of the fault of what differs from it
} Finder;

static uint32_t *told_of(Finder *x, ValueId v)
{
    return &x->f->told[value_written(x->j.l->m, v)];
}

ValueId fault_spot_value(const Model *m, const FaultSpot *s)
{
    if (!s->node)
        return s->value;
    const Node *n = node_at(m, s->node);
    return s->result ? n->out[s->index] : n->in[s->index];
}

bool fault_spot_before(const Model *m, const FaultSpot *a, const FaultSpot *b)
{
    if (!a->node || !b->node)
        return (b->node != 0) > (a->node != 0) ||
               (!a->node && !b->node &&
                str_cmp(value_shown_name(m, a->value), value_shown_name(m, b->value)) < 0);
    const Node *x = node_at(m, a->node), *y = node_at(m, b->node);
    int by = str_cmp(x->name, y->name);
    if (!by && x->nout && y->nout && x->out[0] && y->out[0])
        by = str_cmp(value_shown_name(m, x->out[0]), value_shown_name(m, y->out[0]));
    return by ? by < 0 : a->result != b->result ? b->result : a->index < b->index;
}

static void reach_all(const Model *m, FaultReach *r, const FaultReach *more)
{
    if (more->count && (!r->count || fault_spot_before(m, &more->least, &r->least)))
        r->least = more->least;
    for (uint32_t i = 0; i < more->count && i < sizeof more->first / sizeof *more->first; i++)
        if (r->count + i < sizeof r->first / sizeof *r->first)
            r->first[r->count + i] = more->first[i];
    r->count += more->count;
}

static void reach(const Model *m, FaultReach *r, FaultSpot at)
{
    reach_all(m, r, &(FaultReach){.count = 1, .first = {at}, .least = at});
}

FaultSpot fault_spot(const Fault *f)
{
    if (f->kind == FAULT_DECLARED || f->kind == FAULT_CONDITION)
        return (FaultSpot){.value = f->value};
    const bool result = f->kind == FAULT_BRANCH || (f->kind == FAULT_UNSUPPORTED && f->output);
    return (FaultSpot){.node = f->node, .index = f->index, .result = result};
}

static void add(Finder *x, Fault f)
{
    uint32_t *told = told_of(x, origin_find(lint_origins(x->j.l), f.value).value);
    if (!*told) {
        vec_push(x->j.l->arena, &x->f->all, f);
        *told = x->f->all.len;
        return;
    }
    Fault *known = &x->f->all.at[*told - 1];
    FaultReach also = known->also;
    reach(x->j.l->m, &also, fault_spot(f.kind < known->kind ? known : &f));
    if (f.kind < known->kind)
        *known = f;
    known->also = also;
}

// What a fault differs by is told with one that is known: 1 + its index.
static void join(Finder *x, uint32_t index, const Fault *f)
{
    Fault *known = &x->f->all.at[index - 1];
    *told_of(x, origin_find(lint_origins(x->j.l), f->value).value) = index;
    reach(x->j.l->m, &known->also, fault_spot(f));
    vec_push(x->j.l->arena, &known->with, f->value);
    for (uint32_t i = 0; i < f->with.len; i++)
        vec_push(x->j.l->arena, &known->with, f->with.at[i]);
}

// Does all that differs from one value differ by one fault? Of a value that no source decides, as a
// size does, or that as many decide, the sources of the other sides are the smallest set that mends
// it, and are told together.
static bool add_with(Finder *x, const Fault *f, ValueId other)
{
    Model *m = x->j.l->m;
    Origin o = origin_find(lint_origins(x->j.l), other);
    bool decided = strcmp(origin_kind(m, o.value), "node") != 0;
    if (decided == (o.count == 1))
        return false;
    uint32_t *met = &x->met[value_written(m, decided ? other : o.value)];
    Fault *known = *met ? &x->f->all.at[*met - 1] : NULL;
    Origin own = origin_find(lint_origins(x->j.l), f->value);
    if (*told_of(x, own.value))
        return false;
    bool fewer = !decided || (known && own.count == 1 && known->with.len + 1 < o.count);
    if (!known || known->kind != f->kind || known->have != f->have || known->want != f->want ||
        !fewer) {
        *met = known ? *met : x->f->all.len + 1;
        return false;
    }
    join(x, *met, f);
    return true;
}

// One place of a function's body that differs in the same way in several of its calls is one fault.
static bool add_to_body(Finder *x, const Fault *f)
{
    const Model *m = x->j.l->m;
    NodeId written = node_at(m, f->node)->copy_of;
    uint32_t *at = &x->at[written];
    const Fault *known = *at ? &x->f->all.at[*at - 1] : NULL;
    if (!written || *told_of(x, origin_find(lint_origins(x->j.l), f->value).value))
        return false;
    if (!known || known->kind != f->kind || known->index != f->index || known->have != f->have ||
        known->want != f->want || node_at(m, known->node)->copy_of != written) {
        *at = x->f->all.len + 1;
        return false;
    }
    join(x, *at, f);
    return true;
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

static bool has_conflict(const Model *m, NodeId n)
{
    uint32_t from = 0;
    Conflict c;
    return lint_conflict(m, n, &from, &c);
}

// The results of a node that have their dtype from operand i, which does not fit.
static void mislead(Finder *x, const Node *n, uint32_t i, DType right)
{
    const Model *m = x->j.l->m;
    for (uint32_t o = 0; o < n->nout; o++) {
        const Value *made = n->out[o] ? value_at(m, n->out[o]) : NULL;
        bool follows =
            made && made->why_dtype.kind == WHY_OPERAND && made->why_dtype.from == n->in[i];
        if (made && (follows || params_are_tied(param_of_operand(n, i), param_of_result(n, o))) &&
            lint_held(m, n->out[o]) == lint_held(m, n->in[i]))
            x->misled[n->out[o]] = true, x->right[n->out[o]] = right;
    }
}

// What does not fit a value that has a wrong dtype from a fault fits once that is mended.
static bool is_behind_fault(Finder *x, ValueId v)
{
    Origin o = origin_find(lint_origins(x->j.l), v);
    return origin_comes_by(lint_origins(x->j.l), v, &o, x->misled);
}

// One place more that a fault reaches which is told already.
static void tell_behind(Finder *x, NodeId n, uint32_t operand)
{
    Origin o = origin_find(lint_origins(x->j.l), node_at(x->j.l->m, n)->in[operand]);
    uint32_t told = x->f->told[value_written(x->j.l->m, o.value)];
    if (told)
        reach(x->j.l->m, &x->f->all.at[told - 1].also, (FaultSpot){.node = n, .index = operand});
}

// Has a fault been told that begins where v does, and is mended by the dtype wanted?
static bool is_told(Finder *x, ValueId v, DType want)
{
    Origin o = origin_find(lint_origins(x->j.l), v);
    uint32_t told = x->f->told[value_written(x->j.l->m, o.value)];
    return told && x->f->all.at[told - 1].want == want;
}

// Would v have the dtype wanted if what is declared on its way were true? The declaration is told.
static bool is_behind_declared(Finder *x, const Conflict *c, uint32_t operand, DType want)
{
    const ValueId v = node_at(x->j.l->m, c->node)->in[operand];
    Origin o = origin_find(lint_origins(x->j.l), v);
    ValueId by = origin_comes_by(lint_origins(x->j.l), v, &o, x->belied);
    if (!by || judge_declared_dtype(x->j.l->m, by) != want)
        return false;
    uint32_t *known = &x->convicted[value_written(x->j.l->m, o.value)];
    if (!*known) {
        vec_push(x->j.l->arena, &x->behind, (FaultReach){0});
        *known = x->behind.len;
    }
    reach(x->j.l->m, &x->behind.at[*known - 1], (FaultSpot){.node = c->node, .index = operand});
    return true;
}

// `declared`: may what a declaration says be to blame?
static bool is_conflict_behind(Finder *x, const Node *n, const Conflict *c, bool declared)
{
    ValueId a = n->in[c->culprit], b = n->in[c->other];
    DType have = lint_held(x->j.l->m, a), want = lint_held(x->j.l->m, b);
    if (declared && is_behind_declared(x, c, c->culprit, want)) {
        mislead(x, n, c->culprit, want);
        return true;
    }
    if (declared && is_behind_declared(x, c, c->other, have)) {
        mislead(x, n, c->other, have);
        return true;
    }
    bool behind = is_behind_fault(x, a);
    mislead(x, n, c->culprit, want);
    if (!behind && !is_behind_fault(x, b))
        return false;
    tell_behind(x, c->node, c->culprit);
    return true;
}

// What kind of fault a conflict is; of some kinds the other side gives way.
static FaultKind kind_of_conflict(Finder *x, const Node *n, Conflict *c)
{
    const Model *m = x->j.l->m;
    uint32_t low = c->culprit < c->other ? c->culprit : c->other,
             high = c->culprit + c->other - low;
    if (is_zero_point(n, low, high)) {
        DType have = lint_held(m, n->in[low]), right = judge_right(&x->j, n->in[low], NULL);
        bool data = right == lint_held(m, n->in[high]) ||
                    (right != have && is_data_at_fault(m, n->in[low]));
        *c = data ? (Conflict){c->node, low, high} : (Conflict){c->node, high, low};
        return FAULT_ZERO_POINT;
    }
    if (!allows(n, c->culprit, lint_dtype(m, n->in[c->culprit])))
        return FAULT_UNSUPPORTED;
    if (!allows(n, c->other, lint_dtype(m, n->in[c->other]))) {
        *c = (Conflict){c->node, c->other, c->culprit};
        return FAULT_UNSUPPORTED;
    }
    return value_at(m, n->in[c->culprit])->graph != n->graph ? FAULT_CAPTURED : FAULT_OPERAND;
}

// The node's other operands on the side that should change.
static void add_operands(Finder *x, const Node *n, Fault *f)
{
    for (uint32_t k = 0; k < n->nin; k++)
        if (k != f->index && n->in[k] && lint_held(x->j.l->m, n->in[k]) == f->have &&
            params_are_tied(param_of_operand(n, f->index), param_of_operand(n, k)))
            vec_push(x->j.l->arena, &f->with, n->in[k]);
}

// Where a few sources mend all, and what the node makes would rather be of the culprit's dtype, all
// of them are told here: nothing that they meet behind it is told.
static void add_set(Finder *x, const Node *n, const Conflict *c, Fault *f)
{
    uint32_t count;
    ValueId made = judge_tied_result(n, c->culprit);
    if (!made || judge_right(&x->j, f->value, &count) != f->want || count < 2)
        return;
    if (lint_held(x->j.l->m, made) != f->have) {
        if (!judge_result_at_fault(&x->j, n, c))
            return;
        x->misled[made] = true;
        x->right[made] = f->want;
    }
    sides_against(x->j.sides, f->value, f->want, &f->with, &f->said);
}

static void find_conflict(Finder *x, NodeId id, Conflict c)
{
    const Model *m = x->j.l->m;
    const Node *n = node_at(m, id);
    judge_conflict(&x->j, n, &c);
    if (!is_told(x, n->in[c.culprit], lint_held(m, n->in[c.other])) &&
        is_told(x, n->in[c.other], lint_held(m, n->in[c.culprit])))
        c = (Conflict){id, c.other, c.culprit};
    Conflict told = c;
    FaultKind kind = kind_of_conflict(x, n, &told);
    if (is_conflict_behind(x, n, &c, kind > FAULT_DECLARED))
        return;
    ValueId v = n->in[told.culprit], other = n->in[told.other];
    Fault f = {.kind = kind,
               .node = id,
               .index = told.culprit,
               .other = told.other,
               .value = v,
               .have = lint_held(m, v),
               .want = lint_held(m, other)};
    bool operands = kind == FAULT_OPERAND || kind == FAULT_CAPTURED;
    if (operands) {
        add_operands(x, n, &f);
        add_set(x, n, &told, &f);
    }
    if (!operands || (!add_to_body(x, &f) && !add_with(x, &f, other)))
        add(x, f);
}

static void find_operands(Finder *x, NodeId id)
{
    const Model *m = x->j.l->m;
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
        if (allows(n, i, t))
            continue;
        if (is_behind_fault(x, v))
            tell_behind(x, id, i);
        else
            add(x, (Fault){.kind = FAULT_UNSUPPORTED,
                           .node = id,
                           .index = i,
                           .other = i,
                           .value = v,
                           .have = t});
        mislead(x, n, i, DT_NONE);
    }
}

// Results whose dtype an attribute chooses, and which the schema does not give.
static void find_results(Finder *x, NodeId id)
{
    const Model *m = x->j.l->m;
    const Node *n = node_at(m, id);
    for (uint32_t o = 0; o < n->nout; o++) {
        const SchemaParam *p = param_of_result(n, o);
        DType t = n->out[o] ? lint_dtype(m, n->out[o]) : DT_NONE;
        if (n->out[o] && value_at(m, n->out[o])->why_dtype.kind == WHY_OPERAND)
            continue;
        if (p && p->types && t != DT_NONE && !(p->types >> t & 1) && !result_is_tied(n, o))
            add(x, (Fault){.kind = FAULT_UNSUPPORTED,
                           .node = id,
                           .index = o,
                           .other = o,
                           .value = n->out[o],
                           .have = t,
                           .output = true});
    }
}

// QuantizeLinear's attribute against its zero point: the attribute says what is wanted.
static void find_output_dtype(Finder *x, NodeId id)
{
    const Node *n = node_at(x->j.l->m, id);
    DType want =
        node_has_attr(n, "output_dtype") ? node_dtype(n, "output_dtype", DT_NONE) : DT_NONE;
    DType have = n->nin > 2 ? lint_dtype(x->j.l->m, n->in[2]) : DT_NONE;
    if (want != DT_NONE && have != DT_NONE && want != have)
        add(x, (Fault){.kind = FAULT_ZERO_POINT,
                       .node = id,
                       .index = 2,
                       .value = n->in[2],
                       .have = have,
                       .want = want});
}

// ---- control flow -------------------------------------------------------------------------------

static ValueId output_of(const Model *m, GraphId g, uint32_t o)
{
    return g && o < graph_at(m, g)->outputs.len ? graph_at(m, g)->outputs.at[o].value : 0;
}

static void find_branches(Finder *x, NodeId id)
{
    const Model *m = x->j.l->m;
    const Node *n = node_at(m, id);
    GraphId yes = node_graph(n, "then_branch"), no = node_graph(n, "else_branch");
    for (uint32_t o = 0; o < n->nout; o++) {
        ValueId a = output_of(m, yes, o), b = output_of(m, no, o);
        DType s = lint_dtype(m, a), t = lint_dtype(m, b);
        if (s == DT_NONE || t == DT_NONE || s == t)
            continue;
        bool first = judge_first_wrong(&x->j, a, s, t, said_dtype(x->j.l->m, n->out[o]));
        if (!judge_is_mended_by(&x->j, first ? a : b, first ? t : s))
            first ^= judge_is_mended_by(&x->j, first ? b : a, first ? s : t);
        x->misled[n->out[o]] = n->out[o] && lint_dtype(m, n->out[o]) == (first ? s : t);
        if (!is_behind_fault(x, a) && !is_behind_fault(x, b))
            add(x, (Fault){.kind = FAULT_BRANCH,
                           .node = id,
                           .index = o,
                           .other = first,
                           .value = first ? a : b,
                           .have = first ? s : t,
                           .want = first ? t : s});
    }
}

// What a loop gives has the wrong dtype too.
static void mislead_result(Finder *x, const Node *n, uint32_t o, DType wrong)
{
    if (o < n->nout && n->out[o] && lint_dtype(x->j.l->m, n->out[o]) == wrong)
        x->misled[n->out[o]] = true;
}

// A value that a loop carries on as what it begins as, because a fault that begins there decided
// so.
static void find_misled_carried(Finder *x, NodeId id, uint32_t operand, ValueId first, ValueId made)
{
    Origin o = origin_find(lint_origins(x->j.l), made);
    ValueId by = origin_comes_by(lint_origins(x->j.l), made, &o, x->misled);
    DType right = by ? x->right[by] : DT_NONE, have = lint_dtype(x->j.l->m, first);
    if (right != DT_NONE && right != have && is_told(x, first, right))
        add(x, (Fault){.kind = FAULT_CARRIED,
                       .node = id,
                       .index = operand,
                       .other = 1,
                       .value = first,
                       .have = have,
                       .want = right});
}

// A carried value: what it begins as, what the body declares it as, what the body makes of it.
static void find_carried(Finder *x, NodeId id, uint32_t operand, ValueId inner, ValueId made)
{
    const Model *m = x->j.l->m;
    const Node *n = node_at(m, id);
    ValueId first = operand < n->nin ? n->in[operand] : 0;
    DType a = lint_dtype(m, first), b = lint_dtype(m, made), said = judge_declared_dtype(m, inner);
    bool differ = a != DT_NONE && b != DT_NONE && a != b;
    if (a != DT_NONE && a == b)
        find_misled_carried(x, id, operand, first, made);
    if (!differ && (a == DT_NONE || said == DT_NONE || a == said))
        return;
    if (is_behind_fault(x, first) || (made && is_behind_fault(x, made)))
        return;
    if (differ) {
        bool way = judge_first_wrong(&x->j, first, a, b, said_dtype(x->j.l->m, inner));
        mislead_result(x, n, operand - (node_is(n, "Loop") ? 2 : 0), way ? a : b);
        add(x, (Fault){.kind = FAULT_CARRIED,
                       .node = id,
                       .index = operand,
                       .other = way,
                       .value = way ? first : made,
                       .have = way ? a : b,
                       .want = way ? b : a});
    } else {
        // A declaration at which nothing else takes offence.
        bool either = a == m->dominant || (said != m->dominant && a != DT_F64);
        bool lies = either || !judge_is_mended_by(&x->j, first, said);
        DType right = judge_right(&x->j, inner, NULL);
        lies = right == a || (right != said && lies);
        add(x, (Fault){.kind = FAULT_CARRIED,
                       .node = id,
                       .index = operand,
                       .other = lies ? 3 : 2,
                       .value = lies ? inner : first,
                       .have = a,
                       .want = said});
    }
}

// What a loop's body gives for whether to go on, which the schema cannot say anything of.
static void find_condition(Finder *x, NodeId id, ValueId made)
{
    const DType have = lint_dtype(x->j.l->m, made);
    if (have != DT_NONE && have != DT_BOOL && !is_behind_fault(x, made))
        add(x, (Fault){.kind = FAULT_CONDITION,
                       .node = id,
                       .value = made,
                       .have = have,
                       .want = DT_BOOL});
}

static void find_loop(Finder *x, NodeId id)
{
    const Model *m = x->j.l->m;
    const Node *n = node_at(m, id);
    GraphId body = node_graph(n, "body");
    const Graph *g = graph_at(m, body);
    uint32_t carried = n->nin > 2 ? n->nin - 2 : 0;
    if (!body || g->inputs.len != carried + 2 || g->outputs.len < carried + 1)
        return;
    find_condition(x, id, g->outputs.at[0].value);
    for (uint32_t i = 0; i < carried; i++)
        find_carried(x, id, 2 + i, g->inputs.at[2 + i].value, g->outputs.at[1 + i].value);
}

static void find_scan(Finder *x, NodeId id)
{
    const Model *m = x->j.l->m;
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

// The number of the iteration, and whether to go on, which a Loop hands to its body.
static bool is_given_by_loop(const Model *m, const Value *v)
{
    NodeId owner = v->def == DEF_INPUT && v->graph ? graph_at(m, v->graph)->owner : 0;
    return owner && node_is(node_at(m, owner), "Loop") && v->index < 2;
}

// Does a declaration say something else than what is computed?
static bool is_contradicted(const Model *m, const ValueInfo *info)
{
    const Value *v = value_at(m, info->value);
    if (!info->type || info->type->kind != TYPE_TENSOR || v->dtype == DT_NONE)
        return false;
    bool given = v->why_dtype.kind == WHY_DECLARED || !info->type->elem;
    bool made = v->def == DEF_NODE ? !has_conflict(m, v->node)
                                   : v->def == DEF_INITIALIZER || v->init || is_given_by_loop(m, v);
    return made && !given && info->type->elem != (int32_t)v->dtype;
}

// Of a source and the declarations that it contradicts the fewer are wrong; of as many the source,
// if it is not of the model's own dtype, or of float64, or smaller, and if it alone is to blame.
static bool is_source_wrong(Finder *x, const Origin *o, ValueId v, DType want, uint32_t count)
{
    const Model *m = x->j.l->m;
    DType have = value_at(m, v)->dtype;
    bool retypable = judge_is_retypable(m, o->value);
    bool first = have == m->dominant || want == m->dominant ? want == m->dominant
                 : have == DT_F64 || want == DT_F64         ? have == DT_F64
                                                            : origin_is_before(m, o->value, v);
    if (!retypable || want == DT_NONE || o->count != 1)
        return retypable && o->count < count;
    return (first || count > 1) &&
           origin_mends(lint_origins(x->j.l), lint_uses(x->j.l), o->value, want);
}

static void find_declared(Finder *x, const ValueInfo *info, bool output)
{
    const Model *m = x->j.l->m;
    if (!is_contradicted(m, info))
        return;
    const Value *v = value_at(m, info->value);
    DType want = judge_type_dtype(info->type);
    Fault f = {.kind = FAULT_DECLARED,
               .node = v->node,
               .index = v->index,
               .value = info->value,
               .have = v->dtype,
               .want = want,
               .output = output};
    Origin o = origin_find(lint_origins(x->j.l), info->value);
    ValueId key = value_written(m, o.value);
    if (origin_comes_by(lint_origins(x->j.l), info->value, &o, x->misled))
        return;
    // Once its origin is mended the operands that made it so differ.
    if (x->f->told[key] && origin_meets(lint_origins(x->j.l), x->misled)) {
        reach(x->j.l->m, &x->f->all.at[x->f->told[key] - 1].also, fault_spot(&f));
        return;
    }
    if (x->convicted[key])
        f.also = x->behind.at[x->convicted[key] - 1];
    DType right = judge_right(&x->j, info->value, NULL);
    bool known = x->f->told[key] || x->convicted[key];
    bool wrong = right == want ||
                 (right != v->dtype && is_source_wrong(x, &o, info->value, want, x->declared[key]));
    if (known || wrong) {
        add(x, f);
        return;
    }
    f.other = 1;
    vec_push(x->j.l->arena, &x->f->all, f);
}

static void count_declared(Finder *x, const ValueInfo *info, bool output)
{
    (void)output;
    if (!is_contradicted(x->j.l->m, info))
        return;
    Origin o = origin_find(lint_origins(x->j.l), info->value);
    ValueId key = value_written(x->j.l->m, o.value);
    x->declared[key]++;
    x->j.said[key] |= (TypeSet)1 << judge_type_dtype(info->type);
}

// All that the graphs declare of what they compute, and of weights that are inputs too: what their
// tensors say holds.
static void each_declared(Finder *x, void (*look)(Finder *x, const ValueInfo *info, bool output))
{
    const Model *m = x->j.l->m;
    for (GraphId g = 1; g < m->graphs.len; g++) {
        const Graph *graph = graph_at(m, g);
        for (uint32_t i = 0; i < graph->outputs.len; i++)
            look(x, &graph->outputs.at[i], true);
        for (uint32_t i = 0; i < graph->infos.len; i++)
            look(x, &graph->infos.at[i], false);
        for (uint32_t i = 0; i < graph->inputs.len; i++) {
            const Value *v = value_at(m, graph->inputs.at[i].value);
            if (v->init || is_given_by_loop(m, v))
                look(x, &graph->inputs.at[i], false);
        }
    }
}

// Results that are declared as something else than the operands, which fit, make them.
static void find_belied(Finder *x, NodeId id)
{
    const Model *m = x->j.l->m;
    const Node *n = node_at(m, id);
    for (uint32_t o = 0; o < n->nout; o++) {
        DType said = judge_declared_dtype(m, n->out[o]);
        const Value *v = value_at(m, n->out[o]);
        x->belied[n->out[o]] = said != DT_NONE && v->dtype != DT_NONE && v->dtype != said &&
                               v->why_dtype.kind != WHY_DECLARED && !has_conflict(m, id);
    }
}

static void find_at_node(Finder *x, NodeId id)
{
    const Node *n = node_at(x->j.l->m, id);
    find_operands(x, id);
    find_results(x, id);
    find_belied(x, id);
    if (node_is(n, "If"))
        find_branches(x, id);
    else if (node_is(n, "Loop"))
        find_loop(x, id);
    else if (node_is(n, "Scan"))
        find_scan(x, id);
    else if (node_is(n, "QuantizeLinear"))
        find_output_dtype(x, id);
}

// In order of execution, so that a fault is seen before what it misleads.
static void find_in_graph(Finder *x, GraphId g)
{
    const Model *m = x->j.l->m;
    if (x->visited[g])
        return;
    x->visited[g] = true;
    for (uint32_t i = 0; i < graph_at(m, g)->nodes.len; i++) {
        NodeId id = graph_at(m, g)->nodes.at[i];
        const Node *n = node_at(m, id);
        if (n->dead)
            continue;
        for (uint32_t a = 0; a < n->nattrs; a++) {
            if (n->attrs[a].g)
                find_in_graph(x, n->attrs[a].g);
            for (uint32_t k = 0; k < n->attrs[a].ngraphs; k++)
                find_in_graph(x, n->attrs[a].graphs[k]);
        }
        find_at_node(x, id);
    }
}

// Where the operand that a conflict was held to begins, a fault may have been told since; what
// mends that one gives this operand the culprit's dtype.
static Fault *told_of_other(Finder *x, const Fault *f)
{
    const Model *m = x->j.l->m;
    ValueId other = node_at(m, f->node)->in[f->other];
    Origin o = origin_find(lint_origins(x->j.l), other);
    uint32_t told = x->f->told[value_written(m, o.value)], count = o.count;
    Fault *of = told ? &x->f->all.at[told - 1] : NULL;
    bool fits = of && of != f && of->want == f->have && of->kind != FAULT_BEHIND;
    return fits && origin_find(lint_origins(x->j.l), of->value).count == count ? of : NULL;
}

static void drop_behind(Finder *x)
{
    for (uint32_t i = 0; i < x->f->all.len; i++) {
        Fault *f = &x->f->all.at[i];
        Fault *of =
            f->kind == FAULT_OPERAND || f->kind == FAULT_CAPTURED ? told_of_other(x, f) : NULL;
        if (!of)
            continue;
        Origin o = origin_find(lint_origins(x->j.l), f->value);
        reach(x->j.l->m, &of->also, fault_spot(f));
        reach_all(x->j.l->m, &of->also, &f->also);
        f->kind = FAULT_BEHIND;
        x->f->told[value_written(x->j.l->m, o.value)] = (uint32_t)(of - x->f->all.at) + 1;
    }
}

const Faults *lint_faults(Lint *l)
{
    if (l->faults)
        return l->faults;
    Faults *f = NEW(l->arena, Faults);
    const uint32_t n = l->m->values.len;
    Finder x = {.j = {.l = l, .said = NEWS(l->arena, TypeSet, n)}, .f = f};
    x.misled = NEWS(l->arena, bool, n);
    x.right = NEWS(l->arena, DType, n);
    x.belied = NEWS(l->arena, bool, n);
    x.visited = NEWS(l->arena, bool, l->m->graphs.len);
    x.convicted = NEWS(l->arena, uint32_t, n);
    x.declared = NEWS(l->arena, uint32_t, n);
    x.at = NEWS(l->arena, uint32_t, l->m->nodes.len);
    x.met = NEWS(l->arena, uint32_t, n);
    f->told = NEWS(l->arena, uint32_t, n);
    each_declared(&x, count_declared);
    find_in_graph(&x, l->m->main);
    for (GraphId g = 1; g < l->m->graphs.len; g++)
        find_in_graph(&x, g);
    drop_behind(&x);
    each_declared(&x, find_declared);
    for (uint32_t i = 0, count; i < f->all.len; i++)
        f->all.at[i].alone =
            judge_right(&x.j, f->all.at[i].value, &count) == f->all.at[i].want && count == 1;
    l->faults = f;
    return f;
}
