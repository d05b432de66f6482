// Products read what Concat joins where its parts are. A decoder's cache is an output of the model:
// what was there before, and one place more along a dim. Its readers are products:
//
//     s[j] = sum over k of q[k] * y[j, k]        j < n + 1, y[j, k] = j < n ? x[j, k] : z[k]
//     o[k] = sum over j of p[j] * y[j, k]
//
// become s[j] = sum of q[k] * x[j, k], s[n] = sum of q[k] * z[k] and o[k] = (sum over j < n of
// p[j] * x[j, k]) + p[n] * z[k]. Then no kernel reads the output: that it is written delays nobody,
// and need not take room in caches (codegen/cpu/away.c). The copy goes before the product that
// reads the same elements, which finds them in a cache.

#include "codegen/cpu/windows.h"
#include "codegen/fuse_parts.h"
#include "codegen/printer.h"

enum { PARTS = 2, MOST_RANK = 8, NOWHERE = -1 };

typedef struct Writer {
    Point p;
    LoopId vars[MOST_RANK]; // by dim; 0: its place is no loop's
} Writer;

typedef struct Joined {
    Module *mod;
    Arena *arena;
    VEC(Step *) steps;
    KernelUses *uses; // of each step, with those inside it
    BufferId buffer;
    int64_t at[PARTS]; // the steps that write it
    Writer parts[PARTS];
    uint32_t axis;
    Index first; // places of the first part along the axis
} Joined;

// ---- parts -------------------------------------------------------------------------------------

// One part of the buffer: a move of elements. Of the last one *place is where it lies along the
// axis, one place before the end.
static bool read_part(const Joined *j, Writer *w, uint32_t *axis, Index *place)
{
    Polys *polys = j->mod->polys;
    const Buffer *b = buffer_at(j->mod, j->buffer);
    uint32_t used = 0;
    if (!w->p.store || w->p.store->value->kind != EX_LOAD)
        return false;
    *place = NULL;
    for (uint32_t i = 0; i < b->rank; i++) {
        const Index at = w->p.store->at[i];
        w->vars[i] = 0;
        for (uint32_t k = 0; k < w->p.nloops; k++)
            if (at == poly_loop(polys, w->p.loops[k]->var))
                w->vars[i] = w->p.loops[k]->var;
        const Index extent = w->vars[i] ? loop_extent(polys, w->vars[i]) : poly_const(polys, 1);
        used += w->vars[i] != 0;
        if (extent == b->dims[i] && (w->vars[i] || poly_equals(at, 0)))
            continue;
        if (*place)
            return false;
        *axis = i;
        *place = w->vars[i] ? extent : at;
    }
    return *place && used == w->p.nloops;
}

static bool read_parts(Joined *j)
{
    uint32_t axis;
    Index place;
    const Buffer *b = buffer_at(j->mod, j->buffer);
    for (int i = 0; i < PARTS; i++)
        j->parts[i].p = point_of(j->steps.at[j->at[i]]->kernel->body);
    Writer *first = &j->parts[0], *last = &j->parts[1];
    return b->rank <= MOST_RANK && read_part(j, first, &j->axis, &j->first) &&
           first->vars[j->axis] && read_part(j, last, &axis, &place) && axis == j->axis &&
           !last->vars[axis] && place == j->first &&
           poly_add_const(j->mod->polys, place, 1) == b->dims[axis];
}

static int64_t last_writer(const Joined *j, BufferId b)
{
    for (int64_t i = j->steps.len; i-- > 0;)
        if (access_bits(&j->uses[i].buffers, b) & ACCESS_WRITE)
            return i;
    return NOWHERE;
}

// Exactly two kernels write the buffer, and what they move nobody changes after.
static bool find_parts(Joined *j)
{
    int n = 0;
    for (uint32_t i = 0; i < j->steps.len; i++) {
        if (!(access_bits(&j->uses[i].buffers, j->buffer) & ACCESS_WRITE))
            continue;
        if (n == PARTS || j->steps.at[i]->kind != STEP_KERNEL || j->steps.at[i]->call)
            return false;
        j->at[n++] = i;
    }
    if (n < PARTS || !read_parts(j))
        return false;
    for (int i = 0; i < PARTS; i++)
        if (last_writer(j, j->parts[i].p.store->value->buffer) >= j->at[0])
            return false;
    return true;
}

// ---- readers -----------------------------------------------------------------------------------

typedef struct Reader {
    const Joined *j;
    Point p;
    LoopId v;          // the loop, or the summed variable, that goes along the axis
    bool holds, sums;  // every load is of that place; inside of a sum
    const Expr *along; // the sum whose variable it is; NULL: it is a loop's
} Reader;

static void test_load(void *context, const Expr *e)
{
    Reader *r = context;
    const Joined *j = r->j;
    if (e->kind != EX_LOAD || e->buffer != j->buffer)
        return;
    const LoopId v = poly_lone_loop(e->at[j->axis]);
    r->holds &= v && (!r->v || r->v == v);
    r->v = v;
}

static bool is_load(const Expr *e)
{
    return e->kind == EX_LOAD;
}

// A product of the buffer and something else.
static void test_sum(void *context, const Expr *e)
{
    Reader *r = context;
    if (e->kind != EX_REDUCE)
        return;
    const Expr *x = e->b;
    r->sums = !r->sums && e->op == R_ADD && !e->a && e->rank == 1 && x->kind == EX_BINARY &&
              x->op == B_MUL && is_load(x->a) && is_load(x->b) &&
              (x->a->buffer == r->j->buffer) != (x->b->buffer == r->j->buffer);
    r->holds &= r->sums;
    if (e->rank == 1 && e->vars[0] == r->v)
        r->along = e;
}

static bool read_reader(const Joined *j, uint32_t step, Reader *r)
{
    const Step *s = j->steps.at[step];
    *r = (Reader){.j = j, .holds = true};
    if (s->kind != STEP_KERNEL || s->call)
        return false;
    r->p = point_of(s->kernel->body);
    if (!r->p.store || r->p.store->buffer == j->buffer)
        return false;
    expr_walk(j->mod, r->p.store->value, test_load, r);
    expr_walk(j->mod, r->p.store->value, test_sum, r);
    bool loop = r->along != NULL;
    for (uint32_t i = 0; i < r->p.nloops; i++)
        loop |= r->p.loops[i]->var == r->v;
    return r->holds && r->sums && loop &&
           loop_extent(j->mod->polys, r->v) == buffer_at(j->mod, j->buffer)->dims[j->axis];
}

// Every step that reads the buffer is such a product, after both parts.
static bool are_products(const Joined *j)
{
    Reader r;
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->steps.len; i++) {
        if (!(access_bits(&j->uses[i].buffers, j->buffer) & ACCESS_READ))
            continue;
        if ((int64_t)i < j->at[1] || !read_reader(j, i, &r))
            return false;
        n++;
    }
    return n > 0;
}

// ---- rewriting ---------------------------------------------------------------------------------

// Loops renamed, or a place put for one of them; loads of the buffer those of a part of it.
typedef struct Rewrite {
    const Reader *r;
    int part;
    const LoopId *from;
    const Index *to;
    uint32_t n;
} Rewrite;

static const Expr *rewrite(const Rewrite *w, const Expr *e);

static Index put_place(void *context, const Atom *a)
{
    const Rewrite *w = context;
    for (uint32_t i = 0; a->kind == ATOM_LOOP && i < w->n; i++)
        if (a->var == w->from[i])
            return w->to[i];
    return NULL;
}

// The sum over both parts.
static const Expr *whole_sum(const Rewrite *w, const Expr *sum)
{
    Module *mod = w->r->j->mod;
    const LoopId v = loop_new(mod->polys, w->r->j->first);
    const Index at[] = {poly_loop(mod->polys, v)};
    const Rewrite first = {w->r, 0, &w->r->v, at, 1};
    const Rewrite last = {w->r, 1, &w->r->v, &w->r->j->first, 1};
    return expr_binary(mod, B_ADD, expr_reduce(mod, R_ADD, 1, &v, NULL, rewrite(&first, sum->b)),
                       rewrite(&last, sum->b));
}

static const Expr *put_part(void *context, const Expr *e)
{
    Rewrite *w = context;
    const Joined *j = w->r->j;
    if (w->part == NOWHERE)
        return e == w->r->along ? whole_sum(w, e) : NULL;
    if (e->kind != EX_LOAD || e->buffer != j->buffer)
        return NULL;
    const Writer *writer = &j->parts[w->part];
    const ExprMap places = {w, NULL, put_place};
    Index at[MOST_RANK];
    for (uint32_t i = 0; i < e->rank; i++)
        at[i] = index_map(j->mod, e->at[i], &places);
    Rewrite moved = {w->r, w->part, writer->vars, at, e->rank};
    const ExprMap map = {&moved, NULL, put_place};
    return expr_map(j->mod, writer->p.store->value, &map);
}

static const Expr *rewrite(const Rewrite *w, const Expr *e)
{
    Rewrite context = *w;
    const ExprMap map = {&context, put_part, put_place};
    return expr_map(w->r->j->mod, e, &map);
}

// The reader of one part, with loops of its own; of both, where it sums along them.
static Stmt *reader_of(const Reader *r, int part)
{
    Module *mod = r->j->mod;
    LoopId from[FUSE_MAX_LOOPS], own[FUSE_MAX_LOOPS];
    Index to[FUSE_MAX_LOOPS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->p.nloops; i++) {
        const LoopId v = r->p.loops[i]->var;
        own[i] = v;
        if (r->along)
            continue;
        if (v == r->v)
            own[i] = part == 0 ? loop_new(mod->polys, r->j->first) : 0;
        else
            own[i] = loop_new(mod->polys, loop_extent(mod->polys, v));
        from[n] = v;
        to[n++] = own[i] ? poly_loop(mod->polys, own[i]) : r->j->first;
    }
    const Rewrite w = {r, part, from, to, n};
    Stmt *body = NEW(mod->arena, Stmt);
    *body = *r->p.store;
    Index *at = NEWS(mod->arena, Index, body->rank + 1);
    const ExprMap places = {(void *)(uintptr_t)&w, NULL, put_place};
    for (uint32_t i = 0; i < body->rank; i++)
        at[i] = index_map(mod, body->at[i], &places);
    body->at = at;
    body->value = expr_fresh(mod, rewrite(&w, body->value));
    for (uint32_t i = r->p.nloops; i > 0; i--) {
        if (!own[i - 1])
            continue;
        Stmt *loop = NEW(mod->arena, Stmt);
        *loop = *r->p.loops[i - 1];
        loop->var = own[i - 1];
        loop->body = body;
        body = loop;
    }
    return body;
}

// A kernel before the step's, which does a part of its work.
static void add_step_before(Joined *j, Step *s, Stmt *body)
{
    Step *next = NEW(j->mod->arena, Step);
    *next = *s;
    next->kernel = NEW(j->mod->arena, Kernel);
    *next->kernel = *s->kernel;
    s->next = next;
    s->kernel->body = body;
}

static void rewrite_reader(Joined *j, uint32_t step)
{
    Reader r;
    Step *s = j->steps.at[step];
    if (!read_reader(j, step, &r))
        return;
    if (r.along) {
        s->kernel->body = reader_of(&r, NOWHERE);
        return;
    }
    Stmt *first = reader_of(&r, 0), *last = reader_of(&r, 1);
    add_step_before(j, s, first);
    s->next->kernel->body = last;
}

static Step **link_to(Module *mod, const Step *s)
{
    Step **at = &mod->steps;
    while (*at != s)
        at = &(*at)->next;
    return at;
}

static void split_readers(Joined *j)
{
    Step *copy = j->steps.at[j->at[0]], *reader = NULL;
    for (uint32_t i = 0; i < j->steps.len; i++) {
        if (!(access_bits(&j->uses[i].buffers, j->buffer) & ACCESS_READ))
            continue;
        rewrite_reader(j, i);
        reader = reader ? reader : j->steps.at[i];
    }
    *link_to(j->mod, copy) = copy->next;
    copy->next = reader;
    *link_to(j->mod, reader) = copy;
}

// ---- the module --------------------------------------------------------------------------------

static void number_kernels(Module *mod, Step *s)
{
    for (; s; s = s->next) {
        if (s->kernel)
            s->kernel->id = mod->nkernels++;
        number_kernels(mod, s->body);
        number_kernels(mod, s->other);
    }
}

// Rewriting leaves these true of the steps that were there before, which keep their order.
static void list_steps(Joined *j)
{
    for (Step *s = j->mod->steps; s; s = s->next)
        vec_push(j->arena, &j->steps, s);
    j->uses = NEWS(j->arena, KernelUses, j->steps.len + 1);
    for (uint32_t i = 0; i < j->steps.len; i++) {
        j->uses[i].arena = j->arena;
        uses_add_step(j->mod, &j->uses[i], j->steps.at[i]);
    }
}

void joined_module(Module *mod)
{
    Joined j = {.mod = mod, .arena = arena_new()};
    bool any = false;
    list_steps(&j);
    for (uint32_t i = 0; i < mod->outputs.len; i++) {
        j.buffer = mod->outputs.at[i];
        if (buffer_at(mod, j.buffer)->kind != BUF_OUTPUT || !find_parts(&j) || !are_products(&j))
            continue;
        split_readers(&j);
        any = true;
    }
    if (any) {
        mod->nkernels = 0;
        number_kernels(mod, mod->steps);
    }
    arena_free(j.arena);
}
