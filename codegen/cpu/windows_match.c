// Which reductions are over windows of a plane (windows.c), and what is known of their border.

#include "codegen/cpu/windows_match.h"

enum { LOADED = 4, MOST_DIRECT = 8 }; // rows of a window
enum { WIDE = 32, FARTHEST = 4096 };  // columns

// The coefficient of v alone in i.
static int64_t coefficient(Index i, LoopId v)
{
    for (uint32_t k = 0; k < i->nterms; k++) {
        const Term *t = &i->terms[k];
        if (t->natoms == 1 && t->atoms[0]->kind == ATOM_LOOP && t->atoms[0]->var == v)
            return t->coeff;
    }
    return 0;
}

// place = s * o + d * r + first, s and d positive: which output loop goes with a tap?
static bool read_place(Window *w, Axis *x, Index place)
{
    Polys *polys = w->mod->polys;
    const Point *p = w->point;
    x->d = coefficient(place, x->r);
    for (uint32_t i = p->nloops - 2; i < p->nloops; i++) {
        x->s = coefficient(place, p->loops[i]->var);
        if (x->s <= 0 || x->d <= 0 || x->s > FARTHEST || x->d > FARTHEST)
            continue;
        x->o = p->loops[i]->var;
        Index rest = poly_sub(polys, place, poly_scale(polys, poly_loop(polys, x->o), x->s));
        rest = poly_sub(polys, rest, poly_scale(polys, poly_loop(polys, x->r), x->d));
        if (!poly_is_const(rest, &x->first) || !poly_is_const(loop_extent(polys, x->r), &x->taps))
            continue;
        x->place = place;
        x->outs = loop_extent(polys, x->o);
        x->extent = poly_add_const(polys, poly_scale(polys, x->outs, x->s),
                                   x->d * (x->taps - 1) + 1 - x->s);
        x->low = poly_const(polys, x->first);
        x->high = poly_add_const(polys, x->extent, x->first);
        int64_t outs;
        const bool known = poly_is_const(x->outs, &outs);
        return x->taps > 1 && x->taps <= FARTHEST && !poly_is_overflow(x->high) &&
               !poly_varies(x->outs) && (!known || (outs > 0 && outs <= INT32_MAX));
    }
    return false;
}

typedef struct Places {
    Window *w;
    bool fit;
} Places;

static void find_places(void *context, const Expr *e)
{
    Places *f = context;
    if (e->kind == EX_REDUCE || e->kind == EX_LOCAL)
        f->fit = false;
    for (uint32_t i = 0; e->kind == EX_LOAD && i < e->rank; i++)
        for (int k = 0; k < 2; k++) {
            Axis *x = &f->w->axis[k];
            if (!f->fit || !poly_has_loop(e->at[i], x->r))
                continue;
            f->fit = x->place ? x->place == e->at[i] : read_place(f->w, x, e->at[i]);
        }
}

// Is the guard nothing but bounds of the places?
static bool read_guard(Window *w, const Expr *e)
{
    Polys *polys = w->mod->polys;
    if (!e)
        return true;
    if (e->kind == EX_BINARY && e->op == B_AND)
        return read_guard(w, e->a) && read_guard(w, e->b);
    if (e->kind != EX_COMPARE || (e->op != C_LT && e->op != C_LE))
        return false;
    Index a = expr_as_index(w->mod, e->a), b = expr_as_index(w->mod, e->b);
    if (!a || !b)
        return false;
    Index room = poly_add_const(polys, poly_sub(polys, b, a), e->op == C_LT ? -1 : 0);
    for (int i = 0; i < 2; i++) {
        Axis *x = &w->axis[i];
        Index k = poly_sub(polys, room, x->place);
        if (!poly_varies(k)) { // place + k >= 0
            x->low = poly_max(polys, x->low, poly_scale(polys, k, -1));
            return true;
        }
        k = poly_add(polys, room, x->place);
        if (!poly_varies(k)) { // k - place >= 0
            x->high = poly_min(polys, x->high, poly_add_const(polys, k, 1));
            return true;
        }
    }
    return false;
}

typedef struct FindReduce {
    const Expr *found;
    uint32_t count;
} FindReduce;

static void find_reduce(void *context, const Expr *e)
{
    FindReduce *f = context;
    if (e->kind == EX_REDUCE) {
        f->found = e;
        f->count++;
    }
}

static bool is_simple(const Expr *e)
{
    DType t = e->b->dtype;
    bool real = t == DT_F32 || t == DT_F64, extreme = e->op == R_MAX || e->op == R_MIN;
    return e->rank == 2 && ((real && (extreme || e->op == R_ADD)) ||
                            (extreme && dtype_is_integer(t) && dtype_info(t)->bits >= 8));
}

static bool overlaps(const Axis *x)
{
    return x->s < x->taps * x->d;
}

// Unless it is known that there is none.
static bool axis_has_border(Polys *polys, const Axis *x)
{
    return !poly_equals(x->low, x->first) || x->high != poly_add_const(polys, x->extent, x->first);
}

bool window_has_border(const Window *w)
{
    const Axis *y = &w->axis[0], *x = &w->axis[1];
    return axis_has_border(w->mod->polys, y) || axis_has_border(w->mod->polys, x);
}

bool window_needs_no_plane(const Window *w)
{
    return !window_has_border(w) && !overlaps(&w->axis[0]) && w->axis[0].taps <= MOST_DIRECT;
}

bool window_inner_rows(const Window *w, int64_t outs, int64_t *from, int64_t *to)
{
    const Axis *y = &w->axis[0];
    int64_t low, high;
    if (!poly_is_const(y->low, &low) || !poly_is_const(y->high, &high) || y->d != 1 ||
        y->first + y->taps <= low || y->s * (outs - 1) + y->first >= high)
        return false;
    *from = low > y->first ? (low - y->first + y->s - 1) / y->s : 0;
    *to = high - y->taps < y->first ? 0 : (high - y->taps - y->first) / y->s + 1;
    *from = *from < outs ? *from : outs;
    *to = *to < *from ? *from : *to < outs ? *to : outs;
    return true;
}

bool window_loads_again(const Window *w, int64_t outs, int64_t extent)
{
    const Expr *e = w->reduce;
    int64_t from, to, low, high;
    return e->op != R_ADD && e->b->kind == EX_LOAD && w->axis[0].taps <= LOADED && extent >= WIDE &&
           poly_is_const(w->axis[1].low, &low) && poly_is_const(w->axis[1].high, &high) &&
           window_inner_rows(w, outs, &from, &to);
}

bool window_loads_any(const Window *w)
{
    const Axis *y = &w->axis[0];
    int64_t low;
    return w->reduce->op != R_ADD && w->reduce->b->kind == EX_LOAD && y->taps <= LOADED &&
           y->d == 1 && poly_is_const(y->low, &low) && y->first + y->taps > low &&
           window_has_border(w);
}

bool window_recognise(Window *w)
{
    const Point *p = w->point;
    FindReduce f = {0};
    if (!p->store || p->nloops < 2)
        return false;
    expr_walk(w->mod, p->store->value, find_reduce, &f);
    if (f.count != 1 || !is_simple(f.found))
        return false;
    w->reduce = f.found;
    for (int i = 0; i < 2; i++)
        w->axis[i].r = f.found->vars[i];
    Places places = {w, true};
    expr_walk(w->mod, f.found->b, find_places, &places);
    if (!places.fit || !w->axis[0].place || !w->axis[1].place || w->axis[0].o == w->axis[1].o ||
        !read_guard(w, f.found->a))
        return false;
    if (w->axis[0].o != p->loops[p->nloops - 2]->var) {
        Axis first = w->axis[0];
        w->axis[0] = w->axis[1];
        w->axis[1] = first;
    }
    for (int i = 0; i < 2; i++) {
        const Axis *x = &w->axis[i];
        int64_t places;
        if (poly_is_const(poly_sub(w->mod->polys, x->high, x->low), &places) && places <= 0)
            return false;
        if (x->s > x->taps * x->d)
            return false;
    }
    bool overlap = overlaps(&w->axis[0]) && overlaps(&w->axis[1]);
    return overlap || window_needs_no_plane(w);
}
