// A buffer that is copied whole to another one, and read no more behind that, is the other one:
// what ScatterND and the like put into a value goes where the value was made, without a copy of all
// the rest.

#include "codegen/fuse_places.h"

// Is every live step that reads or writes b before the place (or, else, behind it)?
static bool all_used(const Places *x, BufferId b, uint32_t place, bool before)
{
    const Numbers *uses[] = {&x->readers[b], &x->writers[b]};
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < uses[k]->len; i++) {
            const uint32_t at = uses[k]->at[i];
            if (at != place && !place_at(x, at)->dead && (at < place) != before)
                return false;
        }
    return true;
}

// The buffer whose elements the kernel copies, each to its own place of *to; 0: it does more.
static BufferId copied(Fuse *f, const Kernel *k, BufferId *to)
{
    LoopId vars[64];
    const Point p = point_of(k->body);
    if (!p.store || p.store->kind != S_STORE || p.store->value->kind != EX_LOAD ||
        p.store->rank > 64 || !point_defines(f, &p, vars))
        return 0;
    const Expr *load = p.store->value;
    const Buffer *x = buffer_at(f->mod, load->buffer), *y = buffer_at(f->mod, p.store->buffer);
    *to = p.store->buffer;
    bool same = load->buffer != *to && x->kind == BUF_TEMP && y->kind == BUF_TEMP &&
                x->dtype == y->dtype && x->rank == y->rank && x->device == y->device;
    for (uint32_t i = 0; same && i < x->rank; i++)
        same = x->dims[i] == y->dims[i] && load->at[i] == p.store->at[i];
    return same ? load->buffer : 0;
}

typedef struct Renaming {
    Fuse *f;
    BufferId from, to;
    ExprMap map;
} Renaming;

static const Expr *renamed_load(void *context, const Expr *e)
{
    const Renaming *r = context;
    if (e->kind != EX_LOAD || e->buffer != r->from)
        return NULL;
    Index *at = NEWS(r->f->mod->arena, Index, e->rank);
    for (uint32_t i = 0; i < e->rank; i++)
        at[i] = index_map(r->f->mod, e->at[i], &r->map);
    return expr_load(r->f->mod, r->to, at);
}

static void rename_stores(const Renaming *r, Stmt *s)
{
    for (; s; s = s->next) {
        if ((s->kind == S_STORE || s->kind == S_UPDATE) && s->buffer == r->from)
            s->buffer = r->to;
        rename_stores(r, s->body);
        rename_stores(r, s->other);
    }
}

void fuse_copies(Places *x)
{
    for (uint32_t i = 1; i < x->all.len; i++) {
        Place *p = place_at(x, i);
        BufferId to = 0;
        BufferId from =
            !p->dead && p->step->kernel && !p->parent ? copied(x->f, p->step->kernel, &to) : 0;
        if (!from || x->pinned[from] || !all_used(x, from, i, true) || !all_used(x, to, i, false))
            continue;
        p->dead = true;
        Renaming r = {.f = x->f, .from = from, .to = to};
        r.map = (ExprMap){&r, renamed_load, NULL};
        for (uint32_t k = 1; k < i; k++) {
            Place *q = place_at(x, k);
            bool uses = place_reads(q, from);
            for (uint32_t n = 0; n < q->writes.len; n++)
                uses |= q->writes.at[n] == from;
            if (q->dead || !q->step->kernel || !uses)
                continue;
            q->step->kernel->body = stmts_map(x->f, q->step->kernel->body, &r.map);
            rename_stores(&r, q->step->kernel->body);
            place_take_uses(x, k);
        }
    }
}
