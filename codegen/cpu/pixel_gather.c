#include "codegen/cpu/pixel_gather.h"

enum {
    TILE = 16, // places of a tile
    STEP = 36, // nanoseconds that a step of k takes, of two tiles by a panel, from the second cache
    GATHERED = 5 // that a pixel takes to be copied
};

static int64_t tiles_of(int64_t places)
{
    return (places + TILE - 1) / TILE;
}

// Tiles where x is read as it lies (cameo_pixel_conv_plan).
static int64_t lying_tiles(const PixelConv *c)
{
    const int64_t down = c->stride[0] * c->across, rows = c->out[0] * tiles_of(c->out[1]);
    const int64_t flat = tiles_of((c->out[0] - 1) * (down / c->stride[1]) + c->out[1]);
    return down % c->stride[1] == 0 && flat <= rows ? flat : rows;
}

bool pixel_gather_pays(const PixelConv *c, int64_t steps)
{
    const int64_t places = c->out[0] * c->out[1], panels = c->filled / PIXEL_PANEL;
    const int64_t saved = (lying_tiles(c) + 1) / 2 - (tiles_of(places) + 1) / 2;
    const bool may = !c->few && !c->windows && !c->anywhere;
    return may && steps > 0 && saved * panels * STEP > places * GATHERED;
}

void pixel_gather_buffer(Module *mod, PixelConv *c, int64_t steps)
{
    const int64_t words = steps * c->out[0] * c->out[1] * (PIXEL_BYTES / (int64_t)sizeof(int32_t));
    c->gathered = true;
    c->copy = bytes_scratch(mod, DT_I32, poly_const(mod->polys, words));
}

void pixel_gather_print(Printer *p, const Conv *conv, const char *from, const char *to)
{
    print_line(p, "cameo_pixel_gather(&h, %s + %s, %s, %s, %s);", bytes_name(p, conv->x->buffer),
               print_index(p, conv->pixels->start), from, to, bytes_name(p, conv->pixels->copy));
}
