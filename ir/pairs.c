// float64 of marked nodes made double-double numbers: see ir/pairs.h.
//
// 1. A kernel of a marked node computes in pairs: every float64 in it, what it keeps in buffers of
//    its own and what it gives. What others give in float64 is widened where it is read.
// 2. A kernel of another node that reads such a buffer only moves it (what a loop carries, what a
//    branch gives): it and what it writes are pairs too, until nothing is added.
// 3. A constant of an operator's formula that no float64 holds (pi, 1 / sqrt(2)) is the sum of two.

#include "ir/pairs.h"

#include <math.h>
#include <stdlib.h>

const Str pairs_mark = {"shadow, double-double", 21};

bool node_is_paired(const Node *n)
{
    return str_eq(n->reason, pairs_mark);
}

typedef struct Pairs {
    Module *mod;
    ExprMap map;
    bool *paired; // by buffer
    bool found;   // a load of such a buffer; what cannot be rewritten
    bool changed;
} Pairs;

// ---- constants ---------------------------------------------------------------------------------

// Numbers of formulas, as float64 and what that leaves.
static const double numbers[][2] = {
    {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54},  // pi / 2
    {0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54}, // sqrt(2)
    {0x1.9884533d43651p-1, -0x1.cbc0d30ebfd15p-55}, // sqrt(2 / pi)
    {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56},  // 2 / sqrt(pi)
    {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56},  // ln 2
    {0x1.6e4e26d4801f7p-5, 0x1.441355475a31ap-59},  // 0.044715
};

// Attributes are float32 or small whole numbers: what float32 holds is meant as it stands.
static bool is_exact(double v)
{
    return isnan(v) || (double)(float)v == v || (fabs(v) < 0x1p53 && rint(v) == v);
}

// What v leaves of the number of a formula, times a power of two, that it stands for; NULL: it is
// none of these.
static const double *number_of(double v, double *rest)
{
    int e, f;
    double m = frexp(v, &e);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (frexp(numbers[i][0], &f) == fabs(m)) {
            *rest = copysign(ldexp(fabs(numbers[i][1]), e - f), v * numbers[i][1]);
            return numbers[i];
        }
    return NULL;
}

static const Expr *pair_const(Module *mod, double v)
{
    double rest = 0;
    const Expr *e = expr_const(mod, DT_F64X2, (Scalar){.f = v});
    if (is_exact(v) || !number_of(v, &rest))
        return e;
    return expr_binary(mod, B_ADD, e, expr_const(mod, DT_F64X2, (Scalar){.f = rest}));
}

// ---- expressions -------------------------------------------------------------------------------

static const Expr *mapped(Pairs *p, const Expr *e)
{
    return expr_map(p->mod, e, &p->map);
}

static const Index *mapped_at(Pairs *p, uint32_t rank, const Index *at)
{
    Index *out = NEWS(p->mod->arena, Index, rank + 1u);
    for (uint32_t i = 0; i < rank; i++)
        out[i] = index_map(p->mod, at[i], &p->map);
    return out;
}

// NULL: e is what it was once its operands are rewritten.
static const Expr *pair_node(void *context, const Expr *e)
{
    Pairs *p = context;
    if (e->dtype != DT_F64)
        return NULL;
    switch (e->kind) {
    case EX_CONST:
        return pair_const(p->mod, e->value.f);
    case EX_LOAD:
        return expr_cast(p->mod, DT_F64X2,
                         expr_load(p->mod, e->buffer, mapped_at(p, e->rank, e->at)), false);
    case EX_LOCAL:
        return expr_local(p->mod, e->local, DT_F64X2, e->rank, mapped_at(p, e->rank, e->at));
    case EX_CAST:
        return expr_cast(p->mod, DT_F64X2, mapped(p, e->a), false);
    default:
        return NULL;
    }
}

static void note_load(void *context, const Expr *e)
{
    Pairs *p = context;
    p->found |= e->kind == EX_LOAD && p->paired[e->buffer];
}

static void note_obstacle(void *context, const Expr *e)
{
    Pairs *p = context;
    double rest;
    if (e->kind == EX_BITCAST)
        p->found |= e->dtype == DT_F64 || e->a->dtype == DT_F64;
    if (e->kind == EX_CONST && e->dtype == DT_F64)
        p->found |= !is_exact(e->value.f) && !number_of(e->value.f, &rest);
}

// ---- kernels -----------------------------------------------------------------------------------

static bool any_expr(Pairs *p, const Stmt *s, void (*note)(void *, const Expr *))
{
    p->found = false;
    for (; s && !p->found; s = s->next) {
        if (s->value)
            expr_walk(p->mod, s->value, note, p);
        p->found = p->found || any_expr(p, s->body, note);
        p->found = p->found || any_expr(p, s->other, note);
    }
    return p->found;
}

static void pair_written(Pairs *p, const Stmt *s)
{
    for (; s; s = s->next) {
        bool writes = s->kind == S_STORE || s->kind == S_UPDATE;
        if (writes && !p->paired[s->buffer] && buffer_at(p->mod, s->buffer)->dtype == DT_F64)
            p->paired[s->buffer] = p->changed = true;
        pair_written(p, s->body);
        pair_written(p, s->other);
    }
}

static bool is_paired(Pairs *p, const Kernel *k)
{
    return (k->node && node_is_paired(node_at(p->mod->model, k->node))) ||
           any_expr(p, k->body, note_load);
}

static void find_buffers(Pairs *p, const Step *s)
{
    for (; s; s = s->next) {
        if (s->kernel && is_paired(p, s->kernel))
            pair_written(p, s->kernel->body);
        find_buffers(p, s->body);
        find_buffers(p, s->other);
    }
}

static void rewrite_stmts(Pairs *p, Stmt *s)
{
    for (; s; s = s->next) {
        if (s->value)
            s->value = mapped(p, s->value);
        if (s->kind == S_ROW && s->dtype == DT_F64)
            s->dtype = DT_F64X2;
        s->at = s->at ? mapped_at(p, s->rank, s->at) : NULL;
        rewrite_stmts(p, s->body);
        rewrite_stmts(p, s->other);
    }
}

static void rewrite_steps(Pairs *p, Step *s)
{
    for (; s; s = s->next) {
        if (s->kernel && is_paired(p, s->kernel))
            rewrite_stmts(p, s->kernel->body);
        if (s->node && node_is_paired(node_at(p->mod->model, s->node))) {
            s->value = s->value ? index_map(p->mod, s->value, &p->map) : NULL;
            s->cond = s->cond ? mapped(p, s->cond) : NULL;
        }
        rewrite_steps(p, s->body);
        rewrite_steps(p, s->other);
    }
}

static bool any_marked(const Model *m)
{
    for (NodeId n = 1; n < m->nodes.len; n++)
        if (!node_at(m, n)->dead && node_is_paired(node_at(m, n)))
            return true;
    return false;
}

void pairs_module(Module *mod)
{
    Pairs p = {.mod = mod, .changed = true};
    if (!any_marked(mod->model))
        return;
    p.map = (ExprMap){&p, pair_node, NULL};
    p.paired = calloc(mod->buffers.len, sizeof *p.paired);
    if (!p.paired)
        abort();
    while (p.changed) {
        p.changed = false;
        find_buffers(&p, mod->steps);
    }
    for (BufferId b = 1; b < mod->buffers.len; b++)
        if (p.paired[b])
            buffer_at(mod, b)->dtype = DT_F64X2;
    rewrite_steps(&p, mod->steps);
    free(p.paired);
}

// ---- what cannot be pairs ----------------------------------------------------------------------

static bool steps_can(Pairs *p, const Step *s)
{
    for (; s; s = s->next) {
        if (s->kernel && any_expr(p, s->kernel->body, note_obstacle))
            return false;
        for (uint32_t i = 0; s->call && i < s->call->nreads; i++)
            if (buffer_at(p->mod, s->call->reads[i])->dtype == DT_F64)
                return false;
        for (uint32_t i = 0; s->call && i < s->call->nwrites; i++)
            if (buffer_at(p->mod, s->call->writes[i])->dtype == DT_F64)
                return false;
        if (!steps_can(p, s->body) || !steps_can(p, s->other))
            return false;
    }
    return true;
}

// A table that the lowering made; the model's own constants are what they are.
static bool table_can(Model *m, const Buffer *b)
{
    if (b->kind != BUF_WEIGHT || b->value || b->dtype != DT_F64)
        return true;
    Str error = STR_NONE;
    const double *at = tensor_elements(m, (TensorData *)(uintptr_t)b->data, &error);
    for (uint64_t i = 0; at && i < b->data->nelements; i++)
        if (!is_exact(at[i]))
            return false;
    return at != NULL;
}

bool pairs_can(Module *alone)
{
    Pairs p = {.mod = alone};
    for (BufferId b = 1; b < alone->buffers.len; b++)
        if (!table_can(alone->model, buffer_at(alone, b)))
            return false;
    return steps_can(&p, alone->steps);
}
