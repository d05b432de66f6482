// What several kernels write the parts of, one behind another along a dim, as Concat has it, read
// as one formula:
//
//     y[i] = i < n ? a[i] : b[i - n]
//
// A reader that takes each element once then needs no buffer of it: the halves of a rotary
// embedding are read where they are, and the loop is cut where they meet (codegen/cpu/parts.c).

#include "codegen/fuse_places.h"

#include <string.h>

enum { MOST_PARTS = 4, MOST_RANK = 16 };

// One kernel's part: elements from `from` on, `extent` of them, along the dim.
typedef struct Part {
    Point p;
    LoopId vars[MOST_RANK]; // by dim, 0: it is 1 there
    int64_t from, extent;
} Part;

typedef struct Joining {
    Fuse *f;
    BufferId buffer;
    uint32_t axis;
    Part parts[MOST_PARTS];
    uint32_t nparts;
    LoopId vars[MOST_RANK]; // of the whole
} Joining;

// The loop that runs over the part's places along dim i: at = its variable + *from.
static bool read_dim(Joining *j, Part *part, uint32_t i, Index *extent, int64_t *from)
{
    Polys *polys = j->f->mod->polys;
    const Index at = part->p.store->at[i];
    part->vars[i] = 0;
    *extent = poly_const(polys, 1);
    if (poly_is_const(at, from))
        return true;
    for (uint32_t k = 0; k < part->p.nloops; k++) {
        const LoopId v = part->p.loops[k]->var;
        if (!poly_is_const(poly_sub(polys, at, poly_loop(polys, v)), from))
            continue;
        part->vars[i] = v;
        *extent = loop_extent(polys, v);
        return true;
    }
    return false;
}

// A loop for each dim, and each loop for one.
static bool uses_all_loops(const Part *part, uint32_t rank)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < rank; i++)
        n += part->vars[i] != 0;
    for (uint32_t k = 0; k < part->p.nloops; k++) {
        bool found = false;
        for (uint32_t i = 0; i < rank; i++)
            found |= part->vars[i] == part->p.loops[k]->var;
        if (!found)
            return false;
    }
    return n == part->p.nloops;
}

// The next part along the dim that parts differ in; the first one to be shorter decides which.
static bool add_part(Joining *j, const Kernel *k)
{
    const Buffer *b = buffer_at(j->f->mod, j->buffer);
    Part *part = &j->parts[j->nparts];
    const Part *before = j->nparts ? part - 1 : NULL;
    *part = (Part){.p = point_of(k->body)};
    if (!part->p.store || expr_free(j->f, part->p.store->value)->reduces)
        return false;
    for (uint32_t i = 0; i < b->rank; i++) {
        Index extent;
        int64_t from;
        if (!read_dim(j, part, i, &extent, &from))
            return false;
        if (extent == b->dims[i] && from == 0)
            continue;
        if ((j->axis != b->rank && j->axis != i) || !poly_is_const(extent, &part->extent))
            return false;
        j->axis = i;
        part->from = from;
    }
    j->nparts++;
    return part->extent > 0 && part->from == (before ? before->from + before->extent : 0) &&
           uses_all_loops(part, b->rank);
}

static Index at_element(void *context, const Atom *a)
{
    const Joining *j = context;
    const Part *part = &j->parts[j->nparts];
    for (uint32_t i = 0; a->kind == ATOM_LOOP && i < MOST_RANK; i++)
        if (part->vars[i] && part->vars[i] == a->var)
            return poly_add_const(j->f->mod->polys, poly_loop(j->f->mod->polys, j->vars[i]),
                                  i == j->axis ? -part->from : 0);
    return NULL;
}

static const Expr *select_part(Joining *j)
{
    Module *mod = j->f->mod;
    const ExprMap map = {j, NULL, at_element};
    const Expr *value = NULL;
    const Expr *place = expr_index(mod, poly_loop(mod->polys, j->vars[j->axis]));
    while (j->nparts-- > 0) {
        const Part *part = &j->parts[j->nparts];
        const Expr *own = expr_map(mod, part->p.store->value, &map);
        const Expr *end = expr_index(mod, poly_const(mod->polys, part->from + part->extent));
        value = value ? expr_select(mod, expr_compare(mod, C_LT, place, end), own, value) : own;
    }
    return value;
}

// The loops over all of the buffer around one store of the formula.
static Stmt *whole(Joining *j)
{
    Module *mod = j->f->mod;
    const Buffer *b = buffer_at(mod, j->buffer);
    Index *at = NEWS(mod->arena, Index, b->rank);
    for (uint32_t i = 0; i < b->rank; i++) {
        const bool one = poly_equals(b->dims[i], 1);
        j->vars[i] = one ? 0 : loop_new(mod->polys, b->dims[i]);
        at[i] = one ? poly_const(mod->polys, 0) : poly_loop(mod->polys, j->vars[i]);
    }
    Stmt *body = NEW(mod->arena, Stmt);
    *body = *j->parts[0].p.store;
    body->at = at;
    body->value = select_part(j);
    for (uint32_t i = b->rank; i-- > 0;) {
        if (!j->vars[i])
            continue;
        Stmt *loop = NEW(mod->arena, Stmt);
        *loop = (Stmt){.kind = S_FOR, .par = true, .var = j->vars[i], .body = body};
        body = loop;
    }
    return body;
}

// The parts of b in their order, in point form each, which are all of it along j->axis.
static bool take_parts(Joining *j, const Places *places, BufferId b)
{
    const Numbers *writers = &places->writers[b];
    const Buffer *buffer = buffer_at(places->f->mod, b);
    *j = (Joining){.f = places->f, .buffer = b, .axis = buffer->rank};
    int64_t extent;
    if (writers->len < 2 || writers->len > MOST_PARTS || buffer->rank > MOST_RANK)
        return false;
    for (uint32_t i = 0; i < writers->len; i++) {
        const Place *p = place_at(places, writers->at[i]);
        if (p->dead || !p->step->kernel || p->writes.len != 1 || place_reads(p, b) ||
            !add_part(j, p->step->kernel))
            return false;
    }
    const Part *last = &j->parts[j->nparts - 1];
    return j->axis != buffer->rank && poly_is_const(buffer->dims[j->axis], &extent) &&
           last->from + last->extent == extent;
}

Stmt *place_joined(const Places *places, BufferId b, uint32_t *axis)
{
    Joining j;
    if (!take_parts(&j, places, b))
        return NULL;
    *axis = j.axis;
    return whole(&j);
}

// ---- a reader that transposes ------------------------------------------------------------------

// What reads all of b and only moves it, neighbours apart: its loops by dim of b, 0 where it is 1.
typedef struct Turn {
    Point p;
    LoopId vars[MOST_RANK];
} Turn;

static bool turns(Fuse *f, BufferId b, const Kernel *k, Turn *t)
{
    const Buffer *buffer = buffer_at(f->mod, b);
    Polys *polys = f->mod->polys;
    *t = (Turn){.p = point_of(k->body)};
    const Expr *load = t->p.store ? t->p.store->value : NULL;
    if (!load || load->kind != EX_LOAD || load->buffer != b)
        return false;
    uint32_t used = 0;
    LoopId last = 0;
    for (uint32_t i = 0; i < buffer->rank; i++) {
        if (poly_equals(buffer->dims[i], 1))
            continue;
        for (uint32_t n = 0; n < t->p.nloops && !t->vars[i]; n++) {
            const LoopId v = t->p.loops[n]->var;
            if (load->at[i] == poly_loop(polys, v) && loop_extent(polys, v) == buffer->dims[i])
                t->vars[i] = v;
        }
        if (!t->vars[i])
            return false;
        last = t->vars[i];
        used++;
    }
    for (uint32_t i = 0; i < buffer->rank; i++) // each loop is of one dim
        for (uint32_t k = 0; k < i; k++)
            if (t->vars[i] && t->vars[i] == t->vars[k])
                return false;
    return used == t->p.nloops && used > 1 && last != t->p.loops[used - 1]->var;
}

typedef struct Turned {
    const Turn *turn;
    const Part *part;
} Turned;

static Index at_part(void *context, const Atom *a)
{
    const Turned *t = context;
    for (uint32_t i = 0; a->kind == ATOM_LOOP && i < MOST_RANK; i++)
        if (t->turn->vars[i] && t->turn->vars[i] == a->var)
            return t->part->p.store->at[i];
    return NULL;
}

// The part's loops in the reader's order, around a store where that one puts its elements.
static Stmt *turned(Fuse *f, const Turn *t, const Part *part)
{
    Module *mod = f->mod;
    const Stmt *to = t->p.store;
    Turned context = {t, part};
    Stmt *body = NEW(mod->arena, Stmt);
    Index *at = NEWS(mod->arena, Index, to->rank);
    *body = *to;
    body->value = part->p.store->value;
    for (uint32_t i = 0; i < to->rank; i++)
        at[i] = poly_map(mod->polys, to->at[i], at_part, &context);
    body->at = at;
    for (uint32_t k = t->p.nloops; k-- > 0;)
        for (uint32_t i = 0; i < MOST_RANK; i++) {
            if (t->vars[i] != t->p.loops[k]->var || !part->vars[i])
                continue;
            Stmt *loop = NEW(mod->arena, Stmt);
            *loop = (Stmt){.kind = S_FOR, .par = true, .var = part->vars[i], .body = body};
            body = loop;
        }
    return body;
}

uint32_t place_turned(Places *places, BufferId b)
{
    const Numbers *readers = &places->readers[b], *writers = &places->writers[b];
    Joining j;
    Turn turn;
    uint32_t reader = 0, n = 0;
    for (uint32_t i = 0; i < readers->len; i++) {
        const Place *p = place_at(places, readers->at[i]);
        if (p->dead || !place_reads(p, b))
            continue;
        reader = readers->at[i];
        n++;
    }
    const Place *r = place_at(places, reader);
    if (n != 1 || !r->step->kernel || r->writes.len != 1 ||
        places->writers[r->writes.at[0]].len != 1 || !take_parts(&j, places, b) ||
        !turns(places->f, b, r->step->kernel, &turn))
        return 0;
    for (uint32_t i = 0; i < j.nparts; i++)
        if (j.parts[i].p.store->value->kind != EX_LOAD ||
            place_at(places, writers->at[i])->list != r->list ||
            !places_in_order(places, writers->at[i], reader))
            return 0;
    places->writers[r->writes.at[0]].len = 0;
    for (uint32_t i = 0; i < j.nparts; i++) {
        place_at(places, writers->at[i])->step->kernel->body =
            turned(places->f, &turn, &j.parts[i]);
        place_take_uses(places, writers->at[i]);
    }
    return reader;
}

// ---- readers -----------------------------------------------------------------------------------

typedef struct Straight {
    Fuse *f;
    BufferId buffer;
    uint32_t axis;
    LoopId v; // the innermost loop
    bool holds;
} Straight;

static void test_load(void *context, const Expr *e)
{
    Straight *s = context;
    Polys *polys = s->f->mod->polys;
    int64_t n;
    if (e->kind != EX_LOAD || e->buffer != s->buffer || !s->v)
        return;
    const Index at = e->at[s->axis];
    s->holds &= !index_depends(s->f, at, s->v) ||
                (poly_is_const(poly_sub(polys, at, poly_loop(polys, s->v)), &n) &&
                 poly_is_const(loop_extent(polys, s->v), &n));
}

bool fuse_reads_straight(Fuse *f, const Stmt *body, BufferId b, uint32_t axis)
{
    const Point p = point_of(body);
    Straight s = {f, b, axis, p.nloops ? p.loops[p.nloops - 1]->var : 0, p.store != NULL};
    stmts_walk(f, body, test_load, &s);
    return s.holds;
}
