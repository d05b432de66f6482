// Copies to an output that no kernel reads, in a model whose weights are more than caches hold:
// when somebody reads it, it has left them. It is written past them (runtime/cameo_away.h), in runs
// of neighbours as long as the loops allow: a decoder's cache of before, a head at a time.

#include "codegen/cpu/away.h"
#include "codegen/parts.h"

enum { LEAST_WEIGHTS = 32 << 20 }; // bytes: caches that cores share are about as large

KernelUses away_uses_of_all(Module *mod, Arena *scratch)
{
    KernelUses u = {.arena = scratch};
    for (const Step *s = mod->steps; s; s = s->next)
        uses_add_step(mod, &u, s);
    return u;
}

bool away_takes(const Module *mod, const KernelUses *all, BufferId b)
{
    int64_t weights = 0;
    if (buffer_at(mod, b)->kind != BUF_OUTPUT || access_bits(&all->buffers, b) & ACCESS_READ)
        return false;
    for (uint32_t i = 0; i < all->buffers.len; i++) {
        const Buffer *weight = buffer_at(mod, all->buffers.at[i].id);
        weights += weight->kind == BUF_WEIGHT ? buffer_bytes(weight) : 0;
    }
    return weights >= LEAST_WEIGHTS;
}

static bool is_taken(Printer *p, BufferId b)
{
    if (buffer_at(p->mod, b)->kind != BUF_OUTPUT)
        return false;
    if (!p->parts->of_steps) {
        p->parts->of_steps = NEW(p->arena, KernelUses);
        *p->parts->of_steps = away_uses_of_all(p->mod, p->arena);
    }
    return away_takes(p->mod, p->parts->of_steps, b);
}

// The place of the first element of a run: of neighbours along the inner loop, and of further
// iterations of the outer one behind them.
static bool is_run(Printer *p, BufferId b, const Index *at, LoopId outer, LoopId inner,
                   Index *first)
{
    Polys *polys = p->mod->polys;
    const Buffer *buf = buffer_at(p->mod, b);
    Index step, along;
    *first = linear_index(p, buf->rank, buf->dims, at);
    if (!factor_of(p, *first, inner, &step) || !factor_of(p, *first, outer, &along) ||
        !poly_equals(step, 1) || along != print_extent(p, inner))
        return false;
    *first = poly_sub(polys, *first, poly_loop(polys, inner));
    return true;
}

static const Stmt *copy_in(const Stmt *loop)
{
    const Stmt *inner = loop->body, *store = inner ? inner->body : NULL;
    return inner && inner->kind == S_FOR && inner->par && !inner->next && store &&
                   store->kind == S_STORE && !store->next && store->value->kind == EX_LOAD
               ? store
               : NULL;
}

bool away_print(Printer *p, const Stmt *last, uint32_t n, const LoopId *vars)
{
    const Stmt *store = copy_in(last);
    const LoopId outer = last->var, inner = store ? last->body->var : 0;
    Index to, from;
    if (!store || !is_taken(p, store->buffer))
        return false;
    const Buffer *y = buffer_at(p->mod, store->buffer);
    const int bytes = dtype_info(y->dtype)->bytes;
    if (store->value->dtype != y->dtype || y->dtype == DT_STRING || bytes < 1 ||
        !is_run(p, store->buffer, store->at, outer, inner, &to) ||
        !is_run(p, store->value->buffer, store->value->at, outer, inner, &from))
        return false;
    print_line(p, "for (int64_t unit = from, run; unit < to; unit += run) {");
    p->indent++;
    parts_print_places(p, n, vars);
    print_line(p, "run = cameo_min_i64(%s - i%u, to - unit);",
               print_index(p, print_extent(p, outer)), outer);
    access_note(p->arena, &p->printed.buffers, store->buffer, ACCESS_WRITE);
    access_note(p->arena, &p->printed.buffers, store->value->buffer, ACCESS_READ);
    print_line(p, "cameo_copy_away(b%u + %s, b%u + %s, %d * %s * run);", store->buffer,
               print_index(p, to), store->value->buffer, print_index(p, from), bytes,
               print_index(p, print_extent(p, inner)));
    p->indent--;
    for (uint32_t i = 0; i < n; i++)
        print_bind_loop(p, vars[i], -1);
    print_line(p, "}");
    print_line(p, "cameo_away_end();");
    p->away = true;
    return true;
}
