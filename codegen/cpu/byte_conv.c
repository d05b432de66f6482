// Convolutions of bytes: packing when compiling, and calls.

#include "codegen/cpu/byte_squares.h"

#include "codegen/cpu/tiles.h"

#include <stdlib.h>

enum {
    PLANE = 8192,
    SUMS = 960,
    MOST_PLACES = 768,
    BLOCK = 131072,
    FEW = 4,
    SLACK = 128,
    REST = 4,
    SQUARE = 16,
    SQUARE_ROWS = 32
}; // as in the runtime

typedef struct LoopSearch {
    Module *mod;
    bool found;
} LoopSearch;

static void find_loop(void *context, const Expr *e)
{
    LoopSearch *s = context;
    for (uint32_t i = 0; e->kind == EX_LOAD && i < e->rank; i++)
        s->found |= poly_varies(e->at[i]);
    s->found |= e->kind == EX_INDEX || e->kind == EX_LOCAL || e->kind == EX_REDUCE;
}

bool byte_conv_fits(Printer *p, const Conv *c, const Bytes *b)
{
    int64_t middle = b->w.load->dtype == DT_U8 ? 128 : 0;
    LoopSearch s = {p->mod, false};
    if (b->x.zero)
        expr_walk(p->mod, b->x.zero, find_loop, &s);
    if (s.found || (c->depthwise && (c->rank > 2 || !poly_equals(c->step[c->rank - 1], 1))))
        return false;
    return b->w.zero ? bytes_all_are(p, b->w.zero, middle) : middle == 0;
}

// Columns of a block; cameo_byte_width.
static int64_t block_width(int64_t all)
{
    int64_t fit = BLOCK / all / TILE_COLUMNS * TILE_COLUMNS;
    return fit < TILE_COLUMNS ? TILE_COLUMNS : fit < MOST_PLACES ? fit : MOST_PLACES;
}

// Scratch of `size` words behind `sums` of them: one buffer, so that a thread may have its own.
static void add_buffer(Printer *p, const Conv *c, Bytes *b, Index sums, Index size)
{
    Polys *polys = p->mod->polys;
    b->sums = bytes_scratch(p->mod, DT_I32, poly_add(polys, sums, size));
    b->m0 = loop_new(polys, c->rows);
    b->n0 = loop_new(polys, conv_places(polys, c));
    b->behind = sums;
}

// As cameo_near_room has it.
static int64_t near_room(int64_t words)
{
    return (words + REST) * TILE_ROWS + words * TILE_ROWS * 4;
}

// Places are 64 bits.
static void add_scratch(Printer *p, Conv *c, Bytes *b, int64_t words, int64_t taps)
{
    Polys *polys = p->mod->polys;
    const ByteSquares *s = &b->squares;
    int64_t sums = TILE_ROWS * SUMS, panel, places = words;
    b->width = s->depth ? byte_squares_width(s) : block_width(words);
    const int64_t most = b->width * 5 / 4;
    if (!s->depth) {
        panel = words * (most + 2 * TILE_COLUMNS + FEW) + SLACK;
    } else {
        sums = SQUARE_ROWS * SUMS;
        panel = s->gathered ? s->depth * s->tiles * (most + SQUARE) + SQUARE * SQUARE : 0;
        places = s->tiles + taps;
    }
    b->places = panel + panel % 2;
    const int64_t near = s->depth ? 0 : 4 * REST + near_room(words);
    add_buffer(p, c, b, poly_const(polys, sums), poly_const(polys, b->places + 4 * places + near));
}

// Of a plane by its own window, as cameo_byte_planes_plan divides it: sums of some rows of y, words
// of what they see, and its bytes, each with a border; and what one row takes of all, if that is
// more.
static void add_plane_scratch(Printer *p, const Conv *c, Bytes *b, int64_t groups)
{
    Polys *polys = p->mod->polys;
    const uint32_t last = c->rank - 1;
    Index reach = poly_add_const(
        polys,
        poly_add(polys, poly_scale(polys, poly_add_const(polys, c->out[last], -1), c->stride[last]),
                 poly_scale(polys, poly_add_const(polys, c->taps[last], -1), c->dilation[last])),
        1 + c->stride[last]);
    Index least = poly_const(polys, 0), width = poly_max(polys, reach, least);
    int64_t seen = 1, taps; // rows of x for one of y
    if (last > 0 && poly_is_const(c->taps[last - 1], &taps))
        seen = c->stride[last - 1] + (taps - 1) * c->dilation[last - 1];
    Index size = poly_add_const(polys, poly_scale(polys, width, 1 + 2 * groups + (seen + 1) / 2),
                                PLANE + 16 * groups * c->stride[last] + 4 * SLACK);
    Index sums = poly_add_const(polys, poly_max(polys, c->out[last], least), PLANE + SLACK);
    add_buffer(p, c, b, sums, size);
}

// The sum for row m and place n, less what x's zero point adds to it.
static const Expr *sum_of(Printer *p, const Conv *c, const Bytes *b, bool scaled)
{
    Module *mod = p->mod;
    Polys *polys = mod->polys;
    Index flat = poly_const(polys, 0), row = poly_const(polys, 0), m = row;
    for (uint32_t i = 0; i < c->rank; i++)
        flat = poly_add(polys, poly_mul(polys, flat, c->out[i]), poly_loop(polys, c->n[i]));
    if (c->m) {
        m = poly_loop(polys, c->m);
        row = poly_sub(polys, m, poly_loop(polys, b->m0));
    }
    Index at = poly_add(polys, poly_scale(polys, row, SUMS),
                        poly_sub(polys, flat, poly_loop(polys, b->n0)));
    Index total = poly_add(polys, poly_mul(polys, c->group, c->rows), m);
    const Expr *less = expr_load(mod, b->totals, &total);
    if (!scaled)
        less = expr_binary(mod, B_MUL, bytes_zero(mod, b), less);
    return expr_binary(mod, B_SUB, expr_load(mod, b->sums, &at), less);
}

// Of a plane's window: for every four of its rows the words of its columns.
static void pack_window(const Bytes *b, const ByteWeights *w, const void *from, int64_t g,
                        int8_t *to, int32_t *totals)
{
    uint32_t sum = 0;
    int64_t columns = w->columns;
    for (int64_t t = 0; t < w->taps; t++) {
        int64_t row = t / columns, column = t % columns;
        int8_t e = bytes_weight(b, from, w->start + w->group_at[g] + w->k_at[t]);
        to[4 * (row / 4 * columns + column) + row % 4] = e;
        sum += (uint32_t)(int32_t)e;
    }
    *totals = (int32_t)sum;
}

// Bytes of a panel: for each group of four channels and tap the words of the rows.
static void pack_group(const Bytes *b, const ByteWeights *w, const void *from, int64_t g,
                       int8_t *to, int32_t *totals)
{
    int64_t groups = (w->channels + 3) / 4, words = groups * w->taps;
    for (int64_t i = 0; i < w->rows; i++) {
        uint32_t sum = 0;
        for (int64_t c = 0; c < w->channels; c++)
            for (int64_t t = 0; t < w->taps; t++) {
                int64_t k = c / 4 * w->taps + t;
                int8_t e = bytes_weight(
                    b, from, w->start + w->group_at[g] + i * w->row + w->k_at[c * w->taps + t]);
                to[4 * (i / TILE_ROWS * TILE_ROWS * words + k * TILE_ROWS + i % TILE_ROWS) +
                   c % 4] = e;
                sum += (uint32_t)(int32_t)e;
            }
        totals[i] = (int32_t)sum;
    }
}

// Bytes of one group's weights.
static int64_t block_of(const Conv *c, const Bytes *b, const ByteWeights *w)
{
    int64_t panels = (w->rows + TILE_ROWS - 1) / TILE_ROWS, window = w->taps / w->columns;
    return b->squares.depth ? byte_squares_block(&b->squares, w->rows)
           : c->depthwise   ? 4 * ((window + 3) / 4) * w->columns
                            : 4 * panels * TILE_ROWS * ((w->channels + 3) / 4) * w->taps;
}

bool byte_conv_pack(Printer *p, Conv *c, Bytes *b, const ByteWeights *w, const Processor *cpu,
                    Str *error)
{
    const Buffer *buf = buffer_at(p->mod, c->w->buffer);
    const void *from = tensor_elements(p->mod->model, (TensorData *)(uintptr_t)buf->data, error);
    if (!from)
        return false;
    b->squares = byte_squares_choose(c, w, cpu);
    c->block = block_of(c, b, w);
    int8_t *to = calloc((size_t)w->groups, (size_t)c->block);
    int32_t *totals = calloc((size_t)w->groups, (size_t)w->rows * sizeof *totals);
    bool made = to && totals;
    if (made) {
        const Expr *zero = bytes_zero(p->mod, b);
        bool known = zero->kind == EX_CONST;
        for (int64_t g = 0; g < w->groups; g++)
            (b->squares.depth ? byte_squares_pack
             : c->depthwise   ? pack_window
                              : pack_group)(b, w, from, g, to + g * c->block, totals + g * w->rows);
        for (int64_t i = 0; known && i < w->groups * w->rows; i++)
            totals[i] = (int32_t)((uint32_t)totals[i] * (uint32_t)zero->value.i);
        c->packed = b->packed = bytes_buffer(p->mod, DT_I8, w->groups * c->block, to);
        b->totals = bytes_buffer(p->mod, DT_I32, w->groups * w->rows, totals);
        if (c->depthwise)
            add_plane_scratch(p, c, b, (w->taps / w->columns + 3) / 4);
        else
            add_scratch(p, c, b, (w->channels + 3) / 4 * w->taps, w->taps);
        b->value = sum_of(p, c, b, known);
    } else {
        *error = STR("no memory for packed weights");
    }
    free(to);
    free(totals);
    return made;
}

int64_t byte_conv_planes(const Bytes *b, const ByteWeights *w)
{
    return b->squares.depth ? byte_squares_planes(&b->squares, w->channels, w->taps)
                            : (w->channels + 3) / 4;
}

// ---- printing ----------------------------------------------------------------------------------

static const char *zero_of(Printer *p, const Bytes *b)
{
    if (!b->x.zero || b->x.zero->kind == EX_CONST)
        return print_size(p, b->x.zero ? b->x.zero->value.i : 0);
    return print_expr(p, b->x.zero);
}

void byte_conv_print_planes(Printer *p)
{
    print_line(p, "cameo_byte_planes planes;");
    print_line(p, "cameo_byte_planes_plan(&sizes, &planes);");
}

void byte_conv_print_plan(Printer *p, const Bytes *b)
{
    print_line(p, "image.width = %s;", print_size(p, b->width));
    print_line(p, "image.ends = 0;");
    print_line(p, "image.joined = 0;");
    if (b->squares.depth)
        print_line(p, "const cameo_squares squares = {%s, %s, %d};",
                   print_size(p, b->squares.depth), print_size(p, b->squares.tiles),
                   b->squares.gathered);
}

void byte_conv_print_copy(Printer *p, const Conv *c, const char *x, const char *from,
                          const char *to)
{
    const Bytes *b = c->bytes;
    print_line(p, "cameo_byte_copy(&sizes, %s, %s, %s, (int)%s, %s, (void *)%s, %s, %s);",
               print_index_bare(p, b->channels), print_index_bare(p, c->channel), x, zero_of(p, b),
               b->flip ? "0x80" : "0", bytes_name(p, c->padded), from, to);
}

const char *byte_conv_units(Printer *p, const Conv *c, const char *places)
{
    return str_printf(p->arena, "cameo_byte_units(%s, %s, %s)", print_index_bare(p, c->rows),
                      places, print_size(p, c->bytes->width))
        .at;
}

void byte_conv_print_share(Printer *p, const Conv *c, const char *places)
{
    const Bytes *b = c->bytes;
    const char *w = bytes_name(p, b->packed), *sums = bytes_name(p, b->sums);
    const char *panel = str_printf(p->arena, "%s + %s", sums, print_index(p, b->behind)).at;
    const char *name = b->squares.depth ? "squares" : "byte";
    Index group = poly_scale(p->mod->polys, c->group, c->block);
    print_line(p, "image.x = (const void *)%s;", bytes_name(p, c->padded));
    print_line(p, "int64_t *places = (void *)(%s + %s);", panel, print_size(p, b->places));
    if (!b->squares.depth)
        print_line(p, "cameo_byte_places(&image, places);");
    print_line(p, "for (int64_t n0 = cut.begin, n1; n0 < cut.end; n0 = n1) {");
    p->indent++;
    print_line(p, "n1 = cameo_conv_end(n0, %s, image.width);", places);
    print_line(p, "cameo_%s_block block;", b->squares.depth ? "square" : "byte");
    print_line(p, "cameo_%s_start(&image, %sn0, n1, places, %s, &block);", name,
               b->squares.depth ? "&squares, " : "", panel);
    print_line(p, "for (int64_t m0 = cut.low, m1; m0 < cut.high; m0 = m1) {");
    p->indent++;
    print_line(p, "m1 = cameo_%s_rows(&block, cut.high, %s + %s, m0, %s);", name, w,
               print_index(p, group), sums);
}

void byte_conv_print_plane(Printer *p, const Conv *c, const char *x, const char *places)
{
    const Bytes *b = c->bytes;
    Index group = poly_scale(p->mod->polys, c->group, c->block);
    const char *sums = bytes_name(p, b->sums), *w = bytes_name(p, b->packed);
    print_line(p, "for (int64_t n0 = 0, n1; n0 < %s; n0 = n1) {", places);
    p->indent++;
    print_line(
        p,
        "n1 = cameo_byte_plane(&sizes, &planes, %s, (int)%s, %s, %s + %s, (void *)(%s + %s), "
        "n0, %s);",
        x, zero_of(p, b), b->flip ? "0x80" : "0", w, print_index(p, group), sums,
        print_index(p, b->behind), sums);
    print_line(p, "{");
    p->indent++;
    print_line(p, "const int64_t m0 = 0;");
}
