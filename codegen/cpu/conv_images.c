#include "codegen/cpu/conv_images.h"

#include "codegen/cpu/tiles.h"
#include "codegen/cpu/winograd.h"

#include <math.h>

enum {
    LEAST_ROWS = 32,
    LEAST_DEPTH = 256, // values of k: of fewer, moving the sums takes as long as making them
    MOST_PLACES = 192, // of an image, the columns of a block: of more, panels are full
    OPEN_IMAGES = 8    // so many count where only the program knows
};

// Of the cycles that tiles for each image take, below which products of all are worth it.
static const double WORTH = 0.9;

// Cycles of the direct form, with weights read for each block of columns.
static double cost_of(const Processor *t, double rows, double k, double places)
{
    const double products =
        cost_rounded_up(rows, TILE_ROWS) * k * cost_rounded_up(places, t->lanes) / t->lanes;
    const double bytes = rows * k * 4 * ceil(places / MOST_PLACES);
    return fmax(products / t->products / t->direct, bytes / t->bytes);
}

bool conv_images_worth(Polys *polys, const Conv *one, const Conv *all, const ConvChoice *how,
                       int64_t rows, int64_t k)
{
    int64_t places, images, n;
    bool window = false;
    for (uint32_t i = 0; i < one->rank; i++)
        window |= !poly_equals(one->taps[i], 1);
    if (!poly_is_const(conv_places(polys, one), &places) || places >= MOST_PLACES || !window ||
        rows < LEAST_ROWS || k < LEAST_DEPTH || how->cpu->terms > 0 || how->shadow)
        return false;
    const bool open = !poly_is_const(all->out[0], &images);
    images = open ? OPEN_IMAGES : images;
    Conv alone = *one;
    winograd_choose(&alone, how);
    if (alone.tile)
        return !open && cost_of(how->cpu, (double)rows, (double)k, (double)(places * images)) <
                            WORTH * alone.cost[alone.tile / 2] * (double)images;
    n = places % TILE_COLUMNS; // as many as panels take besides cost next to nothing
    return images > 1 && n > 0 && n > places / TILE_COLUMNS;
}

bool conv_planes_worth(const Conv *one, const Conv *all, const ConvChoice *how, int64_t rows,
                       int64_t k)
{
    int64_t size[CONV_SPACE];
    Conv alone = *one;
    if (how->cpu->terms > 0 || how->shadow)
        return false;
    winograd_choose(&alone, how);
    for (uint32_t i = 0; i < all->rank; i++)
        if (!poly_is_const(all->out[i], &size[i]))
            return alone.tile != 0;
    const double places = (double)size[1] * (double)size[2];
    return alone.tile &&
           alone.cost[alone.tile / 2] * (double)size[0] <
               WORTH * cost_of(how->cpu, (double)rows, (double)k, places * (double)size[0]);
}

void conv_images_print(Printer *p, const Conv *c, const char *y)
{
    Polys *polys = p->mod->polys;
    Index places = poly_const(polys, 1);
    for (uint32_t i = 1; i < c->rank; i++)
        places = poly_mul(polys, places, c->out[i]);
    print_line(p, "cameo_conv_spread(%s, %s, m0, m1, n0, n1, %s, %s, %s, %s, %s, %s, %s);",
               conv_buffer(p, c->sums), print_index_bare(p, conv_places(polys, c)),
               print_index_bare(p, places), print_index_bare(p, c->image),
               print_index_bare(p, c->row), conv_added(p, c), conv_number(p, c->low),
               conv_number(p, c->high), y);
}
