// What would be computed again and again is computed once and kept.
//
// 1. A reduction that does not depend on all parallel loops around it is computed before the inner
//    ones where it can be. Where the loops that it depends on are not the outer ones (Softmax over
//    a dim that is not the last), it gets a kernel and a buffer of its own.
// 2. y[n] = f(e(n), reduce k : g(e(k))) evaluates e twice (the exponentials of a Softmax). Where y
//    has e's dtype, y holds e first: y[n] = e(n); s = reduce k : g(y[k]); y[n] = f(y[n], s). Where
//    y is narrower than e's float32, a row beside it does, which threads have each their own of.

#include "codegen/hoist.h"

#include <string.h>

enum { ROUNDS = 16 };

// ---- reductions of their own ------------------------------------------------------------------

typedef struct Search {
    Fuse *f;
    const Point *p;
    const Expr *found;
} Search;

static bool is_wide(Fuse *f, LoopId v)
{
    return !poly_equals(loop_extent(f->mod->polys, v), 1);
}

// A loop that e does not depend on stands outside of one that it does depend on.
static bool skips_loop(const Search *s, const Expr *e)
{
    bool skipped = false;
    const ExprFree *x = expr_free(s->f, e);
    if (x->local)
        return false;
    for (uint32_t i = 0; i < s->p->nloops; i++) {
        LoopId v = s->p->loops[i]->var;
        if (!is_wide(s->f, v))
            continue;
        if (!expr_depends(s->f, e, v))
            skipped = true;
        else if (skipped)
            return true;
    }
    return false;
}

// All free variables of e are parallel loops: no reduction around it binds one.
static bool is_closed(const Search *s, const Expr *e)
{
    const ExprFree *x = expr_free(s->f, e);
    for (uint32_t i = 0; i < x->nloops; i++) {
        bool bound = false;
        for (uint32_t k = 0; k < s->p->nloops; k++)
            bound |= s->p->loops[k]->var == x->loops[i];
        if (!bound)
            return false;
    }
    return true;
}

// The innermost such reduction that is always evaluated. What reads the kernel's own results stays
// where they are made.
static void find_reduce(Search *s, const Expr *e)
{
    if (s->found || !expr_free(s->f, e)->reduces)
        return;
    bool lazy = e->kind == EX_SELECT || (e->kind == EX_BINARY && e->dtype == DT_BOOL);
    if (e->kind == EX_REDUCE) {
        if (!e->a)
            find_reduce(s, e->b);
        if (!s->found && is_closed(s, e) && skips_loop(s, e) &&
            !expr_reads(s->f->mod, e, s->p->store->buffer))
            s->found = e;
        return;
    }
    if (e->a)
        find_reduce(s, e->a);
    if (e->b && !lazy)
        find_reduce(s, e->b);
    if (e->c && !lazy)
        find_reduce(s, e->c);
}

// A step before `s` that computes the reduction into a buffer; NULL where a dim cannot be written.
static Step *reduce_step(Fuse *f, const Step *s, const Point *p, const Expr *e, const Expr **load)
{
    Module *mod = f->mod;
    Index dims[FUSE_MAX_LOOPS], at[FUSE_MAX_LOOPS];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < p->nloops; i++) {
        LoopId v = p->loops[i]->var;
        if (!expr_depends(f, e, v))
            continue;
        dims[rank] = loop_extent(mod->polys, v);
        at[rank] = poly_loop(mod->polys, v);
        if (poly_varies(dims[rank++]))
            return NULL;
    }
    BufferId b = buffer_new(mod, BUF_TEMP, s->kernel->name, e->dtype, rank, dims);
    Step *step = NEW(mod->arena, Step);
    Kernel *k = NEW(mod->arena, Kernel);
    *k = (Kernel){.id = mod->nkernels++, .name = s->kernel->name, .node = s->kernel->node};
    k->on_host = s->kernel->on_host;
    for (uint32_t i = 0; i < s->kernel->fused.len; i++)
        vec_push(mod->arena, &k->fused, s->kernel->fused.at[i]);
    *step = (Step){.kind = STEP_KERNEL, .node = s->node, .kernel = k};
    Stmt **tail = &k->body;
    for (uint32_t i = 0; i < p->nloops; i++) {
        if (!expr_depends(f, e, p->loops[i]->var))
            continue;
        Stmt *loop = NEW(mod->arena, Stmt);
        *loop = (Stmt){.kind = S_FOR, .par = true, .var = p->loops[i]->var};
        *tail = loop;
        tail = &loop->body;
    }
    Stmt *store = NEW(mod->arena, Stmt);
    *store = (Stmt){.kind = S_STORE, .buffer = b, .rank = rank, .value = e};
    *load = expr_load(mod, b, at);
    store->at = rank ? (*load)->at : NULL;
    *tail = store;
    return step;
}

// Returns the first of the new steps, which ends in s.
static Step *part_kernel(Fuse *f, Step *s)
{
    Step *first = s, **tail = &first;
    for (int round = 0; round < ROUNDS; round++) {
        Point p = point_of(s->kernel->body);
        Search search = {f, &p, NULL};
        if (!p.store)
            break;
        find_reduce(&search, p.store->value);
        const Expr *load = NULL;
        Step *step = search.found ? reduce_step(f, s, &p, search.found, &load) : NULL;
        if (!step)
            break;
        ExprSwap r = {search.found, load};
        ExprMap map = {&r, expr_swap, NULL};
        s->kernel->body = stmts_map(f, s->kernel->body, &map);
        step->next = s;
        *tail = step;
        tail = &step->next;
    }
    return first;
}

static Step *part_steps(Fuse *f, Step *s)
{
    Step *first = NULL, **tail = &first;
    while (s) {
        Step *next = s->next;
        s->body = part_steps(f, s->body);
        s->other = part_steps(f, s->other);
        *tail = s->kernel ? part_kernel(f, s) : s;
        tail = &s->next;
        s = next;
    }
    *tail = NULL;
    return first;
}

void hoist_reductions(Fuse *f)
{
    f->mod->steps = part_steps(f, f->mod->steps);
}

// ---- values shared between a row and its reduction --------------------------------------------

typedef struct Share {
    Fuse *f;
    const Point *p;
    LoopId n;              // the innermost loop
    const Expr *reduce;    // over k, of the same extent, of what e(k) is part of
    const Expr *in_row;    // e(n)
    const Expr *in_reduce; // e(k)
    LoopId k;
    bool apart;   // e is float32 and kept beside y
    BufferId row; // what holds it then
} Share;

static Index rename_loop(void *context, const Atom *a)
{
    const Share *s = context;
    return a->kind == ATOM_LOOP && a->var == s->n ? poly_loop(s->f->mod->polys, s->k) : NULL;
}

typedef struct Contains {
    const Expr *e;
    bool found;
} Contains;

static void test_same(void *context, const Expr *e)
{
    Contains *c = context;
    c->found |= e == c->e;
}

static bool contains(Fuse *f, const Expr *all, const Expr *e)
{
    Contains c = {e, false};
    expr_walk(f->mod, all, test_same, &c);
    return c.found;
}

// Looks for e(n), always evaluated and dear, whose e(k) the reduction evaluates.
static void find_shared(Share *s, const Expr *e)
{
    const DType kept = s->apart ? DT_F32 : buffer_at(s->f->mod, s->p->store->buffer)->dtype;
    if (s->in_row || (!s->apart && e->dtype != kept))
        return;
    bool dear = (e->kind == EX_UNARY && e->op >= U_EXP && e->op <= U_LOG1P) ||
                (e->kind == EX_BINARY && e->op == B_POW);
    if (dear && e->dtype == kept && expr_depends(s->f, e, s->n)) {
        ExprMap map = {s, NULL, rename_loop};
        const Expr *renamed = expr_map(s->f->mod, e, &map);
        if (contains(s->f, s->reduce->b, renamed)) {
            s->in_row = e;
            s->in_reduce = renamed;
            return;
        }
    }
    bool lazy = e->kind == EX_SELECT || (e->kind == EX_BINARY && e->dtype == DT_BOOL);
    if (e->kind == EX_REDUCE || e->kind == EX_LOAD)
        return;
    if (e->a)
        find_shared(s, e->a);
    if (e->b && !lazy)
        find_shared(s, e->b);
}

// Reductions over as many elements as the row has, that are the same for all of the row.
static void find_row_reduce(Share *s, const Expr *e)
{
    Fuse *f = s->f;
    if (s->in_row || !expr_free(f, e)->reduces)
        return;
    if (e->kind == EX_REDUCE) {
        if (e->rank != 1 || e->a || expr_depends(f, e, s->n) || e->op == R_ARGMAX ||
            e->op == R_ARGMIN ||
            loop_extent(f->mod->polys, e->vars[0]) != loop_extent(f->mod->polys, s->n))
            return;
        s->reduce = e;
        s->k = e->vars[0];
        find_shared(s, s->p->store->value);
        return;
    }
    bool lazy = e->kind == EX_SELECT || (e->kind == EX_BINARY && e->dtype == DT_BOOL);
    if (e->a)
        find_row_reduce(s, e->a);
    if (e->b && !lazy)
        find_row_reduce(s, e->b);
}

static Stmt *row_loop(Fuse *f, const Point *p, const Expr *value)
{
    Stmt *loop = NEW(f->mod->arena, Stmt), *store = NEW(f->mod->arena, Stmt);
    *loop = *p->loops[p->nloops - 1];
    *store = *p->store;
    store->value = value;
    loop->body = store;
    return loop;
}

// The loop that makes e.
static Stmt *fill_loop(const Share *s)
{
    Module *mod = s->f->mod;
    Stmt *loop = row_loop(s->f, s->p, s->in_row);
    Index n = poly_loop(mod->polys, s->n);
    if (s->apart) {
        loop->body->buffer = s->row;
        loop->body->rank = 1;
        loop->body->at = expr_load(mod, s->row, &n)->at;
    }
    return loop;
}

// A row for e; false: its size is known only as the program runs, where threads could not each have
// their own.
static bool new_row(Share *s)
{
    Module *mod = s->f->mod;
    Index extent = loop_extent(mod->polys, s->n);
    if (poly_any(extent, atom_is_not_of_inputs, mod->model))
        return false;
    s->row = buffer_new(mod, BUF_TEMP, STR("row"), DT_F32, 1, &extent);
    return true;
}

static const Expr *replaced(Fuse *f, const Expr *in, const Expr *from, const Expr *to)
{
    ExprSwap r = {from, to};
    ExprMap map = {&r, expr_swap, NULL};
    return expr_map(f->mod, in, &map);
}

// The store's position, with k for n.
static const Expr *element_at(Share *s, bool in_reduce)
{
    Index at[64];
    ExprMap map = {s, NULL, rename_loop};
    if (s->apart) {
        at[0] = poly_loop(s->f->mod->polys, in_reduce ? s->k : s->n);
        return expr_load(s->f->mod, s->row, at);
    }
    for (uint32_t i = 0; i < s->p->store->rank; i++)
        at[i] = in_reduce ? index_map(s->f->mod, s->p->store->at[i], &map) : s->p->store->at[i];
    return expr_load(s->f->mod, s->p->store->buffer, at);
}

static bool stores_row(Share *s)
{
    Point inner = *s->p;
    LoopId vars[64];
    const Stmt *store = s->p->store;
    return buffer_at(s->f->mod, store->buffer)->rank <= 64 && point_defines(s->f, &inner, vars) &&
           !expr_reads(s->f->mod, store->value, store->buffer);
}

Stmt *share_row(Fuse *f, Stmt *body, BufferId *apart)
{
    Point p = point_of(body);
    if (!p.store || p.nloops == 0)
        return body;
    Share s = {.f = f, .p = &p, .n = p.loops[p.nloops - 1]->var, .apart = apart != NULL};
    if (!expr_free(f, p.store->value)->reduces)
        return body;
    find_row_reduce(&s, p.store->value);
    if (!s.in_row || !stores_row(&s) || (apart && !new_row(&s)))
        return body;
    if (apart)
        *apart = s.row;
    const Expr *sum = replaced(f, s.reduce, s.in_reduce, element_at(&s, true));
    Stmt *let = NEW(f->mod->arena, Stmt);
    *let = (Stmt){.kind = S_LET, .local = f->mod->nlocals++, .value = sum};
    const Expr *local = expr_local(f->mod, let->local, sum->dtype, 0, NULL);
    const Expr *value = replaced(f, p.store->value, s.reduce, local);
    value = replaced(f, value, s.in_row, element_at(&s, false));
    Stmt *fill = fill_loop(&s);
    fill->next = let;
    let->next = row_loop(f, &p, value);
    Stmt *first = fill;
    for (uint32_t i = p.nloops - 1; i > 0; i--) {
        Stmt *loop = NEW(f->mod->arena, Stmt);
        *loop = *p.loops[i - 1];
        loop->body = first;
        first = loop;
    }
    return first;
}
