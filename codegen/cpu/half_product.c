#include "codegen/cpu/half_product.h"

#include "codegen/cpu/block.h"
#include "codegen/cpu/byte_squares.h"
#include "codegen/cpu/gemm.h"
#include "codegen/cpu/tiles.h"
#include "codegen/parts.h"

// CAMEO_HALF_M, _N, _K; columns of the sums without matrix registers; rows of a tile.
enum { BLOCK = 128, WIDE = 96, DEPTH = 512, COLUMNS = 1536, TILE = 16 };

// ---- finding -----------------------------------------------------------------------------------

// Numbers of 32 bits: sums of a block, and behind those of a panel rows copied for its tiles.
static int64_t scratch_size(const Override *o, const HalfProduct *h, int64_t rows)
{
    const int64_t whole = (rows + TILE - 1) / TILE * TILE, copied = h->lies ? TILE : whole;
    const int64_t sums = whole * h->columns;
    const int64_t tiles = whole * WIDE + copied * narrow_words(o->narrow);
    return sums > tiles ? sums : tiles;
}

static bool is_multiple(Index i, int64_t of)
{
    int64_t n;
    return poly_is_const(i, &n) && n % of == 0;
}

static bool is_fewer(Index i, int64_t than)
{
    int64_t n;
    return poly_is_const(i, &n) && n < than;
}

bool half_product_fits(Polys *polys, const Override *o, const Processor *cpu)
{
    return o->m && o->reduce->rank == 1 && processor_has_words(cpu) && !is_fewer(o->rows, TILE) &&
           !is_fewer(o->columns, TILE) && !is_fewer(loop_extent(polys, o->k), TILE);
}

// How much room a product by constants needs, and how it goes.
static int64_t by_constants(const Override *o, HalfProduct *h)
{
    int64_t rows = BLOCK;
    const int64_t n = o->narrow->n;
    rows = poly_is_const(o->rows, &rows) && rows < BLOCK ? rows : BLOCK;
    h->columns = n < COLUMNS ? (n + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS : COLUMNS;
    h->lies = poly_equals(o->ak, 1) && is_multiple(o->am, NARROW_PAIRS) &&
              o->narrow->k % NARROW_PAIRS == 0;
    return scratch_size(o, h, rows);
}

HalfProduct *half_product_new(Module *mod, const Override *o)
{
    Polys *polys = mod->polys;
    HalfProduct *h = NEW(mod->arena, HalfProduct);
    h->computed = !o->narrow;
    Index size = poly_const(polys, h->computed ? BLOCK * WIDE + (BLOCK + WIDE) * DEPTH / 2
                                               : by_constants(o, h));
    h->scratch = buffer_new(mod, BUF_TEMP, STR("scratch"), DT_F32, 1, &size);
    h->m0 = loop_new(polys, o->rows);
    h->n0 = loop_new(polys, o->columns);
    h->row = loop_new(polys, o->columns);
    Index at = poly_sub(polys, override_column(polys, o), poly_loop(polys, h->n0));
    if (o->m) {
        Index row = poly_sub(polys, poly_loop(polys, o->m), poly_loop(polys, h->m0));
        at = poly_add(polys, at, poly_mul(polys, row, poly_loop(polys, h->row)));
    }
    h->value = expr_load(mod, h->scratch, &at);
    return h;
}

void half_product_uses(Module *mod, const Override *o, KernelUses *u)
{
    access_note(u->arena, &u->buffers, o->half->scratch, ACCESS_READ | ACCESS_WRITE);
    if (o->half->computed)
        return;
    access_note(u->arena, &u->buffers, o->narrow->packed, ACCESS_READ);
    uses_drop_packed(mod, u, o->b->buffer, o->epilogue);
}

bool half_products_any(const Step *s)
{
    for (; s; s = s->next)
        if ((s->kernel && s->kernel->override && s->kernel->override->half) ||
            half_products_any(s->body) || half_products_any(s->other))
            return true;
    return false;
}

bool half_registers_any(const Step *s)
{
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        if ((o && (o->half || (o->conv && o->conv->half))) || half_registers_any(s->body) ||
            half_registers_any(s->other))
            return true;
    }
    return false;
}

// ---- printing ----------------------------------------------------------------------------------

// Of a block of rows by constants, before its columns; i%row: how many of these at a time.
static void print_begin(Printer *p, const Override *o, const char *a)
{
    const HalfProduct *h = o->half;
    print_line(
        p, "cameo_half h = {m1 - m0, %lld, %lld, %s + m0 * %s, %s, %s, %d, b%u, b%u, %lld, 0, 0};",
        (long long)o->narrow->n, (long long)o->narrow->k, a, print_index(p, o->am),
        print_index_bare(p, o->am), print_index_bare(p, o->ak), h->lies, o->narrow->packed,
        h->scratch, (long long)h->columns);
    print_line(p, "cameo_half_begin(&h);");
    print_line(p, "const int64_t i%u = h.columns;", h->row);
}

static void print_begin_pair(Printer *p, const Override *o, const char *a, const char *b)
{
    const HalfProduct *h = o->half;
    print_line(p, "const cameo_half_pair h = {m1 - m0, %s, %s + m0 * %s, %s, %s, %s, %s, %s, b%u};",
               print_index_bare(p, loop_extent(p->mod->polys, o->k)), a, print_index(p, o->am),
               print_index_bare(p, o->am), print_index_bare(p, o->ak), b,
               print_index_bare(p, o->bk), print_index_bare(p, o->bn), h->scratch);
    print_line(p, "const int64_t i%u = CAMEO_HALF_N;", h->row);
}

// Blocks of the rows r.m0 .. r.m1 and columns r.n0 .. r.n1, with what surrounds their sums.
static void print_blocks(Printer *p, const Override *o)
{
    const HalfProduct *h = o->half;
    const LoopId n[] = {o->outer_n ? o->outer_n : o->n, o->n};
    override_zero(p, o, true);
    const char *a = gemm_start(p, o->a->buffer, o->a->at);
    const char *b = h->computed ? gemm_start(p, o->b->buffer, o->b->at) : NULL;
    override_zero(p, o, false);
    if (!h->computed)
        access_note(p->arena, &p->printed.buffers, o->narrow->packed, ACCESS_READ);
    access_note(p->arena, &p->printed.buffers, h->scratch, ACCESS_READ | ACCESS_WRITE);
    print_line(p, "for (int64_t m0 = r.m0, m1; m0 < r.m1; m0 = m1) {");
    p->indent++;
    print_line(p, "m1 = r.m1 - m0 < CAMEO_HALF_M ? r.m1 : m0 + CAMEO_HALF_M;");
    if (h->computed)
        print_begin_pair(p, o, a, b);
    else
        print_begin(p, o, a);
    print_line(p, "for (int64_t n0 = r.n0, n1; n0 < r.n1; n0 = n1) {");
    p->indent++;
    print_line(p, "n1 = r.n1 - n0 < i%u ? r.n1 : n0 + i%u;", h->row, h->row);
    print_line(p, "%s(&h, n0, n1);", h->computed ? "cameo_half_pair_sums" : "cameo_half_sums");
    print_bind_loop(p, h->row, 1);
    block_print_epilogue(p, (Block){h->m0, h->n0, true}, o->epilogue, o->m, o->outer_n ? n : n + 1,
                         o->outer_n ? 2 : 1);
    print_bind_loop(p, h->row, -1);
    p->indent--;
    print_line(p, "}");
    if (!h->computed)
        print_line(p, "cameo_half_end(&h);");
    p->indent--;
    print_line(p, "}");
}

static void print_whole(Printer *p, const Override *o)
{
    print_line(p, "const cameo_rectangle r = {0, %s, 0, %s};", print_index_bare(p, o->rows),
               print_index_bare(p, o->columns));
    print_blocks(p, o);
}

// Several products around: each is done by one thread.
static bool print_many(Printer *p, const Override *o, const Bounds *outer)
{
    Index units = parts_units(p, outer->n, outer->vars), work = gemm_work(p, o);
    if (!parts_worth(p, units, work))
        return false;
    parts_begin(p, o->half->scratch);
    parts_nest_begin(p, outer->n, outer->vars);
    p->indent++;
    print_whole(p, o);
    p->indent--;
    parts_nest_end(p, outer->n, outer->vars);
    parts_end(p, print_index_bare(p, units), parts_grain(p, work));
    return true;
}

// One product is divided, as those of float32 are.
static bool print_one(Printer *p, const Override *o, Bounds *outer)
{
    Polys *polys = p->mod->polys;
    Index work = gemm_work(p, o);
    if (!parts_worth(p, poly_const(polys, 2), poly_floordiv(polys, work, poly_const(polys, 2))))
        return false;
    const char *rows = print_index_bare(p, o->rows), *columns = print_index_bare(p, o->columns);
    const char *units = str_printf(p->arena, "cameo_gemm_units(%s, %s)", rows, columns).at;
    nest_begin(p, outer, NULL);
    parts_around(p, outer, true);
    parts_begin(p, o->half->scratch);
    print_line(p, "const cameo_rectangle r = cameo_gemm_share(%s, %s, from, to);", rows, columns);
    print_blocks(p, o);
    parts_end(p, units, parts_grain_of(p, work, units));
    parts_around(p, outer, false);
    nest_end(p, outer);
    return true;
}

void half_product_print(Printer *p, const Override *o, Bounds *outer)
{
    if (p->parts && !p->parts->inside && parts_may_own(p, o->half->scratch) &&
        (gemm_several(p, outer) ? print_many(p, o, outer) : print_one(p, o, outer)))
        return;
    nest_begin(p, outer, NULL);
    print_whole(p, o);
    nest_end(p, outer);
}
