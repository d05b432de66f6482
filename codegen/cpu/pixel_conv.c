#include "codegen/cpu/pixel_conv.h"

#include "codegen/cpu/amx.h"
#include "codegen/cpu/byte_squares.h"
#include "codegen/cpu/constants.h"
#include "codegen/cpu/conv_dims.h"
#include "codegen/cpu/gemm.h"
#include "codegen/cpu/pixel_byte_groups.h"
#include "codegen/cpu/pixel_byte_windows.h"
#include "codegen/cpu/pixel_bytes.h"
#include "codegen/cpu/pixel_few.h"
#include "codegen/cpu/pixel_finish.h"
#include "codegen/cpu/pixel_gather.h"
#include "codegen/cpu/pixel_planes.h"
#include "codegen/cpu/pixel_windows.h"
#include "codegen/cpu/pixel_winograd.h"
#include "codegen/parts.h"
#include "codegen/repeats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TILE = 16,         // columns of a tile
    WORDS = 16,        // of a pixel, rows of a tile
    PLACES = 32,       // of a turn: two tiles
    LEAST_PLACES = 16, // of y: a tile
    MOST_BORDER = 8,
    MACS = 100,      // multiplications and additions in a tenth of a nanosecond,
    WORD_MACS = 10,  // of bfloat16 by vectors
    MACS_APART = 6,  // without matrix registers
    GROUP_MACS = 20, // of groups of bytes
    FINISHED = 2,    // tenths of nanoseconds for what surrounds a sum
    MOST_CONSTANTS = 1 << 20
};

int64_t pixel_lanes(DType t)
{
    return t == DT_BF16 ? PIXEL_BYTES / 2 : t == DT_U8 || t == DT_I8 ? PIXEL_BYTES : 0;
}

// ---- finding -----------------------------------------------------------------------------------

// Sizes along dim i of the last two; a window of one place may step over elements (Conv.step).
static bool read_dim(const Conv *c, int i, PixelConv *to)
{
    const int64_t natural = i == 0 ? to->in[1] : 1;
    int64_t step;
    if (!poly_is_const(c->out[i], &to->out[i]) || !poly_is_const(c->taps[i], &to->taps[i]) ||
        !poly_is_const(c->pad[i], &to->pad[i]) || !poly_is_const(c->step[i], &step) ||
        step % natural)
        return false;
    to->stride[i] = c->stride[i] * (step / natural);
    to->dilation[i] = c->dilation[i];
    return to->out[i] > 0 && to->taps[i] > 0 && to->pad[i] >= 0;
}

// Channels of y are rows of weights, those of x are summed.
static bool is_product(Module *mod, const Conv *c, const ByteWeights *w, PixelConv *to)
{
    const int64_t lanes = pixel_lanes(to->dtype);
    to->channel = c->m;
    to->channels = w->rows;
    to->planes = (w->channels + lanes - 1) / lanes;
    to->words = ((w->channels - 1) % lanes * WORDS + lanes) / lanes;
    return c->m && c->c && c->x->at[1] == poly_loop(mod->polys, c->c);
}

static bool channels_fit(Module *mod, const Conv *c, const ByteWeights *w, PixelConv *to)
{
    if (c->depthwise)
        return pixel_windows_fit(mod, c, w, to);
    return w->groups > 1 ? pixel_byte_groups_fit(mod, c, w, to) : is_product(mod, c, w, to);
}

// Weights have no zero points, or are those of windows: 255, which a zero point of -128 may make of
// one, is no sum of two bytes.
static bool zeros_fit(Printer *p, const Conv *c, const ByteWeights *w, PixelConv *to)
{
    if (byte_conv_centred(p, c->bytes))
        return true;
    int64_t *zeros = NEWS(p->mod->arena, int64_t, w->groups);
    to->zeros = zeros;
    bool fit = c->depthwise && byte_conv_signed_zeros(p, c, c->bytes, w->groups, zeros);
    for (int64_t i = 0; fit && i < w->groups; i++)
        fit = zeros[i] > INT8_MIN;
    return fit;
}

bool pixel_conv_fits(Printer *p, const Conv *c, const ByteWeights *w, const Processor *cpu,
                     bool few, PixelConv *to)
{
    const Buffer *x = buffer_at(p->mod, c->x->buffer);
    *to = (PixelConv){.dtype = c->x->dtype,
                      .windows = c->depthwise,
                      .overlap = (int64_t)cpu->overlap,
                      .anywhere = cpu->squares == 0};
    const int64_t lanes = pixel_lanes(to->dtype);
    if (c->rank != 2 || x->rank != 4 || !lanes || !processor_has_words(cpu) ||
        !poly_has_loop(c->x->at[2], c->n[0]) || !poly_has_loop(c->x->at[3], c->n[1]) ||
        !channels_fit(p->mod, c, w, to) || !poly_is_const(x->dims[2], &to->in[0]) ||
        !poly_is_const(x->dims[3], &to->in[1]) ||
        (c->bytes && (!byte_conv_fits(p, c, c->bytes) || !zeros_fit(p, c, w, to))))
        return false;
    to->n[0] = c->n[0];
    to->n[1] = c->n[1];
    return read_dim(c, 0, to) && read_dim(c, 1, to) && to->out[0] * to->out[1] >= LEAST_PLACES &&
           pixel_conv_border(to) <= MOST_BORDER &&
           (!few || (!to->windows && pixel_few_fit(to, w->channels)));
}

int64_t pixel_conv_border(const PixelConv *c)
{
    int64_t most = 0;
    for (int i = 0; i < 2; i++) {
        const int64_t last = (c->out[i] - 1) * c->stride[i] + (c->taps[i] - 1) * c->dilation[i];
        const int64_t beyond = last - c->pad[i] - (c->in[i] - 1);
        most = c->pad[i] > most ? c->pad[i] : most;
        most = beyond > most ? beyond : most;
    }
    return most;
}

// ---- packing -----------------------------------------------------------------------------------

// Steps of k, of 16 words each.
static int64_t steps_of(const PixelConv *c)
{
    return c->few ? c->taps[0] : c->planes * c->taps[0] * c->taps[1];
}

// The elements of row i, of one size each, from their places to columns of words.
static void pack_row(const Conv *c, const ByteWeights *w, const PixelConv *p, const void *from,
                     int64_t i, void *to)
{
    const int64_t each = c->bytes ? 4 : 2, lanes = WORDS * each;
    const int64_t first = i / PIXEL_PANEL * steps_of(p);
    const int64_t row = w->start + w->group_at[0] + i * w->row;
    for (int64_t k = 0; k < w->channels; k++) {
        const int64_t plane = c->bytes ? k / (4 * WORDS) : k / (2 * WORDS);
        for (int64_t t = 0; t < w->taps; t++) {
            const int64_t at = row + w->k_at[k * w->taps + t];
            const int64_t step = p->few ? pixel_few_step(p, t) : plane * w->taps + t;
            const int64_t lane = p->few ? pixel_few_lane(p, t, k) : k - plane * lanes;
            const int64_t half = 2 * (first + step) + i % PIXEL_PANEL / TILE; // tile of columns
            const int64_t column = half * WORDS * TILE + i % TILE;
            if (c->bytes)
                ((int8_t *)to)[(column + lane / 4 * TILE) * 4 + lane % 4] =
                    bytes_weight(c->bytes, from, at);
            else
                ((uint16_t *)to)[(column + lane / 2 * TILE) * 2 + lane % 2] =
                    ((const StoredU16 *)from)[at];
        }
    }
}

// What x's zero point adds to the sums of each channel, as far as it is known: sum w, times it.
static void add_totals(Module *mod, const Conv *c, const ByteWeights *w, const PixelConv *to,
                       const void *from)
{
    const int64_t filled = to->filled;
    Bytes *b = (Bytes *)(uintptr_t)c->bytes;
    const Expr *zero = b->x.zero;
    int32_t *totals = zero ? calloc((size_t)filled, sizeof *totals) : NULL;
    for (int64_t i = 0; totals && i < w->groups * w->rows; i++) {
        const int64_t row = w->start + w->group_at[i / w->rows] + i % w->rows * w->row;
        const uint32_t less = to->zeros ? (uint32_t)to->zeros[i] : 0;
        uint32_t sum = 0;
        for (int64_t k = 0; k < w->channels * w->taps; k++)
            sum += (uint32_t)bytes_weight(b, from, row + w->k_at[k]) - less;
        totals[i] = (int32_t)(zero->kind == EX_CONST ? sum * (uint32_t)zero->value.i : sum);
    }
    b->totals = totals ? bytes_buffer(mod, DT_I32, filled, totals) : 0;
    free(totals);
}

bool pixel_conv_pack(Module *mod, const Conv *c, const ByteWeights *w, PixelConv *to, Str *error)
{
    const Buffer *b = buffer_at(mod, c->w->buffer);
    const void *from = tensor_elements(mod->model, (TensorData *)(uintptr_t)b->data, error);
    if (from && to->windows) {
        const bool packed = c->bytes ? pixel_byte_windows_pack(mod, c, w, from, to)
                                     : pixel_windows_pack(mod, w, from, to);
        if (!packed)
            arena_run_out();
        if (c->bytes)
            add_totals(mod, c, w, to, from);
        return true;
    }
    const int64_t words = to->filled * steps_of(to) * WORDS;
    if (!from)
        return false;
    void *packed = arena_lend(mod->arena, (size_t)words * sizeof(int32_t));
    for (int64_t i = 0; i < w->rows; i++)
        pack_row(c, w, to, from, i, packed);
    to->packed = bytes_keep(mod, DT_I32, words, packed);
    if (c->bytes)
        add_totals(mod, c, w, to, from);
    return true;
}

// ---- what surrounds the sum --------------------------------------------------------------------

typedef struct Tables {
    Module *mod;
    const PixelConv *c;
    bool wide;
    const Expr *sum, *value; // the reduction, and what is read instead
    VEC(ExprSwap) made;      // what a table stands for: equal ones share it
    ExprMap map;
} Tables;

Index pixel_conv_channel(Module *mod, const PixelConv *c)
{
    Polys *polys = mod->polys;
    return poly_add(polys, poly_scale(polys, poly_loop(polys, c->block), c->columns),
                    poly_loop(polys, c->lane));
}

BufferId pixel_conv_table(Module *mod, const PixelConv *c, const Expr *e)
{
    if (e->kind == EX_LOAD && e->rank == 1 && e->at[0] == pixel_conv_channel(mod, c) &&
        buffer_at(mod, e->buffer)->kind == BUF_WEIGHT)
        return e->buffer;
    Scalar v;
    const bool is_number = e->dtype == DT_F32 && expr_number(e, &v) && !isnan(v.f);
    float *to = is_number ? calloc((size_t)c->filled, sizeof *to) : NULL;
    if (!to)
        return 0;
    for (int64_t i = 0; i < c->channels; i++)
        to[i] = (float)v.f;
    const BufferId b = bytes_buffer(mod, DT_F32, c->filled, to);
    free(to);
    return b;
}

// Does nothing but the channel decide it, in float32?
static bool is_constant(Tables *t, const Expr *e, Iterations *loops)
{
    const LoopId vars[] = {t->c->block, t->c->lane};
    if (e->dtype != DT_F32 || !iterations_begin(loops, t->mod, 2, vars, MOST_CONSTANTS))
        return false;
    const bool can = constant_computes(loops, e);
    if (!can)
        iterations_end(loops);
    return can;
}

// Such an expression as a table of all channels; NULL: it is none.
static const Expr *table_of(Tables *t, const Expr *e)
{
    Module *mod = t->mod;
    Iterations loops;
    for (uint32_t i = 0; i < t->made.len; i++)
        if (t->made.at[i].from == e)
            return t->made.at[i].to;
    if (e->kind == EX_CONST || !expr_uses_loop(mod, e, t->c->lane) || !is_constant(t, e, &loops))
        return NULL;
    float *to = calloc((size_t)t->c->filled, sizeof *to);
    for (float *at = to; to && iterations_next(&loops); at += loops.n)
        constant_floats(&loops, e, at);
    const bool done = to && !loops.failed;
    iterations_end(&loops);
    for (int64_t i = t->c->channels; done && i < t->c->filled; i++)
        to[i] = 0;
    Index i = pixel_conv_channel(mod, t->c);
    const Expr *load =
        done ? expr_load(mod, bytes_buffer(mod, DT_F32, t->c->filled, to), &i) : NULL;
    free(to);
    if (load)
        vec_push(mod->arena, &t->made, ((ExprSwap){e, load}));
    return load;
}

// core * scale + bias, scale and bias constants of the channel; NULL: 1, 0, and no core.
typedef struct Linear {
    const Expr *core, *scale, *bias;
} Linear;

static const Expr *times(Tables *t, const Expr *a, const Expr *b)
{
    return !a || !b ? NULL : expr_binary(t->mod, B_MUL, a, b);
}

static const Expr *plus(Tables *t, BinaryOp op, const Expr *a, const Expr *b)
{
    if (!b)
        return a;
    if (a)
        return expr_binary(t->mod, op, a, b);
    return op == B_ADD ? b : expr_unary(t->mod, U_NEG, b);
}

static const Expr *constant(Tables *t, const Expr *e)
{
    const Expr *table = table_of(t, e);
    return table ? table : e;
}

static const Expr *scaled(Tables *t, const Linear *x)
{
    return x->scale ? expr_binary(t->mod, B_MUL, x->core, constant(t, x->scale)) : x->core;
}

static const Expr *replace(void *context, const Expr *e);

// Products and sums with constants of the channel, as exact arithmetic would join them.
static Linear linear_of(Tables *t, const Expr *e)
{
    Iterations loops;
    if (is_constant(t, e, &loops)) {
        iterations_end(&loops);
        return (Linear){NULL, NULL, e};
    }
    const BinaryOp op = (BinaryOp)e->op;
    const bool sums = e->kind == EX_BINARY && (op == B_ADD || op == B_SUB);
    if (e == t->sum)
        return (Linear){t->value, NULL, NULL};
    if (e->kind == EX_CAST && e->dtype == DT_F32 && e->a->kind == EX_CAST &&
        e->a->dtype == DT_BF16 && e->a->a == t->sum)
        return (Linear){t->value, NULL, NULL};
    if (e->dtype != DT_F32 || !(sums || (e->kind == EX_BINARY && op == B_MUL)))
        return (Linear){expr_map(t->mod, e, &t->map), NULL, NULL};
    Linear a = linear_of(t, e->a), b = linear_of(t, e->b);
    if (!sums && a.core && b.core) {
        const Expr *x = plus(t, B_ADD, scaled(t, &a), a.bias ? constant(t, a.bias) : NULL);
        const Expr *y = plus(t, B_ADD, scaled(t, &b), b.bias ? constant(t, b.bias) : NULL);
        return (Linear){expr_binary(t->mod, B_MUL, x, y), NULL, NULL};
    }
    if (!sums) {
        const Linear *x = a.core ? &a : &b;
        const Expr *by = a.core ? b.bias : a.bias;
        return (Linear){x->core, x->scale ? times(t, x->scale, by) : by, times(t, x->bias, by)};
    }
    const Expr *bias = plus(t, op, a.bias, b.bias);
    if (a.core && b.core)
        return (Linear){expr_binary(t->mod, op, scaled(t, &a), scaled(t, &b)), NULL, bias};
    if (a.core || op == B_ADD)
        return (Linear){a.core ? a.core : b.core, a.core ? a.scale : b.scale, bias};
    const Expr *one = expr_const(t->mod, DT_F32, (Scalar){.f = 1});
    return (Linear){b.core, expr_unary(t->mod, U_NEG, b.scale ? b.scale : one), bias};
}

static const Expr *replace(void *context, const Expr *e)
{
    Tables *t = context;
    const bool arithmetic = e->kind == EX_BINARY && e->dtype == DT_F32 &&
                            (e->op == B_ADD || e->op == B_SUB || e->op == B_MUL);
    if (e == t->sum)
        return t->value;
    const Expr *table = table_of(t, e);
    if (table || !t->wide || !arithmetic)
        return table;
    const Linear x = linear_of(t, e);
    return x.core ? plus(t, B_ADD, scaled(t, &x), x.bias ? constant(t, x.bias) : NULL) : x.bias;
}

static Index sum_place(Polys *polys, const PixelConv *to)
{
    Index place = poly_add(polys, poly_loop(polys, to->at), poly_loop(polys, to->n[1]));
    return poly_add(polys, poly_scale(polys, place, to->columns), poly_loop(polys, to->lane));
}

static const Index *keep(Module *mod, Index at)
{
    Index *to = NEW(mod->arena, Index);
    *to = at;
    return to;
}

// May the results of a piece stand in place of its sums, to be rounded together? They are bfloat16
// that lies in pixels of as many channels.
static bool rounds_at_once(Module *mod, const Conv *c, const PixelConv *to, const Stmt *store)
{
    const Buffer *y = buffer_at(mod, store->buffer);
    return to->wide && !c->bytes && y->dtype == DT_BF16 && y->rank == 5 &&
           poly_equals(y->dims[4], to->columns) && store->value->kind == EX_CAST &&
           store->value->a->dtype == DT_F32;
}

// The sum for a place and a channel, less what x's zero point adds to it.
static const Expr *sum_of(Module *mod, const Conv *c, const PixelConv *to, Index at)
{
    const Expr *sum = expr_load(mod, to->sums, &at);
    if (!c->bytes || !c->bytes->totals)
        return sum;
    const Expr *zero = c->bytes->x.zero;
    Index m = pixel_conv_channel(mod, to);
    const Expr *less = expr_load(mod, c->bytes->totals, &m);
    if (zero->kind != EX_CONST)
        less = expr_binary(mod, B_MUL, zero, less);
    return expr_binary(mod, B_SUB, sum, less);
}

// Whose sums are kept.
static int64_t places_of(const PixelConv *c)
{
    return c->overlaps ? 2 * PLACES : PLACES;
}

void pixel_conv_finish(Module *mod, Kernel *k, Conv *c, PixelConv *to)
{
    Polys *polys = mod->polys;
    if (to->few) {
        pixel_few_buffer(mod, to, c->channels);
        if (to->wide)
            pixel_few_read_input(mod, c, to);
    } else if (pixel_gather_pays(to, steps_of(to)))
        pixel_gather_buffer(mod, to, steps_of(to));
    const int64_t pixels = to->planes * to->lines * to->across * pixel_lanes(to->dtype);
    to->start =
        poly_scale(polys, c->x->at[0], to->few ? to->given * to->in[0] * to->in[1] : pixels);
    to->overlaps = to->overlap > 0 && steps_of(to) >= to->overlap;
    // Sums of a turn, or of two, then where the pixels of each step lie.
    to->sums = bytes_scratch(mod, c->bytes ? DT_I32 : DT_F32,
                             poly_const(polys, places_of(to) * to->columns + 2 * steps_of(to)));
    to->at = loop_new(polys, poly_const(polys, places_of(to)));
    Tables t = {.mod = mod, .c = to, .wide = to->wide, .sum = c->reduce};
    Index at = sum_place(polys, to);
    t.value = sum_of(mod, c, to, at);
    t.map = (ExprMap){&t, replace, NULL};
    Stmt *store = NEW(mod->arena, Stmt);
    *store = *c->store;
    store->value = expr_map(mod, c->store->value, &t.map);
    to->halves = rounds_at_once(mod, c, to, store);
    if (to->halves)
        *store = (Stmt){.kind = S_STORE,
                        .buffer = to->sums,
                        .rank = 1,
                        .at = keep(mod, at),
                        .value = store->value->a};
    to->flat = to->halves || to->part ? NULL : pixel_planes_of(mod, to, at, store);
    to->store = store;
    to->ends = c->bytes ? pixel_bytes_of(mod, to, store, at) : NULL;
    to->finish = to->halves ? pixel_finish_of(mod, to, store->value) : NULL;
    c->pixels = to;
    Override *o = NEW(mod->arena, Override);
    o->kind = GEMM_PACKED;
    o->conv = c;
    k->override = o;
}

// ---- uses --------------------------------------------------------------------------------------

typedef struct Loads {
    Module *mod;
    KernelUses *uses;
} Loads;

static void drop_weight(void *context, const Expr *e)
{
    Loads *l = context;
    if (e->kind == EX_LOAD && buffer_at(l->mod, e->buffer)->kind == BUF_WEIGHT)
        access_drop(&l->uses->buffers, e->buffer);
}

// Weights of the body are read in other forms, or by what is stored.
void pixel_conv_uses(Module *mod, const Conv *c, KernelUses *u)
{
    Loads l = {mod, u};
    expr_walk(mod, c->store->value, drop_weight, &l);
    if (c->pixels->rounded)
        access_drop(&u->buffers, c->pixels->rounded);
    if (c->pixels->ends)
        pixel_bytes_uses(mod, c->pixels->ends, u);
    else
        uses_add_expr(mod, u, c->pixels->store->value);
    uses_add_index(mod, u, c->pixels->start);
    access_note(u->arena, &u->buffers, c->x->buffer, ACCESS_READ);
    access_note(u->arena, &u->buffers, c->pixels->packed, ACCESS_READ);
    access_note(u->arena, &u->buffers, c->pixels->sums, ACCESS_READ | ACCESS_WRITE);
    if (c->pixels->copy)
        access_note(u->arena, &u->buffers, c->pixels->copy, ACCESS_READ | ACCESS_WRITE);
}

BufferId pixel_conv_replaces(Module *mod, const Conv *c)
{
    const PixelConv *x = c->pixels;
    const Expr *added = x->finish ? x->finish->added : x->ends ? x->ends->added : NULL;
    const Stmt *y = c->store;
    if (!added || added->buffer == c->x->buffer || added->rank != y->rank)
        return 0;
    const Buffer *from = buffer_at(mod, added->buffer), *to = buffer_at(mod, y->buffer);
    bool same = from->dtype == to->dtype && from->rank == to->rank;
    for (uint32_t i = 0; same && i < y->rank; i++)
        same = added->at[i] == y->at[i] && from->dims[i] == to->dims[i];
    return same ? added->buffer : 0;
}

uint32_t pixel_convs_kinds(const Step *s)
{
    uint32_t kinds = 0;
    for (; s; s = s->next) {
        const Override *o = s->kernel ? s->kernel->override : NULL;
        const PixelConv *c = o && o->conv ? o->conv->pixels : NULL;
        if (c && !c->windows)
            kinds |= 1u << (c->dtype == DT_BF16 ? AMX_BF16
                            : c->dtype == DT_U8 ? AMX_U8S8
                                                : AMX_S8S8);
        kinds |= pixel_convs_kinds(s->body) | pixel_convs_kinds(s->other);
    }
    return kinds;
}

// ---- printing ----------------------------------------------------------------------------------

static const char *kind_of(const PixelConv *c)
{
    return c->dtype == DT_BF16 ? "BF16" : c->dtype == DT_U8 ? "U8" : "S8";
}

static void print_begin(Printer *p, const Conv *conv)
{
    const PixelConv *c = conv->pixels;
    if (c->windows || c->tiles) {
        (c->windows ? pixel_windows_print_begin : pixel_winograd_print_begin)(p, conv);
        return;
    }
    const int64_t origin = (c->border - c->pad[0]) * c->across + c->border - c->pad[1];
    const int64_t pixel = c->few ? c->few * PIXEL_BYTES / pixel_lanes(c->dtype) : PIXEL_BYTES;
    const int64_t read = c->ends ? (c->channels - 1) % c->columns + 1 : c->columns;
    const bool narrow = c->finish && c->finish->silu && pixel_conv_lanes(c) <= TILE;
    const int64_t full = c->words == WORDS ? steps_of(c) : steps_of(c) - steps_of(c) / c->planes;
    const int64_t beyond = (c->channels - 1) % PIXEL_PANEL - TILE; // of the last panel's channels
    print_line(p, "%sconst cameo_pixel_conv sizes = {",
               p->marks ? repeats_mark(p, MARK_STATIC) : "static ");
    print_line(p, "    .kind = CAMEO_PIXEL_%s, .planes = %s, .lines = %s, .across = %s,",
               kind_of(c), print_size(p, c->planes), print_size(p, c->lines),
               print_size(p, c->across));
    print_line(p, "    .rows = %s, .row = %s, .taps = {%s, %s}, .stride = {%s, %s},",
               print_size(p, c->out[0]), print_size(p, c->out[1]), print_size(p, c->taps[0]),
               print_size(p, c->few ? 1 : c->taps[1]), print_size(p, c->stride[0]),
               print_size(p, c->stride[1]));
    print_line(p, "    .dilation = {%s, %s}, .origin = %s, .blocks = %s, .columns = %s,",
               print_size(p, c->dilation[0]), print_size(p, c->dilation[1]), print_size(p, origin),
               print_size(p, c->filled / c->columns), print_size(p, c->columns));
    print_line(p, "    .whole = %s, .words = %s, .edge = %s, .half = %s,", print_size(p, full),
               print_size(p, c->words % WORDS), print_size(p, beyond < 0),
               print_size(p, beyond >= 0 && beyond < TILE / 2));
    print_line(p, "    .last = %s, .pixel = %s, .gathered = %s%s};",
               print_size(p, (read + PIXEL_PANEL - 1) / PIXEL_PANEL), print_size(p, pixel),
               print_size(p, c->gathered), narrow ? ", .narrow = CAMEO_PIXEL_LANES" : "");
    print_line(p, "const cameo_pixel_conv h = cameo_pixel_conv_plan(&sizes);");
}

// What is done to a piece at once: sums to y, or what stands in their place rounded.
static void print_whole(Printer *p, const Conv *conv)
{
    const PixelConv *c = conv->pixels;
    print_line(p, "const int64_t i%u = low, i%u = 0;", c->n[1], c->lane);
    print_bind_loop(p, c->n[1], 1);
    print_bind_loop(p, c->lane, 1);
    if (c->ends)
        pixel_bytes_print(p, conv);
    else if (c->flat)
        pixel_planes_print(p, conv);
    else if (c->part)
        print_line(p, "cameo_pixel_parts(&%s, &%s, high - low, %lld);",
                   print_element(p, conv->store->buffer, conv->store->at),
                   print_element(p, c->sums, c->store->at), (long long)c->part);
    else
        print_line(p, "cameo_pixel_halves(&%s, &%s, (high - low) * %lld);",
                   print_element(p, conv->store->buffer, conv->store->at),
                   print_element(p, c->sums, c->store->at), (long long)c->columns);
    print_bind_loop(p, c->n[1], -1);
    print_bind_loop(p, c->lane, -1);
}

int64_t pixel_conv_lanes(const PixelConv *c)
{
    const int64_t whole = (c->channels + TILE - 1) / TILE * TILE;
    if (c->part)
        return c->part;
    return (c->halves || c->flat) && whole < c->columns ? whole : c->columns;
}

void pixel_conv_print_piece(Printer *p, const Conv *conv)
{
    const PixelConv *c = conv->pixels;
    const LoopId bound[] = {c->block, c->n[0], c->at};
    for (int i = 0; i < 3; i++)
        print_bind_loop(p, bound[i], 1);
    if (c->finish)
        pixel_finish_print(p, conv);
    if (c->finish && c->finish->silu)
        print_line(p, "#ifndef CAMEO_PIXEL_SILU");
    if ((!c->finish || c->finish->silu) && !c->ends) {
        char lanes[24];
        snprintf(lanes, sizeof lanes, "%lld", (long long)pixel_conv_lanes(c));
        Bounds nest = {.n = 2, .vars = {c->n[1], c->lane}, .low = {"low"}, .high = {"high", lanes}};
        nest_begin(p, &nest, NULL);
        p->rounded = c->halves ? c->store->value : NULL;
        print_stmts(p, c->store);
        p->rounded = NULL;
        nest_end(p, &nest);
    }
    if ((c->halves && (!c->finish || c->finish->silu)) || c->ends || c->flat)
        print_whole(p, conv);
    if (c->finish && c->finish->silu)
        print_line(p, "#endif");
    for (int i = 0; i < 3; i++)
        print_bind_loop(p, bound[i], -1);
}

// The pieces of a turn whose first tile and first place of sums are `tile` and `sums`.
static void print_pieces(Printer *p, const Conv *conv, const char *tile, const char *last,
                         const char *sums)
{
    const PixelConv *c = conv->pixels;
    print_line(p, "int64_t place = %s * CAMEO_PIXEL_TILE, i%u, i%u, low, high;", tile, c->n[0],
               c->at);
    print_line(p, "while (place < %s) {", last);
    p->indent++;
    if (c->overlaps)
        print_line(p, "cameo_pixel_some(&h, &cut, cut.share);");
    print_line(p, "place = cameo_pixel_piece(&h, %s, place, &i%u, &low, &high, &i%u);", sums,
               c->n[0], c->at);
    pixel_conv_print_piece(p, conv);
    p->indent--;
    print_line(p, "}");
}

// Are sums finished in registers, where vectors multiply?
static bool is_fused(const PixelConv *c)
{
    return c->anywhere && (c->ends || (c->finish && !c->part));
}

// The turns of units from .. to, each ended before the next one begins.
static void print_turns(Printer *p, const Conv *conv, const char *from, const char *to)
{
    const PixelConv *c = conv->pixels;
    print_line(p, "cut.end = %s;", to);
    print_line(p, "for (cut.u = cut.from = %s; cut.u < cut.end; cut.u = cut.next) {", from);
    p->indent++;
    print_line(p, "cameo_pixel_unit(&h, &cut);");
    print_line(p, "for (int64_t i%u = cut.b0; i%u < cut.b1; i%u++)", c->block, c->block, c->block);
    print_line(p, "for (int64_t t = cut.t0; t < cut.t1; t += 2) {");
    p->indent++;
    print_line(p, "const int64_t last = cameo_pixel_last(&h, &cut, t);");
    print_line(p, "cameo_pixel_sums(&h, &cut, i%u, t);", c->block);
    print_pieces(p, conv, "t", "last", "t");
    for (int i = 0; i < 2; i++) {
        p->indent--;
        print_line(p, "}");
    }
}

// The same where sums stay in registers, by one function for all convolutions, and as turns where
// there are none to multiply words.
static void print_fused(Printer *p, const Conv *conv, const char *from, const char *to)
{
    const PixelConv *c = conv->pixels;
    print_line(p, "#ifdef CAMEO_PIXEL_FUSED_%s", c->ends ? "BYTES" : "BF16");
    print_line(p, "if (cameo_pixel_exact(CAMEO_PIXEL_%s)) {", kind_of(c));
    p->indent++;
    (c->ends ? pixel_bytes_print_fused : pixel_finish_print_fused)(p, conv, from, to);
    p->indent--;
    print_line(p, "} else");
    print_line(p, "#endif");
    print_line(p, "{");
    p->indent++;
    print_turns(p, conv, from, to);
    p->indent--;
    print_line(p, "}");
}

static void print_overlapping(Printer *p, const Conv *conv, const char *from, const char *to)
{
    print_line(p, "cameo_pixel_start(&h, &cut, %s, %s);", from, to);
    print_line(p, "const cameo_pixel_turn *done;");
    print_line(p, "while ((done = cameo_pixel_next(&h, &cut))) {");
    p->indent++;
    print_line(p, "const int64_t i%u = done->block;", conv->pixels->block);
    print_pieces(p, conv, "done->tile", "done->last", "done->first");
    p->indent--;
    print_line(p, "}");
}

// Units from .. to, with what surrounds their sums.
static void print_units(Printer *p, const Conv *conv, const char *from, const char *to)
{
    const PixelConv *c = conv->pixels;
    if (c->windows || c->tiles) {
        (c->windows ? pixel_windows_print_units : pixel_winograd_print_units)(p, conv, from, to);
        return;
    }
    const char *sums = bytes_name(p, c->sums);
    const char *x = bytes_name(p, c->copy ? c->copy : conv->x->buffer);
    print_line(p,
               "cameo_pixel_cut cut = cameo_pixel_begin(&h, %s + %s, %s, (void *)(%s + %s), %s);",
               x, c->copy ? "0" : print_index(p, c->start), bytes_name(p, c->packed), sums,
               print_size(p, places_of(c) * c->columns), sums);
    (c->overlaps ? print_overlapping : is_fused(c) ? print_fused : print_turns)(p, conv, from, to);
    print_line(p, "cameo_pixel_end();");
}

static Index work_of(Printer *p, const PixelConv *c)
{
    const int64_t sums = c->out[0] * c->out[1] * c->filled;
    const int64_t taps = c->tiles ? pixel_winograd_products(c) : c->taps[0] * c->taps[1];
    const int64_t lanes = pixel_lanes(c->dtype);
    const int64_t macs = c->anywhere ? WORD_MACS * lanes * 2 / PIXEL_BYTES : MACS;
    const int64_t products = c->width     ? c->width * taps * macs / GROUP_MACS
                             : c->windows ? taps * macs / MACS_APART
                                          : c->planes * lanes * taps;
    return poly_const(p->mod->polys, sums * FINISHED + sums * products / macs);
}

static const char *units_of(const PixelConv *c)
{
    if (c->windows && c->dtype != DT_BF16)
        return "cameo_pixel_byte_units(&h)";
    if (c->tiles)
        return "cameo_pixel_winograd_units(&h)";
    return c->windows ? "cameo_pixel_windows_units(&h)" : "cameo_pixel_units(&h)";
}

// Units of the copy: lines, or steps of k.
static int64_t copied_units(const PixelConv *c)
{
    return c->few ? pixel_few_lines(c) : c->tiles ? pixel_winograd_made(c) : steps_of(c);
}

static void print_copy(Printer *p, const Conv *c, const char *from, const char *to)
{
    if (c->pixels->few)
        pixel_few_print(p, c, from, to);
    else if (c->pixels->tiles)
        pixel_winograd_print_make(p, c, from, to);
    else
        pixel_gather_print(p, c, from, to);
}

static void print_copy_parts(Printer *p, const Conv *c)
{
    enum { PIXEL = 10 }; // tenths of nanoseconds
    const PixelConv *x = c->pixels;
    char units[24];
    snprintf(units, sizeof units, "%lld", (long long)copied_units(x));
    parts_begin(p, 0);
    if (x->gathered || x->tiles)
        print_begin(p, c);
    print_copy(p, c, "from", "to");
    const int64_t pixels = x->few ? x->across : x->out[0] * x->out[1];
    const int64_t work = x->tiles ? pixel_winograd_make_work(x) : PIXEL * pixels;
    parts_end(p, units, parts_grain(p, poly_const(p->mod->polys, work)));
}

// As parts that threads share; false: it is not worth it, and nothing was printed.
static bool print_parts(Printer *p, const Conv *c, Bounds *outer)
{
    Polys *polys = p->mod->polys;
    Index work = work_of(p, c->pixels), two = poly_const(polys, 2);
    const char *units = units_of(c->pixels);
    if (!p->parts || p->parts->inside || !parts_may_own(p, c->pixels->sums) ||
        !parts_worth(p, two, poly_floordiv(polys, work, two)))
        return false;
    nest_begin(p, outer, NULL);
    parts_around(p, outer, true);
    if (c->pixels->copy)
        print_copy_parts(p, c);
    print_begin(p, c);
    parts_begin(p, c->pixels->sums);
    print_begin(p, c);
    print_units(p, c, "from", "to");
    const char *grain = parts_grain_of(p, work, units);
    parts_end(p, units, c->pixels->tiles ? pixel_winograd_grain(p, grain) : grain);
    parts_around(p, outer, false);
    nest_end(p, outer);
    return true;
}

void pixel_conv_print(Printer *p, const Kernel *k, const Conv *conv)
{
    const PixelConv *c = conv->pixels;
    Bounds outer = {.n = 0};
    for (const Stmt *s = k->body; s->kind == S_FOR; s = s->body)
        if (s->var != c->block && s->var != c->lane && s->var != c->n[0] && s->var != c->n[1])
            outer.vars[outer.n++] = s->var;
    if (print_parts(p, conv, &outer))
        return;
    nest_begin(p, &outer, NULL);
    print_line(p, "{");
    p->indent++;
    if (!c->few)
        print_begin(p, conv);
    if (c->copy)
        print_copy(p, conv, "0", print_index(p, poly_const(p->mod->polys, copied_units(c))));
    if (c->few)
        print_begin(p, conv);
    print_line(p, "const int64_t units = %s;", units_of(c));
    print_units(p, conv, "0", "units");
    p->indent--;
    print_line(p, "}");
    nest_end(p, &outer);
}
