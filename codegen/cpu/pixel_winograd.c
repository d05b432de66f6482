// How many tiles are a block: what is made of them, their sums, and the weights that are asked for
// take three quarters of the second cache. More of them would only make units fewer; fewer read all
// weights more often. Threads make the numbers of a single block together, before its panels are
// their units; of several each makes those of the blocks that it has, which are fewer operations
// for each panel.

#include "codegen/cpu/pixel_winograd.h"

#include "codegen/cpu/gemm.h"
#include "codegen/cpu/pixel_finish.h"

#include <math.h>
#include <stdlib.h>

enum {
    MOST_SIDE = 5, // pixels of a tile across
    MOST_NUMBERS = MOST_SIDE * MOST_SIDE,
    TAPS = 3,
    WINDOW = TAPS * TAPS,
    TILE = 16,  // columns of a tile of weights, words of a pixel
    LANES = 32, // of a pixel
    LEAST_TILES = 16,
    MOST_TILES = 56,
    FEW_PANELS = 2, // that are a unit, since x would be made again for each
    GROUP = 8,      // tiles
    AHEAD = 65536,  // bytes of weights that are asked for: CAMEO_PIXEL_AHEAD
    GROUPS = MOST_TILES / GROUP, // each of which has room for the sums of one more
    SUMS = GROUPS * (GROUP + 1) * 16 * PIXEL_PANEL
};

// Of the direct form's cycles, below which more weights are worth their memory.
#define WORTH 0.95

// Pixels of a tile across, and the numbers that are made of it.
static int64_t side_of(const PixelConv *c)
{
    return c->stride[0] + TAPS;
}

static int64_t numbers_of(const PixelConv *c)
{
    return side_of(c) * side_of(c);
}

// ---- choosing ----------------------------------------------------------------------------------

static int64_t tiles_of(const PixelConv *c)
{
    return (c->out[0] + 1) / 2 * ((c->out[1] + 1) / 2);
}

// Of words; so many rows of the first factor, in groups of at least four, by as many vectors of
// columns. Bytes are those of weights.
static double cycles(const Processor *cpu, double share, double rows, double words, double columns)
{
    const double vectors = ceil(columns / TILE), all = fmax(ceil(rows / 2) * 2, 4);
    const double each = cpu->products * cpu->halves / 2 * share;
    return fmax(all * words * vectors / each, words * vectors * PIXEL_BYTES / cpu->bytes);
}

// Operations on vectors for what is made of a tile's pixels of a plane, and of its sums of a panel;
// of pixels that are not full so many more, by how far windows move.
enum { MOVES_OF_X = 150, MOVES_OF_Y = 150 };
static const double apart[] = {150, 350};

static void expect(const PixelConv *c, const Processor *cpu, double cost[2])
{
    const double channels = (double)c->channels, tiles = (double)tiles_of(c);
    const double planes = (double)c->planes, places = (double)(c->out[0] * c->out[1]);
    const double numbers = (double)numbers_of(c), words = TILE * (planes - 1) + (double)c->words;
    const double moves = planes * MOVES_OF_X + ceil(channels / PIXEL_PANEL) * MOVES_OF_Y +
                         (c->words < TILE ? apart[c->stride[0] - 1] : 0);
    cost[0] = cycles(cpu, cpu->direct, places, WINDOW * words, channels);
    cost[1] = cycles(cpu, cpu->transformed, tiles, numbers * words, channels) +
              tiles * moves / cpu->moves;
}

static int64_t tile_size(const PixelConv *c)
{
    return numbers_of(c) * c->planes * PIXEL_BYTES;
}

// Tiles of all blocks but the last, whole groups where that leaves no more than `most` to it.
static int64_t block_of(const PixelConv *c, const Processor *cpu, int64_t *blocks)
{
    const int64_t beside = AHEAD + MOST_TILES * 16 * PIXEL_PANEL * (int64_t)sizeof(float);
    const int64_t tiles = tiles_of(c);
    int64_t most = ((int64_t)cpu->second * 3 / 4 - beside) / tile_size(c);
    most = most < LEAST_TILES ? LEAST_TILES : most > MOST_TILES ? MOST_TILES : most;
    *blocks = (tiles + most - 1) / most;
    const int64_t each = (tiles + *blocks - 1) / *blocks, whole = each / GROUP * GROUP;
    return *blocks > 1 && tiles - (*blocks - 1) * whole <= most ? whole : each;
}

static bool allows(const PixelConv *c)
{
    bool fits = c->dtype == DT_BF16 && c->anywhere && !c->windows && !c->few && !c->part &&
                c->finish && c->columns == PIXEL_PANEL;
    for (int i = 0; i < 2; i++)
        fits &= c->taps[i] == TAPS && c->dilation[i] == 1;
    return fits && c->stride[0] == c->stride[1] && c->stride[0] <= 2;
}

bool pixel_winograd_choose(Module *mod, Conv *c, PixelConv *to, const ConvChoice *how)
{
    if (how->direct || !allows(to))
        return false;
    expect(to, how->cpu, c->cost);
    if (!how->tile && c->cost[1] >= WORTH * c->cost[0])
        return false;
    c->tile = 2;
    to->tiles = block_of(to, how->cpu, &to->tile_blocks);
    const int64_t own = 2 * numbers_of(to) * to->planes + SUMS; // 64 bits for each place
    const bool shared = to->tile_blocks == 1;
    const int64_t last = tiles_of(to) - (to->tile_blocks - 1) * to->tiles;
    const int64_t most = last > to->tiles ? last : to->tiles;
    // an odd number of pixels of each: cameo_pixel_winograd_apart
    const int64_t made = (most | 1) * tile_size(to) / (int64_t)sizeof(float);
    if (shared)
        to->copy = bytes_scratch(mod, DT_F32, poly_const(mod->polys, made));
    to->sums = bytes_scratch(mod, DT_F32, poly_const(mod->polys, shared ? own : own + made));
    return true;
}

// ---- packing -----------------------------------------------------------------------------------

// What the three taps of a line give at each of its numbers, by how far windows move.
static const double given[2][MOST_SIDE][TAPS] = {
    {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
    {{1, 0, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 0}, {0, 1, 0}},
};

// Where those of a tile lie whose windows move by two: cameo_pixel_winograd_order.
static const unsigned char order[MOST_NUMBERS] = {0,  4,  6, 1, 7, 10, 12, 13, 11, 14, 15, 19, 21,
                                                  16, 22, 2, 5, 8, 3,  9,  17, 20, 23, 18, 24};

// What each place of the window is multiplied by in each number.
static void set_factors(int64_t stride, double factors[WINDOW][MOST_NUMBERS])
{
    const int64_t side = stride + TAPS;
    for (int64_t i = 0; i < side * side; i++) {
        const double *down = given[stride - 1][i / side], *across = given[stride - 1][i % side];
        for (int t = 0; t < WINDOW; t++)
            factors[t][stride == 1 ? i : order[i]] = down[t / TAPS] * across[t % TAPS];
    }
}

static void transform(int64_t stride, const double factors[WINDOW][MOST_NUMBERS],
                      const double *window, double *numbers)
{
    const int64_t side = stride + TAPS;
    for (int64_t i = 0; i < side * side; i++)
        numbers[i] = 0.0 + factors[0][i] * window[0]; // no zero has a sign
    for (int t = 1; t < WINDOW; t++)
        for (int64_t i = 0; i < side * side; i++)
            numbers[i] += factors[t][i] * window[t];
}

static double widened(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof x);
    return (double)x;
}

// To the nearest, and the even one of two: of normal numbers by their bits.
static void store(double x, uint16_t *to)
{
    enum { LEFT_OUT = 52 - 7, BIAS = 1023 - 127 };
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t half = ((uint64_t)1 << (LEFT_OUT - 1)) - 1 + (bits >> LEFT_OUT & 1);
    const uint64_t near = ((bits & INT64_MAX) + half) >> LEFT_OUT, exponent = near >> 7;
    if (exponent > BIAS && exponent < BIAS + 255)
        *to = (uint16_t)(bits >> 63 << 15 | (near - ((uint64_t)BIAS << 7)));
    else
        scalar_store(DT_BF16, to, (Scalar){.f = x});
}

// The sum that number n is added to: its first number, and how many it has.
static int64_t sum_of(int64_t stride, int64_t n, int64_t *many)
{
    static const unsigned char first[] = {0, 4, 6, 10, 12, 13, 15, 19, 21, MOST_NUMBERS};
    int64_t s = 0;
    while (stride > 1 && first[s + 1] <= n)
        s++;
    *many = stride > 1 ? first[s + 1] - first[s] : 1;
    return stride > 1 ? first[s] : n;
}

// The numbers of row i and channel k, to the word of the panel where x has that channel.
static void put(const PixelConv *c, int64_t i, int64_t k, const double *numbers, uint16_t *to)
{
    const int64_t plane = k / LANES, all = numbers_of(c);
    const bool full = c->words == TILE || plane < c->planes - 1;
    const int64_t lane = full ? k % 2 * (LANES / 2) + k % LANES / 2 : k % LANES;
    for (int64_t n = 0; n < all; n++) {
        int64_t many;
        const int64_t sum = sum_of(c->stride[0], n, &many);
        const int64_t step = (i / PIXEL_PANEL * all + sum) * c->planes + plane * many + n - sum;
        const int64_t word = ((2 * step + i % PIXEL_PANEL / TILE) * TILE + lane / 2) * TILE;
        store(numbers[n], &to[2 * (word + i % TILE) + lane % 2]);
    }
}

bool pixel_winograd_pack(Module *mod, const Conv *c, const ByteWeights *w, PixelConv *to,
                         Str *error)
{
    const Buffer *b = buffer_at(mod, c->w->buffer);
    const StoredU16 *from = tensor_elements(mod->model, (TensorData *)(uintptr_t)b->data, error);
    const int64_t words = to->filled * numbers_of(to) * to->planes * TILE;
    if (!from)
        return false;
    uint16_t *packed = arena_lend(mod->arena, (size_t)words * sizeof(int32_t));
    double factors[WINDOW][MOST_NUMBERS];
    set_factors(to->stride[0], factors);
    for (int64_t i = 0; i < w->rows; i++)
        for (int64_t k = 0; k < w->channels; k++) {
            const StoredU16 *at = from + w->start + w->group_at[0] + i * w->row;
            double window[WINDOW], numbers[MOST_NUMBERS];
            for (int64_t t = 0; t < WINDOW; t++)
                window[t] = widened(at[w->k_at[k * WINDOW + t]]);
            transform(to->stride[0], factors, window, numbers);
            put(to, i, k, numbers, packed);
        }
    to->packed = bytes_keep(mod, DT_I32, words, packed);
    return true;
}

// ---- printing ----------------------------------------------------------------------------------

void pixel_winograd_print_begin(Printer *p, const Conv *conv)
{
    const PixelConv *c = conv->pixels;
    const int64_t panels = c->filled / PIXEL_PANEL;
    print_line(p, "/* F(2x2,3x3); cycles expected directly %.0f, by tiles %.0f */", conv->cost[0],
               conv->cost[1]);
    print_line(p, "static const cameo_pixel_winograd h = {");
    print_line(p,
               "    .planes = %lld, .lines = %lld, .across = %lld, .line = %lld, .column = %lld,",
               (long long)c->planes, (long long)c->lines, (long long)c->across,
               (long long)(c->border - c->pad[0]), (long long)(c->border - c->pad[1]));
    if (c->words < TILE)
        print_line(p, "    .words = %lld,", (long long)c->words);
    print_line(p, "    .rows = %lld, .row = %lld, .step = %lld, .panels = %lld,%s",
               (long long)c->out[0], (long long)c->out[1], (long long)c->stride[0],
               (long long)panels, (c->channels - 1) % PIXEL_PANEL < TILE ? " .edge = 1," : "");
    print_line(p, "    .blocks = %lld, .most = %lld, .each = %lld};", (long long)c->tile_blocks,
               (long long)c->tiles, (long long)(panels <= FEW_PANELS ? panels : 1));
}

int64_t pixel_winograd_products(const PixelConv *c)
{
    return (numbers_of(c) + 3) / 4;
}

int64_t pixel_winograd_made(const PixelConv *c)
{
    return tiles_of(c);
}

int64_t pixel_winograd_make_work(const PixelConv *c)
{
    enum { PLANE = 300 }; // tenths of nanoseconds
    return PLANE * c->planes;
}

void pixel_winograd_print_make(Printer *p, const Conv *conv, const char *from, const char *to)
{
    print_line(p, "cameo_pixel_winograd_make_all(&h, %s + %s, %s, %s, %s);",
               bytes_name(p, conv->x->buffer), print_index(p, conv->pixels->start), from, to,
               bytes_name(p, conv->pixels->copy));
}

const char *pixel_winograd_grain(Printer *p, const char *grain)
{
    return str_printf(p->arena, "cameo_pixel_winograd_grain(&h, cameo_parts(threads), %s)", grain)
        .at;
}

void pixel_winograd_print_units(Printer *p, const Conv *conv, const char *from, const char *to)
{
    const PixelConv *c = conv->pixels;
    print_line(
        p, "cameo_pixel_winograd_cut cut = cameo_pixel_winograd_begin(&h, %s + %s, %s, %s, %s);",
        bytes_name(p, conv->x->buffer), print_index(p, c->start), bytes_name(p, c->packed),
        bytes_name(p, c->copy), bytes_name(p, c->sums));
    print_line(p, "for (int64_t u = %s; u < %s; u++) {", from, to);
    p->indent++;
    print_line(p, "cameo_pixel_winograd_unit(&h, &cut, u);");
    print_line(p, "for (int64_t i%u = cut.b0; i%u < cut.b1; i%u++) {", c->block, c->block,
               c->block);
    p->indent++;
    pixel_finish_begin_y(p, conv, "cameo_pixel_winograd_y y");
    print_line(p, "cameo_pixel_winograd_panel(&h, &cut, i%u, &y, &ends);", c->block);
    pixel_conv_end_y(p, conv);
    for (int i = 0; i < 2; i++) {
        p->indent--;
        print_line(p, "}");
    }
}

bool pixel_winograd_any(const Step *s)
{
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        const PixelConv *c = o && o->conv ? o->conv->pixels : NULL;
        if ((c && c->tiles) || pixel_winograd_any(s->body) || pixel_winograd_any(s->other))
            return true;
    }
    return false;
}
