// Convolutions of bytes: packing when compiling, and calls.

#include "codegen/cpu/byte_squares.h"
#include "codegen/cpu/conv_dims.h"

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
    LoopSearch s = {p->mod, false};
    if (b->x.zero)
        expr_walk(p->mod, b->x.zero, find_loop, &s);
    return !s.found && (!c->depthwise || (c->rank <= 2 && poly_equals(c->step[c->rank - 1], 1)));
}

static int64_t middle_of(const Bytes *b)
{
    return b->w.load->dtype == DT_U8 ? 128 : 0;
}

bool byte_conv_centred(Printer *p, const Bytes *b)
{
    return b->w.zero ? bytes_all_are(p, b->w.zero, middle_of(b)) : middle_of(b) == 0;
}

// The row of y in all groups.
static Index row_of_all(Printer *p, const Conv *c)
{
    Index m = poly_mul(p->mod->polys, c->group, c->rows);
    return c->m ? poly_add(p->mod->polys, m, poly_loop(p->mod->polys, c->m)) : m;
}

bool byte_conv_zeros(Printer *p, const Conv *c, const Bytes *b, int64_t n, int64_t *zeros)
{
    int64_t one = 0;
    const bool single = !b->w.zero || bytes_constant(p, b->w.zero, 0, 1, &one);
    if (!single)
        return bytes_listed(p, b->w.zero, row_of_all(p, c), n, zeros);
    for (int64_t i = 0; i < n; i++)
        zeros[i] = one;
    return true;
}

bool byte_conv_signed_zeros(Printer *p, const Conv *c, const Bytes *b, int64_t n, int64_t *zeros)
{
    if (!byte_conv_zeros(p, c, b, n, zeros))
        return false;
    for (int64_t i = 0; i < n; i++)
        zeros[i] -= middle_of(b);
    return true;
}

// Columns of a block; cameo_byte_width.
static int64_t block_width(int64_t all)
{
    int64_t fit = BLOCK / all / TILE_COLUMNS * TILE_COLUMNS;
    return fit < TILE_COLUMNS ? TILE_COLUMNS : fit < MOST_PLACES ? fit : MOST_PLACES;
}

// Scratch of `size` words behind `sums` of them, and `more` of x: one buffer, so that a thread may
// have its own.
static void add_buffer(Printer *p, const Conv *c, Bytes *b, Index sums, Index more, Index size)
{
    Polys *polys = p->mod->polys;
    if (b->ones) {
        b->beside = sums;
        sums = poly_add(polys, sums, more);
    }
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
    const int64_t ones = (s->depth ? SQUARE : 1) * SUMS; // a tile of squares writes all its rows
    add_buffer(p, c, b, poly_const(polys, sums), poly_const(polys, ones),
               poly_const(polys, b->places + 4 * places + near));
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
    add_buffer(p, c, b, sums, sums, size);
}

// What w's zero point is in the row, less what makes w signed.
static const Expr *zero_of_row(Printer *p, const Bytes *b)
{
    int64_t one = 0;
    Module *mod = p->mod;
    if (!b->w.zero || bytes_constant(p, b->w.zero, 0, 1, &one))
        return expr_const(mod, DT_I32, (Scalar){.i = one - middle_of(b)});
    const Expr *middle = expr_const(mod, DT_I32, (Scalar){.i = middle_of(b)});
    return expr_binary(mod, B_SUB, b->w.zero, middle);
}

// The sum for row m and place n, less what zero points add to it.
static const Expr *sum_of(Printer *p, const Conv *c, const Bytes *b, bool scaled)
{
    Module *mod = p->mod;
    Polys *polys = mod->polys;
    Index flat = conv_flat_place(polys, c), row = poly_const(polys, 0);
    if (c->m)
        row = poly_sub(polys, poly_loop(polys, c->m), poly_loop(polys, b->m0));
    flat = poly_sub(polys, flat, poly_loop(polys, b->n0));
    Index at = poly_add(polys, poly_scale(polys, row, SUMS), flat);
    Index total = row_of_all(p, c);
    const Expr *less = expr_load(mod, b->totals, &total);
    if (!scaled)
        less = expr_binary(mod, B_MUL, bytes_zero(mod, b), less);
    const Expr *e = expr_binary(mod, B_SUB, expr_load(mod, b->sums, &at), less);
    if (!b->beside)
        return e;
    Index beside = poly_add(polys, b->beside, flat);
    const Expr *sum = expr_load(mod, b->sums, &beside);
    return expr_binary(mod, B_SUB, e, expr_binary(mod, B_MUL, zero_of_row(p, b), sum));
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

// Bytes of `rows` rows of weights.
static int64_t block_of(const Conv *c, const Bytes *b, const ByteWeights *w, int64_t rows)
{
    int64_t panels = (rows + TILE_ROWS - 1) / TILE_ROWS, window = w->taps / w->columns;
    return b->squares.depth ? byte_squares_block(&b->squares, rows)
           : c->depthwise   ? 4 * ((window + 3) / 4) * w->columns
                            : 4 * panels * TILE_ROWS * ((w->channels + 3) / 4) * w->taps;
}

typedef void Pack(const Bytes *b, const ByteWeights *w, const void *from, int64_t g, int8_t *to,
                  int32_t *totals);

// A row of weights that are all 1: what it is multiplied by it sums up.
static bool pack_ones(Pack *pack, const Bytes *b, const ByteWeights *w, int8_t *to)
{
    const uint8_t one = (uint8_t)(1 + middle_of(b));
    int64_t *places = calloc((size_t)(w->channels * w->taps), sizeof *places), first = 0;
    ByteWeights ones = *w;
    int32_t total;
    ones.rows = 1;
    ones.start = 0;
    ones.group_at = &first;
    ones.k_at = places;
    if (places)
        pack(b, &ones, &one, 0, to, &total);
    free(places);
    return places != NULL;
}

// Weights of all groups, behind them the row of ones where there is one, and what w less its zero
// points sums up to in each row.
static bool pack_all(Printer *p, const Conv *c, Bytes *b, const ByteWeights *w, const void *from,
                     const int64_t *zeros)
{
    Pack *const pack = b->squares.depth ? byte_squares_pack
                       : c->depthwise   ? pack_window
                                        : pack_group;
    const int64_t rows = w->groups * w->rows, size = w->groups * c->block;
    const int64_t all = size + (b->ones ? block_of(c, b, w, 1) : 0);
    int8_t *to = calloc((size_t)all, 1);
    int32_t *totals = calloc((size_t)rows, sizeof *totals);
    const bool made = to && totals && (!b->ones || pack_ones(pack, b, w, to + size));
    if (made) {
        const Expr *zero = bytes_zero(p->mod, b);
        const uint32_t k = (uint32_t)(w->channels * w->taps);
        const uint32_t known = zero->kind == EX_CONST ? (uint32_t)zero->value.i : 1;
        for (int64_t g = 0; g < w->groups; g++)
            pack(b, w, from, g, to + g * c->block, totals + g * w->rows);
        for (int64_t i = 0; i < rows; i++)
            totals[i] = (int32_t)(((uint32_t)totals[i] - k * (uint32_t)zeros[i]) * known);
        b->packed = bytes_buffer(p->mod, DT_I8, all, to);
        b->totals = bytes_buffer(p->mod, DT_I32, rows, totals);
    }
    free(to);
    free(totals);
    return made;
}

bool byte_conv_pack(Printer *p, Conv *c, Bytes *b, const ByteWeights *w, const Processor *cpu,
                    bool *found, Str *error)
{
    const Buffer *buf = buffer_at(p->mod, c->w->buffer);
    const void *from = tensor_elements(p->mod->model, (TensorData *)(uintptr_t)buf->data, error);
    const int64_t rows = w->groups * w->rows;
    int64_t *zeros = from ? calloc((size_t)rows, sizeof *zeros) : NULL;
    bool made = zeros != NULL;
    const bool known = made && byte_conv_signed_zeros(p, c, b, rows, zeros);
    if (known) {
        for (int64_t i = 0; i < rows; i++)
            b->ones |= zeros[i] != 0;
        b->squares = byte_squares_choose(c, w, cpu);
        c->block = block_of(c, b, w, w->rows);
        b->ones *= w->groups * c->block;
        made = pack_all(p, c, b, w, from, zeros);
    }
    free(zeros);
    if (from && !made)
        arena_run_out();
    *found = made && known;
    if (!*found)
        return made;
    c->packed = b->packed;
    if (c->depthwise)
        add_plane_scratch(p, c, b, (w->taps / w->columns + 3) / 4);
    else
        add_scratch(p, c, b, (w->channels + 3) / 4 * w->taps, w->taps);
    b->value = sum_of(p, c, b, bytes_zero(p->mod, b)->kind == EX_CONST);
    return true;
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
    print_line(p, "cameo_byte_copy(&sizes, %s, %s, %s, (int)%s, %s, (void *)%s, %s, %s, %d);",
               print_index_bare(p, b->channels), print_index_bare(p, c->channel), x, zero_of(p, b),
               b->flip ? "0x80" : "0", bytes_name(p, c->padded), from, to, b->squares.depth == 0);
}

const char *byte_conv_units(Printer *p, const Conv *c, const char *places)
{
    return str_printf(p->arena, "cameo_byte_units(%s, %s, %s)", print_index_bare(p, c->rows),
                      places, print_size(p, c->bytes->width))
        .at;
}

static const char *ones_of(Printer *p, const Conv *c)
{
    const Bytes *b = c->bytes;
    return str_printf(p->arena, "%s + %s", bytes_name(p, b->packed), print_size(p, b->ones)).at;
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
    if (b->ones)
        print_line(p, "cameo_%s_rows(&block, 1, %s, 0, %s + %s);", name, ones_of(p, c), sums,
                   print_index(p, b->beside));
    print_line(p, "for (int64_t m0 = cut.low, m1; m0 < cut.high; m0 = m1) {");
    p->indent++;
    print_line(p, "m1 = cameo_%s_rows(&block, cut.high, %s + %s, m0, %s);", name, w,
               print_index(p, group), sums);
}

// Sums of rows of the plane from place n0 on.
static void print_plane(Printer *p, const Conv *c, const char *x, const char *w, const char *to)
{
    const Bytes *b = c->bytes;
    print_line(
        p,
        "n1 = cameo_byte_plane(&sizes, &planes, %s, (int)%s, %s, %s, (void *)(%s + %s), n0, "
        "%s);",
        x, zero_of(p, b), b->flip ? "0x80" : "0", w, bytes_name(p, b->sums),
        print_index(p, b->behind), to);
}

void byte_conv_print_plane(Printer *p, const Conv *c, const char *x, const char *places)
{
    const Bytes *b = c->bytes;
    Index group = poly_scale(p->mod->polys, c->group, c->block);
    const char *sums = bytes_name(p, b->sums), *w = bytes_name(p, b->packed);
    print_line(p, "for (int64_t n0 = 0, n1; n0 < %s; n0 = n1) {", places);
    p->indent++;
    print_plane(p, c, x, str_printf(p->arena, "%s + %s", w, print_index(p, group)).at, sums);
    if (b->ones)
        print_plane(p, c, x, ones_of(p, c),
                    str_printf(p->arena, "%s + %s", sums, print_index(p, b->beside)).at);
    print_line(p, "{");
    p->indent++;
    print_line(p, "const int64_t m0 = 0;");
}
