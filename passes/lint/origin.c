#include "passes/lint/origin.h"

#include "ir/lists.h"

#include <string.h>

// A walk looks at so many values and no more; all walks together at MAX_WORK. Beyond that the
// origin is the best that was seen.
enum { MAX_WALK = 1 << 16, MAX_WORK = 1 << 24 };

struct Origins {
    Model *m;
    Arena *arena;
    uint32_t *seen; // by value: the walk that came by
    struct Came {   // by value: from where that walk came
        ValueId to;
        Step step;
    } *came;
    ValueId *queue;
    VEC(ValueId) sources; // of the last walk
    ValueId *found;       // by value: the origin of a walk that came by
    ValueId *copies; // by value: the next that is written at the same place; made when asked for
    uint32_t walk, work;
    uint32_t walked; // how many values of queue the last walk came by
};

Origins *origins_of(Model *m, Arena *a)
{
    Origins *o = NEW(a, Origins);
    uint32_t n = m->values.len;
    *o = (Origins){.m = m, .arena = a, .seen = NEWS(a, uint32_t, n)};
    o->came = NEWS(a, struct Came, n);
    o->queue = NEWS(a, ValueId, n);
    o->found = NEWS(a, ValueId, n);
    return o;
}

const SchemaParam *param_of_operand(const Node *n, uint32_t i)
{
    const Schema *s = n->schema;
    return s && i < n->nin ? schema_param(s->inputs, s->ninputs, i) : NULL;
}

bool params_are_tied(const SchemaParam *a, const SchemaParam *b)
{
    if (!a || !b || !a->type_var || !b->type_var)
        return false;
    bool free_form = (a->option == PARAM_VARIADIC && !a->homogeneous) ||
                     (b->option == PARAM_VARIADIC && !b->homogeneous);
    return !free_form && strcmp(param_variable(a), param_variable(b)) == 0;
}

const SchemaParam *param_of_result(const Node *n, uint32_t o)
{
    const Schema *s = n->schema;
    return s ? schema_param(s->outputs, s->noutputs, o) : NULL;
}

bool result_is_tied(const Node *n, uint32_t o)
{
    for (uint32_t i = 0; i < n->nin; i++)
        if (n->in[i] && params_are_tied(param_of_operand(n, i), param_of_result(n, o)))
            return true;
    return false;
}

TensorData *origin_payload(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    if (value->def == DEF_INPUT && !value_is_weight(m, v))
        return NULL;
    if (value->init)
        return value->init;
    bool constant = value->def == DEF_NODE && node_is(node_at(m, value->node), "Constant");
    return constant ? (TensorData *)(uintptr_t)value->constant : NULL;
}

const char *origin_kind(const Model *m, ValueId v)
{
    const Value *value = value_at(m, v);
    if (value->def == DEF_INPUT && !value_is_weight(m, v))
        return "input";
    if (value->init || value->sparse_init)
        return "initializer";
    if (value->def != DEF_NODE)
        return "value_info";
    const Node *n = node_at(m, value->node);
    return node_is(n, "Constant")                   ? "constant"
           : node_is(n, "Cast")                     ? "cast"
           : value->why_dtype.kind == WHY_ATTRIBUTE ? "attribute"
           : value->why_dtype.kind == WHY_DECLARED  ? "value_info"
                                                    : "node";
}

uint64_t origin_bytes(const Model *m, ValueId v, DType dtype)
{
    const Value *at = value_at(m, v);
    uint64_t n = dtype_info(dtype)->bytes;
    if (at->rank < 0)
        return UINT64_MAX;
    for (int32_t i = 0; i < at->rank; i++) {
        int64_t k;
        if (!poly_is_const(at->dims[i], &k) || k < 0 || __builtin_mul_overflow(n, (uint64_t)k, &n))
            return UINT64_MAX;
    }
    return n;
}

static void visit(Origins *o, ValueId from, ValueId to, Step step, uint32_t *tail)
{
    if (!from || o->seen[from] == o->walk ||
        value_at(o->m, from)->dtype != value_at(o->m, to)->dtype)
        return;
    o->seen[from] = o->walk;
    o->came[from] = (struct Came){to, step};
    o->queue[(*tail)++] = from;
}

// The values that v's dtype follows from, one step back; false: v is a source.
static bool step_back(Origins *o, ValueId v, uint32_t *tail)
{
    const Value *at = value_at(o->m, v);
    const Why *why = &at->why_dtype;
    if (why->kind == WHY_BRANCH || (at->def == DEF_INPUT && why->kind == WHY_OPERAND)) {
        visit(o, why->from, v, (Step){0, 0}, tail);
        return why->from != 0;
    }
    if (at->def != DEF_NODE)
        return false;
    const Node *n = node_at(o->m, at->node);
    const SchemaParam *result = param_of_result(n, at->index);
    bool tied = false;
    for (uint32_t i = 0; i < n->nin; i++) {
        if (!n->in[i] || !params_are_tied(param_of_operand(n, i), result))
            continue;
        tied |= value_at(o->m, n->in[i])->dtype == at->dtype;
        visit(o, n->in[i], v, (Step){at->node, i}, tail);
    }
    if (!tied && why->kind == WHY_OPERAND && why->from) {
        visit(o, why->from, v, (Step){at->node, 0}, tail);
        tied = true;
    }
    return tied;
}

bool origin_is_before(const Model *m, ValueId a, ValueId b)
{
    uint64_t x = origin_bytes(m, a, value_at(m, a)->dtype),
             y = origin_bytes(m, b, value_at(m, b)->dtype);
    return x != y ? x < y : a < b;
}

// Without a walk: what an earlier one found a few steps up; else v itself.
static ValueId near_origin(Origins *o, ValueId v)
{
    ValueId at = v;
    for (int steps = 0; at && steps < 64; steps++) {
        if (o->found[at])
            return o->found[v] = o->found[at];
        const Why *why = &value_at(o->m, at)->why_dtype;
        at = why->kind == WHY_OPERAND || why->kind == WHY_BRANCH ? why->from : 0;
    }
    return v;
}

Origin origin_find(Origins *o, ValueId v)
{
    Origin r = {.value = v};
    uint32_t head = 0, tail = 0;
    o->sources.len = 0;
    o->walk++;
    o->seen[v] = o->walk;
    o->queue[tail++] = v;
    while (head < tail && head < MAX_WALK && o->work < MAX_WORK) {
        ValueId at = o->queue[head++];
        o->work++;
        if (!step_back(o, at, &tail))
            vec_push(o->arena, &o->sources, at);
    }
    o->walked = head;
    r.count = o->sources.len ? o->sources.len : 1;
    if (!o->sources.len) {
        r.value = near_origin(o, v);
        return r;
    }
    r.value = o->sources.at[0];
    for (uint32_t i = 1; i < o->sources.len; i++)
        if (origin_is_before(o->m, o->sources.at[i], r.value))
            r.value = o->sources.at[i];
    for (uint32_t i = 0; i < head; i++)
        o->found[o->queue[i]] = r.value;
    return r;
}

void origin_trace(Origins *o, ValueId v, Origin *r)
{
    for (uint32_t i = 0; i < o->sources.len; i++)
        if (o->sources.at[i] != r->value)
            vec_push(o->arena, &r->others, o->sources.at[i]);
    for (ValueId at = r->value; at != v && o->sources.len; at = o->came[at].to)
        if (o->came[at].step.node)
            vec_push(o->arena, &r->path, o->came[at].step);
}

ValueId origin_comes_by(const Origins *o, ValueId v, const Origin *r, const bool *marked)
{
    for (ValueId at = r->value; at != v && o->sources.len; at = o->came[at].to)
        if (marked[at])
            return at;
    return marked[v] ? v : 0;
}

bool origin_meets(const Origins *o, const bool *marked)
{
    bool any = false;
    for (uint32_t i = 0; i < o->walked && !any; i++)
        any = marked[o->queue[i]];
    return any;
}

// ---- control flow -------------------------------------------------------------------------------

static ValueId output_at(const Model *m, GraphId g, uint32_t i)
{
    return g && i < graph_at(m, g)->outputs.len ? graph_at(m, g)->outputs.at[i].value : 0;
}

// How many values a Loop or Scan carries, and which operand is the first of them.
static uint32_t carried_of(const Node *n, uint32_t *first)
{
    *first = node_is(n, "Loop") ? 2 : 0;
    int64_t scanned = node_is(n, "Scan") ? node_int(n, "num_scan_inputs", 0) : 0;
    int64_t count = (int64_t)n->nin - *first - scanned;
    return scanned >= 0 && count > 0 ? (uint32_t)count : 0;
}

// What a value of control flow is made of: a branch's result, what a loop begins with, what its
// body makes.
static void visit_beside(Origins *o, ValueId v, uint32_t *tail)
{
    const Model *m = o->m;
    const Value *at = value_at(m, v);
    NodeId id = at->def == DEF_NODE                 ? at->node
                : at->def == DEF_INPUT && at->graph ? graph_at(m, at->graph)->owner
                                                    : 0;
    const Node *n = id ? node_at(m, id) : NULL;
    uint32_t first = 0, k = at->index;
    if (n && node_is(n, "If")) {
        visit(o, output_at(m, node_graph(n, "then_branch"), k), v, (Step){0, 0}, tail);
        visit(o, output_at(m, node_graph(n, "else_branch"), k), v, (Step){0, 0}, tail);
    }
    if (!n || (!node_is(n, "Loop") && !node_is(n, "Scan")))
        return;
    uint32_t carried = carried_of(n, &first), skipped = first / 2;
    if (at->def == DEF_INPUT && k < first)
        return;
    k -= at->def == DEF_INPUT ? first : 0;
    if (k < carried)
        visit(o, n->in[first + k], v, (Step){0, 0}, tail);
    if (k < carried || at->def == DEF_NODE)
        visit(o, output_at(m, node_graph(n, "body"), skipped + k), v, (Step){0, 0}, tail);
}

static bool is_named(const Origins *o, const Origin *r, ValueId v)
{
    bool named = value_written(o->m, v) == value_written(o->m, r->value);
    for (uint32_t i = 0; i < r->others.len && !named; i++)
        named = value_written(o->m, r->others.at[i]) == value_written(o->m, v);
    return named;
}

void origin_trace_beside(Origins *o, ValueId v, Origin *r)
{
    enum { MAX_NAMED = 64 };
    uint32_t head = 0, tail = 0;
    o->walk++;
    o->seen[v] = o->walk;
    o->queue[tail++] = v;
    while (head < tail && head < MAX_WALK && o->work < MAX_WORK && r->others.len < MAX_NAMED) {
        ValueId at = o->queue[head++];
        uint32_t before = tail;
        o->work++;
        visit_beside(o, at, &tail);
        bool made = step_back(o, at, &tail) || tail > before;
        const char *kind = made ? "" : origin_kind(o->m, at);
        if (!made && strcmp(kind, "node") != 0 && strcmp(kind, "value_info") != 0 &&
            !is_named(o, r, at))
            vec_push(o->arena, &r->others, at);
    }
}

// ---- forward ------------------------------------------------------------------------------------

enum { MAX_REACH = 1 << 12 };

// What has its dtype from one source: queue[0] .. queue[tail - 1]. Behind them, up to `end`:
// results that have the other dtype already, where a node's operands differ.
typedef struct Reach {
    Origins *o;
    const Uses *uses;
    DType have, want;
    bool lenient; // declarations of inner values follow what is computed
    uint32_t tail, end;
} Reach;

static bool is_reached(const Reach *r, ValueId v)
{
    return r->o->seen[v] == r->o->walk - 1;
}

static void reach(Reach *r, ValueId v)
{
    if (!v || is_reached(r, v) || value_at(r->o->m, v)->dtype != r->have)
        return;
    r->o->seen[v] = r->o->walk - 1;
    r->o->queue[r->tail++] = v;
}

static void follow(Reach *r, ValueId v)
{
    if (!v || r->o->seen[v] == r->o->walk || value_at(r->o->m, v)->dtype != r->want)
        return;
    r->o->seen[v] = r->o->walk;
    r->o->queue[r->end++] = v;
}

// What the node that holds a graph gives for the graph's output.
static ValueId result_of_output(const Reach *r, const Use *u)
{
    const Graph *g = graph_at(r->o->m, u->graph);
    const Node *n = g->owner ? node_at(r->o->m, g->owner) : NULL;
    uint32_t skip = n && node_is(n, "Loop") ? 1 : 0;
    return n && u->index >= skip && u->index - skip < n->nout ? n->out[u->index - skip] : 0;
}

static bool reach_body(Reach *r, const Node *n, uint32_t operand)
{
    GraphId body = node_graph(n, "body");
    if (node_is(n, "If") || !body)
        return node_is(n, "If");
    if (operand < graph_at(r->o->m, body)->inputs.len)
        reach(r, graph_at(r->o->m, body)->inputs.at[operand].value);
    return true;
}

static bool reach_use(Reach *r, const Use *u, ValueId v)
{
    const Node *n = u->node ? node_at(r->o->m, u->node) : NULL;
    if (!n) { // declarations are looked at where the value is
        reach(r, result_of_output(r, u));
        return true;
    }
    const SchemaParam *p = param_of_operand(n, u->index);
    if (n->dead || node_is(n, "Cast"))
        return true;
    if (node_is(n, "If") || node_is(n, "Loop") || node_is(n, "Scan"))
        return reach_body(r, n, u->index);
    TypeSet tensors =
        p ? p->types & (TYPESET_SEQUENCE - 1) : 0; // lists say nothing of what they hold
    if (!p || (tensors && !(tensors >> r->want & 1)))
        return false;
    for (uint32_t k = 0; k < n->nout; k++) {
        const Value *made = n->out[k] ? value_at(r->o->m, n->out[k]) : NULL;
        bool follows = made && made->why_dtype.kind == WHY_OPERAND && made->why_dtype.from == v;
        if (made && (follows || params_are_tied(p, param_of_result(n, k))))
            reach(r, n->out[k]);
    }
    return true;
}

// What one iteration or branch gives beside this output of a graph: a loop's first value, the other
// branch's result. 0: nothing.
static ValueId beside_output(const Reach *r, const Use *u)
{
    const Graph *g = graph_at(r->o->m, u->graph);
    const Node *n = g->owner ? node_at(r->o->m, g->owner) : NULL;
    if (!n)
        return 0;
    if (node_is(n, "If")) {
        GraphId yes = node_graph(n, "then_branch"), no = node_graph(n, "else_branch");
        const Graph *other = graph_at(r->o->m, yes == u->graph ? no : yes);
        return u->index < other->outputs.len ? other->outputs.at[u->index].value : 0;
    }
    if (node_is(n, "Loop"))
        return u->index && u->index + 1 < n->nin ? n->in[u->index + 1] : 0;
    uint32_t scanned = (uint32_t)node_int(n, "num_scan_inputs", 0);
    return scanned < n->nin && u->index < n->nin - scanned ? n->in[u->index] : 0;
}

static bool differs(const Reach *r, ValueId v)
{
    return v && !is_reached(r, v) && value_at(r->o->m, v)->dtype != r->want &&
           value_at(r->o->m, v)->dtype != DT_NONE;
}

// Is there, where a value is used that has or would get the wanted dtype, one that does not?
// Results that have it already are followed.
static bool is_held_back(Reach *r, const Use *u)
{
    const Node *n = u->node ? node_at(r->o->m, u->node) : NULL;
    if (!n)
        return differs(r, beside_output(r, u));
    const SchemaParam *p = param_of_operand(n, u->index);
    if (n->dead || !p)
        return false;
    for (uint32_t i = 0; i < n->nin; i++)
        if (n->in[i] && params_are_tied(param_of_operand(n, i), p) && differs(r, n->in[i]))
            return true;
    for (uint32_t k = 0; k < n->nout; k++)
        if (n->out[k] && params_are_tied(p, param_of_result(n, k)))
            follow(r, n->out[k]);
    return false;
}

static bool is_result(const Reach *r, ValueId v)
{
    for (uint32_t k = r->uses->first[v]; k < r->uses->first[v + 1]; k++)
        if (!r->uses->uses[k].node)
            return true;
    return false;
}

static bool is_declared(const Reach *r, ValueId v)
{
    const Value *value = value_at(r->o->m, v);
    if (r->want == r->have || (r->lenient && !is_result(r, v)))
        return false;
    const Type *t = value->def == DEF_NODE ? value->declared : NULL;
    return t && t->kind == TYPE_TENSOR && t->elem == (int32_t)r->have;
}

// Is a result of the model that is followed, so that it has the wanted dtype, declared as another?
static bool is_denied(const Reach *r, ValueId v)
{
    const Value *value = value_at(r->o->m, v);
    const Type *t = value->def == DEF_NODE && is_result(r, v) ? value->declared : NULL;
    return t && t->kind == TYPE_TENSOR && t->elem > 0 && t->elem != (int32_t)r->want;
}

static bool reach_all(Reach *r)
{
    for (uint32_t i = 0; i < r->tail; i++) {
        ValueId v = r->o->queue[i];
        if (i == MAX_REACH || is_declared(r, v))
            return false;
        for (uint32_t k = r->uses->first[v]; k < r->uses->first[v + 1]; k++)
            if (!reach_use(r, &r->uses->uses[k], v))
                return false;
    }
    return r->tail > 0;
}

// What calls of functions made of one value of a body follows from it: each value's next copy, the
// first at the value as it is written.
static const ValueId *copies_of(Origins *o)
{
    if (o->copies)
        return o->copies;
    o->copies = NEWS(o->arena, ValueId, o->m->values.len);
    for (ValueId v = o->m->values.len - 1; v; v--) {
        ValueId written = value_written(o->m, v);
        if (written == v)
            continue;
        o->copies[v] = o->copies[written];
        o->copies[written] = v;
    }
    return o->copies;
}

// Also at all calls of the function that it is in.
static void reach_source(Reach *r, ValueId source)
{
    const ValueId *copies = copies_of(r->o);
    for (ValueId v = value_written(r->o->m, source); v && r->tail < MAX_REACH; v = copies[v])
        reach(r, v);
    reach(r, source);
}

// Does all fit that follows from the sources reached?
static bool fits(Reach *r)
{
    if (!reach_all(r))
        return false;
    r->end = r->tail;
    for (uint32_t i = 0; i < r->end; i++) {
        ValueId v = r->o->queue[i];
        if (i == MAX_REACH || (i >= r->tail && is_denied(r, v)))
            return false;
        for (uint32_t k = r->uses->first[v]; k < r->uses->first[v + 1]; k++)
            if (is_held_back(r, &r->uses->uses[k]))
                return false;
    }
    return true;
}

bool origin_mends(Origins *o, const Uses *uses, ValueId source, DType want)
{
    Reach r = {.o = o, .uses = uses, .have = value_at(o->m, source)->dtype, .want = want};
    o->walk += 2;
    reach_source(&r, source);
    return fits(&r);
}

bool origin_mends_together(Origins *o, const Uses *uses, const Origin *all, DType want)
{
    Reach r = {.o = o, .uses = uses, .want = want, .lenient = true};
    r.have = value_at(o->m, all->value)->dtype;
    o->walk += 2;
    reach_source(&r, all->value);
    for (uint32_t i = 0; i < all->others.len && r.tail < MAX_REACH; i++)
        reach_source(&r, all->others.at[i]);
    return fits(&r);
}
