// Fusion by inlining, consumers first: walking the kernels from last to first, a producer takes the
// place of the loads of its buffer if all of its readers allow it and the work does not grow by
// more than the memory that is saved is worth.
//
// 1. A producer writes one buffer of the module alone, whole, in point form.
// 2. Between it and each reader nothing changes what it reads.
// 3. No arithmetic goes into the factors of a contraction (a number that scales one may scale the
//    sums instead, fuse_scales.c), and a kernel that holds a contraction
//    holds no other reduction: what recognises products of matrices must find them as they were.
// 4. No division that splitting a loop does not remove comes into an index.
//
// An expression keeps its meaning wherever it stands, and select arms and guards stay lazy, since
// a load is evaluated exactly where the load of the fused buffer was.

#include "codegen/byte_function.h"
#include "codegen/fuse_places.h"
#include "codegen/hoist.h"

#include <stdlib.h>
#include <string.h>

const FuseTarget fuse_target_cpu = {.element = 4,
                                    .growth = 1.25,
                                    .most_buffers = 48,
                                    .most_nodes = 6000,
                                    .rows = true,
                                    .looks_up = true};

// A block computes the reductions of its row; one that all rows share would be computed by each.
const FuseTarget fuse_target_cuda = {
    .element = 4, .growth = 1.25, .most_buffers = 48, .most_nodes = 6000, .least_rows = 32};

enum {
    NAME_LENGTH = 40,
    LEAST_ROW = 16, // neighbours, of what products compute as rows
    // Operations one after another; networks have up to 25. What goes into a reader's end is
    // written anew with all that follows it there, again and again.
    MOST_DEPTH = 64,
};

typedef struct Fusion {
    Fuse f;
    Places *places;
    double work, limit;
    VEC(uint16_t) depths; // of expressions by id: operations on the longest way; 0: not known
} Fusion;

static Place *at(const Fusion *x, uint32_t place)
{
    return place_at(x->places, place);
}

// One load and nothing else, from a place that no data decide.
static bool is_view(const Point *p)
{
    const Expr *e = p->store->value;
    if (e->kind != EX_LOAD)
        return false;
    for (uint32_t i = 0; i < e->rank; i++)
        if (poly_reads_data(e->at[i]))
            return false;
    return true;
}

// ---- what is worth it -------------------------------------------------------------------------

typedef struct Trial {
    uint32_t producer; // the last one, where several kernels write a part each
    const uint32_t *makers;
    uint32_t nmakers, axis; // the dim that the parts are of
    Point p;
    LoopId vars[64];
    bool view, scaled; // a load alone; or times a number, and products' sums may take that
    Shape shape;       // of the producer, its loops split
    VEC(uint32_t) readers;
    VEC(Stmt *) bodies; // of the readers, the producer inlined
    double work;        // of them, without
    double spared;      // what is counted but not computed
} Trial;

typedef struct Extent {
    Fusion *x;
    uint32_t nodes, depth;
} Extent;

static uint32_t depth_of(const Fusion *x, const Expr *e)
{
    return e ? x->depths.at[e->id] : 0;
}

// Operands come before what is made of them.
static void measure_node(void *context, const Expr *e)
{
    Extent *s = context;
    Fusion *x = s->x;
    while (x->depths.len < x->f.mod->nexprs)
        vec_push(x->f.arena, &x->depths, 0);
    uint32_t depth = depth_of(x, e);
    if (depth == 0) {
        const uint32_t a = depth_of(x, e->a), b = depth_of(x, e->b), c = depth_of(x, e->c);
        depth = 1 + (a > b ? a : b);
        depth = depth > c ? depth : 1 + c;
        x->depths.at[e->id] = depth < UINT16_MAX ? (uint16_t)depth : UINT16_MAX;
    }
    s->nodes++;
    s->depth = depth > s->depth ? depth : s->depth;
}

static bool is_small_enough(Fusion *x, const Stmt *body, const Place *reader, const Place *producer)
{
    uint32_t buffers = reader->reads.len + reader->writes.len;
    Extent s = {.x = x};
    stmts_walk(&x->f, body, measure_node, &s);
    for (uint32_t i = 0; i < producer->reads.len; i++)
        buffers += !place_reads(reader, producer->reads.at[i]);
    return s.nodes <= x->f.target->most_nodes && s.depth <= MOST_DEPTH &&
           buffers <= x->f.target->most_buffers;
}

// Rows of a product that become short, since their elements are stored between those of others.
static bool scatters_rows(const Shape *old, const Shape *now)
{
    int64_t before = LEAST_ROW, after = LEAST_ROW;
    if (old->neighbours)
        poly_is_const(old->neighbours, &before);
    if (now->neighbours)
        poly_is_const(now->neighbours, &after);
    return after < LEAST_ROW && before > after;
}

// The schedules that producer and reader had must fit what becomes of them. A convolution has
// places for lanes and reads them where they lie; where its results are stored so that channels are
// neighbours, x would be turned first, which takes longer than to move what comes of it; where they
// are stored between a plane's rows, no plane is left to divide, nor where what is added to them
// splits a loop over places (phases of a transposed convolution, an image made larger). A pool is
// taken by lines of its plane, but not within another reduction.
static bool keeps_schedules(Trial *t, const Shape *old, const Shape *now)
{
    const Shape *p = &t->shape;
    if (now->overflows || now->divisions > old->divisions + p->divisions ||
        (now->nested && !old->nested && !p->nested))
        return false;
    if (old->product || p->product) {
        bool matrices = (old->product && old->matrices) || (p->product && p->matrices);
        uint32_t weight = old->product ? old->weight_loops : p->weight_loops;
        if (now->reduces != 1 || !now->product || !now->always || !now->point ||
            (matrices && !now->matrices) || now->weight_loops > weight ||
            now->across > (old->product ? old->across : p->across) ||
            now->outside > (old->product ? old->outside : p->outside) ||
            now->places > (old->product ? old->places : p->places) ||
            (old->product && (now->divisions > old->divisions || now->linear < old->linear)))
            return false;
        if (matrices)
            return !scatters_rows(p->matrices ? p : old, now);
    }
    bool rows = (!old->reduces || old->rows) && (!p->reduces || p->rows);
    return !rows || !old->point || now->rows;
}

// A normalisation reads its row several times: a transposition before it is cheaper in registers
// than rows whose elements lie apart.
static bool turns_rows(const Fuse *f, const Trial *t, const Shape *old, const Shape *now)
{
    return f->target->rows && t->view && now->apart && !old->apart;
}

// A convolution of float32 is summed where its result lies, so that what is stored in 16 bits is
// rounded by a kernel of its own; products of matrices round as they store.
static bool narrows_convolution(const Fuse *f, const Shape *now, const Stmt *body)
{
    const Point p = point_of(body);
    if (!now->product || now->matrices || !p.store || now->product->dtype != DT_F32)
        return false;
    const Expr *a = now->product->b->a, *b = now->product->b->b;
    DType t = buffer_at(f->mod, p.store->buffer)->dtype;
    return a->kind == EX_LOAD && b->kind == EX_LOAD && dtype_is_float(t) &&
           dtype_info(t)->bits < 32;
}

static void accept(Fusion *x, Trial *t, uint32_t reader, Stmt *body)
{
    vec_push(x->f.arena, &t->readers, reader);
    vec_push(x->f.arena, &t->bodies, body);
    t->work += fuse_work(&x->f, fuse_scheduled(&x->f, body));
}

static void spare(Trial *t, double work)
{
    t->work -= work;
    t->spared += work;
}

// One-hot rows times a table of weights: the product is gone, or nothing is done.
static bool try_lookup(Fusion *x, Trial *t, uint32_t reader)
{
    const Place *c = at(x, reader), *p = at(x, t->producer);
    Stmt *body = inline_point(&x->f, c->step->kernel->body, &t->p, t->vars);
    body = solve_lookups(&x->f, body);
    Shape now = shape_of(&x->f, body);
    if (now.reduces || now.overflows || !is_small_enough(x, body, c, p))
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

// How far kernels before one are looked at: 48 of them, or 12 where each is behind several, which
// are looked at one after the other.
enum { BEFORE = 48, SEVERAL = 4 };

// Is what the kernel stores a contraction with more arithmetic upon it, or will it be so once the
// kernels before it are fused? Then it is computed once, where the contraction's elements are.
static bool ends_product(Fusion *x, uint32_t place, int budget)
{
    const Place *p = at(x, place);
    Point point = p->step->kernel ? point_of(p->step->kernel->body) : (Point){.store = NULL};
    if (!point.store || budget <= 0)
        return false;
    Shape s = shape_of(&x->f, p->step->kernel->body);
    if (s.reduces)
        return s.product != NULL;
    uint32_t alike = 0;
    for (uint32_t i = 0; i < p->reads.len; i++)
        alike += size_of(x, p->reads.at[i]) == size_of(x, point.store->buffer);
    budget -= alike > 1 ? SEVERAL : 1;
    for (uint32_t i = 0; i < p->reads.len; i++) {
        BufferId b = p->reads.at[i];
        const Numbers *writers = &x->places->writers[b];
        if (writers->len == 1 && writers->at[0] < place &&
            size_of(x, b) == size_of(x, point.store->buffer) &&
            ends_product(x, writers->at[0], budget))
            return true;
    }
    return false;
}

static uint32_t readers_of(const Fusion *x, BufferId b)
{
    const Numbers *readers = &x->places->readers[b];
    uint32_t n = 0;
    for (uint32_t i = 0; i < readers->len; i++) {
        const Place *p = place_at(x->places, readers->at[i]);
        n += !p->dead && place_reads(p, b);
    }
    return n;
}

// Is what the kernel stores wider than all that it reads of as many elements?
static bool widens(Fusion *x, uint32_t place, BufferId b)
{
    const Place *p = at(x, place);
    const double size = size_of(x, b);
    const uint32_t bits = dtype_info(buffer_at(x->f.mod, b)->dtype)->bits;
    for (uint32_t i = 0; i < p->reads.len; i++)
        if (size_of(x, p->reads.at[i]) >= size &&
            dtype_info(buffer_at(x->f.mod, p->reads.at[i])->dtype)->bits >= bits)
            return false;
    return true;
}

// The end of a product's arithmetic, for a reader that has another product: a value is kept between
// the two anyway, and the one made first ends on sums in registers, whose constants of a channel
// its weights take. Bytes that are made of sums are less to keep as well.
static bool ends_apart(Fusion *x, const Trial *t)
{
    const BufferId b = t->p.store->buffer;
    const Place *p = at(x, t->producer);
    if (t->view || widens(x, t->producer, b))
        return false;
    for (uint32_t i = 0; i < p->reads.len; i++) {
        const BufferId sums = p->reads.at[i];
        const Numbers *writers = &x->places->writers[sums];
        if (size_of(x, sums) == size_of(x, b) && readers_of(x, sums) == 1 &&
            !x->places->pinned[sums] && buffer_at(x->f.mod, sums)->kind == BUF_TEMP &&
            writers->len == 1 && writers->at[0] < t->producer &&
            ends_product(x, writers->at[0], BEFORE))
            return true;
    }
    return false;
}

// How many the kernel stores, which may be a part of a value.
static double elements_of(Fusion *x, const Kernel *k)
{
    const Point p = point_of(k->body);
    double n = p.store ? 1 : 0;
    for (uint32_t i = 0; i < p.nloops; i++)
        n *= fuse_eval(&x->f, loop_extent(x->f.mod->polys, p.loops[i]->var));
    return n;
}

// The end of a product's arithmetic, for a reader that sums or pools it to a few elements, or that
// has many elements share each of its: it is done where the product is, on sums in registers, and
// the reader passes over what is stored then, in whatever layout. What widens that again, as a cast
// of bytes, is the reader's.
static bool is_apart(Fusion *x, const Trial *t, const Shape *reader, uint32_t place)
{
    enum { FEW = 4 };
    const BufferId b = t->p.store->buffer;
    const Place *c = at(x, place);
    if (t->view || reader->product || c->writes.len != 1)
        return false;
    const double read = size_of(x, b);
    const bool pooled = reader->reduces && FEW * size_of(x, c->writes.at[0]) <= read;
    const bool shared = !reader->reduces && FEW * read <= elements_of(x, c->step->kernel);
    return (pooled || shared) && !widens(x, t->producer, b) && ends_product(x, t->producer, BEFORE);
}

// A byte of which alone the reader computes something dear, which is looked up: made first, as
// products make bytes, unless it is a function of one byte itself.
static bool is_looked_up(Fusion *x, const Trial *t, const Stmt *reader)
{
    const Point c = point_of(reader);
    const BufferId b = t->p.store->buffer;
    const Expr *of = x->f.target->looks_up && c.store ? byte_dear(c.store->value) : NULL;
    return of && of->buffer == b && !t->view && size_of(x, b) >= BYTE_LEAST &&
           !byte_function(t->p.store->value);
}

// What is looked up of a byte, and would be computed in a reader that needs more than this byte.
static bool looks_up(Fusion *x, const Trial *t, const Stmt *reader)
{
    const Point c = point_of(reader);
    return x->f.target->looks_up && byte_dear(t->p.store->value) &&
           size_of(x, t->p.store->buffer) >= BYTE_LEAST &&
           !(c.store && byte_function(c.store->value));
}

// May the reader compute what the producer stores?
static bool may_take(Fusion *x, uint32_t producer, uint32_t reader)
{
    const Place *c = at(x, reader), *p = at(x, producer);
    return c->step->kernel->on_host == p->step->kernel->on_host &&
           places_in_order(x->places, producer, reader) &&
           !places_change_between(x->places, producer, reader) && !place_disturbs(c, p) &&
           !(places_loop_between(x->places, producer, reader) && p->work > 0);
}

// Parts are read by what computes an element of each, its innermost loop cut where they meet.
static bool takes_parts(Fuse *f, const Trial *t, const Stmt *old, const Shape *before)
{
    return t->nmakers == 1 ||
           (!before->reduces && fuse_reads_straight(f, split_loops(f, (Stmt *)(uintptr_t)old),
                                                    t->p.store->buffer, t->axis));
}

static bool try_reader(Fusion *x, Trial *t, uint32_t reader)
{
    Fuse *f = &x->f;
    const Place *c = at(x, reader), *p = at(x, t->producer);
    BufferId b = t->p.store->buffer;
    for (uint32_t i = 0; i < t->nmakers; i++)
        if (!may_take(x, t->makers[i], reader))
            return false;
    Stmt *old = c->step->kernel->body;
    bool multiplies = kernel_multiplies(f, old, b);
    if (multiplies && !t->view && !t->scaled)
        return is_one_hot(t->p.store->value) && try_lookup(x, t, reader);
    Shape before = shape_of(f, split_loops(f, old));
    if (before.data_extents || (before.product && (t->shape.product || ends_apart(x, t))) ||
        is_apart(x, t, &before, reader) || is_looked_up(x, t, old) ||
        !takes_parts(f, t, old, &before))
        return false;
    Stmt *body = inline_point(f, old, &t->p, t->vars);
    if (looks_up(x, t, body))
        return false;
    if (multiplies && t->scaled)
        body = fuse_scales_out(f, body);
    Stmt *split = split_loops(f, body);
    Shape now = shape_of(f, split);
    if ((multiplies && split != body && split_loops(f, old) == old) ||
        !keeps_schedules(t, &before, &now) || turns_rows(f, t, &before, &now) ||
        narrows_convolution(f, &now, body) || !is_small_enough(x, body, c, p))
        return false;
    accept(x, t, reader, body);
    if (multiplies && t->scaled && place_scale_reader(x->places, reader))
        spare(t, size_of(x, c->writes.at[0]));        // it goes where the sums are read
    spare(t, 2.0 * (t->nmakers - 1) * size_of(x, b)); // comparisons: loops are cut instead
    return true;
}

// Elements that need not be read and written any more: a producer of k operands of its own size is
// read by r kernels, which then read k each. Parts have one each.
static double saved_elements(Fusion *x, const Trial *t)
{
    const Place *p = at(x, t->producer);
    double size = size_of(x, t->p.store->buffer), r = t->readers.len, k = t->nmakers > 1;
    for (uint32_t i = 0; t->nmakers == 1 && i < p->reads.len; i++)
        k += size_of(x, p->reads.at[i]) >= size;
    return size * (k + 1 + r - r * k);
}

static bool try_all(Fusion *x, Trial *t)
{
    Fuse *f = &x->f;
    BufferId b = t->p.store->buffer;
    double before = 0;
    for (uint32_t i = 0; i < t->nmakers; i++)
        before += at(x, t->makers[i])->work;
    const Numbers *readers = &x->places->readers[b];
    for (uint32_t i = 0; i < readers->len; i++) {
        const Place *c = at(x, readers->at[i]);
        if (c->dead || !place_reads(c, b))
            continue;
        before += c->work;
        if (!try_reader(x, t, readers->at[i]))
            return false;
    }
    if (t->readers.len == 0 || t->work > before + f->target->element / 2 * saved_elements(x, t) ||
        x->work - before + t->work > x->limit)
        return false;
    return t->readers.len == 1 || t->view || widens(x, t->producer, b) ||
           !ends_product(x, t->producer, BEFORE);
}

// ---- doing it ---------------------------------------------------------------------------------

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

static void take_uses(Fusion *x, uint32_t place)
{
    x->work -= at(x, place)->work;
    place_take_uses(x->places, place);
    x->work += at(x, place)->work;
}

static void commit(Fusion *x, Trial *t)
{
    x->limit += t->spared;
    for (uint32_t i = 0; i < t->nmakers; i++) {
        x->work -= at(x, t->makers[i])->work;
        at(x, t->makers[i])->dead = true;
    }
    for (uint32_t i = 0; i < t->readers.len; i++) {
        Kernel *c = at(x, t->readers.at[i])->step->kernel;
        c->body = t->bodies.at[i];
        for (uint32_t k = t->nmakers; k-- > 0;)
            join_names(x, c, at(x, t->makers[k])->step->kernel, t->view);
        const uint32_t scaled = t->scaled ? place_hands_on_scale(x->places, t->readers.at[i]) : 0;
        take_uses(x, t->readers.at[i]);
        if (scaled)
            take_uses(x, scaled);
    }
}

static void drop_unread(Fusion *x, Place *p)
{
    for (uint32_t i = 0; i < p->writes.len; i++)
        if (places_need(x->places, p->writes.at[i]))
            return;
    x->work -= p->work;
    p->dead = true;
}

// Is b, a view of all of it aside, stored best by the kernel that computes it: the end of a
// product, or what others need too and is computed once?
static bool is_made_apart(Fusion *x, BufferId b, bool shared, int depth)
{
    const Numbers *writers = &x->places->writers[b];
    if (writers->len != 1 || !at(x, writers->at[0])->step->kernel || depth == 0)
        return false;
    const Place *p = at(x, writers->at[0]);
    const Point made = point_of(p->step->kernel->body);
    shared |= readers_of(x, b) > 1;
    if (!made.store || !is_view(&made))
        return shared || ends_product(x, writers->at[0], BEFORE);
    const BufferId from = made.store->value->buffer;
    return size_of(x, from) == size_of(x, b) && is_made_apart(x, from, shared, depth - 1);
}

static bool is_made_in_parts(Fusion *x, const Trial *t)
{
    const double all = size_of(x, t->p.store->buffer);
    for (uint32_t i = 0; i < t->nmakers; i++) {
        const Place *p = at(x, t->makers[i]);
        for (uint32_t k = 0; k < p->reads.len; k++)
            if (size_of(x, p->reads.at[k]) < all && is_made_apart(x, p->reads.at[k], false, 12))
                return true;
    }
    return false;
}

// The parts of b take the places that the only reader of it gives them.
static bool turn_parts(Fusion *x, BufferId b)
{
    Numbers parts = {0};
    for (uint32_t i = 0; i < x->places->writers[b].len; i++) {
        x->work -= at(x, x->places->writers[b].at[i])->work;
        vec_push(x->f.arena, &parts, x->places->writers[b].at[i]);
    }
    const uint32_t reader = place_turned(x->places, b);
    for (uint32_t i = 0; i < parts.len; i++) {
        x->work += at(x, parts.at[i])->work;
        if (!reader)
            continue;
        Kernel *part = at(x, parts.at[i])->step->kernel;
        Kernel both = *at(x, reader)->step->kernel;
        join_names(x, &both, part, false);
        part->name = both.name;
        part->fused = both.fused;
    }
    if (!reader)
        return false;
    x->work -= at(x, reader)->work;
    at(x, reader)->dead = true;
    return true;
}

// What the kernels that write b have in common; false: it is not for its readers to compute.
static bool trial_of(Fusion *x, BufferId b, Trial *t)
{
    Fuse *f = &x->f;
    const Numbers *writers = &x->places->writers[b];
    if (writers->at[writers->len - 1] != t->producer)
        return false;
    Stmt *body = writers->len == 1 ? at(x, t->producer)->step->kernel->body
                                   : place_joined(x->places, b, &t->axis);
    t->makers = writers->at;
    t->nmakers = writers->len;
    t->p = point_of(body);
    if (!body || !point_defines(f, &t->p, t->vars))
        return false;
    if (t->nmakers > 1 && (is_made_in_parts(x, t) || turn_parts(x, b)))
        return false;
    t->view = is_view(&t->p);
    const Expr *load = f->target->scales ? fuse_scaled_load(t->p.store->value) : NULL;
    t->scaled = load && !place_takes_scale(x->places, load);
    t->shape = shape_of(f, split_loops(f, body));
    return true;
}

static void visit(Fusion *x, uint32_t producer)
{
    Place *p = at(x, producer);
    Fuse *f = &x->f;
    if (p->dead || !p->step->kernel)
        return;
    drop_unread(x, p);
    BufferId b = p->writes.len == 1 ? p->writes.at[0] : 0;
    if (p->dead || !b || x->places->pinned[b] || place_reads(p, b) ||
        buffer_at(f->mod, b)->kind != BUF_TEMP || buffer_at(f->mod, b)->rank > 64)
        return;
    Trial t = {.producer = producer};
    if (!trial_of(x, b, &t))
        return;
    bool too_few = t.shape.reduces && size_of(x, b) < f->target->least_rows;
    if (!t.shape.data_extents && !too_few && try_all(x, &t))
        commit(x, &t);
}

// A condition that a cast reads must be inside the cast before that meets a product.
static bool is_early(const Place *p)
{
    Point point = {.store = NULL};
    if (p->step->kernel)
        point = point_of(p->step->kernel->body);
    return point.store && is_condition(point.store->value);
}

// ---- the result -------------------------------------------------------------------------------

static Step *sweep(Fusion *x, Step *s, uint32_t *place)
{
    Step *first = NULL, **tail = &first;
    for (; s; s = s->next) {
        const Place *p = at(x, (*place)++);
        s->body = sweep(x, s->body, place);
        s->other = sweep(x, s->other, place);
        if (p->dead)
            continue;
        if (s->kernel) {
            s->kernel->id = x->f.mod->nkernels++;
            s->kernel->body = fuse_scheduled(&x->f, s->kernel->body);
            if (x->f.target->rows)
                s->kernel->body = share_row(&x->f, s->kernel->body, &s->kernel->row);
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
    fuse_known(&x.f);
    hoist_reductions(&x.f);
    x.places = places_new(&x.f);
    uint32_t n = x.places->all.len, place = 1;
    for (uint32_t i = 1; i < n; i++)
        x.work += at(&x, i)->work;
    x.limit = x.work * target->growth;
    for (uint32_t i = 1; i < n; i++)
        if (is_early(at(&x, i)))
            visit(&x, i);
    for (uint32_t i = n - 1; i > 0; i--)
        visit(&x, i);
    fuse_copies(x.places);
    mod->nkernels = 0;
    mod->steps = sweep(&x, mod->steps, &place);
    report->kernels_after = mod->nkernels;
    report->work_after = module_work(mod, FUSE_UNKNOWN);
    arena_free(x.f.arena);
}
