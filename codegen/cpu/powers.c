// The powers of a Softmax's row and their sum, where they are neighbours of float32: a loop makes
// what is raised, and a function of the runtime the rest, since compilers make more operations of
// it and sum up in a loop of its own. So it is with a sum of powers that are not kept.

#include "codegen/parts.h"
#include "codegen/print_parts.h"

// Elements of a row, and of one that stays in registers: CAMEO_POWERS_SHORT.
enum { SHORTEST = 4, SHORT = 64 };

// Is sum the sum over the row that the loop stores?
static bool sums_row(Printer *p, const Expr *sum, const Stmt *loop)
{
    const Stmt *s = loop->body;
    const Expr *e = sum->kind == EX_REDUCE && sum->op == R_ADD && sum->rank == 1 ? sum->b : NULL;
    if (!e || sum->a || e->kind != EX_LOAD || e->buffer != s->buffer || e->rank != s->rank ||
        print_extent(p, sum->vars[0]) != print_extent(p, loop->var))
        return false;
    Polys *polys = p->mod->polys;
    for (uint32_t i = 0; i < e->rank; i++) {
        Index by;
        if (!factor_of(p, s->at[i], loop->var, &by))
            return false;
        Index step = poly_sub(polys, poly_loop(polys, sum->vars[0]), poly_loop(polys, loop->var));
        if (e->at[i] != poly_add(polys, s->at[i], poly_mul(polys, by, step)))
            return false;
    }
    return true;
}

bool powers_fit(Printer *p, const Stmt *loop)
{
    const Stmt *s = loop->body, *let = loop->next;
    int64_t n;
    Index by;
    if (loop->kind != S_FOR || !let || let->kind != S_LET || !s || s->next || s->kind != S_STORE ||
        !forms_stores_powers(p, loop) || s->value->dtype != DT_F32 ||
        (poly_is_const(print_extent(p, loop->var), &n) && n < SHORTEST))
        return false;
    const Buffer *b = buffer_at(p->mod, s->buffer);
    return b->dtype == DT_F32 && sums_row(p, let->value, loop) &&
           factor_of(p, linear_index(p, b->rank, b->dims, s->at), loop->var, &by) &&
           poly_equals(by, 1);
}

// The loop behind the sum, which divides what the first one stored by it and nothing else reads;
// NULL: there is none.
static const Stmt *divides(Printer *p, const Stmt *loop)
{
    const Stmt *own = loop->body, *let = loop->next, *last = let->next;
    const Stmt *s = last && last->kind == S_FOR && !last->next ? last->body : NULL;
    if (!s || s->next || s->kind != S_STORE || s->buffer != own->buffer ||
        print_extent(p, last->var) != print_extent(p, loop->var))
        return NULL;
    const Expr *e = s->value, *sum;
    if (e->kind != EX_BINARY || e->op != B_DIV || e->a->kind != EX_LOAD ||
        e->a->buffer != s->buffer || !(sum = forms_but_for(e->b, 0, 1)) || sum->kind != EX_LOCAL ||
        sum->rank || sum->local != let->local ||
        (e->b->kind == EX_SELECT) != (own->value->a->b->kind == EX_SELECT))
        return NULL;
    Polys *polys = p->mod->polys;
    const Index step = poly_sub(polys, poly_loop(polys, last->var), poly_loop(polys, loop->var));
    for (uint32_t i = 0; i < own->rank; i++) {
        Index by;
        if (e->a->at[i] != s->at[i] || !factor_of(p, own->at[i], loop->var, &by) ||
            s->at[i] != poly_add(polys, own->at[i], poly_mul(polys, by, step)))
            return NULL;
    }
    return last;
}

// Are these neighbours of float32 that no loop has to make?
static bool is_row(Printer *p, const Expr *e, LoopId v)
{
    const Buffer *b = e->kind == EX_LOAD ? buffer_at(p->mod, e->buffer) : NULL;
    Index by;
    return b && b->dtype == DT_F32 &&
           factor_of(p, linear_index(p, b->rank, b->dims, e->at), v, &by) && poly_equals(by, 1);
}

bool powers_print_sum(Printer *p, const Expr *e, uint32_t t)
{
    const LoopId v = e->vars[e->rank - 1];
    const Expr *sub = e->b->kind == EX_UNARY && e->b->op == U_EXP ? e->b->a : NULL;
    if (!sub || e->rank != 1 || e->op != R_ADD || e->b->dtype != DT_F32 ||
        !forms_subtracts_most(p, sub, v) || !is_row(p, sub->a, v))
        return false;
    const char *most = print_expr(p, sub->b);
    p->powers = true;
    print_line(p, "t%u = cameo_powers_sum(&%s, %s, %s);", t,
               print_row_first(p, v, sub->a->buffer, sub->a->at),
               print_index_bare(p, print_extent(p, v)), without_parentheses(p, most));
    return true;
}

const Stmt *powers_print(Printer *p, const Stmt *loop)
{
    const bool single = p->depth == 0 && !(p->parts && p->parts->inside); // which threads share
    if (!p->dialect->rows || single || !powers_fit(p, loop))
        return NULL;
    const Expr *e = loop->body->value->a;
    Stmt raised = *loop, store = *loop->body;
    raised.body = &store;
    store.value = e->a;
    int64_t n;
    const Stmt *last = divides(p, loop);
    const bool known = poly_is_const(print_extent(p, loop->var), &n);
    const bool whole = last && (!known || n <= SHORT);
    const bool in_place = !whole || !is_row(p, e->a, loop->var);
    if (in_place)
        print_stmt(p, &raised);
    p->powers = true;
    const char *first = print_row_first(p, loop->var, store.buffer, store.at);
    const bool empty = e->b->kind == EX_SELECT;
    const char *all = print_index_bare(p, print_extent(p, loop->var));
    if (whole) {
        const char *from = in_place ? first : print_row_first(p, loop->var, e->a->buffer, e->a->at);
        print_line(p, "cameo_powers_%s(&%s, &%s, %s, %d);", known ? "short" : "row", from, first,
                   all, empty);
        return last;
    }
    const LocalId sum = loop->next->local;
    print_line(p, "const float v%u = cameo_powers(&%s, %s, %d);", sum, first, all, empty);
    p->is_let[sum] = p->round;
    return loop->next;
}
