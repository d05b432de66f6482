// Rewriting of kernels: a producer put in the place of loads, loops split.

#include "codegen/fuse_parts.h"

#include <string.h>

Stmt *stmts_map(Fuse *f, const Stmt *s, const ExprMap *map)
{
    Module *mod = f->mod;
    Stmt *first = NULL, **tail = &first;
    for (; s; s = s->next) {
        Stmt *copy = NEW(mod->arena, Stmt);
        *copy = *s;
        copy->next = NULL;
        if (s->value)
            copy->value = expr_map(mod, s->value, map);
        Index *at = NEWS(mod->arena, Index, s->rank);
        for (uint32_t i = 0; i < s->rank; i++)
            at[i] = index_map(mod, s->at[i], map);
        copy->at = at;
        copy->body = stmts_map(f, s->body, map);
        copy->other = stmts_map(f, s->other, map);
        *tail = copy;
        tail = &copy->next;
    }
    return first;
}

void stmts_walk(Fuse *f, const Stmt *s, void (*visit)(void *context, const Expr *e), void *context)
{
    for (; s; s = s->next) {
        if (s->value)
            expr_walk(f->mod, s->value, visit, context);
        stmts_walk(f, s->body, visit, context);
        stmts_walk(f, s->other, visit, context);
    }
}

// ---- inlining ---------------------------------------------------------------------------------

typedef struct Inline {
    Fuse *f;
    const Point *p;
    const LoopId *vars;
    ExprMap map;     // of the consumer
    const Index *at; // where the producer's element is wanted
} Inline;

static Index at_variable(void *context, const Atom *a)
{
    const Inline *x = context;
    for (uint32_t i = 0; a->kind == ATOM_LOOP && i < x->p->store->rank; i++)
        if (x->vars[i] == a->var)
            return x->at[i];
    return NULL;
}

static const Expr *load_to_value(void *context, const Expr *e)
{
    Inline *x = context;
    if (e->kind != EX_LOAD || e->buffer != x->p->store->buffer)
        return NULL;
    Index *at = NEWS(x->f->arena, Index, e->rank);
    for (uint32_t i = 0; i < e->rank; i++)
        at[i] = index_map(x->f->mod, e->at[i], &x->map);
    Inline inner = {.f = x->f, .p = x->p, .vars = x->vars, .at = at};
    ExprMap to_element = {&inner, NULL, at_variable};
    return expr_map(x->f->mod, x->p->store->value, &to_element);
}

Stmt *inline_point(Fuse *f, const Stmt *body, const Point *p, const LoopId *vars)
{
    Inline x = {.f = f, .p = p, .vars = vars};
    x.map = (ExprMap){&x, load_to_value, NULL};
    return stmts_map(f, body, &x.map);
}

// ---- splitting --------------------------------------------------------------------------------

typedef struct Split {
    Fuse *f;
    LoopId v, outer, inner;
    Index factor, count; // extent(v) = factor * count
    Index replaced;      // of v: factor * outer + inner
    const Stmt *loops[FUSE_MAX_LOOPS];
    uint32_t nloops;
} Split;

static bool is_loop(const Term *t)
{
    return t->natoms == 1 && t->atoms[0]->kind == ATOM_LOOP;
}

// The greatest value of i without v's term; INT64_MAX: i is no sum of loops, those besides v of
// known extents.
static int64_t greatest_without(Polys *polys, Index i, LoopId v)
{
    int64_t sum = 0, extent;
    for (uint32_t t = 0; t < i->nterms; t++) {
        const Term *k = &i->terms[t];
        if (!is_loop(k) || k->coeff < 0)
            return INT64_MAX;
        LoopId w = k->atoms[0]->var;
        if (w != v && (!poly_is_const(loop_extent(polys, w), &extent) ||
                       __builtin_mul_overflow(extent - 1, k->coeff, &extent) ||
                       __builtin_add_overflow(sum, extent, &sum)))
            return INT64_MAX;
    }
    return sum;
}

// i is v, or c * v + what is less than c (loops that walk neighbours together), c dividing `by`:
// *factor = by / c is what v is split by for i / by to be v's outer part.
static LoopId loop_to_split(Polys *polys, Index i, Index by, Index *factor)
{
    int64_t n;
    *factor = by;
    if (i->nterms == 1 && i->terms[0].coeff == 1 && is_loop(i->terms))
        return i->terms[0].atoms[0]->var;
    if (!poly_is_const(by, &n))
        return 0;
    for (uint32_t t = 0; t < i->nterms; t++) {
        const Term *k = &i->terms[t];
        if (is_loop(k) && k->coeff > 0 && k->coeff < n && n % k->coeff == 0 &&
            greatest_without(polys, i, k->atoms[0]->var) < k->coeff) {
            *factor = poly_const(polys, n / k->coeff);
            return k->atoms[0]->var;
        }
    }
    return 0;
}

// Does another loop run as far as v says?
static bool bounds_loop(Split *s, LoopId v)
{
    for (uint32_t i = 0; i < s->nloops; i++)
        if (index_depends(s->f, loop_extent(s->f->mod->polys, s->loops[i]->var), v))
            return true;
    return false;
}

static bool find_atom(void *context, const Atom *a)
{
    Split *s = context;
    Polys *polys = s->f->mod->polys;
    if (s->v || (a->kind != ATOM_FLOORDIV && a->kind != ATOM_MOD))
        return s->v != 0;
    Index factor;
    LoopId v = loop_to_split(polys, a->a, a->b, &factor);
    for (uint32_t i = 0; v && i < s->nloops; i++) {
        if (s->loops[i]->var != v || poly_varies(a->b))
            continue;
        Index extent = loop_extent(polys, v), count = poly_floordiv(polys, extent, factor);
        if (poly_mul(polys, count, factor) != extent || poly_equals(count, 1) ||
            poly_equals(count, 0) || bounds_loop(s, v))
            continue;
        s->v = v;
        s->factor = factor;
        s->count = count;
        return true;
    }
    return false;
}

static void find_in_expr(void *context, const Expr *e)
{
    Split *s = context;
    if (s->v)
        return;
    if (e->kind == EX_LOAD)
        poly_any(fuse_linear(s->f, e->buffer, e->at), find_atom, s);
    else if (e->index)
        poly_any(e->index, find_atom, s);
}

static Index split_variable(void *context, const Atom *a)
{
    const Split *s = context;
    return a->kind == ATOM_LOOP && a->var == s->v ? s->replaced : NULL;
}

// Puts the loop over `inner` within that over `outer`, in v's place.
static void split_loop(Split *s, Stmt *body)
{
    for (; body; body = body->body)
        if (body->kind == S_FOR && body->var == s->v) {
            Stmt *inner = NEW(s->f->mod->arena, Stmt);
            *inner = *body;
            inner->var = s->inner;
            body->var = s->outer;
            body->body = inner;
            return;
        }
}

Stmt *split_loops(Fuse *f, Stmt *body)
{
    Polys *polys = f->mod->polys;
    for (int round = 0; round < 8; round++) {
        Point p = point_of(body);
        Split s = {.f = f, .nloops = p.nloops};
        if (!p.store || p.nloops + 1 >= FUSE_MAX_LOOPS)
            return body;
        memcpy(s.loops, p.loops, p.nloops * sizeof *p.loops);
        expr_walk(f->mod, p.store->value, find_in_expr, &s);
        if (!s.v)
            poly_any(fuse_linear(f, p.store->buffer, p.store->at), find_atom, &s);
        if (!s.v)
            return body;
        s.outer = loop_new(polys, s.count);
        s.inner = loop_new(polys, s.factor);
        s.replaced = poly_add(polys, poly_mul(polys, s.factor, poly_loop(polys, s.outer)),
                              poly_loop(polys, s.inner));
        ExprMap map = {&s, NULL, split_variable};
        body = stmts_map(f, body, &map);
        split_loop(&s, body);
    }
    return body;
}
