// An estimate of the scalar operations that a kernel executes.
//
// It follows what printers and compilers do: an expression is computed in the innermost loop that
// binds its variables, unless a guard stands between, and once there however often it is named.

#include "codegen/fuse_parts.h"

#include <string.h>

enum { MATHEMATICS = 3 }; // of exp, log, erf: what they cost beside an addition

// ---- facts ------------------------------------------------------------------------------------

typedef struct LoopSet {
    Fuse *f;
    VEC(LoopId) loops;
    bool reduces, local;
} LoopSet;

static void set_add(LoopSet *s, LoopId v)
{
    for (uint32_t i = 0; i < s->loops.len; i++)
        if (s->loops.at[i] == v)
            return;
    vec_push(s->f->arena, &s->loops, v);
}

static void set_add_expr(LoopSet *s, const Expr *e)
{
    const ExprFree *x = expr_free(s->f, e);
    const LoopId *loops = x->loops;
    s->reduces |= x->reduces;
    s->local |= x->local;
    for (uint32_t i = 0, n = x->nloops; i < n; i++)
        set_add(s, loops[i]);
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

static void set_remove(LoopSet *s, const Expr *e)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->loops.len; i++) {
        bool bound = false;
        for (uint32_t k = 0; k < e->rank; k++)
            bound |= e->vars[k] == s->loops.at[i];
        if (!bound)
            s->loops.at[n++] = s->loops.at[i];
    }
    s->loops.len = n;
}

const ExprFree *expr_free(Fuse *f, const Expr *e)
{
    while (f->free.len <= e->id)
        vec_push(f->arena, &f->free, (ExprFree){0});
    if (f->free.at[e->id].known)
        return &f->free.at[e->id];
    LoopSet s = {.f = f, .reduces = e->kind == EX_REDUCE, .local = e->kind == EX_LOCAL};
    if (e->index)
        poly_any(e->index, set_add_atom, &s);
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        poly_any(e->at[i], set_add_atom, &s);
    const Expr *operands[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; i++)
        if (operands[i])
            set_add_expr(&s, operands[i]);
    if (e->kind == EX_REDUCE) {
        for (uint32_t i = 0; i < e->rank; i++)
            poly_any(loop_extent(f->mod->polys, e->vars[i]), set_add_atom, &s);
        set_remove(&s, e);
    }
    f->free.at[e->id] = (ExprFree){s.loops.at, s.loops.len, true, s.reduces, s.local};
    return &f->free.at[e->id];
}

bool expr_depends(Fuse *f, const Expr *e, LoopId v)
{
    const ExprFree *x = expr_free(f, e);
    for (uint32_t i = 0; i < x->nloops; i++)
        if (x->loops[i] == v)
            return true;
    return false;
}

typedef struct Depends {
    Fuse *f;
    LoopId v;
} Depends;

static bool atom_depends(void *context, const Atom *a)
{
    const Depends *d = context;
    return (a->kind == ATOM_LOOP && a->var == d->v) ||
           (a->kind == ATOM_EXPR && expr_depends(d->f, a->e, d->v));
}

bool index_depends(Fuse *f, Index i, LoopId v)
{
    Depends d = {f, v};
    return poly_any(i, atom_depends, &d);
}

// ---- sizes ------------------------------------------------------------------------------------

// A loop variable counts as the middle of its range.
static int64_t value_of(void *context, const Atom *a)
{
    Fuse *f = context;
    if (a->kind != ATOM_LOOP)
        return f->unknown;
    int64_t n = poly_eval(loop_extent(f->mod->polys, a->var), value_of, f);
    return n > 0 ? (n - 1) / 2 : 0;
}

double fuse_eval(Fuse *f, Index i)
{
    int64_t v = poly_eval(i, value_of, f);
    return v > 0 ? (double)v : 0;
}

// ---- work -------------------------------------------------------------------------------------

typedef struct Level {
    double times;         // how often its body runs
    VEC(uint32_t) marked; // expressions counted in it
} Level;

typedef struct Work {
    Fuse *f;
    Arena *arena;
    VEC(Level) levels;
    uint32_t depth, barrier; // nothing moves out of level `barrier`
    double sum;
} Work;

static void level_open(Work *w, double times)
{
    Level l = {.times = w->levels.at[w->depth].times * times};
    w->depth++;
    w->levels.len = w->depth;
    vec_push(w->arena, &w->levels, l);
}

static void level_close(Work *w)
{
    Level *l = &w->levels.at[w->depth--];
    for (uint32_t i = 0; i < l->marked.len; i++)
        w->f->marked.at[l->marked.at[i]] = 0;
}

static void loop_open(Work *w, LoopId v)
{
    level_open(w, fuse_eval(w->f, loop_extent(w->f->mod->polys, v)));
    while (w->f->depth.len <= v)
        vec_push(w->f->arena, &w->f->depth, 0u);
    w->f->depth.at[v] = w->depth;
}

static void loop_close(Work *w, LoopId v)
{
    w->f->depth.at[v] = 0;
    level_close(w);
}

static void add_expr(Work *w, const Expr *e);

// What dims alone give, as the greater of two does, is computed once.
static bool add_atom(void *context, const Atom *a)
{
    Work *w = context;
    if (a->kind == ATOM_EXPR)
        add_expr(w, a->e);
    else if (a->kind != ATOM_DIM && a->kind != ATOM_LOOP &&
             (poly_varies(a->a) || poly_varies(a->b)))
        w->sum += w->levels.at[w->depth].times;
    return false;
}

// What an expression costs beside its operands.
static double own_cost(const Expr *e)
{
    switch (e->kind) {
    case EX_UNARY:
        return e->op >= U_EXP && e->op <= U_LOG1P ? MATHEMATICS : 1;
    case EX_BINARY:
        return e->op == B_POW || e->op == B_ATAN2 ? MATHEMATICS : 1;
    case EX_COMPARE:
    case EX_SELECT:
    case EX_CAST:
        return 1;
    default:
        return 0;
    }
}

static void add_reduce(Work *w, const Expr *e)
{
    uint32_t barrier = w->barrier;
    for (uint32_t i = 0; i < e->rank; i++)
        loop_open(w, e->vars[i]);
    if (e->rank == 0)
        level_open(w, 1);
    if (e->a) {
        w->barrier = w->depth;
        add_expr(w, e->a);
    }
    add_expr(w, e->b);
    w->sum += w->levels.at[w->depth].times;
    w->barrier = barrier;
    for (uint32_t i = e->rank; i > 0; i--)
        loop_close(w, e->vars[i - 1]);
    if (e->rank == 0)
        level_close(w);
}

static double arm(Work *w, const Expr *e)
{
    double before = w->sum, cost;
    uint32_t barrier = w->barrier;
    level_open(w, 1);
    w->barrier = w->depth;
    add_expr(w, e);
    w->barrier = barrier;
    level_close(w);
    cost = w->sum - before;
    w->sum = before;
    return cost;
}

// The level in which printers compute e.
static uint32_t home_of(Work *w, const Expr *e)
{
    const ExprFree *x = expr_free(w->f, e);
    if (x->local)
        return w->depth;
    uint32_t home = w->barrier;
    for (uint32_t i = 0; i < x->nloops; i++) {
        uint32_t d = x->loops[i] < w->f->depth.len ? w->f->depth.at[x->loops[i]] : 0;
        home = d > home ? d : home;
    }
    return home < w->depth ? home : w->depth;
}

static void add_here(Work *w, const Expr *e);

static void add_expr(Work *w, const Expr *e)
{
    Fuse *f = w->f;
    while (f->marked.len <= e->id)
        vec_push(f->arena, &f->marked, (uint8_t)0);
    if (f->marked.at[e->id] || e->kind == EX_CONST)
        return;
    uint32_t depth = w->depth, home = home_of(w, e), n = depth - home;
    Level *inner = NEWS(w->arena, Level, n); // reopened when e is counted
    if (n)
        memcpy(inner, w->levels.at + home + 1, n * sizeof *inner);
    w->depth = home;
    f->marked.at[e->id] = 1;
    vec_push(w->arena, &w->levels.at[home].marked, e->id);
    add_here(w, e);
    w->sum += own_cost(e) * w->levels.at[home].times;
    w->depth = depth;
    w->levels.len = home + 1;
    for (uint32_t i = 0; i < n; i++)
        vec_push(w->arena, &w->levels, inner[i]);
}

static void add_here(Work *w, const Expr *e)
{
    if (e->index)
        poly_any(e->index, add_atom, w);
    if (e->kind == EX_LOAD)
        poly_any(fuse_linear(w->f, e->buffer, e->at), add_atom, w);
    if (e->kind == EX_REDUCE) {
        add_reduce(w, e);
    } else if (e->kind == EX_SELECT) {
        add_expr(w, e->a);
        double yes = arm(w, e->b), no = arm(w, e->c);
        w->sum += yes > no ? yes : no;
    } else {
        const Expr *operands[] = {e->a, e->b, e->c};
        for (int i = 0; i < 3; i++)
            if (operands[i])
                add_expr(w, operands[i]);
    }
}

static void add_stmts(Work *w, const Stmt *s)
{
    for (; s; s = s->next) {
        uint32_t barrier = w->barrier;
        for (uint32_t i = 0; s->kind != S_ROW && i < s->rank; i++)
            poly_any(s->at[i], add_atom, w);
        if (s->kind == S_WHILE)
            level_open(w, (double)w->f->unknown);
        if (s->value)
            add_expr(w, s->value);
        if (s->kind == S_UPDATE)
            w->sum += w->levels.at[w->depth].times;
        if (s->kind == S_FOR)
            loop_open(w, s->var);
        else if (s->body)
            level_open(w, 1);
        if (s->kind == S_IF || s->kind == S_WHILE)
            w->barrier = w->depth;
        add_stmts(w, s->body);
        add_stmts(w, s->other);
        w->barrier = barrier;
        if (s->kind == S_FOR)
            loop_close(w, s->var);
        else if (s->body)
            level_close(w);
        if (s->kind == S_WHILE)
            level_close(w);
    }
}

double fuse_work(Fuse *f, const Stmt *body)
{
    Work w = {.f = f, .arena = arena_new()};
    vec_push(w.arena, &w.levels, (Level){.times = 1});
    add_stmts(&w, body);
    w.depth = 1; // forget what the outermost level counted
    w.levels.len = 1;
    Level *top = &w.levels.at[0];
    for (uint32_t i = 0; i < top->marked.len; i++)
        f->marked.at[top->marked.at[i]] = 0;
    arena_free(w.arena);
    return w.sum;
}

static double steps_work(Fuse *f, const Step *s, double times)
{
    double sum = 0;
    for (; s; s = s->next) {
        double inner = times;
        if (s->kernel)
            sum += times * fuse_work(f, s->kernel->body);
        if (s->kind == STEP_LOOP)
            inner *= s->value ? fuse_eval(f, s->value) : (double)f->unknown;
        double yes = steps_work(f, s->body, inner), no = steps_work(f, s->other, inner);
        sum += yes > no ? yes : no;
    }
    return sum;
}

double module_work(Module *mod, int64_t size)
{
    Fuse f = {.mod = mod, .arena = arena_new(), .unknown = size};
    double sum = steps_work(&f, mod->steps, 1);
    arena_free(f.arena);
    return sum;
}
