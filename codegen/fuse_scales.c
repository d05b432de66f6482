// A number that scales a factor of a product scales its sums: reduce add k : (x[k] * c) * y[k] is
// (reduce add k : x[k] * y[k]) * c. Exporters write attention's scale on both of its factors, which
// would each be written to memory for it.
//
// The sums are rounded without the scale, and run out of float32's range elsewhere by as much as
// it is: numbers far from 1 stay where they are.

#include "codegen/fuse_places.h"

#include <math.h>

enum { MOST_BITS = 20 }; // of a number that is taken out: 2^-20 to 2^20

static bool is_scale(const Expr *e)
{
    const double size = e->kind == EX_CONST && e->dtype == DT_F32 ? fabs(e->value.f) : 0;
    return size >= ldexp(1, -MOST_BITS) && size <= ldexp(1, MOST_BITS);
}

// What e multiplies by a number, *by times it; e itself where it does not.
static const Expr *unscaled(const Expr *e, double *by)
{
    if (e->kind != EX_BINARY || e->dtype != DT_F32)
        return e;
    if (e->op == B_MUL && (is_scale(e->a) || is_scale(e->b))) {
        const bool first = is_scale(e->a);
        *by *= (first ? e->a : e->b)->value.f;
        return first ? e->b : e->a;
    }
    if (e->op == B_DIV && is_scale(e->b)) {
        *by /= e->b->value.f;
        return e->a;
    }
    return e;
}

const Expr *fuse_scaled_load(const Expr *e)
{
    double by = 1;
    const Expr *inside = unscaled(e, &by);
    return inside != e && inside->kind == EX_LOAD ? inside : NULL;
}

// The sum without the numbers that its factors have; NULL: they have none.
static const Expr *bare_sum(Fuse *f, const Expr *e, double *by)
{
    if (e->kind != EX_REDUCE || e->op != R_ADD || e->b->kind != EX_BINARY || e->b->op != B_MUL)
        return NULL;
    const Expr *a = unscaled(e->b->a, by), *b = unscaled(e->b->b, by);
    if ((a == e->b->a && b == e->b->b) || a->kind != EX_LOAD || b->kind != EX_LOAD)
        return NULL;
    return expr_reduce(f->mod, R_ADD, e->rank, e->vars, e->a, expr_binary(f->mod, B_MUL, a, b));
}

static const Expr *take_out(void *context, const Expr *e)
{
    Fuse *f = context;
    double by = 1;
    const Expr *sum = bare_sum(f, unscaled(e, &by), &by);
    if (!sum)
        return NULL;
    return expr_binary(f->mod, B_MUL, sum, expr_const(f->mod, DT_F32, (Scalar){.f = (float)by}));
}

Stmt *fuse_scales_out(Fuse *f, Stmt *body)
{
    const ExprMap map = {f, take_out, NULL};
    return stmts_map(f, body, &map);
}

// ---- who takes it ------------------------------------------------------------------------------

// The one kernel that reads what only kernels read; 0: there are others.
static uint32_t only_reader(const Places *places, BufferId b)
{
    uint32_t n = 0, found = 0;
    for (uint32_t i = 0; i < places->readers[b].len; i++) {
        const Place *p = place_at(places, places->readers[b].at[i]);
        if (p->dead || !place_reads(p, b))
            continue;
        n++;
        found = places->readers[b].at[i];
    }
    return n == 1 && !places->pinned[b] && buffer_at(places->f->mod, b)->kind == BUF_TEMP ? found
                                                                                          : 0;
}

bool place_takes_scale(const Places *places, const Expr *load)
{
    enum { MOST_VIEWS = 8 };
    for (int depth = 0; depth < MOST_VIEWS; depth++) {
        const Numbers *writers = &places->writers[load->buffer];
        if (!only_reader(places, load->buffer) || writers->len != 1)
            return false;
        const Step *s = place_at(places, writers->at[0])->step;
        const Point p = s->kernel ? point_of(s->kernel->body) : (Point){.store = NULL};
        if (!p.store || p.store->value->kind != EX_LOAD)
            return p.store != NULL;
        load = p.store->value;
    }
    return true;
}

typedef struct HandOn {
    Fuse *f;
    BufferId buffer;
    const Expr *by;
} HandOn;

static bool is_load_of(const Expr *e, BufferId b)
{
    return e->kind == EX_LOAD && e->buffer == b;
}

static const Expr *scale_load(void *context, const Expr *e)
{
    const HandOn *h = context;
    double by = h->by->value.f;
    const Expr *load = unscaled(e, &by);
    return is_load_of(load, h->buffer)
               ? expr_binary(h->f->mod, B_MUL, load,
                             expr_const(h->f->mod, DT_F32, (Scalar){.f = (float)by}))
               : NULL;
}

uint32_t place_scale_reader(const Places *places, uint32_t product)
{
    const Point p = point_of(place_at(places, product)->step->kernel->body);
    if (!p.store || places->writers[p.store->buffer].len != 1)
        return 0;
    const uint32_t reader = only_reader(places, p.store->buffer);
    if (!reader || !places_in_order(places, product, reader) ||
        places_loop_between(places, product, reader))
        return 0;
    const Shape shape = shape_of(places->f, place_at(places, reader)->step->kernel->body);
    return shape.point && shape.reduces && !shape.product ? reader : 0;
}

uint32_t place_hands_on_scale(Places *places, uint32_t product)
{
    Fuse *f = places->f;
    Stmt *body = place_at(places, product)->step->kernel->body;
    const Point p = point_of(body);
    const Expr *e = p.store ? p.store->value : NULL;
    const uint32_t reader = place_scale_reader(places, product);
    if (!reader || e->kind != EX_BINARY || e->op != B_MUL || !is_scale(e->b) ||
        e->a->kind != EX_REDUCE)
        return 0;
    Kernel *k = place_at(places, reader)->step->kernel;
    HandOn h = {f, p.store->buffer, e->b};
    const ExprMap scaled = {&h, scale_load, NULL};
    k->body = stmts_map(f, k->body, &scaled);
    ExprSwap swap = {e, e->a};
    const ExprMap bare = {&swap, expr_swap, NULL};
    place_at(places, product)->step->kernel->body = stmts_map(f, body, &bare);
    return reader;
}
