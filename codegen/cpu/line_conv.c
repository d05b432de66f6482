// Convolutions by tiles of a line, or of the lines of a plane, in C: the copy of x with its border,
// where lines are not a plane's, then block by block the channels of its tiles and rows of y.

#include "codegen/cpu/line_conv.h"

#include "codegen/cpu/tiles.h"
#include "codegen/cpu/winograd.h"
#include "codegen/parts.h"

#include <math.h>

// What functions of the runtime are called.
static const char *family(const Conv *c)
{
    return c->plane ? "cameo_plane" : "cameo_line";
}

static const char *form_of(const Conv *c)
{
    return c->plane ? "cameo_plane_line" : "cameo_line";
}

// most: rows of y of a plane's block, text.
static void print_plan(Printer *p, const Conv *c, const char *most)
{
    if (c->plane)
        print_line(p, "/* %s; cycles expected directly %.0f, by tiles of 2 %.0f, of lines %.0f */",
                   winograd_form(c, c->tile), c->cost[0], c->cost[1], c->cost[2]);
    else
        print_line(p, "/* %s; cycles expected directly %.0f, by tiles of a line %.0f */",
                   winograd_form(c, c->tile), c->cost[0], fmax(c->cost[1], c->cost[2]));
    if (!c->tile)
        return;
    print_line(p, "%s form;", form_of(c));
    if (c->plane)
        print_line(p, "cameo_plane_line_plan(&sizes, %s, &form);", most);
    else
        print_line(p, "cameo_line_plan(&sizes, %lld, %lld, &form);", (long long)c->tile,
                   (long long)c->most);
}

void line_conv_print_plan(Printer *p, const Conv *c)
{
    print_plan(p, c, str_printf(p->arena, "%lld", (long long)c->most).at);
}

// Where the numbers of a block's tiles are: all threads', or behind the thread's own sums.
static const char *tiles_of(Printer *p, const Conv *c)
{
    if (c->shared)
        return conv_buffer(p, c->shared);
    return str_printf(p->arena, "%s + %lld", conv_buffer(p, c->panel), (long long)winograd_sums(c))
        .at;
}

// The numbers of channels from .. to, which are text, of a block's tiles.
static void print_make(Printer *p, const Conv *c, const char *from, const char *to)
{
    print_line(p, "%s_make(&form, mode, %s, %s, %s, %s);", form_of(c), from, to,
               c->plane ? conv_image(p, c) : conv_buffer(p, c->padded), tiles_of(p, c));
}

static void print_form(Printer *p, const Conv *c)
{
    conv_print_sizes(p, c, "sizes");
    line_conv_print_plan(p, c);
}

// Rows low .. high of y, of block `mode` of a line's tiles. False: the epilogue is left.
static bool print_rows(Printer *p, const Kernel *k, const Conv *c, const char *low,
                       const char *high)
{
    const char *w = conv_weights(p, c);
    conv_print_finish(p, c, "form");
    print_line(p, "%s_block block;", family(c));
    print_line(p, "%s_begin(&form, mode, %s, %s, &block);", form_of(c), tiles_of(p, c),
               conv_buffer(p, c->panel));
    print_line(p, "const int64_t n0 = block.n0, n1 = block.n1;");
    print_line(p, "(void)n0, (void)n1;");
    print_line(p, "for (int64_t m0 = %s, m1; m0 < %s; m0 = m1) {", low, high);
    p->indent++;
    print_line(p, "m1 = %s_rows(&block, m0, %s%s%s, %s);", form_of(c), c->plane ? high : "",
               c->plane ? ", " : "", w, conv_output(p, c));
    conv_set_own(p, k, c, false);
    bool done = !c->epilogue || conv_print_epilogue(p, c);
    p->indent--;
    print_line(p, "}");
    return done;
}

// Blocks low .. high, each from its tiles on. False: the epilogue is left.
static bool print_blocks(Printer *p, const Kernel *k, const Conv *c, const char *low,
                         const char *high)
{
    print_line(p, "for (int64_t mode = %s; mode < %s; mode++) {", low, high);
    p->indent++;
    print_make(p, c, "0", "sizes.channels");
    bool done = print_rows(p, k, c, "0", print_index_bare(p, c->rows));
    p->indent--;
    print_line(p, "}");
    return done;
}

bool line_conv_print_blocks(Printer *p, const Kernel *k, const Conv *c)
{
    if (!c->plane) {
        print_line(p, "if (form.blocks > 0)");
        print_line(p, "    cameo_conv_copy(&sizes, %s, %s, form.length, 0, sizes.channels);",
                   conv_image(p, c), conv_buffer(p, c->padded));
    }
    return print_blocks(p, k, c, "0", "form.blocks");
}

// Units are channels of x.
static void print_make_part(Printer *p, const Kernel *k, const Conv *c)
{
    parts_begin(p, 0);
    conv_set_own(p, k, c, true);
    print_form(p, c);
    print_make(p, c, "from", "to");
    conv_set_own(p, k, c, false);
    Index each = poly_scale(p->mod->polys, c->out[c->rank - 1], CONV_COPIED);
    if (c->plane)
        each = poly_mul(p->mod->polys, each, c->out[0]);
    parts_end(p, print_index_bare(p, c->channels), parts_grain(p, each));
}

// Units are blocks of a plane, one a thread where that many rows fit.
static void print_block_parts(Printer *p, const Kernel *k, const Conv *c, Bounds *outer, Index work)
{
    const char *size = print_index_bare(p, c->out[0]);
    nest_begin(p, outer, NULL);
    parts_around(p, outer, true);
    print_line(p,
               "args.mode = cameo_min_i64(%lld, (%s + cameo_parts(threads) - 1) / "
               "cameo_parts(threads));",
               (long long)c->most, size);
    parts_begin(p, c->panel);
    conv_set_own(p, k, c, true);
    conv_print_sizes(p, c, "sizes");
    print_line(p, "const int64_t most = mode;");
    print_plan(p, c, "most");
    bool done = print_blocks(p, k, c, "from", "to");
    const char *units = str_printf(p->arena, "((%s + args.mode - 1) / args.mode)", size).at;
    parts_end(p, units, parts_grain_of(p, work, units));
    parts_around(p, outer, false);
    nest_end(p, outer);
    if (!done)
        print_stmts(p, c->epilogue);
}

void line_conv_print_parts(Printer *p, const Kernel *k, const Conv *c, Bounds *outer, Index work)
{
    if (!c->shared) {
        print_block_parts(p, k, c, outer, work);
        return;
    }
    Polys *polys = p->mod->polys;
    nest_begin(p, outer, NULL);
    parts_around(p, outer, true);
    conv_set_own(p, k, c, true);
    print_form(p, c);
    conv_set_own(p, k, c, false);
    if (!c->plane) {
        print_line(p, "args.mode = CAMEO_CONV_ROWS;");
        conv_print_copy(p, k, c);
    }
    print_line(p, "for (int64_t block = 0; block < form.blocks; block++) {");
    p->indent++;
    print_line(p, "args.mode = block;");
    print_make_part(p, k, c);
    parts_begin(p, c->panel);
    conv_set_own(p, k, c, true);
    print_form(p, c);
    const int unit = c->plane ? TILE_ROWS : WINOGRAD_ROWS;
    const char *rows = print_index_bare(p, c->rows);
    const char *high = str_printf(p->arena, "cameo_min_i64(to * %d, %s)", unit, rows).at;
    bool done = print_rows(p, k, c, str_printf(p->arena, "from * %d", unit).at, high);
    const char *units = print_index_bare(p, poly_ceildiv(polys, c->rows, poly_const(polys, unit)));
    parts_end(p, units, parts_grain_of(p, work, units));
    p->indent--;
    print_line(p, "}");
    parts_around(p, outer, false);
    nest_end(p, outer);
    if (!done)
        print_stmts(p, c->epilogue);
}
