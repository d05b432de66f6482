// Kernels whose results nothing reads: what makes a factor of constants, once products read it
// packed.

#include "codegen/printer.h"

static void note_reads(Module *mod, Arena *a, const Step *s, bool *read)
{
    for (; s; s = s->next) {
        KernelUses u = {.arena = a};
        if (s->kernel)
            u = kernel_uses(mod, a, s->kernel);
        uses_add_index(mod, &u, s->value);
        uses_add_expr(mod, &u, s->cond);
        uses_add_call(mod, &u, s->call);
        for (uint32_t i = 0; i < u.buffers.len; i++)
            if (u.buffers.at[i].bits & ACCESS_READ)
                read[u.buffers.at[i].id] = true;
        note_reads(mod, a, s->body, read);
        note_reads(mod, a, s->other, read);
    }
}

// Do these statements nothing but store in buffers of the memory plan that are not read?
static bool only_store(const Module *mod, const Stmt *s, const bool *read)
{
    for (; s; s = s->next) {
        bool unread = s->kind == S_FOR || (s->kind == S_STORE && !read[s->buffer] &&
                                           buffer_at(mod, s->buffer)->kind == BUF_TEMP);
        if (!unread || !only_store(mod, s->body, read))
            return false;
    }
    return true;
}

static void drop(Module *mod, Step **at, const bool *read)
{
    while (*at) {
        Step *s = *at;
        drop(mod, &s->body, read);
        drop(mod, &s->other, read);
        if (s->kernel && !s->kernel->override && only_store(mod, s->kernel->body, read))
            *at = s->next;
        else
            at = &s->next;
    }
}

void steps_drop_unread(Module *mod)
{
    Arena *scratch = arena_new();
    bool *read = NEWS(scratch, bool, mod->buffers.len);
    note_reads(mod, scratch, mod->steps, read);
    for (uint32_t i = 0; i < mod->outputs.len; i++)
        read[mod->outputs.at[i]] = true;
    drop(mod, &mod->steps, read);
    arena_free(scratch);
}
