// Elements that no kernel reads, at the ends of a buffer's dims, are not computed: a pool whose
// windows do not divide its plane leaves the last rows and columns of a convolution unread.
//
// Kernels are visited from the last to the first, so that what one need not compute is not read
// either. What steps other than kernels see, and what is written in several places, stays whole.

#include "codegen/cpu/windows.h"
#include "codegen/fuse_parts.h"
#include "codegen/printer.h"

enum { WORTH = 6 }; // one element in so many, at least, is not computed: other rows may suit less

// How much of a buffer is read: up to so many places of each dim; NULL: nothing. all: of every dim.
typedef struct Read {
    int64_t *most;
    bool all;
} Read;

typedef struct Ends {
    Module *mod;
    Arena *arena;
    Read *of; // by BufferId
} Ends;

// The least bound of an index that can be proved, at most `size`.
static int64_t bound_of(Polys *polys, Index i, int64_t size)
{
    int64_t low = 0, high = size; // i < high, and i < low is not proved
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (poly_less(polys, i, poly_const(polys, middle)))
            high = middle;
        else
            low = middle;
    }
    return high;
}

static bool note_atom(void *context, const Atom *a);

// How often a loop runs may be read from data.
static void note_loop(Ends *s, LoopId v)
{
    poly_any(loop_extent(s->mod->polys, v), note_atom, s);
}

static void note_load(void *context, const Expr *e)
{
    Ends *s = context;
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++)
        note_loop(s, e->vars[i]);
    if (e->kind != EX_LOAD)
        return;
    const Buffer *b = buffer_at(s->mod, e->buffer);
    Read *r = &s->of[e->buffer];
    if (b->kind != BUF_TEMP || r->all)
        return;
    if (!r->most)
        r->most = NEWS(s->arena, int64_t, b->rank + 1);
    for (uint32_t i = 0; i < b->rank && !r->all; i++) {
        int64_t size;
        r->all = !poly_is_const(b->dims[i], &size);
        const int64_t most =
            r->all || r->most[i] >= size ? 0 : bound_of(s->mod->polys, e->at[i], size);
        r->most[i] = most > r->most[i] ? most : r->most[i];
    }
}

static bool note_atom(void *context, const Atom *a)
{
    Ends *s = context;
    if (a->kind == ATOM_EXPR)
        expr_walk(s->mod, a->e, note_load, s);
    return false;
}

static void note_stmts(Ends *s, const Stmt *t)
{
    for (; t; t = t->next) {
        for (uint32_t i = 0; i < t->rank; i++)
            poly_any(t->at[i], note_atom, s);
        if (t->value)
            expr_walk(s->mod, t->value, note_load, s);
        if (t->kind == S_FOR)
            note_loop(s, t->var);
        if (t->kind == S_UPDATE)
            s->of[t->buffer].all = true;
        note_stmts(s, t->body);
        note_stmts(s, t->other);
    }
}

// All that a step other than a kernel of the model's own order touches is whole.
static void note_whole(Ends *s, const Step *step)
{
    KernelUses u = {.arena = s->arena};
    if (step->kernel)
        u = kernel_uses(s->mod, s->arena, step->kernel);
    uses_add_index(s->mod, &u, step->value);
    uses_add_expr(s->mod, &u, step->cond);
    uses_add_call(s->mod, &u, step->call);
    for (uint32_t i = 0; i < u.buffers.len; i++)
        s->of[u.buffers.at[i].id].all = true;
    for (const Step *t = step->body; t; t = t->next)
        note_whole(s, t);
    for (const Step *t = step->other; t; t = t->next)
        note_whole(s, t);
}

// ---- a kernel that computes less ---------------------------------------------------------------

typedef struct Swap {
    Module *mod;
    const LoopId *from, *to;
    uint32_t n;
} Swap;

static Index swap_loop(void *context, const Atom *a)
{
    const Swap *w = context;
    for (uint32_t i = 0; a->kind == ATOM_LOOP && i < w->n; i++)
        if (a->var == w->from[i])
            return poly_loop(w->mod->polys, w->to[i]);
    return NULL;
}

typedef struct Weights {
    Module *mod;
    LoopId v;
    bool found;
} Weights;

static bool is_loop(void *context, const Atom *a)
{
    const Weights *w = context;
    return a->kind == ATOM_LOOP && a->var == w->v;
}

static void find_weight(void *context, const Expr *e)
{
    Weights *w = context;
    if (e->kind != EX_LOAD || buffer_at(w->mod, e->buffer)->kind != BUF_WEIGHT)
        return;
    for (uint32_t i = 0; i < e->rank; i++)
        w->found = w->found || poly_any(e->at[i], is_loop, w);
}

// The loop whose variable alone is the place of dim i, its extent the dim; 0: there is none, or it
// is a place of weights, which are packed whole.
static uint32_t loop_of(Module *mod, const Point *p, const Buffer *b, uint32_t i)
{
    for (uint32_t k = 0; k < p->nloops; k++) {
        const LoopId v = p->loops[k]->var;
        if (p->store->at[i] != poly_loop(mod->polys, v) || loop_extent(mod->polys, v) != b->dims[i])
            continue;
        Weights w = {.mod = mod, .v = v};
        expr_walk(mod, p->store->value, find_weight, &w);
        uint32_t places = 0;
        for (uint32_t j = 0; j < b->rank; j++) {
            w.v = v;
            places += poly_any(p->store->at[j], is_loop, &w);
        }
        return w.found || places > 1 ? 0 : k + 1;
    }
    return 0;
}

static Stmt *copy_of(Module *mod, const Stmt *s)
{
    Stmt *made = NEW(mod->arena, Stmt);
    *made = *s;
    return made;
}

// The kernel with other variables for some of its loops.
static void rewrite(Module *mod, Kernel *k, const Point *p, const LoopId *to)
{
    LoopId from[FUSE_MAX_LOOPS];
    for (uint32_t i = 0; i < p->nloops; i++)
        from[i] = p->loops[i]->var;
    Swap swap = {mod, from, to, p->nloops};
    ExprMap map = {&swap, NULL, swap_loop};
    Stmt *body = copy_of(mod, p->store);
    Index *at = NEWS(mod->arena, Index, body->rank + 1);
    for (uint32_t i = 0; i < body->rank; i++)
        at[i] = index_map(mod, body->at[i], &map);
    body->at = at;
    body->value = expr_map(mod, body->value, &map);
    for (uint32_t i = p->nloops; i > 0; i--) {
        Stmt *loop = copy_of(mod, p->loops[i - 1]);
        loop->var = to[i - 1];
        loop->body = body;
        body = loop;
    }
    k->body = body;
}

static void shorten(Ends *s, Kernel *k)
{
    Module *mod = s->mod;
    const Point p = point_of(k->body);
    if (!p.store)
        return;
    Buffer *b = buffer_at(mod, p.store->buffer);
    const Read *r = &s->of[p.store->buffer];
    if (b->kind != BUF_TEMP || b->in_place || r->all || !r->most)
        return;
    LoopId to[FUSE_MAX_LOOPS];
    for (uint32_t i = 0; i < p.nloops; i++)
        to[i] = p.loops[i]->var;
    Index *dims = NEWS(mod->arena, Index, b->rank + 1);
    double kept = 1;
    for (uint32_t i = 0; i < b->rank; i++) {
        int64_t size;
        dims[i] = b->dims[i];
        if (!poly_is_const(dims[i], &size) || r->most[i] >= size)
            continue;
        const uint32_t loop = loop_of(mod, &p, b, i);
        if (!loop)
            continue;
        dims[i] = poly_const(mod->polys, r->most[i]);
        to[loop - 1] = loop_new(mod->polys, dims[i]);
        kept *= (double)r->most[i] / (double)size;
    }
    if (kept > 1 - 1.0 / WORTH)
        return;
    b->dims = dims;
    rewrite(mod, k, &p, to);
}

void unread_ends_module(Module *mod)
{
    Arena *arena = arena_new();
    Ends s = {mod, arena, NEWS(arena, Read, mod->buffers.len)};
    VEC(Step *) steps = {0};
    uint8_t *writers = NEWS(arena, uint8_t, mod->buffers.len);
    for (uint32_t i = 0; i < mod->buffers.len; i++)
        if (mod->buffers.at[i].in_place)
            s.of[mod->buffers.at[i].in_place].all = true;
    for (Step *t = mod->steps; t; t = t->next) {
        vec_push(arena, &steps, t);
        if (t->kind != STEP_KERNEL || t->call) {
            note_whole(&s, t);
            continue;
        }
        const KernelUses u = kernel_uses(mod, arena, t->kernel);
        for (uint32_t i = 0; i < u.buffers.len; i++)
            if (u.buffers.at[i].bits & ACCESS_WRITE && writers[u.buffers.at[i].id]++)
                s.of[u.buffers.at[i].id].all = true;
    }
    for (uint32_t i = steps.len; i > 0; i--)
        if (steps.at[i - 1]->kind == STEP_KERNEL) {
            shorten(&s, steps.at[i - 1]->kernel);
            note_stmts(&s, steps.at[i - 1]->kernel->body);
        }
    arena_free(arena);
}
