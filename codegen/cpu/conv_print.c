// A convolution in C: what its sizes are, and a call for each block of its output, on which what
// surrounds the sum is applied while it is in the cache.

#include "codegen/cpu/byte_conv.h"
#include "codegen/cpu/chain.h"
#include "codegen/cpu/conv_images.h"
#include "codegen/cpu/conv_pack.h"
#include "codegen/cpu/curve.h"
#include "codegen/cpu/half_conv.h"
#include "codegen/cpu/line_conv.h"
#include "codegen/cpu/pixel_conv.h"
#include "codegen/cpu/split_conv.h"
#include "codegen/cpu/tile_conv.h"
#include "codegen/cpu/wide.h"
#include "codegen/cpu/winograd.h"
#include "codegen/cpu/tiles.h"
#include "codegen/parts.h"
#include "codegen/repeats.h"

#include <math.h>
#include <string.h>

void conv_set_own(Printer *p, const Kernel *k, const Conv *c, bool on)
{
    uint32_t n = 0;
    LoopId vars[MAX_LOOPS];
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        vars[n++] = s->var;
    for (uint32_t i = 0; i < c->reduce->rank && n < MAX_LOOPS; i++)
        vars[n++] = c->reduce->vars[i];
    for (uint32_t i = 0; i < n; i++) {
        bool sum = i >= n - c->reduce->rank;
        if (sum || conv_owns(c, vars[i])) {
            p->zeroed[vars[i]] = on;
            p->nzeroed += on ? 1 : -1u;
        }
    }
}

static const char *start_of(Printer *p, BufferId b, Index i)
{
    access_note(p->arena, &p->printed.buffers, b, ACCESS_READ | ACCESS_WRITE);
    return poly_equals(i, 0) ? str_printf(p->arena, "b%u", b).at
                             : str_printf(p->arena, "b%u + %s", b, print_index(p, i)).at;
}

const char *conv_buffer(Printer *p, BufferId b)
{
    return b ? start_of(p, b, poly_const(p->mod->polys, 0)) : "NULL";
}

static Index linear(Printer *p, BufferId b, const Index *at)
{
    const Buffer *buf = buffer_at(p->mod, b);
    return linear_index(p, buf->rank, buf->dims, at);
}

// 0 is a size as others are.
static const char *size_text(Printer *p, Index i)
{
    return poly_equals(i, 0) ? print_size(p, 0) : print_index_bare(p, i);
}

void conv_print_dims(Printer *p, const char *name, const Index *at, uint32_t rank, int64_t other)
{
    const char *text[CONV_SPACE];
    for (uint32_t i = 0; i < CONV_SPACE; i++)
        text[i] =
            i + rank < CONV_SPACE ? print_size(p, other) : size_text(p, at[i + rank - CONV_SPACE]);
    print_line(p, "    .%s = {%s, %s, %s},", name, text[0], text[1], text[2]);
}

static bool all_known(const Index *at, uint32_t n)
{
    int64_t v;
    for (uint32_t i = 0; i < n; i++)
        if (!poly_is_const(at[i], &v))
            return false;
    return true;
}

static bool sizes_known(const Conv *c)
{
    const Index plain[] = {c->rows, c->channels, c->channel, c->row};
    return all_known(plain, 4) && all_known(c->out, c->rank) && all_known(c->taps, c->rank) &&
           all_known(c->pad, c->rank) && all_known(c->in, c->rank) && all_known(c->step, c->rank);
}

void conv_print_sizes(Printer *p, const Conv *c, const char *name)
{
    Polys *polys = p->mod->polys;
    Index stride[CONV_SPACE], dilation[CONV_SPACE];
    for (uint32_t i = 0; i < c->rank; i++) {
        stride[i] = poly_const(polys, c->stride[i]);
        dilation[i] = poly_const(polys, c->dilation[i]);
    }
    print_line(p, "%sconst cameo_conv %s = {",
               !sizes_known(c) ? ""
               : p->marks      ? repeats_mark(p, MARK_STATIC)
                               : "static ",
               name);
    print_line(p, "    .rows = %s, .channels = %s, .channel = %s, .row = %s, .copy = %d,%s%s%s%s%s",
               size_text(p, c->rows), size_text(p, c->channels), size_text(p, c->channel),
               size_text(p, c->row), c->copy, c->sevens ? " .sevens = 1," : "",
               c->outer ? " .outer = 1," : "",
               conv_has_several(c) ? " .several = CAMEO_COLUMNS_SEVERAL," : "",
               conv_has_single(c) ? " .single = cameo_conv_two," : "",
               !conv_has_windows(c) ? ""
               : c->rank == 3       ? " .windows = &cameo_cube_windows,"
                                    : " .windows = &cameo_tall_windows,");
    conv_print_dims(p, "out", c->out, c->rank, 1);
    conv_print_dims(p, "taps", c->taps, c->rank, 1);
    conv_print_dims(p, "stride", stride, c->rank, 1);
    conv_print_dims(p, "dilation", dilation, c->rank, 1);
    conv_print_dims(p, "pad", c->pad, c->rank, 0);
    conv_print_dims(p, "in", c->in, c->rank, 1);
    conv_print_dims(p, "step", c->step, c->rank, 0);
    print_line(p, "};");
}

// The loops of the epilogue over what this block holds. false: the output's places do not stand in
// it as one variable, and nothing was printed.
bool conv_print_epilogue(Printer *p, const Conv *c)
{
    const Stmt *loops[CONV_SPACE] = {NULL}, *store = c->epilogue;
    for (; store->kind == S_FOR; store = store->body)
        for (uint32_t i = 0; i < c->rank; i++)
            if (store->var == c->n[i])
                loops[i] = store;
    uint32_t done = c->rank - 1;
    while (done > conv_ones(c) && rows_collapse(p, loops[done - 1]))
        done--;
    bool possible = done == conv_ones(c);
    if (possible) {
        Bounds b = {.n = 0};
        if (c->m) {
            b.low[0] = c->depthwise ? NULL : "m0";
            b.high[0] = c->depthwise ? NULL : "m1";
            b.vars[b.n++] = c->m;
        }
        b.low[b.n] = "n0";
        b.high[b.n] = "n1";
        b.vars[b.n++] = c->n[c->rank - 1];
        nest_begin(p, &b, NULL);
        print_stmts(p, store);
        nest_end(p, &b);
    }
    for (; done < c->rank - 1; done++)
        rows_restore(p, loops[done]);
    return possible;
}

const char *conv_number(Printer *p, float v)
{
    if (isinf(v))
        return v > 0 ? "INFINITY" : "-INFINITY";
    const char *text = str_printf(p->arena, "%.9g", (double)v).at;
    return str_printf(p->arena, "%s%sf", text, strpbrk(text, ".e") ? "" : ".0").at;
}

const char *conv_added(Printer *p, const Conv *c)
{
    return c->added ? start_of(p, c->added->buffer, linear(p, c->added->buffer, c->added->at))
                    : "NULL";
}

const char *conv_finish(Printer *p, const Conv *c, int link)
{
    const char *bias = start_of(p, c->bias, poly_scale(p->mod->polys, c->group, c->biases));
    const bool later = c->image && c->added; // what is added comes where sums are moved
    return str_printf(p->arena, "{%s, %s, %s, %s, %s}", bias, later ? "NULL" : conv_added(p, c),
                      conv_number(p, later ? -INFINITY : c->low),
                      conv_number(p, later ? INFINITY : c->high),
                      c->curve ? curve_name(p, link) : "NULL")
        .at;
}

// Where it is done to the sums of y from its first place on.
void conv_print_finish(Printer *p, const Conv *c, const char *whose)
{
    if (!c->finish)
        return;
    print_line(p, "const cameo_finish finish = %s;", conv_finish(p, c, 0));
    print_line(p, "%s.finish = &finish;", whose);
}

const char *conv_weights(Printer *p, const Conv *c)
{
    return c->packed ? start_of(p, c->packed, poly_scale(p->mod->polys, c->group, c->block))
                     : start_of(p, c->w->buffer, linear(p, c->w->buffer, c->w->at));
}

static const char *form_of(const Conv *c)
{
    return c->sevens ? "strassen" : "conv";
}

// The rows low .. high of a block's columns, up to where some of them end.
static void print_rows(Printer *p, const Conv *c, const char *low, const char *high, const char *w,
                       const char *y)
{
    const char *of = form_of(c), *to = c->image ? conv_buffer(p, c->sums) : y;
    Index row = c->image ? conv_places(p->mod->polys, c) : c->row;
    print_line(p, "cameo_%s_block block;", of);
    print_line(p, "cameo_%s_start(&image, %s, %s, %s, n0, n1, %s, %s, %s, %s, &block);", of,
               print_index_bare(p, c->rows), low, high, w, to, print_index_bare(p, row),
               conv_buffer(p, c->panel));
    print_line(p, "for (int64_t m0 = %s, m1; m0 < %s; m0 = m1) {", low, high);
    p->indent++;
    print_line(p, "m1 = cameo_%s_rows_end(&block, m0);", of);
    if (c->image)
        conv_images_print(p, c, y);
}

static void print_blocks(Printer *p, const Conv *c, const char *places, const char *x,
                         const char *w, const char *y)
{
    if (c->depthwise) {
        if (c->finish)
            print_line(p, "planes.finish = (cameo_finish)%s;", conv_finish(p, c, 0));
        print_line(p, "const int64_t n0 = 0, n1 = %s;", places);
        if (c->epilogue)
            print_line(p, "cameo_depthwise(&planes, %s, %s, 0, sizes.out[1], %s, %s);", x, w,
                       conv_buffer(p, c->padded), y);
        else
            print_line(p, "cameo_depthwise_next(&planes, %s, %s, %s, %s);", x, w,
                       conv_buffer(p, c->padded), y);
        print_line(p, "(void)n0, (void)n1;");
        return;
    }
    conv_print_finish(p, c, "image");
    const Index behind = poly_const(p->mod->polys, c->behind);
    print_line(p, "cameo_conv_begin(&sizes, %s, %s, &image);", x,
               c->behind ? start_of(p, c->panel, behind) : conv_buffer(p, c->padded));
    print_line(p, "for (int64_t n0 = 0, n1; n0 < %s; n0 = n1) {", places);
    p->indent++;
    print_line(p, "n1 = cameo_conv_end(n0, %s, image.width);", places);
    const char *rows = print_index_bare(p, c->rows);
    print_rows(p, c, "0", rows, w, y);
}

// Behind the loops around planes: those that wait to be done together.
static void print_rest(Printer *p, const Conv *c)
{
    if (c->depthwise && !c->bytes && !c->epilogue)
        print_line(p, "cameo_depthwise_rest(&planes, %s);", conv_buffer(p, c->padded));
}

static void print_plan(Printer *p, const Conv *c)
{
    if (c->depthwise && c->bytes) {
        byte_conv_print_planes(p);
        return;
    }
    if (c->line)
        line_conv_print_plan(p, c);
    else if (c->sevens)
        print_line(
            p, "/* Strassen; cycles expected directly %.0f, in seven products for eight %.0f */",
            c->cost[0], c->cost[4]);
    else if (c->cost[0] > 0 && c->cost[4] <= 0 && !c->tile)
        print_line(p, "/* %s; cycles expected directly %.0f, by tiles of 2 %.0f, of 4 %.0f */",
                   winograd_form(c, c->tile), c->cost[0], c->cost[1], c->cost[2]);
    if (c->line && c->tile)
        return;
    if (c->tile) {
        tile_conv_print_plan(p, c);
        return;
    }
    if (!c->depthwise) {
        print_line(p, "cameo_conv_view image;");
        print_line(p, "cameo_conv_plan(&sizes, &image);");
        if (c->bytes)
            byte_conv_print_plan(p, c->bytes);
        return;
    }
    Polys *polys = p->mod->polys;
    const Buffer *b = buffer_at(p->mod, c->x->buffer);
    Index size = poly_const(polys, 1);
    for (uint32_t i = 0; i < b->rank; i++)
        size = poly_mul(polys, size, b->dims[i]);
    const char *wt[CONV_SPACE] = {"0", "0", "0"};
    for (uint32_t i = 0; i < c->rank; i++)
        wt[i + CONV_SPACE - c->rank] = print_index_bare(p, c->wt[i]);
    print_line(p, "cameo_planes planes;");
    print_line(p, "cameo_planes_plan(&sizes, (const int64_t[]){%s, %s, %s}, %s, %s, &planes);",
               wt[0], wt[1], wt[2], conv_buffer(p, c->x->buffer), start_of(p, c->x->buffer, size));
    print_line(p, "cameo_flat_plan(&sizes, &planes);");
    if (c->across)
        print_line(p, "cameo_across_plan(&sizes, &planes);");
}

const char *conv_image(Printer *p, const Conv *c)
{
    Polys *polys = p->mod->polys;
    Index x = linear(p, c->x->buffer, c->x->at);
    for (uint32_t i = 0; (c->copy || c->tile) && i < c->rank; i++)
        x = poly_add(polys, x, poly_mul(polys, c->pad[i], c->step[i]));
    return start_of(p, c->x->buffer, x);
}

const char *conv_output(Printer *p, const Conv *c)
{
    return start_of(p, c->store->buffer, linear(p, c->store->buffer, c->store->at));
}

// Tiles begin .. end, which are text. After each block of them the places of y that it finishes are
// n0 .. n1. False: the epilogue is left.
static bool print_tiles(Printer *p, const Kernel *k, const Conv *c, const char *begin,
                        const char *end)
{
    const char *w = start_of(p, c->packed, poly_scale(p->mod->polys, c->group, c->block));
    conv_print_finish(p, c, "form");
    print_line(p, "for (int64_t tile0 = %s, tile1; tile0 < %s; tile0 = tile1) {", begin, end);
    p->indent++;
    print_line(p, "tile1 = cameo_winograd_end(&form, tile0, %s);", end);
    print_line(p, "cameo_winograd_block block;");
    print_line(p, "cameo_winograd_begin(&form, %s, tile0, tile1, %s, &block);", conv_image(p, c),
               conv_buffer(p, c->panel));
    print_line(p, "const int64_t n0 = block.n0, n1 = block.n1;");
    print_line(p, "(void)n0, (void)n1;");
    print_line(p, "for (int64_t m0 = 0, m1; m0 < %s; m0 = m1) {", print_index_bare(p, c->rows));
    p->indent++;
    print_line(p, "m1 = cameo_winograd_rows(&block, m0, %s, %s);", w, conv_output(p, c));
    conv_set_own(p, k, c, false);
    bool done = !c->epilogue || conv_print_epilogue(p, c);
    for (int i = 0; i < 2; i++) {
        p->indent--;
        print_line(p, "}");
    }
    return done;
}

// ---- parts

enum {
    COPIED = CONV_COPIED,
    MADE = 64 // values of k of panels that a thread makes at once, CAMEO_CONV_MAKE
};

// Tiles below one another, or beside one another.
static const char *tiles_along(Printer *p, const Conv *c, uint32_t axis)
{
    Polys *polys = p->mod->polys;
    return print_index_bare(p, poly_ceildiv(polys, c->out[axis], poly_const(polys, c->tile)));
}

// Units are channels of x, or rows of the copy.
void conv_print_copy(Printer *p, const Kernel *k, const Conv *c)
{
    parts_begin(p, 0);
    conv_set_own(p, k, c, true);
    conv_print_sizes(p, c, "sizes");
    if (c->bytes)
        byte_conv_print_copy(p, c, conv_image(p, c), "from", "to");
    else if (c->line && c->tile)
        print_line(p, "cameo_conv_copy(&sizes, %s, %s, cameo_line_length(&sizes, %lld), from, to);",
                   conv_image(p, c), conv_buffer(p, c->padded), (long long)c->tile);
    else
        print_line(p, "cameo_conv_copy_share(&sizes, %s, %s, mode, from, to);", conv_image(p, c),
                   conv_buffer(p, c->padded));
    conv_set_own(p, k, c, false);
    Polys *polys = p->mod->polys;
    Index work = poly_scale(polys, c->channels, COPIED);
    for (uint32_t i = 0; i < c->rank; i++)
        work = poly_mul(polys, work, c->in[i]);
    const char *units =
        c->bytes ? print_index_bare(p, c->channels) : "cameo_conv_copies(&sizes, args.mode)";
    parts_end(p, units, parts_grain_of(p, work, units));
}

// Rows of y that are a unit: as few as a tile has where x is read as it lies, else more, since each
// share makes its panels of x.
static int unit_rows(const Conv *c)
{
    enum { PACKED = 2 * TILE_ROWS, MANY = 4 * TILE_ROWS, ROWS = 512 };
    int64_t rows;
    bool lies = !c->copy;
    if (c->sevens) // two panels of rows at a time
        return 2 * TILE_ROWS;
    for (uint32_t i = 0; i < c->rank; i++)
        lies = lies && poly_equals(c->taps[i], 1);
    if (lies)
        return TILE_ROWS;
    return poly_is_const(c->rows, &rows) && rows < ROWS ? PACKED : MANY;
}

// What threads share: rows whose panels are made before or read where they lie are a single panel,
// but where two go together.
static const char *mode_of(Printer *p, const Conv *c, const char *mode)
{
    if (!c->sevens)
        return mode;
    return str_printf(p->arena, "%s < CAMEO_CONV_COLUMNS ? CAMEO_CONV_ROWS : %s", mode, mode).at;
}

static void print_image(Printer *p, const Conv *c)
{
    print_line(p, "image.x = %s;", c->copy ? conv_buffer(p, c->padded) : conv_image(p, c));
}

// Units are values of k.
static void print_make_part(Printer *p, const Kernel *k, const Conv *c, const char *n,
                            const char *depth)
{
    parts_begin(p, 0);
    conv_set_own(p, k, c, true);
    conv_print_sizes(p, c, "sizes");
    print_plan(p, c);
    print_image(p, c);
    print_line(p, "image.made = %s;", conv_buffer(p, c->shared));
    print_line(p, "cameo_%s_make(&image, %s, from, to, %s);", form_of(c), n,
               conv_buffer(p, c->shared));
    conv_set_own(p, k, c, false);
    Index each = poly_const(p->mod->polys, COPIED * MADE);
    for (uint32_t i = 0; i < c->rank; i++)
        each = poly_mul(p->mod->polys, each, c->out[i]);
    parts_end(p, str_printf(p->arena, "cameo_conv_makes(args.mode, %s)", depth).at,
              parts_grain(p, each));
}

// What units from .. to are of one convolution. False: the epilogue is left.
static bool print_share(Printer *p, const Kernel *k, const Conv *c, Index places)
{
    const char *n = print_index_bare(p, places), *rows = print_index_bare(p, c->rows);
    conv_set_own(p, k, c, true);
    conv_print_sizes(p, c, "sizes");
    print_plan(p, c);
    const char *w = start_of(p, c->packed, poly_scale(p->mod->polys, c->group, c->block));
    conv_print_finish(p, c, "image");
    print_image(p, c);
    if (c->shared)
        print_line(p, "image.made = mode == CAMEO_CONV_ROWS_MADE ? %s : NULL;",
                   conv_buffer(p, c->shared));
    print_line(p,
               "const cameo_conv_cut cut = "
               "cameo_conv_share(%s, %s, %s, %s, from, to);",
               mode_of(p, c, "mode"), rows, print_size(p, unit_rows(c)), n);
    print_line(p, "for (int64_t n0 = cut.begin, n1; n0 < cut.end; n0 = n1) {");
    p->indent++;
    print_line(p, "n1 = cameo_conv_end(n0, cut.end, image.width);");
    print_rows(p, c, "cut.low", "cut.high", w, conv_output(p, c));
    conv_set_own(p, k, c, false);
    bool done = !c->epilogue || conv_print_epilogue(p, c);
    for (int i = 0; i < 2; i++) {
        p->indent--;
        print_line(p, "}");
    }
    return done;
}

// Units are rows of tiles, or blocks of them.
static bool print_tile_share(Printer *p, const Kernel *k, const Conv *c)
{
    conv_set_own(p, k, c, true);
    conv_print_sizes(p, c, "sizes");
    print_plan(p, c);
    return print_tiles(p, k, c, "cameo_winograd_cut(&form, mode, from)",
                       "cameo_winograd_cut(&form, mode, to)");
}

// The same of bytes, whose epilogue is within the blocks.
static void print_byte_share(Printer *p, const Kernel *k, const Conv *c, Index places,
                             const char *cut)
{
    conv_set_own(p, k, c, true);
    conv_print_sizes(p, c, "sizes");
    print_plan(p, c);
    print_line(p, "const cameo_conv_cut cut = %s;", cut);
    byte_conv_print_share(p, c, print_index_bare(p, places));
    conv_set_own(p, k, c, false);
    block_print_epilogue(p, (Block){c->bytes->m0, c->bytes->n0, false}, c->epilogue, c->m,
                         c->n + conv_ones(c), c->rank - conv_ones(c));
    for (int i = 0; i < 2; i++) {
        p->indent--;
        print_line(p, "}");
    }
}

static void print_bytes(Printer *p, const Kernel *k, const Conv *c, Bounds *outer, Index places,
                        Index work)
{
    nest_begin(p, outer, NULL);
    parts_around(p, outer, true);
    conv_print_copy(p, k, c);
    parts_begin(p, c->bytes->sums);
    const char *n = print_index_bare(p, places);
    const char *cut = str_printf(p->arena, "cameo_byte_share(%s, %s, %s, from, to)",
                                 print_index_bare(p, c->rows), n, print_size(p, c->bytes->width))
                          .at;
    print_byte_share(p, k, c, places, cut);
    const char *units = byte_conv_units(p, c, n);
    parts_end(p, units, parts_grain_of(p, work, units));
    parts_around(p, outer, false);
    nest_end(p, outer);
}

// What threads share. Rows of tiles are whole where something else is done to places of y that are
// finished.
static void print_mode(Printer *p, const Kernel *k, const Conv *c)
{
    if (c->tile) {
        const char *down = tiles_along(p, c, 0), *across = tiles_along(p, c, 1);
        if (c->epilogue || c->curve)
            print_line(p, "args.mode = %s;", across);
        else
            print_line(p, "args.mode = cameo_winograd_shares(cameo_parts(threads), %s, %s);", down,
                       across);
        return;
    }
    conv_set_own(p, k, c, true);
    conv_print_sizes(p, c, "sizes");
    conv_set_own(p, k, c, false);
    print_line(p,
               "args.mode = cameo_conv_shares(&sizes, threads->pool ? threads->pool->threads : 1, "
               "%d);",
               c->shared != 0);
}

static void print_one(Printer *p, const Kernel *k, const Conv *c, Bounds *outer, Index places,
                      Index work)
{
    if (c->made)
        conv_pack_print(p, k, c, true);
    nest_begin(p, outer, NULL);
    parts_around(p, outer, true);
    const char *rows = print_index_bare(p, c->rows), *n = print_index_bare(p, places);
    const char *depth = print_index_bare(p, conv_depth(p->mod->polys, c));
    print_mode(p, k, c);
    if (c->copy)
        conv_print_copy(p, k, c);
    if (c->shared)
        print_make_part(p, k, c, n, depth);
    parts_begin(p, c->panel);
    bool done = c->tile ? print_tile_share(p, k, c) : print_share(p, k, c, places);
    const char *units =
        c->tile ? str_printf(p->arena, "cameo_winograd_units(args.mode, %s, %s)",
                             tiles_along(p, c, 0), tiles_along(p, c, 1))
                      .at
                : str_printf(p->arena, "cameo_conv_units(%s, %s, %s, %s)",
                             mode_of(p, c, "args.mode"), rows, print_size(p, unit_rows(c)), n)
                      .at;
    const char *grain = parts_grain_of(p, work, units);
    if (c->tile)
        grain =
            str_printf(p->arena, "cameo_winograd_grain(%s, cameo_parts(threads), args.mode, %s)",
                       grain, units)
                .at;
    parts_end(p, units, grain);
    parts_around(p, outer, false);
    nest_end(p, outer);
    if (!done)
        print_stmts(p, c->epilogue);
}

static bool print_plane(Printer *p, const Kernel *k, const Conv *c, Index places)
{
    print_blocks(p, c, print_index_bare(p, places), conv_image(p, c), conv_weights(p, c),
                 conv_output(p, c));
    conv_set_own(p, k, c, false);
    return !c->epilogue || conv_print_epilogue(p, c);
}

static void print_byte_plane(Printer *p, const Kernel *k, const Conv *c, Index places)
{
    byte_conv_print_plane(p, c, conv_image(p, c), print_index_bare(p, places));
    conv_set_own(p, k, c, false);
    block_print_epilogue(p, (Block){c->bytes->m0, c->bytes->n0, false}, c->epilogue, c->m,
                         c->n + conv_ones(c), c->rank - conv_ones(c));
    for (int i = 0; i < 2; i++) {
        p->indent--;
        print_line(p, "}");
    }
}

// Planes by their own windows: each is done by one thread.
static void print_planes(Printer *p, const Kernel *k, const Conv *c, Bounds *outer, Index places,
                         Index work)
{
    Index units = parts_units(p, outer->n, outer->vars);
    parts_begin(p, c->bytes ? c->bytes->sums : c->padded);
    conv_set_own(p, k, c, true);
    conv_print_sizes(p, c, "sizes");
    print_plan(p, c);
    parts_nest_begin(p, outer->n, outer->vars);
    p->indent++;
    bool done = true;
    if (c->bytes)
        print_byte_plane(p, k, c, places);
    else
        done = print_plane(p, k, c, places);
    p->indent--;
    parts_nest_end(p, outer->n, outer->vars);
    print_rest(p, c);
    parts_end(p, print_index_bare(p, units), parts_grain(p, work));
    if (!done)
        print_stmts(p, c->epilogue);
}

// Groups, each of which is done by one thread.
static void print_groups(Printer *p, const Kernel *k, const Conv *c, Bounds *outer, Index places,
                         Index work)
{
    Index units = parts_units(p, outer->n, outer->vars);
    if (c->made)
        conv_pack_print(p, k, c, true);
    parts_begin(p, c->panel);
    conv_set_own(p, k, c, true);
    conv_print_sizes(p, c, "sizes");
    print_plan(p, c);
    parts_nest_begin(p, outer->n, outer->vars);
    p->indent++;
    bool done;
    if (c->tile) {
        done = print_tiles(p, k, c, "0", "form.tiles");
    } else {
        print_blocks(p, c, print_index_bare(p, places), conv_image(p, c), conv_weights(p, c),
                     conv_output(p, c));
        conv_set_own(p, k, c, false);
        done = !c->epilogue || conv_print_epilogue(p, c);
        for (int i = 0; i < 2; i++) {
            p->indent--;
            print_line(p, "}");
        }
    }
    p->indent--;
    parts_nest_end(p, outer->n, outer->vars);
    parts_end(p, print_index_bare(p, units), parts_grain(p, work));
    if (!done)
        print_stmts(p, c->epilogue);
}

// Prints it as parts that threads share; false: it is not worth it, and nothing was printed.
static bool print_parts(Printer *p, const Kernel *k, const Conv *c, Bounds *outer)
{
    Polys *polys = p->mod->polys;
    Index places = conv_places(p->mod->polys, c), two = poly_const(polys, 2);
    Index work = conv_work(polys, c);
    BufferId own = c->bytes ? c->bytes->sums : c->depthwise ? c->padded : c->panel;
    if (!p->parts || p->parts->inside || !parts_may_own(p, own) ||
        (c->depthwise || c->apart
             ? !outer->n || !parts_worth(p, parts_units(p, outer->n, outer->vars), work)
             : !parts_worth(p, two, poly_floordiv(polys, work, two))))
        return false;
    if (c->depthwise)
        print_planes(p, k, c, outer, places, work);
    else if (c->apart)
        print_groups(p, k, c, outer, places, work);
    else if (c->bytes)
        print_bytes(p, k, c, outer, places, work);
    else if (c->tile && c->line)
        line_conv_print_parts(p, k, c, outer, work);
    else if (c->tile && c->shared)
        tile_conv_print_parts(p, k, c, outer, work);
    else
        print_one(p, k, c, outer, places, work);
    return true;
}

// The planes of x as words, then what is made of them.
static void print_whole_bytes(Printer *p, const Kernel *k, const Conv *c, Index places)
{
    const char *rows = print_index_bare(p, c->rows), *n = print_index_bare(p, places);
    print_line(p, "{");
    p->indent++;
    conv_set_own(p, k, c, true);
    conv_print_sizes(p, c, "sizes");
    byte_conv_print_copy(p, c, conv_image(p, c), "0", print_index_bare(p, c->channels));
    conv_set_own(p, k, c, false);
    p->indent--;
    print_line(p, "}");
    print_byte_share(p, k, c, places, str_printf(p->arena, "{0, %s, 0, %s}", rows, n).at);
}

// A convolution of bytes by one thread.
static void print_all_bytes(Printer *p, const Kernel *k, const Conv *c, Bounds *outer)
{
    Index places = conv_places(p->mod->polys, c);
    if (c->depthwise) {
        conv_set_own(p, k, c, true);
        conv_print_sizes(p, c, "sizes");
        print_plan(p, c);
    }
    nest_begin(p, outer, NULL);
    print_line(p, "if (%s > 0) {", print_index_bare(p, places));
    p->indent++;
    if (c->depthwise)
        print_byte_plane(p, k, c, places);
    else
        print_whole_bytes(p, k, c, places);
    p->indent--;
    print_line(p, "}");
    nest_end(p, outer);
}

void conv_print(Printer *p, const Kernel *k, const Conv *c)
{
    if (c->wide) {
        wide_print_conv(p, k, c);
        return;
    }
    if (c->pixels) {
        pixel_conv_print(p, k, c);
        return;
    }
    if (c->half) {
        half_conv_print(p, k, c);
        return;
    }
    if (c->chain) {
        chain_print(p, k, c);
        return;
    }
    if (c->curve)
        curve_print(p, c->curve, 0);
    if (c->split) {
        split_conv_print(p, k, c);
        return;
    }
    Polys *polys = p->mod->polys;
    Bounds outer = {.n = 0};
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        if (!conv_owns(c, s->var))
            outer.vars[outer.n++] = s->var;
    if (print_parts(p, k, c, &outer))
        return;
    if (c->bytes) {
        print_all_bytes(p, k, c, &outer);
        return;
    }
    if (c->made)
        conv_pack_print(p, k, c, false);
    conv_set_own(p, k, c, true);
    conv_print_sizes(p, c, "sizes");
    print_plan(p, c);
    nest_begin(p, &outer, NULL);
    if (c->tile) {
        bool done = c->line     ? line_conv_print_blocks(p, k, c)
                    : c->shared ? tile_conv_print_blocks(p, k, c)
                                : print_tiles(p, k, c, "0", "form.tiles");
        nest_end(p, &outer);
        if (!done)
            print_stmts(p, c->epilogue);
        return;
    }
    const char *n = print_index_bare(p, conv_places(p->mod->polys, c));
    const char *w = c->depthwise ? conv_weights(p, c)
                                 : start_of(p, c->packed, poly_scale(polys, c->group, c->block));
    print_line(p, "if (%s > 0) {", n);
    p->indent++;
    print_blocks(p, c, n, conv_image(p, c), w, conv_output(p, c));
    conv_set_own(p, k, c, false);
    bool whole = c->epilogue && !conv_print_epilogue(p, c);
    for (int i = c->depthwise ? 2 : 0; i < 3; i++) {
        p->indent--;
        print_line(p, "}");
    }
    nest_end(p, &outer);
    print_rest(p, c);
    if (whole)
        print_stmts(p, c->epilogue);
}
