// What hangs on channels and on no neighbour of a line: a gate of each channel, as of a squeeze and
// excitation, or a scale. A kernel in pixels has it in a row of its own, as many elements as a
// pixel has lanes, which is made once before a line of pixels. So nothing dear is done again for
// each pixel, and what fills up the last one reads the last channel, without a choice for each
// element.

#include "codegen/cpu/layouts_parts.h"

typedef struct Look {
    const Layouts *l;
    const Site *site;
    LoopId inner;                 // over the pixels of a line
    bool channel, fits, computes; // what was found: e reads by channel; may be in a row; is more
} Look;                           // than what lies there

static bool is_loop(void *context, const Atom *a)
{
    return a->kind == ATOM_LOOP && a->var == *(const LoopId *)context;
}

static bool reads_data(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_EXPR;
}

static bool reads_by_channel(const Layouts *l, const Site *site, const Expr *e)
{
    LoopId v = site->channel;
    bool found = false;
    for (uint32_t i = 0; e->kind == EX_LOAD && !l->values[e->buffer].fits && i < e->rank; i++)
        found |= poly_any(e->at[i], is_loop, &v);
    return found;
}

static void look_at(void *context, const Expr *e)
{
    Look *k = context;
    k->channel |= reads_by_channel(k->l, k->site, e);
    k->computes |= e->kind == EX_UNARY || e->kind == EX_BINARY;
    k->fits &= e->kind != EX_REDUCE && e->kind != EX_LOCAL &&
               !(e->kind == EX_LOAD && k->l->values[e->buffer].fits) &&
               !(e->index && poly_any(e->index, is_loop, &k->inner)) &&
               !(e->index && poly_any(e->index, reads_data, NULL));
    for (uint32_t i = 0; e->kind == EX_LOAD && i < e->rank; i++)
        k->fits &= !poly_any(e->at[i], is_loop, &k->inner) && !poly_any(e->at[i], reads_data, NULL);
}

static Look look_of(const Layouts *l, const Site *site, const Expr *e)
{
    Look k = {.l = l, .site = site, .fits = true};
    k.inner = site->loops[site->nloops - 1]->var;
    expr_walk(l->mod, e, look_at, &k);
    k.fits &= e->dtype == DT_F32 && k.channel;
    return k;
}

// Finds what of e is to be in rows; false: something that hangs on channels cannot be.
static bool find_rows(const Layouts *l, const Site *site, const Expr *e, bool rest, Rows *rows)
{
    const Look k = look_of(l, site, e);
    if (!k.channel)
        return true;
    if (k.fits && !rest && !k.computes)
        return true;
    if (k.fits) {
        for (uint32_t i = 0; i < rows->n; i++)
            if (rows->of[i] == e)
                return true;
        if (rows->n == MOST_ROWS)
            return false;
        rows->of[rows->n++] = e;
        return true;
    }
    if (e->kind == EX_LOAD || e->kind == EX_REDUCE || e->kind == EX_SELECT || e->dtype == DT_BOOL)
        return false; // what is not always evaluated stays where it is
    return (!e->a || find_rows(l, site, e->a, rest, rows)) &&
           (!e->b || find_rows(l, site, e->b, rest, rows)) &&
           (!e->c || find_rows(l, site, e->c, rest, rows));
}

bool layouts_find_rows(const Layouts *l, const Site *site, bool rest, Rows *rows)
{
    rows->n = 0;
    if (site->pixels || site->part || !site->store || !l->values[site->store->buffer].fits ||
        site->nloops < 2 || site->loops[site->nloops - 1]->var == site->channel)
        return false;
    return find_rows(l, site, site->store->value, rest, rows);
}

Stmt *layouts_fill_rows(Module *mod, const Rows *rows, LoopId lane, Stmt *body)
{
    for (uint32_t i = rows->n; i-- > 0;) {
        Stmt *row = NEW(mod->arena, Stmt), *set = NEW(mod->arena, Stmt);
        *row = (Stmt){.kind = S_ROW, .local = rows->local[i], .rank = 1};
        row->dtype = rows->made[i]->dtype;
        row->at = one_index(mod, loop_extent(mod->polys, lane));
        *set = (Stmt){.kind = S_SET, .local = rows->local[i], .rank = 1, .value = rows->made[i]};
        set->at = one_index(mod, poly_loop(mod->polys, lane));
        row->next = laid_loop(mod, lane, set);
        row->next->next = body;
        body = row;
    }
    return body;
}

const Expr *layouts_row_at(Module *mod, const Rows *rows, LoopId lane, const Expr *e)
{
    for (uint32_t i = 0; i < rows->n; i++)
        if (rows->of[i] == e) {
            const Index at = poly_loop(mod->polys, lane);
            return expr_local(mod, rows->local[i], e->dtype, 1, &at);
        }
    return NULL;
}

static void find_reduce(void *context, const Expr *e)
{
    *(bool *)context |= e->kind == EX_REDUCE;
}

bool layouts_fills(const Layouts *l, const Site *site)
{
    const Stmt *store = site->store;
    bool reduces = false;
    if (!store || site->pixels || site->part || l->values[store->buffer].fits || store->rank < 2 ||
        !poly_lone_loop(store->at[1]))
        return false;
    expr_walk(l->mod, store->value, find_reduce, &reduces);
    return reduces && (!site->channel || poly_lone_loop(store->at[1]) == site->channel);
}
