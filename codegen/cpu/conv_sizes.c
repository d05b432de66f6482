// Variables of convolutions, and room that they need beside x, w and y.

#include "codegen/cpu/conv.h"
#include "codegen/cpu/tiles.h"

enum {
    CONV_N = 192, // columns of a block; as in the runtime
    CONV_K = 256, // values of k
    SLACK = 64,
    FEW = 4, // columns of a last panel, and of one of all places: as in the runtime
    SEVERAL = 12,
    LINE_PLACES = 6,  // elements of a tile of a line
    SHARED_ROWS = 32, // of y, from which on panels of x are made for several threads
    MACS = 10, // multiplications and additions in a tenth of a nanosecond, of numbers or words
    SQUARE_MACS = 100,   // and of words by square tiles
    FINISHED = 3,        // tenths of nanoseconds for what surrounds a sum of bytes
    WIDE = 16,           // columns of a vector, where it is widest
    ACROSS_PLANES = 12,  // planes of which lanes may be some, at least,
    ACROSS_PLACES = 256, // elements of such a plane, at most,
    ACROSS_TURN = 12     // products while a vector of them is turned: both as in the runtime
};

bool conv_owns(const Conv *c, LoopId v)
{
    bool own = v == c->m || v == c->c;
    for (uint32_t i = 0; i < c->rank; i++)
        own |= v == c->n[i] || v == c->t[i];
    return own;
}

uint32_t conv_ones(const Conv *c)
{
    uint32_t n = 0;
    while (n < c->rank && !c->n[n])
        n++;
    return n;
}

Index conv_places(Polys *polys, const Conv *c)
{
    Index places = poly_const(polys, 1);
    for (uint32_t i = 0; i < c->rank; i++)
        places = poly_mul(polys, places, c->out[i]);
    return places;
}

Index conv_depth(Polys *polys, const Conv *c)
{
    Index k = c->channels;
    for (uint32_t i = 0; i < c->rank; i++)
        k = poly_mul(polys, k, c->taps[i]);
    return k;
}

Index conv_macs(Polys *polys, const Conv *c)
{
    return poly_mul(polys, poly_mul(polys, conv_places(polys, c), c->rows), conv_depth(polys, c));
}

// Elements of a row of the copy along dim i; by tiles of a line those that its tiles read.
static Index copied(Polys *polys, const Conv *c, uint32_t i)
{
    Index reach = poly_add_const(
        polys,
        poly_add(polys, poly_scale(polys, poly_add_const(polys, c->out[i], -1), c->stride[i]),
                 poly_scale(polys, poly_add_const(polys, c->taps[i], -1), c->dilation[i])),
        1);
    if (i < c->rank - 1)
        return reach;
    if (c->line && c->tile) {
        const Index tiles = poly_ceildiv(polys, c->out[i], poly_const(polys, c->tile));
        return poly_add_const(polys, poly_scale(polys, tiles, c->tile), LINE_PLACES - c->tile);
    }
    return poly_scale(polys, poly_ceildiv(polys, reach, poly_const(polys, c->stride[i])),
                      c->stride[i]);
}

// May there be so many places at most, and more than a few? Of open sizes there may.
static bool may_have_places(const Conv *c, int64_t most)
{
    int64_t places = 1, n;
    for (uint32_t i = 0; i < c->rank && places <= most; i++) {
        if (!poly_is_const(c->out[i], &n))
            return true;
        places *= n <= most ? n : most + 1;
    }
    return places > FEW && places <= most;
}

bool conv_has_several(const Conv *c)
{
    return !c->bytes && !c->depthwise && may_have_places(c, SEVERAL);
}

bool conv_has_single(const Conv *c)
{
    return !c->bytes && !c->depthwise && !c->tile && !c->split && !c->sevens && !c->half &&
           may_have_places(c, WIDE);
}

bool conv_has_windows(const Conv *c)
{
    int64_t rows, columns, above;
    const int64_t *stride = c->stride;
    if (!c->depthwise || c->bytes)
        return false;
    return c->rank != 2 || !poly_is_const(c->taps[0], &rows) ||
           !poly_is_const(c->taps[1], &columns) || !poly_is_const(c->pad[0], &above) ||
           rows != columns || (rows != 3 && rows != 5) || above >= rows || c->dilation[0] != 1 ||
           stride[0] != stride[1] || stride[0] > 2 || (stride[0] == 2 && c->dilation[1] != 1) ||
           !poly_equals(c->step[1], 1);
}

bool conv_has_across(const Module *mod, const Conv *c)
{
    int64_t planes, in[2], out[2], taps[2], n;
    if (!c->depthwise || c->bytes || !c->finish || c->rank != 2 ||
        !poly_is_const(buffer_at(mod, c->bias)->dims[0], &planes) || planes < ACROSS_PLANES)
        return false;
    for (int i = 0; i < 2; i++) {
        poly_is_const(c->taps[i], &taps[i]);
        if (!poly_is_const(c->in[i], &in[i]) || !poly_is_const(c->out[i], &out[i]))
            return true;
    }
    n = taps[0] * taps[1];
    const int64_t vectors = out[0] * ((out[1] + WIDE - 1) / WIDE);
    const int64_t own = (c->stride[1] == 1 ? 3 : 4) * WIDE * vectors * n;
    const int64_t turned = in[0] * in[1] + out[0] * out[1] + n;
    return in[0] * in[1] <= ACROSS_PLACES && out[0] * out[1] <= ACROSS_PLACES &&
           own > 2 * (out[0] * out[1] * n + ACROSS_TURN * turned);
}

Index conv_copy_size(Polys *polys, const Conv *c)
{
    Index size = c->channels;
    for (uint32_t i = 0; i < c->rank; i++)
        size = poly_mul(polys, size, poly_max(polys, copied(polys, c, i), poly_const(polys, 0)));
    return poly_add_const(polys, size, c->line ? 2 * SLACK : SLACK);
}

int64_t conv_panel_size(void)
{
    return CONV_K * (CONV_N * 5 / 4 + TILE_COLUMNS) + SLACK;
}

Index conv_shared_size(Polys *polys, const Conv *c, int64_t rows, int64_t k)
{
    int64_t places = 1, size;
    for (uint32_t i = 0; i < c->rank; i++) {
        if (!poly_is_const(c->out[i], &size) || size > CONV_N * 5 / 4)
            return NULL;
        places *= size;
    }
    if (places < 1 || places >= CONV_N * 5 / 4 || rows < SHARED_ROWS)
        return NULL;
    return poly_const(polys, k * (places + 2 * TILE_COLUMNS) + SLACK);
}

int64_t conv_packed_at(int64_t panels, int64_t size, int64_t i, int64_t k)
{
    int64_t begin = k / CONV_K * CONV_K, depth = size - begin < CONV_K ? size - begin : CONV_K;
    return begin * panels * TILE_ROWS + (i / TILE_ROWS * depth + k - begin) * TILE_ROWS +
           i % TILE_ROWS;
}

// n, or what it is with what fills up its last `step`.
static Index filled(Polys *polys, Index n, int64_t step)
{
    int64_t known;
    return poly_is_const(n, &known) ? poly_const(polys, (known + step - 1) / step * step) : n;
}

// Products of float32 compute what fills up tiles too.
Index conv_work(Polys *polys, const Conv *c)
{
    Index places = conv_places(polys, c);
    const bool tiles = !c->depthwise && !c->bytes;
    Index rows = tiles ? filled(polys, c->rows, TILE_ROWS) : c->rows;
    Index columns = tiles ? filled(polys, places, WIDE) : places;
    Index macs = poly_mul(polys, poly_mul(polys, columns, rows), conv_depth(polys, c));
    const int speed = c->depthwise ? 2 : c->bytes && c->bytes->squares.depth ? SQUARE_MACS : MACS;
    if (poly_is_overflow(macs))
        return macs;
    Index work = poly_floordiv(polys, macs, poly_const(polys, speed));
    Index elements = poly_mul(polys, places, c->rows);
    return c->bytes ? poly_add(polys, work, poly_scale(polys, elements, FINISHED)) : work;
}
