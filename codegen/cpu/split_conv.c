// Convolutions by terms of bfloat16: when, how weights lie, and what is printed.
//
// Costs are cycles, beside those of winograd.c. What is taken apart first is beside nothing; the
// other factor is taken apart beside products.

#include "codegen/cpu/split_conv.h"

#include "codegen/cpu/tiles.h"
#include "codegen/cpu/winograd.h"
#include "codegen/parts.h"

#include <math.h>

enum {
    SIDE = 32,                      // rows and columns of y, values of k: CAMEO_SPLIT_SIDE
    HEIGHT = 16,                    // rows of a tile
    LONG = 768,                     // CAMEO_SPLIT_LONG
    TERMS = 6,                      // bytes of a number's
    LEAST_K = 24,                   // less would be tiles mostly of zeros
    LEAST_N = 96,                   // less would be what is taken apart alone
    PLAIN = 4 * 256 * TILE_COLUMNS, // elements of CAMEO_SPLIT_PLAIN
    MACS = 20                       // multiplications and additions in a tenth of a nanosecond
};

static int64_t deep_of(int64_t k)
{
    return k < LONG ? rounded_up(k, SIDE) : LONG;
}

// ---- choosing ----------------------------------------------------------------------------------

static bool places_of(const Conv *c, int64_t *n)
{
    *n = 1;
    for (uint32_t i = 0; i < c->rank; i++) {
        int64_t size;
        if (!poly_is_const(c->out[i], &size) || size <= 0 || *n > ((int64_t)1 << 28) / size)
            return false;
        *n *= size;
    }
    return true;
}

static double direct_cost(const Processor *t, double rows, double k, double n)
{
    const double products = ceil(rows / TILE_ROWS) * TILE_ROWS * k * ceil(n / t->lanes);
    return fmax(products / t->products / t->direct, rows * k * 4 / t->bytes);
}

// Cycles beside those of the products: vector operations for each number, to take a factor apart,
// which products hide in part, or x where nothing does, to copy x with its border, to write y; and
// what shares begin with, and threads' waiting for x that they make together.
static double beside_cost(const Processor *t, bool alone, bool copy, double rows, double k,
                          double n)
{
    enum { APART = 8, ALONE = 40, COPIED = 32, WRITTEN = 24, BEGIN = 60000 };
    const double apart = alone ? ALONE * k * n : APART * k * (n + rows);
    return BEGIN + (apart + (copy ? COPIED * k * n : 0) + WRITTEN * rows * n) / t->lanes;
}

// Vectors of y, whole tiles of them, times values of k.
static double products_of(double rows, double k, double n)
{
    return ceil(rows / HEIGHT) * HEIGHT * ceil(k / SIDE) * SIDE * ceil(n / HEIGHT);
}

static double terms_cost(const Processor *t, const Conv *c, double rows, double k, double n)
{
    return fmax(products_of(rows, k, n) / t->terms, rows * k * 4 / t->bytes) +
           beside_cost(t, c->split == SPLIT_ROWS, c->copy, rows, k, n);
}

double split_conv_rate(const Processor *t, double rows, double k, double n, double cycles)
{
    const double products = cycles - beside_cost(t, false, false, rows, k, n);
    return products > 0 ? products_of(rows, k, n) / products : 0;
}

static void set_buffers(Module *mod, Conv *c, int64_t rows, int64_t k, int64_t n)
{
    const int64_t deep = deep_of(k);
    int64_t bytes = 4 * PLAIN + 2 * TERMS * SIDE * deep;
    if (c->split == SPLIT_COLUMNS)
        bytes += TERMS * rounded_up(rows, SIDE) * deep + 4 * TILE_COLUMNS * deep;
    const Index size = poly_const(mod->polys, bytes / 4);
    c->panel = buffer_new(mod, BUF_TEMP, STR("scratch"), DT_F32, 1, &size);
    if (c->split == SPLIT_COLUMNS)
        return;
    const Index made =
        poly_const(mod->polys, TERMS * rounded_up(k, SIDE) * rounded_up(n, SIDE) / 4);
    c->shared = buffer_new(mod, BUF_TEMP, STR("scratch"), DT_F32, 1, &made);
}

// Of what another form costs terms are to cost no more than WORTH: that form may be a link of a
// chain, and two threads gain less by terms.
void split_conv_choose(Module *mod, Conv *c, const ConvChoice *how, int64_t rows, int64_t k)
{
    static const double WORTH = 0.9;
    const Processor *t = how->cpu;
    int64_t n;
    if (how->exact || how->unsplit || (how->tile && c->tile) || t->terms <= 0 || c->depthwise ||
        !c->m || k < LEAST_K || !places_of(c, &n) || n < LEAST_N)
        return;
    if (c->cost[0] <= 0)
        c->cost[0] = direct_cost(t, (double)rows, (double)k, (double)n);
    const bool stays = TERMS * rounded_up(rows, HEIGHT) * deep_of(k) <= (int64_t)t->second / 2;
    c->split = stays && rows < n ? SPLIT_COLUMNS : SPLIT_ROWS;
    c->cost[3] = terms_cost(t, c, (double)rows, (double)k, (double)n);
    if (c->cost[3] < WORTH * c->cost[c->tile / 2]) {
        c->tile = c->line = 0;
        set_buffers(mod, c, rows, k, n);
        return;
    }
    c->split = SPLIT_NONE;
}

double split_conv_error(const Conv *c)
{
    int64_t k = 1, n;
    poly_is_const(c->channels, &k);
    for (uint32_t i = 0; i < c->rank; i++)
        k *= poly_is_const(c->taps[i], &n) ? n : 1;
    return 0x1p-24 * (3 + sqrt((double)k) / 16);
}

// ---- weights -----------------------------------------------------------------------------------

int64_t split_conv_at(int64_t rows, int64_t k, int64_t i, int64_t at)
{
    const int64_t begin = at / LONG * LONG, all = rounded_up(k, SIDE), within = at - begin;
    const int64_t deep = all - begin < LONG ? all - begin : LONG;
    return begin * rounded_up(rows, HEIGHT) + i / HEIGHT * HEIGHT * deep +
           within / HEIGHT * HEIGHT * HEIGHT + i % HEIGHT * HEIGHT + within % HEIGHT;
}

void split_conv_whole(const Conv *c, int64_t *panels, int64_t *k)
{
    if (!c->split)
        return;
    *panels = rounded_up(*panels * TILE_ROWS, HEIGHT) / TILE_ROWS;
    *k = rounded_up(*k, SIDE);
}

// ---- printing ----------------------------------------------------------------------------------

static Index work_of(Printer *p, const Conv *c)
{
    Polys *polys = p->mod->polys;
    const Index macs = conv_macs(polys, c);
    return poly_is_overflow(macs) ? macs : poly_floordiv(polys, macs, poly_const(polys, MACS));
}

static const char *units_of(Printer *p, Index all)
{
    return print_index_bare(p, poly_ceildiv(p->mod->polys, all, poly_const(p->mod->polys, SIDE)));
}

// The variables of the convolution count as 0 from here on.
static void print_begin(Printer *p, const Kernel *k, const Conv *c)
{
    conv_set_own(p, k, c, true);
    conv_print_sizes(p, c, "sizes");
    print_line(
        p, "/* by terms; cycles expected directly %.0f, by tiles of 2 %.0f, of 4 %.0f, so %.0f */",
        c->cost[0], c->cost[1], c->cost[2], c->cost[3]);
    print_line(p, "cameo_conv_view image;");
    print_line(p, "cameo_conv_plan(&sizes, &image);");
    conv_print_finish(p, c, "image");
    print_line(p, "image.x = %s;", c->copy ? conv_buffer(p, c->padded) : conv_image(p, c));
    print_line(p, "const cameo_split_conv terms = {");
    print_line(p, "    .v = &image, .rows = %s, .n = %s, .w = %s, .y = %s, .row = %s,",
               print_index_bare(p, c->rows), print_index_bare(p, conv_places(p->mod->polys, c)),
               conv_weights(p, c), conv_output(p, c), print_index_bare(p, c->row));
    print_line(p, "    .made = (char *)%s, .room = (char *)%s};", conv_buffer(p, c->shared),
               conv_buffer(p, c->panel));
}

// Units of 32 columns, unless threads share them.
static void print_make(Printer *p, const Kernel *k, const Conv *c)
{
    enum { EACH = 32 }; // tenths of nanoseconds for 32 numbers
    parts_begin(p, c->panel);
    print_begin(p, k, c);
    print_line(p, "cameo_split_conv_make(&terms, from, to);");
    conv_set_own(p, k, c, false);
    const char *units = units_of(p, conv_places(p->mod->polys, c));
    parts_end(p, str_printf(p->arena, "args.mode >= CAMEO_CONV_COLUMNS ? 0 : %s", units).at,
              parts_grain(p, poly_scale(p->mod->polys, conv_depth(p->mod->polys, c), EACH)));
}

// Where units from .. to of the epilogue lie.
static void print_cut(Printer *p, const Conv *c)
{
    if (c->split == SPLIT_COLUMNS) {
        print_line(p, "const int64_t n0 = from * %d, n1 = cameo_min_i64(to * %d, %s);", SIDE, SIDE,
                   print_index_bare(p, conv_places(p->mod->polys, c)));
        print_line(p, "const int64_t m0 = 0, m1 = %s;", print_index_bare(p, c->rows));
    } else {
        print_line(p, "const int64_t m0 = cut.low, m1 = cut.high, n0 = cut.begin, n1 = cut.end;");
    }
    print_line(p, "(void)m0, (void)m1, (void)n0, (void)n1;");
}

// Units from .. to. False: the epilogue is left.
static bool print_units(Printer *p, const Kernel *k, const Conv *c)
{
    if (c->split == SPLIT_COLUMNS) {
        print_line(p, "cameo_split_conv_columns(&terms, from, to);");
    } else {
        print_line(p, "const cameo_conv_cut cut = cameo_conv_share(mode, %s, %d, %s, from, to);",
                   print_index_bare(p, c->rows), SIDE,
                   print_index_bare(p, conv_places(p->mod->polys, c)));
        print_line(p, "cameo_split_conv_rows(&terms, mode, &cut);");
    }
    conv_set_own(p, k, c, false);
    if (!c->epilogue)
        return true;
    print_cut(p, c);
    return conv_print_epilogue(p, c);
}

// What threads share.
static void print_mode(Printer *p, const Kernel *k, const Conv *c)
{
    conv_set_own(p, k, c, true);
    if (c->copy)
        conv_print_sizes(p, c, "sizes");
    conv_set_own(p, k, c, false);
    if (c->split == SPLIT_ROWS)
        print_line(p, "args.mode = cameo_split_conv_shares(cameo_parts(threads), %s, %s, %s);",
                   print_index_bare(p, c->rows), print_index_bare(p, conv_depth(p->mod->polys, c)),
                   print_index_bare(p, conv_places(p->mod->polys, c)));
    else if (c->copy)
        print_line(p, "args.mode = CAMEO_CONV_COLUMNS;");
}

// Units of its sums, and how many shares of them a thread has: each share of columns takes all
// weights apart, one of rows only its first ones alone.
static void end_units(Printer *p, const Conv *c, Index work)
{
    const char *units, *shares = "1", *n = print_index_bare(p, conv_places(p->mod->polys, c));
    if (c->split == SPLIT_COLUMNS) {
        units = units_of(p, conv_places(p->mod->polys, c));
    } else {
        units = str_printf(p->arena, "cameo_conv_units(args.mode, %s, %d, %s)",
                           print_index_bare(p, c->rows), SIDE, n)
                    .at;
        shares = "args.mode >= CAMEO_CONV_COLUMNS ? 1 : 2";
    }
    parts_end(p, units,
              str_printf(p->arena, "cameo_split_conv_grain(cameo_parts(threads), %s, %s, %s)",
                         units, shares, parts_grain_of(p, work, units))
                  .at);
}

// As parts that threads share; false: it is not worth it, and nothing was printed.
static bool print_parts(Printer *p, const Kernel *k, const Conv *c, Bounds *outer)
{
    Polys *polys = p->mod->polys;
    const Index work = work_of(p, c), two = poly_const(polys, 2);
    if (!p->parts || p->parts->inside || !parts_may_own(p, c->panel) ||
        !parts_worth(p, two, poly_floordiv(polys, work, two)))
        return false;
    nest_begin(p, outer, NULL);
    parts_around(p, outer, true);
    print_mode(p, k, c);
    if (c->copy)
        conv_print_copy(p, k, c);
    if (c->split == SPLIT_ROWS)
        print_make(p, k, c);
    parts_begin(p, c->panel);
    print_begin(p, k, c);
    const bool done = print_units(p, k, c);
    end_units(p, c, work);
    parts_around(p, outer, false);
    nest_end(p, outer);
    if (!done)
        print_stmts(p, c->epilogue);
    return true;
}

void split_conv_print(Printer *p, const Kernel *k, const Conv *c)
{
    Polys *polys = p->mod->polys;
    Bounds outer = {.n = 0};
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        if (!conv_owns(c, s->var))
            outer.vars[outer.n++] = s->var;
    if (print_parts(p, k, c, &outer))
        return;
    const bool columns = c->split == SPLIT_COLUMNS;
    nest_begin(p, &outer, NULL);
    print_line(p, "{");
    p->indent++;
    print_begin(p, k, c);
    if (c->copy)
        print_line(p, "cameo_conv_begin(&sizes, %s, %s, &image);", conv_image(p, c),
                   conv_buffer(p, c->padded));
    if (!columns)
        print_line(p, "cameo_split_conv_make(&terms, 0, %s);", units_of(p, conv_places(polys, c)));
    if (!columns)
        print_line(p, "const int64_t mode = CAMEO_CONV_ROWS;");
    print_line(p, "const int64_t from = 0, to = %s;",
               units_of(p, columns ? conv_places(polys, c) : c->rows));
    const bool done = print_units(p, k, c);
    p->indent--;
    print_line(p, "}");
    nest_end(p, &outer);
    if (!done)
        print_stmts(p, c->epilogue);
}
