// The powers of a Softmax's row and their sum, where they are neighbours of float32: a loop makes
// what is raised, and a function of the runtime the rest, since compilers make more operations of
// it and sum up in a loop of its own.

#include "codegen/parts.h"
#include "codegen/print_parts.h"

enum { SHORTEST = 16 }; // elements of a row

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

const Stmt *powers_print(Printer *p, const Stmt *loop)
{
    const bool single = p->depth == 0 && !(p->parts && p->parts->inside); // which threads share
    if (!p->dialect->rows || single || !powers_fit(p, loop))
        return NULL;
    const Expr *e = loop->body->value->a;
    Stmt raised = *loop, store = *loop->body;
    raised.body = &store;
    store.value = e->a;
    print_stmt(p, &raised);
    p->powers = true;
    p->zeroed[loop->var]++;
    p->nzeroed++;
    const char *first = print_element(p, store.buffer, store.at);
    p->zeroed[loop->var]--;
    p->nzeroed--;
    const LocalId sum = loop->next->local;
    print_line(p, "const float v%u = cameo_powers(&%s, %s, %d);", sum, first,
               print_index_bare(p, print_extent(p, loop->var)), e->b->kind == EX_SELECT);
    p->is_let[sum] = p->round;
    return loop->next;
}
