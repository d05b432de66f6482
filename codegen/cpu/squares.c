// Two innermost parallel loops whose store runs along the inner one while a load runs along the
// outer one (a transposition) are walked in square tiles, so that each cache line that is touched
// is used up before it is evicted.

#include "codegen/print_parts.h"

enum { TILE = 16 };

typedef struct Directions {
    Printer *p;
    LoopId outer, inner;
    bool across, known;
} Directions;

static int64_t stride(Directions *d, Index linear, LoopId v)
{
    Index factor;
    int64_t k = INT64_MAX;
    if (!factor_of(d->p, linear, v, &factor)) {
        d->known = false;
        return 0;
    }
    poly_is_const(factor, &k);
    return k;
}

static void test_load(void *context, const Expr *e)
{
    Directions *d = context;
    if (e->kind != EX_LOAD)
        return;
    const Buffer *b = buffer_at(d->p->mod, e->buffer);
    Index linear = linear_index(d->p, b->rank, b->dims, e->at);
    int64_t inner = stride(d, linear, d->inner), outer = stride(d, linear, d->outer);
    d->across |= outer == 1 && inner >= TILE;
}

static void print_tile_loop(Printer *p, LoopId v, const char *extent)
{
    print_line(p, "for (int64_t low%u = 0; low%u < %s; low%u += %d) {", v, v, extent, v, TILE);
    p->indent++;
    print_line(p, "const int64_t high%u = cameo_min_i64(low%u + %d, %s);", v, v, TILE, extent);
}

static bool is_long(Index extent)
{
    int64_t n;
    return !poly_is_const(extent, &n) || n >= TILE;
}

// Do the two loops around the store transpose?
static bool transposes(Printer *p, const Stmt *loop, const Stmt *inner, const Stmt *store)
{
    if (store->kind != S_STORE || store->next || expr_facts(p, store->value)->reduces)
        return false;
    Directions d = {p, loop->var, inner->var, false, true};
    const Buffer *b = buffer_at(p->mod, store->buffer);
    Index to = linear_index(p, b->rank, b->dims, store->at);
    if (stride(&d, to, inner->var) != 1 || !is_long(print_extent(p, loop->var)) ||
        !is_long(print_extent(p, inner->var)))
        return false;
    expr_walk(p->mod, store->value, test_load, &d);
    return d.across && d.known;
}

static void print_tiles(Printer *p, LoopId outer, LoopId inner, const Stmt *store)
{
    const LoopId vars[2] = {outer, inner};
    uint32_t marks[2];
    for (int i = 0; i < 2; i++)
        print_tile_loop(p, vars[i], print_index(p, print_extent(p, vars[i])));
    for (int i = 0; i < 2; i++) {
        LoopId v = vars[i];
        print_line(p, "for (int64_t i%u = low%u; i%u < high%u; i%u++) {", v, v, v, v, v);
        print_bind_loop(p, v, 1);
        marks[i] = print_block_begin(p);
    }
    print_stmts(p, store);
    for (int i = 2; i-- > 0;) {
        print_block_end(p, marks[i]);
        print_bind_loop(p, vars[i], -1);
        print_line(p, "}");
    }
    for (int i = 0; i < 2; i++) {
        p->indent--;
        print_line(p, "}");
    }
}

// Loops inside that count as one are one here too.
bool squares_print(Printer *p, const Stmt *loop)
{
    enum { DEEPEST = 8 };
    const Stmt *joined[DEEPEST], *inner = loop->body;
    int n = 0;
    if (!loop->par || !inner || inner->kind != S_FOR || !inner->par || inner->next)
        return false;
    for (; n < DEEPEST && rows_collapse(p, inner); inner = inner->body)
        joined[n++] = inner;
    bool fits = inner->body && transposes(p, loop, inner, inner->body);
    if (fits)
        print_tiles(p, loop->var, inner->var, inner->body);
    while (n > 0)
        rows_restore(p, joined[--n]);
    return fits;
}
