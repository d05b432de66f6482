// Which sizes of tiles a module's products may ask for: a program has no others.
//
// Rows and columns of a product are taken from their first on, in tiles of the greatest size, and
// shares of threads begin where such tiles do. So a size is needed where some product has that many
// rows, or columns, left at its end. Panels of a convolution also end with rows of the output and
// with blocks, and have any width.

#include "codegen/cpu/bytes.h"
#include "codegen/cpu/chain.h"
#include "codegen/cpu/gemm.h"
#include "codegen/cpu/heads.h"
#include "codegen/cpu/tiles.h"

static int64_t known(Index i)
{
    int64_t n = 1; // no variable: one
    return !i || poly_is_const(i, &n) ? n : TILE_ANY;
}

static void add_kernel(Arena *a, const Override *o, TileUses *u)
{
    const Conv *c = o ? o->conv : NULL;
    if (!o || o->kind != GEMM_PACKED || (c ? c->wide || c->half || c->pixels : o->wide))
        return;
    TileUse use = {o->bytes ? TILES_OF_BYTES : TILES_OF_FLOATS, known(o->rows), known(o->columns)};
    if (c)
        use = (TileUse){c->bytes ? TILES_OF_WINDOWS : TILES_OF_FLOATS, known(c->rows), TILE_ANY};
    if (c && c->tile) // windows are padded to whole tiles
        use.rows = TILE_ROWS;
    u->sevens |= c && c->sevens;
    if (!c || !c->depthwise)
        vec_push(a, u, use);
    if (c && c->bytes && c->bytes->ones && !c->depthwise) // the row of ones
        vec_push(a, u, ((TileUse){TILES_OF_WINDOWS, 1, TILE_ANY}));
    if (c && c->chain && c->chain->expand)
        add_kernel(a, c->chain->expand->override, u);
    if (o->heads)
        add_kernel(a, o->heads->scores->override, u);
    if (o->heads && o->heads->seen)
        vec_push(a, u, ((TileUse){TILES_OF_FLOATS, known(o->rows), TILE_ANY}));
}

static void add_steps(Arena *a, const Step *s, TileUses *u)
{
    for (; s; s = s->next) {
        add_kernel(a, s->kernel ? s->kernel->override : NULL, u);
        add_steps(a, s->body, u);
        add_steps(a, s->other, u);
    }
}

TileUses tile_uses(Arena *a, const Step *s)
{
    TileUses u = {0};
    add_steps(a, s, &u);
    return u;
}

TileUses tile_uses_all(Arena *a)
{
    TileUses u = {.sevens = true};
    for (TileTable t = TILES_OF_FLOATS; t <= TILES_OF_WINDOWS; t++)
        vec_push(a, &u, ((TileUse){t, TILE_ANY, TILE_ANY}));
    return u;
}

// Does a dim that is taken `most` at a time have a piece of `size`, less than `part` of it unused?
static bool has_piece(int64_t all, int64_t most, int64_t part, int64_t size)
{
    const int64_t left = all % most;
    return all == TILE_ANY || (size == most && all >= most) ||
           (left > 0 && (left + part - 1) / part * part == size);
}

bool tile_needed(const TileUses *u, TileTable table, const TileTarget *t, int rows, int vectors)
{
    for (uint32_t i = 0; i < u->len; i++)
        if (u->at[i].table == table && has_piece(u->at[i].rows, t->rows, 1, rows) &&
            has_piece(u->at[i].columns, (int64_t)t->vectors * t->lanes, t->lanes,
                      (int64_t)vectors * t->lanes))
            return true;
    return false;
}

bool tile_ends_few(const TileUses *u, const TileTarget *t)
{
    const int64_t width = (int64_t)t->vectors * t->lanes;
    for (uint32_t i = 0; i < u->len; i++) {
        const int64_t n = u->at[i].columns;
        if (u->at[i].table == TILES_OF_FLOATS &&
            (n == TILE_ANY || (n % width && n % width <= n / width)))
            return true;
    }
    return false;
}
