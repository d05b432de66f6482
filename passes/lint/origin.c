#include "passes/lint/origin.h"

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
    uint32_t walk, work;
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
    if (!s || i >= n->nin)
        return NULL;
    if (i < s->ninputs)
        return &s->inputs[i];
    return s->ninputs && s->inputs[s->ninputs - 1].option == PARAM_VARIADIC
               ? &s->inputs[s->ninputs - 1]
               : NULL;
}

bool params_are_tied(const SchemaParam *a, const SchemaParam *b)
{
    bool free_form = a && a == b && a->option == PARAM_VARIADIC && !a->homogeneous;
    return a && b && a->type_var && b->type_var && !free_form &&
           strcmp(a->type_var, b->type_var) == 0;
}

const SchemaParam *param_of_result(const Node *n, uint32_t o)
{
    const Schema *s = n->schema;
    if (!s)
        return NULL;
    if (o < s->noutputs)
        return &s->outputs[o];
    return s->noutputs && s->outputs[s->noutputs - 1].option == PARAM_VARIADIC
               ? &s->outputs[s->noutputs - 1]
               : NULL;
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

static uint64_t bytes_of(const Model *m, ValueId v)
{
    const Value *at = value_at(m, v);
    uint64_t n = dtype_info(at->dtype)->bytes;
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

static bool is_before(const Model *m, ValueId a, ValueId b)
{
    uint64_t x = bytes_of(m, a), y = bytes_of(m, b);
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
    if (!o->sources.len) {
        r.value = near_origin(o, v);
        return r;
    }
    r.value = o->sources.at[0];
    for (uint32_t i = 1; i < o->sources.len; i++)
        if (is_before(o->m, o->sources.at[i], r.value))
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
