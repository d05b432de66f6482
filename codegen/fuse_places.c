// The steps of a module as a list: which kernels read and write what, in which order.

#include "codegen/fuse_places.h"
#include "codegen/hoist.h"
#include "codegen/printer.h"

Stmt *fuse_scheduled(Fuse *f, Stmt *body)
{
    Stmt *split = split_loops(f, body);
    return f->target->rows ? share_row(f, split, NULL) : split;
}

static void note(Places *x, Numbers *all, uint32_t place)
{
    for (uint32_t i = all->len; i > 0; i--)
        if (all->at[i - 1] == place)
            return;
    vec_push(x->f->arena, all, place);
}

// Where a dim of what it reads is set anew, a kernel no longer reads the buffer that was written:
// bounds are of its dims.
static void add_sizes(Module *mod, KernelUses *sizes, BufferId b)
{
    const Buffer *buf = buffer_at(mod, b);
    for (uint32_t k = 0; k < buf->rank; k++)
        uses_add_index(mod, sizes, buf->dims[k]);
}

void place_take_uses(Places *x, uint32_t at)
{
    Arena *scratch = arena_new(), *arena = x->f->arena;
    Module *mod = x->f->mod;
    Place *p = place_at(x, at);
    KernelUses u = kernel_uses(mod, scratch, p->step->kernel), sizes = {.arena = scratch};
    p->reads.len = p->writes.len = p->dims.len = 0;
    for (uint32_t i = 0; i < u.buffers.len; i++) {
        BufferId b = u.buffers.at[i].id;
        if (u.buffers.at[i].bits & ACCESS_READ) {
            vec_push(arena, &p->reads, b);
            note(x, &x->readers[b], at);
            add_sizes(mod, &sizes, b);
        }
        if (u.buffers.at[i].bits & ACCESS_WRITE) {
            vec_push(arena, &p->writes, b);
            note(x, &x->writers[b], at);
        }
    }
    for (uint32_t i = 0; i < u.dims.len; i++)
        access_note(scratch, &sizes.dims, u.dims.at[i].id, 1);
    for (uint32_t i = 0; i < sizes.dims.len; i++)
        vec_push(arena, &p->dims, sizes.dims.at[i].id);
    arena_free(scratch);
    p->work = fuse_work(x->f, fuse_scheduled(x->f, p->step->kernel->body));
}

static void pin_uses(Places *x, const Step *s, uint32_t at)
{
    Arena *scratch = arena_new();
    Module *mod = x->f->mod;
    KernelUses u = {.arena = scratch};
    uses_add_index(mod, &u, s->value);
    uses_add_expr(mod, &u, s->cond);
    uses_add_call(mod, &u, s->call);
    for (uint32_t i = 0; i < u.buffers.len; i++) {
        x->pinned[u.buffers.at[i].id] = true;
        if (u.buffers.at[i].bits & ACCESS_WRITE)
            note(x, &x->writers[u.buffers.at[i].id], at);
    }
    arena_free(scratch);
}

static void list_steps(Places *x, Step *s, uint32_t parent)
{
    uint32_t list = ++x->nlists;
    for (; s; s = s->next) {
        uint32_t at = x->all.len;
        vec_push(x->f->arena, &x->all, ((Place){.step = s, .parent = parent, .list = list}));
        if (s->kernel)
            place_take_uses(x, at);
        else
            pin_uses(x, s, at);
        if (s->kind == STEP_DIM || s->kind == STEP_LOOP)
            vec_push(x->f->arena, &x->setters[s->dim], at);
        list_steps(x, s->body, at);
        list_steps(x, s->other, at);
        place_at(x, at)->end = x->all.len;
    }
}

Places *places_new(Fuse *f)
{
    Places *x = NEW(f->arena, Places);
    x->f = f;
    x->readers = NEWS(f->arena, Numbers, f->mod->buffers.len);
    x->writers = NEWS(f->arena, Numbers, f->mod->buffers.len);
    x->setters = NEWS(f->arena, Numbers, dim_count(f->mod->polys) + 1);
    x->pinned = NEWS(f->arena, bool, f->mod->buffers.len);
    vec_push(f->arena, &x->all, (Place){0});
    list_steps(x, f->mod->steps, 0);
    return x;
}

bool place_reads(const Place *p, BufferId b)
{
    for (uint32_t i = 0; i < p->reads.len; i++)
        if (p->reads.at[i] == b)
            return true;
    return false;
}

bool place_disturbs(const Place *writer, const Place *reader)
{
    for (uint32_t i = 0; i < writer->writes.len; i++)
        if (place_reads(reader, writer->writes.at[i]))
            return true;
    return false;
}

bool places_in_order(const Places *x, uint32_t producer, uint32_t reader)
{
    if (reader <= producer)
        return false;
    for (uint32_t i = reader; i; i = place_at(x, i)->parent)
        if (place_at(x, i)->list == place_at(x, producer)->list)
            return true;
    return false;
}

uint32_t places_loop_between(const Places *x, uint32_t producer, uint32_t reader)
{
    uint32_t loop = 0;
    for (uint32_t i = place_at(x, reader)->parent; i > producer; i = place_at(x, i)->parent)
        if (place_at(x, i)->step->kind == STEP_LOOP)
            loop = i;
    return loop;
}

static bool any_within(const Places *x, const Numbers *all, uint32_t after, uint32_t end)
{
    for (uint32_t i = 0; i < all->len; i++)
        if (all->at[i] > after && all->at[i] < end && !place_at(x, all->at[i])->dead)
            return true;
    return false;
}

// A loop between them runs again, so all of it counts as between.
bool places_change_between(const Places *x, uint32_t producer, uint32_t reader)
{
    const Place *p = place_at(x, producer);
    uint32_t loop = places_loop_between(x, producer, reader);
    uint32_t end = loop ? place_at(x, loop)->end : reader + 1;
    for (uint32_t i = 0; i < p->reads.len; i++)
        if (any_within(x, &x->writers[p->reads.at[i]], producer, end))
            return true;
    for (uint32_t i = 0; i < p->dims.len; i++)
        if (any_within(x, &x->setters[p->dims.at[i]], producer, end))
            return true;
    return false;
}

bool places_need(const Places *x, BufferId b)
{
    if (buffer_at(x->f->mod, b)->kind != BUF_TEMP || x->pinned[b])
        return true;
    for (uint32_t i = 0; i < x->readers[b].len; i++) {
        const Place *p = place_at(x, x->readers[b].at[i]);
        if (!p->dead && place_reads(p, b))
            return true;
    }
    return false;
}
