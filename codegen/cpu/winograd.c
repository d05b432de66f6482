// Convolutions in fewer products: when, and the windows as the products read them.
//
// Costs are cycles. A product of matrices takes a multiply-and-add for each vector of tiles, row
// and channel, or as long as its weights take from memory, which they leave between two runs of a
// large network; the sums before and after take vector operations of which `moves` go at a time.

#include "codegen/cpu/winograd.h"

#include "codegen/cpu/tiles.h"

#include <math.h>
#include <string.h>

enum { OPEN = 28, GAP = 16, MOST = 6, LEAST_CHANNELS = 8 };

// ---- cost --------------------------------------------------------------------------------------

static double up(double n, double step)
{
    return ceil(n / step) * step;
}

// Vectors that n neighbours fill; a few at the end have lanes over rows, half as many at a time.
static double vectors(double lanes, double n)
{
    double rest = fmod(n, lanes), full = (n - rest) / lanes;
    return full + (rest <= 0 ? 0 : fmin(rest * TILE_ROWS / lanes, 1));
}

// Operations on vectors for one of tiles: of x (down its columns, along its rows), of the sums.
static double moves_of_x(int64_t tile)
{
    return tile == 2 ? 90 : 340;
}

static double moves_of_y(int64_t tile)
{
    return tile == 2 ? 60 : 230;
}

ConvWork winograd_work(int64_t rows, int64_t channels, const int64_t size[2], int64_t tile,
                       double lanes)
{
    const double k = up((double)rows, TILE_ROWS), depth = (double)channels;
    if (!tile)
        return (ConvWork){k * depth * 9 * vectors(lanes, (double)size[0] * (double)size[1]), 0,
                          k * depth * 36};
    const double places = (double)((tile + 2) * (tile + 2));
    const double across = ceil((double)size[1] / (double)tile);
    const double down = ceil((double)size[0] / (double)tile), all = across * down;
    return (ConvWork){places * k * depth * vectors(lanes, all),
                      depth * down * ceil(across / lanes) * moves_of_x(tile) +
                          k * ceil(all / lanes) * moves_of_y(tile),
                      places * k * depth * 4};
}

static double cost_of(const Conv *c, const Processor *t, int64_t tile)
{
    int64_t size[2], rows, channels;
    for (int i = 0; i < 2; i++)
        if (!poly_is_const(c->out[i], &size[i]))
            size[i] = OPEN;
    poly_is_const(c->rows, &rows);
    poly_is_const(c->channels, &channels);
    const ConvWork w = winograd_work(rows, channels, size, tile, t->lanes);
    const double share = tile ? t->transformed : t->direct;
    return fmax(w.products / t->products / share, w.bytes / t->bytes) + w.moves / t->moves;
}

static bool allows(const Conv *c)
{
    int64_t rows, channels, taps;
    if (c->rank != 2 || c->depthwise || !c->m || !c->c || !poly_equals(c->step[1], 1) ||
        !poly_is_const(c->rows, &rows) || !poly_is_const(c->channels, &channels) ||
        channels < LEAST_CHANNELS || rows < LEAST_CHANNELS || rows > ((int64_t)1 << 22) / channels)
        return false;
    for (int i = 0; i < 2; i++)
        if (!poly_is_const(c->taps[i], &taps) || taps != 3 || c->stride[i] != 1 ||
            c->dilation[i] != 1)
            return false;
    return true;
}

void winograd_choose(Conv *c, const ConvChoice *how)
{
    c->tile = 0;
    if (how->direct || !allows(c))
        return;
    const Processor *t = how->cpu;
    for (int i = 0; i < 3; i++)
        c->cost[i] = cost_of(c, t, 2 * i);
    for (int i = 1; i < 3; i++)
        if (c->cost[i] < c->cost[c->tile / 2])
            c->tile = 2 * i;
    c->tile = how->tile ? how->tile : c->tile;
}

const char *winograd_form(int64_t tile)
{
    return tile == 0 ? "direct" : tile == 2 ? "F(2x2,3x3)" : "F(4x4,3x3)";
}

double winograd_error(int64_t tile, int64_t channels)
{
    const double unit = 0x1p-24, terms = sqrt((double)channels);
    return unit * (tile == 0 ? terms + 2 : tile == 2 ? terms + 2 : 1.6 * terms + 9);
}

// ---- windows -----------------------------------------------------------------------------------

Index winograd_scratch(Polys *polys, const Conv *c)
{
    int64_t channels, size[2], width = TILE_COLUMNS;
    poly_is_const(c->channels, &channels);
    if (poly_is_const(c->out[0], &size[0]) && poly_is_const(c->out[1], &size[1])) {
        int64_t across = (size[1] + c->tile - 1) / c->tile;
        int64_t all = across * ((size[0] + c->tile - 1) / c->tile);
        width = all < TILE_COLUMNS ? (all + 15) / 16 * 16 : TILE_COLUMNS;
    }
    int64_t place = (channels + WINOGRAD_ROWS) * width + 2 * GAP;
    return poly_const(polys, (c->tile + 2) * (c->tile + 2) * place);
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

static void transform(int64_t tile, const float *from, double to[MOST * MOST])
{
    const double(*by)[3] = of_window[tile == 4];
    const int64_t n = tile + 2;
    double half[MOST][3];
    for (int64_t i = 0; i < n; i++)
        for (int s = 0; s < 3; s++)
            half[i][s] = by[i][0] * from[s] + by[i][1] * from[3 + s] + by[i][2] * from[6 + s];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            to[i * n + j] = by[j][0] * half[i][0] + by[j][1] * half[i][1] + by[j][2] * half[i][2];
}

// For every WINOGRAD_ROWS rows one place after the other, in it panels of TILE_ROWS rows.
void winograd_pack(int64_t tile, int64_t groups, int64_t rows, int64_t channels, const float *from,
                   float *to)
{
    const int64_t places = (tile + 2) * (tile + 2), padded = (rows + TILE_ROWS - 1) / TILE_ROWS;
    const int64_t group = places * padded * TILE_ROWS * channels;
    memset(to, 0, (size_t)(groups * group) * sizeof *to);
    for (int64_t g = 0; g < groups; g++, to += group)
        for (int64_t i = 0; i < rows; i++) {
            const int64_t begin = i / WINOGRAD_ROWS * WINOGRAD_ROWS,
                          left = padded * TILE_ROWS - begin;
            const int64_t height = left < WINOGRAD_ROWS ? left : WINOGRAD_ROWS, within = i - begin;
            float *row = to + begin * places * channels +
                         within / TILE_ROWS * TILE_ROWS * channels + within % TILE_ROWS;
            for (int64_t c = 0; c < channels; c++, from += 9) {
                double at[MOST * MOST];
                transform(tile, from, at);
                for (int64_t p = 0; p < places; p++)
                    row[p * height * channels + c * TILE_ROWS] = (float)at[p];
            }
        }
}
