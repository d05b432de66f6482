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
    bool reduces;
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

const ExprFacts *expr_facts(Printer *p, const Expr *e)
{
    if (p->facts[e->id].known)
        return &p->facts[e->id];
    LoopSet s = {.p = p, .reduces = e->kind == EX_REDUCE};
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
    p->facts[e->id] = (ExprFacts){s.loops.at, s.loops.len, true, s.reduces};
    return &p->facts[e->id];
}

// ---- reads of what the kernel writes --------------------------------------------------------

static bool atom_changes(void *context, const Atom *a)
{
    return a->kind == ATOM_EXPR && expr_changes(context, a->e);
}

static bool compute_changes(Printer *p, const Expr *e)
{
    if (e->kind == EX_LOCAL && p->local_state[e->local] == 2)
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
    if (!p->changes[e->id])
        p->changes[e->id] = compute_changes(p, e) ? 2 : 1;
    return p->changes[e->id] == 2;
}

// ---- is all bound? ---------------------------------------------------------------------------

typedef struct ReadyTest {
    Printer *p;
    bool ready;
} ReadyTest;

static void test_local(void *context, const Expr *e)
{
    ReadyTest *t = context;
    if (e->kind == EX_LOCAL && !t->p->local_state[e->local])
        t->ready = false;
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

// ---- what a kernel uses ----------------------------------------------------------------------

typedef struct UseWalk {
    Module *mod;
    KernelUses *uses;
} UseWalk;

static bool use_atom(void *context, const Atom *a)
{
    UseWalk *w = context;
    if (a->kind == ATOM_DIM)
        w->uses->dims[a->var] = 1;
    if (a->kind == ATOM_EXPR)
        uses_add_expr(w->mod, w->uses, a->e);
    return false;
}

void uses_add_index(Module *mod, KernelUses *u, Index i)
{
    UseWalk w = {mod, u};
    if (i)
        poly_any(i, use_atom, &w);
}

static void use_buffer(Module *mod, KernelUses *u, BufferId id, uint8_t how)
{
    const Buffer *b = buffer_at(mod, id);
    u->buffers[id] |= how;
    for (uint32_t i = 0; i < b->rank; i++)
        uses_add_index(mod, u, b->dims[i]);
}

static void use_expr(void *context, const Expr *e)
{
    UseWalk *w = context;
    uses_add_index(w->mod, w->uses, e->index);
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        uses_add_index(w->mod, w->uses, e->at[i]);
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++)
        uses_add_index(w->mod, w->uses, loop_extent(w->mod->polys, e->vars[i]));
    if (e->kind == EX_LOAD) {
        use_buffer(w->mod, w->uses, e->buffer, 1);
    }
}

void uses_add_expr(Module *mod, KernelUses *u, const Expr *e)
{
    UseWalk w = {mod, u};
    if (e)
        expr_walk(mod, e, use_expr, &w);
}

void uses_add_call(Module *mod, KernelUses *u, const Call *call)
{
    for (uint32_t i = 0; call && i < call->nreads; i++)
        use_buffer(mod, u, call->reads[i], 1);
    for (uint32_t i = 0; call && i < call->nwrites; i++)
        use_buffer(mod, u, call->writes[i], 2);
    for (uint32_t i = 0; call && i < call->nnumbers; i++)
        uses_add_index(mod, u, call->numbers[i]);
}

static void use_stmts(Module *mod, KernelUses *u, const Stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == S_FOR)
            uses_add_index(mod, u, loop_extent(mod->polys, s->var));
        for (uint32_t i = 0; i < s->rank; i++)
            uses_add_index(mod, u, s->at[i]);
        uses_add_expr(mod, u, s->value);
        if (s->kind == S_STORE || s->kind == S_UPDATE) {
            use_buffer(mod, u, s->buffer, s->kind == S_UPDATE ? 3 : 2);
        }
        use_stmts(mod, u, s->body);
        use_stmts(mod, u, s->other);
    }
}

KernelUses kernel_uses(Module *mod, Arena *a, const Kernel *k)
{
    KernelUses u = {NEWS(a, uint8_t, mod->buffers.len),
                    NEWS(a, uint8_t, dim_count(mod->polys) + 1)};
    use_stmts(mod, &u, k->body);
    if (k->override)
        override_uses(mod, k, &u);
    return u;
}
