// Checks that keep every access within its buffer, where operands' sizes are known only at run
// time.
//
// An index that is proved less than its dim (ir/poly.h) needs nothing. Of one that grows with each
// of its loop variables the greatest value is known: the index with every variable at its extent
// less one. A step before the kernel compares that with the dim. Indices read from data are checked
// by the lowerings, and so are those that a condition around them speaks of. Runs after kernels are
// fused, since what is between two of them keeps them apart.

#include "codegen/check_bounds.h"
#include "codegen/cpu/gemm.h"

#include <string.h>

enum { MAX_GUARDS = 32 };

// How an expression was last visited: one that two others share is not visited twice.
typedef struct Visit {
    uint32_t kernel;        // one more than its place among those visited; 0: never
    uint32_t guards, loops; // around it
    const Expr *innermost, *nowhere;
    Index extent; // of the innermost loop
} Visit;

typedef struct Checker {
    Module *mod;
    Visit *visits; // by Expr.id
    uint32_t kernel;
    Step **at; // where the step of the kernel is linked in
    const Expr *guards[MAX_GUARDS];
    uint32_t nguards;
    Index extents[MAX_GUARDS]; // of the loops around that may be empty
    uint32_t nextents;
    const Expr *nowhere; // what is known of dims where nothing runs; NULL: nothing
    Map done; // what was compared before this kernel
} Checker;

static bool is_loop(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_LOOP;
}

typedef struct Mention {
    const Atom *atom;
    bool found;
} Mention;

static bool is_atom(void *context, const Atom *a)
{
    return a == ((const Mention *)context)->atom;
}

static void find_atom(void *context, const Expr *e)
{
    Mention *m = context;
    m->found = m->found || (e->index && poly_any(e->index, is_atom, m));
}

// Does a condition around the access speak of one of the index's variables or dims?
static bool is_guarded(const Checker *c, Index i)
{
    for (uint32_t t = 0; t < i->nterms; t++)
        for (uint32_t k = 0; k < i->terms[t].natoms; k++)
            for (uint32_t g = 0; g < c->nguards; g++) {
                Mention m = {i->terms[t].atoms[k], false};
                if (m.atom->kind == ATOM_LOOP && expr_uses_loop(c->mod, c->guards[g], m.atom->var))
                    return true;
                if (m.atom->kind == ATOM_DIM)
                    expr_walk(c->mod, c->guards[g], find_atom, &m);
                if (m.found)
                    return true;
            }
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

static void add_check(Checker *c, Index most, Index dim, BufferId b)
{
    Module *mod = c->mod;
    bool added;
    const void *key[3 + MAX_GUARDS] = {most, dim, c->nowhere};
    for (uint32_t i = 0; i < c->nextents; i++)
        key[3 + i] = c->extents[i];
    size_t size = (3 + c->nextents) * sizeof *key;
    map_put(&c->done, (Str){arena_copy(mod->arena, key, size), size}, &added);
    if (!added)
        return;
    Step *s = NEW(mod->arena, Step);
    s->kind = STEP_CHECK;
    s->node = (*c->at)->node;
    s->cond = expr_compare(mod, C_LT, expr_index(mod, most), expr_index(mod, dim));
    for (uint32_t i = 0; i < c->nextents; i++) { // nothing is read where nothing runs
        const Expr *none = expr_index(mod, poly_const(mod->polys, 0));
        none = expr_compare(mod, C_LE, expr_index(mod, c->extents[i]), none);
        s->cond = expr_binary(mod, B_OR, s->cond, none);
    }
    if (c->nowhere)
        s->cond = expr_binary(mod, B_OR, s->cond, c->nowhere);
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
        if (poly_reads_data(i) || poly_less(p, i, dim) || !grows(i) || is_guarded(c, i))
            continue;
        if (!poly_any(i, is_loop, NULL) && is_guarded(c, dim)) // one place, asked of the dim
            continue;
        Index most = poly_map(p, i, at_most, p);
        while (poly_any(most, is_loop, NULL)) // an extent that is an outer loop's variable
            most = poly_map(p, most, at_most, p);
        if (!poly_reads_data(most) && !poly_less(p, most, dim))
            add_check(c, most, dim, b);
    }
}

static void guard(Checker *c, const Expr *cond)
{
    if (cond && c->nguards < MAX_GUARDS)
        c->guards[c->nguards++] = cond;
}

// A loop around what follows; false if it never runs.
static bool enter_loop(Checker *c, LoopId v)
{
    Polys *p = c->mod->polys;
    Index extent = loop_extent(p, v);
    if (poly_equals(extent, 0))
        return false;
    bool known = poly_reads_data(extent) || poly_any(extent, is_loop, NULL) ||
                 poly_less(p, poly_const(p, 0), extent);
    if (!known && c->nextents < MAX_GUARDS)
        c->extents[c->nextents++] = extent;
    return true;
}

static bool was_visited(Checker *c, const Expr *e)
{
    Visit *v = &c->visits[e->id];
    Visit now = {c->kernel,
                 c->nguards,
                 c->nextents,
                 c->nguards ? c->guards[c->nguards - 1] : NULL,
                 c->nowhere,
                 c->nextents ? c->extents[c->nextents - 1] : NULL};
    bool guards = v->guards == 0 || (v->guards == now.guards && v->innermost == now.innermost);
    bool loops = v->loops == 0 || (v->loops == now.loops && v->extent == now.extent);
    if (v->kernel == now.kernel && v->nowhere == now.nowhere && guards && loops)
        return true;
    *v = now;
    return false;
}

// May cond (NULL: none) be `when`? Nothing is read that a condition known to be otherwise guards.
static bool is_taken(const Expr *cond, bool when)
{
    return !cond || cond->kind != EX_CONST || (cond->value.i != 0) == when;
}

static void check_expr(Checker *c, const Expr *e)
{
    uint32_t before = c->nguards, around = c->nextents;
    if (!e || was_visited(c, e))
        return;
    const bool asks = e->kind == EX_SELECT || e->kind == EX_REDUCE;
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++)
        if (!enter_loop(c, e->vars[i])) {
            c->nextents = around;
            return;
        }
    if (e->kind == EX_LOAD)
        check_access(c, e->buffer, e->rank, e->at);
    check_expr(c, e->a); // the condition of a SELECT or a REDUCE stands outside of itself
    if (asks)
        guard(c, e->a);
    if (!asks || is_taken(e->a, true))
        check_expr(c, e->b);
    if (e->kind != EX_SELECT || is_taken(e->a, false))
        check_expr(c, e->c);
    c->nguards = before;
    c->nextents = around;
}

static void test_varies(void *context, const Expr *e)
{
    *(bool *)context |= e->kind == EX_LOAD || e->kind == EX_LOCAL || e->kind == EX_REDUCE ||
                        (e->index && poly_varies(e->index));
}

// Does the statement ask for nothing but dims?
static bool asks_dims(const Checker *c, const Stmt *s)
{
    bool varies = s->kind != S_IF;
    if (!varies)
        expr_walk(c->mod, s->value, test_varies, &varies);
    return !varies;
}

static void check_stmts(Checker *c, const Stmt *s);

// A choice by dims: what either branch reads is asked for where it runs.
static void check_choice(Checker *c, const Stmt *s)
{
    Module *mod = c->mod;
    const Expr *around = c->nowhere, *never = expr_unary(mod, U_NOT, s->value);
    c->nowhere = around ? expr_binary(mod, B_OR, around, never) : never;
    check_stmts(c, s->body);
    c->nowhere = around ? expr_binary(mod, B_OR, around, s->value) : s->value;
    check_stmts(c, s->other);
    c->nowhere = around;
}

static void check_stmts(Checker *c, const Stmt *s)
{
    for (; s; s = s->next) {
        uint32_t before = c->nguards, around = c->nextents;
        if (s->kind == S_FOR && !enter_loop(c, s->var))
            continue;
        check_expr(c, s->value);
        if (s->kind == S_STORE || s->kind == S_UPDATE)
            check_access(c, s->buffer, s->rank, s->at);
        bool asks = s->kind == S_IF || s->kind == S_WHILE;
        bool known = asks && s->value->kind == EX_CONST;
        if (!known && asks_dims(c, s)) {
            check_choice(c, s);
            continue;
        }
        if (asks && !known)
            guard(c, s->value);
        if (!known || s->value->value.i)
            check_stmts(c, s->body);
        if (!known || !s->value->value.i)
            check_stmts(c, s->other);
        c->nguards = before;
        c->nextents = around;
    }
}

// Figures of values without regard to dims: each load is of the element that is stored.
static bool is_flat(const Kernel *k)
{
    return k->override && k->override->figures && k->override->figures->flat;
}

static void check_steps(Checker *c, Step **at)
{
    for (; *at; at = &(*at)->next) {
        if ((*at)->kernel && !is_flat((*at)->kernel)) {
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
