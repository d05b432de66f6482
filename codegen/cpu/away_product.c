// Products that copy a factor as they go: which they are, and what is printed for them. A decoder's
// cache comes from memory once for both.

#include "codegen/cpu/away.h"
#include "codegen/cpu/chain.h"
#include "codegen/fuse_parts.h"
#include "codegen/parts.h"

// ---- finding -----------------------------------------------------------------------------------

typedef struct Places {
    Module *mod;
    uint32_t n;
    LoopId loops[AWAY_DIMS]; // of the copy
    Index at[AWAY_DIMS];     // the same place in the product
} Places;

static Index in_product(void *context, const Atom *a)
{
    const Places *x = context;
    for (uint32_t i = 0; a->kind == ATOM_LOOP && i < x->n; i++)
        if (a->var == x->loops[i])
            return x->at[i];
    return NULL;
}

// A product of one row of float32 by a factor that lies there as it is.
static const Override *product_of(const Kernel *k)
{
    const Override *o = k ? k->override : NULL;
    return o && !o->conv && !o->figures && !o->bytes && !o->half && !o->narrow && !o->packed &&
                   !o->split && !o->wide && !o->heads && o->kind == GEMM_PACKED && !o->m &&
                   !o->outer_n && o->reduce->rank == 1 && o->a->dtype == DT_F32 &&
                   o->b->dtype == DT_F32 && o->store->value->dtype == DT_F32 &&
                   poly_equals(o->ak, 1)
               ? o
               : NULL;
}

static bool is_one_of(const Point *p, LoopId v)
{
    for (uint32_t i = 0; i < p->nloops; i++)
        if (p->loops[i]->var == v)
            return true;
    return false;
}

// Every loop of the copy stands for one of the product's, of the same extent.
static bool match_loops(Places *x, const Point *copy, const Kernel *k, const Override *o)
{
    Polys *polys = x->mod->polys;
    const Expr *from = copy->store->value, *b = o->b;
    const LoopId own[] = {o->n, o->k};
    uint32_t loops = 0;
    for (uint32_t i = 0; i < b->rank; i++) {
        int64_t number;
        if (from->at[i] == b->at[i] && poly_is_const(b->at[i], &number))
            continue;
        const LoopId v = poly_lone_loop(from->at[i]), w = poly_lone_loop(b->at[i]);
        if (!v || !w || x->n == AWAY_DIMS || !is_one_of(copy, v) ||
            loop_extent(polys, v) != loop_extent(polys, w))
            return false;
        x->loops[x->n] = v;
        x->at[x->n++] = b->at[i];
    }
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        loops += !override_owns(o, s->var);
    for (int i = 0; i < 2; i++)
        for (uint32_t j = 0; j <= x->n; j++)
            if (j == x->n)
                return false;
            else if (poly_lone_loop(x->at[j]) == own[i])
                break;
    return x->n == copy->nloops && x->n == loops + 2;
}

static const Away *find_away(Printer *p, const KernelUses *all, const Kernel *copy, const Kernel *k)
{
    Module *mod = p->mod;
    const Override *o = product_of(k);
    if (!o || !copy || copy->override || copy->on_host || k->on_host)
        return NULL;
    const Point c = point_of(copy->body);
    const Expr *from = c.store ? c.store->value : NULL;
    if (!from || from->kind != EX_LOAD || from->buffer != o->b->buffer || c.store->rank > AWAY_DIMS)
        return NULL;
    Places x = {.mod = mod};
    if (!match_loops(&x, &c, k, o) || !away_takes(mod, all, c.store->buffer))
        return NULL;
    Away away = {.copy = copy, .to = c.store->buffer};
    const ExprMap map = {&x, NULL, in_product};
    for (uint32_t i = 0; i < c.store->rank; i++)
        away.at[i] = index_map(mod, c.store->at[i], &map);
    const Buffer *y = buffer_at(mod, away.to);
    const Index place = linear_index(p, y->rank, y->dims, away.at);
    Index bn, bk;
    away.along = poly_equals(o->bk, 1);
    away.rows = away.along ? o->columns : loop_extent(mod->polys, o->k);
    away.width = away.along ? loop_extent(mod->polys, o->k) : o->columns;
    if (!poly_equals(away.along ? o->bk : o->bn, 1) || (away.along ? o->bn : o->bk) != away.width ||
        !factor_of(p, place, o->n, &bn) || !factor_of(p, place, o->k, &bk) || bn != o->bn ||
        bk != o->bk)
        return NULL;
    Away *kept = NEW(mod->arena, Away);
    *kept = away;
    return kept;
}

void away_find(Module *mod, Printer *p)
{
    const KernelUses all = away_uses_of_all(mod, p->arena);
    for (Step **at = &mod->steps; *at; at = &(*at)->next) {
        Step *next = (*at)->next;
        const bool kernels = next && (*at)->kind == STEP_KERNEL && next->kind == STEP_KERNEL &&
                             !(*at)->call && !next->call;
        const Away *away = kernels ? find_away(p, &all, (*at)->kernel, next->kernel) : NULL;
        if (!away)
            continue;
        Kernel *k = next->kernel;
        Override *o = NEW(mod->arena, Override);
        *o = *k->override;
        o->away = away;
        k->override = o;
        kernel_prepend_nodes(mod, k, away->copy);
        k->name = str_printf(mod->arena, "%.*s_%.*s", STR_ARG(away->copy->name), STR_ARG(k->name));
        *at = next;
    }
}

void away_uses(Module *mod, const Away *away, KernelUses *u)
{
    const KernelUses own = kernel_uses(mod, u->arena, away->copy);
    for (uint32_t i = 0; i < own.buffers.len; i++)
        access_note(u->arena, &u->buffers, own.buffers.at[i].id, own.buffers.at[i].bits);
    for (uint32_t i = 0; i < own.dims.len; i++)
        access_note(u->arena, &u->dims, own.dims.at[i].id, own.dims.at[i].bits);
}

// ---- printing ----------------------------------------------------------------------------------

static void print_one(Printer *p, const Override *o)
{
    gemm_print_begin(p, o, false);
    override_zero(p, o, true);
    print_line(p, "cameo_%s_away(%s, %s, %s, %s, %s, %s, %d);", o->away->along ? "dots" : "sums",
               print_index_bare(p, o->away->rows), print_index_bare(p, o->away->width),
               gemm_start(p, o->a->buffer, o->a->at), gemm_start(p, o->b->buffer, o->b->at),
               gemm_start(p, o->away->to, o->away->at),
               gemm_start(p, o->store->buffer, o->store->at), !gemm_is_first(o));
    override_zero(p, o, false);
}

void away_print_product(Printer *p, const Override *o, Bounds *outer)
{
    const Index units = parts_units(p, outer->n, outer->vars), work = gemm_work(p, o);
    p->away = true;
    if (outer->n && parts_worth(p, units, work)) {
        parts_begin(p, 0);
        parts_nest_begin(p, outer->n, outer->vars);
        p->indent++;
        print_one(p, o);
        p->indent--;
        parts_nest_end(p, outer->n, outer->vars);
        print_line(p, "cameo_away_end();");
        parts_end(p, print_index_bare(p, units), parts_grain(p, work));
    } else {
        nest_begin(p, outer, NULL);
        print_one(p, o);
        nest_end(p, outer);
        print_line(p, "cameo_away_end();");
    }
    if (o->epilogue)
        print_stmts(p, o->epilogue);
}
