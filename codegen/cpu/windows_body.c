// Statements of the schedules of windows.

#include "codegen/cpu/windows_body.h"

Body body_of(Module *mod)
{
    return (Body){.mod = mod};
}

Stmt *body_append(Body *b, StmtKind kind)
{
    Stmt *s = NEW(b->mod->arena, Stmt);
    s->kind = kind;
    *(b->first ? b->tail : &b->first) = s;
    b->tail = &s->next;
    return s;
}

Index body_fixed(Body *b, int64_t k)
{
    return poly_const(b->mod->polys, k);
}

LocalId body_row(Body *b, DType t, Index n)
{
    Stmt *s = body_append(b, S_ROW);
    s->dtype = t;
    s->local = b->mod->nlocals++;
    s->rank = 1;
    s->at = one_index(b->mod, poly_is_const(n, NULL) ? n : body_fixed(b, PLANE));
    return s->local;
}

Index body_loop(Body *b, Index n, Stmt **loop)
{
    Polys *polys = b->mod->polys;
    *loop = body_append(b, S_FOR);
    (*loop)->par = true;
    (*loop)->var = loop_new(polys, n);
    return poly_loop(polys, (*loop)->var);
}

void body_set(Body *b, LocalId v, Index at, const Expr *value)
{
    Stmt *s = body_append(b, S_SET);
    s->local = v;
    s->rank = 1;
    s->at = one_index(b->mod, at);
    s->value = value;
}

const Expr *window_joined(Module *mod, const Expr *reduce, const Expr *x, const Expr *y)
{
    BinaryOp op = reduce->op == R_MAX ? B_MAX : reduce->op == R_MIN ? B_MIN : B_ADD;
    return x ? expr_binary(mod, op, x, y) : y;
}

const Expr *window_within(Module *mod, Index low, Index i, Index high)
{
    const Expr *above =
        low ? expr_compare(mod, C_LE, expr_index(mod, low), expr_index(mod, i)) : NULL;
    const Expr *below =
        high ? expr_compare(mod, C_LT, expr_index(mod, i), expr_index(mod, high)) : NULL;
    return above && below ? expr_binary(mod, B_AND, above, below) : above ? above : below;
}

static const Expr *to_value(void *context, const Expr *e)
{
    const WindowAt *r = context;
    return e == r->w->reduce ? r->value : NULL;
}

static Index to_loops(void *context, const Atom *a)
{
    const WindowAt *r = context;
    return a->kind != ATOM_LOOP        ? NULL
           : a->var == r->w->axis[0].o ? r->row
           : a->var == r->w->axis[1].o ? r->column
                                       : NULL;
}

ExprMap window_map(WindowAt *at)
{
    return (ExprMap){at, to_value, to_loops};
}
