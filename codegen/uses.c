// What a kernel, an expression or a step needs from outside.

#include "codegen/cpu/gemm.h"
#include "codegen/printer.h"

#include <string.h>

// The first place whose number is not below id; nearly always the last or one past it.
static uint32_t place_of(const Accesses *u, uint32_t id)
{
    uint32_t low = 0, high = u->len;
    if (u->len && u->at[u->len - 1].id < id)
        return u->len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (u->at[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void access_note(Arena *a, Accesses *u, uint32_t id, uint8_t bits)
{
    uint32_t at = place_of(u, id);
    if (at < u->len && u->at[at].id == id) {
        u->at[at].bits |= bits;
        return;
    }
    vec_push(a, u, ((Access){0}));
    memmove(&u->at[at + 1], &u->at[at], (u->len - 1 - at) * sizeof *u->at);
    u->at[at] = (Access){id, bits};
}

uint8_t access_bits(const Accesses *u, uint32_t id)
{
    uint32_t at = place_of(u, id);
    return at < u->len && u->at[at].id == id ? u->at[at].bits : 0;
}

void access_keep(Accesses *u, const Accesses *only)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < u->len; i++) {
        Access both = {u->at[i].id, u->at[i].bits & access_bits(only, u->at[i].id)};
        if (both.bits)
            u->at[kept++] = both;
    }
    u->len = kept;
}

void access_drop(Accesses *u, uint32_t id)
{
    uint32_t at = place_of(u, id);
    if (at == u->len || u->at[at].id != id)
        return;
    memmove(&u->at[at], &u->at[at + 1], (u->len - 1 - at) * sizeof *u->at);
    u->len--;
}

typedef struct UseWalk {
    Module *mod;
    KernelUses *uses;
} UseWalk;

static bool use_atom(void *context, const Atom *a)
{
    UseWalk *w = context;
    if (a->kind == ATOM_DIM)
        access_note(w->uses->arena, &w->uses->dims, a->var, 1);
    if (a->kind == ATOM_EXPR)
        uses_add_expr(w->mod, w->uses, a->e);
    return false;
}

void uses_add_index(Module *mod, KernelUses *u, Index i)
{
    UseWalk w = {mod, u};
    if (i)
        poly_any(i, use_atom, &w);
}

static void use_buffer(Module *mod, KernelUses *u, BufferId id, uint8_t how)
{
    const Buffer *b = buffer_at(mod, id);
    access_note(u->arena, &u->buffers, id, how);
    for (uint32_t i = 0; i < b->rank; i++)
        uses_add_index(mod, u, b->dims[i]);
}

// The dims that an element's address is made of: those behind an index that is not 0.
static void use_strides(Module *mod, KernelUses *u, const Buffer *b, const Index *at)
{
    bool strided = false;
    for (uint32_t i = 0; i < b->rank; i++) {
        if (strided)
            uses_add_index(mod, u, b->dims[i]);
        strided = strided || !poly_equals(at[i], 0);
    }
}

static void use_expr(void *context, const Expr *e)
{
    UseWalk *w = context;
    uses_add_index(w->mod, w->uses, e->index);
    for (uint32_t i = 0; e->at && i < e->rank; i++)
        uses_add_index(w->mod, w->uses, e->at[i]);
    for (uint32_t i = 0; e->kind == EX_REDUCE && i < e->rank; i++)
        uses_add_index(w->mod, w->uses, loop_extent(w->mod->polys, e->vars[i]));
    if (e->kind == EX_LOAD) {
        access_note(w->uses->arena, &w->uses->buffers, e->buffer, ACCESS_READ);
        use_strides(w->mod, w->uses, buffer_at(w->mod, e->buffer), e->at);
    }
}

void uses_add_expr(Module *mod, KernelUses *u, const Expr *e)
{
    UseWalk w = {mod, u};
    if (e)
        expr_walk(mod, e, use_expr, &w);
}

void uses_add_call(Module *mod, KernelUses *u, const Call *call)
{
    for (uint32_t i = 0; call && i < call->nreads; i++)
        use_buffer(mod, u, call->reads[i], ACCESS_READ);
    for (uint32_t i = 0; call && i < call->nwrites; i++)
        use_buffer(mod, u, call->writes[i], ACCESS_WRITE);
    for (uint32_t i = 0; call && i < call->nnumbers; i++)
        uses_add_index(mod, u, call->numbers[i]);
}

static void use_stmts(Module *mod, KernelUses *u, const Stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == S_FOR)
            uses_add_index(mod, u, loop_extent(mod->polys, s->var));
        for (uint32_t i = 0; i < s->rank; i++)
            uses_add_index(mod, u, s->at[i]);
        uses_add_expr(mod, u, s->value);
        if (s->kind == S_STORE || s->kind == S_UPDATE) {
            access_note(u->arena, &u->buffers, s->buffer,
                        s->kind == S_UPDATE ? ACCESS_READ | ACCESS_WRITE : ACCESS_WRITE);
            use_strides(mod, u, buffer_at(mod, s->buffer), s->at);
        }
        use_stmts(mod, u, s->body);
        use_stmts(mod, u, s->other);
    }
}

KernelUses kernel_uses(Module *mod, Arena *a, const Kernel *k)
{
    KernelUses u = {.arena = a};
    use_stmts(mod, &u, k->body);
    if (k->override)
        override_uses(mod, k, &u);
    return u;
}

void uses_add_step(Module *mod, KernelUses *u, const Step *s)
{
    if (s->kernel) {
        const KernelUses own = kernel_uses(mod, u->arena, s->kernel);
        for (uint32_t i = 0; i < own.buffers.len; i++)
            access_note(u->arena, &u->buffers, own.buffers.at[i].id, own.buffers.at[i].bits);
    }
    uses_add_index(mod, u, s->value);
    uses_add_expr(mod, u, s->cond);
    uses_add_call(mod, u, s->call);
    for (const Step *t = s->body; t; t = t->next)
        uses_add_step(mod, u, t);
    for (const Step *t = s->other; t; t = t->next)
        uses_add_step(mod, u, t);
}

bool stmts_hold(const Stmt *s, StmtKind kind)
{
    for (; s; s = s->next)
        if (s->kind == kind || stmts_hold(s->body, kind) || stmts_hold(s->other, kind))
            return true;
    return false;
}

void uses_drop_packed(Module *mod, KernelUses *u, BufferId factor, const Stmt *epilogue)
{
    while (epilogue && epilogue->kind == S_FOR)
        epilogue = epilogue->body;
    if (!epilogue || !expr_reads(mod, epilogue->value, factor))
        access_drop(&u->buffers, factor);
}
