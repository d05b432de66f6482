// Loop nests under a guard: "0 <= i + r - 1" is where the loop over r begins, not a test inside it.

#include "codegen/print_parts.h"

#include <string.h>

void print_bind_loop(Printer *p, LoopId v, int by)
{
    if (v < p->nloops)
        p->loop_bound[v] = (uint8_t)(p->loop_bound[v] + by);
}

Index print_extent(const Printer *p, LoopId v)
{
    return v < p->nloops && p->extent[v] ? p->extent[v] : loop_extent(p->mod->polys, v);
}

typedef struct FreeTest {
    Printer *p;
    const Bounds *b;
    uint32_t from; // variables from this one on are not bound yet
} FreeTest;

static bool is_inner(const FreeTest *t, LoopId v)
{
    for (uint32_t i = t->from; i < t->b->n; i++)
        if (v == t->b->vars[i])
            return true;
    return false;
}

static bool uses_inner(void *context, const Atom *a)
{
    FreeTest *t = context;
    if (a->kind == ATOM_EXPR) {
        const ExprFacts *f = expr_facts(t->p, a->e);
        for (uint32_t k = 0; k < f->nloops; k++)
            if (is_inner(t, f->loops[k]))
                return true;
    }
    return a->kind == ATOM_LOOP && is_inner(t, a->var);
}

static bool is_expression(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_EXPR;
}

// difference = k * v + rest.
static void split(Polys *polys, Index difference, LoopId v, int64_t *k, Index *rest)
{
    Index var = poly_loop(polys, v);
    *k = 0;
    for (uint32_t i = 0; i < difference->nterms; i++) {
        const Term *t = &difference->terms[i];
        if (t->natoms == 1 && t->atoms[0] == var->terms[0].atoms[0])
            *k = t->coeff;
    }
    *rest = poly_sub(polys, difference, poly_scale(polys, var, *k));
}

static const char *tighter(Printer *p, const char *old, const char *bound, bool low)
{
    return str_printf(p->arena, "cameo_%s_i64(%s, %s)", low ? "max" : "min", old, bound).at;
}

// difference >= 0 as a bound of the innermost variable that it holds, or false.
static bool bound_by(Printer *p, Bounds *b, Index difference)
{
    Polys *polys = p->mod->polys;
    uint32_t i = b->n;
    FreeTest inner = {p, b, i};
    while (i > 0 && !poly_any(difference, uses_inner, &inner))
        inner.from = --i;
    if (i == b->n && !poly_any(difference, uses_inner, &inner))
        return false;
    if (!poly_any(difference, uses_inner, &inner) || poly_any(difference, is_expression, NULL))
        return false;
    int64_t k;
    Index rest;
    split(polys, difference, b->vars[i], &k, &rest);
    if (k == 0 || k == INT64_MIN || poly_any(rest, uses_inner, &inner))
        return false;
    if (k > 0) { // v >= ceil(-rest / k)
        Index least = poly_ceildiv(polys, poly_scale(polys, rest, -1), poly_const(polys, k));
        b->low[i] = tighter(p, b->low[i] ? b->low[i] : "0", print_index_bare(p, least), true);
    } else { // v <= floor(rest / -k)
        Index most = poly_floordiv(polys, rest, poly_const(polys, -k));
        const char *old =
            b->high[i] ? b->high[i] : print_index_bare(p, print_extent(p, b->vars[i]));
        b->high[i] = tighter(p, old, print_index_bare(p, poly_add_const(polys, most, 1)), false);
    }
    return true;
}

static uint32_t level_of(Printer *p, const Bounds *b, const Expr *e)
{
    const ExprFacts *f = expr_facts(p, e);
    uint32_t level = 0;
    for (uint32_t k = 0; k < f->nloops; k++)
        for (uint32_t i = level; i < b->n; i++)
            if (f->loops[k] == b->vars[i])
                level = i + 1;
    return level;
}

void bounds_read(Printer *p, Bounds *b, const Expr *guard)
{
    if (!guard)
        return;
    if (guard->kind == EX_BINARY && guard->op == B_AND) {
        bounds_read(p, b, guard->a);
        bounds_read(p, b, guard->b);
        return;
    }
    if (guard->kind == EX_COMPARE && (guard->op == C_LT || guard->op == C_LE)) {
        Index x = expr_as_index(p->mod, guard->a), y = expr_as_index(p->mod, guard->b);
        Polys *polys = p->mod->polys;
        int64_t gap = guard->op == C_LT ? -1 : 0;
        if (x && y && bound_by(p, b, poly_add_const(polys, poly_sub(polys, y, x), gap)))
            return;
    }
    vec_push(p->arena, &b->tests, guard);
    vec_push(p->arena, &b->levels, level_of(p, b, guard));
}

static void open_tests(Printer *p, Bounds *b, uint32_t level)
{
    for (uint32_t i = 0; i < b->tests.len; i++)
        if (b->levels.at[i] == level) {
            print_line(p, "if (%s) {", without_parentheses(p, print_expr(p, b->tests.at[i])));
            vec_push(p->arena, &b->marks, print_block_begin(p));
        }
}

void nest_begin(Printer *p, Bounds *b, const Expr *body)
{
    b->marks.len = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        open_tests(p, b, i);
        LoopId v = b->vars[i];
        const char *high = b->high[i] ? b->high[i] : print_index_bare(p, print_extent(p, v));
        if (body)
            print_hoisted_expr(p, body);
        const char *low = b->low[i] ? b->low[i] : "0";
        if (b->shared == i + 1)
            print_line(p, "for (%s i%u = %s + %s; i%u < %s; i%u += %s) {", p->dialect->index, v,
                       low, p->slices ? p->dialect->slice : p->dialect->lane, v, high, v,
                       p->slices ? p->dialect->nslices : p->dialect->lanes);
        else
            print_line(p, "for (%s i%u = %s; i%u < %s; i%u++) {", p->dialect->index, v, low, v,
                       high, v);
        print_bind_loop(p, v, 1);
        vec_push(p->arena, &b->marks, print_block_begin(p));
    }
    open_tests(p, b, b->n);
}

void nest_end(Printer *p, Bounds *b)
{
    for (uint32_t i = b->marks.len; i > 0; i--) {
        print_block_end(p, b->marks.at[i - 1]);
        print_line(p, "}");
    }
    for (uint32_t i = 0; i < b->n; i++)
        print_bind_loop(p, b->vars[i], -1);
}
