// Heads whose keys and values lie in memory as 16 bits, as a decoder's cache does: what would only
// make all of them float32 before is done some rows at a time, where the products read them
// (runtime/cameo_half_heads.h).

#include "codegen/cpu/halves.h"
#include "codegen/cpu/heads.h"
#include "codegen/fuse_parts.h"

// Numbers of a row at most.
enum { MOST = 512 };

// y[..] = (float)x[..] for all of y, x having 16 bits: a kernel that makes b.
static bool widens(Fuse *f, const Step *s, BufferId b, Point *p, LoopId *vars)
{
    const Kernel *k = s->kernel;
    if (!k || k->override || k->on_host || s->kind != STEP_KERNEL)
        return false;
    *p = point_of(k->body);
    return p->store && p->store->buffer == b && halves_load(p->store->value) &&
           point_defines(f, p, vars);
}

// Does a step between these, the last one left out, write the buffer?
static bool is_written(Module *mod, Arena *scratch, const Step *s, const Step *end, BufferId b)
{
    for (; s != end; s = s->next) {
        const KernelUses u = chain_step_uses(mod, scratch, s);
        if (access_bits(&u.buffers, b) & ACCESS_WRITE)
            return true;
    }
    return false;
}

// e with loads of p's buffer as what p stores there.
static const Expr *inlined(Fuse *f, const Stmt *store, const Expr *e, const Point *p,
                           const LoopId *vars)
{
    Stmt one = *store;
    one.value = e;
    one.next = NULL;
    return inline_point(f, &one, p, vars)->value;
}

// Neighbours of the other factor's rows are neighbours in memory, and they are not too many.
static bool has_rows(Printer *p, Override *o, const Expr *load, LoopId across, LoopId along)
{
    const Buffer *b = buffer_at(p->mod, load->buffer);
    const Index at = linear_index(p, b->rank, b->dims, load->at);
    Index step;
    int64_t n;
    o->b = load;
    return poly_is_const(loop_extent(p->mod->polys, along), &n) && n > 0 && n <= MOST &&
           factor_of(p, at, along, &step) && poly_equals(step, 1) &&
           factor_of(p, at, o->k, &o->bk) && factor_of(p, at, o->n, &o->bn) &&
           factor_of(p, at, across, &step);
}

void heads_read_half(Printer *p, Step **list, const Step *end, Kernel *k, bool scores)
{
    Module *mod = p->mod;
    Override *o = NEW(mod->arena, Override);
    *o = *k->override;
    Fuse f = {.mod = mod, .arena = mod->arena};
    LoopId vars[64];
    Point point;
    while (*list != end && !widens(&f, *list, o->b->buffer, &point, vars))
        list = &(*list)->next;
    if (*list == end ||
        is_written(mod, p->arena, (*list)->next, end, halves_load(point.store->value)->buffer))
        return;
    const Expr *load = halves_load(inlined(&f, o->store, o->b, &point, vars));
    if (!load || !has_rows(p, o, load, scores ? o->n : o->k, scores ? o->k : o->n))
        return;
    o->reduce = inlined(&f, o->store, o->reduce, &point, vars);
    k->body = inline_point(&f, k->body, &point, vars);
    k->override = o;
    kernel_prepend_nodes(mod, k, (*list)->kernel);
    *list = (*list)->next;
}

void heads_print_product(Printer *p, const Override *o, bool scores, const HeadsProduct *x)
{
    const char *const of[] = {gemm_start(p, o->b->buffer, o->b->at), print_index_bare(p, o->bk),
                              print_index_bare(p, o->bn)};
    const char *size = str_printf(p->arena, "%s, %s, %s, %s, %s, %s", x->rows,
                                  print_index_bare(p, x->columns), print_index_bare(p, x->depth),
                                  x->a, print_index_bare(p, x->am), print_index_bare(p, x->ak))
                           .at;
    const char *to = str_printf(p->arena, "%s, %s", x->y, print_index_bare(p, x->ym)).at;
    if (!halves_dtype(o->b->dtype)) {
        print_line(p, "cameo_gemm_first(%s, %s, %s, %s, %s);", size, of[0], of[1], of[2], to);
        return;
    }
    p->half_heads = p->half_rows = true;
    print_line(p, "cameo_half_%s(%d, %s, %s, %s, %s);", scores ? "scores" : "result",
               o->b->dtype == DT_BF16, size, of[0], of[scores ? 2 : 1], to);
}
