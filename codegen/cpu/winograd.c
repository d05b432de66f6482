// Convolutions in fewer products: when, and the windows as the products read them.
//
// Costs are cycles. A product of matrices takes a multiply-and-add for each vector of tiles, row
// and channel, or as long as its weights take from memory, which they leave between two runs of a
// large network; the sums before and after take vector operations of which `moves` go at a time.

#include "codegen/cpu/winograd.h"

#include "codegen/cpu/tiles.h"

#include <math.h>
#include <string.h>

enum {
    OPEN = 28,
    OPEN_IMAGE = 256,
    OPEN_LINE = 512,
    GAP = 16,
    MOST = 6,  // numbers in a line
    PLANE = 8, // and in a line of a plane
    PLANE_TILE = 4,
    PLANE_WIDE = 2048,
    PLANE_GAP = 32,
    PLANE_SLACK = 16,
    PANELS = 4,
    STEPS = 5, // numbers in a line where windows move by two
    STEPPED = STEPS * STEPS,
    STEPPED_TILES = 24, // at least: of fewer, all the more weights are as long in coming
    WINDOW = 5,
    LEAST_CHANNELS = 8
};

// Of the direct form's cycles, below which nearly three times as many weights are worth their
// memory.
static const double WORTH = 0.95;

// ---- cost --------------------------------------------------------------------------------------

// Vectors that n neighbours fill; a few at the end have lanes over rows, half as many at a time.
static double vectors(double lanes, double n)
{
    double rest = fmod(n, lanes), full = (n - rest) / lanes;
    return full + (rest <= 0 ? 0 : fmin(rest * TILE_ROWS / lanes, 1));
}

// Operations on vectors for one of tiles: of x (down its columns, along its rows), of the sums.
static double moves_of_x(int64_t tile, int64_t window)
{
    return tile == 4 ? 340 : window == 5 ? 280 : 90;
}

static double moves_of_y(int64_t tile, int64_t window)
{
    return tile == 4 ? 230 : window == 5 ? 130 : 60;
}

ConvWork winograd_work(int64_t rows, int64_t channels, const int64_t size[2], int64_t tile,
                       int64_t window, double lanes)
{
    const double k = cost_rounded_up((double)rows, TILE_ROWS), depth = (double)channels;
    const double all_places = (double)size[0] * (double)size[1];
    const double direct = k * depth * (double)(window * window);
    if (!tile)
        return (ConvWork){direct * vectors(lanes, all_places), 0, direct * 4};
    const double places = (double)((tile + window - 1) * (tile + window - 1));
    const double across = ceil((double)size[1] / (double)tile);
    const double down = ceil((double)size[0] / (double)tile), all = across * down;
    return (ConvWork){places * k * depth * vectors(lanes, all),
                      depth * down * ceil(across / lanes) * moves_of_x(tile, window) +
                          k * ceil(all / lanes) * moves_of_y(tile, window),
                      places * k * depth * 4};
}

bool winograd_steps(const Conv *c)
{
    return !c->line && c->stride[0] == 2;
}

int64_t winograd_side(const Conv *c)
{
    int64_t taps = 0;
    poly_is_const(c->taps[c->rank - 1], &taps);
    return taps;
}

// The same by a window of 3 x 3 that moves by two: 25 numbers of a tile of 2 x 2 places.
static ConvWork stepped_work(int64_t rows, int64_t channels, const int64_t size[2], double lanes)
{
    enum { MOVES_OF_X = 160, MOVES_OF_Y = 40 };
    const double k = cost_rounded_up((double)rows, TILE_ROWS), depth = (double)channels;
    const double across = ceil((double)size[1] / 2), down = ceil((double)size[0] / 2);
    const double all = across * down;
    return (ConvWork){STEPPED * k * depth * vectors(lanes, all),
                      depth * down * ceil(across / lanes) * MOVES_OF_X +
                          k * ceil(all / lanes) * MOVES_OF_Y,
                      STEPPED * k * depth * 4};
}

static int64_t of_image(void *context, const Atom *a)
{
    (void)context;
    return a->kind == ATOM_DIM ? OPEN_IMAGE : OPEN;
}

// A plane's size, as it is or as it comes of an image: behind several steps of two it is small,
// and has as many channels as make the weights of tiles longer in coming than the direct form is.
static void likely_size(const Conv *c, int64_t size[2])
{
    for (int i = 0; i < 2; i++)
        if (!poly_is_const(c->out[i], &size[i])) {
            const int64_t n = poly_eval(c->out[i], of_image, NULL);
            size[i] = n < 1 ? 1 : n;
        }
}

static double cost_of(const Conv *c, const Processor *t, int64_t tile)
{
    int64_t size[2], rows, channels;
    likely_size(c, size);
    poly_is_const(c->rows, &rows);
    poly_is_const(c->channels, &channels);
    const ConvWork w = tile && winograd_steps(c)
                           ? stepped_work(rows, channels, size, t->lanes)
                           : winograd_work(rows, channels, size, tile, winograd_side(c), t->lanes);
    const double share = tile ? t->transformed : t->direct;
    return fmax(w.products / t->products / share, w.bytes / t->bytes) + w.moves / t->moves;
}

// The same of a line: six numbers of each tile.
static ConvWork line_work(int64_t rows, int64_t channels, int64_t size, int64_t window,
                          double lanes)
{
    enum { MOVES_OF_X = 60, MOVES_OF_Y = 40 };
    const double k = cost_rounded_up((double)rows, TILE_ROWS), depth = (double)channels;
    const double tiles = ceil((double)size / (double)(MOST + 1 - window));
    const double all = ceil(tiles / lanes), products = MOST * k * depth;
    return (ConvWork){products * all, (depth * MOVES_OF_X + k * MOVES_OF_Y) * all, products * 4};
}

static double cost_of_line(const Conv *c, const Processor *t, bool tiles)
{
    int64_t size, rows, channels;
    if (!poly_is_const(c->out[c->rank - 1], &size))
        size = OPEN_LINE;
    poly_is_const(c->rows, &rows);
    poly_is_const(c->channels, &channels);
    const double k = cost_rounded_up((double)rows, TILE_ROWS),
                 direct = k * (double)(channels * c->line);
    const ConvWork w = tiles ? line_work(rows, channels, size, c->line, t->lanes)
                             : (ConvWork){direct * vectors(t->lanes, (double)size), 0, direct * 4};
    const double share = tiles ? t->transformed : t->direct;
    return fmax(w.products / t->products / share, w.bytes / t->bytes) + w.moves / t->moves;
}

// The same of the lines of a plane by a window of 5 x 5, eight numbers of each tile: blocks of
// `most` rows make what lies between two of them twice.
static ConvWork plane_work(int64_t rows, int64_t channels, const int64_t size[2], int64_t most,
                           double lanes)
{
    enum { MOVES_OF_X = 45, MOVES_OF_Y = 40 };
    const double k = cost_rounded_up((double)rows, TILE_ROWS), depth = (double)channels;
    const double across = ceil((double)size[1] / PLANE_TILE), down = (double)size[0];
    const double all = ceil(across * down / lanes), products = PLANE * k * depth * WINDOW;
    const double blocks = ceil(down / (double)most);
    const double of_x = ceil(across * (down + blocks * (WINDOW - 1)) / lanes);
    return (ConvWork){products * all, depth * MOVES_OF_X * of_x + k * MOVES_OF_Y * all,
                      products * 4};
}

// Rows of y whose tiles of x stay in the second cache; 0: too few.
static int64_t plane_rows(const Conv *c, const Processor *t)
{
    int64_t size[2] = {0}, channels;
    poly_is_const(c->channels, &channels);
    poly_is_const(c->out[0], &size[0]);
    poly_is_const(c->out[1], &size[1]);
    const int64_t across = (size[1] + PLANE_TILE - 1) / PLANE_TILE;
    const int64_t row = PLANE * channels * across * (int64_t)sizeof(float);
    const int64_t fit = (int64_t)t->second * 3 / 4 / row - (WINDOW - 1);
    return fit < WINDOW ? 0 : fit < size[0] ? fit : size[0];
}

static double cost_of_plane(const Conv *c, const Processor *t)
{
    int64_t size[2], rows, channels;
    poly_is_const(c->out[0], &size[0]);
    poly_is_const(c->out[1], &size[1]);
    poly_is_const(c->rows, &rows);
    poly_is_const(c->channels, &channels);
    const ConvWork w = plane_work(rows, channels, size, plane_rows(c, t), t->lanes);
    return fmax(w.products / t->products / t->transformed, w.bytes / t->bytes) + w.moves / t->moves;
}

static bool allows_sizes(const Conv *c)
{
    int64_t rows, channels;
    return !c->depthwise && c->m && c->c && poly_is_const(c->rows, &rows) &&
           poly_is_const(c->channels, &channels) && channels >= LEAST_CHANNELS &&
           rows >= LEAST_CHANNELS && rows <= ((int64_t)1 << 22) / channels;
}

// Tiles of 2 x 2 places.
static double stepped_tiles(const Conv *c)
{
    int64_t size[2];
    likely_size(c, size);
    return ceil((double)size[0] / 2) * ceil((double)size[1] / 2);
}

static bool allows(const Conv *c)
{
    int64_t taps;
    if (c->rank != 2 || !poly_equals(c->step[1], 1) || !allows_sizes(c))
        return false;
    for (int i = 0; i < 2; i++)
        if (!poly_is_const(c->taps[i], &taps) || (taps != 3 && taps != 5) ||
            taps != winograd_side(c) || c->stride[i] != c->stride[0] || c->dilation[i] != 1)
            return false;
    return c->stride[0] == 1 ||
           (c->stride[0] == 2 && winograd_side(c) == 3 && stepped_tiles(c) >= STEPPED_TILES);
}

// Places of a window in one line; 0: it is none, or of another size.
static int64_t window_of_line(const Conv *c)
{
    const uint32_t last = c->rank - 1;
    int64_t taps;
    if (!allows_sizes(c) || c->stride[last] != 1 || c->dilation[last] != 1 ||
        !poly_is_const(c->taps[last], &taps) || (taps != 3 && taps != 5))
        return 0;
    for (uint32_t i = 0; i < last; i++)
        if (!poly_equals(c->out[i], 1) || !poly_equals(c->taps[i], 1))
            return 0;
    return taps;
}

static void choose_line(Conv *c, const ConvChoice *how)
{
    const int64_t tile = MOST + 1 - c->line;
    int64_t channels, size;
    poly_is_const(c->channels, &channels);
    const bool known = poly_is_const(c->out[c->rank - 1], &size);
    const int64_t each = MOST * channels * (int64_t)sizeof(float);
    const int64_t fit = (int64_t)how->cpu->second * 3 / 4 / each;
    c->most = (fit / TILE_COLUMNS + 1) * TILE_COLUMNS;
    c->cost[0] = cost_of_line(c, how->cpu, false);
    c->cost[tile / 2] = cost_of_line(c, how->cpu, true);
    c->tile = how->tile || (known && c->cost[tile / 2] < c->cost[0]) ? tile : 0;
}

// Lines of a plane: of known sizes alone.
static bool allows_plane(const Conv *c, const Processor *t)
{
    int64_t size[2];
    return winograd_side(c) == WINDOW && poly_is_const(c->out[0], &size[0]) &&
           poly_is_const(c->out[1], &size[1]) && size[0] > 0 && size[1] > 0 &&
           size[1] <= PLANE_WIDE && plane_rows(c, t) > 0;
}

void winograd_choose(Conv *c, const ConvChoice *how)
{
    c->tile = 0;
    c->line = how->direct ? 0 : window_of_line(c);
    if (c->line)
        choose_line(c, how);
    if (how->direct || c->line || !allows(c))
        return;
    const Processor *t = how->cpu;
    const bool plane = allows_plane(c, t);
    const int forms = plane || (winograd_side(c) == 3 && !winograd_steps(c)) ? 3 : 2;
    for (int i = 0; i < forms; i++)
        c->cost[i] = i == 2 && plane ? cost_of_plane(c, t) : cost_of(c, t, 2 * i);
    for (int i = 1; i < forms; i++)
        if (c->cost[i] < (winograd_steps(c) ? WORTH : 1) * c->cost[c->tile / 2])
            c->tile = 2 * i;
    if (how->tile)
        c->tile = forms == 3 ? how->tile : 2;
    c->plane = plane && c->tile == PLANE_TILE;
    if (c->plane) {
        c->line = WINDOW;
        c->most = plane_rows(c, t);
    }
}

const char *winograd_form(const Conv *c, int64_t tile)
{
    if (tile == 0)
        return "direct";
    if (c->line && !c->plane)
        return tile == 2 ? "F(2,5)" : "F(4,3)";
    if (tile == 4 && winograd_side(c) == WINDOW)
        return "F(4,5)";
    return tile == 4 ? "F(4x4,3x3)" : winograd_side(c) == WINDOW ? "F(2x2,5x5)" : "F(2x2,3x3)";
}

double winograd_error(const Conv *c, int64_t channels)
{
    const double unit = 0x1p-24, terms = sqrt((double)channels);
    if (!c->tile)
        return unit * (terms + 2);
    if (c->plane)
        return unit * (1.2 * terms + 12);
    if (c->line)
        return unit * (0.6 * terms + 4);
    if (winograd_side(c) == WINDOW)
        return unit * (2 * terms + 12);
    return unit * (c->tile == 2 ? terms + 2 : 1.6 * terms + 9);
}

// ---- windows -----------------------------------------------------------------------------------

int64_t winograd_window(const Conv *c)
{
    return c->line ? c->line : winograd_side(c) * winograd_side(c);
}

int64_t winograd_places(const Conv *c)
{
    const int64_t side = c->tile + winograd_side(c) - 1;
    return winograd_steps(c) ? STEPPED : c->plane ? PLANE : c->line ? MOST : side * side;
}

// Tiles in a row of a plane.
static int64_t tiles_across(const Conv *c)
{
    int64_t size = 0;
    poly_is_const(c->out[1], &size);
    return (size + PLANE_TILE - 1) / PLANE_TILE;
}

// Elements of the tiles of a plane's block.
static int64_t plane_block(const Conv *c)
{
    int64_t channels;
    poly_is_const(c->channels, &channels);
    const int64_t tiles = (c->most + WINDOW - 1) * tiles_across(c);
    return PLANE * (channels * ((tiles + 15) / 16 * 16 + PLANE_SLACK) + PLANE_GAP);
}

// Does each thread make the tiles of blocks of its own? They leave it whole panels.
static bool plane_is_apart(const Conv *c)
{
    int64_t size = 0;
    poly_is_const(c->out[0], &size);
    return size * tiles_across(c) >= PANELS * TILE_COLUMNS;
}

int64_t winograd_sums(const Conv *c)
{
    return winograd_places(c) * WINOGRAD_ROWS * TILE_COLUMNS;
}

Index winograd_block(Polys *polys, const Conv *c)
{
    int64_t channels, size, most = c->most;
    poly_is_const(c->channels, &channels);
    if (c->plane)
        return plane_is_apart(c) ? NULL : poly_const(polys, plane_block(c));
    if (poly_is_const(c->out[c->rank - 1], &size) && size < most * c->tile)
        most = ((size + c->tile - 1) / c->tile + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS;
    return poly_const(polys, MOST * (channels * TILE_COLUMNS + GAP) * (most / TILE_COLUMNS));
}

// Tiles of a plane of known size, 0 otherwise.
static int64_t tiles_of(const Conv *c)
{
    int64_t size[2];
    if (!poly_is_const(c->out[0], &size[0]) || !poly_is_const(c->out[1], &size[1]))
        return 0;
    return ((size[1] + c->tile - 1) / c->tile) * ((size[0] + c->tile - 1) / c->tile);
}

static int64_t whole_vectors(int64_t tiles)
{
    return tiles < TILE_COLUMNS ? (tiles + 15) / 16 * 16 : TILE_COLUMNS;
}

Index winograd_made(Polys *polys, const Conv *c)
{
    enum { FEW_TILES = 64, LEAST_ROWS = 2 * WINOGRAD_ROWS };
    int64_t rows, channels, size = 0;
    const int64_t tiles = c->line ? 0 : tiles_of(c);
    if (tiles <= 0 || tiles > FEW_TILES || !poly_is_const(c->rows, &rows) || rows < LEAST_ROWS ||
        !poly_is_const(c->channels, &channels))
        return NULL;
    for (int64_t t = 0; t < tiles; t += TILE_COLUMNS)
        size += channels * whole_vectors(tiles - t) + GAP;
    return poly_const(polys, winograd_places(c) * size);
}

Index winograd_scratch(Polys *polys, const Conv *c)
{
    if (c->line)
        return poly_const(polys,
                          winograd_sums(c) + (c->plane && plane_is_apart(c) ? plane_block(c) : 0));
    int64_t channels;
    poly_is_const(c->channels, &channels);
    const int64_t tiles = tiles_of(c), width = tiles ? whole_vectors(tiles) : TILE_COLUMNS;
    const int64_t own = winograd_made(polys, c) ? WINOGRAD_ROWS : channels + WINOGRAD_ROWS;
    return poly_const(polys, winograd_places(c) * (own * width + 2 * GAP));
}

// Rows: what the window's three numbers give at each place.
static const double of_window[2][MOST][3] = {
    {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
    {{64.0 / 81, 0, 0},
     {-128.0 / 243, -32.0 / 81, -8.0 / 27},
     {-128.0 / 243, 32.0 / 81, -8.0 / 27},
     {32.0 / 243, 16.0 / 81, 8.0 / 27},
     {32.0 / 243, -16.0 / 81, 8.0 / 27},
     {0, 0, 1}},
};

// The same of five, at the points of tiles of 4 x 4.
static const double of_five[MOST][WINDOW] = {
    {64.0 / 81, 0, 0, 0, 0},
    {-128.0 / 243, -32.0 / 81, -8.0 / 27, -2.0 / 9, -1.0 / 6},
    {-128.0 / 243, 32.0 / 81, -8.0 / 27, 2.0 / 9, -1.0 / 6},
    {32.0 / 243, 16.0 / 81, 8.0 / 27, 4.0 / 9, 2.0 / 3},
    {32.0 / 243, -16.0 / 81, 8.0 / 27, -4.0 / 9, 2.0 / 3},
    {0, 0, 0, 0, 1},
};

// The same of five, at 0, +-1/2, +-1, +-2 and infinity.
static const double of_plane[PLANE][WINDOW] = {
    {1, 0, 0, 0, 0},
    {32.0 / 45, 16.0 / 45, 8.0 / 45, 4.0 / 45, 2.0 / 45},
    {32.0 / 45, -16.0 / 45, 8.0 / 45, -4.0 / 45, 2.0 / 45},
    {-2.0 / 9, -2.0 / 9, -2.0 / 9, -2.0 / 9, -2.0 / 9},
    {-2.0 / 9, 2.0 / 9, -2.0 / 9, 2.0 / 9, -2.0 / 9},
    {1.0 / 90, 1.0 / 45, 2.0 / 45, 4.0 / 45, 8.0 / 45},
    {1.0 / 90, -1.0 / 45, 2.0 / 45, -4.0 / 45, 8.0 / 45},
    {0, 0, 0, 0, 1},
};

// The same where windows move by two, and where each number [down][across] lies:
// cameo_two_order.
static const double of_steps[STEPS][3] = {{1, 0, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 0}, {0, 1, 0}};
static const unsigned char order[STEPPED] = {0,  4,  6, 1, 7, 10, 12, 13, 11, 14, 15, 19, 21,
                                             16, 22, 2, 5, 8, 3,  9,  17, 20, 23, 18, 24};

// What the numbers of a window of so many give at each of the n places that tiles have.
static const double *given(int64_t window, int64_t n)
{
    return n == PLANE         ? of_plane[0]
           : n == STEPS       ? of_steps[0]
           : window == WINDOW ? of_five[0]
                              : of_window[n == MOST][0];
}

static inline __attribute__((always_inline)) void transform_line(int64_t window, int64_t n,
                                                                 const float *from, double *to)
{
    const double *at = given(window, n);
    for (int64_t i = 0; i < n; i++, at += window) {
        to[i] = 0;
        for (int64_t j = 0; j < window; j++)
            to[i] += at[j] * from[j];
    }
}

// Down the window, whose rows' numbers are at each place of theirs already, and for each of these.
static inline __attribute__((always_inline)) void
transform_of(int64_t window, int64_t n, const float *from, double to[MOST * MOST])
{
    const double *at = given(window, n);
    double rows[WINDOW][MOST];
    for (int64_t r = 0; r < window; r++)
        transform_line(window, n, from + r * window, rows[r]);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t r = 0; r < window; r++)
                sum += at[i * window + r] * rows[r][j];
            to[i * n + j] = sum;
        }
}

// Sizes that compilers know are several times as quick.
static void transform(int64_t window, int64_t n, const float *from, double to[MOST * MOST])
{
    if (window == 3 && n == MOST)
        transform_of(3, MOST, from, to);
    else if (n == STEPS)
        transform_of(3, STEPS, from, to);
    else if (window == 3)
        transform_of(3, 4, from, to);
    else
        transform_of(window, n, from, to);
}

// For every WINOGRAD_ROWS rows one place after the other, in it panels of TILE_ROWS rows.
void winograd_pack(const Conv *c, int64_t groups, int64_t rows, int64_t channels, const float *from,
                   float *to)
{
    const int64_t places = winograd_places(c), padded = (rows + TILE_ROWS - 1) / TILE_ROWS;
    const int64_t window = winograd_window(c), side = winograd_side(c);
    const bool steps = winograd_steps(c);
    const int64_t group = places * padded * TILE_ROWS * channels;
    memset(to, 0, (size_t)(groups * group) * sizeof *to);
    for (int64_t g = 0; g < groups; g++, to += group)
        for (int64_t i = 0; i < rows; i += TILE_ROWS) {
            const int64_t begin = i / WINOGRAD_ROWS * WINOGRAD_ROWS;
            const int64_t left = padded * TILE_ROWS - begin;
            const int64_t height = left < WINOGRAD_ROWS ? left : WINOGRAD_ROWS;
            const int64_t used = rows - i < TILE_ROWS ? rows - i : TILE_ROWS;
            float *panel = to + (begin * places + i - begin) * channels;
            for (int64_t k = 0; k < channels; k++)
                for (int64_t r = 0; r < used; r++) {
                    const float *at = from + (r * channels + k) * window;
                    float *row = panel + k * TILE_ROWS + r;
                    double given_at[MOST * MOST];
                    if (c->line)
                        transform_line(c->line, places, at, given_at);
                    else
                        transform(side, steps ? STEPS : c->tile + side - 1, at, given_at);
                    for (int64_t p = 0; p < places; p++)
                        row[(steps ? order[p] : p) * height * channels] = (float)given_at[p];
                }
            from += used * channels * window;
        }
}
