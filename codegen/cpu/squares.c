// Two innermost parallel loops whose store runs along the inner one while a load runs along the
// outer one (a transposition) are walked in square tiles, so that each cache line that is touched
// is used up before it is evicted. What is only moved goes through registers, a tile at a time,
// also where the inner loop is shorter than a tile. What is made of loads along the outer loop
// alone is made along that, by vectors, in a square of the same sides first; what is made of others
// too reads turned elements from such a square, where they are neighbours along the inner loop.

#include "codegen/print_parts.h"

enum {
    TILE = 16, // elements along a side
    SHORTEST = TILE / 2,
    MOST_TURNED = 4, // loads whose tiles a thread has at once
};

typedef struct Directions {
    Printer *p;
    LoopId outer, inner;
    bool across, known;
    bool along; // no load runs along anything but the outer loop there
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
    d->along &= outer == 0 || outer == 1;
}

static void print_tile_loop(Printer *p, LoopId v)
{
    const char *extent = loop_high(p, v);
    print_line(p, "for (int64_t low%u = %s; low%u < %s; low%u += %d) {", v, loop_low(p, v), v,
               extent, v, TILE);
    p->indent++;
    print_line(p, "const int64_t high%u = cameo_min_i64(low%u + %d, %s);", v, v, TILE, extent);
}

static bool is_long(Index extent, int64_t least)
{
    int64_t n;
    return !poly_is_const(extent, &n) || n >= least;
}

// Bytes of an element that is stored as it is; 0: elements are no bytes, or change.
static int stored_bytes(Printer *p, const Stmt *store)
{
    DType t = store->value->dtype;
    unsigned bits = dtype_info(t)->bits;
    bool whole = t != DT_STRING && t != DT_OBJECT && (bits == 8 || bits == 16 || bits == 32);
    return whole && buffer_at(p->mod, store->buffer)->dtype == t ? (int)bits / 8 : 0;
}

// The same where the store only moves one, else 0.
static int moved_bytes(Printer *p, const Stmt *store)
{
    return store->value->kind == EX_LOAD ? stored_bytes(p, store) : 0;
}

// Do the two loops around the store transpose?
static bool transposes(Printer *p, const Stmt *loop, const Stmt *inner, const Stmt *store)
{
    if (store->kind != S_STORE || store->next || expr_facts(p, store->value)->reduces)
        return false;
    Directions d = {p, loop->var, inner->var, false, true, true};
    const Buffer *b = buffer_at(p->mod, store->buffer);
    Index to = linear_index(p, b->rank, b->dims, store->at);
    if (stride(&d, to, inner->var) != 1 || !is_long(print_extent(p, loop->var), TILE) ||
        !is_long(print_extent(p, inner->var), moved_bytes(p, store) ? SHORTEST : TILE))
        return false;
    expr_walk(p->mod, store->value, test_load, &d);
    return d.across && d.known;
}

// The step from one element to the next along v, in elements; NULL: it changes on the way.
static const char *step_along(Printer *p, BufferId buffer, const Index *at, LoopId v)
{
    const Buffer *b = buffer_at(p->mod, buffer);
    Index factor;
    if (!factor_of(p, linear_index(p, b->rank, b->dims, at), v, &factor) || poly_varies(factor))
        return NULL;
    return print_index_bare(p, factor);
}

// Is there a whole tile of so many elements along the inner loop?
static void print_if_whole(Printer *p, LoopId outer, LoopId inner, int n)
{
    print_line(p, "if (high%u - low%u == %d && high%u - low%u == %d) {", outer, outer, TILE, inner,
               inner, n);
}

// Both loops' variables stand for the tile's first element, until they are set back.
static void corner(Printer *p, LoopId outer, LoopId inner, bool on)
{
    if (on)
        print_line(p, "const int64_t i%u = low%u, i%u = low%u;", outer, outer, inner, inner);
    print_bind_loop(p, outer, on ? 1 : -1);
    print_bind_loop(p, inner, on ? 1 : -1);
}

// A whole tile at low..high of both loops, where elements are only moved.
static void print_moved(Printer *p, LoopId outer, LoopId inner, const Stmt *store)
{
    const Expr *load = store->value;
    int bytes = moved_bytes(p, store);
    const char *to = bytes ? step_along(p, store->buffer, store->at, outer) : NULL,
               *from = bytes ? step_along(p, load->buffer, load->at, inner) : NULL;
    if (!to || !from)
        return;
    int64_t n = TILE;
    if (!poly_is_const(print_extent(p, inner), &n) || n > TILE)
        n = TILE;
    print_if_whole(p, outer, inner, (int)n);
    uint32_t mark = print_block_begin(p);
    corner(p, outer, inner, true);
    const char *target = print_element(p, store->buffer, store->at);
    const char *source = print_element(p, load->buffer, load->at);
    if (n == TILE)
        print_line(p, "cameo_transpose_tile_%d(&%s, %s, &%s, %s);", bytes, target, to, source,
                   from);
    else
        print_line(p, "cameo_transpose_%d(&%s, %s, &%s, %s, %d);", bytes, target, to, source, from,
                   (int)n);
    corner(p, outer, inner, false);
    print_line(p, "continue;");
    print_block_end(p, mark);
    print_line(p, "}");
    p->transposes = true;
}

// Loops over a whole tile.
static void open_tile(Printer *p, const LoopId *vars, uint32_t *marks)
{
    for (int i = 0; i < 2; i++) {
        const LoopId v = vars[i];
        print_line(p, "for (int64_t i%u = low%u; i%u < low%u + %d; i%u++) {", v, v, v, v, TILE, v);
        print_bind_loop(p, v, 1);
        marks[i] = print_block_begin(p);
    }
}

static void close_tile(Printer *p, const LoopId *vars, const uint32_t *marks)
{
    for (int i = 2; i-- > 0;) {
        print_block_end(p, marks[i]);
        print_bind_loop(p, vars[i], -1);
        print_line(p, "}");
    }
}

// A whole tile of what is made of loads along the outer loop alone; false: it is not.
static bool print_made(Printer *p, LoopId outer, LoopId inner, const Stmt *store)
{
    const LoopId vars[2] = {inner, outer};
    const DType t = store->value->dtype;
    const int bytes = t == DT_BOOL || dtype_info(t)->bits == 16 ? 0 : stored_bytes(p, store);
    const char *to = bytes ? step_along(p, store->buffer, store->at, outer) : NULL;
    Directions d = {p, outer, inner, false, true, true};
    uint32_t marks[2];
    expr_walk(p->mod, store->value, test_load, &d);
    if (!to || !d.along || store->value->kind == EX_LOAD)
        return false;
    print_if_whole(p, outer, inner, TILE);
    const uint32_t mark = print_block_begin(p);
    print_line(p, "%s square[%d];", type_of_value(p, t), TILE * TILE);
    open_tile(p, vars, marks);
    print_statement_begin(p, store->value, NULL, 0);
    print_line(p, "square[%d * (i%u - low%u) + i%u - low%u] = %s;", TILE, inner, inner, outer,
               outer, without_parentheses(p, print_expr(p, store->value)));
    print_statement_end(p);
    close_tile(p, vars, marks);
    corner(p, outer, inner, true);
    print_line(p, "cameo_transpose_tile_%d(&%s, %s, square, %d);", bytes,
               print_element(p, store->buffer, store->at), to, TILE);
    corner(p, outer, inner, false);
    print_line(p, "continue;");
    print_block_end(p, mark);
    print_line(p, "}");
    p->transposes = true;
    return true;
}

// Loads of a value that run along the outer loop, each of which is evaluated for every element.
typedef struct Turned {
    Directions d;
    const Expr *at[MOST_TURNED];
    uint32_t n;
    bool fits;
} Turned;

// Of numbers for whose tiles there is a function.
static bool is_turnable(DType t)
{
    return t == DT_F32 || t == DT_I32 || t == DT_U8 || t == DT_I8;
}

static void find_turned(void *context, const Expr *e)
{
    Turned *t = context;
    Printer *p = t->d.p;
    if (e->kind == EX_SELECT || e->dtype == DT_BOOL || e->kind == EX_LOCAL)
        t->fits = false;
    if (e->kind != EX_LOAD)
        return;
    const Buffer *b = buffer_at(p->mod, e->buffer);
    Index linear = linear_index(p, b->rank, b->dims, e->at);
    if (stride(&t->d, linear, t->d.outer) != 1 || stride(&t->d, linear, t->d.inner) < TILE)
        return;
    for (uint32_t i = 0; i < t->n; i++)
        if (t->at[i] == e)
            return;
    t->fits = t->fits && t->n < MOST_TURNED && is_turnable(e->dtype) && b->dtype == e->dtype &&
              step_along(p, e->buffer, e->at, t->d.inner);
    if (t->fits)
        t->at[t->n++] = e;
}

static void print_turned(Printer *p, LoopId outer, LoopId inner, const Turned *t)
{
    uint32_t mark = print_block_begin(p);
    corner(p, outer, inner, true);
    for (uint32_t i = 0; i < t->n; i++)
        print_line(p, "cameo_transpose_tile_%d(turned%u, %d, &%s, %s);",
                   (int)dtype_info(t->at[i]->dtype)->bits / 8, i, TILE,
                   print_element(p, t->at[i]->buffer, t->at[i]->at),
                   step_along(p, t->at[i]->buffer, t->at[i]->at, inner));
    corner(p, outer, inner, false);
    print_block_end(p, mark);
    p->transposes = true;
}

// A whole tile at low..high of both loops, where something is computed of turned elements.
static void print_computed(Printer *p, LoopId outer, LoopId inner, const Stmt *store)
{
    Turned t = {.d = {p, outer, inner, false, true, true}, .fits = true};
    expr_walk(p->mod, store->value, find_turned, &t);
    if (store->value->kind == EX_LOAD || !t.fits || !t.d.known || t.n == 0)
        return;
    const LoopId vars[2] = {outer, inner};
    uint32_t marks[2];
    print_if_whole(p, outer, inner, TILE);
    p->indent++;
    for (uint32_t i = 0; i < t.n; i++)
        print_line(p, "%s turned%u[%d];", type_of_value(p, t.at[i]->dtype), i, TILE * TILE);
    print_line(p, "{");
    print_turned(p, outer, inner, &t);
    print_line(p, "}");
    open_tile(p, vars, marks);
    for (uint32_t i = 0; i < t.n; i++) {
        const uint32_t temp = ++p->ntemps;
        print_line(p, "const %s t%u = turned%u[%d * (i%u - low%u) + i%u - low%u];",
                   type_of_value(p, t.at[i]->dtype), temp, i, TILE, outer, outer, inner, inner);
        memo_add(p, t.at[i], temp);
    }
    print_stmts(p, store);
    close_tile(p, vars, marks);
    print_line(p, "continue;");
    p->indent--;
    print_line(p, "}");
}

static void print_tiles(Printer *p, LoopId outer, LoopId inner, const Stmt *store)
{
    const LoopId vars[2] = {outer, inner};
    uint32_t marks[2];
    for (int i = 0; i < 2; i++)
        print_tile_loop(p, vars[i]);
    print_moved(p, outer, inner, store);
    if (!print_made(p, outer, inner, store))
        print_computed(p, outer, inner, store);
    for (int i = 0; i < 2; i++) {
        LoopId v = vars[i];
        print_line(p, "for (int64_t i%u = low%u; i%u < high%u; i%u++) {", v, v, v, v, v);
        print_bind_loop(p, v, 1);
        marks[i] = print_block_begin(p);
    }
    print_stmts(p, store);
    close_tile(p, vars, marks);
    for (int i = 0; i < 2; i++) {
        p->indent--;
        print_line(p, "}");
    }
}

// Loops inside that count as one are one here too.
static bool find_squares(Printer *p, const Stmt *loop, bool print)
{
    enum { DEEPEST = 8 };
    const Stmt *joined[DEEPEST], *inner = loop->body;
    int n = 0;
    if (!loop->par || !inner || inner->kind != S_FOR || !inner->par || inner->next)
        return false;
    for (; n < DEEPEST && rows_collapse(p, inner); inner = inner->body)
        joined[n++] = inner;
    bool fits = inner->body && transposes(p, loop, inner, inner->body);
    if (fits && print)
        print_tiles(p, loop->var, inner->var, inner->body);
    while (n > 0)
        rows_restore(p, joined[--n]);
    return fits;
}

bool squares_print(Printer *p, const Stmt *loop)
{
    return find_squares(p, loop, true);
}

bool squares_fit(Printer *p, const Stmt *loop)
{
    return p->dialect->rows && find_squares(p, loop, false);
}
