// What a kernel looks like to the schedules that will print it: a product of matrices, a reduction
// that runs along rows, an index that needs a division.

#include "codegen/fuse_parts.h"

#include <string.h>

Point point_of(const Stmt *body)
{
    Point p = {.nloops = 0};
    const Stmt *s = body;
    for (; s && s->kind == S_FOR && s->par && !s->next && p.nloops < FUSE_MAX_LOOPS; s = s->body)
        p.loops[p.nloops++] = s;
    if (s && s->kind == S_STORE && !s->next)
        p.store = s;
    return p;
}

bool point_defines(Fuse *f, const Point *p, LoopId *vars)
{
    if (!p->store)
        return false;
    Polys *polys = f->mod->polys;
    const Buffer *b = buffer_at(f->mod, p->store->buffer);
    uint32_t used = 0;
    for (uint32_t i = 0; i < b->rank; i++) {
        vars[i] = 0;
        if (poly_equals(p->store->at[i], 0) && poly_equals(b->dims[i], 1))
            continue;
        for (uint32_t k = 0; k < p->nloops && !vars[i]; k++)
            if (p->store->at[i] == poly_loop(polys, p->loops[k]->var) &&
                loop_extent(polys, p->loops[k]->var) == b->dims[i])
                vars[i] = p->loops[k]->var;
        for (uint32_t k = 0; k < i; k++)
            if (!vars[i] || vars[k] == vars[i])
                return false;
        used++;
        if (!vars[i])
            return false;
    }
    return used == p->nloops;
}

Index fuse_linear(Fuse *f, BufferId b, const Index *at)
{
    Polys *polys = f->mod->polys;
    const Buffer *buf = buffer_at(f->mod, b);
    Index sum = poly_const(polys, 0);
    for (uint32_t i = 0; i < buf->rank; i++)
        sum = poly_add(polys, poly_mul(polys, sum, buf->dims[i]), at[i]);
    return sum;
}

// ---- contractions -----------------------------------------------------------------------------

// The load that a factor is: "cast(load) - zero_point".
static const Expr *factor_load(const Expr *e)
{
    for (;;) {
        if (e->kind == EX_CAST)
            e = e->a;
        else if (e->kind == EX_BINARY && e->op == B_SUB)
            e = e->a;
        else
            return e->kind == EX_LOAD ? e : NULL;
    }
}

// A factor that is read for more outputs than it has elements: one that lacks a loop which the
// other has.
static bool lacks_loop(Fuse *f, const Point *p, const Expr *a, const Expr *b)
{
    for (uint32_t i = 0; i < p->nloops; i++) {
        LoopId v = p->loops[i]->var;
        if (!poly_equals(loop_extent(f->mod->polys, v), 1) && expr_depends(f, b, v) &&
            !expr_depends(f, a, v))
            return true;
    }
    return false;
}

static bool is_product(Fuse *f, const Point *p, const Expr *e)
{
    if (e->kind != EX_REDUCE || e->op != R_ADD || e->b->kind != EX_BINARY || e->b->op != B_MUL)
        return false;
    const Expr *a = factor_load(e->b->a), *b = factor_load(e->b->b);
    return a && b && a != b && (lacks_loop(f, p, a, b) || lacks_loop(f, p, b, a));
}

typedef struct Multiplies {
    Fuse *f;
    Point p;
    BufferId buffer;
    bool found;
} Multiplies;

static void find_factor(void *context, const Expr *e)
{
    Multiplies *m = context;
    if (!m->found && is_product(m->f, &m->p, e))
        m->found =
            factor_load(e->b->a)->buffer == m->buffer || factor_load(e->b->b)->buffer == m->buffer;
}

bool kernel_multiplies(Fuse *f, const Stmt *body, BufferId b)
{
    Multiplies m = {.f = f, .p = point_of(body), .buffer = b};
    stmts_walk(f, body, find_factor, &m);
    return m.found;
}

// ---- strides ----------------------------------------------------------------------------------

typedef struct Next {
    Fuse *f;
    LoopId v;
    bool data; // v decides what is read from data
} Next;

static Index next_of(void *context, const Atom *a)
{
    Next *n = context;
    if (a->kind == ATOM_EXPR && expr_depends(n->f, a->e, n->v))
        n->data = true;
    return a->kind == ATOM_LOOP && a->var == n->v
               ? poly_add_const(n->f->mod->polys, poly_loop(n->f->mod->polys, n->v), 1)
               : NULL;
}

// What i grows by when v does, where that is the same everywhere; else NULL.
static Index stride_of(Fuse *f, Index i, LoopId v)
{
    if (!index_depends(f, i, v))
        return poly_const(f->mod->polys, 0);
    Next n = {f, v, false};
    Index step = poly_sub(f->mod->polys, poly_map(f->mod->polys, i, next_of, &n), i);
    return n.data || poly_is_overflow(step) || index_depends(f, step, v) ? NULL : step;
}

static bool stride_is(Fuse *f, const Expr *load, LoopId v, int64_t most)
{
    Index step = stride_of(f, fuse_linear(f, load->buffer, load->at), v);
    int64_t k;
    return step && poly_is_const(step, &k) && k >= -most && k <= most;
}

typedef struct Strides {
    Fuse *f;
    LoopId v;
    bool small;
} Strides;

static void test_stride(void *context, const Expr *e)
{
    Strides *s = context;
    if (e->kind == EX_LOAD && s->small)
        s->small = stride_is(s->f, e, s->v, 2);
}

// ---- matrices ---------------------------------------------------------------------------------

static bool is_linear(Fuse *f, const Point *p, const Expr *sum, Index i)
{
    for (uint32_t k = 0; k < p->nloops; k++)
        if (!stride_of(f, i, p->loops[k]->var))
            return false;
    for (uint32_t k = 0; k < sum->rank; k++)
        if (!stride_of(f, i, sum->vars[k]))
            return false;
    return true;
}

// No loop's extent depends on another's variable: loops may change places.
static bool extents_are_plain(Fuse *f, const Point *p, const Expr *sum)
{
    for (uint32_t i = 0; i < p->nloops + sum->rank; i++) {
        LoopId v = i < p->nloops ? p->loops[i]->var : sum->vars[i - p->nloops];
        if (poly_varies(loop_extent(f->mod->polys, v)))
            return false;
    }
    return true;
}

static bool widens_load(const Expr *e)
{
    return e->kind == EX_CAST && e->dtype == DT_F32 && e->a->kind == EX_LOAD &&
           e->a->dtype == DT_BF16;
}

// The sum's factors are loads as they are, or both of bfloat16, all indices are linear, and the
// elements that are neighbours in the output hang on one factor alone: how many, else NULL.
static Index matrices_columns(Fuse *f, const Point *p, const Expr *sum)
{
    const Expr *a = sum->b->a, *b = sum->b->b;
    const bool half = widens_load(a) && widens_load(b);
    a = half ? a->a : a;
    b = half ? b->a : b;
    if (sum->a || a->kind != EX_LOAD || b->kind != EX_LOAD ||
        (!half && buffer_at(f->mod, p->store->buffer)->dtype != sum->dtype) ||
        a->buffer == p->store->buffer || b->buffer == p->store->buffer ||
        !extents_are_plain(f, p, sum))
        return NULL;
    Index la = fuse_linear(f, a->buffer, a->at), lb = fuse_linear(f, b->buffer, b->at);
    Index ly = fuse_linear(f, p->store->buffer, p->store->at);
    if (!is_linear(f, p, sum, la) || !is_linear(f, p, sum, lb) || !is_linear(f, p, sum, ly))
        return NULL;
    for (uint32_t i = p->nloops; i > 0; i--) {
        LoopId v = p->loops[i - 1]->var;
        if (poly_equals(stride_of(f, ly, v), 1) && !poly_equals(loop_extent(f->mod->polys, v), 1))
            return index_depends(f, la, v) != index_depends(f, lb, v)
                       ? loop_extent(f->mod->polys, v)
                       : NULL;
    }
    return NULL;
}

static bool factor_is_linear(Fuse *f, const Point *p, const Expr *sum, const Expr *e)
{
    const Expr *load = factor_load(e);
    return is_linear(f, p, sum, fuse_linear(f, load->buffer, load->at));
}

static uint32_t loops_of_weight(Fuse *f, const Point *p, const Expr *e)
{
    const Expr *load = factor_load(e);
    uint32_t n = 0;
    if (buffer_at(f->mod, load->buffer)->kind != BUF_WEIGHT)
        return 0;
    for (uint32_t i = 0; i < p->nloops; i++)
        n += expr_depends(f, load, p->loops[i]->var) &&
             !poly_equals(loop_extent(f->mod->polys, p->loops[i]->var), 1);
    return n;
}

// Do neighbours in the output hang on a weight alone?
static bool weights_are_lanes(Fuse *f, const Point *p, const Expr *sum)
{
    Index ly = fuse_linear(f, p->store->buffer, p->store->at);
    const Expr *a = factor_load(sum->b->a), *b = factor_load(sum->b->b);
    for (uint32_t i = p->nloops; i > 0; i--) {
        LoopId v = p->loops[i - 1]->var;
        Index step = stride_of(f, ly, v);
        if (!step || !poly_equals(step, 1) || poly_equals(loop_extent(f->mod->polys, v), 1))
            continue;
        const bool by_a = expr_depends(f, a, v), by_b = expr_depends(f, b, v);
        return by_a != by_b && buffer_at(f->mod, (by_a ? a : b)->buffer)->kind == BUF_WEIGHT;
    }
    return false;
}

// Does a place of the other factor hang on both what is summed and a loop around the sum?
static bool has_window(Fuse *f, const Point *p, const Expr *sum, const Expr *x)
{
    for (uint32_t i = 0; i < x->rank; i++)
        for (uint32_t k = 0; k < sum->rank; k++) {
            if (!index_depends(f, x->at[i], sum->vars[k]))
                continue;
            for (uint32_t v = 0; v < p->nloops; v++)
                if (index_depends(f, x->at[i], p->loops[v]->var))
                    return true;
        }
    return false;
}

// The factors of a sum over windows, that of weights first; false: it is none.
static bool factors_of_windows(Fuse *f, const Point *p, const Expr *sum, const Expr **w,
                               const Expr **x)
{
    *w = factor_load(sum->b->a);
    *x = factor_load(sum->b->b);
    if (buffer_at(f->mod, (*w)->buffer)->kind != BUF_WEIGHT) {
        const Expr *other = *w;
        *w = *x;
        *x = other;
    }
    return buffer_at(f->mod, (*w)->buffer)->kind == BUF_WEIGHT && has_window(f, p, sum, *x);
}

// How many loops choose windows and nothing of the weight: *outside, as images of a batch are, of
// all that choose some of the weight, and *all, with those over places.
static void loops_of_windows(Fuse *f, const Point *p, const Expr *sum, uint32_t *outside,
                             uint32_t *all)
{
    const Expr *w, *x;
    bool weighs = false;
    *outside = *all = 0;
    if (!factors_of_windows(f, p, sum, &w, &x))
        return;
    for (uint32_t i = 0; i < p->nloops; i++) {
        const LoopId v = p->loops[i]->var;
        if (poly_equals(loop_extent(f->mod->polys, v), 1))
            continue;
        const bool of_weight = expr_depends(f, w, v);
        if (of_weight && !weighs)
            *outside = *all;
        weighs |= of_weight;
        *all += !of_weight && expr_depends(f, x, v);
    }
}

// ---- the shape of a kernel --------------------------------------------------------------------

typedef struct Look {
    Fuse *f;
    Point p;
    Shape s;
    uint32_t plain; // reductions that are always evaluated
} Look;

static bool look_at_atom(void *context, const Atom *a)
{
    Look *l = context;
    if (a->kind >= ATOM_FLOORDIV && a->kind <= ATOM_MAX)
        l->s.divisions += poly_varies(a->a) || poly_varies(a->b);
    return false;
}

typedef struct Inner {
    Fuse *f;
    const Expr *outer;
    bool found;
} Inner;

// A reduction that is made anew for each element of an outer one.
static void find_inner(void *context, const Expr *e)
{
    Inner *x = context;
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < x->outer->rank; i++)
        x->found |= expr_depends(x->f, e, x->outer->vars[i]);
}

// A reduction that neighbours in the result share, of so many elements, which lie apart.
static bool lies_apart(Look *l, const Expr *e, LoopId neighbours)
{
    enum { LEAST = 16 };
    Fuse *f = l->f;
    int64_t n = LEAST;
    poly_is_const(loop_extent(f->mod->polys, e->vars[e->rank - 1]), &n);
    if (n < LEAST || is_product(f, &l->p, e) || expr_depends(f, e, neighbours))
        return false;
    Strides t = {f, e->vars[e->rank - 1], true};
    expr_walk(f->mod, e->b, test_stride, &t);
    return !t.small;
}

static void look_at_reduce(Look *l, const Expr *e)
{
    Fuse *f = l->f;
    l->s.reduces++;
    if (expr_free(f, e->b)->reduces) {
        Inner x = {f, e, false};
        expr_walk(f->mod, e->b, find_inner, &x);
        l->s.nested |= x.found;
    }
    for (uint32_t i = 0; i < e->rank; i++)
        l->s.data_extents |= poly_reads_data(loop_extent(f->mod->polys, e->vars[i]));
    if (!l->p.store)
        return;
    if (is_product(f, &l->p, e)) {
        l->s.product = e;
        l->s.linear =
            factor_is_linear(f, &l->p, e, e->b->a) && factor_is_linear(f, &l->p, e, e->b->b);
        l->s.neighbours = matrices_columns(f, &l->p, e);
        l->s.matrices = l->s.neighbours != NULL;
        l->s.across = weights_are_lanes(f, &l->p, e);
        loops_of_windows(f, &l->p, e, &l->s.outside, &l->s.places);
        l->s.weight_loops = loops_of_weight(f, &l->p, e->b->a) + loops_of_weight(f, &l->p, e->b->b);
    }
    LoopId v = l->p.nloops ? l->p.loops[l->p.nloops - 1]->var : 0;
    l->s.apart |= v && e->rank && lies_apart(l, e, v);
    if (v && expr_depends(f, e, v)) {
        Strides t = {f, v, !expr_free(f, e->b)->reduces};
        expr_walk(f->mod, e->b, test_stride, &t);
        l->s.rows = l->s.rows && t.small;
    }
}

static void look_at_expr(void *context, const Expr *e)
{
    Look *l = context;
    if (e->kind == EX_LOAD) {
        Index i = fuse_linear(l->f, e->buffer, e->at);
        l->s.overflows |= poly_is_overflow(i);
        poly_any(i, look_at_atom, l);
    } else {
        if (e->index)
            poly_any(e->index, look_at_atom, l);
        for (uint32_t i = 0; e->at && i < e->rank; i++)
            poly_any(e->at[i], look_at_atom, l);
    }
    if (e->kind == EX_REDUCE)
        look_at_reduce(l, e);
}

static void look_at_stmts(Look *l, const Stmt *s)
{
    for (; s; s = s->next) {
        if (s->value)
            expr_walk(l->f->mod, s->value, look_at_expr, l);
        if (s->kind == S_FOR)
            l->s.data_extents |= poly_reads_data(loop_extent(l->f->mod->polys, s->var));
        if (s->kind == S_STORE || s->kind == S_UPDATE) {
            Index i = fuse_linear(l->f, s->buffer, s->at);
            l->s.overflows |= poly_is_overflow(i);
            poly_any(i, look_at_atom, l);
        }
        look_at_stmts(l, s->body);
        look_at_stmts(l, s->other);
    }
}

typedef struct Always {
    Fuse *f;
    VEC(const Expr *) found;
} Always;

// Reductions of e that stand under no guard and in no index.
static void find_always(Always *a, const Expr *e)
{
    if (!expr_free(a->f, e)->reduces)
        return;
    if (e->kind == EX_REDUCE) {
        for (uint32_t i = 0; i < a->found.len; i++)
            if (a->found.at[i] == e)
                return;
        vec_push(a->f->arena, &a->found, e);
        return;
    }
    bool lazy = e->kind == EX_SELECT || (e->kind == EX_BINARY && e->dtype == DT_BOOL);
    if (e->a)
        find_always(a, e->a);
    if (e->b && !lazy)
        find_always(a, e->b);
}

Shape shape_of(Fuse *f, const Stmt *body)
{
    Look l = {.f = f, .p = point_of(body)};
    l.s.point = l.p.store != NULL;
    l.s.rows = l.s.point;
    look_at_stmts(&l, body);
    Always a = {.f = f};
    if (l.p.store)
        find_always(&a, l.p.store->value);
    l.s.always = a.found.len == l.s.reduces;
    return l.s;
}
