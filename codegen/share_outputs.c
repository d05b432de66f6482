// Outputs that may lie where an input does: those that begin as its copy, element by element, and
// of which kernels behind that write what is new (the rows that a step adds to a cache, what a
// Scatter stores). Where the caller lends the input's own memory for the output, the copy is left
// out.
//
// Nothing else may read such an input: an element of the output could be in its place. The two are
// as large, which a run tests, so that one dim alone may differ in what is known when compiling.

#include "codegen/share_outputs.h"

// Does what a kernel stores stay as it is where the store's buffer lies in *from's memory?
static bool is_kept(const Kernel *k, const Stmt *store, const Expr *e, BufferId *from)
{
    if (e->kind == EX_SELECT)
        return is_kept(k, store, e->b, from) && is_kept(k, store, e->c, from);
    if (e->kind == EX_CONST)
        return k->rest;
    if (e->kind != EX_LOAD || (*from && *from != e->buffer) || e->rank != store->rank)
        return false;
    for (uint32_t i = 0; i < e->rank; i++)
        if (e->at[i] != store->at[i])
            return false;
    *from = e->buffer;
    return true;
}

static const Stmt *only_store(const Stmt *s)
{
    while (s && !s->next && (s->kind == S_FOR || (s->kind == S_IF && !s->other)))
        s = s->body;
    return s && !s->next && s->kind == S_STORE ? s : NULL;
}

static bool laid_out_alike(const Buffer *x, const Buffer *y)
{
    uint32_t other = 0;
    if (x->rank != y->rank || x->dtype != y->dtype || dtype_is_reference(x->dtype))
        return false;
    for (uint32_t i = 0; i < x->rank; i++)
        other += x->dims[i] != y->dims[i];
    return other < 2;
}

// The output that k begins as a copy of the input *from; 0: none.
static BufferId copied_output(const Module *mod, const Kernel *k, BufferId *from)
{
    const Stmt *store = only_store(k->body);
    *from = 0;
    if (!store || buffer_at(mod, store->buffer)->kind != BUF_OUTPUT ||
        !is_kept(k, store, store->value, from) || !*from ||
        buffer_at(mod, *from)->kind != BUF_INPUT ||
        !laid_out_alike(buffer_at(mod, store->buffer), buffer_at(mod, *from)))
        return 0;
    return store->buffer;
}

void share_outputs_module(Module *mod)
{
    uint32_t *uses = NEWS(mod->arena, uint32_t, mod->buffers.len); // steps that use a buffer
    bool *begun = NEWS(mod->arena, bool, mod->buffers.len);
    for (int turn = 0; turn < 2; turn++)
        for (const Step *s = mod->steps; s; s = s->next) {
            KernelUses u = {.arena = mod->arena};
            BufferId from, to = 0;
            uses_add_step(mod, &u, s);
            if (turn == 1 && s->kind == STEP_KERNEL && !s->kernel->on_host)
                to = copied_output(mod, s->kernel, &from);
            if (to && !begun[to] && uses[from] == 1)
                buffer_at(mod, to)->shares = from;
            for (uint32_t i = 0; i < u.buffers.len; i++) {
                uses[u.buffers.at[i].id] += turn == 0;
                begun[u.buffers.at[i].id] |= turn == 1;
            }
        }
}

// As kernels are when they are printed: what became part of another one is done anyway.
BufferId shared_output_of(const Module *mod, const Kernel *k)
{
    BufferId from;
    const BufferId to = k->on_host ? 0 : copied_output(mod, k, &from);
    return to && buffer_at(mod, to)->shares == from ? to : 0;
}

BufferId shared_input_of(const Module *mod, BufferId output)
{
    for (const Step *s = mod->steps; s; s = s->next)
        if (s->kind == STEP_KERNEL && shared_output_of(mod, s->kernel) == output)
            return buffer_at(mod, output)->shares;
    return 0;
}
