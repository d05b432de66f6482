// Checks that keep every access within its buffer, where operands' sizes are known only at run
// time.
//
// An index that is proved less than its dim (ir/poly.h) needs nothing. Of one that grows with each
// of its loop variables the greatest value is known: the index with every variable at its extent
// less one. A step before the kernel compares that with the dim, unless a loop around the access
// makes no iteration. Indices read from data are checked
// by the lowerings, and so are those that a condition around them speaks of. Runs after kernels are
// fused, since what is between two of them keeps them apart.

#include "codegen/check_bounds.h"

#include <string.h>

enum { MAX_GUARDS = 32, MAX_LOOPS = 64 };

// How an expression was last visited: one that two others share is not visited twice.
typedef struct Visit {
    uint32_t kernel; // one more than its place among those visited; 0: never
    uint32_t guards, loops;
    const Expr *innermost;
    LoopId loop;
} Visit;

typedef struct Checker {
    Module *mod;
    Visit *visits; // by Expr.id
    uint32_t kernel;
    Step **at; // where the step of the kernel is linked in
    const Expr *guards[MAX_GUARDS];
    uint32_t nguards;
    LoopId loops[MAX_LOOPS]; // around the access
    uint32_t nloops;
    Map done; // conditions that are asked before this kernel
} Checker;

static bool is_loop(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_LOOP;
}

static bool is_data(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_EXPR;
}

// Does a condition around the access speak of one of the index's variables?
static bool is_guarded(const Checker *c, Index i)
{
    for (uint32_t t = 0; t < i->nterms; t++)
        for (uint32_t k = 0; k < i->terms[t].natoms; k++)
            for (uint32_t g = 0; g < c->nguards; g++)
                if (i->terms[t].atoms[k]->kind == ATOM_LOOP &&
                    expr_uses_loop(c->mod, c->guards[g], i->terms[t].atoms[k]->var))
                    return true;
    return false;
}

// A sum of loop variables, each with a positive factor, and of what is constant in the kernel.
static bool grows(Index i)
{
    for (uint32_t t = 0; t < i->nterms; t++) {
        uint32_t loops = 0;
        for (uint32_t k = 0; k < i->terms[t].natoms; k++) {
            const Atom *a = i->terms[t].atoms[k];
            loops += a->kind == ATOM_LOOP;
            if (a->kind != ATOM_LOOP && a->kind != ATOM_DIM)
                return false;
        }
        if (loops > 1 || (loops && i->terms[t].coeff < 0))
            return false;
    }
    return true;
}

static Index at_most(void *context, const Atom *a)
{
    Polys *p = context;
    return a->kind == ATOM_LOOP ? poly_add_const(p, loop_extent(p, a->var), -1) : NULL;
}

static const Expr *is_empty(Module *mod, Index extent)
{
    return expr_compare(mod, C_LT, expr_index(mod, extent),
                        expr_const(mod, DT_I64, (Scalar){.i = 1}));
}

static void add_check(Checker *c, Index most, Index dim, BufferId b)
{
    Module *mod = c->mod;
    bool added;
    const Expr *cond = expr_compare(mod, C_LT, expr_index(mod, most), expr_index(mod, dim));
    for (uint32_t k = 0; k < c->nloops; k++) {
        Index extent = loop_extent(mod->polys, c->loops[k]);
        if (!poly_any(extent, is_loop, NULL) && !poly_any(extent, is_data, NULL))
            cond = expr_binary(mod, B_OR, cond, is_empty(mod, extent));
    }
    map_put(&c->done, (Str){arena_copy(mod->arena, &cond, sizeof cond), sizeof cond}, &added);
    if (!added || (cond->kind == EX_CONST && cond->value.i))
        return;
    Step *s = NEW(mod->arena, Step);
    s->kind = STEP_CHECK;
    s->node = (*c->at)->node;
    s->cond = cond;
    s->message = str_printf(mod->arena, "the dimensions of %.*s do not fit",
                            STR_ARG(str_escaped(mod->arena, buffer_at(mod, b)->name)));
    s->next = *c->at;
    *c->at = s;
    c->at = &s->next;
}

static void check_access(Checker *c, BufferId b, uint32_t rank, const Index *at)
{
    Polys *p = c->mod->polys;
    const Buffer *buf = buffer_at(c->mod, b);
    for (uint32_t k = 0; k < rank && k < buf->rank; k++) {
        Index i = at[k], dim = buf->dims[k];
        if (poly_any(i, is_data, NULL) || poly_less(p, i, dim) || !grows(i) || is_guarded(c, i))
            continue;
        Index most = poly_map(p, i, at_most, p);
        while (poly_any(most, is_loop, NULL)) // an extent that is an outer loop's variable
            most = poly_map(p, most, at_most, p);
        if (!poly_any(most, is_data, NULL) && !poly_less(p, most, dim))
            add_check(c, most, dim, b);
    }
}

static void guard(Checker *c, const Expr *cond)
{
    if (cond && c->nguards < MAX_GUARDS)
        c->guards[c->nguards++] = cond;
}

static void enter_loop(Checker *c, LoopId v)
{
    if (c->nloops < MAX_LOOPS)
        c->loops[c->nloops++] = v;
}

static bool was_visited(Checker *c, const Expr *e)
{
    Visit *v = &c->visits[e->id];
    Visit now = {c->kernel, c->nguards, c->nloops, c->nguards ? c->guards[c->nguards - 1] : NULL,
                 c->nloops ? c->loops[c->nloops - 1] : 0};
    if (v->kernel == now.kernel && v->loops == now.loops && v->loop == now.loop &&
        (v->guards == 0 || (v->guards == now.guards && v->innermost == now.innermost)))
        return true;
    *v = now;
    return false;
}

static void check_expr(Checker *c, const Expr *e)
{
    uint32_t before = c->nguards, loops = c->nloops;
    if (!e || was_visited(c, e))
        return;
    if (e->kind == EX_LOAD)
        check_access(c, e->buffer, e->rank, e->at);
    for (uint32_t k = 0; e->kind == EX_REDUCE && k < e->rank; k++)
        enter_loop(c, e->vars[k]);
    check_expr(c, e->a); // the condition of a SELECT or a REDUCE stands outside of itself
    if (e->kind == EX_SELECT || e->kind == EX_REDUCE)
        guard(c, e->a);
    check_expr(c, e->b);
    check_expr(c, e->c);
    c->nguards = before;
    c->nloops = loops;
}

static void check_stmts(Checker *c, const Stmt *s)
{
    for (; s; s = s->next) {
        uint32_t before = c->nguards, loops = c->nloops;
        check_expr(c, s->value);
        if (s->kind == S_STORE || s->kind == S_UPDATE)
            check_access(c, s->buffer, s->rank, s->at);
        if (s->kind == S_IF || s->kind == S_WHILE)
            guard(c, s->value);
        if (s->kind == S_FOR)
            enter_loop(c, s->var);
        check_stmts(c, s->body);
        check_stmts(c, s->other);
        c->nguards = before;
        c->nloops = loops;
    }
}

static void check_steps(Checker *c, Step **at)
{
    for (; *at; at = &(*at)->next) {
        if ((*at)->kernel) {
            c->at = at;
            c->kernel++;
            c->done = (Map){.arena = c->mod->arena};
            check_stmts(c, (*at)->kernel->body);
            at = c->at;
        }
        check_steps(c, &(*at)->body);
        check_steps(c, &(*at)->other);
    }
}

void check_bounds(Module *mod)
{
    Checker c = {.mod = mod, .visits = NEWS(mod->arena, Visit, mod->nexprs + 1u)};
    check_steps(&c, &mod->steps);
}
