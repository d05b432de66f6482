// Buffers and sizes that a convolution reads and writes, whatever its loops say.

#include "codegen/cpu/byte_conv.h"
#include "codegen/cpu/chain.h"
#include "codegen/cpu/half_conv.h"
#include "codegen/cpu/pixel_conv.h"
#include "codegen/cpu/wide.h"

static void use_all(Module *mod, KernelUses *u, const Index *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        uses_add_index(mod, u, at[i]);
}

typedef struct Constants {
    Module *mod;
    KernelUses *uses;
    const Conv *c;
} Constants;

static void drop_constant(void *context, const Expr *e)
{
    Constants *d = context;
    if (e->kind == EX_LOAD && e != d->c->x && e != d->c->added &&
        buffer_at(d->mod, e->buffer)->kind == BUF_WEIGHT)
        access_drop(&d->uses->buffers, e->buffer);
}

// What the bias was made of is not read any more.
static void drop_constants(Module *mod, KernelUses *u, const Conv *c)
{
    Constants d = {mod, u, c};
    expr_walk(mod, c->store->value, drop_constant, &d);
    if (c->added)
        access_note(u->arena, &u->buffers, c->added->buffer, ACCESS_READ);
    access_note(u->arena, &u->buffers, c->x->buffer, ACCESS_READ);
    access_note(u->arena, &u->buffers, c->bias, ACCESS_READ);
}

void conv_uses(Module *mod, const Conv *c, KernelUses *u)
{
    if (c->pixels) {
        pixel_conv_uses(mod, c, u);
        return;
    }
    if (c->bytes)
        bytes_uses(mod, c->bytes, c->epilogue, u);
    else
        access_note(u->arena, &u->buffers, c->store->buffer, ACCESS_READ | ACCESS_WRITE);
    if (c->half)
        half_conv_uses(mod, c, u);
    if (c->chain)
        chain_uses(mod, c, u);
    if (c->finish)
        drop_constants(mod, u, c);
    const BufferId beside[] = {c->padded, c->panel, c->shared, c->sums};
    for (int i = 0; i < 4; i++)
        if (beside[i])
            access_note(u->arena, &u->buffers, beside[i], ACCESS_READ | ACCESS_WRITE);
    const Index *const dims[] = {c->out, c->taps, c->pad, c->in, c->step};
    for (int i = 0; i < 5; i++)
        use_all(mod, u, dims[i], c->rank);
    const Index others[] = {c->rows, c->channels, c->channel, c->row, c->image};
    use_all(mod, u, others, c->image ? 5 : 4);
    if (c->depthwise)
        use_all(mod, u, buffer_at(mod, c->x->buffer)->dims, buffer_at(mod, c->x->buffer)->rank);
    if (c->wide)
        wide_uses(mod, c->reduce, c->x, c->w, c->epilogue, u);
    if (!c->packed || c->bytes)
        return;
    access_note(u->arena, &u->buffers, c->packed,
                c->made ? ACCESS_READ | ACCESS_WRITE : ACCESS_READ);
    if (c->made)
        return;
    uses_drop_packed(mod, u, c->w->buffer, c->epilogue);
}
