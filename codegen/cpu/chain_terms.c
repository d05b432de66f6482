// Chains by terms: when, and how weights lie.
//
// Costs are cycles. Weights are taken apart once for a share of bands, which is little beside what
// a chain is worth at all.

#include "codegen/cpu/chain_terms.h"

#include "codegen/cpu/constants.h"
#include "codegen/cpu/gemm.h"
#include "codegen/cpu/split_conv.h"
#include "codegen/cpu/tiles.h"

#include <math.h>
#include <stdlib.h>

enum {
    SIDE = 32,                          // CAMEO_SPLIT_SIDE
    HEIGHT = 16,                        // rows of a tile
    LONG = 768,                         // CAMEO_SPLIT_LONG
    TERMS = 6,                          // bytes of a number's
    PLAIN = 4 * 4 * 256 * TILE_COLUMNS, // CAMEO_SPLIT_PLAIN
    LEAST_K = 12,                       // less would be tiles mostly of zeros
    LINE = 64
};

static int64_t number(Index i)
{
    int64_t n = 0;
    poly_is_const(i, &n);
    return n;
}

// ---- choosing ----------------------------------------------------------------------------------

// Can all weights be taken apart?
static bool takes(Module *mod, const Conv *c)
{
    const Buffer *b = buffer_at(mod, c->packed);
    Str error;
    if (!c->packed || b->rank != 4 || number(b->dims[0]) != 1)
        return false;
    const float *w = tensor_elements(mod->model, (TensorData *)(uintptr_t)b->data, &error);
    return w && split_takes(w, c->block);
}

static bool is_possible(Module *mod, const Conv *c)
{
    const int64_t k = number(conv_depth(mod->polys, c));
    return k >= LEAST_K && k <= LONG && takes(mod, c);
}

// Of the products of n places in float32, and by terms: beside products of terms themselves a
// vector of what is taken apart before them or beside them, of weights, and one that is written.
static void add_costs(const Processor *t, double rows, double k, double n, bool before,
                      double cost[2])
{
    enum { BEFORE = 12, BESIDE = 6, WEIGHTS = 12, WRITTEN = 5 };
    const double vectors = ceil(n / t->lanes), whole = ceil(rows / HEIGHT) * HEIGHT;
    const double deep = ceil(k / SIDE) * SIDE;
    cost[0] += ceil(rows / TILE_ROWS) * TILE_ROWS * k * vectors / t->products / t->direct;
    cost[1] += whole * deep * (vectors / t->terms + (double)WEIGHTS / t->lanes) +
               (before ? BEFORE : BESIDE) * deep * vectors + WRITTEN * whole * vectors;
}

// Not for little: two threads gain less.
bool chain_terms_worth(Module *mod, const ConvChoice *how, const Conv *expand, const Conv *windows,
                       const Conv *last)
{
    static const double WORTH = 0.72;
    double cost[2] = {0, 0};
    if (how->exact || how->unsplit || how->cpu->terms <= 0 || !is_possible(mod, last) ||
        (expand && !is_possible(mod, expand)))
        return false;
    const double planes = (double)number(last->channels);
    if (expand)
        add_costs(how->cpu, planes, (double)number(conv_depth(mod->polys, expand)),
                  (double)(number(windows->in[0]) * number(windows->in[1])), true, cost);
    add_costs(how->cpu, (double)number(last->rows), planes,
              (double)(number(last->out[0]) * number(last->out[1])), false, cost);
    return cost[1] < WORTH * cost[0];
}

// ---- weights -----------------------------------------------------------------------------------

bool chain_terms_pack(Module *mod, const Conv *c, const Conv **to)
{
    Str error;
    *to = c;
    if (c->split)
        return true;
    const Buffer *b = buffer_at(mod, c->packed);
    const float *w = tensor_elements(mod->model, (TensorData *)(uintptr_t)b->data, &error);
    const int64_t rows = number(c->rows), k = number(conv_depth(mod->polys, c));
    int64_t panels = number(b->dims[1]), deep = k;
    Conv *apart = NEW(mod->arena, Conv);
    *apart = *c;
    apart->split = SPLIT_COLUMNS;
    split_conv_whole(apart, &panels, &deep);
    apart->block = panels * deep * TILE_ROWS;
    if (!w)
        return false;
    float *all = arena_lend(mod->arena, (size_t)apart->block * sizeof *all);
    for (int64_t at = 0; at < k; at++)
        for (int64_t i = 0; i < rows; i++)
            all[split_conv_at(rows, k, i, at)] = w[conv_packed_at(number(b->dims[1]), k, i, at)];
    const int64_t dims[] = {1, panels, deep, TILE_ROWS};
    apart->packed = constants_weight(mod, c->w->buffer, 4, dims, all);
    apart->panels = NULL;
    *to = apart;
    return true;
}

// ---- room --------------------------------------------------------------------------------------

int64_t chain_terms_room(int64_t planes, int64_t k, const Conv *last)
{
    const int64_t deep = rounded_up(planes, SIDE);
    const int64_t weights = rounded_up(planes, SIDE) * rounded_up(k, SIDE) +
                            rounded_up(number(last->rows), SIDE) * deep;
    return TERMS * (weights + 2 * SIDE * deep) + PLAIN + LINE;
}

int64_t chain_terms_planes(int64_t k)
{
    return SIDE + rounded_up(k, SIDE) * TERMS / 4;
}
