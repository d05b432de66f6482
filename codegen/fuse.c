// Fusion by inlining, consumers first: walking the kernels from last to first, a producer takes the
// place of the loads of its buffer if all of its readers allow it and the work does not grow by
// more than the memory that is saved is worth.
//
// 1. A producer writes one buffer of the module alone, whole, in point form.
// 2. Between it and each reader nothing changes what it reads.
// 3. No arithmetic goes into the factors of a contraction, and a kernel that holds a contraction
//    holds no other reduction: what recognises products of matrices must find them as they were.
// 4. No division that splitting a loop does not remove comes into an index.
//
// An expression keeps its meaning wherever it stands, and select arms and guards stay lazy, since
// a load is evaluated exactly where the load of the fused buffer was.

#include "codegen/hoist.h"
#include "codegen/printer.h"

#include <stdlib.h>
#include <string.h>

const FuseTarget fuse_target_cpu = {
    .element = 4, .growth = 1.25, .most_buffers = 48, .most_nodes = 6000, .rows = true};

// A block computes the reductions of its row; one that all rows share would be computed by each.
const FuseTarget fuse_target_cuda = {
    .element = 4, .growth = 1.25, .most_buffers = 48, .most_nodes = 6000, .least_rows = 32};

enum { NAME_LENGTH = 40 };

// A step of the module, in the order in which they are written down.
typedef struct Place {
    Step *step;
    uint32_t parent;  // the step around it, 0: none
    uint32_t list;    // steps of one list share it
    uint32_t end;     // its subtree ends before this place
    uint8_t *buffers; // kernels: bit 0 read, bit 1 written
    uint8_t *dims;    // kernels: dims that it uses
    BufferId writes;  // the only buffer it writes, 0: several or none
    double work;      // of one execution
    bool dead;
} Place;

typedef struct Fusion {
    Fuse f;
    VEC(Place) places; // [0] unused
    uint32_t nlists;
    uint32_t *writers; // by BufferId: kernels that write it
    bool *pinned;      // by BufferId: read outside of kernels
    double work, limit;
} Fusion;

// What is printed of a kernel.
static Stmt *scheduled(Fuse *f, Stmt *body)
{
    Stmt *split = split_loops(f, body);
    return f->target->rows ? share_row(f, split) : split;
}

// ---- the module as a list
// ------------------------------------------------------------------------

static void take_uses(Fusion *x, Place *p)
{
    Arena *scratch = arena_new();
    KernelUses u = kernel_uses(x->f.mod, scratch, p->step->kernel);
    uint32_t buffers = x->f.mod->buffers.len, dims = dim_count(x->f.mod->polys) + 1;
    if (!p->buffers) {
        p->buffers = NEWS(x->f.arena, uint8_t, buffers);
        p->dims = NEWS(x->f.arena, uint8_t, dims);
    }
    memcpy(p->buffers, u.buffers, buffers);
    memcpy(p->dims, u.dims, dims);
    arena_free(scratch);
    p->writes = 0;
    uint32_t n = 0;
    for (BufferId b = 1; b < buffers; b++)
        if (p->buffers[b] & 2) {
            p->writes = b;
            n++;
        }
    p->writes = n == 1 ? p->writes : 0;
    p->work = fuse_work(&x->f, scheduled(&x->f, p->step->kernel->body));
}

static void pin_uses(Fusion *x, const Step *s)
{
    Arena *scratch = arena_new();
    Module *mod = x->f.mod;
    KernelUses u = {NEWS(scratch, uint8_t, mod->buffers.len),
                    NEWS(scratch, uint8_t, dim_count(mod->polys) + 1)};
    uses_add_index(mod, &u, s->value);
    uses_add_expr(mod, &u, s->cond);
    for (BufferId b = 1; b < mod->buffers.len; b++)
        x->pinned[b] |= u.buffers[b] != 0;
    arena_free(scratch);
}

static void list_steps(Fusion *x, Step *s, uint32_t parent)
{
    uint32_t list = ++x->nlists;
    for (; s; s = s->next) {
        uint32_t at = x->places.len;
        vec_push(x->f.arena, &x->places, ((Place){.step = s, .parent = parent, .list = list}));
        if (s->kernel)
            take_uses(x, &x->places.at[at]);
        else
            pin_uses(x, s);
        list_steps(x, s->body, at);
        list_steps(x, s->other, at);
        x->places.at[at].end = x->places.len;
    }
}

static void count_writers(Fusion *x)
{
    for (uint32_t i = 1; i < x->places.len; i++)
        for (BufferId b = 1; x->places.at[i].buffers && b < x->f.mod->buffers.len; b++)
            x->writers[b] += x->places.at[i].buffers[b] >> 1;
}

// ---- what may be moved
// -----------------------------------------------------------------------------

static bool is_before(const Fusion *x, uint32_t producer, uint32_t reader)
{
    if (reader <= producer)
        return false;
    for (uint32_t i = reader; i; i = x->places.at[i].parent)
        if (x->places.at[i].list == x->places.at[producer].list)
            return true;
    return false;
}

// The outermost loop around the reader that is not around the producer, or 0.
static uint32_t loop_between(const Fusion *x, uint32_t producer, uint32_t reader)
{
    uint32_t loop = 0;
    for (uint32_t i = x->places.at[reader].parent; i > producer; i = x->places.at[i].parent)
        if (x->places.at[i].step->kind == STEP_LOOP)
            loop = i;
    return loop;
}

// Does anything that the producer reads change between it and the reader?
static bool changes_between(const Fusion *x, uint32_t producer, uint32_t reader)
{
    const Place *p = &x->places.at[producer];
    uint32_t loop = loop_between(x, producer, reader);
    uint32_t end = loop ? x->places.at[loop].end : reader + 1;
    for (uint32_t i = producer + 1; i < end; i++) {
        const Place *q = &x->places.at[i];
        bool sets_dim = q->step->kind == STEP_DIM || q->step->kind == STEP_LOOP;
        if (sets_dim && p->dims[q->step->dim])
            return true;
        if (q->dead || !q->buffers)
            continue;
        for (BufferId b = 1; b < x->f.mod->buffers.len; b++)
            if ((q->buffers[b] & 2) && (p->buffers[b] & 1))
                return true;
    }
    return false;
}

// One load and nothing else, from a place that no data decide.
static bool is_data(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_EXPR;
}

static bool is_view(const Point *p)
{
    const Expr *e = p->store->value;
    if (e->kind != EX_LOAD)
        return false;
    for (uint32_t i = 0; i < e->rank; i++)
        if (poly_any(e->at[i], is_data, NULL))
            return false;
    return true;
}

// ---- what is worth it
// ------------------------------------------------------------------------------

typedef struct Trial {
    uint32_t producer;
    Point p;
    LoopId vars[64];
    bool view;
    Shape shape; // of the producer, its loops split
    VEC(uint32_t) readers;
    VEC(Stmt *) bodies; // of the readers, the producer inlined
    double work;        // of them
} Trial;

static void count_node(void *context, const Expr *e)
{
    (void)e;
    ++*(uint32_t *)context;
}

static bool is_small_enough(Fusion *x, const Stmt *body, const Place *reader, const Place *producer)
{
    uint32_t nodes = 0, buffers = 0;
    stmts_walk(&x->f, body, count_node, &nodes);
    for (BufferId b = 1; b < x->f.mod->buffers.len; b++)
        buffers += (reader->buffers[b] | producer->buffers[b]) != 0;
    return nodes <= x->f.target->most_nodes && buffers <= x->f.target->most_buffers;
}

// The schedules that producer and reader had must fit what becomes of them.
static bool keeps_schedules(Trial *t, const Shape *old, const Shape *now)
{
    const Shape *p = &t->shape;
    if (now->overflows || now->divisions > old->divisions + p->divisions)
        return false;
    if (old->product || p->product) {
        bool matrices = (old->product && old->matrices) || (p->product && p->matrices);
        uint32_t weight = old->product ? old->weight_loops : p->weight_loops;
        if (now->reduces != 1 || !now->product || !now->always || !now->point ||
            (matrices && !now->matrices) || now->weight_loops > weight ||
            (old->product && (now->divisions > old->divisions || now->linear < old->linear)))
            return false;
        if (matrices)
            return true;
    }
    bool rows = (!old->reduces || old->rows) && (!p->reduces || p->rows);
    return !rows || !old->point || now->rows;
}

static void accept(Fusion *x, Trial *t, uint32_t reader, Stmt *body)
{
    vec_push(x->f.arena, &t->readers, reader);
    vec_push(x->f.arena, &t->bodies, body);
    t->work += fuse_work(&x->f, scheduled(&x->f, body));
}

// One-hot rows times a table of weights: the product is gone, or nothing is done.
static bool try_lookup(Fusion *x, Trial *t, uint32_t reader)
{
    const Place *c = &x->places.at[reader], *p = &x->places.at[t->producer];
    Stmt *body = inline_point(&x->f, c->step->kernel->body, &t->p, t->vars);
    body = solve_lookups(&x->f, body);
    Shape now = shape_of(&x->f, body);
    if (now.reduces || now.overflows || !is_small_enough(x, body, c, p))
        return false;
    accept(x, t, reader, body);
    return true;
}

static bool try_reader(Fusion *x, Trial *t, uint32_t reader)
{
    Fuse *f = &x->f;
    const Place *c = &x->places.at[reader], *p = &x->places.at[t->producer];
    BufferId b = t->p.store->buffer;
    if (!is_before(x, t->producer, reader) || changes_between(x, t->producer, reader))
        return false;
    for (BufferId i = 1; i < f->mod->buffers.len; i++)
        if ((c->buffers[i] & 2) && (p->buffers[i] & 1))
            return false;
    if (loop_between(x, t->producer, reader) && p->work > 0)
        return false;
    Stmt *old = c->step->kernel->body;
    bool multiplies = kernel_multiplies(f, old, b);
    if (multiplies && !t->view)
        return is_one_hot(t->p.store->value) && try_lookup(x, t, reader);
    Shape before = shape_of(f, split_loops(f, old));
    if (before.data_extents || (before.product && t->shape.product))
        return false;
    Stmt *body = inline_point(f, old, &t->p, t->vars);
    Stmt *split = split_loops(f, body);
    Shape now = shape_of(f, split);
    if ((multiplies && split != body && split_loops(f, old) == old) ||
        !keeps_schedules(t, &before, &now) || !is_small_enough(x, body, c, p))
        return false;
    accept(x, t, reader, body);
    return true;
}

static double size_of(Fusion *x, BufferId b)
{
    const Buffer *buffer = buffer_at(x->f.mod, b);
    double size = 1;
    for (uint32_t i = 0; i < buffer->rank; i++)
        size *= fuse_eval(&x->f, buffer->dims[i]);
    return size;
}

// Elements that need not be read and written any more: a producer of k operands of its own size is
// read by r kernels, which then read k each.
static double saved_elements(Fusion *x, const Trial *t)
{
    const Place *p = &x->places.at[t->producer];
    double size = size_of(x, t->p.store->buffer), r = t->readers.len, k = 0;
    for (BufferId b = 1; b < x->f.mod->buffers.len; b++)
        k += (p->buffers[b] & 1) && size_of(x, b) >= size;
    return size * (k + 1 + r - r * k);
}

// Is what the kernel stores a contraction with more arithmetic upon it, or will it be so once the
// kernels before it are fused? Then it is computed once, where the contraction's elements are.
static bool ends_product(Fusion *x, uint32_t at, int depth)
{
    const Place *p = &x->places.at[at];
    Point point = point_of(p->step->kernel->body);
    if (!point.store || depth == 0)
        return false;
    Shape s = shape_of(&x->f, p->step->kernel->body);
    if (s.reduces)
        return s.product != NULL;
    for (BufferId b = 1; b < x->f.mod->buffers.len; b++) {
        if (!(p->buffers[b] & 1) || x->writers[b] != 1 ||
            size_of(x, b) != size_of(x, point.store->buffer))
            continue;
        for (uint32_t i = at - 1; i > 0; i--)
            if (x->places.at[i].writes == b) {
                if (ends_product(x, i, depth - 1))
                    return true;
                break;
            }
    }
    return false;
}

static bool try_all(Fusion *x, Trial *t)
{
    Fuse *f = &x->f;
    BufferId b = t->p.store->buffer;
    double before = x->places.at[t->producer].work;
    for (uint32_t i = 1; i < x->places.len; i++) {
        const Place *c = &x->places.at[i];
        if (c->dead || !c->buffers || !(c->buffers[b] & 1))
            continue;
        before += c->work;
        if (!try_reader(x, t, i))
            return false;
    }
    if (t->readers.len == 0 || t->work > before + f->target->element / 2 * saved_elements(x, t) ||
        x->work - before + t->work > x->limit)
        return false;
    return t->readers.len == 1 || t->view || !ends_product(x, t->producer, 12);
}

// ---- doing it
// --------------------------------------------------------------------------------------

static void join_names(Fusion *x, Kernel *c, const Kernel *p, bool view)
{
    Arena *a = x->f.mod->arena;
    if (!view && p->name.len + c->name.len < NAME_LENGTH)
        c->name = str_printf(a, "%.*s_%.*s", STR_ARG(p->name), STR_ARG(c->name));
    VEC(NodeId) all = {0};
    for (uint32_t i = 0; i < p->fused.len; i++)
        vec_push(a, &all, p->fused.at[i]);
    for (uint32_t i = 0; i < c->fused.len; i++) {
        bool there = false;
        for (uint32_t k = 0; k < p->fused.len; k++)
            there |= p->fused.at[k] == c->fused.at[i];
        if (!there)
            vec_push(a, &all, c->fused.at[i]);
    }
    c->fused.at = all.at;
    c->fused.len = all.len;
    c->fused.cap = all.cap;
}

static void commit(Fusion *x, Trial *t)
{
    Place *p = &x->places.at[t->producer];
    x->work -= p->work;
    for (uint32_t i = 0; i < t->readers.len; i++) {
        Place *c = &x->places.at[t->readers.at[i]];
        c->step->kernel->body = t->bodies.at[i];
        join_names(x, c->step->kernel, p->step->kernel, t->view);
        x->work -= c->work;
        take_uses(x, c);
        x->work += c->work;
    }
    p->dead = true;
}

static bool is_read(const Fusion *x, BufferId b)
{
    if (buffer_at(x->f.mod, b)->kind != BUF_TEMP || x->pinned[b])
        return true;
    for (uint32_t i = 1; i < x->places.len; i++)
        if (!x->places.at[i].dead && x->places.at[i].buffers && (x->places.at[i].buffers[b] & 1))
            return true;
    return false;
}

static void drop_unread(Fusion *x, Place *p)
{
    for (BufferId b = 1; b < x->f.mod->buffers.len; b++)
        if ((p->buffers[b] & 2) && is_read(x, b))
            return;
    x->work -= p->work;
    p->dead = true;
}

static void visit(Fusion *x, uint32_t producer)
{
    Place *p = &x->places.at[producer];
    Fuse *f = &x->f;
    if (p->dead || !p->buffers)
        return;
    drop_unread(x, p);
    BufferId b = p->writes;
    if (p->dead || !b || x->writers[b] != 1 || x->pinned[b] || (p->buffers[b] & 1) ||
        buffer_at(f->mod, b)->kind != BUF_TEMP || buffer_at(f->mod, b)->rank > 64)
        return;
    Stmt *body = p->step->kernel->body;
    Trial t = {.producer = producer, .p = point_of(body)};
    if (!point_defines(f, &t.p, t.vars))
        return;
    t.view = is_view(&t.p);
    t.shape = shape_of(f, split_loops(f, body));
    bool too_few = t.shape.reduces && size_of(x, b) < f->target->least_rows;
    if (!t.shape.data_extents && !too_few && try_all(x, &t))
        commit(x, &t);
}

// A condition that a cast reads must be inside the cast before that meets a product.
static bool is_early(const Place *p)
{
    Point point = {.store = NULL};
    if (p->buffers)
        point = point_of(p->step->kernel->body);
    return point.store && is_condition(point.store->value);
}

// ---- the result
// ------------------------------------------------------------------------------------

static Step *sweep(Fusion *x, Step *s, uint32_t *at)
{
    Step *first = NULL, **tail = &first;
    for (; s; s = s->next) {
        const Place *p = &x->places.at[(*at)++];
        s->body = sweep(x, s->body, at);
        s->other = sweep(x, s->other, at);
        if (p->dead)
            continue;
        if (s->kernel) {
            s->kernel->id = x->f.mod->nkernels++;
            s->kernel->body = scheduled(&x->f, s->kernel->body);
        }
        *tail = s;
        tail = &s->next;
    }
    *tail = NULL;
    return first;
}

void fuse_module(Module *mod, const FuseTarget *target, FuseReport *report)
{
    Fusion x = {.f = {.mod = mod, .arena = arena_new(), .target = target}};
    x.f.unknown = FUSE_UNKNOWN;
    report->kernels_before = mod->nkernels;
    report->work_before = module_work(mod, FUSE_UNKNOWN);
    fuse_fold(&x.f);
    hoist_reductions(&x.f);
    x.writers = NEWS(x.f.arena, uint32_t, mod->buffers.len);
    x.pinned = NEWS(x.f.arena, bool, mod->buffers.len);
    vec_push(x.f.arena, &x.places, (Place){0});
    list_steps(&x, mod->steps, 0);
    count_writers(&x);
    for (uint32_t i = 1; i < x.places.len; i++)
        x.work += x.places.at[i].work;
    x.limit = x.work * target->growth;
    for (uint32_t i = 1; i < x.places.len; i++)
        if (is_early(&x.places.at[i]))
            visit(&x, i);
    for (uint32_t i = x.places.len - 1; i > 0; i--)
        visit(&x, i);
    uint32_t at = 1;
    mod->nkernels = 0;
    mod->steps = sweep(&x, mod->steps, &at);
    report->kernels_after = mod->nkernels;
    report->work_after = module_work(mod, FUSE_UNKNOWN);
    arena_free(x.f.arena);
}
