// What the printer must know of an expression: its free loop variables, whether it holds a
// reduction, whether it reads what its kernel writes, whether all it needs is bound already.

#include "codegen/cpu/gemm.h"
#include "codegen/printer.h"

#include <stdlib.h>
#include <string.h>

// ---- free loop variables -------------------------------------------------------------------

typedef struct LoopSet {
    Printer *p;
    VEC(LoopId) loops;
    bool reduces, rounds;
} LoopSet;

static void set_add(LoopSet *s, LoopId v)
{
    uint32_t i = 0;
    while (i < s->loops.len && s->loops.at[i] < v)
        i++;
    if (i < s->loops.len && s->loops.at[i] == v)
        return;
    vec_push(s->p->arena, &s->loops, v);
    memmove(s->loops.at + i + 1, s->loops.at + i, (s->loops.len - 1 - i) * sizeof v);
    s->loops.at[i] = v;
}

static void set_add_expr(LoopSet *s, const Expr *e)
{
    const ExprFacts *f = expr_facts(s->p, e);
    for (uint32_t i = 0; i < f->nloops; i++)
        set_add(s, f->loops[i]);
    s->reduces |= f->reduces;
    s->rounds |= f->rounds;
}

static bool set_add_atom(void *context, const Atom *a)
{
    LoopSet *s = context;
    if (a->kind == ATOM_LOOP)
        set_add(s, a->var);
    if (a->kind == ATOM_EXPR)
        set_add_expr(s, a->e);
    return false;
}

static void set_remove(LoopSet *s, LoopId v)
{
    for (uint32_t i = 0; i < s->loops.len; i++)
        if (s->loops.at[i] == v) {
            memmove(s->loops.at + i, s->loops.at + i + 1, (s->loops.len - 1 - i) * sizeof v);
            s->loops.len--;
            return;
        }
}

// Expressions may be made while a printer only looks at them. What callers hold stays where it is.
static void grow_facts(Printer *p)
{
    uint32_t n = 2 * p->mod->nexprs;
    ExprFacts *facts = NEWS(p->arena, ExprFacts, n);
    memcpy(facts, p->facts, p->nfacts * sizeof *facts);
    p->facts = facts;
    p->nfacts = n;
}

const ExprFacts *expr_facts(Printer *p, const Expr *e)
{
    if (e->id >= p->nfacts)
        grow_facts(p);
    if (p->facts[e->id].known)
        return &p->facts[e->id];
    LoopSet s = {.p = p,
                 .reduces = e->kind == EX_REDUCE,
                 .rounds = e->kind == EX_CAST && dtype_is_integer(e->dtype) &&
                           dtype_is_float(e->a->dtype)};
    if (e->index)
        poly_any(e->index, set_add_atom, &s);
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        poly_any(e->at[i], set_add_atom, &s);
    const Expr *operands[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; i++)
        if (operands[i])
            set_add_expr(&s, operands[i]);
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++)
        set_remove(&s, e->vars[i]);
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++)
        poly_any(loop_extent(p->mod->polys, e->vars[i]), set_add_atom, &s);
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++)
        set_remove(&s, e->vars[i]);
    p->facts[e->id] = (ExprFacts){s.loops.at, s.loops.len, true, s.reduces, s.rounds};
    return &p->facts[e->id];
}

// ---- reads of what the kernel writes --------------------------------------------------------

static bool atom_changes(void *context, const Atom *a)
{
    return a->kind == ATOM_EXPR && expr_changes(context, a->e);
}

static bool compute_changes(Printer *p, const Expr *e)
{
    if (e->kind == EX_LOCAL && p->is_row[e->local] == p->round)
        return true;
    if (e->kind == EX_LOAD && p->written[e->buffer])
        return true;
    if (e->index && poly_any(e->index, atom_changes, p))
        return true;
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        if (poly_any(e->at[i], atom_changes, p))
            return true;
    return (e->a && expr_changes(p, e->a)) || (e->b && expr_changes(p, e->b)) ||
           (e->c && expr_changes(p, e->c));
}

bool expr_changes(Printer *p, const Expr *e)
{
    if (p->changes[e->id] >> 1 != p->round)
        p->changes[e->id] = 2 * p->round + compute_changes(p, e);
    return p->changes[e->id] & 1;
}

// ---- is all bound? ---------------------------------------------------------------------------

typedef struct ReadyTest {
    Printer *p;
    bool ready;
} ReadyTest;

static bool test_atom(void *context, const Atom *a);

static void test_local(void *context, const Expr *e)
{
    ReadyTest *t = context;
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++)
        poly_any(loop_extent(t->p->mod->polys, e->vars[i]), test_atom, t);
    if (e->kind == EX_LOCAL && t->p->is_let[e->local] != t->p->round &&
        t->p->is_row[e->local] != t->p->round)
        t->ready = false;
}

static bool test_atom(void *context, const Atom *a)
{
    const ReadyTest *t = context;
    if (a->kind == ATOM_EXPR)
        expr_walk(t->p->mod, a->e, test_local, context);
    return false;
}

bool expr_ready(Printer *p, const Expr *e)
{
    const ExprFacts *f = expr_facts(p, e);
    for (uint32_t i = 0; i < f->nloops; i++)
        if (f->loops[i] >= p->nloops || !p->loop_bound[f->loops[i]])
            return false;
    ReadyTest t = {p, true};
    expr_walk(p->mod, e, test_local, &t);
    return t.ready;
}
