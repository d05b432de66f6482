// Extremes and sums over windows of small planes,
//
//   y[.., i, j] = f(max q, r where inside : x[.., s*i + q - p, t*j + r - b]),
//
// are made of all rows of several planes as one: of columns first,
//
//   v[n] = max(x[n - w], x[n], x[n + w]),  u[n] = max(v[n - 1], v[n], v[n + 1]),
//
// since planes lie one behind the other, and loops over a row of 7 elements cost more than what
// they do. What that takes from a neighbouring row or plane, at the planes' edges, is made anew of
// the elements that its window has. A window of five is one of three of windows of three, at the
// edges too, but in a sum. u is y where windows move by one and y has as many places as x, all
// alike, else y's are picked from it. An index of x's or y's last dim goes on into the rows behind.

#include "codegen/cpu/windows_body.h"

enum { TAPS = 5, STEP = 2 };
enum { FEW = 12, MANY = 44 }; // columns
enum { WIDE = 24 };           // columns of which windows that move farther are as quick row by row

typedef struct Flat {
    Window *w;
    const Expr *load;
    const Stmt *store;
    Index planes, rows, columns, plane; // of x, a plane being rows * columns
    Index count, base, base_y;          // a block's planes; where it begins in x, in y
    bool whole;                         // y has as many places as x
    LocalId rows_of[2];                 // what passes give and the next ones read by turns
    int reads;                          // a pass: 0: x, else that row
    bool to_y;                          // and gives y
} Flat;

// ---- what it is --------------------------------------------------------------------------------

// Places before the centre of a window, which is where it would be in x for s * o.
static int64_t before(const Axis *x)
{
    return -x->first;
}

static int64_t behind(const Axis *x)
{
    return x->taps - 1 + x->first;
}

// Passes over one element before and one behind, which make an axis' windows.
static int64_t passes_of(const Axis *x)
{
    return before(x) > behind(x) ? before(x) : behind(x);
}

static bool axis_fits(const Window *w, const Axis *x, Index dim)
{
    Polys *polys = w->mod->polys;
    Index end = poly_add_const(polys, x->extent, x->first);
    return x->d == 1 && x->s <= STEP && x->taps <= TAPS && x->first <= 0 && behind(x) >= 0 &&
           poly_equals(x->low, 0) && (x->high == dim || x->high == poly_min(polys, end, dim));
}

// Are the dims around planes of x and y the same, each that is not one a loop over all of it?
static bool outer_dims_fit(Flat *f)
{
    const Point *p = f->w->point;
    Polys *polys = f->w->mod->polys;
    const Buffer *x = buffer_at(f->w->mod, f->load->buffer);
    const Buffer *y = buffer_at(f->w->mod, f->store->buffer);
    uint32_t loops = 0;
    f->planes = poly_const(polys, 1);
    for (uint32_t i = 0; i + 2 < x->rank; i++) {
        const Index at = f->load->at[i];
        if (at != f->store->at[i] || x->dims[i] != y->dims[i])
            return false;
        if (poly_equals(at, 0) && poly_equals(x->dims[i], 1))
            continue;
        if (loops + 2 >= p->nloops || at != poly_loop(polys, p->loops[loops]->var) ||
            loop_extent(polys, p->loops[loops]->var) != x->dims[i])
            return false;
        f->planes = poly_mul(polys, f->planes, x->dims[i]);
        loops++;
    }
    return loops + 2 == p->nloops;
}

// Does what is stored change by these loops in another way than by its window?
static bool value_uses(const Flat *f, uint32_t from, uint32_t to)
{
    Module *mod = f->w->mod;
    ExprSwap swap = {f->w->reduce, expr_const(mod, f->w->reduce->dtype, (Scalar){0})};
    ExprMap map = {&swap, expr_swap, NULL};
    const Expr *rest = expr_map(mod, f->store->value, &map);
    for (uint32_t i = from; i < to; i++)
        if (expr_uses_loop(mod, rest, f->w->point->loops[i]->var))
            return true;
    return false;
}

// A sum has each of its elements once, so that it is made in one pass.
static bool passes_fit(const Window *w)
{
    bool one = true;
    for (int i = 0; i < 2; i++)
        one = one && passes_of(&w->axis[i]) <= 1;
    return one || w->reduce->op != R_ADD;
}

static bool recognise(Flat *f)
{
    const Window *w = f->w;
    const Axis *y = &w->axis[0], *x = &w->axis[1];
    Polys *polys = w->mod->polys;
    f->load = w->reduce->b;
    f->store = w->point->store;
    if (!passes_fit(w) || f->load->kind != EX_LOAD || f->store->kind != S_STORE ||
        f->load->rank < 2 || f->store->rank != f->load->rank)
        return false;
    const uint32_t r = f->load->rank;
    const Buffer *from = buffer_at(w->mod, f->load->buffer);
    const Buffer *to = buffer_at(w->mod, f->store->buffer);
    f->rows = from->dims[r - 2];
    f->columns = from->dims[r - 1];
    f->plane = poly_mul(polys, f->rows, f->columns);
    const uint32_t n = w->point->nloops;
    f->whole = y->s == 1 && x->s == 1 && y->outs == f->rows && x->outs == f->columns &&
               passes_of(x) > 0 && !value_uses(f, n - 2, n);
    return f->load->at[r - 2] == y->place && f->load->at[r - 1] == x->place &&
           f->store->at[r - 2] == poly_loop(polys, y->o) &&
           f->store->at[r - 1] == poly_loop(polys, x->o) && to->dims[r - 2] == y->outs &&
           to->dims[r - 1] == x->outs && axis_fits(w, y, f->rows) && axis_fits(w, x, f->columns) &&
           outer_dims_fit(f) && !value_uses(f, 0, n - 2);
}

// ---- its loops ---------------------------------------------------------------------------------

static Index *flat_place(const Flat *f, Index i)
{
    Module *mod = f->w->mod;
    Index *at = NEWS(mod->arena, Index, f->load->rank);
    for (uint32_t k = 0; k + 1 < f->load->rank; k++)
        at[k] = poly_const(mod->polys, 0);
    at[f->load->rank - 1] = i;
    return at;
}

// Element i of what a pass reads.
static const Expr *element(const Flat *f, Index i)
{
    Module *mod = f->w->mod;
    if (f->reads)
        return expr_local(mod, f->rows_of[f->reads - 1], f->w->reduce->dtype, 1, &i);
    i = poly_add(mod->polys, i, f->base);
    return expr_load(mod, f->load->buffer, flat_place(f, i));
}

// `taps` of them, so far from one another.
static const Expr *extreme(const Flat *f, Index at, Index step, int64_t taps)
{
    Module *mod = f->w->mod;
    const Expr *e = NULL;
    for (int64_t i = 0; i < taps; i++)
        e = window_joined(mod, f->w->reduce, e,
                          element(f, poly_add(mod->polys, at, poly_scale(mod->polys, step, i))));
    return e;
}

// y's element `at` of all, `of` being what its window gives: row and column where its value tells
// them, else NULL.
static void store(const Flat *f, Body *b, Index at, const Expr *of, Index row, Index column)
{
    Module *mod = f->w->mod;
    WindowAt place = {f->w, of, row, column};
    const ExprMap map = window_map(&place);
    Stmt *s = body_append(b, S_STORE);
    s->buffer = f->store->buffer;
    s->rank = f->store->rank;
    s->at = flat_place(f, at);
    s->value = expr_map(mod, f->store->value, &map);
}

// Element i of what a pass gives.
static void set(const Flat *f, Body *b, Index i, const Expr *value)
{
    Polys *polys = f->w->mod->polys;
    if (f->to_y)
        store(f, b, poly_add(polys, i, f->base), value, NULL, NULL);
    else
        body_set(b, f->rows_of[f->reads == 1], i, value);
}

// All elements as one row, of windows of those up to one before and one behind, so far away.
static void reduce_all(const Flat *f, Body *b, Index step, int64_t before, int64_t behind)
{
    Polys *polys = f->w->mod->polys;
    Stmt *loop;
    Body cell = body_of(b->mod);
    Index size = poly_mul(polys, f->count, f->plane);
    Index i = body_loop(b, poly_sub(polys, size, poly_scale(polys, step, before + behind)), &loop);
    set(f, &cell, poly_add(polys, i, poly_scale(polys, step, before)),
        extreme(f, i, step, before + behind + 1));
    loop->body = cell.first;
}

// Then those at the edges of each plane again,
static void reduce_edge_rows(const Flat *f, Body *b, int64_t before, int64_t behind)
{
    Polys *polys = f->w->mod->polys;
    Stmt *loop, *planes;
    Body line = body_of(b->mod), cell = line;
    Index plane = poly_mul(polys, body_loop(b, f->count, &planes), f->plane);
    Index j = poly_add(polys, plane, body_loop(&line, f->columns, &loop));
    if (before)
        set(f, &cell, j, extreme(f, j, f->columns, 1 + behind));
    if (behind) {
        Index last = poly_add(polys, j, poly_sub(polys, f->plane, f->columns));
        set(f, &cell, last,
            extreme(f, poly_sub(polys, last, poly_scale(polys, f->columns, before)), f->columns,
                    before + 1));
    }
    loop->body = cell.first;
    planes->body = line.first;
}

// and of each row.
static void reduce_edge_columns(const Flat *f, Body *b, int64_t before, int64_t behind)
{
    Polys *polys = f->w->mod->polys;
    const Index one = poly_const(polys, 1), rows = poly_mul(polys, f->count, f->rows);
    for (int right = 0; right < 2; right++) {
        Stmt *loop;
        Body cell = body_of(b->mod);
        if (!(right ? behind : before))
            continue;
        Index at = poly_mul(polys, body_loop(b, rows, &loop), f->columns), from = at;
        if (right) {
            at = poly_add(polys, at, poly_add_const(polys, f->columns, -1));
            from = poly_add_const(polys, at, -before);
        }
        set(f, &cell, at, extreme(f, from, one, 1 + (right ? before : behind)));
        loop->body = cell.first;
    }
}

static void reduce_axis(Flat *f, Body *b, int axis)
{
    const Axis *x = &f->w->axis[axis];
    int64_t left = before(x), right = behind(x);
    for (int64_t n = passes_of(x); n > 0; n--) {
        const int64_t one = left-- > 0, other = right-- > 0;
        f->to_y = f->whole && axis == 1 && n == 1;
        reduce_all(f, b, axis ? poly_const(b->mod->polys, 1) : f->columns, one, other);
        if (axis)
            reduce_edge_columns(f, b, one, other);
        else
            reduce_edge_rows(f, b, one, other);
        f->reads = f->reads == 1 ? 2 : 1;
    }
}

// y, where it has fewer places than x or tells them apart.
static void pick(const Flat *f, Body *b)
{
    const Axis *y = &f->w->axis[0], *x = &f->w->axis[1];
    Polys *polys = f->w->mod->polys;
    Stmt *planes, *rows, *columns;
    Body plane = body_of(b->mod), row = plane, cell = plane;
    Index k = body_loop(b, f->count, &planes), i = body_loop(&plane, y->outs, &rows);
    Index j = body_loop(&row, x->outs, &columns);
    Index from = poly_add(polys, poly_mul(polys, k, f->plane),
                          poly_add(polys, poly_scale(polys, poly_mul(polys, i, f->columns), y->s),
                                   poly_scale(polys, j, x->s)));
    Index to = poly_add(polys, poly_mul(polys, k, y->outs), i);
    to = poly_add(polys, poly_mul(polys, to, x->outs), poly_add(polys, j, f->base_y));
    store(f, &cell, to, element(f, from), i, j);
    columns->body = cell.first;
    rows->body = row.first;
    planes->body = plane.first;
}

// A number that is computed once. An index that it is in is none of those of which
// codegen/check_bounds.c asks that they stay within a dim.
static Index let(Body *b, Index value)
{
    Stmt *s = body_append(b, S_LET);
    s->local = b->mod->nlocals++;
    s->value = expr_index(b->mod, value);
    return poly_expr(b->mod->polys, expr_local(b->mod, s->local, DT_I64, 0, NULL));
}

// The blocks of planes, each of as many as there is room for.
static Stmt *blocks(Flat *f)
{
    Module *mod = f->w->mod;
    Polys *polys = mod->polys;
    Stmt *loop;
    Body all = body_of(mod), block = all;
    Index most = poly_floordiv(polys, poly_const(polys, PLANE),
                               poly_max(polys, poly_const(polys, 1), f->plane));
    most = poly_max(polys, poly_const(polys, 1), most);
    Index n = body_loop(&all, poly_ceildiv(polys, f->planes, most), &loop);
    const Index first = poly_mul(polys, n, most);
    f->count = poly_min(polys, most, poly_sub(polys, f->planes, first));
    f->base = f->base_y = let(&block, poly_mul(polys, first, f->plane));
    if (!f->whole)
        f->base_y = let(&block, poly_mul(polys, poly_mul(polys, first, f->w->axis[0].outs),
                                         f->w->axis[1].outs));
    const int64_t kept = passes_of(&f->w->axis[0]) + passes_of(&f->w->axis[1]) - f->whole;
    for (int i = 0; i < 2 && i < kept; i++)
        f->rows_of[i] = body_row(&block, f->w->reduce->dtype, poly_const(polys, PLANE));
    reduce_axis(f, &block, 0);
    reduce_axis(f, &block, 1);
    if (!f->whole)
        pick(f, &block);
    loop->body = block.first;
    return all.first;
}

// Is a plane one that fits: every window's centre is in it, and no window meets two of its edges?
static const Expr *plane_fits(const Flat *f)
{
    Module *mod = f->w->mod;
    Polys *polys = mod->polys;
    const Expr *e = window_within(mod, NULL, f->plane, poly_const(polys, PLANE + 1));
    for (int i = 0; i < 2; i++) {
        const Axis *x = &f->w->axis[i];
        Index dim = i ? f->columns : f->rows;
        Index last = poly_scale(polys, poly_add_const(polys, x->outs, -1), x->s);
        e = expr_binary(mod, B_AND, e, window_within(mod, NULL, last, dim));
        Index high = i && x->s > 1 ? poly_const(polys, WIDE) : NULL;
        e = expr_binary(mod, B_AND, e, window_within(mod, poly_const(polys, x->taps), dim, high));
    }
    return e;
}

// Of known sizes, windows of five of these columns are as quick in a plane of their own, sums that
// are picked too unless they are few, and windows whose rows do not overlap without one.
static bool gains(const Flat *f, bool known)
{
    int64_t columns = 0;
    const bool sum = f->w->reduce->op == R_ADD;
    if (window_needs_no_plane(f->w) && (known || sum))
        return false;
    if (!known || !poly_is_const(f->columns, &columns))
        return true;
    if (sum && !f->whole && columns >= FEW)
        return false;
    return f->w->axis[0].taps <= 4 || columns < FEW || columns >= MANY;
}

Stmt *window_flat(Window *w, Stmt *other)
{
    Flat f = {.w = w};
    if (!recognise(&f))
        return NULL;
    const Expr *fits = plane_fits(&f);
    const bool known = fits->kind == EX_CONST;
    if (!gains(&f, known) || (known && !fits->value.i))
        return NULL;
    if (known)
        return blocks(&f);
    Body body = body_of(w->mod);
    Stmt *either = body_append(&body, S_IF);
    either->value = fits;
    either->body = blocks(&f);
    either->other = other;
    return body.first;
}
