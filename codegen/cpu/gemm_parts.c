// Products of matrices as parts: which of their loops threads divide.
//
// 1. Several products around (heads, groups): each is done by one thread.
// 2. One product: panels of its columns, or blocks of its rows where there are many. The other
//    factor is packed first, by all threads, unless it has few rows or each has its own of them.
//
// Units are whole tiles, so that sums are added up in the same order whoever does it.

#include "codegen/cpu/gemm.h"
#include "codegen/cpu/narrow_bytes.h"
#include "codegen/cpu/tiles.h"
#include "codegen/cpu/wide.h"
#include "codegen/parts.h"

enum { TALL = 512, WIDE = 1024, CHUNK = 128, FEW = 4 }; // CAMEO_GEMM_TALL, _WIDE, _M
enum { OPEN_ROWS = 512, BATCH_ROWS = FEW };
enum { MACS = 10, BYTES = 2 }; // multiplications and additions, and bytes read, in 1e-10 s

int64_t gemm_rows_likely(const Module *mod, BufferId factor, LoopId v)
{
    const Buffer *of = buffer_at(mod, factor);
    Index extent = loop_extent(mod->polys, v);
    int64_t n = of->rank > 2 && of->dims[0] == extent ? BATCH_ROWS : OPEN_ROWS;
    poly_is_const(extent, &n);
    for (uint32_t i = 0; i < mod->inputs.len && !poly_is_const(extent, NULL); i++) {
        const Buffer *x = buffer_at(mod, mod->inputs.at[i]);
        n = x->rank > 1 && x->dims[0] == extent ? BATCH_ROWS : n;
    }
    return n;
}

BufferId gemm_block(Module *mod, const Override *o)
{
    Polys *polys = mod->polys;
    int64_t m, k, n;
    Index depth = loop_extent(polys, o->k);
    const bool wide = !o->split && !(poly_is_const(o->columns, &n) && n < WIDE);
    bool few = poly_is_const(o->rows, &m) && (m <= TILE_ROWS || (m >= TALL && !wide));
    bool small = poly_is_const(o->rows, &m) && poly_is_const(depth, &k) && m * k < 4096;
    if (!o->packed || few || small)
        return 0;
    Index rows = poly_min(polys, o->rows, poly_const(polys, TALL));
    Index size = poly_mul(polys, poly_add_const(polys, rows, TILE_ROWS), depth);
    if (o->split) { // 6 bytes for each element of whole tiles, a number for each 16 rows
        rows = poly_add_const(polys, rows, 16);
        depth = poly_scale(polys, poly_add_const(polys, depth, 32), 3);
        size = poly_ceildiv(polys, poly_mul(polys, rows, depth), poly_const(polys, 2));
    }
    return poly_is_overflow(size) ? 0 : buffer_new(mod, BUF_TEMP, STR("scratch"), DT_F32, 1, &size);
}

Index gemm_work(Printer *p, const Override *o)
{
    Polys *polys = p->mod->polys;
    const Buffer *b = buffer_at(p->mod, o->b->buffer);
    Index size = o->columns;
    for (uint32_t i = 0; i < o->reduce->rank; i++)
        size = poly_mul(polys, size, loop_extent(polys, o->reduce->vars[i]));
    Index macs = poly_mul(polys, o->rows, size);
    if (poly_is_overflow(macs))
        return macs;
    Index work = poly_floordiv(polys, macs, poly_const(polys, MACS));
    if (b->kind == BUF_WEIGHT)
        return work;
    Index read = poly_scale(polys, size, dtype_stored_bytes(b->dtype));
    return poly_add(polys, work, poly_floordiv(polys, read, poly_const(polys, BYTES)));
}

// The product of those extents that are known.
static int64_t known_units(Printer *p, const Bounds *outer)
{
    int64_t all = 1, n;
    for (uint32_t i = 0; i < outer->n && all < TALL; i++)
        if (poly_is_const(print_extent(p, outer->vars[i]), &n))
            all = n > TALL ? TALL : all * n;
    return all;
}

bool gemm_several(Printer *p, const Bounds *outer)
{
    return known_units(p, outer) >= FEW;
}

// Each product is done by one thread.
static bool print_many(Printer *p, const Override *o, Bounds *outer, Bounds *sums)
{
    Index units = parts_units(p, outer->n, outer->vars), work = gemm_work(p, o);
    if (!parts_worth(p, units, work))
        return false;
    parts_begin(p, 0);
    parts_nest_begin(p, outer->n, outer->vars);
    p->indent++;
    gemm_print_begin(p, o, false);
    override_zero(p, o, true);
    nest_begin(p, sums, NULL);
    gemm_print_product(p, o);
    nest_end(p, sums);
    override_zero(p, o, false);
    p->indent--;
    parts_nest_end(p, outer->n, outer->vars);
    parts_end(p, print_index_bare(p, units), parts_grain(p, work));
    if (o->epilogue)
        print_stmts(p, o->epilogue);
    return true;
}

// May there be rows of which some are packed at a time (cameo_gemm_chunk)?
static bool has_chunks(const Override *o)
{
    int64_t n;
    return o->block && !o->split && !(poly_is_const(o->rows, &n) && n < 2 * CHUNK) &&
           !(poly_is_const(o->columns, &n) && n < WIDE);
}

// All rows, or those of the chunk that `mode` says.
static void print_pack(Printer *p, const Override *o)
{
    Polys *polys = p->mod->polys;
    Index depth = loop_extent(polys, o->k);
    const bool chunks = has_chunks(o);
    const char *name = o->split ? "split" : "gemm";
    const int tile = o->split ? 2 * TILE_ROWS : TILE_ROWS; // rows of a unit
    parts_begin(p, 0);
    override_zero(p, o, true);
    const char *rows = print_index_bare(p, o->rows);
    const char *a = gemm_start(p, o->a->buffer, o->a->at), *am = print_index_bare(p, o->am);
    if (chunks) {
        print_line(p, "const cameo_rectangle r = cameo_gemm_chunk_share(%s, %s, mode, 0, 0);", rows,
                   print_index_bare(p, o->columns));
        a = str_printf(p->arena, "%s + r.m0 * %s", a, print_index(p, o->am)).at;
    }
    if (o->narrow && o->narrow->bytes)
        narrow_bytes_print_pack(p, o, chunks ? "r.m1 - r.m0" : rows, a);
    else
        print_line(p, "cameo_%s_pack_all(%s, %s, %s, %s, %s, from, to, b%u);", name,
                   chunks ? "r.m1 - r.m0" : rows, print_index_bare(p, depth), a, am,
                   print_index_bare(p, o->ak), o->block);
    access_note(p->arena, &p->printed.buffers, o->block, ACCESS_READ | ACCESS_WRITE);
    override_zero(p, o, false);
    const char *units =
        chunks ? str_printf(p->arena, "(chunk + %d) / %d", tile - 1, tile).at
               : print_index_bare(p, poly_ceildiv(polys, o->rows, poly_const(polys, tile)));
    parts_end(p, str_printf(p->arena, "args.mode ? %s : 0", units).at,
              parts_grain(p, poly_scale(polys, depth, tile * 3)));
}

// Around the packing of rows and the product of these: one chunk of rows after the other.
static void print_chunks(Printer *p, const Override *o, bool begin)
{
    const char *rows = print_index_bare(p, o->rows), *columns = print_index_bare(p, o->columns);
    if (begin) {
        print_line(p, "const int64_t chunk = cameo_gemm_chunk(%s, %s);", rows, columns);
        print_line(p, "int64_t row = 0;");
        print_line(p, "do {");
        p->indent++;
        print_line(p, "args.mode = chunk ? row + 1 : 0;");
        return;
    }
    print_line(p, "row += chunk ? chunk : %s;", rows);
    p->indent--;
    print_line(p, "} while (row < %s);", rows);
}

const char *gemm_unpacked(const Override *o)
{
    return o->split ? "cameo_split_both" : gemm_is_first(o) ? "cameo_gemm_first" : "cameo_gemm";
}

// What r.m0 .. r.m1, r.n0 .. r.n1 of the product add.
static void print_rectangle(Printer *p, const Override *o, const char *y)
{
    if (o->wide) {
        wide_print_product(p, o, "r.m0, r.m1, r.n0, r.n1");
        return;
    }
    const char *k = print_index_bare(p, loop_extent(p->mod->polys, o->k));
    const char *a = gemm_start(p, o->a->buffer, o->a->at);
    const char *am = print_index(p, o->am), *ym = print_index(p, o->ym);
    if (o->narrow) {
        const char *part = str_printf(p->arena, "%s + r.m0 * %s + r.n0", y, ym).at;
        if (o->block) {
            print_line(p, "if (mode)");
            narrow_print_packed(p, o, "r.m1 - r.m0", "r.n1 - r.n0", "r.n0", part);
            print_line(p, "else");
        }
        narrow_print(p, o, "r.m1 - r.m0", "r.n1 - r.n0",
                     str_printf(p->arena, "%s + r.m0 * %s", a, am).at, "r.n0", part);
        return;
    }
    const char *sizes = str_printf(p->arena, "r.m1 - r.m0, r.n1 - r.n0, %s", k).at;
    const char *from =
        str_printf(p->arena, "%s + r.m0 * %s, %s, %s", a, am, am, print_index_bare(p, o->ak)).at;
    const char *to = str_printf(p->arena, "%s + r.m0 * %s + r.n0, %s", y, ym, ym).at;
    if (!o->packed) {
        print_line(p, "%s(%s, %s, %s + r.n0 * %s, %s, %s, %s);", gemm_unpacked(o), sizes, from,
                   gemm_start(p, o->b->buffer, o->b->at), print_index(p, o->bn),
                   print_index_bare(p, o->bk), print_index_bare(p, o->bn), to);
        return;
    }
    const char *name = o->split ? "split" : "gemm";
    access_note(p->arena, &p->printed.buffers, o->packed, ACCESS_READ | ACCESS_WRITE);
    if (o->block) {
        access_note(p->arena, &p->printed.buffers, o->block, ACCESS_READ | ACCESS_WRITE);
        print_line(p, "if (mode)");
        print_line(p, "    cameo_%s_columns(%s, %sb%u, b%u + r.n0 * %s, %s);", name, sizes,
                   o->split ? str_printf(p->arena, "%s, ", from).at : "", o->block, o->packed,
                   print_index(p, loop_extent(p->mod->polys, o->k)), to);
        print_line(p, "else");
    }
    print_line(p, "%scameo_%s_packed(%s, %s, b%u + r.n0 * %s, %s);", o->block ? "    " : "", name,
               sizes, from, o->packed, print_index(p, loop_extent(p->mod->polys, o->k)), to);
}

static bool print_epilogue(Printer *p, const Override *o)
{
    const Stmt *store = o->epilogue;
    if (!store || o->outer_n)
        return !store;
    while (store->kind == S_FOR)
        store = store->body;
    gemm_print_each(p, o, store, true);
    return true;
}

// One product is divided.
static bool print_one(Printer *p, const Override *o, Bounds *outer, Bounds *sums)
{
    Index work = gemm_work(p, o);
    if (!parts_worth(p, poly_const(p->mod->polys, 2),
                     poly_floordiv(p->mod->polys, work, poly_const(p->mod->polys, 2))))
        return false;
    const char *rows = print_index_bare(p, o->rows), *columns = print_index_bare(p, o->columns);
    const char *name = o->wide ? "wide" : has_chunks(o) ? "gemm_chunk" : "gemm";
    nest_begin(p, outer, NULL);
    parts_around(p, outer, true);
    const bool chunks = has_chunks(o);
    if (chunks)
        print_chunks(p, o, true);
    else if (o->block)
        print_line(p, "args.mode = cameo_gemm_packs(%s);", rows);
    if (o->block)
        print_pack(p, o);
    parts_begin(p, 0);
    print_line(p, "const %s r = cameo_%s_share(%s, %s, %sfrom, to);",
               o->wide ? "cameo_wide_part" : "cameo_rectangle", name, rows, columns,
               chunks ? "mode, " : "");
    gemm_print_begin(p, o, true);
    override_zero(p, o, true);
    nest_begin(p, sums, NULL);
    print_rectangle(p, o, gemm_start(p, o->store->buffer, o->store->at));
    nest_end(p, sums);
    override_zero(p, o, false);
    bool done = print_epilogue(p, o);
    const char *units = str_printf(p->arena, "cameo_%s_units(%s, %s%s)", name, rows, columns,
                                   chunks ? ", args.mode" : "")
                            .at;
    const char *grain = parts_grain_of(p, work, units);
    if (o->split)
        grain = str_printf(p->arena, "cameo_split_grain(%s, cameo_parts(threads), %s, %s)", rows,
                           units, grain)
                    .at;
    parts_end(p, units, grain);
    if (chunks)
        print_chunks(p, o, false);
    parts_around(p, outer, false);
    nest_end(p, outer);
    if (!done)
        print_stmts(p, o->epilogue);
    return true;
}

bool gemm_print_parts(Printer *p, const Override *o, Bounds *outer, Bounds *sums)
{
    if (!p->parts || p->parts->inside || o->kind != GEMM_PACKED)
        return false;
    return gemm_several(p, outer) ? print_many(p, o, outer, sums) : print_one(p, o, outer, sums);
}
