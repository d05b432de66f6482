// Kernels that only move elements.

#include "codegen/moves.h"

typedef struct Moves {
    const Kernel *k;
    const Module *mod; // for edges
    bool loads, computes, edge;
} Moves;

static void look_at_buffer(Moves *m, BufferId b)
{
    if (!m->mod)
        return;
    const BufferKind kind = buffer_at(m->mod, b)->kind;
    m->edge |= kind == BUF_INPUT || kind == BUF_OUTPUT;
}

static const Expr *let_of(const Stmt *s, LocalId local)
{
    const Expr *found = NULL;
    for (; s && !found; s = s->next) {
        if (s->kind == S_LET && s->local == local)
            return s->value;
        found = let_of(s->body, local);
        if (!found)
            found = let_of(s->other, local);
    }
    return found;
}

// A stored value: conditions and indices say which element it is, and are not looked at.
static void look_at_value(Moves *m, const Expr *e)
{
    switch (e->kind) {
    case EX_LOAD:
        m->loads = true;
        look_at_buffer(m, e->buffer);
        return;
    case EX_CONST:
        return;
    case EX_SELECT:
        look_at_value(m, e->b);
        look_at_value(m, e->c);
        return;
    case EX_LOCAL:
        e = let_of(m->k->body, e->local);
        if (e)
            look_at_value(m, e);
        else
            m->computes = true;
        return;
    default:
        m->computes = true;
    }
}

static void look_at_stmts(Moves *m, const Stmt *s)
{
    for (; s && !m->computes; s = s->next) {
        if (s->kind == S_STORE) {
            look_at_buffer(m, s->buffer);
            look_at_value(m, s->value);
        } else if (s->kind != S_FOR && s->kind != S_LET && s->kind != S_IF) {
            m->computes = true;
        }
        look_at_stmts(m, s->body);
        look_at_stmts(m, s->other);
    }
}

bool kernel_moves(const Kernel *k)
{
    Moves m = {.k = k, .computes = k->override != NULL};
    look_at_stmts(&m, k->body);
    return m.loads && !m.computes;
}

bool kernel_moves_at_edge(const Module *mod, const Kernel *k)
{
    Moves m = {.k = k, .mod = mod};
    look_at_stmts(&m, k->body);
    return m.edge;
}
