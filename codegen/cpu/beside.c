// Kernels behind one another that move elements of one buffer to parts of another, as a Concat of
// Slices of one value has them (Focus), are one kernel: its rows are moved together, so that what
// lies side by side in memory is read once, and threads wait for each other once.
//
// All loops but the innermost are shared. Parts that could meet are left, and so is all but
// float32: other values may lie in pixels (layouts.h), whose kernels store once.

#include "codegen/cpu/windows.h"
#include "codegen/fuse_parts.h"

enum { MOST_MOVES = 16 };

typedef struct Moves {
    Module *mod;
    Point at[MOST_MOVES];
    uint32_t n;
} Moves;

typedef struct Renaming {
    Polys *polys;
    const Point *from, *to;
    uint32_t nloops; // of the outermost
} Renaming;

static Index renamed_loop(void *context, const Atom *a)
{
    const Renaming *r = context;
    for (uint32_t i = 0; a->kind == ATOM_LOOP && i < r->nloops; i++)
        if (a->var == r->from->loops[i]->var)
            return poly_loop(r->polys, r->to->loops[i]->var);
    return NULL;
}

static Index renamed(Renaming *r, Index i)
{
    return poly_map(r->polys, i, renamed_loop, r);
}

// What data place would have to be renamed within.
static bool reads_straight(const Expr *load)
{
    for (uint32_t i = 0; i < load->rank; i++)
        if (poly_reads_data(load->at[i]))
            return false;
    return true;
}

static bool is_move(const Module *mod, const Point *p)
{
    return p->store && p->nloops > 1 && p->store->value->kind == EX_LOAD &&
           p->store->buffer != p->store->value->buffer && p->store->value->dtype == DT_F32 &&
           buffer_at(mod, p->store->buffer)->dtype == DT_F32 && reads_straight(p->store->value);
}

// Do both stay apart along a dim, whatever their loops' variables are?
static bool apart(Module *mod, const Point *a, const Point *b)
{
    Renaming all = {mod->polys, b, a, b->nloops};
    int64_t distance, extent;
    for (uint32_t i = 0; i < a->store->rank; i++)
        for (uint32_t k = 0; k < a->nloops; k++) {
            const Index here = a->store->at[i], there = renamed(&all, b->store->at[i]);
            int64_t first;
            if (poly_is_const(poly_sub(mod->polys, there, here), &distance) &&
                poly_is_const(poly_sub(mod->polys, here, poly_loop(mod->polys, a->loops[k]->var)),
                              &first) &&
                poly_is_const(loop_extent(mod->polys, a->loops[k]->var), &extent) &&
                (distance >= extent || -distance >= extent))
                return true;
        }
    return false;
}

static bool goes_beside(const Moves *m, const Point *p)
{
    const Point *first = &m->at[0];
    bool fits = m->n < MOST_MOVES && is_move(m->mod, p) && p->nloops == first->nloops &&
                p->store->buffer == first->store->buffer && p->store->rank == first->store->rank &&
                p->store->value->buffer == first->store->value->buffer;
    for (uint32_t i = 0; fits && i < p->nloops; i++)
        fits = loop_extent(m->mod->polys, p->loops[i]->var) ==
               loop_extent(m->mod->polys, first->loops[i]->var);
    for (uint32_t i = 0; fits && i < m->n; i++)
        fits = apart(m->mod, &m->at[i], p);
    return fits;
}

// p's innermost loop, its other loops being those of the first.
static Stmt *row_of(const Moves *m, const Point *p)
{
    Arena *arena = m->mod->arena;
    const Expr *load = p->store->value;
    Renaming outer = {m->mod->polys, p, &m->at[0], p->nloops - 1};
    Index *to = NEWS(arena, Index, p->store->rank), *from = NEWS(arena, Index, load->rank);
    for (uint32_t i = 0; i < p->store->rank; i++)
        to[i] = renamed(&outer, p->store->at[i]);
    for (uint32_t i = 0; i < load->rank; i++)
        from[i] = renamed(&outer, load->at[i]);
    Stmt *loop = NEW(arena, Stmt), *store = NEW(arena, Stmt);
    *loop = *p->loops[p->nloops - 1];
    *store = *p->store;
    store->at = to;
    store->value = expr_load(m->mod, load->buffer, from);
    loop->body = store;
    return loop;
}

static void put_beside(Moves *m, Kernel *k, const Kernel *next, const Point *p)
{
    Stmt *s = k->body;
    for (uint32_t i = 1; i < p->nloops; i++)
        s = s->body;
    while (s->next)
        s = s->next;
    s->next = row_of(m, p);
    m->at[m->n++] = *p;
    for (uint32_t i = 0; i < next->fused.len; i++) {
        bool there = false;
        for (uint32_t j = 0; j < k->fused.len; j++)
            there |= k->fused.at[j] == next->fused.at[i];
        if (!there)
            vec_push(m->mod->arena, &k->fused, next->fused.at[i]);
    }
}

void beside_module(Module *mod)
{
    for (Step *s = mod->steps; s; s = s->next) {
        Moves m = {.mod = mod};
        if (!s->kernel || s->kernel->on_host)
            continue;
        m.at[m.n++] = point_of(s->kernel->body);
        if (!is_move(mod, &m.at[0]))
            continue;
        for (Step *next = s->next; next && next->kernel && !next->kernel->on_host; next = s->next) {
            const Point p = point_of(next->kernel->body);
            if (!goes_beside(&m, &p))
                break;
            put_beside(&m, s->kernel, next->kernel, &p);
            s->next = next->next;
        }
    }
}
