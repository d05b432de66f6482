// A few neighbours inside of a loop that goes on where they end (the last dim of a plane of four
// channels) are one loop of both in pieces of as many elements as compilers make vectors of.
//
// What differs between these neighbours alone, a number of each channel, is computed once and lies
// in an array that repeats it as often as a piece is long.

#include "codegen/print_parts.h"

// Pieces are whole vectors, and enough of them for sums not to wait for one another.
enum { LEAST = 2, MOST = 16, LANES = 16, SHORTEST = 64 };

static bool depends(Printer *p, const Expr *e, LoopId v)
{
    const ExprFacts *f = expr_facts(p, e);
    for (uint32_t i = 0; i < f->nloops; i++)
        if (f->loops[i] == v)
            return true;
    return false;
}

// Neighbours along the inner loop, and the outer one goes on behind them.
static bool goes_on(const Few *f, uint32_t rank, const Index *dims, const Index *at)
{
    Index linear = linear_index(f->p, rank, dims, at), outer, inner;
    return factor_of(f->p, linear, f->outer, &outer) && factor_of(f->p, linear, f->inner, &inner) &&
           poly_equals(inner, 1) && poly_equals(outer, f->n);
}

static void test(Few *f, const Expr *e, bool lazy)
{
    Printer *p = f->p;
    if (!f->fits || p->temp_of[e->id])
        return;
    if (!depends(p, e, f->outer)) {
        if (!depends(p, e, f->inner))
            return;
        f->fits = !lazy && !expr_facts(p, e)->reduces;
        for (uint32_t i = 0; i < f->repeated.len; i++)
            if (f->repeated.at[i] == e)
                return;
        vec_push(p->arena, &f->repeated, e);
        return;
    }
    if (e->kind == EX_LOAD) {
        const Buffer *b = buffer_at(p->mod, e->buffer);
        f->fits = goes_on(f, b->rank, b->dims, e->at);
        return;
    }
    f->fits = e->kind == EX_UNARY || e->kind == EX_BINARY || e->kind == EX_COMPARE ||
              e->kind == EX_SELECT || e->kind == EX_CAST;
    const bool arms = e->kind == EX_SELECT || (e->kind == EX_BINARY && e->dtype == DT_BOOL);
    const Expr *operands[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; i++)
        if (operands[i])
            test(f, operands[i], lazy || (arms && i > 0));
}

int64_t few_least(const Few *f)
{
    return 2 * f->wide / f->n;
}

bool few_find(Printer *p, LoopId outer, LoopId inner, const Expr *value, Few *f)
{
    int64_t all;
    *f = (Few){.p = p, .outer = outer, .inner = inner, .fits = true};
    if (!poly_is_const(print_extent(p, inner), &f->n) || f->n < LEAST || f->n > MOST ||
        poly_varies(print_extent(p, outer)) || expr_changes(p, value))
        return false;
    for (f->wide = SHORTEST; f->wide % f->n; f->wide += LANES)
        ;
    if (poly_is_const(print_extent(p, outer), &all) && all < few_least(f))
        return false;
    test(f, value, false);
    return f->fits;
}

// Prints what repeats; the loops count as one until few_end.
void few_begin(Few *f)
{
    Printer *p = f->p;
    const LoopId v = f->inner;
    const int n = (int)f->n, wide = (int)f->wide;
    f->first = p->ntemps + 1;
    p->ntemps += f->repeated.len;
    for (uint32_t i = 0; i < f->repeated.len; i++) {
        const Expr *e = f->repeated.at[i];
        const uint32_t t = f->first + i;
        print_line(p, "%s each%u[%d];", type_of_value(p, e->dtype), t, wide);
        print_line(p, "for (int64_t i%u = 0; i%u < %d; i%u++) {", v, v, n, v);
        print_bind_loop(p, v, 1);
        uint32_t mark = print_block_begin(p);
        print_line(p, "each%u[i%u] = %s;", t, v, without_parentheses(p, print_expr(p, e)));
        print_block_end(p, mark);
        print_bind_loop(p, v, -1);
        print_line(p, "}");
        print_line(p, "for (int l = %d; l < %d; l++)", n, wide);
        print_line(p, "    each%u[l] = each%u[l - %d];", t, t, n);
    }
    p->extent[v] = poly_mul(p->mod->polys, print_extent(p, f->outer), print_extent(p, v));
    p->zeroed[f->outer] = 1;
    p->nzeroed++;
    print_bind_loop(p, f->outer, 1);
}

void few_end(Few *f)
{
    loops_restore(f->p, f->outer, f->inner);
}

static void print_piece(Few *f, const char *many, FewBody body, const void *with)
{
    Printer *p = f->p;
    const LoopId v = f->inner;
    print_line(p, "for (int64_t l%u = 0; l%u < %s; l%u++) {", v, v, many, v);
    print_bind_loop(p, v, 1);
    uint32_t mark = print_block_begin(p);
    print_line(p, "const int64_t i%u = from%u + l%u;", v, v, v);
    for (uint32_t i = 0; i < f->repeated.len; i++) {
        const Expr *e = f->repeated.at[i];
        const uint32_t t = f->first + i;
        print_line(p, "const %s t%u = each%u[l%u];", type_of_value(p, e->dtype), t, t, v);
        memo_add(p, e, t);
    }
    body(p, with, str_printf(p->arena, "l%u", v).at);
    print_block_end(p, mark);
    print_bind_loop(p, v, -1);
    print_line(p, "}");
}

void few_loops(Few *f, const char *low, const char *high, FewBody body, const void *with)
{
    Printer *p = f->p;
    const LoopId v = f->inner;
    const int n = (int)f->n, wide = (int)f->wide;
    print_line(p, "const int64_t end%u = %d * (%s);", v, n, high);
    print_line(p, "int64_t from%u = %d * (%s);", v, n, low);
    print_line(p, "for (; from%u + %d <= end%u; from%u += %d)", v, wide, v, v, wide);
    p->indent++;
    print_piece(f, str_printf(p->arena, "%d", wide).at, body, with);
    p->indent--;
    print_piece(f, str_printf(p->arena, "end%u - from%u", v, v).at, body, with);
}

// ---- loops that store

static void test_dear(void *context, const Expr *e)
{
    *(bool *)context |=
        e->kind == EX_UNARY && unary_is_arithmetic((UnaryOp)e->op, e->a->dtype);
}

// Arithmetic with numbers that are the same all along the kernel is what compilers make as good
// vectors of.
static bool gains(const Few *f, const Expr *value)
{
    bool dear = false;
    expr_walk(f->p->mod, value, test_dear, &dear);
    for (uint32_t i = 0; i < f->repeated.len; i++)
        dear |= expr_facts(f->p, f->repeated.at[i])->nloops > 1;
    return dear;
}

static bool find_store(Printer *p, const Stmt *loop, Few *f)
{
    const Stmt *inner = loop->body, *store = inner ? inner->body : NULL;
    if (!loop->par || !inner || inner->kind != S_FOR || !inner->par || inner->next || !store ||
        store->kind != S_STORE || store->next ||
        !few_find(p, loop->var, inner->var, store->value, f) || !gains(f, store->value))
        return false;
    const Buffer *b = buffer_at(p->mod, store->buffer);
    return dtype_info(b->dtype)->bits >= 32 && goes_on(f, b->rank, b->dims, store->at);
}

bool few_fit(Printer *p, const Stmt *loop)
{
    Few f;
    return p->dialect->rows && find_store(p, loop, &f);
}

static void print_store(Printer *p, const void *with, const char *lane)
{
    (void)lane;
    print_stmts(p, with);
}

bool few_print(Printer *p, const Stmt *loop)
{
    Few f;
    if (!find_store(p, loop, &f))
        return false;
    const char *low = loop_low(p, loop->var), *high = loop_high(p, loop->var);
    print_line(p, "{");
    uint32_t mark = print_block_begin(p);
    few_begin(&f);
    few_loops(&f, low, high, print_store, loop->body->body);
    few_end(&f);
    print_block_end(p, mark);
    print_line(p, "}");
    return true;
}
