// A loop over neighbours whose elements are read at min, max, mod or div of its variable (a
// mirrored border, a repeated row) is cut where that changes its form, and where it is read from
// one of two (the halves of a rotary embedding), where it changes from one to the other. In each
// part the place is linear in the variable: a copy of neighbours, forwards or backwards, of which
// compilers make vectors. What a weight repeats from one part to the next, as a table of angles for
// both halves does, is read at its first place.

#include "codegen/cpu/parts.h"
#include "codegen/cpu/windows.h"
#include "codegen/fuse_parts.h"

#include <string.h>

enum { LEAST = 32, MOST_PARTS = 8, WRAPS = 3 };

typedef struct Cut {
    Module *mod;
    LoopId v;
    int64_t extent, at; // at: where the second part begins; 0: nowhere
    bool reduces;
} Cut;

// i = *k * v + *c, both constants.
static bool is_linear(Cut *x, Index i, int64_t *k, int64_t *c)
{
    Polys *p = x->mod->polys;
    Index v = poly_loop(p, x->v);
    *k = 0;
    for (uint32_t t = 0; t < i->nterms; t++)
        if (i->terms[t].natoms == 1 && i->terms[t].atoms[0] == v->terms[0].atoms[0])
            *k = i->terms[t].coeff;
    return *k != 0 && *k > -INT32_MAX && *k < INT32_MAX &&
           poly_is_const(poly_sub(p, i, poly_scale(p, v, *k)), c) && *c > -((int64_t)1 << 40) &&
           *c < (int64_t)1 << 40;
}

// The first v above 0 where k * v + c is on the other side of `level`: below it, or not below.
static int64_t crossing(int64_t k, int64_t c, int64_t level)
{
    return k > 0 ? -floor_divide(c - level, k) : floor_divide(c - level, -k) + 1;
}

static bool find_cut(void *context, const Atom *a)
{
    Cut *x = context;
    Polys *p = x->mod->polys;
    int64_t k, c, n, at = 0;
    switch (a->kind) {
    case ATOM_MIN:
    case ATOM_MAX:
        if (is_linear(x, poly_sub(p, a->a, a->b), &k, &c))
            at = crossing(k, c, 0);
        break;
    case ATOM_FLOORDIV:
    case ATOM_MOD:
        if (!poly_is_const(a->b, &n) || n < LEAST || !is_linear(x, a->a, &k, &c) ||
            (k < 0 ? -k : k) > WRAPS * n / x->extent)
            break;
        at = crossing(k, c, n * (floor_divide(c, n) + (k > 0)));
        break;
    default:
        break;
    }
    if (at > 0 && at < x->extent)
        x->at = at;
    return x->at != 0;
}

// Both sides are long enough to be loops, and there is something to be read on both.
static void find_in_select(Cut *x, const Expr *e)
{
    enum { SHORTEST = 16 };
    const Expr *c = e->a;
    int64_t k, from;
    if (c->kind != EX_COMPARE || (c->op != C_LT && c->op != C_LE) || e->b->kind == EX_CONST ||
        e->c->kind == EX_CONST)
        return;
    const Index a = expr_as_index(x->mod, c->a), b = expr_as_index(x->mod, c->b);
    if (!a || !b || !is_linear(x, poly_sub(x->mod->polys, a, b), &k, &from))
        return;
    const int64_t at = crossing(k, from - (c->op == C_LE), 0);
    if (at >= SHORTEST && x->extent - at >= SHORTEST)
        x->at = at;
}

static void find_in_load(void *context, const Expr *e)
{
    Cut *x = context;
    x->reduces |= e->kind == EX_REDUCE;
    if (e->kind == EX_SELECT && !x->at)
        find_in_select(x, e);
    for (uint32_t i = 0; e->kind == EX_LOAD && !x->at && i < e->rank; i++)
        poly_any(e->at[i], find_cut, x);
}

Stmt *part_of(Module *mod, const Stmt *loop, Index from, Index extent)
{
    Polys *p = mod->polys;
    Stmt *part = NEW(mod->arena, Stmt), *store = NEW(mod->arena, Stmt);
    *part = *loop;
    part->var = loop_new(p, extent);
    LoopSwap s = {loop->var, poly_add(p, poly_loop(p, part->var), from)};
    ExprMap map = {&s, NULL, loop_swap};
    *store = *loop->body;
    store->value = expr_map(mod, store->value, &map);
    Index *at = NEWS(mod->arena, Index, store->rank);
    for (uint32_t i = 0; i < store->rank; i++)
        at[i] = index_map(mod, store->at[i], &map);
    store->at = at;
    part->body = store;
    return part;
}

// ---- what weights repeat -----------------------------------------------------------------------

// The loop of a part, which begins `from` elements behind that of another one.
typedef struct Repeat {
    Module *mod;
    LoopId v;
    int64_t from, extent;
} Repeat;

// Does the weight hold n elements from `at` on along a dim that it holds `by` before, too?
static bool repeats(const Module *mod, const Buffer *b, uint32_t dim, int64_t at, int64_t by,
                    int64_t n)
{
    Str error;
    int64_t outer = 1, inner = dtype_info(b->dtype)->bytes, width = 0;
    if (b->kind != BUF_WEIGHT || !b->data || b->dtype == DT_STRING ||
        dtype_info(b->dtype)->bits < 8)
        return false;
    for (uint32_t i = 0; i < b->rank; i++) {
        int64_t k;
        if (!poly_is_const(b->dims[i], &k))
            return false;
        if (i == dim)
            width = k;
        else
            *(i < dim ? &outer : &inner) *= k;
    }
    const char *bytes = tensor_elements(mod->model, (TensorData *)(uintptr_t)b->data, &error);
    if (!bytes || at < by || at + n > width)
        return false;
    for (int64_t i = 0; i < outer; i++) {
        const char *row = bytes + (i * width + at) * inner;
        if (memcmp(row, row - by * inner, (size_t)(n * inner)) != 0)
            return false;
    }
    return true;
}

// A load of what the weight has held before: a table of angles for both halves is read once.
static const Expr *read_before(void *context, const Expr *e)
{
    Repeat *r = context;
    Polys *p = r->mod->polys;
    const Index v = poly_loop(p, r->v);
    int64_t c;
    uint32_t dim = UINT32_MAX;
    if (e->kind != EX_LOAD || buffer_at(r->mod, e->buffer)->kind != BUF_WEIGHT)
        return NULL;
    for (uint32_t i = 0; i < e->rank; i++)
        if (poly_is_const(poly_sub(p, e->at[i], v), &c)) {
            if (dim != UINT32_MAX)
                return NULL;
            dim = i;
        }
    if (dim == UINT32_MAX || !poly_is_const(poly_sub(p, e->at[dim], v), &c) || c < r->from ||
        !repeats(r->mod, buffer_at(r->mod, e->buffer), dim, c, r->from, r->extent))
        return NULL;
    Index *at = NEWS(r->mod->arena, Index, e->rank);
    memcpy(at, e->at, e->rank * sizeof *at);
    at[dim] = poly_add_const(p, v, c - r->from);
    return expr_load(r->mod, e->buffer, at);
}

static Stmt *without_repeats(Module *mod, Stmt *part, int64_t from, int64_t extent)
{
    Repeat r = {mod, part->var, from, extent};
    const ExprMap map = {&r, read_before, NULL};
    part->body->value = expr_map(mod, part->body->value, &map);
    return part;
}

// The parts of a loop around one store, in order; itself where it is not cut.
static Stmt *cut_loop(Module *mod, Stmt *loop, uint32_t room)
{
    Cut x = {.mod = mod, .v = loop->var};
    Polys *p = mod->polys;
    if (room < 2 || !poly_is_const(loop_extent(mod->polys, loop->var), &x.extent))
        return loop;
    expr_walk(mod, loop->body->value, find_in_load, &x);
    if (!x.at || x.reduces)
        return loop;
    Stmt *first = part_of(mod, loop, poly_const(p, 0), poly_const(p, x.at));
    Stmt *last = first = cut_loop(mod, first, room / 2);
    while (last->next)
        last = last->next;
    const int64_t rest = x.extent - x.at;
    Stmt *second = part_of(mod, loop, poly_const(p, x.at), poly_const(p, rest));
    last->next = cut_loop(mod, without_repeats(mod, second, x.at, rest), room / 2);
    return first;
}

static void cut_kernel(Module *mod, Kernel *k)
{
    Point p = point_of(k->body);
    int64_t n;
    if (!p.store || p.nloops == 0)
        return;
    Stmt *innermost = (Stmt *)p.loops[p.nloops - 1], *body = innermost;
    if (poly_is_const(loop_extent(mod->polys, innermost->var), &n) && n >= LEAST)
        body = cut_loop(mod, innermost, MOST_PARTS);
    if (body == innermost)
        body = cut_open_loop(mod, innermost);
    for (uint32_t i = p.nloops - 1; body != innermost && i > 0; i--) {
        Stmt *loop = NEW(mod->arena, Stmt);
        *loop = *p.loops[i - 1];
        loop->body = body;
        body = loop;
    }
    if (body != innermost)
        k->body = body;
}

static void cut_steps(Module *mod, Step *s)
{
    for (; s; s = s->next) {
        if (s->kernel)
            cut_kernel(mod, s->kernel);
        cut_steps(mod, s->body);
        cut_steps(mod, s->other);
    }
}

void parts_module(Module *mod)
{
    cut_steps(mod, mod->steps);
}
