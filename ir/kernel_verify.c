// The verifier of the kernel IR: every variable bound, every rank and dtype as declared.

#include "ir/kernel.h"

#include <string.h>

typedef struct Check {
    const Module *mod;
    unsigned char *loops; // bound loop variables
    uint32_t nloops;
    unsigned char *locals; // 1: let, 2: row
    DType *local_types;
    uint32_t *local_ranks;
    Str *error;
    const Kernel *kernel;
    bool ok;
} Check;

static void fault(Check *c, const char *what, uint32_t id)
{
    if (c->ok)
        *c->error =
            str_printf(c->mod->arena, "kernel %u (%.*s): %s %u", c->kernel ? c->kernel->id : 0,
                       c->kernel ? (int)c->kernel->name.len : 0,
                       c->kernel ? c->kernel->name.at : "", what, id);
    c->ok = false;
}

static void check_expr(Check *c, const Expr *e);

static bool check_atom(void *context, const Atom *a)
{
    Check *c = context;
    if (a->kind == ATOM_LOOP && (a->var >= c->nloops || !c->loops[a->var]))
        fault(c, "unbound loop variable", a->var);
    if (a->kind == ATOM_EXPR) {
        if (a->e->dtype != DT_I64)
            fault(c, "an index that is no int64, expression", a->e->id);
        check_expr(c, a->e);
    }
    return false;
}

static void check_index(Check *c, Index i)
{
    if (poly_is_overflow(i))
        fault(c, "an index overflows in", i->id);
    else
        poly_any(i, check_atom, c);
}

static void check_reduce(Check *c, const Expr *e)
{
    for (uint32_t i = 0; i < e->rank; i++) {
        check_index(c, loop_extent(c->mod->polys, e->vars[i]));
        if (e->vars[i] < c->nloops && c->loops[e->vars[i]]++)
            fault(c, "a reduction rebinds loop variable", e->vars[i]);
    }
    if (e->a && e->a->dtype != DT_BOOL)
        fault(c, "a guard that is no bool, expression", e->a->id);
    if (e->a)
        check_expr(c, e->a);
    check_expr(c, e->b);
    for (uint32_t i = 0; i < e->rank; i++)
        if (e->vars[i] < c->nloops)
            c->loops[e->vars[i]]--;
}

static void check_local(Check *c, const Expr *e)
{
    if (e->local >= c->mod->nlocals || !c->locals[e->local])
        fault(c, "an undefined local", e->local);
    else if (c->local_types[e->local] != e->dtype || c->local_ranks[e->local] != e->rank)
        fault(c, "dtype or rank differs at local", e->local);
}

static void check_expr(Check *c, const Expr *e)
{
    if (!c->ok)
        return;
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        check_index(c, e->at[i]);
    switch (e->kind) {
    case EX_CONST:
        return;
    case EX_INDEX:
        check_index(c, e->index);
        return;
    case EX_LOAD:
        if (!e->buffer || e->buffer >= c->mod->buffers.len)
            fault(c, "no buffer", e->buffer);
        else if (buffer_at(c->mod, e->buffer)->rank != e->rank ||
                 buffer_at(c->mod, e->buffer)->dtype != e->dtype)
            fault(c, "rank or dtype differs at a load of buffer", e->buffer);
        return;
    case EX_LOCAL:
        check_local(c, e);
        return;
    case EX_REDUCE:
        check_reduce(c, e);
        return;
    default:
        check_expr(c, e->a);
        if (e->b)
            check_expr(c, e->b);
        if (e->c)
            check_expr(c, e->c);
        if (e->b && e->kind != EX_SELECT && e->a->dtype != e->b->dtype)
            fault(c, "operands of two dtypes at expression", e->id);
    }
}

static void check_write(Check *c, const Stmt *s)
{
    const Buffer *b =
        s->buffer && s->buffer < c->mod->buffers.len ? buffer_at(c->mod, s->buffer) : NULL;
    if (!b || b->kind == BUF_INPUT || b->kind == BUF_WEIGHT)
        fault(c, "a store to what is no writable buffer", s->buffer);
    else if (b->rank != s->rank || b->dtype != s->value->dtype)
        fault(c, "rank or dtype differs at a store to buffer", s->buffer);
}

static void check_stmts(Check *c, const Stmt *s)
{
    for (; s && c->ok; s = s->next) {
        for (uint32_t i = 0; s->at && i < s->rank; i++)
            check_index(c, s->at[i]);
        if (s->value)
            check_expr(c, s->value);
        if (!c->ok)
            return;
        if (s->kind == S_LET || s->kind == S_ROW) {
            c->locals[s->local] = s->kind == S_LET ? 1 : 2;
            c->local_types[s->local] = s->kind == S_LET ? s->value->dtype : s->dtype;
            c->local_ranks[s->local] = s->kind == S_LET ? 0 : s->rank;
        } else if (s->kind == S_SET) {
            if (c->locals[s->local] != 2 || c->local_types[s->local] != s->value->dtype)
                fault(c, "set of what is no row of that dtype, local", s->local);
        } else if (s->kind == S_STORE || s->kind == S_UPDATE) {
            check_write(c, s);
        } else if ((s->kind == S_IF || s->kind == S_WHILE) && s->value->dtype != DT_BOOL) {
            fault(c, "a condition that is no bool, expression", s->value->id);
        } else if (s->kind == S_FOR) {
            check_index(c, loop_extent(c->mod->polys, s->var));
            if (s->var < c->nloops)
                c->loops[s->var]++;
        }
        check_stmts(c, s->body);
        check_stmts(c, s->other);
        if (s->kind == S_FOR && s->var < c->nloops)
            c->loops[s->var]--;
    }
}

static void check_steps(Check *c, const Step *s)
{
    for (; s && c->ok; s = s->next) {
        c->kernel = s->kernel;
        if (s->kernel)
            check_stmts(c, s->kernel->body);
        c->kernel = NULL;
        if (s->value)
            check_index(c, s->value);
        if (s->cond)
            check_expr(c, s->cond);
        if (s->cond && s->cond->dtype != DT_BOOL)
            fault(c, "a step's condition is no bool, expression", s->cond->id);
        check_steps(c, s->body);
        check_steps(c, s->other);
    }
}

bool module_verify(const Module *mod, Str *error)
{
    Arena *scratch = arena_new();
    uint32_t nloops = loop_new(mod->polys, poly_const(mod->polys, 0)) + 1;
    Check c = {.mod = mod, .nloops = nloops, .error = error, .ok = true};
    c.loops = NEWS(scratch, unsigned char, nloops);
    c.locals = NEWS(scratch, unsigned char, mod->nlocals);
    c.local_types = NEWS(scratch, DType, mod->nlocals);
    c.local_ranks = NEWS(scratch, uint32_t, mod->nlocals);
    check_steps(&c, mod->steps);
    arena_free(scratch);
    return c.ok;
}
