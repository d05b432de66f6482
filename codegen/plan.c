// Liveness over steps, then offsets by runtime/cameo_plan.h.
//
// Each step has a time. A buffer lives from its first touch to its last; one touched inside a loop
// lives as long as the outermost loop around, since the next iteration may read it; an output
// lives to the end. Buffers that live at the same time never overlap, so kernels may call all of
// their pointers restrict, but for a value that is read for the last time by a kernel which stores
// to the same places (override_replaces): what it stores lies there.

#include "codegen/plan.h"
#include "codegen/cpu/gemm.h"
#include "codegen/printer.h"

#include <string.h>

enum { MANY = 2 }; // steps that define a dim, or more of them

// At time `at` x is read where y is written.
typedef struct Over {
    BufferId y, x;
    int32_t at;
} Over;

typedef struct Lives {
    Module *mod;
    Arena *arena;
    Plan *plan;
    int32_t *first, *last; // by BufferId; first -1: not touched
    int32_t now, loop_begin;
    bool in_loop;
    VEC(BufferId) in_this_loop;
    VEC(Over) overs;
} Lives;

static void touch(Lives *l, BufferId b, int32_t at)
{
    if (l->first[b] < 0 || at < l->first[b])
        l->first[b] = at;
    if (at > l->last[b])
        l->last[b] = at;
}

static void touch_now(Lives *l, BufferId b)
{
    touch(l, b, l->now);
    if (l->in_loop) {
        touch(l, b, l->loop_begin);
        vec_push(l->arena, &l->in_this_loop, b);
    }
}

static void touch_uses(Lives *l, const KernelUses *u)
{
    for (uint32_t i = 0; i < u->buffers.len; i++)
        touch_now(l, u->buffers.at[i].id);
}

static void touch_exprs(Lives *l, const Step *s)
{
    KernelUses u = {.arena = l->arena};
    uses_add_index(l->mod, &u, s->value);
    uses_add_expr(l->mod, &u, s->cond);
    uses_add_call(l->mod, &u, s->call);
    touch_uses(l, &u);
}

static void walk_steps(Lives *l, const Step *s)
{
    for (; s; s = s->next) {
        l->now++;
        if (s->kernel) {
            KernelUses u = kernel_uses(l->mod, l->arena, s->kernel);
            touch_uses(l, &u);
            Over over = {.at = l->now};
            over.x = override_replaces(l->mod, s->kernel, &over.y);
            if (over.x)
                vec_push(l->arena, &l->overs, over);
        }
        touch_exprs(l, s);
        if (s->kind == STEP_DIM || s->kind == STEP_LOOP)
            l->plan->data_dim[s->dim] += l->plan->data_dim[s->dim] < MANY;
        bool outermost = s->kind == STEP_LOOP && !l->in_loop;
        if (outermost) {
            l->in_loop = true;
            l->loop_begin = l->now;
            l->in_this_loop.len = 0;
        }
        walk_steps(l, s->body);
        walk_steps(l, s->other);
        if (s->kind == STEP_LOOP)
            l->now++;
        if (outermost) {
            for (uint32_t i = 0; i < l->in_this_loop.len; i++)
                touch(l, l->in_this_loop.at[i], l->now);
            l->in_loop = false;
        }
    }
}

// Is y written there for the first time, and x, which nobody reads afterwards, no port?
static bool takes_over(const Lives *l, const Over *o)
{
    const Buffer *x = buffer_at(l->mod, o->x), *y = buffer_at(l->mod, o->y);
    return x->kind == BUF_TEMP && y->kind == BUF_TEMP && !y->in_place && l->first[o->y] == o->at &&
           l->last[o->x] == o->at;
}

static void place_over(Lives *l)
{
    for (uint32_t i = 0; i < l->overs.len; i++) {
        const Over *o = &l->overs.at[i];
        if (!takes_over(l, o))
            continue;
        const BufferId lies = buffer_at(l->mod, o->x)->in_place;
        buffer_at(l->mod, o->y)->in_place = lies ? lies : o->x;
    }
}

int64_t buffer_bytes(const Buffer *b)
{
    int64_t dims[64];
    for (uint32_t i = 0; i < b->rank && i < 64; i++)
        if (!poly_is_const(b->dims[i], &dims[i]) || dims[i] < 0)
            return -1;
    int64_t size = dtype_stored_bytes(b->dtype);
    for (uint32_t i = 0; i < b->rank; i++)
        if (__builtin_mul_overflow(size, dims[i], &size))
            return -1;
    return size;
}

static bool is_data_dim(void *context, const Atom *a)
{
    const Plan *p = context;
    return (a->kind == ATOM_DIM && p->data_dim[a->var]) || a->kind == ATOM_EXPR;
}

static bool is_unknown_dim(void *context, const Atom *a)
{
    const Plan *p = context;
    return a->kind == ATOM_DIM && !p->data_dim[a->var] && !p->input_dim[a->var];
}

bool plan_grows(const Plan *p, const Buffer *b)
{
    for (uint32_t i = 0; i < b->rank; i++)
        if (poly_any(b->dims[i], is_data_dim, (void *)(uintptr_t)p))
            return true;
    return false;
}

static void place_buffers(Lives *l)
{
    Plan *p = l->plan;
    int64_t weights = 0;
    for (BufferId b = 1; b < l->mod->buffers.len; b++) {
        const Buffer *buf = buffer_at(l->mod, b);
        if ((l->first[b] < 0 && buf->kind != BUF_INPUT && buf->kind != BUF_OUTPUT) || buf->in_place)
            continue;
        if (buf->kind == BUF_INPUT) {
            p->place[b] = PLACE_INPUT;
            p->slot[b] = buf->port;
            continue;
        }
        if (buf->kind == BUF_WEIGHT) {
            p->place[b] = PLACE_WEIGHT;
            p->weight_offset[b] = weights;
            weights += cameo_aligned(buffer_bytes(buf));
            continue;
        }
        for (uint32_t i = 0; i < buf->rank; i++)
            if (poly_any(buf->dims[i], is_unknown_dim, p))
                p->fault = "a size is defined by nothing";
        const bool block = p->apart || plan_grows(p, buf);
        p->place[b] = block ? PLACE_BLOCK : PLACE_ARENA;
        p->slot[b] = block ? p->blocks.len : p->planned.len;
        if (block)
            vec_push(l->arena, &p->blocks, b);
        else
            vec_push(l->arena, &p->planned, b);
    }
    p->weights_size = p->weights_end = weights;
    for (BufferId b = 1; b < l->mod->buffers.len; b++) {
        const BufferId at = buffer_at(l->mod, b)->in_place;
        p->place[b] = at ? p->place[at] : p->place[b];
        p->slot[b] = at ? p->slot[at] : p->slot[b];
    }
}

// Dims that the first steps make of those of inputs, and no other step, are known as soon as these
// are. What a loop carries is made again.
static void mark_made_dims(Module *mod, Plan *p)
{
    for (const Step *s = mod->steps; s && s->kind == STEP_DIM; s = s->next) {
        if (p->data_dim[s->dim] == MANY || poly_any(s->value, is_data_dim, p))
            return;
        p->data_dim[s->dim] = 0;
        p->input_dim[s->dim] = 1;
    }
}

static void mark_input_dims(Module *mod, Plan *p)
{
    for (uint32_t i = 0; i < mod->inputs.len; i++) {
        const Buffer *b = buffer_at(mod, mod->inputs.at[i]);
        for (uint32_t k = 0; k < b->rank; k++) {
            Index d = b->dims[k];
            if (d->nterms == 1 && d->terms[0].natoms == 1 && d->terms[0].coeff == 1 &&
                d->terms[0].atoms[0]->kind == ATOM_DIM)
                p->input_dim[d->terms[0].atoms[0]->var] = 1;
        }
    }
}

Plan *plan_module(Module *mod, int64_t patience, bool apart, Arena *a)
{
    Plan *p = NEW(a, Plan);
    uint32_t n = mod->buffers.len, dims = dim_count(mod->polys) + 1;
    p->apart = apart;
    p->place = NEWS(a, Place, n);
    p->slot = NEWS(a, uint32_t, n);
    p->weight_offset = NEWS(a, int64_t, n);
    p->data_dim = NEWS(a, uint8_t, dims);
    p->input_dim = NEWS(a, uint8_t, dims);
    Lives l = {.mod = mod, .arena = a, .plan = p};
    l.first = NEWS(a, int32_t, n);
    l.last = NEWS(a, int32_t, n);
    memset(l.first, 0xff, n * sizeof *l.first);
    walk_steps(&l, mod->steps);
    l.now++;
    for (uint32_t i = 0; i < mod->outputs.len; i++)
        touch(&l, mod->outputs.at[i], l.now);
    place_over(&l);
    for (BufferId b = 1; b < n; b++)
        if (buffer_at(mod, b)->in_place && l.first[b] >= 0)
            touch(&l, buffer_at(mod, b)->in_place, l.last[b]);
    mark_input_dims(mod, p);
    mark_made_dims(mod, p);
    place_buffers(&l);
    p->lives = NEWS(a, cameo_life, p->planned.len + 1);
    p->offset = NEWS(a, int64_t, p->planned.len + 1);
    p->fixed = true;
    for (uint32_t i = 0; i < p->planned.len; i++) {
        BufferId b = p->planned.at[i];
        p->lives[i] = (cameo_life){buffer_bytes(buffer_at(mod, b)), l.first[b], l.last[b]};
        p->fixed &= p->lives[i].size >= 0;
    }
    if (p->fixed) {
        int32_t *work = NEWS(a, int32_t, 3 * (size_t)p->planned.len + 1);
        p->peak = cameo_plan((int32_t)p->planned.len, p->lives, p->offset, work, patience);
        p->bound = cameo_plan_bound((int32_t)p->planned.len, p->lives);
    }
    return p;
}
