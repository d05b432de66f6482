// Convolutions by few tiles of a plane in C: channels of the tiles of x, then rows of y, of which
// some are made for all blocks of tiles, while their windows lie in the second cache.

#include "codegen/cpu/tile_conv.h"

#include "codegen/cpu/winograd.h"
#include "codegen/parts.h"

enum { MADE = 20 }; // tenths of nanoseconds for an element of x to become numbers of tiles

void tile_conv_print_plan(Printer *p, const Conv *c)
{
    print_line(p, "/* %s; cycles expected directly %.0f, by tiles of 2 %.0f, of 4 %.0f */",
               winograd_form(c, c->tile), c->cost[0], c->cost[1], c->cost[2]);
    print_line(p, "cameo_winograd form;");
    if (winograd_steps(c))
        print_line(p, "cameo_winograd_plan(&sizes, &cameo_winograd_two, &form);");
    else
        print_line(p, "cameo_winograd_plan(&sizes, &cameo_winograd_%lld_%lld, &form);",
                   (long long)c->tile, (long long)winograd_side(c));
}

static void print_form(Printer *p, const Conv *c)
{
    conv_print_sizes(p, c, "sizes");
    tile_conv_print_plan(p, c);
}

// Rows low .. high of y, which are text. False: the epilogue is left.
static bool print_rows(Printer *p, const Kernel *k, const Conv *c, const char *low,
                       const char *high)
{
    const char *w = conv_weights(p, c);
    conv_print_finish(p, c, "form");
    print_line(p, "for (int64_t m0 = %s, m1 = m0; m0 < %s; m0 = m1)", low, high);
    print_line(p, "for (int64_t tile0 = 0, tile1; tile0 < form.tiles; tile0 = tile1) {");
    p->indent++;
    print_line(p, "cameo_winograd only;");
    print_line(p, "cameo_winograd_block block;");
    print_line(p, "tile1 = cameo_winograd_end(&form, tile0, form.tiles);");
    print_line(p, "cameo_winograd_only(&form, tile0, &only);");
    print_line(p, "cameo_winograd_take(&only, tile0, tile1, %s, %s, &block);",
               conv_buffer(p, c->shared), conv_buffer(p, c->panel));
    print_line(p, "const int64_t n0 = block.n0, n1 = block.n1;");
    print_line(p, "(void)n0, (void)n1;");
    print_line(p, "m1 = cameo_winograd_rows(&block, m0, %s, %s);", w, conv_output(p, c));
    conv_set_own(p, k, c, false);
    bool done = !c->epilogue || conv_print_epilogue(p, c);
    p->indent--;
    print_line(p, "}");
    return done;
}

bool tile_conv_print_blocks(Printer *p, const Kernel *k, const Conv *c)
{
    print_line(p, "cameo_winograd_make(&form, %s, 0, sizes.channels, %s);", conv_image(p, c),
               conv_buffer(p, c->shared));
    return print_rows(p, k, c, "0", print_index_bare(p, c->rows));
}

// Units are channels of x.
static void print_make_part(Printer *p, const Kernel *k, const Conv *c)
{
    parts_begin(p, 0);
    conv_set_own(p, k, c, true);
    print_form(p, c);
    print_line(p, "cameo_winograd_make(&form, %s, from, to, %s);", conv_image(p, c),
               conv_buffer(p, c->shared));
    conv_set_own(p, k, c, false);
    Index each = poly_scale(p->mod->polys, conv_places(p->mod->polys, c), MADE);
    parts_end(p, print_index_bare(p, c->channels), parts_grain(p, each));
}

void tile_conv_print_parts(Printer *p, const Kernel *k, const Conv *c, Bounds *outer, Index work)
{
    Polys *polys = p->mod->polys;
    nest_begin(p, outer, NULL);
    parts_around(p, outer, true);
    print_make_part(p, k, c);
    parts_begin(p, c->panel);
    conv_set_own(p, k, c, true);
    print_form(p, c);
    bool done =
        print_rows(p, k, c, "cameo_winograd_from(&form, from)", "cameo_winograd_from(&form, to)");
    const char *units =
        print_index_bare(p, poly_ceildiv(polys, c->rows, poly_const(polys, WINOGRAD_ROWS)));
    parts_end(p, units, parts_grain_of(p, work, units));
    parts_around(p, outer, false);
    nest_end(p, outer);
    if (!done)
        print_stmts(p, c->epilogue);
}
