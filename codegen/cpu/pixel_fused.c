// Where y and what is added to it lie, for what finishes sums of pixels without the kernel's own
// loops (runtime/cameo_pixel_fused.h).

#include "codegen/cpu/pixel_bytes.h"
#include "codegen/cpu/pixel_finish.h"

#include "codegen/print_parts.h"

enum { TILE = 16 }; // columns of a tile

static void bind_first(Printer *p, const PixelConv *c, int by)
{
    print_bind_loop(p, c->n[0], by);
    print_bind_loop(p, c->n[1], by);
    print_bind_loop(p, c->lane, by);
}

// Bytes from line to line of a value in pixels.
static const char *print_down(Printer *p, BufferId b)
{
    Index pixels = buffer_at(p->mod, b)->dims[3];
    return print_index_bare(p, poly_scale(p->mod->polys, pixels, PIXEL_BYTES));
}

void pixel_conv_begin_y(Printer *p, const Conv *conv, const Expr *added, const char *name,
                        const char *more)
{
    const PixelConv *c = conv->pixels;
    print_line(p, "const int64_t i%u = 0, i%u = 0, i%u = 0;", c->n[0], c->n[1], c->lane);
    bind_first(p, c, 1);
    const BufferId y = conv->store->buffer;
    print_line(p, "const %s = {(char *)&%s, %s%s, %s, %s%s};", name,
               print_element(p, y, conv->store->at), added ? "(const char *)&" : "NULL",
               added ? print_element(p, added->buffer, added->at) : "", print_down(p, y),
               added ? print_down(p, added->buffer) : "0", more);
}

void pixel_conv_end_y(Printer *p, const Conv *conv)
{
    bind_first(p, conv->pixels, -1);
}

// Bytes from block to block of a value in pixels.
static const char *print_apart(Printer *p, BufferId b)
{
    Polys *polys = p->mod->polys;
    const Index *dims = buffer_at(p->mod, b)->dims;
    return print_index_bare(p, poly_scale(polys, poly_mul(polys, dims[2], dims[3]), PIXEL_BYTES));
}

// Which columns panels have: of one vector, two, one and a half.
static void print_groups(Printer *p, const PixelConv *c, const char *name)
{
    const int64_t beyond = (c->channels - 1) % PIXEL_PANEL - TILE;
    const bool more = c->channels > PIXEL_PANEL; // than the last panel
    print_line(p, "static const cameo_pixel_groups groups =");
    print_line(p, "    CAMEO_PIXEL_GROUPS_OF(cameo_pixel_fused_%s, %d, %d, %d);", name, beyond < 0,
               more || beyond >= TILE / 2, beyond >= 0 && beyond < TILE / 2);
}

void pixel_conv_begin_fused(Printer *p, const Conv *conv, const char *name)
{
    const PixelConv *c = conv->pixels;
    const BufferId y = conv->store->buffer;
    const Expr *added = c->ends ? c->ends->added : c->finish->added;
    print_groups(p, c, name);
    print_line(p, "const int64_t i%u = 0;", c->block);
    print_bind_loop(p, c->block, 1);
    pixel_conv_begin_y(p, conv, added, "cameo_pixel_fuse fuse",
                       str_printf(p->arena, ", %s, %s", print_apart(p, y),
                                  added ? print_apart(p, added->buffer) : "0")
                           .at);
}

void pixel_conv_end_fused(Printer *p, const Conv *conv)
{
    pixel_conv_end_y(p, conv);
    print_bind_loop(p, conv->pixels->block, -1);
}
