#include "codegen/cpu/half_conv.h"

#include "codegen/cpu/byte_squares.h"
#include "codegen/cpu/conv_dims.h"
#include "codegen/cpu/tiles.h"
#include "codegen/parts.h"

#include <stdlib.h>

enum {
    TILE = 16, // rows and words of a tile; as in the runtime
    BLOCK = 128,
    LEAST_WORK = 4096, // products of a place, below which panels cost more than they save
    GATHERED = 131072, // words of the panels of a group
    MOST_PANELS = 16,
    SLACK = 64,
    MACS = 60, // multiplications and additions in a tenth of a nanosecond
    COPIED = 2 // tenths of nanoseconds for a word that is copied
};

// ---- finding -----------------------------------------------------------------------------------

static int64_t steps_of(const ByteWeights *w)
{
    return ((w->channels + 1) / 2 * w->taps + TILE - 1) / TILE;
}

bool half_conv_fits(const Conv *c, const ByteWeights *w, const Processor *cpu)
{
    return !c->depthwise && c->rank <= 2 && w->groups == 1 && w->rows >= TILE &&
           w->rows * w->channels * w->taps >= LEAST_WORK && processor_has_words(cpu);
}

// For each 16 rows, for each tile along k: 16 rows of 16 words of two channels.
static void pack(const ByteWeights *w, const StoredU16 *from, uint16_t *to)
{
    const int64_t pairs = (w->channels + 1) / 2, steps = steps_of(w);
    for (int64_t i = 0; i < w->rows; i++)
        for (int64_t c = 0; c < w->channels; c++)
            for (int64_t t = 0; t < w->taps; t++) {
                const int64_t word = t * pairs + c / 2;
                const int64_t tile = i / TILE * steps + word / TILE;
                to[2 * ((tile * TILE + i % TILE) * TILE + word % TILE) + c % 2] =
                    from[w->start + w->group_at[0] + i * w->row + w->k_at[c * w->taps + t]];
            }
}

// Words of the copy of x, and those that panels read behind it.
static Index copy_size(Polys *polys, const Conv *c)
{
    Index size = poly_ceildiv(polys, c->channels, poly_const(polys, 2));
    for (uint32_t i = 0; i < c->rank; i++) {
        Index reach =
            poly_add(polys, poly_scale(polys, poly_add_const(polys, c->out[i], -1), c->stride[i]),
                     poly_scale(polys, poly_add_const(polys, c->taps[i], -1), c->dilation[i]));
        reach = poly_floordiv(polys, poly_add_const(polys, reach, c->stride[i]),
                              poly_const(polys, c->stride[i]));
        size = poly_mul(polys, size, poly_scale(polys, reach, c->stride[i]));
    }
    return poly_add_const(polys, poly_max(polys, size, poly_const(polys, 0)), SLACK);
}

HalfConv *half_conv_pack(Printer *p, const Conv *c, const ByteWeights *w, Str *error)
{
    Module *mod = p->mod;
    Polys *polys = mod->polys;
    const Buffer *b = buffer_at(mod, c->w->buffer);
    const StoredU16 *from = tensor_elements(mod->model, (TensorData *)(uintptr_t)b->data, error);
    if (!from)
        return NULL;
    const int64_t tiles = (w->rows + TILE - 1) / TILE, steps = steps_of(w);
    const int64_t words = tiles * steps * TILE * TILE;
    uint16_t *to = arena_lend(mod->arena, (size_t)words * 2 * sizeof *to);
    pack(w, from, to);
    HalfConv *h = NEW(mod->arena, HalfConv);
    h->packed = bytes_keep(mod, DT_I32, words, to);
    h->copy = bytes_scratch(mod, DT_I32, copy_size(polys, c));
    h->group = GATHERED / (steps * TILE * TILE_COLUMNS);
    h->group = h->group < 1 ? 1 : h->group < MOST_PANELS ? h->group : MOST_PANELS;
    h->scratch = bytes_scratch(mod, DT_F32,
                               poly_const(polys, (BLOCK + h->group * steps * TILE) * TILE_COLUMNS));
    h->m0 = loop_new(polys, c->rows);
    h->n0 = loop_new(polys, c->rows);
    h->at = loop_new(polys, c->rows);
    Index at = poly_add(polys, poly_loop(polys, h->at),
                        poly_sub(polys, conv_flat_place(polys, c), poly_loop(polys, h->n0)));
    if (c->m) {
        Index row = poly_sub(polys, poly_loop(polys, c->m), poly_loop(polys, h->m0));
        at = poly_add(polys, at, poly_scale(polys, row, TILE_COLUMNS));
    }
    h->value = expr_load(mod, h->scratch, &at);
    return h;
}

void half_conv_uses(Module *mod, const Conv *c, KernelUses *u)
{
    access_note(u->arena, &u->buffers, c->half->copy, ACCESS_READ | ACCESS_WRITE);
    access_note(u->arena, &u->buffers, c->half->scratch, ACCESS_READ | ACCESS_WRITE);
    access_note(u->arena, &u->buffers, c->half->packed, ACCESS_READ);
    uses_drop_packed(mod, u, c->w->buffer, c->epilogue);
}

// ---- printing ----------------------------------------------------------------------------------

static void print_begin(Printer *p, const Kernel *k, const Conv *c)
{
    const HalfConv *h = c->half;
    conv_set_own(p, k, c, true);
    conv_print_sizes(p, c, "sizes");
    print_line(p, "const cameo_half_conv h = cameo_half_conv_of(&sizes, %s, %s, %s, %s);",
               print_size(p, h->group), bytes_name(p, h->packed), bytes_name(p, h->copy),
               bytes_name(p, h->scratch));
    conv_set_own(p, k, c, false);
}

static void print_copy(Printer *p, const Kernel *k, const Conv *c, const char *from, const char *to)
{
    conv_set_own(p, k, c, true);
    print_line(p, "cameo_half_conv_copy(&h, %s, %s, %s);", conv_image(p, c), from, to);
    conv_set_own(p, k, c, false);
}

// Units from .. to, with what surrounds their sums.
static void print_units(Printer *p, const Conv *c, const char *from, const char *to)
{
    const HalfConv *h = c->half;
    print_line(p, "for (int64_t u = %s; u < %s; u++) {", from, to);
    p->indent++;
    print_line(p, "const cameo_half_cut cut = cameo_half_conv_cut(&h, u, u == %s);", from);
    print_line(p, "const int64_t m0 = cut.m0, m1 = cut.m1;");
    print_line(p, "for (int64_t place = cut.low, n0, n1, i%u; place < cut.high;) {", h->at);
    p->indent++;
    print_line(p, "place = cameo_half_conv_piece(&h, &cut, place, &n0, &n1, &i%u);", h->at);
    print_bind_loop(p, h->at, 1);
    block_print_epilogue(p, (Block){h->m0, h->n0, false}, c->epilogue, c->m, c->n + conv_ones(c),
                         c->rank - conv_ones(c));
    print_bind_loop(p, h->at, -1);
    for (int i = 0; i < 2; i++) {
        p->indent--;
        print_line(p, "}");
    }
}

static Index work_of(Printer *p, const Conv *c)
{
    Polys *polys = p->mod->polys;
    const Index all = conv_macs(polys, c);
    return poly_is_overflow(all) ? all : poly_floordiv(polys, all, poly_const(polys, MACS));
}

// As parts that threads share; false: it is not worth it, and nothing was printed.
static bool print_parts(Printer *p, const Kernel *k, const Conv *c, Bounds *outer)
{
    Polys *polys = p->mod->polys;
    Index work = work_of(p, c), two = poly_const(polys, 2);
    if (!p->parts || p->parts->inside || !parts_may_own(p, c->half->scratch) ||
        !parts_worth(p, two, poly_floordiv(polys, work, two)))
        return false;
    nest_begin(p, outer, NULL);
    parts_around(p, outer, true);
    parts_begin(p, 0);
    print_begin(p, k, c);
    print_copy(p, k, c, "from", "to");
    Index each = poly_const(polys, 2 * COPIED);
    for (uint32_t i = 0; i < c->rank; i++)
        each = poly_mul(polys, each, c->in[i]);
    parts_end(p, print_index_bare(p, poly_ceildiv(polys, c->channels, two)), parts_grain(p, each));
    print_begin(p, k, c);
    parts_begin(p, c->half->scratch);
    print_begin(p, k, c);
    print_units(p, c, "from", "to");
    parts_end(p, "cameo_half_conv_units(&h)", parts_grain_of(p, work, "cameo_half_conv_units(&h)"));
    parts_around(p, outer, false);
    nest_end(p, outer);
    return true;
}

void half_conv_print(Printer *p, const Kernel *k, const Conv *c)
{
    Bounds outer = {.n = 0};
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        if (!conv_owns(c, s->var))
            outer.vars[outer.n++] = s->var;
    if (print_parts(p, k, c, &outer))
        return;
    nest_begin(p, &outer, NULL);
    conv_set_own(p, k, c, true);
    print_line(p, "if (%s > 0) {", print_index_bare(p, conv_places(p->mod->polys, c)));
    conv_set_own(p, k, c, false);
    p->indent++;
    print_begin(p, k, c);
    print_copy(p, k, c, "0", "h.pairs");
    print_line(p, "const int64_t units = cameo_half_conv_units(&h);");
    print_units(p, c, "0", "units");
    p->indent--;
    print_line(p, "}");
    nest_end(p, &outer);
}

bool conv_find_half(Printer *p, Kernel *k, const ConvChoice *how, Conv **found, Str *error)
{
    ByteWeights all;
    Conv c;
    *found = NULL;
    bool ok = true;
    conv_read_narrow(p, k, &c, &all);
    if (c.reduce && !c.bytes && half_conv_fits(&c, &all, how->cpu)) {
        c.copy = true;
        c.half = half_conv_pack(p, &c, &all, error);
        ok = c.half != NULL;
        *found = ok ? NEW(p->mod->arena, Conv) : NULL;
        if (ok)
            **found = c;
    }
    conv_free_weights(&all);
    return ok;
}
