// Seven products for eight: when, and the tile that makes them.
//
// Costs are cycles, as those of Winograd's tiles. Beside the products there are the sums of x, once
// for a block's columns; those of weights, for every block; and those of tiles, of which seven end
// where else four would. Each is counted with its loads and stores.

#include "codegen/cpu/strassen.h"
#include "codegen/cpu/tile_strips.h"

#include <math.h>

enum {
    DEPTH = 256,      // values of k in a block; as in the runtime
    WIDE = 768,       // columns of a block, at most
    SEVENS = 524288,  // bytes of pairs of panels, at most
    GAP = 16,         // elements between panels
    PANELS = 7,       // of a pair
    LEAST_LANES = 8,  // there are strips
    LEAST_DEPTH = 32, // values of k: a tile's loop is not short
    SLACK = 64,
    LINE = 16 // numbers that come from memory together
};

// Operations on vectors for one of x in a quarter, of weights in a quarter, of a tile's end.
enum { MOVES_OF_X = 24, MOVES_OF_W = 12, MOVES_OF_END = 4 };

static const double WORTH = 0.94; // below direct products

// Columns of a block, as the runtime has them.
static double width_of(double kept, double k)
{
    const double bytes = fmin(kept, SEVENS), pair = 2 * TILE_COLUMNS;
    const double fit = floor(bytes / (PANELS * fmin(k, DEPTH)) / pair) * pair;
    return fmin(fmax(fit, pair), WIDE);
}

static double cost_of(const Processor *t, double rows, double k, double places, bool sevens)
{
    const double lanes = t->lanes, all = ceil(places / lanes) * rows * k;
    const double products = t->products * t->direct;
    if (!sevens)
        return fmax(all / products, rows * k * 4 / t->bytes);
    const double kept = t->kept > 0 ? t->kept : 3 * t->second / 8;
    const double pair = 2 * TILE_COLUMNS, paired = floor(places / pair) * pair;
    const double part = paired / places, blocks = ceil(paired / width_of(kept, k));
    const double of_x = k / 2 * paired / 2 / lanes * MOVES_OF_X;
    const double of_w = k / 2 * rows / 2 / lanes * blocks * MOVES_OF_W;
    const double ends = ceil(k / DEPTH) * rows / 2 * paired / 2 / lanes * 3 * MOVES_OF_END;
    return fmax(all * (1 - part / 8) / products, rows * k * 4 / t->bytes) +
           (of_x + of_w + ends) / t->moves;
}

// All sizes are known; blocks of rows are whole, and each block of values of k has halves of
// whole vectors of weights.
static bool allows(const Conv *c, int64_t rows, int64_t k, int64_t *places)
{
    int64_t size;
    *places = 1;
    for (uint32_t i = 0; i < c->rank; i++) {
        if (!poly_is_const(c->out[i], &size) || size < 1 || size > INT32_MAX / *places)
            return false;
        *places *= size;
    }
    return !c->depthwise && c->m && c->c && rows % (2 * TILE_ROWS) == 0 && k % 4 == 0 &&
           k >= 2 * LEAST_DEPTH && *places >= 2 * TILE_COLUMNS;
}

void strassen_choose(Conv *c, const ConvChoice *how, int64_t rows, int64_t k)
{
    const Processor *t = how->cpu;
    int64_t places;
    if (how->direct || c->tile || c->split || t->lanes < LEAST_LANES ||
        !allows(c, rows, k, &places))
        return;
    const double n = (double)places;
    c->cost[0] = cost_of(t, (double)rows, (double)k, n, false);
    c->cost[4] = cost_of(t, (double)rows, (double)k, n, true);
    c->sevens = c->cost[4] < WORTH * c->cost[0];
}

int64_t strassen_panel(int64_t k)
{
    const int64_t depth = k < DEPTH ? k : DEPTH, pair = 2 * TILE_COLUMNS;
    const int64_t columns = (int64_t)width_of(SEVENS, (double)k) * 5 / 4;
    const int64_t pairs = columns / (pair / 2) + 1; // of the least that a target has
    return PANELS * (depth * columns / 4 + GAP * pairs) + 4 * (TILE_ROWS * DEPTH / 2 + GAP) +
           DEPTH * (pair + TILE_COLUMNS) + SLACK;
}

double strassen_error(int64_t k)
{
    return 0x1p-24 * (1.2 * sqrt((double)k) + 6);
}

// ---- the tile ----------------------------------------------------------------------------------

// Vector v of row i of a kept tile, and of c.
#define KEPT "((%scameo_vec *)(%s + (r + %d) * %d))[%d]"
#define PLACE "((cameo_vec *)(%s + %d * ldc))[%d]"

static void print_kept(Buf *out, const TileTarget *t)
{
    const int side = t->vectors * t->lanes;
    buf_printf(out, "            if (s->keep) {\n"
                    "                const float *base = s->base;\n"
                    "                float *keep = s->keep;\n");
    for (int i = 0; i < t->rows; i++)
        for (int v = 0; v < t->vectors; v++)
            buf_printf(out, "                " KEPT " = c%d%d + " KEPT ";\n", "", "keep", i, side,
                       v, i, v, "const ", "base", i, side, v);
    buf_printf(out, "            }\n            if (!s->c)\n                continue;\n");
}

// What is added to the sums, and what is done to them as they are stored.
static void print_finished(Buf *out, const TileTarget *t)
{
    const int side = t->vectors * t->lanes;
    buf_printf(out, "            const float *from = s->from, *bias = s->bias + r;\n"
                    "            const float *added = s->added;\n"
                    "            float *c = s->c + r * ldc;\n");
    for (int i = 0; i < t->rows; i++)
        for (int v = 0; v < t->vectors; v++)
            buf_printf(out, "            c%d%d += " KEPT ";\n", i, v, "const ", "from", i, side, v);
    buf_printf(out, "            if (more) {\n");
    for (int i = 0; i < t->rows; i++)
        for (int v = 0; v < t->vectors; v++)
            buf_printf(out, "                c%d%d += " PLACE ";\n", i, v, "c", i, v);
    buf_printf(out, "            }\n"
                    "            const cameo_vec low = bounds[0], high = bounds[1];\n"
                    "            if (added) {\n                added += r * ldc;\n");
    for (int i = 0; i < t->rows; i++)
        for (int v = 0; v < t->vectors; v++)
            buf_printf(out,
                       "                " PLACE " = cameo_clip((c%d%d + bias[%d]) + " PLACE
                       ", low, high);\n",
                       "c", i, v, i, v, i, "added", i, v);
    buf_printf(out, "            } else {\n");
    for (int i = 0; i < t->rows; i++)
        for (int v = 0; v < t->vectors; v++)
            buf_printf(out,
                       "                " PLACE " = cameo_clip(c%d%d + bias[%d], low, high);\n",
                       "c", i, v, i, v, i);
    buf_printf(out, "            }\n");
}

// What is added to a tile, which no processor asks for by itself: its rows are apart.
static void print_asks(Buf *out, const TileTarget *t)
{
    const int side = t->vectors * t->lanes;
    buf_printf(out,
               "            for (int64_t i = r; s->added && i < r + %d; i++)\n"
               "                for (int64_t j = 0; j < %d; j += %d)\n"
               "                    __builtin_prefetch(s->added + i * ldc + j);\n"
               "            for (int64_t i = r; s->c && i < r + %d; i++)\n"
               "                for (int64_t j = 0; j < %d; j += %d)\n"
               "                    __builtin_prefetch(s->c + i * ldc + j, 1);\n",
               t->rows, side, LINE, t->rows, side, LINE);
}

void strassen_print_tile(Buf *out, const TileTarget *t)
{
    buf_printf(
        out,
        "/* One product of seven: a panel of rows times a panel of columns, `step` numbers from "
        "one\n"
        " * value of k to the next. keep: a tile, base + sums. c: from, a tile, + sums, finished "
        "as\n"
        " * a tile's. */\n"
        "typedef struct cameo_seventh {\n"
        "    const float *a, *b;\n    int64_t step;\n    const float *base;\n    float *keep;\n"
        "    const float *from;\n    float *c;\n    const float *bias, *added;\n"
        "} cameo_seventh;\n\n"
        "static __attribute__((noinline, unused)) void cameo_strassen_%d_%d(\n"
        "    int64_t depth, const cameo_seventh *s, const float *ask, int64_t ldc, int more,\n"
        "    const cameo_finish *finish)\n{\n"
        "    const cameo_vec zero = {0};\n"
        "    const float infinity = __builtin_inff();\n"
        "    const cameo_vec bounds[2] = {zero + (finish ? finish->low : -infinity),\n"
        "                                 zero + (finish ? finish->high : infinity)};\n"
        "    int64_t along = ask ? %d : 0, asks = 2;\n"
        "    ask = ask ? ask : s->a;\n"
        "    for (const cameo_seventh *const end = s + 7; s < end; s++) {\n"
        "        const float *b = s->b;\n        const int64_t step = s->step;\n"
        "        for (int64_t r = 0; r < CAMEO_TILE_ROWS; r += %d) {\n"
        "            const float *rows = s->a + r;\n",
        t->rows, t->vectors, 2 * TILE_ROWS, t->rows);
    print_asks(out, t);
    tile_strip_print_sums(
        out, t, "            __builtin_prefetch(ask, 0, 2);\n            ask += along;\n");
    buf_printf(out, "            along = --asks > 0 ? along : 0;\n");
    print_kept(out, t);
    print_finished(out, t);
    buf_printf(out,
               "        }\n    }\n}\n\n"
               "#define CAMEO_STRASSEN cameo_strassen_%d_%d\n",
               t->rows, t->vectors);
}
