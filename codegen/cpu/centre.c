// Weights of bytes whose zero points are not the middle of their range.
//
//     sum x * (w - zw)  =  sum x * v  +  d * sum x        v = w - e, d = e - zw
//
// where e is the number of a row of weights that is next to zw of those that make its v bytes with
// a sign. Often that is zw, and d is 0. Where it is not, sum x is what a convolution by weights of
// 1 gives: one channel, made by a kernel of its own before, for all channels of y. All of it is
// arithmetic modulo 2^32, as the loops' own.

#include "codegen/cpu/centre.h"

#include "codegen/cpu/laid.h"
#include "codegen/cpu/pixel_conv.h"

#include <stdlib.h>
#include <string.h>

enum { RANK = 4, MOST_NEST = 8, LEAST = -128, MOST = 127 };

typedef struct Centre {
    Module *mod;
    Printer *p;
    const Processor *cpu;
    Step *step, *before; // before: the one in front of it; NULL: it is the first
    Conv conv;
    ByteWeights w;
    int64_t rows;   // of all groups
    int64_t *zeros; // of each: zw, then d
    bool away;      // some d is not 0
    const Stmt *loops[MOST_NEST], *store;
    uint32_t nloops;
} Centre;

// ---- what is known ------------------------------------------------------------------------------

// Parallel loops around one store.
static bool read_nest(Centre *c)
{
    const Kernel *k = c->step->kernel;
    const Stmt *s = k->point ? k->point : k->body;
    for (; s && s->kind == S_FOR && s->par && !s->next && c->nloops < MOST_NEST; s = s->body)
        c->loops[c->nloops++] = s;
    c->store = s && s->kind == S_STORE && !s->next ? s : NULL;
    return c->store && c->store == c->conv.store;
}

// Could it read pixels, if its weights had no zero point?
static bool is_for_pixels(const Centre *c)
{
    PixelConv to;
    Bytes bytes = *c->conv.bytes;
    Conv conv = c->conv;
    const int64_t middle = bytes.w.load->dtype == DT_U8 ? -LEAST : 0;
    bytes.w.zero = middle ? expr_const(c->mod, DT_I32, (Scalar){.i = middle}) : NULL;
    conv.bytes = &bytes;
    return pixel_conv_fits(c->p, &conv, &c->w, c->cpu, false, &to) ||
           pixel_conv_fits(c->p, &conv, &c->w, c->cpu, true, &to);
}

static int64_t element_at(DType t, const void *elements, int64_t i)
{
    return t == DT_I8 ? ((const int8_t *)elements)[i] : ((const uint8_t *)elements)[i];
}

// Writes v of row i to where w is, and d for its zero point.
static void centre_row(Centre *c, const void *from, int64_t i, int8_t *to)
{
    const ByteWeights *w = &c->w;
    const DType t = c->conv.w->dtype;
    const int64_t row = w->start + w->group_at[i / w->rows] + i % w->rows * w->row;
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (int64_t k = 0; k < w->channels * w->taps; k++) {
        const int64_t v = element_at(t, from, row + w->k_at[k]);
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    const int64_t least = high - MOST, most = low - LEAST, zero = c->zeros[i];
    const int64_t e = zero < least ? least : zero > most ? most : zero;
    for (int64_t k = 0; k < w->channels * w->taps; k++)
        to[row + w->k_at[k]] = (int8_t)(element_at(t, from, row + w->k_at[k]) - e);
    c->zeros[i] = e - zero;
    c->away |= e != zero;
}

// All of v, and c->zeros become d; NULL with *error where w cannot be read.
static const int8_t *centred(Centre *c, Str *error)
{
    const TensorData *from = buffer_at(c->mod, c->conv.w->buffer)->data;
    const void *elements = tensor_elements(c->mod->model, (TensorData *)(uintptr_t)from, error);
    if (!elements)
        return NULL;
    int8_t *to = arena_alloc(c->mod->arena, from->nelements);
    memset(to, 0, from->nelements);
    for (int64_t i = 0; i < c->rows; i++)
        centre_row(c, elements, i, to);
    return to;
}

// A load where w is loaded, of weights that lie alike.
static const Expr *load_of(const Centre *c, const int8_t *elements)
{
    const Expr *w = c->conv.w;
    const Buffer from = *buffer_at(c->mod, w->buffer);
    const int64_t n = (int64_t)from.data->nelements;
    const BufferId b = buffer_new(c->mod, BUF_WEIGHT, from.name, DT_I8, from.rank, from.dims);
    buffer_at(c->mod, b)->data = tensor_around(c->mod->arena, DT_I8, 1, &n, elements);
    return expr_load(c->mod, b, w->at);
}

// ---- sums of x ----------------------------------------------------------------------------------

// The sum by v, or by other weights that `load` reads.
static const Expr *sum_by(const Centre *c, const Expr *load)
{
    Module *mod = c->mod;
    const Expr *product = c->conv.reduce->b;
    const bool first =
        product->a->kind == EX_CAST ? product->a->a == c->conv.w : product->a->a->a == c->conv.w;
    const Expr *x = first ? product->b : product->a, *w = expr_cast(mod, DT_I32, load, false);
    return expr_reduce(mod, R_ADD, c->conv.reduce->rank, c->conv.reduce->vars, c->conv.reduce->a,
                       expr_binary(mod, B_MUL, x, w));
}

// A load of 1 for every weight of the first row.
static const Expr *ones(const Centre *c)
{
    Module *mod = c->mod;
    const Expr *w = c->conv.w;
    const Buffer from = *buffer_at(mod, w->buffer);
    const int64_t n = c->w.channels * c->w.taps;
    Index *dims = NEWS(mod->arena, Index, RANK), *at = NEWS(mod->arena, Index, RANK);
    memcpy(dims, from.dims, RANK * sizeof *dims);
    memcpy(at, w->at, RANK * sizeof *at);
    dims[0] = poly_const(mod->polys, 1);
    at[0] = poly_const(mod->polys, 0);
    int8_t *to = arena_alloc(mod->arena, (size_t)n);
    memset(to, 1, (size_t)n);
    const BufferId b = buffer_new(mod, BUF_WEIGHT, STR("ones"), DT_I8, RANK, dims);
    buffer_at(mod, b)->data = tensor_around(mod->arena, DT_I8, 1, &n, to);
    return expr_load(mod, b, at);
}

// May a kernel make sum x? Rows are the first dim of the weights alone and the second of y, no
// groups are there, and each has more to sum than a place of x.
static bool sums_fit(const Centre *c)
{
    Module *mod = c->mod;
    const Expr *w = c->conv.w;
    int64_t first;
    return !c->conv.depthwise && c->w.groups == 1 && c->conv.m && c->conv.c &&
           c->store->rank == RANK && w->rank == RANK &&
           (int64_t)buffer_at(mod, w->buffer)->data->nelements ==
               c->rows * c->w.channels * c->w.taps &&
           w->at[0] == poly_loop(mod->polys, c->conv.m) &&
           poly_is_const(poly_sub(mod->polys, c->store->at[1], w->at[0]), &first);
}

// A load of sum x, which a kernel in front of the convolution makes.
static const Expr *sums_of_x(Centre *c)
{
    Module *mod = c->mod;
    Index *dims = NEWS(mod->arena, Index, RANK), *at = NEWS(mod->arena, Index, RANK);
    memcpy(dims, buffer_at(mod, c->store->buffer)->dims, RANK * sizeof *dims);
    memcpy(at, c->store->at, RANK * sizeof *at);
    dims[1] = poly_const(mod->polys, 1);
    at[1] = poly_const(mod->polys, 0);
    const BufferId b = buffer_new(mod, BUF_TEMP, STR("sums"), DT_I32, RANK, dims);
    Stmt *body = NEW(mod->arena, Stmt);
    *body = (Stmt){.kind = S_STORE, .buffer = b, .rank = RANK, .at = at};
    body->value = expr_fresh(mod, sum_by(c, ones(c)));
    for (uint32_t i = c->nloops; i > 0; i--)
        if (c->loops[i - 1]->var != c->conv.m)
            body = laid_loop(mod, c->loops[i - 1]->var, body);
    Kernel *k = NEW(mod->arena, Kernel);
    *k = (Kernel){.id = mod->nkernels++, .name = STR("sums"), .node = c->step->kernel->node};
    k->body = body;
    Step *s = NEW(mod->arena, Step);
    *s = (Step){.kind = STEP_KERNEL, .node = c->step->node, .kernel = k, .next = c->step};
    *(c->before ? &c->before->next : &mod->steps) = s;
    return expr_load(mod, b, at);
}

// d, of the row.
static const Expr *difference(const Centre *c)
{
    Module *mod = c->mod;
    bool same = true;
    for (int64_t i = 1; i < c->rows; i++)
        same &= c->zeros[i] == c->zeros[0];
    if (same)
        return expr_const(mod, DT_I32, (Scalar){.i = c->zeros[0]});
    int32_t *to = arena_alloc(mod->arena, (size_t)c->rows * sizeof *to);
    for (int64_t i = 0; i < c->rows; i++)
        to[i] = (int32_t)c->zeros[i];
    const Index dim = poly_const(mod->polys, c->rows);
    const BufferId b = buffer_new(mod, BUF_WEIGHT, STR("differences"), DT_I32, 1, &dim);
    buffer_at(mod, b)->data = tensor_around(mod->arena, DT_I32, 1, &c->rows, to);
    Index *at = NEW(mod->arena, Index);
    *at = poly_loop(mod->polys, c->conv.m);
    return expr_load(mod, b, at);
}

// ---- rewriting ----------------------------------------------------------------------------------

static bool rewrite(Centre *c, Str *error)
{
    Module *mod = c->mod;
    const int8_t *elements = centred(c, error);
    if (!elements || (c->away && !sums_fit(c)))
        return elements != NULL;
    const Expr *sum = sum_by(c, load_of(c, elements));
    if (c->away)
        sum = expr_binary(mod, B_ADD, sum, expr_binary(mod, B_MUL, difference(c), sums_of_x(c)));
    ExprSwap swap = {c->conv.reduce, sum};
    const ExprMap map = {&swap, expr_swap, NULL};
    Stmt *body = NEW(mod->arena, Stmt);
    *body = *c->store;
    body->value = expr_map(mod, c->store->value, &map);
    for (uint32_t i = c->nloops; i > 0; i--)
        body = laid_loop(mod, c->loops[i - 1]->var, body);
    c->step->kernel->body = body;
    c->step->kernel->point = NULL;
    return true;
}

static bool centre_step(Centre *c, Str *error)
{
    conv_read_narrow(c->p, c->step->kernel, &c->conv, &c->w);
    const Bytes *b = c->conv.bytes;
    c->rows = c->w.groups * c->w.rows;
    bool ok = true;
    if (c->conv.reduce && b && !byte_conv_centred(c->p, b) && read_nest(c) && is_for_pixels(c)) {
        c->zeros = calloc((size_t)c->rows, sizeof *c->zeros);
        if (!c->zeros)
            arena_run_out();
        ok = !byte_conv_zeros(c->p, &c->conv, b, c->rows, c->zeros) || rewrite(c, error);
        free(c->zeros);
    }
    conv_free_weights(&c->w);
    return ok;
}

bool centre_weights(Module *mod, Printer *p, const Processor *cpu, Str *error)
{
    if (!processor_has_words(cpu))
        return true;
    Step *before = NULL;
    for (Step *s = mod->steps; s; before = s, s = s->next) {
        Centre c = {.mod = mod, .p = p, .cpu = cpu, .step = s, .before = before};
        if (s->kind == STEP_KERNEL && !s->kernel->on_host && !centre_step(&c, error))
            return false;
    }
    return true;
}
